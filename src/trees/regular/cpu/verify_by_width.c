/* Every invariant of a regular tree of the object's widths. */
#include "trees/regular/cpu/aggregate.h"
#include "trees/regular/cpu/operations.h"
#include "trees/regular/cpu/read.h"
#include "trees/regular/cpu/table.h"

#include <string.h>

static copse_status verify_leaf(const copse_index *index, const leaf_page *page, uint32_t slot, unsigned long long at)
{
    const copse_unit *units = leaf_units(page->leaf[slot]);
    uint32_t n = page_count(page, slot);
    if (n == 0 || n > LEAF_CAPACITY)
        return copse_fail(index->ctx, COPSE_ERR_CORRUPT, "regular tree: leaf %llu has %u entries", at, n);
    for (uint32_t i = 1; i < n; i++) {
        KEY before = unit_key(units, i - 1), key = unit_key(units, i);
        if (key < before || (key == before && !index->duplicates))
            return copse_fail(index->ctx, COPSE_ERR_CORRUPT, "regular tree: entry %u of leaf %llu is out of order", i,
                              at);
    }
    for (uint32_t i = n; i < LEAF_CAPACITY; i++)
        if (unit_key(units, i) != KEY_MAX)
            return copse_fail(index->ctx, COPSE_ERR_CORRUPT, "regular tree: free slot %u of leaf %llu is not padded", i,
                              at);
    if (unit_key(units, n - 1) > page->fence[slot])
        return copse_fail(index->ctx, COPSE_ERR_CORRUPT, "regular tree: leaf %llu goes beyond its fence", at);
    _Alignas(64) char copy[COPSE_LEAF_BYTES];
    memcpy(copy, page->leaf[slot], sizeof copy);
    leaf_seal(copy, n);
    if (memcmp(copy, page->leaf[slot], 64) != 0)
        return copse_fail(index->ctx, COPSE_ERR_CORRUPT, "regular tree: the head of leaf %llu does not fit its units",
                          at);
    return COPSE_OK;
}

/* A page by itself: its leaves and its separators. */
static copse_status verify_page(const copse_index *index, const copse_page_directory *table, uint64_t number)
{
    const leaf_page *page = table_page(table, number);
    unsigned long long at = number;
    if (page->used == 0 || page->used > PAGE_SLOTS || page->ahead[0])
        return copse_fail(index->ctx, COPSE_ERR_CORRUPT, "regular tree: page %llu has %u leaves", at, page->used);
    for (uint32_t s = 0; s < page->used; s++) {
        copse_status status = verify_leaf(index, page, s, slot_of(number, s));
        if (status != COPSE_OK) return status;
    }
    leaf_page copy;
    memcpy(&copy, page, offsetof(leaf_page, values)); /* a reader may be making those */
    page_refresh(&copy, 0);
    if (memcmp(copy.root, page->root, sizeof copy.root) != 0 || memcmp(copy.node, page->node, sizeof copy.node) != 0)
        return copse_fail(index->ctx, COPSE_ERR_CORRUPT, "regular tree: a separator of page %llu is wrong", at);
    if (table_fence(table)[number] != page->fence[page->used - 1] || table->below[0][number] != page->ahead[page->used])
        return copse_fail(index->ctx, COPSE_ERR_CORRUPT, "regular tree: page %llu is not what the directory says", at);
    return COPSE_OK;
}

/* All pages, and the order between leaves. */
static copse_status verify_slots(const copse_index *index, const copse_regular *tree)
{
    const copse_page_directory *table = &tree->table;
    uint64_t leaves = 0, entries = 0, last = table_end(table);
    for (uint64_t p = 0; p < table->pages; p++) {
        copse_status status = verify_page(index, table, p);
        if (status != COPSE_OK) return status;
        leaves += table_page(table, p)->used;
        entries += table->below[0][p];
    }
    for (uint64_t s = 0; s < table_end(table); last = s, s = table_next(table, s)) {
        if (s == 0) continue;
        /* With duplicates a leaf may begin with the key that the one before ends with, not merely its fence. */
        const KEY first = table_first_key(table, s);
        bool shared = index->duplicates && first == leaf_last_key(slot_leaf(table, last), slot_count(table, last));
        if (slot_fence(table, s) < slot_fence(table, last) || (first <= slot_fence(table, last) && !shared))
            return copse_fail(index->ctx, COPSE_ERR_CORRUPT, "regular tree: leaf %llu overlaps the one before",
                              (unsigned long long)s);
    }
    if (leaves != tree->leaves || entries != tree->entries || leaves != tree->pool.used ||
        table->pages != tree->page_pool.used)
        return copse_fail(index->ctx, COPSE_ERR_CORRUPT,
                          "regular tree: %llu leaves and %llu entries, but %llu and %llu are kept",
                          (unsigned long long)leaves, (unsigned long long)entries, (unsigned long long)tree->leaves,
                          (unsigned long long)tree->entries);
    if (slot_fence(table, last) != KEY_MAX)
        return copse_fail(index->ctx, COPSE_ERR_CORRUPT, "regular tree: the last leaf's fence is not the maximum");
    return COPSE_OK;
}

