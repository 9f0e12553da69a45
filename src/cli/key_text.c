/* Keys on their way out. Text may hold anything: line breaks, what a terminal takes for commands, bytes that are not UTF-8. */
#include "cli/key_text.h"

#include <string.h>

/* ---- characters ---- */

static bool is_continuation(const char *at)
{
    return ((unsigned char)*at & 0xC0) == 0x80;
}

/* Overlong forms, surrogates and what is above U+10FFFF are not well-formed. */
size_t cli_utf8_length(const char *text, size_t length)
{
    if (length == 0) return 0;
    const unsigned char lead = (unsigned char)text[0], second = length > 1 ? (unsigned char)text[1] : 0;
    if (lead < 0x80) return 1;
    const size_t size = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
    if (lead < 0xC2 || lead > 0xF4 || length < size) return 0;
    if ((lead == 0xE0 && second < 0xA0) || (lead == 0xED && second > 0x9F)) return 0;
    if ((lead == 0xF0 && second < 0x90) || (lead == 0xF4 && second > 0x8F)) return 0;
    for (size_t i = 1; i < size; i++)
        if (!is_continuation(text + i)) return 0;
    return size;
}

/* What is not to reach a terminal: control characters, also those of two bytes, and what is no character at all. */
static bool is_hidden(const char *at, size_t length)
{
    const unsigned char byte = (unsigned char)*at;
    if (byte < 0x20 || byte == 0x7F || length == 0) return true;
    return byte == 0xC2 && (unsigned char)at[1] < 0xA0;
}

/* One character, or one byte that is none, as it is shown. */
typedef struct shown {
    char text[12];
    size_t length;
    size_t taken; /* bytes of the key */
} shown;

static shown show_next(const char *at, size_t left, bool terminal)
{
    static const char names[] = "\tt\nn\rr";
    const bool raw = !terminal && (unsigned char)*at >= 0x80;
    const size_t length = raw ? 1 : cli_utf8_length(at, left);
    shown s = {.taken = length ? length : 1};
    if (raw || !is_hidden(at, length)) {
        memcpy(s.text, at, length);
        s.length = length;
        return s;
    }
    const char *name = *at ? strchr(names, *at) : NULL;
    if (name) {
        s.length = (size_t)snprintf(s.text, sizeof s.text, "\\%c", name[1]);
        return s;
    }
    for (size_t i = 0; i < s.taken; i++)
        s.length +=
            (size_t)snprintf(s.text + s.length, sizeof s.text - s.length, "\\x%02X", (unsigned)(unsigned char)at[i]);
    return s;
}

/* ---- lines ---- */

/* Bytes from the start on that are written as they are, whatever stands next to them. */
static size_t plain_run(const char *text, size_t length, bool terminal)
{
    size_t n = 0;
    while (n < length && (unsigned char)text[n] >= 0x20 && text[n] != 0x7F &&
           (!terminal || (unsigned char)text[n] < 0x80))
        n++;
    return n;
}

static void write_line(FILE *out, const char *text, size_t length, bool terminal)
{
    for (size_t at = 0; at < length;) {
        size_t run = plain_run(text + at, length - at, terminal);
        if (run > 0) fwrite(text + at, 1, run, out);
        at += run;
        if (at == length) return;
        const shown s = show_next(text + at, length - at, terminal);
        fwrite(s.text, 1, s.length, out);
        at += s.taken;
    }
}

static bool needs_quotes(const char *text, size_t length)
{
    if (length == 0 || text[0] == ' ' || text[0] == '\t' || text[length - 1] == ' ' || text[length - 1] == '\t')
        return true;
    for (size_t i = 0; i < length; i++)
        if (text[i] == ',' || text[i] == '"' || text[i] == '\n' || text[i] == '\r') return true;
    return false;
}

static void write_csv(FILE *out, const char *text, size_t length)
{
    if (!needs_quotes(text, length)) {
        fwrite(text, 1, length, out);
        return;
    }
    putc('"', out);
    for (size_t at = 0; at < length;) {
        const char *quote = memchr(text + at, '"', length - at);
        size_t run = quote ? (size_t)(quote + 1 - text) - at : length - at;
        fwrite(text + at, 1, run, out);
        if (quote) putc('"', out);
        at += run;
    }
    putc('"', out);
}

void cli_key_write(FILE *out, cli_key_style style, cli_key key)
{
    char text[COPSE_CELL_TEXT];
    if (key.type != COPSE_BYTES) {
        const size_t length = copse_cell_format(key.type, key.start, text);
        fwrite(text, 1, length, out);
    } else if (style == CLI_KEY_CSV) {
        write_csv(out, key.start, key.length);
    } else {
        write_line(out, key.start, key.length, style == CLI_KEY_TERMINAL);
    }
}

/* ---- sentences ---- */

const char *cli_key_show(cli_key key, char text[CLI_KEY_SHOWN])
{
    static const char cut[] = "...";
    size_t used = 0, at = 0;
    if (key.type != COPSE_BYTES) {
        copse_cell_format(key.type, key.start, text);
        return text;
    }
    text[used++] = '\'';
    while (at < key.length) {
        const shown s = show_next(key.start + at, key.length - at, true);
        if (used + s.length + sizeof cut + 1 > CLI_KEY_SHOWN) break;
        memcpy(text + used, s.text, s.length);
        used += s.length;
        at += s.taken;
    }
    snprintf(text + used, CLI_KEY_SHOWN - used, "%s'", at < key.length ? cut : "");
    return text;
}
