/*
 * Erasing stretches of entries from the regular tree.
 *
 *   leaves   | a b c d | e f g | h i j | k l m n |      d .. k go:
 *            | a b c   |       |       | l m n   |      leaves inside go whole, without a look at what they hold; those at the ends are cut,
 *            | a b c l m n |                            and are joined where one of them is sparse and both fit
 *
 * Nothing here can fail, and the cost is that of the slots between the ends. Where that is a good part of the table, a new one takes its
 * place.
 */
#pragma once

#include "trees/regular/cpu/table.h"
#include "trees/regular/cpu/tree.h"

#define LOCATION_POSITION(location) ((uint32_t)((location) & ((1u << COPSE_LOCATION_SHIFT) - 1)))

/* Copies n entries from one place in units to another that is not behind it, or in other units. */
static void entries_move(copse_unit *from_units, uint32_t from_at, copse_unit *to_units, uint32_t to_at, uint32_t n)
{
    unit_cursor from = cursor_at(from_units, from_at), to = cursor_at(to_units, to_at);
    for (; n; n--, cursor_next(&from), cursor_next(&to)) {
        to.unit->keys[to.slot] = from.unit->keys[from.slot];
        to.unit->values[to.slot] = from.unit->values[from.slot];
    }
}

static void slot_empty(const copse_ctx *ctx, copse_regular *tree, uint64_t slot)
{
    copse_leaf_give(ctx, &tree->pool, tree->table.leaf[slot]);
    tree->table.leaf[slot] = NULL;
    tree->table.count[slot] = 0;
    tree->leaves--;
}

/* Takes entries first .. end of one leaf away. */
static void slot_cut(const copse_ctx *ctx, copse_regular *tree, uint64_t slot, uint32_t first, uint32_t end)
{
    char *leaf = tree->table.leaf[slot];
    const uint32_t count = tree->table.count[slot];
    if (first >= end) return;
    if (end - first == count) {
        slot_empty(ctx, tree, slot);
        return;
    }
    entries_move(leaf_units(leaf), end, leaf_units(leaf), first, count - end);
    tree->table.count[slot] = (uint8_t)(count - (end - first));
    leaf_seal(leaf, tree->table.count[slot]);
}

/* Takes the entries of a stretch out of their leaves. Slots stay where they are, so that locations in front of it hold. */
static void stretch_cut(const copse_ctx *ctx, copse_regular *tree, const copse_stretch *stretch)
{
    const copse_leaf_table *table = &tree->table;
    const uint64_t first = stretch->first >> COPSE_LOCATION_SHIFT, last = stretch->end >> COPSE_LOCATION_SHIFT;
    for (uint64_t slot = first; slot <= last && slot < table->slots; slot++) {
        if (!table->leaf[slot]) continue;
        slot_cut(ctx, tree, slot, slot == first ? LOCATION_POSITION(stretch->first) : 0,
                 slot == last ? LOCATION_POSITION(stretch->end) : table->count[slot]);
    }
}

/* Puts the entries of a leaf behind those of the one before it, where one of both is sparse and they fit. */
static bool slot_join(const copse_ctx *ctx, copse_regular *tree, uint64_t before, uint64_t slot)
{
    copse_leaf_table *table = &tree->table;
    const uint32_t left = table->count[before], right = table->count[slot];
    if ((left >= LEAF_SPARSE && right >= LEAF_SPARSE) || left + right > LEAF_EDIT_FILL) return false;
    entries_move(leaf_units(table->leaf[slot]), 0, leaf_units(table->leaf[before]), left, right);
    leaf_seal(table->leaf[before], left + right);
    table->count[before] = (uint8_t)(left + right);
    table_fence(table)[before] = table_fence(table)[slot];
    slot_empty(ctx, tree, slot);
    return true;
}

/* Brings the leaves of a group to its front again. */
static void group_pack(const copse_ctx *ctx, copse_regular *tree, uint64_t group)
{
    copse_leaf_table *table = &tree->table;
    uint64_t to = group * FANOUT;
    for (uint64_t slot = to; slot < (group + 1) * FANOUT; slot++) {
        if (!table->leaf[slot] || (to > group * FANOUT && slot_join(ctx, tree, to - 1, slot))) continue;
        slot_move(table, slot, to++);
    }
}

/* Joins the first leaf of a group with the one in front of it, where that is near: `far` groups are looked at, at most. Returns the group
 * of the leaf that got larger, or this one. */
static uint64_t group_join_back(const copse_ctx *ctx, copse_regular *tree, uint64_t group, uint64_t far)
{
    const copse_leaf_table *table = &tree->table;
    const uint64_t slot = group * FANOUT, end = group > far ? (group - far) * FANOUT : 0;
    uint64_t before = slot;
    while (before > end && !table->leaf[before - 1]) before--;
    if (before == end || !table->leaf[slot] || !slot_join(ctx, tree, before - 1, slot)) return group;
    group_pack(ctx, tree, group);
    return (before - 1) / FANOUT;
}

