/* --placement and --device: where an index lives, and on which card. */
#include "cli/cli.h"

bool cli_placement_is_device(copse_placement placement)
{
    return placement == COPSE_PLACEMENT_GPU || placement == COPSE_PLACEMENT_EMULATED;
}

int cli_placement_read(const char *command, cli_placement *where)
{
    if (where->name && copse_placement_parse(where->name, &where->placement) != COPSE_OK)
        return cli_usage_error(
            command, "--placement takes cpu, gpu, hybrid, auto, emulated or hybrid-emulated, not '%s'", where->name);
    if (where->device == CLI_NO_DEVICE) return CLI_OK;
    if (where->device > INT32_MAX) return cli_usage_error(command, "--device is too large");
    if (where->placement == COPSE_PLACEMENT_CPU)
        return cli_usage_error(command, "--device names a card, but the index is on the CPU: add --placement gpu");
    return CLI_OK;
}
