/* The regular tree on the CPU: what does not depend on the widths, for tree_by_width.c. Contract: cpu/driver.h. */
#pragma once

#include "trees/regular/layout.h"
#include "cpu/driver.h"

/* Bytes of a leaf_page and of its page_values, which depend on the widths. */
copse_status copse_regular_make(const copse_ctx *ctx, size_t page_bytes, size_t value_bytes, copse_regular **out);
/* Back to an empty tree, all memory given back. */
void copse_regular_clear(const copse_ctx *ctx, copse_regular *tree);
void copse_regular_free(const copse_ctx *ctx, copse_regular *tree);
void copse_regular_drop_summary(const copse_ctx *ctx, copse_regular *tree);
void copse_regular_drop_next(const copse_ctx *ctx, copse_regular *tree); /* the prepared directory */

void copse_regular_destroy(copse_index *index);
const copse_levels *copse_regular_levels(const copse_index *index);
uint64_t copse_regular_size(const copse_index *index);
