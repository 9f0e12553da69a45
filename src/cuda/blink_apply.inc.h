/*
 * Template: sorted batches, which change leaves where they are.
 *
 * The operations of one home are a run, and one lane has it all to itself: nobody else writes to the leaves of that home. The
 * lane holds a leaf in 32 words of its own, and every loop over them is unrolled, so that they stay in registers: a warp has 32
 * leaves under way at once, and it takes few instructions to change them.
 *
 * Between memory and registers leaves go through shared memory, where every lane has a row: eight lanes move a leaf together,
 * 16 bytes each, so that memory sees whole lines. All lanes of a warp come to these moves, those with `go` have a leaf to move.
 *
 *   row of lane l    | 16 bytes | ... eight pieces of the leaf ... | 16 bytes unused |     nine pieces: eight lanes that read the
 *                                                                                         same piece of their rows use all banks
 *
 * Where readers may look at the same time (`shared`), a leaf is latched, changed and given back as blink_place.inc.h says, by its
 * own lane.
 */

#define LEAF_WORDS  (COPSE_LEAF_BYTES / 4u)
#define LEAF_PIECES (COPSE_LEAF_BYTES / 16u)
#define ROW_PIECES  (LEAF_PIECES + 1u)
#define KEY_WORDS   (KEY_BITS / 32u)
#define VALUE_WORDS (VALUE_BITS / 32u)
#define APPLY_WARPS (COPSE_KERNEL_THREADS / SIMT_WARP)
/* Entries that stay in the left one of the halves of a leaf. */
#define LEAF_HALF ((LEAF_SLOTS + 1u) / 2u)

/* A leaf in the hands of one lane. */
typedef struct NAME(own_leaf) {
    uint32_t word[LEAF_WORDS];
    uint32_t number;
    uint32_t home;
    uint32_t
        untouched;     /* entries in front of the first that changed; LEAF_WORDS: nothing did, 0: everything may have */
    uint32_t steps;    /* to the right, from the home on */
    bool home_changed; /* a leaf of the home was */
} NAME(own_leaf);
#define OWN NAME(own_leaf)

typedef struct NAME(sorted_update) {
    const copse_apply_arguments *a;
    simt_u32x4 *rows; /* of this warp */
    uint32_t came, went;
} NAME(sorted_update);
#define SORTED NAME(sorted_update)

/* In all of these `slot` has to be a number that the compiler knows. */
SIMT_DEVICE KEY NAME(own_key)(const OWN *own, uint32_t slot)
{
#if KEY_BITS == 64
    return (uint64_t)own->word[slot * 2u + 1u] << 32 | own->word[slot * 2u];
#else
    return own->word[slot];
#endif
}

SIMT_DEVICE void NAME(own_set_key)(OWN *own, uint32_t slot, KEY key)
{
    own->word[slot * KEY_WORDS] = (uint32_t)key;
#if KEY_BITS == 64
    own->word[slot * 2u + 1u] = (uint32_t)(key >> 32);
#endif
}

SIMT_DEVICE VALUE NAME(own_value)(const OWN *own, uint32_t slot)
{
#if VALUE_BITS == 64
    return (uint64_t)own->word[LEAF_VALUES / 4u + slot * 2u + 1u] << 32 | own->word[LEAF_VALUES / 4u + slot * 2u];
#else
    return own->word[LEAF_VALUES / 4u + slot];
#endif
}

SIMT_DEVICE void NAME(own_set_value)(OWN *own, uint32_t slot, VALUE value)
{
    own->word[LEAF_VALUES / 4u + slot * VALUE_WORDS] = (uint32_t)value;
#if VALUE_BITS == 64
    own->word[LEAF_VALUES / 4u + slot * 2u + 1u] = (uint32_t)(value >> 32);
#endif
}

SIMT_DEVICE KEY NAME(own_high)(const OWN *own)
{
#if KEY_BITS == 64
    return (uint64_t)own->word[LEAF_HIGH / 4u + 1u] << 32 | own->word[LEAF_HIGH / 4u];
#else
    return own->word[LEAF_HIGH / 4u];
#endif
}

SIMT_DEVICE void NAME(own_set_high)(OWN *own, KEY high)
{
    own->word[LEAF_HIGH / 4u] = (uint32_t)high;
#if KEY_BITS == 64
    own->word[LEAF_HIGH / 4u + 1u] = (uint32_t)(high >> 32);
#endif
}

