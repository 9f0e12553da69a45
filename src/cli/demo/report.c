/* What the demo prints. */
#include "cli/demo/demo.h"

#include "device/device.h"

/* The structure, on devices with the placement in front of it, short enough for a column. */
static const char *tree_name(const demo_tree *tree, char name[DEMO_NAME_SIZE])
{
    const char *place = tree->placement == COPSE_PLACEMENT_GPU        ? "gpu "
                        : tree->placement == COPSE_PLACEMENT_EMULATED ? "emu. "
                                                                      : "";
    snprintf(name, DEMO_NAME_SIZE, "%s%s", place, copse_structure_name(tree->structure));
    return name;
}

static uint64_t wrong_answers(const demo *d, const demo_result *result)
{
    uint64_t wrong = 0;
    for (unsigned t = 0; t < d->trees; t++) wrong += result->wrong[t];
    return wrong;
}

static void print_device(const demo *d, const demo_tree *tree)
{
    copse_device *device = NULL;
    copse_device_info card = {.struct_size = sizeof card};
    char names[CLI_STRUCTURES_SIZE];
    if (tree > d->tree && tree[-1].placement == tree->placement) return; /* one line for both trees of a device */
    demo_tree_names(tree->placement, names);
    if (tree->placement == COPSE_PLACEMENT_EMULATED)
        printf("emulated: %s, their GPU kernels run by the CPU; slow, for tests.\n", names);
    if (tree->placement != COPSE_PLACEMENT_GPU) return;
    if (copse_device_get(d->session.ctx, tree->placement, &device) != COPSE_OK ||
        copse_device_describe(device->number, &card) != COPSE_OK)
        return;
    printf("gpu: %s on card %d, %s; questions and answers travel to and from host memory.\n", names, device->number,
           card.name);
}

void demo_report_begin(const demo *d)
{
    char number[CLI_NUMBER_SIZE], name[DEMO_NAME_SIZE];
    copse_ctx_info info = {.struct_size = sizeof info};
    if (d->args->json) return;
    printf("copse %s: a table of %s order%s, each with a number (the key) and an amount.\n", copse_version(),
           cli_group(d->args->n, number), d->args->n == 1 ? "" : "s");
    if (!d->args->no_timing && copse_ctx_describe(d->session.ctx, &info) == COPSE_OK)
        printf("Speed in million operations a second, on %u thread%s with %s; the sorted array on one thread.\n",
               info.threads, info.threads == 1 ? "" : "s", info.isa);
    for (unsigned t = 0; t < d->trees; t++) print_device(d, &d->tree[t]);
    if (d->no_gpu[0]) printf("GPU: none: %s\n", d->no_gpu);
    printf("\n%-28s %12s", "step", "operations");
    for (unsigned t = 0; t < d->trees && !d->args->no_timing; t++) printf(" %13s", tree_name(&d->tree[t], name));
    if (!d->args->no_timing) printf(" %13s", "sorted array");
    puts("   answers");
    fflush(stdout);
}

static void print_rate(uint64_t operations, double seconds)
{
    printf(" %13.1f", seconds > 0 ? (double)operations / seconds / 1e6 : 0.0);
}

static void print_step(const demo *d, const demo_step *step, const demo_result *result)
{
    char number[CLI_NUMBER_SIZE], name[DEMO_NAME_SIZE];
    printf("%-28s %12s", step->label, cli_group(result->operations, number));
    for (unsigned t = 0; t < d->trees && !d->args->no_timing; t++) print_rate(result->operations, result->seconds[t]);
    if (!d->args->no_timing) print_rate(result->operations, result->model_seconds);
    if (wrong_answers(d, result) == 0) printf("   all equal");
    for (unsigned t = 0; t < d->trees; t++)
        if (result->wrong[t] > 0)
            printf("   %s of %s differ", cli_group(result->wrong[t], number), tree_name(&d->tree[t], name));
    putchar('\n');
    fflush(stdout);
}

/* tree NULL: the sorted array. */
static void print_json(const demo *d, const demo_step *step, const demo_tree *tree, const demo_result *result)
{
    uint64_t t = tree ? (uint64_t)(tree - d->tree) : 0;
    cli_json json;
    cli_json_begin(&json, stdout);
    cli_json_text(&json, "step", step->name);
    cli_json_text(&json, "structure", tree ? copse_structure_name(tree->structure) : "sorted-array");
    cli_json_text(&json, "placement", tree ? copse_placement_name(tree->placement) : NULL);
    cli_json_u64(&json, "operations", result->operations);
    if (!d->args->no_timing) cli_json_double(&json, "seconds", tree ? result->seconds[t] : result->model_seconds);
    cli_json_u64(&json, "wrong", tree ? result->wrong[t] : 0);
    cli_json_end(&json);
}

void demo_report_step(const demo *d, const demo_step *step, const demo_result *result)
{
    if (!d->args->json) {
        print_step(d, step, result);
        return;
    }
    for (unsigned t = 0; t < d->trees; t++) print_json(d, step, &d->tree[t], result);
    print_json(d, step, NULL, result);
}

void demo_report_end(const demo *d, double seconds)
{
    char time[CLI_NUMBER_SIZE];
    if (d->args->json) return;
    if (d->args->no_timing)
        puts("\nEvery answer is right.");
    else
        printf("\nEvery answer is right. It took %s.\n", cli_seconds(seconds, time));
    puts("\nWhere to go next\n"
         "  copse build orders.csv --key id --value amount -o orders.copse    index a table of your own\n"
         "  copse sum orders.copse 1000 1999                                  and ask it something\n"
         "  copse query orders.csv --group-by city --sum amount               or all columns of a file\n"
         "  copse bench --help                                                measure, also against other libraries\n"
         "  copse help                                                        all commands");
}
