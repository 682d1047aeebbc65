"""Figures in the texts come from docs/figures, which docs/measure.py writes."""

import importlib.util
import json
import re
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parent.parent / "docs"


def module(name):
    spec = importlib.util.spec_from_file_location(f"docs_{name}", DOCS / f"{name}.py")
    made = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = made
    spec.loader.exec_module(made)
    return made


figures, measure = module("figures"), module("measure")


@pytest.mark.parametrize("file", figures.texts(), ids=lambda file: file.name)
def test_texts_have_the_figures_of_their_files(file):
    text = file.read_text()
    assert figures.filled(text) == text, "run python docs/figures.py --write"


def test_every_file_of_figures_says_where_it_comes_from():
    files = sorted((DOCS / "figures").glob("*.json"))
    assert {file.stem for file in files} == set(measure.RECIPES)
    for file in files:
        told = json.loads(file.read_text())
        assert told["command"] == measure.RECIPES[file.stem][0]
        assert re.fullmatch(r"\d{4}-\d\d-\d\d", told["date"])
        assert told["machine"]["processor"]
        assert told["versions"]["torch"]


def test_every_file_of_figures_is_shown():
    shown = "".join(file.read_text() for file in figures.texts())
    asked = {name for found in figures.BLOCK.finditer(shown) for name in found["asked"].split()[1:]}
    asked |= {found["name"] for found in figures.INLINE.finditer(shown)}
    assert asked == set(measure.RECIPES)


UNIT = r"(?:million|M steps|%|s\b|ms\b|µs|us\b|ns\b|seconds|minutes|times\b|steps/s|GB/s|MB|kB|MiB|GB)"
NUMBER = re.compile(rf"(?<![\w.])\d[\d,.]*\s?{UNIT}")
STATED = {  # what is no measurement: settings, limits, arithmetic
    "battery.md": {"100 times", "1.3 million", "95 %"},
    "cookbook.md": {"0 times", "50 million"},
    "limits.md": {"95 %"},
    "performance.md": {"256 MiB", "100%"},
    "randomness.md": {"32, s"},
    "rendering.md": {"0.12 s", "0.13 s"},
    "report.md": {"5 MB"},
    "trajectories.md": {"256 MiB"},
    "writing.md": {"95 %"},
}


@pytest.mark.parametrize("file", [*figures.texts(), *sorted((DOCS / "api").glob("*.md"))], ids=lambda file: file.stem)
def test_no_figure_is_typed_by_hand(file):
    text = re.sub(r"```.*?```", "", figures.INLINE.sub("", figures.BLOCK.sub("", file.read_text())), flags=re.DOTALL)
    assert set(NUMBER.findall(text)) == STATED.get(file.name, set())


def test_a_text_that_differs_is_mended(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(figures, "ROOT", tmp_path)
    monkeypatch.setattr(figures, "FIGURES", tmp_path)
    figures.load.cache_clear()
    (tmp_path / "docs").mkdir()
    told = {
        "command": "simulacrum bench",
        "date": "2026-01-02",
        "machine": {"processor": "Abacus", "cores": 2, "python": "3.11"},
        "versions": {"torch": "2.13"},
        "output": ["| a |", "|---|", "| 1 |", "the end"],
        "content": {"seconds": 12.6, "rates": [{"kernel": 2.04e8}]},
    }
    (tmp_path / "one.json").write_text(json.dumps(told))
    text = (
        "x\n<!-- figures: table one -->\nold\n<!-- end -->\n"
        "takes <!-- figure: one content/seconds .0f -->99<!-- end --> s, "
        "<!-- figure: one content/rates/0/kernel M.0f --><!-- end --> M\n"
    )
    (tmp_path / "README.md").write_text(text)
    assert figures.main([]) == 1
    assert (tmp_path / "README.md").read_text() == text
    assert figures.main(["--write"]) == 0
    assert (tmp_path / "README.md").read_text() == (
        "x\n<!-- figures: table one -->\n| a |\n|---|\n| 1 |\n\n"
        "Measured on 2026-01-02 on 2 cores of an Abacus, Python 3.11, torch 2.13, by `simulacrum bench`.\n"
        "<!-- end -->\n"
        "takes <!-- figure: one content/seconds .0f -->13<!-- end --> s, "
        "<!-- figure: one content/rates/0/kernel M.0f -->204<!-- end --> M\n"
    )
    assert figures.main([]) == 0
    figures.load.cache_clear()


def test_what_is_not_there_is_told(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(figures, "FIGURES", tmp_path)
    with pytest.raises(FileNotFoundError, match=r"run python docs/measure\.py nothing"):
        figures.filled("<!-- figures: table nothing -->\n<!-- end -->")
    with pytest.raises(ValueError, match="expected one of the views"):
        figures.filled("<!-- figures: chart nothing -->\n<!-- end -->")
    assert measure.main(["nothing"]) == 2
    assert "expected names of validate-toywalk" in capsys.readouterr().err


def test_a_report_keeps_its_figures_alone():
    kept = measure.essential({"checks": [1], "seconds": 3, "package": {"path": "/x", "name": "a"}, "fingerprint": 1})
    assert kept == {"seconds": 3, "package": {"name": "a"}}
    assert measure.essential({"groups": [1], "format": 1}) == {"groups": [1], "format": 1}
