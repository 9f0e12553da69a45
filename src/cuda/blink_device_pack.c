/* New versions of the B-link and the B+ tree: of sorted pairs, or of an old version and a batch of operations. */
#include "cuda/blink_device.h"

/* Device memory that packing needs for a while. */
typedef struct packer {
    const copse_index *index;
    copse_pack_arguments arguments;
    copse_blink_version *made;
    copse_blink_counters *counters; /* of the old version */
    uint64_t changed;               /* entries that came plus those that went */
    void *memory[7];
    uint64_t bytes[7];
} packer;

enum { PACK_HOMES, PACK_OFFSETS, PACK_EFFECTS, PACK_BEFORE, PACK_STARTS, PACK_TOTALS, PACK_LAST };

/* Homes of a tile where those that fit on average are too many in some place. */
#define TILE_HOMES_LEAST 4u

static copse_status take(packer *p, unsigned which, uint64_t bytes)
{
    copse_device *device = p->index->device;
    p->bytes[which] = bytes;
    return copse_device_alloc(device, device->main, bytes, "packing the tree", &p->memory[which]);
}

static void give_back(packer *p)
{
    copse_device *device = p->index->device;
    for (unsigned i = 0; i < sizeof p->memory / sizeof *p->memory; i++) {
        copse_device_free(device, device->main, p->memory[i], p->bytes[i]);
        p->memory[i] = NULL;
    }
}

static copse_status launch(const packer *p, const copse_kernel *kernel, uint64_t items)
{
    copse_device *device = p->index->device;
    return copse_device_launch(device, device->main, kernel, copse_device_blocks(device, items), &p->arguments);
}

/* The new version's memory, and its levels once its leaves are filled by the kernels that `fill` puts on the stream. */
static copse_status version_fill(packer *p, uint64_t entries, uint64_t low, uint64_t high,
                                 copse_status (*fill)(packer *p))
{
    const copse_index *index = p->index;
    copse_status status = copse_blink_version_make(index, entries, low, high, &p->made);
    if (status != COPSE_OK || !p->made) return status;
    copse_blink_tree *view = &p->made->view;
    status = take(p, PACK_LAST, view->homes * sizeof(uint32_t));
    p->arguments.to = *view;
    p->arguments.last = p->memory[PACK_LAST];
    if (status == COPSE_OK && entries == 0) status = launch(p, &copse_blink_kernels_of(index)->pack_empty, 1);
    if (status == COPSE_OK && entries) status = fill(p);
    if (status != COPSE_OK) return status;
    const size_t key = copse_type_size(index->key_type), value = copse_type_size(index->value_type);
    copse_levels_source source = {.children = view->homes,
                                  .last = p->memory[PACK_LAST],
                                  .stride = COPSE_LEAF_BYTES,
                                  .chunks = view->chunks,
                                  .chunk_shift = view->chunk_shift,
                                  .chunk_offset = key == value ? 64
                                                  : key == 4   ? 44
                                                               : 80}; /* `high` of a leaf */
    return copse_device_levels_make(index, &source, &view->levels, &p->made->levels);
}

static copse_status finish(packer *p, copse_status status, copse_blink_version **out)
{
    give_back(p);
    if (status == COPSE_OK)
        *out = p->made;
    else
        copse_blink_version_free(p->index, p->made);
    return status;
}

/* --- sorted pairs --------------------------------------------------------------------------------------------------------- */

static copse_status fill_pairs(packer *p)
{
    const uint64_t lanes = 4; /* a warp has eight leaves */
    return launch(p, &copse_blink_kernels_of(p->index)->pack_fill, p->arguments.to.homes * lanes);
}

copse_status copse_blink_fill(const copse_index *index, const copse_device_pairs *pairs, copse_blink_version **out)
{
    packer p = {.index = index,
                .arguments.operations = {
                    .keys = pairs->keys, .values = pairs->values, .n = pairs->n, .action = COPSE_ACTION_UPSERT}};
    return finish(&p, version_fill(&p, pairs->n, pairs->low, pairs->high, fill_pairs), out);
}

/* --- an old version and operations, tile by tile --------------------------------------------------------------------------- */

static copse_status fill_tiles(packer *p)
{
    return launch(p, &copse_blink_kernels_of(p->index)->tile_move, (uint64_t)p->arguments.tiles * 32);
}

