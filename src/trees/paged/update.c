/*
 * Updates of the paged tree: one way for all of them. A batch in key order is cut into runs of keys that fall into the same page, a
 * plan is made of what becomes of each of these pages, the host reads how much memory that takes, and gets it; only then kernels change
 * the tree. What fails before that leaves it as it was, and behind it nothing can fail but the device.
 */
#include "gpu/groups.h"
#include "gpu/scratch.h"
#include "primitives/primitives.h"
#include "transfer/transfer.h"
#include "trees/paged/tree.h"

typedef struct update {
    const copse_index *index;
    copse_paged *tree;
    copse_paged_update_arguments a;
    copse_scratch scratch;
    copse_paged_seen seen;
    uint64_t low, high; /* of the keys that are put */
} update;

static copse_status launch(const update *u, const copse_kernel *kernel, uint64_t items, const void *arguments)
{
    copse_device *device = u->index->device;
    return copse_device_launch(device, device->main, kernel, copse_device_blocks(device, items), arguments);
}

/* --- the plan --------------------------------------------------------------------------------------------------------------------- */

/* Memory for n elements. */
static copse_status elements_take(update *u, uint64_t n, bool pieces)
{
    copse_device *device = u->index->device;
    const uint64_t runs = n < u->tree->view.rows ? n : u->tree->view.rows;
    void *row = NULL, *what = NULL, *lost = NULL, *scan = NULL, *begin = NULL, *run_row = NULL, *does = NULL,
         *run_scan = NULL, *seen = NULL;
    const copse_scratch_array arrays[] = {{&seen, sizeof u->seen},
                                          {&row, n * sizeof(uint32_t)},
                                          {&what, n * sizeof(uint32_t)},
                                          {&lost, pieces ? n * sizeof(uint32_t) : 0},
                                          {&scan, (n + 1) * sizeof(uint64_t)},
                                          {&begin, (runs + 1) * sizeof(uint32_t)},
                                          {&run_row, runs * sizeof(uint32_t)},
                                          {&does, runs * sizeof(uint32_t)},
                                          {&run_scan, (runs + 1) * sizeof(uint64_t)}};
    copse_status status = copse_scratch_take(device, "the update", arrays, sizeof arrays / sizeof *arrays, &u->scratch);
    if (status == COPSE_OK) status = copse_device_fill(device, device->main, seen, 0, sizeof u->seen);
    u->a.tree = u->tree->view;
    u->a.n = (uint32_t)n;
    u->a.row = row;
    u->a.what = what;
    u->a.lost = lost;
    u->a.scan = scan;
    u->a.runs_most = (uint32_t)runs;
    u->a.run_begin = begin;
    u->a.run_row = run_row;
    u->a.run_does = does;
    u->a.run_scan = run_scan;
    u->a.seen = seen;
    return status;
}

/* The plan for elements that a kernel has located. */
static copse_status plan_make(const update *u)
{
    copse_device *device = u->index->device;
    const copse_paged_kernels *kernels = copse_paged_kernels_of(u->index);
    const copse_primitives *primitives = device->backend->primitives;
    const uint64_t n = u->a.n, runs = u->a.runs_most;
    copse_status status = primitives->scan_u64(device, device->main, u->a.scan, u->a.scan, n + 1);
    if (status == COPSE_OK) status = launch(u, &kernels->runs, n + 1, &u->a);
    if (status == COPSE_OK) status = launch(u, &kernels->plan, runs + 1, &u->a);
    if (status == COPSE_OK) status = primitives->scan_u64(device, device->main, u->a.run_scan, u->a.run_scan, runs + 1);
    return status;
}

static copse_status plan_read(update *u)
{
    copse_device *device = u->index->device;
    copse_status status = copse_device_read(device, device->main, &u->seen, u->a.seen, sizeof u->seen);
    u->a.runs = (uint32_t)u->seen.last;
    return status;
}

/* --- the change ------------------------------------------------------------------------------------------------------------------- */

