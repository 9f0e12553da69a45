/*
 * Template: packing a tree together with a sorted batch, a tile at a time.
 *
 * A tile is some consecutive homes and the operations whose keys belong there; operations with equal keys are always in the
 * same one. One warp has a tile, all of it in shared memory:
 *
 *   keys, values   | entries of all leaves of the homes, close together | entries that operations insert |
 *                    0 ........................................ entries   entries ...
 *
 *   tile_starts    the first operation of each tile: a thread per tile, since halving takes many steps that wait for each other
 *   tile_count     how many entries come and go. (The host scans the counts: the first rank of each tile.)
 *   tile_move      the entries of the tile after the operations, as rows of the new version
 *
 * No list of the merged entries is made. The tile's position k after the operations is an inserted entry where bit k of
 * `inserted` is set; the bits in front of it say how many of those there are so far, and so which entry it is.
 *
 * A tile that does not fit is reported, and the host takes another way.
 */

#define TILE_ENTRIES    COPSE_TILE_ENTRIES(KEY_BITS / 8u + VALUE_BITS / 8u)
#define TILE_WORDS      ((TILE_ENTRIES + 31u) / 32u)
#define TILE_LEAVES     64u
#define TILE_OPERATIONS 4096u /* more would keep one warp at work while the others have long finished */
#define TILE_WARPS      (COPSE_KERNEL_THREADS / SIMT_WARP)
/* Leaves that a lane has on their way from memory at a time. */
#define TILE_AHEAD 8u
/* Lanes that read the keys of one leaf. */
#define TILE_KEY_LANES (LEAF_SLOTS * ROW_KEY > 16u ? 32u : 16u)
/* Blocks that count on one multiprocessor, as far as their registers allow. */
#define TILE_COUNT_BLOCKS (KEY_BITS == VALUE_BITS ? 12 : 9)

/* The tile of a warp. */
typedef struct NAME(tile) {
    KEY keys[TILE_ENTRIES];
    VALUE values[TILE_ENTRIES];
    uint64_t leaves[TILE_LEAVES];                       /* see leaf_note                                    */
    uint64_t marks[TILE_WORDS];                         /* a word of `inserted`, and << 32 the bits in front */
    uint32_t inserted[TILE_WORDS], removed[TILE_WORDS]; /* bit sets: positions after and before the operations */
} NAME(tile);
#define TILE NAME(tile)

/* What counting needs of it. */
typedef struct NAME(tile_keys) {
    KEY keys[TILE_ENTRIES];
    uint64_t leaves[TILE_LEAVES];
} NAME(tile_keys);

/* --- the operations of a tile ------------------------------------------------------------------------------------------- */

/* The largest key that a home may have. */
SIMT_DEVICE KEY NAME(home_high)(const copse_blink_tree *tree, uint32_t home)
{
    CURSOR cursor = NAME(cursor_at)(tree, home);
    while (NAME(cursor_step)(tree, &cursor)) {
    }
    return NAME(leaf_high)(cursor.leaf);
}

SIMT_KERNEL(NAME(tile_starts), copse_pack_arguments, COPSE_KERNEL_THREADS, 8)
{
    const uint64_t n = a.operations.n;
    for (uint64_t t = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; t <= a.tiles;
         t += (uint64_t)gridDim.x * blockDim.x) {
        uint64_t start = t == 0 ? 0 : n;
        if (t > 0 && t < a.tiles) {
            const KEY high = NAME(home_high)(&a.from, (uint32_t)t * a.tile_homes - 1u);
            if (high != KEY_MAX) start = NAME(operation_seek)(&a.operations, 0, n, (KEY)(high + 1u));
        }
        a.starts[t] = (uint32_t)start;
    }
}

/* One operation, on its way into a tile. */
typedef struct NAME(tile_operation) {
    KEY key;
    VALUE value;
    copse_action action;
    bool live; /* it is there and counts */
} NAME(tile_operation);
#define OPERATION NAME(tile_operation)

