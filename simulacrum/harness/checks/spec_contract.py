"""What ``spec.md`` says is what every other file of the package has."""

from __future__ import annotations

import dataclasses
import difflib
import json
from typing import Any

import jsonschema
import numpy as np

from ...checks import ScriptedPolicy
from ...errors import SimulacrumError
from ...spec import Field
from ...spec.spaces import same_space
from ...spec.state import field_names
from .. import excuses, schemas
from ..context import Context
from ..playback import FORMS as FILES
from ..profile import DEFAULT
from .scripted_policies import radius

TABLES = (
    "constant",
    "state field",
    "slot",
    "action",
    "observation",
    "reward",
    "declares",
    "configuration",
    "termination",
    "invariant",
    "symmetry",
    "policy",
    "small world",
    "example",
    "reset example",
)
TYPES = {"b": "boolean", "i": "integer", "u": "integer", "f": "number"}  # in the schema, by the dtype's kind
KERNEL = FILES["kernel"]
LEAST_EPISODES = 100_000  # behind an estimated return


def check(context: Context) -> None:
    """Tables against declarations, then against both implementations."""
    parts = (_tables, _constants, _declarations, _slots, _spaces, _states, _schema, _checks)
    for number, part in enumerate(parts):
        try:
            part(context)
        except SimulacrumError as error:
            context.problem(str(error))
        except Exception as error:  # the other parts still have something to say
            context.problem(f"{type(error).__name__}: {error}")
        context.progress((number + 1) / len(parts))


def _expect(context: Context, what: str, stated: Any, found: Any, where: str) -> None:
    context.count("facts compared")
    if stated != found:
        context.problem(f"{what}: spec.md says {stated!r}, {where} has {found!r}")


def _constants(context: Context) -> None:
    module = context.package.module()
    for name, value in context.package.spec.constants.items():
        found = getattr(module, name, None)
        found = list(found) if isinstance(found, tuple) else found
        if not hasattr(module, name):
            context.problem(f"constant {name}: spec.md says {value!r}, __init__.py lacks it")
            continue
        _expect(context, f"constant {name}", value, found, "__init__.py")
        if type(value) is not type(found):
            context.problem(
                f"constant {name}: spec.md has a {type(value).__name__}, __init__.py a {type(found).__name__}"
            )
    stated = context.package.spec.constants
    for name, value in vars(module).items():
        if name.isupper() and isinstance(value, (int, float, list, tuple)) and name not in stated:
            context.problem(f"constant {name}: __init__.py has it, spec.md's table does not")


def _tables(context: Context) -> None:
    """No table whose header is a misspelt one; marks are marks."""
    for name, table in context.package.spec.tables.items():
        close = difflib.get_close_matches(name, TABLES, 1, 0.7)
        if name not in TABLES and close:
            context.problem(f"spec.md, line {table.line}: the table {name!r} is not read; did you mean {close[0]!r}?")
    constants = context.package.spec.tables.get("constant")
    _ = context.package.spec.configurations  # whose rows are read
    for row in constants.records() if constants is not None else ():
        if row.get("scalable", "") not in ("", "yes", "no"):
            context.problem(
                f"constant {row['constant']}: scalable: expected yes, no or nothing, got {row['scalable']!r}"
            )


def _declarations(context: Context) -> None:
    spec, environment = context.package.spec, context.package.environment
    _expect(context, "id", spec.id, environment.id, "__init__.py")
    _expect(context, "max_episode_steps", spec.max_episode_steps, environment.max_episode_steps, "__init__.py")
    _expect(context, "agents", spec.agents, environment.agents, "__init__.py")
    _expect(context, "reward dtype", spec.reward_dtype, np.dtype(environment.reward_dtype), "__init__.py")
    _expect(context, "truncates", spec.declared("truncates"), environment.max_episode_steps is not None, "__init__.py")
    _expect(context, "draws", spec.declared("draws"), len(environment.slots) > 0, "__init__.py")
    _expect(context, "terminates", spec.declared("terminates"), bool(spec.terminations), "the termination table")
    _forms(context)
    for side in (context.package.reference, *context.package.forms.values()):
        if side.environment is not environment:
            context.problem(f"{side.__name__}.environment: expected the package's ENVIRONMENT")


