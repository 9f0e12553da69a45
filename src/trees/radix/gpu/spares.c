/* Free items of a radix tree on a device, which new keys take first: an array of indexes for each type, in device memory. Those of the host's
 * lists go there when kernels want them, and back when the host has the pages of the device again. */
#include "gpu/sort.h"
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

static copse_status listed_take(const copse_index *index, copse_radix_device *tree, uint32_t type, uint64_t n)
{
    copse_device *device = index->device;
    if (n == 0) return COPSE_OK;
    uint64_t *taken = copse_memory_alloc(index->ctx, n * sizeof *taken);
    if (!taken) return copse_fail_memory(index->ctx, n * sizeof *taken, "the radix tree");
    for (uint64_t i = 0; i < n; i++) taken[i] = copse_radix_pool_take(&tree->host.pools[type]);
    copse_status status =
        copse_device_copy(device, device->main, tree->spare[type] + tree->spare_n[type], taken, n * sizeof *taken);
    if (status == COPSE_OK) status = copse_device_wait(device, device->main);
    tree->spare_n[type] += n;
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
