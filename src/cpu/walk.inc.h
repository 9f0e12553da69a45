/*
 * Template: the batch walks of both trees for one pair of widths and one instruction set. The including file has
 * defined count_less_u32 and count_less_u64.
 *
 * A walk is: encode a group of keys, take it down the inner levels (walk_level), then read the units (the *_finish
 * functions). What a walk is for, its mode, is a constant in each instance, so the compiler drops what it does not need.
 */

#define LESS(line, q, keys) COPSE_BITS(count_less_u, KEY_BITS)(line, q, keys)
#define FULL_SEPARATORS     (64u / sizeof(KEY))
#define DIGEST_SEPARATORS   16u
#define ALWAYS_INLINE       static inline __attribute__((always_inline))

/* Aligned, so that vector stores into a group never straddle two lines. */
typedef struct NAME(walk_group) {
    _Alignas(64) KEY q[PIPELINE_WIDTH];
    uint32_t digest[PIPELINE_WIDTH];
    uint32_t node[PIPELINE_WIDTH]; /* in the end: the unit (implicit) or slot (regular) */
    uint32_t unit[PIPELINE_WIDTH]; /* regular: of the leaf */
    const char *leaf[PIPELINE_WIDTH];
} NAME(walk_group);

typedef struct NAME(walk_state) {
    const copse_walk_input *input;
    const copse_levels *levels;
    pipeline_plan plan;
    uint64_t first_nan;
    NAME(walk_group) ring[PIPELINE_RING];
} NAME(walk_state);

/* Queries of group g. */
ALWAYS_INLINE uint32_t NAME(walk_count)(const NAME(walk_state) * w, uint64_t g, uint32_t width)
{
    uint64_t left = w->input->n - g * width;
    return left < width ? (uint32_t)left : width;
}

/*
 * Upper bounds. Where keys may repeat, the first key > q is the first >= q + 1; for the largest key that wraps to 0,
 * which walk_wrapped looks for. Where they do not, it is the first >= q, or the one behind it if that is q itself: no
 * second line is touched, and digests, which q and q + 1 often share, do not lead astray.
 */
ALWAYS_INLINE bool NAME(walk_wrapped)(const copse_walk_input *input, KEY q, bool upper)
{
    return upper && !input->unique && q == 0;
}

/* Reads `count` of the caller's keys into a group. A short last group is filled up with its first key, so that the loops
 * over a group always have the same length. */
ALWAYS_INLINE void NAME(walk_read)(NAME(walk_state) * w, uint64_t g, uint32_t width, uint32_t count)
{
    const copse_walk_input *in = w->input;
    NAME(walk_group) *group = &w->ring[g & w->plan.mask];
    uint32_t good = ENCODE(in->type, in->keys, in->first + g * width, count, group->q);
    if (good < count && g * width + good < w->first_nan) w->first_nan = g * width + good;
    for (uint32_t i = count; i < width; i++) group->q[i] = group->q[0];
    const KEY step = in->upper && !in->unique;
    for (uint32_t i = 0; i < width; i++) {
        group->q[i] += step;
        group->node[i] = 0;
    }
#if KEY_BITS == 64
    if (w->levels->digest) {
        const uint64_t base = w->levels->base;
        const uint32_t shift = w->levels->shift;
        for (uint32_t i = 0; i < width; i++) group->digest[i] = copse_digest(group->q[i], base, shift);
    }
#endif
}

/* The same for ranges: lows in the first half of the group, highs, as bounds of what comes behind them, in the second. */
ALWAYS_INLINE void NAME(walk_read_ranges)(NAME(walk_state) * w, uint64_t g, uint32_t half, uint32_t count)
{
    const copse_walk_input *in = w->input;
    const KEY step = !in->unique;
    NAME(walk_group) *group = &w->ring[g & w->plan.mask];
    uint32_t good = ENCODE(in->type, in->keys, in->first + g * half, count, group->q);
    uint32_t good_high = ENCODE(in->type, in->highs, in->first + g * half, count, group->q + half);
    if (good_high < good) good = good_high;
    if (good < count && g * half + good < w->first_nan) w->first_nan = g * half + good;
    for (uint32_t i = count; i < half; i++) {
        group->q[i] = group->q[0];
        group->q[half + i] = group->q[half];
    }
    for (uint32_t i = 0; i < half; i++) {
        group->q[half + i] += step;
        group->node[i] = group->node[half + i] = 0;
    }
#if KEY_BITS == 64
    if (w->levels->digest) {
        const uint64_t base = w->levels->base;
        const uint32_t shift = w->levels->shift;
        for (uint32_t i = 0; i < half * 2; i++) group->digest[i] = copse_digest(group->q[i], base, shift);
    }
#endif
}

