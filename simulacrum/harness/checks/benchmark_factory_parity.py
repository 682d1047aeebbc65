"""Every way in which the fast side is run gives the same bits: what is trained on is what was checked."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode
from torchrl.collectors import Collector
from torchrl.envs import SerialEnv
from torchrl.envs.utils import check_env_specs

from ... import bits
from ...fast import FastEnv
from ...vector import FastVectorEnv
from ..case import Case
from ..context import Context
from ..finding import Finding
from ..lockstep import FastRows
from ..records import Record, difference, fast_record
from ..sides import transformed
from ..surroundings import quiet, single_threaded
from ..traces import ClockPolicy, actions_at, filled, retrace, trace
from ..vector_steps import compare_seeds, compare_vector

ROWS = 4096
FEW = 65  # rows of the compiled form with masked resets
Steps = list[tuple[Record, Record]]


def check(context: Context) -> None:
    """One trace, eager and by rows on the first device, against every other form there and on the other devices."""
    rows = ROWS if context.profile.compiled else 512
    cap = context.package.environment.max_episode_steps or 100
    steps = min(cap + 20, 160)
    seed = int(context.rng.integers(0, 2**62))
    expected = list(trace(context.package, context.env(rows, seed), steps))
    context.facts["covers"] = covered(context)
    context.facts["forms"] = every_way(context, rows, seed, expected)


def every_way(context: Context, rows: int, seed: int, expected: Steps) -> list[str]:
    """A trace of that many rows of a seed against every way in which the context's form is run; their names."""
    steps = len(expected) - 1
    forms = {**_ways(context, rows, seed, steps), **_plain_ways(context, rows, seed, expected)}
    names = list(forms)
    for number, (name, form) in enumerate(forms.items()):
        _same(context, name, expected, form())
        context.count("steps of rows compared", rows * steps)
        context.progress((number + 1) / len(forms))
    for number, mode in enumerate(AutoresetMode):
        resets = "masked" if number % 2 else "rows"
        adapter = FastVectorEnv(context.env(rows, seed, resets=resets), autoreset_mode=mode)
        compare_vector(context, adapter, expected)
        compare_seeds(context, mode)
        context.count("steps of rows compared", rows * steps)
        names.append(f"VectorEnv, {mode.value}")
    return names


def covered(context: Context) -> list[list[str]]:
    """The combinations (form, mode, device) that the checks of a context compared."""
    modes = ["eager", *(["compiled"] if context.compiled else [])] if context.form == "tensor" else ["native"]
    return [[context.form, mode, device] for device in context.profile.devices for mode in modes]


def _ways(
    context: Context, rows: int, seed: int, steps: int
) -> dict[str, Callable[[], Iterator[tuple[Record, Record]]]]:
    package = context.package

    def bare(fused: bool = True, **options: Any) -> Callable[[], Iterator[tuple[Record, Record]]]:
        return lambda: trace(package, context.env(rows, seed, **options), steps, fused)

    forms = {
        "resets masked": bare(resets="masked"),
        "step, then reset": bare(fused=False),
        "TransformedEnv": lambda: trace(package, transformed(context.env(rows, seed)), steps),
        "SerialEnv of two": lambda: _serial(context, rows, seed, steps),
        "Collector": lambda: _collected(context, context.env(rows, seed), steps),
    }
    if context.compiled:
        few = min(rows, FEW)
        forms["compiled, resets masked"] = lambda: trace(
            package, context.env(few, seed, resets="masked", compile=True), steps
        )
    for device in context.profile.devices[1:]:
        for resets in ("rows", "masked"):
            forms[f"{device}, resets {resets}"] = bare(resets=resets, device=device)
            if context.compiled:
                forms[f"{device}, compiled, resets {resets}"] = bare(resets=resets, device=device, compile=True)
    return forms


