/* Point reads: find, contains, bounds and neighbours, entries by rank and at the ends; and the checks of arguments that all reads share. */
#include "api/ranges.h"
#include "device/device.h"

copse_status copse_check_keys(const copse_index *index, const char *call, const void *keys, const char *keys_name,
                              uint64_t n)
{
    if (!index) return copse_fail_argument(NULL, "index", "%s: index is NULL", call);
    if (n && !keys) return copse_fail_null(index->ctx, call, keys_name);
    if (n > SIZE_MAX / 32)
        return copse_fail_argument(index->ctx, "n", "%s: n is %llu: more than any array can hold", call,
                                   (unsigned long long)n);
    return COPSE_OK;
}

copse_status copse_check_values(const copse_index *index, const char *call, const void *values, const char *name)
{
    if (!values || index->value_type != COPSE_NONE) return COPSE_OK;
    return copse_fail_argument(index->ctx, name, "%s: %s is not NULL, but the index is a set, which has no values",
                               call, name);
}

copse_status copse_find(const copse_index *index, const void *keys, uint64_t n, void *out_values, uint8_t *out_found)
{
    copse_status status = copse_check_keys(index, "copse_find", keys, "keys", n);
    if (status == COPSE_OK) status = copse_check_values(index, "copse_find", out_values, "out_values");
    if (status != COPSE_OK || n == 0) return status;
    copse_promise_begin(index);
    return copse_promise_end(index->calls->find(index, keys, n, out_values, out_found));
}

copse_status copse_contains(const copse_index *index, const void *keys, uint64_t n, uint8_t *out_found)
{
    copse_status status = copse_check_keys(index, "copse_contains", keys, "keys", n);
    if (status != COPSE_OK || n == 0) return status;
    if (!out_found) return copse_fail_null(index->ctx, "copse_contains", "out_found");
    copse_promise_begin(index);
    return copse_promise_end(index->calls->find(index, keys, n, NULL, out_found));
}

static copse_status neighbours(const copse_index *index, const char *call, copse_neighbour which, const void *keys,
                               uint64_t n, void *out_keys, void *out_values, uint8_t *out_found, uint64_t *out_ranks)
{
    copse_status status = copse_check_keys(index, call, keys, "keys", n);
    if (status == COPSE_OK) status = copse_check_values(index, call, out_values, "out_values");
    if (status != COPSE_OK || n == 0) return status;
    copse_promise_begin(index);
    return copse_promise_end(
        index->calls->neighbours(index, keys, n, which, out_keys, out_values, out_found, out_ranks));
}

copse_status copse_lower_bound(const copse_index *index, const void *keys, uint64_t n, void *out_keys, void *out_values,
                               uint8_t *out_found, uint64_t *out_ranks)
{
    return neighbours(index, "copse_lower_bound", COPSE_AT_OR_AFTER, keys, n, out_keys, out_values, out_found,
                      out_ranks);
}

copse_status copse_upper_bound(const copse_index *index, const void *keys, uint64_t n, void *out_keys, void *out_values,
                               uint8_t *out_found, uint64_t *out_ranks)
{
    return neighbours(index, "copse_upper_bound", COPSE_AFTER, keys, n, out_keys, out_values, out_found, out_ranks);
}

copse_status copse_floor(const copse_index *index, const void *keys, uint64_t n, void *out_keys, void *out_values,
                         uint8_t *out_found)
{
    return neighbours(index, "copse_floor", COPSE_AT_OR_BEFORE, keys, n, out_keys, out_values, out_found, NULL);
}

copse_status copse_successor(const copse_index *index, const void *keys, uint64_t n, void *out_keys, void *out_values,
                             uint8_t *out_found)
{
    return neighbours(index, "copse_successor", COPSE_AFTER, keys, n, out_keys, out_values, out_found, NULL);
}