SIMT_DEVICE uint32_t NAME(own_count)(const OWN *own)
{
    return own->word[LEAF_STATE / 4u] & COPSE_LEAF_COUNT;
}

/* --- memory ---------------------------------------------------------------------------------------------------------------- */

/* Brings the leaves of lanes with `go` into their words. */
SIMT_DEVICE void NAME(own_fetch)(const SORTED *s, OWN *own, bool go)
{
    const uint32_t lanes = __ballot_sync(SIMT_FULL_MASK, go), part = simt_lane() % LEAF_PIECES;
    simt_u32x4 *row = s->rows + simt_lane() * ROW_PIECES;
    __syncwarp(SIMT_FULL_MASK);
    SIMT_UNROLL
    for (uint32_t r = 0; r < SIMT_WARP; r += SIMT_WARP / LEAF_PIECES) {
        const uint32_t owner = r + simt_lane() / LEAF_PIECES;
        const uint32_t number = simt_shfl_u32(SIMT_FULL_MASK, own->number, owner);
        if (lanes >> owner & 1u)
            simt_fetch16(s->rows + owner * ROW_PIECES + part,
                         NAME(leaf_at)(&s->a->tree, number) + (uint64_t)part * 16u);
    }
    simt_fetch_wait();
    __syncwarp(SIMT_FULL_MASK);
    if (go) {
        SIMT_UNROLL
        for (uint32_t p = 0; p < LEAF_PIECES; p++) {
            const simt_u32x4 piece = row[p];
            own->word[p * 4u] = piece.x;
            own->word[p * 4u + 1u] = piece.y;
            own->word[p * 4u + 2u] = piece.z;
            own->word[p * 4u + 3u] = piece.w;
        }
        own->word[LEAF_STATE / 4u] &= ~COPSE_LEAF_LATCH;
        own->untouched = LEAF_WORDS;
    }
    __syncwarp(SIMT_FULL_MASK);
}

/* Stores the rows of lanes that name some of their pieces in `pieces`, each to leaf `number` of its lane. */
SIMT_DEVICE void NAME(rows_store)(const SORTED *s, uint32_t number, uint32_t pieces)
{
    const uint32_t part = simt_lane() % LEAF_PIECES;
    __syncwarp(SIMT_FULL_MASK);
    SIMT_UNROLL
    for (uint32_t r = 0; r < SIMT_WARP; r += SIMT_WARP / LEAF_PIECES) {
        const uint32_t owner = r + simt_lane() / LEAF_PIECES;
        const uint32_t to = simt_shfl_u32(SIMT_FULL_MASK, number, owner);
        if (simt_shfl_u32(SIMT_FULL_MASK, pieces, owner) >> part & 1u)
            ((simt_u32x4 *)NAME(leaf_at)(&s->a->tree, to))[part] = s->rows[owner * ROW_PIECES + part];
    }
    __syncwarp(SIMT_FULL_MASK);
}

/* All words but the state, as readers beside us may see them. */
SIMT_DEVICE void NAME(own_store_words)(const OWN *own, char *leaf)
{
    SIMT_UNROLL
    for (uint32_t w = 0; w < LEAF_WORDS; w++)
        if (w != LEAF_STATE / 4u) simt_store_relaxed_u32((uint32_t *)leaf + w, own->word[w]);
}

/* Does a piece of 16 bytes have to be written: has it the state, or a key or a value from the first changed one on? */
SIMT_DEVICE bool NAME(own_piece_changed)(const OWN *own, uint32_t p)
{
    const uint32_t from = p * 16u, end = from + 16u, keys = LEAF_SLOTS * KEY_BITS / 8u;
    const uint32_t key = own->untouched * KEY_BITS / 8u, value = LEAF_VALUES + own->untouched * VALUE_BITS / 8u;
    return own->untouched == 0 || p == LEAF_STATE / 16u || (from < keys && key < end) ||
           (end > LEAF_VALUES && value < end);
}

/* The lane's leaf to its row. Returns which pieces have to be stored. */
SIMT_DEVICE uint32_t NAME(own_to_row)(const SORTED *s, const OWN *own)
{
    simt_u32x4 *row = s->rows + simt_lane() * ROW_PIECES;
    uint32_t pieces = 0;
    SIMT_UNROLL
    for (uint32_t p = 0; p < LEAF_PIECES; p++) {
        simt_u32x4 piece;
        piece.x = own->word[p * 4u];
        piece.y = own->word[p * 4u + 1u];
        piece.z = own->word[p * 4u + 2u];
        piece.w = own->word[p * 4u + 3u];
        row[p] = piece;
        pieces |= (uint32_t)NAME(own_piece_changed)(own, p) << p;
    }
    return pieces;
}

