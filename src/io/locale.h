/* Numbers as C writes them, whatever locale the program has set: a comma for a point would change what a file means. */
#pragma once

#include <locale.h>

/* The locale "C", made once; (locale_t)0, that of the program, where there is no memory for it. */
locale_t copse_c_locale(void);
double copse_strtod(const char *text);
float copse_strtof(const char *text);
