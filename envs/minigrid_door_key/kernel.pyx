"""minigrid_door_key, the kernel form: loops over a block of worlds, written from spec.md."""

include "rows.pxi"

cdef enum:
    OPEN = 0
    CLOSED = 1
    LOCKED = 2
    CORNER = SIZE - 2  # column and row of the goal
    VIEW = 2 * REACH + 1  # cells of a side of the view, 7 at most: a row of it is a byte, a bit a column
    ALL = (1 << VIEW) - 1
    COLUMN = 3 * VIEW  # bytes of a column of the view
    IMAGE = VIEW * COLUMN
    BYTE = 8  # bits of one
    GREEN_GOAL = 8  # the original's number for a goal
    WIDE = 32  # bytes that are written at once for a column: those too many are the next one's
    ASIDE = IMAGE + WIDE  # where things are written that are not in view


cdef void initial(Rows* rows, Draw* draw) noexcept nogil:
    """Pairs of numbers until all rows have their agent, then its direction and the door, then their key."""
    cdef int i, x, y, k = 0, waiting = draw.rows  # for the others all words are 0, by which none is ever placed
    cdef int32_t drawn[BLOCK]
    cdef uint64_t even[BLOCK]
    cdef uint64_t odd[BLOCK]
    cdef uint8_t stage[BLOCK]  # 0: the agent is placed next, 1: direction and door, 2: the key, 3: done
    draw_randint(draw, WALL, 0, SIZE - 4, drawn)
    for i in range(BLOCK):
        rows.wall[i] = drawn[i] + 2  # spec, reset 2
        rows.lock[i] = LOCKED
        rows.x[i] = rows.y[i] = rows.door[i] = rows.key_x[i] = rows.key_y[i] = 1
        rows.direction[i] = 0
        stage[i] = 0 if i < draw.rows else 3
    while waiting > 0:
        draw_bits64(draw, PLACE, k, even)
        draw_bits64(draw, PLACE, k + 1, odd)
        k += 2
        for i in range(BLOCK):
            if stage[i] == 1:
                rows.direction[i] = bounded(even[i], 4)  # spec, reset 4
                rows.door[i] = 1 + bounded(odd[i], SIZE - 3)  # spec, reset 5
                stage[i] = 2
            elif stage[i] != 3:
                x = bounded(even[i], rows.wall[i])
                y = bounded(odd[i], SIZE)
                if x < 1 or y < 1 or y > CORNER:
                    continue
                if stage[i] == 0:
                    rows.x[i] = x  # spec, reset 3
                    rows.y[i] = y
                    stage[i] = 1
                elif x != rows.x[i] or y != rows.y[i]:
                    rows.key_x[i] = x  # spec, reset 6
                    rows.key_y[i] = y
                    stage[i] = 3
                    waiting -= 1


cdef inline int bounded(uint64_t drawn, uint64_t n) noexcept nogil:
    """The randint(n) of a draw, where n differs from row to row."""
    return <int>(((drawn >> 32) * n + ((drawn & <uint64_t>0xFFFFFFFF) * n >> 32)) >> 32)


cdef void transition(Rows* rows, Draw* draw) noexcept nogil:
    cdef int i
    # Narrow, so that the compiler keeps them in bytes
    cdef int8_t action, direction, x, y, lock
    cdef uint8_t inside, on_door, on_key, on_goal, carries, nothing, moves, takes, drops, toggles
    cdef uint8_t reached[BLOCK]
    for i in range(BLOCK):
        action, direction, lock = <int8_t>rows.action[i], rows.direction[i], rows.lock[i]
        x = rows.x[i] + (direction == 0) - (direction == 2)  # the cell ahead
        y = rows.y[i] + (direction == 1) - (direction == 3)
        inside = (x != 0) & (x != SIZE - 1) & (y != 0) & (y != SIZE - 1)
        on_door = (x == rows.wall[i]) & (y == rows.door[i])
        on_key = (x == rows.key_x[i]) & (y == rows.key_y[i])
        on_goal = (x == CORNER) & (y == CORNER)
        carries = rows.key_x[i] == 0
        nothing = inside & (x != rows.wall[i]) & (on_key ^ 1) & (on_goal ^ 1)
        moves = (action == 2) & (nothing | on_goal | (on_door & (lock == OPEN)))  # spec, transition 3
        reached[i] = (action == 2) & on_goal  # spec, transition 4
        takes = (action == 3) & on_key  # spec, transition 5
        drops = (action == 4) & nothing & carries  # spec, transition 6
        toggles = (action == 5) & on_door & ((lock != LOCKED) | carries)  # spec, transition 7
        rows.x[i] = x if moves else rows.x[i]
        rows.y[i] = y if moves else rows.y[i]
        rows.direction[i] = (direction + (action == 1) - (action == 0)) & 3  # spec, transition 1 and 2
        rows.lock[i] = (CLOSED if lock == OPEN else OPEN) if toggles else lock
        rows.key_x[i] = x if drops else 0 if takes else rows.key_x[i]
        rows.key_y[i] = y if drops else 0 if takes else rows.key_y[i]
        rows.terminated[i] = reached[i]
    for i in range(BLOCK):
        rows.reward[i] = 1.0 - 0.9 * (<double>(rows.t[i] + 1) / <double>MAX_STEPS) if reached[i] else 0.0


