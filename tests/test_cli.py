import json
import re
import shutil
import signal
import subprocess
import sys
import time
from io import StringIO

import pytest
from fabricated import COVERS, copy_package, results
from rich.console import Console

from simulacrum import __version__, cli
from simulacrum.cli import listing, main
from simulacrum.cli.arguments import battery_seed, positive, some_seed
from simulacrum.cli.progress import Bar, Log, display
from simulacrum.harness import checks, runner
from simulacrum.harness.report import CheckResult, new_report


@pytest.fixture(autouse=True)
def state(tmp_path, monkeypatch):
    """A state folder of the test's own, and no terminal."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    for name in ("SIMULACRUM_KEY_FILE", "FORCE_COLOR", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def folder(tmp_path):
    return copy_package(tmp_path / "toywalk")


@pytest.fixture
def battery(monkeypatch):
    """Puts results in the place of the battery's; its calls are kept."""
    calls = []

    def replace(made=results, interrupt_after=None):
        def run(package, profile, *, names, progress, finished, workers):
            calls.append((package, profile, names))
            report = new_report(package, profile, names)
            for number, result in enumerate(one for one in made() if one.name in names):
                if number == interrupt_after:
                    raise KeyboardInterrupt
                progress(result.name, 0.5)
                report.checks.append(result)
                finished(result)
            return report

        monkeypatch.setattr(runner, "run", run)
        return calls

    return replace


def edit(file, old, new):
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))


def run_apart(*arguments, **options):
    command = [sys.executable, "-m", "simulacrum", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=100, **options)


# what is asked for


def test_the_module_runs_without_torch():
    done = run_apart("--version")
    assert (done.returncode, done.stdout) == (0, f"simulacrum {__version__}\n")
    code = (
        "import sys; from simulacrum.cli import main; assert main(['list']) == 0; "
        "assert main(['validate', '/none']) == 2; print('torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=100)
    assert done.stdout.splitlines()[-1] == "False", done.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("nonsense",),
        ("validate",),
        ("validate", "x", "--seed", "-1"),
        ("validate", "x", "--seed", "4294967296"),
        ("validate", "x", "--seed", "one"),
        ("validate", "x", "--full"),
        ("validate", "x", "--deep", "--shards", "0"),
        ("faults", "x", "--sample", "0"),
        ("faults", "x", "--sample", "-1"),
        ("faults", "x", "--workers", "0"),
        ("faults", "x", "--workers", "two"),
        ("new",),
        ("list", "x"),
    ],
)
def test_arguments_that_cannot_be_read(arguments, capsys):
    with pytest.raises(SystemExit) as error:
        main(arguments)
    assert error.value.code == 2
    assert "usage: simulacrum" in capsys.readouterr().err


def test_a_seed_is_told_its_range(capsys):
    with pytest.raises(SystemExit):
        main(["validate", "x", "--seed", "4294967296"])
    assert "expected a whole number in 0..4294967295, got '4294967296'" in capsys.readouterr().err
    assert battery_seed("4294967295") == 2**32 - 1
    assert 0 <= some_seed() < 2**32


def test_a_number_of_things_is_told_its_range(capsys):
    with pytest.raises(SystemExit):
        main(["faults", "x", "--workers", "0"])
    assert "expected a whole number from 1 on, got '0'" in capsys.readouterr().err
    assert positive("12") == 12


