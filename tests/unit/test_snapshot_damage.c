/* Snapshots that are not well: cut, changed, forged, foreign, of another type. Each is refused with the status that the
 * header promises and a sentence that names what is wrong, without a crash and without a large allocation. All of it with files of
 * both versions. */
#include "snapshot/format.h"
#include "snapshot_file.h"
#include "typed.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static struct fixture {
    copse_ctx *ctx;
    char *folder;
    char path[512];
    int version;    /* of the snapshots that it makes */
    size_t largest; /* allocation since it was set to 0 */
    long blocks;    /* allocated and not freed */
} t;

static void *counting_alloc(void *user, size_t size, size_t alignment)
{
    (void)user;
    if (size > t.largest) t.largest = size;
    t.blocks++;
    return aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
}

static void counting_free(void *user, void *memory, size_t size)
{
    (void)user;
    (void)size;
    t.blocks--;
    free(memory);
}

static int setup(void **state)
{
    copse_ctx_options options = COPSE_CTX_OPTIONS_INIT;
    t.version = *state ? 1 : 2;
    options.threads = 2;
    options.allocator = (copse_allocator){counting_alloc, counting_free, NULL};
    t.blocks = 0;
    if (copse_ctx_create(&options, &t.ctx) != COPSE_OK) return 1;
    t.folder = folder_make();
    snprintf(t.path, sizeof t.path, "%s/damaged.copse", t.folder);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    folder_remove(t.folder);
    copse_ctx_free(t.ctx);
    return t.blocks == 0 ? 0 : 1;
}

/* A saved index of n entries: keys 10, 11, 12 ... and values 0, 1, 2 ... in the given types. */
static struct file_bytes snapshot_make(copse_type key_type, copse_type value_type, bool duplicates, uint64_t n)
{
    copse_index_options options = COPSE_INDEX_OPTIONS_INIT;
    copse_index *index = NULL;
    void *keys = typed_new(key_type, n + 1), *values = typed_new(value_type, n + 1);
    for (uint64_t i = 0; i < n; i++) {
        typed_set_bits(key_type, keys, i, typed_position_bits(key_type, 10 + i));
        typed_set_bits(value_type, values, i, typed_position_bits(value_type, i));
    }
    options.key_type = key_type;
    options.value_type = value_type;
    options.structure = COPSE_STRUCTURE_IMPLICIT;
    options.duplicates = duplicates;
    assert_int_equal(copse_index_create(t.ctx, &options, &index), COPSE_OK);
    assert_int_equal(copse_build(index, keys, values, n), COPSE_OK);
    assert_int_equal(copse_save(index, t.path), COPSE_OK);
    copse_index_free(index);
    free(keys);
    free(values);
    return t.version == 1 ? snapshot_as_version_1(file_read(t.path)) : file_read(t.path);
}

/* Where a section of such a file begins. The table lies at the same place in both versions. */
static void *section_of(struct file_bytes f, unsigned section)
{
    return f.bytes + ((const snapshot_header *)f.bytes)->sections[section].offset;
}

static size_t header_size(void)
{
    return t.version == 1 ? sizeof(snapshot_header_1) : sizeof(snapshot_header);
}

static size_t block_size(void)
{
    return t.version == 1 ? SNAPSHOT_BLOCK_1 : SNAPSHOT_BLOCK;
}

/* Loading these bytes fails with this status and a sentence with these words in it. */
static void refused_with(const copse_index_options *options, const void *bytes, size_t size, copse_status status,
                         const char *words)
{
    copse_index *index = (copse_index *)&t;
    long blocks = t.blocks;
    file_write(t.path, bytes, size);
    t.largest = 0;
    copse_status is = copse_load(t.ctx, t.path, options, &index);
    const char *sentence = copse_last_error(t.ctx);
    if (is != status || !strstr(sentence, words))
        fail_msg("status is %s, expected %s; sentence is '%s', expected '%s'", copse_status_name(is),
                 copse_status_name(status), is == COPSE_OK ? "" : sentence, words);
    if (!strstr(sentence, "damaged.copse")) fail_msg("the sentence does not name the file: '%s'", sentence);
    assert_null(index);
    assert_int_equal(t.blocks, blocks);
    /* Nothing much larger than the file, whatever the file says; some room for the empty index. */
    if (t.largest > size + 65536) fail_msg("%zu bytes were allocated for a file of %zu", t.largest, size);
}

