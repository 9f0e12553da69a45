/* Free items of a radix tree on a device, which new keys take first: an array of indexes for each type, in device memory. Those of the host's
 * lists go there when kernels want them, and back when the host has the pages of the device again. */
#include "gpu/sort.h"
#include "primitives/primitives.h"
#include "trees/radix/gpu/tree.h"

void copse_radix_spares_free(const copse_index *index, copse_radix_device *tree)
{
    copse_device *device = index->device;
    for (uint32_t type = 0; type < COPSE_RADIX_TYPES; type++) {
        copse_device_free(device, device->main, tree->spare[type], tree->spare_room[type] * sizeof(uint64_t));
        tree->spare[type] = NULL;
        tree->spare_n[type] = tree->spare_room[type] = 0;
    }
}

/* Room for so many items of a type. */
static copse_status array_reserve(const copse_index *index, copse_radix_device *tree, uint32_t type, uint64_t room)
{
    copse_device *device = index->device;
    const uint64_t old = tree->spare_room[type];
    void *memory = NULL;
    if (room <= old) return COPSE_OK;
    if (room < old + old / 2) room = old + old / 2;
    copse_status status = copse_device_alloc(device, device->main, room * sizeof(uint64_t), "the radix tree", &memory);
    if (status == COPSE_OK && tree->spare_n[type])
        status =
            copse_device_copy(device, device->main, memory, tree->spare[type], tree->spare_n[type] * sizeof(uint64_t));
    if (status != COPSE_OK) {
        copse_device_free(device, device->main, memory, room * sizeof(uint64_t));
        return status;
    }
    copse_device_free(device, device->main, tree->spare[type], old * sizeof(uint64_t));
    tree->spare[type] = memory;
    tree->spare_room[type] = room;
    return COPSE_OK;
}

/* Items of a host's list that are wanted: their bytes are the same on both sides, whatever kernels have done since. */
static uint64_t listed_wanted(const copse_radix_device *tree, uint32_t type, uint64_t most)
{
    if (type == COPSE_RADIX_LEAF_LONG || most <= tree->spare_n[type]) return 0;
    const uint64_t listed = tree->host.pools[type].free_count, wanted = most - tree->spare_n[type];
    return wanted < listed ? wanted : listed;
}

/* Items that have been taken from the host's lists. */
static copse_status taken_send(const copse_index *index, copse_radix_device *tree, uint32_t type, const uint64_t *taken,
                               uint64_t n)
{
    copse_device *device = index->device;
    copse_status status =
        copse_device_copy(device, device->main, tree->spare[type] + tree->spare_n[type], taken, n * sizeof *taken);
    if (status == COPSE_OK) status = copse_device_wait(device, device->main);
    tree->spare_n[type] += n;
    return status;
}

static copse_status listed_take(const copse_index *index, copse_radix_device *tree, uint32_t type, uint64_t n)
{
    if (n == 0) return COPSE_OK;
    uint64_t *taken = copse_memory_alloc(index->ctx, n * sizeof *taken);
    if (!taken) return copse_fail_memory(index->ctx, n * sizeof *taken, "the radix tree");
    for (uint64_t i = 0; i < n; i++) taken[i] = copse_radix_pool_take(&tree->host.pools[type]);
    const copse_status status = taken_send(index, tree, type, taken, n);
    copse_memory_free(index->ctx, taken, n * sizeof *taken);
    return status;
}

copse_status copse_radix_spares_hand(const copse_index *index, const uint64_t *most, const uint64_t *freed,
                                     copse_radix_items *out)
{
    copse_radix_device *tree = copse_radix_device_of(index);
    copse_status status = COPSE_OK;
    for (uint32_t type = COPSE_RADIX_NODE2; type < COPSE_RADIX_TYPES && status == COPSE_OK; type++) {
        const uint64_t used = copse_radix_items_used(tree, type) + most[type],
                       wanted = listed_wanted(tree, type, most[type]);
        status =
            array_reserve(index, tree, type, tree->spare_n[type] + wanted + (freed[type] < used ? freed[type] : used));
        if (status == COPSE_OK) status = listed_take(index, tree, type, wanted);
        out->hand[type] = tree->spare[type];
        out->hand_n[type] = type == COPSE_RADIX_LEAF_LONG ? 0 : tree->spare_n[type];
        out->used[type] = copse_radix_items_used(tree, type);
        out->known[type] = tree->known[type];
    }
    return status;
}

