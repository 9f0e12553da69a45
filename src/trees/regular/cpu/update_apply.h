/* Updates, the fourth step: pages are written, then the directory and the summary. */
#pragma once

#include "trees/regular/cpu/tree.h"
#include "trees/regular/cpu/update_leaves.h"
#include "trees/regular/cpu/update_reserve.h"
#include "trees/regular/cpu/values.h"

/* The last leaf of an edit takes over the fence of its last member; the others reach to where the next begins, so that keys which
 * follow those of a full leaf find one with room. */
static inline KEY edit_fence(const update_plan *u, const leaf_edit *e, uint64_t k, const leaf_page *before)
{
    if (k + 1 == e->leaves) return before->fence[slot_at(e->slot) + e->members - 1];
    const KEY last = leaf_last_key(edit_leaf(u, e, k), u->out_fill[e->out + k]);
    const KEY next = u->out_units[e->out + k + 1][0].keys[0];
    return next > last ? next - 1 : last;
}

/* The pages that a change writes, one after the other. */
typedef struct page_sink {
    const update_plan *u;
    page_change *change;
    leaf_page *page;
    uint64_t pages, room; /* begun; slots left in the last of them */
} page_sink;

/* Where pages join, leaves of different pages become neighbours: puts the entries of one into the leaf before it where both are sparse. */
static bool page_sink_join(page_sink *sink, char *leaf, KEY fence, uint32_t count)
{
    page_change *p = sink->change;
    leaf_page *page = sink->page;
    if (p->members < 2 || !page || page->used == 0) return false;
    const uint32_t last = page->used - 1u, before = page_count(page, last);
    if (before + count > LEAF_SPARSE) return false;
    copse_unit *to = leaf_units(page->leaf[last]);
    const copse_unit *from = leaf_units(leaf);
    for (uint32_t i = 0; i < count; i++)
        leaf_set(to, before + i, unit_key(from, i), from[i / UNIT_ENTRIES].values[i % UNIT_ENTRIES]);
    leaf_seal(page->leaf[last], before + count);
    page->fence[last] = fence;
    page->ahead[last + 1] = (uint16_t)(page->ahead[last + 1] + count);
    memcpy(leaf, &p->emptied, sizeof p->emptied);
    p->emptied = leaf;
    p->emptied_leaves++;
    return true;
}

