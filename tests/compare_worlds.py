"""A walk as an ordinary ``gymnasium.Env``, a vector form of it, and that form with one fault at a time."""

from __future__ import annotations

import itertools
import os
from functools import partial
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.envs.toy_text.frozen_lake import FrozenLakeEnv
from gymnasium.vector import AutoresetMode, SyncVectorEnv, VectorEnv
from gymnasium.vector.utils import batch_space
from gymnasium.wrappers import TimeLimit

LIMIT, GOAL, SLIP = 9, 3, 0.1
NEXT, SAME, DISABLED = AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP, AutoresetMode.DISABLED
OBSERVATION = spaces.Box(np.float32([-GOAL - LIMIT - 1, 0]), np.float32([GOAL, LIMIT + 9]), (2,), np.float32)
made = itertools.count()


class Walk(gymnasium.Env):
    """From near 0 to GOAL, on ground that slips now and then."""

    observation_space, action_space = OBSERVATION, spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.position, self.t = int(self.np_random.integers(-1, 2)), 0
        return self.observation(), {}

    def step(self, action):
        move = 2 * int(action) - 1
        self.position += -move if self.np_random.random() < SLIP else move
        self.t += 1
        over = self.position >= GOAL
        return self.observation(), 10.0 if over else -1.0, over, False, {}

    def observation(self):
        return np.array([self.position, self.t], np.float32)


def walk(max_episode_steps: int = LIMIT) -> gymnasium.Env:
    """The reference."""
    return TimeLimit(Walk(), max_episode_steps)


def timeless() -> gymnasium.Env:
    """The reference without a time limit, nor a way to put one on it."""
    return Walk()


class Walks(VectorEnv):
    """The walk, N at once; ``fault`` names what is wrong with it, "" for nothing."""

    single_observation_space, single_action_space = OBSERVATION, spaces.Discrete(2)

    def __init__(self, num_envs, mode=NEXT, fault="", max_episode_steps=LIMIT):
        self.num_envs, self.mode, self.fault, self.limit = num_envs, mode, fault, max_episode_steps
        self.metadata = {"autoreset_mode": SAME if fault == "mode declared" else mode}
        if fault == "mode undeclared":
            self.metadata = {}
        if fault == "space":
            self.single_observation_space = spaces.Box(OBSERVATION.low, OBSERVATION.high + 1, (2,), np.float32)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        if fault == "batched space":
            self.observation_space = self.single_observation_space
        self.state = np.zeros((num_envs, 2), np.float32)
        self.generators = [np.random.default_rng() for _ in range(num_envs)]
        self.waiting = np.zeros(num_envs, bool)
        self.held = np.zeros((num_envs, 2), np.float32)
        self.number = next(made)

    # ------------------------------------------------------------------ one row

    def begin(self, row):
        rng = self.generators[0 if self.fault == "one generator" else row]
        high = 3 if self.fault == "starts" else 2
        self.state[row] = rng.integers(-1, high), 0

    def move(self, row, action):
        chance = self.generators[0 if self.fault == "one generator" else row].random()
        move = 2 * int(action) - 1
        self.state[row, 0] += -move if chance < SLIP else move
        if self.fault == "rule" and row >= 2 and self.state[row, 0] < -1:
            self.state[row, 0] += 1
        self.state[row, 1] += 1
        terminated = bool(self.state[row, 0] >= GOAL)
        limit = self.limit + (self.fault == "limit late") - (self.fault == "limit early")
        truncated = bool(self.state[row, 1] >= limit)
        reward = 10.0 if terminated else -1.0
        if self.fault == "reward in later rows" and row >= 2 and terminated:
            reward = 9.0
        if self.fault == "truncated is terminated":
            terminated, truncated = terminated or truncated, False
        elif self.fault == "one flag":
            truncated = truncated and not terminated
        elif self.fault == "terminated late" and terminated:
            terminated = bool(self.state[row, 0] > GOAL)
        return reward, terminated, truncated

    # ------------------------------------------------------------------ the batch

    def reset(self, *, seed=None, options=None):
        mask = (options or {}).get("reset_mask")
        mask = np.ones(self.num_envs, bool) if mask is None or self.fault == "mask ignored" else mask
        if self.fault == "mask moves others" and not mask.all():
            self.state[~mask, 1] += 1
        if isinstance(seed, int):
            seed = [seed + row for row in range(self.num_envs)]
        for row in range(self.num_envs):
            if seed is not None and seed[row] is not None:
                number = seed[row]
                if self.fault == "seed ignored":
                    number = 0
                elif self.fault == "rows alike":
                    number = seed[0]
                elif self.fault == "row seeds":
                    number = seed[0] + 10 * row
                elif self.fault == "another process":
                    number += os.getpid() << 20
                elif self.fault == "another instance":
                    number += self.number << 20
                elif self.fault == "depends on num_envs":
                    number += self.num_envs << 20
                self.generators[row] = np.random.default_rng(number)
            if mask[row]:
                self.begin(row)
        self.waiting &= ~mask
        return self.seen(), {}

    def step(self, actions):
        rewards, terminated, truncated = np.zeros(self.num_envs), *np.zeros((2, self.num_envs), bool)
        final, ended = np.full(self.num_envs, None, object), np.zeros(self.num_envs, bool)
        for row in range(self.num_envs):
            if self.waiting[row] and self.mode is NEXT:
                self.begin(row)
                rewards[row] = -1.0 if self.fault == "reward of the reset" else 0.0
                continue
            assert not self.waiting[row], "the episode is over"
            rewards[row], terminated[row], truncated[row] = self.move(row, actions[row])
            ended[row] = terminated[row] or truncated[row]
            if ended[row] and self.mode is SAME:
                final[row] = self.state[row].copy()
                self.begin(row)
                if self.fault == "terminal replaced":
                    final[row] = self.state[row].copy()
        if self.fault == "neighbours" and ended.any():
            self.generators[-1].random()
        if self.fault == "actions written":
            actions[0] = 0
        self.waiting = ended if self.mode is not SAME else self.waiting
        infos = {"final_obs": final, "_final_obs": ended} if ended.any() and self.mode is SAME else {}
        if self.fault == "no terminal observation":
            infos = {}
        if self.fault == "terminal replaced" and self.mode is not SAME:
            self.state[ended] = 0
        return self.seen(), rewards, terminated, truncated, infos

    def seen(self):
        if self.fault == "aliased":
            self.held[...] = self.state
            return self.held
        if self.fault == "state returned":
            return self.state
        return self.state.astype(np.float64 if self.fault == "float64" else np.float32)


