/* Template: neighbours in the B-link and the B+ tree while a writer may be at work, one lane to a query. */
#pragma once

#include "core/reads.h"
#include "gpu/queries.h"
#include "trees/blink/concurrent/read.h"
#include "trees/blink/node/leaf.h"
#include "trees/blink/read/arguments.h"

/* The leaf of a base leaf where keys from `low` on begin, or one in front of it. Where the base leaf has none of these it may be no leaf. */
SIMT_DEVICE void read_from(const copse_blink_tree *tree, uint32_t base_leaf, KEY low, leaf_read *out)
{
    if (tree->branches) {
        read_branched(tree, base_leaf, low, out);
        return;
    }
    read_linked(tree, base_leaf, out);
    if (out->high >= low || out->next == COPSE_LEAF_NONE) return;
    const directory_entry entry = directory_find_concurrent(tree, low);
    if (entry.leaf == COPSE_LEAF_NONE || entry.low <= out->high) return;
    if (entry.base_leaf == base_leaf) {
        read_linked(tree, entry.leaf, out);
    } else { /* the keys begin further to the right */
        out->count = 0;
        out->next = COPSE_LEAF_NONE;
    }
}

/* The first entry of a leaf with a key >= q. */
SIMT_DEVICE bool leaf_after(const leaf_read *leaf, KEY q, KEY *key, VALUE *value)
{
    bool found = false;
    SIMT_UNROLL
    for (uint32_t i = 0; i < LEAF_SLOTS; i++)
        if (!found && i < leaf->count && leaf->key[i] >= q) {
            *key = leaf->key[i];
            *value = leaf->value[i];
            found = true;
        }
    return found;
}

/* The first entry with a key >= q. */
SIMT_DEVICE bool concurrent_after(const copse_blink_tree *tree, KEY q, KEY *key, VALUE *value)
{
    for (uint32_t base_leaf = base_leaf_from(tree, q); base_leaf < tree->base_leaves; base_leaf++) {
        leaf_read leaf;
        read_from(tree, base_leaf, q, &leaf);
        do
            if (leaf_after(&leaf, q, key, value)) return true;
        while (read_step(tree, &leaf));
    }
    return false;
}

/* The last entry of a base leaf with a key <= q, in its leaves where keys from `low` on begin. */
SIMT_DEVICE bool base_leaf_upto_key(const copse_blink_tree *tree, uint32_t base_leaf, KEY low, KEY q, KEY *key,
                                    VALUE *value)
{
    leaf_read leaf;
    bool found = false;
    read_from(tree, base_leaf, low, &leaf);
    for (;;) {
        SIMT_UNROLL
        for (uint32_t i = 0; i < LEAF_SLOTS; i++)
            if (i < leaf.count && leaf.key[i] <= q) {
                *key = leaf.key[i];
                *value = leaf.value[i];
                found = true;
            }
        if (leaf.high > q || !read_step(tree, &leaf)) return found;
    }
}

/* The last entry with a key <= q. */
SIMT_DEVICE bool concurrent_upto(const copse_blink_tree *tree, KEY q, KEY *key, VALUE *value)
{
    for (uint32_t base_leaf = base_leaf_upto(tree, q) + 1u; base_leaf-- > 0;)
        if ((!tree->branches && base_leaf_upto_key(tree, base_leaf, q, q, key, value)) ||
            base_leaf_upto_key(tree, base_leaf, 0, q, key, value))
            return true;
    return false;
}

SIMT_KERNEL(NAME(neighbours_concurrent), copse_blink_point_arguments, COPSE_KERNEL_THREADS, 4)
{
    const copse_blink_tree *tree = &a.tree;
    const copse_point_queries *queries = &a.queries;
    uint32_t first, mine;
    if (!query_share(queries->n, queries->per_warp, &first, &mine) || mine >= queries->n ||
        simt_lane() >= queries->per_warp)
        return;
    const KEY bits = COPSE_BITS(simt_load_once_u, KEY_BITS)((const KEY *)queries->keys + mine);
    report_nan(tree->key_type, bits, queries->report, COPSE_REPORT_NAN, queries->first + mine);
    const KEY q = ENCODE_ONE(tree->key_type, bits);
    KEY key = 0;
    VALUE value = 0;
    bool found = false;
    if (queries->which == COPSE_AT_OR_BEFORE || (queries->which == COPSE_BEFORE && q != 0))
        found = concurrent_upto(tree, (KEY)(q - (KEY)(queries->which == COPSE_BEFORE)), &key, &value);
    else if (queries->which == COPSE_AT_OR_AFTER || (queries->which == COPSE_AFTER && q != KEY_MAX))
        found = concurrent_after(tree, (KEY)(q + (KEY)(queries->which == COPSE_AFTER)), &key, &value);
    if (queries->out_found) queries->out_found[mine] = (uint8_t)found;
    if (queries->out_keys) ((KEY *)queries->out_keys)[mine] = found ? DECODE_ONE(tree->key_type, key) : 0;
    if (queries->out_values) ((VALUE *)queries->out_values)[mine] = value;
}
