"""Faults to put into snake's kernel on purpose, to measure the battery: each is an edit of kernel.pyx.

They are what goes wrong when rules for many agents on one board are written for speed, as far as it shows with the
constants as they stand in spec.md. Each is a build of some seconds: simulacrum faults envs/snake --kind kernel.
"""

from simulacrum import Fault

Changes = list[tuple[str, str]]  # (old, new); each old text stands in kernel.pyx exactly once

# Lines that more than one fault edits
SEARCH = "    for k in range(INSIDE):  # spec, finding a free cell 2\n"
NEXT = "        i[0] = i[0] + 1 if i[0] < INSIDE - 1 else 0\n"
CLEARED = "    memset(rows.turns, 0, <size_t>SNAKES * LONGEST)\n"
IN_ORDER = "    cdef int a, soon\n    for a in range(SNAKES):"
LOOKS = "            copy_window(rows.board + rows.head[a] - VISION * WIDTH - VISION, window)"
GROWS = "    if held != EMPTY and length < LONGEST:  # spec, transition 6\n"

KERNEL: dict[str, dict[str, Changes]] = {
    "rules": {
        "kernel: a snake of two segments turns back": [("(length > 1) &", "(length > 2) &")],
        "kernel: a snake stops growing one segment early": [("and length < LONGEST:", "and length < LONGEST - 1:")],
        "kernel: corpses are counted from the tail": [("k % 2 == 0", "(rows.length[a] - 1 - k) % 2 == 0")],
        "kernel: food eaten at the longest does not grow again": [
            ("        if held == MEAL:\n", "        if held == MEAL and length < LONGEST:\n")
        ],
        "kernel: a long snake may enter the cell of its own tail": [
            ("    if held >= WALL:\n", "    if held >= WALL and not (target == tail and length > 3):\n")
        ],
        "kernel: a snake that was put moves in the same step": [
            (
                "RESTART, a))  # spec, transition 1",
                "RESTART, a))\n            if rows.length[a] > 0:\n                move(rows, draw, a)",
            )
        ],
        "kernel: the last snake moves first at odd t": [
            (
                IN_ORDER,
                "    cdef int a, soon, b\n    for b in range(SNAKES):\n"
                "        a = SNAKES - 1 - b if draw.t[0] % 2 else b",
            )
        ],
        "kernel: new food looks for a cell before the tail moves on": [
            (GROWS, f"    cdef int early = free_cell(rows, draw, REGROW, a) if held == MEAL else -1\n{GROWS}"),
            ("put_food(rows, free_cell(rows, draw, REGROW, a))", "put_food(rows, early)"),
        ],
        "kernel: the death of the last snake is not told": [
            ("    rows.terminated[a] = 1", "    rows.terminated[a] = a < SNAKES - 1")
        ],
    },
    "randomness": {
        "kernel: no wrap in the search for a free cell": [
            (NEXT, "        i[0] += 1\n        if i[0] >= INSIDE:\n            return -1\n")
        ],
        "kernel: the search begins at the first cell": [(SEARCH, f"    i[0] = INSIDE - 1\n{SEARCH}")],
        "kernel: the search leaves two cells out": [("range(INSIDE):  #", "range(INSIDE - 2):  #")],
        "kernel: food grows again with the draws of the next snake": [
            ("draw, REGROW, a)", "draw, REGROW, (a + 1) % SNAKES)")
        ],
        "kernel: attempts of all items of a slot interleave": [
            ("item * ATTEMPTS + attempt, INSIDE", "item + attempt * (FOODS if slot == FOOD else SNAKES), INSIDE")
        ],
    },
    "mask and reset": {
        "kernel: a reset clears rings up to their lengths": [
            (
                CLEARED,
                "    for a in range(SNAKES):\n        memset(ring(rows, a), 0, min(rows.length[a] + 1, LONGEST))\n",
            )
        ],
        "kernel: a death leaves the latest move of a full ring": [
            ("        turns[at] = 0\n", "        if k > 0 or rows.length[a] < LONGEST:\n            turns[at] = 0\n")
        ],
    },
    "shape": {
        "kernel: the ring of a snake wraps one element late": [
            ("oldest += LONGEST if oldest < 0 else 0", "oldest += LONGEST if oldest < -1 else oldest < 0")
        ],
        "kernel: a snake in the last column sees one column less": [
            (
                LOOKS,
                LOOKS.replace("- VISION, window", "- VISION - (rows.head[a] % WIDTH == WIDTH - VISION - 1), window"),
            )
        ],
        "kernel: the last byte of a waiting snake's window is left": [
            ("memset(window, WALL, WINDOW * WINDOW)", "memset(window, WALL, WINDOW * WINDOW - 1)")
        ],
    },
    "system": {
        "kernel: a window is not copied where its corners are as before": [
            (
                LOOKS,
                "            if (window[0] == rows.board[rows.head[a] - VISION * WIDTH - VISION]\n"
                "                    and window[WINDOW * WINDOW // 2] == COLOUR + a % N_COLOURS\n"
                "                    and window[WINDOW * WINDOW - 1]\n"
                "                    == rows.board[rows.head[a] + VISION * WIDTH + VISION]):\n"
                f"                continue\n{LOOKS}",
            )
        ],
    },
}

FAULTS: list[Fault] = [
    Fault(name, kind, {"kernel.pyx": changes}) for kind, faults in KERNEL.items() for name, changes in faults.items()
]
