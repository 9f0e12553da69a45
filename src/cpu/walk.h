/*
 * Batch walks. A walk takes a chunk of a batch of the caller's keys down a tree, many at a time. Each tree has its own
 * (trees/NAME/cpu/walk.h), on what they share (walk_group.h), and compiles it once for each instruction set and pair of widths,
 * with the node search inlined. The context says which instruction set is used.
 */
#pragma once

#include "cpu/walked.h"
#include "core/widths.h"

/* The keys of a walk, keys[first .. first + n) of the caller's array. Every walk returns n, or the offset from `first`
 * of the first NaN. */
typedef struct copse_walk_input {
    copse_type type;
    const void *keys;
    uint64_t first;
    uint64_t n;
    uint32_t pipeline; /* queries in flight; 0: the default */
    bool upper;        /* bound: first key > q instead of >= q */
    bool unique;       /* no two entries have equal keys */
    const void *highs; /* walks over ranges: keys are the lows, these the highs; NULL otherwise */
    /* What lies below the inner levels for each key, and for each of the highs, where somebody has walked them (walked.h). */
    copse_below below, below_highs;
} copse_walk_input;

static inline copse_walk_input copse_walk_over(const copse_index *index, const void *keys, uint64_t first, uint64_t n)
{
    return (copse_walk_input){.type = index->key_type,
                              .keys = keys,
                              .first = first,
                              .n = n,
                              .pipeline = index->ctx->pipeline,
                              .unique = !index->duplicates};
}

/* The walks of a tree for the object's widths are constants name_scalar, name_avx2, name_avx512, each defined by a source
 * walk_..._by_width.c. COPSE_DECLARE_WALKS declares them; COPSE_WALKS is an initializer with their addresses, to be indexed by
 * ctx->instruction_set. */
#define COPSE_DECLARE_WALKS(type, name) extern const type NAME(name##_scalar), NAME(name##_avx2), NAME(name##_avx512)
#if defined(__x86_64__)
#define COPSE_WALKS(name)                                                                                              \
    {                                                                                                                  \
        [COPSE_SCALAR] = &NAME(name##_scalar), [COPSE_AVX2] = &NAME(name##_avx2),                                      \
        [COPSE_AVX512] = &NAME(name##_avx512)                                                                          \
    }
#else
#define COPSE_WALKS(name)                                                                                              \
    {                                                                                                                  \
        [COPSE_SCALAR] = &NAME(name##_scalar)                                                                          \
    }
#endif
