/*
 * Template: lookups in the radix tree, one thread to a key. A node is read by loads of 16 bytes that do not wait for each other, so
 * that a step down is one access to memory; that of a node of 48 is two. At the leaf the words of the key and the value are asked for
 * at once.
 */
#pragma once

#include "trees/radix/gpu/view.h"

/* Where the first of four bytes is that equals `byte`; 4 where none does. */
SIMT_DEVICE uint32_t match4(uint32_t bytes, uint32_t byte)
{
    const uint32_t x = bytes ^ byte * 0x01010101u;
    const uint32_t zero = ~(((x & 0x7f7f7f7fu) + 0x7f7f7f7fu) | x | 0x7f7f7f7fu); /* 0x80 in each byte that is 0 */
    return zero ? ((uint32_t)__ffs((int)zero) - 1u) / 8u : 4u;
}

SIMT_DEVICE copse_radix_link link_of(uint32_t low, uint32_t high)
{
    return (uint64_t)high << 32 | low;
}

/* Nodes of 2 and 4: all of the node at once. */
SIMT_DEVICE copse_radix_link step_small(uint32_t type, const unsigned char *node, uint32_t byte)
{
    const simt_u32x4 head = simt_load16(node), first = simt_load16(node + 16);
    simt_u32x4 second = first;
    if (type == COPSE_RADIX_NODE4) second = simt_load16(node + 32);
    const uint32_t at = match4(head.y, byte);
    if (at >= (head.x & 0xffffu)) return 0;
    const simt_u32x4 pair = at < 2u ? first : second;
    return at & 1u ? link_of(pair.z, pair.w) : link_of(pair.x, pair.y);
}

SIMT_DEVICE copse_radix_link step16(const unsigned char *node, uint32_t byte)
{
    const simt_u32x4 head = simt_load16(node), bytes = simt_load16(node + 16);
    uint32_t at = match4(bytes.x, byte);
    if (at == 4u) at = 4u + match4(bytes.y, byte);
    if (at == 8u) at = 8u + match4(bytes.z, byte);
    if (at == 12u) at = 12u + match4(bytes.w, byte);
    return at < (head.x & 0xffffu) ? ((const copse_radix_node16 *)node)->links[at] : 0;
}

/* The link of a byte in a node; 0 where there is none. */
SIMT_DEVICE copse_radix_link step_byte(const copse_radix_view *tree, copse_radix_link link, uint32_t byte)
{
    const uint32_t type = copse_radix_type_of(link);
    const unsigned char *node = copse_radix_at(tree, link);
    if (type == COPSE_RADIX_NODE256) return ((const copse_radix_node256 *)node)->links[byte];
    if (type <= COPSE_RADIX_NODE4) return step_small(type, node, byte);
    if (type == COPSE_RADIX_NODE16) return step16(node, byte);
    const uint32_t slot = ((const copse_radix_node48 *)node)->slots[byte];
    return slot ? ((const copse_radix_node48 *)node)->links[slot - 1u] : 0;
}

/* The link by which a key goes on from a node; 0 where there is none. */
SIMT_DEVICE copse_radix_link step_down(const copse_radix_view *tree, copse_radix_link link, copse_slice key)
{
    const uint32_t depth = copse_radix_depth_of(link);
    if (key.length > depth) return step_byte(tree, link, key.start[depth]);
    return key.length == depth ? ((const copse_radix_node *)copse_radix_at(tree, link))->end : 0;
}

/* Up to 8 bytes of a string from `from` on, zeros behind them: by two aligned words, unless that would go behind `end`, the end of the
 * caller's array. */
SIMT_DEVICE uint64_t string_word(const unsigned char *from, uint32_t n, const unsigned char *end)
{
    const uint32_t offset = (uint32_t)((uintptr_t)from & 7u);
    const unsigned char *aligned = from - offset;
    uint64_t word = 0;
    if (end - aligned >= 16) {
        const uint64_t low = *(const uint64_t *)aligned;
        const uint64_t high = offset ? *(const uint64_t *)(aligned + 8) : 0;
        word = offset ? low >> 8u * offset | high << (64u - 8u * offset) : low;
        return n < 8u ? word & ((UINT64_C(1) << 8u * n) - 1u) : word;
    }
    for (uint32_t i = 0; i < n; i++) word |= (uint64_t)from[i] << 8u * i;
    return word;
}

/* How many bytes two strings have in common, by words; their ends are those of the arrays that they are in. */
SIMT_DEVICE uint32_t strings_common(copse_slice a, const unsigned char *a_end, copse_slice b,
                                    const unsigned char *b_end)
{
    const uint32_t both = (uint32_t)(a.length < b.length ? a.length : b.length);
    for (uint32_t at = 0; at < both; at += 8u) {
        const uint32_t n = both - at < 8u ? both - at : 8u;
        const uint64_t differ = string_word(a.start + at, n, a_end) ^ string_word(b.start + at, n, b_end);
        const uint32_t low = (uint32_t)differ, high = (uint32_t)(differ >> 32);
        if (differ) return at + (low ? (uint32_t)__ffs((int)low) - 1u : 31u + (uint32_t)__ffs((int)high)) / 8u;
    }
    return both;
}

