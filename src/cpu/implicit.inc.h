/* Template: the implicit tree for one pair of widths. Layout: implicit.h. Batch walks: walk.inc.h. */

#define FULL_SEPARATORS (64u / sizeof(KEY))

/* --- inner levels ------------------------------------------------------------------------------------------------- */

static inline KEY NAME(implicit_unit_max)(const UNIT *units, uint64_t unit)
{
    return units[unit].keys[UNIT_ENTRIES - 1];
}

/* Digests pay as long as few queries have to step right. Looks at units first .. last; returns the sum of the steps
 * that lookups of their largest keys would make, or a huge number where one would make too many. */
static uint64_t NAME(implicit_digest_steps)(const UNIT *units, const copse_levels *levels, uint64_t first,
                                            uint64_t last)
{
    uint64_t run = 0, steps = 0;
    uint32_t before = 0;
    uint64_t back = first > DIGEST_LONGEST_RUN ? first - DIGEST_LONGEST_RUN : 0;
    for (uint64_t u = back; u < last; u++) {
        uint32_t digest = copse_digest(NAME(implicit_unit_max)(units, u), levels->base, levels->shift);
        run = u > back && digest == before ? run + 1 : 0;
        if (run >= DIGEST_LONGEST_RUN) return UINT64_MAX / 1024;
        if (u >= first) steps += run;
        before = digest;
    }
    return steps;
}

/* Chooses between full separators and digests, and the digests' base and shift. */
static void NAME(implicit_choose_separators)(const copse_implicit *tree, uint32_t threads, copse_levels *levels)
{
    levels->digest = false;
    if (KEY_BITS == 32 || tree->unit_count < 2) return; /* 32-bit separators are as small as digests */
    const UNIT *units = tree->units;
    KEY low = NAME(unit_key)(units, 0), high = NAME(unit_key)(units, tree->entries - 1);
    unsigned bits = high > low ? 64u - (unsigned)__builtin_clzll((unsigned long long)(high - low)) : 1;
    levels->base = low;
    levels->shift = bits > 32 ? bits - 32 : 0;
    uint64_t steps = 0, parts = threads * 4;
#pragma omp parallel for num_threads(threads) reduction(+ : steps)
    for (uint64_t part = 0; part < parts; part++)
        steps += NAME(implicit_digest_steps)(units, levels, tree->unit_count * part / parts,
                                             tree->unit_count * (part + 1) / parts);
    levels->digest = steps <= tree->unit_count / 8;
}

/* Separator j of a node whose child j covers `span` units: the largest key of the child, the maximum where no child
 * follows. */
static inline KEY NAME(implicit_separator)(const copse_implicit *tree, uint64_t child, uint64_t children, uint64_t span)
{
    return child + 1 < children ? NAME(implicit_unit_max)(tree->units, (child + 1) * span - 1) : KEY_MAX;
}

static void NAME(implicit_fill_node)(const copse_implicit *tree, const copse_levels *levels, uint32_t level,
                                     uint64_t node, uint64_t children, uint64_t span)
{
    char *line = levels->level[level] + node * 64;
    uint32_t separators = levels->digest ? 16 : FULL_SEPARATORS;
    for (uint32_t j = 0; j < separators; j++) {
        uint64_t child = node * (separators + 1) + j;
        KEY separator = NAME(implicit_separator)(tree, child, children, span);
        if (!levels->digest)
            ((KEY *)line)[j] = separator;
        else
            ((uint32_t *)line)[j] =
                child + 1 < children ? copse_digest(separator, levels->base, levels->shift) : UINT32_MAX;
    }
}

/* Sizes of the levels over `children` units, root first. */
static void NAME(implicit_plan_levels)(copse_levels *levels, uint64_t children)
{
    uint64_t sizes[COPSE_LEVELS_MOST], fanout = levels->digest ? 17 : FULL_SEPARATORS + 1;
    uint32_t height = 0;
    for (uint64_t n = children; n > 1; n = sizes[height - 1]) sizes[height++] = (n + fanout - 1) / fanout;
    levels->height = height;
    levels->bytes = 0;
    for (uint32_t l = 0; l < height; l++) {
        levels->nodes[l] = sizes[height - 1 - l];
        levels->bytes += levels->nodes[l] * 64;
    }
}

