"""``StateAccess``: the seeds of a ``FastEnv``'s instances, and reading and injecting their states and clocks."""

from __future__ import annotations

import os
from typing import Any

import torch
from tensordict import TensorDict, TensorDictBase
from torch import Tensor
from torchrl.envs import EnvBase

from ..errors import SeedError, StateError
from ..rng.tensor import check_words, episode_keys, instance_seeds
from ..spec.state import CLOCK
from .core import Carry, laid


class StateAccess(EnvBase):
    """The part of :class:`~simulacrum.FastEnv` that holds seeds, and gives and takes states."""

    first_instance: int
    _rows: int
    _carry: Carry | None
    _next_seeds: Tensor | None
    _set_seed_called: bool
    _field_names: Any
    _field_forms: dict[Any, tuple[torch.dtype, tuple[int, ...]]]

    @property
    def instance_seeds(self) -> Tensor:
        """The seeds of the instances, int64 [N] (the bits of the u64), those in use, or those of the first reset."""
        seeds = self._next_seeds if self._carry is None else self._carry.seed
        assert seeds is not None
        return seeds.clone()

    def _set_seed(self, seed: int | None) -> None:
        self._next_seeds = self._checked_seeds(seed)
        self._set_seed_called = True

    def _checked_seeds(self, seed: int | Tensor | None) -> Tensor:
        if isinstance(seed, Tensor):
            if seed.dtype != torch.int64 or seed.numel() != self._rows:
                raise SeedError(
                    f"seed: expected an int, or int64 with {self._rows} elements, got {seed.dtype} {list(seed.shape)}"
                )
            return seed.reshape(-1).to(self.device, copy=True)
        if seed is None:
            seed = int.from_bytes(os.urandom(8), "little")
        last = self.first_instance + self._rows
        if not self.first_instance >= 0 or last > 1 << 32:
            raise SeedError(f"first_instance: expected instances in 0..2**32-1, got {self.first_instance}..{last - 1}")
        return instance_seeds(seed, torch.arange(self.first_instance, last, dtype=torch.int64, device=self.device))

    def get_state(self) -> TensorDict:
        """``("state", field)`` and ``("clock", "seed" | "episode" | "t")`` of every instance: copies, as ``reset(td,
        set_state=True)`` takes them. Fields are ``[*batch_size, ...]`` in their dtypes; the clock is int64
        ``[*batch_size]``, and holds ``t``; the seeds are the bits of the u64.

        Raises :class:`~simulacrum.errors.StateError` before the first reset.
        """
        return TensorDict(self._exposed(self._begun()), batch_size=self.batch_size, device=self.device)

    def _begun(self) -> Carry:
        if self._carry is None:
            raise StateError("no episode has begun; call reset() first")
        return self._carry

    def _exposed(self, carry: Carry) -> dict[str, dict[str, Tensor]]:
        state = {name: _copy(self._shaped(value)) for name, value in carry.fields.items()}
        clock = {name: self._shaped(getattr(carry, name)).clone() for name in CLOCK}
        return {"state": state, "clock": clock}

    def _injected(self, tensordict: TensorDictBase | None) -> Carry:
        """The carry that a reset's TensorDict holds."""
        names = [*(("state", name) for name in self._field_names), *(("clock", name) for name in CLOCK)]
        present = set() if tensordict is None else set(tensordict.keys(True, True))
        missing = [name for name in names if name not in present]
        if tensordict is None or missing:
            raise StateError(
                f"reset(set_state=True): the TensorDict lacks {missing}; make the environment with expose_state=True "
                "(a TransformedEnv drops keys that the specs do not show)"
            )
        fields = {}
        for name, (dtype, shape) in self._field_forms.items():
            value = tensordict.get(("state", name)).to(self.device)
            _expect_state(f"('state', {name!r})", value, dtype, (*self.batch_size, *shape))
            fields[name] = laid(_copy(value.reshape(self._rows, *shape)))
        clock = {}
        for name in CLOCK:
            value = tensordict.get(("clock", name)).to(self.device)
            _expect_state(f"('clock', {name!r})", value, torch.int64, tuple(self.batch_size))
            clock[name] = value.reshape(self._rows).clone()
        check_words(clock["episode"], "episode")
        check_words(clock["t"], "t")
        k0, k1 = episode_keys(clock["seed"], clock["episode"])
        return Carry(fields, clock["seed"], clock["episode"], clock["t"], k0, k1)

    def _shaped(self, value: Tensor) -> Tensor:
        return value if len(self.batch_size) == 1 else value.reshape((*self.batch_size, *value.shape[1:]))


def _copy(value: Tensor) -> Tensor:
    return value.clone(memory_format=torch.contiguous_format)


def _expect_state(what: str, value: Tensor, dtype: torch.dtype, shape: tuple[int, ...]) -> None:
    if value.dtype != dtype or value.shape != shape:
        raise StateError(f"{what}: expected {dtype} {list(shape)}, got {value.dtype} {list(value.shape)}")
