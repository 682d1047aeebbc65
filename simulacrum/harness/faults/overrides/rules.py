# mypy: ignore-errors
"""The step cap and the end of episodes."""

import torch


class CapHigher:
    """the step cap is one step too late"""

    needs = ("truncates",)

    def _use(self, core):
        core.cap = self.environment.max_episode_steps + 1
        super()._use(core)


class CapLower:
    """the step cap is one step too early"""

    needs = ("truncates",)

    def _use(self, core):
        core.cap = self.environment.max_episode_steps - 1
        super()._use(core)


class NeverTerminates:
    """no step terminates"""

    needs = ("terminates",)

    def transition(self, state, action, draw):
        after, reward, terminated = self.honest_transition(state, action, draw)
        return after, reward, torch.zeros_like(terminated)


class LastStepDoesNotTerminate:
    """the step at the cap does not terminate"""

    needs = ("terminates", "truncates")

    def transition(self, state, action, draw):
        after, reward, terminated = self.honest_transition(state, action, draw)
        return after, reward, terminated & (state.t + 1 < self.environment.max_episode_steps)


class ObservationOneStepOld:
    """the observation has the step counter of the step before"""

    needs = ("observes t",)

    def observation(self, state):
        before = type(state)(**{name: getattr(state, name) for name in self._field_names})
        before.t = torch.clamp(state.t - 1, min=0)
        return self.honest_observation(before)
