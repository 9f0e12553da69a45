/* Template: kernels that make the implicit tree: a look at the keys, units, separators; and what updates need. */

/* The value of pair i: the caller's, or the position as a number of the value type. */
SIMT_DEVICE VALUE NAME(pair_value)(const copse_pairs_arguments *a, uint64_t i)
{
    if (a->values) return ((const VALUE *)a->values)[i];
    uint64_t position = a->first + i;
    VALUE value = (VALUE)position;
#if VALUE_BITS == 64
    double number = (double)position;
    if (a->value_type == COPSE_F64) memcpy(&value, &number, sizeof value);
#else
    float number = (float)position;
    if (a->value_type == COPSE_F32) memcpy(&value, &number, sizeof value);
#endif
    return value;
}

SIMT_DEVICE KEY NAME(pair_key)(const copse_pairs_arguments *a, uint64_t i)
{
    return ENCODE_ONE(a->key_type, ((const KEY *)a->keys)[i]);
}

SIMT_DEVICE uint64_t NAME(warp_min)(uint64_t value)
{
    for (uint32_t step = 16; step > 0; step /= 2) {
        uint64_t other = simt_shfl_xor_u64(SIMT_FULL_MASK, value, step);
        value = other < value ? other : value;
    }
    return value;
}

SIMT_DEVICE uint64_t NAME(warp_max)(uint64_t value)
{
    return ~NAME(warp_min)(~value);
}

SIMT_DEVICE uint64_t NAME(warp_sum)(uint64_t value)
{
    for (uint32_t step = 16; step > 0; step /= 2) value += simt_shfl_xor_u64(SIMT_FULL_MASK, value, step);
    return value;
}

/* Looks at all keys once: NaN, smallest, largest, order. */
SIMT_KERNEL(NAME(survey), copse_pairs_arguments, COPSE_KERNEL_THREADS, 8)
{
    uint64_t smallest = UINT64_MAX, largest = 0, falls = 0, equals = 0;
    for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < a.n; i += (uint64_t)gridDim.x * blockDim.x) {
        if (IS_NAN(a.key_type, ((const KEY *)a.keys)[i])) simt_atomic_min_u64(&a.survey->first_nan, i);
        KEY key = NAME(pair_key)(&a, i), before = i ? NAME(pair_key)(&a, i - 1u) : key;
        falls += key < before;
        equals += i && key == before;
        smallest = key < smallest ? key : smallest;
        largest = key > largest ? key : largest;
    }
    smallest = NAME(warp_min)(smallest);
    largest = NAME(warp_max)(largest);
    falls = NAME(warp_sum)(falls);
    equals = NAME(warp_sum)(equals);
    if (simt_lane() != 0) return;
    simt_atomic_min_u64(&a.survey->smallest, smallest);
    simt_atomic_max_u64(&a.survey->largest, largest);
    if (falls) simt_atomic_add_u64(&a.survey->falls, falls);
    if (equals) simt_atomic_add_u64(&a.survey->equals, equals);
}

SIMT_KERNEL(NAME(encode), copse_pairs_arguments, COPSE_KERNEL_THREADS, 8)
{
    for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < a.n; i += (uint64_t)gridDim.x * blockDim.x) {
        if (a.out_keys) ((KEY *)a.out_keys)[i] = NAME(pair_key)(&a, i);
        if (a.out_values) ((VALUE *)a.out_values)[i] = NAME(pair_value)(&a, i);
    }
}

