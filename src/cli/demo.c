/* copse demo: the main job in one go. Every structure answers the same questions, and every answer is checked against
 * a plain sorted array. */
#include "cli.h"
#include "demo_model.h"

#include <stdlib.h>
#include <string.h>

#define STRUCTURES   2
#define SOLVERS      (STRUCTURES + 1) /* and the sorted array */
#define RANGE_LENGTH 100
#define LARGEST_N    (UINT64_C(1) << 32)

static const copse_structure structures[STRUCTURES] = {COPSE_STRUCTURE_IMPLICIT, COPSE_STRUCTURE_REGULAR};

typedef struct demo_args {
    uint64_t n;
    uint64_t threads;
    bool quick;
    bool json;
    bool no_timing;
    bool quiet;
} demo_args;

typedef struct demo {
    const demo_args *args;
    cli_session session;
    copse_index *index[STRUCTURES];
    demo_model model;
    uint64_t random;
    /* Room for the questions and answers of one step. */
    uint64_t *keys;
    uint64_t *values;
    uint64_t *expected;
    uint64_t *expected_values;
    uint64_t *got;
    uint64_t *got_values;
    uint8_t *found;
    uint64_t capacity;
    uint64_t wrong; /* in all steps */
    unsigned step;
} demo;

typedef struct step_result {
    uint64_t operations;
    uint64_t wrong[STRUCTURES];
    double seconds[SOLVERS];
} step_result;

typedef copse_status (*step_fn)(demo *d, step_result *result);

/* ---- orders ---- */

/* A mixing of 64 bits that can be undone, so that different numbers stay different. */
static uint64_t scramble(uint64_t x)
{
    x = (x ^ x >> 31) * UINT64_C(0xd6e8feb86659fd93);
    x = (x ^ x >> 29) * UINT64_C(0xa0761d6478bd642f);
    return x ^ x >> 32;
}

/* The number of the i-th order ever made; from the table's size on, of an order that is not in the table. */
static uint64_t order_number(uint64_t i)
{
    return scramble(i * UINT64_C(0x9e3779b97f4a7c15) + 12345);
}

static uint64_t next_random(demo *d)
{
    return scramble(d->random++ + (UINT64_C(1) << 40));
}

static uint64_t next_amount(demo *d)
{
    return 100 + next_random(d) % 100000; /* cents */
}

/* ---- helpers of the steps ---- */

static copse_status no_memory(void)
{
    return COPSE_ERR_MEMORY;
}

static uint64_t differences(const uint64_t *a, const uint64_t *b, uint64_t n)
{
    uint64_t wrong = 0;
    for (uint64_t i = 0; i < n; i++) wrong += a[i] != b[i];
    return wrong;
}

static double since(double *start)
{
    double now = cli_clock(), seconds = now - *start;
    *start = now;
    return seconds;
}

/* Half of the keys are in the table, half are not. */
static void choose_keys(demo *d, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++) {
        uint64_t order = next_random(d) % d->args->n;
        d->keys[i] = order_number(i % 2 ? order : order + d->args->n);
    }
}

/* Ranges of any width; one in sixteen is empty, because its ends are the wrong way round. Lows in keys, highs in
 * values. */
static void choose_ranges(demo *d, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++) {
        uint64_t a = next_random(d), b = next_random(d);
        bool swap = (a > b) != (i % 16 == 0);
        d->keys[i] = swap ? b : a;
        d->values[i] = swap ? a : b;
    }
}

static uint64_t at_most(uint64_t n, uint64_t limit)
{
    return n < limit ? n : limit;
}

/* ---- steps ---- */

