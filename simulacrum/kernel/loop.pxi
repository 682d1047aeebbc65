# The loop over all rows of a kernel: blocks of rows are advanced in place by the package's `transition` and looked at by
# its `observation`; then the rows that ended are listed and begun anew by its `initial`. `rows.pxi` comes before.

from cython.parallel cimport prange
from libc.stdlib cimport calloc, free
from libc.string cimport memchr, memmove

cdef extern from *:
    int lowest_bit "__builtin_ctzll"(uint64_t bits) noexcept nogil

cdef enum:
    _EPISODE_COUNTER = 0xFF000000  # second counter word of an episode key
    _FEW_ACTIONS = 1 << 16  # numbers that one thread checks sooner than several begin


cdef struct Step:  # what a step is given, and where its results go
    const _ACTION* action
    const uint8_t* held  # rows that stay as they are; NULL for none
    int begins  # whether the held rows then begin their next episode
    int renews  # whether the rows that end begin their next episode
    int shares  # whether `now` is only shown where a row ends, as else it is what the step shows
    Targets ended  # what the step shows
    Targets now  # what is seen when the next step begins; only where rows are renewed
    _REWARD* reward
    uint8_t* terminated
    uint8_t* truncated
    uint8_t* done


cdef void advance(Memory* memory, Step* step, Py_ssize_t first, Py_ssize_t last, Spare* spare) noexcept nogil:
    """One step of the rows first..last-1; first is a multiple of BLOCK."""
    cdef Py_ssize_t at, listed = 0
    cdef int count, i
    cdef Rows* rows
    cdef Seen seen
    cdef Draw draw
    cdef uint8_t terminated[BLOCK]
    cdef uint8_t truncated[BLOCK]
    cdef uint8_t done[BLOCK]
    cdef int32_t* list = memory.list + first
    draw.phase, draw.wrong, draw.rows = _STEP, 0, BLOCK
    at = first
    while at < last:
        rows = memory.blocks + at // BLOCK
        count = BLOCK if last - at > BLOCK else <int>(last - at)
        if count < BLOCK:
            fill_rows(rows, count)
        load_action(step.action, at, count, rows)
        draw.k0, draw.k1, draw.t = rows.k0, rows.k1, <const uint32_t*>rows.t
        aim_outcome(rows, step.reward, &step.ended, at)
        transition(rows, &draw)
        for i in range(BLOCK):
            terminated[i] = ended(rows, i)
            truncated[i] = (<uint32_t>rows.t[i] >= _CAP - 1) & _HAS_CAP
            rows.t[i] += 1
            done[i] = terminated[i] | truncated[i]
        aim(&seen, &step.ended, at, count, spare)
        observation(rows, &seen)
        show(&step.ended, at, count, &seen)
        put_reward(step.reward, at, count, rows)
        put(step.terminated + at, terminated, 1, count)
        put(step.truncated + at, truncated, 1, count)
        put(step.done + at, done, 1, count)
        if step.renews:
            if not step.shares:
                show_too(&step.now, &step.ended, at, count)
            listed = list_marked(done, at, count, list, listed)
        at += BLOCK
    if not step.shares:
        renew(memory, list, listed, &step.now, spare)
    spare.listed = listed
    if draw.wrong:
        memory.wrong = draw.wrong


cdef void advance_held(Memory* memory, Step* step, Py_ssize_t first, Py_ssize_t last, Spare* spare) noexcept nogil:
    """The same where some rows are held: they stay as they are, or begin their next episode.

    A row that is held may be one that has ended, from which no transition is to be computed: the rules need not say
    what follows there. So it steps from the state of a row that is not held, and is then put back.
    """
    cdef Py_ssize_t at = first, listed = 0
    cdef int count, live
    cdef Rows* rows
    cdef Rows saved
    cdef uint8_t held[BLOCK]
    while at < last:
        rows = memory.blocks + at // BLOCK
        count = BLOCK if last - at > BLOCK else <int>(last - at)
        if memchr(step.held + at, 1, count) == NULL:
            advance(memory, step, at, at + count, spare)
        else:
            if count < BLOCK:
                fill_rows(rows, count)
            live = mark(held, step.held + at, count)
            if live >= 0:
                saved = rows[0]
                borrow_row(rows, live, held, spare)
                advance(memory, step, at, at + count, spare)
                restore_rows(rows, &saved, held)
            show_held(memory, step, at, count, held, spare)
            if step.begins:
                listed = list_marked(held, at, count, memory.list + first, listed)
        at += BLOCK
    renew(memory, memory.list + first, listed, &step.ended, spare)


