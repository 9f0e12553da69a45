/* Byte strings as keys: order and edges, offsets of both widths, rooms of outputs, and everything that has to be refused. */
#include "unit.h"

#include "byte_pool.h"
#include "test_allocator.h"

/* The tree that the tests run on now; main goes through all that take byte strings. */
static struct unit_tree the_tree = {COPSE_STRUCTURE_SORTED, COPSE_PLACEMENT_CPU};

static bool tree_can(copse_capability what)
{
    return copse_supports(the_tree.structure, the_tree.placement, COPSE_BYTES, what);
}

/* An index of byte strings with u64 values. */
static copse_index *bytes_index(copse_ctx *ctx, bool duplicates)
{
    return unit_index(ctx, the_tree, COPSE_BYTES, COPSE_U64, duplicates);
}

/* C strings as an array with offsets of 64 bits. */
struct texts {
    unsigned char data[512];
    int64_t offsets[65];
    copse_bytes bytes;
};

static const copse_bytes *texts_of(struct texts *to, const char *const *strings, uint64_t n)
{
    to->offsets[0] = 0;
    for (uint64_t i = 0; i < n; i++) {
        const size_t length = strlen(strings[i]);
        memcpy(to->data + to->offsets[i], strings[i], length);
        to->offsets[i + 1] = to->offsets[i] + (int64_t)length;
    }
    const copse_bytes bytes = COPSE_BYTES_INIT(to->data, (uint64_t)to->offsets[n], to->offsets, 64);
    to->bytes = bytes;
    return &to->bytes;
}

static void assert_string(const copse_bytes *bytes, uint64_t i, const char *want)
{
    const struct byte_string got = byte_array_at(bytes, i);
    assert_int_equal(got.n, strlen(want));
    if (got.n) assert_memory_equal(got.bytes, want, got.n);
}

static const char *const fruit[] = {"pear", "", "apple", "app", "fig", "apples"};
static const char *const fruit_in_order[] = {"", "app", "apple", "apples", "fig", "pear"};

static copse_index *fruit_index(copse_ctx *ctx)
{
    struct texts texts;
    copse_index *index = bytes_index(ctx, false);
    assert_ok(ctx, copse_build(index, texts_of(&texts, fruit, COUNT_OF(fruit)), NULL, COUNT_OF(fruit)));
    return index;
}

static void assert_fruit(copse_ctx *ctx, const copse_index *index)
{
    unsigned char data[64];
    int32_t offsets[7];
    copse_bytes keys = COPSE_BYTES_INIT(data, sizeof data, offsets, 32);
    assert_ok(ctx, copse_verify(index));
    assert_int_equal(copse_size(index), COUNT_OF(fruit));
    assert_ok(ctx, copse_export(index, &keys, NULL, COUNT_OF(fruit)));
    for (uint64_t i = 0; i < COUNT_OF(fruit); i++) assert_string(&keys, i, fruit_in_order[i]);
}

/* --- order ----------------------------------------------------------------------------------------------------------- */

static void shorter_comes_first_and_zero_bytes_count(void **state)
{
    (void)state;
    static unsigned char data[] = {'a', 0, 'a', 0, 0, 0xff, 'a', 'a', 0, 'b'};
    static int32_t offsets[] = {0, 2, 5, 6, 7, 7, 10}; /* "a\0" "a\0\0" "\xff" "a" "" "a\0b" */
    static const uint64_t order[] = {4, 3, 0, 1, 5, 2};
    copse_ctx *ctx = unit_context(1);
    copse_index *index = bytes_index(ctx, false);
    const copse_bytes keys = COPSE_BYTES_INIT(data, sizeof data, offsets, 32);
    uint64_t values[6];
    assert_ok(ctx, copse_build(index, &keys, NULL, 6));
    assert_ok(ctx, copse_export(index, NULL, values, 6));
    for (size_t i = 0; i < 6; i++) assert_int_equal(values[i], order[i]);
    assert_ok(ctx, copse_verify(index));
    copse_index_free(index);
    copse_ctx_free(ctx);
}

