/*
 * Template: packing a tree together with a sorted batch, a tile at a time.
 *
 * A tile is some consecutive homes and the operations whose keys belong there; operations with equal keys are always in the
 * same one. One warp has a tile, all of it in shared memory:
 *
 *   keys, values   | entries of all leaves of the homes, close together | ... | entries that operations insert, the last first |
 *                    0 ........................................ entries         TILE_ENTRIES - came ............ TILE_ENTRIES
 *
 *   tile_starts    the first operation of each tile: a thread per tile, since looking for it takes steps that wait for each other
 *   tile_move      the entries of the tile after the operations, as rows of the new version
 *   tile_finish    makes the last leaf of the tree a last leaf, once the host knows which one that is
 *
 * The inserted entries are merged where they are: bit k of `inserted` says that the tile's position k after the operations is
 * one of them. Then a word of a leaf is a word of shared memory, at the same distance for every leaf.
 *
 * How many entries there are in front of a tile, its *rank*, it learns from the tiles in front of it. Each has a word:
 *
 *   0                nothing is known yet
 *   COUNTED | n      the tile has n entries after the operations
 *   SUMMED  | n      it and all tiles in front of it have
 *
 * A tile says how many it has, adds up the words in front of it, back to the first that is a sum, and says the sum. Tiles are
 * taken by tickets, in order: those that a tile waits for are at work already, and each of them waits for earlier ones only, so
 * that the waiting ends whatever runs when.
 *
 * A tile that does not fit stops the work, and the host takes another way.
 */

#define TILE_ENTRIES    COPSE_TILE_ENTRIES(KEY_BITS / 8u + VALUE_BITS / 8u)
#define TILE_WORDS      (TILE_ENTRIES / 32u)
#define TILE_LEAVES     64u
#define TILE_OPERATIONS 4096u /* more would keep one warp at work while the others have long finished */
#define TILE_WARPS      (COPSE_KERNEL_THREADS / SIMT_WARP)
#define TILE_HALF       (TILE_ENTRIES / 64u < 8u ? 128u : 256u) /* of what a tile mostly has: see tile_before */
/* Leaves that a lane has on their way from memory at a time. */
#define TILE_AHEAD 16u
/* ... where their addresses have to be looked up. */
#define TILE_LISTED 8u
/* Leaves, two by two, that a lane has on their way to memory at a time. */
#define TILE_TWOS 4u
/* Words of positions that are merged at a time. */
#define TILE_MERGED 2u
/* Parts that a thread looks at in one step of its search. */
#define TILE_PARTS 8u

/* A word: what its value is, and the value. */
#define WORD_COUNTED ((uint64_t)1 << 62)
#define WORD_SUMMED  ((uint64_t)2 << 62)
#define WORD_VALUE   (WORD_COUNTED - 1u)

/* Words of an entry's part that belongs to a lane; known to the compiler where all have as many. */
#define ROLE_WORDS(role) (KEY_BITS == VALUE_BITS ? ROW_KEY : (role)->words)

/* The tile of a warp. */
typedef struct NAME(tile) {
    KEY keys[TILE_ENTRIES];
    uint32_t
        apart[16]; /* the words of a leaf are read and written at once: its keys in some banks, its values in others */
    VALUE values[TILE_ENTRIES];
    uint32_t inserted[TILE_WORDS], removed[TILE_WORDS]; /* bit sets: positions after and before the operations */
    uint32_t leaves[TILE_LEAVES];                       /* their numbers, where they do not lie side by side   */
} NAME(tile);
#define TILE NAME(tile)

/* Where a lane's words of entries lie, from the first entry of the tile on. */
SIMT_DEVICE uint32_t *NAME(tile_own)(TILE *tile, const ROLE *role)
{
    return (role->value ? (uint32_t *)tile->values : (uint32_t *)tile->keys) + role->part;
}

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

/* --- leaves of the new version --------------------------------------------------------------------------------------------- */

#define EVEN (LEAF_PACKED_TWO / 2u)
#define ODD  (LEAF_PACKED_TWO - EVEN)

/* How a lane stores its words of two leaves, of which the first has an even number. None is taken for the last of the tree. */
typedef struct NAME(tile_writer) {
    uint32_t even_at, odd_at; /* which of the LEAF_PACKED_TWO entries its words go with: its own or the leaf's first */
    bool even_own, odd_own;   /* are they words of that entry?                                                       */
    bool is_next;             /* are they the numbers of the leaves that follow?                                     */
    uint32_t even_else,
        odd_else; /* what else they are                                                                  */
    uint32_t words;
    const uint32_t *own; /* its word of the tile's first entry */
} NAME(tile_writer);
#define WRITER NAME(tile_writer)

