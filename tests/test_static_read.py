"""The static read finds what cannot be right in a package's sources, and is silent about what is."""

from __future__ import annotations

import inspect
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from edited import broken, method
from environments import ENVS, FORAGER, TOYWALK, CountdownFast, MirrorFast

from simulacrum.harness.profile import QUICK
from simulacrum.harness.runner import run_check
from simulacrum.harness.source import Sources, problems
from simulacrum.spec import Package

TEMPLATE = ENVS.parent / "simulacrum" / "templates" / "package"
PROFILE = replace(QUICK, seed=5)

HEAD = """
import functools
import math

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, sqrt as root

import simulacrum

from . import L, GAINS, Slots
from .helpers import doubled, rooted

TABLE = torch.tensor([1.0, 2.0])
COUNTS = [1, 2, 3]
CACHE = {}


@simulacrum.tensor_state
class State:
    x: Tensor
    energy: Tensor
    live: Tensor
    t: Tensor


class Fast(simulacrum.FastEnv[State]):
    environment = None

    def transition(self, state, action, draw):
"""
FILES = {
    "__init__.py": b"L = 5\nGAINS = [0.5, 1.5]\nSlots = 1\n",
    "helpers.py": b"import torch\n\ndef doubled(x):\n    return x + x\n\ndef rooted(x):\n"
    b"    y = x\n    return torch.sqrt(y)\n",
}
FIELDS = {"x": False, "energy": True, "live": False, "t": False}


def found(*lines: str, head: str = HEAD) -> list[tuple[str, int, str]]:
    """(file, line after the head, kind) of what is found in a transition with these lines, and methods after it."""
    first = next((number for number, line in enumerate(lines) if line.startswith("def ")), len(lines))
    body = "".join(f"{'        ' if number < first else '    '}{line}\n" for number, line in enumerate(lines))
    sources = Sources({**FILES, "fast.py": (head + body).encode()})
    before = head.count("\n")
    return [
        (one.file, one.line - (before if one.file == "fast.py" else 0), one.kind)
        for one in problems(sources, FIELDS, action_floats=False)
    ]


