/* Checks of the blocks of a snapshot: checksums, the order of the keys, gaps; and the sentences on what is wrong. */
#include "snapshot/check.h"

#include "core/codec.h"
#include "core/threads.h"

#include <string.h>

#define CODES_AT_ONCE 512u

/* --- order ------------------------------------------------------------------------------------------------------ */

/* Codes of n keys as 64-bit numbers. Returns n or the first NaN. */
static uint32_t codes_of(copse_type type, const void *keys, uint64_t first, uint32_t n, uint64_t *codes)
{
    uint32_t codes32[CODES_AT_ONCE], good;
    if (copse_type_size(type) == 8) return copse_encode_k64(type, keys, first, n, codes);
    good = copse_encode_k32(type, keys, first, n, codes32);
    for (uint32_t i = 0; i < good; i++) codes[i] = codes32[i];
    return good;
}

static bool duplicates(const snapshot_header *header)
{
    return header->flags & SNAPSHOT_FLAG_DUPLICATES;
}

/* The first of n codes that is not above (equal_allowed: is below) the one before it, else n. */
static uint32_t order_check(const uint64_t *codes, uint32_t n, bool equal_allowed)
{
    uint64_t least_step = equal_allowed ? 0 : 1;
    uint64_t bad = 0;
    /* Without a way out the loop vectorises; faults are rare and may cost a second look. */
    for (uint32_t i = 1; i < n; i++) bad |= (codes[i] < codes[i - 1]) | (least_step & (codes[i] == codes[i - 1]));
    for (uint32_t i = 1; bad && i < n; i++)
        if (codes[i] < codes[i - 1] || (!equal_allowed && codes[i] == codes[i - 1])) return i;
    return n;
}

snapshot_finding snapshot_keys_check(const snapshot_header *header, const void *keys, uint64_t n)
{
    uint64_t codes[1 + CODES_AT_ONCE];
    for (uint64_t at = 0; at < n; at += CODES_AT_ONCE) {
        uint32_t count = (uint32_t)(n - at < CODES_AT_ONCE ? n - at : CODES_AT_ONCE);
        uint32_t good = codes_of((copse_type)header->key_type, keys, at, count, codes + 1);
        if (good < count) return (snapshot_finding){.fault = SNAPSHOT_NAN, .entry = at + good};
        uint32_t before = at == 0 ? 0 : 1; /* 1: codes[0] is the last key of the round before */
        uint32_t sorted = order_check(codes + 1 - before, count + before, duplicates(header));
        if (sorted < count + before)
            return (snapshot_finding){.fault = SNAPSHOT_BAD_ORDER, .entry = at + sorted - before};
        codes[0] = codes[count];
    }
    return (snapshot_finding){.fault = SNAPSHOT_SOUND};
}

snapshot_finding snapshot_fences_check(const snapshot_header *header, const void *fences)
{
    const uint64_t *prefixes = fences;
    const uint64_t n = snapshot_fence_count(header);
    snapshot_finding found = {.fault = SNAPSHOT_SOUND};
    if (!snapshot_has_strings(header)) return snapshot_keys_check(header, fences, n);
    /* Different strings may begin alike. */
    for (uint64_t i = 1; i < n && found.fault == SNAPSHOT_SOUND; i++)
        if (prefixes[i] < prefixes[i - 1]) found = (snapshot_finding){.fault = SNAPSHOT_BAD_ORDER, .entry = i};
    return found;
}

static uint64_t code_of(const snapshot_header *header, const void *key)
{
    uint64_t code = 0;
    (void)codes_of((copse_type)header->key_type, key, 0, 1, &code);
    return code;
}

bool snapshot_in_order(const snapshot_header *header, const void *before, const void *after)
{
    const uint64_t codes[2] = {code_of(header, before), code_of(header, after)};
    return order_check(codes, 2, duplicates(header)) == 2;
}

bool snapshot_same_key(const snapshot_header *header, const void *one, const void *other)
{
    return code_of(header, one) == code_of(header, other);
}

/* --- blocks, tables, gaps --------------------------------------------------------------------------------------- */

snapshot_finding snapshot_block_check(const snapshot_header *header, uint64_t number, const void *bytes,
                                      uint64_t checksum)
{
    snapshot_block block = snapshot_block_at(header, number);
    snapshot_finding found = {.fault = SNAPSHOT_SOUND};
    if (snapshot_checksum(bytes, block.size) != checksum) {
        found.fault = SNAPSHOT_BAD_CHECKSUM;
    } else if (block.section == SNAPSHOT_OFFSETS) {
        found = snapshot_offsets_check(header, bytes, block.start / sizeof(uint64_t), block.size / sizeof(uint64_t));
    } else if (block.section == SNAPSHOT_KEYS && !snapshot_has_strings(header)) {
        /* Now, while the block is in the cache. */
        uint64_t key_size = copse_type_size((copse_type)header->key_type);
        found = snapshot_keys_check(header, bytes, block.size / key_size);
        found.entry += block.start / key_size;
    }
    found.block = number;
    return found;
}

