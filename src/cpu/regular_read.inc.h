/* Template: reads, aggregates and inspection of the regular tree. Batch walks: walk.inc.h. */

#define WALK_TABLE(index) (&(index)->ctx->walk->table[copse_width_pair(sizeof(KEY), sizeof(VALUE))])

static inline copse_walk_input NAME(regular_input)(const copse_index *index, const void *keys, uint64_t first,
                                                   uint64_t n, bool upper)
{
    return (copse_walk_input){.type = index->key_type,
                              .keys = keys,
                              .first = first,
                              .n = n,
                              .pipeline = index->ctx->pipeline,
                              .upper = upper,
                              .unique = !index->duplicates};
}

static uint64_t NAME(regular_find)(const copse_index *index, const void *keys, uint64_t first, uint64_t n, void *values,
                                   uint8_t *found)
{
    copse_walk_input input = NAME(regular_input)(index, keys, first, n, false);
    return WALK_TABLE(index)->regular_find(index->tree, &input, values, found);
}

static uint64_t NAME(regular_locate)(const copse_index *index, const void *keys, uint64_t first, uint64_t n, bool upper,
                                     uint64_t *places)
{
    copse_walk_input input = NAME(regular_input)(index, keys, first, n, upper);
    return WALK_TABLE(index)->regular_locate(index->tree, &input, places);
}

/* --- places ------------------------------------------------------------------------------------------------------- */

static uint64_t NAME(regular_rank_one)(const copse_regular *tree, uint64_t place)
{
    const copse_leaf_table *table = &tree->table;
    uint64_t slot = place >> COPSE_PLACE_SHIFT, rank = place & ((1u << COPSE_PLACE_SHIFT) - 1);
    if (slot >= table->slots) return tree->entries;
    rank += table->ahead[slot];
    uint64_t node = slot / FANOUT;
    for (uint32_t l = 0; l < table->rank_height; l++, node /= 16) rank += table->before[l][node];
    return rank;
}

static void NAME(regular_rank)(const copse_index *index, const uint64_t *places, uint64_t n, uint64_t *ranks)
{
    const copse_regular *tree = index->tree;
    for (uint64_t i = 0; i < n; i++) ranks[i] = NAME(regular_rank_one)(tree, places[i]);
}

static uint64_t NAME(regular_select)(const copse_index *index, uint64_t rank)
{
    const copse_regular *tree = index->tree;
    const copse_leaf_table *table = &tree->table;
    if (rank >= tree->entries) return table->slots << COPSE_PLACE_SHIFT;
    uint64_t node = 0;
    for (uint32_t l = table->rank_height; l-- > 0;) {
        node *= 16;
        while (rank >= table->below[l][node]) rank -= table->below[l][node++];
    }
    uint64_t slot = node * FANOUT;
    while (rank >= table->count[slot]) rank -= table->count[slot++];
    return (slot << COPSE_PLACE_SHIFT) + rank;
}

/* The slot and position of the entry at a place; a place behind the last entry of a leaf is the next leaf's first.
 * False: behind the last entry of all. */
static bool NAME(regular_at)(const copse_leaf_table *table, uint64_t place, uint64_t *slot, uint32_t *position)
{
    *slot = place >> COPSE_PLACE_SHIFT;
    *position = (uint32_t)(place & ((1u << COPSE_PLACE_SHIFT) - 1));
    while (*slot < table->slots && *position >= table->count[*slot]) {
        ++*slot;
        *position = 0;
    }
    return *slot < table->slots;
}

/* The entry in front of a place. False: there is none. */
static bool NAME(regular_before)(const copse_leaf_table *table, uint64_t place, uint64_t *slot, uint32_t *position)
{
    *slot = place >> COPSE_PLACE_SHIFT;
    *position = (uint32_t)(place & ((1u << COPSE_PLACE_SHIFT) - 1));
    while (*position == 0) {
        if (*slot == 0) return false;
        *position = table->count[--*slot];
    }
    --*position;
    return true;
}

static void NAME(regular_gather)(const copse_index *index, const uint64_t *places, uint64_t first, uint64_t n,
                                 bool before, void *keys, void *values, uint8_t *found)
{
    const copse_leaf_table *table = &((const copse_regular *)index->tree)->table;
    for (uint64_t i = 0; i < n; i++) {
        uint64_t slot;
        uint32_t position;
        bool there = before ? NAME(regular_before)(table, places[i], &slot, &position)
                            : NAME(regular_at)(table, places[i], &slot, &position);
        if (found) found[first + i] = there;
        if (there) {
            NAME(unit_copy)(NAME(leaf_units)(table->leaf[slot]), position, 1, index->key_type, first + i, keys, values);
        } else {
            if (keys) ((KEY *)keys)[first + i] = 0;
            if (values) ((VALUE *)values)[first + i] = 0;
        }
    }
}

