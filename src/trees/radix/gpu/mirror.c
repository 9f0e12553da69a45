/* The pools of a radix tree on a device: made from the host's, and kept up to date. */
#include "primitives/primitives.h"
#include "transfer/transfer.h"
#include "trees/radix/gpu/tree.h"

static uint64_t page_bytes(uint64_t bytes)
{
    return (bytes + COPSE_RADIX_PAGE - 1) / COPSE_RADIX_PAGE * COPSE_RADIX_PAGE;
}

void copse_radix_mirror_free(const copse_index *index, copse_radix_device *tree)
{
    for (uint32_t type = 0; type < COPSE_RADIX_TYPES; type++) {
        copse_device_free(index->device, index->device->main, tree->view.pool[type], tree->bytes[type]);
        tree->view.pool[type] = NULL;
        tree->bytes[type] = 0;
        copse_memory_free(index->ctx, tree->marks.bits[type], tree->marks.words[type] * sizeof(uint64_t));
    }
    tree->marks = (copse_radix_marks){.without = tree->marks.without};
    copse_scratch_free(index->device, &tree->ahead);
    tree->is_ahead = false;
    memset(tree->more, 0, sizeof tree->more);
    copse_radix_spares_free(index, tree);
}

/* Room for `items` of a type; what is there stays. */
static copse_status pool_reserve(const copse_index *index, copse_radix_device *tree, uint32_t type, uint64_t items)
{
    copse_device *device = index->device;
    const uint64_t old = tree->bytes[type],
                   exact = page_bytes(copse_memory_product(items, copse_radix_pool_of(&tree->host, type)->stride));
    void *memory = NULL;
    if (exact <= old || copse_radix_is_apart(tree, type)) return COPSE_OK;
    const uint64_t bytes = page_bytes(exact > old + old / 8 ? exact : old + old / 8);
    copse_status status = copse_device_alloc(device, device->main, bytes, "the radix tree", &memory);
    if (status == COPSE_OK && old) status = copse_device_copy(device, device->main, memory, tree->view.pool[type], old);
    if (status != COPSE_OK) {
        copse_device_free(device, device->main, memory, bytes);
        return status;
    }
    copse_device_free(device, device->main, tree->view.pool[type], old);
    tree->view.pool[type] = memory;
    tree->bytes[type] = bytes;
    return COPSE_OK;
}

copse_status copse_radix_mirror_size(const copse_index *index, copse_radix_device *tree)
{
    copse_status status = COPSE_OK;
    for (uint32_t type = COPSE_RADIX_NODE2; type < COPSE_RADIX_TYPES && status == COPSE_OK; type++)
        status = pool_reserve(index, tree, type, copse_radix_items_used(tree, type));
    return status;
}

/* A bit for each page that the device has of a pool. */
static copse_status marks_reserve(const copse_index *index, copse_radix_device *tree, uint32_t type)
{
    const uint64_t words = tree->bytes[type] / COPSE_RADIX_PAGE / 64 + 1, old = tree->marks.words[type];
    if (words <= old) return COPSE_OK;
    uint64_t *bits = copse_memory_alloc(index->ctx, words * sizeof *bits);
    if (!bits) return copse_fail_memory(index->ctx, words * sizeof *bits, "the radix tree");
    memset(bits, 0, words * sizeof *bits);
    if (old) memcpy(bits, tree->marks.bits[type], old * sizeof *bits);
    copse_memory_free(index->ctx, tree->marks.bits[type], old * sizeof *bits);
    tree->marks.bits[type] = bits;
    tree->marks.words[type] = words;
    return COPSE_OK;
}

/* --- whole pools ------------------------------------------------------------------------------------------------------- */

/* Segments that lie one behind the other go at once. */
static copse_status pool_upload(const copse_index *index, const copse_radix_device *tree, uint32_t type)
{
    const copse_radix_pool *pool = copse_radix_pool_of(&tree->host, type);
    const uint64_t segment = (uint64_t)pool->stride << pool->shift, end = pool->used * pool->stride;
    copse_status status = COPSE_OK;
    if (copse_radix_is_apart(tree, type)) return COPSE_OK;
    for (uint64_t at = 0, next; at < end && status == COPSE_OK; at = next) {
        next = at + segment;
        while (next < end && pool->segments[next / segment] == pool->segments[next / segment - 1] + segment)
            next += segment;
        if (next > end) next = end;
        status = copse_transfer_to_device(index->device, tree->view.pool[type] + at, pool->segments[at / segment],
                                          next - at);
    }
    return status;
}

