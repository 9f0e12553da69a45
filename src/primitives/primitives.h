/*
 * Whole-array operations on device memory: CUB on a card (primitives/cuda*.cu), plain loops in the emulator
 * (primitives/emulated.c). Each puts its work on `stream`, takes scratch memory from the device in stream order, and does
 * not wait. Keys are encoded (unsigned order). `pair` is the pair of widths, see copse_width_pair. Inputs and outputs do not
 * overlap unless a function says so; n may be 0. Errors: MEMORY (scratch), DEVICE.
 */
#pragma once

#include "core/widths.h"
#include "device/device.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum copse_unique { COPSE_UNIQUE_FIRST, COPSE_UNIQUE_LAST } copse_unique;

struct copse_primitives {
    /* Stable sort by bits first_bit .. last_bit (not included) of the keys. Its scratch is as large as its output. */
    copse_status (*sort_pairs)(copse_device *device, copse_stream *stream, unsigned pair, const void *keys_in,
                               const void *values_in, void *keys_out, void *values_out, uint64_t n, unsigned first_bit,
                               unsigned last_bit);
    /* The same without that scratch: keys[0] and values[0] are the input, keys[1] and values[1] are as large, and all
     * four are overwritten. When the call returns, *out_where says which of the two will hold the result. */
    copse_status (*sort_pairs_between)(copse_device *device, copse_stream *stream, unsigned pair, void *const keys[2],
                                       void *const values[2], uint64_t n, unsigned first_bit, unsigned last_bit,
                                       unsigned *out_where);
    /* out[i] = in[0] + ... + in[i - 1], modulo 2^64, for i < n; in == out is fine. */
    copse_status (*scan_u64)(copse_device *device, copse_stream *stream, const uint64_t *in, uint64_t *out, uint64_t n);
    /* Operations of a mixed batch, sorted by key: states[i] is what those on key i do to it up to and with operation i, see
     * mixed_state.h. `pair`: the widths of keys and of tags, which is also that of states. */
    copse_status (*scan_states)(copse_device *device, copse_stream *stream, unsigned pair, const void *keys,
                                const void *tags, void *states, uint64_t n);
    /* Of each run of equal keys (sorted input) keeps the first or the last entry; *out_count is device memory. */
    copse_status (*unique_pairs)(copse_device *device, copse_stream *stream, unsigned pair, const void *keys_in,
                                 const void *values_in, void *keys_out, void *values_out, uint64_t n,
                                 copse_unique which, uint64_t *out_count);
    /* Keeps the entries whose flag is not 0. */
    copse_status (*select_pairs)(copse_device *device, copse_stream *stream, unsigned pair, const void *keys_in,
                                 const void *values_in, const uint8_t *flags, void *keys_out, void *values_out,
                                 uint64_t n, uint64_t *out_count);
    /* The positions, up to 2^32 - 1, whose flag is not 0, ascending. */
    copse_status (*select_flagged)(copse_device *device, copse_stream *stream, const uint8_t *flags, uint32_t *out,
                                   uint64_t n, uint64_t *out_count);
    /* Merges two sorted inputs; among equal keys those of the first input come first. */
    copse_status (*merge_pairs)(copse_device *device, copse_stream *stream, unsigned pair, const void *keys_a,
                                const void *values_a, uint64_t n_a, const void *keys_b, const void *values_b,
                                uint64_t n_b, void *keys_out, void *values_out);
    /* One result in device memory; of no elements: 0 (sum modulo 2^64, max) or UINT64_MAX (min). */
    copse_status (*sum_u64)(copse_device *device, copse_stream *stream, const uint64_t *in, uint64_t n, uint64_t *out);
    copse_status (*min_u64)(copse_device *device, copse_stream *stream, const uint64_t *in, uint64_t n, uint64_t *out);
    copse_status (*max_u64)(copse_device *device, copse_stream *stream, const uint64_t *in, uint64_t n, uint64_t *out);
};

#ifdef __cplusplus
}
#endif
