"""A case (what to do to a candidate), a difference (what came of it), a finding (both, to be replayed)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..harness.values import decoded, encoded
from .errors import CompareError

FORMAT = "simulacrum comparison finding 1"
SIDES = ("reference", "candidate")


@dataclass(frozen=True)
class Case:
    """What to do: begin ``rows`` instances with ``seed``, then play ``actions`` ([steps, rows, ...]).

    Attributes:
        probe: the name of what is done with them, one of ``simulacrum.compare.probes``.
        limit: a time limit put on both sides, None for their own.
        extra: what a probe needs beside, JSON values.
    """

    probe: str
    rows: int
    seed: int
    actions: np.ndarray
    limit: int | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)

    @property
    def steps(self) -> int:
        """How many steps are played."""
        return len(self.actions)

    def cut(self, steps: int) -> Case:
        """The case with its first steps alone."""
        return replace(self, actions=self.actions[:steps])

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "probe": self.probe,
            "rows": self.rows,
            "seed": self.seed,
            "actions": encoded(self.actions),
            "limit": self.limit,
            "extra": dict(self.extra),
        }

    @classmethod
    def read(cls, content: Any) -> Case:
        """What :meth:`as_dict` gave. Raises :class:`~simulacrum.errors.CompareError`."""
        keys = {"probe", "rows", "seed", "actions", "limit", "extra"}
        if not isinstance(content, dict) or content.keys() != keys:
            raise CompareError(f"case: expected an object with {', '.join(sorted(keys))}")
        sizes = {"rows": 1, "seed": 0, **({} if content["limit"] is None else {"limit": 1})}
        for name, least in sizes.items():
            if type(content[name]) is not int or content[name] < least:
                raise CompareError(f"case: {name}: expected a whole number from {least} on, got {content[name]!r}")
        if not isinstance(content["extra"], dict) or not isinstance(content["probe"], str):
            raise CompareError("case: expected a probe's name and an object as extra")
        try:
            actions = decoded(content["actions"])
        except ValueError as error:
            raise CompareError(f"case: actions: {error}") from None
        if actions is None or actions.ndim < 2 or actions.shape[1] != content["rows"]:
            came = None if actions is None else list(actions.shape)
            raise CompareError(f"case: actions: expected [steps, {content['rows']}, ...], got {came}")
        return cls(**{**content, "actions": actions})


@dataclass(frozen=True)
class Difference:
    """What came otherwise than it should.

    Attributes:
        subject: what differs, in a few fixed words: findings are told apart, and intended ones named, by it.
        message: what was expected and what came.
        row, step: where; step 0 is the reset, step 1 the first step.
        reference, candidate: both values, with dtype and bits where they print alike.
        labels: what the two values are of, where it is not the two sides.
        ulps: by how many representable floats they lie apart at most.
    """

    subject: str
    message: str
    row: int | None = None
    step: int | None = None
    reference: str = ""
    candidate: str = ""
    labels: tuple[str, str] = SIDES
    ulps: int | None = None

    def as_dict(self) -> dict[str, Any]:
        """What is set, for JSON."""
        told = {name: value for name, value in vars(self).items() if name != "labels" and value not in (None, "")}
        return told if self.labels == SIDES else {**told, "labels": list(self.labels)}

    def text(self) -> str:
        """For people: the message, the place, both values."""
        at = ", ".join(
            f"{name} {value}" for name, value in (("row", self.row), ("step", self.step)) if value is not None
        )
        lines = [f"{self.subject}: {self.message}{f' ({at})' if at else ''}"]
        values = zip(self.labels, (self.reference, self.candidate), strict=True)
        lines += [f"  {label:<10} {value}" for label, value in values if value]
        return "\n".join(lines)


@dataclass(frozen=True)
class Finding:
    """A difference, and the smallest case found that shows it; ``intended`` tells why it is meant, and who says so."""

    check: str
    difference: Difference
    case: Case
    intended: str = ""
    file: str = ""

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        intended = {"intended": self.intended} if self.intended else {}
        return {"check": self.check, **self.difference.as_dict(), **intended, "case": self.case.as_dict()}

    def text(self) -> str:
        """For people."""
        case = f"{_many(self.case.steps, 'step')}, {_many(self.case.rows, 'row')}, seed {self.case.seed}"
        if self.case.limit:
            case += f", time limit {self.case.limit}"
        if 0 < self.case.actions.size <= 24:
            case += f", actions {self.case.actions.tolist()}"
        lines = [f"{self.check}: {self.difference.text()}", f"  {'case':<10} {case}"]
        lines += [f"  {'intended':<10} {self.intended}"] if self.intended else []
        lines += [f"  {'replay':<10} simulacrum compare --replay {self.file}"] if self.file else []
        return "\n".join(lines)


def _many(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
