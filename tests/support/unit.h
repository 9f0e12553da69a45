/* What the unit tests share: cmocka, contexts and indexes in one line, and content to compare. Included by test
 * programs only; everything is inline because no program uses all of it. */
#ifndef TESTS_UNIT_H
#define TESTS_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "copse.h"
#include "trees.h"
#include "typed.h"

#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

/* Every tree of the registry, on the CPU and on the emulator; `name` points to a struct unit_tree (trees.h). */
#define FOR_EACH_TREE(name) FOR_EACH_TREE_THAT(name, COPSE_PLACEMENT_AUTO, COPSE_CAN_EXIST)
/* ... of those at a placement (AUTO: both), those that have a capability. */
#define FOR_EACH_TREE_THAT(name, where, what)                                                                          \
    for (struct unit_tree name##_now = {COPSE_STRUCTURE_AUTO, COPSE_PLACEMENT_AUTO}, *name = &name##_now;              \
         unit_tree_next(name, where, what);)

static inline bool unit_can(struct unit_tree tree, copse_capability what)
{
    return copse_supports(tree.structure, tree.placement, COPSE_U64, what);
}

/* The last setting of the option `duplicates` that this tree takes: 0 or 1. */
static inline int unit_duplicates(struct unit_tree tree)
{
    return unit_can(tree, COPSE_CAN_KEEP_DUPLICATES);
}

/* A number of entries or queries for this tree: an emulated one is given fewer, because it is so much slower. */
static inline uint64_t unit_fewer(struct unit_tree tree, uint64_t n, uint64_t emulated)
{
    return tree.placement == COPSE_PLACEMENT_EMULATED || tree.placement == COPSE_PLACEMENT_HYBRID_EMULATED ? emulated
                                                                                                           : n;
}

/* The call succeeds; its sentence is shown where it does not. */
#define assert_ok(ctx, call) unit_expect(ctx, call, COPSE_OK, #call, __FILE__, __LINE__)
/* The call fails with this status and has left a sentence. */
#define assert_fails(ctx, status, call) unit_expect(ctx, call, status, #call, __FILE__, __LINE__)
/* ... and the sentence has this word in it. */
#define assert_fails_naming(ctx, status, word, call)                                                                   \
    do {                                                                                                               \
        unit_expect(ctx, call, status, #call, __FILE__, __LINE__);                                                     \
        unit_expect_word(ctx, word, #call, __FILE__, __LINE__);                                                        \
    } while (0)

static inline void unit_expect(const copse_ctx *ctx, copse_status got, copse_status want, const char *call,
                               const char *file, int line)
{
    if (got != want) {
        print_error("%s gave status %s, expected %s; sentence: '%s'\n", call, copse_status_name(got),
                    copse_status_name(want), copse_last_error(ctx));
        _fail(file, line);
    }
    if (want != COPSE_OK && copse_last_error(ctx)[0] == '\0') {
        print_error("%s left no sentence\n", call);
        _fail(file, line);
    }
    copse_error_info info = {.struct_size = sizeof info};
    if (want == COPSE_ERR_ARGUMENT && copse_last_error_info(ctx, &info) == COPSE_OK && !*info.argument) {
        print_error("%s does not say which argument is wrong: '%s'\n", call, copse_last_error(ctx));
        _fail(file, line);
    }
}

static inline void unit_expect_word(const copse_ctx *ctx, const char *word, const char *call, const char *file,
                                    int line)
{
    if (strstr(copse_last_error(ctx), word)) return;
    print_error("%s: '%s' is not in the sentence '%s'\n", call, word, copse_last_error(ctx));
    _fail(file, line);
}

/* A context with this many threads (0: the default). */
static inline copse_ctx *unit_context(uint32_t threads)
{
    copse_ctx_options options = COPSE_CTX_OPTIONS_INIT;
    copse_ctx *ctx = NULL;
    options.threads = threads;
    assert_ok(NULL, copse_ctx_create(&options, &ctx));
    return ctx;
}

static inline copse_index *unit_index(copse_ctx *ctx, struct unit_tree tree, copse_type key, copse_type value,
                                      bool duplicates)
{
    copse_index_options options = COPSE_INDEX_OPTIONS_INIT;
    copse_index *index = NULL;
    options.key_type = key;
    options.value_type = value;
    options.structure = tree.structure;
    options.placement = tree.placement;
    options.duplicates = duplicates;
    assert_ok(ctx, copse_index_create(ctx, &options, &index));
    return index;
}

/* An index of u64 keys 0, 10, 20, ... with values key + 1. */
static inline copse_index *unit_tens(copse_ctx *ctx, struct unit_tree tree, uint64_t n)
{
    copse_index *index = unit_index(ctx, tree, COPSE_U64, COPSE_U64, false);
    uint64_t *keys = must_malloc(n * sizeof *keys), *values = must_malloc(n * sizeof *values);
    for (uint64_t i = 0; i < n; i++) {
        keys[i] = i * 10;
        values[i] = i * 10 + 1;
    }
    assert_ok(ctx, copse_build(index, keys, values, n));
    free(keys);
    free(values);
    return index;
}

/* The whole content of an index, to compare with later. */
struct unit_content {
    uint64_t n;
    size_t key_bytes;
    size_t value_bytes;
    void *keys;
    void *values;
};

static inline struct unit_content unit_content_of(const copse_index *index)
{
    copse_stats stats = {.struct_size = sizeof stats};
    assert_int_equal(copse_index_stats(index, &stats), COPSE_OK);
    struct unit_content content = {stats.entries, typed_size(stats.key_type), typed_size(stats.value_type), NULL, NULL};
    content.keys = typed_new(stats.key_type, stats.entries);
    content.values = typed_new(stats.value_type, stats.entries);
    void *values = content.value_bytes ? content.values : NULL; /* a set has none */
    assert_int_equal(copse_export(index, content.keys, values, stats.entries), COPSE_OK);
    return content;
}

/* The index holds just this, and is sound. Frees the content. */
static inline void unit_assert_content(const copse_ctx *ctx, const copse_index *index, struct unit_content expected)
{
    assert_ok(ctx, copse_verify(index));
    struct unit_content content = unit_content_of(index);
    assert_int_equal(content.n, expected.n);
    assert_memory_equal(content.keys, expected.keys, content.n * content.key_bytes);
    assert_memory_equal(content.values, expected.values, content.n * content.value_bytes);
    free(content.keys);
    free(content.values);
    free(expected.keys);
    free(expected.values);
}

#endif
