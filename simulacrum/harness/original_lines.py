"""Which lines of an adopted environment's rules were executed: its own code, unmodified, watched by ``sys.settrace``.

Its rules are the functions that the adoption names (``reset`` and ``step`` unless it says more), with what is nested in
them. Statements are counted, not the outcomes of their conditions: the code is run as it is, not a counted copy.
"""

from __future__ import annotations

import ast
import contextlib
import inspect
import linecache
import sys
import textwrap
from collections.abc import Callable, Iterator
from types import CodeType, FrameType, ModuleType
from typing import Any, NamedTuple

from ..errors import SpecError
from ..originals import Adoption

Trace = Callable[[FrameType, str, Any], Any]


class Statement(NamedTuple):
    """A statement of the rules: its file's name, its first line, the function, the text."""

    file: str
    line: int
    function: str
    text: str


class OriginalLines:
    """The statements of an adoption's rules, and a watch over them.

    Raises :class:`~simulacrum.errors.SpecError` for a rule that the original does not have.

    Attributes:
        statements: in the order of the rules.
    """

    def __init__(self, adoption: Adoption) -> None:
        cls = type(adoption.make())
        self.statements: list[Statement] = []
        self._numbers: dict[CodeType, dict[int, int]] = {}
        for name in adoption.rules:
            self._add(_function(cls, name, adoption))

    def _add(self, function: Any) -> None:
        code = function.__code__
        file = code.co_filename.replace("\\", "/").rpartition("/")[2]
        firsts = _first_lines(function)
        for part in _nested(code):
            lines = sorted({line for *_, line in part.co_lines() if line in firsts})
            numbers = self._numbers.setdefault(part, {})
            for line in lines:
                numbers[line] = len(self.statements)
                text = linecache.getline(code.co_filename, line).strip()
                self.statements.append(Statement(file, line, function.__qualname__, text))

    @contextlib.contextmanager
    def watching(self, executed: Callable[[int], Any]) -> Iterator[None]:
        """Call ``executed(number)`` for each statement that begins meanwhile."""

        def trace(frame: FrameType, event: str, argument: Any) -> Trace | None:
            numbers = self._numbers.get(frame.f_code)
            if numbers is None:
                return None

            def local(frame: FrameType, event: str, argument: Any) -> Trace:
                if event == "line" and frame.f_lineno in numbers:
                    executed(numbers[frame.f_lineno])
                return local

            return local

        before = sys.gettrace()
        sys.settrace(trace)
        try:
            yield
        finally:
            sys.settrace(before)


def _function(cls: type[Any], name: str, adoption: Adoption) -> Any:
    """A method of the class, or a function of a module of its bases."""
    found: Any = inspect.unwrap(getattr(cls, name)) if hasattr(cls, name) else None
    for base in cls.__mro__:
        if found is None:
            found = _reached(sys.modules[base.__module__], name)
    if not hasattr(found, "__code__"):
        raise SpecError(f"{adoption.name}: rules: expected methods or functions of its module, got {name!r}")
    return found


def _reached(module: ModuleType, path: str) -> Any:
    """What a module holds under a name, ``Grid.slice`` a method of a class in it; None where there is none."""
    found: Any = module
    for part in path.split("."):
        found = getattr(found, part, None)
    return found


def _nested(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _nested(constant)


def _first_lines(function: Any) -> set[int]:
    """The lines on which the statements of a function's body begin."""
    source, start = inspect.getsourcelines(function)
    tree = ast.parse(textwrap.dedent("".join(source))).body[0]
    return {node.lineno + start - 1 for node in ast.walk(tree) if isinstance(node, ast.stmt) and node is not tree}
