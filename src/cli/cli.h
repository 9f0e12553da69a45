/*
 * What the files of the `copse` command share: one function per subcommand, and the small helpers beneath them.
 *
 * Rules that hold for every subcommand: data goes to standard output, everything else to standard error; the exit code
 * is 0 when the job was done, 1 when it failed, 2 when the command line was wrong.
 */
#pragma once

#include "copse.h"

#include "cli/key_list.h"
#include "io/cells.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define CLI_OK          0
#define CLI_FAILED      1
#define CLI_USAGE       2
#define CLI_INTERRUPTED 130

/* ---- subcommands: argv[0] is the name of the subcommand ---- */

int copse_cli_demo(int argc, char **argv);
int copse_cli_devices(int argc, char **argv);
int copse_cli_build(int argc, char **argv);
int copse_cli_query(int argc, char **argv);
int copse_cli_shell(int argc, char **argv);
int copse_cli_import(int argc, char **argv);
int copse_cli_get(int argc, char **argv);
int copse_cli_range(int argc, char **argv);
int copse_cli_count(int argc, char **argv);
int copse_cli_sum(int argc, char **argv);
int copse_cli_min(int argc, char **argv);
int copse_cli_max(int argc, char **argv);
int copse_cli_avg(int argc, char **argv);
int copse_cli_first(int argc, char **argv);
int copse_cli_last(int argc, char **argv);
int copse_cli_dump(int argc, char **argv);
int copse_cli_append(int argc, char **argv);
int copse_cli_upsert(int argc, char **argv);
int copse_cli_erase(int argc, char **argv);
int copse_cli_info(int argc, char **argv);
int copse_cli_verify(int argc, char **argv);
int copse_cli_bench(int argc, char **argv);

/* ---- interrupt.c ---- */

/* From here on Ctrl-C asks to stop; a second one, half a second later or more, ends the command on the spot. */
void cli_catch_interrupts(void);
/* true once the user pressed Ctrl-C. Long loops look at it and return CLI_INTERRUPTED. */
bool cli_interrupted(void);
/* After an answer was stopped, for a command that goes on. */
void cli_interrupts_forget(void);
/* For bench, whose calls may be long, and nothing stops them: while it is on, Ctrl-C gives the command a second to end by itself. */
void cli_interrupts_end(bool on);
/* The file that is removed where it does not; NULL: none. */
void cli_interrupts_remove(const char *file);

/* ---- options.c: a command line described by a table ---- */

typedef enum cli_option_kind {
    CLI_FLAG,  /* bool *: no argument                                                                                 */
    CLI_TEXT,  /* const char **                                                                                       */
    CLI_ONCE,  /* const char **, refused where it is given twice                                                      */
    CLI_WORDS, /* cli_words *: may be given several times                                                             */
    CLI_COUNT, /* uint64_t *: 1000, 16K, 16M, 2G (powers of 1024) or 2^24                                             */
} cli_option_kind;

#define CLI_WORDS_MOST 16

typedef struct cli_words {
    const char *words[CLI_WORDS_MOST];
    size_t count;
} cli_words;

typedef struct cli_option {
    const char *name; /* long name without the dashes                                                                 */
    char letter;      /* short name, or 0                                                                             */
    cli_option_kind kind;
    const char *argument; /* name of the argument in the help text, NULL for a flag                                   */
    const char *help;     /* may hold line breaks                                                                     */
    void *target;
} cli_option;

typedef struct cli_command {
    const char *name;
    const char *usage;       /* what follows "copse NAME" on the usage line                                           */
    const char *description; /* a few lines: what it does, for whom                                                   */
    const char *examples;    /* at least two, indented                                                                */
    const cli_option *options;
    size_t option_count;
} cli_command;

/* Stores options in their targets and collects the other arguments in positional (room for argc pointers). Prints the
 * help text on --help. Returns true to go on; else *out_exit is the code to leave with. Arguments such as -5, -.5 and
 * -inf are not options: they are keys. */
bool cli_parse(const cli_command *command, int argc, char **argv, char **positional, int *out_count, int *out_exit);

/* Reads a count as CLI_COUNT does. */
bool cli_parse_count(const char *text, uint64_t *out_count);

/* ---- output.c: messages, people's numbers, aligned facts ---- */

#if defined(__GNUC__)
#define CLI_PRINTF(text, first) __attribute__((format(printf, text, first)))
#else
#define CLI_PRINTF(text, first)
#endif

