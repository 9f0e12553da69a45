/* Keys of several fields: order, the way back, prefixes as ranges, and what is refused. */
#include <float.h>
#include <math.h>

#include "random.h"
#include "test_allocator.h"
#include "unit.h"

#define ROWS   200u
#define FIELDS 5u

/* A row of the model: numbers as doubles and integers are kept apart by the type of the field. */
struct cell {
    bool there;
    int64_t integer;
    double real;
    char text[6];
    size_t length;
};

struct table {
    copse_field fields[FIELDS];
    unsigned count;
    struct cell cells[ROWS][FIELDS];
    uint64_t data[FIELDS][ROWS];
    uint8_t validity[FIELDS][(ROWS + 7) / 8];
    char bytes[FIELDS][ROWS * 6];
    int64_t offsets[FIELDS][ROWS + 1];
    copse_bytes strings[FIELDS];
};

static bool is_real(uint32_t type)
{
    return type == COPSE_F32 || type == COPSE_F64;
}

static struct cell draw_cell(struct random_source *random, uint32_t type)
{
    static const int64_t edges[] = {0, 1, 2, 255, 256, INT32_MAX};
    static const double reals[] = {0.0, -0.0, 1.5, -1.5, 1e30, -1e30, INFINITY, -INFINITY};
    struct cell cell = {.there = true};
    cell.integer = edges[random_below(random, COUNT_OF(edges))];
    if (type != COPSE_U32 && type != COPSE_U64 && random_one_in(random, 2)) cell.integer = -cell.integer;
    cell.real = reals[random_below(random, COUNT_OF(reals))];
    cell.length = random_below(random, sizeof cell.text);
    for (size_t i = 0; i < cell.length; i++) cell.text[i] = "\0\1a\xff"[random_below(random, 4)];
    return cell;
}

static void cell_store(struct table *t, unsigned f, uint64_t row, const struct cell *cell)
{
    const float narrow = (float)cell->real;
    const int32_t small = (int32_t)cell->integer;
    switch (t->fields[f].type) {
    case COPSE_F32:
        memcpy((float *)(void *)t->data[f] + row, &narrow, 4);
        break;
    case COPSE_F64:
        memcpy((double *)(void *)t->data[f] + row, &cell->real, 8);
        break;
    case COPSE_BYTES:
        memcpy(t->bytes[f] + t->offsets[f][row], cell->text, cell->length);
        t->offsets[f][row + 1] = t->offsets[f][row] + (int64_t)cell->length;
        break;
    case COPSE_U64:
    case COPSE_I64:
    case COPSE_TIMESTAMP:
        memcpy(&t->data[f][row], &cell->integer, 8);
        break;
    default:
        memcpy((int32_t *)(void *)t->data[f] + row, &small, 4);
        break;
    }
    if (cell->there) t->validity[f][row / 8] |= (uint8_t)(1u << row % 8);
}

static struct table *table_make(struct random_source *random)
{
    struct table *t = calloc(1, sizeof *t);
    assert_non_null(t);
    t->count = 1 + (unsigned)random_below(random, FIELDS);
    for (unsigned f = 0; f < t->count; f++) {
        const uint32_t type = 1 + (uint32_t)random_below(random, COPSE_BYTES);
        t->fields[f] = (copse_field){.type = type, .flags = (uint32_t)random_below(random, 4)};
        const copse_bytes strings = COPSE_BYTES_INIT(t->bytes[f], sizeof t->bytes[f], t->offsets[f], 64);
        t->strings[f] = strings;
        t->fields[f].data = type == COPSE_BYTES ? (void *)&t->strings[f] : (void *)t->data[f];
        if (t->fields[f].flags & COPSE_FIELD_NULLABLE) t->fields[f].validity = t->validity[f];
    }
    for (uint64_t row = 0; row < ROWS; row++)
        for (unsigned f = 0; f < t->count; f++) {
            t->cells[row][f] = draw_cell(random, t->fields[f].type);
            if (t->fields[f].flags & COPSE_FIELD_NULLABLE) t->cells[row][f].there = !random_one_in(random, 4);
            cell_store(t, f, row, &t->cells[row][f]);
        }
    return t;
}

