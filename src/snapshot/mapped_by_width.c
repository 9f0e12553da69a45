/* A mapped snapshot for one pair of widths: what the CPU driver (cpu/driver.h) asks of a tree that only reads. Where a block is
 * damaged, the functions here give any answer that stays inside of the file; the call notes the damage and returns it. */
#include "core/codec.h"
#include "core/widths.h"
#include "cpu/driver.h"
#include "snapshot/mapped.h"

/* Queries that are searched side by side, so that the processor waits for several lines of memory at once. */
#define GROUP            16u
#define KEYS_PER_BLOCK   (SNAPSHOT_BLOCK / sizeof(KEY))
#define VALUES_PER_BLOCK (SNAPSHOT_BLOCK / sizeof(VALUE))

static snapshot_call *call_of(const copse_index *index)
{
    return index->tree;
}

static uint64_t entries_of(const copse_index *index)
{
    return call_of(index)->file->source.header.entries;
}

static const KEY *keys_of(const copse_index *index)
{
    return (const KEY *)(const void *)call_of(index)->file->keys;
}

static const VALUE *values_of(const copse_index *index)
{
    return (const VALUE *)(const void *)call_of(index)->file->values;
}

static uint64_t smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static bool keys_touch(const copse_index *index, uint64_t entry)
{
    return snapshot_touch(call_of(index), entry / KEYS_PER_BLOCK);
}

static bool values_touch(const copse_index *index, uint64_t entry)
{
    return snapshot_touch(call_of(index), call_of(index)->file->key_blocks + entry / VALUES_PER_BLOCK);
}

/* --- search --------------------------------------------------------------------------------------------------------- */

/* One of several searches that run in step. */
typedef struct search {
    const KEY *keys; /* of the file, in order; at least one can be read, also where length is 0 */
    uint64_t length, base;
    KEY code;
} search;

/* Sets base to the number of keys in front of the code (upper: in front of what is above it). */
static void search_group(search *searches, uint32_t n, copse_type type, bool upper)
{
    uint64_t longest = 0;
    for (uint32_t i = 0; i < n; i++) {
        searches[i].base = 0;
        longest = searches[i].length > longest ? searches[i].length : longest;
    }
    for (; longest > 1; longest -= longest / 2)
        for (uint32_t i = 0; i < n; i++) {
            search *s = &searches[i];
            const uint64_t half = s->length / 2, probe = s->base + half - (half != 0);
            const KEY key = ENCODE_ONE(type, s->keys[probe]);
            s->base += (key < s->code) | (upper & (key == s->code)) ? half : 0;
            s->length -= half;
        }
    for (uint32_t i = 0; i < n; i++) {
        search *s = &searches[i];
        const KEY key = ENCODE_ONE(type, s->keys[s->base]);
        s->base += s->length != 0 && (key < s->code || (upper && key == s->code));
    }
}

/* Locations of the bounds of n codes. */
static void locate_group(const copse_index *index, const KEY *codes, uint32_t n, bool upper, uint64_t *locations)
{
    const snapshot_mapped *file = call_of(index)->file;
    search searches[GROUP];
    for (uint32_t i = 0; i < n; i++)
        searches[i] = (search){(const KEY *)(const void *)file->fences, file->key_blocks, 0, codes[i]};
    search_group(searches, n, index->key_type, upper);
    for (uint32_t i = 0; i < n; i++) {
        /* The bound lies in the last block that begins in front of it, or right behind that block. */
        const uint64_t in_front = searches[i].base, start = in_front ? (in_front - 1) * KEYS_PER_BLOCK : 0;
        const bool good = in_front && keys_touch(index, start);
        locations[i] = start;
        searches[i].keys = keys_of(index) + start;
        searches[i].length = good ? smaller(KEYS_PER_BLOCK, entries_of(index) - start) : 0;
    }
    search_group(searches, n, index->key_type, upper);
    for (uint32_t i = 0; i < n; i++) locations[i] += searches[i].base;
}

static uint64_t mapped_locate(const copse_index *index, const void *keys, uint64_t first, uint64_t n, bool upper,
                              uint64_t *locations)
{
    KEY codes[GROUP];
    for (uint64_t at = 0; at < n; at += GROUP) {
        const uint32_t count = (uint32_t)smaller(n - at, GROUP);
        const uint32_t good = ENCODE(index->key_type, keys, first + at, count, codes);
        locate_group(index, codes, good, upper, locations + at);
        if (good < count) return at + good; /* a NaN */
    }
    return n;
}

/* --- entries -------------------------------------------------------------------------------------------------------- */

