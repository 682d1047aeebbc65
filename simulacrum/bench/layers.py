"""Where one step's microseconds go: the bare function, and what each layer above it adds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torchrl.collectors import Collector
from torchrl.envs import TransformedEnv

from ..fast import FastEnv
from ..spec import Package
from . import sides
from .measure import Side, Timing, by_turns
from .sweep import Plan, Watch, part, reason

SIZES = (1024, 8192)
BATCH = 32  # batched steps that a collector gathers before it gives them
BARE, TENSORS, TENSORDICT, WHOLE = "bare function", "tensors", "TensorDict", "TorchRL: step_and_maybe_reset"
CHAINS = {  # ways by form, each on top of the one before; a kernel writes into a TensorDict's tensors at once
    "eager": (BARE, TENSORS, TENSORDICT, WHOLE),
    "compiled": (BARE, TENSORS, TENSORDICT, WHOLE),
    "kernel": (BARE, TENSORDICT, WHOLE),
}
Collecting = Callable[[FastEnv[Any], Callable[[Any], Any], int], Iterable[Any]]  # (env, policy, frames a batch)


def stock_collector(env: FastEnv[Any], policy: Callable[[Any], Any], frames: int) -> Collector:
    """TorchRL's own collector, in this process, as its documentation makes one."""
    return Collector(env, policy, frames_per_batch=frames, total_frames=-1, trust_policy=True)


STOCK = {"TorchRL: Collector": stock_collector}


@dataclass(frozen=True)
class Layer:
    """One way to make a step.

    Attributes:
        way: its name.
        timing: of rows.
        batch_size: N.
        more: microseconds that a batched step takes beyond the way before it in its form's chain (for the first, all
            of them); beyond the last of the chain for a way that is not in it.
        share: ``more`` as a share of what ``step_and_maybe_reset`` takes.
    """

    way: str
    timing: Timing
    batch_size: int
    more: float
    share: float

    @property
    def microseconds(self) -> float:
        """Microseconds a batched step."""
        return self.batch_size * self.timing.nanoseconds / 1e3


@dataclass
class Layers:
    """A profile: the layers by form and N, and why a form is missing."""

    plan: Plan
    found: dict[tuple[str, int], list[Layer]] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)
    complete: bool = False


def parts(plan: Plan) -> list[str]:
    """The names of a profile's parts, in the order in which they are measured."""
    return [_name(form, size) for form in plan.forms for size in plan.sizes]


def profile(
    package: Package, plan: Plan, watch: Watch | None = None, collectors: Mapping[str, Collecting] = STOCK
) -> Layers:
    """Measure the layers of each form at each N with the plan's first thread count. Interrupted
    (``KeyboardInterrupt``), it returns what was measured, and says so."""
    layers, told = Layers(plan), watch or Watch()
    try:
        for form in plan.forms:
            for size in plan.sizes:
                with part(told, _name(form, size)) as progress, sides.threads(plan.threads[0]):
                    try:
                        ways = ways_of(sides.make(package, form, size, plan.seed), form, collectors, plan.seed)
                    except sides.UNUSABLE as error:
                        layers.missing[form] = reason(error)
                        continue
                    layers.found[form, size] = layered(
                        by_turns(ways, plan.seconds, plan.rounds, progress), size, CHAINS[form]
                    )
        layers.complete = True
    except KeyboardInterrupt:
        pass
    return layers


def layered(timings: Mapping[str, Timing], batch_size: int, chain: Sequence[str]) -> list[Layer]:
    """Timings as layers: what each of a chain adds to the one before, then the others against the last of the chain."""
    took = {way: batch_size * timing.nanoseconds / 1e3 for way, timing in timings.items()}
    layers, before = [], 0.0
    for way in (*chain, *(way for way in timings if way not in chain)):
        more = took[way] - before
        layers.append(Layer(way, timings[way], batch_size, more, more / took[chain[-1]]))
        before = took[way if way in chain else chain[-1]]
    return layers


