/* Entries of a range, one after the other, and how one is printed. */
#include "cli/entries.h"

#include <stdlib.h>

#define STEP ((uint64_t)4096)

copse_ranges cli_entries_range(const cli_session *session, const copse_ranges *ranges, uint64_t i)
{
    size_t at = (size_t)i * copse_type_size(session->stats.key_type);
    copse_ranges one = *ranges;
    one.n = 1;
    if (one.lows) one.lows = (const char *)one.lows + at;
    if (one.highs) one.highs = (const char *)one.highs + at;
    return one;
}

static copse_status walk(copse_cursor *cursor, uint64_t left, char *keys, char *values, cli_entries_fn fn, void *user)
{
    copse_status status = COPSE_OK;
    while (left > 0) {
        uint64_t got = 0;
        if (cli_interrupted()) return COPSE_ERR_CANCELLED;
        status = copse_cursor_next(cursor, keys, values, left < STEP ? left : STEP, &got);
        if (status != COPSE_OK || got == 0) break;
        if (!fn(user, keys, values, got)) return COPSE_ERR_CANCELLED;
        left -= got;
    }
    return status;
}

copse_status cli_entries_walk(cli_session *session, const copse_ranges *range, cli_entries_fn fn, void *user)
{
    copse_ranges bounds = *range;
    copse_cursor *cursor = NULL;
    char *keys = malloc(STEP * copse_type_size(session->stats.key_type));
    char *values = malloc(STEP * copse_type_size(session->stats.value_type));
    copse_status status = COPSE_ERR_MEMORY;
    bounds.limit = 0;
    if (keys && values) status = copse_cursor_open(session->index, &bounds, &cursor);
    if (status == COPSE_OK) status = walk(cursor, range->limit ? range->limit : UINT64_MAX, keys, values, fn, user);
    copse_cursor_free(cursor);
    free(keys);
    free(values);
    return status;
}

void cli_entry_print(const cli_session *session, const cli_entry_style *style, const void *key, const void *value)
{
    copse_type key_type = session->stats.key_type, value_type = session->stats.value_type;
    char text[2 * CLI_CELL_TEXT];
    size_t at = 0;
    cli_json json;
    if (style->json) {
        cli_json_begin(&json, style->out);
        if (style->numbered) cli_json_u64(&json, "range", style->range);
        cli_json_cell(&json, "key", key_type, key);
        cli_json_cell(&json, "value", value_type, value);
        cli_json_end(&json);
        return;
    }
    if (!style->bare) {
        at = cli_cell_format(key_type, key, text);
        text[at++] = style->separator;
    }
    at += cli_cell_format(value_type, value, text + at);
    text[at++] = '\n';
    fwrite(text, 1, at, style->out);
}
