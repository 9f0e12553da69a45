/*
 * Preallocates memory for the next epoch of a tree. The device keeps memory that it once had from the system, but a
 * tree that grows is rebuilt into more than there ever was, and the system takes a millisecond to map each gigabyte. So
 * the host takes what the next rebuild will want and gives it back at once: when it builds a tree, and while the
 * kernels of an update run, for which it would only wait.
 */
#define _POSIX_C_SOURCE 200809L
#include "gpu/scratch.h"
#include "primitives/primitives.h"
#include "trees/blink/tree.h"

#include <limits.h>
#include <time.h>

/* The host does not preallocate for trees of fewer bytes, nor for those whose next epoch would take more than
 * 1/FREE_SHARE of what is free. */
#define LEAST_BYTES (UINT64_C(64) << 20)
#define FREE_SHARE  4u
/* An update rebuilds a tree that has grown by about 1/GROWTH_SHARE, together with the batch for which there is no room
 * any more. */
#define GROWTH_SHARE 4u
/* The kernels of an update take at least a nanosecond for so many operations. */
#define OPERATIONS_A_NANOSECOND 8u
/* The system maps so many bytes a nanosecond. */
#define BYTES_A_NANOSECOND 1000u
/* Blocks that the host holds at a time, at most. */
#define BLOCKS_MOST 160u
/* copse_blink_epoch.preallocated once the host has given up preallocating for the epoch. */
#define GIVEN_UP UINT_MAX

/* What the next epoch will need, and blocks that the host holds for it. */
typedef struct preallocate {
    copse_device *device;
    copse_blink_room room; /* for the base leaves of the next epoch */
    uint64_t other;        /* bytes of its levels, and of what a rebuild needs for each base leaf */
    unsigned own;          /* segments of that size that the epoch itself has for its pool */
    /* Segments that there should be, own ones included: those with leaves in use stay until the rebuild. */
    unsigned wanted;
    void *blocks[BLOCKS_MOST];
    unsigned count;
} preallocate;

static uint64_t nanoseconds(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

/* Plans for the epoch that a rebuild with n more operations makes. */
static void preallocate_plan(const copse_index *index, const copse_blink_epoch *epoch, uint64_t n, preallocate *a)
{
    const uint64_t base_leaves = epoch->view.base_leaves, grown = base_leaves + base_leaves / GROWTH_SHARE;
    unsigned made = 0, used = 0;
    a->device = index->device;
    a->count = 0;
    a->room = copse_blink_room_after(epoch, grown + 2 * n / copse_blink_packed_two(index) + 1);
    /* The same size in every call, whatever n is, so that the device has the same memory for it. */
    a->other = (base_leaves * sizeof(uint32_t) + epoch->levels.bytes) / 2 * 3;
    copse_blink_pool_segments(epoch, &made, &used);
    const bool alike = a->room.segment_bytes == (uint64_t)COPSE_LEAF_BYTES << epoch->view.segment_shift;
    a->own = alike ? made : 0;
    a->wanted = a->room.segments + (alike ? used : 0);
}

static bool is_scarce(const preallocate *a)
{
    uint64_t available = 0, total = 0;
    a->device->backend->memory_info(a->device, &available, &total);
    return a->room.segments * a->room.segment_bytes + a->other > available / FREE_SHARE;
}

static bool preallocate_take(preallocate *a, uint64_t bytes)
{
    copse_device *device = a->device;
    if (a->count == BLOCKS_MOST) return false;
    if (copse_device_alloc(device, device->main, bytes, "the next version", &a->blocks[a->count]) != COPSE_OK)
        return false;
    a->count++;
    return true;
}

/* Frees the last block first, so that the rebuild gets segments in the same order. The block cache does not keep the
 * block that is no segment: the rebuild will want blocks of other sizes in its stead. */
static void preallocate_give_back(preallocate *a)
{
    copse_device *device = a->device;
    while (a->count > 1) copse_device_free(device, device->main, a->blocks[--a->count], a->room.segment_bytes);
    if (a->count == 1) copse_device_free_unkept(device, device->main, a->blocks[--a->count], a->other);
}

/*
 * Takes blocks until the time is over, but at least one more than the last time: otherwise calls with little time would
 * never come to an end. epoch->preallocated counts the block for levels and so on as one, and each segment as one.
 */
static void preallocate_run(copse_blink_epoch *epoch, preallocate *a, uint64_t end)
{
    copse_kept_error kept;
    copse_error_keep(&kept);
    unsigned there = a->own + 1;
    bool more = preallocate_take(a, a->other);
    while (more && there < a->wanted + 1 && (there <= epoch->preallocated || nanoseconds() < end)) {
        more = preallocate_take(a, a->room.segment_bytes);
        there++;
    }
    epoch->preallocated = more ? there : GIVEN_UP;
    preallocate_give_back(a);
    copse_error_put_back(&kept);
}

/* So many that the sort of a card does not leave them to one block. */
#define WARM_UP_PAIRS (UINT64_C(1) << 14)

/*
 * Sorts a few pairs of the tree's widths for nothing: a card loads kernels at their first call, which takes one or two
 * milliseconds for those of the sort, and a tree that was built of sorted keys would wait for them in the middle of an
 * update.
 */
static void preallocate_sort(const copse_index *index)
{
    copse_device *device = index->device;
    const uint64_t keys = WARM_UP_PAIRS * copse_type_size(index->key_type);
    const uint64_t values = WARM_UP_PAIRS * copse_value_width(index->value_type);
    void *in_keys = NULL, *out_keys = NULL, *in_values = NULL, *out_values = NULL;
    const copse_scratch_array arrays[] = {
        {&in_keys, keys}, {&out_keys, keys}, {&in_values, values}, {&out_values, values}};
    copse_scratch scratch;
    copse_kept_error kept;
    copse_error_keep(&kept);
    copse_status status = copse_scratch_take(device, "sorting ahead", arrays, 4, &scratch);
    if (status == COPSE_OK) status = copse_device_fill(device, device->main, scratch.memory, 0, scratch.bytes);
    if (status == COPSE_OK)
        status = device->backend->primitives->sort_pairs(device, device->main, copse_device_pair(index), in_keys,
                                                         in_values, out_keys, out_values, WARM_UP_PAIRS, 0, 8);
    copse_scratch_free(device, &scratch);
    if (status != COPSE_OK) copse_error_put_back(&kept); /* the next call reports a fault of the device */
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
    if (!tuning->preallocate_always && a.room.segment_bytes / BYTES_A_NANOSECOND > time) return;
    if (is_scarce(&a))
        epoch->preallocated = GIVEN_UP;
    else
        preallocate_run(epoch, &a, start + time);
}

/* A rebuild moves so many bytes a nanosecond, at most. */
#define REBUILT_A_NANOSECOND 4096u

void copse_blink_preallocate_rebuilding(const copse_index *index, const copse_blink_epoch *from,
                                        copse_blink_epoch *made)
{
    const copse_blink_tuning *tuning = tuning_of(index);
    const uint64_t bytes = ((uint64_t)from->view.base_leaves + made->view.base_leaves) * COPSE_LEAF_BYTES;
    preallocate a;
    if (tuning->preallocate_most == 0 || is_small(tuning, made)) return;
    preallocate_plan(index, made, 0, &a);
    if (from->view.segment_shift == made->view.segment_shift) a.own = from->segments_made; /* they come back */
    const uint64_t time = tuning->preallocate_always ? tuning->preallocate_most : bytes / REBUILT_A_NANOSECOND;
    if (!is_scarce(&a)) preallocate_run(made, &a, nanoseconds() + time);
}