def _forms(context: Context) -> None:
    """The forms of the fast side are those of ``fast.py``; a kernel has its source."""
    spec, package = context.package.spec, context.package
    _expect(context, "forms", ", ".join(spec.forms), ", ".join(package.forms), "fast.py")
    context.count("facts compared")
    if ("kernel" in spec.forms) != (KERNEL in package.files):
        stated = "a kernel" if "kernel" in spec.forms else "no kernel"
        found = f"there is {'a' if KERNEL in package.files else 'no'} {KERNEL}"
        context.problem(f"forms: spec.md declares {stated}, but {found} in the package")


def _slots(context: Context) -> None:
    environment = context.package.environment
    stated = {name: (slot.number, slot.phase) for name, slot in context.package.spec.slots.items()}
    found = {
        slot.name: (int(slot), "reset" if slot in environment.reset_slots else "step") for slot in environment.slots
    }
    _expect(context, "slots (number, phase)", stated, found, "__init__.py")


def _spaces(context: Context) -> None:
    spec, environment = context.package.spec, context.package.environment
    for name in ("action_space", "observation_space"):
        stated, found = getattr(spec, name), getattr(environment, name)
        context.count("facts compared")
        if not same_space(stated, found):
            context.problem(f"{name}: spec.md says {stated}, __init__.py has {found}")


def _states(context: Context) -> None:
    """The fields of the ``State`` classes, in the spec's order, and the fast side's dtypes and shapes."""
    fields, forms = context.package.spec.fields, context.package.forms
    names = tuple(name for name in fields if name != "t")
    for side in (context.package.reference, *(cls for name, cls in forms.items() if name != "kernel")):
        state = side._state_class
        _expect(context, "state fields", (*names, "t"), tuple(f.name for f in dataclasses.fields(state)), side.__name__)
        field_names(state)
    for form in (context.form, *context.further_forms):
        _form_states(context, names, form)


def _form_states(context: Context, names: tuple[str, ...], form: str) -> None:
    """The dtypes and shapes of a form's state."""
    fields = context.package.spec.fields
    env = context.package.forms[form](batch_size=[3], seed=0)
    for name in names:
        dtype, shape = env._field_forms.get(name, (None, None))
        _expect(
            context,
            f"state field {name}",
            (str(fields[name].dtype), fields[name].shape),
            (str(dtype).removeprefix("torch."), shape),
            FILES[form],
        )
    if form != "kernel":  # whose t is its base class's
        found = str(env.t_dtype).removeprefix("torch.")
        _expect(context, "state field t", str(fields["t"].dtype), found, "fast.py's t_dtype")


def _schema(context: Context) -> None:
    """``schema.json`` is a JSON Schema whose state has the spec's fields, shapes and bounds."""
    try:
        schema = json.loads(context.package.files["schema.json"])
    except (ValueError, RecursionError) as error:
        context.problem(f"schema.json: expected a JSON Schema: {error}")
        return
    try:
        jsonschema.Draft202012Validator.check_schema(schema)
    except jsonschema.SchemaError as error:
        context.problem(f"schema.json: {error.message}")
        return
    definitions = schema.get("$defs", {}) if isinstance(schema, dict) else {}
    for name in ("state", "action", "trajectory"):
        if name not in definitions:
            context.problem(f"schema.json: expected $defs/{name}")
    state = definitions.get("state")
    state = state if isinstance(state, dict) else {}
    fields = context.package.spec.fields
    _expect(context, "state fields", sorted(fields), sorted(state.get("properties", {})), "schema.json")
    _expect(context, "required state fields", sorted(fields), sorted(state.get("required", [])), "schema.json")
    for name, field in fields.items():
        if name not in state.get("properties", {}):
            continue  # told above
        part, sizes = state["properties"][name], []
        while part.get("type") == "array":
            sizes.append(part.get("maxItems") if part.get("maxItems") == part.get("minItems") else None)
            part = part.get("items", {})
        _expect(context, f"state field {name}'s shape", list(field.shape), sizes, "schema.json")
        _expect(context, f"state field {name}'s type", TYPES[field.dtype.kind], part.get("type"), "schema.json")
        if field.dtype.kind != "b":
            bounds, found = [field.low, field.high], [part.get("minimum"), part.get("maximum")]
            if not all(_same_bound(field, *pair) for pair in zip(bounds, found, strict=True)):
                context.problem(f"state field {name}'s bounds: spec.md says {bounds}, schema.json has {found}")
    if "action" in definitions:
        _action(context)


