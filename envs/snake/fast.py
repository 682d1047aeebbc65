"""snake, the fast side: one board at a time, in the loops of kernel.pyx."""

from __future__ import annotations

import simulacrum

from . import ENVIRONMENT


class SnakeKernel(simulacrum.KernelEnv):
    """The loops of kernel.pyx: a board is much work, so that it is a block, and worth a thread, of its own."""

    environment = ENVIRONMENT
    block = 1
    rows_per_thread = 1
