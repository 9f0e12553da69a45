/* Changing a snapshot: load it, change it in memory, save it in one piece, and say what was done. */
#define _DEFAULT_SOURCE
#include "cli/update.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

int cli_update_check(const char *command, const cli_update *update)
{
    return cli_snapshot_check(command, update->output ? update->output : update->path, update->json);
}

/* ---- one at a time: of two commands that load, change and save the same file, the first one's changes would be lost ---- */

static bool is_still_at(int file, const char *path)
{
    struct stat held, there;
    return fstat(file, &held) == 0 && stat(path, &there) == 0 && held.st_ino == there.st_ino &&
           held.st_dev == there.st_dev;
}

static int wait_for_lock(cli_session *session, const cli_update *update, int file)
{
    if (flock(file, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return CLI_OK;
    if (!update->quiet) cli_note(session->command, "waiting for another command that changes '%s'", update->path);
    while (flock(file, LOCK_EX) != 0 && errno == EINTR)
        if (cli_interrupted()) return cli_session_fail(session, COPSE_ERR_CANCELLED);
    return CLI_OK;
}

static void unlock(cli_update *update)
{
    if (update->lock >= 0) close(update->lock);
    update->lock = -1;
}

/* Where a file system has no locks, and where the file cannot be opened, which loading it will show, it goes on without. */
static int lock_snapshot(cli_session *session, cli_update *update)
{
    int code = CLI_OK;
    while (code == CLI_OK) {
        update->lock = open(update->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        if (update->lock < 0) return CLI_OK;
        code = wait_for_lock(session, update, update->lock);
        /* The command that held the lock has put a new file in its place. */
        if (code != CLI_OK || is_still_at(update->lock, update->path)) return code;
        unlock(update);
    }
    return code;
}

void cli_update_end(cli_update *update)
{
    unlock(update);
    free(update->target);
    update->target = NULL;
}

/* ---- load and save ---- */

int cli_update_load(cli_session *session, cli_update *update, bool keep_duplicates)
{
    /* Types and structure 0: as in the file. */
    copse_index_options options = {.struct_size = offsetof(copse_index_options, duplicates)};
    options.placement = COPSE_PLACEMENT_CPU;
    if (keep_duplicates) {
        options.struct_size = sizeof options;
        options.duplicates = 1;
    }
    /* A link to a snapshot stays one: the file behind it is replaced. */
    update->target = realpath(update->path, NULL);
    if (!update->dry_run) {
        int code = lock_snapshot(session, update);
        if (code != CLI_OK) return code;
    }
    copse_status status = copse_load(session->ctx, update->path, &options, &session->index);
    cli_progress_clear(&session->progress);
    session->stats.struct_size = sizeof session->stats;
    if (status == COPSE_OK) status = copse_index_stats(session->index, &session->stats);
    update->entries_before = session->stats.entries;
    return status == COPSE_OK ? CLI_OK : cli_session_fail(session, status);
}

int cli_update_save(cli_session *session, cli_update *update, bool changed)
{
    if (update->dry_run || (!changed && !update->output)) return CLI_OK;
    const char *path = update->output ? update->output : update->target ? update->target : update->path;
    uint64_t bytes = 0;
    int code = cli_snapshot_save(session, path, &bytes);
    update->written = code == CLI_OK;
    return code;
}

/* ---- the report ---- */

static void print_json(const cli_session *session, const cli_update *update, const cli_update_count *counts,
                       size_t count)
{
    cli_json json;
    cli_json_begin(&json, stdout);
    cli_json_text(&json, "file", update->output ? update->output : update->path);
    cli_json_u64(&json, "entries", copse_size(session->index));
    cli_json_u64(&json, "entries_before", update->entries_before);
    for (size_t i = 0; i < count; i++) cli_json_u64(&json, counts[i].name, counts[i].count);
    cli_json_bool(&json, "written", update->written);
    cli_json_end(&json);
}

static void print_text(const cli_session *session, const cli_update *update, const cli_update_count *counts,
                       size_t count)
{
    char a[CLI_NUMBER_SIZE], b[CLI_NUMBER_SIZE], label[32];
    printf("%s%s\n", update->output ? update->output : update->path, update->written ? "" : " (not written)");
    cli_fact("entries", "%s, before %s", cli_group(copse_size(session->index), a),
             cli_group(update->entries_before, b));
    for (size_t i = 0; i < count; i++) {
        if (counts[i].count == 0 && !counts[i].always) continue;
        snprintf(label, sizeof label, "%s", counts[i].name);
        for (char *at = label; *at; at++)
            if (*at == '_') *at = ' ';
        cli_fact(label, "%s", cli_group(counts[i].count, a));
    }
}

void cli_update_report(const cli_session *session, const cli_update *update, const cli_update_count *counts,
                       size_t count)
{
    char entries[CLI_NUMBER_SIZE];
    if (update->written && update->output && cli_is_stdout(update->output)) {
        if (!update->quiet)
            cli_note(session->command, "%s entries to standard output", cli_group(copse_size(session->index), entries));
    } else if (update->json) {
        print_json(session, update, counts, count);
    } else {
        print_text(session, update, counts, count);
    }
}
