/*
 * Template: a block sorts a bucket of operations (blink/update/partition.h) in shared memory, and finds out all that `plan` does.
 *
 * The separators of the bucket's base leaves lie in shared memory, and every operation finds its base leaf there. The block counts
 * operations by base leaf, or by group of neighbouring base leaves where these are many, and gathers those of a group. A group has few,
 * so that each operation finds its rank by comparison with all others of its group. The result is what a sort would give: ascending
 * keys, equal ones in the caller's order.
 */
#pragma once

#include "gpu/levels_walk.h"
#include "trees/blink/node/leaf.h"
#include "trees/blink/update/arguments.h"
#include "trees/blink/update/locate.h"
#include "trees/blink/update/partition.h"

#define BUCKET_SORT_WARPS (COPSE_BUCKET_SORT_THREADS / SIMT_WARP)
/* Operations of a thread; pieces of four separators that it loads; pieces of four groups that it has. */
#define BUCKET_SORT_BASE_LEAVES COPSE_BUCKET_SORT_BASE_LEAVES(KEY_BITS / 8u, VALUE_BITS / 8u)
#define BUCKET_SORT_EACH        ((COPSE_BUCKET_SORT_ROOM + COPSE_BUCKET_SORT_THREADS - 1u) / COPSE_BUCKET_SORT_THREADS)
#define BUCKET_SORT_PIECES                                                                                             \
    ((BUCKET_SORT_BASE_LEAVES / DIGEST_FANOUT * 4u + COPSE_BUCKET_SORT_THREADS - 1u) / COPSE_BUCKET_SORT_THREADS)
#define GROUP_PIECES (COPSE_BUCKET_SORT_GROUPS(KEY_BITS / 8u, VALUE_BITS / 8u) / 4u / COPSE_BUCKET_SORT_THREADS)
/* A group with more operations than this makes the strategy decline, because each is compared with all others. */
#define BUCKET_SORT_CROWD 64u
/* `where` of an operation is the number of its base leaf in the bucket (the base leaf behind the last one has a number, too) and, above
 * that, its number in its group. `words` have its base leaf and, above that, its number in the bucket as it came. */
#define BUCKET_SORT_BASE_LEAF_BITS  13u
#define BUCKET_SORT_BASE_LEAF(word) ((word) & ((1u << BUCKET_SORT_BASE_LEAF_BITS) - 1u))
/* What is kept of a group: how many operations are in front of it and, above that, how many it has. */
#define BUCKET_SORT_COUNT_SHIFT 16u
/* What a block sums up, behind the sums of its warps. */
#define BUCKET_SORT_STOP  BUCKET_SORT_WARPS        /* 1: another block has found a misprediction */
#define BUCKET_SORT_MANY  (BUCKET_SORT_WARPS + 1u) /* 1: some group has too many operations */
#define BUCKET_SORT_DEAD  (BUCKET_SORT_WARPS + 2u) /* pointless operations                  */
#define BUCKET_SORT_EXTRA (BUCKET_SORT_WARPS + 3u) /* leaves that may be needed             */
#define BUCKET_SORT_SUMS  (BUCKET_SORT_WARPS + 4u)
/* Bytes for keys or values of a bucket, and for them and words; or for the separators. */
#define BUCKET_SORT_WIDE  (COPSE_BUCKET_SORT_ROOM * ((KEY_BITS > VALUE_BITS ? KEY_BITS : VALUE_BITS) / 8u))
#define BUCKET_SORT_BYTES (BUCKET_SORT_WIDE + COPSE_BUCKET_SORT_ROOM * 4u)
#define BUCKET_SORT_AREA                                                                                               \
    (BUCKET_SORT_BYTES > BUCKET_SORT_BASE_LEAVES * 4u ? BUCKET_SORT_BYTES : BUCKET_SORT_BASE_LEAVES * 4u)

/* What a thread keeps of its operations. */
typedef struct bucket_sorted {
    KEY key[BUCKET_SORT_EACH];
    VALUE value[BUCKET_SORT_EACH];
    uint32_t where[BUCKET_SORT_EACH];
} bucket_sorted;

