/* Erasing by ranges where the entries are: update/erase_range.h. */
#include "trees/blink/update/strategies.h"
#include "core/closed_range.h"
#include "gpu/erase_range.h"
#include "gpu/scratch.h"
#include "primitives/primitives.h"
#include "transfer/transfer.h"

#include <string.h>

/* The ranges of a call that may hold entries, encoded. They are in order and apart. */
typedef struct encoded_ranges {
    uint64_t n;
    uint64_t low, first_high; /* ends of the first */
    uint64_t last_low, high;  /* ... and of the last  */
    char *lows, *highs;       /* in host memory; keys of the tree's width */
    size_t bytes;
} encoded_ranges;

static uint64_t end_at(const copse_index *index, const void *ends, uint64_t i)
{
    const bool four_bytes = copse_type_size(index->key_type) == 4;
    return copse_key_code(index->key_type, four_bytes ? ((const uint32_t *)ends)[i] : ((const uint64_t *)ends)[i]);
}

/* Leaves out what lies outside the keys of the epoch: so a window that slides does not come back to what it has left. */
static copse_status spans_take(const copse_index *index, const copse_blink_epoch *epoch, const copse_ranges *ranges,
                               encoded_ranges *out)
{
    const size_t width = copse_type_size(index->key_type);
    uint64_t from = 0, to = ranges->n;
    while (from < to && end_at(index, ranges->highs, from) < epoch->low) from++;
    while (to > from && end_at(index, ranges->lows, to - 1) > epoch->high) to--;
    *out = (encoded_ranges){.n = to - from, .bytes = copse_memory_product(to - from, 2 * width)};
    if (out->n == 0) return COPSE_OK;
    out->lows = copse_memory_alloc(index->ctx, out->bytes);
    if (!out->lows) return copse_fail_memory(index->ctx, out->bytes, "the ends of ranges");
    out->highs = out->lows + out->n * width;
    for (uint64_t i = from; i < to; i++) {
        uint64_t low = end_at(index, ranges->lows, i);
        const uint64_t high = end_at(index, ranges->highs, i);
        if (low < epoch->low) low = epoch->low;
        memcpy(out->lows + (i - from) * width, &low, width); /* little endian: the lower half of a shorter key */
        memcpy(out->highs + (i - from) * width, &high, width);
        if (i == from) out->low = low;
        if (i == from) out->first_high = high;
        out->last_low = low;
        out->high = high;
    }
    return COPSE_OK;
}

/* The bounds of the epoch's keys, once the ranges are empty. */
static void bounds_follow(copse_blink_epoch *epoch, const encoded_ranges *spans)
{
    if (spans->low == epoch->low && spans->first_high < epoch->high) {
        epoch->low = spans->first_high + 1;
        epoch->slides = true;
    }
    if (spans->high >= epoch->high && spans->last_low > epoch->low) epoch->high = spans->last_low - 1;
}

static copse_status launch(const copse_blink_update *u, const encoded_ranges *spans, copse_erase_arguments *arguments)
{
    const copse_index *index = u->index;
    copse_device *device = index->device;
    const copse_blink_kernels *kernels = copse_blink_kernels_of(index);
    const uint64_t lanes = 16, anchors = copse_blink_anchors(&u->epoch->view); /* of a leaf, at most */
    const uint64_t all = copse_device_blocks(device, anchors * lanes);
    const uint64_t most = (uint64_t)device->multiprocessors * COPSE_ERASE_BLOCKS;
    copse_status status =
        copse_transfer_to_device(device, (void *)(uintptr_t)arguments->lows, spans->lows, spans->bytes);
    if (status == COPSE_OK) status = copse_blink_counters_reset(index, u->epoch);
    if (status == COPSE_OK)
        status = copse_device_launch(device, device->main, &kernels->erase_bounds,
                                     copse_device_blocks(device, spans->n + 1), arguments);
    if (status == COPSE_OK)
        status = device->backend->primitives->scan_u64(device, device->main, arguments->anchors, arguments->anchors,
                                                       spans->n + 1);
    return status == COPSE_OK
               ? copse_device_launch(device, device->main, &kernels->erase_anchors, all < most ? all : most, arguments)
               : status;
}

static copse_status erase_spans(copse_blink_update *u, const encoded_ranges *spans)
{
    const copse_index *index = u->index;
    void *anchors = NULL, *ends = NULL, *firsts = NULL;
    const copse_scratch_array arrays[] = {
        {&anchors, (spans->n + 1) * sizeof(uint64_t)}, {&ends, spans->bytes}, {&firsts, spans->n * sizeof(uint32_t)}};
    copse_scratch scratch;
    copse_blink_counters seen;
    copse_status status = copse_scratch_take(index->device, "erasing ranges", arrays, 3, &scratch);
    if (status != COPSE_OK) return status;
    copse_erase_arguments arguments = {.tree = u->epoch->view,
                                       .lows = ends,
                                       .highs = (char *)ends + spans->bytes / 2,
                                       .n = spans->n,
                                       .anchors = anchors,
                                       .firsts = firsts,
                                       .shared = u->tree->views != 0,
                                       .touched = copse_blink_ranks_touched(u->epoch),
                                       .counters = u->epoch->counters};
    status = launch(u, spans, &arguments);
    if (status == COPSE_OK) status = copse_blink_counters_read(index, u->epoch, &seen);
    copse_scratch_free(index->device, &scratch);
    if (status != COPSE_OK) return status;
    bounds_follow(u->epoch, spans);
    return copse_blink_in_place_finish(u, &seen);
}

/* Declines where the leaves must not change, because a frozen handle shows them, or are led to by branches. */
static int erase_in_place(copse_blink_update *u, const copse_ranges *ranges)
{
    encoded_ranges spans = {0};
    u->epoch = u->tree->current;
    if (copse_blink_frozen(u) || u->epoch->view.branches) return COPSE_DECLINED;
    if (u->epoch->view.entries == 0) return COPSE_DONE;
    copse_status status = copse_progress(u->index->ctx, "erasing", 0, ranges->n);
    if (status == COPSE_OK) status = spans_take(u->index, u->epoch, ranges, &spans);
    if (status == COPSE_OK && spans.n) status = erase_spans(u, &spans);
    copse_memory_free(u->index->ctx, spans.lows, spans.bytes);
    return status;
}

copse_status copse_blink_erase_range(copse_index *index, const copse_ranges *ranges, uint64_t *out_erased)
{
    copse_blink_update u = {.index = index, .tree = copse_blink_handle_of(index)->tree, .erases = true};
    pthread_mutex_lock(&u.tree->writer);
    const int outcome = erase_in_place(&u, ranges);
    pthread_mutex_unlock(&u.tree->writer);
    if (outcome == COPSE_DECLINED) return copse_device_erase_range(index, ranges, out_erased);
    if (outcome == COPSE_DONE) *out_erased = u.changed;
    return (copse_status)outcome;
}
