"""What the files of a pack hold: which columns flat files have, in which dtypes, and what they skip."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

from ..spec.document import Spec
from ..trajectory import Metadata
from .fields import Field, Schema, Shape

COMPONENTS = 16  # an action, or the agents, of at most so many numbers have a column for each
OVER = ("rows", "steps", "episodes", "ends")  # what the items of a column stand for


class Column(NamedTuple):
    """A typed array of a flat file.

    Attributes:
        name: of the array.
        dtype: of its items, by NumPy's name.
        over: what they stand for: ``rows``, ``steps``, ``episodes`` or ``ends``.
        json: their type in JSON.
    """

    name: str
    dtype: str
    over: str
    json: str = "number"


class Skipped(NamedTuple):
    """What flat files leave out, for it is an array.

    Attributes:
        name: of the field.
        dtype: by NumPy's name.
        shape: of one state.
    """

    name: str
    dtype: str
    shape: Shape


class Identity(NamedTuple):
    """What all trajectories of a pack share.

    Attributes:
        id: the environment's ID.
        configuration: of the package; None where it has none.
        agents: how many agents share an instance; None for one agent.

    Example:
        >>> from simulacrum.export import Identity
        >>> from simulacrum.spec import Package
        >>> from simulacrum.trajectory import Metadata
        >>> Identity.of(Metadata.of(Package.read("envs/toywalk").environment, 7))
        Identity(id='simulacrum/toywalk-v0', configuration=None, agents=None)
    """

    id: str
    configuration: str | None
    agents: int | None

    @classmethod
    def of(cls, metadata: Metadata) -> Identity:
        """That of a trajectory."""
        return cls(metadata.id, metadata.configuration, metadata.agents)


class Typed(NamedTuple):
    """The dtype and the shape of each state field by name and of the action, and the reward's dtype."""

    state: Mapping[str, tuple[str, Shape]]
    action: tuple[str, Shape]
    reward: str

    @classmethod
    def of_spec(cls, spec: Spec) -> Typed:
        """As ``spec.md`` has them."""
        state = {name: (str(field.dtype), field.shape) for name, field in spec.fields.items()}
        space = spec.action_space
        return cls(state, (str(space.dtype), tuple(space.shape or ())), str(spec.reward_dtype))


@dataclass(frozen=True)
class Layout:
    """The fields of one environment in one configuration.

    Attributes:
        state: the state's fields by name.
        action: the action.
        reward: the reward's dtype.
        agents: how many agents share an instance; None for one.
    """

    state: Mapping[str, Field]
    action: Field
    reward: str = "float64"
    agents: int | None = None

    @classmethod
    def of(cls, schema: Schema, agents: int | None, typed: Typed | None = None) -> Layout:
        """The layout of a schema; in dtypes given otherwise, or in those that the schema's bounds allow.

        Raises :class:`PackError` where the two do not fit.
        """
        if typed is None:
            return cls(schema.state, schema.action, agents=agents)
        if typed.state.keys() != schema.state.keys():
            raise schema.error("/$defs/state/properties", f"expected the fields {', '.join(typed.state)}")
        state = {name: schema.typed(name, *typed.state[name]) for name in schema.state}
        return cls(state, schema.typed(None, *typed.action), typed.reward, agents)

    def columns(self) -> list[Column]:
        """The columns of a flat file."""
        return [
            *(self._column(f"state_{name}", field, "rows") for name, field in self.state.items() if not field.shape),
            Column("t", "uint32", "steps"),
            *(self._column(name, field, "steps") for name, field in self._parts("action", self.action)),
            Column("reward", self.reward, "steps"),
            *(self._column(name, field, "steps") for name, field in self._parts("reward", self._each(self.reward))),
            *(self._column(name, field, "steps") for name, field in self._parts("died", self._each("bool"))),
            Column("terminated", "bool", "steps", "boolean"),
            Column("truncated", "bool", "steps", "boolean"),
            Column("cumulative_return", "float64", "steps"),
            Column("terminal_steps", "int64", "ends"),
            Column("episode_seed", "uint64", "episodes", "string"),
            Column("episode_number", "uint32", "episodes"),
            Column("episode_first_row", "int64", "episodes"),
            Column("episode_first_step", "int64", "episodes"),
            Column("episode_steps", "int64", "episodes"),
        ]

    def skipped(self) -> list[Skipped]:
        """What a flat file skips."""
        listed = {f"state_{name}": field for name, field in self.state.items() if field.shape}
        each = {"action": self.action, "reward_of_agents": self._each(self.reward), "died": self._each("bool")}
        for name, field in each.items():
            if field is not None and field.shape and not self.components(field):
                listed[name] = field
        return [Skipped(name, field.dtype, field.shape) for name, field in listed.items()]

    def components(self, field: Field) -> int:
        """How many columns an array of a step has; 0 where it is skipped."""
        length = field.shape[0] if len(field.shape) == 1 else None
        return length if length is not None and length <= COMPONENTS else 0

    def _each(self, dtype: str) -> Field | None:
        """A number of each agent, where there are many."""
        return None if self.agents is None else Field(dtype, (self.agents,))

    def _parts(self, name: str, field: Field | None) -> list[tuple[str, Field]]:
        """The columns of a step's number (one), or array (one a component, or none)."""
        if field is None:
            return []
        if not field.shape:
            return [(name, field)]
        return [(f"{name}_{index}", replace(field, shape=())) for index in range(self.components(field))]

    def _column(self, name: str, field: Field, over: str) -> Column:
        kind = "boolean" if field.dtype == "bool" else "string" if field.text else "number"
        return Column(name, field.dtype, over, kind)
