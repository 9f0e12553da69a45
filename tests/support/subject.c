#include "subject_internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/device.h"
#include "trees/blink/update/strategies.h"
#include "trees/hybrid/mirror.h"
#include "transfer/transfer.h"

bool operation_updates(enum operation_kind kind)
{
    return kind <= OPERATION_APPLY || kind == OPERATION_MAP || kind == OPERATION_CLEAR;
}

bool operation_reads(enum operation_kind kind)
{
    return (kind >= OPERATION_FIND && kind <= OPERATION_VISIT) || kind == OPERATION_FIND_ALL;
}

bool operation_has_keys(enum operation_kind kind)
{
    return (kind < OPERATION_VISIT && kind != OPERATION_ENDS) || kind == OPERATION_FIND_ALL;
}

bool operation_has_bounds(enum operation_kind kind)
{
    return kind == OPERATION_ERASE_RANGE || (kind >= OPERATION_RANGE && kind <= OPERATION_AVG);
}

const char *operation_name(enum operation_kind kind)
{
    static const char *const names[OPERATION_KINDS] = {"build",       "insert",      "insert-if-absent",
                                                       "erase",       "erase-pairs", "erase-range",
                                                       "apply",       "find",        "contains",
                                                       "lower-bound", "successor",   "predecessor",
                                                       "upper-bound", "floor",       "select",
                                                       "ends",        "cursor",      "range",
                                                       "count",       "sum",         "sum128",
                                                       "min",         "max",         "avg",
                                                       "visit",       "save-load",   "move",
                                                       "map",         "find-all",    "clear",
                                                       "save-memory", "copy",        "freeze"};
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
    if (kind != OPERATION_APPLY) return;
    operation->codes = must_malloc(n);
    for (uint64_t i = 0; i < n; i++)
        operation->codes[i] = (uint8_t)((i * UINT64_C(0x9e3779b97f4a7c15) >> 32) % 5); /* some of each */
}

void operation_free(struct operation *operation)
{
    free(operation->first);
    free(operation->second);
    free(operation->codes);
    operation->first = operation->second = NULL;
    operation->codes = NULL;
}

