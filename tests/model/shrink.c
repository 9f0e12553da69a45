#include "shrink.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "trees/registry.h"

struct shrinker {
    struct scenario *best;
    struct scenario_result *result;
    bool isolate;
    double deadline;
};

static double now(void)
{
    struct timespec time;
    (void)clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static bool out_of_time(const struct shrinker *shrinker)
{
    return now() > shrinker->deadline;
}

/* Keeps the candidate as the best if it fails as well; takes it over either way. */
static bool try_candidate(struct shrinker *shrinker, struct scenario *candidate)
{
    struct scenario_result result = {true, 0, ""};
    if (!out_of_time(shrinker)) result = scenario_run(candidate, shrinker->isolate);
    if (result.right) {
        scenario_free(candidate);
        return false;
    }
    scenario_free(shrinker->best);
    *shrinker->best = *candidate;
    *shrinker->result = result;
    return true;
}

static bool drop_operations(struct shrinker *shrinker)
{
    bool smaller = false;
    for (size_t chunk = shrinker->best->n; chunk; chunk /= 2)
        for (size_t first = 0; first + chunk <= shrinker->best->n && !out_of_time(shrinker);) {
            struct scenario candidate;
            scenario_copy(&candidate, shrinker->best);
            scenario_remove(&candidate, first, chunk);
            if (try_candidate(shrinker, &candidate))
                smaller = true;
            else
                first += chunk;
        }
    return smaller;
}

static void remove_elements(struct operation *operation, uint64_t first, uint64_t count)
{
    size_t tail = (size_t)(operation->n - first - count) * sizeof(uint64_t);
    memmove(operation->first + first, operation->first + first + count, tail);
    if (operation->second) memmove(operation->second + first, operation->second + first + count, tail);
    if (operation->codes)
        memmove(operation->codes + first, operation->codes + first + count, operation->n - first - count);
    operation->n -= count;
}

static bool halve_arrays(struct shrinker *shrinker, size_t which)
{
    bool smaller = false;
    for (uint64_t chunk = (shrinker->best->operations[which].n + 1) / 2; chunk; chunk /= 2)
        for (uint64_t first = 0; first + chunk <= shrinker->best->operations[which].n && !out_of_time(shrinker);) {
            struct scenario candidate;
            scenario_copy(&candidate, shrinker->best);
            remove_elements(&candidate.operations[which], first, chunk);
            if (try_candidate(shrinker, &candidate))
                smaller = true;
            else
                first += chunk;
            /* a scenario may come out shorter: it then failed earlier */
            if (which >= shrinker->best->n) return true;
        }
    return smaller;
}

/* Faults and options that the failure does not need. */
static void simplify_operation(struct shrinker *shrinker, size_t which)
{
    for (int step = 0; step < 7; step++) {
        struct scenario candidate;
        scenario_copy(&candidate, shrinker->best);
        struct operation *operation = &candidate.operations[which];
        if (step == 0) operation->fail_at = OPERATION_NO_FAULT;
        if (step == 1) operation->cancel_at = OPERATION_NO_FAULT;
        if (step == 2) operation->nan_at = OPERATION_NO_FAULT;
        if (step == 3) operation->omit = 0;
        if (step == 4) operation->limit = 0;
        if (step == 5) operation->places = 0;
        if (step == 6) operation->ends = 0;
        (void)try_candidate(shrinker, &candidate);
    }
}

static int by_code(const void *left, const void *right)
{
    const uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return a < b ? -1 : a > b;
}

/* All codes of the scenario, sorted, each once; the caller frees them. */
static uint64_t *all_codes(const struct scenario *scenario, uint64_t *out_n)
{
    uint64_t total = 0, n = 0;
    for (size_t i = 0; i < scenario->n; i++) total += 2 * scenario->operations[i].n;
    uint64_t *codes = must_malloc(total * sizeof *codes);
    for (size_t i = 0; i < scenario->n; i++) {
        const struct operation *operation = &scenario->operations[i];
        memcpy(codes + n, operation->first, operation->n * sizeof *codes);
        n += operation->n;
        if (!operation_has_bounds(operation->kind)) continue;
        memcpy(codes + n, operation->second, operation->n * sizeof *codes);
        n += operation->n;
    }
    qsort(codes, n, sizeof *codes, by_code);
    for (uint64_t i = *out_n = 0; i < n; i++)
        if (i == 0 || codes[i] != codes[i - 1]) codes[(*out_n)++] = codes[i];
    return codes;
}

/* Numbers the keys 0, 1, 2, ... in their order, as unsigned integers: most faults do not care which keys they are. */
static void rename_keys(struct shrinker *shrinker)
{
    struct scenario candidate;
    uint64_t n = 0;
    scenario_copy(&candidate, shrinker->best);
    uint64_t *codes = all_codes(&candidate, &n);
    candidate.config.key_type = typed_size(candidate.config.key_type) == 4 ? COPSE_U32 : COPSE_U64;
    for (size_t i = 0; i < candidate.n; i++) {
        struct operation *operation = &candidate.operations[i];
        bool bounds = operation_has_bounds(operation->kind);
        for (uint64_t j = 0; j < operation->n; j++) {
            uint64_t *found = bsearch(&operation->first[j], codes, n, sizeof *codes, by_code);
            operation->first[j] = (uint64_t)(found - codes);
            if (!bounds) continue;
            found = bsearch(&operation->second[j], codes, n, sizeof *codes, by_code);
            operation->second[j] = (uint64_t)(found - codes);
        }
    }
    free(codes);
    (void)try_candidate(shrinker, &candidate);
}

static void sort_keys(struct shrinker *shrinker)
{
    struct scenario candidate;
    scenario_copy(&candidate, shrinker->best);
    for (size_t i = 0; i < candidate.n; i++) {
        struct operation *operation = &candidate.operations[i];
        if (!operation->second) qsort(operation->first, operation->n, sizeof(uint64_t), by_code);
    }
    (void)try_candidate(shrinker, &candidate);
}

static void drop_values(struct shrinker *shrinker)
{
    struct scenario candidate;
    scenario_copy(&candidate, shrinker->best);
    for (size_t i = 0; i < candidate.n; i++)
        if (operation_updates(candidate.operations[i].kind) && !operation_has_bounds(candidate.operations[i].kind)) {
            free(candidate.operations[i].second);
            candidate.operations[i].second = NULL;
        }
    (void)try_candidate(shrinker, &candidate);
}

/* Nothing of it on a device: if it still fails, the device is not at fault. */
static void keep_to_cpu(struct scenario *scenario)
{
    scenario->config.structure = copse_registry_nearest(scenario->config.structure, COPSE_PLACEMENT_CPU);
    scenario->config.placement = COPSE_PLACEMENT_CPU;
    for (size_t i = 0; i < scenario->n; i++)
        if (scenario->operations[i].target) scenario->operations[i].target = COPSE_PLACEMENT_CPU;
}

static void simplify_config(struct shrinker *shrinker)
{
    for (int step = 0; step < 14; step++) {
        struct scenario candidate;
        scenario_copy(&candidate, shrinker->best);
        struct subject_config *config = &candidate.config;
        if (step == 0) config->threads = 1;
        if (step == 1 && config->placement == COPSE_PLACEMENT_CPU) config->isa = "scalar";
        if (step == 2) config->pipeline = 0;
        if (step == 3) config->huge_pages = COPSE_HUGE_PAGES_OFF;
        if (step == 4) config->duplicates = false;
        if (step == 5) config->own_allocator = false;
        if (step == 6) config->memory = PLACED_HOST;
        if (step == 7) config->simt_seed = 0;
        if (step == 8) config->stream = false;
        if (step == 9) config->transfer = 0;
        if (step == 10) config->processors = 0;
        if (step == 11) keep_to_cpu(&candidate);
        if (step == 12) config->ways = 0;
        if (step == 13) config->page_order = 0;
        (void)try_candidate(shrinker, &candidate);
    }
}

void shrink(struct scenario *scenario, struct scenario_result *result, bool isolate, double seconds)
{
    struct shrinker shrinker = {scenario, result, isolate, now() + seconds};
    if (result->failed_at + 1 < scenario->n)
        scenario_remove(scenario, result->failed_at + 1, scenario->n - result->failed_at - 1);
    simplify_config(&shrinker);
    for (bool smaller = true; smaller && !out_of_time(&shrinker);) {
        smaller = drop_operations(&shrinker);
        for (size_t i = 0; i < shrinker.best->n; i++) smaller |= halve_arrays(&shrinker, i);
    }
    /* a little more time for what makes it readable */
    shrinker.deadline = now() + seconds / 4;
    for (size_t i = 0; i < shrinker.best->n; i++) simplify_operation(&shrinker, i);
    /* with all outputs asked for, fewer keys may do */
    for (size_t i = 0; i < shrinker.best->n; i++) (void)halve_arrays(&shrinker, i);
    simplify_config(&shrinker);
    drop_values(&shrinker);
    rename_keys(&shrinker);
    sort_keys(&shrinker);
}
