/* Leaves, the pages that hold them in order, and the directory of the pages. Layout and idea: trees/regular/layout.h. */
#pragma once

#include "trees/regular/cpu/page.h"
#include "trees/regular/layout.h"
#include "core/aggregate.h"
#include "core/levels.h"
#include "core/threads.h"
#include "cpu/merge.h"

#include <string.h>

/* Leaves are filled up to these numbers of entries: by a bulk load, and when an edit makes new ones. */
#define LEAF_BULK_FILL (LEAF_CAPACITY - UNIT_ENTRIES)
#define LEAF_EDIT_FILL (LEAF_CAPACITY * 7 / 8)
/* A leaf from which entries go joins a neighbour where the two have no more than this, and with it all that fit. Two neighbours that an
 * erase leaves have more, so leaves stay a third full, whatever is erased. */
#define LEAF_SPARSE    (LEAF_CAPACITY * 2 / 3)
#define LEAF_JOIN_FILL (LEAF_CAPACITY * 3 / 4)

/* The same for pages. */
#define PAGE_FILL      (PAGE_SLOTS * 7 / 8)
#define PAGE_SPARSE    (PAGE_SLOTS / 2)
#define PAGE_JOIN_FILL (PAGE_SLOTS * 3 / 4)

static inline copse_unit *leaf_units(char *leaf)
{
    return (copse_unit *)(leaf + 64);
}

/* --- leaves ------------------------------------------------------------------------------------------------------- */

/* Base and shift of the digests of a leaf with n entries. */
static inline uint64_t leaf_base_shift(const copse_unit *units, uint32_t n)
{
    if (KEY_BITS == 32 || n == 0) return 0;
    const uint64_t base = units[0].keys[0] & ~UINT64_C(63), span = unit_key(units, n - 1) - base;
    return base | (span >> 32 ? 32u - (uint32_t)__builtin_clzll(span) : 0);
}

/* Finishes a leaf whose first n entries have been written: pads the rest and writes the head. */
static inline void leaf_seal(char *leaf, uint32_t n)
{
    copse_unit *units = leaf_units(leaf);
    copse_leaf_head *head = (copse_leaf_head *)leaf;
    uint32_t used = (n + UNIT_ENTRIES - 1) / UNIT_ENTRIES;
    unit_pad(units, n);
    for (uint32_t u = used; u < COPSE_LEAF_UNITS; u++)
        for (uint32_t i = 0; i < UNIT_ENTRIES; i++) {
            units[u].keys[i] = KEY_MAX;
            units[u].values[i] = 0;
        }
    const uint64_t base_shift = leaf_base_shift(units, n), base = base_shift & ~UINT64_C(63);
    const uint32_t shift = (uint32_t)(base_shift & 63);
    head->base_shift = base_shift;
    for (uint32_t u = 0; u + 1 < COPSE_LEAF_UNITS; u++)
        head->digest[u] = u + 1 < used ? copse_digest(units[u].keys[UNIT_ENTRIES - 1], base, shift) : UINT32_MAX;
}

/* The head of a leaf whose entries from position `from` on have changed; before that it had `before` entries. */
static inline void leaf_reseal(char *leaf, uint32_t before, uint32_t n, uint32_t from)
{
    const copse_unit *units = leaf_units(leaf);
    copse_leaf_head *head = (copse_leaf_head *)leaf;
    const uint64_t base_shift = leaf_base_shift(units, n);
    const uint32_t most = before > n ? before : n;
    const uint32_t used = (n + UNIT_ENTRIES - 1) / UNIT_ENTRIES, end = (most + UNIT_ENTRIES - 1) / UNIT_ENTRIES;
    uint32_t u = from / UNIT_ENTRIES;
    if (base_shift != head->base_shift) u = 0;
    if (u) u--; /* the last unit has no digest until there is another behind it */
    head->base_shift = base_shift;
    for (; u < end && u + 1 < COPSE_LEAF_UNITS; u++)
        head->digest[u] = u + 1 < used ? copse_digest(units[u].keys[UNIT_ENTRIES - 1], base_shift & ~UINT64_C(63),
                                                      (uint32_t)(base_shift & 63))
                                       : UINT32_MAX;
}

static inline void leaf_move(copse_unit *units, uint32_t from, uint32_t to)
{
    units[to / UNIT_ENTRIES].keys[to % UNIT_ENTRIES] = units[from / UNIT_ENTRIES].keys[from % UNIT_ENTRIES];
    units[to / UNIT_ENTRIES].values[to % UNIT_ENTRIES] = units[from / UNIT_ENTRIES].values[from % UNIT_ENTRIES];
}

