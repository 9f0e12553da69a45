/* What writing and reading a snapshot share: its layout and its checksums. */
#include "snapshot/format.h"

#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#define LONGEST_SHOWN_PATH 240u
/* A thread is worth starting for this many bytes. */
#define BYTES_PER_THREAD (UINT64_C(1) << 20)

/* In which order the checksums of the blocks lie: that of the sections, without their own. */
static const unsigned with_checksums[] = {SNAPSHOT_KEYS, SNAPSHOT_VALUES, SNAPSHOT_FENCES, SNAPSHOT_OFFSETS};
#define WITH_CHECKSUMS (sizeof with_checksums / sizeof *with_checksums)

uint64_t snapshot_checksum(const void *bytes, size_t size)
{
    return XXH3_64bits(bytes, size);
}

uint64_t snapshot_header_checksum(const snapshot_header *header)
{
    return snapshot_checksum(header, offsetof(snapshot_header, checksum));
}

/* --- layout ----------------------------------------------------------------------------------------------------- */

uint64_t snapshot_blocks(const snapshot_header *header, uint64_t length)
{
    return length / header->block_size + (length % header->block_size != 0);
}

unsigned snapshot_section_in_file(const snapshot_header *header, unsigned i)
{
    /* What a lookup needs first lies in front, so that one read of a cold disk brings it. */
    static const unsigned order[] = {SNAPSHOT_CHECKSUMS, SNAPSHOT_FENCES, SNAPSHOT_OFFSETS, SNAPSHOT_KEYS,
                                     SNAPSHOT_VALUES};
    static const unsigned order_1[] = {SNAPSHOT_KEYS, SNAPSHOT_VALUES, SNAPSHOT_CHECKSUMS};
    if (header->version == 1) return i < SNAPSHOT_SECTIONS_1 ? order_1[i] : SNAPSHOT_SECTIONS;
    return i < SNAPSHOT_SECTIONS ? order[i] : SNAPSHOT_SECTIONS;
}

static uint64_t aligned(uint64_t offset, uint64_t alignment)
{
    return (offset + alignment - 1) & ~(alignment - 1);
}

/* Whole pages where there are many, so that a block shares none with another; a small file stays small. */
static uint64_t alignment_of(const snapshot_header *header, const snapshot_section *section)
{
    if (header->version == 1) return SNAPSHOT_ALIGNMENT;
    if (section->length == 0) return 1;
    return section->length < header->block_size ? SNAPSHOT_ALIGNMENT : SNAPSHOT_PAGE;
}

/* Lays the sections, whose lengths are set, one behind the other. */
static void sections_place(snapshot_header *header)
{
    uint64_t end = header->header_size;
    unsigned section;
    for (unsigned i = 0; (section = snapshot_section_in_file(header, i)) < SNAPSHOT_SECTIONS; i++) {
        snapshot_section *s = &header->sections[section];
        s->id = section + 1;
        s->offset = aligned(end, alignment_of(header, s));
        end = s->offset + s->length;
    }
    header->file_size = end;
}

/* What the file has for each key in addition to the strings themselves: the key, or its offset. Fences are as wide. */
static uint64_t key_width(const snapshot_header *header)
{
    return snapshot_has_strings(header) ? sizeof(uint64_t) : copse_type_size((copse_type)header->key_type);
}

uint64_t snapshot_keys_per_fence(const snapshot_header *header)
{
    return header->block_size / key_width(header);
}

uint64_t snapshot_fence_count(const snapshot_header *header)
{
    return snapshot_blocks(header, header->entries * key_width(header));
}

bool snapshot_layout(snapshot_header *header)
{
    const uint64_t entries = header->entries, value_size = copse_type_size((copse_type)header->value_type);
    const bool strings = snapshot_has_strings(header) && entries;
    const uint64_t string_bytes = strings ? header->sections[SNAPSHOT_KEYS].length : 0;
    /* With 24 bytes an entry, and some more for the tables, nothing below this can wrap. */
    if (entries > UINT64_MAX / 64 || string_bytes > UINT64_MAX / 64) return false;
    const bool first = header->version == 1;
    header->header_size = first ? sizeof(snapshot_header_1) : sizeof *header;
    header->section_count = first ? SNAPSHOT_SECTIONS_1 : SNAPSHOT_SECTIONS;
    header->block_size = first ? SNAPSHOT_BLOCK_1 : SNAPSHOT_BLOCK;
    memset(header->sections, 0, sizeof header->sections);
    header->sections[SNAPSHOT_KEYS].length =
        snapshot_has_strings(header) ? string_bytes : entries * copse_type_size((copse_type)header->key_type);
    header->sections[SNAPSHOT_VALUES].length = entries * value_size;
    if (!first) header->sections[SNAPSHOT_FENCES].length = snapshot_fence_count(header) * key_width(header);
    if (!first && strings) header->sections[SNAPSHOT_OFFSETS].length = (entries + 1) * sizeof(uint64_t);
    header->sections[SNAPSHOT_CHECKSUMS].length = snapshot_block_count(header) * sizeof(uint64_t);
    sections_place(header);
    return true;
}

bool snapshot_header_fill(snapshot_header *header, const copse_stats *stats, uint64_t string_bytes)
{
    memset(header, 0, sizeof *header);
    memcpy(header->magic, SNAPSHOT_MAGIC, SNAPSHOT_MAGIC_SIZE);
    header->version = SNAPSHOT_VERSION;
    header->endianness = SNAPSHOT_LITTLE_ENDIAN;
    header->key_type = (uint32_t)stats->key_type;
    header->value_type = (uint32_t)stats->value_type;
    header->structure = (uint32_t)stats->structure;
    header->flags = stats->duplicates ? SNAPSHOT_FLAG_DUPLICATES : 0;
    header->entries = stats->entries;
    header->sections[SNAPSHOT_KEYS].length = string_bytes;
    return snapshot_layout(header);
}

/* --- blocks ----------------------------------------------------------------------------------------------------- */

uint64_t snapshot_first_block(const snapshot_header *header, unsigned section)
{
    uint64_t number = 0;
    for (unsigned i = 0; i < WITH_CHECKSUMS && with_checksums[i] != section; i++)
        number += snapshot_blocks(header, header->sections[with_checksums[i]].length);
    return number;
}

uint64_t snapshot_block_count(const snapshot_header *header)
{
    return snapshot_first_block(header, SNAPSHOT_SECTIONS);
}

snapshot_block snapshot_block_at(const snapshot_header *header, uint64_t number)
{
    unsigned i = 0;
    uint64_t blocks;
    while (i + 1 < WITH_CHECKSUMS &&
           number >= (blocks = snapshot_blocks(header, header->sections[with_checksums[i]].length))) {
        number -= blocks;
        i++;
    }
    uint64_t start = number * header->block_size, rest = header->sections[with_checksums[i]].length - start;
    return (snapshot_block){with_checksums[i], start, (size_t)(rest < header->block_size ? rest : header->block_size)};
}

uint32_t snapshot_threads(const copse_ctx *ctx, uint64_t bytes)
{
    uint64_t worth = bytes / BYTES_PER_THREAD;
    if (worth < 2) return 1;
    return worth < ctx->threads ? (uint32_t)worth : ctx->threads;
}

const char *snapshot_section_name(unsigned section)
{
    static const char *const names[SNAPSHOT_SECTIONS] = {"keys", "values", "checksums", "fences", "offsets"};
    return names[section];
}

const char *snapshot_shown(const char *path)
{
    size_t length = strlen(path);
    return length > LONGEST_SHOWN_PATH ? path + length - LONGEST_SHOWN_PATH : path;
}
