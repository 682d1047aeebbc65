"""The files of a package around an adopted environment, filled with what a survey of it saw."""

from __future__ import annotations

import json
import keyword
import re
from collections.abc import Sequence
from dataclasses import replace
from importlib import metadata, resources
from pprint import pformat
from typing import Any

import numpy as np
from gymnasium import spaces

from ..spec.environment import ID_PATTERN
from .adoption import Adoption
from .inferred import first_values
from .page_schema import bounds, schema
from .survey import Call, Field, Survey

__all__ = ["FILES", "pages"]

FILES = ("spec.md", "__init__.py", "reference.py", "fast.py", "checks.py", "render.py")
HINTS = {"bool": "bool", "float64": "float", "float32": "np.float32"}
BOUND = "WRITE"


def pages(name: str, namespace: str, adoption: Adoption, seen: Survey) -> dict[str, str]:
    """The texts by file name. ``name`` is the package's; the adoption's state may name the attributes, if not empty.
    Raises :class:`~simulacrum.errors.SpecError` for one that the original does not have after a reset."""
    first_values(adoption)
    words = _words(name, namespace, adoption, seen)
    pattern = re.compile(r"\b(" + "|".join(sorted(words, key=len, reverse=True)) + r")\b")
    texts = {file: pattern.sub(lambda found: words[found[0]], _template(file)) for file in FILES}
    numpy = "import numpy as np\n\n" if "np." in words["HINTS"] else ""
    texts["reference.py"] = texts["reference.py"].replace("NUMPY\n", numpy, 1)
    return {**texts, "schema.json": json.dumps(schema(name, _fields(adoption, seen), seen), indent=2) + "\n"}


def _template(file: str) -> str:
    return (
        resources.files("simulacrum").joinpath("templates", "adopted", f"{file}.template").read_text(encoding="utf-8")
    )


def _words(name: str, namespace: str, adoption: Adoption, seen: Survey) -> dict[str, str]:
    match = ID_PATTERN.fullmatch(adoption.id)
    fields, slots = _fields(adoption, seen), _slots(seen)
    constants, cap = ({"MAX_STEPS": seen.cap}, "MAX_STEPS") if seen.cap else ({}, "None")
    cls = "".join(part.capitalize() for part in name.split("_"))
    observation = _observation(seen.observation_space)
    return {
        "NAME": name,
        **{f"CLASS{side}": f"{cls}{side}" for side in ("", "Reference", "Fast")},
        "CLASSEnv": type(adoption.make()).__name__,
        "NAMESPACE": namespace,
        "vVERSION": f"v{match['version']}" if match else "v0",
        "ORIGINAL": adoption.name,
        "ORIGINALREPR": _quoted(adoption.original),
        "DISTRIBUTION": _distribution(type(adoption.make()).__module__),
        "STEPS": f"{seen.steps:,}",
        "CAP": cap,
        "SPECCAP": cap.replace("None", "none"),
        "TERMINATES": _yes(seen.ends["terminated"]),
        "TRUNCATES": _yes(seen.cap or seen.ends["truncated"]),
        "DRAWS": _yes(slots),
        "CONSTANTS": _rows([(key, value, "yes", "step cap") for key, value in constants.items()]),
        "VALUES": "".join(f"{key} = {value!r}\n\n" for key, value in constants.items()),
        "OTHERS": _others(seen),
        "FIELDS": _rows(
            [
                *((f"`{one.name}`", one.dtype, list(one.shape), bounds(one), BOUND) for one in fields),
                ("`t`", "int32", [], f"[0, {cap if seen.cap else 2**31 - 1}]", "step counter, kept by the base class"),
            ]
        ),
        "ACTION": _space(seen.action_space),
        "OBSERVATION": _rows(observation),
        "SPACES": _imports(_python(seen.action_space) + _python(seen.observation_space)),
        "ACTIONSPACE": _python(seen.action_space),
        "OBSERVATIONSPACE": _python(seen.observation_space),
        "LEAST": repr(seen.rewards[0]),
        "GREATEST": repr(seen.rewards[1]),
        "REWARD": "float32" if seen.rewards32 else "float64",
        "SLOTS": _rows([(number, *slot) for number, slot in enumerate(slots)]),
        "MEMBERS": "\n".join(f"    {slot[0]} = {number}  # {slot[1]}" for number, slot in enumerate(slots))
        or "    pass",
        "RESETS": ", ".join(f"Slots.{slot[0]}" for slot in slots if slot[1] == "reset") or "*()",
        "CAUSES": "\n| termination | meaning |\n|---|---|\n" if seen.ends["terminated"] else "",
        "HINTS": "\n".join(f"    {one.name}: {_hint(one)}  # WRITE" for one in fields),
        "TENSORS": "\n".join(f"    {one.name}: Tensor  # {_tensor(one)}" for one in fields),
        "STATE": _quoted(
            dict(zip((one.name for one in fields), _attributes(adoption, seen), strict=True))
            | ({"t": seen.counter} if seen.counter else {})
        ),
        "SEE": _quoted(seen.observation),
        "OPTIONS": _quoted(dict(adoption.options)),
        "INBOUNDS": _inbounds(fields),
        "FIELDNAMES": _quoted(tuple(one.name for one in fields)),
    }


def _attributes(adoption: Adoption, seen: Survey) -> list[str]:
    """Those that the adoption names as its state, or those that changed and hold numbers."""
    if adoption.attributes:
        return [path for name, path in adoption.attributes.items() if name != "t"]
    return [one.name for one in seen.fields.values() if one.dtype and one.name != seen.counter]


