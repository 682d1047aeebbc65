"""Runs the worked examples of ``spec.md`` on both implementations: an oracle from outside the pair."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Protocol

import numpy as np
import torch

from .. import bits
from ..reference import state_of
from ..rng.fixed import FixedDraw, tensor
from ..spec import Example, Package, ResetExample
from ..spec.observations import named
from .context import Context
from .injection import SingleFast
from .lockstep import FastRows
from .playback import FORMS
from .records import Record
from .seeded import seeds_with

Values = dict[str, Any]
State = Mapping[str, Any]
Asked = list[Any] | None


class NoSeed(Exception):
    """No seed was found that has the draws of an example."""


class _Side(Protocol):
    """One implementation: the values by name of a transition or a first state, and the draws that were asked for; None
    where they are not seen."""

    name: str

    def transition(self, state: State, action: np.ndarray, draws: dict[int, Any]) -> tuple[Values, Asked]: ...

    def initial(self, draws: dict[int, Any]) -> tuple[Values, Asked]: ...


Run = Callable[[Context, _Side, str], None]


def run_examples(context: Context) -> None:
    """Every example on both sides: draws, next state, reward, flags and observation, by dtype and bits.

    Each difference is a finding of its own, and so is an exception, so that one example hides no other.
    """
    fast = _FastSide(context.package) if context.form == "tensor" else _SeededSide(context)
    _run(context, _ReferenceSide(context.package), fast)


def run_seeded_examples(context: Context) -> None:
    """The same on a form that draws out of sight alone: those examples whose draws a seed has."""
    _run(context, _SeededSide(context))


def _run(context: Context, *sides: _Side) -> None:
    package = context.package
    runs: list[tuple[str, int, Run]] = [
        *((f"example {one.name}", 1, partial(_transition, example=one)) for one in package.spec.examples),
        *((f"reset example {one.name!r}", 0, partial(_initial, first=one)) for one in package.spec.reset_examples),
    ]
    for side in sides:
        for name, steps, run in runs:
            where, before = f"{name}, {side.name}", len(context.findings)
            try:
                run(context, side, where)
            except NoSeed:
                context.note(f"{where}: not run, for no seed that was tried has these draws")
                continue
            except Exception as error:
                context.problem(f"{where}: {type(error).__name__}: {error}")
            context.findings[before:] = [replace(one, steps=steps, rows=1) for one in context.findings[before:]]
            context.count("examples run")


def _transition(context: Context, side: _Side, where: str, example: Example) -> None:
    if not _legal(context, where, example):
        return
    draws = _numbered(context.package, example.draws)
    got, asked = side.transition(example.state, example.action, draws)
    _draws(context, where, asked, draws, side)
    expected = {
        **{f"state {name}": value for name, value in example.next_state.items() if name != "t"},
        "reward": example.reward,
        "terminated": np.bool_(example.terminated),
        **({} if example.died is None else {"died": example.died}),
        **_seen(example.observation),
    }
    _compare(context, where, expected, got)
    cap = context.package.environment.max_episode_steps
    truncated = cap is not None and int(example.next_state["t"]) >= cap
    if truncated != example.truncated:
        context.problem(f"{where}: truncated is {example.truncated}, the step cap {cap} says {truncated}")


def _initial(context: Context, side: _Side, where: str, first: ResetExample) -> None:
    draws = _numbered(context.package, first.draws)
    got, asked = side.initial(draws)
    _draws(context, where, asked, draws, side)
    state = {f"state {name}": value for name, value in first.state.items() if name != "t"}
    _compare(context, where, {**state, **_seen(first.observation)}, got)


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
    return {name.replace(".", " "): value for name, value in named(observation).items()}


def _draws(context: Context, where: str, asked: Asked, draws: dict[int, Any], side: _Side) -> None:
    """The draws that were made are those of the slot table: distribution, arguments, and how often.

    An adopted original may draw what no rule needs, as a number that chooses among one, and the fast side need not; or
    draw under a condition, where tensors draw each time."""
    if asked is None:
        return
    adopted = context.package.spec.adopts is not None
    stated = {slot.number: slot for slot in context.package.spec.slots.values()}
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
        slot, times = stated[number], made.get(number, 0)
        count = np.size(draws[number]) if slot.at_most else slot.count  # what the example states
        if adopted and slot.at_most and (times < count or side.name != "reference.py"):
            continue
        if times != count and slot.distribution != "permutation":
            context.problem(f"{where}: slot {slot.name} is drawn {times} times, spec.md says {count}")


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

    def transition(self, state: State, action: np.ndarray, draws: dict[int, Any]) -> tuple[Values, Asked]:
        env = self.env
        draw = FixedDraw(draws)
        env.set_state(
            {
                "state": {name: value for name, value in state.items() if name != "t"},
                "clock": {"seed": 0, "episode": 0, "t": int(state["t"])},
            }
        )
        after, reward, terminated = env.transition(state_of(env), env._element(action), draw)
        after.t = int(state["t"]) + 1
        values = self._view(after)
        if self.package.environment.agents is not None:
            return {**values, "reward": reward, "terminated": False, "died": terminated}, draw.asked
        return {**values, "reward": env._reward_type(reward), "terminated": terminated}, draw.asked

    def initial(self, draws: dict[int, Any]) -> tuple[Values, Asked]:
        draw = FixedDraw(draws)
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

    def transition(self, state: State, action: np.ndarray, draws: dict[int, Any]) -> tuple[Values, Asked]:
        draw = FixedDraw(self._beyond(draws), _row)
        fields = {name: torch.from_numpy(value[None].copy()) for name, value in state.items() if name != "t"}
        core, t = self.env._core, torch.tensor([int(state["t"])])
        after, reward, terminated = self.env.transition(
            core.state(fields, t), torch.from_numpy(action[None].copy()), draw
        )
        values = self._view({name: getattr(after, name) for name in self.env._field_names}, t + 1)
        return {**values, "reward": reward[0].numpy(), "terminated": terminated[0].numpy()}, draw.asked

    def initial(self, draws: dict[int, Any]) -> tuple[Values, Asked]:
        draw = FixedDraw(self._beyond(draws), _row)
        state = self.env.initial(draw)
        fields = {name: getattr(state, name) for name in self.env._field_names}
        return self._view(fields, torch.zeros(1, dtype=torch.int64)), draw.asked

    def _beyond(self, draws: dict[int, Any]) -> dict[int, Any]:
        """The stated outcomes; beside an adopted original, of a slot that is drawn at most so often, any others behind
        them, which a tensor form draws for all rows and masks."""
        if self.package.spec.adopts is None:
            return draws
        filled = dict(draws)
        for slot in self.package.spec.slots.values():
            if slot.at_most and slot.distribution != "permutation":
                stated = np.ravel(draws.get(slot.number, [])).tolist()
                filled[slot.number] = stated + [0] * (slot.count - len(stated))
        return filled

    def _view(self, fields: Values, t: torch.Tensor) -> Values:
        values = {f"state {name}": value[0].numpy() for name, value in fields.items()}
        seen = _seen(self.env.observation(self.env._core.state(fields, t)))
        return {**values, **{name: value[0].numpy() for name, value in seen.items()}}


class _SeededSide:
    """A form that draws out of sight: with a seed that has the draws of the example."""

    name = FORMS["kernel"]

    def __init__(self, context: Context) -> None:
        self.context, self.package = context, context.package

    def transition(self, state: State, action: np.ndarray, draws: dict[int, Any]) -> tuple[Values, Asked]:
        seed = self._seed("step", int(state["t"]), draws)
        start: Record = {f"state.{name}": value[None] for name, value in state.items() if name != "t"}
        start |= {"clock.seed": seed, "clock.episode": np.zeros(1, np.int64), "clock.t": np.array([int(state["t"])])}
        return self._view(SingleFast(self.package, self.context.env(1, 0), start).step(action[None]).ended), None

    def initial(self, draws: dict[int, Any]) -> tuple[Values, Asked]:
        env = self.context.env(1, self._seed("reset", 0, draws))
        return self._view(FastRows(self.package, env).reset()), None

    def _seed(self, phase: str, t: int, draws: dict[int, Any]) -> np.ndarray:
        wanted = {slot: np.asarray(value).reshape(1, -1) for slot, value in draws.items()}
        seeds, found = seeds_with(self.package, phase, t, wanted)
        if not found[0]:
            raise NoSeed
        return seeds

    def _view(self, record: Record) -> Values:
        return {name.replace(".", " "): value[0] for name, value in record.items()}


def _row(value: Any, dtype: str) -> torch.Tensor:
    """An outcome as the tensor [1, ...] that a batched draw gives."""
    row: torch.Tensor = tensor([value], dtype)
    return row
