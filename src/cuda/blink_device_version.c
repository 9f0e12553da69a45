/* Versions of the B-link and the B+ tree on a device: their memory, and putting one in the place of another. */
#include "cuda/blink_device.h"

#include <string.h>

/* A chunk of the pool is this share of the home leaves, rounded up to a power of two, or the least. */
#define CHUNK_SHARE 64u
#define CHUNK_LEAST COPSE_POOL_STRIPES
/* Versions from this size on leave room for larger ones. */
#define ROOM_LEAST (UINT64_C(64) << 20)

/* Counters and the table of chunks are one piece of device memory. */
#define CONTROL_BYTES (sizeof(copse_blink_counters) + COPSE_POOL_CHUNKS * sizeof(uint64_t))

static uint64_t chunk_bytes(const copse_blink_version *version)
{
    return ((uint64_t)COPSE_LEAF_BYTES) << version->view.chunk_shift;
}

void copse_blink_version_free(const copse_index *index, copse_blink_version *version)
{
    if (!version) return;
    copse_device *device = index->device;
    copse_device_free(device, device->main, version->view.home, version->home_bytes);
    copse_device_free(device, device->main, version->counters, CONTROL_BYTES);
    copse_device_levels_free(index, &version->levels);
    for (unsigned i = 0; i < version->chunks_made; i++)
        copse_device_free(device, device->main, (void *)(uintptr_t)version->chunks[i], chunk_bytes(version));
    copse_blink_order_free(index, &version->order);
    copse_memory_free(index->ctx, version, sizeof *version);
}

/* Home leaves that packed entries take: two leaves share a number of them, which may be odd. */
static uint64_t homes_for(const copse_index *index, uint64_t entries)
{
    const uint64_t two = copse_blink_packed_two(index), rest = entries % two;
    const uint64_t homes = entries / two * 2 + (rest == 0 ? 0 : rest <= two / 2 ? 1 : 2);
    return homes ? homes : 1;
}

/*
 * Memory that the device's pool does not have at one address comes from the system, which takes about a millisecond for each
 * gigabyte; and every version of a tree that grows is a little larger than the last. So large ones leave room for some more: a
 * block of the next power of two is taken and given back at once, and the pool keeps it.
 */
static void room_keep(copse_device *device, uint64_t bytes)
{
    void *memory = NULL;
    uint64_t room = 1, available, total;
    copse_kept_error kept;
    if (bytes < ROOM_LEAST) return;
    while (room <= bytes) room *= 2;
    device->backend->memory_info(device, &available, &total);
    if (room > available / 4) return;
    copse_error_keep(&kept);
    if (copse_device_alloc(device, device->main, room, "the leaves of the tree", &memory) == COPSE_OK)
        copse_device_free(device, device->main, memory, room);
    copse_error_put_back(&kept);
}

static copse_status version_memory(const copse_index *index, copse_blink_version *version)
{
    copse_device *device = index->device;
    void *memory = NULL;
    version->home_bytes = (uint64_t)version->view.homes * COPSE_LEAF_BYTES;
    room_keep(device, version->home_bytes);
    copse_status status =
        copse_device_alloc(device, device->main, version->home_bytes, "the leaves of the tree", &memory);
    version->view.home = memory;
    if (status != COPSE_OK) return status;
    memory = NULL;
    status = copse_device_alloc(device, device->main, CONTROL_BYTES, "the tree", &memory);
    if (status != COPSE_OK) return status;
    version->counters = memory;
    version->view.pool = (const uint64_t *)(version->counters + 1);
    return copse_device_fill(device, device->main, memory, 0, CONTROL_BYTES);
}

copse_status copse_blink_version_make(const copse_index *index, uint64_t entries, uint64_t low, uint64_t high,
                                      copse_blink_version **out)
{
    const uint64_t homes = homes_for(index, entries);
    if (homes > UINT32_MAX / 2)
        return copse_fail(index->ctx, COPSE_ERR_UNSUPPORTED, "%llu entries are more than the %s tree can hold",
                          (unsigned long long)entries, copse_structure_name(index->operations->structure));
    copse_blink_version *version = copse_memory_alloc(index->ctx, sizeof *version);
    if (!version) return copse_fail_memory(index->ctx, sizeof *version, "the tree");
    memset(version, 0, sizeof *version);
    copse_blink_order_init(&version->order);
    version->low = low;
    version->high = high;
    version->view = (copse_blink_tree){.entries = entries,
                                       .homes = (uint32_t)homes,
                                       .forks = index->operations->structure == COPSE_STRUCTURE_BPLUS,
                                       .unique = !index->duplicates,
                                       .key_type = index->key_type,
                                       .value_type = index->value_type};
    while (UINT64_C(1) << version->view.chunk_shift < homes / CHUNK_SHARE ||
           UINT64_C(1) << version->view.chunk_shift < CHUNK_LEAST)
        version->view.chunk_shift++;
    copse_device_levels_start(&version->view.levels, low, high);
    copse_status status = version_memory(index, version);
    if (status == COPSE_OK)
        *out = version;
    else
        copse_blink_version_free(index, version);
    return status;
}

