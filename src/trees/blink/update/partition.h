/*
 * Template: partitions a large unsorted batch into buckets. A bucket has the operations of so many neighbouring base leaves.
 *
 * The levels know which keys belong to which base leaf, so they also know where a bucket ends: at the separator of its last base leaf. A
 * block takes a tile of the batch, counts how many of its operations go into each bucket, reserves that many slots of each bucket by one
 * addition, and writes the operations there. Within a bucket they lie in any order, until blink/update/bucket_sort.h sorts them.
 *
 * Separators have 32 bits here: they are keys of 32 bits, or digests of longer ones. A bucket has whole nodes of the lowest level.
 */
#pragma once

#include "gpu/kernel.h"
#include "gpu/levels_walk.h"
#include "gpu/pairs.h"
#include "trees/blink/layout.h"
#include "trees/blink/update/arguments.h"

/* Operations of a thread, which keeps them in registers; threads of a block. */
#define PARTITION_EACH    (KEY_BITS + VALUE_BITS == 64 ? 16u : 8u)
#define PARTITION_THREADS (COPSE_PARTITION_TILE / PARTITION_EACH)
/* Buckets of a thread. */
#define PARTITION_OWN (COPSE_BUCKET_SORT_BUCKETS / PARTITION_THREADS)
/* Operations that shared memory holds at a time, in the order of their buckets. */
#define PARTITION_SLOTS (KEY_BITS + VALUE_BITS == 128 ? 1664u : KEY_BITS + VALUE_BITS == 96 ? 2048u : 2736u)
/* `where` of an operation is first four times its bucket and, above that, its number among the tile's operations of that bucket, which
 * the counting addition returned; then its bucket and, above that, its slot in the tile in the order of buckets. `words` in shared memory
 * have its number in the tile and, above that, its bucket. */
#define PARTITION_BUCKET_BITS     11u
#define PARTITION_NUMBER_BITS     13u
#define PARTITION_ONE             (4u << PARTITION_BUCKET_BITS)
#define PARTITION_LOW(word, bits) ((word) & ((1u << (bits)) - 1u))
#define PARTITION_NOWHERE         (2u * COPSE_PARTITION_TILE - 1u)

/* What a thread keeps of its operations. */
typedef struct partitioned {
    uint32_t start, count; /* of the tile */
    KEY key[PARTITION_EACH];
    VALUE value[PARTITION_EACH];
    uint32_t where[PARTITION_EACH];
} partitioned;

/* What a block shares. */
typedef struct tile_partition {
    uint32_t *boundaries; /* of the buckets; then, in the same memory: */
    KEY *keys;            /* operations by bucket                     */
    VALUE *values;
    uint32_t *words;
    uint32_t *counts; /* of the buckets; then: the first slot of this block's operations in each */
    uint16_t *starts; /* of the buckets in the tile                */
    uint32_t *sums;   /* of each warp; behind them: 1, this is the last block */
} tile_partition;

/* The separator of the last child of a node of the lowest level, which lies in a level above: no key below the node is greater, as far as
 * separators compare keys. */
SIMT_DEVICE uint32_t node_separator(const copse_blink_tree *tree, uint32_t node)
{
    uint32_t at = node;
    if (node >= (tree->base_leaves - 1u) / DIGEST_FANOUT) return UINT32_MAX;
    for (uint32_t l = tree->levels.height - 1u; l-- > 0;) {
        const uint32_t above = at / DIGEST_FANOUT, child = at - above * DIGEST_FANOUT;
        if (child + 1u < DIGEST_FANOUT)
            return ((const uint32_t *)tree->levels.level[l])[(uint64_t)above * (DIGEST_FANOUT - 1u) + child];
        at = above; /* the last child of a node has its separator one level up */
    }
    return UINT32_MAX;
}

/* The 32 bits by which a key is compared with separators. */
SIMT_DEVICE uint32_t partition_digest(const copse_blink_tree *tree, KEY key)
{
    return walk_start(&tree->levels, KEY_BITS == 64, key).digest;
}

SIMT_DEVICE void bucket_sort_wrong(const copse_bucket_sort_arguments *a)
{
    simt_store_relaxed_u64(&a->counters->speculation.wrong, 1u);
}

