/* Loading: the header is believed only after its checksum, sizes only after they agree with the file's, and entries only
 * after the checksum of their block and a look at their order. What is wrong is named. */
#include "core/codec.h"
#include "core/snapshot_format.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BLOCKS_PER_STEP   8u /* between two calls of the progress callback, at least */
#define BLOCKS_PER_THREAD 4u
#define CODES_AT_ONCE     512u

typedef struct reader {
    copse_ctx *ctx;
    const char *path;
    int file;      /* -1: not open */
    uint64_t size; /* of the file, as the system says */
    snapshot_header header;
    uint64_t *checksums;
    size_t checksums_size;
    char *arrays[2]; /* keys, values */
    size_t array_sizes[2];
    copse_index *index;
} reader;

#define WHOLE(number) ((unsigned long long)(number))

static copse_status fail_io(const reader *r, const char *step, int error)
{
    return copse_fail(r->ctx, COPSE_ERR_IO, "cannot load the snapshot '%s': %s: %s", snapshot_shown(r->path), step,
                      strerror(error));
}

static copse_status fail_truncated(const reader *r, uint64_t expected, const char *how)
{
    return copse_fail(r->ctx, COPSE_ERR_FORMAT, "the snapshot '%s' is truncated: it has %llu of %s%llu bytes",
                      snapshot_shown(r->path), WHOLE(r->size), how, WHOLE(expected));
}

static copse_status fail_header(const reader *r, const char *what, uint64_t number)
{
    return copse_fail(r->ctx, COPSE_ERR_FORMAT, "the snapshot '%s' is damaged: its header gives %s %llu",
                      snapshot_shown(r->path), what, WHOLE(number));
}

/* Bytes first .. last of the file, both included. */
static copse_status fail_bytes(const reader *r, const char *part, uint64_t first, uint64_t last, const char *what)
{
    return copse_fail(r->ctx, COPSE_ERR_FORMAT, "the snapshot '%s' is damaged: %s, bytes %llu..%llu: %s",
                      snapshot_shown(r->path), part, WHOLE(first), WHOLE(last), what);
}

/* Returns 0, an error number, or -1 where the file ends too early (it shrank since its size was asked for). */
static int read_all(int file, void *bytes, size_t size, uint64_t offset)
{
    char *to = bytes;
    while (size) {
        ssize_t n = pread(file, to, size, (off_t)offset);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return n < 0 ? errno : -1;
        to += n;
        offset += (uint64_t)n;
        size -= (size_t)n;
    }
    return 0;
}

static copse_status read_part(const reader *r, void *bytes, size_t size, uint64_t offset)
{
    int error = read_all(r->file, bytes, size, offset);
    if (error < 0)
        return copse_fail(r->ctx, COPSE_ERR_FORMAT,
                          "the snapshot '%s' is truncated: it became shorter while it was read",
                          snapshot_shown(r->path));
    return error ? fail_io(r, "reading failed", error) : COPSE_OK;
}

/* --- opening and the header ------------------------------------------------------------------------------------- */

