"""MiniGrid-DoorKey as the reference: the original, unmodified, and how its state is read, written and seen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

try:
    from minigrid.core.grid import Grid
    from minigrid.core.world_object import Door, Goal, Key
except ImportError as error:
    raise ImportError(
        f'minigrid_door_key adopts an environment of minigrid: pip install "minigrid>=3.2,<4" ({error})'
    ) from error

import simulacrum

from . import ENVIRONMENT, MAX_STEPS, REACH, SIZE

MISSIONS = ["use the key to open the door and then get to the goal"]
OPEN, CLOSED, LOCKED = range(3)  # what the door is, as the original's images count it
COLOUR = "yellow"  # of door and key


@dataclass
class State:
    x: int  # column of the agent, 1..SIZE-2, growing to the right
    y: int  # row of the agent, 1..SIZE-2, growing downward
    direction: int  # where it looks: 0 right, 1 down, 2 left, 3 up
    wall: int  # column of the wall between the rooms, and of the door
    door: int  # row of the door
    lock: int  # 0 open, 1 closed, 2 locked
    key_x: int  # column of the key; 0 while it is carried
    key_y: int  # row of the key; 0 while it is carried
    t: int = 0  # step counter, kept by the base class


def read(env: Any) -> dict[str, Any]:
    """The state of the original: where its agent, its door and its key are, and what the door is."""
    x, y = env.agent_pos
    things = {
        type(thing): (place, thing) for place, thing in enumerate(env.grid.grid) if isinstance(thing, (Door, Key))
    }
    (at, door), (key, _) = things[Door], things.get(Key, (0, None))
    return {
        "x": int(x),
        "y": int(y),
        "direction": int(env.agent_dir),
        "wall": at % SIZE,
        "door": at // SIZE,
        "lock": OPEN if door.is_open else LOCKED if door.is_locked else CLOSED,
        "key_x": key % SIZE,
        "key_y": key // SIZE,
        "t": env.step_count,
    }


def write(env: Any, state: State) -> None:
    """Put a state into the original: a grid as its reset builds it, with door and key as they are now."""
    grid = env.grid = Grid(SIZE, SIZE)
    grid.wall_rect(0, 0, SIZE, SIZE)
    grid.vert_wall(state.wall, 0)
    env.put_obj(Goal(), SIZE - 2, SIZE - 2)
    env.put_obj(Door(COLOUR, is_open=state.lock == OPEN, is_locked=state.lock == LOCKED), state.wall, state.door)
    key, env.carrying = Key(COLOUR), None
    if state.key_x:
        env.put_obj(key, state.key_x, state.key_y)
    else:
        env.carrying = key
    env.agent_pos, env.agent_dir, env.step_count = (state.x, state.y), state.direction, state.t


def translate(observation: dict[str, Any]) -> dict[str, Any]:
    """The mission as its index; image and direction as they are."""
    return {**observation, "mission": MISSIONS.index(observation["mission"])}


class MinigridDoorKeyReference(simulacrum.AdoptedEnv[State]):
    """MiniGrid-DoorKey of the package minigrid, unmodified.

    Goal: take the key, open the locked door in the wall between the two rooms, and reach the green square behind it.
    Observation: image, uint8[7, 7, 3], the cells before the agent that it can see, as (object, colour, state);
    direction, where the agent looks; mission, which of the missions it has (there is one).
    Actions: 0 turn left, 1 turn right, 2 forward, 3 pick up, 4 drop, 5 toggle (the door); 6 done does nothing.
    Termination: the episode ends when the agent steps onto the goal; after MAX_STEPS steps it is truncated.
    """

    environment = ENVIRONMENT
    adopts = simulacrum.Adoption(
        "MiniGrid-DoorKey-8x8-v0",
        state=(read, write),
        observation="gen_obs",
        translate=translate,
        options={"size": SIZE, "max_steps": MAX_STEPS, "agent_view_size": 2 * REACH + 1},
        rules=(
            *("reset", "_gen_grid", "place_agent", "place_obj", "put_obj", "_rand_int", "step", "_reward"),
            *("gen_obs", "gen_obs_grid", "get_view_exts", "Grid.slice", "Grid.rotate_left", "Grid.process_vis"),
            *("Grid.encode", "Grid.wall_rect", "Grid.vert_wall", "Grid.horz_wall", "WorldObj.encode"),
            *("Door.toggle", "Door.can_overlap", "Door.see_behind", "Door.encode"),
        ),
    )
