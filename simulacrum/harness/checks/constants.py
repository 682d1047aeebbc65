"""Each constant of the spec means something: changed in both sides, they still agree, and what each shows has changed.

The changed packages are made in memory (:meth:`simulacrum.spec.Package.with_constants`). A number that is written in
the code in place of a constant shows as a difference of the sides, or, where both write it, as a change of nothing.
A kernel is built anew for each value, which takes seconds: a run changes one constant in it, or four where there is no
other form; which ones follows from the seed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from ... import bits
from ...errors import PackageError
from ...spec import Package
from ...spec.spaces import same_space
from ..case import Case
from ..context import Context
from ..excuses import Excuses
from ..playback import FORMS
from ..records import Record, difference
from ..sides import FastRows, References
from ..sources import Actions, legal_actions, random_actions, seeds

ROWS, STEPS, LAST = 64, 40, 8  # rows, steps from a reset, and steps from states that close to the step cap
BUILDS = 4  # constants that are changed in a package whose only form is a kernel


class Constant(NamedTuple):
    """A number of the constant table: the constant's name, and where it is a list which element."""

    name: str
    element: int | None
    value: int | float

    @property
    def label(self) -> str:
        """What findings call it."""
        return self.name if self.element is None else f"{self.name}[{self.element}]"

    def candidates(self) -> list[int | float]:
        """Other values, the likelier legal one first."""
        if isinstance(self.value, int):
            return [self.value - 1, self.value + 1]
        return [self.value * 0.75, self.value * 1.25] if self.value else [0.25, -0.25]

    def changed(self, package: Package, value: int | float) -> Package:
        """The package with another value. Raises :class:`PackageError` where ``__init__.py`` computes the constant."""
        whole: Any = value
        if self.element is not None:
            whole = list(package.spec.constants[self.name])
            whole[self.element] = value
        return package.with_constants({self.name: whole})


class Played(NamedTuple):
    """What both sides showed: records of each side in order, and a digest of each."""

    records: tuple[list[Record], list[Record]]
    digests: tuple[str, str]


def check(context: Context) -> None:
    """Every number of the constant table by itself."""
    package = context.package
    constants = list(numbers(package.spec.constants))
    if not constants:
        context.not_applicable("spec.md has no numeric constants")
    script = _Script(context)
    excuses = Excuses(context, "constant ")
    plain = script.play(package, context.form)
    found = _difference(context, plain)
    if found:
        context.fail(f"the two sides differ with the constants as they are: {found}", script.cases(plain))
    context.count("transitions", ROWS * (STEPS + LAST))
    followed = []
    for number, constant in enumerate(_chosen(context, constants, excuses)):
        try:
            value = _judge(context, script, excuses, constant, plain)
        except PackageError as error:
            context.note(f"constant {constant.label} is not changed: {error}")
        else:
            followed += [] if value is None else [(constant, value)]
        context.progress((number + 1) / len(constants))
    excuses.finish()
    for form in context.further_forms if followed else ():
        constant, value = followed[context.rng.integers(len(followed))]
        _judge_further(context.of(form), script, constant, value)


def _chosen(context: Context, constants: list[Constant], excuses: Excuses) -> list[Constant]:
    """All constants, or a few where each takes a build."""
    if context.form != "kernel":
        return constants
    order = context.rng.permutation(len(constants))
    excuses.used.update(excuses.name(constants[number].label) for number in order[BUILDS:])
    chosen = [constants[number] for number in order[:BUILDS]]
    context.note(f"changed in the kernel, which is built anew for each: {', '.join(one.label for one in chosen)}")
    return chosen


def _judge_further(context: Context, script: _Script, constant: Constant, value: int | float) -> None:
    """A value that the first form follows, in a further one."""
    change = f"constant {constant.label}: with {value!r} in place of {constant.value!r}"
    played = script.play(constant.changed(context.package, value), context.form)
    found = _difference(context, played)
    if found:
        still = played.digests[1] == script.play(context.package, context.form).digests[1]
        blamed = "; it shows what it showed before: is the number written there?" if still else ""
        context.problem(f"{change} the {context.form} form and the reference differ: {found}{blamed}")
    context.note(f"{change}")
    context.count("transitions", ROWS * (STEPS + LAST))


def numbers(constants: dict[str, Any]) -> Iterator[Constant]:
    """The numbers among constants, and those in lists."""
    for name, value in constants.items():
        listed = list(enumerate(value)) if isinstance(value, list) else [(None, value)]
        for element, part in listed:
            if isinstance(part, (int, float)) and not isinstance(part, bool):
                yield Constant(name, element, part)


