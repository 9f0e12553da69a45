/* Ways down the radix tree, and walks along its leaves. */
#include "trees/radix/cpu/tree.h"

/* --- comparing ------------------------------------------------------------------------------------------------------ */

static uint64_t load8(const unsigned char *from)
{
    uint64_t word;
    memcpy(&word, from, sizeof word);
    return word;
}

/* By words; the last one overlaps the one before it. */
bool copse_radix_equal(const unsigned char *a, const unsigned char *b, size_t n)
{
    if (n < 8) {
        uint32_t first, second, differ = 0;
        if (n >= 4) {
            memcpy(&first, a, 4);
            memcpy(&second, b, 4);
            differ = first ^ second;
            memcpy(&first, a + n - 4, 4);
            memcpy(&second, b + n - 4, 4);
            return (differ | (first ^ second)) == 0;
        }
        for (size_t i = 0; i < n; i++) differ |= (uint32_t)(a[i] ^ b[i]);
        return differ == 0;
    }
    if (n > 64) return memcmp(a, b, n) == 0;
    uint64_t differ = 0;
    for (size_t i = 0; i + 8 < n; i += 8) differ |= load8(a + i) ^ load8(b + i);
    return (differ | (load8(a + n - 8) ^ load8(b + n - 8))) == 0;
}

size_t copse_radix_common(copse_slice a, copse_slice b)
{
    const size_t both = a.length < b.length ? a.length : b.length;
    size_t i = 0;
    while (both - i >= 8 && load8(a.start + i) == load8(b.start + i)) i += 8;
    while (i < both && a.start[i] == b.start[i]) i++;
    return i;
}

/* --- down ----------------------------------------------------------------------------------------------------------- */

static int edge_symbol(const copse_radix *tree, copse_radix_link node, bool last)
{
    const uint32_t type = copse_radix_type_of(node);
    const void *at = copse_radix_at(tree, node);
    return last ? copse_radix_previous(type, at, COPSE_RADIX_BEHIND_LAST)
                : copse_radix_next(type, at, COPSE_RADIX_BEFORE_FIRST);
}

copse_radix_link copse_radix_edge(const copse_radix *tree, copse_radix_link link, bool last)
{
    while (!copse_radix_is_leaf(link))
        link = copse_radix_get(copse_radix_type_of(link), copse_radix_at(tree, link), edge_symbol(tree, link, last));
    return link;
}

copse_radix_link copse_radix_nearest(const copse_radix *tree, copse_slice key)
{
    copse_radix_link link = tree->root;
    while (!copse_radix_is_leaf(link)) {
        const copse_radix_link next = key.length < copse_radix_depth_of(link) ? 0 : copse_radix_step(tree, link, key);
        if (!next) return copse_radix_edge(tree, link, false);
        link = next;
    }
    return link;
}

copse_radix_link copse_radix_find_one(const copse_radix *tree, copse_slice key)
{
    copse_radix_link link = tree->root;
    while (link && !copse_radix_is_leaf(link))
        link = key.length < copse_radix_depth_of(link) ? 0 : copse_radix_step(tree, link, key);
    if (!link || copse_radix_length_of(link) != key.length) return 0;
    return copse_radix_equal(copse_radix_key(tree, link).start, key.start, key.length) ? link : 0;
}

/* --- walks ---------------------------------------------------------------------------------------------------------- */

static struct copse_radix_held *held_at(copse_radix_walk *walk, uint32_t level)
{
    return &walk->path[level % COPSE_RADIX_HELD];
}

static void push(copse_radix_walk *walk, copse_radix_link node, int symbol)
{
    *held_at(walk, walk->level++) = (struct copse_radix_held){node, symbol};
    if (walk->held < COPSE_RADIX_HELD) walk->held++;
}

/* Goes down by a key, as long as nodes have less than `depth` bytes; returns the link that is left. */
static copse_radix_link push_by_key(copse_radix_walk *walk, copse_slice key, size_t depth)
{
    copse_radix_link link = walk->tree->root;
    while (!copse_radix_is_leaf(link) && copse_radix_depth_of(link) < depth) {
        push(walk, link, copse_radix_symbol(key, copse_radix_depth_of(link)));
        link = copse_radix_step(walk->tree, link, key);
    }
    return link;
}

