/*
 * The snapshot file, version 2, which copse writes, and version 1, which it still loads. docs/FORMAT.md says the same for people
 * who write their own reader, and why.
 *
 * All numbers are little-endian. The entries lie sorted by key in the caller's types, so that loading is a build from sorted
 * input, the file does not depend on the shape of any tree, and a mapped file can be searched as it lies.
 *
 *   byte   size  field
 *           +----------------------------------------+
 *      0    |  8  89 'C' 'P' 'S' CR LF 1A LF         |  magic: a text transfer of any kind spoils it
 *      8    |  4  format version, 2                  |
 *     12    |  4  endianness mark, 04 03 02 01       |  these first 16 bytes stay so in every version
 *     16    |  4  header size, 256                   |
 *     20    |  4  number of sections, 5              |
 *     24    |  4  key type                           |  numbers of copse_type
 *     28    |  4  value type                         |
 *     32    |  4  structure                          |  number of copse_structure; only a default for loading
 *     36    |  4  flags: 1 = duplicates kept         |
 *     40    |  8  entries                            |
 *     48    |  8  size of the file                   |
 *     56    |  8  bytes per checksummed block, 2^16  |
 *     64    | 24  section 1: keys                    |  each: 4 id, 4 zero, 8 offset, 8 length
 *     88    | 24  section 2: values                  |
 *    112    | 24  section 3: checksums               |
 *    136    | 24  section 4: fences                  |
 *    160    | 24  section 5: offsets                 |
 *    184    |  8  checksum of section 3              |
 *    192    | 56  zero                               |
 *    248    |  8  checksum of bytes 0 to 247         |
 *           +----------------------------------------+
 *    256    |  checksums                             |  8 bytes for each block of keys, values, fences, offsets
 *           |  fences                                |  the first key of each block of the keys; of byte strings its prefix
 *           |  offsets                               |  empty but for byte strings
 *           |  keys, ascending                       |  entries * size of a key, or the bytes of all
 *           |  values, in the order of the keys      |  entries * size of a value
 *           +----------------------------------------+
 *
 * A section begins at a multiple of 4096 where it has a block or more, else at a multiple of 64 (an empty one right behind the one
 * before it); the gaps are zero. What a lookup needs first lies together at the front.
 *
 * Checksums are XXH3 with 64 bits and seed 0. Every byte is covered: the header by its own checksum, the sections by those of
 * their blocks, the block checksums by one in the header, and the gaps must be zero.
 *
 * Version 1 has a header of 192 bytes, which ends behind the third section like this:
 *
 *    136    |  8  checksum of section 3              |
 *    144    | 40  zero                               |
 *    184    |  8  checksum of bytes 0 to 183         |
 *
 * then keys, values and checksums, each at a multiple of 64, in blocks of 2^20 bytes.
 */
#pragma once

#include "core/internal.h"

#include <stddef.h>

#define SNAPSHOT_MAGIC           "\211CPS\r\n\032\n" /* in octal: a hexadecimal escape would swallow the C */
#define SNAPSHOT_MAGIC_SIZE      8u
#define SNAPSHOT_VERSION         2u /* what is written, and the newest that is read */
#define SNAPSHOT_LITTLE_ENDIAN   0x01020304u
#define SNAPSHOT_BIG_ENDIAN      0x04030201u /* what a big-endian writer's mark looks like from here */
#define SNAPSHOT_ALIGNMENT       64u
#define SNAPSHOT_PAGE            4096u
#define SNAPSHOT_BLOCK           (UINT64_C(1) << 16)
#define SNAPSHOT_BLOCK_1         (UINT64_C(1) << 20) /* of version 1 */
#define SNAPSHOT_FLAG_DUPLICATES 1u
#define SNAPSHOT_SECTIONS        5u
#define SNAPSHOT_SECTIONS_1      3u
/* The bytes that mean the same in every version: magic, version, endianness. */
#define SNAPSHOT_COMMON_SIZE 16u

