"""The pure part of the fast side: carries of tensors in, carries of tensors out. What compiled graphs hold.

A *carry* is all that N instances are: the state's fields, the clock, and the episode keys derived from it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor

from ..errors import OutputError
from ..rng.tensor import Draw, Range, begun, drawn, drawn_and_begun
from ..spec.observations import OBSERVATION, keyed

Fields = dict[Any, Tensor]
INFO = "info"  # the TensorDict key of what an implementation's ``info`` gives


class Carry(NamedTuple):
    """N instances. Clock and seeds int64 [N] (seeds: the bits of the u64), keys int32 [N], fields [N, ...].

    In memory a field's items come first and the rows last (see :func:`laid`), so that loops run over rows.
    """

    fields: Fields
    seed: Tensor
    episode: Tensor
    t: Tensor
    k0: Tensor
    k1: Tensor


class Outcome(NamedTuple):
    """What a step shows: observation [N, ...] by key, reward [N], flags bool [N]."""

    observation: Fields
    reward: Tensor
    terminated: Tensor
    truncated: Tensor
    done: Tensor


class Core:
    """An implementation's three functions as functions of carries.

    ``env`` gives ``environment``, ``initial``, ``transition``, ``observation``, ``_state_class``, ``_field_names``,
    ``t_dtype``, and the expected forms of outputs.
    """

    def __init__(self, env: Any) -> None:
        self.env = env
        self.cap = env.environment.max_episode_steps
        self.drawn_at_reset: tuple[Range, ...] = ()  # learned by the probe: drawn in one call, before they are asked
        self.drawn_at_step: tuple[Range, ...] = ()

    def state(self, fields: Fields, t: Tensor) -> Any:
        """The implementation's ``State`` of a carry."""
        state = self.env._state_class(**fields)
        state.t = t.to(self.env.t_dtype)
        return state

    def fields(self, state: Any, rows: int) -> Fields:
        """The fields of a ``State``, their forms checked, as they lie in memory."""
        fields = {name: getattr(state, name) for name in self.env._field_names}
        for name, (dtype, shape) in self.env._field_forms.items():
            expect(f"state field {name}", fields[name], dtype, (rows, *shape))
        return {name: laid(value) for name, value in fields.items()}

    def begin(self, seed: Tensor, episode: Tensor) -> tuple[Carry, Fields]:
        """The first states of episodes of seeds (int64 [N]), and their observations."""
        carry = self._first(seed, episode, *begun(seed, episode, self.env.environment.reset_phase, self.drawn_at_reset))
        return carry, self.observation(carry)

    def _first(self, seed: Tensor, episode: Tensor, k0: Tensor, k1: Tensor, draw: Draw) -> Carry:
        fields = self.fields(self.env.initial(draw), seed.shape[0])
        return Carry(fields, seed, episode, torch.zeros_like(seed), k0, k1)

    def observation(self, carry: Carry) -> Fields:
        """What is seen of a carry by key, contiguous, the forms checked; never an alias of the carry."""
        seen = self.seen(carry)
        forms = self.env._observation_forms
        if seen.keys() != forms.keys():
            raise OutputError(f"observation: expected the keys {list(forms)}, got {list(seen)}")
        for key, (dtype, shape) in forms.items():
            expect(observation_name(key), seen[key], dtype, (carry.t.shape[0], *shape))
        return {key: _own(seen[key]) if key in self.env._aliased else seen[key].contiguous() for key in forms}

    def seen(self, carry: Carry) -> Fields:
        """The observation by key, with ``action_mask`` and ``("info", name)`` where the implementation gives them."""
        state = self.state(carry.fields, carry.t)
        seen = self.env.observation(state)
        values: dict[Any, Tensor] = keyed(seen)
        mask = self.env.action_mask(state)
        if mask is not None:
            values["action_mask"] = mask
        for name, value in self.env.info(state).items():
            values[INFO, name] = value
        return values

    def advance(self, carry: Carry, action: Tensor) -> tuple[Carry, Outcome]:
        """One step of every row: the next carry, and what is seen of it (the terminal observation where one ends)."""
        draw = drawn(carry.k0, carry.k1, carry.t, self.env.environment.step_phase, self.drawn_at_step)
        return self._advanced(carry, action, draw)

    def _advanced(self, carry: Carry, action: Tensor, draw: Draw) -> tuple[Carry, Outcome]:
        env, rows = self.env, carry.t.shape[0]
        state, reward, terminated = env.transition(self.state(carry.fields, carry.t), action, draw)
        expect("reward", reward, env._reward_dtype, (rows,))
        expect("terminated", terminated, torch.bool, (rows,))
        t = carry.t + 1
        truncated = torch.zeros_like(terminated) if self.cap is None else t >= self.cap
        fields = self.fields(state, rows)
        fields = {name: value.clone() if ("state", name) in env._aliased else value for name, value in fields.items()}
        after = Carry(fields, carry.seed, carry.episode, t, carry.k0, carry.k1)
        reward = reward.clone() if "reward" in env._aliased else reward
        terminated = terminated.clone() if "terminated" in env._aliased else terminated
        return after, Outcome(self.observation(after), reward, terminated, truncated, terminated | truncated)

    def advance_masked(
        self, carry: Carry, action: Tensor, words: Tensor | None = None
    ) -> tuple[Carry | None, Outcome, Carry, Fields]:
        """A step, and without a branch the next episode of the rows that ended; ``words`` are those that both draw.

        Returns the carry that the step led to (where the environment shows its state, else None), the outcome, and the
        carry and the observations with which the next step begins.
        """
        phases = self.env.environment.step_phase, self.env.environment.reset_phase
        ranges = self.drawn_at_step, self.drawn_at_reset
        clock = carry.k0, carry.k1, carry.t
        draw, begun = drawn_and_begun(*clock, phases, ranges, carry.seed, carry.episode, words)
        first = self._first(carry.seed, carry.episode + 1, *begun)
        after, outcome = self._advanced(carry, action, draw)
        renewed = select(outcome.done, first, after)
        return after if self.env.expose_state else None, outcome, renewed, self.observation(renewed)

    def renew_masked(self, carry: Carry, seen: Fields, mask: Tensor) -> tuple[Carry, Fields]:
        """The next episode of the rows of a mask (bool [N]), computed for all rows."""
        begun, first = self.begin(carry.seed, carry.episode + 1)
        return select(mask, begun, carry), select_fields(mask, first, seen)

    def renew_rows(self, carry: Carry, seen: Fields, rows: Tensor) -> tuple[Carry, Fields]:
        """The next episode of some rows (int64 [K]; one may stand more than once), computed for those rows."""
        begun, first = self.begin(carry.seed[rows], carry.episode[rows] + 1)
        return place(rows, begun, carry), place_fields(rows, first, seen)