static void refused(const void *bytes, size_t size, copse_status status, const char *words)
{
    refused_with(NULL, bytes, size, status, words);
}

/* --- truncated, flipped, lengthened ----------------------------------------------------------------------------- */

static void every_truncation(void **state)
{
    struct file_bytes f = snapshot_make(COPSE_U64, COPSE_U32, false, 21);
    char words[128];
    (void)state;
    refused(f.bytes, 0, COPSE_ERR_FORMAT, "is not a copse snapshot: it is empty");
    for (size_t size = 1; size < f.size; size++) {
        snprintf(words, sizeof words, "is truncated: it has %zu of %s%zu bytes", size,
                 size < header_size() ? "at least " : "",
                 size < 16              ? (size_t)192
                 : size < header_size() ? header_size()
                                        : f.size);
        refused(f.bytes, size, COPSE_ERR_FORMAT, words);
    }
    free(f.bytes);
}

/* Whether a byte lies in a section, or in the gap behind it. */
static bool lies_in(const snapshot_section *s, size_t at)
{
    return at >= s->offset && at < s->offset + s->length;
}

/* What the sentence has to say about a change of this byte. */
static const char *words_for(const snapshot_header *h, size_t at)
{
    if (at < 4) return "is not a copse snapshot";
    if (at < 8) return "signature, bytes 0..7";
    if (at < 12) return "";
    if (at < 16) return "endian";
    if (at < header_size()) return t.version == 1 ? "header, bytes 0..191" : "header, bytes 0..255";
    if (lies_in(&h->sections[SNAPSHOT_KEYS], at)) return "keys section, bytes";
    if (lies_in(&h->sections[SNAPSHOT_VALUES], at)) return "values section, bytes";
    if (lies_in(&h->sections[SNAPSHOT_CHECKSUMS], at)) return "checksums section, bytes";
    if (t.version > 1 && lies_in(&h->sections[SNAPSHOT_FENCES], at)) return "fences section, bytes";
    return "padding after the ";
}

static void every_flip_of(struct file_bytes f)
{
    snapshot_header header;
    memcpy(&header, f.bytes, f.size < sizeof header ? f.size : sizeof header);
    for (size_t at = 0; at < f.size; at++)
        for (int change = 0; change < 9; change++) {
            unsigned char old = f.bytes[at];
            f.bytes[at] ^= change < 8 ? 1u << change : 0xff; /* each bit, then all */
            uint32_t version;
            memcpy(&version, f.bytes + 8, sizeof version);
            refused(f.bytes, f.size, version > 2 ? COPSE_ERR_VERSION : COPSE_ERR_FORMAT, words_for(&header, at));
            f.bytes[at] = old;
        }
    free(f.bytes);
}

static void every_flip(void **state)
{
    (void)state;
    every_flip_of(snapshot_make(COPSE_U64, COPSE_U32, false, 21));
    every_flip_of(snapshot_make(COPSE_F32, COPSE_F64, true, 3));
    every_flip_of(snapshot_make(COPSE_DATE, COPSE_I64, false, 0));
}

/* The block of the keys that a byte lies in, as the sentence names it. */
static const char *block_words(struct file_bytes f, size_t byte)
{
    static char words[128];
    const snapshot_section *keys = &((const snapshot_header *)f.bytes)->sections[SNAPSHOT_KEYS];
    size_t first = byte / block_size() * block_size(), last = first + block_size();
    if (last > keys->length) last = (size_t)keys->length;
    (void)snprintf(words, sizeof words, "keys section, bytes %zu..%zu: their checksum does not match",
                   (size_t)keys->offset + first, (size_t)keys->offset + last - 1);
    return words;
}

