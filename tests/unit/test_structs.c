/* Structs of callers, of every size: one that ends between two members is an older version, one that ends inside of a member is refused,
 * with the argument named. */
#include "copse_query.h"
#include "support/ranges.h"
#include "unit.h"

#define MOST_MEMBERS 20u

/* What the calls work on. */
struct structs_fixture {
    copse_ctx *ctx;
    copse_index *index, *pages, *strings;
    copse_table *table;
};

struct member {
    size_t start, end;
};

struct shape {
    const char *name; /* the argument */
    copse_status (*call)(const struct structs_fixture *f, void *given);
    const void *init; /* NULL: it is for the library to fill in */
    size_t size;
    bool whole; /* there is one version of it, of which no member may be missing */
    struct member members[MOST_MEMBERS];
};

#define MEMBER(type, name)                                                                                             \
    {                                                                                                                  \
        offsetof(type, name), offsetof(type, name) + sizeof((type *)0)->name                                           \
    }

static copse_status ctx_create(const struct structs_fixture *f, void *given)
{
    copse_ctx *ctx = NULL;
    (void)f;
    copse_status status = copse_ctx_create(given, &ctx);
    copse_ctx_free(ctx);
    return status;
}

static copse_status index_create(const struct structs_fixture *f, void *given)
{
    copse_index *index = NULL;
    copse_status status = copse_index_create(f->ctx, given, &index);
    copse_index_free(index);
    return status;
}

static copse_status load_memory(const struct structs_fixture *f, void *given)
{
    static char bytes[1 << 16];
    copse_index *index = NULL;
    uint64_t size = 0;
    assert_ok(f->ctx, copse_save_memory(f->index, bytes, sizeof bytes, &size));
    copse_status status = copse_load_memory(f->ctx, bytes, size, given, &index);
    copse_index_free(index);
    return status;
}

static copse_status contains(const struct structs_fixture *f, void *given)
{
    uint8_t found;
    return copse_contains(f->strings, given, 1, &found);
}

static copse_status count(const struct structs_fixture *f, void *given)
{
    uint64_t counted;
    return copse_count(f->index, given, &counted);
}

static copse_status range(const struct structs_fixture *f, void *given)
{
    return copse_range(f->index, BETWEEN(NULL, NULL, 0), given);
}

static copse_status visit_values(const struct structs_fixture *f, void *given)
{
    return copse_visit_values(f->index, given);
}

static copse_status pages(const struct structs_fixture *f, void *given)
{
    return copse_pages(f->pages, given);
}

static copse_status error_info(const struct structs_fixture *f, void *given)
{
    return copse_last_error_info(f->ctx, given);
}

static copse_status device_describe(const struct structs_fixture *f, void *given)
{
    (void)f;
    return copse_device_describe(0, given);
}

static copse_status ctx_describe(const struct structs_fixture *f, void *given)
{
    return copse_ctx_describe(f->ctx, given);
}

static copse_status index_stats(const struct structs_fixture *f, void *given)
{
    return copse_index_stats(f->index, given);
}

static copse_status read_csv(const struct structs_fixture *f, void *given)
{
    copse_table *table = NULL;
    return copse_table_read_csv(f->ctx, "/nowhere/at/all.csv", given, &table, NULL); /* IO is as good as OK */
}

static copse_status table_index(const struct structs_fixture *f, void *given)
{
    return copse_table_index(f->table, "id", given);
}

static copse_status index_describe(const struct structs_fixture *f, void *given)
{
    return copse_table_index_describe(f->table, 0, given);
}

static copse_status join(const struct structs_fixture *f, void *given)
{
    copse_pairs *pairs = NULL;
    copse_status status = copse_join(f->table, f->table, given, &pairs);
    copse_pairs_free(pairs);
    return status;
}

