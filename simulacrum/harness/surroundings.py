"""What of the process a check changes for a while, and gives back."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import lru_cache
from typing import Any

import numpy as np
import torch
from torchrl import torchrl_logger


@lru_cache(maxsize=1)
def compilation_possible() -> bool:
    """Whether torch.compile finds a C++ compiler that works."""
    from torch._inductor.cpp_builder import get_cpp_compiler
    from torch._inductor.exc import InvalidCxxCompiler

    try:
        get_cpp_compiler()
    except InvalidCxxCompiler:
        return False
    return True


@contextmanager
def threads(count: int) -> Iterator[None]:
    """Another number of torch threads."""
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def single_threaded() -> AbstractContextManager[None]:
    """One torch thread."""
    return threads(1)


@contextmanager
def default_dtype(dtype: torch.dtype) -> Iterator[None]:
    """Another default dtype."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


def generator_states() -> dict[str, Any]:
    """The states of the global generators, by library, comparable with ``==``."""
    kind, keys, *rest = np.random.get_state()  # noqa: NPY002
    return {
        "Python": random.getstate(),
        "NumPy": (kind, np.asarray(keys).tobytes(), rest),
        "torch": torch.get_rng_state().numpy().tobytes(),
    }


@contextmanager
def seeded_generators(seed: int) -> Iterator[None]:
    """The global generators of Python, NumPy and torch seeded; given back as they were."""
    states = random.getstate(), np.random.get_state(), torch.get_rng_state()  # noqa: NPY002
    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002
    torch.manual_seed(seed)
    try:
        yield
    finally:
        random.setstate(states[0])
        np.random.set_state(states[1])  # noqa: NPY002
        torch.set_rng_state(states[2])


@contextmanager
def quiet() -> Iterator[None]:
    """TorchRL's checker without its message of success."""
    level = torchrl_logger.level
    torchrl_logger.setLevel("WARNING")
    try:
        yield
    finally:
        torchrl_logger.setLevel(level)