/* Packs groups first .. last, of which those between them are empty, and brings up to date what is derived from their slots. */
static void groups_settle(const copse_index *index, copse_regular *tree, uint64_t first, uint64_t last)
{
    copse_leaf_table *table = &tree->table;
    const uint64_t end = (last + 1) * FANOUT, far = (last - first + 2) * 8;
    group_pack(index->ctx, tree, first);
    uint64_t joined = group_join_back(index->ctx, tree, first, far);
    if (last > first) group_pack(index->ctx, tree, last);
    first = joined;
    joined = group_join_back(index->ctx, tree, last, far);
    if (joined < first) first = joined;
    for (uint64_t slot = first * FANOUT; slot < end; slot++)
        if (!table->leaf[slot]) table_fence(table)[slot] = slot ? table_fence(table)[slot - 1] : 0;
    const uint64_t behind = end < table->slots ? table_repeat_fences(table, end) / FANOUT : last;
    regular_refresh(index, tree, first, behind);
}

/* The last leaf may hold the largest keys. */
static void last_fence_settle(const copse_index *index, copse_regular *tree)
{
    copse_leaf_table *table = &tree->table;
    uint64_t slot = table->slots - 1;
    if (table_fence(table)[slot] == KEY_MAX) return;
    while (!table->leaf[slot]) slot--;
    table_fence(table)[slot] = KEY_MAX;
    (void)table_repeat_fences(table, slot + 1);
    regular_refresh(index, tree, slot / FANOUT, table->groups - 1);
}

/* Slot 0 is always used. */
static void first_slot_settle(const copse_index *index, copse_regular *tree)
{
    copse_leaf_table *table = &tree->table;
    for (uint32_t height = 1; !table->leaf[0]; height++) {
        uint64_t first, groups;
        table_window(table, 0, height, &first, &groups);
        if (table_used(table, first, groups) == 0) continue;
        table_respread(table, first, groups);
        regular_refresh(index, tree, first, first + groups - 1);
    }
}

/* Joins neighbours all over the table. */
static void leaves_join(const copse_ctx *ctx, copse_regular *tree)
{
    const copse_leaf_table *table = &tree->table;
    uint64_t before = table->slots; /* the used slot in front; none so far */
    for (uint64_t slot = 0; slot < table->slots; slot++)
        if (table->leaf[slot] && (before == table->slots || !slot_join(ctx, tree, before, slot))) before = slot;
}

/* Takes the leaves over into a table of their number: many free slots in a row would make updates beside them slow. False: there is no
 * memory for it. */
static bool table_renew(const copse_index *index, copse_regular *tree)
{
    copse_leaf_table to, *from = &tree->table;
    if (!table_create(index->ctx, tree->leaves, &to)) return false;
    leaves_join(index->ctx, tree);
    for (uint64_t slot = 0, i = 0; slot < from->slots; slot++) {
        if (!from->leaf[slot]) continue;
        const uint64_t at = table_spread(i++, tree->leaves, to.groups);
        to.leaf[at] = from->leaf[slot];
        to.count[at] = from->count[slot];
        table_fence(&to)[at] = i == tree->leaves ? KEY_MAX : table_fence(from)[slot];
    }
    table_repeat_all(&to);
    copse_memory_free(index->ctx, from->memory, from->bytes);
    tree->table = to;
    copse_regular_drop_summary(index->ctx, tree); /* it has one item per slot */
    regular_refresh(index, tree, 0, to.groups - 1);
    return true;
}

/* Brings the table up to date, group by group, where leaves went or got smaller. */
static void stretches_settle(const copse_index *index, copse_regular *tree, const copse_stretch *stretches, uint64_t n)
{
    const uint64_t groups = tree->table.groups;
    uint64_t settled = 0; /* groups in front of it all are */
    for (uint64_t i = 0; i < n; i++) {
        const uint64_t first = (stretches[i].first >> COPSE_LOCATION_SHIFT) / FANOUT;
        uint64_t last = (stretches[i].end >> COPSE_LOCATION_SHIFT) / FANOUT;
        if (last >= groups) last = groups - 1;
        if (last < settled) continue;
        groups_settle(index, tree, first, last);
        settled = last + 1;
    }
    last_fence_settle(index, tree);
    first_slot_settle(index, tree);
}

static copse_status regular_erase_between(copse_index *index, const copse_stretch *stretches, uint64_t n,
                                          uint64_t erased)
{
    copse_regular *tree = index->tree;
    const uint64_t leaves = tree->leaves;
    for (uint64_t i = n; i-- > 0;) stretch_cut(index->ctx, tree, &stretches[i]);
    const uint64_t slots = tree->table.slots;
    const bool many = leaves - tree->leaves > slots / 32 + 8, too_large = tree->leaves < slots / 4 && slots > 64;
    if (!(many || too_large) || !table_renew(index, tree)) stretches_settle(index, tree, stretches, n);
    tree->entries -= erased;
    if (copse_leaf_pool_sparse(&tree->pool))
        copse_leaf_pool_compact(index->ctx, &tree->pool, tree->table.leaf, tree->table.slots);
    return COPSE_OK;
}
