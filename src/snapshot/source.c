/* The file of a snapshot and its header. The reader trusts the header only after its checksum, and its sizes only after they
 * agree with the size of the file. */
#include "snapshot/source.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

copse_status snapshot_fail_io(const snapshot_source *source, const char *step, int error)
{
    return copse_fail(source->ctx, COPSE_ERR_IO, "cannot load the snapshot '%s': %s: %s", snapshot_shown(source->path),
                      step, strerror(error));
}

static copse_status fail_truncated(const snapshot_source *source, uint64_t expected, const char *how)
{
    return copse_fail(source->ctx, COPSE_ERR_FORMAT, "the snapshot '%s' is truncated: it has %llu of %s%llu bytes",
                      snapshot_shown(source->path), SNAPSHOT_WHOLE(source->size), how, SNAPSHOT_WHOLE(expected));
}

copse_status snapshot_fail_header(const snapshot_source *source, const char *what, uint64_t number)
{
    return copse_fail(source->ctx, COPSE_ERR_FORMAT, "the snapshot '%s' is damaged: its header gives %s %llu",
                      snapshot_shown(source->path), what, SNAPSHOT_WHOLE(number));
}

copse_status snapshot_fail_bytes(const snapshot_source *source, const char *section, uint64_t first, uint64_t last,
                                 const char *what)
{
    return copse_fail(source->ctx, COPSE_ERR_FORMAT, "the snapshot '%s' is damaged: %s, bytes %llu..%llu: %s",
                      snapshot_shown(source->path), section, SNAPSHOT_WHOLE(first), SNAPSHOT_WHOLE(last), what);
}

int snapshot_read_all(const snapshot_source *source, void *bytes, size_t size, uint64_t offset)
{
    char *to = bytes;
    if (source->bytes && size) memcpy(to, source->bytes + offset, size);
    while (!source->bytes && size) {
        ssize_t n = pread(source->file, to, size, (off_t)offset);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return n < 0 ? errno : -1;
        to += n;
        offset += (uint64_t)n;
        size -= (size_t)n;
    }
    return 0;
}

copse_status snapshot_fail_read(const snapshot_source *source, int error)
{
    if (error > 0) return snapshot_fail_io(source, "reading failed", error);
    return copse_fail(source->ctx, COPSE_ERR_FORMAT,
                      "the snapshot '%s' is truncated: it became shorter while it was read",
                      snapshot_shown(source->path));
}

copse_status snapshot_read_bytes(const snapshot_source *source, void *bytes, size_t size, uint64_t offset)
{
    int error = snapshot_read_all(source, bytes, size, offset);
    return error ? snapshot_fail_read(source, error) : COPSE_OK;
}

/* --- opening and the header ------------------------------------------------------------------------------------- */