/* Do the first keys of the batch look sorted? Then the next batch is surveyed before it is sorted. */
SIMT_DEVICE void partition_sample(const copse_bucket_sort_arguments *a)
{
    if (a->operations.n < SIMT_WARP || blockIdx.x != 0 || simt_warp() != 0) return;
    const KEY key = ENCODE_ONE(a->tree.key_type, ((const KEY *)a->operations.keys)[simt_lane()]);
    const KEY before = COPSE_BITS(simt_shfl_up_u, KEY_BITS)(SIMT_FULL_MASK, key, 1);
    const bool rises = __all_sync(SIMT_FULL_MASK, before <= key);
    if (rises && simt_lane() == 0) a->counters->speculation.ascending = 1u;
}

/* Finds where buckets end, once for all blocks, and makes them empty. */
SIMT_KERNEL(NAME(partition_bounds), copse_bucket_sort_arguments, COPSE_KERNEL_THREADS, 8)
{
    const uint32_t bucket = blockIdx.x * COPSE_KERNEL_THREADS + threadIdx.x;
    partition_sample(&a);
    if (bucket == 0) *a.ticket = 0;
    if (bucket >= COPSE_BUCKET_SORT_BUCKETS) return;
    a.boundaries[bucket] =
        bucket < a.buckets ? node_separator(&a.tree, (bucket + 1u) * a.bucket_nodes - 1u) : UINT32_MAX;
    a.cursors[bucket] = 0;
}

/* The number of operation r of this thread in the tile, and whether there is one. */
SIMT_DEVICE uint32_t partition_number(uint32_t r)
{
    return threadIdx.x + r * PARTITION_THREADS;
}

SIMT_DEVICE bool partition_there(const partitioned *own, uint32_t r)
{
    return (int32_t)threadIdx.x <
           (int32_t)(own->count - r * PARTITION_THREADS); /* so that all threads share what depends on r */
}

SIMT_DEVICE void partition_keys(const copse_bucket_sort_arguments *a, partitioned *own)
{
    const KEY *keys = (const KEY *)a->operations.keys + own->start;
    SIMT_UNROLL
    for (uint32_t r = 0; r < PARTITION_EACH; r++) own->key[r] = partition_there(own, r) ? keys[partition_number(r)] : 0;
}

/* A batch with a NaN is refused, and the error names the position of the first one. */
SIMT_DEVICE void partition_numbers_only(const copse_bucket_sort_arguments *a, const partitioned *own)
{
    uint32_t bad = UINT32_MAX;
    SIMT_UNROLL
    for (uint32_t r = PARTITION_EACH; r-- > 0;)
        if (IS_NAN(KEY_BITS == 32 ? COPSE_F32 : COPSE_F64, own->key[r])) bad = own->start + partition_number(r);
    if (bad == UINT32_MAX) return;
    simt_atomic_max_u64(&a->counters->speculation.not_first_nan, ~(uint64_t)bad);
    bucket_sort_wrong(a);
}

SIMT_DEVICE void partition_encode(const copse_bucket_sort_arguments *a, partitioned *own)
{
    const copse_type type = a->tree.key_type;
    if (type == (KEY_BITS == 32 ? COPSE_U32 : COPSE_U64)) return; /* they are their own code */
    if (type == (KEY_BITS == 32 ? COPSE_F32 : COPSE_F64)) partition_numbers_only(a, own);
    SIMT_UNROLL
    for (uint32_t r = 0; r < PARTITION_EACH; r++) own->key[r] = ENCODE_ONE(type, own->key[r]);
}

/* One step of a binary search: skips `half` separators from `at` on where the last of them is less. Both count bytes, which takes one
 * instruction less. */
SIMT_DEVICE uint32_t partition_step(const uint32_t *separators, uint32_t at, uint32_t half, uint32_t digest)
{
    const uint32_t next = at + half;
    return *(const uint32_t *)((const char *)separators + (next - 4u)) < digest ? next : at;
}

/* How many of `left` separators a step of the search may skip: about a half, but an odd number while there are many. With powers of two
 * the separators that the lanes of a warp load would lie in few banks of shared memory. */
SIMT_DEVICE uint32_t partition_half(uint32_t left)
{
    return left > 64u ? (left / 2u - 1u) | 1u : left / 2u;
}