/* Puts what became free into the arrays. Nobody waits for it: what comes next on the stream finds it there. */
static copse_status freed_add(const copse_index *index, copse_radix_device *tree, const copse_radix_link *freed,
                              const copse_radix_tally *tally, uint64_t *count)
{
    copse_device *device = index->device;
    copse_radix_spare_arguments a = {.freed = freed, .n = tally->freed, .count = count};
    for (uint32_t type = COPSE_RADIX_NODE2; type < COPSE_RADIX_TYPES; type++) {
        if (tree->spare[type]) a.ends[type] = tree->spare[type] + tree->spare_n[type]; /* else none of them went */
        tree->spare_n[type] += tally->gone[type];
    }
    return copse_device_launch(device, device->main, &copse_radix_kernels_on(device)->spare,
                               copse_device_blocks(device, a.n), &a);
}

copse_status copse_radix_spares_account(const copse_index *index, const copse_radix_items *items,
                                        const copse_radix_tally *tally, copse_radix_tally *there,
                                        const copse_radix_link *freed)
{
    copse_radix_device *tree = copse_radix_device_of(index);
    tree->host.ordered = false;
    for (uint32_t type = COPSE_RADIX_NODE2; type < COPSE_RADIX_TYPES; type++) {
        const uint64_t taken = tally->taken[type], hand = items->hand_n[type];
        if (taken > hand) tree->more[type] += taken - hand;
        if (type != COPSE_RADIX_LEAF_LONG) tree->spare_n[type] -= taken < hand ? taken : hand;
    }
    if (tree->host.height < tally->levels) tree->host.height = (uint32_t)tally->levels;
    return tally->freed ? freed_add(index, tree, freed, tally, there->spare) : COPSE_OK;
}

/* --- blocks of long leaves ---------------------------------------------------------------------------------------------------- */

/* Blocks in the list of a class, up to so many. */
static uint64_t blocks_listed(const copse_radix_heap *heap, uint32_t class_number, uint64_t most)
{
    uint64_t n = 0;
    for (uint64_t next = heap->free[class_number]; next && n < most; n++)
        memcpy(&next, copse_radix_pool_at(&heap->pool, next - 1), sizeof next);
    return n;
}

/* Takes blocks from the host's lists, up to so many of each class, as links to leaves that they have room for. */
static copse_status blocks_take(const copse_index *index, copse_radix_device *tree, uint64_t most)
{
    const uint32_t type = COPSE_RADIX_LEAF_LONG;
    copse_radix_heap *heap = &tree->host.heap;
    uint64_t listed[COPSE_RADIX_CLASSES], n = 0;
    for (uint32_t c = 0; c < COPSE_RADIX_CLASSES; c++) n += listed[c] = blocks_listed(heap, c, most);
    if (n == 0) return COPSE_OK;
    uint32_t *ahead[COPSE_RADIX_TYPES];
    copse_status status = copse_radix_ahead_make(index, tree, ahead); /* so that the host gets them back */
    if (status == COPSE_OK) status = array_reserve(index, tree, type, tree->spare_n[type] + n);
    if (status != COPSE_OK) return status;
    uint64_t *taken = copse_memory_alloc(index->ctx, n * sizeof *taken), *to = taken;
    if (!taken) return copse_fail_memory(index->ctx, n * sizeof *taken, "the radix tree");
    for (uint32_t c = 0; c < COPSE_RADIX_CLASSES; c++) {
        const uint32_t units = copse_radix_class_units(c), room = 8 * units - (tree->host.width ? 8 : 0);
        const size_t length = room < COPSE_LONGEST_KEY ? room : COPSE_LONGEST_KEY;
        for (; listed[c]; listed[c]--) *to++ = copse_radix_leaf_link(length, copse_radix_heap_take(heap, units));
    }
    status = taken_send(index, tree, type, taken, n);
    copse_memory_free(index->ctx, taken, n * sizeof *taken);
    return status;
}

copse_status copse_radix_spares_all(const copse_index *index)
{
    copse_radix_device *tree = copse_radix_device_of(index);
    copse_status status = COPSE_OK;
    for (uint32_t type = COPSE_RADIX_NODE2; type < COPSE_RADIX_LEAF_LONG && status == COPSE_OK; type++) {
        const uint64_t n = tree->host.pools[type].free_count;
        status = array_reserve(index, tree, type, tree->spare_n[type] + n);
        if (status == COPSE_OK) status = listed_take(index, tree, type, n);
    }
    return status == COPSE_OK ? blocks_take(index, tree, UINT64_MAX) : status;
}

