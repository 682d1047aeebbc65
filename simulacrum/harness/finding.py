"""``Finding``: one failure, with all that a person needs to see it again."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


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
        replay: the command that shows the finding again.
        trajectories: the file with both sides' trajectories.
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
    trajectories: str = ""

    def as_dict(self) -> dict[str, Any]:
        """What is set, for JSON."""
        return {name: value for name, value in asdict(self).items() if value not in ("", None)}

    def text(self) -> str:
        """The finding as lines for people."""
        where = [f"{name} {value}" for name, value in self._where() if value is not None and value != ""]
        lines = [f"{self.check}: {self.message}"]
        if where:
            lines.append("  at         " + ", ".join(where))
        for name in ("field", "action", "reference", "fast", "trajectories", "replay"):
            if getattr(self, name):
                lines.append(f"  {name:<10} {getattr(self, name)}")
        return "\n".join(lines)

    def _where(self) -> list[tuple[str, Any]]:
        return [
            ("with", self.setting),
            ("instance", self.instance),
            ("seed", self.seed),
            ("episode", self.episode),
            ("step", self.step),
        ]
