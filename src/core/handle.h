/* Copies of the handle of an index. */
#pragma once

#include "core/internal.h"

/* Another handle on the tree of an index, with everything but what counts its users: other threads may change that meanwhile. Its
 * version is that of the index. */
static inline copse_index copse_index_handle(const copse_index *index)
{
    return (copse_index){.ctx = index->ctx,
                         .key_type = index->key_type,
                         .value_type = index->value_type,
                         .duplicates = index->duplicates,
                         .updates = index->updates,
                         .version = index->version,
                         .description = index->description,
                         .placement = index->placement,
                         .calls = index->calls,
                         .by_width = index->by_width,
                         .device = index->device,
                         .placement_why = index->placement_why,
                         .grows_to = index->grows_to,
                         .automatic = index->automatic,
                         .read_only = index->read_only,
                         .tree = index->tree,
                         .schedule = index->schedule,
                         .bucket = index->bucket,
                         .leaf_memory = index->leaf_memory,
                         .page_order = index->page_order,
                         .long_keys = index->long_keys,
                         .mirror = index->mirror};
}
