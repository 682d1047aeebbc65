"""snake, the kernel form: one snake after another moves over its board, written from spec.md."""

include "rows.pxi"

cdef extern from *:
    void prefetch "__builtin_prefetch"(const void* place) noexcept nogil

cdef enum:  # what a cell holds; from COLOUR on, a snake
    EMPTY = 0
    MEAL = 1  # food, whose name is a slot's
    CORPSE = 2
    WALL = 3
    COLOUR = 4

cdef enum:
    AHEAD = 16  # snakes ahead that memory is asked for: in the loops, as gcc drops a function that does only that


cdef void initial(Rows* rows, Draw* draw) noexcept nogil:
    cdef int row, a, f
    memset(rows.board, WALL, HEIGHT * WIDTH)  # spec, reset 1
    for row in range(VISION, HEIGHT - VISION):
        memset(rows.board + row * WIDTH + VISION, EMPTY, INSIDE_WIDTH)
    memset(rows.turns, 0, <size_t>SNAKES * LONGEST)
    for a in range(SNAKES):  # spec, reset 2
        put_snake(rows, a, free_cell(rows, draw, START, a))
    for f in range(FOODS):  # spec, reset 3
        put_food(rows, free_cell(rows, draw, FOOD, f))


cdef void transition(Rows* rows, Draw* draw) noexcept nogil:
    cdef int a, soon
    for a in range(SNAKES):
        soon = a + AHEAD if a + AHEAD < SNAKES else a
        prefetch(ring(rows, soon) + rows.newest[soon])
        prefetch(rows.board + rows.head[soon] - WIDTH)
        prefetch(rows.board + rows.head[soon])
        prefetch(rows.board + rows.head[soon] + WIDTH)
        rows.reward[a] = 0
        rows.terminated[a] = 0
        if rows.length[a] > 0:
            move(rows, draw, a)
        else:
            put_snake(rows, a, free_cell(rows, draw, RESTART, a))  # spec, transition 1


cdef inline void move(Rows* rows, Draw* draw, int a) noexcept nogil:
    cdef uint8_t* board = rows.board
    cdef uint8_t* turns = ring(rows, a)
    cdef int newest = rows.newest[a], length = rows.length[a], tail = rows.tail[a]
    cdef int latest = turns[newest], direction = <int>rows.action[a]
    cdef int target, held, oldest
    direction ^= (length > 1) & (direction == opposite(latest))  # spec, transition 2, without a branch to guess
    target = beside(rows.head[a], direction)  # spec, transition 3
    held = board[target]
    if held >= WALL:
        die(rows, draw, a)  # spec, transition 4
        return
    newest = newest + 1 if newest < LONGEST - 1 else 0  # spec, transition 5
    turns[newest] = direction
    rows.newest[a] = newest
    rows.head[a] = target
    board[target] = COLOUR + a % N_COLOURS
    if held != EMPTY and length < LONGEST:  # spec, transition 6
        rows.length[a] = length + 1
    else:
        board[tail] = EMPTY
        oldest = newest - (length - 1)
        oldest += LONGEST if oldest < 0 else 0
        rows.tail[a] = beside(tail, turns[oldest])
        turns[oldest] = 0
    if held != EMPTY:
        rows.reward[a] = <float>REWARD_FOOD if held == MEAL else <float>REWARD_CORPSE  # spec, transition 7
        if held == MEAL:
            put_food(rows, free_cell(rows, draw, REGROW, a))  # spec, transition 8


cdef void die(Rows* rows, Draw* draw, int a) noexcept nogil:
    cdef uint8_t* turns = ring(rows, a)
    cdef int k, at = rows.newest[a], cell = rows.head[a]
    rows.reward[a] = <float>REWARD_DEATH
    rows.terminated[a] = 1
    for k in range(rows.length[a]):
        rows.board[cell] = CORPSE if CORPSES and k % 2 == 0 else EMPTY
        cell = beside(cell, opposite(turns[at]))
        turns[at] = 0
        at = at - 1 if at > 0 else LONGEST - 1
    put_snake(rows, a, free_cell(rows, draw, RESTART, a))


