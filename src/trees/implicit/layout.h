/*
 * The implicit tree: all entries in order in one array of units, pointer-free inner levels on top.
 *
 *   levels   [root][....][............]        see levels.h; child numbers, no pointers
 *   units    [u0][u1][u2][u3] ...              see cpu/unit.h; every unit full but the last
 *
 * The location of an entry is its rank, so that counting needs no scan. An update merges into a new array and rebuilds the levels.
 */
#pragma once

#include "core/aggregate.h"
#include "core/levels.h"

#include <pthread.h>
#include <stdatomic.h>

/* Units that one item of the summary tree stands for. */
#define COPSE_IMPLICIT_BLOCK_UNITS 16u

typedef struct copse_implicit {
    uint64_t entries;
    uint64_t unit_count;
    void *units; /* copse_unit[unit_count] */
    size_t unit_bytes;
    copse_levels levels;

    /* Made by the first aggregate call, under the lock; the flags say what is there. */
    pthread_mutex_t lock;
    atomic_bool summary_tried, sums_tried;
    bool has_summary, has_sums;
    copse_summary summary;
    void *sum_units; /* copse_sum_unit[unit_count + 1] */
    size_t sum_bytes;
    uint64_t total; /* of all values, modulo 2^64 */
} copse_implicit;