SIMT_DEVICE WRITER NAME(tile_writer_of)(const copse_pack_arguments *a, TILE *tile)
{
    const uint32_t lane = simt_lane();
    const ROLE role = NAME(row_role_of)(lane);
    const uint32_t even_slot = NAME(row_slot)(&role, EVEN), odd_slot = NAME(row_slot)(&role, ODD);
    const bool state = lane == LEAF_STATE / 4u, next = lane == LEAF_NEXT / 4u;
    WRITER writer;
    writer.even_own = even_slot < EVEN;
    writer.odd_own = odd_slot < ODD;
    writer.even_at = writer.even_own ? even_slot : 0;
    writer.odd_at = EVEN + (writer.odd_own ? odd_slot : 0);
    writer.is_next = next && !a->to.forks;
    writer.even_else = state ? EVEN : next ? COPSE_LEAF_NONE : role.filler;
    writer.odd_else = state ? ODD : next ? COPSE_LEAF_NONE : role.filler;
    writer.words = ROLE_WORDS(&role);
    writer.own = NAME(tile_own)(tile, &role);
    return writer;
}

/* Two leaves at an end of the tile: what belongs to it, which is entries 0 .. count - 1. `first` is the position of the first
 * entry of the two, and may be in front of the tile: it is counted modulo 2^32. */
SIMT_DEVICE void NAME(tile_store_end)(const WRITER *writer, uint32_t *to, uint32_t leaf, uint32_t first, uint32_t count)
{
    const uint32_t even = first + writer->even_at, odd = first + writer->odd_at;
    uint32_t x = writer->is_next ? leaf + 1u : writer->even_else, y = writer->is_next ? leaf + 2u : writer->odd_else;
    if (writer->even_own && even < count) x = writer->own[even * writer->words];
    if (writer->odd_own && odd < count) y = writer->own[odd * writer->words];
    if (even < count) to[0] = x;
    if (odd < count) to[COPSE_LEAF_BYTES / 4u] = y;
}

/* Whole leaves, TILE_TWOS times two, n times over. */
SIMT_DEVICE void NAME(tile_store_whole)(const WRITER *writer, uint32_t *to, uint32_t leaf, uint32_t first, uint32_t n)
{
    const uint32_t words = writer->words;
    const uint32_t *even = writer->own + (first + writer->even_at) * words;
    const uint32_t *odd = writer->own + (first + writer->odd_at) * words;
    uint32_t x[TILE_TWOS], y[TILE_TWOS];
    SIMT_UNROLL
    for (uint32_t i = 0; i < TILE_TWOS; i++) {
        x[i] = writer->is_next ? leaf + 2u * i + 1u : writer->even_else;
        y[i] = writer->is_next ? leaf + 2u * i + 2u : writer->odd_else;
    }
    for (; n > 0; n--) {
        SIMT_UNROLL
        for (uint32_t i = 0; i < TILE_TWOS; i++) {
            if (writer->even_own) x[i] = even[i * LEAF_PACKED_TWO * words];
            if (writer->odd_own) y[i] = odd[i * LEAF_PACKED_TWO * words];
        }
        SIMT_UNROLL
        for (uint32_t i = 0; i < TILE_TWOS; i++) {
            to[i * (COPSE_LEAF_BYTES / 2u)] = x[i];
            to[i * (COPSE_LEAF_BYTES / 2u) + COPSE_LEAF_BYTES / 4u] = y[i];
            if (writer->is_next) x[i] += 2u * TILE_TWOS;
            if (writer->is_next) y[i] += 2u * TILE_TWOS;
        }
        to += TILE_TWOS * (COPSE_LEAF_BYTES / 2u);
        even += TILE_TWOS * LEAF_PACKED_TWO * words;
        odd += TILE_TWOS * LEAF_PACKED_TWO * words;
    }
}

/* Stores n times two leaves that lie side by side, which have an entry of the tile each. */
SIMT_DEVICE void NAME(tile_store_some)(const copse_pack_arguments *a, const WRITER *writer, uint32_t leaf,
                                       uint32_t first, uint32_t count, uint32_t n)
{
    uint32_t *to = (uint32_t *)NAME(home_at)(&a->to, leaf) + simt_lane();
    if (first >= count) { /* it begins in front of the tile */
        NAME(tile_store_end)(writer, to, leaf, first, count);
        to += COPSE_LEAF_BYTES / 2u;
        leaf += 2u;
        first += LEAF_PACKED_TWO;
        n--;
    }
    const uint32_t whole = n && first < count ? (count - first) / LEAF_PACKED_TWO : 0;
    const uint32_t times = (whole < n ? whole : n) / TILE_TWOS, stored = times * TILE_TWOS;
    NAME(tile_store_whole)(writer, to, leaf, first, times);
    to += stored * (COPSE_LEAF_BYTES / 2u);
    leaf += 2u * stored;
    first += stored * LEAF_PACKED_TWO;
    for (n -= stored; n > 0; n--) {
        NAME(tile_store_end)(writer, to, leaf, first, count);
        to += COPSE_LEAF_BYTES / 2u;
        leaf += 2u;
        first += LEAF_PACKED_TWO;
    }
}

