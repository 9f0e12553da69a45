/* Versions of the B-link and the B+ tree on a device: their memory, and putting one in the place of another. */
#include "trees/blink/tree.h"

#include <string.h>

/*
 * Leaves lie in chunks of one size, so that a new epoch can have the memory that an old one gave back: what the device's pool
 * does not have at one address comes from the system, which takes about a millisecond for each gigabyte. A chunk is this share
 * of the base_leaf leaves, rounded up to a power of two, or the least: few chunks take less time, small ones leave less unused.
 */
#define CHUNK_SHARE 64u
#define CHUNK_LEAST COPSE_POOL_STRIPES
/* From so many bytes on it is looked first whether there is that much. */
#define LOOK_FIRST (UINT64_C(4) << 30)
/* Chunks that a epoch may have: for so many times as many leaves as there are base_leaves, and some more. */
#define CHUNKS_TIMES 5u
#define CHUNKS_MORE  32u

/* --- chunks ----------------------------------------------------------------------------------------------------------------- */

/* Counters and the table of chunks are one piece of device memory. */
static uint64_t control_bytes(const copse_blink_epoch *epoch)
{
    return sizeof(copse_blink_counters) + epoch->chunks_most * sizeof(uint64_t);
}

static uint64_t epoch_size(unsigned chunks_most)
{
    return sizeof(copse_blink_epoch) + chunks_most * sizeof(uint64_t);
}

/* Leaves of a chunk, as a power of two, in a epoch with so many base_leaves. */
static uint32_t shift_for(uint64_t base_leaves)
{
    const uint64_t share = base_leaves / CHUNK_SHARE;
    uint32_t shift = 0;
    while (UINT64_C(1) << shift < share || UINT64_C(1) << shift < CHUNK_LEAST) shift++;
    return shift;
}

/* The same for a epoch that comes after one with other chunks: as large as those, though there may be up to twice as many. A tree
 * that grows would otherwise have no use for what it gives back whenever it comes to the next size. */
static uint32_t shift_after(uint64_t base_leaves, uint32_t before)
{
    const uint32_t shift = shift_for(base_leaves);
    return before + 1 == shift ? before : shift;
}

/* Chunks that leaves 0 .. leaves - 1 take. */
static unsigned chunks_for(uint64_t leaves, uint32_t shift)
{
    return (unsigned)((leaves + (UINT64_C(1) << shift) - 1) >> shift);
}

static unsigned base_leaf_chunks(const copse_blink_epoch *epoch)
{
    return chunks_for(epoch->view.base_leaves, epoch->view.chunk_shift);
}

static uint64_t chunk_bytes(const copse_blink_epoch *epoch, unsigned chunk)
{
    const bool cut = epoch->cut && chunk + 1 == base_leaf_chunks(epoch);
    return (cut ? epoch->cut : UINT64_C(1) << epoch->view.chunk_shift) * COPSE_LEAF_BYTES;
}

