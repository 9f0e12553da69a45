/* The keys of a batch in order, on a device: sorted by words of 8 bytes, very long ones merged before, then without equal ones. */
#include "gpu/sort.h"
#include "primitives/primitives.h"
#include "trees/radix/gpu/tree.h"

#define WORD_AND_POSITION copse_width_pair(8, 4)

/* A batch on its way. */
typedef struct order_call {
    const copse_index *index;
    copse_radix_order_arguments a;
    uint64_t *words[2];
    uint32_t *positions[2];
    unsigned turn; /* which of both have the order so far */
    copse_radix_survey survey;
    copse_scratch scratch;
} order_call;

static copse_status launch(order_call *call, const copse_kernel *kernel, uint64_t n)
{
    copse_device *device = call->index->device;
    return copse_device_launch(device, device->main, kernel, copse_device_blocks(device, n), &call->a);
}

/* --- which keys ---------------------------------------------------------------------------------------------------------------- */

/* The positions of keys that are wanted, in a first array. */
static copse_status positions_make(order_call *call)
{
    copse_device *device = call->index->device;
    const copse_kernel *absent = &copse_radix_kernels_on(device)->absent;
    copse_radix_order_arguments *a = &call->a;
    const uint64_t n = a->keys_n;
    copse_status status = COPSE_OK;
    a->n = n;
    a->positions = NULL;
    if (a->places) {
        status = launch(call, absent, n);
        if (status == COPSE_OK) status = copse_device_fill(device, device->main, a->ranks + n, 0, sizeof *a->ranks);
        if (status == COPSE_OK)
            status = device->backend->primitives->scan_u64(device, device->main, a->ranks, a->ranks, n + 1);
        if (status == COPSE_OK) status = copse_device_read(device, device->main, &a->n, a->ranks + n, sizeof a->n);
    }
    a->positions = call->positions[0];
    return status == COPSE_OK ? launch(call, absent, n) : status;
}

static copse_status survey(order_call *call)
{
    copse_device *device = call->index->device;
    copse_status status = copse_device_fill(device, device->main, call->a.survey, 0, sizeof call->survey);
    if (status == COPSE_OK) status = launch(call, &copse_radix_kernels_on(device)->survey, call->a.n);
    return status == COPSE_OK
               ? copse_device_read(device, device->main, &call->survey, call->a.survey, sizeof call->survey)
               : status;
}

/* --- sorting ------------------------------------------------------------------------------------------------------------------- */

/* Sorts by bits of one word, and leaves keys that are equal in them as they were. */
static copse_status word_sort(order_call *call, uint32_t word, uint64_t differ)
{
    copse_device *device = call->index->device;
    const unsigned low = (unsigned)__builtin_ctzll(differ), high = 64u - (unsigned)__builtin_clzll(differ);
    unsigned where;
    call->a.word = word;
    call->a.positions = call->positions[call->turn];
    call->a.words = call->words[call->turn];
    copse_status status = launch(call, &copse_radix_kernels_on(device)->words, call->a.n);
    if (status != COPSE_OK) return status;
    void *const keys[2] = {call->words[call->turn], call->words[!call->turn]};
    void *const values[2] = {call->positions[call->turn], call->positions[!call->turn]};
    status = device->backend->primitives->sort_pairs_between(device, device->main, WORD_AND_POSITION, keys, values,
                                                             call->a.n, low, high, &where);
    if (where) call->turn = !call->turn;
    call->a.positions = call->positions[call->turn];
    call->a.words = call->words[call->turn];
    return status;
}

/* Keys with bytes behind the last word, which are the last ones in the order by length. */
static copse_status longer_sort(order_call *call)
{
    copse_device *device = call->index->device;
    copse_radix_order_arguments *a = &call->a;
    const uint64_t n = a->n, longer = call->survey.longer;
    uint32_t *const kept = call->positions[call->turn] + (n - longer), *from = kept,
                    *to = call->positions[!call->turn] + (n - longer);
    copse_status status = COPSE_OK;
    a->n = longer;
    for (a->run = 1; a->run < longer && status == COPSE_OK; a->run *= 2) {
        a->positions = from;
        a->merged = to;
        status = launch(call, &copse_radix_kernels_on(device)->merge, longer);
        to = from;
        from = a->merged;
    }
    a->n = n;
    if (status == COPSE_OK && from != kept)
        status = copse_device_copy(device, device->main, kept, from, longer * sizeof *kept);
    return status;
}