/* Kernels that change pages. */
static copse_status pages_change(const update *u)
{
    const copse_paged_kernels *kernels = copse_paged_kernels_of(u->index);
    copse_device *device = u->index->device;
    copse_status status = COPSE_OK;
    if (u->seen.replaced) status = launch(u, &kernels->replace, u->a.n, &u->a);
    if (status == COPSE_OK && u->seen.patched)
        status = launch(u, &kernels->patch,
                        (uint64_t)u->a.n * COPSE_PAGED_LEAF_BYTES / copse_type_size(u->index->key_type), &u->a);
    if (status == COPSE_OK && u->seen.patched)
        status = launch(u, &kernels->patch_ends, (uint64_t)u->a.runs * 32, &u->a);
    if (status == COPSE_OK && u->seen.items)
        status = copse_device_launch(device, device->main, &kernels->write, u->seen.items, &u->a);
    return status;
}

/* The same with rows that come or go. */
static copse_status rows_change(update *u, copse_paged_directory *directory)
{
    copse_paged *tree = u->tree;
    u->a.moved = 1;
    u->a.new_rows = directory->rows;
    u->a.new_highs = directory->highs;
    u->a.new_pages = directory->pages;
    u->a.new_counts = directory->counts;
    u->a.stack = tree->pool.stack;
    u->a.stack_top = tree->pool.top;
    u->a.stack_rest = tree->pool.top - u->seen.taken;
    copse_status status = pages_change(u);
    if (status == COPSE_OK) status = launch(u, &copse_paged_kernels_of(u->index)->move_rows, u->a.tree.rows, &u->a);
    if (status == COPSE_OK) status = copse_paged_directory_put(u->index, tree, directory);
    if (status == COPSE_OK) tree->pool.top = u->a.stack_rest + u->seen.freed;
    return status;
}

static copse_status rows_prepare_and_change(update *u)
{
    copse_paged_directory directory;
    const uint64_t rows = u->tree->view.rows + u->seen.shift;
    copse_status status = copse_paged_pool_reserve(u->index, &u->tree->pool, u->seen.taken);
    if (status == COPSE_OK) status = copse_paged_directory_make(u->index, rows, &directory);
    if (status != COPSE_OK) return status;
    status = rows_change(u, &directory);
    if (status != COPSE_OK) copse_paged_directory_free(u->index, &directory);
    return status;
}

/* Entries that come, less those that go. */
static int64_t entries_come(const update *u)
{
    return (int32_t)(u->seen.last >> 32);
}

static void bounds_follow(const update *u)
{
    copse_paged *tree = u->tree;
    if (u->low > u->high) return;
    if (tree->view.entries == 0 || u->low < tree->low) tree->low = u->low;
    if (tree->view.entries == 0 || u->high > tree->high) tree->high = u->high;
}

/* Carries a plan out. */
static copse_status carry_out(update *u)
{
    copse_device *device = u->index->device;
    const bool moved = u->seen.taken || u->seen.freed;
    if (!u->seen.replaced && !u->seen.patched && !u->seen.items && !moved) return COPSE_OK;
    copse_status status = moved ? rows_prepare_and_change(u) : pages_change(u);
    if (status != COPSE_OK) return status;
    bounds_follow(u);
    u->tree->view.entries += (uint64_t)entries_come(u);
    copse_paged_forget(u->index, u->tree);
    return device->callers_stream ? COPSE_OK : copse_device_wait(device, device->main);
}

/* Applies a batch of keys that are sorted and encoded. */
static copse_status batch_apply(update *u, const void *keys, const void *values, uint64_t n)
{
    copse_device *device = u->index->device;
    const copse_paged_kernels *kernels = copse_paged_kernels_of(u->index);
    copse_status status = elements_take(u, n, false);
    u->a.keys = keys;
    u->a.values = values;
    if (status != COPSE_OK) return status;
    if (n > COPSE_PAGED_PLAN_SMALL) {
        status = launch(u, &kernels->locate, n, &u->a);
        if (status == COPSE_OK) status = plan_make(u);
    } else {
        status = copse_device_launch(device, device->main, &kernels->plan_small, 1, &u->a);
    }
    return status == COPSE_OK ? plan_read(u) : status;
}