/* Word `word` of the 16 that unit `unit` consists of. */
SIMT_DEVICE uint32_t NAME(fill_word)(const copse_pairs_arguments *a, uint64_t unit, uint32_t word)
{
    const bool is_value = word * 4u >= UNIT_VALUES;
    const uint32_t bytes = is_value ? VALUE_BITS / 8u : KEY_BITS / 8u;
    const uint32_t slot = (word * 4u - (is_value ? UNIT_VALUES : 0u)) / bytes;
    const uint64_t at = unit * UNIT_SLOTS + slot;
    uint64_t content = is_value ? 0 : UINT64_MAX; /* free places: largest key, no value */
    if (slot >= UNIT_SLOTS) return 0;             /* between the keys and the values, or behind them */
    if (at < a->n) content = is_value ? (uint64_t)NAME(pair_value)(a, at) : (uint64_t)NAME(pair_key)(a, at);
    return (uint32_t)(content >> (bytes == 8u && word % 2u == 1u ? 32 : 0));
}

/* What the levels are made of: the digest of a unit's last key, or the key itself where it has 32 bits. */
SIMT_DEVICE void NAME(fill_last)(const copse_pairs_arguments *a, uint64_t unit, KEY key)
{
#if KEY_BITS == 64
    a->last[unit] = copse_digest(key, a->tree.base, a->tree.shift);
#else
    a->last[unit] = key;
#endif
}

/* Piece i, 16 bytes, of the units, word by word. */
SIMT_DEVICE void NAME(fill_piece)(const copse_pairs_arguments *a, uint64_t i)
{
    uint32_t *to = (uint32_t *)(a->tree.unit + i * 16u);
    const uint32_t first = (uint32_t)(i % 4u) * 4u;
    const uint64_t last = i / 4u * UNIT_SLOTS + UNIT_SLOTS - 1u;
    SIMT_UNROLL
    for (uint32_t w = 0; w < 4u; w++) to[w] = NAME(fill_word)(a, i / 4u, first + w);
    if (i % 4u == 0) NAME(fill_last)(a, i / 4u, last < a->n ? NAME(pair_key)(a, last) : KEY_MAX);
}

#if KEY_BITS == VALUE_BITS
/* The same where a piece is 16 bytes of one of the arrays as they are. */
SIMT_DEVICE void NAME(fill_whole_piece)(const copse_pairs_arguments *a, uint64_t i)
{
    const uint32_t part = (uint32_t)(i % 4u);
    const uint64_t at = i / 4u * UNIT_SLOTS + (part & 1u) * PIECE_KEYS;
    simt_u32x4 v = simt_load16_once((const KEY *)(part >= 2u ? a->values : a->keys) + at);
    *(simt_u32x4 *)(a->tree.unit + i * 16u) = v;
    if (part == 1u) NAME(fill_last)(a, i / 4u, NAME(piece_key)(v, PIECE_KEYS - 1u));
}
#endif

/* Pairs in order into units: one thread per 16 bytes, so that all writes of a warp are one run. */
SIMT_KERNEL(NAME(fill), copse_pairs_arguments, COPSE_KERNEL_THREADS, 8)
{
    const uint64_t pieces = (uint64_t)a.tree.units * 4u;
#if KEY_BITS == VALUE_BITS
    const bool plain = a.values && a.key_type == (KEY_BITS == 64 ? COPSE_U64 : COPSE_U32) &&
                       ((uintptr_t)a.keys | (uintptr_t)a.values) % 16u == 0;
    const uint64_t whole = plain ? a.n / UNIT_SLOTS * 4u : 0; /* pieces of full units */
#endif
    for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < pieces;
         i += (uint64_t)gridDim.x * blockDim.x) {
#if KEY_BITS == VALUE_BITS
        if (i < whole) {
            NAME(fill_whole_piece)(&a, i);
            continue;
        }
#endif
        NAME(fill_piece)(&a, i);
    }
}

/* Of a tile a warp looks at this many rows of 32 pairs at once, so that their loads are under way together. */
#define KEPT_ROWS 4u

/* Keys first .. first + 32 * KEPT_ROWS, a row after the other, and which of them stay where of equal keys only the last
 * one does: those that differ from the one behind. */
