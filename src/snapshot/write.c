/* Saving: the writer streams entries from a cursor into the target, a file or memory. What the layout of a file needs, the number of
 * entries, is known before the first byte. */
#include "core/threads.h"
#include "snapshot/write.h"

#include <string.h>

/* Entries per step. Their keys and their values are whole blocks, whether an element has 4 or 8 bytes. */
#define STEP_ENTRIES (UINT64_C(1) << 20)
/* Blocks that a thread checksums and then writes at once. */
#define BLOCKS_AT_ONCE 16u

_Static_assert(STEP_ENTRIES * 4 % SNAPSHOT_BLOCK == 0, "a step must end at the end of a block");

typedef snapshot_writer writer;

static uint64_t smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t size_of(uint32_t type)
{
    return copse_type_size((copse_type)type);
}

/* --- content ---------------------------------------------------------------------------------------------------- */

/* snapshot_blocks_write on one thread. */
static int stretch_write(writer *w, unsigned section, uint64_t start, uint64_t size, const char *bytes)
{
    uint64_t first = snapshot_first_block(&w->header, section) + start / SNAPSHOT_BLOCK;
    for (uint64_t at = 0; at < size; at += SNAPSHOT_BLOCK)
        w->checksums[first + at / SNAPSHOT_BLOCK] =
            snapshot_checksum(bytes + at, (size_t)smaller(size - at, SNAPSHOT_BLOCK));
    return snapshot_target_write(&w->target, bytes, (size_t)size, w->header.sections[section].offset + start);
}

typedef struct write_job {
    writer *w;
    unsigned section;
    uint64_t start; /* inside the section */
    const char *bytes;
    int error; /* atomic */
} write_job;

static void write_chunk(void *argument, uint64_t from, uint64_t to)
{
    write_job *job = argument;
    int failed = stretch_write(job->w, job->section, job->start + from, to - from, job->bytes + from);
    if (failed) __atomic_store_n(&job->error, failed, __ATOMIC_RELAXED);
}

int snapshot_blocks_write(writer *w, unsigned section, uint64_t start, uint64_t size, const char *bytes)
{
    write_job job = {w, section, start, bytes, 0};
    copse_parallel(w->ctx, snapshot_threads(w->ctx, size), size, SNAPSHOT_BLOCK * BLOCKS_AT_ONCE, write_chunk, &job);
    return job.error;
}

/* Writes n entries from the buffers, the first of them being entry `first`. */
static copse_status step_write(writer *w, uint64_t first, uint64_t n)
{
    const uint64_t key_size = size_of(w->header.key_type), value_size = size_of(w->header.value_type);
    const uint64_t per_block = SNAPSHOT_BLOCK / key_size;
    for (uint64_t i = 0; i < n; i += per_block)
        memcpy(w->fences + (first + i) / per_block * key_size, w->buffers[0] + i * key_size, key_size);
    int error = snapshot_blocks_write(w, SNAPSHOT_KEYS, first * key_size, n * key_size, w->buffers[0]);
    if (!error && value_size)
        error = snapshot_blocks_write(w, SNAPSHOT_VALUES, first * value_size, n * value_size, w->buffers[1]);
    return error ? snapshot_fail_write(&w->target, "writing the temporary file failed", error) : COPSE_OK;
}

copse_status snapshot_fail_count(const writer *w)
{
    return copse_fail(w->ctx, COPSE_ERR_CORRUPT,
                      "cannot save the snapshot '%s': the index ended before the %llu entries that it counts",
                      snapshot_shown(w->target.path), (unsigned long long)w->header.entries);
}

/* Fills the buffers with exactly n entries. */
static copse_status step_read(writer *w, copse_cursor *cursor, uint64_t n)
{
    const uint64_t key_size = size_of(w->header.key_type), value_size = size_of(w->header.value_type);
    for (uint64_t have = 0, got; have < n; have += got) {
        char *values = value_size ? w->buffers[1] + have * value_size : NULL;
        copse_status status = copse_cursor_next(cursor, w->buffers[0] + have * key_size, values, n - have, &got);
        if (status != COPSE_OK) return status;
        if (got == 0) return snapshot_fail_count(w);
    }
    return COPSE_OK;
}

