/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Counter-based random numbers.  Not for secrets.  What is done with them
 * (the bytes of a file, an order of reading) is decided elsewhere.
 */

#include "base/rng.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/clock.h"

/* 2^64 divided by the golden ratio, odd: the step of splitmix64. */
#define STEP UINT64_C(0x9e3779b97f4a7c15)

uint64_t rng_mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

/* The steps backwards: factors that are the inverses modulo 2^64, and shifts
 * again until all bits have come back. */
uint64_t rng_unmix(uint64_t x)
{
    x = (x ^ (x >> 31) ^ (x >> 62)) * UINT64_C(0x319642b2d24d8ec3);
    x = (x ^ (x >> 27) ^ (x >> 54)) * UINT64_C(0x96de1b173f119089);
    return x ^ (x >> 30) ^ (x >> 60);
}

/* The seed is mixed first: neighbouring seeds, and seeds a step apart, must
 * not give the same sequence shifted. */
uint64_t rng_at(uint64_t seed, uint64_t counter)
{
    return rng_mix(rng_mix(seed + STEP) + (counter + 1) * STEP);
}

/* The high half of the product: the bias, n / 2^64, is beyond notice for any
 * n that iobm has. */
uint64_t rng_below(uint64_t seed, uint64_t counter, uint64_t n)
{
    return (uint64_t)(((unsigned __int128)rng_at(seed, counter) * n) >> 64);
}

void rng_fill(void *buffer, size_t bytes, uint64_t seed, uint64_t first)
{
    unsigned char *out = buffer;
    uint64_t state = rng_mix(seed + STEP) + (first + 1) * STEP;

    /* No value depends on the one before, so that the multiplications
     * overlap; memcpy, as the buffer need not be aligned. */
    for (size_t i = 0; i < bytes / 8; i++) {
        uint64_t value = rng_mix(state + i * STEP);
        memcpy(out + 8 * i, &value, 8);
    }
}

void rng_shuffle(int *values, size_t n, uint64_t seed)
{
    for (size_t i = n; i > 1; i--) {
        size_t j = (size_t)rng_below(seed, i, i);
        int swap = values[i - 1];
        values[i - 1] = values[j];
        values[j] = swap;
    }
}

/* From the kernel; where that is forbidden (a sandbox), from the time. */
static void fresh(void *buffer, size_t bytes)
{
    ssize_t n;

    do
        n = getrandom(buffer, bytes, 0);
    while (n < 0 && errno == EINTR);
    if (n != (ssize_t)bytes)
        rng_fill(buffer, bytes,
                 (uint64_t)clock_utc_ns() ^ ((uint64_t)getpid() << 32),
                 (uint64_t)clock_now_ns());
}

uint64_t rng_seed(void)
{
    uint64_t seed;

    fresh(&seed, sizeof(seed));
    return seed;
}

void rng_uuid(char text[37])
{
    unsigned char b[16];

    fresh(b, sizeof(b));
    b[6] = (unsigned char)(0x40 | (b[6] & 0x0f)); /* version 4 */
    b[8] = (unsigned char)(0x80 | (b[8] & 0x3f)); /* variant 10x */
    snprintf(text, 37,
             "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-"
             "%02x%02x%02x%02x%02x%02x",
             b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10],
             b[11], b[12], b[13], b[14], b[15]);
}
