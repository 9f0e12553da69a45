#include "model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void model_init(struct model *model, copse_type key_type, copse_type value_type, bool duplicates)
{
    *model = (struct model){key_type, value_type, duplicates, NULL, 0};
}

void model_free(struct model *model)
{
    free(model->entries);
    model->entries = NULL;
    model->n = 0;
}

void model_copy(struct model *to, const struct model *from)
{
    *to = *from;
    to->entries = must_malloc(from->n * sizeof *to->entries);
    if (from->n) memcpy(to->entries, from->entries, from->n * sizeof *to->entries);
}

static int by_key_then_order(const void *left, const void *right)
{
    const struct model_entry *a = left, *b = right;
    if (a->key != b->key) return a->key < b->key ? -1 : 1;
    return a->order < b->order ? -1 : a->order > b->order;
}

/* The old entries and behind them the new ones, sorted so that equal keys stay in that order. Of the old entries every
 * order number is below old_n. */
static struct model_entry *merged_entries(const struct model *model, const void *keys, const void *values, uint64_t n)
{
    struct model_entry *all = must_malloc((model->n + n) * sizeof *all);
    if (model->n) memcpy(all, model->entries, model->n * sizeof *all);
    for (uint64_t i = 0; i < model->n; i++) all[i].order = i;
    for (uint64_t i = 0; i < n; i++) {
        struct model_entry *entry = &all[model->n + i];
        entry->key = typed_code(model->key_type, keys, i);
        entry->value = values ? typed_bits(model->value_type, values, i) : typed_position_bits(model->value_type, i);
        entry->order = model->n + i;
    }
    qsort(all, model->n + n, sizeof *all, by_key_then_order);
    return all;
}

uint64_t model_insert(struct model *model, const void *keys, const void *values, uint64_t n, uint32_t flags)
{
    uint64_t old_n = model->n, total = old_n + n, kept = 0;
    struct model_entry *all = merged_entries(model, keys, values, n);
    for (uint64_t first = 0, last; first < total; first = last) {
        for (last = first + 1; last < total && all[last].key == all[first].key;) last++;
        if (flags & COPSE_INSERT_IF_ABSENT) {
            /* what was there stays; where nothing was, the first of the batch comes */
            all[kept++] = all[first];
            for (uint64_t i = first + 1; i < last && all[i].order < old_n; i++) all[kept++] = all[i];
        } else if (model->duplicates) {
            for (uint64_t i = first; i < last; i++) all[kept++] = all[i];
        } else {
            all[kept++] = all[last - 1];
        }
    }
    free(model->entries);
    model->entries = all;
    model->n = kept;
    return kept - old_n;
}

void model_build(struct model *model, const void *keys, const void *values, uint64_t n)
{
    model_free(model);
    (void)model_insert(model, keys, values, n, COPSE_INSERT_UPSERT);
}

static int by_code(const void *left, const void *right)
{
    const uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return a < b ? -1 : a > b;
}

uint64_t model_erase(struct model *model, const void *keys, uint64_t n)
{
    uint64_t *codes = must_malloc(n * sizeof *codes), kept = 0;
    for (uint64_t i = 0; i < n; i++) codes[i] = typed_code(model->key_type, keys, i);
    qsort(codes, n, sizeof *codes, by_code);
    for (uint64_t i = 0; i < model->n; i++)
        if (!n || !bsearch(&model->entries[i].key, codes, n, sizeof *codes, by_code))
            model->entries[kept++] = model->entries[i];
    uint64_t erased = model->n - kept;
    model->n = kept;
    free(codes);
    return erased;
}

/* A key that a mixed batch has met, as it is by now. */
struct met_key {
    uint64_t key;
    uint64_t value;
    bool used;
    bool there;
};

/* The place of a key in a hash table of 2^bits places; one that is met for the first time is as in the model. */
static struct met_key *meet(const struct model *model, struct met_key *table, unsigned bits, uint64_t code)
{
    uint64_t mask = (UINT64_C(1) << bits) - 1, at = code * UINT64_C(0x9e3779b97f4a7c15) >> (64 - bits);
    while (table[at].used && table[at].key != code) at = (at + 1) & mask;
    struct met_key *key = &table[at];
    if (!key->used) {
        *key = (struct met_key){.key = code, .used = true};
        key->there = model_find(model, code, &key->value);
    }
    return key;
}

