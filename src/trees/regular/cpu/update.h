/*
 * Batch updates of the regular tree.
 *
 *   route    cut the sorted batch by leaf: one segment per leaf that it touches
 *   plan     count, per segment, what the leaf will hold; where that is too much or too little, make an edit of up to
 *            three neighbouring leaves that come out as more or fewer leaves
 *   reserve  take every leaf and table that the plan needs: the last step that can fail
 *   apply    merge, leaf by leaf, on all threads; then bring slots, separators and counts up to date
 */
#pragma once

#include "trees/regular/cpu/build.h"
#include "trees/regular/cpu/table.h"
#include "trees/regular/cpu/tree.h"
#include "core/threads.h"
#include "cpu/merge.h"

#include <string.h>

typedef struct leaf_segment {
    uint64_t slot;
    uint64_t first, n; /* of the batch */
    uint64_t count;    /* entries afterwards */
    bool values_only;  /* every key is there already */
    bool in_edit;
} leaf_segment;

enum { EDIT_MEMBERS = 3 };

typedef struct leaf_edit {
    uint32_t members;
    char *leaf[EDIT_MEMBERS];
    KEY fence[EDIT_MEMBERS];
    uint8_t count[EDIT_MEMBERS];
    uint64_t first[EDIT_MEMBERS], n[EDIT_MEMBERS]; /* of the batch */
    uint64_t slot;                                 /* of the first member, before anything moves */
    uint64_t total;                                /* entries afterwards */
    uint64_t out;                                  /* position of its first leaf in the update's list */
    uint64_t leaves;
} leaf_edit;

typedef struct update_plan {
    const copse_batch *batch;
    merge_kind kind;
    uint32_t threads;
    leaf_segment *segment;
    uint64_t segments, segment_room;
    leaf_edit *edit;
    uint64_t edits, edit_room;
    copse_unit **out_units; /* all leaves that edits write, members first */
    uint8_t *out_fill;
    uint64_t outs, out_room;
    uint64_t taken; /* new leaves that this update holds */
    uint64_t entries_after, leaves_after;
    uint64_t moves; /* slots that appear or disappear */
    bool new_table;
    copse_leaf_table table;
} update_plan;

/* --- route -------------------------------------------------------------------------------------------------------- */

static inline KEY table_first_key(const copse_leaf_table *table, uint64_t slot)
{
    return leaf_units(table->leaf[slot])[0].keys[0];
}

/* With duplicates a new entry goes behind its equals: into the last leaf that holds the key. */
static uint64_t route_behind_equals(const copse_leaf_table *table, uint64_t slot, KEY key)
{
    while (table_fence(table)[slot] == key) {
        uint64_t next = table_next(table, slot);
        if (next == table->slots || table_first_key(table, next) != key) break;
        slot = next;
    }
    return slot;
}

/* Pairs `first` and up of the batch go to the leaf in this slot. */
static void route_put(update_plan *u, uint64_t slot, uint64_t first, uint64_t n)
{
    leaf_segment *last = u->segments ? &u->segment[u->segments - 1] : NULL;
    if (n == 0) return;
    if (last && last->slot == slot && last->first + last->n == first)
        last->n += n;
    else
        u->segment[u->segments++] = (leaf_segment){.slot = slot, .first = first, .n = n};
}

/* Changes of groups: what comes in front of a group goes to the first leaf that holds it, so that the first leaf whose fence is
 * not smaller than the key has it afterwards, too; TAKE to all of them; what comes behind it to the last one. */
static void route_groups(const copse_regular *tree, update_plan *u)
{
    const copse_leaf_table *table = &tree->table;
    const copse_pair *pairs = u->batch->pairs;
    const uint8_t *does = u->batch->does;
    uint64_t n = u->batch->n, slot = 0, end;
    for (uint64_t i = 0; i < n; i = end) {
        const KEY key = pairs[i].key;
        for (end = i + 1; end < n && pairs[end].key == key;) end++;
        slot = table_seek(table, slot, key);
        if (does[end - 1] == COPSE_GROUP_TAKE) {
            route_put(u, slot, i, end - i);
            for (uint64_t next; table_fence(table)[slot] == key; slot = next) {
                next = table_next(table, slot);
                if (next == table->slots || table_first_key(table, next) != key) break;
                route_put(u, next, end - 1, 1);
            }
            continue;
        }
        const uint64_t firsts = does[i] == COPSE_GROUP_FIRST;
        route_put(u, slot, i, firsts);
        if (i + firsts == end) continue;
        slot = route_behind_equals(table, slot, key);
        route_put(u, slot, i + firsts, end - i - firsts);
    }
}