WRONG = {
    # a transition's lines: the kind of problem; the last line breaks the rule
    ("if action.any(): pass",): "branch",
    ("x = state.x > 3", "assert x.all()"): "branch",
    ("while (state.x > 3).any(): break",): "branch",
    ("y = 1 if state.energy[0] > 0 else 2",): "branch",
    ("y = action == 1 and 3",): "branch",
    ("y = not state.live",): "branch",
    ("y = 0 < state.x < L",): "branch",
    ("y = state.x in (1, 2)",): "branch",
    ("y = [k for k in range(3) if draw.bernoulli(Slots, 0.5)]",): "branch",
    ("y = max(state.x, state.t)",): "branch",
    ("y = any(one for one in state.live.unbind(-1))",): "branch",
    ("slip = draw.bernoulli(Slots, 0.5)", "turned = action + 1 if slip else action"): "branch",
    ("return self.helper(state.x)", "", "def helper(self, x):", "    return x if x else 0"): "branch",
    ("test = lambda one: 1 if one else 2", "y = test(action)"): "branch",
    ("y = state.x.item()",): "left",
    ("y = action.tolist()",): "left",
    ("y = int(state.x.sum())",): "left",
    ("y = float(state.energy)",): "left",
    ("y = bool((action > 1).all())",): "left",
    ("y = math.floor(state.energy)",): "left",
    ("y = state.energy.cpu().numpy()",): "left",
    ("for one in state.x: pass",): "iterated",
    ("y = [one for one in action]",): "iterated",
    ("a, b = state.x",): "iterated",
    ("y = list(zip(state.x, COUNTS))",): "iterated",
    ("y = sum(state.energy)",): "iterated",
    ("y = torch.sqrt(state.energy)",): "float",
    ("y = root(state.energy)",): "float",
    ("y = state.energy.exp()",): "float",
    ("y = torch.atan2(state.energy, state.energy)",): "float",
    ("y = F.softmax(state.energy, -1)",): "float",
    ("y = torch.linalg.norm(state.energy)",): "float",
    ("y = state.x.sum(dtype=torch.int32) == 777",): "batch",
    ("y = torch.any(state.x > 3)",): "batch",
    ("y = state.energy.amax()",): "batch",
    ("y = self.int32(state.x.numel())",): "rows",
    ("y = state.energy.mean(-1)",): "float",
    ("y = state.energy.sum(-1)",): "float",
    ("y = (state.live * self.float32(GAINS)).sum(-1)",): "float",
    ("y = torch.cumsum(state.energy, -1)",): "float",
    ("y = state.energy.prod(-1)",): "float",
    ("y = state.x.to(torch.float32).sum(-1)",): "float",
    ("y = state.energy ** 0.5",): "float",
    ("y = 2.0 ** state.x",): "float",
    ("y = state.energy % 1.0",): "float",
    ("y = state.energy // 2",): "float",
    ("y = torch.remainder(state.energy, 2)",): "float",
    ("y = torch.fmod(state.energy, 2)",): "float",
    ("y = state.energy @ self.float32(GAINS)",): "float",
    ("y = torch.einsum('nk,k->n', state.energy, TABLE)",): "float",
    ("y = torch.matmul(state.energy, TABLE)",): "float",
    ("y = np.sqrt(state.energy)",): "float",
    ("state.x += 1",): "written",
    ("state.x[:, 0] = 1",): "written",
    ("state.x = action",): "written",
    ("x = state.x", "x += 1"): "written",
    ("x = state.x.view(-1)", "x[0] = 1"): "written",
    ("row = state.live[:, 0]", "row.fill_(True)"): "written",
    ("state.energy.add_(1.0)",): "written",
    ("first, *rest = state.x.unbind(-1)", "first.mul_(2)"): "written",
    ("action.clamp_(0, 1)",): "written",
    ("y = torch.add(state.x, 1, out=state.x)",): "written",
    ("self.float32(GAINS).mul_(2)",): "written",
    ("TABLE.add_(1)",): "written",
    ("self.last = action",): "kept",
    ("self.seen[0] = action",): "kept",
    ("self.count += 1",): "kept",
    ("self.seen.append(action)",): "kept",
    ("CACHE['a'] = action",): "kept",
    ("CACHE.update(a=action)",): "kept",
    ("global COUNT",): "kept",
    ("setattr(self, 'last', action)",): "kept",
    ("if torch.compiler.is_compiling(): pass",): "setting",
    ("y = torch.is_grad_enabled()",): "setting",
    ("y = torch.get_num_threads()",): "setting",
    ("y = torch.get_default_dtype()",): "setting",
    ("y = 1 if state.x.device.type == 'cpu' else 2",): "setting",
    ("y = 1 if self.device.type == 'cpu' else 2",): "setting",
    ("y = self.expose_state",): "hidden",
    ("y = self.instance_seeds",): "hidden",
    ("y = draw._t",): "hidden",
    ("y = 1 if state.x.shape[0] == 32 else 2",): "rows",
    ("y = len(state.x) > 512",): "rows",
    ("if draw.rows % 2: pass",): "rows",
    ("n, k = state.live.shape", "y = n < 64"): "rows",
    ("y = action.size(0) >= 512",): "rows",
    ("y = state.x.numel() == 4",): "rows",
    ("y = self.batch_size[0] == 7",): "rows",
    ("y = state.energy - len(action) // 6000",): "rows",
    ("y = state.energy - len((state.x == 3).nonzero()) // 50",): "rows",
    ("for k in range(len(state.live.nonzero())): pass",): "rows",
    ("for k in range((state.x == 9).sum()): pass",): "left",
    ("y = [state.x, state.t][(state.x == 3).all()]",): "left",
    ("y = COUNTS[action]",): "left",
    ("return self.helper(action)", "", "def helper(self, x, seen=[]):", "    seen.append(1)"): "kept",
    ("return self.helper(action)", "", "def helper(self, x, *, seen=dict()):", "    seen['x'] = x"): "kept",
    ("torch.set_num_threads(1)",): "process",
    ("y = torch.rand(3)",): "source",
    ("y = open('a')",): "source",
    ("y = id(draw) % 7",): "source",
    ("y = __import__('random').random()",): "source",
    ("y = np.fromfile('a')",): "source",
    ("y = torch.load('a')",): "source",
    ("y = torch.os.getpid()",): "source",
    ("y = functools.reduce.__module__ + str(math.pi) + repr(torch.sys.argv)",): "source",
}


@pytest.mark.parametrize("lines", WRONG, ids=" / ".join)
def test_what_cannot_be_right_is_found_on_its_line(lines: tuple[str, ...]) -> None:
    kinds = found(*lines)
    assert [kind for _, _, kind in kinds] == [WRONG[lines]], kinds
    if not any(line.startswith(("def ", "test = lambda")) for line in lines):
        assert kinds[0][:2] == ("fast.py", len(lines)), kinds