/* Does the leaf have this key, which is as long? Leaves are filled up with zeros. */
SIMT_DEVICE bool leaf_has(const unsigned char *leaf, copse_slice key, const unsigned char *end)
{
    const uint32_t length = (uint32_t)key.length;
    uint64_t differ = 0;
    for (uint32_t at = 0; at < length && !differ; at += 32u) {
        SIMT_UNROLL
        for (uint32_t word = at; word < at + 32u; word += 8u)
            if (word < length) {
                const uint32_t n = length - word < 8u ? length - word : 8u;
                differ |= *(const uint64_t *)(leaf + word) ^ string_word(key.start + word, n, end);
            }
    }
    return differ == 0;
}

/* The one leaf that may have a key, or 0. */
SIMT_DEVICE copse_radix_link candidate_of(const copse_radix_view *tree, copse_slice key)
{
    copse_radix_link link = tree->root;
    while (link && !copse_radix_is_leaf(link)) link = step_down(tree, link, key);
    return link && copse_radix_length_of(link) == key.length ? link : 0;
}

SIMT_DEVICE const unsigned char *leaf_key(const copse_radix_view *tree, copse_radix_link leaf)
{
    return copse_radix_at(tree, leaf) + copse_radix_key_at(copse_radix_type_of(leaf), tree->width);
}

/* The leaf of a key, or 0. `end`: of the array that the key is in. */
SIMT_DEVICE copse_radix_link leaf_of(const copse_radix_view *tree, copse_slice key, const unsigned char *end)
{
    const copse_radix_link link = candidate_of(tree, key);
    return link && leaf_has(leaf_key(tree, link), key, end) ? link : 0;
}

/* A leaf that shares with the key as many bytes as any leaf does, and how many; the tree is not empty. */
SIMT_DEVICE copse_radix_link nearest_of(const copse_radix_view *tree, copse_slice key, const unsigned char *end,
                                        uint32_t *out_common)
{
    copse_radix_link link = tree->root;
    while (!copse_radix_is_leaf(link)) {
        const copse_radix_link next = step_down(tree, link, key);
        link = next ? next : copse_radix_edge(tree, link, false);
    }
    const copse_slice other = copse_radix_key(tree, link);
    *out_common = strings_common(key, end, other, other.start + other.length + 16u); /* leaves are whole words */
    return link;
}

/* Writes value i of an array. */
SIMT_DEVICE void value_put(const copse_radix_view *tree, void *values, uint64_t i, copse_radix_link leaf)
{
    const char *from = leaf ? copse_radix_value(tree, leaf) : NULL;
    if (tree->width == 8u)
        simt_store_once_u64((uint64_t *)values + i, from ? *(const uint64_t *)from : 0);
    else
        simt_store_once_u32((uint32_t *)values + i, from ? *(const uint32_t *)from : 0);
}

SIMT_KERNEL(radix_find, copse_radix_find_arguments, COPSE_RADIX_THREADS, 6)
{
    const uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= a.n) return;
    const copse_slice key = string_take(&a.keys, i, a.n, &a.report[COPSE_RADIX_UNSOUND]);
    const copse_radix_link leaf = leaf_of(&a.tree, key, a.keys.data + (a.keys.high - a.keys.low));
    if (a.values) value_put(&a.tree, a.values, i, leaf);
    if (a.found) simt_store_once_u8(&a.found[i], leaf != 0);
}

/* The same where some leaves are in host memory: what arrives at one of those is left to the CPU. */
SIMT_KERNEL(radix_find_apart, copse_radix_find_arguments, COPSE_RADIX_THREADS, 6)
{
    const uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= a.n) return;
    const copse_slice key = string_take(&a.keys, i, a.n, &a.report[COPSE_RADIX_UNSOUND]);
    const bool skipped = a.long_skipped && copse_radix_leaf_type(key.length) == COPSE_RADIX_LEAF_LONG;
    copse_radix_link link = skipped ? a.tree.root : candidate_of(&a.tree, key);
    if (link && (skipped || !a.tree.pool[copse_radix_type_of(link)])) {
        copse_radix_rest *rest = &a.rest[simt_atomic_add_u64(a.rest_n, 1)];
        rest->link = link;
        rest->position = a.keys.first + i;
        return;
    }
    if (link && !leaf_has(leaf_key(&a.tree, link), key, a.keys.data + (a.keys.high - a.keys.low))) link = 0;
    if (a.values) value_put(&a.tree, a.values, i, link);
    if (a.found) simt_store_once_u8(&a.found[i], link != 0);
}

SIMT_KERNEL(radix_scatter, copse_radix_scatter_arguments, COPSE_RADIX_THREADS, 6)
{
    RADIX_FOR(i, a.n)
    {
        const uint64_t to = a.rest[i].position;
        if (a.found) a.found[to] = a.there[i];
        if (a.values && a.width == 8u) ((uint64_t *)a.values)[to] = ((const uint64_t *)a.answers)[i];
        if (a.values && a.width == 4u) ((uint32_t *)a.values)[to] = ((const uint32_t *)a.answers)[i];
    }
}
