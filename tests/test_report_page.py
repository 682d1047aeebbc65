"""The report's page: what stands on it, that texts stay texts, that it is bounded, and the command that writes it."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from edited import changed, edited_as
from fabricated import copy_package, fabricated_report, validated, with_result
from reports import BENCH, HOSTILE, summary

from simulacrum.cli import main
from simulacrum.errors import PackageError
from simulacrum.harness import report_page
from simulacrum.harness.finding import Finding
from simulacrum.harness.profile import QUICK
from simulacrum.harness.report import Report
from simulacrum.harness.report_page import Beside, frames, reading
from simulacrum.harness.report_page.findings import Moment, Pictures
from simulacrum.harness.report_page.source import covered
from simulacrum.harness.report_page.speed import measured, swept
from simulacrum.harness.runner import run_check
from simulacrum.spec import Package

SOURCE = '''"""A text."""


class Side:
    def step(self, state):
        # why
        total = (
            state
            # more
            + 1
        )
        if total > 3:
            total = 3
        for _ in range(total):
            total += 0
        if total < 0:
            total = 0
        return total if state else 0

    def unused(self):
        return 1
'''
FACTS = {
    "lines": {"7-11": 5, "12": 5, "13": 0, "14": 5, "15": 12, "16": 5, "17": 0, "18": 5, "21": 0},
    "decisions": [
        {"line": 5, "function": "step", "text": "step", "times": {"entered": 5}},
        {"line": 12, "function": "step", "text": "total > 3", "times": {"true": 0, "false": 5}},
        {"line": 14, "function": "step", "text": "for _ in range(total)", "times": {"entered": 12}},
        {
            **{"line": 16, "function": "step", "text": "total < 0", "times": {"true": 0, "false": 5}},
            "excused": {"true": "it cannot be"},
        },
        {"line": 18, "function": "step", "text": "state", "times": {"true": 3, "false": 2}},
        {"line": 20, "function": "unused", "text": "unused", "times": {"entered": 0}},
    ],
}


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A state folder of the test's own, and its folder the present one."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.delenv("SIMULACRUM_KEY_FILE", raising=False)
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return copy_package(tmp_path / "toywalk")


def faulty(folder: Path) -> tuple[Package, Report]:
    """A package whose fast side leaves the line, and a report with the finding that tells it."""
    package = changed(folder, "torch.clamp(state.position + step, -L, L)", "state.position + step")
    result = run_check("differential", package, replace(QUICK, seed=11, sizes={7: (7, 100)}))
    report = fabricated_report(folder)
    return package, with_result(report, "differential", outcome="failed", findings=result.findings)


# ---------------------------------------------------------------------- coverage


def test_every_line_is_shown_as_it_ran() -> None:
    lines = covered(SOURCE, FACTS)
    assert len(lines) == SOURCE.count("\n")
    assert {line.number: line.state for line in lines if line.state} == {
        **{5: "executed", 7: "executed", 8: "executed", 10: "executed", 11: "executed"},  # 9 is a comment
        **{12: "partly", 13: "never", 14: "executed", 15: "executed", 16: "excused", 17: "excused", 18: "executed"},
        **{20: "never", 21: "never"},
    }
    assert {line.number: line.times for line in lines if line.times is not None}[15] == 12
    assert lines[4].times == 5  # of a function, how often it was entered


def test_what_was_counted_is_what_is_shown(folder: Path) -> None:
    package = Package.read(folder)
    facts = run_check("coverage", package, replace(QUICK, seed=3)).facts
    source = package.files["reference.py"].decode()
    report = with_result(fabricated_report(folder), "coverage", facts=facts)
    page = report.html()
    for line in covered(source, facts):
        assert f'id="line-{line.number}"' in page
        if line.times is not None:
            assert line.times > 0
    assert {line.state for line in covered(source, facts)} == {"", "executed"}
    number = sum(len(decision["times"]) for decision in facts["decisions"])
    assert f"{number} of {number} outcomes of decisions were seen" in page


def test_a_source_that_has_changed_is_not_coloured(folder: Path) -> None:
    package = Package.read(folder)
    report = with_result(fabricated_report(folder), "coverage", facts={"lines": {"30": 5}, "decisions": []})
    content = report.as_dict()
    source = package.files["reference.py"]
    assert 'id="line-30"' in report_page.page(content, Beside(source))
    page = report_page.page(content, Beside(source + b"\n"))
    assert 'id="line-30"' not in page
    assert "reference.py has changed since this report was made" in page
    assert "reference.py is not here" in report_page.page(content, Beside(None))


# ---------------------------------------------------------------------- hostile and huge


def hostile(value: Any) -> Any:
    """A report with every text that is free replaced."""
    if isinstance(value, dict):
        kept = ("outcome", "lines", "times", "by batch size", "seconds")
        return {
            (name if isinstance(part, (dict, list)) or name in NAMES else f"{name}{HOSTILE}"): part
            if name in kept
            else hostile(part)
            for name, part in value.items()
        }
    if isinstance(value, list):
        return [hostile(part) for part in value]
    return HOSTILE if isinstance(value, str) else value


NAMES = {
    *("id", "name", "path", "config", "outcome", "profile", "seed", "finished", "started", "seconds", "format", "git"),
    *("unit", "agreed", "bound", "check", "message", "setting", "instance", "episode", "step", "field", "reference"),
    *("fast", "action", "replay", "reached", "hint", "rule", "steps", "rows", "file", "line", "function", "text"),
    *("evidence", "digest", "batch size", "ratio", "fastest form", "threads"),
}


def test_no_text_of_a_report_becomes_markup(folder: Path) -> None:
    package = Package.read(folder)
    report = fabricated_report(folder)
    values = dict.fromkeys(("setting", "field", "reference", "fast", "action", "replay", "reached", "hint"), HOSTILE)
    finding = Finding("replay", HOSTILE, rule=HOSTILE, file=HOSTILE, instance=1, **values)
    facts = {
        "lines": {"30": 5},
        "decisions": [{"line": 30, "text": "x", "times": {"true": 0}, "excused": {"true": "y"}}],
    }
    with_result(report, "replay", outcome="failed", findings=[finding], notes=["x"], counts={"a": 1})
    with_result(report, "coverage", facts=facts)
    with_result(
        report, "throughput", facts={"eager steps per second": 5.0, "batch size": 2, "ratio": 2.0, "fastest form": "x"}
    )
    content = hostile(report.as_dict())
    source = package.files["reference.py"]
    content["fingerprint"]["package"] = {"reference.py": report.fingerprint["package"]["reference.py"]}
    moment = Moment(HOSTILE, {}, [(HOSTILE, HOSTILE, [HOSTILE], True)])
    beside = Beside(
        source,
        report_page.Refusal(HOSTILE, HOSTILE),
        {HOSTILE: Pictures([moment], HOSTILE)},
        (summary(), HOSTILE),
        BENCH,
    )
    page = report_page.page(content, beside)
    body = page[page.index("<body>") :]
    assert body.count("<script>") == 1
    assert body.count("</script>") == 1
    assert "<img" not in body
    assert "onerror" in body
    assert body.count("&lt;/script&gt;&lt;/style&gt;&lt;img src=x onerror=alert(1)&gt;") > 40
    assert "${title}" in body


def test_what_cannot_be_printed_is_replaced(folder: Path) -> None:
    report = with_result(fabricated_report(folder), "replay", notes=["a\x00b\ud800c\u202ed\x1b[31m"])
    page = report.html()
    assert "a\ufffdb\ufffdc\ufffdd\ufffd[31m" in page
    assert page.encode()


def test_a_huge_report_is_a_small_page(folder: Path) -> None:
    report = fabricated_report(folder)
    finding = Finding("replay", "x" * 100_000, hint="y" * 100_000, reference="z" * 100_000)
    for name in ("replay", "differential"):
        notes, counts = ["n" * 100_000] * 500, {f"count {number}": number for number in range(5000)}
        with_result(report, name, outcome="failed", findings=[finding] * 2000, notes=notes, counts=counts)
    page = report.html()
    assert len(page.encode()) < 5_000_000
    assert "3,940 more left out of this page: validation_report.json has all." in page
    assert "characters left out" in page
    assert "440 more left out of this page" in page
    with_result(report, "coverage", notes=["n" * 100_000] * 500)
    report.checks += [replace(report.checks[-1], notes=["&" * 100_000] * 100)] * 100
    page = report.html()
    assert len(page.encode()) < 5_000_000
    assert "MB would be too much for a page. validation_report.json has it." in page


# ---------------------------------------------------------------------- frames


def test_both_sides_are_drawn_at_each_moment(tmp_path: Path) -> None:
    package, report = faulty(tmp_path / "package")
    content = report.as_dict()
    (found,) = frames.pictures(package, content).values()
    assert found.moments[-1].differs or found.moments[-2].differs
    assert not found.moments[0].differs
    for side in ("reference", "fast"):
        frame = found.moments[0].frames[side]
        assert frame.image is not None
        assert frame.image.startswith(b"\x89PNG")
        assert "step" in frame.text
    page = report.html()
    assert page.count('src="data:image/png;base64,') >= 2
    assert "the sides differ" in page


def test_a_renderer_that_raises_breaks_nothing(tmp_path: Path) -> None:
    package, report = faulty(tmp_path / "package")
    file = package.path / "render.py"
    file.write_text(file.read_text().replace("    cells = 2 * L + 1\n", "    raise SystemExit('<no picture>')\n"))
    (found,) = frames.pictures(Package.read(package.path), report.as_dict()).values()
    frame = found.moments[0].frames["fast"]
    assert (frame.image, frame.problem) == (None, "render_rgb raised SystemExit: <no picture>")
    assert "step" in frame.text
    file = next(finding.file for check in report.checks for finding in check.findings)
    page = report_page.page(report.as_dict(), Beside(pictures={file: found}))
    assert "render_rgb raised SystemExit: &lt;no picture&gt;" in page


def test_frames_end_with_their_time_and_their_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package, report = faulty(tmp_path / "package")
    (found,) = frames.pictures(package, report.as_dict(), seconds=-1.0).values()
    assert found.moments[0].frames["fast"].problem == "Not drawn: the time for frames was used up."
    monkeypatch.setattr(frames, "IMAGES", 1000)
    (found,) = frames.pictures(package, report.as_dict()).values()
    drawn = [frame for moment in found.moments for frame in moment.frames.values()]
    assert sum(len(frame.image or b"") for frame in drawn) <= 1000
    assert any("no room" in frame.problem for frame in drawn)


def test_only_files_in_the_packages_own_failures_are_read(tmp_path: Path) -> None:
    package, report = faulty(tmp_path / "package")
    content = report.as_dict()
    finding = next(check for check in content["checks"] if check["name"] == "differential")["findings"][0]
    elsewhere = tmp_path / "elsewhere.json"
    Path(finding["file"]).rename(elsewhere)
    finding["file"] = str(elsewhere)
    (found,) = frames.pictures(package, content).values()
    assert (found.moments, found.remark) == ([], "Its file is no longer there: elsewhere.json")


def test_a_file_that_a_later_run_wrote_is_not_taken_for_this_finding(tmp_path: Path) -> None:
    package, report = faulty(tmp_path / "package")
    content = report.as_dict()
    finding = next(check for check in content["checks"] if check["name"] == "differential")["findings"][0]
    finding["message"] = "something else"
    (found,) = frames.pictures(package, content).values()
    assert found.moments == []
    assert "holds another finding now" in found.remark
    Path(finding["file"]).write_text("{")
    (found,) = frames.pictures(package, content).values()
    assert found.remark.startswith("Its moments cannot be shown: ")


# ---------------------------------------------------------------------- speeds


def test_a_curve_needs_no_sizes_but_shows_them() -> None:
    facts = {
        "reference steps per second": 5,
        "eager steps per second": 7,
        "batch size": 4096,
        "threads": 2,
        "ratio": 1.4,
    }
    (curve,) = measured(facts)
    assert (curve.threads, curve.forms, curve.reference) == (2, {"eager": {4096: 7}}, 5)
    (curve,) = measured({**facts, "by batch size": {"eager": {"1": 3, "4096": 7}, "compiled": {}}})
    assert curve.forms == {"eager": {1: 3, 4096: 7}}
    assert measured({}) == []


def test_a_sweep_has_a_plot_for_each_number_of_threads(folder: Path) -> None:
    one, two = swept(BENCH)
    assert (one.threads, two.threads) == (1, 2)
    assert two.forms == {"eager": {1: 5e3, 4096: 6e6}, "kernel": {1: 1e5, 4096: 2e8}}
    page = report_page.page(fabricated_report(folder).as_dict(), Beside(bench=BENCH))
    assert page.count("<svg viewBox") - page.count('class="bar"') == 2
    for figure in ("200 M", "100 k", "6 M", "5 k"):
        assert f">{figure}</span>" in page
    assert ">kernel</text>" in page


# ---------------------------------------------------------------------- the command


def report(*arguments: object) -> int:
    return main(["report", *map(str, arguments)])


def test_a_fresh_report_is_a_page_that_says_passed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert report(validated(folder)) == 0
    page = Path("toywalk-report.html").read_text()
    assert capsys.readouterr().out.startswith("toywalk-report.html (0.")
    assert "<title>tests/toywalk-v0: passed</title>" in page
    assert "The gate refuses it now" not in page
    assert page == (folder / "validation_report.html").read_text()


def test_a_failing_report_says_so(folder: Path) -> None:
    validated(folder, failed=["replay"])
    assert report(folder, "-o", "page.html") == 0
    page = Path("page.html").read_text()
    assert "<title>tests/toywalk-v0: failed</title>" in page
    assert "1 failed with 1 finding" in page


@pytest.mark.parametrize(
    ("damage", "word", "why"),
    [
        (lambda folder: (folder / "fast.py").write_text("x = 1\n"), "stale", "package changed: "),
        (lambda folder: (folder / "validation_report.sig").unlink(), "unsigned", "no signature: "),
        (
            lambda folder: (folder / "validation_report.json").write_bytes(
                (folder / "validation_report.json").read_bytes().replace(b'"seed": 0', b'"seed": 1')
            ),
            "edited",
            "report edited by hand: ",
        ),
    ],
)
def test_it_says_why_the_gate_refuses(folder: Path, damage: Any, word: str, why: str) -> None:
    damage(validated(folder))
    assert report(folder, "-o", "page.html") == 0
    page = Path("page.html").read_text()
    assert f"<title>tests/toywalk-v0: {word}</title>" in page
    assert f"<strong>The gate refuses it now. </strong>{why}" in page
    assert f"<code>simulacrum validate {folder}</code>" in page


def test_results_of_faults_and_a_sweep_are_shown(folder: Path) -> None:
    result = {
        **{"name": "the goal is one further", "group": "domain", "kind": "rules", "files": ["fast.py"], "steps": 1},
        **{"found_by": ["coverage"], "transitions": 0, "seconds": 1.0, "message": "", "alike": True, "key": "k"},
    }
    from simulacrum.harness.faults import cases

    known = cases.cases(Package.read(validated(folder)), cases.GROUPS)[0].name
    lines = [{**result, "name": name, "key": name} for name in (known, "of another package", "no fault")]
    Path("faults.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    Path("bench.json").write_text(json.dumps(BENCH))
    assert report(folder, "-o", "page.html", "--faults", "faults.jsonl", "--bench", "bench.json") == 0
    page = Path("page.html").read_text()
    assert "Kill matrix" in page
    assert report_page.text(known) in page
    assert "1 results in faults.jsonl are of other packages" in page
    assert "A sweep of simulacrum bench" in page


@pytest.mark.parametrize(
    ("content", "place"),
    [
        (b"", "Expecting value"),
        (b"[]", "/: "),
        (b'{"format": 2}', "validation_report.json: /"),
        (b'{"a": NaN}', "JSON has no NaN"),
        (b"[" * 100_000, "nested too deep"),
        (b"\xff", "codec"),
    ],
)
def test_what_is_no_report_is_named(
    folder: Path, content: bytes, place: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (validated(folder) / "validation_report.json").write_bytes(content)
    assert report(folder) == 2
    said = capsys.readouterr().err
    assert str(folder / "validation_report.json") in said
    assert place in said
    assert not list(Path().glob("*.html"))


def test_a_wrong_value_is_named_by_its_place(folder: Path) -> None:
    path = fabricated_report(folder).write()
    content = json.loads(path.read_text())
    content["checks"][3]["counts"]["transitions"] = "many"
    path.write_text(json.dumps(content))
    with pytest.raises(PackageError, match=r"validation_report.json: /checks/3/counts/transitions: expected a report"):
        reading.report(path)


@pytest.mark.parametrize(
    ("option", "content", "said"),
    [
        ("--bench", '{"format": 1, "layers": []}', "bench.json: /: expected a sweep"),
        ("--bench", '{"format": 1, "groups": [{}]}', "bench.json: /groups/0: expected a sweep"),
        ("--bench", None, "bench.json: expected a sweep"),
        ("--faults", "nothing\n", "none of its 0 results is one"),
        ("--faults", None, "no such file"),
        ("--output", "", "is a folder: name a file by --output"),
    ],
)
def test_other_files_that_do_not_fit_are_named(
    folder: Path, option: str, content: str | None, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    file = Path("bench.json" if option == "--bench" else "other")
    if option == "--output":
        file.mkdir()
    elif content is not None:
        file.write_text(content)
    assert report(validated(folder), option, file) == 2
    assert said in capsys.readouterr().err
    assert not list(Path().glob("*.html"))


def test_without_a_report_the_command_to_run_is_told(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert report(folder) == 2
    said = capsys.readouterr().err
    assert "has no validation report" in said
    assert f"run: simulacrum validate {folder}" in said
    assert report("nowhere-at-all") == 2


def test_the_page_of_a_passing_report_needs_no_torch(folder: Path) -> None:
    validated(folder)
    code = (
        "import sys; from simulacrum.cli import main; main(['report', sys.argv[1]]); sys.exit('torch' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code, str(folder)], check=True)


def test_a_configuration_has_a_page_of_its_own(tmp_path: Path) -> None:
    package = edited_as(tmp_path / "snake", "snake", ("__init__.py", "simulacrum/snake-v0", "tests/snake-v0"))
    assert package.spec.configurations
    config = [*package.spec.configurations][1]
    made = fabricated_report(package.path)
    made = replace(made, package=package.configured(config))
    made.write()
    assert report(package.path, "--config", config) == 0
    assert f"snake-v0 ({config})" in Path(f"snake-{config}-report.html").read_text()
