"""Gymnasium's and TorchRL's own checkers pass, with their warnings as errors."""

from __future__ import annotations

import contextlib
import io
import re
import warnings
from typing import Any

import gymnasium
from gymnasium.envs.registration import EnvSpec
from gymnasium.utils.env_checker import check_env
from torchrl.envs import RewardSum, StepCounter, TransformedEnv
from torchrl.envs.transforms import Compose
from torchrl.envs.utils import check_env_specs

from ..context import Context
from ..surroundings import quiet

# Gymnasium's advice on unusual Box ranges: what an environment may well want; the report repeats it.
ADVICE = re.compile(r"A Box (action|observation) space (minimum|maximum) value|For Box action spaces, we recommend")
COLOURS = re.compile(r"\x1b\[[0-9;]*m")


def check(context: Context) -> None:
    """``check_env`` on the reference in every render mode, ``check_env_specs`` on the fast side in every form."""
    _gymnasium(context)
    context.progress(0.5)
    _torchrl(context)


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
        frame = env.render()
        good = {"ansi": str, "rgb_array": object, "human": type(None)}[mode]
        assert isinstance(frame, good), f"render() gave a {type(frame).__name__}, expected {good.__name__}"
        if mode == "rgb_array":
            shape: Any = getattr(frame, "shape", ())
            dtype = getattr(frame, "dtype", None)
            image = len(shape) == 3 and shape[-1] == 3 and str(dtype) == "uint8"
            assert image, f"rgb_array: expected uint8 [H, W, 3], got {dtype} {shape}"
        env.step(env.action_space.sample())


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