static void keys_may_have_64_kib(void **state)
{
    (void)state;
    copse_ctx *ctx = unit_context(1);
    copse_index *index = bytes_index(ctx, false);
    const size_t longest = COPSE_LONGEST_KEY;
    unsigned char *data = must_malloc(2 * longest + 1);
    memset(data, 'k', 2 * longest + 1);
    data[longest - 1] = 'a'; /* the first differs from the second in its last byte */
    int64_t offsets[] = {0, (int64_t)longest, (int64_t)(2 * longest)};
    copse_bytes keys = COPSE_BYTES_INIT(data, 2 * longest + 1, offsets, 64);
    uint8_t found[2];
    uint64_t values[2], n;
    assert_ok(ctx, copse_build(index, &keys, NULL, 2));
    assert_ok(ctx, copse_find(index, &keys, 2, values, found));
    assert_true(found[0] && found[1] && values[0] == 0 && values[1] == 1);
    int64_t seen_offsets[3];
    unsigned char *seen = must_malloc(longest);
    copse_bytes out = COPSE_BYTES_INIT(seen, longest, seen_offsets, 64);
    copse_cursor *cursor = NULL;
    assert_ok(ctx, copse_cursor_open(index, NULL, &cursor));
    assert_ok(ctx, copse_cursor_next(cursor, &out, NULL, 2, &n)); /* as many as fit */
    assert_int_equal(n, 1);
    assert_memory_equal(seen, data, longest);
    copse_cursor_free(cursor);
    offsets[2]++; /* one byte too many */
    copse_error_info info = {.struct_size = sizeof info};
    assert_fails_naming(ctx, COPSE_ERR_ARGUMENT, "key 1 has 65537 bytes", copse_insert(index, &keys, NULL, 2, 0, NULL));
    assert_ok(ctx, copse_last_error_info(ctx, &info));
    assert_string_equal(info.argument, "keys");
    assert_int_equal(info.position, 1);
    assert_int_equal(copse_size(index), 2);
    copse_index_free(index);
    copse_ctx_free(ctx);
    free(data);
    free(seen);
}

static void the_first_offset_need_not_be_zero(void **state)
{
    (void)state;
    unsigned char data[] = "xxappfigyy";
    int32_t narrow[] = {2, 5, 5, 8};
    int64_t wide[] = {2, 5, 5, 8};
    copse_ctx *ctx = unit_context(1);
    copse_index *index = fruit_index(ctx);
    for (int bits = 32; bits <= 64; bits += 32) {
        const copse_bytes keys = COPSE_BYTES_INIT(data, 8, bits == 32 ? (void *)narrow : (void *)wide, (uint32_t)bits);
        uint64_t values[3];
        uint8_t found[3];
        assert_ok(ctx, copse_find(index, &keys, 3, values, found));
        assert_true(found[0] && found[1] && found[2]);
        assert_true(values[0] == 3 && values[1] == 1 && values[2] == 4);
    }
    copse_index_free(index);
    copse_ctx_free(ctx);
}

static void in_a_batch_the_last_wins_or_all_stay(void **state)
{
    (void)state;
    static const char *const batch[] = {"b", "a", "b", "a", "b"};
    struct texts texts;
    copse_ctx *ctx = unit_context(1);
    for (int duplicates = 0; duplicates < 1 + tree_can(COPSE_CAN_KEEP_DUPLICATES); duplicates++) {
        copse_index *index = bytes_index(ctx, duplicates);
        uint64_t values[5], inserted = 0;
        assert_ok(ctx, copse_insert(index, texts_of(&texts, batch, 5), NULL, 5, 0, &inserted));
        assert_int_equal(inserted, duplicates ? 5 : 2);
        assert_ok(ctx, copse_export(index, NULL, values, 5));
        static const uint64_t kept[2][5] = {{3, 4}, {1, 3, 0, 2, 4}};
        for (uint64_t i = 0; i < inserted; i++) assert_int_equal(values[i], kept[duplicates][i]);
        assert_ok(ctx, copse_clear(index));
        assert_ok(ctx, copse_insert(index, &texts.bytes, NULL, 5, COPSE_INSERT_IF_ABSENT, &inserted));
        assert_int_equal(inserted, 2);
        assert_ok(ctx, copse_export(index, NULL, values, 2));
        assert_true(values[0] == 1 && values[1] == 0);
        copse_index_free(index);
    }
    copse_ctx_free(ctx);
}

/* --- outputs --------------------------------------------------------------------------------------------------------- */

