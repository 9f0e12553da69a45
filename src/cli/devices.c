/* copse devices: what this machine offers and what copse uses of it. */
#define _POSIX_C_SOURCE 200809L
#include "cli/cli.h"

#include <stdlib.h>
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
}

static void print_card_text(int32_t number, const copse_device_info *card)
{
    char total[CLI_NUMBER_SIZE], available[CLI_NUMBER_SIZE], cache[CLI_NUMBER_SIZE];
    printf("GPU %d\n", number);
    cli_fact("name", "%s", card->name);
    if (card->memory_free)
        cli_fact("memory", "%s, %s free", cli_bytes(card->memory, total), cli_bytes(card->memory_free, available));
    else
        cli_fact("memory", "%s", cli_bytes(card->memory, total));
    cli_fact("capability", "%u.%u", card->capability_major, card->capability_minor);
    cli_fact("multiprocessors", "%u", card->multiprocessors);
    cli_fact("cache", "%s", cli_bytes(card->cache, cache));
    cli_fact("usable", "%s%s", card->usable ? "yes" : "no: ", card->usable ? "" : card->why);
}

static void print_card_json(int32_t number, const copse_device_info *card)
{
    char capability[32];
    cli_json json;
    (void)snprintf(capability, sizeof capability, "%u.%u", card->capability_major, card->capability_minor);
    cli_json_begin(&json, stdout);
    cli_json_text(&json, "device", "gpu");
    cli_json_u64(&json, "number", (uint64_t)number);
    cli_json_text(&json, "name", card->name);
    cli_json_u64(&json, "memory", card->memory);
    cli_json_u64(&json, "memory_free", card->memory_free);
    cli_json_text(&json, "capability", capability);
    cli_json_u64(&json, "multiprocessors", card->multiprocessors);
    cli_json_u64(&json, "cache", card->cache);
    cli_json_bool(&json, "usable", card->usable != 0);
    cli_json_text(&json, "reason", card->usable ? NULL : card->why);
    cli_json_end(&json);
}

static void print_no_card(const char *why, bool as_json)
{
    cli_json json;
    if (!as_json) {
        printf("GPU: none: %s\n", why);
        return;
    }
    cli_json_begin(&json, stdout);
    cli_json_text(&json, "device", "gpu");
    cli_json_null(&json, "number");
    cli_json_bool(&json, "usable", false);
    cli_json_text(&json, "reason", why);
    cli_json_end(&json);
}

static void print_cards(bool as_json)
{
    const char *why = NULL;
    int32_t count = copse_device_count(&why);
    if (count == 0) print_no_card(why, as_json);
    for (int32_t i = 0; i < count; i++) {
        copse_device_info card = {.struct_size = sizeof card};
        if (copse_device_describe(i, &card) != COPSE_OK) continue;
        if (as_json)
            print_card_json(i, &card);
        else
            print_card_text(i, &card);
    }
}

/* Who asks for a card by its number learns here that it is not to be had. The context has read the number already. */
static int check_asked_card(cli_session *session)
{
    const char *asked = getenv("COPSE_DEVICE");
    copse_device_info card = {.struct_size = sizeof card};
    if (!asked || !*asked) return CLI_OK;
    copse_status status = copse_device_describe((int32_t)strtol(asked, NULL, 10), &card);
    if (status != COPSE_OK) return cli_session_fail(session, status);
    return card.usable ? CLI_OK : cli_fail("devices", "card %s cannot be used: %s", asked, card.why);
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
        "Shows the devices copse can use here: threads, the instruction set it searches with, huge pages; and each\n"
        "CUDA card with its memory, or why it cannot be used. COPSE_DEVICE=N makes all commands take card N.",
        "  copse devices\n"
        "  COPSE_ISA=scalar copse devices --json",
        options,
        sizeof options / sizeof options[0],
    };
    char *words[64];
    int count = 0, code = CLI_OK;
    machine m = {.cores = sysconf(_SC_NPROCESSORS_ONLN), .info.struct_size = sizeof m.info};
    cli_session session = {0};
    if (argc > 63) return cli_usage_error("devices", "there are too many arguments");
    if (!cli_parse(&command, argc, argv, words, &count, &code)) return code;
    if (count > 0) return cli_usage_error("devices", "'%s' is not expected: the command takes options only", words[0]);
    code = cli_session_open(&session, "devices", threads, true, NULL);
    if (code == CLI_OK) {
        copse_ctx_describe(session.ctx, &m.info);
        cpu_model(m.model, sizeof m.model);
        huge_page_policy(m.policy, sizeof m.policy);
        if (as_json)
            print_json(&m);
        else
            print_text(&m);
        print_cards(as_json);
        code = cli_finish("devices", check_asked_card(&session));
    }
    cli_session_close(&session);
    return code;
}
