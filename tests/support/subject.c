#include "subject_internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool operation_updates(enum operation_kind kind)
{
    return kind <= OPERATION_ERASE;
}

bool operation_has_bounds(enum operation_kind kind)
{
    return kind >= OPERATION_RANGE && kind <= OPERATION_AVG;
}

const char *operation_name(enum operation_kind kind)
{
    static const char *const names[OPERATION_KINDS] = {"build",       "insert",    "insert-if-absent",
                                                       "erase",       "find",      "contains",
                                                       "lower-bound", "successor", "predecessor",
                                                       "cursor",      "range",     "count",
                                                       "sum",         "sum128",    "min",
                                                       "max",         "avg",       "visit",
                                                       "save-load"};
    return names[kind];
}

void operation_init(struct operation *operation, enum operation_kind kind, uint64_t n)
{
    memset(operation, 0, sizeof *operation);
    operation->kind = kind;
    operation->n = n;
    operation->first = must_malloc(n * sizeof(uint64_t));
    if (operation_has_bounds(kind) || operation_updates(kind)) operation->second = must_malloc(n * sizeof(uint64_t));
    operation->nan_at = operation->fail_at = operation->cancel_at = OPERATION_NO_FAULT;
}

void operation_free(struct operation *operation)
{
    free(operation->first);
    free(operation->second);
    operation->first = operation->second = NULL;
}

void operation_copy(struct operation *to, const struct operation *from)
{
    *to = *from;
    to->first = must_malloc(from->n * sizeof(uint64_t));
    memcpy(to->first, from->first, from->n * sizeof(uint64_t));
    if (!from->second) return;
    to->second = must_malloc(from->n * sizeof(uint64_t));
    memcpy(to->second, from->second, from->n * sizeof(uint64_t));
}

bool subject_fail(struct subject *subject, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(subject->why, sizeof subject->why, format, arguments);
    va_end(arguments);
    return false;
}

static int stop_when_due(void *user, const char *what, uint64_t done, uint64_t total)
{
    struct subject *subject = user;
    (void)what;
    (void)done;
    (void)total;
    if (subject->progress_left < 0) return 0;
    return subject->progress_left-- == 0;
}

void subject_arm(struct subject *subject, const struct operation *operation)
{
    subject->progress_left = operation->cancel_at;
    if (operation->cancel_at >= 0) (void)copse_ctx_set_progress(subject->ctx, stop_when_due, subject);
    if (operation->fail_at >= 0)
        test_allocator_fail_after(&subject->allocator, operation->fail_at, operation->fail_once);
}

void subject_disarm(struct subject *subject)
{
    test_allocator_never_fail(&subject->allocator);
    (void)copse_ctx_set_progress(subject->ctx, NULL, NULL);
}

bool subject_excused(const struct subject *subject, const struct operation *operation, copse_status status)
{
    if (status == COPSE_ERR_MEMORY) return subject->config.own_allocator && operation->fail_at >= 0;
    return status == COPSE_ERR_CANCELLED && operation->cancel_at >= 0;
}

bool subject_expect(struct subject *subject, const struct operation *operation, copse_status status, bool *out_skip)
{
    int64_t nan_at = subject_nan_position(subject, operation);
    *out_skip = subject_excused(subject, operation, status);
    if (*out_skip || (status == COPSE_OK && nan_at < 0)) return true;
    if (nan_at < 0)
        return subject_fail(subject, "returned %s: %s", copse_status_name(status), copse_last_error(subject->ctx));
    if (status != COPSE_ERR_NAN) return subject_fail(subject, "a NaN key gave %s", copse_status_name(status));
    char position[32];
    (void)snprintf(position, sizeof position, "%lld", (long long)nan_at);
    if (!strstr(copse_last_error(subject->ctx), position))
        return subject_fail(subject, "position %s of a NaN is not in: %s", position, copse_last_error(subject->ctx));
    *out_skip = true;
    return true;
}

int64_t subject_nan_position(const struct subject *subject, const struct operation *operation)
{
    if (!typed_is_float(subject->config.key_type) || operation->nan_at < 0 || operation->n == 0) return -1;
    return operation->nan_at % (int64_t)operation->n;
}

