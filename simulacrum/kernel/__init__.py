"""The kernel form: a package's ``kernel.pyx``, Cython loops over instances, built on demand (DESIGN, 7)."""

from .env import KernelEnv

__all__ = ["KernelEnv"]
