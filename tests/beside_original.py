"""Environments of others as Gymnasium makes them, wrappers and all, beside the fast forms written after them."""

from __future__ import annotations

import contextlib
import io
import re
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
import torch

from simulacrum import bits
from simulacrum.originals import KeyedGenerator
from simulacrum.rng import Draw
from simulacrum.spec import Package


class Original:
    """One of ``gymnasium.make``, its ``np_random`` replaced by hand: episodes of one seed, which draw from slot 0 at a
    reset and from slot 1 in a step."""

    def __init__(self, name: str, seed: int, **options: Any) -> None:
        self.env = gymnasium.make(name, **options)
        self.generator = self.env.unwrapped.np_random = KeyedGenerator()
        self.seed, self.episode, self.t = seed, -1, 0

    def reset(self) -> Any:
        """The first observation of the next episode."""
        self.episode, self.t = self.episode + 1, 0
        with self.generator.drawing(Draw.at(self.seed, self.episode, 0), [0], "reset"):
            return self.env.reset()[0]

    def step(self, action: Any) -> tuple[Any, float, bool, bool]:
        """Observation, reward, terminated, truncated."""
        with self.generator.drawing(Draw.at(self.seed, self.episode, self.t), [1], "step"):
            observation, reward, terminated, truncated, _ = self.env.step(action)
        self.t += 1
        return observation, float(reward), terminated, truncated


def assert_same(package: Package, form: str, name: str, choose: Callable[[int, np.ndarray], np.ndarray], steps: int,
                rows: int = 16, **options: Any) -> dict[str, int]:  # fmt: skip
    """Compare every step of every row, over as many episodes as there are; returns how many ended, by flag.

    ``choose(step, observation)`` gives the actions [rows] from the observations of the originals.
    """
    fast = package.forms[form](batch_size=[rows], seed=7)
    td = fast.reset()
    originals = [Original(name, int(seed), **options) for seed in fast.instance_seeds.numpy().view(np.uint64)]
    seen = np.array([one.reset() for one in originals])
    ended = {"terminated": 0, "truncated": 0}
    for step in range(steps):
        assert bits.same(seen, td["observation"].numpy()), f"step {step}: what is seen before it"
        actions = choose(step, seen)
        done, td = fast.step_and_maybe_reset(td.set("action", torch.from_numpy(actions)))
        stepped = [one.step(int(action)) for one, action in zip(originals, actions, strict=True)]
        observations, rewards, *flags = (np.array(column) for column in zip(*stepped, strict=True))
        stated = {"observation": observations, "reward": rewards.astype(package.environment.reward_dtype)}
        stated |= dict(zip(ended, flags, strict=True))
        for key, values in stated.items():
            shown = done["next", key].numpy().reshape(values.shape)
            assert bits.same(values, shown), f"step {step}, {key}: the originals give {values}, {form} {shown}"
        for key in ended:
            ended[key] += int(stated[key].sum())
        over = flags[0] | flags[1]
        seen = np.array(
            [one.reset() if end else now for one, end, now in zip(originals, over, observations, strict=True)]
        )
    return ended


def program(package: Package) -> str:
    """The program in ``spec.md`` that derives the returns it states."""
    return re.search(r"```python\n(.*?)```", package.files["spec.md"].decode(), re.DOTALL)[1]


def printed(text: str) -> list[str]:
    """The lines that a program prints."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(text, {})
    return out.getvalue().splitlines()