static copse_status build_step(demo *d, step_result *result)
{
    uint64_t n = result->operations = d->args->n;
    copse_status status = COPSE_OK;
    for (uint64_t i = 0; i < n; i++) {
        d->keys[i] = order_number(i);
        d->values[i] = next_amount(d);
    }
    double start = cli_clock();
    if (!demo_model_build(&d->model, d->keys, d->values, n)) return no_memory();
    result->seconds[STRUCTURES] = since(&start);
    for (int s = 0; s < STRUCTURES && status == COPSE_OK; s++) {
        copse_index_options options = COPSE_INDEX_OPTIONS_INIT;
        options.structure = structures[s];
        status = copse_index_create(d->session.ctx, &options, &d->index[s]);
        since(&start);
        if (status == COPSE_OK) status = copse_build(d->index[s], d->keys, d->values, n);
        result->seconds[s] = since(&start);
        result->wrong[s] += copse_size(d->index[s]) != d->model.count;
    }
    return status;
}

static copse_status find_step(demo *d, step_result *result)
{
    uint64_t n = result->operations = at_most(d->args->n / 4 + 1, UINT64_C(1) << 21);
    copse_status status = COPSE_OK;
    choose_keys(d, n);
    double start = cli_clock();
    for (uint64_t i = 0; i < n; i++) d->expected[i] = demo_model_find(&d->model, d->keys[i], &d->expected_values[i]);
    result->seconds[STRUCTURES] = since(&start);
    for (int s = 0; s < STRUCTURES && status == COPSE_OK; s++) {
        since(&start);
        status = copse_find(d->index[s], d->keys, n, d->got_values, d->found);
        result->seconds[s] = since(&start);
        result->wrong[s] += differences(d->got_values, d->expected_values, n);
        for (uint64_t i = 0; i < n; i++) result->wrong[s] += d->found[i] != d->expected[i];
    }
    return status;
}

static copse_status range_step(demo *d, step_result *result)
{
    uint64_t n = d->capacity / RANGE_LENGTH / 2 + 1, at = 0;
    copse_status status = COPSE_OK;
    uint64_t *offsets = malloc((size_t)(n + 1) * sizeof *offsets);
    if (!offsets) return no_memory();
    choose_ranges(d, n);
    for (uint64_t i = 0; i < n; i++) d->values[i] = UINT64_MAX;
    double start = cli_clock();
    for (uint64_t i = 0; i < n; i++) {
        uint64_t rank = demo_model_rank(&d->model, d->keys[i]), end = rank + RANGE_LENGTH;
        for (end = at_most(end, d->model.count); rank < end; rank++, at++) {
            d->expected[at] = d->model.keys[rank];
            d->expected_values[at] = d->model.values[rank];
        }
    }
    result->seconds[STRUCTURES] = since(&start);
    result->operations = at;
    for (int s = 0; s < STRUCTURES && status == COPSE_OK; s++) {
        since(&start);
        status =
            copse_range(d->index[s], d->keys, d->values, n, RANGE_LENGTH, offsets, d->got, d->got_values, d->capacity);
        result->seconds[s] = since(&start);
        result->wrong[s] += offsets[n] != at;
        result->wrong[s] += differences(d->got, d->expected, at) + differences(d->got_values, d->expected_values, at);
    }
    free(offsets);
    return status;
}

static copse_status count_step(demo *d, step_result *result)
{
    uint64_t n = result->operations = at_most(d->args->n / 16 + 1, UINT64_C(1) << 20);
    copse_status status = COPSE_OK;
    choose_ranges(d, n);
    double start = cli_clock();
    for (uint64_t i = 0; i < n; i++) d->expected[i] = demo_model_count(&d->model, d->keys[i], d->values[i]);
    result->seconds[STRUCTURES] = since(&start);
    for (int s = 0; s < STRUCTURES && status == COPSE_OK; s++) {
        since(&start);
        status = copse_count(d->index[s], d->keys, d->values, n, d->got);
        result->seconds[s] = since(&start);
        result->wrong[s] += differences(d->got, d->expected, n);
    }
    return status;
}

