/*
 * Template: a large batch, as the caller gave it, is parted into buckets: operations whose homes lie side by side.
 *
 * The levels know which keys belong to which home, so they also know where a bucket ends: at the separator of its last home. A
 * block takes a tile of the batch, counts how many of its operations go into each bucket, takes places for all of them at once,
 * and writes them there. Within a bucket they are in any order; blink_arrange.inc.h sees to that.
 *
 * Separators are 32 bits wide here: keys of 32 bits, or digests of longer ones. A bucket has whole nodes of the lowest level.
 */

/* Blocks of a multiprocessor at a time, at least: threads keep all of their operations in registers. */
#define PART_BLOCKS (KEY_BITS + VALUE_BITS == 64 ? 3 : 2)
/* Cursors that a thread moves at a time. */
#define PART_CURSORS 4u
/* Buckets of a thread. */
#define PART_OWN (COPSE_ARRANGE_BUCKETS / COPSE_PART_THREADS)
/* Bits of a bucket's number; what a thread keeps of an operation is that and the number of the operation in its bucket and tile. */
#define PART_BITS    12u
#define PART_NOWHERE UINT32_MAX

/* What a thread keeps of its operations. */
typedef struct NAME(parted) {
    uint32_t first, end; /* the thread's first position in the batch, and that behind the tile */
    KEY key[COPSE_PART_EACH];
    VALUE value[COPSE_PART_EACH];
    uint32_t place[COPSE_PART_EACH]; /* PART_NOWHERE: it is beyond the tile */
} NAME(parted);
#define PARTED NAME(parted)

/* The separator of the last child of a node of the lowest level: it is one of those above. No key below the node has more in its
 * upper bits. */
SIMT_DEVICE uint32_t NAME(node_separator)(const copse_blink_tree *tree, uint32_t node)
{
    uint32_t at = node;
    if (node >= (tree->homes - 1u) / DIGEST_FANOUT) return UINT32_MAX;
    for (uint32_t l = tree->levels.height - 1u; l-- > 0;) {
        const uint32_t above = at / DIGEST_FANOUT, child = at - above * DIGEST_FANOUT;
        if (child + 1u < DIGEST_FANOUT)
            return ((const uint32_t *)tree->levels.level[l])[(uint64_t)above * (DIGEST_FANOUT - 1u) + child];
        at = above; /* the last child of a node has its separator one level up */
    }
    return UINT32_MAX;
}

/* What a key is compared with separators by. */
SIMT_DEVICE uint32_t NAME(part_digest)(const copse_blink_tree *tree, KEY key)
{
    return NAME(walk_start)(&tree->levels, KEY_BITS == 64, key).digest;
}

SIMT_DEVICE void NAME(arrange_wrong)(const copse_arrange_arguments *a)
{
    simt_store_relaxed_u64(&a->counters->doubt.wrong, 1u);
}

/* Do the first keys of the batch look sorted? Said for the next one. */
SIMT_DEVICE void NAME(part_sample)(const copse_arrange_arguments *a)
{
    if (a->operations.n < SIMT_WARP || blockIdx.x != 0 || simt_warp() != 0) return;
    const KEY key = ENCODE_ONE(a->tree.key_type, ((const KEY *)a->operations.keys)[simt_lane()]);
    const KEY before = COPSE_BITS(simt_shfl_up_u, KEY_BITS)(SIMT_FULL_MASK, key, 1);
    const bool rises = __all_sync(SIMT_FULL_MASK, before <= key);
    if (rises && simt_lane() == 0) a->counters->doubt.ascending = 1u;
}

/* Where buckets end, once for all blocks; and they are empty. */
SIMT_KERNEL(NAME(part_bounds), copse_arrange_arguments, COPSE_KERNEL_THREADS, 8)
{
    const uint32_t bucket = blockIdx.x * COPSE_KERNEL_THREADS + threadIdx.x;
    NAME(part_sample)(&a);
    if (bucket == 0) *a.ticket = 0;
    if (bucket >= COPSE_ARRANGE_BUCKETS) return;
    a.boundaries[bucket] =
        bucket < a.buckets ? NAME(node_separator)(&a.tree, (bucket + 1u) * a.bucket_nodes - 1u) : UINT32_MAX;
    a.cursors[bucket] = 0;
}

/* Is operation r of this thread within the tile? */
SIMT_DEVICE bool NAME(part_there)(const PARTED *own, uint32_t r)
{
    return own->first + r * COPSE_PART_THREADS < own->end;
}

SIMT_DEVICE void NAME(part_keys)(const copse_arrange_arguments *a, PARTED *own)
{
    const KEY *keys = (const KEY *)a->operations.keys + own->first;
    SIMT_UNROLL
    for (uint32_t r = 0; r < COPSE_PART_EACH; r++)
        own->key[r] = NAME(part_there)(own, r) ? keys[r * COPSE_PART_THREADS] : 0;
}

