/* Sorting byte strings: a stable merge sort that looks at the strings only where their first eight bytes are the same. */
#include "core/byte_batch.h"

/* Runs up to this length go to insertion sort. */
#define SMALL 12u

/* Does `a` come before `b`? Not where they are equal. */
static bool before(const copse_byte_keys *keys, copse_byte_item a, copse_byte_item b)
{
    if (a.prefix != b.prefix) return a.prefix < b.prefix;
    return copse_slice_compare(copse_byte_key(keys, a.position), copse_byte_key(keys, b.position)) < 0;
}

static void insertion(const copse_byte_keys *keys, copse_byte_item *items, uint64_t n)
{
    for (uint64_t i = 1; i < n; i++) {
        const copse_byte_item item = items[i];
        uint64_t at = i;
        for (; at > 0 && before(keys, item, items[at - 1]); at--) items[at] = items[at - 1];
        items[at] = item;
    }
}

/* Merges two sorted halves. The left one steps aside into `spare`; the right one is never written before it is read. */
static void merge(const copse_byte_keys *keys, copse_byte_item *items, copse_byte_item *spare, uint64_t half,
                  uint64_t n)
{
    uint64_t left = 0, right = half, at = 0;
    memcpy(spare, items, half * sizeof *items);
    while (left < half && right < n)
        items[at++] = before(keys, items[right], spare[left]) ? items[right++] : spare[left++];
    memcpy(items + at, spare + left, (half - left) * sizeof *items);
}

/* Strings that are in order already cost one comparison each. */
static void sort(const copse_byte_keys *keys, copse_byte_item *items, copse_byte_item *spare, uint64_t n)
{
    if (n <= SMALL) {
        insertion(keys, items, n);
        return;
    }
    const uint64_t half = n / 2;
    sort(keys, items, spare, half);
    sort(keys, items + half, spare, n - half);
    if (before(keys, items[half], items[half - 1])) merge(keys, items, spare, half, n);
}

copse_status copse_byte_batch_make(const copse_ctx *ctx, const void *keys, uint64_t n, const char *what,
                                   copse_byte_batch *out)
{
    *out = (copse_byte_batch){.n = n};
    copse_status status = copse_byte_keys_take(ctx, "keys", keys, n, &out->keys);
    if (status == COPSE_OK) status = copse_progress(ctx, what, 0, n);
    if (status != COPSE_OK) return status;
    out->bytes = copse_memory_product(n + n / 2, sizeof *out->items); /* the half is where `merge` puts one */
    out->items = copse_memory_alloc(ctx, out->bytes);
    if (!out->items) return copse_fail_memory(ctx, out->bytes, "the batch");
    for (uint64_t i = 0; i < n; i++)
        out->items[i] = (copse_byte_item){copse_slice_prefix(copse_byte_key(&out->keys, i)), i};
    sort(&out->keys, out->items, out->items + n, n);
    status = copse_progress(ctx, what, n, n);
    if (status != COPSE_OK) copse_byte_batch_free(ctx, out);
    return status;
}

void copse_byte_batch_free(const copse_ctx *ctx, copse_byte_batch *batch)
{
    copse_memory_free(ctx, batch->items, batch->bytes);
    batch->items = NULL;
}

uint64_t copse_byte_batch_run(const copse_byte_batch *batch, uint64_t i)
{
    uint64_t end = i + 1;
    while (end < batch->n && !before(&batch->keys, batch->items[i], batch->items[end])) end++;
    return end;
}
