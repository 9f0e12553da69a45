/* A mapped snapshot: opening it, checking its blocks, and the calls of an index that reads it. */
#include "snapshot/mapped.h"

#include "core/handle.h"
#include "core/widths.h"
#include "cpu/driver.h"
#include "snapshot/options.h"
#include "trees/registry.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

COPSE_DECLARE_WIDTHS(const copse_cpu_tree, copse_snapshot_mapped);

/* Between two calls of the progress callback of copse_verify. */
#define BLOCKS_PER_STEP 1024u

/* --- blocks ----------------------------------------------------------------------------------------------------- */

static const char *block_bytes(const snapshot_mapped *file, uint64_t number)
{
    snapshot_block block = snapshot_block_at(&file->source.header, number);
    return file->source.bytes + file->source.header.sections[block.section].offset + block.start;
}

/* The fences of a block of keys, and of the one behind it, against its first and its last key: neighbours need not be read. */
static snapshot_fault fences_compare(const snapshot_mapped *file, uint64_t number)
{
    const snapshot_header *h = &file->source.header;
    const uint64_t key_size = copse_type_size((copse_type)h->key_type);
    const char *first = block_bytes(file, number), *fence = file->fences + number * key_size;
    if (!snapshot_same_key(h, first, fence)) return SNAPSHOT_BAD_FENCE;
    if (number + 1 == file->key_blocks) return SNAPSHOT_SOUND;
    const char *last = first + snapshot_block_at(h, number).size - key_size;
    return snapshot_in_order(h, last, fence + key_size) ? SNAPSHOT_SOUND : SNAPSHOT_BAD_ORDER;
}

static snapshot_finding block_check(const void *where, uint64_t number)
{
    const snapshot_mapped *file = where;
    const snapshot_header *h = &file->source.header;
    snapshot_finding found = snapshot_block_check(h, number, block_bytes(file, number), file->checksums[number]);
    if (found.fault != SNAPSHOT_SOUND) return found;
    if (number >= file->offset_block) return snapshot_group_check(file, number);
    if (number >= file->key_blocks || snapshot_has_strings(h)) return found;
    found.fault = fences_compare(file, number);
    found.entry = (number + (found.fault == SNAPSHOT_BAD_ORDER)) * snapshot_keys_per_fence(h);
    return found;
}

/* Keeps the first of the damaged blocks that a call meets, whichever thread is faster. */
void snapshot_damage_note(snapshot_call *call, uint64_t block)
{
    uint64_t noted = atomic_load(&call->damaged);
    while ((noted == 0 || block + 1 < noted) && !atomic_compare_exchange_weak(&call->damaged, &noted, block + 1)) {
    }
}

bool snapshot_touch_first(snapshot_call *call, uint64_t block)
{
    snapshot_state *state = &call->file->states[block];
    unsigned char is = atomic_load_explicit(state, memory_order_acquire);
    if (is == SNAPSHOT_UNCHECKED && block >= call->file->offset_block && !snapshot_group_touch(call, block))
        return false;
    if (is == SNAPSHOT_UNCHECKED) {
        /* Two threads may both do it, and find the same. */
        is = block_check(call->file, block).fault == SNAPSHOT_SOUND ? SNAPSHOT_GOOD : SNAPSHOT_DAMAGED;
        atomic_store_explicit(state, is, memory_order_release);
    }
    if (is == SNAPSHOT_DAMAGED) snapshot_damage_note(call, block);
    return is == SNAPSHOT_GOOD;
}

/* --- calls ------------------------------------------------------------------------------------------------------ */

/* Each call has a handle of its own, so that the damage that it meets is not taken for that of another thread's. */
typedef struct own_handle {
    copse_index index;
    snapshot_call call;
} own_handle;

static void own_begin(own_handle *own, const copse_index *index)
{
    own->call.strings = ((const snapshot_call *)index->tree)->strings;
    own->call.file = ((const snapshot_call *)index->tree)->file;
    atomic_init(&own->call.damaged, 0);
    own->index = copse_index_handle(index);
    own->index.tree = &own->call;
}

/* Damage comes before what the call itself says: that may follow from it. */
static copse_status own_end(own_handle *own, copse_status status)
{
    const uint64_t damaged = atomic_load(&own->call.damaged);
    if (damaged == 0) return status;
    snapshot_finding found = block_check(own->call.file, damaged - 1);
    if (found.fault == SNAPSHOT_SOUND && damaged - 1 >= own->call.file->offset_block)
        found = snapshot_border_check(own->call.file, damaged - 1);
    if (found.fault == SNAPSHOT_SOUND) found.fault = SNAPSHOT_BAD_CHECKSUM; /* somebody changes the file just now */
    return snapshot_fail_found(&own->call.file->source, &found);
}