/* Where one is no number, nothing will come of the batch, but its first position is to be known. */
SIMT_DEVICE void NAME(part_numbers_only)(const copse_arrange_arguments *a, const PARTED *own)
{
    uint32_t bad = UINT32_MAX;
    SIMT_UNROLL
    for (uint32_t r = COPSE_PART_EACH; r-- > 0;)
        if (IS_NAN(KEY_BITS == 32 ? COPSE_F32 : COPSE_F64, own->key[r])) bad = own->first + r * COPSE_PART_THREADS;
    if (bad == UINT32_MAX) return;
    simt_atomic_max_u64(&a->counters->doubt.not_first_nan, ~(uint64_t)bad);
    NAME(arrange_wrong)(a);
}

SIMT_DEVICE void NAME(part_encode)(const copse_arrange_arguments *a, PARTED *own)
{
    const copse_type type = a->tree.key_type;
    if (type == (KEY_BITS == 32 ? COPSE_U32 : COPSE_U64)) return; /* they are their own code */
    if (type == (KEY_BITS == 32 ? COPSE_F32 : COPSE_F64)) NAME(part_numbers_only)(a, own);
    SIMT_UNROLL
    for (uint32_t r = 0; r < COPSE_PART_EACH; r++) own->key[r] = ENCODE_ONE(type, own->key[r]);
}

/* One step of a search: there are `half` separators from `at` on that may all be less. Both in bytes: it takes one instruction less. */
SIMT_DEVICE uint32_t NAME(part_step)(const uint32_t *separators, uint32_t at, uint32_t half, uint32_t digest)
{
    const uint32_t next = at + half;
    return *(const uint32_t *)((const char *)separators + next - 4) < digest ? next : at;
}

/* Finds the buckets of all operations and counts them. */
SIMT_DEVICE void NAME(part_find)(const copse_arrange_arguments *a, const uint32_t *boundaries, uint32_t *counts,
                                 PARTED *own)
{
    uint32_t digests[COPSE_PART_EACH], at[COPSE_PART_EACH];
    SIMT_UNROLL
    for (uint32_t r = 0; r < COPSE_PART_EACH; r++) {
        digests[r] = NAME(part_digest)(&a->tree, own->key[r]);
        at[r] = 0;
    }
    /* Halves as they come, and not powers of two: those would all lie in the same bank of shared memory. */
    for (uint32_t left = a->buckets, half; left > 1u; left -= half) {
        half = left / 2u;
        SIMT_UNROLL
        for (uint32_t r = 0; r < COPSE_PART_EACH; r++)
            at[r] = NAME(part_step)(boundaries, at[r], half * 4u, digests[r]);
    }
    /* All of them are asked, and those beyond the tile for nothing: less than a branch would take. */
    SIMT_UNROLL
    for (uint32_t r = 0; r < COPSE_PART_EACH; r++)
        own->place[r] = simt_atomic_add_u32(&counts[at[r] / 4u], NAME(part_there)(own, r));
    SIMT_UNROLL
    for (uint32_t r = 0; r < COPSE_PART_EACH; r++)
        own->place[r] = NAME(part_there)(own, r) ? at[r] / 4u | own->place[r] << PART_BITS : PART_NOWHERE;
}

SIMT_DEVICE void NAME(part_values)(const copse_arrange_arguments *a, PARTED *own)
{
    const VALUE *values = (const VALUE *)a->operations.values + own->first;
    copse_pairs_arguments positions;
    positions.values = NULL;
    positions.value_type = a->tree.value_type;
    positions.first = own->first;
    SIMT_UNROLL
    for (uint32_t r = 0; r < COPSE_PART_EACH; r++) own->value[r] = 0;
    if (a->operations.action == COPSE_ACTION_ERASE) return;
    if (a->operations.values) {
        SIMT_UNROLL
        for (uint32_t r = 0; r < COPSE_PART_EACH; r++)
            if (NAME(part_there)(own, r)) own->value[r] = values[r * COPSE_PART_THREADS];
    } else {
        SIMT_UNROLL
        for (uint32_t r = 0; r < COPSE_PART_EACH; r++)
            own->value[r] = NAME(pair_value)(&positions, r * COPSE_PART_THREADS);
    }
}

/* Takes places in all buckets: counts become the first of these. */
SIMT_DEVICE void NAME(part_take)(const copse_arrange_arguments *a, uint32_t *counts)
{
    for (uint32_t b = threadIdx.x; b < a->buckets; b += PART_CURSORS * COPSE_PART_THREADS) {
        uint32_t count[PART_CURSORS];
        SIMT_UNROLL
        for (uint32_t k = 0; k < PART_CURSORS; k++) /* there is room for more than all */
            count[k] = counts[b + k * COPSE_PART_THREADS];
        SIMT_UNROLL
        for (uint32_t k = 0; k < PART_CURSORS; k++)
            if (count[k]) count[k] = simt_atomic_add_u32(&a->cursors[b + k * COPSE_PART_THREADS], count[k]);
        SIMT_UNROLL
        for (uint32_t k = 0; k < PART_CURSORS; k++) counts[b + k * COPSE_PART_THREADS] = count[k];
    }
}

/* Where the positions of operations in the batch are, if there is no room for them beside keys and values. */
SIMT_DEVICE uint32_t *NAME(part_numbers)(const copse_arrange_arguments *a)
{
    return (uint32_t *)((simt_u32x4 *)a->parts + (uint64_t)a->buckets * a->room);
}

