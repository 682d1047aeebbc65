"""Trajectory files: what happened, as JSON or JSON Lines, for anything that shows, counts or compares it.

::

    recorder = Recorder(env)                      # or Recorder(env, "run.jsonl"), which writes as it goes
    recorder.reset(seed=7); recorder.step(1) ...
    recorder.save("game.json")
    trajectory = read("game.json", package)       # valid by the package's schema.json, or a TrajectoryError
    from_tensordict(fast.rollout(100), fast)      # of the fast side, made with expose_state=True: one an instance

A file holds metadata, the first state of every episode, and each step with the state after it. Whatever takes
``begin(First)`` and ``add(Step)`` can be recorded into: a :class:`Trajectory`, or a file that :func:`create` opens.
"""

from .batches import BatchRecorder, from_tensordict
from .metadata import FORMAT, SOURCES, Metadata
from .reading import End, events, read
from .recorder import Recorder
from .records import Episode, First, Step, Trajectory, TrajectoryError
from .writing import Sink, copy, create, write

__all__ = [
    "FORMAT",
    "SOURCES",
    "BatchRecorder",
    "End",
    "Episode",
    "First",
    "Metadata",
    "Recorder",
    "Sink",
    "Step",
    "Trajectory",
    "TrajectoryError",
    "copy",
    "create",
    "events",
    "from_tensordict",
    "read",
    "write",
]
