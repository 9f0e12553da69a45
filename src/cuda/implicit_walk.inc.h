/*
 * Template: walking the implicit tree on a device.
 *
 * Two ways down. For queries in random order, four lanes share a query: each loads 16 bytes of the 64-byte node and
 * counts the separators there that are less than the query, and two shuffles add the counts up. A group of four takes
 * two queries at a time, so that one waits while the other works. Lanes of a warp never part, so every collective names
 * all 32.
 *
 *   node   | 16 bytes: lane 0 | lane 1 | lane 2 | lane 3 |      eight groups, eight nodes, one load instruction
 *
 * For queries that come sorted the neighbours walk the same nodes, and every lane takes its own query alone: fewer
 * instructions, and the loads of a warp fall together. The same code serves the rare cases that the groups leave out:
 * a digest that led too far left, and the largest key, which looks like a free place.
 */

#define UNIT_SLOTS    (64u / (KEY_BITS / 8u + VALUE_BITS / 8u))
#define UNIT_VALUES   ((UNIT_SLOTS * (KEY_BITS / 8u) + VALUE_BITS / 8u - 1u) / (VALUE_BITS / 8u) * (VALUE_BITS / 8u))
#define PIECE_KEYS    (128u / KEY_BITS) /* keys in the 16 bytes of one lane */
#define FULL_FANOUT   (512u / KEY_BITS + 1u)
#define DIGEST_FANOUT 17u
#define BOUND         NAME(walk_bound)

/* A query on its way: what is looked for, and where the walk stands (a node, in the end a unit). */
typedef struct BOUND {
    KEY q;
    uint32_t digest;
    uint32_t node;
} BOUND;

SIMT_DEVICE KEY NAME(unit_key)(const copse_device_tree *tree, uint64_t place)
{
    return ((const KEY *)(tree->unit + place / UNIT_SLOTS * 64u))[place % UNIT_SLOTS];
}

SIMT_DEVICE VALUE NAME(unit_value)(const copse_device_tree *tree, uint64_t place)
{
    return ((const VALUE *)(tree->unit + place / UNIT_SLOTS * 64u + UNIT_VALUES))[place % UNIT_SLOTS];
}

SIMT_DEVICE BOUND NAME(walk_start)(const copse_device_tree *tree, bool digest, KEY q)
{
    BOUND bound;
    bound.q = q;
    bound.node = 0;
    bound.digest = (uint32_t)q;
#if KEY_BITS == 64
    if (digest) bound.digest = copse_digest(q, tree->base, tree->shift);
#else
    (void)tree;
    (void)digest;
#endif
    return bound;
}

/* The query that another lane read. */
SIMT_DEVICE BOUND NAME(walk_take)(BOUND own, uint32_t lane, bool digest)
{
    BOUND bound;
    bound.node = 0;
    bound.q = COPSE_BITS(simt_shfl_u, KEY_BITS)(SIMT_FULL_MASK, own.q, lane);
    bound.digest = (uint32_t)bound.q;
    if (KEY_BITS == 64 && digest) bound.digest = simt_shfl_u32(SIMT_FULL_MASK, own.digest, lane);
    return bound;
}

/* --- four lanes to a query ------------------------------------------------------------------------------------------ */

SIMT_DEVICE uint64_t NAME(walk_join)(uint32_t low, uint32_t high)
{
    return (uint64_t)high << 32 | low;
}

/* Separators less than the query in this lane's part of a node. */
SIMT_DEVICE uint32_t NAME(walk_less)(const char *part, BOUND bound, bool digest)
{
    simt_u32x4 v = simt_load16(part);
    if (KEY_BITS == 64 && !digest)
        return (uint32_t)(NAME(walk_join)(v.x, v.y) < bound.q) + (uint32_t)(NAME(walk_join)(v.z, v.w) < bound.q);
    return (uint32_t)(v.x < bound.digest) + (uint32_t)(v.y < bound.digest) + (uint32_t)(v.z < bound.digest) +
           (uint32_t)(v.w < bound.digest);
}

SIMT_DEVICE uint32_t NAME(walk_group_sum)(uint32_t count)
{
    count += simt_shfl_xor_u32(SIMT_FULL_MASK, count, 1);
    return count + simt_shfl_xor_u32(SIMT_FULL_MASK, count, 2);
}

/* Takes two queries of each group from the root to their units. */
SIMT_DEVICE void NAME(walk_pair)(const copse_device_tree *tree, bool digest, BOUND *x, BOUND *y)
{
    const uint32_t fanout = digest ? DIGEST_FANOUT : FULL_FANOUT, part = (simt_lane() & 3u) * 16u;
    for (uint32_t l = 0; l < tree->height; l++) {
        const char *level = tree->level[l] + part;
        uint32_t less_x = NAME(walk_less)(level + (uint64_t)x->node * 64u, *x, digest);
        uint32_t less_y = NAME(walk_less)(level + (uint64_t)y->node * 64u, *y, digest);
        x->node = x->node * fanout + NAME(walk_group_sum)(less_x);
        y->node = y->node * fanout + NAME(walk_group_sum)(less_y);
    }
}

/* Key j of this lane's 16 bytes of a unit. */
SIMT_DEVICE KEY NAME(piece_key)(simt_u32x4 v, uint32_t j)
{
#if KEY_BITS == 64
    return j == 0 ? NAME(walk_join)(v.x, v.y) : NAME(walk_join)(v.z, v.w);
#else
    return j == 0 ? v.x : j == 1 ? v.y : j == 2 ? v.z : v.w;
#endif
}

