#include "trees.h"

#include <assert.h>
#include <stddef.h>

#include "trees/registry.h"

/* Keeps the list in order. */
static void trees_add(struct trees *trees, copse_structure structure)
{
    unsigned at = trees->n++;
    assert(trees->n <= TREES_MOST);
    for (; at > 0 && trees->structure[at - 1] > structure; at--) trees->structure[at] = trees->structure[at - 1];
    trees->structure[at] = structure;
}

struct trees trees_that(copse_placement placement, copse_capability what)
{
    const copse_tree_description *tree;
    struct trees trees = {0};
    for (unsigned i = 0; (tree = copse_registry_tree(i)) != NULL; i++)
        if (copse_supports(tree->structure, placement, COPSE_U64, what)) trees_add(&trees, tree->structure);
    return trees;
}

struct trees trees_absent(copse_placement placement)
{
    const copse_tree_description *tree;
    struct trees trees = {0};
    for (unsigned i = 0; (tree = copse_registry_tree(i)) != NULL; i++)
        if (copse_registry_takes(tree->structure, COPSE_U64) &&
            !copse_supports(tree->structure, placement, COPSE_U64, COPSE_CAN_EXIST))
            trees_add(&trees, tree->structure);
    return trees;
}

bool unit_tree_next(struct unit_tree *tree, copse_placement placement, copse_capability what)
{
    static const copse_placement placements[] = {COPSE_PLACEMENT_CPU, COPSE_PLACEMENT_EMULATED,
                                                 COPSE_PLACEMENT_HYBRID_EMULATED};
    bool behind = tree->structure == COPSE_STRUCTURE_AUTO;
    for (unsigned p = 0; p < sizeof placements / sizeof *placements; p++) {
        if (placement != COPSE_PLACEMENT_AUTO && placement != placements[p]) continue;
        const struct trees trees = trees_that(placements[p], what);
        for (unsigned i = 0; i < trees.n; i++) {
            const struct unit_tree next = {trees.structure[i], placements[p]};
            if (behind) {
                *tree = next;
                return true;
            }
            behind = next.structure == tree->structure && next.placement == tree->placement;
        }
    }
    return false;
}