/* "copse NAME: sentence" on standard error. cli_usage_error adds the hint to --help. Return CLI_FAILED, CLI_USAGE. */
int cli_fail(const char *command, const char *format, ...) CLI_PRINTF(2, 3);
int cli_usage_error(const char *command, const char *format, ...) CLI_PRINTF(2, 3);

/* A remark on standard error, in the same shape; no exit code. */
void cli_note(const char *command, const char *format, ...) CLI_PRINTF(2, 3);

/* Flushes standard output; a full disk or closed pipe turns success into CLI_FAILED. */
int cli_finish(const char *command, int code);

/* Each writes into the caller's buffer and returns it. */
#define CLI_NUMBER_SIZE 48
const char *cli_group(uint64_t number, char buffer[CLI_NUMBER_SIZE]);      /* 16,777,216    */
const char *cli_bytes(uint64_t bytes, char buffer[CLI_NUMBER_SIZE]);       /* 256.0 MiB     */
const char *cli_seconds(double seconds, char buffer[CLI_NUMBER_SIZE]);     /* 12.3 ms       */
const char *cli_rate(double per_second, char buffer[CLI_NUMBER_SIZE]);     /* 41.5 M/s      */
const char *cli_int128(copse_int128 number, char buffer[CLI_NUMBER_SIZE]); /* exact digits  */
/* shortest text that reads back equal */

/* "  label      text", one per line on standard output. */
void cli_fact(const char *label, const char *format, ...) CLI_PRINTF(2, 3);

/* Monotonic seconds. */
double cli_clock(void);

/* ---- json.c: one object per line on standard output ---- */

typedef struct cli_json {
    FILE *out;
    bool comma;
} cli_json;

void cli_json_begin(cli_json *json, FILE *out); /* {                 */
void cli_json_end(cli_json *json);              /* } and a line end  */
void cli_json_open(cli_json *json, const char *name);
void cli_json_close(cli_json *json);
void cli_json_text(cli_json *json, const char *name, const char *text); /* NULL: null */
void cli_json_u64(cli_json *json, const char *name, uint64_t number);
void cli_json_double(cli_json *json, const char *name, double number); /* inf and nan become strings */
void cli_json_bool(cli_json *json, const char *name, bool value);
void cli_json_null(cli_json *json, const char *name);
void cli_json_int128(cli_json *json, const char *name, copse_int128 number);
/* A key or value: a number, or a string for dates, timestamps, infinities and NaN. */
void cli_json_cell(cli_json *json, const char *name, copse_type type, const void *cell);
/* The same for text, too, in which U+FFFD stands for every byte that is not UTF-8: JSON has no other bytes. */
void cli_json_key(cli_json *json, const char *name, cli_key key);

/* ---- progress.c: a bar on standard error, only where that is a terminal ---- */

typedef struct cli_progress {
    bool visible;
    bool plain; /* lines in place of a bar */
    bool drawn;
    double begun;
    double shown;
    char what[64];
} cli_progress;

void cli_progress_start(cli_progress *progress, bool quiet);
/* Shows it also where standard error is no terminal. */
void cli_progress_force(cli_progress *progress);
/* total 0: the end is not known, only the amount done is shown. */
void cli_progress_show(cli_progress *progress, const char *what, uint64_t done, uint64_t total);
void cli_progress_clear(cli_progress *progress);
/* For copse_ctx_set_progress; user is the cli_progress. Cancels the call after Ctrl-C. */
int cli_progress_callback(void *user, const char *what, uint64_t done, uint64_t total);

/* ---- key_list.c: keys as text ---- */

/* Each adds a key, of whatever type, to the list. */
copse_cell_error cli_keys_parse(cli_keys *keys, const copse_cell_form *form, const char *text, size_t length);
copse_cell_error cli_keys_parse_end(cli_keys *keys, const char *text, size_t length);

/* ---- types.c: what the command calls types ---- */

/* "u32, i32, f32, u64, i64, f64, date, timestamp or text"; for values without the last three, but with none. */
const char *cli_type_names(bool for_values);
/* What the command calls a type: as the library does, but for byte strings, which are "text". */
const char *cli_type_name(copse_type type);
bool cli_type_parse(const char *name, bool for_values, copse_type *out);

/* How keys are written, see key_text.h. */
typedef enum cli_key_style {
    CLI_KEY_LINE,
    CLI_KEY_TERMINAL,
    CLI_KEY_CSV,
} cli_key_style;