static copse_status words_sort(order_call *call)
{
    const copse_radix_survey *s = &call->survey;
    copse_status status = COPSE_OK;
    const uint64_t lengths = s->longest ^ ~s->shortest;
    if (lengths) status = word_sort(call, COPSE_RADIX_LENGTHS, (UINT64_C(2) << (63 - __builtin_clzll(s->longest))) - 1);
    if (status == COPSE_OK && s->longer) status = longer_sort(call);
    for (uint32_t word = COPSE_RADIX_SORT_WORDS; word-- > 0 && status == COPSE_OK;)
        if (s->differ[word]) status = word_sort(call, word, s->differ[word]);
    return status;
}

/* --- different keys -------------------------------------------------------------------------------------------------------------- */

/* Of keys in order; then `survey` says how many there are, and whether there were ties. */
static copse_status unique_make(order_call *call)
{
    copse_device *device = call->index->device;
    copse_radix_order_arguments *a = &call->a;
    a->positions = call->positions[call->turn];
    a->words = call->words[0];
    copse_status status = launch(call, &copse_radix_kernels_on(device)->ends, a->n);
    if (status == COPSE_OK) status = copse_device_fill(device, device->main, a->ranks + a->n, 0, sizeof *a->ranks);
    if (status == COPSE_OK)
        status = device->backend->primitives->scan_u64(device, device->main, a->ranks, a->ranks, a->n + 1);
    if (status == COPSE_OK) status = launch(call, &copse_radix_kernels_on(device)->unique, a->n);
    return status == COPSE_OK ? copse_device_read(device, device->main, &call->survey, a->survey, sizeof call->survey)
                              : status;
}

/* Sorts by the first word in which keys differ: often that is enough, so that the rest does not wait for the answer. */
static copse_status first_sort(order_call *call, bool *out_enough)
{
    copse_device *device = call->index->device;
    uint32_t word = 0, words = 0;
    *out_enough = false;
    for (uint32_t i = COPSE_RADIX_SORT_WORDS; i-- > 0;)
        if (call->survey.differ[i]) {
            word = i;
            words++;
        }
    if (words < 2) return COPSE_OK;
    copse_status status = word_sort(call, word, call->survey.differ[word]);
    if (status == COPSE_OK) status = launch(call, &copse_radix_kernels_on(device)->ties, call->a.n);
    if (status == COPSE_OK) status = unique_make(call);
    *out_enough = call->survey.ties == 0;
    if (status == COPSE_OK && call->survey.ties) { /* equal keys have to be in the order of the batch again */
        call->turn = 0;
        status = positions_make(call);
    }
    return status;
}

static copse_status arrays_make(order_call *call, bool runs, copse_radix_ordered *out)
{
    copse_device *device = call->index->device;
    copse_radix_order_arguments *a = &call->a;
    const uint64_t n = a->keys_n;
    const copse_scratch_array kept[] = {{(void **)&a->unique, n * sizeof *a->unique},
                                        {(void **)&a->common, n * sizeof *a->common},
                                        {(void **)&a->sorted, n * sizeof *a->sorted},
                                        {(void **)&a->ends, n * sizeof *a->ends}};
    const copse_scratch_array arrays[] = {
        {(void **)&call->words[0], n * sizeof(uint64_t)},     {(void **)&call->words[1], n * sizeof(uint64_t)},
        {(void **)&call->positions[0], n * sizeof(uint32_t)}, {(void **)&call->positions[1], n * sizeof(uint32_t)},
        {(void **)&a->ranks, (n + 1) * sizeof(uint64_t)},     {(void **)&a->survey, sizeof *a->survey}};
    copse_status status = copse_scratch_take(device, "the keys in order", kept, runs ? 4 : 2, &out->scratch);
    return status == COPSE_OK ? copse_scratch_take(device, "the keys in order", arrays, 6, &call->scratch) : status;
}

copse_status copse_radix_order(const copse_index *index, const copse_radix_strings *keys, uint64_t keys_n,
                               const uint32_t *places, bool first, bool runs, copse_radix_ordered *out)
{
    order_call call = {.index = index, .a = {.keys = *keys, .keys_n = keys_n, .places = places, .first = first}};
    bool enough = false;
    *out = (copse_radix_ordered){.keys = *keys, .keys_n = keys_n};
    copse_status status = arrays_make(&call, runs, out);
    if (status == COPSE_OK) status = positions_make(&call);
    if (status == COPSE_OK) status = survey(&call);
    if (status == COPSE_OK) status = first_sort(&call, &enough);
    if (status == COPSE_OK && !enough) status = words_sort(&call);
    if (status == COPSE_OK && !enough) status = unique_make(&call);
    copse_scratch_free(index->device, &call.scratch);
    out->unique = call.a.unique;
    out->common = call.a.common;
    out->sorted = call.a.sorted;
    out->ends = call.a.ends;
    out->n = call.survey.different;
    out->longest = call.survey.longest;
    out->shortest = ~call.survey.shortest;
    return status;
}
