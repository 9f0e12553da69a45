/* Keys of fixed width as strings, and back. */
#include "trees/radix/fixed/fixed.h"

#include "gpu/call.h"

/* --- one key ------------------------------------------------------------------------------------------------------------- */

static void key_decode(copse_type type, const unsigned char *from, void *keys, uint64_t i)
{
    if (copse_type_size(type) == 4) {
        uint32_t code;
        memcpy(&code, from, 4);
        code = copse_decode_one_k32(type, __builtin_bswap32(code));
        memcpy((char *)keys + i * 4, &code, 4);
    } else {
        uint64_t code;
        memcpy(&code, from, 8);
        code = copse_decode_one_k64(type, __builtin_bswap64(code));
        memcpy((char *)keys + i * 8, &code, 8);
    }
}

/* --- arrays --------------------------------------------------------------------------------------------------------------- */

copse_status copse_radix_fixed_room(const copse_index *index, const char *name, const void *keys, uint64_t n,
                                    copse_radix_fixed_array *out)
{
    const size_t width = copse_type_size(index->key_type);
    const size_t data_bytes = copse_memory_product(n, width), offset_bytes = copse_memory_product(n + 1, 8);
    void *data = NULL, *offsets = NULL;
    copse_status status = COPSE_OK;
    *out = (copse_radix_fixed_array){.there = false};
    if (n > SIZE_MAX / 64)
        return copse_fail_argument(index->ctx, "n", "n is %llu: more than any array can hold", (unsigned long long)n);
    if (index->device) status = copse_call_array(index, keys, name, &out->there);
    if (status != COPSE_OK) return status;
    if (out->there) {
        const copse_scratch_array arrays[] = {{&offsets, offset_bytes}, {&data, data_bytes + 16}};
        status = copse_scratch_take(index->device, "the keys", arrays, 2, &out->scratch);
    } else {
        out->memory_bytes = data_bytes + offset_bytes;
        out->memory = offsets = copse_memory_alloc(index->ctx, out->memory_bytes);
        if (!offsets) return copse_fail_memory(index->ctx, out->memory_bytes, "the keys");
        data = (char *)offsets + offset_bytes;
    }
    const copse_bytes bytes = COPSE_BYTES_INIT(data, data_bytes, offsets, 64);
    out->bytes = bytes;
    return status;
}

copse_status copse_radix_fixed_take(const copse_index *index, const char *name, const void *keys, uint64_t n,
                                    copse_radix_fixed_array *out)
{
    const size_t width = copse_type_size(index->key_type);
    copse_status status = copse_radix_fixed_room(index, name, keys, n, out);
    if (status != COPSE_OK) return status;
    if (out->there) return copse_radix_fixed_encode(index, name, keys, n, &out->bytes);
    int64_t *offsets = out->bytes.offsets;
    for (uint64_t i = 0; i < n; i++) {
        offsets[i] = (int64_t)(i * width);
        if (!copse_radix_key_encode(index->key_type, keys, i, (unsigned char *)out->bytes.data + i * width))
            return copse_fail_nan(index->ctx, name, i);
    }
    offsets[n] = (int64_t)(n * width);
    return COPSE_OK;
}

copse_status copse_radix_fixed_give(const copse_index *index, const copse_radix_fixed_array *from, uint64_t n,
                                    void *keys)
{
    const int64_t *offsets = from->bytes.offsets;
    const size_t width = copse_type_size(index->key_type);
    if (from->there) return copse_radix_fixed_decode(index, &from->bytes, n, keys);
    for (uint64_t i = 0; i < n; i++)
        if (offsets[i + 1] > offsets[i])
            key_decode(index->key_type, (const unsigned char *)from->bytes.data + offsets[i], keys, i);
        else
            memset((char *)keys + i * width, 0, width);
    return COPSE_OK;
}

void copse_radix_fixed_free(const copse_index *index, copse_radix_fixed_array *array)
{
    if (array->there) copse_scratch_free(index->device, &array->scratch);
    copse_memory_free(index->ctx, array->memory, array->memory_bytes);
    array->memory = NULL;
}