static copse_status NAME(implicit_build_levels)(const copse_ctx *ctx, copse_implicit *tree, uint32_t threads)
{
    copse_levels *levels = &tree->levels;
    NAME(implicit_choose_separators)(tree, threads, levels);
    NAME(implicit_plan_levels)(levels, tree->unit_count);
    if (levels->height == 0) return COPSE_OK;
    levels->memory = copse_memory_alloc(ctx, levels->bytes);
    if (!levels->memory) return copse_fail_memory(ctx, levels->bytes, "the inner levels of the implicit tree");
    char *at = levels->memory;
    for (uint32_t l = 0; l < levels->height; l++) {
        levels->level[l] = at;
        at += levels->nodes[l] * 64;
    }
    uint64_t span = 1, fanout = levels->digest ? 17 : FULL_SEPARATORS + 1;
    for (uint32_t l = levels->height; l-- > 0; span *= fanout) {
        uint64_t children = l + 1 < levels->height ? levels->nodes[l + 1] : tree->unit_count;
        uint32_t team = levels->nodes[l] < 4096 ? 1 : threads;
#pragma omp parallel for num_threads(team)
        for (uint64_t node = 0; node < levels->nodes[l]; node++)
            NAME(implicit_fill_node)(tree, levels, l, node, children, span);
    }
    return COPSE_OK;
}

/* --- life --------------------------------------------------------------------------------------------------------- */

/* Memory for a tree of n entries, its units not yet filled. */
static copse_status NAME(implicit_make)(const copse_ctx *ctx, uint64_t n, copse_implicit **out)
{
    copse_implicit *tree = copse_memory_alloc(ctx, sizeof *tree);
    if (!tree) return copse_fail_memory(ctx, sizeof *tree, "the implicit tree");
    memset(tree, 0, sizeof *tree);
    tree->entries = n;
    tree->unit_count = n / UNIT_ENTRIES + (n % UNIT_ENTRIES != 0);
    tree->unit_bytes = copse_memory_product(tree->unit_count, sizeof(UNIT));
    copse_status status = COPSE_OK;
    if (tree->unit_count > UINT32_MAX)
        status = copse_fail(ctx, COPSE_ERR_UNSUPPORTED, "n is %llu: the implicit tree holds at most %llu entries",
                            (unsigned long long)n, (unsigned long long)UINT32_MAX * UNIT_ENTRIES);
    else if (n && !(tree->units = copse_memory_alloc(ctx, tree->unit_bytes)))
        status = copse_fail_memory(ctx, tree->unit_bytes, "the leaves of the implicit tree");
    if (status != COPSE_OK) {
        copse_memory_free(ctx, tree, sizeof *tree);
        return status;
    }
    pthread_mutex_init(&tree->lock, NULL);
    *out = tree;
    return COPSE_OK;
}

static copse_status NAME(implicit_create)(copse_index *index)
{
    copse_implicit *tree = NULL;
    copse_status status = NAME(implicit_make)(index->ctx, 0, &tree);
    index->tree = tree;
    return status;
}

static void NAME(implicit_fill)(const copse_batch *batch, UNIT *units, uint64_t first, uint64_t last)
{
    enum { BLOCK = 16 };
    KEY keys[BLOCK * UNIT_ENTRIES];
    VALUE values[BLOCK * UNIT_ENTRIES];
    for (uint64_t u = first; u < last; u += BLOCK) {
        uint64_t at = u * UNIT_ENTRIES, end = (last < u + BLOCK ? last : u + BLOCK) * UNIT_ENTRIES;
        uint32_t n = (uint32_t)((end < batch->n ? end : batch->n) - at);
        NAME(copse_batch_read)(batch, at, n, keys, values);
        for (uint32_t i = 0; i < n / UNIT_ENTRIES; i++) {
            memcpy(units[u + i].keys, keys + i * UNIT_ENTRIES, sizeof units->keys);
            memcpy(units[u + i].values, values + i * UNIT_ENTRIES, sizeof units->values);
        }
        for (uint32_t i = n - n % UNIT_ENTRIES; i < n; i++) {
            units[u + i / UNIT_ENTRIES].keys[i % UNIT_ENTRIES] = keys[i];
            units[u + i / UNIT_ENTRIES].values[i % UNIT_ENTRIES] = values[i];
        }
    }
}

