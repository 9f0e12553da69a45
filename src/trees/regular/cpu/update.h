/*
 * Batch updates of the regular tree.
 *
 *   route    cut the sorted batch by page, one part each, and the parts by leaf, one segment each
 *   plan     count, per segment, what the leaf will hold; where that is too much or too little, make an edit of up to
 *            three neighbouring leaves of the page that come out as more or fewer leaves; then the same for pages
 *   reserve  take every leaf, page and directory that the plan needs: the last step that can fail
 *   apply    merge, leaf by leaf, then page by page, on all threads; then bring the directory up to date
 *
 * Parts do not depend on each other, so each of these steps runs on all threads, too.
 */
#pragma once

#include "trees/regular/cpu/build.h"
#include "trees/regular/cpu/table.h"
#include "trees/regular/cpu/tree.h"
#include "trees/regular/cpu/update_one.h"
#include "core/threads.h"
#include "cpu/merge.h"

#include <string.h>

typedef struct leaf_segment {
    uint64_t slot;
    uint64_t first, n; /* of the batch; n == 0: no segment */
    uint64_t count;    /* entries afterwards */
    bool values_only;  /* every key is there already */
    bool run;          /* all keys are new and lie between two neighbours of the leaf, */
    uint8_t run_at;    /* and these are the entries in front of them */
    bool in_edit;
} leaf_segment;

enum { EDIT_MEMBERS = 3 };

/* Leaves of one page that become other leaves. An even edit merges its members with the batch and shares the result equally. A
 * packed one has one member, into which a run falls: the leaf is cut there, and the run fills leaves of its own behind what stood
 * in front of it. So keys that come in order leave full leaves behind, wherever in the tree that happens. */
typedef struct leaf_edit {
    uint64_t slot; /* of the first member */
    uint32_t members;
    uint8_t count[EDIT_MEMBERS];
    bool packed;
    uint8_t run_at;
    char *leaf[EDIT_MEMBERS];
    uint64_t first[EDIT_MEMBERS], n[EDIT_MEMBERS]; /* of the batch */
    uint64_t total;                                /* entries afterwards */
    uint64_t out;                                  /* position of its first leaf in the update's list */
    uint64_t leaves;
} leaf_edit;

/* What an update does to one page. */
typedef struct page_part {
    uint64_t page;
    uint64_t first, n; /* of the batch, where routes are cut by page */
    uint64_t segment, segments;
    uint64_t edit, edits;
    uint64_t out, outs; /* leaves that the edits write */
    uint64_t leaves;    /* of the page afterwards */
    uint64_t entries;   /* afterwards */
    uint64_t members;   /* pages that become others, this one first; 0: another part has taken it */
    uint64_t page_out, page_outs;
    bool packed;
} page_part;

typedef struct update_plan {
    const copse_batch *batch;
    merge_kind kind;
    uint32_t threads;
    page_part *part;
    uint64_t parts, part_room;
    leaf_segment *segment;
    uint64_t segments, segment_room;
    leaf_edit *edit;
    uint64_t edits, edit_room;
    copse_unit **out_units; /* all leaves that edits write */
    uint8_t *out_fill;
    uint64_t outs, out_room;
    char **out_page; /* all pages that parts write, their own first */
    uint64_t page_outs, page_out_room;
    uint64_t taken, pages_taken; /* leaves and pages of the lists above that are filled in */
    uint64_t entries_after, leaves_after, pages_after;
    uint64_t first_moved; /* page from which on pages change their places; as many as there are: none does */
    char **old_page;      /* room for the pages from there on */
    uint64_t old_room;
    bool new_table;
    copse_page_directory table;
} update_plan;

typedef struct update_job {
    const copse_index *index;
    copse_regular *tree;
    update_plan *u;
    bool write;
} update_job;

static inline bool kind_erases(merge_kind kind)
{
    return kind == MERGE_ERASE || kind == MERGE_MIXED || kind == MERGE_GROUPS;
}

/* --- route -------------------------------------------------------------------------------------------------------- */

static inline KEY table_first_key(const copse_page_directory *table, uint64_t slot)
{
    return leaf_units(slot_leaf(table, slot))[0].keys[0];
}

/* First pair from `at` on with a key greater than `limit`, n where there is none. It gallops. */
static uint64_t pair_seek(const copse_pair *pairs, uint64_t at, uint64_t n, KEY limit)
{
    uint64_t step = 1;
    while (at + step <= n && pairs[at + step - 1].key <= limit) {
        at += step;
        step *= 2;
    }
    uint64_t high = at + step - 1 < n ? at + step - 1 : n;
    while (at < high) {
        uint64_t middle = at + (high - at) / 2;
        if (pairs[middle].key <= limit)
            at = middle + 1;
        else
            high = middle;
    }
    return at;
}

