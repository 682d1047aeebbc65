# mypy: ignore-errors
"""Masks, resets, clocks and flags."""

import torch


class MaskIgnored:
    """a partial reset resets every row"""

    def _reset(self, tensordict=None, set_state=False):
        if tensordict is not None and not set_state:
            tensordict = tensordict.exclude("_reset")
        return super()._reset(tensordict, set_state)


class MaskInverted:
    """the mask of a reset is inverted"""

    def _renew(self, carry, seen, mask):
        return super()._renew(carry, seen, ~mask)


class MaskSpread:
    """one row that ends resets every row"""

    def _renew(self, carry, seen, mask):
        return super()._renew(carry, seen, mask.any().expand_as(mask))


class LastRowKept:
    """the last row is never reset"""

    def _renew(self, carry, seen, mask):
        mask = mask.clone()
        mask[-1] = False
        return super()._renew(carry, seen, mask)


class FieldKept:
    """a reset leaves the field "FIELD" as it was"""

    def _renew(self, carry, seen, mask):
        after, seen = super()._renew(carry, seen, mask)
        return after._replace(fields={**after.fields, "FIELD": carry.fields["FIELD"]}), seen


class MaskedResetKeepsEpisode:
    """masked resets leave the episode counter as it was"""

    def _use(self, core):
        super()._use(core)
        advance = self._advance_masked

        def stale(carry, action):
            after, outcome, renewed, seen = advance(carry, action)
            return after, outcome, renewed._replace(episode=carry.episode), seen

        self._advance_masked = stale


class FinalObservationReplaced:
    """the final observation is the first one of the next episode"""

    def _fused(self, action):
        after, outcome, seen = super()._fused(action)
        return after, outcome._replace(observation=seen), seen


class FinalObservationReplacedInVectors:
    """the final observation is the first one of the next episode, behind the vector adapter alone"""

    def plain_step_and_reset(self, action):
        outcome, seen = super().plain_step_and_reset(action)
        return outcome._replace(observation=seen), seen


class FirstObservationReplaced:
    """the first observation after an end is the final one"""

    def _fused(self, action):
        after, outcome, _ = super()._fused(action)
        return after, outcome, outcome.observation


class FirstObservationZero:
    """the first observation after an end is zeros"""

    def _renew(self, carry, seen, mask):
        after, seen = super()._renew(carry, seen, mask)
        keep = {key: ~mask.reshape(-1, *(1,) * (value.ndim - 1)) for key, value in seen.items()}
        return after, {key: torch.where(keep[key], value, torch.zeros_like(value)) for key, value in seen.items()}


class ObservationBeforeStep:
    """a step shows what was seen before it"""

    def _fused(self, action):
        before = self._core.observation(self._begun())
        after, outcome, seen = super()._fused(action)
        return after, outcome._replace(observation=before), seen


class EpisodeStale:
    """a reset leaves the episode counter as it was"""

    def _renew(self, carry, seen, mask):
        after, seen = super()._renew(carry, seen, mask)
        return after._replace(episode=carry.episode), seen


class EpisodeReplayed:
    """an automatic reset begins the same episode again"""

    def _renew(self, carry, seen, mask):
        return super()._renew(carry._replace(episode=carry.episode - mask.long()), seen, mask)


class EpisodeSkipped:
    """an automatic reset skips an episode"""

    def _renew(self, carry, seen, mask):
        return super()._renew(carry._replace(episode=carry.episode + mask.long()), seen, mask)


class ClockKept:
    """a reset leaves the step counter as it was"""

    def _renew(self, carry, seen, mask):
        after, seen = super()._renew(carry, seen, mask)
        return after._replace(t=carry.t), seen


class TwoTogether:
    """of two rows that end together one is not reset"""

    def _renew(self, carry, seen, mask):
        if int(mask.sum()) == 2:
            mask = mask.clone()
            mask[mask.nonzero()[1]] = False
        return super()._renew(carry, seen, mask)


class AllTogether:
    """when all rows end together, the first is not reset"""

    def _renew(self, carry, seen, mask):
        if len(mask) > 1 and bool(mask.all()):
            mask = mask.clone()
            mask[0] = False
        return super()._renew(carry, seen, mask)


class ResetBeforeTransition:
    """at the step cap the reset comes before the transition"""

    needs = ("truncates",)

    def _fused(self, action):
        carry = self._begun()
        self._carry, _ = self._renew(carry, {}, carry.t + 1 >= self.environment.max_episode_steps)
        return super()._fused(action)