def right(num_envs: int, max_episode_steps: int = LIMIT) -> VectorEnv:
    """Walks without a fault."""
    return Walks(num_envs, max_episode_steps=max_episode_steps)


def wrong(num_envs: int, max_episode_steps: int = LIMIT) -> VectorEnv:
    """Walks that report a time limit as a termination."""
    return Walks(num_envs, fault="truncated is terminated", max_episode_steps=max_episode_steps)


def walks(mode: AutoresetMode, fault: str = "") -> Any:
    """A factory of Walks."""

    def factory(num_envs, max_episode_steps=LIMIT):
        return Walks(num_envs, mode, fault, max_episode_steps)

    return factory


def synchronous(mode: AutoresetMode) -> Any:
    """A factory of Gymnasium's own vector form of the reference."""

    def factory(num_envs, max_episode_steps=LIMIT):
        return SyncVectorEnv([partial(walk, max_episode_steps)] * num_envs, autoreset_mode=mode)

    return factory


class Reseeded(gymnasium.Wrapper):
    """An environment whose seeds are others than its reference's."""

    def reset(self, *, seed=None, options=None):
        return self.env.reset(seed=None if seed is None else seed + 12345, options=options)


def lakes(success_rate: float = 1 / 3, reward: float = 1.0) -> Any:
    """A factory of FrozenLakes that have seeds of their own; of other rules where it is told so."""

    def one(max_episode_steps):
        rewards = (reward, 0, 0)
        lake = FrozenLakeEnv(map_name="4x4", success_rate=success_rate, reward_schedule=rewards)
        return Reseeded(TimeLimit(lake, max_episode_steps))

    def factory(num_envs, max_episode_steps=100):
        return SyncVectorEnv([partial(one, max_episode_steps)] * num_envs)

    return factory
