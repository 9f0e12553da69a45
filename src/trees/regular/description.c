/* The regular tree, as the registry knows it. */
#include "core/widths.h"
#include "cpu/driver.h"

COPSE_DECLARE_WIDTHS(const copse_cpu_tree, copse_regular_cpu);
extern const copse_calls copse_hybrid_calls;

const copse_tree_description copse_tree_regular = {
    .structure = COPSE_STRUCTURE_REGULAR,
    .name = "regular",
    .summary = "reads nearly as fast as implicit's; batches of updates in place",
    .capabilities = COPSE_CAPABILITY(COPSE_CAN_RANK) | COPSE_CAPABILITY(COPSE_CAN_KEEP_DUPLICATES) |
                    COPSE_CAPABILITY(COPSE_CAN_AGGREGATE),
    .counterpart = COPSE_STRUCTURE_BLINK,
    .at = (const copse_tree_at[]){{COPSE_PLACEMENT_CPU, COPSE_AUTO_UPDATES, &copse_cpu_calls,
                                   (const void *const[])COPSE_WIDTH_ROW(copse_regular_cpu)},
                                  {COPSE_PLACEMENT_HYBRID, COPSE_AUTO_UPDATES, &copse_hybrid_calls,
                                   (const void *const[])COPSE_WIDTH_ROW(copse_regular_cpu)},
                                  {COPSE_PLACEMENT_HYBRID_EMULATED, COPSE_AUTO_UPDATES, &copse_hybrid_calls,
                                   (const void *const[])COPSE_WIDTH_ROW(copse_regular_cpu)},
                                  {0}},
};