/* Latches a leaf, which no other writer can have. */
SIMT_DEVICE void NAME(own_latch)(const SORTED *s, uint32_t number)
{
    if (!s->a->shared) return;
    uint32_t *state = (uint32_t *)(NAME(leaf_at)(&s->a->tree, number) + LEAF_STATE);
    simt_store_relaxed_u32(state, simt_load_relaxed_u32(state) | COPSE_LEAF_LATCH);
    __threadfence(); /* what follows comes behind the latch */
}

/* Beside readers a lane stores its leaf itself. In a B-link tree that gives the latch back, in a B+ tree the home keeps it. */
SIMT_DEVICE void NAME(own_release)(const SORTED *s, const OWN *own, bool changed)
{
    char *leaf = NAME(leaf_at)(&s->a->tree, own->number);
    uint32_t *state = (uint32_t *)(leaf + LEAF_STATE);
    if (changed) NAME(own_store_words)(own, leaf);
    if (s->a->tree.forks)
        simt_store_relaxed_u32(state,
                               own->word[LEAF_STATE / 4u] | (own->number < s->a->tree.homes ? COPSE_LEAF_LATCH : 0));
    else
        simt_store_release_u32(state, own->word[LEAF_STATE / 4u]);
}

/* Writes the leaves of lanes with `go` back where they were changed. */
SIMT_DEVICE void NAME(own_put_back)(const SORTED *s, OWN *own, bool go)
{
    const bool changed = go && own->untouched != LEAF_WORDS;
    uint32_t pieces = 0;
    if (changed) own->word[LEAF_STATE / 4u] = NAME(state_after)(own->word[LEAF_STATE / 4u], NAME(own_count)(own));
    if (go && s->a->shared) NAME(own_release)(s, own, changed);
    if (changed && !s->a->shared) pieces = NAME(own_to_row)(s, own);
    if (!s->a->shared) NAME(rows_store)(s, own->number, pieces);
    if (go) own->untouched = LEAF_WORDS;
}

/* --- splits ---------------------------------------------------------------------------------------------------------------- */

/* What a word of a leaf is. In all of these `w` has to be a number that the compiler knows. */
SIMT_DEVICE bool NAME(is_key_word)(uint32_t w)
{
    return w < LEAF_SLOTS * KEY_WORDS;
}

SIMT_DEVICE bool NAME(is_value_word)(uint32_t w)
{
    return w >= LEAF_VALUES / 4u && w < LEAF_VALUES / 4u + LEAF_SLOTS * VALUE_WORDS;
}

SIMT_DEVICE uint32_t NAME(slot_of_word)(uint32_t w)
{
    return NAME(is_key_word)(w) ? w / KEY_WORDS : (w - LEAF_VALUES / 4u) / VALUE_WORDS;
}

/* How a leaf is halved. */
typedef struct NAME(halves) {
    uint32_t keep;  /* entries of the left half: LEAF_HALF, or all */
    KEY middle;     /* the greatest of them                        */
    uint32_t next;  /* of the left half                            */
    uint32_t state; /* of the left half                            */
} NAME(halves);
#define HALVES NAME(halves)

/* Word w of the right half as a leaf of its own. */
SIMT_DEVICE uint32_t NAME(upper_word)(const OWN *own, const HALVES *halves, uint32_t w)
{
    const uint32_t from = w + LEAF_HALF * (NAME(is_key_word)(w) ? KEY_WORDS : VALUE_WORDS);
    if (w == LEAF_STATE / 4u) return LEAF_SLOTS - halves->keep;
    if (!NAME(is_key_word)(w) && !NAME(is_value_word)(w)) return own->word[w];
    if (halves->keep == LEAF_SLOTS || NAME(slot_of_word)(w) + LEAF_HALF >= LEAF_SLOTS)
        return NAME(is_key_word)(w) ? UINT32_MAX : 0;
    return own->word[from < LEAF_WORDS ? from : 0];
}