static void block_is_named(void **state)
{
    const uint64_t per_block = block_size() / 8;
    struct file_bytes f = snapshot_make(COPSE_U64, COPSE_U64, false, 3 * per_block + 1);
    unsigned char *keys = section_of(f, SNAPSHOT_KEYS);
    (void)state;
    keys[block_size()] ^= 1; /* first byte of the second block */
    refused(f.bytes, f.size, COPSE_ERR_FORMAT, block_words(f, block_size()));
    keys[5] ^= 1; /* of two the first is named, whichever thread is faster */
    refused(f.bytes, f.size, COPSE_ERR_FORMAT, block_words(f, 5));
    keys[5] ^= 1;
    keys[block_size()] ^= 1;
    keys[3 * block_size() + 7] ^= 1; /* the last block has one key */
    refused(f.bytes, f.size, COPSE_ERR_FORMAT, block_words(f, 3 * block_size() + 7));
    free(f.bytes);
}

static void trailing_bytes(void **state)
{
    struct file_bytes f = snapshot_make(COPSE_U32, COPSE_U32, false, 5);
    unsigned char *longer = calloc(1, f.size + 64);
    char words[128];
    (void)state;
    memcpy(longer, f.bytes, f.size);
    for (size_t extra = 1; extra <= 64; extra += 63) {
        snprintf(words, sizeof words, "trailing data, bytes %zu..%zu", f.size, f.size + extra - 1);
        refused(longer, f.size + extra, COPSE_ERR_FORMAT, words);
    }
    free(longer);
    free(f.bytes);
}

/* --- foreign, future, of another type --------------------------------------------------------------------------- */

static void foreign_files(void **state)
{
    static const char text[] = "key,value\n1,2\n", png[] = "\x89PNG\r\n\x1a\n and so on",
                      unix_ends[] = "\x89\x43PS\n\x1a\n\1\0\0\0";
    unsigned char zeros[4096] = {0};
    (void)state;
    refused(text, sizeof text - 1, COPSE_ERR_FORMAT, "is not a copse snapshot: it does not start with the signature");
    refused("x", 1, COPSE_ERR_FORMAT, "is not a copse snapshot");
    refused(png, sizeof png - 1, COPSE_ERR_FORMAT, "is not a copse snapshot");
    refused(zeros, sizeof zeros, COPSE_ERR_FORMAT, "is not a copse snapshot");
    refused(unix_ends, sizeof unix_ends - 1, COPSE_ERR_FORMAT, "perhaps by a transfer as text");
}

static void future_version(void **state)
{
    struct file_bytes f = snapshot_make(COPSE_U64, COPSE_U64, false, 2);
    snapshot_header *h = (snapshot_header *)f.bytes;
    (void)state;
    h->version = 3;
    refused(f.bytes, f.size, COPSE_ERR_VERSION, "has format version 3; copse " COPSE_VERSION " reads up to version 2");
    /* A version of which only the first bytes are known may be shorter than a header of ours. */
    refused(f.bytes, 16, COPSE_ERR_VERSION, "has format version 3");
    h->version = 1;
    /* What a big-endian machine would write: all numbers swapped, the version too. */
    h->endianness = SNAPSHOT_BIG_ENDIAN;
    h->version = 0x01000000;
    refused(f.bytes, f.size, COPSE_ERR_FORMAT, "has big-endian numbers");
    free(f.bytes);
}

static void other_types(void **state)
{
    struct file_bytes f = snapshot_make(COPSE_DATE, COPSE_F32, true, 4);
    copse_index_options options = COPSE_INDEX_OPTIONS_INIT;
    (void)state;
    refused_with(&options, f.bytes, f.size, COPSE_ERR_TYPE, "options->key_type is u64, but the snapshot");
    assert_non_null(strstr(copse_last_error(t.ctx), "has keys of type date"));
    options.key_type = COPSE_DATE;
    refused_with(&options, f.bytes, f.size, COPSE_ERR_TYPE, "options->value_type is u64, but the snapshot");
    assert_non_null(strstr(copse_last_error(t.ctx), "has values of type f32"));
    options.value_type = COPSE_F32;
    refused_with(&options, f.bytes, f.size, COPSE_ERR_ARGUMENT, "options->duplicates is 0");
    free(f.bytes);
}

/* --- forged: the checksums are right ---------------------------------------------------------------------------- */

static void refused_repaired(struct file_bytes f, const char *words)
{
    assert_true(snapshot_repair(f.bytes, f.size));
    refused(f.bytes, f.size, COPSE_ERR_FORMAT, words);
}

