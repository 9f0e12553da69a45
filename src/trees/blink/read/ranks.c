/* The B-link and the B+ tree on a device: what reads by rank and aggregates need besides the leaves, and entries by rank. */
#include "trees/blink/tree.h"
#include "primitives/primitives.h"

#include <string.h>

COPSE_PICK_KERNEL_ROW(copse_blink_ordered_kernels)

void copse_blink_ranks_init(copse_blink_ranks *ranks)
{
    memset(ranks, 0, sizeof *ranks);
    pthread_mutex_init(&ranks->lock, NULL);
}

void copse_blink_ranks_forget(const copse_index *index, copse_blink_ranks *ranks)
{
    (void)index; /* the memory belongs to the first handle of the tree, whoever changes it */
    if (!ranks->device) return;
    copse_device *device = ranks->device;
    copse_device_free(device, device->main, ranks->before, ranks->bytes);
    copse_device_free(device, device->main, ranks->sums, ranks->bytes);
    copse_device_summary_free(device, &ranks->summary);
    ranks->before = ranks->sums = NULL;
    atomic_store_explicit(&ranks->before_ready, false, memory_order_relaxed);
    atomic_store_explicit(&ranks->summary_ready, false, memory_order_relaxed);
    atomic_store_explicit(&ranks->sums_tried, false, memory_order_relaxed);
}

void copse_blink_ranks_free(const copse_index *index, copse_blink_ranks *ranks)
{
    copse_blink_ranks_forget(index, ranks);
    pthread_mutex_destroy(&ranks->lock);
}

uint64_t copse_blink_ranks_bytes(copse_blink_ranks *ranks)
{
    pthread_mutex_lock(&ranks->lock); /* a reader may be making some of it */
    const uint64_t arrays = (ranks->before ? 1u : 0u) + (ranks->sums ? 1u : 0u);
    const uint64_t bytes = arrays * ranks->bytes + (ranks->summary.memory ? ranks->summary.bytes : 0);
    pthread_mutex_unlock(&ranks->lock);
    return bytes;
}

/* --- making it ------------------------------------------------------------------------------------------------------------ */

/* Sums of something of each base leaf in front of each base leaf. Waits for it, so that any stream may use it. */
static copse_status prefix_make(const copse_index *owner, copse_blink_epoch *epoch, const copse_kernel *kernel,
                                const char *what, uint64_t **out)
{
    copse_device *device = owner->device;
    const uint64_t n = (uint64_t)epoch->view.base_leaves + 1;
    void *memory = NULL;
    epoch->ranks.bytes = n * sizeof(uint64_t);
    copse_status status = copse_device_alloc(device, device->main, epoch->ranks.bytes, what, &memory);
    if (status != COPSE_OK) return status;
    copse_base_leaf_arguments arguments = {.tree = epoch->view, .out = memory};
    status = copse_device_launch(device, device->main, kernel, copse_device_blocks(device, n), &arguments);
    if (status == COPSE_OK) status = device->backend->primitives->scan_u64(device, device->main, memory, memory, n);
    if (status == COPSE_OK) status = copse_device_wait(device, device->main);
    if (status == COPSE_OK)
        *out = memory;
    else
        copse_device_free(device, device->main, memory, epoch->ranks.bytes);
    return status;
}

/* Running sums are a convenience: where there is no memory for them the summary serves. A fault is an error. */
static copse_status sums_make(const copse_index *owner, copse_blink_epoch *epoch)
{
    bool fit;
    copse_status status = copse_device_sums_fit(owner, &epoch->ranks.summary.summary, epoch->view.entries, &fit);
    if (status != COPSE_OK || !fit) return status;
    status = prefix_make(owner, epoch, &copse_blink_ordered_kernels_of(owner)->base_leaf_sums, "running sums",
                         &epoch->ranks.sums);
    return status == COPSE_ERR_MEMORY ? COPSE_OK : status;
}

typedef copse_status (*ranks_maker)(const copse_index *owner, copse_blink_epoch *epoch);

