"""Trajectories of the fast side: of a whole TensorDict, and of a collector's batches one after another."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..spec.package import Package, package_of
from .metadata import SOURCES, Metadata
from .records import First, Trajectory, TrajectoryError
from .rows import Rows, form_of_env, form_of_package
from .writing import SUFFIXES, Pieces

if TYPE_CHECKING:
    from tensordict import TensorDictBase

FAST = SOURCES[1:]


def from_tensordict(
    data: TensorDictBase,
    env: Any,
    *,
    instances: Sequence[int] | None = None,
    source: str | None = None,
    injected: bool = False,
) -> list[Trajectory]:
    """The trajectories in what ``env.rollout``, a TorchRL collector or ``BatchCollector`` gives, one for each instance.

    Args:
        data: ``[*batch_size, T]``, of an environment with ``expose_state=True``: actions, rewards and state fields in
            the dtypes of the spec, flags bool, clocks int64. Steps that are none (of rows that had ended, or that
            ``("collector", "mask")`` leaves out) are passed over.
        env: the :class:`~simulacrum.FastEnv` that made it, bare or under transforms that leave actions and rewards as
            they are; or its :class:`~simulacrum.spec.Package`, in the configuration that ran.
        instances: which rows, counted row-major; all by default.
        source: ``tensor`` or ``kernel``, what ran; needed with a package alone.
        injected: whether states were injected between steps, so that an episode may begin anywhere.

    An episode begins anew wherever a step does not go on from what the step before it ended in. Without ``injected``
    that is where a reset was: at t = 0 of a later episode of the same seed. Injected states look like steps that are
    out of order (an axis of time that is reversed, shuffled or not the last one), so that those are refused.

    Raises :class:`TrajectoryError` for steps that do not follow on each other, for what lacks the state, and for what
    is of another environment, and names the remedy; TypeError for what is no TensorDict, and for an ``env`` of another
    type.

    Example:
        >>> import torch
        >>> from simulacrum.spec import Package
        >>> from simulacrum.trajectory import from_tensordict
        >>> env = Package.read("envs/toywalk").fast(batch_size=[2], seed=0, expose_state=True)
        >>> right = lambda td: td.set("action", torch.ones(2, dtype=torch.int64))
        >>> data = env.rollout(3, right, break_when_any_done=False)  # [2, 3]
        >>> found = from_tensordict(data, env)
        >>> [(one.metadata.source, one.metadata.instance, len(one.steps)) for one in found]
        [('tensor', 0, 3), ('tensor', 1, 3)]
        >>> found[1].steps[0].action, found[1].steps[0].reward
        (1, -1.0)
    """
    origin = _Origin(env, source)
    rows = Rows(data, origin.form, instances, injected=injected)
    found = []
    for row in rows.instances:
        parts = rows.parts(row)
        first = next(parts, None)
        if not isinstance(first, First):
            raise TrajectoryError(f"row {row} of the TensorDict: expected steps, got none")
        trajectory = Trajectory(origin.metadata(first.seed, row))
        trajectory.begin(first)
        for part in parts:
            trajectory.begin(part) if isinstance(part, First) else trajectory.add(part)
        found.append(trajectory)
    return found


class BatchRecorder:
    """Writes a collector's batches into one JSON Lines file for each instance: ``FOLDER/instance-000003.jsonl``.

    ::

        with BatchRecorder(env, "runs", instances=[0, 5]) as recorder:
            for batch in collector:
                recorder.add(batch)

    An episode that goes on from one batch into the next is one episode of the file. After an exception, or an end of
    the process, a file lacks its last line, and can be read up to its last whole step.

    Args:
        env, instances, source, injected: as of :func:`from_tensordict`.
        folder: a new folder, or an empty one.
        suffix: ``.jsonl``, or ``.jsonl.gz`` for compressed files.

    Raises :class:`TrajectoryError` for a folder in use, a suffix or a source that there is none of, and TypeError for
    an ``env`` of another type.

    Example:
        >>> import tempfile
        >>> from simulacrum.spec import Package
        >>> from simulacrum.trajectory import BatchRecorder, read
        >>> package = Package.read("envs/toywalk")
        >>> env = package.fast(batch_size=[3], seed=0, expose_state=True)
        >>> with BatchRecorder(env, tempfile.mkdtemp(), instances=[2]) as recorder:
        ...     recorder.add(env.rollout(4, break_when_any_done=False))
        >>> recorder.files[2].name, len(read(recorder.files[2], package).steps)
        ('instance-000002.jsonl', 4)
    """

    def __init__(
        self,
        env: Any,
        folder: str | os.PathLike[str],
        *,
        instances: Sequence[int] | None = None,
        source: str | None = None,
        suffix: str = ".jsonl",
        injected: bool = False,
    ) -> None:
        self._origin = _Origin(env, source)
        self._instances, self._injected = None if instances is None else list(instances), injected
        self._folder = Path(folder)
        if suffix not in SUFFIXES or "jsonl" not in suffix:
            raise TrajectoryError(f"suffix: expected .jsonl or .jsonl.gz, got {suffix!r}")
        self._suffix = suffix
        if self._folder.exists() and (not self._folder.is_dir() or any(self._folder.iterdir())):
            raise TrajectoryError(f"{self._folder} is not empty: name another folder")
        self._writers: dict[int, Pieces] = {}
        self._before: Rows | None = None
        self._closed = False

    @property
    def files(self) -> dict[int, Path]:
        """The files by instance."""
        return {row: writer.file for row, writer in self._writers.items()}

    def add(self, batch: TensorDictBase) -> None:
        """Write a batch, ``[*batch_size, T]``, the one that follows on the last: all of it, or an error and nothing.

        Its entries have the dtypes that :func:`from_tensordict` takes. Raises :class:`TrajectoryError` and TypeError as
        that does, TrajectoryError also for another number of rows than before, for NaN, and once it is closed; OSError
        where the files cannot be written. A batch of other keys, shapes or dtypes leaves it as it is; after any other
        error it is closed.
        """
        if self._closed:
            raise TrajectoryError(f"{self._folder}: the recorder is closed, nothing more can be written")
        rows = Rows(batch, self._origin.form, self._instances, self._before, injected=self._injected)
        try:
            for row in rows.instances:
                self._put(row, rows.parts(row))
            self._folder.mkdir(parents=True, exist_ok=True)
            for writer in self._writers.values():
                writer.flush()
        except BaseException:
            self.abandon()
            raise
        self._before = rows

    def close(self) -> None:
        """Finish the files; may be called again. Raises OSError where they cannot be written."""
        if not self._closed:
            for writer in self._writers.values():
                writer.close()
        self._closed = True

    def abandon(self) -> None:
        """Leave the files as they are, unfinished."""
        for writer in self._writers.values():
            writer.abandon()
        self._closed = True

    def __enter__(self) -> BatchRecorder:
        return self

    def __exit__(self, kind: type[BaseException] | None, *rest: Any) -> None:
        self.close() if kind is None else self.abandon()

    def _put(self, row: int, parts: Iterator[Any]) -> None:
        for part in parts:
            if row not in self._writers:
                file = self._folder / f"instance-{row:06d}{self._suffix}"
                self._writers[row] = Pieces(file, self._origin.metadata(part.seed, row))
            writer = self._writers[row]
            writer.begin(part) if isinstance(part, First) else writer.add(part)


class _Origin:
    """Where batches come from: what they hold, and the metadata of each row."""

    def __init__(self, env: Any, source: str | None) -> None:
        package: Package | None
        if isinstance(env, Package):
            environment, package, self.form = env.environment, env, form_of_package(env)
        else:
            from torchrl.envs import TransformedEnv

            from ..fast import FastEnv
            from ..kernel import KernelEnv

            while isinstance(env, TransformedEnv):
                env = env.base_env
            if not isinstance(env, FastEnv):
                raise TypeError(
                    "env: expected a simulacrum.FastEnv, bare or under transforms, or a simulacrum.spec.Package with "
                    f"the source, got {type(env).__name__}"
                )
            environment, package, self.form = env.environment, package_of(type(env).__module__), form_of_env(env)
            source = source or ("kernel" if isinstance(env, KernelEnv) else "tensor")
        if source not in FAST:
            raise TrajectoryError(f"source: expected one of {', '.join(FAST)}, got {source!r}")
        self._metadata = Metadata.of(environment, 0, package=package, source=source)

    def metadata(self, seed: int, row: int) -> Metadata:
        """The metadata of a row whose first episode has a seed."""
        return replace(self._metadata, seed=seed, instance=row)
