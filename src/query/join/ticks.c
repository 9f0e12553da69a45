/* As-of joins of events as files have them: both sides in the order of their keys, keys and groups whole numbers, no NULLs and no deleted
 * rows. A place for each group holds its last right row.
 *
 *   left rows     |    piece 0    |    piece 1    |   ..     each piece on a thread of its own
 *   right rows    |  not above the last key of the piece  |   ..
 *   last rows     none -> those of piece 0 -> of piece 1 ..  found first for all pieces but the last, then handed on
 */
#include "query/join/join.h"

#include "core/threads.h"

#define MOST_GROUPS      ((uint64_t)1 << 20)
#define MOST_KEPT_GROUPS ((uint64_t)1 << 22) /* of all pieces */
#define PIECES_A_THREAD  2u

typedef struct ticks {
    copse_joined *join;
    const copse_stored_column *left_on, *right_on, *left_by, *right_by; /* by: NULL where there is one group */
    uint64_t sign;                                                      /* what makes a cell its code */
    uint64_t tolerance;
    uint64_t base; /* the cell of the smallest group */
    uint64_t groups;
    uint64_t pieces;
    copse_buffer last; /* uint32_t[pieces][groups + 1] */
} ticks;

static bool is_plain(const copse_table *table, const copse_stored_column *column)
{
    return !table->alive.data && column->nulls == 0 && copse_column_is_whole(column);
}

/* ---- cells ---- */

static inline uint64_t key_at(const copse_stored_column *column, uint64_t sign, uint64_t row)
{
    const void *cells = column->cells.data;
    if (column->width == 8) return ((const uint64_t *)cells)[row] ^ sign;
    if (column->width == 4) return ((const uint32_t *)cells)[row] ^ sign;
    return ((const uint8_t *)cells)[row];
}

/* The place of a group; one that is not there is beyond the last. */
static inline uint64_t group_at(const ticks *t, const copse_stored_column *by, uint64_t row)
{
    const void *cells = by->cells.data;
    if (by->width == 0) return 0;
    if (by->width == 8) return ((const uint64_t *)cells)[row] - t->base;
    if (by->width == 4) return (uint32_t)(((const uint32_t *)cells)[row] - (uint32_t)t->base);
    return (uint8_t)(((const uint8_t *)cells)[row] - (uint8_t)t->base);
}

/* ---- pieces ---- */

static uint64_t left_begin(const ticks *t, uint64_t piece)
{
    return (uint64_t)((copse_wide)t->join->left->slots * piece / t->pieces);
}

