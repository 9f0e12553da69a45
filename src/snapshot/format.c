/* What writing and reading a snapshot share: its layout and its checksums. */
#include "snapshot/format.h"

#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#define LONGEST_SHOWN_PATH 240u

uint64_t snapshot_checksum(const void *bytes, size_t size)
{
    return XXH3_64bits(bytes, size);
}

uint64_t snapshot_header_checksum(const snapshot_header *header)
{
    return snapshot_checksum(header, offsetof(snapshot_header, checksum));
}

uint64_t snapshot_blocks(uint64_t length)
{
    return length / SNAPSHOT_BLOCK + (length % SNAPSHOT_BLOCK != 0);
}

static uint64_t aligned(uint64_t offset)
{
    return (offset + SNAPSHOT_ALIGNMENT - 1) & ~(uint64_t)(SNAPSHOT_ALIGNMENT - 1);
}

static void section_fill(snapshot_header *header, unsigned section, uint64_t offset, uint64_t length)
{
    header->sections[section] = (snapshot_section){.id = section + 1, .offset = offset, .length = length};
}

bool snapshot_header_fill(snapshot_header *header, const copse_stats *stats)
{
    size_t key_size = copse_type_size(stats->key_type), value_size = copse_type_size(stats->value_type);
    /* With 16 bytes an entry, and some more for the header, nothing below this can wrap. */
    if (stats->entries > UINT64_MAX / 64) return false;
    uint64_t keys = stats->entries * key_size, values = stats->entries * value_size;
    uint64_t values_at = aligned(sizeof *header + keys), checksums_at = aligned(values_at + values);
    uint64_t checksums = (snapshot_blocks(keys) + snapshot_blocks(values)) * sizeof(uint64_t);

    memset(header, 0, sizeof *header);
    memcpy(header->magic, SNAPSHOT_MAGIC, SNAPSHOT_MAGIC_SIZE);
    header->version = SNAPSHOT_VERSION;
    header->endianness = SNAPSHOT_LITTLE_ENDIAN;
    header->header_size = sizeof *header;
    header->section_count = SNAPSHOT_SECTIONS;
    header->key_type = (uint32_t)stats->key_type;
    header->value_type = (uint32_t)stats->value_type;
    header->structure = (uint32_t)stats->structure;
    header->flags = stats->duplicates ? SNAPSHOT_FLAG_DUPLICATES : 0;
    header->entries = stats->entries;
    header->file_size = checksums_at + checksums;
    header->block_size = SNAPSHOT_BLOCK;
    section_fill(header, SNAPSHOT_KEYS, sizeof *header, keys);
    section_fill(header, SNAPSHOT_VALUES, values_at, values);
    section_fill(header, SNAPSHOT_CHECKSUMS, checksums_at, checksums);
    return true;
}

uint64_t snapshot_block_count(const snapshot_header *header)
{
    return snapshot_blocks(header->sections[SNAPSHOT_KEYS].length) +
           snapshot_blocks(header->sections[SNAPSHOT_VALUES].length);
}

snapshot_block snapshot_block_at(const snapshot_header *header, uint64_t number)
{
    uint64_t key_blocks = snapshot_blocks(header->sections[SNAPSHOT_KEYS].length);
    unsigned section = number < key_blocks ? SNAPSHOT_KEYS : SNAPSHOT_VALUES;
    uint64_t start = (section == SNAPSHOT_KEYS ? number : number - key_blocks) * SNAPSHOT_BLOCK;
    uint64_t rest = header->sections[section].length - start;
    return (snapshot_block){section, start, (size_t)(rest < SNAPSHOT_BLOCK ? rest : SNAPSHOT_BLOCK)};
}

uint32_t snapshot_threads(const copse_ctx *ctx, const snapshot_header *header, uint64_t blocks)
{
    if (header->file_size < SNAPSHOT_BLOCK) return 1;
    return blocks < ctx->threads ? (uint32_t)blocks : ctx->threads;
}

const char *snapshot_section_name(unsigned section)
{
    static const char *const names[SNAPSHOT_SECTIONS] = {"keys", "values", "checksums"};
    return names[section];
}

const char *snapshot_shown(const char *path)
{
    size_t length = strlen(path);
    return length > LONGEST_SHOWN_PATH ? path + length - LONGEST_SHOWN_PATH : path;
}
