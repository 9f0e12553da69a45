/* The primitives on a card: the checks of the unit test with larger arrays, and arrays of more than 2^31 entries.
 *
 *   test_primitives_gpu              the tests
 *   test_primitives_gpu --rates      and how fast they are
 *   test_primitives_gpu --emulated   the same on the emulator, smaller: a test of the test
 *
 * Ends with "N passed, N failed"; exit status 77 and "no card" where there is none. */
#include "check_primitives.h"
#include "gpu_program.h"

/* --- more than 2^31 entries ------------------------------------------------------------------------------------------- */

/* u32 pairs that differ in few places, so that they can be made and judged without a kernel: all keys are ONES and all
 * values TWOS but for what put() says. */
#define ONES 0x01010101u
#define TWOS 0x02020202u

struct large {
    struct check check;
    copse_device *device;
    copse_stream *stream;
    const copse_primitives *primitives;
    uint64_t n;
    uint32_t *keys, *values, *keys_out, *values_out;
    uint8_t *flags;
    uint64_t *count;
    copse_status status;
};

static void put(struct large *l, uint32_t *array, uint64_t i, uint32_t value)
{
    if (l->status == COPSE_OK) l->status = copse_device_copy(l->device, l->stream, array + i, &value, 4);
    if (l->status == COPSE_OK) l->status = copse_device_wait(l->device, l->stream);
}

static void expect(struct large *l, const char *name, uint64_t i, uint32_t key, uint32_t value)
{
    uint32_t seen[2] = {0, 0};
    if (l->status == COPSE_OK) l->status = copse_device_read(l->device, l->stream, &seen[0], l->keys_out + i, 4);
    if (l->status == COPSE_OK) l->status = copse_device_read(l->device, l->stream, &seen[1], l->values_out + i, 4);
    const char *wrong = NULL;
    if (l->status != COPSE_OK)
        wrong = copse_last_error(l->device->ctx);
    else if (seen[0] != key || seen[1] != value)
        wrong = check_fails(&l->check, "entry %llu is (%x, %x), expected (%x, %x)", (unsigned long long)i, seen[0],
                            seen[1], key, value);
    count_test(name, wrong);
}

static void expect_count(struct large *l, const char *name, uint64_t expected)
{
    count_test(name, check_result(&l->check, l->status, l->count, expected, "the count"));
}

static void *large_alloc(struct large *l, uint64_t bytes, int fill)
{
    void *memory = NULL;
    if (l->status == COPSE_OK) l->status = copse_device_alloc(l->device, l->stream, bytes, "a large test", &memory);
    if (l->status == COPSE_OK) l->status = copse_device_fill(l->device, l->stream, memory, (uint8_t)fill, bytes);
    return memory;
}

static void large_sort_and_unique(struct large *l)
{
    uint64_t n = l->n;
    put(l, l->keys, n - 1, 0); /* the last entry is to become the first */
    put(l, l->values, n - 1, 7);
    put(l, l->values, 0, 9);
    put(l, l->values, n - 2, 11);
    if (l->status == COPSE_OK)
        l->status = l->primitives->sort_pairs(l->device, l->stream, 0, l->keys, l->values, l->keys_out, l->values_out,
                                              n, 0, 32);
    expect(l, "large sort", 0, 0, 7);
    expect(l, "large sort", 1, ONES, 9);
    expect(l, "large sort", n / 2, ONES, TWOS);
    expect(l, "large sort", n - 1, ONES, 11);
    uint32_t *swap = l->keys; /* the sorted pairs are the next input */
    l->keys = l->keys_out, l->keys_out = swap;
    swap = l->values, l->values = l->values_out, l->values_out = swap;
    for (int which = COPSE_UNIQUE_FIRST; which <= COPSE_UNIQUE_LAST; which++) {
        if (l->status == COPSE_OK)
            l->status = l->primitives->unique_pairs(l->device, l->stream, 0, l->keys, l->values, l->keys_out,
                                                    l->values_out, n, (copse_unique)which, l->count);
        expect_count(l, "large unique", 2);
        expect(l, "large unique", 0, 0, 7);
        expect(l, "large unique", 1, ONES, which == COPSE_UNIQUE_FIRST ? 9 : 11);
    }
}

