# mypy: ignore-errors
"""Shapes, and rows that depend on one another."""

import torch


class RewardSqueezed:
    """the reward is squeezed at N = 1"""

    def transition(self, state, action, draw):
        after, reward, terminated = self.honest_transition(state, action, draw)
        return after, reward.squeeze(), terminated


class RewardColumn:
    """the reward is [N, 1]"""

    def transition(self, state, action, draw):
        after, reward, terminated = self.honest_transition(state, action, draw)
        return after, reward.unsqueeze(-1), terminated


class RewardMean:
    """the reward is reduced over the batch"""

    def transition(self, state, action, draw):
        after, reward, terminated = self.honest_transition(state, action, draw)
        return after, reward.amax(0, keepdim=True).expand_as(reward).clone(), terminated


class TerminatedShared:
    """the first row's termination is every row's"""

    needs = ("terminates",)

    def transition(self, state, action, draw):
        after, reward, terminated = self.honest_transition(state, action, draw)
        return after, reward, terminated[:1].expand_as(terminated).clone()


class FirstStatesShared:
    """every row begins with the first row's state"""

    needs = ("reset draws",)

    def initial(self, draw):
        state = self.honest_initial(draw)
        for name in self._field_names:
            value = getattr(state, name)
            setattr(state, name, value[:1].expand_as(value).clone())
        return state


class ObservationTransposed:
    """the observation is transposed where it is square"""

    needs = ("vector observation",)

    def observation(self, state):
        seen = self.honest_observation(state)
        return seen.transpose(0, 1).contiguous() if seen.shape[0] == seen.shape[1] else seen


class NoBatchSize:
    """an environment of batch size [] gives another reward"""

    def _result(self, carry, outcome):
        return super()._result(carry, outcome if self.batch_size else outcome._replace(reward=outcome.reward + 1))


class BatchOfTwoDimensions:
    """the rows of a batch of two dimensions are turned round"""

    def _shaped(self, value):
        value = super()._shaped(value)
        return value if len(self.batch_size) < 2 else value.flip(0)


class ActionMaskWrong:
    """the action mask allows everything"""

    needs = ("action mask",)

    def action_mask(self, state):
        return torch.ones_like(self.honest_action_mask(state))
