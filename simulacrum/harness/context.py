"""``Context``: what a check works with, and where it puts what it found."""

from __future__ import annotations

import copy
import traceback
import zlib
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NoReturn

import numpy as np
import torch

from ..fast import FastEnv
from ..spec import Package
from .case import Case
from .finding import OTHER_FORM, Finding
from .findings import completed
from .laws import causes
from .patterns import Evidence, broadcast
from .places import writable_folder
from .playback import Divergence
from .profile import Profile
from .records import Record
from .surroundings import compilation_possible, kernels_possible

Progress = Callable[[str, float], None]
Cases = Case | Sequence[Case] | None


class CheckFailed(Exception):
    """Ends a check; its finding is in the context."""


class NotApplicable(Exception):
    """Ends a check of what the environment does not declare."""


class Context:
    """One run of one check on one package.

    Attributes:
        name: the check's name.
        package, profile: what is checked, and how far.
        rng: a NumPy generator of its own, which follows from the profile's seed and the check's name.
        counts: how much was compared; ``notes``: what the report should repeat; ``findings``: what is wrong.
        facts: what the report keeps under the check's name (throughput's figures, say).

    It makes environments of the package's first form; :meth:`of` gives the same check on another.
    """

    def __init__(self, name: str, package: Package, profile: Profile, progress: Progress | None = None) -> None:
        self.name, self.package, self.profile = name, package, profile
        self.rng = np.random.default_rng([profile.seed, zlib.crc32(name.encode())])
        self.counts: Counter[str] = Counter()
        self.notes: list[str] = []
        self.findings: list[Finding] = []
        self.facts: dict[str, Any] = {}
        self._progress = progress or (lambda name, share: None)
        self._form: str | None = None

    @property
    def form(self) -> str:
        """The form of the fast side that is checked: ``tensor`` or ``kernel``."""
        return self._form or next(iter(self.package.forms))

    @property
    def fast(self) -> type[FastEnv[Any]]:
        """The class of that form."""
        made: type[FastEnv[Any]] = self.package.forms[self.form]
        return made

    @property
    def further_forms(self) -> list[str]:
        """The forms beside the package's first that can run here: a kernel is built with a C compiler."""
        further = list(self.package.forms)[1:]
        if "kernel" in further and not kernels_possible():
            self.note('no C compiler, so the kernel form was not compared: form="kernel" will not load')
            further.remove("kernel")
        return further

    def of(self, form: str) -> Context:
        """The same check, its findings and its generator, on another form, on the CPU; what it counts is named so."""
        other = copy.copy(self)
        other._form = form
        other.profile = replace(self.profile, devices=("cpu",), compiled=self.profile.compiled and form == "tensor")
        return other

    @property
    def case_options(self) -> dict[str, Any]:
        """What the options of a case say of the form."""
        return {"kernel": True} if self.form == "kernel" else {}

    def count(self, what: str, number: int = 1) -> None:
        """Add to a count."""
        self.counts[self._counted(what)] += int(number)

    def _counted(self, what: str) -> str:
        """A count's name, or a note, of a form that was chosen by :meth:`of`."""
        return what if self._form is None else f"{self._form}: {what}"

    def count_causes(self, ended: Record) -> None:
        """Add the terminations of a step to the count of each declared cause that was there."""
        for name, there in causes(self.package, ended).items():
            self.count(f"cause {name}", int((there & ended["terminated"]).sum()))

    def count_agents(self, ended: Record) -> None:
        """Count the agents' transitions and deaths of a step, where there are many agents."""
        if "died" in ended:
            self.count("agent transitions", ended["died"].size)
            self.count("deaths", int(ended["died"].sum()))

    def note(self, text: str) -> None:
        """Something that the report repeats."""
        text = self._counted(text)
        if text not in self.notes:
            self.notes.append(text)

    def progress(self, share: float) -> None:
        """How much of the check is done, 0 to 1."""
        self._progress(self.name, min(share, 1.0))

    def problem(self, message: str, case: Cases = None, **values: Any) -> None:
        """Note a finding and go on; ``case`` as :meth:`fail` takes it."""
        self._add(Finding(self.name, message, **values), case)

    def fail(self, finding: Finding | str, case: Cases = None) -> NoReturn:
        """Note a finding and end the check.

        ``case`` is what replays it, or several that may, tried in turn. The smallest that shows it is written to
        ``failures/`` beside the report, with what both sides do in it.
        """
        finding = Finding(self.name, finding) if isinstance(finding, str) else finding
        self._add(finding, case)
        raise CheckFailed(finding.message)

    def require(self, condition: bool, message: str) -> None:
        """End the check with a finding unless a condition holds."""
        if not condition:
            self.fail(message)

    def met(self, what: str, declared: str) -> None:
        """End the check with a finding when it never met what the spec declares."""
        if not self.counts[self._counted(what)]:
            self.fail(f"no {what} seen, though spec.md declares {declared}: this run proves nothing about it")

    def not_applicable(self, reason: str) -> NoReturn:
        """End the check: the environment does not declare what it is about."""
        self.note(reason)
        raise NotApplicable(reason)

    @property
    def compiled(self) -> bool:
        """Whether compiled graphs are to be compared: the profile asks for them, there is a tensor form, and they can
        be built here."""
        if self.form != "tensor":
            return False
        if self.profile.compiled and not compilation_possible():
            self.note("no working C++ compiler, so compiled graphs were not compared: compile=True will not load")
            return False
        return self.profile.compiled

    def env(self, rows: int, seeds: np.ndarray | int | None = 0, **options: Any) -> FastEnv[Any]:
        """A fast environment of N rows with seeds (an int, or uint64 [N]) on the profile's first device."""
        seed = torch.from_numpy(seeds.view(np.int64).copy()) if isinstance(seeds, np.ndarray) else seeds
        options = {"device": self.profile.devices[0], "expose_state": True, **options}
        return self.fast(batch_size=[rows], seed=seed, **options)

    def replay_command(self) -> str:
        """The command that runs this check again with the same seed."""
        quick = " --quick" if self.profile.name == "quick" else ""
        devices = "".join(f" --device {name}" for name in self.profile.devices if self.profile.devices != ("cpu",))
        return f"simulacrum validate {self.package.target} -k {self.name} --seed {self.profile.seed}{quick}{devices}"

    def raised(self, error: BaseException) -> str:
        """An exception in words, with where in the package it came from, if it did; else with the innermost frames."""
        frames = traceback.extract_tb(error.__traceback__)
        own = [frame for frame in frames if frame.filename.startswith(str(self.package.path))]
        places = [f"\n    {one.filename}:{one.lineno} in {one.name}: {one.line}" for one in own[-1:] or frames[-3:]]
        return f"{type(error).__name__}: {error}" + "".join(places)

    def _add(self, finding: Finding, case: Cases) -> None:
        where = "" if self._form is None else f"{self._form} form"
        setting = ", ".join(filter(None, (where, finding.setting)))
        finding = replace(finding, setting=setting, replay=self.replay_command())
        cases = [case] if isinstance(case, Case) else list(case or ())
        if cases:
            if finding.message.startswith(OTHER_FORM):  # a file replays one of them beside the reference: either
                cases += [replace(one, options={**one.options, "kernel": False}) for one in cases]
            folder = writable_folder(self.package.path) / "failures"
            file = folder / f"{self.name}-seed{self.profile.seed}-{len(self.findings) + 1}.json"
            finding = completed(self.package, finding, cases, file)
        elif not finding.hint:
            finding = replace(
                finding, hint=broadcast(Evidence(Divergence(0, "", 0, "", kind="raised", error=finding.message)))
            )
        self.findings.append(finding)