static __attribute__((noinline)) void NAME(walk_enter_ranges)(NAME(walk_state) * w, uint64_t g, uint32_t half)
{
    uint32_t count = NAME(walk_count)(w, g, half);
    if (count == PIPELINE_WIDTH / 2)
        NAME(walk_read_ranges)(w, g, PIPELINE_WIDTH / 2, PIPELINE_WIDTH / 2);
    else
        NAME(walk_read_ranges)(w, g, half, count);
}

/* Stage 0. Not inlined: it is called once per group, and the code is long. Full groups get a constant length. */
static __attribute__((noinline)) void NAME(walk_enter)(NAME(walk_state) * w, uint64_t g, uint32_t width)
{
    uint32_t count = NAME(walk_count)(w, g, width);
    if (count == PIPELINE_WIDTH)
        NAME(walk_read)(w, g, PIPELINE_WIDTH, PIPELINE_WIDTH);
    else
        NAME(walk_read)(w, g, width, count);
}

/* Takes a group from one level to the next; `below` is what lies under the level, `stride` its step in bytes, a power
 * of two (64: nodes or units, 8: leaf pointers). */
ALWAYS_INLINE void NAME(walk_level)(NAME(walk_group) * group, uint32_t width, bool digest, const char *level,
                                    const char *below, uint32_t stride, bool far)
{
#pragma GCC unroll 4
    for (uint32_t i = 0; i < width; i++) {
        const char *node = level + (uint64_t)group->node[i] * 64;
        uint32_t child;
        if (digest)
            child =
                group->node[i] * (DIGEST_SEPARATORS + 1) + count_less_u32(node, group->digest[i], DIGEST_SEPARATORS);
        else
            child = group->node[i] * (uint32_t)(FULL_SEPARATORS + 1) + LESS(node, group->q[i], FULL_SEPARATORS);
        group->node[i] = child;
        pipeline_fetch(below + (uint64_t)child * stride, far);
    }
}

/* Asks for the units behind those of the upper bounds of ranges, too: the sum in front of the next entry may lie there. */
ALWAYS_INLINE void NAME(walk_fetch_next)(const NAME(walk_group) * group, uint32_t width, const char *units,
                                         uint32_t stride, bool far)
{
    for (uint32_t i = width / 2; i < width; i++)
        pipeline_fetch(units + (uint64_t)group->node[i] * stride + stride, far);
}

/* --- implicit ----------------------------------------------------------------------------------------------------- */

typedef enum NAME(walk_mode) { NAME(WALK_FIND), NAME(WALK_LOCATE), NAME(WALK_COUNT), NAME(WALK_SUM) } NAME(walk_mode);

typedef struct NAME(walk_output) {
    VALUE *values;
    uint8_t *found;
    uint64_t *out;
    uint64_t *places; /* of the lows of ranges; may be NULL */
} NAME(walk_output);

/* Digests may land before the right unit; the step right is rare. Full separators land exactly. */
ALWAYS_INLINE uint64_t NAME(implicit_step)(const copse_implicit *tree, uint64_t unit, KEY q)
{
    const UNIT *units = tree->units;
    while (units[unit].keys[UNIT_ENTRIES - 1] < q && unit + 1 < tree->unit_count) unit++;
    return unit;
}

ALWAYS_INLINE void NAME(implicit_finish_find)(const copse_implicit *tree, const NAME(walk_group) * group,
                                              uint32_t count, uint64_t at, const NAME(walk_output) * to, bool digest)
{
    const UNIT *units = tree->units;
    for (uint32_t i = 0; i < count; i++) {
        KEY q = group->q[i];
        uint64_t unit = digest ? NAME(implicit_step)(tree, group->node[i], q) : group->node[i];
        uint32_t slot = LESS(units[unit].keys, q, UNIT_ENTRIES);
        slot -= slot == UNIT_ENTRIES; /* greater than all: the compare below fails */
        bool found = (units[unit].keys[slot] == q) & (unit * UNIT_ENTRIES + slot < tree->entries);
        if (to->values) to->values[at + i] = found ? units[unit].values[slot] : 0;
        if (to->found) to->found[at + i] = found;
    }
}

