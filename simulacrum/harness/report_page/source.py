"""``reference.py`` with its coverage: each line as it was executed, each decision as it went."""

from __future__ import annotations

import ast
import hashlib
import io
import keyword
import tokenize
from typing import Any, NamedTuple

from .markup import Markup, clip, hidden, join, some, tag, text
from .verdict import Content

FILE = "reference.py"
STATES = {  # of a line: sign, word, meaning
    "executed": ("●", "executed", "it ran, and each of its decisions went every way"),
    "partly": ("◐", "partly", "it ran, but a decision of it went one way only"),
    "never": ("○", "never", "it did not run"),
    "excused": ("◇", "excused", "what did not happen is excused in checks.py"),
}
LINES, DECISIONS = 3000, 40  # shown at most: of the file, of a line


class Line(NamedTuple):
    """A line of the source: its state (empty where nothing is counted), how often it ran, the decisions on it."""

    number: int
    source: Markup
    state: str
    times: int | None
    decisions: list[Content]


def section(report: Content, source: bytes | None) -> Markup:
    """The source, coloured, or why it cannot be."""
    facts: Content = next((check["facts"] for check in report["checks"] if check["name"] == "coverage"), {})
    return tag(
        "section",
        tag("h2", "Coverage of the reference", id="coverage"),
        _body(report, facts, source),
        aria_labelledby="coverage",
    )


def _body(report: Content, facts: Content, source: bytes | None) -> Any:
    if "lines" not in facts or "decisions" not in facts:
        return tag("p", "The coverage check recorded no lines.")
    if source is None:
        return tag("p", f"{FILE} is not here, so its lines cannot be shown.")
    validated = report["fingerprint"].get("package", {}).get(FILE)
    if hashlib.sha256(source).hexdigest() != validated:
        return tag(
            "p", f"{FILE} has changed since this report was made, so its lines are not coloured.", class_="notice"
        )
    try:
        lines = covered(source.decode(), facts)
    except (UnicodeDecodeError, SyntaxError):
        return tag("p", f"{FILE} is no Python source that can be shown.", class_="notice")
    shown, left = some(lines, LINES)
    return [_summary(lines, facts), _legend(), _table(shown), tag("p", left, class_="quiet") if left else None]


def covered(source: str, facts: Content) -> list[Line]:
    """The lines of a source with what the coverage check counted. Raises SyntaxError for what is no Python."""
    times, decisions = _times(facts["lines"]), _decisions(facts["decisions"])
    excusing = _excusing(ast.parse(source), decisions)
    lines = []
    for number, shown in enumerate(highlighted(source), 1):
        blank = not shown or shown.lstrip().startswith('<span class="comment">')
        count, here = None if blank else times.get(number), decisions.get(number, [])
        state = _state(count, here, number in excusing)
        if count is None and len(here) == 1 and [*here[0]["times"]] == ["entered"]:  # a function: its entries say all
            count, here = here[0]["times"]["entered"], []
        lines.append(Line(number, shown, state, count, here))
    return lines


def highlighted(source: str) -> list[Markup]:
    """Each line of a source as HTML: comments, texts and keywords marked."""
    lines = source.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    marks: list[list[tuple[int, int, str]]] = [[] for _ in lines]
    for token in tokenize.generate_tokens(io.StringIO("\n".join(lines)).readline):
        kind = {tokenize.COMMENT: "comment", tokenize.STRING: "text"}.get(token.type)
        if token.type == tokenize.NAME and keyword.iskeyword(token.string):
            kind = "word"
        if kind is not None:
            (first, start), (last, end) = token.start, token.end
            for row in range(first, last + 1):
                width = len(lines[row - 1]) if row < last else end
                marks[row - 1].append((start if row == first else 0, width, kind))
    shown = [_marked(line, spans) for line, spans in zip(lines, marks, strict=True)]
    return shown if lines[-1] else shown[:-1]


def _marked(line: str, spans: list[tuple[int, int, str]]) -> Markup:
    parts: list[Any] = []
    done = 0
    for start, end, kind in spans:
        parts += [line[done:start], tag("span", line[start:end], class_=kind)]
        done = end
    return join([*parts, line[done:]]) if line.strip() else Markup("")


def _times(lines: dict[str, int]) -> dict[int, int]:
    """How often each line ran: the least of the statements on it."""
    found: dict[int, int] = {}
    for span, times in lines.items():
        first, _, last = span.partition("-")
        for number in range(int(first), int(last or first) + 1):
            found[number] = min(times, found.get(number, times))
    return found