static int texts_compare(const struct cell *a, const struct cell *b)
{
    const size_t both = a->length < b->length ? a->length : b->length;
    const int order = memcmp(a->text, b->text, both);
    return order ? order : (a->length > b->length) - (a->length < b->length);
}

static int cells_compare(const copse_field *field, const struct cell *a, const struct cell *b)
{
    int order = a->there - b->there;
    if (a->there && b->there) {
        if (field->type == COPSE_BYTES)
            order = texts_compare(a, b);
        else if (is_real(field->type))
            order = (a->real > b->real) - (a->real < b->real);
        else
            order = (a->integer > b->integer) - (a->integer < b->integer);
    }
    return field->flags & COPSE_FIELD_DESCENDING ? -order : order;
}

static int rows_compare(const struct table *t, uint64_t a, uint64_t b, unsigned fields)
{
    int order = 0;
    for (unsigned f = 0; f < fields && order == 0; f++)
        order = cells_compare(&t->fields[f], &t->cells[a][f], &t->cells[b][f]);
    return order;
}

/* Keys in memory of their own. */
struct keys {
    copse_bytes bytes;
};

static struct keys keys_encode(copse_ctx *ctx, const struct table *t, unsigned fields, uint64_t n, uint32_t flags)
{
    struct keys keys = {COPSE_BYTES_INIT(NULL, 0, NULL, 64)};
    assert_ok(ctx, copse_encode_fields(ctx, t->fields, fields, n, flags, &keys.bytes));
    keys.bytes.size = keys.bytes.needed;
    keys.bytes.data = malloc(keys.bytes.size + 1);
    keys.bytes.offsets = calloc(n + 1, sizeof(int64_t));
    assert_true(keys.bytes.data && keys.bytes.offsets);
    assert_ok(ctx, copse_encode_fields(ctx, t->fields, fields, n, flags, &keys.bytes));
    assert_int_equal(keys.bytes.needed, keys.bytes.size);
    return keys;
}

static void keys_free(struct keys *keys)
{
    free(keys->bytes.data);
    free(keys->bytes.offsets);
}

static int keys_compare(const struct keys *keys, uint64_t a, uint64_t b)
{
    const int64_t *offsets = keys->bytes.offsets;
    const size_t m = (size_t)(offsets[a + 1] - offsets[a]), n = (size_t)(offsets[b + 1] - offsets[b]);
    const int order =
        memcmp((const char *)keys->bytes.data + offsets[a], (const char *)keys->bytes.data + offsets[b], m < n ? m : n);
    return order ? order : (m > n) - (m < n);
}

static int sign(int number)
{
    return (number > 0) - (number < 0);
}

static void keys_sort_as_their_fields_do(void **state)
{
    (void)state;
    copse_ctx *ctx = unit_context(1);
    for (uint64_t seed = 0; seed < 60; seed++) {
        struct random_source random = {seed};
        struct table *t = table_make(&random);
        struct keys keys = keys_encode(ctx, t, t->count, ROWS, 0);
        for (uint64_t a = 0; a < ROWS; a++)
            for (uint64_t b = 0; b < ROWS; b++)
                if (sign(keys_compare(&keys, a, b)) != sign(rows_compare(t, a, b, t->count)))
                    fail_msg("seed %d: rows %d and %d are in another order than their keys", (int)seed, (int)a, (int)b);
        keys_free(&keys);
        free(t);
    }
    copse_ctx_free(ctx);
}