static void rows_say_what_they_need(void **state)
{
    (void)state;
    struct texts low;
    static const char *const from[] = {"app", "b"};
    copse_ctx *ctx = unit_context(1);
    copse_index *index = fruit_index(ctx);
    uint64_t offsets[3];
    unsigned char data[32];
    int32_t key_offsets[8];
    copse_ranges ranges = COPSE_BETWEEN(texts_of(&low, from, 2), NULL, 2);
    copse_bytes keys = COPSE_BYTES_INIT(NULL, 0, NULL, 32);
    copse_rows rows = COPSE_ROWS_INIT;
    rows.offsets = offsets;
    rows.keys = &keys;
    assert_ok(ctx, copse_range(index, &ranges, &rows)); /* sizing, of entries and of bytes */
    assert_true(offsets[1] == 5 && offsets[2] == 7);
    assert_int_equal(keys.needed, 3 + 5 + 6 + 3 + 4 + 3 + 4);
    keys.data = data;
    keys.size = keys.needed - 1;
    keys.offsets = key_offsets;
    rows.capacity = 7;
    copse_error_info info = {.struct_size = sizeof info};
    assert_fails_naming(ctx, COPSE_ERR_TOO_SMALL, "28 bytes", copse_range(index, &ranges, &rows));
    assert_ok(ctx, copse_last_error_info(ctx, &info));
    assert_int_equal(info.needed, 28);
    keys.size = keys.needed;
    rows.capacity = 6;
    assert_fails_naming(ctx, COPSE_ERR_TOO_SMALL, "7 entries", copse_range(index, &ranges, &rows));
    assert_true(keys.needed == 28 && offsets[2] == 7);
    rows.capacity = 7;
    ranges.flags = COPSE_RANGE_DESCENDING | COPSE_RANGE_LOW_OPEN;
    assert_ok(ctx, copse_range(index, &ranges, &rows));
    static const char *const want[] = {"pear", "fig", "apples", "apple", "pear", "fig"};
    assert_true(offsets[1] == 4 && offsets[2] == 6);
    for (uint64_t i = 0; i < 6; i++) assert_string(&keys, i, want[i]);
    copse_index_free(index);
    copse_ctx_free(ctx);
}

static void a_key_that_is_not_there_is_empty(void **state)
{
    (void)state;
    struct texts texts;
    static const char *const asked[] = {"zebra", "b", "pear"};
    copse_ctx *ctx = unit_context(1);
    copse_index *index = fruit_index(ctx);
    unsigned char data[16];
    int64_t offsets[4] = {9, 9, 9, 9};
    uint8_t found[3];
    uint64_t ranks[3] = {0, 0, 0};
    copse_bytes out = COPSE_BYTES_INIT(data, sizeof data, offsets, 64);
    const copse_bytes *keys = texts_of(&texts, asked, 3);
    const bool ranked = tree_can(COPSE_CAN_RANK);
    if (!ranked) {
        assert_fails_naming(ctx, COPSE_ERR_UNSUPPORTED, "ranks",
                            copse_upper_bound(index, keys, 3, &out, NULL, found, ranks));
        assert_fails_naming(ctx, COPSE_ERR_UNSUPPORTED, "ranks", copse_select(index, ranks, 1, &out, NULL, found));
    }
    assert_ok(ctx, copse_lower_bound(index, keys, 3, &out, NULL, found, ranked ? ranks : NULL));
    assert_true(!found[0] && found[1] && found[2]);
    if (ranked) assert_true(ranks[0] == 6 && ranks[1] == 4 && ranks[2] == 5);
    assert_string(&out, 0, "");
    assert_string(&out, 1, "fig");
    assert_string(&out, 2, "pear");
    assert_int_equal(out.needed, 7);
    copse_bytes sizing = COPSE_BYTES_INIT(NULL, 0, NULL, 64);
    assert_ok(ctx, copse_lower_bound(index, &texts.bytes, 3, &sizing, NULL, NULL, NULL));
    assert_int_equal(sizing.needed, 7);
    copse_index_free(index);
    copse_ctx_free(ctx);
}

static void offsets_of_32_bits_can_overflow(void **state)
{
    (void)state;
    copse_ctx *ctx = unit_context(1);
    copse_index *index = bytes_index(ctx, false);
    unsigned char *data = must_malloc(COPSE_LONGEST_KEY);
    memset(data, 'k', COPSE_LONGEST_KEY);
    int32_t offsets[] = {0, (int32_t)COPSE_LONGEST_KEY};
    const copse_bytes key = COPSE_BYTES_INIT(data, COPSE_LONGEST_KEY, offsets, 32);
    assert_ok(ctx, copse_build(index, &key, NULL, 1));
    enum { TIMES = 32768 };                           /* so often the longest key: 2^31 bytes */
    int64_t *zeros = typed_new(COPSE_I64, TIMES + 1); /* of empty strings, whose lower bound it is */
    const copse_bytes empty = COPSE_BYTES_INIT(NULL, 0, zeros, 64);
    int32_t *out_offsets = must_malloc((TIMES + 1) * sizeof *out_offsets);
    copse_bytes out = COPSE_BYTES_INIT(NULL, 0, out_offsets, 32);
    assert_fails_naming(ctx, COPSE_ERR_OVERFLOW, "2147483648 bytes",
                        copse_lower_bound(index, &empty, TIMES, &out, NULL, NULL, NULL));
    assert_int_equal(out.needed, UINT64_C(1) << 31);
    assert_ok(ctx, copse_lower_bound(index, &empty, TIMES - 1, &out, NULL, NULL, NULL));
    free(data);
    free(zeros);
    free(out_offsets);
    copse_index_free(index);
    copse_ctx_free(ctx);
}

