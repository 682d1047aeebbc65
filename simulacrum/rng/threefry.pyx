# cython: language_level=3, boundscheck=False, wraparound=False
"""Threefry-2x32-20 over rows: the native form of simulacrum.rng. Addresses come from tensors that the caller holds.

Words lie element after element, each over all rows, so that the loops over rows fill whole vector registers.
"""

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t

include "block.pxi"

cdef extern from *:
    """
    /* Four registers of rows at a time: the rounds of one block hang on each other, those of four blocks overlap. */
    #define WIDTH 16
    #define CHAINS 4
    typedef uint32_t lanes_t __attribute__((vector_size(4 * WIDTH), aligned(4), may_alias));

    #define EACH for (int i = 0; i < CHAINS; i++)
    #define ROUND(r) \
        EACH x0[i] += x1[i]; \
        EACH x1[i] = (x1[i] << r) | (x1[i] >> (32 - r)); \
        EACH x1[i] ^= x0[i];
    #define FOUR(a, b, c, d) ROUND(a) ROUND(b) ROUND(c) ROUND(d)
    #define INJECT(a, b, n) EACH { x0[i] += a[i]; x1[i] += b[i] + n; }

    static inline void blocks(const lanes_t *k0, const lanes_t *k1, const lanes_t *x0_in, const lanes_t *x1_in,
                              uint32_t *out0, uint32_t *out1)
    {
        lanes_t k2[CHAINS], x0[CHAINS], x1[CHAINS];
        EACH { k2[i] = k0[i] ^ k1[i] ^ 0x1BD11BDAu; x0[i] = x0_in[i] + k0[i]; x1[i] = x1_in[i] + k1[i]; }
        FOUR(13, 15, 26, 6)  INJECT(k1, k2, 1)
        FOUR(17, 29, 16, 24) INJECT(k2, k0, 2)
        FOUR(13, 15, 26, 6)  INJECT(k0, k1, 3)
        FOUR(17, 29, 16, 24) INJECT(k1, k2, 4)
        FOUR(13, 15, 26, 6)  INJECT(k2, k0, 5)
        EACH { ((lanes_t *)out0)[i] = x0[i]; ((lanes_t *)out1)[i] = x1[i]; }
    }

    /* WIDTH * CHAINS rows: keys, first counter words, one second counter word. */
    static inline void draw_rows(const uint32_t *k0, const uint32_t *k1, const uint32_t *c0, uint32_t c1,
                                 uint32_t *out0, uint32_t *out1)
    {
        lanes_t second[CHAINS];
        EACH second[i] = (lanes_t){0} + c1;
        blocks((const lanes_t *)k0, (const lanes_t *)k1, (const lanes_t *)c0, second, out0, out1);
    }

    /* The same for the keys of episodes of seeds. */
    static inline void draw_keys(const uint64_t *seeds, const int64_t *episodes, uint32_t ahead, uint32_t c1,
                                 uint32_t *out0, uint32_t *out1)
    {
        lanes_t k0[CHAINS], k1[CHAINS], first[CHAINS], second[CHAINS];
        EACH second[i] = (lanes_t){0} + c1;
        for (int j = 0; j < WIDTH * CHAINS; j++) {
            ((uint32_t *)k0)[j] = (uint32_t)(seeds[j] >> 32);
            ((uint32_t *)k1)[j] = (uint32_t)seeds[j];
            ((uint32_t *)first)[j] = (uint32_t)episodes[j] + ahead;
        }
        blocks(k0, k1, first, second, out0, out1);
    }
    """
    void draw_rows(const uint32_t* k0, const uint32_t* k1, const uint32_t* c0, uint32_t c1,
                   uint32_t* out0, uint32_t* out1) noexcept nogil
    void draw_keys(const uint64_t* seeds, const int64_t* episodes, uint32_t ahead, uint32_t c1,
                   uint32_t* out0, uint32_t* out1) noexcept nogil

cdef enum:
    ROWS_AT_ONCE = 64  # WIDTH * CHAINS
    TILE = 1024  # rows whose keys and counters stay in the first-level cache while element after element is drawn
    EPISODE_COUNTER = 0xFF000000


cdef void fill(const uint32_t* k0, const uint32_t* k1, const uint32_t* c0, uint32_t c1, Py_ssize_t rows,
               uint32_t* out0, uint32_t* out1) noexcept nogil:
    """One element of every row."""
    cdef Py_ssize_t row = 0
    while row + ROWS_AT_ONCE <= rows:
        draw_rows(k0 + row, k1 + row, c0 + row, c1, out0 + row, out1 + row)
        row += ROWS_AT_ONCE
    while row < rows:
        block(k0[row], k1[row], c0[row], c1, out0 + row, out1 + row)
        row += 1


cdef void fill_keys(const uint64_t* seeds, const int64_t* episodes, uint32_t ahead, Py_ssize_t rows,
                    uint32_t* out0, uint32_t* out1) noexcept nogil:
    cdef Py_ssize_t row = 0
    while row + ROWS_AT_ONCE <= rows:
        draw_keys(seeds + row, episodes + row, ahead, <uint32_t>EPISODE_COUNTER, out0 + row, out1 + row)
        row += ROWS_AT_ONCE
    while row < rows:
        block(<uint32_t>(seeds[row] >> 32), <uint32_t>seeds[row], <uint32_t>episodes[row] + ahead,
              <uint32_t>EPISODE_COUNTER, out0 + row, out1 + row)
        row += 1


