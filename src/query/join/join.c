/* The call: arguments, the index, pairs. */
#include "query/join/join.h"

#include "core/structs.h"
#include "query/device/placed.h"

/* ---- pairs ---- */

copse_status copse_pairs_reserve(copse_pairs *pairs, uint64_t n)
{
    copse_status status = copse_buffer_reserve(pairs->ctx, &pairs->left, n + 1, sizeof(uint64_t), "pairs of rows");
    if (status == COPSE_OK && pairs->has_right)
        status = copse_buffer_reserve(pairs->ctx, &pairs->right, n + 1, sizeof(uint64_t), "pairs of rows");
    return status;
}

void copse_pairs_add(copse_pairs *pairs, uint64_t left, uint64_t right)
{
    ((uint64_t *)pairs->left.data)[pairs->n] = left;
    if (pairs->has_right) ((uint64_t *)pairs->right.data)[pairs->n] = right;
    pairs->n++;
}

const char *copse_pairs_how(const copse_pairs *pairs)
{
    return pairs && pairs->how ? pairs->how : "";
}

uint64_t copse_pairs_count(const copse_pairs *pairs)
{
    return pairs ? pairs->n : 0;
}

const uint64_t *copse_pairs_left(const copse_pairs *pairs)
{
    return pairs && copse_pairs_fetch(pairs) == COPSE_OK ? pairs->left.data : NULL;
}

const uint64_t *copse_pairs_right(const copse_pairs *pairs)
{
    if (!pairs || !pairs->has_right) return NULL;
    return pairs->left_is_number || copse_pairs_fetch(pairs) == COPSE_OK ? pairs->right.data : NULL;
}

void copse_pairs_free(copse_pairs *pairs)
{
    if (!pairs) return;
    copse_ctx *ctx = pairs->ctx;
    copse_pairs_drop(pairs);
    copse_buffer_free(ctx, &pairs->left);
    copse_buffer_free(ctx, &pairs->right);
    copse_memory_free(ctx, pairs, sizeof *pairs);
    copse_ctx_release(ctx);
}

static copse_status open_pairs(copse_joined *join)
{
    copse_ctx *ctx = join->left->ctx;
    copse_pairs *pairs = copse_memory_alloc(ctx, sizeof *pairs);
    if (!pairs) return copse_no_memory(ctx, sizeof *pairs, "pairs of rows");
    bool one_side = join->options.kind == COPSE_JOIN_SEMI || join->options.kind == COPSE_JOIN_ANTI;
    *pairs = (copse_pairs){.ctx = ctx, .has_right = !one_side};
    copse_ctx_hold(ctx);
    join->pairs = pairs;
    return copse_pairs_reserve(pairs, 0);
}

/* ---- arguments ---- */

static copse_status match(const copse_joined *join, const char *left, const char *right, uint32_t *out_left,
                          uint32_t *out_right)
{
    copse_status status = copse_table_column(join->left, "copse_join: left", left, out_left);
    if (status == COPSE_OK) status = copse_table_column(join->right, "copse_join: right", right, out_right);
    if (status != COPSE_OK) return status;
    uint32_t a = join->left->columns[*out_left].type, b = join->right->columns[*out_right].type;
    if (a == b) return COPSE_OK;
    return copse_fail(join->left->ctx, COPSE_ERR_TYPE,
                      "copse_join: \"%.40s\" is %s, but \"%.40s\" is %s; columns that are joined have one type", left,
                      copse_column_type_name(a), right, copse_column_type_name(b));
}

static copse_status resolve(copse_joined *join)
{
    const copse_join_options *options = &join->options;
    if (options->kind > COPSE_JOIN_BAND)
        return copse_fail_argument(join->left->ctx, "options", "copse_join: there is no kind %u", options->kind);
    copse_status status = match(join, options->left_on, options->right_on, &join->left_on, &join->right_on);
    join->left_by = join->right_by = COPSE_NO_COLUMN;
    if (status != COPSE_OK || (!options->left_by && !options->right_by)) return status;
    if (options->kind != COPSE_JOIN_ASOF)
        return copse_fail_argument(join->left->ctx, "options", "copse_join: only as-of joins have groups (left_by)");
    return match(join, options->left_by, options->right_by, &join->left_by, &join->right_by);
}

