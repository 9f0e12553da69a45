/* A scenario is a configuration and the operations to run on it: one case of the differential tester. */
#ifndef TESTS_SCENARIO_H
#define TESTS_SCENARIO_H

#include <stdio.h>

#include "subject.h"

struct scenario {
    struct subject_config config;
    struct operation *operations;
    size_t n;
    size_t capacity;
    int pattern; /* of keys (keys.h): 1 + its number; 0: by the seed */
    bool small;  /* operations of sizes for the emulator or a sanitizer */
    bool planted_bug;
};

struct scenario_result {
    bool right;
    size_t failed_at; /* the operation that went wrong; n: only after the last */
    char why[512];
};

void scenario_init(struct scenario *scenario, const struct subject_config *config);
void scenario_free(struct scenario *scenario);
void scenario_copy(struct scenario *to, const struct scenario *from);
/* Takes over the arrays of the operation. */
void scenario_add(struct scenario *scenario, const struct operation *operation);
void scenario_remove(struct scenario *scenario, size_t first, size_t count);

/* isolate: in a child process, so that a crash or a hang is a result too. The calling process must then never have used
 * the library's threads. */
struct scenario_result scenario_run(const struct scenario *scenario, bool isolate);

void scenario_print_config(const struct subject_config *config, FILE *file);
void scenario_print(const struct scenario *scenario, FILE *file);

#endif
