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

#include <string.h>

typedef struct update {
    const copse_index *index;
    copse_paged *tree;
    copse_paged_update_arguments a;
    copse_scratch scratch;
    copse_paged_seen seen;
    uint64_t low, high; /* of the keys that are put */
    bool done;          /* the pages are changed    */
} update;

/* Blocks that write pages in haste. */
#define HASTY_PAGES 132u
/* Of all pages, at most this share is got before it is known that they are wanted. */
#define AHEAD_SHARE 16u

static copse_status launch(const update *u, const copse_kernel *kernel, uint64_t items, const void *arguments)
{
    copse_device *device = u->index->device;
    return copse_device_launch(device, device->main, kernel, copse_device_blocks(device, items), arguments);
}

/* --- the plan --------------------------------------------------------------------------------------------------------------------- */

/* Memory for n elements; of a small batch for its sorted pairs as well. */
static copse_status elements_take(update *u, uint64_t n, bool pieces, copse_paged_small_arguments *small)
{
    copse_device *device = u->index->device;
    const uint64_t runs = n < u->tree->view.rows ? n : u->tree->view.rows;
    void *row = NULL, *what = NULL, *lost = NULL, *scan = NULL, *begin = NULL, *run_row = NULL, *does = NULL,
         *run_scan = NULL, *seen = NULL, *keys = NULL, *values = NULL;
    const copse_scratch_array arrays[] = {{&seen, sizeof u->seen},
                                          {&row, n * sizeof(uint32_t)},
                                          {&what, n * sizeof(uint32_t)},
                                          {&lost, pieces ? n * sizeof(uint32_t) : 0},
                                          {&scan, (n + 1) * sizeof(uint64_t)},
                                          {&begin, (runs + 1) * sizeof(uint32_t)},
                                          {&run_row, runs * sizeof(uint32_t)},
                                          {&does, runs * sizeof(uint32_t)},
                                          {&run_scan, (runs + 1) * sizeof(uint64_t)},
                                          {&keys, small ? n * copse_type_size(u->index->key_type) : 0},
                                          {&values, small ? n * copse_value_width(u->index->value_type) : 0}};
    copse_status status = copse_scratch_take(device, "the update", arrays, sizeof arrays / sizeof *arrays, &u->scratch);
    if (status == COPSE_OK && !small) status = copse_device_fill(device, device->main, seen, 0, sizeof u->seen);
    if (small) {
        small->sorted_keys = keys;
        small->sorted_values = values;
    }
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
    return copse_device_read(device, device->main, &u->seen, u->a.seen, sizeof u->seen);
}

/* --- the change ------------------------------------------------------------------------------------------------------------------- */

/* Kernels that change pages. hasty: all of them, since the host does not know what there is to do. */
static copse_status pages_change(const update *u, bool hasty)
{
    const copse_paged_kernels *kernels = copse_paged_kernels_of(u->index);
    copse_device *device = u->index->device;
    const uint64_t runs = hasty ? u->a.runs_most : (uint32_t)u->seen.last;
    const uint64_t items = hasty ? HASTY_PAGES : u->seen.items;
    const bool replaces = u->a.mode == COPSE_PAGED_PUT || u->a.mode == COPSE_PAGED_MIXED;
    copse_status status = COPSE_OK;
    if (hasty ? replaces : u->seen.replaced != 0) status = launch(u, &kernels->replace, u->a.n, &u->a);
    if (status == COPSE_OK && (hasty || u->seen.patched)) status = launch(u, &kernels->patch, u->a.n, &u->a);
    if (status == COPSE_OK && (hasty || u->seen.patched)) status = launch(u, &kernels->finish, runs * 32, &u->a);
    if (status == COPSE_OK && items) status = copse_device_launch(device, device->main, &kernels->write, items, &u->a);
    return status;
}