def test_no_such_package(capsys):
    assert main(["validate", "no-such-thing"]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.startswith("simulacrum: no environment 'no-such-thing'")
    assert "simulacrum list" in told.err
    assert "Traceback" not in told.err


@pytest.mark.parametrize("expression", ["nothing", "differential and", "1 + 1"])
def test_an_expression_that_picks_nothing(expression, folder, capsys):
    assert main(["validate", str(folder), "-k", expression]) == 2
    told = capsys.readouterr()
    assert f"-k {expression!r}" in told.err
    assert "spec_contract, static_read" in told.err


@pytest.mark.parametrize(
    ("file", "old", "new", "message"),
    [
        ("fast.py", "import torch\n", "import torch, \n", "fast.py raised SyntaxError"),
        ("checks.py", "from . import", "from . import NOWHERE,", "checks.py raised ImportError"),
        ("__init__.py", "ENVIRONMENT = ", "OTHER = ", "expected ENVIRONMENT = simulacrum.Environment"),
        ("spec.md", "| reward | dtype |", "| constant | dtype |", "a second table 'constant'"),
        ("reference.py", "class ToywalkReference(simulacrum.ReferenceEnv[State])", "class X", "expected one subclass"),
    ],
)
def test_a_broken_package(file, old, new, message, folder, capsys):
    edit(folder / file, old, new)
    assert main(["validate", str(folder)]) == 2
    told = capsys.readouterr()
    assert message in told.err
    assert "Traceback" not in told.err


def test_a_package_that_lacks_a_file(folder, capsys):
    (folder / "render.py").unlink()
    assert main(["validate", str(folder)]) == 2
    assert "it lacks render.py" in capsys.readouterr().err


def test_a_device_that_is_not_there(folder, capsys):
    assert main(["validate", str(folder), "--device", "cpu", "--device", "nonsense"]) == 2
    assert "--device nonsense: expected a device that torch can use here" in capsys.readouterr().err


def test_a_fault_of_ours_is_told_whole_and_is_no_finding(monkeypatch, capsys):
    monkeypatch.setattr(listing, "known", lambda: 1 / 0)
    assert main(["list"]) == 2
    assert "ZeroDivisionError" in capsys.readouterr().err


# validate


def test_a_subset_passes_and_writes_no_report(folder, capsys):
    assert main(["validate", str(folder), "-k", "spec_contract or invariant", "--quick", "--seed", "7"]) == 0
    told = capsys.readouterr().out
    assert "Validating tests/toywalk-v0" in told
    assert f"2 of {len(checks.NAMES)} checks, quick profile, seed 7 (--seed 7 runs the same again)" in told
    assert re.search(r"^passed +spec_contract +\d+\.\d s$", told, re.M)
    assert "states looked at" in told
    assert f"No report was written: it takes all checks in the default profile: simulacrum validate {folder}" in told
    assert not list(folder.glob("validation_report.*"))


def test_findings_are_told_in_full(folder, capsys):
    edit(folder / "spec.md", "| SLIP_P | 0.1 |", "| SLIP_P | 0.2 |")
    assert main(["validate", str(folder), "-k", "spec_contract", "--seed", "7"]) == 1
    told = capsys.readouterr().out
    assert "spec_contract: constant SLIP_P: spec.md says 0.2, __init__.py has 0.1" in told
    assert f"simulacrum validate {folder} -k spec_contract --seed 7" in told
    assert re.search(r"^\d+ findings? in spec_contract\.$", told, re.M)


def test_a_whole_battery_writes_its_report(folder, battery, capsys):
    calls = battery()
    assert main(["validate", str(folder), "--seed", "4294967295"]) == 0
    ((package, profile, names),) = calls
    assert (package.path, profile.name, profile.seed) == (folder, "default", 2**32 - 1)
    assert (profile.devices, names) == (("cpu",), checks.NAMES)
    told = capsys.readouterr().out
    assert "200 transitions compared with the reference, bit by bit." in told
    assert f"Report: {folder / 'validation_report.json'}" in told
    assert 'gymnasium.make("tests/toywalk-v0")' in told
    assert json.loads((folder / "validation_report.json").read_bytes())["outcome"] == "passed"
    assert main(["list"]) == 0
    listed, covered = capsys.readouterr().out, "; ".join(" ".join(one) for one in COVERS)
    state = f"fresh: {re.escape(covered)}"
    assert re.search(rf"^tests/toywalk-v0\n  path +{folder}\n  source +validated here\n  state +{state}$", listed, re.M)


def test_a_failing_battery_writes_its_report_and_does_not_say_how_to_load(folder, battery, capsys):
    battery(lambda: results(failed=["replay"]))
    assert main(["validate", str(folder)]) == 1
    told = capsys.readouterr().out
    assert "replay: the sides differ\n" in told
    assert "1 finding in replay." in told
    assert "tests/toywalk-v0 does not load until it passes." in told
    assert "gymnasium.make" not in told
    assert json.loads((folder / "validation_report.json").read_bytes())["outcome"] == "failed"
    main(["list"])
    assert "failing report" in capsys.readouterr().out


@pytest.mark.parametrize("extra", [["--quick"], ["-k", "replay"]])
def test_less_than_a_whole_battery_writes_nothing(extra, folder, battery, capsys):
    battery()
    assert main(["validate", str(folder), *extra]) == 0
    told = capsys.readouterr().out
    assert "No report was written" in told
    assert "Report:" not in told
    assert not list(folder.glob("validation_report.*"))


def test_each_battery_has_a_seed_of_its_own_which_is_printed(folder, battery, capsys):
    calls = battery()
    for _ in range(2):
        main(["validate", str(folder), "--quick"])
    seeds = [profile.seed for _, profile, _ in calls]
    assert seeds[0] != seeds[1]
    assert re.findall(r"seed (\d+) \(--seed (\d+)", capsys.readouterr().out) == [(str(seed),) * 2 for seed in seeds]


def test_on_a_terminal_the_findings_stay_whole(folder, battery, monkeypatch, capsys):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "60")
    battery(lambda: results(failed=["replay"]))
    main(["validate", str(folder)])
    told = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", capsys.readouterr().out)
    assert "│ spec_contract" in told
    assert told.count("the sides differ") == 1
    assert f"Report: {folder / 'validation_report.json'}\nPage:   {folder / 'validation_report.html'}\n" in told


