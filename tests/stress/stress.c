/* Stress: random rounds for as long as it is told, each from a seed of its own. One kind runs sequences of batches in which
 * many warps contend for few keys, against a model (inside.c); the other kind reads through views while batches change the
 * index (concurrent.c). A mismatch prints the command that repeats its round. docs/TESTING.md is the guide. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "stress.h"
#include "trees.h"

#define SELF_TEST_TRIES 40u

enum part { PART_BOTH, PART_INSIDE, PART_CONCURRENT };
static const char *const part_names[] = {"both", "inside", "concurrent"};

struct settings {
    uint64_t seed;
    double seconds;
    uint64_t rounds; /* 0: until the seconds are over */
    enum part part;
    copse_placement placement;
    struct trees structures;
    uint32_t threads;
    uint32_t readers;
    uint32_t reads;
    const char *reads_text;
    bool locked;
    bool self_test;
};

struct tally {
    uint64_t rounds;
    uint64_t operations;
    uint64_t mismatches;
    uint64_t not_run;
    bool no_views[TREES_MOST]; /* found out by asking for one */
    bool no_freezing;
    char why_not[512];
};

static double now(void)
{
    struct timespec time;
    (void)clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

/* --- what to say when the program dies --------------------------------------------------------------------------------- */

static char repeat[512];

static void print_crash(void)
{
    if (!repeat[0]) return; /* no round runs: a sanitizer has something to say about those before */
    static const char before[] = "\nthe program ends in the middle of a round; repeat with: ";
    ssize_t ignored = write(STDERR_FILENO, before, sizeof before - 1);
    ignored = write(STDERR_FILENO, repeat, strlen(repeat));
    ignored = write(STDERR_FILENO, "\n", 1);
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
    static const int numbers[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) (void)signal(numbers[i], on_crash);
    if (__sanitizer_set_death_callback) __sanitizer_set_death_callback(print_crash);
}

/* --- rounds ---------------------------------------------------------------------------------------------------------------- */

static void note_command(const struct settings *settings, const struct stress_round *round, enum part part)
{
    char threads[32] = "", readers[32] = "", reads[128] = "";
    if (settings->threads) (void)snprintf(threads, sizeof threads, " --threads %u", settings->threads);
    if (settings->readers) (void)snprintf(readers, sizeof readers, " --readers %u", settings->readers);
    if (settings->reads) (void)snprintf(reads, sizeof reads, " --reads %s", settings->reads_text);
    (void)snprintf(repeat, sizeof repeat,
                   "stress --placement %s --structure %s --part %s --seed %llu --rounds 1%s%s%s%s",
                   copse_placement_name(round->placement), copse_structure_name(round->structure), part_names[part],
                   (unsigned long long)round->seed, threads, readers, reads, settings->locked ? " --locked" : "");
}

/* The seed of the first round is the program's; those of the others count on from there, so that each of them can be the
 * first. What kind a round is follows from its seed, as far as the options leave that open. */
static struct stress_round choose_round(const struct settings *settings, struct tally *tally, uint64_t number,
                                        enum part *out_part)
{
    struct stress_round round = {.seed = settings->seed + number,
                                 .placement = settings->placement,
                                 .threads = settings->threads,
                                 .readers = settings->readers,
                                 .reads = settings->reads,
                                 .locked = settings->locked};
    struct random_source random = {round.seed ^ UINT64_C(0x5bd1e995)};
    unsigned which = (unsigned)random_below(&random, settings->structures.n);
    round.structure = settings->structures.structure[which];
    *out_part = random_one_in(&random, 2) ? PART_INSIDE : PART_CONCURRENT;
    if (settings->part != PART_BOTH) *out_part = settings->part;
    if (*out_part == PART_CONCURRENT && tally->no_views[which] && settings->part == PART_BOTH) {
        tally->not_run++;
        *out_part = PART_INSIDE;
    }
    return round;
}

/* Which of the structures has no views is remembered, so that the time goes into what there is. */
static void note_not_run(const struct settings *settings, const struct stress_round *round,
                         const struct stress_result *result, struct tally *tally)
{
    for (unsigned i = 0; i < settings->structures.n; i++)
        if (settings->structures.structure[i] == round->structure) tally->no_views[i] = true;
    tally->not_run++;
    (void)snprintf(tally->why_not, sizeof tally->why_not, "%s", result->why);
    (void)printf("not run: %s\n", result->why);
}

static void report_mismatch(const struct stress_round *round, const struct stress_result *result)
{
    (void)printf("MISMATCH in the round of seed %llu\n  %s: %s\n  repeat with: %s\n", (unsigned long long)round->seed,
                 result->where, result->why, repeat);
    (void)fflush(stdout);
}

static void run_round(const struct settings *settings, uint64_t number, struct tally *tally)
{
    enum part part;
    struct stress_round round = choose_round(settings, tally, number, &part);
    struct stress_result result = {0};
    double start = now();
    note_command(settings, &round, part);
    (void)printf("round %llu, seed %llu: %s %s on %s ... ", (unsigned long long)number, (unsigned long long)round.seed,
                 part_names[part], copse_structure_name(round.structure), copse_placement_name(round.placement));
    (void)fflush(stdout);
    if (part == PART_INSIDE)
        stress_inside(&round, &result);
    else
        stress_concurrent(&round, &result);
    if (!result.run) {
        note_not_run(settings, &round, &result, tally);
        return;
    }
    tally->rounds++;
    tally->operations += result.operations;
    tally->no_freezing |= result.freezing_absent;
    (void)printf("%s: %llu operations, %.1f s\n", result.what, (unsigned long long)result.operations, now() - start);
    if (result.right) return;
    tally->mismatches++;
    report_mismatch(&round, &result);
}

static int run_rounds(const struct settings *settings)
{
    struct tally tally = {0};
    double start = now();
    for (uint64_t number = 0; tally.mismatches == 0; number++) {
        if (settings->rounds ? number >= settings->rounds : now() - start >= settings->seconds) break;
        if (settings->part == PART_CONCURRENT && tally.not_run) break;
        run_round(settings, number, &tally);
    }
    repeat[0] = '\0';
    if (tally.not_run)
        (void)printf("%llu rounds of concurrent readers were NOT RUN: %s\n", (unsigned long long)tally.not_run,
                     tally.why_not);
    if (tally.no_freezing) (void)printf("frozen handles were NOT RUN: the structure has none\n");
    (void)printf("%llu rounds, %llu operations, %llu mismatches, seed %llu\n", (unsigned long long)tally.rounds,
                 (unsigned long long)tally.operations, (unsigned long long)tally.mismatches,
                 (unsigned long long)settings->seed);
    return tally.mismatches || !tally.rounds;
}

/* --- the test of the test --------------------------------------------------------------------------------------------------- */

static struct stress_result run_lying(const struct stress_round *round, bool inside)
{
    struct stress_result result = {0};
    if (inside)
        stress_inside(round, &result);
    else
        stress_concurrent(round, &result);
    return result;
}

/* The lie must turn the result of some round from right to wrong. Not every round has an answer that it can be told of. */
static bool notices(const struct settings *settings, enum stress_lie lie)
{
    static const char *const names[STRESS_LIES] = {"none",
                                                   "a key that stays is not found",
                                                   "a value of another key",
                                                   "a value that was written over",
                                                   "a value that must not count",
                                                   "a key that is not there",
                                                   "a range without one of its entries",
                                                   "a range with an entry twice",
                                                   "a count that is too large",
                                                   "a lower bound that passes over a key",
                                                   "a wrong model",
                                                   "a wrong frozen handle"};
    for (unsigned i = 0; i < SELF_TEST_TRIES; i++) {
        struct stress_round round = {.seed = settings->seed + i,
                                     .structure = settings->structures.structure[0],
                                     .placement = settings->placement,
                                     .threads = settings->threads,
                                     .locked = true,
                                     .quiet = true,
                                     .lie = lie};
        bool inside = lie == LIE_MODEL || (lie == LIE_FROZEN && i % 2);
        struct stress_result result = run_lying(&round, inside);
        if (result.right) continue;
        round.lie = LIE_NONE;
        struct stress_result honest = run_lying(&round, inside);
        if (!honest.right) {
            (void)printf("FAILED: %s: wrong without a lie, too: %s: %s\n", names[lie], honest.where, honest.why);
            return false;
        }
        (void)printf("ok: %s: noticed in round %u: %s: %s\n", names[lie], i, result.where, result.why);
        return true;
    }
    (void)printf("FAILED: %s was not noticed in %u rounds\n", names[lie], SELF_TEST_TRIES);
    return false;
}

static int run_self_test(const struct settings *settings)
{
    unsigned passed = 0, failed = 0;
    (void)snprintf(repeat, sizeof repeat, "stress --self-test --placement %s --structure %s --seed %llu",
                   copse_placement_name(settings->placement), copse_structure_name(settings->structures.structure[0]),
                   (unsigned long long)settings->seed);
    for (int lie = LIE_NONE + 1; lie < STRESS_LIES; lie++) {
        if (notices(settings, (enum stress_lie)lie))
            passed++;
        else
            failed++;
    }
    repeat[0] = '\0';
    (void)printf("seed %llu\n%u passed, %u failed\n", (unsigned long long)settings->seed, passed, failed);
    return failed != 0;
}

/* --- options ----------------------------------------------------------------------------------------------------------------- */

static const char usage[] =
    "usage: stress [--seconds N | --rounds N] [--seed S] [--placement emulated|gpu] [--structure NAME] [--threads N]\n"
    "              [--part both|inside|concurrent] [--readers N] [--reads NAME,...] [--locked] [--self-test]\n"
    "  --seconds    how long (60)\n"
    "  --seed       of the first round; the others count on from it (the time)\n"
    "  --structure  every one that has views unless one is named\n"
    "  --threads    of each context (by the seed); with 1 the emulator repeats a round exactly, readers apart\n"
    "  --part       inside: batches against a model; concurrent: readers while batches run\n"
    "  --readers    threads that read (by the seed)\n"
    "  --reads      find, contains, lower_bound, successor, predecessor, range, count: only these calls of readers\n"
    "  --locked     readers wait for the writer: for structures that cannot be read while they are updated\n"
    "  --self-test  give wrong answers and expect them to be noticed\n";

static void bad_usage(const char *argument)
{
    (void)fprintf(stderr, "stress: cannot use '%s'\n%s", argument, usage);
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

static enum part parse_part(const char *text)
{
    for (int i = 0; text && i < 3; i++)
        if (strcmp(text, part_names[i]) == 0) return (enum part)i;
    bad_usage(text ? text : "a missing part");
    return PART_BOTH;
}

static uint32_t parse_reads(const char *text)
{
    uint32_t reads = 0;
    size_t length;
    for (const char *name = text; name && *name; name += length + (name[length] == ',')) {
        unsigned which = 0;
        length = strcspn(name, ",");
        while (which < STRESS_READS &&
               (strlen(stress_read_names[which]) != length || strncmp(name, stress_read_names[which], length) != 0))
            which++;
        if (which == STRESS_READS) bad_usage(text);
        reads |= UINT32_C(1) << which;
    }
    if (!reads) bad_usage("--reads without a name");
    return reads;
}

static void parse_option(struct settings *settings, const char *option, const char *value)
{
    if (strcmp(option, "--seconds") == 0)
        settings->seconds = (double)parse_number(value);
    else if (strcmp(option, "--rounds") == 0)
        settings->rounds = parse_number(value);
    else if (strcmp(option, "--seed") == 0)
        settings->seed = parse_number(value);
    else if (strcmp(option, "--threads") == 0)
        settings->threads = (uint32_t)parse_number(value);
    else if (strcmp(option, "--readers") == 0)
        settings->readers = (uint32_t)parse_number(value);
    else if (strcmp(option, "--part") == 0)
        settings->part = parse_part(value);
    else if (strcmp(option, "--reads") == 0)
        settings->reads = parse_reads(settings->reads_text = value);
    else if (strcmp(option, "--placement") == 0) {
        if (!value || copse_placement_parse(value, &settings->placement) != COPSE_OK) bad_usage(option);
    } else if (strcmp(option, "--structure") == 0) {
        if (!value || copse_structure_parse(value, &settings->structures.structure[0]) != COPSE_OK) bad_usage(option);
        settings->structures.n = 1;
    } else
        bad_usage(option);
}

static void parse(struct settings *settings, int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--locked") == 0) {
            settings->locked = true;
        } else if (strcmp(argv[i], "--self-test") == 0) {
            settings->self_test = true;
        } else if (strcmp(argv[i], "--help") == 0) {
            (void)printf("%s", usage);
            exit(0);
        } else {
            parse_option(settings, argv[i], argv[i + 1]);
            i++;
        }
    }
}

