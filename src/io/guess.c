/* Finds the type of a column from some of its cells: the narrowest kind that can hold all of them, or most of them where bad ones
 * are to be left out; and whether the column is text. */
#include "io/cells.h"

/* In the order of preference. Narrower and unsigned types are for those who ask for them. */
static const copse_type preferred[] = {COPSE_I64, COPSE_U64, COPSE_F64, COPSE_DATE, COPSE_TIMESTAMP};
#define PREFERRED (sizeof preferred / sizeof preferred[0])
_Static_assert(PREFERRED <= COPSE_GUESSES, "a count for each");

void copse_guess_start(copse_guess *guess, const copse_cell_form *form, bool for_values)
{
    *guess = (copse_guess){.form = *form};
    for (size_t i = 0; i < PREFERRED; i++)
        if (!for_values || (preferred[i] >= COPSE_U32 && preferred[i] <= COPSE_F64))
            guess->types[guess->type_count++] = preferred[i];
}

void copse_guess_start_with(copse_guess *guess, const copse_cell_form *form, copse_type type)
{
    *guess = (copse_guess){.form = *form, .types = {type}, .type_count = 1};
}

void copse_guess_add(copse_guess *guess, const char *text, size_t length)
{
    uint64_t cell = 0;
    /* A whole number can be read as a timestamp, but among dates it is more likely a mistake. */
    bool only_number = guess->type_count > 1 && copse_cell_parse(COPSE_I64, text, length, &cell) == COPSE_CELL_OK;
    bool any = only_number;
    guess->cells++;
    for (size_t i = 0; i < guess->type_count; i++) {
        if (only_number && guess->types[i] == COPSE_TIMESTAMP) continue;
        copse_cell_error error = copse_cell_parse_as(&guess->form, guess->types[i], text, length, &cell);
        const bool fits = error == COPSE_CELL_OK || error == COPSE_CELL_FINE;
        guess->fitting[i] += fits;
        any |= fits;
    }
    guess->plain += !any;
}

static size_t best(const copse_guess *guess)
{
    size_t found = 0;
    for (size_t i = 1; i < guess->type_count; i++)
        if (guess->fitting[i] > guess->fitting[found]) found = i;
    return found;
}

uint64_t copse_guess_fitting(const copse_guess *guess)
{
    return guess->fitting[best(guess)];
}

copse_type copse_guess_result(const copse_guess *guess)
{
    return guess->types[best(guess)];
}

bool copse_guess_is_text(const copse_guess *guess)
{
    return guess->plain > copse_guess_fitting(guess);
}
