# The loop over all rows of a kernel: blocks of rows are loaded, advanced by the package's `transition`, looked at by its
# `observation`, and stored; then the rows that ended are listed and begun anew by its `initial`. `rows.pxi` comes before.

from cython.parallel cimport prange
from libc.string cimport memset

cdef extern from *:
    int lowest_bit "__builtin_ctzll"(uint64_t bits) noexcept nogil

cdef enum:
    EPISODE_COUNTER = 0xFF000000  # second counter word of an episode key


cdef struct Step:  # what a step is given, and where its results go
    const ACTION* action
    const uint8_t* waiting  # rows whose next episode begins in place of a step; NULL for none
    int renews  # whether the rows that end begin their next episode
    Targets ended  # what the step shows
    Targets now  # what is seen when the next step begins; only where rows are renewed
    REWARD* reward
    uint8_t* terminated
    uint8_t* truncated
    uint8_t* done


cdef void advance(Memory* memory, Step* step, Py_ssize_t first, Py_ssize_t last) noexcept nogil:
    """One step of the rows first..last-1; first is a multiple of BLOCK."""
    cdef Py_ssize_t at, listed = 0
    cdef int count, i
    cdef Rows rows
    cdef Seen seen
    cdef Draw draw
    cdef uint8_t truncated[BLOCK]
    cdef uint8_t done[BLOCK]
    cdef int32_t* list = memory.list + first
    draw.phase, draw.wrong = STEP, 0
    at = first
    while at < last:
        count = BLOCK if last - at > BLOCK else <int>(last - at)
        load_rows(memory, at, count, &rows)
        load_action(step.action, at, count, &rows)
        draw.k0, draw.k1, draw.t = memory.k0 + at, memory.k1 + at, memory.t + at
        transition(&rows, &draw)
        for i in range(BLOCK):
            rows.t[i] += 1
            truncated[i] = (<uint32_t>rows.t[i] >= CAP) & HAS_CAP
            done[i] = rows.terminated[i] | truncated[i]
        aim(&seen, &step.ended, at, count)
        observation(&rows, &seen)
        store_rows(memory, at, &rows)
        if step.waiting != NULL:
            listed = wait(step.waiting + at, at, count, &rows, truncated, done, list, listed)
        show(&step.ended, at, count, &seen)
        put(step.reward + at, rows.reward, sizeof(REWARD), count)
        put(step.terminated + at, rows.terminated, 1, count)
        put(step.truncated + at, truncated, 1, count)
        put(step.done + at, done, 1, count)
        if step.renews:
            show_too(&step.now, &step.ended, at, count, &seen)
            listed = list_marked(done, at, count, list, listed)
        at += BLOCK
    renew(memory, list, listed, &step.now if step.renews else &step.ended)
    if draw.wrong:
        memory.wrong = draw.wrong


cdef Py_ssize_t wait(const uint8_t* waiting, Py_ssize_t at, int count, Rows* rows, uint8_t* truncated, uint8_t* done,
                     int32_t* list, Py_ssize_t listed) noexcept nogil:
    """List the rows that wait for their next episode; they show no reward and no flag."""
    cdef int i
    cdef uint8_t marks[BLOCK]
    memset(marks, 0, BLOCK)
    memcpy(marks, waiting, count)
    for i in range(BLOCK):
        rows.reward[i] = 0 if marks[i] else rows.reward[i]
        rows.terminated[i] &= not marks[i]
        truncated[i] &= not marks[i]
        done[i] &= not marks[i]
    return list_marked(marks, at, count, list, listed)


cdef inline Py_ssize_t list_marked(const uint8_t* marks, Py_ssize_t at, int count, int32_t* list,
                                   Py_ssize_t listed) noexcept nogil:
    """List the rows of a block whose mark is 1: eight marks become the bits of a byte, and the bits are walked."""
    cdef int start, i
    cdef uint64_t eight, bits
    for start in range(0, BLOCK, 64):
        bits = 0
        for i in range(8):
            memcpy(&eight, marks + start + 8 * i, 8)
            bits |= (eight * <uint64_t>0x0102040810204080 >> 56) << 8 * i
        if count < start + 64:
            bits &= ((<uint64_t>1 << (count - start)) - 1) if count > start else 0
        while bits:
            list[listed] = <int32_t>(at + start + lowest_bit(bits))
            listed += 1
            bits &= bits - 1
    return listed