static void a_cursor_waits_for_room(void **state)
{
    (void)state;
    struct texts texts;
    static const char *const from[] = {"app"};
    copse_ctx *ctx = unit_context(1);
    copse_index *index = fruit_index(ctx);
    unsigned char data[16];
    int32_t offsets[9];
    uint64_t n;
    copse_cursor *cursor = NULL;
    copse_ranges range = COPSE_BETWEEN(texts_of(&texts, from, 1), NULL, 1);
    range.flags = COPSE_RANGE_LOW_OPEN;
    assert_ok(ctx, copse_cursor_open(index, &range, &cursor));
    copse_bytes out = COPSE_BYTES_INIT(data, 4, offsets, 32);
    assert_fails_naming(ctx, COPSE_ERR_TOO_SMALL, "5 bytes", copse_cursor_next(cursor, &out, NULL, 8, &n));
    assert_true(n == 0 && out.needed == 5);
    out.size = 13;
    assert_ok(ctx, copse_cursor_next(cursor, &out, NULL, 8, &n)); /* apple, apples; fig does not fit */
    assert_true(n == 2 && out.needed == 11);
    assert_string(&out, 1, "apples");
    assert_ok(ctx, copse_cursor_next(cursor, &out, NULL, 8, &n));
    assert_true(n == 2);
    assert_string(&out, 0, "fig");
    assert_ok(ctx, copse_cursor_previous(cursor, &out, NULL, 1, &n));
    assert_string(&out, 0, "pear");
    out.offsets = NULL;
    out.data = NULL;
    out.size = 0;
    assert_fails_naming(ctx, COPSE_ERR_ARGUMENT, "offsets", copse_cursor_next(cursor, &out, NULL, 8, &n));
    copse_cursor_free(cursor);
    copse_index_free(index);
    copse_ctx_free(ctx);
}

/* --- prefixes -------------------------------------------------------------------------------------------------------- */

static void ranges_by_prefix(void **state)
{
    (void)state;
    static const char *const prefixes[] = {"app", "", "b", "apples", "pear!"};
    static const uint64_t want[] = {3, 6, 0, 1, 0};
    struct texts texts;
    uint64_t counts[5], n, key = 7;
    copse_ctx *ctx = unit_context(1);
    copse_index *index = fruit_index(ctx);
    copse_ranges ranges = COPSE_BETWEEN(texts_of(&texts, prefixes, 5), NULL, 5);
    ranges.flags = COPSE_RANGE_PREFIX;
    assert_ok(ctx, copse_count(index, &ranges, counts));
    for (int i = 0; i < 5; i++) assert_int_equal(counts[i], want[i]);
    unsigned char data[16];
    int32_t offsets[5];
    copse_bytes out = COPSE_BYTES_INIT(data, sizeof data, offsets, 32);
    copse_cursor *cursor = NULL;
    ranges.n = 1;
    ranges.flags |= COPSE_RANGE_DESCENDING;
    assert_ok(ctx, copse_cursor_open(index, &ranges, &cursor));
    assert_ok(ctx, copse_cursor_next(cursor, &out, NULL, 4, &n));
    assert_int_equal(n, 3);
    assert_string(&out, 0, "apples");
    assert_string(&out, 2, "app");
    copse_cursor_free(cursor);
    ranges.flags = COPSE_RANGE_PREFIX | COPSE_RANGE_HIGH_OPEN;
    assert_fails_naming(ctx, COPSE_ERR_ARGUMENT, "PREFIX", copse_count(index, &ranges, counts));
    ranges.flags = COPSE_RANGE_PREFIX;
    ranges.highs = &texts.bytes;
    assert_fails_naming(ctx, COPSE_ERR_ARGUMENT, "PREFIX", copse_count(index, &ranges, counts));
    ranges.lows = ranges.highs = NULL;
    assert_fails_naming(ctx, COPSE_ERR_ARGUMENT, "PREFIX", copse_count(index, &ranges, counts));
    copse_index_free(index);
    index = unit_tens(ctx, (struct unit_tree){COPSE_STRUCTURE_SORTED, COPSE_PLACEMENT_CPU}, 10);
    ranges.lows = &key;
    assert_fails_naming(ctx, COPSE_ERR_TYPE, "PREFIX", copse_count(index, &ranges, counts));
    assert_fails_naming(ctx, COPSE_ERR_TYPE, "u64", copse_longest_prefix(index, &key, 1, NULL, NULL, NULL));
    copse_index_free(index);
    copse_ctx_free(ctx);
}

