"""How what is seen becomes numbers: modules that take an environment's entries ``[B, ...]`` and give float32 [B, size].

Each names the entries that it reads in ``keys``. One that reads ``("state", field)`` needs an environment with
``expose_state=True``: its policy sees what a scripted policy sees, and not the observation alone.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from .settings import Settings

GRID = 8  # forager's
SIDE = 2 * GRID - 1  # of a map on which every cell has a place, wherever the agent is


class Numbers(nn.Module):
    """The observation, flattened, as float32."""

    keys: tuple[Any, ...] = ("observation",)

    def __init__(self, settings: Settings, shape: torch.Size) -> None:
        super().__init__()
        self.size = shape.numel()

    def forward(self, observation: Tensor) -> Tensor:
        return observation.flatten(1).float()


class Cells(nn.Module):
    """A window of cells, each a small number: for every plane 1 where the cell's is in the plane's range, else 0."""

    keys: tuple[Any, ...] = ("observation",)

    def __init__(self, settings: Settings, shape: torch.Size) -> None:
        super().__init__()
        if not settings.planes or any(not 0 <= first <= last <= 255 for first, last in settings.planes):
            raise ValueError(f"planes: expected ranges [first, last] within 0 to 255, got {list(settings.planes)}")
        self.planes = settings.planes
        self.size = len(self.planes) * shape.numel()

    def forward(self, observation: Tensor) -> Tensor:
        cells = observation.flatten(1)
        planes = torch.empty((len(cells), len(self.planes), cells.shape[1]), device=cells.device)
        for number, (first, last) in enumerate(self.planes):
            planes[:, number] = (cells - first) <= last - first  # uint8: what is below the range wraps to above it
        return planes.flatten(1)


class Berries(nn.Module):
    """forager's whole state, as the greedy script sees it: a map of the live berries around the agent, its own column
    and row, and the observation. The map is centred on the agent, so that what is learned in one place holds in others.
    """

    keys: tuple[Any, ...] = (
        "observation",
        *(("state", name) for name in ("x", "y", "berry_x", "berry_y", "berry_live")),
    )

    def __init__(self, settings: Settings, shape: torch.Size) -> None:
        super().__init__()
        self.size = SIDE**2 + 2 * GRID + shape.numel()

    def forward(
        self, observation: Tensor, x: Tensor, y: Tensor, berry_x: Tensor, berry_y: Tensor, berry_live: Tensor
    ) -> Tensor:
        found = torch.zeros((len(x), self.size), device=x.device)
        x, y = x.long().unsqueeze(-1), y.long().unsqueeze(-1)
        place = (berry_y - y + GRID - 1) * SIDE + berry_x - x + GRID - 1
        found.scatter_add_(1, place, berry_live.float())
        found.scatter_(1, torch.cat([x, GRID + y], -1) + SIDE**2, 1.0)
        found[:, self.size - observation.shape[-1] :] = observation
        return found


FEATURES: dict[str, Any] = {"numbers": Numbers, "cells": Cells, "berries": Berries}


def make_features(settings: Settings, shape: torch.Size) -> Any:
    """The features of the settings, for observations of a shape; raises ValueError for a name that there is none of."""
    if settings.features not in FEATURES:
        raise ValueError(f"features: expected one of {', '.join(FEATURES)}, got {settings.features!r}")
    return FEATURES[settings.features](settings, shape)


def sees_state(settings: Settings) -> bool:
    """Whether a run's features read the state, so that the environment must expose it."""
    kind = FEATURES.get(settings.features)
    return kind is not None and any(isinstance(key, tuple) for key in kind.keys)
