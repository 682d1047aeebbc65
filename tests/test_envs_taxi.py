"""taxi beside Gymnasium's Taxi-v4, made by `gymnasium.make` with its wrappers and keyed by hand; starts; pictures."""

from __future__ import annotations

import dataclasses
import importlib
from types import SimpleNamespace

import gymnasium
import numpy as np
import pytest
import torch

from simulacrum.originals import KeyedGenerator
from simulacrum.rng import Draw
from simulacrum.rng.fixed import FixedRows
from simulacrum.spec import Package
from tests.environments import ENVS

TAXI = Package.read(ENVS / "taxi")
OPTIONS = {
    "dry": {},
    "rainy": {"is_rainy": True},
    "fickle": {"fickle_passenger": True},
    "both": {"is_rainy": True, "fickle_passenger": True},
}
ROWS, STEPS = 4, 450  # over the step cap twice
RESET, STEP = (0, 1), (2, 3)  # the slots of each phase, of which each call takes the next


class Keyed:
    """An original with its wrappers, whose draws are those of an instance's seed, by episode and step."""

    def __init__(self, config: str, seed: int) -> None:
        self.env = gymnasium.make("Taxi-v4", **OPTIONS[config])
        self.seed, self.episode, self.t = seed, -1, 0
        self.generator = KeyedGenerator()
        self.env.unwrapped.np_random = self.generator

    def reset(self):
        self.episode, self.t = self.episode + 1, 0
        with self.generator.drawing(Draw.at(self.seed, self.episode, 0), RESET, "reset"):
            return self.env.reset()

    def step(self, action):
        with self.generator.drawing(Draw.at(self.seed, self.episode, self.t), STEP, "step"):
            found = self.env.step(action)
        self.t += 1
        return found


def driving(state: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Actions that get somewhere: those of the scripted policy for the most part, else any."""
    row, column, passenger, destination = state // 100, state // 20 % 5, state // 4 % 5, state % 4
    view = SimpleNamespace(row=row, column=column, passenger=passenger, destination=destination, t=STEPS)
    chosen = TAXI.checks.late_for_red(view, state)
    return np.where(rng.random(len(state)) < 0.7, chosen, rng.integers(0, 6, len(state)))


@pytest.mark.parametrize(
    ("config", "form"), [*((config, "tensor") for config in OPTIONS), ("dry", "kernel"), ("both", "kernel")]
)
def test_long_rollouts_are_those_of_the_original_with_its_own_wrappers(config, form):
    rng = np.random.default_rng(len(config))
    env = TAXI.configured(config).forms[form](batch_size=[ROWS], seed=7)
    td = env.reset()
    originals = [Keyed(config, int(seed)) for seed in env.instance_seeds.numpy().view(np.uint64)]
    for row, (seen, info) in enumerate(one.reset() for one in originals):
        assert (int(td["observation"][row]), td["action_mask"][row].tolist()) == (seen, info["action_mask"].tolist())
    ends = {"terminated": 0, "truncated": 0}
    for step in range(STEPS):
        seen = td["observation"].numpy()
        actions = driving(seen, rng) if step >= STEPS // 2 else rng.integers(0, 6, ROWS)
        done, td = env.step_and_maybe_reset(td.set("action", torch.from_numpy(actions)))
        ended = {name: done["next", name].numpy() for name in ("observation", "reward", "terminated", "truncated")}
        masks, now = done["next", "action_mask"].numpy(), td["observation"].numpy()
        for row, one in enumerate(originals):
            seen, reward, terminated, truncated, info = one.step(int(actions[row]))
            shown = {name: values[row].item() for name, values in ended.items()}
            assert shown == {"observation": seen, "reward": reward, "terminated": terminated, "truncated": truncated}
            assert masks[row].tolist() == info["action_mask"].tolist()
            ends = {name: times + shown[name] for name, times in ends.items()}
            if terminated or truncated:
                seen, info = one.reset()
            assert int(now[row]) == seen
    assert min(ends.values()) > 0, ends


@pytest.mark.parametrize("config", list(OPTIONS))
def test_a_start_is_what_the_original_makes_of_the_same_number_also_at_the_end_of_each_interval(config):
    original = gymnasium.make("Taxi-v4", **OPTIONS[config]).unwrapped
    sums = np.cumsum(original.initial_state_distrib)
    cuts = np.unique(sums)
    numbers = np.concatenate([[0.0], cuts, cuts - 2.0**-53, [1 - 2.0**-53]])
    numbers = numbers[(numbers >= 0) & (numbers < 1)]
    env = TAXI.configured(config).fast(batch_size=[1], seed=0)
    state = env.initial(FixedRows({0: numbers, 1: np.full(len(numbers), 0.5)}, rows=len(numbers)))
    expected = [int(np.argmax(sums > number)) for number in numbers]
    assert env.observation(state).tolist() == expected
    assert expected[-1] == 0  # which is no start: the last sum is below 1


def test_nobody_is_fickle_in_other_configurations():
    for config in ("dry", "rainy"):
        env = TAXI.configured(config).fast(batch_size=[500], seed=1, expose_state=True)
        assert not env.reset()["state", "fickle_step"].any()
    env = TAXI.configured("fickle").fast(batch_size=[500], seed=1, expose_state=True)
    assert 0 < int(env.reset()["state", "fickle_step"].sum()) < 500


CITY = """\
+--------------+
|R :  |  :  :G |
|  :  |  :  :  |
|  :  :  :t :  |
|  |  :  |  :  |
|Y*|  :  |B :  |
+--------------+
passenger on yellow, to green, may think again  step 17/200"""


def test_the_pictures_show_the_taxi_the_passenger_and_where_they_want_to_go():
    render = importlib.import_module(f"{TAXI.module_name}.render")
    state = TAXI.reference._state_class(row=2, column=3, passenger=2, destination=1, fickle_step=True, t=17)
    assert render.render_text(state) == CITY
    frames = [render.render_rgb(state)]
    for name, value in {"row": 3, "passenger": 4, "destination": 0, "t": 150}.items():
        frames.append(render.render_rgb(dataclasses.replace(state, **{name: value})))
    assert len({frame.tobytes() for frame in frames}) == len(frames)
