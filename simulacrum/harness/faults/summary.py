"""What a matrix of faults and checks says: shares, survivors, and what each check is there for."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from .matrix import Result

GROUPS = ("domain", "generic", "both", "kernel")


@dataclass(frozen=True)
class Summary:
    """The results of one package, and the written reasons for mutants that change nothing observable.

    Args:
        package: its ID.
        results: in any order.
        excused: reasons by mutant.
        whole: whether all the generic mutants ran, so that a reason without a mutant is a stale one.
    """

    package: str
    results: Sequence[Result]
    excused: Mapping[str, str]
    whole: bool = False

    @property
    def counted(self) -> list[Result]:
        """The results that count: a fault meant for both sides on which these differ is no misreading."""
        return [result for result in self.results if result.alike]

    def of(self, group: str, kind: str | None = None) -> list[Result]:
        """The results of a group, or of one kind in it."""
        return [one for one in self.counted if one.group == group and kind in (None, one.kind)]

    def survivors(self, group: str) -> list[Result]:
        """Those that no check found."""
        return [result for result in self.of(group) if not result.found_by]

    def unexplained(self) -> list[Result]:
        """The generic survivors without a written reason."""
        return [result for result in self.survivors("generic") if result.name not in self.excused]

    @property
    def passed(self) -> bool:
        """Whether every domain fault and every fault of a kernel was found, and every generic survivor has a reason."""
        return not (self.survivors("domain") or self.survivors("kernel") or self.unexplained())

    def shares(self) -> list[tuple[str, int, int, int]]:
        """(group or kind, faults, found, set aside), the group's line before its kinds'.

        Set aside are survivors with a reason, and faults meant for both sides on which these differ.
        """
        rows = []
        for group in dict.fromkeys(result.group for result in self.results):
            mine = [result for result in self.results if result.group == group]
            kinds = dict.fromkeys(result.kind for result in mine) if group == "domain" else ()
            parts = [(group, mine), *((f"  {kind}", [one for one in mine if one.kind == kind]) for kind in kinds)]
            for title, results in parts:
                found = sum(bool(result.found_by) and result.alike for result in results)
                aside = sum(
                    not result.alike or (not result.found_by and result.name in self.excused) for result in results
                )
                rows.append((title, len(results), found, aside))
        return rows

    def finders(self) -> list[tuple[str, int, int, int]]:
        """(check, how many it found, of how many it was the first and only one to tell)."""
        names = dict.fromkeys(name for result in self.counted for name in result.found_by)
        rows = []
        for name in names:
            found = [result for result in self.counted if name in result.found_by]
            first = sum(result.found_by[0] == name for result in found)
            rows.append((name, len(found), first, sum(result.found_by == [name] for result in found)))
        return sorted(rows, key=lambda row: -row[1])

    def median_steps(self) -> float | None:
        """The median length of the findings that tell one."""
        lengths = [result.steps for result in self.counted if result.found_by and result.steps is not None]
        return statistics.median(lengths) if lengths else None

    def remarks(self) -> list[str]:
        """Reasons that are out of place, and faults that were set aside."""
        found = {result.name: result for result in self.of("generic")}
        lines = []
        for name in self.excused:
            if name not in found and self.whole:
                lines.append(f"EQUIVALENT names a mutant that there is not: {name}")
            elif name in found and found[name].found_by:
                lines.append(f"EQUIVALENT names a mutant that {found[name].found_by[0]} finds: {name}")
        unlike = [result.name for result in self.results if not result.alike]
        return lines + [
            f"the two sides differ or do not run, so this is no misreading of both: {name}" for name in unlike
        ]


def lines(summary: Summary, every: bool) -> list[str]:
    """The summary for a terminal or a log; ``every``: whether all checks ran on each fault."""
    told = [f"{'faults':<18}{'put in':>8}{'set aside':>11}{'found':>8}{'share':>9}"]
    for title, number, found, reasons in summary.shares():
        told.append(f"{title:<18}{number:>8}{reasons:>11}{found:>8}{_share(found, number - reasons):>9}")
    told += ["", f"{'check':<28}{'finds':>8}{'first':>8}" + (f"{'alone':>8}" if every else "")]
    for name, found, first, only in summary.finders():
        told.append(f"{name:<28}{found:>8}{first:>8}" + (f"{only:>8}" if every else ""))
    median = summary.median_steps()
    told += ["", f"median length of a finding: {'not told' if median is None else f'{median:g} steps'}"]
    for group in GROUPS:
        for result in summary.survivors(group):
            reason = summary.excused.get(result.name) if group == "generic" else None
            told.append(f"not found ({group}): {result.name}" + (f": {reason}" if reason else ""))
    return told + summary.remarks()


def markdown(summary: Summary, every: bool) -> str:
    """The same as a part of a page."""
    head = ["fault", "kind", "found by", "steps", "seconds"]
    told = [
        f"## {summary.package}",
        "",
        *_table(
            ["faults", "put in", "set aside with a reason", "found", "share of the others"],
            [
                [
                    title.replace("  ", "&nbsp;&nbsp;"),
                    *(str(number), str(reasons), str(found), _share(found, number - reasons)),
                ]
                for title, number, found, reasons in summary.shares()
            ],
        ),
    ]
    told += [
        "",
        *_table(
            ["check", "finds", "is first", *(["finds alone"] if every else [])],
            [
                [f"`{name}`", str(found), str(first), *([str(only)] if every else [])]
                for name, found, first, only in summary.finders()
            ],
        ),
    ]
    median = summary.median_steps()
    told += ["", f"Median length of a finding: {'not told' if median is None else f'{median:g} steps'}."]
    told += ["", "Not found:", ""]
    for group in GROUPS:
        for result in summary.survivors(group):
            told.append(f"- {group}: {result.name}: {summary.excused.get(result.name, 'no reason is written')}")
    told += ["- nothing"] if told[-1] == "" else []
    told += [f"- {remark}" for remark in summary.remarks()]
    rows = [
        [result.name, result.kind, ", ".join(result.found_by) or "-", _number(result.steps), f"{result.seconds:.1f}"]
        for result in summary.counted
        if result.group != "generic"
    ]
    return "\n".join([*told, "", *_table(head, rows), ""])


def _share(found: int, number: int) -> str:
    """A share in per cent; of nothing, all."""
    return f"{found / number if number else 1.0:.1%}"


def _number(value: int | None) -> str:
    return "" if value is None else str(value)


def _table(head: list[str], rows: list[list[str]]) -> list[str]:
    cells = [[cell.replace("|", "\\|") for cell in row] for row in rows]
    return [f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *cells)]
