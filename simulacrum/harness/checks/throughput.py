"""How fast both sides are: what ``simulacrum bench`` measures, at one batch size, and roughly at a few others."""

from __future__ import annotations

import torch

from ...bench import sides
from ...bench.measure import Side, by_turns
from ..context import Context
from ..variants import rows_that_fit

ROWS = 4096
ROUNDS = 7
OTHERS = (1, 16, 256, 65_536)  # batch sizes that are measured roughly, for a curve in the report
BRIEF, BRIEF_ROUNDS, BRIEF_WARM = 0.02, 3, 24  # seconds of a side in a round, rounds, steps that warm it up


def check(context: Context) -> None:
    """Steps per second of the reference (one instance) and of the fast side's forms; the ratio against
    ``MIN_SPEEDUP``. At other batch sizes, briefly, of the forms that need no compilation of each size."""
    seed = int(context.rng.integers(2**31))
    rows = rows_that_fit(context.package, ROWS)
    forms = {form: _form(context, form, seed, rows) for form in _forms(context)}
    timings = by_turns(
        {"reference": sides.reference(context.package, seed), **forms},
        context.profile.seconds / ROUNDS,
        ROUNDS,
        context.progress,
    )
    best = max(forms, key=lambda form: timings[form].rate)
    ratio = timings[best].over(timings["reference"])
    context.facts.update({f"{name} steps per second": round(timing.rate) for name, timing in timings.items()})
    context.facts.update(
        {"ratio": round(ratio, 1), "fastest form": best, "batch size": rows, "threads": torch.get_num_threads()}
    )
    context.facts["by batch size"] = {
        form: {str(size): round(rate) for size, rate in sorted({**rates, rows: timings[form].rate}.items())}
        for form, rates in _elsewhere(context, [*forms], seed, rows).items()
    }
    wanted = getattr(context.package.checks, "MIN_SPEEDUP", None)
    if wanted is not None and ratio < wanted:
        context.problem(
            f"the fast side ({best}, N = {rows}) makes {ratio:.1f} times the reference's steps per second, MIN_SPEEDUP "
            f"is {wanted} ({timings[best].rate:,.0f} against {timings['reference'].rate:,.0f})"
        )


def _elsewhere(context: Context, forms: list[str], seed: int, rows: int) -> dict[str, dict[int, float]]:
    """Steps per second of each form by other batch sizes; of no size where each would have to be compiled."""
    sizes = [size for size in OTHERS if size != rows and size <= rows_that_fit(context.package, max(OTHERS))]
    found: dict[str, dict[int, float]] = {form: {} for form in forms}
    for size in sizes:
        sides = {form: _form(context, form, seed, size) for form in forms if form != "compiled"}
        brief = {form: side._replace(warm=BRIEF_WARM) for form, side in sides.items()}
        for form, timing in by_turns(brief, BRIEF, BRIEF_ROUNDS).items():
            found[form][size] = timing.rate
    return found


def _forms(context: Context) -> list[str]:
    """The forms that can run here, as ``bench`` calls them."""
    possible = {context.form, *context.further_forms}
    return [
        form
        for form in sides.forms_of(context.package)
        if sides.FORMS[form][0] in possible and (form != "compiled" or context.compiled)
    ]


def _form(context: Context, form: str, seed: int, rows: int) -> Side:
    """A form on the profile's first device; a kernel on the CPU."""
    device = context.profile.devices[0] if sides.FORMS[form][0] == "tensor" else "cpu"
    return sides.stepping(sides.make(context.package, form, rows, seed, device=device), seed)
