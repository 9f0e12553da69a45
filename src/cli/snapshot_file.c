/* Saving a snapshot, also to standard output: it is saved in a folder of its own and then copied, because the library writes
 * files that it can sync and rename. */
#define _XOPEN_SOURCE 700
#include "cli/files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define COPY_SIZE ((size_t)1 << 16)

int cli_snapshot_check(const char *command, const char *path, bool json)
{
    if (!cli_is_stdout(path)) return CLI_OK;
    if (json) return cli_usage_error(command, "with -o - the snapshot goes to standard output, where --json cannot go");
    if (isatty(STDOUT_FILENO) != 1) return CLI_OK;
    return cli_usage_error(command, "a snapshot is no text for a terminal; -o - is for a pipe or a file");
}

static int save_at(cli_session *session, const char *path)
{
    copse_status status = copse_save(session->index, path);
    cli_progress_clear(&session->progress);
    return status == COPSE_OK ? CLI_OK : cli_session_fail(session, status);
}

static bool write_all(int file, const char *bytes, size_t size)
{
    while (size > 0) {
        ssize_t put = write(file, bytes, size);
        if (put < 0 && (errno != EINTR || cli_interrupted())) return false;
        if (put < 0) continue;
        bytes += put;
        size -= (size_t)put;
    }
    return true;
}

static int copy_out(cli_session *session, int file, uint64_t *out_bytes)
{
    char *buffer = malloc(COPY_SIZE);
    ssize_t got = 0;
    bool written = true;
    if (!buffer) return cli_fail(session->command, "out of memory");
    fflush(stdout);
    while (written && !cli_interrupted() && (got = read(file, buffer, COPY_SIZE)) > 0) {
        written = write_all(STDOUT_FILENO, buffer, (size_t)got);
        *out_bytes += (uint64_t)got;
    }
    free(buffer);
    if (cli_interrupted()) return cli_session_fail(session, COPSE_ERR_CANCELLED);
    if (!written) return cli_fail(session->command, "standard output could not be written: %s", strerror(errno));
    return got == 0 ? CLI_OK : cli_fail(session->command, "the snapshot could not be read back: %s", strerror(errno));
}

/* Both are gone once the file is open, so that whatever ends the command leaves nothing behind. */
static int open_and_remove(const cli_session *session, const char *folder, const char *path)
{
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) cli_fail(session->command, "cannot open '%s': %s", path, strerror(errno));
    unlink(path);
    rmdir(folder);
    return file;
}

static int save_to_stdout(cli_session *session, uint64_t *out_bytes)
{
    const char *place = getenv("TMPDIR");
    char folder[1024], path[1040];
    int length = snprintf(folder, sizeof folder, "%s/copse-XXXXXX", place && *place ? place : "/tmp");
    if (length < 0 || (size_t)length >= sizeof folder || !mkdtemp(folder))
        return cli_fail(session->command, "cannot make a temporary folder '%s': %s", folder, strerror(errno));
    snprintf(path, sizeof path, "%s/snapshot", folder);
    int code = save_at(session, path);
    if (code != CLI_OK) {
        rmdir(folder);
        return code;
    }
    int file = open_and_remove(session, folder, path);
    if (file < 0) return CLI_FAILED;
    code = copy_out(session, file, out_bytes);
    close(file);
    return code;
}

int cli_snapshot_save(cli_session *session, const char *path, uint64_t *out_bytes)
{
    struct stat about;
    *out_bytes = 0;
    if (cli_is_stdout(path)) return save_to_stdout(session, out_bytes);
    int code = save_at(session, path);
    if (code == CLI_OK && stat(path, &about) == 0) *out_bytes = (uint64_t)about.st_size;
    return code;
}
