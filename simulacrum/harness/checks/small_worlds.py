"""Small worlds, wholly: every state x action x outcome of the draws, on both sides, and exact expected returns.

A misreading of the rules that both sides share changes what a scripted policy earns; here that is no estimate but an
exact figure, which must be the one that the spec derives without the implementations.
"""

from __future__ import annotations

import math

from ...checks import ScriptedPolicy
from ...errors import SimulacrumError
from ...spec import Package, SmallWorld
from ...spec.document import UNIFORM
from ..context import Context
from ..enumeration import World
from ..outcomes import LIMIT, TooLarge, all_actions, outcomes

TOLERANCE = 1e-6  # of a stated return, for each unit of its magnitude: specs give six digits
HOW = (
    "declare a smaller one in spec.md: | small world | constants | returns | meaning | with scalable constants, as "
    "GRID = 2; MAX_STEPS = 3"
)


def check(context: Context) -> None:
    """Each small world of the spec; where it declares none, the environment as it is, if that is small.

    So with other constants than those in its table.
    """
    declared = [] if context.package.is_variant else context.package.spec.small_worlds  # of the constants in the table
    worlds = declared or _whole(context)
    context.facts["worlds"] = {}
    for number, small in enumerate(worlds):
        name = f"small world {small.name!r}" if small.constants else "the environment as it is"
        name += "".join(f", {constant} = {value}" for constant, value in small.constants.items())
        try:
            _compare(context, small, name)
        except TooLarge as large:
            context.problem(f"{name}: {large}; {HOW}")
        except SimulacrumError as error:
            context.problem(f"{name}: {error}")
        context.progress((number + 1) / len(worlds))


def _whole(context: Context) -> list[SmallWorld]:
    """The environment as it is, where its fields allow few enough states; else the check is not applicable."""
    package = context.package
    fields = package.spec.fields.values()
    empty = "small world" in package.spec.tables and not package.spec.small_worlds
    context.require(not empty, "spec.md: the table 'small world' has no rows")
    if any(field.dtype.kind == "f" or math.isinf(field.high - field.low) for field in fields):
        context.not_applicable(f"no small world is declared here, and a state field is a float or has no bound: {HOW}")
    states = math.prod((int(field.high) - int(field.low) + 1) ** math.prod(field.shape) for field in fields)
    try:
        outcomes(package, "reset")
        number = states * len(all_actions(package)[0]) * len(outcomes(package, "step").probabilities)
    except TooLarge as large:
        context.not_applicable(f"no small world is declared here, and the environment as it is has {large}: {HOW}")
    if number > LIMIT:
        context.not_applicable(
            f"no small world is declared here, and the environment as it is may have {number} states x actions x "
            f"outcomes, of which {LIMIT} are compared at most: {HOW}"
        )
    return [SmallWorld("whole", {}, {})]


def _compare(context: Context, small: SmallWorld, name: str) -> None:
    world = World(context, name, small.constants)
    package = world.package
    world.explore()
    fact = {"states": world.states, "transitions": world.transitions, "exhaustive": world.exhaustive}
    context.facts["worlds"][small.name] = fact
    if not world.exhaustive:
        context.note(
            f"{name}: edge values stand for floats and words, so not every transition was compared, and no return"
        )
        return
    stated = _stated(context, package, small)
    earned = {policy.name: world.returns(policy) for policy in package.checks.POLICIES}
    earned[UNIFORM] = world.returns(None)
    context.facts["worlds"][small.name]["returns"] = earned
    for policy, figures in stated.items():
        for what, expected, exact in zip(("mean", "standard deviation"), figures, earned[policy], strict=True):
            context.count("exact figures compared")
            if abs(exact - expected) > TOLERANCE * max(1.0, abs(expected)):
                context.problem(
                    f"{name}, policy {policy}: by spec.md the return has the {what} {expected}, by both sides' rules "
                    f"{exact:.9f} exactly: they misread the spec alike, or its figure is wrong"
                )


def _stated(context: Context, package: Package, small: SmallWorld) -> dict[str, tuple[float, float]]:
    """The figures that the spec states exactly of this world: its own, and where nothing is changed the policies'."""
    if package.digest != context.package.digest or package.is_variant:
        return dict(small.returns)
    policies: list[ScriptedPolicy] = [policy for policy in package.checks.POLICIES if policy.estimated_from is None]
    exact = {
        name: (policy.expected_return, policy.standard_deviation)
        for name, policy in context.package.spec.policies.items()
        if name in {policy.name for policy in policies}
    }
    return {**exact, **small.returns}