static void NAME(regular_copy)(const copse_index *index, uint64_t place, uint64_t count, uint64_t at, void *keys,
                               void *values)
{
    const copse_leaf_table *table = &((const copse_regular *)index->tree)->table;
    uint64_t slot;
    uint32_t position;
    if (!NAME(regular_at)(table, place, &slot, &position)) return;
    while (count) {
        uint64_t n = table->count[slot] - position;
        if (n > count) n = count;
        if (n) NAME(unit_copy)(NAME(leaf_units)(table->leaf[slot]), position, n, index->key_type, at, keys, values);
        at += n;
        count -= n;
        position = 0;
        slot++;
    }
}

static void NAME(regular_fetch)(const copse_index *index, uint64_t place, uint64_t count)
{
    const copse_leaf_table *table = &((const copse_regular *)index->tree)->table;
    uint64_t slot = place >> COPSE_PLACE_SHIFT, unit = (place & ((1u << COPSE_PLACE_SHIFT) - 1)) / UNIT_ENTRIES;
    if (slot >= table->slots || !table->leaf[slot]) return;
    uint64_t lines = count / UNIT_ENTRIES + 1;
    for (uint64_t i = 0; i < (lines < COPSE_FETCH_LINES ? lines : COPSE_FETCH_LINES) && unit + i < COPSE_LEAF_UNITS;
         i++)
        __builtin_prefetch(NAME(leaf_units)(table->leaf[slot]) + unit + i, 0, 2);
}

/* --- aggregates --------------------------------------------------------------------------------------------------- */

static void NAME(regular_make_summary)(const copse_index *index, copse_regular *tree)
{
    if (!copse_summary_create(index->ctx, tree->table.slots, &tree->summary)) return;
    uint32_t threads = copse_threads_for(index->ctx, tree->entries);
#pragma omp parallel for num_threads(threads) if (threads > 1)
    for (uint64_t s = 0; s < tree->table.slots; s++) NAME(regular_summarize)(index, tree, s);
    copse_summary_raise(&tree->summary, 0, tree->table.slots - 1, threads);
    tree->has_summary = true;
}

/* Readers may come at the same time: the first makes it, the others wait; afterwards the flag alone is read. */
static void NAME(regular_prepare)(const copse_index *index, bool sums)
{
    copse_regular *tree = index->tree;
    (void)sums;
    if (atomic_load_explicit(&tree->summary_tried, memory_order_acquire)) return;
    pthread_mutex_lock(&tree->lock);
    if (!atomic_load_explicit(&tree->summary_tried, memory_order_relaxed)) {
        NAME(regular_make_summary)(index, tree);
        atomic_store_explicit(&tree->summary_tried, true, memory_order_release);
    }
    pthread_mutex_unlock(&tree->lock);
}

/* Adds positions from .. to of a leaf. */
static void NAME(regular_scan)(const copse_index *index, uint64_t slot, uint32_t from, uint32_t to,
                               copse_aggregate *all)
{
    const copse_regular *tree = index->tree;
    if (to > tree->table.count[slot]) to = tree->table.count[slot];
    const UNIT *units = from < to ? NAME(leaf_units)(tree->table.leaf[slot]) : NULL;
    while (from < to) {
        uint32_t slot_in_unit = from % UNIT_ENTRIES;
        uint32_t n = to - from < UNIT_ENTRIES - slot_in_unit ? to - from : UNIT_ENTRIES - slot_in_unit;
        copse_aggregate_add(all, index->value_type, units[from / UNIT_ENTRIES].values + slot_in_unit, n);
        from += n;
    }
}

static void NAME(regular_aggregate)(const copse_index *index, uint64_t place, uint64_t end, copse_aggregate *all)
{
    const copse_regular *tree = index->tree;
    const uint32_t mask = (1u << COPSE_PLACE_SHIFT) - 1;
    uint64_t first = place >> COPSE_PLACE_SHIFT, last = end >> COPSE_PLACE_SHIFT;
    if (first >= tree->table.slots) return;
    if (first == last) {
        NAME(regular_scan)(index, first, (uint32_t)(place & mask), (uint32_t)(end & mask), all);
        return;
    }
    NAME(regular_scan)(index, first, (uint32_t)(place & mask), LEAF_CAPACITY, all);
    if (tree->has_summary)
        copse_summary_range(&tree->summary, first + 1, last, all);
    else
        for (uint64_t s = first + 1; s < last; s++) NAME(regular_scan)(index, s, 0, LEAF_CAPACITY, all);
    if (last < tree->table.slots) NAME(regular_scan)(index, last, 0, (uint32_t)(end & mask), all);
}

