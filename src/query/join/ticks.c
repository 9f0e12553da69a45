/* The walk of an as-of join: both sides in the order of their keys, and a place for each group that holds its last right row so far.
 *
 *   left rows     |    piece 0    |    piece 1    |   ..     two pieces at a time on each thread: a step waits for the one before it, and
 *                                                            the other piece has something to do meanwhile
 *   right rows    |  not above the last key of the piece  |   ..
 *   last rows     none -> those of piece 0 -> of piece 1 ..  found first for all pieces but the last, then handed on
 */
#include "query/join/ticks.h"

#include "core/threads.h"

#define MOST_KEPT_GROUPS ((uint64_t)1 << 22) /* of all pieces */
#define PIECES_A_THREAD  4u
#define LEAST_PIECE      4096u

typedef struct walking {
    const copse_ticks *ticks;
    copse_polled polled;
    uint64_t pieces;
    copse_buffer last; /* uint32_t[pieces][groups + 1]: 1 + the place of a right row; 0: none */
} walking;

/* What a walk is compiled for: constants where it is called, so that each set of them has a loop of its own. */
typedef struct shape {
    uint32_t key_width, group_width;
    bool floats; /* keys are compared as such; those of pairs are codes */
    bool near;
    bool as_signed;
} shape;

static inline uint64_t key_at(const copse_ticks *t, const copse_ticks_side *side, shape s, uint64_t i)
{
    if (s.key_width == sizeof(copse_pair)) return ((const copse_pair *)side->keys)[i].key;
    if (s.key_width == 8) return ((const uint64_t *)side->keys)[i] ^ t->sign;
    if (s.key_width == 4) return ((const uint32_t *)side->keys)[i] ^ t->sign;
    return ((const uint8_t *)side->keys)[i];
}

/* The place of a group; one that the right side has not is at or beyond the last. */
static inline uint64_t group_at(const copse_ticks *t, const copse_ticks_side *side, shape s, uint64_t i)
{
    if (s.key_width == sizeof(copse_pair)) return ((const copse_pair *)side->keys)[i].value >> 32;
    if (s.group_width == 0) return 0;
    if (s.group_width == 8) return ((const uint64_t *)side->groups)[i] - t->base;
    if (s.group_width == 4) return (uint32_t)(((const uint32_t *)side->groups)[i] - (uint32_t)t->base);
    return (uint8_t)(((const uint8_t *)side->groups)[i] - (uint8_t)t->base);
}

static inline uint32_t row_at(const copse_ticks_side *side, shape s, uint64_t i)
{
    return s.key_width == sizeof(copse_pair) ? (uint32_t)((const copse_pair *)side->keys)[i].value : (uint32_t)i;
}

/* The cell of a float. */
static inline double number_of(uint32_t width, uint64_t cell)
{
    double number;
    float single;
    memcpy(&number, &cell, sizeof number);
    if (width == 8) return number;
    const uint32_t half = (uint32_t)cell;
    memcpy(&single, &half, sizeof single);
    return (double)single;
}

static inline bool is_above(shape s, uint64_t a, uint64_t b)
{
    return s.floats ? number_of(s.key_width, a) > number_of(s.key_width, b) : a > b;
}

/* The left key is not below the right one. */
static inline bool is_near(const copse_ticks *t, shape s, uint64_t left, uint64_t right)
{
    if (t->float_width == 0) return left - right <= t->whole;
    if (!s.floats && t->float_width == 8) {
        left = copse_decode_one_k64(COPSE_F64, left);
        right = copse_decode_one_k64(COPSE_F64, right);
    } else if (!s.floats) {
        left = copse_decode_one_k32(COPSE_F32, (uint32_t)left);
        right = copse_decode_one_k32(COPSE_F32, (uint32_t)right);
    }
    return left == right || number_of(t->float_width, left) - number_of(t->float_width, right) <= t->number;
}

static shape shape_of(const copse_ticks *t)
{
    return (shape){t->key_width, t->group_width, t->float_width > 0 && t->key_width != sizeof(copse_pair), t->near,
                   t->as_signed};
}

/* ---- pieces ---- */