/* What a block shares. */
typedef struct bucket_sort_bucket {
    uint32_t *separators; /* of all base leaves; then, in the same memory, operations by group: */
    KEY *keys;
    uint32_t *words;
    VALUE *values;      /* ... and at last values in order, where the keys were */
    uint16_t *finals;   /* ranks of operations, by their number in the bucket as they came */
    simt_u32x4 *groups; /* how many operations they have, then BUCKET_SORT_COUNT_SHIFT */
    uint32_t *sums;
    uint32_t base_leaf; /* the first one */
    uint32_t nodes;     /* of the lowest level; the base leaves are below them */
    uint32_t base;      /* operations of the buckets in front of this one */
    uint32_t count;     /* ... and of this one */
} bucket_sort_bucket;

SIMT_DEVICE void bucket_load(const copse_bucket_sort_arguments *a, const bucket_sort_bucket *bucket, bucket_sorted *own)
{
    SIMT_UNROLL
    for (uint32_t j = 0; j < BUCKET_SORT_EACH; j++) {
        const uint32_t i = threadIdx.x + j * COPSE_BUCKET_SORT_THREADS;
        simt_u32x4 v = {0, 0, 0, 0};
        if (i < bucket->count) v = simt_load16_once((const simt_u32x4 *)a->partitions + blockIdx.x * a->room + i);
        own->key[j] = KEY_BITS == 64 ? (KEY)walk_join(v.x, v.y) : (KEY)v.x;
        own->value[j] = VALUE_BITS == 64 ? (VALUE)walk_join(v.z, v.w) : (VALUE)v.z;
    }
}

/* Position in the batch of operation i of the bucket. */
SIMT_DEVICE uint32_t bucket_position(const copse_bucket_sort_arguments *a, uint32_t i)
{
    const uint32_t at = blockIdx.x * a->room + i;
    if (KEY_BITS + VALUE_BITS == 128) return partition_numbers(a)[at];
    return ((const uint32_t *)a->partitions)[(uint64_t)at * 4u + (VALUE_BITS == 32 ? 3u : 1u)];
}

/*
 * Loads separators and operations, and sets counts to 0. The nodes of the lowest level are neighbours; the separator of the last child of
 * each lies in a level above. Ends with a barrier. False: there is nothing to be done.
 */
SIMT_DEVICE bool bucket_begin(const copse_bucket_sort_arguments *a, bucket_sort_bucket *bucket, bucket_sorted *own)
{
    const uint32_t node = blockIdx.x * a->bucket_nodes;
    const char *level = a->tree.levels.level[a->tree.levels.height - 1u] + (uint64_t)node * 64u;
    const simt_u32x4 none = {0, 0, 0, 0};
    simt_u32x4 v[BUCKET_SORT_PIECES];
    SIMT_UNROLL
    for (uint32_t j = 0; j < BUCKET_SORT_PIECES; j++) {
        const uint32_t p = threadIdx.x + j * COPSE_BUCKET_SORT_THREADS;
        v[j] = none;
        if (p < bucket->nodes * 4u) v[j] = simt_load16(level + p * 16u);
    }
    bucket_load(a, bucket, own);
    if (threadIdx.x < bucket->nodes)
        bucket->separators[threadIdx.x * DIGEST_FANOUT + DIGEST_FANOUT - 1u] =
            node_separator(&a->tree, node + threadIdx.x);
    SIMT_UNROLL
    for (uint32_t p = 0; p < GROUP_PIECES; p++) bucket->groups[threadIdx.x + p * COPSE_BUCKET_SORT_THREADS] = none;
    /* One thread reads it for all: another block may be writing it. */
    if (threadIdx.x == 0) bucket->sums[BUCKET_SORT_STOP] = simt_load_relaxed_u64(&a->counters->speculation.wrong) != 0;
    if (threadIdx.x > BUCKET_SORT_STOP && threadIdx.x < BUCKET_SORT_SUMS) bucket->sums[threadIdx.x] = 0;
    SIMT_UNROLL
    for (uint32_t j = 0; j < BUCKET_SORT_PIECES; j++) {
        const uint32_t p = threadIdx.x + j * COPSE_BUCKET_SORT_THREADS;
        uint32_t *to = &bucket->separators[p / 4u * DIGEST_FANOUT + p % 4u * 4u];
        if (p >= bucket->nodes * 4u) continue;
        to[0] = v[j].x;
        to[1] = v[j].y;
        to[2] = v[j].z;
        to[3] = v[j].w;
    }
    __syncthreads();
    return bucket->sums[BUCKET_SORT_STOP] == 0 && bucket->count > 0;
}

