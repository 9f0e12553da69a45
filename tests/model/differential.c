/* The differential tester: random operation sequences on every structure, placement, key type, instruction set and number
 * of threads, each answer compared with that of a sorted array. A failure prints the command that repeats it and the
 * smallest sequence that still fails. docs/TESTING.md is the guide. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "generate.h"
#include "keys.h"
#include "random.h"
#include "shrink.h"
#include "trees.h"

/* Rounds of --quick: through all combinations of a placement this many times. Emulated kernels are slow. */
#define CPU_ROUNDS      8
#define EMULATED_ROUNDS 5
#define GPU_ROUNDS      12
#define HYBRID_ROUNDS   2

#define LIGHT_SHARE    4 /* --light runs one case in this many */
#define LONG_SECONDS   1800.0
#define SHRINK_SECONDS 20.0
#define MAX_FAILURES   5
#define SELF_TESTS     8

static const char *const isas[] = {"scalar", "avx2", "avx512"};
static const uint32_t thread_counts[] = {1, 2, 4};
static const uint32_t pipelines[] = {0, 1, 3, 16, 7, 64, 256, 2};

#define ISAS    3
#define THREADS 3
/* Of each structure that the registry has at the placement. */
#define CPU_COMBINATIONS    (TYPED_KEY_TYPES * ISAS * THREADS * 2)
#define DEVICE_COMBINATIONS (TYPED_KEY_TYPES * PLACED_MEMORIES * 2)

/* Each placement is a suite with case numbers of its own. */
#define PLACEMENTS 5
static const copse_placement placements[PLACEMENTS] = {COPSE_PLACEMENT_CPU, COPSE_PLACEMENT_EMULATED,
                                                       COPSE_PLACEMENT_HYBRID_EMULATED, COPSE_PLACEMENT_GPU,
                                                       COPSE_PLACEMENT_HYBRID};

struct settings {
    uint64_t seed;
    bool placement[PLACEMENTS]; /* which of them run */
    bool named;                 /* the command line says which */
    long long only_case;        /* -1: all */
    uint64_t rounds;            /* 0: as many as --quick has for the placement */
    unsigned share;             /* run one case in this many */
    double seconds;             /* 0: as many rounds as said, else until they are over */
    bool isolate;               /* every case in a process of its own */
    int pattern;                /* struct scenario */
    bool small;                 /* as small as the emulator's cases */
    bool list;
    bool self_test;
    const char *only[8]; /* "name=value" */
    unsigned only_n;
    bool offered[ISAS];
};

/* What a crash handler needs to say which case it was. */
static char crash_text[256];

static void print_crash(void)
{
    ssize_t ignored = write(STDERR_FILENO, crash_text, strlen(crash_text));
    (void)ignored;
}

static void on_crash(int number)
{
    print_crash();
    (void)signal(number, SIG_DFL);
    (void)raise(number);
}

/* Sanitizers end the process by themselves; this is there when one is linked in. */
__attribute__((weak)) void __sanitizer_set_death_callback(void (*callback)(void));

static void catch_crashes(void)
{
    (void)signal(SIGSEGV, on_crash);
    (void)signal(SIGBUS, on_crash);
    (void)signal(SIGFPE, on_crash);
    (void)signal(SIGILL, on_crash);
    (void)signal(SIGABRT, on_crash);
    if (__sanitizer_set_death_callback) __sanitizer_set_death_callback(print_crash);
}

