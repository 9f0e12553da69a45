/*
 * Template: sorted batches, which change leaves where they are.
 *
 * The operations of one home are a run, and one lane has it all to itself: nobody else writes to the leaves of that home. The
 * lane holds a leaf in 32 words of its own, and every loop over them is unrolled, so that they stay in registers: a warp has 32
 * leaves under way at once, and it takes few instructions to change them.
 *
 * Where readers may look at the same time (`shared`), a leaf is latched, changed and given back as blink_place.inc.h says.
 */

#define LEAF_WORDS  (COPSE_LEAF_BYTES / 4u)
#define KEY_WORDS   (KEY_BITS / 32u)
#define VALUE_WORDS (VALUE_BITS / 32u)

/* A leaf in the hands of one lane. */
typedef struct NAME(own_leaf) {
    uint32_t word[LEAF_WORDS];
    uint32_t number;
    uint32_t home;
    uint32_t
        untouched;     /* entries in front of the first that changed; LEAF_WORDS: nothing did, 0: everything may have */
    bool home_changed; /* a leaf of the home was */
} NAME(own_leaf);
#define OWN NAME(own_leaf)

typedef struct NAME(sorted_update) {
    const copse_apply_arguments *a;
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

SIMT_DEVICE void NAME(own_load)(const copse_blink_tree *tree, OWN *own)
{
    const simt_u32x4 *leaf = (const simt_u32x4 *)NAME(leaf_at)(tree, own->number);
    SIMT_UNROLL
    for (uint32_t p = 0; p < LEAF_WORDS / 4u; p++) {
        const simt_u32x4 piece = leaf[p];
        own->word[p * 4u] = piece.x;
        own->word[p * 4u + 1u] = piece.y;
        own->word[p * 4u + 2u] = piece.z;
        own->word[p * 4u + 3u] = piece.w;
    }
    own->word[LEAF_STATE / 4u] &= ~COPSE_LEAF_LATCH;
    own->untouched = LEAF_WORDS;
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

SIMT_DEVICE void NAME(own_store_pieces)(const OWN *own, char *leaf)
{
    SIMT_UNROLL
    for (uint32_t p = 0; p < LEAF_WORDS / 4u; p++) {
        if (!NAME(own_piece_changed)(own, p)) continue;
        simt_u32x4 piece;
        piece.x = own->word[p * 4u];
        piece.y = own->word[p * 4u + 1u];
        piece.z = own->word[p * 4u + 2u];
        piece.w = own->word[p * 4u + 3u];
        ((simt_u32x4 *)leaf)[p] = piece;
    }
}

/* Latches a leaf, which no other writer can have. */
SIMT_DEVICE void NAME(own_latch)(const SORTED *s, uint32_t number)
{
    if (!s->a->shared) return;
    uint32_t *state = (uint32_t *)(NAME(leaf_at)(&s->a->tree, number) + LEAF_STATE);
    simt_store_relaxed_u32(state, simt_load_relaxed_u32(state) | COPSE_LEAF_LATCH);
    __threadfence(); /* what follows comes behind the latch */
}

/* Writes a leaf back where it was changed. In a B-link tree that gives its latch back, in a B+ tree the home keeps it. */
SIMT_DEVICE void NAME(own_put_back)(const SORTED *s, OWN *own)
{
    char *leaf = NAME(leaf_at)(&s->a->tree, own->number);
    uint32_t *state = (uint32_t *)(leaf + LEAF_STATE);
    const bool changed = own->untouched != LEAF_WORDS;
    if (changed) own->word[LEAF_STATE / 4u] = NAME(state_after)(own->word[LEAF_STATE / 4u], NAME(own_count)(own));
    if (changed && !s->a->shared) NAME(own_store_pieces)(own, leaf);
    if (changed && s->a->shared) NAME(own_store_words)(own, leaf);
    own->untouched = LEAF_WORDS;
    if (!s->a->shared) return;
    if (s->a->tree.forks)
        simt_store_relaxed_u32(state,
                               own->word[LEAF_STATE / 4u] | (own->number < s->a->tree.homes ? COPSE_LEAF_LATCH : 0));
    else
        simt_store_release_u32(state, own->word[LEAF_STATE / 4u]);
}

/* --- splits ---------------------------------------------------------------------------------------------------------------- */

/* The upper entries, from `keep` on, to a new leaf, which nothing leads to yet. */
SIMT_DEVICE void NAME(own_store_upper)(const OWN *own, char *to, uint32_t keep, uint32_t state)
{
    SIMT_UNROLL
    for (uint32_t slot = 0; slot < LEAF_SLOTS; slot++) {
        if (slot >= keep) NAME(store_key)(to, slot - keep, NAME(own_key)(own, slot));
        if (slot >= keep) NAME(store_value)(to, slot - keep, NAME(own_value)(own, slot));
        if (slot < keep) NAME(store_key)(to, slot + LEAF_SLOTS - keep, KEY_MAX);
        if (slot < keep) NAME(store_value)(to, slot + LEAF_SLOTS - keep, 0);
    }
    simt_store_relaxed_u32((uint32_t *)(to + LEAF_NEXT), own->word[LEAF_NEXT / 4u]);
    COPSE_BITS(simt_store_relaxed_u, KEY_BITS)((KEY *)(to + LEAF_HIGH), NAME(own_high)(own));
    NAME(store_unused)(to);
    simt_store_relaxed_u32((uint32_t *)(to + LEAF_STATE), state);
}

/* Keeps the lower entries. */
SIMT_DEVICE void NAME(own_trim)(OWN *own, uint32_t keep)
{
    SIMT_UNROLL
    for (uint32_t slot = 0; slot < LEAF_SLOTS; slot++) {
        if (slot < keep) continue;
        NAME(own_set_key)(own, slot, KEY_MAX);
        NAME(own_set_value)(own, slot, 0);
    }
    own->word[LEAF_STATE / 4u] = (own->word[LEAF_STATE / 4u] & ~COPSE_LEAF_COUNT) + keep;
    own->untouched = 0;
    own->home_changed = true;
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
 * Splits a full leaf in front of an insertion of k at `slot`, and goes on with the half where k belongs. Where k comes behind all
 * entries they all stay, so that keys which arrive in order leave full leaves behind.
 */
SIMT_DEVICE void NAME(own_split)(const SORTED *s, OWN *own, KEY k, uint32_t slot)
{
    const copse_blink_tree *tree = &s->a->tree;
    const uint32_t keep = slot == LEAF_SLOTS ? LEAF_SLOTS : (LEAF_SLOTS + 1u) / 2u;
    const uint32_t right = NAME(pool_take_one)(tree, s->a->counters);
    if (right == COPSE_LEAF_NONE) return;
    const KEY middle = NAME(own_middle)(own, keep);
    const bool goes_right = middle < k;
    const uint32_t latch = s->a->shared && !tree->forks && goes_right ? COPSE_LEAF_LATCH : 0;
    NAME(own_store_upper)(own, NAME(leaf_at)(tree, right), keep, latch | (LEAF_SLOTS - keep));
    if (tree->forks)
        NAME(own_fork)(s, own, middle, right);
    else
        own->word[LEAF_NEXT / 4u] = right;
    NAME(own_trim)(own, keep);
    NAME(own_set_high)(own, middle);
    if (!goes_right) return;
    NAME(own_put_back)(s, own);
    own->number = right;
    NAME(own_load)(tree, own);
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

/* One operation on the leaf where its key belongs. */
SIMT_DEVICE void NAME(own_change)(SORTED *s, OWN *own, KEY k, VALUE value, uint64_t i)
{
    const copse_action action = NAME(operation_action)(&s->a->operations, i);
    bool there;
    uint32_t slot = NAME(own_seek)(own, k, &there);
    if (there && action == COPSE_ACTION_UPSERT) {
        NAME(own_replace)(own, slot, value);
    } else if (there && action == COPSE_ACTION_ERASE) {
        NAME(own_erase)(own, slot);
        s->went++;
    } else if (!there && action != COPSE_ACTION_ERASE) {
        if (NAME(own_count)(own) == LEAF_SLOTS) {
            NAME(own_split)(s, own, k, slot);
            slot = NAME(own_seek)(own, k, &there);
        }
        NAME(own_insert)(own, slot, k, value);
        s->came++;
    }
}

/* Goes from the leaf that the lane holds to the one where k belongs, within the same home. */
SIMT_DEVICE void NAME(own_move)(const SORTED *s, OWN *own, KEY k)
{
    const copse_blink_tree *tree = &s->a->tree;
    while (NAME(own_high)(own) < k) {
        NAME(own_put_back)(s, own);
        own->number = tree->forks ? NAME(fork_lead)(tree, own->home, k) : own->word[LEAF_NEXT / 4u];
        if (!tree->forks) NAME(own_latch)(s, own->number);
        NAME(own_load)(tree, own);
    }
}

/* The operations of one home, from `i` on. */
SIMT_DEVICE void NAME(apply_home)(SORTED *s, uint32_t home, uint64_t i)
{
    const copse_apply_arguments *a = s->a;
    const KEY *keys = (const KEY *)a->operations.keys;
    OWN own;
    own.home = home;
    own.home_changed = false;
    NAME(own_latch)(s, home);
    own.number = NAME(fork_lead)(&a->tree, home, keys[i]);
    NAME(own_load)(&a->tree, &own);
    do {
        const KEY k = keys[i];
        const VALUE value = a->operations.values ? NAME(operation_value)(&a->operations, i) : 0;
        if (NAME(operation_dead)(&a->operations, i)) continue;
        NAME(own_move)(s, &own, k);
        NAME(own_change)(s, &own, k, value, i);
    } while (++i < a->operations.n && a->homes[i] == home);
    NAME(own_put_back)(s, &own);
    if (!a->shared || !a->tree.forks) return;
    uint32_t *state = (uint32_t *)(NAME(leaf_at)(&a->tree, home) + LEAF_STATE);
    const uint32_t there = simt_load_relaxed_u32(state) & ~COPSE_LEAF_LATCH;
    simt_store_release_u32(state, own.home_changed ? NAME(state_after)(there, there & COPSE_LEAF_COUNT) : there);
}

/* A lane takes the operations of the homes that begin with its own. */
SIMT_KERNEL(NAME(apply), copse_apply_arguments, COPSE_KERNEL_THREADS, 5)
{
    SORTED s = {&a, 0, 0};
    if (a.counters->crowded == 1u || a.counters->extra > a.extra_most || a.counters->dead > a.dead_most) return;
    for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < a.operations.n;
         i += (uint64_t)gridDim.x * blockDim.x) {
        const uint32_t home = a.homes[i];
        if (i == 0 || a.homes[i - 1u] != home) NAME(apply_home)(&s, home, i);
    }
    NAME(update_count)(a.counters, s.came, s.went);
}
