"""``simulacrum check``, and ``.pre-commit-hooks.yaml`` by pre-commit itself, in the repository of someone else."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from fabricated import copy_package

from simulacrum.cli import main
from simulacrum.cli.check import package_around

ROOT = Path(__file__).resolve().parent.parent
MANIFEST = ROOT / ".pre-commit-hooks.yaml"
BIN = Path(sys.executable).parent
IDENTITY = {f"GIT_{who}_{what}": "tests" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
SECONDS = 5.0
CAP = ("| MAX_STEPS | 60 |", "| MAX_STEPS | 61 |")
UNLIKE = "constant MAX_STEPS: spec.md says 61, __init__.py has 60"


@pytest.fixture(autouse=True)
def state(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)


@pytest.fixture
def folder(tmp_path):
    return copy_package(tmp_path / "envs" / "toywalk")


def edit(file, old, new):
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))


# ---------------------------------------------------------------------- the command


def test_a_package_that_passes(folder, capsys):
    before = sorted(folder.rglob("*"))
    assert main(["check", str(folder)]) == 0
    told = capsys.readouterr().out
    assert told.startswith(f"tests/toywalk-v0 ({folder}): passed: ")
    assert "facts compared" in told
    assert "lines read" in told
    assert sorted(folder.rglob("*")) == before  # no report, nothing kept


@pytest.mark.parametrize(
    ("file", "old", "new", "message"),
    [
        ("spec.md", *CAP, f"spec_contract: {UNLIKE}"),
        ("fast.py", "import torch\n", "import torch\nimport random\n", "static_read: fast.py:"),
        ("schema.json", '"$defs"', '"defs"', "spec_contract: schema.json: expected $defs/state"),
    ],
)
def test_findings(folder, file, old, new, message, capsys):
    edit(folder / file, old, new)
    assert main(["check", str(folder / file)]) == 1
    told = capsys.readouterr().out
    assert message in told
    assert f"replay     simulacrum check {folder}\n" in told
    assert f"tests/toywalk-v0 ({folder}): " in told.splitlines()[-1]


def test_each_package_is_checked_once_and_a_broken_one_stops_no_other(folder, tmp_path, capsys):
    (tmp_path / "README.md").touch()
    broken = copy_package(tmp_path / "envs" / "broken", "tests/broken-v0")
    (broken / "reference.py").write_text("import lost_module\n")
    files = [broken / "spec.md", folder / "fast.py", folder / "reference.py", tmp_path / "README.md"]
    assert main(["check", *map(str, files)]) == 2
    told = capsys.readouterr()
    assert told.out.count("tests/toywalk-v0") == 1
    assert "reference.py raised ModuleNotFoundError: No module named 'lost_module'" in told.err


def test_files_of_no_package_load_nothing(tmp_path):
    (tmp_path / "spec.md").write_text("Another program's specification.\n")
    (tmp_path / "setup.py").touch()
    program = (
        "import sys\nfrom simulacrum.cli import main\n"
        f"code = main(['check', {str(tmp_path / 'spec.md')!r}, {str(tmp_path / 'setup.py')!r}])\n"
        "assert 'torch' not in sys.modules\nsys.exit(code)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    assert "in no environment package" in done.stdout


def test_what_is_not_there(capsys):
    assert main(["check", "nowhere"]) == 2
    assert "no environment 'nowhere'" in capsys.readouterr().err


def test_the_package_around_a_file(folder, tmp_path):
    assert package_around(folder / "corpus" / "gone.jsonl") == folder
    assert package_around(folder / "fast.py") == folder
    assert package_around(folder) is None
    for name in ("fast.py", "checks.py", "schema.json"):
        (folder / name).unlink()
    assert package_around(folder / "spec.md") == folder  # broken, but a package
    (folder / "reference.py").unlink()
    assert package_around(folder / "spec.md") is None


def test_no_kernel_is_built(tmp_path, monkeypatch):
    """Building one takes longer than the hook may, so a kernel that cannot be built is none of its findings."""
    folder = copy_package(tmp_path / "toywalk", kernel=True)
    edit(folder / "kernel.pyx", "cdef", "cdef nonsense !! cdef")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert main(["check", str(folder)]) == 0
    assert not list((tmp_path / "cache").rglob("kernel*"))


def test_it_takes_seconds():
    """Of this process's own time, which other work on the machine does not lengthen: forager, from start to end."""
    before = os.times()
    command = [sys.executable, "-m", "simulacrum", "check", str(ROOT / "envs" / "forager")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    after = os.times()
    assert done.returncode == 0, done.stdout + done.stderr
    used = after.children_user + after.children_system - before.children_user - before.children_system
    assert used < SECONDS


# ---------------------------------------------------------------------- the hook


def git(folder, *arguments, code=0):
    environment = {**os.environ, **IDENTITY, "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}"}
    command = ["git", "-c", "commit.gpgsign=false", "-c", "init.defaultBranch=main", "-C", str(folder), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=300)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout.strip() + done.stderr.strip()


@pytest.fixture
def hooks(tmp_path, monkeypatch):
    """A repository with the manifest, which stands for this one, and a folder of pre-commit's own."""
    monkeypatch.setenv("PRE_COMMIT_HOME", str(tmp_path / "pre-commit"))
    made = tmp_path / "hooks"
    made.mkdir()
    shutil.copy(MANIFEST, made)
    git(made, "init", "--quiet")
    git(made, "add", "--all")
    git(made, "commit", "--quiet", "--message", "hooks")
    return made


@pytest.fixture
def theirs(hooks, tmp_path):
    """A repository with two packages and the hook installed; all is committed but nothing was checked."""
    made = tmp_path / "theirs"
    for name in ("toywalk", "other"):
        copy_package(made / "envs" / name, f"theirs/{name}-v0")
    (made / "setup.py").touch()
    hook = {"repo": str(hooks), "rev": git(hooks, "rev-parse", "HEAD"), "hooks": [{"id": "simulacrum-check"}]}
    (made / ".pre-commit-config.yaml").write_text(yaml.safe_dump({"repos": [hook]}))
    git(made, "init", "--quiet")
    git(made, "add", "--all")
    git(made, "commit", "--quiet", "--message", "first")
    pre_commit(made, "install")
    return made


def pre_commit(folder, *arguments):
    command = [sys.executable, "-m", "pre_commit", *arguments]
    subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True, timeout=120)


