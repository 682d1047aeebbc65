"""What of the process a check changes for a while, and gives back."""

from __future__ import annotations

import decimal
import gc
import locale
import logging
import os
import random
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import lru_cache, partial
from typing import Any

import numpy as np
import torch
from torchrl import torchrl_logger

from .. import native
from ..bench.sides import threads


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


def kernels_possible() -> bool:
    """Whether a package's kernel can be built: there is a C compiler, and native helpers are not switched off."""
    return native.enabled()


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
def deterministic_algorithms() -> Iterator[None]:
    """Torch's deterministic algorithms, which also fill new memory with NaN."""
    before = torch.are_deterministic_algorithms_enabled()
    torch.use_deterministic_algorithms(True)
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(before)


@contextmanager
def another_folder() -> Iterator[None]:
    """Another current directory, an empty one."""
    before = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            yield
        finally:
            os.chdir(before)


LOCALES = ("de_DE.UTF-8", "tr_TR.UTF-8", "fr_FR.UTF-8", "en_US.UTF-8", "C.UTF-8", "C")


@contextmanager
def another_locale() -> Iterator[None]:
    """Another locale, the first of some that this machine has."""
    before = locale.setlocale(locale.LC_ALL)
    try:
        for name in LOCALES:
            try:
                if locale.setlocale(locale.LC_ALL, name) != before:
                    break
            except locale.Error:
                continue
        yield
    finally:
        locale.setlocale(locale.LC_ALL, before)


# What must change nothing, by name: for both sides, for the fast side, and of those that may split large batches.
BOTH: dict[str, Callable[[], AbstractContextManager[Any]]] = {
    "when run again": nullcontext,
    "after the global generators were seeded": partial(seeded_generators, 1),
    "after the global generators were seeded otherwise": partial(seeded_generators, 2),
    "with NumPy's floating-point errors raised": partial(np.errstate, divide="raise", over="raise", invalid="raise"),
    "in another current directory": another_folder,
    "in another locale": another_locale,
}
FAST: dict[str, Callable[[], AbstractContextManager[Any]]] = {
    "with float64 as the default dtype": partial(default_dtype, torch.float64),
    "with float16 as the default dtype": partial(default_dtype, torch.float16),
    "with bfloat16 as the default dtype": partial(default_dtype, torch.bfloat16),
    "with gradients on": torch.enable_grad,
    "without gradients": torch.no_grad,
    "in inference mode": torch.inference_mode,
    "with deterministic algorithms": deterministic_algorithms,
}
THREADS: dict[str, Callable[[], AbstractContextManager[Any]]] = {
    f"with {count} threads": partial(threads, count) for count in (2, 3)
}


def settings() -> dict[str, Any]:
    """What of the process whoever imports a package relies on, by name, comparable with ``==``."""
    return {
        "the default dtype": torch.get_default_dtype(),
        "the default device": str(torch.get_default_device()),
        "the number of threads": (torch.get_num_threads(), torch.get_num_interop_threads()),
        "the grad mode": (torch.is_grad_enabled(), torch.is_inference_mode_enabled()),
        "the deterministic algorithms": torch.are_deterministic_algorithms_enabled(),
        "the precision of float32 products": torch.get_float32_matmul_precision(),
        "cuDNN's settings": (torch.backends.cudnn.benchmark, torch.backends.cudnn.deterministic),
        "flushing of denormals": float(torch.tensor(1e-40) * 1.0) == 0.0,
        "NumPy's error handling": np.geterr(),
        "NumPy's print options": repr(np.get_printoptions()),
        "the locale": locale.setlocale(locale.LC_ALL),
        "the current directory": os.getcwd(),
        "the environment variables": dict(os.environ),
        "the warnings filters": list(warnings.filters),
        "the decimal context": repr(decimal.getcontext()),
        "the recursion limit": sys.getrecursionlimit(),
        "sys.path": list(sys.path),
        "the root logger": (logging.getLogger().level, list(logging.getLogger().handlers)),
        "the garbage collector": (gc.isenabled(), gc.get_threshold()),
        **{f"the global generator of {library}": state for library, state in generator_states().items()},
    }


def altered(before: dict[str, Any]) -> list[str]:
    """The settings that are no longer what they were."""
    return [name for name, value in settings().items() if value != before[name]]


@contextmanager
def quiet() -> Iterator[None]:
    """TorchRL's checker without its message of success."""
    level = torchrl_logger.level
    torchrl_logger.setLevel("WARNING")
    try:
        yield
    finally:
        torchrl_logger.setLevel(level)
