"""What the command line and the pytest plugin ask for alike."""

from __future__ import annotations

import argparse
import ast
import importlib
import math
import os
from collections.abc import Callable
from typing import Any

TARGET = "a package's folder, a name (forager) or an ID (simulacrum/forager-v0), tried in this order"
SEEDS = 1 << 32  # what NumPy's SeedSequence takes as one word


def later(name: str) -> Callable[[argparse.Namespace], int]:
    """The command of that name, ``name`` of the module ``name``, imported when it is run."""

    def run(arguments: argparse.Namespace) -> int:
        code: int = getattr(importlib.import_module(f".{name}", __package__), name)(arguments)
        return code

    return run


def option(text: str) -> tuple[str, Any]:
    """``key=value`` from the command line, the value a Python literal or else a word. Raises
    ``argparse.ArgumentTypeError``."""
    key, equals, value = text.partition("=")
    if not equals or not key.isidentifier():
        raise argparse.ArgumentTypeError(f"expected KEY=VALUE, as is_slippery=False, got {text!r}")
    try:
        return key, ast.literal_eval(value)
    except (SyntaxError, ValueError):
        return key, value


def battery_seed(text: str) -> int:
    """A battery's seed from the command line, 0..2**32-1. Raises ``argparse.ArgumentTypeError``."""
    try:
        seed = int(text)
    except ValueError:
        seed = -1
    if not 0 <= seed < SEEDS:
        raise argparse.ArgumentTypeError(f"expected a whole number in 0..{SEEDS - 1}, got {text!r}")
    return seed


def seed(text: str) -> int:
    """An instance seed from the command line, 0..2**64-1. Raises ``argparse.ArgumentTypeError``."""
    if not text.isdecimal() or int(text) >= 1 << 64:
        raise argparse.ArgumentTypeError(f"expected a whole number in 0..2**64-1, got {text!r}")
    return int(text)


def rate(text: str) -> float:
    """So many a second, from the command line, above 0 and finite. Raises ``argparse.ArgumentTypeError``."""
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not 0 < number < math.inf:
        raise argparse.ArgumentTypeError(f"expected a number above 0, got {text!r}")
    return number


def positive(text: str) -> int:
    """A number of things from the command line, at least 1. Raises ``argparse.ArgumentTypeError``."""
    try:
        number = int(text)
    except ValueError:
        number = 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"expected a whole number from 1 on, got {text!r}")
    return number


def natural(text: str) -> int:
    """A place in a row of things, from 0 on. Raises ``argparse.ArgumentTypeError``."""
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"expected a whole number from 0 on, got {text!r}")
    return int(text)


def numbers(text: str) -> tuple[int, ...]:
    """Whole numbers from 1 on, with commas between them. Raises ``argparse.ArgumentTypeError``."""
    return tuple(dict.fromkeys(positive(part) for part in text.split(",")))


def names(text: str) -> tuple[str, ...]:
    """Names with commas between them."""
    return tuple(dict.fromkeys(text.split(",")))


def some_seed() -> int:
    """A seed from the operating system, so that each battery looks elsewhere."""
    return int.from_bytes(os.urandom(4), "little")