RIGHT = [
    ("k = state.live.shape[1]", "y = 1 if k == 6 else 2"),
    ("y = 1 if state.x.ndim == 2 else 2",),
    ("y = state.x.dtype == torch.int32",),
    ("y = 3 if state.x is None else 4",),
    ("if isinstance(action, Tensor): pass",),
    ("for one in state.live.unbind(-1): pass",),
    ("for i, one in enumerate(state.live.unbind(-1)): pass",),
    ("y = [a & b for a, b in zip(state.live.unbind(-1), state.live.unbind(-1))]",),
    ("for k in range(L): pass",),
    ("if L > 3 and COUNTS: pass",),
    ("y = state.live.sum(-1, dtype=torch.int32)",),
    ("y = state.live.sum(-1)",),
    ("y = (state.x == 2).cumsum(-1)",),
    ("y = torch.sum(state.energy > 0, -1, dtype=torch.int64)",),
    ("y = state.x % L", "z = state.x // 2"),
    ("y = state.energy ** 2", "z = state.x ** 2"),
    ("y = state.energy * 2.0 - 1.0", "z = y / self.float32(3.0)"),
    ("y = math.sqrt(L)",),
    ("y = (draw.bernoulli(Slots, 0.5) & (action == 1)) | ~state.live",),
    ("x = state.x + 1", "x += 1"),
    ("x = state.x.clone()", "x[:, 0] = 1"),
    ("x = torch.zeros_like(state.x)", "x[state.live] = 1"),
    ("total, *terms = (state.live * self.float32(GAINS)).unbind(-1)", "for term in terms:", "    total += term"),
    ("y = {'a': state.x, 'b': action}", "y['c'] = action", "for key, one in y.items(): pass"),
    ("y = torch.zeros(draw.rows, device=action.device)",),
    ("y = action.reshape(len(action), -1)",),
    ("y = torch.where(state.live, 1.0, 2.0)",),
    ("after = State(x=state.x, energy=state.energy, live=state.live)", "return after, after.energy, after.x > 1"),
    ("after = State(x=state.x + 1, energy=state.energy, live=state.live)", "after.x = after.x + 1"),
    ("y = doubled(state.x)",),
    ("y = functools.reduce(lambda a, b: a + b, state.energy.unbind(-1))",),
    ("y = self.int32(COUNTS).index_select(0, action)",),
    ("y = [one for one in COUNTS if one > 1]",),
    ("y = torch.clamp(state.x, 0, L).max(-1).values",),
    ("for k in range(state.live.shape[1]): pass",),
    ("for key, one in [('a', state.x), ('b', state.energy)]: y = {'a': 1, 'b': 2}[key]",),
    ("return self.helper(action)", "", "def helper(self, x, shape=(1,), table=COUNTS):", "    return x + len(table)"),
    ("y = np.select, torch.signal, torch.select",),
]


@pytest.mark.parametrize("lines", RIGHT, ids=" / ".join)
def test_what_is_right_raises_no_alarm(lines: tuple[str, ...]) -> None:
    assert found(*lines) == []


def test_a_helper_of_another_file_is_read_where_it_stands() -> None:
    assert found("return rooted(state.energy)") == [("helpers.py", 8, "float")]


def test_a_function_that_nothing_calls_is_read_by_its_annotations() -> None:
    assert found("pass", "", "def own(self, x: Tensor):", "    return 1 if x else 2")[0][2] == "branch"


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("torch.set_default_dtype(torch.float64)", "process"),
        ("X = np.seterr(all='ignore')", "process"),
        ("torch.backends.cudnn.benchmark = True", "process"),
        ("simulacrum.FastEnv.step = None", "process"),
        ("print('hello')", "process"),
        ("import os.path", "source"),
        ("import sys", "source"),
        ("from pathlib import Path", "source"),
        ("from socket import gethostname", "source"),
        ("from dataclasses import inspect\nX = inspect", "source"),
        ("import pandas", "source"),
        ("import random", "source"),
        ("from .reference import X", "source"),
        ("from . import reference", "source"),
        ("class Own(simulacrum.FastEnv[State]):\n    def _step(self, td): pass", "override"),
        ("class Own(simulacrum.FastEnv[State]):\n    def __init__(self): pass", "override"),
        ("class Own(simulacrum.FastEnv[State]):\n    expose_state = True", "override"),
        ("class Own(simulacrum.ReferenceEnv[State]):\n    def step(self, action): pass", "override"),
        ("class Own(simulacrum.ReferenceEnv[State]):\n    def set_state(self, snapshot): pass", "override"),
    ],
)
def test_what_a_module_does_at_import(line: str, kind: str) -> None:
    head = "import numpy as np\nimport torch\nimport simulacrum\nState = 1\n"
    sources = Sources({"__init__.py": b"", "fast.py": (head + line + "\n").encode()})
    assert [one.kind for one in problems(sources, {}, False)] == [kind]


