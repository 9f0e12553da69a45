/* Which trees take part in the demo: at each placement the one that reads fastest and the one that is made for updates, as
 * AUTO takes them. Baselines stay out: the demo has a sorted array of its own to compare with. */
#include "cli/demo/demo.h"

#include <string.h>

#include "trees/registry.h"

#define WARM_UP (UINT64_C(1) << 17)

static copse_status add_tree(demo *d, copse_structure structure, copse_placement placement)
{
    demo_tree *tree = &d->tree[d->trees];
    copse_index_options options = COPSE_INDEX_OPTIONS_INIT;
    options.structure = structure;
    options.placement = placement;
    copse_status status = copse_index_create(d->session.ctx, &options, &tree->index);
    if (status != COPSE_OK) return status;
    tree->structure = structure;
    tree->placement = placement;
    d->trees++;
    return COPSE_OK;
}

static copse_status add_placement(demo *d, copse_placement placement)
{
    for (unsigned t = 0; t < d->trees; t++)
        if (d->tree[t].placement == placement) return COPSE_OK; /* named twice */
    const copse_structure reads = copse_registry_automatic(placement, COPSE_AUTO_READS);
    const copse_structure updates = copse_registry_automatic(placement, COPSE_AUTO_UPDATES);
    copse_status status = add_tree(d, reads, placement);
    return status != COPSE_OK || updates == reads ? status : add_tree(d, updates, placement);
}

const char *demo_tree_names(copse_placement placement, char text[CLI_STRUCTURES_SIZE])
{
    const copse_structure reads = copse_registry_automatic(placement, COPSE_AUTO_READS);
    const copse_structure updates = copse_registry_automatic(placement, COPSE_AUTO_UPDATES);
    if (updates == reads)
        snprintf(text, CLI_STRUCTURES_SIZE, "the %s tree", copse_structure_name(reads));
    else
        snprintf(text, CLI_STRUCTURES_SIZE, "the %s and the %s tree", copse_structure_name(reads),
                 copse_structure_name(updates));
    return text;
}

/* "cpu,emulated" */
static int open_asked(demo *d, const char *names)
{
    for (;; names++) {
        size_t length = strcspn(names, ",");
        char name[16];
        copse_placement placement = COPSE_PLACEMENT_AUTO;
        snprintf(name, sizeof name, "%.*s", (int)(length < sizeof name ? length : sizeof name - 1), names);
        if (copse_placement_parse(name, &placement) != COPSE_OK || placement == COPSE_PLACEMENT_AUTO)
            return cli_usage_error("demo", "--placement takes cpu, gpu and emulated with commas between, not '%.*s'",
                                   (int)length, names);
        copse_status status = add_placement(d, placement);
        if (status != COPSE_OK) return cli_session_fail(&d->session, status);
        names += length;
        if (*names == '\0') return CLI_OK;
    }
}

int demo_trees_open(demo *d)
{
    if (d->args->placements) return open_asked(d, d->args->placements);
    copse_status status = add_placement(d, COPSE_PLACEMENT_CPU);
    if (status != COPSE_OK) return cli_session_fail(&d->session, status);
    if (add_placement(d, COPSE_PLACEMENT_GPU) != COPSE_OK)
        snprintf(d->no_gpu, sizeof d->no_gpu, "%s", copse_last_error(d->session.ctx));
    return CLI_OK;
}

void demo_trees_close(demo *d)
{
    for (unsigned t = 0; t < d->trees; t++) copse_index_free(d->tree[t].index);
    d->trees = 0;
}

copse_status demo_trees_warm(demo *d)
{
    uint64_t n = d->args->n < WARM_UP ? d->args->n : WARM_UP;
    copse_status status = COPSE_OK;
    for (unsigned t = 0; t < d->trees && status == COPSE_OK; t++) {
        if (d->tree[t].placement != COPSE_PLACEMENT_GPU) continue;
        status = copse_build(d->tree[t].index, d->keys, d->values, n);
        if (status == COPSE_OK) status = copse_find(d->tree[t].index, d->keys, n, d->got_values, d->found);
    }
    return status;
}