SIMT_DEVICE OPERATION NAME(tile_fetch)(const copse_blink_operations *operations, uint64_t i, uint64_t end, bool values)
{
    OPERATION operation;
    operation.key = 0;
    operation.value = 0;
    operation.action = COPSE_ACTION_ERASE;
    operation.live = false;
    if (i >= end) return operation;
    operation.key = ((const KEY *)operations->keys)[i];
    operation.action = NAME(operation_action)(operations, i);
    operation.live = !NAME(operation_dead)(operations, i);
    if (values && operations->values) operation.value = NAME(operation_value)(operations, i);
    return operation;
}

/* What it will do there. */
typedef struct NAME(tile_fate) {
    uint32_t before; /* entries of the tile in front of its key */
    bool inserts, removes, replaces;
} NAME(tile_fate);
#define FATE NAME(tile_fate)

SIMT_DEVICE FATE NAME(tile_judge)(const KEY *keys, uint32_t entries, const OPERATION *operation)
{
    FATE fate;
    uint32_t before = 0;
    for (uint32_t step = entries ? 1u << (31 - __clz((int)entries)) : 0; step > 0; step /= 2u)
        if (before + step <= entries && keys[before + step - 1u] < operation->key) before += step;
    const bool there = before < entries && keys[before] == operation->key;
    fate.before = before;
    fate.inserts = operation->live && !there && operation->action != COPSE_ACTION_ERASE;
    fate.removes = operation->live && there && operation->action == COPSE_ACTION_ERASE;
    fate.replaces = operation->live && there && operation->action == COPSE_ACTION_UPSERT;
    return fate;
}

/* --- the entries of a tile ---------------------------------------------------------------------------------------------- */

/* A leaf in the list of a tile: its number, the entries of the tile in front of it, its own. */
SIMT_DEVICE uint64_t NAME(leaf_note)(uint32_t number, uint32_t in_front, uint32_t count)
{
    return (uint64_t)(in_front << 8 | count) << 32 | number;
}

/* value summed up over this lane and those in front of it. */
SIMT_DEVICE uint32_t NAME(warp_running)(uint32_t value)
{
    const uint32_t lane = simt_lane();
    for (uint32_t d = 1; d < SIMT_WARP; d *= 2u) {
        const uint32_t other = simt_shfl_up_u32(SIMT_FULL_MASK, value, d);
        if (lane >= d) value += other;
    }
    return value;
}

/*
 * Lists the leaves of homes first .. first + homes - 1, a home per lane. Returns how many leaves there are; *out_entries
 * says how many entries. Where either is more than fits the list is not complete.
 */
SIMT_DEVICE uint32_t NAME(tile_list)(const copse_blink_tree *tree, uint32_t first, uint32_t homes, uint64_t *leaves,
                                     uint32_t *out_entries)
{
    const bool any = simt_lane() < homes;
    const CURSOR start = NAME(cursor_at)(tree, first + (any ? simt_lane() : 0));
    const uint32_t count = any ? NAME(leaf_state)(start.leaf) & COPSE_LEAF_COUNT : 0;
    CURSOR cursor = start;
    uint32_t sizes = count << 16 | (any ? 1u : 0); /* entries and leaves in one word */
    bool more = any && NAME(cursor_step)(tree, &cursor);
    const bool chains = __any_sync(SIMT_FULL_MASK, more);
    while (more) {
        sizes += (NAME(leaf_state)(cursor.leaf) & COPSE_LEAF_COUNT) << 16 | 1u;
        more = NAME(cursor_step)(tree, &cursor);
    }
    const uint32_t running = NAME(warp_running)(sizes), all = simt_shfl_u32(SIMT_FULL_MASK, running, SIMT_WARP - 1u);
    uint32_t at = (running - sizes) & 0xffffu, in_front = (running - sizes) >> 16;
    *out_entries = all >> 16;
    if (any && at < TILE_LEAVES) leaves[at] = NAME(leaf_note)(start.number, in_front, count);
    cursor = start;
    in_front += count;
    while (any && chains && NAME(cursor_step)(tree, &cursor)) {
        const uint32_t entries = NAME(leaf_state)(cursor.leaf) & COPSE_LEAF_COUNT;
        if (++at < TILE_LEAVES) leaves[at] = NAME(leaf_note)(cursor.number, in_front, entries);
        in_front += entries;
    }
    return all & 0xffffu;
}

