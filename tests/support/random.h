/* A small random generator with a seed, the same on every machine. */
#ifndef TESTS_RANDOM_H
#define TESTS_RANDOM_H

#include <stdint.h>

struct random_source {
    uint64_t state;
};

static inline uint64_t random_next(struct random_source *source)
{
    uint64_t mixed = source->state += UINT64_C(0x9e3779b97f4a7c15);
    mixed = (mixed ^ (mixed >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    mixed = (mixed ^ (mixed >> 27)) * UINT64_C(0x94d049bb133111eb);
    return mixed ^ (mixed >> 31);
}

/* 0 .. bound - 1; 0 where bound is 0. */
static inline uint64_t random_below(struct random_source *source, uint64_t bound)
{
    return bound ? random_next(source) % bound : 0;
}

static inline int random_one_in(struct random_source *source, uint64_t times)
{
    return random_below(source, times) == 0;
}

#endif
