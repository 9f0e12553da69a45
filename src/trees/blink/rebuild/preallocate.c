/*
 * Memory for the next epoch of a tree, before it is needed. The device keeps memory that it once had from the system, but a tree
 * that grows is packed into more than there ever was, and the system takes a millisecond for each gigabyte. So what the next
 * rebuilding will want is taken preallocate of it and given back at once: when a tree is built, and while the kernels of an update
 * in place run, for which the host would only wait.
 */
#define _POSIX_C_SOURCE 200809L
#include "trees/blink/tree.h"
#include "primitives/primitives.h"

#include <limits.h>
#include <time.h>

/* Trees of fewer bytes do not do this, nor do those whose next epoch would take more than 1/FREE_PART of what is free. */
#define LEAST_BYTES (UINT64_C(64) << 20)
#define FREE_PART   4u
/* A tree is packed when about 1/GROWTH_PART has come to it, and with the batch for which there is no room any more. */
#define GROWTH_PART 4u
/* The kernels of an update take at least a nanosecond for so many operations. */
#define OPERATIONS_A_NANOSECOND 8u
/* What comes from the system comes at so many bytes a nanosecond. */
#define BYTES_A_NANOSECOND 1000u
/* Blocks that are taken at once. */
#define BLOCKS_MOST 160u
/* copse_blink_epoch.preallocate where nothing more is to be done, whatever there is. */
#define GIVEN_UP UINT_MAX

/* What is to be at hand, and blocks that are taken for it. */
typedef struct preallocate {
    copse_device *device;
    copse_blink_room room; /* for the base_leaves of the next epoch */
    uint64_t besides;      /* bytes of its levels, and of what rebuilding needs for each base_leaf */
    unsigned own;          /* chunks of that size that the epoch itself has for its pool */
    unsigned wanted; /* that there should be with them: some of those have leaves in use, and stay until it is packed */
    void *blocks[BLOCKS_MOST];
    unsigned count;
} preallocate;

