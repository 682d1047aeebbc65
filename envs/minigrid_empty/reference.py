"""MiniGrid-Empty as the reference: the original, unmodified, and how its state is read, written and seen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

try:
    import minigrid  # noqa: F401  (registers the original)
except ImportError as error:
    raise ImportError(
        f'minigrid_empty adopts an environment of minigrid: pip install "minigrid>=3.2,<4" ({error})'
    ) from error

import simulacrum

from . import ENVIRONMENT, MAX_STEPS, RANDOM_START, REACH, SIZE

MISSIONS = ["get to the green goal square"]


@dataclass
class State:
    x: int  # column of the agent, 1..SIZE-2, growing to the right
    y: int  # row of the agent, 1..SIZE-2, growing downward
    direction: int  # where it looks: 0 right, 1 down, 2 left, 3 up
    t: int = 0  # step counter, kept by the base class


def read(env: Any) -> dict[str, Any]:
    """The state of the original: the room never changes, and nothing in it can be carried."""
    x, y = env.agent_pos
    return {"x": int(x), "y": int(y), "direction": int(env.agent_dir), "t": env.step_count}


def write(env: Any, state: State) -> None:
    env.agent_pos, env.agent_dir, env.step_count = (state.x, state.y), state.direction, state.t


def translate(observation: dict[str, Any]) -> dict[str, Any]:
    """The mission as its index; image and direction as they are."""
    return {**observation, "mission": MISSIONS.index(observation["mission"])}


class MinigridEmptyReference(simulacrum.AdoptedEnv[State]):
    """MiniGrid-Empty of the package minigrid, unmodified.

    Goal: reach the green square in the opposite corner of an empty room, in as few steps as possible.
    Observation: image, uint8[7, 7, 3], the cells before the agent as (object, colour, state); direction, where the
    agent looks; mission, which of the missions it has (there is one).
    Actions: 0 turn left, 1 turn right, 2 forward; 3 pick up, 4 drop, 5 toggle and 6 done do nothing here.
    Termination: the episode ends when the agent steps onto the goal; after MAX_STEPS steps it is truncated.
    """

    environment = ENVIRONMENT
    adopts = simulacrum.Adoption(
        "MiniGrid-Empty-8x8-v0",
        state=(read, write),
        observation="gen_obs",
        translate=translate,
        options={
            "size": SIZE,
            "max_steps": MAX_STEPS,
            "agent_start_pos": None if RANDOM_START else (1, 1),
            "agent_view_size": 2 * REACH + 1,
        },
        rules=(
            *("reset", "_gen_grid", "put_obj", "step", "_reward", "gen_obs", "gen_obs_grid", "get_view_exts"),
            *(("place_agent", "place_obj", "_rand_int") if RANDOM_START else ()),
        ),
    )
