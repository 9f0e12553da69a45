/* New epochs of the B-link and the B+ tree by tiles that do not wait for each other: rebuild/tile_independent.h. */
#include "trees/blink/rebuild/rebuild.h"

/* A tree with fewer base leaves is rebuilt otherwise. */
#define LEAST_BASE_LEAVES 256u

/* Is the batch eligible? Its operations insert or replace, and are all of one kind. */
static bool may_be_independent(const copse_rebuilder *p)
{
    const copse_rebuild_arguments *arguments = &p->arguments;
    const copse_blink_operations *operations = &arguments->operations;
    return copse_rebuild_inserts_most(p) != 0 && !operations->gone && !operations->row &&
           operations->action != COPSE_ACTION_ERASE && arguments->from.unique &&
           arguments->from.base_leaves >= LEAST_BASE_LEAVES && arguments->from.directory_entries == 0;
}

/*
 * Chooses how many leaves of the new epoch go with an entry, or a base leaf, and with an operation: as many as in a
 * tree that was just built, if as many of the keys are new as were last time. Returns how many that makes in all.
 */
static uint64_t independent_base_leaves(copse_rebuilder *p, bool listed)
{
    copse_rebuild_arguments *arguments = &p->arguments;
    const uint64_t base_leaves = arguments->from.base_leaves, entries = arguments->from.entries;
    const double leaves = 2.0 * (1u << COPSE_LEAVES_BITS) / (double)copse_blink_packed_two(p->index);
    arguments->leaves_per_base_leaf = (uint64_t)((double)entries / (double)base_leaves * leaves);
    arguments->leaves_per_entry = (uint64_t)leaves;
    arguments->leaves_per_operation = (uint64_t)(leaves * (256 - p->known) / 256);
    return ((listed ? entries * arguments->leaves_per_entry : base_leaves * arguments->leaves_per_base_leaf) +
            arguments->operations.n * arguments->leaves_per_operation) >>
           COPSE_LEAVES_BITS;
}

static uint64_t tiles_of(const copse_rebuilder *p, uint64_t leaves)
{
    return (leaves + p->arguments.tile_base_leaves - 1) / p->arguments.tile_base_leaves;
}

/* Lists all leaves. The kernels find out how many there are; the host only knows how many at most. */
static copse_status lists_make(copse_rebuilder *p)
{
    copse_device *device = p->index->device;
    copse_rebuild_arguments *arguments = &p->arguments;
    const uint64_t each = COPSE_LIST_THREADS * COPSE_LIST_EACH,
                   blocks = (arguments->from.base_leaves + each - 1) / each;
    arguments->leaves = (uint32_t)(arguments->from.base_leaves + p->pool_taken);
    arguments->tiles = (uint32_t)tiles_of(p, arguments->leaves);
    copse_status status = copse_rebuild_take_totals(p, blocks);
    if (status == COPSE_OK)
        status = copse_rebuild_take(p, COPSE_REBUILD_ORDER, (uint64_t)arguments->leaves * sizeof *arguments->order);
    if (status == COPSE_OK)
        status = copse_rebuild_take(p, COPSE_REBUILD_BEFORE, (uint64_t)arguments->tiles * sizeof *arguments->before);
    if (status != COPSE_OK) return status;
    arguments->order = p->scratch[COPSE_REBUILD_ORDER].memory;
    arguments->before = p->scratch[COPSE_REBUILD_BEFORE].memory;
    return copse_device_launch(device, device->main, &copse_blink_kernels_of(p->index)->base_leaf_lists, blocks,
                               arguments);
}

/* Lists nothing: tiles have neighbouring base leaves. */
static copse_status base_leaves_take(copse_rebuilder *p)
{
    p->arguments.tiles = (uint32_t)tiles_of(p, p->arguments.from.base_leaves);
    return copse_rebuild_take_totals(p, 0);
}

/* Finds the borders of the tiles. */
static copse_status edges_make(copse_rebuilder *p)
{
    const uint64_t edges = (uint64_t)p->arguments.tiles + 1;
    copse_status status = copse_rebuild_take(p, COPSE_REBUILD_STARTS, edges * sizeof *p->arguments.edges);
    p->arguments.edges = p->scratch[COPSE_REBUILD_STARTS].memory;
    return status == COPSE_OK ? copse_rebuild_launch(p, &copse_blink_kernels_of(p->index)->tile_edges, edges) : status;
}

