/* Operations on the whole index: visit, a round trip through a snapshot in a file or in memory, a move to another placement. */
#define _POSIX_C_SOURCE 200809L
#include "subject_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct visit_state {
    struct subject *subject;
    uint64_t at;
    uint64_t stop_after; /* 0: never */
    bool right;
    bool stopped;
};

static int visit_entries(void *user, const void *keys, const void *values, uint64_t n)
{
    struct visit_state *state = user;
    const struct model *model = &state->subject->model;
    if (state->stopped) state->right = subject_fail(state->subject, "visit went on after the callback said stop");
    if (n == 0 || n > model->n - state->at)
        state->right = subject_fail(state->subject, "visit gave %llu entries after %llu of %llu", (unsigned long long)n,
                                    (unsigned long long)state->at, (unsigned long long)model->n);
    for (uint64_t i = 0; state->right && i < n; i++, state->at++)
        if (typed_code(model->key_type, keys, i) != model->entries[state->at].key ||
            typed_bits(model->value_type, values, i) != model->entries[state->at].value)
            state->right =
                subject_fail(state->subject, "the visit's entry %llu is wrong", (unsigned long long)state->at);
    state->stopped = !state->right || (state->stop_after && state->at >= state->stop_after);
    return state->stopped;
}

bool subject_run_visit(struct subject *subject, const struct operation *operation)
{
    struct visit_state state = {subject, 0, operation->limit, true, false};
    struct placed_call call = subject_begin(subject);
    subject_arm(subject, operation);
    copse_status status = copse_visit(subject->index, visit_entries, &state);
    status = subject_end(subject, &call, status);
    if (!state.right) return false;
    if (subject_excused(subject, operation, status)) return true;
    if (status != (state.stopped ? COPSE_ERR_CANCELLED : COPSE_OK))
        return subject_fail(subject, "visit returned %s", copse_status_name(status));
    if (!state.stopped && state.at != subject->model.n)
        return subject_fail(subject, "visit ended after %llu of %llu entries", (unsigned long long)state.at,
                            (unsigned long long)subject->model.n);
    return true;
}

static bool temporary_path(char *path, size_t size)
{
    const char *directory = getenv("TMPDIR");
    (void)snprintf(path, size, "%s/copse-test-XXXXXX", directory && *directory ? directory : "/tmp");
    int file = mkstemp(path);
    return file >= 0 && close(file) == 0;
}

/* From a file, or where there is no path from memory. */
static copse_status load_copy(struct subject *subject, const struct operation *operation, const char *path,
                              const void *bytes, uint64_t size, copse_index **out_copy)
{
    copse_index_options options = COPSE_INDEX_OPTIONS_INIT;
    const copse_index_options *wish = operation->limit == 0 && operation->target == 0 ? NULL : &options;
    options.key_type = operation->omit & 1 ? (copse_type)0 : subject->config.key_type;
    options.value_type = operation->omit & 1 ? (copse_type)0 : subject->config.value_type;
    options.structure = (copse_structure)operation->limit;
    options.placement = (copse_placement)operation->target;
    options.duplicates = subject->config.duplicates;
    return path ? copse_load(subject->ctx, path, wish, out_copy)
                : copse_load_memory(subject->ctx, bytes, size, wish, out_copy);
}

/* A structure that is not there for the placement was asked for: nothing else may come of it. */
static bool check_refused(struct subject *subject, copse_status status)
{
    if (status != COPSE_ERR_UNSUPPORTED)
        return subject_fail(subject, "a structure that the placement lacks gave %s", copse_status_name(status));
    return subject_check_content(subject);
}

/* The index goes on as the copy that was read back; an automatic placement is whatever the copy says. */
static bool take_copy(struct subject *subject, const struct operation *operation, copse_index *copy)
{
    copse_stats stats = {.struct_size = sizeof stats};
    copse_index_free(subject->index);
    subject->index = copy;
    subject_tune(subject);
    if (copse_index_stats(copy, &stats) != COPSE_OK) return subject_fail(subject, "a loaded index has no stats");
    if (operation->target && stats.placement != (copse_placement)operation->target)
        return subject_fail(subject, "a loaded index is at another placement");
    if (operation->target && operation->limit && stats.structure != (copse_structure)operation->limit)
        return subject_fail(subject, "a loaded index is of another structure");
    subject->config.structure = stats.structure;
    subject->config.placement = stats.placement;
    if (operation->target) return subject_check_content(subject);
    if (stats.placement == COPSE_PLACEMENT_EMULATED)
        return subject_fail(subject, "the automatic placement is the emulator");
    subject->config.placement = stats.placement;
    /* Else it would go to a card, where there is one, when it grows: the model does not follow that. */
    if (copse_move(copy, (copse_placement)stats.placement) != COPSE_OK)
        return subject_fail(subject, "staying where it is: %s", copse_last_error(subject->ctx));
    return subject_check_content(subject);
}