/* Bytes that cannot grow: there is no key behind those with such a prefix. */
static void cursors_over_a_prefix_of_the_last_byte(void **state)
{
    (void)state;
    unsigned char data[] = {0xff, 0xff, 'a', 'a', 0xff, 'b', 'a', 0xff};
    int32_t offsets[] = {0, 1, 3, 4, 6, 6, 8}; /* ff, ff 'a', 'a', ff 'b', "", 'a' ff */
    copse_ctx *ctx = unit_context(1);
    copse_index *index = bytes_index(ctx, false);
    const copse_bytes keys = COPSE_BYTES_INIT(data, sizeof data, offsets, 32);
    assert_ok(ctx, copse_build(index, &keys, NULL, 6));
    for (int i = 0; i < 6; i++) {
        static const uint64_t want[] = {3, 1, 2, 1, 6, 1};
        const copse_bytes prefix = COPSE_BYTES_INIT(data, sizeof data, offsets + i, 32);
        copse_ranges range = COPSE_BETWEEN(&prefix, NULL, 1);
        copse_cursor *cursor = NULL;
        uint64_t values[8], n;
        range.flags = COPSE_RANGE_PREFIX;
        assert_ok(ctx, copse_cursor_open(index, &range, &cursor));
        assert_ok(ctx, copse_cursor_next(cursor, NULL, values, 8, &n));
        assert_int_equal(n, want[i]);
        copse_cursor_free(cursor);
    }
    copse_index_free(index);
    copse_ctx_free(ctx);
}

static void the_longest_prefix_that_is_there(void **state)
{
    (void)state;
    static const char *const asked[] = {"applesauce", "apple", "appl", "apq", "pea", "zebra"};
    static const char *const want[] = {"apples", "apple", "app", "", "", ""};
    struct texts texts;
    copse_ctx *ctx = unit_context(1);
    copse_index *index = fruit_index(ctx);
    unsigned char data[32];
    int32_t offsets[7];
    uint64_t values[6];
    uint8_t found[6];
    copse_bytes out = COPSE_BYTES_INIT(data, sizeof data, offsets, 32);
    for (int empty = 1; empty >= 0; empty--) { /* the empty string is a prefix of all */
        assert_ok(ctx, copse_longest_prefix(index, texts_of(&texts, asked, 6), 6, &out, values, found));
        for (uint64_t i = 0; i < 6; i++) {
            assert_string(&out, i, want[i]);
            assert_int_equal(found[i], empty || want[i][0]);
        }
        static const char *const nothing[] = {""};
        assert_ok(ctx, copse_erase(index, texts_of(&texts, nothing, 1), 1, NULL));
    }
    copse_index_free(index);
    copse_ctx_free(ctx);
}

/* --- refusals -------------------------------------------------------------------------------------------------------- */

