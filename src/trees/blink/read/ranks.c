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

void copse_blink_ranks_stale(copse_blink_ranks *ranks)
{
    atomic_store_explicit(&ranks->before_ready, false, memory_order_relaxed);
    atomic_store_explicit(&ranks->summary_ready, false, memory_order_relaxed);
    atomic_store_explicit(&ranks->sums_tried, false, memory_order_relaxed);
}

uint32_t *copse_blink_ranks_touched(copse_blink_epoch *epoch)
{
    copse_blink_ranks *ranks = &epoch->ranks;
    if (epoch->view.directory_entries) return NULL; /* they are made anew, then */
    pthread_mutex_lock(&ranks->lock);
    uint32_t *touched = ranks->touched;
    pthread_mutex_unlock(&ranks->lock);
    return touched;
}

static void sums_free(copse_blink_ranks *ranks)
{
    copse_device_free(ranks->device, ranks->device->main, ranks->value_totals, ranks->sums_bytes);
    if (ranks->seen && !copse_device_is_parents(ranks->device))
        ranks->device->backend->event_free(ranks->device, ranks->seen);
    ranks->seen = NULL;
    ranks->value_totals = NULL;
    ranks->sums = (copse_values_before){NULL, NULL};
    ranks->sums_bytes = 0;
}

/* Frees all of it: where updates have given anchors other numbers, bits of base leaves do not say what changed. */
static void ranks_drop(copse_blink_ranks *ranks)
{
    if (!ranks->device) return;
    copse_device_free(ranks->device, ranks->device->main, ranks->entry_totals, ranks->before_bytes);
    ranks->entry_totals = NULL;
    ranks->touched = NULL;
    ranks->before = (copse_entries_before){NULL, NULL};
    ranks->before_bytes = 0;
    sums_free(ranks);
    copse_device_summary_free(ranks->device, &ranks->summary);
}

void copse_blink_ranks_free(const copse_index *index, copse_blink_ranks *ranks)
{
    (void)index; /* the memory belongs to the first handle of the tree, whoever frees it */
    ranks_drop(ranks);
    pthread_mutex_destroy(&ranks->lock);
}

uint64_t copse_blink_ranks_bytes(copse_blink_ranks *ranks)
{
    pthread_mutex_lock(&ranks->lock); /* a reader may be making some of it */
    const uint64_t bytes = ranks->before_bytes + ranks->sums_bytes + (ranks->summary.memory ? ranks->summary.bytes : 0);
    pthread_mutex_unlock(&ranks->lock);
    return bytes;
}

/* --- making it, and bringing it up to date ---------------------------------------------------------------------------------- */

/* Base leaves and entries of the directory: what running sums and the summary have an item for. */
static uint64_t anchor_count(const copse_blink_epoch *epoch)
{
    return (uint64_t)epoch->view.base_leaves + epoch->view.directory_entries;
}

static uint64_t block_count(const copse_blink_epoch *epoch)
{
    return (anchor_count(epoch) + COPSE_SUMS_BLOCK - 1) / COPSE_SUMS_BLOCK;
}

/* Memory for running sums of entries, and bits that say that all base leaves are to be counted. */
static copse_status before_alloc(copse_device *device, copse_blink_epoch *epoch)
{
    copse_blink_ranks *ranks = &epoch->ranks;
    const uint64_t blocks = block_count(epoch), leaves = blocks * COPSE_SUMS_BLOCK;
    const uint64_t bytes =
        2 * (blocks + 1) * sizeof(uint64_t) + leaves * sizeof(uint32_t) + 3 * blocks * sizeof(uint32_t);
    void *memory = NULL;
    copse_status status = copse_device_alloc(device, device->main, bytes, "ranks", &memory);
    if (status != COPSE_OK) return status;
    uint64_t *totals = memory, *sums = totals + blocks + 1;
    uint32_t *inside = (uint32_t *)(sums + blocks + 1), *touched = inside + leaves;
    status = copse_device_fill(device, device->main, totals, 0, (blocks + 1) * sizeof *totals);
    if (status == COPSE_OK)
        status = copse_device_fill(device, device->main, touched, 0xff, 3 * blocks * sizeof *touched);
    if (status != COPSE_OK) {
        copse_device_free(device, device->main, memory, bytes);
        return status;
    }
    ranks->blocks = blocks;
    ranks->anchors = anchor_count(epoch);
    ranks->entry_totals = totals;
    ranks->before = (copse_entries_before){inside, sums};
    ranks->touched = touched;
    ranks->stale_sums = touched + blocks;
    ranks->stale_summary = touched + 2 * blocks;
    ranks->before_bytes = bytes;
    return COPSE_OK;
}

