"""The checks, in the order in which they run; each module has ``check`` functions, and the probes that they use."""

from __future__ import annotations

from collections.abc import Callable

from ..run import Run
from ..shrink import Probe
from . import aliasing, batch, determinism, distributions, reset_modes, seeds, spaces, transitions

CHECKS: dict[str, Callable[[Run], None]] = {
    "spaces": spaces.check,
    "determinism": determinism.check,
    "seeds": seeds.check,
    "reset_modes": reset_modes.check,
    "lockstep": transitions.lockstep,
    "terminal_observations": transitions.terminal_observations,
    "flags": transitions.flags,
    "transition_table": transitions.transition_table,
    "distributions": distributions.check,
    "batch_independence": batch.check,
    "aliasing": aliasing.check,
}
PROBES: dict[str, Probe] = {
    name: probe
    for module in (spaces, determinism, seeds, reset_modes, transitions, distributions, batch, aliasing)
    for name, probe in module.PROBES.items()
}