static copse_status verify_levels(const copse_index *index, const copse_regular *tree)
{
    const copse_page_directory *table = &tree->table;
    uint64_t span = 1;
    for (uint32_t l = table->levels.height; l-- > 0; span *= FANOUT)
        for (uint64_t i = 0; i < table->levels.nodes[l] * (FANOUT - 1); i++) {
            uint64_t end = (i / (FANOUT - 1) * FANOUT + i % (FANOUT - 1) + 1) * span;
            KEY wanted = end < table->pages ? table_fence(table)[end - 1] : KEY_MAX;
            if (((const KEY *)table->levels.level[l])[i] != wanted)
                return copse_fail(index->ctx, COPSE_ERR_CORRUPT, "regular tree: separator %llu of level %u is wrong",
                                  (unsigned long long)i, l);
        }
    uint64_t rank = 0;
    for (uint64_t p = 0; p < table->pages; rank += table->below[0][p++])
        if (regular_rank_one(tree, slot_of(p, 0) << COPSE_LOCATION_SHIFT) != rank)
            return copse_fail(index->ctx, COPSE_ERR_CORRUPT, "regular tree: the counts in front of page %llu are wrong",
                              (unsigned long long)p);
    return COPSE_OK;
}

static copse_status verify_summary(const copse_index *index, const copse_regular *tree)
{
    const copse_page_directory *table = &tree->table;
    const uint64_t end = table_end(table) << COPSE_LOCATION_SHIFT;
    if (!tree->has_summary) return COPSE_OK;
    for (uint64_t p = 0; p < table->pages; p++) {
        copse_aggregate scanned = COPSE_AGGREGATE_EMPTY, low = scanned, high = scanned, sum = scanned;
        const uint64_t from = slot_of(p, 0), to = slot_of(p + 1, 0);
        for (uint64_t s = from; s < to; s = table_next(table, s)) regular_scan(index, s, 0, LEAF_CAPACITY, &scanned);
        regular_aggregate(index, from << COPSE_LOCATION_SHIFT, to << COPSE_LOCATION_SHIFT, COPSE_KIND_MIN, &low);
        regular_aggregate(index, from << COPSE_LOCATION_SHIFT, to << COPSE_LOCATION_SHIFT, COPSE_KIND_MAX, &high);
        regular_aggregate(index, from << COPSE_LOCATION_SHIFT, to << COPSE_LOCATION_SHIFT, COPSE_KIND_SUM, &sum);
        if (scanned.sum != sum.sum || scanned.smallest != low.smallest || scanned.largest != high.largest)
            return copse_fail(index->ctx, COPSE_ERR_CORRUPT,
                              "regular tree: the summary of page %llu does not agree with its values",
                              (unsigned long long)p);
    }
    copse_aggregate all = COPSE_AGGREGATE_EMPTY, whole = COPSE_AGGREGATE_EMPTY;
    regular_aggregate(index, 0, end, COPSE_KIND_MIN, &all);
    for (uint64_t p = 0; p < table->pages; p++)
        whole.smallest = tree->values.low[0][p] < whole.smallest ? tree->values.low[0][p] : whole.smallest;
    if (all.smallest != whole.smallest)
        return copse_fail(index->ctx, COPSE_ERR_CORRUPT, "regular tree: the summary of the pages does not add up");
    return COPSE_OK;
}

copse_status NAME(copse_regular_verify)(const copse_index *index)
{
    copse_regular *tree = index->tree;
    copse_status status = copse_progress(index->ctx, "verifying", 0, tree->entries);
    if (status != COPSE_OK || tree->entries == 0) return status;
    status = verify_slots(index, tree);
    if (status == COPSE_OK) status = verify_levels(index, tree);
    pthread_mutex_lock(&tree->lock);
    if (status == COPSE_OK) status = verify_summary(index, tree);
    pthread_mutex_unlock(&tree->lock);
    return status;
}
