/* Epochs of the B-link and the B+ tree on a device: their memory, and how the host replaces the current one. */
#include "trees/blink/tree.h"

#include <string.h>

/*
 * Leaves lie in segments of one size, so that a new epoch can have the memory that an old one gave back: what the
 * device's pool does not have at one address comes from the system, which takes about a millisecond to map each
 * gigabyte. A segment is this share of the base leaves, rounded up to a power of two, or the least: few segments take
 * less time, small ones leave less unused.
 */
#define SEGMENT_SHARE 64u
#define SEGMENT_LEAST COPSE_POOL_STRIPES
/* For so many bytes and more the host first asks whether there is that much. */
#define LOOK_FIRST (UINT64_C(4) << 30)
/* Segments that an epoch may have: for so many times as many leaves as there are base leaves, and some more. */
#define SEGMENTS_TIMES 5u
#define SEGMENTS_MORE  32u

/* --- segments ----------------------------------------------------------------------------------------------------------------- */

/* Counters, directories and, behind them, the table of segments are one block of device memory. */
typedef struct epoch_control {
    copse_blink_counters counters;
    copse_blink_directories directories;
    uint64_t segments[];
} epoch_control;

static uint64_t control_bytes(const copse_blink_epoch *epoch)
{
    return sizeof(epoch_control) + epoch->segments_most * sizeof(uint64_t);
}

static uint64_t epoch_size(unsigned segments_most)
{
    return sizeof(copse_blink_epoch) + segments_most * sizeof(uint64_t);
}

/* Leaves of a segment, as a power of two, in an epoch with so many base leaves. */
static uint32_t shift_for(uint64_t base_leaves)
{
    const uint64_t share = base_leaves / SEGMENT_SHARE;
    uint32_t shift = 0;
    while (UINT64_C(1) << shift < share || UINT64_C(1) << shift < SEGMENT_LEAST) shift++;
    return shift;
}

/* The same for an epoch that replaces another: segments stay as small as they were, though there may be up to twice as
 * many. Otherwise a tree that grows could not use what it gives back whenever it comes to the next size. */
static uint32_t shift_after(uint64_t base_leaves, uint32_t before)
{
    const uint32_t shift = shift_for(base_leaves);
    return before + 1 == shift ? before : shift;
}

/* Segments that so many leaves take. */
static unsigned segments_for(uint64_t leaves, uint32_t shift)
{
    return (unsigned)((leaves + (UINT64_C(1) << shift) - 1) >> shift);
}

static unsigned base_leaf_segments(const copse_blink_epoch *epoch)
{
    return segments_for(epoch->view.base_leaves, epoch->view.segment_shift);
}

static uint64_t segment_bytes(const copse_blink_epoch *epoch, unsigned segment)
{
    const bool cut = epoch->cut && segment + 1 == base_leaf_segments(epoch);
    return (cut ? epoch->cut : UINT64_C(1) << epoch->view.segment_shift) * COPSE_LEAF_BYTES;
}

/* Gives back all segments but the first `kept`. */
static void segments_drop(const copse_index *index, copse_blink_epoch *epoch, unsigned kept)
{
    copse_device *device = index->device;
    while (epoch->segments_made > kept) {
        const unsigned segment = --epoch->segments_made;
        copse_device_free(device, device->main, (void *)(uintptr_t)epoch->segments[segment],
                          segment_bytes(epoch, segment));
    }
}

/* Is there room for so much? To find out segment by segment that there is not would take long; so where it looks like
 * that, the host asks for all at once. */
static copse_status segments_look(copse_device *device, uint64_t bytes, const char *what)
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

/* Appends a segment. Returns false where the table of the device has its address already: an update often gets the
 * segments again that the one before gave back, and to write the table takes longer than everything else about them. */
