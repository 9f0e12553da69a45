/* The radix tree: one key comes, one key goes. */
#include "trees/radix/cpu/tree.h"

void copse_radix_init(copse_radix *tree, uint32_t width)
{
    *tree = (copse_radix){.width = width};
    for (uint32_t type = COPSE_RADIX_NODE2; type < COPSE_RADIX_LEAF_LONG; type++)
        copse_radix_pool_init(&tree->pools[type], copse_radix_stride(type, width));
    copse_radix_pool_init(&tree->heap.pool, copse_radix_stride(COPSE_RADIX_LEAF_LONG, width));
}

void copse_radix_release(const copse_ctx *ctx, copse_radix *tree)
{
    for (uint32_t type = COPSE_RADIX_NODE2; type < COPSE_RADIX_LEAF_LONG; type++)
        copse_radix_pool_free(ctx, &tree->pools[type]);
    copse_radix_pool_free(ctx, &tree->heap.pool);
}

static void mark_bytes(const copse_radix *tree, uint32_t type, uint64_t at, uint64_t bytes)
{
    copse_radix_marks *marks = tree->marks;
    if (marks->without >> type & 1) return;
    marks->any = true;
    for (uint64_t page = at >> COPSE_RADIX_PAGE_BITS; page <= (at + bytes - 1) >> COPSE_RADIX_PAGE_BITS; page++)
        if (page / 64 < marks->words[type])
            marks->bits[type][page / 64] |= UINT64_C(1) << page % 64;
        else
            marks->all = true;
}

void copse_radix_mark(const copse_radix *tree, copse_radix_link link)
{
    const uint32_t type = copse_radix_type_of(link), stride = copse_radix_pool_of(tree, type)->stride;
    uint64_t bytes = stride;
    if (type == COPSE_RADIX_LEAF_LONG)
        bytes *= copse_radix_heap_units(copse_radix_units(copse_radix_length_of(link), tree->width));
    mark_bytes(tree, type, copse_radix_index_of(link) * stride, bytes);
}

/* --- leaves and nodes ----------------------------------------------------------------------------------------------- */

static bool leaf_reserve(const copse_ctx *ctx, copse_radix *tree, size_t length)
{
    const uint32_t type = copse_radix_leaf_type(length);
    if (type != COPSE_RADIX_LEAF_LONG) return copse_radix_pool_reserve(ctx, &tree->pools[type]);
    return copse_radix_heap_reserve(ctx, &tree->heap, copse_radix_units((uint32_t)length, tree->width));
}

/* A block of the heap, all zero, and so is what is left of a segment in front of it: a copy elsewhere has the same bytes. */
static uint64_t block_make(copse_radix *tree, uint32_t units)
{
    const copse_radix_pool *pool = &tree->heap.pool;
    const uint64_t used = pool->used, index = copse_radix_heap_take(&tree->heap, units);
    if (index > used) {
        memset(copse_radix_pool_at(pool, used), 0, (size_t)(index - used) * pool->stride);
        if (tree->marks) mark_bytes(tree, COPSE_RADIX_LEAF_LONG, used * pool->stride, (index - used) * pool->stride);
    }
    memset(copse_radix_pool_at(pool, index), 0, (size_t)copse_radix_heap_units(units) * pool->stride);
    return index;
}

copse_radix_link copse_radix_leaf_make(copse_radix *tree, copse_slice key)
{
    const uint32_t type = copse_radix_leaf_type(key.length);
    const uint64_t index = type == COPSE_RADIX_LEAF_LONG
                               ? block_make(tree, copse_radix_units((uint32_t)key.length, tree->width))
                               : copse_radix_pool_take(&tree->pools[type]);
    const copse_radix_link leaf = copse_radix_leaf_link(key.length, index);
    unsigned char *at = copse_radix_at(tree, leaf);
    if (type != COPSE_RADIX_LEAF_LONG) memset(at, 0, tree->pools[type].stride);
    memcpy(at + copse_radix_key_at(type, tree->width), key.start, key.length);
    copse_radix_touch(tree, leaf);
    return leaf;
}

