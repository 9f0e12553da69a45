/* Keys of several fields: core/fields.h, from and to arrays of a caller. */
#include "core/bytes.h"
#include "core/codec.h"
#include "core/fields.h"

#include <inttypes.h>

/* No key has so many bytes 255 at its beginning: a field has at most 9, and a string begins with less. */
#define ALL_BEHIND (COPSE_MOST_FIELDS * 9u + 1u)

/* A field at work. */
typedef struct field {
    const copse_field *given;
    char name[32]; /* "fields[3].data" */
    bool text, descending, nullable, wanted;
    uint32_t width;
    copse_byte_keys in;
    copse_byte_output out;
} field;

static bool valid_at(const field *f, uint64_t i)
{
    return !f->nullable || !f->given->validity || f->given->validity[i / 8] >> i % 8 & 1;
}

static copse_status field_check(const copse_ctx *ctx, const char *call, const copse_field *given, uint32_t at,
                                field *out)
{
    *out = (field){.given = given,
                   .text = given->type == COPSE_BYTES,
                   .descending = given->flags & COPSE_FIELD_DESCENDING,
                   .nullable = given->flags & COPSE_FIELD_NULLABLE};
    (void)snprintf(out->name, sizeof out->name, "fields[%" PRIu32 "].data", at);
    if (!copse_type_is_key((copse_type)given->type))
        return copse_fail_argument(ctx, "fields", "%s: fields[%u].type is %u, which is no type of keys", call, at,
                                   given->type);
    if (given->flags & ~(COPSE_FIELD_DESCENDING | COPSE_FIELD_NULLABLE))
        return copse_fail_argument(ctx, "fields", "%s: fields[%u].flags has unknown bits (%u)", call, at, given->flags);
    if (given->validity && !out->nullable)
        return copse_fail_argument(ctx, "fields", "%s: fields[%u].validity is not NULL, but the field is not nullable",
                                   call, at);
    out->width = out->text ? 0 : (uint32_t)copse_type_size((copse_type)given->type);
    return COPSE_OK;
}

static copse_status fields_check(const copse_ctx *ctx, const char *call, const copse_field *given, uint32_t count,
                                 field *out)
{
    if (!ctx) return copse_fail_argument(NULL, "ctx", "%s: ctx is NULL", call);
    if (!given || count == 0 || count > COPSE_MOST_FIELDS)
        return copse_fail_argument(ctx, "fields", "%s: there are %u fields; 1 to %u are possible", call,
                                   given ? count : 0, COPSE_MOST_FIELDS);
    for (uint32_t i = 0; i < count; i++) {
        copse_status status = field_check(ctx, call, &given[i], i, &out[i]);
        if (status != COPSE_OK) return status;
    }
    return COPSE_OK;
}

/* --- there ---------------------------------------------------------------------------------------------------------------- */

static bool key_is_nan(copse_type type, const void *data, uint64_t i)
{
    return type == COPSE_F32   ? copse_is_nan32(((const uint32_t *)data)[i])
           : type == COPSE_F64 ? copse_is_nan64(((const uint64_t *)data)[i])
                               : false;
}

static uint64_t code_at(const field *f, uint64_t i)
{
    const copse_type type = (copse_type)f->given->type;
    return f->width == 4 ? copse_encode_one_k32(type, ((const uint32_t *)f->given->data)[i])
                         : copse_encode_one_k64(type, ((const uint64_t *)f->given->data)[i]);
}

/* The bytes that field f of key i takes at most. */
static size_t room_at(const field *f, uint64_t i)
{
    if (!valid_at(f, i)) return 1;
    return f->nullable + (f->text ? copse_field_text_room(copse_byte_key(&f->in, i).length) : f->width);
}

static unsigned char *field_put(const field *f, uint64_t i, unsigned char *to)
{
    unsigned char *end = to;
    if (f->nullable) *end++ = valid_at(f, i);
    if (valid_at(f, i))
        end = f->text ? copse_field_put_text(end, copse_byte_key(&f->in, i))
                      : copse_field_put_code(end, code_at(f, i), f->width);
    if (f->descending) copse_field_invert(to, end);
    return end;
}