def test_an_interruption_shows_what_has_finished(folder, battery, capsys):
    battery(lambda: results(failed=["static_read"]), interrupt_after=2)
    assert main(["validate", str(folder)]) == 130
    told = capsys.readouterr().out
    assert "tests/toywalk-v0: interrupted" in told
    assert "static_read: the sides differ" in told
    assert f"Interrupted: 2 of {len(checks.NAMES)} checks ran, and no report was written." in told
    assert not list(folder.glob("validation_report.*"))


def test_control_c(folder):
    command = [sys.executable, "-m", "simulacrum", "validate", str(folder), "-k", "spec_contract or differential"]
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    told = []
    for line in process.stdout:
        told.append(line)
        if line.startswith("passed"):
            process.send_signal(signal.SIGINT)
            break
    rest, errors = process.communicate(timeout=100)
    assert process.returncode == 130, errors
    assert "Interrupted: 1 of 2 checks ran, and no report was written." in rest
    assert errors == ""


# progress


def test_a_log_says_when_a_check_runs_long():
    text = StringIO()
    console = Console(file=text, highlight=False)
    shown = display(console, ["differential", "replay"], patience=0.05)
    assert isinstance(shown, Log)
    with shown:
        shown.progress("differential", 0.4)
        time.sleep(0.3)
        shown.finished(CheckResult("differential", "passed", 12.34, {}, [], []))
    lines = text.getvalue().splitlines()
    assert lines[0].strip() == "differential 40% (0 of 2 checks done) after 0 s"
    assert lines[-1] == "passed          differential                   12.3 s"


def test_a_terminal_gets_a_bar():
    text = StringIO()
    console = Console(file=text, force_terminal=True, color_system=None, width=100, _environ={"TERM": "xterm"})
    shown = display(console, ["differential", "replay"])
    assert isinstance(shown, Bar)
    with shown:
        shown.progress("differential", 0.4)
        shown.finished(CheckResult("differential", "failed", 12.34, {}, [], []))
        shown.progress("replay", 0.9)
    assert "replay 90% (1 of 2 checks done)" in text.getvalue()
    assert "12.3 s" in text.getvalue()


# list and freeze


def test_list_tells_of_problems(monkeypatch, capsys):
    one = listing.Known(None, None, "entry point", "entry point x: no package\nwith a spec.md in 'y'")
    monkeypatch.setattr(listing, "known", lambda: [one])
    assert main(["list"]) == 0
    assert capsys.readouterr().out == (
        "(no ID)\n  source   entry point\n  problem  entry point x: no package\n           with a spec.md in 'y'\n"
    )
    monkeypatch.setattr(listing, "known", lambda: [])
    assert main(["list"]) == 0
    assert "No environment is known" in capsys.readouterr().out


def test_list_tells_why_one_does_not_load(capsys):
    assert main(["list"]) == 0
    place = r"  path     .*envs/forager\n  source   source checkout\n"
    assert re.search(rf"^simulacrum/forager-v0\n{place}  state    \w", capsys.readouterr().out, re.M)


def test_freezing_commits_the_behaviour(folder, capsys):
    trace = folder / "trace.json"
    assert main(["freeze", str(folder)]) == 0
    assert f"commit {trace}" in capsys.readouterr().out
    frozen = trace.read_text()
    assert json.loads(frozen)["id"] == "tests/toywalk-v0"
    assert main(["freeze", str(folder)]) == 0
    assert "frozen already" in capsys.readouterr().out
    assert main(["validate", str(folder), "-k", "replay", "--quick"]) == 0
    capsys.readouterr()

    edit(folder / "__init__.py", "SLIP_P = 0.1", "SLIP_P = 0.2")
    assert main(["freeze", str(folder)]) == 1
    assert "a changed behaviour is a new version of the ID" in capsys.readouterr().err
    assert trace.read_text() == frozen
    edit(folder / "__init__.py", "toywalk-v0", "toywalk-v1")
    assert main(["freeze", str(folder)]) == 0
    assert json.loads(trace.read_text())["id"] == "tests/toywalk-v1"
    trace.write_text("[]")
    assert main(["freeze", str(folder)]) == 2
    assert "expected a JSON object" in capsys.readouterr().err


def test_output_that_nobody_reads(tmp_path):
    command = f"{sys.executable} -m simulacrum list | {shutil.which('true')}"
    done = subprocess.run(["bash", "-o", "pipefail", "-c", command], capture_output=True, text=True, timeout=100)
    assert done.stderr == ""
    assert done.returncode in (0, cli.COULD_NOT_RUN)