/* Keys of entries that lie in one block. */
static void keys_copy(const copse_index *index, uint64_t entry, uint64_t count, KEY *to)
{
    const KEY *from = keys_of(index) + entry;
    if (!keys_touch(index, entry))
        memset(to, 0, count * sizeof *to);
    else if (!copse_type_is_float(index->key_type))
        memcpy(to, from, count * sizeof *to);
    else /* -0.0 comes back as 0.0 */
        for (uint64_t i = 0; i < count; i++) DECODE(index->key_type, ENCODE_ONE(index->key_type, from[i]), to, i);
}

static void values_copy(const copse_index *index, uint64_t entry, uint64_t count, VALUE *to)
{
    if (values_touch(index, entry))
        memcpy(to, values_of(index) + entry, count * sizeof *to);
    else
        memset(to, 0, count * sizeof *to);
}

static void mapped_copy(const copse_index *index, uint64_t location, uint64_t count, uint64_t at, void *keys,
                        void *values)
{
    for (uint64_t i = 0, n; keys && i < count; i += n) {
        n = smaller(count - i, KEYS_PER_BLOCK - (location + i) % KEYS_PER_BLOCK);
        keys_copy(index, location + i, n, (KEY *)keys + at + i);
    }
    for (uint64_t i = 0, n; values && i < count; i += n) {
        n = smaller(count - i, VALUES_PER_BLOCK - (location + i) % VALUES_PER_BLOCK);
        values_copy(index, location + i, n, (VALUE *)values + at + i);
    }
}

static void mapped_gather(const copse_index *index, const uint64_t *locations, uint64_t first, uint64_t n, bool before,
                          void *keys, void *values, uint8_t *found)
{
    for (uint64_t i = 0; i < n; i++) {
        const uint64_t location = locations[i] - before; /* wraps to a huge number in front of the first entry */
        const bool there = location < entries_of(index);
        if (found) found[first + i] = there;
        if (there) {
            mapped_copy(index, location, 1, first + i, keys, values);
        } else {
            if (keys) ((KEY *)keys)[first + i] = 0;
            if (values) ((VALUE *)values)[first + i] = 0;
        }
    }
}

/* Whether the entry at a location, which may be the one behind the last, has the key. */
static bool is_at(const copse_index *index, uint64_t location, KEY code)
{
    return location < entries_of(index) && keys_touch(index, location) &&
           ENCODE_ONE(index->key_type, keys_of(index)[location]) == code;
}

static uint64_t mapped_find(const copse_index *index, const void *keys, uint64_t first, uint64_t n, void *values,
                            uint8_t *found)
{
    KEY codes[GROUP];
    uint64_t locations[GROUP];
    for (uint64_t at = 0; at < n; at += GROUP) {
        const uint32_t count = (uint32_t)smaller(n - at, GROUP);
        const uint32_t good = ENCODE(index->key_type, keys, first + at, count, codes);
        locate_group(index, codes, good, false, locations);
        for (uint32_t i = 0; i < good; i++) {
            VALUE value = 0;
            const bool there = is_at(index, locations[i], codes[i]);
            if (there && values) values_copy(index, locations[i], 1, &value);
            if (found) found[first + at + i] = there;
            if (values) ((VALUE *)values)[first + at + i] = value;
        }
        if (good < count) return at + good; /* a NaN */
    }
    return n;
}

/* A location is a rank. */
static void mapped_rank(const copse_index *index, const uint64_t *locations, uint64_t n, uint64_t *ranks)
{
    (void)index;
    if (locations != ranks) memcpy(ranks, locations, n * sizeof *ranks);
}

static uint64_t mapped_select(const copse_index *index, uint64_t rank)
{
    (void)index;
    return rank;
}

static void mapped_aggregate(const copse_index *index, uint64_t location, uint64_t end, copse_aggregate_kind kind,
                             copse_aggregate *out)
{
    (void)kind;
    for (uint64_t at = location, n; at < end; at += n) {
        n = smaller(end - at, VALUES_PER_BLOCK - at % VALUES_PER_BLOCK);
        if (values_touch(index, at)) copse_aggregate_add(out, index->value_type, values_of(index) + at, (uint32_t)n);
    }
}

static uint64_t mapped_size(const copse_index *index)
{
    return entries_of(index);
}

/* What is left out changes the tree, or is optional. */
const copse_cpu_tree NAME(copse_snapshot_mapped) = {
    .find = mapped_find,
    .locate = mapped_locate,
    .rank = mapped_rank,
    .select = mapped_select,
    .gather = mapped_gather,
    .copy = mapped_copy,
    .aggregate = mapped_aggregate,
    .size = mapped_size,
};
