/* New versions of the B-link and the B+ tree whose tiles do not wait for each other: blink/rebuild/tile_independent.h. */
#include "trees/blink/rebuild/rebuild.h"

/* From so many homes on it is worth it. */
#define LEAST_HOMES 256u

/* Is the batch one for this? Its operations insert or replace, and are all of one kind. */
static bool may_spread(const copse_packer *p)
{
    const copse_pack_arguments *arguments = &p->arguments;
    const copse_blink_operations *operations = &arguments->operations;
    return copse_pack_inserts_most(p) != 0 && !operations->gone && !operations->row &&
           operations->action != COPSE_ACTION_ERASE && arguments->from.unique && arguments->from.homes >= LEAST_HOMES;
}

/*
 * Leaves for the entries, or the homes, and for the operations, in the proportion that a packed tree has, if as many of the keys are
 * new as were last time. Returns how many that makes in all.
 */
static uint64_t spread_homes(copse_packer *p, bool listed)
{
    copse_pack_arguments *arguments = &p->arguments;
    const uint64_t homes = arguments->from.homes, entries = arguments->from.entries;
    const double leaves = 2.0 * (1u << COPSE_LEAVES_BITS) / (double)copse_blink_packed_two(p->index);
    arguments->leaves_per_home = (uint64_t)((double)entries / (double)homes * leaves);
    arguments->leaves_per_entry = (uint64_t)leaves;
    arguments->leaves_per_operation = (uint64_t)(leaves * (256 - p->known) / 256);
    return ((listed ? entries * arguments->leaves_per_entry : homes * arguments->leaves_per_home) +
            arguments->operations.n * arguments->leaves_per_operation) >>
           COPSE_LEAVES_BITS;
}

static copse_status spread_launch(const copse_packer *p, const copse_kernel *kernel, uint64_t items)
{
    copse_device *device = p->index->device;
    return copse_device_launch(device, device->main, kernel, copse_device_blocks(device, items), &p->arguments);
}

/* Makes room for what tiles count, and for what so many blocks tell each other behind it: one fill makes all 0. */
static copse_status totals_take(copse_packer *p, uint64_t blocks)
{
    copse_device *device = p->index->device;
    copse_pack_arguments *arguments = &p->arguments;
    const uint64_t bytes = sizeof *arguments->totals + blocks * sizeof *arguments->words;
    copse_status status = copse_pack_take(p, COPSE_PACK_TOTALS, bytes);
    if (status != COPSE_OK) return status;
    arguments->totals = p->memory[COPSE_PACK_TOTALS];
    arguments->words = (uint64_t *)(arguments->totals + 1);
    return copse_device_fill(device, device->main, arguments->totals, 0, bytes);
}

static uint64_t tiles_of(const copse_packer *p, uint64_t leaves)
{
    return (leaves + p->arguments.tile_homes - 1) / p->arguments.tile_homes;
}

/* Lists all leaves. How many there are the kernels find out: no more than these. */
static copse_status lists_make(copse_packer *p)
{
    copse_device *device = p->index->device;
    copse_pack_arguments *arguments = &p->arguments;
    const uint64_t each = COPSE_LIST_THREADS * COPSE_LIST_EACH, blocks = (arguments->from.homes + each - 1) / each;
    arguments->leaves = (uint32_t)(arguments->from.homes + p->pool_taken);
    arguments->tiles = (uint32_t)tiles_of(p, arguments->leaves);
    copse_status status = totals_take(p, blocks);
    if (status == COPSE_OK)
        status = copse_pack_take(p, COPSE_PACK_HOMES, (uint64_t)arguments->leaves * sizeof *arguments->order);
    if (status == COPSE_OK)
        status = copse_pack_take(p, COPSE_PACK_BEFORE, (uint64_t)arguments->tiles * sizeof *arguments->before);
    if (status != COPSE_OK) return status;
    arguments->order = p->memory[COPSE_PACK_HOMES];
    arguments->before = p->memory[COPSE_PACK_BEFORE];
    return copse_device_launch(device, device->main, &copse_blink_kernels_of(p->index)->home_lists, blocks, arguments);
}

/* Nothing is to be listed: homes are as good. */
static copse_status homes_do(copse_packer *p)
{
    p->arguments.tiles = (uint32_t)tiles_of(p, p->arguments.from.homes);
    return totals_take(p, 0);
}

/* Makes out the tiles. */
static copse_status edges_make(copse_packer *p)
{
    const uint64_t edges = (uint64_t)p->arguments.tiles + 1;
    copse_status status = copse_pack_take(p, COPSE_PACK_STARTS, edges * sizeof *p->arguments.edges);
    p->arguments.edges = p->memory[COPSE_PACK_STARTS];
    return status == COPSE_OK ? spread_launch(p, &copse_blink_kernels_of(p->index)->tile_edges, edges) : status;
}

