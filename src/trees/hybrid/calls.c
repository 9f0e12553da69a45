/* Hybrid trees: the calls of the CPU driver, with a card that walks the inner levels. */
#include "cpu/driver.h"
#include "trees/hybrid/buckets.h"

/* --- life ---------------------------------------------------------------------------------------------------------------- */

static copse_status hybrid_create(copse_index *index)
{
    copse_status status = copse_mirror_make(index);
    if (status != COPSE_OK) return status;
    status = copse_cpu_calls.create(index);
    if (status != COPSE_OK) copse_mirror_free(index);
    return status;
}

static uint64_t hybrid_size(const copse_index *index)
{
    return copse_cpu_calls.size(index);
}

static void hybrid_destroy(copse_index *index)
{
    copse_cpu_calls.destroy(index);
    copse_mirror_free(index);
}

/* --- change: in host memory, then the levels go to the card ------------------------------------------------------------------ */

/* After an update of n keys. A failed one leaves the entries as they were, but it may have moved the levels. */
static copse_status changed(copse_index *index, uint64_t n, copse_status status)
{
    copse_mirror_changed(index, n);
    return status;
}

static copse_status hybrid_build(copse_index *index, const void *keys, const void *values, uint64_t n)
{
    return changed(index, n, copse_cpu_build(index, keys, values, n));
}

static copse_status hybrid_insert(copse_index *index, const void *keys, const void *values, uint64_t n, uint32_t flags,
                                  uint64_t *out_inserted)
{
    return changed(index, n, copse_cpu_insert(index, keys, values, n, flags, out_inserted));
}

static copse_status hybrid_erase(copse_index *index, const void *keys, uint64_t n, uint64_t *out_erased)
{
    return changed(index, n, copse_cpu_erase(index, keys, n, out_erased));
}

static copse_status hybrid_erase_pairs(copse_index *index, const void *keys, const void *values, uint64_t n,
                                       uint64_t *out_erased)
{
    return changed(index, n, copse_cpu_erase_pairs(index, keys, values, n, out_erased));
}

static copse_status hybrid_erase_range(copse_index *index, const copse_ranges *ranges, uint64_t *out_erased)
{
    const uint64_t before = hybrid_size(index);
    copse_status status = copse_cpu_erase_range(index, ranges, out_erased);
    return changed(index, before - hybrid_size(index), status);
}

static copse_status hybrid_apply(copse_index *index, const uint8_t *operations, const void *keys, const void *values,
                                 uint64_t n, void *out_values, uint8_t *out_found)
{
    return changed(index, n, copse_cpu_apply(index, operations, keys, values, n, out_values, out_found));
}

/* --- read ------------------------------------------------------------------------------------------------------------------ */

static copse_status hybrid_find(const copse_index *index, const void *keys, uint64_t n, void *values, uint8_t *found)
{
    copse_hybrid_call call;
    if (!copse_hybrid_begin(&call, index, n, keys, false, NULL)) return copse_cpu_find(index, keys, n, values, found);
    return copse_hybrid_end(&call, copse_mirror_of(index)->cached_units
                                       ? copse_hybrid_find_cached(&call, keys, n, values, found)
                                       : copse_cpu_find(&call.handle, keys, n, values, found));
}

static copse_status hybrid_neighbours(const copse_index *index, const void *keys, uint64_t n, copse_neighbour which,
                                      void *out_keys, void *out_values, uint8_t *out_found, uint64_t *out_ranks)
{
    copse_hybrid_call call;
    const copse_index *handle = index;
    const bool begun = copse_hybrid_begin(&call, index, n, keys, copse_neighbour_upper(which), NULL);
    if (begun) handle = &call.handle;
    copse_status status = copse_cpu_neighbours(handle, keys, n, which, out_keys, out_values, out_found, out_ranks);
    return begun ? copse_hybrid_end(&call, status) : status;
}

static copse_status hybrid_count(const copse_index *index, const copse_ranges *ranges, uint64_t *counts)
{
    copse_hybrid_call call;
    if (!copse_hybrid_begin(&call, index, ranges->n, ranges->lows, false, ranges->highs))
        return copse_cpu_count(index, ranges, counts);
    return copse_hybrid_end(&call, copse_cpu_count(&call.handle, ranges, counts));
}

static copse_status hybrid_range(const copse_index *index, const copse_ranges *ranges, const copse_rows *rows)
{
    copse_hybrid_call call;
    if (ranges->n == 0 || !copse_hybrid_begin(&call, index, ranges->n, ranges->lows, false, ranges->highs))
        return copse_cpu_range(index, ranges, rows);
    return copse_hybrid_end(&call, copse_cpu_range(&call.handle, ranges, rows));
}

static copse_status hybrid_aggregate(const copse_index *index, copse_aggregate_kind kind, const copse_ranges *ranges,
                                     void *out, uint8_t *found)
{
    copse_hybrid_call call;
    if (!copse_hybrid_begin(&call, index, ranges->n, ranges->lows, false, ranges->highs))
        return copse_cpu_aggregate(index, kind, ranges, out, found);
    return copse_hybrid_end(&call, copse_cpu_aggregate(&call.handle, kind, ranges, out, found));
}

/* --- inspect ----------------------------------------------------------------------------------------------------------------- */

static void hybrid_stats(const copse_index *index, copse_stats *out)
{
    const copse_mirror *mirror = copse_mirror_of(index);
    copse_cpu_calls.stats(index, out);
    out->bytes += mirror->bytes + copse_records_bytes(&mirror->records) + mirror->cached_bytes;
    if (!mirror->current && !mirror->behind && mirror->why_not[0]) out->placement_why = mirror->why_not;
}

static copse_status hybrid_verify(const copse_index *index)
{
    copse_status status = copse_cpu_calls.verify(index);
    return status == COPSE_OK ? copse_mirror_verify(index) : status;
}

const copse_calls copse_hybrid_calls = {
    .create = hybrid_create,
    .destroy = hybrid_destroy,
    .build = hybrid_build,
    .insert = hybrid_insert,
    .erase = hybrid_erase,
    .erase_pairs = hybrid_erase_pairs,
    .erase_range = hybrid_erase_range,
    .apply = hybrid_apply,
    .find = hybrid_find,
    .neighbours = hybrid_neighbours,
    .select = copse_cpu_select,
    .count = hybrid_count,
    .range = hybrid_range,
    .aggregate = hybrid_aggregate,
    .scan = copse_cpu_scan,
    .visit = copse_cpu_visit,
    .scan_step = 4096,
    .size = hybrid_size,
    .stats = hybrid_stats,
    .verify = hybrid_verify,
};
