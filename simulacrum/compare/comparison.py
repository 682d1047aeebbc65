"""``compare``: all checks on a reference and a candidate, and what came of them; findings that are replayed."""

from __future__ import annotations

import importlib.metadata
import json
import platform
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ..errors import SimulacrumError
from ..harness.places import write_atomically
from .case import FORMAT, Case, Difference, Finding
from .checks import CHECKS, PROBES
from .errors import CompareError
from .intended import Intended, applied, documented
from .pair import Pair, mode_named
from .run import FAILED, CheckResult, Run, raised, tried
from .targets import Target

LIBRARIES = ("gymnasium", "numpy", "torch", "torchrl", "envpool", "gymnax", "jax")
FORMAT_REPORT = "simulacrum comparison 1"


@dataclass
class Comparison:
    """What came of a comparison.

    Attributes:
        pair: the two, as they were named.
        seed: what all random actions and seeds of the comparison followed from.
        results: one a check, in order.
    """

    pair: Pair
    seed: int
    results: list[CheckResult] = field(default_factory=list)

    @property
    def passed(self) -> bool:
        """Whether no check failed; intended differences and checks that could not be made are none."""
        return all(result.outcome != FAILED for result in self.results)

    @property
    def findings(self) -> list[Finding]:
        """All findings, the intended ones too."""
        return [finding for result in self.results for finding in result.findings]

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "format": FORMAT_REPORT,
            "reference": _named(self.pair.reference),
            "candidate": _named(self.pair.candidate),
            "state": list(self.pair.state),
            "seed": self.seed,
            "passed": self.passed,
            "versions": versions(),
            "checks": [result.as_dict() for result in self.results],
        }

    def save(self, folder: Path) -> list[Path]:
        """Write each finding as a file that ``simulacrum compare --replay`` reads; the files.

        Raises :class:`~simulacrum.compare.CompareError` for a factory that no text names.
        """
        folder.mkdir(parents=True, exist_ok=True)
        files = []
        for result in self.results:
            for number, finding in enumerate(result.findings):
                name = re.sub(r"[^a-z0-9]+", "-", f"{finding.check} {finding.difference.subject}".lower()).strip("-")
                file = folder / f"{name}.json"
                content = {
                    "format": FORMAT,
                    "reference": self.pair.reference.as_dict(),
                    "candidate": self.pair.candidate.as_dict(),
                    "state": list(self.pair.state),
                    "autoreset": self.pair.autoreset,
                    "versions": versions(),
                    "finding": finding.as_dict(),
                }
                write_atomically(file, (json.dumps(content, indent=1) + "\n").encode())
                result.findings[number] = replace(finding, file=str(file))
                files.append(file)
        return files


def compare(
    reference: str | Target | Callable[..., Any],
    candidate: str | Target | Callable[..., Any],
    *,
    state: Sequence[str] = (),
    autoreset: str | None = None,
    checks: Iterable[str] | None = None,
    seed: int = 0,
    quick: bool = False,
    intended: Iterable[Intended] = (),
    progress: Callable[[str, float], None] | None = None,
    finished: Callable[[CheckResult], None] | None = None,
) -> Comparison:
    """Run all that can be run on a batched environment against a single one, neither of them of our base classes.

    Args:
        reference: a Gymnasium ID, or a function ``() -> gymnasium.Env``, or the text that names one.
        candidate: what :class:`~simulacrum.compare.Target` takes, or a function ``(num_envs) -> VectorEnv | EnvBase``;
            arguments of it that are called ``seed`` and ``max_episode_steps`` are given too.
        state: ``ATTRIBUTE=SOURCE`` texts, by which a reference is brought into a row's state
            (:class:`~simulacrum.compare.references.Links`).
        autoreset: ``next-step``, ``same-step`` or ``disabled``, where the candidate's own behaviour misleads.
        checks: their names; all by default.
        seed: all random actions and seeds follow from it.
        quick: fewer and shorter cases.
        intended: differences that are meant, beside those that their makers document.
        progress: is told a check's name and how much of it is done; ``finished``: each result.

    Raises :class:`~simulacrum.compare.CompareError` for what cannot be made or run, and
    :class:`~simulacrum.errors.SpaceError` for spaces that cannot be compared.

    Example:
        >>> from simulacrum.compare import compare
        >>> comparison = compare("CartPole-v1", "gym:CartPole-v1", checks=["aliasing"], quick=True)
        >>> [(result.name, result.outcome) for result in comparison.results]
        [('aliasing', 'passed')]
    """
    pair = Pair(target(reference), target(candidate), tuple(state), mode_named(autoreset))
    names = tuple(CHECKS) if checks is None else tuple(checks)
    unknown = [name for name in names if name not in CHECKS]
    if unknown:
        raise CompareError(f"checks: expected some of {', '.join(CHECKS)}, got {', '.join(unknown)}")
    _prepare(pair)
    known = [*intended, *documented()]
    comparison, shared = Comparison(pair, seed), {}  # type: ignore[var-annotated]
    for name in names:
        run = Run(pair, seed, quick, PROBES, shared)
        if progress is not None:
            progress(name, 0.0)
            run.progress = lambda share, name=name: progress(name, share)  # type: ignore[misc]
        result = run.check(name, CHECKS[name])
        applied(result, pair.candidate.text, known)
        comparison.results.append(result)
        if finished is not None:
            finished(result)
    return comparison


