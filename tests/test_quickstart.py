"""The pages that show commands are told by running them: ``console`` blocks in order, in an empty folder.

A block ``python`` whose first line is ``# NAME.py`` is written to that file, a block ``diff`` edits the file that its
``---`` line names. What a command prints is what the page shows, but for ``...``, as doctest's ELLIPSIS has it.
"""

import contextlib
import doctest
import io
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from simulacrum.spec import Package

DOCS = Path(__file__).resolve().parent.parent / "docs"
PAGES = {"quickstart": None, "writing": "orchard", "findings": "orchard"}  # and the package of docs/writing each needs
FENCE = re.compile(r"^```(console|python|diff)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FILE = re.compile(r"# (\w+\.py)\n")
LIMIT = 900  # seconds for one command


class Block(NamedTuple):
    """A fenced block: its language, its text, and the line of the page where the text begins."""

    language: str
    text: str
    line: int


class Command(NamedTuple):
    """A command of a console block, what it is to print, and its line."""

    command: str
    expected: str
    line: int


def blocks(page: str) -> Iterator[Block]:
    """The blocks of a page that do something, in order."""
    for found in FENCE.finditer(page):
        yield Block(found[1], found[2], page[: found.start(2)].count("\n") + 1)


def commands(block: Block) -> Iterator[Command]:
    """The commands of a console block: each stands behind ``$ ``, what it prints below it."""
    lines = block.text.splitlines()
    starts = [number for number, line in enumerate(lines) if line.startswith("$ ")]
    assert starts[:1] == [0], f"line {block.line}: a console block begins with a command"
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        yield Command(lines[start][2:], "\n".join(lines[start + 1 : end]), block.line + start)


def edit(folder: Path, text: str) -> None:
    """Apply a diff block of one file: its old lines are there once, and become its new ones."""
    header, *lines = text.splitlines(keepends=True)
    assert header.startswith("--- ")
    old, new = ("".join(line[1:] for line in lines if line[0] in kept) for kept in (" -", " +"))
    file = folder / header[4:].strip()
    before = file.read_text()
    assert before.count(old) == 1, f"{file.name} holds this {before.count(old)} times:\n{old}"
    file.write_text(before.replace(old, new))


def difference(expected: str, got: str) -> str:
    """How an output differs from the one that the page shows; empty where it does not."""
    shown, printed = (re.sub(r"[ \t]+$", "", text, flags=re.MULTILINE).strip("\n") + "\n" for text in (expected, got))
    checker, example = doctest.OutputChecker(), doctest.Example("", shown)
    if checker.check_output(shown, printed, doctest.ELLIPSIS):
        return ""
    return checker.output_difference(example, printed, doctest.ELLIPSIS)


def run(command: str, folder: Path) -> str:
    """What a command prints in a folder, stdout and stderr together."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    state = str(folder.parent / "state")
    environment = {**os.environ, "PATH": path, "XDG_STATE_HOME": state, "COLUMNS": "120", "PYTHONHASHSEED": "0"}
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=LIMIT,
    )
    return done.stdout


@pytest.mark.parametrize("page", PAGES)
def test_a_page_shows_what_its_commands_print(page, tmp_path):
    folder = tmp_path / "here"
    folder.mkdir()
    if PAGES[page] is not None:
        ignored = shutil.ignore_patterns("__pycache__", "validation_report.*", "failures")
        shutil.copytree(DOCS / "writing" / PAGES[page], folder / PAGES[page], ignore=ignored)
    ran = 0
    for block in blocks((DOCS / f"{page}.md").read_text()):
        named = FILE.match(block.text)
        if block.language == "diff":
            edit(folder, block.text)
        elif block.language == "python" and named:
            (folder / named[1]).write_text(block.text)
        elif block.language == "console":
            for command in commands(block):
                wrong = difference(command.expected, run(command.command, folder))
                assert not wrong, f"docs/{page}.md:{command.line}: $ {command.command}\n{wrong}"
                ran += 1
    assert ran >= 5


def test_the_spec_of_the_example_derives_its_figures():
    package = Package.read(DOCS / "writing" / "orchard")
    (program,) = re.findall(r"^```python\n(.*?)^```", package.files["spec.md"].decode(), re.MULTILINE | re.DOTALL)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(program, {})
    stated = {name: (one.expected_return, one.standard_deviation) for name, one in package.spec.policies.items()}
    worlds = {"-": stated, **{world.name: world.returns for world in package.spec.small_worlds}}
    lines = [
        f"{world} {policy} [{mean:.6f}, {deviation:.6f}]"
        for world, figures in worlds.items()
        for policy, (mean, deviation) in figures.items()
    ]
    assert printed.getvalue().splitlines() == lines
    assert len(lines) == 8


# ---------------------------------------------------------------------- the test itself


def test_what_differs_is_told():
    assert difference("a 1.5 s\nb", "a 1.5 s  \nb\n") == ""
    assert difference("a ... s\n...\nz", "a 1.5 s\nb\nc\nz\n") == ""
    assert "b" in difference("a 1.5 s", "a 1.5 s\nb\n")
    assert difference("seed ...", "sed 3") != ""


def test_blocks_and_commands():
    page = "x\n\n```console\n$ one\n1\n\n$ two\n```\n\n```bash\nnot me\n```\n\n```diff\n--- f\n-a\n+b\n```\n"
    console, diff = blocks(page)
    assert [tuple(one) for one in commands(console)] == [("one", "1\n", 4), ("two", "", 7)]
    assert diff.language == "diff"
    with pytest.raises(AssertionError, match="begins with a command"):
        list(commands(Block("console", "1\n$ two\n", 4)))


def test_an_edit_is_made_once(tmp_path):
    (tmp_path / "f").write_text("a\nb\nc\n")
    edit(tmp_path, "--- f\n a\n-b\n+x\n c\n")
    assert (tmp_path / "f").read_text() == "a\nx\nc\n"
    with pytest.raises(AssertionError, match="0 times"):
        edit(tmp_path, "--- f\n-b\n+x\n")
