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

/* Tiles are counted first where more than 1/COUNTED_SHARE of the homes have other leaves: some tiles have many of these, some few. */
#define COUNTED_SHARE 64u

/*
 * Leaves for the entries, or the homes, and for the operations, in the proportion that a packed tree has, if as many of the keys are
 * new as were last time. Returns how many that makes in all.
 */
static uint64_t spread_homes(copse_packer *p, bool counted)
{
    copse_pack_arguments *arguments = &p->arguments;
    const uint64_t homes = arguments->from.homes, entries = arguments->from.entries;
    const double leaves = 2.0 * (1u << COPSE_LEAVES_BITS) / (double)copse_blink_packed_two(p->index);
    arguments->leaves_per_home = (uint64_t)((double)entries / (double)homes * leaves);
    arguments->leaves_per_entry = (uint64_t)leaves;
    arguments->leaves_per_operation = (uint64_t)(leaves * (256 - p->known) / 256);
    return ((counted ? entries * arguments->leaves_per_entry : homes * arguments->leaves_per_home) +
            arguments->operations.n * arguments->leaves_per_operation) >>
           COPSE_LEAVES_BITS;
}

/* Entries in front of each tile. */
static copse_status tiles_count(copse_packer *p)
{
    copse_device *device = p->index->device;
    const uint64_t tiles = p->arguments.tiles;
    copse_status status = copse_pack_take(p, COPSE_PACK_BEFORE, (tiles + 1) * sizeof *p->arguments.before);
    uint64_t *before = p->arguments.before = p->memory[COPSE_PACK_BEFORE];
    if (status == COPSE_OK)
        status = copse_device_launch(device, device->main, &copse_blink_kernels_of(p->index)->tile_entries,
                                     copse_device_blocks(device, (tiles + 1) * 32), &p->arguments);
    if (status != COPSE_OK) return status;
    return device->backend->primitives->scan_u64(device, device->main, before, before, tiles + 1);
}

static copse_status edges_take(copse_packer *p, uint32_t homes)
{
    copse_device *device = p->index->device;
    copse_pack_arguments *arguments = &p->arguments;
    const uint64_t tiles = ((uint64_t)arguments->from.homes + homes - 1) / homes;
    arguments->tile_homes = homes;
    arguments->tiles = (uint32_t)tiles;
    copse_status status = copse_pack_take(p, COPSE_PACK_TOTALS, sizeof *arguments->totals);
    if (status == COPSE_OK) status = copse_pack_take(p, COPSE_PACK_STARTS, (tiles + 1) * sizeof *arguments->edges);
    if (status != COPSE_OK) return status;
    arguments->totals = p->memory[COPSE_PACK_TOTALS];
    arguments->edges = p->memory[COPSE_PACK_STARTS];
    return copse_device_fill(device, device->main, arguments->totals, 0, sizeof *arguments->totals);
}

/* All of it, and waits. */
static copse_status spread(copse_packer *p, uint32_t homes, bool counted, copse_pack_totals *out)
{
    copse_device *device = p->index->device;
    const copse_blink_kernels *kernels = copse_blink_kernels_of(p->index);
    copse_status status = edges_take(p, homes);
    const uint64_t tiles = p->arguments.tiles, warps = COPSE_KERNEL_THREADS / 32;
    /* No more blocks than are at work at a time: each thinks ahead by as many tiles as there are warps. */
    const uint64_t most = (uint64_t)device->multiprocessors * COPSE_SPREAD_BLOCKS, all = (tiles + warps - 1) / warps;
    if (status == COPSE_OK && counted) status = tiles_count(p);
    if (status == COPSE_OK)
        status = copse_device_launch(device, device->main, &kernels->tile_edges, copse_device_blocks(device, tiles + 1),
                                     &p->arguments);
    if (status == COPSE_OK)
        status =
            copse_device_launch(device, device->main, &kernels->tile_spread, all < most ? all : most, &p->arguments);
    if (status == COPSE_OK) status = copse_device_read(device, device->main, out, p->arguments.totals, sizeof *out);
    copse_pack_drop(p, COPSE_PACK_TOTALS);
    copse_pack_drop(p, COPSE_PACK_STARTS);
    copse_pack_drop(p, COPSE_PACK_BEFORE);
    p->arguments.before = NULL;
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
static copse_status try_spread(copse_packer *p, uint32_t tile, bool counted, bool *out_done)
{
    const uint64_t homes = spread_homes(p, counted);
    copse_pack_totals totals;
    copse_kept_error kept;
    if (homes == 0 || homes > UINT32_MAX / 2) return COPSE_OK;
    copse_error_keep(&kept);
    copse_status status =
        copse_blink_version_make_homes(p->index, p->arguments.from.chunk_shift, homes, p->low, p->high, &p->made);
    if (status == COPSE_OK) status = copse_pack_started(p);
    if (status == COPSE_OK) status = spread(p, tile, counted, &totals);
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
    const uint32_t tile = may_spread(p) ? copse_pack_tile_homes(p, 2) : 0;
    const bool uneven = p->pool_taken * COUNTED_SHARE > p->arguments.from.homes;
    copse_status status = COPSE_OK;
    *out_done = false;
    if (tile == 0) return COPSE_OK;
    if (!uneven) status = try_spread(p, tile, false, out_done);
    return status == COPSE_OK && !*out_done ? try_spread(p, tile, true, out_done) : status;
}

copse_status copse_blink_spread(const copse_index *index, const copse_blink_version *from,
                                const copse_blink_operations *operations, const void *input, uint64_t low,
                                uint64_t high, copse_blink_version **out, uint64_t *out_changed)
{
    copse_packer p = copse_pack_begin(index, from, operations, low, high);
    bool done = false;
    *out = NULL;
    p.arguments.input = input;
    copse_status status = copse_pack_spread(&p, &done);
    *out_changed = p.changed;
    return status == COPSE_OK && !done ? COPSE_OK : copse_pack_finish(&p, status, out);
}
