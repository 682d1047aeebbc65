"""forager, the kernel form: loops over a block of agents, written from spec.md."""

include "rows.pxi"


cdef void initial(Rows* rows, Draw* draw) noexcept nogil:
    cdef int i, k
    cdef int32_t drawn[BLOCK]
    draw_randint(draw, AGENT_X, 0, GRID, drawn)  # spec, reset 1
    for i in range(BLOCK):
        rows.x[i] = drawn[i]
    draw_randint(draw, AGENT_Y, 0, GRID, drawn)
    for i in range(BLOCK):
        rows.y[i] = drawn[i]
        rows.energy[i] = <float>START_ENERGY  # spec, reset 3
    for k in range(N_BERRIES):
        draw_randint(draw, BERRY_X, k, GRID, drawn)  # spec, reset 2
        for i in range(BLOCK):
            rows.berry_x[k][i] = drawn[i]
        draw_randint(draw, BERRY_Y, k, GRID, drawn)
        for i in range(BLOCK):
            rows.berry_y[k][i] = drawn[i]
        draw_randint(draw, BERRY_KIND, k, N_KINDS, drawn)
        for i in range(BLOCK):
            rows.berry_kind[k][i] = drawn[i]
            rows.berry_live[k][i] = 1  # spec, reset 3


cdef void transition(Rows* rows, Draw* draw) noexcept nogil:
    cdef int i, k, kind, x, y
    cdef int8_t heading  # narrow, so that the compiler keeps the moves in bytes
    cdef float gain, energy
    cdef uint8_t slips[BLOCK]
    cdef uint8_t collected[BLOCK]  # whether the agent has come upon berry k
    cdef uint8_t left[BLOCK]  # whether a berry is left
    cdef float gained[BLOCK]
    draw_bernoulli(draw, SLIP, 0, SLIP_P, slips)
    for i in range(BLOCK):
        heading = (rows.action[i] + slips[i]) & 3  # spec, transition 1: clockwise of an action is the next one
        x = rows.x[i] + (heading == 1) - (heading == 3)  # spec, transition 2
        y = rows.y[i] + (heading == 0) - (heading == 2)
        rows.x[i] = min(max(x, 0), GRID - 1)
        rows.y[i] = min(max(y, 0), GRID - 1)
        left[i] = 0
        gained[i] = 0
    for k in range(N_BERRIES):  # spec, transition 3
        for i in range(BLOCK):
            collected[i] = rows.berry_live[k][i] & (rows.berry_x[k][i] == rows.x[i]) & (rows.berry_y[k][i] == rows.y[i])
            rows.berry_live[k][i] ^= collected[i]
            left[i] |= rows.berry_live[k][i]
        for i in range(BLOCK):
            gain = <float>GAINS[N_KINDS - 1]
            for kind in range(N_KINDS - 1):
                gain = <float>GAINS[kind] if rows.berry_kind[k][i] == kind else gain
            gained[i] += gain if collected[i] else <float>0
    for i in range(BLOCK):
        energy = (rows.energy[i] - <float>STEP_COST) + gained[i]  # spec, transition 4
        rows.energy[i] = energy
        rows.reward[i] = <float>REWARD_SCALE * gained[i] - <float>REWARD_COST  # spec, transition 5
        rows.terminated[i] = (left[i] == 0) | (energy <= 0)  # spec, transition 6


cdef void observation(Rows* rows, Seen* seen) noexcept nogil:
    cdef int i, k
    cdef uint8_t live[BLOCK]
    for i in range(BLOCK):
        live[i] = 0
    for k in range(N_BERRIES):
        for i in range(BLOCK):
            live[i] += rows.berry_live[k][i]
    for i in range(BLOCK):
        seen.observation[0][i] = <float>rows.x[i] / <float>(GRID - 1)
        seen.observation[1][i] = <float>rows.y[i] / <float>(GRID - 1)
        seen.observation[2][i] = rows.energy[i]
        seen.observation[3][i] = <float>live[i] / <float>N_BERRIES
        seen.observation[4][i] = <float>rows.t[i] / <float>MAX_STEPS


include "loop.pxi"
