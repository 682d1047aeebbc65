"""What is wrong with a ``kernel.pyx`` at a glance: what it imports, calls and keeps, and numbers in place of constants.

The words of the file are read, not their meaning: which memory a loop reads and writes, whether it depends on the place
in a block, and what a called function does is for the checks that run it.
"""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from .literals import SMALL
from .modules import Problem
from .operations import SAFE

KIND = "kernel"
INCLUDES = ("rows.pxi", "loop.pxi")  # which the framework writes; others do not build
EXACT = {  # of libc.math: the same bits everywhere
    *("fabs", "fabsf", "floor", "floorf", "ceil", "ceilf", "trunc", "truncf", "copysign", "copysignf", "signbit"),
    *("isnan", "isinf", "isfinite", "NAN", "INFINITY"),
}
MODULES = {"libc.stdint": None, "libc.string": {"memcpy", "memset", "memcmp", "memmove"}, "libc.math": EXACT}
CALLS = {
    **dict.fromkeys(
        ("rand", "srand", "rand_r", "random", "srandom", "drand48", "lrand48", "mrand48", "arc4random", "getrandom"),
        ("draws from a generator of its own", "draw with the draw argument (a slot of the spec)"),
    ),
    **dict.fromkeys(
        ("time", "clock", "clock_gettime", "gettimeofday", "__rdtsc", "getpid", "gettid", "getenv", "fopen", "open"),
        ("reads the clock, a file or the process", "take it out: a row depends on its seed and actions alone"),
    ),
    **dict.fromkeys(
        ("omp_get_thread_num", "omp_get_num_threads", "threadid"),
        ("depends on the thread", "take it out: every thread count gives the same bits"),
    ),
}
STATIC = re.compile(r"\bstatic\b(?!\s+(?:inline|const)\b)")
FLAGS = re.compile(r"(?:fast|unsafe|associative|reciprocal)-math|Ofast|fp-contract|FP_CONTRACT|optimize\s*\(")
KEPT = "make it a field of the state, or a constant of the spec"
BITS = "take it out: the framework's flags keep the bits"
HOLDS = ("struct", "enum", "union", "extern", "class", "packed", "ctypedef")  # after cdef, no variable


class Line(NamedTuple):
    """A logical line: its tokens without comments, where it begins, and whether it is what a module holds."""

    tokens: list[tokenize.TokenInfo]
    number: int
    top: bool


def problems(file: str, data: bytes, constants: Mapping[str, Any]) -> Iterator[Problem]:
    """Everything that is wrong with a kernel's source."""
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(data.decode()).readline))
    except (tokenize.TokenError, SyntaxError, UnicodeDecodeError) as error:
        yield Problem(file, 0, KIND, f"it cannot be read ({error})", "write it as Cython reads it, in UTF-8")
        return
    found = [*_comments(tokens), *_words(tokens, constants)]
    for line in _lines(tokens):
        found += [(line.number, *one) for one in (*_imported(line), *_kept(line))]
    for number, reason, remedy in sorted(found):
        yield Problem(file, number, KIND, reason, remedy)


def _lines(tokens: list[tokenize.TokenInfo]) -> Iterator[Line]:
    """The logical lines; those in a ``cdef:`` block at the top are the module's as well."""
    depth, block = 0, False
    held: list[tokenize.TokenInfo] = []
    for token in tokens:
        if token.type in (tokenize.INDENT, tokenize.DEDENT):
            depth += 1 if token.type == tokenize.INDENT else -1
        elif token.type == tokenize.NEWLINE:
            words = [one.string for one in held]
            yield Line(held, held[0].start[0], depth == 0 or (depth == 1 and block))
            block, held = (words == ["cdef", ":"]) if depth == 0 else block, []
        elif token.type not in (tokenize.COMMENT, tokenize.NL, tokenize.ENDMARKER):
            held.append(token)


def _comments(tokens: list[tokenize.TokenInfo]) -> Iterator[tuple[int, str, str]]:
    """Directives that change how it is compiled; C code in texts."""
    for token in tokens:
        number = token.start[0]
        if token.type == tokenize.COMMENT and re.match(r"#\s*distutils:", token.string):
            yield number, "a distutils directive", BITS
        if token.type in (tokenize.COMMENT, tokenize.STRING) and FLAGS.search(token.string):
            yield number, f"{FLAGS.search(token.string)[0]!r} changes what is computed", BITS  # type: ignore[index]
        if token.type == tokenize.STRING and STATIC.search(token.string):
            yield number, "a static variable in C code: state kept outside of the state's fields", KEPT


def _words(tokens: list[tokenize.TokenInfo], constants: Mapping[str, Any]) -> Iterator[tuple[int, str, str]]:
    """Calls of what results must not depend on; numbers with the value of a constant."""
    named = {abs(value): name for name, value in constants.items() if type(value) in (int, float)}
    for before, token, after in zip([None, *tokens], tokens, tokens[1:], strict=False):
        called = after.string == "(" and (before is None or before.string != ".")
        if token.type == tokenize.NAME and called and token.string in CALLS:
            reason, remedy = CALLS[token.string]
            yield token.start[0], f"{token.string} {reason}", remedy
        elif token.type == tokenize.NUMBER:
            value = _number(token.string)
            if value in named and not (value < SMALL and value == int(value)):
                yield token.start[0], f"{token.string} is the value of {named[value]}", "name the constant"


def _number(text: str) -> Any:
    """The value of a number as C or Cython writes it; None of what is none in Python."""
    try:
        return int(text, 0) if re.fullmatch(r"0[xXoObB]\w+|\d+", text) else float(text)
    except ValueError:
        return None


def _imported(line: Line) -> Iterator[tuple[str, str]]:
    """What an import takes from anywhere but the parts of libc that compute alike everywhere."""
    words = [token.string for token in line.tokens]
    if words[0] == "include":
        name = words[1].strip("\"'")
        if name not in INCLUDES:
            yield f"includes {name}", f"put it into the file: a kernel includes {' and '.join(INCLUDES)}"
    if words[0] not in ("import", "cimport", "from"):
        return
    verb = next((word for word in ("cimport", "import") if word in words), "import")
    module = "".join(words[1 : words.index(verb)] if words[0] == "from" else words[1:])
    names = [word for word in words[words.index(verb) + 1 :] if word.isidentifier()] if words[0] == "from" else []
    if verb != "cimport" or module not in MODULES:
        yield (
            f"imports {module}, by which results could depend on the process or the machine",
            (f"take it out; a kernel uses {', '.join(MODULES)}, and what rows.pxi gives"),
        )
        return
    allowed = MODULES[module]
    if allowed is not None and (not names or not set(names) <= allowed):
        others = ", ".join(sorted(set(names) - allowed)) or "all"
        yield f"takes {others} of {module}: outside the float rule, or no function of its arguments alone", SAFE


def _kept(line: Line) -> Iterator[tuple[str, str]]:
    """Variables of the module, in which something could be kept from one call to another."""
    words = [token.string for token in line.tokens]
    if "global" in words:
        yield "global: state kept outside of the state's fields", KEPT
    if not line.top or words[-1] == ":" or words[0] in ("include", "import", "cimport", "from", "ctypedef"):
        return
    declared = words[0] == "cdef" or line.tokens[0].start[1] > 0  # or a line of a cdef: block
    inside = words[: words.index("=")] if "=" in words else words
    if declared and "(" not in inside and "const" not in words and not set(HOLDS) & set(words):
        yield f"{' '.join(words)}: a variable of the module, state kept outside of the state's fields", KEPT
