/* The B-link and the B+ tree on a device: handles, inspection, the table of calls, the descriptions. */
#include "trees/blink/tree.h"
#include "gpu/scan.h"
#include "trees/blink/update/strategies.h"

#include <string.h>

/* Nanoseconds in which an update on a card may map memory ahead: not more than the kernels of a large one take. The emulator has
 * nothing to map. */
#define PREALLOCATE_MOST UINT64_C(400000)

/* --- handles ------------------------------------------------------------------------------------------------------------------ */

static copse_status handle_make(copse_index *index, copse_blink *tree)
{
    copse_blink_handle *handle = copse_memory_alloc(index->ctx, sizeof *handle);
    if (!handle) return copse_fail_memory(index->ctx, sizeof *handle, "the index");
    *handle = (copse_blink_handle){.tree = tree};
    index->tree = handle;
    return COPSE_OK;
}

static copse_status blink_create(copse_index *index)
{
    const copse_device_pairs none = {.key_type = copse_device_pairs_type(index), .unique = true};
    copse_blink *tree = copse_memory_alloc(index->ctx, sizeof *tree);
    if (!tree) return copse_fail_memory(index->ctx, sizeof *tree, "the tree");
    memset(tree, 0, sizeof *tree);
    tree->owner = *index;
    tree->handles = 1;
    if (index->device->backend->placement == COPSE_PLACEMENT_GPU) tree->tuning.preallocate_most = PREALLOCATE_MOST;
    copse_status status = copse_blink_strategy_asked(index->ctx, &tree->tuning.forced);
    if (status == COPSE_OK) status = handle_make(index, tree);
    if (status == COPSE_OK) status = copse_blink_fill(index, &none, &tree->current);
    if (status == COPSE_OK) {
        pthread_mutex_init(&tree->writer, NULL);
        pthread_mutex_init(&tree->lock, NULL);
        index->version = &tree->version;
        copse_ctx_hold(tree->owner.ctx); /* handles through other contexts may outlive the first one */
        return COPSE_OK;
    }
    if (index->tree) copse_memory_free(index->ctx, index->tree, sizeof(copse_blink_handle));
    copse_memory_free(index->ctx, tree, sizeof *tree);
    index->tree = NULL;
    return status;
}

static void blink_destroy(copse_index *index)
{
    copse_blink_handle *handle = copse_blink_handle_of(index);
    copse_blink *tree = handle->tree;
    pthread_mutex_lock(&tree->lock);
    copse_blink_epoch *gone = handle->frozen;
    if (gone) {
        gone->frozen--;
        if (--gone->holders != 0 || gone == tree->current) gone = NULL;
    }
    if (handle->view) tree->views--;
    const bool last = --tree->handles == 0;
    pthread_mutex_unlock(&tree->lock);
    copse_memory_free(index->ctx, handle, sizeof *handle);
    /* Kernels of a frozen handle's calls may still run on its stream. */
    if (index->device != tree->owner.device) (void)copse_device_wait(index->device, index->device->main);
    copse_blink_epoch_free(&tree->owner, gone);
    if (!last) return;
    copse_blink_epoch_free(&tree->owner, tree->current);
    copse_blink_tables_free(tree);
    pthread_mutex_destroy(&tree->writer);
    pthread_mutex_destroy(&tree->lock);
    copse_ctx *ctx = tree->owner.ctx;
    copse_memory_free(ctx, tree, sizeof *tree);
    copse_ctx_release(ctx);
}

static copse_status blink_share(const copse_index *index, copse_index *other, bool frozen)
{
    const copse_blink_handle *handle = copse_blink_handle_of(index);
    copse_blink *tree = handle->tree;
    /* Kernels on the other handle's stream must see what this handle's stream has written. */
    copse_status status = copse_device_wait(index->device, index->device->main);
    if (status == COPSE_OK) status = handle_make(other, tree);
    if (status != COPSE_OK) return status;
    copse_blink_handle *made = copse_blink_handle_of(other);
    pthread_mutex_lock(&tree->writer); /* a frozen handle shows the tree before or after an update, never in between */
    pthread_mutex_lock(&tree->lock);
    tree->handles++;
    made->frozen = handle->frozen ? handle->frozen : frozen ? tree->current : NULL;
    made->view = !made->frozen;
    if (made->view) tree->views++;
    if (made->frozen) {
        made->frozen->holders++;
        made->frozen->frozen++;
    }
    pthread_mutex_unlock(&tree->lock);
    pthread_mutex_unlock(&tree->writer);
    return COPSE_OK;
}

