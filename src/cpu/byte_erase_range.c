/* Byte strings: erasing by ranges. */
#include "cpu/byte_runs.h"

/* The keys of the ranges, of which there are `entries` with so many bytes; some may be there several times. */
static copse_status keys_erase(copse_index *index, const copse_ranges *ranges, uint64_t *offsets, uint64_t entries,
                               uint64_t length, uint64_t *out_erased)
{
    const size_t offset_bytes = copse_memory_product(entries + 1, sizeof(int64_t));
    const size_t bytes = offset_bytes > SIZE_MAX - length ? SIZE_MAX : offset_bytes + length;
    char *memory = copse_memory_alloc(index->ctx, bytes);
    if (!memory) return copse_fail_memory(index->ctx, bytes, "the keys of ranges");
    copse_bytes keys = COPSE_BYTES_INIT(memory + offset_bytes, length, memory, 64);
    const copse_rows rows = {.struct_size = sizeof rows, .offsets = offsets, .keys = &keys, .capacity = entries};
    copse_status status = index->calls->range(index, ranges, &rows);
    if (status == COPSE_OK) status = index->calls->erase(index, &keys, entries, out_erased);
    copse_memory_free(index->ctx, memory, bytes);
    return status;
}

copse_status copse_byte_erase_range(copse_index *index, const copse_ranges *ranges, uint64_t *out_erased)
{
    const uint64_t before = copse_size(index);
    const size_t bytes = copse_memory_product(ranges->n + 1, sizeof(uint64_t));
    uint64_t *offsets = copse_memory_alloc(index->ctx, bytes);
    if (!offsets) return copse_fail_memory(index->ctx, bytes, "the keys of ranges");
    copse_bytes needed = COPSE_BYTES_INIT(NULL, 0, NULL, 64);
    const copse_rows sizes = {.struct_size = sizeof sizes, .offsets = offsets, .keys = &needed};
    copse_status status = index->calls->range(index, ranges, &sizes);
    if (status == COPSE_OK && offsets[ranges->n])
        status = keys_erase(index, ranges, offsets, offsets[ranges->n], needed.needed, out_erased);
    copse_memory_free(index->ctx, offsets, bytes);
    if (status == COPSE_OK) *out_erased = before - copse_size(index);
    return status;
}
