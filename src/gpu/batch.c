/* Batches on their way into a tree: this brings them to the device, surveys, encodes and sorts them, and resolves equal keys. */
#include "core/codec.h"
#include "gpu/call.h"
#include "gpu/batch.h"
#include "transfer/transfer.h"

#include <string.h>

COPSE_PICK_KERNEL_ROW(copse_shared_kernels)

/* Which array of `memory` holds what. */
enum { RAW_KEYS, RAW_VALUES, OWN_KEYS, OWN_VALUES };

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

static void speculation_release(const copse_index *index, copse_device_pairs *pairs)
{
    copse_device_speculation_free(index->device, pairs->speculation);
    pairs->speculation = NULL;
}

void copse_device_pairs_free(const copse_index *index, copse_device_pairs *pairs)
{
    for (unsigned i = 0; i < 4; i++) release(index, pairs, i);
    speculation_release(index, pairs);
}

/* Takes over what `from` owns: both as OWN_KEYS and OWN_VALUES. */
static void adopt(const copse_index *index, copse_device_pairs *pairs, copse_device_pairs *from)
{
    for (unsigned i = 0; i < 4; i++) {
        release(index, pairs, i);
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
    *out_keys = pairs->memory[OWN_KEYS];
    if (!out_values) return status;
    if (status == COPSE_OK) status = reserve(index, pairs, OWN_VALUES, n * copse_value_width(index->value_type));
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
                                   .n = pairs->n,
                                   .speculation = pairs->speculation};
}

