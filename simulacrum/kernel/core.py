"""``KernelCore``: a kernel as the functions of carries that :class:`simulacrum.fast.core.Core` has, for any rows."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import torch
from torch import Tensor

from ..errors import ActionError, DrawError
from ..fast.core import Carry, Fields, Outcome, place, place_fields
from ..fast.specs import torch_dtype
from .layout import Layout
from .memory import Memory


class KernelCore:
    """Each call works on copies: carries go in, others come out. In place works :class:`simulacrum.KernelEnv`."""

    def __init__(self, module: ModuleType, layout: Layout) -> None:
        self.module, self.layout = module, layout
        self.reward = torch_dtype(layout.environment.reward_dtype)

    def begin(self, seed: Tensor, episode: Tensor) -> tuple[Carry, Fields]:
        """The first states of episodes of seeds (int64 [N]), and their observations."""
        memory = Memory(self.module, self.layout, len(seed))
        memory.seed[: memory.rows] = seed
        memory.episode[: memory.rows] = episode - 1
        seen = self.empty(memory.rows)
        self.renew(memory, torch.arange(memory.rows, dtype=torch.int32), seen)
        return memory.read(), seen

    def observation(self, carry: Carry) -> Fields:
        """What is seen of a carry by key."""
        memory, seen = self.memory(carry), self.empty(len(carry.t))
        memory.loop.look(self.addresses(seen))
        return seen

    def advance(self, carry: Carry, action: Tensor) -> tuple[Carry, Outcome]:
        """One step of every row: the next carry, and what is seen of it (the terminal observation where one ends)."""
        memory = self.memory(carry)
        outcome = self.empty_outcome(memory.rows)
        self.step(memory, 1, action, outcome)
        return memory.read(), outcome

    def renew_masked(self, carry: Carry, seen: Fields, mask: Tensor) -> tuple[Carry, Fields]:
        """The next episode of the rows of a mask (bool [N])."""
        return self.renew_rows(carry, seen, mask.nonzero().squeeze(-1))

    def renew_rows(self, carry: Carry, seen: Fields, rows: Tensor) -> tuple[Carry, Fields]:
        """The next episode of some rows (int64 [K])."""
        if not len(rows):
            return carry, seen
        begun, first = self.begin(carry.seed[rows], carry.episode[rows] + 1)
        return place(rows, begun, carry), place_fields(rows, first, seen)

    def advance_masked(self, carry: Carry, action: Tensor) -> tuple[Carry | None, Outcome, Carry, Fields]:
        """A step, and the next episode of the rows that ended."""
        after, outcome = self.advance(carry, action)
        renewed, seen = self.renew_masked(after, outcome.observation, outcome.done)
        return after, outcome, renewed, seen

    # ------------------------------------------------------------------ memory, and the loop's calls

    def memory(self, carry: Carry) -> Memory:
        """Memory of its own that holds a carry."""
        memory = Memory(self.module, self.layout, len(carry.t))
        memory.write(carry)
        return memory

    def empty(self, rows: int) -> Fields:
        """New tensors for what is seen of N rows, by key."""
        return {
            part.key: torch.empty((rows, *part.shape), dtype=torch_dtype(part.dtype), device="cpu")
            for part in self.layout.seen
        }

    def empty_outcome(self, rows: int) -> Outcome:
        """New tensors for what a step shows of N rows."""
        flags = torch.empty((3, rows), dtype=torch.bool, device="cpu").unbind(0)
        return Outcome(self.empty(rows), torch.empty(self.rewards(rows), dtype=self.reward, device="cpu"), *flags)

    def rewards(self, rows: int) -> tuple[int, ...]:
        """The shape of the rewards of N rows: ``[N]``, or ``[N, agents]``."""
        return (rows,) if self.layout.agents is None else (rows, self.layout.agents)

    def addresses(self, seen: Fields) -> tuple[int, ...]:
        """Where tensors by key lie, in the order of the layout."""
        return tuple(seen[part.key].data_ptr() for part in self.layout.seen)

    def step(
        self,
        memory: Memory,
        threads: int,
        action: Tensor,
        shown: Outcome,
        now: Fields | None = None,
        held: Tensor | None = None,
        begins: bool = False,
    ) -> None:
        """One step in place; ``now`` takes the first observations of the rows that end, which are then renewed.

        The rows that are ``held`` (bool [N]) stay as they are, with reward 0 and no flag, and no transition is computed
        from their states; where ``begins`` is true they begin their next episode.
        """
        action = self.checked_form(action, memory.rows)
        held = held.contiguous() if held is not None else None
        outcome = (shown.reward, shown.terminated, shown.truncated, shown.done)
        result = self.run(
            memory.loop.step,
            threads,
            action.data_ptr(),
            *(tensor.data_ptr() for tensor in outcome),
            self.addresses(shown.observation),
            None if now is None else self.addresses(now),
            0 if held is None else held.data_ptr(),
            begins,
        )
        if result < 0:
            raise self.outside(action, -1 - result)

    def checked_form(self, action: Tensor, rows: int) -> Tensor:
        """Actions ``[N, ...]``, contiguous. Raises :class:`ActionError` for another dtype or shape."""
        part = self.layout.action
        if action.dtype != torch_dtype(part.dtype) or action.shape != (rows, *part.shape):
            raise ActionError(
                f"action: expected {part.dtype} {[rows, *part.shape]}, got {action.dtype} {list(action.shape)}"
            )
        return action.contiguous()

    def outside(self, action: Tensor, row: int) -> ActionError:
        """What an action outside the space is: a loop would read where nothing is."""
        space = self.layout.environment.action_space
        return ActionError(f"action: expected elements of {space}, got {action[row].tolist()} in row {row}")

    def renew(self, memory: Memory, rows: Tensor, seen: Fields) -> None:
        """Begin the next episodes of rows (int32 [K]) in place; ``seen`` takes what is seen, each in its row."""
        self.run(memory.loop.renew, rows.data_ptr(), len(rows), self.addresses(seen))

    def run(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call a function of a loop; raises :class:`DrawError` for a draw that cannot be."""
        try:
            return function(*arguments)
        except self.module.WrongDraw as error:
            raise self.wrong_draw(*error.args) from None

    def wrong_draw(self, number: int, phase: bool) -> DrawError:
        """What a loop's error means."""
        environment = self.layout.environment
        slot = environment.slots(number)
        if not phase:
            return DrawError(f"kernel.pyx: expected indexes in 0..2**24-1, the slot {slot.name} was drawn with another")
        own, other = ("initial", "transition") if slot in environment.reset_slots else ("transition", "initial")
        return DrawError(f"kernel.pyx: {other} drew the slot {slot.name}, which belongs to {own}")