/* ... and of the left half. */
SIMT_DEVICE uint32_t NAME(lower_word)(const OWN *own, const HALVES *halves, uint32_t w)
{
    if (w == LEAF_STATE / 4u) return halves->state;
    if (w == LEAF_NEXT / 4u) return halves->next;
    if (w == LEAF_HIGH / 4u) return (uint32_t)halves->middle;
    if (KEY_BITS == 64 && w == LEAF_HIGH / 4u + 1u) return (uint32_t)((uint64_t)halves->middle >> 32);
    if (NAME(is_key_word)(w) && NAME(slot_of_word)(w) >= halves->keep) return UINT32_MAX;
    if (NAME(is_value_word)(w) && NAME(slot_of_word)(w) >= halves->keep) return 0;
    return own->word[w];
}

SIMT_DEVICE uint32_t NAME(half_word)(const OWN *own, const HALVES *halves, bool upper, uint32_t w)
{
    return upper ? NAME(upper_word)(own, halves, w) : NAME(lower_word)(own, halves, w);
}

/* Makes one half of the lane's leaf its leaf. Words move to the front only, so none is overwritten before it is read. */
SIMT_DEVICE void NAME(own_keep)(OWN *own, const HALVES *halves, bool upper)
{
    SIMT_UNROLL
    for (uint32_t w = 0; w < LEAF_WORDS; w++) own->word[w] = NAME(half_word)(own, halves, upper, w);
    own->untouched = 0;
    own->home_changed = true;
}

/* One half of the lane's leaf into its row. */
SIMT_DEVICE void NAME(half_to_row)(const SORTED *s, const OWN *own, const HALVES *halves, bool upper)
{
    simt_u32x4 *row = s->rows + simt_lane() * ROW_PIECES;
    SIMT_UNROLL
    for (uint32_t p = 0; p < LEAF_PIECES; p++) {
        simt_u32x4 piece;
        piece.x = NAME(half_word)(own, halves, upper, p * 4u);
        piece.y = NAME(half_word)(own, halves, upper, p * 4u + 1u);
        piece.z = NAME(half_word)(own, halves, upper, p * 4u + 2u);
        piece.w = NAME(half_word)(own, halves, upper, p * 4u + 3u);
        row[p] = piece;
    }
}

/* All words of one half but its state to memory, where readers may look at it as soon as something leads there. */
SIMT_DEVICE void NAME(half_to_leaf)(const OWN *own, const HALVES *halves, bool upper, char *to)
{
    SIMT_UNROLL
    for (uint32_t w = 0; w < LEAF_WORDS; w++)
        if (w != LEAF_STATE / 4u) simt_store_relaxed_u32((uint32_t *)to + w, NAME(half_word)(own, halves, upper, w));
}

/* The greatest of the lower entries. */
SIMT_DEVICE KEY NAME(own_middle)(const OWN *own, uint32_t keep)
{
    KEY middle = 0;
    SIMT_UNROLL
    for (uint32_t slot = 0; slot < LEAF_SLOTS; slot++)
        if (slot + 1u == keep) middle = NAME(own_key)(own, slot);
    return middle;
}

/* Lets the home of a B+ tree lead to both halves. A home leaf that splits moves to the pool itself. */
SIMT_DEVICE void NAME(own_fork)(const SORTED *s, OWN *own, KEY middle, uint32_t right)
{
    const copse_blink_tree *tree = &s->a->tree;
    char *fork = NAME(leaf_at)(tree, own->home);
    if (own->number >= tree->homes) {
        NAME(fork_insert)(fork, middle, own->number, right);
        return;
    }
    own->number = NAME(pool_take_one)(tree, s->a->counters);
    own->word[LEAF_STATE / 4u] &= COPSE_LEAF_COUNT;
    NAME(fork_make)(fork, middle, NAME(own_high)(own), own->number, right);
}

/*
 * Takes `wanted` leaves of a stripe that lie behind each other; COPSE_LEAF_NONE where it has not as many. A number is given out once,
 * so what is added in vain near the end of a stripe stays added: given back, it could be given out again while others hold what
 * came behind it.
 */
SIMT_DEVICE uint32_t NAME(stripe_take)(const copse_blink_tree *tree, uint32_t *taken, uint32_t wanted)
{
    const uint32_t most = tree->pool_leaves / COPSE_POOL_STRIPES;
    if (simt_load_relaxed_u32(taken) + wanted > most) return COPSE_LEAF_NONE;
    const uint32_t first = simt_atomic_add_u32(taken, wanted);
    return first + wanted <= most ? first : COPSE_LEAF_NONE;
}

