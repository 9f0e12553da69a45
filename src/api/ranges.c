/* The ranges of a call: checked, and closed. */
#include "api/ranges.h"
#include "core/closed_range.h"
#include "core/structs.h"
#include "gpu/call.h"
#include "gpu/close.h"

#define ALL_FLAGS  (COPSE_RANGE_LOW_OPEN | COPSE_RANGE_HIGH_OPEN | COPSE_RANGE_DESCENDING | COPSE_RANGE_PREFIX)
#define OPEN_FLAGS (COPSE_RANGE_LOW_OPEN | COPSE_RANGE_HIGH_OPEN)

/* The ends that ranges of all keys with a prefix may have. */
static copse_status check_prefix(const copse_index *index, const char *call, const copse_ranges *ranges)
{
    if (index->key_type != COPSE_BYTES)
        return copse_fail(index->ctx, COPSE_ERR_TYPE,
                          "%s: ranges->flags has COPSE_RANGE_PREFIX, but keys of the type %s have no prefixes", call,
                          copse_type_name(index->key_type));
    if ((!ranges->lows && ranges->n) || ranges->highs || ranges->flags & OPEN_FLAGS)
        return copse_fail_argument(index->ctx, "ranges",
                                   "%s: with COPSE_RANGE_PREFIX ranges->lows has the prefixes, highs is NULL, and no "
                                   "end is open",
                                   call);
    return COPSE_OK;
}

copse_status copse_ranges_check(const copse_index *index, const char *call, const copse_ranges *asked, bool limit,
                                copse_ranges *out)
{
    if (!index) return copse_fail_argument(NULL, "index", "%s: index is NULL", call);
    if (!asked) return copse_fail_argument(index->ctx, "ranges", "%s: ranges is NULL", call);
    const copse_ranges defaults = COPSE_BETWEEN(NULL, NULL, 0);
    *out = defaults;
    copse_status status = copse_struct_take_whole(index->ctx, call, "ranges", asked, out, sizeof *out);
    if (status != COPSE_OK) return status;
    if (out->flags & ~ALL_FLAGS)
        return copse_fail_argument(index->ctx, "ranges",
                                   "%s: ranges->flags is %u, which has a bit that is none of COPSE_RANGE_*", call,
                                   out->flags);
    if (out->limit && !limit)
        return copse_fail_argument(index->ctx, "ranges",
                                   "%s: ranges->limit is %llu, but only copse_range has a use for it", call,
                                   (unsigned long long)out->limit);
    if (out->n > SIZE_MAX / 32)
        return copse_fail_argument(index->ctx, "ranges", "%s: ranges->n is %llu: more than any array can hold", call,
                                   (unsigned long long)out->n);
    return out->flags & COPSE_RANGE_PREFIX ? check_prefix(index, call, out) : COPSE_OK;
}

static uint64_t bits_at(const void *keys, size_t width, uint64_t i)
{
    if (!keys) return 0;
    return width == 4 ? ((const uint32_t *)keys)[i] : ((const uint64_t *)keys)[i];
}

static void bits_put(void *keys, size_t width, uint64_t i, uint64_t bits)
{
    if (width == 4)
        ((uint32_t *)keys)[i] = (uint32_t)bits;
    else
        ((uint64_t *)keys)[i] = bits;
}

static copse_status close_on_host(const copse_index *index, const copse_ranges *asked, copse_checked_ranges *out)
{
    const size_t width = copse_type_size(index->key_type);
    out->bytes = copse_memory_product(asked->n, 2 * width);
    out->memory = copse_memory_alloc(index->ctx, out->bytes);
    if (!out->memory) return copse_fail_memory(index->ctx, out->bytes, "the ends of ranges");
    char *lows = out->memory, *highs = lows + asked->n * width;
    for (uint64_t i = 0; i < asked->n; i++) {
        uint64_t low = bits_at(asked->lows, width, i), high = bits_at(asked->highs, width, i);
        copse_close_range(index->key_type, asked->flags, asked->lows, asked->highs, &low, &high);
        bits_put(lows, width, i, low);
        bits_put(highs, width, i, high);
    }
    out->ranges.lows = lows;
    out->ranges.highs = highs;
    out->ranges.flags &= COPSE_RANGE_DESCENDING;
    return COPSE_OK;
}

/* Does one of the ends lie in device memory? */
static copse_status ends_on_device(const copse_index *index, const copse_ranges *asked, bool *out)
{
    bool low = false, high = false;
    copse_status status = COPSE_OK;
    if (index->device && asked->lows) status = copse_call_array(index, asked->lows, "lows", &low);
    if (status == COPSE_OK && index->device && asked->highs)
        status = copse_call_array(index, asked->highs, "highs", &high);
    *out = low || high || (index->device && index->ctx->device_arrays);
    return status;
}

copse_status copse_ranges_take(const copse_index *index, const char *call, const copse_ranges *asked, bool limit,
                               copse_checked_ranges *out)
{
    copse_ranges checked = COPSE_BETWEEN(NULL, NULL, 0);
    bool on_device;
    copse_status status = copse_ranges_check(index, call, asked, limit, &checked);
    if (status != COPSE_OK) return status;
    *out = (copse_checked_ranges){.ranges = checked};
    if (index->key_type == COPSE_BYTES) return COPSE_OK; /* the tree reads open ends */
    if (checked.n == 0 || (checked.lows && checked.highs && !(checked.flags & OPEN_FLAGS))) return COPSE_OK;
    status = ends_on_device(index, &checked, &on_device);
    if (status != COPSE_OK) return status;
    status =
        on_device ? copse_gpu_close(index, &checked, &out->ranges, &out->scratch) : close_on_host(index, &checked, out);
    if (status != COPSE_OK) copse_ranges_release(index, out);
    return status;
}

void copse_ranges_release(const copse_index *index, copse_checked_ranges *ranges)
{
    copse_memory_free(index->ctx, ranges->memory, ranges->bytes);
    if (ranges->scratch.memory) copse_scratch_free(index->device, &ranges->scratch);
}
