"""Looking at what happened: trajectories and findings as frames, one by one or two beside each other.

``moments`` reads a file, a ``Reel`` gives its shots by number, a ``Drawer`` draws them by the package's renderer, and
``show`` plays them on a terminal. No implementation runs.
"""

from .beside import Beside
from .drawing import Drawer
from .moments import Moment, moments
from .player import Player, show
from .reels import Alone, Reel, alone, of_finding
from .shots import Panel, Shot
from .tape import Tape

__all__ = [
    "Alone",
    "Beside",
    "Drawer",
    "Moment",
    "Panel",
    "Player",
    "Reel",
    "Shot",
    "Tape",
    "alone",
    "moments",
    "of_finding",
    "show",
]