/* A placement or structure that is not there is an error, not something to pass over. */
static void need_index(const struct settings *settings, copse_structure structure)
{
    copse_ctx *ctx = NULL;
    copse_index *index = NULL;
    copse_index_options options = COPSE_INDEX_OPTIONS_INIT;
    options.structure = structure;
    options.placement = settings->placement;
    if (copse_ctx_create(NULL, &ctx) != COPSE_OK || copse_index_create(ctx, &options, &index) != COPSE_OK) {
        (void)fprintf(stderr, "stress: %s on %s: %s\n", copse_structure_name(structure),
                      copse_placement_name(settings->placement), copse_last_error(ctx));
        exit(2);
    }
    copse_index_free(index);
    copse_ctx_free(ctx);
}

int main(int argc, char **argv)
{
    struct settings settings = {.seed = (uint64_t)time(NULL), .seconds = 60, .placement = COPSE_PLACEMENT_EMULATED};
    parse(&settings, argc, argv);
    if (!settings.structures.n) settings.structures = trees_that(settings.placement, COPSE_CAN_VIEW);
    if (!settings.structures.n) bad_usage("--placement, where no structure has views, without --structure");
    for (unsigned i = 0; i < settings.structures.n; i++) need_index(&settings, settings.structures.structure[i]);
    catch_crashes();
    return settings.self_test ? run_self_test(&settings) : run_rounds(&settings);
}
