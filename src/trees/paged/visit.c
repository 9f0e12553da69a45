/* Visits of the paged tree on a device: one launch over its pages for each pass, in place or out into arrays. */
#include "trees/paged/visit.h"
#include "gpu/scratch.h"
#include "primitives/primitives.h"
#include "transfer/transfer.h"
#include "trees/paged/hybrid.h"

#include <string.h>

COPSE_PICK_KERNEL_ROW(copse_paged_visit_kernels)

static const copse_paged_visit_kernels *kernels_of(const copse_index *index)
{
    return copse_paged_visit_kernels_on(index->device, copse_device_pair(index));
}

/* A pass at work. */
typedef struct visit {
    const copse_index *index;
    copse_pass *pass;
    copse_paged_visit_arguments a;
    copse_scratch range;   /* keys and locations of the ends of a range, and the number of its entries */
    uint64_t *range_count; /* there; set where ranks are known */
    copse_scratch scratch; /* what the pass needs besides */
    copse_scratch out;     /* entries on their way to host memory */
} visit;

static copse_status launch(const visit *v, const copse_kernel *kernel)
{
    copse_device *device = v->index->device;
    return copse_device_launch(device, device->main, kernel, copse_device_blocks(device, (uint64_t)v->a.tree.rows * 32),
                               &v->a);
}

/* Where the range begins and ends, left in device memory: kernels read it there. */
static copse_status range_find(visit *v)
{
    const copse_index *index = v->index;
    copse_device *device = index->device;
    const size_t key = copse_type_size(index->key_type);
    void *low = NULL, *high = NULL, *found = NULL;
    if (!v->pass->low) return COPSE_OK;
    const copse_scratch_array arrays[] = {{&low, key}, {&high, key}, {&found, 3 * sizeof(uint64_t)}};
    copse_status status = copse_scratch_take(device, "a visit", arrays, 3, &v->range);
    if (status == COPSE_OK) status = copse_device_copy(device, device->main, low, v->pass->low, key);
    if (status == COPSE_OK) status = copse_device_copy(device, device->main, high, v->pass->high, key);
    if (status != COPSE_OK) return status;
    uint64_t *locations = found;
    v->range_count = locations + 2;
    copse_paged_range_arguments arguments = {.tree = v->a.tree};
    const copse_range_kernel bounds = {&copse_paged_kernels_of(index)->bounds, &arguments, &arguments.queries};
    const copse_range_queries queries = {.lows = low,
                                         .highs = high,
                                         .locations = locations,
                                         .ends = locations + 1,
                                         .counts = v->a.tree.before ? v->range_count : NULL};
    v->a.ends = locations;
    copse_scratch rows[2];
    status = copse_paged_range_rows(index, v->pass->low, v->pass->high, 1, &arguments, rows);
    if (status == COPSE_OK) status = copse_ranges_launch(index, device->main, &bounds, &queries, 1);
    copse_paged_range_rows_free(index, rows);
    return status;
}

/* --- reduce, histogram ---------------------------------------------------------------------------------------------------------- */

/* From halves of numbers that were moved up to the sum. */
static copse_wide sum_of(copse_type type, const copse_visit_partial *partial)
{
    const bool is_signed = type == COPSE_I32 || type == COPSE_I64;
    const copse_wide up = !is_signed ? 0 : (copse_wide)1 << (copse_type_size(type) * 8 - 1);
    const copse_wide low = (copse_wide)partial->low + ((copse_wide)partial->low_carry << 64);
    const copse_wide high = (copse_wide)partial->high + ((copse_wide)partial->high_carry << 64);
    return low + (high << 32) - up * (copse_wide)partial->count;
}

static copse_status reduce(visit *v)
{
    copse_device *device = v->index->device;
    void *memory = NULL;
    copse_visit_partial all;
    const uint64_t blocks = copse_device_blocks(device, (uint64_t)v->a.tree.rows * 32);
    const copse_scratch_array partials = {&memory, (blocks + 1) * sizeof all};
    copse_status status = copse_scratch_take(device, "a visit", &partials, 1, &v->scratch);
    if (status != COPSE_OK) return status;
    v->a.look = v->pass->look;
    v->a.mean = v->pass->mean;
    v->a.result = memory;
    v->a.partials = v->a.result + 1;
    v->a.partial_count = (uint32_t)blocks;
    status = launch(v, &kernels_of(v->index)->reduce);
    if (status == COPSE_OK) status = copse_device_launch(device, device->main, &kernels_of(v->index)->finish, 1, &v->a);
    if (status == COPSE_OK) status = copse_device_read(device, device->main, &all, memory, sizeof all);
    if (status != COPSE_OK) return status;
    const bool sums = v->pass->look & COPSE_LOOK_SUM && !copse_type_is_float(v->pass->value_type);
    const copse_pass_sums found = {
        {sums ? sum_of(v->pass->value_type, &all) : 0, all.real, all.smallest, all.largest}, all.squares, all.count};
    copse_pass_sums_merge(&v->pass->sums, &found);
    v->pass->n = all.count;
    return COPSE_OK;
}

