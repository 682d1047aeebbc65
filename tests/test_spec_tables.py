"""The Markdown tables of spec.md."""

import pytest

from simulacrum.errors import SpecError
from simulacrum.spec.tables import read_tables

TEXT = """# A heading

Prose with | a bar, and a list:

- one | two

| Constant | Value | meaning |
|---|---|:-:|
| `A` | 5 | the `first` |
| B | 1 \\| 2 |

```
| not | a table |
|---|---|
```

> | action | space |
> |---|---|
> | 0 left | Discrete(2) |

| empty | one |
|---|---|
"""


def test_tables_are_found_by_their_first_header_cell():
    tables = read_tables(TEXT)
    assert list(tables) == ["constant", "action", "empty"]
    assert tables["constant"].header == ("constant", "value", "meaning")
    assert tables["constant"].rows == (("A", "5", "the first"), ("B", "1 | 2", ""))
    assert tables["empty"].rows == ()


def test_a_table_knows_its_line():
    assert {name: table.line for name, table in read_tables(TEXT).items()} == {"constant": 7, "action": 17, "empty": 21}


def test_columns_and_records():
    table = read_tables(TEXT)["constant"]
    assert table.column("value") == ("5", "1 | 2")
    assert table.records() == [
        {"constant": "A", "value": "5", "meaning": "the first"},
        {"constant": "B", "value": "1 | 2", "meaning": ""},
    ]
    assert table.records()[0].get("scalable", "no") == "no"


def test_a_column_that_is_not_there_is_an_error_with_its_line():
    table = read_tables(TEXT)["constant"]
    message = "spec.md, line 7: the table 'constant' has no column 'dtype'"
    with pytest.raises(SpecError) as caught:
        table.column("dtype")
    assert str(caught.value) == message
    with pytest.raises(SpecError) as caught:
        table.records()[0]["dtype"]
    assert str(caught.value) == message


def test_two_tables_of_one_name_are_an_error():
    with pytest.raises(SpecError, match=r"spec\.md, line 5: a second table 'constant'"):
        read_tables("| constant |\n|---|\n| A |\n\n| Constant |\n|---|\n| B |\n")


def test_a_text_without_tables_has_none():
    assert read_tables("") == {}
