"""Every further form beside the first, bit by bit: a kernel beside the tensor form, and beside the reference.

The first form is the one that all the other checks compare with the reference. A further one is compared with it as
batches, which is cheap, and with the reference itself where that costs little, so that it does not lean on one of them.
"""

from __future__ import annotations

from collections.abc import Callable

from ..context import Context
from . import forms_beside, forms_reference, forms_ways
from .benchmark_factory_parity import covered


def check(context: Context) -> None:
    """The further forms in turn."""
    if len(context.package.forms) == 1:
        context.not_applicable("the package has one form")
    if "cpu" not in context.profile.devices:
        context.not_applicable("a kernel runs on the CPU alone, which --device leaves out")
    further = context.further_forms
    if not further:
        context.not_applicable("no further form can run here")
    for form in further:
        _compare(context, context.of(form))
    context.facts["covers"] = [combination for form in further for combination in covered(context.of(form))]


def _compare(context: Context, other: Context) -> None:
    """One further form: what is most likely to differ first."""
    other.env(1)  # where it does not build, that is all that there is to tell
    first = context.of(next(iter(context.package.forms)))
    parts: list[Callable[[], None]] = [
        lambda: forms_beside.transitions(other, first),
        lambda: forms_beside.rollouts(other, first),
        lambda: forms_beside.resets(other, first),
        lambda: forms_reference.against_references(other),
        lambda: forms_ways.every_way(other, first),
        lambda: forms_ways.memory_and_surroundings(other),
        lambda: forms_ways.copies(other),
        lambda: forms_ways.refused_actions(other, first),
    ]
    if not context.package.is_variant:  # what spec.md works out, with the constants in its table
        parts = [lambda: forms_reference.worked_examples(other), *parts, lambda: forms_reference.small_world(other)]
    with forms_ways.elsewhere(other, first):
        for number, part in enumerate(parts):
            part()
            context.progress((number + 1) / len(parts))
