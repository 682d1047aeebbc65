"""forager's pictures: a state of one instance as text, as an RGB array and as a Matplotlib figure, north at the top.

Berries are drawn by kind, `o`, `b` and `B` from the least to the best; where several live berries share a cell, the
best is shown. The agent is `@`, or `&` where a live berry lies on its cell.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import GRID, MAX_STEPS, N_BERRIES, START_ENERGY

KEYS = {"up": 0, "right": 1, "down": 2, "left": 3}

SYMBOLS = "obB"
BAR_WIDTH = 20

CELL = 24
MARGIN = 8
BAR = 6
BACKGROUND = (250, 250, 247)
CELL_COLOR = (224, 232, 214)
AGENT_COLOR = (44, 92, 160)
BERRY_COLORS = ((226, 178, 70), (214, 112, 52), (178, 36, 72))
TRACK_COLOR = (224, 224, 218)
ENERGY_COLOR = (92, 168, 104)
STEP_COLOR = (208, 140, 60)

Image = NDArray[np.uint8]
Color = tuple[int, int, int]
Cell = tuple[int, int]


def render_text(state: Any) -> str:
    berries, agent = _best_berries(state), _agent(state)
    rows = [" ".join(_symbol((x, y), berries, agent) for x in range(GRID)) for y in reversed(range(GRID))]
    edge = "+" + "-" * (2 * GRID + 1) + "+"
    return "\n".join([edge, *(f"| {row} |" for row in rows), edge, _energy_line(state), _count_line(state)])


def render_rgb(state: Any) -> Image:
    side = GRID * CELL + 2 * MARGIN
    picture = np.full((side + 2 * (BAR + MARGIN), side, 3), BACKGROUND, np.uint8)
    for x in range(GRID):
        for y in range(GRID):
            _square(picture, (x, y), CELL_COLOR, inset=1)
    _square(picture, _agent(state), AGENT_COLOR, inset=3)
    for cell, kind in _best_berries(state).items():
        _square(picture, cell, BERRY_COLORS[kind], inset=8)
    _bar(picture, side, ENERGY_COLOR, float(state.energy) / START_ENERGY)
    _bar(picture, side + BAR + MARGIN, STEP_COLOR, int(state.t) / MAX_STEPS)
    return picture


def render_figure(state: Any) -> Any:
    """The board, the live and eaten berries of each kind, the energy and the steps, as a Matplotlib ``Figure``."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.2, 4.2), dpi=100, facecolor=_web(BACKGROUND))
    edges = {"left": 0.06, "right": 0.96, "top": 0.9, "bottom": 0.1}
    grid = figure.add_gridspec(3, 2, width_ratios=(4, 3), height_ratios=(5, 1, 1), hspace=0.9, wspace=0.3, **edges)
    _plot_board(figure.add_subplot(grid[:, 0]), state)
    _plot_berries(figure.add_subplot(grid[0, 1]), state)
    energy, t = float(state.energy), int(state.t)
    _plot_share(figure.add_subplot(grid[1, 1]), energy / START_ENERGY, f"energy {energy:.3f}", ENERGY_COLOR)
    _plot_share(figure.add_subplot(grid[2, 1]), t / MAX_STEPS, f"step {t} of {MAX_STEPS}", STEP_COLOR)
    return figure


def _agent(state: Any) -> Cell:
    return int(state.x), int(state.y)


def _best_berries(state: Any) -> dict[Cell, int]:
    """The best kind among the live berries of each cell that has one."""
    best: dict[Cell, int] = {}
    for x, y, kind, live in zip(state.berry_x, state.berry_y, state.berry_kind, state.berry_live, strict=True):
        if live:
            cell = int(x), int(y)
            best[cell] = max(best.get(cell, 0), int(kind))
    return best


def _symbol(cell: Cell, berries: dict[Cell, int], agent: Cell) -> str:
    if cell == agent:
        return "&" if cell in berries else "@"
    return SYMBOLS[berries[cell]] if cell in berries else "."


def _energy_line(state: Any) -> str:
    """A full bar is the energy of the start; what exceeds it shows in the number only."""
    filled = round(_share(float(state.energy) / START_ENERGY) * BAR_WIDTH)
    return f"energy [{'#' * filled}{'-' * (BAR_WIDTH - filled)}] {float(state.energy):.3f}"


def _count_line(state: Any) -> str:
    live = sum(bool(berry) for berry in state.berry_live)
    return f"berries {live}/{N_BERRIES}  step {int(state.t)}/{MAX_STEPS}"


def _share(value: float) -> float:
    return min(1.0, max(0.0, value))


def _square(picture: Image, cell: Cell, color: Color, inset: int) -> None:
    left, top = MARGIN + cell[0] * CELL, MARGIN + (GRID - 1 - cell[1]) * CELL
    picture[top + inset : top + CELL - inset, left + inset : left + CELL - inset] = color


def _bar(picture: Image, top: int, color: Color, share: float) -> None:
    full = picture.shape[1] - 2 * MARGIN
    picture[top : top + BAR, MARGIN : MARGIN + full] = TRACK_COLOR
    picture[top : top + BAR, MARGIN : MARGIN + round(_share(share) * full)] = color


def _plot_board(axes: Any, state: Any) -> None:
    axes.set(xlim=(-0.5, GRID - 0.5), ylim=(-0.5, GRID - 0.5), aspect="equal", facecolor=_web(CELL_COLOR))
    axes.set_title("board", loc="left", fontsize=10)
    axes.set_xticks(range(GRID))
    axes.set_yticks(range(GRID))
    axes.set_xticks(np.arange(GRID + 1) - 0.5, minor=True)
    axes.set_yticks(np.arange(GRID + 1) - 0.5, minor=True)
    axes.grid(which="minor", color=_web(BACKGROUND), linewidth=1.5)
    axes.tick_params(which="both", length=0)
    x, y = _agent(state)
    axes.scatter([x], [y], s=460, marker="s", color=_web(AGENT_COLOR), zorder=2)
    for (x, y), kind in _best_berries(state).items():
        axes.scatter([x], [y], s=70 + 60 * kind, color=_web(BERRY_COLORS[kind]), edgecolor="white", zorder=3)


def _plot_berries(axes: Any, state: Any) -> None:
    """How many berries of each kind there are: the live ones filled, the eaten ones pale."""
    kinds = [int(kind) for kind in state.berry_kind]
    for kind, color in enumerate(BERRY_COLORS):
        live = sum(one == kind and bool(alive) for one, alive in zip(kinds, state.berry_live, strict=True))
        axes.bar(kind, kinds.count(kind), color=_web(color), alpha=0.25)
        axes.bar(kind, live, color=_web(color))
    axes.set(ylim=(0, N_BERRIES), facecolor=_web(BACKGROUND))
    axes.set_title("berries by kind (pale: eaten)", loc="left", fontsize=10)
    axes.set_xticks(range(len(BERRY_COLORS)), [f"kind {kind} ({symbol})" for kind, symbol in enumerate(SYMBOLS)])
    axes.spines[["top", "right"]].set_visible(False)


def _plot_share(axes: Any, share: float, title: str, color: Color) -> None:
    axes.barh(0, 1, color=_web(TRACK_COLOR))
    axes.barh(0, _share(share), color=_web(color))
    axes.set(xlim=(0, 1), xticks=[], yticks=[])
    axes.set_title(title, loc="left", fontsize=10)
    axes.spines[:].set_visible(False)


def _web(color: Color) -> tuple[float, float, float]:
    """A colour as Matplotlib takes it."""
    return color[0] / 255, color[1] / 255, color[2] / 255
