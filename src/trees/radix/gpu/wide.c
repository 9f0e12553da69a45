/* Ranges of a radix tree on a device that have more entries than one thread goes along: their leaves become a list in key order, and each range is
 * an interval of it (copse_radix_list_arguments). It costs what those ranges have together, however many of them share it. */
#include "gpu/sort.h"
#include "primitives/primitives.h"
#include "trees/radix/gpu/tree.h"

/* Each level takes a wait of the host. Deeper trees are odd ones, and the host's. */
#define LEVELS_MOST 1024u

/* A list on its way. */
typedef struct levels {
    const copse_index *index;
    copse_radix_list_arguments *a;
    copse_radix_level level[LEVELS_MOST + 1];
    copse_scratch scratch[LEVELS_MOST + 1];
    uint32_t n;
} levels;

static copse_status launch(const copse_index *index, const copse_kernel *kernel, const copse_radix_list_arguments *a,
                           uint64_t n)
{
    copse_device *device = index->device;
    return copse_device_launch(device, device->main, kernel, copse_device_blocks(device, n), a);
}

/* Sums up n numbers, behind which there is a 0; *out_total: all of them. */
static copse_status sum_up(copse_device *device, uint64_t *numbers, uint64_t n, uint64_t *out_total)
{
    copse_status status = device->backend->primitives->scan_u64(device, device->main, numbers, numbers, n + 1);
    return status == COPSE_OK ? copse_device_read(device, device->main, out_total, numbers + n, sizeof *out_total)
                              : status;
}

/* --- the levels ------------------------------------------------------------------------------------------------------------- */

/* Which ranges are wide, and marks of nodes for them. */
static copse_status wide_find(const copse_index *index, copse_radix_list *list)
{
    const copse_radix_device *tree = copse_radix_device_of(index);
    const copse_kernel *kernel = &copse_radix_kernels_on(index->device)->wide;
    copse_device *device = index->device;
    copse_radix_list_arguments *a = &list->a;
    copse_scratch_array arrays[COPSE_RADIX_NODE256 + 2] = {{(void **)&a->wide_n, 2 * sizeof *a->wide_n}};
    for (uint32_t type = COPSE_RADIX_NODE2; type <= COPSE_RADIX_NODE256; type++)
        arrays[type] = (copse_scratch_array){(void **)&a->marks[type],
                                             (copse_radix_items_used(tree, type) / 16 + 1) * sizeof(uint32_t)};
    copse_status status =
        copse_scratch_take(device, "the wide ranges", arrays, COPSE_RADIX_NODE256 + 1, &list->scratch[0]);
    if (status == COPSE_OK)
        status = copse_device_fill(device, device->main, list->scratch[0].memory, 0, list->scratch[0].bytes);
    if (status == COPSE_OK) status = launch(index, kernel, a, a->asked.n);
    if (status == COPSE_OK) status = copse_device_read(device, device->main, &a->n, a->wide_n, sizeof a->n);
    const copse_scratch_array wide = {(void **)&a->wide, a->n * sizeof *a->wide};
    if (status == COPSE_OK) status = copse_scratch_take(device, "the wide ranges", &wide, 1, &list->scratch[1]);
    return status == COPSE_OK ? launch(index, kernel, a, a->asked.n) : status;
}

/* Memory for a level of n nodes, the next one. */
static copse_status level_open(levels *of, uint64_t n)
{
    copse_radix_level *level = &of->level[of->n];
    level->n = n;
    const copse_scratch_array arrays[] = {{(void **)&level->nodes, n * sizeof *level->nodes},
                                          {(void **)&level->kids, (n + 1) * sizeof *level->kids},
                                          {(void **)&level->leaves, n * sizeof *level->leaves}};
    return copse_scratch_take(of->index->device, "the wide ranges", arrays, 3, &of->scratch[of->n++]);
}

/* From one level to the next, which has *out_n nodes. */
static copse_status level_descend(levels *of, uint64_t *out_n)
{
    copse_device *device = of->index->device;
    const copse_kernel *descend = &copse_radix_kernels_on(device)->descend;
    copse_radix_list_arguments *a = of->a;
    a->level = of->level[of->n - 1];
    a->below = (copse_radix_level){0};
    copse_status status = launch(of->index, descend, a, a->level.n);
    if (status == COPSE_OK) status = sum_up(device, a->level.kids, a->level.n, out_n);
    if (status != COPSE_OK || *out_n == 0 || of->n > LEVELS_MOST) return status;
    status = level_open(of, *out_n);
    a->below = of->level[of->n - 1];
    return status == COPSE_OK ? launch(of->index, descend, a, a->level.n) : status;
}

/* *out_done: false where there are too many of them. */
static copse_status levels_make(levels *of, bool *out_done)
{
    copse_device *device = of->index->device;
    uint64_t n = 1;
    copse_status status = level_open(of, 1);
    if (status == COPSE_OK)
        status = copse_device_copy(device, device->main, of->level[0].nodes, &of->a->tree.root, sizeof(uint64_t));
    while (status == COPSE_OK && n && of->n <= LEVELS_MOST) status = level_descend(of, &n);
    *out_done = status == COPSE_OK && n == 0;
    return status;
}

