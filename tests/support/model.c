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

uint64_t model_erase_spans(struct model *model, const struct model_span *spans, uint64_t n)
{
    /* How many more spans begin than end at each entry. */
    int64_t *more = must_malloc((model->n + 1) * sizeof *more), inside = 0;
    uint64_t kept = 0;
    memset(more, 0, (model->n + 1) * sizeof *more);
    for (uint64_t i = 0; i < n; i++) {
        if (spans[i].first >= spans[i].last) continue;
        more[spans[i].first]++;
        more[spans[i].last]--;
    }
    for (uint64_t i = 0; i < model->n; i++) {
        inside += more[i];
        if (inside == 0) model->entries[kept++] = model->entries[i];
    }
    free(more);
    const uint64_t erased = model->n - kept;
    model->n = kept;
    return erased;
}

/* The keys of a batch, sorted, those of one key in array order. */
static struct model_entry *sorted_batch(const struct model *model, const void *keys, const void *values, uint64_t n)
{
    struct model_entry *batch = must_malloc(n * sizeof *batch);
    for (uint64_t i = 0; i < n; i++) {
        batch[i].key = typed_code(model->key_type, keys, i);
        batch[i].value = values ? typed_bits(model->value_type, values, i) : 0;
        batch[i].order = i;
    }
    qsort(batch, n, sizeof *batch, by_key_then_order);
    return batch;
}

/* Operation `code` on the entries of one key, of which there are *n. */
static void operate(const struct model *model, uint8_t code, uint64_t value, struct model_entry *entries, uint64_t *n)
{
    if (code == COPSE_OP_ERASE) *n = 0;
    if (code == COPSE_OP_FIND || code == COPSE_OP_ERASE) return;
    if (*n && code == COPSE_OP_INSERT_IF_ABSENT) return;
    if (*n && code == COPSE_OP_ADD)
        entries[0].value = typed_sum(model->value_type, entries[0].value, value);
    else if (*n && !model->duplicates)
        entries[0].value = value;
    else
        entries[(*n)++].value = value;
}

void model_apply(struct model *model, const uint8_t *codes, const void *keys, const void *values, uint64_t n,
                 uint64_t *out_values, uint8_t *out_found)
{
    struct model_entry *batch = sorted_batch(model, keys, values, n);
    struct model_entry *made = must_malloc((model->n + n) * sizeof *made);
    uint64_t kept = 0, old = 0;
    for (uint64_t i = 0; i < n;) {
        const uint64_t key = batch[i].key;
        while (old < model->n && model->entries[old].key < key) made[kept++] = model->entries[old++];
        struct model_entry *group = made + kept;
        uint64_t entries = 0;
        while (old < model->n && model->entries[old].key == key) group[entries++] = model->entries[old++];
        for (; i < n && batch[i].key == key; i++) {
            const uint64_t at = batch[i].order;
            out_found[at] = entries != 0;
            out_values[at] = entries ? group[0].value : 0;
            operate(model, codes[at], batch[i].value, group, &entries);
            if (entries) group[entries - 1].key = key; /* where it has just come */
        }
        kept += entries;
    }
    while (old < model->n) made[kept++] = model->entries[old++];
    free(batch);
    free(model->entries);
    model->entries = made;
    model->n = kept;
}

static int by_key_then_value(const void *left, const void *right)
{
    const struct model_entry *a = left, *b = right;
    if (a->key != b->key) return a->key < b->key ? -1 : 1;
    return a->value < b->value ? -1 : a->value > b->value;
}

/* Sorted pairs that are smaller. */
static uint64_t pair_rank(const struct model_entry *pairs, uint64_t n, const struct model_entry *pair)
{
    uint64_t low = 0, high = n;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (by_key_then_value(&pairs[middle], pair) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

uint64_t model_erase_pairs(struct model *model, const void *keys, const void *values, uint64_t n)
{
    struct model_entry *wanted = sorted_batch(model, keys, values, n);
    uint64_t kept = 0, erased = 0;
    qsort(wanted, n, sizeof *wanted, by_key_then_value);
    for (uint64_t i = 0; i < n; i++) wanted[i].order = 0; /* at the first of equal pairs: how many found an entry */
    for (uint64_t i = 0; i < model->n; i++) {
        const struct model_entry *entry = &model->entries[i];
        const uint64_t first = pair_rank(wanted, n, entry);
        const uint64_t next = first < n ? first + wanted[first].order : n;
        if (next < n && by_key_then_value(&wanted[next], entry) == 0) {
            wanted[first].order++;
            erased++;
        } else {
            model->entries[kept++] = *entry;
        }
    }
    model->n = kept;
    free(wanted);
    return erased;
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
