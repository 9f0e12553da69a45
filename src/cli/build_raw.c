/* Binary input of `copse build`: little-endian arrays, in one file of keys and one of values or as pairs in one file. */
#include "cli/build.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define STEP_BYTES ((size_t)4 << 20)

typedef struct bytes {
    char *data;
    size_t size;
} bytes;

static int read_bytes(cli_session *session, FILE *file, const char *name, bytes *out)
{
    uint64_t total = cli_stream_size(file);
    size_t capacity = total > 0 && total < SIZE_MAX / 2 ? (size_t)total + 1 : STEP_BYTES;
    out->data = malloc(capacity);
    for (;;) {
        if (!out->data) return cli_fail("build", "out of memory: '%s' needs more than %zu bytes", name, capacity);
        size_t room = capacity - out->size;
        size_t got = fread(out->data + out->size, 1, room < STEP_BYTES ? room : STEP_BYTES, file);
        out->size += got;
        if (cli_interrupted()) return cli_session_fail(session, COPSE_ERR_CANCELLED);
        if (ferror(file)) return cli_fail("build", "cannot read '%s': %s", name, strerror(errno));
        if (got == 0) return CLI_OK;
        cli_progress_show(&session->progress, total ? "reading" : "bytes read", out->size, total);
        if (out->size < capacity) continue;
        char *larger = capacity < SIZE_MAX / 2 ? realloc(out->data, capacity * 2) : NULL;
        if (!larger) free(out->data);
        out->data = larger;
        capacity *= 2;
    }
}

static int read_path(cli_session *session, const char *path, bytes *out)
{
    if (strcmp(path, "-") == 0) return read_bytes(session, stdin, "standard input", out);
    FILE *file = fopen(path, "rb");
    if (!file) return cli_fail("build", "cannot open '%s': %s", path, strerror(errno));
    int code = read_bytes(session, file, path, out);
    fclose(file);
    return code;
}

/* Nothing to do on a little-endian machine. */
static void to_host_order(void *array, uint64_t count, size_t size)
{
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    for (uint64_t i = 0; i < count; i++) {
        char *element = (char *)array + i * size;
        for (size_t j = 0; j < size / 2; j++) {
            char byte = element[j];
            element[j] = element[size - 1 - j];
            element[size - 1 - j] = byte;
        }
    }
#else
    (void)array;
    (void)count;
    (void)size;
#endif
}

static int check_multiple(const char *path, size_t size, size_t unit, const char *what)
{
    if (size % unit == 0) return CLI_OK;
    return cli_fail("build", "'%s' has %zu bytes, which is no multiple of the %zu bytes of %s", path, size, unit, what);
}

static int split_pairs(const cli_build_args *args, const bytes *input, cli_pairs *out)
{
    size_t key_size = copse_type_size(out->keys.type), value_size = copse_type_size(out->value_type);
    size_t unit = key_size + value_size;
    int code = check_multiple(args->rows.input, input->size, unit, "a key and a value");
    if (code != CLI_OK) return code;
    const uint64_t count = input->size / unit;
    if (!cli_keys_reserve(&out->keys, count, 0) || !cli_pairs_reserve(out, count))
        return cli_fail("build", "out of memory");
    out->keys.count = count;
    for (uint64_t i = 0; i < count; i++) {
        memcpy(out->keys.cells + i * key_size, input->data + i * unit, key_size);
        memcpy((char *)out->values + i * value_size, input->data + i * unit + key_size, value_size);
    }
    return CLI_OK;
}

/* Takes over the memory of both. */
static int join_arrays(const cli_build_args *args, bytes *keys, bytes *values, cli_pairs *out)
{
    size_t key_size = copse_type_size(out->keys.type), value_size = copse_type_size(out->value_type);
    int code = check_multiple(args->rows.input, keys->size, key_size, "a key");
    if (code == CLI_OK && values->data) code = check_multiple(args->values_file, values->size, value_size, "a value");
    if (code != CLI_OK) return code;
    out->keys.count = out->keys.capacity = keys->size / key_size;
    if (values->data && values->size / value_size != out->keys.count)
        return cli_fail("build", "'%s' has %llu keys, but '%s' has %llu values", args->rows.input,
                        (unsigned long long)out->keys.count, args->values_file,
                        (unsigned long long)(values->size / value_size));
    out->keys.cells = keys->data;
    out->values = values->data;
    keys->data = values->data = NULL;
    return CLI_OK;
}