static void update_route(const copse_index *index, const copse_regular *tree, update_plan *u)
{
    const copse_leaf_table *table = &tree->table;
    const KEY *fence = table_fence(table);
    const copse_pair *pairs = u->batch->pairs;
    uint64_t n = u->batch->n, slot = 0, i = 0;
    while (i < n) {
        slot = table_seek(table, slot, pairs[i].key);
        if (u->kind == MERGE_APPEND) slot = route_behind_equals(table, slot, pairs[i].key);
        uint64_t end = i + 1;
        KEY limit = fence[slot];
        /* With duplicates, keys equal to the fence are routed on their own: they may belong further right. */
        if (u->kind == MERGE_APPEND)
            while (end < n && (pairs[end].key < limit || pairs[end].key == pairs[i].key)) end++;
        else
            while (end < n && pairs[end].key <= limit) end++;
        leaf_segment *last = u->segments ? &u->segment[u->segments - 1] : NULL;
        if (last && last->slot == slot && last->first + last->n == i)
            last->n += end - i;
        else
            u->segment[u->segments++] = (leaf_segment){.slot = slot, .first = i, .n = end - i};
        i = end;
        /* Equals of an erased key may go on in the leaves to the right. */
        while (index->duplicates && u->kind == MERGE_ERASE && fence[slot] == pairs[end - 1].key) {
            uint64_t next = table_next(table, slot);
            if (next == table->slots || table_first_key(table, next) != pairs[end - 1].key) break;
            slot = next;
            uint64_t from = end - 1;
            while (end < n && pairs[end].key <= fence[slot]) end++;
            u->segment[u->segments++] = (leaf_segment){.slot = slot, .first = from, .n = end - from};
            i = end;
        }
    }
}

/* --- plan --------------------------------------------------------------------------------------------------------- */

typedef struct update_job {
    copse_regular *tree;
    update_plan *u;
} update_job;

static void count_segments(void *argument, uint64_t first, uint64_t last)
{
    const update_job *job = argument;
    const copse_regular *tree = job->tree;
    const update_plan *u = job->u;
    for (uint64_t i = first; i < last; i++) {
        leaf_segment *s = &u->segment[i];
        uint64_t fresh;
        const uint32_t before = tree->table.count[s->slot];
        s->count = merge_count(leaf_units(tree->table.leaf[s->slot]), 0, before,
                               merge_slice_of(u->batch, s->first, s->n), u->kind, &fresh);
        s->values_only = (u->kind == MERGE_UPSERT || u->kind == MERGE_MIXED || u->kind == MERGE_GROUPS) && fresh == 0 &&
                         s->count == before;
    }
}

static void update_count(const copse_ctx *ctx, copse_regular *tree, update_plan *u)
{
    update_job job = {tree, u};
    copse_parallel(ctx, u->threads, u->segments, copse_even_chunk(u->segments, u->threads), count_segments, &job);
}

/* Collects up to three neighbours from segment i on; returns how many segments they took. */
static uint64_t edit_collect(const copse_regular *tree, const update_plan *u, uint64_t i, leaf_edit *e)
{
    const copse_leaf_table *table = &tree->table;
    uint64_t slot = u->segment[i].slot, at = i;
    *e = (leaf_edit){.slot = slot};
    while (e->members < EDIT_MEMBERS && slot < table->slots) {
        uint32_t m = e->members++;
        bool touched = at < u->segments && u->segment[at].slot == slot;
        e->leaf[m] = table->leaf[slot];
        e->fence[m] = table_fence(table)[slot];
        e->count[m] = table->count[slot];
        e->first[m] = touched ? u->segment[at].first : 0;
        e->n[m] = touched ? u->segment[at].n : 0;
        e->total += touched ? u->segment[at].count : table->count[slot];
        at += touched;
        slot = table_next(table, slot);
    }
    return at - i;
}

