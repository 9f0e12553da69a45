/*
 * The order in which floats are added, on the CPU and on a device alike, so that both have the same sum to the last bit:
 *
 *   values   x0 x1 x2 ..          the cells of the rows of one group, in the order of their numbers; a NULL is 0.0
 *   lanes    block of 1,024       lane l of 32 adds x[l], x[l + 32], x[l + 64], .. one after the other, from 0.0
 *   block    pairwise             lane l takes lane l + 16, then l + 8, l + 4, l + 2, l + 1: lane 0 has the sum of the block
 *   sum      again                the sums of the blocks are values, in their order, until one is left
 *
 * The last block may be short. The error grows with the logarithm of the rows, not with their number.
 */
#pragma once

#include <stdint.h>

#define COPSE_SUM_LANES  32u
#define COPSE_SUM_BLOCK  1024u
#define COPSE_SUM_LEVELS 5u /* 1,024^4 is more than a table has rows */

/* Lanes of the blocks that are under way, one for each level; all zero at the beginning. */
typedef struct copse_float_sum {
    double lanes[COPSE_SUM_LEVELS][COPSE_SUM_LANES];
    uint32_t filled[COPSE_SUM_LEVELS];
} copse_float_sum;

/* Lanes pairwise; they are zero afterwards. */
static inline double copse_float_lanes_close(double lanes[COPSE_SUM_LANES])
{
    for (uint32_t d = COPSE_SUM_LANES / 2; d > 0; d /= 2)
        for (uint32_t l = 0; l < d; l++) lanes[l] += lanes[l + d];
    const double total = lanes[0];
    for (uint32_t l = 0; l < COPSE_SUM_LANES; l++) lanes[l] = 0;
    return total;
}

/* The sum of the block of a level, which is empty afterwards. */
static inline double copse_float_sum_close(copse_float_sum *sum, uint32_t level)
{
    sum->filled[level] = 0;
    return copse_float_lanes_close(sum->lanes[level]);
}

/* At level 1 the value is the sum of a block. */
static inline void copse_float_sum_add(copse_float_sum *sum, uint32_t level, double value)
{
    for (; level < COPSE_SUM_LEVELS; level++) {
        sum->lanes[level][sum->filled[level] % COPSE_SUM_LANES] += value;
        if (++sum->filled[level] < COPSE_SUM_BLOCK) return;
        value = copse_float_sum_close(sum, level);
    }
}

/* What all of them add up to. A block of one value is that value, so that going up to the last level changes nothing. */
static inline double copse_float_sum_end(copse_float_sum *sum)
{
    for (uint32_t level = 0; level + 1 < COPSE_SUM_LEVELS; level++) {
        if (sum->filled[level] == 0) continue;
        double block = copse_float_sum_close(sum, level);
        sum->lanes[level + 1][sum->filled[level + 1] % COPSE_SUM_LANES] += block;
        sum->filled[level + 1]++;
    }
    return copse_float_sum_close(sum, COPSE_SUM_LEVELS - 1);
}
