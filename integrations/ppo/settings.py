"""``Settings``: what a run is told, from a small TOML file."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

try:
    import tomllib
except ModuleNotFoundError:  # Python 3.10
    import tomli as tomllib  # type: ignore[no-redef]


@dataclass(frozen=True)
class Settings:
    """One training run. ``frames`` count agent-steps: with many agents an environment's step is one for each of them.

    Attributes:
        environment: the ID, and its named configuration ``config``, if it has any.
        instances: how many run side by side; ``steps`` of each are collected for a batch.
        frames: when the run is over.
        features: how what is seen becomes numbers: a name of :data:`ppo.features.FEATURES`.
        planes: of features ``cells``, the classes ``[first, last]`` of each plane.
        hidden: widths of the hidden layers, which the policy and the value share.
        learning_rate: at the start; it falls to 0 along a line.
        gamma, lmbda: of the generalised advantage estimate.
        clip, entropy, critic, max_grad_norm: of the clipped PPO loss and its optimiser.
        epochs: passes over a batch, each in ``minibatches`` parts.
        seed: of the environment and of torch.
        checkpoint_seconds: how often a checkpoint is written; what an interruption by force may lose.
        evaluation_instances: how many play an episode each when the run is over.
    """

    environment: str
    config: str | None = None
    instances: int = 64
    steps: int = 32
    frames: int = 200_000
    features: str = "numbers"
    planes: tuple[tuple[int, int], ...] = ()
    hidden: tuple[int, ...] = (64,)
    learning_rate: float = 3e-3
    gamma: float = 0.99
    lmbda: float = 0.95
    clip: float = 0.2
    entropy: float = 0.01
    critic: float = 0.5
    max_grad_norm: float = 0.5
    epochs: int = 2
    minibatches: int = 4
    seed: int = 0
    checkpoint_seconds: float = 60.0
    evaluation_instances: int = 256

    def __post_init__(self) -> None:
        least = {"instances": 1, "steps": 1, "frames": 1, "epochs": 1, "minibatches": 1, "learning_rate": 0, "seed": 0}
        least["evaluation_instances"] = 1
        for name, bound in least.items():
            if getattr(self, name) < bound:
                raise ValueError(f"{name}: expected {bound} or more, got {getattr(self, name)!r}")

    @classmethod
    def of(cls, values: dict[str, Any]) -> Settings:
        """Settings of a dictionary; raises ValueError for a name that there is none of, and without an environment."""
        unknown = sorted(values.keys() - {field.name for field in fields(cls)})
        if unknown or "environment" not in values:
            known = ", ".join(field.name for field in fields(cls))
            raise ValueError(f"settings: expected an environment and some of {known}; got {unknown or sorted(values)}")
        lists = {name: _frozen(value) for name, value in values.items()}
        return cls(**lists)

    @classmethod
    def read(cls, path: Path, **others: Any) -> Settings:
        """Settings of a TOML file, some of them replaced by ``others``."""
        return cls.of({**tomllib.loads(path.read_text()), **others})

    def as_dict(self) -> dict[str, Any]:
        """The settings as a dictionary of plain values."""
        return asdict(self)


def _frozen(value: Any) -> Any:
    return tuple(_frozen(one) for one in value) if isinstance(value, (list, tuple)) else value