static void bad_keys_are_named_and_change_nothing(void **state)
{
    (void)state;
    unsigned char data[] = "abcdef";
    int32_t good[] = {0, 2, 4, 6}, falling[] = {0, 4, 2, 6}, negative[] = {-1, 2, 4, 6}, past[] = {0, 2, 4, 7};
    const struct {
        copse_bytes keys;
        const char *named;
        uint64_t position;
    } cases[] = {
        {COPSE_BYTES_INIT(data, 6, falling, 32), "keys->offsets[2] is 2, less than the one before it, 4", 1},
        {COPSE_BYTES_INIT(data, 6, negative, 32), "keys->offsets[0] is -1", 0},
        {COPSE_BYTES_INIT(data, 6, past, 32), "keys->offsets[3] is 7, but keys->size is 6", 2},
        {COPSE_BYTES_INIT(NULL, 6, good, 32), "keys->data is NULL, but keys->size is 6", UINT64_MAX},
        {COPSE_BYTES_INIT(NULL, 0, good, 32), "keys->offsets[1] is 2, but keys->size is 0", 0},
        {COPSE_BYTES_INIT(data, 6, NULL, 32), "keys->offsets is NULL", UINT64_MAX},
        {COPSE_BYTES_INIT(data, 6, good, 16), "keys->offset_bits is 16", UINT64_MAX},
        {{2, 32, data, good, 6, 0}, "keys->struct_size is 2", UINT64_MAX},
    };
    copse_ctx *ctx = unit_context(1);
    copse_index *index = fruit_index(ctx);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const copse_bytes *keys = &cases[i].keys;
        uint8_t bytes[3] = {COPSE_OP_ERASE, COPSE_OP_ERASE, COPSE_OP_ERASE};
        copse_error_info info = {.struct_size = sizeof info};
        assert_fails_naming(ctx, COPSE_ERR_ARGUMENT, cases[i].named, copse_build(index, keys, NULL, 3));
        assert_ok(ctx, copse_last_error_info(ctx, &info));
        assert_string_equal(info.argument, "keys");
        assert_int_equal(info.position, cases[i].position);
        assert_fails_naming(ctx, COPSE_ERR_ARGUMENT, cases[i].named, copse_insert(index, keys, NULL, 3, 0, NULL));
        assert_fails_naming(ctx, COPSE_ERR_ARGUMENT, cases[i].named, copse_erase(index, keys, 3, NULL));
        assert_fails_naming(ctx, COPSE_ERR_ARGUMENT, cases[i].named,
                            copse_apply(index, bytes, keys, NULL, 3, NULL, NULL));
        assert_fails_naming(ctx, COPSE_ERR_ARGUMENT, cases[i].named, copse_contains(index, keys, 3, bytes));
        assert_fails_naming(ctx, COPSE_ERR_ARGUMENT, cases[i].named, copse_floor(index, keys, 3, NULL, NULL, bytes));
        assert_fruit(ctx, index);
    }
    copse_index_free(index);
    copse_ctx_free(ctx);
}

static void bad_ends_and_outputs_are_named(void **state)
{
    (void)state;
    unsigned char data[] = "abcdef";
    int32_t falling[] = {4, 2}, offsets[8] = {0};
    uint64_t counts[1], n;
    const copse_bytes bad = COPSE_BYTES_INIT(data, 6, falling, 32);
    copse_ctx *ctx = unit_context(1);
    copse_index *index = fruit_index(ctx);
    copse_ranges low = COPSE_BETWEEN(&bad, NULL, 1), high = COPSE_BETWEEN(NULL, &bad, 1);
    copse_cursor *cursor = NULL;
    double mean;
    assert_fails_naming(ctx, COPSE_ERR_ARGUMENT, "lows->offsets[1]", copse_count(index, &low, counts));
    assert_fails_naming(ctx, COPSE_ERR_ARGUMENT, "highs->offsets[1]", copse_count(index, &high, counts));
    assert_fails_naming(ctx, COPSE_ERR_ARGUMENT, "highs->offsets[1]", copse_avg(index, &high, &mean));
    assert_fails_naming(ctx, COPSE_ERR_ARGUMENT, "lows->offsets[1]", copse_cursor_open(index, &low, &cursor));
    assert_fails_naming(ctx, COPSE_ERR_ARGUMENT, "highs->offsets[1]", copse_cursor_open(index, &high, &cursor));
    assert_null(cursor);
    assert_ok(ctx, copse_cursor_open(index, NULL, &cursor));
    assert_fails_naming(ctx, COPSE_ERR_ARGUMENT, "key->offsets[1]", copse_cursor_seek(cursor, &bad));
    copse_cursor_free(cursor);

    copse_bytes out = COPSE_BYTES_INIT(data, 6, NULL, 32);
    assert_fails_naming(ctx, COPSE_ERR_ARGUMENT, "out_keys->offsets", copse_first(index, 1, &out, NULL, &n));
    out.offsets = offsets;
    out.data = NULL;
    assert_fails_naming(ctx, COPSE_ERR_ARGUMENT, "out_keys->data", copse_first(index, 1, &out, NULL, &n));
    out.size = 0;
    out.offset_bits = 0;
    assert_fails_naming(ctx, COPSE_ERR_ARGUMENT, "out_keys->offset_bits", copse_first(index, 3, &out, NULL, &n));
    out.offset_bits = 32;
    out.struct_size = 0;
    assert_fails_naming(ctx, COPSE_ERR_ARGUMENT, "struct_size", copse_export(index, &out, NULL, 6));
    copse_index_free(index);
    copse_ctx_free(ctx);
}