/* Leaves of the pool for lanes with `go`, all at once where one stripe has them. */
SIMT_DEVICE uint32_t NAME(pool_take_all)(const SORTED *s, bool go)
{
    const copse_blink_tree *tree = &s->a->tree;
    const uint32_t lanes = __ballot_sync(SIMT_FULL_MASK, go), wanted = (uint32_t)__popc(lanes);
    const uint32_t stripe = NAME(pool_stripe)();
    uint32_t first = 0;
    if (simt_lane() == 0) first = NAME(stripe_take)(tree, &s->a->counters->taken[stripe], wanted);
    first = simt_shfl_u32(SIMT_FULL_MASK, first, 0);
    if (first != COPSE_LEAF_NONE) {
        const uint32_t mine = first + (uint32_t)__popc(lanes & ((1u << simt_lane()) - 1u));
        return tree->pool_first + mine * COPSE_POOL_STRIPES + stripe;
    }
    return go ? NAME(pool_take_one)(tree, s->a->counters) : COPSE_LEAF_NONE; /* one by one, then */
}

/* Beside readers: first the right half, complete but for the latch of a lane that goes on with it, then what leads there. */
SIMT_DEVICE void NAME(split_beside)(const SORTED *s, const OWN *own, const HALVES *halves, uint32_t right,
                                    bool goes_right)
{
    const copse_blink_tree *tree = &s->a->tree;
    char *left = NAME(leaf_at)(tree, own->number), *to = NAME(leaf_at)(tree, right);
    NAME(half_to_leaf)(own, halves, true, to);
    simt_store_relaxed_u32((uint32_t *)(to + LEAF_STATE),
                           (LEAF_SLOTS - halves->keep) | (!tree->forks && goes_right ? COPSE_LEAF_LATCH : 0));
    if (!goes_right) return;
    NAME(half_to_leaf)(own, halves, false, left);
    if (tree->forks)
        simt_store_relaxed_u32((uint32_t *)(left + LEAF_STATE), halves->state);
    else
        simt_store_release_u32((uint32_t *)(left + LEAF_STATE), halves->state);
}

/*
 * Splits full leaves in front of an insertion of k at `slot`, and goes on with the half where k belongs; the other half is
 * stored. Where k comes behind all entries they all stay, so that keys which arrive in order leave full leaves behind.
 */
SIMT_DEVICE void NAME(own_split)(const SORTED *s, OWN *own, KEY k, uint32_t slot, bool go)
{
    const copse_blink_tree *tree = &s->a->tree;
    const uint32_t right = NAME(pool_take_all)(s, go);
    HALVES halves;
    halves.keep = slot == LEAF_SLOTS ? LEAF_SLOTS : LEAF_HALF;
    halves.middle = NAME(own_middle)(own, halves.keep);
    const bool splits = go && right != COPSE_LEAF_NONE, goes_right = splits && halves.middle < k;
    if (splits && tree->forks) NAME(own_fork)(s, own, halves.middle, right);
    halves.next = tree->forks ? COPSE_LEAF_NONE : right;
    halves.state = NAME(state_after)(own->word[LEAF_STATE / 4u], halves.keep);
    if (splits && s->a->shared) NAME(split_beside)(s, own, &halves, right, goes_right);
    if (splits && !s->a->shared) NAME(half_to_row)(s, own, &halves, !goes_right);
    if (!s->a->shared) NAME(rows_store)(s, goes_right ? own->number : right, splits ? (1u << LEAF_PIECES) - 1u : 0);
    if (splits) NAME(own_keep)(own, &halves, goes_right);
    if (goes_right) own->number = right;
}

/* --- operations -------------------------------------------------------------------------------------------------------------- */

/* Entries less than k; *there: k is one of them. */
SIMT_DEVICE uint32_t NAME(own_seek)(const OWN *own, KEY k, bool *there)
{
    const uint32_t count = NAME(own_count)(own);
    uint32_t slot = 0;
    bool equal = false;
    SIMT_UNROLL
    for (uint32_t i = 0; i < LEAF_SLOTS; i++) {
        const KEY key = NAME(own_key)(own, i);
        slot += key < k;
        equal |= key == k && i < count;
    }
    *there = equal;
    return slot;
}