static void view_set(copse_radix_device *tree)
{
    tree->view.root = tree->host.root;
    tree->view.width = tree->host.width;
}

static copse_status upload_all(const copse_index *index, copse_radix_device *tree)
{
    copse_status status = COPSE_OK;
    for (uint32_t type = COPSE_RADIX_NODE2; type < COPSE_RADIX_TYPES && status == COPSE_OK; type++) {
        status = pool_reserve(index, tree, type, copse_radix_pool_of(&tree->host, type)->used);
        if (status == COPSE_OK) status = pool_upload(index, tree, type);
    }
    if (status != COPSE_OK) return status;
    for (uint32_t type = COPSE_RADIX_NODE2; type < COPSE_RADIX_TYPES; type++)
        if (tree->marks.words[type]) memset(tree->marks.bits[type], 0, tree->marks.words[type] * sizeof(uint64_t));
    tree->marks.any = tree->marks.all = false;
    view_set(tree);
    return COPSE_OK;
}

copse_status copse_radix_mirror_make(const copse_index *index, copse_radix_device *tree)
{
    copse_status status = upload_all(index, tree);
    if (status != COPSE_OK) copse_radix_mirror_free(index, tree);
    return status;
}

/* --- changes ------------------------------------------------------------------------------------------------------------- */

static copse_status update(const copse_index *index, copse_radix_device *tree)
{
    copse_status status = COPSE_OK;
    for (uint32_t type = COPSE_RADIX_NODE2; type < COPSE_RADIX_TYPES; type++) {
        const copse_radix_pool *pool = copse_radix_pool_of(&tree->host, type);
        tree->marks.all |= pool->used * pool->stride > tree->bytes[type] && !copse_radix_is_apart(tree, type);
    }
    if (tree->marks.all)
        status = upload_all(index, tree);
    else if (tree->marks.any)
        status = copse_radix_pages_send(index, tree);
    if (status != COPSE_OK) return status;
    tree->marks.any = false;
    view_set(tree);
    return COPSE_OK;
}

copse_status copse_radix_mirror_update(const copse_index *index)
{
    copse_radix_device *tree = copse_radix_device_of(index);
    copse_kept_error kept;
    copse_error_keep(&kept);
    const copse_status status = update(index, tree);
    atomic_store_explicit(&tree->behind, status != COPSE_OK, memory_order_release);
    if (status != COPSE_ERR_MEMORY) return status;
    copse_error_put_back(&kept);
    return COPSE_OK;
}

copse_status copse_radix_mirror_ready(const copse_index *index)
{
    copse_radix_device *tree = copse_radix_device_of(index);
    if (!atomic_load_explicit(&tree->behind, memory_order_acquire)) return COPSE_OK;
    copse_status status = COPSE_OK;
    pthread_mutex_lock(&tree->lock);
    if (atomic_load_explicit(&tree->behind, memory_order_relaxed)) {
        status = update(index, tree);
        if (status == COPSE_OK) atomic_store_explicit(&tree->behind, false, memory_order_release);
    }
    pthread_mutex_unlock(&tree->lock);
    return status;
}

/* --- checking --------------------------------------------------------------------------------------------------------------- */

#define COMPARED_BYTES (UINT64_C(1) << 20)

/* Compares what both sides have of a pool, a piece of a segment at a time. */
static copse_status pool_verify(const copse_index *index, const copse_radix_device *tree, uint32_t type, void *piece)
{
    const copse_radix_pool *pool = copse_radix_pool_of(&tree->host, type);
    const uint64_t segment = (uint64_t)pool->stride << pool->shift, end = pool->used * pool->stride;
    if (copse_radix_is_apart(tree, type)) return COPSE_OK;
    for (uint64_t at = 0, bytes; at < end; at += bytes) {
        bytes = segment - at % segment;
        if (bytes > end - at) bytes = end - at;
        if (bytes > COMPARED_BYTES) bytes = COMPARED_BYTES;
        copse_status status = copse_transfer_to_host(index->device, piece, tree->view.pool[type] + at, bytes);
        if (status != COPSE_OK) return status;
        if (memcmp(piece, pool->segments[at / segment] + at % segment, (size_t)bytes) != 0)
            return copse_fail(index->ctx, COPSE_ERR_CORRUPT,
                              "radix tree: the device has other bytes than the host (pool %u, from byte %llu on)", type,
                              (unsigned long long)at);
    }
    return COPSE_OK;
}

