/* New epochs of the B-link and the B+ tree: of sorted pairs, or of an old epoch and a batch of operations. */
#include "trees/blink/rebuild/rebuild.h"

/* Base leaves of a tile, at least. */
#define TILE_BASE_LEAVES_LEAST 4u
/* Standard deviations above the average that a tile has room for. */
#define DEVIATIONS 6.5

copse_status copse_rebuild_take(copse_rebuilder *p, unsigned which, uint64_t bytes)
{
    void *ignored = NULL; /* the block is the array */
    const copse_scratch_array array = {&ignored, bytes};
    return copse_scratch_take(p->index->device, "packing the tree", &array, 1, &p->scratch[which]);
}

copse_status copse_rebuild_take_totals(copse_rebuilder *p, uint64_t words)
{
    copse_device *device = p->index->device;
    copse_scratch *scratch = &p->scratch[COPSE_REBUILD_TOTALS];
    void *totals = NULL, *publications = NULL;
    const copse_scratch_array arrays[] = {{&totals, sizeof *p->arguments.totals},
                                          {&publications, words * sizeof *p->arguments.words}};
    copse_status status = copse_scratch_take(device, "packing the tree", arrays, 2, scratch);
    p->arguments.totals = totals;
    p->arguments.words = publications;
    return status == COPSE_OK ? copse_device_fill(device, device->main, totals, 0, scratch->bytes) : status;
}

void copse_rebuild_drop(copse_rebuilder *p, unsigned which)
{
    copse_scratch_free(p->index->device, &p->scratch[which]);
}

static void give_back(copse_rebuilder *p)
{
    for (unsigned i = 0; i < COPSE_REBUILD_KINDS; i++) copse_rebuild_drop(p, i);
}

void copse_rebuild_begin_anew(copse_rebuilder *p)
{
    give_back(p);
    copse_blink_epoch_free(p->index, p->made);
    p->made = NULL;
}

copse_status copse_rebuild_launch(const copse_rebuilder *p, const copse_kernel *kernel, uint64_t items)
{
    copse_device *device = p->index->device;
    return copse_device_launch(device, device->main, kernel, copse_device_blocks(device, items), &p->arguments);
}

copse_status copse_rebuild_started(copse_rebuilder *p)
{
    copse_status status = copse_rebuild_take(p, COPSE_REBUILD_LAST, p->made->view.base_leaves * sizeof(uint32_t));
    p->arguments.to = p->made->view;
    p->arguments.last = p->scratch[COPSE_REBUILD_LAST].memory;
    return status;
}

/* Makes a new epoch with room for `entries`. */
static copse_status epoch_start(copse_rebuilder *p, uint64_t entries)
{
    copse_status status =
        copse_blink_epoch_make(p->index, p->arguments.from.segment_shift, entries, p->low, p->high, &p->made);
    return status == COPSE_OK ? copse_rebuild_started(p) : status;
}

copse_status copse_rebuild_levels(copse_rebuilder *p)
{
    const copse_index *index = p->index;
    copse_blink_tree *view = &p->made->view;
    copse_levels_source source = {.children = view->base_leaves,
                                  .last = p->arguments.last,
                                  .stride = COPSE_LEAF_BYTES,
                                  .segments = view->segments,
                                  .segment_shift = view->segment_shift,
                                  .segment_offset = copse_blink_kernels_of(index)->leaf.high};
    return copse_device_levels_make(index, &source, &view->levels, &p->made->levels);
}

/* Makes all of a new epoch. `fill` launches the kernels that fill its leaves, where there are entries. */
static copse_status epoch_fill(copse_rebuilder *p, uint64_t entries, copse_status (*fill)(copse_rebuilder *p))
{
    copse_status status = epoch_start(p, entries);
    if (status == COPSE_OK)
        status = entries ? fill(p) : copse_rebuild_launch(p, &copse_blink_kernels_of(p->index)->rebuild_empty, 1);
    return status == COPSE_OK ? copse_rebuild_levels(p) : status;
}

copse_status copse_rebuild_finish(copse_rebuilder *p, copse_status status, copse_blink_epoch **out)
{
    give_back(p);
    if (status == COPSE_OK)
        *out = p->made;
    else
        copse_blink_epoch_free(p->index, p->made);
    return status;
}

/* --- sorted pairs ------------------------------------------------------------------------------------------------- */

static copse_status fill_pairs(copse_rebuilder *p)
{
    const uint64_t lanes = 4; /* a warp has eight leaves */
    return copse_rebuild_launch(p, &copse_blink_kernels_of(p->index)->rebuild_fill,
                                p->arguments.to.base_leaves * lanes);
}

