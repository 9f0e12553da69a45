/* Entries of a range, one after the other, and how one is printed. */
#include "cli/entries.h"
#include "cli/key_text.h"

#include <stdlib.h>

#define STEP       ((uint64_t)4096)
#define STEP_BYTES (4 * COPSE_LONGEST_KEY) /* of text: one key fits in any case */

typedef struct walker {
    cli_session *session;
    copse_cursor *cursor;
    cli_keys keys;
    char *values;
} walker;

static copse_status walk(walker *w, uint64_t left, cli_entries_fn fn, void *user)
{
    void *values = cli_session_is_set(w->session) ? NULL : w->values;
    copse_status status = COPSE_OK;
    while (left > 0) {
        uint64_t got = 0;
        if (cli_interrupted()) return COPSE_ERR_CANCELLED;
        status = copse_cursor_next(w->cursor, cli_keys_out(&w->keys), values, left < STEP ? left : STEP, &got);
        if (status != COPSE_OK || got == 0) break;
        w->keys.count = got;
        if (!fn(user, &w->keys, w->values)) return COPSE_ERR_CANCELLED;
        left -= got;
    }
    return status;
}

copse_status cli_entries_walk(cli_session *session, const cli_query_batch *batch, uint64_t i, uint64_t limit,
                              cli_entries_fn fn, void *user)
{
    walker w = {.session = session, .values = malloc(STEP * COPSE_CELL_SIZE)};
    copse_ranges range = batch->ranges;
    copse_bytes low, high;
    copse_status status = COPSE_ERR_MEMORY;
    range.n = 1;
    range.lows = cli_keys_from(batch->lows, i, &low);
    range.highs = cli_keys_from(batch->highs, i, &high);
    cli_keys_start(&w.keys, session->stats.key_type);
    if (w.values && cli_keys_reserve(&w.keys, STEP, STEP_BYTES))
        status = copse_cursor_open(session->index, &range, &w.cursor);
    if (status == COPSE_OK) status = walk(&w, limit ? limit : UINT64_MAX, fn, user);
    copse_cursor_free(w.cursor);
    cli_keys_free(&w.keys);
    free(w.values);
    return status;
}

static void print_json(const cli_session *session, const cli_entry_style *style, cli_key key, const void *value)
{
    cli_json json;
    cli_json_begin(&json, style->out);
    if (style->numbered) cli_json_u64(&json, "range", style->range);
    cli_json_key(&json, "key", key);
    if (!cli_session_is_set(session)) cli_json_cell(&json, "value", session->stats.value_type, value);
    cli_json_end(&json);
}

void cli_entry_print(const cli_session *session, const cli_entry_style *style, const cli_keys *keys, const char *values,
                     uint64_t i)
{
    const copse_type type = session->stats.value_type;
    const void *value = values + i * copse_type_size(type);
    const bool set = cli_session_is_set(session);
    const cli_key key = cli_keys_at(keys, i);
    char text[2 * COPSE_CELL_TEXT];
    size_t at = 0;
    if (style->json) {
        print_json(session, style, key, value);
        return;
    }
    if (!style->bare || set) {
        if (key.type == COPSE_BYTES)
            cli_key_write(style->out, style->csv ? CLI_KEY_CSV : session->key_style, key);
        else
            at = copse_cell_format(key.type, key.start, text); /* all of the line in one write */
        if (!set) text[at++] = style->csv ? ',' : '\t';
    }
    if (!set) at += copse_cell_format(type, value, text + at);
    text[at++] = '\n';
    fwrite(text, 1, at, style->out);
}
