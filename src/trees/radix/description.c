/* The radix tree, as the registry knows it. */
#include "trees/radix/cpu/tree.h"

const copse_tree_description copse_tree_radix = {
    .structure = COPSE_STRUCTURE_RADIX,
    .name = "radix",
    .summary = "byte strings: finds as deep as keys differ, updates in place",
    .capabilities = COPSE_CAPABILITY(COPSE_CAN_TAKE_BYTES),
    .counterpart = COPSE_STRUCTURE_REGULAR,
    .at = (const copse_tree_at[]){{0}},
    .bytes_at =
        (const copse_tree_at[]){{COPSE_PLACEMENT_CPU, COPSE_AUTO_UPDATES | COPSE_AUTO_READS, &copse_radix_calls, NULL},
                                {0}},
};