static copse_status sum_step(demo *d, step_result *result)
{
    uint64_t n = result->operations = at_most(d->args->n / 16 + 1, UINT64_C(1) << 20);
    copse_status status = COPSE_OK;
    choose_ranges(d, n);
    if (!demo_model_prepare_sums(&d->model)) return no_memory();
    double start = cli_clock();
    for (uint64_t i = 0; i < n; i++) d->expected[i] = demo_model_sum(&d->model, d->keys[i], d->values[i]);
    result->seconds[STRUCTURES] = since(&start);
    for (int s = 0; s < STRUCTURES && status == COPSE_OK; s++) {
        /* The first sum after a change prepares the aggregates; that is not what is measured. */
        status = copse_sum(d->index[s], d->keys, d->values, 1, d->got);
        since(&start);
        if (status == COPSE_OK) status = copse_sum(d->index[s], d->keys, d->values, n, d->got);
        result->seconds[s] = since(&start);
        result->wrong[s] += differences(d->got, d->expected, n);
    }
    return status;
}

static copse_status update_step(demo *d, step_result *result)
{
    uint64_t n = result->operations = d->args->n / 16 + 1, expected = 0;
    copse_status status = COPSE_OK;
    choose_keys(d, n);
    for (uint64_t i = 0; i < n; i++) d->values[i] = next_amount(d);
    double start = cli_clock();
    if (!demo_model_upsert(&d->model, d->keys, d->values, n, &expected)) return no_memory();
    result->seconds[STRUCTURES] = since(&start);
    for (int s = 0; s < STRUCTURES && status == COPSE_OK; s++) {
        uint64_t inserted = 0;
        since(&start);
        status = copse_insert(d->index[s], d->keys, d->values, n, COPSE_INSERT_UPSERT, &inserted);
        result->seconds[s] = since(&start);
        result->wrong[s] += inserted != expected;
    }
    return status;
}

static copse_status erase_step(demo *d, step_result *result)
{
    uint64_t n = result->operations = d->args->n / 16 + 1, expected = 0;
    copse_status status = COPSE_OK;
    choose_keys(d, n);
    double start = cli_clock();
    if (!demo_model_erase(&d->model, d->keys, n, &expected)) return no_memory();
    result->seconds[STRUCTURES] = since(&start);
    for (int s = 0; s < STRUCTURES && status == COPSE_OK; s++) {
        uint64_t erased = 0;
        since(&start);
        status = copse_erase(d->index[s], d->keys, n, &erased);
        result->seconds[s] = since(&start);
        result->wrong[s] += erased != expected;
    }
    return status;
}

static copse_status export_step(demo *d, step_result *result)
{
    uint64_t n = result->operations = d->model.count;
    copse_status status = COPSE_OK;
    double start = cli_clock();
    memcpy(d->expected, d->model.keys, (size_t)n * sizeof *d->expected);
    memcpy(d->expected_values, d->model.values, (size_t)n * sizeof *d->expected_values);
    result->seconds[STRUCTURES] = since(&start);
    for (int s = 0; s < STRUCTURES && status == COPSE_OK; s++) {
        since(&start);
        status = copse_export(d->index[s], d->got, d->got_values, d->capacity);
        result->seconds[s] = since(&start);
        result->wrong[s] += copse_size(d->index[s]) != n;
        result->wrong[s] += differences(d->got, d->expected, n) + differences(d->got_values, d->expected_values, n);
        if (status == COPSE_OK) status = copse_verify(d->index[s]);
    }
    return status;
}

typedef struct demo_step {
    const char *name; /* for --json */
    const char *label;
    step_fn run;
} demo_step;

static const demo_step steps[] = {
    {"build", "build from unsorted orders", build_step},
    {"find", "find orders by number", find_step},
    {"range", "list runs of 100 orders", range_step},
    {"count", "count orders in ranges", count_step},
    {"sum", "sum amounts in ranges", sum_step},
    {"update", "change and add orders", update_step},
    {"erase", "erase orders", erase_step},
    {"sum-again", "sum amounts once more", sum_step},
    {"export", "list everything, verify", export_step},
};
#define STEPS (sizeof steps / sizeof steps[0])

/* ---- the report ---- */