/* How many leaves an edit comes out as. Sharing with neighbours before splitting keeps leaves fuller than halving. */
static uint64_t edit_leaves(const leaf_edit *e, bool overflow)
{
    if (overflow && e->total <= (uint64_t)e->members * (LEAF_CAPACITY - UNIT_ENTRIES)) return e->members;
    return (e->total + LEAF_EDIT_FILL - 1) / LEAF_EDIT_FILL;
}

/* Turns segments that do not fit their leaf into edits. With `write` false only counts what the lists need. */
static void update_edits(const copse_regular *tree, update_plan *u, bool write)
{
    const bool erases = u->kind == MERGE_ERASE || u->kind == MERGE_MIXED || u->kind == MERGE_GROUPS;
    u->edits = u->outs = u->moves = 0;
    u->leaves_after = tree->leaves;
    for (uint64_t i = 0; i < u->segments;) {
        leaf_segment *s = &u->segment[i];
        bool overflow = s->count > LEAF_CAPACITY, sparse = erases && s->count < LEAF_SPARSE;
        leaf_edit e;
        uint64_t took = 1;
        if (overflow || sparse) {
            took = edit_collect(tree, u, i, &e);
            e.leaves = edit_leaves(&e, overflow);
            /* Nothing to join: a leaf that stays is merged on its own, one that empties goes on its own. */
            if (!overflow && e.leaves >= e.members && s->count > 0) {
                i++;
                continue;
            }
            e.out = u->outs;
            u->outs += e.leaves;
            u->moves += e.leaves > e.members ? e.leaves - e.members : e.members - e.leaves;
            u->leaves_after += e.leaves - e.members;
            for (uint64_t k = 0; write && k < took; k++) u->segment[i + k].in_edit = true;
            if (write) u->edit[u->edits] = e;
            u->edits++;
        }
        i += took;
    }
}

/* --- reserve ------------------------------------------------------------------------------------------------------ */

static void update_release(const copse_index *index, copse_regular *tree, update_plan *u, bool failed)
{
    const copse_ctx *ctx = index->ctx;
    if (failed)
        for (uint64_t e = 0; e < u->edits && u->taken; e++)
            for (uint64_t k = u->edit[e].members; k < u->edit[e].leaves && u->taken; k++, u->taken--)
                copse_leaf_give(ctx, &tree->pool, (char *)u->out_units[u->edit[e].out + k] - 64);
    if (failed && u->new_table) copse_memory_free(ctx, u->table.memory, u->table.bytes);
    copse_memory_free(ctx, u->segment, u->segment_room * sizeof *u->segment);
    copse_memory_free(ctx, u->edit, u->edit_room * sizeof *u->edit);
    copse_memory_free(ctx, u->out_units, u->out_room * sizeof *u->out_units);
    copse_memory_free(ctx, u->out_fill, u->out_room);
}

/* Leaves for the edits: the members' own first, then new ones. */
static bool update_take_leaves(const copse_ctx *ctx, copse_regular *tree, update_plan *u)
{
    for (uint64_t i = 0; i < u->edits; i++) {
        const leaf_edit *e = &u->edit[i];
        for (uint64_t k = 0; k < e->leaves; k++) {
            char *leaf = k < e->members ? e->leaf[k] : copse_leaf_take(ctx, &tree->pool);
            if (!leaf) return false;
            u->taken += k >= e->members;
            u->out_units[e->out + k] = leaf_units(leaf);
            u->out_fill[e->out + k] = (uint8_t)(e->total * (k + 1) / e->leaves - e->total * k / e->leaves);
        }
    }
    return true;
}

/* A new table where the old one is too small, much too large, or where so many slots change that filling a new one is
 * cheaper than moving. A table that would only be smaller is not insisted on.
 *
 * Slots are moved edit by edit, so that leaves may have come while others have still to go: at most half as many as
 * there are moves, for which 13 of 16 slots leave room. */
