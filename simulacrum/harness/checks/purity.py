"""The results follow from seed, actions and states alone, and nothing else is touched: not memory, not the process."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from typing import Any

import numpy as np
import torch
from tensordict import TensorDictBase
from torch import Tensor

from ...fast.copying import duplicate
from ..aliases import ALIASES, WAYS, written
from ..context import Context
from ..lockstep import FastRows
from ..memory import DRIVERS, changed, copied, first_difference, fused, reference, scribble, scribbled, watched
from ..records import Record, difference, take
from ..sources import random_actions, seeds
from ..surroundings import BOTH, FAST, THREADS, altered, generator_states, settings
from ..traces import digest, reference_digest, retrace, trace
from ..worker import Worker

STEPS, SHORT = 100, 24
SMALL = 7
MANY, FEW = 2**16 + 1, 65
SIZES = (31, 32, 33, 63, 64, 65, 127, 128, 129, 255, 256, 257, 511, 512, 513, 1023, 1024, 1025, 2047, 2048, 2049, 4096)
ELSEWHERE = {"LANG": "C", "LC_ALL": "C", "PYTHONHASHSEED": "77", "TZ": "Asia/Kolkata", "OMP_NUM_THREADS": "2"}
KEEP = "a package leaves the process as it is"
Settings = dict[str, Callable[[], AbstractContextManager[Any]]]


def check(context: Context) -> None:
    """Memory, views, batch sizes, surroundings, references, and another process that works meanwhile."""
    seed = int(context.rng.integers(0, 2**62))
    quick = context.profile.name == "quick"
    large = 513 if quick else 4096
    for name in ("fast", "reference", "checks", "render"):
        context.package.module(name)  # what importing them changes is another process's question
    before = settings()
    with ExitStack() as stack:
        worker = None
        if context.profile.processes:
            folder = stack.enter_context(tempfile.TemporaryDirectory())
            worker = Worker(context.package, seed, STEPS, (SMALL,), ELSEWHERE, folder)
            stack.callback(worker.stop)
        held_aliases(context, 65, seed, some_actions(context, 65, 16))
        for number, part in enumerate((held_memory, viewed_actions, viewed_states)):
            for rows, steps in ((1, 24), (6, 64), (large, 8)):  # at N = 1 what is a copy else may be a view
                part(context, rows, seed, some_actions(context, rows, steps))
            context.progress(0.1 * number)
        _sizes(context, seed, 513 if quick else 5000)
        if not quick:
            _many_rows(context)
        context.progress(0.4)
        other_surroundings(context, seed, large)
        context.progress(0.8)
        _references(context)
        untouched_generators(context, seed)
        changes = [name for name in altered(before) if "generator" not in name]
        context.require(not changes, f"while the environment ran, {', '.join(changes)} changed: {KEEP}")
        if worker is not None:
            _other_process(context, worker.result(), seed)


def some_actions(context: Context, rows: int, steps: int) -> list[Tensor]:
    """Random actions [rows, *shape] in the space's dtype, one tensor a step."""
    space = context.package.environment.action_space
    return [torch.from_numpy(random_actions(space, context.rng, rows)) for _ in range(steps)]


# ---------------------------------------------------------------------- memory


def held_memory(context: Context, rows: int, seed: int, actions: list[Tensor]) -> None:
    """Nothing that a call took or gave is written later, and what others write there changes nothing."""
    for name, driver in DRIVERS.items():
        where = f"N = {rows}, {name}"
        shown, written = watched(driver, context.env(rows, seed), actions)
        context.require(written is None, f"{where}: {written} was written by the call or a later one: give new tensors")
        again = scribbled(driver, context.env(rows, seed), actions)
        differs = first_difference(shown, again)
        context.require(
            differs is None,
            f"{where}: writing to what was passed in or returned changes {differs}: the environment keeps that memory",
        )
        context.count("calls held", len(shown))


def held_aliases(context: Context, rows: int, seed: int, actions: list[Tensor]) -> None:
    """Nor is what is held by a slice, a NumPy view, a capsule, a graph of autograd alone."""
    for name, way in WAYS.items():
        for what, alias in ALIASES.items():
            env = context.env(rows, seed, expose_state=False)
            found = written(env, way, alias, actions)
            context.require(
                found is None,
                f"N = {rows}, {name}: {found} was written by a later step while {what} was held: give new tensors",
            )
            context.count("ways of holding tried")