/* Byte strings are read by the calls of the sorted array, all others by the CPU driver. */
#define CALL_FOR(index, call) ((index)->key_type == COPSE_BYTES ? copse_sorted_bytes_##call : copse_cpu_##call)

static copse_status mapped_find(const copse_index *index, const void *keys, uint64_t n, void *values, uint8_t *found)
{
    own_handle own;
    own_begin(&own, index);
    return own_end(&own, CALL_FOR(index, find)(&own.index, keys, n, values, found));
}

static copse_status mapped_neighbours(const copse_index *index, const void *keys, uint64_t n, copse_neighbour which,
                                      void *out_keys, void *out_values, uint8_t *out_found, uint64_t *out_ranks)
{
    own_handle own;
    own_begin(&own, index);
    return own_end(&own,
                   CALL_FOR(index, neighbours)(&own.index, keys, n, which, out_keys, out_values, out_found, out_ranks));
}

static copse_status mapped_select(const copse_index *index, const uint64_t *ranks, uint64_t n, void *keys, void *values,
                                  uint8_t *found)
{
    own_handle own;
    own_begin(&own, index);
    return own_end(&own, CALL_FOR(index, select)(&own.index, ranks, n, keys, values, found));
}

static copse_status mapped_count(const copse_index *index, const copse_ranges *ranges, uint64_t *counts)
{
    own_handle own;
    own_begin(&own, index);
    return own_end(&own, CALL_FOR(index, count)(&own.index, ranges, counts));
}

static copse_status mapped_range(const copse_index *index, const copse_ranges *ranges, const copse_rows *rows)
{
    own_handle own;
    own_begin(&own, index);
    return own_end(&own, CALL_FOR(index, range)(&own.index, ranges, rows));
}

static copse_status mapped_aggregate(const copse_index *index, copse_aggregate_kind kind, const copse_ranges *ranges,
                                     void *out, uint8_t *found)
{
    own_handle own;
    own_begin(&own, index);
    return own_end(&own, CALL_FOR(index, aggregate)(&own.index, kind, ranges, out, found));
}

static copse_status mapped_scan(const copse_index *index, copse_scan *scan)
{
    own_handle own;
    own_begin(&own, index);
    const struct copse_scan_position before = scan->position;
    copse_status status = own_end(&own, CALL_FOR(index, scan)(&own.index, scan));
    if (status != COPSE_OK) scan->position = before;
    return status;
}

static uint64_t mapped_size(const copse_index *index)
{
    return ((const snapshot_call *)index->tree)->file->source.header.entries;
}

/* The pages of the file are the system's; bytes are what the handle holds besides. */
static void mapped_stats(const copse_index *index, copse_stats *out)
{
    const snapshot_mapped *file = ((const snapshot_call *)index->tree)->file;
    const snapshot_header *h = &file->source.header;
    out->entries = h->entries;
    out->bytes = sizeof *file + sizeof(snapshot_call) + file->path_size + file->states_size;
    out->height = h->entries == 0 ? 0 : snapshot_fence_count(h) > 1 ? 2 : 1;
    out->fill = h->entries ? 1.0 : 0.0;
    out->saved_structure = h->structure;
}

/* --- verify ----------------------------------------------------------------------------------------------------- */

/* Looks at all of the file again, whatever was found before. */
static copse_status mapped_verify(const copse_index *index)
{
    const snapshot_mapped *file = ((const snapshot_call *)index->tree)->file;
    const uint64_t blocks = file->states_size / sizeof *file->states - 1;
    uint64_t last;
    copse_status status = snapshot_checksums_check(&file->source, file->checksums);
    if (status == COPSE_OK) status = snapshot_gaps_check(&file->source);
    if (status == COPSE_OK) status = copse_progress(index->ctx, "verifying", 0, blocks);
    for (uint64_t first = 0; status == COPSE_OK && first < blocks; first = last) {
        last = blocks - first < BLOCKS_PER_STEP ? blocks : first + BLOCKS_PER_STEP;
        status = snapshot_blocks_look(&file->source, first, last, block_check, file);
        if (status == COPSE_OK) status = copse_progress(index->ctx, "verifying", last, blocks);
    }
    if (status != COPSE_OK || file->source.header.key_type != COPSE_BYTES) return status;
    const snapshot_strings strings = {.offsets = file->offsets,
                                      .data = (const unsigned char *)file->keys,
                                      .fences = (const uint64_t *)(const void *)file->fences};
    return snapshot_strings_check(&file->source, &strings);
}

/* --- life ------------------------------------------------------------------------------------------------------- */

