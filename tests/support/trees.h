/* The trees that tests go through: those of the registry. No test that is about all of them names one. */
#ifndef TESTS_TREES_H
#define TESTS_TREES_H

#include <stdbool.h>

#include "copse.h"

#define TREES_MOST 32

struct trees {
    unsigned n;
    copse_structure structure[TREES_MOST];
};

/* Those at a placement that have a capability (for u64 keys), in the order of their numbers in copse.h: a new tree comes behind
 * the others, so that seeds and inputs from before mean what they meant. */
struct trees trees_that(copse_placement placement, copse_capability what);
/* Those at no such placement; none of them only takes byte strings. */
struct trees trees_absent(copse_placement placement);

/* A structure where it lives. */
struct unit_tree {
    copse_structure structure;
    copse_placement placement;
};

/* Goes on to the next tree, on the CPU and then on the emulator, at this placement (AUTO: at both) and with this capability.
 * Structure AUTO stands in front of the first one. False: there is none. */
bool unit_tree_next(struct unit_tree *tree, copse_placement placement, copse_capability what);

#endif
