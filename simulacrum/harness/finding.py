"""``Finding``: one failure, with all that a person needs to see it again."""

from __future__ import annotations

import shlex
from dataclasses import asdict, dataclass
from typing import Any

__all__ = ["Finding"]

OTHER_FORM = "the kernel form (below: fast) differs from the tensor form (below: reference)"


@dataclass(frozen=True)
class Finding:
    """One failure of one check.

    Attributes:
        check: the check's name.
        message: what was expected and what came, in one or a few lines.
        setting: how the fast side ran (batch size, form), where it matters.
        instance: the row; ``seed``, ``episode`` and ``step`` are that row's instance seed, episode and step ``t``.
        field: the first thing that differs.
        reference, fast: both values, with dtype and bits where they print alike.
        action: the action of the step.
        reached: how the state was reached, where that is not by playing (``no rollout reached it``, say).
        hint: the likely cause, and what to look at, where the pattern is known.
        rule: the rules of the spec that the sources name where they set the field.
        steps, rows: transitions and rows of the shrunk case; 0 steps for a first state.
        file: the case, and what both sides do in it; ``simulacrum explain FILE`` shows it.
        replay: the command that runs the check again with the same seed.

    Example:
        >>> from simulacrum.harness.finding import Finding
        >>> finding = Finding("differential", "the sides differ", seed=3, step=7, field="reward", reference="1.0")
        >>> print(finding.text())
        differential: the sides differ
          at         seed 3, step 7
          field      reward
          reference  1.0
    """

    check: str
    message: str
    setting: str = ""
    instance: int | None = None
    seed: int | None = None
    episode: int | None = None
    step: int | None = None
    field: str = ""
    reference: str = ""
    fast: str = ""
    action: str = ""
    replay: str = ""
    reached: str = ""
    hint: str = ""
    rule: str = ""
    steps: int | None = None
    rows: int | None = None
    file: str = ""

    def as_dict(self) -> dict[str, Any]:
        """What is set, for JSON."""
        return {name: value for name, value in asdict(self).items() if value not in ("", None)}

    def brief(self) -> str:
        """The finding in two lines, where one like it has been told in full."""
        values = self._values()
        return f"{self.check}: {self.message}, {self.field}: as above\n  {values['explain'] or self.replay}"

    def text(self) -> str:
        """The finding as lines for people."""
        where = [f"{name} {value}" for name, value in self._where() if value is not None and value != ""]
        lines = [f"{self.check}: {self.message}"]
        if where:
            lines.append("  at         " + ", ".join(where))
        for name, value in self._values().items():
            if value:
                lines.append(f"  {name:<10} " + "\n             ".join(value.splitlines()))
        return "\n".join(lines)

    def _where(self) -> list[tuple[str, Any]]:
        return [
            ("with", self.setting),
            ("instance", self.instance),
            ("seed", self.seed),
            ("episode", self.episode),
            ("step", self.step),
        ]

    def _values(self) -> dict[str, str]:
        names = ("field", "action", "reference", "fast", "reached", "hint", "rule")
        case = f"{_many(self.steps, 'transition')} of {_many(self.rows, 'row')}" if self.file else ""
        return {
            **{name: getattr(self, name) for name in names},
            "case": case,
            "explain": f"simulacrum explain {shlex.quote(self.file)}" if self.file else "",
            "replay": self.replay,
        }


def _many(number: int | None, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