static bool update_take_table(const copse_ctx *ctx, const copse_regular *tree, update_plan *u)
{
    uint64_t slots = tree->table.slots;
    bool too_small = u->leaves_after > slots / 16 * 13, too_large = u->leaves_after < slots / 4 && slots > 64;
    bool many = u->moves > slots / 32 + 8;
    if (!too_small && !too_large && !many) return true;
    u->new_table = table_create(ctx, u->leaves_after, &u->table);
    return u->new_table || !too_small;
}

static copse_status update_reserve(const copse_index *index, copse_regular *tree, update_plan *u)
{
    const copse_ctx *ctx = index->ctx;
    update_edits(tree, u, false);
    if (u->edits) {
        u->edit_room = u->edits;
        u->out_room = u->outs;
        u->edit = copse_memory_alloc(ctx, u->edit_room * sizeof *u->edit);
        u->out_units = u->outs ? copse_memory_alloc(ctx, u->out_room * sizeof *u->out_units) : NULL;
        u->out_fill = u->outs ? copse_memory_alloc(ctx, u->out_room) : NULL;
        if (!u->edit || (u->outs && (!u->out_units || !u->out_fill))) {
            u->edits = 0;
            return copse_fail_memory(ctx, u->edit_room * sizeof *u->edit, "planning the update");
        }
        update_edits(tree, u, true);
        if (!update_take_leaves(ctx, tree, u)) return copse_fail_memory(ctx, COPSE_LEAF_BYTES, "a new leaf");
    }
    if (u->leaves_after && !update_take_table(ctx, tree, u))
        return copse_fail_memory(ctx, u->leaves_after * 64, "a larger table of leaves");
    return COPSE_OK;
}

/* --- apply -------------------------------------------------------------------------------------------------------- */

static void apply_values(char *leaf, uint32_t count, const copse_pair *pairs, uint64_t n)
{
    copse_unit *units = leaf_units(leaf);
    uint64_t at = 0;
    for (uint64_t i = 0; i < n; i++) {
        at = merge_seek(units, at, count, pairs[i].key);
        units[at / UNIT_ENTRIES].values[at % UNIT_ENTRIES] = pairs[i].value;
    }
}

/* A leaf that stays on its own: merged from a copy into itself. */
static void apply_segment(copse_regular *tree, const update_plan *u, const leaf_segment *s)
{
    copse_leaf_table *table = &tree->table;
    char *leaf = table->leaf[s->slot];
    if (s->values_only) {
        apply_values(leaf, table->count[s->slot], (const copse_pair *)u->batch->pairs + s->first, s->n);
    } else {
        copse_unit copy[COPSE_LEAF_UNITS];
        memcpy(copy, leaf + 64, sizeof copy);
        merge_sink sink = {.at = {leaf_units(leaf), 0}, .room = s->count};
        merge_write(copy, 0, table->count[s->slot], merge_slice_of(u->batch, s->first, s->n), u->kind, &sink);
        leaf_seal(leaf, (uint32_t)s->count);
        table->count[s->slot] = (uint8_t)s->count;
    }
}

/* Merges the members of an edit, from copies, into its leaves. */
static void apply_edit(const update_plan *u, const leaf_edit *e)
{
    copse_unit copy[EDIT_MEMBERS][COPSE_LEAF_UNITS];
    if (e->leaves == 0) return;
    for (uint32_t m = 0; m < e->members; m++) memcpy(copy[m], e->leaf[m] + 64, sizeof copy[m]);
    merge_sink sink = {.next = u->out_units + e->out, .fill = u->out_fill + e->out};
    for (uint32_t m = 0; m < e->members; m++)
        merge_write(copy[m], 0, e->count[m], merge_slice_of(u->batch, e->first[m], e->n[m]), u->kind, &sink);
    for (uint64_t k = 0; k < e->leaves; k++) leaf_seal((char *)u->out_units[e->out + k] - 64, u->out_fill[e->out + k]);
}

static inline char *edit_leaf(const update_plan *u, const leaf_edit *e, uint64_t k)
{
    return (char *)u->out_units[e->out + k] - 64;
}

/* The last leaf of an edit takes over the fence of its last member; the others end with their largest key. */
static inline KEY edit_fence(const update_plan *u, const leaf_edit *e, uint64_t k)
{
    if (k + 1 == e->leaves) return e->fence[e->members - 1];
    return leaf_last_key(edit_leaf(u, e, k), u->out_fill[e->out + k]);
}