cdef inline int mark(uint8_t* held, const uint8_t* marks, int count) noexcept nogil:
    """Take over which rows of a block are held; gives the first that is not, or -1."""
    cdef int i
    memcpy(held, marks, count)
    memset(held + count, held[count - 1], BLOCK - count)
    for i in range(count):
        if not held[i]:
            return i
    return -1


cdef void show_held(Memory* memory, Step* step, Py_ssize_t at, int count, const uint8_t* held,
                    Spare* spare) noexcept nogil:
    """What is seen of a block in which rows are held; those show no reward and no flag."""
    cdef int i
    look(memory, &step.ended, at, at + count, spare)
    for i in range(count):
        if held[i]:
            no_reward(step.reward, at + i)
            step.terminated[at + i] = step.truncated[at + i] = step.done[at + i] = 0


cdef inline Py_ssize_t list_marked(const uint8_t* marks, Py_ssize_t at, int count, int32_t* list,
                                   Py_ssize_t listed) noexcept nogil:
    """List the rows of a block whose mark is 1: eight marks become the bits of a byte, and the bits are walked."""
    cdef int start, i
    cdef uint64_t eight, bits
    if BLOCK == 1:
        list[listed] = <int32_t>at
        return listed + marks[0]
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


cdef void renew(Memory* memory, const int32_t* list, Py_ssize_t listed, Targets* targets,
                Spare* spare) noexcept nogil:
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
    memset(rows.t, 0, sizeof(rows.t))
    draw.phase, draw.wrong = _RESET, 0
    draw.k0, draw.k1, draw.t = rows.k0, rows.k1, <const uint32_t*>rows.t
    while at < listed:
        count = BLOCK if listed - at > BLOCK else <int>(listed - at)
        draw.rows = (count + 15) // 16 * 16 if BLOCK > 1 else 1
        for i in range(BLOCK):
            row = list[at + (i if i < count else count - 1)]  # a last block is filled with its last row
            number[i] = row
            seed = <uint64_t>memory.seed[row]
            high[i], low[i] = <uint32_t>(seed >> 32), <uint32_t>seed
            episode[i] = <uint32_t>(memory.episode[row] + 1)
        for i in range(BLOCK):
            block(high[i], low[i], episode[i], _EPISODE_COUNTER, rows.k0 + i, rows.k1 + i)
        point_rows(memory, number, count, &rows, spare)
        initial(&rows, &draw)
        aim_at(&seen, targets, number, count, spare)
        observation(&rows, &seen)
        for i in range(count):
            nobody_died(targets, number[i], 1)
            memory.episode[number[i]] += 1
            place_row(memory, number[i], &rows, i)
            show_at(targets, number[i], &seen, i)
        at += BLOCK
    if draw.wrong:
        memory.wrong = draw.wrong


