"""The worked examples of ``spec.md`` on both sides: an oracle from outside the pair."""

from __future__ import annotations

from ..context import Context
from ..examples import run_examples

EXAMPLES = 8  # worked transitions at the least
RESET_EXAMPLES = 1


def check(context: Context) -> None:
    """Enough of them, and each on both sides: draws, next state, reward, flags and observation by dtype and bits."""
    spec = context.package.spec
    for what, found, least in (
        ("worked examples", spec.examples, EXAMPLES),
        ("reset examples", spec.reset_examples, RESET_EXAMPLES),
    ):
        if len(found) < least:
            context.problem(
                f"spec.md: expected at least {least} {what}, got {len(found)}: work more out by hand from the rules"
            )
    run_examples(context)
