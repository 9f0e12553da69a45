/* The implicit tree, as the registry knows it. */
#include "core/widths.h"
#include "cpu/driver.h"

COPSE_DECLARE_WIDTHS(const copse_cpu_tree, copse_implicit_cpu);
extern const copse_calls copse_hybrid_calls;
extern const copse_calls copse_implicit_gpu_calls;

const copse_tree_description copse_tree_implicit = {
    .structure = COPSE_STRUCTURE_IMPLICIT,
    .name = "implicit",
    .summary = "fastest reads; an update is a pass over everything",
    .capabilities = COPSE_CAPABILITY(COPSE_CAN_RANK) | COPSE_CAPABILITY(COPSE_CAN_KEEP_DUPLICATES) |
                    COPSE_CAPABILITY(COPSE_CAN_AGGREGATE),
    .counterpart = COPSE_STRUCTURE_IMPLICIT,
    .at =
        (const copse_tree_at[]){
            {COPSE_PLACEMENT_CPU, COPSE_AUTO_READS, &copse_cpu_calls,
             (const void *const[])COPSE_WIDTH_ROW(copse_implicit_cpu)},
            {COPSE_PLACEMENT_GPU, COPSE_AUTO_READS, &copse_implicit_gpu_calls, NULL},
            {COPSE_PLACEMENT_EMULATED, COPSE_AUTO_READS, &copse_implicit_gpu_calls, NULL},
            {COPSE_PLACEMENT_HYBRID, COPSE_AUTO_READS, &copse_hybrid_calls,
             (const void *const[])COPSE_WIDTH_ROW(copse_implicit_cpu)},
            {COPSE_PLACEMENT_HYBRID_EMULATED, COPSE_AUTO_READS, &copse_hybrid_calls,
             (const void *const[])COPSE_WIDTH_ROW(copse_implicit_cpu)},
            {0},
        },
};