static uint64_t left_begin(const walking *w, uint64_t piece)
{
    return (uint64_t)((copse_wide)w->ticks->left.n * piece / w->pieces);
}

/* The first right row that is above all left rows before a piece. */
static uint64_t right_begin(const walking *w, uint64_t piece)
{
    const copse_ticks *t = w->ticks;
    const shape s = shape_of(t);
    uint64_t first = left_begin(w, piece), low = 0, high = t->right.n;
    if (first == 0) return 0;
    uint64_t key = key_at(t, &t->left, s, first - 1);
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (is_above(s, key_at(t, &t->right, s, middle), key))
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static uint32_t *last_of(const walking *w, uint64_t piece)
{
    return (uint32_t *)w->last.data + piece * (w->ticks->groups + 1);
}

/* Last rows of a piece alone, for the next one. */
static void note_pieces(void *job, uint64_t first, uint64_t end)
{
    const walking *w = job;
    const shape s = shape_of(w->ticks);
    for (uint64_t piece = first; piece < end; piece++) {
        uint32_t *last = last_of(w, piece + 1);
        uint64_t stop = right_begin(w, piece + 1);
        for (uint64_t j = right_begin(w, piece); j < stop; j++)
            last[group_at(w->ticks, &w->ticks->right, s, j)] = (uint32_t)j + 1;
    }
}

static void hand_on(const walking *w)
{
    for (uint64_t piece = 2; piece < w->pieces; piece++) {
        const uint32_t *before = last_of(w, piece - 1);
        uint32_t *last = last_of(w, piece);
        for (uint64_t g = 0; g < w->ticks->groups; g++)
            if (last[g] == 0) last[g] = before[g];
    }
}

/* ---- the walk ---- */

/* Where the walk along a piece stands. */
typedef struct cursor {
    uint64_t i, j, end, right_end;
    uint32_t *last;
} cursor;

static cursor cursor_at(const walking *w, uint64_t piece)
{
    if (piece >= w->pieces) return (cursor){0};
    return (cursor){left_begin(w, piece), right_begin(w, piece), left_begin(w, piece + 1), right_begin(w, piece + 1),
                    last_of(w, piece)};
}

static inline bool is_running(const cursor *c)
{
    return c->i < c->end && c->j < c->right_end;
}

/* The partner of a left row, by what the place of its group says. */
static inline __attribute__((always_inline)) void put(const copse_ticks *t, shape s, uint64_t i, uint64_t found)
{
    uint64_t right = found - 1; /* COPSE_NO_ROW where there is none */
    if (s.near && found > 0 && !is_near(t, s, key_at(t, &t->left, s, i), key_at(t, &t->right, s, right)))
        right = COPSE_NO_ROW;
    else if (s.key_width == sizeof(copse_pair) && found > 0)
        right = row_at(&t->right, s, right);
    t->rights[row_at(&t->left, s, i)] = right;
}

/* By masks, since compilers like to make a branch of a choice, and half of its guesses would be wrong. */
static inline uint64_t choose(uint64_t mask, uint64_t a, uint64_t b)
{
    return b ^ ((a ^ b) & mask);
}

/* Whether the next left row comes before the next right one. */
static inline __attribute__((always_inline)) bool is_left_next(const copse_ticks *t, shape s, const cursor *c)
{
    if (s.as_signed) return ((const int64_t *)t->right.keys)[c->j] > ((const int64_t *)t->left.keys)[c->i];
    return is_above(s, key_at(t, &t->right, s, c->j), key_at(t, &t->left, s, c->i));
}

/* The place of the group of a row of either side; one more place is for groups that the right side has not. */
static inline __attribute__((always_inline)) uint64_t place_of(const copse_ticks *t, shape s, uint64_t is_left,
                                                               uint64_t i, uint64_t j)
{
    const uint64_t mask = 0 - is_left;
    uint64_t group = 0;
    if (s.key_width != sizeof(copse_pair) && s.group_width == 4)
        group = (uint32_t)(choose(mask, ((const uint32_t *)t->left.groups)[i], ((const uint32_t *)t->right.groups)[j]) -
                           t->base);
    else
        group = choose(mask, group_at(t, &t->left, s, i), group_at(t, &t->right, s, j));
    return group < t->groups ? group : t->groups;
}

/* Takes the smaller of the next left and right row, of equal ones the right. A left row reads the place of its group and writes back what it
 * read; what a right row reads is put where the next left row will put its own. */
static inline __attribute__((always_inline)) void step(const copse_ticks *t, shape s, cursor *c)
{
    const uint64_t is_left = is_left_next(t, s, c), place = place_of(t, s, is_left, c->i, c->j);
    const uint64_t found = c->last[place];
    c->last[place] = (uint32_t)choose(0 - is_left, found, c->j + 1);
    if (!s.near || is_left) put(t, s, c->i, found);
    c->i += is_left;
    c->j += 1 - is_left;
}

/* Left rows behind the last right one. */
static inline void finish(const copse_ticks *t, shape s, cursor *c)
{
    for (; c->i < c->end; c->i++) {
        const uint64_t group = group_at(t, &t->left, s, c->i);
        put(t, s, c->i, c->last[group < t->groups ? group : t->groups]);
    }
}

static inline uint64_t steps_left(const cursor *c)
{
    return c->end - c->i < c->right_end - c->j ? c->end - c->i : c->right_end - c->j;
}

static inline __attribute__((always_inline)) void walk(const walking *w, uint64_t piece, shape s)
{
    const copse_ticks t = *w->ticks; /* a copy, which no row that is written can change */
    cursor a = cursor_at(w, piece), b = cursor_at(w, piece + 1);
    while (is_running(&a) && is_running(&b)) {
        uint64_t steps =
            steps_left(&a) < steps_left(&b) ? steps_left(&a) : steps_left(&b); /* none of them ends before */
        for (; steps > 0; steps--) {
            step(&t, s, &a);
            step(&t, s, &b);
        }
    }
    while (is_running(&a)) step(&t, s, &a);
    while (is_running(&b)) step(&t, s, &b);
    finish(&t, s, &a);
    finish(&t, s, &b);
}

static void walk_pieces(void *job, uint64_t first, uint64_t end)
{
    walking *w = job;
    const shape s = shape_of(w->ticks);
    const uint32_t pair = sizeof(copse_pair);
    for (uint64_t piece = 2 * first; piece < 2 * end && copse_polled_goes_on(&w->polled, piece); piece += 2) {
        const bool numbers = s.key_width == 8 && s.group_width == 4;
        if (s.key_width == pair && !s.near)
            walk(w, piece, (shape){pair, 0, false, false, false});
        else if (s.key_width == pair)
            walk(w, piece, (shape){pair, 0, false, true, false});
        else if (numbers && s.as_signed && !s.near)
            walk(w, piece, (shape){8, 4, false, false, true});
        else if (numbers && s.floats && !s.near)
            walk(w, piece, (shape){8, 4, true, false, false});
        else if (numbers && s.as_signed && !s.floats)
            walk(w, piece, (shape){8, 4, false, true, true});
        else
            walk(w, piece, s);
    }
}

copse_status copse_ticks_walk(const copse_ctx *ctx, const copse_ticks *ticks)
{
    walking w = {.ticks = ticks};
    uint32_t threads = copse_threads_for(ctx, ticks->left.n);
    w.pieces = threads > 1 ? (uint64_t)threads * PIECES_A_THREAD : ticks->left.n > 2 * LEAST_PIECE ? 2 : 1;
    while (w.pieces > 1 && w.pieces * ticks->groups > MOST_KEPT_GROUPS) w.pieces /= 2;
    const uint64_t places = w.pieces * (ticks->groups + 1);
    copse_status status = copse_buffer_reserve(ctx, &w.last, places, sizeof(uint32_t), "the groups of a join");
    if (status != COPSE_OK) return status;
    memset(w.last.data, 0, places * sizeof(uint32_t));
    if (w.pieces > 1) copse_parallel(ctx, threads, w.pieces - 1, 1, note_pieces, &w);
    hand_on(&w);
    w.polled = copse_polled_begin(ctx, "joining", w.pieces);
    copse_parallel(ctx, threads, (w.pieces + 1) / 2, 1, walk_pieces, &w);
    copse_buffer_free(ctx, &w.last);
    return (copse_status)w.polled.status;
}
