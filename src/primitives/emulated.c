/*
 * The primitives of the emulated device: plain loops, whose device memory is host memory and whose streams are always
 * through. They take scratch from the device where those of a card do, so that failing allocations reach the same code.
 */
#include "primitives/emulated.h"

#include "device/emulated_memory.h"

static const copse_emulated_pairs *const widths[COPSE_WIDTH_PAIRS] = COPSE_WIDTH_ROW(copse_emulated_pairs);

/* Before a loop over device memory; copse_emulated_end comes after it. With elements to work on it takes the few bytes of
 * scratch that CUB would need to go on. */
static copse_status begin(copse_device *device, copse_stream *stream, uint64_t n, const char *what)
{
    void *scratch = NULL;
    copse_status status = n ? copse_device_alloc(device, stream, 1, what, &scratch) : copse_device_check(device);
    if (status != COPSE_OK) return status;
    copse_device_free(device, stream, scratch, 1);
    copse_emulated_begin();
    return COPSE_OK;
}

static copse_status sort_pairs(copse_device *device, copse_stream *stream, unsigned pair, const void *keys_in,
                               const void *values_in, void *keys_out, void *values_out, uint64_t n, unsigned first_bit,
                               unsigned last_bit)
{
    if (n == 0) return copse_device_check(device);
    return widths[pair]->sort_pairs(device, stream, keys_in, values_in, keys_out, values_out, n, first_bit, last_bit);
}

static copse_status sort_pairs_between(copse_device *device, copse_stream *stream, unsigned pair, void *const keys[2],
                                       void *const values[2], uint64_t n, unsigned first_bit, unsigned last_bit,
                                       unsigned *out_where)
{
    *out_where = 0;
    copse_status status = begin(device, stream, n, "sorting pairs");
    if (status != COPSE_OK) return status;
    *out_where = widths[pair]->sort_pairs_between(keys, values, n, first_bit, last_bit);
    copse_emulated_end();
    return COPSE_OK;
}

static copse_status scan_u64(copse_device *device, copse_stream *stream, const uint64_t *in, uint64_t *out, uint64_t n)
{
    copse_status status = begin(device, stream, n, "scanning");
    if (status != COPSE_OK) return status;
    uint64_t sum = 0;
    for (uint64_t i = 0; i < n; i++) {
        uint64_t next = in[i]; /* out may be in */
        out[i] = sum;
        sum += next;
    }
    copse_emulated_end();
    return COPSE_OK;
}

static copse_status scan_states(copse_device *device, copse_stream *stream, unsigned pair, const void *keys,
                                const void *tags, void *states, uint64_t n)
{
    copse_status status = begin(device, stream, n, "joining operations");
    if (status != COPSE_OK) return status;
    widths[pair]->scan_states(keys, tags, states, n);
    copse_emulated_end();
    return COPSE_OK;
}

static copse_status unique_pairs(copse_device *device, copse_stream *stream, unsigned pair, const void *keys_in,
                                 const void *values_in, void *keys_out, void *values_out, uint64_t n,
                                 copse_unique which, uint64_t *out_count)
{
    copse_status status = begin(device, stream, n, "selecting pairs");
    if (status != COPSE_OK) return status;
    *out_count = widths[pair]->unique_pairs(keys_in, values_in, keys_out, values_out, n, which);
    copse_emulated_end();
    return COPSE_OK;
}

static copse_status select_pairs(copse_device *device, copse_stream *stream, unsigned pair, const void *keys_in,
                                 const void *values_in, const uint8_t *flags, void *keys_out, void *values_out,
                                 uint64_t n, uint64_t *out_count)
{
    copse_status status = begin(device, stream, n, "selecting pairs");
    if (status != COPSE_OK) return status;
    *out_count = widths[pair]->select_pairs(keys_in, values_in, flags, keys_out, values_out, n);
    copse_emulated_end();
    return COPSE_OK;
}

static copse_status select_flagged(copse_device *device, copse_stream *stream, const uint8_t *flags, uint32_t *out,
                                   uint64_t n, uint64_t *out_count)
{
    copse_status status = begin(device, stream, n, "selecting positions");
    if (status != COPSE_OK) return status;
    uint64_t kept = 0;
    for (uint64_t i = 0; i < n; i++)
        if (flags[i]) out[kept++] = (uint32_t)i;
    *out_count = kept;
    copse_emulated_end();
    return COPSE_OK;
}

static copse_status merge_pairs(copse_device *device, copse_stream *stream, unsigned pair, const void *keys_a,
                                const void *values_a, uint64_t n_a, const void *keys_b, const void *values_b,
                                uint64_t n_b, void *keys_out, void *values_out)
{
    copse_status status = begin(device, stream, n_a + n_b, "merging pairs");
    if (status != COPSE_OK) return status;
    widths[pair]->merge_pairs(keys_a, values_a, n_a, keys_b, values_b, n_b, keys_out, values_out);
    copse_emulated_end();
    return COPSE_OK;
}

typedef enum reduction { SUM, LEAST, LARGEST } reduction;

static copse_status reduce(copse_device *device, copse_stream *stream, const uint64_t *in, uint64_t n, reduction kind,
                           uint64_t *out)
{
    copse_status status = begin(device, stream, n, "reducing");
    if (status != COPSE_OK) return status;
    uint64_t result = kind == LEAST ? UINT64_MAX : 0;
    for (uint64_t i = 0; i < n; i++) {
        if (kind == SUM)
            result += in[i];
        else if (kind == LEAST ? in[i] < result : in[i] > result)
            result = in[i];
    }
    *out = result;
    copse_emulated_end();
    return COPSE_OK;
}

static copse_status sum_u64(copse_device *device, copse_stream *stream, const uint64_t *in, uint64_t n, uint64_t *out)
{
    return reduce(device, stream, in, n, SUM, out);
}

static copse_status min_u64(copse_device *device, copse_stream *stream, const uint64_t *in, uint64_t n, uint64_t *out)
{
    return reduce(device, stream, in, n, LEAST, out);
}

static copse_status max_u64(copse_device *device, copse_stream *stream, const uint64_t *in, uint64_t n, uint64_t *out)
{
    return reduce(device, stream, in, n, LARGEST, out);
}

const copse_primitives copse_primitives_host = {
    .sort_pairs = sort_pairs,
    .sort_pairs_between = sort_pairs_between,
    .scan_u64 = scan_u64,
    .scan_states = scan_states,
    .unique_pairs = unique_pairs,
    .select_pairs = select_pairs,
    .select_flagged = select_flagged,
    .merge_pairs = merge_pairs,
    .sum_u64 = sum_u64,
    .min_u64 = min_u64,
    .max_u64 = max_u64,
};
