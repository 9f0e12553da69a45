/* The context: options that grow, environment variables, description, the sentence of the last error. */
#include "unit.h"

#include "core/internal.h"

#include <pthread.h>

static copse_status create_with(const copse_ctx_options *options, copse_ctx_info *out_info)
{
    copse_ctx *ctx = NULL;
    copse_status status = copse_ctx_create(options, &ctx);
    if (status == COPSE_OK) {
        assert_ok(ctx, copse_ctx_describe(ctx, out_info));
        copse_ctx_free(ctx);
    } else {
        assert_null(ctx);
    }
    return status;
}

static int clear_environment(void **state)
{
    (void)state;
    (void)unsetenv("COPSE_THREADS");
    (void)unsetenv("COPSE_ISA");
    (void)unsetenv("COPSE_DEVICE");
    return 0;
}

static bool offers(const char *list, const char *name)
{
    char padded[256], word[64];
    (void)snprintf(padded, sizeof padded, " %s ", list);
    (void)snprintf(word, sizeof word, " %s ", name);
    return strstr(padded, word) != NULL;
}

static void defaults_describe_themselves(void **state)
{
    (void)state;
    copse_ctx_info info = {.struct_size = sizeof info};
    assert_ok(NULL, create_with(NULL, &info));
    assert_true(info.threads >= 1);
    assert_true(offers(info.isa_offered, info.isa));
    assert_true(offers(info.isa_offered, "scalar"));
    assert_int_equal(info.huge_pages, COPSE_HUGE_PAGES_AUTO);
}

static void options_arrive(void **state)
{
    (void)state;
    copse_ctx_options options = COPSE_CTX_OPTIONS_INIT;
    copse_ctx_info info = {.struct_size = sizeof info};
    options.threads = 3;
    options.isa = "scalar";
    options.pipeline = 256;
    options.huge_pages = COPSE_HUGE_PAGES_OFF;
    assert_ok(NULL, create_with(&options, &info));
    assert_int_equal(info.threads, 3);
    assert_string_equal(info.isa, "scalar");
    assert_int_equal(info.pipeline, 256);
    assert_int_equal(info.huge_pages, COPSE_HUGE_PAGES_OFF);
}

static void older_struct_ends_early(void **state)
{
    (void)state;
    copse_ctx_options options = COPSE_CTX_OPTIONS_INIT;
    copse_ctx_info info = {.struct_size = sizeof info};
    options.threads = 2;
    options.pipeline = 100000; /* behind the end of the struct that the caller knows */
    options.struct_size = offsetof(copse_ctx_options, pipeline);
    assert_ok(NULL, create_with(&options, &info));
    assert_int_equal(info.threads, 2);
}

/* The struct as it was before it had a device: the number behind its end is not one. */
static void older_struct_has_no_device(void **state)
{
    (void)state;
    copse_ctx_options options = COPSE_CTX_OPTIONS_INIT;
    copse_ctx *ctx = NULL;
    options.device = 3;
    options.stream = &options;
    options.struct_size = offsetof(copse_ctx_options, device);
    assert_ok(NULL, copse_ctx_create(&options, &ctx));
    assert_int_equal(ctx->device_number, -1);
    assert_null(ctx->stream);
    copse_ctx_free(ctx);
    options.struct_size = offsetof(copse_ctx_options, stream);
    assert_ok(NULL, copse_ctx_create(&options, &ctx));
    assert_int_equal(ctx->device_number, 3);
    assert_null(ctx->stream);
    copse_ctx_free(ctx);
}

static void newer_struct_is_longer(void **state)
{
    (void)state;
    struct {
        copse_ctx_options known;
        char unknown[64];
    } options;
    copse_ctx_info info = {.struct_size = sizeof info};
    memset(&options, 0, sizeof options);
    options.known = (copse_ctx_options)COPSE_CTX_OPTIONS_INIT;
    options.known.struct_size = sizeof options;
    options.known.threads = 2;
    assert_ok(NULL, create_with(&options.known, &info));
    assert_int_equal(info.threads, 2);
}

