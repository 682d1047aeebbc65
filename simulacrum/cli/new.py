"""``simulacrum new``: a package to begin with, copied from real files."""

from __future__ import annotations

import importlib.util
import keyword
import re
import shlex
from importlib import resources
from pathlib import Path

from ..spec.package import REQUIRED
from .codes import PASSED, complain

KERNEL_CLASS = '''

class NewenvKernel(simulacrum.KernelEnv):
    """The loops of kernel.pyx."""

    environment = ENVIRONMENT
'''


def new(name: str, directory: str = ".", kernel: bool = False) -> int:
    """Make the package ``directory/name``, with a ``kernel`` too; the exit code. Nothing is ever overwritten."""
    folder = Path(directory).expanduser()
    problem = _problem(name, folder)
    if problem:
        return complain(problem)
    made = folder / name
    made.mkdir(parents=True)
    files = (*REQUIRED, "kernel.pyx") if kernel else REQUIRED
    for file in files:
        (made / file).write_text(filled(file, name, kernel), encoding="utf-8")
    path = shlex.quote(str(made))
    each = "reference.py, fast.py and kernel.pyx" if kernel else "reference.py and fast.py"
    print(
        f"Made {made}: {', '.join(files)}\n"
        "It is a small complete environment, a climb on a ladder, and passes the battery as it stands:\n"
        f"  simulacrum validate {path}\n"
        "Make it yours from the top of spec.md on, which says what to write where; then write\n"
        f"{each}, each from spec.md, then checks.py and schema.json. On the way:\n"
        f"  simulacrum validate {path} -k spec_contract     # the tables against the code, and the worked examples\n"
        f"  simulacrum validate {path} --quick              # every check, in less time"
    )
    return PASSED


def filled(file: str, name: str, kernel: bool = False) -> str:
    """A file of the template with the package's name in the place of ``newenv``, and ``MyEnv`` for ``my_env``."""
    text = resources.files("simulacrum").joinpath("templates", "package", file).read_text(encoding="utf-8")
    if kernel and file == "spec.md":
        text = text.replace("| `forms` | tensor |", "| `forms` | tensor, kernel |")
    if kernel and file == "fast.py":
        text += KERNEL_CLASS
    return re.sub("newenv|Newenv", lambda found: name if found[0] == "newenv" else camel(name), text)


def camel(name: str) -> str:
    """``my_env`` as ``MyEnv``."""
    return "".join(part.capitalize() for part in name.split("_"))


def _problem(name: str, folder: Path) -> str:
    """Why a package of that name cannot be made in that folder; empty where it can."""
    if not re.fullmatch("[a-z][a-z0-9_]*", name):
        return f"new {name}: expected lower-case letters, digits and _, beginning with a letter, as in berry_field"
    if keyword.iskeyword(name):
        return f"new {name}: {name} is a keyword of Python; choose another name"
    if (folder / name).exists():
        return f"new {name}: {folder / name} is there already; choose another name, or another --directory"
    if not folder.is_dir():
        return f"new {name}: there is no folder {folder}; make it first, or choose another --directory"
    module = importlib.util.find_spec(name)
    if module is not None and module.origin is not None:
        return f"new {name}: the folder would hide the module {name} ({module.origin}); choose another name"
    return ""
