/* Messages on standard error, and numbers written for people. */
#define _POSIX_C_SOURCE 200809L
#include "cli/cli.h"

#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define LABEL_WIDTH 16

/* ---- messages ---- */

static void say(const char *command, const char *format, va_list arguments) __attribute__((format(printf, 2, 0)));

static void say(const char *command, const char *format, va_list arguments)
{
    fflush(stdout); /* on a terminal, results come before the complaint about what followed them */
    fprintf(stderr, "copse%s%s: ", command ? " " : "", command ? command : "");
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
}

int cli_fail(const char *command, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    say(command, format, arguments);
    va_end(arguments);
    return CLI_FAILED;
}

int cli_usage_error(const char *command, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    say(command, format, arguments);
    va_end(arguments);
    fprintf(stderr, "Try 'copse %s%s--help'.\n", command ? command : "", command ? " " : "");
    return CLI_USAGE;
}

void cli_note(const char *command, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    say(command, format, arguments);
    va_end(arguments);
}

int cli_finish(const char *command, int code)
{
    errno = 0;
    if (fflush(stdout) == 0 && !ferror(stdout)) return code;
    return cli_fail(command, "standard output could not be written: %s", strerror(errno ? errno : EIO));
}

/* ---- numbers ---- */

const char *cli_group(uint64_t number, char buffer[CLI_NUMBER_SIZE])
{
    char digits[32];
    int length = snprintf(digits, sizeof digits, "%llu", (unsigned long long)number), at = 0;
    for (int i = 0; i < length; i++) {
        if (i > 0 && (length - i) % 3 == 0) buffer[at++] = ',';
        buffer[at++] = digits[i];
    }
    buffer[at] = '\0';
    return buffer;
}

const char *cli_bytes(uint64_t bytes, char buffer[CLI_NUMBER_SIZE])
{
    static const char *const units[] = {"KiB", "MiB", "GiB", "TiB"};
    double scaled = (double)bytes / 1024;
    size_t unit = 0;
    if (bytes < 1024) {
        snprintf(buffer, CLI_NUMBER_SIZE, "%llu bytes", (unsigned long long)bytes);
        return buffer;
    }
    for (; unit < 3 && scaled >= 1023.95; unit++) scaled /= 1024;
    snprintf(buffer, CLI_NUMBER_SIZE, "%.1f %s", scaled, units[unit]);
    return buffer;
}

const char *cli_seconds(double seconds, char buffer[CLI_NUMBER_SIZE])
{
    if (seconds < 1e-3)
        snprintf(buffer, CLI_NUMBER_SIZE, "%.0f us", seconds * 1e6);
    else if (seconds < 1)
        snprintf(buffer, CLI_NUMBER_SIZE, "%.1f ms", seconds * 1e3);
    else if (seconds < 120)
        snprintf(buffer, CLI_NUMBER_SIZE, "%.2f s", seconds);
    else
        snprintf(buffer, CLI_NUMBER_SIZE, "%.0f min %02.0f s", floor(seconds / 60), floor(fmod(seconds, 60)));
    return buffer;
}

const char *cli_rate(double per_second, char buffer[CLI_NUMBER_SIZE])
{
    if (per_second < 1e3)
        snprintf(buffer, CLI_NUMBER_SIZE, "%.0f /s", per_second);
    else if (per_second < 1e6)
        snprintf(buffer, CLI_NUMBER_SIZE, "%.1f k/s", per_second / 1e3);
    else if (per_second < 1e9)
        snprintf(buffer, CLI_NUMBER_SIZE, "%.1f M/s", per_second / 1e6);
    else
        snprintf(buffer, CLI_NUMBER_SIZE, "%.1f G/s", per_second / 1e9);
    return buffer;
}

__extension__ typedef unsigned __int128 wide;

const char *cli_int128(copse_int128 number, char buffer[CLI_NUMBER_SIZE])
{
    char digits[CLI_NUMBER_SIZE];
    bool negative = number.high < 0;
    wide magnitude = (wide)(uint64_t)number.high << 64 | number.low;
    int length = 0, at = 0;
    if (negative) magnitude = -magnitude;
    do {
        digits[length++] = (char)('0' + (int)(magnitude % 10));
        magnitude /= 10;
    } while (magnitude > 0);
    if (negative) buffer[at++] = '-';
    while (length > 0) buffer[at++] = digits[--length];
    buffer[at] = '\0';
    return buffer;
}

/* ---- facts and time ---- */

void cli_fact(const char *label, const char *format, ...)
{
    va_list arguments;
    printf("  %-*s ", LABEL_WIDTH, label);
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    putchar('\n');
}

double cli_clock(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}
