/* The sorted array of byte strings: updates (cpu/byte_runs.h). A merge writes a new block with the runs in the place of the entries that
 * they began with; nothing can fail behind it. */
#include "cpu/byte_runs.h"
#include "trees/sorted/cpu/bytes.h"

/* --- new arrays ----------------------------------------------------------------------------------------------------- */

/* An array with room for n entries and `length` bytes of keys, and nothing in it yet. False: no memory. */
static bool tree_allocate(const copse_ctx *ctx, uint64_t n, uint64_t length, size_t width, copse_sorted_bytes *out)
{
    *out = (copse_sorted_bytes){0};
    if (n == 0) return true;
    const size_t offset_bytes = copse_memory_product(n + 1, sizeof *out->offsets);
    const size_t value_bytes = copse_memory_product(n + 1, width) & ~(size_t)7;
    if (offset_bytes == SIZE_MAX || length > SIZE_MAX / 4)
        out->bytes = SIZE_MAX;
    else
        out->bytes = offset_bytes + value_bytes + length;
    out->offsets = copse_memory_alloc(ctx, out->bytes);
    if (!out->offsets) return false;
    out->offsets[0] = 0;
    out->values = (char *)out->offsets + offset_bytes;
    out->data = (unsigned char *)out->values + value_bytes;
    return true;
}

static void tree_replace(copse_index *index, const copse_sorted_bytes *by)
{
    copse_sorted_bytes *tree = index->tree;
    copse_memory_free(index->ctx, tree->offsets, tree->bytes);
    *tree = *by;
}

/* Appends an entry; the caller writes its value to what is returned. */
static char *tree_put(copse_sorted_bytes *to, copse_slice key, size_t width)
{
    const uint64_t start = to->offsets[to->entries];
    memcpy(to->data + start, key.start, key.length);
    to->offsets[to->entries + 1] = start + key.length;
    return (char *)to->values + to->entries++ * width;
}

/* Appends entries first .. end of another array. */
static void tree_keep(copse_sorted_bytes *to, const copse_sorted_bytes *from, uint64_t first, uint64_t end,
                      size_t width)
{
    if (first == end) return;
    const uint64_t start = to->offsets[to->entries], was = from->offsets[first];
    memcpy(to->data + start, from->data + was, from->offsets[end] - was);
    memcpy((char *)to->values + to->entries * width, copse_sorted_bytes_value(from, first, width),
           (end - first) * width);
    for (uint64_t i = first; i < end; i++) to->offsets[++to->entries] = start + (from->offsets[i + 1] - was);
}

/* --- building ------------------------------------------------------------------------------------------------------- */

/* Of equal keys the last one stays, or all of them. */
static copse_status build_sorted(copse_byte_update *update, copse_sorted_bytes *out)
{
    const copse_byte_batch *batch = &update->batch;
    const bool all = update->index->duplicates;
    uint64_t entries = 0, length = 0, end;
    for (uint64_t i = 0; i < batch->n; i = end) {
        end = all ? i + 1 : copse_byte_batch_run(batch, i);
        length += copse_byte_batch_key(batch, i).length;
        entries++;
    }
    if (!tree_allocate(update->index->ctx, entries, length, update->width, out))
        return copse_fail_memory(update->index->ctx, out->bytes, "the sorted array");
    for (uint64_t i = 0; out->offsets && i < batch->n; i = end) {
        end = all ? i + 1 : copse_byte_batch_run(batch, i);
        copse_byte_given_value(update, batch->items[end - 1].position,
                               tree_put(out, copse_byte_batch_key(batch, i), update->width));
    }
    return COPSE_OK;
}

copse_status copse_sorted_bytes_build(copse_index *index, const void *keys, const void *values, uint64_t n)
{
    copse_sorted_bytes made = {0};
    copse_byte_update update = {.index = index, .given = values, .width = copse_type_size(index->value_type)};
    copse_status status = COPSE_OK;
    if (n) {
        status = copse_byte_batch_make(index->ctx, keys, n, "building", &update.batch);
        if (status == COPSE_OK) status = build_sorted(&update, &made);
        copse_byte_batch_free(index->ctx, &update.batch);
    }
    if (status == COPSE_OK) tree_replace(index, &made);
    return status;
}

/* --- runs ----------------------------------------------------------------------------------------------------------- */

/* The place of a run is the rank of the first entry with its key. */
static copse_status runs_locate(copse_byte_update *update)
{
    const copse_sorted_bytes *old = update->index->tree;
    uint64_t rank = 0;
    for (uint64_t r = 0; r < update->n; r++) {
        copse_byte_run *run = &update->runs[r];
        const copse_slice key = copse_byte_run_key(update, run);
        run->place = copse_sorted_bytes_bound(old, rank, key, false);
        rank = copse_sorted_bytes_bound(old, run->place, key, true);
        run->old_n = rank - run->place;
        if (run->old_n) run->old = copse_sorted_bytes_value(old, run->place, update->width);
    }
    return COPSE_OK;
}

/* Puts the runs in the place of the entries that they began with. */
static copse_status runs_merge(copse_byte_update *update)
{
    const copse_sorted_bytes *old = update->index->tree;
    uint64_t entries = old->entries, length = copse_sorted_bytes_length(old, 0, old->entries), at = 0;
    copse_sorted_bytes made;
    for (uint64_t r = 0; r < update->n; r++) {
        const copse_byte_run *run = &update->runs[r];
        entries += run->n - run->old_n; /* both may fall, and wrap on the way */
        length += copse_byte_run_key(update, run).length * (run->n - run->old_n);
    }
    if (!tree_allocate(update->index->ctx, entries, length, update->width, &made))
        return copse_fail_memory(update->index->ctx, made.bytes, "the sorted array");
    for (uint64_t r = 0; made.offsets && r < update->n; r++) {
        const copse_byte_run *run = &update->runs[r];
        tree_keep(&made, old, at, run->place, update->width);
        for (uint64_t i = 0; i < run->n; i++)
            memcpy(tree_put(&made, copse_byte_run_key(update, run), update->width),
                   copse_byte_run_value(update, run, i), update->width);
        at = run->place + run->old_n;
    }
    if (made.offsets) tree_keep(&made, old, at, old->entries, update->width);
    tree_replace(update->index, &made);
    return COPSE_OK;
}

static const copse_byte_updater sorted_bytes = {runs_locate, runs_merge};

copse_status copse_sorted_bytes_insert(copse_index *index, const void *keys, const void *values, uint64_t n,
                                       uint32_t flags, uint64_t *out_inserted)
{
    return copse_byte_insert(&sorted_bytes, index, keys, values, n, flags, out_inserted);
}

copse_status copse_sorted_bytes_erase(copse_index *index, const void *keys, uint64_t n, uint64_t *out_erased)
{
    return copse_byte_erase(&sorted_bytes, index, keys, n, out_erased);
}

copse_status copse_sorted_bytes_erase_pairs(copse_index *index, const void *keys, const void *values, uint64_t n,
                                            uint64_t *out_erased)
{
    return copse_byte_erase_pairs(&sorted_bytes, index, keys, values, n, out_erased);
}

copse_status copse_sorted_bytes_apply(copse_index *index, const uint8_t *operations, const void *keys,
                                      const void *values, uint64_t n, void *out_values, uint8_t *out_found)
{
    return copse_byte_apply(&sorted_bytes, index, operations, keys, values, n, out_values, out_found);
}