static copse_status before_make(const copse_index *owner, copse_blink_epoch *epoch)
{
    return prefix_make(owner, epoch, &copse_blink_ordered_kernels_of(owner)->base_leaf_entries, "ranks",
                       &epoch->ranks.before);
}

static copse_status summary_make(const copse_index *owner, copse_blink_epoch *epoch)
{
    const uint64_t blocks = (epoch->view.base_leaves + (uint64_t)COPSE_BLOCK_BASE_LEAVES - 1) / COPSE_BLOCK_BASE_LEAVES;
    copse_blink_summary_arguments arguments = {.tree = epoch->view};
    return copse_device_summary_make(owner, blocks, &copse_blink_ordered_kernels_of(owner)->summarize, &arguments,
                                     &arguments.summary, &epoch->ranks.summary);
}

/* Readers may come at the same time: the first makes it, the others wait; afterwards the flag alone is read. It is made on
 * the main stream of the first handle, to whose device the memory belongs, and an error is the reader's. */
static copse_status make_once(const copse_index *index, copse_blink_epoch *epoch, atomic_bool *ready, ranks_maker make)
{
    if (atomic_load_explicit(ready, memory_order_acquire)) return COPSE_OK;
    const copse_index *owner = &copse_blink_handle_of(index)->tree->owner;
    copse_status status = COPSE_OK;
    pthread_mutex_lock(&epoch->ranks.lock);
    if (!atomic_load_explicit(ready, memory_order_relaxed)) {
        epoch->ranks.device = owner->device;
        status = make(owner, epoch);
        if (status == COPSE_OK) atomic_store_explicit(ready, true, memory_order_release);
    }
    pthread_mutex_unlock(&epoch->ranks.lock);
    if (status != COPSE_OK) {
        copse_kept_error kept;
        copse_error_keep(&kept);
        kept.ctx = index->ctx;
        copse_error_put_back(&kept);
    }
    return status;
}

copse_status copse_blink_ranks_ready(const copse_index *index, copse_blink_epoch *epoch)
{
    return make_once(index, epoch, &epoch->ranks.before_ready, before_make);
}

copse_status copse_blink_summary_ready(const copse_index *index, copse_blink_epoch *epoch, bool sums)
{
    copse_status status = make_once(index, epoch, &epoch->ranks.summary_ready, summary_make);
    if (status != COPSE_OK || !sums) return status;
    return make_once(index, epoch, &epoch->ranks.sums_tried, sums_make);
}

/* --- checking it ---------------------------------------------------------------------------------------------------------- */

static copse_status check_launch(const copse_index *index, const copse_blink_epoch *epoch, copse_device_survey *survey)
{
    copse_device *device = index->device;
    const copse_blink_ordered_kernels *kernels = copse_blink_ordered_kernels_of(index);
    const copse_blink_ranks *ranks = &epoch->ranks;
    copse_ranks_check_arguments arguments = {.tree = epoch->view,
                                             .before = ranks->before,
                                             .sums = ranks->sums,
                                             .summary = ranks->summary.summary,
                                             .survey = survey};
    copse_status status = COPSE_OK;
    if (ranks->before || ranks->sums)
        status = copse_device_launch(device, device->main, &kernels->verify_base_leaves,
                                     copse_device_blocks(device, epoch->view.base_leaves), &arguments);
    if (status == COPSE_OK && ranks->summary.memory)
        status = copse_device_launch(device, device->main, &kernels->verify_summary,
                                     copse_device_blocks(device, ranks->summary.summary.nodes[0] * 32), &arguments);
    return status;
}

copse_status copse_blink_verify_ranks(const copse_index *index, copse_blink_epoch *epoch)
{
    copse_device *device = index->device;
    copse_device_survey *survey = NULL, seen;
    copse_status status = copse_device_survey_make(device, &survey);
    if (status != COPSE_OK) return status;
    pthread_mutex_lock(&epoch->ranks.lock); /* a reader may be making some of it */
    status = check_launch(index, epoch, survey);
    if (status == COPSE_OK) status = copse_device_survey_read(device, survey, &seen);
    pthread_mutex_unlock(&epoch->ranks.lock);
    copse_device_survey_free(device, survey);
    if (status != COPSE_OK || seen.trouble[3] == UINT64_MAX) return status;
    return copse_fail(index->ctx, COPSE_ERR_CORRUPT,
                      "%s tree: the ranks or aggregates at %llu do not agree with the leaves",
                      copse_structure_name(index->description->structure), (unsigned long long)seen.trouble[3]);
}

