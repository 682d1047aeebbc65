"""Which decisions of ``reference.py`` were taken, and how: a copy of it in which every decision is counted.

Line coverage would not do: a rule is often an operand of ``and`` or an argument of ``min``. Counted are the outcomes of
every comparison, condition and operand of ``and`` and ``or`` (true, false), which argument ``min`` and ``max`` of two
chose (the first, the second), and whether functions, loops, handlers and cases were entered. The copy computes the
same values; what is compared with it is compared like any other reference. Beside the decisions, how often each
statement began is counted, for a page that shows the source; nothing is demanded of it.
"""

from __future__ import annotations

import ast
import sys
import types
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..spec import Package
from .original_lines import OriginalLines

COUNTER = "_simulacrum_decision"
BEGUN = "_simulacrum_begun"
PAIRS = {"decision": ("true", "false"), "choice": ("the first", "the second")}


class Outcome(NamedTuple):
    """One outcome of a decision: its line, the function, the source text, which outcome, which of equal ones, the file.

    Of an adopted environment's own code: that a statement was ``executed``.
    """

    line: int
    function: str
    text: str
    which: str
    ordinal: int = 1
    file: str = "reference.py"

    @property
    def key(self) -> str:
        """What an excuse names: it survives edits elsewhere in the file."""
        again = f" #{self.ordinal}" if self.ordinal > 1 else ""
        return f"{self.function}: {self.text} is {self.which}{again}"


class Decisions:
    """A package's reference with its decisions counted.

    Attributes:
        reference: the class.
        outcomes: what can happen, in the order of the lines; numbers below are places in it.
        taken: how often each number was taken since :meth:`begin`.
        statements: (first line, last line) of each statement inside a function; of a compound one, of its head.
        begun: how often each of them began, from the start on.
    """

    def __init__(self, package: Package) -> None:
        tree = ast.parse(package.files["reference.py"])
        instrument = _Instrument()
        tree = ast.fix_missing_locations(instrument.visit(tree))
        self.outcomes = instrument.outcomes
        adoption = getattr(package.reference, "adopts", None)
        lines = None if adoption is None else OriginalLines(adoption)
        first = len(self.outcomes)
        if lines is not None:
            self.outcomes += [Outcome(s.line, s.function, s.text, "executed", 1, s.file) for s in lines.statements]
        self.outcomes = _numbered(self.outcomes)
        self.taken: Counter[int] = Counter()
        self.statements = _count_statements(tree)
        self.begun = [0] * len(self.statements)
        self.reference = self._load(package, compile(tree, str(package.path / "reference.py"), "exec"))
        if lines is not None:
            self.reference = _watched(self.reference, lines, lambda number: self._count(first + number))

    def begin(self) -> None:
        """Count decisions from nothing."""
        self.taken.clear()

    def facts(self, times: Sequence[int], excused: Mapping[int, str]) -> dict[str, Any]:
        """How the source was covered, for the report: ``lines``, how often the statement on them began, by ``"12"`` or
        ``"12-14"``, and ``decisions`` with line, function and text, ``times`` by outcome, and the reasons of excuses.

        Args:
            times: how often each outcome was taken.
            excused: reasons by outcome.
        """
        told: dict[tuple[Any, ...], dict[str, Any]] = {}
        for number, outcome in enumerate(self.outcomes):
            line, function, text, which, ordinal, file = outcome
            pair = (file, line, function, text, ordinal, which == "entered")
            decision = told.setdefault(pair, {"line": line, "function": function, "text": text, "times": {}})
            if file != Outcome._field_defaults["file"]:
                decision["file"] = file
            decision["times"][which] = int(times[number])
            if number in excused:
                decision.setdefault("excused", {})[which] = excused[number]
        lines: Counter[str] = Counter()
        for (first, last), begun in zip(self.statements, self.begun, strict=True):
            lines[f"{first}-{last}" if last > first else str(first)] += begun
        ours = [decision for decision in told.values() if "file" not in decision]
        facts = {"lines": dict(lines), "decisions": ours}
        return (
            facts if len(ours) == len(told) else {**facts, "original": [one for one in told.values() if "file" in one]}
        )

    def _load(self, package: Package, code: types.CodeType) -> type[Any]:
        name = f"{package.module_name}.reference__decisions"
        package.module()
        module = types.ModuleType(name)
        module.__package__ = package.module_name
        vars(module).update({COUNTER: self._count, BEGUN: self.begun})
        sys.modules[name] = module  # where dataclasses and annotations look for it
        exec(code, vars(module))
        found: type[Any] = getattr(module, package.reference.__name__)
        return found

    def _count(self, number: int, *values: Any) -> Any:
        """Count what a place came to. One value: a decision. A function and its two arguments: a choice."""
        if not values:
            self.taken[number] += 1
            return None
        if len(values) == 1:
            if getattr(values[0], "ndim", 0):  # of arrays element by element
                whole = np.asarray(values[0])
                self.taken[number] += bool(whole.any())
                self.taken[number + 1] += not whole.all()
                return values[0]
            self.taken[number + (not values[0])] += 1
            return values[0]
        function, first, second = values
        chosen = function(first, second)
        self.taken[number + (chosen is not first)] += 1
        return chosen


