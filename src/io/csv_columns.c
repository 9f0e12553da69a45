/* Columns of a CSV file by name and by number, and how sentences show them. */
#include "io/csv_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SHOWN_BYTES   ((size_t)40) /* of a cell or name in a sentence  */
#define SHOWN_COLUMNS ((size_t)12) /* in the list of available columns */
#define SHOWN_DOUBLES ((size_t)8)  /* of columns with the same name     */

/* --- showing ---------------------------------------------------------------------------------------------------------- */

void copse_csv_show_text(char *out, size_t out_size, const char *text, size_t length)
{
    size_t shown = length < SHOWN_BYTES ? length : SHOWN_BYTES;
    while (shown < length && shown > 0 && ((unsigned char)text[shown] & 0xC0) == 0x80) shown--;
    size_t at = 0;
    out[at++] = '"';
    for (size_t i = 0; i < shown && at + 10 < out_size; i++) {
        unsigned char byte = (unsigned char)text[i];
        if (byte == '\n' || byte == '\r' || byte == '\t') {
            out[at++] = '\\';
            out[at++] = byte == '\n' ? 'n' : byte == '\r' ? 'r' : 't';
        } else if (byte < 0x20 || byte == 0x7F) {
            at += (size_t)snprintf(out + at, out_size - at, "\\x%02x", byte);
        } else {
            out[at++] = (char)byte;
        }
    }
    snprintf(out + at, out_size - at, "%s\"", shown < length ? "..." : "");
}

void copse_csv_show_column(const copse_csv *csv, size_t column, char *out, size_t out_size)
{
    const char *name = copse_csv_column_name(csv, column);
    char shown[256];
    copse_csv_show_text(shown, sizeof shown, name, strlen(name));
    if (*name)
        snprintf(out, out_size, "column %zu (%s)", column + 1, shown);
    else
        snprintf(out, out_size, "column %zu", column + 1);
}

/* --- finding ---------------------------------------------------------------------------------------------------------- */

static void list_columns(const copse_csv *csv, char *out, size_t out_size)
{
    size_t at = 0;
    out[0] = '\0';
    for (size_t i = 0; i < csv->columns; i++) {
        char shown[256];
        copse_csv_show_text(shown, sizeof shown, csv->names[i], strlen(csv->names[i]));
        int n = 0;
        if (i == SHOWN_COLUMNS || at + strlen(shown) + 24 > out_size) {
            snprintf(out + at, out_size - at, " and %zu more", csv->columns - i);
            return;
        }
        n = snprintf(out + at, out_size - at, "%s%s", i ? ", " : "", shown);
        at += (size_t)n;
    }
}

/* N of "#N", 0 if it is not of that form. */
static size_t column_number(const char *name)
{
    char *rest = NULL;
    if (name[0] != '#' || name[1] < '0' || name[1] > '9') return 0;
    unsigned long number = strtoul(name + 1, &rest, 10);
    return *rest == '\0' && number <= COPSE_CSV_MAX_COLUMNS ? (size_t)number : 0;
}

/* A number, where "#" and that number would have been a column. */
static int means_number(const copse_csv *csv, const char *name)
{
    char *rest = NULL;
    if (name[0] < '1' || name[0] > '9') return 0;
    unsigned long number = strtoul(name, &rest, 10);
    return *rest == '\0' && number <= csv->columns;
}

static copse_status no_such_column(copse_csv *csv, const char *name)
{
    char shown[256], list[320], hint[96] = "";
    copse_csv_show_text(shown, sizeof shown, name, strlen(name));
    if (means_number(csv, name))
        snprintf(hint, sizeof hint, "; column number %.16s is '#%.16s', in quotes for the shell", name, name);
    if (csv->names) {
        list_columns(csv, list, sizeof list);
        snprintf(csv->message, sizeof csv->message, "there is no column %s; the columns are %s%s", shown, list, hint);
    } else {
        snprintf(csv->message, sizeof csv->message, "there is no column %s; without a header they are #1 to #%zu%s",
                 shown, csv->columns, hint);
    }
    return COPSE_ERR_ARGUMENT;
}

/* The sentence lists every column of that name, or the first few of very many. */
static copse_status doubled_name(copse_csv *csv, const char *name, size_t same)
{
    char shown[256], numbers[96] = "", choices[128] = "";
    size_t listed = same < SHOWN_DOUBLES ? same : SHOWN_DOUBLES, seen = 0, at = 0, choices_at = 0;
    for (size_t i = 0; seen < listed; i++) {
        if (strcmp(csv->names[i], name) != 0) continue;
        seen++;
        const char *end = seen == same ? " and " : ", ", * or = seen == same ? " or " : ", ";
        at += (size_t)snprintf(numbers + at, sizeof numbers - at, "%s%zu", seen > 1 ? end : "", i + 1);
        choices_at +=
            (size_t)snprintf(choices + choices_at, sizeof choices - choices_at, "%s'#%zu'", seen > 1 ? or : "", i + 1);
    }
    const char *more = listed < same ? " and more" : "";
    copse_csv_show_text(shown, sizeof shown, name, strlen(name));
    snprintf(csv->message, sizeof csv->message, "columns %s%s are %s named %s: say %s instead, in quotes for the shell",
             numbers, more, same == 2 ? "both" : "all", shown, choices);
    return COPSE_ERR_ARGUMENT;
}

copse_status copse_csv_find_column(copse_csv *csv, const char *name, size_t *out_column)
{
    size_t number = column_number(name), found = csv->columns, same = 0;
    for (size_t i = 0; csv->names && i < csv->columns; i++) {
        if (strcmp(csv->names[i], name) != 0) continue;
        if (same++ == 0) found = i;
    }
    if (same > 1) return doubled_name(csv, name, same);
    if (found == csv->columns && number > 0 && number <= csv->columns) found = number - 1;
    *out_column = found;
    return found < csv->columns ? COPSE_OK : no_such_column(csv, name);
}