static void file_free(const copse_ctx *ctx, snapshot_mapped *file)
{
    if (!file) return;
    if (file->source.bytes && !file->source.is_part)
        munmap((void *)(uintptr_t)file->source.bytes, (size_t)file->source.size);
    copse_memory_free(ctx, file->states, file->states_size);
    copse_memory_free(ctx, file->path, file->path_size);
    copse_memory_free(ctx, file, sizeof *file);
}

static void mapped_destroy(copse_index *index)
{
    snapshot_call *call = index->tree;
    file_free(index->ctx, call->file);
    copse_memory_free(index->ctx, call, sizeof *call);
}

/* An open file is never changed: the calls that would are refused before they come here. */
static const copse_calls mapped_calls = {
    .destroy = mapped_destroy,
    .find = mapped_find,
    .neighbours = mapped_neighbours,
    .select = mapped_select,
    .count = mapped_count,
    .range = mapped_range,
    .aggregate = mapped_aggregate,
    .scan = mapped_scan,
    .scan_step = 4096,
    .size = mapped_size,
    .stats = mapped_stats,
    .verify = mapped_verify,
};

/* The parts that every lookup needs: the checksums, and the fences, whose order is what searches rely on. */
static copse_status tables_check(const snapshot_mapped *file)
{
    const snapshot_header *h = &file->source.header;
    copse_status status = snapshot_checksums_check(&file->source, file->checksums);
    const uint64_t first = snapshot_first_block(h, SNAPSHOT_FENCES);
    const uint64_t blocks = snapshot_blocks(h, h->sections[SNAPSHOT_FENCES].length);
    for (uint64_t i = first; status == COPSE_OK && i < first + blocks; i++) {
        snapshot_finding found = snapshot_block_check(h, i, block_bytes(file, i), file->checksums[i]);
        if (found.fault != SNAPSHOT_SOUND) status = snapshot_fail_found(&file->source, &found);
    }
    if (status != COPSE_OK) return status;
    snapshot_finding found = snapshot_fences_check(h, file->fences);
    found.block = first;
    return found.fault == SNAPSHOT_SOUND ? COPSE_OK : snapshot_fail_found(&file->source, &found);
}

/* Maps the file of a source whose header has been read. */
static copse_status file_map(const snapshot_source *source, snapshot_mapped *file)
{
    const snapshot_header *h = &source->header;
    const uint64_t blocks = snapshot_block_count(h);
    file->source = *source;
    file->path_size = strlen(source->path) + 1;
    file->states_size = (size_t)(blocks + 1) * sizeof *file->states; /* never a request for nothing */
    if (!(file->path = copse_memory_alloc(source->ctx, file->path_size)) ||
        !(file->states = copse_memory_alloc(source->ctx, file->states_size)))
        return copse_fail_memory(source->ctx, file->path_size + file->states_size, "the open snapshot");
    memcpy(file->path, source->path, file->path_size);
    for (uint64_t i = 0; i <= blocks; i++) atomic_init(&file->states[i], SNAPSHOT_UNCHECKED);
    file->source.path = file->path;
    file->source.file = -1;
    if (source->size > SIZE_MAX) return snapshot_fail_io(source, "cannot map it", EFBIG);
    if (!source->is_part) {
        void *bytes = mmap(NULL, (size_t)source->size, PROT_READ, MAP_SHARED, source->file, 0);
        if (bytes == MAP_FAILED) return snapshot_fail_io(source, "cannot map it", errno);
        file->source.bytes = bytes;
    }
    file->checksums = (const uint64_t *)(const void *)(file->source.bytes + h->sections[SNAPSHOT_CHECKSUMS].offset);
    file->fences = file->source.bytes + h->sections[SNAPSHOT_FENCES].offset;
    file->keys = file->source.bytes + h->sections[SNAPSHOT_KEYS].offset;
    file->values = file->source.bytes + h->sections[SNAPSHOT_VALUES].offset;
    file->offsets = (const uint64_t *)(const void *)(file->source.bytes + h->sections[SNAPSHOT_OFFSETS].offset);
    file->key_blocks = snapshot_blocks(h, h->sections[SNAPSHOT_KEYS].length);
    file->offset_block = snapshot_first_block(h, SNAPSHOT_OFFSETS);
    return tables_check(file);
}

/* The tree that an open file is read like. */
static copse_structure structure_of(const snapshot_header *header)
{
    return snapshot_has_strings(header) ? COPSE_STRUCTURE_SORTED : COPSE_STRUCTURE_IMPLICIT;
}

/* The file as the sorted array of byte strings sees it, which never writes to it. */
static copse_sorted_bytes strings_view(const snapshot_mapped *file)
{
    return (copse_sorted_bytes){.entries = file->source.header.entries,
                                .offsets = (uint64_t *)(uintptr_t)file->offsets,
                                .values = (void *)(uintptr_t)file->values,
                                .data = (unsigned char *)(uintptr_t)file->keys,
                                .file = &snapshot_strings_file};
}

