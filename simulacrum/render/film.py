"""Images as PNG files, a GIF or an MP4, written one by one, and there as a whole or not at all.

::

    write(images, "gif", Path("run.gif"), fps=8)  # images: a function that begins an iterator of uint8 [H, W, 3]

Memory does not grow with the length. Images of other sizes than the largest are padded at the right and below, and so
are those of an MP4 to even sizes (its colours have half the resolution); nothing is scaled. PNG files are never padded.
"""

from __future__ import annotations

import contextlib
import errno
import importlib.util
import os
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from ..errors import SimulacrumError
from .placing import TAKEN, placed
from .png import png

KINDS = ("png", "gif", "mp4")
BACKGROUND = (250, 250, 247)  # of what is padded
FASTEST_GIF = 50  # frames a second: viewers slow down what is faster
LONG_GIF = 1000  # frames
MISSING = "--to {} needs the extra viz: pip install 'simulacrum[viz]'"
Size = tuple[int, int]  # height, width
Told = Callable[[int], None]


class Film(Protocol):
    """What images are written into, all of one size."""

    def add(self, image: np.ndarray) -> None:
        """Add an image."""

    def close(self, whole: bool) -> None:
        """Finish it, or, where it is not to be whole, let go of it."""


def write(
    images: Callable[[], Iterator[np.ndarray]], kind: str, target: Path, fps: float, told: Told | None = None
) -> int:
    """Write images; how many there were.

    Args:
        images: begins them anew, each uint8 [H, W, 3]: they are gone through again where a later one is larger.
        kind: ``png`` (``target`` is a folder), ``gif`` or ``mp4``.
        target: must not exist, or be an empty folder for ``png``.
        fps: images a second. A GIF's times are whole hundredths of a second, rounded so that errors do not add up.
        told: is called with the number of images after each one.

    Raises SimulacrumError for a target that exists, a missing extra, an ``fps`` that a GIF cannot have, no images, and
    what cannot be written whole; then, as after an interruption, nothing is left behind.
    """
    check(kind, target, fps)
    told = told or (lambda count: None)
    with placed(target) as work:
        size: Size = (0, 0)
        while (larger := _try(images(), kind, work, fps, size, told))[1] is not None:
            size = larger[1]
        if not larger[0]:
            raise SimulacrumError(f"{target}: there are no images to write")
    return larger[0]


def check(kind: str, target: Path, fps: float) -> None:
    """Raise the SimulacrumError that :func:`write` would raise, before an image is drawn; for ``text`` as well."""
    if not target.absolute().parent.is_dir():
        raise SimulacrumError(f"{target}: there is no folder {target.parent}")
    if kind == "png":
        if os.path.lexists(target) and (not target.is_dir() or any(target.iterdir())):
            raise SimulacrumError(f"{target} is not empty: name another folder by --output DIR")
        return
    if os.path.lexists(target):
        raise SimulacrumError(TAKEN.format(target))
    if kind == "gif" and fps > FASTEST_GIF:
        raise SimulacrumError(f"--fps: a GIF shows at most {FASTEST_GIF} frames a second, got {fps:g}: use --to mp4")
    if kind in KINDS and any(importlib.util.find_spec(name) is None for name in ("imageio_ffmpeg", "PIL")):
        raise SimulacrumError(MISSING.format(kind))


def padded(image: np.ndarray, size: Size) -> np.ndarray:
    """The image, uint8 [H, W, 3], with background at its right and below it."""
    height, width = image.shape[:2]
    if (height, width) == size:
        return image
    canvas = np.full((*size, 3), BACKGROUND, np.uint8)
    canvas[:height, :width] = image
    return canvas


def _try(
    images: Iterator[np.ndarray], kind: str, work: Path, fps: float, size: Size, told: Told
) -> tuple[int, Size | None]:
    """Write images; how many, and where one is larger than those before, the size that all fit in."""
    film: Film | None = None
    count, whole = 0, False
    try:
        for count, image in enumerate(images, 1):
            shape = image.shape[0], image.shape[1]
            if film is None:
                size = _over(size, shape)
                film = _open(kind, work, fps, size)
            if kind != "png":
                if _over(size, shape) != size:
                    return count, _largest(images, _over(size, shape))
                image = padded(image, size)
            film.add(image)
            told(count)
        whole = True
    finally:
        if film is not None:
            film.close(whole)
    return count, None


def _largest(images: Iterator[np.ndarray], size: Size) -> Size:
    for image in images:
        size = _over(size, image.shape)
    return size


def _over(size: Size, shape: Any) -> Size:
    return max(size[0], shape[0]), max(size[1], shape[1])


def _open(kind: str, work: Path, fps: float, size: Size) -> Film:
    return Frames(work) if kind == "png" else Gif(work, fps, size) if kind == "gif" else Mp4(work, fps, size)


