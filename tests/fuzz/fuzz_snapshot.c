/* Fuzzes copse_load and copse_open. Each input is loaded twice: as it is, which tests that damage is seen, and with its checksums made
 * right, which leads to the checks behind them. Whatever loads has to be a sound index. What opens is read, whether it is sound or
 * not; it is sound where it loads, and only there. */
#define _GNU_SOURCE
#include "answers.h"
#include "copse.h"
#include "snapshot_file.h"

#include <stdbool.h>
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

static copse_stats stats_of(const copse_index *index)
{
    copse_stats stats = {.struct_size = sizeof stats};
    if (copse_index_stats(index, &stats) != COPSE_OK) abort();
    return stats;
}

/* What loaded must pass its own verification and hold as many entries as it says. */
static void index_check(const copse_ctx *ctx, const copse_index *index)
{
    const copse_stats stats = stats_of(index);
    const uint64_t n = stats.entries;
    copse_bytes strings = COPSE_BYTES_INIT(NULL, 0, NULL, 64);
    const bool has_strings = stats.key_type == COPSE_BYTES;
    if (has_strings && copse_export(index, &strings, NULL, 0) != COPSE_OK) abort();
    void *keys = malloc((n + 1) * 8 + strings.needed), *values = malloc(n * 8 + 1);
    strings.offsets = keys;
    strings.size = strings.needed;
    strings.data = keys ? (char *)keys + (n + 1) * 8 : NULL;
    if (!keys || !values || copse_verify(index) != COPSE_OK ||
        copse_export(index, has_strings ? (void *)&strings : keys, stats.value_type == COPSE_NONE ? NULL : values, n) !=
            COPSE_OK) {
        fprintf(stderr, "a loaded index is not sound: %s\n", copse_last_error(ctx));
        abort();
    }
    free(keys);
    free(values);
}

/* Nothing is wrong but the content of the file, and the sentence has to say so. */
static void sentence_check(const copse_ctx *ctx, copse_status status)
{
    if ((status == COPSE_ERR_FORMAT || status == COPSE_ERR_VERSION) && strstr(copse_last_error(ctx), "snapshot"))
        return;
    fprintf(stderr, "status %s: %s\n", copse_status_name(status), copse_last_error(ctx));
    abort();
}

static struct answers ask(const copse_index *index)
{
    const uint64_t most = UINT64_C(0x7070707070707070); /* no NaN in any type */
    const uint64_t keys[4] = {0, 7, 1000, most}, highs[4] = {most, 9, 2000, most};
    char letters[] = "key00010key02000\377";
    int64_t low_offsets[5] = {0, 0, 8, 16, 17}, high_offsets[5] = {0, 8, 16, 17, 17};
    const copse_bytes low_strings = COPSE_BYTES_INIT(letters, 17, low_offsets, 64);
    const copse_bytes high_strings = COPSE_BYTES_INIT(letters, 17, high_offsets, 64);
    if (stats_of(index).key_type == COPSE_BYTES) return answers_ask(index, &low_strings, &high_strings, 4);
    return answers_ask(index, keys, highs, 4);
}

/* Asks an open file, which may be damaged, whatever can be asked. */
static void open_and_read(copse_ctx *ctx, const char *path, bool loads)
{
    copse_index *index = NULL;
    copse_status status = copse_open(ctx, path, NULL, &index);
    /* Version 1 cannot be opened, which the sentence says. */
    if (status == COPSE_ERR_UNSUPPORTED) return;
    if (status != COPSE_OK) {
        sentence_check(ctx, status);
        if (!loads) return;
        fprintf(stderr, "it loads and does not open: %s\n", copse_last_error(ctx));
        abort();
    }
    struct answers answers = ask(index);
    const char *failed = answers_failed(&answers, loads ? COPSE_OK : COPSE_ERR_FORMAT);
    status = copse_verify(index);
    if (status != COPSE_OK) sentence_check(ctx, status);
    if (failed || (loads && status != COPSE_OK)) {
        fprintf(stderr, "%s: %s\n", failed ? failed : "verify", copse_last_error(ctx));
        abort();
    }
    answers_free(&answers);
    copse_index_free(index);
}

static void load(const uint8_t *data, size_t size)
{
    static int file = -1;
    char path[64];
    copse_ctx *ctx = context();
    copse_index *index = NULL;
    if (file < 0) file = memfd_create("snapshot", MFD_CLOEXEC);
    if (file < 0 || ftruncate(file, 0) != 0 || pwrite(file, data, size, 0) != (ssize_t)size) abort();
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    copse_status status = copse_load(ctx, path, NULL, &index);
    if (status == COPSE_OK) index_check(ctx, index);
    if (status != COPSE_OK) sentence_check(ctx, status);
    if (status != COPSE_OK && index) abort();
    copse_index_free(index);
    open_and_read(ctx, path, status == COPSE_OK);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    load(data, size);
    uint8_t *copy = malloc(size + 1);
    if (!copy) abort();
    if (size) memcpy(copy, data, size);
    if (snapshot_repair(copy, size)) load(copy, size);
    free(copy);
    return 0;
}
