"""Seeds at the edges of the words through every API; thousands of episodes and steps; clocks close to their bounds."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import torch

from ... import bits, rng
from ...errors import SeedError
from ..context import Context
from ..injection import Injector
from ..lockstep import FastRows, Lockstep, References
from ..records import Record, difference
from ..sides import VectorRows
from ..sources import EDGE_SEEDS, Actions, random_actions, seeds

ROWS = 3
STEPS = 8
REFUSED = (-1, 1 << 64, 1.5, "7")
EPISODES = (2**31 - 2, 2**31 - 1, 2**31, 2**32 - 3)
PAIRS = 1024  # of streams that are compared


def check(context: Context) -> None:
    """Seeds first, then neighbours, then horizons."""
    quick = context.profile.name == "quick"
    parts: list[Callable[[], None]] = [
        lambda: every_api(context),
        lambda: refusals(context),
        lambda: _neighbours(context),
        lambda: _consecutive(context, 1, 300 if quick else 2000),
        lambda: _consecutive(context, 4, 40 if quick else 200),
        lambda: _long(context, 200 if quick else 800),
        lambda: numbered_episodes(context, 256 if quick else 4096),
        lambda: clocks_at_their_bounds(context, 64 if quick else 1024),
    ]
    for number, part in enumerate(parts):
        part()
        context.progress((number + 1) / len(parts))


# ---------------------------------------------------------------------- seeds


def every_api(context: Context) -> None:
    """Each edge seed through each way of seeding begins the streams that references begin."""
    for number in EDGE_SEEDS:
        derived = np.array([rng.instance_seed(number, row) for row in range(ROWS)], np.uint64)
        made = FastRows(context.package, context.env(ROWS, number))
        _beside(context, f"seed={number}", made, made.reset(), derived)
        late = FastRows(context.package, context.env(ROWS, 1))
        late.reset()
        late.env.set_seed(number)
        _beside(context, f"set_seed({number})", late, late.reset(), derived)
        start = min(number, (1 << 64) - ROWS)
        adapter = VectorRows(context.package, context.env(ROWS, 1), "SameStep")
        for _ in range(2):  # also after episodes of other streams
            seen = adapter._seen(adapter.vector.reset(seed=start)[0])
            own = np.array([start + row for row in range(ROWS)], np.uint64)
            _beside(context, f"VectorEnv.reset(seed={start})", adapter, seen, own)
    every = np.array(EDGE_SEEDS, np.uint64)
    tensor = FastRows(context.package, context.env(len(every), every))
    _beside(context, "seed=int64[N]", tensor, tensor.reset(), every)
    adapter = VectorRows(context.package, context.env(len(every), 1), "SameStep")
    _beside(context, "VectorEnv.reset(seed=[...])", adapter, adapter.reset(every), every)


def _beside(context: Context, what: str, side: FastRows, first: Record, expected: np.ndarray) -> None:
    """The first states are those of references with the expected seeds, and so are the steps that follow."""
    references = References(context.package, len(expected))
    actions = Actions(context.package, context.rng, len(expected))
    now = references.reset(expected)
    _same(context, what, now, first)
    for _ in range(STEPS):
        chosen = actions.next(now)
        reference, shown = references.step(chosen), side.step(chosen)
        for one, other in zip(reference, shown, strict=True):
            _same(context, what, one, other)
        now = reference[1]
        context.count("transitions", len(expected))
    context.count("seeds compared", len(expected))


def _same(context: Context, what: str, reference: Record, shown: Record) -> None:
    found = difference({name: value for name, value in reference.items() if name in shown}, shown)
    if found is not None:
        field, row, one, other = found
        texts = (one, other) if isinstance(one, str) else bits.pair_shown(one, other)
        context.fail(f"{what}: {field} of row {row} is {texts[1]}, the reference of that stream has {texts[0]}")


def refusals(context: Context) -> None:
    """Seeds that are none are refused with SeedError, and the refused call changes nothing."""
    package = context.package
    made: Callable[..., Any] = context.fast
    reference, twin = (References(package, 1) for _ in range(2))
    begin: Callable[..., Any] = reference.envs[0].reset
    reference.reset(np.array([5], np.uint64))
    twin.reset(np.array([5], np.uint64))
    fast, other = (FastRows(package, context.env(2, 5)) for _ in range(2))
    fast.reset()
    other.reset()
    adapter = VectorRows(package, context.env(2, 5), "SameStep")
    adapter.vector.reset(seed=5)
    for bad in REFUSED:
        _refused(context, f"ReferenceEnv.reset(seed={bad!r})", partial(begin, seed=bad))
        _refused(context, f"FastEnv(seed={bad!r})", partial(made, batch_size=[2], seed=bad))
        _refused(context, f"set_seed({bad!r})", partial(fast.env.set_seed, bad))
        _refused(context, f"VectorEnv.reset(seed={bad!r})", partial(adapter.vector.reset, seed=bad))
        _refused(context, f"VectorEnv.reset(seed=[0, {bad!r}])", partial(adapter.vector.reset, seed=[0, bad]))
    for wrong in (torch.zeros(2), torch.zeros(3, dtype=torch.int64)):
        form = f"{wrong.dtype} {list(wrong.shape)}"
        _refused(context, f"FastEnv(seed={form})", partial(made, batch_size=[2], seed=wrong))
    none = np.zeros(1, np.bool_)  # of the rows are reset: what is shown is what there is
    for when in ("state", "stream"):
        found = difference(twin.reset(mask=none), reference.reset(mask=none))
        context.require(found is None, f"ReferenceEnv.reset: a refused seed changed the {when}: {found and found[0]}")
        reference.reset()
        twin.reset()
        found = difference(other.kept(), fast.kept())
        context.require(found is None, f"set_seed: a refused seed changed the {when}: {found and found[0]}")
        fast.reset()
        other.reset()
    streams = adapter.vector.instance_seeds.tolist(), adapter.vector.instance_episodes.tolist()
    context.require(streams == ([5, 6], [0, 0]), "VectorEnv.reset: a refused seed changed the streams")


def _refused(context: Context, what: str, call: Callable[[], Any]) -> None:
    try:
        call()
    except SeedError:
        context.count("seeds refused")
        return
    except Exception as error:
        context.fail(f"{what}: expected a SeedError, got {type(error).__name__}: {error}")
    context.fail(f"{what}: expected a SeedError, but it was taken")


def _neighbours(context: Context) -> None:
    """Neighbouring seeds share no stream: their states are equal no more often than those of unrelated seeds."""
    if not context.package.spec.declared("draws"):
        context.note("the environment draws nothing, so that all streams are alike: neighbours were not compared")
        return
    generator = context.rng
    start = int(generator.integers(0, 2**62))
    own = {number: set(context.env(64, number).instance_seeds.tolist()) for number in range(start, start + 8)}
    context.require(len(set.union(*own.values())) == 8 * 64, f"set_seed: neighbours of {start} share instance seeds")
    low = np.arange(PAIRS, dtype=np.uint64) + np.uint64(start % 2**31)
    actions = random_actions(context.package.environment.action_space, generator, STEPS)
    unrelated = _equal(context, seeds(generator, PAIRS), seeds(generator, PAIRS), actions)
    pairs = {
        "seed and seed + 1": (low, low + np.uint64(1)),
        "seed and seed + 2**32": (low, low + np.uint64(2**32)),
        "seed and seed + 2**63": (low, low + np.uint64(2**63)),
        "seed and seed * 2**32": (low, low << np.uint64(32)),
    }
    for what, (one, other) in pairs.items():
        shares = _equal(context, one, other, actions)
        for when, share, usual in zip(("first states", "states"), shares, unrelated, strict=True):
            spread = 6.5 * np.sqrt(share + usual + 1.0)  # beyond 6.5 standard deviations: less than once in 10**9 runs
            context.require(
                share - usual <= spread,
                f"{what} have equal {when} in {share} of {PAIRS} pairs, unrelated seeds in {usual}: a stream is shared",
            )


def _equal(context: Context, one: np.ndarray, other: np.ndarray, actions: np.ndarray) -> tuple[int, int]:
    """In how many rows two sets of streams have equal first states, and equal states after a step with each action.

    How often states are equal by chance depends on the actions: shares compare only under the same ones.
    """
    sides = [FastRows(context.package, context.env(len(one), own)) for own in (one, other)]
    first = [side.reset() for side in sides]
    last = first
    for action in actions:
        last = [side.step(np.broadcast_to(action, (len(one), *action.shape)))[1] for side in sides]
    return _alike(*first), _alike(*last)


def _alike(one: Record, other: Record) -> int:
    names = [name for name in one if name.startswith("state.")]
    equal = np.all([bits.same_rows(one[name], other[name]) for name in names], axis=0)
    return int(equal.sum())


# ---------------------------------------------------------------------- horizons


def _consecutive(context: Context, rows: int, episodes: int) -> None:
    """So many episodes of one object, one after the other, most of them cut short: by resets and at the step cap."""
    cap = context.package.environment.max_episode_steps
    own = seeds(context.rng, rows)
    lockstep = Lockstep(context, context.env(rows, own), np.arange(rows), f"N = {rows}, {episodes} episodes")
    actions = Actions(context.package, context.rng, rows)
    now, number = lockstep.reset(own), 0
    while number < episodes:
        for _ in range(4):
            mask = None if number % 3 else context.rng.random(rows) < 0.7
            now = lockstep.reset(mask=mask)
            number += 1
        if cap is not None and number % 32 == 0:
            now = lockstep.enter({**now, "clock.t": np.full(rows, cap - 1)})
            number += 1
        _, now = lockstep.step(actions.next(now))
    context.count("consecutive episodes", number)


def _long(context: Context, steps: int) -> None:
    """So many steps of one object, with masked resets."""
    own = seeds(context.rng, 2)
    lockstep = Lockstep(context, context.env(2, own, resets="masked"), np.arange(2), f"N = 2, {steps} steps")
    actions = Actions(context.package, context.rng, 2)
    now = lockstep.reset(own)
    for _ in range(steps):
        _, now = lockstep.step(actions.next(now))


def numbered_episodes(context: Context, rows: int) -> None:
    """Each episode number of one stream from 1 on, and the numbers at the edges of 31 and 32 bits, by injection."""
    own = np.full(rows, seeds(context.rng, 1)[0])
    lockstep = Lockstep(context, context.env(rows, own), np.arange(rows), f"N = {rows}, episodes 1, 2 ... of one seed")
    now = lockstep.reset(own)
    episodes = np.arange(rows)
    episodes[-len(EPISODES) :] = EPISODES
    now = lockstep.enter({**now, "clock.episode": episodes})
    now = lockstep.reset(mask=np.ones(rows, np.bool_))
    lockstep.step(Actions(context.package, context.rng, rows).next(now))
    context.count("episode numbers compared", rows)


def clocks_at_their_bounds(context: Context, rows: int) -> None:
    """Single transitions with t close to its bound, and in the last episodes that there can be."""
    generator, package = context.rng, context.package
    own = seeds(generator, rows)
    fast = FastRows(package, context.env(rows, own))
    actions, now = Actions(package, generator, rows), fast.reset()
    for _ in range(STEPS):
        _, now = fast.step(actions.next(now))
    cap = package.environment.max_episode_steps
    last = cap if cap is not None else min(int(package.spec.fields["t"].high), 2**32 - 1)
    t = np.maximum(last - generator.integers(1, 4, rows), 0)
    episode = 2**32 - generator.integers(1, 3, rows)
    states = {**now, "clock.t": t, "clock.episode": episode, "clock.seed": seeds(generator, rows)}
    injector = Injector(context)
    for resets in ("rows", "masked"):
        shown = injector.compare(states, actions.next(now), resets=resets)
        context.count("clocks at their bounds", len(shown.ended["clock.t"]))
