/* The radix tree: neighbours, and scans. */
#include "cpu/byte_reads.h"
#include "trees/radix/cpu/tree.h"

/* --- neighbours ----------------------------------------------------------------------------------------------------- */

copse_status copse_radix_neighbours(const copse_index *index, const void *keys, uint64_t n, copse_neighbour which,
                                    void *out_keys, void *out_values, uint8_t *out_found, uint64_t *out_ranks)
{
    const copse_radix *tree = index->tree;
    copse_byte_keys queries;
    copse_byte_entries to;
    copse_status status = copse_byte_keys_take(index->ctx, "keys", keys, n, &queries);
    if (status == COPSE_OK && out_ranks)
        status =
            copse_fail(index->ctx, COPSE_ERR_UNSUPPORTED, "out_ranks is not NULL, but the radix tree has no ranks");
    if (status == COPSE_OK) status = copse_byte_entries_open(index, out_keys, out_values, out_found, &to);
    if (status != COPSE_OK) return status;
    for (uint64_t i = 0; i < n; i++) {
        const copse_radix_link leaf = copse_radix_neighbour(tree, copse_byte_key(&queries, i), which);
        if (leaf)
            copse_byte_entries_put(&to, i, true, copse_radix_key(tree, leaf), copse_radix_value(tree, leaf));
        else
            copse_byte_entries_put(&to, i, false, COPSE_SLICE_EMPTY, NULL);
    }
    return copse_byte_output_close(index->ctx, &to.keys);
}

/* --- scans ---------------------------------------------------------------------------------------------------------- */

/* The position of a scan is a gap. Its `key` is the link of the leaf behind it; where that is 0, the gap is in front of everything if
 * `rank` is 0, and behind everything else. */
static void gap_enter(const copse_radix *tree, const copse_scan *scan, copse_radix_walk *walk)
{
    if (scan->position.key)
        copse_radix_walk_at(walk, tree, scan->position.key);
    else if (scan->position.rank)
        copse_radix_walk_behind(walk, tree);
    else
        copse_radix_walk_first(walk, tree);
}

static void gap_leave(const copse_radix *tree, copse_scan *scan, const copse_radix_walk *walk)
{
    scan->position.key = walk->leaf;
    scan->position.rank = walk->leaf ? 0 : tree->entries;
}

/* One end of a scan, of which the caller's copse_bytes is given. */
static copse_status end_take(const copse_index *index, const void *given, copse_slice *out)
{
    copse_byte_keys keys;
    copse_status status = copse_byte_keys_take(index->ctx, "key", given, 1, &keys);
    if (status == COPSE_OK) *out = copse_byte_key(&keys, 0);
    return status;
}

/* Gives the next entry. False: it is not wanted, or does not fit. */
static bool entry_give(const copse_radix *tree, copse_scan *scan, const copse_slice *to, copse_radix_link leaf,
                       copse_byte_scan *keys)
{
    const copse_slice key = copse_radix_key(tree, leaf);
    if (to) {
        const int order = copse_slice_compare(key, *to);
        if ((scan->backwards ? order < 0 : order > 0) || (order == 0 && scan->to_open)) return false;
    }
    if (scan->keys && !copse_byte_scan_put(keys, key)) return false;
    if (scan->values) memcpy((char *)scan->values + scan->n * tree->width, copse_radix_value(tree, leaf), tree->width);
    scan->n++;
    return true;
}

/* Gives entries until there are enough, and leaves the walk at the gap behind them. */
static void scan_run(copse_scan *scan, const copse_slice *to, copse_radix_walk *walk, copse_byte_scan *keys)
{
    while (scan->n < scan->most && !scan->backwards) {
        if (!walk->leaf || !entry_give(walk->tree, scan, to, walk->leaf, keys)) return;
        copse_radix_walk_next(walk);
    }
    while (scan->n < scan->most && copse_radix_walk_previous(walk))
        if (!entry_give(walk->tree, scan, to, walk->leaf, keys)) {
            copse_radix_walk_next(walk);
            return;
        }
}

copse_status copse_radix_scan(const copse_index *index, copse_scan *scan)
{
    const copse_radix *tree = index->tree;
    copse_slice from = COPSE_SLICE_EMPTY, to = COPSE_SLICE_EMPTY;
    copse_radix_walk walk;
    copse_byte_scan keys;
    copse_status status = scan->from ? end_take(index, scan->from, &from) : COPSE_OK;
    scan->n = 0;
    if (status == COPSE_OK && scan->to) status = end_take(index, scan->to, &to);
    if (status == COPSE_OK && scan->keys && scan->most) status = copse_byte_scan_open(index, scan, &keys);
    if (status != COPSE_OK) return status;
    if (scan->from)
        copse_radix_walk_seek(&walk, tree, from,
                              scan->backwards != scan->from_open ? COPSE_RADIX_AFTER : COPSE_RADIX_AT);
    else
        gap_enter(tree, scan, &walk);
    scan_run(scan, scan->to ? &to : NULL, &walk, &keys);
    if (scan->keys && scan->most) status = copse_byte_scan_close(index, &keys);
    if (status == COPSE_OK)
        gap_leave(tree, scan, &walk);
    else
        scan->n = 0;
    return status;
}
