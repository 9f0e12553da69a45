/* Updates, the second step: what becomes of pages. */
#pragma once

#include "trees/regular/cpu/update_edit.h"

/* Plans the edits of one page. With `write` it fills the update's list, else it counts. */
static void plan_edits_of(const copse_regular *tree, const update_plan *u, page_change *p, bool write)
{
    const leaf_page *page = table_page(&tree->table, p->page);
    leaf_change *s = u->leaf_change + p->leaf_change, *end = s + p->leaf_changes;
    uint64_t edits = 0, outs = 0, freshes = 0, leaves = page->used, entries = page->ahead[page->used];
    uint32_t floor = 0;
    while (s < end && s->n) {
        leaf_edit e;
        const uint64_t took = edit_plan(u, page, s, end, floor, &e);
        floor = slot_at(s->slot) + 1;
        if (took) {
            e.leaf_change = (uint64_t)(s - u->leaf_change);
            e.out = p->out + outs;
            e.fresh = p->fresh + freshes;
            outs += e.leaves;
            freshes += e.leaves > e.members ? e.leaves - e.members : 0;
            leaves += e.leaves - e.members;
            p->packed = e.packed && e.run_at == e.count[0] && slot_at(s->slot) + 1u == page->used;
            floor = slot_at(e.slot) + e.members;
            if (write) u->edit[p->edit + edits] = e;
            edits++;
        }
        for (uint64_t k = 0; k < (took ? took : 1); k++, s++) {
            entries += s->count - page_count(page, slot_at(s->slot));
            s->in_edit = took != 0;
        }
    }
    if (write) return;
    p->edits = edits;
    p->outs = outs;
    p->freshes = freshes;
    p->leaves = leaves;
    p->more_leaves = (int64_t)leaves - page->used;
    p->more_entries = (int64_t)entries - page->ahead[page->used];
}

static void plan_edits(void *argument, uint64_t first, uint64_t last)
{
    const update_job *job = argument;
    for (uint64_t i = first; i < last; i++) plan_edits_of(job->tree, job->u, &job->u->page_change[i], job->write);
}

static void update_plan_edits(const copse_index *index, copse_regular *tree, update_plan *u, bool write)
{
    update_job job = {index, tree, u, write};
    copse_parallel(index->ctx, u->threads, u->page_changes, copse_even_chunk(u->page_changes, u->threads), plan_edits,
                   &job);
}

/* Leaves of the page behind page change p as they will be. */
static uint64_t plan_next_leaves(const copse_regular *tree, const update_plan *u, uint64_t page,
                                 const page_change *next)
{
    return next < u->page_change + u->page_changes && next->page == page ? next->leaves
                                                                         : table_page(&tree->table, page)->used;
}

/* A page from which leaves go joins its neighbours by the rule for leaves. Pages from `floor` on are free to. */
static void plan_join(const copse_regular *tree, const update_plan *u, page_change *p, uint64_t floor)
{
    page_change *next = p + 1;
    uint64_t page = p->page + 1, leaves = 0;
    const uint64_t right = page < tree->table.pages ? plan_next_leaves(tree, u, page, next) : PAGE_SLOTS;
    const uint64_t left = p->page > floor ? table_page(&tree->table, p->page - 1)->used : PAGE_SLOTS;
    if (p->leaves + right > PAGE_SPARSE && p->leaves + left > PAGE_SPARSE) return;
    for (; p->start > floor; p->leaves += leaves, p->start--, p->members++) {
        leaves = table_page(&tree->table, p->start - 1)->used;
        if (p->leaves + leaves > PAGE_JOIN_FILL) break;
    }
    for (; page < tree->table.pages; page++, p->leaves += leaves, p->members++) {
        leaves = plan_next_leaves(tree, u, page, next);
        if (p->leaves + leaves > PAGE_JOIN_FILL) return;
        if (next < u->page_change + u->page_changes && next->page == page) (next++)->members = 0;
    }
}

/* Where each page's edits, leaves and pages stand in the lists. */
static void plan_pages(const copse_regular *tree, update_plan *u)
{
    uint64_t floor = 0;
    u->edits = u->outs = u->freshes = u->page_outs = 0;
    u->leaves_after = tree->leaves;
    u->entries_after = tree->entries;
    u->pages_after = u->first_moved = tree->table.pages;
    for (page_change *p = u->page_change; p < u->page_change + u->page_changes; p++) p->members = 1;
    for (page_change *p = u->page_change; p < u->page_change + u->page_changes; p++) {
        p->start = p->page;
        p->edit = u->edits;
        p->out = u->outs;
        p->fresh = u->freshes;
        u->edits += p->edits;
        u->outs += p->outs;
        u->freshes += p->freshes;
        u->leaves_after += (uint64_t)p->more_leaves;
        u->entries_after += (uint64_t)p->more_entries;
        if (!p->members) continue;
        if (p->more_leaves < 0 && p->leaves && p->leaves <= PAGE_SPARSE) plan_join(tree, u, p, floor);
        floor = p->start + p->members;
        p->page_outs = p->leaves <= PAGE_SLOTS ? p->leaves != 0 : (p->leaves + PAGE_FILL - 1) / PAGE_FILL;
        p->page_out = u->page_outs;
        u->page_outs += p->page_outs;
        u->pages_after += p->page_outs - p->members;
        if (p->page_outs != p->members && p->start < u->first_moved) u->first_moved = p->start;
    }
}
