/* Makes a failing scenario as small as it can while it still fails. */
#ifndef TESTS_SHRINK_H
#define TESTS_SHRINK_H

#include "scenario.h"

/* Replaces *scenario by the smallest found within `seconds` and *result by how that one fails. */
void shrink(struct scenario *scenario, struct scenario_result *result, bool isolate, double seconds);

#endif