copse_status copse_blink_fill(const copse_index *index, const copse_device_pairs *pairs, copse_blink_epoch **out)
{
    copse_rebuilder p = {
        .index = index,
        .low = pairs->low,
        .high = pairs->high,
        .arguments.operations = {
            .keys = pairs->keys, .values = pairs->values, .n = pairs->n, .action = COPSE_ACTION_UPSERT}};
    return copse_rebuild_finish(&p, epoch_fill(&p, pairs->n, fill_pairs), out);
}

/* --- an old epoch and operations, tile by tile -------------------------------------------------------------------- */

/*
 * Do so many base leaves fit into a tile, if each has `old` entries and `others` further leaves, and `come` are
 * inserted into it? Some tiles get more than others: base leaves cover stretches of keys of different lengths, and even
 * of random keys some stretches get more than others of the same length. Among millions of tiles one is five or six
 * deviations above the average.
 */
static bool tile_fits(double room, double base_leaves, double old, double come, double others)
{
    const double entries = room - base_leaves * (old + come), leaves = COPSE_TILE_LEAVES - base_leaves * (1 + others);
    const double variance = base_leaves * (old / 4 + 2 * come + come * come / (old + 1));
    return entries > 0 && entries * entries >= DEVIATIONS * DEVIATIONS * variance && leaves >= 0 &&
           leaves * leaves >= DEVIATIONS * DEVIATIONS * base_leaves * others;
}

/* How many of the tree's base leaves a tile may have, 0: none. others: further leaves of each. */
static uint32_t tile_most(const copse_rebuilder *p, double base_leaves, double others, unsigned times)
{
    const copse_index *index = p->index;
    const copse_blink_tree *from = &p->arguments.from;
    const size_t bytes = copse_type_size(index->key_type) + copse_value_width(index->value_type);
    const uint64_t room = COPSE_TILE_ENTRIES(bytes);
    const double come = (double)copse_rebuild_inserts_most(p) / base_leaves * times;
    uint32_t fit = COPSE_TILE_LEAVES;
    while (fit > 0 && !tile_fits((double)room, fit, (double)from->entries / base_leaves, come, others)) fit--;
    return fit;
}

uint32_t copse_rebuild_tile_leaves(const copse_rebuilder *p)
{
    if (!p->arguments.from.unique) return 0;
    return tile_most(p, (double)p->arguments.from.base_leaves + (double)p->pool_taken, 0, 2);
}

static uint32_t tile_base_leaves(const copse_rebuilder *p)
{
    const double entries = p->arguments.from.directory_entries, anchors = p->arguments.from.base_leaves + entries;
    /* An operation that erases every entry of a key may have to do so in several tiles. */
    if (!p->arguments.from.unique && p->arguments.operations.n && p->arguments.operations.action == COPSE_ACTION_ERASE)
        return 0;
    return tile_most(p, anchors, ((double)p->pool_taken - entries) / anchors, 1);
}

/* Takes memory for tiles of so many base leaves. */
static copse_status tiles_take(copse_rebuilder *p, uint32_t base_leaves)
{
    copse_rebuild_arguments *arguments = &p->arguments;
    const uint64_t tiles = (copse_blink_anchors(&arguments->from) + base_leaves - 1) / base_leaves;
    arguments->tile_base_leaves = base_leaves;
    arguments->tiles = (uint32_t)tiles;
    copse_status status = copse_rebuild_take_totals(p, tiles);
    if (status == COPSE_OK && arguments->operations.n)
        status = copse_rebuild_take(p, COPSE_REBUILD_STARTS, (tiles + 1) * sizeof *arguments->starts);
    arguments->starts = p->scratch[COPSE_REBUILD_STARTS].memory;
    return status;
}

/* Moves everything into the new epoch, with tiles of so many base leaves, and waits for it. Declines where some tile has more than
 * fits. */
static int move_tiles(copse_rebuilder *p, uint32_t base_leaves, copse_rebuild_totals *out_totals)
{
    copse_device *device = p->index->device;
    const copse_blink_kernels *kernels = copse_blink_kernels_of(p->index);
    copse_status status = tiles_take(p, base_leaves);
    const uint64_t tiles = p->arguments.tiles;
    if (status == COPSE_OK && p->arguments.operations.n)
        status = copse_rebuild_launch(p, &kernels->tile_starts, tiles + 1);
    if (status == COPSE_OK) status = copse_rebuild_launch(p, &kernels->tile_lookback, tiles * 32);
    if (status == COPSE_OK)
        status = copse_device_read(device, device->main, out_totals, p->arguments.totals, sizeof *out_totals);
    copse_rebuild_drop(p, COPSE_REBUILD_TOTALS);
    copse_rebuild_drop(p, COPSE_REBUILD_STARTS);
    return status == COPSE_OK && (out_totals->ticket & COPSE_TILES_STOP) ? COPSE_DECLINED : (int)status;
}