/* Goes down to the first or last leaf below a link. */
static void push_edge(copse_radix_walk *walk, copse_radix_link link, bool last)
{
    while (!copse_radix_is_leaf(link)) {
        const int symbol = edge_symbol(walk->tree, link, last);
        push(walk, link, symbol);
        link = copse_radix_get(copse_radix_type_of(link), copse_radix_at(walk->tree, link), symbol);
    }
    walk->leaf = link;
}

/* Remembers the levels above again that were forgotten: the leaf, whose key says the way, is below them. */
static void path_remember(copse_radix_walk *walk)
{
    const copse_slice key = copse_radix_key(walk->tree, walk->leaf);
    copse_radix_link link = walk->tree->root;
    for (uint32_t i = 0; i < walk->level; i++) {
        *held_at(walk, i) = (struct copse_radix_held){link, copse_radix_symbol(key, copse_radix_depth_of(link))};
        link = copse_radix_step(walk->tree, link, key);
    }
    walk->held = walk->level < COPSE_RADIX_HELD ? walk->level : COPSE_RADIX_HELD;
}

/* From the symbol that the path ends with to the next leaf in a direction. False: there is none. */
static bool turn(copse_radix_walk *walk, bool back)
{
    const uint32_t level = walk->level;
    for (; walk->level; walk->level--, walk->held--) {
        if (walk->held == 0) path_remember(walk);
        struct copse_radix_held *top = held_at(walk, walk->level - 1);
        const uint32_t type = copse_radix_type_of(top->node);
        const void *node = copse_radix_at(walk->tree, top->node);
        const int symbol =
            back ? copse_radix_previous(type, node, top->symbol) : copse_radix_next(type, node, top->symbol);
        if (symbol == COPSE_RADIX_BEFORE_FIRST || symbol == COPSE_RADIX_BEHIND_LAST) continue;
        top->symbol = symbol;
        push_edge(walk, copse_radix_get(type, node, symbol), back);
        return true;
    }
    walk->level = level; /* all of the path is as it was, but forgotten */
    walk->held = 0;
    return false;
}

void copse_radix_walk_behind(copse_radix_walk *walk, const copse_radix *tree)
{
    walk->tree = tree;
    walk->leaf = 0;
    walk->level = walk->held = 0;
}

void copse_radix_walk_first(copse_radix_walk *walk, const copse_radix *tree)
{
    copse_radix_walk_behind(walk, tree);
    if (tree->root) push_edge(walk, tree->root, false);
}

void copse_radix_walk_at(copse_radix_walk *walk, const copse_radix *tree, copse_radix_link leaf)
{
    copse_radix_walk_behind(walk, tree);
    walk->leaf = push_by_key(walk, copse_radix_key(tree, leaf), SIZE_MAX);
}

void copse_radix_walk_next(copse_radix_walk *walk)
{
    if (!turn(walk, false)) copse_radix_walk_behind(walk, walk->tree);
}

bool copse_radix_walk_previous(copse_radix_walk *walk)
{
    if (walk->leaf) return turn(walk, true);
    if (walk->tree->root) push_edge(walk, walk->tree->root, true);
    return walk->leaf != 0;
}

void copse_radix_walk_seek(copse_radix_walk *walk, const copse_radix *tree, copse_slice key, copse_radix_side side)
{
    copse_radix_walk_behind(walk, tree);
    if (!tree->root) return;
    const copse_radix_link near = copse_radix_nearest(tree, key);
    const copse_slice other = copse_radix_key(tree, near);
    const size_t common = copse_radix_common(key, other);
    if (common == key.length && common == other.length && side != COPSE_RADIX_PAST_PREFIX) {
        walk->leaf = push_by_key(walk, key, SIZE_MAX);
        if (side == COPSE_RADIX_AFTER) copse_radix_walk_next(walk);
        return;
    }
    /* All leaves below `link` begin with what the two have in common, and only they do. */
    const copse_radix_link link = push_by_key(walk, key, common);
    const bool ends = common == key.length; /* the key is a prefix of all of them */
    walk->leaf = near;
    if (!ends && !copse_radix_is_leaf(link) && copse_radix_depth_of(link) == common)
        push(walk, link, key.start[common]); /* between its links */
    else if (ends ? side != COPSE_RADIX_PAST_PREFIX
                  : common < other.length && key.start[common] < other.start[common]) {
        push_edge(walk, link, false);
        return;
    }
    copse_radix_walk_next(walk);
}