/* The file stays open beside the index: later reads are asked of both. */
static bool open_file(struct subject *subject, const char *path)
{
    copse_index_free(subject->file);
    subject->file = NULL;
    if (copse_open(subject->ctx, path, NULL, &subject->file) != COPSE_OK || copse_verify(subject->file) != COPSE_OK)
        return subject_fail(subject, "the saved file: %s", copse_last_error(subject->ctx));
    return true;
}

/* What came of saving and loading: a copy, with which the index goes on, or a status. */
static bool loaded(struct subject *subject, const struct operation *operation, bool saving, copse_status status,
                   copse_index *copy)
{
    /* A structure that the placement lacks is refused where both were asked for; else the nearest one serves. */
    bool offered = !operation->target || !operation->limit ||
                   subject_offered((copse_structure)operation->limit, (copse_placement)operation->target);
    bool skip = false;
    if (status == COPSE_OK && offered) return take_copy(subject, operation, copy);
    if (copy) return subject_fail(subject, "a failed load gave an index");
    if (!offered && !saving && !subject_excused(subject, operation, status)) return check_refused(subject, status);
    bool right = subject_expect(subject, operation, status, &skip);
    if (!right)
        (void)snprintf(subject->why, sizeof subject->why, "%s: %s", saving ? "save" : "load",
                       copse_last_error(subject->ctx));
    return right && subject_check_content(subject);
}

bool subject_run_save_load(struct subject *subject, const struct operation *operation)
{
    char path[512];
    copse_index *copy = NULL;
    if (!temporary_path(path, sizeof path)) return subject_fail(subject, "cannot make a temporary file");
    struct placed_call call = subject_begin(subject);
    subject_arm(subject, operation);
    copse_status status = copse_save(subject->index, path);
    bool saving = status != COPSE_OK;
    if (!saving) status = load_copy(subject, operation, path, NULL, 0, &copy);
    status = subject_end(subject, &call, status);
    bool opened = saving || open_file(subject, path);
    (void)unlink(path);
    return opened && loaded(subject, operation, saving, status, copy);
}

/* How large the snapshot is, and that a buffer one byte short is refused. */
static bool memory_size(struct subject *subject, uint64_t *out_size)
{
    uint64_t again = 0;
    if (copse_save_memory(subject->index, NULL, 0, out_size) != COPSE_OK)
        return subject_fail(subject, "save's size: %s", copse_last_error(subject->ctx));
    void *bytes = must_malloc(*out_size);
    copse_status status = copse_save_memory(subject->index, bytes, *out_size - 1, &again);
    free(bytes);
    return (status == COPSE_ERR_TOO_SMALL && again == *out_size) ||
           subject_fail(subject, "a buffer one byte short gave %s, and size %llu for %llu", copse_status_name(status),
                        (unsigned long long)again, (unsigned long long)*out_size);
}

bool subject_run_save_memory(struct subject *subject, const struct operation *operation)
{
    copse_index *copy = NULL;
    uint64_t size = 0, written = 0;
    if (!memory_size(subject, &size)) return false;
    void *bytes = must_malloc(size);
    struct placed_call call = subject_begin(subject);
    subject_arm(subject, operation);
    copse_status status = copse_save_memory(subject->index, bytes, size, &written);
    bool saving = status != COPSE_OK;
    if (!saving) status = load_copy(subject, operation, NULL, bytes, written, &copy);
    status = subject_end(subject, &call, status);
    free(bytes);
    if (!saving && written != size) return subject_fail(subject, "a snapshot has another size than it was to have");
    return loaded(subject, operation, saving, status, copy);
}

bool subject_run_move(struct subject *subject, const struct operation *operation)
{
    copse_placement away = subject->config.placement == COPSE_PLACEMENT_CPU ? subject->made_at : COPSE_PLACEMENT_CPU;
    copse_placement target = operation->target ? (copse_placement)operation->target : away;
    bool skip = false;
    copse_stats stats = {.struct_size = sizeof stats};
    struct placed_call call = subject_begin(subject);
    subject_arm(subject, operation);
    copse_status status = subject_end(subject, &call, copse_move(subject->index, target));
    if (!subject_expect(subject, operation, status, &skip)) return false;
    if (copse_index_stats(subject->index, &stats) != COPSE_OK) return subject_fail(subject, "no stats after a move");
    subject->config.structure = stats.structure;
    if (!skip) subject->config.placement = target;
    subject_tune(subject);
    return subject_check_content(subject);
}
