/* Versions of the B-link and the B+ tree on a device: their memory, and putting one in the place of another. */
#include "trees/blink/tree.h"

#include <string.h>

/*
 * Leaves lie in chunks of one size, so that a new version can have the memory that an old one gave back: what the device's pool
 * does not have at one address comes from the system, which takes about a millisecond for each gigabyte. A chunk is this share
 * of the home leaves, rounded up to a power of two, or the least: few chunks take less time, small ones leave less unused.
 */
#define CHUNK_SHARE 64u
#define CHUNK_LEAST COPSE_POOL_STRIPES
/* From so many bytes on it is looked first whether there is that much. */
#define LOOK_FIRST (UINT64_C(4) << 30)
/* Chunks that a version may have: for so many times as many leaves as there are homes, and some more. */
#define CHUNKS_TIMES 5u
#define CHUNKS_MORE  32u

/* --- chunks ----------------------------------------------------------------------------------------------------------------- */

/* Counters and the table of chunks are one piece of device memory. */
static uint64_t control_bytes(const copse_blink_version *version)
{
    return sizeof(copse_blink_counters) + version->chunks_most * sizeof(uint64_t);
}

static uint64_t version_size(unsigned chunks_most)
{
    return sizeof(copse_blink_version) + chunks_most * sizeof(uint64_t);
}

/* Leaves of a chunk, as a power of two, in a version with so many homes. */
static uint32_t shift_for(uint64_t homes)
{
    const uint64_t share = homes / CHUNK_SHARE;
    uint32_t shift = 0;
    while (UINT64_C(1) << shift < share || UINT64_C(1) << shift < CHUNK_LEAST) shift++;
    return shift;
}

/* The same for a version that comes after one with other chunks: as large as those, though there may be up to twice as many. A tree
 * that grows would otherwise have no use for what it gives back whenever it comes to the next size. */
static uint32_t shift_after(uint64_t homes, uint32_t before)
{
    const uint32_t shift = shift_for(homes);
    return before + 1 == shift ? before : shift;
}

/* Chunks that leaves 0 .. leaves - 1 take. */
static unsigned chunks_for(uint64_t leaves, uint32_t shift)
{
    return (unsigned)((leaves + (UINT64_C(1) << shift) - 1) >> shift);
}

static unsigned home_chunks(const copse_blink_version *version)
{
    return chunks_for(version->view.homes, version->view.chunk_shift);
}

static uint64_t chunk_bytes(const copse_blink_version *version, unsigned chunk)
{
    const bool cut = version->cut && chunk + 1 == home_chunks(version);
    return (cut ? version->cut : UINT64_C(1) << version->view.chunk_shift) * COPSE_LEAF_BYTES;
}

/* Gives all chunks but the first `kept` back. */
static void chunks_drop(const copse_index *index, copse_blink_version *version, unsigned kept)
{
    copse_device *device = index->device;
    while (version->chunks_made > kept) {
        const unsigned chunk = --version->chunks_made;
        copse_device_free(device, device->main, (void *)(uintptr_t)version->chunks[chunk], chunk_bytes(version, chunk));
    }
}

/* Is there room for so much? Chunk by chunk it would take long to find out that there is not; so where it looks like that, all is
 * asked for at once. */
static copse_status chunks_look(copse_device *device, uint64_t bytes, const char *what)
{
    uint64_t available = 0, total = 0;
    void *memory = NULL;
    if (bytes < LOOK_FIRST) return COPSE_OK;
    device->backend->memory_info(device, &available, &total);
    if (bytes <= available) return COPSE_OK;
    copse_status status = copse_device_alloc(device, device->main, bytes, what, &memory);
    copse_device_free(device, device->main, memory, bytes);
    return status;
}

/* The next chunk. False where the table of the device has its address already: an update often gets the chunks again that the one
 * before gave back, and telling the device takes longer than everything else about them. */
static bool chunk_put(copse_blink_version *version, void *memory)
{
    const unsigned chunk = version->chunks_made++;
    const uint64_t address = (uint64_t)(uintptr_t)memory;
    const bool told = chunk < version->chunks_told && version->chunks[chunk] == address;
    if (!told && chunk < version->chunks_told) version->chunks_told = chunk;
    version->chunks[chunk] = address;
    return !told;
}