SIMT_DEVICE void NAME(kept_rows)(const copse_pairs_arguments *a, uint64_t first, KEY *keys, bool *stays)
{
    const uint32_t lane = simt_lane();
    const uint64_t end = first + KEPT_ROWS * SIMT_WARP;
    SIMT_UNROLL
    for (uint32_t r = 0; r < KEPT_ROWS; r++) {
        uint64_t i = first + r * SIMT_WARP + lane;
        keys[r] = i < a->n ? NAME(pair_key)(a, i) : 0;
    }
    KEY behind_all = end < a->n ? NAME(pair_key)(a, end) : 0;
    SIMT_UNROLL
    for (uint32_t r = 0; r < KEPT_ROWS; r++) {
        const uint64_t i = first + r * SIMT_WARP + lane;
        KEY behind = COPSE_BITS(simt_shfl_down_u, KEY_BITS)(SIMT_FULL_MASK, keys[r], 1);
        KEY next_row = r + 1u < KEPT_ROWS
                           ? COPSE_BITS(simt_shfl_u, KEY_BITS)(SIMT_FULL_MASK, keys[(r + 1u) % KEPT_ROWS], 0)
                           : behind_all;
        if (lane == SIMT_WARP - 1u) behind = next_row;
        stays[r] = i < a->n && (i + 1u == a->n || keys[r] != behind);
    }
}

/* How many pairs of each tile stay: a warp per tile. */
SIMT_KERNEL(NAME(count_kept), copse_pairs_arguments, COPSE_KERNEL_THREADS, 8)
{
    const uint64_t warps = (uint64_t)gridDim.x * (COPSE_KERNEL_THREADS / SIMT_WARP);
    const uint64_t tiles = (a.n + COPSE_KEPT_TILE - 1u) / COPSE_KEPT_TILE;
    for (uint64_t t = (uint64_t)blockIdx.x * (COPSE_KERNEL_THREADS / SIMT_WARP) + simt_warp(); t < tiles; t += warps) {
        uint32_t kept = 0;
        for (uint32_t from = 0; from < COPSE_KEPT_TILE; from += KEPT_ROWS * SIMT_WARP) {
            KEY keys[KEPT_ROWS];
            bool stays[KEPT_ROWS];
            NAME(kept_rows)(&a, t * COPSE_KEPT_TILE + from, keys, stays);
            SIMT_UNROLL
            for (uint32_t r = 0; r < KEPT_ROWS; r++) kept += (uint32_t)__popc(__ballot_sync(SIMT_FULL_MASK, stays[r]));
        }
        if (simt_lane() == 0) a.tiles[t] = kept;
    }
}

/* Puts one entry in its place. */
SIMT_DEVICE void NAME(fill_entry)(const copse_pairs_arguments *a, uint64_t place, KEY key, VALUE value)
{
    char *unit = a->tree.unit + place / UNIT_SLOTS * 64u;
    const uint32_t slot = (uint32_t)(place % UNIT_SLOTS);
    ((KEY *)unit)[slot] = key;
    ((VALUE *)(unit + UNIT_VALUES))[slot] = value;
    if (slot == UNIT_SLOTS - 1u) NAME(fill_last)(a, place / UNIT_SLOTS, key);
}