def _judge(
    context: Context, script: _Script, excuses: Excuses, constant: Constant, plain: Played
) -> int | float | None:
    """Try other values until one shows that both sides follow, and return it; a finding where they differ, or none
    does."""
    raised, unmoved = [], {}
    sides = ("reference.py", FORMS[context.form])
    least = context.package.spec.least.get(constant.name)
    for value in (one for one in constant.candidates() if least is None or one >= least):
        package = constant.changed(context.package, value)
        change = f"constant {constant.label}: with {value!r} in place of {constant.value!r}"
        try:
            _declarations(context, package, change)
            played = script.play(package, context.form)
        except Exception as error:  # a value that the rules do not allow, or code that relies on the other
            raised.append(f"{value!r}: {type(error).__name__}: {error}")
            continue
        still = [side for side, one, other in zip(sides, plain.digests, played.digests, strict=True) if one == other]
        found = _difference(context, played)
        context.count("values tried")
        if found:
            own = context.package.spec.adopts is not None and "reference.py" in still  # no option of the original
            if own and excuses.accepts(constant.label):
                return None
            blamed = f"; {still[0]} shows what it showed before: is the number written there?" if still else ""
            offered = f" Where the original has no option for it, {excuses.offer(constant.label)}" if own else ""
            context.problem(f"{change} the two sides differ: {found}{blamed}{offered}")
            return None
        context.count("transitions", ROWS * (STEPS + LAST))
        if not still:
            return value
        unmoved[repr(value)] = " and ".join(still)
    if excuses.accepts(constant.label):
        return None
    excuse = excuses.offer(constant.label)
    if not unmoved:
        context.problem(f"constant {constant.label}: no other value runs ({'; '.join(raised)}). {excuse}")
        return None
    tried = " or ".join(unmoved)
    context.problem(
        f"constant {constant.label}: with {tried} in place of {constant.value!r} nothing changes in "
        f"{' or '.join(dict.fromkeys(unmoved.values()))}: is the number written there? {excuse}"
    )
    return None


def _declarations(context: Context, package: Package, change: str) -> None:
    """What ``__init__.py`` declares follows the constant as the spec's tables do."""
    spec, environment, module = package.spec, package.environment, package.module()
    pairs = {name: (value, getattr(module, name, None)) for name, value in spec.constants.items()}
    pairs["max_episode_steps"] = spec.max_episode_steps, environment.max_episode_steps
    for name, (stated, found) in pairs.items():
        if stated != (list(found) if isinstance(found, tuple) else found):
            context.problem(f"{change}, {name} is {stated!r} by spec.md, {found!r} by __init__.py")
    for name in ("action_space", "observation_space"):
        stated, found = getattr(spec, name), getattr(environment, name)
        if not same_space(stated, found):
            context.problem(f"{change}, {name} is {stated} by spec.md, {found} by __init__.py")


def _difference(context: Context, played: Played) -> str:
    """The first difference of the sides, in words; empty where there is none."""
    for number, (reference, fast) in enumerate(zip(*played.records, strict=True)):
        found = difference(reference, fast)
        if found is not None:
            field, row, *values = found
            one, other = values if isinstance(values[0], str) else bits.pair_shown(*values)
            t = reference["clock.t"][row]
            file = FORMS[context.form]
            return f"{field} in row {row} at t = {t} (record {number}): reference.py {one}, {file} {other}"
    return ""


class _Script:
    """Seeds and actions for every package alike: the actions are those that the package as it is gives rise to, so
    that policies which use a constant change nothing by themselves."""

    def __init__(self, context: Context) -> None:
        package, rng = context.package, context.rng
        self.device = context.profile.devices[0]
        self.seeds, self.later = seeds(rng, ROWS), seeds(rng, ROWS)
        cap = package.environment.max_episode_steps
        self.t = None if cap is None else max(0, cap - LAST // 2)
        self.actions: list[np.ndarray] = []
        self.space = package.environment.action_space
        actions = Actions(package, rng, ROWS)
        self._run(References(package, ROWS), package, lambda step, now: self.actions.append(actions.next(now)))

    def play(self, package: Package, form: str) -> Played:
        """Both sides of a package, the fast one in some form, each by itself."""
        device = self.device if form == "tensor" else "cpu"
        env = package.forms[form](batch_size=[ROWS], seed=0, device=device, expose_state=True)
        reference, fast = self._run(References(package, ROWS), package), self._run(FastRows(package, env), package)
        return Played((reference, fast), (_digest(reference), _digest(fast)))

    def cases(self, played: Played) -> list[Case]:
        """What replays the script with the package as it is: from the reset, and from the states near the cap."""
        actions, entered = np.stack(self.actions), played.records[0][1 + 2 * STEPS]
        return [Case(seeds=self.seeds, actions=actions[:STEPS]), Case(starts=entered, actions=actions[STEPS:])]

    def _run(self, side: References | FastRows, package: Package, choose: Any = None) -> list[Record]:
        """A reset and STEPS steps, then LAST more from states at the cap's edge. Where the constant is of the action
        space, the actions are random ones of that space."""
        rng, space = np.random.default_rng(0), package.environment.action_space
        played = self.actions
        if not same_space(space, self.space):
            played = [random_actions(space, rng, ROWS) for _ in range(STEPS + LAST)]
        now = side.reset(self.seeds)
        records = [now]
        for step in range(STEPS + LAST):
            if step == STEPS:
                now = side.enter(self._near_the_cap(now))
                records.append(now)
            if choose is not None:
                choose(step, now)
            ended, now = side.step(legal_actions(package, rng, played[step], now))
            records += [ended, now]
        return records

    def _near_the_cap(self, now: Record) -> Record:
        states = {**now, "clock.seed": self.later}
        return states if self.t is None else {**states, "clock.t": np.full(ROWS, self.t)}


def _digest(records: list[Record]) -> str:
    digest = bits.Digest()
    for record in records:
        digest.update(record)
    return digest.hexdigest()
