/*
 * Software pipelining over a batch.
 *
 * Queries go down the tree in groups of 16. A stage takes a group one level down and asks the memory for the next level.
 * Groups run staggered, each a stage behind the one before it, so that at any moment some group waits for every level of
 * the tree:
 *
 *   time ->      t0    t1    t2    t3    t4
 *   group 0     root  lvl1  lvl2  leaf
 *   group 1           root  lvl1  lvl2  leaf
 *   group 2                 root  lvl1  lvl2 ...
 *
 * Walking one group to the end before the next would ask for all its leaves at once and then wait with nothing else to
 * do; staggered, the requests for memory are spread evenly over time (docs/PERFORMANCE.md: 32 -> 45 M lookups/s). Levels
 * that do not fit the caches get an extra step of patience, and are fetched to the second-level cache, which can wait for
 * more lines at once than the first (45 -> 55).
 */
#pragma once

#include "cpu/fetch.h"

#include <stdbool.h>
#include <stdint.h>
#define PIPELINE_WIDTH  16u /* queries of a group */
#define PIPELINE_RING   64u /* most groups in flight, a power of two */
#define PIPELINE_STAGES 32u /* most stages of a walk    */

/* A level larger than this is taken to be out of the core's own caches. */
#define PIPELINE_FAR_BYTES (512u << 10)

/* Groups between the stage that asks for a far line and the one that uses it. */
#define PIPELINE_PATIENCE 2u

typedef struct pipeline_plan {
    uint32_t stages;
    uint32_t width;                  /* queries of a group, at most PIPELINE_WIDTH                      */
    bool staggered;                  /* false: one group after the other                                */
    uint32_t mask;                   /* groups kept - 1: no more than needed, to stay in the first cache */
    uint32_t start[PIPELINE_STAGES]; /* stage s works on the group that entered start[s] steps ago      */
    bool far[PIPELINE_STAGES];       /* what stage s reads comes from far away                          */
} pipeline_plan;

/* Fills width, staggered and start from stages, far, the wanted number of queries in flight (0: the default) and the
 * number of queries that there are: fewer than a group get a smaller group. */
static inline void pipeline_schedule(pipeline_plan *plan, uint32_t wanted, uint64_t queries)
{
    plan->start[0] = 0;
    for (uint32_t s = 1; s < plan->stages; s++)
        plan->start[s] = plan->start[s - 1] + (plan->far[s] ? PIPELINE_PATIENCE : 1);
    uint32_t groups = plan->start[plan->stages - 1] + 1;
    for (plan->mask = 1; plan->mask < groups; plan->mask = plan->mask * 2 + 1) {
    }
    plan->staggered = wanted == 0 || wanted >= groups * 2;
    plan->width = plan->staggered ? wanted / groups : wanted;
    if (wanted == 0 || plan->width > PIPELINE_WIDTH) plan->width = PIPELINE_WIDTH;
    if (queries < plan->width) plan->width = queries ? (uint32_t)queries : 1;
}

COPSE_FETCH void pipeline_fetch(const void *line, bool far)
{
    if (far)
        __builtin_prefetch(line, 0, 2);
    else
        __builtin_prefetch(line, 0, 3);
}

/* Steps that so many groups take. Groups enter `spacing` steps apart: 1 when staggered, else as many as a walk has steps, so that one
 * has left before the next enters. */
static inline uint64_t pipeline_spacing(const pipeline_plan *plan)
{
    return plan->staggered ? 1 : plan->start[plan->stages - 1] + 1;
}

static inline uint64_t pipeline_steps(const pipeline_plan *plan, uint64_t groups)
{
    return (groups - 1) * pipeline_spacing(plan) + plan->start[plan->stages - 1] + 1;
}

/* The group that is at stage s in step t; one that there is not where none is. */
static inline uint64_t pipeline_group(const pipeline_plan *plan, uint64_t t, uint32_t s)
{
    const uint64_t g = t - plan->start[s];
    if (plan->staggered) return g;
    const uint64_t spacing = pipeline_spacing(plan);
    return g % spacing ? UINT64_MAX : g / spacing;
}

/*
 * Runs CALL, which uses the names s and g, for every stage s of every group g, deepest stage first so that a group's
 * result is used before the next group overwrites it. Groups enter `spacing` steps apart: 1 when staggered, else as
 * many as a walk has steps, so that one has left before the next enters. A macro, because the call must be inlined with
 * its constants.
 */
#define PIPELINE_RUN(plan, groups, s, g, CALL)                                                                         \
    do {                                                                                                               \
        const uint64_t length_ = (plan)->start[(plan)->stages - 1] + 1;                                                \
        const uint64_t spacing_ = (plan)->staggered ? 1 : length_;                                                     \
        const uint64_t steps_ = ((groups)-1) * spacing_ + length_;                                                     \
        for (uint64_t t_ = 0; t_ < steps_; t_++)                                                                       \
            for (uint32_t s = (plan)->stages; s-- > 0;) {                                                              \
                uint64_t g = t_ - (plan)->start[s];                                                                    \
                if (spacing_ != 1) g = g % spacing_ ? UINT64_MAX : g / spacing_;                                       \
                if (g < (groups)) CALL;                                                                                \
            }                                                                                                          \
    } while (0)
