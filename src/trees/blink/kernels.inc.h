/* Template: all kernels of the B-link and the B+ tree for one pair of widths, and the row of the table that names them. */

#include "gpu/levels_walk.inc.h"
#include "gpu/pairs.inc.h"
#include "gpu/queries.inc.h"
#include "trees/blink/node/leaf.inc.h"
#include "trees/blink/read/find.inc.h"
#include "trees/blink/update/locate.inc.h"
#include "trees/blink/update/partition.inc.h"
#include "trees/blink/update/bucket_sort.inc.h"
#include "trees/blink/node/row.inc.h"
#include "trees/blink/rebuild/per_base_leaf.inc.h"
#include "trees/blink/rebuild/tile.inc.h"
#include "trees/blink/rebuild/tile_rows.inc.h"
#include "trees/blink/rebuild/tile_operations.inc.h"
#include "trees/blink/rebuild/tile_store.inc.h"
#include "trees/blink/rebuild/tile_lookback.inc.h"
#include "trees/blink/rebuild/leaf_lists.inc.h"
#include "trees/blink/rebuild/tile_batch.inc.h"
#include "trees/blink/rebuild/tile_independent.inc.h"
#include "trees/blink/node/change.inc.h"
#include "trees/blink/update/unsorted.inc.h"
#include "trees/blink/update/owned_leaf.inc.h"
#include "trees/blink/update/owned_leaf_split.inc.h"
#include "trees/blink/update/apply.inc.h"
#include "trees/blink/node/verify.inc.h"

#define ENTRY(name) SIMT_KERNEL_ENTRY(NAME(name), COPSE_KERNEL_THREADS)
/* Keys of 32 bits have no digests: their separators are as small. */
#if KEY_BITS == 64
#define ENTRY_FIND_DIGEST                                                                                              \
    {                                                                                                                  \
        ENTRY(find_digest), ENTRY(find_digest_forks)                                                                   \
    }
#else
#define ENTRY_FIND_DIGEST                                                                                              \
    {                                                                                                                  \
        ENTRY(find_full), ENTRY(find_full_forks)                                                                       \
    }
#endif

#define NAME_ROW NAME(blink_row)
static const copse_blink_kernels NAME_ROW = {
    {{ENTRY(find_full), ENTRY(find_full_forks)}, ENTRY_FIND_DIGEST},
    ENTRY(locate),
    ENTRY(plan),
    ENTRY(part_bounds),
    SIMT_KERNEL_ENTRY(NAME(part), PART_THREADS),
    SIMT_KERNEL_ENTRY(NAME(arrange), COPSE_ARRANGE_THREADS),
    ENTRY(meet),
    ENTRY(apply),
    ENTRY(apply_hard),
    ENTRY(place),
    ENTRY(pack_fill),
    ENTRY(pack_empty),
    ENTRY(tile_starts),
    ENTRY(tile_move),
    ENTRY(tile_finish),
    SIMT_KERNEL_ENTRY(NAME(home_lists), COPSE_LIST_THREADS),
    ENTRY(tile_edges),
    ENTRY(tile_spread),
    ENTRY(pack_count),
    ENTRY(pack_old),
    ENTRY(pack_new),
    ENTRY(tell),
    ENTRY(check_highs),
    ENTRY(check_leaves),
};

#undef NAME_ROW
#undef ENTRY
#undef ENTRY_FIND_DIGEST
#include "trees/blink/undef.h"