static copse_status file_open(reader *r)
{
    struct stat about;
    /* Without O_NONBLOCK a named pipe would wait here for a writer. */
    r->file = open(r->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (r->file < 0) return fail_io(r, "cannot open it", errno);
    if (fstat(r->file, &about) != 0) return fail_io(r, "cannot ask for its size", errno);
    if (S_ISDIR(about.st_mode)) return fail_io(r, "the path names a directory", EISDIR);
    if (!S_ISREG(about.st_mode))
        return copse_fail(r->ctx, COPSE_ERR_IO, "cannot load the snapshot '%s': it is not a regular file",
                          snapshot_shown(r->path));
    r->size = (uint64_t)about.st_size;
    return COPSE_OK;
}

static copse_status magic_check(const reader *r, size_t have)
{
    size_t compared = have < SNAPSHOT_MAGIC_SIZE ? have : SNAPSHOT_MAGIC_SIZE;
    if (have == 0)
        return copse_fail(r->ctx, COPSE_ERR_FORMAT, "'%s' is not a copse snapshot: it is empty",
                          snapshot_shown(r->path));
    if (memcmp(r->header.magic, SNAPSHOT_MAGIC, compared) == 0) return COPSE_OK;
    /* The same name with other line ends: what a transfer as text makes of it. */
    if (have >= SNAPSHOT_MAGIC_SIZE && memcmp(r->header.magic, SNAPSHOT_MAGIC, 4) == 0)
        return fail_bytes(r, "signature", 0, SNAPSHOT_MAGIC_SIZE - 1,
                          "it starts like a copse snapshot, but was changed, perhaps by a transfer as text");
    return copse_fail(r->ctx, COPSE_ERR_FORMAT,
                      "'%s' is not a copse snapshot: it does not start with the signature of one",
                      snapshot_shown(r->path));
}

/* What every version has in the same place. */
static copse_status common_check(const reader *r)
{
    const snapshot_header *h = &r->header;
    if (h->endianness == SNAPSHOT_BIG_ENDIAN)
        return copse_fail(r->ctx, COPSE_ERR_FORMAT,
                          "the snapshot '%s' has big-endian numbers; copse writes and reads little-endian ones",
                          snapshot_shown(r->path));
    if (h->endianness != SNAPSHOT_LITTLE_ENDIAN)
        return copse_fail(r->ctx, COPSE_ERR_FORMAT,
                          "the snapshot '%s' is damaged: its header has the endianness mark %08x",
                          snapshot_shown(r->path), h->endianness);
    if (h->version > SNAPSHOT_VERSION)
        return copse_fail(
            r->ctx, COPSE_ERR_VERSION,
            "the snapshot '%s' has format version %u; copse %s reads up to version %u, a newer one is needed",
            snapshot_shown(r->path), h->version, COPSE_VERSION, SNAPSHOT_VERSION);
    return h->version == 0 ? fail_header(r, "the format version", 0) : COPSE_OK;
}

/* Numbers that no writer of version 1 gives, in a header with the right checksum. */
static copse_status fields_check(const reader *r)
{
    static const uint8_t zero[sizeof r->header.zero];
    const snapshot_header *h = &r->header;
    if (h->header_size != sizeof *h) return fail_header(r, "the header size", h->header_size);
    if (h->section_count != SNAPSHOT_SECTIONS) return fail_header(r, "the number of sections", h->section_count);
    if (copse_type_size((copse_type)h->key_type) == 0) return fail_header(r, "the unknown key type", h->key_type);
    if (!copse_type_is_value((copse_type)h->value_type)) return fail_header(r, "the unknown value type", h->value_type);
    if (h->flags & ~SNAPSHOT_FLAG_DUPLICATES) return fail_header(r, "the unknown flags", h->flags);
    if (h->block_size != SNAPSHOT_BLOCK) return fail_header(r, "the block size", h->block_size);
    if (memcmp(h->zero, zero, sizeof zero) != 0)
        return fail_bytes(r, "header", offsetof(snapshot_header, zero), offsetof(snapshot_header, checksum) - 1,
                          "they must be zero");
    return COPSE_OK;
}

/* The number of entries decides where everything lies; all else in the header has to agree with it and with the size of
 * the file, so that no later allocation is larger than the file. */
static copse_status layout_check(const reader *r)
{
    const snapshot_header *h = &r->header;
    snapshot_header expected;
    copse_stats stats = {
        .entries = h->entries, .key_type = (copse_type)h->key_type, .value_type = (copse_type)h->value_type};
    if (!snapshot_header_fill(&expected, &stats)) return fail_header(r, "the impossible number of entries", h->entries);
    for (unsigned i = 0; i < SNAPSHOT_SECTIONS; i++)
        if (memcmp(&h->sections[i], &expected.sections[i], sizeof expected.sections[i]) != 0)
            return copse_fail(r->ctx, COPSE_ERR_FORMAT,
                              "the snapshot '%s' is damaged: the place of its %s section does not fit its %llu entries",
                              snapshot_shown(r->path), snapshot_section_name(i), WHOLE(h->entries));
    if (h->file_size != expected.file_size)
        return copse_fail(
            r->ctx, COPSE_ERR_FORMAT,
            "the snapshot '%s' is damaged: its header gives a size of %llu bytes, its %llu entries need %llu",
            snapshot_shown(r->path), WHOLE(h->file_size), WHOLE(h->entries), WHOLE(expected.file_size));
    if (r->size < h->file_size) return fail_truncated(r, h->file_size, "");
    if (r->size > h->file_size)
        return fail_bytes(r, "trailing data", h->file_size, r->size - 1, "the snapshot ends before them");
    return COPSE_OK;
}

static copse_status header_read(reader *r)
{
    size_t have = r->size < sizeof r->header ? (size_t)r->size : sizeof r->header;
    copse_status status = read_part(r, &r->header, have, 0);
    if (status != COPSE_OK || (status = magic_check(r, have)) != COPSE_OK) return status;
    if (have < SNAPSHOT_COMMON_SIZE) return fail_truncated(r, sizeof r->header, "at least ");
    if ((status = common_check(r)) != COPSE_OK) return status;
    if (have < sizeof r->header) return fail_truncated(r, sizeof r->header, "at least ");
    if (r->header.checksum != snapshot_header_checksum(&r->header))
        return fail_bytes(r, "header", 0, sizeof r->header - 1, "its checksum does not match");
    if ((status = fields_check(r)) != COPSE_OK) return status;
    return layout_check(r);
}

/* --- what the caller asked for ---------------------------------------------------------------------------------- */

static copse_status type_check(const reader *r, const char *what, copse_type asked, uint32_t is)
{
    if (asked == 0 || (uint32_t)asked == is) return COPSE_OK;
    return copse_fail(r->ctx, COPSE_ERR_TYPE, "options->%s_type is %s, but the snapshot '%s' has %ss of type %s", what,
                      copse_type_name(asked), snapshot_shown(r->path), what, copse_type_name((copse_type)is));
}

static bool structure_known(uint32_t structure)
{
    return structure != COPSE_STRUCTURE_AUTO &&
           strcmp(copse_structure_name((copse_structure)structure), "unknown") != 0;
}

/* Makes the empty index, so that an impossible wish is refused before the file is read. */
static copse_status index_make(reader *r, const copse_index_options *options)
{
    const snapshot_header *h = &r->header;
    copse_index_options o = {.duplicates = h->flags & SNAPSHOT_FLAG_DUPLICATES};
    copse_status status;
    /* A caller built against an older or newer header: take the members that both know. */
    if (options) memcpy(&o, options, options->struct_size < sizeof o ? options->struct_size : sizeof o);
    o.struct_size = sizeof o;
    if ((status = type_check(r, "key", o.key_type, h->key_type)) != COPSE_OK) return status;
    if ((status = type_check(r, "value", o.value_type, h->value_type)) != COPSE_OK) return status;
    if (h->flags & SNAPSHOT_FLAG_DUPLICATES && !o.duplicates)
        return copse_fail(r->ctx, COPSE_ERR_ARGUMENT,
                          "options->duplicates is 0, but the snapshot '%s' keeps entries with equal keys: set it to 1",
                          snapshot_shown(r->path));
    o.key_type = (copse_type)h->key_type;
    o.value_type = (copse_type)h->value_type;
    if (o.structure == COPSE_STRUCTURE_AUTO) {
        if (!structure_known(h->structure))
            return copse_fail(
                r->ctx, COPSE_ERR_VERSION,
                "the snapshot '%s' is of structure %u, which copse %s does not know; options->structure can "
                "name another to load it into",
                snapshot_shown(r->path), h->structure, COPSE_VERSION);
        o.structure = (copse_structure)h->structure;
    }
    return copse_index_create(r->ctx, &o, &r->index);
}

/* --- content ---------------------------------------------------------------------------------------------------- */

static copse_status checksums_read(reader *r)
{
    const snapshot_section *s = &r->header.sections[SNAPSHOT_CHECKSUMS];
    r->checksums_size =
        (size_t)s->length + sizeof(uint64_t); /* an allocator may answer NULL to a request for nothing */
    r->checksums = copse_memory_alloc(r->ctx, r->checksums_size);
    if (!r->checksums) return copse_fail_memory(r->ctx, r->checksums_size, "the checksums of the snapshot");
    copse_status status = read_part(r, r->checksums, (size_t)s->length, s->offset);
    if (status != COPSE_OK) return status;
    if (snapshot_checksum(r->checksums, (size_t)s->length) != r->header.checksums_checksum) {
        if (s->length == 0) return fail_header(r, "for no checksums the checksum", r->header.checksums_checksum);
        return fail_bytes(r, "checksums section", s->offset, s->offset + s->length - 1,
                          "their checksum does not match");
    }
    return COPSE_OK;
}

/* The gap behind a section must be zero, up to the next section. */
static copse_status padding_check(const reader *r, unsigned section)
{
    const snapshot_section *s = &r->header.sections[section];
    uint64_t from = s->offset + s->length, to = s[1].offset;
    unsigned char gap[SNAPSHOT_ALIGNMENT] = {0};
    copse_status status = read_part(r, gap, (size_t)(to - from), from);
    for (uint64_t i = from; status == COPSE_OK && i < to; i++)
        if (gap[i - from] != 0)
            return fail_bytes(r, section == SNAPSHOT_KEYS ? "padding after the keys" : "padding after the values", from,
                              to - 1, "it must be zero");
    return status;
}

typedef enum fault { FAULT_NONE, FAULT_READ, FAULT_CHECKSUM, FAULT_NAN, FAULT_ORDER } fault;

/* The first fault among blocks that several threads look at: the one in the block with the lowest number. */
typedef struct finding {
    fault fault;
    uint64_t block;
    uint64_t entry; /* FAULT_NAN, FAULT_ORDER */
    int error;      /* FAULT_READ */
} finding;

/* Codes of n keys as 64-bit numbers. Returns n or the first NaN. */
static uint32_t codes_of(copse_type type, const void *keys, uint64_t first, uint32_t n, uint64_t *codes)
{
    uint32_t narrow[CODES_AT_ONCE], good;
    if (copse_type_size(type) == 8) return copse_encode_k64(type, keys, first, n, codes);
    good = copse_encode_k32(type, keys, first, n, narrow);
    for (uint32_t i = 0; i < good; i++) codes[i] = narrow[i];
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

/* Looks at keys first .. last - 1; the pair across a block's start is left to borders_check. */
static finding keys_check(const reader *r, uint64_t first, uint64_t last)
{
    copse_type type = (copse_type)r->header.key_type;
    bool equal_allowed = r->header.flags & SNAPSHOT_FLAG_DUPLICATES;
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
    snapshot_block block = snapshot_block_at(&r->header, number);
    char *to = r->arrays[block.section] + block.start;
    finding f = {.fault = FAULT_NONE};
    int error = read_all(r->file, to, block.size, r->header.sections[block.section].offset + block.start);
    if (error) {
        f = (finding){.fault = FAULT_READ, .error = error};
    } else if (snapshot_checksum(to, block.size) != r->checksums[number]) {
        f = (finding){.fault = FAULT_CHECKSUM};
    } else if (block.section == SNAPSHOT_KEYS) {
        /* Now, while the block is in the cache. */
        uint64_t key_size = copse_type_size((copse_type)r->header.key_type);
        f = keys_check(r, block.start / key_size, (block.start + block.size) / key_size);
    }
    f.block = number;
    return f;
}

static copse_status fail_found(const reader *r, const finding *f)
{
    snapshot_block block = snapshot_block_at(&r->header, f->block);
    const char *part = block.section == SNAPSHOT_KEYS ? "keys section" : "values section";
    uint64_t first = r->header.sections[block.section].offset + block.start;
    if (f->fault == FAULT_READ && f->error > 0) return fail_io(r, "reading failed", f->error);
    if (f->fault == FAULT_READ)
        return copse_fail(r->ctx, COPSE_ERR_FORMAT,
                          "the snapshot '%s' is truncated: it became shorter while it was read",
                          snapshot_shown(r->path));
    if (f->fault == FAULT_CHECKSUM)
        return fail_bytes(r, part, first, first + block.size - 1, "their checksum does not match");
    return copse_fail(r->ctx, COPSE_ERR_FORMAT, "the snapshot '%s' is damaged: %s, entry %llu: %s",
                      snapshot_shown(r->path), part, WHOLE(f->entry),
                      f->fault == FAULT_NAN                        ? "its key is NaN"
                      : r->header.flags & SNAPSHOT_FLAG_DUPLICATES ? "its key is smaller than the one before"
                                                                   : "its key is not larger than the one before");
}

/* Reads blocks first .. last - 1 on all threads. */
static copse_status step_read(const reader *r, uint64_t first, uint64_t last)
{
    finding worst = {.fault = FAULT_NONE};
    int threads = snapshot_threads(r->ctx, &r->header, last - first);
#pragma omp parallel for num_threads(threads) schedule(dynamic) if (threads > 1)
    for (uint64_t i = first; i < last; i++) {
        finding f = block_read(r, i);
        if (f.fault != FAULT_NONE) {
#pragma omp critical(copse_snapshot_finding)
            if (worst.fault == FAULT_NONE || f.block < worst.block) worst = f;
        }
    }
    return worst.fault == FAULT_NONE ? COPSE_OK : fail_found(r, &worst);
}

/* The keys at both sides of each border between blocks, which blocks read at the same time cannot compare. */
static copse_status borders_check(const reader *r)
{
    uint64_t per_block = SNAPSHOT_BLOCK / copse_type_size((copse_type)r->header.key_type);
    bool equal_allowed = r->header.flags & SNAPSHOT_FLAG_DUPLICATES;
    for (uint64_t entry = per_block; entry < r->header.entries; entry += per_block) {
        uint64_t codes[2] = {0, 0};
        codes_of((copse_type)r->header.key_type, r->arrays[0], entry - 1, 2, codes);
        if (order_check(codes, 2, equal_allowed) < 2)
            return fail_found(r, &(finding){.fault = FAULT_ORDER, .block = entry / per_block, .entry = entry});
    }
    return COPSE_OK;
}

static copse_status arrays_read(reader *r)
{
    uint64_t blocks = snapshot_block_count(&r->header), last;
    uint64_t step = (uint64_t)r->ctx->threads * BLOCKS_PER_THREAD;
    if (step < BLOCKS_PER_STEP) step = BLOCKS_PER_STEP;
    for (int i = 0; i < 2; i++) {
        r->array_sizes[i] = (size_t)r->header.sections[i].length;
        if (!(r->arrays[i] = copse_memory_alloc(r->ctx, r->array_sizes[i])))
            return copse_fail_memory(r->ctx, r->array_sizes[i], "loading the snapshot");
    }
    for (uint64_t first = 0; first < blocks; first = last) {
        last = blocks - first < step ? blocks : first + step;
        copse_status status = step_read(r, first, last);
        if (status == COPSE_OK) status = copse_progress(r->ctx, "loading", last, blocks);
        if (status != COPSE_OK) return status;
    }
    return borders_check(r);
}

static copse_status content_read(reader *r)
{
    copse_status status = checksums_read(r);
    if (status == COPSE_OK) status = padding_check(r, SNAPSHOT_KEYS);
    if (status == COPSE_OK) status = padding_check(r, SNAPSHOT_VALUES);
    if (status != COPSE_OK || r->header.entries == 0) return status;
    if ((status = arrays_read(r)) != COPSE_OK) return status;
    return copse_build(r->index, r->arrays[0], r->arrays[1], r->header.entries);
}

static void reader_close(reader *r)
{
    for (int i = 0; i < 2; i++) copse_memory_free(r->ctx, r->arrays[i], r->array_sizes[i]);
    copse_memory_free(r->ctx, r->checksums, r->checksums_size);
    if (r->file >= 0) close(r->file);
}

copse_status copse_load(copse_ctx *ctx, const char *path, const copse_index_options *options, copse_index **out_index)
{
    if (!ctx || !path || !out_index)
        return copse_fail(ctx, COPSE_ERR_ARGUMENT, "copse_load: %s is NULL",
                          !ctx    ? "ctx"
                          : !path ? "path"
                                  : "out_index");
    *out_index = NULL;
    if (options && options->struct_size < sizeof options->struct_size)
        return copse_fail(ctx, COPSE_ERR_ARGUMENT,
                          "options->struct_size is %zu; start from COPSE_INDEX_OPTIONS_INIT, which sets it",
                          options->struct_size);
    reader r = {.ctx = ctx, .path = path, .file = -1};
    copse_status status = file_open(&r);
    if (status == COPSE_OK) status = header_read(&r);
    if (status == COPSE_OK) status = index_make(&r, options);
    if (status == COPSE_OK) status = content_read(&r);
    if (status == COPSE_OK)
        *out_index = r.index;
    else
        copse_index_free(r.index);
    reader_close(&r);
    return status;
}
