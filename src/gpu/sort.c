/*
 * Sorting on a device by no more bits than it takes. A pass of the radix sort over eight bits takes as long as much of an
 * update; so only bits in which keys differ are sorted by, and of those only as many as should distinguish nearly all keys. The
 * kernel `sort_finish` does the rest: it puts in order what shares those bits, and sees where that is too much.
 */
#include "gpu/sort.h"

/* Bits of a pass of the radix sort. */
#define PASS_BITS 8u
/* Values for each key that a sort by upper bits should have, at least: where more keys share one, putting them in order afterwards takes
 * longer than another pass. */
#define ROOM_LEAST 3u
/* A wait for the device is as long as a pass over so many keys. */
#define WAIT_KEYS (UINT64_C(1) << 22)

/* Blocks that a multiprocessor is given of a kernel with strides. */
#define BLOCKS_PER_MULTIPROCESSOR 32u

uint64_t copse_device_blocks(const copse_device *device, uint64_t items)
{
    uint64_t most = (uint64_t)device->multiprocessors * BLOCKS_PER_MULTIPROCESSOR;
    uint64_t blocks = (items + COPSE_KERNEL_THREADS - 1) / COPSE_KERNEL_THREADS;
    return blocks < 1 ? 1 : blocks < most ? blocks : most;
}

copse_status copse_device_speculation_make(copse_device *device, copse_pairs_speculation **out)
{
    void *memory = NULL;
    copse_status status = copse_device_alloc(device, device->main, sizeof **out, "sorting the batch", &memory);
    if (status == COPSE_OK) status = copse_device_fill(device, device->main, memory, 0, sizeof **out);
    if (status != COPSE_OK) {
        copse_device_free(device, device->main, memory, sizeof **out);
        memory = NULL;
    }
    *out = memory;
    return status;
}

void copse_device_speculation_free(copse_device *device, copse_pairs_speculation *speculation)
{
    copse_device_free(device, device->main, speculation, sizeof *speculation);
}

/* --- which bits ------------------------------------------------------------------------------------------------------------- */

static unsigned passes_of(unsigned bits)
{
    return (bits + PASS_BITS - 1) / PASS_BITS;
}

unsigned copse_device_sort_bits(uint64_t low, uint64_t high)
{
    return low == high ? 1u : 64u - (unsigned)__builtin_clzll(low ^ high);
}

/* Passes that distinguish keys, if they are spread out; not more than `most`. */
static unsigned passes_needed(uint64_t n, uint64_t low, uint64_t high, unsigned bits, unsigned most)
{
    unsigned passes = 1;
    for (; passes < most; passes++) {
        const unsigned first = bits - passes * PASS_BITS;
        const uint64_t steps = (high >> first) - (low >> first); /* one less than there are values */
        if (n - 1 <= steps / ROOM_LEAST) break;
    }
    return passes;
}

/* A batch without a hint may be anything, and where the bits are too few it is sorted by all, which takes twice as long: one pass
 * more is cheaper than that, since keys that are 256 times denser in some ranges than in others are common. */
unsigned copse_device_sort_left_out(uint64_t n, uint64_t low, uint64_t high, bool waiting)
{
    const unsigned bits = copse_device_sort_bits(low, high), all = passes_of(bits);
    const unsigned passes = passes_needed(n, low, high, bits, all) + (waiting ? 1 : 0);
    if (passes >= all || (waiting && all - passes == 1 && n < WAIT_KEYS)) return 0;
    return bits - passes * PASS_BITS;
}

/* Keys that may share the bits that a coarse sort looks at, on average. */
#define ALIKE_MOST 96u

/* Lower bits that a coarse sort leaves out. */
static unsigned coarse_left_out(uint64_t n, uint64_t low, uint64_t high)
{
    const unsigned bits = copse_device_sort_bits(low, high), all = passes_of(bits);
    for (unsigned passes = 1; passes < all; passes++) {
        const unsigned first = bits - passes * PASS_BITS;
        if (n / ((high >> first) - (low >> first) + 1) <= ALIKE_MOST) return first;
    }
    return 0;
}

