/* Template: all kernels of the implicit tree for one pair of widths, and the row of the table that names them. */

#include "gpu/levels_walk.inc.h"
#include "trees/implicit/gpu/units.inc.h"
#include "gpu/queries.inc.h"
#include "gpu/gather.inc.h"
#include "trees/implicit/gpu/read.inc.h"
#include "gpu/pairs.inc.h"
#include "trees/implicit/gpu/build.inc.h"
#include "gpu/partial_aggregate.inc.h"
#include "trees/implicit/gpu/aggregate.inc.h"

#define ENTRY(name) SIMT_KERNEL_ENTRY(NAME(name), COPSE_KERNEL_THREADS)
/* Keys of 32 bits have no digests: their separators are as small. */
#if KEY_BITS == 64
#define ENTRY_PAIR(name)                                                                                               \
    {                                                                                                                  \
        ENTRY(name##_full), ENTRY(name##_digest)                                                                       \
    }
#else
#define ENTRY_PAIR(name)                                                                                               \
    {                                                                                                                  \
        ENTRY(name##_full), ENTRY(name##_full)                                                                         \
    }
#endif

#define NAME_ROW NAME(implicit_row)
static const copse_implicit_kernels NAME_ROW = {
    ENTRY(count_kept),  ENTRY(fill),           ENTRY(fill_kept), ENTRY_PAIR(find), ENTRY_PAIR(neighbours),
    ENTRY_PAIR(count),  ENTRY_PAIR(sum),       ENTRY(copy),      ENTRY(gather),    ENTRY(summarize),
    ENTRY(aggregate),   ENTRY(widen),          ENTRY(erase),     ENTRY(absent),    ENTRY(verify_units),
    ENTRY(verify_sums), ENTRY(verify_summary),
};

#undef NAME_ROW
#undef ENTRY
#undef ENTRY_PAIR
#undef UNIT_SLOTS
#undef UNIT_VALUES
#undef PIECE_KEYS
#undef FULL_FANOUT
#undef DIGEST_FANOUT
#undef BOUND
#undef SORTED_ENOUGH
#undef KEPT_ROWS
#undef BLOCK_ENTRIES
