/* The paged tree on a device: inspection, the table of calls, the description. */
#include "trees/paged/hybrid.h"
#include "core/widths.h"
#include "cpu/driver.h"
#include "gpu/scan.h"
#include "trees/paged/visit.h"

static copse_status paged_create(copse_index *index)
{
    copse_paged *tree = NULL;
    copse_status status = COPSE_OK;
    if (!index->device) status = copse_device_get(index->ctx, index->placement, &index->device); /* hybrid */
    if (status != COPSE_OK) return status;
    status = copse_paged_make(index, index->page_order ? index->page_order : COPSE_PAGED_SLOTS_SMALL, &tree);
    index->tree = tree;
    return status;
}

static void paged_destroy(copse_index *index)
{
    copse_paged_free(index, index->tree);
}

static uint64_t paged_size(const copse_index *index)
{
    return copse_paged_of(index)->view.entries;
}

static void paged_stats(const copse_index *index, copse_stats *out)
{
    copse_paged *tree = copse_paged_of(index);
    const copse_paged_pool *pool = &tree->pool;
    const uint64_t entries = tree->view.entries;
    pthread_mutex_lock(&tree->lock); /* a reader may be making ranks */
    out->entries = entries;
    out->aggregate_bytes = (tree->before ? tree->before_bytes : 0) + (tree->summary.memory ? tree->summary.bytes : 0);
    out->bytes = sizeof *tree + pool->pages * pool->page_bytes + pool->stack_room * sizeof *pool->stack +
                 pool->slab_room * sizeof *pool->slabs + tree->directory.bytes + tree->host_levels.bytes +
                 out->aggregate_bytes;
    out->height = entries ? tree->view.levels.height + 1 : 0;
    out->fill = entries ? (double)entries / ((double)tree->view.rows * tree->view.slots) : 0.0;
    pthread_mutex_unlock(&tree->lock);
}

/* --- verify ---------------------------------------------------------------------------------------------------------------------- */

static copse_status check_launch(const copse_index *index, copse_device_survey *survey)
{
    copse_device *device = index->device;
    const copse_paged *tree = copse_paged_of(index);
    copse_paged_check_arguments arguments = {.tree = tree->view,
                                             .summary = tree->summary.summary,
                                             .has_summary = tree->summary.memory != NULL,
                                             .survey = survey};
    arguments.tree.before = tree->before;
    copse_status status = copse_device_launch(device, device->main, &copse_paged_kernels_of(index)->check,
                                              copse_device_blocks(device, (uint64_t)tree->view.rows * 32), &arguments);
    const copse_levels_source source = {
        .children = tree->view.rows, .keys = tree->view.highs, .stride = copse_type_size(index->key_type)};
    copse_levels_memory levels = {0};
    for (uint32_t l = 0; l < COPSE_LEVELS_MOST; l++) levels.nodes[l] = tree->directory.nodes[l];
    if (status == COPSE_OK) status = copse_device_levels_verify(index, &source, &tree->view.levels, &levels, survey);
    return status;
}

static copse_status check_result(const copse_index *index, const copse_device_survey *seen)
{
    static const char *const sentences[] = {"the keys of page %llu are not in order, or not within its bounds",
                                            "page %llu has wrong ends or separators, or a free slot that is not padded",
                                            "separator %llu of a level is wrong",
                                            "the ranks or aggregates at %llu do not agree with the pages"};
    char what[96];
    const uint64_t entries = copse_paged_of(index)->view.entries;
    for (unsigned i = 0; i < sizeof sentences / sizeof *sentences; i++) {
        if (seen->trouble[i] == UINT64_MAX) continue;
        (void)snprintf(what, sizeof what, sentences[i], (unsigned long long)seen->trouble[i]);
        return copse_fail(index->ctx, COPSE_ERR_CORRUPT, "paged tree: %s", what);
    }
    if (seen->count == entries) return COPSE_OK;
    return copse_fail(index->ctx, COPSE_ERR_CORRUPT, "paged tree: its pages have %llu entries, but it should have %llu",
                      (unsigned long long)seen->count, (unsigned long long)entries);
}

static copse_status paged_verify(const copse_index *index)
{
    copse_device *device = index->device;
    copse_paged *tree = copse_paged_of(index);
    copse_device_survey *survey = NULL, seen;
    copse_status status = copse_progress(index->ctx, "verifying", 0, tree->view.entries);
    if (status == COPSE_OK) status = copse_device_survey_make(device, &survey);
    if (status != COPSE_OK) return status;
    pthread_mutex_lock(&tree->lock);
    status = check_launch(index, survey);
    if (status == COPSE_OK) status = copse_device_survey_read(device, survey, &seen);
    pthread_mutex_unlock(&tree->lock);
    copse_device_survey_free(device, survey);
    return status == COPSE_OK ? check_result(index, &seen) : status;
}

/* --- calls ----------------------------------------------------------------------------------------------------------------------- */

static copse_status paged_scan(const copse_index *index, copse_scan *scan)
{
    return copse_gpu_scan(index, scan, copse_paged_entries);
}

/* One table serves cards, the emulator and every pair of widths: what depends on those is in the kernels. */
static const copse_calls paged_calls = {
    .create = paged_create,
    .destroy = paged_destroy,
    .build = copse_paged_build,
    .insert = copse_paged_insert,
    .erase = copse_paged_erase,
    .erase_pairs = copse_paged_erase_pairs,
    .erase_range = copse_paged_erase_range,
    .apply = copse_paged_apply,
    .find = copse_paged_find,
    .neighbours = copse_paged_neighbours,
    .count = copse_paged_count,
    .range = copse_paged_range,
    .aggregate = copse_paged_aggregate,
    .select = copse_paged_select,
    .scan = paged_scan,
    .scan_step = COPSE_GPU_SCAN_STEP,
    .visit = copse_paged_visit,
    .visit_in_place = copse_paged_visit_in_place,
    .pages = copse_paged_pages,
    .size = paged_size,
    .stats = paged_stats,
    .verify = paged_verify,
};

COPSE_DECLARE_WIDTHS(const copse_cpu_tree, copse_paged_cpu);
COPSE_DECLARE_WIDTHS(const copse_paged_walks, copse_paged_walks);

const copse_tree_description copse_tree_paged = {
    .structure = COPSE_STRUCTURE_PAGED,
    .name = "paged",
    .summary = "large pages: updates of any pattern, appends in full pages, visits",
    .capabilities = COPSE_CAPABILITY(COPSE_CAN_RANK) | COPSE_CAPABILITY(COPSE_CAN_KEEP_DUPLICATES) |
                    COPSE_CAPABILITY(COPSE_CAN_AGGREGATE),
    .counterpart = COPSE_STRUCTURE_REGULAR,
    .at =
        (const copse_tree_at[]){
            {COPSE_PLACEMENT_CPU, 0, &copse_cpu_calls, (const void *const[])COPSE_WIDTH_ROW(copse_paged_cpu)},
            {COPSE_PLACEMENT_GPU, COPSE_AUTO_STREAMED, &paged_calls, NULL},
            {COPSE_PLACEMENT_EMULATED, COPSE_AUTO_STREAMED, &paged_calls, NULL},
            {COPSE_PLACEMENT_HYBRID, 0, &paged_calls, (const void *const[])COPSE_WIDTH_ROW(copse_paged_walks)},
            {COPSE_PLACEMENT_HYBRID_EMULATED, 0, &paged_calls, (const void *const[])COPSE_WIDTH_ROW(copse_paged_walks)},
            {0}},
};