/* --- inspection ----------------------------------------------------------------------------------------------------------------- */

/* Entries of an epoch, and leaves in use, as they are at one moment. */
static void sizes_of(const copse_index *index, const copse_blink_epoch *epoch, uint64_t *entries, uint64_t *leaves)
{
    copse_blink *tree = copse_blink_handle_of(index)->tree;
    pthread_mutex_lock(&tree->lock);
    *entries = epoch->view.entries;
    *leaves = epoch->view.base_leaves + epoch->pool_taken;
    pthread_mutex_unlock(&tree->lock);
}

static uint64_t blink_size(const copse_index *index)
{
    uint64_t entries, leaves;
    copse_blink_epoch *epoch = copse_blink_enter(index);
    sizes_of(index, epoch, &entries, &leaves);
    copse_blink_leave(index, epoch);
    return entries;
}

static void blink_stats(const copse_index *index, copse_stats *out)
{
    uint64_t leaves;
    copse_blink *tree = copse_blink_handle_of(index)->tree;
    pthread_mutex_lock(&tree->writer); /* the pool may be growing */
    copse_blink_epoch *epoch = copse_blink_enter(index);
    sizes_of(index, epoch, &out->entries, &leaves);
    out->aggregate_bytes = copse_blink_ranks_bytes(&epoch->ranks);
    out->bytes = sizeof(copse_blink) + copse_blink_epoch_bytes(epoch) + out->aggregate_bytes + tree->table_bytes;
    out->height = out->entries ? epoch->view.levels.height + 1 : 0;
    out->fill = out->entries ? (double)out->entries / (double)(leaves * copse_blink_slots(index)) : 0.0;
    copse_blink_leave(index, epoch);
    pthread_mutex_unlock(&tree->writer);
}

/* --- verify ---------------------------------------------------------------------------------------------------------------------- */

/* Memory that the checks use. */
typedef struct checker {
    copse_blink_check_arguments arguments;
    uint64_t high_bytes, seen_bytes;
} checker;

static copse_status check_launch(const copse_index *index, copse_blink_epoch *epoch, checker *c)
{
    copse_device *device = index->device;
    const copse_blink_kernels *kernels = copse_blink_kernels_of(index);
    const copse_blink_tree *tree = &epoch->view;
    const uint64_t anchors = copse_blink_anchors(tree), blocks = copse_device_blocks(device, anchors);
    const size_t key = copse_type_size(index->key_type);
    void *highs = NULL, *seen_leaves = NULL;
    c->high_bytes = (anchors + tree->base_leaves) * key;
    c->seen_bytes = ((uint64_t)tree->pool_leaves + 1) * sizeof(uint32_t);
    copse_status status = copse_device_alloc(device, device->main, c->high_bytes, "the check", &highs);
    if (status == COPSE_OK) status = copse_device_alloc(device, device->main, c->seen_bytes, "the check", &seen_leaves);
    c->arguments.highs = highs;
    c->arguments.separators = (char *)highs + anchors * key;
    c->arguments.base_leaves = seen_leaves;
    if (status == COPSE_OK) status = copse_device_fill(device, device->main, seen_leaves, 0, c->seen_bytes);
    if (status == COPSE_OK)
        status = copse_device_launch(device, device->main, &kernels->check_highs, blocks, &c->arguments);
    if (status == COPSE_OK)
        status = copse_device_launch(device, device->main, &kernels->check_leaves, blocks, &c->arguments);
    if (status != COPSE_OK) return status;
    copse_levels_source source = {.children = tree->base_leaves, .keys = c->arguments.separators, .stride = key};
    return copse_device_levels_verify(index, &source, &tree->levels, &epoch->levels, c->arguments.survey);
}

static copse_status check_result(const copse_index *index, const copse_blink_epoch *epoch,
                                 const copse_device_survey *seen)
{
    static const char *const sentences[] = {"the keys of leaf %llu are not in order, or not within its bounds",
                                            "leaf %llu has a wrong state, or a free slot that is not padded",
                                            "separator %llu of a level is wrong",
                                            "the leaves of base leaf %llu are not linked as they should be"};
    char what[96];
    for (unsigned i = 0; i < sizeof sentences / sizeof *sentences; i++) {
        if (seen->trouble[i] == UINT64_MAX) continue;
        (void)snprintf(what, sizeof what, sentences[i], (unsigned long long)seen->trouble[i]);
        return copse_fail(index->ctx, COPSE_ERR_CORRUPT, "%s tree: %s",
                          copse_structure_name(index->description->structure), what);
    }
    if (seen->count == epoch->view.entries) return COPSE_OK;
    return copse_fail(index->ctx, COPSE_ERR_CORRUPT, "%s tree: its leaves have %llu entries, but it should have %llu",
                      copse_structure_name(index->description->structure), (unsigned long long)seen->count,
                      (unsigned long long)epoch->view.entries);
}