/* Writes the leaves of the old table, edits applied, into the new one. */
static void apply_new_table(const copse_index *index, copse_regular *tree, update_plan *u)
{
    copse_leaf_table *from = &tree->table, *to = &u->table;
    uint64_t n = u->leaves_after, i = 0, e = 0;
#define EMIT(leaf_, fence_, count_)                                                                                    \
    do {                                                                                                               \
        uint64_t s_ = table_spread(i++, n, to->groups);                                                                \
        to->leaf[s_] = leaf_;                                                                                          \
        to->count[s_] = count_;                                                                                        \
        table_fence(to)[s_] = i == n ? KEY_MAX : (fence_);                                                             \
    } while (0)
    for (uint64_t slot = 0; slot < from->slots; slot++) {
        if (!from->leaf[slot]) continue;
        if (e == u->edits || u->edit[e].slot != slot) {
            EMIT(from->leaf[slot], table_fence(from)[slot], from->count[slot]);
            continue;
        }
        const leaf_edit *edit = &u->edit[e++];
        for (uint64_t k = 0; k < edit->leaves; k++)
            EMIT(edit_leaf(u, edit, k), edit_fence(u, edit, k), u->out_fill[edit->out + k]);
        for (uint32_t m = 1; m < edit->members; m++) slot = table_next(from, slot);
    }
#undef EMIT
    table_repeat_all(to);
    copse_memory_free(index->ctx, from->memory, from->bytes);
    tree->table = *to;
    tree->leaves = n;
    /* The summary has one item per slot, and these are others now; it is made again when it is asked for. */
    copse_regular_drop_summary(index->ctx, tree);
    regular_refresh(index, tree, 0, tree->table.groups - 1);
}

/* Brings one edit into the table as it is. Slots may have moved since the plan; leaves are found by fence. */
static void apply_edit_slots(const copse_index *index, copse_regular *tree, const update_plan *u, const leaf_edit *e)
{
    copse_leaf_table *table = &tree->table;
    uint64_t stay = e->leaves < e->members ? e->leaves : e->members;
    for (uint64_t k = stay; k < e->members; k++) regular_slot_remove(index, tree, e->leaf[k], e->fence[k]);
    if (stay) {
        uint64_t first = table_find_leaf(table, e->leaf[0], e->fence[0]), slot = first;
        for (uint64_t k = 0; k < stay; k++) {
            if (k) slot = table_next(table, slot);
            table->count[slot] = u->out_fill[e->out + k];
            /* The last leaf of all keeps the maximum, which a removal behind it may just have given it. */
            if (k + 1 < e->leaves || table_fence(table)[slot] != KEY_MAX)
                table_fence(table)[slot] = edit_fence(u, e, k);
            table_repeat_fences(table, slot + 1);
        }
        regular_refresh(index, tree, first / FANOUT, table_group_before(table, table_next(table, slot)));
    }
    for (uint64_t k = e->members; k < e->leaves; k++)
        regular_slot_insert(index, tree, edit_leaf(u, e, k - 1), edit_fence(u, e, k - 1), edit_leaf(u, e, k),
                            u->out_fill[e->out + k], edit_fence(u, e, k));
}

/* Counts and summaries of groups that only had leaves rewritten. */
static void apply_refresh(const copse_index *index, copse_regular *tree, const update_plan *u)
{
    copse_leaf_table *table = &tree->table;
    if (u->segments * 4 > table->groups) {
        regular_refresh(index, tree, 0, table->groups - 1);
        return;
    }
    for (uint64_t i = 0; i < u->segments; i++) {
        uint64_t slot = u->segment[i].slot;
        if (i && u->segment[i - 1].slot / FANOUT == slot / FANOUT) continue;
        table_refresh_counts(index->ctx, table, slot / FANOUT, slot / FANOUT, 1);
    }
    for (uint64_t i = 0; tree->has_summary && i < u->segments; i++) {
        regular_summarize(index, tree, u->segment[i].slot);
        copse_summary_raise(index->ctx, &tree->summary, u->segment[i].slot, u->segment[i].slot, 1);
    }
}

