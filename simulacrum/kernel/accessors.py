"""The functions of ``rows.pxi``: they move what a step is given, and what it shows, in and out of a block of rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain

from .layout import Layout, Part

NOGIL = "noexcept nogil"


def accessors(layout: Layout) -> Iterator[str]:
    """The functions, each as its text."""
    yield from _rows(layout)
    yield from _actions(layout)
    yield from _outputs(layout)
    yield from _outcome(layout)


def _pointer(struct: str, part: Part, layout: Layout) -> str:
    """Where a block has the pointer to the memory of row i."""
    return f"{struct}.{part.name}" if layout.block == 1 else f"{struct}.{part.name}.row[i]"


def _spare(struct: str, part: Part, layout: Layout) -> str:
    """``if i < count``, and where a row that only fills a block has memory: none does in a block of one row."""
    return "" if layout.block == 1 else f" if i < count else (spare.{struct}_{part.name} + i * {part.count})"


def _rows(layout: Layout) -> Iterator[str]:
    fields = layout.fields
    small, large = [part for part in fields if not part.many], [part for part in fields if part.many]
    filled = fields if layout.block > 1 else []  # a block of one row is never filled up
    addresses = ["Rows* blocks", "int64_t* seed", "int64_t* episode", "int32_t* list"]
    addresses += [f"{part.ctype}* field_{part.name}" for part in large]
    yield _function(
        "int remember(Memory* memory, addresses) except -1",
        ("memory.wrong = 0",),
        (
            f"memory.{name} = <{kind}><size_t>addresses[{i}]"
            for i, (kind, name) in enumerate(one.split(" ") for one in addresses)
        ),
    )
    yield _function(
        f"void point_blocks(Memory* memory, Py_ssize_t blocks) {NOGIL}",
        ("cdef Py_ssize_t b, i", "for b in range(blocks):", "    for i in range(BLOCK):", "        pass"),
        (
            f"        {_pointer('memory.blocks[b]', part, layout)} = "
            f"memory.field_{part.name} + (b * BLOCK + i) * {part.count}"
            for part in large
        ),
    )
    yield _function(
        f"inline void fill_rows(Rows* rows, int count) {NOGIL}",
        ("cdef int i", "for i in range(count, BLOCK):  # the rest of a last block repeats its last row"),
        (f"    {line}" for part in filled for line in _repeat(part, "count - 1")),
        (f"    rows.{name}[i] = rows.{name}[count - 1]" for name in ("t", "k0", "k1")),
    )
    yield _function(
        f"inline void point_rows(Memory* memory, const int32_t* number, int count, Rows* rows, Spare* spare) {NOGIL}",
        ("cdef int i", "for i in range(BLOCK):", "    pass"),
        (
            f"    {_pointer('rows', part, layout)} = (memory.field_{part.name} + <Py_ssize_t>number[i] * {part.count})"
            f"{_spare('field', part, layout)}"
            for part in large
        ),
    )
    yield _function(
        f"inline void borrow_row(Rows* rows, int live, const uint8_t* held, Spare* spare) {NOGIL}",
        ("cdef int i", "for i in range(BLOCK):", "    if held[i]:"),
        (
            f"        rows.{part.name}.row[i] = spare.field_{part.name} + i * {part.count}"
            for part in filled
            if part.many
        ),
        (f"        {line}" for part in filled for line in _repeat(part, "live")),
        ("        rows.t[i] = rows.t[live]",),
    )
    yield _function(
        f"inline void restore_rows(Rows* rows, Rows* saved, const uint8_t* held) {NOGIL}",
        ("cdef int i", "for i in range(BLOCK):", "    if held[i]:"),
        (f"        rows.{part.name}.row[i] = saved.{part.name}.row[i]" for part in filled if part.many),
        (f"        rows.{one}[i] = saved.{one}[i]" for part in small for one in _elements(part)),
        ("        rows.t[i] = saved.t[i]",),
    )
    yield _function(
        f"inline void place_row(Memory* memory, Py_ssize_t number, Rows* rows, int i) {NOGIL}",
        ("cdef Rows* own = memory.blocks + number // BLOCK", "cdef Py_ssize_t at = number % BLOCK"),
        (f"own.{one}[at] = rows.{one}[i]" for part in small for one in _elements(part)),
        (f"own.{name}[at] = rows.{name}[i]" for name in ("t", "k0", "k1")),
    )


def _actions(layout: Layout) -> Iterator[str]:
    action = layout.action
    if action.many:
        taken = [f"{_pointer('rows', action, layout)} = action + row * {action.count}"]
    elif not action.shape:
        taken = [f"rows.action[i] = <{action.ctype}>action[row]"]
    else:
        taken = [
            f"rows.action[{k}][i] = <{action.ctype}>action[row * {action.count} + {k}]" for k in range(action.count)
        ]
    yield _function(
        f"inline void load_action(const _ACTION* action, Py_ssize_t at, int count, Rows* rows) {NOGIL}",
        (
            "cdef int i",
            "cdef Py_ssize_t row",
            "if count == BLOCK:",
            "    for i in range(BLOCK):",
            "        row = at + i",
        ),
        (f"        {line}" for line in taken),
        ("else:", "    for i in range(BLOCK):", "        row = at + (i if i < count else count - 1)"),
        (f"        {line}" for line in taken),
    )
    element = f"action[i * {action.count} + k]"
    k = "0" if layout.alike else "k"
    inside = f"({element} >= _ACTION_LOW[{k}]) & ({element} <= _ACTION_HIGH[{k}])"
    yield _function(
        f"inline Py_ssize_t first_outside(const _ACTION* action, Py_ssize_t first, Py_ssize_t last) {NOGIL}",
        ("cdef Py_ssize_t i, k", "cdef int every = 1", "for i in range(first, last):"),
        (f"    for k in range({action.count}):", f"        every &= {inside}"),
        ("if every:", "    return -1", "for i in range(first, last):"),
        (f"    for k in range({action.count}):", f"        if not ({inside}):", "            return i", "return -1"),
    )


def _outputs(layout: Layout) -> Iterator[str]:
    seen = layout.seen
    small, large = [part for part in seen if not part.many], [part for part in seen if part.many]
    yield _function(
        "int take_targets(Targets* targets, addresses) except -1",
        (f"targets.{part.name} = <{part.ctype}*><size_t>addresses[{i}]" for i, part in enumerate(seen)),
    )
    yield _function(
        f"inline void aim(Seen* seen, Targets* targets, Py_ssize_t at, int count, Spare* spare) {NOGIL}",
        ("cdef int i", "for i in range(BLOCK):", "    pass"),
        (f"    {_aimed(part, '(at + i)', layout)}" for part in large),
    )
    yield _function(
        f"inline void aim_at(Seen* seen, Targets* targets, const int32_t* number, int count, Spare* spare) {NOGIL}",
        ("cdef int i", "for i in range(BLOCK):", "    pass"),
        (f"    {_aimed(part, '<Py_ssize_t>number[i]', layout)}" for part in large),
    )
    yield _function(
        f"inline void show(Targets* targets, Py_ssize_t at, int count, Seen* seen) {NOGIL}",
        ("cdef int i",),
        (f"cdef {part.ctype}* {part.name} = targets.{part.name} + at * {part.count}" for part in small),
        chain.from_iterable(_shown(part) for part in small),
    )
    yield _function(
        f"inline void show_too(Targets* targets, Targets* shown, Py_ssize_t at, int count) {NOGIL}",
        ("pass",),
        (
            f"put(targets.{part.name} + at * {part.count}, shown.{part.name} + at * {part.count}, "
            f"{part.count} * sizeof({part.ctype}), count)"
            for part in seen
        ),
    )
    yield _function(
        f"inline void show_at(Targets* targets, Py_ssize_t number, Seen* seen, int i) {NOGIL}",
        ("pass",),
        (
            f"targets.{part.name}[number * {part.count} + {k}] = seen.{one}[i]"
            for part in small
            for k, one in enumerate(_elements(part))
        ),
    )


def _outcome(layout: Layout) -> Iterator[str]:
    """What a transition gives: in the block, or of many agents straight in the outputs."""
    agents = layout.agents
    at = f"targets.terminated + at * {agents}"
    yield _function(
        f"inline void aim_outcome(Rows* rows, _REWARD* reward, Targets* targets, Py_ssize_t at) {NOGIL}",
        ("pass",) if agents is None else (f"rows.reward = reward + at * {agents}", f"rows.terminated = {at}"),
    )
    yield _function(
        f"inline uint8_t ended(const Rows* rows, int i) {NOGIL}",
        ("return rows.terminated[i]" if agents is None else "return 0  # a death ends no episode",),
    )
    yield _function(
        f"inline void put_reward(_REWARD* reward, Py_ssize_t at, int count, const Rows* rows) {NOGIL}",
        ("put(reward + at, rows.reward, sizeof(_REWARD), count)" if agents is None else "pass",),
    )
    yield _function(
        f"inline void no_reward(_REWARD* reward, Py_ssize_t row) {NOGIL}",
        (f"memset(reward + row * {agents or 1}, 0, {agents or 1} * sizeof(_REWARD))",),
    )
    yield _function(
        f"inline void nobody_died(Targets* targets, Py_ssize_t at, int count) {NOGIL}",
        ("pass" if agents is None else f"memset({at}, 0, count * {agents})",),
    )


def _aimed(part: Part, row: str, layout: Layout) -> str:
    """Rows that only fill a block have memory of their own: several rows in one place could not be written."""
    where = f"targets.{part.name} + {row} * {part.count}"
    return f"{_pointer('seen', part, layout)} = ({where}){_spare('seen', part, layout)}"


def _shown(part: Part) -> list[str]:
    """A part of a block, its rows' elements side by side as a caller has them."""
    if not part.shape:
        return [f"put({part.name}, seen.{part.name}, sizeof({part.ctype}), count)"]
    stored = [f"        {part.name}[i * {part.count} + {k}] = seen.{one}[i]" for k, one in enumerate(_elements(part))]
    return ["if count == BLOCK:", "    for i in range(BLOCK):", *stored, "else:", "    for i in range(count):", *stored]


def _elements(part: Part) -> list[str]:
    """The arrays over the rows of a block that a small part consists of."""
    return [f"{part.name}[{k}]" for k in range(part.count)] if part.shape else [part.name]


def _repeat(part: Part, row: str) -> list[str]:
    """Row i becomes a copy of another row."""
    if part.many:
        return [f"memcpy(rows.{part.name}.row[i], rows.{part.name}.row[{row}], {part.count} * sizeof({part.ctype}))"]
    return [f"rows.{one}[i] = rows.{one}[{row}]" for one in _elements(part)]


def _function(signature: str, *bodies: Iterable[str]) -> str:
    return indented(f"cdef {signature}:", chain.from_iterable(bodies))


def indented(head: str, lines: Iterable[str]) -> str:
    """A head, and lines below it."""
    return "\n".join([head, *(f"    {line}" for line in lines)])
