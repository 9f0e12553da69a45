/* Checks of byte strings: their offsets, their order, their fences. */
#include "snapshot/check.h"

#include "core/bytes.h"

snapshot_finding snapshot_offsets_check(const snapshot_header *header, const uint64_t *offsets, uint64_t first,
                                        uint64_t n)
{
    const uint64_t length = header->sections[SNAPSHOT_KEYS].length;
    for (uint64_t i = 0; i < n; i++) {
        const uint64_t number = first + i;
        const bool follows =
            i == 0 || (offsets[i] >= offsets[i - 1] && offsets[i] - offsets[i - 1] <= COPSE_LONGEST_KEY);
        const bool begins = number != 0 || offsets[i] == 0, ends = number != header->entries || offsets[i] == length;
        if (!follows || !begins || !ends || offsets[i] > length)
            return (snapshot_finding){.fault = SNAPSHOT_BAD_OFFSET, .entry = number ? number - 1 : 0};
    }
    return (snapshot_finding){.fault = SNAPSHOT_SOUND};
}

/* Where the strings lie, and what the header says of them. */
typedef struct strings_place {
    const snapshot_header *header;
    const snapshot_strings *strings;
} strings_place;

/* The offsets were checked, but those of an open file may change just now: each is read once more, and compared. */
static copse_slice string_at(const strings_place *place, uint64_t i)
{
    const uint64_t start = __atomic_load_n(&place->strings->offsets[i], __ATOMIC_RELAXED);
    const uint64_t end = __atomic_load_n(&place->strings->offsets[i + 1], __ATOMIC_RELAXED);
    if (start >= end || end > place->header->sections[SNAPSHOT_KEYS].length) return COPSE_SLICE_EMPTY;
    return (copse_slice){place->strings->data + start, (size_t)(end - start)};
}

/* The keys from one fence to the next, which begin at block `number`, and the one before them. */
static snapshot_finding group_look(const void *where, uint64_t number)
{
    const strings_place *place = where;
    const snapshot_header *h = place->header;
    const uint64_t group = number - snapshot_first_block(h, SNAPSHOT_OFFSETS), step = snapshot_keys_per_fence(h);
    const uint64_t first = group * step, end = h->entries - first < step ? h->entries : first + step;
    const uint64_t before = first ? first - 1 : 0;
    snapshot_finding found = snapshot_offsets_check(h, place->strings->offsets + before, before, end + 1 - before);
    found.block = number;
    if (found.fault != SNAPSHOT_SOUND) return found;
    found.entry = first;
    if (copse_slice_prefix(string_at(place, first)) != place->strings->fences[group]) found.fault = SNAPSHOT_BAD_FENCE;
    for (uint64_t i = before + 1; found.fault == SNAPSHOT_SOUND && i < end; i++) {
        const int order = copse_slice_compare(string_at(place, i - 1), string_at(place, i));
        if (order < 0 || (order == 0 && h->flags & SNAPSHOT_FLAG_DUPLICATES)) continue;
        found.fault = SNAPSHOT_BAD_ORDER;
        found.entry = i;
    }
    return found;
}

copse_status snapshot_strings_check(const snapshot_source *source, const snapshot_strings *strings)
{
    const strings_place place = {&source->header, strings};
    const uint64_t first = snapshot_first_block(&source->header, SNAPSHOT_OFFSETS);
    if (source->header.entries == 0) return COPSE_OK;
    return snapshot_blocks_look(source, first, first + snapshot_fence_count(&source->header), group_look, &place);
}
