/* Template: all kernels that read the B-link and the B+ tree in order, for one pair of widths, and the row of the table that
 * names them. */

#include "gpu/levels_walk.inc.h"
#include "gpu/queries.inc.h"
#include "gpu/gather.inc.h"
#include "gpu/partial_aggregate.inc.h"
#include "trees/blink/node/leaf.inc.h"
#include "trees/blink/read/bounds.inc.h"
#include "trees/blink/read/range.inc.h"
#include "trees/blink/read/short_range.inc.h"
#include "trees/blink/read/aggregate.inc.h"
#include "trees/blink/concurrent/read.inc.h"
#include "trees/blink/concurrent/neighbours.inc.h"
#include "trees/blink/concurrent/range.inc.h"

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

#define NAME_ROW NAME(blink_order_row)
static const copse_blink_order_kernels NAME_ROW = {
    ENTRY(home_entries_all), ENTRY(home_sums),         ENTRY_PAIR(neighbours),
    ENTRY_PAIR(count),       ENTRY_PAIR(sum),          ENTRY(copy),
    ENTRY(gather),           ENTRY_PAIR(narrow),       ENTRY(summarize),
    ENTRY(aggregate),        ENTRY(verify_homes),      ENTRY(verify_summary),
    ENTRY(find_beside),      ENTRY(neighbours_beside), ENTRY(count_beside),
    ENTRY(gather_beside),    ENTRY(aggregate_beside),
};

#undef NAME_ROW
#undef ENTRY
#undef ENTRY_PAIR
#undef SPOT
#undef GATHER_NEAR
#undef NEAR_LEAVES
#undef NEAR_MOST
#undef STAGE_ENTRIES
#undef NARROW_WARPS
#undef NARROW_BLOCKS
#undef NARROW_COUNTED
#undef NARROW_SUMMED
#undef NARROW_VALUE
#undef STAGE
#undef NARROW
#undef NARROW_AT
#undef NARROW_ALL
#undef FOUND
#undef NEAR
#undef SPANS
#undef NEAR_ANY_KEY
#undef NEAR_ANY_VALUE
#undef NEAR_BITS
#undef NEAR_MASK
#undef NEAR_UPTO
#undef NEAR_INSIDE
#undef NEAR_BELOW
#undef NEAR_SIMPLE
#undef GLIMPSE
#undef SPAN
#undef HARVEST
#undef WIDE_HOMES
#include "trees/blink/undef.h"