static void impossible_options_are_named(void **state)
{
    (void)state;
    const copse_ctx_options good = COPSE_CTX_OPTIONS_INIT;
    copse_ctx_options options = good;
    copse_ctx_info info = {.struct_size = sizeof info};
    options.struct_size = 0;
    assert_fails_naming(NULL, COPSE_ERR_ARGUMENT, "struct_size", create_with(&options, &info));
    options = good;
    options.pipeline = 257;
    assert_fails_naming(NULL, COPSE_ERR_ARGUMENT, "pipeline", create_with(&options, &info));
    options = good;
    options.threads = UINT32_MAX;
    assert_fails_naming(NULL, COPSE_ERR_ARGUMENT, "threads", create_with(&options, &info));
    options = good;
    options.huge_pages = (copse_huge_pages)7;
    assert_fails_naming(NULL, COPSE_ERR_ARGUMENT, "huge_pages", create_with(&options, &info));
    options = good;
    options.device = -2;
    assert_fails_naming(NULL, COPSE_ERR_ARGUMENT, "device", create_with(&options, &info));
    options = good;
    options.isa = "sse9";
    assert_fails_naming(NULL, COPSE_ERR_ARGUMENT, "sse9", create_with(&options, &info));
    options = good;
    options.allocator.user = &options;
    options.allocator.alloc = (void *(*)(void *, size_t, size_t))abort;
    assert_fails_naming(NULL, COPSE_ERR_ARGUMENT, "allocator", create_with(&options, &info));
    assert_fails_naming(NULL, COPSE_ERR_ARGUMENT, "out_ctx", copse_ctx_create(NULL, NULL));
}

static void environment_sets_threads(void **state)
{
    (void)state;
    static const char *const bad[] = {"0", "-1", "two", "3x", "99999999999999999999", " "};
    copse_ctx_options options = COPSE_CTX_OPTIONS_INIT;
    copse_ctx_info info = {.struct_size = sizeof info};
    assert_int_equal(setenv("COPSE_THREADS", "3", 1), 0);
    assert_ok(NULL, create_with(NULL, &info));
    assert_int_equal(info.threads, 3);
    options.threads = 2; /* what the program says counts more */
    assert_ok(NULL, create_with(&options, &info));
    assert_int_equal(info.threads, 2);
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        assert_int_equal(setenv("COPSE_THREADS", bad[i], 1), 0);
        assert_fails_naming(NULL, COPSE_ERR_ARGUMENT, "COPSE_THREADS", create_with(NULL, &info));
    }
    assert_int_equal(setenv("COPSE_THREADS", "", 1), 0);
    assert_ok(NULL, create_with(NULL, &info));
}

static int32_t device_number(const copse_ctx_options *options)
{
    copse_ctx *ctx = NULL;
    assert_ok(NULL, copse_ctx_create(options, &ctx));
    int32_t number = ctx->device_number;
    copse_ctx_free(ctx);
    return number;
}

static void environment_sets_device(void **state)
{
    (void)state;
    static const char *const bad[] = {"-1", "gpu", "0x", "99999999999", " 1", "+1"};
    copse_ctx_options options = COPSE_CTX_OPTIONS_INIT;
    copse_ctx_info info = {.struct_size = sizeof info};
    assert_int_equal(device_number(&options), -1);
    assert_int_equal(setenv("COPSE_DEVICE", "2", 1), 0);
    assert_int_equal(device_number(&options), 2);
    options.device = 0; /* what the program says counts more */
    assert_int_equal(device_number(&options), 0);
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        assert_int_equal(setenv("COPSE_DEVICE", bad[i], 1), 0);
        assert_fails_naming(NULL, COPSE_ERR_ARGUMENT, "COPSE_DEVICE", create_with(NULL, &info));
    }
    assert_int_equal(setenv("COPSE_DEVICE", "", 1), 0);
    assert_int_equal(device_number(NULL), -1);
}

static void environment_sets_isa(void **state)
{
    (void)state;
    static const char *const names[] = {"scalar", "avx2", "avx512"};
    copse_ctx_info info = {.struct_size = sizeof info}, offered = {.struct_size = sizeof offered};
    assert_ok(NULL, create_with(NULL, &offered));
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        assert_int_equal(setenv("COPSE_ISA", names[i], 1), 0);
        if (!offers(offered.isa_offered, names[i])) {
            assert_fails_naming(NULL, COPSE_ERR_UNSUPPORTED, names[i], create_with(NULL, &info));
            continue;
        }
        assert_ok(NULL, create_with(NULL, &info));
        assert_string_equal(info.isa, names[i]);
    }
    assert_int_equal(setenv("COPSE_ISA", "AVX", 1), 0);
    assert_fails_naming(NULL, COPSE_ERR_ARGUMENT, "COPSE_ISA", create_with(NULL, &info));
    copse_ctx_options options = COPSE_CTX_OPTIONS_INIT;
    options.isa = "scalar"; /* what the program says counts more */
    assert_ok(NULL, create_with(&options, &info));
}

static void *fail_elsewhere(void *user)
{
    const char **before = user;
    *before = copse_last_error(NULL)[0] ? "not empty" : "empty";
    (void)copse_ctx_create(NULL, NULL);
    return NULL;
}

