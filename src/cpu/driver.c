/* The driver of trees on the CPU: the table of its calls. */
#include "cpu/driver.h"

static copse_status cpu_create(copse_index *index)
{
    return copse_cpu_tree_of(index)->create(index);
}

static void cpu_destroy(copse_index *index)
{
    copse_cpu_tree_of(index)->destroy(index);
}

static uint64_t cpu_size(const copse_index *index)
{
    return copse_cpu_tree_of(index)->size(index);
}

static void cpu_stats(const copse_index *index, copse_stats *out)
{
    copse_cpu_tree_of(index)->stats(index, out);
}

static copse_status cpu_verify(const copse_index *index)
{
    return copse_cpu_tree_of(index)->verify(index);
}

const copse_calls copse_cpu_calls = {
    .create = cpu_create,
    .destroy = cpu_destroy,
    .build = copse_cpu_build,
    .insert = copse_cpu_insert,
    .erase = copse_cpu_erase,
    .erase_pairs = copse_cpu_erase_pairs,
    .erase_range = copse_cpu_erase_range,
    .apply = copse_cpu_apply,
    .find = copse_cpu_find,
    .neighbours = copse_cpu_neighbours,
    .count = copse_cpu_count,
    .range = copse_cpu_range,
    .aggregate = copse_cpu_aggregate,
    .select = copse_cpu_select,
    .scan = copse_cpu_scan,
    .visit = copse_cpu_visit,
    .scan_step = 4096,
    .size = cpu_size,
    .stats = cpu_stats,
    .verify = cpu_verify,
};
