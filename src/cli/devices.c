/* copse devices: what this machine offers and what copse uses of it. */
#define _POSIX_C_SOURCE 200809L
#include "cli.h"

#include <string.h>
#include <unistd.h>

/* The processor's own name for itself, "" where the system does not tell. */
static void cpu_model(char *out, size_t size)
{
    char line[256];
    FILE *file = fopen("/proc/cpuinfo", "r");
    out[0] = '\0';
    if (!file) return;
    while (out[0] == '\0' && fgets(line, sizeof line, file)) {
        const char *colon = strchr(line, ':');
        if (strncmp(line, "model name", 10) != 0 || !colon) continue;
        colon += 1 + strspn(colon + 1, " \t");
        snprintf(out, size, "%.*s", (int)strcspn(colon, "\n"), colon);
    }
    fclose(file);
}

/* The chosen word of "always [madvise] never", "" where the system does not tell. */
static void huge_page_policy(char *out, size_t size)
{
    char line[128] = "";
    FILE *file = fopen("/sys/kernel/mm/transparent_hugepage/enabled", "r");
    out[0] = '\0';
    if (!file) return;
    const char *open = fgets(line, sizeof line, file) ? strchr(line, '[') : NULL;
    if (open) snprintf(out, size, "%.*s", (int)strcspn(open + 1, "]"), open + 1);
    fclose(file);
}

typedef struct machine {
    copse_ctx_info info;
    long cores;
    char model[128];
    char policy[32];
} machine;

static const char *huge_pages_text(const machine *m)
{
    if (m->info.huge_pages == COPSE_HUGE_PAGES_OFF) return "off";
    if (m->policy[0] == '\0') return "asked for; the system does not say whether it gives them";
    return strcmp(m->policy, "never") == 0 ? "asked for, but the system gives none" : "on";
}

static void print_text(const machine *m)
{
    puts("CPU");
    if (m->model[0]) cli_fact("model", "%s", m->model);
    cli_fact("threads", "%u of %ld", m->info.threads, m->cores);
    cli_fact("instruction set", "%s (offered: %s)", m->info.isa, m->info.isa_offered);
    cli_fact("huge pages", "%s", huge_pages_text(m));
    if (m->info.pipeline)
        cli_fact("pipeline", "%u queries in flight per thread", m->info.pipeline);
    else
        cli_fact("pipeline", "as many queries in flight per thread as measured best");
    puts("GPU: this build has no GPU support");
}

static void print_json(const machine *m)
{
    cli_json json;
    cli_json_begin(&json, stdout);
    cli_json_text(&json, "device", "cpu");
    cli_json_text(&json, "model", m->model[0] ? m->model : NULL);
    cli_json_u64(&json, "threads", m->info.threads);
    cli_json_u64(&json, "cores", m->cores > 0 ? (uint64_t)m->cores : 0);
    cli_json_text(&json, "isa", m->info.isa);
    cli_json_text(&json, "isa_offered", m->info.isa_offered);
    cli_json_bool(&json, "huge_pages", strcmp(huge_pages_text(m), "on") == 0);
    cli_json_u64(&json, "pipeline", m->info.pipeline);
    cli_json_end(&json);
    cli_json_begin(&json, stdout);
    cli_json_text(&json, "device", "gpu");
    cli_json_bool(&json, "supported", false);
    cli_json_text(&json, "reason", "this build has no GPU support");
    cli_json_end(&json);
}

int copse_cli_devices(int argc, char **argv)
{
    bool as_json = false;
    uint64_t threads = 0;
    const cli_option options[] = {
        {"json", 'j', CLI_FLAG, NULL, "print one JSON object per device", &as_json},
        {"threads", 't', CLI_COUNT, "N", "as for other commands (default: COPSE_THREADS, else all cores)", &threads},
    };
    const cli_command command = {
        "devices",
        "[OPTIONS]",
        "Shows the devices copse can use here: threads, the instruction set it searches with, huge pages, and\n"
        "whether there is a GPU for it.",
        "  copse devices\n"
        "  COPSE_ISA=scalar copse devices --json",
        options,
        sizeof options / sizeof options[0],
    };
    char *words[64];
    int count = 0, code = CLI_OK;
    machine m = {.cores = sysconf(_SC_NPROCESSORS_ONLN)};
    cli_session session = {0};
    if (argc > 63) return cli_usage_error("devices", "there are too many arguments");
    if (!cli_parse(&command, argc, argv, words, &count, &code)) return code;
    if (count > 0) return cli_usage_error("devices", "'%s' is not expected: the command takes options only", words[0]);
    code = cli_session_open(&session, "devices", threads, true);
    if (code == CLI_OK) {
        copse_ctx_describe(session.ctx, &m.info);
        cpu_model(m.model, sizeof m.model);
        huge_page_policy(m.policy, sizeof m.policy);
        if (as_json)
            print_json(&m);
        else
            print_text(&m);
        code = cli_finish("devices", CLI_OK);
    }
    cli_session_close(&session);
    return code;
}