/* A context may lie where a freed one lay. */
static void last_error_of_a_freed_context(void **state)
{
    (void)state;
    for (int i = 0; i < 8; i++) {
        copse_ctx *ctx = NULL;
        assert_int_equal(copse_ctx_create(NULL, &ctx), COPSE_OK);
        if (i > 0) assert_string_equal(copse_last_error(ctx), "");
        assert_int_equal(copse_ctx_describe(ctx, NULL), COPSE_ERR_ARGUMENT);
        assert_string_not_equal(copse_last_error(ctx), "");
        copse_ctx_free(ctx);
    }
}

static void last_error_belongs_to_the_thread(void **state)
{
    (void)state;
    copse_ctx *ctx = unit_context(1);
    char sentence[512];
    const char *before = NULL;
    pthread_t thread;
    assert_fails(ctx, COPSE_ERR_ARGUMENT, copse_index_create(ctx, NULL, NULL));
    (void)snprintf(sentence, sizeof sentence, "%s", copse_last_error(ctx));
    assert_int_equal(pthread_create(&thread, NULL, fail_elsewhere, &before), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_string_equal(before, "empty");
    assert_string_equal(copse_last_error(ctx), sentence);
    copse_index *index = NULL;
    FOR_EACH_TREE(tree)
    {
        index = unit_tens(ctx, *tree, 10);
        assert_string_equal(copse_last_error(ctx), sentence); /* a call that succeeds does not touch it */
        copse_index_free(index);
    }
    copse_index_options options = COPSE_INDEX_OPTIONS_INIT;
    options.updates = COPSE_UPDATES_RARE; /* looks for a card, and may find none */
    assert_ok(ctx, copse_index_create(ctx, &options, &index));
    assert_string_equal(copse_last_error(ctx), sentence);
    copse_index_free(index);
    copse_ctx_free(ctx);
}

static void nothing_is_freed_from_null(void **state)
{
    (void)state;
    copse_ctx_info info = {.struct_size = sizeof info};
    copse_ctx_free(NULL);
    copse_index_free(NULL);
    copse_cursor_free(NULL);
    assert_fails(NULL, COPSE_ERR_ARGUMENT, copse_ctx_describe(NULL, &info));
    assert_fails(NULL, COPSE_ERR_ARGUMENT, copse_ctx_set_progress(NULL, NULL, NULL));
}

/* Whether AUTO has a card to take. */
static bool has_card(void)
{
    copse_device_info info = {.struct_size = sizeof info};
    for (int32_t i = 0; i < copse_device_count(NULL); i++)
        if (copse_device_describe(i, &info) == COPSE_OK && info.usable) return true;
    return false;
}

static void auto_picks_by_updates(void **state)
{
    (void)state;
    copse_ctx *ctx = unit_context(1);
    copse_index_options options = COPSE_INDEX_OPTIONS_INIT;
    copse_stats stats = {.struct_size = sizeof stats};
    for (int rare = 0; rare < 2; rare++) {
        copse_index *index = NULL;
        options.updates = rare ? COPSE_UPDATES_RARE : COPSE_UPDATES_EXPECTED;
        assert_ok(ctx, copse_index_create(ctx, &options, &index));
        assert_ok(ctx, copse_index_stats(index, &stats));
        assert_int_equal(stats.structure, rare ? COPSE_STRUCTURE_IMPLICIT : COPSE_STRUCTURE_REGULAR);
        assert_int_equal(stats.placement, rare && has_card() ? COPSE_PLACEMENT_GPU : COPSE_PLACEMENT_CPU);
        assert_true(stats.placement_why[0] != '\0');
        copse_index_free(index);
    }
    copse_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(defaults_describe_themselves, clear_environment),
        cmocka_unit_test_setup(options_arrive, clear_environment),
        cmocka_unit_test_setup(older_struct_ends_early, clear_environment),
        cmocka_unit_test_setup(older_struct_has_no_device, clear_environment),
        cmocka_unit_test_setup(newer_struct_is_longer, clear_environment),
        cmocka_unit_test_setup(impossible_options_are_named, clear_environment),
        cmocka_unit_test_setup(environment_sets_threads, clear_environment),
        cmocka_unit_test_setup(environment_sets_device, clear_environment),
        cmocka_unit_test_setup(environment_sets_isa, clear_environment),
        cmocka_unit_test_setup(last_error_of_a_freed_context, clear_environment),
        cmocka_unit_test_setup(last_error_belongs_to_the_thread, clear_environment),
        cmocka_unit_test_setup(nothing_is_freed_from_null, clear_environment),
        cmocka_unit_test_setup(auto_picks_by_updates, clear_environment),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
