"""Scripted policies earn what the spec derives for them: an oracle from outside the pair."""

from __future__ import annotations

import math

import numpy as np

from ...checks import ScriptedPolicy
from ..context import Context
from ..lockstep import FastRows, References
from ..playback import FORMS
from ..records import Record
from ..sources import policy_actions, seeds

FALSE_ALARM = 1e-9  # of one comparison of a mean, by Bernstein's inequality


def radius(policy: ScriptedPolicy, episodes: int) -> float:
    """How far a mean of independent episodes may lie from the expectation, but for a chance of FALSE_ALARM.

    Bernstein's inequality with the stated variance and range; where the stated expectation is itself a mean, both
    means take half of the chance each.
    """
    low, high = policy.return_range
    chance = FALSE_ALARM if policy.estimated_from is None else FALSE_ALARM / 2

    def bernstein(count: int) -> float:
        weight = math.log(2.0 / chance)
        return policy.standard_deviation * math.sqrt(2 * weight / count) + (high - low) * weight / (3 * count)

    return bernstein(episodes) + (0.0 if policy.estimated_from is None else bernstein(policy.estimated_from))


def check(context: Context) -> None:
    """First episodes of many seeds on both sides; the mean return against the spec's."""
    policies = context.package.checks.POLICIES
    if not policies:
        context.not_applicable("the package has no scripted policies")
    few, many = context.profile.episodes
    for number, policy in enumerate(policies):
        fast_rows = FastRows(context.package, context.env(many, seeds(context.rng, many)))
        _judge(context, policy, FORMS[context.form], returns(context, policy, fast_rows, fast_rows.reset()))
        references = References(context.package, few)
        _judge(
            context,
            policy,
            "reference.py",
            returns(context, policy, references, references.reset(seeds(context.rng, few))),
        )
        context.progress((number + 1) / len(policies))


def returns(context: Context, policy: ScriptedPolicy, side: FastRows | References, now: Record) -> np.ndarray:
    """The undiscounted returns of every row's present episode: float64 [rows]."""
    rows = len(now["clock.t"])
    total, running = np.zeros(rows), np.ones(rows, np.bool_)
    cap = context.package.environment.max_episode_steps or 100_000
    for _ in range(cap):
        ended, now = side.step(policy_actions(context.package, policy.policy, now))
        earned = ended["reward"].astype(np.float64).reshape(rows, -1).sum(axis=1)  # of all agents, where there are many
        total += np.where(running, earned, 0.0)
        running &= ~(ended["terminated"] | ended["truncated"])
        if not running.any():
            break
    context.require(not running.any(), f"{policy.name}: an episode is still running after {cap} steps")
    context.count("scripted episodes", rows)
    return total


def _judge(context: Context, policy: ScriptedPolicy, side: str, earned: np.ndarray) -> None:
    low, high = policy.return_range
    slack = 1e-4 * max(1.0, abs(low), abs(high))  # rewards are rounded to the reward's dtype
    context.require(
        bool((earned >= low - slack).all() and (earned <= high + slack).all()),
        f"{side}, policy {policy.name}: a return outside {policy.return_range}: {earned.min()} .. {earned.max()}",
    )
    distance, allowed = abs(earned.mean() - policy.expected_return), radius(policy, len(earned)) + slack
    context.require(
        bool(distance <= allowed),
        f"{side}, policy {policy.name}: expected a mean return of {policy.expected_return}, got {earned.mean():.6f} "
        f"over {len(earned)} episodes, {distance:.4f} away where {allowed:.4f} is allowed "
        f"(false-alarm rate {FALSE_ALARM})",
    )
    context.facts.setdefault("returns", {})[f"{policy.name}, {side}"] = {
        "mean": float(earned.mean()),
        "expected": policy.expected_return,
        "allowed": allowed,
        "episodes": len(earned),
    }
