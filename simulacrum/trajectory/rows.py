"""What TensorDicts of a fast environment hold, row by row, as the parts of trajectories."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..bits import same_rows
from ..spec.agents import GROUP
from ..spec.environment import Environment
from ..spec.package import Package
from ..spec.state import CLOCK
from .records import First, Step, TrajectoryError
from .values import plain

if TYPE_CHECKING:
    from tensordict import TensorDictBase

Kind = tuple[str, tuple[int, ...]]  # the name of a dtype, and the shape of one step of one row
Arrays = list[np.ndarray]
ENDS = ("terminated", "truncated")
MASK = ("collector", "mask")  # of a collector with split_trajs=True


class Form(NamedTuple):
    """What the TensorDicts of an environment hold.

    Attributes:
        fields: each state field but ``t``, in their order.
        action: an action; a joint one of many agents.
        reward: the name of a reward's dtype.
        agents: how many agents share an instance; None for one agent.
        batch_size: of the environment; None where it is not known.
    """

    fields: Mapping[str, Kind]
    action: Kind
    reward: str
    agents: int | None
    batch_size: tuple[int, ...] | None = None

    def moment(self) -> dict[Any, Kind]:
        """What tells one moment of a row from another, by key: clock and state."""
        return {
            **{("clock", name): ("int64", ()) for name in CLOCK},
            **{("state", name): kind for name, kind in self.fields.items()},
        }

    def step(self) -> dict[Any, Kind]:
        """What of a step is no moment, by key: the action, then reward, ends, and of many agents who died."""
        ends: dict[Any, Kind] = {("next", name): ("bool", (1,)) for name in ENDS}
        if self.agents is None:
            return {"action": self.action, ("next", "reward"): (self.reward, (1,)), **ends}
        return {
            (GROUP, "action"): self.action,
            ("next", GROUP, "reward"): (self.reward, (self.agents, 1)),
            **ends,
            ("next", GROUP, "terminated"): ("bool", (self.agents, 1)),
        }


def form_of_package(package: Package) -> Form:
    """The form of a package's TensorDicts."""
    fields = package.spec.fields.values()
    return _form(package.environment, {one.name: (one.dtype.name, one.shape) for one in fields if one.name != "t"})


def form_of_env(env: Any) -> Form:
    """The form of a :class:`~simulacrum.FastEnv`'s TensorDicts."""
    forms = {name: env._field_forms[name] for name in env._field_names}
    fields = {name: (_name(dtype), tuple(shape)) for name, (dtype, shape) in forms.items()}
    return _form(env.environment, fields)._replace(batch_size=tuple(env.batch_size))