static copse_status check(const copse_index *index, copse_blink_epoch *epoch)
{
    copse_device *device = index->device;
    checker c = {.arguments = {.tree = epoch->view}};
    copse_device_survey seen;
    copse_status status = copse_device_survey_make(device, &c.arguments.survey);
    if (status != COPSE_OK) return status;
    status = check_launch(index, epoch, &c);
    if (status == COPSE_OK) status = copse_device_survey_read(device, c.arguments.survey, &seen);
    copse_device_free(device, device->main, c.arguments.highs, c.high_bytes);
    copse_device_free(device, device->main, c.arguments.base_leaves, c.seen_bytes);
    copse_device_survey_free(device, c.arguments.survey);
    return status == COPSE_OK ? check_result(index, epoch, &seen) : status;
}

static copse_status blink_verify(const copse_index *index)
{
    copse_blink *tree = copse_blink_handle_of(index)->tree;
    copse_status status = copse_progress(index->ctx, "verifying", 0, 0);
    if (status != COPSE_OK) return status;
    pthread_mutex_lock(&tree->writer);
    copse_blink_epoch *epoch = copse_blink_enter(index);
    status = check(index, epoch);
    if (status == COPSE_OK) status = copse_blink_verify_ranks(index, epoch);
    copse_blink_leave(index, epoch);
    pthread_mutex_unlock(&tree->writer);
    return status;
}

/* --- calls ----------------------------------------------------------------------------------------------------------------------- */

static copse_status blink_scan(const copse_index *index, copse_scan *scan)
{
    return copse_gpu_scan(index, scan, copse_blink_entries);
}

/* One table serves both trees, cards, the emulator and every pair of widths: what depends on those is in the kernels. */
static const copse_calls blink_calls = {
    .create = blink_create,
    .destroy = blink_destroy,
    .build = copse_blink_build,
    .insert = copse_blink_insert,
    .erase = copse_blink_erase,
    .erase_pairs = copse_blink_erase_pairs,
    .erase_range = copse_blink_erase_range,
    .apply = copse_blink_apply,
    .find = copse_blink_find,
    .neighbours = copse_blink_neighbours,
    .count = copse_blink_count,
    .range = copse_blink_range,
    .aggregate = copse_blink_aggregate,
    .select = copse_blink_select,
    .scan = blink_scan,
    .scan_step = COPSE_GPU_SCAN_STEP,
    .share = blink_share,
    .size = blink_size,
    .stats = blink_stats,
    .verify = blink_verify,
};

#define CAPABILITIES                                                                                                   \
    (COPSE_CAPABILITY(COPSE_CAN_RANK) | COPSE_CAPABILITY(COPSE_CAN_VIEW) | COPSE_CAPABILITY(COPSE_CAN_FREEZE) |        \
     COPSE_CAPABILITY(COPSE_CAN_KEEP_DUPLICATES) | COPSE_CAPABILITY(COPSE_CAN_AGGREGATE))

const copse_tree_description copse_tree_blink = {
    .structure = COPSE_STRUCTURE_BLINK,
    .name = "blink",
    .summary = "for GPUs: batches of updates in place, concurrent readers",
    .capabilities = CAPABILITIES,
    .counterpart = COPSE_STRUCTURE_REGULAR,
    .at = (const copse_tree_at[]){{COPSE_PLACEMENT_GPU, COPSE_AUTO_UPDATES, &blink_calls, NULL},
                                  {COPSE_PLACEMENT_EMULATED, COPSE_AUTO_UPDATES, &blink_calls, NULL},
                                  {0}},
};

const copse_tree_description copse_tree_bplus = {
    .structure = COPSE_STRUCTURE_BPLUS,
    .name = "bplus",
    .summary = "as blink, without links between leaves: to compare",
    .capabilities = CAPABILITIES,
    .counterpart = COPSE_STRUCTURE_REGULAR,
    .at = (const copse_tree_at[]){{COPSE_PLACEMENT_GPU, 0, &blink_calls, NULL},
                                  {COPSE_PLACEMENT_EMULATED, 0, &blink_calls, NULL},
                                  {0}},
};
