"""A distribution of someone else: made, built, installed into a fresh virtual environment, all without a network."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

from simulacrum.cli import main

ROOT = Path(__file__).resolve().parent.parent
NAME, NAMESPACE, PACKAGE = "acme-envs", "acme", "lighthouse"
ID = f"{NAMESPACE}/{PACKAGE}-v0"
ARGUMENTS = (PACKAGE, "--distribution", NAME, "--namespace", NAMESPACE)  # of ``simulacrum new``


def made(folder: Path) -> Path:
    """The distribution ``acme-envs`` with the environment ``acme/lighthouse-v0``, as ``simulacrum new`` makes it."""
    assert main(["new", *ARGUMENTS, "--directory", str(folder)]) == 0
    return folder / NAME


def wheel(distribution: Path, folder: Path) -> Path:
    """A distribution's wheel in ``folder``, which is made, built by the backend that is installed here."""
    folder.mkdir()
    options = ("--no-index", "--no-build-isolation", "--no-deps", "--wheel-dir", str(folder))
    pip(Path(sys.executable), "wheel", *options, str(distribution))
    (built,) = folder.glob("*.whl")
    return built


def environment(folder: Path) -> Path:
    """The interpreter of a fresh virtual environment with simulacrum's own wheel, which sees what else is installed
    here: torch is not installed again."""
    venv.EnvBuilder(symlinks=True).create(folder)
    python = folder / "bin" / "python"
    own = Path(run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").stdout.strip())
    here = dict.fromkeys(sysconfig.get_path(name) for name in ("purelib", "platlib"))
    lines = [f"import site; site.addsitedir({place!r})\n" for place in here]  # .pth files in there are read as well
    (own / "beside.pth").write_text("".join(lines))
    pip(python, "install", "--no-index", "--no-deps", "--ignore-installed", str(wheel(ROOT, folder / "simulacrum")))
    return python


def pip(python: Path, *arguments: str) -> str:
    """What pip prints that acts on an interpreter's packages."""
    command = ("-m", "pip", "--disable-pip-version-check", "--python", str(python), *arguments)
    return run(Path(sys.executable), *command).stdout


def run(python: Path, *arguments: str, code: int = 0, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run an interpreter, elsewhere than in this checkout; its exit code must be ``code``."""
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME")}
    done = subprocess.run(
        [str(python), *arguments],
        cwd=python.parent,
        env=environment | variables,
        capture_output=True,
        text=True,
        timeout=900,
    )
    assert done.returncode == code, f"{arguments}: {done.returncode}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
    return done