static bool segment_put(copse_blink_epoch *epoch, void *memory)
{
    const unsigned segment = epoch->segments_made++;
    const uint64_t address = (uint64_t)(uintptr_t)memory;
    const bool published = segment < epoch->segments_published && epoch->segments[segment] == address;
    if (!published && segment < epoch->segments_published) epoch->segments_published = segment;
    epoch->segments[segment] = address;
    return !published;
}

/* Publishes the addresses of segments from `first` on in the table of the device. */
static copse_status segments_publish(const copse_index *index, copse_blink_epoch *epoch, unsigned first)
{
    copse_device *device = index->device;
    copse_publish_arguments arguments;
    copse_status status = COPSE_OK;
    while (first < epoch->segments_made && status == COPSE_OK) {
        const unsigned left = epoch->segments_made - first;
        arguments.n = left < COPSE_PUBLISH_MOST ? left : COPSE_PUBLISH_MOST;
        arguments.to = ((epoch_control *)epoch->counters)->segments + first;
        memset(arguments.addresses, 0, sizeof arguments.addresses);
        memcpy(arguments.addresses, epoch->segments + first, arguments.n * sizeof *epoch->segments);
        status = copse_device_launch(device, device->main, &copse_blink_kernels_of(index)->publish, 1, &arguments);
        first += arguments.n;
    }
    if (status == COPSE_OK) epoch->segments_published = epoch->segments_made;
    return status;
}

/* Makes sure that there are `wanted` segments, and publishes their addresses before a kernel can use any leaf of them; or
 * leaves everything as it was. */
static copse_status segments_add(const copse_index *index, copse_blink_epoch *epoch, unsigned wanted, const char *what)
{
    copse_device *device = index->device;
    const unsigned before = epoch->segments_made;
    uint64_t all = 0;
    bool fresh = false;
    for (unsigned segment = before; segment < wanted; segment++) all += segment_bytes(epoch, segment);
    copse_status status = segments_look(device, all, what);
    while (epoch->segments_made < wanted && status == COPSE_OK) {
        void *memory = NULL;
        const uint64_t bytes = segment_bytes(epoch, epoch->segments_made);
        status = copse_device_alloc(device, device->main, bytes, what, &memory);
        if (status == COPSE_OK) fresh |= segment_put(epoch, memory);
    }
    if (status == COPSE_OK && fresh) status = segments_publish(index, epoch, before);
    if (status == COPSE_OK) return status;
    segments_drop(index, epoch, before);
    return status == COPSE_ERR_MEMORY ? copse_device_out_of_memory(device, all, what) : status;
}

/* The pool has what the segments have room for behind the base leaves. */
static void pool_measure(copse_blink_epoch *epoch)
{
    copse_blink_tree *view = &epoch->view;
    view->pool_first = epoch->cut ? base_leaf_segments(epoch) << view->segment_shift : view->base_leaves;
    const uint64_t room = ((uint64_t)epoch->segments_made << view->segment_shift) - view->pool_first;
    view->pool_leaves = (uint32_t)(room / COPSE_POOL_STRIPES * COPSE_POOL_STRIPES);
}

/* --- epochs --------------------------------------------------------------------------------------------------------------- */

void copse_blink_epoch_free(const copse_index *index, copse_blink_epoch *epoch)
{
    if (!epoch) return;
    copse_device *device = index->device;
    segments_drop(index, epoch, 0);
    copse_blink_directory_free(index, epoch);
    copse_device_free(device, device->main, epoch->counters, control_bytes(epoch));
    copse_device_levels_free(index, &epoch->levels);
    copse_blink_ranks_free(index, &epoch->ranks);
    copse_memory_free(index->ctx, epoch, epoch_size(epoch->segments_most));
}

/* Base leaves that a rebuild fills with so many entries: it fills two at a time with a number that may be odd. */
static uint64_t base_leaves_for(const copse_index *index, uint64_t entries)
{
    const uint64_t two = copse_blink_packed_two(index), rest = entries % two;
    const uint64_t base_leaves = entries / two * 2 + (rest == 0 ? 0 : rest <= two / 2 ? 1 : 2);
    return base_leaves ? base_leaves : 1;
}

