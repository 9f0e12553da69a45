/* Template: the kernels of mixed batches for one pair of widths, and the row of the table that names them. */

#include "gpu/mixed.inc.h"

#define ENTRY(name) SIMT_KERNEL_ENTRY(NAME(name), COPSE_KERNEL_THREADS)
#define NAME_ROW    NAME(mixed_row)
static const copse_mixed_kernels NAME_ROW = {ENTRY(mixed_tag), ENTRY(mixed_answer), ENTRY(mixed_ends),
                                             ENTRY(mixed_gather)};

#undef NAME_ROW
#undef ENTRY
#undef SEEN
#undef FALLS
#undef STANDING
