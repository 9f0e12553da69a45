/* Rows group by group, where there are few groups:
 *
 *   rows        5 6 7 8 | 9 11 12 13       a part for each thread, which numbers the groups that it meets as they come
 *   numbers     0 1 0 0 | 0  1  1  0       of each part; then the groups of all parts are put together, and sorted
 *   rows        6 9 13 | 5 7 8 11 12       each part writes its rows to the places of their groups
 *
 * That is two passes over the rows instead of a sort. Where there are many groups the sort is as good.
 */
#include "query/run/run.h"

#include "core/threads.h"
#include "query/table/poll.h"

#define SLOTS      (4 * COPSE_FEW_GROUPS) /* open addressing: 1 + the number of a group, or 0 */
#define LEAST_ROWS 256u                   /* fewer are sorted */
#define STEP       512u                   /* rows whose cells are looked at together, column by column */
#define SHORT_TEXT 8u                     /* its bytes and its length are all of it */

/* What tells a cell from others: its code; of a text its first bytes or a hash, and its length, and if it is long its bytes decide. */
typedef struct mark {
    uint64_t code;
    uint32_t kind; /* 0: NULL; else 1 + the length of a text */
} mark;

typedef struct found_group {
    uint64_t hash;
    mark marks[COPSE_MOST_GROUPS];
    uint32_t row; /* the first */
    uint32_t number;
    uint64_t rows; /* how many, then where they go */
} found_group;

typedef struct part {
    found_group groups[COPSE_FEW_GROUPS];
    uint32_t count;
    uint16_t slots[SLOTS];
    bool has_many; /* groups, so that the others are of no use */
} part;

typedef struct grouping {
    copse_polled polled;
    const copse_table *table;
    const copse_sort_key *keys;
    uint32_t key_count;
    uint32_t *rows, *to;
    uint16_t *numbers; /* of the group of each row, in its part */
    uint64_t n, chunk; /* rows, and those of a part */
    part *parts;       /* and behind the last one that of all */
    uint64_t part_count;
} grouping;

/* ---- one group ---- */

static inline uint64_t mix_marks(uint64_t hash, mark m)
{
    return copse_mix(hash ^ m.code ^ (uint64_t)m.kind << 40);
}

static inline bool is_same(const grouping *g, const found_group *group, const mark *marks, uint32_t row)
{
    for (uint32_t i = 0; i < COPSE_MOST_GROUPS; i++) {
        if (group->marks[i].code != marks[i].code || group->marks[i].kind != marks[i].kind) return false;
        if (marks[i].kind <= 1 + SHORT_TEXT) continue;
        const copse_stored_column *column = &g->table->columns[g->keys[i].column];
        if (copse_cell_compare(column, group->row, column, row) != 0) return false;
    }
    return true;
}

/* The number of a group, which may be new; COPSE_FEW_GROUPS: there are too many. */
static inline uint32_t number_of(const grouping *g, part *p, uint64_t hash, const mark *marks, uint32_t row)
{
    uint64_t slot = hash % SLOTS;
    for (; p->slots[slot]; slot = (slot + 1) % SLOTS) {
        uint32_t number = p->slots[slot] - 1u;
        if (p->groups[number].hash == hash && is_same(g, &p->groups[number], marks, row)) return number;
    }
    if (p->count == COPSE_FEW_GROUPS) return COPSE_FEW_GROUPS;
    found_group *made = &p->groups[p->count];
    *made = (found_group){.hash = hash, .row = row};
    memcpy(made->marks, marks, sizeof made->marks);
    p->slots[slot] = (uint16_t)(p->count + 1);
    return p->count++;
}

/* ---- a part of the rows ---- */

static inline mark mark_text(const copse_stored_column *column, uint32_t row)
{
    const copse_slice text = copse_cell_text(column, row);
    uint64_t code = 0;
    if (text.length <= SHORT_TEXT)
        for (size_t i = 0; i < text.length; i++) code = code << 8 | text.start[i];
    else
        code = copse_text_hash(text, copse_slice_prefix(text));
    return (mark){code, 1 + (uint32_t)text.length};
}

/* Marks of up to STEP cells, at every COPSE_MOST_GROUPS-th place. */
static void mark_cells(const copse_stored_column *column, const uint32_t *rows, uint64_t n, mark *out)
{
    const bool is_text = copse_column_is_text(column);
    for (uint64_t i = 0; i < n; i++) {
        mark *m = &out[i * COPSE_MOST_GROUPS];
        *m = (mark){0, 0};
        if (copse_cell_valid(column, rows[i]))
            *m = is_text ? mark_text(column, rows[i]) : (mark){copse_cell_code(column, rows[i]), 1};
    }
}

/* There is one key or two; the mark of none is that of NULL. */
static void mark_rows(const grouping *g, const uint32_t *rows, uint64_t n, mark *out)
{
    mark_cells(&g->table->columns[g->keys[0].column], rows, n, out);
    if (g->key_count > 1)
        mark_cells(&g->table->columns[g->keys[1].column], rows, n, out + 1);
    else
        for (uint64_t i = 0; i < n; i++) out[i * COPSE_MOST_GROUPS + 1] = (mark){0, 0};
}

static inline uint64_t hash_of(const mark *marks)
{
    return mix_marks(mix_marks(0, marks[0]), marks[1]);
}

static bool number_step(const grouping *g, part *p, uint64_t first, uint64_t n)
{
    mark marks[STEP * COPSE_MOST_GROUPS];
    mark_rows(g, g->rows + first, n, marks);
    for (uint64_t i = 0; i < n; i++) {
        const mark *m = marks + i * COPSE_MOST_GROUPS;
        const uint32_t number = number_of(g, p, hash_of(m), m, g->rows[first + i]);
        if (number == COPSE_FEW_GROUPS) return false;
        g->numbers[first + i] = (uint16_t)number;
        p->groups[number].rows++;
    }
    return true;
}

