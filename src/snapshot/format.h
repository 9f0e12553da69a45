/*
 * The snapshot file, version 1. docs/FORMAT.md says the same for people who write their own reader.
 *
 * All numbers are little-endian. The entries lie sorted by key in the caller's types, so that loading is a build from
 * sorted input and the file does not depend on the shape of any tree.
 *
 *   byte   size  field
 *           +----------------------------------------+
 *      0    |  8  89 'C' 'P' 'S' CR LF 1A LF         |  magic: a text transfer of any kind spoils it
 *      8    |  4  format version, 1                  |
 *     12    |  4  endianness mark, 04 03 02 01       |  these first 16 bytes stay so in every version
 *     16    |  4  header size, 192                   |
 *     20    |  4  number of sections, 3              |
 *     24    |  4  key type                           |  numbers of copse_type
 *     28    |  4  value type                         |
 *     32    |  4  structure                          |  number of copse_structure; only a default for loading
 *     36    |  4  flags: 1 = duplicates kept         |
 *     40    |  8  entries                            |
 *     48    |  8  size of the file                   |
 *     56    |  8  bytes per checksummed block, 2^20  |
 *     64    | 24  section 1: keys                    |  each: 4 id, 4 zero, 8 offset, 8 length
 *     88    | 24  section 2: values                  |
 *    112    | 24  section 3: checksums               |
 *    136    |  8  checksum of section 3              |
 *    144    | 40  zero                               |
 *    184    |  8  checksum of bytes 0 to 183         |
 *           +----------------------------------------+
 *    192    |  keys, ascending                       |  entries * size of a key
 *           |  zero up to a multiple of 64           |
 *           |  values, in the order of the keys      |  entries * size of a value
 *           |  zero up to a multiple of 64           |
 *           |  a checksum for each block of the keys |  8 bytes each
 *           |  one for each block of the values      |  the file ends with the last of them
 *           +----------------------------------------+
 *
 * Checksums are XXH3 with 64 bits and seed 0. Every byte is covered: the header by its own checksum, keys and values by
 * those of their blocks, the block checksums by one in the header, and the gaps must be zero.
 */
#pragma once

#include "core/internal.h"

#include <stddef.h>

#define SNAPSHOT_MAGIC           "\211CPS\r\n\032\n" /* in octal: a hexadecimal escape would swallow the C */
#define SNAPSHOT_MAGIC_SIZE      8u
#define SNAPSHOT_VERSION         1u
#define SNAPSHOT_LITTLE_ENDIAN   0x01020304u
#define SNAPSHOT_BIG_ENDIAN      0x04030201u /* what a big-endian writer's mark looks like from here */
#define SNAPSHOT_ALIGNMENT       64u
#define SNAPSHOT_BLOCK           (UINT64_C(1) << 20)
#define SNAPSHOT_FLAG_DUPLICATES 1u
#define SNAPSHOT_SECTIONS        3u
/* The bytes that mean the same in every version: magic, version, endianness. */
#define SNAPSHOT_COMMON_SIZE 16u

/* Positions in the section table; the id is one more. */
enum { SNAPSHOT_KEYS = 0, SNAPSHOT_VALUES = 1, SNAPSHOT_CHECKSUMS = 2 };

typedef struct snapshot_section {
    uint32_t id;
    uint32_t zero;
    uint64_t offset;
    uint64_t length;
} snapshot_section;

typedef struct snapshot_header {
    char magic[SNAPSHOT_MAGIC_SIZE];
    uint32_t version;
    uint32_t endianness;
    uint32_t header_size;
    uint32_t section_count;
    uint32_t key_type;   /* copse_type */
    uint32_t value_type; /* copse_type */
    uint32_t structure;  /* copse_structure */
    uint32_t flags;
    uint64_t entries;
    uint64_t file_size;
    uint64_t block_size;
    snapshot_section sections[SNAPSHOT_SECTIONS];
    uint64_t checksums_checksum;
    uint8_t zero[40];
    uint64_t checksum;
} snapshot_header;

/* The header is read and written as it lies in memory. */
_Static_assert(sizeof(snapshot_header) == 192, "the header of version 1 has 192 bytes");
_Static_assert(offsetof(snapshot_header, sections) == 64, "the section table of version 1 starts at byte 64");
_Static_assert(offsetof(snapshot_header, checksum) == 184, "the header checksum of version 1 is its last field");
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "snapshots are read and written without swapping bytes");

uint64_t snapshot_checksum(const void *bytes, size_t size);

/* The checksum that belongs into header->checksum. */
uint64_t snapshot_header_checksum(const snapshot_header *header);

/* Fills everything but the two checksums. The types must be valid. Returns false where the sizes overflow. */
bool snapshot_header_fill(snapshot_header *header, const copse_stats *stats);

uint64_t snapshot_blocks(uint64_t length);

/* A block is a stretch of the keys or the values section. They are numbered as their checksums lie in section 3. */
typedef struct snapshot_block {
    unsigned section;
    uint64_t start; /* inside the section */
    size_t size;
} snapshot_block;
snapshot_block snapshot_block_at(const snapshot_header *header, uint64_t number);

/* Blocks of both sections. */
uint64_t snapshot_block_count(const snapshot_header *header);

/* How many threads are worth starting for this many blocks; a small file stays on the calling thread. */
uint32_t snapshot_threads(const copse_ctx *ctx, const snapshot_header *header, uint64_t blocks);

const char *snapshot_section_name(unsigned section);

/* The path for a sentence: of a very long one only the end, so that the reason still fits. */
const char *snapshot_shown(const char *path);