copse_status snapshot_checksums_check(const snapshot_source *source, const void *checksums)
{
    const snapshot_section *s = &source->header.sections[SNAPSHOT_CHECKSUMS];
    if (snapshot_checksum(checksums, (size_t)s->length) == source->header.checksums_checksum) return COPSE_OK;
    if (s->length == 0)
        return snapshot_fail_header(source, "for no checksums the checksum", source->header.checksums_checksum);
    return snapshot_fail_bytes(source, "checksums section", s->offset, s->offset + s->length - 1,
                               "their checksum does not match");
}

/* Bytes from .. to - 1, behind a section, must be zero. */
static copse_status gap_check(const snapshot_source *source, unsigned section, uint64_t from, uint64_t to)
{
    unsigned char gap[SNAPSHOT_PAGE] = {0};
    char name[48];
    copse_status status = snapshot_read_bytes(source, gap, (size_t)(to - from), from);
    for (uint64_t i = from; status == COPSE_OK && i < to; i++)
        if (gap[i - from] != 0) {
            (void)snprintf(name, sizeof name, "padding after the %s",
                           section < SNAPSHOT_SECTIONS ? snapshot_section_name(section) : "header");
            return snapshot_fail_bytes(source, name, from, to - 1, "it must be zero");
        }
    return status;
}

copse_status snapshot_gaps_check(const snapshot_source *source)
{
    uint64_t end = source->header.header_size;
    unsigned before = SNAPSHOT_SECTIONS, section;
    copse_status status = COPSE_OK;
    for (unsigned i = 0; (section = snapshot_section_in_file(&source->header, i)) < SNAPSHOT_SECTIONS; i++) {
        const snapshot_section *s = &source->header.sections[section];
        status = gap_check(source, before, end, s->offset);
        if (status != COPSE_OK) return status;
        /* A gap is named after the content in front of it. */
        if (s->length) before = section;
        end = s->offset + s->length;
    }
    return status;
}

/* --- sentences -------------------------------------------------------------------------------------------------- */

static const char *reason(const snapshot_source *source, snapshot_fault fault)
{
    if (fault == SNAPSHOT_NAN) return "its key is NaN";
    if (fault == SNAPSHOT_BAD_OFFSET) return "its offsets give no string of at most 65536 bytes behind the one before";
    if (fault == SNAPSHOT_BAD_FENCE) return "the fences have another key for it";
    return duplicates(&source->header) ? "its key is smaller than the one before"
                                       : "its key is not larger than the one before";
}

copse_status snapshot_fail_found(const snapshot_source *source, const snapshot_finding *found)
{
    snapshot_block block = snapshot_block_at(&source->header, found->block);
    uint64_t first = source->header.sections[block.section].offset + block.start;
    char section[32];
    /* The offsets lead to what is wrong with the keys. */
    const bool of_keys =
        block.section == SNAPSHOT_OFFSETS && (found->fault == SNAPSHOT_BAD_ORDER || found->fault == SNAPSHOT_BAD_FENCE);
    (void)snprintf(section, sizeof section, "%s section",
                   snapshot_section_name(of_keys ? SNAPSHOT_KEYS : block.section));
    if (found->fault == SNAPSHOT_UNREADABLE) return snapshot_fail_read(source, found->error);
    if (found->fault == SNAPSHOT_BAD_CHECKSUM)
        return snapshot_fail_bytes(source, section, first, first + block.size - 1, "their checksum does not match");
    return copse_fail(source->ctx, COPSE_ERR_FORMAT, "the snapshot '%s' is damaged: %s, entry %llu: %s",
                      snapshot_shown(source->path), section, SNAPSHOT_WHOLE(found->entry),
                      reason(source, found->fault));
}

/* --- many blocks ------------------------------------------------------------------------------------------------ */

typedef struct look_job {
    snapshot_look_fn look;
    const void *where;
    uint64_t first; /* block */
    pthread_mutex_t lock;
    snapshot_finding worst; /* of those found so far */
} look_job;

static void look_chunk(void *argument, uint64_t from, uint64_t to)
{
    look_job *job = argument;
    for (uint64_t i = job->first + from; i < job->first + to; i++) {
        snapshot_finding found = job->look(job->where, i);
        if (found.fault == SNAPSHOT_SOUND) continue;
        pthread_mutex_lock(&job->lock);
        if (job->worst.fault == SNAPSHOT_SOUND || found.block < job->worst.block) job->worst = found;
        pthread_mutex_unlock(&job->lock);
    }
}

copse_status snapshot_blocks_look(const snapshot_source *source, uint64_t first, uint64_t last, snapshot_look_fn look,
                                  const void *where)
{
    look_job job = {look, where, first, PTHREAD_MUTEX_INITIALIZER, {.fault = SNAPSHOT_SOUND}};
    uint32_t threads = snapshot_threads(source->ctx, (last - first) * source->header.block_size);
    copse_parallel(source->ctx, threads, last - first, 1, look_chunk, &job);
    pthread_mutex_destroy(&job.lock);
    return job.worst.fault == SNAPSHOT_SOUND ? COPSE_OK : snapshot_fail_found(source, &job.worst);
}