/* Frees what only the kernels need. */
static void independent_drop(copse_rebuilder *p)
{
    for (unsigned i = 0; i < COPSE_REBUILD_LAST; i++) copse_rebuild_drop(p, i);
    p->arguments.order = NULL;
    p->arguments.before = NULL;
}

/* Fills the new epoch, with tiles of so many base leaves, or leaves where `listed`; and waits for it. */
static copse_status independent(copse_rebuilder *p, uint32_t tile, bool listed, copse_rebuild_totals *out)
{
    copse_device *device = p->index->device;
    p->arguments.tile_base_leaves = tile;
    copse_status status = listed ? lists_make(p) : base_leaves_take(p);
    if (status == COPSE_OK) status = edges_make(p);
    /* No more blocks than run at a time: a warp fetches its next tile while it stores one. */
    const uint64_t warps = COPSE_KERNEL_THREADS / 32, all = (p->arguments.tiles + warps - 1) / warps;
    const uint64_t most = (uint64_t)device->multiprocessors * COPSE_INDEPENDENT_BLOCKS;
    if (status == COPSE_OK)
        status = copse_device_launch(device, device->main, &copse_blink_kernels_of(p->index)->tile_independent,
                                     all < most ? all : most, &p->arguments);
    if (status == COPSE_OK) copse_blink_preallocate_rebuilding(p->index, p->old, p->made);
    if (status == COPSE_OK) status = copse_device_read(device, device->main, out, p->arguments.totals, sizeof *out);
    independent_drop(p);
    return status;
}

/* Takes over what the kernels found out about the batch. */
static void speculation_take_over(copse_rebuilder *p, const copse_rebuild_totals *totals)
{
    copse_pairs_speculation *speculation = &p->made->speculation;
    const copse_rebuild_arguments *arguments = &p->arguments;
    speculation->smallest = totals->not_low ? ~totals->not_low : arguments->low;
    speculation->largest = totals->high ? totals->high : arguments->high;
    p->made->speculation_known = true;
}

/* One attempt. */
static int try_independent(copse_rebuilder *p, uint32_t tile, bool listed)
{
    const uint64_t base_leaves = independent_base_leaves(p, listed);
    copse_rebuild_totals totals;
    copse_kept_error kept;
    if (base_leaves == 0 || base_leaves > UINT32_MAX / 2) return COPSE_DECLINED;
    /* Lists count entries in 32 bits, and leaves besides base leaves up to COPSE_LIST_MOST. */
    if (listed && (p->arguments.from.entries > UINT32_MAX || p->pool_taken > COPSE_LIST_MOST)) return COPSE_DECLINED;
    copse_error_keep(&kept);
    copse_status status = copse_blink_epoch_make_base_leaves(p->index, p->arguments.from.segment_shift, base_leaves,
                                                             p->low, p->high, &p->made);
    if (status == COPSE_OK) status = copse_rebuild_started(p);
    if (status == COPSE_OK) status = independent(p, tile, listed, &totals);
    if (status == COPSE_OK && totals.ticket == 0 && totals.took == p->arguments.operations.n) {
        copse_rebuild_take_over(p, &totals);
        speculation_take_over(p, &totals);
        return copse_rebuild_levels(p);
    }
    if (status != COPSE_OK && !copse_rebuild_too_much(status)) return status;
    copse_error_put_back(&kept);
    copse_rebuild_begin_anew(p);
    return COPSE_DECLINED;
}

int copse_rebuild_independent(copse_rebuilder *p, const void *input, uint64_t low, uint64_t high)
{
    const uint32_t tile = may_be_independent(p) ? copse_rebuild_tile_leaves(p) : 0;
    const unsigned differ = copse_device_sort_bits(low, high);
    int outcome = COPSE_DECLINED;
    if (tile == 0) return outcome;
    p->arguments.input = input;
    p->arguments.alike = input ? low : 0;
    p->arguments.alike_mask = input && differ < 64 ? UINT64_MAX << differ : 0;
    if (!p->arguments.chains) outcome = try_independent(p, tile, false);
    return outcome == COPSE_DECLINED ? try_independent(p, tile, true) : outcome;
}
