/* A byte string drives a sequence of operations on an index of byte strings; every answer is compared with the model's.
 *
 *   byte 0      strings of the pool; then for each: a byte for its length, and the bytes. 255: the string before it with one more
 *               byte; 254: as long as a key may be
 *   the rest    the choices of byte_subject.h, one byte each, or two where there are more than 256. Missing bytes read as 0, so that
 *               every string is a valid sequence; the sequence ends with the input. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "byte_subject.h"

#define MOST_OPERATIONS 64
#define MOST_ELEMENTS   40

struct input {
    const uint8_t *bytes;
    size_t size;
    size_t at;
};

static uint8_t next_byte(struct input *input)
{
    return input->at < input->size ? input->bytes[input->at++] : 0;
}

static uint64_t below(void *user, uint64_t bound)
{
    uint64_t number = next_byte(user);
    if (bound > 256) number = number << 8 | next_byte(user);
    return bound ? number % bound : 0;
}

static struct byte_pool next_pool(struct input *input)
{
    static unsigned char string[COPSE_LONGEST_KEY];
    struct byte_pool pool = {NULL, 0};
    size_t n = 0;
    for (unsigned i = 1u + next_byte(input) % 64u; i > 0; i--) {
        const uint8_t length = next_byte(input);
        if (length == 255 && n < sizeof string) {
            string[n++] = next_byte(input);
        } else if (length == 254) {
            memset(string, next_byte(input), sizeof string);
            n = sizeof string;
        } else {
            for (n = 0; n < length % 48u; n++) string[n] = next_byte(input);
        }
        byte_pool_add(&pool, string, n);
    }
    byte_pool_sort(&pool);
    return pool;
}

static void check(bool right, const struct byte_subject *subject)
{
    if (right) return;
    (void)fprintf(stderr, "%s: %s\n", subject->operation, subject->why);
    abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct input input = {bytes, size, 0};
    struct byte_pool pool = next_pool(&input);
    const struct byte_source source = {below, &input};
    struct byte_subject subject;
    check(byte_subject_open(&subject, source, &pool, MOST_ELEMENTS), &subject);
    for (int i = 0; i < MOST_OPERATIONS && input.at < input.size; i++) check(byte_subject_step(&subject), &subject);
    check(byte_subject_close(&subject), &subject);
    byte_pool_free(&pool);
    return 0;
}