static copse_status key_too_long(const copse_ctx *ctx, uint64_t i)
{
    return copse_error_at(copse_fail_argument(ctx, "fields", "the fields of key %llu take more than %u bytes",
                                              (unsigned long long)i, COPSE_LONGEST_KEY),
                          "fields", i, 0);
}

/* Key i, at `key`, which has room for COPSE_LONGEST_KEY bytes. */
static copse_status key_put(const copse_ctx *ctx, const field *fields, uint32_t count, uint64_t i, bool behind,
                            unsigned char *key, copse_byte_output *out)
{
    unsigned char *end = key;
    for (uint32_t f = 0; f < count; f++) {
        if (valid_at(&fields[f], i) && key_is_nan((copse_type)fields[f].given->type, fields[f].given->data, i))
            return copse_fail_nan(ctx, fields[f].name, i);
        if ((size_t)(end - key) + room_at(&fields[f], i) > 2 * (size_t)COPSE_LONGEST_KEY) return key_too_long(ctx, i);
        end = field_put(&fields[f], i, end);
    }
    if (end - key > COPSE_LONGEST_KEY) return key_too_long(ctx, i);
    size_t length = (size_t)(end - key);
    if (behind) {
        length = copse_field_after(key, length);
        if (!length) memset(key, 0xFF, length = ALL_BEHIND);
    }
    copse_byte_output_put(out, (copse_slice){key, length});
    return COPSE_OK;
}

static copse_status inputs_open(const copse_ctx *ctx, field *fields, uint32_t count, uint64_t n)
{
    for (uint32_t f = 0; f < count && n; f++) {
        if (!fields[f].given->data)
            return copse_fail_argument(ctx, "fields", "copse_encode_fields: %s is NULL", fields[f].name);
        if (!fields[f].text) continue;
        copse_status status = copse_byte_keys_take(ctx, fields[f].name, fields[f].given->data, n, &fields[f].in);
        if (status != COPSE_OK) return status;
    }
    return COPSE_OK;
}

copse_status copse_encode_fields(copse_ctx *ctx, const copse_field *given, uint32_t count, uint64_t n, uint32_t flags,
                                 copse_bytes *out_keys)
{
    field fields[COPSE_MOST_FIELDS] = {0};
    copse_byte_output out;
    copse_status status = fields_check(ctx, "copse_encode_fields", given, count, fields);
    if (status == COPSE_OK && flags & ~COPSE_ENCODE_BEHIND)
        status = copse_fail_argument(ctx, "flags", "copse_encode_fields: flags has unknown bits (%u)", flags);
    if (status == COPSE_OK && !out_keys) status = copse_fail_null(ctx, "copse_encode_fields", "out_keys");
    if (status == COPSE_OK) status = inputs_open(ctx, fields, count, n);
    if (status == COPSE_OK) status = copse_byte_output_open(ctx, "out_keys", out_keys, &out);
    if (status != COPSE_OK) return status;
    const size_t bytes = 2 * (size_t)COPSE_LONGEST_KEY;
    unsigned char *key = copse_memory_alloc(ctx, bytes);
    if (!key) return copse_fail_memory(ctx, bytes, "a key of several fields");
    for (uint64_t i = 0; i < n && status == COPSE_OK; i++)
        status = key_put(ctx, fields, count, i, flags & COPSE_ENCODE_BEHIND, key, &out);
    copse_memory_free(ctx, key, bytes);
    return status == COPSE_OK ? copse_byte_output_close(ctx, &out) : status;
}

/* --- and back -------------------------------------------------------------------------------------------------------------- */