/* Makes the checksum of the header right, and nothing else. */
static void header_seal(struct file_bytes f)
{
    const size_t at = header_size() - sizeof(uint64_t);
    const uint64_t checksum = snapshot_checksum(f.bytes, at);
    memcpy(f.bytes + at, &checksum, sizeof checksum);
}

static void forged_counts(void **state)
{
    static const uint64_t counts[] = {
        0, 20, 22, 1000, 1u << 31, UINT64_C(1) << 40, UINT64_C(1) << 58, UINT64_C(1) << 61, UINT64_MAX};
    struct file_bytes f = snapshot_make(COPSE_U64, COPSE_U32, false, 21);
    snapshot_header *h = (snapshot_header *)f.bytes, original = *h;
    (void)state;
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        h->entries = counts[i];
        refused_repaired(f, "entries");
        /* A section table and a size that agree with the count: only the size of the file itself is left to ask. */
        copse_stats stats = {.entries = counts[i],
                             .key_type = COPSE_U64,
                             .value_type = COPSE_U32,
                             .structure = COPSE_STRUCTURE_IMPLICIT};
        if (counts[i] > 100 && snapshot_header_fill(h, &stats, 0)) {
            h->checksum = snapshot_header_checksum(h);
            refused(f.bytes, f.size, COPSE_ERR_FORMAT, "is truncated: it has");
        }
        *h = original;
    }
    free(f.bytes);
}

/* A sparse file is as long as its forged count demands and holds nothing. */
static void forged_count_in_a_sparse_file(void **state)
{
    struct file_bytes f = snapshot_make(COPSE_U64, COPSE_U64, false, 1);
    snapshot_header *h = (snapshot_header *)f.bytes;
    copse_stats stats = {.entries = UINT64_C(1) << 32,
                         .key_type = COPSE_U64,
                         .value_type = COPSE_U64,
                         .structure = COPSE_STRUCTURE_IMPLICIT};
    copse_index *index = NULL;
    (void)state;
    assert_true(snapshot_header_fill(h, &stats, 0));
    h->checksum = snapshot_header_checksum(h);
    file_write(t.path, h, sizeof *h);
    if (truncate(t.path, (off_t)h->file_size) != 0) skip();
    t.largest = 0;
    assert_int_equal(copse_load(t.ctx, t.path, NULL, &index), COPSE_ERR_FORMAT);
    assert_non_null(strstr(copse_last_error(t.ctx), "checksums section"));
    assert_true(t.largest < 32 << 20); /* the checksums of 64 GiB */
    free(f.bytes);
}

static void forged_fields(void **state)
{
    struct file_bytes f = snapshot_make(COPSE_U64, COPSE_U32, false, 21);
    snapshot_header *h = (snapshot_header *)f.bytes, original = *h;
    (void)state;
#define FORGE(change, words)                                                                                           \
    do {                                                                                                               \
        change;                                                                                                        \
        refused_repaired(f, words);                                                                                    \
        *h = original;                                                                                                 \
    } while (0)
    FORGE(h->header_size = 320, "its header gives the header size 320");
    FORGE(h->section_count = 4, "its header gives the number of sections 4");
    FORGE(h->key_type = 0, "its header gives the unknown key type 0");
    FORGE(h->key_type = COPSE_BYTES,
          t.version == 1 ? "its header gives the unknown key type 9" : "keys section does not fit its 21 entries");
    FORGE(h->key_type = UINT32_MAX, "its header gives the unknown key type 4294967295");
    FORGE(h->key_type = COPSE_U32, "keys section does not fit its 21 entries");
    FORGE(h->value_type = 0, "its header gives the unknown value type 0");
    FORGE(h->value_type = COPSE_DATE, "its header gives the unknown value type 7");
    FORGE(h->value_type = COPSE_F64, "values section does not fit its 21 entries");
    FORGE(h->flags = 2, "its header gives the unknown flags 2");
    FORGE(h->block_size = 1, "its header gives the block size 1");
    FORGE(h->block_size = 0, "its header gives the block size 0");
    FORGE(f.bytes[header_size() - 9] = 1,
          t.version == 1 ? "header, bytes 144..183: they must be zero" : "header, bytes 192..247: they must be zero");
    FORGE(h->sections[0].id = 2, "the place of its keys section");
    FORGE(h->sections[1].zero = 1, "the place of its values section");
    FORGE(h->sections[1].offset = 192, "the place of its values section");
    FORGE(h->sections[2].offset = UINT64_MAX - 3, "the place of its checksums section");
    FORGE(h->sections[2].length = UINT64_MAX, "the place of its checksums section");
    FORGE(h->sections[0].length = 8, "the place of its keys section");
#undef FORGE
    h->file_size++;
    header_seal(f);
    refused(f.bytes, f.size, COPSE_ERR_FORMAT, "its header gives a size of");
    free(f.bytes);
}

