# mypy: ignore-errors
"""Memory, surroundings, batch sizes, and ways to run that differ."""

import torch


class ObservationReused:
    """the observation is written into one buffer again and again"""

    needs = ("box observation",)

    def observation(self, state):
        seen = self.honest_observation(state)
        if len(seen) <= 3 or torch.compiler.is_compiling():
            return seen
        buffers = self.__dict__.setdefault("buffers", {})
        return buffers.setdefault(len(seen), seen).copy_(seen)


class RewardReused:
    """the reward is written into one buffer again and again"""

    def transition(self, state, action, draw):
        after, reward, terminated = self.honest_transition(state, action, draw)
        if len(reward) > 3 and not torch.compiler.is_compiling():
            buffers = self.__dict__.setdefault("buffers", {})
            reward = buffers.setdefault(len(reward), reward).copy_(reward)
        return after, reward, terminated


class ActionWritten:
    """a step writes into its action"""

    def transition(self, state, action, draw):
        outcome = self.honest_transition(state, action, draw)
        if len(action) > 3 and not torch.compiler.is_compiling():
            action.copy_(action.flip(0))
        return outcome


class StateWritten:
    """a step writes into the state that it is given"""

    def transition(self, state, action, draw):
        after, reward, terminated = self.honest_transition(state, action, draw)
        if len(reward) > 3 and not torch.compiler.is_compiling():
            for name in self._field_names:
                getattr(state, name).copy_(getattr(after, name))
        return after, reward, terminated


class StateShared:
    """the state that is shown is the environment's own memory"""

    def _exposed(self, carry):
        state = {name: self._shaped(value) for name, value in carry.fields.items()}
        return {"state": state, "clock": super()._exposed(carry)["clock"]}


class CompiledOnly:
    """a compiled step gives another reward"""

    needs = ("compiled",)

    def transition(self, state, action, draw):
        after, reward, terminated = self.honest_transition(state, action, draw)
        if torch.compiler.is_compiling():
            reward = reward + 1
        return after, reward, terminated


class CompiledResetOnly:
    """a compiled reset of more than 16 rows drops the last"""

    needs = ("compiled",)

    def _renew(self, carry, seen, mask):
        if self._compile_options is not None and int(mask.sum()) > 16:
            mask = mask.clone()
            mask[mask.nonzero()[-1]] = False
        return super()._renew(carry, seen, mask)


class SizeOne:
    """a path of its own for N = 1"""

    def transition(self, state, action, draw):
        after, reward, terminated = self.honest_transition(state, action, draw)
        return after, reward + 1 if len(reward) == 1 else reward, terminated


class Size32:
    """a path of its own for N = 32"""

    def transition(self, state, action, draw):
        after, reward, terminated = self.honest_transition(state, action, draw)
        return after, reward + 1 if len(reward) == 32 else reward, terminated


class LargeSizes:
    """a path of its own for N >= 512, wrong in the third step"""

    def transition(self, state, action, draw):
        after, reward, terminated = self.honest_transition(state, action, draw)
        return after, reward + (state.t == 2) if len(reward) >= 512 else reward, terminated


class ThreadCount:
    """a path of its own for more than one thread"""

    def transition(self, state, action, draw):
        after, reward, terminated = self.honest_transition(state, action, draw)
        return after, reward + 1 if torch.get_num_threads() > 1 else reward, terminated


class FifthRow:
    """the sixth row of a batch is wrong"""

    def transition(self, state, action, draw):
        after, reward, terminated = self.honest_transition(state, action, draw)
        place = torch.arange(len(reward), device=reward.device)
        return after, torch.where(place == 5, reward + 1, reward), terminated


class Row777:
    """the row 777 of a batch is wrong"""

    def transition(self, state, action, draw):
        after, reward, terminated = self.honest_transition(state, action, draw)
        place = torch.arange(len(reward), device=reward.device)
        return after, torch.where(place == 777, reward + 1, reward), terminated


class LastRow:
    """the last row of a large batch is wrong"""

    def transition(self, state, action, draw):
        after, reward, terminated = self.honest_transition(state, action, draw)
        last = torch.arange(len(reward), device=reward.device) == max(len(reward) - 1, 65)
        return after, torch.where(last, reward + 1, reward), terminated