static bool has_csv_options(const cli_rows_args *rows)
{
    return rows->key || rows->value || rows->delimiter || rows->decimal || rows->date_format || rows->on_bad ||
           rows->nulls.count > 0 || rows->no_header;
}

static int check_options(const cli_build_args *args)
{
    bool row_numbers = !args->pairs && !args->values_file;
    if (!args->rows.key_type) return cli_usage_error("build", "binary input does not say its types: give --key-type");
    if (args->rows.key_type == COPSE_BYTES)
        return cli_usage_error("build", "binary input has keys of 4 or 8 bytes; text comes from CSV");
    if (!row_numbers && args->rows.value_type == COPSE_NONE)
        return cli_usage_error("build", "--value-type none makes a set, which --values and --pairs are not for");
    if (!row_numbers && !args->rows.value_type)
        return cli_usage_error("build", "binary input does not say its types: give --value-type");
    if (args->pairs && args->values_file)
        return cli_usage_error("build", "--pairs and --values exclude each other: values are in the pairs, or apart");
    if (has_csv_options(&args->rows))
        return cli_usage_error("build", "binary input has no columns: --key, --value, --delimiter, --decimal, "
                                        "--date-format, --null, --on-bad and --no-header are for CSV");
    if (args->values_file && strcmp(args->values_file, "-") == 0 && strcmp(args->rows.input, "-") == 0)
        return cli_usage_error("build", "keys and values cannot both come from standard input");
    return CLI_OK;
}

/* Rows that are to change their order take their numbers along. */
static int number_rows(cli_pairs *pairs)
{
    size_t size = copse_type_size(pairs->value_type);
    if (pairs->keys.count == 0) return CLI_OK;
    char *values = pairs->values = malloc((size_t)pairs->keys.count * size);
    if (!values) return cli_fail("build", "out of memory");
    for (uint64_t i = 0; i < pairs->keys.count; i++)
        if (!cli_pairs_number(pairs->value_type, i, values + i * size))
            return cli_fail("build", "row number %llu does not fit %s", (unsigned long long)i,
                            cli_type_name(pairs->value_type));
    return CLI_OK;
}

int cli_read_raw(cli_session *session, const cli_build_args *args, cli_pairs *out_pairs)
{
    bytes keys = {0}, values = {0};
    int code = check_options(args);
    if (code != CLI_OK) return code;
    cli_keys_start(&out_pairs->keys, args->rows.key_type);
    out_pairs->value_type = args->rows.value_type ? args->rows.value_type : COPSE_U64;
    snprintf(out_pairs->key_name, sizeof out_pairs->key_name, "raw");
    snprintf(out_pairs->value_name, sizeof out_pairs->value_name, "%s",
             args->pairs || args->values_file      ? "raw"
             : out_pairs->value_type == COPSE_NONE ? "none"
                                                   : "row number");
    code = read_path(session, args->rows.input, &keys);
    if (code == CLI_OK && args->values_file) code = read_path(session, args->values_file, &values);
    cli_progress_clear(&session->progress);
    out_pairs->bytes = keys.size + values.size;
    if (code == CLI_OK)
        code = args->pairs ? split_pairs(args, &keys, out_pairs) : join_arrays(args, &keys, &values, out_pairs);
    free(keys.data);
    free(values.data);
    if (code != CLI_OK) return code;
    to_host_order(out_pairs->keys.cells, out_pairs->keys.count, copse_type_size(out_pairs->keys.type));
    if (out_pairs->values)
        to_host_order(out_pairs->values, out_pairs->keys.count, copse_type_size(out_pairs->value_type));
    const bool numbers = !out_pairs->values && out_pairs->value_type != COPSE_NONE;
    return numbers && args->duplicates == CLI_DUPLICATES_FIRST ? number_rows(out_pairs) : CLI_OK;
}
