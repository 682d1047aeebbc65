"""Whether a stream is shown in colours."""

from __future__ import annotations

import os
from typing import IO, Any


def coloured(stream: IO[Any]) -> bool:
    """Whether text on a stream may have ANSI colours: on a terminal that is not dumb, unless ``NO_COLOR`` is set.

    ``FORCE_COLOR`` colours what is no terminal, too. See https://no-color.org.

    Example:
        >>> import io
        >>> from simulacrum.render import coloured
        >>> coloured(io.StringIO())
        False
    """
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return stream.isatty() and os.environ.get("TERM") != "dumb"