def test_what_an_excused_module_does_at_import_is_found_all_the_same() -> None:
    sources = Sources({"fast.py": b"import os, sys\nX = os.getpid()\nsys.path.append('x')\n"})
    assert [(one.line, one.kind) for one in problems(sources, {}, False)] == [
        (1, "source"), (2, "process"), (3, "process")
    ]  # fmt: skip


@pytest.mark.parametrize("line", ["X = math.floor(2.5)", "X = np.float32(1)", "X = torch.arange(3)", "'text'"])
def test_constants_are_made_at_import(line: str) -> None:
    head = "import math\nimport numpy as np\nimport torch\n"
    assert problems(Sources({"fast.py": (head + line + "\n").encode()}), {}, False) == []


@pytest.mark.parametrize(
    ("file", "source", "lines"),
    [
        (
            "render.py",
            "def render_figure(state):\n    from matplotlib.figure import Figure\n    import matplotlib\n",
            [],
        ),
        ("render.py", "def render_rgb(state):\n    from matplotlib.figure import Figure\n", [2]),
        ("render.py", "def render_figure(state):\n    import seaborn\n    import pandas\n", [2, 3]),
        ("render.py", "import matplotlib\ndef render_figure(state):\n    import random\n", [1, 3]),
        ("fast.py", "def render_figure(state):\n    import matplotlib\n", [2]),
    ],
)
def test_a_figure_may_import_matplotlib_and_nothing_else(file: str, source: str, lines: list[int]) -> None:
    assert [one.line for one in problems(Sources({file: source.encode()}), {}, False)] == lines


@pytest.mark.parametrize("side", [CountdownFast, MirrorFast])
def test_the_small_environments_raise_no_alarm(side: type) -> None:
    head = "import torch\nfrom simulacrum import FastEnv, tensor_state\nTABLE = torch.arange(3)\n"
    state = inspect.getsource(side._state_class)
    sources = Sources({"fast.py": (head + state + "\n\n" + inspect.getsource(side)).encode()})
    assert problems(sources, {"at": True, "gained": True, "left": False, "pay": True}, True) == []


@pytest.mark.parametrize("package", [TOYWALK, FORAGER, Package.read(TEMPLATE)], ids=lambda package: package.name)
def test_the_examples_and_the_template_pass(package: Package) -> None:
    result = run_check("static_read", package, PROFILE)
    assert (result.outcome, result.findings) == ("passed", [])


def copied(folder: Path, line: str, excuses: str) -> Package:
    shutil.copytree(ENVS / "toywalk", folder, ignore=shutil.ignore_patterns("validation_report.*", "failures"))
    fast = (folder / "fast.py").read_text()
    at = "        moves_right = "
    (folder / "fast.py").write_text(fast.replace(at, f"        {line}\n{at}", 1))
    (folder / "checks.py").write_text((folder / "checks.py").read_text() + f"\nEXCUSES = {excuses}\n")
    return Package.read(folder)


def test_a_finding_names_line_reason_and_remedy(tmp_path: Path) -> None:
    package = copied(tmp_path / "package", "far = torch.sqrt(state.position.float())", "{}")
    (finding,) = run_check("static_read", package, PROFILE).findings
    line = (package.path / "fast.py").read_text().split("far =")[0].count("\n") + 1
    assert finding.message.startswith(f"fast.py:{line}: torch.sqrt is outside the float rule")
    assert "; use + - *" in finding.message


def test_an_excuse_is_repeated_and_one_that_nothing_needs_is_a_finding(tmp_path: Path) -> None:
    line = "far = torch.sqrt(state.position.float())"
    excused = copied(tmp_path / "one", line, repr({f"static fast.py: {line}": "never used"}))
    result = run_check("static_read", excused, PROFILE)
    assert result.outcome == "passed"
    assert "never used" in result.notes[0]
    idle = copied(tmp_path / "two", "far = 1", repr({f"static fast.py: {line}": "never used", "another check's": ""}))
    (finding,) = run_check("static_read", idle, PROFILE).findings
    assert "static fast.py: far = torch.sqrt" in finding.message


# ---------------------------------------------------------------------- numbers in place of constants


def named(line: str, **constants: object) -> list[tuple[str, str]]:
    """(kind, reason) of what is found in a line of reference.py."""
    sources = Sources({"reference.py": line.encode(), "helpers.py": line.encode()})
    return [(one.kind, one.reason) for one in problems(sources, {}, False, constants)]


