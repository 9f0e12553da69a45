/* Updates, the second step: leaves that become more or fewer. */
#pragma once

#include "trees/regular/cpu/update_count.h"

/* Collects up to three neighbours of the page from change s on, of changes up to `end`; returns how many of them they took. */
static uint64_t edit_collect(const update_plan *u, const leaf_page *page, leaf_change *s, const leaf_change *end,
                             leaf_edit *e)
{
    leaf_change *at = s;
    *e = (leaf_edit){.slot = s->slot};
    for (uint32_t slot = slot_at(s->slot); e->members < EDIT_MEMBERS && slot < page->used; slot++) {
        const uint32_t m = e->members++;
        const bool touched = at < end && at->n && slot_at(at->slot) == slot;
        if (touched && !at->counted) leaf_recount(u, page, at);
        e->leaf[m] = page->leaf[slot];
        e->count[m] = (uint8_t)page_count(page, slot);
        e->first[m] = touched ? at->first : 0;
        e->n[m] = touched ? at->n : 0;
        e->total += touched ? at->count : e->count[m];
        at += touched;
    }
    return (uint64_t)(at - s);
}

/* How many leaves an even edit comes out as. Sharing with neighbours before splitting keeps leaves fuller than halving. */
static uint64_t edit_leaves(const leaf_edit *e)
{
    if (e->total <= (uint64_t)e->members * (LEAF_CAPACITY - UNIT_ENTRIES)) return e->members;
    return (e->total + LEAF_EDIT_FILL - 1) / LEAF_EDIT_FILL;
}

/* Packed edits: entries of the leaf in front of the run and of the run, and the leaves that they fill. */
static inline uint64_t edit_left(const leaf_edit *e)
{
    return e->run_at + e->n[0];
}

static inline uint64_t edit_left_leaves(const leaf_edit *e)
{
    return (edit_left(e) + LEAF_BULK_FILL - 1) / LEAF_BULK_FILL;
}

/* Entries of the first k leaves of an edit. A run in front of all that a leaf has leaves its gap in front, where more of its
 * kind will come; every other leaves it behind. */
static uint64_t edit_until(const leaf_edit *e, uint64_t k)
{
    if (!e->packed) return e->total * k / e->leaves;
    const uint64_t left = edit_left(e), leaves = edit_left_leaves(e);
    if (k > leaves) return e->total;
    if (k == 0 || k == leaves) return k ? left : 0;
    if (e->run_at == 0) return left - (leaves - k) * LEAF_BULK_FILL;
    /* What stood in front of the run stays in the first leaf. */
    uint64_t until = k * LEAF_BULK_FILL;
    return until < e->run_at ? e->run_at : until;
}

/* The member whose own leaf is leaf k of the edit; EDIT_MEMBERS: it is a new one. */
static inline uint32_t edit_own(const leaf_edit *e, uint64_t k)
{
    if (e->packed) return k == (e->run_at ? 0 : e->leaves - 1) ? 0 : EDIT_MEMBERS;
    return k < e->members ? (uint32_t)k : EDIT_MEMBERS;
}

/* A run that overflows its leaf is packed where it says that more will follow: it has several keys, or stands at an end. */
static bool leaf_packs(const leaf_change *s, uint32_t before)
{
    return s->run && (s->n > 1 || s->run_at == 0 || s->run_at == before);
}

/* Entries of a leaf of the page as they will be; *s goes to its change. */
static uint32_t leaf_after(const leaf_page *page, uint32_t slot, const leaf_change **s, const leaf_change *end)
{
    while (*s < end && (*s)->n && slot_at((*s)->slot) < slot) ++*s;
    return *s < end && (*s)->n && slot_at((*s)->slot) == slot ? (uint32_t)(*s)->count : page_count(page, slot);
}

/* Whether a leaf of which entries are taken has to go, or is to join a neighbour. Leaves from `floor` on are free to. */
static bool leaf_joins(const leaf_page *page, const leaf_change *s, const leaf_change *end, uint32_t floor)
{
    const uint32_t slot = slot_at(s->slot);
    const leaf_change *at = s;
    if (s->count >= page_count(page, slot) || s->count > LEAF_SPARSE) return false;
    if (s->count == 0) return true;
    if (slot > floor && s->count + page_count(page, slot - 1) <= LEAF_SPARSE) return true;
    return slot + 1u < page->used && s->count + leaf_after(page, slot + 1, &at, end) <= LEAF_SPARSE;
}

/* The leaf of a change and all its neighbours that fit one leaf together. Returns how many changes they took; 0: it stays alone. */
static uint64_t edit_join(const leaf_page *page, const leaf_change *s, const leaf_change *end, uint32_t floor,
                          leaf_edit *e)
{
    const leaf_change *at = s;
    uint32_t first = slot_at(s->slot), last = first + 1, held = s->count != 0, count;
    uint64_t total = s->count;
    for (; first > floor && total + (count = page_count(page, first - 1)) <= LEAF_JOIN_FILL; first--, held++)
        total += count;
    for (; last < page->used && total + (count = leaf_after(page, last, &at, end)) <= LEAF_JOIN_FILL; last++) {
        total += count;
        held += count != 0;
    }
    at = s;
    /* One that has entries need not be copied because of empty neighbours. */
    if (held == 1 && first < slot_at(s->slot)) {
        first++;
        total = 0;
    } else if (held == 1 && leaf_after(page, last - 1, &at, end)) {
        last--;
        total = 0;
    }
    if (first == last) return 0;
    *e =
        (leaf_edit){.slot = s->slot - slot_at(s->slot) + first, .members = last - first, .joins = true, .total = total};
    e->leaf[0] = page->leaf[first];
    e->leaves = total != 0;
    for (at = s; at < end && at->n && slot_at(at->slot) < last;) at++;
    return (uint64_t)(at - s);
}

/* Turns a change that does not fit its leaf into an edit. Returns how many changes it took; 0: no edit is needed. */
static uint64_t edit_plan(const update_plan *u, const leaf_page *page, leaf_change *s, const leaf_change *end,
                          uint32_t floor, leaf_edit *e)
{
    if (s->count <= LEAF_CAPACITY)
        return kind_erases(u->kind) && leaf_joins(page, s, end, floor) ? edit_join(page, s, end, floor, e) : 0;
    const uint32_t before = page_count(page, slot_at(s->slot));
    if (leaf_packs(s, before)) {
        *e = (leaf_edit){.slot = s->slot, .members = 1, .packed = true, .run_at = s->run_at, .total = s->count};
        e->leaf[0] = page->leaf[slot_at(s->slot)];
        e->count[0] = (uint8_t)before;
        e->first[0] = s->first;
        e->n[0] = s->n;
        e->leaves = edit_left_leaves(e) + (s->run_at < before);
        return 1;
    }
    const uint64_t took = edit_collect(u, page, s, end, e);
    e->leaves = edit_leaves(e);
    return took;
}
