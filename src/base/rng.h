/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IOBM_BASE_RNG_H
#define IOBM_BASE_RNG_H

/*
 * Counter-based random numbers: the n-th value of a seed without the ones
 * before it.  The mixer is splitmix64's finaliser (Steele, Lea, Flood:
 * "Fast splittable pseudorandom number generators", OOPSLA 2014).
 */

#include <stddef.h>
#include <stdint.h>

uint64_t rng_mix(uint64_t x);                     /* a bijection */
uint64_t rng_unmix(uint64_t x);                   /* its inverse */
uint64_t rng_at(uint64_t seed, uint64_t counter); /* uniform 64 bits */
uint64_t rng_below(uint64_t seed, uint64_t counter, uint64_t n); /* [0, n) */

/* Fill 'bytes' (a multiple of 8) with the values from 'first' on. */
void rng_fill(void *buffer, size_t bytes, uint64_t seed, uint64_t first);

/* Shuffle 'n' ints in place (Fisher and Yates), the same for the same seed. */
void rng_shuffle(int *values, size_t n, uint64_t seed);

/* A fresh seed, and a random UUID (version 4), from getrandom(). */
uint64_t rng_seed(void);
void rng_uuid(char text[37]);

#endif
