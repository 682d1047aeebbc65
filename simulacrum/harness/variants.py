"""The checks of a configuration with other constants than those in ``spec.md``'s table.

The code is the same, and the whole battery runs on it with the constants as they stand, where states are small. What
another configuration adds are sizes: they are compared in lockstep, over whole episodes and from built states, with as
many rows as fit into memory. What every agent sees and gets is compared at each step, whole states now and then.

An adopted environment's configurations are another matter: see :func:`check_of`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from .. import bits
from ..spec import Package
from . import checks
from .case import Case
from .context import Context
from .finding import Finding
from .injection import Injector
from .laws import broken
from .lockstep import FastRows, References
from .records import OUTCOME, Record, difference, observation_record
from .sources import Actions, mixed_actions, random_actions, seeds
from .states import States

STANDARD = ("spec_contract", "adoption", "throughput")  # checks that are the same in every configuration
OF_THE_TABLE = ("static_read", "worked_examples", "constants", "scripted_policies")  # which only its constants concern
MEMORY = 1 << 26  # bytes of the states of a batch
ROWS, FEW = 16, 4  # rows at most: of a fast batch, of references
EVERY = 32  # steps after which whole states are compared
HELD = 4  # steps for which random actions are held at most
BATCHES, BUILT, AGENTS = 4, 24, 8192  # of built states, and rows and agents of each at most
SWEEP, ALONE = 320, 60  # steps of the invariant sweep, and of rows beside each other


def rows_that_fit(package: Package, most: int) -> int:
    """How many rows of a package's states fit into ``MEMORY``: 2 at least, ``most`` at most."""
    return max(2, min(most, MEMORY // (package.spec.state_bytes + 1)))


def differential(context: Context) -> None:
    """Lockstep of a few rows of every form and their references: over the step cap, with resets by mask, at many
    steps."""
    covers = []
    for form in (context.form, *context.further_forms):
        own = context if form == context.form else context.of(form)
        for compiled in (False, True) if own.compiled else (False,):
            _lockstep(own, {"compile": True} if compiled else {})
            mode = "native" if form == "kernel" else "compiled" if compiled else "eager"
            covers.append([form, mode, own.profile.devices[0]])
    context.facts["covers"] = covers


def _lockstep(context: Context, options: dict[str, Any]) -> None:
    package, rng = context.package, context.rng
    rows, agents = rows_that_fit(package, FEW), package.environment.agents or 1
    most, whole = context.profile.joint
    steps = max(2 * EVERY, min(most // agents, whole) // rows)
    pair = _Pair(context, rows, options)
    actions = _HeldActions(package, rng, rows)
    pair.reset(seeds(rng, rows))
    for step in range(steps):
        if step == steps // 4 or step == steps // 2:
            pair.near_the_cap()
        elif rng.random() < 1 / 400:
            pair.reset(mask=rng.random(rows) < 0.5)
        pair.step(actions.next())
        if step % EVERY == 0 or step == steps - 1:
            pair.compare_states()
            context.progress(step / steps)
    if package.spec.declared("truncates"):
        context.met("truncations", "truncates: yes")


class _HeldActions:
    """Random actions of each agent, held for a few steps, so that agents come about."""

    def __init__(self, package: Package, rng: np.random.Generator, rows: int) -> None:
        self.space, self.rng, self.rows = package.environment.action_space, rng, rows
        self.actions = random_actions(self.space, rng, rows)

    def next(self) -> np.ndarray:
        """The next ones, [rows, ...]."""
        fresh = random_actions(self.space, self.rng, self.rows)
        letting_go = self.rng.random(fresh.shape) < 1 / self.rng.integers(1, HELD, endpoint=True)
        self.actions = np.where(letting_go, fresh, self.actions)
        return self.actions


class _Pair:
    """A fast environment that shows no state, and a reference beside each of its rows."""

    def __init__(self, context: Context, rows: int, options: dict[str, Any]) -> None:
        self.context, self.package, self.rows = context, context.package, rows
        env = context.env(rows, 0, expose_state=False, **options)
        self.fast, self.references = FastRows(context.package, env), References(context.package, rows)
        self.start: Record = {}  # the states that were compared last, and the actions since: what replays a finding
        self.actions: list[np.ndarray] = []

    def reset(self, instance_seeds: np.ndarray | None = None, mask: np.ndarray | None = None) -> None:
        """Reset both sides: all rows with seeds, or those of a mask."""
        self.fast.reset(instance_seeds, mask)
        self.references.reset(instance_seeds, mask)
        self.compare_states()

    def near_the_cap(self) -> None:
        """Go on from the present states at times shortly before the step cap, in other episodes of other seeds."""
        cap, rng = self.package.environment.max_episode_steps, self.context.rng
        if cap is None:
            return
        states = self.fast.kept()
        states["clock.t"] = rng.integers(max(0, cap - 3 * EVERY), cap, self.rows)
        states["clock.t"][0] = cap - 1  # which the next step truncates, however short episodes are
        states["clock.seed"] = seeds(rng, self.rows)
        states["clock.episode"] = rng.integers(0, 2**32 - 8, self.rows)
        self.fast.enter(states)
        self.references.enter(states)
        self.context.count("states injected", self.rows)
        self.compare_states()

    def step(self, actions: np.ndarray) -> None:
        """One step of both sides, and all that it shows compared."""
        context, ended, now = self.context, *self.fast.step(actions)
        self.actions.append(actions)
        for row, env in enumerate(self.references.envs):
            seen, reward, terminated, truncated, info = env.step(actions[row])
            outcome = {"reward": reward, "terminated": terminated, "truncated": truncated}
            shown = observation_record(self.package, seen) | outcome
            if self.package.environment.agents is not None:
                shown |= {"reward": info["rewards"], "died": info["died"]}
            self._compare("after a step", row, shown, ended)
            if terminated or truncated:
                seen, info = env.reset()
                first = observation_record(self.package, seen)
                self._compare("in the first state of the next episode", row, first, now)
            self.references._seen[row], self.references._infos[row] = seen, info
        context.count("transitions", self.rows)
        context.count_agents(ended)
        for count, name in (("terminations", "terminated"), ("truncations", "truncated")):
            context.count(count, int(ended[name].sum()))
        context.count("episodes", int((ended["terminated"] | ended["truncated"]).sum()))

    def compare_states(self) -> None:
        """All that both sides are now."""
        kept = self.fast.kept()
        shown = {name: value for name, value in self.fast.record(self.fast.td).items() if name not in OUTCOME}
        found = difference(self.references._record(), {**shown, **kept})
        if found is not None:
            field, row, one, other = found
            self._fail("the two sides differ in the state", row, field, one, other)
        self.context.count("whole states compared", self.rows)
        self.start, self.actions = kept, []

    def _compare(self, when: str, row: int, shown: dict[str, Any], fast: Record) -> None:
        for name, value in shown.items():
            other = fast[name][row]
            if not bits.same(np.asarray(value, other.dtype), other):
                self._fail(f"the two sides differ {when}", row, name, value, other)

    def _fail(self, message: str, row: int, field: str, one: Any, other: Any) -> None:
        one, other = (value if isinstance(value, str) else np.asarray(value) for value in (one, other))
        if not isinstance(one, str) and one.shape == other.shape:
            one, other = bits.pair_shown(np.asarray(one, other.dtype), other)
        start = self.start
        seed, episode, t = (int(start[f"clock.{name}"][row]) if start else 0 for name in ("seed", "episode", "t"))
        setting = f"N = {self.rows}, configuration {self.package.config}"
        steps = len(self.actions)
        finding = Finding(
            self.context.name, message, setting, row, seed, episode, t + steps, field, str(one), str(other)
        )
        case = Case(starts=start, actions=np.stack(self.actions), watched=np.array([row])) if start and steps else None
        self.context.fail(finding, case)


def transitions(context: Context) -> None:
    """Single transitions from states that the package builds, both sides whole; not applicable where it builds none."""
    package, rng = context.package, context.rng
    if not hasattr(package.checks, "legal_states"):
        context.not_applicable("checks.py has no legal_states(rng, rows), which builds states of any size")
    rows = rows_that_fit(package, min(BUILT, AGENTS // (package.environment.agents or 1)))
    pool = FastRows(package, context.env(2, seeds(rng, 2))).reset()
    states, injector = States(package, rng, pool), Injector(context)
    for number in range(BATCHES):
        drawn = states.built(rows)
        count = len(drawn["clock.t"])
        context.require(count > 0, "none of the states that legal_states built is legal: an invariant refuses each")
        injector.compare(drawn, mixed_actions(package, rng, count))
        context.progress((number + 1) / BATCHES)


def batch_independence(context: Context) -> None:
    """A row shows the same alone, among others, and in as many threads as there are rows."""
    package, rng = context.package, context.rng
    rows = rows_that_fit(package, 5)
    instance_seeds = seeds(rng, rows)
    chosen = [random_actions(package.environment.action_space, rng, rows) for _ in range(ALONE)]
    before = torch.get_num_threads()
    together = _shown(context, instance_seeds, chosen)
    try:
        torch.set_num_threads(rows)
        threaded = _shown(context, instance_seeds, chosen)
    finally:
        torch.set_num_threads(before)
    alone = [_shown(context, instance_seeds[[row]], [actions[[row]] for actions in chosen]) for row in range(rows)]
    joined = [
        {name: np.concatenate([one[step][name] for one in alone]) for name in alone[0][step]} for step in range(ALONE)
    ]
    for what, others in (("alone", joined), (f"in {rows} threads", threaded)):
        for step, (one, other) in enumerate(zip(together, others, strict=True)):
            found = difference(one, other)
            if found is not None:
                context.fail(f"row {found[1]} shows another {found[0]} among {rows} rows than {what}, at step {step}")
        context.count("rows compared", rows * ALONE)


def _shown(context: Context, instance_seeds: np.ndarray, chosen: list[np.ndarray]) -> list[Record]:
    """Copies of what steps show of rows of their own."""
    side = FastRows(context.package, context.env(len(instance_seeds), instance_seeds, expose_state=False))
    side.reset()
    return [{name: value.copy() for name, value in side.step(actions)[0].items()} for actions in chosen]


def invariant_sweep(context: Context) -> None:
    """The laws of the package in the states of a run of each scripted policy and of random actions."""
    package, rng = context.package, context.rng
    rows = rows_that_fit(package, ROWS)
    side = FastRows(package, context.env(rows, seeds(rng, rows)))
    now, actions = side.reset(), Actions(package, rng, rows)
    for step in range(SWEEP):
        ended, now = side.step(actions.next(now))
        if step % EVERY == 0:
            found = broken(package, ended) or broken(package, now)
            if found is not None:
                row, message = found
                t, seed = int(ended["clock.t"][row]), int(ended["clock.seed"][row])
                context.fail(f"{message} in row {row} of seed {seed} at t = {t}")
            context.count("states looked at", 2 * rows)
            context.progress(step / SWEEP)


CHECKS: dict[str, Callable[[Context], None]] = {
    "differential": differential,
    "transitions": transitions,
    "batch_independence": batch_independence,
    "invariant_sweep": invariant_sweep,
}
__all__ = ["CHECKS", "STANDARD", "rows_that_fit"]


def check_of(name: str, package: Package) -> Callable[[Context], None]:
    """What a check does in a configuration with other constants.

    Those of an adopted environment are options of the original, which may change its rules and not only its sizes:
    there every check runs but those of what ``spec.md`` says of the constants in its table.
    """
    if package.spec.adopts:
        return _elsewhere if name in OF_THE_TABLE else checks.load(name)
    return checks.load(name) if name in STANDARD else CHECKS.get(name, _elsewhere)


def _elsewhere(context: Context) -> None:
    origin = context.package.origin
    whole = [name for name in origin.spec.configurations if not origin.configured(name).is_variant]
    where = f"the configuration {whole[0]} has" if whole else "they stand in spec.md, without a configuration"
    context.not_applicable(f"not here: this check runs, on the same code, with the constants as {where}")
