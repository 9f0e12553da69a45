/* Floating numbers as the shortest text that reads back equal. */
#define _GNU_SOURCE
#include "io/cells.h"
#include "io/locale.h"

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Numbers of up to 15 digits, few of them behind the point, as most files have them: what "%.15g" prints, and faster. Such a number has
 * one text of 15 digits or less that reads back equal. */
static bool write_short(double number, char *text)
{
    static const double powers[] = {1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6};
    const double size = fabs(number);
    if (!(size >= 1e-4 && size < 1e8)) return false;
    for (int digits = 0; digits < 7; digits++) {
        const double scaled = size * powers[digits], whole = nearbyint(scaled);
        if (whole / powers[digits] != size) continue;
        char backwards[24], *at = backwards;
        uint64_t rest = (uint64_t)whole;
        for (int i = 0; rest > 0 || i <= digits; i++, rest /= 10) {
            if (i == digits && digits > 0) *at++ = '.';
            *at++ = (char)('0' + rest % 10);
        }
        if (number < 0) *at++ = '-';
        while (at > backwards) *text++ = *--at;
        *text = '\0';
        return true;
    }
    return false;
}

const char *copse_double(double number, int is_f32, char buffer[COPSE_NUMBER_TEXT])
{
    char text[COPSE_NUMBER_TEXT] = "nan";
    if (!is_f32 && write_short(number, buffer)) return buffer;
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
