/* JSON, one object per line: what --json prints. */
#include "cli/key_text.h"

#include <math.h>
#include <string.h>

/* A character that JSON or a terminal does not take as it is. */
static void write_escaped(FILE *out, unsigned character)
{
    static const char names[] = "\"\"\\\\\nn\rr\tt";
    const char *name = character && character < 0x80 ? strchr(names, (int)character) : NULL;
    if (name)
        fprintf(out, "\\%c", name[1]);
    else
        fprintf(out, "\\u%04x", character);
}

static bool is_escaped(const unsigned char *at, size_t length)
{
    return *at < 0x20 || *at == '"' || *at == '\\' || *at == 0x7F || (length == 2 && *at == 0xC2 && at[1] < 0xA0);
}

/* Bytes from the start on that are written as they are, whatever stands next to them. */
static size_t plain_run(const char *text, size_t size)
{
    size_t n = 0;
    while (n < size && text[n] >= 0x20 && text[n] < 0x7F && text[n] != '"' && text[n] != '\\') n++;
    return n;
}

static void write_bytes(FILE *out, const char *text, size_t size)
{
    fputc('"', out);
    for (size_t at = 0; at < size;) {
        size_t run = plain_run(text + at, size - at);
        if (run > 0) fwrite(text + at, 1, run, out);
        at += run;
        if (at == size) break;
        size_t length = cli_utf8_length(text + at, size - at);
        const unsigned char *start = (const unsigned char *)text + at;
        if (length == 0)
            write_escaped(out, 0xFFFD);
        else if (is_escaped(start, length))
            write_escaped(out, start[length - 1]); /* of two bytes, the second one is the character's number */
        else
            fwrite(start, 1, length, out);
        at += length ? length : 1;
    }
    fputc('"', out);
}

static void write_text(FILE *out, const char *text)
{
    write_bytes(out, text, strlen(text));
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
    copse_double(number, 0, buffer);
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
    char text[COPSE_CELL_TEXT];
    bool number = type != COPSE_DATE && type != COPSE_TIMESTAMP;
    copse_cell_format(type, cell, text);
    if (type == COPSE_F32) number = isfinite(*(const float *)cell);
    if (type == COPSE_F64) number = isfinite(*(const double *)cell);
    write_name(json, name);
    if (number)
        fputs(text, json->out);
    else
        write_text(json->out, text);
}

void cli_json_key(cli_json *json, const char *name, cli_key key)
{
    if (key.type != COPSE_BYTES) {
        cli_json_cell(json, name, key.type, key.start);
        return;
    }
    write_name(json, name);
    write_bytes(json->out, key.start, key.length);
}