SIMT_DEVICE void NAME(own_insert)(OWN *own, uint32_t slot, KEY k, VALUE value)
{
    SIMT_UNROLL
    for (uint32_t i = LEAF_SLOTS; i-- > 0;) {
        if (i > slot) NAME(own_set_key)(own, i, NAME(own_key)(own, i > 0 ? i - 1u : 0));
        if (i > slot) NAME(own_set_value)(own, i, NAME(own_value)(own, i > 0 ? i - 1u : 0));
        if (i == slot) NAME(own_set_key)(own, i, k);
        if (i == slot) NAME(own_set_value)(own, i, value);
    }
    own->word[LEAF_STATE / 4u]++;
    own->untouched = slot < own->untouched ? slot : own->untouched;
    own->home_changed = true;
}

SIMT_DEVICE void NAME(own_erase)(OWN *own, uint32_t slot)
{
    SIMT_UNROLL
    for (uint32_t i = 0; i < LEAF_SLOTS; i++) {
        const bool last = i + 1u == LEAF_SLOTS;
        if (i < slot) continue;
        NAME(own_set_key)(own, i, last ? KEY_MAX : NAME(own_key)(own, last ? i : i + 1u));
        NAME(own_set_value)(own, i, last ? 0 : NAME(own_value)(own, last ? i : i + 1u));
    }
    own->word[LEAF_STATE / 4u]--;
    own->untouched = slot < own->untouched ? slot : own->untouched;
    own->home_changed = true;
}

SIMT_DEVICE void NAME(own_replace)(OWN *own, uint32_t slot, VALUE value)
{
    SIMT_UNROLL
    for (uint32_t i = 0; i < LEAF_SLOTS; i++)
        if (i == slot) NAME(own_set_value)(own, i, value);
    own->untouched = slot < own->untouched ? slot : own->untouched;
    own->home_changed = true;
}

/*
 * One operation on the leaf where its key belongs: lanes with `go`. Returns false where the leaf would have to be split but may not
 * be (`easy`), and nothing was done.
 */
SIMT_DEVICE bool NAME(own_change)(SORTED *s, OWN *own, KEY k, VALUE value, copse_action action, bool go, bool easy)
{
    bool there;
    uint32_t slot = NAME(own_seek)(own, k, &there);
    const bool inserts = go && !there && action != COPSE_ACTION_ERASE;
    const bool full = inserts && NAME(own_count)(own) == LEAF_SLOTS;
    if (!easy && __any_sync(SIMT_FULL_MASK, full)) {
        NAME(own_split)(s, own, k, slot, full);
        slot = NAME(own_seek)(own, k, &there);
    }
    if (inserts && !(easy && full)) {
        NAME(own_insert)(own, slot, k, value);
        s->came++;
    } else if (go && there && action == COPSE_ACTION_UPSERT) {
        NAME(own_replace)(own, slot, value);
    } else if (go && there && action == COPSE_ACTION_ERASE) {
        NAME(own_erase)(own, slot);
        s->went++;
    }
    return !easy || !full;
}

/* Goes from the leaves that lanes hold to those where their k belongs, within the same home: lanes with `go`. */
SIMT_DEVICE void NAME(own_move)(const SORTED *s, OWN *own, KEY k, bool go)
{
    const copse_blink_tree *tree = &s->a->tree;
    for (;;) {
        const bool moves = go && NAME(own_high)(own) < k;
        if (!__any_sync(SIMT_FULL_MASK, moves)) return;
        NAME(own_put_back)(s, own, moves);
        if (moves) {
            own->number = tree->forks ? NAME(fork_lead)(tree, own->home, k) : own->word[LEAF_NEXT / 4u];
            own->steps++;
            if (!tree->forks) NAME(own_latch)(s, own->number);
        }
        NAME(own_fetch)(s, own, moves);
    }
}

/* Beside readers a home of a B+ tree is latched all the time. */
SIMT_DEVICE void NAME(fork_release)(const SORTED *s, const OWN *own)
{
    uint32_t *state = (uint32_t *)(NAME(leaf_at)(&s->a->tree, own->home) + LEAF_STATE);
    const uint32_t there = simt_load_relaxed_u32(state) & ~COPSE_LEAF_LATCH;
    simt_store_release_u32(state, own->home_changed ? NAME(state_after)(there, there & COPSE_LEAF_COUNT) : there);
}