static void value_give(field *f, uint64_t i, bool there, uint64_t code, copse_slice text)
{
    const copse_type type = (copse_type)f->given->type;
    uint8_t *bits = f->given->validity;
    if (bits) bits[i / 8] = (uint8_t)((bits[i / 8] & ~(1u << i % 8)) | (unsigned)there << i % 8);
    if (!f->wanted) return;
    if (f->text)
        copse_byte_output_put(&f->out, there ? text : COPSE_SLICE_EMPTY);
    else if (f->width == 4)
        ((uint32_t *)f->given->data)[i] = there ? copse_decode_one_k32(type, (uint32_t)code) : 0;
    else
        ((uint64_t *)f->given->data)[i] = there ? copse_decode_one_k64(type, code) : 0;
}

/* Reads a field of key i and gives it. Returns where the next begins; NULL: it is none. */
static const unsigned char *field_get(field *f, uint64_t i, const unsigned char *from, const unsigned char *end,
                                      unsigned char *text)
{
    const unsigned char inverted = f->descending ? 0xFF : 0;
    uint64_t code = 0;
    size_t length = 0;
    bool there = true;
    if (f->nullable) {
        if (from == end || (unsigned char)(*from ^ inverted) > 1) return NULL;
        there = (*from++ ^ inverted) == 1;
    }
    if (there)
        from = f->text ? copse_field_get_text(from, end, inverted, text, &length)
                       : copse_field_get_code(from, end, inverted, f->width, &code);
    if (from) value_give(f, i, there, code, (copse_slice){text, length});
    return from;
}

static copse_status key_get(const copse_ctx *ctx, field *fields, uint32_t count, uint64_t i, copse_slice key,
                            unsigned char *text)
{
    const unsigned char *at = key.start;
    for (uint32_t f = 0; f < count; f++) {
        at = field_get(&fields[f], i, at, key.start + key.length, text);
        if (at) continue;
        return copse_error_at(
            copse_fail_argument(ctx, "keys", "copse_decode_fields: key %llu has no field %u", (unsigned long long)i, f),
            "keys", i, 0);
    }
    return COPSE_OK;
}

/* Room for strings; numbers need none. */
static copse_status outputs_open(const copse_ctx *ctx, field *fields, uint32_t count)
{
    copse_status status = COPSE_OK;
    for (uint32_t f = 0; f < count && status == COPSE_OK; f++) {
        fields[f].wanted = fields[f].given && fields[f].given->data;
        if (fields[f].wanted && fields[f].text)
            status = copse_byte_output_open(ctx, fields[f].name, fields[f].given->data, &fields[f].out);
    }
    return status;
}

static copse_status outputs_close(const copse_ctx *ctx, field *fields, uint32_t count)
{
    copse_status status = COPSE_OK;
    for (uint32_t f = 0; f < count; f++) {
        if (!fields[f].wanted || !fields[f].text) continue;
        const copse_status closed = copse_byte_output_close(ctx, &fields[f].out);
        if (status == COPSE_OK) status = closed;
    }
    return status;
}

copse_status copse_decode_fields(copse_ctx *ctx, const copse_bytes *keys, uint64_t n, const copse_field *given,
                                 uint32_t count)
{
    field fields[COPSE_MOST_FIELDS] = {0};
    copse_byte_keys in;
    copse_status status = fields_check(ctx, "copse_decode_fields", given, count, fields);
    if (status == COPSE_OK && n) status = copse_byte_keys_take(ctx, "keys", keys, n, &in);
    if (status == COPSE_OK) status = outputs_open(ctx, fields, count);
    if (status != COPSE_OK) return status;
    unsigned char *text = copse_memory_alloc(ctx, COPSE_LONGEST_KEY);
    if (!text) return copse_fail_memory(ctx, COPSE_LONGEST_KEY, "a key of several fields");
    for (uint64_t i = 0; i < n && status == COPSE_OK; i++)
        status = key_get(ctx, fields, count, i, copse_byte_key(&in, i), text);
    copse_memory_free(ctx, text, COPSE_LONGEST_KEY);
    return status == COPSE_OK ? outputs_close(ctx, fields, count) : status;
}
