/* Floating numbers as the shortest text that reads back equal. */
#define _GNU_SOURCE
#include "io/cells.h"
#include "io/locale.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *copse_double(double number, int is_f32, char buffer[COPSE_NUMBER_TEXT])
{
    char text[COPSE_NUMBER_TEXT] = "nan";
    int most = is_f32 ? 9 : 17;
    const locale_t before = uselocale(copse_c_locale()); /* of this thread; printing has no locale of its own */
    if (isinf(number)) snprintf(text, sizeof text, "%sinf", number > 0 ? "" : "-");
    if (isfinite(number)) {
        /* Numbers near zero have fewer digits to give. */
        bool subnormal = fabs(number) < (is_f32 ? (double)FLT_MIN : DBL_MIN);
        for (int digits = subnormal ? 1 : is_f32 ? 6 : 15; digits <= most; digits++) {
            snprintf(text, sizeof text, "%.*g", digits, number);
            if (is_f32 ? strtof(text, NULL) == (float)number : strtod(text, NULL) == number) break;
        }
    }
    (void)uselocale(before);
    memcpy(buffer, text, sizeof text);
    return buffer;
}
