/*
 * Template: a block puts a bucket of operations (blink/update/partition.h) in order, and finds out all that `plan` does.
 *
 * The separators of the bucket's homes lie in shared memory, and every operation finds its home there. Operations are counted by
 * home, or by group of homes where these are many, and come to lie side by side with those of the same group; these are few, so
 * that each of them finds its place by a look at all others. What comes out is what a sort would: ascending keys, equal ones in
 * the caller's order.
 */
#ifndef COPSE_TREES_BLINK_UPDATE_BUCKET_SORT_H
#define COPSE_TREES_BLINK_UPDATE_BUCKET_SORT_H

#include "core/widths.h"
#include "gpu/levels_walk.h"
#include "simt/simt.h"
#include "trees/blink/layout.h"
#include "trees/blink/node/leaf.h"
#include "trees/blink/update/locate.h"
#include "trees/blink/update/partition.h"

#define ARRANGE_WARPS (COPSE_ARRANGE_THREADS / SIMT_WARP)
/* Operations of a thread, and pieces of four separators that it loads, of four groups that it has. */
#define ARRANGE_HOMES  COPSE_ARRANGE_HOMES(KEY_BITS / 8u, VALUE_BITS / 8u)
#define ARRANGE_EACH   ((COPSE_ARRANGE_ROOM + COPSE_ARRANGE_THREADS - 1u) / COPSE_ARRANGE_THREADS)
#define ARRANGE_PIECES ((ARRANGE_HOMES / DIGEST_FANOUT * 4u + COPSE_ARRANGE_THREADS - 1u) / COPSE_ARRANGE_THREADS)
#define GROUP_PIECES   (COPSE_ARRANGE_GROUPS(KEY_BITS / 8u, VALUE_BITS / 8u) / 4u / COPSE_ARRANGE_THREADS)
/* A group with more operations than this is not for this way: each of them looks at all others. */
#define ARRANGE_CROWD 64u
/* What is kept of an operation: its home as its number in the bucket (the one behind the last has one, too), and above that its number
 * among those of its group; then its number in the bucket as it came. */
#define ARRANGE_HOME_BITS  13u
#define ARRANGE_HOME(word) ((word) & ((1u << ARRANGE_HOME_BITS) - 1u))
/* What is kept of a group: how many operations are in front of it, and above that how many it has. */
#define ARRANGE_COUNT_SHIFT 16u
/* What a block sums up, behind the sums of its warps. */
#define ARRANGE_STOP  ARRANGE_WARPS        /* 1: nothing came of the batch already  */
#define ARRANGE_MANY  (ARRANGE_WARPS + 1u) /* 1: some group has too many operations */
#define ARRANGE_DEAD  (ARRANGE_WARPS + 2u) /* pointless operations                  */
#define ARRANGE_EXTRA (ARRANGE_WARPS + 3u) /* leaves that may be needed             */
#define ARRANGE_SUMS  (ARRANGE_WARPS + 4u)
/* Bytes for keys or values of a bucket, and for them and words; or for the separators. */
#define ARRANGE_WIDE  (COPSE_ARRANGE_ROOM * ((KEY_BITS > VALUE_BITS ? KEY_BITS : VALUE_BITS) / 8u))
#define ARRANGE_BYTES (ARRANGE_WIDE + COPSE_ARRANGE_ROOM * 4u)
#define ARRANGE_AREA  (ARRANGE_BYTES > ARRANGE_HOMES * 4u ? ARRANGE_BYTES : ARRANGE_HOMES * 4u)

/* What a thread keeps of its operations. */
typedef struct arranged {
    KEY key[ARRANGE_EACH];
    VALUE value[ARRANGE_EACH];
    uint32_t place[ARRANGE_EACH];
} arranged;

/* What a block shares. */
typedef struct arrange_bucket {
    uint32_t *separators; /* of all homes; then, in the same memory, operations by group: */
    KEY *keys;
    uint32_t *words;
    VALUE *values;      /* ... and at last values in order, in place of the keys */
    uint16_t *finals;   /* where operations belong, by their number in the bucket */
    simt_u32x4 *groups; /* how many operations they have, then ARRANGE_COUNT_SHIFT */
    uint32_t *sums;
    uint32_t home;  /* the first one */
    uint32_t nodes; /* of the lowest level; the homes are below them */
    uint32_t base;  /* operations of the buckets in front of this one */
    uint32_t count; /* ... and of this one */
} arrange_bucket;

