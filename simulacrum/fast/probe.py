"""A trial step of a few rows at construction: learns the forms of the outputs and refuses what cannot be right."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from gymnasium import spaces
from torch import Tensor

from ..errors import OutputError
from ..rng.tensor import AskedDraw, episode_keys
from .core import INFO, Carry, expect, observation_name
from .specs import observation_keys, torch_dtype

if TYPE_CHECKING:
    from .env import FastEnv

ROWS = 3
Form = tuple[torch.dtype, tuple[int, ...]]
Forms = dict[Any, Form]


def probe(env: FastEnv[Any]) -> tuple[Forms, Forms, frozenset[Any]]:
    """(forms of the state's fields, forms of what is seen, names of what is to be copied before it is kept or shown).

    To be copied are outputs in memory that lives on (the state's, a constant's, the action's), and state fields in the
    action's memory, which is the caller's; their names are ``("state", field)``.

    Raises :class:`OutputError` for an output that is no tensor [N, ...], or has another form than the spaces declare.
    """
    core, environment = env._core, env.environment
    zero = torch.zeros(ROWS, dtype=torch.int64, device=env.device)
    k0, k1 = episode_keys(zero, zero)
    first_draw = AskedDraw(k0, k1, zero, environment.reset_phase)
    state = env.initial(first_draw)
    fields = {name: getattr(state, name) for name in env._field_names}
    field_forms = {name: _form(f"initial: state field {name}", value) for name, value in fields.items()}
    carry = Carry(fields, zero, zero, zero, k0, k1)
    action = _some_action(env)

    step_draw = AskedDraw(k0, k1, zero, environment.step_phase)

    def transition() -> tuple[Any, Any, Any]:
        result: tuple[Any, Any, Any] = env.transition(core.state(fields, zero), action, step_draw)
        return result

    inputs = {**{f"state field {name}": value for name, value in fields.items()}, "action": action}
    versions = {name: value._version for name, value in inputs.items() if not value.is_inference()}
    after, reward, terminated = transition()
    for name, (dtype, shape) in field_forms.items():
        expect(f"transition: state field {name}", getattr(after, name, None), dtype, (ROWS, *shape))
    expect("transition: reward", reward, env._reward_dtype, (ROWS,))
    expect("transition: terminated", terminated, torch.bool, (ROWS,))
    seen = core.seen(carry)
    written = [name for name, version in versions.items() if inputs[name]._version != version]
    if written:
        raise OutputError(f"fast.py writes into its input ({', '.join(written)}): give new tensors instead")
    seen_forms = {key: _form(observation_name(key), value) for key, value in seen.items()}
    known = observation_keys(environment.observation_space)
    shown = [key for key in seen if key != "action_mask" and not (isinstance(key, tuple) and key[0] == INFO)]
    if isinstance(environment.observation_space, spaces.Tuple) and shown != list(known):
        got = "another type" if "observation" in shown or not shown else ", ".join(map(observation_name, shown))
        raise OutputError(f"observation: expected a tuple of {len(known)} tensors, got {got}")
    for key, space in known.items():
        if key not in seen:
            raise OutputError(f"observation: expected the key {key!r}, got {list(seen)}")
        expect(observation_name(key), seen[key], torch_dtype(space.dtype), (ROWS, *(space.shape or ())))
    for key in shown:
        if key not in known:
            raise OutputError(f"observation: the key {key!r} is not in {environment.observation_space}")
    next_fields = {("state", name): getattr(after, name) for name in env._field_names}
    again, reward_again, terminated_again = core.seen(carry), *transition()[1:]  # memory that is met twice lives on
    lasting = [*fields.values(), *next_fields.values(), action, *again.values(), reward_again, terminated_again]
    core.drawn_at_reset, core.drawn_at_step = tuple(first_draw.asked), tuple(step_draw.asked)
    outputs = {**seen, "reward": reward, "terminated": terminated}
    return field_forms, seen_forms, _within(outputs, lasting) | _within(next_fields, [action])


def _within(values: dict[Any, Tensor], others: list[Tensor]) -> frozenset[Any]:
    """The names of the values that lie in the memory of others."""
    memory = {other.untyped_storage().data_ptr() for other in others}
    return frozenset(name for name, value in values.items() if value.untyped_storage().data_ptr() in memory)


def _some_action(env: FastEnv[Any]) -> Tensor:
    """Elements of the action space, the nearest to zero."""
    checker = env._action_checker
    shape = (ROWS, *(env.environment.action_space.shape or ()))
    zeros = torch.zeros(shape, dtype=checker.dtype, device=env.device)
    if checker.dtype == torch.bool:
        return zeros
    return torch.clamp(zeros, checker.low, checker.high)


def _form(what: str, value: Any) -> Form:
    if not isinstance(value, Tensor) or value.ndim < 1 or value.shape[0] != ROWS:
        got = f"{value.dtype} {list(value.shape)}" if isinstance(value, Tensor) else repr(value)
        raise OutputError(f"{what}: expected a tensor [N, ...] (here N = {ROWS}), got {got}")
    return value.dtype, tuple(value.shape[1:])
