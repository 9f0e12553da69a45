/* Versions of the B-link and the B+ tree on a device: their memory, and putting one in the place of another. */
#include "cuda/blink_device.h"

#include <string.h>

/* A pool of more than this share of the home leaves, and of more than so many bytes, is not handed on to the next version. */
#define POOL_KEEP_SHARE 13u
#define POOL_KEEP_LEAST (UINT64_C(8) << 20)
/* It grows by at least this share of the home leaves: mapping memory takes as long as many a batch. */
#define POOL_STEP_SHARE 64u

void copse_blink_version_free(const copse_index *index, copse_blink_version *version)
{
    if (!version) return;
    copse_device *device = index->device;
    copse_device_free(device, device->main, version->view.home, version->home_bytes);
    copse_device_free(device, device->main, version->counters, sizeof *version->counters);
    copse_device_levels_free(index, &version->levels);
    copse_device_array_free(&version->pool);
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

static copse_status version_memory(const copse_index *index, copse_blink_version *version)
{
    copse_device *device = index->device;
    void *memory = NULL;
    version->home_bytes = (uint64_t)version->view.homes * COPSE_LEAF_BYTES;
    copse_status status =
        copse_device_alloc(device, device->main, version->home_bytes, "the leaves of the tree", &memory);
    version->view.home = memory;
    if (status != COPSE_OK) return status;
    memory = NULL;
    status = copse_device_alloc(device, device->main, sizeof *version->counters, "the tree", &memory);
    version->counters = memory;
    if (status == COPSE_OK)
        status = copse_device_fill(device, device->main, version->counters, 0, sizeof *version->counters);
    return status;
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
    copse_device_levels_start(&version->view.levels, low, high);
    copse_status status = version_memory(index, version);
    if (status == COPSE_OK)
        *out = version;
    else
        copse_blink_version_free(index, version);
    return status;
}

uint64_t copse_blink_version_bytes(const copse_blink_version *version)
{
    return sizeof *version + version->home_bytes + version->levels.bytes + version->pool.mapped +
           sizeof *version->counters;
}

static void pool_view(copse_blink_version *version)
{
    const uint64_t leaves = version->pool.mapped / COPSE_LEAF_BYTES / COPSE_POOL_STRIPES * COPSE_POOL_STRIPES;
    const uint64_t most = (UINT32_MAX - version->view.homes) / COPSE_POOL_STRIPES * COPSE_POOL_STRIPES;
    if (version->view.pool != version->pool.address) version->view.pool = version->pool.address; /* views read it */
    version->view.pool_leaves = (uint32_t)(leaves < most ? leaves : most);
}

copse_status copse_blink_pool_open(const copse_index *index, copse_blink_version *version)
{
    copse_status status = COPSE_OK;
    if (!version->pool.address)
        status = copse_device_array_create(index->device, index->device->memory, &version->pool);
    if (status == COPSE_OK) pool_view(version);
    return status;
}

copse_status copse_blink_pool_reserve(const copse_index *index, copse_blink_version *version, uint64_t leaves)
{
    const uint64_t wanted = version->pool_taken + leaves;
    if (wanted <= version->view.pool_leaves) return COPSE_OK;
    copse_status status = copse_blink_pool_open(index, version);
    if (status != COPSE_OK) return status;
    const uint64_t least = (wanted + COPSE_POOL_STRIPES) * COPSE_LEAF_BYTES;
    const uint64_t step = version->pool.mapped / 8 + version->home_bytes / POOL_STEP_SHARE;
    const uint64_t more = version->pool.mapped + step; /* so that growth is seldom */
    status = copse_device_array_grow(&version->pool, least > more || more > version->pool.reserved ? least : more);
    if (status == COPSE_ERR_MEMORY && least < more) status = copse_device_array_grow(&version->pool, least);
    pool_view(version);
    if (status == COPSE_OK && version->view.pool_leaves < wanted)
        return copse_fail(index->ctx, COPSE_ERR_UNSUPPORTED, "%llu leaves are more than the %s tree can hold",
                          (unsigned long long)(wanted + version->view.homes),
                          copse_structure_name(index->operations->structure));
    return status;
}

/* The pool of a version that goes serves the next one, since mapping memory takes long. */
static void pool_hand_on(copse_blink_version *from, copse_blink_version *to)
{
    const uint64_t most = to->home_bytes / POOL_KEEP_SHARE;
    if (to->pool.address || from->pool.mapped > (most > POOL_KEEP_LEAST ? most : POOL_KEEP_LEAST)) return;
    to->pool = from->pool;
    memset(&from->pool, 0, sizeof from->pool);
    pool_view(to);
}

copse_status copse_blink_replace(copse_index *index, copse_blink_version *version, copse_status status)
{
    copse_blink *tree = copse_blink_handle_of(index)->tree;
    const uint64_t n = version ? version->view.entries : 0;
    if (status == COPSE_OK) status = copse_progress(index->ctx, "rebuilding the inner levels", n, n);
    if (status == COPSE_OK) status = copse_device_wait(index->device, index->device->main);
    if (status == COPSE_OK && tree->views) status = copse_blink_pool_open(index, version);
    if (status != COPSE_OK) {
        copse_blink_version_free(index, version);
        return status;
    }
    pthread_mutex_lock(&tree->lock);
    copse_blink_version *old = tree->current;
    tree->current = version;
    const bool unused = old && old->holders == 0;
    pthread_mutex_unlock(&tree->lock);
    if (!unused) return COPSE_OK;
    pool_hand_on(old, version);
    copse_blink_version_free(index, old);
    return COPSE_OK;
}
