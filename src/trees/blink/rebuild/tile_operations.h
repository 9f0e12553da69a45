/* Template: the operations of a tile (rebuild/tile.h): which they are, and what they do with the entries of its leaves. */
#pragma once

#include "trees/blink/node/leaf.h"
#include "trees/blink/node/row.h"
#include "trees/blink/rebuild/arguments.h"
#include "trees/blink/rebuild/tile.h"
#include "trees/blink/rebuild/tile_rows.h"
#include "trees/blink/update/arguments.h"
#include "trees/blink/update/locate.h"

/* Of operations first .. end - 1, the first whose key is greater than `high`, where the lowest `coarse` bits of both do
 * not count. Each step leaves 1/TILE_FANOUT: neighbouring threads mostly read the same keys, and the time goes into
 * steps that wait for each other. */
SIMT_DEVICE uint64_t tile_seek(const copse_blink_operations *operations, uint64_t first, uint64_t end, KEY high)
{
    const KEY *keys = (const KEY *)operations->keys;
    const uint32_t coarse = operations->coarse;
    while (first < end) {
        const uint64_t step = (end - first + TILE_FANOUT - 1u) / TILE_FANOUT;
        uint32_t below = 0;
        SIMT_UNROLL
        for (uint32_t probe = 1; probe < TILE_FANOUT; probe++) {
            const uint64_t at = first + probe * step - 1u;
            below += at < end && keys[at] >> coarse <= high >> coarse ? 1u : 0;
        }
        first += below * step;
        if (below + 1u < TILE_FANOUT && first + step - 1u < end) end = first + step - 1u;
    }
    return first;
}

SIMT_KERNEL(NAME(tile_starts), copse_rebuild_arguments, COPSE_KERNEL_THREADS, 8)
{
    if (a.operations.speculation && blockIdx.x == 0 && threadIdx.x == 0)
        a.totals->speculation = *a.operations.speculation;
    for (uint64_t t = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; t <= a.tiles;
         t += (uint64_t)gridDim.x * blockDim.x) {
        uint64_t start = t == 0 ? 0 : a.operations.n;
        if (t > 0 && t < a.tiles) {
            const KEY high = base_leaf_high(&a.from, (uint32_t)t * a.tile_base_leaves - 1u);
            /* Behind their equals: those equal to `high` belong to this tile, which may begin with that key, too. */
            start = !operations_repeat(&a.from, &a.operations) ? tile_seek(&a.operations, 0, a.operations.n, high)
                    : high ? tile_seek(&a.operations, 0, a.operations.n, (KEY)(high - 1u))
                           : 0;
        }
        a.starts[t] = (uint32_t)start;
    }
}

/* One operation of a tile. */
typedef struct tile_operation {
    KEY key;
    VALUE value;
    copse_action action;
    bool live; /* there is one, and no other with the same key counts in its stead */
} tile_operation;

/* Loads operation i, where `there`. */
SIMT_DEVICE tile_operation tile_fetch(const copse_blink_operations *operations, uint32_t i, bool there)
{
    const KEY *keys = (const KEY *)operations->keys;
    const uint32_t other = operations->last_wins ? i + 1u : i - 1u; /* of equal keys one counts: see operation_dead */
    tile_operation operation;
    operation.key = 0;
    operation.value = 0;
    operation.action = operations->action;
    operation.live = false;
    if (!there) return operation;
    operation.key = keys[i];
    operation.live = operations->last_wins > 1u || other >= (uint32_t)operations->n || keys[other] != operation.key;
    if (operations->gone || operations->row) {
        operation.action = operation_action(operations, i);
        if (operations->values) operation.value = operation_value(operations, i);
    } else if (operations->values) {
        operation.value = ((const VALUE *)operations->values)[i];
    }
    return operation;
}

/* What it does in the tile. */
typedef struct tile_fate {
    uint32_t row, slot; /* of its key */
    uint32_t before;    /* entries of the tile in front of it */
    bool inserts, removes, replaces;
} tile_fate;

/* The row where a key belongs, which is not greater than `high` of the last one. */
SIMT_DEVICE uint32_t tile_row_of(const leaf_tile *tile, KEY key)
{
    uint32_t at = 0; /* in bytes */
    SIMT_UNROLL
    for (uint32_t step = COPSE_TILE_LEAVES / 2u; step > 0; step /= 2u)
        if (*(const KEY *)((const char *)&tile->highs[step - 1u] + at) < key) at += step * (uint32_t)sizeof(KEY);
    return at / (uint32_t)sizeof(KEY);
}

/* Of the keys of a row, how many are < key. Free slots hold the largest key. */
SIMT_DEVICE uint32_t tile_slot_of(leaf_tile *tile, uint32_t row, KEY key)
{
    uint32_t slot = 0;
    SIMT_UNROLL
    for (uint32_t step = LEAF_SLOTS >= 8u ? 8u : 4u; step > 0; step /= 2u)
        if (slot + step <= LEAF_SLOTS && tile_key(tile, row, (slot + step - 1u) * ROW_KEY) < key) slot += step;
    return slot;
}

/* `behind`: 0, or the leaves of a tile where keys repeat: each operation inserts its key behind the equal ones. These are the keys
 * < key + 1, and for the largest key all there are. */
