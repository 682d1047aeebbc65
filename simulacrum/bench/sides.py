"""What is timed: the reference, the fast forms, the yardstick, and a copy of memory."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import gymnasium
import torch
from gymnasium import spaces
from torch import Tensor

from ..errors import SimulacrumError
from ..fast import FastEnv
from ..spec import Package
from .measure import Side

FORMS: dict[str, tuple[str, dict[str, Any]]] = {  # as tables call them: the form of the package, and how it is made
    "eager": ("tensor", {}),
    "compiled": ("tensor", {"compile": True}),
    "kernel": ("kernel", {}),
}
ACTIONS = 8  # sets of actions, made beforehand and taken by turns
REFERENCE_ACTIONS = 1024
YARDSTICK_ROWS = 8192
YARDSTICK = (
    f'gymnasium.make_vec("CartPole-v1", num_envs={YARDSTICK_ROWS}, vectorization_mode="vector_entry_point"), '
    "actions made beforehand"
)
COPY_BYTES = 1 << 28  # of the array that is copied: far more than caches hold
UNUSABLE = (SimulacrumError, RuntimeError, MemoryError)  # what a form raises that this machine cannot run: no compiler


def forms_of(package: Package) -> list[str]:
    """The forms that a package has, by the names of :data:`FORMS`."""
    return [name for name, (form, _) in FORMS.items() if form in package.forms]


def make(package: Package, form: str, rows: int, seed: int = 0, **options: Any) -> FastEnv[Any]:
    """A fast environment ``[rows]`` in one of the :data:`FORMS`, without the gate: it is measured, not used."""
    name, own = FORMS[form]
    env: FastEnv[Any] = package.forms[name](batch_size=[rows], seed=seed, **own, **options)
    return env


def actions_for(env: FastEnv[Any], seed: int = 0) -> list[Tensor]:
    """Random actions for :data:`ACTIONS` steps of all rows; torch's own generator stays as it was."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return [env.full_action_spec.rand()[env.action_keys[0]] for _ in range(ACTIONS)]


def stagger(env: FastEnv[Any]) -> None:
    """Put the rows of an environment, reset before, at all times of their episodes alike.

    From a reset, rows that reach the step cap do so all at once, and most rounds would see no reset at all. So every
    step resets its share of rows, as it does late in a long run.
    """
    cap = env.environment.max_episode_steps
    if cap is not None:
        state = env.get_state()
        t = torch.arange(env.batch_size.numel(), device=env.device) % cap
        env.reset(state.set(("clock", "t"), t.reshape(env.batch_size)), set_state=True)


def stepping(env: FastEnv[Any], seed: int = 0) -> Side:
    """The fast side as its users step it: ``step_and_maybe_reset`` with TensorDict in and out, resets included."""
    actions, key, td = actions_for(env, seed), env.action_keys[0], env.reset()
    stagger(env)

    def run(steps: int) -> None:
        nonlocal td
        for step in range(steps):
            td.set(key, actions[step % ACTIONS])
            _, td = env.step_and_maybe_reset(td)

    return Side(run, env.batch_size.numel() * (env.environment.agents or 1))  # a step of an agent is a step


def reference(package: Package, seed: int = 0) -> Side:
    """One instance of the reference through Gymnasium's API, resets included."""
    env, space = package.reference(), copy.deepcopy(package.environment.action_space)
    space.seed(seed)
    actions = [space.sample() for _ in range(REFERENCE_ACTIONS)]
    if isinstance(space, spaces.Discrete):
        actions = [int(action) for action in actions]  # the reference reckons faster with these
    env.reset(seed=seed)

    def run(steps: int) -> None:
        for step in range(steps):
            _, _, terminated, truncated, _ = env.step(actions[step % REFERENCE_ACTIONS])
            if terminated or truncated:
                env.reset()

    return Side(run, package.environment.agents or 1)


def yardstick(seed: int = 0) -> Side:
    """Gymnasium's own vectorised CartPole (:data:`YARDSTICK`): its rate tells one machine from another."""
    env = gymnasium.make_vec("CartPole-v1", num_envs=YARDSTICK_ROWS, vectorization_mode="vector_entry_point")
    env.action_space.seed(seed)
    actions = [env.action_space.sample() for _ in range(ACTIONS)]
    env.reset(seed=seed)

    def run(steps: int) -> None:
        for step in range(steps):
            env.step(actions[step % ACTIONS])

    return Side(run, YARDSTICK_ROWS, warm=20)


def copying(size: int = COPY_BYTES) -> Side:
    """A copy of an array of ``size`` bytes by torch's threads; a step makes the bytes that were read and written."""
    source = torch.ones(size, dtype=torch.uint8)
    target = torch.zeros_like(source)

    def run(steps: int) -> None:
        for _ in range(steps):
            target.copy_(source)

    return Side(run, 2 * size, warm=2)


def step_bytes(env: FastEnv[Any]) -> int:
    """The bytes that a row's step has to read and to write, whatever else an implementation moves.

    Read and written: the state's fields and ``t``; read: the episode's key and the action; written: what
    ``step_and_maybe_reset`` gives, reward, flags and observation of the step, and flags and observation with which the
    next one begins. An environment that moves other bytes by design says those of all rows in ``step_bytes``. It must
    have been reset.
    """
    rows = env.batch_size.numel() * (env.environment.agents or 1)  # a step is one of an agent
    own = getattr(env, "step_bytes", None)
    if own is not None:
        return int(own) // rows

    def size(part: Any) -> int:
        leaves = part.values(include_nested=True, leaves_only=True)
        return sum(leaf.shape.numel() * leaf.dtype.itemsize for leaf in leaves) // rows

    state = env.get_state()
    key, t = 8, state["clock", "t"].dtype.itemsize
    seen = size(env.full_observation_spec) + size(env.full_done_spec)
    return 2 * (size(state["state"]) + t) + key + size(env.full_action_spec) + 2 * seen + size(env.full_reward_spec)


@contextmanager
def threads(count: int) -> Iterator[None]:
    """Another number of torch threads."""
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)