/* Brings the entries of the listed leaves into shared memory, or only their keys. `lanes` lanes have a leaf. */
SIMT_DEVICE void NAME(tile_load)(const copse_blink_tree *tree, const uint64_t *leaves, uint32_t n, uint32_t lanes,
                                 bool values, uint32_t *to)
{
    const uint32_t word = simt_lane() % lanes, row = simt_lane() / lanes, rows = SIMT_WARP / lanes;
    const ROLE role = NAME(row_role_of)(word);
    const bool takes = role.words && !role.high && (values || !role.value);
    const uint32_t slot = takes ? role.slot : LEAF_SLOTS;
    uint32_t *own = to + (role.value ? TILE_ENTRIES * ROW_KEY : 0) + role.slot * role.words + role.part;
    for (uint32_t first = row; first < n + row; first += rows * TILE_AHEAD) {
        uint32_t loaded[TILE_AHEAD], places[TILE_AHEAD];
        SIMT_UNROLL
        for (uint32_t r = 0; r < TILE_AHEAD; r++) {
            const uint32_t i = first + r * rows;
            const uint64_t note = i < n ? leaves[i] : 0;
            places[r] = (uint32_t)(note >> 32);
            loaded[r] = 0;
            if (slot < (places[r] & 0xffu))
                loaded[r] = simt_load_once_u32((const uint32_t *)NAME(leaf_at)(tree, (uint32_t)note) + word);
        }
        SIMT_UNROLL
        for (uint32_t r = 0; r < TILE_AHEAD; r++)
            if (slot < (places[r] & 0xffu)) own[(places[r] >> 8) * role.words] = loaded[r];
    }
}

/* --- counting ----------------------------------------------------------------------------------------------------------- */

/* Entries that the operations of a tile bring and take. All lanes come here; the answer is the same in all. */
SIMT_DEVICE void NAME(tile_count_operations)(const copse_pack_arguments *a, const KEY *keys, uint32_t entries,
                                             uint64_t start, uint64_t end, uint32_t *came, uint32_t *went)
{
    OPERATION next = NAME(tile_fetch)(&a->operations, start + simt_lane(), end, false);
    for (uint64_t first = start; first < end; first += SIMT_WARP) {
        const OPERATION operation = next;
        next = NAME(tile_fetch)(&a->operations, first + SIMT_WARP + simt_lane(), end, false);
        const FATE fate = NAME(tile_judge)(keys, entries, &operation);
        *came += (uint32_t)__popc(__ballot_sync(SIMT_FULL_MASK, fate.inserts));
        *went += (uint32_t)__popc(__ballot_sync(SIMT_FULL_MASK, fate.removes));
    }
}

/* Homes of tile t. */
SIMT_DEVICE uint32_t NAME(tile_homes)(const copse_pack_arguments *a, uint32_t t)
{
    const uint32_t left = a->from.homes - t * a->tile_homes;
    return left < a->tile_homes ? left : a->tile_homes;
}

/* Counts one tile. Returns false where it does not fit. */
SIMT_DEVICE bool NAME(tile_count_one)(const copse_pack_arguments *a, NAME(tile_keys) * tile, uint32_t t, uint32_t *came,
                                      uint32_t *went)
{
    const uint64_t start = a->operations.n ? a->starts[t] : 0, end = a->operations.n ? a->starts[t + 1u] : 0;
    uint32_t entries, in = 0, out = 0;
    const uint32_t leaves =
        NAME(tile_list)(&a->from, t * a->tile_homes, NAME(tile_homes)(a, t), tile->leaves, &entries);
    if (leaves > TILE_LEAVES || entries > TILE_ENTRIES || end - start > TILE_OPERATIONS) return false;
    __syncwarp(SIMT_FULL_MASK);
    if (start < end) {
        NAME(tile_load)(&a->from, tile->leaves, leaves, TILE_KEY_LANES, false, (uint32_t *)tile->keys);
        __syncwarp(SIMT_FULL_MASK);
        NAME(tile_count_operations)(a, tile->keys, entries, start, end, &in, &out);
    }
    if (simt_lane() == 0) a->before[t] = entries + in - out;
    *came += in;
    *went += out;
    return entries + in <= TILE_ENTRIES;
}

