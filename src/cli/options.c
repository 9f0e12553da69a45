/* Command lines from a table: parsing, the help text, and a guess at what a misspelt name meant. */
#include "cli/cli.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define HELP_COLUMN 26

#define LONGEST_NAME 32

/* ---- counts ---- */

static bool apply_suffix(const char *suffix, uint64_t *number)
{
    static const char letters[] = "KMGT";
    if (*suffix == '\0') return true;
    const char *letter = strchr(letters, toupper((unsigned char)*suffix));
    if (!letter || suffix[1] != '\0') return false;
    int shift = 10 * (int)(letter - letters + 1);
    if (*number > UINT64_MAX >> shift) return false;
    *number <<= shift;
    return true;
}

bool cli_parse_count(const char *text, uint64_t *out_count)
{
    char *rest = NULL;
    if (!isdigit((unsigned char)*text)) return false;
    errno = 0;
    uint64_t number = strtoull(text, &rest, 10);
    if (errno != 0) return false;
    if (*rest == '^') {
        uint64_t power = 1, base = number;
        if (!isdigit((unsigned char)rest[1])) return false;
        unsigned long exponent = strtoul(rest + 1, &rest, 10);
        for (unsigned long i = 0; i < exponent && base > 1; i++) {
            if (power > UINT64_MAX / base) return false;
            power *= base;
        }
        number = base == 0 && exponent > 0 ? 0 : power;
    }
    if (!apply_suffix(rest, &number)) return false;
    *out_count = number;
    return true;
}

/* ---- help ---- */

static void print_option(const cli_option *option)
{
    char left[64];
    const char *help = option->help;
    char letter[5] = "    ";
    if (option->letter) snprintf(letter, sizeof letter, "-%c, ", option->letter);
    int width = snprintf(left, sizeof left, "  %s--%s%s%s", letter, option->name, option->argument ? " " : "",
                         option->argument ? option->argument : "");
    printf("%s", left);
    if (width >= HELP_COLUMN) {
        printf("\n");
        width = 0;
    }
    for (;;) {
        size_t length = strcspn(help, "\n");
        printf("%*s%.*s\n", HELP_COLUMN - width, "", (int)length, help);
        if (help[length] == '\0') return;
        help += length + 1;
        width = 0;
    }
}

static void print_help(const cli_command *command)
{
    static const cli_option help = {"help", 'h', CLI_FLAG, NULL, "show this text", NULL};
    printf("Usage: copse %s %s\n\n%s\n\nOptions:\n", command->name, command->usage, command->description);
    for (size_t i = 0; i < command->option_count; i++) print_option(&command->options[i]);
    print_option(&help);
    printf("\nExamples:\n%s\n", command->examples);
}

/* ---- parsing ---- */

/* -5, -.5, -inf are keys, and - is standard input. */
static bool is_positional(const char *word)
{
    if (word[0] != '-' || word[1] == '\0') return true;
    return isdigit((unsigned char)word[1]) || (word[1] == '.' && isdigit((unsigned char)word[2])) ||
           strcmp(word, "-inf") == 0 || strcmp(word, "-infinity") == 0;
}

static const cli_option *find_option(const cli_command *command, const char *name, size_t length)
{
    for (size_t i = 0; i < command->option_count; i++)
        if (strlen(command->options[i].name) == length && strncmp(command->options[i].name, name, length) == 0)
            return &command->options[i];
    return NULL;
}

static const cli_option *find_letter(const cli_command *command, char letter)
{
    for (size_t i = 0; i < command->option_count; i++)
        if (command->options[i].letter == letter) return &command->options[i];
    return NULL;
}

