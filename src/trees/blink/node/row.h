/*
 * Template: leaves as rows of 32 words, a word in each lane. A warp reads and writes a leaf with one access to memory, and
 * what a lane does with its word is the same for every leaf: its role.
 */
#pragma once

#include "core/levels.h"
#include "trees/blink/node/arguments.h"
#include "trees/blink/node/leaf.h"
#include "trees/blink/rebuild/arguments.h"

#define LEAF_WORDS  (COPSE_LEAF_BYTES / 4u)
#define LEAF_PIECES (COPSE_LEAF_BYTES / 16u) /* of what one lane loads or stores at once */
#define ROW_KEY     (KEY_BITS / 32u)         /* words of a key */
#define ROW_VALUE   (VALUE_BITS / 32u)
/* Leaves that a warp fills before it stores the first. */
#define ROW_AHEAD 8u

/* What the word of a lane belongs to. */
typedef struct row_role {
    uint32_t words;  /* of one entry: ROW_KEY or ROW_VALUE; 0: the word belongs to no entry */
    uint32_t slot;   /* which entry, with `high` the last one of the leaf                   */
    uint32_t which;  /* of these words                                                      */
    uint32_t filler; /* what the word is where there is no such entry                       */
    bool value, high;
} row_role;

SIMT_DEVICE row_role row_role_of(uint32_t word)
{
    const uint32_t byte = word * 4u, values = LEAF_VALUES / 4u;
    row_role role;
    role.words = role.slot = role.which = role.filler = 0;
    role.high = byte >= LEAF_HIGH && byte < LEAF_HIGH + KEY_BITS / 8u;
    role.value = byte >= LEAF_VALUES && byte < LEAF_VALUES + LEAF_SLOTS * (VALUE_BITS / 8u);
    if (byte < LEAF_SLOTS * (KEY_BITS / 8u)) {
        role.words = ROW_KEY;
        role.slot = word / ROW_KEY;
        role.which = word % ROW_KEY;
        role.filler = UINT32_MAX;
    } else if (role.high) {
        role.words = ROW_KEY;
        role.which = word - LEAF_HIGH / 4u;
    } else if (role.value) {
        role.words = ROW_VALUE;
        role.slot = (word - values) / ROW_VALUE;
        role.which = (word - values) % ROW_VALUE;
    }
    return role;
}

/* Rank of the first entry of a leaf of a packed tree: two leaves share LEAF_PACKED_TWO. */
SIMT_DEVICE uint64_t packed_first(uint64_t leaf)
{
    return leaf / 2u * LEAF_PACKED_TWO + (leaf % 2u ? LEAF_PACKED_TWO / 2u : 0);
}

/* The leaf of a packed tree that has entry `rank`. */
SIMT_DEVICE uint64_t packed_leaf(uint64_t rank)
{
    const uint64_t two = rank / LEAF_PACKED_TWO;
    return two * 2u + (rank - two * LEAF_PACKED_TWO >= LEAF_PACKED_TWO / 2u ? 1u : 0);
}

/* Entries that leaf `leaf` of a packed tree has, unless it is the last. */
SIMT_DEVICE uint32_t packed_share(uint64_t leaf)
{
    return leaf % 2u ? LEAF_PACKED_TWO - LEAF_PACKED_TWO / 2u : LEAF_PACKED_TWO / 2u;
}

/* Entries that leaf `leaf` of a packed tree has. Only the last leaf may have less than its share. */
SIMT_DEVICE uint32_t packed_size(const copse_blink_tree *tree, uint64_t leaf)
{
    return leaf + 1u == tree->base_leaves ? (uint32_t)(tree->entries - packed_first(leaf)) : packed_share(leaf);
}

/* The slot of this lane's entry in a leaf of `size` entries; size or more where it has none. */
SIMT_DEVICE uint32_t row_slot(const row_role *role, uint32_t size)
{
    if (role->high) return size - 1u;
    return role->words ? role->slot : LEAF_SLOTS;
}