/* The base leaf of a key, as its number in the bucket. Where digests are equal the thread reads the leaf, and it may be the base leaf
 * behind the last one; equals of the key may reach so far, too. A key that belongs further to the right is a misprediction. */
SIMT_DEVICE uint32_t bucket_base_leaf(const copse_bucket_sort_arguments *a, const bucket_sort_bucket *bucket, KEY key,
                                      uint32_t digest, uint32_t at)
{
    const bool repeats = operations_repeat(&a->tree, &a->operations);
    if ((KEY_BITS == 32 && !repeats) || bucket->separators[at] != digest) return at;
    const uint32_t anchor = cursor_seek(&a->tree, bucket->base_leaf + at, key, NULL).base_leaf;
    const uint32_t base_leaf =
        (repeats ? base_leaf_behind(&a->tree, anchor, key) : anchor_at(&a->tree, anchor).base_leaf) - bucket->base_leaf;
    if (base_leaf <= a->bucket_base_leaves) return base_leaf;
    bucket_sort_wrong(a);
    return a->bucket_base_leaves;
}

/* Finds the base leaves of the first `some` operations of the thread, times four. */
SIMT_DEVICE void bucket_search(const bucket_sort_bucket *bucket, const uint32_t *digests, uint32_t some,
                               bucket_sorted *own)
{
    SIMT_UNROLL
    for (uint32_t j = 0; j < BUCKET_SORT_EACH; j++) own->where[j] = 0;
    for (uint32_t left = bucket->nodes * DIGEST_FANOUT, half; left > 1u; left -= half) {
        half = partition_half(left);
        SIMT_UNROLL
        for (uint32_t j = 0; j < some; j++)
            own->where[j] = partition_step(bucket->separators, own->where[j], half * 4u, digests[j]);
    }
}

/* Finds the base leaves of all operations and counts operations by group. */
SIMT_DEVICE void bucket_find(const copse_bucket_sort_arguments *a, const bucket_sort_bucket *bucket, bucket_sorted *own)
{
    uint32_t digests[BUCKET_SORT_EACH], *counts = (uint32_t *)bucket->groups;
    bool many = false;
    SIMT_UNROLL
    for (uint32_t j = 0; j < BUCKET_SORT_EACH; j++) digests[j] = partition_digest(&a->tree, own->key[j]);
    if (bucket->count <= COPSE_BUCKET_SORT_THREADS)
        bucket_search(bucket, digests, 1u, own);
    else if (bucket->count <= 2u * COPSE_BUCKET_SORT_THREADS)
        bucket_search(bucket, digests, 2u, own);
    else if (bucket->count <= 4u * COPSE_BUCKET_SORT_THREADS)
        bucket_search(bucket, digests, 4u, own);
    else
        bucket_search(bucket, digests, BUCKET_SORT_EACH, own);
    SIMT_UNROLL
    for (uint32_t j = 0; j < BUCKET_SORT_EACH; j++) {
        if (threadIdx.x + j * COPSE_BUCKET_SORT_THREADS >= bucket->count) continue;
        const uint32_t base_leaf = bucket_base_leaf(a, bucket, own->key[j], digests[j], own->where[j] / 4u);
        const uint32_t before = simt_atomic_add_u32(&counts[base_leaf >> a->group_shift], 1u);
        own->where[j] = base_leaf | before << BUCKET_SORT_BASE_LEAF_BITS;
        many |= before >= BUCKET_SORT_CROWD;
    }
    if (!many) return;
    bucket_sort_wrong(a);
    simt_store_relaxed_u32(&bucket->sums[BUCKET_SORT_MANY], 1u);
}

