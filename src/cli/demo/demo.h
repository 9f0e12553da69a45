/* What the files of `copse demo` share: the trees that take part, the questions, and what came out. */
#pragma once

#include "cli/cli.h"
#include "cli/demo/model.h"

#define DEMO_RANGE_LENGTH 100
#define DEMO_MOST_TREES   6 /* two on the CPU, on a GPU and on the emulated device */
#define DEMO_NAME_SIZE    32

typedef struct demo_args {
    uint64_t n;
    uint64_t threads;
    const char *placements; /* NULL: the CPU, and a GPU where there is one */
    cli_placement where;    /* only the number of the card */
    bool quick;
    bool json;
    bool no_timing;
    bool quiet;
} demo_args;

typedef struct demo_tree {
    copse_structure structure;
    copse_placement placement;
    copse_index *index;
} demo_tree;

typedef struct demo {
    const demo_args *args;
    cli_session session;
    demo_tree tree[DEMO_MOST_TREES];
    unsigned trees;
    char no_gpu[320]; /* why no GPU takes part; "" where one does, or where nobody expects one */
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
    bool out_of_memory;
    unsigned step;
} demo;

typedef struct demo_result {
    uint64_t operations;
    uint64_t wrong[DEMO_MOST_TREES];
    double seconds[DEMO_MOST_TREES];
    double model_seconds; /* of the sorted array */
} demo_result;

/* ---- cli/demo/trees.c: which trees take part ---- */

/* Makes them, empty. Returns CLI_OK or the code to leave with, having said why. */
int demo_trees_open(demo *d);
void demo_trees_close(demo *d);
/* "the implicit and the regular tree" */
const char *demo_tree_names(copse_placement placement, char text[CLI_STRUCTURES_SIZE]);
/* Lets a card do a little of everything first: what it then needs memory for, it has when the clock starts. */
copse_status demo_trees_warm(demo *d);

/* ---- cli/demo/steps.c: the questions ---- */

typedef struct demo_step {
    const char *name; /* for --json */
    const char *label;
    copse_status (*run)(demo *d, demo_result *result);
} demo_step;

extern const demo_step demo_steps[];
extern const unsigned demo_step_count;

bool demo_room_make(demo *d);
void demo_room_free(demo *d);

/* ---- cli/demo/queries.c: the orders as a table, asked by the query engine ---- */

copse_status demo_queries(demo *d);

/* ---- cli/demo/report.c ---- */

void demo_report_begin(const demo *d);
void demo_report_step(const demo *d, const demo_step *step, const demo_result *result);
void demo_report_end(const demo *d, double seconds);