SIMT_KERNEL(NAME(tile_count), copse_pack_arguments, COPSE_KERNEL_THREADS, TILE_COUNT_BLOCKS)
{
    SIMT_SHARED(NAME(tile_keys), tiles, TILE_WARPS);
    const uint32_t warps = gridDim.x * TILE_WARPS, warp = blockIdx.x * TILE_WARPS + simt_warp();
    uint32_t came = 0, went = 0;
    bool fits = true;
    for (uint32_t t = warp; t < a.tiles; t += warps) {
        fits &= NAME(tile_count_one)(&a, &tiles[simt_warp()], t, &came, &went);
        __syncwarp(SIMT_FULL_MASK);
    }
    if (simt_lane() != 0) return;
    if (warp == 0) a.before[a.tiles] = 0;
    if (came) (void)simt_atomic_add_u64(&a.totals->came[warp % COPSE_POOL_STRIPES], came);
    if (went) (void)simt_atomic_add_u64(&a.totals->went[warp % COPSE_POOL_STRIPES], went);
    if (!fits) simt_store_relaxed_u32(&a.totals->irregular, 1u);
}

/* --- moving ------------------------------------------------------------------------------------------------------------- */

/*
 * Runs the operations of a tile: entries to insert go behind the others, values are replaced where they are, and the sets
 * of places say where entries come and go. Returns how many come, and in *out_went how many go.
 */
SIMT_DEVICE uint32_t NAME(tile_operate)(const copse_pack_arguments *a, TILE *tile, uint32_t entries, uint64_t start,
                                        uint64_t end, OPERATION next, uint32_t *out_went)
{
    const uint32_t below = (1u << simt_lane()) - 1u;
    uint32_t came = 0, went = 0;
    for (uint64_t first = start; first < end; first += SIMT_WARP) {
        const OPERATION operation = next;
        next = NAME(tile_fetch)(&a->operations, first + SIMT_WARP + simt_lane(), end, true);
        const FATE fate = NAME(tile_judge)(tile->keys, entries, &operation);
        const uint32_t in = __ballot_sync(SIMT_FULL_MASK, fate.inserts);
        const uint32_t out = __ballot_sync(SIMT_FULL_MASK, fate.removes);
        if (fate.replaces) tile->values[fate.before] = operation.value;
        if (fate.removes) (void)simt_atomic_or_u32(&tile->removed[fate.before / 32u], 1u << fate.before % 32u);
        if (fate.inserts) {
            const uint32_t mine = came + (uint32_t)__popc(in & below);
            const uint32_t place = fate.before - went - (uint32_t)__popc(out & below) + mine;
            tile->keys[entries + mine] = operation.key;
            tile->values[entries + mine] = operation.value;
            (void)simt_atomic_or_u32(&tile->inserted[place / 32u], 1u << place % 32u);
        }
        came += (uint32_t)__popc(in);
        went += (uint32_t)__popc(out);
    }
    __syncwarp(SIMT_FULL_MASK);
    *out_went = went;
    return came;
}

/* Closes the gaps that removed entries leave. Those that come behind stay where they are. */
SIMT_DEVICE void NAME(tile_close)(TILE *tile, uint32_t entries)
{
    const uint32_t lane = simt_lane(), below = (1u << lane) - 1u;
    uint32_t kept = 0;
    for (uint32_t first = 0; first < entries; first += SIMT_WARP) {
        const uint32_t i = first + lane;
        const bool stays = i < entries && !(tile->removed[first / 32u] >> lane & 1u);
        const KEY key = stays ? tile->keys[i] : 0;
        const VALUE value = stays ? tile->values[i] : 0;
        const uint32_t staying = __ballot_sync(SIMT_FULL_MASK, stays);
        __syncwarp(SIMT_FULL_MASK); /* all have read what is overwritten now */
        const uint32_t to = kept + (uint32_t)__popc(staying & below);
        if (stays) tile->keys[to] = key;
        if (stays) tile->values[to] = value;
        kept += (uint32_t)__popc(staying);
    }
}

/* Sums up the bits of `inserted`. */
SIMT_DEVICE void NAME(tile_mark)(TILE *tile)
{
    const uint32_t lane = simt_lane(), word = lane < TILE_WORDS ? tile->inserted[lane] : 0;
    const uint32_t bits = (uint32_t)__popc(word), in_front = NAME(warp_running)(bits) - bits;
    if (lane < TILE_WORDS) tile->marks[lane] = (uint64_t)in_front << 32 | word;
    __syncwarp(SIMT_FULL_MASK);
}