def _decisions(listed: list[Content]) -> dict[int, list[Content]]:
    found: dict[int, list[Content]] = {}
    for decision in listed:
        found.setdefault(decision["line"], []).append(decision)
    return found


def _excusing(tree: ast.Module, decisions: dict[int, list[Content]]) -> set[int]:
    """The lines under a decision with an excuse: where it is never so, they do not run."""
    found: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, (ast.stmt, ast.ExceptHandler)) and hasattr(node, "body"):
            head = range(node.lineno, node.body[0].lineno + 1)
            if any("excused" in decision for line in head for decision in decisions.get(line, ())):
                found.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return found


def _state(times: int | None, decisions: list[Content], excused: bool) -> str:
    """What a line is shown as."""
    missed = [(decision, which) for decision in decisions for which, number in decision["times"].items() if not number]
    open_ = [which for decision, which in missed if which not in decision.get("excused", {})]
    if open_:
        return (
            "never" if times == 0 or (times is None and len(open_) == len(missed) == _outcomes(decisions)) else "partly"
        )
    if missed:
        return "excused"
    if times is None:
        return "executed" if decisions else ""
    return "executed" if times else "excused" if excused else "never"


def _outcomes(decisions: list[Content]) -> int:
    return sum(len(decision["times"]) for decision in decisions)


def _summary(lines: list[Line], facts: Content) -> Markup:
    counted = [line for line in lines if line.state]
    went = [number for decision in facts["decisions"] for number in decision["times"].values()]
    ran = sum(line.state != "never" and line.times != 0 for line in counted)
    return tag(
        "p",
        f"{ran:,} of {len(counted):,} lines inside functions ran, and {sum(map(bool, went)):,} of {len(went):,} "
        "outcomes of decisions were seen, among the compared transitions of this check.",
    )


def _legend() -> Markup:
    return tag(
        "ul",
        [
            tag("li", tag("span", sign, class_=f"state {name}", aria_hidden="true"), tag("strong", word), f" {meaning}")
            for name, (sign, word, meaning) in STATES.items()
        ],
        class_="legend",
    )


def _table(lines: Any) -> Markup:
    head = [tag("th", name, scope="col") for name in ("Line", "Ran", "Source")]
    return tag(
        "div",
        tag(
            "table",
            tag("caption", f"{FILE}, line by line", class_="unseen"),
            tag("thead", tag("tr", head)),
            tag("tbody", [_row(line) for line in lines]),
            class_="source",
        ),
        class_="scrolls code",
        role="region",
        tabindex="0",
        aria_label=f"{FILE}, line by line",
    )


def _row(line: Line) -> Markup:
    sign, word, _ = STATES.get(line.state, ("", "", ""))
    times = "" if line.times is None else f"{line.times:,}"
    state = tag("span", sign, class_="state", aria_hidden="true") if sign else None
    return tag(
        "tr",
        tag("th", str(line.number), scope="row"),
        tag("td", state, hidden(f"{word} ") if word else None, times, class_="ran"),
        tag("td", tag("div", tag("code", line.source), _ways(line), class_="line")),
        class_=line.state or None,
        id=f"line-{line.number}",
    )


def _ways(line: Line) -> Markup | None:
    """How often each decision of a line went which way; of several, to open, and open where one went one way only."""
    if len(line.decisions) < 2:
        return tag("span", *map(_went, line.decisions), class_="decisions went") if line.decisions else None
    shown, left = some(line.decisions, DECISIONS)
    listed = [
        tag("li", tag("code", clip(decision["text"], 200)), tag("span", _went(decision), class_="went"))
        for decision in shown
    ]
    return tag(
        "details",
        tag("summary", f"{len(line.decisions)} decisions", hidden(f" of line {line.number}")),
        tag("ul", listed, tag("li", left) if left else None),
        class_="decisions",
        open=line.state in ("partly", "excused"),
    )


def _went(decision: Content) -> Markup:
    parts = []
    for which, times in decision["times"].items():
        reason = decision.get("excused", {}).get(which)
        said = f"{clip(which, 40)} {times:,}" + (f" (excused: {clip(reason, 400)})" if reason else "")
        parts.append(tag("span", said, class_=None if times else "excused-way" if reason else "missed"))
    return join(parts, text(" "))