/* Corrects blocks. */
static copse_status blocks_refresh(const copse_index *owner, const copse_blink_epoch *epoch, const copse_kernel *kernel,
                                   copse_refresh_arguments *arguments)
{
    copse_device *device = owner->device;
    arguments->tree = epoch->view;
    arguments->blocks = epoch->ranks.blocks;
    return copse_device_launch(device, device->main, kernel, copse_device_blocks(device, arguments->blocks), arguments);
}

/* Sums up what blocks have. */
static copse_status blocks_sum(const copse_index *owner, const copse_blink_ranks *ranks, const uint64_t *totals,
                               const uint64_t *out)
{
    copse_device *device = owner->device;
    return device->backend->primitives->scan_u64(device, device->main, totals, (uint64_t *)(uintptr_t)out,
                                                 ranks->blocks + 1);
}

/* Sees to the memory for running sums of entries. */
static copse_status before_ready_memory(const copse_index *owner, copse_blink_epoch *epoch)
{
    copse_blink_ranks *ranks = &epoch->ranks;
    if (ranks->touched && (epoch->view.directory_entries || ranks->anchors != anchor_count(epoch))) ranks_drop(ranks);
    return ranks->touched ? COPSE_OK : before_alloc(owner->device, epoch);
}

/* The arguments of a kernel that corrects running sums of entries. */
static copse_refresh_arguments before_arguments(const copse_blink_ranks *ranks)
{
    return (copse_refresh_arguments){.touched = ranks->touched,
                                     .stale_sums = ranks->stale_sums,
                                     .stale_summary = ranks->stale_summary,
                                     .entries = (uint32_t *)(uintptr_t)ranks->before.inside,
                                     .totals = ranks->entry_totals};
}

static copse_status before_make(const copse_index *owner, copse_blink_epoch *epoch)
{
    copse_blink_ranks *ranks = &epoch->ranks;
    copse_status status = before_ready_memory(owner, epoch);
    if (status != COPSE_OK) return status;
    copse_refresh_arguments arguments = before_arguments(ranks);
    status = blocks_refresh(owner, epoch, &copse_blink_ordered_kernels_of(owner)->refresh_entries, &arguments);
    return status == COPSE_OK ? blocks_sum(owner, ranks, ranks->entry_totals, ranks->before.blocks) : status;
}

static copse_status summary_alloc(const copse_index *owner, copse_blink_epoch *epoch)
{
    copse_blink_ranks *ranks = &epoch->ranks;
    copse_device *device = owner->device;
    const uint64_t items = (anchor_count(epoch) + COPSE_BLOCK_BASE_LEAVES - 1) / COPSE_BLOCK_BASE_LEAVES;
    copse_status status = copse_device_fill(device, device->main, ranks->stale_summary, 0xff,
                                            ranks->blocks * sizeof *ranks->stale_summary);
    return status == COPSE_OK ? copse_device_summary_alloc(owner, items, &ranks->summary) : status;
}

static copse_status summary_make(const copse_index *owner, copse_blink_epoch *epoch)
{
    copse_blink_ranks *ranks = &epoch->ranks;
    copse_status status = ranks->summary.memory ? COPSE_OK : summary_alloc(owner, epoch);
    if (status != COPSE_OK) return status;
    const copse_refresh_arguments arguments = {.tree = epoch->view,
                                               .blocks = ranks->blocks,
                                               .touched = ranks->stale_summary,
                                               .summary = ranks->summary.summary};
    return copse_device_summary_fill(owner, &copse_blink_ordered_kernels_of(owner)->refresh_summary,
                                     copse_device_blocks(owner->device, ranks->blocks), &arguments, &arguments.summary);
}

/* --- running sums of values -------------------------------------------------------------------------------------------------- */