void operation_copy(struct operation *to, const struct operation *from)
{
    *to = *from;
    to->first = must_malloc(from->n * sizeof(uint64_t));
    memcpy(to->first, from->first, from->n * sizeof(uint64_t));
    if (from->codes) to->codes = memcpy(must_malloc(from->n), from->codes, from->n);
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

/* The device that the arrays of calls may lie on: the index's, or while that is on the CPU the one it came from. */
static copse_device *subject_device(const struct subject *subject)
{
    copse_placement placement = subject->config.placement;
    return placed_device(subject->ctx, placement == COPSE_PLACEMENT_CPU ? subject->made_at : placement);
}

struct placed_call subject_begin(const struct subject *subject)
{
    return (struct placed_call){.device = subject_device(subject),
                                .reachable = subject->config.placement == COPSE_PLACEMENT_GPU ||
                                             subject->config.placement == COPSE_PLACEMENT_EMULATED,
                                .memory = subject->config.memory,
                                .places = subject->places};
}

void subject_arm(struct subject *subject, const struct operation *operation)
{
    subject->progress_left = operation->cancel_at;
    if (operation->cancel_at >= 0) (void)copse_ctx_set_progress(subject->ctx, stop_when_due, subject);
    if (operation->fail_at < 0) return;
    copse_device *device = subject_device(subject);
    if (!operation->fail_device)
        test_allocator_fail_after(&subject->allocator, operation->fail_at, operation->fail_once);
    else if (device)
        device->allocations_left = operation->fail_at;
    subject->device_armed = operation->fail_device && device;
}

static void subject_disarm(struct subject *subject)
{
    copse_device *device = subject_device(subject);
    test_allocator_never_fail(&subject->allocator);
    if (device && subject->device_armed && device->allocations_left < 0) subject->device_failures++;
    if (device) device->allocations_left = -1;
    subject->device_armed = false;
    (void)copse_ctx_set_progress(subject->ctx, NULL, NULL);
}

copse_status subject_end(struct subject *subject, struct placed_call *call, copse_status status)
{
    subject_disarm(subject);
    if (status == COPSE_OK) status = copse_ctx_synchronize(subject->ctx);
    const char *misplaced = placed_end(call);
    if (misplaced) subject->misplaced = misplaced;
    return status;
}

bool subject_offered(copse_structure structure, copse_placement placement)
{
    return copse_supports(structure, placement, COPSE_U64, COPSE_CAN_EXIST) != 0;
}

bool subject_excused(const struct subject *subject, const struct operation *operation, copse_status status)
{
    bool fails = operation->fail_device ? subject->made_at != COPSE_PLACEMENT_CPU : subject->config.own_allocator;
    if (status == COPSE_ERR_MEMORY) return fails && operation->fail_at >= 0;
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
    const char *array = operation->kind == OPERATION_FIND_ALL && !subject->config.stream ? "keys"
                        : !operation_has_bounds(operation->kind)                         ? ""
                        : operation_nan_in_highs(operation)                              ? "highs"
                                                                                         : "lows";
    (void)snprintf(position, sizeof position, *array ? "%s[%lld]" : "%s%lld", array, (long long)nan_at);
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

uint32_t operation_ends(const struct operation *operation)
{
    return operation->nan_at < 0 ? operation->ends : operation->ends & ~(OPERATION_NO_LOWS | OPERATION_NO_HIGHS);
}

bool operation_nan_in_highs(const struct operation *operation)
{
    return operation_has_bounds(operation->kind) && operation->n && operation->nan_at / (int64_t)operation->n % 2;
}

/* Puts the NaN of the operation where it belongs, if that is in this array. */
static void put_nan(const struct subject *subject, const struct operation *operation, bool in_highs, void *keys)
{
    const copse_type type = subject->config.key_type;
    const int64_t nan_at = subject_nan_position(subject, operation);
    if (nan_at >= 0 && operation_nan_in_highs(operation) == in_highs)
        typed_set_bits(type, keys, (uint64_t)nan_at, typed_nan_bits(type));
}

void *subject_keys(const struct subject *subject, const struct operation *operation)
{
    copse_type type = subject->config.key_type;
    void *keys = typed_new(type, operation->n);
    for (uint64_t i = 0; i < operation->n; i++) typed_set_code(type, keys, i, operation->first[i]);
    put_nan(subject, operation, false, keys);
    return keys;
}

void *subject_values(const struct subject *subject, const struct operation *operation)
{
    copse_type type = subject->config.value_type;
    if (!operation->second || type == COPSE_NONE) return NULL;
    void *values = typed_new(type, operation->n);
    for (uint64_t i = 0; i < operation->n; i++) typed_set_bits(type, values, i, operation->second[i]);
    return values;
}

void *subject_highs(const struct subject *subject, const struct operation *operation)
{
    copse_type type = subject->config.key_type;
    void *highs = typed_new(type, operation->n);
    for (uint64_t i = 0; i < operation->n; i++) typed_set_code(type, highs, i, operation->second[i]);
    put_nan(subject, operation, true, highs);
    return highs;
}

void *subject_rubbish(size_t size)
{
    void *memory = must_malloc(size);
    return memset(memory, 0xaa, size ? size : 1);
}

/* A stream made by a context of its own, as a caller's would be. */
static bool open_stream(struct subject *subject)
{
    copse_stream *stream = NULL;
    if (copse_ctx_create(NULL, &subject->stream_ctx) != COPSE_OK)
        return subject_fail(subject, "copse_ctx_create: %s", copse_last_error(NULL));
    copse_device *device = placed_device(subject->stream_ctx, subject->made_at);
    int before = device->backend->enter(device);
    copse_status status = device->backend->stream_create(device, &stream);
    device->backend->leave(device, before);
    subject->stream = stream;
    return status == COPSE_OK ||
           subject_fail(subject, "no stream for the caller: %s", copse_last_error(subject->stream_ctx));
}

static void close_stream(struct subject *subject)
{
    if (subject->stream) {
        copse_device *device = placed_device(subject->stream_ctx, subject->made_at);
        int before = device->backend->enter(device);
        device->backend->stream_free(device, subject->stream);
        device->backend->leave(device, before);
    }
    copse_ctx_free(subject->stream_ctx);
}

/* Chunks so small that a batch of the tests takes many, and other choices that `transfer` stands for. */
static bool choose_transfer(struct subject *subject, copse_device *device)
{
    uint32_t choice = subject->config.transfer;
    copse_transfer_settings settings;
    if (choice == 0) return true;
    if (copse_transfer_settings_get(device, &settings) != COPSE_OK)
        return subject_fail(subject, "transfer settings: %s", copse_last_error(subject->ctx));
    settings.mode = choice & 1 ? COPSE_TRANSFER_REGISTERED : COPSE_TRANSFER_STAGED;
    settings.streaming = (choice & 2) != 0;
    settings.slots = 2 + (choice >> 2 & 3);
    settings.chunk_bytes = UINT64_C(400) << (choice >> 4 & 7);
    settings.small_bytes = choice & 128 ? 200 : 0;
    settings.direct_bytes = choice & 256 ? 100 : 0;
    return copse_transfer_settings_set(device, &settings) == COPSE_OK ||
           subject_fail(subject, "transfer settings: %s", copse_last_error(subject->ctx));
}

static bool open_context(struct subject *subject)
{
    const struct subject_config *config = &subject->config;
    copse_ctx_options options = COPSE_CTX_OPTIONS_INIT;
    options.threads = config->threads;
    options.isa = config->isa;
    options.pipeline = config->pipeline;
    options.huge_pages = config->huge_pages;
    if (config->own_allocator) options.allocator = test_allocator_hooks(&subject->allocator);
    if (config->stream && subject->made_at == COPSE_PLACEMENT_GPU && !open_stream(subject)) return false;
    options.stream = subject->stream;
    if (copse_ctx_create(&options, &subject->ctx) != COPSE_OK)
        return subject_fail(subject, "copse_ctx_create: %s", copse_last_error(NULL));
    copse_device *device = placed_device(subject->ctx, subject->made_at);
    if (!device) return true;
    device->seed = config->simt_seed;
    if (config->processors) device->multiprocessors = config->processors;
    if (config->stream) device->callers_stream = true; /* the emulator has no streams, but calls may leave errors */
    return choose_transfer(subject, device);
}

void subject_tune(struct subject *subject)
{
    static const uint64_t most[] = {0, 1, 12}, shares[] = {0, 1, 64};
    copse_blink_tuning *tuning = placed_tuning(subject->index);
    const uint32_t ways = subject->config.ways;
    if (subject->index->mirror) {
        static const uint64_t buckets[] = {100, 1, 37, 4000};
        copse_hybrid_tuning *hybrid = &copse_mirror_of(subject->index)->tuning;
        *hybrid = (copse_hybrid_tuning){.schedule = (copse_schedule)(ways % 4 + 1),
                                        .bucket = buckets[ways / 4 % 4],
                                        .least = 1,
                                        .levels = 1,
                                        .defer = ways / 16 % 2 ? 20 : 0,
                                        .cache = ways % 5 == 4   ? UINT64_MAX
                                                 : ways % 5 == 3 ? 6400
                                                                 : 0,
                                        .slower = ways % 4 == 3 ? 10 : 0};
    }
    if (!tuning) return;
    if (ways >= SUBJECT_LIMITS) tuning->forced = copse_blink_strategy_named(placed_strategies[ways - SUBJECT_LIMITS]);
    /* Small batches come to all strategies. */
    tuning->unsorted_most = ways < SUBJECT_LIMITS ? most[ways % 3] : 0;
    tuning->in_place_share = ways < SUBJECT_LIMITS ? shares[ways / 3 % 3] : 0;
    tuning->bucket_sort_least = ways / 9 == 1;
    /* ... and take memory ahead, for a time that is never over, so that a case stays what it is. */
    tuning->preallocate_always = ways % 2 == 1;
    if (tuning->preallocate_always) tuning->preallocate_most = UINT64_MAX / 2;
}

bool subject_open(struct subject *subject, const struct subject_config *config)
{
    memset(subject, 0, sizeof *subject);
    subject->config = *config;
    if (config->placement == COPSE_PLACEMENT_AUTO) subject->config.placement = COPSE_PLACEMENT_CPU;
    subject->made_at = subject->config.placement;
    subject->progress_left = OPERATION_NO_FAULT;
    test_allocator_init(&subject->allocator);
    model_init(&subject->model, config->key_type, config->value_type, config->duplicates);
    if (!open_context(subject)) return false;
    copse_index_options options = COPSE_INDEX_OPTIONS_INIT;
    options.page_order = config->page_order;
    options.key_type = config->key_type;
    options.value_type = config->value_type;
    options.structure = config->structure;
    options.placement = subject->made_at;
    options.duplicates = config->duplicates;
    if (copse_index_create(subject->ctx, &options, &subject->index) != COPSE_OK)
        return subject_fail(subject, "copse_index_create: %s", copse_last_error(subject->ctx));
    subject_tune(subject);
    return subject_check_content(subject);
}

/* Nothing may be left on the device when the index is gone but what the transfer pipeline keeps for later. */
static bool check_device_memory(struct subject *subject)
{
    if (!subject->ctx || subject->made_at == COPSE_PLACEMENT_CPU) return true;
    copse_device *device = placed_device(subject->ctx, subject->made_at);
    copse_transfer_close(device);
    if (device->allocated == 0) return true;
    return subject_fail(subject, "after freeing the index the device still holds %llu bytes",
                        (unsigned long long)device->allocated);
}

bool subject_close(struct subject *subject)
{
    copse_index_free(subject->file);
    copse_index_free(subject->index);
    subject->index = NULL;
    bool clean = subject_frozen_end(subject) && check_device_memory(subject); /* which may outlive the index */
    copse_ctx_free(subject->ctx);
    close_stream(subject);
    model_free(&subject->model);
    if (!clean || test_allocator_is_clean(&subject->allocator)) return clean;
    return subject_fail(subject, "after freeing all: %lld blocks of %lld bytes live, %lld wrong frees",
                        atomic_load(&subject->allocator.live_blocks), atomic_load(&subject->allocator.live_bytes),
                        atomic_load(&subject->allocator.wrong_frees));
}

static bool run_one(struct subject *subject, const struct operation *operation)
{
    if (subject->config.value_type == COPSE_NONE && operation->kind >= OPERATION_SUM &&
        operation->kind <= OPERATION_AVG)
        return subject_run_no_values(subject, operation);
    switch (operation->kind) {
    case OPERATION_BUILD:
    case OPERATION_INSERT:
    case OPERATION_INSERT_IF_ABSENT:
    case OPERATION_ERASE:
    case OPERATION_ERASE_PAIRS:
    case OPERATION_CLEAR:
        return subject_run_update(subject, operation);
    case OPERATION_ERASE_RANGE:
        return subject_run_erase_range(subject, operation);
    case OPERATION_APPLY:
        return subject_run_apply(subject, operation);
    case OPERATION_FIND:
    case OPERATION_CONTAINS:
    case OPERATION_LOWER_BOUND:
    case OPERATION_SUCCESSOR:
    case OPERATION_PREDECESSOR:
    case OPERATION_UPPER_BOUND:
    case OPERATION_FLOOR:
        return subject_run_point(subject, operation);
    case OPERATION_SELECT:
        return subject_run_select(subject, operation);
    case OPERATION_ENDS:
        return subject_run_ends(subject, operation);
    case OPERATION_CURSOR:
        return subject_run_cursor(subject, operation);
    case OPERATION_RANGE:
    case OPERATION_FIND_ALL:
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
        return subject_run_visit(subject, operation) && subject_run_questions(subject, operation);
    case OPERATION_SAVE_LOAD:
        return subject_run_save_load(subject, operation);
    case OPERATION_SAVE_MEMORY:
        return subject_run_save_memory(subject, operation);
    case OPERATION_COPY:
        return subject_run_copy(subject, operation);
    case OPERATION_FREEZE:
        return subject_run_freeze(subject, operation);
    case OPERATION_MOVE:
        return subject_run_move(subject, operation);
    case OPERATION_MAP:
        return subject_run_map(subject, operation);
    case OPERATION_KINDS:
        break;
    }
    return subject_fail(subject, "no such operation");
}

/* What reads is asked of the open file, too. */
static bool run_on_file(struct subject *subject, const struct operation *operation)
{
    copse_index *index = subject->index;
    /* An open file takes host memory only. */
    if (!subject->file || !operation_reads(operation->kind) || subject->config.placement != COPSE_PLACEMENT_CPU)
        return true;
    subject->index = subject->file;
    const bool right = run_one(subject, operation);
    subject->index = index;
    return right || subject_fail(subject, "on the open file: %.400s", subject->why);
}

/* ... and of the frozen handle. */
static bool run_on_frozen(struct subject *subject, const struct operation *operation)
{
    if (!subject->frozen.index || !operation_reads(operation->kind)) return true;
    subject_frozen_turn(subject);
    const bool right = run_one(subject, operation);
    subject_frozen_turn(subject);
    return right || subject_fail(subject, "on the frozen handle: %.400s", subject->why);
}

bool subject_run(struct subject *subject, const struct operation *operation)
{
    subject->places = operation->places;
    subject->misplaced = NULL;
    if (operation_updates(operation->kind)) {
        copse_index_free(subject->file);
        subject->file = NULL;
    }
    if (!run_one(subject, operation) || !run_on_file(subject, operation) || !run_on_frozen(subject, operation))
        return false;
    return !subject->misplaced || subject_fail(subject, "%s", subject->misplaced);
}
