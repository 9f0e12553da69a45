/* Results as JSON lines for programs, or as a table for people. */
#include "cli/bench/bench.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef COPSE_COMMIT
#define COPSE_COMMIT "unknown"
#endif

const char *bench_machine(void)
{
    static char machine[160];
    char line[512];
    char model[128] = "unknown processor";
    if (machine[0]) return machine;
    FILE *file = fopen("/proc/cpuinfo", "r");
    while (file && fgets(line, sizeof line, file)) {
        const char *colon = strchr(line, ':');
        if (strncmp(line, "model name", 10) != 0 || colon == NULL) continue;
        snprintf(model, sizeof model, "%.*s", (int)strcspn(colon + 2, "\n"), colon + 2);
        break;
    }
    if (file) fclose(file);
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    snprintf(machine, sizeof machine, "%s, %ld core%s", model, cores, cores == 1 ? "" : "s");
    return machine;
}

/* ---- numbers ---- */

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

static double rate(const bench_result *result, double seconds)
{
    return seconds > 0 ? (double)result->queries / seconds * 1e-6 : 0;
}

typedef struct summary {
    double median;
    double slowest;
    double fastest;
} summary;

static summary summarise(const bench_result *result)
{
    size_t n = (size_t)result->runs;
    summary s = {0, 0, 0};
    if (n == 0) return s;
    double *sorted = bench_memory(n, sizeof *sorted);
    memcpy(sorted, result->seconds, n * sizeof *sorted);
    qsort(sorted, n, sizeof *sorted, by_size);
    double middle = n % 2 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
    s = (summary){rate(result, middle), rate(result, sorted[n - 1]), rate(result, sorted[0])};
    free(sorted);
    return s;
}

double bench_result_mops(const bench_result *result)
{
    return summarise(result).median;
}

/* What the index holds for this operation: the part for aggregates counts where it is used. */
static double bytes_per_key(const bench_group *group, const bench_result *result)
{
    uint64_t bytes = result->bytes - (bench_op_aggregates(group->op) ? 0 : result->aggregate_bytes);
    return result->entries ? (double)bytes / (double)result->entries : 0;
}

static uint64_t batch_of(const bench_group *group, const bench_result *result)
{
    return bench_op_batched(group->op) && group->batch && group->batch < result->queries ? group->batch
                                                                                         : result->queries;
}

/* The median time of a turn, shared out among its calls. */
static double us_per_call(const bench_group *group, const bench_result *result, double mops)
{
    uint64_t batch = batch_of(group, result);
    uint64_t calls = batch > 0 ? (result->queries + batch - 1) / batch : 1;
    return mops > 0 ? (double)result->queries / mops / (double)calls : 0;
}

typedef struct call_times {
    double mean; /* microseconds */
    double median;
    double worst;
} call_times;

static call_times time_calls(const bench_result *result)
{
    size_t n = result->call_seconds ? (size_t)result->timed_calls : 0;
    call_times times = {0, 0, 0};
    if (n == 0) return times;
    double *sorted = bench_memory(n, sizeof *sorted);
    memcpy(sorted, result->call_seconds, n * sizeof *sorted);
    qsort(sorted, n, sizeof *sorted, by_size);
    for (size_t i = 0; i < n; i++) times.mean += sorted[i];
    times.mean *= 1e6 / (double)n;
    times.median = 1e6 * (n % 2 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2);
    times.worst = 1e6 * sorted[n - 1];
    free(sorted);
    return times;
}

/* Pairs per insert that made the index before the clock started; 0 where it was built. */
static uint64_t grown_of(const bench_group *group, const bench_result *result)
{
    const bench_peer *peer = result->target->peer;
    uint64_t grown = group->options->grown;
    if (group->op->kind == BENCH_KIND_BUILD || (peer && !peer->insert)) return 0;
    return grown < group->data->n ? grown : group->data->n;
}

static const char *placement_of(const bench_target *target)
{
    if (target->peer) return target->peer->on_device ? "gpu" : "cpu";
    return copse_placement_name(target->placement);
}

/* NULL where nothing is transferred. */
static const char *transfer_of(const bench_target *target)
{
    bool transfers = target->device && !target->peer && target->memory < BENCH_DEVICE;
    return transfers ? target->transfer->text : NULL;
}