copse_status snapshot_open(snapshot_source *source)
{
    struct stat about;
    /* Without O_NONBLOCK a named pipe would wait here for a writer. */
    source->file = open(source->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (source->file < 0) return snapshot_fail_io(source, "cannot open it", errno);
    if (fstat(source->file, &about) != 0) return snapshot_fail_io(source, "cannot ask for its size", errno);
    if (S_ISDIR(about.st_mode)) return snapshot_fail_io(source, "the path names a directory", EISDIR);
    if (!S_ISREG(about.st_mode))
        return copse_fail(source->ctx, COPSE_ERR_IO, "cannot load the snapshot '%s': it is not a regular file",
                          snapshot_shown(source->path));
    source->size = (uint64_t)about.st_size;
    return COPSE_OK;
}

static copse_status magic_check(const snapshot_source *source, size_t have)
{
    size_t compared = have < SNAPSHOT_MAGIC_SIZE ? have : SNAPSHOT_MAGIC_SIZE;
    if (have == 0)
        return copse_fail(source->ctx, COPSE_ERR_FORMAT, "'%s' is not a copse snapshot: it is empty",
                          snapshot_shown(source->path));
    if (memcmp(source->header.magic, SNAPSHOT_MAGIC, compared) == 0) return COPSE_OK;
    /* The same name with other line ends: what a transfer as text makes of it. */
    if (have >= SNAPSHOT_MAGIC_SIZE && memcmp(source->header.magic, SNAPSHOT_MAGIC, 4) == 0)
        return snapshot_fail_bytes(source, "signature", 0, SNAPSHOT_MAGIC_SIZE - 1,
                                   "it starts like a copse snapshot, but was changed, perhaps by a transfer as text");
    return copse_fail(source->ctx, COPSE_ERR_FORMAT,
                      "'%s' is not a copse snapshot: it does not start with the signature of one",
                      snapshot_shown(source->path));
}

/* What every version has at the same offset. */
static copse_status common_check(const snapshot_source *source)
{
    const snapshot_header *h = &source->header;
    if (h->endianness == SNAPSHOT_BIG_ENDIAN)
        return copse_fail(source->ctx, COPSE_ERR_FORMAT,
                          "the snapshot '%s' has big-endian numbers; copse writes and reads little-endian ones",
                          snapshot_shown(source->path));
    if (h->endianness != SNAPSHOT_LITTLE_ENDIAN)
        return copse_fail(source->ctx, COPSE_ERR_FORMAT,
                          "the snapshot '%s' is damaged: its header has the endianness mark %08x",
                          snapshot_shown(source->path), h->endianness);
    if (h->version > SNAPSHOT_VERSION)
        return copse_fail(
            source->ctx, COPSE_ERR_VERSION,
            "the snapshot '%s' has format version %u; copse %s reads up to version %u, a newer one is needed",
            snapshot_shown(source->path), h->version, COPSE_VERSION, SNAPSHOT_VERSION);
    return h->version == 0 ? snapshot_fail_header(source, "the format version", 0) : COPSE_OK;
}

/* Numbers that no writer gives, in a header with the right checksum. Behind it the layout is known to follow from the types and
 * the number of entries. */
static copse_status fields_check(const snapshot_source *source, const snapshot_header *expected)
{
    const snapshot_header *h = &source->header;
    if (h->header_size != expected->header_size) return snapshot_fail_header(source, "the header size", h->header_size);
    if (h->section_count != expected->section_count)
        return snapshot_fail_header(source, "the number of sections", h->section_count);
    const bool strings = snapshot_has_strings(h) && h->version > 1; /* version 1 has no place for their offsets */
    if (copse_type_size((copse_type)h->key_type) == 0 && !strings)
        return snapshot_fail_header(source, "the unknown key type", h->key_type);
    const bool set = h->value_type == COPSE_NONE && h->version > 1; /* version 1 has no place for one */
    if (!copse_type_is_value((copse_type)h->value_type) && !set)
        return snapshot_fail_header(source, "the unknown value type", h->value_type);
    if (h->flags & ~SNAPSHOT_FLAG_DUPLICATES) return snapshot_fail_header(source, "the unknown flags", h->flags);
    if (h->block_size != expected->block_size) return snapshot_fail_header(source, "the block size", h->block_size);
    return COPSE_OK;
}

/* The number of entries decides where everything lies; all else in the header has to agree with it and with the size of
 * the file, so that no later allocation is larger than the file. */
static copse_status layout_check(const snapshot_source *source)
{
    const snapshot_header *h = &source->header;
    snapshot_header expected = *h;
    const bool possible = snapshot_layout(&expected);
    copse_status status = fields_check(source, &expected);
    if (status != COPSE_OK) return status;
    const bool too_long = snapshot_has_strings(h) && h->entries <= UINT64_MAX / 64;
    if (!possible && too_long)
        return snapshot_fail_header(source, "the impossible length of all keys", h->sections[SNAPSHOT_KEYS].length);
    if (!possible) return snapshot_fail_header(source, "the impossible number of entries", h->entries);
    for (unsigned i = 0; i < SNAPSHOT_SECTIONS; i++)
        if (memcmp(&h->sections[i], &expected.sections[i], sizeof expected.sections[i]) != 0)
            return copse_fail(source->ctx, COPSE_ERR_FORMAT,
                              "the snapshot '%s' is damaged: the place of its %s section does not fit its %llu entries",
                              snapshot_shown(source->path), snapshot_section_name(i), SNAPSHOT_WHOLE(h->entries));
    if (h->file_size != expected.file_size)
        return copse_fail(
            source->ctx, COPSE_ERR_FORMAT,
            "the snapshot '%s' is damaged: its header gives a size of %llu bytes, its %llu entries need %llu",
            snapshot_shown(source->path), SNAPSHOT_WHOLE(h->file_size), SNAPSHOT_WHOLE(h->entries),
            SNAPSHOT_WHOLE(expected.file_size));
    if (source->size < h->file_size) return fail_truncated(source, h->file_size, "");
    if (source->size > h->file_size)
        return snapshot_fail_bytes(source, "trailing data", h->file_size, source->size - 1,
                                   "the snapshot ends before them");
    return COPSE_OK;
}

static copse_status fail_header_checksum(const snapshot_source *source, size_t size)
{
    return snapshot_fail_bytes(source, "header", 0, size - 1, "its checksum does not match");
}

static copse_status fail_not_zero(const snapshot_source *source, size_t from, size_t to)
{
    return snapshot_fail_bytes(source, "header", from, to - 1, "they must be zero");
}

/* Turns a header of version 1, which is just the first bytes of what was read, into one of version 2. */
static copse_status header_1_take(snapshot_source *source)
{
    static const uint8_t zero[sizeof((snapshot_header_1 *)NULL)->zero];
    snapshot_header *h = &source->header;
    snapshot_header_1 read;
    memcpy(&read, h, sizeof read);
    if (read.checksum != snapshot_checksum(&read, offsetof(snapshot_header_1, checksum)))
        return fail_header_checksum(source, sizeof read);
    if (memcmp(read.zero, zero, sizeof zero) != 0)
        return fail_not_zero(source, offsetof(snapshot_header_1, zero), offsetof(snapshot_header_1, checksum));
    memset(h->sections, 0, sizeof *h - offsetof(snapshot_header, sections));
    memcpy(h->sections, read.sections, sizeof read.sections);
    h->checksums_checksum = read.checksums_checksum;
    return COPSE_OK;
}

static copse_status header_2_check(const snapshot_source *source)
{
    static const uint8_t zero[sizeof source->header.zero];
    const snapshot_header *h = &source->header;
    if (h->checksum != snapshot_header_checksum(h)) return fail_header_checksum(source, sizeof *h);
    if (memcmp(h->zero, zero, sizeof zero) != 0)
        return fail_not_zero(source, offsetof(snapshot_header, zero), offsetof(snapshot_header, checksum));
    return COPSE_OK;
}

copse_status snapshot_header_read(snapshot_source *source)
{
    size_t have = source->size < sizeof source->header ? (size_t)source->size : sizeof source->header;
    copse_status status = snapshot_read_bytes(source, &source->header, have, 0);
    if (status != COPSE_OK || (status = magic_check(source, have)) != COPSE_OK) return status;
    if (have < SNAPSHOT_COMMON_SIZE) return fail_truncated(source, sizeof(snapshot_header_1), "at least ");
    if ((status = common_check(source)) != COPSE_OK) return status;
    const size_t size = source->header.version == 1 ? sizeof(snapshot_header_1) : sizeof source->header;
    if (have < size) return fail_truncated(source, size, "at least ");
    status = source->header.version == 1 ? header_1_take(source) : header_2_check(source);
    return status == COPSE_OK ? layout_check(source) : status;
}
