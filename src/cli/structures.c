/* --structure: which trees there are, for messages and help. The registry knows; nothing here names one. */
#include "cli/cli.h"

#include <string.h>

#include "trees/registry.h"

/* Adds to the text; what does not fit is cut. */
static void append(char text[CLI_STRUCTURES_SIZE], const char *before, const char *more)
{
    size_t used = strlen(text);
    snprintf(text + used, CLI_STRUCTURES_SIZE - used, "%s%s", before, more);
}

const char *cli_structure_list(char text[CLI_STRUCTURES_SIZE])
{
    const copse_tree_description *tree;
    snprintf(text, CLI_STRUCTURES_SIZE, "auto");
    for (unsigned i = 0; (tree = copse_registry_tree(i)) != NULL; i++)
        append(text, copse_registry_tree(i + 1) ? ", " : " or ", tree->name);
    return text;
}

const char *cli_structures_at(copse_placement placement, char text[CLI_STRUCTURES_SIZE])
{
    const copse_tree_description *tree;
    text[0] = '\0';
    for (unsigned i = 0; (tree = copse_registry_tree(i)) != NULL; i++)
        if (copse_registry_at(tree->structure, placement)) append(text, text[0] ? "," : "", tree->name);
    return text;
}

const char *cli_structures_for(copse_type key_type, copse_placement placement, char text[CLI_STRUCTURES_SIZE])
{
    const copse_tree_description *tree;
    text[0] = '\0';
    for (unsigned i = 0; (tree = copse_registry_tree(i)) != NULL; i++)
        if (copse_registry_at_for(key_type, tree->structure, placement)) append(text, text[0] ? ", " : "", tree->name);
    return text;
}

/* Names of the trees that are or are not on the CPU and on devices, in front of where that is. */
static void append_group(char text[CLI_STRUCTURES_SIZE], bool on_cpu, bool on_devices, const char *between,
                         const char *where)
{
    const copse_tree_description *tree;
    bool any = false;
    for (unsigned i = 0; (tree = copse_registry_tree(i)) != NULL; i++) {
        bool cpu = copse_registry_at(tree->structure, COPSE_PLACEMENT_CPU) ||
                   copse_registry_at_for(COPSE_BYTES, tree->structure, COPSE_PLACEMENT_CPU);
        bool devices = copse_registry_at(tree->structure, COPSE_PLACEMENT_GPU) != NULL;
        if (cpu != on_cpu || devices != on_devices) continue;
        append(text, any ? ", " : between, tree->name);
        any = true;
    }
    if (any) append(text, where, "");
}

const char *cli_structure_places(char text[CLI_STRUCTURES_SIZE])
{
    snprintf(text, CLI_STRUCTURES_SIZE, "auto");
    append_group(text, true, true, ", ", "");
    append_group(text, true, false, "; ", " on the CPU");
    append_group(text, false, true, "; ", " on devices");
    return text;
}

const char *cli_structure_summaries(char text[CLI_STRUCTURES_SIZE])
{
    const copse_tree_description *tree;
    char line[160];
    text[0] = '\0';
    for (unsigned i = 0; (tree = copse_registry_tree(i)) != NULL; i++) {
        if (!copse_registry_takes(tree->structure, COPSE_U64)) continue; /* those that `copse bench` measures */
        snprintf(line, sizeof line, "  %-10s %s", tree->name, tree->summary);
        append(text, text[0] ? "\n" : "", line);
    }
    return text;
}

void cli_wrap(char *text, size_t width)
{
    char *line = text, *blank = NULL;
    for (char *at = text; *at; at++) {
        if (*at == '\n') {
            line = at + 1;
            blank = NULL;
        }
        if (*at == ' ') blank = at;
        if (!blank || (size_t)(at - line) < width) continue;
        *blank = '\n';
        line = blank + 1;
        blank = NULL;
    }
}