def _watched(reference: type[Any], lines: OriginalLines, executed: Callable[[int], Any]) -> type[Any]:
    """An adopted reference whose original is watched during resets and steps."""

    class Watched(reference):  # type: ignore[misc]
        environment = reference.environment

        def initial(self, draw: Any) -> Any:
            with lines.watching(executed):
                return super().initial(draw)

        def transition(self, state: Any, action: Any, draw: Any) -> Any:
            with lines.watching(executed):
                return super().transition(state, action, draw)

    return Watched


def _numbered(outcomes: list[Outcome]) -> list[Outcome]:
    """The same, those of equal texts told apart by their order."""
    times: Counter[Outcome] = Counter()
    numbered = []
    for outcome in outcomes:
        same = outcome._replace(line=0)
        times[same] += 1
        numbered.append(outcome._replace(ordinal=times[same]))
    return numbered


class _Instrument(ast.NodeTransformer):
    """Wraps the decisions inside functions."""

    def __init__(self) -> None:
        self.outcomes: list[Outcome] = []
        self.functions: list[str] = []

    def visit_FunctionDef(self, node: ast.FunctionDef) -> Any:
        self.functions.append(node.name)
        node.body = [self.visit(statement) for statement in node.body]
        self._enter(node, node.name, "entered")
        self.functions.pop()
        return node

    def visit_If(self, node: Any) -> Any:
        return self._test(node)

    visit_While = visit_IfExp = visit_If

    def visit_Compare(self, node: ast.Compare) -> Any:
        self.generic_visit(node)
        return self._decision(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> Any:
        node.values = [self._once(self.visit(value), value) for value in node.values]
        return node

    def visit_comprehension(self, node: ast.comprehension) -> Any:
        tests = node.ifs
        self.generic_visit(node)
        node.ifs = [self._once(new, old) for new, old in zip(node.ifs, tests, strict=True)]
        return node

    def visit_Call(self, node: ast.Call) -> Any:
        text = ast.unparse(node)
        self.generic_visit(node)
        plain = isinstance(node.func, ast.Name) and node.func.id in ("min", "max") and not node.keywords
        if self.functions and plain and len(node.args) == 2:
            number = self._pair(node, text, "choice")
            return self._call(node, number, node.func, *node.args)
        return node

    def visit_For(self, node: ast.For) -> Any:
        text = f"for {ast.unparse(node.target)} in {ast.unparse(node.iter)}"
        self.generic_visit(node)
        return self._enter(node, text, "entered")

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> Any:
        self.generic_visit(node)
        return self._enter(node, f"except {ast.unparse(node.type) if node.type else ''}".strip(), "entered")

    def visit_match_case(self, node: Any) -> Any:
        text = f"case {ast.unparse(node.pattern)}"
        self.generic_visit(node)
        node.lineno = node.body[0].lineno
        return self._enter(node, text, "entered")

    def _test(self, node: Any) -> Any:
        test = node.test
        self.generic_visit(node)
        node.test = self._once(node.test, test)
        return node

    def _once(self, new: ast.expr, old: ast.expr) -> ast.expr:
        """A condition, wrapped unless it has been as a comparison."""
        wrapped = isinstance(new, ast.Call) and isinstance(new.func, ast.Name) and new.func.id == COUNTER
        return new if wrapped or not self.functions else self._decision(new, ast.unparse(old))

    def _decision(self, node: ast.expr, text: str | None = None) -> ast.expr:
        if not self.functions:
            return node
        return self._call(node, self._pair(node, text or ast.unparse(node), "decision"), node)

    def _pair(self, node: ast.expr, text: str, kind: str) -> int:
        text = _plain(text)
        self.outcomes += [Outcome(node.lineno, self.functions[-1], text, which) for which in PAIRS[kind]]
        return len(self.outcomes) - 2

    def _call(self, node: ast.expr, number: int, *arguments: ast.expr) -> ast.expr:
        call = ast.Call(ast.Name(COUNTER, ast.Load()), [ast.Constant(number), *arguments], [])
        return ast.copy_location(call, node)

    def _enter(self, node: Any, text: str, which: str) -> Any:
        if self.functions:
            self.outcomes.append(Outcome(node.lineno, self.functions[-1], text, which))
            first = node.body[0]
            statement = ast.Expr(ast.Call(ast.Name(COUNTER, ast.Load()), [ast.Constant(len(self.outcomes) - 1)], []))
            place = 1 if _is_docstring(first) and isinstance(node, ast.FunctionDef) else 0
            node.body.insert(place, ast.copy_location(statement, first))
        return node


def _count_statements(tree: ast.Module) -> list[tuple[int, int]]:
    """Count every statement inside the functions of a tree as it begins; their lines, in the order of their counts."""
    lines: list[tuple[int, int]] = []

    def counted(statements: list[ast.stmt]) -> Iterator[ast.stmt]:
        for statement in statements:
            if not (_is_docstring(statement) or _is_counter(statement)):
                lines.append((statement.lineno, _end_of_head(statement)))
                place = ast.Subscript(ast.Name(BEGUN, ast.Load()), ast.Constant(len(lines) - 1), ast.Store())
                count = ast.copy_location(ast.AugAssign(place, ast.Add(), ast.Constant(1)), statement)
                yield ast.fix_missing_locations(count)
            yield statement

    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    inside = {id(node): node for function in functions for node in ast.walk(function)}
    for node in inside.values():
        for suite in ("body", "orelse", "finalbody"):
            statements = getattr(node, suite, None)
            if isinstance(statements, list):  # an IfExp and a Lambda have one expression there
                setattr(node, suite, list(counted(statements)))
    return lines


def _end_of_head(statement: ast.stmt) -> int:
    """The last line of a simple statement, and of what a compound one evaluates before its first suite."""
    suites = (ast.stmt, ast.ExceptHandler, ast.match_case)
    parts = [part for part in ast.iter_child_nodes(statement) if not isinstance(part, suites)]
    compound = len(parts) < len(list(ast.iter_child_nodes(statement)))
    ends = [getattr(part, "end_lineno", 0) for head in parts for part in ast.walk(head)]
    return max([statement.lineno, *ends]) if compound else statement.end_lineno or statement.lineno


def _is_counter(node: ast.stmt) -> bool:
    """Whether it is one that :meth:`_Instrument._enter` put in."""
    call = node.value if isinstance(node, ast.Expr) else None
    return isinstance(call, ast.Call) and len(call.args) == 1 and ast.unparse(call.func) == COUNTER


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def _plain(text: str) -> str:
    """Source text without the counters inside it."""
    tree = ast.parse(text, mode="eval")
    return ast.unparse(_Bare().visit(tree))


class _Bare(ast.NodeTransformer):
    def visit_Call(self, node: ast.Call) -> Any:
        self.generic_visit(node)
        if not (isinstance(node.func, ast.Name) and node.func.id == COUNTER):
            return node
        if len(node.args) == 2:
            return node.args[1]
        return ast.Call(node.args[1], node.args[2:], [])
