"""The documentation: it builds without a warning, its links lead somewhere, and what it quotes is so."""

import ast
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote
from xml.etree import ElementTree

import pytest
import yaml
from test_layers import LAYERS, SOURCE, modules

from simulacrum.cli.parsers import parser
from simulacrum.harness import checks
from simulacrum.harness.gate import Refusal

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
PAGES = [*(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")), *sorted(DOCS.glob("*.md"))]
FENCE = re.compile(r"^(?P<ticks>`{3,})(?P<language>\w+)?[^\n]*\n(?P<text>.*?)^(?P=ticks) *$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?P<markdown>[^()\s]+)\)|(?:href|src)=\"(?P<html>[^\"]+)\"")
OUTSIDE = re.compile(r"[a-z]+:", re.IGNORECASE)
HEADING = re.compile(r"^#{1,3} +(.+)$", re.MULTILINE)


class Fenced(NamedTuple):
    """A fenced block: its page and line, its language, its text."""

    where: str
    language: str
    text: str


def fenced(page: Path, *languages: str) -> Iterator[Fenced]:
    """The fenced blocks of a page in some languages."""
    content = page.read_text()
    for found in FENCE.finditer(content):
        if found["language"] in languages:
            line = content[: found.start("text")].count("\n") + 1
            yield Fenced(f"{page.relative_to(ROOT)}:{line}", found["language"], found["text"])


def all_fenced(*languages: str) -> list[Fenced]:
    """Those of all pages."""
    return [one for page in PAGES for one in fenced(page, *languages)]


# ---------------------------------------------------------------------- it builds


@cache
def site() -> tuple[int, str, Path]:
    """The exit code of the build, what it printed, and the folder of the pages; built once."""
    folder = Path(tempfile.mkdtemp(prefix="simulacrum-docs-"))
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-d", str(folder / "doctrees")]
    done = subprocess.run([*command, str(DOCS), str(folder / "site")], capture_output=True, text=True, timeout=1200)
    return done.returncode, done.stdout + done.stderr, folder / "site"


def test_it_builds_without_a_warning():
    code, told, _ = site()
    assert code == 0, told


def test_every_page_is_built_and_the_article_lies_beside_them():
    _, told, folder = site()
    built = {file.relative_to(folder).as_posix() for file in folder.rglob("*.html")}
    assert {f"{page.stem}.html" for page in DOCS.glob("*.md")} <= built, told
    assert "article/index.html" in built


# ---------------------------------------------------------------------- links


def anchor(heading: str) -> str:
    """A heading's anchor, as GitHub and MyST make it."""
    words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "").strip().lower()
    return re.sub(r"[^\w\- ]", "", words).replace(" ", "-")


def anchors(file: Path) -> set[str]:
    """What a link into a page may name behind ``#``."""
    text = file.read_text()
    if file.suffix == ".html":
        return set(re.findall(r"id=\"([^\"]+)\"", text))
    return {anchor(heading) for heading in HEADING.findall(FENCE.sub("", text))}


def links(page: Path) -> Iterator[str]:
    """The targets of a page's links, but those to other sites; brackets in code are no links."""
    for found in LINK.finditer(re.sub(r"`[^`\n]*`", "", FENCE.sub("", page.read_text()))):
        target = found["markdown"] or found["html"]
        if not OUTSIDE.match(target):
            yield target


def broken(page: Path) -> Iterator[str]:
    """The links of a page that lead nowhere."""
    for target in links(page):
        path, _, part = unquote(target).partition("#")
        file = (page.parent / path).resolve() if path else page
        if not file.exists() or (part and (not file.is_file() or part not in anchors(file))):
            yield target


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_leads_somewhere(page):
    assert not list(broken(page))


def test_a_link_that_leads_nowhere_is_found(tmp_path):
    (tmp_path / "other.md").write_text("# A heading: `code`, and 2 more\n\n```text\n# none\n```\n")
    page = tmp_path / "page.md"
    page.write_text(
        "[a](other.md) [b](other.md#a-heading-code-and-2-more) `[c](gone.md)` [d](https://example.org) [e](gone.md)\n"
        '[f](other.md#none) [g](#none) <a href="gone.html">h</a> [i](.)\n'
    )
    assert list(broken(page)) == ["gone.md", "other.md#none", "#none", "gone.html"]


def test_the_article_leads_to_pages_of_the_built_documentation():
    _, _, folder = site()
    page = folder / "article" / "index.html"
    assert not list(broken(page))
    assert {"../index.html", "../quickstart.html", "../battery.html", "../faults.html"} <= set(links(page))


def test_every_page_stands_in_the_index():
    listed = "\n".join(one.text for one in toctrees(DOCS / "index.md")).split()
    assert {page.stem for page in DOCS.glob("*.md")} - {"index"} <= set(listed)
    named = {target.partition("#")[0] for target in links(DOCS / "index.md")}
    assert {page.name for page in DOCS.glob("*.md")} - {"index.md"} <= named


def toctrees(page: Path) -> Iterator[Fenced]:
    """The ``toctree`` directives of a page."""
    for found in re.finditer(r"^```\{toctree\}\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL):
        yield Fenced(page.name, "toctree", found[1])


# ---------------------------------------------------------------------- commands and programs


def command_lines(block: Fenced) -> Iterator[str]:
    """The shell lines of a block: of ``bash`` all, of ``console`` those with a prompt, of ``yaml`` what is run.

    pre-commit gives the names of files to an ``entry``.
    """
    for line in block.text.replace("\\\n", " ").splitlines():
        if block.language == "bash":
            yield line
        elif block.language == "console" and line.startswith("$ "):
            yield line[2:]
        elif block.language == "yaml" and (found := re.match(r"\s*(?:- )?(run|entry): (.+)", line)):
            yield found[2] if found[1] == "run" else f"{found[2]} FILE"


def commands(line: str) -> Iterator[list[str]]:
    """The ``simulacrum`` commands in a shell line, each as its arguments."""
    lexer = shlex.shlex(re.sub(r"\s\d?>\S+", " ", line), posix=True, punctuation_chars=True)
    lexer.whitespace_split, lexer.commenters = True, "#"
    words: list[str] = []
    for word in [*lexer, ";"]:
        if not set(word) <= set("();<>|&"):
            words.append(word)
            continue
        while words and re.fullmatch(r"\w+=.*", words[0]):
            del words[0]
        if words[:1] == ["simulacrum"]:
            yield words[1:]
        words = []


def parses(arguments: list[str]) -> bool:
    """Whether the command line takes them; ``--version`` and ``--help`` exit with 0."""
    try:
        parser().parse_args(arguments)
    except SystemExit as error:
        return error.code == 0
    return True


def test_every_command_line_is_one_that_the_parser_takes():
    number = 0
    for block in all_fenced("bash", "console", "yaml"):
        for line in command_lines(block):
            for arguments in commands(line):
                assert parses(arguments), f"{block.where}: {line}"
                number += 1
    assert number >= 40


def test_the_hook_on_the_page_is_the_one_that_comes_with_simulacrum():
    (shown,) = (yaml.safe_load(block.text) for block in fenced(DOCS / "ci.md", "yaml") if "hooks:" in block.text)
    (hook,) = shown["repos"][0]["hooks"]
    (shipped,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    assert {**hook, "description": shipped["description"]} == shipped


def test_the_action_on_the_page_takes_what_is_given_to_it():
    jobs = (yaml.safe_load(block.text)["jobs"] for block in fenced(DOCS / "ci.md", "yaml") if "jobs:" in block.text)
    steps = [step for job in jobs for one in job.values() for step in one["steps"]]
    (given,) = [step["with"] for step in steps if step.get("uses", "").partition("@")[0] == "OWNER/simulacrum"]
    action = yaml.safe_load((ROOT / "action.yml").read_text())
    assert set(given) <= set(action["inputs"])
    named = {name for name in action["inputs"] if f"`{name}`" in section("ci.md", "GitHub Actions")}
    assert named >= {"base", "version", "install", "arguments"}


def test_commands_are_found_in_shell_lines():
    line = "A=1 simulacrum list 2>&1 | tail -2; cd x && simulacrum new 'a b' --directory=. # simulacrum no"
    assert parses(["--version"])
    assert not parses(["validate"])
    assert list(commands(line)) == [["list"], ["new", "a b", "--directory=."]]
    text = "x:\n  - run: simulacrum list\n  - if: x\n    run: simulacrum new y\n    entry: simulacrum check\n"
    lines = list(command_lines(Fenced("", "yaml", text)))
    assert lines == ["simulacrum list", "simulacrum new y", "simulacrum check FILE"]


@pytest.mark.parametrize("block", all_fenced("python"), ids=lambda block: block.where)
def test_every_program_compiles(block):
    compile(block.text, block.where, "exec", ast.PyCF_ONLY_AST)


def test_the_programs_on_trajectories_run_one_after_another_in_a_checkout(tmp_path):
    (tmp_path / "envs").symlink_to(ROOT / "envs")
    programs = [block.text for block in fenced(DOCS / "trajectories.md", "python")]
    shown = "print(len(found), len(picker.broken(found)))"
    command = [sys.executable, "-c", "\n".join([*programs, shown])]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    reward, episodes, broken = done.stdout.split()
    assert float(reward) == -1.0
    assert int(episodes) > 2
    assert int(broken) == 0  # as the page says
    written = {file.relative_to(tmp_path).as_posix() for file in tmp_path.rglob("*.json*")}
    assert written >= {"run.jsonl", "instance-0.json", "instance-5.json", "runs/instance-000005.jsonl", "scores.json"}
    assert len(list((tmp_path / "worst").iterdir())) == 5


# ---------------------------------------------------------------------- what is quoted


@cache
def told() -> list[str]:
    """Every text in the framework's source; what is filled in when it runs is a line break."""
    texts = []
    for file in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.JoinedStr):
                texts.append(
                    "".join(getattr(part, "value", "\n") if part_is_text(part) else "\n" for part in node.values)
                )
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                texts.append(node.value)
    return texts


def part_is_text(part: ast.expr) -> bool:
    return isinstance(part, ast.Constant) and isinstance(part.value, str)


def fixed_parts(message: str) -> list[str]:
    """The parts of a quoted message that stand in the source: ``...`` is what is filled in."""
    return [part.strip() for line in message.splitlines() for part in line.split("...") if part.strip(" :,;()[]'\"")]


MESSAGES = list(fenced(DOCS / "troubleshooting.md", "text"))


@pytest.mark.parametrize("message", MESSAGES, ids=lambda message: message.where.partition(":")[2])
def test_a_quoted_message_is_one_that_is_printed(message):
    parts = fixed_parts(message.text)
    assert sum(map(len, parts)) >= 12, "so little of it is fixed that it says nothing"
    for part in parts:
        assert any(part in text for text in told()), part


def test_enough_messages_are_quoted():
    assert len(MESSAGES) >= 40


def test_every_message_has_a_cause_and_a_remedy_that_stand_alone():
    """Whoever searches for a message reads its entry alone."""
    page = (DOCS / "troubleshooting.md").read_text()
    entries = re.split(r"^```text\n.*?^```\n", page, flags=re.MULTILINE | re.DOTALL)[1:]
    assert len(entries) == len(MESSAGES)
    for message, entry in zip(MESSAGES, entries, strict=True):
        assert re.match(r"\nCause: .*?\n\nRemedy: ", entry, re.DOTALL), message.where
    assert not re.search(r"(?:Remedy|Cause): (?:as (?:above|below|it says)|the same\b)", page)


def test_fixed_parts():
    assert fixed_parts("a: expected ..., got ...\nrun: ...\n") == ["a: expected", ", got", "run:"]


def test_every_reason_of_the_gate_is_in_troubleshooting():
    named = first_cells(DOCS / "troubleshooting.md")
    assert {reason.value for reason in Refusal} <= set(named)


def first_cells(page: Path) -> list[str]:
    """The first cell of every row of a page's tables, without backticks."""
    rows = re.findall(r"^\|([^|\n]+)\|", FENCE.sub("", page.read_text()), re.MULTILINE)
    return [row.strip().strip("`") for row in rows]


def test_every_check_is_in_the_table_of_the_battery():
    assert set(checks.NAMES) <= set(first_cells(DOCS / "battery.md"))


# ---------------------------------------------------------------------- the architecture


def section(page: str, heading: str) -> str:
    """What stands under a heading of the second level."""
    found = re.search(rf"^## {heading}\n(.*?)(?=^## |\Z)", (DOCS / page).read_text(), re.MULTILINE | re.DOTALL)
    assert found is not None, heading
    return found[1]


def rows(text: str) -> list[list[str]]:
    """The rows of the tables in a text, each as its cells; headers and rulers are left out."""
    lines = [line for line in text.splitlines() if line.startswith("| `")]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]


def quoted(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


def test_the_module_map_is_that_of_the_layer_test():
    height = {name: number for number, line in enumerate(LAYERS) for name in line}
    known = {name.partition(".")[0] for name in modules(SOURCE)} | {"harness light"}
    shown = [quoted(row[0]) for row in rows(section("architecture.md", "Modules, and who may import whom"))]
    flat = [name for line in shown for name in line]
    assert set(height) <= set(flat) <= known
    heights = [height[name] for name in flat if name in height]
    assert heights == sorted(heights)


def requirements() -> dict[str, set[str]]:
    """The distributions that pyproject.toml asks for: under ``""`` always, and for each extra."""
    text = (ROOT / "pyproject.toml").read_text()
    always = re.search(r"^dependencies = \[(.*?)^\]", text, re.MULTILINE | re.DOTALL)
    extras = re.search(r"^\[project\.optional-dependencies\]\n(.*?)(?=^\[)", text, re.MULTILINE | re.DOTALL)
    assert always is not None
    assert extras is not None
    found = {"": always[1], **dict(re.findall(r"^([\w-]+) = \[(.*?)\]$", extras[1], re.MULTILINE | re.DOTALL))}
    return {extra: set(re.findall(r"\"([\w-]+)", listed)) for extra, listed in found.items()}


def test_every_dependency_has_a_reason():
    wanted = requirements()
    listed = rows(section("architecture.md", "Why each dependency is there"))
    core = [row for row in listed if len(row) == 2]
    extras = {quoted(row[0])[0]: set(quoted(row[1])) for row in listed if len(row) == 3}
    assert {quoted(row[0])[0] for row in core} == wanted.pop("")
    tools = wanted.pop("test")  # which the page does not list one by one
    assert extras.pop("test") <= tools
    assert extras == wanted


def test_the_picture_is_text_with_a_title_and_needs_nothing_else():
    picture = DOCS / "images" / "architecture.svg"
    root = ElementTree.fromstring(picture.read_text())
    name = "{http://www.w3.org/2000/svg}"
    assert root.find(f"{name}title") is not None
    assert root.find(f"{name}desc") is not None
    words = " ".join("".join(text.itertext()) for text in root.iter(f"{name}text"))
    for word in ("spec.md", "reference.py", "fast.py", "kernel.pyx", "draw", "battery", "finding", "report", "gate"):
        assert word in words
    assert "prefers-color-scheme: dark" in picture.read_text()
    assert not re.search(r"<(?:image|script|foreignObject)|url\((?!#)|(?:href|src)=", picture.read_text())
