"""Gymnasium's and TorchRL's own checkers pass, with their warnings as errors, and every state can be drawn."""

from __future__ import annotations

import contextlib
import io
import re
import warnings
from collections.abc import Mapping
from typing import Any

import gymnasium
import numpy as np
from gymnasium.envs.registration import EnvSpec
from gymnasium.utils.env_checker import check_env
from torchrl.envs import RewardSum, StepCounter, TransformedEnv
from torchrl.envs.transforms import Compose
from torchrl.envs.utils import check_env_specs

from ..context import Context
from ..lockstep import FastRows, References
from ..records import Record, concatenated, difference, plain, take
from ..sources import Actions, seeds
from ..surroundings import quiet

# Gymnasium's advice on unusual Box ranges: what an environment may well want; the report repeats it.
ADVICE = re.compile(r"A Box (action|observation) space (minimum|maximum) value|For Box action spaces, we recommend")
COLOURS = re.compile(r"\x1b\[[0-9;]*m")
DRAWN, ROWS, STEPS = 180, 32, 120  # states that are drawn, of rollouts of so many rows and steps


def check(context: Context) -> None:
    """``check_env`` on the reference in every render mode, ``check_env_specs`` on the fast side in every form, and
    frames of many states."""
    _gymnasium(context)
    context.progress(0.4)
    _torchrl(context)
    context.progress(0.8)
    states = _states(context)
    for mode in ("ansi", "rgb_array"):
        if mode in context.package.reference.metadata["render_modes"]:
            _frames(context, states, mode)


def _gymnasium(context: Context) -> None:
    package = context.package
    creator: Any = package.reference
    private = EnvSpec(id=package.environment.id, entry_point=creator, disable_env_checker=True)
    for mode in (None, *package.reference.metadata["render_modes"]):
        env = package.reference(render_mode=mode)
        env.spec = private
        with warnings.catch_warnings(record=True) as caught, contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter("always")
            try:
                check_env(env, skip_render_check=mode is not None)
                _render(env, mode)
            except (AssertionError, gymnasium.error.Error) as error:
                context.problem(f"Gymnasium's check_env, render_mode={mode!r}: {error}")
            finally:
                env.close()
        for warning in caught:
            text = COLOURS.sub("", str(warning.message))
            if ADVICE.search(text):
                context.note(f"Gymnasium advises: {text}")
            else:
                context.problem(f"Gymnasium's check_env warns, render_mode={mode!r}: {text}")
        context.count("checker runs")


def _render(env: gymnasium.Env[object, object], mode: str | None) -> None:
    """Frames of a first and of a later state, of the type that the mode promises."""
    if mode is None:
        return
    env.reset(seed=0)
    for _ in range(2):
        wrong = _wrong(env.render(), mode)
        assert not wrong, wrong
        if any(env.step(env.action_space.sample())[2:4]):  # an episode may be of one step
            env.reset()


def _wrong(frame: Any, mode: str) -> str:
    """What is wrong with a frame in words; "" where it is what the mode promises."""
    good: Any = {"ansi": str, "rgb_array": np.ndarray, "human": type(None)}[mode]
    if not isinstance(frame, good):
        return f"render() gave a {type(frame).__name__}, expected {good.__name__}"
    if mode == "rgb_array" and not (frame.ndim == 3 and frame.shape[-1] == 3 and frame.dtype == np.uint8):
        return f"rgb_array: expected uint8 [H, W, 3], got {frame.dtype} {list(frame.shape)}"
    return ""


def _states(context: Context) -> Record:
    """States and clocks: of the worked examples, and DRAWN of rollouts, a third of these at an end if there are any."""
    package, rng = context.package, context.rng
    fast, actions = FastRows(package, context.env(ROWS, seeds(rng, ROWS))), Actions(package, rng, ROWS)
    now = fast.reset()
    running, over = [now], []
    for _ in range(STEPS):
        ended, now = fast.step(actions.next(now))
        running.append(now)
        over.append(take(ended, ended["terminated"] | ended["truncated"]))
    spec = package.spec
    worked = [one for example in spec.examples for one in (example.state, example.next_state)]
    worked += [example.state for example in spec.reset_examples if example.state.keys() == spec.fields.keys()]
    parts = [] if package.is_variant else [_worked(one) for one in worked]  # of the constants in spec.md's table
    names = [name for name in now if name.startswith(("state.", "clock."))]
    for records, room in ((over, DRAWN // 3), (running, DRAWN - DRAWN // 3)):
        every = concatenated(records, names)
        parts.append(take(every, rng.permutation(len(every["clock.t"]))[:room]))
    return concatenated(parts, names)


def _worked(values: Mapping[str, np.ndarray]) -> Record:
    """A worked example's state [1, ...], in episode 0 of seed 0."""
    state = {f"state.{name}": value[None] for name, value in values.items() if name != "t"}
    clock = {"clock.seed": np.zeros(1, np.uint64), "clock.episode": np.zeros(1, np.int64)}
    return {**state, **clock, "clock.t": np.array([values["t"]], np.int64)}


def _frames(context: Context, states: Record, mode: str) -> None:
    """The frame of every state in a mode: no exception, one type and shape, and the state is as it was before."""
    side = References(context.package, 1)
    side.envs = [context.package.reference(render_mode=mode)]
    shape = None
    for row in range(len(states["clock.t"])):
        own = take(states, [row])
        before = side.enter(own)
        where = f"render_mode={mode!r}, in the state { {name: plain(value[0]) for name, value in own.items()} }"
        try:
            frame = side.envs[0].render()
        except Exception as error:
            context.problem(f"{where}: render() raised {context.raised(error)}")
            return
        wrong = _wrong(frame, mode)
        shape = shape or getattr(frame, "shape", None)
        found = difference(before, side.reset(mask=np.zeros(1, np.bool_)))  # no row is reset: as they are now
        if not wrong and shape != getattr(frame, "shape", None):
            wrong = f"a frame of the shape {list(frame.shape)} after one of {shape}"
        if not wrong and found is not None:
            wrong = f"render() changed {found[0]} from {found[2]} to {found[3]}: read the state, and change a copy"
        if wrong:
            context.problem(f"{where}: {wrong}")
            return
        context.count("frames drawn")


def _torchrl(context: Context) -> None:
    for resets in ("rows", "masked"):
        for expose in (False, True):
            for transformed in (False, True):
                env = context.env(5, 1, resets=resets, expose_state=expose)
                if transformed:
                    env = TransformedEnv(env, Compose(StepCounter(), RewardSum()))  # type: ignore[assignment]
                setting = f"resets={resets!r}, expose_state={expose}{', in a TransformedEnv' if transformed else ''}"
                with quiet(), warnings.catch_warnings():
                    warnings.simplefilter("error")
                    try:
                        check_env_specs(env)
                    except Exception as error:
                        context.problem(f"TorchRL's check_env_specs, {setting}: {type(error).__name__}: {error}")
                context.count("checker runs")
