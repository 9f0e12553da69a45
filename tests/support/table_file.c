#include "table_file.h"

#include "query/file/file.h"
#include "snapshot_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void need(copse_ctx *ctx, copse_status status)
{
    if (status == COPSE_OK) return;
    fprintf(stderr, "test support: %s\n", copse_last_error(ctx));
    abort();
}

copse_table *table_of_all(copse_ctx *ctx, uint64_t rows)
{
    int64_t *ids = malloc((rows + 1) * sizeof *ids), *offsets = malloc((rows + 1) * sizeof *offsets);
    double *prices = malloc((rows + 1) * sizeof *prices);
    uint8_t *flags = malloc(rows + 1), *valid = malloc(rows / 8 + 1);
    char *text = malloc(rows * 8 + 1);
    copse_table *table = NULL;
    if (!ids || !offsets || !prices || !flags || !valid || !text) abort();
    offsets[0] = 0;
    memset(valid, 0, rows / 8 + 1);
    for (uint64_t i = 0; i < rows; i++) {
        ids[i] = (int64_t)(i * 7 % (rows + 1));
        prices[i] = (double)(i % 50) / 4;
        flags[i] = i % 3 == 0;
        if (i % 5) valid[i / 8] |= (uint8_t)(1u << (i % 8));
        offsets[i + 1] = offsets[i] + snprintf(text + offsets[i], 8, "city%llu", (unsigned long long)(i % 20));
    }
    copse_bytes names = COPSE_BYTES_INIT(text, (uint64_t)offsets[rows], offsets, 64);
    const copse_column columns[] = {{"id", COPSE_I64, 0, ids, NULL},
                                    {"price", COPSE_F64, 0, prices, valid},
                                    {"city", COPSE_STRING, 0, &names, NULL},
                                    {"flag", COPSE_BOOL, 0, flags, NULL}};
    copse_table_index_options by_id = COPSE_TABLE_INDEX_OPTIONS_INIT;
    const char *both[] = {"city", "id"};
    by_id.sums = "price";
    need(ctx, copse_table_create(ctx, columns, 4, rows, &table));
    need(ctx, copse_table_index(table, "id", &by_id));
    need(ctx, copse_table_index(table, "city", NULL));
    need(ctx, copse_table_index_columns(table, both, 2, NULL));
    if (rows > 3) need(ctx, copse_table_delete(table, &columns[0], 2, NULL));
    free(ids);
    free(offsets);
    free(prices);
    free(flags);
    free(valid);
    free(text);
    return table;
}

/* ---- forging ---- */

bool table_file_repair(unsigned char *bytes, size_t size)
{
    table_layout l = {0};
    if (size < sizeof l.header) return false;
    memcpy(&l.header, bytes, sizeof l.header);
    uint64_t directory =
        (uint64_t)l.header.column_count * sizeof(table_column) + (uint64_t)l.header.index_count * sizeof(table_index);
    if (directory <= size - sizeof l.header && l.header.names_size <= size - sizeof l.header - directory) {
        l.columns = (const table_column *)(const void *)(bytes + sizeof l.header);
        l.indexes =
            (const table_index *)(const void *)(bytes + sizeof l.header + l.header.column_count * sizeof(table_column));
        table_header header = l.header;
        bool fits = header.header_size == sizeof header && table_layout_find(&l) && l.header.file_size <= size;
        for (uint32_t i = 0; fits && i < l.header.index_count; i++) {
            table_section part = table_layout_index(&l, i);
            snapshot_repair(bytes + part.offset, (size_t)part.size);
        }
        for (uint64_t i = 0; fits && i < l.block_count; i++) {
            uint64_t sum = snapshot_checksum(bytes + l.sections_at + i * TABLE_BLOCK, TABLE_BLOCK);
            memcpy(bytes + l.checksums.offset + i * sizeof sum, &sum, sizeof sum);
        }
        if (fits) header.checksums_checksum = snapshot_checksum(bytes + l.checksums.offset, (size_t)l.checksums.size);
        header.directory_checksum = snapshot_checksum(bytes + sizeof header, (size_t)(directory + header.names_size));
        l.header = header;
    }
    l.header.checksum = table_header_checksum(&l.header);
    memcpy(bytes, &l.header, sizeof l.header);
    return true;
}