/* Stores this lane's word of a leaf of a packed tree. `word` is that of its entry, where it has one. */
SIMT_DEVICE void row_store(const copse_blink_tree *tree, uint64_t leaf, uint32_t lane, const row_role *role,
                           uint32_t size, uint32_t word)
{
    const bool last = leaf + 1u == tree->base_leaves;
    if (lane == LEAF_STATE / 4u)
        word = size;
    else if (lane == LEAF_NEXT / 4u)
        word = tree->branches || last ? COPSE_LEAF_NONE : (uint32_t)leaf + 1u;
    else if (role->high && last)
        word = UINT32_MAX;
    else if (row_slot(role, size) >= size)
        word = role->filler;
    *(uint32_t *)(base_leaf_at(tree, leaf) + lane * 4u) = word;
}

/* What the levels are made from: `high` of a leaf. */
SIMT_DEVICE void row_high(const copse_rebuild_arguments *a, uint64_t leaf, KEY high)
{
#if KEY_BITS == 64
    a->last[leaf] = copse_digest(high, a->to.levels.base, a->to.levels.shift);
#else
    a->last[leaf] = high;
#endif
}

/* ... whose last key is `key`. */
SIMT_DEVICE void row_last(const copse_rebuild_arguments *a, uint64_t leaf, KEY key)
{
    row_high(a, leaf, leaf + 1u == a->to.base_leaves ? KEY_MAX : key);
}

/* --- a tree of sorted pairs --------------------------------------------------------------------------------------------- */

/* Up to ROW_AHEAD leaves from `first` on. */
SIMT_DEVICE void fill_rows(const copse_rebuild_arguments *a, const row_role *role, uint64_t first)
{
    const uint32_t lane = simt_lane();
    const uint64_t left = a->to.base_leaves - first;
    const uint32_t *from = (const uint32_t *)(role->value ? a->operations.values : a->operations.keys);
    uint32_t word[ROW_AHEAD];
    SIMT_UNROLL
    for (uint32_t r = 0; r < ROW_AHEAD; r++) {
        const uint32_t size = r < left ? packed_size(&a->to, first + r) : 0;
        const uint32_t slot = row_slot(role, size);
        word[r] = 0;
        if (r < left && slot < size)
            word[r] = simt_load_once_u32(&from[(packed_first(first + r) + slot) * role->words + role->which]);
    }
    SIMT_UNROLL
    for (uint32_t r = 0; r < ROW_AHEAD; r++)
        if (r < left) row_store(&a->to, first + r, lane, role, packed_size(&a->to, first + r), word[r]);
    if (lane >= ROW_AHEAD || lane >= left) return;
    const uint64_t leaf = first + lane;
    const KEY *keys = (const KEY *)a->operations.keys;
    row_last(a, leaf, keys[packed_first(leaf) + packed_size(&a->to, leaf) - 1u]);
}

/* Fills all leaves: entry i is operation i. There is at least one. */
SIMT_KERNEL(NAME(rebuild_fill), copse_rebuild_arguments, COPSE_KERNEL_THREADS, 8)
{
    const uint64_t warps = (uint64_t)gridDim.x * (COPSE_KERNEL_THREADS / SIMT_WARP);
    const uint64_t warp = (uint64_t)blockIdx.x * (COPSE_KERNEL_THREADS / SIMT_WARP) + simt_warp();
    const row_role role = row_role_of(simt_lane());
    for (uint64_t first = warp * ROW_AHEAD; first < a.to.base_leaves; first += warps * ROW_AHEAD)
        fill_rows(&a, &role, first);
}

/* The one leaf of a tree without entries. */
SIMT_KERNEL(NAME(rebuild_empty), copse_rebuild_arguments, COPSE_KERNEL_THREADS, 1)
{
    if (blockIdx.x != 0 || threadIdx.x >= SIMT_WARP) return;
    row_role role = row_role_of(simt_lane());
    row_store(&a.to, 0, simt_lane(), &role, 0, 0);
    if (simt_lane() == 0) row_last(&a, 0, KEY_MAX);
}

/* Addresses of segments on their way to the table. */
SIMT_KERNEL(NAME(publish), copse_publish_arguments, COPSE_KERNEL_THREADS, 1)
{
    if (blockIdx.x == 0 && threadIdx.x < a.n) simt_store_relaxed_u64(&a.to[threadIdx.x], a.addresses[threadIdx.x]);
}
