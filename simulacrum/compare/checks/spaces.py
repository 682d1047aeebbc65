"""Spaces: the reference's and the candidate's, and whether what is returned is what is declared."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from gymnasium import spaces
from gymnasium.vector.utils import batch_space

from ..case import Case, Difference
from ..leaves import BARE, spaces_of
from ..pair import Pair
from ..run import Run
from ..views import TensorView, View


def check(run: Run) -> None:
    """The spaces are equal; what is returned has their dtypes and shapes and lies in them."""
    run.probe(run.case("spaces", 3, 4, 1))


def _probe(pair: Pair, case: Case) -> list[Difference]:
    view = pair.view(case.rows, case.seed, case.limit)
    try:
        found = list(_tensor_specs(pair, view) if isinstance(view, TensorView) else _vector_spaces(pair, view))
        moments = [pair.begin(view, case.seed), *(view.step(action) for action in case.actions)]
        for step, moment in enumerate(moments):
            found += _returned(view, moment, step)
    finally:
        view.close()
    return found


PROBES = {"spaces": _probe}


def _vector_spaces(pair: Pair, view: View) -> Iterator[Difference]:
    env = view.env
    for what, one, other in (
        ("observation space", pair.single.observation_space, env.single_observation_space),
        ("action space", pair.single.action_space, env.single_action_space),
    ):
        if one != other:
            yield Difference(what, f"they differ in {_differences(one, other)}", None, None, str(one), str(other))
    for what, single, batched in (
        ("batched observation space", env.single_observation_space, env.observation_space),
        ("batched action space", env.single_action_space, env.action_space),
    ):
        if batched != (expected := batch_space(single, view.num_envs)):
            yield Difference(
                what,
                f"expected the {view.num_envs} single spaces batched, as gymnasium.vector.utils.batch_space does",
                None,
                None,
                str(expected),
                str(batched),
            )


def _tensor_specs(pair: Pair, view: View) -> Iterator[Difference]:
    """The specs of an EnvBase beside the reference's spaces: names, dtypes, shapes, bounds."""
    specs = view.env.observation_spec
    keys = [key for key in specs.keys(True, True) if key not in view.env.done_keys and key != "action_mask"]
    names = {key if isinstance(key, str) else ".".join(key): specs[key] for key in keys}
    if len(names) == 1:
        names = {BARE: next(iter(names.values()))}
    if names.keys() != pair.spaces.keys():
        yield Difference("observation space", "other parts", None, None, str(sorted(pair.spaces)), str(sorted(names)))
        return
    for name, space in pair.spaces.items():
        one, other = _numbers(space), _spec_numbers(names[name])
        differ = [what for what in one if what in other and one[what] != other[what]]
        if differ:
            yield Difference(
                "observation space",
                f"{name}: they differ in {', '.join(differ)}",
                None,
                None,
                ", ".join(f"{what} {one[what]}" for what in differ),
                ", ".join(f"{what} {other[what]}" for what in differ),
            )


def _spec_numbers(spec: Any) -> dict[str, Any]:
    numbers: dict[str, Any] = {"dtype": str(spec.dtype).removeprefix("torch."), "shape": list(spec.shape[1:])}
    space = getattr(spec, "space", None)
    for name in ("low", "high"):
        if (bound := getattr(space, name, None)) is not None:
            numbers[name] = bound[0].tolist()
    if type(spec).__name__ == "Categorical":
        numbers["n"] = int(spec.n)
    return numbers


def _numbers(space: Any) -> dict[str, Any]:
    """What of a space can be told in numbers."""
    numbers: dict[str, Any] = {"kind": type(space).__name__}
    try:
        parts = spaces_of(space, "")
    except TypeError:
        return numbers | {"description": str(space)}
    if parts.keys() != {BARE}:
        return numbers | {name: _numbers(part) for name, part in parts.items()}
    numbers |= {"dtype": str(space.dtype), "shape": list(space.shape)}
    for name in ("n", "start", "nvec", "low", "high"):
        if hasattr(space, name):
            numbers[name] = np.asarray(getattr(space, name)).tolist()
    return numbers


def _differences(one: Any, other: Any) -> str:
    mine, yours = _numbers(one), _numbers(other)
    names = [name for name in {**mine, **yours} if mine.get(name) != yours.get(name)]
    return ", ".join(names) or "something that is no number"


def _returned(view: View, moment: Any, step: int) -> Iterator[Difference]:
    """dtypes and shapes of what a call returned."""
    rows = view.num_envs
    for name in ("reward", "terminated", "truncated"):
        value = getattr(moment, name)
        if value is None:
            continue
        if value.shape != (rows,):
            yield Difference(f"shape of {name}", "expected one a row", None, step, f"[{rows}]", str(list(value.shape)))
        if (value.dtype.kind != "f") if name == "reward" else (value.dtype != np.bool_):
            expected = "a float" if name == "reward" else "bool"
            yield Difference(f"dtype of {name}", f"expected {expected}", None, step, expected, str(value.dtype))
    if isinstance(view, TensorView):
        return
    for name, part in spaces_of(view.env.single_observation_space, "CANDIDATE: observation space").items():
        value = moment.observation.get(name)
        if value is None:
            have = ", ".join(moment.observation)
            yield Difference("parts of the observation", f"no part {name}", None, step, name, have)
            return
        if value.dtype != part.dtype:
            what = f"{name}: another dtype than its own space says"
            yield Difference("dtype of the observation", what, None, step, str(part.dtype), str(value.dtype))
        if value.shape != (rows, *part.shape):
            what = f"{name}: another shape than its own space says"
            told = str([rows, *part.shape]), str(list(value.shape))
            yield Difference("shape of the observation", what, None, step, *told)
        elif value.dtype == part.dtype:
            for row in range(rows):
                element = np.asarray(value[row]) if isinstance(part, spaces.Box) else value[row]
                if not part.contains(element):
                    what = f"{name} lies outside the candidate's own space"
                    yield Difference("observation outside its space", what, row, step, str(part), str(element))
