/*
 * A mapped snapshot of byte strings, for the calls of the sorted array (trees/sorted/cpu/bytes.h).
 *
 *   fences     | p0 | p8192 | p16384 | ...           the first 8 bytes of each 8192nd key: checked when the file is opened
 *                 |      \
 *   offsets    | block 0 | block 1 | ...              checked on first touch: checksum, order, the fence
 *   keys       | block 0   | block 1     | ...        checked on first touch: checksum
 *
 * An offset may change after it was checked, where somebody writes to the file: each is read once and compared with the size of the
 * keys, whenever it is used.
 */
#include "snapshot/mapped.h"

#define OFFSETS_PER_BLOCK (SNAPSHOT_BLOCK / sizeof(uint64_t))

/* index->tree of an open file: the view of it is the first member. */
static snapshot_call *call_of(const copse_sorted_bytes *tree)
{
    return (snapshot_call *)(uintptr_t)tree;
}

static uint64_t offset_read(const snapshot_mapped *file, uint64_t number)
{
    return __atomic_load_n(&file->offsets[number], __ATOMIC_RELAXED);
}

/* Bytes start .. end - 1 of the keys are a key. */
static bool place_is_sound(const snapshot_mapped *file, uint64_t start, uint64_t end)
{
    return start <= end && end <= file->source.header.sections[SNAPSHOT_KEYS].length &&
           end - start <= COPSE_LONGEST_KEY;
}

static bool offsets_touch(snapshot_call *call, uint64_t number)
{
    return snapshot_touch(call, call->file->offset_block + number / OFFSETS_PER_BLOCK);
}

/* Bytes start .. end - 1, which are some, and not more than a key has. */
static bool data_touch(snapshot_call *call, uint64_t start, uint64_t end)
{
    const uint64_t first = start / SNAPSHOT_BLOCK, last = (end - 1) / SNAPSHOT_BLOCK;
    return snapshot_touch(call, first) && (first == last || snapshot_touch(call, last));
}

/* --- the calls' view ------------------------------------------------------------------------------------------------ */

static copse_slice file_key(const copse_sorted_bytes *tree, uint64_t rank)
{
    snapshot_call *call = call_of(tree);
    const snapshot_mapped *file = call->file;
    if (!offsets_touch(call, rank) || !offsets_touch(call, rank + 1)) return COPSE_SLICE_EMPTY;
    const uint64_t start = offset_read(file, rank), end = offset_read(file, rank + 1);
    if (!place_is_sound(file, start, end)) {
        snapshot_damage_note(call, file->offset_block + rank / OFFSETS_PER_BLOCK);
        return COPSE_SLICE_EMPTY;
    }
    if (start == end || !data_touch(call, start, end)) return COPSE_SLICE_EMPTY;
    return (copse_slice){(const unsigned char *)file->keys + start, (size_t)(end - start)};
}

static uint64_t file_length(const copse_sorted_bytes *tree, uint64_t first, uint64_t end)
{
    snapshot_call *call = call_of(tree);
    const snapshot_mapped *file = call->file;
    if (!offsets_touch(call, first) || !offsets_touch(call, end)) return 0;
    const uint64_t from = offset_read(file, first), to = offset_read(file, end);
    if (from <= to && to <= file->source.header.sections[SNAPSHOT_KEYS].length) return to - from;
    snapshot_damage_note(call, file->offset_block + first / OFFSETS_PER_BLOCK);
    return 0;
}

static void file_values_touch(const copse_sorted_bytes *tree, uint64_t first, uint64_t end)
{
    snapshot_call *call = call_of(tree);
    const uint64_t width = copse_type_size((copse_type)call->file->source.header.value_type);
    if (width == 0) return;
    for (uint64_t block = first * width / SNAPSHOT_BLOCK; block <= (end * width - 1) / SNAPSHOT_BLOCK; block++)
        (void)snapshot_touch(call, call->file->key_blocks + block);
}

/* How many fences are smaller than a prefix (or_equal: not larger). */
static uint64_t fences_before(const snapshot_mapped *file, uint64_t prefix, bool or_equal)
{
    const uint64_t *fences = (const uint64_t *)(const void *)file->fences;
    uint64_t low = 0, n = snapshot_fence_count(&file->source.header);
    while (n) {
        const uint64_t half = n / 2, fence = fences[low + half];
        const bool right = fence < prefix || (or_equal && fence == prefix);
        low = right ? low + half + 1 : low;
        n = right ? n - half - 1 : half;
    }
    return low;
}

/* A key with a smaller prefix is smaller, one with a larger prefix larger; of the same prefix nothing is known. */
static void file_bounds(const copse_sorted_bytes *tree, copse_slice key, uint64_t *low, uint64_t *high)
{
    const snapshot_mapped *file = call_of(tree)->file;
    const uint64_t prefix = copse_slice_prefix(key);
    const uint64_t below = fences_before(file, prefix, false), upto = fences_before(file, prefix, true);
    const uint64_t first = below ? (below - 1) * OFFSETS_PER_BLOCK + 1 : 0, last = upto * OFFSETS_PER_BLOCK;
    if (*low < first) *low = first;
    if (*high > last) *high = last;
    if (*high < *low) *high = *low;
}

const copse_sorted_bytes_file snapshot_strings_file = {
    .key = file_key, .length = file_length, .values_touch = file_values_touch, .bounds = file_bounds};

/* --- blocks of offsets ---------------------------------------------------------------------------------------------- */

/* The bytes of the first key of a block of offsets that its fence repeats. False: it has no key, or one that cannot be. */
static bool prefix_place(const snapshot_mapped *file, uint64_t block, uint64_t *start, uint64_t *end)
{
    const uint64_t rank = (block - file->offset_block) * OFFSETS_PER_BLOCK;
    if (rank >= file->source.header.entries)
        return false; /* the last block may have nothing but the end of the last key */
    *start = offset_read(file, rank);
    *end = offset_read(file, rank + 1);
    if (!place_is_sound(file, *start, *end)) return false;
    if (*end - *start > sizeof(uint64_t)) *end = *start + sizeof(uint64_t);
    return true;
}

bool snapshot_group_touch(snapshot_call *call, uint64_t block)
{
    uint64_t start, end;
    if (!prefix_place(call->file, block, &start, &end) || start == end) return true;
    return data_touch(call, start, end);
}

snapshot_finding snapshot_group_check(const snapshot_mapped *file, uint64_t block)
{
    const uint64_t *fences = (const uint64_t *)(const void *)file->fences;
    const uint64_t group = block - file->offset_block;
    snapshot_finding found = {.fault = SNAPSHOT_SOUND, .block = block, .entry = group * OFFSETS_PER_BLOCK};
    uint64_t start, end;
    if (!prefix_place(file, block, &start, &end)) return found;
    const copse_slice first = {(const unsigned char *)file->keys + start, (size_t)(end - start)};
    if (copse_slice_prefix(first) != fences[group]) found.fault = SNAPSHOT_BAD_FENCE;
    return found;
}

snapshot_finding snapshot_border_check(const snapshot_mapped *file, uint64_t block)
{
    const snapshot_header *h = &file->source.header;
    const uint64_t next = (block - file->offset_block + 1) * OFFSETS_PER_BLOCK;
    snapshot_finding found = {.fault = SNAPSHOT_SOUND};
    if (next <= h->entries) found = snapshot_offsets_check(h, file->offsets + next - 1, next - 1, 2);
    found.block = block;
    return found;
}
