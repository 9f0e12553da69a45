/* Updates, the fourth step: leaves are written. */
#pragma once

#include "trees/regular/cpu/update_count.h"
#include "trees/regular/cpu/update_cut.h"
#include "trees/regular/cpu/update_edit.h"

static void apply_values(char *leaf, uint32_t count, const copse_pair *pairs, uint64_t n)
{
    copse_unit *units = leaf_units(leaf);
    uint64_t at = 0;
    for (uint64_t i = 0; i < n; i++) {
        at = merge_seek(units, at, count, pairs[i].key);
        units[at / UNIT_ENTRIES].values[at % UNIT_ENTRIES] = pairs[i].value;
    }
}

/* The entries of the leaf in a slot, with its change, NULL: none, to the sink. A leaf that loses all is not read. */
static void put_leaf(const copse_page_directory *table, const update_plan *u, uint64_t slot, const leaf_change *s,
                     const copse_unit *units, merge_sink *sink)
{
    const uint32_t count = slot_count(table, slot);
    if (s && s->count == 0) return;
    if (s && u->stretch)
        cut_write(table, u, s, units, count, sink);
    else
        merge_write(units, 0, count, s ? merge_slice_of(u->batch, s->first, s->n) : (merge_slice){0},
                    s ? u->kind : MERGE_UPSERT, sink);
}

/* A leaf that stays on its own. What adds entries is merged in place, from the back; the rest from a copy. */
static void apply_leaf(copse_regular *tree, const update_plan *u, const leaf_change *s)
{
    char *leaf = slot_leaf(&tree->table, s->slot);
    const uint32_t before = slot_count(&tree->table, s->slot);
    const copse_pair *pairs = u->stretch ? NULL : (const copse_pair *)u->batch->pairs + s->first;
    if (s->count == before && u->kind == MERGE_ERASE) {
        return;
    } else if (s->values_only) {
        apply_values(leaf, before, pairs, s->n);
    } else if (!kind_erases(u->kind)) {
        leaf_merge(leaf, before, (uint32_t)s->count, pairs, s->n, u->kind);
    } else {
        copse_unit copy[COPSE_LEAF_UNITS];
        memcpy(copy, leaf + 64, sizeof copy);
        merge_sink sink = {.at = {leaf_units(leaf), 0}, .room = s->count};
        put_leaf(&tree->table, u, s->slot, s, copy, &sink);
        leaf_seal(leaf, (uint32_t)s->count);
    }
}

static void put_pairs(copse_unit *units, uint32_t at, const copse_pair *pairs, uint64_t n)
{
    unit_cursor to = cursor_at(units, at);
    for (uint64_t i = 0; i < n; i++, cursor_next(&to)) {
        to.unit->keys[to.slot] = pairs[i].key;
        to.unit->values[to.slot] = pairs[i].value;
    }
}

static inline char *edit_leaf(const update_plan *u, const leaf_edit *e, uint64_t k)
{
    return (char *)u->out_units[e->out + k] - 64;
}

/* A packed edit: what stands behind the run moves to a leaf of its own, and the first leaf gets the beginning of the run. The
 * other leaves have nothing but the run: apply_runs. */
static void apply_packed(const update_plan *u, const leaf_edit *e)
{
    copse_unit *own = leaf_units(e->leaf[0]);
    if (e->run_at == 0) return;
    if (e->run_at < e->count[0]) {
        copse_unit *last = u->out_units[e->out + e->leaves - 1];
        merge_sink sink = {.at = {last, 0}, .room = e->count[0] - e->run_at};
        merge_write(own, e->run_at, e->count[0], (merge_slice){0}, MERGE_UPSERT, &sink);
        leaf_seal((char *)last - 64, e->count[0] - e->run_at);
    }
    const uint32_t fill = u->out_fill[e->out];
    put_pairs(own, e->run_at, (const copse_pair *)u->batch->pairs + e->first[0], fill - e->run_at);
    leaf_seal(e->leaf[0], fill);
}

