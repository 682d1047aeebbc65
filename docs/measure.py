"""Measures what the documentation tells, and writes it to docs/figures/NAME.json.

``python docs/measure.py [NAME ...]``: all but the faults without a name, about half an hour on a machine that is
otherwise idle; the faults (``.ci/faults``) take an hour or two.
Then ``python docs/figures.py --write`` puts it into the texts. Each file holds the command, what it printed, the JSON
that it wrote, machine, versions, commit and date.
"""

from __future__ import annotations

import datetime
import json
import os
import platform
import shlex
import subprocess
import sys
import tempfile
from importlib import metadata
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
FIGURES = ROOT / "docs" / "figures"
SIZES = "1,1024,8192,65536,1048576"
PACKAGES = ("torch", "torchrl", "tensordict", "gymnasium", "numpy")
FURTHER = ("envpool", "minigrid")  # where they are installed

RECIPES = {
    "validate-toywalk": ("simulacrum validate envs/toywalk --seed 9", "envs/toywalk/validation_report.json"),
    "validate-forager": ("simulacrum validate envs/forager --seed 9", "envs/forager/validation_report.json"),
    "validate-snake": ("simulacrum validate envs/snake --seed 9", "envs/snake/validation_report.classic.json"),
    "bench-toywalk": (f"simulacrum bench toywalk --sizes {SIZES} --threads 1 --json FILE", "FILE"),
    "bench-forager": (f"simulacrum bench forager --sizes {SIZES} --threads 1 --json FILE", "FILE"),
    "bench-boards": ("simulacrum bench snake --config boards --sizes 16,32,64 --threads 1,2 --json FILE", "FILE"),
    "bench-arena": ("simulacrum bench snake --config arena --sizes 1 --threads 1 --json FILE", "FILE"),
    "profile-toywalk": ("simulacrum bench toywalk --profile", None),
    "profile-forager": ("simulacrum bench forager --profile", None),
    "collectors": ("python docs/collector_rate.py", None),
    "draws": ("python docs/draws_rate.py", None),
    "originals": ("python docs/original_rates.py", None),
    "train-toywalk": ("python integrations/torchrl_ppo.py toywalk --out FOLDER", None),
    "train-forager": ("python integrations/torchrl_ppo.py forager --out FOLDER", None),
    "train-snake": ("python integrations/torchrl_ppo.py snake --out FOLDER", None),
    "faults-toywalk": ("simulacrum faults envs/toywalk --output FILE", "FILE"),
    "faults-forager": ("simulacrum faults envs/forager --output FILE", "FILE"),
}
LONG = ("faults-toywalk", "faults-forager")  # hours: only where they are named


def main(names: list[str]) -> int:
    """Measure; the exit code is that of the first command that fails."""
    unknown = [name for name in names if name not in RECIPES]
    if unknown:
        print(f"expected names of {', '.join(RECIPES)}, got {', '.join(unknown)}", file=sys.stderr)
        return 2
    FIGURES.mkdir(exist_ok=True)
    for name in names or (name for name in RECIPES if name not in LONG):
        print(f"{name}: {RECIPES[name][0]}", flush=True)
        code = measure(name, *RECIPES[name])
        if code:
            return code
    return 0


def measure(name: str, command: str, content: str | None) -> int:
    """Run one command from the repository's root, and write its file."""
    with tempfile.TemporaryDirectory() as folder:
        places = {"FILE": f"{folder}/figures.json", "FOLDER": f"{folder}/run"}
        if name in LONG:  # goes on where it was stopped
            (ROOT / "build").mkdir(exist_ok=True)
            places["FILE"] = str(ROOT / "build" / f"{name}.jsonl")
        words = [places.get(word, word) for word in shlex.split(command)]
        environment = {**os.environ, "COLUMNS": "200", "NO_COLOR": "1", "PYTHONWARNINGS": "ignore"}
        if words[0] == "python":
            words[0] = sys.executable
        ran = subprocess.run(words, cwd=ROOT, env=environment, capture_output=True, text=True)
        if ran.returncode not in ((0, 1) if name in LONG else (0,)):  # 1: a fault that no check finds
            print(ran.stdout + ran.stderr, file=sys.stderr)
            return ran.returncode
        told: dict[str, Any] = {"name": name, "command": command, **about(), "output": ran.stdout.splitlines()}
        for place, path in places.items():
            told["output"] = [line.replace(path, place) for line in told["output"]]
        told["output"] = [line.replace(f"{ROOT}/", "") for line in told["output"]]
        if content is not None:
            file = Path(places.get(content, str(ROOT / content)))
            told["content"] = faults(name, file) if name in LONG else essential(json.loads(file.read_text()))
            if name in LONG:
                del told["output"]  # a line a fault, as they came
    target = FIGURES / f"{name}.json"
    work = target.with_suffix(".part")
    work.write_text(dumped(told))
    os.replace(work, target)
    return 0


def dumped(told: dict[str, Any]) -> str:
    """JSON with a line for each result of a fault."""
    results = told.get("content", {}).pop("results", None)
    text = json.dumps(told, indent=1)
    if results is not None:
        told["content"]["results"] = results
        lines = ",\n".join(f"   {json.dumps(one, separators=(',', ':'))}" for one in results)
        text = text.removesuffix("\n }\n}") + f',\n  "results": [\n{lines}\n  ]\n }}\n}}'
    return text + "\n"


def essential(content: dict[str, Any]) -> dict[str, Any]:
    """Of a report its figures alone, of a sweep everything but its command."""
    kept = ("seconds", "seed", "totals", "throughput", "package", "outcome") if "checks" in content else content
    told = {name: content[name] for name in kept if name in content and name != "command"}
    if isinstance(told.get("package"), dict):
        told["package"].pop("path", None)
    return told


def faults(name: str, file: Path) -> dict[str, Any]:
    """The results of a package's faults in the order of the faults, and the reasons of those that nobody can find."""
    from simulacrum.harness.faults import cases
    from simulacrum.spec import Package

    package = Package.read(ROOT / "envs" / name.removeprefix("faults-"))
    found = {(one["group"], one["name"]): one for one in map(json.loads, file.read_text().splitlines())}
    order = [(case.group, case.name) for case in cases.cases(package, cases.GROUPS, compiled=True)]
    results = [
        {key: value for key, value in found[place].items() if key not in ("key", "message")}
        for place in order
        if place in found
    ]
    return {"id": package.environment.id, "excused": cases.excused(package), "results": results}


def about() -> dict[str, Any]:
    """When, at which commit, on what."""
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True
    ).stdout.strip()
    return {
        "date": datetime.date.today().isoformat(),
        "commit": commit,
        "machine": {"processor": processor(), "cores": os.cpu_count(), "python": platform.python_version()},
        "versions": {name: metadata.version(name) for name in (*PACKAGES, *filter(installed, FURTHER))},
    }


def installed(name: str) -> bool:
    """Whether a distribution is."""
    try:
        metadata.version(name)
    except metadata.PackageNotFoundError:
        return False
    return True


def processor() -> str:
    """The processor's name."""
    lines = Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else []
    named = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return named[0] if named else platform.processor() or platform.machine()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