/* The same with rows that come or go, into a directory that has room for them. */
static copse_status rows_change(update *u, const copse_paged_directory *directory, bool hasty)
{
    copse_paged *tree = u->tree;
    u->a.new_room = directory->room;
    u->a.new_highs = directory->highs;
    u->a.new_pages = directory->pages;
    u->a.new_counts = directory->counts;
    u->a.stack = tree->pool.stack;
    u->a.stack_top = tree->pool.top;
    copse_status status = pages_change(u, hasty);
    if (status == COPSE_OK) status = launch(u, &copse_paged_kernels_of(u->index)->move_rows, u->a.tree.rows, &u->a);
    if (status == COPSE_OK) status = copse_paged_levels_fill(u->index, tree, directory, hasty ? u->a.seen : NULL);
    return status;
}

/* The directory that kernels have written becomes that of the tree. */
static void rows_follow(const update *u, const copse_paged_directory *directory)
{
    copse_paged_directory_put(u->index, u->tree, directory);
    u->tree->pool.top = u->tree->pool.top - u->seen.taken + u->seen.freed;
}

static copse_status rows_prepare_and_change(update *u)
{
    copse_paged_directory directory;
    const uint64_t rows = u->tree->view.rows + u->seen.shift;
    copse_status status = copse_paged_pool_reserve(u->index, &u->tree->pool, u->seen.taken);
    if (status == COPSE_OK) status = copse_paged_directory_make(u->index, rows, true, &directory);
    if (status != COPSE_OK) return status;
    status = rows_change(u, &directory, false);
    if (status == COPSE_OK)
        rows_follow(u, &directory);
    else
        copse_paged_directory_free(u->index, &directory);
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

static bool plan_is_empty(const update *u)
{
    return !u->seen.replaced && !u->seen.patched && !u->seen.items && !u->seen.taken && !u->seen.freed;
}

static void tail_follow(const update *u)
{
    copse_paged *tree = u->tree;
    if (u->seen.tail == COPSE_PAGED_TAIL_COUNT) tree->tail_count = 0;
    if (u->seen.tail == COPSE_PAGED_TAIL_COUNT || u->seen.tail == COPSE_PAGED_TAIL_MORE)
        tree->tail_count += (uint32_t)u->seen.tail_count;
    if (u->seen.tail == COPSE_PAGED_TAIL_COUNT) tree->tail_known = true;
    if (u->seen.tail == COPSE_PAGED_TAIL_UNKNOWN) tree->tail_known = false;
}

/* After a change of the pages: what the host knows of the tree. */
static void tree_follow(update *u)
{
    if (plan_is_empty(u)) return;
    bounds_follow(u);
    tail_follow(u);
    u->tree->view.entries += (uint64_t)entries_come(u);
    copse_paged_forget(u->index, u->tree);
    u->done = true;
}

/* Carries a plan out. */
static copse_status carry_out(update *u)
{
    copse_device *device = u->index->device;
    u->tree->taken = u->tree->view.entries ? u->seen.taken : 0; /* a bulk load does not come again */
    u->tree->taken_by = u->a.n;
    if (plan_is_empty(u)) return COPSE_OK;
    copse_status status = u->seen.taken || u->seen.freed ? rows_prepare_and_change(u) : pages_change(u, false);
    if (status != COPSE_OK) return status;
    tree_follow(u);
    return device->callers_stream ? COPSE_OK : copse_device_wait(device, device->main);
}

/* --- large batches ---------------------------------------------------------------------------------------------------------------- */

/* Gets memory for as many pages as the last batch has taken, by its keys, while the device is at the plan of this one, so that the host
 * need not wait for both, one behind the other. Where there is none, carrying the plan out shows it. */
static void pool_fill_ahead(const update *u)
{
    const copse_paged *tree = u->tree;
    const uint64_t most = tree->pool.pages / AHEAD_SHARE;
    const uint64_t likely = u->a.n < tree->taken_by ? tree->taken * u->a.n / tree->taken_by : tree->taken;
    copse_kept_error kept;
    copse_error_keep(&kept);
    if (copse_paged_pool_reserve(u->index, &u->tree->pool, likely < most ? likely : most) != COPSE_OK)
        copse_error_put_back(&kept);
}

/* Applies a batch of keys that are sorted and encoded. */
static copse_status batch_apply(update *u, const void *keys, const void *values, uint64_t n)
{
    copse_status status = elements_take(u, n, false, NULL);
    u->a.keys = keys;
    u->a.values = values;
    if (status == COPSE_OK) status = launch(u, &copse_paged_kernels_of(u->index)->locate, n, &u->a);
    if (status == COPSE_OK) status = plan_make(u);
    if (status != COPSE_OK) return status;
    pool_fill_ahead(u);
    return plan_read(u);
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

/* --- small batches ---------------------------------------------------------------------------------------------------------------- */

/* Launches what carries a small batch out, and waits. The plan is delivered to the note of the device, which is locked. directory
 * NULL: one block does it all, or nothing. */
static copse_status small_launch(update *u, const copse_paged_small_arguments *arguments,
                                 const copse_paged_directory *directory)
{
    copse_device *device = u->index->device;
    copse_paged_small_arguments a = *arguments;
    u->a.stack_top = directory ? u->tree->pool.top : 0;
    u->a.new_room = directory ? directory->room : 0;
    a.update = u->a;
    copse_status status = copse_device_launch(device, device->main, &copse_paged_kernels_of(u->index)->small, 1, &a);
    if (status == COPSE_OK && directory) status = rows_change(u, directory, true);
    return status == COPSE_OK ? copse_device_wait(device, device->main) : status;
}

static copse_status small_run(update *u, copse_paged_small_arguments *a, const copse_paged_directory *directory)
{
    copse_device *device = u->index->device;
    pthread_mutex_lock(&device->note_lock);
    a->delivered = (copse_paged_seen *)(void *)device->note;
    copse_status status = small_launch(u, a, directory);
    if (status == COPSE_OK) memcpy(&u->seen, device->note, sizeof u->seen);
    pthread_mutex_unlock(&device->note_lock);
    if (status != COPSE_OK) return status;
    const copse_pairs_speculation *seen = &u->seen.speculation;
    if (seen->not_first_nan) return copse_fail_nan(u->index->ctx, "keys", ~seen->not_first_nan);
    if (u->a.mode != COPSE_PAGED_ERASE) {
        u->low = seen->smallest;
        u->high = seen->largest;
    }
    return COPSE_OK;
}

/* After a plan that one block made: the host carries out what was refused. */
static copse_status small_finish(update *u, copse_paged_directory *directory)
{
    copse_device *device = u->index->device;
    const bool moved = !u->seen.refused && (u->seen.taken || u->seen.freed);
    if (moved) {
        directory->rows = u->a.tree.rows + (uint32_t)u->seen.shift;
        rows_follow(u, directory);
    } else {
        copse_paged_directory_free(u->index, directory);
    }
    if (!u->seen.refused) {
        tree_follow(u);
        return COPSE_OK;
    }
    u->seen.refused = 0;
    return copse_device_fill(device, device->main, &u->a.seen->refused, 0, sizeof u->seen.refused);
}

/* A batch of up to COPSE_PAGED_SMALL keys, as it came. */
static copse_status small_apply(update *u, const copse_device_pairs *pairs)
{
    copse_paged_small_arguments a = {.keys = pairs->keys, .values = pairs->values, .key_type = pairs->key_type};
    copse_paged_directory directory = {0};
    copse_status status = elements_take(u, pairs->n, false, &a);
    u->a.keys = a.sorted_keys;
    u->a.values = a.sorted_values;
    if (status == COPSE_OK && pairs->n > COPSE_PAGED_TINY)
        status = copse_paged_directory_make(u->index, u->tree->view.rows + pairs->n, true, &directory);
    if (status == COPSE_OK) status = small_run(u, &a, directory.memory ? &directory : NULL);
    if (status == COPSE_OK) return small_finish(u, &directory);
    copse_paged_directory_free(u->index, &directory);
    return status;
}

/* --- appends ---------------------------------------------------------------------------------------------------------------------- */

/* Makes room for more rows. */
static copse_status directory_grow(const copse_index *index, copse_paged *tree, uint64_t rows)
{
    copse_device *device = index->device;
    copse_paged_directory grown;
    const copse_paged_directory *old = &tree->directory;
    const uint64_t key_bytes = copse_type_size(index->key_type);
    if (rows <= old->room) return COPSE_OK;
    copse_status status = copse_paged_directory_make(index, rows, true, &grown);
    if (status != COPSE_OK) return status;
    grown.rows = old->rows;
    status = copse_device_copy(device, device->main, grown.highs, old->highs, old->rows * key_bytes);
    if (status == COPSE_OK)
        status = copse_device_copy(device, device->main, grown.pages, old->pages, old->rows * sizeof *old->pages);
    if (status == COPSE_OK)
        status = copse_device_copy(device, device->main, grown.counts, old->counts, old->rows * sizeof *old->counts);
    if (status == COPSE_OK) status = copse_paged_levels_fill(index, tree, &grown, NULL);
    if (status == COPSE_OK)
        copse_paged_directory_put(index, tree, &grown);
    else
        copse_paged_directory_free(index, &grown);
    return status;
}

/* Launches an append and waits. The levels may follow though the batch turns out to be none: rows that are not there have the largest key. */
static copse_status append_launch(const copse_index *index, copse_paged_append_arguments *a,
                                  const copse_paged_directory *directory, copse_pairs_speculation *seen)
{
    copse_device *device = index->device;
    const copse_paged_kernels *kernels = copse_paged_kernels_of(index);
    copse_status status = copse_device_speculation_make(device, &a->seen);
    if (status != COPSE_OK) return status;
    status = copse_device_launch(device, device->main, &kernels->order, copse_device_blocks(device, a->n), a);
    if (status == COPSE_OK)
        status = copse_device_launch(device, device->main, &kernels->append, (uint64_t)a->pages + 1, a);
    if (status == COPSE_OK && a->pages) status = copse_paged_levels_fill(index, copse_paged_of(index), directory, NULL);
    if (status == COPSE_OK) status = copse_device_read(device, device->main, seen, a->seen, sizeof *seen);
    copse_device_speculation_free(device, a->seen);
    return status;
}

static void append_follow(const copse_index *index, copse_paged *tree, const copse_paged_append_arguments *a,
                          const copse_paged_directory *directory, uint64_t largest)
{
    const uint64_t rest = a->tree.slots - a->tail_count;
    copse_paged_directory_put(index, tree, directory);
    tree->pool.top -= a->pages;
    tree->tail_count =
        (uint32_t)(a->pages ? a->n - rest - (uint64_t)(a->pages - 1) * a->tree.slots : a->tail_count + a->n);
    tree->view.entries += a->n;
    tree->high = largest;
    copse_paged_forget(index, tree);
}

/* Appends a batch, as long as the last one was an append; *out_done false: it is not one after all. Where keys repeat, an equal of the last
 * key is an append, unless only absent keys are to come. */
static copse_status append_try(const copse_index *index, copse_device_pairs *pairs, uint32_t flags, bool *out_done)
{
    copse_paged *tree = copse_paged_of(index);
    copse_pairs_speculation seen = {0};
    *out_done = false;
    if (!tree->appending || !tree->tail_known || copse_type_is_float(index->key_type)) return COPSE_OK;
    if (index->duplicates && flags & COPSE_INSERT_IF_ABSENT) return COPSE_OK;
    const uint64_t slots = tree->view.slots, rest = slots - tree->tail_count;
    const uint64_t pages = pairs->n > rest ? (pairs->n - rest + slots - 1) / slots : 0;
    copse_status status = copse_device_pairs_encode(index, pairs);
    if (status == COPSE_OK) status = copse_paged_pool_reserve(index, &tree->pool, pages);
    if (status == COPSE_OK) status = directory_grow(index, tree, tree->view.rows + pages);
    if (status != COPSE_OK) return status;
    copse_paged_directory directory = tree->directory;
    directory.rows += (uint32_t)pages;
    copse_paged_append_arguments a = {.tree = tree->view,
                                      .keys = pairs->keys,
                                      .values = pairs->values,
                                      .n = pairs->n,
                                      .high = tree->high,
                                      .tail_count = tree->tail_count,
                                      .pages = (uint32_t)pages,
                                      .stack = tree->pool.stack,
                                      .stack_top = tree->pool.top};
    status = append_launch(index, &a, &directory, &seen);
    *out_done = status == COPSE_OK && !seen.wrong;
    tree->appending = *out_done;
    if (*out_done) append_follow(index, tree, &a, &directory, seen.largest);
    return status;
}

/* --- new trees -------------------------------------------------------------------------------------------------------------------- */

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

/* Puts sorted, encoded pairs into a new tree with pages of so many slots, and that in the place of the old one. */
static copse_status tree_make(copse_index *index, uint32_t slots, const copse_device_pairs *pairs)
{
    copse_paged *tree = NULL;
    copse_status status = check_size(index, pairs->n);
    if (status == COPSE_OK) status = copse_paged_make(index, slots, &tree);
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

static copse_status replace(copse_index *index, copse_device_pairs *pairs)
{
    return tree_make(index, copse_paged_slots_for(index->page_order, pairs->n), pairs);
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

/* A tree whose pages have another order than one of its size has, with what is to come, is made anew. */
static copse_status pages_follow(copse_index *index, uint64_t more)
{
    const copse_paged *tree = copse_paged_of(index);
    const uint32_t slots = copse_paged_slots_next(index->page_order, tree->view.slots, tree->view.entries + more);
    if (tree->view.slots == slots) return COPSE_OK;
    copse_device_pairs all;
    copse_status status = copse_paged_entries_out(index, &all);
    if (status != COPSE_OK) return status;
    all.low = tree->low;
    all.high = tree->high;
    status = tree_make(index, slots, &all);
    copse_device_pairs_free(index, &all);
    return status;
}

/* The same after an erase, which is done, and which nobody has to hear of. */
static copse_status pages_shrink(copse_index *index, copse_status status)
{
    copse_kept_error kept;
    if (status != COPSE_OK) return status;
    copse_error_keep(&kept);
    status = pages_follow(index, 0);
    if (status != COPSE_ERR_MEMORY) return status;
    copse_error_put_back(&kept);
    return COPSE_OK;
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
    if (status == COPSE_OK && !u->done) {
        const bool empties = u->tree->view.entries && u->tree->view.entries + (uint64_t)entries_come(u) == 0;
        status = empties ? drop_all(index) : carry_out(u);
    }
    copse_scratch_free(index->device, &u->scratch);
    return status;
}

/* Puts the caller's batch, which is on the device, into the tree, or takes its keys out. */
static copse_status pairs_apply(copse_index *index, update *u, copse_device_pairs *pairs, const char *what)
{
    copse_paged *tree = u->tree;
    const copse_pairs_hint hint = {tree->view.entries != 0, tree->low, tree->high, &tree->predictor};
    if (pairs->n <= COPSE_PAGED_SMALL) {
        copse_status status = small_apply(u, pairs);
        tree->predictor.ascending = tree->predictor.ascending && u->seen.speculation.ascending;
        return finish(index, u, status);
    }
    copse_status status = copse_device_pairs_sort(index, &hint, what, pairs);
    if (status == COPSE_OK) status = batch_apply_sorted(u, pairs);
    u->seen.speculation.ascending = tree->predictor.ascending;
    if (u->a.mode != COPSE_PAGED_ERASE) {
        u->low = pairs->low;
        u->high = pairs->high;
    }
    return finish(index, u, status);
}

/* Was that an append, so that the next one may be? */
static bool was_append(const update *u)
{
    return (uint32_t)u->seen.last == 1 && u->seen.speculation.ascending &&
           (u->seen.tail == COPSE_PAGED_TAIL_COUNT || u->seen.tail == COPSE_PAGED_TAIL_MORE);
}

static copse_status pairs_insert(copse_index *index, copse_device_pairs *pairs, uint32_t flags, uint64_t *out_inserted)
{
    bool done = false;
    copse_status status = pages_follow(index, pairs->n);
    if (status == COPSE_OK) status = append_try(index, pairs, flags, &done);
    if (status != COPSE_OK) return status;
    *out_inserted = pairs->n;
    if (done) return COPSE_OK;
    update u = {.index = index, .tree = copse_paged_of(index)};
    u.a.mode = flags & COPSE_INSERT_IF_ABSENT ? COPSE_PAGED_ABSENT
               : index->duplicates            ? COPSE_PAGED_ADD
                                              : COPSE_PAGED_PUT;
    status = pairs_apply(index, &u, pairs, "inserting");
    if (status != COPSE_OK) return status;
    *out_inserted = (uint64_t)entries_come(&u);
    u.tree->appending = was_append(&u);
    return COPSE_OK;
}

copse_status copse_paged_insert(copse_index *index, const void *keys, const void *values, uint64_t n, uint32_t flags,
                                uint64_t *out_inserted)
{
    copse_device_pairs pairs = {0};
    copse_status status = copse_device_pairs_bring(index, keys, values, n, "inserting", &pairs);
    if (status == COPSE_OK) status = check_size(index, n);
    if (status == COPSE_OK) status = pairs_insert(index, &pairs, flags, out_inserted);
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
        status = elements_take(&u, pieces, true, NULL);
        a.update = u.a;
        if (status == COPSE_OK) status = launch(&u, &kernels->pieces, pieces, &a);
        if (status == COPSE_OK) status = plan_make(&u);
        if (status == COPSE_OK) status = plan_read(&u);
        status = finish(index, &u, status);
        if (status == COPSE_OK) *out_erased = (uint64_t)-entries_come(&u);
        if (status == COPSE_OK) status = pages_shrink(index, copse_paged_join(index, *out_erased));
    }
    copse_scratch_free(device, &scratch);
    return status;
}

/* Erases keys, each with all entries that have it. */
static copse_status pairs_erase(copse_index *index, copse_device_pairs *pairs, uint64_t *out_erased)
{
    copse_paged *tree = copse_paged_of(index);
    if (index->duplicates) {
        const copse_pairs_hint hint = {tree->view.entries != 0, tree->low, tree->high, &tree->predictor};
        copse_status status = copse_device_pairs_sort(index, &hint, "erasing", pairs);
        if (status == COPSE_OK) status = copse_device_pairs_confirm(index, pairs);
        if (status != COPSE_OK) return status;
        return ranges_erase(index, pairs->keys, pairs->keys, pairs->key_type, pairs->n, out_erased);
    }
    update u = {.index = index, .tree = tree, .low = 1, .high = 0};
    u.a.mode = COPSE_PAGED_ERASE;
    copse_status status = pairs_apply(index, &u, pairs, "erasing");
    if (status != COPSE_OK) return status;
    *out_erased = (uint64_t)-entries_come(&u);
    return pages_shrink(index, copse_paged_join(index, *out_erased));
}

copse_status copse_paged_erase(copse_index *index, const void *keys, uint64_t n, uint64_t *out_erased)
{
    copse_device_pairs pairs = {0};
    copse_status status = copse_device_pairs_bring(index, keys, NULL, n, "erasing", &pairs);
    if (status == COPSE_OK) status = check_size(index, n);
    if (status == COPSE_OK) status = pairs_erase(index, &pairs, out_erased);
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
    if (status == COPSE_OK) status = pages_follow(index, changes->n);
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
