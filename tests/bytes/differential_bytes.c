/* The differential tester of byte strings: random operations on an index of them, each answer compared with that of a sorted array.
 * A failure prints the seed that repeats it.
 *
 *   differential_bytes [--seed N] [--rounds N] [--seconds N] [--placement gpu|emulated] */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "byte_subject.h"
#include "random.h"

#define ROUNDS     1500
#define OPERATIONS 60

static uint64_t below(void *user, uint64_t bound)
{
    return random_below(user, bound);
}

/* --- strings that are close to each other ---------------------------------------------------------------------------- */

static size_t draw_string(struct random_source *random, const struct byte_pool *pool, unsigned char *out, size_t size)
{
    static const unsigned char alphabet[] = {0x00, 0x01, 'a', 0x7f, 0x80, 0xff};
    size_t n = 0;
    switch (random_below(random, 6)) {
    case 0: /* few letters: many are beginnings of others */
        for (n = random_below(random, 5); n < size && random_below(random, 4); n++) continue;
        for (size_t i = 0; i < n; i++) out[i] = alphabet[random_below(random, sizeof alphabet)];
        return n;
    case 1: /* a long common beginning, longer than what the sort compares first */
        memcpy(out, "https://example.org/", 20);
        return 20 + (size_t)snprintf((char *)out + 20, 24, "%llu", (unsigned long long)random_below(random, 400));
    case 2: /* one letter, again and again */
        n = random_below(random, 24);
        memset(out, 'a', n);
        return n;
    case 3: /* one of the pool with a byte changed, added or missing */
        if (pool->n) {
            const struct byte_string near = pool->strings[random_below(random, pool->n)];
            n = near.n;
            memcpy(out, near.bytes, n);
            if (n && random_one_in(random, 2)) out[n - 1] = (unsigned char)(out[n - 1] + 1);
            if (n && random_one_in(random, 3)) return n - 1;
            if (n < size && random_one_in(random, 3)) out[n++] = 0;
        }
        return n;
    case 4: /* now and then a long one, or one that is as long as a key may be */
        if (random_one_in(random, 200)) {
            memset(out, 'b', size);
            return size - random_below(random, 2);
        }
        if (random_one_in(random, 3)) {
            n = 33 + random_below(random, random_one_in(random, 20) ? size - 33 : 100);
            memset(out, 'c', n);
            out[random_below(random, n)] = (unsigned char)random_next(random);
            return n;
        } /* fallthrough */
    default:
        n = random_below(random, 40);
        for (size_t i = 0; i < n; i++) out[i] = (unsigned char)random_next(random);
        return n;
    }
}

static struct byte_pool draw_pool(struct random_source *random)
{
    static const uint64_t sizes[] = {1, 2, 10, 60, 300};
    static unsigned char buffer[COPSE_LONGEST_KEY];
    struct byte_pool pool = {NULL, 0};
    for (uint64_t i = 0, n = sizes[random_below(random, 5)]; i < n; i++)
        byte_pool_add(&pool, buffer, draw_string(random, &pool, buffer, sizeof buffer));
    byte_pool_sort(&pool);
    return pool;
}

/* --- rounds ---------------------------------------------------------------------------------------------------------- */

static bool run_round(uint64_t seed)
{
    static const uint64_t batches[] = {1, 5, 40, 400};
    struct random_source random = {seed};
    const struct byte_source source = {below, &random};
    struct byte_pool pool = draw_pool(&random);
    struct byte_subject subject;
    int operation = 0;
    bool right = byte_subject_open(&subject, source, &pool, batches[random_below(&random, 4)]);
    while (right && operation < OPERATIONS) {
        right = byte_subject_step(&subject);
        if (right) operation++;
    }
    const char *name = subject.operation;
    if (!right) (void)byte_subject_close(&subject);
    if (right) right = byte_subject_close(&subject), name = subject.operation;
    if (!right)
        printf("FAILED: --seed %llu --rounds 1: operation %d, %s: %s\n", (unsigned long long)seed, operation, name,
               subject.why);
    byte_pool_free(&pool);
    return right;
}

static bool number_of(const char *text, uint64_t *out)
{
    char *end;
    errno = 0;
    *out = text ? strtoull(text, &end, 10) : 0;
    return text && *text && !errno && *end == '\0';
}

int main(int count, char **words)
{
    uint64_t seed = 1, rounds = ROUNDS, seconds = 0, done = 0;
    for (int i = 1; i < count; i += 2) {
        if (strcmp(words[i], "--placement") == 0 && i + 1 < count &&
            copse_placement_parse(words[i + 1], &byte_device_placement) == COPSE_OK)
            continue;
        uint64_t *to = strcmp(words[i], "--seed") == 0      ? &seed
                       : strcmp(words[i], "--rounds") == 0  ? &rounds
                       : strcmp(words[i], "--seconds") == 0 ? &seconds
                                                            : NULL;
        if (!to || !number_of(i + 1 < count ? words[i + 1] : NULL, to)) {
            (void)fprintf(
                stderr, "usage: differential_bytes [--seed N] [--rounds N] [--seconds N] [--placement gpu|emulated]\n");
            return 2;
        }
    }
    const time_t end = time(NULL) + (time_t)seconds;
    while (seconds ? time(NULL) < end : done < rounds) {
        if (!run_round(seed + done)) return 1;
        done++;
    }
    printf("%llu rounds of %d operations on byte strings: all answers right\n", (unsigned long long)done, OPERATIONS);
    return 0;
}
