"""``action.yml``: by GitHub's schema, and its steps run as a runner does, in the git checkout of someone else."""

import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree

import pytest
import yaml
from fabricated import copy_package, fabricated_report, validated, with_result

from simulacrum.cli import main
from simulacrum.harness import checks, gate
from simulacrum.harness.finding import Finding
from simulacrum.spec import Package

ROOT = Path(__file__).resolve().parent.parent
ACTION = ROOT / "action.yml"
SCRIPTS = ROOT / "integrations" / "github_action"
PAGES = [ROOT / "docs" / "ci.md", ROOT / "docs" / "packages.md"]
EXPRESSION = re.compile(r"\$\{\{ *(?P<what>[\w.-]+) *\}\}")
STEPS = ["caches", "changes", "battery", "publish", "verdict"]
FEW = "-k 'spec_contract or worked_examples'"
IDENTITY = {f"GIT_{who}_{what}": "tests" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}

# ---------------------------------------------------------------------- what stands for a runner


@dataclass
class Job:
    """The steps of ``action.yml`` in a checkout, one after the other, with files for what they say. ``uses`` steps and
    the install do nothing: what is installed is the environment of the tests."""

    checkout: Path
    temporary: Path
    variables: dict[str, str] = field(default_factory=dict)
    outputs: dict[str, str] = field(default_factory=dict)
    ran: list[str] = field(default_factory=list)
    log: str = ""

    def run(self, known: str = "", **inputs: str) -> bool:
        """Whether all steps passed. ``known`` is the key that ``actions/cache`` matched."""
        action = yaml.safe_load(ACTION.read_text())
        values = {f"inputs.{name}": one.get("default", "") for name, one in action["inputs"].items()}
        given = {f"inputs.{name.replace('_', '-')}": value for name, value in inputs.items()}
        assert given.keys() <= values.keys()
        self.outputs |= values | given | {"steps.restored.outputs.cache-matched-key": known}
        self.temporary.mkdir(exist_ok=True)
        passed = all(self._step(step) for step in action["runs"]["steps"] if "run" in step and step["id"] != "install")
        self.outputs |= {
            f"outputs.{name}": self._filled(one["value"]) for name, one in action["outputs"].items() if passed
        }
        return passed

    def _step(self, step: dict) -> bool:
        assert set(step) <= {"id", "shell", "env", "run"}  # what this runner understands
        assert step["shell"] == "bash"
        self.ran.append(step["id"])
        files = {name: self.temporary / name for name in ("GITHUB_OUTPUT", "GITHUB_ENV")}
        for file in files.values():
            file.write_text("")
        environment = {
            **os.environ,
            **self.variables,
            **{name: str(file) for name, file in files.items()},
            **{name: self._filled(value) for name, value in step.get("env", {}).items()},
            "GITHUB_STEP_SUMMARY": str(self.temporary / "summary.md"),
            "GITHUB_ACTION_PATH": str(ROOT),
            "RUNNER_TEMP": str(self.temporary),
            "RUNNER_OS": "Linux",
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        }
        command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", self._filled(step["run"])]
        done = subprocess.run(command, cwd=self.checkout, env=environment, capture_output=True, text=True, timeout=600)
        self.log += done.stdout + done.stderr
        said = {name: assignments(file.read_text()) for name, file in files.items()}
        self.variables |= said["GITHUB_ENV"]
        self.outputs |= {f"steps.{step['id']}.outputs.{name}": text for name, text in said["GITHUB_OUTPUT"].items()}
        return done.returncode == 0

    def _filled(self, text: str) -> str:
        return EXPRESSION.sub(lambda found: self.outputs[found["what"]], text)

    @property
    def summary(self) -> str:
        return (self.temporary / "summary.md").read_text()

    @property
    def published(self) -> Path:
        return Path(self.outputs["steps.publish.outputs.folder"])

    @property
    def cases(self) -> dict[tuple[str, str], ElementTree.Element]:
        """The test cases of ``junit.xml`` by suite and name."""
        suites = ElementTree.parse(self.published / "junit.xml").getroot().findall("testsuite")
        return {(suite.get("name"), case.get("name")): case for suite in suites for case in suite.findall("testcase")}


def assignments(text: str) -> dict[str, str]:
    """What is in a file of ``NAME<<MARK`` blocks."""
    blocks = re.findall(r"^([\w-]+)<<(\S+)\n(.*?)\n\2$", text, re.M | re.S)
    return {name: value for name, _, value in blocks}