static copse_status sums_alloc(copse_device *device, copse_blink_ranks *ranks)
{
    const uint64_t blocks = ranks->blocks,
                   bytes = (2 * (blocks + 1) + blocks * COPSE_SUMS_BLOCK + 1) * sizeof(uint64_t);
    void *memory = NULL;
    copse_status status = copse_device_alloc(device, device->main, bytes, "running sums", &memory);
    if (status != COPSE_OK) return status;
    uint64_t *totals = memory;
    ranks->value_totals = totals;
    ranks->largest = totals + blocks + 1;
    ranks->sums = (copse_values_before){totals + 2 * (blocks + 1) + 1, totals + blocks + 2};
    ranks->sums_bytes = bytes;
    status = device->backend->event_create(device, &ranks->seen);
    if (status == COPSE_OK) status = copse_device_fill(device, device->main, totals, 0, (blocks + 2) * sizeof *totals);
    if (status == COPSE_OK)
        status = copse_device_fill(device, device->main, ranks->stale_sums, 0xff, blocks * sizeof *ranks->stale_sums);
    if (status != COPSE_OK) sums_free(ranks);
    return status;
}

/* Enqueues the kernel that corrects running sums of values, and together with them those of entries. */
static copse_status sums_correct(const copse_index *owner, const copse_blink_epoch *epoch, bool both)
{
    const copse_blink_ranks *ranks = &epoch->ranks;
    const copse_blink_ordered_kernels *kernels = copse_blink_ordered_kernels_of(owner);
    copse_refresh_arguments arguments = {.touched = ranks->stale_sums};
    if (both) {
        arguments = before_arguments(ranks);
        arguments.stale_sums = NULL;
        arguments.also = ranks->stale_sums;
    }
    arguments.values = (uint64_t *)(uintptr_t)ranks->sums.inside;
    arguments.value_totals = ranks->value_totals;
    arguments.largest = ranks->largest;
    return blocks_refresh(owner, epoch, both ? &kernels->refresh_both : &kernels->refresh_values, &arguments);
}

/* Corrects running sums of values, and those of entries where these are not up to date, either; and reads the largest value meanwhile: the
 * host waits for that alone, while the device sums up blocks. */
static copse_status sums_launch(const copse_index *owner, copse_blink_epoch *epoch, uint64_t *out_largest)
{
    copse_blink_ranks *ranks = &epoch->ranks;
    copse_device *device = owner->device;
    const bool both = !atomic_load_explicit(&ranks->before_ready, memory_order_relaxed);
    copse_status read = sums_correct(owner, epoch, both);
    pthread_mutex_lock(&device->note_lock);
    if (read == COPSE_OK)
        read = copse_device_copy(device, device->main, device->note, ranks->largest, sizeof *out_largest);
    if (read == COPSE_OK) read = device->backend->event_record(device, ranks->seen, device->main);
    copse_status status = read;
    if (status == COPSE_OK) status = blocks_sum(owner, ranks, ranks->value_totals, ranks->sums.blocks);
    if (status == COPSE_OK && both) status = blocks_sum(owner, ranks, ranks->entry_totals, ranks->before.blocks);
    if (read == COPSE_OK) read = device->backend->event_wait(device, ranks->seen); /* others want the note, too */
    if (status == COPSE_OK) status = read;
    if (status == COPSE_OK) memcpy(out_largest, device->note, sizeof *out_largest);
    pthread_mutex_unlock(&device->note_lock);
    if (status == COPSE_OK && both) atomic_store_explicit(&ranks->before_ready, true, memory_order_release);
    return status;
}

static copse_status sums_refresh(const copse_index *owner, copse_blink_epoch *epoch, bool *out_fit)
{
    copse_blink_ranks *ranks = &epoch->ranks;
    uint64_t largest = 0;
    const bool before = atomic_load_explicit(&ranks->before_ready, memory_order_relaxed);
    copse_status status = before ? COPSE_OK : before_ready_memory(owner, epoch);
    if (status == COPSE_OK && !ranks->value_totals) status = sums_alloc(owner->device, ranks);
    if (status == COPSE_OK) status = sums_launch(owner, epoch, &largest);
    const bool is_signed = owner->value_type == COPSE_I32 || owner->value_type == COPSE_I64;
    const uint64_t most = is_signed ? INT64_MAX : UINT64_MAX;
    *out_fit = largest == 0 || epoch->view.entries <= most / largest;
    return status;
}

