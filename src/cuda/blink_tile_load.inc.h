/* Template: the operations and the entries of a tile (blink_tile.inc.h): where they begin, how they come to shared memory, and what
 * comes of both. */

/* --- the operations of a tile ------------------------------------------------------------------------------------------- */

/* The largest key that a home may have. */
SIMT_DEVICE KEY NAME(home_high)(const copse_blink_tree *tree, uint32_t home)
{
    CURSOR cursor = NAME(cursor_at)(tree, home);
    while (NAME(cursor_step)(tree, &cursor)) {
    }
    return NAME(leaf_high)(cursor.leaf);
}

/* How many operations have keys <= high. Each step leaves one part of TILE_PARTS: neighbours look at the same keys mostly, and
 * what counts is how many steps wait for each other. */
SIMT_DEVICE uint64_t NAME(tile_seek)(const copse_blink_operations *operations, KEY high)
{
    const KEY *keys = (const KEY *)operations->keys;
    uint64_t first = 0, end = operations->n;
    while (first < end) {
        const uint64_t step = (end - first + TILE_PARTS - 1u) / TILE_PARTS;
        uint32_t below = 0;
        SIMT_UNROLL
        for (uint32_t part = 1; part < TILE_PARTS; part++) {
            const uint64_t at = first + part * step - 1u;
            below += at < end && keys[at] <= high ? 1u : 0;
        }
        first += below * step;
        if (below + 1u < TILE_PARTS && first + step - 1u < end) end = first + step - 1u;
    }
    return first;
}