/* Does this lane's part of the unit hold the last key, and is that less than the query? */
SIMT_DEVICE bool NAME(piece_ends_below)(simt_u32x4 v, KEY q)
{
    return (simt_lane() & 3u) == (UNIT_SLOTS - 1u) / PIECE_KEYS &&
           NAME(piece_key)(v, (UNIT_SLOTS - 1u) % PIECE_KEYS) < q;
}

/* --- one lane to a query ---------------------------------------------------------------------------------------------- */

/* The child to take: the number of separators less than the query, by halving. */
SIMT_DEVICE uint32_t NAME(walk_child_alone)(const char *node, BOUND bound, bool digest)
{
    uint32_t at = 0;
    if (KEY_BITS == 32 || digest) {
        const uint32_t *separator = (const uint32_t *)node;
        SIMT_UNROLL
        for (uint32_t step = 8; step > 0; step /= 2) at += separator[at + step - 1u] < bound.digest ? step : 0u;
        return at + (uint32_t)(separator[at] < bound.digest);
    }
    const KEY *separator = (const KEY *)node;
    SIMT_UNROLL
    for (uint32_t step = 4; step > 0; step /= 2) at += separator[at + step - 1u] < bound.q ? step : 0u;
    return at + (uint32_t)(separator[at] < bound.q);
}

/* The unit of the first key >= q, or the last unit. */
SIMT_DEVICE uint32_t NAME(walk_alone)(const copse_device_tree *tree, bool digest, BOUND bound)
{
    const uint32_t fanout = digest ? DIGEST_FANOUT : FULL_FANOUT;
    uint32_t node = 0;
    for (uint32_t l = 0; l < tree->height; l++)
        node = node * fanout + NAME(walk_child_alone)(tree->level[l] + (uint64_t)node * 64u, bound, digest);
    if (digest)
        while (node + 1u < tree->units && NAME(unit_key)(tree, (uint64_t)node * UNIT_SLOTS + UNIT_SLOTS - 1u) < bound.q)
            node++;
    return node;
}

/* Keys of a unit in front of a bound: those < q, or <= q for the upper bound among unique keys. */
SIMT_DEVICE uint32_t NAME(unit_before)(const copse_device_tree *tree, uint32_t unit, KEY q, bool or_equal)
{
    const KEY *keys = (const KEY *)(tree->unit + (uint64_t)unit * 64u);
    uint32_t before = 0;
    SIMT_UNROLL
    for (uint32_t i = 0; i < UNIT_SLOTS; i++)
        before += (uint32_t)(keys[i] < q) + (uint32_t)((keys[i] == q) & (int)or_equal);
    return before;
}

/* --- bounds --------------------------------------------------------------------------------------------------------- */

/*
 * Upper bounds: where keys may repeat, the first key > q is the first >= q + 1; for the largest key that wraps to 0 and
 * the place is the end. Where they do not, it is the first >= q, or the one behind that if it is q itself.
 */
SIMT_DEVICE KEY NAME(bound_key)(const copse_device_tree *tree, KEY q, bool upper)
{
    return (KEY)(q + (KEY)(upper && !tree->unique));
}

SIMT_DEVICE uint64_t NAME(bound_finish)(const copse_device_tree *tree, uint32_t unit, uint32_t before, KEY q,
                                        bool upper)
{
    uint64_t place = (uint64_t)unit * UNIT_SLOTS + before;
    if (place > tree->entries || (upper && !tree->unique && q == 0)) place = tree->entries;
    return place;
}

/* The place of a bound whose key went through bound_key, one lane to a query. */
SIMT_DEVICE uint64_t NAME(place_alone)(const copse_device_tree *tree, bool digest, BOUND bound, bool upper)
{
    uint32_t unit = NAME(walk_alone)(tree, digest, bound);
    uint32_t before = NAME(unit_before)(tree, unit, bound.q, upper && tree->unique);
    return NAME(bound_finish)(tree, unit, before, bound.q, upper);
}

/* The same for a group that has walked to the unit; all four lanes get the place. */
SIMT_DEVICE uint64_t NAME(place_of_group)(const copse_device_tree *tree, bool digest, BOUND bound, bool upper)
{
    const uint32_t part = simt_lane() & 3u;
    const bool or_equal = upper && tree->unique;
    simt_u32x4 v = simt_load16_once(tree->unit + (uint64_t)bound.node * 64u + part * 16u);
    uint32_t before = 0;
    SIMT_UNROLL
    for (uint32_t j = 0; j < PIECE_KEYS; j++) {
        KEY key = NAME(piece_key)(v, j);
        bool counts = key < bound.q || (or_equal && key == bound.q);
        before += (uint32_t)(counts && part * PIECE_KEYS + j < UNIT_SLOTS);
    }
    before = NAME(walk_group_sum)(before);
    if (digest) {
        uint32_t below = __ballot_sync(SIMT_FULL_MASK, NAME(piece_ends_below)(v, bound.q));
        if (below >> (simt_lane() & 28u) & 15u && bound.node + 1u < tree->units)
            return NAME(place_alone)(tree, digest, bound, upper);
    }
    return NAME(bound_finish)(tree, bound.node, before, bound.q, upper);
}
