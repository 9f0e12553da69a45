/*
 * Template: a large batch, as the caller gave it, is parted into buckets: operations whose homes lie side by side.
 *
 * The levels know which keys belong to which home, so they also know where a bucket ends: at the separator of its last home. A
 * block takes a tile of the batch, counts how many of its operations go into each bucket, takes places for all of them at once,
 * and writes them there. Within a bucket they are in any order; blink_arrange.inc.h sees to that.
 *
 * Separators are 32 bits wide here: keys of 32 bits, or digests of longer ones.
 */

/* Operations of a thread that are looked at side by side. */
#define PART_GROUP (KEY_BITS == 32 ? 4u : 2u)
/* Bits of a bucket's number; what a thread keeps of an operation is that and the number of the operation in its bucket and tile. */
#define PART_BITS    12u
#define PART_NOWHERE UINT32_MAX

/* The separator of a home: no key of it has more in its upper bits. */
SIMT_DEVICE uint32_t NAME(home_separator)(const copse_blink_tree *tree, uint32_t home)
{
    uint32_t at = home;
    if (home >= tree->homes - 1u) return UINT32_MAX;
    for (uint32_t l = tree->levels.height; l-- > 0;) {
        const uint32_t node = at / DIGEST_FANOUT, child = at - node * DIGEST_FANOUT;
        if (child + 1u < DIGEST_FANOUT)
            return ((const uint32_t *)tree->levels.level[l])[(uint64_t)node * (DIGEST_FANOUT - 1u) + child];
        at = node; /* the last child of a node has its separator one level up */
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

/* Finds the buckets of PART_GROUP operations, `COPSE_PART_THREADS` apart from i on, of which the first `rounds` are there. */
SIMT_DEVICE void NAME(part_find)(const copse_arrange_arguments *a, uint64_t i, uint32_t rounds,
                                 const uint32_t *boundaries, uint32_t *counts, uint32_t *places)
{
    uint32_t digests[PART_GROUP];
    SIMT_UNROLL
    for (uint32_t r = 0; r < PART_GROUP; r++, i += COPSE_PART_THREADS) {
        const bool there = r < rounds && i < a->operations.n;
        const KEY bits = there ? ((const KEY *)a->operations.keys)[i] : 0;
        const bool bad = there && IS_NAN(a->tree.key_type, bits);
        if (bad) {
            simt_atomic_max_u64(&a->counters->doubt.not_first_nan, ~i);
            NAME(arrange_wrong)(a);
        }
        digests[r] = NAME(part_digest)(&a->tree, ENCODE_ONE(a->tree.key_type, bits));
        places[r] = there && !bad ? 0 : PART_NOWHERE;
    }
    uint32_t at[PART_GROUP] = {0};
    for (uint32_t step = a->buckets / 2u; step > 0; step /= 2u) {
        SIMT_UNROLL
        for (uint32_t r = 0; r < PART_GROUP; r++) at[r] += boundaries[at[r] + step - 1u] < digests[r] ? step : 0;
    }
    SIMT_UNROLL
    for (uint32_t r = 0; r < PART_GROUP; r++)
        if (places[r] != PART_NOWHERE) places[r] = at[r] | simt_atomic_add_u32(&counts[at[r]], 1u) << PART_BITS;
}

SIMT_DEVICE VALUE NAME(part_value)(const copse_arrange_arguments *a, uint64_t i)
{
    copse_pairs_arguments pairs;
    if (a->operations.action == COPSE_ACTION_ERASE) return 0;
    pairs.values = a->operations.values;
    pairs.value_type = a->tree.value_type;
    pairs.first = 0;
    return NAME(pair_value)(&pairs, i);
}

/* Where the positions of operations in the batch are, if there is no room for them beside keys and values. */
SIMT_DEVICE uint32_t *NAME(part_numbers)(const copse_arrange_arguments *a)
{
    return (uint32_t *)((simt_u32x4 *)a->parts + (uint64_t)a->buckets * a->room);
}

/* Operation i of the batch gets place `to` among the parts. */
SIMT_DEVICE void NAME(part_store)(const copse_arrange_arguments *a, uint64_t to, uint32_t i)
{
    const KEY key = ENCODE_ONE(a->tree.key_type, ((const KEY *)a->operations.keys)[i]);
    const VALUE value = NAME(part_value)(a, i);
    simt_u32x4 v;
    v.x = (uint32_t)key;
    v.y = KEY_BITS == 64 ? (uint32_t)((uint64_t)key >> 32) : i;
    v.z = (uint32_t)value;
    v.w = VALUE_BITS == 64 ? (uint32_t)((uint64_t)value >> 32) : i;
    ((simt_u32x4 *)a->parts)[to] = v;
    if (KEY_BITS + VALUE_BITS == 128) NAME(part_numbers)(a)[to] = i;
}

SIMT_KERNEL(NAME(part), copse_arrange_arguments, COPSE_PART_THREADS, 2)
{
    SIMT_SHARED(uint32_t, boundaries, COPSE_ARRANGE_BUCKETS);
    SIMT_SHARED(uint32_t, counts, COPSE_ARRANGE_BUCKETS); /* then: where this block's places in each bucket begin */
    const uint64_t first = (uint64_t)blockIdx.x * COPSE_PART_THREADS * a.each + threadIdx.x;
    uint32_t places[COPSE_PART_EACH];
    for (uint32_t b = threadIdx.x; b < a.buckets; b += COPSE_PART_THREADS) {
        boundaries[b] = NAME(home_separator)(&a.tree, (b + 1u) * a.bucket_homes - 1u);
        counts[b] = 0;
    }
    NAME(part_sample)(&a);
    __syncthreads();
    SIMT_UNROLL
    for (uint32_t r = 0; r < COPSE_PART_EACH; r++) places[r] = PART_NOWHERE;
    SIMT_UNROLL
    for (uint32_t r = 0; r < COPSE_PART_EACH; r += PART_GROUP)
        if (r < a.each) NAME(part_find)(&a, first + r * COPSE_PART_THREADS, a.each - r, boundaries, counts, places + r);
    __syncthreads();
    for (uint32_t b = threadIdx.x; b < a.buckets; b += COPSE_PART_THREADS)
        if (counts[b]) counts[b] = simt_atomic_add_u32(&a.cursors[b], counts[b]);
    __syncthreads();
    SIMT_UNROLL
    for (uint32_t r = 0; r < COPSE_PART_EACH; r++) {
        if (places[r] == PART_NOWHERE) continue;
        const uint32_t bucket = places[r] & ((1u << PART_BITS) - 1u);
        const uint32_t place = counts[bucket] + (places[r] >> PART_BITS);
        if (place < a.room) NAME(part_store)
        (&a, (uint64_t)bucket * a.room + place, (uint32_t)(first + r * COPSE_PART_THREADS));
        else NAME(arrange_wrong)(&a);
    }
}
