/* The file that a snapshot is written to, until it is in place. */
#include "snapshot/target.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TEMPORARY_EXTRA 64u /* room for the temporary's own name behind the directory */
#define NAME_ATTEMPTS   100

/* strerror is safe with threads in the C libraries that copse runs on; only the standard does not promise it. */
copse_status snapshot_fail_write(const snapshot_target *target, const char *step, int error)
{
    return copse_fail(target->ctx, COPSE_ERR_IO, "cannot save the snapshot '%s': %s: %s", snapshot_shown(target->path),
                      step, strerror(error));
}

int snapshot_target_write(const snapshot_target *target, const void *bytes, size_t size, uint64_t offset)
{
    const char *from = bytes;
    offset += target->base;
    if (target->bytes && size) memcpy(target->bytes + offset, from, size);
    while (!target->bytes && size) {
        ssize_t n = pwrite(target->file, from, size, (off_t)offset);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return n < 0 ? errno : EIO;
        from += n;
        offset += (uint64_t)n;
        size -= (size_t)n;
    }
    return 0;
}

/* Renaming over anything but a plain file would be a surprise (a device, a directory), so that is refused. On success
 * *out_mode is what the new file may have: as the old one, else as the umask says. */
static copse_status place_check(const snapshot_target *target, mode_t *out_mode, bool *out_replaces)
{
    struct stat old;
    size_t length = strlen(target->path);
    *out_mode = 0666;
    *out_replaces = false;
    if (length == 0) return copse_fail_argument(target->ctx, "path", "copse_save: path is empty");
    if (target->path[length - 1] == '/') return snapshot_fail_write(target, "the path names a directory", EISDIR);
    if (stat(target->path, &old) != 0)
        return COPSE_OK; /* not there; if it is worse, making the temporary file will fail */
    if (S_ISDIR(old.st_mode)) return snapshot_fail_write(target, "the path names a directory", EISDIR);
    if (!S_ISREG(old.st_mode))
        return copse_fail(target->ctx, COPSE_ERR_IO,
                          "cannot save the snapshot '%s': what is there is not a regular file",
                          snapshot_shown(target->path));
    *out_mode = old.st_mode & 0777;
    *out_replaces = true;
    return COPSE_OK;
}

static copse_status directory_open(snapshot_target *target, size_t directory_length)
{
    char last = target->temporary[directory_length];
    target->temporary[directory_length] = '\0';
    target->directory = open(directory_length ? target->temporary : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int error = errno;
    target->temporary[directory_length] = last;
    /* A directory may allow writing and not reading; then it just cannot be synced. */
    if (target->directory < 0 && error != EACCES)
        return snapshot_fail_write(target, "cannot open its directory", error);
    return COPSE_OK;
}

copse_status snapshot_target_open(snapshot_target *target)
{
    static atomic_uint serial;
    mode_t mode;
    bool replaces;
    copse_status status = place_check(target, &mode, &replaces);
    if (status != COPSE_OK) return status;
    target->temporary_size = strlen(target->path) + TEMPORARY_EXTRA;
    if (!(target->temporary = copse_memory_alloc(target->ctx, target->temporary_size)))
        return copse_fail_memory(target->ctx, target->temporary_size, "saving the snapshot");
    const char *slash = strrchr(target->path, '/');
    size_t directory_length = slash ? (size_t)(slash - target->path) + 1 : 0;
    memcpy(target->temporary, target->path, directory_length);
    if ((status = directory_open(target, directory_length)) != COPSE_OK) return status;
    for (int attempt = 0; attempt < NAME_ATTEMPTS; attempt++) {
        /* A name of its own, not the target's with a suffix: that might be too long. */
        snprintf(target->temporary + directory_length, TEMPORARY_EXTRA, ".copse-%ld-%u.tmp", (long)getpid(),
                 atomic_fetch_add(&serial, 1));
        target->file = open(target->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
        if (target->file >= 0 || errno != EEXIST) break;
    }
    if (target->file < 0) return snapshot_fail_write(target, "cannot make a temporary file in its folder", errno);
    target->temporary_exists = true;
    /* The permissions of a replaced file stay, whatever the umask; where that fails, the umask's have to do. */
    if (replaces && fchmod(target->file, mode) != 0) errno = 0;
    return COPSE_OK;
}

/* --- putting it in place ---------------------------------------------------------------------------------------- */

copse_status snapshot_target_publish(snapshot_target *target)
{
    if (fsync(target->file) != 0) return snapshot_fail_write(target, "syncing the temporary file failed", errno);
    int closed = close(target->file);
    target->file = -1;
    if (closed != 0) return snapshot_fail_write(target, "closing the temporary file failed", errno);
    if (rename(target->temporary, target->path) != 0)
        return snapshot_fail_write(target, "renaming the temporary file failed", errno);
    target->temporary_exists = false;
    /* EINVAL: a file system that does not sync directories. */
    if (target->directory >= 0 && fsync(target->directory) != 0 && errno != EINVAL)
        return snapshot_fail_write(
            target, "it is in place, but syncing its directory failed, so that it may not outlive a power cut", errno);
    return COPSE_OK;
}

void snapshot_target_close(snapshot_target *target)
{
    if (target->file >= 0) close(target->file);
    if (target->directory >= 0) close(target->directory);
    if (target->temporary_exists) unlink(target->temporary);
    copse_memory_free(target->ctx, target->temporary, target->temporary_size);
}
