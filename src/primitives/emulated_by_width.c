/* The primitives of the emulated device over pairs of the object's widths, as plain loops. See emulated.c. */
#include "primitives/emulated.h"
#include "device/emulated_memory.h"
#include "primitives/mixed_state.h"

#include <string.h>

#define DIGIT_BITS 8u

/* One pass of the sort: by the digit of DIGIT_BITS bits (fewer at the end) that starts at `bit`. */
static void sort_pass(const KEY *keys, const VALUE *values, KEY *keys_out, VALUE *values_out, uint64_t n, unsigned bit,
                      unsigned last_bit)
{
    unsigned bits = last_bit - bit < DIGIT_BITS ? last_bit - bit : DIGIT_BITS;
    KEY mask = (KEY)(((KEY)1 << bits) - 1);
    uint64_t position[1u << DIGIT_BITS] = {0};
    for (uint64_t i = 0; i < n; i++) position[(keys[i] >> bit) & mask]++;
    uint64_t before = 0;
    for (unsigned digit = 0; digit < 1u << bits; digit++) {
        uint64_t count = position[digit];
        position[digit] = before;
        before += count;
    }
    for (uint64_t i = 0; i < n; i++) {
        uint64_t at = position[(keys[i] >> bit) & mask]++;
        keys_out[at] = keys[i];
        values_out[at] = values[i];
    }
}

/* Sorts from one pair of arrays to the other and back, least significant digit first. keys[0] and values[0] are only read
 * in the first pass, after which keys[2] and values[2] are used instead. Returns which of them holds the result. */
static unsigned sort_passes(KEY *const keys[3], VALUE *const values[3], uint64_t n, unsigned first_bit,
                            unsigned last_bit)
{
    unsigned from = 0;
    for (unsigned bit = first_bit; bit < last_bit; bit += DIGIT_BITS) {
        unsigned to = from == 1 ? 2 : 1;
        sort_pass(keys[from], values[from], keys[to], values[to], n, bit, last_bit);
        from = to;
    }
    return from;
}

static copse_status sort_pairs(copse_device *device, copse_stream *stream, const void *keys_in, const void *values_in,
                               void *keys_out, void *values_out, uint64_t n, unsigned first_bit, unsigned last_bit)
{
    void *scratch;
    uint64_t key_bytes = (n * sizeof(KEY) + 7) / 8 * 8; /* values of 8 bytes come behind them */
    uint64_t bytes = key_bytes + n * sizeof(VALUE);
    copse_status status = copse_device_alloc(device, stream, bytes, "sorting pairs", &scratch);
    if (status != COPSE_OK) return status;
    KEY *const keys[3] = {(KEY *)(uintptr_t)keys_in, keys_out, scratch};
    VALUE *const values[3] = {(VALUE *)(uintptr_t)values_in, values_out, (void *)((char *)scratch + key_bytes)};
    copse_emulated_begin();
    unsigned where = sort_passes(keys, values, n, first_bit, last_bit);
    if (where != 1) {
        memcpy(keys_out, keys[where], n * sizeof(KEY));
        memcpy(values_out, values[where], n * sizeof(VALUE));
    }
    copse_emulated_end();
    copse_device_free(device, stream, scratch, bytes);
    return COPSE_OK;
}

static unsigned sort_pairs_between(void *const keys[2], void *const values[2], uint64_t n, unsigned first_bit,
                                   unsigned last_bit)
{
    KEY *const k[3] = {keys[0], keys[1], keys[0]};
    VALUE *const v[3] = {values[0], values[1], values[0]};
    return sort_passes(k, v, n, first_bit, last_bit) == 1 ? 1 : 0;
}

static void scan_states(const void *keys_in, const void *tags_in, void *states, uint64_t n)
{
    const KEY *keys = keys_in;
    uint64_t state = 0;
    for (uint64_t i = 0; i < n; i++) {
        bool first = i == 0 || keys[i - 1] != keys[i];
        state = copse_mixed_join(state, copse_mixed_state(((const VALUE *)tags_in)[i], first));
        ((VALUE *)states)[i] = (VALUE)state;
    }
}

static uint64_t unique_pairs(const void *keys_in, const void *values_in, void *keys_out, void *values_out, uint64_t n,
                             copse_unique which)
{
    const KEY *keys = keys_in;
    uint64_t kept = 0;
    for (uint64_t i = 0; i < n; i++) {
        bool stays =
            which == COPSE_UNIQUE_FIRST ? i == 0 || keys[i - 1] != keys[i] : i + 1 == n || keys[i] != keys[i + 1];
        if (!stays) continue;
        ((KEY *)keys_out)[kept] = keys[i];
        ((VALUE *)values_out)[kept++] = ((const VALUE *)values_in)[i];
    }
    return kept;
}

static uint64_t select_pairs(const void *keys_in, const void *values_in, const uint8_t *flags, void *keys_out,
                             void *values_out, uint64_t n)
{
    uint64_t kept = 0;
    for (uint64_t i = 0; i < n; i++) {
        if (!flags[i]) continue;
        ((KEY *)keys_out)[kept] = ((const KEY *)keys_in)[i];
        ((VALUE *)values_out)[kept++] = ((const VALUE *)values_in)[i];
    }
    return kept;
}

static void merge_pairs(const void *keys_a, const void *values_a, uint64_t n_a, const void *keys_b,
                        const void *values_b, uint64_t n_b, void *keys_out, void *values_out)
{
    const KEY *a = keys_a, *b = keys_b;
    for (uint64_t i = 0, j = 0; i + j < n_a + n_b;) {
        bool first = j == n_b || (i < n_a && a[i] <= b[j]);
        ((KEY *)keys_out)[i + j] = first ? a[i] : b[j];
        ((VALUE *)values_out)[i + j] = first ? ((const VALUE *)values_a)[i] : ((const VALUE *)values_b)[j];
        if (first)
            i++;
        else
            j++;
    }
}

const copse_emulated_pairs NAME(copse_emulated_pairs) = {
    .sort_pairs = sort_pairs,
    .sort_pairs_between = sort_pairs_between,
    .scan_states = scan_states,
    .unique_pairs = unique_pairs,
    .select_pairs = select_pairs,
    .merge_pairs = merge_pairs,
};
