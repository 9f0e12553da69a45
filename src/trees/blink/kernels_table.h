/* Template: the kernels of the B-link and the B+ tree for one pair of widths: the initializer of their row. */
#pragma once

#include "gpu/kernel_entries.h"
#include "gpu/levels_walk.h"
#include "gpu/pairs.h"
#include "gpu/queries.h"
#include "trees/blink/kernels.h"
#include "trees/blink/node/change.h"
#include "trees/blink/node/leaf.h"
#include "trees/blink/node/row.h"
#include "trees/blink/node/verify.h"
#include "trees/blink/read/find.h"
#include "trees/blink/rebuild/leaf_lists.h"
#include "trees/blink/rebuild/per_base_leaf.h"
#include "trees/blink/rebuild/tile.h"
#include "trees/blink/rebuild/tile_batch.h"
#include "trees/blink/rebuild/tile_independent.h"
#include "trees/blink/rebuild/tile_lookback.h"
#include "trees/blink/rebuild/tile_operations.h"
#include "trees/blink/rebuild/tile_rows.h"
#include "trees/blink/rebuild/tile_store.h"
#include "trees/blink/update/apply.h"
#include "trees/blink/update/bucket_sort.h"
#include "trees/blink/update/crowded.h"
#include "trees/blink/update/directory_merge.h"
#include "trees/blink/update/erase_range.h"
#include "trees/blink/update/locate.h"
#include "trees/blink/update/owned_leaf.h"
#include "trees/blink/update/owned_leaf_split.h"
#include "trees/blink/update/partition.h"
#include "trees/blink/update/unsorted.h"

/* Keys of 32 bits have no digests: their separators are as small. */
#if KEY_BITS == 64
#define ENTRY_FIND_DIGEST                                                                                              \
    {                                                                                                                  \
        ENTRY(find_digest), ENTRY(find_digest_branches)                                                                \
    }
#else
#define ENTRY_FIND_DIGEST                                                                                              \
    {                                                                                                                  \
        ENTRY(find_full), ENTRY(find_full_branches)                                                                    \
    }
#endif

#define BLINK_KERNELS                                                                                                  \
    {                                                                                                                  \
        {LEAF_SLOTS, LEAF_PACKED_TWO, LEAF_HIGH}, {{ENTRY(find_full), ENTRY(find_full_branches)}, ENTRY_FIND_DIGEST},  \
            ENTRY(locate), ENTRY(plan), ENTRY(partition_bounds),                                                       \
            SIMT_KERNEL_ENTRY(NAME(partition), PARTITION_THREADS),                                                     \
            SIMT_KERNEL_ENTRY(NAME(bucket_sort), COPSE_BUCKET_SORT_THREADS), ENTRY(resolve), ENTRY(apply),             \
            ENTRY(apply_splits), ENTRY(apply_unsorted), ENTRY(crowd_count), ENTRY(crowd_list), ENTRY(crowd_append),    \
            ENTRY(crowd_spill), ENTRY(crowd_link), ENTRY(erase_bounds), ENTRY(erase_anchors), ENTRY(directory_adopt),  \
            ENTRY(directory_merge), ENTRY(directory_nodes), ENTRY(directory_publish), ENTRY(rebuild_fill),             \
            ENTRY(rebuild_empty), ENTRY(tile_starts), ENTRY(tile_lookback), ENTRY(tile_finish),                        \
            SIMT_KERNEL_ENTRY(NAME(base_leaf_lists), COPSE_LIST_THREADS), ENTRY(tile_edges), ENTRY(tile_independent),  \
            ENTRY(rebuild_count), ENTRY(rebuild_old), ENTRY(rebuild_new), ENTRY(publish), ENTRY(check_highs),          \
            ENTRY(check_leaves)                                                                                        \
    }