/* The edges as values of the index's width. */
static copse_status edges_copy(const visit *v, void *to)
{
    copse_device *device = v->index->device;
    const copse_pass *pass = v->pass;
    const uint64_t n = (uint64_t)pass->bins + 1, bytes = n * sizeof(uint32_t);
    if (copse_value_width(v->index->value_type) == sizeof(uint64_t))
        return copse_transfer_to_device(device, to, pass->edges, n * sizeof(uint64_t));
    uint32_t *edges = copse_memory_alloc(v->index->ctx, bytes);
    if (!edges) return copse_fail_memory(v->index->ctx, bytes, "the visit");
    for (uint64_t i = 0; i < n; i++) edges[i] = (uint32_t)pass->edges[i];
    copse_status status = copse_transfer_to_device(device, to, edges, bytes);
    if (status == COPSE_OK) status = copse_device_wait(device, device->main);
    copse_memory_free(v->index->ctx, edges, bytes);
    return status;
}

static copse_status histogram(visit *v)
{
    copse_device *device = v->index->device;
    const uint32_t places = v->pass->bins + COPSE_BINS_OUTSIDE;
    void *edges = NULL, *counts = NULL;
    const copse_scratch_array arrays[] = {{&edges, (v->pass->bins + 1) * sizeof(uint64_t)},
                                          {&counts, places * sizeof(uint64_t)}};
    copse_status status = copse_scratch_take(device, "a visit", arrays, 2, &v->scratch);
    if (status == COPSE_OK) status = copse_device_fill(device, device->main, counts, 0, places * sizeof(uint64_t));
    if (status == COPSE_OK) status = edges_copy(v, edges);
    v->a.edges = edges;
    v->a.bins = v->pass->bins;
    v->a.even = v->pass->even;
    v->a.counts = counts;
    if (status == COPSE_OK) status = launch(v, &kernels_of(v->index)->histogram);
    if (status == COPSE_OK) status = copse_transfer_to_host(device, v->pass->counts, counts, places * sizeof(uint64_t));
    if (status == COPSE_OK) status = copse_device_wait(device, device->main);
    for (uint32_t i = 0; i < places && status == COPSE_OK; i++) v->pass->n += v->pass->counts[i];
    return status;
}

/* --- map, filter ---------------------------------------------------------------------------------------------------------------- */

/* Where n entries go: the caller's device arrays, or room for those of the caller's that are host memory. */
static copse_status out_open(visit *v, uint64_t n)
{
    const copse_pass *pass = v->pass;
    void *keys = pass->keys, *values = pass->values;
    const uint64_t key_bytes = keys && !pass->keys_there ? n * copse_type_size(v->index->key_type) : 0;
    const uint64_t value_bytes = values && !pass->values_there ? n * copse_value_width(v->index->value_type) : 0;
    const copse_scratch_array arrays[] = {{&keys, key_bytes}, {&values, value_bytes}};
    copse_status status = COPSE_OK;
    if (key_bytes || value_bytes) status = copse_scratch_take(v->index->device, "a visit", arrays, 2, &v->out);
    v->a.out_keys = keys;
    v->a.out_values = values;
    return status;
}

static copse_status out_close(const visit *v, uint64_t n)
{
    copse_device *device = v->index->device;
    const copse_pass *pass = v->pass;
    copse_status status = COPSE_OK;
    if (pass->keys && !pass->keys_there)
        status = copse_transfer_to_host(device, pass->keys, v->a.out_keys, n * copse_type_size(v->index->key_type));
    if (status == COPSE_OK && pass->values && !pass->values_there)
        status =
            copse_transfer_to_host(device, pass->values, v->a.out_values, n * copse_value_width(v->index->value_type));
    return status == COPSE_OK ? copse_device_wait(device, device->main) : status;
}

static copse_status map(visit *v)
{
    copse_device *device = v->index->device;
    copse_status status = COPSE_OK;
    v->pass->n = v->a.tree.entries;
    if (v->range_count)
        status = copse_device_read(device, device->main, &v->pass->n, v->range_count, sizeof v->pass->n);
    if (status == COPSE_OK) status = copse_pass_room(v->index->ctx, v->pass);
    if (status != COPSE_OK || !copse_pass_writes(v->pass)) return status;
    status = out_open(v, v->pass->n);
    if (status == COPSE_OK) status = launch(v, &kernels_of(v->index)->map);
    return status == COPSE_OK ? out_close(v, v->pass->n) : status;
}

