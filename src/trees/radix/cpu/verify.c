/* The radix tree: checking every invariant. All nodes are gone through in order, with a stack that grows as deep as the tree is. */
#include "trees/radix/cpu/tree.h"

#define LEVELS_CHECKED 64u

/* A node whose links up to that of `symbol` have been looked at. */
typedef struct verify_level {
    copse_radix_link node;
    int symbol;
} verify_level;

typedef struct verifier {
    const copse_index *index;
    const copse_radix *tree;
    verify_level *levels;
    uint64_t n, room;
    copse_radix_link last; /* the leaf before */
    uint64_t entries;
    uint64_t seen[COPSE_RADIX_TYPES]; /* items of each type; of long leaves units */
} verifier;

static copse_status corrupt(const verifier *v, const char *what, uint64_t number)
{
    return copse_fail(v->index->ctx, COPSE_ERR_CORRUPT, "radix tree: %s (behind entry %llu)", what,
                      (unsigned long long)number);
}

static copse_status level_push(verifier *v, copse_radix_link node)
{
    if (v->n == v->room) {
        const copse_ctx *ctx = v->index->ctx;
        const uint64_t room = v->room ? 2 * v->room : 256;
        verify_level *levels = copse_memory_alloc(ctx, room * sizeof *levels);
        if (!levels) return copse_fail_memory(ctx, room * sizeof *levels, "verifying");
        if (v->n) memcpy(levels, v->levels, v->n * sizeof *levels);
        copse_memory_free(ctx, v->levels, v->room * sizeof *levels);
        v->levels = levels;
        v->room = room;
    }
    v->levels[v->n++] = (verify_level){node, COPSE_RADIX_BEFORE_FIRST};
    return COPSE_OK;
}

/* Is there such an item at all? */
static bool link_sound(const copse_radix *tree, copse_radix_link link)
{
    const uint32_t type = copse_radix_type_of(link);
    if (type == COPSE_RADIX_NONE || type >= COPSE_RADIX_TYPES) return false;
    const uint64_t used = copse_radix_pool_of(tree, type)->used, index = copse_radix_index_of(link);
    if (type != COPSE_RADIX_LEAF_LONG)
        return index < used && (type < COPSE_RADIX_LEAF8 || copse_radix_length_of(link) <= copse_radix_key_room(type));
    return index + copse_radix_units(copse_radix_length_of(link), tree->width) <= used;
}

static copse_status leaf_verify(verifier *v, copse_radix_link leaf)
{
    const copse_radix *tree = v->tree;
    const copse_slice key = copse_radix_key(tree, leaf);
    const uint32_t type = copse_radix_type_of(leaf);
    if (copse_radix_leaf_type(key.length) != type) return corrupt(v, "a leaf has a key of another size", v->entries);
    if (v->last && copse_slice_compare(copse_radix_key(tree, v->last), key) >= 0)
        return corrupt(v, "a key is not greater than the one before it", v->entries);
    for (uint32_t i = (uint32_t)key.length; i < copse_radix_key_room(type); i++)
        if (key.start[i]) return corrupt(v, "a leaf has bytes behind its key", v->entries);
    /* The way down says the same as the key. Of a deep tree only the last levels are looked at: those above are the same as for the
     * leaf before, with which the key is in order. */
    for (uint64_t i = v->n > LEVELS_CHECKED ? v->n - LEVELS_CHECKED : 0; i < v->n; i++) {
        const uint32_t depth = copse_radix_depth_of(v->levels[i].node);
        if (key.length < depth || copse_radix_symbol(key, depth) != v->levels[i].symbol)
            return corrupt(v, "a key is not where it belongs", v->entries);
    }
    v->seen[type] += type == COPSE_RADIX_LEAF_LONG
                         ? copse_radix_heap_units(copse_radix_units((uint32_t)key.length, tree->width))
                         : 1;
    v->last = leaf;
    v->entries++;
    return COPSE_OK;
}

static copse_status node_verify(verifier *v, copse_radix_link node)
{
    const uint32_t type = copse_radix_type_of(node);
    const copse_radix_node *head = (const copse_radix_node *)(const void *)copse_radix_at(v->tree, node);
    const uint32_t links = head->count + (head->end != 0);
    if (head->count > copse_radix_room(type) || links < 2)
        return corrupt(v, "a node has more links than room, or fewer than two", v->entries);
    if (head->end && (!link_sound(v->tree, head->end) || !copse_radix_is_leaf(head->end)))
        return corrupt(v, "the end of a node is no leaf", v->entries);
    if (v->n && copse_radix_depth_of(v->levels[v->n - 1].node) >= copse_radix_depth_of(node))
        return corrupt(v, "a node is not deeper than the one above it", v->entries);
    uint32_t count = 0;
    for (int byte = copse_radix_next(type, head, COPSE_RADIX_END); byte < COPSE_RADIX_BEHIND_LAST;
         byte = copse_radix_next(type, head, byte))
        count++;
    if (count != head->count) return corrupt(v, "a node has other links than it counts", v->entries);
    v->seen[type]++;
    return level_push(v, node);
}

static copse_status link_verify(verifier *v, copse_radix_link link)
{
    if (!link_sound(v->tree, link)) return corrupt(v, "a link leads nowhere", v->entries);
    return copse_radix_is_leaf(link) ? leaf_verify(v, link) : node_verify(v, link);
}

static copse_status tree_verify(verifier *v)
{
    copse_status status = link_verify(v, v->tree->root);
    while (status == COPSE_OK && v->n) {
        verify_level *top = &v->levels[v->n - 1];
        const uint32_t type = copse_radix_type_of(top->node);
        const void *node = copse_radix_at(v->tree, top->node);
        top->symbol = copse_radix_next(type, node, top->symbol);
        if (top->symbol == COPSE_RADIX_BEHIND_LAST)
            v->n--;
        else
            status = link_verify(v, copse_radix_get(type, node, top->symbol));
    }
    return status;
}

/* What is not reached is on a list of free items. */
static copse_status pools_verify(const verifier *v)
{
    for (uint32_t type = COPSE_RADIX_NODE2; type < COPSE_RADIX_TYPES; type++) {
        const copse_radix_pool *pool = copse_radix_pool_of(v->tree, type);
        if (v->seen[type] + pool->free_count != pool->used || pool->used > pool->capacity)
            return corrupt(v, "items of a pool are neither used nor free", v->entries);
    }
    return v->entries == v->tree->entries ? COPSE_OK : corrupt(v, "the number of entries is another", v->entries);
}

copse_status copse_radix_verify(const copse_index *index)
{
    verifier v = {.index = index, .tree = index->tree};
    copse_status status = copse_progress(index->ctx, "verifying", 0, v.tree->entries);
    if (status == COPSE_OK && v.tree->root) status = tree_verify(&v);
    if (status == COPSE_OK) status = pools_verify(&v);
    copse_memory_free(index->ctx, v.levels, v.room * sizeof *v.levels);
    return status;
}
