/* Arguments of the kernels that publish segments (node/row.h) and check a tree (node/verify.h). */
#pragma once

#include "trees/blink/layout.h"

/* Writes some addresses into the table of segments. They come with the launch, because a copy from host memory would
 * synchronise. */
#define COPSE_PUBLISH_MOST 128u
typedef struct copse_publish_arguments {
    uint64_t *to;
    uint32_t n;
    uint64_t addresses[COPSE_PUBLISH_MOST];
} copse_publish_arguments;

/* What checks find wrong, as positions in `trouble` of the survey. */
enum { COPSE_TROUBLE_ORDER = 0, COPSE_TROUBLE_LEAF = 1, COPSE_TROUBLE_LEVELS = 2, COPSE_TROUBLE_LINK = 3 };

typedef struct copse_blink_check_arguments {
    copse_blink_tree tree;
    void *highs;           /* of each anchor the largest key that its leaves may have */
    void *separators;      /* ... and of each base leaf with its overflow chain */
    uint32_t *base_leaves; /* of each leaf of the pool how many links the check came along */
    copse_device_survey *survey;
} copse_blink_check_arguments;