SIMT_KERNEL(NAME(tile_starts), copse_pack_arguments, COPSE_KERNEL_THREADS, 8)
{
    if (a.operations.doubt && blockIdx.x == 0 && threadIdx.x == 0) a.totals->doubt = *a.operations.doubt;
    for (uint64_t t = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; t <= a.tiles;
         t += (uint64_t)gridDim.x * blockDim.x) {
        uint64_t start = t == 0 ? 0 : a.operations.n;
        if (t > 0 && t < a.tiles)
            start = NAME(tile_seek)(&a.operations, NAME(home_high)(&a.from, (uint32_t)t * a.tile_homes - 1u));
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

/* Operation i, where `there`. */
SIMT_DEVICE OPERATION NAME(tile_fetch)(const copse_blink_operations *operations, uint32_t i, bool there)
{
    const KEY *keys = (const KEY *)operations->keys;
    const uint32_t other = operations->last_wins ? i + 1u : i - 1u; /* of equal keys one counts: see operation_dead */
    OPERATION operation;
    operation.key = 0;
    operation.value = 0;
    operation.action = operations->action;
    operation.live = false;
    if (!there) return operation;
    operation.key = keys[i];
    operation.live = operations->last_wins > 1u || other >= (uint32_t)operations->n || keys[other] != operation.key;
    if (operations->gone || operations->row) {
        operation.action = NAME(operation_action)(operations, i);
        if (operations->values) operation.value = NAME(operation_value)(operations, i);
    } else if (operations->values) {
        operation.value = ((const VALUE *)operations->values)[i];
    }
    return operation;
}

/* Of `entries` sorted keys, how many are < key. `half`: the largest power of two that is not more than `entries`. */
SIMT_DEVICE uint32_t NAME(tile_before)(const KEY *keys, uint32_t entries, uint32_t half, KEY key)
{
    const KEY *at = keys;
    if (entries == 0) return 0;
    if (at[entries - half] < key) at += entries + 1u - half; /* half - 1 are left on either side */
    if (half == TILE_HALF) {
        SIMT_UNROLL
        for (uint32_t step = TILE_HALF / 2u; step > 0; step /= 2u)
            if (at[step - 1u] < key) at += step;
    } else {
        for (uint32_t step = half / 2u; step > 0; step /= 2u)
            if (at[step - 1u] < key) at += step;
    }
    return simt_shared_distance(keys, at) / (KEY_BITS / 8u);
}

/* What it will do there. */
typedef struct NAME(tile_fate) {
    uint32_t before; /* entries of the tile in front of its key */
    bool inserts, removes, replaces;
} NAME(tile_fate);
#define FATE NAME(tile_fate)

SIMT_DEVICE FATE NAME(tile_judge)(const KEY *keys, uint32_t entries, uint32_t half, const OPERATION *operation)
{
    FATE fate;
    fate.before = NAME(tile_before)(keys, entries, half, operation->key);
    const bool there = fate.before < entries && keys[fate.before] == operation->key;
    fate.inserts = operation->live && !there && operation->action != COPSE_ACTION_ERASE;
    fate.removes = operation->live && there && operation->action == COPSE_ACTION_ERASE;
    fate.replaces = operation->live && there && operation->action == COPSE_ACTION_UPSERT;
    return fate;
}

/*
 * Runs n operations from `start` on: entries to insert go to the end of the room, values are replaced where they are, and the
 * sets of places say where entries come and go, *out_came and *out_went how many. Returns false where not all fit: while
 * inserted entries are merged there must be room for them twice.
 */
SIMT_DEVICE bool NAME(tile_operate)(const copse_pack_arguments *a, TILE *tile, uint32_t entries, uint32_t start,
                                    uint32_t n, OPERATION next, uint32_t *out_came, uint32_t *out_went)
{
    const uint32_t lane = simt_lane(), below = (1u << lane) - 1u;
    const uint32_t half = entries ? 1u << (31 - __clz((int)entries)) : 0;
    uint32_t came = 0, went = 0;
    for (uint32_t done = 0; done < n; done += SIMT_WARP) {
        const OPERATION operation = next;
        const uint32_t i = done + SIMT_WARP + lane;
        if (done + SIMT_WARP < n) next = NAME(tile_fetch)(&a->operations, start + i, i < n);
        const FATE fate = NAME(tile_judge)(tile->keys, entries, half, &operation);
        const uint32_t in = __ballot_sync(SIMT_FULL_MASK, fate.inserts);
        const uint32_t out = __ballot_sync(SIMT_FULL_MASK, fate.removes);
        const uint32_t mine = came + (uint32_t)__popc(in & below), gone = went + (uint32_t)__popc(out & below);
        came += (uint32_t)__popc(in);
        went += (uint32_t)__popc(out);
        if (entries + 2u * came > TILE_ENTRIES) return false;
        if (fate.replaces) tile->values[fate.before] = operation.value;
        if (fate.removes) (void)simt_atomic_or_u32(&tile->removed[fate.before / 32u], 1u << fate.before % 32u);
        if (fate.inserts) {
            const uint32_t place = fate.before - gone + mine;
            tile->keys[TILE_ENTRIES - 1u - mine] = operation.key;
            tile->values[TILE_ENTRIES - 1u - mine] = operation.value;
            (void)simt_atomic_or_u32(&tile->inserted[place / 32u], 1u << place % 32u);
        }
    }
    __syncwarp(SIMT_FULL_MASK);
    *out_came = came;
    *out_went = went;
    return true;
}

/* --- the entries of a tile ---------------------------------------------------------------------------------------------- */

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
 * says how many entries. Where there are more leaves than fit, or one for each home, there is no list.
 */
SIMT_DEVICE uint32_t NAME(tile_list)(const copse_blink_tree *tree, uint32_t first, uint32_t homes, uint32_t *leaves,
                                     uint32_t *out_entries)
{
    const bool any = simt_lane() < homes;
    const CURSOR start = NAME(cursor_at)(tree, first + (any ? simt_lane() : 0));
    CURSOR cursor = start;
    uint32_t sizes = 0; /* entries, and << 16 leaves */
    for (bool more = any; more; more = NAME(cursor_step)(tree, &cursor))
        sizes += 1u << 16 | (NAME(leaf_state)(cursor.leaf) & COPSE_LEAF_COUNT);
    const uint32_t running = NAME(warp_running)(sizes), all = simt_shfl_u32(SIMT_FULL_MASK, running, SIMT_WARP - 1u);
    *out_entries = all & 0xffffu;
    uint32_t at = (running - sizes) >> 16;
    cursor = start;
    for (bool more = any && all >> 16 > homes && all >> 16 <= TILE_LEAVES; more;
         more = NAME(cursor_step)(tree, &cursor))
        leaves[at++] = cursor.number;
    __syncwarp(SIMT_FULL_MASK);
    return all >> 16;
}

/* Where a lane puts its words of a leaf's entries. */
typedef struct NAME(tile_reader) {
    uint32_t slot, words; /* which entry of a leaf it has a word of, LEAF_SLOTS where there is none; words of each */
    uint32_t *own;        /* where that word goes if it is of the tile's first leaf                              */
} NAME(tile_reader);
#define READER NAME(tile_reader)

SIMT_DEVICE READER NAME(tile_reader_of)(TILE *tile)
{
    const ROLE role = NAME(row_role_of)(simt_lane());
    READER reader;
    reader.slot = role.words && !role.high ? role.slot : LEAF_SLOTS;
    reader.words = ROLE_WORDS(&role);
    reader.own = NAME(tile_own)(tile, &role) + reader.slot * reader.words;
    return reader;
}

/* Puts n leaves, a multiple of four, whose words are in the lanes into shared memory, behind `entries` others. Returns how many
 * entries there are then. */
SIMT_DEVICE uint32_t NAME(tile_put)(const READER *reader, const uint32_t *loaded, uint32_t n, uint32_t entries)
{
    uint32_t *own = reader->own + entries * reader->words;
    SIMT_UNROLL
    for (uint32_t four = 0; four < n; four += 4u) {
        uint32_t counts = 0; /* of four leaves, a byte each: in the lane that has their states, then in all */
        SIMT_UNROLL
        for (uint32_t r = 0; r < 4u; r++) counts |= (loaded[four + r] & COPSE_LEAF_COUNT) << 8u * r;
        counts = simt_shfl_u32(SIMT_FULL_MASK, counts, LEAF_STATE / 4u);
        SIMT_UNROLL
        for (uint32_t r = 0; r < 4u; r++) {
            const uint32_t count = counts >> 8u * r & COPSE_LEAF_COUNT;
            if (reader->slot < count) *own = loaded[four + r];
            own += count * reader->words;
            entries += count;
        }
    }
    return entries;
}

/* Brings the entries of homes without other leaves into shared memory. Returns how many there are. */
SIMT_DEVICE uint32_t NAME(tile_load_homes)(const copse_blink_tree *tree, TILE *tile, uint32_t first, uint32_t homes)
{
    const READER reader = NAME(tile_reader_of)(tile);
    uint32_t entries = 0, loaded[TILE_AHEAD];
    while (homes > 0) {
        const uint32_t beside = NAME(homes_beside)(tree, first), n = beside < homes ? beside : homes;
        const uint32_t *from = (const uint32_t *)NAME(home_at)(tree, first) + simt_lane();
        uint32_t left = n;
        for (; left >= TILE_AHEAD; left -= TILE_AHEAD, from += TILE_AHEAD * (COPSE_LEAF_BYTES / 4u)) {
            SIMT_UNROLL
            for (uint32_t r = 0; r < TILE_AHEAD; r++)
                loaded[r] = simt_load_once_u32(from + r * (COPSE_LEAF_BYTES / 4u));
            entries = NAME(tile_put)(&reader, loaded, TILE_AHEAD, entries);
        }
        if (left > 0) {
            SIMT_UNROLL
            for (uint32_t r = 0; r < TILE_AHEAD; r++)
                loaded[r] = r < left ? simt_load_once_u32(from + r * (COPSE_LEAF_BYTES / 4u)) : 0;
            entries = NAME(tile_put)(&reader, loaded, TILE_AHEAD, entries);
        }
        first += n;
        homes -= n;
    }
    return entries;
}

/* ... of n leaves that are listed. */
SIMT_DEVICE void NAME(tile_load_listed)(const copse_blink_tree *tree, TILE *tile, uint32_t n)
{
    const READER reader = NAME(tile_reader_of)(tile);
    uint32_t entries = 0, loaded[TILE_LISTED];
    for (uint32_t i = 0; i < n; i += TILE_LISTED) {
        SIMT_UNROLL
        for (uint32_t r = 0; r < TILE_LISTED; r++) {
            loaded[r] = 0;
            if (i + r >= n) continue;
            const uint32_t *from = (const uint32_t *)NAME(leaf_at)(tree, tile->leaves[i + r]);
            loaded[r] = simt_load_once_u32(from + simt_lane());
        }
        entries = NAME(tile_put)(&reader, loaded, TILE_LISTED, entries);
    }
}

/* Brings the entries of tile t into shared memory. Returns how many there are, more than TILE_ENTRIES where they do not fit. */
SIMT_DEVICE uint32_t NAME(tile_load)(const copse_pack_arguments *a, TILE *tile, uint32_t t)
{
    const uint32_t first = t * a->tile_homes, left = a->from.homes - first;
    const uint32_t homes = left < a->tile_homes ? left : a->tile_homes;
    if (a->chains) {
        uint32_t entries;
        const uint32_t leaves = NAME(tile_list)(&a->from, first, homes, tile->leaves, &entries);
        if (leaves > TILE_LEAVES || entries > TILE_ENTRIES) return UINT32_MAX;
        if (leaves > homes) {
            NAME(tile_load_listed)(&a->from, tile, leaves);
            return entries;
        }
    }
    return NAME(tile_load_homes)(&a->from, tile, first, homes);
}

/* Closes the gaps that removed entries leave. Those that come are elsewhere. */
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
    __syncwarp(SIMT_FULL_MASK);
}

/* Brings those that come to their places among `count` entries in all, from the last on: an entry moves back by as many as
 * come in front of it, so that it never goes where one is that has still to move. */
SIMT_DEVICE void NAME(tile_merge)(TILE *tile, uint32_t count, uint32_t came)
{
    const uint32_t lane = simt_lane(), below = (1u << lane) - 1u;
    uint32_t in_front = came;
    for (uint32_t end = (count + 32u * TILE_MERGED - 1u) / (32u * TILE_MERGED) * TILE_MERGED; in_front > 0;
         end -= TILE_MERGED) {
        KEY keys[TILE_MERGED];
        VALUE values[TILE_MERGED];
        SIMT_UNROLL
        for (uint32_t w = 1; w <= TILE_MERGED; w++) {
            const uint32_t bits = tile->inserted[end - w], position = (end - w) * 32u + lane;
            in_front -= (uint32_t)__popc(bits);
            const uint32_t mine = in_front + (uint32_t)__popc(bits & below);
            const uint32_t from = bits >> lane & 1u ? TILE_ENTRIES - 1u - mine : position - mine;
            keys[w - 1u] = tile->keys[from]; /* of positions from `count` on anything */
            values[w - 1u] = tile->values[from];
        }
        __syncwarp(SIMT_FULL_MASK); /* all have read what is overwritten now */
        SIMT_UNROLL
        for (uint32_t w = 1; w <= TILE_MERGED; w++) {
            const uint32_t position = (end - w) * 32u + lane;
            if (position < count) tile->keys[position] = keys[w - 1u];
            if (position < count) tile->values[position] = values[w - 1u];
        }
    }
    __syncwarp(SIMT_FULL_MASK);
}
