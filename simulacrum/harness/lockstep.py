"""The one engine: references beside fast rows, compared bit by bit at every reset and every step."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import numpy as np
import torch
from gymnasium import spaces
from tensordict import TensorDictBase

from .. import bits
from ..fast import FastEnv
from ..reference import ReferenceEnv
from ..spec import Package
from .finding import Finding
from .records import FormError, Record, difference, fast_record, plain, reference_record, snapshot, take
from .trajectories import trajectory

if TYPE_CHECKING:
    from .context import Context

HELD, HELD_ROWS = 4, 65  # how many records are held against later writes, and in batches of how many rows
HISTORY = 512  # steps kept for a finding's trajectories, where no step cap says how long an episode may be


class Step(NamedTuple):
    """One step as it was: what was shown before, the actions, what the step showed, and what is shown now."""

    before: Record
    action: np.ndarray
    ended: Record
    now: Record


class References:
    """Some references, each stepped through Gymnasium's API."""

    def __init__(self, package: Package, count: int) -> None:
        self.package = package
        self.envs: list[ReferenceEnv[Any]] = [package.reference() for _ in range(count)]
        self._discrete = isinstance(package.environment.action_space, spaces.Discrete)
        self._seen: list[Any] = [None] * count
        self._infos: list[dict[str, Any]] = [{}] * count

    def reset(self, seeds: np.ndarray | None = None, mask: np.ndarray | None = None) -> Record:
        """Reset the rows of a mask (all without one), with seeds or to the next episode; what all rows show."""
        for row, env in enumerate(self.envs):
            if mask is None or mask[row]:
                self._seen[row], self._infos[row] = env.reset(seed=None if seeds is None else int(seeds[row]))
        return self._record()

    def enter(self, states: Record, mask: np.ndarray | None = None) -> Record:
        """Put the rows of a mask into the states and clocks of a record."""
        for row, env in enumerate(self.envs):
            if mask is None or mask[row]:
                self._seen[row], self._infos[row] = env.set_state(snapshot(self.package, states, row))
        return self._record()

    def step(self, actions: np.ndarray) -> tuple[Record, Record]:
        """Step every row, and reset those that ended: (what the step showed, what is shown now)."""
        outcomes, finished = [], []
        chosen = actions.tolist() if self._discrete else actions  # plain ints, which a reference takes the quickest
        for row, env in enumerate(self.envs):
            self._seen[row], reward, terminated, truncated, self._infos[row] = env.step(chosen[row])
            outcomes.append((reward, terminated, truncated))
            if terminated or truncated:
                finished.append(row)
        ended = self._record(outcomes)
        for row in finished:
            self._seen[row], self._infos[row] = self.envs[row].reset()
        now = {name: value for name, value in ended.items() if name not in ("reward", "terminated", "truncated")}
        if finished:
            part = reference_record(
                self.package,
                [self.envs[r] for r in finished],
                [self._seen[r] for r in finished],
                [self._infos[r] for r in finished],
            )
            now = {name: _replaced(value, finished, part[name]) for name, value in now.items()}
        return ended, now

    def _record(self, outcomes: Any = None) -> Record:
        return reference_record(self.package, self.envs, self._seen, self._infos, outcomes)


