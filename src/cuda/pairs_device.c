/* Batches on their way into a tree on a device: brought there, looked at, encoded, sorted, equal keys resolved. */
#include "core/codec.h"
#include "cuda/call_device.h"
#include "cuda/pairs_device.h"
#include "cuda/transfer.h"

#include <string.h>

/* Which array of `memory` holds what. */
enum { RAW_KEYS, RAW_VALUES, OWN_KEYS, OWN_VALUES };

/* Blocks that a multiprocessor is given of a kernel with strides. */
#define BLOCKS_PER_MULTIPROCESSOR 32u

uint64_t copse_device_blocks(const copse_device *device, uint64_t items)
{
    uint64_t most = (uint64_t)device->multiprocessors * BLOCKS_PER_MULTIPROCESSOR;
    uint64_t blocks = (items + COPSE_KERNEL_THREADS - 1) / COPSE_KERNEL_THREADS;
    return blocks < 1 ? 1 : blocks < most ? blocks : most;
}

/* --- surveys ------------------------------------------------------------------------------------------------------------ */

copse_status copse_device_survey_make(copse_device *device, copse_device_survey **out)
{
    static const copse_device_survey start = {
        .first_nan = UINT64_MAX, .smallest = UINT64_MAX, .trouble = {UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX}};
    void *memory = NULL;
    copse_status status = copse_device_alloc(device, device->main, sizeof start, "a look at the batch", &memory);
    *out = memory;
    if (status != COPSE_OK) return status;
    status = copse_device_copy(device, device->main, memory, &start, sizeof start);
    if (status != COPSE_OK) {
        copse_device_survey_free(device, *out);
        *out = NULL;
    }
    return status;
}

copse_status copse_device_survey_read(copse_device *device, copse_device_survey *survey, copse_device_survey *out)
{
    return copse_device_read(device, device->main, out, survey, sizeof *out);
}

void copse_device_survey_free(copse_device *device, copse_device_survey *survey)
{
    copse_device_free(device, device->main, survey, sizeof *survey);
}

/* --- memory ------------------------------------------------------------------------------------------------------------- */

static void release(const copse_index *index, copse_device_pairs *pairs, unsigned which)
{
    copse_device_free(index->device, index->device->main, pairs->memory[which], pairs->bytes[which]);
    pairs->memory[which] = NULL;
}

static copse_status reserve(const copse_index *index, copse_device_pairs *pairs, unsigned which, uint64_t bytes)
{
    pairs->bytes[which] = bytes;
    return copse_device_alloc(index->device, index->device->main, bytes, "sorting the batch", &pairs->memory[which]);
}

void copse_device_pairs_free(const copse_index *index, copse_device_pairs *pairs)
{
    for (unsigned i = 0; i < 4; i++) release(index, pairs, i);
}

/* Takes over what `from` owns: both as OWN_KEYS and OWN_VALUES. */
static void adopt(const copse_index *index, copse_device_pairs *pairs, copse_device_pairs *from)
{
    copse_device_pairs_free(index, pairs);
    for (unsigned i = 0; i < 4; i++) {
        pairs->memory[i] = from->memory[i];
        pairs->bytes[i] = from->bytes[i];
    }
    pairs->keys = pairs->memory[OWN_KEYS];
    pairs->values = pairs->memory[OWN_VALUES];
    pairs->key_type = copse_device_pairs_type(index);
}

copse_status copse_device_pairs_room(const copse_index *index, copse_device_pairs *pairs, uint64_t n, void **out_keys,
                                     void **out_values)
{
    copse_status status = reserve(index, pairs, OWN_KEYS, n * copse_type_size(index->key_type));
    if (status == COPSE_OK) status = reserve(index, pairs, OWN_VALUES, n * copse_type_size(index->value_type));
    *out_keys = pairs->memory[OWN_KEYS];
    *out_values = pairs->memory[OWN_VALUES];
    return status;
}

/* --- steps -------------------------------------------------------------------------------------------------------------- */