class AfterEpisode20:
    """after episode 20 the step counter begins at 1"""

    def _renew(self, carry, seen, mask):
        after, seen = super()._renew(carry, seen, mask)
        return after._replace(t=torch.where(mask & (after.episode > 20), 1, after.t)), seen


class After1000Steps:
    """after 1000 steps of an environment rewards are wrong"""

    def _result(self, carry, outcome):
        self.steps = getattr(self, "steps", 0) + 1
        return super()._result(carry, outcome._replace(reward=outcome.reward + 1) if self.steps > 1000 else outcome)


class FirstObservationWrong:
    """only the first observation of all is wrong"""

    def _reset(self, tensordict=None, set_state=False):
        fresh, shown = self._carry is None, super()._reset(tensordict, set_state)
        for key in self._observation_forms if fresh else ():
            value = shown.get(key)
            shown.set(key, (value == 0).to(value.dtype))
        return shown


class StepApart:
    """step differs from step_and_maybe_reset"""

    def _step(self, tensordict):
        shown = super()._step(tensordict)
        return shown.set("reward", shown.get("reward") + 1)


class MaskedApart:
    """masked resets differ from resets by rows"""

    def _fused(self, action):
        after, outcome, seen = super()._fused(action)
        return after, outcome._replace(reward=outcome.reward + 1) if self.resets == "masked" else outcome, seen


class HiddenApart:
    """without the state shown, rewards differ"""

    def _result(self, carry, outcome):
        return super()._result(carry, outcome if self.expose_state else outcome._replace(reward=outcome.reward + 1))


class UncheckedApart:
    """without a check of actions, rewards differ"""

    def _result(self, carry, outcome):
        outcome = outcome if self.validate_actions else outcome._replace(reward=outcome.reward + 1)
        return super()._result(carry, outcome)


class VectorStepApart:
    """behind the vector adapter, rewards differ"""

    def plain_step(self, action, waiting=None):
        outcome = super().plain_step(action, waiting)
        return outcome._replace(reward=outcome.reward + 1)


class VectorStepAndResetApart:
    """behind the vector adapter, rewards differ where rows reset in the same step"""

    def plain_step_and_reset(self, action):
        outcome, seen = super().plain_step_and_reset(action)
        return outcome._replace(reward=outcome.reward + 1), seen


class GradMode:
    """without gradients, rewards differ"""

    def transition(self, state, action, draw):
        after, reward, terminated = self.honest_transition(state, action, draw)
        return after, reward if torch.is_grad_enabled() else reward + 1, terminated


class InferenceMode:
    """in inference mode, rewards differ"""

    def transition(self, state, action, draw):
        after, reward, terminated = self.honest_transition(state, action, draw)
        return after, reward + 1 if torch.is_inference_mode_enabled() else reward, terminated


class StridedAction:
    """an action that is not contiguous is read wrongly"""

    def transition(self, state, action, draw):
        if not action.is_contiguous():
            action = action.flip(0)
        return self.honest_transition(state, action, draw)


class CopyForgetsClock:
    """a pickled copy forgets its step counter"""

    def __getstate__(self):
        values = super().__getstate__()
        if self._carry is not None:
            values["_carry"] = self._carry._replace(t=torch.zeros_like(self._carry.t))
        return values


class CopyForgetsSeeds:
    """a pickled copy forgets the seeds of its first reset"""

    def __getstate__(self):
        return {**super().__getstate__(), "_next_seeds": None if self._next_seeds is None else self._next_seeds + 1}


class SnapshotStale:
    """get_state tells the step counter of the step before"""

    def get_state(self):
        snapshot = super().get_state()
        snapshot["clock", "t"] = torch.clamp(snapshot["clock", "t"] - 1, min=0)
        return snapshot


class ReferenceHiddenCounter:
    """the reference counts its steps, and goes wrong after 300"""

    side = "reference"

    def transition(self, state, action, draw):
        after, reward, terminated = self.honest_transition(state, action, draw)
        self.steps = getattr(self, "steps", 0) + 1
        return after, reward + 1 if self.steps > 300 else reward, terminated


class ReferenceObservationReused:
    """the reference writes its observation into one buffer again and again"""

    side = "reference"
    needs = ("box observation",)

    def observation(self, state):
        seen = self.honest_observation(state)
        buffer = self.__dict__.setdefault("buffer", seen)
        buffer[...] = seen
        return buffer
