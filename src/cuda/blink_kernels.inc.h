/* Template: all kernels of the B-link and the B+ tree for one pair of widths, and the row of the table that names them. */

#include "cuda/levels_walk.inc.h"
#include "cuda/pairs.inc.h"
#include "cuda/queries.inc.h"
#include "cuda/blink_leaf.inc.h"
#include "cuda/blink_find.inc.h"
#include "cuda/blink_locate.inc.h"
#include "cuda/blink_part.inc.h"
#include "cuda/blink_arrange.inc.h"
#include "cuda/blink_row.inc.h"
#include "cuda/blink_pack.inc.h"
#include "cuda/blink_tile.inc.h"
#include "cuda/blink_tile_rows.inc.h"
#include "cuda/blink_tile_operations.inc.h"
#include "cuda/blink_tile_store.inc.h"
#include "cuda/blink_tile_move.inc.h"
#include "cuda/blink_tile_lists.inc.h"
#include "cuda/blink_tile_batch.inc.h"
#include "cuda/blink_tile_spread.inc.h"
#include "cuda/blink_change.inc.h"
#include "cuda/blink_place.inc.h"
#include "cuda/blink_own.inc.h"
#include "cuda/blink_own_split.inc.h"
#include "cuda/blink_apply.inc.h"
#include "cuda/blink_check.inc.h"

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
#include "cuda/blink_undef.h"
