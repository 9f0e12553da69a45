/* Saving: the writer streams entries from a cursor into a temporary file in the folder of the target, syncs it, and renames it
 * over the target. */
#include "core/threads.h"
#include "snapshot/format.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Entries per step. Their keys and their values are whole blocks, whether an element has 4 or 8 bytes. */
#define STEP_ENTRIES    (UINT64_C(1) << 20)
#define TEMPORARY_EXTRA 64u /* room for the temporary's own name behind the directory */
#define NAME_ATTEMPTS   100

_Static_assert(STEP_ENTRIES * 4 % SNAPSHOT_BLOCK == 0, "a step must end at the end of a block");

typedef struct writer {
    const copse_index *index;
    const copse_ctx *ctx;
    const char *path;
    snapshot_header header;
    int file;        /* -1: not open */
    int directory;   /* -1: not open */
    char *temporary; /* the path of the temporary file */
    size_t temporary_size;
    bool temporary_exists;
    uint64_t *checksums;
    size_t checksums_size;
    void *buffers[2]; /* keys and values of one step */
    size_t buffer_sizes[2];
} writer;

/* strerror is safe with threads in the C libraries that copse runs on; only the standard does not promise it. */
static copse_status fail_io(const writer *w, const char *step, int error)
{
    return copse_fail(w->ctx, COPSE_ERR_IO, "cannot save the snapshot '%s': %s: %s", snapshot_shown(w->path), step,
                      strerror(error));
}

/* Returns 0 or the error number. */
static int write_all(int file, const void *bytes, size_t size, uint64_t offset)
{
    const char *from = bytes;
    while (size) {
        ssize_t n = pwrite(file, from, size, (off_t)offset);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return n < 0 ? errno : EIO;
        from += n;
        offset += (uint64_t)n;
        size -= (size_t)n;
    }
    return 0;
}

/* --- the temporary file ----------------------------------------------------------------------------------------- */

/* Renaming over anything but a plain file would be a surprise (a device, a directory), so that is refused. On success
 * *out_mode is what the new file may have: as the old one, else as the umask says. */
static copse_status target_check(const writer *w, mode_t *out_mode, bool *out_replaces)
{
    struct stat old;
    size_t length = strlen(w->path);
    *out_mode = 0666;
    *out_replaces = false;
    if (length == 0) return copse_fail(w->ctx, COPSE_ERR_ARGUMENT, "copse_save: path is empty");
    if (w->path[length - 1] == '/') return fail_io(w, "the path names a directory", EISDIR);
    if (stat(w->path, &old) != 0) return COPSE_OK; /* not there; if it is worse, making the temporary file will fail */
    if (S_ISDIR(old.st_mode)) return fail_io(w, "the path names a directory", EISDIR);
    if (!S_ISREG(old.st_mode))
        return copse_fail(w->ctx, COPSE_ERR_IO, "cannot save the snapshot '%s': what is there is not a regular file",
                          snapshot_shown(w->path));
    *out_mode = old.st_mode & 0777;
    *out_replaces = true;
    return COPSE_OK;
}

