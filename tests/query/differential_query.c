/* Random tables, changes and queries on copse and on SQLite, compared row by row.
 *
 *   differential_query [--queries N] [--seed S] [--table T] [--placement cpu|emulated|gpu]
 *
 * Each table has a seed of its own, made of S and its number; a failure names both, and --table runs just that one. */
#include "both.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define QUERIES_OF_A_TABLE 40

static bool run_table(uint64_t seed, uint64_t table, copse_placement placement, uint64_t *queries)
{
    struct both both;
    bool good = both_open(&both, seed * UINT64_C(1000003) + table, placement);
    for (int i = 0; good && i < QUERIES_OF_A_TABLE; i++) {
        if (random_one_in(&both.random, 3)) good = both_change(&both);
        if (good) good = both_query(&both);
        if (good && random_one_in(&both.random, 5)) good = both_join(&both);
        if (good && random_one_in(&both.random, 4)) good = both_ranges(&both);
        *queries += 1;
    }
    both_close(&both);
    if (!both.why[0]) return true;
    (void)fprintf(stderr, "seed %llu, table %llu: %s\n", (unsigned long long)seed, (unsigned long long)table, both.why);
    return false;
}

static uint64_t number(const char *text)
{
    return strtoull(text, NULL, 10);
}

int main(int argc, char **argv)
{
    uint64_t queries = 1000, seed = 17, only = UINT64_MAX, done = 0, failed = 0;
    copse_placement placement = COPSE_PLACEMENT_CPU;
    for (int i = 1; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--placement") == 0 && copse_placement_parse(argv[i + 1], &placement) != COPSE_OK) return 2;
        if (strcmp(argv[i], "--queries") == 0) queries = number(argv[i + 1]);
        if (strcmp(argv[i], "--seed") == 0) seed = number(argv[i + 1]);
        if (strcmp(argv[i], "--table") == 0) only = number(argv[i + 1]);
    }
    printf("seed %llu: tables and queries on copse (%s) and on SQLite %s\n", (unsigned long long)seed,
           copse_placement_name(placement), sqlite3_libversion());
    (void)fflush(stdout);
    for (uint64_t table = only == UINT64_MAX ? 0 : only; done < queries && failed < 5; table++) {
        failed += !run_table(seed, table, placement, &done);
        if (only != UINT64_MAX) break;
    }
    printf("%llu passed, %llu failed\n", (unsigned long long)(done - failed), (unsigned long long)failed);
    return failed > 0;
}
