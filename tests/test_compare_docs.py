"""What ``docs/comparing.md`` says was found: each replay is there, is read, and still shows where its library is."""

import importlib.util
import json
import re
from pathlib import Path

import pytest

from simulacrum.compare import replay
from simulacrum.compare.checks import CHECKS

DOCS = Path(__file__).resolve().parent.parent / "docs"
PAGE = (DOCS / "comparing.md").read_text()
FILES = sorted((DOCS / "comparisons").glob("*/*.json"))
HEAVY = ("distributions", "another-process")  # thousands of episodes


def test_there_are_some():
    assert len(FILES) > 30
    assert {file.parent.name.partition("-")[0] for file in FILES} == {"gymnasium", "envpool", "gymnax"}


@pytest.mark.parametrize("file", FILES, ids=lambda file: f"{file.parent.name}/{file.stem}")
def test_a_replay_is_on_the_page_and_still_shows(file):
    text = file.read_text()
    assert not re.search(r"/(work|tmp|home|root)/", text)
    content = json.loads(text)
    library = file.parent.name.partition("-")[0]
    named = [found.rstrip("*") for found in re.findall(r"`([\w/*-]+)`", PAGE)]
    short = [name.rpartition("/")[2] for name in named if not name.endswith("/") and len(name) > 8]
    assert any(file.stem == name or (name.endswith("-") and file.stem.startswith(name)) for name in short), file.stem
    told = content["versions"]
    assert re.search(rf"{library} {re.escape(told[library])}", PAGE, re.IGNORECASE)
    if importlib.util.find_spec(library) is None:
        pytest.skip(f"{library} is not installed")
    if not file.stem.startswith(HEAVY):
        finding, shown = replay(file)
        assert finding.difference.subject in {each.subject for each in shown}


def test_every_replay_that_is_named_is_there():
    stems = {file.stem for file in FILES}
    checks = [name.replace("_", "-") for name in CHECKS]
    for name in re.findall(r"`(?:[\w-]+/)?([a-z0-9-]+\*?)`", PAGE.partition("## What it found")[2]):
        if name.startswith(tuple(f"{check}-" for check in checks)):
            assert any(stem == name or (name.endswith("*") and stem.startswith(name[:-1])) for stem in stems), name


def test_every_check_is_on_the_page():
    for name in CHECKS:
        assert f"| `{name}` |" in PAGE
