"""A static read of the package's sources for what cannot be right: each finding names line, reason and remedy."""

from __future__ import annotations

import numpy as np

from ..context import Context
from ..excuses import Excuses
from ..source import Sources, problems
from ..source.classes import overrides


def check(context: Context) -> None:
    """Note every problem whose line the package does not excuse (``EXCUSES["static fast.py: THE LINE"] = REASON``), and
    every override that only the made classes show (``EXCUSES["static fast.py: CLASS.NAME"]``)."""
    package = context.package
    sources = Sources(package.files)
    fields = {name: field.dtype.kind == "f" for name, field in package.spec.fields.items()}
    action = np.dtype(package.environment.action_space.dtype).kind == "f"
    excuses = Excuses(context, "static ")
    found = problems(sources, fields, action, package.spec.constants)
    for problem in found:
        line = f"{problem.file}: {sources.modules[problem.file].line(problem.line)}"
        if not excuses.accepts(line):
            context.problem(f"{problem.text} ({excuses.offer(line)})")
    told = {problem.reason for problem in found}
    for side, base in ((package.reference, "ReferenceEnv"), (package.fast, "FastEnv")):
        for name, problem in overrides(side, base):
            if problem.reason not in told and not excuses.accepts(f"{problem.file}: {name}"):
                context.problem(f"{problem.text} ({excuses.offer(f'{problem.file}: {name}')})")
    excuses.finish()
    context.count("files read", len(sources.modules))
    context.count("lines read", sum(len(module.lines) for module in sources.modules.values()))