static bool has_buckets(const bench_target *target)
{
    return !target->peer && target->device && !cli_placement_is_device(target->placement);
}

/* ---- JSON ---- */

static void print_json_calls(cli_json *json, const bench_result *result)
{
    call_times times = time_calls(result);
    if (result->call_seconds) {
        cli_json_u64(json, "calls", result->timed_calls);
        cli_json_double(json, "us_call_mean", times.mean);
        cli_json_double(json, "us_call_median", times.median);
        cli_json_double(json, "us_call_worst", times.worst);
    } else {
        cli_json_null(json, "calls");
        cli_json_null(json, "us_call_mean");
        cli_json_null(json, "us_call_median");
        cli_json_null(json, "us_call_worst");
    }
}

/* null where there are no buckets; a bucket of 0 is of the library's size. */
static void print_json_hybrid(cli_json *json, const bench_result *result)
{
    const bench_target *target = result->target;
    cli_json_text(json, "schedule", has_buckets(target) ? bench_schedule_name(target->schedule) : NULL);
    if (has_buckets(target))
        cli_json_u64(json, "bucket", target->bucket);
    else
        cli_json_null(json, "bucket");
    cli_json_u64(json, "leaf_memory", target->leaf_memory);
    cli_json_u64(json, "slower", target->slower);
    cli_json_text(json, "refresh", has_buckets(target) ? bench_refresh_name(target->refresh) : NULL);
    if (has_buckets(target))
        cli_json_double(json, "card_share", result->card_share);
    else
        cli_json_null(json, "card_share");
    cli_json_u64(json, "page_order", target->page_order);
}

static void print_json(const bench_group *group, const bench_result *result)
{
    const bench_target *target = result->target;
    const bench_data *data = group->data;
    summary s = summarise(result);
    cli_json json;
    cli_json_begin(&json, stdout);
    cli_json_text(&json, "structure", target->name);
    cli_json_text(&json, "placement", placement_of(target));
    cli_json_text(&json, "key", copse_type_name(data->key_type));
    cli_json_text(&json, "value", copse_type_name(data->value_type));
    cli_json_u64(&json, "n", data->n);
    cli_json_u64(&json, "entries", result->entries);
    cli_json_text(&json, "op", group->op->name);
    cli_json_text(&json, "dist", workload_dist_name(data->dist));
    cli_json_text(&json, "query_dist", group->options->query_dist_name);
    cli_json_u64(&json, "grown", grown_of(group, result));
    if (group->options->after) cli_json_u64(&json, "after", group->options->after);
    cli_json_u64(&json, "queries", result->queries);
    cli_json_u64(&json, "batch", batch_of(group, result));
    cli_json_u64(&json, "threads", result->threads);
    cli_json_text(&json, "memory", bench_memory_name(target->memory, target->device != NULL));
    cli_json_text(&json, "transfer", transfer_of(target));
    print_json_hybrid(&json, result);
    cli_json_bool(&json, "duplicates", data->duplicates);
    cli_json_double(&json, "mops", s.median);
    cli_json_double(&json, "mops_min", s.slowest);
    cli_json_double(&json, "mops_max", s.fastest);
    cli_json_double(&json, "ns_per_op", s.median > 0 ? 1000 / s.median : 0);
    cli_json_double(&json, "us_per_call", us_per_call(group, result, s.median));
    print_json_calls(&json, result);
    cli_json_u64(&json, "wrong", result->wrong);
    cli_json_double(&json, "bytes_per_key", bytes_per_key(group, result));
    cli_json_double(&json, "prepare_ms", result->prepare_seconds * 1000);
    cli_json_text(&json, "isa", target->isa);
    cli_json_text(&json, "huge_pages", target->peer ? NULL : target->huge_pages == COPSE_HUGE_PAGES_OFF ? "off" : "on");
    if (target->peer) {
        cli_json_null(&json, "pipeline");
    } else {
        cli_json_u64(&json, "pipeline", target->pipeline);
    }
    cli_json_u64(&json, "seed", group->options->seed);
    cli_json_u64(&json, "repeat", result->runs);
    cli_json_text(&json, "machine", bench_machine());
    cli_json_text(&json, "device", target->device ? target->device_name : NULL);
    cli_json_text(&json, "commit", COPSE_COMMIT);
    cli_json_end(&json);
}