static copse_status entries_write(writer *w)
{
    uint64_t total = w->header.entries, n;
    copse_cursor *cursor = NULL;
    copse_status status = copse_cursor_open(w->index, NULL, &cursor);
    for (uint64_t first = 0; status == COPSE_OK && first < total; first += n) {
        n = smaller(total - first, STEP_ENTRIES);
        status = step_read(w, cursor, n);
        if (status == COPSE_OK) status = step_write(w, first, n);
        if (status == COPSE_OK) status = copse_progress(w->ctx, "saving", first + n, total);
    }
    copse_cursor_free(cursor);
    return status;
}

/* Memory of the caller may hold anything; behind the end of a file there are zeros without asking. */
static void gaps_clear(writer *w)
{
    uint64_t end = w->header.header_size;
    unsigned section;
    if (!w->target.bytes) return;
    for (unsigned i = 0; (section = snapshot_section_in_file(&w->header, i)) < SNAPSHOT_SECTIONS; i++) {
        const snapshot_section *s = &w->header.sections[section];
        memset(w->target.bytes + end, 0, (size_t)(s->offset - end));
        end = s->offset + s->length;
    }
}

/* The header goes last: until then the file is not a snapshot at all. */
static copse_status tables_write(writer *w)
{
    const snapshot_section *checksums = &w->header.sections[SNAPSHOT_CHECKSUMS];
    int error = snapshot_blocks_write(w, SNAPSHOT_FENCES, 0, w->header.sections[SNAPSHOT_FENCES].length, w->fences);
    w->header.checksums_checksum = snapshot_checksum(w->checksums, (size_t)checksums->length);
    w->header.checksum = snapshot_header_checksum(&w->header);
    gaps_clear(w);
    if (!error) error = snapshot_target_write(&w->target, w->checksums, (size_t)checksums->length, checksums->offset);
    if (!error) error = snapshot_target_write(&w->target, &w->header, sizeof w->header, 0);
    return error ? snapshot_fail_write(&w->target, "writing the temporary file failed", error) : COPSE_OK;
}

/* --- the calls -------------------------------------------------------------------------------------------------- */

/* The bytes of all keys, where they are byte strings: those of a range without ends. */
static copse_status strings_measure(const copse_index *index, uint64_t *out)
{
    uint64_t offsets[2];
    copse_bytes strings = COPSE_BYTES_INIT(NULL, 0, NULL, 64);
    const copse_ranges all = COPSE_BETWEEN(NULL, NULL, 1);
    copse_rows rows = COPSE_ROWS_INIT;
    rows.offsets = offsets;
    rows.keys = &strings;
    copse_status status = copse_range(index, &all, &rows);
    *out = strings.needed;
    return status;
}

static copse_status writer_open(writer *w)
{
    copse_stats stats = {.struct_size = sizeof stats};
    uint64_t string_bytes = 0;
    copse_status status = copse_index_stats(w->index, &stats);
    if (status == COPSE_OK && w->index->key_type == COPSE_BYTES) status = strings_measure(w->index, &string_bytes);
    if (status != COPSE_OK) return status;
    if (!snapshot_header_fill(&w->header, &stats, string_bytes))
        return copse_fail(w->ctx, COPSE_ERR_UNSUPPORTED, "%llu entries are more than a snapshot can hold",
                          (unsigned long long)stats.entries);
    return COPSE_OK;
}

