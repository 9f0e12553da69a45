/*
 * The largest and the smallest values. Histograms over codes find where the last of the wanted values is:
 *
 *   all codes   |.......|.......|...x...|.......|        k largest: all bins right of x, and some of those in x
 *   bin of x                    |..|..|x.|..|            and so on, until few entries are left, or the bin is one code
 *
 * Then a filter takes the entries from there on, in key order, and a stable sort brings them into the order of the values.
 */
#include "api/visit.h"
#include "core/closed_range.h"

#include <stdlib.h>
#include <string.h>

#define BINS 1024u
#define FEW  65536u /* entries that are taken without another histogram */

/* Codes between which the last wanted value is. */
typedef struct search {
    uint64_t low, high;
    uint64_t better; /* entries beyond, all of them wanted */
    uint64_t inside;
    uint64_t edges[BINS + 1];
    uint64_t counts[BINS + COPSE_BINS_OUTSIDE];
} search;

typedef struct ranked {
    uint64_t code;
    uint64_t at; /* place in key order */
} ranked;

static copse_status histogram(const copse_index *index, const copse_pass *pass, search *to, uint32_t bins,
                              uint32_t even)
{
    copse_pass counting = {.kind = COPSE_PASS_HISTOGRAM,
                           .value_type = pass->value_type,
                           .range = pass->range,
                           .low = pass->low,
                           .high = pass->high,
                           .edges = to->edges,
                           .bins = bins,
                           .even = even,
                           .counts = to->counts};
    memset(to->counts, 0, sizeof to->counts);
    return copse_visit_pass(index, &counting);
}

/* Cuts the codes into bins, and goes on in the one that has the last wanted value. */
static copse_status search_step(const copse_index *index, const copse_pass *pass, bool largest, search *to)
{
    const uint64_t span = to->high - to->low;
    uint32_t shift = 0;
    while (span >> shift >= BINS) shift++;
    const uint32_t bins = (uint32_t)(span >> shift) + 1;
    for (uint32_t i = 0; i < bins; i++) to->edges[i] = to->low + ((uint64_t)i << shift);
    to->edges[bins] = to->high;
    copse_status status = histogram(index, pass, to, bins, shift + 1);
    if (status != COPSE_OK) return status;
    for (uint32_t i = 0; i < bins; i++) {
        const uint32_t bin = largest ? bins - 1 - i : i;
        const bool last = i + 1 == bins;
        to->inside = to->counts[bin];
        if (to->better + to->inside < pass->capacity && !last) {
            to->better += to->inside;
            continue;
        }
        to->low = to->edges[bin];
        if (bin + 1 < bins) to->high = to->edges[bin + 1] - 1;
        return COPSE_OK;
    }
    return COPSE_OK;
}

/* --- from a filter to the caller's arrays -------------------------------------------------------------------------------------- */

static int by_code(const void *a, const void *b)
{
    const ranked *x = a, *y = b;
    if (x->code != y->code) return x->code < y->code ? -1 : 1;
    return x->at < y->at ? -1 : x->at > y->at;
}

/* Entries in host memory, and the order in which they go to the caller. */
typedef struct chosen {
    uint64_t room, n;
    char *memory;
    size_t bytes;
    void *keys, *values;
    ranked *order;
} chosen;

static copse_status chosen_make(const copse_index *index, const copse_pass *pass, uint64_t room, chosen *out)
{
    *out = (chosen){.room = room, .bytes = copse_memory_product(room + 1, 2 * sizeof(uint64_t) + sizeof(ranked))};
    out->memory = copse_memory_alloc(index->ctx, out->bytes);
    if (!out->memory) {
        (void)copse_fail_memory(index->ctx, out->bytes, "the visit");
        return COPSE_ERR_MEMORY; /* said here, so that an analyzer knows that it is never COPSE_OK */
    }
    out->order = (ranked *)(void *)out->memory;
    out->values = out->order + room + 1;
    if (pass->keys) out->keys = (uint64_t *)out->values + room + 1;
    return COPSE_OK;
}