/* The same for a batch whose order is a speculation: where that was wrong, a second time. */
static copse_status batch_apply_sorted(update *u, copse_device_pairs *pairs)
{
    u->a.speculation = pairs->speculation;
    copse_status status = batch_apply(u, pairs->keys, pairs->values, pairs->n);
    if (status == COPSE_OK && pairs->speculation) {
        const copse_pairs_speculation seen = u->seen.speculation;
        status = copse_device_pairs_check(u->index, pairs, &seen);
        u->a.speculation = NULL;
        if (status == COPSE_OK && seen.wrong) {
            copse_scratch_free(u->index->device, &u->scratch);
            status = batch_apply(u, pairs->keys, pairs->values, pairs->n);
        }
    }
    return status;
}

/* --- new trees -------------------------------------------------------------------------------------------------------------------- */

static uint32_t slots_for(uint64_t entries)
{
    return entries > COPSE_PAGED_SMALL_TREE ? COPSE_PAGED_SLOTS : COPSE_PAGED_SLOTS_SMALL;
}

static void tree_replace(copse_index *index, copse_paged *tree)
{
    copse_paged_free(index, index->tree);
    index->tree = tree;
}

/* A batch has at most so many keys: kernels count elements and what they add with 32 bits. */
static copse_status check_size(const copse_index *index, uint64_t n)
{
    if (n <= INT32_MAX - 1) return COPSE_OK;
    return copse_fail(index->ctx, COPSE_ERR_UNSUPPORTED, "n is %llu: a batch of the paged tree has at most %d keys",
                      (unsigned long long)n, INT32_MAX - 1);
}

/* Puts sorted, encoded pairs into a new tree, and that in the place of the old one. */
static copse_status replace(copse_index *index, copse_device_pairs *pairs)
{
    copse_paged *tree = NULL;
    copse_status status = check_size(index, pairs->n);
    if (status == COPSE_OK) status = copse_paged_make(index, slots_for(pairs->n), &tree);
    if (status != COPSE_OK) return status;
    if (pairs->n) {
        update u = {.index = index, .tree = tree, .low = pairs->low, .high = pairs->high};
        u.a.mode = index->duplicates ? COPSE_PAGED_ADD : COPSE_PAGED_PUT;
        status = batch_apply(&u, pairs->keys, pairs->values, pairs->n);
        if (status == COPSE_OK) status = carry_out(&u);
        copse_scratch_free(index->device, &u.scratch);
    }
    if (status == COPSE_OK) status = copse_progress(index->ctx, "building the directory", pairs->n, pairs->n);
    if (status == COPSE_OK)
        tree_replace(index, tree);
    else
        copse_paged_free(index, tree);
    return status;
}

copse_status copse_paged_build(copse_index *index, const void *keys, const void *values, uint64_t n)
{
    copse_device_pairs pairs;
    copse_status status =
        copse_device_pairs_make(index, keys, values, n, COPSE_EQUAL_ALL, COPSE_PAIRS_WHOLE, "building", &pairs);
    if (status != COPSE_OK) return status;
    status = replace(index, &pairs);
    copse_device_pairs_free(index, &pairs);
    return status;
}

/* Small trees have small pages; one that outgrows them gets large ones, once. */
static copse_status pages_grow(copse_index *index, uint64_t more)
{
    const copse_paged *tree = copse_paged_of(index);
    if (tree->view.slots >= slots_for((tree->view.entries + more) / 2)) return COPSE_OK;
    copse_device_pairs all;
    copse_paged *grown = NULL;
    copse_status status = copse_paged_entries_out(index, &all);
    if (status != COPSE_OK) return status;
    status = copse_paged_make(index, COPSE_PAGED_SLOTS, &grown);
    if (status == COPSE_OK && all.n) {
        update u = {.index = index, .tree = grown, .low = tree->low, .high = tree->high};
        u.a.mode = index->duplicates ? COPSE_PAGED_ADD : COPSE_PAGED_PUT;
        status = batch_apply(&u, all.keys, all.values, all.n);
        if (status == COPSE_OK) status = carry_out(&u);
        copse_scratch_free(index->device, &u.scratch);
    }
    copse_device_pairs_free(index, &all);
    if (status == COPSE_OK)
        tree_replace(index, grown);
    else
        copse_paged_free(index, grown);
    return status;
}