/* Puts the addresses of chunks from `first` on into the table of the device. */
static copse_status chunks_tell(const copse_index *index, copse_blink_version *version, unsigned first)
{
    copse_device *device = index->device;
    copse_tell_arguments arguments;
    copse_status status = COPSE_OK;
    while (first < version->chunks_made && status == COPSE_OK) {
        const unsigned left = version->chunks_made - first;
        arguments.n = left < COPSE_TELL_MOST ? left : COPSE_TELL_MOST;
        arguments.to = (uint64_t *)(version->counters + 1) + first;
        memset(arguments.addresses, 0, sizeof arguments.addresses);
        memcpy(arguments.addresses, version->chunks + first, arguments.n * sizeof *version->chunks);
        status = copse_device_launch(device, device->main, &copse_blink_kernels_of(index)->tell, 1, &arguments);
        first += arguments.n;
    }
    if (status == COPSE_OK) version->chunks_told = version->chunks_made;
    return status;
}

/* Sees to it that there are `wanted` chunks, and their addresses in the table before any leaf of them can be used; or leaves
 * everything as it was. */
static copse_status chunks_add(const copse_index *index, copse_blink_version *version, unsigned wanted,
                               const char *what)
{
    copse_device *device = index->device;
    const unsigned before = version->chunks_made;
    uint64_t all = 0;
    bool fresh = false;
    for (unsigned chunk = before; chunk < wanted; chunk++) all += chunk_bytes(version, chunk);
    copse_status status = chunks_look(device, all, what);
    while (version->chunks_made < wanted && status == COPSE_OK) {
        void *memory = NULL;
        const uint64_t bytes = chunk_bytes(version, version->chunks_made);
        status = copse_device_alloc(device, device->main, bytes, what, &memory);
        if (status == COPSE_OK) fresh |= chunk_put(version, memory);
    }
    if (status == COPSE_OK && fresh) status = chunks_tell(index, version, before);
    if (status == COPSE_OK) return status;
    chunks_drop(index, version, before);
    return status == COPSE_ERR_MEMORY ? copse_device_out_of_memory(device, all, what) : status;
}

/* The pool has what the chunks have room for behind the homes. */
static void pool_measure(copse_blink_version *version)
{
    copse_blink_tree *view = &version->view;
    view->pool_first = version->cut ? home_chunks(version) << view->chunk_shift : view->homes;
    const uint64_t room = ((uint64_t)version->chunks_made << view->chunk_shift) - view->pool_first;
    view->pool_leaves = (uint32_t)(room / COPSE_POOL_STRIPES * COPSE_POOL_STRIPES);
}

/* --- versions --------------------------------------------------------------------------------------------------------------- */

void copse_blink_version_free(const copse_index *index, copse_blink_version *version)
{
    if (!version) return;
    copse_device *device = index->device;
    chunks_drop(index, version, 0);
    copse_device_free(device, device->main, version->counters, control_bytes(version));
    copse_device_levels_free(index, &version->levels);
    copse_blink_order_free(index, &version->order);
    copse_memory_free(index->ctx, version, version_size(version->chunks_most));
}

/* Home leaves that packed entries take: two leaves share a number of them, which may be odd. */
static uint64_t homes_for(const copse_index *index, uint64_t entries)
{
    const uint64_t two = copse_blink_packed_two(index), rest = entries % two;
    const uint64_t homes = entries / two * 2 + (rest == 0 ? 0 : rest <= two / 2 ? 1 : 2);
    return homes ? homes : 1;
}

copse_blink_room copse_blink_room_after(const copse_blink_version *version, uint64_t homes)
{
    const uint32_t shift = shift_after(homes, version->view.chunk_shift);
    return (copse_blink_room){.chunks = chunks_for(homes, shift), .chunk_bytes = (uint64_t)COPSE_LEAF_BYTES << shift};
}