/* Segments, and behind them edits. Those are more work each, but a segment that an edit took is none. */
static void apply_leaves(void *argument, uint64_t first, uint64_t last)
{
    const update_job *job = argument;
    const update_plan *u = job->u;
    for (uint64_t i = first; i < last && i < u->segments; i++)
        if (!u->segment[i].in_edit) apply_segment(job->tree, u, &u->segment[i]);
    for (uint64_t i = first > u->segments ? first : u->segments; i < last; i++)
        apply_edit(u, &u->edit[i - u->segments]);
}

static void update_apply(copse_index *index, copse_regular *tree, update_plan *u)
{
    update_job job = {tree, u};
    uint64_t leaves = u->segments + u->edits;
    copse_parallel(index->ctx, u->threads, leaves, copse_even_chunk(leaves, u->threads), apply_leaves, &job);
    if (!u->new_table) apply_refresh(index, tree, u);
    if (u->new_table)
        apply_new_table(index, tree, u);
    else
        for (uint64_t i = 0; i < u->edits; i++) apply_edit_slots(index, tree, u, &u->edit[i]);
    for (uint64_t i = 0; i < u->edits; i++)
        for (uint64_t k = u->edit[i].leaves; k < u->edit[i].members; k++)
            copse_leaf_give(index->ctx, &tree->pool, u->edit[i].leaf[k]);
    tree->entries = u->entries_after;
    if (copse_leaf_pool_sparse(&tree->pool))
        copse_leaf_pool_compact(index->ctx, &tree->pool, tree->table.leaf, tree->table.slots);
}

/* --- the whole ---------------------------------------------------------------------------------------------------- */

static copse_status regular_update(copse_index *index, const copse_batch *batch, merge_kind kind)
{
    copse_regular *tree = index->tree;
    const copse_ctx *ctx = index->ctx;
    update_plan u = {.batch = batch, .kind = kind, .threads = copse_threads_for(ctx, batch->n)};
    u.segment_room = index->duplicates || batch->n > tree->leaves ? tree->leaves : batch->n;
    u.segment = copse_memory_alloc(ctx, u.segment_room * sizeof *u.segment);
    if (!u.segment) return copse_fail_memory(ctx, u.segment_room * sizeof *u.segment, "planning the update");
    if (kind == MERGE_GROUPS)
        route_groups(tree, &u);
    else
        update_route(index, tree, &u);
    update_count(ctx, tree, &u);
    u.entries_after = tree->entries;
    for (uint64_t i = 0; i < u.segments; i++)
        u.entries_after += u.segment[i].count - tree->table.count[u.segment[i].slot];
    const char *what = kind == MERGE_ERASE                           ? "erasing"
                       : kind == MERGE_MIXED || kind == MERGE_GROUPS ? "applying"
                                                                     : "inserting";
    copse_status status = copse_progress(ctx, what, batch->n, batch->n);
    if (status == COPSE_OK && u.entries_after) status = update_reserve(index, tree, &u);
    if (status == COPSE_OK && u.entries_after) update_apply(index, tree, &u);
    if (status == COPSE_OK && !u.entries_after) copse_regular_clear(ctx, tree);
    update_release(index, tree, &u, status != COPSE_OK);
    return status;
}

static copse_status regular_insert(copse_index *index, const copse_batch *batch, uint32_t flags, uint64_t *out_inserted)
{
    copse_regular *tree = index->tree;
    uint64_t before = tree->entries;
    copse_status status =
        before ? regular_update(index, batch, merge_kind_of(index, flags)) : regular_build(index, batch);
    if (status == COPSE_OK) *out_inserted = ((copse_regular *)index->tree)->entries - before;
    return status;
}

static copse_status regular_erase(copse_index *index, const copse_batch *batch, uint64_t *out_erased)
{
    copse_regular *tree = index->tree;
    uint64_t before = tree->entries;
    if (!before) return COPSE_OK;
    copse_status status = regular_update(index, batch, MERGE_ERASE);
    if (status == COPSE_OK) *out_erased = before - tree->entries;
    return status;
}

static copse_status regular_apply(copse_index *index, const copse_batch *batch)
{
    const copse_regular *tree = index->tree;
    return tree->entries ? regular_update(index, batch, merge_kind_of_apply(batch)) : regular_build(index, batch);
}
