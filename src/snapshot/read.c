/* Loading: the checked header says what the file has; the reader checks the checksum and the order of keys of each block of
 * entries, and then builds the tree from the sorted arrays. */
#include "snapshot/check.h"
#include "snapshot/options.h"
#include "trees/registry.h"

#include <string.h>
#include <unistd.h>

/* Between two calls of the progress callback, at least, and for each thread. */
#define BYTES_PER_STEP   (UINT64_C(8) << 20)
#define BYTES_PER_THREAD (UINT64_C(4) << 20)

typedef struct reader {
    snapshot_source source;
    uint64_t *checksums;
    size_t checksums_size;
    char *arrays[SNAPSHOT_SECTIONS]; /* keys, values, fences, offsets */
    size_t array_sizes[SNAPSHOT_SECTIONS];
    copse_index *index;
} reader;

/* --- what the caller asked for ---------------------------------------------------------------------------------- */

static bool structure_known(uint32_t structure)
{
    return structure != COPSE_STRUCTURE_AUTO &&
           strcmp(copse_structure_name((copse_structure)structure), "unknown") != 0;
}

/* The tree that the file names, or its counterpart at the placement that the caller asks for. AUTO where that one cannot hold what the
 * file has: a copse with more trees wrote it, or somebody who forges files, and its entries are sound all the same. */
static copse_structure structure_for(const snapshot_header *h, const copse_index_options *o)
{
    const bool strings = o->key_type == COPSE_BYTES;
    const bool placed =
        o->placement != COPSE_PLACEMENT_AUTO && (unsigned)o->placement <= COPSE_PLACEMENT_HYBRID_EMULATED;
    const copse_placement at = placed && !strings ? o->placement : COPSE_PLACEMENT_CPU;
    const copse_structure named = (copse_structure)h->structure;
    /* No tree of byte strings has a counterpart for other keys. */
    const bool moves = !strings && copse_registry_takes(named, o->key_type);
    const copse_structure there = moves ? copse_registry_nearest(named, at) : named;
    if (!copse_supports(there, at, o->key_type, o->duplicates ? COPSE_CAN_KEEP_DUPLICATES : COPSE_CAN_EXIST))
        return COPSE_STRUCTURE_AUTO;
    return placed ? there : named;
}