/* The sorted pairs of the test before, and three more. */
static void large_merge(struct large *l)
{
    static const uint32_t more_keys[] = {0, ONES, UINT32_MAX}, more_values[] = {21, 22, 23};
    uint64_t n = l->n;
    uint32_t *keys = large_alloc(l, sizeof more_keys, 0), *values = large_alloc(l, sizeof more_values, 0);
    for (unsigned i = 0; i < 3; i++) {
        put(l, keys, i, more_keys[i]);
        put(l, values, i, more_values[i]);
    }
    if (l->status == COPSE_OK)
        l->status = l->primitives->merge_pairs(l->device, l->stream, 0, l->keys, l->values, n, keys, values, 3,
                                               l->keys_out, l->values_out);
    expect(l, "large merge", 0, 0, 7);
    expect(l, "large merge", 1, 0, 21);
    expect(l, "large merge", 2, ONES, 9);
    expect(l, "large merge", n, ONES, 11);
    expect(l, "large merge", n + 1, ONES, 22);
    expect(l, "large merge", n + 2, UINT32_MAX, 23);
    copse_device_free(l->device, l->stream, keys, sizeof more_keys);
    copse_device_free(l->device, l->stream, values, sizeof more_values);
}

static void large_select(struct large *l)
{
    uint64_t n = l->n;
    if (l->status == COPSE_OK) l->status = copse_device_fill(l->device, l->stream, l->flags + 5, 0, 1);
    if (l->status == COPSE_OK) l->status = copse_device_fill(l->device, l->stream, l->flags + n - 2, 0, 1);
    if (l->status == COPSE_OK)
        l->status = l->primitives->select_pairs(l->device, l->stream, 0, l->keys, l->values, l->flags, l->keys_out,
                                                l->values_out, n, l->count);
    expect_count(l, "large select", n - 2);
    expect(l, "large select", 0, 0, 7);
    expect(l, "large select", n - 4, ONES, TWOS);
    expect(l, "large select", n - 3, ONES, 11);
}

static void large_pairs(copse_device *device, uint64_t n)
{
    struct large l = {.check = check_make(device, 0, 1),
                      .device = device,
                      .stream = device->main,
                      .primitives = device->backend->primitives,
                      .n = n};
    uint64_t bytes = (n + 3) * 4;
    uint32_t *arrays[4];
    for (unsigned i = 0; i < 4; i++) arrays[i] = large_alloc(&l, bytes, i % 2 ? 2 : 1);
    l.keys = arrays[0], l.values = arrays[1], l.keys_out = arrays[2], l.values_out = arrays[3];
    l.flags = large_alloc(&l, n, 1);
    l.count = large_alloc(&l, 8, 0);
    large_sort_and_unique(&l);
    large_merge(&l);
    large_select(&l);
    for (unsigned i = 0; i < 4; i++) copse_device_free(device, l.stream, arrays[i], bytes);
    copse_device_free(device, l.stream, l.flags, n);
    copse_device_free(device, l.stream, l.count, 8);
}

static void large_numbers(copse_device *device, uint64_t n)
{
    struct large l = {.check = check_make(device, 0, 1), .device = device, .stream = device->main, .n = n};
    const copse_primitives *f = device->backend->primitives;
    const uint64_t each = UINT64_C(0x0101010101010101);
    uint64_t *in = large_alloc(&l, n * 8, 1), *one = large_alloc(&l, 8, 0);
    if (l.status == COPSE_OK) l.status = copse_device_fill(device, l.stream, in + n - 2, 0, 8);
    if (l.status == COPSE_OK) l.status = copse_device_fill(device, l.stream, in + n - 1, 0xff, 8);
    if (l.status != COPSE_OK) {
        count_test("large numbers", copse_last_error(device->ctx));
        return;
    }
    struct check *c = &l.check;
    uint64_t sum = (n - 2) * each;
    count_test("large sum", check_result(c, f->sum_u64(device, l.stream, in, n, one), one, sum - 1, "the sum"));
    count_test("large min", check_result(c, f->min_u64(device, l.stream, in, n, one), one, 0, "the least"));
    count_test("large max", check_result(c, f->max_u64(device, l.stream, in, n, one), one, UINT64_MAX, "the largest"));
    copse_status status = f->scan_u64(device, l.stream, in, in, n);
    count_test("large scan", check_result(c, status, in + n - 1, sum, "the last sum"));
    count_test("large scan", check_result(c, status, in + n / 2, n / 2 * each, "a sum in the middle"));
    copse_device_free(device, l.stream, in, n * 8);
    copse_device_free(device, l.stream, one, 8);
}

/* --- rates -------------------------------------------------------------------------------------------------------------- */

struct rates {
    struct check check;
    struct device_pairs in, out, sorted;
    void *flags, *count;
    uint64_t n;
};

