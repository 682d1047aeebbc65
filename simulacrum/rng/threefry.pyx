# cython: language_level=3, boundscheck=False, wraparound=False
"""Threefry-2x32-20 over rows: the native form of simulacrum.rng. Addresses come from tensors that the caller holds."""

from libc.stdint cimport int32_t, int64_t, uint32_t


include "block.pxi"


cdef void fill(const uint32_t* k0, const uint32_t* k1, const int64_t* c0, uint32_t c1,
               Py_ssize_t rows, Py_ssize_t count, uint32_t* out0, uint32_t* out1) noexcept nogil:
    cdef Py_ssize_t row, element
    if count == 1:
        for row in range(rows):
            block(k0[row], k1[row], <uint32_t>c0[row], c1, out0 + row, out1 + row)
        return
    for row in range(rows):
        for element in range(count):
            block(k0[row], k1[row], <uint32_t>c0[row], c1 + <uint32_t>element,
                  out0 + row * count + element, out1 + row * count + element)


def threefry(size_t k0, size_t k1, size_t c0, uint32_t c1, Py_ssize_t rows, Py_ssize_t count, size_t out0, size_t out1):
    """Addresses of int32 [rows] keys and int64 [rows] counters; fills int32 [rows, count] at out0 and out1."""
    with nogil:
        fill(<const uint32_t*>k0, <const uint32_t*>k1, <const int64_t*>c0, c1, rows, count,
             <uint32_t*>out0, <uint32_t*>out1)