static double now(void)
{
    struct timespec time;
    (void)clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static uint64_t case_seed(uint64_t seed, uint64_t number)
{
    struct random_source source = {seed * UINT64_C(0xd1342543de82ef95) + number};
    return random_next(&source);
}

/* Where leaves are read by the CPU, whoever walks the inner levels. */
static bool in_host_memory(copse_placement placement)
{
    return placement != COPSE_PLACEMENT_GPU && placement != COPSE_PLACEMENT_EMULATED;
}

static bool is_hybrid(copse_placement placement)
{
    return placement == COPSE_PLACEMENT_HYBRID || placement == COPSE_PLACEMENT_HYBRID_EMULATED;
}

static uint64_t combinations(copse_placement placement)
{
    const uint64_t each = in_host_memory(placement) ? CPU_COMBINATIONS : DEVICE_COMBINATIONS;
    return each * trees_that(placement, COPSE_CAN_EXIST).n;
}

/* Duplicates, of trees that keep them. */
static bool keeps_duplicates(const struct subject_config *config, bool wanted)
{
    return wanted && copse_supports(config->structure, config->placement, config->key_type, COPSE_CAN_KEEP_DUPLICATES);
}

/* Every type of values in turn, and sets, which have none. */
static copse_type value_type_of(uint64_t turn, uint64_t round)
{
    const uint64_t types = TYPED_VALUE_TYPES + 1, at = (turn + turn / types + round) % types;
    return at < TYPED_VALUE_TYPES ? typed_value_types[at] : COPSE_NONE;
}

/* Orders of pages take turns where there are pages; the tree's own comes as often as all others. */
static uint32_t page_order_of(const struct subject_config *config, uint64_t seed)
{
    const uint64_t orders = 9; /* 64 .. 16384 */
    if (config->structure != COPSE_STRUCTURE_PAGED || seed % 2) return 0;
    return UINT32_C(64) << seed / 2 % orders;
}

/* The configuration of a case follows from its number: the combinations take turns, round after round. */
static struct subject_config cpu_config(copse_placement placement, uint64_t number, struct random_source *random)
{
    const struct trees trees = trees_that(placement, COPSE_CAN_EXIST);
    uint64_t turn = number % combinations(placement), round = number / combinations(placement);
    uint64_t rest = turn;
    struct subject_config config = {.placement = placement};
    config.structure = trees.structure[rest % trees.n];
    rest /= trees.n;
    config.key_type = typed_key_types[rest % TYPED_KEY_TYPES];
    rest /= TYPED_KEY_TYPES;
    config.isa = isas[rest % ISAS];
    rest /= ISAS;
    config.threads = thread_counts[rest % THREADS];
    rest /= THREADS;
    config.duplicates = keeps_duplicates(&config, rest % 2);
    config.value_type = value_type_of(turn, round);
    config.pipeline = pipelines[random_below(random, sizeof pipelines / sizeof *pipelines)];
    config.huge_pages = random_one_in(random, 2) ? COPSE_HUGE_PAGES_OFF : COPSE_HUGE_PAGES_AUTO;
    config.own_allocator = random_one_in(random, 3);
    if (is_hybrid(placement)) {
        config.simt_seed = random_one_in(random, 4) ? 0 : random_next(random) >> 32;
        config.ways = (uint32_t)random_below(random, SUBJECT_WAYS);
    }
    return config;
}

/* On a device the instruction set does not matter, but where the arrays lie does, and in which order warps run. */
static struct subject_config device_config(copse_placement placement, uint64_t number, struct random_source *random)
{
    const struct trees trees = trees_that(placement, COPSE_CAN_EXIST);
    uint64_t turn = number % combinations(placement), round = number / combinations(placement);
    uint64_t rest = turn;
    struct subject_config config = {.placement = placement, .structure = trees.structure[rest % trees.n]};
    rest /= trees.n;
    config.key_type = typed_key_types[rest % TYPED_KEY_TYPES];
    rest /= TYPED_KEY_TYPES;
    config.memory = (enum placed_memory)(rest % PLACED_MEMORIES);
    rest /= PLACED_MEMORIES;
    config.duplicates = keeps_duplicates(&config, rest % 2);
    config.value_type = value_type_of(turn, round);
    config.threads = thread_counts[random_below(random, THREADS)];
    config.huge_pages = COPSE_HUGE_PAGES_OFF;
    config.own_allocator = random_one_in(random, 3);
    config.simt_seed = random_one_in(random, 4) ? 0 : random_next(random) >> 32;
    config.stream = random_one_in(random, 4);
    config.ways = (uint32_t)random_below(random, SUBJECT_WAYS);
    config.processors = random_one_in(random, 4) ? 0 : (uint32_t)random_below(random, 3) + 1;
    config.transfer = random_one_in(random, 2) ? 0 : (uint32_t)(random_next(random) % 512);
    return config;
}

static struct subject_config case_config(copse_placement placement, uint64_t seed, uint64_t number)
{
    struct random_source random = {case_seed(seed, number) ^ 1};
    struct subject_config config =
        in_host_memory(placement) ? cpu_config(placement, number, &random) : device_config(placement, number, &random);
    config.page_order = page_order_of(&config, case_seed(seed, number) >> 8);
    return config;
}

static enum profile case_profile(copse_placement placement, uint64_t number)
{
    static const enum profile turns[] = {PROFILE_TINY, PROFILE_BOUNDARY, PROFILE_MEDIUM, PROFILE_BOUNDARY};
    uint64_t round = number / combinations(placement);
    if (number % 37 == 5) return PROFILE_LARGE;
    return turns[round % 4];
}

static bool selected(const struct settings *settings, const struct subject_config *config)
{
    for (unsigned i = 0; i < settings->only_n; i++) {
        char fact[64];
        const char *wanted = settings->only[i], *structure = copse_structure_name(config->structure);
        bool met = false;
        for (int field = 0; field < 9 && !met; field++) {
            if (field == 0) (void)snprintf(fact, sizeof fact, "structure=%s", structure);
            if (field == 1) (void)snprintf(fact, sizeof fact, "key=%s", typed_name(config->key_type));
            if (field == 2) (void)snprintf(fact, sizeof fact, "value=%s", typed_name(config->value_type));
            if (field == 3) (void)snprintf(fact, sizeof fact, "isa=%s", config->isa ? config->isa : "default");
            if (field == 4) (void)snprintf(fact, sizeof fact, "threads=%u", config->threads);
            if (field == 5) (void)snprintf(fact, sizeof fact, "duplicates=%d", config->duplicates);
            if (field == 6) (void)snprintf(fact, sizeof fact, "memory=%s", placed_memory_name(config->memory));
            if (field == 7) (void)snprintf(fact, sizeof fact, "stream=%d", config->stream);
            if (field == 8) (void)snprintf(fact, sizeof fact, "order=%u", config->page_order);
            met = strcmp(fact, wanted) == 0;
        }
        if (!met) return false;
    }
    for (int i = 0; i < ISAS && config->isa; i++)
        if (strcmp(config->isa, isas[i]) == 0) return settings->offered[i];
    return true;
}

/* The option that chose the pattern of keys, if one did. */
static const char *const *pattern_option(const struct settings *settings)
{
    static const char *words[2];
    words[0] = settings->pattern ? " --pattern " : "";
    words[1] = settings->pattern ? key_pattern_names[settings->pattern - 1] : "";
    return words;
}

static void report_failure(const struct settings *settings, uint64_t number, struct scenario *scenario,
                           struct scenario_result *result)
{
    (void)printf("FAILED case %llu of %s: ", (unsigned long long)number,
                 copse_placement_name(scenario->config.placement));
    scenario_print_config(&scenario->config, stdout);
    if (result->failed_at < scenario->n)
        (void)printf("\n  operation %zu of %zu, %s: %s\n", result->failed_at + 1, scenario->n,
                     operation_name(scenario->operations[result->failed_at].kind), result->why);
    else
        (void)printf("\n  at the end: %s\n", result->why);
    /* the name as well: a build with other trees counts its cases differently, and would repeat something else */
    (void)printf("  repeat with: differential --placement %s --only structure=%s --seed %llu --case %llu%s%s%s%s\n",
                 copse_placement_name(scenario->config.placement), copse_structure_name(scenario->config.structure),
                 (unsigned long long)settings->seed, (unsigned long long)number, pattern_option(settings)[0],
                 pattern_option(settings)[1], settings->small ? " --small" : "", settings->isolate ? " --isolate" : "");
    (void)fflush(stdout);
    shrink(scenario, result, settings->isolate, SHRINK_SECONDS);
    (void)printf("  shrunken to:\n");
    scenario_print(scenario, stdout);
    (void)printf("    -> %s\n", result->why);
    (void)fflush(stdout);
}

static bool run_case(const struct settings *settings, copse_placement placement, uint64_t number)
{
    struct scenario scenario;
    struct subject_config config = case_config(placement, settings->seed, number);
    scenario_init(&scenario, &config);
    /* What the emulator runs most of; of a hybrid paged tree the pages are there. */
    scenario.small = settings->small || placement == COPSE_PLACEMENT_EMULATED ||
                     (placement == COPSE_PLACEMENT_HYBRID_EMULATED && config.structure == COPSE_STRUCTURE_PAGED);
    scenario.pattern = settings->pattern;
    generate(&scenario, case_profile(placement, number), case_seed(settings->seed, number));
    (void)snprintf(
        crash_text, sizeof crash_text,
        "\ncrashed in case %llu; repeat and shrink with: differential --placement %s --only structure=%s --seed %llu "
        "--case %llu%s%s --isolate\n",
        (unsigned long long)number, copse_placement_name(placement), copse_structure_name(config.structure),
        (unsigned long long)settings->seed, (unsigned long long)number, pattern_option(settings)[0],
        pattern_option(settings)[1]);
    struct scenario_result result = scenario_run(&scenario, settings->isolate);
    if (!result.right) report_failure(settings, number, &scenario, &result);
    scenario_free(&scenario);
    return result.right;
}

struct tally {
    uint64_t passed;
    uint64_t failed;
    double seconds;
};

static void list_case(copse_placement placement, uint64_t number, const struct subject_config *config)
{
    static const char *const profile_names[] = {"tiny", "boundary", "medium", "large"};
    (void)printf("case %llu %s ", (unsigned long long)number, profile_names[case_profile(placement, number)]);
    scenario_print_config(config, stdout);
    (void)printf("\n");
}

/* Runs or lists one case, if it is one of those that were asked for. */
static void take_case(const struct settings *settings, copse_placement placement, uint64_t number, struct tally *tally)
{
    struct subject_config config = case_config(placement, settings->seed, number);
    /* spread the share over the rounds: another share of the combinations in each, and with another seed */
    const uint64_t turn = number + number / combinations(placement) + settings->seed;
    bool mine = settings->only_case >= 0 || turn % settings->share == 0;
    if (!mine || !selected(settings, &config)) return;
    if (settings->list) {
        list_case(placement, number, &config);
        return;
    }
    double start = now();
    if (run_case(settings, placement, number))
        tally->passed++;
    else
        tally->failed++;
    tally->seconds += now() - start;
}

static uint64_t case_limit(const struct settings *settings, copse_placement placement)
{
    uint64_t rounds = placement == COPSE_PLACEMENT_CPU        ? CPU_ROUNDS
                      : placement == COPSE_PLACEMENT_EMULATED ? EMULATED_ROUNDS
                      : is_hybrid(placement)                  ? HYBRID_ROUNDS
                                                              : GPU_ROUNDS;
    return combinations(placement) * (settings->rounds ? settings->rounds : rounds);
}

/* The next case of each placement in turn. Returns whether there was one. */
static bool take_turn(const struct settings *settings, uint64_t number, struct tally *tallies)
{
    bool any = false;
    for (int i = 0; i < PLACEMENTS; i++) {
        if (!settings->placement[i]) continue;
        if (settings->seconds <= 0 && settings->only_case < 0 && number >= case_limit(settings, placements[i]))
            continue;
        take_case(settings, placements[i], number, &tallies[i]);
        any = true;
    }
    return any;
}

static int run_cases(const struct settings *settings)
{
    struct tally tallies[PLACEMENTS] = {{0, 0, 0}}, all = {0, 0, 0};
    double start = now();
    for (uint64_t number = 0;; number++) {
        if (settings->seconds > 0 && now() - start > settings->seconds) break;
        if (settings->only_case >= 0) number = (uint64_t)settings->only_case;
        if (!take_turn(settings, number, tallies) || settings->only_case >= 0) break;
        uint64_t failed = 0;
        for (int i = 0; i < PLACEMENTS; i++) failed += tallies[i].failed;
        if (failed >= MAX_FAILURES) break;
    }
    if (settings->list) return 0;
    for (int i = 0; i < PLACEMENTS; i++) {
        if (settings->placement[i])
            (void)printf("%s: %llu cases right, %llu wrong, %.1f s\n", copse_placement_name(placements[i]),
                         (unsigned long long)tallies[i].passed, (unsigned long long)tallies[i].failed,
                         tallies[i].seconds);
        all.passed += tallies[i].passed;
        all.failed += tallies[i].failed;
        if (settings->named && settings->placement[i] && !tallies[i].passed && !tallies[i].failed) {
            (void)printf("no case of %s was run\n", copse_placement_name(placements[i]));
            all.failed++;
        }
    }
    (void)printf("seed %llu, %.1f s", (unsigned long long)settings->seed, now() - start);
    if (settings->share > 1)
        (void)printf("; these cases again: --share %u --seed %llu, others: another seed", settings->share,
                     (unsigned long long)settings->seed);
    (void)printf("\n");
    (void)printf("%llu passed, %llu failed\n", (unsigned long long)all.passed, (unsigned long long)all.failed);
    return all.failed || !all.passed;
}

/* Keys of which the model lies about some, and a query for them: behind whatever the seed made. */
static void add_lied_about_keys(struct scenario *scenario)
{
    enum { n = 60 };
    struct operation insert, find;
    uint64_t zero = typed_zero_code(scenario->config.key_type);
    operation_init(&insert, OPERATION_INSERT, n);
    operation_init(&find, OPERATION_FIND, n);
    for (uint64_t i = 0; i < n; i++) {
        insert.first[i] = find.first[n - 1 - i] = zero + 3 * i;
        insert.second[i] = i;
    }
    scenario_add(scenario, &insert);
    scenario_add(scenario, &find);
}

/* A tester that cannot fail proves nothing: the model lies about some keys, and that must be noticed and shrunken to
 * a sequence of two operations on one key each. */
static bool notices_planted_bug(const struct settings *settings, const struct subject_config *config, uint64_t number)
{
    struct scenario scenario;
    scenario_init(&scenario, config);
    scenario.small = config->placement == COPSE_PLACEMENT_EMULATED;
    generate(&scenario, PROFILE_MEDIUM, case_seed(settings->seed, number));
    add_lied_about_keys(&scenario);
    scenario.planted_bug = true;
    struct scenario_result result = scenario_run(&scenario, settings->isolate);
    if (!result.right) shrink(&scenario, &result, settings->isolate, SHRINK_SECONDS);
    uint64_t keys = 0;
    for (size_t i = 0; i < scenario.n; i++) keys += scenario.operations[i].n;
    bool good = !result.right && scenario.n == 2 && keys == 2;
    (void)printf("%s: a planted bug in case %llu was %s\n", good ? "ok" : "FAILED", (unsigned long long)number,
                 result.right ? "not noticed" : "noticed and shrunken to:");
    if (!result.right) scenario_print(&scenario, stdout);
    scenario_free(&scenario);
    return good;
}

static int run_self_test(const struct settings *settings)
{
    unsigned passed = 0, failed = 0;
    for (int i = 0; i < PLACEMENTS; i++) {
        unsigned taken = 0;
        for (uint64_t number = 0; number < combinations(placements[i]) && taken < SELF_TESTS; number += 7) {
            struct subject_config config = case_config(placements[i], settings->seed, number);
            if (!settings->placement[i] || !selected(settings, &config)) continue;
            taken++;
            if (notices_planted_bug(settings, &config, number))
                passed++;
            else
                failed++;
        }
    }
    (void)printf("%u passed, %u failed\n", passed, failed);
    return failed || !passed;
}

/* A placement that was asked for and is not there is an error, not something to pass over. */
static void need_placement(copse_placement placement)
{
    copse_ctx *ctx = NULL;
    copse_index *index = NULL;
    copse_index_options options = COPSE_INDEX_OPTIONS_INIT;
    options.structure = trees_that(placement, COPSE_CAN_EXIST).structure[0];
    options.placement = placement;
    if (copse_ctx_create(NULL, &ctx) != COPSE_OK || copse_index_create(ctx, &options, &index) != COPSE_OK) {
        (void)fprintf(stderr, "differential: placement %s: %s\n", copse_placement_name(placement),
                      copse_last_error(ctx));
        (void)printf("0 passed, 1 failed\n");
        exit(1);
    }
    copse_index_free(index);
    copse_ctx_free(ctx);
}

static void find_offered(struct settings *settings)
{
    copse_ctx_options options = COPSE_CTX_OPTIONS_INIT;
    copse_ctx *ctx = NULL;
    copse_ctx_info info = {.struct_size = sizeof info};
    options.threads = 1;
    if (copse_ctx_create(&options, &ctx) != COPSE_OK || copse_ctx_describe(ctx, &info) != COPSE_OK) {
        (void)fprintf(stderr, "differential: %s\n", copse_last_error(ctx));
        exit(2);
    }
    for (int i = 0; i < ISAS; i++) {
        char padded[128], name[32];
        (void)snprintf(padded, sizeof padded, " %s ", info.isa_offered);
        (void)snprintf(name, sizeof name, " %s ", isas[i]);
        settings->offered[i] = strstr(padded, name) != NULL;
    }
    copse_ctx_free(ctx);
}

static const char usage[] =
    "usage: differential [--quick | --light | --share N | --long | --rounds N | --seconds S] [--placement NAME,...] "
    "[--seed N]\n"
    "                    [--case N] [--isolate] [--small] [--only NAME=VALUE,...] [--pattern NAME]\n"
    "                    [--list] [--self-test]\n"
    "  --quick     the default: every combination, about 90 s\n"
    "  --light     a quarter of that, for sanitizers\n"
    "  --share N   one case in N of that; which of them depends on the seed\n"
    "  --long      half an hour with a seed of its own\n"
    "  --case N    only this case (as a failure prints it)\n"
    "  --isolate   each case in a process of its own: a crash is then shrunken, too\n"
    "  --placement cpu, emulated, hybrid-emulated, gpu, hybrid; the first three unless one is named\n"
    "  --only      only such cases: structure= key= value= isa= threads= duplicates= memory= stream= order=\n"
    "  --pattern   where keys come, in all cases: few, append, prepend, clustered, uniform, extreme, hot,\n"
    "              append-shuffled, append-late, points, gap, window; else each case has one by its seed\n"
    "  --small     cases as small as the emulator's, for a card under a sanitizer\n"
    "  --list      print the cases instead of running them\n"
    "  --self-test plant bugs and expect to find them\n";

static void bad_usage(const char *argument)
{
    (void)fprintf(stderr, "differential: cannot use '%s'\n%s", argument, usage);
    exit(2);
}

static uint64_t parse_number(const char *text)
{
    char *end = NULL;
    errno = 0;
    uint64_t number = text ? strtoull(text, &end, 10) : 0;
    if (!text || errno || end == text || *end) bad_usage(text ? text : "a missing number");
    return number;
}

static void parse_only(struct settings *settings, char *list)
{
    if (!list) bad_usage("--only without a condition");
    for (char *state = NULL, *item = strtok_r(list, ",", &state); item; item = strtok_r(NULL, ",", &state)) {
        if (!strchr(item, '=') || settings->only_n == sizeof settings->only / sizeof *settings->only) bad_usage(item);
        settings->only[settings->only_n++] = item;
    }
}

static void parse_pattern(struct settings *settings, const char *name)
{
    if (!name) bad_usage("--pattern without a name");
    int which = 0;
    while (which < KEY_PATTERNS && strcmp(name, key_pattern_names[which]) != 0) which++;
    if (which == KEY_PATTERNS) bad_usage(name);
    settings->pattern = which + 1;
}

static void parse_placements(struct settings *settings, char *list)
{
    if (!list) bad_usage("--placement without a name");
    for (char *state = NULL, *item = strtok_r(list, ",", &state); item; item = strtok_r(NULL, ",", &state)) {
        int which = 0;
        while (which < PLACEMENTS && strcmp(item, copse_placement_name(placements[which])) != 0) which++;
        if (which == PLACEMENTS) bad_usage(item);
        settings->placement[which] = settings->named = true;
    }
}

static void parse(struct settings *settings, int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        const char *argument = argv[i];
        if (strcmp(argument, "--quick") == 0) {
            settings->rounds = 0;
        } else if (strcmp(argument, "--light") == 0) {
            settings->share = LIGHT_SHARE;
        } else if (strcmp(argument, "--share") == 0) {
            settings->share = (unsigned)parse_number(argv[++i]);
            if (!settings->share) bad_usage("--share 0");
        } else if (strcmp(argument, "--long") == 0) {
            settings->seconds = LONG_SECONDS;
            settings->seed = (uint64_t)time(NULL);
        } else if (strcmp(argument, "--rounds") == 0) {
            settings->rounds = parse_number(argv[++i]);
        } else if (strcmp(argument, "--seconds") == 0) {
            settings->seconds = (double)parse_number(argv[++i]);
        } else if (strcmp(argument, "--seed") == 0) {
            settings->seed = parse_number(argv[++i]);
        } else if (strcmp(argument, "--case") == 0) {
            settings->only_case = (long long)parse_number(argv[++i]);
        } else if (strcmp(argument, "--only") == 0) {
            parse_only(settings, argv[++i]);
        } else if (strcmp(argument, "--pattern") == 0) {
            parse_pattern(settings, argv[++i]);
        } else if (strcmp(argument, "--placement") == 0) {
            parse_placements(settings, argv[++i]);
        } else if (strcmp(argument, "--isolate") == 0) {
            settings->isolate = true;
        } else if (strcmp(argument, "--small") == 0) {
            settings->small = true;
        } else if (strcmp(argument, "--list") == 0) {
            settings->list = true;
        } else if (strcmp(argument, "--self-test") == 0) {
            settings->self_test = true;
        } else if (strcmp(argument, "--help") == 0) {
            (void)printf("%s", usage);
            exit(0);
        } else {
            bad_usage(argument);
        }
    }
}

/* Those that need no card, unless some were named; the CPU for a case by its number. */
static void choose_placements(struct settings *settings)
{
    if (!settings->named) settings->placement[0] = true;
    if (!settings->named && settings->only_case < 0) settings->placement[1] = settings->placement[2] = true;
    /* isolated cases start their card in a process of their own, which must not come from one that has it already */
    for (int i = 0; i < PLACEMENTS && !settings->isolate && !settings->list; i++)
        if (settings->placement[i]) need_placement(placements[i]);
}

int main(int argc, char **argv)
{
    struct settings settings = {.seed = 1, .only_case = -1, .share = 1};
    parse(&settings, argc, argv);
    choose_placements(&settings);
    find_offered(&settings);
    if (!settings.isolate) catch_crashes();
    return settings.self_test ? run_self_test(&settings) : run_cases(&settings);
}