/* Puts a finished tree in the place of the old one; from here on nothing can fail. */
static void NAME(implicit_replace)(copse_index *index, copse_implicit *tree)
{
    implicit_free(index->ctx, index->tree);
    index->tree = tree;
}

static copse_status NAME(implicit_build)(copse_index *index, const copse_batch *batch)
{
    const copse_ctx *ctx = index->ctx;
    copse_implicit *tree;
    uint32_t threads = copse_threads_for(ctx, batch->n);
    copse_status status = NAME(implicit_make)(ctx, batch->n, &tree);
    if (status != COPSE_OK) return status;
    uint64_t parts = threads == 1 ? 1 : threads * 8;
#pragma omp parallel for num_threads(threads) schedule(static)
    for (uint64_t part = 0; part < parts; part++)
        NAME(implicit_fill)(batch, tree->units, tree->unit_count * part / parts, tree->unit_count * (part + 1) / parts);
    NAME(unit_pad)(tree->units, batch->n);
    status = copse_progress(ctx, "building the inner levels", batch->n, batch->n);
    if (status == COPSE_OK) status = NAME(implicit_build_levels)(ctx, tree, threads);
    if (status == COPSE_OK)
        NAME(implicit_replace)(index, tree);
    else
        implicit_free(ctx, tree);
    return status;
}

/* --- updates: merge into a new tree ------------------------------------------------------------------------------- */

typedef struct NAME(implicit_part) {
    uint64_t pair, old;  /* where the part begins in the batch and in the tree */
    uint64_t out, count; /* where it begins in the new tree, and its size      */
} NAME(implicit_part);

/* Cuts batch and tree into `parts` at the same keys; part[parts] is the end. Equal batch keys stay together. */
static void NAME(implicit_cut)(const copse_implicit *tree, const copse_batch *batch, NAME(implicit_part) * part,
                               uint64_t parts)
{
    const NAME(copse_pair) *pairs = batch->pairs;
    part[0] = (NAME(implicit_part)){0, 0, 0, 0};
    for (uint64_t p = 1; p < parts; p++) {
        uint64_t at = batch->n * p / parts;
        if (at < part[p - 1].pair) at = part[p - 1].pair;
        while (at > 0 && at < batch->n && pairs[at].key == pairs[at - 1].key) at++;
        uint64_t old = tree->entries;
        if (at < batch->n) old = NAME(merge_seek)(tree->units, part[p - 1].old, tree->entries, pairs[at].key);
        part[p] = (NAME(implicit_part)){at, old, 0, 0};
    }
    part[parts] = (NAME(implicit_part)){batch->n, tree->entries, 0, 0};
}