const copse_kernel *copse_blink_find_concurrent(const copse_index *index)
{
    return &copse_blink_ordered_kernels_of(index)->find_concurrent;
}

/* --- entries by rank ------------------------------------------------------------------------------------------------------ */

/* With keys as if they were of this type. */
static copse_status entries_as(const copse_index *index, copse_type key_type, uint64_t rank, uint64_t count, void *keys,
                               void *values)
{
    copse_blink_epoch *epoch = copse_blink_enter(index);
    copse_status status = copse_blink_ranks_ready(index, epoch);
    copse_blink_copy_arguments arguments = {.tree = epoch->view, .before = epoch->ranks.before};
    arguments.tree.key_type = key_type;
    const copse_entry_kernel copy = {&copse_blink_ordered_kernels_of(index)->copy, &arguments, &arguments.output,
                                     false};
    if (status == COPSE_OK) status = copse_entries_run(index, &copy, rank, count, keys, values);
    copse_blink_leave(index, epoch);
    return status;
}

static copse_status entries_run(const copse_index *index, uint64_t rank, uint64_t count, void *keys, void *values)
{
    return entries_as(index, index->key_type, rank, count, keys, values);
}

copse_status copse_blink_entries_encoded(const copse_index *index, void *keys, void *values)
{
    const copse_blink_epoch *current = copse_blink_handle_of(index)->tree->current;
    return entries_as(index, copse_device_pairs_type(index), 0, current->view.entries, keys, values);
}

/* Through a view they are those of one moment: the writer waits. */
static copse_status entries_view(const copse_index *index, uint64_t rank, uint64_t count, void *keys, void *values)
{
    copse_blink *tree = copse_blink_handle_of(index)->tree;
    pthread_mutex_lock(&tree->writer);
    const uint64_t entries = tree->current->view.entries;
    copse_status status = COPSE_OK;
    if (rank + count > entries)
        status =
            copse_fail(index->ctx, COPSE_ERR_STALE, "the index changed: it has %llu entries now, entry %llu is gone",
                       (unsigned long long)entries, (unsigned long long)(rank + count - 1));
    else
        status = entries_run(index, rank, count, keys, values);
    pthread_mutex_unlock(&tree->writer);
    return status;
}

copse_status copse_blink_entries(const copse_index *index, uint64_t rank, uint64_t count, void *keys, void *values)
{
    return copse_blink_concurrent(index) ? entries_view(index, rank, count, keys, values)
                                         : entries_run(index, rank, count, keys, values);
}

static copse_status select_run(const copse_index *index, const uint64_t *ranks, uint64_t n, void *keys, void *values,
                               uint8_t *found)
{
    copse_blink_epoch *epoch = copse_blink_enter(index);
    copse_status status = copse_blink_ranks_ready(index, epoch);
    copse_blink_copy_arguments arguments = {.tree = epoch->view, .before = epoch->ranks.before};
    const copse_entry_kernel select = {&copse_blink_ordered_kernels_of(index)->select, &arguments, &arguments.output,
                                       true};
    if (status == COPSE_OK) status = copse_select_run(index, &select, ranks, n, keys, values, found);
    copse_blink_leave(index, epoch);
    return status;
}

copse_status copse_blink_select(const copse_index *index, const uint64_t *ranks, uint64_t n, void *keys, void *values,
                                uint8_t *found)
{
    if (!copse_blink_concurrent(index)) return select_run(index, ranks, n, keys, values, found);
    copse_blink *tree = copse_blink_handle_of(index)->tree;
    pthread_mutex_lock(&tree->writer); /* ranks are those of one moment */
    copse_status status = select_run(index, ranks, n, keys, values, found);
    pthread_mutex_unlock(&tree->writer);
    return status;
}
