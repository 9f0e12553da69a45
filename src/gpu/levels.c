/* Pointer-free levels in device memory. */
#include "gpu/levels.h"
#include "gpu/batch.h"

void copse_device_levels_start(copse_device_levels *levels, uint64_t low, uint64_t high)
{
    const unsigned bits = high > low ? 64u - (unsigned)__builtin_clzll(high - low) : 1u;
    *levels = (copse_device_levels){.base = low, .shift = bits > 32 ? bits - 32 : 0};
}

void copse_device_levels_free(const copse_index *index, copse_levels_memory *memory)
{
    copse_device_free(index->device, index->device->main, memory->memory, memory->bytes);
    memory->memory = NULL;
}

/* As on the CPU: digests where few lookups would have to step right. */
static copse_status digest_choose(const copse_index *index, const copse_levels_source *source,
                                  copse_device_levels *levels)
{
    copse_device *device = index->device;
    copse_device_survey seen = {0};
    if (copse_type_size(index->key_type) == 4 || source->children < 2) return COPSE_OK;
    copse_level_arguments look = {.children = source->children, .last = source->last};
    copse_status status = copse_device_survey_make(device, &look.survey);
    if (status != COPSE_OK) return status;
    status = copse_device_launch(device, device->main, &copse_device_shared(index)->digest_steps,
                                 copse_device_blocks(device, source->children), &look);
    if (status == COPSE_OK) status = copse_device_survey_read(device, look.survey, &seen);
    copse_device_survey_free(device, look.survey);
    levels->digest = status == COPSE_OK && seen.digest_steps <= source->children / 8;
    return status;
}

static uint64_t separators_of(const copse_index *index, const copse_device_levels *levels)
{
    return levels->digest ? 16 : 64 / copse_type_size(index->key_type);
}

/* Sizes of the levels, root first. */
static void levels_plan(uint64_t children, uint64_t fanout, copse_device_levels *levels, copse_levels_memory *memory)
{
    uint64_t sizes[COPSE_LEVELS_MOST];
    uint32_t height = 0;
    for (uint64_t n = children; n > 1; n = sizes[height - 1]) sizes[height++] = (n + fanout - 1) / fanout;
    levels->height = height;
    memory->bytes = 0;
    for (uint32_t l = 0; l < height; l++) {
        memory->nodes[l] = sizes[height - 1 - l];
        memory->bytes += memory->nodes[l] * 64;
    }
}

/* Runs a kernel over every level, the lowest first. */
static copse_status each_level(const copse_index *index, const copse_levels_source *source,
                               const copse_device_levels *levels, const copse_levels_memory *memory,
                               const copse_kernel *kernel, copse_device_survey *survey)
{
    copse_device *device = index->device;
    const bool is_wide = copse_type_size(index->key_type) == 8;
    const uint64_t separators = separators_of(index, levels);
    copse_status status = COPSE_OK;
    uint64_t span = 1;
    for (uint32_t l = levels->height; l-- > 0 && status == COPSE_OK; span *= separators + 1) {
        copse_level_arguments arguments = {.levels = *levels,
                                           .level = l,
                                           .nodes = memory->nodes[l],
                                           .span = span,
                                           .last = is_wide && !levels->digest ? NULL : source->last,
                                           .keys = source->keys,
                                           .stride = source->stride,
                                           .segments = source->segments,
                                           .segment_shift = source->segment_shift,
                                           .segment_offset = source->segment_offset,
                                           .survey = survey};
        arguments.children = l + 1 < levels->height ? memory->nodes[l + 1] : source->children;
        status = copse_device_launch(device, device->main, kernel,
                                     copse_device_blocks(device, memory->nodes[l] * separators), &arguments);
    }
    return status;
}

copse_status copse_device_levels_make(const copse_index *index, const copse_levels_source *source,
                                      copse_device_levels *levels, copse_levels_memory *memory)
{
    copse_device *device = index->device;
    copse_status status = digest_choose(index, source, levels);
    if (status != COPSE_OK) return status;
    levels_plan(source->children, separators_of(index, levels) + 1, levels, memory);
    if (levels->height == 0) return COPSE_OK;
    status = copse_device_alloc(device, device->main, memory->bytes, "the inner levels of the tree", &memory->memory);
    if (status != COPSE_OK) return status;
    char *at = memory->memory;
    for (uint32_t l = 0; l < levels->height; l++) {
        levels->level[l] = at;
        at += memory->nodes[l] * 64;
    }
    return each_level(index, source, levels, memory, &copse_device_shared(index)->fill_level, NULL);
}

copse_status copse_device_levels_verify(const copse_index *index, const copse_levels_source *source,
                                        const copse_device_levels *levels, const copse_levels_memory *memory,
                                        copse_device_survey *survey)
{
    return each_level(index, source, levels, memory, &copse_device_shared(index)->verify_level, survey);
}