copse_blink_room copse_blink_room_after(const copse_blink_epoch *epoch, uint64_t base_leaves)
{
    const uint32_t shift = shift_after(base_leaves, epoch->view.segment_shift);
    return (copse_blink_room){.segments = segments_for(base_leaves, shift),
                              .segment_bytes = (uint64_t)COPSE_LEAF_BYTES << shift};
}

static copse_status epoch_memory(const copse_index *index, copse_blink_epoch *epoch)
{
    copse_device *device = index->device;
    void *memory = NULL;
    copse_status status = copse_device_alloc(device, device->main, control_bytes(epoch), "the tree", &memory);
    if (status != COPSE_OK) return status;
    epoch->counters = memory;
    epoch->view.segments = ((epoch_control *)memory)->segments;
    epoch->view.directories = &((epoch_control *)memory)->directories;
    status = copse_device_fill(device, device->main, memory, 0, sizeof(epoch_control));
    if (status == COPSE_OK) status = segments_add(index, epoch, base_leaf_segments(epoch), "the leaves of the tree");
    pool_measure(epoch);
    return status;
}

/* An epoch without memory on the device. */
static copse_blink_epoch *epoch_alloc(const copse_index *index, uint64_t base_leaves, uint32_t shift)
{
    const uint64_t wanted = (uint64_t)segments_for(base_leaves, shift) * SEGMENTS_TIMES + SEGMENTS_MORE;
    const uint64_t numbered = UINT32_MAX >> shift; /* numbers of leaves have 32 bits */
    const unsigned most = (unsigned)(wanted < numbered ? wanted : numbered);
    copse_blink_epoch *epoch = copse_memory_alloc(index->ctx, epoch_size(most));
    if (!epoch) return NULL;
    memset(epoch, 0, sizeof *epoch);
    epoch->segments_most = most;
    epoch->view.base_leaves = (uint32_t)base_leaves;
    epoch->view.segment_shift = shift;
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

/* Copies base leaves to another epoch, whose segments are not larger. */
static void base_leaves_copy(copse_device *device, const copse_blink_epoch *from, const copse_blink_epoch *to)
{
    const uint32_t shift = from->view.segment_shift;
    for (unsigned segment = 0; segment < to->segments_made; segment++) {
        const uint64_t first = (uint64_t)segment << to->view.segment_shift,
                       offset = first & ((UINT64_C(1) << shift) - 1);
        const char *leaves = (const char *)(uintptr_t)from->segments[first >> shift] + offset * COPSE_LEAF_BYTES;
        /* It fails where the device does, which the next call will report. */
        (void)copse_device_copy(device, device->main, (void *)(uintptr_t)to->segments[segment], leaves,
                                segment_bytes(to, segment));
    }
}

/* Moves the base leaves of an epoch to smaller segments. Without memory for these they stay where they are. */
static void epoch_refit(const copse_index *index, copse_blink_epoch *epoch, uint64_t base_leaves)
{
    copse_kept_error kept;
    copse_error_keep(&kept);
    copse_blink_epoch *fresh = epoch_alloc(index, base_leaves, shift_for(base_leaves));
    if (fresh) fresh->counters = epoch->counters; /* and the table behind them */
    if (fresh && base_leaf_segments(fresh) <= epoch->segments_most &&
        segments_add(index, fresh, base_leaf_segments(fresh), "the leaves of the tree") == COPSE_OK) {
        base_leaves_copy(index->device, epoch, fresh);
        segments_drop(index, epoch, 0);
        memcpy(epoch->segments, fresh->segments, fresh->segments_made * sizeof *fresh->segments);
        epoch->segments_made = epoch->segments_published = fresh->segments_made;
        epoch->cut = fresh->cut;
        epoch->view.segment_shift = fresh->view.segment_shift;
        epoch->view.base_leaves = fresh->view.base_leaves;
    }
    if (fresh) copse_memory_free(index->ctx, fresh, epoch_size(fresh->segments_most));
    copse_error_put_back(&kept);
}

void copse_blink_epoch_shrink(const copse_index *index, copse_blink_epoch *epoch, uint64_t entries)
{
    const uint64_t base_leaves = base_leaves_for(index, entries);
    epoch->view.entries = entries;
    if (epoch->view.segment_shift > shift_for(base_leaves) + 1) epoch_refit(index, epoch, base_leaves);
    const unsigned segments = segments_for(base_leaves, epoch->view.segment_shift);
    const bool stays_cut = segments == base_leaf_segments(epoch);
    segments_drop(index, epoch, segments);
    if (!stays_cut) epoch->cut = 0;
    epoch->view.base_leaves = (uint32_t)base_leaves;
    pool_measure(epoch);
}

uint64_t copse_blink_epoch_bytes(const copse_blink_epoch *epoch)
{
    uint64_t bytes = epoch_size(epoch->segments_most) + epoch->levels.bytes + control_bytes(epoch) +
                     copse_blink_directory_bytes(epoch);
    for (unsigned segment = 0; segment < epoch->segments_made; segment++) bytes += segment_bytes(epoch, segment);
    return bytes;
}

/* --- the pool --------------------------------------------------------------------------------------------------------------- */

uint64_t copse_blink_pool_most(const copse_blink_epoch *epoch)
{
    const uint64_t room = ((uint64_t)epoch->segments_most << epoch->view.segment_shift) - epoch->view.pool_first;
    return room / COPSE_POOL_STRIPES * COPSE_POOL_STRIPES;
}

void copse_blink_pool_segments(const copse_blink_epoch *epoch, unsigned *out_made, unsigned *out_used)
{
    const copse_blink_tree *view = &epoch->view;
    *out_made = epoch->segments_made - base_leaf_segments(epoch);
    *out_used = segments_for(view->pool_first + epoch->pool_used, view->segment_shift) - base_leaf_segments(epoch);
}

copse_status copse_blink_pool_reserve(const copse_index *index, copse_blink_epoch *epoch, uint64_t leaves)
{
    const uint64_t wanted = epoch->pool_taken + leaves;
    if (leaves) epoch->pool_wanted = leaves; /* an erasure wants none, but other batches will follow */
    if (wanted <= epoch->view.pool_leaves) return COPSE_OK;
    const unsigned long long all = wanted + epoch->view.base_leaves;
    if (wanted > copse_blink_pool_most(epoch))
        return copse_fail(index->ctx, COPSE_ERR_UNSUPPORTED, "%llu leaves are more than the %s tree can hold", all,
                          copse_structure_name(index->description->structure));
    const uint64_t whole = (wanted + COPSE_POOL_STRIPES - 1) / COPSE_POOL_STRIPES * COPSE_POOL_STRIPES;
    const unsigned segments = segments_for(epoch->view.pool_first + whole, epoch->view.segment_shift);
    copse_status status = segments_add(index, epoch, segments, "more leaves");
    pool_measure(epoch);
    return status;
}

/* Readers only reach leaves that are in use, so nobody is in a segment without any. The next update may well want as much
 * as this one did: the host keeps so much, up to a segment. */
void copse_blink_pool_trim(const copse_index *index, copse_blink_epoch *epoch)
{
    const copse_blink_tree *view = &epoch->view;
    const uint64_t most = UINT64_C(1) << view->segment_shift;
    const uint64_t spare = epoch->pool_wanted < most ? epoch->pool_wanted : most;
    const unsigned kept = segments_for(view->pool_first + epoch->pool_used + spare, view->segment_shift);
    if (epoch->segments_made <= kept) return;
    segments_drop(index, epoch, kept);
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