/* Makes the empty index first, so that impossible options fail before the file is read. */
static copse_status index_make(reader *r, const copse_index_options *options)
{
    const snapshot_header *h = &r->source.header;
    copse_index_options o;
    copse_status status = snapshot_options_take(&r->source, options, &o);
    if (status != COPSE_OK) return status;
    if (o.structure == COPSE_STRUCTURE_AUTO) {
        if (!structure_known(h->structure))
            return copse_fail(
                r->source.ctx, COPSE_ERR_VERSION,
                "the snapshot '%s' is of structure %u, which copse %s does not know; options->structure can "
                "name another to load it into",
                snapshot_shown(r->source.path), h->structure, COPSE_VERSION);
        o.structure = structure_for(h, &o);
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
    return status == COPSE_OK ? snapshot_checksums_check(&r->source, r->checksums) : status;
}

static snapshot_finding block_read(const void *where, uint64_t number)
{
    const reader *r = where;
    const snapshot_header *h = &r->source.header;
    snapshot_block block = snapshot_block_at(h, number);
    char *to = r->arrays[block.section] + block.start;
    int error = snapshot_read_all(&r->source, to, block.size, h->sections[block.section].offset + block.start);
    if (error) return (snapshot_finding){.fault = SNAPSHOT_UNREADABLE, .block = number, .error = error};
    return snapshot_block_check(h, number, to, r->checksums[number]);
}

/* The keys (of fixed width) at both sides of each border between blocks, which blocks read at the same time cannot compare, and the fences, which
 * repeat the first key of each. */
static copse_status borders_check(const reader *r)
{
    const snapshot_header *h = &r->source.header;
    const uint64_t per_block = snapshot_keys_per_fence(h), key_size = copse_type_size((copse_type)h->key_type);
    for (uint64_t block = 0; block * per_block < h->entries; block++) {
        const char *first = r->arrays[SNAPSHOT_KEYS] + block * per_block * key_size;
        const char *fence = r->arrays[SNAPSHOT_FENCES] ? r->arrays[SNAPSHOT_FENCES] + block * key_size : first;
        snapshot_finding found = {.block = block, .entry = block * per_block};
        if (block && !snapshot_in_order(h, first - key_size, first)) found.fault = SNAPSHOT_BAD_ORDER;
        if (found.fault == SNAPSHOT_SOUND && !snapshot_same_key(h, first, fence)) found.fault = SNAPSHOT_BAD_FENCE;
        if (found.fault != SNAPSHOT_SOUND) return snapshot_fail_found(&r->source, &found);
    }
    return COPSE_OK;
}

static copse_status arrays_allocate(reader *r)
{
    for (unsigned i = 0; i < SNAPSHOT_SECTIONS; i++) {
        if (i == SNAPSHOT_CHECKSUMS || r->source.header.sections[i].length == 0) continue;
        r->array_sizes[i] = (size_t)r->source.header.sections[i].length;
        if (!(r->arrays[i] = copse_memory_alloc(r->source.ctx, r->array_sizes[i])))
            return copse_fail_memory(r->source.ctx, r->array_sizes[i], "loading the snapshot");
    }
    return COPSE_OK;
}

static copse_status arrays_read(reader *r)
{
    const snapshot_header *h = &r->source.header;
    uint64_t blocks = snapshot_block_count(h), last, step = r->source.ctx->threads * BYTES_PER_THREAD;
    if (step < BYTES_PER_STEP) step = BYTES_PER_STEP;
    step /= h->block_size;
    copse_status status = arrays_allocate(r);
    if (status != COPSE_OK) return status;
    for (uint64_t first = 0; first < blocks; first = last) {
        last = blocks - first < step ? blocks : first + step;
        status = snapshot_blocks_look(&r->source, first, last, block_read, r);
        if (status == COPSE_OK) status = copse_progress(r->source.ctx, "loading", last, blocks);
        if (status != COPSE_OK) return status;
    }
    if (!snapshot_has_strings(h)) return borders_check(r);
    const snapshot_strings strings = {.offsets = (const uint64_t *)(const void *)r->arrays[SNAPSHOT_OFFSETS],
                                      .data = (const unsigned char *)r->arrays[SNAPSHOT_KEYS],
                                      .fences = (const uint64_t *)(const void *)r->arrays[SNAPSHOT_FENCES]};
    return snapshot_strings_check(&r->source, &strings);
}

static copse_status content_read(reader *r)
{
    copse_status status = checksums_read(r);
    if (status == COPSE_OK) status = snapshot_gaps_check(&r->source);
    if (status != COPSE_OK || r->source.header.entries == 0) return status;
    if ((status = arrays_read(r)) != COPSE_OK) return status;
    const copse_bytes strings =
        COPSE_BYTES_INIT(r->arrays[SNAPSHOT_KEYS], r->array_sizes[SNAPSHOT_KEYS], r->arrays[SNAPSHOT_OFFSETS], 64);
    const void *keys = snapshot_has_strings(&r->source.header) ? (const void *)&strings : r->arrays[SNAPSHOT_KEYS];
    /* Not through copse_build: the arrays are host memory, whatever the caller promised of its own. */
    status = r->index->calls->build(r->index, keys, r->arrays[SNAPSHOT_VALUES], r->source.header.entries);
    if (status == COPSE_OK) copse_version_advance(r->index);
    return status;
}

static void reader_close(reader *r)
{
    for (unsigned i = 0; i < SNAPSHOT_SECTIONS; i++) copse_memory_free(r->source.ctx, r->arrays[i], r->array_sizes[i]);
    copse_memory_free(r->source.ctx, r->checksums, r->checksums_size);
    if (r->source.file >= 0) close(r->source.file);
}

/* The source is open, or open says why not. */
static copse_status load(reader *r, copse_status opened, const copse_index_options *options, copse_index **out_index)
{
    copse_status status = opened;
    if (status == COPSE_OK) status = snapshot_header_read(&r->source);
    if (status == COPSE_OK) status = index_make(r, options);
    if (status == COPSE_OK) status = content_read(r);
    if (status == COPSE_OK)
        *out_index = r->index;
    else
        copse_index_free(r->index);
    reader_close(r);
    return status;
}

copse_status copse_load(copse_ctx *ctx, const char *path, const copse_index_options *options, copse_index **out_index)
{
    copse_status status = snapshot_arguments_check(ctx, "copse_load", path, "path", options, out_index);
    if (status != COPSE_OK) return status;
    reader r = {.source = {.ctx = ctx, .path = path, .file = -1}};
    return load(&r, snapshot_open(&r.source), options, out_index);
}

copse_status copse_load_memory(copse_ctx *ctx, const void *bytes, uint64_t size, const copse_index_options *options,
                               copse_index **out_index)
{
    copse_status status = snapshot_arguments_check(ctx, "copse_load_memory", bytes, "bytes", options, out_index);
    if (status != COPSE_OK) return status;
    reader r = {.source = {.ctx = ctx, .path = "in memory", .bytes = bytes, .file = -1, .size = size}};
    return load(&r, COPSE_OK, options, out_index);
}
