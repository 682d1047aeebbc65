"""Packs for tests: trajectories of small environments, written once and copied."""

from __future__ import annotations

import functools
import hashlib
import json
import shutil
import tempfile
from pathlib import Path

from environments import FORAGER, TOYWALK

from simulacrum.export import export
from simulacrum.spec import Package
from simulacrum.trajectory import Recorder

SNAKE = Package.read(TOYWALK.path.parent / "snake").configured("tiny")
PACKAGES = [TOYWALK, FORAGER, SNAKE]


def played(package, steps, seed=7):
    """A recorder of a reference that acted at random."""
    env = Recorder(package.reference())
    env.action_space.seed(seed % (1 << 32))
    env.reset(seed=seed)
    for _ in range(steps):
        _, _, terminated, truncated, _ = env.step(env.action_space.sample())
        if terminated or truncated:
            env.reset()
    return env


def schema_of(package):
    """Where a package's schema lies."""
    return package.path / "schema.json"


@functools.cache
def _made(package, steps):
    folder = Path(tempfile.mkdtemp())
    for name, seed in (("one.json", 7), ("two.jsonl.gz", (1 << 64) - 1)):
        played(package, steps, seed).save(folder / name)
    export(schema_of(package), [folder / "one.json", folder / "two.jsonl.gz"], folder / "pack")
    return folder / "pack"


def packed(package, folder, steps=100):
    """A pack of two trajectories in a folder: a copy, to do with as one likes."""
    return Path(shutil.copytree(_made(package, steps), folder))


def rewrite(file, edit):
    """A JSON file whose content a function changes."""
    content = json.loads(file.read_text())
    edit(content)
    file.write_text(json.dumps(content))


def seal(pack):
    """Let the manifest of a changed pack say the sizes and digests that its files have."""

    def edit(content):
        kinds = ("trajectory", "flat", "columns")
        described = [content["schema"], *(entry[kind] for entry in content["entries"] for kind in kinds)]
        for one in filter(None, described):
            data = (pack / one["file"]).read_bytes()
            one.update(size=len(data), sha256=hashlib.sha256(data).hexdigest())

    rewrite(pack / "manifest.json", edit)


def tree(folder):
    """The bytes of each file in a folder by its path."""
    return {file.relative_to(folder).as_posix(): file.read_bytes() for file in folder.rglob("*") if file.is_file()}
