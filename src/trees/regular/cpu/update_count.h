/* Updates, the second step: what each leaf will hold. */
#pragma once

#include "cpu/fetch.h"
#include "trees/regular/cpu/update_plan.h"

/* Where the keys that a change adds lie in the leaf: are they one run? */
static void leaf_run(const update_plan *u, leaf_change *s, const copse_unit *units, uint32_t before)
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

/* While one leaf is counted or applied, the one so many later is asked for. */
#define LEAVES_AHEAD 6

COPSE_FETCH void leaf_fetch(const copse_page_directory *table, const leaf_change *s)
{
    if (s->n == 0) return;
    const char *leaf = slot_leaf(table, s->slot);
    for (uint32_t line = 0; line <= COPSE_LEAF_UNITS; line++) __builtin_prefetch(leaf + (size_t)line * 64, 1, 2);
}

/* Counts what a leaf will hold. */
static void leaf_recount(const update_plan *u, const leaf_page *page, leaf_change *s)
{
    const merge_kind kind = u->kind;
    const uint32_t before = page_count(page, slot_at(s->slot));
    const copse_unit *units = leaf_units(page->leaf[slot_at(s->slot)]);
    uint64_t fresh = s->n;
    s->counted = true;
    s->run = s->values_only = false;
    if (!kind_erases(kind)) leaf_run(u, s, units, before);
    if (s->run) {
        s->count = before + s->n;
        return;
    }
    s->count = merge_count(units, 0, before, merge_slice_of(u->batch, s->first, s->n), kind, &fresh);
    s->values_only =
        (kind == MERGE_UPSERT || kind == MERGE_MIXED || kind == MERGE_GROUPS) && fresh == 0 && s->count == before;
}

/* Whether a leaf has room for a change even if all of its keys are new. */
static inline bool leaf_fits(const update_plan *u, const copse_page_directory *table, const leaf_change *s)
{
    return !kind_erases(u->kind) && slot_count(table, s->slot) + s->n <= LEAF_CAPACITY;
}

static void count_leaves(void *argument, uint64_t first, uint64_t last)
{
    const update_job *job = argument;
    const update_plan *u = job->u;
    const copse_page_directory *table = &job->tree->table;
    for (leaf_change *s = u->leaf_change + first, *end = u->leaf_change + last; s < end; s++) {
        if (end - s > LEAVES_AHEAD && s[LEAVES_AHEAD].n && !leaf_fits(u, table, s + LEAVES_AHEAD))
            leaf_fetch(table, s + LEAVES_AHEAD);
        if (s->n == 0) continue;
        s->in_edit = s->counted = s->run = s->values_only = false;
        if (leaf_fits(u, table, s))
            s->count = slot_count(table, s->slot) + s->n;
        else
            leaf_recount(u, slot_page(table, s->slot), s);
    }
}

static void update_count(const copse_index *index, copse_regular *tree, update_plan *u)
{
    update_job job = {index, tree, u, false};
    if (u->stretch) return; /* counted when they were routed */
    copse_parallel(index->ctx, u->threads, u->leaf_changes, copse_even_chunk(u->leaf_changes, u->threads), count_leaves,
                   &job);
}
