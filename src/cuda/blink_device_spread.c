/* New versions of the B-link and the B+ tree whose tiles do not wait for each other: blink_tile_spread.inc.h. */
#include "cuda/blink_device_pack.h"
#include "cuda/primitives.h"

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

/* Sums up leaves and entries of homes, and gets to know how many leaves there are. */
static copse_status sizes_make(copse_packer *p)
{
    copse_device *device = p->index->device;
    const uint64_t n = (uint64_t)p->arguments.from.homes + 1;
    uint64_t all = 0;
    copse_status status = copse_pack_take(p, COPSE_PACK_EFFECTS, 2 * n * sizeof(uint64_t));
    if (status != COPSE_OK) return status;
    uint64_t *sizes = p->arguments.sizes = p->memory[COPSE_PACK_EFFECTS];
    p->arguments.abouts = sizes + n;
    status = spread_launch(p, &copse_blink_kernels_of(p->index)->home_sizes, n);
    if (status == COPSE_OK) status = device->backend->primitives->scan_u64(device, device->main, sizes, sizes, n);
    if (status == COPSE_OK) status = copse_device_read(device, device->main, &all, sizes + n - 1, sizeof all);
    p->arguments.leaves = (uint32_t)(all >> 32);
    return status;
}

/* Lists all leaves. */
static copse_status lists_make(copse_packer *p)
{
    copse_pack_arguments *arguments = &p->arguments;
    const uint64_t tiles = ((uint64_t)arguments->leaves + arguments->tile_homes - 1) / arguments->tile_homes;
    copse_status status = copse_pack_take(p, COPSE_PACK_HOMES, arguments->leaves * sizeof *arguments->order);
    if (status == COPSE_OK) status = copse_pack_take(p, COPSE_PACK_BEFORE, tiles * sizeof *arguments->before);
    if (status == COPSE_OK) status = copse_pack_take(p, COPSE_PACK_OFFSETS, tiles * sizeof *arguments->highs);
    if (status != COPSE_OK) return status;
    arguments->order = p->memory[COPSE_PACK_HOMES];
    arguments->before = p->memory[COPSE_PACK_BEFORE];
    arguments->highs = p->memory[COPSE_PACK_OFFSETS];
    return spread_launch(p, &copse_blink_kernels_of(p->index)->home_lists, arguments->from.homes);
}

/* Makes out the tiles. */
static copse_status edges_make(copse_packer *p)
{
    copse_device *device = p->index->device;
    copse_pack_arguments *arguments = &p->arguments;
    const uint64_t all = arguments->order ? arguments->leaves : arguments->from.homes;
    const uint64_t tiles = (all + arguments->tile_homes - 1) / arguments->tile_homes;
    arguments->tiles = (uint32_t)tiles;
    arguments->leaves = (uint32_t)all;
    copse_status status = copse_pack_take(p, COPSE_PACK_TOTALS, sizeof *arguments->totals);
    if (status == COPSE_OK) status = copse_pack_take(p, COPSE_PACK_STARTS, (tiles + 1) * sizeof *arguments->edges);
    if (status != COPSE_OK) return status;
    arguments->totals = p->memory[COPSE_PACK_TOTALS];
    arguments->edges = p->memory[COPSE_PACK_STARTS];
    status = copse_device_fill(device, device->main, arguments->totals, 0, sizeof *arguments->totals);
    return status == COPSE_OK ? spread_launch(p, &copse_blink_kernels_of(p->index)->tile_edges, tiles + 1) : status;
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
    copse_status status = listed ? sizes_make(p) : COPSE_OK;
    if (status == COPSE_OK && listed) status = lists_make(p);
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
    if (listed && p->arguments.from.entries > UINT32_MAX) return COPSE_OK; /* they are counted in 32 bits */
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