void copse_radix_item_drop(copse_radix *tree, copse_radix_link item)
{
    const uint32_t type = copse_radix_type_of(item);
    const uint64_t index = copse_radix_index_of(item);
    copse_radix_touch(tree, item);
    if (type == COPSE_RADIX_LEAF_LONG)
        copse_radix_heap_give(&tree->heap, index, copse_radix_units(copse_radix_length_of(item), tree->width));
    else
        copse_radix_pool_give(&tree->pools[type], index);
}

/* A node without links, for which memory has been reserved. */
static copse_radix_link node_make(copse_radix *tree, uint32_t type, uint32_t depth)
{
    const copse_radix_link node = copse_radix_link_of(type, depth, copse_radix_pool_take(&tree->pools[type]));
    memset(copse_radix_at(tree, node), 0, tree->pools[type].stride);
    copse_radix_touch(tree, node);
    return node;
}

/* A node of another type with the same links; the old one is gone. */
static copse_radix_link node_convert(copse_radix *tree, copse_radix_link node, uint32_t type)
{
    const copse_radix_link made = node_make(tree, type, copse_radix_depth_of(node));
    copse_radix_copy(type, copse_radix_at(tree, made), copse_radix_type_of(node), copse_radix_at(tree, node));
    copse_radix_item_drop(tree, node);
    return made;
}

/* --- places of links -------------------------------------------------------------------------------------------------- */

/* Where a link is: by this symbol of a node; node 0: the root. */
typedef struct place {
    copse_radix_link node;
    int symbol;
} place;

static void place_set(copse_radix *tree, place at, copse_radix_link link)
{
    unsigned char *node = at.node ? copse_radix_at(tree, at.node) : NULL;
    if (node) copse_radix_touch(tree, at.node);
    if (!node)
        tree->root = link;
    else if (at.symbol < 0)
        ((copse_radix_node *)(void *)node)->end = link;
    else
        *copse_radix_child(copse_radix_type_of(at.node), node, (uint32_t)at.symbol) = link;
}

/* Adds a link to a node that has none for the symbol, and room. */
static void node_add(copse_radix *tree, copse_radix_link node, int symbol, copse_radix_link link)
{
    unsigned char *at = copse_radix_at(tree, node);
    copse_radix_touch(tree, node);
    if (symbol < 0)
        ((copse_radix_node *)(void *)at)->end = link;
    else
        copse_radix_put(copse_radix_type_of(node), at, (uint8_t)symbol, link);
}

static uint32_t node_count(const copse_radix *tree, copse_radix_link node)
{
    return ((const copse_radix_node *)(const void *)copse_radix_at(tree, node))->count;
}

/* --- a key comes ------------------------------------------------------------------------------------------------------ */

/* Where a key is to go that shares `common` bytes with the leaf nearest to it. */
typedef struct spot {
    place at;              /* of the link: */
    copse_radix_link link; /* the first on the way that leads to a leaf, or to a node of at least `common` bytes */
    uint32_t levels;       /* nodes above it */
} spot;

static spot spot_of(const copse_radix *tree, copse_slice key, size_t common)
{
    spot found = {.link = tree->root};
    while (!copse_radix_is_leaf(found.link) && copse_radix_depth_of(found.link) < common) {
        found.at = (place){found.link, copse_radix_symbol(key, copse_radix_depth_of(found.link))};
        found.link = copse_radix_step(tree, found.link, key);
        found.levels++;
    }
    return found;
}

/* The type of the node that a link for the symbol needs in the place of this one, which has none. */
static uint32_t type_with(const copse_radix *tree, copse_radix_link node, int symbol)
{
    const uint32_t type = copse_radix_type_of(node);
    return symbol >= 0 && node_count(tree, node) == copse_radix_room(type) ? type + 1 : type;
}