static void fields_come_back(void **state)
{
    (void)state;
    copse_ctx *ctx = unit_context(1);
    for (uint64_t seed = 100; seed < 160; seed++) {
        struct random_source random = {seed};
        struct table *t = table_make(&random), *back = calloc(1, sizeof *back);
        assert_non_null(back);
        struct keys keys = keys_encode(ctx, t, t->count, ROWS, 0);
        const unsigned count = 1 + (unsigned)random_below(&random, t->count); /* of the first fields, too */
        for (unsigned f = 0; f < count; f++) {
            const copse_bytes strings = COPSE_BYTES_INIT(back->bytes[f], sizeof back->bytes[f], back->offsets[f], 64);
            back->strings[f] = strings;
            back->fields[f] = t->fields[f];
            back->fields[f].data = t->fields[f].type == COPSE_BYTES ? (void *)&back->strings[f] : (void *)back->data[f];
            back->fields[f].validity = t->fields[f].validity ? back->validity[f] : NULL;
            memset(back->validity[f], 0xA5, sizeof back->validity[f]); /* what was there does not count */
        }
        assert_ok(ctx, copse_decode_fields(ctx, &keys.bytes, ROWS, back->fields, count));
        for (unsigned f = 0; f < count; f++)
            if (t->fields[f].validity) assert_memory_equal(back->validity[f], t->validity[f], sizeof t->validity[f]);
        struct keys again = keys_encode(ctx, back, count, ROWS, 0), first = keys_encode(ctx, t, count, ROWS, 0);
        assert_int_equal(again.bytes.size, first.bytes.size);
        assert_memory_equal(again.bytes.data, first.bytes.data, first.bytes.size);
        keys_free(&keys);
        keys_free(&again);
        keys_free(&first);
        free(back);
        free(t);
    }
    copse_ctx_free(ctx);
}

static uint64_t rows_that(const struct table *t, uint64_t row, unsigned fields, int low, int high)
{
    uint64_t n = 0;
    for (uint64_t i = 0; i < ROWS; i++) {
        const int order = sign(rows_compare(t, i, row, fields));
        n += order >= low && order <= high;
    }
    return n;
}

/* The rows with these first fields, in the order of their keys; of rows with the same key the last. */
static uint64_t rows_with(const struct table *t, uint64_t row, unsigned fields, uint64_t *to)
{
    uint64_t n = 0;
    for (uint64_t i = 0; i < ROWS; i++) {
        bool last = rows_compare(t, i, row, fields) == 0;
        for (uint64_t j = i + 1; j < ROWS && last; j++) last = rows_compare(t, i, j, t->count) != 0;
        if (!last) continue;
        uint64_t at = n++;
        for (; at > 0 && rows_compare(t, to[at - 1], i, t->count) > 0; at--) to[at] = to[at - 1];
        to[at] = i;
    }
    return n;
}

/* What a range of the first `n` prefixes lists, and a cursor over each, forward or backward, in steps of three. */
static void assert_listed(copse_ctx *ctx, const copse_index *index, const struct table *t, unsigned fields,
                          const struct keys *first, uint64_t n, uint32_t direction)
{
    uint64_t offsets[ROWS + 1], *values = calloc(n * ROWS + 3, sizeof *values), want[ROWS];
    copse_ranges ranges = COPSE_BETWEEN(&first->bytes, NULL, n);
    copse_rows rows = COPSE_ROWS_INIT;
    assert_non_null(values);
    ranges.flags = COPSE_RANGE_PREFIX | direction;
    rows.offsets = offsets;
    rows.values = values;
    rows.capacity = n * ROWS;
    assert_ok(ctx, copse_range(index, &ranges, &rows));
    ranges.n = 1;
    for (uint64_t row = 0; row < n; row++) {
        const uint64_t count = rows_with(t, row, fields, want);
        uint64_t seen[ROWS + 3], got = 0, more = 1;
        copse_bytes one = first->bytes;
        copse_cursor *cursor = NULL;
        one.offsets = (int64_t *)one.offsets + row;
        ranges.lows = &one;
        assert_ok(ctx, copse_cursor_open(index, &ranges, &cursor));
        for (; more && got <= count; got += more) assert_ok(ctx, copse_cursor_next(cursor, NULL, seen + got, 3, &more));
        copse_cursor_free(cursor);
        assert_int_equal(got, count);
        assert_int_equal(offsets[row + 1] - offsets[row], count);
        for (uint64_t i = 0; i < count; i++) {
            const uint64_t next = want[direction ? count - 1 - i : i];
            assert_int_equal(seen[i], next);
            assert_int_equal(values[offsets[row] + i], next);
        }
    }
    free(values);
}