void *subject_keys(const struct subject *subject, const struct operation *operation)
{
    copse_type type = subject->config.key_type;
    void *keys = typed_new(type, operation->n);
    for (uint64_t i = 0; i < operation->n; i++) typed_set_code(type, keys, i, operation->first[i]);
    int64_t nan_at = subject_nan_position(subject, operation);
    if (nan_at >= 0) typed_set_bits(type, keys, (uint64_t)nan_at, typed_nan_bits(type));
    return keys;
}

void *subject_values(const struct subject *subject, const struct operation *operation)
{
    copse_type type = subject->config.value_type;
    if (!operation->second) return NULL;
    void *values = typed_new(type, operation->n);
    for (uint64_t i = 0; i < operation->n; i++) typed_set_bits(type, values, i, operation->second[i]);
    return values;
}

void *subject_highs(const struct subject *subject, const struct operation *operation)
{
    copse_type type = subject->config.key_type;
    void *highs = typed_new(type, operation->n);
    for (uint64_t i = 0; i < operation->n; i++) typed_set_code(type, highs, i, operation->second[i]);
    return highs;
}

void *subject_rubbish(size_t size)
{
    void *memory = must_malloc(size);
    return memset(memory, 0xaa, size ? size : 1);
}

bool subject_open(struct subject *subject, const struct subject_config *config)
{
    memset(subject, 0, sizeof *subject);
    subject->config = *config;
    subject->progress_left = OPERATION_NO_FAULT;
    test_allocator_init(&subject->allocator);
    model_init(&subject->model, config->key_type, config->value_type, config->duplicates);
    copse_ctx_options ctx_options = COPSE_CTX_OPTIONS_INIT;
    ctx_options.threads = config->threads;
    ctx_options.isa = config->isa;
    ctx_options.pipeline = config->pipeline;
    ctx_options.huge_pages = config->huge_pages;
    if (config->own_allocator) ctx_options.allocator = test_allocator_hooks(&subject->allocator);
    if (copse_ctx_create(&ctx_options, &subject->ctx) != COPSE_OK)
        return subject_fail(subject, "copse_ctx_create: %s", copse_last_error(NULL));
    copse_index_options options = COPSE_INDEX_OPTIONS_INIT;
    options.key_type = config->key_type;
    options.value_type = config->value_type;
    options.structure = config->structure;
    options.duplicates = config->duplicates;
    if (copse_index_create(subject->ctx, &options, &subject->index) != COPSE_OK)
        return subject_fail(subject, "copse_index_create: %s", copse_last_error(subject->ctx));
    return subject_check_content(subject);
}

bool subject_close(struct subject *subject)
{
    copse_index_free(subject->index);
    copse_ctx_free(subject->ctx);
    model_free(&subject->model);
    if (test_allocator_is_clean(&subject->allocator)) return true;
    return subject_fail(subject, "after freeing all: %lld blocks of %lld bytes live, %lld wrong frees",
                        atomic_load(&subject->allocator.live_blocks), atomic_load(&subject->allocator.live_bytes),
                        atomic_load(&subject->allocator.wrong_frees));
}

bool subject_run(struct subject *subject, const struct operation *operation)
{
    switch (operation->kind) {
    case OPERATION_BUILD:
    case OPERATION_INSERT:
    case OPERATION_INSERT_IF_ABSENT:
    case OPERATION_ERASE:
        return subject_run_update(subject, operation);
    case OPERATION_FIND:
    case OPERATION_CONTAINS:
    case OPERATION_LOWER_BOUND:
    case OPERATION_SUCCESSOR:
    case OPERATION_PREDECESSOR:
        return subject_run_point(subject, operation);
    case OPERATION_CURSOR:
        return subject_run_cursor(subject, operation);
    case OPERATION_RANGE:
        return subject_run_range(subject, operation);
    case OPERATION_COUNT:
        return subject_run_count(subject, operation);
    case OPERATION_SUM:
    case OPERATION_SUM128:
        return subject_run_sum(subject, operation);
    case OPERATION_MIN:
    case OPERATION_MAX:
        return subject_run_extreme(subject, operation);
    case OPERATION_AVG:
        return subject_run_average(subject, operation);
    case OPERATION_VISIT:
        return subject_run_visit(subject, operation);
    case OPERATION_SAVE_LOAD:
        return subject_run_save_load(subject, operation);
    case OPERATION_KINDS:
        break;
    }
    return subject_fail(subject, "no such operation");
}