cdef void renew(Memory* memory, const int32_t* list, Py_ssize_t listed, Targets* targets) noexcept nogil:
    """Begin the next episodes of the listed rows, and show what is seen of them."""
    cdef Py_ssize_t at = 0
    cdef int count, i
    cdef int32_t row
    cdef uint64_t seed
    cdef Rows rows
    cdef Seen seen
    cdef Draw draw
    cdef uint32_t high[BLOCK]
    cdef uint32_t low[BLOCK]
    cdef uint32_t episode[BLOCK]
    cdef uint32_t k0[BLOCK]
    cdef uint32_t k1[BLOCK]
    cdef uint32_t t[BLOCK]
    cdef int32_t number[BLOCK]
    memset(t, 0, sizeof(t))
    draw.phase, draw.wrong, draw.k0, draw.k1, draw.t = RESET, 0, k0, k1, t
    while at < listed:
        count = BLOCK if listed - at > BLOCK else <int>(listed - at)
        for i in range(BLOCK):
            row = list[at + (i if i < count else count - 1)]  # a last block is filled with its last row
            number[i] = row
            seed = <uint64_t>memory.seed[row]
            high[i], low[i] = <uint32_t>(seed >> 32), <uint32_t>seed
            episode[i] = <uint32_t>(memory.episode[row] + 1)
        for i in range(BLOCK):
            block(high[i], low[i], episode[i], EPISODE_COUNTER, k0 + i, k1 + i)
            rows.t[i] = 0
        point_rows(memory, number, &rows)
        initial(&rows, &draw)
        aim_at(&seen, targets, number)
        observation(&rows, &seen)
        for i in range(count):
            row = number[i]
            memory.episode[row] += 1
            memory.k0[row], memory.k1[row], memory.t[row] = k0[i], k1[i], 0
        place_rows(memory, number, count, &rows)
        show_at(targets, number, count, &seen)
        at += BLOCK
    if draw.wrong:
        memory.wrong = draw.wrong


cdef void look(Memory* memory, Targets* targets, Py_ssize_t first, Py_ssize_t last) noexcept nogil:
    """Show what is seen of the rows first..last-1 as they are."""
    cdef Py_ssize_t at = first
    cdef int count
    cdef Rows rows
    cdef Seen seen
    while at < last:
        count = BLOCK if last - at > BLOCK else <int>(last - at)
        load_rows(memory, at, count, &rows)
        aim(&seen, targets, at, count)
        observation(&rows, &seen)
        show(targets, at, count, &seen)
        at += BLOCK


cdef class Loop:
    """The rows of one environment: N of them in memory that tensors hold.

    Addresses are those of contiguous memory; the caller keeps the tensors.
    """

    cdef Memory memory
    cdef Py_ssize_t rows

    def __cinit__(self, Py_ssize_t rows, addresses):
        self.rows = rows
        remember(&self.memory, addresses)

    def step(self, int threads, size_t action, size_t reward, size_t terminated, size_t truncated, size_t done,
             ended, now, size_t waiting=0, size_t unset=0):
        """One step of every row. ``now`` is None where nothing is renewed; ``unset`` takes three flags a row, all 0."""
        cdef Step step
        cdef Py_ssize_t blocks = (self.rows + BLOCK - 1) // BLOCK
        cdef int thread
        step.action = <const ACTION*>action
        step.waiting = <const uint8_t*>waiting
        step.renews = now is not None
        step.reward = <REWARD*>reward
        step.terminated, step.truncated, step.done = <uint8_t*>terminated, <uint8_t*>truncated, <uint8_t*>done
        take_targets(&step.ended, ended)
        if step.renews:
            take_targets(&step.now, now)
        with nogil:
            if unset:
                memset(<void*>unset, 0, 3 * self.rows)
            if threads <= 1:
                advance(&self.memory, &step, 0, self.rows)
            else:
                for thread in prange(threads, num_threads=threads, schedule="static", chunksize=1):
                    advance(&self.memory, &step, blocks * thread // threads * BLOCK,
                            min_size(blocks * (thread + 1) // threads * BLOCK, self.rows))
        self._check()

    def outside(self, size_t action):
        """The first row whose action is outside the space; -1 where there is none."""
        return first_outside(<const ACTION*>action, self.rows)

    def renew(self, size_t list, Py_ssize_t listed, seen):
        """Begin the next episodes of listed rows (int32), and show what is seen of them, each in its own row."""
        cdef Targets targets
        take_targets(&targets, seen)
        with nogil:
            renew(&self.memory, <const int32_t*>list, listed, &targets)
        self._check()

    def look(self, seen):
        """Show what is seen of every row as it is."""
        cdef Targets targets
        take_targets(&targets, seen)
        with nogil:
            look(&self.memory, &targets, 0, self.rows)

    cdef _check(self):
        cdef int wrong = self.memory.wrong
        if wrong:
            self.memory.wrong = 0
            raise WrongPhase(wrong - 1)


class WrongPhase(Exception):
    """A slot was drawn in the other phase; its argument is the slot's number."""


cdef inline Py_ssize_t min_size(Py_ssize_t one, Py_ssize_t other) noexcept nogil:
    return one if one < other else other


cdef inline void put(void* out, const void* values, size_t size, int count) noexcept nogil:
    """Copy the values of a block; a whole block has a size that the compiler knows."""
    if count == BLOCK:
        memcpy(out, values, BLOCK * size)
    else:
        memcpy(out, values, count * size)
