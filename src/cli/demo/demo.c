/* copse demo: the main job in one go. Every structure answers the same questions on every device there is, and every
 * answer is checked against a plain sorted array. */
#include "cli/demo/demo.h"
#include "cli/demo/stream.h"

#include <string.h>

#define LARGEST_N (UINT64_C(1) << 32)

static int on_progress(void *user, const char *what, uint64_t done, uint64_t total)
{
    demo *d = user;
    uint64_t part = total > 0 ? done * 100 / total : 0;
    (void)what;
    cli_progress_show(&d->session.progress, "demo", d->step * 100 + part, demo_step_count * UINT64_C(100));
    return cli_interrupted() ? 1 : 0;
}

static int no_memory(void)
{
    return cli_fail("demo", "there is not enough memory; try --quick");
}

static int run_steps(demo *d)
{
    for (d->step = 0; d->step < demo_step_count; d->step++) {
        const demo_step *step = &demo_steps[d->step];
        demo_result result = {0};
        if (on_progress(d, "", 0, 0) != 0) return cli_session_fail(&d->session, COPSE_ERR_CANCELLED);
        copse_status status = step->run(d, &result);
        cli_progress_clear(&d->session.progress);
        if (d->out_of_memory) return no_memory();
        if (status != COPSE_OK) return cli_session_fail(&d->session, status);
        demo_report_step(d, step, &result);
        for (unsigned t = 0; t < d->trees; t++) d->wrong += result.wrong[t];
    }
    d->step = demo_step_count - 1;
    copse_status status = demo_queries(d);
    cli_progress_clear(&d->session.progress);
    if (d->out_of_memory) return no_memory();
    if (status != COPSE_OK) return cli_session_fail(&d->session, status);
    return CLI_OK;
}

static int run(const demo_args *args)
{
    demo d = {.args = args};
    double start = cli_clock();
    int code = cli_session_open(&d.session, "demo", args->threads, args->quiet, &args->where);
    if (code == CLI_OK) code = demo_trees_open(&d);
    if (code == CLI_OK && !demo_room_make(&d)) code = no_memory();
    if (code == CLI_OK) {
        copse_ctx_set_progress(d.session.ctx, on_progress, &d);
        demo_report_begin(&d);
        code = run_steps(&d);
    }
    if (code == CLI_OK && d.wrong > 0)
        code = cli_fail("demo", "%llu wrong answer(s): this is a bug in copse, please report it",
                        (unsigned long long)d.wrong);
    if (code == CLI_OK) {
        demo_report_end(&d, cli_clock() - start);
        code = cli_finish("demo", CLI_OK);
    }
    demo_room_free(&d);
    demo_trees_close(&d);
    cli_session_close(&d.session);
    return code;
}

#define DESCRIPTION_SIZE (2 * CLI_STRUCTURES_SIZE + 1024)
#define HELP_WIDTH       109

static const char *describe(char text[DESCRIPTION_SIZE])
{
    char on_cpu[CLI_STRUCTURES_SIZE], on_gpu[CLI_STRUCTURES_SIZE];
    snprintf(
        text, DESCRIPTION_SIZE,
        "Shows what copse does and how fast it is here: makes a table of orders, indexes it with %s on the CPU and, "
        "where there is a card, with %s on a GPU; answers lookups, ranges, counts and sums, changes and erases "
        "orders, and checks every answer against a plain sorted array. Then it asks the query engine: ranges, groups, "
        "a join. Exits with 1 if any answer is wrong.\n"
        "With the word 'stream': measurements with time stamps arrive in batches, a little out of order; the index "
        "keeps a sliding window of them, forgets the oldest and aggregates the newest. Shows rate and memory while it "
        "runs. It takes one placement, which may be hybrid or hybrid-emulated.",
        demo_tree_names(COPSE_PLACEMENT_CPU, on_cpu), demo_tree_names(COPSE_PLACEMENT_GPU, on_gpu));
    cli_wrap(text, HELP_WIDTH);
    return text;
}

