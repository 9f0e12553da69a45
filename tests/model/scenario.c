#include "scenario.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define PRINTED_ELEMENTS 24
#define HANG_SECONDS     120

void scenario_init(struct scenario *scenario, const struct subject_config *config)
{
    memset(scenario, 0, sizeof *scenario);
    scenario->config = *config;
}

void scenario_free(struct scenario *scenario)
{
    for (size_t i = 0; i < scenario->n; i++) operation_free(&scenario->operations[i]);
    free(scenario->operations);
    scenario->operations = NULL;
    scenario->n = scenario->capacity = 0;
}

void scenario_copy(struct scenario *to, const struct scenario *from)
{
    *to = *from;
    to->capacity = from->n;
    to->operations = must_malloc(from->n * sizeof *to->operations);
    for (size_t i = 0; i < from->n; i++) operation_copy(&to->operations[i], &from->operations[i]);
}

void scenario_add(struct scenario *scenario, const struct operation *operation)
{
    if (scenario->n == scenario->capacity) {
        scenario->capacity = scenario->capacity * 2 + 8;
        struct operation *larger = must_malloc(scenario->capacity * sizeof *larger);
        if (scenario->n) memcpy(larger, scenario->operations, scenario->n * sizeof *larger);
        free(scenario->operations);
        scenario->operations = larger;
    }
    scenario->operations[scenario->n++] = *operation;
}

void scenario_remove(struct scenario *scenario, size_t first, size_t count)
{
    for (size_t i = first; i < first + count; i++) operation_free(&scenario->operations[i]);
    memmove(&scenario->operations[first], &scenario->operations[first + count],
            (scenario->n - first - count) * sizeof *scenario->operations);
    scenario->n -= count;
}

static struct scenario_result run_here(const struct scenario *scenario)
{
    struct scenario_result result = {true, 0, ""};
    struct subject subject;
    result.right = subject_open(&subject, &scenario->config);
    subject.planted_bug = scenario->planted_bug;
    for (size_t i = 0; result.right && i < scenario->n; i++) {
        result.failed_at = i;
        result.right = subject_run(&subject, &scenario->operations[i]);
    }
    if (!result.right) memcpy(result.why, subject.why, sizeof result.why);
    bool clean = subject_close(&subject);
    if (result.right && !clean) {
        result.right = false;
        result.failed_at = scenario->n;
        memcpy(result.why, subject.why, sizeof result.why);
    }
    return result;
}

