/* Loading: the checked header says what the file has; the reader checks the checksum and the order of keys of each block of
 * entries, and then builds the tree from the sorted arrays. */
#include "core/structs.h"
#include "core/codec.h"
#include "core/threads.h"
#include "snapshot/source.h"
#include "trees/registry.h"

#include <string.h>
#include <unistd.h>

#define BLOCKS_PER_STEP   8u /* between two calls of the progress callback, at least */
#define BLOCKS_PER_THREAD 4u
#define CODES_AT_ONCE     512u

typedef struct reader {
    snapshot_source source;
    uint64_t *checksums;
    size_t checksums_size;
    char *arrays[2]; /* keys, values */
    size_t array_sizes[2];
    copse_index *index;
} reader;

/* --- what the caller asked for ---------------------------------------------------------------------------------- */

static copse_status type_check(const reader *r, const char *what, copse_type asked, uint32_t is)
{
    if (asked == 0 || (uint32_t)asked == is) return COPSE_OK;
    return copse_fail(r->source.ctx, COPSE_ERR_TYPE, "options->%s_type is %s, but the snapshot '%s' has %ss of type %s",
                      what, copse_type_name(asked), snapshot_shown(r->source.path), what,
                      copse_type_name((copse_type)is));
}

static bool structure_known(uint32_t structure)
{
    return structure != COPSE_STRUCTURE_AUTO &&
           strcmp(copse_structure_name((copse_structure)structure), "unknown") != 0;
}

/* Makes the empty index first, so that impossible options fail before the file is read. */
static copse_status index_make(reader *r, const copse_index_options *options)
{
    const snapshot_header *h = &r->source.header;
    copse_index_options o = {.duplicates = h->flags & SNAPSHOT_FLAG_DUPLICATES};
    copse_status status;
    o.struct_size = sizeof o;
    if (options &&
        (status = copse_struct_take(r->source.ctx, "copse_load", "options", options, &o, sizeof o)) != COPSE_OK)
        return status;
    if ((status = type_check(r, "key", o.key_type, h->key_type)) != COPSE_OK) return status;
    if ((status = type_check(r, "value", o.value_type, h->value_type)) != COPSE_OK) return status;
    if (h->flags & SNAPSHOT_FLAG_DUPLICATES && !o.duplicates)
        return copse_fail(r->source.ctx, COPSE_ERR_ARGUMENT,
                          "options->duplicates is 0, but the snapshot '%s' keeps entries with equal keys: set it to 1",
                          snapshot_shown(r->source.path));
    o.key_type = (copse_type)h->key_type;
    o.value_type = (copse_type)h->value_type;
    if (o.structure == COPSE_STRUCTURE_AUTO) {
        if (!structure_known(h->structure))
            return copse_fail(
                r->source.ctx, COPSE_ERR_VERSION,
                "the snapshot '%s' is of structure %u, which copse %s does not know; options->structure can "
                "name another to load it into",
                snapshot_shown(r->source.path), h->structure, COPSE_VERSION);
        o.structure = (copse_structure)h->structure;
        if (o.placement != COPSE_PLACEMENT_AUTO && (unsigned)o.placement <= COPSE_PLACEMENT_EMULATED)
            o.structure = copse_registry_nearest(o.structure, o.placement);
    }
    return copse_index_create(r->source.ctx, &o, &r->index);
}

/* --- content ---------------------------------------------------------------------------------------------------- */

static copse_status checksums_read(reader *r)
{
    const snapshot_section *s = &r->source.header.sections[SNAPSHOT_CHECKSUMS];
    r->checksums_size =
        (size_t)s->length + sizeof(uint64_t); /* an allocator may answer NULL to a request for nothing */
    r->checksums = copse_memory_alloc(r->source.ctx, r->checksums_size);
    if (!r->checksums) return copse_fail_memory(r->source.ctx, r->checksums_size, "the checksums of the snapshot");
    copse_status status = snapshot_read_bytes(&r->source, r->checksums, (size_t)s->length, s->offset);
    if (status != COPSE_OK) return status;
    if (snapshot_checksum(r->checksums, (size_t)s->length) != r->source.header.checksums_checksum) {
        if (s->length == 0)
            return snapshot_fail_header(&r->source, "for no checksums the checksum",
                                        r->source.header.checksums_checksum);
        return snapshot_fail_bytes(&r->source, "checksums section", s->offset, s->offset + s->length - 1,
                                   "their checksum does not match");
    }
    return COPSE_OK;
}

