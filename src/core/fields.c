/* Fields of keys as bytes that sort as they do. */
#include "core/fields.h"

unsigned char *copse_field_put_code(unsigned char *to, uint64_t code, uint32_t width)
{
    for (uint32_t i = width; i-- > 0;) *to++ = (unsigned char)(code >> (8 * i));
    return to;
}

unsigned char *copse_field_put_text(unsigned char *to, copse_slice text)
{
    for (size_t i = 0; i < text.length; i++) {
        *to++ = text.start[i];
        if (text.start[i] == 0) *to++ = 0xFF;
    }
    *to++ = 0;
    *to++ = 0;
    return to;
}

size_t copse_field_text_room(size_t length)
{
    return 2 * length + 2;
}

void copse_field_invert(unsigned char *from, const unsigned char *end)
{
    for (; from < end; from++) *from = (unsigned char)~*from;
}

size_t copse_field_after(unsigned char *key, size_t length)
{
    while (length && key[length - 1] == 0xFF) length--;
    if (length) key[length - 1]++;
    return length;
}

const unsigned char *copse_field_get_code(const unsigned char *from, const unsigned char *end, unsigned char inverted,
                                          uint32_t width, uint64_t *out)
{
    uint64_t code = 0;
    if (end - from < (ptrdiff_t)width) return NULL;
    for (uint32_t i = 0; i < width; i++) code = code << 8 | (unsigned char)(*from++ ^ inverted);
    *out = code;
    return from;
}

const unsigned char *copse_field_get_text(const unsigned char *from, const unsigned char *end, unsigned char inverted,
                                          unsigned char *to, size_t *out_length)
{
    size_t n = 0;
    for (;;) {
        if (from == end) return NULL;
        const unsigned char byte = (unsigned char)(*from++ ^ inverted);
        if (byte == 0) {
            if (from == end) return NULL;
            const unsigned char next = (unsigned char)(*from++ ^ inverted);
            if (next == 0) break;
            if (next != 0xFF) return NULL;
        }
        to[n++] = byte;
    }
    *out_length = n;
    return from;
}