static copse_status NAME(implicit_merge_parts)(copse_index *index, const copse_batch *batch, merge_kind kind,
                                               NAME(implicit_part) * part, uint64_t parts, uint32_t threads)
{
    const copse_ctx *ctx = index->ctx;
    const copse_implicit *old = index->tree;
    const NAME(copse_pair) *pairs = batch->pairs;
    NAME(implicit_cut)(old, batch, part, parts);
#pragma omp parallel for num_threads(threads) schedule(dynamic, 1)
    for (uint64_t p = 0; p < parts; p++) {
        uint64_t fresh;
        part[p].count = NAME(merge_count)(old->units, part[p].old, part[p + 1].old, pairs + part[p].pair,
                                          part[p + 1].pair - part[p].pair, kind, &fresh);
    }
    uint64_t total = 0;
    for (uint64_t p = 0; p < parts; p++) {
        part[p].out = total;
        total += part[p].count;
    }
    copse_implicit *tree;
    copse_status status = NAME(implicit_make)(ctx, total, &tree);
    if (status != COPSE_OK) return status;
#pragma omp parallel for num_threads(threads) schedule(dynamic, 1)
    for (uint64_t p = 0; p < parts; p++) {
        if (part[p].count == 0) continue;
        NAME(merge_sink) sink = {.at = NAME(cursor_at)(tree->units, part[p].out), .room = part[p].count};
        NAME(merge_write)
        (old->units, part[p].old, part[p + 1].old, pairs + part[p].pair, part[p + 1].pair - part[p].pair, kind, &sink);
    }
    if (total) NAME(unit_pad)(tree->units, total);
    status = copse_progress(ctx, "rebuilding the inner levels", total, total);
    if (status == COPSE_OK) status = NAME(implicit_build_levels)(ctx, tree, threads);
    if (status == COPSE_OK)
        NAME(implicit_replace)(index, tree);
    else
        implicit_free(ctx, tree);
    return status;
}

static copse_status NAME(implicit_merge)(copse_index *index, const copse_batch *batch, merge_kind kind)
{
    const copse_implicit *old = index->tree;
    uint32_t threads = copse_threads_for(index->ctx, batch->n + old->entries);
    uint64_t parts = threads == 1 ? 1 : threads * 8;
    size_t bytes = (parts + 1) * sizeof(NAME(implicit_part));
    NAME(implicit_part) *part = copse_memory_alloc(index->ctx, bytes);
    if (!part) return copse_fail_memory(index->ctx, bytes, "the update");
    copse_status status = NAME(implicit_merge_parts)(index, batch, kind, part, parts, threads);
    copse_memory_free(index->ctx, part, bytes);
    return status;
}

static copse_status NAME(implicit_insert)(copse_index *index, const copse_batch *batch, uint32_t flags,
                                          uint64_t *out_inserted)
{
    uint64_t before = ((copse_implicit *)index->tree)->entries;
    copse_status status =
        before ? NAME(implicit_merge)(index, batch, merge_kind_of(index, flags)) : NAME(implicit_build)(index, batch);
    if (status == COPSE_OK) *out_inserted = ((copse_implicit *)index->tree)->entries - before;
    return status;
}

static copse_status NAME(implicit_erase)(copse_index *index, const copse_batch *batch, uint64_t *out_erased)
{
    uint64_t before = ((copse_implicit *)index->tree)->entries;
    if (before == 0) return COPSE_OK;
    copse_status status = NAME(implicit_merge)(index, batch, MERGE_ERASE);
    if (status == COPSE_OK) *out_erased = before - ((copse_implicit *)index->tree)->entries;
    return status;
}

/* --- reads -------------------------------------------------------------------------------------------------------- */