/* --- calls ------------------------------------------------------------------------------------------------------------------------ */

/* An update that leaves nothing: a new empty tree. */
static copse_status drop_all(copse_index *index)
{
    copse_device_pairs none = {.key_type = copse_device_pairs_type(index)};
    return replace(index, &none);
}

/* Ends an update of the index: carries the plan out, unless `status` is an error. */
static copse_status finish(copse_index *index, update *u, copse_status status)
{
    if (status == COPSE_OK)
        status = u->tree->view.entries + (uint64_t)entries_come(u) == 0 && u->tree->view.entries ? drop_all(index)
                                                                                                 : carry_out(u);
    copse_scratch_free(index->device, &u->scratch);
    return status;
}

/* The caller's batch, sorted, mostly by speculation. */
static copse_status batch_sort(copse_index *index, const void *keys, const void *values, uint64_t n, const char *what,
                               copse_device_pairs *out)
{
    copse_paged *tree = copse_paged_of(index);
    const copse_pairs_hint hint = {tree->view.entries != 0, tree->low, tree->high, &tree->predictor};
    copse_status status = copse_device_pairs_bring(index, keys, values, n, what, out);
    if (status == COPSE_OK) status = check_size(index, n);
    return status == COPSE_OK ? copse_device_pairs_sort(index, &hint, what, out) : status;
}

copse_status copse_paged_insert(copse_index *index, const void *keys, const void *values, uint64_t n, uint32_t flags,
                                uint64_t *out_inserted)
{
    copse_device_pairs pairs = {0};
    copse_status status = batch_sort(index, keys, values, n, "inserting", &pairs);
    if (status == COPSE_OK) status = pages_grow(index, n);
    if (status == COPSE_OK) {
        update u = {.index = index, .tree = copse_paged_of(index)};
        u.a.mode = flags & COPSE_INSERT_IF_ABSENT ? COPSE_PAGED_ABSENT
                   : index->duplicates            ? COPSE_PAGED_ADD
                                                  : COPSE_PAGED_PUT;
        status = batch_apply_sorted(&u, &pairs);
        u.low = pairs.low;
        u.high = pairs.high;
        status = finish(index, &u, status);
        if (status == COPSE_OK) *out_inserted = (uint64_t)entries_come(&u);
    }
    copse_device_pairs_free(index, &pairs);
    return status;
}

/* Erases ranges of keys, ascending and apart, or keys, in device memory. */
static copse_status ranges_erase(copse_index *index, const void *lows, const void *highs, copse_type key_type,
                                 uint64_t n, uint64_t *out_erased)
{
    copse_device *device = index->device;
    const copse_paged_kernels *kernels = copse_paged_kernels_of(index);
    void *first = NULL, *end = NULL, *sums = NULL;
    const copse_scratch_array arrays[] = {{&first, n * 8}, {&end, n * 8}, {&sums, (n + 1) * 8}};
    copse_scratch scratch;
    uint64_t pieces = 0;
    update u = {.index = index, .tree = copse_paged_of(index), .low = 1, .high = 0};
    copse_status status = copse_scratch_take(device, "the ends of ranges", arrays, 3, &scratch);
    u.a.mode = COPSE_PAGED_PIECES;
    u.a.tree = u.tree->view;
    copse_paged_pieces_arguments a = {.update = u.a,
                                      .lows = lows,
                                      .highs = highs,
                                      .key_type = key_type,
                                      .n = n,
                                      .first = first,
                                      .end = end,
                                      .sums = sums};
    if (status == COPSE_OK) status = launch(&u, &kernels->range_ends, n + 1, &a);
    if (status == COPSE_OK) status = device->backend->primitives->scan_u64(device, device->main, a.sums, a.sums, n + 1);
    if (status == COPSE_OK) status = copse_device_read(device, device->main, &pieces, a.sums + n, sizeof pieces);
    if (status == COPSE_OK) status = check_size(index, pieces);
    if (status == COPSE_OK && pieces) {
        status = elements_take(&u, pieces, true);
        a.update = u.a;
        if (status == COPSE_OK) status = launch(&u, &kernels->pieces, pieces, &a);
        if (status == COPSE_OK) status = plan_make(&u);
        if (status == COPSE_OK) status = plan_read(&u);
        status = finish(index, &u, status);
        if (status == COPSE_OK) *out_erased = (uint64_t)-entries_come(&u);
    }
    copse_scratch_free(device, &scratch);
    return status;
}

