/* A context, a progress bar and a snapshot: what most subcommands begin and end with. */
#define _POSIX_C_SOURCE 200809L
#include "cli/cli.h"

#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "trees/registry.h"

static int open_context(cli_session *session, const char *command, uint64_t threads, bool quiet,
                        const cli_placement *where, copse_huge_pages huge_pages)
{
    copse_ctx_options options = COPSE_CTX_OPTIONS_INIT;
    memset(session, 0, sizeof *session);
    session->command = command;
    session->key_style = isatty(STDOUT_FILENO) == 1 ? CLI_KEY_TERMINAL : CLI_KEY_LINE;
    session->placement = where ? where->placement : COPSE_PLACEMENT_CPU;
    if (threads > UINT32_MAX) return cli_usage_error(command, "--threads is too large");
    cli_progress_start(&session->progress, quiet);
    options.threads = (uint32_t)threads;
    options.huge_pages = huge_pages;
    if (where && where->device != CLI_NO_DEVICE) options.device = (int32_t)where->device;
    options.progress = cli_progress_callback;
    options.progress_user = &session->progress;
    if (copse_ctx_create(&options, &session->ctx) == COPSE_OK) return CLI_OK;
    return cli_fail(command, "%s", copse_last_error(NULL));
}

int cli_session_open(cli_session *session, const char *command, uint64_t threads, bool quiet,
                     const cli_placement *where)
{
    return open_context(session, command, threads, quiet, where, COPSE_HUGE_PAGES_AUTO);
}

int cli_session_open_once(cli_session *session, const char *command, uint64_t threads, bool quiet)
{
    return open_context(session, command, threads, quiet, NULL, COPSE_HUGE_PAGES_OFF);
}

/* Whether the keys of a file are text, for which a device has no tree. */
static bool has_text_keys(const cli_session *session, const char *path)
{
    copse_index *index = NULL;
    copse_stats stats = {.struct_size = sizeof stats};
    bool known =
        copse_open(session->ctx, path, NULL, &index) == COPSE_OK && copse_index_stats(index, &stats) == COPSE_OK;
    copse_index_free(index);
    return known && stats.key_type == COPSE_BYTES;
}

/* Commands only read, so that the CPU takes the file as it lies. On a device it becomes the tree that reads fastest there: a file
 * holds entries, not a tree. */
copse_status cli_session_try_load(cli_session *session, const char *path)
{
    /* Types and structure 0, and no word about duplicates: as in the file. */
    copse_index_options options = {.struct_size = offsetof(copse_index_options, duplicates)};
    const bool device = cli_placement_is_device(session->placement);
    copse_status status = COPSE_ERR_UNSUPPORTED;
    options.placement = session->placement;
    if (device && !has_text_keys(session, path)) /* else the file's: that one is not there, and the library says so */
        options.structure = copse_registry_automatic(session->placement, COPSE_AUTO_READS);
    if (!device) status = copse_open(session->ctx, path, &options, &session->index);
    /* A file of the first version has to be loaded. */
    if (status == COPSE_ERR_UNSUPPORTED) status = copse_load(session->ctx, path, &options, &session->index);
    cli_progress_clear(&session->progress);
    session->stats.struct_size = sizeof session->stats;
    return status == COPSE_OK ? copse_index_stats(session->index, &session->stats) : status;
}

int cli_session_load(cli_session *session, const char *path)
{
    copse_status status = cli_session_try_load(session, path);
    return status == COPSE_OK ? CLI_OK : cli_session_fail(session, status);
}

bool cli_session_is_set(const cli_session *session)
{
    return session->stats.value_type == COPSE_NONE;
}

bool cli_session_is_open_file(const cli_session *session)
{
    return session->stats.saved_structure != COPSE_STRUCTURE_AUTO;
}

/* Without the name of the call, with which sentences about its arguments begin: it says something to who writes C. */
static const char *without_call(const char *sentence)
{
    static const char prefix[] = "copse_";
    size_t length = strspn(sentence, "abcdefghijklmnopqrstuvwxyz0123456789_");
    bool call = strncmp(sentence, prefix, sizeof prefix - 1) == 0 && strncmp(sentence + length, ": ", 2) == 0;
    return call ? sentence + length + 2 : sentence;
}

int cli_session_fail(cli_session *session, copse_status status)
{
    cli_progress_clear(&session->progress);
    if (status == COPSE_ERR_CANCELLED && cli_interrupted()) {
        cli_note(session->command, "interrupted");
        return CLI_INTERRUPTED;
    }
    const char *sentence = without_call(copse_last_error(session->ctx));
    return cli_fail(session->command, "%s", *sentence ? sentence : copse_status_name(status));
}

void cli_session_close(cli_session *session)
{
    cli_progress_clear(&session->progress);
    copse_index_free(session->index);
    copse_ctx_free(session->ctx);
    session->index = NULL;
    session->ctx = NULL;
}