/* One pass over all levels: up, which counts leaves, or down, which lists them. */
static copse_status levels_pass(levels *of, bool up)
{
    const copse_kernel *kernel = &copse_radix_kernels_on(of->index->device)->leaves_below;
    copse_radix_list_arguments *a = of->a;
    copse_status status = COPSE_OK;
    for (uint32_t i = 0; i < of->n && status == COPSE_OK; i++) {
        const uint32_t number = up ? of->n - 1 - i : i;
        a->level = of->level[number];
        a->below = number + 1 < of->n ? of->level[number + 1] : (copse_radix_level){0};
        status = launch(of->index, kernel, a, a->level.n);
    }
    return status;
}

static copse_status leaves_list(levels *of, copse_radix_list *list)
{
    copse_device *device = of->index->device;
    copse_radix_list_arguments *a = of->a;
    copse_radix_link *room = NULL;
    copse_status status = levels_pass(of, true);
    if (status == COPSE_OK)
        status = copse_device_read(device, device->main, &a->list_n, of->level[0].leaves, sizeof a->list_n);
    const copse_scratch_array array = {(void **)&room, a->list_n * sizeof *room};
    if (status == COPSE_OK) status = copse_scratch_take(device, "the wide ranges", &array, 1, &list->scratch[2]);
    if (status == COPSE_OK) /* the first leaf below the root has number 0 */
        status = copse_device_fill(device, device->main, of->level[0].leaves, 0, sizeof(uint64_t));
    a->list = room;
    return status == COPSE_OK ? levels_pass(of, false) : status;
}

/* --- the list --------------------------------------------------------------------------------------------------------------- */

/* What the ranges have. */
static copse_status wide_count(const copse_index *index, copse_radix_list *list)
{
    const copse_radix_kernels *kernels = copse_radix_kernels_on(index->device);
    copse_radix_list_arguments *a = &list->a;
    uint64_t bytes = 0;
    const bool rows = a->asked.sizes != NULL;
    const copse_scratch_array arrays[] = {{(void **)&a->lengths, rows ? (a->list_n + 1) * sizeof *a->lengths : 0},
                                          {(void **)&a->ends, rows ? (a->n + 1) * sizeof *a->ends : 0}};
    copse_status status = copse_scratch_take(index->device, "the wide ranges", arrays, 2, &list->scratch[3]);
    if (status == COPSE_OK && rows) status = launch(index, &kernels->lengths, a, a->list_n + 1);
    if (status == COPSE_OK && rows) status = sum_up(index->device, a->lengths, a->list_n, &bytes);
    if (status == COPSE_OK) status = launch(index, &kernels->wide_count, a, a->n);
    return status == COPSE_OK && rows ? sum_up(index->device, a->ends, a->n, &a->rows) : status;
}

void copse_radix_list_free(const copse_index *index, copse_radix_list *list)
{
    for (unsigned i = COPSE_RADIX_LIST_PARTS; i-- > 0;) copse_scratch_free(index->device, &list->scratch[i]);
}

copse_status copse_radix_list_make(const copse_index *index, const copse_radix_range_arguments *asked,
                                   copse_radix_list *out, bool *out_done)
{
    *out = (copse_radix_list){.a = {.tree = asked->tree, .asked = *asked, .type = index->value_type}};
    *out_done = false;
    levels *of = copse_memory_alloc(index->ctx, sizeof *of);
    if (!of) return copse_fail_memory(index->ctx, sizeof *of, "the wide ranges");
    memset(of, 0, sizeof *of);
    of->index = index;
    of->a = &out->a;
    copse_status status = wide_find(index, out);
    if (status == COPSE_OK) status = levels_make(of, out_done);
    if (status == COPSE_OK && *out_done) status = leaves_list(of, out);
    while (of->n) copse_scratch_free(index->device, &of->scratch[--of->n]);
    copse_memory_free(index->ctx, of, sizeof *of);
    return status == COPSE_OK && *out_done ? wide_count(index, out) : status;
}

copse_status copse_radix_list_rows(const copse_index *index, copse_radix_list *list, const uint64_t *offsets,
                                   const copse_radix_leaves *to)
{
    list->a.offsets = offsets;
    list->a.to = *to;
    return launch(index, &copse_radix_kernels_on(index->device)->wide_rows, &list->a, list->a.rows);
}

copse_status copse_radix_list_totals(const copse_index *index, copse_radix_list *list, copse_radix_total *results)
{
    const copse_radix_kernels *kernels = copse_radix_kernels_on(index->device);
    copse_radix_list_arguments *a = &list->a;
    copse_scratch_array arrays[COPSE_RADIX_TOTAL_LEVELS];
    unsigned n = 0;
    for (uint64_t items = a->list_n; items > COPSE_RADIX_TOTALED && n < COPSE_RADIX_TOTAL_LEVELS; n++) {
        items = (items + COPSE_RADIX_TOTALED - 1) / COPSE_RADIX_TOTALED;
        arrays[n] = (copse_scratch_array){(void **)&a->totals[n], items * sizeof **a->totals};
    }
    copse_status status = copse_scratch_take(index->device, "the wide ranges", arrays, n, &list->scratch[4]);
    a->rows = a->list_n;
    for (a->levels = 0; a->levels < n && status == COPSE_OK; a->levels++) {
        const uint64_t items = (a->rows + COPSE_RADIX_TOTALED - 1) / COPSE_RADIX_TOTALED;
        status = launch(index, &kernels->list_totals, a, items);
        a->rows = items;
    }
    a->results = results;
    return status == COPSE_OK ? launch(index, &kernels->wide_totals, a, a->n) : status;
}
