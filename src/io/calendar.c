/* Days since 1970-01-01 to and from year, month and day of the Gregorian calendar, also before it was invented. */
#include "io/cells.h"

#define DAYS_PER_CYCLE  146097 /* 400 years */
#define EPOCH_FROM_ZERO 719468 /* days from 0000-03-01 to 1970-01-01 */

static int64_t floor_divide(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

/* Years here begin in March, so that the leap day is the last of its year. */
static int64_t days_before_year(int64_t year)
{
    return 365 * year + floor_divide(year, 4) - floor_divide(year, 100) + floor_divide(year, 400);
}

/* month 0 is March. */
static int days_before_month(int month)
{
    static const int days[] = {0, 31, 61, 92, 122, 153, 184, 214, 245, 275, 306, 337, 366};
    return days[month];
}

int copse_days_in_month(int64_t year, int month)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    return days[month - 1] + (month == 2 && leap);
}

int64_t copse_days_from_date(int64_t year, int month, int day)
{
    bool before_march = month < 3;
    return days_before_year(year - before_march) + days_before_month(before_march ? month + 9 : month - 3) + day - 1 -
           EPOCH_FROM_ZERO;
}

void copse_date_from_days(int64_t days, int64_t *year, int *month, int *day)
{
    int64_t since_zero = days + EPOCH_FROM_ZERO, cycle = floor_divide(since_zero, DAYS_PER_CYCLE);
    int64_t rest = since_zero - cycle * DAYS_PER_CYCLE, in_cycle = rest / 365;
    int march_month = 0;
    while (days_before_year(in_cycle) > rest) in_cycle--;
    rest -= days_before_year(in_cycle);
    while (days_before_month(march_month + 1) <= rest) march_month++;
    *day = (int)rest - days_before_month(march_month) + 1;
    *month = march_month < 10 ? march_month + 3 : march_month - 9;
    *year = cycle * 400 + in_cycle + (*month < 3);
}
