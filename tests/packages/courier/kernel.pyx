"""courier, the kernel form."""

include "rows.pxi"


cdef void initial(Rows* rows, Draw* draw) noexcept nogil:
    cdef int i, k
    cdef int32_t load[BLOCK]
    for k in range(PARCELS):
        draw_randint(draw, LOAD, k, FULL + 1, load)
        for i in range(BLOCK):
            rows.cargo[k][i] = load[i]
    for i in range(BLOCK):
        rows.speed[i] = 0
        rows.lamp[i] = 0
        rows.total[i] = 0


cdef void transition(Rows* rows, Draw* draw) noexcept nogil:
    cdef int i, falls
    cdef float speed, push, brake
    cdef float gust[BLOCK]
    cdef int32_t kind[BLOCK]
    draw_uniform32(draw, GUST, 0, gust)
    draw_categorical(draw, KIND, 0, WEIGHTS, PARCELS, kind)
    for i in range(BLOCK):
        push, brake = rows.action[0][i], rows.action[1][i]
        speed = rows.speed[i] * <float>FRICTION + push * gust[i]  # spec, transition 1
        speed = -2 if speed < -2 else (2 if speed > 2 else speed)
        falls = (brake > 0) & (rows.cargo[kind[i]][i] > 0)  # spec, transition 2
        rows.cargo[kind[i]][i] -= falls
        rows.total[i] += falls
        rows.speed[i] = speed
        rows.lamp[i] = push < 0  # spec, transition 3
        rows.reward[i] = speed
        rows.terminated[i] = rows.total[i] >= LIMIT or not any_left(rows, i)  # spec, transition 4


cdef inline int any_left(Rows* rows, int i) noexcept nogil:
    cdef int k, left = 0
    for k in range(PARCELS):
        left |= rows.cargo[k][i] > 0
    return left


cdef void observation(Rows* rows, Seen* seen) noexcept nogil:
    cdef int i, k
    for i in range(BLOCK):
        for k in range(PARCELS):
            seen.cargo[k][i] = rows.cargo[k][i]
        seen.road[0][i] = rows.speed[i]
        seen.road[1][i] = rows.lamp[i]


include "loop.pxi"
