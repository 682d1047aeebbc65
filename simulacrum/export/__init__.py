"""Export packs: trajectories as a folder that needs nothing of simulacrum to be read.

::

    export("envs/forager/schema.json", ["run.jsonl", "game.json.gz"], "pack")
    pack = read("pack")                            # checks all of it, or a PackError
    pack.entries["run"].flat()["cumulative_return"]

``docs/export.md`` says what the files hold; ``manifest.schema.json`` and ``flat.schema.json`` are their schemas.
"""

from .errors import PackError
from .layout import Column, Identity, Skipped
from .pack import Entry, Pack
from .reading import read
from .writing import COLUMNS, export

__all__ = ["COLUMNS", "Column", "Entry", "Identity", "Pack", "PackError", "Skipped", "export", "read"]