class Frames:
    """A folder of PNG files, ``000000.png`` and so on."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._count = folder, 0
        folder.mkdir()

    def add(self, image: np.ndarray) -> None:
        """Write the next file."""
        (self._folder / f"{self._count:06d}.png").write_bytes(png(image))
        self._count += 1

    def close(self, whole: bool) -> None:
        """Nothing to close."""


class Gif:
    """A GIF that begins anew after its end (GIF89a). Each image holds what has changed, in a palette of its own,
    which is exact up to 255 colours."""

    def __init__(self, file: Path, fps: float, size: Size) -> None:
        self._fps, self._count = Fraction(fps), 0
        self._before: np.ndarray | None = None
        self._stream = file.open("wb")
        height, width = size
        if max(size) > 0xFFFF:
            raise SimulacrumError(f"a GIF is at most {0xFFFF} pixels wide and high, got {width} x {height}")
        self._stream.write(b"GIF89a" + width.to_bytes(2, "little") + height.to_bytes(2, "little") + bytes(3))
        self._stream.write(b"!\xff\x0bNETSCAPE2.0\x03\x01\x00\x00\x00")  # again and again

    def add(self, image: np.ndarray) -> None:
        """Write the next image."""
        from PIL.GifImagePlugin import getdata

        changed = np.ones(image.shape[:2], bool) if self._before is None else (self._before != image).any(axis=2)
        top, bottom, left, right = _box(changed)
        part = np.ascontiguousarray(image[top:bottom, left:right])
        indexed, options = _indexed(part, changed[top:bottom, left:right])
        options.update(duration=10 * self._hundredths(), disposal=1, include_color_table=True)
        for data in getdata(indexed, (left, top), **options):
            self._stream.write(data)
        self._before = image
        self._count += 1

    def close(self, whole: bool) -> None:
        """Write the end."""
        if whole:
            self._stream.write(b";")
        self._stream.close()

    def _hundredths(self) -> int:
        """How long the image is shown."""
        return round((self._count + 1) * 100 / self._fps) - round(self._count * 100 / self._fps)


def _box(changed: np.ndarray) -> tuple[int, int, int, int]:
    """Top, bottom, left and right of what has changed; one pixel where nothing has."""
    if not changed.any():
        return 0, 1, 0, 1
    rows, columns = np.flatnonzero(changed.any(axis=1)), np.flatnonzero(changed.any(axis=0))
    return int(rows[0]), int(rows[-1]) + 1, int(columns[0]), int(columns[-1]) + 1


def _indexed(image: np.ndarray, changed: np.ndarray) -> tuple[Any, dict[str, Any]]:
    """A Pillow image with a palette, and the index in it that stands for what has not changed.

    It is exact where up to 255 colours have changed; else all of it has the nearest ones of 256.
    """
    from PIL import Image

    codes = (image.astype(np.uint32) << np.array([16, 8, 0], np.uint32)).sum(axis=2, dtype=np.uint32)
    palette, inverse = np.unique(codes[changed], return_inverse=True)
    if len(palette) > 255:
        return Image.fromarray(image).quantize(256, Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE), {}
    indices = np.full(image.shape[:2], len(palette), np.uint8)
    indices[changed] = inverse
    part = Image.frombytes("P", (image.shape[1], image.shape[0]), indices.tobytes())
    colours = np.stack([palette >> 16, palette >> 8 & 255, palette & 255], axis=1).astype(np.uint8)
    part.putpalette(colours.tobytes() + bytes(3))
    return part, {} if changed.all() else {"transparency": len(palette)}


class Mp4:
    """H.264 in an MP4, by the ffmpeg that imageio-ffmpeg brings; colours by BT.709, and tagged so."""

    SCALE = "scale=out_color_matrix=bt709:flags=full_chroma_int+accurate_rnd"  # of the colours: no size is given
    TAGS = ("-colorspace", "bt709", "-color_primaries", "bt709", "-color_trc", "bt709")
    OPTIONS = ("-crf", "16", "-tune", "animation", "-vf", SCALE, *TAGS)

    def __init__(self, file: Path, fps: float, size: Size) -> None:
        from imageio_ffmpeg import get_ffmpeg_exe

        self._size = size[0] + size[0] % 2, size[1] + size[1] % 2
        raw = ("-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{self._size[1]}x{self._size[0]}")
        rate = ("-r", str(Fraction(fps).limit_denominator()))
        codec = ("-an", "-vcodec", "libx264", "-pix_fmt", "yuv420p", *self.OPTIONS, "-movflags", "+faststart")
        self._said = tempfile.TemporaryFile(prefix="simulacrum-")  # noqa: SIM115 (closed by close)
        self._ffmpeg = subprocess.Popen(
            [get_ffmpeg_exe(), "-v", "error", "-y", *raw, *rate, "-i", "-", *codec, f"file:{file}"],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=self._said,
            start_new_session=True,  # Ctrl-C is ours
            restore_signals=False,  # a file that may not grow is an error that it tells, and not its death
        )

    def add(self, image: np.ndarray) -> None:
        """Write the next image. Raises OSError where ffmpeg has ended."""
        whole = padded(image, self._size)
        if whole.shape != (*self._size, 3) or whole.dtype != np.uint8:
            raise ValueError(f"expected uint8 [H, W, 3], got {image.dtype} {list(image.shape)}")
        assert self._ffmpeg.stdin is not None
        try:
            self._ffmpeg.stdin.write(np.ascontiguousarray(whole).data)
        except BrokenPipeError:
            raise self._failed() from None

    def close(self, whole: bool) -> None:
        """Wait for ffmpeg to end, or, where it is not to be whole, end it. Raises OSError where it failed."""
        assert self._ffmpeg.stdin is not None
        with self._said:
            try:
                if whole:
                    with contextlib.suppress(BrokenPipeError):
                        self._ffmpeg.stdin.close()
                    if self._ffmpeg.wait():
                        raise self._failed()
            finally:
                self._ffmpeg.kill()
                self._ffmpeg.wait()
                with contextlib.suppress(BrokenPipeError):
                    self._ffmpeg.stdin.close()

    def _failed(self) -> OSError:
        """That ffmpeg failed, and why: the last line of its own words, without its "[out#0/mp4 @ 0x1234] "."""
        code = self._ffmpeg.wait()
        self._said.seek(0)
        lines = self._said.read().decode(errors="replace").split("\n")
        why = next(filter(None, reversed(lines)), "it does not say why").rpartition("] ")[2]
        return OSError(errno.EIO, f"ffmpeg failed ({code}): {why}")