cdef void observation(Rows* rows, Seen* seen) noexcept nogil:
    cdef int a, soon, row
    cdef uint8_t* window
    for a in range(SNAKES):
        soon = a + AHEAD if a + AHEAD < SNAKES else a
        for row in range(-VISION, VISION + 1):
            prefetch(rows.board + rows.head[soon] + row * WIDTH)
        window = seen.observation + <Py_ssize_t>a * WINDOW * WINDOW
        if rows.length[a] > 0:
            copy_window(rows.board + rows.head[a] - VISION * WIDTH - VISION, window)
        else:
            memset(window, WALL, WINDOW * WINDOW)


cdef inline void copy_window(const uint8_t* corner, uint8_t* out) noexcept nogil:
    """Copy a window row by row, each but the last in one move of `moved()` bytes: those beyond its end are overwritten.

    They are fewer than a row of the window has, so all of them lie on the board, and in this window.
    """
    cdef int row
    for row in range(WINDOW - 1):
        memcpy(out + row * WINDOW, corner + row * WIDTH, moved())
    memcpy(out + (WINDOW - 1) * WINDOW, corner + (WINDOW - 1) * WIDTH, WINDOW)


cdef inline int moved() noexcept nogil:
    """WINDOW, or the power of two above it where the machine moves that many bytes at once."""
    return 4 if WINDOW <= 4 else 8 if WINDOW <= 8 else 16 if WINDOW <= 16 else 32 if WINDOW <= 32 else WINDOW


cdef int free_cell(Rows* rows, Draw* draw, int slot, int item) noexcept nogil:
    """A free cell for an item of a slot, as the spec finds it; -1 where there is none."""
    cdef int attempt, k
    cdef int32_t i[BLOCK]
    for attempt in range(ATTEMPTS):
        draw_randint(draw, slot, item * ATTEMPTS + attempt, INSIDE, i)  # spec, finding a free cell 1
        if is_free(rows, i[0]):
            return cell_of(i[0])
    for k in range(INSIDE):  # spec, finding a free cell 2
        i[0] = i[0] + 1 if i[0] < INSIDE - 1 else 0
        if is_free(rows, i[0]):
            return cell_of(i[0])
    return -1  # spec, finding a free cell 3


cdef inline int cell_of(int i) noexcept nogil:
    """The i-th of the cells inside."""
    return (VISION + i // INSIDE_WIDTH) * WIDTH + VISION + i % INSIDE_WIDTH


cdef inline bint is_free(Rows* rows, int i) noexcept nogil:
    cdef uint8_t held = rows.board[cell_of(i)]
    return held == EMPTY or held == CORPSE


cdef void put_snake(Rows* rows, int a, int cell) noexcept nogil:
    """A snake of one segment on a cell; of none where there is no cell, and it waits. Its turns are all 0 before."""
    rows.head[a] = cell
    rows.tail[a] = cell
    rows.newest[a] = 0
    rows.length[a] = cell >= 0
    if cell >= 0:
        rows.board[cell] = COLOUR + a % N_COLOURS


cdef inline void put_food(Rows* rows, int cell) noexcept nogil:
    if cell >= 0:
        rows.board[cell] = MEAL


cdef inline int beside(int cell, int direction) noexcept nogil:
    """The next cell up (0), down (1), left (2) or right (3)."""
    cdef int step = 1 if direction & 2 else WIDTH
    return cell + step if direction & 1 else cell - step


cdef inline uint8_t* ring(Rows* rows, int a) noexcept nogil:
    """The turns of a snake."""
    return rows.turns + <Py_ssize_t>a * LONGEST


cdef inline int opposite(int direction) noexcept nogil:
    return direction ^ 1


include "loop.pxi"