/* With duplicates a new entry goes behind its equals: into the last leaf that holds the key. */
static uint64_t route_behind_equals(const copse_page_directory *table, uint64_t slot, KEY key)
{
    while (slot_fence(table, slot) == key) {
        uint64_t next = table_next(table, slot);
        if (next == table_end(table) || table_first_key(table, next) != key) break;
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
    const copse_page_directory *table = &tree->table;
    const copse_pair *pairs = u->batch->pairs;
    const uint8_t *does = u->batch->does;
    uint64_t n = u->batch->n, slot = 0, end;
    for (uint64_t i = 0; i < n; i = end) {
        const KEY key = pairs[i].key;
        for (end = i + 1; end < n && pairs[end].key == key;) end++;
        slot = table_seek(table, slot, key);
        if (does[end - 1] == COPSE_GROUP_TAKE) {
            route_put(u, slot, i, end - i);
            for (uint64_t next; slot_fence(table, slot) == key; slot = next) {
                next = table_next(table, slot);
                if (next == table_end(table) || table_first_key(table, next) != key) break;
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

/* New entries behind their equals: keys equal to a fence are routed on their own, as they may belong further right. */
static void route_appended(const copse_regular *tree, update_plan *u)
{
    const copse_page_directory *table = &tree->table;
    const copse_pair *pairs = u->batch->pairs;
    uint64_t n = u->batch->n, slot = 0, end;
    for (uint64_t i = 0; i < n; i = end) {
        const KEY key = pairs[i].key;
        slot = route_behind_equals(table, table_seek(table, slot, key), key);
        const KEY fence = slot_fence(table, slot);
        end = pair_seek(pairs, i, n, fence > key ? fence - 1 : key);
        route_put(u, slot, i, end - i);
    }
}

/* Erased keys of which equals may go on in the leaves to the right. */
static void route_erased(const copse_regular *tree, update_plan *u)
{
    const copse_page_directory *table = &tree->table;
    const copse_pair *pairs = u->batch->pairs;
    uint64_t n = u->batch->n, slot = 0, end;
    for (uint64_t i = 0; i < n; i = end) {
        slot = table_seek(table, slot, pairs[i].key);
        end = pair_seek(pairs, i, n, slot_fence(table, slot));
        route_put(u, slot, i, end - i);
        while (slot_fence(table, slot) == pairs[end - 1].key) {
            uint64_t next = table_next(table, slot), from = end - 1;
            if (next == table_end(table) || table_first_key(table, next) != pairs[from].key) break;
            slot = next;
            end = pair_seek(pairs, end, n, slot_fence(table, slot));
            u->segment[u->segments++] = (leaf_segment){.slot = slot, .first = from, .n = end - from};
        }
    }
}

/* Groups the segments of a route over the whole tree by page. */
static void parts_of_segments(update_plan *u)
{
    for (uint64_t i = 0; i < u->segments; i++) {
        const uint64_t page = u->segment[i].slot >> COPSE_PAGE_SHIFT;
        if (!u->parts || u->part[u->parts - 1].page != page)
            u->part[u->parts++] = (page_part){.page = page, .segment = i};
        u->part[u->parts - 1].segments++;
    }
}

/* Cuts the batch by page. Each part gets room for as many segments as it can have. */
static void parts_of_batch(const copse_regular *tree, update_plan *u)
{
    const copse_page_directory *table = &tree->table;
    const copse_pair *pairs = u->batch->pairs;
    uint64_t page = 0, end;
    for (uint64_t i = 0; i < u->batch->n; i = end, page++) {
        page = fence_seek(table_fence(table), page, table->pages, pairs[i].key);
        end = pair_seek(pairs, i, u->batch->n, table_fence(table)[page]);
        const uint64_t used = table_page(table, page)->used, most = end - i < used ? end - i : used;
        u->part[u->parts++] =
            (page_part){.page = page, .first = i, .n = end - i, .segment = u->segments, .segments = most};
        u->segments += most;
    }
}

/* Cuts parts by leaf. */
static void route_parts(void *argument, uint64_t first, uint64_t last)
{
    const update_job *job = argument;
    const update_plan *u = job->u;
    const copse_pair *pairs = u->batch->pairs;
    for (const page_part *p = u->part + first; p < u->part + last; p++) {
        const leaf_page *page = table_page(&job->tree->table, p->page);
        leaf_segment *to = u->segment + p->segment, *room = to + p->segments;
        uint64_t at = 0, end = p->first + p->n, next;
        for (uint64_t i = p->first; i < end; i = next, at++) {
            at = fence_seek(page->fence, at, page->used, pairs[i].key);
            next = pair_seek(pairs, i, end, page->fence[at]);
            *to++ = (leaf_segment){.slot = slot_of(p->page, at), .first = i, .n = next - i};
        }
        for (; to < room; to++) to->n = 0;
    }
}

static void update_route(const copse_index *index, copse_regular *tree, update_plan *u)
{
    update_job job = {index, tree, u, false};
    if (u->kind == MERGE_GROUPS)
        route_groups(tree, u);
    else if (u->kind == MERGE_APPEND)
        route_appended(tree, u);
    else if (u->kind == MERGE_ERASE && index->duplicates)
        route_erased(tree, u);
    if (u->segments) {
        parts_of_segments(u);
        return;
    }
    parts_of_batch(tree, u);
    copse_parallel(index->ctx, u->threads, u->parts, copse_even_chunk(u->parts, u->threads), route_parts, &job);
}

/* --- plan --------------------------------------------------------------------------------------------------------- */

/* Where the keys of a segment that adds entries lie in the leaf: is it one run? */
static void segment_run(const update_plan *u, leaf_segment *s, const copse_unit *units, uint32_t before)
{
    const copse_pair *pairs = (const copse_pair *)u->batch->pairs + s->first;
    const bool behind = u->kind == MERGE_APPEND;
    const KEY low = pairs[0].key, high = pairs[s->n - 1].key;
    uint64_t from = merge_seek(units, 0, before, low), to = from;
    if (behind && from < before && unit_key(units, from) == low) /* behind its equals */
        from = to = low == KEY_MAX ? before : merge_seek(units, from, before, low + 1);
    if (to < before && unit_key(units, to) <= high)
        to = high == KEY_MAX ? before : merge_seek(units, to, before, high + 1);
    s->run = from == to;
    s->run_at = (uint8_t)to;
}

/* While one segment is counted, the leaf of the one so many later is asked for. */
#define SEGMENTS_AHEAD 6

static inline void segment_fetch(const copse_page_directory *table, const leaf_segment *s)
{
    if (s->n == 0) return;
    const char *leaf = slot_leaf(table, s->slot);
    for (uint32_t line = 0; line <= COPSE_LEAF_UNITS; line++) __builtin_prefetch(leaf + (size_t)line * 64, 1, 2);
}

static void count_segments(void *argument, uint64_t first, uint64_t last)
{
    const update_job *job = argument;
    const update_plan *u = job->u;
    const merge_kind kind = u->kind;
    for (leaf_segment *s = u->segment + first, *end = u->segment + last; s < end; s++) {
        if (end - s > SEGMENTS_AHEAD) segment_fetch(&job->tree->table, s + SEGMENTS_AHEAD);
        if (s->n == 0) continue;
        const leaf_page *page = slot_page(&job->tree->table, s->slot);
        const uint32_t before = page_count(page, slot_at(s->slot));
        const copse_unit *units = leaf_units(page->leaf[slot_at(s->slot)]);
        uint64_t fresh = s->n;
        s->run = s->in_edit = s->values_only = false;
        if (!kind_erases(kind)) segment_run(u, s, units, before);
        if (s->run) {
            s->count = before + s->n;
            continue;
        }
        s->count = merge_count(units, 0, before, merge_slice_of(u->batch, s->first, s->n), kind, &fresh);
        s->values_only =
            (kind == MERGE_UPSERT || kind == MERGE_MIXED || kind == MERGE_GROUPS) && fresh == 0 && s->count == before;
    }
}

static void update_count(const copse_index *index, copse_regular *tree, update_plan *u)
{
    update_job job = {index, tree, u, false};
    copse_parallel(index->ctx, u->threads, u->segments, copse_even_chunk(u->segments, u->threads), count_segments,
                   &job);
}

/* Collects up to three neighbours of the page from segment s on, of segments up to `end`; returns how many of them they took. */
static uint64_t edit_collect(const leaf_page *page, const leaf_segment *s, const leaf_segment *end, leaf_edit *e)
{
    const leaf_segment *at = s;
    *e = (leaf_edit){.slot = s->slot};
    for (uint32_t slot = slot_at(s->slot); e->members < EDIT_MEMBERS && slot < page->used; slot++) {
        const uint32_t m = e->members++;
        const bool touched = at < end && at->n && slot_at(at->slot) == slot;
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
static uint64_t edit_leaves(const leaf_edit *e, bool overflow)
{
    if (overflow && e->total <= (uint64_t)e->members * (LEAF_CAPACITY - UNIT_ENTRIES)) return e->members;
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
static bool segment_packs(const leaf_segment *s, uint32_t before)
{
    return s->run && (s->n > 1 || s->run_at == 0 || s->run_at == before);
}

/* Turns a segment that does not fit its leaf into an edit. Returns how many segments it took; 0: no edit is needed. */
static uint64_t edit_plan(const update_plan *u, const leaf_page *page, const leaf_segment *s, const leaf_segment *end,
                          leaf_edit *e)
{
    const bool overflow = s->count > LEAF_CAPACITY, sparse = kind_erases(u->kind) && s->count < LEAF_SPARSE;
    if (!overflow && !sparse) return 0;
    const uint32_t before = page_count(page, slot_at(s->slot));
    if (overflow && segment_packs(s, before)) {
        *e = (leaf_edit){.slot = s->slot, .members = 1, .packed = true, .run_at = s->run_at, .total = s->count};
        e->leaf[0] = page->leaf[slot_at(s->slot)];
        e->count[0] = (uint8_t)before;
        e->first[0] = s->first;
        e->n[0] = s->n;
        e->leaves = edit_left_leaves(e) + (s->run_at < before);
        return 1;
    }
    const uint64_t took = edit_collect(page, s, end, e);
    e->leaves = edit_leaves(e, overflow);
    /* Nothing to join: a leaf that stays is merged on its own, one that empties goes on its own. */
    return !overflow && e->leaves >= e->members && s->count > 0 ? 0 : took;
}

/* Plans the edits of parts: first counts them, then, with `write`, fills the update's list. */
static void plan_parts(void *argument, uint64_t first, uint64_t last)
{
    const update_job *job = argument;
    const update_plan *u = job->u;
    for (page_part *p = u->part + first; p < u->part + last; p++) {
        const leaf_page *page = table_page(&job->tree->table, p->page);
        leaf_segment *s = u->segment + p->segment, *end = s + p->segments;
        uint64_t edits = 0, outs = 0, leaves = page->used, entries = page->ahead[page->used];
        while (s < end && s->n) {
            leaf_edit e;
            const uint64_t took = edit_plan(u, page, s, end, &e);
            if (took) {
                e.out = p->out + outs;
                outs += e.leaves;
                leaves += e.leaves - e.members;
                p->packed = e.packed && e.run_at == e.count[0] && slot_at(s->slot) + 1u == page->used;
                if (job->write) u->edit[p->edit + edits] = e;
                edits++;
            }
            for (uint64_t k = 0; k < (took ? took : 1); k++, s++) {
                entries += s->count - page_count(page, slot_at(s->slot));
                s->in_edit = took != 0;
            }
        }
        if (job->write) continue;
        p->edits = edits;
        p->outs = outs;
        p->leaves = leaves;
        p->entries = entries;
    }
}

static void update_plan_parts(const copse_index *index, copse_regular *tree, update_plan *u, bool write)
{
    update_job job = {index, tree, u, write};
    copse_parallel(index->ctx, u->threads, u->parts, copse_even_chunk(u->parts, u->threads), plan_parts, &job);
}

/* Leaves of the page behind part p as they will be. */
static uint64_t plan_next_leaves(const copse_regular *tree, const update_plan *u, uint64_t page, const page_part *next)
{
    return next < u->part + u->parts && next->page == page ? next->leaves : table_page(&tree->table, page)->used;
}

/* A page that gets sparse takes the ones behind it, as long as they fit. */
static void plan_join(const copse_regular *tree, const update_plan *u, page_part *p)
{
    page_part *next = p + 1;
    for (uint64_t page = p->page + 1; page < tree->table.pages; page++) {
        const uint64_t leaves = plan_next_leaves(tree, u, page, next);
        if (p->leaves + leaves > PAGE_SLOTS / 4 * 3) return;
        p->leaves += leaves;
        p->members++;
        if (next < u->part + u->parts && next->page == page) (next++)->members = 0;
    }
}

/* Where each part's edits, leaves and pages stand in the lists. */
static void plan_pages(const copse_regular *tree, update_plan *u)
{
    const bool erases = kind_erases(u->kind);
    u->edits = u->outs = u->page_outs = 0;
    u->leaves_after = tree->leaves;
    u->entries_after = tree->entries;
    u->pages_after = u->first_moved = tree->table.pages;
    for (page_part *p = u->part; p < u->part + u->parts; p++) p->members = 1;
    for (page_part *p = u->part; p < u->part + u->parts; p++) {
        const leaf_page *page = table_page(&tree->table, p->page);
        p->edit = u->edits;
        p->out = u->outs;
        u->edits += p->edits;
        u->outs += p->outs;
        u->leaves_after += p->leaves - page->used;
        u->entries_after += p->entries - page->ahead[page->used];
        if (!p->members) continue;
        if (erases && p->leaves < PAGE_SPARSE) plan_join(tree, u, p);
        p->page_outs = p->leaves <= PAGE_SLOTS ? p->leaves != 0 : (p->leaves + PAGE_FILL - 1) / PAGE_FILL;
        p->page_out = u->page_outs;
        u->page_outs += p->page_outs;
        u->pages_after += p->page_outs - p->members;
        if (p->page_outs != p->members && p->page < u->first_moved) u->first_moved = p->page;
    }
}

/* --- reserve ------------------------------------------------------------------------------------------------------ */

/* A new page, and room for its values where there is a summary. */
static char *page_take(const copse_ctx *ctx, copse_regular *tree)
{
    leaf_page *page = (leaf_page *)copse_leaf_take(ctx, &tree->page_pool);
    if (page) page->mark = COPSE_PAGE_UNMARKED;
    if (!page || !tree->has_summary) return (char *)page;
    page->values = (page_values *)copse_leaf_take(ctx, &tree->value_pool);
    if (page->values) return (char *)page;
    copse_leaf_give(ctx, &tree->page_pool, (char *)page);
    return NULL;
}

static void page_give(const copse_ctx *ctx, copse_regular *tree, char *page)
{
    if (tree->has_summary) copse_leaf_give(ctx, &tree->value_pool, (char *)((leaf_page *)page)->values);
    copse_leaf_give(ctx, &tree->page_pool, page);
}

static void update_release(const copse_index *index, copse_regular *tree, update_plan *u, bool failed)
{
    const copse_ctx *ctx = index->ctx;
    for (uint64_t i = 0; failed && u->taken && i < u->edits; i++) {
        const leaf_edit *e = &u->edit[i];
        for (uint64_t k = 0; k < e->leaves && e->out + k < u->taken; k++)
            if (edit_own(e, k) == EDIT_MEMBERS)
                copse_leaf_give(ctx, &tree->pool, (char *)u->out_units[e->out + k] - 64);
    }
    for (uint64_t i = 0; failed && u->pages_taken && i < u->parts; i++) {
        const page_part *p = &u->part[i];
        for (uint64_t k = p->members; k < p->page_outs && p->page_out + k < u->pages_taken; k++)
            page_give(ctx, tree, u->out_page[p->page_out + k]);
    }
    if (failed && u->new_table) copse_memory_free(ctx, u->table.memory, u->table.bytes);
    copse_memory_free(ctx, u->part, u->part_room * sizeof *u->part);
    copse_memory_free(ctx, u->segment, u->segment_room * sizeof *u->segment);
    copse_memory_free(ctx, u->edit, u->edit_room * sizeof *u->edit);
    copse_memory_free(ctx, u->out_units, u->out_room * sizeof *u->out_units);
    copse_memory_free(ctx, u->out_fill, u->out_room);
    copse_memory_free(ctx, u->out_page, u->page_out_room * sizeof *u->out_page);
    copse_memory_free(ctx, u->old_page, u->old_room * sizeof *u->old_page);
}

/* Leaves for the edits. */
static bool update_take_leaves(const copse_ctx *ctx, copse_regular *tree, update_plan *u)
{
    for (uint64_t i = 0; i < u->edits; i++) {
        const leaf_edit *e = &u->edit[i];
        for (uint64_t k = 0; k < e->leaves; k++) {
            const uint32_t own = edit_own(e, k);
            char *leaf = own < EDIT_MEMBERS ? e->leaf[own] : copse_leaf_take(ctx, &tree->pool);
            if (!leaf) return false;
            u->out_units[u->taken] = leaf_units(leaf);
            u->out_fill[u->taken++] = (uint8_t)(edit_until(e, k + 1) - edit_until(e, k));
        }
    }
    return true;
}

/* Pages for the parts: their own first, then new ones. */
static bool update_take_pages(const copse_ctx *ctx, copse_regular *tree, update_plan *u)
{
    for (const page_part *p = u->part; p < u->part + u->parts; p++)
        for (uint64_t k = 0; p->members && k < p->page_outs; k++) {
            char *page = k < p->members ? tree->table.page[p->page + k] : page_take(ctx, tree);
            if (!page) return false;
            u->out_page[u->pages_taken++] = page;
        }
    return true;
}

/* A new directory where the old one is too small or much too large. One that would only be smaller is not insisted on. */
static bool update_take_table(const copse_ctx *ctx, const copse_regular *tree, update_plan *u)
{
    const copse_page_directory *table = &tree->table;
    const uint64_t pages = u->pages_after;
    const bool too_small = pages > table->room, too_large = pages < table->room / 4;
    if (too_small || too_large) u->new_table = table_create(ctx, pages + pages / 4 + 1, &u->table);
    if (u->new_table) u->first_moved = 0;
    if (u->new_table || u->first_moved == table->pages) return !too_small || u->new_table;
    u->old_room = table->pages - u->first_moved;
    u->old_page = copse_memory_alloc(ctx, u->old_room * sizeof *u->old_page);
    return u->old_page && !too_small;
}

static copse_status update_reserve(const copse_index *index, copse_regular *tree, update_plan *u)
{
    const copse_ctx *ctx = index->ctx;
    if (u->edits) {
        const uint64_t edits = u->edits;
        u->edits = 0;
        u->edit_room = edits;
        u->out_room = u->outs;
        u->edit = copse_memory_alloc(ctx, u->edit_room * sizeof *u->edit);
        u->out_units = u->outs ? copse_memory_alloc(ctx, u->out_room * sizeof *u->out_units) : NULL;
        u->out_fill = u->outs ? copse_memory_alloc(ctx, u->out_room) : NULL;
        if (!u->edit || (u->outs && (!u->out_units || !u->out_fill)))
            return copse_fail_memory(ctx, u->edit_room * sizeof *u->edit, "planning the update");
        update_plan_parts(index, tree, u, true);
        u->edits = edits;
        if (!update_take_leaves(ctx, tree, u)) return copse_fail_memory(ctx, COPSE_LEAF_BYTES, "a new leaf");
    }
    if (u->page_outs) {
        u->page_out_room = u->page_outs;
        u->out_page = copse_memory_alloc(ctx, u->page_out_room * sizeof *u->out_page);
        if (!u->out_page) return copse_fail_memory(ctx, u->page_out_room * sizeof *u->out_page, "planning the update");
        if (!update_take_pages(ctx, tree, u)) return copse_fail_memory(ctx, sizeof(leaf_page), "a new page of leaves");
    }
    if (u->pages_after > UINT32_MAX >> COPSE_PAGE_SHIFT)
        return copse_fail(ctx, COPSE_ERR_UNSUPPORTED, "the regular tree would need more than %llu pages of leaves",
                          (unsigned long long)(UINT32_MAX >> COPSE_PAGE_SHIFT));
    if (!update_take_table(ctx, tree, u))
        return copse_fail_memory(ctx, u->pages_after * 64, "a larger directory of pages");
    return COPSE_OK;
}

/* --- apply to leaves ---------------------------------------------------------------------------------------------- */

static void apply_values(char *leaf, uint32_t count, const copse_pair *pairs, uint64_t n)
{
    copse_unit *units = leaf_units(leaf);
    uint64_t at = 0;
    for (uint64_t i = 0; i < n; i++) {
        at = merge_seek(units, at, count, pairs[i].key);
        units[at / UNIT_ENTRIES].values[at % UNIT_ENTRIES] = pairs[i].value;
    }
}

/* A leaf that stays on its own. What adds entries is merged in place, from the back; the rest from a copy. */
static void apply_segment(copse_regular *tree, const update_plan *u, const leaf_segment *s)
{
    char *leaf = slot_leaf(&tree->table, s->slot);
    const uint32_t before = slot_count(&tree->table, s->slot);
    const copse_pair *pairs = (const copse_pair *)u->batch->pairs + s->first;
    if (s->values_only) {
        apply_values(leaf, before, pairs, s->n);
    } else if (!kind_erases(u->kind)) {
        leaf_merge(leaf, before, (uint32_t)s->count, pairs, s->n, u->kind);
    } else {
        copse_unit copy[COPSE_LEAF_UNITS];
        memcpy(copy, leaf + 64, sizeof copy);
        merge_sink sink = {.at = {leaf_units(leaf), 0}, .room = s->count};
        merge_write(copy, 0, before, merge_slice_of(u->batch, s->first, s->n), u->kind, &sink);
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

/* Merges the members of an edit, from copies, into its leaves. */
static void apply_edit(const update_plan *u, const leaf_edit *e)
{
    copse_unit copy[EDIT_MEMBERS][COPSE_LEAF_UNITS];
    if (e->leaves == 0) return;
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

/* Segments, and behind them edits. Those are more work each, but a segment that an edit took is none. */
static void apply_leaves(void *argument, uint64_t first, uint64_t last)
{
    const update_job *job = argument;
    const update_plan *u = job->u;
    const uint64_t end = last < u->segments ? last : u->segments;
    for (uint64_t i = first; i < end; i++) {
        if (i + SEGMENTS_AHEAD < end) segment_fetch(&job->tree->table, &u->segment[i + SEGMENTS_AHEAD]);
        if (u->segment[i].n && !u->segment[i].in_edit) apply_segment(job->tree, u, &u->segment[i]);
    }
    for (uint64_t i = first > u->segments ? first : u->segments; i < last; i++)
        apply_edit(u, &u->edit[i - u->segments]);
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

/* --- apply to pages ----------------------------------------------------------------------------------------------- */

/* The last leaf of an edit takes over the fence of its last member; the others reach to where the next begins, so that keys which
 * follow those of a full leaf find one with room. */
static inline KEY edit_fence(const update_plan *u, const leaf_edit *e, uint64_t k, const leaf_page *before)
{
    if (k + 1 == e->leaves) return before->fence[slot_at(e->slot) + e->members - 1];
    const KEY last = leaf_last_key(edit_leaf(u, e, k), u->out_fill[e->out + k]);
    const KEY next = u->out_units[e->out + k + 1][0].keys[0];
    return next > last ? next - 1 : last;
}

/* The pages that a part writes, one after the other. */
typedef struct page_sink {
    const update_plan *u;
    const page_part *part;
    leaf_page *page;
    uint64_t pages, room; /* begun; slots left in the last of them */
} page_sink;

static void page_sink_put(page_sink *sink, char *leaf, KEY fence, uint32_t count)
{
    const page_part *p = sink->part;
    if (sink->room == 0) {
        const uint64_t k = sink->pages++;
        if (sink->page) page_refresh(sink->page, 0);
        sink->page = (leaf_page *)sink->u->out_page[p->page_out + k];
        sink->page->used = sink->page->ahead[0] = 0;
        sink->page->mark.changed = true;
        sink->room = p->leaves * (k + 1) / p->page_outs - p->leaves * k / p->page_outs;
        if (p->packed && p->page_outs > 1)
            sink->room = k + 1 < p->page_outs ? PAGE_FILL : p->leaves - (p->page_outs - 1) * PAGE_FILL;
    }
    page_put(sink->page, leaf, fence, count);
    sink->room--;
}

/* The leaves of one page, changed by a part; touched == NULL: unchanged. */
static void page_sink_page(page_sink *sink, const leaf_page *from, const page_part *touched)
{
    const update_plan *u = sink->u;
    const leaf_page before = *from; /* the sink may write over it */
    const leaf_segment *s = touched ? u->segment + touched->segment : NULL;
    const leaf_segment *end = touched ? s + touched->segments : NULL;
    const leaf_edit *e = touched && touched->edits ? u->edit + touched->edit : NULL;
    const leaf_edit *last_edit = e ? e + touched->edits : NULL;
    for (uint32_t slot = 0; slot < before.used; slot++) {
        while (s < end && s->n && slot_at(s->slot) < slot) s++;
        const bool merged = s < end && s->n && slot_at(s->slot) == slot;
        if (e == last_edit || slot_at(e->slot) != slot) {
            page_sink_put(sink, before.leaf[slot], before.fence[slot],
                          merged ? (uint32_t)s->count : page_count(&before, slot));
            continue;
        }
        for (uint64_t k = 0; k < e->leaves; k++)
            page_sink_put(sink, edit_leaf(u, e, k), edit_fence(u, e, k, &before), u->out_fill[e->out + k]);
        slot += e->members - 1;
        e++;
    }
}

/* A page of which leaves have other numbers of entries now, and nothing else has changed. */
static void page_recount(leaf_page *page, const leaf_segment *s, const leaf_segment *end)
{
    uint32_t slot = slot_at(s->slot), before = page->ahead[slot];
    for (uint32_t sum = before; slot < page->used; slot++) {
        const uint32_t after = page->ahead[slot + 1];
        const bool merged = s < end && s->n && slot_at(s->slot) == slot;
        sum += merged ? (uint32_t)s->count : after - before;
        if (merged && !s->values_only) page->mark.changed = true;
        s += merged;
        before = after;
        page->ahead[slot + 1] = (uint16_t)sum;
    }
}

static void apply_pages(void *argument, uint64_t first, uint64_t last)
{
    const update_job *job = argument;
    const update_plan *u = job->u;
    const copse_page_directory *table = &job->tree->table;
    for (const page_part *p = u->part + first; p < u->part + last; p++) {
        if (p->members == 0) continue;
        if (p->members == 1 && p->edits == 0) {
            const leaf_segment *s = u->segment + p->segment;
            page_recount(table_page(table, p->page), s, s + p->segments);
            continue;
        }
        page_sink sink = {.u = u, .part = p};
        const page_part *touched = p;
        for (uint64_t m = 0; m < p->members; m++) {
            const bool is_touched = touched < u->part + u->parts && touched->page == p->page + m;
            page_sink_page(&sink, table_page(table, p->page + m), is_touched ? touched : NULL);
            touched += is_touched;
        }
        if (sink.page) page_refresh(sink.page, 0);
    }
}

/* Puts the pages of all parts into the directory, from the first one that moves on. */
static void apply_moves(const copse_index *index, copse_regular *tree, update_plan *u)
{
    copse_page_directory *table = &tree->table;
    const uint64_t pages = table->pages;
    uint64_t from = u->first_moved, to = from;
    char **old = table->page + from;
    if (u->old_page) old = memcpy(u->old_page, old, u->old_room * sizeof *old);
    char **now = u->new_table ? u->table.page : table->page;
    const page_part *p = u->part, *end = u->part + u->parts;
    while (p < end && p->page < from) p++;
    while (from < pages) {
        while (p < end && p->members == 0) p++;
        const uint64_t stop = p < end ? p->page : pages;
        memcpy(now + to, old + from - u->first_moved, (stop - from) * sizeof *old);
        to += stop - from;
        from = stop;
        if (p == end) continue;
        if (p->page_outs) memcpy(now + to, u->out_page + p->page_out, p->page_outs * sizeof *old);
        to += p->page_outs;
        from += p->members;
        p++;
    }
    if (u->new_table) {
        copse_memory_free(index->ctx, table->memory, table->bytes);
        *table = u->table;
    }
    table->pages = to;
}

/* The last leaf of all may hold the maximum, also one that has just become the last. */
static void table_close(copse_page_directory *table, uint64_t *first_moved)
{
    leaf_page *last = table_page(table, table->pages - 1);
    if (last->fence[last->used - 1] == KEY_MAX) return;
    last->fence[last->used - 1] = KEY_MAX;
    page_refresh(last, last->used - 1u);
    last->mark.changed = true;
    if (*first_moved > table->pages - 1) *first_moved = table->pages - 1;
}

/* Brings the directory up to date. */
static void apply_table(const copse_index *index, copse_regular *tree, update_plan *u)
{
    copse_page_directory *table = &tree->table;
    const uint64_t pages = table->pages;
    uint64_t moved = u->first_moved;
    for (const page_part *p = u->part; p < u->part + u->parts; p++)
        for (uint64_t k = p->page_outs; k < p->members; k++) page_give(index->ctx, tree, table->page[p->page + k]);
    if (u->new_table || moved < pages) apply_moves(index, tree, u);
    table_close(table, &moved);
    if (moved < pages || u->new_table) table_refresh(index->ctx, table, moved);
    const bool all = u->parts * 4 > table->pages;
    for (const page_part *p = u->part; p < u->part + u->parts && p->page < moved; p++) {
        const leaf_page *page = table_page(table, p->page);
        if (!all) table_refresh_counts(table, p->page, p->page);
        if (table_fence(table)[p->page] == page->fence[page->used - 1]) continue;
        table_fence(table)[p->page] = page->fence[page->used - 1];
        table_refresh_nodes(index->ctx, table, p->page, p->page);
    }
    if (all) table_refresh_counts(table, 0, table->pages - 1);
}

/* The values of pages that a part has written: all of a page that was written again, else the leaves that were merged. */
static void apply_values_of_parts(void *argument, uint64_t first, uint64_t last)
{
    const update_job *job = argument;
    const update_plan *u = job->u;
    for (const page_part *p = u->part + first; p < u->part + last; p++) {
        const bool rewritten = p->edits || p->members != 1;
        for (uint64_t k = 0; rewritten && k < p->page_outs; k++)
            values_of_page(job->index, (leaf_page *)u->out_page[p->page_out + k]);
        if (rewritten) continue;
        leaf_page *page = (leaf_page *)u->out_page[p->page_out];
        for (const leaf_segment *s = u->segment + p->segment; s < u->segment + p->segment + p->segments && s->n; s++)
            values_of_leaf(job->index, page, slot_at(s->slot));
        values_close_page(page);
    }
}

static void apply_values_of_pages(const copse_index *index, copse_regular *tree, update_plan *u)
{
    update_job job = {index, tree, u, true};
    const uint64_t pages = tree->table.pages;
    bool all;
    if (!tree->has_summary || !values_grow(index->ctx, tree, &all)) return;
    copse_parallel(index->ctx, u->threads, u->parts, copse_even_chunk(u->parts, u->threads), apply_values_of_parts,
                   &job);
    all = all || u->parts * 4 > pages;
    for (const page_part *p = u->part; !all && p < u->part + u->parts && p->page < u->first_moved; p++)
        values_refresh(tree, p->page, p->page);
    if (all)
        values_refresh(tree, 0, pages - 1);
    else if (u->first_moved < pages)
        values_refresh(tree, u->first_moved, pages - 1);
}

/* Gives back leaves that have gone, and memory that is mostly free. */
static void apply_give(const copse_ctx *ctx, copse_regular *tree, const update_plan *u)
{
    for (uint64_t i = 0; i < u->edits; i++)
        for (uint64_t k = u->edit[i].leaves; k < u->edit[i].members; k++)
            copse_leaf_give(ctx, &tree->pool, u->edit[i].leaf[k]);
    if (copse_leaf_pool_sparse(&tree->page_pool)) {
        copse_leaf_pool_compact_begin(&tree->page_pool);
        copse_leaf_pool_compact_move(ctx, &tree->page_pool, tree->table.page, tree->table.pages);
        copse_leaf_pool_compact_end(ctx, &tree->page_pool);
    }
    /* The summary is made again when it is asked for. */
    if (copse_leaf_pool_sparse(&tree->value_pool)) copse_regular_drop_summary(ctx, tree);
    if (!copse_leaf_pool_sparse(&tree->pool)) return;
    copse_leaf_pool_compact_begin(&tree->pool);
    for (uint64_t p = 0; p < tree->table.pages; p++) {
        leaf_page *page = table_page(&tree->table, p);
        copse_leaf_pool_compact_move(ctx, &tree->pool, page->leaf, page->used);
        page->mark.changed = true;
    }
    copse_leaf_pool_compact_end(ctx, &tree->pool);
}

static void update_apply(copse_index *index, copse_regular *tree, update_plan *u)
{
    const copse_ctx *ctx = index->ctx;
    update_job job = {index, tree, u, true};
    uint64_t leaves = u->segments + u->edits;
    copse_parallel(ctx, u->threads, leaves, copse_even_chunk(leaves, u->threads), apply_leaves, &job);
    if (u->outs) copse_parallel(ctx, u->threads, u->outs, copse_even_chunk(u->outs, u->threads), apply_runs, &job);
    copse_parallel(ctx, u->threads, u->parts, copse_even_chunk(u->parts, u->threads), apply_pages, &job);
    apply_table(index, tree, u);
    apply_values_of_pages(index, tree, u);
    tree->entries = u->entries_after;
    tree->leaves = u->leaves_after;
    apply_give(ctx, tree, u);
}

/* --- the whole ---------------------------------------------------------------------------------------------------- */

/* Lists for the route. A key of a group or one that is erased may touch any number of leaves, every other pair touches one. */
static bool update_make_lists(const copse_index *index, const copse_regular *tree, update_plan *u)
{
    const uint64_t n = u->batch->n;
    const bool many = index->duplicates && kind_erases(u->kind);
    u->segment_room = many || n > tree->leaves ? tree->leaves : n;
    u->part_room = many || n > tree->table.pages ? tree->table.pages : n;
    u->part = copse_memory_alloc(index->ctx, u->part_room * sizeof *u->part);
    u->segment = copse_memory_alloc(index->ctx, u->segment_room * sizeof *u->segment);
    return u->part && u->segment;
}

/* `what` is for the progress callback. */
static copse_status regular_update(copse_index *index, const copse_batch *batch, merge_kind kind, const char *what)
{
    copse_regular *tree = index->tree;
    const copse_ctx *ctx = index->ctx;
    update_plan u = {.batch = batch, .kind = kind, .threads = copse_threads_for(ctx, batch->n)};
    copse_status status = COPSE_OK;
    if (batch->n == 1 && !batch->does) {
        const merge_kind one = batch->gone && batch->gone[0] ? MERGE_ERASE : kind == MERGE_MIXED ? MERGE_UPSERT : kind;
        if (regular_update_one(index, batch->pairs, one, what, &status)) return status;
    }
    if (!update_make_lists(index, tree, &u))
        status = copse_fail_memory(ctx, u.segment_room * sizeof *u.segment, "planning the update");
    if (status == COPSE_OK) {
        update_route(index, tree, &u);
        update_count(index, tree, &u);
        update_plan_parts(index, tree, &u, false);
        plan_pages(tree, &u);
        status = copse_progress(ctx, what, batch->n, batch->n);
    }
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
        before ? regular_update(index, batch, merge_kind_of(index, flags), "inserting") : regular_build(index, batch);
    if (status == COPSE_OK) *out_inserted = ((copse_regular *)index->tree)->entries - before;
    return status;
}

static copse_status regular_erase(copse_index *index, const copse_batch *batch, uint64_t *out_erased)
{
    copse_regular *tree = index->tree;
    uint64_t before = tree->entries;
    if (!before) return COPSE_OK;
    copse_status status = regular_update(index, batch, MERGE_ERASE, "erasing");
    if (status == COPSE_OK) *out_erased = before - tree->entries;
    return status;
}

static copse_status regular_apply(copse_index *index, const copse_batch *batch)
{
    const copse_regular *tree = index->tree;
    return tree->entries ? regular_update(index, batch, merge_kind_of_apply(batch), "applying")
                         : regular_build(index, batch);
}