/* Sums over the rows of how many entries fit; rows outside the range have none. */
static copse_status filter_count(visit *v)
{
    copse_device *device = v->index->device;
    const uint64_t rows = v->a.tree.rows;
    void *memory = NULL;
    const copse_scratch_array fit = {&memory, (rows + 1) * sizeof(uint64_t)};
    copse_status status = copse_scratch_take(device, "a visit", &fit, 1, &v->scratch);
    if (status != COPSE_OK) return status;
    v->a.row_fit = memory;
    status = copse_device_fill(device, device->main, memory, 0, fit.bytes);
    if (status == COPSE_OK) status = launch(v, &kernels_of(v->index)->filter);
    if (status == COPSE_OK)
        status = device->backend->primitives->scan_u64(device, device->main, memory, memory, rows + 1);
    if (status == COPSE_OK)
        status = copse_device_read(device, device->main, &v->pass->n, v->a.row_fit + rows, sizeof v->pass->n);
    return status;
}

static copse_status filter(visit *v)
{
    copse_pass *pass = v->pass;
    v->a.least = pass->least;
    v->a.greatest = pass->greatest;
    copse_status status = filter_count(v);
    if (status == COPSE_OK) status = copse_pass_room(v->index->ctx, pass);
    const uint64_t n = pass->n < pass->most ? pass->n : pass->most;
    if (status != COPSE_OK || !copse_pass_writes(pass) || n == 0) return status;
    v->a.most = n;
    v->a.writes = 1;
    status = out_open(v, n);
    if (status == COPSE_OK) status = launch(v, &kernels_of(v->index)->filter);
    return status == COPSE_OK ? out_close(v, n) : status;
}

/* --- calls ------------------------------------------------------------------------------------------------------------------------ */

static void visit_end(visit *v)
{
    copse_scratch_free(v->index->device, &v->range);
    copse_scratch_free(v->index->device, &v->scratch);
    copse_scratch_free(v->index->device, &v->out);
}

static copse_status visit_begin(visit *v, bool ranks)
{
    v->pass->n = 0;
    v->a.tree = copse_paged_of(v->index)->view;
    v->a.map = v->pass->map;
    v->a.a = v->pass->a;
    v->a.b = v->pass->b;
    copse_status status = ranks ? copse_paged_ranks(v->index, &v->a.tree) : COPSE_OK;
    return status == COPSE_OK ? range_find(v) : status;
}

copse_status copse_paged_visit(const copse_index *index, copse_pass *pass)
{
    static copse_status (*const run[])(visit *) = {map, reduce, histogram, filter}; /* by kind */
    visit v = {.index = index, .pass = pass};
    copse_status status = visit_begin(&v, pass->kind == COPSE_PASS_MAP);
    if (status == COPSE_OK && v.a.tree.entries) status = run[pass->kind](&v);
    visit_end(&v);
    return status;
}

/* Nothing of it can fail for want of memory once the range is known, and it is the kernel alone that changes something. */
copse_status copse_paged_visit_in_place(copse_index *index, copse_pass *pass)
{
    copse_device *device = index->device;
    copse_paged *tree = copse_paged_of(index);
    visit v = {.index = index, .pass = pass};
    copse_status status = visit_begin(&v, pass->low != NULL);
    pass->n = v.a.tree.entries;
    if (status == COPSE_OK && v.range_count)
        status = copse_device_read(device, device->main, &pass->n, v.range_count, sizeof pass->n);
    if (status == COPSE_OK && pass->n) {
        atomic_store_explicit(&tree->summary_ready, false, memory_order_relaxed);
        copse_device_summary_free(device, &tree->summary);
        status = launch(&v, &kernels_of(index)->change);
    }
    if (status == COPSE_OK) status = copse_device_wait(device, device->main);
    visit_end(&v);
    return status;
}

copse_status copse_paged_pages(const copse_index *index, copse_page_table *out)
{
    const copse_paged_tree *view = &copse_paged_of(index)->view;
    copse_status status = copse_device_wait(index->device, index->device->main); /* for a kernel on another stream */
    out->pages = view->rows;
    out->entries = view->entries;
    out->slots = view->slots;
    out->leaf_slots = view->slots / view->leaves;
    out->ends_at = view->ends_at;
    out->keys_at = view->keys_at;
    out->values_at = view->values_at;
    out->addresses = view->pages;
    out->counts = view->counts;
    return status;
}