cdef void fill_range(const uint32_t* k0, const uint32_t* k1, const int64_t* c0, uint32_t first, Py_ssize_t count,
                     Py_ssize_t rows, uint32_t* out0, uint32_t* out1) noexcept nogil:
    """``count`` elements of every row, in tiles; all first counter words are 0 where ``c0`` is NULL."""
    cdef Py_ssize_t start = 0, size, element, row
    cdef uint32_t[TILE] counters
    while start < rows:
        size = min(<Py_ssize_t>TILE, rows - start)
        for row in range(size):
            counters[row] = 0 if c0 == NULL else <uint32_t>c0[start + row]
        for element in range(count):
            fill(k0 + start, k1 + start, counters, first + <uint32_t>element, size,
                 out0 + element * rows + start, out1 + element * rows + start)
        start += size


cdef void fill_ranges(const uint32_t* k0, const uint32_t* k1, const int64_t* c0, list ranges, Py_ssize_t rows,
                      uint32_t* out0, uint32_t* out1):
    cdef Py_ssize_t place
    cdef uint32_t first
    cdef Py_ssize_t count
    for place in range(0, len(ranges), 2):
        first, count = ranges[place], ranges[place + 1]
        with nogil:
            fill_range(k0, k1, c0, first, count, rows, out0, out1)
        out0 += count * rows
        out1 += count * rows


def words(size_t k0, size_t k1, size_t c0, list ranges, Py_ssize_t rows, size_t out0, size_t out1):
    """Addresses of int32 [rows] keys and int64 [rows] counters, and second words as first, count, first, count ...;
    fills int32 [C, rows] at out0 and at out1."""
    fill_ranges(<const uint32_t*>k0, <const uint32_t*>k1, <const int64_t*>c0, ranges, rows,
                <uint32_t*>out0, <uint32_t*>out1)


def begin(size_t seeds, size_t episodes, uint32_t ahead, list ranges, Py_ssize_t rows, size_t out0, size_t out1):
    """Addresses of int64 [rows] seeds and episodes; fills int32 [1 + C, rows] at out0 and at out1: the keys of the
    episodes so many ahead, then the words that they draw at t = 0."""
    cdef uint32_t* x0 = <uint32_t*>out0
    cdef uint32_t* x1 = <uint32_t*>out1
    with nogil:
        fill_keys(<const uint64_t*>seeds, <const int64_t*>episodes, ahead, rows, x0, x1)
    fill_ranges(x0, x1, NULL, ranges, rows, x0 + rows, x1 + rows)


cdef void begin_listed(const uint32_t* listed, Py_ssize_t count, const uint64_t* seeds, const int64_t* episodes,
                       uint32_t ahead, const uint32_t* second, Py_ssize_t words, Py_ssize_t rows,
                       uint32_t* out0, uint32_t* out1) noexcept nogil:
    """The keys and words of at most ROWS_AT_ONCE listed rows, drawn together."""
    cdef uint64_t[ROWS_AT_ONCE] seed
    cdef int64_t[ROWS_AT_ONCE] episode
    cdef uint32_t[ROWS_AT_ONCE] k0, k1, x0, x1, zeros
    cdef Py_ssize_t i, word
    for i in range(ROWS_AT_ONCE):
        seed[i] = seeds[listed[i if i < count else 0]]
        episode[i] = episodes[listed[i if i < count else 0]]
        zeros[i] = 0
    draw_keys(seed, episode, ahead, <uint32_t>EPISODE_COUNTER, k0, k1)
    for i in range(count):
        out0[listed[i]] = k0[i]
        out1[listed[i]] = k1[i]
    for word in range(words):
        draw_rows(k0, k1, zeros, second[word], x0, x1)
        for i in range(count):
            out0[(1 + word) * rows + listed[i]] = x0[i]
            out1[(1 + word) * rows + listed[i]] = x1[i]


def begin_ended(size_t ended, size_t seeds, size_t episodes, uint32_t ahead, size_t second, Py_ssize_t words,
                Py_ssize_t rows, size_t out0, size_t out1):
    """``begin`` for the rows of a mask alone: the address of bytes [rows], of which those that are 1 count, and of
    ``words`` second counter words (uint32)."""
    cdef const uint8_t* mask = <const uint8_t*>ended
    cdef uint32_t[2 * ROWS_AT_ONCE] listed
    cdef Py_ssize_t row, start = 0, stop, count = 0
    with nogil:
        while start < rows:
            stop = min(start + ROWS_AT_ONCE, rows)
            for row in range(start, stop):  # without a branch, since no processor can tell who ends
                listed[count] = <uint32_t>row
                count += mask[row]
            start = stop
            if count >= ROWS_AT_ONCE or (count and start == rows):
                begin_listed(listed, min(count, <Py_ssize_t>ROWS_AT_ONCE), <const uint64_t*>seeds,
                             <const int64_t*>episodes, ahead, <const uint32_t*>second, words, rows,
                             <uint32_t*>out0, <uint32_t*>out1)
                count -= ROWS_AT_ONCE
                for row in range(count):
                    listed[row] = listed[ROWS_AT_ONCE + row]
                if count < 0:
                    count = 0
                elif count and start == rows:
                    begin_listed(listed, count, <const uint64_t*>seeds, <const int64_t*>episodes, ahead,
                                 <const uint32_t*>second, words, rows, <uint32_t*>out0, <uint32_t*>out1)
