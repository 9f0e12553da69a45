#define _GNU_SOURCE
#include "io/locale.h"

#include <pthread.h>
#include <stdlib.h>

static locale_t c_locale;

static void make(void)
{
    c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
}

locale_t copse_c_locale(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make);
    return c_locale;
}

double copse_strtod(const char *text)
{
    const locale_t locale = copse_c_locale();
    return locale ? strtod_l(text, NULL, locale) : strtod(text, NULL);
}

float copse_strtof(const char *text)
{
    const locale_t locale = copse_c_locale();
    return locale ? strtof_l(text, NULL, locale) : strtof(text, NULL);
}
