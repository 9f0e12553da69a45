/* Updates, the first step: which pairs of the batch go to which page and leaf. */
#pragma once

#include "trees/regular/cpu/update_plan.h"

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
    leaf_change *last = u->leaf_changes ? &u->leaf_change[u->leaf_changes - 1] : NULL;
    if (n == 0) return;
    if (last && last->slot == slot && last->first + last->n == first)
        last->n += n;
    else
        u->leaf_change[u->leaf_changes++] = (leaf_change){.slot = slot, .first = first, .n = n};
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
            u->leaf_change[u->leaf_changes++] = (leaf_change){.slot = slot, .first = from, .n = end - from};
        }
    }
}

/* Groups the changes of leaves, from a route over the whole tree, by page. */
static void pages_of_leaves(update_plan *u)
{
    for (uint64_t i = 0; i < u->leaf_changes; i++) {
        const uint64_t page = u->leaf_change[i].slot >> COPSE_PAGE_SHIFT;
        if (!u->page_changes || u->page_change[u->page_changes - 1].page != page)
            u->page_change[u->page_changes++] = (page_change){.page = page, .leaf_change = i};
        u->page_change[u->page_changes - 1].leaf_changes++;
    }
}

/* Where the keys of each page begin in the batch. Neighbours are found from each other, so a piece begins with a search. */
typedef struct border_job {
    const KEY *fence;
    const copse_pair *pairs;
    uint64_t n;
    uint64_t *border; /* pairs of pages 0 .. p */
} border_job;

static void find_borders(void *argument, uint64_t first, uint64_t last)
{
    const border_job *job = argument;
    uint64_t at = 0;
    for (uint64_t page = first; page < last; page++)
        job->border[page] = at = pair_seek(job->pairs, at, job->n, job->fence[page]);
}

/* Pairs i and up, n of them, go to a page. The change gets room for as many leaves as it can have: the page itself is not looked at
 * here. */
static inline void page_change_put(update_plan *u, uint64_t page, uint64_t i, uint64_t n)
{
    const uint64_t most = n < PAGE_SLOTS ? n : PAGE_SLOTS;
    u->page_change[u->page_changes++] =
        (page_change){.page = page, .first = i, .n = n, .leaf_change = u->leaf_changes, .leaf_changes = most};
    u->leaf_changes += most;
}

/* Cuts the batch by page; all threads look for the borders of a batch that touches most pages. */
static void pages_of_batch(const copse_index *index, const copse_regular *tree, update_plan *u)
{
    const copse_page_directory *table = &tree->table;
    const copse_pair *pairs = u->batch->pairs;
    const uint64_t n = u->batch->n, pages = table->pages;
    border_job job = {table_fence(table), pairs, n, NULL};
    uint64_t page = 0, end = 0;
    if (u->threads > 1 && n / 4 > pages) job.border = copse_memory_alloc(index->ctx, pages * sizeof *job.border);
    if (job.border)
        copse_parallel(index->ctx, u->threads, pages, copse_even_chunk(pages, u->threads), find_borders, &job);
    for (uint64_t i = 0; i < n; i = end, page++) {
        if (!job.border) page = fence_seek(table_fence(table), page, pages, pairs[i].key);
        end = job.border ? job.border[page] : pair_seek(pairs, i, n, table_fence(table)[page]);
        if (end > i) page_change_put(u, page, i, end - i);
    }
    copse_memory_free(index->ctx, job.border, pages * sizeof *job.border);
}

/* Cuts changes of pages by leaf. */
static void route_pages(void *argument, uint64_t first, uint64_t last)
{
    const update_job *job = argument;
    const update_plan *u = job->u;
    const copse_pair *pairs = u->batch->pairs;
    for (const page_change *p = u->page_change + first; p < u->page_change + last; p++) {
        const leaf_page *page = table_page(&job->tree->table, p->page);
        leaf_change *to = u->leaf_change + p->leaf_change, *room = to + p->leaf_changes;
        uint64_t at = 0, end = p->first + p->n, next;
        for (uint64_t i = p->first; i < end; i = next, at++) {
            at = fence_seek(page->fence, at, page->used, pairs[i].key);
            next = pair_seek(pairs, i, end, page->fence[at]);
            *to++ = (leaf_change){.slot = slot_of(p->page, at), .first = i, .n = next - i};
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
    if (u->leaf_changes) {
        pages_of_leaves(u);
        return;
    }
    pages_of_batch(index, tree, u);
    copse_parallel(index->ctx, u->threads, u->page_changes, copse_even_chunk(u->page_changes, u->threads), route_pages,
                   &job);
}