/* Keys of a unit in front of a bound: those < q, or, for an upper bound among unique keys, those <= q. */
ALWAYS_INLINE uint32_t NAME(walk_slot)(const KEY *keys, const copse_walk_input *input, KEY q, bool upper)
{
    if (upper && input->unique) return q == KEY_MAX ? UNIT_ENTRIES : LESS(keys, (KEY)(q + 1), UNIT_ENTRIES);
    return LESS(keys, q, UNIT_ENTRIES);
}

/* The place of a bound. */
ALWAYS_INLINE uint64_t NAME(implicit_place)(const copse_implicit *tree, const copse_walk_input *input, uint64_t unit,
                                            KEY q, bool digest, bool upper)
{
    const UNIT *units = tree->units;
    if (digest) unit = NAME(implicit_step)(tree, unit, q);
    uint64_t place = unit * UNIT_ENTRIES + NAME(walk_slot)(units[unit].keys, input, q, upper);
    if (upper && place > tree->entries) place = tree->entries; /* free places look like largest keys */
    return NAME(walk_wrapped)(input, q, upper) ? tree->entries : place;
}

ALWAYS_INLINE void NAME(implicit_finish_locate)(const copse_implicit *tree, const copse_walk_input *input,
                                                const NAME(walk_group) * group, uint32_t count, uint64_t at,
                                                const NAME(walk_output) * to, bool digest)
{
    for (uint32_t i = 0; i < count; i++)
        to->out[at + i] = NAME(implicit_place)(tree, input, group->node[i], group->q[i], digest, input->upper);
}

/* All ones or all zeros. Whether a range is empty is not to be guessed: a wrong guess waits for memory. */
ALWAYS_INLINE uint64_t NAME(walk_mask)(bool keep)
{
    uint64_t mask = 0 - (uint64_t)keep;
    __asm__("" : "+r"(mask)); /* keeps the compiler from making it a branch again */
    return mask;
}

ALWAYS_INLINE void NAME(implicit_finish_count)(const copse_implicit *tree, const copse_walk_input *input,
                                               const NAME(walk_group) * group, uint32_t half, uint32_t count,
                                               uint64_t at, const NAME(walk_output) * to, bool digest)
{
    for (uint32_t i = 0; i < count; i++) {
        uint64_t low = NAME(implicit_place)(tree, input, group->node[i], group->q[i], digest, false);
        uint64_t high = NAME(implicit_place)(tree, input, group->node[half + i], group->q[half + i], digest, true);
        to->out[at + i] = (high - low) & NAME(walk_mask)(high > low);
        if (to->places) to->places[at + i] = low;
    }
}

/* The sum of all values in front of a bound. The array ends with one more unit, so that the place behind the last entry
 * can be read, too; that it may lie in the next unit is left to the load, not to a branch. */
ALWAYS_INLINE uint64_t NAME(implicit_sum_before)(const copse_implicit *tree, const copse_walk_input *input,
                                                 uint64_t unit, KEY q, bool upper)
{
    const SUM_UNIT *units = tree->sum_units;
    while (units[unit].keys[UNIT_ENTRIES - 1] < q && unit + 1 < tree->unit_count) unit++;
    uint32_t slot = NAME(walk_slot)(units[unit].keys, input, q, upper);
    uint64_t next = slot == UNIT_ENTRIES;
    uint64_t sum = units[unit + next].before[slot - next * UNIT_ENTRIES];
    return NAME(walk_wrapped)(input, q, upper) ? tree->total : sum;
}

ALWAYS_INLINE void NAME(implicit_finish_sum)(const copse_implicit *tree, const copse_walk_input *input,
                                             const NAME(walk_group) * group, uint32_t half, uint32_t count, uint64_t at,
                                             const NAME(walk_output) * to)
{
    const KEY step = !input->unique;
    for (uint32_t i = 0; i < count; i++) {
        KEY low = group->q[i], high = group->q[half + i];
        uint64_t before = NAME(implicit_sum_before)(tree, input, group->node[i], low, false);
        uint64_t sum = NAME(implicit_sum_before)(tree, input, group->node[half + i], high, true) - before;
        to->out[at + i] = sum & NAME(walk_mask)(low <= (KEY)(high - step));
    }
}