/* The first fields as a prefix, and everything up to them as a range, of every tree that takes such keys; of equal keys one is kept. */
static void first_fields_are_a_range(void **state)
{
    (void)state;
    static const struct unit_tree trees[] = {{COPSE_STRUCTURE_SORTED, COPSE_PLACEMENT_CPU},
                                             {COPSE_STRUCTURE_RADIX, COPSE_PLACEMENT_CPU},
                                             {COPSE_STRUCTURE_RADIX, COPSE_PLACEMENT_EMULATED}};
    copse_ctx *ctx = unit_context(1);
    for (uint64_t seed = 200; seed < 245; seed++) {
        struct random_source random = {seed};
        struct table *t = table_make(&random);
        copse_index *index = unit_index(ctx, trees[seed % COUNT_OF(trees)], COPSE_BYTES, COPSE_U64, false);
        struct keys keys = keys_encode(ctx, t, t->count, ROWS, 0);
        assert_ok(ctx, copse_build(index, &keys.bytes, NULL, ROWS));
        uint64_t all[ROWS], prefixed[ROWS], upto[ROWS];
        /* How many rows each distinct key stands for: rows are counted by the ranks of their keys. */
        const unsigned fields = 1 + (unsigned)random_below(&random, t->count);
        struct keys first = keys_encode(ctx, t, fields, ROWS, 0),
                    behind = keys_encode(ctx, t, fields, ROWS, COPSE_ENCODE_BEHIND);
        copse_ranges prefix = COPSE_BETWEEN(&first.bytes, NULL, ROWS), below = COPSE_BETWEEN(NULL, &behind.bytes, ROWS);
        copse_ranges from = COPSE_BETWEEN(&first.bytes, &behind.bytes, ROWS);
        prefix.flags = COPSE_RANGE_PREFIX;
        below.flags = from.flags = COPSE_RANGE_HIGH_OPEN;
        assert_ok(ctx, copse_count(index, &prefix, prefixed));
        assert_ok(ctx, copse_count(index, &below, upto));
        assert_ok(ctx, copse_count(index, &from, all));
        for (uint64_t row = 0; row < ROWS; row++) {
            uint64_t distinct = 0, distinct_upto = 0;
            for (uint64_t i = 0; i < ROWS; i++) {
                bool seen = false;
                for (uint64_t j = 0; j < i && !seen; j++) seen = rows_compare(t, i, j, t->count) == 0;
                const int order = rows_compare(t, i, row, fields);
                distinct += !seen && order == 0;
                distinct_upto += !seen && order <= 0;
            }
            assert_int_equal(prefixed[row], distinct);
            assert_int_equal(all[row], distinct);
            assert_int_equal(upto[row], distinct_upto);
            assert_true(rows_that(t, row, fields, 0, 0) >= distinct);
            if (row == 20) break; /* it is quadratic */
        }
        assert_listed(ctx, index, t, fields, &first, 20, seed % 2 ? COPSE_RANGE_DESCENDING : 0);
        keys_free(&keys);
        keys_free(&first);
        keys_free(&behind);
        copse_index_free(index);
        free(t);
    }
    copse_ctx_free(ctx);
}

/* Behind a key of which all bytes are 255 there is still one that is behind all others. */
static void behind_the_greatest_is_a_key(void **state)
{
    (void)state;
    copse_ctx *ctx = unit_context(1);
    uint64_t most[2] = {UINT64_MAX, UINT64_MAX};
    copse_field fields[COPSE_MOST_FIELDS];
    for (unsigned f = 0; f < COPSE_MOST_FIELDS; f++) fields[f] = (copse_field){.type = COPSE_U64, .data = most};
    unsigned char behind[1024], all[1024];
    int64_t offsets[2], all_offsets[2];
    copse_bytes to = COPSE_BYTES_INIT(behind, sizeof behind, offsets, 64),
                keys = COPSE_BYTES_INIT(all, sizeof all, all_offsets, 64);
    assert_ok(ctx, copse_encode_fields(ctx, fields, 1, 1, COPSE_ENCODE_BEHIND, &to));
    assert_ok(ctx, copse_encode_fields(ctx, fields, COPSE_MOST_FIELDS, 1, 0, &keys));
    assert_int_equal(keys.needed, 512);
    assert_true(to.needed > keys.needed);
    assert_int_equal(memcmp(behind, all, 512), 0);
    copse_ctx_free(ctx);
}