/* ---- the index ---- */

static copse_status make_index(const copse_joined *join, copse_stored_index *out)
{
    const copse_table *right = join->right;
    const copse_stored_column *column = &right->columns[join->right_on];
    copse_index_options options = COPSE_INDEX_OPTIONS_INIT;
    copse_key_batch batch = {0};
    copse_buffer rows = {0};
    *out = (copse_stored_index){.columns = {join->right_on}, .column_count = 1, .sums = COPSE_NO_COLUMN};
    options.key_type = copse_key_type(column);
    options.value_type = COPSE_U32;
    options.placement = COPSE_PLACEMENT_CPU;
    options.updates = COPSE_UPDATES_RARE;
    options.duplicates = 1;
    copse_status status = copse_index_create(right->ctx, &options, &out->tree);
    if (status == COPSE_OK)
        status = copse_buffer_reserve(right->ctx, &rows, right->live + 1, sizeof(uint32_t), "the rows of an index");
    if (status == COPSE_OK) {
        const copse_key_source keys = copse_key_source_of(column, rows.data);
        copse_table_live_rows(right, rows.data);
        status = copse_key_batch_fill(right->ctx, &batch, &keys, NULL, rows.data, right->live);
    }
    if (status == COPSE_OK) status = copse_build(out->tree, copse_key_batch_keys(&batch), batch.values.data, batch.n);
    copse_key_batch_free(right->ctx, &batch);
    copse_buffer_free(right->ctx, &rows);
    return status;
}

static copse_status run_with_index(copse_joined *join)
{
    copse_stored_index made = {0};
    copse_status status = COPSE_OK;
    join->index = copse_index_on(join->right, join->right_on, COPSE_NO_COLUMN);
    join->pairs->how = join->index ? "the index of the right side" : "an index made for the join";
    if (!join->index) {
        status = make_index(join, &made);
        join->index = &made;
    }
    if (status == COPSE_OK)
        status = join->options.kind == COPSE_JOIN_BAND ? copse_join_band(join) : copse_join_equal(join);
    join->index = NULL;
    copse_index_free(made.tree);
    return status;
}

static copse_status run_by_order(copse_joined *join, bool on_device)
{
    const bool asof = join->options.kind == COPSE_JOIN_ASOF, band = join->options.kind == COPSE_JOIN_BAND;
    if (on_device) {
        join->pairs->how = asof || band || join->totals ? "binary searches on the device" : "lookups on the device";
        if (asof || band) return asof ? copse_join_asof(join) : copse_join_band(join);
        return join->totals ? copse_card_join_totals(join) : copse_card_join_equal(join);
    }
    join->pairs->how = "a walk along both sides in the order of their keys";
    if (asof) return copse_join_asof(join);
    return copse_join_can_walk(join) ? copse_join_walk(join) : run_with_index(join);
}

copse_status copse_join_list(copse_joined *join, uint64_t first, uint64_t n, const uint64_t *offsets,
                             const uint32_t *rows)
{
    uint32_t kind = join->options.kind;
    bool all = kind == COPSE_JOIN_INNER || kind == COPSE_JOIN_LEFT || kind == COPSE_JOIN_BAND;
    copse_status status = copse_pairs_reserve(join->pairs, join->pairs->n + n + (all ? offsets[n] : 0));
    uint64_t asked = join->pairs->n + COPSE_POLL_ROWS;
    for (uint64_t i = 0; status == COPSE_OK && i < n; i++) {
        if (join->pairs->n >= asked) {
            status = copse_progress(join->pairs->ctx, "joining", first + i, join->left->live);
            asked = join->pairs->n + COPSE_POLL_ROWS;
        }
        uint64_t left = copse_joined_left(join, first + i);
        bool found = offsets[i + 1] > offsets[i];
        for (uint64_t j = offsets[i]; all && j < offsets[i + 1]; j++) copse_pairs_add(join->pairs, left, rows[j]);
        if (found ? kind == COPSE_JOIN_SEMI : kind == COPSE_JOIN_LEFT || kind == COPSE_JOIN_ANTI)
            copse_pairs_add(join->pairs, left, COPSE_NO_ROW);
    }
    return status;
}