ALWAYS_INLINE void NAME(implicit_finish)(const copse_implicit *tree, NAME(walk_state) * w, uint64_t g,
                                         const NAME(walk_output) * to, NAME(walk_mode) mode, uint32_t queries,
                                         bool digest)
{
    const NAME(walk_group) *group = &w->ring[g & w->plan.mask];
    uint32_t count = NAME(walk_count)(w, g, queries);
    uint64_t at = g * queries;
    if (mode == NAME(WALK_FIND))
        NAME(implicit_finish_find)(tree, group, count, w->input->first + at, to, digest);
    else if (mode == NAME(WALK_LOCATE))
        NAME(implicit_finish_locate)(tree, w->input, group, count, at, to, digest);
    else if (mode == NAME(WALK_COUNT))
        NAME(implicit_finish_count)(tree, w->input, group, queries, count, at, to, digest);
    else
        NAME(implicit_finish_sum)(tree, w->input, group, queries, count, at, to);
}

/* Takes group g through stage s: from level to level, then to the unit, then the end. */
ALWAYS_INLINE void NAME(implicit_stage)(const copse_implicit *tree, NAME(walk_state) * w, uint32_t s, uint64_t g,
                                        const NAME(walk_output) * to, NAME(walk_mode) mode, uint32_t width, bool digest)
{
    NAME(walk_group) *group = &w->ring[g & w->plan.mask];
    const copse_levels *levels = &tree->levels;
    const bool sums = mode == NAME(WALK_SUM), ranges = sums || mode == NAME(WALK_COUNT);
    const char *units = sums ? tree->sum_units : tree->units;
    const uint32_t stride = sums ? (uint32_t)sizeof(SUM_UNIT) : 64;
    if (s == 0 && ranges) NAME(walk_enter_ranges)(w, g, width / 2);
    if (s == 0 && !ranges) NAME(walk_enter)(w, g, width);
    if (s == levels->height) {
        NAME(implicit_finish)(tree, w, g, to, mode, ranges ? width / 2 : width, digest);
        return;
    }
    const bool far = w->plan.far[s + 1];
    if (s + 1 < levels->height) {
        NAME(walk_level)(group, width, digest, levels->level[s], levels->level[s + 1], 64, far);
        return;
    }
    NAME(walk_level)(group, width, digest, levels->level[s], units, stride, far);
    if (sums) NAME(walk_fetch_next)(group, width, units, stride, far);
}

ALWAYS_INLINE uint64_t NAME(implicit_walk)(const copse_implicit *tree, NAME(walk_state) * w,
                                           const NAME(walk_output) * to, NAME(walk_mode) mode, uint32_t width,
                                           bool digest)
{
    const bool ranges = mode == NAME(WALK_SUM) || mode == NAME(WALK_COUNT);
    const uint32_t queries = ranges ? width / 2 : width; /* of a group */
    const uint64_t groups = (w->input->n + queries - 1) / queries;
    PIPELINE_RUN(&w->plan, groups, s, g, NAME(implicit_stage)(tree, w, s, g, to, mode, width, digest));
    return w->first_nan;
}

/* Gives the compiler a constant width and kind of separator where it matters. */
ALWAYS_INLINE uint64_t NAME(implicit_run)(const copse_implicit *tree, const copse_walk_input *input,
                                          const NAME(walk_output) * to, NAME(walk_mode) mode)
{
    NAME(walk_state) w;
    w.input = input;
    w.levels = &tree->levels;
    w.first_nan = input->n;
    w.plan.stages = tree->levels.height + 1;
    for (uint32_t s = 0; s < tree->levels.height; s++) w.plan.far[s] = tree->levels.nodes[s] * 64 > PIPELINE_FAR_BYTES;
    w.plan.far[tree->levels.height] = tree->unit_bytes > PIPELINE_FAR_BYTES;
    pipeline_schedule(&w.plan, input->pipeline, input->highs ? input->n * 2 : input->n);
    if (input->highs) w.plan.width = w.plan.width < 2 ? 2 : w.plan.width & ~1u; /* a range takes two places */
    bool constant = w.plan.width == PIPELINE_WIDTH;
    if (KEY_BITS == 64 && tree->levels.digest)
        return constant ? NAME(implicit_walk)(tree, &w, to, mode, PIPELINE_WIDTH, true)
                        : NAME(implicit_walk)(tree, &w, to, mode, w.plan.width, true);
    return constant ? NAME(implicit_walk)(tree, &w, to, mode, PIPELINE_WIDTH, false)
                    : NAME(implicit_walk)(tree, &w, to, mode, w.plan.width, false);
}