/* Turns the counts of four groups, which `before` operations are in front of, into starts with the counts above them. */
SIMT_DEVICE simt_u32x4 group_starts(simt_u32x4 v, uint32_t before)
{
    simt_u32x4 made;
    made.x = before | v.x << BUCKET_SORT_COUNT_SHIFT;
    made.y = (before + v.x) | v.y << BUCKET_SORT_COUNT_SHIFT;
    made.z = (before + v.x + v.y) | v.z << BUCKET_SORT_COUNT_SHIFT;
    made.w = (before + v.x + v.y + v.z) | v.w << BUCKET_SORT_COUNT_SHIFT;
    return made;
}

/* Counts become starts. Ends with a barrier. */
SIMT_DEVICE void bucket_sum(const bucket_sort_bucket *bucket)
{
    simt_u32x4 v[GROUP_PIECES];
    uint32_t sum = 0, before;
    SIMT_UNROLL
    for (uint32_t p = 0; p < GROUP_PIECES; p++) {
        v[p] = bucket->groups[threadIdx.x * GROUP_PIECES + p];
        sum += v[p].x + v[p].y + v[p].z + v[p].w;
    }
    before = lanes_sum(sum);
    if (simt_lane() == SIMT_WARP - 1u) bucket->sums[simt_warp()] = before;
    __syncthreads();
    before -= sum;
    SIMT_UNROLL
    for (uint32_t w = 0; w < BUCKET_SORT_WARPS - 1u; w++) before += w < simt_warp() ? bucket->sums[w] : 0;
    SIMT_UNROLL
    for (uint32_t p = 0; p < GROUP_PIECES; p++) {
        bucket->groups[threadIdx.x * GROUP_PIECES + p] = group_starts(v[p], before);
        before += v[p].x + v[p].y + v[p].z + v[p].w;
    }
    __syncthreads();
}

/* How many operations are in front of a group. */
SIMT_DEVICE uint32_t group_start(uint32_t word)
{
    return word & ((1u << BUCKET_SORT_COUNT_SHIFT) - 1u);
}

SIMT_DEVICE uint32_t group_of(const copse_bucket_sort_arguments *a, const bucket_sort_bucket *bucket,
                              uint32_t base_leaf)
{
    return ((const uint32_t *)bucket->groups)[base_leaf >> a->group_shift];
}

/* Gathers the operations of each group. Ends with a barrier. */
SIMT_DEVICE void bucket_gather(const copse_bucket_sort_arguments *a, const bucket_sort_bucket *bucket,
                               const bucket_sorted *own)
{
    SIMT_UNROLL
    for (uint32_t j = 0; j < BUCKET_SORT_EACH; j++) {
        const uint32_t i = threadIdx.x + j * COPSE_BUCKET_SORT_THREADS,
                       base_leaf = BUCKET_SORT_BASE_LEAF(own->where[j]);
        if (i >= bucket->count) continue;
        const uint32_t start = group_start(group_of(a, bucket, base_leaf));
        const uint32_t at = start + (own->where[j] >> BUCKET_SORT_BASE_LEAF_BITS);
        bucket->keys[at] = own->key[j];
        bucket->words[at] = base_leaf | i << BUCKET_SORT_BASE_LEAF_BITS;
    }
    __syncthreads();
}

/* How many of `count` operations from `start` on belong to a base leaf. */
SIMT_DEVICE uint32_t base_leaf_count(const bucket_sort_bucket *bucket, uint32_t base_leaf, uint32_t start,
                                     uint32_t count)
{
    uint32_t sum = 0;
    SIMT_ROLLED
    for (uint32_t i = start; i < start + count; i++) sum += BUCKET_SORT_BASE_LEAF(bucket->words[i]) == base_leaf;
    return sum;
}

