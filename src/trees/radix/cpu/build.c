/*
 * The radix tree: building it from a batch in order. The nodes above the last key are open, the deepest one on top of a stack; a node is
 * made when the next key is not below it, for then all of its links are known:
 *
 *   keys in order     car   card   care   dog            bytes in common with the next:  3  3  0  -
 *   open nodes        3     3      3, then 0             "care" closes the node of depth 3, whose link goes to the one of depth 0
 *
 * The batch is gone through twice: once to count what is needed, and once, when there is memory for exactly that, to make it.
 */
#include "cpu/byte_runs.h"
#include "cpu/fetch.h"
#include "trees/radix/cpu/build.h"
#include "trees/radix/cpu/tree.h"

typedef struct open_node {
    uint32_t depth;
    uint64_t first; /* of its links on the stack of links */
} open_node;

typedef struct open_link {
    int symbol;
    copse_radix_link link;
} open_link;

/* An array that grows. */
typedef struct stack {
    void *items;
    uint64_t n, room;
} stack;

typedef struct builder {
    const copse_byte_update *update;
    const copse_ctx *ctx;
    copse_radix *tree;
    bool counting;
    uint64_t needed[COPSE_RADIX_TYPES]; /* items of each type; of long leaves units */
    uint32_t height;
    stack nodes, links;
} builder;

/* Room for one more. */
static bool stack_grow(const copse_ctx *ctx, stack *s, size_t size)
{
    if (s->items && s->n < s->room) return true;
    const uint64_t room = s->room ? 2 * s->room : 1024;
    void *items = copse_memory_alloc(ctx, copse_memory_product(room, size));
    if (!items) return false;
    if (s->items) memcpy(items, s->items, s->n * size);
    copse_memory_free(ctx, s->items, s->room * size);
    s->items = items;
    s->room = room;
    return true;
}

static bool open_push(builder *b, uint32_t depth)
{
    if (!stack_grow(b->ctx, &b->nodes, sizeof(open_node))) return false;
    ((open_node *)b->nodes.items)[b->nodes.n++] = (open_node){depth, b->links.n};
    if (b->height < b->nodes.n + 1) b->height = (uint32_t)b->nodes.n + 1;
    return true;
}

/* Adds a link to the node on top. */
static bool link_push(builder *b, int symbol, copse_radix_link link)
{
    if (!stack_grow(b->ctx, &b->links, sizeof(open_link))) return false;
    ((open_link *)b->links.items)[b->links.n++] = (open_link){symbol, link};
    return true;
}

static open_node *open_top(const builder *b)
{
    return b->nodes.n ? &((open_node *)b->nodes.items)[b->nodes.n - 1] : NULL;
}

/* Makes the node on top, and takes it from the stack. */
static copse_radix_link open_close(builder *b)
{
    const open_node node = *open_top(b);
    const open_link *links = (const open_link *)b->links.items + node.first;
    const uint32_t n = (uint32_t)(b->links.n - node.first), ends = links[0].symbol == COPSE_RADIX_END;
    const uint32_t type = copse_radix_type_for(n - ends);
    b->nodes.n--;
    b->links.n = node.first;
    b->needed[type]++;
    if (b->counting) return copse_radix_link_of(type, node.depth, 0);
    copse_radix_pool *pool = &b->tree->pools[type];
    const copse_radix_link made = copse_radix_link_of(type, node.depth, copse_radix_pool_take(pool));
    void *at = copse_radix_at(b->tree, made);
    memset(at, 0, pool->stride);
    if (ends) ((copse_radix_node *)at)->end = links[0].link;
    for (uint32_t i = ends; i < n; i++) copse_radix_put(type, at, (uint8_t)links[i].symbol, links[i].link);
    return made;
}