static void what_is_wrong_is_named(void **state)
{
    (void)state;
    copse_ctx *ctx = unit_context(1);
    uint32_t numbers[2] = {1, 2};
    float reals[2] = {1, NAN};
    int64_t falling[3] = {0, 5, 3}, offsets[3];
    char text[8] = "abcdefg", room[64];
    uint8_t bits = 3;
    copse_bytes out = COPSE_BYTES_INIT(room, sizeof room, offsets, 64), bad = COPSE_BYTES_INIT(text, 8, falling, 64);
    const copse_field number = {.type = COPSE_U32, .data = numbers};
    copse_field field = number;
    assert_fails_naming(NULL, COPSE_ERR_ARGUMENT, "ctx", copse_encode_fields(NULL, &field, 1, 2, 0, &out));
    assert_fails_naming(ctx, COPSE_ERR_ARGUMENT, "0 fields", copse_encode_fields(ctx, NULL, 1, 2, 0, &out));
    assert_fails_naming(ctx, COPSE_ERR_ARGUMENT, "65 fields", copse_encode_fields(ctx, &field, 65, 2, 0, &out));
    assert_fails_naming(ctx, COPSE_ERR_ARGUMENT, "flags", copse_encode_fields(ctx, &field, 1, 2, 2, &out));
    assert_fails_naming(ctx, COPSE_ERR_ARGUMENT, "out_keys", copse_encode_fields(ctx, &field, 1, 2, 0, NULL));
    field.type = COPSE_NONE;
    assert_fails_naming(ctx, COPSE_ERR_ARGUMENT, "fields[0].type", copse_encode_fields(ctx, &field, 1, 2, 0, &out));
    field = number;
    field.flags = 4;
    assert_fails_naming(ctx, COPSE_ERR_ARGUMENT, "fields[0].flags", copse_encode_fields(ctx, &field, 1, 2, 0, &out));
    field = number;
    field.validity = &bits;
    assert_fails_naming(ctx, COPSE_ERR_ARGUMENT, "validity", copse_encode_fields(ctx, &field, 1, 2, 0, &out));
    field = number;
    field.data = NULL;
    assert_fails_naming(ctx, COPSE_ERR_ARGUMENT, "fields[0].data", copse_encode_fields(ctx, &field, 1, 2, 0, &out));
    field = (copse_field){.type = COPSE_F32, .data = reals};
    assert_fails_naming(ctx, COPSE_ERR_NAN, "fields[0].data[1]", copse_encode_fields(ctx, &field, 1, 2, 0, &out));
    field = (copse_field){.type = COPSE_BYTES, .data = &bad};
    assert_fails(ctx, COPSE_ERR_ARGUMENT, copse_encode_fields(ctx, &field, 1, 2, 0, &out));
    out.size = 7;
    assert_fails(ctx, COPSE_ERR_TOO_SMALL, copse_encode_fields(ctx, &number, 1, 2, 0, &out));
    assert_int_equal(out.needed, 8);
    assert_ok(ctx, copse_encode_fields(ctx, &number, 1, 0, 0, &out)); /* no keys are no error */
    assert_int_equal(out.needed, 0);
    field.data = NULL;
    assert_ok(ctx, copse_encode_fields(ctx, &field, 1, 0, 0, &out));
    assert_ok(ctx, copse_decode_fields(ctx, NULL, 0, &field, 1));
    copse_ctx_free(ctx);
}

/* Keys that were not made of these fields. */
static void bytes_that_are_no_fields_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t n;
        copse_field field;
    } bad[] = {
        {"abc", 3, {.type = COPSE_U32}},
        {"", 0, {.type = COPSE_U32}},
        {"\2aaaa", 5, {.type = COPSE_U32, .flags = COPSE_FIELD_NULLABLE}},
        {"", 0, {.type = COPSE_U32, .flags = COPSE_FIELD_NULLABLE}},
        {"\1aaa", 4, {.type = COPSE_U32, .flags = COPSE_FIELD_NULLABLE}},
        {"abc", 3, {.type = COPSE_BYTES}},
        {"abc\0", 4, {.type = COPSE_BYTES}},
        {"abc\0\1", 5, {.type = COPSE_BYTES}},
        {"abc\0\0", 5, {.type = COPSE_BYTES, .flags = COPSE_FIELD_DESCENDING}},
    };
    copse_ctx *ctx = unit_context(1);
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        int64_t offsets[3] = {0, (int64_t)bad[i].n, (int64_t)bad[i].n};
        copse_bytes keys = COPSE_BYTES_INIT((void *)(uintptr_t)bad[i].bytes, bad[i].n, offsets, 64);
        copse_error_info info = {.struct_size = sizeof info};
        assert_fails_naming(ctx, COPSE_ERR_ARGUMENT, "key 0", copse_decode_fields(ctx, &keys, 1, &bad[i].field, 1));
        assert_ok(ctx, copse_last_error_info(ctx, &info));
        assert_int_equal(info.position, 0);
    }
    copse_ctx_free(ctx);
}

