"""Figures in the texts: what docs/figures/*.json hold, put where the texts ask for it.

``python docs/figures.py`` tells where a text and its file differ (exit code 1); ``--write`` mends it. A text asks by
comments, which no reader sees::

    <!-- figures: VIEW NAME ... -->
    what the view makes of the files of these names
    <!-- end -->

    in <!-- figure: NAME content/seconds .0f -->54<!-- end --> seconds

In the second form come the file, the place in it (names with slashes), and a format; ``M.0f`` is in millions,
``k.0f`` in thousands. ``docs/measure.py`` writes the files.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
FIGURES = ROOT / "docs" / "figures"
BLOCK = re.compile(r"(<!-- figures: (?P<asked>[^\n]+?) -->\n)(?P<body>.*?)(<!-- end -->)", re.DOTALL)
INLINE = re.compile(
    r"(<!-- figure: (?P<name>\S+) (?P<place>[^\n]+?) (?P<format>\S+) -->)(?P<body>[^\n]*?)(<!-- end -->)"
)
UNITS = {"M": 1e6, "k": 1e3}


@cache
def load(name: str) -> dict[str, Any]:
    """The file of a name. Raises FileNotFoundError with the command that writes it."""
    file = FIGURES / f"{name}.json"
    if not file.exists():
        raise FileNotFoundError(f"{file}: no such figures: run python docs/measure.py {name}")
    content: dict[str, Any] = json.loads(file.read_text())
    return content


def command(told: dict[str, Any]) -> str:
    """The command of a file, without where it wrote."""
    return re.sub(r" --\w+ (FILE|FOLDER)$", "", told["command"])


def output(name: str) -> str:
    """What the command printed, under the command."""
    told = load(name)
    lines = "\n".join(line.rstrip() for line in told["output"]).strip("\n")
    return f"`{command(told)}`:\n\n```text\n{lines}\n```\n\n{measured(name)}"


def table(name: str) -> str:
    """A table that the command printed in Markdown."""
    return "\n".join(line for line in load(name)["output"] if line.startswith("|")) + f"\n\n{measured(name)}"


def measured(*names: str) -> str:
    """When and on what."""
    told = [load(name) for name in names]
    dates = sorted({one["date"] for one in told})
    first = told[0]
    versions = f"Python {first['machine']['python']}, torch {first['versions']['torch']}"
    where = f"{first['machine']['cores']} cores of an {first['machine']['processor']}"
    commands = ", ".join(f"`{command(one)}`" for one in told)
    return f"Measured on {' and '.join(dates)} on {where}, {versions}, by {commands}.\n"


def speed(*names: str) -> str:
    """Reports' throughput: a row a package, millions of steps a second."""
    forms = ("reference", "eager", "compiled", "kernel")
    lines = [
        "| environment | reference | tensors, eager | tensors, compiled | kernel | ratio |",
        "|---|---|---|---|---|---|",
    ]
    for name in names:
        content = load(name)["content"]
        rates = [content["throughput"].get(f"{form} steps per second") for form in forms]
        cells = ["" if rate is None else f"{rate / 1e6:.3g}" for rate in rates]
        lines.append(f"| {content['package']['name']} | {' | '.join(cells)} | {content['throughput']['ratio']:,.0f} |")
    return "\n".join(lines) + f"\n\n{measured(*names)}"


def boards(*names: str, threads: int = 0, sizes: int = 99) -> str:
    """Sweeps of many agents: a row for each size and number of threads."""
    lines = [
        "| configuration | boards | threads | million agent-steps/s | times CartPole |",
        "|---|---:|---:|---:|---:|",
    ]
    for name in names:
        told = load(name)
        config = told["command"].split("--config ")[1].split()[0]
        groups = [one for one in told["content"]["groups"] if threads in (0, one["threads"])]
        for group in groups[:sizes]:
            for form, timing in group["forms"].items():
                if form == "kernel":
                    lines.append(
                        f"| `{config}` | {group['batch size']} | {group['threads']} | "
                        f"{timing['steps per second'] / 1e6:.1f} | {timing['ratio to yardstick']:.2f} |"
                    )
    return "\n".join(lines) + f"\n\n{measured(*names)}"


def agents(*names: str) -> str:
    """The same in one thread, at the first size of each."""
    return boards(*names, threads=1, sizes=1)


def training(*names: str) -> str:
    """What training printed when it ended."""
    parts = []
    for name in names:
        told = load(name)
        last = [line for line in told["output"] if re.match(r"[\d,]+ steps in |greedy|sampled|random", line)]
        parts.append(f"`{command(told)}`:\n\n```text\n" + "\n".join(last) + "\n```\n")
    return "\n".join(parts) + f"\n{measured(*names)}"


def faults(name: str) -> str:
    """The section of one environment in the page of faults."""
    from simulacrum.harness.faults.matrix import Result
    from simulacrum.harness.faults.summary import Summary, markdown

    content = load(name)["content"]
    results = [Result(**one) for one in content["results"]]
    return f"{markdown(Summary(content['id'], results, content['excused'], whole=True), False).rstrip()}\n"


VIEWS: dict[str, Callable[..., str]] = {
    one.__name__: one for one in (output, table, measured, speed, boards, agents, training, faults)
}


def block(found: re.Match[str]) -> str:
    """A block as its files have it."""
    view, *names = found["asked"].split()
    if view not in VIEWS:
        raise ValueError(f"figures: expected one of the views {', '.join(VIEWS)}, got {view}")
    return f"{found[1]}{VIEWS[view](*names)}{found[4]}"


def inline(found: re.Match[str]) -> str:
    """One figure as its file has it."""
    value: Any = load(found["name"])
    for part in found["place"].split("/"):
        value = value[int(part)] if isinstance(value, list) else value[part]
    unit = UNITS.get(found["format"][0])
    text = format(value / unit, found["format"][1:]) if unit else format(value, found["format"])
    return f"{found[1]}{text}{found[6]}"


def filled(text: str) -> str:
    """A text with its figures as the files have them."""
    return INLINE.sub(inline, BLOCK.sub(block, text))


def texts() -> list[Path]:
    """The texts that may ask for figures."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def main(arguments: list[str]) -> int:
    """Check, or write; 1 where a text differs from its file."""
    differs = 0
    for file in texts():
        before = file.read_text()
        after = filled(before)
        if before != after:
            differs += 1
            if "--write" in arguments:
                file.write_text(after)
            print(f"{file.relative_to(ROOT)}: {'written' if '--write' in arguments else 'differs from docs/figures'}")
    return 0 if "--write" in arguments else min(differs, 1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
