"""``simulacrum bench``: how fast an environment is, form by form, or where one step's microseconds go."""

from __future__ import annotations

import argparse
import json
import shlex
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import torch
from rich.console import Console

from .. import __version__
from ..bench import layers, plot, sides, sweep, tables
from ..collector import BatchCollector
from ..errors import SimulacrumError
from ..harness import fingerprint
from ..harness.gate import admit
from ..harness.report import CheckResult
from ..spec import Package
from .codes import COULD_NOT_RUN, INTERRUPTED, PASSED, complain
from .progress import PATIENCE, Bar, Display, Log
from .validate import load, read


def bench(arguments: argparse.Namespace) -> int:
    """Measure, print the table, write the files that were asked for; the exit code.

    Raises :class:`~simulacrum.errors.SimulacrumError` for a package that cannot be found or loaded, and for a plot
    without Matplotlib.
    """
    problem = _problem(arguments)
    if problem is not None:
        return complain(problem)
    if arguments.plot is not None:
        plot.require()
    package = read(arguments.target).configured(arguments.config)
    load(package)
    forms = _forms(package, arguments.forms)
    if isinstance(forms, str):
        return complain(forms)
    console = Console(file=sys.stdout, highlight=False, emoji=False)
    doubts = not_validated(package, forms)
    plan = _plan(arguments, forms, package)
    config = f", configuration {package.config}" if package.config else ""
    agents = package.environment.agents
    each = "" if agents is None else f"; a step is one of an agent, of which an instance has {agents}"
    _say(console, f"Measuring {package.environment.id}{config}: {', '.join(forms)}{each}")
    _warn(console, doubts)
    about = _about(package, doubts)
    return (_profile if arguments.profile else _sweep)(arguments, package, plan, console, about)


def _sweep(
    arguments: argparse.Namespace, package: Package, plan: sweep.Plan, console: Console, about: dict[str, Any]
) -> int:
    with _watch(console, plan.parts) as watch:
        results = sweep.sweep(package, plan, watch)
    _say(console, f"\n{tables.text(results)}")
    _warn(console, about["not validated"])
    if arguments.plot is not None:
        plot.draw(results, f"{package.environment.id} on {about['machine']['processor']}", arguments.plot)
        _say(console, f"Plot: {arguments.plot}")
    return _end(arguments, console, tables.as_json(results, about), bool(results.groups), results.complete)


def _profile(
    arguments: argparse.Namespace, package: Package, plan: sweep.Plan, console: Console, about: dict[str, Any]
) -> int:
    with _watch(console, layers.parts(plan)) as watch:
        found = layers.profile(package, plan, watch, {**layers.STOCK, "simulacrum: BatchCollector": _own_collector})
    _say(console, f"\n{tables.layers_text(found)}")
    _warn(console, about["not validated"])
    return _end(arguments, console, tables.layers_json(found, about), bool(found.found), found.complete)


def _own_collector(env: Any, policy: Any, frames: int) -> BatchCollector:
    return BatchCollector(env, policy, frames_per_batch=frames, total_frames=-1, trust_policy=True)


def _end(
    arguments: argparse.Namespace, console: Console, content: dict[str, Any], measured: bool, complete: bool
) -> int:
    """Write the JSON, and say what an interruption left."""
    if arguments.json is not None:
        arguments.json.write_text(f"{json.dumps(content, indent=1)}\n")
        _say(console, f"JSON: {arguments.json}")
    if not complete:
        _say(console, "Interrupted: INCOMPLETE, only what is shown was measured.")
        return INTERRUPTED
    return PASSED if measured else COULD_NOT_RUN


def not_validated(package: Package, forms: Sequence[str]) -> dict[str, str]:
    """The forms that no fresh report covers, each with the gate's reason: they are measured all the same."""
    reasons = {}
    for form in forms:
        name, options = sides.FORMS[form]
        try:
            mode = "native" if name == "kernel" else "compiled" if options.get("compile") else "eager"
            admit(package.path, form=name, mode=mode, config=package.config)
        except SimulacrumError as error:
            reasons[form] = str(error)
    return reasons