/* Moves the leaves where at least half of the room is left over. Without memory for that they stay. */
static void room_give_back(const copse_index *index, copse_blink_version *version)
{
    copse_device *device = index->device;
    const uint64_t bytes = (uint64_t)version->view.homes * COPSE_LEAF_BYTES;
    void *memory = NULL;
    copse_kept_error kept;
    if (bytes > version->home_bytes / 2) return;
    copse_error_keep(&kept);
    if (copse_device_alloc(device, device->main, bytes, "the leaves of the tree", &memory) == COPSE_OK &&
        copse_device_copy(device, device->main, memory, version->view.home, bytes) == COPSE_OK) {
        copse_device_free(device, device->main, version->view.home, version->home_bytes);
        version->view.home = memory;
        version->home_bytes = bytes;
        return;
    }
    copse_device_free(device, device->main, memory, bytes);
    copse_error_put_back(&kept);
}

void copse_blink_version_shrink(const copse_index *index, copse_blink_version *version, uint64_t entries)
{
    version->view.entries = entries;
    version->view.homes = (uint32_t)homes_for(index, entries);
    room_give_back(index, version);
}

uint64_t copse_blink_version_bytes(const copse_blink_version *version)
{
    return sizeof *version + version->home_bytes + version->levels.bytes + version->chunks_made * chunk_bytes(version) +
           CONTROL_BYTES;
}

/* One chunk more, and its address in the table before any leaf of it can be taken. */
static copse_status chunk_make(const copse_index *index, copse_blink_version *version)
{
    copse_device *device = index->device;
    const unsigned at = version->chunks_made;
    void *memory = NULL;
    copse_status status = copse_device_alloc(device, device->main, chunk_bytes(version), "more leaves", &memory);
    if (status != COPSE_OK) return status;
    version->chunks[at] = (uint64_t)(uintptr_t)memory;
    status = copse_device_copy(device, device->main, (uint64_t *)(version->counters + 1) + at, &version->chunks[at],
                               sizeof version->chunks[at]);
    if (status != COPSE_OK) {
        copse_device_free(device, device->main, memory, chunk_bytes(version));
        return status;
    }
    version->chunks_made++;
    version->view.pool_leaves += 1u << version->view.chunk_shift;
    return COPSE_OK;
}

copse_status copse_blink_pool_reserve(const copse_index *index, copse_blink_version *version, uint64_t leaves)
{
    const uint64_t wanted = version->pool_taken + leaves;
    copse_status status = COPSE_OK;
    while (version->view.pool_leaves < wanted && version->chunks_made < COPSE_POOL_CHUNKS && status == COPSE_OK)
        status = chunk_make(index, version);
    if (status != COPSE_OK || version->view.pool_leaves >= wanted) return status;
    const unsigned long long all = wanted + version->view.homes;
    return copse_fail(index->ctx, COPSE_ERR_UNSUPPORTED, "%llu leaves are more than the %s tree can hold", all,
                      copse_structure_name(index->operations->structure));
}

copse_status copse_blink_replace(copse_index *index, copse_blink_version *version, copse_status status)
{
    copse_blink *tree = copse_blink_handle_of(index)->tree;
    const uint64_t n = version ? version->view.entries : 0;
    if (status == COPSE_OK) status = copse_progress(index->ctx, "rebuilding the inner levels", n, n);
    if (status == COPSE_OK) status = copse_device_wait(index->device, index->device->main);
    if (status != COPSE_OK) {
        copse_blink_version_free(index, version);
        return status;
    }
    pthread_mutex_lock(&tree->lock);
    copse_blink_version *old = tree->current;
    tree->current = version;
    const bool unused = old && old->holders == 0;
    pthread_mutex_unlock(&tree->lock);
    if (unused) copse_blink_version_free(index, old);
    return COPSE_OK;
}
