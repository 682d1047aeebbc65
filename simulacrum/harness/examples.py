"""Runs the worked examples of ``spec.md`` on both implementations: an oracle from outside the pair."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from .. import bits
from ..reference import state_of
from ..rng.fixed import FixedDraw
from ..spec import Example, Package
from .context import Context

Values = dict[str, Any]
State = Mapping[str, Any]


def run_examples(context: Context) -> None:
    """Every example on both sides: draws, next state, reward, flags and observation, by dtype and bits."""
    package = context.package
    spec, cap = package.spec, package.environment.max_episode_steps
    for side in (_ReferenceSide(package), _FastSide(package)):
        for example in spec.examples:
            draws = _numbered(package, example.draws)
            where = f"example {example.name}, {side.name}"
            if not _legal(context, where, example):
                continue
            got, asked = side.transition(example.state, example.action, draws)
            _draws(context, where, package, asked, draws)
            expected = {
                **{f"state {name}": value for name, value in example.next_state.items() if name != "t"},
                "reward": example.reward,
                "terminated": np.bool_(example.terminated),
                **_seen(example.observation),
            }
            _compare(context, where, expected, got)
            truncated = cap is not None and int(example.next_state["t"]) >= cap
            if truncated != example.truncated:
                context.problem(f"{where}: truncated is {example.truncated}, the step cap {cap} says {truncated}")
        for first in spec.reset_examples:
            draws = _numbered(package, first.draws)
            where = f"reset example {first.name!r}, {side.name}"
            got, asked = side.initial(draws)
            _draws(context, where, package, asked, draws)
            expected = {
                **{f"state {name}": value for name, value in first.state.items() if name != "t"},
                **_seen(first.observation),
            }
            _compare(context, where, expected, got)


def _legal(context: Context, where: str, example: Example) -> bool:
    """Whether an example begins inside the bounds of the spec's fields, with an element of the action space."""
    before = len(context.findings)
    space = context.package.environment.action_space
    action = example.action.item() if not space.shape and example.action.dtype.kind in "iu" else example.action
    if not space.contains(action):
        context.problem(f"{where}: the action {action} is no element of {space}")
    for name, field in context.package.spec.fields.items():
        value = example.state[name]
        if not ((value >= field.low) & (value <= field.high)).all():
            context.problem(f"{where}: {name} = {value.tolist()} is outside [{field.low}, {field.high}]")
    return len(context.findings) == before


def _numbered(package: Package, draws: Mapping[str, Any]) -> dict[int, Any]:
    return {package.spec.slots[name].number: value for name, value in draws.items()}


def _seen(observation: Any) -> Values:
    if observation is None:
        return {}
    if isinstance(observation, dict):
        return {f"observation {key}": value for key, value in observation.items()}
    return {"observation": observation}


def _draws(context: Context, where: str, package: Package, asked: list[Any], draws: dict[int, Any]) -> None:
    """The draws that were made are those of the slot table: distribution, arguments, and how often."""
    stated = {slot.number: slot for slot in package.spec.slots.values()}
    made: dict[int, int] = {}
    for number, kind, count, arguments in asked:
        slot = stated[number]
        made[number] = max(made.get(number, 0), count)
        if kind != slot.distribution or (slot.arguments and list(arguments) != list(slot.arguments)):
            context.problem(
                f"{where}: slot {slot.name} is drawn as {kind}{arguments}, "
                f"spec.md says {slot.distribution}{slot.arguments}"
            )
    for number in draws:
        slot = stated[number]
        if made.get(number, 0) != slot.count and slot.distribution != "permutation":
            context.problem(
                f"{where}: slot {slot.name} is drawn {made.get(number, 0)} times, spec.md says {slot.count}"
            )


def _compare(context: Context, where: str, expected: Values, got: Values) -> None:
    for name, value in expected.items():
        context.count("example values compared")
        one, other = np.asarray(value), np.asarray(got[name])
        try:
            other = bits.exactly(other, one.dtype)
        except ValueError as error:
            context.problem(f"{where}: {name}: {error}")
            continue
        if not bits.same(one, other):
            texts = bits.pair_shown(one, other)
            context.problem(f"{where}: {name}: spec.md says {texts[0]}, got {texts[1]}")


class _ReferenceSide:
    name = "reference.py"

    def __init__(self, package: Package) -> None:
        self.package, self.env = package, package.reference()
        self.env.reset(seed=0)

    def transition(self, state: State, action: np.ndarray, draws: dict[int, Any]) -> tuple[Values, list[Any]]:
        env = self.env
        draw = FixedDraw(draws, _plain)
        env.set_state(
            {
                "state": {name: value for name, value in state.items() if name != "t"},
                "clock": {"seed": 0, "episode": 0, "t": int(state["t"])},
            }
        )
        after, reward, terminated = env.transition(state_of(env), env._element(action), draw)
        after.t = int(state["t"]) + 1
        return {**self._view(after), "reward": env._reward_type(reward), "terminated": terminated}, draw.asked

    def initial(self, draws: dict[int, Any]) -> tuple[Values, list[Any]]:
        draw = FixedDraw(draws, _plain)
        state = self.env.initial(draw)
        state.t = 0
        return self._view(state), draw.asked

    def _view(self, state: Any) -> Values:
        values = {f"state {name}": getattr(state, name) for name in self.env._field_names}
        return {**values, **_seen(self.env.observation(state))}


class _FastSide:
    name = "fast.py"

    def __init__(self, package: Package) -> None:
        self.package, self.env = package, package.fast(batch_size=[1], seed=0)

    def transition(self, state: State, action: np.ndarray, draws: dict[int, Any]) -> tuple[Values, list[Any]]:
        draw = FixedDraw(draws, _row)
        fields = {name: torch.from_numpy(value[None].copy()) for name, value in state.items() if name != "t"}
        core, t = self.env._core, torch.tensor([int(state["t"])])
        after, reward, terminated = self.env.transition(
            core.state(fields, t), torch.from_numpy(action[None].copy()), draw
        )
        values = self._view({name: getattr(after, name) for name in self.env._field_names}, t + 1)
        return {**values, "reward": reward[0].numpy(), "terminated": terminated[0].numpy()}, draw.asked

    def initial(self, draws: dict[int, Any]) -> tuple[Values, list[Any]]:
        draw = FixedDraw(draws, _row)
        state = self.env.initial(draw)
        fields = {name: getattr(state, name) for name in self.env._field_names}
        return self._view(fields, torch.zeros(1, dtype=torch.int64)), draw.asked

    def _view(self, fields: Values, t: torch.Tensor) -> Values:
        values = {f"state {name}": value[0].numpy() for name, value in fields.items()}
        seen = self.env.observation(self.env._core.state(fields, t))
        seen = {key: value[0].numpy() for key, value in seen.items()} if isinstance(seen, dict) else seen[0].numpy()
        return {**values, **_seen(seen)}


def _plain(value: Any, kind: str) -> Any:
    """An outcome as the scalar or the array that a plain draw gives."""
    if isinstance(value, list):
        return np.array(value, {"uniform": np.float32, "bernoulli": np.bool_, "bits": np.int64}.get(kind, np.int32))
    return np.float32(value) if kind == "uniform" else value


def _row(value: Any, kind: str) -> torch.Tensor:
    """An outcome as the tensor [1, ...] that a batched draw gives."""
    dtypes = {"uniform": torch.float32, "bernoulli": torch.bool, "bits": torch.int64}
    return torch.tensor([value], dtype=dtypes.get(kind, torch.int32))