def _warn(console: Console, reasons: dict[str, str]) -> None:
    """Say which forms are not validated, each reason once."""
    for reason in dict.fromkeys(reasons.values()):
        forms = ", ".join(form for form, own in reasons.items() if own == reason)
        _say(console, f"NOT VALIDATED ({forms}): these figures may be of wrong code. {reason}")


def _problem(arguments: argparse.Namespace) -> str | None:
    """What is wrong with the options, beyond what each one's own type refuses."""
    for option in ("json", "plot"):
        file = getattr(arguments, option)
        if file is not None and file.is_dir():
            return f"--{option} {file}: expected a file, that is a folder"
        if file is not None and not file.absolute().parent.is_dir():
            folder = shlex.quote(str(file.parent))
            return f"--{option} {file}: expected a file in a folder that exists; make it: mkdir -p {folder}"
    if arguments.plot is not None and arguments.plot.suffix not in plot.SUFFIXES:
        return f"--plot {arguments.plot}: expected a name that ends in {', '.join(plot.SUFFIXES)}"
    if arguments.profile and arguments.plot is not None:
        return "--plot draws what a sweep over batch sizes measured: without --profile"
    if arguments.profile and arguments.threads is not None and len(arguments.threads) > 1:
        return f"--profile runs with one thread count, got --threads {','.join(map(str, arguments.threads))}"
    return None


def _forms(package: Package, asked: Sequence[str] | None) -> list[str] | str:
    """The forms to measure, or what is wrong with those that were asked for."""
    there = sides.forms_of(package)
    missing = [form for form in asked or () if form not in there]
    if missing:
        return f"--forms {','.join(missing)}: {package.environment.id} has the forms {', '.join(there)}"
    return [form for form in there if asked is None or form in asked]


def _plan(arguments: argparse.Namespace, forms: Sequence[str], package: Package) -> sweep.Plan:
    sizes = layers.SIZES if arguments.profile else sweep.QUICK_SIZES if arguments.quick else sweep.SIZES
    if package.environment.agents is not None and arguments.quick:
        sizes = sweep.QUICK_BOARDS
    sizes = sweep.fitting(sizes, package)
    alone = arguments.profile or arguments.quick
    threads = (1,) if alone else tuple(sorted({1, torch.get_num_threads()}))
    plan = sweep.Plan(tuple(forms), arguments.sizes or sizes, arguments.threads or threads)
    return replace(plan, seconds=0.05, rounds=3, weighs=False) if arguments.quick else plan


def _about(package: Package, doubts: dict[str, str]) -> dict[str, Any]:
    """What a file of figures says of where they come from."""
    return {
        "command": shlex.join(["simulacrum", *sys.argv[1:]]),
        "simulacrum": __version__,
        "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "environment": package.environment.id,
        "digest": package.digest,
        "not validated": doubts,
        "machine": {**fingerprint.machine(), "torch threads": torch.get_num_threads()},
        "versions": dict(fingerprint.versions()),
    }


class _Watch(sweep.Watch):
    """Hands what a measurement tells to what is shown of a battery."""

    def __init__(self, shown: Display) -> None:
        self.shown = shown

    def progress(self, name: str, share: float) -> None:
        """Move the bar."""
        self.shown.progress(name, share)

    def finished(self, name: str, seconds: float) -> None:
        """A line."""
        self.shown.finished(CheckResult(name, "measured", seconds, {}, [], []))


class _Parts(Display):
    """A display that counts parts of a measurement."""

    @property
    def running(self) -> str:
        """The part that runs now, its share, and how many have ended."""
        return super().running.replace("checks", "parts")


class _PartsBar(_Parts, Bar):
    pass


class _PartsLog(_Parts, Log):
    pass


@contextmanager
def _watch(console: Console, names: Sequence[str]) -> Iterator[_Watch]:
    """A bar on a terminal, lines in a log."""
    on_screen = console.is_terminal and not console.is_dumb_terminal
    with _PartsBar(console, names) if on_screen else _PartsLog(console, names, PATIENCE) as shown:
        yield _Watch(shown)


def _say(console: Console, text: str) -> None:
    console.print(text, markup=False, soft_wrap=True)
