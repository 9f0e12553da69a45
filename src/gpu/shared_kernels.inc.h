/* Template: the kernels that several structures use, for one pair of widths, and the row of the table that names them. */

#include "gpu/levels_walk.inc.h"
#include "gpu/pairs.inc.h"
#include "gpu/batch_kernels.inc.h"
#include "gpu/sort_finish.inc.h"
#include "gpu/levels_build.inc.h"
#include "gpu/partial_aggregate.inc.h"
#include "gpu/summary_kernels.inc.h"

#define ENTRY(name) SIMT_KERNEL_ENTRY(NAME(name), COPSE_KERNEL_THREADS)

#define NAME_ROW NAME(shared_row)
static const copse_shared_kernels NAME_ROW = {ENTRY(survey),       ENTRY(encode),     ENTRY(settle),
                                              ENTRY(digest_steps), ENTRY(fill_level), ENTRY(verify_level),
                                              ENTRY(raise)};

#undef NAME_ROW
#undef ENTRY
#undef PIECE_KEYS
#undef FULL_FANOUT
#undef DIGEST_FANOUT
#undef BOUND
#undef DIGEST_LONGEST_RUN
#undef SETTLE_OWN
#undef SETTLE_LONGEST_RUN
#undef SETTLE_LOAD
#undef SETTLE_STORE
#undef SETTLE_SHFL_UP