def _action(context: Context) -> None:
    """``$defs/action`` takes the ends of the action space, and nothing beside it."""
    space, takes = context.package.spec.action_space, schemas.validator(context.package, "action").is_valid
    for action in schemas.actions(space):
        context.count("facts compared")
        if not takes(action):
            context.problem(f"action: spec.md says {space}, schema.json does not take {action}")
    for what, action in schemas.no_actions(space):
        context.count("facts compared")
        if takes(action):
            context.problem(f"action: spec.md says {space}, schema.json takes {action}: {what}")
            return


def _same_bound(field: Field, stated: float, found: float | None) -> bool:
    """A bound of the schema, equal in the field's dtype; none stands for infinity."""
    if found is None:
        return bool(np.isinf(stated))
    return bool(field.dtype.type(stated) == field.dtype.type(found))


def _checks(context: Context) -> None:
    """``checks.py`` has the invariants, causes, symmetries and policies that the spec names; its excuses are well
    formed."""
    spec, checks = context.package.spec, context.package.checks
    for problem in excuses.problems(checks):
        context.problem(problem)
    lists = {"INVARIANTS": spec.invariants, "TERMINATIONS": spec.terminations}
    for name, stated in lists.items():
        found = [function.__name__ for function in getattr(checks, name, [])]
        _expect(context, name, stated, found, "checks.py")
    symmetries = [symmetry.name for symmetry in getattr(checks, "SYMMETRIES", [])]
    _expect(context, "SYMMETRIES", spec.symmetries, symmetries, "checks.py")
    if not spec.invariants:
        context.problem("spec.md: expected at least one invariant")
    policies = {policy.name: policy for policy in getattr(checks, "POLICIES", [])}
    _expect(context, "policies", sorted(spec.policies), sorted(policies), "checks.py")
    for name, policy in spec.policies.items():
        if name in policies:
            figures = (policies[name].expected_return, policies[name].standard_deviation)
            _expect(
                context, f"policy {name}", (policy.expected_return, policy.standard_deviation), figures, "checks.py"
            )
            _figures(context, policies[name])


def _figures(context: Context, policy: ScriptedPolicy) -> None:
    """A policy's figures are exact where the spec says so, else of many episodes, and its range is no blank cheque."""
    rows = {row["policy"]: row for row in context.package.spec.table("policy").records()}
    derivation = rows[policy.name].get("derivation", "")
    exact = derivation.lower().startswith("exact")
    episodes = policy.estimated_from
    if exact != (episodes is None):
        context.problem(
            f"policy {policy.name}: spec.md's derivation {derivation!r} {'begins' if exact else 'does not begin'} with "
            f"'exact', checks.py has estimated_from={episodes}: None says that the figures are exact"
        )
    elif episodes is not None and episodes < LEAST_EPISODES:
        context.problem(f"policy {policy.name}: expected estimated_from >= {LEAST_EPISODES}, got {episodes}")
    mean, many = policy.expected_return, DEFAULT.episodes[1]
    allowed, without = (radius(one, many) for one in (policy, dataclasses.replace(policy, return_range=(mean, mean))))
    if allowed > 2 * without:
        context.problem(
            f"policy {policy.name}: with return_range={policy.return_range} a mean of {many} episodes may be off by "
            f"{allowed:.4g}, of which the standard deviation accounts for {without:.4g}: state the least and the "
            "greatest return of this policy, or take a policy that earns other returns more often"
        )
