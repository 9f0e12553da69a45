/* Template: a pair, and reading a stretch of a batch into separate arrays of encoded keys and values. */

typedef struct NAME(copse_pair) {
    KEY key;
    VALUE value;
} NAME(copse_pair);

/* The value of entry `at`: the caller's, or the position as a number of the value type. */
static inline VALUE NAME(copse_caller_value)(const copse_batch *batch, uint64_t at)
{
    if (batch->values) return ((const VALUE *)batch->values)[at];
#if VALUE_BITS == 64
    if (batch->tags) return at << 2 | batch->tags[at];
    double number = (double)at;
#else
    float number = (float)at;
#endif
    VALUE value = (VALUE)at;
    if (batch->value_type == COPSE_F32 || batch->value_type == COPSE_F64) memcpy(&value, &number, sizeof value);
    return value;
}

static inline void NAME(copse_batch_read)(const copse_batch *batch, uint64_t first, uint32_t n, KEY *keys,
                                          VALUE *values)
{
    if (batch->pairs) {
        const NAME(copse_pair) *pair = (const NAME(copse_pair) *)batch->pairs + first;
        for (uint32_t i = 0; i < n; i++) {
            keys[i] = pair[i].key;
            values[i] = pair[i].value;
        }
        return;
    }
    ENCODE(batch->key_type, batch->keys, first, n, keys);
    if (batch->values)
        memcpy(values, (const VALUE *)batch->values + first, n * sizeof *values);
    else
        for (uint32_t i = 0; i < n; i++) values[i] = NAME(copse_caller_value)(batch, first + i);
}