cdef void observation(Rows* rows, Seen* seen) noexcept nogil:
    cdef int i
    cdef uint8_t sides[BLOCK]  # a bit a column of the view that is no wall along its whole length
    cdef uint8_t ends[BLOCK]  # a bit a row of the view that is wall along its whole length, the agent's row first
    cdef uint64_t lit[BLOCK]  # a byte a column of the view, and in it a bit a row, the agent's row first: what is seen
    for i in range(BLOCK):
        seen.direction[i] = rows.direction[i]
        seen.mission[i] = 0
    find_walls(rows, sides, ends)
    find_lit(rows, sides, ends, lit)
    for i in range(BLOCK):
        paint(rows, i, sides[i], ends[i], lit[i], seen.image.row[i])


cdef inline void find_walls(Rows* rows, uint8_t* sides, uint8_t* ends) noexcept nogil:
    """Spec, observation 2: the walls, in the order of the view."""
    cdef int i, k
    cdef int8_t direction, ahead, right, left, beside, between
    cdef uint8_t open_sides, closed_ends
    for i in range(BLOCK):
        direction = rows.direction[i]
        ahead = outer_wall(rows, i, direction)
        right = outer_wall(rows, i, (direction + 1) & 3)
        left = outer_wall(rows, i, (direction + 3) & 3)
        between = rows.wall[i] - rows.x[i]  # to the wall between the rooms: ahead, or beside
        between = between if (direction == 0) | (direction == 3) else -between
        open_sides, closed_ends = 0, 0
        for k in range(VIEW):
            beside = k - REACH
            open_sides |= ((beside < right) & (-beside < left) & (((direction & 1) == 0) | (beside != between))) << k
            closed_ends |= ((k >= ahead) | (((direction & 1) == 0) & (k == between))) << k
        sides[i], ends[i] = open_sides, closed_ends


cdef inline void find_lit(Rows* rows, const uint8_t* sides, const uint8_t* ends, uint64_t* lit) noexcept nogil:
    """Spec, observation 6: a row of the view after the other, from the agent's on."""
    cdef int i, k, row
    cdef int8_t before, beside
    cdef uint8_t clear, through, shows
    cdef uint8_t from_behind[BLOCK]
    cdef uint8_t door_row[BLOCK]
    cdef uint8_t door_bit[BLOCK]  # the open door's, 0 where it is beside the view or hides what is behind it
    cdef uint8_t seen_rows[VIEW][BLOCK]
    for i in range(BLOCK):
        before = steps_before(rows, i, rows.wall[i], rows.door[i])
        beside = steps_beside(rows, i, rows.wall[i], rows.door[i])
        door_row[i] = <uint8_t>before
        shows = (-REACH <= beside) & (beside <= REACH) & (rows.lock[i] == OPEN)
        door_bit[i] = shows << ((beside + REACH) & 7)
        from_behind[i] = 1 << REACH
    for row in range(VIEW):
        for i in range(BLOCK):
            clear = (0 if (ends[i] >> row) & 1 else sides[i]) | (door_bit[i] if door_row[i] == row else 0)
            through = from_behind[i]
            for k in range(VIEW - 1):
                through |= (((through & clear) << 1) | ((through & clear) >> 1)) & ALL
            seen_rows[row][i] = through
            through &= clear
            from_behind[i] = (through | (through << 1) | (through >> 1)) & ALL
    for i in range(BLOCK):
        lit[i] = 0
    for row in range(VIEW):
        for i in range(BLOCK):
            lit[i] |= <uint64_t>seen_rows[row][i] << (BYTE * row)
    for i in range(BLOCK):
        lit[i] = transposed(lit[i])


