"""A further form beside the reference itself, so that it does not lean on the first form alone."""

from __future__ import annotations

from dataclasses import replace

from ...errors import SimulacrumError
from ..context import Context
from ..enumeration import World
from ..examples import run_seeded_examples
from ..injection import Injector
from ..outcomes import TooLarge
from ..sources import mixed_actions
from ..states import POOL_ROWS, States, rollout_states
from . import differential, seeds_and_horizons

SIZES = {1: (1, 500), 65: (65, 400), 513: (33, 300)}  # N -> (rows with a reference, steps)
QUICK_SIZES = {1: (1, 60), 65: (65, 60)}
INJECTED = (4031, 2048, 65)  # batches of single transitions


def worked_examples(context: Context) -> None:
    """The spec's worked examples, those whose draws a seed has."""
    run_seeded_examples(context)


def against_references(context: Context) -> None:
    """Episodes in lockstep with references, single transitions, seeds at their edges, clocks at their bounds."""
    rng, package, rollouts = context.rng, context.package, context.of(context.form)
    quick = context.profile.name == "quick"
    rollouts.profile = replace(context.profile, sizes=QUICK_SIZES if quick else SIZES)
    differential.check(rollouts)
    states = States(package, rng, rollout_states(package, context.env(POOL_ROWS, int(rng.integers(0, 2**62))), rng))
    injector = Injector(context, states.reached)
    for size in INJECTED[1:] if quick else INJECTED:
        drawn = states.draw(size)
        injector.compare(drawn, mixed_actions(package, rng, len(drawn["clock.t"])))
    seeds_and_horizons.every_api(context)
    seeds_and_horizons.refusals(context)
    seeds_and_horizons.numbered_episodes(context, 256)
    seeds_and_horizons.clocks_at_their_bounds(context, 64 if quick else 512)


def small_world(context: Context) -> None:
    """The first small world of the spec with constants of its own, wholly: another kernel, which is built for it."""
    for small in [small for small in context.package.spec.small_worlds if small.constants][:1]:
        world = World(context, f"small world {small.name!r}", small.constants)
        try:
            world.explore()
        except TooLarge as large:
            context.note(f"small world {small.name!r}: not compared: {large}")
        except SimulacrumError as error:
            context.problem(f"small world {small.name!r}: {error}")