static copse_status directory_open(writer *w, size_t directory_length)
{
    char last = w->temporary[directory_length];
    w->temporary[directory_length] = '\0';
    w->directory = open(directory_length ? w->temporary : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int error = errno;
    w->temporary[directory_length] = last;
    /* A directory may allow writing and not reading; then it just cannot be synced. */
    if (w->directory < 0 && error != EACCES) return fail_io(w, "cannot open its directory", error);
    return COPSE_OK;
}

static copse_status temporary_open(writer *w)
{
    static atomic_uint serial;
    mode_t mode;
    bool replaces;
    copse_status status = target_check(w, &mode, &replaces);
    if (status != COPSE_OK) return status;
    const char *slash = strrchr(w->path, '/');
    size_t directory_length = slash ? (size_t)(slash - w->path) + 1 : 0;
    memcpy(w->temporary, w->path, directory_length);
    if ((status = directory_open(w, directory_length)) != COPSE_OK) return status;
    for (int attempt = 0; attempt < NAME_ATTEMPTS; attempt++) {
        /* A name of its own, not the target's with a suffix: that might be too long. */
        snprintf(w->temporary + directory_length, TEMPORARY_EXTRA, ".copse-%ld-%u.tmp", (long)getpid(),
                 atomic_fetch_add(&serial, 1));
        w->file = open(w->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
        if (w->file >= 0 || errno != EEXIST) break;
    }
    if (w->file < 0) return fail_io(w, "cannot make a temporary file beside it", errno);
    w->temporary_exists = true;
    /* The permissions of a replaced file stay, whatever the umask; where that fails, the umask's have to do. */
    if (replaces && fchmod(w->file, mode) != 0) errno = 0;
    return COPSE_OK;
}

/* --- content ---------------------------------------------------------------------------------------------------- */

typedef struct write_job {
    writer *w;
    uint64_t first;    /* block */
    const char *bytes; /* of it */
    int error;         /* atomic */
} write_job;

static void write_part(void *argument, uint64_t from_block, uint64_t to_block)
{
    write_job *job = argument;
    writer *w = job->w;
    uint64_t start = snapshot_block_at(&w->header, job->first).start;
    for (uint64_t i = job->first + from_block; i < job->first + to_block; i++) {
        snapshot_block block = snapshot_block_at(&w->header, i);
        const char *from = job->bytes + (block.start - start);
        w->checksums[i] = snapshot_checksum(from, block.size);
        int failed = write_all(w->file, from, block.size, w->header.sections[block.section].offset + block.start);
        if (failed) __atomic_store_n(&job->error, failed, __ATOMIC_RELAXED);
    }
}

/* Checksums and writes blocks first .. first + count - 1 of a section; they lie at `bytes`. */
static int blocks_write(writer *w, uint64_t first, uint64_t count, const char *bytes)
{
    write_job job = {w, first, bytes, 0};
    copse_parallel(w->ctx, snapshot_threads(w->ctx, &w->header, count), count, 1, write_part, &job);
    return job.error;
}

/* Writes n entries from the buffers, the first of them being entry `first`. */
static copse_status step_write(writer *w, uint64_t first, uint64_t n)
{
    uint64_t key_size = copse_type_size((copse_type)w->header.key_type);
    uint64_t value_size = copse_type_size((copse_type)w->header.value_type);
    uint64_t key_blocks = snapshot_blocks(w->header.sections[SNAPSHOT_KEYS].length);
    int error = blocks_write(w, first * key_size / SNAPSHOT_BLOCK, snapshot_blocks(n * key_size), w->buffers[0]);
    if (!error)
        error = blocks_write(w, key_blocks + first * value_size / SNAPSHOT_BLOCK, snapshot_blocks(n * value_size),
                             w->buffers[1]);
    return error ? fail_io(w, "writing the temporary file failed", error) : COPSE_OK;
}

/* Fills the buffers with exactly n entries. */
static copse_status step_read(writer *w, copse_cursor *cursor, uint64_t n)
{
    uint64_t key_size = copse_type_size((copse_type)w->header.key_type);
    uint64_t value_size = copse_type_size((copse_type)w->header.value_type);
    for (uint64_t have = 0, got; have < n; have += got) {
        copse_status status = copse_cursor_next(cursor, (char *)w->buffers[0] + have * key_size,
                                                (char *)w->buffers[1] + have * value_size, n - have, &got);
        if (status != COPSE_OK) return status;
        if (got == 0)
            return copse_fail(w->ctx, COPSE_ERR_CORRUPT,
                              "cannot save the snapshot '%s': the index ended before the %llu entries that it counts",
                              snapshot_shown(w->path), (unsigned long long)w->header.entries);
    }
    return COPSE_OK;
}

static copse_status entries_write(writer *w)
{
    uint64_t total = w->header.entries, n;
    copse_cursor *cursor = NULL;
    copse_status status = copse_cursor_open(w->index, NULL, &cursor);
    for (uint64_t first = 0; status == COPSE_OK && first < total; first += n) {
        n = total - first < STEP_ENTRIES ? total - first : STEP_ENTRIES;
        status = step_read(w, cursor, n);
        if (status == COPSE_OK) status = step_write(w, first, n);
        if (status == COPSE_OK) status = copse_progress(w->ctx, "saving", first + n, total);
    }
    copse_cursor_free(cursor);
    return status;
}

/* The header goes last: until then the file is not a snapshot at all. */
static copse_status tables_write(writer *w)
{
    const snapshot_section *checksums = &w->header.sections[SNAPSHOT_CHECKSUMS];
    w->header.checksums_checksum = snapshot_checksum(w->checksums, (size_t)checksums->length);
    w->header.checksum = snapshot_header_checksum(&w->header);
    int error = write_all(w->file, w->checksums, (size_t)checksums->length, checksums->offset);
    if (!error) error = write_all(w->file, &w->header, sizeof w->header, 0);
    return error ? fail_io(w, "writing the temporary file failed", error) : COPSE_OK;
}

/* --- putting it in place ---------------------------------------------------------------------------------------- */

static copse_status publish(writer *w)
{
    if (fsync(w->file) != 0) return fail_io(w, "syncing the temporary file failed", errno);
    int closed = close(w->file);
    w->file = -1;
    if (closed != 0) return fail_io(w, "closing the temporary file failed", errno);
    if (rename(w->temporary, w->path) != 0) return fail_io(w, "renaming the temporary file failed", errno);
    w->temporary_exists = false;
    /* EINVAL: a file system that does not sync directories. */
    if (w->directory >= 0 && fsync(w->directory) != 0 && errno != EINVAL)
        return fail_io(w, "it is in place, but syncing its directory failed, so that it may not outlive a power cut",
                       errno);
    return COPSE_OK;
}

static copse_status writer_allocate(writer *w)
{
    uint64_t step = w->header.entries < STEP_ENTRIES ? w->header.entries : STEP_ENTRIES;
    /* An allocator may answer NULL to a request for nothing: an empty index asks for one entry. */
    if (step == 0) step = 1;
    w->temporary_size = strlen(w->path) + TEMPORARY_EXTRA;
    w->checksums_size = (size_t)w->header.sections[SNAPSHOT_CHECKSUMS].length + sizeof(uint64_t);
    w->buffer_sizes[0] = (size_t)step * copse_type_size((copse_type)w->header.key_type);
    w->buffer_sizes[1] = (size_t)step * copse_type_size((copse_type)w->header.value_type);
    if (!(w->temporary = copse_memory_alloc(w->ctx, w->temporary_size)) ||
        !(w->checksums = copse_memory_alloc(w->ctx, w->checksums_size)) ||
        !(w->buffers[0] = copse_memory_alloc(w->ctx, w->buffer_sizes[0])) ||
        !(w->buffers[1] = copse_memory_alloc(w->ctx, w->buffer_sizes[1])))
        return copse_fail_memory(w->ctx,
                                 w->temporary_size + w->checksums_size + w->buffer_sizes[0] + w->buffer_sizes[1],
                                 "saving the snapshot");
    return COPSE_OK;
}

static void writer_close(writer *w)
{
    if (w->file >= 0) close(w->file);
    if (w->directory >= 0) close(w->directory);
    if (w->temporary_exists) unlink(w->temporary);
    copse_memory_free(w->ctx, w->buffers[1], w->buffer_sizes[1]);
    copse_memory_free(w->ctx, w->buffers[0], w->buffer_sizes[0]);
    copse_memory_free(w->ctx, w->checksums, w->checksums_size);
    copse_memory_free(w->ctx, w->temporary, w->temporary_size);
}

copse_status copse_save(const copse_index *index, const char *path)
{
    copse_stats stats = {.struct_size = sizeof stats};
    if (!index || !path)
        return copse_fail(index ? index->ctx : NULL, COPSE_ERR_ARGUMENT, "copse_save: %s is NULL",
                          index ? "path" : "index");
    writer w = {.index = index, .ctx = index->ctx, .path = path, .file = -1, .directory = -1};
    copse_status status = copse_index_stats(index, &stats);
    if (status != COPSE_OK) return status;
    if (!snapshot_header_fill(&w.header, &stats))
        return copse_fail(w.ctx, COPSE_ERR_UNSUPPORTED, "copse_save: %llu entries are more than a snapshot can hold",
                          (unsigned long long)stats.entries);
    status = writer_allocate(&w);
    if (status == COPSE_OK) status = temporary_open(&w);
    if (status == COPSE_OK) status = entries_write(&w);
    if (status == COPSE_OK) status = tables_write(&w);
    if (status == COPSE_OK) status = publish(&w);
    writer_close(&w);
    return status;
}
