"""How fast adopted environments are: steps a second of each fast form, of EnvPool and of Gymnasium's ``SyncVectorEnv``.

``python docs/original_rates.py [NAME ...]``: one thread, all sides of a game by turns in one process, random actions
made beforehand, resets included. EnvPool (``pip install envpool``) is not among our dependencies; without it its
columns are empty. The yardstick, Gymnasium's vector CartPole with N = 8,192, carries a figure to another machine; it is
in M steps/s too.
"""

from __future__ import annotations

import copy
import importlib.util
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

for _name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[_name] = "1"  # before anything reads them

import gymnasium  # noqa: E402
import numpy as np  # noqa: E402
import torch  # noqa: E402
from gymnasium.vector import SyncVectorEnv  # noqa: E402

from simulacrum.bench import sides  # noqa: E402
from simulacrum.bench.measure import Side, by_turns  # noqa: E402
from simulacrum.spec import Package  # noqa: E402

SIZES, ROUNDS, SECONDS, SETS = (1024, 8192), 9, 0.25, 8
ENVS = Path(__file__).resolve().parent.parent / "envs"


class Game(NamedTuple):
    """A game: our package and its configuration, the original's ID, EnvPool's ID."""

    package: str
    config: str | None
    original: str
    envpool: str


GAMES = {
    "FrozenLake 4x4": Game("frozen_lake", None, "FrozenLake-v1", "FrozenLake-v1"),
    "CliffWalking": Game("cliff_walking", None, "CliffWalking-v1", "CliffWalking-v1"),
    "Taxi": Game("taxi", None, "Taxi-v4", "Taxi-v3"),
    "Blackjack": Game("blackjack", None, "Blackjack-v1", "Blackjack-v1"),
    **{
        f"MiniGrid {name}": Game(package, None, f"minigrid:MiniGrid-{name}-8x8-v0", f"MiniGrid-{name}-8x8-v0")
        for name, package in (("Empty", "minigrid_empty"), ("DoorKey", "minigrid_door_key"))
    },
}


def stepping(step: Callable[[np.ndarray], Any], actions: int, rows: int, dtype: Any) -> Side:
    """``step`` with sets of random actions by turns."""
    sets = np.random.default_rng(0).integers(0, actions, (SETS, rows)).astype(dtype)

    def run(steps: int) -> None:
        for number in range(steps):
            step(sets[number % SETS])

    return Side(run, rows)


def originals(game: Game, rows: int) -> Side:
    """Gymnasium's ``SyncVectorEnv`` over originals with their wrappers. They share their transition table: thousands of
    Taxi's would take gigabytes, and minutes to make."""
    first = gymnasium.make(game.original, disable_env_checker=True)
    table = getattr(first.unwrapped, "P", None)
    envs = SyncVectorEnv([lambda: copy.deepcopy(first, {id(table): table})] * rows)
    envs.reset(seed=0)
    return stepping(envs.step, int(envs.single_action_space.n), rows, np.int64)


def envpools(game: Game, rows: int) -> Side | None:
    """EnvPool's, through its Gymnasium interface, on one thread."""
    if importlib.util.find_spec("envpool") is None:
        return None
    import envpool

    envs = envpool.make_gymnasium(game.envpool, num_envs=rows, num_threads=1, seed=0)
    envs.reset()
    return stepping(envs.step, int(envs.action_space.n), rows, envs.action_space.dtype)


def main(names: list[str]) -> int:
    """Print a table: millions of steps a second, medians over the rounds, and ratios, the rounds' medians."""
    unknown = [name for name in names if name not in GAMES]
    if unknown:
        print(f"expected names of {', '.join(GAMES)}, got {', '.join(unknown)}", file=sys.stderr)
        return 2
    torch.set_num_threads(1)
    heads = ("game", "N", "SyncVectorEnv", "EnvPool", "form", "M steps/s", "x EnvPool", "x SyncVectorEnv", "spread")
    print(f"| {' | '.join(heads)} | yardstick |")
    print("|---|--:|--:|--:|---|--:|--:|--:|--:|--:|", flush=True)
    for name in names or GAMES:
        for rows in SIZES:
            measure(name, rows)
    return 0


def measure(name: str, rows: int) -> None:
    """Print the rows of one game and size."""
    game = GAMES[name]
    package = Package.read(ENVS / game.package).configured(game.config)
    made = {form: sides.stepping(sides.make(package, form, rows)) for form in sides.forms_of(package)}
    pool = envpools(game, rows)
    others = {"SyncVectorEnv": originals(game, rows), "yardstick": sides.yardstick()}
    timings = by_turns({**made, **others, **({"EnvPool": pool} if pool else {})}, SECONDS, ROUNDS)
    sync, yard = timings["SyncVectorEnv"], timings["yardstick"]
    theirs = timings.get("EnvPool")
    for form in made:
        ours = timings[form]
        over = f"{ours.over(theirs):,.1f}" if theirs else ""
        print(
            f"| {name} | {rows:,} | {sync.rate / 1e6:.3f} | {theirs.rate / 1e6 if theirs else 0:.2f} | {form} | "
            f"{ours.rate / 1e6:,.1f} | {over} | {ours.over(sync):,.0f} | {ours.spread:.0%} | {yard.rate / 1e6:.1f} |",
            flush=True,
        )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
