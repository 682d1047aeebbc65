"""PNG, the one format that everything shows: written with nothing but zlib."""

from __future__ import annotations

import struct
import zlib

import numpy as np


def png(image: np.ndarray) -> bytes:
    """An RGB image, uint8 [H, W, 3], as a PNG file's bytes (ISO/IEC 15948). Raises ValueError for another array."""
    if image.dtype != np.uint8 or image.ndim != 3 or image.shape[2] != 3 or not image.size:
        raise ValueError(f"image: expected uint8 [H, W, 3], got {image.dtype} {list(image.shape)}")
    height, width, _ = image.shape
    rows = np.zeros((height, 1 + 3 * width), np.uint8)  # before each row the number of its filter: 0, none
    rows[:, 1:] = image.reshape(height, 3 * width)
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    parts = ((b"IHDR", header), (b"IDAT", zlib.compress(rows.tobytes(), 6)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(kind, data) for kind, data in parts)


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