static inline void leaf_set(copse_unit *units, uint32_t at, KEY key, VALUE value)
{
    units[at / UNIT_ENTRIES].keys[at % UNIT_ENTRIES] = key;
    units[at / UNIT_ENTRIES].values[at % UNIT_ENTRIES] = value;
}

/* Merges pairs into a leaf in place, from the back: only what stands behind the first of them moves. The caller knows the entries
 * afterwards, and that they fit. */
static inline void leaf_merge(char *leaf, uint32_t before, uint32_t after, const copse_pair *pairs, uint64_t n,
                              merge_kind kind)
{
    copse_unit *units = leaf_units(leaf);
    uint32_t from = before, to = after;
    while (n) {
        const copse_pair *pair = &pairs[--n];
        while (from && unit_key(units, from - 1) > pair->key) leaf_move(units, --from, --to);
        if (kind == MERGE_APPEND || !from || unit_key(units, from - 1) != pair->key) {
            leaf_set(units, --to, pair->key, pair->value);
            continue;
        }
        leaf_move(units, --from, --to);
        if (kind == MERGE_UPSERT) units[to / UNIT_ENTRIES].values[to % UNIT_ENTRIES] = pair->value;
    }
    leaf_reseal(leaf, before, after, to);
}

/* Takes one entry out of a leaf of several. */
static inline void leaf_remove(char *leaf, uint32_t before, uint32_t at)
{
    copse_unit *units = leaf_units(leaf);
    for (uint32_t i = at; i + 1 < before; i++) leaf_move(units, i + 1, i);
    leaf_set(units, before - 1, KEY_MAX, 0);
    leaf_reseal(leaf, before, before - 1, at);
}

/* Position of the first key >= key in a leaf of n entries. */
static inline uint32_t leaf_seek(const char *leaf, uint32_t n, KEY key)
{
    const copse_leaf_head *head = (const copse_leaf_head *)leaf;
    const copse_unit *units = (const copse_unit *)(leaf + 64);
    const uint32_t digest = KEY_BITS == 64
                                ? copse_digest(key, head->base_shift & ~UINT64_C(63), (uint32_t)(head->base_shift & 63))
                                : (uint32_t)key;
    uint32_t at = 0;
    for (uint32_t u = 0; u + 1 < COPSE_LEAF_UNITS; u++) at += head->digest[u] < digest;
    at *= UNIT_ENTRIES;
    while (at < n && unit_key(units, at) < key) at++;
    return at;
}

static inline KEY leaf_last_key(char *leaf, uint32_t n)
{
    return unit_key(leaf_units(leaf), n - 1);
}

/* --- slots -------------------------------------------------------------------------------------------------------- */

static inline leaf_page *table_page(const copse_page_directory *table, uint64_t page)
{
    return (leaf_page *)table->page[page];
}

static inline KEY *table_fence(const copse_page_directory *table)
{
    return table->fence;
}

static inline leaf_page *slot_page(const copse_page_directory *table, uint64_t slot)
{
    return table_page(table, slot >> COPSE_PAGE_SHIFT);
}

static inline uint32_t slot_at(uint64_t slot)
{
    return (uint32_t)(slot & ((1u << COPSE_PAGE_SHIFT) - 1));
}

static inline uint64_t slot_of(uint64_t page, uint64_t at)
{
    return page << COPSE_PAGE_SHIFT | at;
}

static inline char *slot_leaf(const copse_page_directory *table, uint64_t slot)
{
    return slot_page(table, slot)->leaf[slot_at(slot)];
}

static inline KEY table_first_key(const copse_page_directory *table, uint64_t slot)
{
    return leaf_units(slot_leaf(table, slot))[0].keys[0];
}

static inline KEY slot_fence(const copse_page_directory *table, uint64_t slot)
{
    return slot_page(table, slot)->fence[slot_at(slot)];
}

static inline uint32_t page_count(const leaf_page *page, uint32_t at)
{
    return (uint32_t)page->ahead[at + 1] - page->ahead[at];
}

static inline uint32_t slot_count(const copse_page_directory *table, uint64_t slot)
{
    return page_count(slot_page(table, slot), slot_at(slot));
}

/* The slot behind the last one. */
static inline uint64_t table_end(const copse_page_directory *table)
{
    return slot_of(table->pages, 0);
}

static inline uint64_t table_next(const copse_page_directory *table, uint64_t slot)
{
    return slot_at(slot) + 1u < slot_page(table, slot)->used ? slot + 1 : slot_of((slot >> COPSE_PAGE_SHIFT) + 1, 0);
}

static inline uint64_t table_previous(const copse_page_directory *table, uint64_t slot)
{
    if (slot_at(slot)) return slot - 1;
    uint64_t page = (slot >> COPSE_PAGE_SHIFT) - 1;
    return slot_of(page, table_page(table, page)->used - 1u);
}

