"""``Tape``: what was read of a file, kept so that it can be gone back to, however long it is."""

from __future__ import annotations

import array
import pickle
import tempfile
import zlib
from collections.abc import Iterator

from ..errors import SimulacrumError
from .moments import Moment


class Tape:
    """The moments of a file by number. It reads on when asked; what was read lies in a temporary file without a name.

    Attributes:
        whole: whether the file was read to its end.
        starts: at which number each episode begins, as far as it was read.
        error: what ended the reading, where that is an error; the moments before it can be shown.
    """

    def __init__(self, moments: Iterator[Moment]) -> None:
        self._moments = moments
        self._file = tempfile.TemporaryFile(prefix="simulacrum-")  # noqa: SIM115 (closed by close)
        self._places = array.array("Q", [0])  # where each begins in the file, and where the last one ends
        self._latest: tuple[int, Moment] | None = None
        self.whole = False
        self.starts: list[int] = []
        self.error: SimulacrumError | None = None

    def __len__(self) -> int:
        """How many were read."""
        return len(self._places) - 1

    def __getitem__(self, number: int) -> Moment:
        """A moment that was read. Raises IndexError for others."""
        if not 0 <= number < len(self):
            raise IndexError(f"moment {number}: {len(self)} were read")
        if self._latest is None or self._latest[0] != number:
            self._file.seek(self._places[number])
            data = self._file.read(self._places[number + 1] - self._places[number])
            self._latest = number, pickle.loads(zlib.decompress(data))
        return self._latest[1]

    def read(self) -> bool:
        """Read one more; False at the end, or where an error ended it."""
        if self.whole:
            return False
        try:
            moment = next(self._moments, None)
        except SimulacrumError as error:
            self.error, moment = error, None
        if moment is None:
            self.whole = True
            return False
        if not self.starts or moment.place != self[len(self) - 1].place:
            self.starts.append(len(self))
        self._file.seek(self._places[-1])
        self._file.write(zlib.compress(pickle.dumps(moment, pickle.HIGHEST_PROTOCOL), 1))
        self._places.append(self._file.tell())
        self._latest = len(self) - 1, moment
        return True

    def read_all(self) -> Iterator[int]:
        """Read to the end; yields how many were read. Raises the error that ended it."""
        while self.read():
            yield len(self)
        if self.error is not None:
            raise self.error

    def close(self) -> None:
        """Drop what was kept; may be called again."""
        self._file.close()