/* --- runs ---------------------------------------------------------------------------------------------------------------------- */

/*
 * The operations of one home, from i on: lanes with `go`. easy: as far as that takes neither a step along the chain nor a split.
 * Returns the operation that would take one, or UINT64_MAX.
 */
SIMT_DEVICE uint64_t NAME(run_apply)(SORTED *s, uint64_t i, bool go, bool easy)
{
    const copse_apply_arguments *a = s->a;
    const copse_blink_operations *operations = &a->operations;
    const KEY *keys = (const KEY *)operations->keys;
    uint64_t left = UINT64_MAX;
    OWN own;
    own.home = own.number = go ? a->homes[i] : 0;
    own.steps = 0;
    own.home_changed = false;
    own.untouched = LEAF_WORDS;
    if (go) NAME(own_latch)(s, own.home);
    if (go && a->tree.forks) own.number = NAME(fork_lead)(&a->tree, own.home, keys[i]);
    NAME(own_fetch)(s, &own, go);
    for (bool open = go; __any_sync(SIMT_FULL_MASK, open);
         open = open && ++i < operations->n && a->homes[i] == own.home) {
        const bool counts = open && !NAME(operation_dead)(operations, i);
        const KEY k = counts ? keys[i] : 0;
        const VALUE value = counts && operations->values ? NAME(operation_value)(operations, i) : 0;
        const copse_action action = counts ? NAME(operation_action)(operations, i) : COPSE_ACTION_ERASE;
        if (!easy) NAME(own_move)(s, &own, k, counts);
        const bool here = counts && (!easy || k <= NAME(own_high)(&own));
        const bool done = NAME(own_change)(s, &own, k, value, action, here, easy);
        if (counts && (!here || !done)) {
            left = i;
            open = false;
        }
    }
    NAME(own_put_back)(s, &own, go);
    if (go && a->shared && a->tree.forks) NAME(fork_release)(s, &own);
    if (go && own.steps >= COPSE_CHAIN_MOST) simt_store_relaxed_u32(&a->counters->winding, 1u);
    return left;
}

/*
 * What the warps of a block share: the runs that begin in its part of the batch, as positions in that part. Runs of one operation
 * are in front, longer ones at the end, so that lanes which work side by side have as many each.
 */
typedef struct NAME(apply_runs) {
    uint16_t runs[COPSE_APPLY_PART];
    uint32_t ones, longer, hard;
} NAME(apply_runs);
#define RUNS NAME(apply_runs)

/* Numbers lanes with p from *count on, which grows by as many. */
SIMT_DEVICE uint32_t NAME(runs_number)(uint32_t *count, bool p)
{
    const uint32_t lanes = __ballot_sync(SIMT_FULL_MASK, p);
    uint32_t first = 0;
    if (simt_lane() == 0 && lanes) first = simt_atomic_add_u32(count, (uint32_t)__popc(lanes));
    return simt_shfl_u32(SIMT_FULL_MASK, first, 0) + (uint32_t)__popc(lanes & ((1u << simt_lane()) - 1u));
}

/* Lists the runs that begin among `size` operations from `base` on. */
SIMT_DEVICE void NAME(runs_list)(const copse_apply_arguments *a, RUNS *runs, uint64_t base, uint32_t size)
{
    for (uint32_t at = threadIdx.x; at - simt_lane() < size; at += COPSE_KERNEL_THREADS) {
        const uint64_t i = base + at;
        const uint32_t home = at < size ? a->homes[i] : 0;
        const bool begins = at < size && (i == 0 || a->homes[i - 1u] != home);
        const bool one = begins && (i + 1u == a->operations.n || a->homes[i + 1u] != home);
        const uint32_t front = NAME(runs_number)(&runs->ones, one);
        const uint32_t back = NAME(runs_number)(&runs->longer, begins && !one);
        if (one) runs->runs[front] = (uint16_t)at;
        if (begins && !one) runs->runs[COPSE_APPLY_PART - 1u - back] = (uint16_t)at;
    }
}

/* The run of this lane when its warp takes the 32 runs `w`: first come all that have one operation, then the longer ones. Returns
 * false where there is none. */