def _fields(adoption: Adoption, seen: Survey) -> list[Field]:
    """The state's fields, one an attribute, by names that Python takes."""
    paths = _attributes(adoption, seen)
    return [replace(seen.fields.get(path, Field(path, "int32", (), 0, 0)), name=_identifier(path)) for path in paths]


def _identifier(path: str) -> str:
    """``agent_position`` of ``agent.position``; ``t_`` of an attribute ``t`` that is no step counter."""
    name = re.sub(r"\W", "_", path).lstrip("_")
    return f"{name}_" if name == "t" or keyword.iskeyword(name) else name


def _others(seen: Survey) -> str:
    others = [one.name for one in seen.fields.values() if not one.dtype]
    if not others:
        return ""
    return (
        f"\nAlso {', '.join(others)} changed, which hold other things than numbers of one shape: if a rule depends on "
        "them,\nread and write the state by a pair of functions."
    )


def _slots(seen: Survey) -> list[tuple[str, str, str, str]]:
    """(name, phase, index, distribution) of each slot. Calls of one distribution at the end of a phase share a slot."""
    slots = []
    for phase in ("reset", "step"):
        calls: Sequence[Call] = seen.calls.get(phase, ())
        shared = len(calls)
        while shared > 1 and calls[shared - 2].distributions == calls[-1].distributions:
            shared -= 1
        for place, call in enumerate(calls[:shared]):
            last = len(calls) - shared if place == shared - 1 else 0
            index = f"0..{last}" if last else "0"
            if not all(one.always for one in calls[place : place + last + 1]):
                index = f"at most {f'0..{last}' if last else '0..0'}"
            name = f"{phase.upper()}_{place + 1}" if shared > 1 else phase.upper()
            slots.append((name, phase, index, " or ".join(call.distributions)))
    return slots


def _observation(space: spaces.Space[Any]) -> list[tuple[str, str]]:
    if isinstance(space, spaces.Dict):
        return [(f"{key}: {_meaning(part)}", _space(part)) for key, part in space.spaces.items()]
    if isinstance(space, spaces.Tuple):
        return [(f"[{place}]: {_meaning(part)}", _space(part)) for place, part in enumerate(space.spaces)]
    return [(_meaning(space), _space(space))]


def _meaning(space: spaces.Space[Any]) -> str:
    supported = (spaces.Box, spaces.Discrete, spaces.MultiDiscrete, spaces.MultiBinary)
    return (
        BOUND
        if isinstance(space, supported)
        else f"{BOUND}, the original has a {type(space).__name__}, so translate it"
    )


def _space(space: spaces.Space[Any]) -> str:
    """A space as spec.md writes it."""
    if isinstance(space, spaces.Discrete):
        return f"Discrete({space.n}, {space.start})" if space.start else f"Discrete({space.n})"
    if isinstance(space, spaces.MultiDiscrete):
        return f"MultiDiscrete({space.nvec.tolist()})"
    if isinstance(space, spaces.MultiBinary):
        return f"MultiBinary({space.n})"
    if isinstance(space, spaces.Box):
        return f"Box({_edge(space.low)}, {_edge(space.high)}, {list(space.shape)}, {space.dtype})"
    return "Discrete(1)"  # _meaning tells


def _python(space: spaces.Space[Any]) -> str:
    """A space as Python makes it."""
    if isinstance(space, spaces.Dict):
        return f"Dict({{{', '.join(f'{key!r}: {_python(part)}' for key, part in space.spaces.items())}}})"
    if isinstance(space, spaces.Tuple):
        return f"Tuple(({', '.join(map(_python, space.spaces))},))"
    if isinstance(space, spaces.Discrete):
        return f"Discrete({space.n}, start={space.start})" if space.start else f"Discrete({space.n})"
    if isinstance(space, spaces.Box):
        shape, dtype = tuple(map(int, space.shape)), f"np.{space.dtype}"
        low, high = (
            edge if "[" not in edge else f"np.array({edge}, {dtype})" for edge in (_edge(space.low), _edge(space.high))
        )
        return f"Box({low}, {high}, {shape}, {dtype})".replace("inf", "np.inf")
    return _space(space) if isinstance(space, (spaces.MultiDiscrete, spaces.MultiBinary)) else "Discrete(1)"


def _imports(text: str) -> str:
    """The spaces that a text makes."""
    return ", ".join(sorted(set(re.findall("(Box|Dict|Discrete|MultiBinary|MultiDiscrete|Tuple)\\(", text))))


def _edge(values: np.ndarray) -> str:
    least, most = values.min(), values.max()
    return repr(least.item()) if least == most else repr(values.tolist())


def _hint(field: Field) -> str:
    return "np.ndarray" if field.shape else HINTS.get(field.dtype or "", "int")


def _tensor(field: Field) -> str:
    return f"[{', '.join(['N', *map(str, field.shape)])}] {field.dtype}: WRITE"


def _inbounds(fields: list[Field]) -> str:
    parts = [
        f"({bound} {sign} state.{one.name}){'.reshape(len(state.t), -1).all(axis=1)' if one.shape else ''}"
        for one in fields
        for bound, sign in zip(json.loads(bounds(one)), ("<=", ">="), strict=True)
    ]
    return "(\n        " + "\n        & ".join(parts or ["state.t >= 0"]) + "\n    )"


def _distribution(module: str) -> str:
    top = module.split(".")[0]
    return (metadata.packages_distributions().get(top) or [top])[0]


def _quoted(value: Any) -> str:
    """A value as source text, with double quotes."""
    return pformat(value, sort_dicts=False).replace("'", '"')


def _yes(value: Any) -> str:
    return "yes" if value else "no"


def _rows(rows: Sequence[Sequence[Any]]) -> str:
    return "\n".join("| " + " | ".join(map(str, row)) + " |" for row in rows)
