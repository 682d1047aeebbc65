"""``simulacrum new``: a package to begin with, copied from real files; alone, or in a distribution of its own."""

from __future__ import annotations

import importlib.util
import keyword
import os
import re
import shlex
import shutil
from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

from .. import __version__
from ..harness.discovery import NAMESPACE
from ..spec.package import REQUIRED
from .codes import PASSED, complain

KERNEL_CLASS = '''

class NewenvKernel(simulacrum.KernelEnv):
    """The loops of kernel.pyx."""

    environment = ENVIRONMENT
'''
ADOPTED = """\
Its reference is {original}, unmodified. What could be read of it by playing it is filled in; what a person
must write is marked WRITE: begin with spec.md, then fast.py from spec.md, then checks.py. On the way:
  simulacrum check {path}               # the tables against the code, and a static read
  simulacrum validate {path} -k adoption    # the original: its state, its own transition table if it has one
  simulacrum validate {path} --quick    # every check, in less time"""
BESIDE = {  # file of a distribution: the template's, whose names do not act where they lie
    "pyproject.toml": "pyproject.toml",
    "README.md": "README.md",
    ".gitignore": "gitignore",
    ".pre-commit-config.yaml": "pre-commit-config.yaml",
    "src/{module}/__init__.py": "__init__.py",
}


def new(
    name: str,
    directory: str = ".",
    kernel: bool = False,
    distribution: str | None = None,
    namespace: str | None = None,
    adopt: str | None = None,
    options: Mapping[str, Any] | None = None,
    state: Sequence[str] = (),
) -> int:
    """Make the package ``directory/name``; the exit code. Nothing is ever overwritten, or left half made.

    Args:
        name: the package's folder, and the name in its ID.
        directory: where the folder is made.
        kernel: whether it has a kernel too.
        distribution: the name of a distribution for pip, whose folder is made around the package.
        namespace: of the ID; by default ``simulacrum``, in a distribution the distribution's name.
        adopt: a Gymnasium ID (``module:ID`` imports the module first): the package's reference is that environment,
            unmodified, and its pages are filled with what can be read of it.
        options: keyword arguments that the original is made with.
        state: the attributes that are its state; by default those that change while it is played.
    """
    folder = Path(directory).expanduser()
    namespace = namespace or distribution or NAMESPACE
    problem = _problem(name, folder, distribution, namespace)
    if problem:
        return complain(problem)
    if adopt is not None and kernel:
        return complain(f"new {name}: expected --adopt without --kernel: write fast.py first, then add a kernel")
    if adopt is None and (options or state):
        return complain(f"new {name}: --option and --state are for --adopt ID")
    files = (*REQUIRED, "kernel.pyx") if kernel else REQUIRED
    if adopt is None:
        texts = {file: filled(file, name, kernel, namespace) for file in files}
    else:
        texts = _adopted(name, namespace, adopt, options or {}, state)
    if distribution is None:
        made = package = folder / name
    else:
        made, inside = folder / distribution, f"src/{module_of(distribution)}/{name}"
        package = made / inside
        texts = {f"{inside}/{file}": text for file, text in texts.items()} | beside(name, distribution, namespace)
    _write(made, texts)
    path = shlex.quote(str(package))
    each = "reference.py, fast.py and kernel.pyx" if kernel else "reference.py and fast.py"
    if adopt is not None:
        print(f"Made {package}: {', '.join(texts)}\n{ADOPTED.format(original=adopt, path=path)}")
        return PASSED
    if distribution is not None:
        print(f"Made {made}, a distribution for pip; install it: pip install -e {shlex.quote(str(made))}")
    print(
        f"Made {package}: {', '.join(files)}\n"
        "It is a small complete environment, a climb on a ladder, and passes the battery as it stands:\n"
        f"  simulacrum validate {path}\n"
        "Make it yours from the top of spec.md on, which says what to write where; then write\n"
        f"{each}, each from spec.md, then checks.py and schema.json. On the way:\n"
        f"  simulacrum validate {path} -k spec_contract     # the tables against the code, and the worked examples\n"
        f"  simulacrum validate {path} --quick              # every check, in less time"
    )
    return PASSED


