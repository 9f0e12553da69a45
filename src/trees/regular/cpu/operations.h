/* What the sources of the regular tree that know the widths do for each other. Hot and cold code are objects of their own. */
#pragma once

#include "core/widths.h"
#include "cpu/driver.h"

/* As in copse_cpu_tree. */
copse_status NAME(copse_regular_build)(copse_index *index, const copse_batch *batch);
copse_status NAME(copse_regular_insert)(copse_index *index, const copse_batch *batch, uint32_t flags,
                                        uint64_t *out_inserted);
copse_status NAME(copse_regular_erase)(copse_index *index, const copse_batch *batch, uint64_t *out_erased);
copse_status NAME(copse_regular_apply)(copse_index *index, const copse_batch *batch);
copse_status NAME(copse_regular_erase_between)(copse_index *index, const copse_stretch *stretches, uint64_t n,
                                               uint64_t erased);
copse_status NAME(copse_regular_verify)(const copse_index *index);
