"""taxi, the kernel form: loops over a block of taxis, written from spec.md."""

include "rows.pxi"

cdef enum:
    SOUTH = 0
    NORTH = 1
    EAST = 2
    WEST = 3
    PICK_UP = 4
    DROP_OFF = 5
    IN_TAXI = 4
    NOWHERE = -1  # of a taxi that is on no pad
    LAST = 4  # row and column
    STARTS = 300


cdef inline int8_t east(int8_t row, int8_t column) noexcept nogil:
    """Spec, "The city": whether neither a wall nor the edge is on the east side of a cell."""
    cdef int8_t in_the_north = (row <= 1) & (column == 1)
    cdef int8_t in_the_south = (row >= 3) & ((column == 0) | (column == 2))
    return (in_the_north | in_the_south | (column == LAST)) == 0


cdef inline int8_t west(int8_t row, int8_t column) noexcept nogil:
    """The same of its west side."""
    return (column > 0) & east(row, column - 1)


cdef inline int8_t pad(int8_t row, int8_t column) noexcept nogil:
    """The pad at a cell, or NOWHERE."""
    cdef int8_t red = (row == 0) & (column == 0)
    cdef int8_t green = (row == 0) & (column == LAST)
    cdef int8_t yellow = (row == LAST) & (column == 0)
    cdef int8_t blue = (row == LAST) & (column == 3)
    return NOWHERE + red + 2 * green + 3 * yellow + 4 * blue


cdef inline int8_t way(int8_t row, int8_t column, int8_t heading) noexcept nogil:
    """Whether nothing stops a move."""
    cdef int8_t along = ((heading == SOUTH) & (row < LAST)) | ((heading == NORTH) & (row > 0))
    return along | ((heading == EAST) & east(row, column)) | ((heading == WEST) & west(row, column))


cdef void initial(Rows* rows, Draw* draw) noexcept nogil:
    cdef int i, k, place, passenger, other
    cdef double ends[STARTS]
    cdef double end = 0.0
    cdef double number[BLOCK]
    for k in range(STARTS):  # spec, reset 1
        end = end + 1.0 / <double>STARTS
        ends[k] = end
    draw_uniform64(draw, START, 0, number)
    for i in range(BLOCK):
        place = min(<int>(number[i] * STARTS), STARTS - 1)  # or one beside, for no end is 1e-14 from its k / STARTS
        place -= place > 0 and number[i] < ends[place - 1]
        place += number[i] >= ends[place]
        place = 0 if place == STARTS else place
        passenger, other = place // 3 % 4, place % 3
        rows.row[i] = place // 60
        rows.column[i] = place // 12 % 5
        rows.passenger[i] = passenger
        rows.destination[i] = other + (other >= passenger)
        rows.fickle_step[i] = 0
        if number[i] >= ends[STARTS - 1]:
            rows.destination[i] = 0
    if FICKLE:  # spec, reset 2
        draw_uniform64(draw, MOOD, 0, number)
        for i in range(BLOCK):
            rows.fickle_step[i] = number[i] < FICKLE_P


cdef void transition(Rows* rows, Draw* draw) noexcept nogil:
    cdef int i
    cdef int8_t row, column, action, here, boards, alights, arrives, goes
    cdef int8_t heading[BLOCK]
    cdef int8_t earned[BLOCK]  # bytes apart from floats, so that the compiler keeps the first loop in bytes
    cdef uint8_t rethinks[BLOCK]
    cdef uint8_t any_rethinks = 0
    for i in range(BLOCK):
        heading[i] = rows.action[i]
    if RAINY:
        drift(rows, draw, heading)
    for i in range(BLOCK):
        action, row, column = rows.action[i], rows.row[i], rows.column[i]
        here = pad(row, column)
        goes = way(row, column, heading[i])  # spec, transition 1
        rows.row[i] = row + (goes & (heading[i] == SOUTH)) - (goes & (heading[i] == NORTH))
        rows.column[i] = column + (goes & (heading[i] == EAST)) - (goes & (heading[i] == WEST))
        rethinks[i] = goes & rows.fickle_step[i] & (rows.passenger[i] == IN_TAXI)  # spec, transition 5
        any_rethinks |= rethinks[i]
        boards = (action == PICK_UP) & (here == rows.passenger[i])  # spec, transition 3: on no pad nobody waits
        alights = (action == DROP_OFF) & (rows.passenger[i] == IN_TAXI) & (here != NOWHERE)  # spec, transition 4
        arrives = alights & (here == rows.destination[i])
        rows.passenger[i] = IN_TAXI if boards else here if alights else rows.passenger[i]
        earned[i] = 20 if arrives else -10 if (action >= PICK_UP) > (boards | alights) else -1
        rows.terminated[i] = arrives
    for i in range(BLOCK):
        rows.reward[i] = <float>earned[i]
    if FICKLE and any_rethinks:
        rethink(rows, draw, rethinks)


cdef inline void drift(Rows* rows, Draw* draw, int8_t* heading) noexcept nogil:
    """Spec, transition 2: where the rain carries the taxis."""
    cdef int i
    cdef int8_t drifts, side
    cdef int8_t turn[BLOCK]  # 1 to the left, 2 to the right, 0 and 3 straight
    cdef double lateral = (1.0 - STRAIGHT_P) / 2.0
    cdef double number[BLOCK]
    draw_uniform64(draw, MOVE, 0, number)
    for i in range(BLOCK):
        turn[i] = (number[i] >= STRAIGHT_P) + (number[i] >= STRAIGHT_P + lateral)
        turn[i] += number[i] >= (STRAIGHT_P + lateral) + lateral
    for i in range(BLOCK):
        drifts = ((turn[i] == 1) | (turn[i] == 2)) & way(rows.row[i], rows.column[i], heading[i])
        side = heading[i] ^ 2 ^ (heading[i] >> 1)  # the left: south - east - north - west - south
        side ^= turn[i] == 2  # the right is opposite
        heading[i] = side if drifts else heading[i]


cdef inline void rethink(Rows* rows, Draw* draw, const uint8_t* rethinks) noexcept nogil:
    """Spec, transition 5: another destination."""
    cdef int i
    cdef int32_t other[BLOCK]
    draw_randint(draw, DESTINATION, 0, 3, other)
    for i in range(BLOCK):
        other[i] += other[i] >= rows.destination[i]
        rows.destination[i] = other[i] if rethinks[i] else rows.destination[i]
        rows.fickle_step[i] &= rethinks[i] ^ 1


cdef void observation(Rows* rows, Seen* seen) noexcept nogil:
    cdef int i
    cdef int8_t row, column, here
    for i in range(BLOCK):
        row, column = rows.row[i], rows.column[i]
        here = pad(row, column)
        seen.action_mask[0][i] = row < LAST
        seen.action_mask[1][i] = row > 0
        seen.action_mask[2][i] = east(row, column)
        seen.action_mask[3][i] = west(row, column)
        seen.action_mask[4][i] = here == rows.passenger[i]
        seen.action_mask[5][i] = (rows.passenger[i] == IN_TAXI) & (here != NOWHERE)
    for i in range(BLOCK):
        seen.observation[i] = ((rows.row[i] * 5 + rows.column[i]) * 5 + rows.passenger[i]) * 4 + rows.destination[i]


include "loop.pxi"
