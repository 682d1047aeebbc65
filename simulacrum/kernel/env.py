"""``KernelEnv``: the kernel form of an environment, loops over its rows in place, behind ``FastEnv``'s API."""

from __future__ import annotations

import inspect
import os
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar

import torch
from numpy.typing import NDArray
from tensordict import TensorDict, TensorDictBase
from torch import Tensor
from typing_extensions import Self

from ..errors import OutputError
from ..fast import FastEnv
from ..fast.core import Carry, Fields, Outcome
from ..fast.plain import OUTCOME
from ..fast.probe import Forms
from ..fast.specs import torch_dtype
from ..spec import Package
from ..spec.agents import GROUP
from ..spec.environment import check_environment
from ..spec.package import package_of
from . import build
from .core import KernelCore
from .layout import BLOCK, Layout
from .legal import check_states
from .memory import Memory
from .outputs import FLAGS, Outputs, Shown

__all__ = ["KernelEnv"]

_forked = False  # this process: threads that a loop had in its parent are not here, and a loop would wait for them


def _mark_forked() -> None:
    global _forked
    _forked = True


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_mark_forked)

SPECIAL = {"next", "_step", "reward"}  # entries for which TorchRL has rules of its own
BUILT = ("_core", "_outputs", "_entries", "_blanks")  # from the kernel's module, and not pickled


