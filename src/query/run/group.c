/* Rows group by group: the groups are numbered as they come, then sorted, and rows go to the places of their groups, which is one pass over
 * each column instead of a sort. Where there are many groups the sort is as good. */
#include "query/run/run.h"

#define MOST_GROUPS 1024u
#define SLOTS       (4 * MOST_GROUPS) /* open addressing: 1 + the number of a group, or 0 */
#define LEAST_ROWS  256u              /* fewer are sorted */

typedef struct grouping {
    const copse_table *table;
    const copse_sort_key *keys;
    uint32_t key_count;
    uint32_t count;
    uint32_t firsts[MOST_GROUPS]; /* the first row of each group */
    uint64_t hashes[MOST_GROUPS];
    uint64_t places[MOST_GROUPS]; /* rows, then where they begin */
    uint16_t slots[SLOTS];
} grouping;

static uint64_t hash_row(const grouping *g, uint32_t row)
{
    uint64_t hash = 0;
    for (uint32_t i = 0; i < g->key_count; i++) {
        const copse_stored_column *column = &g->table->columns[g->keys[i].column];
        uint64_t cell = UINT64_C(0x7FB5D329728EA185); /* of NULL */
        if (copse_cell_valid(column, row) && copse_column_is_text(column)) {
            copse_slice text = copse_cell_text(column, row);
            cell = copse_text_hash(text, copse_slice_prefix(text));
        } else if (copse_cell_valid(column, row)) {
            cell = copse_cell_code(column, row);
        }
        hash = copse_mix(hash ^ cell);
    }
    return hash;
}

static bool is_same(const grouping *g, uint32_t a, uint32_t b)
{
    for (uint32_t i = 0; i < g->key_count; i++) {
        const copse_stored_column *column = &g->table->columns[g->keys[i].column];
        if (copse_cell_compare(column, a, column, b) != 0) return false;
    }
    return true;
}

/* The group of a row, which may be new; MOST_GROUPS: there are too many. */
static uint32_t group_of(grouping *g, uint32_t row)
{
    const uint64_t hash = hash_row(g, row);
    uint64_t slot = hash % SLOTS;
    for (; g->slots[slot]; slot = (slot + 1) % SLOTS) {
        uint32_t group = g->slots[slot] - 1u;
        if (g->hashes[group] == hash && is_same(g, g->firsts[group], row)) return group;
    }
    if (g->count == MOST_GROUPS) return MOST_GROUPS;
    g->firsts[g->count] = row;
    g->hashes[g->count] = hash;
    g->slots[slot] = (uint16_t)(g->count + 1);
    return g->count++;
}

/* *out_done: there are not too many groups. */
static copse_status number_rows(grouping *g, const uint32_t *rows, uint64_t n, uint16_t *groups, bool *out_done)
{
    for (uint64_t i = 0; i < n; i++) {
        copse_status status = copse_poll(g->table->ctx, "grouping rows", i, n);
        uint32_t group = group_of(g, rows[i]);
        if (status != COPSE_OK || group == MOST_GROUPS) return status;
        groups[i] = (uint16_t)group;
        g->places[group]++;
    }
    *out_done = true;
    return COPSE_OK;
}

static copse_status find_places(grouping *g)
{
    uint32_t sorted[MOST_GROUPS];
    uint64_t at = 0;
    memcpy(sorted, g->firsts, g->count * sizeof *sorted);
    copse_status status = copse_sort_rows(g->table, g->keys, g->key_count, sorted, g->count);
    for (uint32_t i = 0; status == COPSE_OK && i < g->count; i++) {
        uint32_t group = group_of(g, sorted[i]);
        uint64_t size = g->places[group];
        g->places[group] = at;
        at += size;
    }
    return status;
}

static copse_status arrange(grouping *g, uint32_t *rows, uint64_t n, bool *out_done)
{
    const copse_ctx *ctx = g->table->ctx;
    copse_buffer groups = {0}, copy = {0};
    copse_status status = copse_buffer_reserve(ctx, &groups, n, sizeof(uint16_t), "groups");
    if (status == COPSE_OK) status = number_rows(g, rows, n, groups.data, out_done);
    if (status == COPSE_OK && *out_done) status = copse_buffer_reserve(ctx, &copy, n, sizeof *rows, "groups");
    if (status == COPSE_OK && *out_done) status = find_places(g);
    if (status == COPSE_OK && *out_done) {
        uint32_t *to = copy.data;
        for (uint64_t i = 0; status == COPSE_OK && i < n; i++) {
            status = copse_poll(ctx, "grouping rows", i, n);
            to[g->places[((const uint16_t *)groups.data)[i]]++] = rows[i];
        }
        memcpy(rows, to, n * sizeof *rows);
    }
    copse_buffer_free(ctx, &groups);
    copse_buffer_free(ctx, &copy);
    return status;
}

copse_status copse_group_rows(const copse_table *table, const copse_sort_key *keys, uint32_t key_count, uint32_t *rows,
                              uint64_t n)
{
    bool done = false;
    if (n < LEAST_ROWS) return copse_sort_rows(table, keys, key_count, rows, n);
    grouping *g = copse_memory_alloc(table->ctx, sizeof *g);
    if (!g) return copse_no_memory(table->ctx, sizeof *g, "groups");
    memset(g, 0, sizeof *g);
    g->table = table;
    g->keys = keys;
    g->key_count = key_count;
    for (uint32_t i = 0; i < key_count; i++) copse_cells_touch(&table->columns[keys[i].column], rows, n);
    copse_status status = arrange(g, rows, n, &done);
    copse_memory_free(table->ctx, g, sizeof *g);
    return status == COPSE_OK && !done ? copse_sort_rows(table, keys, key_count, rows, n) : status;
}
