/* Text to and from cells: one element of a type, the type that fits a column, dates, the words that stand for nothing. */
#pragma once

#include "copse.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- cells.c: text to and from one element of a copse_type ---- */

#define COPSE_CELL_SIZE 8 /* the widest element */
#define COPSE_CELL_TEXT 64

typedef enum copse_cell_error {
    COPSE_CELL_OK = 0,
    COPSE_CELL_EMPTY,
    COPSE_CELL_FORM,  /* not of that type at all       */
    COPSE_CELL_RANGE, /* the type cannot hold it       */
    COPSE_CELL_FINE,  /* a time finer than microseconds */
    COPSE_CELL_MEMORY,
} copse_cell_error;

/* Blanks around the text are passed over. What follows the text must not be a digit or letter (cells end in NUL). COPSE_BYTES is
 * only checked, blanks and all: text has no element to be put into. */
copse_cell_error copse_cell_parse(copse_type type, const char *text, size_t length, void *out);
/* The same for a table in which numbers or dates are written in another way. */
typedef struct copse_cell_form {
    const char *date_format; /* as copse_date_format_check takes it, NULL: as copse writes dates */
    char decimal;            /* ',' where decimals have a comma, else 0 or '.' */
} copse_cell_form;

/* COPSE_CELL_FINE: *out is set, without the digits below a microsecond. */
copse_cell_error copse_cell_parse_as(const copse_cell_form *form, copse_type type, const char *text, size_t length,
                                     void *out);
/* The end of a range: a timestamp that is a date alone stands for the last moment of that day. */
copse_cell_error copse_cell_parse_end(copse_type type, const char *text, size_t length, void *out);
/* Why text did not parse, as the end of a sentence that began with the text: "is not a whole number". */
const char *copse_cell_problem(copse_type type, copse_cell_error error);
/* Text that copse_cell_parse reads back as the same element. Returns its length. */
size_t copse_cell_format(copse_type type, const void *cell, char text[COPSE_CELL_TEXT]);
static inline bool copse_cell_is_nan(copse_type type, const void *cell)
{
    if (type == COPSE_F32) return isnan(*(const float *)cell);
    return type == COPSE_F64 && isnan(*(const double *)cell);
}
/* The smallest and the largest element of a type (infinities for floats), nothing of text. */
void copse_cell_smallest(copse_type type, void *out);
void copse_cell_largest(copse_type type, void *out);
/* ---- date_format.c: --date-format ---- */

/* Whether a format says enough and nothing unknown, and whether it has a time of day. On failure the end of a sentence is in
 * problem. */
bool copse_date_format_check(const char *format, bool *has_time, char *problem, size_t problem_size);

/* ---- calendar.c ---- */

int64_t copse_days_from_date(int64_t year, int month, int day);
void copse_date_from_days(int64_t days, int64_t *year, int *month, int *day);
int copse_days_in_month(int64_t year, int month);

/* ---- guess.c: the type that fits every cell of a column ---- */

#define COPSE_GUESSES 5

typedef struct copse_guess {
    copse_cell_form form;
    copse_type types[COPSE_GUESSES];
    uint64_t fitting[COPSE_GUESSES]; /* cells that each type can hold */
    size_t type_count;
    uint64_t cells;
    uint64_t plain; /* cells that no type can hold */
} copse_guess;

/* Any type that keys, or values, may have. */
void copse_guess_start(copse_guess *guess, const copse_cell_form *form, bool for_values);
/* Just this type: how many cells fit it in this form? */
void copse_guess_start_with(copse_guess *guess, const copse_cell_form *form, copse_type type);
void copse_guess_add(copse_guess *guess, const char *text, size_t length);
/* The type that most cells fit, and how many do. */
copse_type copse_guess_result(const copse_guess *guess);
uint64_t copse_guess_fitting(const copse_guess *guess);
/* Whether the column is text: more cells are of no type than there are of any one. A few that are not like the others are bad
 * ones. */
bool copse_guess_is_text(const copse_guess *guess);

/* ---- delimiter.c ---- */

/* The one of , ; | and tab that fits the first rows best. */
char copse_delimiter_guess(const char *text, size_t size);

/* ---- nulls.c: cells that stand for no value ---- */

#define COPSE_NULLS 64

typedef struct copse_nulls {
    struct {
        const char *text;
        size_t length;
    } words[COPSE_NULLS];
    size_t count;
    bool first[256]; /* bytes that one of them begins with */
} copse_nulls;

/* Adds the words of a list with commas between; NULL: those that people use. false: more than COPSE_NULLS in all. */
bool copse_nulls_add(copse_nulls *nulls, const char *list);
/* Blanks around the text do not count. A cell of nothing else is a null, too. */
bool copse_nulls_has(const copse_nulls *nulls, const char *text, size_t length);

/* ---- number.c ---- */

/* The shortest text that reads back equal. */
#define COPSE_NUMBER_TEXT 48
const char *copse_double(double number, int is_f32, char buffer[COPSE_NUMBER_TEXT]);

/* ---- nearest.c ---- */

/* The candidate closest to a misspelt word, or NULL when none is close. */
const char *copse_nearest(const char *word, const char *const *candidates, size_t count);
