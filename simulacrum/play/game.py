"""``Game``: one agent of a reference, steered by keys; the others follow a policy, and all of it is recorded."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from .. import render, trajectory
from ..errors import SimulacrumError
from ..reference import state_of
from ..render.text import fitted
from ..spec.package import Package
from .keys import COMMANDS, actions_of, help_of
from .policies import RANDOM, policy_of


class Game:
    """A game of one package's reference; use it as a context manager.

    Args:
        package: in the configuration that is played.
        seed: the instance seed; None for one from the operating system.
        agent: which of many agents is steered.
        policy: what the others do: ``random``, or one of the package's scripted policies.
        file: where the game is saved; None for a new file in the current folder, named after the game.

    Attributes:
        left: whether the player has left.
        running: whether it moves on by itself now.

    Raises SimulacrumError for what does not fit the package: agent, policy, keys, action space.
    """

    def __init__(
        self,
        package: Package,
        *,
        seed: int | None = None,
        agent: int = 0,
        policy: str = RANDOM,
        file: Path | None = None,
    ) -> None:
        environment = package.environment
        self.package, self.agent, self.agents = package, agent, environment.agents
        if not 0 <= agent < (self.agents or 1):
            raise SimulacrumError(f"agent: expected one of 0..{(self.agents or 1) - 1}, got {agent}")
        if self.agents is None and policy != RANDOM:
            raise SimulacrumError(f"policy: {environment.id} has one agent, whom you steer: leave it out")
        self.renderer = package.module("render")
        self.keys = actions_of(self.renderer, environment.agent_action_space)
        self.realtime = bool(getattr(self.renderer, "REALTIME", False))
        self._action = next(iter(self.keys.values()))
        self._folder = tempfile.TemporaryDirectory(prefix="simulacrum-play-")
        self._record = Path(self._folder.name) / "game.jsonl.gz"
        self._env = trajectory.Recorder(package.reference(), self._record)
        self._file, self._saved = file, False
        self.left = self._paused = False
        self.restart(seed)
        self._policy = policy_of(package, policy, self.seed)

    @property
    def state(self) -> Any:
        """The reference's state, to read."""
        return state_of(self._env.unwrapped)  # type: ignore[arg-type]

    @property
    def running(self) -> bool:
        """Whether the game moves on by itself now: not before the first key, in a pause, or after the end."""
        return self.realtime and not (self._waiting or self._paused or self._over)

    def restart(self, seed: int | None = None) -> None:
        """Begin the next episode; the first one of a seed where one is given."""
        self._seen, info = self._env.reset(seed=seed)
        self.seed, self.steps = int(info["seed"]), 0
        self._total, self._over, self._waiting = 0.0, "", self.realtime
        self._message = "steer to begin" if self.realtime else ""

    def press(self, key: str) -> None:
        """Do what a key means; a key that means nothing does nothing."""
        if key in self.keys:
            self._action, self._waiting = self.keys[key], False
            if not self.realtime and not self._paused:
                self.advance()
        elif COMMANDS.get(key) == "quit":
            self.left = True
        elif COMMANDS.get(key) == "pause":
            self._waiting, self._paused = False, not self._paused
            self._message = "paused" if self._paused else ""
        elif COMMANDS.get(key) == "step":
            self.advance()
        elif COMMANDS.get(key) == "restart":
            self.restart()
        elif COMMANDS.get(key) == "save":
            self._save_and_tell()

    def advance(self) -> None:
        """Make one step with the latest action; after the end of an episode none."""
        if self._over:
            return
        action: Any = self._action
        if self.agents is not None:
            action = np.array(self._policy(self.state, self._seen))
            action[self.agent] = self._action
        self._seen, reward, terminated, truncated, info = self._env.step(action)
        self.steps += 1
        own = float(info["rewards"][self.agent]) if self.agents is not None else float(reward)
        self._total += own
        died = self.agents is not None and bool(info["died"][self.agent])
        self._over = "terminated" if terminated else "truncated" if truncated else ""
        self._message = f"reward {own:+.4g}" + (", died" if died else "") + (", paused" if self._paused else "")

    def status(self) -> list[str]:
        """Two lines: how it stands, and the keys."""
        who = f"agent {self.agent} of {self.agents}  " if (self.agents or 1) > 1 else ""
        over = f"episode over ({self._over}): r begins the next one" if self._over else ""
        parts = [f"{who}seed {self.seed}", f"step {self.steps}", f"return {self._total:.4g}", self._message, over]
        return ["  ".join(part for part in parts if part), help_of(self.keys)]

    def text(self, colour: bool, rows: int, columns: int) -> str:
        """The board as text, at most so large where the package's renderer can show a part."""
        options = self._around(render.options_of(self.renderer, "ansi"))
        return fitted(self.renderer, self.state, rows, columns, **{render.COLOUR: colour, **options})

    def image(self) -> np.ndarray:
        """The board as an RGB image, uint8 [H, W, 3]."""
        options = self._around(render.options_of(self.renderer, "rgb_array"))
        image: Any = render.frame(self.renderer, self.state, "rgb_array", **options)
        return image  # type: ignore[no-any-return]

    def save(self) -> Path:
        """Write the game up to now as a trajectory, atomically; where it lies. The second time it is written over."""
        if self._file is None:
            self._file = _unused(Path.cwd(), f"{self.package.name}-{self.package.config or 'game'}-{self.seed}")
        if self._file.exists() and not self._saved:
            raise SimulacrumError(f"{self._file} exists already: save to another file")
        parts = trajectory.events(self._record)
        metadata = next(parts)
        assert isinstance(metadata, trajectory.Metadata)
        kept = (part for part in parts if isinstance(part, (trajectory.First, trajectory.Step)))
        trajectory.copy(metadata, kept, self._file)
        self._saved = True
        return self._file

    def close(self) -> None:
        """Drop the recording; may be called again."""
        self._env.close()
        self._folder.cleanup()

    def __enter__(self) -> Game:
        return self

    def __exit__(self, *raised: Any) -> None:
        self.close()

    def _save_and_tell(self) -> None:
        try:
            self._message = f"saved {self.save()}"
        except (SimulacrumError, OSError) as error:
            self._message = f"not saved: {error}"

    def _around(self, takes: list[str]) -> dict[str, int]:
        """The option that lets a renderer follow the player, where there are others and it can."""
        return {"around": self.agent} if "around" in takes and (self.agents or 1) > 1 else {}


def _unused(folder: Path, stem: str) -> Path:
    """A file of that name, or with a number, that is not there yet."""
    number = 1
    while (file := folder / f"{stem}{f'-{number}' if number > 1 else ''}.jsonl").exists():
        number += 1
    return file