/* --- inspection --------------------------------------------------------------------------------------------------- */

static void NAME(regular_stats)(const copse_index *index, copse_stats *out)
{
    copse_regular *tree = index->tree;
    pthread_mutex_lock(&tree->lock); /* an aggregate call may be making the summary */
    out->entries = tree->entries;
    out->aggregate_bytes = tree->summary.bytes;
    out->bytes = sizeof *tree + tree->table.bytes + tree->pool.bytes + out->aggregate_bytes;
    out->height = tree->entries ? tree->table.levels.height + 2 : 0;
    out->fill = tree->entries ? (double)tree->entries / (double)(tree->leaves * LEAF_CAPACITY) : 0.0;
    pthread_mutex_unlock(&tree->lock);
}

static copse_status NAME(verify_leaf)(const copse_index *index, const copse_leaf_table *table, uint64_t slot)
{
    const UNIT *units = NAME(leaf_units)(table->leaf[slot]);
    uint32_t n = table->count[slot];
    unsigned long long at = slot;
    if (n == 0 || n > LEAF_CAPACITY)
        return copse_fail(index->ctx, COPSE_ERR_CORRUPT, "regular tree: leaf %llu has %u entries", at, n);
    for (uint32_t i = 1; i < n; i++) {
        KEY before = NAME(unit_key)(units, i - 1), key = NAME(unit_key)(units, i);
        if (key < before || (key == before && !index->duplicates))
            return copse_fail(index->ctx, COPSE_ERR_CORRUPT, "regular tree: entry %u of leaf %llu is out of order", i,
                              at);
    }
    for (uint32_t i = n; i < LEAF_CAPACITY; i++)
        if (NAME(unit_key)(units, i) != KEY_MAX)
            return copse_fail(index->ctx, COPSE_ERR_CORRUPT, "regular tree: free place %u of leaf %llu is not padded",
                              i, at);
    if (NAME(unit_key)(units, n - 1) > NAME(table_fence)(table)[slot])
        return copse_fail(index->ctx, COPSE_ERR_CORRUPT, "regular tree: leaf %llu goes beyond its fence", at);
    _Alignas(64) char copy[COPSE_LEAF_BYTES];
    memcpy(copy, table->leaf[slot], sizeof copy);
    NAME(leaf_seal)(copy, n);
    if (memcmp(copy, table->leaf[slot], 64) != 0)
        return copse_fail(index->ctx, COPSE_ERR_CORRUPT, "regular tree: the head of leaf %llu does not fit its units",
                          at);
    return COPSE_OK;
}

/* Order between leaves, fences, and that used slots come first in their group. */
static copse_status NAME(verify_slots)(const copse_index *index, const copse_regular *tree)
{
    const copse_leaf_table *table = &tree->table;
    const KEY *fence = NAME(table_fence)(table);
    uint64_t leaves = 0, entries = 0, last = table->slots;
    for (uint64_t s = 0; s < table->slots; s++) {
        unsigned long long at = s;
        if (!table->leaf[s]) {
            if (s == 0 || table->count[s] || fence[s] != fence[s - 1])
                return copse_fail(index->ctx, COPSE_ERR_CORRUPT, "regular tree: free slot %llu is wrong", at);
            continue;
        }
        if (s % FANOUT && !table->leaf[s - 1])
            return copse_fail(index->ctx, COPSE_ERR_CORRUPT, "regular tree: slot %llu stands behind a free one", at);
        copse_status status = NAME(verify_leaf)(index, table, s);
        if (status != COPSE_OK) return status;
        KEY first = NAME(table_first_key)(table, s);
        if (last < table->slots) {
            /* With duplicates a leaf may begin with the key that the one before ends with, not merely its fence. */
            bool shared = index->duplicates && first == NAME(leaf_last_key)(table->leaf[last], table->count[last]);
            if (fence[s] < fence[last] || (first <= fence[last] && !shared))
                return copse_fail(index->ctx, COPSE_ERR_CORRUPT, "regular tree: leaf %llu overlaps the one before", at);
        }
        last = s;
        leaves++;
        entries += table->count[s];
    }
    if (leaves != tree->leaves || entries != tree->entries || leaves != tree->pool.used)
        return copse_fail(index->ctx, COPSE_ERR_CORRUPT,
                          "regular tree: %llu leaves and %llu entries, but %llu and %llu are kept",
                          (unsigned long long)leaves, (unsigned long long)entries, (unsigned long long)tree->leaves,
                          (unsigned long long)tree->entries);
    if (fence[last] != KEY_MAX)
        return copse_fail(index->ctx, COPSE_ERR_CORRUPT, "regular tree: the last leaf's fence is not the maximum");
    return COPSE_OK;
}

