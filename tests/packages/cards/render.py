"""cards' pictures."""

from typing import Any

import numpy as np


def render_text(state: Any) -> str:
    return f"total {state.total}{', lucky' if state.lucky else ''}"


def render_rgb(state: Any) -> Any:
    return np.full((8, 8, 3), 20 * state.total + 60 * state.lucky, np.uint8)
