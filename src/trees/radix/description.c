/* The radix tree, as the registry knows it. */
#include "trees/radix/cpu/tree.h"

extern const copse_calls copse_radix_gpu_calls, copse_radix_fixed_calls;

/* AUTO placement stays on the CPU: a card has to be asked for. */
const copse_tree_description copse_tree_radix = {
    .structure = COPSE_STRUCTURE_RADIX,
    .name = "radix",
    .summary = "byte strings: finds as deep as keys differ, updates in place",
    .capabilities = COPSE_CAPABILITY(COPSE_CAN_TAKE_BYTES),
    .counterpart = COPSE_STRUCTURE_REGULAR,
    .at = (const copse_tree_at[]){{COPSE_PLACEMENT_CPU, 0, &copse_radix_fixed_calls, NULL},
                                  {COPSE_PLACEMENT_GPU, 0, &copse_radix_fixed_calls, NULL},
                                  {COPSE_PLACEMENT_EMULATED, 0, &copse_radix_fixed_calls, NULL},
                                  {0}},
    .bytes_at =
        (const copse_tree_at[]){{COPSE_PLACEMENT_CPU, COPSE_AUTO_UPDATES | COPSE_AUTO_READS, &copse_radix_calls, NULL},
                                {COPSE_PLACEMENT_GPU, COPSE_AUTO_ASKED, &copse_radix_gpu_calls, NULL},
                                {COPSE_PLACEMENT_EMULATED, COPSE_AUTO_ASKED, &copse_radix_gpu_calls, NULL},
                                {0}},
};
