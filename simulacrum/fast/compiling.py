"""``Compiling``: how a ``FastEnv``'s core is compiled, moved to a device, and pickled."""

from __future__ import annotations

from typing import Any, ClassVar

import torch
from torch import Tensor
from torchrl.envs import EnvBase
from typing_extensions import Self

from ..spec.environment import Environment
from .actions import ActionChecker
from .core import Carry, Core
from .probe import probe

# On the CPU: no hand-vectorised loops, which for bool tensors are many times slower than the compiler's own. Elsewhere:
# division and multiply-add rounded as in eager mode, which the bits depend on.
INDUCTOR_OPTIONS: dict[bool, dict[str, Any]] = {
    True: {"cpp.simdlen": 1},
    False: {"eager_numerics.division_rounding": True, "emulate_precision_casts": True},
}
COMPILED = ("_advance", "_advance_masked", "_renew_rows", "_renew_masked")
DROPPED_ON_PICKLING = (*COMPILED, "_collector", "_constants", "_core")


class Compiling(EnvBase):
    """The part of :class:`~simulacrum.FastEnv` that chooses what runs its core, and where."""

    environment: ClassVar[Environment]
    _core: Core
    _carry: Carry | None
    _next_seeds: Tensor | None
    _constants: dict[Any, Tensor]
    _compile_options: dict[str, Any] | None

    def compile(self, *, warmup: int | None = None, **options: Any) -> Self:
        """Compile the step and the reset with :func:`torch.compile`; returns itself.

        Masked resets: one graph. Resets by rows: one graph for the step, and one for each padded number of rows (powers
        of four from 16). ``warmup`` is taken as TorchRL's own signature has it and has no use here: the graphs hold
        tensors, not TensorDicts, so no layout has to settle first.
        """
        self._compile_options = {
            "fullgraph": True,
            "dynamic": False,
            "isolate_recompiles": True,
            "recompile_limit": 64,
            **options,
        }
        inductor = options.get("backend", "inductor") == "inductor"
        if inductor and "mode" not in options:  # torch.compile takes a mode or options
            self._compile_options["options"] = {
                **INDUCTOR_OPTIONS[self.device.type == "cpu"],
                **options.get("options", {}),
            }
        self._use(self._core)
        return self

    def eager(self) -> Self:
        """Undo :meth:`compile`; returns itself."""
        self._compile_options = None
        self._use(self._core)
        return self

    def _use(self, core: Core) -> None:
        """Take the core's functions, compiled or as they are."""
        options = self._compile_options
        self._core = core
        functions = (core.advance, core.advance_masked, core.renew_rows, core.renew_masked)
        if options is not None:
            functions = tuple(torch.compile(function, **options) for function in functions)  # type: ignore[assignment]
        self._advance, self._advance_masked, self._renew_rows, self._renew_masked = functions

    def to(self, device: torch.device | str | int) -> Self:
        """Move to a device, the running episodes included."""
        super().to(device)
        self._constants.clear()
        self._action_checker = ActionChecker(self.environment.action_space, self.device)
        if self._carry is not None:
            fields, *clock = self._carry
            moved = {name: value.to(self.device) for name, value in fields.items()}
            self._carry = Carry(moved, *(value.to(self.device) for value in clock))
        if self._next_seeds is not None:
            self._next_seeds = self._next_seeds.to(self.device)
        probe(self)  # makes the constants on the new device before a graph asks for them
        self._use(self._core)
        return self

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name not in DROPPED_ON_PICKLING}

    def __setstate__(self, values: dict[str, Any]) -> None:
        self.__dict__.update(values)
        self._constants = {}
        self._use(Core(self))
        probe(self)


def padded(rows: Tensor, limit: int) -> Tensor:
    """Row numbers int64 [K], the first repeated up to the next power of four from 16, at most ``limit``."""
    size = 16
    while size < len(rows):
        size *= 4
    size = min(size, limit)
    return torch.cat([rows, rows[:1].expand(size - len(rows))])
