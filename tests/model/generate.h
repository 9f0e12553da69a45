/* Random scenarios from a seed, with keys chosen to hurt. */
#ifndef TESTS_GENERATE_H
#define TESTS_GENERATE_H

#include "scenario.h"

enum profile {
    PROFILE_TINY,     /* a handful of keys, many operations             */
    PROFILE_BOUNDARY, /* sizes at, below and above those of full nodes  */
    PROFILE_MEDIUM,   /* thousands of entries                           */
    PROFILE_LARGE     /* up to 200000 entries and batches over 100000   */
};

/* Fills scenario (config and small set, no operations) with operations; the same seed gives the same. */
void generate(struct scenario *scenario, enum profile profile, uint64_t seed);

#endif
