/* A file of text that is there whole or not at all. */
#define _XOPEN_SOURCE 700
#include "cli/files.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SUFFIX ".XXXXXX"

bool cli_is_stdout(const char *path)
{
    return strcmp(path, "-") == 0;
}

/* The permissions of a new file, or of the one that it replaces. */
static mode_t mode_for(const char *path)
{
    struct stat old;
    if (stat(path, &old) == 0) return old.st_mode & 0777;
    mode_t mask = umask(0);
    umask(mask);
    return 0666 & ~mask;
}

static int open_temporary(cli_text_file *file)
{
    size_t size = strlen(file->path) + sizeof SUFFIX;
    file->temporary = malloc(size);
    if (!file->temporary) return cli_fail(file->command, "out of memory");
    snprintf(file->temporary, size, "%s%s", file->path, SUFFIX);
    int descriptor = mkstemp(file->temporary);
    if (descriptor < 0) {
        free(file->temporary);
        file->temporary = NULL;
        return cli_fail(file->command, "cannot write '%s': %s", file->path, strerror(errno));
    }
    if (fchmod(descriptor, mode_for(file->path)) != 0) errno = 0; /* some file systems have no permissions */
    file->out = fdopen(descriptor, "w");
    if (file->out) return CLI_OK;
    close(descriptor);
    return cli_fail(file->command, "out of memory");
}

int cli_text_file_open(cli_text_file *file, const char *command, const char *path)
{
    struct stat old;
    *file = (cli_text_file){.command = command, .path = path, .out = stdout};
    if (!path || cli_is_stdout(path)) return CLI_OK;
    file->out = NULL;
    if (stat(path, &old) != 0 || S_ISREG(old.st_mode)) return open_temporary(file);
    file->out = fopen(path, "w");
    return file->out ? CLI_OK : cli_fail(command, "cannot write '%s': %s", path, strerror(errno));
}

static int put_in_place(cli_text_file *file)
{
    errno = 0;
    bool written = fflush(file->out) == 0 && !ferror(file->out);
    if (!written) return cli_fail(file->command, "cannot write '%s': %s", file->path, strerror(errno ? errno : EIO));
    if (!file->temporary || rename(file->temporary, file->path) == 0) return CLI_OK;
    return cli_fail(file->command, "cannot write '%s': %s", file->path, strerror(errno));
}

int cli_text_file_close(cli_text_file *file, int code)
{
    if (file->out == stdout) return code;
    if (code == CLI_OK && file->out) code = put_in_place(file);
    if (file->out) fclose(file->out);
    if (code != CLI_OK && file->temporary) unlink(file->temporary);
    free(file->temporary);
    file->temporary = NULL;
    file->out = NULL;
    return code;
}