/* The gap behind a section must be zero, up to the next section. */
static copse_status padding_check(const reader *r, unsigned section)
{
    const snapshot_section *s = &r->source.header.sections[section];
    uint64_t from = s->offset + s->length, to = s[1].offset;
    unsigned char gap[SNAPSHOT_ALIGNMENT] = {0};
    copse_status status = snapshot_read_bytes(&r->source, gap, (size_t)(to - from), from);
    for (uint64_t i = from; status == COPSE_OK && i < to; i++)
        if (gap[i - from] != 0)
            return snapshot_fail_bytes(&r->source,
                                       section == SNAPSHOT_KEYS ? "padding after the keys" : "padding after the values",
                                       from, to - 1, "it must be zero");
    return status;
}

typedef enum fault { FAULT_NONE, FAULT_READ, FAULT_CHECKSUM, FAULT_NAN, FAULT_ORDER } fault;

/* The first fault among blocks that several threads check: the one in the block with the lowest number. */
typedef struct finding {
    fault fault;
    uint64_t block;
    uint64_t entry; /* FAULT_NAN, FAULT_ORDER */
    int error;      /* FAULT_READ */
} finding;

/* Codes of n keys as 64-bit numbers. Returns n or the first NaN. */
static uint32_t codes_of(copse_type type, const void *keys, uint64_t first, uint32_t n, uint64_t *codes)
{
    uint32_t codes32[CODES_AT_ONCE], good;
    if (copse_type_size(type) == 8) return copse_encode_k64(type, keys, first, n, codes);
    good = copse_encode_k32(type, keys, first, n, codes32);
    for (uint32_t i = 0; i < good; i++) codes[i] = codes32[i];
    return good;
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

/* Checks keys first .. last - 1; borders_check does the pair across the start of a block. */
static finding keys_check(const reader *r, uint64_t first, uint64_t last)
{
    copse_type type = (copse_type)r->source.header.key_type;
    bool equal_allowed = r->source.header.flags & SNAPSHOT_FLAG_DUPLICATES;
    uint64_t codes[1 + CODES_AT_ONCE];
    for (uint64_t at = first; at < last; at += CODES_AT_ONCE) {
        uint32_t n = (uint32_t)(last - at < CODES_AT_ONCE ? last - at : CODES_AT_ONCE);
        uint32_t good = codes_of(type, r->arrays[0], at, n, codes + 1);
        if (good < n) return (finding){.fault = FAULT_NAN, .entry = at + good};
        uint32_t before = at == first ? 0 : 1; /* 1: codes[0] is the last key of the round before */
        uint32_t sorted = order_check(codes + 1 - before, n + before, equal_allowed);
        if (sorted < n + before) return (finding){.fault = FAULT_ORDER, .entry = at + sorted - before};
        codes[0] = codes[n];
    }
    return (finding){.fault = FAULT_NONE};
}

static finding block_read(const reader *r, uint64_t number)
{
    snapshot_block block = snapshot_block_at(&r->source.header, number);
    char *to = r->arrays[block.section] + block.start;
    finding f = {.fault = FAULT_NONE};
    int error =
        snapshot_read_all(&r->source, to, block.size, r->source.header.sections[block.section].offset + block.start);
    if (error) {
        f = (finding){.fault = FAULT_READ, .error = error};
    } else if (snapshot_checksum(to, block.size) != r->checksums[number]) {
        f = (finding){.fault = FAULT_CHECKSUM};
    } else if (block.section == SNAPSHOT_KEYS) {
        /* Now, while the block is in the cache. */
        uint64_t key_size = copse_type_size((copse_type)r->source.header.key_type);
        f = keys_check(r, block.start / key_size, (block.start + block.size) / key_size);
    }
    f.block = number;
    return f;
}

static copse_status fail_found(const reader *r, const finding *f)
{
    snapshot_block block = snapshot_block_at(&r->source.header, f->block);
    const char *section = block.section == SNAPSHOT_KEYS ? "keys section" : "values section";
    uint64_t first = r->source.header.sections[block.section].offset + block.start;
    if (f->fault == FAULT_READ) return snapshot_fail_read(&r->source, f->error);
    if (f->fault == FAULT_CHECKSUM)
        return snapshot_fail_bytes(&r->source, section, first, first + block.size - 1, "their checksum does not match");
    return copse_fail(r->source.ctx, COPSE_ERR_FORMAT, "the snapshot '%s' is damaged: %s, entry %llu: %s",
                      snapshot_shown(r->source.path), section, SNAPSHOT_WHOLE(f->entry),
                      f->fault == FAULT_NAN ? "its key is NaN"
                      : r->source.header.flags & SNAPSHOT_FLAG_DUPLICATES
                          ? "its key is smaller than the one before"
                          : "its key is not larger than the one before");
}

typedef struct read_job {
    const reader *r;
    uint64_t first; /* block */
    pthread_mutex_t lock;
    finding worst; /* of those found so far */
} read_job;

static void read_part(void *argument, uint64_t from_block, uint64_t to_block)
{
    read_job *job = argument;
    for (uint64_t i = job->first + from_block; i < job->first + to_block; i++) {
        finding f = block_read(job->r, i);
        if (f.fault == FAULT_NONE) continue;
        pthread_mutex_lock(&job->lock);
        if (job->worst.fault == FAULT_NONE || f.block < job->worst.block) job->worst = f;
        pthread_mutex_unlock(&job->lock);
    }
}

/* Reads blocks first .. last - 1 on all threads. */
static copse_status step_read(const reader *r, uint64_t first, uint64_t last)
{
    read_job job = {r, first, PTHREAD_MUTEX_INITIALIZER, {.fault = FAULT_NONE}};
    uint32_t threads = snapshot_threads(r->source.ctx, &r->source.header, last - first);
    copse_parallel(r->source.ctx, threads, last - first, 1, read_part, &job);
    pthread_mutex_destroy(&job.lock);
    return job.worst.fault == FAULT_NONE ? COPSE_OK : fail_found(r, &job.worst);
}

/* The keys at both sides of each border between blocks, which blocks read at the same time cannot compare. */
static copse_status borders_check(const reader *r)
{
    uint64_t per_block = SNAPSHOT_BLOCK / copse_type_size((copse_type)r->source.header.key_type);
    bool equal_allowed = r->source.header.flags & SNAPSHOT_FLAG_DUPLICATES;
    for (uint64_t entry = per_block; entry < r->source.header.entries; entry += per_block) {
        uint64_t codes[2] = {0, 0};
        codes_of((copse_type)r->source.header.key_type, r->arrays[0], entry - 1, 2, codes);
        if (order_check(codes, 2, equal_allowed) < 2)
            return fail_found(r, &(finding){.fault = FAULT_ORDER, .block = entry / per_block, .entry = entry});
    }
    return COPSE_OK;
}

static copse_status arrays_read(reader *r)
{
    uint64_t blocks = snapshot_block_count(&r->source.header), last;
    uint64_t step = (uint64_t)r->source.ctx->threads * BLOCKS_PER_THREAD;
    if (step < BLOCKS_PER_STEP) step = BLOCKS_PER_STEP;
    for (int i = 0; i < 2; i++) {
        r->array_sizes[i] = (size_t)r->source.header.sections[i].length;
        if (!(r->arrays[i] = copse_memory_alloc(r->source.ctx, r->array_sizes[i])))
            return copse_fail_memory(r->source.ctx, r->array_sizes[i], "loading the snapshot");
    }
    for (uint64_t first = 0; first < blocks; first = last) {
        last = blocks - first < step ? blocks : first + step;
        copse_status status = step_read(r, first, last);
        if (status == COPSE_OK) status = copse_progress(r->source.ctx, "loading", last, blocks);
        if (status != COPSE_OK) return status;
    }
    return borders_check(r);
}

static copse_status content_read(reader *r)
{
    copse_status status = checksums_read(r);
    if (status == COPSE_OK) status = padding_check(r, SNAPSHOT_KEYS);
    if (status == COPSE_OK) status = padding_check(r, SNAPSHOT_VALUES);
    if (status != COPSE_OK || r->source.header.entries == 0) return status;
    if ((status = arrays_read(r)) != COPSE_OK) return status;
    /* Not through copse_build: the arrays are host memory, whatever the caller promised of its own. */
    status = r->index->calls->build(r->index, r->arrays[0], r->arrays[1], r->source.header.entries);
    if (status == COPSE_OK) copse_version_advance(r->index);
    return status;
}

static void reader_close(reader *r)
{
    for (int i = 0; i < 2; i++) copse_memory_free(r->source.ctx, r->arrays[i], r->array_sizes[i]);
    copse_memory_free(r->source.ctx, r->checksums, r->checksums_size);
    if (r->source.file >= 0) close(r->source.file);
}

copse_status copse_load(copse_ctx *ctx, const char *path, const copse_index_options *options, copse_index **out_index)
{
    if (!ctx || !path || !out_index)
        return copse_fail(ctx, COPSE_ERR_ARGUMENT, "copse_load: %s is NULL",
                          !ctx    ? "ctx"
                          : !path ? "path"
                                  : "out_index");
    *out_index = NULL;
    copse_index_options seen; /* what is wrong with the options is said before the file is looked at */
    if (options && copse_struct_take(ctx, "copse_load", "options", options, &seen, sizeof seen) != COPSE_OK)
        return COPSE_ERR_ARGUMENT;
    reader r = {.source = {.ctx = ctx, .path = path, .file = -1}};
    copse_status status = snapshot_open(&r.source);
    if (status == COPSE_OK) status = snapshot_header_read(&r.source);
    if (status == COPSE_OK) status = index_make(&r, options);
    if (status == COPSE_OK) status = content_read(&r);
    if (status == COPSE_OK)
        *out_index = r.index;
    else
        copse_index_free(r.index);
    reader_close(&r);
    return status;
}