/* Drops what only the kernels need. */
static void spread_drop(copse_packer *p)
{
    for (unsigned i = 0; i < COPSE_PACK_LAST; i++) copse_pack_drop(p, i);
    p->arguments.order = NULL;
    p->arguments.before = NULL;
}

/* All of it, with tiles of so many homes, or leaves where they are to be listed; and waits. */
static copse_status spread(copse_packer *p, uint32_t tile, bool listed, copse_pack_totals *out)
{
    copse_device *device = p->index->device;
    p->arguments.tile_homes = tile;
    copse_status status = listed ? lists_make(p) : homes_do(p);
    if (status == COPSE_OK) status = edges_make(p);
    /* No more blocks than are at work at a time: a warp has its next tile on the way while it stores one. */
    const uint64_t warps = COPSE_KERNEL_THREADS / 32, all = (p->arguments.tiles + warps - 1) / warps;
    const uint64_t most = (uint64_t)device->multiprocessors * COPSE_SPREAD_BLOCKS;
    if (status == COPSE_OK)
        status = copse_device_launch(device, device->main, &copse_blink_kernels_of(p->index)->tile_spread,
                                     all < most ? all : most, &p->arguments);
    if (status == COPSE_OK) copse_blink_ahead_packing(p->index, p->old, p->made);
    if (status == COPSE_OK) status = copse_device_read(device, device->main, out, p->arguments.totals, sizeof *out);
    spread_drop(p);
    return status;
}

/* What the kernels found out about the batch. */
static void doubt_take_over(copse_packer *p, const copse_pack_totals *totals)
{
    copse_pairs_doubt *doubt = &p->made->doubt;
    const copse_pack_arguments *arguments = &p->arguments;
    doubt->smallest = totals->not_low ? ~totals->not_low : arguments->low;
    doubt->largest = totals->high ? totals->high : arguments->high;
    p->made->doubt_known = true;
}

/* One attempt. */
static copse_status try_spread(copse_packer *p, uint32_t tile, bool listed, bool *out_done)
{
    const uint64_t homes = spread_homes(p, listed);
    copse_pack_totals totals;
    copse_kept_error kept;
    if (homes == 0 || homes > UINT32_MAX / 2) return COPSE_OK;
    /* They are counted in 32 bits, and leaves in few. */
    if (listed && (p->arguments.from.entries > UINT32_MAX || p->pool_taken > COPSE_LIST_MOST)) return COPSE_OK;
    copse_error_keep(&kept);
    copse_status status =
        copse_blink_version_make_homes(p->index, p->arguments.from.chunk_shift, homes, p->low, p->high, &p->made);
    if (status == COPSE_OK) status = copse_pack_started(p);
    if (status == COPSE_OK) status = spread(p, tile, listed, &totals);
    if (status == COPSE_OK && totals.ticket == 0 && totals.took == p->arguments.operations.n) {
        copse_pack_take_over(p, &totals);
        doubt_take_over(p, &totals);
        *out_done = true;
        return copse_pack_levels(p);
    }
    if (status != COPSE_OK && !copse_pack_too_much(status)) return status;
    copse_error_put_back(&kept);
    copse_pack_begin_anew(p);
    return COPSE_OK;
}

copse_status copse_pack_spread(copse_packer *p, bool *out_done)
{
    const uint32_t tile = may_spread(p) ? copse_pack_tile_leaves(p) : 0;
    copse_status status = COPSE_OK;
    *out_done = false;
    if (tile == 0) return COPSE_OK;
    if (!p->arguments.chains) status = try_spread(p, tile, false, out_done);
    return status == COPSE_OK && !*out_done ? try_spread(p, tile, true, out_done) : status;
}

copse_status copse_blink_spread(const copse_index *index, const copse_blink_version *from,
                                const copse_blink_operations *operations, const void *input, uint64_t low,
                                uint64_t high, copse_blink_version **out, uint64_t *out_changed)
{
    copse_packer p = copse_pack_begin(index, from, operations, low, high);
    bool done = false;
    *out = NULL;
    const unsigned differ = copse_device_sort_bits(low, high);
    p.arguments.input = input;
    p.arguments.alike = low;
    p.arguments.alike_mask = differ < 64 ? UINT64_MAX << differ : 0;
    copse_status status = copse_pack_spread(&p, &done);
    *out_changed = p.changed;
    return status == COPSE_OK && !done ? COPSE_OK : copse_pack_finish(&p, status, out);
}