/* How many operations on the same key come before operation p in the batch. Most keys have none. */
SIMT_DEVICE uint32_t bucket_equals(const copse_bucket_sort_arguments *a, const bucket_sort_bucket *bucket, uint32_t p,
                                   uint32_t start, uint32_t count)
{
    const uint32_t position = bucket_position(a, bucket->words[p] >> BUCKET_SORT_BASE_LEAF_BITS);
    uint32_t before = 0, behind = 0;
    SIMT_ROLLED
    for (uint32_t i = start; i < start + count; i++) {
        if (i == p || bucket->keys[i] != bucket->keys[p]) continue;
        const bool less = bucket_position(a, bucket->words[i] >> BUCKET_SORT_BASE_LEAF_BITS) < position;
        before += less;
        behind += !less;
    }
    const bool dead = a->operations.last_wins == 1u ? behind > 0 : a->operations.last_wins == 0 && before > 0;
    if (dead) simt_atomic_add_u32(&bucket->sums[BUCKET_SORT_DEAD], 1u);
    return before;
}

/* The rank of operation p in the bucket. It lies among those of its group already. */
SIMT_DEVICE uint32_t bucket_rank(const copse_bucket_sort_arguments *a, const bucket_sort_bucket *bucket, uint32_t p,
                                 KEY key, uint32_t base_leaf)
{
    const uint32_t word = group_of(a, bucket, base_leaf), start = group_start(word);
    const uint32_t count = word >> BUCKET_SORT_COUNT_SHIFT;
    const KEY *at = bucket->keys + start, *end = at + count;
    uint32_t less = 0; /* in the upper half: how many are equal */
    if (count == 1u) return p;
    SIMT_ROLLED
    do {
        const KEY other = *at++;
        less += other < key ? 1u : other == key ? 1u << 16 : 0;
    } while (at != end);
    uint32_t position = start + (less & 0xffffu);
    if (less >> 16 > 1u) position += bucket_equals(a, bucket, p, start, count);
    if (count >= PLAN_OWN && base_leaf_count(bucket, base_leaf, start, count) >= PLAN_OWN)
        simt_store_relaxed_u32(&a->counters->crowded, 1u);
    return position;
}

/* Writes keys and base leaves in order. Ends with a barrier. */
SIMT_DEVICE void bucket_store(const copse_bucket_sort_arguments *a, const bucket_sort_bucket *bucket)
{
    const uint32_t last = (uint32_t)a->operations.n - 1u;
    SIMT_ROLLED
    for (uint32_t p = threadIdx.x; p < bucket->count; p += COPSE_BUCKET_SORT_THREADS) {
        const KEY key = bucket->keys[p];
        const uint32_t word = bucket->words[p], base_leaf = BUCKET_SORT_BASE_LEAF(word);
        const uint32_t position = bucket_rank(a, bucket, p, key, base_leaf), to = bucket->base + position;
        bucket->finals[word >> BUCKET_SORT_BASE_LEAF_BITS] = (uint16_t)position;
        ((KEY *)a->out_keys)[to] = key;
        a->out_base_leaves[to] = anchor_find(&a->tree, bucket->base_leaf + base_leaf, key).leaf;
        if (to == 0) a->counters->speculation.smallest = key;
        if (to == last) a->counters->speculation.largest = key;
    }
    __syncthreads();
}

/* Writes values in order. They are still in the registers that they were loaded into. */
SIMT_DEVICE void bucket_store_values(const copse_bucket_sort_arguments *a, const bucket_sort_bucket *bucket,
                                     const bucket_sorted *own)
{
    if (a->operations.action == COPSE_ACTION_ERASE) return;
    VALUE *values = (VALUE *)a->out_values + bucket->base;
    SIMT_UNROLL
    for (uint32_t j = 0; j < BUCKET_SORT_EACH; j++) {
        const uint32_t i = threadIdx.x + j * COPSE_BUCKET_SORT_THREADS;
        if (i < bucket->count) bucket->values[bucket->finals[i]] = own->value[j];
    }
    __syncthreads();
    SIMT_UNROLL
    for (uint32_t j = 0; j < BUCKET_SORT_EACH; j++) {
        const uint32_t i = threadIdx.x + j * COPSE_BUCKET_SORT_THREADS;
        if (i < bucket->count) values[i] = bucket->values[i];
    }
}

