"""Gymnasium's own tools on a validated ID: play it by keys, record a video of it, measure it, print what it is.

simulacrum validate envs/forager
python integrations/gymnasium_tools.py play simulacrum/forager-v0       # a window; needs pygame
python integrations/gymnasium_tools.py record simulacrum/forager-v0     # videos/: one instance, then nine; moviepy
python integrations/gymnasium_tools.py measure simulacrum/forager-v0    # Gymnasium's benchmarks
python integrations/gymnasium_tools.py show simulacrum/forager-v0       # its EnvSpec, as JSON too
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import gymnasium
from gymnasium.envs.registration import EnvSpec
from gymnasium.utils import performance
from gymnasium.wrappers import RecordVideo
from gymnasium.wrappers.vector import RecordVideo as RecordVideos

import simulacrum.play.keys  # and registers the IDs
from simulacrum.errors import SimulacrumError
from simulacrum.spec.package import sibling


def keys_of(env: gymnasium.Env[Any, Any]) -> dict[Any, Any]:
    """What Gymnasium's ``play`` takes as ``keys_to_action``: the package's ``KEYS`` (arrows are W, A, S and D too)."""
    import pygame

    arrows = {"up": pygame.K_UP, "down": pygame.K_DOWN, "left": pygame.K_LEFT, "right": pygame.K_RIGHT}
    actions = simulacrum.play.keys.actions_of(sibling(type(env.unwrapped), "render"), env.action_space)
    return {arrows.get(name, name): action for name, action in actions.items()}


def play(identifier: str) -> None:
    """Play until the window is closed. The environment waits for a key: it has no action that does nothing."""
    from gymnasium.utils.play import play as play_by_keys

    env = gymnasium.make(identifier, render_mode="rgb_array")
    play_by_keys(env, keys_to_action=keys_of(env), wait_on_player=True, zoom=1.0)


def record(identifier: str, folder: Path, seed: int = 0) -> None:
    """A video of an episode of random actions, and one of nine instances side by side for as long."""
    env = RecordVideo(gymnasium.make(identifier, render_mode="rgb_array"), str(folder / "one"))
    env.action_space.seed(seed)
    env.reset(seed=seed)
    steps, over = 0, False
    while not over:
        _, _, terminated, truncated, _ = env.step(env.action_space.sample())
        steps, over = steps + 1, terminated or truncated
    env.close()
    envs = gymnasium.make_vec(identifier, num_envs=9, render_mode="rgb_array")
    nine = RecordVideos(envs, str(folder / "nine"), video_length=steps)
    nine.action_space.seed(seed)
    nine.reset(seed=seed)
    for _ in range(steps):
        nine.step(nine.action_space.sample())
    nine.close()
    for file in sorted(folder.glob("*/*.mp4")):
        print(file)


def measure(identifier: str, seconds: Any, seed: int = 0) -> None:
    """What Gymnasium's benchmarks say of both sides."""
    env = gymnasium.make(identifier, render_mode="rgb_array")
    print(f"{performance.benchmark_step(env, seconds, seed):>14,.0f} steps/s, the reference")
    for instances in (1, 64, 4096):
        envs = gymnasium.make_vec(identifier, num_envs=instances)
        rate = performance.benchmark_vector_step(envs, seconds, seed)
        print(f"{rate:>14,.0f} steps/s, the fast side, {instances:,} instances")
    rate = performance.benchmark_init(lambda: gymnasium.make(identifier), seconds, seed)
    print(f"{rate:>14,.0f} environments made and reset a second")
    env.reset(seed=seed)
    print(f"{performance.benchmark_render(env, seconds):>14,.0f} frames/s")


def show(identifier: str) -> None:
    """The ``EnvSpec``, and the one that comes back from its JSON."""
    spec = gymnasium.spec(identifier)
    spec.pprint(include_entry_points=True)
    text = spec.to_json()
    print(text)
    if EnvSpec.from_json(text) != spec:
        raise AssertionError("the JSON gives another EnvSpec")


def main(given: Sequence[str] | None = None) -> int:
    """Run one tool; 0, or 1 where the environment does not load."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tool", choices=("play", "record", "measure", "show"))
    parser.add_argument("environment", help="a registered ID")
    parser.add_argument("--out", type=Path, default=Path("videos"), help="record: the folder (default: videos)")
    parser.add_argument("--seconds", type=float, default=1.0, help="measure: of each benchmark, at least (default: 1)")
    options = parser.parse_args(given)
    try:
        if options.tool == "play":
            play(options.environment)
        elif options.tool == "record":
            record(options.environment, options.out)
        elif options.tool == "measure":
            measure(options.environment, options.seconds)
        else:
            show(options.environment)
    except (SimulacrumError, gymnasium.error.Error) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