/* The first right row that is above all left rows before a piece. */
static uint64_t right_begin(const ticks *t, uint64_t piece)
{
    uint64_t first = left_begin(t, piece), low = 0, high = t->join->right->slots;
    if (first == 0) return 0;
    uint64_t key = key_at(t->left_on, t->sign, first - 1);
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (key_at(t->right_on, t->sign, middle) > key)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static uint32_t *last_of(const ticks *t, uint64_t piece)
{
    return (uint32_t *)t->last.data + piece * (t->groups + 1);
}

/* Last rows of a piece alone, for the next one. */
static void note_pieces(void *job, uint64_t first, uint64_t end)
{
    const ticks *t = job;
    const copse_stored_column none = {0}, *by = t->right_by ? t->right_by : &none;
    for (uint64_t piece = first; piece < end; piece++) {
        uint32_t *last = last_of(t, piece + 1);
        uint64_t stop = right_begin(t, piece + 1);
        for (uint64_t j = right_begin(t, piece); j < stop; j++) last[group_at(t, by, j)] = (uint32_t)j;
    }
}

static void hand_on(const ticks *t)
{
    for (uint64_t piece = 2; piece < t->pieces; piece++) {
        const uint32_t *before = last_of(t, piece - 1);
        uint32_t *last = last_of(t, piece);
        for (uint64_t g = 0; g < t->groups; g++)
            if (last[g] == COPSE_ROW_NONE) last[g] = before[g];
    }
}

/* Widths and the need of a tolerance are constants where this is called, so that each set of them has a loop of its own. Each step takes the
 * smaller of the next left and right row, of equal ones the right; nothing is left to the guess of a branch: a left row reads the place of
 * its group and writes back what it read. */
static inline __attribute__((always_inline)) void walk(const ticks *t, uint64_t piece, uint32_t key_width,
                                                       uint32_t group_width, bool near)
{
    copse_stored_column left = *t->left_on, right = *t->right_on, left_by = {0}, right_by = {0};
    left.width = right.width = key_width;
    if (group_width > 0) left_by = *t->left_by, right_by = *t->right_by;
    left_by.width = right_by.width = group_width;
    uint32_t *last = last_of(t, piece);
    uint64_t *lefts = t->join->pairs->left.data, *rights = t->join->pairs->right.data;
    const uint64_t end = left_begin(t, piece + 1), right_end = right_begin(t, piece + 1), groups = t->groups;
    uint64_t i = left_begin(t, piece), j = right_begin(t, piece), none = COPSE_ROW_NONE;
    while (i < end && j < right_end) {
        uint64_t left_key = key_at(&left, t->sign, i), right_key = key_at(&right, t->sign, j);
        bool take_right = right_key <= left_key;
        uint64_t group = take_right ? group_at(t, &right_by, j) : group_at(t, &left_by, i);
        group = group < groups ? group : groups; /* one more place, for groups that the right side has not */
        uint64_t found = last[group];
        if (near && found != none && left_key - key_at(&right, t->sign, found) > t->tolerance && !take_right)
            found = none;
        lefts[i] = i;
        rights[i] = found == none ? COPSE_NO_ROW : found;
        last[group] = take_right ? (uint32_t)j : last[group];
        i += !take_right;
        j += take_right;
    }
    for (; i < end; i++) {
        uint64_t group = group_at(t, &left_by, i), found = last[group < groups ? group : groups];
        if (near && found != none && key_at(&left, t->sign, i) - key_at(&right, t->sign, found) > t->tolerance)
            found = none;
        lefts[i] = i;
        rights[i] = found == none ? COPSE_NO_ROW : found;
    }
}

static void walk_pieces(void *job, uint64_t first, uint64_t end)
{
    const ticks *t = job;
    const uint32_t key = t->left_on->width, group = t->left_by ? t->left_by->width : 0;
    const bool any = t->tolerance == UINT64_MAX;
    for (uint64_t piece = first; piece < end; piece++) {
        if (key == 8 && group == 4 && any)
            walk(t, piece, 8, 4, false);
        else if (key == 8 && group == 4)
            walk(t, piece, 8, 4, true);
        else if (key == 8 && group == 8)
            walk(t, piece, 8, 8, true);
        else
            walk(t, piece, key, group, true);
    }
}

/* ---- the join ---- */

/* Whether the columns are such; finds the span of the groups. */
static bool open(ticks *t)
{
    const copse_joined *join = t->join;
    uint64_t low = 0, high = 0;
    if (join->totals || !is_plain(join->left, t->left_on) || !is_plain(join->right, t->right_on)) return false;
    if (!copse_column_ascends(join->left, join->left_on) || !copse_column_ascends(join->right, join->right_on))
        return false;
    t->groups = 1;
    if (!t->left_by || !t->right_by) return true;
    if (!is_plain(join->left, t->left_by) || !is_plain(join->right, t->right_by)) return false;
    copse_cells_touch(t->left_by, NULL, join->left->slots);
    copse_cells_touch(t->right_by, NULL, join->right->slots);
    if (!copse_column_span(join->right, t->right_by, MOST_GROUPS - 1, &low, &high)) return false;
    copse_code_store(t->right_by, low, &t->base);
    t->groups = high - low + 1;
    return true;
}

static void plan_pieces(ticks *t)
{
    const copse_table *left = t->join->left;
    uint32_t threads = copse_threads_for(left->ctx, left->slots);
    t->pieces = threads > 1 ? (uint64_t)threads * PIECES_A_THREAD : 1;
    while (t->pieces > 1 && t->pieces * t->groups > MOST_KEPT_GROUPS) t->pieces /= 2;
}

copse_status copse_join_ticks(copse_joined *join, const copse_tolerance *tolerance, bool *out_done)
{
    ticks t = {.join = join, .left_on = &join->left->columns[join->left_on]};
    t.right_on = &join->right->columns[join->right_on];
    if (join->left_by != COPSE_NO_COLUMN) t.left_by = &join->left->columns[join->left_by];
    if (join->right_by != COPSE_NO_COLUMN) t.right_by = &join->right->columns[join->right_by];
    *out_done = false;
    if (!open(&t)) return COPSE_OK;
    *out_done = true;
    bool is_signed = t.left_on->type != COPSE_U32 && t.left_on->type != COPSE_U64 && t.left_on->width > 1;
    t.sign = is_signed ? UINT64_C(1) << (t.left_on->width * 8 - 1) : 0;
    t.tolerance = tolerance->any || tolerance->whole > (copse_wide)UINT64_MAX ? UINT64_MAX : (uint64_t)tolerance->whole;
    plan_pieces(&t);
    copse_status status = copse_pairs_reserve(join->pairs, join->left->slots);
    if (status == COPSE_OK)
        status = copse_buffer_reserve(join->left->ctx, &t.last, t.pieces * (t.groups + 1), sizeof(uint32_t),
                                      "the groups of a join");
    if (status == COPSE_OK) {
        memset(t.last.data, 0xFF, t.pieces * (t.groups + 1) * sizeof(uint32_t)); /* COPSE_ROW_NONE */
        uint32_t threads = t.pieces > 1 ? (uint32_t)t.pieces : 1;
        if (t.pieces > 1) copse_parallel(join->left->ctx, threads, t.pieces - 1, 1, note_pieces, &t);
        hand_on(&t);
        copse_parallel(join->left->ctx, threads, t.pieces, 1, walk_pieces, &t);
        join->pairs->n = join->left->slots;
    }
    copse_buffer_free(join->left->ctx, &t.last);
    return status;
}