/* ---- table ---- */

static void print_size(uint64_t n, char *text, size_t size)
{
    int power = 0;
    while (power < 63 && (UINT64_C(1) << power) < n) power++;
    char digits[CLI_NUMBER_SIZE];
    if (n >= 1024 && (UINT64_C(1) << power) == n) {
        snprintf(text, size, "2^%d", power);
    } else {
        snprintf(text, size, "%s", cli_group(n, digits));
    }
}

/* The options in which contestants of one group differ; the same for all is not worth a column. */
typedef struct columns {
    bool device; /* placement and memory */
    bool transfer;
    bool schedule, bucket, leaf_memory, slower, refresh, page_order;
    bool calls;
    bool each; /* calls were timed one by one, and there is more than one */
    bool isa;
    bool huge_pages;
    bool pipeline;
    bool prepare;
} columns;

static columns choose_columns(const bench_group *group)
{
    const bench_options *options = group->options;
    columns c = {false,
                 options->transfers.count > 1,
                 options->schedules.count > 1,
                 options->buckets.count > 1,
                 options->leaf_memories.count > 1,
                 options->slowers.count > 1,
                 options->refreshes.count > 1,
                 options->page_orders.count > 1,
                 bench_op_batched(group->op) && group->batch > 0,
                 false,
                 options->isas.count > 1,
                 options->huge_pages.count > 1,
                 options->pipelines.count > 1,
                 false};
    for (size_t i = 0; i < group->count; i++) {
        c.prepare = c.prepare || group->result[i].prepare_seconds > 0.001;
        c.each = c.each || (group->result[i].call_seconds && group->result[i].timed_calls > group->result[i].runs);
        c.device = c.device || group->result[i].target->device != NULL;
    }
    return c;
}

static void print_title(const bench_group *group)
{
    const bench_data *data = group->data;
    char n[CLI_NUMBER_SIZE];
    char queries[CLI_NUMBER_SIZE];
    char batch[CLI_NUMBER_SIZE];
    print_size(data->n, n, sizeof n);
    printf("\n%s  %s/%s  n = %s  %s", group->op->name, copse_type_name(data->key_type),
           copse_type_name(data->value_type), n, workload_dist_name(data->dist));
    if (bench_op_batched(group->op) && group->count > 0) {
        print_size(group->result[0].queries, queries, sizeof queries);
        print_size(batch_of(group, &group->result[0]), batch, sizeof batch);
        printf("  %s operations", queries);
        if (strcmp(queries, batch) != 0) printf(", %s a call", batch);
        if (group->options->query_dist != WORKLOAD_UNIFORM) printf(", %s", group->options->query_dist_name);
    }
    if (group->options->grown > 0 && group->op->kind != BENCH_KIND_BUILD) {
        print_size(group->options->grown < data->n ? group->options->grown : data->n, n, sizeof n);
        printf("  grown by %s a call", n);
    }
    printf("\n");
}

/* The peer that stands beside a contestant: with as many threads where there is one. */
static const bench_result *rival(const bench_group *group, const char *name, uint32_t threads)
{
    const bench_result *found = NULL;
    for (size_t i = 0; i < group->count; i++) {
        const bench_result *result = &group->result[i];
        if (!result->target->peer || result->runs == 0 || strcmp(result->target->name, name) != 0) continue;
        if (found == NULL || result->threads == threads) found = result;
    }
    return found;
}

#define NAME_WIDTH 19 /* of the longest peer */

