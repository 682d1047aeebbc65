"""``PackError``."""

from __future__ import annotations

from ..errors import SimulacrumError


class PackError(SimulacrumError, ValueError):
    """A pack that cannot be written or read. It names the file and, inside of it, the place by its JSON pointer."""