/* Takes all keys of the table out of the model and puts back those that are there. */
static void settle(struct model *model, const struct met_key *table, uint64_t places)
{
    void *keys = typed_new(model->key_type, places), *values = typed_new(model->value_type, places);
    uint64_t n = 0, kept = 0;
    for (uint64_t i = 0; i < places; i++)
        if (table[i].used) typed_set_code(model->key_type, keys, n++, table[i].key);
    (void)model_erase(model, keys, n);
    for (uint64_t i = 0; i < places; i++)
        if (table[i].there) {
            typed_set_code(model->key_type, keys, kept, table[i].key);
            typed_set_bits(model->value_type, values, kept++, table[i].value);
        }
    (void)model_insert(model, keys, values, kept, COPSE_INSERT_UPSERT);
    free(keys);
    free(values);
}

void model_apply(struct model *model, const uint8_t *codes, const void *keys, const void *values, uint64_t n,
                 uint64_t *out_values, uint8_t *out_found)
{
    unsigned bits = 1;
    while (UINT64_C(1) << bits < 2 * n) bits++;
    struct met_key *table = must_malloc((sizeof *table) << bits);
    memset(table, 0, (sizeof *table) << bits);
    for (uint64_t i = 0; i < n; i++) {
        struct met_key *key = meet(model, table, bits, typed_code(model->key_type, keys, i));
        out_found[i] = key->there;
        out_values[i] = key->there ? key->value : 0;
        if (codes[i] == COPSE_OP_UPSERT || (codes[i] == COPSE_OP_INSERT_IF_ABSENT && !key->there)) {
            key->there = true;
            key->value = typed_bits(model->value_type, values, i);
        } else if (codes[i] == COPSE_OP_ERASE) {
            key->there = false;
        }
    }
    settle(model, table, UINT64_C(1) << bits);
    free(table);
}

uint64_t model_rank(const struct model *model, uint64_t code)
{
    uint64_t low = 0, high = model->n;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (model->entries[middle].key < code)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

uint64_t model_rank_after(const struct model *model, uint64_t code)
{
    return code == UINT64_MAX ? model->n : model_rank(model, code + 1);
}

bool model_find(const struct model *model, uint64_t code, uint64_t *out_value)
{
    uint64_t at = model_rank(model, code);
    bool found = at < model->n && model->entries[at].key == code;
    *out_value = found ? model->entries[at].value : 0;
    return found;
}

struct model_span model_range(const struct model *model, uint64_t low, uint64_t high, uint64_t limit)
{
    struct model_span span = {0, 0};
    if (low > high) return span;
    span.first = model_rank(model, low);
    span.last = model_rank_after(model, high);
    if (limit && span.last - span.first > limit) span.last = span.first + limit;
    return span;
}

test_int128 model_sum_integer(const struct model *model, struct model_span span)
{
    test_int128 sum = 0;
    for (uint64_t i = span.first; i < span.last; i++) sum += typed_integer(model->value_type, model->entries[i].value);
    return sum;
}

long double model_sum_real(const struct model *model, struct model_span span, long double *out_magnitude)
{
    long double sum = 0, magnitude = 0;
    for (uint64_t i = span.first; i < span.last; i++) {
        long double number = typed_real(model->value_type, model->entries[i].value);
        sum += number;
        if (isfinite(number)) magnitude += fabsl(number);
    }
    *out_magnitude = magnitude;
    return sum;
}

static bool value_less(copse_type type, uint64_t a, uint64_t b)
{
    if (typed_is_float(type)) return typed_real(type, a) < typed_real(type, b);
    return typed_integer(type, a) < typed_integer(type, b);
}

bool model_extreme(const struct model *model, struct model_span span, bool largest, uint64_t *out_bits)
{
    bool found = false;
    *out_bits = 0;
    for (uint64_t i = span.first; i < span.last; i++) {
        uint64_t bits = model->entries[i].value;
        if (typed_is_float(model->value_type) && isnan(typed_real(model->value_type, bits))) continue;
        bool better =
            largest ? value_less(model->value_type, *out_bits, bits) : value_less(model->value_type, bits, *out_bits);
        if (!found || better) *out_bits = bits;
        found = true;
    }
    return found;
}
