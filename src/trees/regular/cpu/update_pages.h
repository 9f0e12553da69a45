/* Updates, the second step: what becomes of pages. */
#pragma once

#include "trees/regular/cpu/update_edit.h"

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