/* Finds the buckets of the first `some` operations of the thread, times four. */
SIMT_DEVICE void partition_search(const copse_bucket_sort_arguments *a, const uint32_t *boundaries, uint32_t some,
                                  partitioned *own)
{
    uint32_t digests[PARTITION_EACH];
    SIMT_UNROLL
    for (uint32_t r = 0; r < PARTITION_EACH; r++) own->where[r] = 0;
    SIMT_UNROLL
    for (uint32_t r = 0; r < some; r++) digests[r] = partition_digest(&a->tree, own->key[r]);
    SIMT_ROLLED
    for (uint32_t left = a->buckets, half; left > 1u; left -= half) {
        half = partition_half(left);
        SIMT_UNROLL
        for (uint32_t r = 0; r < some; r++)
            own->where[r] = partition_step(boundaries, own->where[r], half * 4u, digests[r]);
    }
}

/* Finds the buckets of all operations and counts how many go into each. */
SIMT_DEVICE void partition_find(const copse_bucket_sort_arguments *a, const tile_partition *tile, partitioned *own)
{
    if (a->each <= PARTITION_EACH / 2u)
        partition_search(a, tile->boundaries, PARTITION_EACH / 2u, own);
    else
        partition_search(a, tile->boundaries, PARTITION_EACH, own);
    /* Operations beyond the tile add 0: that costs less than a branch. */
    SIMT_UNROLL
    for (uint32_t r = 0; r < PARTITION_EACH; r++) {
        uint32_t *count = (uint32_t *)((char *)tile->counts + own->where[r]);
        own->where[r] = simt_atomic_add_u32(count, partition_there(own, r) ? PARTITION_ONE : 0);
    }
}

/* Prefetches the values: the threads need them last, and have no registers to hold them sooner. */
SIMT_DEVICE void partition_values_ahead(const copse_bucket_sort_arguments *a, const partitioned *own)
{
    const uint64_t begin = (uint64_t)a->operations.values + (uint64_t)own->start * sizeof(VALUE);
    const uint64_t end = begin + (uint64_t)own->count * sizeof(VALUE);
    const uint64_t each = sizeof(VALUE) * PARTITION_EACH * SIMT_WARP,
                   first = (begin + 15u) / 16u * 16u + simt_warp() * each;
    if (a->operations.action == COPSE_ACTION_ERASE || !a->operations.values || simt_lane() != 0) return;
    const uint64_t left = first < end ? (end - first) / 16u * 16u : 0;
    if (left) simt_prefetch((const void *)first, (uint32_t)(left < each ? left : each));
}

/* Loads the values. Most tiles are full, and there no load needs a condition. */
SIMT_DEVICE void partition_values(const copse_bucket_sort_arguments *a, partitioned *own)
{
    if (a->operations.action == COPSE_ACTION_ERASE) {
        SIMT_UNROLL
        for (uint32_t r = 0; r < PARTITION_EACH; r++) own->value[r] = 0;
    } else if (a->operations.values) {
        const VALUE *values = (const VALUE *)a->operations.values + own->start;
        if (own->count == COPSE_PARTITION_TILE) {
            SIMT_UNROLL
            for (uint32_t r = 0; r < PARTITION_EACH; r++) own->value[r] = values[partition_number(r)];
            return;
        }
        SIMT_UNROLL
        for (uint32_t r = 0; r < PARTITION_EACH; r++)
            own->value[r] = values[partition_there(own, r) ? partition_number(r) : 0];
    } else {
        SIMT_UNROLL
        for (uint32_t r = 0; r < PARTITION_EACH; r++)
            own->value[r] = position_value(a->tree.value_type, (uint64_t)own->start + partition_number(r));
    }
}

/* The sum of the values of this lane and of all lanes below it. */
SIMT_DEVICE uint32_t lanes_sum(uint32_t value)
{
    SIMT_UNROLL
    for (uint32_t step = 1; step < SIMT_WARP; step *= 2u) {
        const uint32_t other = simt_shfl_up_u32(SIMT_FULL_MASK, value, step);
        value += simt_lane() >= step ? other : 0;
    }
    return value;
}

/* The sum of the values of all threads in front of this one. Has a barrier in it. */
SIMT_DEVICE uint32_t partition_sum(uint32_t *sums, uint32_t value)
{
    uint32_t before = lanes_sum(value);
    if (simt_lane() == SIMT_WARP - 1u) sums[simt_warp()] = before;
    __syncthreads();
    before -= value;
    SIMT_ROLLED
    for (uint32_t w = 0; w < simt_warp(); w++) before += sums[w];
    return before;
}

