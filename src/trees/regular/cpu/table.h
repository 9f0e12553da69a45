/* Leaves, and the table of slots that holds them in order. Layout and idea: trees/regular/layout.h. */
#pragma once

#include "trees/regular/layout.h"
#include "core/aggregate.h"
#include "core/levels.h"
#include "core/threads.h"
#include "cpu/merge.h"

#include <string.h>

#define FANOUT        ((uint64_t)(64u / sizeof(KEY) + 1))
#define LEAF_CAPACITY (COPSE_LEAF_UNITS * UNIT_ENTRIES)
/* Leaves are filled up to these numbers of entries: by a bulk load, and when an edit makes new ones. */
#define LEAF_BULK_FILL (LEAF_CAPACITY - UNIT_ENTRIES)
#define LEAF_EDIT_FILL (LEAF_CAPACITY * 7 / 8)
/* Below this an erase looks for neighbours to join. */
#define LEAF_SPARSE (LEAF_CAPACITY / 3)

static inline copse_unit *leaf_units(char *leaf)
{
    return (copse_unit *)(leaf + 64);
}

static inline KEY *table_fence(const copse_leaf_table *table)
{
    return table->fence;
}

/* --- leaves ------------------------------------------------------------------------------------------------------- */

/* Finishes a leaf whose first n entries have been written: pads the rest and writes the head. */
static void leaf_seal(char *leaf, uint32_t n)
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
    uint64_t base = 0;
    uint32_t shift = 0;
    if (KEY_BITS == 64 && n) {
        base = units[0].keys[0] & ~UINT64_C(63);
        uint64_t span = unit_key(units, n - 1) - base;
        shift = span >> 32 ? 32u - (uint32_t)__builtin_clzll(span) : 0;
    }
    head->base_shift = base | shift;
    for (uint32_t u = 0; u + 1 < COPSE_LEAF_UNITS; u++)
        head->digest[u] = u + 1 < used ? copse_digest(units[u].keys[UNIT_ENTRIES - 1], base, shift) : UINT32_MAX;
}

static inline KEY leaf_last_key(char *leaf, uint32_t n)
{
    return unit_key(leaf_units(leaf), n - 1);
}

/* --- making a table ----------------------------------------------------------------------------------------------- */

static void table_plan(copse_leaf_table *table, uint64_t leaves)
{
    uint64_t sizes[COPSE_LEVELS_MOST];
    uint32_t height = 0;
    table->groups = leaves * 3 / (FANOUT * 2) + 1; /* two thirds full */
    table->slots = table->groups * FANOUT;
    for (uint64_t n = table->groups;; n = (n + FANOUT - 1) / FANOUT) {
        sizes[height++] = n;
        if (n == 1) break;
    }
    table->levels.height = height;
    for (uint32_t l = 0; l < height; l++) table->levels.nodes[l] = sizes[height - 1 - l];
    for (uint64_t n = table->groups;; n = (n + 15) / 16) {
        table->below_nodes[table->rank_height++] = n;
        if (n <= 16) break;
    }
}

/* An empty table with room for `leaves` and some more. False: no memory. */
static bool table_create(const copse_ctx *ctx, uint64_t leaves, copse_leaf_table *out)
{
    copse_leaf_table table = {0};
    table_plan(&table, leaves);
    uint64_t nodes = 0, sums = 0;
    for (uint32_t l = 0; l < table.levels.height; l++) nodes += table.levels.nodes[l];
    for (uint32_t l = 0; l < table.rank_height; l++) sums += table.below_nodes[l];
    table.bytes = nodes * 64 + table.slots * (sizeof(char *) + sizeof(KEY) + 3) + sums * 2 * sizeof(uint64_t);
    char *at = table.memory = copse_memory_alloc(ctx, table.bytes);
    if (!at) return false;
    for (uint32_t l = 0; l < table.levels.height; l++) {
        table.levels.level[l] = at;
        at += table.levels.nodes[l] * 64;
    }
    table.leaf = (char **)at;
    at += table.slots * sizeof(char *);
    for (uint32_t l = 0; l < table.rank_height; l++) {
        table.below[l] = (uint64_t *)at;
        table.before[l] = table.below[l] + table.below_nodes[l];
        at += table.below_nodes[l] * 2 * sizeof(uint64_t);
    }
    table.fence = at;
    at += table.slots * sizeof(KEY);
    table.ahead = (uint16_t *)at;
    table.count = (uint8_t *)at + table.slots * sizeof(uint16_t);
    memset(table.leaf, 0, table.slots * sizeof(char *));
    memset(table.count, 0, table.slots);
    *out = table;
    return true;
}

