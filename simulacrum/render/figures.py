"""Matplotlib figures as pixels: drawn without a window, closed, and nothing of Matplotlib's own state changed."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from ..errors import PackageError, SimulacrumError

MISSING = "a Matplotlib figure needs the extra viz: pip install 'simulacrum[viz]'"


def pixels(draw: Callable[[], Any], where: str) -> np.ndarray:
    """The figure that ``draw`` makes, as uint8 [H, W, 3].

    Args:
        draw: makes a ``matplotlib.figure.Figure``; one made by pyplot is closed there, too.
        where: who is told of in errors.

    Raises SimulacrumError where Matplotlib is missing, and :class:`PackageError` for what is no figure.
    """
    try:
        import matplotlib
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise SimulacrumError(MISSING) from None
    with matplotlib.rc_context():
        figure = draw()
        if not isinstance(figure, Figure):
            raise PackageError(f"{where}: expected a matplotlib.figure.Figure, got {type(figure).__name__}")
        canvas = FigureCanvasAgg(figure)
        canvas.draw()
        image = np.array(canvas.buffer_rgba())[..., :3]
    pyplot = sys.modules.get("matplotlib.pyplot")
    if pyplot is not None:
        pyplot.close(figure)
    figure.clear()
    return np.ascontiguousarray(image)