static uint64_t NAME(walk_implicit_find)(const copse_implicit *tree, const copse_walk_input *input, void *values,
                                         uint8_t *found)
{
    NAME(walk_output) to = {.values = values, .found = found};
    return NAME(implicit_run)(tree, input, &to, NAME(WALK_FIND));
}

static uint64_t NAME(walk_implicit_locate)(const copse_implicit *tree, const copse_walk_input *input, uint64_t *out)
{
    NAME(walk_output) to = {.out = out};
    return NAME(implicit_run)(tree, input, &to, NAME(WALK_LOCATE));
}

static uint64_t NAME(walk_implicit_count)(const copse_implicit *tree, const copse_walk_input *input, uint64_t *places,
                                          uint64_t *out)
{
    NAME(walk_output) to = {.out = out, .places = places};
    return NAME(implicit_run)(tree, input, &to, NAME(WALK_COUNT));
}

static uint64_t NAME(walk_implicit_sum)(const copse_implicit *tree, const copse_walk_input *input, uint64_t *out)
{
    NAME(walk_output) to = {.out = out};
    return NAME(implicit_run)(tree, input, &to, NAME(WALK_SUM));
}

/* --- regular ------------------------------------------------------------------------------------------------------ */

/* From the slot to the leaf: asks for the head. */
ALWAYS_INLINE void NAME(regular_leaf)(const copse_regular *tree, NAME(walk_group) * group, uint32_t width)
{
    for (uint32_t i = 0; i < width; i++) {
        const char *leaf = tree->table.leaf[group->node[i]];
        group->leaf[i] = leaf;
        pipeline_fetch(leaf, true);
    }
}

/* From the head to the unit. */
ALWAYS_INLINE void NAME(regular_head)(NAME(walk_group) * group, uint32_t width)
{
#pragma GCC unroll 4
    for (uint32_t i = 0; i < width; i++) {
        const copse_leaf_head *head = (const copse_leaf_head *)group->leaf[i];
#if KEY_BITS == 64
        uint32_t digest = copse_digest(group->q[i], head->base_shift & ~UINT64_C(63), head->base_shift & 63);
#else
        uint32_t digest = group->q[i];
#endif
        group->unit[i] = count_less_u32(head->digest, digest, COPSE_LEAF_UNITS - 1);
        pipeline_fetch(group->leaf[i] + 64 + (uint64_t)group->unit[i] * 64, true);
    }
}

/* Position in the leaf of the first key >= q; the number of entries where there is none. */
ALWAYS_INLINE uint32_t NAME(regular_position)(const char *leaf, uint32_t unit, KEY q)
{
    const UNIT *units = (const UNIT *)(leaf + 64);
    if (KEY_BITS == 64) /* digests may be equal */
        while (units[unit].keys[UNIT_ENTRIES - 1] < q && unit + 1 < COPSE_LEAF_UNITS) unit++;
    return unit * UNIT_ENTRIES + LESS(units[unit].keys, q, UNIT_ENTRIES);
}

ALWAYS_INLINE void NAME(regular_finish_find)(const copse_regular *tree, const NAME(walk_group) * group, uint32_t count,
                                             uint64_t at, const NAME(walk_output) * to)
{
    for (uint32_t i = 0; i < count; i++) {
        KEY q = group->q[i];
        const UNIT *units = (const UNIT *)(group->leaf[i] + 64);
        uint32_t position = NAME(regular_position)(group->leaf[i], group->unit[i], q);
        position -= position == COPSE_LEAF_UNITS * UNIT_ENTRIES;
        const UNIT *unit = &units[position / UNIT_ENTRIES];
        bool found = unit->keys[position % UNIT_ENTRIES] == q;
        /* Free places hold the largest key: only for that one the count has to be asked. */
        if (__builtin_expect(q == KEY_MAX, 0)) found = found && position < tree->table.count[group->node[i]];
        if (to->values) to->values[at + i] = found ? unit->values[position % UNIT_ENTRIES] : 0;
        if (to->found) to->found[at + i] = found;
    }
}

