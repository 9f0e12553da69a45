/*
 * Batch updates of the regular tree.
 *
 *   route    cut the sorted batch into changes of pages, and these into changes of leaves
 *   plan     count what each leaf will hold; where that is too much or too little, make an edit of up to
 *            three neighbouring leaves of the page that come out as more or fewer leaves; then the same for pages
 *   reserve  take every leaf, page and directory that the plan needs: the last step that can fail
 *   apply    merge, leaf by leaf, then page by page, on all threads; then bring the directory up to date
 *
 * Parts do not depend on each other, so each of these steps runs on all threads, too.
 */
#pragma once

#include "trees/regular/cpu/operations.h"
#include "trees/regular/cpu/update_apply.h"
#include "trees/regular/cpu/update_count.h"
#include "trees/regular/cpu/update_cut.h"
#include "trees/regular/cpu/update_one.h"
#include "trees/regular/cpu/update_pages.h"
#include "trees/regular/cpu/update_reserve.h"
#include "trees/regular/cpu/update_route.h"

/* Lists for the route. A key of a group or one that is erased may touch any number of leaves, every other pair touches one; an entry of
 * a stretch, too. */
static copse_status update_make_lists(const copse_index *index, const copse_regular *tree, update_plan *u)
{
    const copse_ctx *ctx = index->ctx;
    const bool many = index->duplicates && kind_erases(u->kind) && !u->stretch;
    const uint64_t slots = tree->table.pages * PAGE_SLOTS;
    u->leaf_change_room = many ? tree->leaves : u->work > slots ? slots : u->work;
    u->page_change_room = many || u->work > tree->table.pages ? tree->table.pages : u->work;
    u->page_change = copse_memory_alloc(ctx, u->page_change_room * sizeof *u->page_change);
    u->leaf_change = copse_memory_alloc(ctx, u->leaf_change_room * sizeof *u->leaf_change);
    if (u->page_change && u->leaf_change) return COPSE_OK;
    return copse_fail_memory(ctx, u->leaf_change_room * sizeof *u->leaf_change, "planning the update");
}

/* All that follows the route. `what` is for the progress callback. */
static copse_status update_run(copse_index *index, copse_regular *tree, update_plan *u, const char *what)
{
    update_count(index, tree, u);
    update_plan_edits(index, tree, u, false);
    plan_pages(tree, u);
    copse_status status = copse_progress(index->ctx, what, u->work, u->work);
    if (status != COPSE_OK) return status;
    if (!u->entries_after) {
        copse_regular_clear(index->ctx, tree);
        return COPSE_OK;
    }
    status = update_reserve(index, tree, u);
    if (status == COPSE_OK) update_apply(index, tree, u);
    return status;
}

static copse_status regular_update(copse_index *index, const copse_batch *batch, merge_kind kind, const char *what)
{
    copse_regular *tree = index->tree;
    update_plan u = {
        .batch = batch, .kind = kind, .work = batch->n, .threads = copse_threads_for(index->ctx, batch->n)};
    copse_status status = COPSE_OK;
    if (batch->n == 1 && !batch->does) {
        const merge_kind one = batch->gone && batch->gone[0] ? MERGE_ERASE : kind == MERGE_MIXED ? MERGE_UPSERT : kind;
        if (regular_update_one(index, batch->pairs, one, what, &status)) return status;
    }
    status = update_make_lists(index, tree, &u);
    if (status == COPSE_OK) {
        update_route(index, tree, &u);
        status = update_run(index, tree, &u, what);
    }
    update_release(index, tree, &u, status != COPSE_OK);
    return status;
}

copse_status NAME(copse_regular_erase_between)(copse_index *index, const copse_stretch *stretches, uint64_t n,
                                               uint64_t erased)
{
    copse_regular *tree = index->tree;
    update_plan u = {
        .stretch = stretches, .kind = MERGE_ERASE, .work = erased, .threads = copse_threads_for(index->ctx, erased)};
    copse_status status = update_make_lists(index, tree, &u);
    if (status == COPSE_OK) {
        update_job job = {index, tree, &u, false};
        pages_of_stretches(tree, &u, n);
        copse_parallel(index->ctx, u.threads, u.page_changes, copse_even_chunk(u.page_changes, u.threads), route_cuts,
                       &job);
        status = update_run(index, tree, &u, "erasing");
    }
    update_release(index, tree, &u, status != COPSE_OK);
    return status;
}

copse_status NAME(copse_regular_insert)(copse_index *index, const copse_batch *batch, uint32_t flags,
                                        uint64_t *out_inserted)
{
    copse_regular *tree = index->tree;
    uint64_t before = tree->entries;
    copse_status status = before ? regular_update(index, batch, merge_kind_of(index, flags), "inserting")
                                 : NAME(copse_regular_build)(index, batch);
    if (status == COPSE_OK) *out_inserted = ((copse_regular *)index->tree)->entries - before;
    return status;
}

copse_status NAME(copse_regular_erase)(copse_index *index, const copse_batch *batch, uint64_t *out_erased)
{
    copse_regular *tree = index->tree;
    uint64_t before = tree->entries;
    if (!before) return COPSE_OK;
    copse_status status = regular_update(index, batch, MERGE_ERASE, "erasing");
    if (status == COPSE_OK) *out_erased = before - tree->entries;
    return status;
}

copse_status NAME(copse_regular_apply)(copse_index *index, const copse_batch *batch)
{
    const copse_regular *tree = index->tree;
    return tree->entries ? regular_update(index, batch, merge_kind_of_apply(batch), "applying")
                         : NAME(copse_regular_build)(index, batch);
}