static copse_status blocks_launch(const copse_index *index, const copse_kernel *kernel,
                                  const copse_radix_blocks *blocks)
{
    copse_device *device = index->device;
    return copse_device_launch(device, device->main, kernel, copse_device_blocks(device, blocks->n), blocks);
}

copse_status copse_radix_blocks_group(const copse_index *index, uint64_t most, copse_radix_blocks *out,
                                      copse_scratch *out_scratch)
{
    copse_device *device = index->device;
    copse_radix_device *tree = copse_radix_device_of(index);
    const copse_radix_kernels *kernels = copse_radix_kernels_on(device);
    copse_radix_blocks blocks = {.width = tree->view.width};
    copse_status status = blocks_take(index, tree, most);
    if (status != COPSE_OK || !tree->spare_n[COPSE_RADIX_LEAF_LONG]) return status;
    blocks.free = tree->spare[COPSE_RADIX_LEAF_LONG];
    blocks.n = tree->spare_n[COPSE_RADIX_LEAF_LONG];
    const copse_scratch_array arrays[] = {{(void **)&blocks.begins, (COPSE_RADIX_CLASSES + 1) * sizeof(uint64_t)},
                                          {(void **)&blocks.taken, COPSE_RADIX_CLASSES * sizeof(uint64_t)},
                                          {(void **)&blocks.rest, sizeof(uint64_t)},
                                          {(void **)&blocks.grouped, blocks.n * sizeof(uint64_t)}};
    status = copse_scratch_take(device, "the new keys", arrays, 4, out_scratch);
    if (status == COPSE_OK)
        status = copse_device_fill(device, device->main, blocks.begins, 0,
                                   (uint64_t)((char *)blocks.grouped - (char *)blocks.begins));
    if (status == COPSE_OK) status = blocks_launch(index, &kernels->blocks_count, &blocks);
    if (status == COPSE_OK)
        status = device->backend->primitives->scan_u64(device, device->main, blocks.begins, blocks.begins,
                                                       COPSE_RADIX_CLASSES + 1);
    if (status == COPSE_OK) status = blocks_launch(index, &kernels->blocks_group, &blocks);
    *out = blocks;
    return status;
}

copse_status copse_radix_blocks_leave(const copse_index *index, copse_radix_blocks *blocks)
{
    copse_device *device = index->device;
    copse_radix_device *tree = copse_radix_device_of(index);
    if (blocks->n == 0) return COPSE_OK;
    blocks->free = tree->spare[COPSE_RADIX_LEAF_LONG];
    copse_status status = blocks_launch(index, &copse_radix_kernels_on(device)->blocks_leave, blocks);
    return status == COPSE_OK ? copse_device_read(device, device->main, &tree->spare_n[COPSE_RADIX_LEAF_LONG],
                                                  blocks->rest, sizeof(uint64_t))
                              : status;
}

copse_status copse_radix_spares_give(const copse_index *index, copse_radix_device *tree)
{
    uint64_t most = 0;
    for (uint32_t type = 0; type < COPSE_RADIX_TYPES; type++)
        if (tree->spare_n[type] > most) most = tree->spare_n[type];
    if (most == 0) return COPSE_OK;
    uint64_t *items = copse_memory_alloc(index->ctx, most * sizeof *items);
    if (!items) return copse_fail_memory(index->ctx, most * sizeof *items, "the radix tree");
    copse_status status = COPSE_OK;
    for (uint32_t type = COPSE_RADIX_NODE2; type < COPSE_RADIX_TYPES && status == COPSE_OK; type++) {
        const uint64_t n = tree->spare_n[type];
        if (n)
            status = copse_device_read(index->device, index->device->main, items, tree->spare[type], n * sizeof *items);
        for (uint64_t i = 0; i < n && status == COPSE_OK; i++)
            copse_radix_item_drop(&tree->host,
                                  type == COPSE_RADIX_LEAF_LONG ? items[i] : copse_radix_link_of(type, 0, items[i]));
        if (status == COPSE_OK) tree->spare_n[type] = 0;
    }
    copse_memory_free(index->ctx, items, most * sizeof *items);
    return status;
}