static copse_status rate_once(struct rates *r, int what)
{
    copse_device *d = r->check.device;
    const copse_primitives *f = r->check.primitives;
    unsigned pair = r->check.pair, bits = (unsigned)r->check.key_bytes * 8, where;
    void *keys[2] = {r->in.keys, r->out.keys}, *values[2] = {r->in.values, r->out.values};
    uint64_t half = r->n / 2;
    switch (what) {
    case 0:
        return f->sort_pairs(d, d->main, pair, r->in.keys, r->in.values, r->out.keys, r->out.values, r->n, 0, bits);
    case 1:
        return f->sort_pairs_between(d, d->main, pair, keys, values, r->n, 0, bits, &where);
    case 2:
        return f->unique_pairs(d, d->main, pair, r->sorted.keys, r->sorted.values, r->out.keys, r->out.values, r->n,
                               COPSE_UNIQUE_LAST, r->count);
    case 3:
        return f->select_pairs(d, d->main, pair, r->sorted.keys, r->sorted.values, r->flags, r->out.keys, r->out.values,
                               r->n, r->count);
    default:
        return f->merge_pairs(d, d->main, pair, r->sorted.keys, r->sorted.values, half,
                              (char *)r->sorted.keys + half * r->check.key_bytes,
                              (char *)r->sorted.values + half * r->check.value_bytes, half, r->out.keys, r->out.values);
    }
}

/* Seconds of the best of a few runs. */
static double rate_measure(struct rates *r, int what)
{
    copse_device *d = r->check.device;
    double best = 1e9;
    for (int run = 0; run < 5; run++) {
        double start = now();
        if (rate_once(r, what) != COPSE_OK || copse_device_wait(d, d->main) != COPSE_OK) return 1e9;
        double seconds = now() - start;
        if (seconds < best) best = seconds;
    }
    return best;
}

static void rates_print(copse_device *device, unsigned pair, uint64_t n)
{
    static const char *const names[] = {"sort", "sort between", "unique", "select", "merge"};
    struct rates r = {.check = check_make(device, pair, 1), .n = n};
    struct check *c = &r.check;
    struct pairs p = pairs_make(c, n, SPREAD_FULL);
    unsigned bits = (unsigned)c->key_bytes * 8;
    bool fine = pairs_up(c, &p, &r.in) && pairs_room(c, n, &r.out) && pairs_room(c, n, &r.sorted) &&
                copse_device_alloc(device, device->main, n, "flags", &r.flags) == COPSE_OK &&
                copse_device_fill(device, device->main, r.flags, 1, n) == COPSE_OK &&
                copse_device_alloc(device, device->main, 8, "a count", &r.count) == COPSE_OK &&
                c->primitives->sort_pairs(device, device->main, pair, r.in.keys, r.in.values, r.sorted.keys,
                                          r.sorted.values, n, 0, bits) == COPSE_OK;
    for (int what = 0; fine && what < 5; what++) {
        double seconds = rate_measure(&r, what);
        (void)printf("%-14s k%zu v%zu, %llu pairs: %8.2f G/s\n", names[what], c->key_bytes * 8, c->value_bytes * 8,
                     (unsigned long long)n, (double)n / seconds / 1e9);
    }
    if (!fine) (void)printf("rates: %s\n", copse_last_error(device->ctx));
    copse_device_free(device, device->main, r.flags, n);
    copse_device_free(device, device->main, r.count, 8);
    pairs_drop(c, &r.in);
    pairs_drop(c, &r.out);
    pairs_drop(c, &r.sorted);
    pairs_free(&p);
}

int main(int count, char **arguments)
{
    static const uint64_t sizes[] = {0, 1, 2, 1000, 4096, 100003, 1 << 20};
    copse_ctx *ctx = NULL;
    copse_device *device = open_device(count, arguments, &ctx);
    bool emulated = has_argument(count, arguments, "--emulated");
    uint64_t before = device->allocated;
    for (unsigned pair = 0; pair < COPSE_WIDTH_PAIRS; pair++) {
        struct check c = check_make(device, pair, pair + 1);
        for (unsigned i = 0; i < (emulated ? 4u : 7u); i++) count_test("sizes", check_all_of(&c, sizes[i]));
    }
    large_pairs(device, emulated ? 50005 : (UINT64_C(1) << 31) + 5);
    large_numbers(device, emulated ? 50005 : (UINT64_C(1) << 31) + 5);
    count_test("memory", device->allocated == before ? NULL : "something was not freed");
    for (unsigned pair = 0; pair < COPSE_WIDTH_PAIRS && has_argument(count, arguments, "--rates"); pair++)
        rates_print(device, pair, emulated ? 1 << 16 : 1 << 26);
    return finish(ctx);
}