static uint64_t nanoseconds(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

/* The next epoch, when n more operations come at the end. */
static void preallocate_plan(const copse_index *index, const copse_blink_epoch *epoch, uint64_t n, preallocate *a)
{
    const uint64_t base_leaves = epoch->view.base_leaves, grown = base_leaves + base_leaves / GROWTH_PART;
    unsigned made = 0, used = 0;
    a->device = index->device;
    a->count = 0;
    a->room = copse_blink_room_after(epoch, grown + 2 * n / copse_blink_packed_two(index) + 1);
    /* The same in every call, whatever n is, and so always the same memory. */
    a->besides = (base_leaves * sizeof(uint32_t) + epoch->levels.bytes) / 2 * 3;
    copse_blink_pool_chunks(epoch, &made, &used);
    const bool alike = a->room.chunk_bytes == (uint64_t)COPSE_LEAF_BYTES << epoch->view.chunk_shift;
    a->own = alike ? made : 0;
    a->wanted = a->room.chunks + (alike ? used : 0);
}

static bool is_scarce(const preallocate *a)
{
    uint64_t available = 0, total = 0;
    a->device->backend->memory_info(a->device, &available, &total);
    return a->room.chunks * a->room.chunk_bytes + a->besides > available / FREE_PART;
}

static bool preallocate_take(preallocate *a, uint64_t bytes)
{
    copse_device *device = a->device;
    if (a->count == BLOCKS_MOST) return false;
    if (copse_device_alloc(device, device->main, bytes, "the next epoch", &a->blocks[a->count]) != COPSE_OK)
        return false;
    a->count++;
    return true;
}

/* The last first, so that the next one who wants chunks gets them in the same order. What is not a chunk is not kept as a block of
 * its size: it is there for several of other sizes. */
static void preallocate_give_back(preallocate *a)
{
    copse_device *device = a->device;
    while (a->count > 1) copse_device_free(device, device->main, a->blocks[--a->count], a->room.chunk_bytes);
    if (a->count == 1) copse_device_free_unkept(device, device->main, a->blocks[--a->count], a->besides);
}

/*
 * Takes what is to be there until the time is over, but at least one block more than the last time, or calls with little time would
 * never come to an end. epoch->preallocated: the block for levels and so on is one, and so is each chunk.
 */
static void preallocate_run(copse_blink_epoch *epoch, preallocate *a, uint64_t end)
{
    copse_kept_error kept;
    copse_error_keep(&kept);
    unsigned there = a->own + 1;
    bool more = preallocate_take(a, a->besides);
    while (more && there < a->wanted + 1 && (there <= epoch->preallocated || nanoseconds() < end)) {
        more = preallocate_take(a, a->room.chunk_bytes);
        there++;
    }
    epoch->preallocated = more ? there : GIVEN_UP;
    preallocate_give_back(a);
    copse_error_put_back(&kept);
}

/* Pairs that are sorted preallocate: more than one block of a card would sort on its own. */
#define SORTED_AHEAD (UINT64_C(1) << 14)

/*
 * Sorts a few pairs of the widths of the tree, for nothing: a card loads kernels when they are first called, which takes one or two
 * milliseconds for those of the sort, and a tree that was built of sorted keys would have to wait for them in the middle of an update.
 */
static void preallocate_sort(const copse_index *index)
{
    copse_device *device = index->device;
    const size_t key = copse_type_size(index->key_type), value = copse_type_size(index->value_type);
    const uint64_t keys = SORTED_AHEAD * key, values = SORTED_AHEAD * value, bytes = 2 * (keys + values);
    void *memory = NULL;
    copse_kept_error kept;
    copse_error_keep(&kept);
    copse_status status = copse_device_alloc(device, device->main, bytes, "sorting preallocate", &memory);
    if (status == COPSE_OK) status = copse_device_fill(device, device->main, memory, 0, bytes);
    char *at = memory;
    if (status == COPSE_OK)
        status =
            device->backend->primitives->sort_pairs(device, device->main, copse_device_pair(index), at, at + 2 * keys,
                                                    at + keys, at + 2 * keys + values, SORTED_AHEAD, 0, 8);
    copse_device_free(device, device->main, memory, bytes);
    if (status != COPSE_OK) copse_error_put_back(&kept); /* a fault of the device is published by the next call */
}

static const copse_blink_tuning *tuning_of(const copse_index *index)
{
    return &copse_blink_handle_of(index)->tree->tuning;
}

static bool is_small(const copse_blink_tuning *tuning, const copse_blink_epoch *epoch)
{
    return !tuning->preallocate_always && (uint64_t)epoch->view.base_leaves * COPSE_LEAF_BYTES < LEAST_BYTES;
}

void copse_blink_preallocate_all(const copse_index *index, copse_blink_epoch *epoch)
{
    preallocate a;
    if (tuning_of(index)->preallocate_most == 0 || is_small(tuning_of(index), epoch)) return;
    preallocate_plan(index, epoch, 0, &a);
    if (is_scarce(&a)) return;
    preallocate_run(epoch, &a, UINT64_MAX);
    preallocate_sort(index);
}

/* Nanoseconds that an update of n operations has for this. */
static uint64_t time_for(const copse_blink_tuning *tuning, uint64_t n)
{
    const uint64_t shadow = n / OPERATIONS_A_NANOSECOND;
    return tuning->preallocate_always || shadow > tuning->preallocate_most ? tuning->preallocate_most : shadow;
}

void copse_blink_preallocate(const copse_index *index, copse_blink_epoch *epoch, uint64_t n)
{
    const copse_blink_tuning *tuning = tuning_of(index);
    preallocate a;
    if (tuning->preallocate_most == 0 || epoch->preallocated == GIVEN_UP || is_small(tuning, epoch)) return;
    preallocate_plan(index, epoch, n, &a);
    if (epoch->preallocated > a.wanted) return; /* that is all */
    const uint64_t start = nanoseconds(), time = time_for(tuning, n);
    if (!tuning->preallocate_always && a.room.chunk_bytes / BYTES_A_NANOSECOND > time) return;
    if (is_scarce(&a))
        epoch->preallocated = GIVEN_UP;
    else
        preallocate_run(epoch, &a, start + time);
}

/* What rebuilding moves, it moves at so many bytes a nanosecond at most. */
#define PACKED_A_NANOSECOND 4096u

void copse_blink_preallocate_rebuilding(const copse_index *index, const copse_blink_epoch *from,
                                        copse_blink_epoch *made)
{
    const copse_blink_tuning *tuning = tuning_of(index);
    const uint64_t bytes = ((uint64_t)from->view.base_leaves + made->view.base_leaves) * COPSE_LEAF_BYTES;
    preallocate a;
    if (tuning->preallocate_most == 0 || is_small(tuning, made)) return;
    preallocate_plan(index, made, 0, &a);
    if (from->view.chunk_shift == made->view.chunk_shift) a.own = from->chunks_made; /* they come back */
    const uint64_t time = tuning->preallocate_always ? tuning->preallocate_most : bytes / PACKED_A_NANOSECOND;
    if (!is_scarce(&a)) preallocate_run(made, &a, nanoseconds() + time);
}
