/* A sorted array with binary search, merged anew for every batch of updates. */
#include "cli/demo/model.h"

#include <stdlib.h>
#include <string.h>

typedef struct row {
    uint64_t key;
    uint64_t value;
    uint64_t position;
} row;

static int compare_rows(const void *a, const void *b)
{
    const row *x = a, *y = b;
    if (x->key != y->key) return x->key < y->key ? -1 : 1;
    return x->position < y->position ? -1 : x->position > y->position;
}

/* The batch in order, of equal keys only the last. *out_count becomes their number. */
static row *sort_batch(const uint64_t *keys, const uint64_t *values, uint64_t n, uint64_t *out_count)
{
    row *rows = malloc((size_t)(n + 1) * sizeof *rows);
    uint64_t kept = 0;
    if (!rows) return NULL;
    for (uint64_t i = 0; i < n; i++) rows[i] = (row){keys[i], values ? values[i] : 0, i};
    qsort(rows, (size_t)n, sizeof *rows, compare_rows);
    for (uint64_t i = 0; i < n; i++)
        if (i + 1 == n || rows[i + 1].key != rows[i].key) rows[kept++] = rows[i];
    *out_count = kept;
    return rows;
}

static bool allocate(demo_model *model, uint64_t count)
{
    memset(model, 0, sizeof *model);
    model->keys = malloc((size_t)(count + 1) * sizeof *model->keys);
    model->values = malloc((size_t)(count + 1) * sizeof *model->values);
    if (model->keys && model->values) return true;
    demo_model_free(model);
    return false;
}

static void append(demo_model *model, uint64_t key, uint64_t value)
{
    model->keys[model->count] = key;
    model->values[model->count++] = value;
}

void demo_model_free(demo_model *model)
{
    free(model->keys);
    free(model->values);
    free(model->sums);
    memset(model, 0, sizeof *model);
}

bool demo_model_build(demo_model *model, const uint64_t *keys, const uint64_t *values, uint64_t n)
{
    uint64_t count = 0;
    row *rows = sort_batch(keys, values, n, &count);
    bool good = rows && allocate(model, count);
    for (uint64_t i = 0; good && i < count; i++) append(model, rows[i].key, rows[i].value);
    free(rows);
    return good;
}

bool demo_model_upsert(demo_model *model, const uint64_t *keys, const uint64_t *values, uint64_t n,
                       uint64_t *out_inserted)
{
    uint64_t count = 0, i = 0;
    demo_model merged;
    row *rows = sort_batch(keys, values, n, &count);
    if (!rows || !allocate(&merged, model->count + count)) {
        free(rows);
        return false;
    }
    for (uint64_t j = 0; j < count; j++) {
        while (i < model->count && model->keys[i] < rows[j].key) {
            append(&merged, model->keys[i], model->values[i]);
            i++;
        }
        if (i < model->count && model->keys[i] == rows[j].key) i++;
        append(&merged, rows[j].key, rows[j].value);
    }
    for (; i < model->count; i++) append(&merged, model->keys[i], model->values[i]);
    *out_inserted = merged.count - model->count;
    demo_model_free(model);
    *model = merged;
    free(rows);
    return true;
}

bool demo_model_erase(demo_model *model, const uint64_t *keys, uint64_t n, uint64_t *out_erased)
{
    uint64_t count = 0, kept = 0, j = 0;
    row *rows = sort_batch(keys, NULL, n, &count);
    if (!rows) return false;
    for (uint64_t i = 0; i < model->count; i++) {
        while (j < count && rows[j].key < model->keys[i]) j++;
        if (j < count && rows[j].key == model->keys[i]) continue;
        model->keys[kept] = model->keys[i];
        model->values[kept++] = model->values[i];
    }
    *out_erased = model->count - kept;
    model->count = kept;
    free(model->sums);
    model->sums = NULL;
    free(rows);
    return true;
}

bool demo_model_prepare_sums(demo_model *model)
{
    free(model->sums);
    model->sums = malloc((size_t)(model->count + 1) * sizeof *model->sums);
    if (!model->sums) return false;
    model->sums[0] = 0;
    for (uint64_t i = 0; i < model->count; i++) model->sums[i + 1] = model->sums[i] + model->values[i];
    return true;
}

uint64_t demo_model_rank(const demo_model *model, uint64_t key)
{
    uint64_t low = 0, high = model->count;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (model->keys[middle] < key)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

bool demo_model_find(const demo_model *model, uint64_t key, uint64_t *out_value)
{
    uint64_t rank = demo_model_rank(model, key);
    bool found = rank < model->count && model->keys[rank] == key;
    *out_value = found ? model->values[rank] : 0;
    return found;
}

/* The first position behind the range. */
static uint64_t range_end(const demo_model *model, uint64_t high)
{
    return high == UINT64_MAX ? model->count : demo_model_rank(model, high + 1);
}

uint64_t demo_model_count(const demo_model *model, uint64_t low, uint64_t high)
{
    return low > high ? 0 : range_end(model, high) - demo_model_rank(model, low);
}

uint64_t demo_model_sum(const demo_model *model, uint64_t low, uint64_t high)
{
    return low > high ? 0 : model->sums[range_end(model, high)] - model->sums[demo_model_rank(model, low)];
}