SIMT_DEVICE tile_fate tile_fate_of(leaf_tile *tile, const tile_operation *operation, uint32_t behind)
{
    const bool largest = behind && operation->key == KEY_MAX;
    const KEY key = (KEY)(operation->key + (KEY)(behind && !largest));
    tile_fate fate;
    fate.row = largest ? behind - 1u : tile_row_of(tile, key);
    const uint32_t count = *tile_word(tile, fate.row, LEAF_STATE / 4u) & COPSE_LEAF_COUNT;
    fate.slot = largest ? count : tile_slot_of(tile, fate.row, key);
    if (behind && fate.slot > count) fate.slot = count; /* free slots hold the largest key */
    fate.before = tile->fronts[fate.row] + fate.slot;
    const bool there = !behind && fate.slot < count && tile_key(tile, fate.row, fate.slot * ROW_KEY) == operation->key;
    fate.inserts = operation->live && !there && operation->action != COPSE_ACTION_ERASE;
    fate.removes = operation->live && there && operation->action == COPSE_ACTION_ERASE;
    fate.replaces = operation->live && there && operation->action == COPSE_ACTION_UPSERT;
    return fate;
}

/* Carries an operation out: `position` is that of its entry after all operations. */
SIMT_DEVICE void tile_change(leaf_tile *tile, const tile_fate *fate, const tile_operation *operation, uint32_t position)
{
    if (fate->replaces) tile_set_value(tile, fate->row, fate->slot, operation->value);
    if (fate->removes) (void)simt_atomic_or_u32(&tile->removed[fate->before / 32u], 1u << fate->before % 32u);
    if (fate->inserts) {
        tile->keys[position] = operation->key;
        tile->values[position] = operation->value;
        (void)simt_atomic_or_u32(&tile->inserted[position / 32u], 1u << position % 32u);
    }
    if (fate->inserts || fate->removes)
        (void)simt_atomic_add_u32(&tile->changes[fate->row], fate->inserts ? 1u : 1u << 16);
}

/* Runs the operations that the lanes have: inserted entries go to their positions, values are replaced in the rows, and
 * the sets and `changes` note what is inserted and removed. Returns false where not all fit. */
SIMT_DEVICE bool tile_operate(leaf_tile *tile, const tile_operation *operation, bool repeat, tile_sizes *sizes)
{
    const uint32_t below = (1u << simt_lane()) - 1u;
    const tile_fate fate = tile_fate_of(tile, operation, repeat ? sizes->leaves : 0);
    const uint32_t in = __ballot_sync(SIMT_FULL_MASK, fate.inserts), out = __ballot_sync(SIMT_FULL_MASK, fate.removes);
    const uint32_t position =
        fate.before + sizes->came + (uint32_t)__popc(in & below) - sizes->went - (uint32_t)__popc(out & below);
    sizes->came += (uint32_t)__popc(in);
    sizes->went += (uint32_t)__popc(out);
    if (sizes->entries + sizes->came > TILE_ENTRIES) return false;
    tile_change(tile, &fate, operation, position);
    return true;
}

/* The same with n operations from `start` on, of which the lanes have the first. */
SIMT_DEVICE bool tile_operate_all(const copse_rebuild_arguments *a, leaf_tile *tile, uint32_t start, uint32_t n,
                                  tile_operation next, tile_sizes *sizes)
{
    for (uint32_t done = 0; done < n; done += SIMT_WARP) {
        const tile_operation operation = next;
        const uint32_t i = done + SIMT_WARP + simt_lane();
        if (done + SIMT_WARP < n) next = tile_fetch(&a->operations, start + i, i < n);
        if (!tile_operate(tile, &operation, operations_repeat(&a->from, &a->operations), sizes)) return false;
    }
    __syncwarp(SIMT_FULL_MASK);
    return true;
}

/* --- a whole tile ------------------------------------------------------------------------------------------------- */

/* Fetches a tile into shared memory, or of one without operations what fits behind the first `skip` leaves, and runs its operations.
 * Returns false where it does not fit. */
SIMT_DEVICE bool tile_make(const copse_rebuild_arguments *a, leaf_tile *tile, uint32_t t, uint32_t skip,
                           tile_sizes *sizes)
{
    const uint32_t lane = simt_lane();
    const uint32_t start = a->operations.n ? a->starts[t] : 0, n = a->operations.n ? a->starts[t + 1u] - start : 0;
    const tile_operation next = tile_fetch(&a->operations, start + lane, lane < n);
    if (!tile_load(a, tile, t, skip, sizes) || n > TILE_OPERATIONS || (n && sizes->behind)) return false;
    return n == 0 || tile_operate_all(a, tile, start, n, next, sizes);
}

/* Some tile does not fit: stops the work of all warps. */
SIMT_DEVICE void tiles_stop(const copse_rebuild_arguments *a)
{
    if (simt_lane() == 0) (void)simt_atomic_or_u32(&a->totals->ticket, COPSE_TILES_STOP);
}

/* What a warp has done so far. */
typedef struct tile_work {
    uint32_t came, went, took; /* took: operations, where they are counted */
} tile_work;

SIMT_DEVICE void work_add(tile_work *work, const tile_sizes *sizes)
{
    work->came += sizes->came;
    work->went += sizes->went;
}

SIMT_DEVICE void work_publish(const copse_rebuild_arguments *a, const tile_work *work)
{
    const uint32_t stripe = (blockIdx.x * TILE_WARPS + simt_warp()) % COPSE_POOL_STRIPES;
    if (simt_lane() != 0) return;
    if (work->came) (void)simt_atomic_add_u64(&a->totals->came[stripe], work->came);
    if (work->went) (void)simt_atomic_add_u64(&a->totals->went[stripe], work->went);
    if (work->took) (void)simt_atomic_add_u64(&a->totals->took, work->took);
}