class TerminalRewardZero:
    """the reward of a step that terminates is zero"""

    needs = ("terminates",)

    def transition(self, state, action, draw):
        after, reward, terminated = self.honest_transition(state, action, draw)
        return after, torch.where(terminated, torch.zeros_like(reward), reward), terminated


class FlagsSwapped:
    """terminated and truncated are swapped"""

    def _result(self, carry, outcome):
        swapped = outcome._replace(terminated=outcome.truncated, truncated=outcome.terminated)
        return super()._result(carry, swapped)


class BothDueTerminated:
    """when both are due, truncated is not reported"""

    needs = ("terminates", "truncates")

    def _result(self, carry, outcome):
        return super()._result(carry, outcome._replace(truncated=outcome.truncated & ~outcome.terminated))


class BothDueTruncated:
    """when both are due, terminated is not reported"""

    needs = ("terminates", "truncates")

    def _result(self, carry, outcome):
        return super()._result(carry, outcome._replace(terminated=outcome.terminated & ~outcome.truncated))


class TimeoutTerminates:
    """a truncation is reported as a termination, too"""

    needs = ("truncates",)

    def _result(self, carry, outcome):
        return super()._result(carry, outcome._replace(terminated=outcome.done))


class TerminationTruncates:
    """a termination is reported as a truncation, too"""

    needs = ("terminates",)

    def _result(self, carry, outcome):
        return super()._result(carry, outcome._replace(truncated=outcome.done))


class SecondResetKeeps:
    """a second partial reset keeps the episode"""

    def _reset(self, tensordict=None, set_state=False):
        if tensordict is not None and not set_state and "_reset" in tensordict.keys() and self._carry is not None:
            mask = tensordict.get("_reset")
            tensordict = tensordict.clone().set("_reset", mask & (self._carry.t > 0).reshape(mask.shape))
        return super()._reset(tensordict, set_state)


class SurvivorsClock:
    """a partial reset zeroes the step counter of the other rows"""

    def _reset(self, tensordict=None, set_state=False):
        shown = super()._reset(tensordict, set_state)
        if tensordict is not None and not set_state and "_reset" in tensordict.keys():
            self._carry = self._carry._replace(t=torch.zeros_like(self._carry.t))
        return shown


class SurvivorsEpisode:
    """a partial reset advances the episode counter of the other rows"""

    def _renew(self, carry, seen, mask):
        after, seen = super()._renew(carry, seen, mask)
        return (after._replace(episode=after.episode + (~mask).long()) if bool(mask.any()) else after), seen


class WholeResetKeepsEpisode:
    """an unseeded reset of all rows begins the same episodes again"""

    def _begin_all(self):
        if self._next_seeds is None:
            self._carry = self._carry._replace(episode=self._carry.episode - 1)
        return super()._begin_all()


class InjectionMaskIgnored:
    """an injection of some rows' states enters every row's"""

    def _reset(self, tensordict=None, set_state=False):
        if tensordict is not None and set_state:
            tensordict = tensordict.exclude("_reset")
        return super()._reset(tensordict, set_state)


class InjectedClockDropped:
    """an injected step counter is dropped"""

    def _injected(self, tensordict):
        carry = super()._injected(tensordict)
        return carry._replace(t=torch.zeros_like(carry.t))


class InjectedKeyStale:
    """after an injection the draws are those of the episode before"""

    needs = ("step draws",)

    def _injected(self, tensordict):
        carry, before = super()._injected(tensordict), self._carry
        return carry if before is None else carry._replace(k0=before.k0, k1=before.k1)


class PartialStepOfAll:
    """a step of some rows advances every row"""

    def _step(self, tensordict):
        return super()._step(tensordict.exclude("_step"))


class PartialStepRewards:
    """a step of some rows rewards the other rows as well"""

    def _held(self, mask, before, outcome, tensordict):
        return super()._held(mask, before, outcome, tensordict)._replace(reward=outcome.reward)


class WaitingRowRewarded:
    """behind the vector adapter, the step that only resets a row rewards it"""

    def plain_step(self, action, waiting=None):
        outcome = super().plain_step(action, waiting)
        return (
            outcome if waiting is None else outcome._replace(reward=outcome.reward + waiting.to(outcome.reward.dtype))
        )


class VectorMaskIgnored:
    """behind the vector adapter, a partial reset resets every row"""

    def plain_reset(self, seeds=None, seeded=None, mask=None):
        return super().plain_reset(seeds, seeded, None if mask is None else torch.ones_like(mask))
