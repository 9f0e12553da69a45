/* The radix tree: building it. */
#pragma once

#include "cpu/byte_runs.h"
#include "trees/radix/cpu/tree.h"

/* A new tree with the entries of a batch that is sorted; values are those of the update. Errors: MEMORY. */
copse_status copse_radix_build_batch(const copse_byte_update *update, copse_radix *out);