static copse_status writer_allocate(writer *w)
{
    /* An allocator may answer NULL to a request for nothing: an empty index asks for one entry. */
    const uint64_t step = w->header.entries ? smaller(w->header.entries, STEP_ENTRIES) : 1;
    w->checksums_size = (size_t)w->header.sections[SNAPSHOT_CHECKSUMS].length + sizeof(uint64_t);
    w->fences_size = (size_t)w->header.sections[SNAPSHOT_FENCES].length + sizeof(uint64_t);
    if (!(w->checksums = copse_memory_alloc(w->ctx, w->checksums_size)) ||
        !(w->fences = copse_memory_alloc(w->ctx, w->fences_size)))
        return copse_fail_memory(w->ctx, w->fences_size + w->checksums_size, "saving the snapshot");
    if (snapshot_has_strings(&w->header)) return COPSE_OK; /* their writer has buffers of its own */
    w->buffer_sizes[0] = (size_t)(step * size_of(w->header.key_type));
    w->buffer_sizes[1] = (size_t)(step * size_of(w->header.value_type)) + 1; /* a set has no values */
    if (!(w->buffers[0] = copse_memory_alloc(w->ctx, w->buffer_sizes[0])) ||
        !(w->buffers[1] = copse_memory_alloc(w->ctx, w->buffer_sizes[1])))
        return copse_fail_memory(w->ctx, w->buffer_sizes[0] + w->buffer_sizes[1], "saving the snapshot");
    return COPSE_OK;
}

static void writer_free(writer *w)
{
    copse_memory_free(w->ctx, w->buffers[1], w->buffer_sizes[1]);
    copse_memory_free(w->ctx, w->buffers[0], w->buffer_sizes[0]);
    copse_memory_free(w->ctx, w->fences, w->fences_size);
    copse_memory_free(w->ctx, w->checksums, w->checksums_size);
}

static void writer_close(writer *w)
{
    snapshot_target_close(&w->target);
    writer_free(w);
}

static copse_status content_write(writer *w)
{
    copse_status status = snapshot_has_strings(&w->header) ? snapshot_strings_write(w) : entries_write(w);
    return status == COPSE_OK ? tables_write(w) : status;
}

copse_status snapshot_part_write(const copse_index *index, const snapshot_target *target, uint64_t base)
{
    writer w = {.index = index, .ctx = index->ctx, .target = *target};
    w.target.base = base;
    copse_status status = writer_open(&w);
    if (status == COPSE_OK) status = writer_allocate(&w);
    if (status == COPSE_OK) status = content_write(&w);
    writer_free(&w);
    return status;
}

copse_status copse_save(const copse_index *index, const char *path)
{
    if (!index || !path)
        return copse_fail_argument(index ? index->ctx : NULL, index ? "path" : "index", "copse_save: %s is NULL",
                                   index ? "path" : "index");
    writer w = {
        .index = index, .ctx = index->ctx, .target = {.ctx = index->ctx, .path = path, .file = -1, .directory = -1}};
    copse_status status = writer_open(&w);
    if (status == COPSE_OK) status = writer_allocate(&w);
    if (status == COPSE_OK) status = snapshot_target_open(&w.target);
    if (status == COPSE_OK) status = content_write(&w);
    if (status == COPSE_OK) status = snapshot_target_publish(&w.target);
    writer_close(&w);
    return status;
}

copse_status copse_save_memory(const copse_index *index, void *out, uint64_t capacity, uint64_t *out_size)
{
    if (out_size) *out_size = 0;
    const char *missing = !index ? "index" : !out_size ? "out_size" : !out && capacity ? "out" : NULL;
    if (missing) {
        (void)copse_fail_argument(index ? index->ctx : NULL, missing, "copse_save_memory: %s is NULL", missing);
        return COPSE_ERR_ARGUMENT; /* said here, so that an analyzer knows that it is never COPSE_OK */
    }
    writer w = {.index = index,
                .ctx = index->ctx,
                .target = {.ctx = index->ctx, .path = "in memory", .bytes = out, .file = -1, .directory = -1}};
    copse_status status = writer_open(&w);
    if (status != COPSE_OK) return status;
    *out_size = w.header.file_size;
    if (!out) return COPSE_OK;
    if (capacity < w.header.file_size) return copse_fail_room(w.ctx, "capacity", capacity, w.header.file_size);
    status = writer_allocate(&w);
    if (status == COPSE_OK) status = content_write(&w);
    writer_close(&w);
    return status;
}