def test_the_manifest_is_one(tmp_path):
    pre_commit(ROOT, "validate-manifest", str(MANIFEST))
    wrong = tmp_path / "wrong.yaml"
    wrong.write_text(MANIFEST.read_text().replace("entry:", "enter:"))
    with pytest.raises(subprocess.CalledProcessError):
        pre_commit(ROOT, "validate-manifest", str(wrong))


def test_a_commit_is_refused_until_the_spec_is_what_the_code_does(theirs):
    spec = theirs / "envs" / "toywalk" / "spec.md"
    edit(spec, *CAP)
    edit(theirs / "envs" / "other" / "spec.md", *CAP)  # not staged: pre-commit puts it aside
    git(theirs, "add", str(spec))
    told = git(theirs, "commit", "--message", "another cap", code=1)
    assert "simulacrum check" in told
    assert UNLIKE in told
    assert "theirs/other-v0" not in told
    edit(spec, *reversed(CAP))
    edit(spec, "\n", " \n")
    git(theirs, "add", str(spec))
    told = git(theirs, "commit", "--message", "the cap as it was")
    assert "Passed" in told


def test_a_commit_of_other_files_runs_nothing(theirs):
    (theirs / "page.md").touch()
    git(theirs, "add", "page.md")
    assert "(no files to check)Skipped" in git(theirs, "commit", "--message", "a page")


def test_the_hook_of_a_new_distribution_is_the_same():
    (hook,) = yaml.safe_load(MANIFEST.read_text())
    file = ROOT / "simulacrum" / "templates" / "distribution" / "pre-commit-config.yaml"
    ((own,),) = [repository["hooks"] for repository in yaml.safe_load(file.read_text())["repos"]]
    assert own == {name: value for name, value in hook.items() if name != "description"}