/* Where the tile keeps what is its entry `position` after the operations. `entries`: what it had before them. */
SIMT_DEVICE uint32_t NAME(tile_entry)(const TILE *tile, uint32_t entries, uint32_t position)
{
    const uint64_t mark = tile->marks[position / 32u];
    const uint32_t word = (uint32_t)mark, bit = 1u << position % 32u;
    const uint32_t in_front = (uint32_t)(mark >> 32) + (uint32_t)__popc(word & (bit - 1u));
    return word & bit ? entries + in_front : position - in_front;
}

/* How a warp stores the leaves of a tile: what this lane does with its word. */
typedef struct NAME(tile_writer) {
    const TILE *tile;
    uint32_t entries; /* that the tile had before the operations */
    ROLE role;
    const uint32_t *own; /* where the lane's words of entries are */
} NAME(tile_writer);
#define WRITER NAME(tile_writer)

/* The lane's word of the entry at `position` of the tile. */
SIMT_DEVICE uint32_t NAME(tile_word)(const WRITER *writer, uint32_t position)
{
    return writer->own[NAME(tile_entry)(writer->tile, writer->entries, position) * writer->role.words];
}

/* A leaf at the end of the tile, or of the tree: of the former only what belongs to the tile. `first` is the position of its
 * first entry in the tile, which may be in front of it. The words beside the entries go with the first entry of a leaf. */
SIMT_DEVICE void NAME(tile_store_end)(const copse_pack_arguments *a, const WRITER *writer, uint64_t leaf, int32_t first,
                                      uint32_t count)
{
    const uint32_t size = NAME(packed_size)(&a->to, leaf), slot = NAME(row_slot)(&writer->role, size);
    const uint32_t position = (uint32_t)first + (slot < size ? slot : 0);
    if (position >= count) return;
    const uint32_t word = slot < size ? NAME(tile_word)(writer, position) : 0;
    NAME(row_store)(&a->to, leaf, simt_lane(), &writer->role, size, word);
}

/* Whole leaves, two at a time, from an even one on; `first` is the position of the first entry. None is the last of the tree. */
SIMT_DEVICE void NAME(tile_store_twos)(const copse_pack_arguments *a, const WRITER *writer, uint64_t leaf,
                                       uint32_t twos, uint32_t first)
{
    const uint32_t even = LEAF_PACKED_TWO / 2u, odd = LEAF_PACKED_TWO - even, lane = simt_lane();
    const uint32_t even_slot = NAME(row_slot)(&writer->role, even), odd_slot = NAME(row_slot)(&writer->role, odd);
    const bool is_state = lane == LEAF_STATE / 4u, is_next = lane == LEAF_NEXT / 4u && !a->to.forks;
    const uint32_t filler = lane == LEAF_NEXT / 4u ? COPSE_LEAF_NONE : writer->role.filler;
    const bool has_even = even_slot < even && !is_state && lane != LEAF_NEXT / 4u;
    const bool has_odd = odd_slot < odd && !is_state && lane != LEAF_NEXT / 4u;
    const uint32_t even_else = is_state ? even : filler, odd_else = is_state ? odd : filler;
    const uint32_t in_chunk = (1u << a->to.chunk_shift) - 1u;
    uint32_t *to = NULL, next = (uint32_t)leaf + 1u;
    for (uint32_t i = 0; i < twos; i++, next += 2u, to += COPSE_LEAF_BYTES / 2u, first += LEAF_PACKED_TWO) {
        if (i == 0 || (next & in_chunk) == 1u) to = (uint32_t *)NAME(home_at)(&a->to, next - 1u) + lane;
        uint32_t x = is_next ? next : even_else, y = is_next ? next + 1u : odd_else;
        if (has_even) x = NAME(tile_word)(writer, first + even_slot);
        if (has_odd) y = NAME(tile_word)(writer, first + even + odd_slot);
        to[0] = x;
        to[COPSE_LEAF_BYTES / 4u] = y;
    }
}

