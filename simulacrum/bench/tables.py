"""Measurements as tables that are read as they are and pasted into a page as they are, and as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .layers import Layers
from .measure import Timing
from .sides import COPY_BYTES, YARDSTICK
from .sweep import GROWTH, Group, Results

FORMAT = 1
HEAD = ("form", "threads", "N", "M steps/s", "ns a step", "spread", "x yardstick", "x reference", "B a step", "of copy")
LAYERS_HEAD = ("form", "N", "way", "us a batched step", "added", "share", "ns a row")
LAYERS_FOOT = (
    "added: microseconds beyond the line above, down to step_and_maybe_reset; below it, beyond step_and_maybe_reset. "
    "share: of what step_and_maybe_reset takes."
)


def markdown(head: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1) -> str:
    """A table in Markdown, its columns aligned: the first ``left`` to the left, the others to the right."""
    widths = [max(len(line[number]) for line in (head, *rows)) for number in range(len(head))]
    rule = ["-" * width if number < left else "-" * (width - 1) + ":" for number, width in enumerate(widths)]
    lines = [
        [cell.ljust(width) if number < left else cell.rjust(width) for number, (cell, width) in enumerate(pairs)]
        for pairs in (list(zip(line, widths, strict=True)) for line in (head, rule, *rows))
    ]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def text(results: Results) -> str:
    """All of a sweep: the table, and the lines below it."""
    rows = [
        _row(results, group, form)
        for form in results.plan.forms
        for group in results.groups
        if form in group.timings and group.threads in results.copies
    ]
    parts = [markdown(HEAD, rows)] if rows else ["Nothing was measured."]
    lines = [*_beside(results), *_growth(results), *_memory(results)]
    lines += [f"{form} is missing: {why}" for form, why in results.missing.items()]
    return "\n".join([*parts, "", *lines]).rstrip()


def _row(results: Results, group: Group, form: str) -> list[str]:
    timing = group.timings[form]
    return [
        form,
        str(group.threads),
        f"{group.batch_size:,}",
        _times(timing.rate / 1e6),
        f"{timing.nanoseconds:,.2f}" if timing.nanoseconds < 100 else f"{timing.nanoseconds:,.0f}",
        f"{timing.spread:.0%}",
        _times(timing.over(group.timings["yardstick"])),
        _times(timing.over(group.timings["reference"])),
        str(group.step_bytes[form]),
        f"{results.share(group, form):.1%}",
    ]


def _times(ratio: float) -> str:
    """Three digits, all of them before the point where there are more."""
    return f"{ratio:,.0f}" if ratio >= 100 else f"{ratio:.3g}"


def _beside(results: Results) -> list[str]:
    """The yardstick, the reference and copies, for each thread count."""
    lines = []
    for count, copy in results.copies.items():
        groups = [group for group in results.groups if group.threads == count]
        told = [f"copies {copy.rate / 1e9:.1f} GB/s (read and written, {COPY_BYTES >> 20} MiB)"]
        for name in ("yardstick", "reference"):
            rates = sorted(group.timings[name].rate / 1e6 for group in groups)
            if rates:
                told.append(f"{name} {rates[len(rates) // 2]:.3g} M steps/s [{rates[0]:.3g} - {rates[-1]:.3g}]")
        lines.append(f"{count} thread{'s' if count > 1 else ''}: {', '.join(told)}")
    return [*lines, f"yardstick: {YARDSTICK}"]


def _growth(results: Results) -> list[str]:
    found = {
        (form, count): results.growth(form, count) for form in results.plan.forms for count in results.plan.threads
    }
    told = [
        f"{form}, {count} thread{'s' if count > 1 else ''}: {value:.2f}"
        for (form, count), value in found.items()
        if value is not None
    ]
    small, large = GROWTH
    return [f"growth (a row's step at N = {large:,} over N = {small:,}): {'; '.join(told)}"] if told else []


def _memory(results: Results) -> list[str]:
    return [
        f"memory, {form}: {weight}"
        if isinstance(weight, str)
        else f"memory, {form}: {weight.instance:,.0f} bytes an instance (N = {weight.batch_size:,}: "
        f"{weight.peak / 2**20:,.0f} MiB besides the interpreter, at most, while it steps)"
        for form, weight in results.weights.items()
    ]


def as_json(results: Results, about: Mapping[str, Any]) -> dict[str, Any]:
    """All of a sweep for JSON, medians and rounds; ``about`` is what the caller knows of command and machine."""
    plan = results.plan
    return {
        "format": FORMAT,
        **about,
        "complete": results.complete,
        "yardstick": YARDSTICK,
        "plan": {
            "forms": list(plan.forms),
            "sizes": list(plan.sizes),
            "threads": list(plan.threads),
            "seconds": plan.seconds,
            "rounds": plan.rounds,
            "seed": plan.seed,
        },
        "copies": [
            {"threads": count, "bytes": COPY_BYTES, **_timing(copy, "bytes per second")}
            for count, copy in results.copies.items()
        ],
        "groups": [_group(results, group) for group in results.groups],
        "growth": [
            {"form": form, "threads": count, "from": GROWTH[0], "to": GROWTH[1], "times": value}
            for form in plan.forms
            for count in plan.threads
            if (value := results.growth(form, count)) is not None
        ],
        "memory": [
            {"form": form, "problem": weight}
            if isinstance(weight, str)
            else {
                "form": form,
                "batch size": weight.batch_size,
                "peak bytes": weight.peak,
                "bytes an instance": weight.instance,
            }
            for form, weight in results.weights.items()
        ],
    }


def _group(results: Results, group: Group) -> dict[str, Any]:
    beside = {name: _timing(group.timings[name]) for name in ("reference", "yardstick")}
    forms = {
        form: {
            **_timing(group.timings[form]),
            "nanoseconds a step": group.timings[form].nanoseconds,
            "ratio to yardstick": group.timings[form].over(group.timings["yardstick"]),
            "ratio to reference": group.timings[form].over(group.timings["reference"]),
            "bytes a step": size,
            "share of copy bandwidth": results.share(group, form),
        }
        for form, size in group.step_bytes.items()
    }
    return {
        "batch size": group.batch_size,
        "threads": group.threads,
        **beside,
        "forms": forms,
        "missing": dict(group.missing),
    }


def _timing(timing: Timing, unit: str = "steps per second") -> dict[str, Any]:
    return {unit: timing.rate, "spread": timing.spread, "steps a round": timing.steps, "rounds": timing.rates}


def layers_text(layers: Layers) -> str:
    """All of a profile: the table, and what could not be measured."""
    rows = [
        [
            form,
            f"{size:,}",
            layer.way,
            f"{layer.microseconds:,.1f}",
            f"{layer.more:+,.1f}",
            f"{layer.share:.0%}",
            f"{layer.timing.nanoseconds:,.2f}",
        ]
        for (form, size), found in layers.found.items()
        for layer in found
    ]
    lines = [LAYERS_FOOT, *(f"{form} is missing: {why}" for form, why in layers.missing.items())]
    return "\n".join([markdown(LAYERS_HEAD, rows, left=3) if rows else "Nothing was measured.", "", *lines]).rstrip()


def layers_json(layers: Layers, about: Mapping[str, Any]) -> dict[str, Any]:
    """All of a profile for JSON."""
    return {
        "format": FORMAT,
        **about,
        "complete": layers.complete,
        "layers": [
            {
                "form": form,
                "batch size": size,
                "way": layer.way,
                "microseconds a batched step": layer.microseconds,
                "added": layer.more,
                "share": layer.share,
                **_timing(layer.timing),
            }
            for (form, size), found in layers.found.items()
            for layer in found
        ],
        "missing": dict(layers.missing),
    }
