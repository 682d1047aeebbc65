"""A case is made as small as it gets: one transition, one row, the earliest divergence."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from edited import ENVS, SEEN, changed, method

from simulacrum.harness.case import Case
from simulacrum.harness.playback import FIRST, run
from simulacrum.harness.shrink import shrink
from simulacrum.spec import Package

SEEDS = np.arange(100, 109, dtype=np.uint64)
ACTIONS = np.random.default_rng(1).integers(0, 2, (60, 9))
RETURN = f"return {SEEN}"


def shrunk(package: Package, case: Case) -> Case:
    """The shrunk case, which shows a divergence in its last transition."""
    smaller = shrink(package, case)
    assert smaller is not None
    found = run(package, smaller)
    assert found is not None
    assert found.step == smaller.steps
    return smaller


def test_a_wrong_reward_takes_one_injected_transition_of_one_row(tmp_path: Path) -> None:
    package = changed(tmp_path / "package", "GOAL_REWARD)", "GOAL_REWARD - 1)")
    smaller = shrunk(package, Case(seeds=SEEDS, actions=ACTIONS, options={"resets": "masked"}))
    assert (smaller.rows, smaller.steps) == (1, 1)
    assert smaller.starts is not None
    assert smaller.starts["state.position"].tolist() == [4]


def test_a_wrong_first_state_takes_no_transition(tmp_path: Path) -> None:
    package = changed(tmp_path / "package", "- START_RANGE)  # spec, reset 1", "- 1)  # spec, reset 1")
    smaller = shrunk(package, Case(seeds=SEEDS, actions=ACTIONS))
    assert (smaller.rows, smaller.steps, smaller.starts) == (1, 0, None)
    assert smaller.seeds is not None
    assert smaller.seeds.tolist() == [100]


def test_a_wrong_observation_takes_no_transition(tmp_path: Path) -> None:
    late = f"return torch.where(state.t.unsqueeze(-1) == 7, 0.5, 1.0) * ({SEEN})"
    smaller = shrunk(changed(tmp_path / "package", RETURN, late), Case(seeds=SEEDS, actions=ACTIONS))
    assert (smaller.rows, smaller.steps) == (1, 1)
    assert smaller.starts is not None
    assert smaller.starts["clock.t"].tolist() == [6]


def test_a_later_episode_is_injected(tmp_path: Path) -> None:
    reset = method(
        "    def _begin_all(self):\n"
        "        begun = super()._begin_all()\n"
        "        return begun._replace(t=begun.t + (begun.episode > 3))"
    )
    smaller = shrunk(changed(tmp_path / "package", *reset), Case(seeds=SEEDS, resets=6))
    assert (smaller.rows, smaller.steps, smaller.resets) == (1, 0, 1)
    assert smaller.starts is not None
    assert smaller.starts["clock.episode"].tolist() == [3]


@pytest.mark.parametrize("least", [2, 5])
def test_a_path_for_many_rows_keeps_the_fewest(tmp_path: Path, least: int) -> None:
    package = changed(tmp_path / "package", RETURN, f"return ({SEEN}) * (0.5 if state.t.shape[0] >= {least} else 1)")
    smaller = shrunk(package, Case(seeds=SEEDS, actions=ACTIONS, watched=np.array([0, 7])))
    assert (smaller.rows, smaller.steps, len(smaller.watched_rows)) == (least, 0, 1)


def test_a_place_in_the_batch_keeps_the_rows_before_it(tmp_path: Path) -> None:
    body = f"out = {SEEN}\n        out[3:4] = 7\n        return out"
    smaller = shrunk(changed(tmp_path / "package", RETURN, body), Case(seeds=SEEDS))
    assert (smaller.rows, smaller.watched_rows.tolist()) == (4, [3])


def test_a_reset_of_some_rows_keeps_its_mask(tmp_path: Path) -> None:
    package = changed(
        tmp_path / "package",
        *method(
            "    def _renew(self, carry, seen, mask):\n        return super()._renew(carry, seen, mask | mask.any())"
        ),
    )
    masks = ((3, np.arange(9) == 4),)
    smaller = shrunk(package, Case(seeds=SEEDS, actions=np.zeros_like(ACTIONS[:3]), masks=masks))
    assert (smaller.rows, smaller.steps) == (2, 0)
    assert sorted(smaller.masks[0][1].tolist()) == [False, True]


HIDDEN = method(  # what the state does not show: the reward of one step of an environment differs
    "    def _result(self, carry, outcome):\n"
    "        self.__dict__['seen'] = self.__dict__.get('seen', 0) + 1\n"
    "        wrong = self.__dict__['seen'] == STEPS\n"
    "        return super()._result(carry, outcome._replace(reward=outcome.reward + wrong))"
)


@pytest.mark.parametrize(("wrong", "taken"), [("== 2", 2), (">= 3", 3), (">= 5", 5)])
def test_what_the_state_does_not_show_takes_the_last_steps_of_the_row(tmp_path: Path, wrong: str, taken: int) -> None:
    old, new = HIDDEN
    package = changed(tmp_path / "package", old, new.replace("== STEPS", wrong))
    smaller = shrunk(package, Case(seeds=SEEDS, actions=np.zeros_like(ACTIONS)))
    assert (smaller.rows, smaller.steps) == (1, taken)


def test_what_only_the_whole_episode_shows_begins_with_it(tmp_path: Path) -> None:
    old, new = HIDDEN
    package = changed(tmp_path / "package", old, new.replace("STEPS", "19"))
    smaller = shrunk(package, Case(seeds=SEEDS, actions=np.zeros_like(ACTIONS)))
    assert (smaller.rows, smaller.steps) == (1, 19)
    assert smaller.seeds is not None


@pytest.mark.parametrize(("file", "away"), [("reference.py", "position != L"), ("fast.py", "(position != L).all()")])
def test_what_raises_is_shrunk_to_the_row_that_makes_it_raise(tmp_path: Path, file: str, away: str) -> None:
    old = "at_goal = position == L"
    package = changed(tmp_path / "package", old, f"1 // int({away})\n        {old}", file=file)
    smaller = shrunk(package, Case(seeds=SEEDS, actions=ACTIONS, watched=np.array([0, 3, 5, 6, 7, 8])))
    assert (smaller.rows, smaller.steps) == (1, 1)
    assert smaller.starts is not None
    assert smaller.starts["state.position"].tolist() == [4]


def test_a_buffer_that_is_written_again_takes_few_steps_of_few_rows(tmp_path: Path) -> None:
    body = (
        "    def _result(self, carry, outcome):\n"
        "        kept = self.__dict__.setdefault('kept', torch.zeros_like(outcome.reward)).copy_(outcome.reward)\n"
        "        return super()._result(carry, outcome._replace(reward=kept))"
    )
    smaller = shrunk(changed(tmp_path / "package", *method(body)), Case(seeds=SEEDS, actions=np.ones_like(ACTIONS)))
    assert (smaller.rows, smaller.steps) == (1, 2)


def test_a_form_of_its_own_is_kept(tmp_path: Path) -> None:
    body = (
        "    def plain_step(self, action, waiting=None):\n"
        "        out = super().plain_step(action, waiting)\n"
        "        return out._replace(reward=out.reward + 1)"
    )
    package = changed(tmp_path / "package", *method(body))
    smaller = shrunk(package, Case(seeds=SEEDS, actions=ACTIONS, form="VectorEnv Disabled"))
    assert (smaller.rows, smaller.steps, smaller.form) == (1, 1, "VectorEnv Disabled")


def test_a_form_that_has_no_part_in_it_is_dropped(tmp_path: Path) -> None:
    package = changed(tmp_path / "package", "GOAL_REWARD)", "GOAL_REWARD - 1)")
    smaller = shrunk(package, Case(seeds=SEEDS, actions=ACTIONS, form="TransformedEnv"))
    assert (smaller.rows, smaller.steps, smaller.form) == (1, 1, "bare")


def test_a_law_is_shrunk_to_itself(tmp_path: Path) -> None:
    package = changed(tmp_path / "package", "(state.position >= -L)", "(state.position > -L)", file="checks.py")
    smaller = shrunk(package, Case(seeds=SEEDS, actions=np.zeros_like(ACTIONS), laws=True))
    assert (smaller.rows, smaller.steps, smaller.laws) == (1, 1, True)


def test_the_smallest_case_stays_and_nothing_differs_in_the_examples(tmp_path: Path) -> None:
    package = changed(tmp_path / "package", "GOAL_REWARD)", "GOAL_REWARD - 1)")
    smaller = shrunk(package, Case(seeds=SEEDS, actions=ACTIONS))
    assert shrunk(package, smaller).as_json() == smaller.as_json()
    assert shrink(Package.read(ENVS / "toywalk"), Case(seeds=SEEDS, actions=ACTIONS)) is None


def test_without_time_the_case_stays_as_it_is(tmp_path: Path) -> None:
    package = changed(tmp_path / "package", "GOAL_REWARD)", "GOAL_REWARD - 1)")
    assert shrink(package, Case(seeds=SEEDS, actions=ACTIONS), seconds=0.0) is None


def test_an_injected_state_is_shrunk_to_its_row(tmp_path: Path) -> None:
    package = changed(
        tmp_path / "package", RETURN, f"return torch.where(state.position.unsqueeze(-1) == 3, 0.5, 1.0) * ({SEEN})"
    )
    starts = {
        "state.position": np.array([0, 3, 1], np.int32),
        "clock.seed": np.array([1, 2, 3], np.uint64),
        "clock.episode": np.array([0, 0, 0]),
        "clock.t": np.array([5, 6, 7]),
    }
    smaller = shrunk(package, Case(starts=starts, actions=ACTIONS[:1, :3]))
    found = run(package, smaller)
    assert found is not None
    assert (smaller.rows, smaller.steps, found.when) == (1, 0, FIRST)