/* What both demos have in common. */
static int run_stream(const demo_args *args, stream_args *flow)
{
    if (args->n || args->quick) return cli_usage_error("demo", "--n and --quick are not for 'copse demo stream'");
    flow->where = args->where;
    flow->where.name = args->placements;
    flow->threads = args->threads;
    flow->json = args->json;
    flow->no_timing = args->no_timing;
    flow->quiet = args->quiet;
    const int code = cli_placement_read("demo", &flow->where);
    return code == CLI_OK ? demo_stream(flow) : code;
}

int copse_cli_demo(int argc, char **argv)
{
    demo_args args = {.where = CLI_PLACEMENT_INIT};
    stream_args flow = {.where = CLI_PLACEMENT_INIT};
    char description[DESCRIPTION_SIZE];
    const cli_option options[] = {
        {"n", 'n', CLI_COUNT, "N", "number of orders: 1000000, 16M or 2^24 (default: 2^22)", &args.n},
        {"quick", 0, CLI_FLAG, NULL, "a small table of 2^18 orders", &args.quick},
        {"placement", 0, CLI_TEXT, "NAMES",
         "where: cpu, gpu, emulated (a GPU's kernels run by the\nCPU), with commas between (default: cpu, and gpu "
         "where\n"
         "one can be used)",
         &args.placements},
        {"device", 0, CLI_COUNT, "N", CLI_DEVICE_HELP, &args.where.device},
        {"threads", 't', CLI_COUNT, "N", "use N threads (default: COPSE_THREADS, else all cores)", &args.threads},
        {"json", 'j', CLI_FLAG, NULL, "print one JSON object per step and tree", &args.json},
        {"seconds", 0, CLI_COUNT, "N", "stream: so long (default: 10)", &flow.seconds},
        {"steps", 0, CLI_COUNT, "N", "stream: so many batches, however long they take", &flow.steps},
        {"batch", 0, CLI_COUNT, "N", "stream: measurements of a batch (default: 2^16)", &flow.batch},
        {"window", 0, CLI_COUNT, "N", "stream: measurements that stay (default: 2^22)", &flow.window},
        {"no-timing", 0, CLI_FLAG, NULL, "leave speeds out, so that the output can be compared", &args.no_timing},
        {"quiet", 'q', CLI_FLAG, NULL, "no progress bar", &args.quiet},
    };
    const cli_command command = {
        "demo",
        "[stream] [OPTIONS]",
        describe(description),
        "  copse demo\n"
        "  copse demo --n 2^24 --threads 1\n"
        "  copse demo --quick --placement cpu,emulated\n"
        "  copse demo stream --seconds 30 --placement gpu",
        options,
        sizeof options / sizeof options[0],
    };
    char *words[64];
    int count = 0, code = CLI_OK;
    if (argc > 63) return cli_usage_error("demo", "there are too many arguments");
    if (!cli_parse(&command, argc, argv, words, &count, &code)) return code;
    const bool streams = count > 0 && strcmp(words[0], "stream") == 0;
    if (count > (streams ? 1 : 0))
        return cli_usage_error("demo", "'%s' is not expected: the command takes options and the word 'stream' only",
                               words[streams ? 1 : 0]);
    if (streams) return run_stream(&args, &flow);
    if (flow.seconds || flow.steps || flow.batch || flow.window)
        return cli_usage_error("demo", "--seconds, --steps, --batch and --window are for 'copse demo stream'");
    if (args.n == 0) args.n = UINT64_C(1) << (args.quick ? 18 : 22);
    if (args.n > LARGEST_N) return cli_usage_error("demo", "--n is at most 2^32");
    if (args.where.device != CLI_NO_DEVICE && args.where.device > INT32_MAX)
        return cli_usage_error("demo", "--device is too large");
    return run(&args);
}