/* --- the sort --------------------------------------------------------------------------------------------------------------- */

static copse_status sort_bits(copse_device *device, copse_device_sorting *s, unsigned first_bit, unsigned last_bit)
{
    const copse_primitives *primitives = device->backend->primitives;
    if (s->between) {
        const unsigned from = s->where;
        void *keys[2] = {s->keys[from], s->keys[1 - from]}, *values[2] = {s->values[from], s->values[1 - from]};
        unsigned moved = 0;
        copse_status status = primitives->sort_pairs_between(device, device->main, s->pair, keys, values, s->n,
                                                             first_bit, last_bit, &moved);
        s->where = from ^ moved;
        return status;
    }
    s->where = 1;
    return primitives->sort_pairs(device, device->main, s->pair, s->keys[0], s->values[0], s->keys[1], s->values[1],
                                  s->n, first_bit, last_bit);
}

/* Puts pairs that share all but the lowest `first` bits in order. */
static copse_status sort_finish(copse_device *device, const copse_device_sorting *s, unsigned first,
                                copse_pairs_speculation *speculation)
{
    const unsigned last = copse_device_sort_bits(s->low, s->high),
                   key_bits = s->pair >= copse_width_pair(8, 4) ? 64 : 32;
    const bool all = first == 0 && last == key_bits; /* then it looks at the first and the last key only */
    const copse_sort_finish_arguments arguments = {.keys = s->keys[s->where],
                                                   .values = s->values[s->where],
                                                   .n = s->n,
                                                   .low = s->low,
                                                   .mask = last < 64 ? UINT64_MAX << last : 0,
                                                   .first = first,
                                                   .input = s->between ? NULL : s->keys[0],
                                                   .speculation = speculation};
    return copse_device_launch(device, device->main, &copse_shared_kernels_on(device, s->pair)->sort_finish,
                               all ? 1 : copse_device_blocks(device, s->n), &arguments);
}

/* The same, and waits. *out_finished: false where too many share them. */
static copse_status finish_waiting(copse_device *device, const copse_device_sorting *s, unsigned first,
                                   bool *out_finished)
{
    copse_pairs_speculation *speculation = NULL, seen = {0};
    copse_status status = copse_device_speculation_make(device, &speculation);
    if (status != COPSE_OK) return status;
    status = sort_finish(device, s, first, speculation);
    if (status == COPSE_OK) status = copse_device_read(device, device->main, &seen, speculation, sizeof seen);
    copse_device_speculation_free(device, speculation);
    *out_finished = seen.wrong == 0;
    return status;
}

static copse_status sort_guessing(copse_device *device, copse_device_sorting *s)
{
    const unsigned first = s->all_bits ? 0 : copse_device_sort_left_out(s->n, s->low, s->high, false);
    copse_status status = sort_bits(device, s, first, copse_device_sort_bits(s->low, s->high));
    return status == COPSE_OK ? sort_finish(device, s, first, s->speculation) : status;
}

/* Where the upper bits were not enough, the sort goes over all bits after all; equal keys are still in their order then, also where the
 * input is gone. */
copse_status copse_device_sort(copse_device *device, copse_device_sorting *sorting)
{
    if (sorting->speculation) return sort_guessing(device, sorting);
    const unsigned last = copse_device_sort_bits(sorting->low, sorting->high);
    const unsigned first =
        sorting->all_bits ? 0 : copse_device_sort_left_out(sorting->n, sorting->low, sorting->high, true);
    bool finished = false;
    copse_status status = COPSE_OK;
    if (first) {
        status = sort_bits(device, sorting, first, last);
        if (status == COPSE_OK) status = finish_waiting(device, sorting, first, &finished);
    }
    if (status == COPSE_OK && !finished) status = sort_bits(device, sorting, 0, last);
    return status;
}

copse_status copse_device_sort_coarse(copse_device *device, copse_device_sorting *sorting, unsigned *out_left_out)
{
    *out_left_out = coarse_left_out(sorting->n, sorting->low, sorting->high);
    return sort_bits(device, sorting, *out_left_out, copse_device_sort_bits(sorting->low, sorting->high));
}