SIMT_DEVICE bool NAME(runs_pick)(const RUNS *runs, uint32_t w, uint32_t *out_at)
{
    const uint32_t ones = (runs->ones + SIMT_WARP - 1u) / SIMT_WARP;
    const bool longer = w >= ones;
    const uint32_t number = (longer ? w - ones : w) * SIMT_WARP + simt_lane();
    const bool any = number < (longer ? runs->longer : runs->ones);
    *out_at = any ? runs->runs[longer ? COPSE_APPLY_PART - 1u - number : number] : 0;
    return any;
}

/* 32 runs, one to a lane, while the leaves of the next ones are on their way. */
SIMT_DEVICE void NAME(runs_easy)(SORTED *s, RUNS *runs, uint64_t base, uint32_t w)
{
    uint32_t at, next;
    const bool go = NAME(runs_pick)(runs, w, &at);
    if (NAME(runs_pick)(runs, w + APPLY_WARPS, &next))
        simt_prefetch(NAME(leaf_at)(&s->a->tree, s->a->homes[base + next]), COPSE_LEAF_BYTES);
    const uint64_t left = NAME(run_apply)(s, base + at, go, true);
    const uint32_t place = NAME(runs_number)(&runs->hard, left != UINT64_MAX);
    if (left != UINT64_MAX) s->a->hard[base + place] = (uint32_t)left;
}

/* May the operations run at all? */
SIMT_DEVICE bool NAME(apply_may)(const copse_apply_arguments *a)
{
    return a->counters->crowded != 1u && a->counters->extra <= a->extra_most && a->counters->dead <= a->dead_most;
}

/* A block's part of the batch. What takes a step along a chain, or a split, is left to the next kernel: there lanes that do so
 * are side by side, and here nobody waits for them. */
SIMT_KERNEL(NAME(apply), copse_apply_arguments, COPSE_KERNEL_THREADS, 8)
{
    SIMT_SHARED(simt_u32x4, rows, COPSE_KERNEL_THREADS * ROW_PIECES);
    SIMT_SHARED(RUNS, runs, 1);
    SORTED s = {&a, rows + simt_warp() * SIMT_WARP * ROW_PIECES, 0, 0};
    if (!NAME(apply_may)(&a)) return;
    for (uint64_t part = blockIdx.x; part * a.part < a.operations.n; part += gridDim.x) {
        const uint64_t base = part * a.part, rest = a.operations.n - base;
        if (threadIdx.x == 0) runs->ones = runs->longer = runs->hard = 0;
        __syncthreads();
        NAME(runs_list)(&a, runs, base, rest < a.part ? (uint32_t)rest : a.part);
        __syncthreads();
        const uint32_t all = (runs->ones + SIMT_WARP - 1u) / SIMT_WARP + (runs->longer + SIMT_WARP - 1u) / SIMT_WARP;
        for (uint32_t w = simt_warp(); w < all; w += APPLY_WARPS) NAME(runs_easy)(&s, runs, base, w);
        __syncthreads();
        if (threadIdx.x == 0) a.hards[part] = runs->hard;
    }
    NAME(update_count)(a.counters, s.came, s.went);
}

/*
 * What is left of all parts. The warps of a block have as many parts: mostly 32 operations or less are left of each, and their first
 * warps would be alone in their blocks.
 */
SIMT_KERNEL(NAME(apply_hard), copse_apply_arguments, COPSE_KERNEL_THREADS, 5)
{
    SIMT_SHARED(simt_u32x4, rows, COPSE_KERNEL_THREADS * ROW_PIECES);
    SORTED s = {&a, rows + simt_warp() * SIMT_WARP * ROW_PIECES, 0, 0};
    if (!NAME(apply_may)(&a)) return;
    const uint64_t parts = (a.operations.n + a.part - 1u) / a.part;
    for (uint64_t item = blockIdx.x; item < (parts + APPLY_WARPS - 1u) / APPLY_WARPS * APPLY_WARPS; item += gridDim.x) {
        const uint64_t part = item / APPLY_WARPS * APPLY_WARPS + simt_warp();
        const uint32_t hards = part < parts ? a.hards[part] : 0;
        for (uint32_t first = (uint32_t)(item % APPLY_WARPS) * SIMT_WARP; first < hards;
             first += APPLY_WARPS * SIMT_WARP) {
            const bool go = first + simt_lane() < hards;
            (void)NAME(run_apply)(&s, go ? a.hard[part * a.part + first + simt_lane()] : 0, go, false);
        }
    }
    NAME(update_count)(a.counters, s.came, s.went);
}
