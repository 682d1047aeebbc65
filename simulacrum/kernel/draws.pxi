# The draws of a block of rows: the same bits as simulacrum.rng.Draw, BLOCK of them at a time. `out` takes one element a
# row; `index` counts the repeats of a slot. Source: DESIGN, Randomness.

cdef struct Draw:
    const uint32_t* k0  # the episodes' keys, one a row
    const uint32_t* k1
    const uint32_t* t  # step counters, 0 at a reset
    int rows  # that are drawn for, a multiple of 16; the others' words are 0
    int phase  # _RESET or _STEP
    int wrong  # 1 + a slot that was drawn in the other phase; less than 0: with an index that is none


cdef inline void draw_words(Draw* draw, int slot, int index, uint32_t* x0, uint32_t* x1) noexcept nogil:
    """Both words of a draw."""
    cdef int i
    cdef uint32_t counter = (<uint32_t>slot << 24) | <uint32_t>index
    if _SLOT_PHASES[slot] != draw.phase:
        draw.wrong = slot + 1
    if <unsigned int>index >= 1 << 24:
        draw.wrong = -slot - 1
    if draw.rows < BLOCK:
        memset(x0 + draw.rows, 0, (BLOCK - draw.rows) * sizeof(uint32_t))
        memset(x1 + draw.rows, 0, (BLOCK - draw.rows) * sizeof(uint32_t))
    for i in range(draw.rows):
        block(draw.k0[i], draw.k1[i], draw.t[i], counter, x0 + i, x1 + i)


cdef inline void draw_bits32(Draw* draw, int slot, int index, uint32_t* out) noexcept nogil:
    """32 uniform bits."""
    cdef uint32_t x1[BLOCK]
    draw_words(draw, slot, index, out, x1)


cdef inline void draw_bits64(Draw* draw, int slot, int index, uint64_t* out) noexcept nogil:
    """64 uniform bits."""
    cdef int i
    cdef uint32_t x0[BLOCK]
    cdef uint32_t x1[BLOCK]
    draw_words(draw, slot, index, x0, x1)
    for i in range(BLOCK):
        out[i] = (<uint64_t>x0[i] << 32) | x1[i]


cdef inline void draw_uniform32(Draw* draw, int slot, int index, float* out) noexcept nogil:
    """Uniform on [0, 1) with 24 bits."""
    cdef int i
    cdef uint32_t x0[BLOCK]
    cdef uint32_t x1[BLOCK]
    draw_words(draw, slot, index, x0, x1)
    for i in range(BLOCK):
        out[i] = <float><int32_t>(x0[i] >> 8) * <float>5.9604644775390625e-08  # 2**-24


cdef inline void draw_uniform64(Draw* draw, int slot, int index, double* out) noexcept nogil:
    """Uniform on [0, 1) with 53 bits."""
    cdef int i
    cdef uint64_t words[BLOCK]
    draw_bits64(draw, slot, index, words)
    for i in range(BLOCK):
        out[i] = <double><int64_t>(words[i] >> 11) * 1.1102230246251565e-16  # 2**-53


cdef inline void draw_randint(Draw* draw, int slot, int index, uint32_t n, int32_t* out) noexcept nogil:
    """Uniform on 0..n-1, 1 <= n <= 2**31."""
    cdef int i
    cdef uint32_t x0[BLOCK]
    cdef uint32_t x1[BLOCK]
    draw_words(draw, slot, index, x0, x1)
    for i in range(BLOCK):
        out[i] = <int32_t>((<uint64_t>x0[i] * n + (<uint64_t>x1[i] * n >> 32)) >> 32)


cdef inline void draw_bernoulli(Draw* draw, int slot, int index, double p, uint8_t* out) noexcept nogil:
    """1 with probability p (0, or 2**-32 to 1), else 0."""
    cdef int i
    cdef uint64_t threshold = <uint64_t>(p * 4294967296.0)
    cdef uint32_t below = <uint32_t>threshold
    cdef uint8_t always = <uint8_t>(threshold >> 32)
    cdef uint32_t x0[BLOCK]
    cdef uint32_t x1[BLOCK]
    draw_words(draw, slot, index, x0, x1)
    for i in range(BLOCK):
        out[i] = (x0[i] < below) | always


cdef inline void draw_categorical(Draw* draw, int slot, int index, const double* weights, int n,
                                  int32_t* out) noexcept nogil:
    """i with probability weights[i] / sum(weights): n finite weights >= 0, not all 0."""
    cdef int i, k
    cdef double total = 0.0, part = 0.0
    cdef uint64_t threshold
    cdef uint32_t x0[BLOCK]
    cdef uint32_t x1[BLOCK]
    draw_words(draw, slot, index, x0, x1)
    for k in range(n):
        total = total + weights[k]
    for i in range(BLOCK):
        out[i] = 0
    for k in range(n):
        part = part + weights[k]
        threshold = <uint64_t>(part / total * 4294967296.0)
        for i in range(BLOCK):
            out[i] += x0[i] >= threshold


cdef inline void draw_permutation(Draw* draw, int slot, int index, int n, uint64_t* keys, int32_t* out) noexcept nogil:
    """A permutation of 0..n-1 a row: element k of row i at out[k * BLOCK + i]; ``keys`` has room for n * BLOCK."""
    cdef int i, k, place
    cdef uint64_t key
    for k in range(n):
        draw_bits64(draw, slot, index + k, keys + k * BLOCK)
    for i in range(BLOCK):
        for k in range(n):  # insertion sort, which is stable
            key = keys[k * BLOCK + i]
            place = k
            while place > 0 and keys[(place - 1) * BLOCK + i] > key:
                keys[place * BLOCK + i] = keys[(place - 1) * BLOCK + i]
                out[place * BLOCK + i] = out[(place - 1) * BLOCK + i]
                place -= 1
            keys[place * BLOCK + i] = key
            out[place * BLOCK + i] = k
