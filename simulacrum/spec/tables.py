"""Reads the Markdown tables of ``spec.md``."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NoReturn

from ..errors import SpecError


@dataclass(frozen=True)
class Table:
    """One table: the words of its header row in lower case, its rows, and the line on which it begins (from 1)."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    line: int

    def column(self, name: str) -> tuple[str, ...]:
        """The cells of a column; raises :class:`SpecError` where there is none of that name."""
        if name not in self.header:
            raise SpecError(f"spec.md, line {self.line}: the table {self.header[0]!r} has no column {name!r}")
        at = self.header.index(name)
        return tuple(row[at] for row in self.rows)

    def records(self) -> list[dict[str, str]]:
        """The rows as dictionaries by column; asking for a column that is not there raises :class:`SpecError`."""
        return [_Record(self, zip(self.header, row, strict=True)) for row in self.rows]


class _Record(dict[str, str]):
    def __init__(self, table: Table, cells: Iterable[tuple[str, str]]) -> None:
        super().__init__(cells)
        self.table = table

    def __missing__(self, name: str) -> NoReturn:
        self.table.column(name)
        raise AssertionError(name)


def read_tables(text: str) -> dict[str, Table]:
    """The tables of a Markdown text by their first header cell. Two with the same one raise :class:`SpecError`."""
    from markdown_it import MarkdownIt  # here: the gate reads packages, not their tables

    tables: dict[str, Table] = {}
    rows: list[list[str]] = []
    line = 0
    for token in MarkdownIt("commonmark").enable("table").parse(text):
        if token.type == "table_open":
            rows, line = [], (token.map or [0])[0] + 1
        elif token.type == "tr_open":
            rows.append([])
        elif token.type == "inline" and rows and token.level >= 4:
            rows[-1].append(_plain(token.content))
        elif token.type == "table_close":
            table = Table(tuple(cell.lower() for cell in rows[0]), tuple(tuple(row) for row in rows[1:]), line)
            if table.header[0] in tables:
                raise SpecError(f"spec.md, line {line}: a second table {table.header[0]!r}")
            tables[table.header[0]] = table
            rows = []
    return tables


def _plain(cell: str) -> str:
    return cell.replace("`", "").replace("\\|", "|").strip()
