"""Writes the measured speeds into the article: the table between two marks of index.html.

``python docs/article/figures.py`` reads what ``python docs/measure.py bench-toywalk bench-forager`` wrote.
Nothing in that table is typed by hand; a test fails when page and files differ.
"""

from __future__ import annotations

import html
import json
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
PAGE = HERE / "index.html"
FILES = [HERE.parent / "figures" / f"bench-{name}.json" for name in ("toywalk", "forager")]
BEGIN, END = "<!-- figures: written by figures.py -->", "<!-- end of figures -->"
SIZES = (1, 1024, 8192, 65536)  # of those measured
NAMES = {"eager": "tensors", "compiled": "tensors, compiled", "kernel": "a loop kernel"}

Result = dict[str, Any]


def block(results: list[Result]) -> str:
    """The table, as it stands between the marks."""
    sizes = [size for size in SIZES if all(size in _groups(result) for result in results)]
    heads = "".join(
        f'<th scope="col">{words}</th>'
        for words in ("environment, form", *(f"N = {size:,}" for size in sizes), "at best")
    )
    lines = [line for result in results for line in _rows(result, sizes)]
    top = f"{HEAD}<thead><tr>{heads}</tr></thead><tbody>"
    return "\n".join([BEGIN, top, *lines, "</tbody></table></div>", *map(_source, results), END])


HEAD = (
    '<div class="scroll" tabindex="0" role="region" aria-label="Measured speeds">'
    '<table class="plain speeds"><caption class="unseen">Steps per second by form and batch size</caption>'
)


def _groups(result: Result) -> dict[int, Result]:
    """What was measured with one thread, by batch size."""
    return {group["batch size"]: group for group in result["groups"] if group["threads"] == 1}


def _rows(result: Result, sizes: list[int]) -> list[str]:
    groups = _groups(result)
    name = result["environment"].split("/")[-1].rsplit("-v", 1)[0]
    empty = "<td></td>" * (len(sizes) - 1)
    lines = [_row(f"{name}, one instance", [groups[1]["reference"]["steps per second"]], empty, "the reference")]
    for form, words in NAMES.items():
        measured = [groups[size]["forms"][form] for size in sizes if form in groups[size]["forms"]]
        if len(measured) == len(sizes):
            best = max(one["ratio to reference"] for one in measured)
            rates = [one["steps per second"] for one in measured]
            lines.append(_row(f"{name}, {words}", rates, "", f"{_short(best)} times"))
    return lines


def _row(name: str, rates: list[float], empty: str, best: str) -> str:
    cells = "".join(f'<td data-rate="{round(rate)}">{_short(rate)}</td>' for rate in rates)
    return f'<tr><th scope="row">{html.escape(name)}</th>{cells}{empty}<td>{best}</td></tr>'


def _short(value: float) -> str:
    """Three digits that count, with thousands marked: 8,330 or 401 million."""
    for scale, word in ((1e6, " million"), (1, "")):
        if value >= scale or scale == 1:
            digits = float(f"{value / scale:.3g}")
            return f"{digits:,.0f}{word}" if digits >= 100 else f"{digits:g}{word}"
    raise AssertionError(value)


def _source(result: Result) -> str:
    machine, versions = result["machine"], result["versions"]
    command = f"<code>{html.escape(result['command'])}</code>"
    where = html.escape(f"{result['time'][:10]}, {machine['processor']}, {machine['system']}, {versions['Python']}")
    yardstick = _short(result["groups"][0]["yardstick"]["steps per second"])
    invalid = " These forms were not validated when they were measured." if result["not validated"] else ""
    torch = html.escape(versions["torch"])
    return (
        f'<p class="key">{command}, {where}, torch {torch}. In the same run Gymnasium\'s vector CartPole makes '
        f"{yardstick} steps per second.{invalid}</p>"
    )


def read(files: list[Path] | None = None) -> list[Result]:
    """The results. Raises :class:`SystemExit` for a run that was stopped."""
    results = []
    for file in files or FILES:
        told = json.loads(file.read_text())
        results.append({**told["content"], "command": told["command"].removesuffix(" --json FILE")})
        if not results[-1]["complete"]:
            raise SystemExit(f"{file}: the measurement was stopped; run it again: python docs/measure.py {file.stem}")
    return results


def replaced(page: str, text: str) -> str:
    """The page with the block between its marks."""
    before, _, rest = page.partition(BEGIN)
    _, mark, after = rest.partition(END)
    if not mark:
        raise SystemExit(f"{PAGE}: expected the marks {BEGIN} and {END}")
    return before + text + after


if __name__ == "__main__":
    PAGE.write_text(replaced(PAGE.read_text(), block(read([Path(name) for name in sys.argv[1:]]))))
