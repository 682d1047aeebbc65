# mypy: ignore-errors
"""Seeds, keys and draws."""

import torch

from simulacrum.rng.tensor import Draw, episode_keys


class StepAfter:
    """step draws take the step counter after the transition"""

    needs = ("step draws",)

    def transition(self, state, action, draw):
        if isinstance(draw, Draw):
            draw = Draw(draw._k0, draw._k1, draw._t + 1, draw._phase)
        return self.honest_transition(state, action, draw)


class StepBefore:
    """step draws take the step counter of the step before"""

    needs = ("step draws",)

    def transition(self, state, action, draw):
        if isinstance(draw, Draw):
            draw = Draw(draw._k0, draw._k1, draw._t - 1, draw._phase)
        return self.honest_transition(state, action, draw)


class StepZero:
    """step draws are the same in every step"""

    needs = ("step draws",)

    def transition(self, state, action, draw):
        if isinstance(draw, Draw):
            draw = Draw(draw._k0, draw._k1, torch.zeros_like(draw._t), draw._phase)
        return self.honest_transition(state, action, draw)


class ResetDrawsLater:
    """reset draws take t = 1"""

    needs = ("reset draws",)

    def initial(self, draw):
        if isinstance(draw, Draw):
            draw = Draw(draw._k0, draw._k1, draw._t + 1, draw._phase)
        return self.honest_initial(draw)


class BatchIndexInStepKey:
    """the place in the batch is in the key of step draws"""

    needs = ("step draws",)

    def transition(self, state, action, draw):
        if isinstance(draw, Draw):
            place = torch.arange(draw.rows, dtype=torch.int32, device=draw._k0.device)
            draw = Draw(draw._k0 + place, draw._k1, draw._t, draw._phase)
        return self.honest_transition(state, action, draw)


class BatchIndexInResetKey:
    """the place in the batch is in the key of reset draws"""

    needs = ("reset draws",)

    def initial(self, draw):
        if isinstance(draw, Draw):
            place = torch.arange(draw.rows, dtype=torch.int32, device=draw._k0.device)
            draw = Draw(draw._k0 + place, draw._k1, draw._t, draw._phase)
        return self.honest_initial(draw)


class SharedStepDraws:
    """every row makes the first row's step draws"""

    needs = ("step draws",)

    def transition(self, state, action, draw):
        if isinstance(draw, Draw):
            keys = (key[:1].expand_as(key).contiguous() for key in (draw._k0, draw._k1))
            draw = Draw(*keys, draw._t, draw._phase)
        return self.honest_transition(state, action, draw)


class SeedTruncated32:
    """set_seed cuts its seed to 32 bits"""

    def _checked_seeds(self, seed):
        return super()._checked_seeds(seed & 0xFFFFFFFF if isinstance(seed, int) else seed)


class SeedTruncated63:
    """set_seed cuts its seed to 63 bits"""

    def _checked_seeds(self, seed):
        return super()._checked_seeds(seed & 0x7FFFFFFFFFFFFFFF if isinstance(seed, int) else seed)


class InstanceSeedTruncated32:
    """instance seeds are cut to 32 bits"""

    def _begin_all(self):
        if self._next_seeds is not None:
            self._next_seeds = self._next_seeds & 0xFFFFFFFF
        return super()._begin_all()


class InstanceSeedTruncated63:
    """instance seeds are cut to 63 bits"""

    def _begin_all(self):
        if self._next_seeds is not None:
            self._next_seeds = self._next_seeds & 0x7FFFFFFFFFFFFFFF
        return super()._begin_all()


class OneSeedForAll:
    """every instance gets the same seed"""

    def _checked_seeds(self, seed):
        seeds = super()._checked_seeds(seed)
        return seeds[:1].expand_as(seeds).clone() if isinstance(seed, int) else seeds


class NeighbouringSeeds:
    """set_seed gives instance i the seed plus i"""

    def _checked_seeds(self, seed):
        seeds = super()._checked_seeds(seed)
        if not isinstance(seed, int):
            return seeds
        first = self.first_instance + (seed - (1 << 64) if seed >> 63 else seed)
        return torch.arange(self._rows, dtype=torch.int64, device=self.device) + first


class FirstInstanceIgnored:
    """first_instance is ignored"""

    def _checked_seeds(self, seed):
        own, self.first_instance = self.first_instance, 0
        seeds = super()._checked_seeds(seed)
        self.first_instance = own
        return seeds


class SetSeedIgnored:
    """set_seed after the construction has no effect"""

    def _set_seed(self, seed):
        self._set_seed_called = True


class SetSeedIgnoredAtFirst:
    """set_seed before the first reset has no effect"""

    def _set_seed(self, seed):
        if self._carry is not None:
            super()._set_seed(seed)


class UnseededResetRandom:
    """an unseeded reset after a seeded one is random"""

    def _begin_all(self):
        if self._next_seeds is None:
            self._next_seeds = self._checked_seeds(None)
        return super()._begin_all()


class EpisodeTruncated:
    """of the episode counter 16 bits are in the key"""

    needs = ("step draws",)

    def _injected(self, tensordict):
        carry = super()._injected(tensordict)
        k0, k1 = episode_keys(carry.seed, carry.episode & 0xFFFF)
        return carry._replace(k0=k0, k1=k1)


class GlobalGenerator:
    """a step draws from torch's global generator"""

    def transition(self, state, action, draw):
        torch.empty(1).uniform_()
        return self.honest_transition(state, action, draw)


class GlobalGeneratorInResets:
    """a reset draws from torch's global generator"""

    def _begin_all(self):
        torch.empty(1).uniform_()
        return super()._begin_all()


class SeedsToldWrong:
    """instance_seeds tells other seeds after the first episode"""

    @property
    def instance_seeds(self):
        seeds = super().instance_seeds
        return seeds if self._carry is None or int(self._carry.episode.max()) < 1 else seeds + 1


class VectorSeedsIgnored:
    """behind the vector adapter, the seeds of a reset are ignored"""

    def plain_reset(self, seeds=None, seeded=None, mask=None):
        return super().plain_reset(None, None, mask)


class VectorMaskedSeedsWrong:
    """behind the vector adapter, the seeds of a partial reset are one higher"""

    def plain_reset(self, seeds=None, seeded=None, mask=None):
        return super().plain_reset(seeds if mask is None or seeds is None else seeds + 1, seeded, mask)