static const char *solver_name(int solver)
{
    return solver < STRUCTURES ? copse_structure_name(structures[solver]) : "sorted array";
}

static uint64_t wrong_answers(const step_result *result)
{
    uint64_t wrong = 0;
    for (int s = 0; s < STRUCTURES; s++) wrong += result->wrong[s];
    return wrong;
}

static void print_intro(const demo *d)
{
    char number[CLI_NUMBER_SIZE];
    copse_ctx_info info;
    if (d->args->json) return;
    printf("copse %s: a table of %s order%s, each with a number (the key) and an amount.\n", copse_version(),
           cli_group(d->args->n, number), d->args->n == 1 ? "" : "s");
    if (!d->args->no_timing && copse_ctx_describe(d->session.ctx, &info) == COPSE_OK)
        printf("Speed in million operations a second, on %u thread%s with %s; the sorted array on one thread.\n",
               info.threads, info.threads == 1 ? "" : "s", info.isa);
    printf("\n%-28s %12s", "step", "operations");
    for (int s = 0; s < SOLVERS && !d->args->no_timing; s++) printf(" %13s", solver_name(s));
    puts("   answers");
    fflush(stdout);
}

static void print_step(const demo *d, const demo_step *step, const step_result *result)
{
    char number[CLI_NUMBER_SIZE];
    printf("%-28s %12s", step->label, cli_group(result->operations, number));
    for (int s = 0; s < SOLVERS && !d->args->no_timing; s++)
        printf(" %13.1f", result->seconds[s] > 0 ? (double)result->operations / result->seconds[s] / 1e6 : 0.0);
    if (wrong_answers(result) == 0) printf("   all equal");
    for (int s = 0; s < STRUCTURES; s++)
        if (result->wrong[s] > 0) printf("   %s of %s differ", cli_group(result->wrong[s], number), solver_name(s));
    putchar('\n');
    fflush(stdout);
}

static void print_step_json(const demo *d, const demo_step *step, const step_result *result)
{
    for (int s = 0; s < SOLVERS; s++) {
        cli_json json;
        cli_json_begin(&json, stdout);
        cli_json_text(&json, "step", step->name);
        cli_json_text(&json, "structure", s < STRUCTURES ? solver_name(s) : "sorted-array");
        cli_json_u64(&json, "operations", result->operations);
        if (!d->args->no_timing) cli_json_double(&json, "seconds", result->seconds[s]);
        cli_json_u64(&json, "wrong", s < STRUCTURES ? result->wrong[s] : 0);
        cli_json_end(&json);
    }
}

static void print_end(const demo *d, double seconds)
{
    char time[CLI_NUMBER_SIZE];
    if (d->args->json) return;
    if (d->args->no_timing)
        puts("\nEvery answer of every structure is that of the sorted array.");
    else
        printf("\nEvery answer of every structure is that of the sorted array. It took %s.\n",
               cli_seconds(seconds, time));
    puts("\nWhere to go next\n"
         "  copse build orders.csv --key id --value amount -o orders.copse    index a table of your own\n"
         "  copse sum orders.copse 1000 1999                                  and ask it something\n"
         "  copse bench --help                                                measure, also against other libraries\n"
         "  copse help                                                        all commands");
}

/* ---- running ---- */

static int on_progress(void *user, const char *what, uint64_t done, uint64_t total)
{
    demo *d = user;
    uint64_t part = total > 0 ? done * 100 / total : 0;
    (void)what;
    cli_progress_show(&d->session.progress, "demo", d->step * 100 + part, STEPS * 100);
    return cli_interrupted() ? 1 : 0;
}

static bool make_room(demo *d)
{
    /* The largest step lists everything after the update. */
    d->capacity = d->args->n + d->args->n / 16 + 2 * RANGE_LENGTH;
    size_t bytes = (size_t)d->capacity * sizeof(uint64_t);
    uint64_t **arrays[] = {&d->keys, &d->values, &d->expected, &d->expected_values, &d->got, &d->got_values};
    for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++) {
        *arrays[i] = malloc(bytes);
        if (!*arrays[i]) return false;
        memset(*arrays[i], 0, bytes); /* so that no step pays for memory that is touched for the first time */
    }
    d->found = calloc((size_t)d->capacity, 1);
    return d->found != NULL;
}