/* Where entry i of n goes when they are spread evenly over `groups`: every group gets its share, in front. */
static inline uint64_t table_spread(uint64_t i, uint64_t n, uint64_t groups)
{
    uint64_t group = i * groups / n;
    return group * FANOUT + (i - (group * n + groups - 1) / groups);
}

/* --- keeping the inner levels and the counts right ---------------------------------------------------------------- */

/* Work on nodes, groups or slots from `start` on. */
typedef struct table_job {
    const copse_index *index;
    copse_regular *tree;
    copse_leaf_table *table;
    uint64_t start;
    uint32_t level; /* of the nodes */
    uint64_t span;  /* slots below one of their children */
} table_job;

/* Less than this is not worth a second thread. */
#define TABLE_ALONE 4096u

static void table_run(const copse_ctx *ctx, uint32_t threads, uint64_t n, copse_chunk_fn body, table_job *job)
{
    uint32_t team = n <= TABLE_ALONE ? 1 : threads;
    copse_parallel(ctx, team, n, copse_even_chunk(n, team), body, job);
}

static void table_fill_nodes(void *argument, uint64_t first, uint64_t last)
{
    const table_job *job = argument;
    const KEY *fence = table_fence(job->table);
    KEY *level = (KEY *)job->table->levels.level[job->level];
    for (uint64_t node = job->start + first; node < job->start + last; node++)
        for (uint64_t j = 0; j + 1 < FANOUT; j++) {
            uint64_t end = (node * FANOUT + j + 1) * job->span;
            level[node * (FANOUT - 1) + j] = fence[(end < job->table->slots ? end : job->table->slots) - 1];
        }
}

/* Separators of the nodes above groups first .. last. Free slots repeat the fence before them, so a separator is simply
 * the fence of the last slot below its child. */
static void table_refresh_nodes(const copse_ctx *ctx, copse_leaf_table *table, uint64_t first, uint64_t last,
                                uint32_t threads)
{
    uint64_t span = 1;
    for (uint32_t l = table->levels.height; l-- > 0; first /= FANOUT, last /= FANOUT, span *= FANOUT) {
        table_job job = {.table = table, .start = first, .level = l, .span = span};
        table_run(ctx, threads, last - first + 1, table_fill_nodes, &job);
    }
}

/* Running sums of level l over the nodes that share a parent with node `node`; returns their total. */
static uint64_t table_run_sums(copse_leaf_table *table, uint32_t l, uint64_t node)
{
    uint64_t sum = 0, first = node / 16 * 16;
    uint64_t end = first + 16 < table->below_nodes[l] ? first + 16 : table->below_nodes[l];
    for (uint64_t i = first; i < end; i++) {
        table->before[l][i] = sum;
        sum += table->below[l][i];
    }
    return sum;
}

static void table_count_groups(void *argument, uint64_t first, uint64_t last)
{
    const table_job *job = argument;
    copse_leaf_table *table = job->table;
    for (uint64_t g = job->start + first; g < job->start + last; g++) {
        uint32_t sum = 0;
        for (uint64_t s = g * FANOUT; s < (g + 1) * FANOUT; s++) {
            table->ahead[s] = (uint16_t)sum;
            sum += table->count[s];
        }
        table->below[0][g] = sum;
    }
}

static void table_refresh_counts(const copse_ctx *ctx, copse_leaf_table *table, uint64_t first, uint64_t last,
                                 uint32_t threads)
{
    table_job job = {.table = table, .start = first};
    table_run(ctx, threads, last - first + 1, table_count_groups, &job);
    for (uint32_t l = 0; l < table->rank_height; l++) {
        for (uint64_t i = first / 16; i <= last / 16; i++) {
            uint64_t sum = table_run_sums(table, l, i * 16);
            if (l + 1 < table->rank_height) table->below[l + 1][i] = sum;
        }
        first /= 16;
        last /= 16;
    }
}

static void regular_summarize(const copse_index *index, copse_regular *tree, uint64_t slot)
{
    copse_aggregate all = COPSE_AGGREGATE_EMPTY;
    if (tree->table.leaf[slot]) {
        const copse_unit *units = leaf_units(tree->table.leaf[slot]);
        uint32_t left = tree->table.count[slot];
        for (uint32_t u = 0; left; u++) {
            uint32_t n = left < UNIT_ENTRIES ? left : UNIT_ENTRIES;
            copse_aggregate_add(&all, index->value_type, units[u].values, n);
            left -= n;
        }
    }
    tree->summary.level[0][slot] = all;
}