def _adopted(name: str, namespace: str, adopt: str, options: Mapping[str, Any], state: Sequence[str]) -> dict[str, str]:
    """The texts of a package around a Gymnasium environment."""
    from ..originals import Adoption
    from ..originals.pages import pages
    from ..originals.survey import survey

    adoption = Adoption(adopt, list(state), options=options)
    return pages(name, namespace, adoption, survey(adopt, dict(options)))


def filled(file: str, name: str, kernel: bool = False, namespace: str = NAMESPACE) -> str:
    """A file of the template with the package's name in the place of ``newenv``, and ``MyEnv`` for ``my_env``."""
    text = _template("package", file).replace(f"{NAMESPACE}/newenv-v0", f"{namespace}/newenv-v0")
    if kernel and file == "spec.md":
        text = text.replace("| `forms` | tensor |", "| `forms` | tensor, kernel |")
    if kernel and file == "fast.py":
        text += KERNEL_CLASS
    return re.sub("newenv|Newenv", lambda found: name if found[0] == "newenv" else camel(name), text)


def beside(name: str, distribution: str, namespace: str) -> dict[str, str]:
    """The files of a distribution around its package, by their paths in it."""
    words = {
        "newenv": name,
        "newdist": distribution,
        "newpkg": module_of(distribution),
        "newspace": namespace,
        "0.0.0": __version__,  # the least simulacrum
    }
    return {
        path.format(module=words["newpkg"]): re.sub(
            "|".join(map(re.escape, words)), lambda found: words[found[0]], _template("distribution", file)
        )
        for path, file in BESIDE.items()
    }


def camel(name: str) -> str:
    """``my_env`` as ``MyEnv``."""
    return "".join(part.capitalize() for part in name.split("_"))


def module_of(distribution: str) -> str:
    """The module of a distribution: ``acme_envs`` of ``Acme-Envs``."""
    return re.sub(r"[-_.]+", "_", distribution).lower()


def _template(kind: str, file: str) -> str:
    return resources.files("simulacrum").joinpath("templates", kind, file).read_text(encoding="utf-8")


def _write(made: Path, texts: dict[str, str]) -> None:
    """Write all files into a hidden folder beside ``made``, which then takes its name."""
    work = made.with_name(f".{made.name}-{os.getpid()}")
    work.mkdir()
    try:
        for file, text in texts.items():
            (work / file).parent.mkdir(parents=True, exist_ok=True)
            (work / file).write_text(text, encoding="utf-8")
        os.rename(work, made)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _problem(name: str, folder: Path, distribution: str | None, namespace: str) -> str:
    """Why a package of that name cannot be made in that folder; empty where it can."""
    if not re.fullmatch("[a-z][a-z0-9_]*", name):
        return f"new {name}: expected lower-case letters, digits and _, beginning with a letter, as in berry_field"
    if keyword.iskeyword(name):
        return f"new {name}: {name} is a keyword of Python; choose another name"
    if distribution is not None and not re.fullmatch(r"[A-Za-z]([A-Za-z0-9_-]*[A-Za-z0-9])?", distribution):
        return f"new {name}: --distribution: expected a name for pip, as in acme-envs, got {distribution!r}"
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_-]*", namespace):
        return f"new {name}: --namespace: expected letters, digits, - and _, as in acme, got {namespace!r}"
    made, module = (name, name) if distribution is None else (distribution, module_of(distribution))
    if keyword.iskeyword(module):
        return f"new {name}: {module} is a keyword of Python; choose another name"
    if (folder / made).exists():
        return f"new {name}: {folder / made} is there already; choose another name, or another --directory"
    if not folder.is_dir():
        return f"new {name}: there is no folder {folder}; make it first, or choose another --directory"
    found = importlib.util.find_spec(module)
    if found is not None and found.origin is not None:
        return f"new {name}: the folder would hide the module {module} ({found.origin}); choose another name"
    return ""