class Rows:
    """The steps of some rows of a TensorDict.

    Args:
        data: ``[*batch_size, T]``.
        form: what it has to hold.
        instances: which rows, counted row-major; all where it is None.
        before: the rows of the batch that this one follows on.
        injected: whether an episode may begin anywhere, as of an injected state.

    Attributes:
        count: how many rows the TensorDict has.
        instances: those whose steps are here.

    Raises :class:`TrajectoryError` for keys that lack, and for other shapes and dtypes; TypeError for no TensorDict.
    """

    def __init__(
        self,
        data: TensorDictBase,
        form: Form,
        instances: Sequence[int] | None,
        before: Rows | None = None,
        *,
        injected: bool = False,
    ) -> None:
        from tensordict import TensorDictBase

        if not isinstance(data, TensorDictBase):
            raise TypeError(
                f"expected a TensorDict [*batch_size, T] of env.rollout or a collector, got {type(data).__name__}"
            )
        size = tuple(data.batch_size)
        names = list(data.names or ())
        one_step = size == form.batch_size and names[-1:] != ["time"]
        if not size or one_step or "time" in names[:-1]:
            raise TrajectoryError(
                "expected a TensorDict [*batch_size, T], the steps last (torch.stack(steps, -1)), "
                f"got {list(size)} {names}"
            )
        self._size, self.count = size, math.prod(size[:-1])
        if before is not None and before.count != self.count:
            raise TrajectoryError(f"expected {before.count} rows, as in the batches before, got {self.count}")
        self.instances = _checked(instances, self.count)
        self._places = {row: place for place, row in enumerate(self.instances)}
        self._ends: dict[int, tuple[np.ndarray, Arrays]]  # by row: whether it ended, and its last moment
        self._ends = {} if before is None else before._ends
        self._injected = injected
        self._names = [*form.fields, "t"]
        moment, step, places = form.moment(), form.step(), {("next", *key): key for key in form.moment()}
        _complain_of_missing(data, [*moment, *places, *step])
        self._before = [self._array(data, key, kind) for key, kind in moment.items()]
        self._after = [self._array(data, key, moment[place]) for key, place in places.items()]
        action, *others = (self._array(data, key, kind) for key, kind in step.items())
        self._step = [action, *(values[..., 0] for values in others)]
        masked = data.get(MASK, None) is not None
        self._mask = self._array(data, MASK, ("bool", ())) if masked else None

    def parts(self, row: int) -> Iterator[First | Step]:
        """How each episode of a row begins, and each of its steps, in order; to be asked for once."""
        place = self._places[row]
        chosen = [[values[place] for values in part] for part in (self._before, self._after, self._step)]
        if self._mask is not None:
            chosen = _taken(chosen, self._mask[place])
        before, after, step = _taken(chosen, ~_repeats(*chosen))
        if not len(step[0]):
            return
        ended = step[2] | step[3]
        begins = np.ones(len(ended), np.bool_)
        begins[1:] = ~_goes_on(ended[:-1], [part[:-1] for part in after], [part[1:] for part in before])
        if not self._injected:
            self._check_order(row, begins[1:], [part[:-1] for part in after], [part[1:] for part in before])
        if row in self._ends:
            begins[:1] = ~_goes_on(*self._ends[row], [part[:1] for part in before])
            if not self._injected:
                self._check_order(row, begins[:1], self._ends[row][1], [part[:1] for part in before])
        self._ends[row] = ended[-1:], [part[-1:] for part in after]
        yield from self._told(begins, before, after, step)

    @staticmethod
    def _check_order(row: int, begins: np.ndarray, after: Arrays, before: Arrays) -> None:
        """Where an episode begins there was a reset, which gives t = 0 of a later episode of the same seed."""
        (seed, episode, _), (new_seed, new_episode, t) = after[: len(CLOCK)], before[: len(CLOCK)]
        wrong = begins & ~((new_seed == seed) & (new_episode > episode) & (t == 0))
        if wrong.any():
            k = int(np.argmax(wrong))
            led, begun = (
                ", ".join(f"{name} {int(part[k])}" for name, part in zip(CLOCK, moment, strict=False))
                for moment in (after, before)
            )
            raise TrajectoryError(
                f"row {row} of the TensorDict: a step led to {led}, and the next one begins at {begun}, elsewhere: "
                "expected [*batch_size, T], the steps last and in the order of time (injected=True if a state was "
                "injected there)"
            )

    def _told(self, begins: np.ndarray, before: Arrays, after: Arrays, step: Arrays) -> Iterator[First | Step]:
        """The parts, with every array turned into lists at once."""
        seeds, episodes, t, *fields = before
        columns = [t.tolist(), episodes.tolist(), *(plain(part) for part in step[:4]), self._states(after[2:])]
        columns += [plain(part) for part in step[4:]]  # who died
        firsts = zip(
            seeds[begins].view(np.uint64).tolist(),  # a tensor holds the bits of the u64
            episodes[begins].tolist(),
            self._states([part[begins] for part in (t, *fields)]),
            strict=True,
        )
        for begun, values in zip(begins.tolist(), zip(*columns, strict=True), strict=True):
            if begun:
                yield First(*next(firsts))
            yield Step(*values)

    def _states(self, moments: Arrays) -> Iterator[dict[str, Any]]:
        """A state of each moment, from ``t`` and the fields."""
        t, *fields = moments
        columns = [plain(part) for part in (*fields, t)]
        return (dict(zip(self._names, values, strict=True)) for values in zip(*columns, strict=True))

    def _array(self, data: TensorDictBase, key: Any, kind: Kind) -> np.ndarray:
        """The chosen rows of an entry, [rows, T, ...]."""
        value, (dtype, shape) = data.get(key), kind
        if _name(value.dtype) != dtype or tuple(value.shape) != (*self._size, *shape):
            raise TrajectoryError(
                f"{key!r} of the TensorDict: expected {dtype} {[*self._size, *shape]}, got {_name(value.dtype)} "
                f"{list(value.shape)}; name the environment that made it, without transforms that change it"
            )
        value = value.detach().reshape(self.count, self._size[-1], *shape)
        return (value if len(self.instances) == self.count else value[self.instances]).cpu().numpy()


def _form(environment: Environment, fields: Mapping[str, Kind]) -> Form:
    space = environment.action_space
    assert space.dtype is not None
    action = space.dtype.name, tuple(space.shape or ())
    return Form(fields, action, np.dtype(environment.reward_dtype).name, environment.agents)


def _name(dtype: Any) -> str:
    """The name of a torch dtype as NumPy names it."""
    return str(dtype).removeprefix("torch.")


def _checked(instances: Sequence[int] | None, count: int) -> list[int]:
    """The rows that are asked for, in order, each once."""
    if instances is None:
        return list(range(count))
    listed = list(dict.fromkeys(operator.index(one) for one in instances))
    for one in listed:
        if not 0 <= one < count:
            raise TrajectoryError(f"instances: expected rows in 0..{count - 1}, got {one}")
    return listed


def _complain_of_missing(data: TensorDictBase, keys: Sequence[Any]) -> None:
    missing = [key for key in keys if data.get(key, None) is None]
    if not missing:
        return
    remedy = "give what env.rollout or a collector gives"
    if any("state" in key or "clock" in key for key in missing):
        remedy = "make the environment with expose_state=True, and the collector without compact_obs"
    shown = ", ".join(map(repr, missing[:3])) + (f" and {len(missing) - 3} more" if len(missing) > 3 else "")
    raise TrajectoryError(f"the TensorDict lacks {shown}: {remedy}")


def _same(ones: Arrays, others: Arrays, into: np.ndarray) -> np.ndarray:
    """Where all of some arrays have the same bits as others, and ``into`` is true."""
    for one, other in zip(ones, others, strict=True):
        into = into & same_rows(one, other)
    return into


def _goes_on(ended: np.ndarray, after: Arrays, before: Arrays) -> np.ndarray:
    """Where a step begins in the moment that the one before it led to, without an end between them."""
    return _same(after, before, ~ended)


def _repeats(before: Arrays, after: Arrays, step: Arrays) -> np.ndarray:
    """Which steps repeat an episode's last one, as ``env.rollout(..., break_when_all_done=True)`` fills up the rows."""
    found = np.zeros(len(step[0]), np.bool_)
    parts = [*before, *after, *step]
    found[1:] = _same([part[1:] for part in parts], [part[:-1] for part in parts], step[2][:-1] | step[3][:-1])
    return found


def _taken(parts: list[Arrays], mask: np.ndarray) -> list[Arrays]:
    """The steps of a mask."""
    return parts if mask.all() else [[values[mask] for values in part] for part in parts]