/* ---- asking ---- */

static void mix(uint64_t *digest, copse_value value)
{
    uint64_t number = value.type == COPSE_STRING ? snapshot_checksum(value.as.text, value.size) : value.as.u64;
    *digest = (*digest ^ (number + value.type)) * UINT64_C(0x9E3779B97F4A7C15);
}

static copse_status take(copse_status status, copse_table *result, uint64_t *digest)
{
    for (uint64_t row = 0; status == COPSE_OK && row < copse_table_end(result); row++)
        for (uint32_t c = 0; status == COPSE_OK && c < copse_table_columns(result); c++) {
            copse_value value = copse_value_null();
            status = copse_table_get(result, row, c, &value);
            if (status == COPSE_OK) mix(digest, value);
        }
    copse_table_free(result);
    return status;
}

/* A question: which, of a handful. Columns are found by their place, since a forged file may have other names. */
static copse_status ask(const copse_table *table, int which, uint64_t *digest)
{
    copse_query *query = NULL;
    copse_table *result = NULL;
    const char *first = copse_table_column_name(table, 0),
               *last = copse_table_column_name(table, copse_table_columns(table) - 1);
    const char *third = copse_table_columns(table) > 2 ? copse_table_column_name(table, 2) : first;
    copse_status status = copse_query_create(table, &query);
    if (which < 2) (void)copse_query_where(query, first, which ? COPSE_EQUAL : COPSE_LESS, copse_value_text("10", 2));
    if (which == 2 || which == 4) (void)copse_query_where(query, third, COPSE_EQUAL, copse_value_text("city3", 5));
    if (which == 4) (void)copse_query_where(query, first, COPSE_GREATER, copse_value_text("5", 1));
    if (which == 3) (void)copse_query_where(query, last, COPSE_IS_NOT_NULL, copse_value_null());
    if (which == 3) (void)copse_query_group_by(query, third);
    if (which == 3 || which == 5) (void)copse_query_aggregate(query, COPSE_AGGREGATE_MAX, first);
    if (which == 0)
        (void)copse_query_aggregate(query, COPSE_AGGREGATE_SUM,
                                    copse_table_columns(table) > 1 ? copse_table_column_name(table, 1) : first);
    if (which == 6) (void)copse_query_order_by(query, third, 1);
    if (which == 6) (void)copse_query_limit(query, 5, 1);
    if (status == COPSE_OK) status = copse_query_run(query, &result);
    /* Sums of forged numbers need not fit. */
    if (status == COPSE_ERR_OVERFLOW) status = COPSE_OK;
    status = result ? take(status, result, digest) : status;
    copse_query_free(query);
    return status;
}

static copse_status ask_join(const copse_table *table, uint64_t *digest)
{
    copse_join_options options = COPSE_JOIN_OPTIONS_INIT;
    copse_pairs *pairs = NULL;
    options.left_on = options.right_on = copse_table_column_name(table, 0);
    options.kind = COPSE_JOIN_SEMI;
    copse_status status = copse_join(table, table, &options, &pairs);
    if (status == COPSE_OK) mix(digest, copse_value_u64(copse_pairs_count(pairs)));
    copse_pairs_free(pairs);
    return status;
}

copse_status table_ask(const copse_table *table, uint64_t *out_digest)
{
    copse_status status = COPSE_OK;
    *out_digest = 0;
    for (int i = 0; status == COPSE_OK && i < 7; i++) status = ask(table, i, out_digest);
    return status == COPSE_OK ? ask_join(table, out_digest) : status;
}