/* One of the caller's arrays: as it is where it lies on the device, else a copy there. */
static copse_status bring(const copse_index *index, copse_device_pairs *pairs, unsigned which, const char *name,
                          const void *array, uint64_t bytes, const void **out)
{
    bool on_device;
    copse_status status = copse_call_array(index, array, name, &on_device);
    *out = array;
    if (status != COPSE_OK || on_device) return status;
    status = reserve(index, pairs, which, bytes);
    if (status == COPSE_OK) status = copse_transfer_to_device(index->device, pairs->memory[which], array, bytes);
    *out = pairs->memory[which];
    return status;
}

static copse_pairs_arguments arguments_of(const copse_index *index, const copse_device_pairs *pairs)
{
    return (copse_pairs_arguments){.keys = pairs->keys,
                                   .values = pairs->values,
                                   .key_type = pairs->key_type,
                                   .value_type = index->value_type,
                                   .n = pairs->n};
}

/* Looks at all keys. */
static copse_status look(const copse_index *index, const copse_device_pairs *pairs, copse_device_survey *out)
{
    copse_device *device = index->device;
    copse_pairs_arguments arguments = arguments_of(index, pairs);
    copse_status status = copse_device_survey_make(device, &arguments.survey);
    if (status != COPSE_OK) return status;
    status = copse_device_launch(device, device->main, &copse_device_shared(index)->survey,
                                 copse_device_blocks(device, pairs->n), &arguments);
    if (status == COPSE_OK) status = copse_device_survey_read(device, arguments.survey, out);
    copse_device_survey_free(device, arguments.survey);
    return status;
}

/* Keys of a batch that are looked at first, here on the host, where the batch is much larger. */
#define SAMPLE       256u
#define SAMPLE_SHARE 8u

/* Are the first keys of a batch out of order? */
static copse_status sample_falls(const copse_index *index, const copse_device_pairs *pairs, bool *out_falls)
{
    uint32_t keys[SAMPLE] = {0};
    copse_status status = copse_device_read(index->device, index->device->main, keys, pairs->keys, sizeof keys);
    *out_falls = false;
    for (unsigned i = 1; i < SAMPLE && status == COPSE_OK; i++)
        *out_falls |=
            copse_encode_one_k32(pairs->key_type, keys[i]) < copse_encode_one_k32(pairs->key_type, keys[i - 1]);
    return status;
}

/* Finds out what a sort has to know. Where a sample shows that keys of 32 bits are out of order there is no more to
 * know: the sort looks at all their bits anyway. quick: not even a sample, which would take as long as much of the sort. */
static copse_status survey(const copse_index *index, copse_device_pairs *pairs, bool quick, copse_device_survey *out)
{
    const bool may_sample = copse_type_size(index->key_type) == 4 && index->key_type != COPSE_F32;
    bool falls = may_sample && quick;
    copse_status status = COPSE_OK;
    if (may_sample && !quick && pairs->n > SAMPLE * SAMPLE_SHARE) status = sample_falls(index, pairs, &falls);
    if (status != COPSE_OK) return status;
    if (falls) {
        *out = (copse_device_survey){.falls = 1};
        pairs->low = 0;
        pairs->high = UINT32_MAX;
        return COPSE_OK;
    }
    status = look(index, pairs, out);
    if (status != COPSE_OK) return status;
    if (out->first_nan != UINT64_MAX)
        return copse_fail(index->ctx, COPSE_ERR_NAN, "keys[%llu] is NaN, which has no place in an order",
                          (unsigned long long)out->first_nan);
    pairs->low = out->smallest;
    pairs->high = out->largest;
    pairs->unique = out->falls == 0 && out->equals == 0;
    return COPSE_OK;
}

