/* Pointer-free levels (core/levels.h) in device memory, over the children of whatever structure has them. */
#pragma once

#include "gpu/shared_kernels.h"

typedef struct copse_levels_memory {
    uint64_t nodes[COPSE_LEVELS_MOST];
    void *memory; /* of all levels */
    uint64_t bytes;
} copse_levels_memory;

/* What levels are made over. */
typedef struct copse_levels_source {
    uint64_t children;
    const uint32_t *last; /* see copse_level_arguments */
    const char *keys;
    uint64_t stride;
    const uint64_t *segments;
    uint32_t segment_shift, segment_offset;
} copse_levels_source;

/* How digests of keys between `low` and `high` are to be made: to be known before `last` is filled. */
void copse_device_levels_start(copse_device_levels *levels, uint64_t low, uint64_t high);
/* Makes the levels. Where keys have 64 bits it decides whether digests do; as on the CPU, they do where few lookups would
 * have to step right. The result is only put on the stream. */
copse_status copse_device_levels_make(const copse_index *index, const copse_levels_source *source,
                                      copse_device_levels *levels, copse_levels_memory *memory);
/* Puts a check of every separator on the stream: trouble[2] of the survey. */
copse_status copse_device_levels_verify(const copse_index *index, const copse_levels_source *source,
                                        const copse_device_levels *levels, const copse_levels_memory *memory,
                                        copse_device_survey *survey);
void copse_device_levels_free(const copse_index *index, copse_levels_memory *memory);
