/* copse bench: runs the cross product of its options and reports. */
#include "cli/bench/bench.h"

#include <stdlib.h>
#include <string.h>

typedef struct bench_run {
    bench_options options;
    bench_progress progress;
    uint64_t queries; /* that --queries says */
    uint64_t wrong;
    uint64_t answers;
} bench_run;

static void count_wrong(bench_run *run, const bench_group *group)
{
    for (size_t i = 0; i < group->count; i++) {
        run->wrong += group->result[i].wrong;
        run->answers += group->result[i].queries * group->result[i].runs;
    }
}

/* One operation with batches of one size, on queries that are made for them. */
static int run_batch(bench_run *run, bench_data *data, bench_targets *targets, const bench_op *op,
                     const bench_queries *queries)
{
    bench_group group = {.options = &run->options, .data = data, .op = op, .batch = run->options.batch};
    int code = bench_measure(&group, targets, queries, &run->progress);
    cli_progress_clear(&run->progress.bar);
    if (code == CLI_OK || code == CLI_INTERRUPTED) bench_report(&group);
    count_wrong(run, &group);
    bench_group_free(&group);
    return code;
}

static int run_op(bench_run *run, bench_data *data, bench_targets *targets, size_t number)
{
    bench_queries queries = {0};
    int code = CLI_OK;
    const bench_op *op = &run->options.ops[number];
    const bench_op_size *size = &run->options.op_sizes[number];
    size_t batches = bench_op_batched(op) && !size->has_batch ? run->options.batches.count : 1;
    bool made = false;
    run->options.queries = size->queries > 0 ? size->queries : run->queries;
    for (size_t b = 0; b < batches && code == CLI_OK; b++) {
        run->options.batch = size->has_batch ? size->batch : run->options.batches.item[b];
        if (b == 0 || op->code == BENCH_APPEND_SHUFFLED) { /* the only one that depends on the batches */
            bench_queries_free(&queries);
            made = bench_queries_make(&queries, data, op, &run->options);
        }
        if (made) code = run_batch(run, data, targets, op, &queries);
    }
    bench_queries_free(&queries);
    return code;
}

static int run_data(bench_run *run, copse_type key, copse_type value, uint64_t n, workload_dist dist)
{
    bench_data data;
    bench_targets targets = {0};
    int code = CLI_OK;
    cli_progress_show(&run->progress.bar, "making data", run->progress.done, run->progress.total);
    bench_data_make(&data, key, value, n, dist, run->options.seed);
    data.duplicates = run->options.duplicates;
    if (cli_interrupted()) {
        code = CLI_INTERRUPTED;
    } else if (bench_targets_open(&targets, &run->options, &data, &code)) {
        for (size_t o = 0; o < run->options.op_count && code == CLI_OK; o++) {
            code = run_op(run, &data, &targets, o);
        }
    }
    bench_targets_close(&targets);
    bench_data_free(&data);
    return cli_interrupted() ? CLI_INTERRUPTED : code;
}

/* An upper bound is good enough for a progress bar. */
static uint64_t number_of_turns(const bench_options *o)
{
    uint64_t contestants = o->structures.count * o->placements.count * o->threads.count * o->isas.count *
                               o->huge_pages.count * o->pipelines.count * o->memories.count * o->transfers.count *
                               o->schedules.count * o->buckets.count * o->leaf_memories.count * o->slowers.count *
                               o->page_orders.count * o->refreshes.count +
                           o->peers.count * o->threads.count;
    uint64_t data_sets = o->keys.count * o->values.count * o->sizes.count * o->dists.count;
    return contestants * data_sets * o->op_count * o->batches.count * o->repeat;
}

static int run_all(bench_run *run)
{
    const bench_options *o = &run->options;
    int code = CLI_OK;
    size_t data_sets = o->keys.count * o->values.count * o->sizes.count * o->dists.count;
    for (size_t d = 0; d < data_sets && code == CLI_OK; d++) {
        size_t rest = d;
        size_t dist = rest % o->dists.count;
        rest /= o->dists.count;
        size_t size = rest % o->sizes.count;
        rest /= o->sizes.count;
        size_t value = rest % o->values.count;
        size_t key = rest / o->values.count;
        code = run_data(run, (copse_type)o->keys.item[key], (copse_type)o->values.item[value], o->sizes.item[size],
                        (workload_dist)o->dists.item[dist]);
    }
    return code;
}

/* After Ctrl-C, too: what was measured until then stands. */
static int conclude(const bench_run *bench, int code)
{
    char answers[CLI_NUMBER_SIZE];
    char wrong[CLI_NUMBER_SIZE];
    if (code != CLI_OK && code != CLI_INTERRUPTED) return code;
    if (!bench->options.json)
        printf("\n%s answers checked, %s wrong\n", cli_group(bench->answers, answers), cli_group(bench->wrong, wrong));
    if (code == CLI_INTERRUPTED) cli_note("bench", "interrupted; what was measured until then is above");
    if (bench->wrong > 0) return cli_fail("bench", "%llu answers were wrong", (unsigned long long)bench->wrong);
    return code;
}

int copse_cli_bench(int argc, char **argv)
{
    bench_run *bench = bench_memory(1, sizeof *bench);
    int code = CLI_OK;
    memset(bench, 0, sizeof *bench);
    if (bench_options_read(&bench->options, argc, argv, &code)) {
        bench->queries = bench->options.queries;
        bench->progress.total = number_of_turns(&bench->options);
        cli_progress_start(&bench->progress.bar, false);
        if (bench->options.progress) cli_progress_force(&bench->progress.bar);
        if (!bench->options.json) printf("%s\n", bench_machine());
        cli_interrupts_end(true); /* a call may take minutes */
        code = run_all(bench);
        cli_interrupts_end(false);
        cli_progress_clear(&bench->progress.bar);
        code = conclude(bench, code);
        code = cli_finish("bench", code);
    }
    free(bench);
    return code;
}
