"""``simulacrum export-pack``: trajectories as a folder that any tool can read."""

from __future__ import annotations

import argparse
import sys

from ..export import Pack, export
from .codes import PASSED
from .counting import Counting
from .signals import interruptible


def export_pack(arguments: argparse.Namespace) -> int:
    """Write the pack, and say what is in it; the exit code.

    Raises :class:`~simulacrum.errors.SimulacrumError` for an input or a folder that cannot be taken. Then, and when it
    is interrupted, nothing is left behind.
    """
    with interruptible(), Counting("files exported", len(arguments.files)) as count:
        pack = export(
            arguments.schema,
            arguments.files,
            arguments.output,
            columns=arguments.columns,
            progress=lambda done, total: count(done),
            tell=lambda message: count.say(f"simulacrum: {message}"),
        )
    print(_summary(pack))
    if arguments.columns == "auto" and not pack.has_columns:
        print('Without columns: pyarrow is not installed (pip install "simulacrum[parquet]").', file=sys.stderr)
    return PASSED


def _summary(pack: Pack) -> str:
    """What was written, in a line."""
    counts = {name: sum(entry.content[name] for entry in pack.entries.values()) for name in ("episodes", "steps")}
    number, (identity, config, _) = len(pack.entries), pack.identity
    named = f"{identity} ({config})" if config else identity
    what = "1 trajectory" if number == 1 else f"{number} trajectories"
    return f"{what} of {named} in {pack.folder}: {counts['episodes']} episodes, {counts['steps']} steps"