copse_status copse_device_pairs_encode(const copse_index *index, copse_device_pairs *pairs)
{
    const bool keys_too = pairs->key_type != copse_device_pairs_type(index), values_too = pairs->values == NULL;
    if (!keys_too && !values_too) return COPSE_OK;
    copse_device_pairs made = {0};
    copse_status status = COPSE_OK;
    if (keys_too) status = reserve(index, &made, OWN_KEYS, pairs->n * copse_type_size(index->key_type));
    if (status == COPSE_OK && values_too)
        status = reserve(index, &made, OWN_VALUES, pairs->n * copse_type_size(index->value_type));
    copse_pairs_arguments arguments = arguments_of(index, pairs);
    arguments.out_keys = made.memory[OWN_KEYS];
    arguments.out_values = made.memory[OWN_VALUES];
    if (status == COPSE_OK)
        status = copse_device_launch(index->device, index->device->main, &copse_device_shared(index)->encode,
                                     copse_device_blocks(index->device, pairs->n), &arguments);
    if (status != COPSE_OK) {
        copse_device_pairs_free(index, &made);
        return status;
    }
    for (unsigned i = OWN_KEYS; i <= OWN_VALUES; i++) {
        if (!made.memory[i]) continue;
        release(index, pairs, i - OWN_KEYS); /* the raw array that this one replaces */
        pairs->memory[i] = made.memory[i];
        pairs->bytes[i] = made.bytes[i];
    }
    if (keys_too) pairs->keys = made.memory[OWN_KEYS];
    if (values_too) pairs->values = made.memory[OWN_VALUES];
    pairs->key_type = copse_device_pairs_type(index);
    return COPSE_OK;
}

/* So many bits more than it takes to number the keys tell nearly all keys of a spread-out batch apart. */
#define SPARE_BITS 8u

/* Puts pairs that share the bits above `bits` in order. *out_settled: false where too many share them. */
static copse_status settle(copse_device *device, const copse_device_sorting *sorting, unsigned bits, bool *out_settled)
{
    copse_device_survey seen = {0};
    copse_pairs_arguments arguments = {.first = bits,
                                       .n = sorting->n,
                                       .out_keys = sorting->keys[sorting->where],
                                       .out_values = sorting->values[sorting->where]};
    copse_status status = copse_device_survey_make(device, &arguments.survey);
    if (status != COPSE_OK) return status;
    status = copse_device_launch(device, device->main, &device->backend->shared[sorting->pair]->settle,
                                 copse_device_blocks(device, sorting->n), &arguments);
    if (status == COPSE_OK) status = copse_device_survey_read(device, arguments.survey, &seen);
    copse_device_survey_free(device, arguments.survey);
    *out_settled = seen.falls == 0;
    return status;
}

static copse_status sort_bits(copse_device *device, copse_device_sorting *s, unsigned first_bit, unsigned last_bit)
{
    const copse_primitives *primitives = device->backend->primitives;
    if (s->between) {
        const unsigned from = s->where;
        void *keys[2] = {s->keys[from], s->keys[1 - from]}, *values[2] = {s->values[from], s->values[1 - from]};
        unsigned moved = 0;
        copse_status status = primitives->sort_pairs_between(device, device->main, s->pair, keys, values, s->n,
                                                             first_bit, last_bit, &moved);
        s->where = from ^ moved;
        return status;
    }
    s->where = 1;
    return primitives->sort_pairs(device, device->main, s->pair, s->keys[0], s->values[0], s->keys[1], s->values[1],
                                  s->n, first_bit, last_bit);
}

/*
 * Only the bits in which the keys differ are sorted by; and of those, where keys have 64 bits, only as many as it should
 * take to tell them apart: a pass of the radix sort takes as long as everything else together. Where that was not
 * enough, all bits are sorted by after all; equal keys are still in their order then, also where the input is gone.
 */
copse_status copse_device_sort(copse_device *device, copse_device_sorting *sorting)
{
    const uint64_t differ = sorting->low ^ sorting->high;
    const unsigned last_bit = differ ? 64u - (unsigned)__builtin_clzll(differ) : 1u;
    const unsigned wanted = (64u - (unsigned)__builtin_clzll(sorting->n) + SPARE_BITS + 7u) / 8u * 8u;
    const bool wide = sorting->pair >= copse_width_pair(8, 4), partly = wide && wanted + 8u <= last_bit;
    bool settled = false;
    copse_status status = COPSE_OK;
    if (partly) {
        status = sort_bits(device, sorting, last_bit - wanted, last_bit);
        if (status == COPSE_OK) status = settle(device, sorting, last_bit - wanted, &settled);
    }
    if (status == COPSE_OK && !settled) status = sort_bits(device, sorting, 0, last_bit);
    return status;
}

