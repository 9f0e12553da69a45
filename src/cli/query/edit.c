/* Lines that people type. libedit, where the machine has it, brings history, editing and completion; it is looked for when the shell
 * starts, so that neither the build nor other commands depend on it. */
#define _GNU_SOURCE
#include "cli/query/query.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define HISTORY_LINES 1000

typedef char *entry_fn(const char *, int);
typedef char **completion_fn(const char *, int, int);

static struct edit {
    char *(*readline)(const char *);
    int (*add_history)(const char *);
    int (*read_history)(const char *);
    int (*write_history)(const char *);
    void (*stifle_history)(int);
    char **(*matches)(const char *, entry_fn *);
    completion_fn **complete;
    char path[512]; /* of the history, "": none */
    const char *const *words;
    size_t word_count;
} edit;

static void *symbol(void *library, const char *name)
{
    return library ? dlsym(library, name) : NULL;
}

/* A pointer to an object as one to a function, which POSIX lets dlsym return so. */
#define TAKE(library, target, name)                                                                                    \
    do {                                                                                                               \
        void *found = symbol(library, name);                                                                           \
        memcpy(&(target), &found, sizeof found);                                                                       \
    } while (0)

void cli_edit_words(const char *const *words, size_t count)
{
    edit.words = words;
    edit.word_count = count;
}

/* Called with state 0 for the first match, then for the next ones. */
static char *next_match(const char *text, int state)
{
    static size_t at;
    if (state == 0) at = 0;
    while (at < edit.word_count) {
        const char *word = edit.words[at++];
        if (strncmp(word, text, strlen(text)) == 0) return strdup(word);
    }
    return NULL;
}

static char **complete(const char *text, int start, int end)
{
    (void)start;
    (void)end;
    return edit.matches(text, next_match);
}

void cli_edit_start(void)
{
    void *library = dlopen("libedit.so.2", RTLD_NOW | RTLD_LOCAL);
    if (!library) library = dlopen("libedit.so", RTLD_NOW | RTLD_LOCAL);
    TAKE(library, edit.readline, "readline");
    TAKE(library, edit.add_history, "add_history");
    TAKE(library, edit.read_history, "read_history");
    TAKE(library, edit.write_history, "write_history");
    TAKE(library, edit.stifle_history, "stifle_history");
    TAKE(library, edit.matches, "rl_completion_matches");
    edit.complete = (completion_fn **)symbol(library, "rl_attempted_completion_function");
    if (edit.matches && edit.complete) *edit.complete = complete;
    const char *home = getenv("HOME");
    if (home && *home && strlen(home) < sizeof edit.path - 32)
        snprintf(edit.path, sizeof edit.path, "%s/.copse_history", home);
    if (edit.readline && edit.read_history && *edit.path) (void)edit.read_history(edit.path);
}

void cli_edit_stop(void)
{
    if (!edit.readline || !edit.write_history || !*edit.path) return;
    if (edit.stifle_history) edit.stifle_history(HISTORY_LINES);
    (void)edit.write_history(edit.path);
}

static char *plain_line(const char *prompt)
{
    char *line = NULL;
    size_t room = 0;
    if (*prompt) fputs(prompt, stdout);
    (void)fflush(stdout);
    errno = 0;
    ssize_t length = getline(&line, &room, stdin);
    if (length < 0) {
        if (errno == EINTR) clearerr(stdin);
        free(line);
        return NULL;
    }
    while (length > 0 && (line[length - 1] == '\n' || line[length - 1] == '\r')) line[--length] = '\0';
    return line;
}

char *cli_edit_line(const char *prompt, bool terminal)
{
    if (!terminal) return plain_line("");
    if (!edit.readline) return plain_line(prompt);
    char *line = edit.readline(prompt);
    if (line && *line && edit.add_history) (void)edit.add_history(line);
    return line;
}