/* Stores the rows of the new version that have an entry of the tile, `count` entries from `rank` on. */
SIMT_DEVICE void NAME(tile_store)(const copse_pack_arguments *a, const TILE *tile, uint32_t entries, uint64_t rank,
                                  uint32_t count)
{
    const uint32_t lane = simt_lane();
    const ROLE role = NAME(row_role_of)(lane);
    const WRITER writer = {tile, entries, role,
                           (const uint32_t *)tile->keys + (role.value ? TILE_ENTRIES * ROW_KEY : 0) + role.part};
    const uint64_t first_leaf = NAME(packed_leaf)(rank), end_leaf = NAME(packed_leaf)(rank + count - 1u) + 1u;
    uint64_t leaf = first_leaf;
    int32_t first = -(int32_t)(rank - NAME(packed_first)(first_leaf)); /* of the leaf, in the tile */
    for (; leaf < end_leaf && (first < 0 || leaf % 2u); leaf++) {
        NAME(tile_store_end)(a, &writer, leaf, first, count);
        first += (int32_t)NAME(packed_size)(&a->to, leaf);
    }
    uint32_t twos = first < (int32_t)count ? (count - (uint32_t)first) / LEAF_PACKED_TWO : 0;
    if (twos && leaf + 2u * twos == a->to.homes) twos--; /* the last leaf of the tree is different */
    NAME(tile_store_twos)(a, &writer, leaf, twos, (uint32_t)first);
    leaf += 2u * twos;
    first += (int32_t)(twos * LEAF_PACKED_TWO);
    for (; leaf < end_leaf; leaf++) {
        NAME(tile_store_end)(a, &writer, leaf, first, count);
        first += (int32_t)NAME(packed_size)(&a->to, leaf);
    }
    for (leaf = first_leaf + lane; leaf < end_leaf; leaf += SIMT_WARP) {
        const uint64_t last = NAME(packed_first)(leaf) + NAME(packed_size)(&a->to, leaf) - 1u - rank;
        if (last < count) NAME(row_last)(a, leaf, tile->keys[NAME(tile_entry)(tile, entries, (uint32_t)last)]);
    }
}

SIMT_DEVICE void NAME(tile_move_one)(const copse_pack_arguments *a, TILE *tile, uint32_t t)
{
    const uint32_t lane = simt_lane();
    const uint64_t start = a->operations.n ? a->starts[t] : 0, end = a->operations.n ? a->starts[t + 1u] : 0;
    const uint64_t rank = a->before[t];
    const OPERATION next = NAME(tile_fetch)(&a->operations, start + lane, end, true);
    uint32_t entries, came = 0, went = 0;
    const uint32_t leaves =
        NAME(tile_list)(&a->from, t * a->tile_homes, NAME(tile_homes)(a, t), tile->leaves, &entries);
    if (lane < TILE_WORDS) tile->inserted[lane] = tile->removed[lane] = 0;
    __syncwarp(SIMT_FULL_MASK);
    NAME(tile_load)(&a->from, tile->leaves, leaves, SIMT_WARP, true, (uint32_t *)tile->keys);
    __syncwarp(SIMT_FULL_MASK);
    if (start < end) came = NAME(tile_operate)(a, tile, entries, start, end, next, &went);
    if (went) NAME(tile_close)(tile, entries);
    NAME(tile_mark)(tile);
    if (entries + came > went) NAME(tile_store)(a, tile, entries, rank, entries + came - went);
}

SIMT_KERNEL(NAME(tile_move), copse_pack_arguments, COPSE_KERNEL_THREADS, 8)
{
    SIMT_SHARED(TILE, tiles, TILE_WARPS);
    const uint32_t warps = gridDim.x * TILE_WARPS;
    for (uint32_t t = blockIdx.x * TILE_WARPS + simt_warp(); t < a.tiles; t += warps) {
        NAME(tile_move_one)(&a, &tiles[simt_warp()], t);
        __syncwarp(SIMT_FULL_MASK);
    }
}

#undef TILE_ENTRIES
#undef TILE_WORDS
#undef TILE_LEAVES
#undef TILE_OPERATIONS
#undef TILE_WARPS
#undef TILE_AHEAD
#undef TILE_KEY_LANES
#undef TILE_COUNT_BLOCKS
#undef TILE
#undef OPERATION
#undef FATE
#undef WRITER
#undef ROLE
#undef ROW_KEY
#undef ROW_VALUE
#undef ROW_AHEAD
