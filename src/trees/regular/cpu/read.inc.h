/* Template: reads of the regular tree. Batch walks: walk.inc.h. */

#define WALK_TABLE(index) (&(index)->ctx->walk->table[copse_width_pair(sizeof(KEY), sizeof(VALUE))])

static uint64_t NAME(regular_find)(const copse_index *index, const void *keys, uint64_t first, uint64_t n, void *values,
                                   uint8_t *found)
{
    copse_walk_input input = copse_walk_over(index, keys, first, n);
    return WALK_TABLE(index)->regular_find(index->tree, &input, values, found);
}

static uint64_t NAME(regular_locate)(const copse_index *index, const void *keys, uint64_t first, uint64_t n, bool upper,
                                     uint64_t *places)
{
    copse_walk_input input = copse_walk_over(index, keys, first, n);
    input.upper = upper;
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