static copse_status version_memory(const copse_index *index, copse_blink_version *version)
{
    copse_device *device = index->device;
    void *memory = NULL;
    copse_status status = copse_device_alloc(device, device->main, control_bytes(version), "the tree", &memory);
    if (status != COPSE_OK) return status;
    version->counters = memory;
    version->view.chunks = (const uint64_t *)(version->counters + 1);
    status = copse_device_fill(device, device->main, memory, 0, sizeof *version->counters);
    if (status == COPSE_OK) status = chunks_add(index, version, home_chunks(version), "the leaves of the tree");
    pool_measure(version);
    return status;
}

/* A version without memory on the device. */
static copse_blink_version *version_alloc(const copse_index *index, uint64_t homes, uint32_t shift)
{
    const uint64_t wanted = (uint64_t)chunks_for(homes, shift) * CHUNKS_TIMES + CHUNKS_MORE;
    const uint64_t numbered = UINT32_MAX >> shift; /* numbers of leaves have 32 bits */
    const unsigned most = (unsigned)(wanted < numbered ? wanted : numbered);
    copse_blink_version *version = copse_memory_alloc(index->ctx, version_size(most));
    if (!version) return NULL;
    memset(version, 0, sizeof *version);
    version->chunks_most = most;
    version->view.homes = (uint32_t)homes;
    version->view.chunk_shift = shift;
    version->cut = (uint32_t)(homes & ((UINT64_C(1) << shift) - 1));
    return version;
}

copse_status copse_blink_version_make_homes(const copse_index *index, uint32_t before, uint64_t homes, uint64_t low,
                                            uint64_t high, copse_blink_version **out)
{
    copse_blink_version *version = version_alloc(index, homes, shift_after(homes, before));
    if (!version) return copse_fail_memory(index->ctx, sizeof *version, "the tree");
    copse_blink_order_init(&version->order);
    version->low = low;
    version->high = high;
    version->view.forks = index->description->structure == COPSE_STRUCTURE_BPLUS;
    version->view.unique = !index->duplicates;
    version->view.key_type = index->key_type;
    version->view.value_type = index->value_type;
    copse_device_levels_start(&version->view.levels, low, high);
    copse_status status = version_memory(index, version);
    if (status == COPSE_OK)
        *out = version;
    else
        copse_blink_version_free(index, version);
    return status;
}

copse_status copse_blink_version_make(const copse_index *index, uint32_t before, uint64_t entries, uint64_t low,
                                      uint64_t high, copse_blink_version **out)
{
    const uint64_t homes = homes_for(index, entries);
    if (homes > UINT32_MAX / 2)
        return copse_fail(index->ctx, COPSE_ERR_UNSUPPORTED, "%llu entries are more than the %s tree can hold",
                          (unsigned long long)entries, copse_structure_name(index->description->structure));
    copse_status status = copse_blink_version_make_homes(index, before, homes, low, high, out);
    if (status == COPSE_OK) (*out)->view.entries = entries;
    return status;
}

/* Copies home leaves to another version, whose chunks are not larger. */
static void homes_copy(copse_device *device, const copse_blink_version *from, const copse_blink_version *to)
{
    const uint32_t shift = from->view.chunk_shift;
    for (unsigned chunk = 0; chunk < to->chunks_made; chunk++) {
        const uint64_t first = (uint64_t)chunk << to->view.chunk_shift, place = first & ((UINT64_C(1) << shift) - 1);
        const char *leaves = (const char *)(uintptr_t)from->chunks[first >> shift] + place * COPSE_LEAF_BYTES;
        /* It fails where the device does, which the next call will tell. */
        (void)copse_device_copy(device, device->main, (void *)(uintptr_t)to->chunks[chunk], leaves,
                                chunk_bytes(to, chunk));
    }
}