/* Fills the units with the pairs that stay: a warp per tile, which knows how many stay in front of it. */
SIMT_KERNEL(NAME(fill_kept), copse_pairs_arguments, COPSE_KERNEL_THREADS, 8)
{
    const uint64_t warps = (uint64_t)gridDim.x * (COPSE_KERNEL_THREADS / SIMT_WARP);
    const uint64_t tiles = (a.n + COPSE_KEPT_TILE - 1u) / COPSE_KEPT_TILE;
    const uint64_t own = (uint64_t)blockIdx.x * (COPSE_KERNEL_THREADS / SIMT_WARP) + simt_warp();
    for (uint64_t t = own; t < tiles; t += warps) {
        uint64_t place = a.tiles[t];
        for (uint32_t from = 0; from < COPSE_KEPT_TILE; from += KEPT_ROWS * SIMT_WARP) {
            KEY keys[KEPT_ROWS];
            VALUE values[KEPT_ROWS];
            bool stays[KEPT_ROWS];
            const uint64_t first = t * COPSE_KEPT_TILE + from;
            NAME(kept_rows)(&a, first, keys, stays);
            SIMT_UNROLL
            for (uint32_t r = 0; r < KEPT_ROWS; r++)
                values[r] = stays[r] ? NAME(pair_value)(&a, first + r * SIMT_WARP + simt_lane()) : 0;
            SIMT_UNROLL
            for (uint32_t r = 0; r < KEPT_ROWS; r++) {
                const uint32_t all = __ballot_sync(SIMT_FULL_MASK, stays[r]);
                const uint32_t in_front = all & ((1u << simt_lane()) - 1u);
                if (stays[r]) NAME(fill_entry)(&a, place + (uint64_t)__popc(in_front), keys[r], values[r]);
                place += (uint64_t)__popc(all);
            }
        }
    }
    const uint64_t free_place = a.tree.entries + simt_lane();
    if (own == 0 && free_place < (uint64_t)a.tree.units * UNIT_SLOTS) NAME(fill_entry)(&a, free_place, KEY_MAX, 0);
}

#if KEY_BITS == 64
/* Keys that share their upper bits and were left in the caller's order by a sort of those bits alone. */
#define SETTLE_LONGEST_RUN 24u

/* Puts pairs first .. end in order, equal keys in the order in which they are. */
SIMT_DEVICE void NAME(settle_run)(KEY *keys, VALUE *values, uint64_t first, uint64_t end)
{
    for (uint64_t i = first + 1u; i < end; i++) {
        KEY key = keys[i];
        VALUE value = values[i];
        uint64_t to = i;
        for (; to > first && keys[to - 1u] > key; to--) {
            simt_store_relaxed_u64(&keys[to], keys[to - 1u]);
            values[to] = values[to - 1u];
        }
        simt_store_relaxed_u64(&keys[to], key);
        values[to] = value;
    }
}

/*
 * Finishes a sort that looked at the upper bits only: the first thread of each run of keys with the same upper bits puts
 * the run in order. `first` is the number of bits that were left out. Runs that are too long are counted as falls, and
 * the caller sorts by all bits instead. Others look at a run while it is put in order, but only at its upper bits.
 */
SIMT_KERNEL(NAME(settle), copse_pairs_arguments, COPSE_KERNEL_THREADS, 8)
{
    KEY *keys = (KEY *)a.out_keys;
    const uint32_t lane = simt_lane();
    for (uint64_t base = ((uint64_t)blockIdx.x * blockDim.x + threadIdx.x) - lane; base < a.n;
         base += (uint64_t)gridDim.x * blockDim.x) {
        const uint64_t i = base + lane, n = a.n;
        const KEY upper = i < n ? simt_load_relaxed_u64(&keys[i]) >> a.first : KEY_MAX;
        KEY before = simt_shfl_up_u64(SIMT_FULL_MASK, upper, 1), after = simt_shfl_down_u64(SIMT_FULL_MASK, upper, 1);
        if (lane == 0) before = i > 0 ? simt_load_relaxed_u64(&keys[i - 1u]) >> a.first : KEY_MAX;
        if (lane == 31u) after = i + 1u < n ? simt_load_relaxed_u64(&keys[i + 1u]) >> a.first : KEY_MAX;
        if (i + 1u >= n || after != upper || before == upper) continue; /* not the first of a run of several */
        uint64_t end = i + 2u;
        while (end < n && end - i <= SETTLE_LONGEST_RUN && simt_load_relaxed_u64(&keys[end]) >> a.first == upper) end++;
        if (end - i > SETTLE_LONGEST_RUN)
            simt_atomic_add_u64(&a.survey->falls, 1);
        else
            NAME(settle_run)(keys, (VALUE *)a.out_values, i, end);
    }
}
#endif