class KernelEnv(FastEnv[Any]):
    """N instances that a compiled loop advances in place: the ``kernel.pyx`` beside the class's module.

    A subclass sets ``environment``, and nothing else where the observation is all that is seen. The arguments, the API
    and the bits are :class:`simulacrum.FastEnv`'s; so are the errors. ``resets`` changes nothing here: first states are
    always computed for the rows that ended. Action values are always checked, whatever ``validate_actions`` says: a
    loop that is given another one would read memory that is not its own.

    With many agents (``environment.agents``) what they see, do and get stands under ``"agents"``, as TorchRL groups
    them: ``("agents", "observation")``, ``("agents", "action")`` and ``("agents", "reward")``, ``[*batch_size, agents,
    ...]``. The flags at the root are the instance's; ``("agents", "terminated")`` tells who died in a step, which ends
    nothing.

    The loop runs in ``torch.get_num_threads()`` threads where every thread has ``rows_per_thread`` rows at least; in a
    forked process in one.

    Attributes:
        shows: outputs beside the observation: ``{"action_mask": ("bool", shape), ("info", name): (dtype, shape)}``.
        rows_per_thread: below twice this many rows one thread runs alone.
        block: rows that the functions of ``kernel.pyx`` see at a time: 128, or 1 for rows of many elements, as a board
            with all that is on it.

    Raises:
        BuildError: no C compiler, or ``kernel.pyx`` does not compile; the message has what the compiler printed.
        ValueError: a device other than the CPU, or ``compile=True``.
        StateError: injected values outside the spec's bounds that the kernel's memory cannot hold; with ``block`` 1
            any state outside the bounds, or that breaks an invariant of ``checks.py``.

    Example:
        >>> import torch
        >>> from simulacrum.spec import Package
        >>> env = Package.read("envs/toywalk").forms["kernel"](batch_size=[3], seed=0)
        >>> td = env.reset().set("action", torch.ones(3, dtype=torch.int64))
        >>> done, td = env.step_and_maybe_reset(td)
        >>> done["next", "reward"].tolist()
        [[-1.0], [-1.0], [-1.0]]
        >>> env.state_views()["position"][0, :3].tolist()
        [-1, -1, -1]
    """

    shows: ClassVar[dict[Any, tuple[Any, tuple[int, ...]]]] = {}
    rows_per_thread: ClassVar[int] = 4096
    block: ClassVar[int] = BLOCK
    _memory: Memory | None = None  # None before the first reset
    _core: KernelCore  # type: ignore[assignment]

    @classmethod
    def _declare(cls) -> None:
        if cls.__bases__ != (FastEnv,):  # a package's, and not this class itself
            check_environment(cls)

    @classmethod
    def layout(cls) -> Layout:
        """How rows lie in memory: the fields, the action and what is seen, each with its key, dtypes and shape [...].

        Raises :class:`~simulacrum.errors.SpecError` for a spec that a kernel cannot hold,
        :class:`~simulacrum.errors.PackageError` for a class outside of a package.
        """
        package = package_of(cls.__module__) or Package.read(Path(inspect.getfile(cls)).parent)
        return _layout(package, cls)

    def __init__(self, batch_size: Any = (), *, device: Any = None, **options: Any) -> None:
        if torch.device(device or "cpu").type != "cpu":
            raise ValueError(f'device: a kernel runs on the CPU, got {device!r}; take the tensor form (form="tensor")')
        super().__init__(batch_size, device=device, **options)

    def _prepare(self) -> tuple[Forms, Forms, frozenset[Any]]:
        layout = self.layout()
        self._field_names = tuple(part.name for part in layout.fields)
        self._make_loop(layout)
        fields = {part.name: (torch_dtype(part.dtype), part.shape) for part in layout.fields}
        seen = {part.key: (torch_dtype(part.dtype), part.shape) for part in layout.seen}
        return fields, seen, frozenset()

    def _make_loop(self, layout: Layout) -> None:
        self._core = core = KernelCore(build.load(layout), layout)
        self._advance, self._advance_masked = core.advance, core.advance_masked
        self._renew_rows, self._renew_masked = core.renew_rows, core.renew_masked
        self._outputs = Outputs(layout, core.reward, self.batch_size)
        first = (part.key[0] if isinstance(part.key, tuple) else part.key for part in layout.seen)
        self._usual = frozenset([*first, *FLAGS, "action"])
        self._usual_of_agents = frozenset(["action", *(part.key[1] for part in layout.seen if part.key[0] == GROUP)])
        self._groups = tuple({part.key[0] for part in layout.seen if isinstance(part.key, tuple)})
        sizes = {name: self._group_size(name) for name in ("", *self._groups)}
        blanks = {name: TensorDict._new_unsafe({}, batch_size=size, device="cpu") for name, size in sizes.items()}
        self._entries = type(blanks[""]._tensordict)
        self._blanks = {name: blank.__dict__ for name, blank in blanks.items()}
        self._action_form = ((*self.batch_size, *layout.action.shape), torch_dtype(layout.action.dtype))
        self._target_forms = {part.key: (torch_dtype(part.dtype), self._rows * part.count) for part in layout.seen}
        self._outcome_forms = dict.fromkeys(OUTCOME, (torch.bool, self._rows))
        self._outcome_forms["reward"] = core.reward, self._rows * (layout.agents or 1)
        self._most_threads = max(1, self._rows // self.rows_per_thread)

    # ------------------------------------------------------------------ the rows in place

    @property
    def _carry(self) -> Carry | None:
        """All that the instances are: a copy. Setting it takes rows over."""
        return None if self._memory is None else self._memory.read()

    @_carry.setter
    def _carry(self, carry: Carry | None) -> None:
        if carry is None:
            self._memory = None
        elif self._memory is None:
            self._memory = self._core.memory(carry)
        else:
            self._memory.write(carry)

    def _rows_now(self) -> Memory:
        if self._memory is None:
            self._begun()  # raises
        assert self._memory is not None
        return self._memory

    def _check_states(self, carry: Carry) -> None:
        if self.block == 1:
            check_states(type(self), self._core.layout.package.spec.fields, carry)

    @property
    def _threads(self) -> int:
        return 1 if _forked else min(torch.get_num_threads(), self._most_threads)

    def state_views(self) -> dict[str, NDArray[Any]]:
        """The state's fields and ``t`` by name: read-only arrays over the loop's own memory, no copies.

        Of the narrow dtypes that are kept: ``[N, *shape]``; fields of at most 64 elements in blocks of 128 rows are
        ``[blocks, 128, *shape]``, the last block filled up with copies of the last row. They show each later step; a
        full reset may begin other memory. Raises :class:`StateError` before the first reset.
        """
        return self._rows_now().views()

    @property
    def step_bytes(self) -> int:
        """The bytes that a step of all rows moves, with state and clock read and written, the action, what is shown.

        Of rows that are seen one at a time the state is left out: a step touches little of a board.
        """
        layout = self._core.layout
        kept = sum(part.count * part.kept.itemsize for part in layout.fields) if self.block > 1 else 0
        state = 2 * kept + 2 * 4 + 2 * 4
        return self._rows * (state + layout.action.count * layout.action.dtype.itemsize) + self._outputs.step_bytes

    def step_into(self, action: Tensor, ended: Fields, now: Fields) -> None:
        """As :meth:`FastEnv.step_into`, but straight into the tensors [N, ...]; action values are checked.

        Raises :class:`~simulacrum.errors.OutputError` for a tensor of another dtype or size, or one that is not
        contiguous, :class:`~simulacrum.errors.ActionError` for actions that are none.
        """
        self._check_targets(ended, {**self._target_forms, **self._outcome_forms})
        self._check_targets(now, self._target_forms)
        flat = {key: value for key, value in ended.items() if key in self._observation_forms}
        shown = Outcome(flat, ended["reward"], ended["terminated"], ended["truncated"], ended["done"])
        self._core.step(self._rows_now(), self._threads, action, shown, now)

    def _check_targets(self, targets: Fields, forms: dict[Any, tuple[torch.dtype, int]]) -> None:
        """A loop writes where it is told: what it is told must be right."""
        for key, (dtype, size) in forms.items():
            target = targets[key]
            if target.dtype is not dtype or target.numel() != size or not target.is_contiguous():
                raise OutputError(
                    f"step_into, {key!r}: expected contiguous {dtype} of {size} elements, got {target.dtype} "
                    f"{list(target.shape)} with strides {list(target.stride())}"
                )

    def _fused(self, action: Tensor) -> tuple[Carry | None, Outcome, Fields]:
        memory, core = self._rows_now(), self._core
        if not self.expose_state:
            shown, now, _ = self._advance_into_outputs(memory, core.checked_form(action, self._rows))
            flags = (shown.ended[name].reshape(self._rows) for name in OUTCOME[1:])
            group = shown.ended if self._agents is None else shown.ended[GROUP]
            reward = group["reward"].reshape(core.rewards(self._rows))
            return None, Outcome(self._flat(shown.ended), reward, *flags), self._flat(now)
        outcome = core.empty_outcome(self._rows)
        core.step(memory, self._threads, action, outcome)
        after = memory.read()
        seen = {key: value.clone() for key, value in outcome.observation.items()}
        core.renew(memory, _numbers(outcome.done), seen)
        return after, outcome, seen

    def _advance_into_outputs(self, memory: Memory, action: Tensor) -> tuple[Shown, dict[Any, Any], int]:
        """One step with contiguous actions, their values checked, and the next episodes of the rows that end.

        Returns what is shown, what is seen next, and how many rows ended: ``memory.list`` has their numbers.
        """
        shown, shares = self._outputs.take(), self._outputs.shares
        threads = 1 if self._most_threads == 1 else self._threads
        try:
            seen = shown.ended_seen, shown.now_seen
            ended = memory.loop.step(threads, action.data_ptr(), *shown.outcome, *seen, 0, False, shown.unset, shares)
        except self._core.module.WrongDraw as error:
            raise self._core.wrong_draw(*error.args) from None
        if ended < 0:
            raise self._core.outside(action.reshape(self._rows, *self._core.layout.action.shape), -1 - ended)
        return shown, self._outputs.unended(shown) if shares and not ended else shown.now, ended

    def _flat(self, values: dict[Any, Any]) -> Fields:
        """What is seen of a set of outputs, by key, [N, ...]."""
        found = {}
        for part in self._outputs.seen:
            value = values[part.key[0]][part.key[1]] if isinstance(part.key, tuple) else values[part.key]
            found[part.key] = value if len(self.batch_size) == 1 else value.reshape(self._rows, *part.shape)
        return found

    def plain_step(self, action: Tensor, waiting: Tensor | None = None) -> Outcome:
        """As :meth:`FastEnv.plain_step`. Raises ValueError for a mask that is not bool [N], which a loop would read
        beyond, :class:`~simulacrum.errors.ActionError` for actions that are none."""
        if waiting is not None and (waiting.dtype is not torch.bool or waiting.shape != (self._rows,)):
            raise ValueError(f"waiting: expected bool [{self._rows}], got {waiting.dtype} {list(waiting.shape)}")
        outcome = self._core.empty_outcome(self._rows)
        self._core.step(self._rows_now(), self._threads, action, outcome, held=waiting, begins=True)
        return outcome

    # ------------------------------------------------------------------ TorchRL's API

    def _step_and_maybe_reset(self, tensordict: TensorDictBase) -> tuple[TensorDictBase, TensorDictBase]:
        if self.expose_state or type(tensordict) is not TensorDict:
            return super()._step_and_maybe_reset(tensordict)
        entries = tensordict._tensordict
        others = () if self._usual.issuperset(entries) else entries.keys() - self._usual
        if not SPECIAL.isdisjoint(others):
            return super()._step_and_maybe_reset(tensordict)
        memory = self._memory or self._rows_now()
        self._assert_tensordict_shape(tensordict)
        action = self._taken(tensordict)
        shape, dtype = self._action_form
        if action is None or action.dtype is not dtype or action.shape != shape or not action.is_contiguous():
            action = self._action_checker.check_form(action, self.batch_size).contiguous()
        shown, seen, ended = self._advance_into_outputs(memory, action)
        tensordict._set_str(
            "next", self._made(shown.ended, self._groups), validated=True, inplace=False, non_blocking=False
        )
        now = self._made(seen, self._groups)
        kept = [(entries, now, others)]  # a policy's memory, say, or what a collector counts
        if self._agents is None:
            now._tensordict["action"] = entries["action"]  # TorchRL's next root has the last action
        else:
            group, next_group = entries[GROUP], now._tensordict[GROUP]
            next_group._tensordict["action"] = group.get("action")
            kept.append((group, next_group, group.keys() - self._usual_of_agents))
        for old, new, names in kept:
            for name in names:  # TorchRL leaves them where all rows ended
                gone = memory.list[: ended if ended < self._rows else 0].long()
                new._tensordict[name] = _cleared(old[name], gone, len(self.batch_size))
        return tensordict, now

    def _step(self, tensordict: TensorDictBase) -> TensorDictBase:
        partial, outcome = tensordict.get("_step", None), self._core.empty_outcome(self._rows)
        held = None if partial is None else ~partial.reshape(self._rows)
        self._core.step(self._rows_now(), self._threads, self._action(tensordict), outcome, held=held)
        if held is not None:
            for name in FLAGS:  # those that are held keep the flags that they had
                had = tensordict.get(name, None)
                if had is not None:
                    getattr(outcome, name).logical_or_(had.reshape(self._rows) & held)
        return self._result(self._carry if self.expose_state else None, outcome)

    def _renew(self, carry: Carry, seen: Fields, mask: Tensor) -> tuple[Carry, Fields]:
        return self._core.renew_masked(carry, seen, mask)

    def _reset(self, tensordict: TensorDictBase | None = None, set_state: bool = False) -> TensorDictBase:
        mask = None if tensordict is None else tensordict.get("_reset", None)
        if set_state or mask is None or self._memory is None:
            return super()._reset(tensordict, set_state)
        seen = self._core.empty(self._rows)
        self._memory.loop.look(self._core.addresses(seen))
        self._core.renew(self._memory, _numbers(self._reset_mask(mask)), seen)
        carry = self._carry if self.expose_state else None
        return self._tensordict(self._visible(carry, seen), self._no_flags())

    def _made(self, values: dict[Any, Any], groups: tuple[str, ...] = (), group: str = "") -> TensorDict:
        """A TensorDict of tensors that are known to be right: what ``TensorDict._new_unsafe`` makes, in a third of the
        time. It has the attributes of a blank one."""
        made: TensorDict = TensorDict.__new__(TensorDict)
        made.__dict__.update(self._blanks[group])
        made._tensordict = self._entries(values)
        for name in groups:
            made._tensordict[name] = self._made(values[name], group=name)
        return made

    # ------------------------------------------------------------------ what has no meaning here, and copies

    def compile(self, *, warmup: int | None = None, **options: Any) -> Self:
        """Raises ValueError: there is nothing to compile."""
        raise ValueError('compile: a kernel is compiled as it is; compile=True is for the tensor form (form="tensor")')

    def eager(self) -> Self:
        """Itself."""
        return self

    def to(self, device: torch.device | str | int) -> Self:
        """Itself; raises ValueError for a device other than the CPU."""
        if torch.device(device).type != "cpu":
            raise ValueError(f'device: a kernel runs on the CPU, got {device!r}; take the tensor form (form="tensor")')
        return self

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in super().__getstate__().items() if name not in BUILT}

    def __setstate__(self, values: dict[str, Any]) -> None:
        self.__dict__.update(values)
        self._constants = {}
        self._make_loop(self.layout())
        if self._memory is not None:
            self._memory.bind(self._core.module, self._core.layout)


@lru_cache(maxsize=256)
def _layout(package: Package, cls: type[KernelEnv]) -> Layout:
    return Layout(package, cls.shows, cls.block)


def _cleared(value: Any, rows: Tensor, batch_dims: int) -> Any:
    """A tensor or TensorDict with zeros in rows (int64 [K]), as TorchRL's reset leaves what no environment gives."""
    if isinstance(value, Tensor):
        kept = value.clone(memory_format=torch.contiguous_format)
        kept.view(-1, *value.shape[batch_dims:]).index_fill_(0, rows, 0)
        return kept
    return value._fast_apply(lambda leaf: _cleared(leaf, rows, batch_dims), batch_size=value.batch_size)


def _numbers(mask: Tensor) -> Tensor:
    """The numbers of the rows of a mask, int32 [K]."""
    return mask.reshape(-1).nonzero().squeeze(-1).to(torch.int32)
