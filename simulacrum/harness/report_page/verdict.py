"""The head of the page: the verdict, when, how far, what was compared."""

from __future__ import annotations

from typing import Any, NamedTuple

from .markup import Markup, clip, hidden, some, table, tag

Content = dict[str, Any]
MARKS = {"passed": "✓", "failed": "✗", "not_applicable": "○"}
WORDS = {"passed": "passed", "failed": "failed", "not_applicable": "not applicable"}
CAUSES = 100  # shown at most


class Refusal(NamedTuple):
    """Why the gate would refuse the report now: a word for it (``stale``, ``edited``), and the gate's own words."""

    word: str
    message: str


def mark(outcome: str) -> Markup:
    """An outcome as a sign and a word."""
    word = WORDS.get(outcome, outcome)
    return tag(
        "span", tag("span", MARKS.get(outcome, "!"), aria_hidden="true"), f" {word}", class_=f"mark {_known(outcome)}"
    )


def name_of(report: Content) -> str:
    """What was checked: its ID or name, and the configuration."""
    package = report["package"]
    config = f" ({package['config']})" if package.get("config") else ""
    return clip(f"{package['id'] or package['name']}{config}", 200)


def word_of(report: Content, refusal: Refusal | None) -> str:
    """The verdict in a word: what the report says, or why it no longer counts."""
    passed = report["outcome"] == "passed"
    return refusal.word if passed and refusal is not None else WORDS.get(report["outcome"], "unknown")


def head(report: Content, refusal: Refusal | None) -> Markup:
    """Name, verdict, when, profile, seed and duration; what the gate says of it now."""
    word = word_of(report, refusal)
    failed = sum(check["outcome"] == "failed" for check in report["checks"])
    findings = sum(len(check["findings"]) for check in report["checks"])
    passed = sum(check["outcome"] == "passed" for check in report["checks"])
    said = f"{passed} of {len(report['checks'])} checks passed"
    if failed:
        said += f", {failed} failed with {findings} finding{'' if findings == 1 else 's'}"
    return tag(
        "div",
        tag("h1", name_of(report)),
        tag(
            "p",
            tag("span", MARKS.get(word, "!"), class_="sign", aria_hidden="true"),
            tag("strong", word),
            tag("span", said, class_="said"),
            class_=f"verdict {_known(word)}",
        ),
        _gate(report, refusal),
        tag("dl", [tag("div", tag("dt", name), tag("dd", value)) for name, value in _when(report)], class_="facts"),
    )


def totals(report: Content) -> Markup:
    """What was compared, which ends were seen, which combinations are covered."""
    counted = [(name, value) for name, value in report["totals"].items() if isinstance(value, (int, float))]
    tiles = [tag("div", tag("dt", name), tag("dd", f"{value:,}")) for name, value in counted]
    covered = [" ".join(str(part) for part in one.values()) for one in report["combinations"]]
    shown, left = some(list(report["totals"]["causes"].items()), CAUSES)
    most = max([value for _, value in shown], default=1)
    causes = table(
        "How often each cause ended an episode",
        ("Cause", "Seen", hidden("as a bar")),
        [(clip(name, 200), int(value), bar(value, most)) for name, value in shown],
    )
    return tag(
        "section",
        tag("h2", "What was compared", id="compared"),
        tag("dl", tiles, class_="tiles"),
        tag("div", tag("h3", "Ends of episodes"), causes if shown else tag("p", "No cause was counted."), _left(left)),
        tag(
            "div",
            tag("h3", "Covered combinations"),
            tag("ul", [tag("li", clip(one, 200)) for one in some(covered, CAUSES)[0]], class_="chips")
            if covered
            else tag("p", "None: nothing of it loads."),
        ),
        aria_labelledby="compared",
    )


def bar(value: float, most: float) -> Markup:
    """A value's share of the greatest, as a bar beside a number that says the same."""
    width = 100 * value / most if most else 0
    return tag(
        "svg",
        tag("rect", width="100", height="6", rx="3", class_="track"),
        tag("rect", width=f"{max(width, 1):.1f}", height="6", rx="3", class_="filled"),
        viewBox="0 0 100 6",
        class_="bar",
        aria_hidden="true",
        focusable="false",
    )


def command(line: str) -> Markup:
    """A command, with a button that copies it (where a script can)."""
    copy = tag("button", "Copy", hidden(f": {line}"), type="button", class_="copy", hidden=True)
    return tag("div", tag("code", clip(line, 2000)), copy, class_="command")


def _gate(report: Content, refusal: Refusal | None) -> Markup | None:
    if refusal is None or refusal.word == "failed":
        return None
    what, _, remedy = clip(refusal.message).partition("\nrun: ")
    title = "The gate refuses it now" if report["outcome"] == "passed" else "It does not load"
    return tag(
        "div",
        tag("p", tag("strong", f"{title}. "), what),
        command(remedy) if remedy else None,
        class_="notice",
    )


def _when(report: Content) -> list[tuple[str, Any]]:
    minutes, seconds = divmod(round(report["seconds"]), 60)
    took = f"{minutes} min {seconds} s" if minutes else f"{seconds} s"
    finished = clip(report["finished"], 60)
    return [
        ("Finished", tag("time", finished.replace("T", " ").replace("+00:00", " UTC"), datetime=finished)),
        ("Took", took),
        ("Profile", clip(report["profile"], 60)),
        ("Seed", str(report["seed"])),
    ]


def _left(words: str) -> Markup | None:
    return tag("p", words, class_="quiet") if words else None


def _known(outcome: str) -> str:
    """A class for an outcome."""
    return outcome if outcome in MARKS else "warned"