def ways_of(
    env: FastEnv[Any], form: str, collectors: Mapping[str, Collecting] = STOCK, seed: int = 0
) -> dict[str, Side]:
    """Every way to make a step of one environment; they take turns with it, each with the same actions."""
    actions, key = sides.actions_for(env, seed), env.action_keys[0]
    env.reset()
    flat = [action.reshape(env.batch_size.numel(), *action.shape[len(env.batch_size) :]) for action in actions]
    bare = _into(env, flat) if form == "kernel" else _function(env, flat)
    transformed = TransformedEnv(env)
    steps: dict[str, Callable[[int], object]] = {
        BARE: bare,
        TENSORS: lambda steps: [env.plain_step_and_reset(flat[step % sides.ACTIONS]) for step in range(steps)],
        TENSORDICT: _carrying(env, actions, env._step_and_maybe_reset),
        WHOLE: _carrying(env, actions, env.step_and_maybe_reset),
        "TorchRL: step, then maybe_reset": _carrying(env, actions, lambda td: _apart(env, td)),
        "TorchRL: TransformedEnv": _carrying(env, actions, transformed.step_and_maybe_reset),
    }
    ways = {way: Side(run, env.batch_size.numel()) for way, run in steps.items()}
    for name, collecting in collectors.items():
        ways[name] = _collecting(env, collecting, actions, key)
    sides.stagger(env)
    return ways


def _function(env: FastEnv[Any], actions: list[torch.Tensor]) -> Callable[[int], object]:
    """The tensor form's own function of a step, compiled or not, from one state again and again: without resets."""
    carry = env._begun()

    def run(steps: int) -> None:
        for step in range(steps):
            env._advance(carry, actions[step % sides.ACTIONS])

    return run


def _into(env: FastEnv[Any], actions: list[torch.Tensor]) -> Callable[[int], object]:
    """The kernel's loop, resets included, into memory that was made beforehand."""
    outcome, seen = env.plain_step_and_reset(actions[0])
    flags = {name: getattr(outcome, name) for name in ("reward", "terminated", "truncated", "done")}
    ended = {name: torch.empty_like(value) for name, value in {**outcome.observation, **flags}.items()}
    now = {name: torch.empty_like(value) for name, value in seen.items()}

    def run(steps: int) -> None:
        for step in range(steps):
            env.step_into(actions[step % sides.ACTIONS], ended, now)

    return run


def _carrying(
    env: FastEnv[Any], actions: list[torch.Tensor], advance: Callable[[Any], tuple[Any, Any]]
) -> Callable[[int], object]:
    """Steps that hand a TensorDict on."""
    td, key = env.reset(), env.action_keys[0]

    def run(steps: int) -> None:
        nonlocal td
        for step in range(steps):
            td.set(key, actions[step % sides.ACTIONS])
            _, td = advance(td)

    return run


def _apart(env: FastEnv[Any], td: Any) -> tuple[Any, Any]:
    """A step and its resets by the two calls of TorchRL's interface that are not one pass."""
    stepped = env.step(td)
    return stepped, env.maybe_reset(env.step_mdp(stepped))


def _collecting(env: FastEnv[Any], collecting: Collecting, actions: list[torch.Tensor], key: Any) -> Side:
    """A collector with a policy that hands out actions made beforehand; one step of it is :data:`BATCH` of them."""
    calls = 0

    def policy(td: Any) -> Any:
        nonlocal calls
        calls += 1
        return td.set(key, actions[calls % sides.ACTIONS])

    frames = BATCH * env.batch_size.numel()
    batches = iter(collecting(env, policy, frames))
    next(batches)  # it resets the environment at its start

    def run(steps: int) -> None:
        for _ in range(steps):
            next(batches)

    return Side(run, frames)


def _name(form: str, size: int) -> str:
    return f"{form}, N = {size:,}"
