"""Trajectory files for tests of what shows them."""

import json

import numpy as np
from environments import FORAGER, TOYWALK

from simulacrum.spec import Package
from simulacrum.trajectory import Recorder

SNAKE = Package.read(TOYWALK.path.parent / "snake").configured("tiny")
BOTH = [TOYWALK, FORAGER]


def recorded(package, steps, file, seed=7, actions=7):
    """A recording of random actions, and the states that it goes through: the first one of each episode, too."""
    env = Recorder(package.reference(render_mode="rgb_array"), file)
    env.action_space.seed(actions)
    env.reset(seed=seed)
    images, texts = [], []

    def look():
        images.append(env.render())
        texts.append(package.module("render").render_text(env.unwrapped._state))

    look()
    for _ in range(steps):
        _, _, terminated, truncated, _ = env.step(env.action_space.sample())
        look()
        if terminated or truncated:
            env.reset()
            look()
    env.close()
    return images, texts


def changed(file, target, changes):
    """A copy of a .jsonl file with the content of some lines, counted from 0, changed in place by functions."""
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    for number, change in changes.items():
        change(lines[number])
    target.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return target


def kept(file, target, keep):
    """A copy of a .jsonl file with those of its lines that a function wants, given number and content; cut off."""
    lines = [json.loads(line) for line in file.read_text().splitlines()[:-1]]
    target.write_text("".join(json.dumps(line) + "\n" for number, line in enumerate(lines) if keep(number, line)))
    return target


def noise(sizes, seed=0, colours=None):
    """Images of the given sizes: of any colours, or of so many."""
    generator = np.random.default_rng(seed)
    for height, width in sizes:
        palette = generator.integers(0, 256, (colours or 4096, 3), np.uint8)
        yield palette[generator.integers(0, len(palette), (height, width))]
