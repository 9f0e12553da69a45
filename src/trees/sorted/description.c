/* The sorted array, as the registry knows it. */
#include "core/widths.h"
#include "cpu/driver.h"
#include "trees/sorted/cpu/bytes.h"

COPSE_DECLARE_WIDTHS(const copse_cpu_tree, copse_sorted_cpu);

const copse_tree_description copse_tree_sorted = {
    .structure = COPSE_STRUCTURE_SORTED,
    .name = "sorted",
    .summary = "a plain sorted array: the baseline to compare with",
    .capabilities = COPSE_CAPABILITY(COPSE_CAN_RANK) | COPSE_CAPABILITY(COPSE_CAN_KEEP_DUPLICATES) |
                    COPSE_CAPABILITY(COPSE_CAN_TAKE_BYTES),
    .counterpart = COPSE_STRUCTURE_IMPLICIT,
    .baseline = true,
    .at =
        (const copse_tree_at[]){
            {COPSE_PLACEMENT_CPU, 0, &copse_cpu_calls, (const void *const[])COPSE_WIDTH_ROW(copse_sorted_cpu)}, {0}},
    .bytes_at =
        (const copse_tree_at[]){
            {COPSE_PLACEMENT_CPU, COPSE_AUTO_UPDATES | COPSE_AUTO_READS, &copse_sorted_bytes_calls, NULL}, {0}},
};
