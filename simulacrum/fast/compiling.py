"""``Compiling``: how a ``FastEnv``'s core is compiled, moved to a device, and pickled."""

from __future__ import annotations

import re
from typing import Any, ClassVar

import torch
from torch import Tensor
from torchrl.envs import EnvBase
from typing_extensions import Self

from ..spec.environment import Environment
from .actions import ActionChecker
from .core import Carry, Core
from .lanes import Lanes
from .probe import probe

# Which code runs is settled when a graph is made, and so is what this framework notes about an environment: guards on
# these would cost a step some 15 microseconds. Guards on the environment's own values stay (a package's constants,
# attributes), and those on the forms of tensors.
CODE_GUARDS = ("BUILTIN_MATCH", "CLASS_MATCH", "CLOSURE_MATCH", "MODULE_MATCH", "NOT_PRESENT_IN_GENERIC_DICT")
OWN_VALUES = re.compile(
    r"G\['(torch|__builtins|__import_simulacrum_dot_|___unnamed)|^self\.(core\.(cap|drawn)|forms|keys|bools|batch_size)"
    r"|^self\.core\.env\._|\['_field_names'\]|\['t_dtype'\]|\['environment'\]"
)
# On the CPU graphs over bools have no hand-vectorised loops, which are many times slower than the compiler's own. Those
# over lanes have them, and bools that are met on the way are computed where they are used, since it is memory of bools
# that is slow. Elsewhere: division and multiply-add rounded as in eager mode, which the bits depend on.
INDUCTOR_OPTIONS: dict[str, dict[str, Any]] = {
    "cpu": {"cpp.simdlen": 1},
    "cpu lanes": {
        "realize_reads_threshold": 100,
        "realize_opcount_threshold": 100,
        "size_asserts": False,  # the guards hold the forms of what goes in
        "alignment_asserts": False,
    },
    "other": {"eager_numerics.division_rounding": True, "emulate_precision_casts": True},
}
LANES = " lanes"
COMPILED = ("_advance", "_advance_masked", "_renew_rows", "_renew_masked")
DROPPED_ON_PICKLING = (*COMPILED, "_collector", "_constants", "_core", "_lanes", "_packed", "_places", "_tables")


class Compiling(EnvBase):
    """The part of :class:`~simulacrum.FastEnv` that chooses what runs its core, and where."""

    environment: ClassVar[Environment]
    _core: Core
    _carry: Carry | None
    _next_seeds: Tensor | None
    _constants: dict[Any, Tensor]
    _tables: dict[Any, Tensor]
    _compile_options: dict[str, Any] | None
    _lanes: Lanes | None = None
    _packed: dict[torch.dtype, Tensor]  # scalar constants by dtype, which a graph takes as one input, and their places
    _places: dict[Any, int]

    def compile(self, *, warmup: int | None = None, **options: Any) -> Self:
        """Compile the step and the reset with :func:`torch.compile`; returns itself.

        Masked resets: one graph. Resets by rows: one graph for the step, and one for each padded number of rows (powers
        of four from 16). ``warmup`` is taken as TorchRL's own signature has it and has no use here: the graphs hold
        tensors, not TensorDicts, so no layout has to settle first.
        """
        self._compile_options = {
            "fullgraph": True,
            "isolate_recompiles": True,
            "recompile_limit": 64,
            **options,
        }
        self._use(self._core)
        return self

    def _compiled(self, function: Any, kind: str) -> Any:
        """A function as a graph; ``kind`` is ``LANES`` for one over lanes."""
        options = dict(self._compile_options or {})
        if kind != LANES:  # whose sizes are fixed as it is; saying so costs every call some microseconds
            options.setdefault("dynamic", False)
        inductor = options.get("backend", "inductor") == "inductor"
        if inductor and "mode" not in options:  # torch.compile takes a mode or options
            own = {
                "guard_filter_fn": _needed,
                **INDUCTOR_OPTIONS["cpu" + kind if self.device.type == "cpu" else "other"],
            }
            options["options"] = {**own, **options.get("options", {})}
        return torch.compile(function, **options)

    def eager(self) -> Self:
        """Undo :meth:`compile`; returns itself."""
        self._compile_options = None
        self._use(self._core)
        return self

    def _use(self, core: Core) -> None:
        """Take the core's functions, compiled or as they are."""
        self._core, self._lanes = core, None
        self._packed, self._places = packed(self._constants)
        functions = (core.advance, core.advance_masked, core.renew_rows, core.renew_masked)
        if self._compile_options is not None:
            functions = tuple(self._compiled(function, "") for function in functions)  # type: ignore[assignment]
            self._lanes = Lanes(core, self.batch_size, self.device, lambda function: self._compiled(function, LANES))
        self._advance, self._advance_masked, self._renew_rows, self._renew_masked = functions

    def to(self, device: torch.device | str | int) -> Self:
        """Move to a device, the running episodes included."""
        super().to(device)
        self._constants.clear()
        self._tables.clear()
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
        self._constants, self._tables = {}, {}
        self._core = Core(self)
        probe(self)
        self._use(self._core)


def _needed(entries: Any) -> list[bool]:
    return [
        entry.guard_type == "TENSOR_MATCH" or not (entry.guard_type in CODE_GUARDS or OWN_VALUES.search(entry.name))
        for entry in entries
    ]


def packed(constants: dict[Any, Tensor]) -> tuple[dict[torch.dtype, Tensor], dict[Any, int]]:
    """The scalars among constants: one tensor a dtype, and the place of each by its key."""
    lists: dict[torch.dtype, list[Tensor]] = {}
    places = {}
    for key, value in constants.items():
        if value.ndim == 0:
            same = lists.setdefault(value.dtype, [])
            places[key] = len(same)
            same.append(value)
    return {dtype: torch.stack(values) for dtype, values in lists.items()}, places


def padded_rows(mask: Tensor) -> Tensor | None:
    """The numbers of the rows of a mask (bool [N]), padded; None where there are none. It waits for the device."""
    on_cpu = mask.device.type == "cpu"  # where NumPy's way takes a third of the time
    rows = torch.from_numpy(mask.numpy().nonzero()[0]) if on_cpu else mask.nonzero().squeeze(-1)
    return padded(rows, len(mask)) if len(rows) else None


def padded(rows: Tensor, limit: int) -> Tensor:
    """Row numbers int64 [K], the first repeated up to the next power of four from 16, at most ``limit``."""
    size = 16
    while size < len(rows):
        size *= 4
    size = min(size, limit)
    return rows if size == len(rows) else torch.constant_pad_nd(rows, (0, size - len(rows)), int(rows[0]))