/* Takes entries with codes from least to greatest, `most` at most, behind those that are there. */
static copse_status chosen_take(const copse_index *index, const copse_pass *pass, uint64_t least, uint64_t greatest,
                                uint64_t most, chosen *to)
{
    const size_t key = copse_type_size(index->key_type), value = copse_value_width(index->value_type);
    copse_pass filter = {.kind = COPSE_PASS_FILTER,
                         .value_type = pass->value_type,
                         .range = pass->range,
                         .low = pass->low,
                         .high = pass->high,
                         .least = least,
                         .greatest = greatest,
                         .most = most,
                         .keys = to->keys ? (char *)to->keys + to->n * key : NULL,
                         .values = (char *)to->values + to->n * value,
                         .capacity = to->room - to->n};
    copse_status status = copse_visit_pass(index, &filter);
    if (status == COPSE_OK) to->n += filter.n < most ? filter.n : most;
    return status;
}

static uint64_t code_at(copse_type type, const void *values, uint64_t i)
{
    if (copse_type_size(type) == 4) return copse_key_code(type, ((const uint32_t *)values)[i]);
    return copse_key_code(type, ((const uint64_t *)values)[i]);
}

/* In the order of the values; entries lie in key order, but those of the last code behind the others, where they belong. */
static copse_status chosen_give(const copse_index *index, copse_pass *pass, bool largest, chosen *from)
{
    const size_t key = copse_type_size(index->key_type), value = copse_value_width(index->value_type);
    copse_status status = COPSE_OK;
    for (uint64_t i = 0; i < from->n; i++) {
        const uint64_t code = code_at(pass->value_type, from->values, i);
        from->order[i] = (ranked){largest ? ~code : code, i};
    }
    qsort(from->order, from->n, sizeof *from->order, by_code);
    pass->n = from->n < pass->capacity ? from->n : pass->capacity;
    char *sorted = copse_memory_alloc(index->ctx, pass->n * sizeof(uint64_t) + 1);
    if (!sorted) return copse_fail_memory(index->ctx, pass->n * sizeof(uint64_t) + 1, "the visit");
    for (uint64_t i = 0; i < pass->n && pass->values; i++)
        memcpy(sorted + i * value, (char *)from->values + from->order[i].at * value, value);
    status = copse_visit_put(index, pass->values, pass->values_there, 0, value, sorted, pass->n);
    for (uint64_t i = 0; i < pass->n && pass->keys; i++)
        memcpy(sorted + i * key, (char *)from->keys + from->order[i].at * key, key);
    if (status == COPSE_OK) status = copse_visit_put(index, pass->keys, pass->keys_there, 0, key, sorted, pass->n);
    copse_memory_free(index->ctx, sorted, pass->n * sizeof(uint64_t) + 1);
    return status;
}

static copse_status choose(const copse_index *index, copse_pass *pass, bool largest, const search *to)
{
    const copse_type type = pass->value_type;
    const uint64_t first = copse_smallest_code(type), last = copse_largest_code(type);
    const uint64_t all = to->better + to->inside, ties = pass->capacity - to->better;
    const bool few = all <= pass->capacity || all <= FEW;
    chosen entries;
    copse_status status = chosen_make(index, pass, few ? all : pass->capacity, &entries);
    if (status != COPSE_OK) return status;
    if (few)
        status = chosen_take(index, pass, largest ? to->low : first, largest ? last : to->high, all, &entries);
    else if (to->better) /* then there are codes beyond */
        status = chosen_take(index, pass, largest ? to->high + 1 : first, largest ? last : to->low - 1, to->better,
                             &entries);
    if (status == COPSE_OK && !few) status = chosen_take(index, pass, to->low, to->high, ties, &entries);
    if (status == COPSE_OK) status = chosen_give(index, pass, largest, &entries);
    copse_memory_free(index->ctx, entries.memory, entries.bytes);
    return status;
}

copse_status copse_visit_top(const copse_index *index, copse_pass *pass, bool largest)
{
    pass->n = 0;
    if (index->key_type == COPSE_BYTES && pass->keys)
        return copse_fail(index->ctx, COPSE_ERR_UNSUPPORTED,
                          "copse_visit_values: keys of largest and smallest values may not be byte strings");
    if (pass->capacity == 0) return COPSE_OK;
    search *to = copse_memory_alloc(index->ctx, sizeof *to);
    if (!to) return copse_fail_memory(index->ctx, sizeof *to, "the visit");
    to->low = copse_smallest_code(pass->value_type);
    to->high = copse_largest_code(pass->value_type);
    to->better = 0;
    copse_status status;
    do {
        status = search_step(index, pass, largest, to);
    } while (status == COPSE_OK && to->low < to->high && to->better + to->inside > pass->capacity &&
             to->better + to->inside > FEW);
    if (status == COPSE_OK) status = choose(index, pass, largest, to);
    copse_memory_free(index->ctx, to, sizeof *to);
    return status;
}