static copse_status sort(const copse_index *index, copse_device_pairs *pairs)
{
    copse_device_pairs made = {.n = pairs->n};
    copse_device_sorting sorting = {.pair = copse_device_pair(index),
                                    .keys[0] = (void *)(uintptr_t)pairs->keys,
                                    .values[0] = (void *)(uintptr_t)pairs->values,
                                    .n = pairs->n,
                                    .low = pairs->low,
                                    .high = pairs->high};
    copse_status status = copse_device_pairs_room(index, &made, pairs->n, &sorting.keys[1], &sorting.values[1]);
    if (status == COPSE_OK) status = copse_device_sort(index->device, &sorting);
    if (status == COPSE_OK)
        adopt(index, pairs, &made);
    else
        copse_device_pairs_free(index, &made);
    return status;
}

copse_status copse_device_pairs_unique(const copse_index *index, copse_device_pairs *pairs, copse_equal_keys equal)
{
    copse_device *device = index->device;
    copse_device_pairs made = {0};
    copse_device_survey *count = NULL;
    void *keys, *values;
    uint64_t kept = 0;
    copse_status status = copse_device_survey_make(device, &count);
    if (status == COPSE_OK) status = copse_device_pairs_room(index, &made, pairs->n, &keys, &values);
    if (status == COPSE_OK)
        status = device->backend->primitives->unique_pairs(
            device, device->main, copse_device_pair(index), pairs->keys, pairs->values, keys, values, pairs->n,
            equal == COPSE_EQUAL_FIRST ? COPSE_UNIQUE_FIRST : COPSE_UNIQUE_LAST, &count->count);
    if (status == COPSE_OK) status = copse_device_read(device, device->main, &kept, &count->count, sizeof kept);
    if (count) copse_device_survey_free(device, count);
    if (status != COPSE_OK) {
        copse_device_pairs_free(index, &made);
        return status;
    }
    adopt(index, pairs, &made);
    pairs->n = kept;
    pairs->unique = true;
    return COPSE_OK;
}

static copse_status make(const copse_index *index, const void *keys, const void *values, uint64_t n,
                         copse_equal_keys equal, copse_pairs_care care, const char *what, copse_device_pairs *pairs)
{
    copse_device_survey seen;
    const bool plain = care == COPSE_PAIRS_PLAIN;
    copse_status status =
        bring(index, pairs, RAW_KEYS, "keys", keys, n * copse_type_size(index->key_type), &pairs->keys);
    if (status == COPSE_OK && values)
        status =
            bring(index, pairs, RAW_VALUES, "values", values, n * copse_type_size(index->value_type), &pairs->values);
    if (status == COPSE_OK) status = survey(index, pairs, care == COPSE_PAIRS_QUICK, &seen);
    if (status == COPSE_OK) status = copse_progress(index->ctx, what, n / 3, n);
    if (status != COPSE_OK) return status;
    if (plain && seen.falls == 0) return COPSE_OK;
    status = copse_device_pairs_encode(index, pairs);
    if (status == COPSE_OK && seen.falls) status = sort(index, pairs);
    if (status == COPSE_OK) status = copse_progress(index->ctx, what, n / 3 * 2, n);
    if (status == COPSE_OK && equal != COPSE_EQUAL_ALL && !pairs->unique && !plain)
        status = copse_device_pairs_unique(index, pairs, equal);
    return status;
}

copse_status copse_device_pairs_make(const copse_index *index, const void *keys, const void *values, uint64_t n,
                                     copse_equal_keys equal, copse_pairs_care care, const char *what,
                                     copse_device_pairs *out)
{
    *out = (copse_device_pairs){.n = n, .key_type = index->key_type};
    if (copse_memory_product(n, 32) == SIZE_MAX)
        return copse_fail(index->ctx, COPSE_ERR_ARGUMENT, "n is %llu: more entries than memory can address",
                          (unsigned long long)n);
    copse_status status = copse_progress(index->ctx, what, 0, n);
    if (status == COPSE_OK && n) status = make(index, keys, values, n, equal, care, what, out);
    if (status != COPSE_OK) copse_device_pairs_free(index, out);
    return status;
}