static copse_status nan_refused(const copse_index *index, uint64_t position)
{
    return copse_fail_nan(index->ctx, "keys", (unsigned long long)position);
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

/* Keys of a large batch that the host reads before it decides about a survey. */
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

/* Looks at all keys and takes over what there is to know. */
static copse_status survey_all(const copse_index *index, copse_device_pairs *pairs, copse_device_survey *out)
{
    copse_status status = look(index, pairs, out);
    if (status != COPSE_OK) return status;
    if (out->first_nan != UINT64_MAX) return nan_refused(index, out->first_nan);
    pairs->low = out->smallest;
    pairs->high = out->largest;
    pairs->unique = out->falls == 0 && out->equals == 0;
    return COPSE_OK;
}

static bool integers_of_32_bits(const copse_index *index)
{
    return copse_type_size(index->key_type) == 4 && index->key_type != COPSE_F32;
}

/* Finds out what a sort needs to know. Where a sample shows that keys of 32 bits are out of order there is no more to
 * know: the sort looks at all their bits anyway. */
static copse_status survey(const copse_index *index, copse_device_pairs *pairs, copse_device_survey *out)
{
    bool falls = false;
    copse_status status = COPSE_OK;
    if (integers_of_32_bits(index) && pairs->n > SAMPLE * SAMPLE_SHARE) status = sample_falls(index, pairs, &falls);
    if (status != COPSE_OK) return status;
    if (!falls) return survey_all(index, pairs, out);
    *out = (copse_device_survey){.falls = 1};
    pairs->low = 0;
    pairs->high = UINT32_MAX;
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
        status = reserve(index, &made, OWN_VALUES, pairs->n * copse_value_width(index->value_type));
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

typedef copse_status (*sorter)(copse_device *device, copse_device_sorting *sorting, unsigned *left_out);

/* Puts pairs in order, into arrays of their own. */
static copse_status sort_by(const copse_index *index, copse_device_pairs *pairs, copse_device_sorting *sorting,
                            sorter by, unsigned *left_out)
{
    copse_device_pairs made = {.n = pairs->n};
    sorting->pair = copse_device_pair(index);
    sorting->keys[0] = (void *)(uintptr_t)pairs->keys;
    sorting->values[0] = (void *)(uintptr_t)pairs->values;
    sorting->n = pairs->n;
    sorting->low = pairs->low;
    sorting->high = pairs->high;
    copse_status status = copse_device_pairs_room(index, &made, pairs->n, &sorting->keys[1], &sorting->values[1]);
    if (status == COPSE_OK) status = by(index->device, sorting, left_out);
    if (status == COPSE_OK)
        adopt(index, pairs, &made);
    else
        copse_device_pairs_free(index, &made);
    return status;
}

static copse_status sort_whole(copse_device *device, copse_device_sorting *sorting, unsigned *ignored)
{
    (void)ignored;
    return copse_device_sort(device, sorting);
}

/* all_bits: none may be left out. */
static copse_status sort(const copse_index *index, copse_device_pairs *pairs, bool all_bits)
{
    copse_device_sorting sorting = {.all_bits = all_bits, .speculation = pairs->speculation};
    return sort_by(index, pairs, &sorting, sort_whole, NULL);
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

/* The caller's arrays on the device. */
static copse_status bring_both(const copse_index *index, copse_device_pairs *pairs, const void *keys,
                               const void *values)
{
    const uint64_t n = pairs->n;
    copse_status status =
        bring(index, pairs, RAW_KEYS, "keys", keys, n * copse_type_size(index->key_type), &pairs->keys);
    if (status == COPSE_OK && values)
        status =
            bring(index, pairs, RAW_VALUES, "values", values, n * copse_value_width(index->value_type), &pairs->values);
    return status;
}

static copse_status make(const copse_index *index, const void *keys, const void *values, copse_equal_keys equal,
                         copse_pairs_care care, const char *what, copse_device_pairs *pairs)
{
    copse_device_survey seen;
    const bool plain = care == COPSE_PAIRS_PLAIN;
    const uint64_t n = pairs->n;
    copse_status status = bring_both(index, pairs, keys, values);
    if (status == COPSE_OK) status = survey(index, pairs, &seen);
    if (status == COPSE_OK) status = copse_progress(index->ctx, what, n / 3, n);
    if (status != COPSE_OK) return status;
    if (plain && seen.falls == 0) return COPSE_OK;
    status = copse_device_pairs_encode(index, pairs);
    if (status == COPSE_OK && seen.falls) status = sort(index, pairs, false);
    if (status == COPSE_OK) status = copse_progress(index->ctx, what, n / 3 * 2, n);
    if (status == COPSE_OK && equal != COPSE_EQUAL_ALL && !pairs->unique && !plain)
        status = copse_device_pairs_unique(index, pairs, equal);
    return status;
}

/* Before a batch is made: nothing of it is there yet. */
static copse_status start(const copse_index *index, uint64_t n, const char *what, copse_device_pairs *out)
{
    *out = (copse_device_pairs){.n = n, .key_type = index->key_type};
    if (copse_memory_product(n, 32) == SIZE_MAX)
        return copse_fail_argument(index->ctx, "n", "n is %llu: more entries than memory can address",
                                   (unsigned long long)n);
    return copse_progress(index->ctx, what, 0, n);
}

copse_status copse_device_pairs_make(const copse_index *index, const void *keys, const void *values, uint64_t n,
                                     copse_equal_keys equal, copse_pairs_care care, const char *what,
                                     copse_device_pairs *out)
{
    copse_status status = start(index, n, what, out);
    if (status == COPSE_OK && n) status = make(index, keys, values, equal, care, what, out);
    if (status != COPSE_OK) copse_device_pairs_free(index, out);
    return status;
}

/* --- speculation ------------------------------------------------------------------------------------------------------------ */

/* Batches that go without a hint, at most, after one was wrong. */
#define REST_MOST 32u

void copse_predictor_lost(copse_predictor *predictor)
{
    predictor->last_rest = predictor->last_rest == 0          ? 1
                           : predictor->last_rest < REST_MOST ? predictor->last_rest * 2
                                                              : REST_MOST;
    predictor->rest = predictor->last_rest;
}

/* May the hint be taken for this batch? */
static bool predictor_asked(const copse_pairs_hint *hint)
{
    return hint->there && copse_predictor_ask(hint->predictor);
}

/* Surveys the batch before the sort: the host waits for it. */
static copse_status make_surveyed(const copse_index *index, const copse_pairs_hint *hint, copse_device_pairs *pairs)
{
    copse_device_survey seen;
    copse_status status = survey_all(index, pairs, &seen);
    if (status != COPSE_OK) return status;
    hint->predictor->ascending = seen.falls == 0;
    status = copse_device_pairs_encode(index, pairs);
    return status == COPSE_OK && seen.falls ? sort(index, pairs, false) : status;
}

/* Bounds of all keys that a sort puts in order which takes keys to lie between low and high. */
static void widen(copse_device_pairs *pairs, uint64_t low, uint64_t high)
{
    const unsigned bits = copse_device_sort_bits(low, high);
    const uint64_t differ = bits < 64 ? (UINT64_C(1) << bits) - 1 : UINT64_MAX;
    pairs->low = low & ~differ;
    pairs->high = high | differ;
}

/* Sorted as if all keys lay where low and high do; all_bits: by everything in which such keys may differ. */
static copse_status make_in_speculation(const copse_index *index, uint64_t low, uint64_t high, bool all_bits,
                                        copse_device_pairs *pairs)
{
    pairs->low = low;
    pairs->high = high;
    copse_status status = copse_device_speculation_make(index->device, &pairs->speculation);
    if (status == COPSE_OK) status = copse_device_pairs_encode(index, pairs);
    if (status == COPSE_OK) status = sort(index, pairs, all_bits);
    widen(pairs, low, high);
    /* Sorted by all bits that such keys have, and every one of them is a key. */
    pairs->in_order = copse_device_sort_bits(low, high) == 32 && integers_of_32_bits(index) &&
                      (all_bits || copse_device_sort_left_out(pairs->n, low, high, false) == 0);
    return status;
}

/* Without a hint integers of 32 bits need no look: a sort by all their bits is cheaper than that and a wait. */
static copse_status sort_pairs(const copse_index *index, const copse_pairs_hint *hint, copse_device_pairs *pairs)
{
    const bool hinted = predictor_asked(hint);
    if (hint->predictor->ascending || (!hinted && !integers_of_32_bits(index)))
        return make_surveyed(index, hint, pairs);
    if (!hinted) return make_in_speculation(index, 0, UINT32_MAX, true, pairs);
    pairs->predictor = hint->predictor;
    return make_in_speculation(index, hint->low, hint->high, false, pairs);
}

copse_status copse_device_pairs_bring(const copse_index *index, const void *keys, const void *values, uint64_t n,
                                      const char *what, copse_device_pairs *out)
{
    copse_status status = start(index, n, what, out);
    if (status == COPSE_OK && n) status = bring_both(index, out, keys, values);
    if (status == COPSE_OK && n) status = copse_progress(index->ctx, what, n / 3, n);
    if (status != COPSE_OK) copse_device_pairs_free(index, out);
    return status;
}

copse_status copse_device_pairs_sort(const copse_index *index, const copse_pairs_hint *hint, const char *what,
                                     copse_device_pairs *pairs)
{
    const uint64_t n = pairs->n;
    copse_status status = n ? sort_pairs(index, hint, pairs) : COPSE_OK;
    return status == COPSE_OK && n ? copse_progress(index->ctx, what, n / 3 * 2, n) : status;
}

copse_status copse_device_pairs_sort_coarse(const copse_index *index, const copse_pairs_hint *hint,
                                            copse_device_pairs *pairs)
{
    copse_device_sorting sorting = {.all_bits = false};
    pairs->predictor = hint->predictor;
    pairs->low = hint->low;
    pairs->high = hint->high;
    copse_status status = copse_device_speculation_make(index->device, &pairs->speculation);
    if (status == COPSE_OK) status = copse_device_pairs_encode(index, pairs);
    if (status == COPSE_OK) status = sort_by(index, pairs, &sorting, copse_device_sort_coarse, &pairs->left_out);
    widen(pairs, hint->low, hint->high);
    return status;
}

/* The pairs are encoded and have values, but their order is of no use, except that equal keys are in the caller's. */
static copse_status sort_again(const copse_index *index, copse_device_pairs *pairs)
{
    copse_device_survey seen;
    copse_status status = survey_all(index, pairs, &seen);
    if (status != COPSE_OK || seen.falls == 0) return status;
    return sort(index, pairs, false);
}

copse_status copse_device_pairs_accept(const copse_index *index, copse_device_pairs *pairs,
                                       const copse_pairs_speculation *seen)
{
    copse_predictor *predictor = pairs->predictor;
    speculation_release(index, pairs);
    pairs->predictor = NULL;
    if (seen->not_first_nan) return nan_refused(index, ~seen->not_first_nan);
    if (predictor) predictor->ascending = seen->ascending != 0;
    if (predictor && seen->wrong) copse_predictor_lost(predictor);
    if (seen->wrong) return COPSE_OK;
    if (predictor) predictor->last_rest /= 2;
    pairs->low = seen->smallest;
    pairs->high = seen->largest;
    return COPSE_OK;
}

copse_status copse_device_pairs_check(const copse_index *index, copse_device_pairs *pairs,
                                      const copse_pairs_speculation *seen)
{
    copse_status status = copse_device_pairs_accept(index, pairs, seen);
    return status == COPSE_OK && seen->wrong ? sort_again(index, pairs) : status;
}

copse_status copse_device_pairs_confirm(const copse_index *index, copse_device_pairs *pairs)
{
    copse_pairs_speculation seen;
    if (!pairs->speculation) return COPSE_OK;
    copse_status status = copse_device_read(index->device, index->device->main, &seen, pairs->speculation, sizeof seen);
    return status == COPSE_OK ? copse_device_pairs_check(index, pairs, &seen) : status;
}