copse_status copse_predecessor(const copse_index *index, const void *keys, uint64_t n, void *out_keys, void *out_values,
                               uint8_t *out_found)
{
    return neighbours(index, "copse_predecessor", COPSE_BEFORE, keys, n, out_keys, out_values, out_found, NULL);
}

copse_status copse_longest_prefix(const copse_index *index, const void *keys, uint64_t n, void *out_keys,
                                  void *out_values, uint8_t *out_found)
{
    if (!index) return copse_fail_argument(NULL, "index", "copse_longest_prefix: index is NULL");
    if (index->key_type != COPSE_BYTES)
        return copse_fail(index->ctx, COPSE_ERR_TYPE, "copse_longest_prefix: keys of the type %s have no prefixes",
                          copse_type_name(index->key_type));
    return neighbours(index, "copse_longest_prefix", COPSE_LONGEST_PREFIX, keys, n, out_keys, out_values, out_found,
                      NULL);
}

copse_status copse_select(const copse_index *index, const uint64_t *ranks, uint64_t n, void *out_keys, void *out_values,
                          uint8_t *out_found)
{
    copse_status status = copse_check_keys(index, "copse_select", ranks, "ranks", n);
    if (status == COPSE_OK) status = copse_check_values(index, "copse_select", out_values, "out_values");
    if (status != COPSE_OK || n == 0) return status;
    if (!index->calls->select)
        return copse_fail(index->ctx, COPSE_ERR_UNSUPPORTED, "copse_select: the %s tree has no ranks",
                          copse_structure_name(index->description->structure));
    copse_promise_begin(index);
    return copse_promise_end(index->calls->select(index, ranks, n, out_keys, out_values, out_found));
}

/* The first entries in one direction: the row of a range without ends. */
static copse_status ends(const copse_index *index, const char *call, uint32_t flags, uint64_t max, void *out_keys,
                         void *out_values, uint64_t *out_n)
{
    if (out_n) *out_n = 0;
    if (!index) return copse_fail_argument(NULL, "index", "%s: index is NULL", call);
    if (!out_n) return copse_fail_argument(index->ctx, "out_n", "%s: out_n is NULL", call);
    copse_status status = copse_check_values(index, call, out_values, "out_values");
    if (status != COPSE_OK) return status;
    if (max == 0) return COPSE_OK;
    uint64_t offsets[2];
    copse_ranges all = COPSE_BETWEEN(NULL, NULL, 1);
    copse_rows row = COPSE_ROWS_INIT;
    all.flags = flags;
    all.limit = max;
    row.offsets = offsets;
    row.keys = out_keys;
    row.values = out_values;
    row.capacity = out_keys || out_values ? max : 0;
    status = copse_range_run_checked(index, &all, &row); /* the offsets are host memory, whatever was promised */
    if (status == COPSE_OK) *out_n = offsets[1];
    return status;
}

copse_status copse_first(const copse_index *index, uint64_t max, void *out_keys, void *out_values, uint64_t *out_n)
{
    return ends(index, "copse_first", 0, max, out_keys, out_values, out_n);
}

copse_status copse_last(const copse_index *index, uint64_t max, void *out_keys, void *out_values, uint64_t *out_n)
{
    return ends(index, "copse_last", COPSE_RANGE_DESCENDING, max, out_keys, out_values, out_n);
}

copse_status copse_find_all(const copse_index *index, const void *keys, uint64_t n, const copse_rows *out_rows)
{
    copse_status status = copse_check_keys(index, "copse_find_all", keys, "keys", n);
    if (status != COPSE_OK) return status;
    const copse_ranges ranges = COPSE_BETWEEN(keys, keys, n);
    copse_error_info info = {.struct_size = sizeof info};
    status = copse_range(index, &ranges, out_rows);
    if (status != COPSE_ERR_NAN || copse_last_error_info(index->ctx, &info) != COPSE_OK) return status;
    return copse_fail_nan(index->ctx, "keys", info.position); /* not one of the ends */
}