static void page_sink_put(page_sink *sink, char *leaf, KEY fence, uint32_t count)
{
    const page_change *p = sink->change;
    if (page_sink_join(sink, leaf, fence, count)) {
        sink->room--;
        return;
    }
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

/* The leaves of one page, changed or not; touched == NULL: unchanged. */
static void page_sink_page(page_sink *sink, const leaf_page *from, const page_change *touched)
{
    const update_plan *u = sink->u;
    const leaf_page before = *from; /* the sink may write over it */
    const leaf_change *s = touched ? u->leaf_change + touched->leaf_change : NULL;
    const leaf_change *end = touched ? s + touched->leaf_changes : NULL;
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
static void page_recount(leaf_page *page, const leaf_change *s, const leaf_change *end)
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
    for (page_change *p = u->page_change + first; p < u->page_change + last; p++) {
        if (p->members == 0) continue;
        if (p->members == 1 && p->edits == 0) {
            const leaf_change *s = u->leaf_change + p->leaf_change;
            page_recount(table_page(table, p->page), s, s + p->leaf_changes);
            continue;
        }
        page_sink sink = {.u = u, .change = p};
        const page_change *touched = p;
        for (uint64_t m = 0; m < p->members; m++) {
            const bool is_touched = touched < u->page_change + u->page_changes && touched->page == p->start + m;
            page_sink_page(&sink, table_page(table, p->start + m), is_touched ? touched : NULL);
            touched += is_touched;
        }
        if (sink.page) page_refresh(sink.page, 0);
    }
}

/* Where the pages of each change stand when all have moved. */
static void place_pages(update_plan *u)
{
    uint64_t more = 0; /* pages, wrapping */
    for (page_change *p = u->page_change; p < u->page_change + u->page_changes; p++) {
        if (p->members == 0) continue;
        p->now = p->start + more;
        more += p->page_outs - p->members;
    }
}

/* Rows of a directory, one for each page, move with the pages from the first one that moves on. Those that change are left open. */
static void rows_move(const update_plan *u, void *now, const void *old, size_t width)
{
    const uint64_t first = u->first_moved;
    const char *rows = (const char *)old + first * width;
    if (first >= u->pages_before) return;
    if (now == old) rows = memcpy(u->old_rows, rows, (u->pages_before - first) * width);
    uint64_t from = first, to = first;
    for (const page_change *p = u->page_change; p < u->page_change + u->page_changes; p++) {
        if (p->members == 0 || p->start < first) continue;
        memcpy((char *)now + to * width, rows + (from - first) * width, (p->start - from) * width);
        from = p->start + p->members;
        to = p->now + p->page_outs;
    }
    memcpy((char *)now + to * width, rows + (from - first) * width, (u->pages_before - from) * width);
}

/* Puts the pages of all changes into the directory, and moves the others with what it knows of them: most need not be read. */
static void apply_moves(const copse_index *index, copse_regular *tree, update_plan *u)
{
    copse_page_directory *table = &tree->table, *now = u->new_table ? &u->table : table;
    now->pages = u->pages_after;
    rows_move(u, now->page, table->page, sizeof *now->page);
    rows_move(u, now->fence, table->fence, sizeof(KEY));
    rows_move(u, now->below[0], table->below[0], sizeof *now->below[0]);
    for (const page_change *p = u->page_change; p < u->page_change + u->page_changes; p++)
        if (p->members && p->page_outs && p->start >= u->first_moved)
            memcpy(now->page + p->now, u->out_page + p->page_out, p->page_outs * sizeof *now->page);
    if (!u->new_table) return;
    copse_memory_free(index->ctx, table->memory, table->bytes);
    *table = u->table;
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

/* Pages that stay where they are, but whose last leaf is another now. */
static void refresh_fences(const copse_ctx *ctx, copse_page_directory *table, const update_plan *u, uint64_t moved)
{
    for (const page_change *p = u->page_change; p < u->page_change + u->page_changes && p->page < moved; p++) {
        const leaf_page *page = table_page(table, p->page);
        if (table_fence(table)[p->page] == page->fence[page->used - 1]) continue;
        table_fence(table)[p->page] = page->fence[page->used - 1];
        table_refresh_nodes(ctx, table, p->page, p->page);
    }
}

/* Brings the directory up to date. */
static void apply_table(const copse_index *index, copse_regular *tree, update_plan *u)
{
    copse_page_directory *table = &tree->table;
    const uint64_t pages = table->pages;
    uint64_t moved = u->first_moved;
    place_pages(u);
    for (const page_change *p = u->page_change; p < u->page_change + u->page_changes; p++)
        for (uint64_t k = p->page_outs; k < p->members; k++) page_give(index->ctx, tree, table->page[p->start + k]);
    const bool many = u->page_changes * 4 > u->pages_after;
    if (u->new_table || moved < pages) apply_moves(index, tree, u);
    table_close(table, &moved);
    for (const page_change *p = u->page_change; !many && p < u->page_change + u->page_changes; p++)
        if (p->members && p->page_outs && p->now + p->page_outs > moved)
            table_read_pages(index->ctx, table, p->now, p->now + p->page_outs - 1);
    if (moved < pages || u->new_table) table_refresh(index->ctx, table, moved, many ? moved : table->pages - 1);
    if (many) {
        if (kind_erases(u->kind)) refresh_fences(index->ctx, table, u, moved);
        const uint64_t stay = moved < table->pages ? moved : table->pages;
        if (stay) table_read_pages(index->ctx, table, 0, stay - 1);
        table_raise_counts(table, 0, table->pages - 1);
        return;
    }
    refresh_fences(index->ctx, table, u, moved);
    for (const page_change *p = u->page_change; p < u->page_change + u->page_changes && p->page < moved; p++) {
        const leaf_page *page = table_page(table, p->page);
        table->below[0][p->page] = page->ahead[page->used];
        table_raise_counts(table, p->page, p->page);
    }
}

/* The values of pages that a change has written: all of a page that was written again, else the leaves that were merged. */
static void apply_values_of_changes(void *argument, uint64_t first, uint64_t last)
{
    const update_job *job = argument;
    const update_plan *u = job->u;
    for (const page_change *p = u->page_change + first; p < u->page_change + last; p++) {
        const bool rewritten = p->edits || p->members != 1;
        for (uint64_t k = 0; rewritten && k < p->page_outs; k++)
            values_of_page(job->index, (leaf_page *)u->out_page[p->page_out + k]);
        if (rewritten) continue;
        leaf_page *page = (leaf_page *)u->out_page[p->page_out];
        for (const leaf_change *s = u->leaf_change + p->leaf_change;
             s < u->leaf_change + p->leaf_change + p->leaf_changes && s->n; s++)
            values_of_leaf(job->index, page, slot_at(s->slot));
        values_close_page(job->index, page);
    }
}

/* What the summary has of pages, moved with them; into larger arrays where there are more than it has room for. Without memory for those the
 * summary goes, and it returns false. */
static bool move_values(const copse_ctx *ctx, copse_regular *tree, const update_plan *u)
{
    copse_value_directory *now = &tree->values;
    const copse_value_directory old = *now;
    if (tree->table.pages > old.room && !values_create(ctx, tree->table.room, now)) {
        copse_regular_drop_summary(ctx, tree);
        return false;
    }
    rows_move(u, now->page, old.page, sizeof *now->page);
    rows_move(u, now->sum[0], old.sum[0], sizeof *now->sum[0]);
    rows_move(u, now->low[0], old.low[0], sizeof *now->low[0]);
    rows_move(u, now->high[0], old.high[0], sizeof *now->high[0]);
    rows_move(u, now->float_sum[0], old.float_sum[0], sizeof *now->float_sum[0]);
    if (now->memory != old.memory) copse_memory_free(ctx, old.memory, old.bytes);
    return true;
}

static void apply_values_of_pages(const copse_index *index, copse_regular *tree, update_plan *u)
{
    update_job job = {index, tree, u, true};
    const uint64_t pages = tree->table.pages;
    if (!tree->has_summary || !move_values(index->ctx, tree, u)) return;
    copse_parallel(index->ctx, u->threads, u->page_changes, copse_even_chunk(u->page_changes, u->threads),
                   apply_values_of_changes, &job);
    if (u->page_changes * 4 > pages) {
        values_read_pages(tree, 0, pages - 1);
        values_raise_all(tree, 0, pages - 1);
        return;
    }
    for (const page_change *p = u->page_change; p < u->page_change + u->page_changes; p++) {
        if (!p->members || !p->page_outs) continue;
        values_read_pages(tree, p->now, p->now + p->page_outs - 1);
        if (p->now < u->first_moved) values_raise_all(tree, p->now, p->now);
    }
    if (u->first_moved <
        u->pages_before) /* where the last pages went, the one in front of them is the last of its kind now */
        values_raise_all(tree, u->first_moved < pages ? u->first_moved : pages - 1, pages - 1);
}

/* Gives back leaves that have gone, while the pages still have them. */
static void apply_give(const copse_ctx *ctx, copse_regular *tree, const update_plan *u)
{
    for (uint64_t i = 0; i < u->edits; i++)
        for (uint64_t k = u->edit[i].leaves; k < u->edit[i].members; k++)
            copse_leaf_give(ctx, &tree->pool, slot_leaf(&tree->table, u->edit[i].slot + k));
}

static void apply_give_emptied(const copse_ctx *ctx, copse_regular *tree, update_plan *u)
{
    for (page_change *p = u->page_change; p < u->page_change + u->page_changes; p++) {
        u->leaves_after -= p->emptied_leaves;
        while (p->emptied) {
            char *leaf = p->emptied;
            memcpy(&p->emptied, leaf, sizeof p->emptied);
            copse_leaf_give(ctx, &tree->pool, leaf);
        }
    }
}

/* Gives back memory that is mostly free. */
static void apply_compact(const copse_ctx *ctx, copse_regular *tree)
{
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
    uint64_t leaves = u->leaf_changes + u->edits;
    copse_parallel(ctx, u->threads, leaves, copse_even_chunk(leaves, u->threads), apply_leaves, &job);
    if (u->outs) copse_parallel(ctx, u->threads, u->outs, copse_even_chunk(u->outs, u->threads), apply_runs, &job);
    apply_give(ctx, tree, u);
    copse_parallel(ctx, u->threads, u->page_changes, copse_even_chunk(u->page_changes, u->threads), apply_pages, &job);
    if (kind_erases(u->kind)) apply_give_emptied(ctx, tree, u);
    apply_table(index, tree, u);
    apply_values_of_pages(index, tree, u);
    tree->entries = u->entries_after;
    tree->leaves = u->leaves_after;
    apply_compact(ctx, tree);
}
