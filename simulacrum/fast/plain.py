"""``PlainSteps``: a ``FastEnv``'s resets and steps by tensors alone, without a TensorDict; the vector adapter's way."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from .core import Carry, Core, Fields, Outcome, place_fields, select_fields
from .lanes import Lanes

OUTCOME = ("reward", "terminated", "truncated", "done")


class PlainSteps:
    """The part of :class:`~simulacrum.FastEnv` that takes and gives tensors ``[N, ...]``, N rows counted row-major.

    The same carries advance as through TorchRL's ``reset``, ``step`` and ``step_and_maybe_reset``, with the same bits.
    Returned tensors are never written again. Actions are taken as they are: nothing here checks them.
    """

    device: Any
    resets: str
    _rows: int
    _agents: int | None
    _carry: Carry | None
    _core: Core
    _lanes: Lanes | None
    _next_seeds: Tensor | None
    _observation_forms: dict[Any, tuple[torch.dtype, tuple[int, ...]]]
    _advance: Callable[[Carry, Tensor], tuple[Carry, Outcome]]
    _advance_masked: Callable[..., tuple[Carry | None, Outcome, Carry, Fields]]
    _begun: Callable[[], Carry]
    _renew: Callable[[Carry, Fields, Tensor], tuple[Carry, Fields]]

    @property
    def instance_episodes(self) -> Tensor:
        """The running episode of every instance, int64 [N], a copy. Raises :class:`~simulacrum.errors.StateError`
        before the first reset."""
        return self._begun().episode.clone()

    def plain_reset(
        self, seeds: Tensor | None = None, seeded: Tensor | None = None, mask: Tensor | None = None
    ) -> Fields:
        """Begin episodes: episode 0 of ``seeds`` in the rows that are ``seeded``, the next of its stream in any other.

        Args:
            seeds: int64 [N], the bits of the u64; read where ``seeded``.
            seeded: bool [N]; given whenever ``seeds`` is.
            mask: bool [N], the rows to reset; None for all. The very first reset begins every row.

        Returns:
            The observations [N, ...] of all rows by key, those outside the mask of the state in which they stay.
        """
        carry, own = self._carry, self._next_seeds
        if carry is None or (own is not None and mask is None):
            assert own is not None
            chosen = own if seeds is None or seeded is None else torch.where(seeded, seeds, own)
            self._carry, seen = self._core.begin(chosen, torch.zeros_like(chosen))
            self._next_seeds = None
            return seen
        if seeds is not None and seeded is not None:
            at = seeded if mask is None else seeded & mask
            before_first = torch.full_like(carry.episode, -1)
            carry = carry._replace(
                seed=torch.where(at, seeds, carry.seed), episode=torch.where(at, before_first, carry.episode)
            )
        if mask is None:
            self._carry, seen = self._core.begin(carry.seed, carry.episode + 1)
            return seen
        self._carry, _ = self._renew(carry, {}, mask)
        return self._core.observation(self._carry)

    def plain_step(self, action: Tensor, waiting: Tensor | None = None) -> Outcome:
        """One step of every row, and no reset; but the rows that are ``waiting`` (bool [N]) begin their next episode.

        The action is [N, ...]; the outcome has ``observation`` ([N, ...] by key), ``reward`` [N] and flags bool [N].
        Raises :class:`~simulacrum.errors.StateError` before the first reset.

        Those rows show their first observation, reward 0 and no flag. Their actions are applied to nothing that stays,
        yet must be elements of the space. No transition is computed from a state in which an episode has ended.
        """
        before = self._begun()
        if waiting is None:
            self._carry, outcome = self._advance(before, action)
            return outcome
        blank = {
            key: torch.empty((self._rows, *shape), dtype=dtype, device=self.device)
            for key, (dtype, shape) in self._observation_forms.items()
        }
        begun, first = self._renew(before, blank, waiting)
        after, outcome = self._advance(begun, action)
        moved = {name: value for name, value in after.fields.items() if value is not begun.fields[name]}
        rows = None if self.resets == "masked" else waiting.nonzero().squeeze(-1)
        fields = {**begun.fields, **_put(waiting, rows, begun.fields, moved)}
        self._carry = begun._replace(fields=fields, t=torch.where(waiting, begun.t, after.t))
        stepped = ~waiting
        return Outcome(
            _put(waiting, rows, first, outcome.observation),
            torch.where(waiting, torch.zeros_like(outcome.reward), outcome.reward),
            outcome.terminated & stepped,
            outcome.truncated & stepped,
            outcome.done & stepped,
        )

    def plain_step_and_reset(self, action: Tensor) -> tuple[Outcome, Fields]:
        """One step of every row, and the next episode of those that ended: what the step showed, what is seen now.

        As :meth:`plain_step` tells it: actions [N, ...], an outcome with flags bool [N], then observations [N, ...] by
        key. Raises :class:`~simulacrum.errors.StateError` before the first reset.
        """
        _, outcome, seen = self._fused(action)
        reward = outcome.reward.reshape(self._rows, *(() if self._agents is None else (self._agents,)))
        flags = (value.reshape(self._rows) for value in outcome[2:])
        return Outcome(outcome.observation, reward, *flags), seen

    def step_into(self, action: Tensor, ended: Fields, now: Fields) -> None:
        """One step of every row, and the next episode of those that ended, written into the caller's memory.

        Args:
            action: ``[N, ...]`` of the space's dtype, elements of the space: not checked here.
            ended: contiguous tensors that take what the step shows: the observations by key (``[N, ...]``), ``reward``
                and the flags ``terminated``, ``truncated`` and ``done`` (``[N]`` or ``[N, 1]``).
            now: contiguous tensors that take the observations with which the next step begins, by key.

        Raises :class:`~simulacrum.errors.StateError` before the first reset.
        """
        _, outcome, seen = self._fused(action)
        shown = {**outcome.observation, **{name: getattr(outcome, name) for name in OUTCOME}}
        for into, values in ((ended, shown), (now, seen)):
            for key, tensor in into.items():
                tensor.copy_(values[key].reshape(tensor.shape))

    def _fused(self, action: Tensor) -> tuple[Carry | None, Outcome, Fields]:
        """The same, with the carry that the step led to (None where nothing shows it). The reward and the flags are
        ``[N]`` or ``[*batch_size, 1]``."""
        before = self._begun()
        if self._lanes is not None and not action.requires_grad:
            return self._fused_in_place(self._lanes, before, action)
        if self.resets == "masked":
            after, outcome, self._carry, seen = self._advance_masked(before, action)
            return after, outcome, seen
        after, outcome = self._advance(before, action)
        self._carry, seen = self._renew(after, outcome.observation, outcome.done)
        return after, outcome, seen

    def _fused_in_place(self, lanes: Lanes, before: Carry, action: Tensor) -> tuple[Carry | None, Outcome, Fields]:
        lanes.take(before)
        masked = self.resets == "masked" or lanes.cheap_to_begin
        after, outcome, seen = lanes.advance(action, masked)
        if before is not lanes.carry:
            self._carry = lanes.carry
        if not masked:
            carry, seen = self._renew(lanes.carry, outcome.observation, outcome.done.view(self._rows))
            if carry is not lanes.carry:
                self._carry = carry
        return after, outcome, seen


def _put(mask: Tensor, rows: Tensor | None, new: Fields, old: Fields) -> Fields:
    """``new`` in the rows of a mask (bool [N]; ``rows`` are their numbers, where a synchronisation is cheap), else
    ``old``, for each name of ``old``."""
    if rows is None:
        return select_fields(mask, new, old)
    return place_fields(rows, {name: new[name].index_select(0, rows) for name in old}, old)