static void number_part(void *job, uint64_t first, uint64_t end)
{
    grouping *g = job;
    part *p = &g->parts[first / g->chunk];
    p->count = 0;
    p->has_many = false;
    memset(p->slots, 0, sizeof p->slots);
    for (uint64_t at = first; at < end && !p->has_many; at += STEP) {
        if ((at - first) % COPSE_POLL_ROWS == 0 && !copse_polled_goes_on(&g->polled, at)) return;
        p->has_many = !number_step(g, p, at, end - at < STEP ? end - at : STEP);
    }
}

static void scatter_part(void *job, uint64_t first, uint64_t end)
{
    const grouping *g = job;
    const found_group *groups = g->parts[first / g->chunk].groups;
    uint64_t places[COPSE_FEW_GROUPS];
    for (uint32_t i = 0; i < g->parts[first / g->chunk].count; i++) places[i] = groups[i].rows;
    for (uint64_t i = first; i < end; i++) g->to[places[g->numbers[i]]++] = g->rows[i];
}

/* ---- all parts ---- */

/* Groups of all parts; false: they are too many. */
static bool unite(const grouping *g)
{
    part *all = &g->parts[g->part_count];
    all->count = 0;
    memset(all->slots, 0, sizeof all->slots);
    for (uint64_t i = 0; i < g->part_count; i++) {
        part *p = &g->parts[i];
        for (uint32_t j = 0; j < p->count; j++) {
            found_group *group = &p->groups[j];
            group->number = number_of(g, all, group->hash, group->marks, group->row);
            if (group->number == COPSE_FEW_GROUPS) return false;
            all->groups[group->number].rows += group->rows;
        }
        if (p->has_many) return false;
    }
    return true;
}

/* Where rows of each group go, of each part: behind those of the parts before it. */
static copse_status find_places(const grouping *g, copse_group_ends *ends)
{
    uint32_t sorted[COPSE_FEW_GROUPS];
    uint64_t at = 0;
    part *all = &g->parts[g->part_count];
    for (uint32_t i = 0; i < all->count; i++) sorted[i] = all->groups[i].row;
    copse_status status = copse_sort_rows(g->table, g->keys, g->key_count, sorted, all->count);
    for (uint32_t i = 0; status == COPSE_OK && i < all->count; i++) {
        mark marks[COPSE_MOST_GROUPS];
        mark_rows(g, &sorted[i], 1, marks);
        found_group *group = &all->groups[number_of(g, all, hash_of(marks), marks, sorted[i])];
        const uint64_t size = group->rows;
        group->rows = at;
        at += size;
        ends->ends[i] = at;
    }
    ends->count = all->count;
    for (uint64_t i = 0; i < g->part_count; i++)
        for (uint32_t j = 0; j < g->parts[i].count; j++) {
            found_group *group = &g->parts[i].groups[j];
            const uint64_t size = group->rows;
            group->rows = all->groups[group->number].rows;
            all->groups[group->number].rows += size;
        }
    return status;
}

static copse_status arrange(grouping *g, copse_group_ends *ends, bool *out_done)
{
    const copse_ctx *ctx = g->table->ctx;
    copse_status status = copse_parallel_polled(&g->polled, ctx, "grouping rows", g->n, g->chunk, number_part, g);
    if (status != COPSE_OK || !unite(g)) return status;
    status = find_places(g, ends);
    if (status != COPSE_OK) return status;
    status = copse_parallel_polled(&g->polled, ctx, "grouping rows", g->n, g->chunk, scatter_part, g);
    if (status != COPSE_OK) return status;
    memcpy(g->rows, g->to, g->n * sizeof *g->rows);
    *out_done = true;
    return COPSE_OK;
}

copse_status copse_group_rows(const copse_table *table, const copse_sort_key *keys, uint32_t key_count, uint32_t *rows,
                              uint64_t n, copse_group_ends *ends)
{
    const copse_ctx *ctx = table->ctx;
    copse_buffer numbers = {0}, copy = {0}, parts = {0};
    copse_group_ends unasked = {0};
    bool done = false;
    grouping g = {.table = table, .keys = keys, .key_count = key_count, .rows = rows, .n = n};
    ends = ends ? ends : &unasked;
    ends->count = 0;
    if (n < LEAST_ROWS) return copse_sort_rows(table, keys, key_count, rows, n);
    g.chunk = copse_even_chunk(n, copse_threads_for(ctx, n));
    g.part_count = (n + g.chunk - 1) / g.chunk;
    copse_status status = copse_buffer_reserve(ctx, &numbers, n, sizeof(uint16_t), "groups");
    if (status == COPSE_OK) status = copse_buffer_reserve(ctx, &copy, n, sizeof *rows, "groups");
    if (status == COPSE_OK) status = copse_buffer_reserve(ctx, &parts, g.part_count + 1, sizeof(part), "groups");
    for (uint32_t i = 0; status == COPSE_OK && i < key_count; i++)
        copse_cells_touch(&table->columns[keys[i].column], rows, n);
    g.numbers = numbers.data;
    g.to = copy.data;
    g.parts = parts.data;
    if (status == COPSE_OK) status = arrange(&g, ends, &done);
    copse_buffer_free(ctx, &numbers);
    copse_buffer_free(ctx, &copy);
    copse_buffer_free(ctx, &parts);
    return status == COPSE_OK && !done ? copse_sort_rows(table, keys, key_count, rows, n) : status;
}