static int unknown_option(const cli_command *command, const char *word, size_t length)
{
    const char *names[64], *nearest = NULL;
    char name[LONGEST_NAME + 1];
    size_t count = 0;
    for (; count < command->option_count && count < 63; count++) names[count] = command->options[count].name;
    names[count++] = "help";
    if (word[0] == '-' && word[1] == '-' && length - 2 <= LONGEST_NAME) {
        snprintf(name, sizeof name, "%.*s", (int)(length - 2), word + 2);
        nearest = copse_nearest(name, names, count);
    }
    if (nearest)
        return cli_usage_error(command->name, "there is no option '%.*s'; did you mean '--%s'?", (int)length, word,
                               nearest);
    return cli_usage_error(command->name, "there is no option '%.*s'", (int)length, word);
}

static int store(const cli_command *command, const cli_option *option, const char *argument)
{
    if (option->kind == CLI_FLAG) {
        *(bool *)option->target = true;
    } else if (option->kind == CLI_WORDS) {
        cli_words *words = option->target;
        if (words->count == CLI_WORDS_MOST)
            return cli_usage_error(command->name, "--%s can be given %d times", option->name, CLI_WORDS_MOST);
        words->words[words->count++] = argument;
    } else if (option->kind == CLI_ONCE && *(const char **)option->target) {
        return cli_usage_error(command->name, "--%s is there twice, for '%s' and for '%s'; it can be only one",
                               option->name, *(const char **)option->target, argument);
    } else if (option->kind == CLI_TEXT || option->kind == CLI_ONCE) {
        *(const char **)option->target = argument;
    } else if (!cli_parse_count(argument, option->target)) {
        return cli_usage_error(command->name, "--%s takes a number such as 1000, 16M or 2^24, not '%s'", option->name,
                               argument);
    }
    return CLI_OK;
}

typedef struct cursor {
    const cli_command *command;
    char **argv;
    int argc;
    int at;
} cursor;

static int no_argument(const cli_command *command, const cli_option *option)
{
    /* Behind a bare # the shell sees a comment, and the command not even that. */
    const char *hint = strcmp(option->argument, "COLUMN") == 0 ? "; a column by number needs quotes, as in '#1'" : "";
    return cli_usage_error(command->name, "--%s needs an argument: %s%s", option->name, option->argument, hint);
}

/* One option word at argv[at], which may also use up the next word. */
static int parse_option(cursor *c)
{
    const char *word = c->argv[c->at], *argument = NULL;
    const cli_option *option = NULL;
    size_t length = strlen(word);
    if (word[1] == '-') {
        const char *equals = strchr(word, '=');
        if (equals) length = (size_t)(equals - word);
        if (equals) argument = equals + 1;
        option = find_option(c->command, word + 2, length - 2);
    } else {
        option = find_letter(c->command, word[1]);
        if (option && option->kind != CLI_FLAG && word[2] != '\0')
            argument = word + 2;
        else if (word[2] != '\0')
            option = NULL;
    }
    if (!option) return unknown_option(c->command, word, length);
    if (option->kind == CLI_FLAG && argument)
        return cli_usage_error(c->command->name, "--%s takes no argument", option->name);
    if (option->kind != CLI_FLAG && !argument) {
        if (c->at + 1 >= c->argc) return no_argument(c->command, option);
        argument = c->argv[++c->at];
    }
    return store(c->command, option, argument);
}

bool cli_parse(const cli_command *command, int argc, char **argv, char **positional, int *out_count, int *out_exit)
{
    cursor c = {command, argv, argc, 1};
    bool only_positional = false;
    *out_count = 0;
    *out_exit = CLI_OK;
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
        if (strcmp(argv[i], "--help") != 0 && strcmp(argv[i], "-h") != 0) continue;
        print_help(command);
        *out_exit = cli_finish(command->name, CLI_OK);
        return false;
    }
    for (; c.at < argc; c.at++) {
        if (only_positional || is_positional(argv[c.at])) {
            positional[(*out_count)++] = argv[c.at];
        } else if (strcmp(argv[c.at], "--") == 0) {
            only_positional = true;
        } else {
            *out_exit = parse_option(&c);
            if (*out_exit != CLI_OK) return false;
        }
    }
    return true;
}
