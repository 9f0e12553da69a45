/* Keys on their way out: to lines, CSV, JSON and sentences. */
#pragma once

#include "cli/cli.h"

/* The length of the well-formed UTF-8 character at the start of the text, 0 where there is none. */
size_t cli_utf8_length(const char *text, size_t length);

/* What can be read back with cli_keys_parse, but for control characters of text, which are written \t, \n, \r or \xNN: a key
 * cannot break a line or reach the terminal as a command. CLI_KEY_TERMINAL treats bytes that are not UTF-8 in the same way;
 * CLI_KEY_CSV writes every byte as it is, in quotes where CSV wants them. */
void cli_key_write(FILE *out, cli_key_style style, cli_key key);

#define CLI_KEY_SHOWN 96

/* A key in a sentence: text in quotes, and cut where it is long. Returns the buffer. */
const char *cli_key_show(cli_key key, char text[CLI_KEY_SHOWN]);
