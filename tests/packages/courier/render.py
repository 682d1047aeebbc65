"""courier's pictures."""

from typing import Any

import numpy as np


def render_text(state: Any) -> str:
    return f"speed {float(state.speed):.2f}, cargo {list(state.cargo)}"


def render_rgb(state: Any) -> Any:
    return np.full((8, 8, 3), 255 if state.lamp else 0, np.uint8)
