"""What each idiom of the page gives, and on which input its trap goes wrong."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

WIDTH, HEIGHT, ITEMS, KINDS, CAPACITY = 7, 5, 6, 3, 4  # as on the page, which a test compares


class Given(NamedTuple):
    """What a snippet leaves in a variable, of one row: dtype and shape."""

    dtype: str
    shape: tuple[int, ...] = ()

    @property
    def size(self) -> int:
        return math.prod(self.shape)


@dataclass(frozen=True)
class Trap:
    """What the wrong form does.

    Attributes:
        static: the kind of problem that the static read finds in it; None where it finds none.
        on: values of fields and the action, for all rows, on which it goes wrong.
        rows: how many rows that takes.
        raises: the message that it raises there; None where it gives something else than the right form.
        right: where it is right nevertheless: ``"alone"`` (each row by itself), ``"here"`` (on that input, while it
            breaks a rule), or "" (nowhere that is promised).
        writes: a field of the state that it writes into.
        default_dtype: torch's default dtype under which it goes wrong.
    """

    static: str | None = None
    on: Mapping[str, Any] = field(default_factory=dict)
    rows: int = 1
    raises: str | None = None
    right: str = ""
    writes: str | None = None
    default_dtype: str = "float32"


@dataclass(frozen=True)
class Case:
    """What an idiom gives by variable, and its trap."""

    gives: Mapping[str, Given]
    trap: Trap


INT, FLOAT, BOOL = Given("int32"), Given("float32"), Given("bool")
LIVE, WEIGHT, BAG = Given("bool", (ITEMS,)), Given("float32", (ITEMS,)), Given("int32", (CAPACITY,))
TWO_LIVE = [False, True, True, False, False, False]
CORNER = [True] + [False] * (WIDTH * HEIGHT - 1)

CASES = {
    "a_mask_lifted_to_the_rank_of_what_it_selects": Case(
        {"live": LIVE}, Trap(on={"energy": [-1.0, 1.0] * 3, "live": [True] * ITEMS}, rows=ITEMS, right="alone")
    ),
    "a_chain_of_conditions": Case({"effort": INT}, Trap(on={"energy": -1.0, "carried": 2})),
    "a_division_in_a_branch": Case({"share": FLOAT}, Trap(on={"energy": 1.5, "count": 0})),
    "an_index_that_may_be_none": Case({"load": FLOAT}, Trap(on={"carried": -1}, raises="index -1 is out of bounds")),
    "rows_that_begin_anew": Case(
        {"x": INT, "energy": FLOAT, "live": LIVE},
        Trap(static="written", on={"energy": -1.0, "x": 3}, right="here", writes="energy"),
    ),
    "reading_one_element_a_row": Case(
        {"gain": FLOAT}, Trap(on={"kind": [[0] * ITEMS, [1] * ITEMS]}, rows=2, right="alone")
    ),
    "writing_one_element_a_row": Case({"weight": WEIGHT}, Trap(on={"weight": [-0.0] * ITEMS})),
    "scatter_with_repeated_indices": Case(
        {"load": Given("float32", (KINDS,))}, Trap(on={"kind": [0, 0, 1, 1, 2, 2], "weight": [1.0] * ITEMS})
    ),
    "the_first_item_that_qualifies": Case({"first": INT}, Trap(on={"live": [True] * ITEMS})),
    "a_range_whose_end_is_data": Case({"total": INT}, Trap(static="left", right="here")),
    "a_draw_for_each_item": Case({"places": Given("int32", (ITEMS,))}, Trap()),
    "a_draw_under_a_condition": Case({"blown": BOOL}, Trap(static="branch", right="here")),
    "a_draw_whose_bound_is_data": Case({"chosen": INT}, Trap(rows=8, on={"live": TWO_LIVE})),
    "rejection_sampling": Case({"cell": INT}, Trap(static="branch", on={"wall": CORNER}, right="here")),
    "a_categorical_draw": Case({"found": INT}, Trap(on={"seed": 61904825, "episode": 0, "t": 0})),  # x0 = 2863311608
    "a_random_order": Case({"order": Given("int32", (ITEMS,))}, Trap(static="source", rows=8)),
    "sorting_with_ties": Case({"order": Given("int32", (ITEMS,))}, Trap(on={"kind": [1] * ITEMS})),
    "the_nearest_with_ties": Case({"nearest": INT}, Trap(on={"item_x": [1] * ITEMS, "item_y": 0, "x": 0, "y": 0})),
    "a_sum_in_order": Case({"total": FLOAT}, Trap(static="float", on={"live": [True] * ITEMS}, rows=65)),
    "one_after_another": Case({"item_x": Given("int32", (ITEMS,))}, Trap(on={"item_x": [1, 0, 5, 5, 5, 5]})),
    "a_loop_that_ends_early": Case(
        {"left": FLOAT, "taken": INT}, Trap(on={"energy": 2.0, "weight": [1.0, 3.0, 0.5, 4.0, 4.0, 4.0]})
    ),
    "saturation": Case({"energy": FLOAT}, Trap(on={"energy": -1.0, "count": 0}, rows=64)),
    "division_and_modulo_of_negatives": Case(
        {"rest": INT, "each": INT, "turned": INT}, Trap(on={"debt": -4, "heading": 0})
    ),
    "counting": Case(
        {"counts": Given("int32", (KINDS,))}, Trap(static="batch", on={"live": [True] * ITEMS}, rows=2, right="alone")
    ),
    "adding_truths": Case({"sides": INT}, Trap(on={"x": 0, "y": 0})),
    "arithmetic_in_float32": Case({"reward": FLOAT}, Trap(on={"energy": 1.7})),
    "constants_in_where": Case({"bonus": FLOAT}, Trap(default_dtype="float64")),
    "flags_in_an_integer": Case({"flags": INT, "carries": BOOL}, Trap(static="float", right="here")),
    "a_ring_buffer": Case(
        {"ring": BAG, "newest": INT, "previous": INT},
        Trap(static="written", on={"ring": [3, 3, 3, 3], "action": 1}, right="here", writes="ring"),
    ),
    "appending_to_a_list": Case(
        {"bag": BAG, "count": INT}, Trap(on={"count": CAPACITY}, raises="index 4 is out of bounds")
    ),
    "removing_from_a_list": Case({"bag": BAG, "count": INT}, Trap(on={"count": 2, "newest": 0, "bag": [1, 2, 0, 0]})),
    "filtering_a_list_in_order": Case(
        {"bag": BAG, "count": INT}, Trap(on={"count": 3, "bag": [3, 1, 2, 0], "action": 2})
    ),
    "neighbours_inside_walls": Case({"blocked": INT}, Trap(on={"x": 0, "y": 1, "wall": [False] * 35})),
    "neighbours_that_wrap_around": Case({"near": Given("int32", (HEIGHT, WIDTH))}, Trap(on={"wall": CORNER})),
}