SIMT_DEVICE void bucket_load(const copse_arrange_arguments *a, const arrange_bucket *bucket, arranged *own)
{
    SIMT_UNROLL
    for (uint32_t j = 0; j < ARRANGE_EACH; j++) {
        const uint32_t i = threadIdx.x + j * COPSE_ARRANGE_THREADS;
        simt_u32x4 v = {0, 0, 0, 0};
        if (i < bucket->count) v = simt_load16_once((const simt_u32x4 *)a->parts + blockIdx.x * a->room + i);
        own->key[j] = KEY_BITS == 64 ? (KEY)walk_join(v.x, v.y) : (KEY)v.x;
        own->value[j] = VALUE_BITS == 64 ? (VALUE)walk_join(v.z, v.w) : (VALUE)v.z;
    }
}

/* Position in the batch of operation i of the bucket. */
SIMT_DEVICE uint32_t bucket_position(const copse_arrange_arguments *a, uint32_t i)
{
    const uint32_t at = blockIdx.x * a->room + i;
    if (KEY_BITS + VALUE_BITS == 128) return part_numbers(a)[at];
    return ((const uint32_t *)a->parts)[(uint64_t)at * 4u + (VALUE_BITS == 32 ? 3u : 1u)];
}

/*
 * Before anything else: separators, counts, and the operations. Nodes of the lowest level lie side by side; the separator of the
 * last child of each is one of the level above. Ends with a barrier. False: there is nothing to be done.
 */
SIMT_DEVICE bool bucket_begin(const copse_arrange_arguments *a, arrange_bucket *bucket, arranged *own)
{
    const uint32_t node = blockIdx.x * a->bucket_nodes;
    const char *level = a->tree.levels.level[a->tree.levels.height - 1u] + (uint64_t)node * 64u;
    const simt_u32x4 none = {0, 0, 0, 0};
    simt_u32x4 v[ARRANGE_PIECES];
    SIMT_UNROLL
    for (uint32_t j = 0; j < ARRANGE_PIECES; j++) {
        const uint32_t p = threadIdx.x + j * COPSE_ARRANGE_THREADS;
        v[j] = none;
        if (p < bucket->nodes * 4u) v[j] = simt_load16(level + p * 16u);
    }
    bucket_load(a, bucket, own);
    if (threadIdx.x < bucket->nodes)
        bucket->separators[threadIdx.x * DIGEST_FANOUT + DIGEST_FANOUT - 1u] =
            node_separator(&a->tree, node + threadIdx.x);
    SIMT_UNROLL
    for (uint32_t p = 0; p < GROUP_PIECES; p++) bucket->groups[threadIdx.x + p * COPSE_ARRANGE_THREADS] = none;
    /* One thread asks: another block may just be finding out. */
    if (threadIdx.x == 0) bucket->sums[ARRANGE_STOP] = simt_load_relaxed_u64(&a->counters->doubt.wrong) != 0;
    if (threadIdx.x > ARRANGE_STOP && threadIdx.x < ARRANGE_SUMS) bucket->sums[threadIdx.x] = 0;
    SIMT_UNROLL
    for (uint32_t j = 0; j < ARRANGE_PIECES; j++) {
        const uint32_t p = threadIdx.x + j * COPSE_ARRANGE_THREADS;
        uint32_t *to = &bucket->separators[p / 4u * DIGEST_FANOUT + p % 4u * 4u];
        if (p >= bucket->nodes * 4u) continue;
        to[0] = v[j].x;
        to[1] = v[j].y;
        to[2] = v[j].z;
        to[3] = v[j].w;
    }
    __syncthreads();
    return bucket->sums[ARRANGE_STOP] == 0 && bucket->count > 0;
}

/* The home of a key, as its number in the bucket: where the digest does not tell, the leaf is asked, and it may be the one behind the
 * last. Further off than that it is for another way. */
