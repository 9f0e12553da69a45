/* The registry: every tree describes itself completely, and does what its capabilities say, no more and no less. */
#include "unit.h"

#include "trees/registry.h"

static const copse_placement placements[] = {COPSE_PLACEMENT_CPU, COPSE_PLACEMENT_GPU, COPSE_PLACEMENT_EMULATED};

#define FOR_EACH_DESCRIPTION(name)                                                                                     \
    const copse_tree_description *name;                                                                                \
    for (unsigned name##_at = 0; (name = copse_registry_tree(name##_at)) != NULL; name##_at++)

static bool has(const copse_tree_description *tree, copse_capability what)
{
    return (tree->capabilities & COPSE_CAPABILITY(what)) != 0;
}

static void names_and_numbers_are_the_trees_own(void **state)
{
    (void)state;
    unsigned n = 0;
    FOR_EACH_DESCRIPTION(tree)
    {
        copse_structure parsed = COPSE_STRUCTURE_AUTO;
        assert_non_null(tree->name);
        assert_true(tree->name[0] != '\0');
        assert_string_equal(copse_structure_name(tree->structure), tree->name);
        assert_ok(NULL, copse_structure_parse(tree->name, &parsed));
        assert_int_equal(parsed, tree->structure);
        assert_ptr_equal(copse_registry_find(tree->structure), tree);
        assert_non_null(tree->summary);
        assert_true(tree->summary[0] != '\0' && !strchr(tree->summary, '\n'));
        for (unsigned i = 0; i < n; i++) {
            assert_int_not_equal(copse_registry_tree(i)->structure, tree->structure);
            assert_string_not_equal(copse_registry_tree(i)->name, tree->name);
        }
        n++;
    }
    assert_true(n > 0);
    assert_null(copse_registry_tree(n));
    assert_null(copse_registry_tree(UINT32_MAX));
    assert_null(copse_registry_find(COPSE_STRUCTURE_AUTO));
    assert_null(copse_registry_find((copse_structure)99));
}

static void assert_calls(const copse_tree_description *tree, const copse_calls *calls)
{
    assert_true(calls->create && calls->destroy);
    assert_true(calls->build && calls->insert && calls->erase && calls->apply);
    assert_true(calls->find && calls->neighbours && calls->count && calls->range && calls->aggregate && calls->scan);
    assert_true(calls->size && calls->stats && calls->verify);
    assert_true(calls->scan_step > 0);
    assert_int_equal(calls->share != NULL, has(tree, COPSE_CAN_VIEW) || has(tree, COPSE_CAN_FREEZE));
}

/* A tree that lives on a GPU lives on the emulator, too: that is where its tests run. */
static void every_placement_has_all_calls(void **state)
{
    (void)state;
    FOR_EACH_DESCRIPTION(tree)
    {
        unsigned there = 0;
        assert_non_null(tree->at);
        for (const copse_tree_at *at = tree->at; at->calls; at++, there++) {
            assert_ptr_equal(copse_registry_at(tree->structure, at->placement), at); /* each placement once */
            assert_calls(tree, at->calls);
            for (unsigned pair = 0; at->by_width && pair < 4; pair++) assert_non_null(at->by_width[pair]);
        }
        for (const copse_tree_at *at = tree->bytes_at; at && at->calls; at++, there++) {
            assert_ptr_equal(copse_registry_at_for(COPSE_BYTES, tree->structure, at->placement), at);
            assert_calls(tree, at->calls);
            assert_non_null(at->calls->erase_pairs);
            assert_int_equal(at->calls->select != NULL, has(tree, COPSE_CAN_RANK));
        }
        assert_true(there > 0);
        assert_int_equal(!copse_registry_at(tree->structure, COPSE_PLACEMENT_GPU),
                         !copse_registry_at(tree->structure, COPSE_PLACEMENT_EMULATED));
        assert_null(copse_registry_at(tree->structure, COPSE_PLACEMENT_AUTO));
        assert_null(copse_registry_at(tree->structure, (copse_placement)99));
    }
}

/* So that a move and a load find a tree at every placement. */
static void counterparts_are_there(void **state)
{
    (void)state;
    FOR_EACH_DESCRIPTION(tree)
    {
        assert_non_null(copse_registry_find(tree->counterpart));
        if (!copse_registry_takes(tree->structure, COPSE_U64)) continue; /* no tree of byte strings has a counterpart */
        for (size_t p = 0; p < COUNT_OF(placements); p++) {
            copse_structure nearest = copse_registry_nearest(tree->structure, placements[p]);
            assert_non_null(copse_registry_at(nearest, placements[p]));
            if (copse_registry_at(tree->structure, placements[p])) assert_int_equal(nearest, tree->structure);
        }
    }
}

/* AUTO has one tree for reads and one for updates at each placement, and never one that is only there to compare with. */
static void auto_has_one_tree_for_each_use(void **state)
{
    (void)state;
    static const unsigned uses[] = {COPSE_AUTO_UPDATES, COPSE_AUTO_READS};
    for (size_t p = 0; p < COUNT_OF(placements); p++)
        for (size_t use = 0; use < COUNT_OF(uses); use++) {
            unsigned n = 0;
            FOR_EACH_DESCRIPTION(tree)
            {
                const copse_tree_at *at = copse_registry_at(tree->structure, placements[p]);
                if (!at || !(at->automatic & uses[use])) continue;
                assert_false(tree->baseline);
                assert_int_equal(copse_registry_automatic(placements[p], uses[use]), tree->structure);
                n++;
            }
            assert_int_equal(n, 1);
        }
}

static void bytes_have_an_automatic_tree(void **state)
{
    (void)state;
    static const unsigned uses[] = {COPSE_AUTO_UPDATES, COPSE_AUTO_READS};
    for (size_t use = 0; use < COUNT_OF(uses); use++) {
        unsigned n = 0;
        FOR_EACH_DESCRIPTION(tree)
        {
            const copse_tree_at *at = copse_registry_at_for(COPSE_BYTES, tree->structure, COPSE_PLACEMENT_CPU);
            assert_int_equal(has(tree, COPSE_CAN_TAKE_BYTES), tree->bytes_at != NULL);
            assert_int_equal(copse_supports(tree->structure, COPSE_PLACEMENT_CPU, COPSE_BYTES, COPSE_CAN_EXIST),
                             at != NULL);
            n += at && at->automatic & uses[use];
        }
        assert_true(n >= 1);
        const copse_structure keeps = copse_registry_automatic_for(COPSE_BYTES, COPSE_PLACEMENT_CPU, uses[use], true);
        assert_true(copse_supports(keeps, COPSE_PLACEMENT_CPU, COPSE_BYTES, COPSE_CAN_KEEP_DUPLICATES));
        assert_non_null(copse_registry_at_for(
            COPSE_BYTES, copse_registry_automatic_for(COPSE_BYTES, COPSE_PLACEMENT_CPU, uses[use], false),
            COPSE_PLACEMENT_CPU));
    }
}

static void supports_says_what_is_there(void **state)
{
    (void)state;
    FOR_EACH_DESCRIPTION(tree)
    {
        for (size_t p = 0; p < COUNT_OF(placements); p++)
            for (int k = 0; k < TYPED_KEY_TYPES; k++) {
                const bool there = copse_registry_at(tree->structure, placements[p]) != NULL;
                assert_int_equal(copse_supports(tree->structure, placements[p], typed_key_types[k], COPSE_CAN_EXIST),
                                 there);
                for (int what = COPSE_CAN_RANK; what <= COPSE_CAN_TAKE_BYTES; what++)
                    assert_int_equal(
                        copse_supports(tree->structure, placements[p], typed_key_types[k], (copse_capability)what),
                        there && has(tree, (copse_capability)what));
                assert_int_equal(copse_supports(tree->structure, placements[p], typed_key_types[k], COPSE_CAN_VISIT),
                                 there && copse_registry_at(tree->structure, placements[p])->calls->visit);
            }
    }
}

static void what_nobody_knows_is_not_supported(void **state)
{
    (void)state;
    FOR_EACH_TREE(tree)
    {
        assert_int_equal(copse_supports(tree->structure, tree->placement, COPSE_U64, COPSE_CAN_EXIST), 1);
        for (int what = COPSE_CAN_EXIST; what <= COPSE_CAN_VISIT; what++) {
            const copse_capability can = (copse_capability)what;
            assert_int_equal(copse_supports(COPSE_STRUCTURE_AUTO, tree->placement, COPSE_U64, can), 0);
            assert_int_equal(copse_supports((copse_structure)99, tree->placement, COPSE_U64, can), 0);
            assert_int_equal(copse_supports(tree->structure, COPSE_PLACEMENT_AUTO, COPSE_U64, can), 0);
            assert_int_equal(copse_supports(tree->structure, (copse_placement)99, COPSE_U64, can), 0);
            assert_int_equal(copse_supports(tree->structure, tree->placement, (copse_type)0, can), 0);
            assert_int_equal(copse_supports(tree->structure, tree->placement, (copse_type)99, can), 0);
        }
        assert_int_equal(copse_supports(tree->structure, tree->placement, COPSE_U64, (copse_capability)8), 0);
        assert_int_equal(copse_supports(tree->structure, tree->placement, COPSE_U64, (copse_capability)40), 0);
        assert_int_equal(copse_supports(tree->structure, tree->placement, COPSE_U64, (copse_capability)-1), 0);
    }
}

/* --- and what happens ------------------------------------------------------------------------------------------------- */

static void views_are_there_where_supported(void **state)
{
    (void)state;
    copse_ctx *ctx = unit_context(1);
    FOR_EACH_TREE(tree)
    {
        copse_index *index = unit_tens(ctx, *tree, 100), *view = NULL;
        const bool can = copse_supports(tree->structure, tree->placement, COPSE_U64, COPSE_CAN_VIEW);
        if (can)
            assert_ok(ctx, copse_index_view(index, ctx, &view));
        else
            assert_fails_naming(ctx, COPSE_ERR_UNSUPPORTED, copse_structure_name(tree->structure),
                                copse_index_view(index, ctx, &view));
        assert_int_equal(view != NULL, can);
        copse_index_free(view);
        copse_index_free(index);
    }
    copse_ctx_free(ctx);
}

/* Every tree has frozen handles; COPSE_CAN_FREEZE only says that they cost no copy. */
static void every_tree_has_snapshots(void **state)
{
    (void)state;
    copse_ctx *ctx = unit_context(1);
    FOR_EACH_TREE(tree)
    {
        copse_index *index = unit_tens(ctx, *tree, 100), *frozen = NULL;
        const uint64_t key = 5, value = 6;
        struct unit_content before = unit_content_of(index);
        assert_ok(ctx, copse_freeze(index, ctx, &frozen));
        assert_ok(ctx, copse_insert(index, &key, &value, 1, COPSE_INSERT_UPSERT, NULL));
        assert_int_equal(copse_size(index), 101);
        unit_assert_content(ctx, frozen, before);
        copse_index_free(frozen);
        copse_index_free(index);
    }
    copse_ctx_free(ctx);
}

static void duplicates_are_kept_where_supported(void **state)
{
    (void)state;
    static const uint64_t keys[] = {7, 7, 7}, values[] = {1, 2, 3};
    copse_ctx *ctx = unit_context(1);
    FOR_EACH_TREE(tree)
    {
        copse_index_options options = COPSE_INDEX_OPTIONS_INIT;
        copse_index *index = NULL;
        options.structure = tree->structure;
        options.placement = tree->placement;
        options.duplicates = 1;
        if (copse_supports(tree->structure, tree->placement, COPSE_U64, COPSE_CAN_KEEP_DUPLICATES)) {
            assert_ok(ctx, copse_index_create(ctx, &options, &index));
            assert_ok(ctx, copse_build(index, keys, values, COUNT_OF(keys)));
            assert_int_equal(copse_size(index), COUNT_OF(keys));
        } else {
            assert_fails_naming(ctx, COPSE_ERR_UNSUPPORTED, "duplicates", copse_index_create(ctx, &options, &index));
            assert_null(index);
        }
        copse_index_free(index);
    }
    copse_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_and_numbers_are_the_trees_own),
        cmocka_unit_test(every_placement_has_all_calls),
        cmocka_unit_test(counterparts_are_there),
        cmocka_unit_test(auto_has_one_tree_for_each_use),
        cmocka_unit_test(bytes_have_an_automatic_tree),
        cmocka_unit_test(supports_says_what_is_there),
        cmocka_unit_test(what_nobody_knows_is_not_supported),
        cmocka_unit_test(views_are_there_where_supported),
        cmocka_unit_test(every_tree_has_snapshots),
        cmocka_unit_test(duplicates_are_kept_where_supported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
