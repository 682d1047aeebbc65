"""board, the kernel form: the board and the image lie in memory, and change in place."""

include "rows.pxi"

cdef enum:
    CELLS = SIDE * SIDE
    KINDS = 4  # weights in FILL_WEIGHTS and in KIND_WEIGHTS


cdef void initial(Rows* rows, Draw* draw) noexcept nogil:
    cdef int i, k
    cdef int32_t level[BLOCK]
    cdef int32_t order[TOOLS * BLOCK]
    cdef uint64_t keys[TOOLS * BLOCK]
    cdef double warm[BLOCK]
    cdef double warmer[BLOCK]
    for k in range(CELLS):
        draw_categorical(draw, FILL, k, FILL_WEIGHTS, KINDS, level)
        for i in range(BLOCK):
            rows.board.row[i][k] = level[i]
    draw_uniform64(draw, WARM, 0, warm)
    draw_uniform64(draw, WARM, 1, warmer)
    draw_permutation(draw, ORDER, 0, TOOLS, keys, order)
    draw_bits64(draw, MARK, 0, <uint64_t*>rows.key)
    for k in range(TOOLS):
        for i in range(BLOCK):
            rows.open[k][i] = 1
            rows.order[k][i] = order[k * BLOCK + i]
    for i in range(BLOCK):
        rows.heat[i] = (warm[i] + warmer[i]) * 0.5
        rows.glow[i] = 0
        rows.score[i] = 0
        rows.code[i] = 1


cdef void transition(Rows* rows, Draw* draw) noexcept nogil:
    cdef int i, j, k
    cdef int32_t spot[BLOCK]
    cdef int32_t kind[BLOCK]
    cdef int32_t order[TOOLS * BLOCK]
    cdef uint64_t keys[TOOLS * BLOCK]
    cdef uint32_t code[BLOCK]
    cdef double jitter[BLOCK]
    for i in range(BLOCK):
        if rows.open[rows.action[2][i]][i]:  # spec, transition 1
            use(rows.board.row[i], rows.action[0][i], rows.action[1][i], rows.action[2][i])
    for j in range(SPOTS):  # spec, transition 2
        draw_randint(draw, SPOT, j, CELLS, spot)
        for i in range(BLOCK):
            rows.board.row[i][spot[i]] ^= 1
    for k in range(TOOLS):  # spec, transition 3
        draw_bernoulli(draw, OPEN, k, OPEN_P, rows.open[k])
    draw_categorical(draw, KIND, 0, KIND_WEIGHTS, KINDS, kind)
    draw_uniform64(draw, JITTER, 0, jitter)
    draw_uniform32(draw, GLOW, 0, rows.glow)
    draw_bits32(draw, CODE, 0, code)
    draw_bits64(draw, KEY, 0, <uint64_t*>rows.key)
    draw_permutation(draw, TURN, 0, TOOLS, keys, order)
    for k in range(TOOLS):
        for i in range(BLOCK):
            rows.order[k][i] = order[k * BLOCK + i]
    for i in range(BLOCK):
        rows.score[i] += (kind[i] - 1) * STAKE  # spec, transition 4
        rows.heat[i] = rows.heat[i] * 0.5 + jitter[i] * 0.5  # spec, transition 5
        rows.reward[i] = <double>kind[i] * rows.heat[i] + <double>rows.glow[i]
        rows.code[i] = code[i]
        rows.terminated[i] = code[i] % 16 == 0  # spec, transition 7


cdef inline void use(uint8_t* board, int row, int column, int tool) noexcept nogil:
    cdef int k
    cdef uint8_t last
    if tool == 0:
        board[row * SIDE + column] = (board[row * SIDE + column] + 1) % LEVELS
    elif tool == 1:
        last = board[row * SIDE + SIDE - 1]
        for k in range(SIDE - 1, 0, -1):
            board[row * SIDE + k] = board[row * SIDE + k - 1]
        board[row * SIDE] = last
    else:
        for k in range(SIDE - 1, 0, -1):
            board[k * SIDE + column] = board[(k - 1) * SIDE + column]
        board[column] = 0


cdef void observation(Rows* rows, Seen* seen) noexcept nogil:
    cdef int i, k, row, column
    cdef uint8_t lit
    for k in range(CELLS):
        for i in range(BLOCK):
            seen.image.row[i][2 * k] = rows.board.row[i][k] * 60
            seen.image.row[i][2 * k + 1] = 0
    for i in range(BLOCK):
        seen.tool[i] = rows.order[0][i]
        seen.heat[0][i] = rows.heat[i]
        seen.heat[1][i] = rows.glow[i]
        seen.lamps[i] = 0
        seen.rich[i] = rows.score[i] > STAKE
        for k in range(TOOLS):
            seen.action_mask[k][i] = rows.open[k][i]
        for k in range(SIDE):
            seen.sums[k][i] = 0
    for k in range(CELLS):  # each lamp lights its neighbours
        row, column = k // SIDE, k % SIDE
        for i in range(BLOCK):
            lit = rows.board.row[i][k] > 0
            seen.lamps[i] += lit
            seen.sums[row][i] += rows.board.row[i][k]
            if row > 0:
                seen.image.row[i][2 * (k - SIDE) + 1] += lit
            if row < SIDE - 1:
                seen.image.row[i][2 * (k + SIDE) + 1] += lit
            if column > 0:
                seen.image.row[i][2 * (k - 1) + 1] += lit
            if column < SIDE - 1:
                seen.image.row[i][2 * (k + 1) + 1] += lit


include "loop.pxi"
