"""What was recorded can be played again: snapshots, pickles, trajectories, and the trace that the package committed."""

from __future__ import annotations

import copy
import json
import pickle
from typing import Any

import numpy as np

from ... import bits
from ...fast.copying import duplicate
from .. import schemas
from ..context import Context
from ..lockstep import FastRows, Lockstep, References
from ..records import Record, difference, plain
from ..sources import Actions, seeds
from ..traces import standard_digest
from ..trajectories import trajectory

ROWS = 9
STEPS = 60
TRACE = "trace.json"


def check(context: Context) -> None:
    """Continue from snapshots and pickles, replay trajectories from their seed and actions, compare the fixed trace."""
    unbegun(context)
    lockstep, now = started(context)
    actions = Actions(context.package, context.rng, ROWS)
    for round_number in range(6):
        for _ in range(context.rng.integers(1, STEPS)):
            _, now = lockstep.step(actions.next(now))
        now = go_on(context, lockstep, now, actions)
        context.progress((round_number + 1) / 8)
    _trajectories(context)
    if not context.package.is_variant:
        _trace(context)


def started(context: Context) -> tuple[Lockstep, Record]:
    instance_seeds = seeds(context.rng, ROWS)
    lockstep = Lockstep(context, context.env(ROWS, instance_seeds), np.arange(ROWS))
    return lockstep, lockstep.reset(instance_seeds)