ALWAYS_INLINE void NAME(regular_finish_locate)(const copse_regular *tree, const copse_walk_input *input,
                                               const NAME(walk_group) * group, uint32_t count, uint64_t at,
                                               const NAME(walk_output) * to)
{
    for (uint32_t i = 0; i < count; i++) {
        KEY q = group->q[i];
        const UNIT *units = (const UNIT *)(group->leaf[i] + 64);
        uint32_t position = NAME(regular_position)(group->leaf[i], group->unit[i], q);
        if (input->upper && input->unique) {
            uint32_t entry = position - (position == COPSE_LEAF_UNITS * UNIT_ENTRIES);
            bool equal = units[entry / UNIT_ENTRIES].keys[entry % UNIT_ENTRIES] == q;
            if (__builtin_expect(q == KEY_MAX, 0)) equal = equal && position < tree->table.count[group->node[i]];
            position += equal;
        }
        uint64_t place = ((uint64_t)group->node[i] << COPSE_PLACE_SHIFT) + position;
        if (NAME(walk_wrapped)(input, q, input->upper)) place = tree->table.slots << COPSE_PLACE_SHIFT;
        to->out[at + i] = place;
    }
}

/* Takes group g through stage s: from level to level, then to the slot, the leaf, its unit, the end. */
ALWAYS_INLINE void NAME(regular_stage)(const copse_regular *tree, NAME(walk_state) * w, uint32_t s, uint64_t g,
                                       const NAME(walk_output) * to, NAME(walk_mode) mode, uint32_t width)
{
    NAME(walk_group) *group = &w->ring[g & w->plan.mask];
    const copse_levels *levels = &tree->table.levels;
    const uint32_t height = levels->height, count = NAME(walk_count)(w, g, width);
    if (s == 0) NAME(walk_enter)(w, g, width);
    if (s + 1 < height)
        NAME(walk_level)(group, width, false, levels->level[s], levels->level[s + 1], 64, w->plan.far[s + 1]);
    else if (s < height)
        NAME(walk_level)
    (group, width, false, levels->level[s], (const char *)tree->table.leaf, sizeof(char *), w->plan.far[s + 1]);
    else if (s == height) NAME(regular_leaf)(tree, group, width);
    else if (s == height + 1) NAME(regular_head)(group, width);
    else if (mode == NAME(WALK_FIND)) NAME(regular_finish_find)(tree, group, count, w->input->first + g * width, to);
    else NAME(regular_finish_locate)(tree, w->input, group, count, g * width, to);
}

ALWAYS_INLINE uint64_t NAME(regular_walk)(const copse_regular *tree, NAME(walk_state) * w, const NAME(walk_output) * to,
                                          NAME(walk_mode) mode, uint32_t width)
{
    const uint64_t groups = (w->input->n + width - 1) / width;
    PIPELINE_RUN(&w->plan, groups, s, g, NAME(regular_stage)(tree, w, s, g, to, mode, width));
    return w->first_nan;
}

ALWAYS_INLINE uint64_t NAME(regular_run)(const copse_regular *tree, const copse_walk_input *input,
                                         const NAME(walk_output) * to, NAME(walk_mode) mode)
{
    const copse_levels *levels = &tree->table.levels;
    NAME(walk_state) w;
    w.input = input;
    w.levels = levels;
    w.first_nan = input->n;
    w.plan.stages = levels->height + 3;
    for (uint32_t s = 0; s < levels->height; s++) w.plan.far[s] = levels->nodes[s] * 64 > PIPELINE_FAR_BYTES;
    bool far = tree->leaves * COPSE_LEAF_BYTES > PIPELINE_FAR_BYTES;
    w.plan.far[levels->height] = tree->table.slots * sizeof(char *) > PIPELINE_FAR_BYTES;
    w.plan.far[levels->height + 1] = far;
    w.plan.far[levels->height + 2] = far;
    pipeline_schedule(&w.plan, input->pipeline, input->n);
    if (w.plan.width == PIPELINE_WIDTH) return NAME(regular_walk)(tree, &w, to, mode, PIPELINE_WIDTH);
    return NAME(regular_walk)(tree, &w, to, mode, w.plan.width);
}

static uint64_t NAME(walk_regular_find)(const copse_regular *tree, const copse_walk_input *input, void *values,
                                        uint8_t *found)
{
    NAME(walk_output) to = {.values = values, .found = found};
    return NAME(regular_run)(tree, input, &to, NAME(WALK_FIND));
}

static uint64_t NAME(walk_regular_locate)(const copse_regular *tree, const copse_walk_input *input, uint64_t *out)
{
    NAME(walk_output) to = {.out = out};
    return NAME(regular_run)(tree, input, &to, NAME(WALK_LOCATE));
}

#undef LESS
#undef FULL_SEPARATORS
#undef DIGEST_SEPARATORS
#undef ALWAYS_INLINE