/* The leaf of a key, with the value of item `last` of the batch. */
static copse_radix_link leaf_add(builder *b, copse_slice key, uint64_t last)
{
    const uint32_t type = copse_radix_leaf_type(key.length);
    if (b->counting) {
        uint64_t *needed = &b->needed[type];
        const uint32_t units = copse_radix_heap_units(copse_radix_units((uint32_t)key.length, b->tree->width));
        *needed = type == COPSE_RADIX_LEAF_LONG ? copse_radix_heap_place(&b->tree->heap.pool, *needed, units) + units
                                                : *needed + 1;
        return copse_radix_leaf_link(key.length, 0);
    }
    const copse_radix_link leaf = copse_radix_leaf_make(b->tree, key);
    copse_byte_given_value(b->update, b->update->batch.items[last].position, copse_radix_value(b->tree, leaf));
    return leaf;
}

/* Puts a leaf, or what it has become part of, where it belongs: `common` bytes are shared with the next key, SIZE_MAX: there is none. */
static bool leaf_place(builder *b, copse_slice key, copse_radix_link link, size_t common, copse_radix_link *root)
{
    const bool last = common == SIZE_MAX;
    for (open_node *top; (top = open_top(b)) != NULL && (last || top->depth > common);) {
        if (!link_push(b, copse_radix_symbol(key, top->depth), link)) return false;
        link = open_close(b);
    }
    if (last) {
        *root = link;
        return true;
    }
    const open_node *top = open_top(b);
    if ((!top || top->depth < common) && !open_push(b, (uint32_t)common)) return false;
    return link_push(b, copse_radix_symbol(key, (uint32_t)common), link);
}

/* Asks for the bytes of a key that comes soon. */
COPSE_FETCH void key_fetch(const copse_byte_batch *batch, uint64_t i)
{
    if (i < batch->n) __builtin_prefetch(copse_byte_batch_key(batch, i).start);
}

/* Goes through the batch once. Of equal keys the last one counts. */
static bool batch_pass(builder *b, copse_radix_link *root, uint64_t *entries)
{
    const copse_byte_batch *batch = &b->update->batch;
    uint64_t end;
    *entries = 0;
    memset(b->needed, 0, sizeof b->needed);
    for (uint64_t i = 0; i < batch->n; i = end) {
        const copse_slice key = copse_byte_batch_key(batch, i);
        end = copse_byte_batch_run(batch, i);
        for (uint64_t j = i; j < end; j++) key_fetch(batch, j + 16);
        const size_t common = end < batch->n ? copse_radix_common(key, copse_byte_batch_key(batch, end)) : SIZE_MAX;
        if (!leaf_place(b, key, leaf_add(b, key, end - 1), common, root)) return false;
        (*entries)++;
    }
    return true;
}

static bool memory_make(builder *b)
{
    /* In a large tree a few nodes of all types: a key that comes may be the first to need one. */
    const uint64_t few = b->tree->entries >> 16 ? 8 : 0;
    for (uint32_t type = COPSE_RADIX_NODE2; type < COPSE_RADIX_LEAF_LONG; type++) {
        const uint64_t n = b->needed[type], least = type < COPSE_RADIX_LEAF8 ? few : 0;
        if (!copse_radix_pool_size(b->ctx, &b->tree->pools[type], n > least ? n : least)) return false;
    }
    return copse_radix_pool_size(b->ctx, &b->tree->heap.pool, b->needed[COPSE_RADIX_LEAF_LONG]);
}

copse_status copse_radix_build_batch(const copse_byte_update *update, copse_radix *out)
{
    builder b = {.update = update, .ctx = update->index->ctx, .tree = out, .counting = true};
    copse_radix_init(out, (uint32_t)update->width);
    bool made = batch_pass(&b, &out->root, &out->entries) && memory_make(&b);
    b.counting = false;
    made = made && batch_pass(&b, &out->root, &out->entries);
    out->height = b.height ? b.height : 1;
    out->ordered = true;
    copse_memory_free(b.ctx, b.nodes.items, b.nodes.room * sizeof(open_node));
    copse_memory_free(b.ctx, b.links.items, b.links.room * sizeof(open_link));
    if (made) return COPSE_OK;
    copse_radix_release(b.ctx, out);
    return copse_fail_memory(b.ctx, update->batch.bytes, "the radix tree");
}