/* Which left rows there are, where some were deleted. */
static copse_status list_left_rows(copse_joined *join)
{
    const copse_table *left = join->left;
    if (!left->alive.data) return COPSE_OK;
    copse_status status =
        copse_buffer_reserve(left->ctx, &join->left_rows, left->live + 1, sizeof(uint32_t), "the rows of a join");
    if (status == COPSE_OK) copse_table_live_rows(left, join->left_rows.data);
    return status;
}

copse_status copse_join_begin(const char *call, const copse_table *left, const copse_table *right,
                              const copse_join_options *options, copse_joined *out)
{
    static const copse_wide_member wide[] = {
        COPSE_WIDE(copse_join_options, left_on),   COPSE_WIDE(copse_join_options, right_on),
        COPSE_WIDE(copse_join_options, left_by),   COPSE_WIDE(copse_join_options, right_by),
        COPSE_WIDE(copse_join_options, tolerance), COPSE_WIDE(copse_join_options, below),
        COPSE_WIDE(copse_join_options, above),     {0, 0}};
    *out = (copse_joined){.left = left, .right = right, .options = COPSE_JOIN_OPTIONS_INIT};
    if (copse_table_check(left, "copse_join: left") != COPSE_OK) return COPSE_ERR_ARGUMENT;
    if (copse_table_check(right, "copse_join: right") != COPSE_OK) return COPSE_ERR_ARGUMENT;
    if (!options) return copse_fail_argument(left->ctx, "options", "%s: options is NULL", call);
    copse_status status =
        copse_struct_take(left->ctx, call, "options", options, &out->options, sizeof out->options, wide);
    return status == COPSE_OK ? resolve(out) : status;
}

copse_status copse_join_run(copse_joined *join)
{
    bool done = false;
    const bool on_device = copse_card_can_join(join);
    copse_status status = open_pairs(join);
    if (status == COPSE_OK && !on_device) status = copse_join_direct(join, &done);
    if (status == COPSE_OK && done) join->pairs->how = "an array with a place for each key";
    if (status == COPSE_OK && !done) {
        if (!on_device) status = list_left_rows(join);
        if (status == COPSE_OK) status = run_by_order(join, on_device);
        if (status == COPSE_OK && on_device) status = copse_card_join_drain(join);
        if (status == COPSE_OK && !on_device) copse_join_drain(join, true);
    }
    if (status == COPSE_OK) status = copse_table_sound(join->left);
    return status == COPSE_OK ? copse_table_sound(join->right) : status;
}

void copse_join_end(copse_joined *join)
{
    if (join->left) copse_buffer_free(join->left->ctx, &join->left_rows);
    copse_pairs_free(join->pairs);
    join->pairs = NULL;
}

copse_status copse_join(const copse_table *left, const copse_table *right, const copse_join_options *options,
                        copse_pairs **out_pairs)
{
    copse_joined join;
    if (out_pairs) *out_pairs = NULL;
    copse_status status = copse_join_begin("copse_join", left, right, options, &join);
    if (status == COPSE_OK && !out_pairs)
        status = copse_fail_argument(left->ctx, "out_pairs", "copse_join: out_pairs is NULL");
    if (status == COPSE_OK) status = copse_join_run(&join);
    if (status == COPSE_OK && out_pairs) {
        *out_pairs = join.pairs;
        join.pairs = NULL;
    }
    copse_join_end(&join);
    return status;
}
