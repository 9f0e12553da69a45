/* The radix tree: batches of updates (cpu/byte_runs.h). Keys that are new come first, one after the other; where one finds no memory, those
 * before it go again, which needs none. Values that change and keys that go follow, and neither can fail. */
#include "cpu/byte_runs.h"
#include "trees/radix/cpu/build.h"

copse_status copse_radix_build(copse_index *index, const void *keys, const void *values, uint64_t n)
{
    copse_radix *tree = index->tree, made;
    copse_byte_update update = {.index = index, .given = values, .width = copse_type_size(index->value_type)};
    copse_status status = COPSE_OK;
    copse_radix_init(&made, tree->width);
    if (n) {
        status = copse_byte_batch_make(index->ctx, keys, n, "building", &update.batch);
        if (status == COPSE_OK) status = copse_radix_build_batch(&update, &made);
        copse_byte_batch_free(index->ctx, &update.batch);
    }
    if (status != COPSE_OK) return status;
    made.marks = tree->marks;
    copse_radix_release(index->ctx, tree);
    *tree = made;
    return COPSE_OK;
}

static copse_slice key_of_run(const void *user, uint64_t i)
{
    const copse_byte_update *update = user;
    return copse_byte_run_key(update, &update->runs[i]);
}

/* The place of a run is the link of its leaf, or 0. */
static copse_status runs_locate(copse_byte_update *update)
{
    const copse_ctx *ctx = update->index->ctx;
    const copse_radix *tree = update->index->tree;
    const size_t bytes = copse_memory_product(update->n, sizeof(copse_radix_link));
    copse_radix_link *leaves = copse_memory_alloc(ctx, bytes);
    if (!leaves) return copse_fail_memory(ctx, bytes, "the batch");
    copse_radix_find_leaves(update->index, key_of_run, update, update->n, leaves);
    for (uint64_t r = 0; r < update->n; r++) {
        copse_byte_run *run = &update->runs[r];
        run->place = leaves[r];
        run->old_n = leaves[r] != 0;
        if (leaves[r]) run->old = copse_radix_value(tree, leaves[r]);
    }
    copse_memory_free(ctx, leaves, bytes);
    return COPSE_OK;
}

static bool run_comes(const copse_byte_run *run)
{
    return run->n && !run->place;
}

static copse_status runs_merge(copse_byte_update *update)
{
    const copse_ctx *ctx = update->index->ctx;
    copse_radix *tree = update->index->tree;
    uint64_t r = 0;
    for (; r < update->n; r++) {
        const copse_byte_run *run = &update->runs[r];
        if (run_comes(run) &&
            !copse_radix_insert_one(ctx, tree, copse_byte_run_key(update, run), copse_byte_run_value(update, run, 0)))
            break;
    }
    if (r < update->n) {
        while (r-- > 0)
            if (run_comes(&update->runs[r]))
                copse_radix_erase_one(ctx, tree, copse_byte_run_key(update, &update->runs[r]));
        return copse_fail_memory(ctx, copse_radix_stride(COPSE_RADIX_NODE256, tree->width), "the radix tree");
    }
    for (r = 0; r < update->n; r++) {
        const copse_byte_run *run = &update->runs[r];
        if (!run->place) continue;
        if (run->n) copse_radix_touch(tree, run->place);
        if (run->n)
            memcpy(copse_radix_value(tree, run->place), copse_byte_run_value(update, run, 0), tree->width);
        else
            copse_radix_erase_one(ctx, tree, copse_byte_run_key(update, run));
    }
    return COPSE_OK;
}

static const copse_byte_updater radix = {runs_locate, runs_merge};

copse_status copse_radix_insert(copse_index *index, const void *keys, const void *values, uint64_t n, uint32_t flags,
                                uint64_t *out_inserted)
{
    return copse_byte_insert(&radix, index, keys, values, n, flags, out_inserted);
}

copse_status copse_radix_erase(copse_index *index, const void *keys, uint64_t n, uint64_t *out_erased)
{
    return copse_byte_erase(&radix, index, keys, n, out_erased);
}

copse_status copse_radix_erase_pairs(copse_index *index, const void *keys, const void *values, uint64_t n,
                                     uint64_t *out_erased)
{
    return copse_byte_erase_pairs(&radix, index, keys, values, n, out_erased);
}

copse_status copse_radix_apply(copse_index *index, const uint8_t *operations, const void *keys, const void *values,
                               uint64_t n, void *out_values, uint8_t *out_found)
{
    return copse_byte_apply(&radix, index, operations, keys, values, n, out_values, out_found);
}