static struct scenario_result run_in_child(const struct scenario *scenario)
{
    struct scenario_result result = {false, scenario->n, "cannot start a process"};
    int channel[2], status = 0;
    if (pipe(channel) != 0) return result;
    pid_t child = fork();
    if (child == 0) {
        alarm(HANG_SECONDS);
        result = run_here(scenario);
        _exit(write(channel[1], &result, sizeof result) == (ssize_t)sizeof result ? 0 : 1);
    }
    (void)close(channel[1]);
    if (child > 0 && read(channel[0], &result, sizeof result) != (ssize_t)sizeof result) {
        (void)waitpid(child, &status, 0);
        (void)snprintf(result.why, sizeof result.why, "the process ended with %s %d",
                       WIFSIGNALED(status) ? "signal" : "status",
                       WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
    } else if (child > 0) {
        (void)waitpid(child, &status, 0);
    }
    (void)close(channel[0]);
    return result;
}

struct scenario_result scenario_run(const struct scenario *scenario, bool isolate)
{
    return isolate ? run_in_child(scenario) : run_here(scenario);
}

void scenario_print_config(const struct subject_config *config, FILE *file)
{
    (void)fprintf(file, "placement=%s structure=%s key=%s value=%s duplicates=%d isa=%s threads=%u",
                  copse_placement_name(config->placement), copse_structure_name(config->structure),
                  typed_name(config->key_type), typed_name(config->value_type), config->duplicates,
                  config->isa ? config->isa : "default", config->threads);
    if (config->placement == COPSE_PLACEMENT_CPU)
        (void)fprintf(file, " pipeline=%u huge_pages=%s", config->pipeline,
                      config->huge_pages == COPSE_HUGE_PAGES_OFF ? "off" : "auto");
    else
        (void)fprintf(file, " memory=%s stream=%d transfer=%u ways=%u processors=%u simt_seed=%llu",
                      placed_memory_name(config->memory), config->stream, config->transfer, config->ways,
                      config->processors, (unsigned long long)config->simt_seed);
    if (config->structure == COPSE_STRUCTURE_PAGED) (void)fprintf(file, " order=%u", config->page_order);
    (void)fprintf(file, " allocator=%s", config->own_allocator ? "test" : "library");
}

/* Elements from `first` on that go up (step 1) or down (step -1) one by one. */
static uint64_t run_length(const uint64_t *elements, uint64_t first, uint64_t n, uint64_t step)
{
    uint64_t length = 1;
    while (first + length < n && elements[first + length] == elements[first] + step * length) length++;
    return length;
}

/* Runs of neighbours are printed as "low .. high". */
static void print_elements(const char *name, copse_type type, const uint64_t *elements, bool codes, uint64_t n,
                           FILE *file)
{
    char text[64];
    unsigned printed = 0;
    (void)fprintf(file, " %s [", name);
    for (uint64_t i = 0, length; i < n && printed < PRINTED_ELEMENTS; i += length, printed++) {
        uint64_t up = run_length(elements, i, n, 1), down = run_length(elements, i, n, UINT64_MAX);
        length = up > down ? up : down;
        if (length < 4) length = 1;
        uint64_t last = elements[i + length - 1];
        (void)fprintf(
            file, "%s%s", i ? ", " : "",
            typed_print(type, codes ? typed_bits_of_code(type, elements[i]) : elements[i], text, sizeof text));
        if (length > 1)
            (void)fprintf(file, " .. %s",
                          typed_print(type, codes ? typed_bits_of_code(type, last) : last, text, sizeof text));
    }
    (void)fprintf(file, printed == PRINTED_ELEMENTS ? ", ...](%llu)" : "](%llu)", (unsigned long long)n);
}

static void print_codes(const struct operation *operation, FILE *file)
{
    static const char *const names[] = {"find", "upsert", "insert-if-absent", "erase", "add"};
    uint64_t printed = operation->n < PRINTED_ELEMENTS ? operation->n : PRINTED_ELEMENTS;
    (void)fprintf(file, " operations [");
    for (uint64_t i = 0; i < printed; i++) (void)fprintf(file, "%s%s", i ? ", " : "", names[operation->codes[i]]);
    (void)fprintf(file, printed < operation->n ? ", ...]" : "]");
}

static void print_operation(const struct subject_config *config, const struct operation *operation, FILE *file)
{
    (void)fprintf(file, "%s", operation_name(operation->kind));
    if (operation_has_bounds(operation->kind)) {
        print_elements("lows", config->key_type, operation->first, true, operation->n, file);
        print_elements("highs", config->key_type, operation->second, true, operation->n, file);
    } else if (operation->n || operation_updates(operation->kind)) {
        print_elements("keys", config->key_type, operation->first, true, operation->n, file);
        if (operation_updates(operation->kind) && operation->kind != OPERATION_ERASE && operation->second)
            print_elements("values", config->value_type, operation->second, false, operation->n, file);
    }
    if (operation->codes) print_codes(operation, file);
    if (operation->limit) (void)fprintf(file, " limit %llu", (unsigned long long)operation->limit);
    if (operation->target) (void)fprintf(file, " to %s", copse_placement_name((copse_placement)operation->target));
    if (operation->places && config->placement != COPSE_PLACEMENT_CPU)
        (void)fprintf(file, " places %#x", operation->places);
    if (operation->ends) (void)fprintf(file, " ends %u", operation->ends);
    if (operation->omit) (void)fprintf(file, " omit %u", operation->omit);
    if (operation->nan_at >= 0 && typed_is_float(config->key_type) && operation->n)
        (void)fprintf(file, " NaN at %lld%s", (long long)(operation->nan_at % (int64_t)operation->n),
                      operation_nan_in_highs(operation) ? " of highs" : "");
    if (operation->fail_at >= 0 && (operation->fail_device || config->own_allocator))
        (void)fprintf(file, " failing after %lld%s allocations", (long long)operation->fail_at,
                      operation->fail_device ? " device" : "");
    if (operation->cancel_at >= 0)
        (void)fprintf(file, " cancelled after %lld progress calls", (long long)operation->cancel_at);
    (void)fprintf(file, "\n");
}

void scenario_print(const struct scenario *scenario, FILE *file)
{
    (void)fprintf(file, "    ");
    scenario_print_config(&scenario->config, file);
    (void)fprintf(file, "\n");
    for (size_t i = 0; i < scenario->n; i++) {
        (void)fprintf(file, "    %zu. ", i + 1);
        print_operation(&scenario->config, &scenario->operations[i], file);
    }
}
