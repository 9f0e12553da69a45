/*
 * Views of the B-link and the B+ tree: while nobody writes, every read through a view gives what the index gives, whose answers
 * the differential tester checks. The kernels are different ones: those of a view expect a writer at any moment.
 */
#include "unit.h"
#include "support/ranges.h"

#define KEYS    1500u
#define QUERIES 250u
#define LIMIT   7u

/* An index with chains or branches in it, a view of it, and queries. */
struct pair {
    copse_ctx *ctx, *other;
    copse_index *index, *view;
    copse_type key_type, value_type;
    void *lows, *highs;
};

static uint64_t state;

static uint64_t draw(uint64_t below)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state % below;
}

/* Keys all over the type, in clusters, and at its ends. */
static void draw_keys(copse_type type, void *keys, uint64_t n, uint64_t clusters)
{
    const uint64_t low = typed_lowest_code(type), span = typed_highest_code(type) - low;
    for (uint64_t i = 0; i < n; i++) {
        uint64_t code = low + draw(clusters) * (span / clusters) + draw(KEYS / 4);
        if (draw(100) == 0) code = low + (draw(2) ? span : 0);
        typed_set_code(type, keys, i, code);
    }
}

static void insert_some(struct pair *p, uint64_t n, uint64_t clusters)
{
    void *keys = typed_new(p->key_type, n), *values = typed_new(p->value_type, n);
    draw_keys(p->key_type, keys, n, clusters);
    for (uint64_t i = 0; i < n; i++) typed_set_bits(p->value_type, values, i, draw(1000));
    assert_ok(p->ctx, copse_insert(p->index, keys, values, n, COPSE_INSERT_UPSERT, NULL));
    free(keys);
    free(values);
}

static void erase_some(struct pair *p, uint64_t n, uint64_t clusters)
{
    void *keys = typed_new(p->key_type, n);
    draw_keys(p->key_type, keys, n, clusters);
    assert_ok(p->ctx, copse_erase(p->index, keys, n, NULL));
    free(keys);
}

static void pair_open(struct pair *p, copse_structure structure, copse_type key_type, copse_type value_type,
                      bool duplicates)
{
    const struct unit_tree tree = {structure, COPSE_PLACEMENT_EMULATED};
    *p =
        (struct pair){.ctx = unit_context(1), .other = unit_context(1), .key_type = key_type, .value_type = value_type};
    p->index = unit_index(p->ctx, tree, key_type, value_type, duplicates);
    insert_some(p, KEYS, 3);
    /* Small batches change leaves where they are, so that these get chains and branches, and some leaves get empty. */
    for (unsigned i = 0; i < 12; i++) {
        insert_some(p, 16, 3);
        erase_some(p, 24, 3);
    }
    assert_ok(p->other, copse_index_view(p->index, p->other, &p->view));
    p->lows = typed_new(key_type, QUERIES);
    p->highs = typed_new(key_type, QUERIES);
    draw_keys(key_type, p->lows, QUERIES, 3);
    draw_keys(key_type, p->highs, QUERIES, 3);
    for (uint64_t i = 0; i < QUERIES / 2; i++) { /* half of the ranges are narrow */
        const uint64_t low = typed_code(key_type, p->lows, i), far = typed_highest_code(key_type) - low;
        typed_set_code(key_type, p->highs, i, low + draw(far < 30 ? far + 1 : 30));
    }
}

static void pair_close(struct pair *p)
{
    free(p->lows);
    free(p->highs);
    copse_index_free(p->view);
    copse_index_free(p->index);
    copse_ctx_free(p->other);
    copse_ctx_free(p->ctx);
}

/* --- what is compared ------------------------------------------------------------------------------------------------------ */

/* Results of one handle, all outputs of a call. */
struct results {
    uint64_t numbers[QUERIES + 1];
    char keys[QUERIES * 8], values[QUERIES * 16];
    uint8_t found[QUERIES];
};

static void compare(const struct results *got, const struct results *want)
{
    assert_memory_equal(got->numbers, want->numbers, sizeof got->numbers);
    assert_memory_equal(got->found, want->found, sizeof got->found);
    assert_memory_equal(got->keys, want->keys, sizeof got->keys);
    assert_memory_equal(got->values, want->values, sizeof got->values);
}

static void read_points(const struct pair *p, const copse_ctx *ctx, const copse_index *index, unsigned which,
                        struct results *out)
{
    memset(out, 0, sizeof *out);
    if (which == 0) assert_ok(ctx, copse_find(index, p->lows, QUERIES, out->values, out->found));
    if (which == 1)
        assert_ok(ctx, copse_lower_bound(index, p->lows, QUERIES, out->keys, out->values, out->found, out->numbers));
    if (which == 2) assert_ok(ctx, copse_successor(index, p->lows, QUERIES, out->keys, out->values, out->found));
    if (which == 3) assert_ok(ctx, copse_predecessor(index, p->lows, QUERIES, out->keys, out->values, out->found));
}

static void read_ranges(const struct pair *p, const copse_ctx *ctx, const copse_index *index, unsigned which,
                        struct results *out)
{
    const void *lows = p->lows, *highs = p->highs;
    memset(out, 0, sizeof *out);
    if (which == 0) assert_ok(ctx, copse_count(index, BETWEEN(lows, highs, QUERIES), out->numbers));
    if (which == 1) assert_ok(ctx, copse_sum(index, BETWEEN(lows, highs, QUERIES), out->values));
    if (which == 2)
        assert_ok(ctx, copse_sum128(index, BETWEEN(lows, highs, QUERIES), (copse_int128 *)(void *)out->values));
    if (which == 3) assert_ok(ctx, copse_min(index, BETWEEN(lows, highs, QUERIES), out->values, out->found));
    if (which == 4) assert_ok(ctx, copse_max(index, BETWEEN(lows, highs, QUERIES), out->values, out->found));
    if (which == 5) assert_ok(ctx, copse_avg(index, BETWEEN(lows, highs, QUERIES), (double *)(void *)out->values));
}