def viewed_actions(context: Context, rows: int, seed: int, actions: list[Tensor]) -> None:
    """Actions as views that are not contiguous give what contiguous ones give."""
    forms = {
        "a slice of every other row": ([_strided(action) for action in actions], actions),
        "an expanded view": (
            [action[:1].expand(action.shape) for action in actions],
            [action[:1].expand(action.shape).contiguous() for action in actions],
        ),
        "a column of a wider tensor": ([torch.stack([one, one], -1)[..., 0] for one in actions], actions),
    }
    for name, (views, contiguous) in forms.items():
        expected, _ = watched(fused, context.env(rows, seed), contiguous)
        found, _ = watched(fused, context.env(rows, seed), views)
        differs = first_difference(expected, found)
        context.require(differs is None, f"N = {rows}: actions as {name} give other bits, {differs}")
        context.count("views compared")
    if rows % 2 == 0:
        _transposed(context, rows, seed, actions)


def _transposed(context: Context, rows: int, seed: int, actions: list[Tensor]) -> None:
    """A batch of two dimensions whose actions are a transposed tensor."""
    env, other = (context.fast(batch_size=[2, rows // 2], seed=seed, expose_state=True) for _ in range(2))
    shaped = [action.reshape(2, rows // 2, *action.shape[1:]) for action in actions]
    views = [action.transpose(0, 1).contiguous().transpose(0, 1) for action in shaped]
    expected, found = watched(fused, env, shaped)[0], watched(fused, other, views)[0]
    differs = first_difference(expected, found)
    context.require(differs is None, f"batch [2, {rows // 2}]: actions that are transposed give other bits, {differs}")
    context.count("views compared")


def _strided(value: Tensor) -> Tensor:
    """The same values as a slice of every other row of a tensor twice as long."""
    wide = torch.zeros((2 * len(value), *value.shape[1:]), dtype=value.dtype)
    wide[::2] = value
    return wide[::2]


def viewed_states(context: Context, rows: int, seed: int, actions: list[Tensor]) -> None:
    """States injected as views are entered like others, are not written, and are not kept."""
    fast = FastRows(context.package, context.env(rows, seed + 1))
    fast.reset()
    for action in actions[: len(actions) // 2]:
        fast.step(action.numpy())
    state = fast.env.get_state()
    views = state.apply(_strided)
    expected = _from_state(context, rows, seed, duplicate(state), actions)
    before = copied(views)
    found = _from_state(context, rows, seed, views, actions)
    differs = first_difference(expected, found)
    context.require(differs is None, f"N = {rows}: states injected as strided slices give other bits, {differs}")
    name = changed(views, before)
    context.require(name is None, f"N = {rows}: the injected {name} was written by the reset or a later step")
    found = _from_state(context, rows, seed, duplicate(state), actions, scribbling=True)
    differs = first_difference(expected, found)
    context.require(differs is None, f"N = {rows}: writing to an injected state after the reset changes {differs}")
    context.count("states injected", 3 * rows)


def _from_state(
    context: Context, rows: int, seed: int, state: TensorDictBase, actions: list[Tensor], scribbling: bool = False
) -> list[Any]:
    """Copies of what a reset to a state and the steps after it show."""
    env = context.env(rows, seed)
    td = env.reset(state.copy(), set_state=True)  # TorchRL adds to the TensorDict what the reset shows
    shown = [copied(td)]
    if scribbling:
        scribble(state)
    for action in actions:
        done, td = env.step_and_maybe_reset(td.set(env.action_key, action))
        shown.append(copied((done.get("next"), td)))
    return shown


# ---------------------------------------------------------------------- batch sizes


def _sizes(context: Context, seed: int, largest: int) -> None:
    """Each row of smaller batches, of a dozen sizes, is the same row of a large one."""
    rng = context.rng
    own = seeds(rng, largest)
    expected = list(trace(context.package, context.env(largest, own), SHORT))
    choices = [size for size in SIZES if size < largest]
    for rows in sorted({*rng.choice(choices, min(12, len(choices)), replace=False).tolist(), 1}):
        _part(context, own, expected, 0, rows)


def _many_rows(context: Context) -> None:
    """The first and the last rows of a batch whose rows are more than 16 bits can number."""
    own = seeds(context.rng, MANY)
    expected = list(trace(context.package, context.env(MANY, own), 3))
    for first in (0, MANY - FEW):
        _part(context, own, expected, first, FEW)


def _part(context: Context, own: np.ndarray, expected: list[tuple[Record, Record]], first: int, rows: int) -> None:
    """Some rows of a large batch, from the row ``first`` on, are the rows of a batch that has these alone."""
    part = slice(first, first + rows)
    taken = [(take(ended, part), take(now, part)) for ended, now in expected]
    steps = retrace(context.package, context.env(rows, own[part]), taken)
    for number, (large, small) in enumerate(zip(taken, steps, strict=True)):
        for one, other in zip(large, small, strict=True):
            found = difference(one, other) if one else None
            if found is not None:
                context.fail(
                    f"{found[0]} of row {found[1]} after {number} steps is {found[3]} with N = {rows}, "
                    f"{found[2]} as row {first + found[1]} with N = {len(own)}: a path depends on the number of rows"
                )
    context.count("rows compared", rows * (len(expected) - 1))


# ---------------------------------------------------------------------- surroundings


def other_surroundings(context: Context, seed: int, large: int, threads_too: bool = True) -> None:
    """The same digests under settings that must not matter, whether set before the construction or after it."""
    package = context.package
    runs: list[tuple[Settings, int, int]] = [({**BOTH, **FAST, **THREADS}, SMALL, 48), ({**BOTH, **FAST}, large, 6)]
    if context.profile.name != "quick" and threads_too:
        runs.append((THREADS, 20_000, 4))  # operations on so many rows are split among threads
    for some, rows, steps in runs:
        expected = digest(package, context.env(rows, seed), steps)
        for what, setting in some.items():
            made = context.env(rows, seed)
            with setting():
                found = digest(package, made, steps)
                context.require(found == expected, f"N = {rows}: other bits {what}")
                if rows == SMALL:
                    found = digest(package, context.env(rows, seed), steps)
                    context.require(found == expected, f"N = {rows}: other bits {what}, when made so")
            context.count("traces compared")
    expected = reference_digest(package, seed, STEPS)
    for what, setting in BOTH.items():
        with setting():
            context.require(reference_digest(package, seed, STEPS) == expected, f"reference.py: other values {what}")
        context.count("traces compared")


def untouched_generators(context: Context, seed: int) -> None:
    """Neither side draws from a global generator, in batches of any size."""
    runs: dict[str, Callable[[], Any]] = {
        "fast.py": lambda: digest(context.package, context.env(SMALL, seed), STEPS),
        "fast.py, N = 5000,": lambda: digest(context.package, context.env(5000, seed), 3),
        "reference.py": lambda: reference_digest(context.package, seed, STEPS),
    }
    for side, run in runs.items():
        before = generator_states()
        run()
        for library, state in generator_states().items():
            context.require(state == before[library], f"{side} draws from the global generator of {library}")


def _other_process(context: Context, found: dict[str, Any], seed: int) -> None:
    """Another process, in another folder and locale, gave the same, and importing the package changed nothing there."""
    package = context.package
    changes = found["altered"]
    context.require(not changes, f"importing the package changes {', '.join(changes)}: {KEEP}")
    here = {str(SMALL): digest(package, context.env(SMALL, seed, device="cpu"), STEPS)}
    where = f"another process, in another folder, with {', '.join(f'{k}={v}' for k, v in ELSEWHERE.items())},"
    context.require(found["digests"] == here, f"{where} gave other bits with N = {SMALL}")
    same = found["reference"] == reference_digest(package, seed, STEPS)
    context.require(same, f"{where} gave other values of reference.py")
    context.count("traces compared", 2)


# ---------------------------------------------------------------------- references


def _references(context: Context) -> None:
    """A reference writes to nothing that it took or gave, and keeps none of it."""
    actions = [action[0] for action in some_actions(context, 1, STEPS)]
    shown, written = watched(reference, context.package.reference(), actions)
    context.require(written is None, f"reference.py: {written} was written by the call or a later one: give new arrays")
    differs = first_difference(shown, scribbled(reference, context.package.reference(), actions))
    context.require(
        differs is None,
        f"reference.py: writing to what was passed in or returned changes {differs}: it keeps that memory",
    )
    context.count("calls held", len(shown))