/* Moves the home leaves of a version to smaller chunks. Where there is no memory for that, they stay where they are. */
static void version_refit(const copse_index *index, copse_blink_version *version, uint64_t homes)
{
    copse_kept_error kept;
    copse_error_keep(&kept);
    copse_blink_version *fresh = version_alloc(index, homes, shift_for(homes));
    if (fresh) fresh->counters = version->counters; /* behind which the table is */
    if (fresh && home_chunks(fresh) <= version->chunks_most &&
        chunks_add(index, fresh, home_chunks(fresh), "the leaves of the tree") == COPSE_OK) {
        homes_copy(index->device, version, fresh);
        chunks_drop(index, version, 0);
        memcpy(version->chunks, fresh->chunks, fresh->chunks_made * sizeof *fresh->chunks);
        version->chunks_made = version->chunks_told = fresh->chunks_made;
        version->cut = fresh->cut;
        version->view.chunk_shift = fresh->view.chunk_shift;
        version->view.homes = fresh->view.homes;
    }
    if (fresh) copse_memory_free(index->ctx, fresh, version_size(fresh->chunks_most));
    copse_error_put_back(&kept);
}

void copse_blink_version_shrink(const copse_index *index, copse_blink_version *version, uint64_t entries)
{
    const uint64_t homes = homes_for(index, entries);
    version->view.entries = entries;
    if (version->view.chunk_shift > shift_for(homes) + 1) version_refit(index, version, homes);
    const unsigned chunks = chunks_for(homes, version->view.chunk_shift);
    const bool stays_cut = chunks == home_chunks(version);
    chunks_drop(index, version, chunks);
    if (!stays_cut) version->cut = 0;
    version->view.homes = (uint32_t)homes;
    pool_measure(version);
}

uint64_t copse_blink_version_bytes(const copse_blink_version *version)
{
    uint64_t bytes = version_size(version->chunks_most) + version->levels.bytes + control_bytes(version);
    for (unsigned chunk = 0; chunk < version->chunks_made; chunk++) bytes += chunk_bytes(version, chunk);
    return bytes;
}

/* --- the pool --------------------------------------------------------------------------------------------------------------- */

uint64_t copse_blink_pool_most(const copse_blink_version *version)
{
    const uint64_t room = ((uint64_t)version->chunks_most << version->view.chunk_shift) - version->view.pool_first;
    return room / COPSE_POOL_STRIPES * COPSE_POOL_STRIPES;
}

void copse_blink_pool_chunks(const copse_blink_version *version, unsigned *out_made, unsigned *out_used)
{
    const copse_blink_tree *view = &version->view;
    *out_made = version->chunks_made - home_chunks(version);
    *out_used = chunks_for(view->pool_first + version->pool_used, view->chunk_shift) - home_chunks(version);
}

copse_status copse_blink_pool_reserve(const copse_index *index, copse_blink_version *version, uint64_t leaves)
{
    const uint64_t wanted = version->pool_taken + leaves;
    if (leaves) version->pool_wanted = leaves; /* erasures want none, but other batches will follow */
    if (wanted <= version->view.pool_leaves) return COPSE_OK;
    const unsigned long long all = wanted + version->view.homes;
    if (wanted > copse_blink_pool_most(version))
        return copse_fail(index->ctx, COPSE_ERR_UNSUPPORTED, "%llu leaves are more than the %s tree can hold", all,
                          copse_structure_name(index->description->structure));
    const uint64_t whole = (wanted + COPSE_POOL_STRIPES - 1) / COPSE_POOL_STRIPES * COPSE_POOL_STRIPES;
    const unsigned chunks = chunks_for(version->view.pool_first + whole, version->view.chunk_shift);
    copse_status status = chunks_add(index, version, chunks, "more leaves");
    pool_measure(version);
    return status;
}

/* Readers only get to leaves that are in use, so chunks without any are nobody's. The next update may well want as much as this one
 * did: so much stays, up to a chunk. */
void copse_blink_pool_trim(const copse_index *index, copse_blink_version *version)
{
    const copse_blink_tree *view = &version->view;
    const uint64_t most = UINT64_C(1) << view->chunk_shift;
    const uint64_t spare = version->pool_wanted < most ? version->pool_wanted : most;
    const unsigned kept = chunks_for(view->pool_first + version->pool_used + spare, view->chunk_shift);
    if (version->chunks_made <= kept) return;
    chunks_drop(index, version, kept);
    pool_measure(version);
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