/* Reserves slots in all buckets, and finds where the operations of each begin in the tile. Ends with a barrier. */
SIMT_DEVICE void partition_take(const copse_bucket_sort_arguments *a, const tile_partition *tile)
{
    uint32_t cursor[PARTITION_OWN], count[PARTITION_OWN], sum = 0;
    SIMT_UNROLL
    for (uint32_t k = 0; k < PARTITION_OWN; k++)
        cursor[k] = tile->counts[threadIdx.x + k * PARTITION_THREADS] / PARTITION_ONE;
    SIMT_UNROLL
    for (uint32_t k = 0; k < PARTITION_OWN; k++)
        if (cursor[k]) cursor[k] = simt_atomic_add_u32(&a->cursors[threadIdx.x + k * PARTITION_THREADS], cursor[k]);
    SIMT_UNROLL
    for (uint32_t k = 0; k < PARTITION_OWN; k++)
        sum += count[k] = tile->counts[threadIdx.x * PARTITION_OWN + k] / PARTITION_ONE;
    uint32_t before = partition_sum(tile->sums, sum);
    SIMT_UNROLL
    for (uint32_t k = 0; k < PARTITION_OWN; k++) {
        tile->starts[threadIdx.x * PARTITION_OWN + k] = (uint16_t)before;
        before += count[k];
    }
    SIMT_UNROLL
    for (uint32_t k = 0; k < PARTITION_OWN; k++) tile->counts[threadIdx.x + k * PARTITION_THREADS] = cursor[k];
    __syncthreads();
}

/* The slots of this thread's operations in the tile, in the order of buckets. */
SIMT_DEVICE void partition_positions(const tile_partition *tile, partitioned *own)
{
    SIMT_UNROLL
    for (uint32_t r = 0; r < PARTITION_EACH; r++) {
        const uint32_t bucket = PARTITION_LOW(own->where[r] >> 2, PARTITION_BUCKET_BITS);
        const uint32_t at = tile->starts[bucket] + own->where[r] / PARTITION_ONE;
        own->where[r] = bucket | (partition_there(own, r) ? at : PARTITION_NOWHERE) << PARTITION_BUCKET_BITS;
    }
}

/* The positions of operations in the batch, where these do not fit next to key and value. */
SIMT_DEVICE uint32_t *partition_numbers(const copse_bucket_sort_arguments *a)
{
    return (uint32_t *)((simt_u32x4 *)a->partitions + (uint64_t)a->buckets * a->room);
}

/* Copies operations to shared memory whose slots in the tile begin with `first`. It computes all from the difference to `first`, so that
 * the compiler keeps nothing for the next time. */
SIMT_DEVICE void partition_slots(const tile_partition *tile, uint32_t first, const partitioned *own)
{
    SIMT_UNROLL
    for (uint32_t r = 0; r < PARTITION_EACH; r++) {
        const uint32_t at = own->where[r] - (first << PARTITION_BUCKET_BITS), slot = at >> PARTITION_BUCKET_BITS;
        if (at >= PARTITION_SLOTS << PARTITION_BUCKET_BITS) continue;
        tile->keys[slot] = own->key[r];
        tile->values[slot] = own->value[r];
        tile->words[slot] = partition_number(r) | PARTITION_LOW(at, PARTITION_BUCKET_BITS) << PARTITION_NUMBER_BITS;
    }
}

/* Writes operation i of the batch to slot `to` of the buckets. */
SIMT_DEVICE void partition_store(const copse_bucket_sort_arguments *a, uint32_t to, uint32_t i, KEY key, VALUE value)
{
    simt_u32x4 v;
    v.x = (uint32_t)key;
    v.y = KEY_BITS == 64 ? (uint32_t)((uint64_t)key >> 32) : i;
    v.z = (uint32_t)value;
    v.w = VALUE_BITS == 64 ? (uint32_t)((uint64_t)value >> 32) : i;
    ((simt_u32x4 *)a->partitions)[to] = v;
    if (KEY_BITS + VALUE_BITS == 128) partition_numbers(a)[to] = i;
}

/* Writes operations from shared memory to their buckets: those of a bucket are neighbours in both. */
SIMT_DEVICE void partition_write(const copse_bucket_sort_arguments *a, const tile_partition *tile, uint32_t first,
                                 const partitioned *own)
{
    const uint32_t left = own->count - first, some = left < PARTITION_SLOTS ? left : PARTITION_SLOTS;
    bool full = false;
    SIMT_UNROLL
    for (uint32_t s = 0; s < PARTITION_SLOTS; s += PARTITION_THREADS) {
        const uint32_t slot = s + threadIdx.x;
        if (slot >= some) continue;
        const uint32_t word = tile->words[slot], bucket = word >> PARTITION_NUMBER_BITS;
        const uint32_t at = tile->counts[bucket] + (first + slot - tile->starts[bucket]);
        const uint32_t to = bucket * a->room + at, i = own->start + PARTITION_LOW(word, PARTITION_NUMBER_BITS);
        full |= at >= a->room;
        if (at < a->room) partition_store(a, to, i, tile->keys[slot], tile->values[slot]);
    }
    if (full) bucket_sort_wrong(a);
}