static void regular_summarize_slots(void *argument, uint64_t first, uint64_t last)
{
    const table_job *job = argument;
    for (uint64_t s = first; s < last; s++) regular_summarize(job->index, job->tree, job->start + s);
}

/* The summary over slots first .. last. */
static void regular_summarize_all(const copse_index *index, copse_regular *tree, uint64_t first, uint64_t last,
                                  uint32_t threads)
{
    table_job job = {.index = index, .tree = tree, .start = first};
    uint64_t slots = last - first + 1;
    copse_parallel(index->ctx, threads, slots, copse_even_chunk(slots, threads), regular_summarize_slots, &job);
    copse_summary_raise(index->ctx, &tree->summary, first, last, threads);
}

/* Everything that is derived from slots of groups first .. last. */
static void regular_refresh(const copse_index *index, copse_regular *tree, uint64_t first, uint64_t last)
{
    uint32_t threads = copse_threads_for(index->ctx, (last - first) * FANOUT);
    table_refresh_nodes(index->ctx, &tree->table, first, last, threads);
    table_refresh_counts(index->ctx, &tree->table, first, last, threads);
    if (tree->has_summary) regular_summarize_all(index, tree, first * FANOUT, (last + 1) * FANOUT - 1, threads);
}

/* --- finding, inserting and removing slots ------------------------------------------------------------------------ */