static void unknown_structure(void **state)
{
    struct file_bytes f = snapshot_make(COPSE_U64, COPSE_U64, false, 6);
    snapshot_header *h = (snapshot_header *)f.bytes;
    copse_index_options options = {.struct_size = sizeof options, .structure = COPSE_STRUCTURE_REGULAR};
    copse_index *index = NULL;
    (void)state;
    h->structure = 77;
    snapshot_repair(f.bytes, f.size);
    refused(f.bytes, f.size, COPSE_ERR_VERSION, "is of structure 77");
    assert_int_equal(copse_load(t.ctx, t.path, &options, &index), COPSE_OK);
    assert_int_equal(copse_size(index), 6);
    copse_index_free(index);
    h->structure = 0;
    snapshot_repair(f.bytes, f.size);
    refused(f.bytes, f.size, COPSE_ERR_VERSION, "is of structure 0");
    free(f.bytes);
}

static void forged_order(void **state)
{
    struct file_bytes f = snapshot_make(COPSE_I64, COPSE_U32, false, 1000);
    int64_t *keys = section_of(f, SNAPSHOT_KEYS);
    (void)state;
    keys[700] = keys[699];
    refused_repaired(f, "keys section, entry 700: its key is not larger than the one before");
    keys[700] = keys[699] + 1;
    keys[1] = keys[0];
    refused_repaired(f, "keys section, entry 1: its key is not larger");
    keys[1] = keys[0] + 1;
    keys[512] = INT64_MIN; /* keys are looked at 512 at a time */
    refused_repaired(f, "keys section, entry 512: its key is not larger");
    keys[512] = keys[511];
    refused_repaired(f, "keys section, entry 512: its key is not larger");
    keys[512] = keys[511] + 1;
    keys[999] = -1;
    refused_repaired(f, "keys section, entry 999: its key is not larger");
    free(f.bytes);
}

/* Equal keys inside a round of 512, and on both sides of the border of two. */
static void forged_order_with_duplicates(void **state)
{
    static const uint32_t at[] = {50, 511, 512, 513, 1024};
    (void)state;
    for (size_t i = 0; i < sizeof at / sizeof *at; i++) {
        char words[80];
        struct file_bytes f = snapshot_make(COPSE_U32, COPSE_U32, true, 1100);
        uint32_t *keys = section_of(f, SNAPSHOT_KEYS);
        copse_index *index = NULL;
        keys[at[i]] = keys[at[i] - 1];
        assert_true(snapshot_repair(f.bytes, f.size));
        file_write(t.path, f.bytes, f.size);
        assert_int_equal(copse_load(t.ctx, t.path, NULL, &index), COPSE_OK);
        copse_index_free(index);
        keys[at[i]] = keys[at[i] - 1] - 1;
        (void)snprintf(words, sizeof words, "keys section, entry %u: its key is smaller than the one before", at[i]);
        refused_repaired(f, words);
        free(f.bytes);
    }
}

static void forged_order_between_blocks(void **state)
{
    const uint32_t per_block = (uint32_t)block_size() / 4;
    struct file_bytes f = snapshot_make(COPSE_U32, COPSE_U32, false, 2 * per_block + 1);
    uint32_t *keys = section_of(f, SNAPSHOT_KEYS);
    char words[80];
    (void)state;
    keys[2 * per_block] = keys[2 * per_block - 1];
    (void)snprintf(words, sizeof words, "keys section, entry %u: its key is not larger", 2 * per_block);
    refused_repaired(f, words);
    /* The whole second block moves down: in order inside, but not behind the first. */
    for (uint32_t i = per_block; i < 2 * per_block; i++) keys[i] -= per_block;
    (void)snprintf(words, sizeof words, "keys section, entry %u: its key is not larger", per_block);
    refused_repaired(f, words);
    free(f.bytes);
}

