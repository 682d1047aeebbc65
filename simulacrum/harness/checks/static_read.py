"""A static read of the package's sources for what cannot be right: each finding names line, reason and remedy."""

from __future__ import annotations

import numpy as np

from ...originals import AdoptedEnv
from ..context import Context
from ..excuses import Excuses
from ..playback import FORMS
from ..source import Sources, kernel, problems
from ..source.classes import overrides

BASES = {"tensor": "FastEnv", "kernel": "KernelEnv"}
KERNEL = FORMS["kernel"]


def check(context: Context) -> None:
    """Note every problem whose line the package does not excuse (``EXCUSES["static fast.py: THE LINE"] = REASON``), and
    every override that only the made classes show (``EXCUSES["static fast.py: CLASS.NAME"]``). Of a ``kernel.pyx`` the
    words are read."""
    package = context.package
    sources = Sources(package.files)
    fields = {name: field.dtype.kind == "f" for name, field in package.spec.fields.items()}
    action = np.dtype(package.environment.action_space.dtype).kind == "f"
    excuses = Excuses(context, "static ")
    found = problems(sources, fields, action, package.spec.constants, package.spec.adopts)
    lines = {file: module.lines for file, module in sources.modules.items()}
    if KERNEL in package.files:
        lines[KERNEL] = package.files[KERNEL].decode(errors="replace").splitlines()
        found += kernel.problems(KERNEL, package.files[KERNEL], package.spec.constants)
    for problem in found:
        told = lines[problem.file][problem.line - 1].strip() if problem.line else ""
        line = f"{problem.file}: {told}"
        if not excuses.accepts(line):
            context.problem(f"{problem.text} ({excuses.offer(line)})")
    reasons = {problem.reason for problem in found}
    forms = [(cls, BASES[form]) for form, cls in package.forms.items()]
    reference = "AdoptedEnv" if issubclass(package.reference, AdoptedEnv) else "ReferenceEnv"
    for side, base in ((package.reference, reference), *forms):
        for name, problem in overrides(side, base):
            if problem.reason not in reasons and not excuses.accepts(f"{problem.file}: {name}"):
                context.problem(f"{problem.text} ({excuses.offer(f'{problem.file}: {name}')})")
    excuses.finish()
    context.count("files read", len(lines))
    context.count("lines read", sum(map(len, lines.values())))
