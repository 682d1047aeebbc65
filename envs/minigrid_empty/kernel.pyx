"""minigrid_empty, the kernel form: loops over a block of rooms, written from spec.md."""

include "rows.pxi"

cdef enum:
    CORNER = SIZE - 2  # column and row of the goal
    VIEW = 2 * REACH + 1  # cells of a side of the view
    COLUMN = 3 * VIEW  # bytes of a column of it


cdef void initial(Rows* rows, Draw* draw) noexcept nogil:
    cdef int i
    for i in range(BLOCK):
        rows.x[i] = 1  # spec, reset 2
        rows.y[i] = 1
        rows.direction[i] = 0
    if RANDOM_START:
        random_start(rows, draw)


cdef void random_start(Rows* rows, Draw* draw) noexcept nogil:
    """Spec, reset 3: pairs of numbers until all rows have a place, and then one more of each row."""
    cdef int i, k = 0, waiting = draw.rows  # for the others all words are 0, by which none is ever placed
    cdef int32_t x[BLOCK]
    cdef int32_t y[BLOCK]
    cdef int32_t turns[BLOCK]
    cdef uint8_t stage[BLOCK]  # 0 is placed next, 1 is turned next, 2 stands
    for i in range(BLOCK):
        stage[i] = 0 if i < draw.rows else 2
    while waiting > 0:
        draw_randint(draw, START, k, SIZE, x)
        draw_randint(draw, START, k, 4, turns)
        draw_randint(draw, START, k + 1, SIZE, y)
        k += 2
        for i in range(BLOCK):
            if stage[i] == 1:
                rows.direction[i] = turns[i]
                stage[i] = 2
                waiting -= 1
            elif stage[i] == 0 and is_free(x[i], y[i]):
                rows.x[i] = x[i]
                rows.y[i] = y[i]
                stage[i] = 1


cdef inline bint is_free(int x, int y) noexcept nogil:
    return 1 <= x <= CORNER and 1 <= y <= CORNER and not (x == CORNER and y == CORNER)


cdef void transition(Rows* rows, Draw* draw) noexcept nogil:
    cdef int i
    cdef int8_t action, direction, x, y, forward  # narrow, so that the compiler keeps them in bytes
    cdef uint8_t reached[BLOCK]
    for i in range(BLOCK):
        action, direction = <int8_t>rows.action[i], rows.direction[i]
        forward = action == 2
        x = rows.x[i] + forward * ((direction == 0) - (direction == 2))
        y = rows.y[i] + forward * ((direction == 1) - (direction == 3))
        reached[i] = forward & (x == CORNER) & (y == CORNER)  # spec, transition 4
        rows.x[i] = min(max(x, 1), CORNER)  # spec, transition 3
        rows.y[i] = min(max(y, 1), CORNER)
        rows.direction[i] = (direction + (action == 1) - (action == 0)) & 3  # spec, transition 1 and 2
        rows.terminated[i] = reached[i]
    for i in range(BLOCK):
        rows.reward[i] = 1.0 - 0.9 * (<double>(rows.t[i] + 1) / <double>MAX_STEPS) if reached[i] else 0.0


cdef void observation(Rows* rows, Seen* seen) noexcept nogil:
    """A column of the view shows empty cells up to the wall ahead, or nothing but wall: a part of a line of both."""
    cdef int i, k, column, across, down, ahead, right, left, before, beside, shift
    cdef uint8_t line[2 * COLUMN]
    cdef uint8_t* image
    memset(line, 0, 2 * COLUMN)
    for k in range(VIEW):
        line[3 * k], line[3 * k + 1] = 2, 5  # spec, observation 2
        line[COLUMN + 3 * k] = 1  # spec, observation 3
    for i in range(BLOCK):
        seen.direction[i] = rows.direction[i]
        seen.mission[i] = 0
    for i in range(BLOCK):
        image = seen.image.row[i]
        ahead = wall(rows, i, 0)
        right = wall(rows, i, 1)
        left = wall(rows, i, 3)
        shift = 3 * min(ahead, VIEW)
        for column in range(VIEW):
            beside = column - REACH
            memcpy(image + column * COLUMN, line + (shift if -left < beside < right else 0), COLUMN)
        across = (rows.direction[i] == 0) - (rows.direction[i] == 2)
        down = (rows.direction[i] == 1) - (rows.direction[i] == 3)
        before = across * (CORNER - rows.x[i]) + down * (CORNER - rows.y[i])
        beside = across * (CORNER - rows.y[i]) - down * (CORNER - rows.x[i])
        if 0 <= before < VIEW and -REACH <= beside <= REACH and (before | beside) != 0:  # spec, observation 4
            image += (REACH + beside) * COLUMN + 3 * (VIEW - 1 - before)
            image[0], image[1] = 8, 1


cdef inline int wall(Rows* rows, int i, int turn) noexcept nogil:
    """How many steps away the wall is for one who has turned to the right so often."""
    cdef int direction = (rows.direction[i] + turn) & 3
    cdef int place = rows.y[i] if direction & 1 else rows.x[i]
    return place if direction & 2 else SIZE - 1 - place


include "loop.pxi"
