/* Point reads: find, contains, lower_bound, successor, predecessor. */
#include "api/read.h"

copse_status copse_read_check(const copse_index *index, const char *call, const void *keys, const char *keys_name,
                              uint64_t n)
{
    if (!index) return copse_fail(NULL, COPSE_ERR_ARGUMENT, "%s: index is NULL", call);
    if (n && !keys)
        return copse_fail(index->ctx, COPSE_ERR_ARGUMENT, "%s: %s is NULL, but n is not 0", call, keys_name);
    if (n > SIZE_MAX / 32)
        return copse_fail(index->ctx, COPSE_ERR_ARGUMENT, "%s: n is %llu: more than any array can hold", call,
                          (unsigned long long)n);
    return COPSE_OK;
}

copse_status copse_read_nan(const copse_index *index, const char *keys_name, uint64_t at)
{
    return copse_fail(index->ctx, COPSE_ERR_NAN, "%s[%llu] is NaN, which has no place in an order", keys_name,
                      (unsigned long long)at);
}

uint64_t copse_read_find_nan(const copse_index *index, const void *keys, uint64_t first, uint64_t n)
{
    if (index->key_type == COPSE_F32) {
        for (uint64_t i = 0; i < n; i++)
            if (copse_is_nan32(((const uint32_t *)keys)[first + i])) return i;
    } else if (index->key_type == COPSE_F64) {
        for (uint64_t i = 0; i < n; i++)
            if (copse_is_nan64(((const uint64_t *)keys)[first + i])) return i;
    }
    return n;
}

uint64_t copse_read_locate(const copse_index *index, const void *keys, uint64_t first, uint64_t n, bool upper,
                           uint64_t *places)
{
    if (copse_size(index)) return index->operations->locate(index, keys, first, n, upper, places);
    memset(places, 0, n * sizeof *places);
    return copse_read_find_nan(index, keys, first, n);
}

copse_status copse_read_entries(const copse_index *index, uint64_t rank, uint64_t count, void *keys, void *values)
{
    const copse_operations *operations = index->operations;
    if (count == 0) return COPSE_OK;
    if (operations->whole) return operations->whole->entries(index, rank, count, keys, values);
    operations->copy(index, operations->select(index, rank), count, 0, keys, values);
    return COPSE_OK;
}

copse_status copse_read_nan_range(const copse_index *index, const void *lows, uint64_t at)
{
    return copse_read_nan(index, copse_read_find_nan(index, lows, at, 1) == 0 ? "lows" : "highs", at);
}

static uint64_t find_in_empty(const copse_index *index, const void *keys, uint64_t first, uint64_t n, void *values,
                              uint8_t *found)
{
    size_t width = copse_type_size(index->value_type);
    if (values) memset((char *)values + first * width, 0, n * width);
    if (found) memset(found + first, 0, n);
    return copse_read_find_nan(index, keys, first, n);
}

static uint64_t find_part(const copse_index *index, const void *keys, uint64_t first, uint64_t n, void *values,
                          uint8_t *found)
{
    if (copse_size(index) == 0) return find_in_empty(index, keys, first, n, values, found);
    return index->operations->find(index, keys, first, n, values, found);
}

/* One thread takes the batch whole, so that its pipeline never runs dry; several share it in parts. */
static copse_status find_all(const copse_index *index, const void *keys, uint64_t n, void *values, uint8_t *found)
{
    const copse_whole_operations *whole = index->operations->whole;
    if (whole) return whole->find(index, keys, n, values, found);
    uint32_t threads = copse_threads_for(index->ctx, n);
    uint64_t first_nan = n;
    if (threads == 1) { /* without even asking OpenMP: that alone takes as long as a lookup */
        first_nan = find_part(index, keys, 0, n, values, found);
    } else {
        const uint64_t part = COPSE_READ_PART * 4;
#pragma omp parallel for num_threads(threads) schedule(dynamic, 1) reduction(min : first_nan)
        for (uint64_t first = 0; first < n; first += part) {
            uint64_t count = n - first < part ? n - first : part;
            uint64_t good = find_part(index, keys, first, count, values, found);
            if (good < count && first + good < first_nan) first_nan = first + good;
        }
    }
    return first_nan < n ? copse_read_nan(index, "keys", first_nan) : COPSE_OK;
}

copse_status copse_find(const copse_index *index, const void *keys, uint64_t n, void *out_values, uint8_t *out_found)
{
    copse_status status = copse_read_check(index, "copse_find", keys, "keys", n);
    if (status != COPSE_OK || n == 0) return status;
    return find_all(index, keys, n, out_values, out_found);
}

copse_status copse_contains(const copse_index *index, const void *keys, uint64_t n, uint8_t *out_found)
{
    copse_status status = copse_read_check(index, "copse_contains", keys, "keys", n);
    if (status != COPSE_OK || n == 0) return status;
    if (!out_found)
        return copse_fail(index->ctx, COPSE_ERR_ARGUMENT, "copse_contains: out_found is NULL, but n is not 0");
    return find_all(index, keys, n, NULL, out_found);
}

static copse_status neighbours(const copse_index *index, const void *keys, uint64_t n, copse_neighbour which,
                               void *out_keys, void *out_values, uint8_t *out_found, uint64_t *out_ranks)
{
    uint32_t threads = copse_threads_for(index->ctx, n);
    uint64_t first_nan = n;
    const copse_operations *operations = index->operations;
    if (operations->whole)
        return operations->whole->neighbours(index, keys, n, which, out_keys, out_values, out_found, out_ranks);
#pragma omp parallel for num_threads(threads) schedule(dynamic, 1) reduction(min : first_nan) if (threads > 1)
    for (uint64_t first = 0; first < n; first += COPSE_READ_PART) {
        uint64_t places[COPSE_READ_PART];
        uint64_t count = n - first < COPSE_READ_PART ? n - first : COPSE_READ_PART;
        uint64_t good = copse_read_locate(index, keys, first, count, which == COPSE_AFTER, places);
        if (good < count) {
            if (first + good < first_nan) first_nan = first + good;
            continue;
        }
        operations->gather(index, places, first, count, which == COPSE_BEFORE, out_keys, out_values, out_found);
        if (out_ranks) operations->rank(index, places, count, out_ranks + first);
    }
    return first_nan < n ? copse_read_nan(index, "keys", first_nan) : COPSE_OK;
}

copse_status copse_lower_bound(const copse_index *index, const void *keys, uint64_t n, void *out_keys, void *out_values,
                               uint8_t *out_found, uint64_t *out_ranks)
{
    copse_status status = copse_read_check(index, "copse_lower_bound", keys, "keys", n);
    if (status != COPSE_OK || n == 0) return status;
    return neighbours(index, keys, n, COPSE_AT_OR_AFTER, out_keys, out_values, out_found, out_ranks);
}

copse_status copse_successor(const copse_index *index, const void *keys, uint64_t n, void *out_keys, void *out_values,
                             uint8_t *out_found)
{
    copse_status status = copse_read_check(index, "copse_successor", keys, "keys", n);
    if (status != COPSE_OK || n == 0) return status;
    return neighbours(index, keys, n, COPSE_AFTER, out_keys, out_values, out_found, NULL);
}

copse_status copse_predecessor(const copse_index *index, const void *keys, uint64_t n, void *out_keys, void *out_values,
                               uint8_t *out_found)
{
    copse_status status = copse_read_check(index, "copse_predecessor", keys, "keys", n);
    if (status != COPSE_OK || n == 0) return status;
    return neighbours(index, keys, n, COPSE_BEFORE, out_keys, out_values, out_found, NULL);
}
