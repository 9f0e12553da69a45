/* The kernels of the B-link and the B+ tree: the table that each backend has per pair of widths. */
#pragma once

#include "gpu/kernel_rows.h"
#include "trees/blink/layout.h"
#include "trees/blink/node/arguments.h"
#include "trees/blink/read/arguments.h"
#include "trees/blink/rebuild/arguments.h"
#include "trees/blink/update/arguments.h"

typedef struct copse_blink_kernels {
    copse_leaf_shape leaf;
    copse_kernel find[2][2];   /* copse_blink_point_arguments; [digest][branches]; nobody changes the tree meanwhile */
    copse_kernel locate, plan; /* copse_locate_arguments */
    copse_kernel partition_bounds, partition, bucket_sort; /* copse_bucket_sort_arguments, one after the other */
    copse_kernel resolve;                                  /* copse_resolve_arguments */
    copse_kernel apply, apply_splits;                      /* copse_apply_arguments: sorted */
    copse_kernel apply_unsorted;                           /* ... in the caller's order */
    copse_kernel crowd_count, crowd_list, crowd_append, crowd_spill, crowd_link; /* copse_crowd_arguments */
    copse_kernel erase_bounds, erase_anchors; /* copse_erase_arguments, one after the other */
    copse_kernel directory_adopt, directory_merge, directory_nodes, directory_publish;
    copse_kernel rebuild_fill, rebuild_empty;                   /* copse_rebuild_arguments: of sorted pairs; of none */
    copse_kernel tile_starts, tile_lookback, tile_finish;       /* ... tile by tile, by decoupled look-back */
    copse_kernel base_leaf_lists, tile_edges, tile_independent; /* ... independent tiles */
    copse_kernel rebuild_count, rebuild_old, rebuild_new;       /* ... base leaf by base leaf */
    copse_kernel publish;                                       /* copse_publish_arguments */
    copse_kernel check_highs, check_leaves;                     /* copse_blink_check_arguments */
} copse_blink_kernels;

COPSE_KERNEL_ROWS(copse_blink_kernels);
