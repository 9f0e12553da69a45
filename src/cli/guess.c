/* Finds the type of a column from some of its cells: the narrowest kind that can hold all of them. */
#include "cli/cli.h"

/* In the order of preference. Narrower and unsigned types are for those who ask for them. */
static const copse_type preferred[] = {COPSE_I64, COPSE_U64, COPSE_F64, COPSE_DATE, COPSE_TIMESTAMP};
#define PREFERRED (sizeof preferred / sizeof preferred[0])

void cli_guess_start(cli_guess *guess, bool for_values)
{
    *guess = (cli_guess){0, 0};
    for (size_t i = 0; i < PREFERRED; i++)
        if (!for_values || cli_type_is_value(preferred[i])) guess->possible |= 1u << preferred[i];
}

bool cli_guess_add(cli_guess *guess, const char *text, size_t length)
{
    uint64_t cell = 0;
    for (size_t i = 0; i < PREFERRED; i++) {
        unsigned bit = 1u << preferred[i];
        if (!(guess->possible & bit)) continue;
        cli_cell_error error = cli_cell_parse(preferred[i], text, length, &cell);
        if (error == CLI_CELL_EMPTY) return true;
        if (error != CLI_CELL_OK) guess->possible &= ~bit;
    }
    guess->cells++;
    return guess->possible != 0;
}

copse_type cli_guess_result(const cli_guess *guess)
{
    for (size_t i = 0; i < PREFERRED; i++)
        if (guess->possible & 1u << preferred[i]) return preferred[i];
    return COPSE_I64;
}