static void trees_that_take_no_bytes_say_so(void **state)
{
    (void)state;
    copse_ctx *ctx = unit_context(1);
    copse_index_options options = COPSE_INDEX_OPTIONS_INIT;
    copse_index *index = NULL;
    options.key_type = COPSE_BYTES;
    FOR_EACH_TREE(tree)
    {
        options.structure = tree->structure;
        options.placement = tree->placement;
        if (copse_supports(tree->structure, tree->placement, COPSE_U64, COPSE_CAN_TAKE_BYTES)) {
            assert_true(copse_supports(tree->structure, tree->placement, COPSE_BYTES, COPSE_CAN_EXIST));
            assert_ok(ctx, copse_index_create(ctx, &options, &index));
            copse_index_free(index);
        } else {
            assert_false(copse_supports(tree->structure, tree->placement, COPSE_BYTES, COPSE_CAN_EXIST));
            assert_fails_naming(ctx, COPSE_ERR_UNSUPPORTED, "byte strings", copse_index_create(ctx, &options, &index));
            assert_null(index);
        }
    }
    assert_true(copse_supports(COPSE_STRUCTURE_SORTED, COPSE_PLACEMENT_CPU, COPSE_BYTES, COPSE_CAN_RANK));
    options.structure = COPSE_STRUCTURE_AUTO;
    options.placement = COPSE_PLACEMENT_HYBRID_EMULATED;
    assert_fails_naming(ctx, COPSE_ERR_UNSUPPORTED, "byte strings", copse_index_create(ctx, &options, &index));
    copse_stats stats = {.struct_size = sizeof stats};
    options.placement = COPSE_PLACEMENT_EMULATED;
    assert_ok(ctx, copse_index_create(ctx, &options, &index));
    assert_ok(ctx, copse_index_stats(index, &stats));
    assert_true(stats.structure == COPSE_STRUCTURE_RADIX && stats.placement == COPSE_PLACEMENT_EMULATED);
    copse_index_free(index);
    options.placement = COPSE_PLACEMENT_AUTO;
    assert_ok(ctx, copse_index_create(ctx, &options, &index));
    assert_ok(ctx, copse_index_stats(index, &stats));
    assert_true(stats.structure == COPSE_STRUCTURE_RADIX && stats.placement == COPSE_PLACEMENT_CPU);
    assert_true(stats.key_type == COPSE_BYTES);
    assert_fails_naming(ctx, COPSE_ERR_UNSUPPORTED, "hybrid", copse_move(index, COPSE_PLACEMENT_HYBRID_EMULATED));
    assert_ok(ctx, copse_move(index, COPSE_PLACEMENT_EMULATED));
    copse_index_free(index);
    options.duplicates = 1; /* which that tree does not keep */
    assert_ok(ctx, copse_index_create(ctx, &options, &index));
    assert_ok(ctx, copse_index_stats(index, &stats));
    assert_true(stats.structure == COPSE_STRUCTURE_SORTED && stats.duplicates);
    copse_index_free(index);
    options.structure = COPSE_STRUCTURE_RADIX;
    assert_fails_naming(ctx, COPSE_ERR_UNSUPPORTED, "duplicates", copse_index_create(ctx, &options, &index));
    options.duplicates = 0;
    options.key_type = COPSE_U64; /* whatever its keys are */
    assert_ok(ctx, copse_index_create(ctx, &options, &index));
    copse_index_free(index);
    options.key_type = COPSE_BYTES;
    options.placement = COPSE_PLACEMENT_CPU;
    options.structure = COPSE_STRUCTURE_AUTO; /* as values they are no type at all */
    options.value_type = COPSE_BYTES;
    assert_fails_naming(ctx, COPSE_ERR_ARGUMENT, "value_type", copse_index_create(ctx, &options, &index));
    copse_ctx_free(ctx);
}

/* --- memory ---------------------------------------------------------------------------------------------------------- */

/* Call number `call`, of those that allocate. */
static copse_status call_number(int call, copse_index *index, copse_ctx *ctx, const copse_bytes *keys,
                                const copse_ranges *range)
{
    uint8_t operations[3] = {COPSE_OP_UPSERT, COPSE_OP_ERASE, COPSE_OP_INSERT_IF_ABSENT};
    uint64_t values[3] = {7, 8, 9};
    copse_cursor *cursor = NULL;
    copse_index *other = NULL;
    copse_status status = COPSE_OK;
    switch (call) {
    case 0:
        return copse_build(index, keys, NULL, 3);
    case 1:
        return copse_insert(index, keys, values, 3, 0, NULL);
    case 2:
        return copse_erase(index, keys, 3, NULL);
    case 3:
        return copse_apply(index, operations, keys, values, 3, NULL, NULL);
    case 4:
        status = copse_cursor_open(index, range, &cursor);
        copse_cursor_free(cursor);
        return status;
    case 5:
        status = copse_copy(index, ctx, &other);
        break;
    default:
        status = copse_freeze(index, ctx, &other);
        break;
    }
    copse_index_free(other);
    return status;
}