/* Operation i of the batch gets place `to` among the parts. */
SIMT_DEVICE void NAME(part_store)(const copse_arrange_arguments *a, uint32_t to, uint32_t i, KEY key, VALUE value)
{
    simt_u32x4 v;
    v.x = (uint32_t)key;
    v.y = KEY_BITS == 64 ? (uint32_t)((uint64_t)key >> 32) : i;
    v.z = (uint32_t)value;
    v.w = VALUE_BITS == 64 ? (uint32_t)((uint64_t)value >> 32) : i;
    ((simt_u32x4 *)a->parts)[to] = v;
    if (KEY_BITS + VALUE_BITS == 128) NAME(part_numbers)(a)[to] = i;
}

SIMT_DEVICE void NAME(part_write)(const copse_arrange_arguments *a, const uint32_t *starts, const PARTED *own)
{
    bool full = false;
    SIMT_UNROLL
    for (uint32_t r = 0; r < COPSE_PART_EACH; r++) {
        const uint32_t bucket = own->place[r] & ((1u << PART_BITS) - 1u);
        const uint32_t place = starts[bucket] + (own->place[r] >> PART_BITS); /* of none: a large number */
        const bool fits = place < a->room;
        const uint32_t to = bucket * a->room + place, i = own->first + r * COPSE_PART_THREADS;
        full |= !fits && own->place[r] != PART_NOWHERE;
        if (fits) NAME(part_store)(a, to, i, own->key[r], own->value[r]);
    }
    if (full) NAME(arrange_wrong)(a);
}

/* Is this the last block that has taken its places? For one thread, when all others of the block have theirs. */
SIMT_DEVICE uint32_t NAME(part_last)(const copse_arrange_arguments *a)
{
    __threadfence();
    return simt_atomic_add_u32(a->ticket, 1u) == gridDim.x - 1u;
}

/* Sum of this lane's and all lanes' below it. */
SIMT_DEVICE uint32_t NAME(lanes_sum)(uint32_t value)
{
    SIMT_UNROLL
    for (uint32_t step = 1; step < SIMT_WARP; step *= 2u) {
        const uint32_t other = simt_shfl_up_u32(SIMT_FULL_MASK, value, step);
        value += simt_lane() >= step ? other : 0;
    }
    return value;
}

/* The last block: operations in front of each bucket. All blocks have taken their places. */
SIMT_DEVICE void NAME(part_bases)(const copse_arrange_arguments *a, uint32_t *sums)
{
    uint32_t count[PART_OWN], sum = 0;
    SIMT_UNROLL
    for (uint32_t k = 0; k < PART_OWN; k++)
        sum += count[k] = simt_load_relaxed_u32(&a->cursors[threadIdx.x * PART_OWN + k]);
    uint32_t before = NAME(lanes_sum)(sum);
    if (simt_lane() == SIMT_WARP - 1u) sums[simt_warp()] = before;
    __syncthreads();
    before -= sum;
    for (uint32_t w = 0; w < simt_warp(); w++) before += sums[w];
    SIMT_UNROLL
    for (uint32_t k = 0; k < PART_OWN; k++) {
        a->bases[threadIdx.x * PART_OWN + k] = before;
        before += count[k];
    }
}

SIMT_KERNEL(NAME(part), copse_arrange_arguments, COPSE_PART_THREADS, PART_BLOCKS)
{
    SIMT_SHARED(simt_u32x4, boundaries, COPSE_ARRANGE_BUCKETS / 4u);
    SIMT_SHARED(simt_u32x4, counts,
                COPSE_ARRANGE_BUCKETS / 4u); /* then: where this block's places in each bucket begin */
    SIMT_SHARED(uint32_t, last, 1);
    const simt_u32x4 none = {0, 0, 0, 0};
    const uint32_t tile = a.each * COPSE_PART_THREADS, n = (uint32_t)a.operations.n, start = blockIdx.x * tile;
    PARTED own;
    own.first = start + threadIdx.x;
    own.end = n - start < tile ? n : start + tile;
    NAME(part_keys)(&a, &own);
    SIMT_UNROLL
    for (uint32_t b = 0; b < COPSE_ARRANGE_BUCKETS / 4u; b += COPSE_PART_THREADS) {
        simt_fetch16(&boundaries[b + threadIdx.x], a.boundaries + (b + threadIdx.x) * 4u);
        counts[b + threadIdx.x] = none;
    }
    simt_fetch_wait();
    __syncthreads();
    NAME(part_encode)(&a, &own);
    NAME(part_find)(&a, (const uint32_t *)boundaries, (uint32_t *)counts, &own);
    NAME(part_values)(&a, &own);
    __syncthreads();
    NAME(part_take)(&a, (uint32_t *)counts);
    __syncthreads();
    if (threadIdx.x == 0) last[0] = NAME(part_last)(&a);
    NAME(part_write)(&a, (const uint32_t *)counts, &own);
    __syncthreads();
    if (last[0]) NAME(part_bases)(&a, (uint32_t *)boundaries);
}
