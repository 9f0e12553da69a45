/* JSON, one object per line: what --json prints. */
#include "cli/cli.h"

#include <math.h>

static void write_text(FILE *out, const char *text)
{
    fputc('"', out);
    for (const unsigned char *at = (const unsigned char *)text; *at; at++) {
        if (*at == '"' || *at == '\\')
            fprintf(out, "\\%c", *at);
        else if (*at == '\n')
            fputs("\\n", out);
        else if (*at == '\r')
            fputs("\\r", out);
        else if (*at == '\t')
            fputs("\\t", out);
        else if (*at < 0x20 || *at == 0x7F)
            fprintf(out, "\\u%04x", *at);
        else
            fputc(*at, out);
    }
    fputc('"', out);
}

static void write_name(cli_json *json, const char *name)
{
    if (json->comma) fputs(", ", json->out);
    json->comma = true;
    write_text(json->out, name);
    fputs(": ", json->out);
}

void cli_json_begin(cli_json *json, FILE *out)
{
    json->out = out;
    json->comma = false;
    fputc('{', out);
}

void cli_json_end(cli_json *json)
{
    fputs("}\n", json->out);
}

void cli_json_open(cli_json *json, const char *name)
{
    write_name(json, name);
    fputc('{', json->out);
    json->comma = false;
}

void cli_json_close(cli_json *json)
{
    fputc('}', json->out);
    json->comma = true;
}

void cli_json_text(cli_json *json, const char *name, const char *text)
{
    write_name(json, name);
    if (text)
        write_text(json->out, text);
    else
        fputs("null", json->out);
}

void cli_json_u64(cli_json *json, const char *name, uint64_t number)
{
    write_name(json, name);
    fprintf(json->out, "%llu", (unsigned long long)number);
}

void cli_json_double(cli_json *json, const char *name, double number)
{
    char buffer[CLI_NUMBER_SIZE];
    write_name(json, name);
    cli_double(number, 0, buffer);
    if (isfinite(number))
        fputs(buffer, json->out);
    else
        write_text(json->out, buffer);
}

void cli_json_bool(cli_json *json, const char *name, bool value)
{
    write_name(json, name);
    fputs(value ? "true" : "false", json->out);
}

void cli_json_null(cli_json *json, const char *name)
{
    write_name(json, name);
    fputs("null", json->out);
}

void cli_json_int128(cli_json *json, const char *name, copse_int128 number)
{
    char buffer[CLI_NUMBER_SIZE];
    write_name(json, name);
    fputs(cli_int128(number, buffer), json->out);
}

void cli_json_cell(cli_json *json, const char *name, copse_type type, const void *cell)
{
    char text[CLI_CELL_TEXT];
    bool number = type != COPSE_DATE && type != COPSE_TIMESTAMP;
    cli_cell_format(type, cell, text);
    if (type == COPSE_F32) number = isfinite(*(const float *)cell);
    if (type == COPSE_F64) number = isfinite(*(const double *)cell);
    write_name(json, name);
    if (number)
        fputs(text, json->out);
    else
        write_text(json->out, text);
}
