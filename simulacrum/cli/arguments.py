"""What the command line and the pytest plugin ask for alike."""

from __future__ import annotations

import argparse
import os

SEEDS = 1 << 32  # what NumPy's SeedSequence takes as one word


def battery_seed(text: str) -> int:
    """A battery's seed from the command line, 0..2**32-1. Raises ``argparse.ArgumentTypeError``."""
    try:
        seed = int(text)
    except ValueError:
        seed = -1
    if not 0 <= seed < SEEDS:
        raise argparse.ArgumentTypeError(f"expected a whole number in 0..{SEEDS - 1}, got {text!r}")
    return seed


def some_seed() -> int:
    """A seed from the operating system, so that each battery looks elsewhere."""
    return int.from_bytes(os.urandom(4), "little")
