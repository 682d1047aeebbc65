"""``ParallelView``: an environment of many agents as PettingZoo's parallel API has it."""

from __future__ import annotations

import copy
import os
from typing import Any

import numpy as np
from pettingzoo import ParallelEnv

from .errors import ActionError
from .reference import ReferenceEnv
from .spec.spaces import Space

__all__ = ["ParallelView", "parallel_env"]

AgentID = str


class ParallelView(ParallelEnv[AgentID, Any, Any]):
    """A reference with many agents, agent by agent: ``"agent_0"``, ``"agent_1"`` ...

    Agents never leave: a death is ``infos[agent]["died"]``, and terminations stay False until the instance itself ends.
    Then every agent is truncated (or terminated) at once, and ``agents`` is empty until the next reset. Seeds and
    episodes are the reference's: ``reset(seed=s)`` begins episode 0 of stream ``s``, a later ``reset()`` the next one.

    Args:
        env: a bare reference whose environment declares ``agents``; raises TypeError or ValueError for another one.

    Example:
        >>> from simulacrum.parallel import ParallelView
        >>> from simulacrum.spec import Package
        >>> env = ParallelView(Package.read("envs/snake", config="tiny").reference())
        >>> observations, infos = env.reset(seed=0)
        >>> observations["agent_0"].shape, observations["agent_0"].dtype
        ((3, 3), dtype('uint8'))
        >>> observations, rewards, terminations, truncations, infos = env.step(dict.fromkeys(env.agents, 0))
        >>> rewards
        {'agent_0': -1.0, 'agent_1': -1.0, 'agent_2': 0.0}
    """

    def __init__(self, env: ReferenceEnv[Any]) -> None:
        if not isinstance(env, ReferenceEnv):
            raise TypeError(f"env: expected a ReferenceEnv, bare of wrappers, got {type(env).__name__}")
        environment = env.environment
        if environment.agents is None:
            raise ValueError(f"env: expected an environment of many agents, {environment.id} declares none")
        self.env = env
        self.render_mode = env.render_mode
        name = environment.id.rpartition("/")[2]
        modes, fps = env.metadata["render_modes"], env.metadata["render_fps"]
        self.metadata = {"name": name, "render_modes": list(modes), "render_fps": fps, "is_parallelizable": True}
        self.possible_agents = [f"agent_{number}" for number in range(environment.agents)]
        self.agents: list[AgentID] = []
        action_space, seen_space = environment.agent_action_space, environment.agent_observation_space
        self.action_spaces = {agent: copy.deepcopy(action_space) for agent in self.possible_agents}
        self.observation_spaces = {agent: copy.deepcopy(seen_space) for agent in self.possible_agents}
        self.state_space = environment.observation_space

    def observation_space(self, agent: AgentID) -> Space:
        """What an agent's observations are elements of."""
        return self.observation_spaces[agent]

    def action_space(self, agent: AgentID) -> Space:
        """What an agent's actions are elements of."""
        return self.action_spaces[agent]

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[AgentID, Any], dict[AgentID, dict[str, Any]]]:
        """Begin an episode: (observations, infos) by agent, an observation an element of the agent's space (copies, of
        its shape [...] and dtype). Each info has the ``seed``, and ``died``, which is False.

        Raises :class:`~simulacrum.errors.SeedError` for a seed that is not in 0..2**64-1.
        """
        seen, info = self.env.reset(seed=seed, options=options)
        self.agents = list(self.possible_agents)
        self._seen = seen
        return self._of_each(seen), {agent: {"seed": info["seed"], "died": False} for agent in self.agents}

    def step(self, actions: dict[AgentID, Any]) -> tuple[dict[AgentID, Any], ...]:
        """One step: (observations, rewards, terminations, truncations, infos) by agent.

        Observations are arrays [...] of the agent's space's dtype, rewards floats, flags bools.

        Raises :class:`~simulacrum.errors.ActionError` unless there is an action of every agent, each in its space;
        ``gymnasium.error.ResetNeeded`` before a reset and after an end.
        """
        agents = self.possible_agents
        if actions.keys() != set(agents):
            missing, unknown = [one for one in agents if one not in actions], set(actions) - set(agents)
            told = f"missing {missing[:5]}, unknown {sorted(unknown)[:5]}"
            raise ActionError(f"actions: expected one of each agent; {told}")
        wrong = next((agent for agent in agents if not self.action_spaces[agent].contains(actions[agent])), None)
        if wrong is not None:
            space = self.action_spaces[wrong]
            raise ActionError(f"action of {wrong}: expected an element of {space}, got {actions[wrong]!r}")
        joint = np.array([actions[agent] for agent in agents], self.env.action_space.dtype)
        seen, _, terminated, truncated, info = self.env.step(joint)
        self._seen = seen
        rewards, died = info.pop("rewards").tolist(), info.pop("died").tolist()
        infos = {agent: {"died": one} for agent, one in zip(agents, died, strict=True)}
        if terminated or truncated:
            self.agents = []
        return (
            self._of_each(seen),
            dict(zip(agents, rewards, strict=True)),
            dict.fromkeys(agents, terminated),
            dict.fromkeys(agents, truncated),
            infos,
        )

    def state(self) -> Any:
        """What all agents see, an element of ``state_space`` ([agents, ...] of its dtype): for critics that see
        everything that anybody sees."""
        return self._seen.copy() if hasattr(self._seen, "copy") else self._seen

    def render(self) -> Any:
        """The frame of the instance in ``render_mode``: text, or an RGB array uint8 [H, W, 3]. Raises ``ResetNeeded``
        before the first reset."""
        return self.env.render()

    def close(self) -> None:
        """Close the reference."""
        self.env.close()

    def _of_each(self, seen: Any) -> dict[AgentID, Any]:
        """Joint observations, agent by agent: copies."""
        if isinstance(seen, dict):
            parts = {key: self._of_each(value) for key, value in seen.items()}
            return {agent: {key: part[agent] for key, part in parts.items()} for agent in self.possible_agents}
        return {agent: one.copy() for agent, one in zip(self.possible_agents, seen, strict=True)}


def parallel_env(
    environment: str | os.PathLike[str], render_mode: str | None = None, config: str | None = None
) -> ParallelView:
    """The reference of an environment of many agents (an ID, a bare name or a path) for PettingZoo (extra
    ``pettingzoo``), through the gate; ``config`` names one of its configurations.

    Raises :class:`~simulacrum.errors.GateError` where no fresh report admits it; ValueError where it has one agent.

    Example:
        >>> from simulacrum.parallel import parallel_env
        >>> env = parallel_env("simulacrum/snake-v0")
        >>> env.possible_agents, env.action_space("agent_0")
        (['agent_0'], Discrete(4))
    """
    from .registry import make_reference

    return ParallelView(make_reference(environment, render_mode=render_mode, config=config))