/* Positions in the section table; the id is one more. */
enum { SNAPSHOT_KEYS = 0, SNAPSHOT_VALUES = 1, SNAPSHOT_CHECKSUMS = 2, SNAPSHOT_FENCES = 3, SNAPSHOT_OFFSETS = 4 };

typedef struct snapshot_section {
    uint32_t id;
    uint32_t zero;
    uint64_t offset;
    uint64_t length;
} snapshot_section;

/* A header as it lies in a file of version 2, and in memory for both versions: what version 1 lacks is then empty. */
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
    uint8_t zero[56];
    uint64_t checksum;
} snapshot_header;

/* A header as it lies in a file of version 1. */
typedef struct snapshot_header_1 {
    char same[64]; /* as above, up to the sections */
    snapshot_section sections[SNAPSHOT_SECTIONS_1];
    uint64_t checksums_checksum;
    uint8_t zero[40];
    uint64_t checksum;
} snapshot_header_1;

/* Headers are read and written as they lie in memory. */
_Static_assert(sizeof(snapshot_header) == 256, "the header of version 2 has 256 bytes");
_Static_assert(sizeof(snapshot_header_1) == 192, "the header of version 1 has 192 bytes");
_Static_assert(offsetof(snapshot_header, sections) == 64, "the section table starts at byte 64");
_Static_assert(offsetof(snapshot_header_1, sections) == 64, "the section table starts at byte 64");
_Static_assert(offsetof(snapshot_header, checksum) == 248, "the header checksum is the last field");
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "snapshots are read and written without swapping bytes");

uint64_t snapshot_checksum(const void *bytes, size_t size);

/* The checksum that belongs into header->checksum, of version 2. */
uint64_t snapshot_header_checksum(const snapshot_header *header);

/* Whether keys are byte strings. */
static inline bool snapshot_has_strings(const snapshot_header *header)
{
    return header->key_type == COPSE_BYTES;
}

/* Where the sections lie, from the version, the types and the number of entries, all of which must be valid, and where keys are byte
 * strings from the length of section 1. Fills in the sizes of header, blocks and file, too. Returns false where the sizes overflow. */
bool snapshot_layout(snapshot_header *header);

/* A header of version 2, all but its two checksums. The types must be valid; string_bytes are those of all keys where these are byte
 * strings. Returns false where the sizes overflow. */
bool snapshot_header_fill(snapshot_header *header, const copse_stats *stats, uint64_t string_bytes);

/* Keys from one fence to the next. */
uint64_t snapshot_keys_per_fence(const snapshot_header *header);
/* Fences, of version 2. */
uint64_t snapshot_fence_count(const snapshot_header *header);

/* Section number `i` in the order in which they lie in the file; SNAPSHOT_SECTIONS: there are no more. */
unsigned snapshot_section_in_file(const snapshot_header *header, unsigned i);

/* Blocks of so many bytes. */
uint64_t snapshot_blocks(const snapshot_header *header, uint64_t length);

/* A block is a stretch of a section. They are numbered as their checksums lie in section 3. */
typedef struct snapshot_block {
    unsigned section;
    uint64_t start; /* inside the section */
    size_t size;
} snapshot_block;
snapshot_block snapshot_block_at(const snapshot_header *header, uint64_t number);
/* The number of the first block of a section (not the checksums). */
uint64_t snapshot_first_block(const snapshot_header *header, unsigned section);

/* Blocks of all sections that have checksums. */
uint64_t snapshot_block_count(const snapshot_header *header);

/* How many threads are worth starting for this many bytes of a snapshot; a small file stays on the calling thread. */
uint32_t snapshot_threads(const copse_ctx *ctx, uint64_t bytes);

const char *snapshot_section_name(unsigned section);

/* The path for a sentence: of a very long one only the end, so that the reason still fits. */
const char *snapshot_shown(const char *path);