static void free_room(demo *d)
{
    free(d->keys);
    free(d->values);
    free(d->expected);
    free(d->expected_values);
    free(d->got);
    free(d->got_values);
    free(d->found);
    demo_model_free(&d->model);
    for (int s = 0; s < STRUCTURES; s++) copse_index_free(d->index[s]);
    cli_session_close(&d->session);
}

static int run_steps(demo *d)
{
    for (d->step = 0; d->step < STEPS; d->step++) {
        step_result result = {0};
        if (on_progress(d, "", 0, 0) != 0) return cli_session_fail(&d->session, COPSE_ERR_CANCELLED);
        copse_status status = steps[d->step].run(d, &result);
        cli_progress_clear(&d->session.progress);
        if (status != COPSE_OK) return cli_session_fail(&d->session, status);
        if (d->args->json)
            print_step_json(d, &steps[d->step], &result);
        else
            print_step(d, &steps[d->step], &result);
        d->wrong += wrong_answers(&result);
    }
    return CLI_OK;
}

static int run(const demo_args *args)
{
    demo d = {.args = args};
    double start = cli_clock();
    int code = cli_session_open(&d.session, "demo", args->threads, args->quiet);
    if (code == CLI_OK && !make_room(&d)) code = cli_fail("demo", "there is not enough memory; try --quick");
    if (code == CLI_OK) {
        copse_ctx_set_progress(d.session.ctx, on_progress, &d);
        print_intro(&d);
        code = run_steps(&d);
    }
    if (code == CLI_OK && d.wrong > 0)
        code = cli_fail("demo", "%llu wrong answer(s): this is a bug in copse, please report it",
                        (unsigned long long)d.wrong);
    if (code == CLI_OK) {
        print_end(&d, cli_clock() - start);
        code = cli_finish("demo", CLI_OK);
    }
    free_room(&d);
    return code;
}

int copse_cli_demo(int argc, char **argv)
{
    demo_args args = {.n = 0};
    const cli_option options[] = {
        {"n", 'n', CLI_COUNT, "N", "number of orders: 1000000, 16M or 2^24 (default: 2^22)", &args.n},
        {"quick", 0, CLI_FLAG, NULL, "a small table of 2^18 orders", &args.quick},
        {"threads", 't', CLI_COUNT, "N", "use N threads (default: COPSE_THREADS, else all cores)", &args.threads},
        {"json", 'j', CLI_FLAG, NULL, "print one JSON object per step and structure", &args.json},
        {"no-timing", 0, CLI_FLAG, NULL, "leave speeds out, so that the output can be compared", &args.no_timing},
        {"quiet", 'q', CLI_FLAG, NULL, "no progress bar", &args.quiet},
    };
    const cli_command command = {
        "demo",
        "[OPTIONS]",
        "Shows what copse does and how fast it is here: makes a table of orders, indexes it with every structure,\n"
        "answers lookups, ranges, counts and sums, changes and erases orders, and checks every answer against a plain\n"
        "sorted array. Exits with 1 if any answer is wrong.",
        "  copse demo\n"
        "  copse demo --n 2^24 --threads 1",
        options,
        sizeof options / sizeof options[0],
    };
    char *words[64];
    int count = 0, code = CLI_OK;
    if (argc > 63) return cli_usage_error("demo", "there are too many arguments");
    if (!cli_parse(&command, argc, argv, words, &count, &code)) return code;
    if (count > 0) return cli_usage_error("demo", "'%s' is not expected: the command takes options only", words[0]);
    if (args.n == 0) args.n = UINT64_C(1) << (args.quick ? 18 : 22);
    if (args.n > LARGEST_N) return cli_usage_error("demo", "--n is at most 2^32");
    return run(&args);
}