static void without_memory_nothing_changes(void **state)
{
    (void)state;
    static const char *const batch[] = {"fig", "kiwi", "apple"};
    struct texts texts;
    struct test_allocator allocator;
    test_allocator_init(&allocator);
    copse_ctx_options options = COPSE_CTX_OPTIONS_INIT;
    options.allocator = test_allocator_hooks(&allocator);
    for (int call = 0; call < 7; call++) {
        copse_ctx *ctx = NULL;
        assert_ok(NULL, copse_ctx_create(&options, &ctx));
        copse_index *index = fruit_index(ctx);
        const copse_bytes *keys = texts_of(&texts, batch, 3);
        const copse_ranges range = COPSE_BETWEEN(keys, keys, 1);
        int failed = 0;
        for (;; failed++) {
            test_allocator_fail_after(&allocator, failed, true);
            copse_status status = call_number(call, index, ctx, keys, &range);
            test_allocator_never_fail(&allocator);
            if (status == COPSE_OK) break;
            assert_int_equal(status, COPSE_ERR_MEMORY);
            assert_fruit(ctx, index);
        }
        /* Updates of a tree on a device ask for memory there: test_radix_device.c */
        assert_true(failed >= 2 || (call < 4 && the_tree.placement != COPSE_PLACEMENT_CPU));
        copse_index_free(index);
        copse_ctx_free(ctx);
        assert_true(test_allocator_is_clean(&allocator));
    }
}

static int stop(void *user, const char *what, uint64_t done, uint64_t total)
{
    (void)what;
    (void)done;
    (void)total;
    return (*(int *)user)-- == 0;
}

static void a_cancelled_update_changes_nothing(void **state)
{
    (void)state;
    static const char *const batch[] = {"fig", "kiwi", "apple"};
    struct texts texts;
    copse_ctx *ctx = unit_context(1);
    copse_index *index = fruit_index(ctx);
    const copse_bytes *keys = texts_of(&texts, batch, 3);
    for (int at = 0; at < 2; at++) {
        const int most = the_tree.placement == COPSE_PLACEMENT_CPU ? at : 0; /* a device asks once */
        int left = most;
        assert_ok(ctx, copse_ctx_set_progress(ctx, stop, &left));
        assert_fails(ctx, COPSE_ERR_CANCELLED, copse_insert(index, keys, NULL, 3, 0, NULL));
        left = most;
        assert_fails(ctx, COPSE_ERR_CANCELLED, copse_build(index, keys, NULL, 3));
        assert_ok(ctx, copse_ctx_set_progress(ctx, NULL, NULL));
        assert_fruit(ctx, index);
    }
    copse_index_free(index);
    copse_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shorter_comes_first_and_zero_bytes_count),
        cmocka_unit_test(keys_may_have_64_kib),
        cmocka_unit_test(the_first_offset_need_not_be_zero),
        cmocka_unit_test(in_a_batch_the_last_wins_or_all_stay),
        cmocka_unit_test(rows_say_what_they_need),
        cmocka_unit_test(a_key_that_is_not_there_is_empty),
        cmocka_unit_test(offsets_of_32_bits_can_overflow),
        cmocka_unit_test(a_cursor_waits_for_room),
        cmocka_unit_test(ranges_by_prefix),
        cmocka_unit_test(cursors_over_a_prefix_of_the_last_byte),
        cmocka_unit_test(the_longest_prefix_that_is_there),
        cmocka_unit_test(bad_keys_are_named_and_change_nothing),
        cmocka_unit_test(bad_ends_and_outputs_are_named),
        cmocka_unit_test(trees_that_take_no_bytes_say_so),
        cmocka_unit_test(without_memory_nothing_changes),
        cmocka_unit_test(a_cancelled_update_changes_nothing),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    the_tree.structure = COPSE_STRUCTURE_RADIX;
    failed += cmocka_run_group_tests(tests, NULL, NULL);
    the_tree.placement = COPSE_PLACEMENT_EMULATED;
    return failed + cmocka_run_group_tests(tests, NULL, NULL);
}