SIMT_DEVICE KEY NAME(unit_last)(const copse_device_tree *tree, uint64_t unit)
{
    return NAME(unit_key)(tree, unit * UNIT_SLOTS + UNIT_SLOTS - 1u);
}

#define DIGEST_LONGEST_RUN 16u

/* Steps right that lookups of the units' largest keys would make if separators were digests; see cpu/implicit_build. */
SIMT_KERNEL(NAME(digest_steps), copse_level_arguments, COPSE_KERNEL_THREADS, 8)
{
    uint64_t steps = 0;
    for (uint64_t u = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; u < a.tree.units;
         u += (uint64_t)gridDim.x * blockDim.x) {
        uint64_t run = 0;
        while (run < DIGEST_LONGEST_RUN && run < u && a.last[u - run - 1u] == a.last[u]) run++;
        steps += run == DIGEST_LONGEST_RUN ? (uint64_t)1 << 40 : run;
    }
    steps = NAME(warp_sum)(steps);
    if (simt_lane() == 0 && steps) simt_atomic_add_u64(&a.survey->digest_steps, steps);
}

/* Separator of child `child`: the largest key below it, the maximum where no child follows. */
SIMT_DEVICE KEY NAME(separator)(const copse_level_arguments *a, uint64_t child)
{
    if (child + 1u >= a->children) return KEY_MAX;
    if (a->last) return (KEY)a->last[(child + 1u) * a->span - 1u];
    KEY last = NAME(unit_last)(&a->tree, (child + 1u) * a->span - 1u);
    return a->tree.digest ? (KEY)copse_digest(last, a->tree.base, a->tree.shift) : last;
}

/* One thread per separator. */
SIMT_KERNEL(NAME(fill_level), copse_level_arguments, COPSE_KERNEL_THREADS, 8)
{
    const uint32_t separators = (a.tree.digest ? DIGEST_FANOUT : FULL_FANOUT) - 1u;
    for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < a.nodes * separators;
         i += (uint64_t)gridDim.x * blockDim.x) {
        const uint64_t node = i / separators;
        const uint32_t j = (uint32_t)(i % separators);
        KEY separator = NAME(separator)(&a, node * (separators + 1u) + j);
        char *line = a.tree.level[a.level] + node * 64u;
        if (a.tree.digest)
            ((uint32_t *)line)[j] = (uint32_t)separator;
        else
            ((KEY *)line)[j] = separator;
    }
}

/* Marks what stays when a sorted batch of keys is erased. */
SIMT_KERNEL(NAME(erase), copse_mark_arguments, COPSE_KERNEL_THREADS, 8)
{
    const KEY *keys = (const KEY *)a.keys;
    for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < a.tree.entries;
         i += (uint64_t)gridDim.x * blockDim.x) {
        const KEY key = NAME(unit_key)(&a.tree, i);
        uint64_t low = 0, high = a.n;
        while (low < high) {
            uint64_t middle = low + (high - low) / 2u;
            if (keys[middle] < key)
                low = middle + 1u;
            else
                high = middle;
        }
        a.keep[i] = !(low < a.n && keys[low] == key);
    }
}

/* Marks the keys of a sorted batch that the tree does not have. */
SIMT_KERNEL(NAME(absent), copse_mark_arguments, COPSE_KERNEL_THREADS, 8)
{
    const bool digest = a.tree.digest != 0;
    for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < a.n; i += (uint64_t)gridDim.x * blockDim.x) {
        BOUND bound = NAME(walk_start)(&a.tree, digest, ((const KEY *)a.keys)[i]);
        uint64_t place = NAME(place_alone)(&a.tree, digest, bound, false);
        a.keep[i] = !(place < a.tree.entries && NAME(unit_key)(&a.tree, place) == bound.q);
    }
}