static void compare_entries(const struct pair *p, uint64_t n, uint64_t limit)
{
    uint64_t want[QUERIES + 1] = {0}, got[QUERIES + 1] = {0};
    assert_ok(p->ctx, copse_range(p->index, AT_MOST(limit, p->lows, p->highs, n), ROWS(want, NULL, NULL, 0)));
    const uint64_t total = want[n];
    void *keys = typed_new(p->key_type, total), *view_keys = typed_new(p->key_type, total);
    void *values = typed_new(p->value_type, total), *view_values = typed_new(p->value_type, total);
    assert_ok(p->ctx, copse_range(p->index, AT_MOST(limit, p->lows, p->highs, n), ROWS(want, keys, values, total)));
    assert_ok(p->other,
              copse_range(p->view, AT_MOST(limit, p->lows, p->highs, n), ROWS(got, view_keys, view_values, total)));
    assert_memory_equal(got, want, (n + 1) * sizeof *want);
    assert_memory_equal(view_keys, keys, total * typed_size(p->key_type));
    assert_memory_equal(view_values, values, total * typed_size(p->value_type));
    if (total)
        assert_fails_naming(
            p->other, COPSE_ERR_TOO_SMALL, "capacity",
            copse_range(p->view, AT_MOST(limit, p->lows, p->highs, n), ROWS(got, view_keys, NULL, total - 1)));
    free(keys);
    free(values);
    free(view_keys);
    free(view_values);
}

static void compare_all(const struct pair *p)
{
    struct results *got = must_malloc(sizeof *got), *want = must_malloc(sizeof *want);
    for (unsigned which = 0; which < 4; which++) {
        read_points(p, p->ctx, p->index, which, want);
        read_points(p, p->other, p->view, which, got);
        compare(got, want);
    }
    for (unsigned which = 0; which < 6; which++) {
        read_ranges(p, p->ctx, p->index, which, want);
        read_ranges(p, p->other, p->view, which, got);
        compare(got, want);
    }
    compare_entries(p, QUERIES, 0);
    compare_entries(p, QUERIES, LIMIT);
    compare_entries(p, 3, 0);
    compare_entries(p, 0, 0);
    unit_assert_content(p->other, p->view, unit_content_of(p->index));
    free(got);
    free(want);
}

/* --- tests ------------------------------------------------------------------------------------------------------------------ */

static void view_reads_as_the_index(copse_structure structure, bool duplicates)
{
    static const copse_type keys[] = {COPSE_U32, COPSE_U32, COPSE_U64, COPSE_U64, COPSE_F64, COPSE_I32};
    static const copse_type values[] = {COPSE_U32, COPSE_U64, COPSE_U32, COPSE_I64, COPSE_U32, COPSE_I32};
    for (unsigned i = 0; i < COUNT_OF(keys); i++) {
        struct pair p;
        pair_open(&p, structure, keys[i], values[i], duplicates);
        compare_all(&p);
        insert_some(&p, 40, 3); /* the view follows */
        compare_all(&p);
        pair_close(&p);
    }
}

static void single_keys(void **unused)
{
    (void)unused;
    FOR_EACH_TREE_THAT(tree, COPSE_PLACEMENT_EMULATED, COPSE_CAN_VIEW)
    view_reads_as_the_index(tree->structure, false);
}

static void equal_keys(void **unused)
{
    (void)unused;
    FOR_EACH_TREE_THAT(tree, COPSE_PLACEMENT_EMULATED, COPSE_CAN_VIEW)
    if (copse_supports(tree->structure, tree->placement, COPSE_U64, COPSE_CAN_KEEP_DUPLICATES))
        view_reads_as_the_index(tree->structure, true);
}

static void nan_in_front_of_a_view(void **unused)
{
    (void)unused;
    struct pair p;
    uint64_t counts[QUERIES];
    pair_open(&p, COPSE_STRUCTURE_BLINK, COPSE_F64, COPSE_U32, false);
    typed_set_bits(COPSE_F64, p.highs, 17, typed_nan_bits(COPSE_F64));
    assert_fails_naming(p.other, COPSE_ERR_NAN, "highs[17]",
                        copse_count(p.view, BETWEEN(p.lows, p.highs, QUERIES), counts));
    assert_fails_naming(p.other, COPSE_ERR_NAN, "keys[17]",
                        copse_lower_bound(p.view, p.highs, QUERIES, NULL, NULL, NULL, counts));
    /* Where no ranks are asked for, other kernels read. */
    uint8_t found[QUERIES];
    assert_fails_naming(p.other, COPSE_ERR_NAN, "keys[17]", copse_find(p.view, p.highs, QUERIES, NULL, found));
    assert_fails_naming(p.other, COPSE_ERR_NAN, "keys[17]",
                        copse_lower_bound(p.view, p.highs, QUERIES, NULL, NULL, found, NULL));
    assert_fails_naming(p.other, COPSE_ERR_NAN, "keys[17]",
                        copse_successor(p.view, p.highs, QUERIES, NULL, NULL, found));
    assert_fails_naming(p.other, COPSE_ERR_NAN, "keys[17]",
                        copse_predecessor(p.view, p.highs, QUERIES, NULL, NULL, found));
    pair_close(&p);
}

int main(void)
{
    state = 88172645463325252u;
    const struct CMUnitTest tests[] = {cmocka_unit_test(single_keys), cmocka_unit_test(equal_keys),
                                       cmocka_unit_test(nan_in_front_of_a_view)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
