"""Trajectories as JSON, in the form of a package's ``schema.json`` (``$defs/trajectory``)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..spec import Package
from .records import OUTCOME, Record, observation_of, plain

if TYPE_CHECKING:
    from .sides import Step


def trajectory(
    package: Package, identifier: str, steps: Sequence[Step], row: int, seed: int, episode: int
) -> dict[str, Any]:
    """The steps of one row that belong to one episode of one seed."""

    def mine(record: Record) -> bool:
        return bool(record["clock.seed"][row] == seed and record["clock.episode"][row] == episode)

    own = [step for step in steps if mine(step.before)]
    content: dict[str, Any] = {"id": identifier, "seed": seed, "episode": episode, "first": {}, "steps": []}
    if own:
        content["first"] = view(package, own[0].before, row)
    for step in own:
        content["steps"].append(
            {
                "t": int(step.before["clock.t"][row]),
                "action": plain(step.action[row]),
                **{name: plain(step.ended[name][row]) for name in OUTCOME if name in step.ended},
                **view(package, step.ended, row),
            }
        )
    return content


def view(package: Package, record: Record, row: int) -> dict[str, Any]:
    """State (with ``t``) and observation of one row."""
    one = {name: value[row] for name, value in record.items()}
    state = {name[6:]: plain(value) for name, value in one.items() if name.startswith("state.")}
    return {"state": {**state, "t": int(one["clock.t"])}, "observation": plain(observation_of(package, one))}