def expect(what: str, value: Any, dtype: torch.dtype, shape: tuple[int, ...]) -> None:
    """Raise :class:`OutputError` unless ``value`` is a tensor of this dtype and shape (N first)."""
    if not isinstance(value, Tensor) or value.dtype != dtype or value.shape != shape:
        got = f"{value.dtype} {list(value.shape)}" if isinstance(value, Tensor) else repr(value)
        wanted = ", ".join(["N", *map(str, shape[1:])])
        raise OutputError(f"fast.py, {what}: expected {dtype} [{wanted}] (here N = {shape[0]}), got {got}")


def observation_name(key: Any) -> str:
    """How messages call a part of what is seen."""
    if isinstance(key, tuple) and key[0] == OBSERVATION:
        return f"observation[{key[1]}]"
    return OBSERVATION if key == OBSERVATION else f"observation {key!r}"


def laid(value: Tensor) -> Tensor:
    """``[N, ...]`` in memory that lies as ``[..., N]``; the value itself where it does so already."""
    lane = value.movedim(0, -1)
    return value if lane.is_contiguous() else lane.contiguous().movedim(-1, 0)


def _own(value: Tensor) -> Tensor:
    return value.clone(memory_format=torch.contiguous_format)


def select_fields(mask: Tensor, new: Fields, old: Fields) -> Fields:
    """``new`` where the mask (bool [N]) is true, else ``old``, field by field."""
    return {name: torch.where(_aligned(mask, old[name]), new[name], old[name]) for name in old}


def select(mask: Tensor, new: Carry, old: Carry) -> Carry:
    """``new`` where the mask is true, else ``old``."""
    rest = (one if one is other else torch.where(mask, one, other) for one, other in zip(new[1:], old[1:], strict=True))
    return Carry(select_fields(mask, new.fields, old.fields), *rest)


def place_fields(rows: Tensor, new: Fields, old: Fields) -> Fields:
    """``old`` with its ``rows`` (int64 [K]) replaced by ``new`` ([K, ...]), in new memory."""
    return {name: value.index_copy(0, rows, new[name]) for name, value in old.items()}


def place(rows: Tensor, new: Carry, old: Carry) -> Carry:
    """``old`` with its ``rows`` replaced by ``new``, in new memory."""
    rest = (one.index_copy(0, rows, other) for one, other in zip(old[1:], new[1:], strict=True))
    return Carry(place_fields(rows, new.fields, old.fields), *rest)


def _aligned(mask: Tensor, value: Tensor) -> Tensor:
    return mask.reshape(mask.shape[0], *(1,) * (value.ndim - 1))