/* First slot from `from` on whose fence is >= key. There is one: the last used slot has the maximum. */
static uint64_t table_seek(const copse_leaf_table *table, uint64_t from, KEY key)
{
    const KEY *fence = table_fence(table);
    uint64_t step = 1, low = from;
    while (low + step < table->slots && fence[low + step - 1] < key) {
        low += step;
        step *= 2;
    }
    uint64_t high = low + step < table->slots ? low + step : table->slots;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (fence[middle] < key)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The next used slot behind `slot`, or table->slots. */
static inline uint64_t table_next(const copse_leaf_table *table, uint64_t slot)
{
    for (slot++; slot < table->slots && !table->leaf[slot]; slot++) {
    }
    return slot;
}

/* The group of the slot in front of `slot`. */
static inline uint64_t table_group_before(const copse_leaf_table *table, uint64_t slot)
{
    return (slot && slot <= table->slots ? slot - 1 : 0) / FANOUT;
}

/* The slot that holds a certain leaf, known by its fence. */
static uint64_t table_find_leaf(const copse_leaf_table *table, const char *leaf, KEY fence)
{
    uint64_t slot = table_seek(table, 0, fence);
    while (table->leaf[slot] != leaf) slot++;
    return slot;
}

static inline void slot_move(copse_leaf_table *table, uint64_t from, uint64_t to)
{
    if (from == to) return;
    table->leaf[to] = table->leaf[from];
    table->count[to] = table->count[from];
    table_fence(table)[to] = table_fence(table)[from];
    table->leaf[from] = NULL;
    table->count[from] = 0;
}

/* Gives free slots from `slot` on the fence of the used slot before them. Returns the last slot that it wrote, or
 * `slot` itself. */
static uint64_t table_repeat_fences(copse_leaf_table *table, uint64_t slot)
{
    KEY *fence = table_fence(table);
    uint64_t at = slot;
    for (; at < table->slots && !table->leaf[at]; at++) fence[at] = at ? fence[at - 1] : 0;
    return at > slot ? at - 1 : slot;
}

/* The same for the whole table. */
static void table_repeat_all(copse_leaf_table *table)
{
    KEY *fence = table_fence(table);
    for (uint64_t s = 1; s < table->slots; s++)
        if (!table->leaf[s]) fence[s] = fence[s - 1];
}

/* Spreads the leaves of groups first .. first + groups evenly, in place: first all to the left, then, from the right,
 * each to its slot, which never lies left of where it is. */
static void table_respread(copse_leaf_table *table, uint64_t first, uint64_t groups)
{
    uint64_t begin = first * FANOUT, n = 0;
    for (uint64_t s = begin; s < begin + groups * FANOUT; s++)
        if (table->leaf[s]) slot_move(table, s, begin + n++);
    for (uint64_t i = n; i-- > 0;) slot_move(table, begin + i, begin + table_spread(i, n, groups));
    for (uint64_t s = begin; s < begin + groups * FANOUT; s++)
        if (!table->leaf[s]) table_fence(table)[s] = table_fence(table)[s - 1];
}

/* The aligned window of fanout^height groups around a group. */
static void table_window(const copse_leaf_table *table, uint64_t group, uint32_t height, uint64_t *first,
                         uint64_t *groups)
{
    uint64_t width = 1;
    for (uint32_t h = 0; h < height; h++) width *= FANOUT;
    *first = group / width * width;
    *groups = table->groups - *first < width ? table->groups - *first : width;
}

static uint64_t table_used(const copse_leaf_table *table, uint64_t first, uint64_t groups)
{
    uint64_t used = 0;
    for (uint64_t s = first * FANOUT; s < (first + groups) * FANOUT; s++) used += table->leaf[s] != NULL;
    return used;
}

/* Respreads the smallest window around a full group that is not too full. Small windows may be fuller than large
 * ones, so that a large one, once spread, has room for long. The caller has made sure that the whole table has room. */
static void regular_make_room(const copse_index *index, copse_regular *tree, uint64_t group)
{
    copse_leaf_table *table = &tree->table;
    uint32_t top = table->levels.height;
    for (uint32_t h = 1;; h++) {
        uint64_t first, groups;
        table_window(table, group, h, &first, &groups);
        uint64_t used = table_used(table, first, groups), slots = groups * FANOUT;
        /* Spread evenly, every group has a free slot; and up to 1 slot in 16 more stays free at the top. */
        uint64_t most = slots - groups - slots * h / (top * 16 + 16);
        bool whole = groups == table->groups;
        if (used > most && !whole) continue;
        table_respread(table, first, groups);
        regular_refresh(index, tree, first, first + groups - 1);
        return;
    }
}

/* Puts a leaf behind the used slot that holds the leaf `before`. */
static void regular_slot_insert(const copse_index *index, copse_regular *tree, const char *before, KEY fence_before,
                                char *leaf, uint8_t count, KEY fence)
{
    copse_leaf_table *table = &tree->table;
    uint64_t slot = table_find_leaf(table, before, fence_before), group = slot / FANOUT;
    while (table->leaf[group * FANOUT + FANOUT - 1]) {
        regular_make_room(index, tree, group);
        slot = table_find_leaf(table, before, fence_before);
        group = slot / FANOUT;
    }
    for (uint64_t s = group * FANOUT + FANOUT - 1; s > slot + 1; s--)
        if (table->leaf[s - 1]) slot_move(table, s - 1, s);
    table->leaf[slot + 1] = leaf;
    table->count[slot + 1] = count;
    table_fence(table)[slot + 1] = fence;
    uint64_t last = slot + 1;
    while (last + 1 < (group + 1) * FANOUT && table->leaf[last + 1]) last++;
    last = table_repeat_fences(table, last + 1);
    regular_refresh(index, tree, group, (last < table->slots ? last : table->slots - 1) / FANOUT);
    tree->leaves++;
}

/* Takes the slot that holds `leaf` out of the table; the leaf itself stays with the caller. It is not the only one. */
static void regular_slot_remove(const copse_index *index, copse_regular *tree, const char *leaf, KEY fence)
{
    copse_leaf_table *table = &tree->table;
    uint64_t slot = table_find_leaf(table, leaf, fence), group = slot / FANOUT, from = group;
    bool was_last = table_next(table, slot) == table->slots;
    table->leaf[slot] = NULL;
    table->count[slot] = 0;
    for (uint64_t s = slot; s + 1 < (group + 1) * FANOUT && table->leaf[s + 1]; s++) slot_move(table, s + 1, s);
    tree->leaves--;
    uint32_t h = 1;
    while (!table->leaf[0]) { /* slot 0 is always used */
        uint64_t first, groups;
        table_window(table, 0, h++, &first, &groups);
        if (table_used(table, first, groups) == 0) continue;
        table_respread(table, first, groups);
        group = first + groups - 1;
        from = 0;
    }
    uint64_t used = (group + 1) * FANOUT - 1;
    if (was_last) used = table->slots - 1;
    while (!table->leaf[used]) used--;
    if (was_last) table_fence(table)[used] = KEY_MAX;
    uint64_t last = table_repeat_fences(table, used + 1);
    if (used / FANOUT < from) from = used / FANOUT;
    uint64_t to = (last < table->slots ? last : table->slots - 1) / FANOUT;
    regular_refresh(index, tree, from, to > group ? to : group);
}