static inline copse_walk_input NAME(implicit_input)(const copse_index *index, const void *keys, uint64_t first,
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

#define WALK_TABLE(index) (&(index)->ctx->walk->table[copse_width_pair(sizeof(KEY), sizeof(VALUE))])

static uint64_t NAME(implicit_find)(const copse_index *index, const void *keys, uint64_t first, uint64_t n,
                                    void *values, uint8_t *found)
{
    copse_walk_input input = NAME(implicit_input)(index, keys, first, n, false);
    return WALK_TABLE(index)->implicit_find(index->tree, &input, values, found);
}

static uint64_t NAME(implicit_locate)(const copse_index *index, const void *keys, uint64_t first, uint64_t n,
                                      bool upper, uint64_t *places)
{
    copse_walk_input input = NAME(implicit_input)(index, keys, first, n, upper);
    return WALK_TABLE(index)->implicit_locate(index->tree, &input, places);
}

static uint64_t NAME(implicit_count)(const copse_index *index, const void *lows, const void *highs, uint64_t first,
                                     uint64_t n, uint64_t *counts)
{
    copse_walk_input input = NAME(implicit_input)(index, lows, first, n, false);
    input.highs = highs;
    return WALK_TABLE(index)->implicit_count(index->tree, &input, counts);
}

static uint64_t NAME(implicit_sum)(const copse_index *index, const void *lows, const void *highs, uint64_t first,
                                   uint64_t n, uint64_t *sums)
{
    copse_walk_input input = NAME(implicit_input)(index, lows, first, n, false);
    input.highs = highs;
    return WALK_TABLE(index)->implicit_sum(index->tree, &input, sums);
}

static void NAME(implicit_gather)(const copse_index *index, const uint64_t *places, uint64_t first, uint64_t n,
                                  bool before, void *keys, void *values, uint8_t *found)
{
    const copse_implicit *tree = index->tree;
    const UNIT *units = tree->units;
    for (uint64_t i = 0; i < n; i++) {
        uint64_t place = places[i] - before; /* wraps to a huge number in front of the first entry */
        bool there = place < tree->entries;
        if (found) found[first + i] = there;
        if (there)
            NAME(unit_copy)(units, place, 1, index->key_type, first + i, keys, values);
        else {
            if (keys) ((KEY *)keys)[first + i] = 0;
            if (values) ((VALUE *)values)[first + i] = 0;
        }
    }
}

static void NAME(implicit_copy)(const copse_index *index, uint64_t place, uint64_t count, uint64_t at, void *keys,
                                void *values)
{
    const copse_implicit *tree = index->tree;
    NAME(unit_copy)(tree->units, place, count, index->key_type, at, keys, values);
}

static void NAME(implicit_fetch)(const copse_index *index, uint64_t place, uint64_t count)
{
    const copse_implicit *tree = index->tree;
    const UNIT *unit = (const UNIT *)tree->units + place / UNIT_ENTRIES;
    uint64_t lines = count / UNIT_ENTRIES + 1;
    for (uint64_t i = 0; i < (lines < COPSE_FETCH_LINES ? lines : COPSE_FETCH_LINES); i++)
        __builtin_prefetch(unit + i, 0, 2);
}

/* --- aggregates --------------------------------------------------------------------------------------------------- */

static inline uint32_t NAME(implicit_unit_used)(const copse_implicit *tree, uint64_t unit)
{
    uint64_t left = tree->entries - unit * UNIT_ENTRIES;
    return left < UNIT_ENTRIES ? (uint32_t)left : UNIT_ENTRIES;
}

static void NAME(implicit_make_summary)(const copse_index *index, copse_implicit *tree)
{
    const UNIT *units = tree->units;
    uint64_t blocks = (tree->unit_count + COPSE_IMPLICIT_BLOCK_UNITS - 1) / COPSE_IMPLICIT_BLOCK_UNITS;
    uint32_t threads = copse_threads_for(index->ctx, tree->entries);
    if (!blocks || !copse_summary_create(index->ctx, blocks, &tree->summary)) return;
#pragma omp parallel for num_threads(threads)
    for (uint64_t b = 0; b < blocks; b++) {
        copse_aggregate all = COPSE_AGGREGATE_EMPTY;
        uint64_t first = b * COPSE_IMPLICIT_BLOCK_UNITS, last = first + COPSE_IMPLICIT_BLOCK_UNITS;
        for (uint64_t u = first; u < last && u < tree->unit_count; u++)
            copse_aggregate_add(&all, index->value_type, units[u].values, NAME(implicit_unit_used)(tree, u));
        tree->summary.level[0][b] = all;
    }
    copse_summary_raise(&tree->summary, 0, blocks - 1, threads);
    tree->has_summary = true;
}

static inline uint64_t NAME(implicit_extend)(copse_type type, VALUE value)
{
    return type == COPSE_I32 ? (uint64_t)(int64_t)(int32_t)value : (uint64_t)value;
}

/* Differences modulo 2^64 are exact as long as no range can sum to more than 64 bits hold. */
static bool NAME(implicit_sums_fit)(const copse_implicit *tree, copse_type type)
{
    const copse_summary *s = &tree->summary;
    copse_aggregate all = COPSE_AGGREGATE_EMPTY;
    copse_summary_range(s, 0, s->items, &all);
    if (type == COPSE_U32 || type == COPSE_U64) return all.sum <= (copse_wide)UINT64_MAX;
    /* Signed: bound the sum of magnitudes by count times the largest magnitude, from the two extremes. */
    uint64_t half = sizeof(VALUE) == 4 ? UINT64_C(1) << 31 : UINT64_C(1) << 63;
    copse_wide low = (copse_wide)all.smallest - (copse_wide)half, high = (copse_wide)all.largest - (copse_wide)half;
    copse_wide most = -low > high ? -low : high;
    return most <= 0 || (copse_wide)tree->entries <= (copse_wide)INT64_MAX / most;
}

static void NAME(implicit_fill_sums)(const copse_index *index, const copse_implicit *tree, SUM_UNIT *out,
                                     uint64_t first, uint64_t last, uint64_t sum)
{
    const UNIT *units = tree->units;
    for (uint64_t u = first; u < last; u++) {
        uint32_t used = NAME(implicit_unit_used)(tree, u);
        for (uint32_t i = 0; i < UNIT_ENTRIES; i++) {
            out[u].keys[i] = units[u].keys[i];
            out[u].before[i] = sum;
            if (i < used) sum += NAME(implicit_extend)(index->value_type, units[u].values[i]);
        }
    }
}

static void NAME(implicit_make_sums)(const copse_index *index, copse_implicit *tree)
{
    if (!tree->has_summary || copse_type_is_float(index->value_type)) return;
    if (!NAME(implicit_sums_fit)(tree, index->value_type)) return;
    size_t bytes = copse_memory_product(tree->unit_count + 1, sizeof(SUM_UNIT)); /* and one for the end */
    SUM_UNIT *out = copse_memory_alloc(index->ctx, bytes);
    if (!out) return;
    /* Parts begin at blocks of the summary, which knows the sum in front of them. */
    uint64_t blocks = tree->summary.items, parts = blocks < 64 ? 1 : 64;
    uint32_t threads = copse_threads_for(index->ctx, tree->entries);
#pragma omp parallel for num_threads(threads)
    for (uint64_t p = 0; p < parts; p++) {
        uint64_t first = blocks * p / parts, last = blocks * (p + 1) / parts;
        copse_aggregate before = COPSE_AGGREGATE_EMPTY;
        copse_summary_range(&tree->summary, 0, first, &before);
        uint64_t end = last * COPSE_IMPLICIT_BLOCK_UNITS;
        NAME(implicit_fill_sums)
        (index, tree, out, first * COPSE_IMPLICIT_BLOCK_UNITS, end < tree->unit_count ? end : tree->unit_count,
         (uint64_t)before.sum);
    }
    copse_aggregate all = COPSE_AGGREGATE_EMPTY;
    copse_summary_range(&tree->summary, 0, blocks, &all);
    tree->total = (uint64_t)all.sum;
    for (uint32_t i = 0; i < UNIT_ENTRIES; i++) out[tree->unit_count].before[i] = tree->total;
    tree->sum_bytes = bytes;
    tree->sum_units = out;
    tree->has_sums = true;
}

/* Readers may come at the same time: the first makes it, the others wait; afterwards the flag alone is read. */
static void NAME(implicit_prepare)(const copse_index *index, bool sums)
{
    copse_implicit *tree = index->tree;
    if (atomic_load_explicit(sums ? &tree->sums_tried : &tree->summary_tried, memory_order_acquire)) return;
    pthread_mutex_lock(&tree->lock);
    if (!atomic_load_explicit(&tree->summary_tried, memory_order_relaxed)) {
        NAME(implicit_make_summary)(index, tree);
        atomic_store_explicit(&tree->summary_tried, true, memory_order_release);
    }
    if (sums && !atomic_load_explicit(&tree->sums_tried, memory_order_relaxed)) {
        NAME(implicit_make_sums)(index, tree);
        atomic_store_explicit(&tree->sums_tried, true, memory_order_release);
    }
    pthread_mutex_unlock(&tree->lock);
}

/* Adds entries place .. end, unit by unit. */
static void NAME(implicit_scan)(const copse_index *index, uint64_t place, uint64_t end, copse_aggregate *to)
{
    const UNIT *units = ((const copse_implicit *)index->tree)->units;
    while (place < end) {
        uint32_t slot = (uint32_t)(place % UNIT_ENTRIES);
        uint32_t n = end - place < UNIT_ENTRIES - slot ? (uint32_t)(end - place) : UNIT_ENTRIES - slot;
        copse_aggregate_add(to, index->value_type, units[place / UNIT_ENTRIES].values + slot, n);
        place += n;
    }
}

static void NAME(implicit_aggregate)(const copse_index *index, uint64_t place, uint64_t end, copse_aggregate *to)
{
    const copse_implicit *tree = index->tree;
    const uint64_t block = COPSE_IMPLICIT_BLOCK_UNITS * UNIT_ENTRIES;
    uint64_t first = (place + block - 1) / block, last = end / block;
    if (!tree->has_summary || first >= last) {
        NAME(implicit_scan)(index, place, end, to);
        return;
    }
    NAME(implicit_scan)(index, place, first * block, to);
    copse_summary_range(&tree->summary, first, last, to);
    NAME(implicit_scan)(index, last * block, end, to);
}

/* --- inspection --------------------------------------------------------------------------------------------------- */

static void NAME(implicit_stats)(const copse_index *index, copse_stats *out)
{
    copse_implicit *tree = index->tree;
    pthread_mutex_lock(&tree->lock); /* an aggregate call may be making the summary */
    out->entries = tree->entries;
    out->aggregate_bytes = tree->summary.bytes + tree->sum_bytes;
    out->bytes = sizeof *tree + tree->unit_bytes + tree->levels.bytes + out->aggregate_bytes;
    out->height = tree->entries ? tree->levels.height + 1 : 0;
    out->fill = tree->entries ? (double)tree->entries / (double)(tree->unit_count * UNIT_ENTRIES) : 0.0;
    pthread_mutex_unlock(&tree->lock);
}

static copse_status NAME(implicit_verify_units)(const copse_index *index, const copse_implicit *tree)
{
    const UNIT *units = tree->units;
    for (uint64_t i = 1; i < tree->entries; i++) {
        KEY before = NAME(unit_key)(units, i - 1), key = NAME(unit_key)(units, i);
        if (key < before || (key == before && !index->duplicates))
            return copse_fail(index->ctx, COPSE_ERR_CORRUPT, "implicit tree: entry %llu is not %s the one before it",
                              (unsigned long long)i, index->duplicates ? "at least" : "greater than");
    }
    for (uint64_t i = tree->entries; i < tree->unit_count * UNIT_ENTRIES; i++)
        if (NAME(unit_key)(units, i) != KEY_MAX)
            return copse_fail(index->ctx, COPSE_ERR_CORRUPT,
                              "implicit tree: free place %llu of the last unit is not padded", (unsigned long long)i);
    return COPSE_OK;
}

static copse_status NAME(implicit_verify_levels)(const copse_index *index, const copse_implicit *tree)
{
    const copse_levels *levels = &tree->levels;
    uint32_t separators = levels->digest ? 16 : FULL_SEPARATORS;
    uint64_t span = 1;
    for (uint32_t l = levels->height; l-- > 0; span *= separators + 1) {
        uint64_t children = l + 1 < levels->height ? levels->nodes[l + 1] : tree->unit_count;
        if (levels->nodes[l] != (children + separators) / (separators + 1))
            return copse_fail(index->ctx, COPSE_ERR_CORRUPT, "implicit tree: level %u has %llu nodes for %llu children",
                              l, (unsigned long long)levels->nodes[l], (unsigned long long)children);
        for (uint64_t c = 0; c < levels->nodes[l] * (separators + 1); c++) {
            uint32_t j = (uint32_t)(c % (separators + 1));
            const char *line = levels->level[l] + c / (separators + 1) * 64;
            if (j == separators) continue;
            KEY want = NAME(implicit_separator)(tree, c, children, span);
            bool right = ((const KEY *)line)[levels->digest ? 0 : j] == want;
            if (levels->digest)
                right = ((const uint32_t *)line)[j] ==
                        (c + 1 < children ? copse_digest(want, levels->base, levels->shift) : UINT32_MAX);
            if (!right)
                return copse_fail(index->ctx, COPSE_ERR_CORRUPT,
                                  "implicit tree: separator %u of node %llu, level %u, is wrong", j,
                                  (unsigned long long)(c / (separators + 1)), l);
        }
    }
    return COPSE_OK;
}

static copse_status NAME(implicit_verify_aggregates)(const copse_index *index, const copse_implicit *tree)
{
    copse_aggregate scanned = COPSE_AGGREGATE_EMPTY, summed = COPSE_AGGREGATE_EMPTY;
    if (!tree->has_summary) return COPSE_OK;
    NAME(implicit_scan)(index, 0, tree->entries, &scanned);
    copse_summary_range(&tree->summary, 0, tree->summary.items, &summed);
    if (scanned.sum != summed.sum || scanned.smallest != summed.smallest || scanned.largest != summed.largest)
        return copse_fail(index->ctx, COPSE_ERR_CORRUPT, "implicit tree: the summary does not agree with the values");
    const SUM_UNIT *sums = tree->sum_units;
    uint64_t sum = 0;
    for (uint64_t i = 0; tree->has_sums && i < tree->entries; i++) {
        const SUM_UNIT *unit = &sums[i / UNIT_ENTRIES];
        const UNIT *plain = (const UNIT *)tree->units + i / UNIT_ENTRIES;
        uint32_t slot = (uint32_t)(i % UNIT_ENTRIES);
        if (unit->keys[slot] != plain->keys[slot] || unit->before[slot] != sum)
            return copse_fail(index->ctx, COPSE_ERR_CORRUPT, "implicit tree: the running sum at entry %llu is wrong",
                              (unsigned long long)i);
        sum += NAME(implicit_extend)(index->value_type, plain->values[slot]);
    }
    return COPSE_OK;
}

static copse_status NAME(implicit_verify)(const copse_index *index)
{
    copse_implicit *tree = index->tree;
    copse_status status = copse_progress(index->ctx, "verifying", 0, tree->entries);
    if (status == COPSE_OK) status = NAME(implicit_verify_units)(index, tree);
    if (status == COPSE_OK) status = NAME(implicit_verify_levels)(index, tree);
    pthread_mutex_lock(&tree->lock);
    if (status == COPSE_OK) status = NAME(implicit_verify_aggregates)(index, tree);
    pthread_mutex_unlock(&tree->lock);
    return status;
}

const copse_operations NAME(copse_implicit_cpu) = {
    .structure = COPSE_STRUCTURE_IMPLICIT,
    .placement = COPSE_PLACEMENT_CPU,
    .create = NAME(implicit_create),
    .destroy = implicit_destroy,
    .build = NAME(implicit_build),
    .insert = NAME(implicit_insert),
    .erase = NAME(implicit_erase),
    .find = NAME(implicit_find),
    .locate = NAME(implicit_locate),
    .rank = implicit_rank,
    .select = implicit_select,
    .gather = NAME(implicit_gather),
    .copy = NAME(implicit_copy),
    .fetch = NAME(implicit_fetch),
    .prepare = NAME(implicit_prepare),
    .count = NAME(implicit_count),
    .has_sum = implicit_has_sum,
    .sum = NAME(implicit_sum),
    .aggregate = NAME(implicit_aggregate),
    .size = implicit_size,
    .stats = NAME(implicit_stats),
    .verify = NAME(implicit_verify),
};

#undef WALK_TABLE
#undef FULL_SEPARATORS