void copse_rebuild_take_over(copse_rebuilder *p, const copse_rebuild_totals *totals)
{
    const uint64_t n = p->arguments.operations.n;
    uint64_t came = 0, went = 0;
    for (unsigned s = 0; s < COPSE_POOL_STRIPES; s++) {
        came += totals->came[s];
        went += totals->went[s];
    }
    p->changed = came + went;
    p->made->view.entries = p->arguments.from.entries + came - went;
    p->made->speculation_known = p->arguments.operations.speculation != NULL;
    p->made->speculation = totals->speculation;
    p->made->known = copse_rebuild_inserts_most(p) ? (uint32_t)((n - came) * 256 / n) : p->known;
}

/* Does what is left once the host knows how many entries there are. */
static copse_status finish_tiles(copse_rebuilder *p, const copse_rebuild_totals *totals)
{
    const copse_blink_kernels *kernels = copse_blink_kernels_of(p->index);
    copse_rebuild_take_over(p, totals);
    copse_blink_epoch_shrink(p->index, p->made, totals->entries);
    p->arguments.to = p->made->view;
    copse_status status = copse_rebuild_launch(p, totals->entries ? &kernels->tile_finish : &kernels->rebuild_empty, 1);
    return status == COPSE_OK ? copse_rebuild_levels(p) : status;
}

/* The next size of a tile to try. Each try may be a pass over the tree, so they are few. */
static uint32_t tile_smaller(uint32_t base_leaves)
{
    if (base_leaves <= TILE_BASE_LEAVES_LEAST) return 0;
    return base_leaves / 3 > TILE_BASE_LEAVES_LEAST ? base_leaves / 3 : TILE_BASE_LEAVES_LEAST;
}

/* Declines where the tree has to be rebuilt base leaf by base leaf. */
static int rebuild_tiles(copse_rebuilder *p)
{
    const uint64_t most = p->arguments.from.entries + copse_rebuild_inserts_most(p);
    uint32_t base_leaves = tile_base_leaves(p);
    copse_rebuild_totals totals;
    if (base_leaves == 0) return COPSE_DECLINED;
    copse_kept_error kept;
    copse_error_keep(&kept);
    const copse_status status = epoch_start(p, most);
    int outcome = status == COPSE_OK ? COPSE_DECLINED : (int)status;
    if (copse_rebuild_too_much(status)) {
        copse_error_put_back(&kept);
        outcome = COPSE_DECLINED;
        base_leaves = 0;
    }
    for (; outcome == COPSE_DECLINED && base_leaves > 0; base_leaves = tile_smaller(base_leaves))
        outcome = move_tiles(p, base_leaves, &totals);
    if (outcome == COPSE_DONE) return finish_tiles(p, &totals);
    if (outcome == COPSE_DECLINED) copse_rebuild_begin_anew(p);
    return outcome;
}

/* --- an old epoch and operations, base leaf by base leaf ---------------------------------------------------------- */

/* Finds the base leaf of each operation, and what the operation will do there. */
static copse_status locate(copse_rebuilder *p)
{
    const copse_index *index = p->index;
    copse_device *device = index->device;
    const uint64_t n = p->arguments.operations.n;
    void *base_leaves = NULL, *offsets = NULL, *sums = NULL;
    const copse_scratch_array arrays[] = {
        {&base_leaves, n * sizeof(uint32_t)}, {&offsets, n * sizeof(uint32_t)}, {&sums, (n + 1) * sizeof(uint64_t)}};
    copse_status status =
        copse_scratch_take(device, "packing the tree", arrays, 3, &p->scratch[COPSE_REBUILD_OPERATIONS]);
    if (status != COPSE_OK) return status;
    uint64_t *effects = sums;
    copse_locate_arguments arguments = {.tree = p->arguments.from,
                                        .operations = p->arguments.operations,
                                        .base_leaves = base_leaves,
                                        .offsets = offsets,
                                        .effects = effects,
                                        .counters = p->counters};
    status = copse_device_fill(device, device->main, effects + n, 0, sizeof *effects);
    if (status == COPSE_OK)
        status = copse_device_launch(device, device->main, &copse_blink_kernels_of(index)->locate,
                                     copse_device_blocks(device, n), &arguments);
    if (status == COPSE_OK)
        status = device->backend->primitives->scan_u64(device, device->main, effects, effects, n + 1);
    p->arguments.base_leaves = arguments.base_leaves;
    p->arguments.offsets = arguments.offsets;
    p->arguments.effects = effects;
    return status;
}