class FastRows:
    """All rows of a fast environment that exposes its state, stepped through TorchRL's API.

    ``fused`` takes ``step_and_maybe_reset``; else ``step`` and a ``reset`` with a ``_reset`` mask, as a TransformedEnv
    does.
    """

    def __init__(self, package: Package, env: FastEnv[Any], fused: bool = True) -> None:
        self.package, self.env, self.fused = package, env, fused
        self.td: TensorDictBase = env.fake_tensordict()
        self.action: torch.Tensor | None = None  # the last step's, as it was handed over

    def reset(self, seeds: np.ndarray | None = None, mask: np.ndarray | None = None) -> Record:
        """Reset the rows of a mask (all without one), with seeds or to the next episode; what all rows show."""
        if seeds is not None:
            self.env._next_seeds = torch.from_numpy(seeds.view(np.int64).copy()).to(self.env.device)
        if mask is None:
            self.td = self.env.reset()
        else:
            self.td = self.env.reset(self.td.clone().set("_reset", self._tensor(mask).unsqueeze(-1)), set_state=False)
        return self.record(self.td)

    def enter(self, states: Record, mask: np.ndarray | None = None) -> Record:
        """Put the rows of a mask (all without one) into the states and clocks of a record; what all rows show."""
        td = self.env.reset() if self.env._carry is None else self.td.clone()
        for name, value in states.items():
            group, _, key = name.partition(".")
            if group in ("state", "clock"):
                value = value.view(np.int64) if name == "clock.seed" else value
                td.set((group, key), self._tensor(value).reshape(td.get((group, key)).shape))
        if mask is not None:
            td.set("_reset", self._tensor(mask).unsqueeze(-1))
        self.td = self.env.reset(td, set_state=True)
        return self.record(self.td)

    def kept(self) -> Record:
        """The states and clocks that the environment itself keeps of all rows."""
        return {
            f"{group}.{name}": value.view(np.uint64) if name == "seed" and group == "clock" else value
            for group, values in self.env.get_state().to_dict().items()
            for name, value in ((name, tensor.cpu().numpy()) for name, tensor in values.items())
        }

    def step_some(self, actions: np.ndarray, mask: np.ndarray) -> Record:
        """Step the rows of a mask by TorchRL's ``_step``, without a reset; what the step shows of all rows."""
        td = self.td.set("action", self._tensor(actions)).set("_step", self._tensor(mask).unsqueeze(-1))
        return self.record(self.env.step(td).get("next"))

    def step(self, actions: np.ndarray) -> tuple[Record, Record]:
        """Step every row, and reset those that ended: (what the step showed, what is shown now)."""
        self.action = self._tensor(actions).reshape((*self.env.batch_size, *actions.shape[1:]))
        self.td.set("action", self.action)
        if self.fused:
            done, self.td = self.env.step_and_maybe_reset(self.td)
            return self.record(done.get("next")), self.record(self.td)
        done = self.env.step(self.td)
        ended = self.record(done.get("next"))
        self.td = self.env.maybe_reset(self.env.step_mdp(done))
        return ended, self.record(self.td)

    def record(self, td: TensorDictBase) -> Record:
        """What a TensorDict of this environment shows of all rows."""
        return fast_record(self.package, td)

    def _tensor(self, values: np.ndarray) -> torch.Tensor:
        return torch.from_numpy(np.array(values)).to(self.env.device)