/* Adds a leaf where it has to go; memory has been reserved. */
static void leaf_hang(copse_radix *tree, const spot *to, copse_slice key, copse_slice other, size_t common,
                      copse_radix_link leaf)
{
    const int symbol = copse_radix_symbol(key, (uint32_t)common);
    copse_radix_link node = to->link;
    if (!copse_radix_is_leaf(node) && copse_radix_depth_of(node) == common) {
        const uint32_t type = type_with(tree, node, symbol);
        if (type != copse_radix_type_of(node)) node = node_convert(tree, node, type);
    } else { /* a new node between the link and what is above it */
        node = node_make(tree, COPSE_RADIX_NODE2, (uint32_t)common);
        node_add(tree, node, copse_radix_symbol(other, (uint32_t)common), to->link);
    }
    node_add(tree, node, symbol, leaf);
    if (node != to->link) place_set(tree, to->at, node);
}

static bool node_reserve(const copse_ctx *ctx, copse_radix *tree, const spot *to, copse_slice key, size_t common)
{
    uint32_t type = COPSE_RADIX_NODE2;
    if (!copse_radix_is_leaf(to->link) && copse_radix_depth_of(to->link) == common) {
        type = type_with(tree, to->link, copse_radix_symbol(key, (uint32_t)common));
        if (type == copse_radix_type_of(to->link)) return true;
    }
    return copse_radix_pool_reserve(ctx, &tree->pools[type]);
}

bool copse_radix_insert_one(const copse_ctx *ctx, copse_radix *tree, copse_slice key, const void *value)
{
    copse_radix_link leaf;
    uint32_t levels = 1;
    if (!leaf_reserve(ctx, tree, key.length)) return false;
    tree->ordered = false;
    if (tree->root) {
        const copse_radix_link near = copse_radix_nearest(tree, key);
        copse_slice other = copse_radix_key(tree, near);
        const size_t common = copse_radix_common(key, other);
        const spot to = spot_of(tree, key, common);
        if (!node_reserve(ctx, tree, &to, key, common)) return false;
        leaf = copse_radix_leaf_make(tree, key);
        other = copse_radix_key(tree, near); /* it may have moved */
        leaf_hang(tree, &to, key, other, common, leaf);
        levels = to.levels + 2;
    } else {
        tree->root = leaf = copse_radix_leaf_make(tree, key);
    }
    memcpy(copse_radix_value(tree, leaf), value, tree->width);
    tree->entries++;
    if (tree->height < levels) tree->height = levels;
    return true;
}

/* --- a key goes ------------------------------------------------------------------------------------------------------- */

/* Makes a node that has lost a link smaller, or away where one is left. Where a smaller one finds no memory, it stays. */
static void node_shrink(const copse_ctx *ctx, copse_radix *tree, place at, copse_radix_link node)
{
    const uint32_t type = copse_radix_type_of(node), count = node_count(tree, node);
    const void *memory = copse_radix_at(tree, node);
    const copse_radix_link end = copse_radix_get(type, memory, COPSE_RADIX_END);
    if (count + (end != 0) == 1) {
        const int only = copse_radix_next(type, memory, COPSE_RADIX_BEFORE_FIRST);
        place_set(tree, at, copse_radix_get(type, memory, only));
        copse_radix_item_drop(tree, node);
    } else if (copse_radix_sparse(type, count) && copse_radix_pool_reserve(ctx, &tree->pools[type - 1])) {
        place_set(tree, at, node_convert(tree, node, type - 1));
    }
}

void copse_radix_erase_one(const copse_ctx *ctx, copse_radix *tree, copse_slice key)
{
    place above = {0}, at = {0};
    copse_radix_link link = tree->root;
    tree->ordered = false;
    while (!copse_radix_is_leaf(link)) {
        above = at;
        at = (place){link, copse_radix_symbol(key, copse_radix_depth_of(link))};
        link = copse_radix_step(tree, link, key);
    }
    copse_radix_item_drop(tree, link);
    tree->entries--;
    if (!at.node) {
        tree->root = 0;
        return;
    }
    unsigned char *node = copse_radix_at(tree, at.node);
    copse_radix_touch(tree, at.node);
    if (at.symbol < 0)
        ((copse_radix_node *)(void *)node)->end = 0;
    else
        copse_radix_take(copse_radix_type_of(at.node), node, (uint32_t)at.symbol);
    node_shrink(ctx, tree, above, at.node);
}
