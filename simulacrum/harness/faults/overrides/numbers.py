# mypy: ignore-errors
"""Number formats and rounding."""

import math

import torch


class ObservationFloat64:
    """the observation is float64"""

    needs = ("box observation",)

    def observation(self, state):
        return self.honest_observation(state).double()


class ObservationNegativeZero:
    """the observation has -0.0 for 0.0"""

    needs = ("box observation",)

    def observation(self, state):
        seen = self.honest_observation(state)
        return torch.where(seen == 0, -torch.zeros_like(seen), seen)


class ObservationUlp:
    """the observation is one unit in the last place too high"""

    needs = ("box observation",)

    def observation(self, state):
        seen = self.honest_observation(state)
        return torch.where(seen == 0, seen, torch.nextafter(seen, torch.full_like(seen, math.inf)))


class ObservationHalf:
    """the observation is rounded to bfloat16 on the way"""

    needs = ("box observation",)

    def observation(self, state):
        seen = self.honest_observation(state)
        return seen.to(torch.bfloat16).to(seen.dtype)


class RewardUlp:
    """the reward is one unit in the last place too high"""

    def transition(self, state, action, draw):
        after, reward, terminated = self.honest_transition(state, action, draw)
        return after, torch.nextafter(reward, torch.full_like(reward, math.inf)), terminated


class RewardDefaultDtype:
    """the reward depends on the default dtype"""

    def transition(self, state, action, draw):
        after, reward, terminated = self.honest_transition(state, action, draw)
        if torch.get_default_dtype() != torch.float32:
            reward = reward + 1
        return after, reward, terminated


class RewardNaN:
    """a NaN slips through a where at the second step"""

    def transition(self, state, action, draw):
        after, reward, terminated = self.honest_transition(state, action, draw)
        return after, torch.where(state.t == 1, reward * math.nan, reward), terminated


class ClockDtype:
    """the step counter of the state is int64"""

    t_dtype = torch.int64