/* A run of equal keys may go on in the next block. */
static void equal_keys_between_blocks(void **state)
{
    const uint32_t per_block = (uint32_t)block_size() / 4;
    struct file_bytes f = snapshot_make(COPSE_U32, COPSE_U32, true, per_block + 2);
    uint32_t *keys = section_of(f, SNAPSHOT_KEYS);
    copse_index *index = NULL;
    char words[80];
    (void)state;
    keys[per_block] = keys[per_block - 1];
    if (t.version > 1) ((uint32_t *)section_of(f, SNAPSHOT_FENCES))[1] = keys[per_block];
    assert_true(snapshot_repair(f.bytes, f.size));
    file_write(t.path, f.bytes, f.size);
    assert_int_equal(copse_load(t.ctx, t.path, NULL, &index), COPSE_OK);
    assert_int_equal(copse_size(index), per_block + 2);
    copse_index_free(index);
    keys[per_block] = keys[per_block - 1] - 1;
    (void)snprintf(words, sizeof words, "keys section, entry %u: its key is smaller than the one before", per_block);
    refused_repaired(f, words);
    free(f.bytes);
}

/* A file that loads is one that opens: the fences have to be right, although loading does without them. */
static void forged_fences(void **state)
{
    const uint32_t per_block = (uint32_t)block_size() / 4;
    struct file_bytes f = snapshot_make(COPSE_U32, COPSE_U32, false, 2 * per_block);
    char words[80];
    (void)state;
    for (uint32_t block = 0; t.version > 1 && block < 2; block++) {
        uint32_t *fence = (uint32_t *)section_of(f, SNAPSHOT_FENCES) + block;
        (*fence)++;
        (void)snprintf(words, sizeof words, "entry %u: the fences have another key for it", block * per_block);
        refused_repaired(f, words);
        (*fence)--;
    }
    free(f.bytes);
}

static void forged_nan(void **state)
{
    struct file_bytes f = snapshot_make(COPSE_F64, COPSE_F64, false, 600),
                      g = snapshot_make(COPSE_F32, COPSE_F32, true, 3);
    double *wide = section_of(f, SNAPSHOT_KEYS);
    float *narrow = section_of(g, SNAPSHOT_KEYS);
    (void)state;
    wide[599] = NAN;
    refused_repaired(f, "keys section, entry 599: its key is NaN");
    narrow[0] = -NAN;
    refused_repaired(g, "keys section, entry 0: its key is NaN");
    /* -0.0 equals 0.0, so both are one key too many. */
    narrow[0] = 0.0f;
    narrow[1] = -0.0f;
    ((snapshot_header *)g.bytes)->flags = 0;
    refused_repaired(g, "keys section, entry 1: its key is not larger");
    free(f.bytes);
    free(g.bytes);
}

/* A state from the start: version 1. */
static int first_version;
#define BOTH_VERSIONS(test)                                                                                            \
    cmocka_unit_test_setup_teardown(test, setup, teardown),                                                            \
    {                                                                                                                  \
#test " of version 1", test, setup, teardown, &first_version                                                   \
    }

int main(void)
{
    const struct CMUnitTest tests[] = {
        BOTH_VERSIONS(every_truncation),
        BOTH_VERSIONS(every_flip),
        BOTH_VERSIONS(block_is_named),
        BOTH_VERSIONS(trailing_bytes),
        BOTH_VERSIONS(foreign_files),
        BOTH_VERSIONS(future_version),
        BOTH_VERSIONS(other_types),
        BOTH_VERSIONS(forged_counts),
        BOTH_VERSIONS(forged_count_in_a_sparse_file),
        BOTH_VERSIONS(forged_fields),
        BOTH_VERSIONS(unknown_structure),
        BOTH_VERSIONS(forged_order),
        BOTH_VERSIONS(forged_order_with_duplicates),
        BOTH_VERSIONS(forged_order_between_blocks),
        BOTH_VERSIONS(equal_keys_between_blocks),
        BOTH_VERSIONS(forged_fences),
        BOTH_VERSIONS(forged_nan),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
