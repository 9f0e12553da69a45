/* The registry: a line for each tree. */
#include "trees/registry.h"

#include <string.h>

/* A new tree is one line here. The order is the one in which people see them. */
#define TREES(X)                                                                                                       \
    X(copse_tree_implicit)                                                                                             \
    X(copse_tree_regular)                                                                                              \
    X(copse_tree_blink)                                                                                                \
    X(copse_tree_bplus)                                                                                                \
    X(copse_tree_paged)                                                                                                \
    X(copse_tree_radix)                                                                                                \
    X(copse_tree_sorted)

#define DECLARE(name) extern const copse_tree_description name;
#define ADDRESS(name) &(name),
TREES(DECLARE)
static const copse_tree_description *const trees[] = {TREES(ADDRESS)};

#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

const copse_tree_description *copse_registry_tree(unsigned i)
{
    return i < COUNT_OF(trees) ? trees[i] : NULL;
}

const copse_tree_description *copse_registry_find(copse_structure structure)
{
    for (unsigned i = 0; i < COUNT_OF(trees); i++)
        if (trees[i]->structure == structure) return trees[i];
    return NULL;
}

static const copse_tree_at *tree_at(const copse_tree_description *tree, copse_type key_type, copse_placement placement)
{
    const copse_tree_at *at = key_type == COPSE_BYTES ? tree->bytes_at : tree->at;
    while (at && at->calls && at->placement != placement) at++;
    return at && at->calls ? at : NULL;
}

const copse_tree_at *copse_registry_at_for(copse_type key_type, copse_structure structure, copse_placement placement)
{
    const copse_tree_description *tree = copse_registry_find(structure);
    return tree ? tree_at(tree, key_type, placement) : NULL;
}

copse_structure copse_registry_automatic_for(copse_type key_type, copse_placement placement, unsigned use,
                                             bool duplicates)
{
    for (unsigned i = 0; i < COUNT_OF(trees); i++) {
        const copse_tree_at *at = tree_at(trees[i], key_type, placement);
        const bool keeps = trees[i]->capabilities & COPSE_CAPABILITY(COPSE_CAN_KEEP_DUPLICATES);
        if (at && at->automatic & use && (keeps || !duplicates)) return trees[i]->structure;
    }
    if (use & COPSE_AUTO_STREAMED)
        return copse_registry_automatic_for(key_type, placement, (use & ~COPSE_AUTO_STREAMED) | COPSE_AUTO_UPDATES,
                                            duplicates);
    return COPSE_STRUCTURE_AUTO;
}

bool copse_registry_takes(copse_structure structure, copse_type key_type)
{
    const copse_tree_description *tree = copse_registry_find(structure);
    const copse_tree_at *at = !tree ? NULL : key_type == COPSE_BYTES ? tree->bytes_at : tree->at;
    return at && at->calls;
}

const copse_tree_at *copse_registry_at(copse_structure structure, copse_placement placement)
{
    return copse_registry_at_for(COPSE_U64, structure, placement);
}

copse_structure copse_registry_automatic(copse_placement placement, unsigned use)
{
    return copse_registry_automatic_for(COPSE_U64, placement, use, false);
}

copse_structure copse_registry_nearest(copse_structure structure, copse_placement placement)
{
    const copse_tree_description *tree = copse_registry_find(structure);
    return !tree || tree_at(tree, COPSE_U64, placement) ? structure : tree->counterpart;
}

/* --- copse.h ------------------------------------------------------------------------------------------------------ */

const char *copse_structure_name(copse_structure structure)
{
    const copse_tree_description *tree = copse_registry_find(structure);
    if (structure == COPSE_STRUCTURE_AUTO) return "auto";
    return tree ? tree->name : "unknown";
}

/* "auto, implicit, regular or blink" */
static void names_join(char *out, size_t size)
{
    size_t at = (size_t)snprintf(out, size, "auto");
    for (unsigned i = 0; i < COUNT_OF(trees) && at < size; i++)
        at += (size_t)snprintf(out + at, size - at, "%s%s", i + 1 < COUNT_OF(trees) ? ", " : " or ", trees[i]->name);
}

copse_status copse_structure_parse(const char *name, copse_structure *out_structure)
{
    char names[256];
    if (!name || !out_structure)
        return copse_fail_missing(NULL, "copse_structure_parse", name ? "out_structure" : "name");
    if (strcmp(name, "auto") == 0) {
        *out_structure = COPSE_STRUCTURE_AUTO;
        return COPSE_OK;
    }
    for (unsigned i = 0; i < COUNT_OF(trees); i++)
        if (strcmp(trees[i]->name, name) == 0) {
            *out_structure = trees[i]->structure;
            return COPSE_OK;
        }
    names_join(names, sizeof names);
    return copse_fail_argument(NULL, "name", "'%.40s' is not a structure: use %s", name, names);
}

int copse_supports(copse_structure structure, copse_placement placement, copse_type key_type, copse_capability what)
{
    const copse_tree_description *tree = copse_registry_find(structure);
    const copse_tree_at *at = tree && copse_type_is_key(key_type) ? tree_at(tree, key_type, placement) : NULL;
    if (!at || (unsigned)what > COPSE_CAN_VISIT) return 0;
    if (what == COPSE_CAN_VISIT) return at->calls->visit != NULL;
    return what == COPSE_CAN_EXIST || (tree->capabilities & COPSE_CAPABILITY(what)) != 0;
}