SIMT_DEVICE uint32_t bucket_home(const copse_arrange_arguments *a, const arrange_bucket *bucket, KEY key,
                                 uint32_t digest, uint32_t at)
{
    if (KEY_BITS == 32 || bucket->separators[at] != digest) return at;
    const uint32_t home = cursor_seek(&a->tree, bucket->home + at, key, NULL).home - bucket->home;
    if (home <= a->bucket_homes) return home;
    arrange_wrong(a);
    return a->bucket_homes;
}

/* Looks for the homes of the first `some` operations: as many as there are, or some more. Numbers of homes in bytes of separators. */
SIMT_DEVICE void bucket_search(const arrange_bucket *bucket, const uint32_t *digests, uint32_t some, arranged *own)
{
    SIMT_UNROLL
    for (uint32_t j = 0; j < ARRANGE_EACH; j++) own->place[j] = 0;
    for (uint32_t left = bucket->nodes * DIGEST_FANOUT, half; left > 1u; left -= half) {
        half = part_half(left);
        SIMT_UNROLL
        for (uint32_t j = 0; j < some; j++)
            own->place[j] = part_step(bucket->separators, own->place[j], half * 4u, digests[j]);
    }
}

/* Finds the homes of all operations and counts them by group. */
SIMT_DEVICE void bucket_find(const copse_arrange_arguments *a, const arrange_bucket *bucket, arranged *own)
{
    uint32_t digests[ARRANGE_EACH], *counts = (uint32_t *)bucket->groups;
    bool many = false;
    SIMT_UNROLL
    for (uint32_t j = 0; j < ARRANGE_EACH; j++) digests[j] = part_digest(&a->tree, own->key[j]);
    if (bucket->count <= COPSE_ARRANGE_THREADS)
        bucket_search(bucket, digests, 1u, own);
    else if (bucket->count <= 2u * COPSE_ARRANGE_THREADS)
        bucket_search(bucket, digests, 2u, own);
    else if (bucket->count <= 4u * COPSE_ARRANGE_THREADS)
        bucket_search(bucket, digests, 4u, own);
    else
        bucket_search(bucket, digests, ARRANGE_EACH, own);
    SIMT_UNROLL
    for (uint32_t j = 0; j < ARRANGE_EACH; j++) {
        if (threadIdx.x + j * COPSE_ARRANGE_THREADS >= bucket->count) continue;
        const uint32_t home = bucket_home(a, bucket, own->key[j], digests[j], own->place[j] / 4u);
        const uint32_t before = simt_atomic_add_u32(&counts[home >> a->group_shift], 1u);
        own->place[j] = home | before << ARRANGE_HOME_BITS;
        many |= before >= ARRANGE_CROWD;
    }
    if (!many) return;
    arrange_wrong(a);
    simt_store_relaxed_u32(&bucket->sums[ARRANGE_MANY], 1u);
}

/* Counts of four groups and how many operations are in front of them: where they start, and their counts above that. */
SIMT_DEVICE simt_u32x4 group_starts(simt_u32x4 v, uint32_t before)
{
    simt_u32x4 made;
    made.x = before | v.x << ARRANGE_COUNT_SHIFT;
    made.y = (before + v.x) | v.y << ARRANGE_COUNT_SHIFT;
    made.z = (before + v.x + v.y) | v.z << ARRANGE_COUNT_SHIFT;
    made.w = (before + v.x + v.y + v.z) | v.w << ARRANGE_COUNT_SHIFT;
    return made;
}

/* Counts become starts. Ends with a barrier. */
SIMT_DEVICE void bucket_sum(const arrange_bucket *bucket)
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
    for (uint32_t w = 0; w < ARRANGE_WARPS - 1u; w++) before += w < simt_warp() ? bucket->sums[w] : 0;
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
    return word & ((1u << ARRANGE_COUNT_SHIFT) - 1u);
}

SIMT_DEVICE uint32_t group_of(const copse_arrange_arguments *a, const arrange_bucket *bucket, uint32_t home)
{
    return ((const uint32_t *)bucket->groups)[home >> a->group_shift];
}