static copse_status options_check(const snapshot_source *source, const copse_index_options *options,
                                  copse_index_options *out)
{
    copse_status status = snapshot_options_take(source, options, out);
    if (status != COPSE_OK) return status;
    if (source->header.version == 1)
        return copse_fail(
            source->ctx, COPSE_ERR_UNSUPPORTED,
            "copse_open: the snapshot '%s' has format version 1, which cannot be read in place; copse_load "
            "reads it, and copse_save then writes version %u",
            snapshot_shown(source->path), SNAPSHOT_VERSION);
    if (out->placement != COPSE_PLACEMENT_AUTO && out->placement != COPSE_PLACEMENT_CPU)
        return copse_fail(source->ctx, COPSE_ERR_UNSUPPORTED,
                          "copse_open: options->placement is %s, but the CPU reads an open file; copse_load takes it "
                          "elsewhere",
                          copse_placement_name(out->placement));
    const copse_structure read_as = structure_of(&source->header);
    if (out->structure != COPSE_STRUCTURE_AUTO && out->structure != read_as)
        return copse_fail(source->ctx, COPSE_ERR_UNSUPPORTED,
                          "copse_open: options->structure is %s, but an open file%s is read as the %s tree is; "
                          "copse_load makes any tree of it",
                          copse_structure_name(out->structure),
                          snapshot_has_strings(&source->header) ? " of byte strings" : "",
                          copse_structure_name(read_as));
    return COPSE_OK;
}

/* The handle; takes over the file, also where it fails. */
static copse_status index_make(copse_ctx *ctx, snapshot_mapped *file, const copse_index_options *o, copse_index **out)
{
    static const void *const by_width[] = COPSE_WIDTH_ROW(copse_snapshot_mapped);
    const unsigned widths = copse_width_pair(copse_type_size(o->key_type), copse_value_width(o->value_type));
    copse_index *index = copse_memory_alloc(ctx, sizeof *index);
    snapshot_call *call = copse_memory_alloc(ctx, sizeof *call);
    if (!index || !call) {
        copse_memory_free(ctx, index, sizeof *index);
        copse_memory_free(ctx, call, sizeof *call);
        file_free(ctx, file);
        return copse_fail_memory(ctx, sizeof *index + sizeof *call, "the index");
    }
    call->strings = strings_view(file);
    call->file = file;
    atomic_init(&call->damaged, 0);
    *index = (copse_index){.ctx = ctx,
                           .key_type = o->key_type,
                           .value_type = o->value_type,
                           .duplicates = o->duplicates,
                           .description = copse_registry_find(structure_of(&file->source.header)),
                           .placement = COPSE_PLACEMENT_CPU,
                           .calls = &mapped_calls,
                           .by_width = o->key_type == COPSE_BYTES ? NULL : by_width[widths],
                           .placement_why = "an open file, which the CPU reads where it lies",
                           .read_only = "an open file",
                           .tree = call};
    index->references = 1;
    index->version = &index->own_version;
    copse_ctx_hold(ctx);
    *out = index;
    return COPSE_OK;
}

/* Opens the file of a source, or what it has in memory; on failure *out is NULL. */
static copse_status open_source(snapshot_source *source, const copse_index_options *options, copse_index **out)
{
    copse_index_options o;
    copse_status status = source->is_part ? COPSE_OK : snapshot_open(source);
    if (status == COPSE_OK) status = snapshot_header_read(source);
    if (status == COPSE_OK) status = options_check(source, options, &o);
    if (status != COPSE_OK) return status;
    snapshot_mapped *file = copse_memory_alloc(source->ctx, sizeof *file);
    if (!file) return copse_fail_memory(source->ctx, sizeof *file, "the open snapshot");
    memset(file, 0, sizeof *file);
    status = file_map(source, file);
    if (status == COPSE_OK) return index_make(source->ctx, file, &o, out);
    file_free(source->ctx, file);
    return status;
}

copse_status copse_open(copse_ctx *ctx, const char *path, const copse_index_options *options, copse_index **out_index)
{
    copse_status status = snapshot_arguments_check(ctx, "copse_open", path, "path", options, out_index);
    if (status != COPSE_OK) return status;
    snapshot_source source = {.ctx = ctx, .path = path, .file = -1};
    status = open_source(&source, options, out_index);
    if (source.file >= 0) close(source.file);
    return status;
}

copse_status snapshot_part_open(copse_ctx *ctx, const char *path, const char *bytes, uint64_t size,
                                copse_index **out_index)
{
    snapshot_source source = {.ctx = ctx, .path = path, .bytes = bytes, .file = -1, .is_part = true, .size = size};
    *out_index = NULL;
    return open_source(&source, NULL, out_index);
}