def replay(file: Path) -> tuple[Finding, list[Difference]]:
    """A saved finding, and what its case shows now. Raises :class:`~simulacrum.compare.CompareError`."""
    content = _content(file)
    finding = content["finding"]
    case = Case.read(finding.get("case"))
    if case.probe not in PROBES:
        raise CompareError(f"{file}: unknown probe {case.probe!r}; another version of simulacrum wrote it")
    pair = Pair(
        Target(**content["reference"]), Target(**content["candidate"]), tuple(content["state"]), content["autoreset"]
    )
    _prepare(pair)
    told = {name: finding[name] for name in ("row", "step", "reference", "candidate", "ulps") if name in finding}
    if "labels" in finding:
        told["labels"] = tuple(finding["labels"])
    was = Difference(finding["subject"], finding["message"], **told)
    saved = Finding(finding["check"], was, case, finding.get("intended", ""), str(file))
    return saved, tried(PROBES[case.probe], pair, case)


def _prepare(pair: Pair) -> None:
    """Raises CompareError where one of the two raises while it is found out how it is seeded and begins anew."""
    try:
        pair.prepare()
    except SimulacrumError:
        raise
    except (Exception, SystemExit) as error:
        raise CompareError(f"trying how it is seeded and begins anew: {raised(pair, error)}") from error


def target(what: str | Target | Callable[..., Any]) -> Target:
    """A target from a text or a function."""
    if isinstance(what, Target):
        return what
    return Target(what) if isinstance(what, str) else Target(getattr(what, "__name__", repr(what)), factory=what)


def versions() -> dict[str, str]:
    """Of Python and the libraries that are installed here."""
    found = {"python": platform.python_version()}
    for name in LIBRARIES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def _named(one: Target) -> dict[str, Any]:
    return {"text": one.text, "options": dict(one.options)}


def _content(file: Path) -> dict[str, Any]:
    try:
        content = json.loads(file.read_bytes().decode())
    except (OSError, ValueError, RecursionError) as error:
        raise CompareError(f"{file}: expected a finding that simulacrum compare saved: {error}") from None
    keys = {"format", "reference", "candidate", "state", "autoreset", "versions", "finding"}
    if not isinstance(content, dict) or content.get("format") != FORMAT or content.keys() != keys:
        raise CompareError(f"{file}: expected a finding that simulacrum compare saved, with the format {FORMAT!r}")
    for name in ("reference", "candidate"):
        one = content[name]
        if not isinstance(one, dict) or one.keys() != {"text", "options"} or not isinstance(one["text"], str):
            raise CompareError(f"{file}: {name}: expected an object with text and options")
        if not isinstance(one["options"], dict):
            raise CompareError(f"{file}: {name}: options: expected an object")
    texts = content["state"]
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise CompareError(f"{file}: state: expected a list of texts")
    if content["autoreset"] is not None:
        mode_named(str(content["autoreset"]))
    finding = content["finding"]
    if not isinstance(finding, dict) or not all(
        isinstance(finding.get(key), str) for key in ("check", "subject", "message")
    ):
        raise CompareError(f"{file}: finding: expected an object with check, subject, message and case")
    labels = finding.get("labels", ["", ""])
    if not isinstance(labels, list) or [type(label) for label in labels] != [str, str]:
        raise CompareError(f"{file}: finding: labels: expected two texts, got {labels!r}")
    return content
