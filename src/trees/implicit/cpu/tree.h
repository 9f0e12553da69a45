/* The implicit tree on the CPU: what does not depend on the widths, for tree_by_width.c. Contract: cpu/driver.h. */
#pragma once

#include "trees/implicit/layout.h"
#include "cpu/driver.h"

void copse_implicit_free(const copse_ctx *ctx, copse_implicit *tree);
void copse_implicit_destroy(copse_index *index);
void copse_implicit_rank(const copse_index *index, const uint64_t *locations, uint64_t n, uint64_t *ranks);
uint64_t copse_implicit_select(const copse_index *index, uint64_t rank);
bool copse_implicit_has_sum(const copse_index *index);
const copse_levels *copse_implicit_levels(const copse_index *index);
const char *copse_implicit_units(const copse_index *index, uint64_t *out_count);
uint64_t copse_implicit_size(const copse_index *index);