/* Stores the leaves of the new version that have an entry of the tile, `count` entries from `rank` on. */
SIMT_DEVICE void NAME(tile_store)(const copse_pack_arguments *a, TILE *tile, uint64_t rank, uint32_t count)
{
    const WRITER writer = NAME(tile_writer_of)(a, tile);
    const uint64_t first_two = rank / LEAF_PACKED_TWO;
    const uint32_t offset = (uint32_t)(rank - first_two * LEAF_PACKED_TWO), first_leaf = (uint32_t)first_two * 2u;
    const uint32_t twos = (offset + count + LEAF_PACKED_TWO - 1u) / LEAF_PACKED_TWO;
    for (uint32_t two = 0; two < twos;) {
        const uint32_t leaf = first_leaf + 2u * two, beside = NAME(homes_beside)(&a->to, leaf) / 2u;
        const uint32_t n = twos - two < beside ? twos - two : beside;
        NAME(tile_store_some)(a, &writer, leaf, two * LEAF_PACKED_TWO - offset, count, n);
        two += n;
    }
    SIMT_UNROLL
    for (uint32_t i = 0; i < 2u * (TILE_ENTRIES / LEAF_PACKED_TWO + 2u); i += SIMT_WARP) {
        const uint32_t mine = i + simt_lane();
        const uint32_t last = mine / 2u * LEAF_PACKED_TWO + (mine % 2u ? LEAF_PACKED_TWO : EVEN) - 1u - offset;
        if (last < count) NAME(row_high)(a, first_leaf + mine, tile->keys[last]);
    }
}

/* --- ranks ----------------------------------------------------------------------------------------------------------------- */

/* The sum of the words in front of tile t, back to the first that is a sum itself; lane i looks at i + 1 tiles in front. What a
 * word says it says alone: nothing else has to be seen with it, and so relaxed accesses do. */
SIMT_DEVICE uint64_t NAME(tile_look_back)(const uint64_t *words, uint32_t t)
{
    const uint32_t lane = simt_lane();
    uint64_t sum = 0;
    for (;;) {
        const uint64_t word = lane < t ? simt_load_relaxed_u64(&words[t - 1u - lane]) : WORD_SUMMED;
        const uint32_t sums = __ballot_sync(SIMT_FULL_MASK, word >= WORD_SUMMED);
        const uint32_t none = __ballot_sync(SIMT_FULL_MASK, word == 0);
        const uint32_t wanted = sums ^ (sums - 1u); /* the lanes up to the first sum, or all */
        if (none & wanted) {
            simt_yield();
            continue;
        }
        const uint32_t counted = wanted & ~sums;
        uint32_t value = counted >> lane & 1u ? (uint32_t)word : 0;
        for (uint32_t d = 1; d < SIMT_WARP; d *= 2u) value += simt_shfl_xor_u32(SIMT_FULL_MASK, value, d);
        sum += value;
        if (sums) return sum + (simt_shfl_u64(SIMT_FULL_MASK, word, (uint32_t)__ffs((int)sums) - 1u) & WORD_VALUE);
        t -= SIMT_WARP;
    }
}

/* Says how many entries tile t has. */
SIMT_DEVICE void NAME(tile_say)(const copse_pack_arguments *a, uint32_t t, uint32_t count)
{
    if (simt_lane() == 0) simt_store_relaxed_u64(&a->words[t], WORD_COUNTED | count);
}

/* ... and once that is said, how many there are in front of it. */
SIMT_DEVICE uint64_t NAME(tile_rank)(const copse_pack_arguments *a, uint32_t t, uint32_t count)
{
    const uint64_t rank = NAME(tile_look_back)(a->words, t);
    if (simt_lane() == 0) {
        simt_store_relaxed_u64(&a->words[t], WORD_SUMMED | (rank + count));
        if (t + 1u == a->tiles) a->totals->entries = rank + count;
    }
    return rank;
}

/* --- all of it -------------------------------------------------------------------------------------------------------------- */

