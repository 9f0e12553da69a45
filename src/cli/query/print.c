/* Tables on standard output. */
#include "cli/query/query.h"

#include <stdlib.h>
#include <string.h>

#define WIDEST_CELL 40 /* of a table for people; longer texts are cut, and end in dots */

typedef struct printer {
    cli_session *session;
    const copse_table *table;
    char *text; /* one cell */
    size_t size;
} printer;

static bool is_number(uint32_t type)
{
    return type != COPSE_STRING && type != COPSE_DATE && type != COPSE_TIMESTAMP && type != COPSE_BOOL;
}

/* A value as an element of its type. */
static void put_element(uint32_t type, copse_value value, void *out)
{
    float single = (float)value.as.f64;
    if (type == COPSE_F32)
        memcpy(out, &single, sizeof single);
    else
        memcpy(out, &value.as, copse_type_size((copse_type)type));
}

/* The cell as text in p->text. false: it is NULL. */
static bool cell_text(printer *p, uint64_t row, uint32_t column, copse_value *out)
{
    char element[8], text[COPSE_CELL_TEXT];
    uint32_t type = copse_table_column_type(p->table, column);
    if (copse_table_get(p->table, row, column, out) != COPSE_OK || out->type == 0) return false;
    size_t length = out->type == COPSE_STRING ? out->size : COPSE_CELL_TEXT;
    if (length >= p->size) {
        char *larger = realloc(p->text, length * 2 + 1);
        if (!larger) return false;
        p->text = larger;
        p->size = length * 2 + 1;
    }
    if (out->type == COPSE_STRING) {
        memcpy(p->text, out->as.text, out->size);
        p->text[out->size] = '\0';
    } else if (type == COPSE_BOOL) {
        snprintf(p->text, p->size, "%s", out->as.i64 ? "true" : "false");
    } else {
        put_element(type, *out, element);
        copse_cell_format((copse_type)type, element, text);
        snprintf(p->text, p->size, "%s", text);
    }
    return true;
}

/* ---- for people ---- */

/* Characters, not bytes, of UTF-8. */
static size_t characters_of(const char *text)
{
    size_t characters = 0;
    for (; *text; text++) characters += ((unsigned char)*text & 0xC0) != 0x80;
    return characters;
}

static size_t width_of(const char *text)
{
    size_t width = characters_of(text);
    return width < WIDEST_CELL ? width : WIDEST_CELL;
}

static void put_padded(const char *text, size_t width, bool right, bool last)
{
    const bool cut = characters_of(text) > WIDEST_CELL;
    size_t shown = width_of(text), characters = 0, most = cut ? WIDEST_CELL - 3 : WIDEST_CELL;
    if (right) printf("%*s", (int)(width - shown), "");
    for (; *text; text++) {
        characters += ((unsigned char)*text & 0xC0) != 0x80;
        if (characters > most) break;
        putchar((unsigned char)*text < 0x20 ? ' ' : *text);
    }
    if (cut) fputs("...", stdout);
    if (!right && !last) printf("%*s", (int)(width - shown), "");
    fputs(last ? "\n" : "  ", stdout);
}

static void print_aligned(printer *p, const size_t *widths)
{
    uint32_t columns = copse_table_columns(p->table);
    copse_value value;
    for (uint32_t c = 0; c < columns; c++)
        put_padded(copse_table_column_name(p->table, c), widths[c], is_number(copse_table_column_type(p->table, c)),
                   c + 1 == columns);
    for (uint64_t row = 0; row < copse_table_end(p->table) && !cli_interrupted(); row++)
        for (uint32_t c = 0; c < columns; c++)
            put_padded(cell_text(p, row, c, &value) ? p->text : "NULL", widths[c],
                       is_number(copse_table_column_type(p->table, c)), c + 1 == columns);
}

static int print_table(printer *p)
{
    uint32_t columns = copse_table_columns(p->table);
    size_t *widths = calloc(columns, sizeof *widths);
    copse_value value;
    if (!widths) return cli_fail(p->session->command, "out of memory");
    for (uint32_t c = 0; c < columns; c++) {
        widths[c] = width_of(copse_table_column_name(p->table, c));
        for (uint64_t row = 0; row < copse_table_end(p->table) && !cli_interrupted(); row++) {
            size_t width = cell_text(p, row, c, &value) ? width_of(p->text) : 4;
            if (width > widths[c]) widths[c] = width;
        }
    }
    print_aligned(p, widths);
    free(widths);
    return CLI_OK;
}

/* ---- for programs ---- */

static void put_csv(const char *text, bool is_text, bool last)
{
    bool quoted = is_text && (*text == '\0' || text[strcspn(text, ",\"\r\n")] != '\0');
    if (quoted) putchar('"');
    if (!quoted) fputs(text, stdout);
    for (; quoted && *text; text++) {
        if (*text == '"') putchar('"');
        putchar(*text);
    }
    if (quoted) putchar('"');
    putchar(last ? '\n' : ',');
}

static int print_csv(printer *p)
{
    uint32_t columns = copse_table_columns(p->table);
    copse_value value;
    for (uint32_t c = 0; c < columns; c++) put_csv(copse_table_column_name(p->table, c), true, c + 1 == columns);
    for (uint64_t row = 0; row < copse_table_end(p->table) && !cli_interrupted(); row++)
        for (uint32_t c = 0; c < columns; c++) {
            bool there = cell_text(p, row, c, &value);
            put_csv(there ? p->text : "", there && value.type == COPSE_STRING, c + 1 == columns);
        }
    return CLI_OK;
}

static void put_json(printer *p, cli_json *json, uint64_t row, uint32_t column)
{
    const char *name = copse_table_column_name(p->table, column);
    uint32_t type = copse_table_column_type(p->table, column);
    uint64_t element = 0; /* aligned for every type */
    copse_value value;
    if (!cell_text(p, row, column, &value)) {
        cli_json_null(json, name);
    } else if (type == COPSE_STRING) {
        cli_json_text(json, name, p->text);
    } else if (type == COPSE_BOOL) {
        cli_json_bool(json, name, value.as.i64 != 0);
    } else {
        put_element(type, value, &element);
        cli_json_cell(json, name, (copse_type)type, &element);
    }
}

static int print_json(printer *p)
{
    for (uint64_t row = 0; row < copse_table_end(p->table) && !cli_interrupted(); row++) {
        cli_json json;
        cli_json_begin(&json, stdout);
        for (uint32_t c = 0; c < copse_table_columns(p->table); c++) put_json(p, &json, row, c);
        cli_json_end(&json);
    }
    return CLI_OK;
}

int cli_table_print(cli_session *session, const copse_table *table, cli_query_format format)
{
    printer p = {session, table, malloc(COPSE_CELL_TEXT + 1), COPSE_CELL_TEXT + 1};
    if (!p.text) return cli_fail(session->command, "out of memory");
    int code = format == CLI_FORMAT_JSON ? print_json(&p) : format == CLI_FORMAT_CSV ? print_csv(&p) : print_table(&p);
    free(p.text);
    if (code == CLI_OK && cli_interrupted()) code = CLI_INTERRUPTED;
    return code;
}