cdef inline uint64_t transposed(uint64_t rows) noexcept nogil:
    """Eight bytes of eight bits each as a matrix, with rows and columns in each other's place."""
    cdef uint64_t moved
    moved = (rows ^ (rows >> 7)) & <uint64_t>0x00AA00AA00AA00AA
    rows ^= moved ^ (moved << 7)
    moved = (rows ^ (rows >> 14)) & <uint64_t>0x0000CCCC0000CCCC
    rows ^= moved ^ (moved << 14)
    moved = (rows ^ (rows >> 28)) & <uint64_t>0x00000000F0F0F0F0
    return rows ^ moved ^ (moved << 28)


cdef inline void paint(Rows* rows, int i, uint8_t sides, uint8_t ends, uint64_t lit, uint8_t* out) noexcept nogil:
    """The image of a row: walls and empty cells column by column, then the things in it."""
    cdef int column, k
    cdef uint8_t walls, shown
    cdef uint8_t bit[WIDE]  # of each byte of a column: the bit of its row
    cdef uint8_t of_wall[WIDE]  # the byte where there is wall
    cdef uint8_t of_empty[WIDE]  # where there is nothing
    cdef uint8_t image[ASIDE + 3]
    for k in range(WIDE):
        bit[k] = 1 << (VIEW - 1 - k // 3) if k < COLUMN else 0
        of_wall[k] = 2 if k % 3 == 0 else 5 if k % 3 == 1 else 0
        of_empty[k] = 1 if k % 3 == 0 else 0
    for column in range(VIEW):
        shown = <uint8_t>(lit >> (BYTE * column))
        walls = ends if (sides >> column) & 1 else ALL
        for k in range(WIDE):
            image[column * COLUMN + k] = (of_wall[k] if walls & bit[k] else of_empty[k]) if shown & bit[k] else 0
    place_thing(rows, i, CORNER, CORNER, GREEN_GOAL, 1, 0, lit, image)
    place_thing(rows, i, rows.wall[i], rows.door[i], 4, 4, rows.lock[i], lit, image)
    if rows.key_x[i] != 0:
        place_thing(rows, i, rows.key_x[i], rows.key_y[i], 5, 4, 0, lit, image)
    k = REACH * COLUMN + 3 * (VIEW - 1)  # spec, observation 7
    image[k] = 5 if rows.key_x[i] == 0 else 1
    image[k + 1] = 4 if rows.key_x[i] == 0 else 0
    image[k + 2] = 0
    memcpy(out, image, IMAGE)


cdef inline void place_thing(Rows* rows, int i, int x, int y, int thing, int colour, int state, uint64_t lit,
                             uint8_t* image) noexcept nogil:
    """A thing where it is in the view, if it is seen there."""
    cdef int before = steps_before(rows, i, x, y), beside = steps_beside(rows, i, x, y)
    cdef int in_view = (0 <= before) & (before < VIEW) & (-REACH <= beside) & (beside <= REACH)
    cdef int bit = BYTE * (beside + REACH) + before
    cdef int at = (REACH + beside) * COLUMN + 3 * (VIEW - 1 - before) if in_view and (lit >> bit) & 1 else ASIDE
    image[at], image[at + 1], image[at + 2] = thing, colour, state


cdef inline int steps_before(Rows* rows, int i, int x, int y) noexcept nogil:
    """How many steps ahead of the agent a cell is."""
    cdef int direction = rows.direction[i]
    return (((direction == 0) - (direction == 2)) * (x - rows.x[i])
            + ((direction == 1) - (direction == 3)) * (y - rows.y[i]))


cdef inline int steps_beside(Rows* rows, int i, int x, int y) noexcept nogil:
    """How many steps to the right of the agent a cell is."""
    cdef int direction = rows.direction[i]
    return (((direction == 0) - (direction == 2)) * (y - rows.y[i])
            - ((direction == 1) - (direction == 3)) * (x - rows.x[i]))


cdef inline int8_t outer_wall(Rows* rows, int i, int8_t direction) noexcept nogil:
    """How many steps away the outer wall is in a direction."""
    cdef int8_t place = rows.y[i] if direction & 1 else rows.x[i]
    return place if direction & 2 else SIZE - 1 - place


include "loop.pxi"