class Lockstep:
    """A fast environment, and a reference beside each of some of its rows.

    Args:
        context: the running check.
        env: the fast environment, with ``expose_state=True``.
        rows: which of its rows have a reference.
        setting: how the environment runs, in words, for findings.
        fused: see :class:`FastRows`.

    Every call compares what both sides show, and ends the check with a finding at the first difference.
    """

    def __init__(
        self, context: Context, env: FastEnv[Any], rows: np.ndarray, setting: str = "", fused: bool = True
    ) -> None:
        self.context, self.rows = context, rows
        self.fast = FastRows(context.package, env, fused)
        self.references = References(context.package, len(rows))
        self.setting = setting or f"N = {env.numel()}"
        cap = context.package.environment.max_episode_steps
        self.history: deque[tuple[Step, Step]] = deque(maxlen=min(cap or HISTORY, HISTORY) + 2)
        self.held: deque[tuple[Record, Record]] = deque(maxlen=HELD)  # what was returned, and copies of it
        self.now: Record = {}
        self.now_reference: Record = {}

    def reset(self, seeds: np.ndarray | None = None, mask: np.ndarray | None = None) -> Record:
        """Reset both sides (seeds uint64 [N], mask bool [N]); what all fast rows show."""
        self.now = self.fast.reset(seeds, mask)
        rows_seeds = None if seeds is None else seeds[self.rows]
        reference = self._reference(self.references.reset, rows_seeds, None if mask is None else mask[self.rows])
        self._compare("after a reset", reference, self.now, None)
        return self.now

    def enter(self, states: Record) -> Record:
        """Put both sides into the states and clocks of a record [N, ...]; what all fast rows show."""
        self.now = self.fast.enter(states)
        reference = self._reference(self.references.enter, take(states, self.rows))
        self._compare("after a state was injected", reference, self.now, None)
        self.context.count("states injected", len(self.rows))
        return self.now

    def step(self, actions: np.ndarray) -> tuple[Record, Record]:
        """One step of both sides (actions [N, ...]); what all fast rows showed of it, and what they show now."""
        before, before_reference = self.now, self.now_reference
        ended, now = self.fast.step(actions)
        ended_reference, now_reference = self._reference(self.references.step, actions[self.rows])
        chosen = actions[self.rows]
        fast_step = Step(take(before, self.rows), chosen, take(ended, self.rows), take(now, self.rows))
        self.history.append((Step(before_reference, chosen, ended_reference, now_reference), fast_step))
        self._untouched(actions, ended, now)
        self._compare("after a step", ended_reference, ended, chosen, before_reference)
        self._compare("in the first state after an end", now_reference, now, chosen, before_reference)
        self.now = now
        self.context.count("transitions", len(self.rows))
        self.context.count("episodes", int((ended_reference["terminated"] | ended_reference["truncated"]).sum()))
        self.context.count("terminations", int(ended_reference["terminated"].sum()))
        self.context.count("truncations", int(ended_reference["truncated"].sum()))
        return ended, now

    def _untouched(self, actions: np.ndarray, *returned: Record) -> None:
        """The actions were not written, and what earlier calls returned was not written again (in small batches)."""
        action = self.fast.action
        if action is not None and not bits.same(action.cpu().numpy().reshape(actions.shape), actions):
            self.context.fail(Finding(self.context.name, "the step writes into its action", self.setting))
        if len(actions) > HELD_ROWS:
            return
        for record, copies in self.held:
            for name, value in record.items():
                if not bits.same(value, copies[name]):
                    message = f"{name}: a returned tensor was written again by a later step"
                    self.context.fail(Finding(self.context.name, message, self.setting, field=name))
        self.held.extend((record, {name: value.copy() for name, value in record.items()}) for record in returned)

    def _reference(self, function: Any, *arguments: Any) -> Any:
        try:
            return function(*arguments)
        except FormError as error:
            self.context.fail(
                Finding(self.context.name, f"reference.py gave {error.message}", self.setting, field=error.field)
            )

    def _compare(
        self, when: str, reference: Record, fast: Record, actions: np.ndarray | None, before: Record | None = None
    ) -> None:
        found = difference(reference, take(fast, self.rows))
        if found is None:
            self.now_reference = reference
            return
        self._report(when, found, actions, reference if before is None else before)

    def _report(self, when: str, found: tuple[str, int, Any, Any], actions: np.ndarray | None, at: Record) -> NoReturn:
        field, row, one, other = found
        texts = (one, other) if isinstance(one, str) else bits.pair_shown(one, other)
        seed, episode, t = (int(at[f"clock.{name}"][row]) for name in ("seed", "episode", "t"))
        sides = [[pair[side] for pair in self.history] for side in (0, 1)]
        environment = self.context.package.environment
        content = {
            side: trajectory(self.context.package, environment.id, steps, row, seed, episode)
            for side, steps in zip(("reference", "fast"), sides, strict=True)
        }
        self.context.fail(
            Finding(
                self.context.name,
                f"the two sides differ {when}",
                self.setting,
                int(self.rows[row]),
                seed,
                episode,
                t,
                field,
                texts[0],
                texts[1],
                "" if actions is None else str(plain(actions[row])),
            ),
            content,
        )


def _replaced(values: np.ndarray, rows: list[int], new: np.ndarray) -> np.ndarray:
    values = values.copy()
    values[rows] = new
    return values