/* Is this the last block to reserve its slots? One thread calls this, when all threads of the block have reserved theirs. */
SIMT_DEVICE uint32_t partition_last(const copse_bucket_sort_arguments *a)
{
    __threadfence();
    return simt_atomic_add_u32(a->ticket, 1u) == gridDim.x - 1u;
}

/* The last block sums up the operations in front of each bucket: all blocks have reserved their slots by then. */
SIMT_DEVICE void partition_bases(const copse_bucket_sort_arguments *a, const tile_partition *tile)
{
    uint32_t count[PARTITION_OWN], sum = 0;
    SIMT_UNROLL
    for (uint32_t k = 0; k < PARTITION_OWN; k++)
        sum += count[k] = simt_load_relaxed_u32(&a->cursors[threadIdx.x * PARTITION_OWN + k]);
    uint32_t before = partition_sum(tile->sums, sum);
    SIMT_UNROLL
    for (uint32_t k = 0; k < PARTITION_OWN; k++) {
        a->bases[threadIdx.x * PARTITION_OWN + k] = before;
        before += count[k];
    }
}

/* Writes the operations of the tile from registers through shared memory to their buckets, some at a time. Ends with a barrier. */
SIMT_DEVICE void partition_out(const copse_bucket_sort_arguments *a, const tile_partition *tile, const partitioned *own)
{
    SIMT_ROLLED
    for (uint32_t first = 0; first < own->count; first += PARTITION_SLOTS) {
        partition_slots(tile, first, own);
        __syncthreads();
        partition_write(a, tile, first, own);
        __syncthreads();
    }
}

/* A block partitions a tile of the batch. */
SIMT_KERNEL(NAME(partition), copse_bucket_sort_arguments, PARTITION_THREADS, (KEY_BITS + VALUE_BITS == 64 ? 2 : 1))
{
    SIMT_SHARED(simt_u32x4, slots, PARTITION_SLOTS * (KEY_BITS + VALUE_BITS + 32u) / 128u);
    SIMT_SHARED(simt_u32x4, counts, COPSE_BUCKET_SORT_BUCKETS / 4u);
    SIMT_SHARED(uint16_t, starts, COPSE_BUCKET_SORT_BUCKETS);
    SIMT_SHARED(uint32_t, sums, PARTITION_THREADS / SIMT_WARP + 1u);
    KEY *keys = (KEY *)slots;
    VALUE *values = (VALUE *)(keys + PARTITION_SLOTS);
    const tile_partition tile = {(uint32_t *)slots,  keys,   values, (uint32_t *)(values + PARTITION_SLOTS),
                                 (uint32_t *)counts, starts, sums};
    const uint32_t most = a.each * PARTITION_THREADS, n = (uint32_t)a.operations.n;
    partitioned own;
    own.start = blockIdx.x * most;
    own.count = n - own.start < most ? n - own.start : most;
    partition_keys(&a, &own);
    partition_values_ahead(&a, &own);
    if (threadIdx.x < COPSE_BUCKET_SORT_BUCKETS / 4u) {
        const simt_u32x4 none = {threadIdx.x * 16u, threadIdx.x * 16u + 4u, threadIdx.x * 16u + 8u,
                                 threadIdx.x * 16u + 12u};
        simt_fetch16(&slots[threadIdx.x], a.boundaries + threadIdx.x * 4u);
        counts[threadIdx.x] = none;
    }
    simt_fetch_wait();
    __syncthreads();
    partition_encode(&a, &own);
    partition_find(&a, &tile, &own);
    __syncthreads();
    partition_take(&a, &tile);
    if (threadIdx.x == 0) sums[PARTITION_THREADS / SIMT_WARP] = partition_last(&a);
    partition_positions(&tile, &own);
    partition_values(&a, &own);
    partition_out(&a, &tile, &own);
    if (sums[PARTITION_THREADS / SIMT_WARP]) partition_bases(&a, &tile);
}
