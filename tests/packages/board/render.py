"""board's pictures."""

from typing import Any

import numpy as np


def render_text(state: Any) -> str:
    return "\n".join("".join(".:+#"[int(level)] for level in row) for row in state.board)


def render_rgb(state: Any) -> Any:
    return np.repeat((np.asarray(state.board) * 85).astype(np.uint8)[:, :, None], 3, axis=2)
