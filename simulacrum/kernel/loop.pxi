# The loop over all rows of a kernel: blocks of rows are loaded, advanced by the package's `transition`, looked at by its
# `observation`, and stored; then the rows that ended are listed and begun anew by its `initial`. `rows.pxi` comes before.

from cpython.mem cimport PyMem_Free, PyMem_Malloc
from cython.parallel cimport prange

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
        for i in range(BLOCK):
            draw.k0[i], draw.k1[i], draw.t[i] = memory.k0[at + i], memory.k1[at + i], memory.t[at + i]
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
            for i in range(count):
                list[listed] = <int32_t>(at + i)
                listed += done[i]
        at += BLOCK
    renew(memory, list, listed, &step.now if step.renews else &step.ended)
    if draw.wrong:
        memory.wrong = draw.wrong


cdef Py_ssize_t wait(const uint8_t* waiting, Py_ssize_t at, int count, Rows* rows, uint8_t* truncated, uint8_t* done,
                     int32_t* list, Py_ssize_t listed) noexcept nogil:
    """List the rows that wait for their next episode; they show no reward and no flag."""
    cdef int i
    for i in range(count):
        if waiting[i]:
            rows.reward[i] = 0
            rows.terminated[i] = truncated[i] = done[i] = 0
            list[listed] = <int32_t>(at + i)
            listed += 1
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
    cdef int32_t number[BLOCK]
    draw.phase, draw.wrong = RESET, 0
    while at < listed:
        count = BLOCK if listed - at > BLOCK else <int>(listed - at)
        for i in range(BLOCK):
            row = list[at + (i if i < count else count - 1)]  # a last block is filled with its last row
            number[i] = row
            seed = <uint64_t>memory.seed[row]
            high[i], low[i] = <uint32_t>(seed >> 32), <uint32_t>seed
            episode[i] = <uint32_t>(memory.episode[row] + 1)
        for i in range(BLOCK):
            block(high[i], low[i], episode[i], EPISODE_COUNTER, draw.k0 + i, draw.k1 + i)
            draw.t[i] = 0
            rows.t[i] = 0
        point_rows(memory, number, &rows)
        initial(&rows, &draw)
        aim_at(&seen, targets, number)
        observation(&rows, &seen)
        for i in range(count):
            row = number[i]
            memory.episode[row] += 1
            memory.k0[row], memory.k1[row], memory.t[row] = draw.k0[i], draw.k1[i], 0
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
             ended, now, size_t waiting=0):
        """One step of every row. ``now`` is None where nothing is renewed. Returns the first row whose action is
        outside the space, and then nothing has changed; else -1."""
        cdef Step step
        cdef Py_ssize_t outside, blocks = (self.rows + BLOCK - 1) // BLOCK
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