/* Counts the entries that there will be, and those in front of what becomes of each base leaf. */
static copse_status count_base_leaves(copse_rebuilder *p, uint64_t *out_entries)
{
    const copse_index *index = p->index;
    copse_device *device = index->device;
    const uint64_t base_leaves = copse_blink_anchors(&p->arguments.from), n = p->arguments.operations.n;
    uint64_t effects = 0;
    copse_status status = copse_rebuild_take(p, COPSE_REBUILD_BEFORE, (base_leaves + 1) * sizeof(uint64_t));
    if (status == COPSE_OK && n)
        status = copse_rebuild_take(p, COPSE_REBUILD_STARTS, (base_leaves + 1) * sizeof(uint32_t));
    p->arguments.before = p->scratch[COPSE_REBUILD_BEFORE].memory;
    p->arguments.starts = p->scratch[COPSE_REBUILD_STARTS].memory;
    if (status == COPSE_OK)
        status = copse_rebuild_launch(p, &copse_blink_kernels_of(index)->rebuild_count, base_leaves + 1);
    if (status == COPSE_OK)
        status = device->backend->primitives->scan_u64(device, device->main, p->arguments.before, p->arguments.before,
                                                       base_leaves + 1);
    if (status == COPSE_OK && n)
        status = copse_device_copy(device, device->main, &effects, p->arguments.effects + n, sizeof effects);
    if (status == COPSE_OK)
        status = copse_device_read(device, device->main, out_entries, p->arguments.before + base_leaves,
                                   sizeof *out_entries);
    if (status != COPSE_OK) return status;
    /* With duplicates an erased key may take many entries, which the effects do not count. */
    const uint64_t before = p->arguments.from.entries, after = *out_entries;
    p->changed =
        p->index->duplicates ? (after > before ? after - before : before - after) : (uint32_t)effects + (effects >> 32);
    return COPSE_OK;
}

static copse_status fill_base_leaves(copse_rebuilder *p)
{
    const copse_blink_kernels *kernels = copse_blink_kernels_of(p->index);
    const uint64_t lanes = 16; /* of a leaf, at most */
    copse_status status =
        copse_rebuild_launch(p, &kernels->rebuild_old, copse_blink_anchors(&p->arguments.from) * lanes);
    if (status == COPSE_OK && p->arguments.operations.n && p->arguments.operations.values)
        status = copse_rebuild_launch(p, &kernels->rebuild_new, p->arguments.operations.n);
    return status;
}

static copse_status rebuild_base_leaves(copse_rebuilder *p)
{
    uint64_t entries = 0;
    p->arguments.tiles = 0;
    copse_status status = p->arguments.operations.n ? locate(p) : COPSE_OK;
    if (status == COPSE_OK) status = count_base_leaves(p, &entries);
    return status == COPSE_OK ? epoch_fill(p, entries, fill_base_leaves) : status;
}

copse_rebuilder copse_rebuild_begin(const copse_index *index, const copse_blink_epoch *from,
                                    const copse_blink_operations *operations, uint64_t low, uint64_t high)
{
    const bool any = operations && operations->n, some = from->view.entries != 0;
    copse_rebuilder p = {.index = index,
                         .arguments = {.from = from->view,
                                       .chains = from->pool_taken != 0,
                                       .low = some ? from->low : UINT64_MAX,
                                       .high = some ? from->high : 0},
                         .old = from,
                         .counters = from->counters,
                         .pool_taken = from->pool_taken,
                         .known = from->known,
                         .low = any && (!some || low < from->low) ? low : from->low,
                         .high = any && (!some || high > from->high) ? high : from->high};
    if (operations) p.arguments.operations = *operations;
    return p;
}

int copse_blink_rebuild(const copse_index *index, const copse_blink_epoch *from, copse_rebuild_kind kind,
                        const copse_blink_operations *operations, const void *input, uint64_t low, uint64_t high,
                        copse_blink_epoch **out, uint64_t *out_changed)
{
    copse_rebuilder p = copse_rebuild_begin(index, from, operations, low, high);
    const int outcome = kind == COPSE_INDEPENDENT ? copse_rebuild_independent(&p, input, low, high)
                        : kind == COPSE_LOOKBACK  ? rebuild_tiles(&p)
                                                  : (int)rebuild_base_leaves(&p);
    *out_changed = p.changed;
    return outcome == COPSE_DECLINED ? outcome : (int)copse_rebuild_finish(&p, (copse_status)outcome, out);
}