/* Puts operations side by side with those of the same group. Ends with a barrier. */
SIMT_DEVICE void bucket_gather(const copse_arrange_arguments *a, const arrange_bucket *bucket, const arranged *own)
{
    SIMT_UNROLL
    for (uint32_t j = 0; j < ARRANGE_EACH; j++) {
        const uint32_t i = threadIdx.x + j * COPSE_ARRANGE_THREADS, home = ARRANGE_HOME(own->place[j]);
        if (i >= bucket->count) continue;
        const uint32_t start = group_start(group_of(a, bucket, home));
        const uint32_t at = start + (own->place[j] >> ARRANGE_HOME_BITS);
        bucket->keys[at] = own->key[j];
        bucket->words[at] = home | i << ARRANGE_HOME_BITS;
    }
    __syncthreads();
}

/* How many of some operations side by side belong to a home. */
SIMT_DEVICE uint32_t home_count(const arrange_bucket *bucket, uint32_t home, uint32_t start, uint32_t count)
{
    uint32_t sum = 0;
    SIMT_ROLLED
    for (uint32_t i = start; i < start + count; i++) sum += ARRANGE_HOME(bucket->words[i]) == home;
    return sum;
}

/* How many operations on the same key as operation p are in front of it. Most keys are alone. */
SIMT_DEVICE uint32_t bucket_equals(const copse_arrange_arguments *a, const arrange_bucket *bucket, uint32_t p,
                                   uint32_t start, uint32_t count)
{
    const uint32_t position = bucket_position(a, bucket->words[p] >> ARRANGE_HOME_BITS);
    uint32_t before = 0, behind = 0;
    SIMT_ROLLED
    for (uint32_t i = start; i < start + count; i++) {
        if (i == p || bucket->keys[i] != bucket->keys[p]) continue;
        const bool less = bucket_position(a, bucket->words[i] >> ARRANGE_HOME_BITS) < position;
        before += less;
        behind += !less;
    }
    const bool dead = a->operations.last_wins == 1u ? behind > 0 : a->operations.last_wins == 0 && before > 0;
    if (dead) simt_atomic_add_u32(&bucket->sums[ARRANGE_DEAD], 1u);
    return before;
}

/* Where operation p belongs in the bucket: it is among those of its group already. */
SIMT_DEVICE uint32_t bucket_rank(const copse_arrange_arguments *a, const arrange_bucket *bucket, uint32_t p, KEY key,
                                 uint32_t home)
{
    const uint32_t word = group_of(a, bucket, home), start = group_start(word);
    const uint32_t count = word >> ARRANGE_COUNT_SHIFT;
    const KEY *at = bucket->keys + start, *end = at + count;
    uint32_t less = 0; /* above: how many are equal */
    if (count == 1u) return p;
    SIMT_ROLLED
    do {
        const KEY other = *at++;
        less += other < key ? 1u : other == key ? 1u << 16 : 0;
    } while (at != end);
    uint32_t place = start + (less & 0xffffu);
    if (less >> 16 > 1u) place += bucket_equals(a, bucket, p, start, count);
    if (count >= PLAN_OWN && home_count(bucket, home, start, count) >= PLAN_OWN)
        simt_store_relaxed_u32(&a->counters->crowded, 1u);
    return place;
}

/* Writes keys and homes in order. Ends with a barrier. */
SIMT_DEVICE void bucket_store(const copse_arrange_arguments *a, const arrange_bucket *bucket)
{
    const uint32_t last = (uint32_t)a->operations.n - 1u;
    SIMT_ROLLED
    for (uint32_t p = threadIdx.x; p < bucket->count; p += COPSE_ARRANGE_THREADS) {
        const KEY key = bucket->keys[p];
        const uint32_t word = bucket->words[p], home = ARRANGE_HOME(word);
        const uint32_t place = bucket_rank(a, bucket, p, key, home), to = bucket->base + place;
        bucket->finals[word >> ARRANGE_HOME_BITS] = (uint16_t)place;
        ((KEY *)a->out_keys)[to] = key;
        a->out_homes[to] = bucket->home + home;
        if (to == 0) a->counters->doubt.smallest = key;
        if (to == last) a->counters->doubt.largest = key;
    }
    __syncthreads();
}