/* ---- placement.c: --placement and --device, where an index lives ---- */

#define CLI_NO_DEVICE UINT64_MAX

typedef struct cli_placement {
    const char *name; /* as given, NULL: on the CPU */
    uint64_t device;  /* as given, CLI_NO_DEVICE: the library's choice */
    copse_placement placement;
} cli_placement;

#define CLI_PLACEMENT_INIT                                                                                             \
    {                                                                                                                  \
        NULL, CLI_NO_DEVICE, COPSE_PLACEMENT_CPU                                                                       \
    }
#define CLI_PLACEMENT_HELP                                                                                             \
    "where the index lives: cpu, gpu, auto (a GPU where one\ncan be used) or emulated (a GPU's kernels run by the\n"   \
    "CPU, for tests); default: cpu"
#define CLI_DEVICE_HELP "take card N, see 'copse devices' (default:\nCOPSE_DEVICE, else the first that can be used)"

/* Makes sense of what was given. Returns CLI_OK, or CLI_USAGE having said why. */
int cli_placement_read(const char *command, cli_placement *where);
bool cli_placement_is_device(copse_placement placement); /* gpu or emulated */

/* ---- structures.c: --structure, which trees there are ---- */

#define CLI_STRUCTURES_SIZE 2048

/* Each writes into the text and returns it. */
const char *cli_structure_list(char text[CLI_STRUCTURES_SIZE]);   /* "auto, implicit, regular or blink"              */
const char *cli_structure_places(char text[CLI_STRUCTURES_SIZE]); /* "auto, implicit; regular on the CPU; ..."       */
const char *
cli_structure_summaries(char text[CLI_STRUCTURES_SIZE]); /* a line for each: its name and what it is for   */
/* "implicit,regular": those of a placement. */
const char *cli_structures_at(copse_placement placement, char text[CLI_STRUCTURES_SIZE]);
/* "sorted": those of a placement that take keys of a type. */
const char *cli_structures_for(copse_type key_type, copse_placement placement, char text[CLI_STRUCTURES_SIZE]);
/* Breaks lines that are longer than the width at blanks. */
void cli_wrap(char *text, size_t width);

/* ---- session.c: a context, a bar and a snapshot, as most subcommands need them ---- */

typedef struct cli_session {
    const char *command;
    copse_placement placement; /* of what cli_session_load makes */
    copse_ctx *ctx;
    copse_index *index;
    copse_stats stats;
    cli_key_style key_style; /* on standard output */
    cli_progress progress;
    uint64_t missing; /* keys that `get` did not find */
} cli_session;

/* threads 0: the library's choice; where NULL: the CPU. Returns CLI_OK or the code to leave with, having said why. */
int cli_session_open(cli_session *session, const char *command, uint64_t threads, bool quiet,
                     const cli_placement *where);
/* For a command that fills its memory, writes it to a file and ends: it has no use for huge pages, and a virtual machine may have to
 * ask its host for each of them. */
int cli_session_open_once(cli_session *session, const char *command, uint64_t threads, bool quiet);
int cli_session_load(cli_session *session, const char *path);
/* The same without a word about a failure. */
copse_status cli_session_try_load(cli_session *session, const char *path);
/* Whether keys have no values. */
bool cli_session_is_set(const cli_session *session);
/* Whether the index is the file itself, and not a tree that was made of it. */
bool cli_session_is_open_file(const cli_session *session);
/* Says why a library call failed. Returns CLI_FAILED, or CLI_INTERRUPTED after Ctrl-C. */
int cli_session_fail(cli_session *session, copse_status status);
void cli_session_close(cli_session *session);

/* ---- query_command.c, queries.c: keys and ranges from the command line, a file or standard input ---- */

typedef struct cli_query_args {
    const char *path; /* the snapshot                                                                                 */
    const char *file; /* --file, NULL: none                                                                           */
    uint64_t threads;
    uint64_t limit; /* of entries, 0: none */
    cli_placement where;
    bool json;
    bool quiet;
    bool bare;
    bool strict;
    bool reverse;
    bool open_low; /* the ends themselves are not in the ranges */
    bool open_high;
    bool by_range; /* erase: the queries are ranges */
    bool whole;    /* no query was given: the question is about all entries, and there is nothing to repeat */
    void *user;    /* of the command */
} cli_query_args;

