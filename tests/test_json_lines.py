"""JSON lines are read as far as they are whole, and added to without loss."""

from pathlib import Path

import pytest

from simulacrum.harness.json_lines import add_line, read_lines


def test_what_was_added_is_read(tmp_path: Path) -> None:
    file = tmp_path / "new" / "lines.jsonl"
    assert list(read_lines(file)) == []
    for number in range(3):
        add_line(file, {"number": number, "text": "\u2028"})
    assert [line["number"] for line in read_lines(file)] == [0, 1, 2]
    assert file.read_bytes().count(b"\n") == 3


@pytest.mark.parametrize("odd", [b"", b"{", b"[1]", b"3", b"null", b"\xff\xfe", b"[" * 100_000, b"9" * 5000])
@pytest.mark.parametrize("end", [b"\n", b""])
def test_what_is_no_object_is_passed_over_and_hides_no_neighbour(tmp_path: Path, odd: bytes, end: bytes) -> None:
    file = tmp_path / "lines.jsonl"
    add_line(file, {"number": 0})
    file.write_bytes(file.read_bytes() + odd + end)
    add_line(file, {"number": 1})
    assert list(read_lines(file)) == [{"number": 0}, {"number": 1}]


def test_a_folder_has_no_lines(tmp_path: Path) -> None:
    assert list(read_lines(tmp_path)) == []
