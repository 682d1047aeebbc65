"""The fast side: ``FastEnv``, a TorchRL ``EnvBase`` over N instances, and ``tensor_state`` for its ``State``."""

from .env import FastEnv
from .state import tensor_state

__all__ = ["FastEnv", "tensor_state"]