typedef struct cli_query_batch {
    uint64_t first; /* number of queries before this batch                                                            */
    uint64_t count;
    const cli_keys *keys;  /* NULL: the queries are ranges                                                            */
    const cli_keys *lows;  /* NULL: none of the ranges has a lower end; else all have                                 */
    const cli_keys *highs; /* the same for upper ends                                                                 */
    copse_ranges ranges;   /* as calls take them; no limit                                                            */
} cli_query_batch;

/* Answers one batch on standard output. Returns CLI_OK or a code to stop with. */
typedef int (*cli_answer_fn)(cli_session *session, const cli_query_args *args, const cli_query_batch *batch);

/* Options that not every query has. */
#define CLI_QUERY_BARE      1u
#define CLI_QUERY_STRICT    2u
#define CLI_QUERY_LIMIT     4u
#define CLI_QUERY_REVERSE   8u
#define CLI_QUERY_PLACEMENT 16u
#define CLI_QUERY_BY_RANGE  32u /* --range: queries are ranges instead of keys */
#define CLI_QUERY_VALUES    64u /* no option: the question is about values, which a set does not have */

/* A query subcommand from its command line to its exit code: reads all queries (words on the command line, or one query
 * per line of a file or of standard input) and hands them to answer in batches. */
typedef struct cli_query_command {
    const char *name;
    const char *usage;
    const char *description;
    const char *examples;
    int width;       /* 1: a query is a key; 2: it is a range */
    uint32_t offers; /* CLI_QUERY_*                           */
    cli_answer_fn answer;
    /* The rest may be left out. */
    const cli_option *more;
    size_t more_count;
    void *user;
    /* Checks args, before anything is read. */
    int (*check)(const cli_query_args *args);
    /* In place of cli_session_load. */
    int (*load)(cli_session *session, const cli_query_args *args);
    /* After the last batch, or the one that failed with `code`. Returns the code to leave with. */
    int (*finish)(cli_session *session, const cli_query_args *args, int code);
} cli_query_command;

int cli_query_run(const cli_query_command *command, int argc, char **argv);

/* What the help of commands that print keys says about them. */
#define CLI_KEY_HELP                                                                                                   \
    "Text shows control characters as \\t, \\n, \\r or \\xNN; JSON has U+FFFD for each byte that is not UTF-8."

/* What the help of every command that takes ranges says about them. */
#define CLI_RANGES_HELP                                                                                                \
    "An end given as - is no end. 'min' and 'max' stand for the smallest and largest key there can be, unless\n"       \
    "keys are text, which is ordered by its bytes. Where keys are timestamps, a date stands for its first moment\n"    \
    "as LOW and for its last as HIGH; --open-low and --open-high take all of that day out. With - in place of all\n"   \
    "ranges they are read from standard input, one per line: LOW and HIGH with a blank, tab or comma between; a\n"     \
    "tab where text holds blanks or commas itself. LOW above HIGH is an empty range, and a remark says so."

/* Reads all queries and has them answered in batches (queries.c); words are those of the command line. */
int cli_query_answer_all(cli_session *session, const cli_query_args *args, const cli_query_command *command,
                         char **words, int count);

/* Each prints one line of a query's echo: "LOW<tab>HIGH<tab>", or nothing with --bare. */
void cli_query_echo(const cli_session *session, const cli_query_args *args, const cli_query_batch *batch, uint64_t i);
/* The same as the first members of a JSON object. */
void cli_query_echo_json(const cli_query_args *args, const cli_query_batch *batch, uint64_t i, cli_json *json);

/* ---- pairs.c: what is read, from CSV (rows.h) or binary files ---- */

typedef struct cli_pairs {
    cli_keys keys;     /* its count is that of the pairs */
    void *values;      /* NULL: the value is the row number, or there is none */
    uint64_t skipped;  /* bad rows that were left out */
    uint64_t bytes;    /* of input */
    uint64_t capacity; /* entries that fit into values */
    copse_type value_type;
    char key_name[64];
    char value_name[64];
} cli_pairs;

void cli_pairs_free(cli_pairs *pairs);
/* Makes room for the values of at least `count` pairs; keys make their own. */
bool cli_pairs_reserve(cli_pairs *pairs, uint64_t count);
/* Last becomes first. false: there is no memory. */
bool cli_pairs_reverse(cli_pairs *pairs);
/* Writes the number as an element of a value type. false: it does not fit. */
bool cli_pairs_number(copse_type type, uint64_t number, void *out);
/* The size of a regular file, 0 for anything else. */
uint64_t cli_stream_size(FILE *file);
