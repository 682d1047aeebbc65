"""``FastEnv``: the batched side, a TorchRL ``EnvBase``."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any, ClassVar, Generic, TypeVar

import torch
from tensordict import TensorDict, TensorDictBase
from torch import Tensor
from torchrl.envs.common import _EnvPostInit

from ..errors import SeedError, SpecError
from ..rng.tensor import Draw
from ..spec.agents import GROUP
from ..spec.environment import Environment, check_environment, has_body
from ..spec.package import pickle_by_loader
from ..spec.state import field_names, state_class
from .access import StateAccess
from .actions import ActionChecker
from .compiling import Compiling, padded_rows
from .constants import Constants
from .core import Carry, Core, Fields, Outcome, select, select_fields
from .made_specs import MadeSpecs
from .plain import OUTCOME, PlainSteps
from .probe import Forms, probe
from .specs import torch_dtype

__all__ = ["FastEnv"]

StateT = TypeVar("StateT")
RESETS = ("rows", "masked")


class _FastMeta(_EnvPostInit):
    """Checks classes when they are made; those that the loader made pickle by (path, digest, module, name)."""

    def __init__(cls, name: str, bases: tuple[type, ...], namespace: dict[str, Any], **kwargs: Any) -> None:
        super().__init__(name, bases, namespace, **kwargs)
        if has_body(namespace) and any(isinstance(base, _FastMeta) for base in bases):
            cls._declare()


pickle_by_loader(_FastMeta)


class FastEnv(PlainSteps, StateAccess, Constants, Compiling, MadeSpecs, Generic[StateT], metaclass=_FastMeta):
    """N instances that advance together: a :func:`~simulacrum.tensor_state` ``State`` and three pure functions.

    A subclass sets ``environment`` and writes :meth:`initial`, :meth:`transition` and :meth:`observation` over tensors
    ``[N, ...]``, without a Python branch on data; it may write :meth:`action_mask` and :meth:`info`. This base keeps
    the clock (seed, episode, ``t``), applies the step cap as ``truncated``, and turns them into TorchRL's API.

    Args:
        batch_size: any; instances are counted row-major. N is its product.
        seed: None (from the operating system), an int (as :meth:`set_seed`), or int64 [N] instance seeds (u64 bits).
        first_instance: the number of this environment's first instance, so that workers share one run: instance i of
            this environment gets the seed of instance ``first_instance + i`` of ``set_seed(seed)``.
        device: where the tensors live; the CPU by default.
        resets: ``"rows"`` computes first states for the rows that ended (compiled, for all rows where that is cheaper
            than to gather them); ``"masked"`` computes them for all rows, without a branch or a synchronisation. The
            bits are the same.
        validate_actions: whether action *values* are checked at every step (shape, dtype and device always are). None
            checks them on the CPU, where it costs little, and not elsewhere, where it would wait for the device.
        expose_state: show ``("state", field)`` and ``("clock", "seed" | "episode" | "t")`` in the TensorDict, as
            copies, and in the specs.

    ``reset(td, set_state=True)`` enters the state and the clock that ``td`` holds (see :meth:`get_state`). TorchRL's
    ``compile=True`` (or a dict of :func:`torch.compile` arguments) compiles the step and the reset.

    Errors: :class:`~simulacrum.errors.ActionError`, :class:`~simulacrum.errors.SeedError`,
    :class:`~simulacrum.errors.StateError`; :class:`~simulacrum.errors.OutputError` when the subclass returns another
    shape or dtype than it declares, :class:`~simulacrum.errors.SpecError` when it lacks what it is to declare;
    ValueError for another argument that is none.

    Example:
        >>> import torch
        >>> from simulacrum.spec import Package
        >>> env = Package.read("envs/toywalk").fast(batch_size=[3], seed=0)
        >>> td = env.reset().set("action", torch.ones(3, dtype=torch.int64))
        >>> done, td = env.step_and_maybe_reset(td)
        >>> td["observation"].shape, td["observation"].dtype
        (torch.Size([3, 2]), torch.float32)
        >>> env.get_state()["state", "position"].tolist()
        [-1, -1, -1]
    """

    environment: ClassVar[Environment]
    t_dtype: ClassVar[torch.dtype] = torch.int32  # of ``State.t``
    _supports_set_state = True

    @classmethod
    def _declare(cls) -> None:
        check_environment(cls)
        if cls.environment.agents is not None:
            raise SpecError(
                f"{cls.__name__}: an environment of many agents has a kernel for its fast form, a simulacrum.KernelEnv "
                "(docs/agents.md): tensors for each of them in turn would be no fast form"
            )
        state = state_class(cls, FastEnv)
        if state is not None:
            cls._state_class = state
            cls._field_names = field_names(state)
        if not hasattr(cls, "_state_class"):
            raise SpecError(f"{cls.__name__}: expected its State as a parameter: class {cls.__name__}(FastEnv[State])")

    def __init__(
        self,
        batch_size: Sequence[int] | torch.Size = (),
        *,
        seed: int | Tensor | None = None,
        first_instance: int = 0,
        device: torch.device | str | None = None,
        resets: str = "rows",
        validate_actions: bool | None = None,
        expose_state: bool = False,
    ) -> None:
        size = checked_size(batch_size)
        if isinstance(first_instance, bool) or not isinstance(first_instance, int):
            raise SeedError(f"first_instance: expected an int, got {first_instance!r}")
        if validate_actions not in (None, True, False):
            raise ValueError(f"validate_actions: expected None, True or False, got {validate_actions!r}")
        if resets not in RESETS:
            raise ValueError(f"resets: expected one of {RESETS}, got {resets!r}")
        super().__init__(device=torch.device(device or "cpu"), batch_size=size)
        self.resets = resets
        self.expose_state = expose_state
        self.first_instance = first_instance
        self.validate_actions = self.device.type == "cpu" if validate_actions is None else validate_actions
        self.is_closed = False
        self._rows = size.numel()
        self._constants: dict[Any, Tensor] = {}
        self._tables: dict[Any, Tensor] = {}
        self._carry: Carry | None = None
        self._compile_options: dict[str, Any] | None = None
        self._agents = self.environment.agents
        self._reward_dtype = torch_dtype(self.environment.reward_dtype)
        self._action_checker = ActionChecker(self.environment.action_space, self.device)
        self._field_forms, self._observation_forms, self._aliased = self._prepare()
        self._make_specs()
        self._next_seeds: Tensor | None = self._checked_seeds(seed)
        self._set_seed_called = False

    def _prepare(self) -> tuple[Forms, Forms, frozenset[Any]]:
        """Make the core, and learn the forms of its outputs (see :func:`probe`)."""
        self._use(Core(self))
        return probe(self)

    # ------------------------------------------------------------------ what a subclass writes

    def initial(self, draw: Draw) -> StateT:
        """The first states of N episodes (N is ``draw.rows``), from the reset slots' draws."""
        raise NotImplementedError

    def transition(self, state: StateT, action: Tensor, draw: Draw) -> tuple[StateT, Tensor, Tensor]:
        """(next state, reward [N], terminated bool [N]) from a state, actions and the step slots' draws.

        Actions are [N, ...] of the action space's shape and dtype, the reward is of the declared dtype.
        """
        raise NotImplementedError

    def observation(self, state: StateT) -> Any:
        """What an agent sees: [N, ...] in the observation space's dtype; as the space is, a dict or a tuple of these.

        TensorDicts show the parts of a tuple as ``("observation", "0")``, ``("observation", "1")`` and so on.
        """
        raise NotImplementedError

    def action_mask(self, state: StateT) -> Tensor | None:
        """Which actions are legal: bool [N, ...], [N, n] for ``Discrete(n)``, or None where all are; shown as
        ``action_mask``."""
        return None

    def info(self, state: StateT) -> dict[str, Tensor]:
        """Further values [N, ...] of any dtype, shown under ``("info", name)``."""
        return {}

    # ------------------------------------------------------------------ TorchRL's API

    def _step(self, tensordict: TensorDictBase) -> TensorDictBase:
        action = self._action(tensordict)
        before = self._begun()
        after, outcome = self._advance(before, action)
        partial = tensordict.get("_step", None)
        if partial is None:
            self._carry = after
            return self._result(after, outcome)
        mask = partial.reshape(self._rows)
        self._carry = select(mask, after, before)
        return self._result(self._carry, self._held(mask, before, outcome, tensordict))

    def _held(self, mask: Tensor, before: Carry, outcome: Outcome, tensordict: TensorDictBase) -> Outcome:
        """An outcome in which the rows outside the mask stay as they are: the observation and flags that they had."""
        seen = select_fields(mask, outcome.observation, self._core.observation(before))
        none = torch.zeros_like(outcome.done)
        flags = []
        for name in ("terminated", "truncated", "done"):
            had = tensordict.get(name, None)
            flags.append(torch.where(mask, getattr(outcome, name), none if had is None else had.reshape(self._rows)))
        reward = torch.where(mask, outcome.reward, torch.zeros_like(outcome.reward))
        return Outcome(seen, reward, *flags)

    def _reset(self, tensordict: TensorDictBase | None = None, set_state: bool = False) -> TensorDictBase:
        mask = None if tensordict is None else tensordict.get("_reset", None)
        if mask is not None:
            mask = self._reset_mask(mask)
        if set_state:
            injected = self._injected(tensordict)
            if mask is None and not self._set_seed_called:
                self._next_seeds = None  # the constructor's; the injected clock goes on with its own
            injected = injected if mask is None or self._carry is None else select(mask, injected, self._carry)
            self._check_states(injected)
            self._carry = injected
        elif mask is None or self._carry is None:
            self._carry = self._begin_all()
        else:
            self._carry, _ = self._renew(self._carry, {}, mask)
        carry = self._begun()
        return self._tensordict(self._visible(carry, self._core.observation(carry)), self._no_flags())

    def _check_states(self, carry: Carry) -> None:
        """Raise :class:`StateError` for injected states that cannot be gone on from: tensors go on from any."""

    def _reset_mask(self, mask: Tensor) -> Tensor:
        """A ``_reset`` entry as bool [N]."""
        if mask.dtype != torch.bool or mask.numel() != self._rows:
            raise ValueError(f"_reset: expected bool {[*self.batch_size, 1]}, got {mask.dtype} {list(mask.shape)}")
        return mask.reshape(self._rows)

    def _step_and_maybe_reset(self, tensordict: TensorDictBase) -> tuple[TensorDictBase, TensorDictBase]:
        """The step, and the next episode of the rows that ended, in one pass."""
        usual = self._agents is None and type(tensordict) is TensorDict
        if usual and self._usual_keys.issuperset(tensordict.keys()):
            self._assert_tensordict_shape(tensordict)
            after, outcome, seen = self._fused(self._action(tensordict))
            done = self._result(after, outcome)
            tensordict._set_str("next", done, validated=True, inplace=False, non_blocking=False)
            action = {"action": tensordict._get_str("action", None)}
            return tensordict, self._tensordict(self._visible(self._carry, seen), self._no_flags(), action)
        return self._step_and_maybe_reset_others(tensordict)

    def _step_and_maybe_reset_others(self, tensordict: TensorDictBase) -> tuple[TensorDictBase, TensorDictBase]:
        """The same for a TensorDict with more in it than a reset shows, and an action."""
        if "_step" in tensordict.keys() or "next" in tensordict.keys():
            return super()._step_and_maybe_reset(tensordict)  # TorchRL's rules for these keys
        if tensordict.device != self.device:
            tensordict = tensordict.to(self.device)
        self._assert_tensordict_shape(tensordict)
        after, outcome, seen = self._fused(self._action(tensordict))
        tensordict.set("next", self._result(after, outcome))
        root = self._step_mdp(tensordict)
        shown = self._tensordict(self._visible(self._carry, seen), self._no_flags())
        nested = self._agents is not None
        given = {self.action_key, *shown.keys(nested, nested)}
        others = [name for name in root.keys(nested, nested) if name not in given]
        if others:  # a policy's memory, say
            root.update(_cleared(root.select(*others), outcome.done.reshape(self.batch_size)))
        root.update(shown)
        return tensordict, root

    def _begin_all(self) -> Carry:
        if self._next_seeds is not None:
            seeds, self._next_seeds = self._next_seeds, None
            return self._core.begin(seeds, torch.zeros_like(seeds))[0]
        carry = self._begun()
        return self._core.begin(carry.seed, carry.episode + 1)[0]

    def _renew(self, carry: Carry, seen: Fields, mask: Tensor) -> tuple[Carry, Fields]:
        """The next episodes of the rows of a mask; ``seen`` may be empty when nobody looks."""
        if self.resets == "masked":
            return self._renew_masked(carry, seen, mask)
        if self._compile_options is None:
            rows = mask.nonzero().squeeze(-1)
            return self._renew_rows(carry, seen, rows) if len(rows) else (carry, seen)
        padded = padded_rows(mask)
        if padded is None:
            return carry, seen
        if self._lanes is not None and carry is self._lanes.carry:
            return carry, self._lanes.renewed(padded, seen)
        return self._renew_rows(carry, seen, padded)

    def _action(self, tensordict: TensorDictBase) -> Tensor:
        action = self._action_checker.check_form(self._taken(tensordict), self.batch_size)
        if len(self.batch_size) != 1:
            action = action.reshape(self._rows, *action.shape[len(self.batch_size) :])
        if self.validate_actions:
            self._action_checker.check_values(action)
        return action

    def _taken(self, tensordict: TensorDictBase) -> Tensor | None:
        """The action in a TensorDict, or of many agents the actions; None where there is none."""
        if self._agents is not None:
            tensordict = tensordict._get_str(GROUP, None)
        return None if tensordict is None else tensordict._get_str("action", None)

    def _result(self, carry: Carry | None, outcome: Outcome) -> TensorDictBase:
        rest: dict[Any, Any] = dict(zip(OUTCOME, outcome[1:], strict=True))
        if self._agents is not None:
            shown, reward = self._visible(carry, outcome.observation), rest.pop("reward")
            shown[GROUP]["reward"] = reward.reshape(*self.batch_size, self._agents, 1)
            return self._tensordict(shown, {name: value.reshape(*self.batch_size, 1) for name, value in rest.items()})
        if outcome.reward.ndim <= len(self.batch_size):  # which a step in place gives in these shapes
            rest = {name: value.reshape(*self.batch_size, 1) for name, value in rest.items()}
        return self._tensordict(self._visible(carry, outcome.observation), rest)

    def _visible(self, carry: Carry | None, seen: Fields) -> dict[Any, Any]:
        if not (self._nested or self.expose_state):
            return {key: self._shaped(value) for key, value in seen.items()}
        values: dict[Any, Any] = {}
        for key, value in seen.items():
            if isinstance(key, tuple):
                values.setdefault(key[0], {})[key[1]] = self._shaped(value)
            else:
                values[key] = self._shaped(value)
        return {**values, **self._exposed(carry)} if self.expose_state and carry is not None else values

    def _no_flags(self) -> dict[str, Tensor]:
        flags = None if self._lanes is None else self._lanes.no_flags()
        if flags is None:  # one allocation, not three
            flags = torch.zeros((3, *self.batch_size, 1), dtype=torch.bool, device=self.device)
        return dict(zip(("done", "terminated", "truncated"), flags.unbind(0), strict=True))

    def _tensordict(self, *parts: dict[Any, Any], group: str = "") -> TensorDict:
        values: dict[Any, Any] = {}
        for part in parts:
            values.update(part)
        if self._nested or self.expose_state:
            values = {
                key: self._tensordict(value, group=key) if isinstance(value, dict) else value
                for key, value in values.items()
            }
        made: TensorDict = TensorDict._new_unsafe(  # which does not check what is right by construction
            values, batch_size=self._group_size(group), device=self.device, nested=False
        )
        return made

    def forward(self) -> FastEnv[StateT]:
        """Itself, so that ``SerialEnv(2, env)`` and ``ParallelEnv(2, env)`` take an environment for a function.

        The copies that they make hold the same seeds: call ``set_seed``, or give functions with ``first_instance``.
        """
        return self


def _cleared(others: TensorDictBase, ended: Tensor) -> TensorDictBase:
    """What no environment gives, with zeros where rows ended: as TorchRL's reset does it, unless all rows ended."""
    return others.where(~ended | ended.all(), others.empty(), pad=0)


def checked_size(batch_size: Any) -> torch.Size:
    """A batch size from an int or a sequence of positive ints; raises ValueError for anything else."""
    sizes = batch_size if isinstance(batch_size, (tuple, list, torch.Size)) else (batch_size,)
    try:
        size = torch.Size([operator.index(one) for one in sizes])
    except TypeError:
        raise ValueError(f"batch_size: expected an int or a sequence of ints, got {batch_size!r}") from None
    if any(isinstance(one, bool) or one < 1 for one in sizes):
        raise ValueError(f"batch_size: expected positive sizes, got {batch_size!r}")
    return size