cdef void look(Memory* memory, Targets* targets, Py_ssize_t first, Py_ssize_t last, Spare* spare) noexcept nogil:
    """Show what is seen of the rows first..last-1 as they are."""
    cdef Py_ssize_t at = first
    cdef int count
    cdef Seen seen
    while at < last:
        count = BLOCK if last - at > BLOCK else <int>(last - at)
        if count < BLOCK:
            fill_rows(memory.blocks + at // BLOCK, count)
        aim(&seen, targets, at, count, spare)
        observation(memory.blocks + at // BLOCK, &seen)
        show(targets, at, count, &seen)
        nobody_died(targets, at, count)
        at += BLOCK


ctypedef void (*Advance)(Memory*, Step*, Py_ssize_t, Py_ssize_t, Spare*) noexcept nogil


cdef class Loop:
    """The rows of one environment: N of them in memory that tensors hold.

    Addresses are those of contiguous memory; the caller keeps the tensors.
    """

    cdef Memory memory
    cdef Py_ssize_t rows
    cdef Spare* spare  # one a thread
    cdef int spares

    def __cinit__(self, Py_ssize_t rows, size_t block_bytes, addresses):
        if block_bytes != sizeof(Rows):
            raise ValueError(f"a block of rows has {sizeof(Rows)} bytes here, the memory's have {block_bytes}")
        self.rows = rows
        remember(&self.memory, addresses)
        point_blocks(&self.memory, (rows + BLOCK - 1) // BLOCK)
        self._need(1)

    def __dealloc__(self):
        free(self.spare)

    cdef int _need(self, int threads) except -1:
        """Have room for what fills the last blocks of so many threads."""
        if threads > self.spares:
            free(self.spare)
            self.spares = 0
            self.spare = <Spare*>calloc(threads, sizeof(Spare))
            if self.spare == NULL:
                raise MemoryError(f"{threads * sizeof(Spare)} bytes for the last blocks of {threads} threads")
            self.spares = threads
        return 0

    def step(self, int threads, size_t action, size_t reward, size_t terminated, size_t truncated, size_t done,
             ended, now, size_t held=0, bint begins=False, size_t unset=0, bint shares=False):
        """One step of every row but those held (bool [N]), which begin their next episode if ``begins``.

        ``now`` is None where nothing is renewed; if ``shares`` it is written only when a row ends. ``unset``
        takes three flags a row, all 0. Returns how many rows began
        their next episode: their numbers are the first ones of the memory's list. Where the action of a row is outside
        the space nothing changes, and -1 - row is returned.
        """
        cdef Step step
        cdef Py_ssize_t listed
        cdef int thread
        cdef Advance function = advance_held if held else advance
        step.action = <const _ACTION*>action
        step.held, step.begins = <const uint8_t*>held, begins
        step.renews = now is not None
        step.shares = shares and step.renews
        step.reward = <_REWARD*>reward
        step.terminated, step.truncated, step.done = <uint8_t*>terminated, <uint8_t*>truncated, <uint8_t*>done
        take_targets(&step.ended, ended)
        if step.renews:
            take_targets(&step.now, now)
        self._need(threads)
        with nogil:
            if threads <= 1 or self.rows * _ACTIONS <= _FEW_ACTIONS:
                for thread in range(1, threads):
                    self.spare[thread].outside = -1
                self.spare.outside = first_outside(step.action, 0, self.rows)
            else:
                for thread in prange(threads, num_threads=threads, schedule="static", chunksize=1):
                    self.spare[thread].outside = first_outside(
                        step.action, first_row(self.rows, thread, threads), first_row(self.rows, thread + 1, threads)
                    )
        for thread in range(threads):
            if self.spare[thread].outside >= 0:
                return -1 - self.spare[thread].outside
        with nogil:
            if threads <= 1:
                clear(<uint8_t*>unset, self.rows, 0, self.rows)
                function(&self.memory, &step, 0, self.rows, self.spare)
            else:
                for thread in prange(threads, num_threads=threads, schedule="static", chunksize=1):
                    clear(<uint8_t*>unset, self.rows, first_row(self.rows, thread, threads),
                          first_row(self.rows, thread + 1, threads))
                    function(&self.memory, &step, first_row(self.rows, thread, threads),
                             first_row(self.rows, thread + 1, threads), self.spare + thread)
        self._check()
        listed = self.spare[0].listed
        for thread in range(1, threads):
            memmove(self.memory.list + listed, self.memory.list + first_row(self.rows, thread, threads),
                    self.spare[thread].listed * sizeof(int32_t))
            listed += self.spare[thread].listed
        if step.shares and listed:
            with nogil:
                show_too(&step.now, &step.ended, 0, <int>self.rows)
                renew(&self.memory, self.memory.list, listed, &step.now, self.spare)
            self._check()
        return listed

    def renew(self, size_t list, Py_ssize_t listed, seen):
        """Begin the next episodes of listed rows (int32), and show what is seen of them, each in its own row."""
        cdef Targets targets
        take_targets(&targets, seen)
        with nogil:
            renew(&self.memory, <const int32_t*>list, listed, &targets, self.spare)
        self._check()

    def look(self, seen):
        """Show what is seen of every row as it is."""
        cdef Targets targets
        take_targets(&targets, seen)
        with nogil:
            look(&self.memory, &targets, 0, self.rows, self.spare)

    cdef _check(self):
        cdef int wrong = self.memory.wrong
        if wrong:
            self.memory.wrong = 0
            raise WrongDraw(abs(wrong) - 1, wrong > 0)


class WrongDraw(Exception):
    """A slot was drawn in the other phase, or with an index that is none: the slot's number, and whether the former."""


cdef inline Py_ssize_t first_row(Py_ssize_t rows, int thread, int threads) noexcept nogil:
    """Where a thread's share of the rows begins: whole blocks, the last thread's end apart."""
    cdef Py_ssize_t blocks = (rows + BLOCK - 1) // BLOCK
    return rows if thread == threads else blocks * thread // threads * BLOCK


cdef inline void clear(uint8_t* flags, Py_ssize_t rows, Py_ssize_t first, Py_ssize_t last) noexcept nogil:
    """Set three flags a row, [3, rows], to 0; nothing where there are none."""
    cdef int i
    if flags != NULL:
        for i in range(3):
            memset(flags + i * rows + first, 0, last - first)


cdef inline void put(void* out, const void* values, size_t size, int count) noexcept nogil:
    """Copy the values of a block; a whole block has a size that the compiler knows."""
    if count == BLOCK:
        memcpy(out, values, BLOCK * size)
    else:
        memcpy(out, values, count * size)
