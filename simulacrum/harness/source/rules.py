"""The rules that the static read of ``fast.py`` applies: the reason and the remedy of each."""

from __future__ import annotations

from typing import NamedTuple


class Rule(NamedTuple):
    """A kind of problem; the reason has a place for the source text."""

    kind: str
    reason: str
    remedy: str


BRANCH = Rule(
    "branch",
    "a Python branch on data, {0}: one decision for all rows",
    "compute both and choose with torch.where, & | ~ and comparisons",
)
LEFT = Rule("left", "{0} takes data out of the tensors", "keep it a tensor [N, ...], which a compiled graph needs too")
ITERATED = Rule(
    "iterated",
    "Python iterates over the rows of {0}",
    "work on whole tensors; of an axis of fixed length take .unbind(axis)",
)
ROWS = Rule("rows", "{0}: a path that depends on the number of rows", "take it out: a row is the same in every batch")
BATCH = Rule(
    "batch",
    "{0} is taken over all rows",
    "name the item's own axis (dim=-1): a row depends on itself alone",
)
SETTING = Rule(
    "setting",
    "{0}: a path that depends on how the environment runs",
    "take it out: every form, device and thread count gives the same bits",
)
HIDDEN = Rule("hidden", "{0} is the base class's own", "use what the function is given: state, action, draw")
KEPT = Rule("kept", "{0}: state kept outside of State", "make it a field of State, or a constant")
WRITTEN = Rule(
    "written",
    "{0} writes into memory that was handed in or is kept",
    "make a new tensor (x + 1, torch.where, index_copy), or .clone() first",
)
LIBRARY = Rule("float", "{0} is outside the float rule: its bits change with batch size, place and compiler", "")