copse_status copse_paged_erase(copse_index *index, const void *keys, uint64_t n, uint64_t *out_erased)
{
    copse_device_pairs pairs = {0};
    copse_status status = batch_sort(index, keys, NULL, n, "erasing", &pairs);
    if (status == COPSE_OK && index->duplicates) status = copse_device_pairs_confirm(index, &pairs);
    if (status == COPSE_OK && index->duplicates) {
        status = ranges_erase(index, pairs.keys, pairs.keys, pairs.key_type, n, out_erased);
    } else if (status == COPSE_OK) {
        update u = {.index = index, .tree = copse_paged_of(index), .low = 1, .high = 0};
        u.a.mode = COPSE_PAGED_ERASE;
        status = finish(index, &u, batch_apply_sorted(&u, &pairs));
        if (status == COPSE_OK) *out_erased = (uint64_t)-entries_come(&u);
    }
    copse_device_pairs_free(index, &pairs);
    return status;
}

copse_status copse_paged_erase_range(copse_index *index, const copse_ranges *ranges, uint64_t *out_erased)
{
    copse_device *device = index->device;
    const uint64_t bytes = ranges->n * copse_type_size(index->key_type);
    void *lows = NULL, *highs = NULL;
    const copse_scratch_array arrays[] = {{&lows, bytes}, {&highs, bytes}};
    copse_scratch scratch;
    copse_status status = check_size(index, ranges->n);
    if (status != COPSE_OK) return status;
    status = copse_scratch_take(device, "the ends of ranges", arrays, 2, &scratch);
    if (status == COPSE_OK) status = copse_transfer_to_device(device, lows, ranges->lows, bytes);
    if (status == COPSE_OK) status = copse_transfer_to_device(device, highs, ranges->highs, bytes);
    if (status == COPSE_OK) status = ranges_erase(index, lows, highs, index->key_type, ranges->n, out_erased);
    copse_scratch_free(device, &scratch);
    return status;
}

/* --- mixed batches ------------------------------------------------------------------------------------------------------------------ */

static copse_status change(copse_index *index, const copse_mixed_changes *changes)
{
    copse_status status = check_size(index, changes->n);
    if (status == COPSE_OK) status = pages_grow(index, changes->n);
    if (status != COPSE_OK) return status;
    update u = {.index = index, .tree = copse_paged_of(index), .low = changes->low, .high = changes->high};
    u.a.mode = COPSE_PAGED_MIXED;
    u.a.value_rows = changes->rows;
    u.a.gone = changes->rows ? changes->gone : NULL;
    return finish(index, &u, batch_apply(&u, changes->keys, changes->values, changes->n));
}

static const copse_mixed_structure mixed = {
    .look_up = copse_paged_look_up, .change = change, .entries = copse_paged_entries_out, .replace = replace};

copse_status copse_paged_apply(copse_index *index, const uint8_t *operations, const void *keys, const void *values,
                               uint64_t n, void *out_values, uint8_t *out_found)
{
    const copse_mixed_call call = {operations, keys, values, n, out_values, out_found, false};
    return copse_device_mixed(index, &mixed, &call);
}

copse_status copse_paged_erase_pairs(copse_index *index, const void *keys, const void *values, uint64_t n,
                                     uint64_t *out_erased)
{
    return copse_device_erase_pairs(index, &mixed, keys, values, n, out_erased);
}