/* First position from `low` on, below n, whose fence is >= key; n where there is none. It gallops: near answers are found quickly. */
static inline uint64_t fence_seek(const KEY *fence, uint64_t low, uint64_t n, KEY key)
{
    uint64_t step = 1;
    while (low + step <= n && fence[low + step - 1] < key) {
        low += step;
        step *= 2;
    }
    uint64_t high = low + step - 1 < n ? low + step - 1 : n;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (fence[middle] < key)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* First slot from `from` on whose fence is >= key. There is one: the last slot has the maximum. */
static inline uint64_t table_seek(const copse_page_directory *table, uint64_t from, KEY key)
{
    uint64_t was = from >> COPSE_PAGE_SHIFT, page = fence_seek(table_fence(table), was, table->pages, key);
    const leaf_page *in = table_page(table, page);
    return slot_of(page, fence_seek(in->fence, page == was ? slot_at(from) : 0, in->used, key));
}

static inline uint32_t node_less(const KEY *separators, KEY key)
{
    uint32_t less = 0;
    for (uint32_t j = 0; j + 1 < FANOUT; j++) less += separators[j] < key;
    return less;
}

/* The same as table_seek from the first slot on, by the inner levels. */
static inline uint64_t table_walk(const copse_page_directory *table, KEY key)
{
    uint64_t page = 0;
    for (uint32_t l = 0; l < table->levels.height; l++)
        page = page * FANOUT + node_less((const KEY *)table->levels.level[l] + page * (FANOUT - 1), key);
    const leaf_page *in = table_page(table, page);
    const uint32_t node = node_less(in->root, key);
    return slot_of(page, node * FANOUT + node_less(in->node[node], key));
}

/* --- pages -------------------------------------------------------------------------------------------------------- */

/* The separators of a page, from the node of slot `from` on. Free children have the maximum. */
static inline void page_refresh(leaf_page *page, uint32_t from)
{
    const uint32_t used = page->used;
    for (uint32_t node = from / FANOUT; node < FANOUT; node++) {
        const uint32_t first = node * FANOUT;
        for (uint32_t j = 0; j + 1 < FANOUT; j++)
            page->node[node][j] = first + j < used ? page->fence[first + j] : KEY_MAX;
        if (node + 1 < FANOUT) page->root[node] = first + FANOUT - 1 < used ? page->fence[first + FANOUT - 1] : KEY_MAX;
    }
}

/* Puts a leaf behind the last one. The caller refreshes the page in the end. */
static inline void page_put(leaf_page *page, char *leaf, KEY fence, uint32_t count)
{
    const uint32_t at = page->used++;
    page->leaf[at] = leaf;
    page->fence[at] = fence;
    page->ahead[at + 1] = (uint16_t)(page->ahead[at] + count);
}

/* --- the directory ------------------------------------------------------------------------------------------------ */

/* An empty directory with room for so many pages. False: no memory. */
static inline bool table_create(const copse_ctx *ctx, uint64_t room, copse_page_directory *out)
{
    copse_page_directory table = {.room = room};
    uint64_t nodes[COPSE_LEVELS_MOST], sums[COPSE_RANK_LEVELS], all_nodes = 0, all_sums = 0;
    uint32_t levels = 0, ranks = 0;
    for (uint64_t n = room; n > 1; levels++) all_nodes += nodes[levels] = n = (n + FANOUT - 1) / FANOUT;
    for (uint64_t n = room;; n = (n + 15) / 16) {
        all_sums += sums[ranks++] = n;
        if (n <= 16) break;
    }
    table.bytes = all_nodes * 64 + room * (sizeof(char *) + sizeof(KEY)) + all_sums * 2 * sizeof(uint64_t);
    char *at = table.memory = copse_memory_alloc(ctx, table.bytes);
    if (!at) return false;
    for (uint32_t l = 0; l < levels; at += nodes[l++] * 64) table.storage[l] = at;
    for (uint32_t l = 0; l < ranks; l++) {
        table.below[l] = (uint64_t *)at;
        table.before[l] = table.below[l] + sums[l];
        at += sums[l] * 2 * sizeof(uint64_t);
    }
    table.page = (char **)at;
    table.fence = at + room * sizeof(char *);
    *out = table;
    return true;
}

/* Work on nodes or pages from `start` on. */
typedef struct table_job {
    const copse_index *index;
    copse_regular *tree;
    copse_page_directory *table;
    uint64_t start;
    uint32_t level; /* of the nodes */
    uint64_t span;  /* pages below one of their children */
} table_job;

/* Fewer nodes, or pages, each of which is a line far away, are not worth a second thread. */
#define TABLE_ALONE       4096u
#define TABLE_PAGES_ALONE 512u

static inline void table_run(const copse_ctx *ctx, uint32_t threads, uint64_t n, copse_chunk_fn body, table_job *job)
{
    uint32_t team = n <= TABLE_ALONE ? 1 : threads;
    copse_parallel(ctx, team, n, copse_even_chunk(n, team), body, job);
}

static inline void table_fill_nodes(void *argument, uint64_t first, uint64_t last)
{
    const table_job *job = argument;
    const KEY *fence = table_fence(job->table);
    KEY *level = (KEY *)job->table->levels.level[job->level];
    const uint64_t pages = job->table->pages;
    for (uint64_t node = job->start + first; node < job->start + last; node++)
        for (uint64_t j = 0; j + 1 < FANOUT; j++) {
            uint64_t end = (node * FANOUT + j + 1) * job->span;
            level[node * (FANOUT - 1) + j] = end < pages ? fence[end - 1] : KEY_MAX;
        }
}

/* Separators above pages first .. last. */
static inline void table_refresh_nodes(const copse_ctx *ctx, copse_page_directory *table, uint64_t first, uint64_t last)
{
    uint64_t span = 1;
    for (uint32_t l = table->levels.height; l-- > 0; span *= FANOUT) {
        first /= FANOUT;
        last /= FANOUT;
        table_job job = {.table = table, .start = first, .level = l, .span = span};
        table_run(ctx, ctx->threads, last - first + 1, table_fill_nodes, &job);
    }
}

/* Running sums of level l over the nodes that share a parent with node `node`, of n; returns their total. */
static inline uint64_t table_run_sums(copse_page_directory *table, uint32_t l, uint64_t n, uint64_t node)
{
    uint64_t sum = 0, first = node / 16 * 16;
    uint64_t end = first + 16 < n ? first + 16 : n;
    for (uint64_t i = first; i < end; i++) {
        table->before[l][i] = sum;
        sum += table->below[l][i];
    }
    return sum;
}

/* Fences and entries of pages. */
static inline void table_fill_pages(void *argument, uint64_t first, uint64_t last)
{
    const table_job *job = argument;
    for (uint64_t p = job->start + first; p < job->start + last; p++) {
        const leaf_page *page = table_page(job->table, p);
        table_fence(job->table)[p] = page->fence[page->used - 1];
        job->table->below[0][p] = page->ahead[page->used];
    }
}

static inline void table_read_pages(const copse_ctx *ctx, copse_page_directory *table, uint64_t first, uint64_t last)
{
    const uint32_t threads = last - first < TABLE_PAGES_ALONE ? 1 : ctx->threads;
    table_job job = {.table = table, .start = first};
    copse_parallel(ctx, threads, last - first + 1, copse_even_chunk(last - first + 1, threads), table_fill_pages, &job);
}

/* What stands above the entries of pages first .. last. */
static inline void table_raise_counts(copse_page_directory *table, uint64_t first, uint64_t last)
{
    uint64_t n = table->pages;
    for (uint32_t l = 0; l < table->rank_height; l++, first /= 16, last /= 16, n = (n + 15) / 16)
        for (uint64_t i = first / 16; i <= last / 16; i++) {
            uint64_t sum = table_run_sums(table, l, n, i * 16);
            if (l + 1 < table->rank_height) table->below[l + 1][i] = sum;
        }
}

/* After pages from `first` on have changed their places: everything in the directory but the pages themselves. What it knows of a page is
 * read from those from `unread` on. */
static inline void table_refresh(const copse_ctx *ctx, copse_page_directory *table, uint64_t first, uint64_t unread)
{
    const uint64_t pages = table->pages;
    copse_levels *levels = &table->levels;
    const uint32_t height = levels->height;
    levels->height = 0;
    for (uint64_t n = pages; n > 1; n = (n + FANOUT - 1) / FANOUT) levels->height++;
    uint64_t nodes = pages;
    for (uint32_t l = levels->height; l-- > 0;) {
        levels->level[l] = table->storage[levels->height - 1 - l];
        levels->nodes[l] = nodes = (nodes + FANOUT - 1) / FANOUT;
    }
    table->rank_height = 1;
    for (uint64_t n = pages; n > 16; n = (n + 15) / 16) table->rank_height++;
    if (levels->height != height) first = 0;
    table_read_pages(ctx, table, unread, pages - 1);
    /* The separator in front of the first of them may change, too. */
    table_refresh_nodes(ctx, table, first ? first - 1 : 0, pages - 1);
    table_raise_counts(table, first, pages - 1);
}