def git(folder, *arguments):
    command = ["git", "-c", "commit.gpgsign=false", "-c", "init.defaultBranch=main", "-C", str(folder), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True, env=os.environ | IDENTITY).stdout.strip()


def edit(file, old, new):
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))


def commit(folder):
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", "a change")
    return git(folder, "rev-parse", "HEAD")


@pytest.fixture(autouse=True)
def state(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    for name in [name for name in os.environ if name.startswith(("GITHUB_", "GIT_", "RUNNER_"))]:
        monkeypatch.delenv(name)
    for name in ("SIMULACRUM_KEY_FILE", "TORCHINDUCTOR_CACHE_DIR", "PYTHONPATH"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def checkout(tmp_path):
    """A checkout with the packages ``envs/ladder`` and ``envs/harbour``, and a page that is no package's."""
    made = tmp_path / "checkout"
    (made / "envs").mkdir(parents=True)
    for name in ("ladder", "harbour"):
        assert main(["new", name, "--directory", str(made / "envs"), "--namespace", "tests"]) == 0
    (made / "docs").mkdir()
    (made / "docs" / "spec.md").write_text("A page.\n")
    (made / ".gitignore").write_text("validation_report.*\nfailures/\n__pycache__/\n")
    git(made, "init", "--quiet")
    commit(made)
    return made


@pytest.fixture
def job(checkout, tmp_path):
    return Job(checkout, tmp_path / "runner")


# ---------------------------------------------------------------------- by the schema


def schema(kind, file):
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", f"vendor.github-{kind}", str(file)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


def test_the_action_is_one_by_the_schema(tmp_path):
    done = schema("actions", ACTION)
    assert done.returncode == 0, done.stdout
    wrong = tmp_path / "action.yml"
    wrong.write_text(ACTION.read_text().replace("using: composite", "using: compost"))
    assert schema("actions", wrong).returncode == 1


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_workflows_of_the_pages_are_some_by_the_schema(page, tmp_path):
    blocks = re.findall(r"^```yaml\n(.*?)^```", page.read_text(), re.M | re.S)
    for number, block in enumerate(block for block in blocks if "\njobs:" in block):
        file = tmp_path / f"{number}.yml"
        file.write_text(block)
        done = schema("workflows", file)
        assert done.returncode == 0, done.stdout
        action = yaml.safe_load(ACTION.read_text())
        for job in yaml.safe_load(block)["jobs"].values():
            ours = [step for step in job["steps"] if re.search(r"/simulacrum@", step.get("uses", ""))]
            assert all(step.get("with", {}).keys() <= action["inputs"].keys() for step in ours)


def test_every_script_is_a_step():
    steps = [step["run"].split()[-1] for step in yaml.safe_load(ACTION.read_text())["runs"]["steps"] if "run" in step]
    assert [step for step in steps if "install.sh" not in step] == STEPS
    done = subprocess.run([sys.executable, str(SCRIPTS), "nothing"], capture_output=True, text=True)
    assert (done.returncode, "expected one of caches, changes" in done.stderr) == (1, True)


@pytest.mark.parametrize(
    ("version", "install", "expected"),
    [
        ("", "", ["ACTION"]),
        ("0.1.0", "-e .  -r two.txt", ["simulacrum==0.1.0", "-e . -r two.txt"]),
        ("./a wheel.whl", "", ["./a wheel.whl"]),
    ],
)
def test_what_is_installed(version, install, expected, tmp_path):
    """``python -m pip`` is one here that tells what it was asked: nothing can be installed without a network."""
    asked = tmp_path / "python"
    asked.write_text('#!/bin/sh\n[ "$1 $2 $3" = "-m pip install" ] || exit 3\nshift 3\necho "$@"\n')
    asked.chmod(0o755)
    variables = {"VERSION": version, "INSTALL": install, "GITHUB_ACTION_PATH": "ACTION"}
    variables["PATH"] = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run([SCRIPTS / "install.sh"], env=os.environ | variables, capture_output=True, text=True)
    assert (done.returncode, done.stdout.splitlines()) == (0, expected)


# ---------------------------------------------------------------------- the steps, one after the other


def test_a_package_that_passes_without_the_gate(job, checkout):
    assert job.run(arguments=FEW, gate="false"), job.log
    assert job.ran == STEPS
    assert json.loads(job.outputs["outputs.packages"]) == ["envs/harbour", "envs/ladder"]
    assert job.outputs["outputs.passed"] == "true"
    assert "all packages, for no earlier run passed with these versions" in job.summary
    assert "| `envs/ladder` | ✅ passed | 0 | no report |" in job.summary
    assert {name for _, name in job.cases} == {"validate", "gate"}
    assert not [case for case in job.cases.values() if len(case)]  # no failure, no error
    assert "tests/ladder-v0: passed" in (job.published / "envs-ladder.log").read_text()
    assert job.outputs["outputs.junit"] == str(job.published / "junit.xml")
    assert git(checkout, "status", "--porcelain") == ""


def test_what_is_cached(job, checkout, monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert job.run(known="some key", base="HEAD", packages="envs/harbour")
    native, graphs = job.outputs["steps.caches.outputs.paths"].splitlines()
    assert (native, graphs) == (f"{tmp_path}/cache/simulacrum/native", f"{tmp_path}/cache/simulacrum/inductor")
    assert job.variables == {"TORCHINDUCTOR_CACHE_DIR": graphs}
    key = job.outputs["steps.caches.outputs.key"]
    one, two = job.outputs["steps.caches.outputs.restore"].splitlines()
    assert key.startswith(one)
    assert one.startswith(two)
    assert re.fullmatch("simulacrum-Linux-[0-9a-f]{16}-", two)
    edit(checkout / "envs" / "ladder" / "spec.md", "A climb in the wind", "A climb")
    commit(checkout)
    again = Job(checkout, tmp_path / "again")
    for packages, same in {"envs/harbour": True, "envs/ladder": False, "**": False}.items():
        assert again.run(known="some key", base="HEAD", packages=packages)
        assert (again.outputs["steps.caches.outputs.key"] == key) is same  # it is of the sources of these packages


def test_a_fault_in_the_package_that_a_change_touches(job, checkout):
    before = git(checkout, "rev-parse", "HEAD")
    edit(checkout / "envs" / "ladder" / "fast.py", "self.int32(-1)", "self.int32(-2)")
    commit(checkout)
    assert not job.run(known="some key", base=before, arguments="-k 'worked_examples or differential'")
    assert json.loads(job.outputs["steps.changes.outputs.packages"]) == ["envs/ladder"]
    assert job.ran[-2:] == ["publish", "verdict"]
    assert job.outputs["steps.publish.outputs.passed"] == "false"
    assert "| `envs/ladder` | ❌ findings |" in job.summary
    assert "no report: the environment ladder (envs/ladder) does not load" in job.summary
    assert "envs/harbour" not in job.summary
    failure = job.cases["envs/ladder", "validate"].find("failure")
    assert re.search("field +state.height", failure.text)
    assert job.cases["envs/ladder", "gate"].find("failure").get("message") == "refused"
    assert "::error title=envs/ladder%3A findings::no report" in job.log


def test_the_gate_decides_where_the_battery_says_nothing(job, checkout, tmp_path):
    """A few checks pass and write no report: the gate refuses one package, and admits the one that has a fresh one."""
    validated(checkout / "envs" / "ladder")
    assert not job.run(arguments=FEW)
    assert "| `envs/ladder` | ✅ passed |" in job.summary
    assert "| `envs/harbour` | ⛔ refused |" in job.summary
    assert "run: simulacrum validate envs/harbour" in job.summary
    assert "::error title=envs/harbour%3A refused::no report" in job.log
    alone = Job(checkout, tmp_path / "alone")
    assert alone.run(arguments=FEW, packages="envs/ladder"), alone.log


def test_a_package_that_cannot_be_read(job, checkout):
    edit(checkout / "envs" / "ladder" / "fast.py", "import torch\n", "import torch\nimport lost_module\n")
    (checkout / "envs" / "harbour" / "fast.py").unlink()
    assert not job.run(arguments=FEW, gate="false")
    for package, why in {"ladder": "No module named 'lost_module'", "harbour": "it lacks fast.py"}.items():
        assert f"| `envs/{package}` | ⚠️ could not run |" in job.summary
        assert why in job.summary
        assert why in job.cases[f"envs/{package}", "validate"].find("error").text


# ---------------------------------------------------------------------- which packages


@pytest.fixture
def scripts(monkeypatch):
    """The modules of the steps."""
    monkeypatch.syspath_prepend(str(SCRIPTS.parent))
    from github_action import changes, junit, packages, publish, results

    return {"changes": changes, "junit": junit, "packages": packages, "publish": publish, "results": results}


def test_packages_by_patterns(scripts, checkout, monkeypatch):
    monkeypatch.chdir(checkout)
    shutil.copytree(checkout / "envs" / "ladder", checkout / "deep" / "er" / "ladder")
    shutil.copytree(checkout / "envs" / "ladder", checkout / "uncommitted" / "ladder")
    git(checkout, "add", "deep")
    found = {}
    for patterns in ("**", "envs/*", "deep/*", "deep/**/", "envs/l* deep/**\n", "envs/harbour"):
        monkeypatch.setenv("PACKAGES", patterns)
        try:
            found[patterns] = scripts["packages"].packages()
        except RuntimeError as error:
            found[patterns] = str(error)
    both, deep = ["envs/harbour", "envs/ladder"], ["deep/er/ladder"]
    assert found.pop("deep/*").startswith("packages: deep/*: expected folders with a committed spec.md")
    assert found == {
        "**": deep + both,
        "envs/*": both,
        "deep/**/": deep,
        "envs/l* deep/**\n": [*deep, "envs/ladder"],
        "envs/harbour": both[:1],
    }


def test_changes_of_every_event(scripts, checkout, monkeypatch, tmp_path):
    monkeypatch.chdir(checkout)
    first = git(checkout, "rev-parse", "HEAD")
    edit(checkout / "envs" / "ladder" / "spec.md", "A climb in the wind", "A climb")
    commit(checkout)
    git(checkout, "rm", "--quiet", "envs/harbour/render.py")
    (checkout / "docs" / "spec.md").write_text("Another page.\n")
    second = git(checkout, "rev-parse", "HEAD")
    commit(checkout)
    event = tmp_path / "event.json"
    monkeypatch.setenv("GITHUB_EVENT_PATH", str(event))
    monkeypatch.setenv("KNOWN", "some key")
    every = ["envs/harbour", "envs/ladder"]

    def chosen(name, content, **variables):
        monkeypatch.setenv("GITHUB_EVENT_NAME", name)
        event.write_text(json.dumps(content))
        for key, value in variables.items():
            monkeypatch.setenv(key, value)
        return scripts["changes"].touched(every)

    assert chosen("pull_request", {"pull_request": {"base": {"sha": first}}})[0] == every
    assert chosen("pull_request", {"pull_request": {"base": {"sha": second}}})[0] == ["envs/harbour"]  # a file is gone
    assert chosen("merge_group", {"merge_group": {"base_sha": second}})[0] == ["envs/harbour"]
    assert chosen("push", {"before": second}) == (["envs/harbour"], f"packages that changed since {second[:12]}")
    assert "a push has no base" in chosen("push", {"before": "0" * 40})[1]
    assert "a schedule has no base" in chosen("schedule", {})[1]
    assert chosen("push", {"before": "f" * 40}) == (every, f"all packages, for the base {'f' * 40} cannot be fetched")
    assert chosen("schedule", {}, BASE="HEAD")[0] == []
    assert "cannot be fetched" in chosen("schedule", {}, BASE="--output=x")[1]
    assert chosen("push", {"before": second}, BASE="", KNOWN="") == (
        every,
        "all packages, for no earlier run passed with these versions of simulacrum and what it needs",
    )


def test_the_base_of_a_shallow_checkout_is_fetched(scripts, checkout, monkeypatch, tmp_path):
    first = git(checkout, "rev-parse", "HEAD")
    edit(checkout / "envs" / "ladder" / "spec.md", "A climb in the wind", "A climb")
    commit(checkout)
    git(checkout, "branch", "other", first)
    git(checkout, "config", "uploadpack.allowAnySHA1InWant", "true")
    shallow = tmp_path / "shallow"
    git(tmp_path, "clone", "--quiet", "--depth=1", checkout.as_uri(), str(shallow))
    monkeypatch.chdir(shallow)
    monkeypatch.setenv("KNOWN", "some key")
    for base in (first, "other", "origin/other"):
        monkeypatch.setenv("BASE", base)
        assert scripts["changes"].touched(["envs/harbour", "envs/ladder"])[0] == ["envs/ladder"]


def test_no_package_at_all(job):
    assert not job.run(packages="nowhere/*")
    assert job.ran == ["caches"]
    assert "::error title=simulacrum::packages: nowhere/*: expected folders with a committed spec.md" in job.log
    assert "Traceback" not in job.log


def test_no_package_is_touched(job, checkout):
    (checkout / "docs" / "spec.md").write_text("Another page.\n")
    commit(checkout)
    assert job.run(known="some key", base="HEAD~1")
    assert "No package is touched." in job.summary
    assert job.cases == {}


# ---------------------------------------------------------------------- what is published


@pytest.fixture
def reported(checkout, scripts, monkeypatch, tmp_path):
    """The results of ``envs/ladder``, whose report has findings, and of a package that passed, as the battery leaves
    them: the reports are signed ones."""
    findings = [Finding("differential", "the sides ```differ``` | \x00", field="height", replay="REPLAY")] * 12
    findings[0] = Finding("differential", "first", file=str(checkout / "envs" / "ladder" / "failures" / "d.json"))
    report = fabricated_report(checkout / "envs" / "ladder", failed=["differential"])
    with_result(report, "differential", findings=findings).write()
    (checkout / "envs" / "ladder" / "failures").mkdir()
    (checkout / "envs" / "ladder" / "failures" / "d.json").write_text("{}")
    validated(copy_package(checkout / "envs" / "toywalk"))
    monkeypatch.chdir(checkout)
    monkeypatch.setenv("RUNNER_TEMP", str(tmp_path))
    for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY"):
        monkeypatch.setenv(name, str(tmp_path / name))
    made = [
        scripts["results"].Result(
            f"envs/{name}", code, 61.2, "told\n", [f"envs/{name}/validation_report.json"], refusal
        )
        for name, code, refusal in (("ladder", 1, "failing report: no"), ("toywalk", 0, ""))
    ]
    scripts["results"].write(made)
    (tmp_path / "simulacrum" / "changes.json").write_text(json.dumps({"packages": [], "why": "all packages"}))
    return made


def test_a_report_with_findings_is_published(reported, scripts, tmp_path):
    assert scripts["publish"].main() == 0
    outputs = assignments((tmp_path / "GITHUB_OUTPUT").read_text())
    published = Path(outputs["folder"])
    assert outputs["passed"] == "false"
    assert sorted(file.name for file in published.iterdir()) == [
        *("envs-ladder-failures", "envs-ladder.html", "envs-ladder.json", "envs-ladder.log"),
        *("envs-toywalk.html", "envs-toywalk.json", "envs-toywalk.log", "junit.xml"),
    ]
    assert [file.name for file in (published / "envs-ladder-failures").iterdir()] == ["d.json"]
    assert "tests/ladder-v0" in (published / "envs-ladder.html").read_text()

    summary = (tmp_path / "GITHUB_STEP_SUMMARY").read_text()
    assert "| `envs/ladder` | ❌ findings | 12 | 200 | 61 |" in summary
    assert "| `envs/toywalk` | ✅ passed | 0 | 200 | 61 |" in summary
    assert "```bash\nsimulacrum explain envs/ladder/failures/d.json\n```" in summary  # as in any checkout
    assert "````text\nthe sides ```differ``` |" in summary
    assert "```bash\nREPLAY\n```" in summary
    assert "And 2 more: see the report" in summary
    assert "### `envs/toywalk`" not in summary

    suites = {suite.get("name"): suite for suite in ElementTree.parse(published / "junit.xml").getroot()}
    assert set(suites) == {"tests/ladder-v0", "tests/toywalk-v0", "envs/ladder", "envs/toywalk"}
    ladder = suites["tests/ladder-v0"]
    assert [case.get("name") for case in ladder] == list(checks.NAMES)
    assert (ladder.get("tests"), ladder.get("failures")) == (str(len(checks.NAMES)), "1")
    (failure,) = ladder.iter("failure")
    assert failure.get("message") == "first"
    assert failure.text.count("\nREPLAY") == 11
    assert "\x00" not in failure.text
    counted = {one.get("name"): one.get("value") for one in ladder.find("testcase[@name='replay']/properties")}
    assert counted["transitions"] == "100"
    assert counted["outcome"] == "passed"


def test_verdicts(scripts):
    result = scripts["results"].Result
    told = [
        result("p", code, 0.0, "", [], refusal) for code, refusal in ((0, ""), (0, "no"), (1, "no"), (2, ""), (9, ""))
    ]
    assert [one.verdict for one in told] == ["passed", "refused", "findings", "could not run", "exit code 9"]
    assert [one.passed for one in told] == [True, False, False, False, False]


def test_the_gate_is_asked_in_every_configuration(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(SCRIPTS.parent))
    from github_action import battery

    packages = {"snake": Package.read(ROOT / "envs" / "snake")}
    configurations = list(packages["snake"].spec.configurations)
    asked = []

    def admit(folder, config):
        asked.append(config)
        if config == configurations[-1]:
            raise gate.GateError(f"no report: {config}", gate.Refusal.NO_REPORT)

    monkeypatch.setattr(battery, "require_fresh_report", admit)
    assert battery.refused(ROOT / "envs" / "snake") == f"no report: {configurations[-1]}"
    assert asked == configurations
    assert len(asked) > 1
