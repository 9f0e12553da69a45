/* The registry: which trees this build has. Everything that lists, names, parses or picks trees asks here. */
#pragma once

#include "trees/tree.h"

/* Tree number i in the order of the registry; NULL behind the last one. */
const copse_tree_description *copse_registry_tree(unsigned i);
/* The tree of a structure (not AUTO), or NULL. */
const copse_tree_description *copse_registry_find(copse_structure structure);
/* That tree at a placement (not AUTO), or NULL where it is not there. */
const copse_tree_at *copse_registry_at(copse_structure structure, copse_placement placement);
/* The tree that AUTO takes at a placement: `use` is COPSE_AUTO_UPDATES or COPSE_AUTO_READS. AUTO: there is none. */
copse_structure copse_registry_automatic(copse_placement placement, unsigned use);
/* The same two for keys of a type, which may be byte strings; those above speak of keys of fixed width. */
const copse_tree_at *copse_registry_at_for(copse_type key_type, copse_structure structure, copse_placement placement);
/* duplicates: only one that keeps them. */
copse_structure copse_registry_automatic_for(copse_type key_type, copse_placement placement, unsigned use,
                                             bool duplicates);
/* Does the tree take keys of the type, wherever that is? */
bool copse_registry_takes(copse_structure structure, copse_type key_type);
/* The structure itself, or where the placement lacks it, its counterpart there. */
copse_structure copse_registry_nearest(copse_structure structure, copse_placement placement);