/* Counts the leaves that the operations of one base leaf in one_of may need. The last threads do it: they have the fewest operations. */
SIMT_DEVICE void bucket_ask(const copse_bucket_sort_arguments *a, const bucket_sort_bucket *bucket)
{
    const uint32_t thread = COPSE_BUCKET_SORT_THREADS - 1u - threadIdx.x, over = bucket->base_leaf % a->one_of;
    uint32_t base_leaf = (over ? a->one_of - over : 0) + thread * a->one_of;
    uint64_t extra = 0;
    bool crowded = false;
    if (a->operations.action == COPSE_ACTION_ERASE) return;
    SIMT_ROLLED
    for (; base_leaf <= a->bucket_base_leaves; base_leaf += COPSE_BUCKET_SORT_THREADS * a->one_of) {
        const uint32_t word = group_of(a, bucket, base_leaf);
        uint32_t count = word >> BUCKET_SORT_COUNT_SHIFT;
        if (count > 0 && a->group_shift > 0) count = base_leaf_count(bucket, base_leaf, group_start(word), count);
        if (count == 0) continue;
        /* Where digests are equal a base leaf may have operations in two buckets. */
        const bool all = KEY_BITS == 32 || (base_leaf > 0 && base_leaf < a->bucket_base_leaves);
        extra +=
            splits_most(&a->tree, anchor_of_base_leaf(&a->tree, bucket->base_leaf + base_leaf), count, all, &crowded);
    }
    if (extra) simt_atomic_add_u32(&bucket->sums[BUCKET_SORT_EXTRA], (uint32_t)extra);
    if (crowded) simt_store_relaxed_u32(&a->counters->crowded, 1u);
}

/* A block sorts a bucket. */
SIMT_KERNEL(NAME(bucket_sort), copse_bucket_sort_arguments, COPSE_BUCKET_SORT_THREADS, 2)
{
    SIMT_SHARED(simt_u32x4, area, BUCKET_SORT_AREA / 16u);
    SIMT_SHARED(simt_u32x4, groups, COPSE_BUCKET_SORT_GROUPS(KEY_BITS / 8u, VALUE_BITS / 8u) / 4u);
    SIMT_SHARED(uint16_t, finals, COPSE_BUCKET_SORT_ROOM);
    SIMT_SHARED(uint32_t, sums, BUCKET_SORT_SUMS);
    const uint32_t nodes = (a.tree.base_leaves + DIGEST_FANOUT - 1u) / DIGEST_FANOUT - blockIdx.x * a.bucket_nodes;
    const uint32_t count = a.cursors[blockIdx.x];
    bucket_sort_bucket bucket = {(uint32_t *)area,
                                 (KEY *)area,
                                 (uint32_t *)((char *)area + BUCKET_SORT_WIDE),
                                 (VALUE *)area,
                                 finals,
                                 groups,
                                 sums,
                                 blockIdx.x * a.bucket_base_leaves,
                                 nodes < a.bucket_nodes ? nodes : a.bucket_nodes,
                                 a.bases[blockIdx.x],
                                 count < a.room ? count : a.room};
    bucket_sorted own;
    if (!bucket_begin(&a, &bucket, &own)) return;
    bucket_find(&a, &bucket, &own);
    __syncthreads();
    if (sums[BUCKET_SORT_MANY]) return;
    bucket_sum(&bucket);
    bucket_gather(&a, &bucket, &own);
    bucket_ask(&a, &bucket);
    bucket_store(&a, &bucket);
    bucket_store_values(&a, &bucket, &own);
    if (threadIdx.x != 0) return;
    if (sums[BUCKET_SORT_DEAD]) simt_atomic_add_u64(&a.counters->dead, sums[BUCKET_SORT_DEAD]);
    if (sums[BUCKET_SORT_EXTRA]) simt_atomic_add_u64(&a.counters->extra, (uint64_t)sums[BUCKET_SORT_EXTRA] * a.one_of);
}
