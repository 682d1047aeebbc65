"""The one engine: references beside fast rows, or two forms beside each other, compared bit by bit at every call."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from .. import bits
from ..fast import FastEnv
from .case import Case
from .finding import OTHER_FORM, Finding
from .playback import AFTER_MASK, AFTER_RESET, AFTER_STEP, FORMS, NEXT_FIRST
from .records import FormError, Record, difference, plain, take
from .sides import FastRows, Held, References, Step

if TYPE_CHECKING:
    from .context import Context

HISTORY = 512  # steps kept for trajectories, where no step cap says how long an episode may be
BESIDE = "steps beside the tensor form"  # a count
LOG = 4096  # steps after which what replays a finding begins anew

__all__ = ["FastRows", "Lockstep", "References", "Step"]


class Lockstep:
    """A fast environment, and a reference beside each of some of its rows; or beside all of them another form of it.

    Args:
        context: the running check.
        env: the fast environment, with ``expose_state=True``.
        rows: which of its rows have a reference.
        setting: how the environment runs, in words, for findings.
        fused: see :class:`FastRows`.
        oracle: rows of another form, which stand for the references: then ``rows`` are all rows of both.

    Every call compares what both sides show, and ends the check with a finding at the first difference, and where a
    side raises. The finding's case is the call alone, or else all calls since both sides last started together.
    """

    def __init__(
        self,
        context: Context,
        env: FastEnv[Any],
        rows: np.ndarray,
        setting: str = "",
        fused: bool = True,
        oracle: FastRows | None = None,
    ) -> None:
        self.context, self.rows = context, rows
        self.fast = FastRows(context.package, env, fused)
        self.oracle = oracle
        self.references = References(context.package, 0 if oracle is not None else len(rows))
        self._beside: References | FastRows = self.references if oracle is None else oracle
        other = "reference.py" if oracle is None else FORMS["tensor"]
        self._sides = {"reference": other, "fast": FORMS[context.form]}
        self.setting = setting or f"N = {env.numel()}"
        cap = context.package.environment.max_episode_steps
        kept = min(cap or HISTORY, HISTORY) + 2 if oracle is None else 0
        self.history: deque[tuple[Step, Step]] = deque(maxlen=kept)
        self.held = Held()
        self.now: Record = {}
        self.now_reference: Record = {}
        self._start: dict[str, Any] = {}  # of a case: how both sides last started together
        self._actions: list[np.ndarray] = []  # since then, and the resets of some rows
        self._masks: list[tuple[int, np.ndarray]] = []
        self._last: dict[str, Any] = {}  # of a case: the call that runs, alone

    @property
    def size(self) -> int:
        """N, the fast environment's rows."""
        return self.fast.env.numel()

    def reset(self, seeds: np.ndarray | None = None, mask: np.ndarray | None = None) -> Record:
        """Reset both sides (seeds uint64 [N], mask bool [N]); what all fast rows show."""
        if mask is None:
            again = {"starts": self.now, "resets": 1} if self.now else {}
            self._begin(again if seeds is None else {"seeds": seeds})
        else:
            self._masks.append((len(self._actions), mask))
            self._last = {"starts": self.now, "masks": ((0, mask),)}
        now = self._asked("fast", self.fast.reset, seeds, mask)
        rows_seeds, rows_mask = (None if values is None else values[self.rows] for values in (seeds, mask))
        reference = self._asked("reference", self._beside.reset, rows_seeds, rows_mask)
        self._compare(AFTER_RESET if mask is None else AFTER_MASK, reference, now, None)
        self.now, self.now_reference = now, reference
        self._untouched(now)
        return now

    def enter(self, states: Record) -> Record:
        """Put both sides into the states and clocks of a record [N, ...]; what all fast rows show."""
        self._begin({"starts": states})
        now = self._asked("fast", self.fast.enter, states)
        reference = self._asked("reference", self._beside.enter, self._watched(states))
        self._compare("after a state was injected", reference, now, None)
        self.now, self.now_reference = now, reference
        self._untouched(now)
        self.context.count("states injected", len(self.rows))
        return now

    def step(self, actions: np.ndarray) -> tuple[Record, Record]:
        """One step of both sides (actions [N, ...]); what all fast rows showed of it, and what they show now."""
        if len(self._actions) == LOG:
            self._begin({"starts": self.now})
        self._actions.append(actions)
        self._last = {"starts": self.now, "actions": actions[None]}
        before, before_reference, chosen = self.now, self.now_reference, actions[self.rows]
        ended, now = self._asked("fast", self.fast.step, actions)
        ended_reference, now_reference = self._asked("reference", self._beside.step, chosen)
        if self.oracle is None:
            fast_step = Step(take(before, self.rows), chosen, take(ended, self.rows), take(now, self.rows))
            self.history.append((Step(before_reference, chosen, ended_reference, now_reference), fast_step))
        if self.fast.wrote(actions):
            self._fail("the step writes into its action")
        self._untouched(ended, now)
        self._compare(AFTER_STEP, ended_reference, ended, chosen, before_reference)
        self._compare(NEXT_FIRST, now_reference, now, chosen, before_reference)
        self.now, self.now_reference = now, now_reference
        self.context.count("transitions" if self.oracle is None else BESIDE, len(self.rows))
        if self.oracle is None:
            self.context.count_agents(ended_reference)
        self.context.count("episodes", int((ended_reference["terminated"] | ended_reference["truncated"]).sum()))
        self.context.count("terminations", int(ended_reference["terminated"].sum()))
        self.context.count("truncations", int(ended_reference["truncated"].sum()))
        return ended, now

    def cases(self, row: int | None = None) -> list[Case]:
        """What may replay the last call: that call alone, then all calls since both sides started together.

        A reference takes the place of another form, beside the ``row`` alone.
        """
        watched = self.rows if self.oracle is None else np.array([row or 0])
        common: dict[str, Any] = {"watched": watched, "fused": self.fast.fused, "options": self.fast.options}
        actions = np.stack(self._actions) if self._actions else None
        whole = {**self._start, "actions": actions, "masks": tuple(self._masks)}
        listed = [self._last, whole] if actions is not None or self._masks else [self._last]
        return [Case(**common, **one) for one in listed if one.get("starts") or one.get("seeds") is not None]

    def _begin(self, start: dict[str, Any]) -> None:
        """Both sides start together."""
        self._start = self._last = start
        self._actions, self._masks = [], []

    def _untouched(self, *returned: Record) -> None:
        """What earlier calls returned was not written again (in small batches)."""
        written = self.held.written()
        if written is not None:
            self._fail(f"{written}: a returned tensor was written again by a later step", field=written)
        self.held.hold(*returned)

    def _asked(self, side: str, function: Callable[..., Any], *arguments: Any) -> Any:
        """What a side gives; a finding where it raises."""
        try:
            return function(*arguments)
        except FormError as error:
            self._fail(f"{self._sides[side]} gave {error.message}", field=error.field)
        except (Exception, SystemExit) as error:
            self._fail(self.context.raised(error))

    def _compare(
        self, when: str, reference: Record, fast: Record, actions: np.ndarray | None, before: Record | None = None
    ) -> None:
        found = difference(reference, self._watched(fast))
        if found is None:
            return
        field, row, one, other = found
        texts = (one, other) if isinstance(one, str) else bits.pair_shown(one, other)
        at = reference if before is None else before
        seed, episode, t = (int(at[f"clock.{name}"][row]) for name in ("seed", "episode", "t"))
        who = "the two sides differ" if self.oracle is None else OTHER_FORM
        self._fail(
            f"{who} {when}",
            instance=int(self.rows[row]),
            seed=seed,
            episode=episode,
            step=t,
            field=field,
            reference=texts[0],
            fast=texts[1],
            action="" if actions is None else str(plain(actions[row])),
        )

    def _watched(self, record: Record) -> Record:
        """The rows that have another side."""
        return record if self.oracle is not None else take(record, self.rows)

    def _fail(self, message: str, **values: Any) -> NoReturn:
        finding = Finding(self.context.name, message, self.setting, **values)
        self.context.fail(finding, self.cases(values.get("instance")))