def go_on(context: Context, lockstep: Lockstep, now: Record, actions: Actions) -> Record:
    """Copies of both sides, by each way of copying, go on as the originals do; what all show in the end."""
    fast, references = lockstep.fast, lockstep.references
    twins: dict[str, Any] = {
        "a pickled fast environment": _twin(context, pickle.loads(pickle.dumps(fast.env)), fast),
        "a deep copy of the fast environment": _twin(context, copy.deepcopy(fast.env), fast),
        "a fast environment that entered the references' states": FastRows(context.package, context.env(ROWS, 1)),
        "references that entered the fast side's states": References(context.package, ROWS),
        "pickled references": _reference_twins(references, lambda env: pickle.loads(pickle.dumps(env))),
        "deep copies of the references": _reference_twins(references, copy.deepcopy),
    }
    snapshots = {name: value for name, value in now.items() if name.startswith(("state.", "clock."))}
    for name in list(twins)[2:4]:
        _equal(context, name, now, twins[name].enter(snapshots))
        context.count("states injected", ROWS)
    for _ in range(STEPS // 4):
        chosen = actions.next(now)
        ended, now = lockstep.step(chosen)
        for name, twin in twins.items():
            twin_ended, twin_now = twin.step(chosen)
            _equal(context, name, ended, twin_ended)
            _equal(context, name, now, twin_now)
            context.count("transitions of copies", ROWS)
    return now


def unbegun(context: Context) -> None:
    """Copies of a fast environment that has not begun begin its episodes: also of one that was seeded again."""
    rows = seeds(context.rng, ROWS)
    for again in (False, True):
        env = context.env(ROWS, rows)
        if again:
            env.reset()
            env.set_seed(int(context.rng.integers(0, 2**62)))
        when = "was seeded again" if again else "has not begun"
        copies = {"pickled": pickle.loads(pickle.dumps(env)), "deeply copied": copy.deepcopy(env)}
        expected = FastRows(context.package, env).reset()
        for name, made in copies.items():
            found = FastRows(context.package, made).reset()
            _equal(context, f"a {name} fast environment that {when}", expected, found)
            context.count("first states of copies", ROWS)


def _twin(context: Context, env: Any, fast: FastRows) -> FastRows:
    twin = FastRows(context.package, env)
    twin.td = duplicate(fast.td)
    return twin


def _reference_twins(references: References, copied: Any) -> References:
    twin = References(references.package, 0)
    twin.envs = [copied(env) for env in references.envs]
    twin._seen, twin._infos = list(references._seen), list(references._infos)
    return twin


def _equal(context: Context, name: str, expected: Record, found: Record) -> None:
    differs = difference(expected, found)
    if differs is not None:
        field, row, one, other = differs
        context.fail(f"{name} went on otherwise: {field} in row {row} is {other}, expected {one}")


def _trajectories(context: Context) -> None:
    """Whole episodes as JSON, valid by ``schema.json``; played again from seed and actions they are the same JSON."""
    package = context.package
    validator = schemas.validator(package, "trajectory")
    lockstep, now = started(context)
    actions = Actions(package, context.rng, ROWS)
    running = np.ones(ROWS, np.bool_)
    for _ in range(lockstep.history.maxlen or STEPS):
        if not running.any():
            break
        ended, now = lockstep.step(actions.next(now))
        running &= ~(ended["terminated"] | ended["truncated"])
    first = lockstep.history[0][0].before
    for row in range(ROWS):
        seed, episode = int(first["clock.seed"][row]), int(first["clock.episode"][row])
        sides = [
            trajectory(package, package.environment.id, [pair[side] for pair in lockstep.history], row, seed, episode)
            for side in (0, 1)
        ]
        context.require(sides[0] == sides[1], f"row {row}: the two sides' trajectories are not the same JSON")
        error = next(iter(validator.iter_errors(sides[0])), None)
        if error is not None:
            context.fail(f"a trajectory is not valid by schema.json at {list(error.path)}: {error.message}")
        if row == 0:
            _refused(context, validator, sides[0])
        _play(context, json.loads(json.dumps(sides[0])))
        context.count("trajectories replayed")


def _refused(context: Context, validator: Any, whole: dict[str, Any]) -> None:
    """The schema takes every seed and episode, and no trajectory with a part that is missing or of another type."""
    short = {**whole, "steps": whole["steps"][:2]}
    for name, bits_of in (("seed", 64), ("episode", 32)):
        last = (1 << bits_of) - 1
        context.require(
            validator.is_valid({**short, name: last}), f"schema.json does not take a trajectory of {name} {last}"
        )
    for what, other in schemas.broken(short):
        taken = validator.is_valid(other)
        context.require(not taken, f"schema.json takes a trajectory that is broken: {what}")
        context.count("broken trajectories refused")


def _play(context: Context, recorded: dict[str, Any]) -> None:
    """Play a recorded trajectory on a new reference, from its seed, episode and actions."""
    env = context.package.reference()
    env.reset(seed=recorded["seed"])
    for _ in range(recorded["episode"]):
        env.reset()
    space = context.package.environment.action_space
    for step in recorded["steps"]:
        action = np.asarray(step["action"], space.dtype)
        seen, reward, terminated, truncated, info = env.step(action[()] if not action.shape else action)
        found = {"observation": plain(seen), "reward": reward, "terminated": terminated, "truncated": truncated}
        if context.package.environment.agents is not None:
            found |= {"reward": plain(info["rewards"]), "died": plain(info["died"])}
        for name, value in found.items():
            same = bits.same(np.asarray(value), np.asarray(step[name])) if name == "reward" else value == step[name]
            context.require(
                same, f"a trajectory played again gives {name} {value} at t = {step['t']}, recorded {step[name]}"
            )


def _trace(context: Context) -> None:
    """The digest of the fixed trace equals the one that the package committed for its ID and the table's constants."""
    found = standard_digest(context.package)
    context.facts["trace"] = found
    data = context.package.files.get(TRACE)
    if data is None:
        context.note(
            f"no {TRACE}: before you publish, commit the trace's digest with: simulacrum freeze {context.package.path}"
        )
        return
    committed = json.loads(data)
    if committed.get("id") != context.package.environment.id:
        context.fail(
            f"{TRACE} is for {committed.get('id')}; write a new one with: simulacrum freeze {context.package.path}"
        )
    context.require(
        committed.get("digest") == found,
        f"{context.package.environment.id} behaves otherwise than when it was frozen ({TRACE}): a changed behaviour is "
        f"a new version of the ID. Raise the version, then: simulacrum freeze {context.package.path}",
    )