/* Homes that a tile may have: on average a quarter of its room stays free. 0: none. */
static uint32_t tile_homes(const packer *p)
{
    const copse_index *index = p->index;
    const uint64_t homes = p->arguments.from.homes, all = p->arguments.from.entries + p->arguments.operations.n;
    const size_t bytes = copse_type_size(index->key_type) + copse_type_size(index->value_type);
    const uint64_t room = COPSE_TILE_ENTRIES(bytes) / 4 * 3;
    const bool one_by_one = p->arguments.operations.n == 0 || p->arguments.from.unique;
    const uint64_t fit = room * homes / (all ? all : 1);
    return !one_by_one ? 0 : fit < 32 ? (uint32_t)fit : 32;
}

static copse_status tiles_take(packer *p, uint32_t homes)
{
    copse_device *device = p->index->device;
    copse_pack_arguments *arguments = &p->arguments;
    arguments->tile_homes = homes;
    arguments->tiles = (arguments->from.homes + homes - 1) / homes;
    copse_status status = take(p, PACK_BEFORE, ((uint64_t)arguments->tiles + 1) * sizeof(uint64_t));
    if (status == COPSE_OK && arguments->operations.n)
        status = take(p, PACK_STARTS, ((uint64_t)arguments->tiles + 1) * sizeof(uint32_t));
    if (status == COPSE_OK) status = take(p, PACK_TOTALS, sizeof(copse_pack_totals));
    if (status != COPSE_OK) return status;
    arguments->before = p->memory[PACK_BEFORE];
    arguments->starts = p->memory[PACK_STARTS];
    arguments->totals = p->memory[PACK_TOTALS];
    return copse_device_fill(device, device->main, arguments->totals, 0, sizeof *arguments->totals);
}

/* Counts, with tiles of so many homes. The host waits once: for what the tiles counted, not for the scan. */
static copse_status count_tiles(packer *p, uint32_t homes, uint64_t *out_entries, bool *out_fits)
{
    copse_device *device = p->index->device;
    const copse_blink_kernels *kernels = copse_blink_kernels_of(p->index);
    copse_pack_totals totals;
    copse_status status = tiles_take(p, homes);
    const uint64_t tiles = p->arguments.tiles;
    if (status == COPSE_OK && p->arguments.operations.n) status = launch(p, &kernels->tile_starts, tiles + 1);
    if (status == COPSE_OK) status = launch(p, &kernels->tile_count, tiles * 32);
    if (status == COPSE_OK)
        status = device->backend->primitives->scan_u64(device, device->main, p->arguments.before, p->arguments.before,
                                                       tiles + 1);
    if (status == COPSE_OK)
        status = copse_device_read(device, device->main, &totals, p->arguments.totals, sizeof totals);
    if (status != COPSE_OK) return status;
    uint64_t came = 0, went = 0;
    for (unsigned s = 0; s < COPSE_POOL_STRIPES; s++) {
        came += totals.came[s];
        went += totals.went[s];
    }
    *out_entries = p->arguments.from.entries + came - went;
    p->changed = came + went;
    *out_fits = !totals.irregular;
    return COPSE_OK;
}

/* *out_fits: false where the tree has to be packed home by home. */
static copse_status plan_tiles(packer *p, uint64_t *out_entries, bool *out_fits)
{
    copse_status status = COPSE_OK;
    *out_fits = false;
    for (uint32_t homes = tile_homes(p); status == COPSE_OK && homes > 0 && !*out_fits;
         homes = homes > TILE_HOMES_LEAST ? TILE_HOMES_LEAST : 0) {
        give_back(p);
        status = count_tiles(p, homes, out_entries, out_fits);
    }
    if (status == COPSE_OK && !*out_fits) give_back(p);
    return status;
}

/* --- an old version and operations, home by home --------------------------------------------------------------------------- */