/* Brings a tile into shared memory and runs its operations. Returns false where it does not fit. */
SIMT_DEVICE bool NAME(tile_make)(const copse_pack_arguments *a, TILE *tile, uint32_t t, uint32_t *entries,
                                 uint32_t *came, uint32_t *went)
{
    const uint32_t lane = simt_lane();
    const uint32_t start = a->operations.n ? a->starts[t] : 0, n = a->operations.n ? a->starts[t + 1u] - start : 0;
    const OPERATION next = NAME(tile_fetch)(&a->operations, start + lane, lane < n);
    if (lane < TILE_WORDS) tile->inserted[lane] = tile->removed[lane] = 0;
    *entries = NAME(tile_load)(a, tile, t);
    __syncwarp(SIMT_FULL_MASK);
    if (*entries > TILE_ENTRIES || n > TILE_OPERATIONS) return false;
    return n == 0 || NAME(tile_operate)(a, tile, *entries, start, n, next, came, went);
}

/* What a warp has done so far. */
typedef struct NAME(tile_work) {
    uint32_t came, went;
} NAME(tile_work);
#define WORK NAME(tile_work)

/* The next tile, in lane 0. */
SIMT_DEVICE uint32_t NAME(tile_ticket)(const copse_pack_arguments *a)
{
    return simt_lane() == 0 ? simt_atomic_add_u32(&a->totals->ticket, 1u) : 0;
}

/* Moves tile t, for which all lanes come here. Returns the ticket for the next one, which is taken when there is nothing more
 * to wait for, and comes while this one is stored. */
SIMT_DEVICE uint32_t NAME(tile_move_one)(const copse_pack_arguments *a, TILE *tile, uint32_t t, WORK *work)
{
    uint32_t entries, came = 0, went = 0;
    if (!NAME(tile_make)(a, tile, t, &entries, &came, &went)) {
        if (simt_lane() == 0) (void)simt_atomic_or_u32(&a->totals->ticket, COPSE_TILES_STOP);
        entries = came = went = 0; /* those behind may be waiting for a number */
    }
    const uint32_t count = entries + came - went;
    NAME(tile_say)(a, t, count);
    if (went) NAME(tile_close)(tile, entries);
    if (came) NAME(tile_merge)(tile, count, came);
    const uint64_t rank = NAME(tile_rank)(a, t, count);
    const uint32_t next = NAME(tile_ticket)(a);
    if (count) NAME(tile_store)(a, tile, rank, count);
    work->came += came;
    work->went += went;
    return next;
}

SIMT_KERNEL(NAME(tile_move), copse_pack_arguments, COPSE_KERNEL_THREADS, 9)
{
    SIMT_SHARED(TILE, tiles, TILE_WARPS);
    const uint32_t stripe = (blockIdx.x * TILE_WARPS + simt_warp()) % COPSE_POOL_STRIPES;
    WORK work = {0, 0};
    for (uint32_t t = NAME(tile_ticket)(&a);;) {
        t = simt_shfl_u32(SIMT_FULL_MASK, t, 0);
        if (t >= a.tiles) break;
        t = NAME(tile_move_one)(&a, &tiles[simt_warp()], t, &work);
        __syncwarp(SIMT_FULL_MASK);
    }
    if (simt_lane() != 0) return;
    if (work.came) (void)simt_atomic_add_u64(&a.totals->came[stripe], work.came);
    if (work.went) (void)simt_atomic_add_u64(&a.totals->went[stripe], work.went);
}

/* Tiles are stored as if more leaves followed. This makes the last leaf of the tree one: a warp, and there is an entry. */
SIMT_KERNEL(NAME(tile_finish), copse_pack_arguments, COPSE_KERNEL_THREADS, 1)
{
    if (blockIdx.x != 0 || threadIdx.x >= SIMT_WARP) return;
    const uint32_t lane = simt_lane(), leaf = a.to.homes - 1u, size = NAME(packed_size)(&a.to, leaf);
    const ROLE role = NAME(row_role_of)(lane);
    const bool entry = role.words && !role.high && role.slot < size;
    if (!entry) NAME(row_store)(&a.to, leaf, lane, &role, size, 0);
    if (lane == 0) NAME(row_high)(&a, leaf, KEY_MAX);
}

#undef TILE_ENTRIES
#undef TILE_WORDS
#undef TILE_LEAVES
#undef TILE_OPERATIONS
#undef TILE_WARPS
#undef TILE_HALF
#undef TILE_AHEAD
#undef TILE_LISTED
#undef TILE_TWOS
#undef TILE_MERGED
#undef TILE_PARTS
#undef WORD_COUNTED
#undef WORD_SUMMED
#undef WORD_VALUE
#undef ROLE_WORDS
#undef TILE
#undef OPERATION
#undef FATE
#undef EVEN
#undef ODD
#undef WRITER
#undef WORK
#undef READER
#undef ROLE
#undef ROW_KEY
#undef ROW_VALUE
#undef ROW_AHEAD