/* The same for values, which are where they came from. */
SIMT_DEVICE void bucket_store_values(const copse_arrange_arguments *a, const arrange_bucket *bucket,
                                     const arranged *own)
{
    if (a->operations.action == COPSE_ACTION_ERASE) return;
    VALUE *values = (VALUE *)a->out_values + bucket->base;
    SIMT_UNROLL
    for (uint32_t j = 0; j < ARRANGE_EACH; j++) {
        const uint32_t i = threadIdx.x + j * COPSE_ARRANGE_THREADS;
        if (i < bucket->count) bucket->values[bucket->finals[i]] = own->value[j];
    }
    __syncthreads();
    SIMT_UNROLL
    for (uint32_t j = 0; j < ARRANGE_EACH; j++) {
        const uint32_t i = threadIdx.x + j * COPSE_ARRANGE_THREADS;
        if (i < bucket->count) values[i] = bucket->values[i];
    }
}

/* How many leaves the operations of some homes may need. The last threads ask: they have fewer operations than others. */
SIMT_DEVICE void bucket_ask(const copse_arrange_arguments *a, const arrange_bucket *bucket)
{
    const uint32_t thread = COPSE_ARRANGE_THREADS - 1u - threadIdx.x, over = bucket->home % a->one_of;
    uint32_t home = (over ? a->one_of - over : 0) + thread * a->one_of;
    uint64_t extra = 0;
    bool crowded = false;
    if (a->operations.action == COPSE_ACTION_ERASE) return;
    SIMT_ROLLED
    for (; home <= a->bucket_homes; home += COPSE_ARRANGE_THREADS * a->one_of) {
        const uint32_t word = group_of(a, bucket, home);
        uint32_t count = word >> ARRANGE_COUNT_SHIFT;
        if (count > 0 && a->group_shift > 0) count = home_count(bucket, home, group_start(word), count);
        if (count == 0) continue;
        /* Where digests are equal a home may have operations in two buckets. */
        const bool all = KEY_BITS == 32 || (home > 0 && home < a->bucket_homes);
        extra += splits_most(&a->tree, bucket->home + home, count, all, &crowded);
    }
    if (extra) simt_atomic_add_u32(&bucket->sums[ARRANGE_EXTRA], (uint32_t)extra);
    if (crowded) simt_store_relaxed_u32(&a->counters->crowded, 1u);
}

SIMT_KERNEL(NAME(arrange), copse_arrange_arguments, COPSE_ARRANGE_THREADS, 2)
{
    SIMT_SHARED(simt_u32x4, area, ARRANGE_AREA / 16u);
    SIMT_SHARED(simt_u32x4, groups, COPSE_ARRANGE_GROUPS(KEY_BITS / 8u, VALUE_BITS / 8u) / 4u);
    SIMT_SHARED(uint16_t, finals, COPSE_ARRANGE_ROOM);
    SIMT_SHARED(uint32_t, sums, ARRANGE_SUMS);
    const uint32_t nodes = (a.tree.homes + DIGEST_FANOUT - 1u) / DIGEST_FANOUT - blockIdx.x * a.bucket_nodes;
    const uint32_t count = a.cursors[blockIdx.x];
    arrange_bucket bucket = {(uint32_t *)area,
                             (KEY *)area,
                             (uint32_t *)((char *)area + ARRANGE_WIDE),
                             (VALUE *)area,
                             finals,
                             groups,
                             sums,
                             blockIdx.x * a.bucket_homes,
                             nodes < a.bucket_nodes ? nodes : a.bucket_nodes,
                             a.bases[blockIdx.x],
                             count < a.room ? count : a.room};
    arranged own;
    if (!bucket_begin(&a, &bucket, &own)) return;
    bucket_find(&a, &bucket, &own);
    __syncthreads();
    if (sums[ARRANGE_MANY]) return;
    bucket_sum(&bucket);
    bucket_gather(&a, &bucket, &own);
    bucket_ask(&a, &bucket);
    bucket_store(&a, &bucket);
    bucket_store_values(&a, &bucket, &own);
    if (threadIdx.x != 0) return;
    if (sums[ARRANGE_DEAD]) simt_atomic_add_u64(&a.counters->dead, sums[ARRANGE_DEAD]);
    if (sums[ARRANGE_EXTRA]) simt_atomic_add_u64(&a.counters->extra, (uint64_t)sums[ARRANGE_EXTRA] * a.one_of);
}

#endif