copse_status copse_radix_mirror_verify(const copse_index *index)
{
    const copse_radix_device *tree = copse_radix_device_of(index);
    copse_status status = COPSE_OK;
    void *piece = copse_memory_alloc(index->ctx, COMPARED_BYTES);
    if (!piece) return copse_fail_memory(index->ctx, COMPARED_BYTES, "verifying");
    for (uint32_t type = COPSE_RADIX_NODE2; type < COPSE_RADIX_TYPES && status == COPSE_OK; type++)
        status = pool_verify(index, tree, type, piece);
    copse_memory_free(index->ctx, piece, COMPARED_BYTES);
    if (status == COPSE_OK && tree->view.root != tree->host.root)
        status = copse_fail(index->ctx, COPSE_ERR_CORRUPT, "radix tree: the device has another root than the host");
    return status;
}

/* --- before an update ------------------------------------------------------------------------------------------------------ */

uint64_t copse_radix_items_used(const copse_radix_device *tree, uint32_t type)
{
    return copse_radix_pool_of(&tree->host, type)->used + tree->more[type];
}

/* Nodes of a type that the tree has. */
static uint64_t nodes_live(const copse_radix_device *tree, uint32_t type)
{
    return copse_radix_items_used(tree, type) - copse_radix_pool_of(&tree->host, type)->free_count -
           tree->spare_n[type];
}

/* A key makes a node of two links, or turns one node into another type. A node that comes to be of a type was there before, as one of the
 * next smaller type, or it was made by the keys: then it took one of them to be made with one link more than the type before that has room
 * for, and one for each link up to one more than the smaller type has room for. Or keys go, and it was one of a larger type. */
static uint64_t nodes_most(const copse_radix_device *tree, uint32_t type, uint64_t n, bool come)
{
    static const uint32_t keys[] = {[COPSE_RADIX_NODE2] = 1,
                                    [COPSE_RADIX_NODE4] = 2,
                                    [COPSE_RADIX_NODE16] = 1 + 5 - 3,
                                    [COPSE_RADIX_NODE48] = 1 + 17 - 5,
                                    [COPSE_RADIX_NODE256] = 1 + 49 - 17};
    uint64_t most = come ? n / keys[type] : 0;
    if (come && type > COPSE_RADIX_NODE2) most += nodes_live(tree, type - 1);
    for (uint32_t larger = type + 1; larger <= COPSE_RADIX_NODE256; larger++) most += nodes_live(tree, larger);
    return most < n ? most : n;
}

void copse_radix_items_most(const copse_radix_device *tree, uint64_t n, const uint64_t *leaves,
                            uint64_t most[COPSE_RADIX_TYPES])
{
    most[COPSE_RADIX_NONE] = 0;
    for (uint32_t type = COPSE_RADIX_NODE2; type < COPSE_RADIX_TYPES; type++)
        most[type] = type < COPSE_RADIX_LEAF8 ? nodes_most(tree, type, n, leaves != NULL) : leaves ? leaves[type] : 0;
}

copse_status copse_radix_mirror_reserve(const copse_index *index, const uint64_t *most)
{
    copse_radix_device *tree = copse_radix_device_of(index);
    copse_status status = COPSE_OK;
    for (uint32_t type = COPSE_RADIX_NODE2; type < COPSE_RADIX_TYPES && status == COPSE_OK; type++) {
        const copse_radix_pool *pool = copse_radix_pool_of(&tree->host, type);
        const uint64_t free = type == COPSE_RADIX_LEAF_LONG ? 0 : pool->free_count + tree->spare_n[type];
        status = pool_reserve(index, tree, type,
                              copse_radix_items_used(tree, type) + (most[type] > free ? most[type] - free : 0));
        if (status == COPSE_OK) status = marks_reserve(index, tree, type);
    }
    return status;
}