static int64_t offsets[2];
static uint64_t no_rows[1];
static const copse_bytes strings_init = COPSE_BYTES_INIT(offsets, 0, offsets, 64);
static const copse_ranges ranges_init = COPSE_BETWEEN(NULL, NULL, 1);
static const copse_rows rows_init = {sizeof rows_init, 0, no_rows, NULL, NULL, 0};
static const copse_visit_request visit_init = COPSE_VISIT_INIT(COPSE_VISIT_REDUCE);
static const copse_ctx_options ctx_init = COPSE_CTX_OPTIONS_INIT;
static const copse_index_options index_init = COPSE_INDEX_OPTIONS_INIT;
static const copse_table_csv_options csv_init = COPSE_TABLE_CSV_OPTIONS_INIT;
static const copse_table_index_options table_index_init = COPSE_TABLE_INDEX_OPTIONS_INIT;
static const copse_join_options join_init = COPSE_JOIN_OPTIONS_INIT;

#define GIVEN(function, from) .call = (function), .init = &(from), .size = sizeof(from)
#define M(name)               MEMBER(TYPE, name)

static const struct shape shapes[] = {
    {.name = "keys", GIVEN(contains, strings_init), .whole = true},
    {.name = "ranges", GIVEN(count, ranges_init), .whole = true},
    {.name = "out_rows", GIVEN(range, rows_init), .whole = true},
    {.name = "request", GIVEN(visit_values, visit_init), .whole = true},
#define TYPE copse_ctx_options
    {.name = "options",
     GIVEN(ctx_create, ctx_init),
     .members = {M(struct_size), M(threads), M(isa), M(huge_pages), M(pipeline), M(allocator), M(progress),
                 M(progress_user), M(device), M(flags), M(stream), M(device_memory)}},
#undef TYPE
#define TYPE copse_index_options
    {.name = "options",
     GIVEN(index_create, index_init),
     .members = {M(struct_size), M(key_type), M(value_type), M(structure), M(placement), M(updates), M(duplicates),
                 M(schedule), M(bucket), M(leaf_memory), M(page_order), M(long_keys)}},
    {.name = "options",
     GIVEN(load_memory, index_init),
     .members = {M(struct_size), M(key_type), M(value_type), M(structure), M(placement), M(updates), M(duplicates),
                 M(schedule), M(bucket), M(leaf_memory), M(page_order), M(long_keys)}},
#undef TYPE
#define TYPE copse_page_table
    {.name = "out_table",
     .call = pages,
     .size = sizeof(TYPE),
     .members = {M(struct_size), M(pages), M(entries), M(key_type), M(value_type), M(key_bytes), M(value_bytes),
                 M(slots), M(leaf_slots), M(ends_at), M(keys_at), M(values_at), M(reserved), M(addresses), M(counts),
                 M(version)}},
#undef TYPE
#define TYPE copse_error_info
    {.name = "out_info",
     .call = error_info,
     .size = sizeof(TYPE),
     .members = {M(struct_size), M(status), M(argument), M(position), M(needed)}},
#undef TYPE
#define TYPE copse_device_info
    {.name = "out_info",
     .call = device_describe,
     .size = sizeof(TYPE),
     .members = {M(struct_size), M(usable), M(name), M(why), M(capability_major), M(capability_minor),
                 M(multiprocessors), M(reserved), M(memory), M(memory_free), M(cache)}},
#undef TYPE
#define TYPE copse_ctx_info
    {.name = "out_info",
     .call = ctx_describe,
     .size = sizeof(TYPE),
     .members = {M(struct_size), M(threads), M(isa), M(isa_offered), M(pipeline), M(huge_pages)}},
#undef TYPE
#define TYPE copse_stats
    {.name = "out_stats",
     .call = index_stats,
     .size = sizeof(TYPE),
     .members = {M(struct_size), M(height), M(entries), M(bytes), M(aggregate_bytes), M(fill), M(structure),
                 M(placement), M(key_type), M(value_type), M(duplicates), M(saved_structure), M(version),
                 M(placement_why)}},
#undef TYPE
#define TYPE copse_table_csv_options
    {.name = "options",
     GIVEN(read_csv, csv_init),
     .members = {M(struct_size), M(flags), M(delimiter), M(decimal), M(types), M(date_format), M(nulls), M(read),
                 M(read_user), M(remark), M(remark_user)}},
#undef TYPE
#define TYPE copse_table_index_options
    {.name = "options",
     GIVEN(table_index, table_index_init),
     .members = {M(struct_size), M(unique), M(structure), M(reserved), M(sums)}},
#undef TYPE
#define TYPE copse_table_index_info
    {.name = "out_info",
     .call = index_describe,
     .size = sizeof(TYPE),
     .members = {M(struct_size), M(unique), M(columns), M(column_count), M(sums), M(structure), M(reserved),
                 M(entries)}},
#undef TYPE
#define TYPE copse_join_options
    {.name = "options",
     GIVEN(join, join_init),
     .members = {M(struct_size), M(kind), M(left_on), M(right_on), M(left_by), M(right_by), M(tolerance), M(below),
                 M(above)}},
};