@pytest.mark.parametrize("literal", ["60", "60.0", "0.15", "-0.0625"])
def test_a_number_in_place_of_a_constant_is_found(literal: str) -> None:
    constants = {"CAP": 60, "SLIP_P": 0.15, "COST": -0.0625, "GAINS": [0.5]}
    kind, reason = named(f"def f(x):\n    return x / {literal}\n", **constants)[0]
    assert kind == "literal"
    assert reason.startswith(f"{literal.lstrip('-')} is the value of ")


@pytest.mark.parametrize("literal", ["4", "1.0", "-1.0", "7", "0.5", "True", "'60'"])
def test_other_numbers_and_small_whole_ones_are_not(literal: str) -> None:
    assert named(f"X = {literal}\n", A=4, B=1.0, C=60, D=[0.5], E=True) == []


def test_the_check_knows_the_constants_of_the_spec(tmp_path: Path) -> None:
    package = broken(tmp_path / "package", "toywalk", fast=("self.float32(MAX_STEPS)", "self.float32(60)"))
    (finding,) = run_check("static_read", package, PROFILE).findings
    assert "60 is the value of MAX_STEPS; name the constant" in finding.message


# ---------------------------------------------------------------------- overrides that only the made class shows

CLASS = "class ToywalkFast(simulacrum.FastEnv[State]):\n    environment = ENVIRONMENT\n"
MIXIN = "class Mixin:\n    def rand_step(self, tensordict=None):\n        raise RuntimeError\n\n\n"
PATCH = "def patched(cls):\n    cls.rand_step = lambda self, td: td\n    return cls\n\n\n@patched\n"
OVERRIDES = {
    "by a mixin": (MIXIN + CLASS.replace("(", "(Mixin, ", 1), "fast.py: Mixin.rand_step"),
    "by a mixin that stands last": (
        MIXIN.replace("Mixin:", "Mixin(torchrl.envs.EnvBase):") + CLASS.replace("):", ", Mixin):", 1),
        "fast.py: Mixin.rand_step",
    ),
    "under an if": (CLASS + "    if True:\n        def rand_step(self, td): pass\n", "fast.py: ToywalkFast.rand_step"),
    "by a tuple": (CLASS + "    _one, rand_step = None, lambda self: 1\n", "fast.py: ToywalkFast.rand_step"),
    "by a decorator": (PATCH + CLASS, "fast.py: ToywalkFast.rand_step"),
    "by another file": (
        CLASS.replace("(", "(Base, ", 1).replace("class", "from .base import Base\n\n\nclass"),
        "base.py: Base.set_seed",
    ),
}


@pytest.mark.parametrize("name", OVERRIDES)
def test_an_override_that_only_the_made_class_shows_is_found(name: str, tmp_path: Path) -> None:
    new, says = OVERRIDES[name]
    package = broken(tmp_path / "package", "toywalk", fast=(CLASS, new))
    base = "class Base:\n    def set_seed(self, seed=None, static_seed=False):\n        return None\n"
    (package.path / "base.py").write_text(base)
    fast = (package.path / "fast.py").read_text()
    (package.path / "fast.py").write_text(fast.replace("import torch\n", "import torch\nimport torchrl\n", 1))
    (finding,) = run_check("static_read", Package.read(package.path), PROFILE).findings
    assert finding.message.startswith(f"{says} overrides what FastEnv does by itself; define initial")


def test_an_override_of_the_reference_is_found_and_may_be_excused(tmp_path: Path) -> None:
    old = "class ToywalkReference(simulacrum"
    new = "class Clip:\n    def step(self, action):\n        return super().step(action)\n\n\n"
    change = (old, new + old.replace("(", "(Clip, "))
    (finding,) = run_check("static_read", broken(tmp_path / "one", "toywalk", reference=change), PROFILE).findings
    assert finding.message.startswith("reference.py: Clip.step overrides what ReferenceEnv does by itself")
    excuse = 'MIN_SPEEDUP = 5.0\nEXCUSES = {"static reference.py: Clip.step": "does nothing"}'
    package = broken(tmp_path / "two", "toywalk", reference=change, checks=("MIN_SPEEDUP = 5.0", excuse))
    assert run_check("static_read", package, PROFILE).outcome == "passed"


def test_an_override_that_its_line_shows_is_told_once(tmp_path: Path) -> None:
    package = broken(tmp_path / "package", "toywalk", fast=method("    def rand_step(self, td):\n        return td"))
    (finding,) = run_check("static_read", package, PROFILE).findings
    assert finding.message.startswith("fast.py:2")