/* Gives all chunks but the first `kept` back. */
static void chunks_drop(const copse_index *index, copse_blink_epoch *epoch, unsigned kept)
{
    copse_device *device = index->device;
    while (epoch->chunks_made > kept) {
        const unsigned chunk = --epoch->chunks_made;
        copse_device_free(device, device->main, (void *)(uintptr_t)epoch->chunks[chunk], chunk_bytes(epoch, chunk));
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
 * before gave back, and publishing the device takes longer than everything else about them. */
static bool chunk_put(copse_blink_epoch *epoch, void *memory)
{
    const unsigned chunk = epoch->chunks_made++;
    const uint64_t address = (uint64_t)(uintptr_t)memory;
    const bool published = chunk < epoch->chunks_published && epoch->chunks[chunk] == address;
    if (!published && chunk < epoch->chunks_published) epoch->chunks_published = chunk;
    epoch->chunks[chunk] = address;
    return !published;
}

/* Puts the addresses of chunks from `first` on into the table of the device. */
static copse_status chunks_publish(const copse_index *index, copse_blink_epoch *epoch, unsigned first)
{
    copse_device *device = index->device;
    copse_publish_arguments arguments;
    copse_status status = COPSE_OK;
    while (first < epoch->chunks_made && status == COPSE_OK) {
        const unsigned left = epoch->chunks_made - first;
        arguments.n = left < COPSE_PUBLISH_MOST ? left : COPSE_PUBLISH_MOST;
        arguments.to = (uint64_t *)(epoch->counters + 1) + first;
        memset(arguments.addresses, 0, sizeof arguments.addresses);
        memcpy(arguments.addresses, epoch->chunks + first, arguments.n * sizeof *epoch->chunks);
        status = copse_device_launch(device, device->main, &copse_blink_kernels_of(index)->publish, 1, &arguments);
        first += arguments.n;
    }
    if (status == COPSE_OK) epoch->chunks_published = epoch->chunks_made;
    return status;
}

/* Sees to it that there are `wanted` chunks, and their addresses in the table before any leaf of them can be used; or leaves
 * everything as it was. */
static copse_status chunks_add(const copse_index *index, copse_blink_epoch *epoch, unsigned wanted, const char *what)
{
    copse_device *device = index->device;
    const unsigned before = epoch->chunks_made;
    uint64_t all = 0;
    bool fresh = false;
    for (unsigned chunk = before; chunk < wanted; chunk++) all += chunk_bytes(epoch, chunk);
    copse_status status = chunks_look(device, all, what);
    while (epoch->chunks_made < wanted && status == COPSE_OK) {
        void *memory = NULL;
        const uint64_t bytes = chunk_bytes(epoch, epoch->chunks_made);
        status = copse_device_alloc(device, device->main, bytes, what, &memory);
        if (status == COPSE_OK) fresh |= chunk_put(epoch, memory);
    }
    if (status == COPSE_OK && fresh) status = chunks_publish(index, epoch, before);
    if (status == COPSE_OK) return status;
    chunks_drop(index, epoch, before);
    return status == COPSE_ERR_MEMORY ? copse_device_out_of_memory(device, all, what) : status;
}

/* The pool has what the chunks have room for behind the base_leaves. */
static void pool_measure(copse_blink_epoch *epoch)
{
    copse_blink_tree *view = &epoch->view;
    view->pool_first = epoch->cut ? base_leaf_chunks(epoch) << view->chunk_shift : view->base_leaves;
    const uint64_t room = ((uint64_t)epoch->chunks_made << view->chunk_shift) - view->pool_first;
    view->pool_leaves = (uint32_t)(room / COPSE_POOL_STRIPES * COPSE_POOL_STRIPES);
}

/* --- epochs --------------------------------------------------------------------------------------------------------------- */

void copse_blink_epoch_free(const copse_index *index, copse_blink_epoch *epoch)
{
    if (!epoch) return;
    copse_device *device = index->device;
    chunks_drop(index, epoch, 0);
    copse_device_free(device, device->main, epoch->counters, control_bytes(epoch));
    copse_device_levels_free(index, &epoch->levels);
    copse_blink_ranks_free(index, &epoch->ranks);
    copse_memory_free(index->ctx, epoch, epoch_size(epoch->chunks_most));
}

/* Home leaves that packed entries take: two leaves share a number of them, which may be odd. */
static uint64_t base_leaves_for(const copse_index *index, uint64_t entries)
{
    const uint64_t two = copse_blink_packed_two(index), rest = entries % two;
    const uint64_t base_leaves = entries / two * 2 + (rest == 0 ? 0 : rest <= two / 2 ? 1 : 2);
    return base_leaves ? base_leaves : 1;
}

copse_blink_room copse_blink_room_after(const copse_blink_epoch *epoch, uint64_t base_leaves)
{
    const uint32_t shift = shift_after(base_leaves, epoch->view.chunk_shift);
    return (copse_blink_room){.chunks = chunks_for(base_leaves, shift),
                              .chunk_bytes = (uint64_t)COPSE_LEAF_BYTES << shift};
}

static copse_status epoch_memory(const copse_index *index, copse_blink_epoch *epoch)
{
    copse_device *device = index->device;
    void *memory = NULL;
    copse_status status = copse_device_alloc(device, device->main, control_bytes(epoch), "the tree", &memory);
    if (status != COPSE_OK) return status;
    epoch->counters = memory;
    epoch->view.chunks = (const uint64_t *)(epoch->counters + 1);
    status = copse_device_fill(device, device->main, memory, 0, sizeof *epoch->counters);
    if (status == COPSE_OK) status = chunks_add(index, epoch, base_leaf_chunks(epoch), "the leaves of the tree");
    pool_measure(epoch);
    return status;
}

/* A epoch without memory on the device. */
static copse_blink_epoch *epoch_alloc(const copse_index *index, uint64_t base_leaves, uint32_t shift)
{
    const uint64_t wanted = (uint64_t)chunks_for(base_leaves, shift) * CHUNKS_TIMES + CHUNKS_MORE;
    const uint64_t numbered = UINT32_MAX >> shift; /* numbers of leaves have 32 bits */
    const unsigned most = (unsigned)(wanted < numbered ? wanted : numbered);
    copse_blink_epoch *epoch = copse_memory_alloc(index->ctx, epoch_size(most));
    if (!epoch) return NULL;
    memset(epoch, 0, sizeof *epoch);
    epoch->chunks_most = most;
    epoch->view.base_leaves = (uint32_t)base_leaves;
    epoch->view.chunk_shift = shift;
    epoch->cut = (uint32_t)(base_leaves & ((UINT64_C(1) << shift) - 1));
    return epoch;
}

copse_status copse_blink_epoch_make_base_leaves(const copse_index *index, uint32_t before, uint64_t base_leaves,
                                                uint64_t low, uint64_t high, copse_blink_epoch **out)
{
    copse_blink_epoch *epoch = epoch_alloc(index, base_leaves, shift_after(base_leaves, before));
    if (!epoch) return copse_fail_memory(index->ctx, sizeof *epoch, "the tree");
    copse_blink_ranks_init(&epoch->ranks);
    epoch->low = low;
    epoch->high = high;
    epoch->view.branches = index->description->structure == COPSE_STRUCTURE_BPLUS;
    epoch->view.unique = !index->duplicates;
    epoch->view.key_type = index->key_type;
    epoch->view.value_type = index->value_type;
    copse_device_levels_start(&epoch->view.levels, low, high);
    copse_status status = epoch_memory(index, epoch);
    if (status == COPSE_OK)
        *out = epoch;
    else
        copse_blink_epoch_free(index, epoch);
    return status;
}

copse_status copse_blink_epoch_make(const copse_index *index, uint32_t before, uint64_t entries, uint64_t low,
                                    uint64_t high, copse_blink_epoch **out)
{
    const uint64_t base_leaves = base_leaves_for(index, entries);
    if (base_leaves > UINT32_MAX / 2)
        return copse_fail(index->ctx, COPSE_ERR_UNSUPPORTED, "%llu entries are more than the %s tree can hold",
                          (unsigned long long)entries, copse_structure_name(index->description->structure));
    copse_status status = copse_blink_epoch_make_base_leaves(index, before, base_leaves, low, high, out);
    if (status == COPSE_OK) (*out)->view.entries = entries;
    return status;
}

/* Copies base_leaf leaves to another epoch, whose chunks are not larger. */
static void base_leaves_copy(copse_device *device, const copse_blink_epoch *from, const copse_blink_epoch *to)
{
    const uint32_t shift = from->view.chunk_shift;
    for (unsigned chunk = 0; chunk < to->chunks_made; chunk++) {
        const uint64_t first = (uint64_t)chunk << to->view.chunk_shift, place = first & ((UINT64_C(1) << shift) - 1);
        const char *leaves = (const char *)(uintptr_t)from->chunks[first >> shift] + place * COPSE_LEAF_BYTES;
        /* It fails where the device does, which the next call will publish. */
        (void)copse_device_copy(device, device->main, (void *)(uintptr_t)to->chunks[chunk], leaves,
                                chunk_bytes(to, chunk));
    }
}

/* Moves the base_leaf leaves of a epoch to smaller chunks. Where there is no memory for that, they stay where they are. */
static void epoch_refit(const copse_index *index, copse_blink_epoch *epoch, uint64_t base_leaves)
{
    copse_kept_error kept;
    copse_error_keep(&kept);
    copse_blink_epoch *fresh = epoch_alloc(index, base_leaves, shift_for(base_leaves));
    if (fresh) fresh->counters = epoch->counters; /* behind which the table is */
    if (fresh && base_leaf_chunks(fresh) <= epoch->chunks_most &&
        chunks_add(index, fresh, base_leaf_chunks(fresh), "the leaves of the tree") == COPSE_OK) {
        base_leaves_copy(index->device, epoch, fresh);
        chunks_drop(index, epoch, 0);
        memcpy(epoch->chunks, fresh->chunks, fresh->chunks_made * sizeof *fresh->chunks);
        epoch->chunks_made = epoch->chunks_published = fresh->chunks_made;
        epoch->cut = fresh->cut;
        epoch->view.chunk_shift = fresh->view.chunk_shift;
        epoch->view.base_leaves = fresh->view.base_leaves;
    }
    if (fresh) copse_memory_free(index->ctx, fresh, epoch_size(fresh->chunks_most));
    copse_error_put_back(&kept);
}

void copse_blink_epoch_shrink(const copse_index *index, copse_blink_epoch *epoch, uint64_t entries)
{
    const uint64_t base_leaves = base_leaves_for(index, entries);
    epoch->view.entries = entries;
    if (epoch->view.chunk_shift > shift_for(base_leaves) + 1) epoch_refit(index, epoch, base_leaves);
    const unsigned chunks = chunks_for(base_leaves, epoch->view.chunk_shift);
    const bool stays_cut = chunks == base_leaf_chunks(epoch);
    chunks_drop(index, epoch, chunks);
    if (!stays_cut) epoch->cut = 0;
    epoch->view.base_leaves = (uint32_t)base_leaves;
    pool_measure(epoch);
}

uint64_t copse_blink_epoch_bytes(const copse_blink_epoch *epoch)
{
    uint64_t bytes = epoch_size(epoch->chunks_most) + epoch->levels.bytes + control_bytes(epoch);
    for (unsigned chunk = 0; chunk < epoch->chunks_made; chunk++) bytes += chunk_bytes(epoch, chunk);
    return bytes;
}

/* --- the pool --------------------------------------------------------------------------------------------------------------- */

uint64_t copse_blink_pool_most(const copse_blink_epoch *epoch)
{
    const uint64_t room = ((uint64_t)epoch->chunks_most << epoch->view.chunk_shift) - epoch->view.pool_first;
    return room / COPSE_POOL_STRIPES * COPSE_POOL_STRIPES;
}

void copse_blink_pool_chunks(const copse_blink_epoch *epoch, unsigned *out_made, unsigned *out_used)
{
    const copse_blink_tree *view = &epoch->view;
    *out_made = epoch->chunks_made - base_leaf_chunks(epoch);
    *out_used = chunks_for(view->pool_first + epoch->pool_used, view->chunk_shift) - base_leaf_chunks(epoch);
}

copse_status copse_blink_pool_reserve(const copse_index *index, copse_blink_epoch *epoch, uint64_t leaves)
{
    const uint64_t wanted = epoch->pool_taken + leaves;
    if (leaves) epoch->pool_wanted = leaves; /* erasures want none, but other batches will follow */
    if (wanted <= epoch->view.pool_leaves) return COPSE_OK;
    const unsigned long long all = wanted + epoch->view.base_leaves;
    if (wanted > copse_blink_pool_most(epoch))
        return copse_fail(index->ctx, COPSE_ERR_UNSUPPORTED, "%llu leaves are more than the %s tree can hold", all,
                          copse_structure_name(index->description->structure));
    const uint64_t whole = (wanted + COPSE_POOL_STRIPES - 1) / COPSE_POOL_STRIPES * COPSE_POOL_STRIPES;
    const unsigned chunks = chunks_for(epoch->view.pool_first + whole, epoch->view.chunk_shift);
    copse_status status = chunks_add(index, epoch, chunks, "more leaves");
    pool_measure(epoch);
    return status;
}

/* Readers only get to leaves that are in use, so chunks without any are nobody's. The next update may well want as much as this one
 * did: so much stays, up to a chunk. */
void copse_blink_pool_trim(const copse_index *index, copse_blink_epoch *epoch)
{
    const copse_blink_tree *view = &epoch->view;
    const uint64_t most = UINT64_C(1) << view->chunk_shift;
    const uint64_t spare = epoch->pool_wanted < most ? epoch->pool_wanted : most;
    const unsigned kept = chunks_for(view->pool_first + epoch->pool_used + spare, view->chunk_shift);
    if (epoch->chunks_made <= kept) return;
    chunks_drop(index, epoch, kept);
    pool_measure(epoch);
}

copse_status copse_blink_replace(copse_index *index, copse_blink_epoch *epoch, copse_status status)
{
    copse_blink *tree = copse_blink_handle_of(index)->tree;
    const uint64_t n = epoch ? epoch->view.entries : 0;
    if (status == COPSE_OK) status = copse_progress(index->ctx, "rebuilding the inner levels", n, n);
    if (status == COPSE_OK) status = copse_device_wait(index->device, index->device->main);
    if (status != COPSE_OK) {
        copse_blink_epoch_free(index, epoch);
        return status;
    }
    pthread_mutex_lock(&tree->lock);
    copse_blink_epoch *old = tree->current;
    tree->current = epoch;
    const bool unused = old && old->holders == 0;
    pthread_mutex_unlock(&tree->lock);
    if (unused) copse_blink_epoch_free(index, old);
    return COPSE_OK;
}