def _plain_ways(
    context: Context, rows: int, seed: int, expected: Steps
) -> dict[str, Callable[[], Iterator[tuple[Record, Record]]]]:
    """As users make it: the state not shown, and batches of any shape. They take the trace's actions."""
    package, device = context.package, context.profile.devices[0]

    def made(size: list[int], fused: bool = True, **options: Any) -> Callable[[], Iterator[tuple[Record, Record]]]:
        return lambda: retrace(
            package, context.fast(batch_size=size, seed=seed, device=device, **options), expected, fused
        )

    forms = {"compiled, resets by rows": lambda: _compiled(context, rows, seed, expected)}
    return {
        **(forms if context.compiled else {}),
        "expose_state=False": made([rows]),
        "expose_state=False, step, then reset": made([rows], fused=False),
        "expose_state=False, resets masked": made([rows], resets="masked"),
        "validate_actions=False": made([rows], validate_actions=False),
        "batch_size=[N / 4, 4]": made([rows // 4, 4], expose_state=True),
        "batch_size=[]": made([], expose_state=True),
        "step_into": lambda: filled(package, context.env(rows, seed, expose_state=False), expected),
    }


def _serial(context: Context, rows: int, seed: int, steps: int) -> Iterator[tuple[Record, Record]]:
    """The same rows from two environments, by ``first_instance``."""
    half = rows // 2
    makers = [lambda first=first: context.env(half, seed, first_instance=first) for first in (0, half)]
    env = SerialEnv(2, makers)
    with single_threaded():  # closing a SerialEnv gives torch all threads
        yield from trace(context.package, env, steps)
        env.close()


def _compiled(context: Context, rows: int, seed: int, expected: Steps) -> Iterator[tuple[Record, Record]]:
    """As users make it for speed, the state not shown; what it keeps of it is compared at the end."""
    env = context.env(rows, seed, expose_state=False, compile=True)
    yield from retrace(context.package, env, expected)
    kept, last = FastRows(context.package, env).kept(), expected[-1][1]
    for name, value in kept.items():
        context.require(
            bits.same(value, last[name]), f"'compiled, resets by rows' keeps another {name} after the trace"
        )
    with quiet():
        check_env_specs(env)


def _collected(context: Context, env: FastEnv[Any], steps: int) -> Iterator[tuple[Record, Record]]:
    """What a collector gathers, in one batch of frames [rows, steps]."""
    rows = env.numel()
    policy = ClockPolicy(context.package)
    collector = Collector(
        env, policy, frames_per_batch=rows * steps, total_frames=rows * steps, auto_register_policy_transforms=False
    )
    data = next(iter(collector))
    yield {}, fast_record(context.package, data[:, 0].exclude("next"))
    for step in range(steps):
        ended = fast_record(context.package, data[:, step].get("next"))
        now = fast_record(context.package, data[:, step + 1].exclude("next")) if step + 1 < steps else {}
        yield ended, now
    collector.shutdown()


def _same(context: Context, form: str, expected: Steps, found: Iterator[tuple[Record, Record]]) -> None:
    for step, (one, other) in enumerate(zip(expected, found, strict=True)):
        for when, left, right in (("step", one[0], other[0]), ("first state", one[1], other[1])):
            rows = len(next(iter(right.values()))) if right else 0
            differs = difference({name: left[name][:rows] for name in right if name in left}, right) if right else None
            if differs is None:
                continue
            field, row, first, second = differs
            at = one[1] if step == 0 else expected[step - 1][1]
            seed, episode, t = (int(at[f"clock.{name}"][row]) for name in ("seed", "episode", "t"))
            context.fail(
                Finding(
                    context.name,
                    f"{form!r} gives other bits than eager steps in the {when} {step}: {second}, expected {first}",
                    form,
                    row,
                    seed,
                    episode,
                    t,
                    field,
                ),
                _case(context, form, at, row),
            )


def _device(context: Context, form: str) -> str:
    """Where a form of that name runs."""
    first, *others = context.profile.devices
    return next((device for device in others if form.startswith(f"{device},")), first)


def _case(context: Context, form: str, at: Record, row: int) -> Case:
    """One step from what eager rows showed, by the reference and in the form of that name."""
    options: dict[str, Any] = {"device": _device(context, form)}
    options["resets"] = "masked" if "masked" in form else "rows"
    options |= {"compile": True} if "compiled" in form else {}
    options |= {"expose_state": False} if "expose_state" in form else {}
    options |= context.case_options
    return Case(
        starts=at,
        actions=actions_at(context.package, at)[None],
        watched=np.array([row]),
        fused="step, then reset" not in form,
        form="TransformedEnv" if form == "TransformedEnv" else "bare",
        options=options,
    )
