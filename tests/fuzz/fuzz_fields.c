/* Bytes that claim to be a key of several fields: whatever they are, decoding refuses them or gives values, and those, encoded and decoded
 * again, are the same.
 *
 *   byte 0         fields, 1 to 8; then for each a byte: type, and flags
 *   the rest       the key */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "copse.h"

#define MOST 8u

struct decoded {
    uint64_t numbers[MOST];
    uint8_t validity[MOST];
    unsigned char text[MOST][COPSE_LONGEST_KEY];
    int64_t offsets[MOST][2];
    copse_bytes strings[MOST];
    copse_field fields[MOST];
};

static void fields_point(struct decoded *to)
{
    for (unsigned f = 0; f < MOST; f++) {
        const copse_bytes strings = COPSE_BYTES_INIT(to->text[f], sizeof to->text[f], to->offsets[f], 64);
        to->strings[f] = strings;
        to->fields[f].data = to->fields[f].type == COPSE_BYTES ? (void *)&to->strings[f] : (void *)&to->numbers[f];
        to->fields[f].validity = to->fields[f].flags & COPSE_FIELD_NULLABLE ? &to->validity[f] : NULL;
    }
}

static void check(bool right)
{
    if (!right) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size)
{
    static struct decoded first, second;
    static unsigned char encoded[COPSE_LONGEST_KEY];
    static copse_ctx *ctx;
    if (!ctx) check(copse_ctx_create(NULL, &ctx) == COPSE_OK);
    const unsigned count = size ? 1u + input[0] % MOST : 0;
    if (size < 1u + count || size > COPSE_LONGEST_KEY) return 0;
    memset(&first, 0, sizeof first);
    memset(&second, 0, sizeof second);
    for (unsigned f = 0; f < count; f++)
        first.fields[f] = (copse_field){.type = 1u + input[1 + f] % (unsigned)COPSE_BYTES, .flags = input[1 + f] / 64u};
    memcpy(second.fields, first.fields, sizeof second.fields);
    fields_point(&first);
    fields_point(&second);
    int64_t offsets[2] = {0, (int64_t)(size - 1 - count)}, to[2];
    const copse_bytes key = COPSE_BYTES_INIT((void *)(uintptr_t)(input + 1 + count), size - 1 - count, offsets, 64);
    copse_bytes again = COPSE_BYTES_INIT(encoded, sizeof encoded, to, 64);
    if (copse_decode_fields(ctx, &key, 1, first.fields, count) != COPSE_OK) return 0;
    const copse_status status = copse_encode_fields(ctx, first.fields, count, 1, 0, &again);
    check(status == COPSE_OK || status == COPSE_ERR_NAN);
    if (status != COPSE_OK) return 0;
    check(to[1] <= offsets[1]); /* there may be more behind the fields */
    again.size = (uint64_t)to[1];
    check(copse_decode_fields(ctx, &again, 1, second.fields, count) == COPSE_OK);
    for (unsigned f = 0; f < count; f++) {
        if (first.fields[f].validity) check(first.validity[f] == second.validity[f]);
        const int64_t n = first.offsets[f][1];
        if (first.fields[f].type == COPSE_BYTES)
            check(n == second.offsets[f][1] && memcmp(first.text[f], second.text[f], (size_t)n) == 0);
        else if (first.fields[f].type != COPSE_F32 && first.fields[f].type != COPSE_F64) /* -0.0 becomes 0.0 */
            check(first.numbers[f] == second.numbers[f]);
    }
    return 0;
}