static bool refused(const struct shape *shape, size_t size)
{
    bool inside = size % 4 != 0; /* as in padding of 4 bytes */
    for (const struct member *m = shape->members; m->end; m++) inside = inside || (size > m->start && size < m->end);
    return size < sizeof(uint32_t) || inside || (shape->whole && size < shape->size);
}

/* The struct lies at the end of its memory, so that AddressSanitizer sees a byte too many that is read or written. */
static void check_size(const struct structs_fixture *f, const struct shape *shape, uint32_t size)
{
    char name[64];
    char *given = malloc(size > sizeof size ? size : sizeof size);
    assert_non_null(given);
    memset(given, 0, size);
    if (shape->init) memcpy(given, shape->init, size < shape->size ? size : shape->size);
    memcpy(given, &size, sizeof size);
    (void)snprintf(name, sizeof name, "%s->struct_size is %u", shape->name, size);
    copse_status status = shape->call(f, given);
    const copse_ctx *ctx = shape->call == ctx_create || shape->call == device_describe ? NULL : f->ctx;
    const bool named = status == COPSE_ERR_ARGUMENT && strstr(copse_last_error(ctx), name);
    if (named != refused(shape, size))
        fail_msg("%s of %zu bytes with struct_size %u was %s: %s", shape->name, shape->size, size,
                 named ? "refused" : "taken", copse_last_error(ctx));
    free(given);
}

static void sizes_that_end_inside_of_a_member(void **state)
{
    (void)state;
    uint64_t ids[] = {1, 2};
    const copse_column id = {.name = "id", .type = COPSE_U64, .data = ids};
    struct structs_fixture f = {.ctx = unit_context(1)};
    f.index = unit_tens(f.ctx, (struct unit_tree){COPSE_STRUCTURE_REGULAR, COPSE_PLACEMENT_CPU}, 10);
    f.pages = unit_tens(f.ctx, (struct unit_tree){COPSE_STRUCTURE_PAGED, COPSE_PLACEMENT_EMULATED}, 10);
    f.strings = unit_index(f.ctx, (struct unit_tree){COPSE_STRUCTURE_SORTED, COPSE_PLACEMENT_CPU}, COPSE_BYTES,
                           COPSE_U64, false);
    assert_ok(f.ctx, copse_table_create(f.ctx, &id, 1, 2, &f.table));
    assert_ok(f.ctx, copse_table_index(f.table, "id", NULL));
    for (size_t s = 0; s < COUNT_OF(shapes); s++) {
        assert_true(shapes[s].whole || shapes[s].members[MOST_MEMBERS - 1].end == 0);
        for (uint32_t size = 0; size <= shapes[s].size; size++) check_size(&f, &shapes[s], size);
    }
    copse_table_free(f.table);
    copse_index_free(f.strings);
    copse_index_free(f.pages);
    copse_index_free(f.index);
    copse_ctx_free(f.ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(sizes_that_end_inside_of_a_member)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
