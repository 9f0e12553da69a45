/* Saving byte strings. A cursor gives entries as they fit into a buffer; what they become in the file are three streams, whose blocks
 * end at different entries: each stream gathers bytes, and writes them when it has whole blocks. */
#include "core/bytes.h"
#include "snapshot/write.h"

/* Entries that the cursor gives at once, and bytes of their keys; one that is as long as a key may be fits. */
#define STEP_ENTRIES 4096u
#define STEP_BYTES   (4 * (size_t)COPSE_LONGEST_KEY)
/* Bytes that a stream gathers: whole blocks. */
#define STREAM_BYTES (UINT64_C(64) * SNAPSHOT_BLOCK)

/* A section on its way to the file. */
typedef struct stream {
    unsigned section;
    char *bytes;
    size_t size;
    uint64_t start;  /* bytes of the section that were written */
    size_t gathered; /* bytes that were not                    */
} stream;

/* All that one call needs. */
typedef struct strings_writer {
    snapshot_writer *w;
    stream keys, offsets, values;
    copse_cursor *cursor;
    copse_bytes step;
    char *memory; /* of the step: offsets, values, data */
    size_t memory_size;
    size_t width; /* of a value */
    uint64_t end; /* of the last key in section 1 */
} strings_writer;

static copse_status stream_open(snapshot_writer *w, unsigned section, stream *out)
{
    const uint64_t length = w->header.sections[section].length;
    *out = (stream){.section = section, .size = (size_t)(length < STREAM_BYTES ? length : STREAM_BYTES)};
    if (out->size == 0) return COPSE_OK;
    out->bytes = copse_memory_alloc(w->ctx, out->size);
    return out->bytes ? COPSE_OK : copse_fail_memory(w->ctx, out->size, "saving the snapshot");
}

static copse_status stream_flush(snapshot_writer *w, stream *to)
{
    if (to->gathered == 0) return COPSE_OK;
    const int error = snapshot_blocks_write(w, to->section, to->start, to->gathered, to->bytes);
    to->start += to->gathered;
    to->gathered = 0;
    return error ? snapshot_fail_write(&w->target, "writing the temporary file failed", error) : COPSE_OK;
}

static copse_status stream_put(snapshot_writer *w, stream *to, const void *bytes, uint64_t size)
{
    const char *from = bytes;
    copse_status status = COPSE_OK;
    if (size > w->header.sections[to->section].length - to->start - to->gathered) return snapshot_fail_count(w);
    while (status == COPSE_OK && size) {
        const size_t room = to->size - to->gathered, n = size < room ? (size_t)size : room;
        memcpy(to->bytes + to->gathered, from, n);
        to->gathered += n;
        from += n;
        size -= n;
        if (to->gathered == to->size) status = stream_flush(w, to);
    }
    return status;
}

/* Entries `first` .. first + n - 1, which the cursor gave. */
static copse_status step_put(strings_writer *s, uint64_t first, uint64_t n)
{
    snapshot_writer *w = s->w;
    const uint64_t per_fence = snapshot_keys_per_fence(&w->header);
    const uint64_t *ends = (const uint64_t *)s->step.offsets + 1; /* the first offset is 0 */
    const unsigned char *data = s->step.data;
    copse_status status = stream_put(w, &s->keys, data, ends[n - 1]);
    for (uint64_t i = 0; status == COPSE_OK && i < n; i++) {
        const uint64_t start = i ? ends[i - 1] : 0, end = s->end + ends[i];
        status = stream_put(w, &s->offsets, &end, sizeof end);
        if ((first + i) % per_fence) continue;
        const uint64_t fence = copse_slice_prefix((copse_slice){data + start, (size_t)(ends[i] - start)});
        memcpy(w->fences + (first + i) / per_fence * sizeof fence, &fence, sizeof fence);
    }
    s->end += ends[n - 1];
    if (status == COPSE_OK && s->width) status = stream_put(w, &s->values, s->memory, n * s->width);
    return status;
}

static copse_status entries_write(strings_writer *s)
{
    snapshot_writer *w = s->w;
    const uint64_t total = w->header.entries, zero = 0;
    void *values = s->width ? s->memory : NULL;
    copse_status status = total ? stream_put(w, &s->offsets, &zero, sizeof zero) : COPSE_OK;
    for (uint64_t first = 0, got = 0; status == COPSE_OK && first < total; first += got) {
        status = copse_cursor_next(s->cursor, &s->step, values, STEP_ENTRIES, &got);
        if (status == COPSE_OK && (got == 0 || got > total - first)) status = snapshot_fail_count(w);
        if (status == COPSE_OK) status = step_put(s, first, got);
        if (status == COPSE_OK) status = copse_progress(w->ctx, "saving", first + got, total);
    }
    if (status == COPSE_OK && s->end != w->header.sections[SNAPSHOT_KEYS].length) status = snapshot_fail_count(w);
    if (status == COPSE_OK) status = stream_flush(w, &s->keys);
    if (status == COPSE_OK) status = stream_flush(w, &s->offsets);
    return status == COPSE_OK ? stream_flush(w, &s->values) : status;
}

static copse_status writer_open(strings_writer *s)
{
    snapshot_writer *w = s->w;
    const size_t value_bytes = STEP_ENTRIES * sizeof(uint64_t), offset_bytes = (STEP_ENTRIES + 1) * sizeof(uint64_t);
    copse_status status = stream_open(w, SNAPSHOT_KEYS, &s->keys);
    if (status == COPSE_OK) status = stream_open(w, SNAPSHOT_OFFSETS, &s->offsets);
    if (status == COPSE_OK) status = stream_open(w, SNAPSHOT_VALUES, &s->values);
    if (status != COPSE_OK) return status;
    s->memory_size = value_bytes + offset_bytes + STEP_BYTES;
    s->memory = copse_memory_alloc(w->ctx, s->memory_size);
    if (!s->memory) return copse_fail_memory(w->ctx, s->memory_size, "saving the snapshot");
    const copse_bytes step =
        COPSE_BYTES_INIT(s->memory + value_bytes + offset_bytes, STEP_BYTES, s->memory + value_bytes, 64);
    s->step = step;
    return copse_cursor_open(w->index, NULL, &s->cursor);
}

copse_status snapshot_strings_write(snapshot_writer *w)
{
    strings_writer s = {.w = w, .width = copse_type_size(w->index->value_type)};
    copse_status status = writer_open(&s);
    if (status == COPSE_OK) status = entries_write(&s);
    copse_cursor_free(s.cursor);
    copse_memory_free(w->ctx, s.memory, s.memory_size);
    copse_memory_free(w->ctx, s.values.bytes, s.values.size);
    copse_memory_free(w->ctx, s.offsets.bytes, s.offsets.size);
    copse_memory_free(w->ctx, s.keys.bytes, s.keys.size);
    return status;
}
