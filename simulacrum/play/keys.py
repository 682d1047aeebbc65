"""What keys mean: which action a package's ``KEYS`` gives them, or what they do to the game.

Keys have the names of their characters, and ``up``, ``down``, ``left``, ``right`` and ``escape``.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

from gymnasium import spaces

from ..errors import PackageError, SpaceError

ALIASES = {"w": "up", "s": "down", "a": "left", "d": "right"}
ARROWS = ("up", "down", "left", "right")
COMMANDS = {
    **{"p": "pause", " ": "pause", "n": "step", "r": "restart", "q": "quit", "escape": "quit"},
    **{"S": "save", "s": "save", "\x13": "save"},  # Ctrl-S; s itself only where it does not steer
}


def actions_of(renderer: ModuleType, space: spaces.Space[Any]) -> dict[str, int]:
    """The action of each key that steers: the package's ``KEYS`` (arrows are W, A, S and D as well), else digits.

    Args:
        renderer: the package's ``render`` module.
        space: one agent's action space.

    Raises :class:`SpaceError` where actions are not numbered; :class:`PackageError` for ``KEYS`` that do not fit.
    """
    if not isinstance(space, spaces.Discrete):
        raise SpaceError(f"action space: expected Discrete, one action a key, got {space}: play cannot steer it")
    keys = getattr(renderer, "KEYS", None)
    if keys is None:
        return {str(number): int(space.start) + number for number in range(min(10, int(space.n)))}
    if not isinstance(keys, dict):
        raise PackageError(f"{renderer.__file__}: expected KEYS, a dict from keys to actions, got {keys!r}")
    for key, action in keys.items():
        if key in COMMANDS or not isinstance(key, str) or not (key in ARROWS or len(key) == 1):
            raise PackageError(
                f"{renderer.__file__}: KEYS[{key!r}]: expected one of {ARROWS} or a character that play does not use "
                f"itself ({' '.join(sorted(name for name in COMMANDS if name.isalnum()))})"
            )
        if isinstance(action, bool) or not isinstance(action, int) or not space.contains(action):
            raise PackageError(f"{renderer.__file__}: KEYS[{key!r}]: expected an action of {space}, got {action!r}")
    return {**{alias: keys[key] for alias, key in ALIASES.items() if key in keys}, **keys}


def help_of(actions: dict[str, int]) -> str:
    """One line that says which keys there are."""
    arrows = any(key in actions for key in ARROWS)
    others = [key for key in actions if key not in ARROWS and not (arrows and key in ALIASES)]
    steering = [*(["arrows/WASD"] if arrows else []), *([f"{others[0]}-{others[-1]}"] if len(others) > 1 else others)]
    return f"{', '.join(steering)}: steer  p: pause  n: step  r: restart  S: save  q: quit"