/* Where each operation belongs, and what it will do. */
static copse_status locate(packer *p)
{
    const copse_index *index = p->index;
    copse_device *device = index->device;
    const uint64_t n = p->arguments.operations.n;
    copse_status status = take(p, PACK_HOMES, n * sizeof(uint32_t));
    if (status == COPSE_OK) status = take(p, PACK_OFFSETS, n * sizeof(uint32_t));
    if (status == COPSE_OK) status = take(p, PACK_EFFECTS, (n + 1) * sizeof(uint64_t));
    if (status != COPSE_OK) return status;
    uint64_t *effects = p->memory[PACK_EFFECTS];
    copse_locate_arguments arguments = {.tree = p->arguments.from,
                                        .operations = p->arguments.operations,
                                        .homes = p->memory[PACK_HOMES],
                                        .offsets = p->memory[PACK_OFFSETS],
                                        .effects = effects,
                                        .counters = p->counters};
    status = copse_device_fill(device, device->main, effects + n, 0, sizeof *effects);
    if (status == COPSE_OK)
        status = copse_device_launch(device, device->main, &copse_blink_kernels_of(index)->locate,
                                     copse_device_blocks(device, n), &arguments);
    if (status == COPSE_OK)
        status = device->backend->primitives->scan_u64(device, device->main, effects, effects, n + 1);
    p->arguments.homes = arguments.homes;
    p->arguments.offsets = arguments.offsets;
    p->arguments.effects = effects;
    return status;
}

/* How many entries there will be, and how many of each home in front of the next. */
static copse_status count_homes(packer *p, uint64_t *out_entries)
{
    const copse_index *index = p->index;
    copse_device *device = index->device;
    const uint64_t homes = p->arguments.from.homes, n = p->arguments.operations.n;
    uint64_t effects = 0;
    copse_status status = take(p, PACK_BEFORE, (homes + 1) * sizeof(uint64_t));
    if (status == COPSE_OK && n) status = take(p, PACK_STARTS, (homes + 1) * sizeof(uint32_t));
    p->arguments.before = p->memory[PACK_BEFORE];
    p->arguments.starts = p->memory[PACK_STARTS];
    if (status == COPSE_OK) status = launch(p, &copse_blink_kernels_of(index)->pack_count, homes + 1);
    if (status == COPSE_OK)
        status = device->backend->primitives->scan_u64(device, device->main, p->arguments.before, p->arguments.before,
                                                       homes + 1);
    if (status == COPSE_OK && n)
        status = copse_device_copy(device, device->main, &effects, p->arguments.effects + n, sizeof effects);
    if (status == COPSE_OK)
        status = copse_device_read(device, device->main, out_entries, p->arguments.before + homes, sizeof *out_entries);
    if (status != COPSE_OK) return status;
    /* With duplicates an erased key may take many entries, which the effects do not count. */
    const uint64_t before = p->arguments.from.entries, after = *out_entries;
    p->changed =
        p->index->duplicates ? (after > before ? after - before : before - after) : (uint32_t)effects + (effects >> 32);
    return COPSE_OK;
}

static copse_status fill_homes(packer *p)
{
    const copse_blink_kernels *kernels = copse_blink_kernels_of(p->index);
    const uint64_t lanes = 16; /* of a leaf, at most */
    copse_status status = launch(p, &kernels->pack_old, p->arguments.from.homes * lanes);
    if (status == COPSE_OK && p->arguments.operations.n && p->arguments.operations.values)
        status = launch(p, &kernels->pack_new, p->arguments.operations.n);
    return status;
}

static copse_status plan_homes(packer *p, uint64_t *out_entries)
{
    p->arguments.tiles = 0;
    copse_status status = p->arguments.operations.n ? locate(p) : COPSE_OK;
    return status == COPSE_OK ? count_homes(p, out_entries) : status;
}

copse_status copse_blink_pack(const copse_index *index, const copse_blink_version *from,
                              const copse_blink_operations *operations, uint64_t low, uint64_t high,
                              copse_blink_version **out, uint64_t *out_changed)
{
    packer p = {.index = index, .arguments = {.from = from->view}, .counters = from->counters};
    uint64_t entries = 0;
    bool tiles = false;
    if (operations) p.arguments.operations = *operations;
    copse_status status = plan_tiles(&p, &entries, &tiles);
    if (status == COPSE_OK && !tiles) status = plan_homes(&p, &entries);
    const bool any = operations && operations->n, some = from->view.entries != 0;
    const uint64_t lowest = any && (!some || low < from->low) ? low : from->low;
    const uint64_t highest = any && (!some || high > from->high) ? high : from->high;
    if (status == COPSE_OK) status = version_fill(&p, entries, lowest, highest, tiles ? fill_tiles : fill_homes);
    *out_changed = p.changed;
    return finish(&p, status, out);
}
