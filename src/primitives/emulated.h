/* What emulated.c asks of the widths (emulated_by_width.c): loops over pairs. Meaning and order: primitives.h. */
#pragma once

#include "core/widths.h"
#include "primitives/primitives.h"

typedef struct copse_emulated_pairs {
    copse_status (*sort_pairs)(copse_device *device, copse_stream *stream, const void *keys_in, const void *values_in,
                               void *keys_out, void *values_out, uint64_t n, unsigned first_bit, unsigned last_bit);
    /* Returns which of the two holds the result. */
    unsigned (*sort_pairs_between)(void *const keys[2], void *const values[2], uint64_t n, unsigned first_bit,
                                   unsigned last_bit);
    void (*scan_states)(const void *keys, const void *tags, void *states, uint64_t n);
    /* These return how many pairs stay. */
    uint64_t (*unique_pairs)(const void *keys_in, const void *values_in, void *keys_out, void *values_out, uint64_t n,
                             copse_unique which);
    uint64_t (*select_pairs)(const void *keys_in, const void *values_in, const uint8_t *flags, void *keys_out,
                             void *values_out, uint64_t n);
    void (*merge_pairs)(const void *keys_a, const void *values_a, uint64_t n_a, const void *keys_b,
                        const void *values_b, uint64_t n_b, void *keys_out, void *values_out);
} copse_emulated_pairs;

COPSE_DECLARE_WIDTHS(const copse_emulated_pairs, copse_emulated_pairs);