/* A key has at most COPSE_LONGEST_KEY bytes, its zeros and ends counted. */
static void keys_have_a_longest(void **state)
{
    (void)state;
    copse_ctx *ctx = unit_context(1);
    char *text = calloc(1, COPSE_LONGEST_KEY), *room = malloc(COPSE_LONGEST_KEY);
    assert_true(text && room);
    memset(text, 'a', COPSE_LONGEST_KEY);
    int64_t offsets[2] = {0, COPSE_LONGEST_KEY - 2}, to[2];
    copse_bytes strings = COPSE_BYTES_INIT(text, COPSE_LONGEST_KEY, offsets, 64),
                out = COPSE_BYTES_INIT(room, COPSE_LONGEST_KEY, to, 64);
    const copse_field field = {.type = COPSE_BYTES, .data = &strings};
    assert_ok(ctx, copse_encode_fields(ctx, &field, 1, 1, 0, &out));
    assert_int_equal(out.needed, COPSE_LONGEST_KEY);
    offsets[1]++;
    assert_fails_naming(ctx, COPSE_ERR_ARGUMENT, "key 0", copse_encode_fields(ctx, &field, 1, 1, 0, &out));
    offsets[1] = COPSE_LONGEST_KEY / 2 - 1;
    memset(text, 0, COPSE_LONGEST_KEY);
    assert_ok(ctx, copse_encode_fields(ctx, &field, 1, 1, 0, &out));
    assert_int_equal(out.needed, COPSE_LONGEST_KEY);
    offsets[1] = COPSE_LONGEST_KEY;
    assert_fails_naming(ctx, COPSE_ERR_ARGUMENT, "key 0", copse_encode_fields(ctx, &field, 1, 1, 0, &out));
    free(text);
    free(room);
    copse_ctx_free(ctx);
}

static void no_memory_is_an_error(void **state)
{
    (void)state;
    struct test_allocator allocator;
    test_allocator_init(&allocator);
    copse_ctx_options options = COPSE_CTX_OPTIONS_INIT;
    copse_ctx *ctx = NULL;
    options.allocator = test_allocator_hooks(&allocator);
    assert_ok(NULL, copse_ctx_create(&options, &ctx));
    uint32_t number = 7;
    int64_t offsets[2];
    char room[8];
    copse_bytes out = COPSE_BYTES_INIT(room, sizeof room, offsets, 64);
    const copse_field field = {.type = COPSE_U32, .data = &number};
    test_allocator_fail_after(&allocator, 0, true);
    assert_fails(ctx, COPSE_ERR_MEMORY, copse_encode_fields(ctx, &field, 1, 1, 0, &out));
    test_allocator_never_fail(&allocator);
    assert_ok(ctx, copse_encode_fields(ctx, &field, 1, 1, 0, &out));
    test_allocator_fail_after(&allocator, 0, true);
    assert_fails(ctx, COPSE_ERR_MEMORY, copse_decode_fields(ctx, &out, 1, &field, 1));
    test_allocator_never_fail(&allocator);
    copse_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_sort_as_their_fields_do), cmocka_unit_test(fields_come_back),
        cmocka_unit_test(first_fields_are_a_range),     cmocka_unit_test(behind_the_greatest_is_a_key),
        cmocka_unit_test(what_is_wrong_is_named),       cmocka_unit_test(bytes_that_are_no_fields_are_refused),
        cmocka_unit_test(keys_have_a_longest),          cmocka_unit_test(no_memory_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
