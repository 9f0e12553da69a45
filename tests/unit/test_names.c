/* Names and sizes: each known one goes there and back, unknown ones are refused. */
#include "unit.h"

static const copse_type types[] = {COPSE_U32, COPSE_I32, COPSE_F32,  COPSE_U64,
                                   COPSE_I64, COPSE_F64, COPSE_DATE, COPSE_TIMESTAMP};

static void types_have_names_and_sizes(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(types); i++) {
        copse_type parsed = (copse_type)0;
        assert_string_equal(copse_type_name(types[i]), typed_name(types[i]));
        assert_int_equal(copse_type_size(types[i]), typed_size(types[i]));
        assert_ok(NULL, copse_type_parse(copse_type_name(types[i]), &parsed));
        assert_int_equal(parsed, types[i]);
    }
    copse_type bytes = (copse_type)0;
    assert_string_equal(copse_type_name(COPSE_BYTES), "bytes");
    assert_int_equal(copse_type_size(COPSE_BYTES), 0); /* strings have no size that all of them share */
    assert_ok(NULL, copse_type_parse("bytes", &bytes));
    assert_int_equal(bytes, COPSE_BYTES);
    assert_int_equal(copse_type_size((copse_type)0), 0);
    assert_int_equal(copse_type_size((copse_type)99), 0);
    assert_non_null(copse_type_name((copse_type)99));
}

static void structures_and_placements_have_names(void **state)
{
    (void)state;
    static const copse_placement placements[] = {COPSE_PLACEMENT_AUTO, COPSE_PLACEMENT_CPU, COPSE_PLACEMENT_GPU,
                                                 COPSE_PLACEMENT_EMULATED};
    FOR_EACH_TREE(tree)
    {
        copse_structure parsed = (copse_structure)77;
        assert_ok(NULL, copse_structure_parse(copse_structure_name(tree->structure), &parsed));
        assert_int_equal(parsed, tree->structure);
    }
    copse_structure structure = (copse_structure)77;
    assert_ok(NULL, copse_structure_parse("auto", &structure));
    assert_int_equal(structure, COPSE_STRUCTURE_AUTO);
    assert_string_equal(copse_structure_name(COPSE_STRUCTURE_AUTO), "auto");
    for (size_t i = 0; i < COUNT_OF(placements); i++) {
        copse_placement parsed = (copse_placement)77;
        assert_ok(NULL, copse_placement_parse(copse_placement_name(placements[i]), &parsed));
        assert_int_equal(parsed, placements[i]);
    }
    assert_string_equal(copse_structure_name(COPSE_STRUCTURE_IMPLICIT), "implicit");
    assert_string_equal(copse_structure_name(COPSE_STRUCTURE_REGULAR), "regular");
    assert_string_equal(copse_placement_name(COPSE_PLACEMENT_CPU), "cpu");
    assert_string_equal(copse_placement_name(COPSE_PLACEMENT_GPU), "gpu");
    assert_string_equal(copse_placement_name(COPSE_PLACEMENT_EMULATED), "emulated");
    assert_non_null(copse_structure_name((copse_structure)99));
    assert_non_null(copse_placement_name((copse_placement)99));
}

static void unknown_names_are_refused_and_quoted(void **state)
{
    (void)state;
    copse_type type = COPSE_U32;
    copse_structure structure = COPSE_STRUCTURE_REGULAR;
    copse_placement placement = COPSE_PLACEMENT_CPU;
    assert_fails_naming(NULL, COPSE_ERR_ARGUMENT, "u65", copse_type_parse("u65", &type));
    assert_fails_naming(NULL, COPSE_ERR_ARGUMENT, "bush", copse_structure_parse("bush", &structure));
    FOR_EACH_TREE(tree) /* what it could have been */
    assert_fails_naming(NULL, COPSE_ERR_ARGUMENT, copse_structure_name(tree->structure),
                        copse_structure_parse("bush", &structure));
    assert_fails_naming(NULL, COPSE_ERR_ARGUMENT, "moon", copse_placement_parse("moon", &placement));
    assert_fails(NULL, COPSE_ERR_ARGUMENT, copse_type_parse("", &type));
    assert_fails(NULL, COPSE_ERR_ARGUMENT, copse_type_parse("U64 ", &type));
    assert_fails(NULL, COPSE_ERR_ARGUMENT, copse_type_parse(NULL, &type));
    assert_fails(NULL, COPSE_ERR_ARGUMENT, copse_type_parse("u64", NULL));
    assert_fails(NULL, COPSE_ERR_ARGUMENT, copse_structure_parse(NULL, &structure));
    assert_fails(NULL, COPSE_ERR_ARGUMENT, copse_structure_parse("regular", NULL));
    assert_fails(NULL, COPSE_ERR_ARGUMENT, copse_placement_parse(NULL, &placement));
    assert_fails(NULL, COPSE_ERR_ARGUMENT, copse_placement_parse("cpu", NULL));
    assert_int_equal(type, COPSE_U32);
    assert_int_equal(structure, COPSE_STRUCTURE_REGULAR);
    assert_int_equal(placement, COPSE_PLACEMENT_CPU);
}

static void statuses_have_different_names(void **state)
{
    (void)state;
    for (int a = COPSE_OK; a <= COPSE_ERR_DEVICE; a++) {
        assert_true(copse_status_name((copse_status)a)[0] != '\0');
        for (int b = COPSE_OK; b < a; b++)
            assert_string_not_equal(copse_status_name((copse_status)a), copse_status_name((copse_status)b));
    }
    assert_non_null(copse_status_name((copse_status)1234));
    assert_non_null(copse_status_name((copse_status)-1));
}

static void version_is_the_headers(void **state)
{
    (void)state;
    char text[32];
    (void)snprintf(text, sizeof text, "%d.%d.%d", COPSE_VERSION_MAJOR, COPSE_VERSION_MINOR, COPSE_VERSION_PATCH);
    assert_string_equal(copse_version(), text);
    assert_string_equal(copse_version(), COPSE_VERSION);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(types_have_names_and_sizes),
        cmocka_unit_test(structures_and_placements_have_names),
        cmocka_unit_test(unknown_names_are_refused_and_quoted),
        cmocka_unit_test(statuses_have_different_names),
        cmocka_unit_test(version_is_the_headers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
