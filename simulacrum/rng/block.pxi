# The block function of Threefry-2x32-20, which the draws and every kernel include.

cdef inline uint32_t rotate(uint32_t x, int r) noexcept nogil:
    return (x << r) | (x >> (32 - r))


cdef inline void block(uint32_t k0, uint32_t k1, uint32_t c0, uint32_t c1, uint32_t* out0, uint32_t* out1) noexcept nogil:
    cdef uint32_t k2 = k0 ^ k1 ^ 0x1BD11BDAu
    cdef uint32_t x0 = c0 + k0
    cdef uint32_t x1 = c1 + k1
    # rounds 1 to 4
    x0 += x1; x1 = rotate(x1, 13) ^ x0
    x0 += x1; x1 = rotate(x1, 15) ^ x0
    x0 += x1; x1 = rotate(x1, 26) ^ x0
    x0 += x1; x1 = rotate(x1, 6) ^ x0
    x0 += k1; x1 += k2 + 1
    # rounds 5 to 8
    x0 += x1; x1 = rotate(x1, 17) ^ x0
    x0 += x1; x1 = rotate(x1, 29) ^ x0
    x0 += x1; x1 = rotate(x1, 16) ^ x0
    x0 += x1; x1 = rotate(x1, 24) ^ x0
    x0 += k2; x1 += k0 + 2
    # rounds 9 to 12
    x0 += x1; x1 = rotate(x1, 13) ^ x0
    x0 += x1; x1 = rotate(x1, 15) ^ x0
    x0 += x1; x1 = rotate(x1, 26) ^ x0
    x0 += x1; x1 = rotate(x1, 6) ^ x0
    x0 += k0; x1 += k1 + 3
    # rounds 13 to 16
    x0 += x1; x1 = rotate(x1, 17) ^ x0
    x0 += x1; x1 = rotate(x1, 29) ^ x0
    x0 += x1; x1 = rotate(x1, 16) ^ x0
    x0 += x1; x1 = rotate(x1, 24) ^ x0
    x0 += k1; x1 += k2 + 4
    # rounds 17 to 20
    x0 += x1; x1 = rotate(x1, 13) ^ x0
    x0 += x1; x1 = rotate(x1, 15) ^ x0
    x0 += x1; x1 = rotate(x1, 26) ^ x0
    x0 += x1; x1 = rotate(x1, 6) ^ x0
    x0 += k2; x1 += k0 + 5
    out0[0] = x0
    out1[0] = x1
