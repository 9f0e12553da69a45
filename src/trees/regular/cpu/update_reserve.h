/* Updates, the third step: all memory that the plan needs. The last that can fail. */
#pragma once

#include "trees/regular/cpu/tree.h"
#include "trees/regular/cpu/update_edit.h"
#include "trees/regular/cpu/update_pages.h"

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
    for (uint64_t i = 0; failed && i < u->taken; i++) copse_leaf_give(ctx, &tree->pool, u->fresh[i]);
    for (uint64_t i = 0; failed && u->pages_taken && i < u->page_changes; i++) {
        const page_change *p = &u->page_change[i];
        for (uint64_t k = p->members; k < p->page_outs && p->page_out + k < u->pages_taken; k++)
            page_give(ctx, tree, u->out_page[p->page_out + k]);
    }
    if (failed && u->new_table) copse_memory_free(ctx, u->table.memory, u->table.bytes);
    copse_memory_free(ctx, u->page_change, u->page_change_room * sizeof *u->page_change);
    copse_memory_free(ctx, u->leaf_change, u->leaf_change_room * sizeof *u->leaf_change);
    copse_memory_free(ctx, u->edit, u->edit_room * sizeof *u->edit);
    copse_memory_free(ctx, u->out_units, u->out_room * sizeof *u->out_units);
    copse_memory_free(ctx, u->out_fill, u->out_room);
    copse_memory_free(ctx, u->fresh, u->fresh_room * sizeof *u->fresh);
    copse_memory_free(ctx, u->out_page, u->page_out_room * sizeof *u->out_page);
    copse_memory_free(ctx, u->old_rows, u->old_room * sizeof(copse_wide));
}

/* The leaves that edits write: their own, then new ones. */
static void place_leaves(void *argument, uint64_t first, uint64_t last)
{
    const update_job *job = argument;
    const update_plan *u = job->u;
    for (uint64_t i = first; i < last; i++) {
        const leaf_edit *e = &u->edit[i];
        uint64_t fresh = e->fresh, until = 0;
        for (uint64_t k = 0; k < e->leaves; k++) {
            const uint32_t own = edit_own(e, k);
            const uint64_t next = edit_until(e, k + 1);
            u->out_units[e->out + k] = leaf_units(own < EDIT_MEMBERS ? e->leaf[own] : u->fresh[fresh++]);
            u->out_fill[e->out + k] = (uint8_t)(next - until);
            until = next;
        }
    }
}

/* Lists of the edits and of what they write, and leaves for them. */
static copse_status update_take_leaves(const copse_index *index, copse_regular *tree, update_plan *u)
{
    const copse_ctx *ctx = index->ctx;
    update_job job = {index, tree, u, true};
    u->edit_room = u->edits;
    u->out_room = u->outs;
    u->fresh_room = u->freshes;
    u->edit = copse_memory_alloc(ctx, u->edit_room * sizeof *u->edit);
    u->out_units = u->outs ? copse_memory_alloc(ctx, u->out_room * sizeof *u->out_units) : NULL;
    u->out_fill = u->outs ? copse_memory_alloc(ctx, u->out_room) : NULL;
    u->fresh = u->freshes ? copse_memory_alloc(ctx, u->fresh_room * sizeof *u->fresh) : NULL;
    if (!u->edit || (u->outs && (!u->out_units || !u->out_fill)) || (u->freshes && !u->fresh))
        return copse_fail_memory(ctx, u->edit_room * sizeof *u->edit, "planning the update");
    if (!copse_leaf_reserve(ctx, &tree->pool, u->threads, u->freshes))
        return copse_fail_memory(ctx, u->freshes * COPSE_LEAF_BYTES, "new leaves");
    for (; u->taken < u->freshes; u->taken++)
        if (!(u->fresh[u->taken] = copse_leaf_take(ctx, &tree->pool)))
            return copse_fail_memory(ctx, COPSE_LEAF_BYTES, "a new leaf");
    update_plan_edits(index, tree, u, true);
    copse_parallel(ctx, u->threads, u->edits, copse_even_chunk(u->edits, u->threads), place_leaves, &job);
    return COPSE_OK;
}

/* Pages for the changes: their own first, then new ones. */
static bool update_take_pages(const copse_ctx *ctx, copse_regular *tree, update_plan *u)
{
    for (const page_change *p = u->page_change; p < u->page_change + u->page_changes; p++)
        for (uint64_t k = 0; p->members && k < p->page_outs; k++) {
            char *page = k < p->members ? tree->table.page[p->start + k] : page_take(ctx, tree);
            if (!page) return false;
            u->out_page[u->pages_taken++] = page;
        }
    return true;
}

/* Gets the directory that comes after one that is getting full, and a little of its memory from the system in each call that adds
 * pages: the call that needs it would wait for all of it otherwise. */
static void table_prepare(const copse_ctx *ctx, copse_regular *tree, uint64_t pages)
{
    const copse_page_directory *table = &tree->table;
    if (pages <= table->pages || pages < table->room - table->room / 4) return;
    if (!tree->next.memory && !table_create(ctx, 2 * table->room, &tree->next)) return;
    const size_t left = tree->next.bytes - tree->next_touched, some = left < 4096 ? left : 4096;
    memset((char *)tree->next.memory + tree->next_touched, 0, some);
    tree->next_touched += some;
}

/* A new directory where the old one is too small or much too large. One that would only be smaller is not insisted on. */
static bool update_take_table(const copse_ctx *ctx, copse_regular *tree, update_plan *u)
{
    const copse_page_directory *table = &tree->table;
    const uint64_t pages = u->pages_after;
    const bool too_small = pages > table->room, too_large = pages < table->room / 4;
    if (too_small && pages <= tree->next.room) {
        u->new_table = true;
        u->table = tree->next;
        tree->next = (copse_page_directory){0};
        tree->next_touched = 0;
    } else if (too_small || too_large) {
        copse_regular_drop_next(ctx, tree);
        u->new_table = table_create(ctx, pages + pages / 4 + 1, &u->table);
    } else {
        table_prepare(ctx, tree, pages);
    }
    if (u->new_table) u->first_moved = 0;
    u->pages_before = table->pages;
    if (u->first_moved == table->pages) return !too_small;
    u->old_room = table->pages - u->first_moved;
    u->old_rows = copse_memory_alloc(ctx, u->old_room * sizeof(copse_wide)); /* the widest */
    return u->old_rows && (u->new_table || !too_small);
}

/* A call that takes fewer leaves than this is over before a huge page is cleared. */
#define LEAVES_IN_STEPS 8u

static copse_status update_reserve(const copse_index *index, copse_regular *tree, update_plan *u)
{
    const copse_ctx *ctx = index->ctx;
    tree->pool.in_steps = tree->page_pool.in_steps = tree->value_pool.in_steps = u->freshes < LEAVES_IN_STEPS;
    if (u->edits) {
        const copse_status status = update_take_leaves(index, tree, u);
        if (status != COPSE_OK) return status;
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