static copse_status NAME(verify_levels)(const copse_index *index, const copse_regular *tree)
{
    const copse_leaf_table *table = &tree->table;
    const KEY *fence = NAME(table_fence)(table);
    uint64_t span = 1;
    for (uint32_t l = table->levels.height; l-- > 0; span *= FANOUT)
        for (uint64_t i = 0; i < table->levels.nodes[l] * (FANOUT - 1); i++) {
            uint64_t end = (i / (FANOUT - 1) * FANOUT + i % (FANOUT - 1) + 1) * span;
            if (((const KEY *)table->levels.level[l])[i] != fence[(end < table->slots ? end : table->slots) - 1])
                return copse_fail(index->ctx, COPSE_ERR_CORRUPT, "regular tree: separator %llu of level %u is wrong",
                                  (unsigned long long)i, l);
        }
    for (uint64_t g = 0; g < table->groups; g++) {
        uint64_t sum = 0;
        for (uint64_t j = 0; j < FANOUT; j++) sum += table->count[g * FANOUT + j];
        if (sum != table->below[0][g])
            return copse_fail(index->ctx, COPSE_ERR_CORRUPT, "regular tree: the count of group %llu is wrong",
                              (unsigned long long)g);
    }
    if (NAME(regular_rank_one)(tree, (table->slots - 1) << COPSE_PLACE_SHIFT) + table->count[table->slots - 1] !=
        tree->entries)
        return copse_fail(index->ctx, COPSE_ERR_CORRUPT, "regular tree: the counts do not add up");
    return COPSE_OK;
}

static copse_status NAME(verify_summary)(const copse_index *index, const copse_regular *tree)
{
    copse_aggregate scanned = COPSE_AGGREGATE_EMPTY, summed = COPSE_AGGREGATE_EMPTY;
    if (!tree->has_summary) return COPSE_OK;
    for (uint64_t s = 0; s < tree->table.slots; s++) NAME(regular_scan)(index, s, 0, LEAF_CAPACITY, &scanned);
    copse_summary_range(&tree->summary, 0, tree->summary.items, &summed);
    if (scanned.sum != summed.sum || scanned.smallest != summed.smallest || scanned.largest != summed.largest)
        return copse_fail(index->ctx, COPSE_ERR_CORRUPT, "regular tree: the summary does not agree with the values");
    return COPSE_OK;
}

static copse_status NAME(regular_verify)(const copse_index *index)
{
    copse_regular *tree = index->tree;
    copse_status status = copse_progress(index->ctx, "verifying", 0, tree->entries);
    if (status != COPSE_OK || tree->entries == 0) return status;
    status = NAME(verify_slots)(index, tree);
    if (status == COPSE_OK) status = NAME(verify_levels)(index, tree);
    pthread_mutex_lock(&tree->lock);
    if (status == COPSE_OK) status = NAME(verify_summary)(index, tree);
    pthread_mutex_unlock(&tree->lock);
    return status;
}

const copse_operations NAME(copse_regular_cpu) = {
    .structure = COPSE_STRUCTURE_REGULAR,
    .placement = COPSE_PLACEMENT_CPU,
    .create = regular_create,
    .destroy = regular_destroy,
    .build = NAME(regular_build),
    .insert = NAME(regular_insert),
    .erase = NAME(regular_erase),
    .find = NAME(regular_find),
    .locate = NAME(regular_locate),
    .rank = NAME(regular_rank),
    .select = NAME(regular_select),
    .gather = NAME(regular_gather),
    .copy = NAME(regular_copy),
    .fetch = NAME(regular_fetch),
    .prepare = NAME(regular_prepare),
    .aggregate = NAME(regular_aggregate),
    .size = regular_size,
    .stats = NAME(regular_stats),
    .verify = NAME(regular_verify),
};

#undef WALK_TABLE
#undef FANOUT
#undef LEAF_CAPACITY
#undef LEAF_BULK_FILL
#undef LEAF_EDIT_FILL
#undef LEAF_SPARSE