/* Running sums are a convenience: where there is no memory for them the summary serves. A fault is an error. */
static copse_status sums_make(const copse_index *owner, copse_blink_epoch *epoch)
{
    copse_blink_ranks *ranks = &epoch->ranks;
    bool fit = false;
    ranks->sums_fit = false;
    if (ranks->sums_given_up || copse_type_is_float(owner->value_type)) return COPSE_OK;
    copse_status status = sums_refresh(owner, epoch, &fit);
    if (status == COPSE_OK &&
        !fit) { /* the largest value as often as there are entries: what there is may fit all the same */
        status = summary_make(owner, epoch);
        if (status == COPSE_OK)
            status = copse_device_sums_fit(owner, &ranks->summary.summary, epoch->view.entries, &fit);
        if (status == COPSE_OK && !fit) {
            sums_free(ranks);
            ranks->sums_given_up = true;
        }
    }
    ranks->sums_fit = status == COPSE_OK && fit;
    return status == COPSE_ERR_MEMORY ? COPSE_OK : status;
}

typedef copse_status (*ranks_maker)(const copse_index *owner, copse_blink_epoch *epoch);

/* Waits until what was made is complete, where the reader's kernels do not come behind it on the same stream: through another handle,
 * or where the caller may set another stream before that one is through. */
static copse_status wait_complete(const copse_index *index, const copse_index *owner, copse_blink_ranks *ranks)
{
    copse_device *device = owner->device;
    if (index->device == device && !device->callers_stream) return COPSE_OK;
    if (atomic_load_explicit(&ranks->complete, memory_order_acquire)) return COPSE_OK;
    pthread_mutex_lock(&ranks->lock);
    copse_status status = copse_device_wait(device, device->main);
    if (status == COPSE_OK) atomic_store_explicit(&ranks->complete, true, memory_order_release);
    pthread_mutex_unlock(&ranks->lock);
    return status;
}

/* Readers may come at the same time: the first makes it, the others wait; afterwards the flag alone is read. It is made on
 * the main stream of the first handle, to whose device the memory belongs, and an error is the reader's. */
static copse_status make_once(const copse_index *index, copse_blink_epoch *epoch, atomic_bool *ready, ranks_maker make)
{
    const copse_index *owner = &copse_blink_handle_of(index)->tree->owner;
    copse_status status = COPSE_OK;
    if (!atomic_load_explicit(ready, memory_order_acquire)) {
        pthread_mutex_lock(&epoch->ranks.lock);
        if (!atomic_load_explicit(ready, memory_order_relaxed)) {
            epoch->ranks.device = owner->device;
            atomic_store_explicit(&epoch->ranks.complete, false, memory_order_relaxed);
            status = make(owner, epoch);
            if (status == COPSE_OK) atomic_store_explicit(ready, true, memory_order_release);
        }
        pthread_mutex_unlock(&epoch->ranks.lock);
    }
    if (status == COPSE_OK) status = wait_complete(index, owner, &epoch->ranks);
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

copse_status copse_blink_summary_ready(const copse_index *index, copse_blink_epoch *epoch)
{
    return make_once(index, epoch, &epoch->ranks.summary_ready, summary_make);
}

copse_status copse_blink_sums_ready(const copse_index *index, copse_blink_epoch *epoch)
{
    return make_once(index, epoch, &epoch->ranks.sums_tried, sums_make);
}

/* --- checking it ---------------------------------------------------------------------------------------------------------- */

/* What is up to date. */
static copse_status check_launch(const copse_index *index, const copse_blink_epoch *epoch, copse_device_survey *survey)
{
    copse_device *device = index->device;
    const copse_blink_ordered_kernels *kernels = copse_blink_ordered_kernels_of(index);
    const copse_blink_ranks *ranks = &epoch->ranks;
    const bool before = atomic_load_explicit(&ranks->before_ready, memory_order_relaxed),
               sums = atomic_load_explicit(&ranks->sums_tried, memory_order_relaxed) && ranks->sums_fit,
               summary = atomic_load_explicit(&ranks->summary_ready, memory_order_relaxed);
    copse_ranks_check_arguments arguments = {.tree = epoch->view, .survey = survey};
    copse_status status = COPSE_OK;
    if (before) arguments.before = ranks->before;
    if (sums) arguments.sums = ranks->sums;
    if (summary) arguments.summary = ranks->summary.summary;
    if (before || sums)
        status = copse_device_launch(device, device->main, &kernels->verify_base_leaves,
                                     copse_device_blocks(device, anchor_count(epoch)), &arguments);
    if (status == COPSE_OK && summary)
        status = copse_device_launch(device, device->main, &kernels->verify_summary,
                                     copse_device_blocks(device, arguments.summary.nodes[0] * 32), &arguments);
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
