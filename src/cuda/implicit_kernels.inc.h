/* Template: all kernels of the implicit tree for one pair of widths, and the row of the table that names them. */

#include "cuda/levels_walk.inc.h"
#include "cuda/implicit_walk.inc.h"
#include "cuda/queries.inc.h"
#include "cuda/gather.inc.h"
#include "cuda/implicit_read.inc.h"
#include "cuda/pairs.inc.h"
#include "cuda/implicit_build.inc.h"
#include "cuda/partial.inc.h"
#include "cuda/implicit_aggregate.inc.h"

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
