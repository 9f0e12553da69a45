/* Merging batches into units; see merge.inc.h. */
#ifndef COPSE_MERGE_H
#define COPSE_MERGE_H

#include "core/batch.h"
#include "cpu/unit.h"

/* Most lines that a fetch ahead of a copy asks for, into the second-level cache; the hardware follows longer runs. */
#define COPSE_FETCH_LINES 32u

/* What a batch does to the entries that are there. */
typedef enum merge_kind {
    MERGE_UPSERT, /* equal key: new value; else added                      */
    MERGE_ABSENT, /* equal key: stays as it is; else added                 */
    MERGE_APPEND, /* added behind its equals                               */
    MERGE_ERASE,  /* all equals go                                         */
    MERGE_MIXED   /* each pair by itself: as in ERASE if gone, else UPSERT */
} merge_kind;

static inline merge_kind merge_kind_of(const copse_index *index, uint32_t insert_flags)
{
    if (insert_flags & COPSE_INSERT_IF_ABSENT) return MERGE_ABSENT;
    return index->duplicates ? MERGE_APPEND : MERGE_UPSERT;
}

static inline merge_kind merge_kind_of_apply(const copse_batch *batch)
{
    return batch->gone ? MERGE_MIXED : MERGE_UPSERT;
}

#endif
