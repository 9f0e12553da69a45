/* Fuzzes copse_table_open and copse_table_load: each input as it is, and with its checksums made right. What opens is asked; what loads
 * is sound, and can be saved. */
#define _GNU_SOURCE
#include "copse_query.h"
#include "table_file.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static copse_ctx *context(void)
{
    static copse_ctx *ctx;
    copse_ctx_options options = COPSE_CTX_OPTIONS_INIT;
    options.threads = 1;
    if (!ctx && copse_ctx_create(&options, &ctx) != COPSE_OK) abort();
    return ctx;
}

static void refuse(copse_ctx *ctx, copse_status status, const char *what)
{
    fprintf(stderr, "%s: %s: %s\n", what, copse_status_name(status), copse_last_error(ctx));
    abort();
}

/* Nothing is wrong but the content of the file. */
static bool is_damage(copse_status status)
{
    return status == COPSE_ERR_FORMAT || status == COPSE_ERR_VERSION || status == COPSE_ERR_CORRUPT;
}

static void open_and_load(const uint8_t *data, size_t size)
{
    static int file = -1;
    char path[64];
    uint64_t digest = 0;
    copse_ctx *ctx = context();
    copse_table *table = NULL;
    if (file < 0) file = memfd_create("table", MFD_CLOEXEC);
    if (file < 0 || ftruncate(file, 0) != 0 || pwrite(file, data, size, 0) != (ssize_t)size) abort();
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    copse_status status = copse_table_open(ctx, path, &table);
    if (status != COPSE_OK && !is_damage(status)) refuse(ctx, status, "open");
    if (status == COPSE_OK) {
        status = table_ask(table, &digest);
        /* A forged text may be too long for a key of an index that the join makes. */
        if (status != COPSE_OK && !is_damage(status) && status != COPSE_ERR_UNSUPPORTED && status != COPSE_ERR_NAN)
            refuse(ctx, status, "asking");
        copse_table_free(table);
    }
    table = NULL;
    status = copse_table_load(ctx, path, &table);
    if (status != COPSE_OK && table) abort();
    if (status == COPSE_OK && (status = copse_table_verify(table)) != COPSE_OK) refuse(ctx, status, "verify");
    copse_table_free(table);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    open_and_load(data, size);
    uint8_t *copy = malloc(size + 1);
    if (!copy) abort();
    if (size) memcpy(copy, data, size);
    if (table_file_repair(copy, size)) open_and_load(copy, size);
    free(copy);
    return 0;
}