/* The members of an edit that joins, into the first of their leaves. */
static void apply_join(const copse_regular *tree, const update_plan *u, const leaf_edit *e)
{
    _Alignas(64) char made[COPSE_LEAF_BYTES];
    merge_sink sink = {.at = {leaf_units(made), 0}, .room = e->total};
    const leaf_change *s = u->leaf_change + e->leaf_change, *end = u->leaf_change + u->leaf_changes;
    for (uint64_t slot = e->slot; slot < e->slot + e->members; slot++) {
        const bool touched = s < end && s->n && s->slot == slot;
        put_leaf(&tree->table, u, slot, touched ? s : NULL, leaf_units(slot_leaf(&tree->table, slot)), &sink);
        s += touched;
    }
    leaf_seal(made, (uint32_t)e->total);
    memcpy(e->leaf[0], made, sizeof made);
}

/* Merges the members of an edit, from copies, into its leaves. */
static void apply_edit(const copse_regular *tree, const update_plan *u, const leaf_edit *e)
{
    copse_unit copy[EDIT_MEMBERS][COPSE_LEAF_UNITS];
    if (e->leaves == 0) return;
    if (e->joins) {
        apply_join(tree, u, e);
        return;
    }
    if (e->packed) {
        apply_packed(u, e);
        return;
    }
    for (uint32_t m = 0; m < e->members; m++) memcpy(copy[m], e->leaf[m] + 64, sizeof copy[m]);
    merge_sink sink = {.next = u->out_units + e->out, .fill = u->out_fill + e->out};
    for (uint32_t m = 0; m < e->members; m++)
        merge_write(copy[m], 0, e->count[m], merge_slice_of(u->batch, e->first[m], e->n[m]), u->kind, &sink);
    for (uint64_t k = 0; k < e->leaves; k++) leaf_seal(edit_leaf(u, e, k), u->out_fill[e->out + k]);
}

/* Changes of leaves, and behind them edits. Those are more work each, but a change that an edit took is none. */
static void apply_leaves(void *argument, uint64_t first, uint64_t last)
{
    const update_job *job = argument;
    const update_plan *u = job->u;
    const uint64_t end = last < u->leaf_changes ? last : u->leaf_changes;
    uint64_t fewer = 0; /* entries than the plan thought possible */
    for (uint64_t i = first; i < end; i++) {
        leaf_change *s = &u->leaf_change[i];
        if (i + LEAVES_AHEAD < end) leaf_fetch(&job->tree->table, s + LEAVES_AHEAD);
        if (s->n == 0 || s->in_edit) continue;
        const uint64_t most = s->count;
        if (!s->counted) leaf_recount(u, slot_page(&job->tree->table, s->slot), s);
        fewer += most - s->count;
        apply_leaf(job->tree, u, s);
    }
    if (fewer) __atomic_fetch_sub(&job->u->entries_after, fewer, __ATOMIC_RELAXED);
    for (uint64_t i = first > u->leaf_changes ? first : u->leaf_changes; i < last; i++)
        apply_edit(job->tree, u, &u->edit[i - u->leaf_changes]);
}

/* The edit that writes leaf `out` of the update's list. */
static const leaf_edit *edit_of(const update_plan *u, uint64_t out)
{
    uint64_t low = 0, high = u->edits;
    while (high - low > 1) {
        uint64_t middle = low + (high - low) / 2;
        if (u->edit[middle].out <= out)
            low = middle;
        else
            high = middle;
    }
    return u->edit + low;
}

/* Leaves first .. last of the update's list, those of them that only have entries of a run. */
static void apply_runs(void *argument, uint64_t first, uint64_t last)
{
    const update_job *job = argument;
    const update_plan *u = job->u;
    const leaf_edit *e = edit_of(u, first);
    for (uint64_t out = first; out < last; out++) {
        while (out >= e->out + e->leaves) e++;
        const uint64_t k = out - e->out;
        if (!e->packed || (k == 0 && e->run_at) || k >= edit_left_leaves(e)) continue;
        const copse_pair *run = (const copse_pair *)u->batch->pairs + e->first[0];
        put_pairs(u->out_units[out], 0, run + edit_until(e, k) - e->run_at, u->out_fill[out]);
        leaf_seal(edit_leaf(u, e, k), u->out_fill[out]);
    }
}