static void print_header(const bench_group *group, columns c)
{
    printf("  %-*s", NAME_WIDTH, "structure");
    if (c.device) printf(" %9s %8s", "placement", "memory");
    if (c.transfer) printf(" %20s", "transfer");
    if (c.schedule) printf(" %15s", "schedule");
    if (c.bucket) printf(" %9s", "bucket");
    if (c.leaf_memory) printf(" %11s", "leaf memory");
    if (c.slower) printf(" %6s", "slower");
    if (c.refresh) printf(" %12s", "refresh");
    if (c.page_order) printf(" %6s", "order");
    printf(" %7s", "threads");
    if (c.isa) printf(" %7s", "isa");
    if (c.huge_pages) printf(" %6s", "pages");
    if (c.pipeline) printf(" %8s", "pipeline");
    printf(" %10s %10s %10s %10s %8s", "M/s", "slowest", "fastest", "ns/op", "B/key");
    if (c.calls) printf(" %10s", "us/call");
    if (c.each) printf(" %10s %10s", "median us", "worst us");
    if (c.prepare) printf(" %10s", "prepare ms");
    printf(" %7s", "wrong");
    for (size_t p = 0; p < group->options->peers.count; p++) {
        const char *name = bench_peer_at((size_t)group->options->peers.item[p], NULL);
        if (rival(group, name, 1)) printf("  x %s", name);
    }
    printf("\n");
}

/* An option of hybrid trees, of which 0 has a name. */
static void print_count(const bench_target *target, uint64_t count, const char *none, int width)
{
    char text[CLI_NUMBER_SIZE] = "";
    if (has_buckets(target) && count == 0) snprintf(text, sizeof text, "%s", none);
    if (has_buckets(target) && count > 0) print_size(count, text, sizeof text);
    printf(" %*s", width, text);
}

static void print_row(const bench_group *group, const bench_result *result, columns c)
{
    const bench_target *target = result->target;
    summary s = summarise(result);
    printf("  %-*s", NAME_WIDTH, target->name);
    if (c.device) {
        printf(" %9s %8s", placement_of(target), bench_memory_name(target->memory, target->device != NULL));
    }
    if (c.transfer) printf(" %20s", transfer_of(target) ? transfer_of(target) : "");
    if (c.schedule) printf(" %15s", has_buckets(target) ? bench_schedule_name(target->schedule) : "");
    if (c.bucket) print_count(target, target->bucket, "auto", 9);
    if (c.leaf_memory) print_count(target, target->leaf_memory, "none", 11);
    if (c.slower) print_count(target, target->slower, "no", 6);
    if (c.refresh) printf(" %12s", has_buckets(target) ? bench_refresh_name(target->refresh) : "");
    if (c.page_order) printf(" %6u", target->page_order);
    printf(" %7u", result->threads);
    if (c.isa) printf(" %7s", target->isa ? target->isa : "");
    if (c.huge_pages) printf(" %6s", target->peer ? "" : target->huge_pages == COPSE_HUGE_PAGES_OFF ? "off" : "on");
    if (c.pipeline && target->peer) printf(" %8s", "");
    if (c.pipeline && !target->peer) printf(" %8u", target->pipeline);
    printf(" %10.4g %10.4g %10.4g %10.4g %8.2f", s.median, s.slowest, s.fastest, s.median > 0 ? 1000 / s.median : 0,
           bytes_per_key(group, result));
    if (c.calls) printf(" %10.4g", us_per_call(group, result, s.median));
    if (c.each) printf(" %10.4g %10.4g", time_calls(result).median, time_calls(result).worst);
    if (c.prepare) printf(" %10.1f", result->prepare_seconds * 1000);
    printf(" %7llu", (unsigned long long)result->wrong);
    for (size_t p = 0; p < group->options->peers.count; p++) {
        const char *name = bench_peer_at((size_t)group->options->peers.item[p], NULL);
        const bench_result *other = rival(group, name, result->threads);
        double base = other ? bench_result_mops(other) : 0;
        if (other) printf("  %*.2f", (int)strlen(name) + 2, base > 0 ? s.median / base : 0);
    }
    printf("\n");
}

/* Contestants that had no turn before Ctrl-C have nothing to report. */
static bool has_results(const bench_group *group)
{
    for (size_t i = 0; i < group->count; i++)
        if (group->result[i].runs > 0) return true;
    return false;
}

void bench_report(const bench_group *group)
{
    columns c = choose_columns(group);
    if (!has_results(group)) return;
    if (!group->options->json) {
        print_title(group);
        print_header(group, c);
    }
    for (size_t i = 0; i < group->count; i++) {
        if (group->result[i].runs == 0) continue;
        if (group->options->json)
            print_json(group, &group->result[i]);
        else
            print_row(group, &group->result[i], c);
    }
    fflush(stdout);
}
