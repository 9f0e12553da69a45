/* The operations that `copse bench` knows by name. */
#include "cli/bench/bench.h"

#include <stdlib.h>
#include <string.h>

static const bench_op ops[] = {
    {BENCH_BUILD, BENCH_KIND_BUILD, 0, "build"},
    {BENCH_BUILD_SORTED, BENCH_KIND_BUILD, 0, "build-sorted"},
    {BENCH_FILL, BENCH_KIND_BUILD, 0, "fill"},
    {BENCH_INSERT, BENCH_KIND_CHANGE, 0, "insert"},
    {BENCH_INSERT_NEW, BENCH_KIND_CHANGE, 0, "insert-new"},
    {BENCH_APPEND, BENCH_KIND_CHANGE, 0, "insert-append"},
    {BENCH_APPEND_SHUFFLED, BENCH_KIND_CHANGE, 0, "insert-append-shuffled"},
    {BENCH_APPEND_LATE, BENCH_KIND_CHANGE, 0, "insert-append-late"},
    {BENCH_PREPEND, BENCH_KIND_CHANGE, 0, "insert-prepend"},
    {BENCH_POINTS, BENCH_KIND_CHANGE, 1000, "insert-points1000"},
    {BENCH_GAP, BENCH_KIND_CHANGE, 0, "insert-gap"},
    {BENCH_HOT, BENCH_KIND_CHANGE, 0, "insert-hot"},
    {BENCH_WINDOW, BENCH_KIND_CHANGE, 0, "window"},
    {BENCH_UPDATE, BENCH_KIND_CHANGE, 0, "update"},
    {BENCH_ERASE, BENCH_KIND_CHANGE, 0, "erase"},
    {BENCH_MIXED, BENCH_KIND_CHANGE, 0, "mixed"},
    {BENCH_MIXED_UPDATE, BENCH_KIND_CHANGE, 0, "mixed-update"},
    {BENCH_FIND, BENCH_KIND_POINT, 0, "find"},
    {BENCH_MISS, BENCH_KIND_POINT, 0, "miss"},
    {BENCH_CONTAINS, BENCH_KIND_POINT, 0, "contains"},
    {BENCH_LOWER_BOUND, BENCH_KIND_POINT, 0, "lower-bound"},
    {BENCH_RANK, BENCH_KIND_POINT, 0, "rank"},
    {BENCH_SUCCESSOR, BENCH_KIND_POINT, 0, "successor"},
    {BENCH_PREDECESSOR, BENCH_KIND_POINT, 0, "predecessor"},
    {BENCH_RANGE, BENCH_KIND_RANGE, 10, "range10"},
    {BENCH_RANGE, BENCH_KIND_RANGE, 100, "range100"},
    {BENCH_RANGE, BENCH_KIND_RANGE, 1000, "range1000"},
    {BENCH_COUNT, BENCH_KIND_RANGE, 0, "count"},
    {BENCH_COUNT, BENCH_KIND_RANGE, 100, "count-narrow"},
    {BENCH_SUM, BENCH_KIND_RANGE, 0, "sum"},
    {BENCH_SUM, BENCH_KIND_RANGE, 100, "sum-narrow"},
    {BENCH_MIN, BENCH_KIND_RANGE, 0, "min"},
    {BENCH_MAX, BENCH_KIND_RANGE, 0, "max"},
    {BENCH_AVG, BENCH_KIND_RANGE, 0, "avg"},
    {BENCH_VISIT, BENCH_KIND_PASS, 0, "visit"},
    {BENCH_EXPORT, BENCH_KIND_PASS, 0, "export"},
    {BENCH_SAVE, BENCH_KIND_PASS, 0, "save"},
    {BENCH_LOAD, BENCH_KIND_PASS, 0, "load"},
    {BENCH_OPEN, BENCH_KIND_PASS, 0, "open"},
    {BENCH_VISIT_SUM, BENCH_KIND_PASS, 0, "visit-sum"},
    {BENCH_VISIT_MAP, BENCH_KIND_PASS, 0, "visit-map"},
    {BENCH_VISIT_FILTER, BENCH_KIND_PASS, 0, "visit-filter"},
    {BENCH_VISIT_HISTOGRAM, BENCH_KIND_PASS, 0, "visit-histogram"},
    {BENCH_VISIT_TOP, BENCH_KIND_PASS, 0, "visit-top"},
};

const char *bench_op_name(size_t i)
{
    return i < sizeof ops / sizeof *ops ? ops[i].name : NULL;
}

/* Names that end in any number from 1 to 2^24, as range25 does. */
static const bench_op numbered[] = {
    {BENCH_RANGE, BENCH_KIND_RANGE, 0, "range"},
    {BENCH_COUNT, BENCH_KIND_RANGE, 0, "count"},
    {BENCH_SUM, BENCH_KIND_RANGE, 0, "sum"},
    {BENCH_MIN, BENCH_KIND_RANGE, 0, "min"},
    {BENCH_MAX, BENCH_KIND_RANGE, 0, "max"},
    {BENCH_POINTS, BENCH_KIND_CHANGE, 0, "insert-points"},
    {BENCH_FIND, BENCH_KIND_POINT, 0, "find-hot"},
    {BENCH_UPDATE, BENCH_KIND_CHANGE, 0, "update-hot"},
    {BENCH_MIXED_UPDATE, BENCH_KIND_CHANGE, 0, "mixed-update-hot"},
};

static bool parse_numbered(const char *name, const bench_op *as, bench_op *out_op)
{
    size_t skip = strlen(as->name);
    if (strncmp(name, as->name, skip) != 0 || name[skip] < '1' || name[skip] > '9') return false;
    char *end = NULL;
    unsigned long long number = strtoull(name + skip, &end, 10);
    if (*end != '\0' || number > (1u << 24)) return false;
    *out_op = *as;
    out_op->span = number;
    snprintf(out_op->name, sizeof out_op->name, "%s", name);
    return true;
}

bool bench_op_parse(const char *name, bench_op *out_op)
{
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
        if (strcmp(name, ops[i].name) == 0) {
            *out_op = ops[i];
            return true;
        }
    }
    for (size_t i = 0; i < sizeof numbered / sizeof *numbered; i++) {
        if (parse_numbered(name, &numbered[i], out_op)) return true;
    }
    return false;
}

bool bench_op_inserts(const bench_op *op)
{
    return (op->code >= BENCH_FILL && op->code <= BENCH_HOT) || op->code == BENCH_UPDATE;
}

bool bench_op_inserts_new(const bench_op *op)
{
    return op->code == BENCH_INSERT_NEW || (op->code >= BENCH_APPEND && op->code <= BENCH_WINDOW);
}

bool bench_op_aggregates(const bench_op *op)
{
    return op->code == BENCH_SUM || op->code == BENCH_MIN || op->code == BENCH_MAX || op->code == BENCH_AVG;
}

bool bench_op_mixes(const bench_op *op)
{
    return op->code == BENCH_MIXED || op->code == BENCH_MIXED_UPDATE;
}

bool bench_op_batched(const bench_op *op)
{
    return op->code == BENCH_FILL || (op->kind != BENCH_KIND_BUILD && op->kind != BENCH_KIND_PASS);
}

bool bench_op_updates(const bench_op *op)
{
    return op->code == BENCH_FILL || op->kind == BENCH_KIND_CHANGE;
}
