/* The radix tree on a device: the same answers as on the CPU, with arrays in any memory; the way of changes to the device; and what happens
 * where there is no memory. */
#include "unit.h"

#include "byte_pool.h"
#include "device/device.h"
#include "placed.h"
#include "random.h"
#include "trees/radix/gpu/tree.h"

static const struct unit_tree on_cpu = {COPSE_STRUCTURE_RADIX, COPSE_PLACEMENT_CPU};

#define STRINGS 700u
#define BATCH   300u

/* --- strings ----------------------------------------------------------------------------------------------------------- */

/* Short and long ones, many with a beginning in common, some of which are the beginning of others. */
static struct byte_pool some_strings(uint64_t seed)
{
    struct random_source random = {seed};
    struct byte_pool pool = {NULL, 0};
    unsigned char bytes[400];
    while (pool.n < STRINGS) {
        size_t n = random_below(&random, 12);
        for (size_t i = 0; i < n; i++) bytes[i] = (unsigned char)random_below(&random, i < 2 ? 256 : 4);
        switch (random_below(&random, 8)) {
        case 0:
            memset(bytes, 'x', sizeof bytes);
            n = 20 + random_below(&random, 100);
            bytes[n - 1] = (unsigned char)random_next(&random);
            break;
        case 1:
            for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = (unsigned char)random_next(&random);
            n = random_below(&random, sizeof bytes);
            break;
        default:
            break;
        }
        byte_pool_add(&pool, bytes, n);
    }
    byte_pool_sort(&pool);
    return pool;
}

/* n codes below `most`, and their strings. */
static uint64_t *some_codes(struct random_source *random, uint64_t n, uint64_t most)
{
    uint64_t *codes = must_malloc(n * sizeof *codes);
    for (uint64_t i = 0; i < n; i++) codes[i] = random_below(random, most);
    return codes;
}

/* --- trees on the device --------------------------------------------------------------------------------------------------- */

/* Where long keys are, in the tests that go over all ways; with pieces of lookups that are smaller than batches. */
static copse_long_keys way;

static copse_index *device_index(copse_ctx *ctx, copse_type value_type)
{
    copse_index_options options = COPSE_INDEX_OPTIONS_INIT;
    copse_index *index = NULL;
    options.key_type = COPSE_BYTES;
    options.value_type = value_type;
    options.structure = COPSE_STRUCTURE_RADIX;
    options.placement = COPSE_PLACEMENT_EMULATED;
    options.long_keys = way;
    assert_ok(ctx, copse_index_create(ctx, &options, &index));
    copse_radix_device_of(index)->piece = 70;
    return index;
}

/* Runs a test with each way of long keys. */
static void all_ways(void (*test)(void))
{
    for (way = COPSE_LONG_KEYS_AUTO; way <= COPSE_LONG_KEYS_CPU; way++) test();
    way = COPSE_LONG_KEYS_AUTO;
}

static uint32_t apart(const copse_index *index)
{
    return copse_radix_device_of(index)->marks.without;
}

/* --- both trees --------------------------------------------------------------------------------------------------------- */

struct both {
    copse_ctx *ctx;
    copse_index *cpu, *device;
    struct byte_pool pool;
    struct random_source random;
    enum placed_memory memory;
    copse_type value_type;
};

static struct both both_open(enum placed_memory memory, copse_type value_type)
{
    struct both both = {.ctx = unit_context(2), .random = {memory + 11}, .memory = memory, .value_type = value_type};
    both.cpu = unit_index(both.ctx, on_cpu, COPSE_BYTES, value_type, false);
    both.device = device_index(both.ctx, value_type);
    both.pool = some_strings(memory + 1);
    return both;
}

static void both_close(struct both *both)
{
    byte_pool_free(&both->pool);
    copse_index_free(both->cpu);
    copse_index_free(both->device);
    copse_ctx_free(both->ctx);
}

static struct placed_call place_for(struct both *both)
{
    return (struct placed_call){.device = placed_device(both->ctx, COPSE_PLACEMENT_EMULATED),
                                .reachable = true,
                                .memory = both->memory,
                                .places = (uint32_t)random_next(&both->random)};
}

static copse_bytes place_keys(struct placed_call *call, const struct byte_array *keys)
{
    copse_bytes bytes = keys->bytes;
    bytes.data = (void *)(uintptr_t)placed_input(call, bytes.data, bytes.size, 1);
    bytes.offsets = (void *)(uintptr_t)placed_input(call, bytes.offsets, keys->n + 1, bytes.offset_bits / 8);
    return bytes;
}

static copse_bytes place_room(struct placed_call *call, const struct byte_array *keys)
{
    copse_bytes bytes = keys->bytes;
    bytes.data = placed_output(call, bytes.data, bytes.size, 1);
    bytes.offsets = placed_output(call, bytes.offsets, keys->n + 1, bytes.offset_bits / 8);
    return bytes;
}

static void place_end(struct placed_call *call)
{
    const char *wrong = placed_end(call);
    if (wrong) fail_msg("%s", wrong);
}

static struct byte_array keys_of(struct both *both, const uint64_t *codes, uint64_t n)
{
    const uint64_t shape = random_below(&both->random, 8);
    return byte_array_of(&both->pool, codes, n, shape & 1 ? 32 : 64, shape & 2 ? 3 : 0, shape & 4 ? 5 : 0);
}

static uint64_t *numbers(struct both *both, uint64_t n)
{
    uint64_t *values = must_malloc(n * sizeof *values);
    for (uint64_t i = 0; i < n; i++) values[i] = random_next(&both->random) >> 20;
    return values;
}

/* --- reads ---------------------------------------------------------------------------------------------------------------- */

static void compare_find(struct both *both, const struct byte_array *keys)
{
    const uint64_t n = keys->n;
    const size_t width = typed_size(both->value_type);
    uint64_t want[BATCH] = {0}, got[BATCH] = {0};
    uint8_t want_found[BATCH] = {0}, got_found[BATCH] = {0};
    struct placed_call call = place_for(both);
    const copse_bytes given = place_keys(&call, keys);
    void *values = placed_output(&call, got, n, width);
    uint8_t *found = placed_output(&call, got_found, n, 1);
    assert_ok(both->ctx, copse_find(both->cpu, &keys->bytes, n, want, want_found));
    assert_ok(both->ctx, copse_find(both->device, &given, n, values, found));
    place_end(&call);
    assert_memory_equal(got, want, n * width);
    assert_memory_equal(got_found, want_found, n);
}

typedef copse_status (*neighbour_fn)(const copse_index *, const void *, uint64_t, void *, void *, uint8_t *);

static copse_status lower(const copse_index *index, const void *keys, uint64_t n, void *out_keys, void *values,
                          uint8_t *found)
{
    return copse_lower_bound(index, keys, n, out_keys, values, found, NULL);
}

static void compare_neighbours(struct both *both, const struct byte_array *keys)
{
    static const neighbour_fn functions[] = {lower, copse_successor, copse_predecessor, copse_floor,
                                             copse_longest_prefix};
    const uint64_t n = keys->n;
    for (size_t f = 0; f < COUNT_OF(functions); f++) {
        uint64_t want[BATCH] = {0}, got[BATCH] = {0};
        uint8_t want_found[BATCH] = {0}, got_found[BATCH] = {0};
        copse_bytes size = COPSE_BYTES_INIT(NULL, 0, NULL, 64);
        assert_ok(both->ctx, functions[f](both->cpu, &keys->bytes, n, &size, NULL, NULL));
        struct byte_array want_keys = byte_array_room(n, size.needed, 64),
                          got_keys = byte_array_room(n, size.needed, 64);
        assert_ok(both->ctx, functions[f](both->cpu, &keys->bytes, n, &want_keys.bytes, want, want_found));
        struct placed_call call = place_for(both);
        const copse_bytes given = place_keys(&call, keys);
        copse_bytes room = place_room(&call, &got_keys);
        void *values = placed_output(&call, got, n, typed_size(both->value_type));
        uint8_t *found = placed_output(&call, got_found, n, 1);
        assert_ok(both->ctx, functions[f](both->device, &given, n, &room, values, found));
        assert_int_equal(room.needed, size.needed);
        if (size.needed) {
            room.size = size.needed - 1;
            assert_fails(both->ctx, COPSE_ERR_TOO_SMALL, functions[f](both->device, &given, n, &room, values, found));
        }
        room.size = size.needed;
        assert_ok(both->ctx, functions[f](both->device, &given, n, &room, values, found));
        place_end(&call);
        assert_memory_equal(got, want, n * typed_size(both->value_type));
        assert_memory_equal(got_found, want_found, n);
        assert_memory_equal(got_keys.bytes.offsets, want_keys.bytes.offsets, (n + 1) * 8);
        if (size.needed) assert_memory_equal(got_keys.bytes.data, want_keys.bytes.data, size.needed);
        byte_array_free(&want_keys);
        byte_array_free(&got_keys);
    }
}

/* Ranges of a call on the device's tree. */
static copse_ranges place_ranges(struct placed_call *call, const copse_ranges *asked, const struct byte_array *lows,
                                 const struct byte_array *highs, copse_bytes ends[2])
{
    copse_ranges ranges = *asked;
    ends[0] = place_keys(call, lows);
    ends[1] = place_keys(call, highs);
    if (asked->lows) ranges.lows = &ends[0];
    if (asked->highs) ranges.highs = &ends[1];
    return ranges;
}

static void compare_rows(struct both *both, const copse_ranges *asked, const struct byte_array *lows,
                         const struct byte_array *highs)
{
    const uint64_t n = asked->n;
    uint64_t want_offsets[BATCH + 1], got_offsets[BATCH + 1] = {0};
    copse_bytes size = COPSE_BYTES_INIT(NULL, 0, NULL, 64), ends[2];
    copse_rows rows = COPSE_ROWS_INIT;
    rows.offsets = want_offsets;
    rows.keys = &size;
    assert_ok(both->ctx, copse_range(both->cpu, asked, &rows));
    const uint64_t total = want_offsets[n];
    struct byte_array want_keys = byte_array_room(total, size.needed, 64),
                      got_keys = byte_array_room(total, size.needed, 64);
    uint64_t *want = must_malloc((total + 1) * 8), *got = must_malloc((total + 1) * 8);
    rows.capacity = total;
    rows.keys = &want_keys.bytes;
    rows.values = want;
    assert_ok(both->ctx, copse_range(both->cpu, asked, &rows));
    struct placed_call call = place_for(both);
    const copse_ranges ranges = place_ranges(&call, asked, lows, highs, ends);
    copse_bytes room = place_room(&call, &got_keys);
    rows.offsets = placed_output(&call, got_offsets, n + 1, 8);
    rows.keys = &room;
    rows.values = placed_output(&call, got, total, typed_size(both->value_type));
    if (total) {
        rows.capacity = total - 1;
        assert_fails(both->ctx, COPSE_ERR_TOO_SMALL, copse_range(both->device, &ranges, &rows));
        assert_int_equal(room.needed, size.needed);
    }
    rows.capacity = total;
    assert_ok(both->ctx, copse_range(both->device, &ranges, &rows));
    assert_int_equal(room.needed, size.needed);
    place_end(&call);
    assert_memory_equal(got_offsets, want_offsets, (n + 1) * 8);
    assert_memory_equal(got, want, total * typed_size(both->value_type));
    assert_memory_equal(got_keys.bytes.offsets, want_keys.bytes.offsets, (total + 1) * 8);
    if (size.needed) assert_memory_equal(got_keys.bytes.data, want_keys.bytes.data, size.needed);
    byte_array_free(&want_keys);
    byte_array_free(&got_keys);
    free(want);
    free(got);
}

static void compare_counts(struct both *both, const copse_ranges *asked, const struct byte_array *lows,
                           const struct byte_array *highs)
{
    const uint64_t n = asked->n;
    uint64_t want[BATCH], got[BATCH] = {0};
    copse_bytes ends[2];
    struct placed_call call = place_for(both);
    const copse_ranges ranges = place_ranges(&call, asked, lows, highs, ends);
    assert_ok(both->ctx, copse_count(both->cpu, asked, want));
    assert_ok(both->ctx, copse_count(both->device, &ranges, placed_output(&call, got, n, 8)));
    place_end(&call);
    assert_memory_equal(got, want, n * 8);
}

/* Sums, means, minima and maxima. */
static void compare_aggregates(struct both *both, const copse_ranges *asked, const struct byte_array *lows,
                               const struct byte_array *highs)
{
    const uint64_t n = asked->n;
    const size_t width = typed_size(both->value_type);
    copse_bytes ends[2];
    for (int what = 0; what < 4; what++) {
        uint64_t want[BATCH] = {0}, got[BATCH] = {0};
        uint8_t want_found[BATCH] = {0}, got_found[BATCH] = {0};
        struct placed_call call = place_for(both);
        const copse_ranges ranges = place_ranges(&call, asked, lows, highs, ends);
        void *out = placed_output(&call, got, n, what < 2 ? 8 : width);
        uint8_t *found = placed_output(&call, got_found, n, 1);
        for (int side = 0; side < 2; side++) {
            const copse_index *index = side ? both->device : both->cpu;
            const copse_ranges *of = side ? &ranges : asked;
            void *to = side ? out : want;
            uint8_t *there = side ? found : want_found;
            assert_ok(both->ctx, what == 0   ? copse_sum(index, of, to)
                                 : what == 1 ? copse_avg(index, of, to)
                                 : what == 2 ? copse_min(index, of, to, there)
                                             : copse_max(index, of, to, there));
        }
        place_end(&call);
        assert_memory_equal(got, want, n * (what < 2 ? 8 : width));
        if (what >= 2) assert_memory_equal(got_found, want_found, n);
    }
}

static void compare_ranges(struct both *both, const struct byte_array *lows, const struct byte_array *highs)
{
    static const uint32_t flags[] = {0, COPSE_RANGE_LOW_OPEN, COPSE_RANGE_HIGH_OPEN | COPSE_RANGE_DESCENDING,
                                     COPSE_RANGE_PREFIX, COPSE_RANGE_PREFIX | COPSE_RANGE_DESCENDING};
    const uint64_t n = lows->n < 40 ? lows->n : 40;
    const struct byte_array few_lows = {lows->bytes, n}, few_highs = {highs->bytes, n};
    for (size_t f = 0; f < COUNT_OF(flags); f++) {
        copse_ranges asked = COPSE_BETWEEN(&lows->bytes, &highs->bytes, n);
        asked.flags = flags[f];
        if (flags[f] & COPSE_RANGE_PREFIX) asked.highs = NULL;
        asked.limit = f % 2 ? 3 : 0;
        compare_rows(both, &asked, &few_lows, &few_highs);
        asked.limit = 0;
        asked.flags &= ~(uint32_t)COPSE_RANGE_DESCENDING;
        compare_counts(both, &asked, &few_lows, &few_highs);
        compare_aggregates(both, &asked, &few_lows, &few_highs);
    }
    copse_ranges open = COPSE_BETWEEN(NULL, &highs->bytes, n);
    open.limit = 5;
    compare_rows(both, &open, &few_lows, &few_highs);
    const copse_ranges all = COPSE_BETWEEN(NULL, NULL, 1);
    compare_rows(both, &all, &few_lows, &few_highs);
}

/* --- updates ---------------------------------------------------------------------------------------------------------------- */

static void insert_both(struct both *both, const struct byte_array *keys, const uint64_t *values, uint32_t flags)
{
    uint64_t want = 0, got = 0;
    struct placed_call call = place_for(both);
    const copse_bytes given = place_keys(&call, keys);
    const void *placed = placed_input(&call, values, keys->n, typed_size(both->value_type));
    assert_ok(both->ctx, copse_insert(both->cpu, &keys->bytes, values, keys->n, flags, &want));
    assert_ok(both->ctx, copse_insert(both->device, &given, placed, keys->n, flags, &got));
    place_end(&call);
    assert_int_equal(got, want);
}

static void erase_both(struct both *both, const struct byte_array *keys)
{
    uint64_t want = 0, got = 0;
    struct placed_call call = place_for(both);
    const copse_bytes given = place_keys(&call, keys);
    assert_ok(both->ctx, copse_erase(both->cpu, &keys->bytes, keys->n, &want));
    assert_ok(both->ctx, copse_erase(both->device, &given, keys->n, &got));
    place_end(&call);
    assert_int_equal(got, want);
}

static void apply_both(struct both *both, const struct byte_array *keys, const uint64_t *values, uint64_t kinds)
{
    const uint64_t n = keys->n;
    const size_t width = typed_size(both->value_type);
    uint8_t operations[BATCH], want_found[BATCH] = {0}, got_found[BATCH] = {0};
    uint64_t want[BATCH] = {0}, got[BATCH] = {0};
    for (uint64_t i = 0; i < n; i++) operations[i] = (uint8_t)random_below(&both->random, kinds);
    struct placed_call call = place_for(both);
    const copse_bytes given = place_keys(&call, keys);
    const uint8_t *placed = placed_input(&call, operations, n, 1);
    const void *placed_values = placed_input(&call, values, n, width);
    void *out = placed_output(&call, got, n, width);
    uint8_t *found = placed_output(&call, got_found, n, 1);
    assert_ok(both->ctx, copse_apply(both->cpu, operations, &keys->bytes, values, n, want, want_found));
    assert_ok(both->ctx, copse_apply(both->device, placed, &given, placed_values, n, out, found));
    place_end(&call);
    assert_memory_equal(got, want, n * width);
    assert_memory_equal(got_found, want_found, n);
}

static void same_as_the_cpu(enum placed_memory memory, copse_type value_type)
{
    struct both both = both_open(memory, value_type);
    for (int round = 0; round < 6; round++) {
        uint64_t *codes = some_codes(&both.random, BATCH, both.pool.n),
                 *others = some_codes(&both.random, BATCH, both.pool.n), *values = numbers(&both, BATCH);
        struct byte_array keys = keys_of(&both, codes, BATCH), queries = keys_of(&both, others, BATCH);
        if (round == 0) {
            struct placed_call call = place_for(&both);
            const copse_bytes given = place_keys(&call, &keys);
            assert_ok(both.ctx, copse_build(both.cpu, &keys.bytes, values, BATCH));
            assert_ok(both.ctx, copse_build(both.device, &given,
                                            placed_input(&call, values, BATCH, typed_size(value_type)), BATCH));
            place_end(&call);
        } else if (round == 4) {
            erase_both(&both, &keys);
        } else if (round == 5) {
            apply_both(&both, &keys, values, 5);
        } else {
            insert_both(&both, &keys, values, round == 3 ? COPSE_INSERT_IF_ABSENT : 0);
        }
        if (round < 4) { /* all of them are there: kernels write the values */
            for (uint64_t i = 0; i < BATCH; i++) values[i] += i;
            insert_both(&both, &keys, values, 0);
        }
        copse_radix_device_of(both.device)->walk_most = round % 3 ? (uint64_t)(round % 3) : COPSE_RADIX_WALK_MOST;
        compare_find(&both, &queries);
        compare_neighbours(&both, &queries);
        compare_ranges(&both, &keys, &queries);
        assert_ok(both.ctx, copse_verify(both.device));
        byte_array_free(&keys);
        byte_array_free(&queries);
        free(codes);
        free(others);
        free(values);
    }
    both_close(&both);
}

static void arrays_in_any_memory_now(void)
{
    same_as_the_cpu(PLACED_HOST, COPSE_U64);
    same_as_the_cpu(PLACED_PINNED, COPSE_U32);
    same_as_the_cpu(PLACED_DEVICE, COPSE_U64);
    same_as_the_cpu(PLACED_MIXED, COPSE_I32);
    same_as_the_cpu(PLACED_MIXED, COPSE_I64);
}

static void arrays_in_any_memory(void **state)
{
    (void)state;
    all_ways(arrays_in_any_memory_now);
}

/* --- the way to the device ------------------------------------------------------------------------------------------------- */

/* A key of 16 bytes that a number stands for. */
static struct byte_array numbered_keys(uint64_t first, uint64_t n, uint64_t step)
{
    struct byte_array keys = byte_array_room(n, n * 16, 64);
    for (uint64_t i = 0; i < n; i++) {
        unsigned char *to = (unsigned char *)keys.bytes.data + i * 16;
        const uint64_t number = (first + i) * step;
        memset(to, 0, 16);
        for (int byte = 0; byte < 8; byte++) to[byte] = (unsigned char)(number >> (56 - 8 * byte));
        byte_array_set_offset(&keys.bytes, i, (int64_t)i * 16);
    }
    byte_array_set_offset(&keys.bytes, n, (int64_t)n * 16);
    return keys;
}

/* A small update leaves most pages alone, and the device sees it; so does one that makes pools grow. */
static void changes_arrive_now(void)
{
    copse_ctx *ctx = unit_context(1);
    copse_index *index = device_index(ctx, COPSE_U64);
    struct byte_array all = numbered_keys(0, 3000, UINT64_C(0x123456789abcd));
    assert_ok(ctx, copse_build(index, &all.bytes, NULL, all.n));
    for (uint64_t round = 0; round < 12; round++) {
        struct byte_array some = numbered_keys(5000 + 100 * round, round % 3 ? 1 : 90, UINT64_C(0x123456789abcd));
        uint8_t found[90];
        uint64_t values[90];
        assert_ok(ctx, copse_insert(index, &some.bytes, NULL, some.n, 0, NULL));
        assert_ok(ctx, copse_find(index, &some.bytes, some.n, values, found));
        for (uint64_t i = 0; i < some.n; i++) assert_true(found[i] && values[i] == i);
        if (round % 4 == 3) assert_ok(ctx, copse_erase(index, &some.bytes, some.n, NULL));
        assert_ok(ctx, copse_verify(index));
        byte_array_free(&some);
    }
    unsigned char *const there = copse_radix_device_of(index)->view.pool[COPSE_RADIX_LEAF16] + 3, byte = 0x5a;
    assert_ok(ctx, copse_device_copy(index->device, index->device->main, there, &byte, 1));
    assert_ok(ctx, copse_device_wait(index->device, index->device->main));
    assert_fails_naming(ctx, COPSE_ERR_CORRUPT, "device", copse_verify(index));
    byte_array_free(&all);
    copse_index_free(index);
    copse_ctx_free(ctx);
}

/* Of equal keys in a batch the last position counts, in whatever order warps come to them. */
static void the_last_of_equal_keys_counts(void **state)
{
    (void)state;
    copse_ctx *ctx = unit_context(1);
    copse_index *index = device_index(ctx, COPSE_U64);
    struct byte_array all = numbered_keys(0, 40, 3), same = numbered_keys(7, 2000, 0);
    uint64_t values[2000], value = 0;
    uint8_t found = 0;
    assert_ok(ctx, copse_build(index, &all.bytes, NULL, all.n));
    for (uint64_t seed = 1; seed <= 20; seed++) {
        index->device->seed = seed;
        for (uint64_t i = 0; i < same.n; i++) values[i] = seed << 32 | i;
        assert_ok(ctx, copse_insert(index, &same.bytes, values, same.n, 0, NULL));
        assert_ok(ctx, copse_find(index, &same.bytes, 1, &value, &found));
        assert_true(found && value == (seed << 32 | (same.n - 1)));
    }
    assert_int_equal(copse_size(index), all.n);
    byte_array_free(&all);
    byte_array_free(&same);
    copse_index_free(index);
    copse_ctx_free(ctx);
}

static void changes_arrive(void **state)
{
    (void)state;
    all_ways(changes_arrive_now);
}

/* Does the device have something that its host lacks? It asks for it before the host answers anything. */
static bool host_lags(const copse_index *index)
{
    return atomic_load(&copse_radix_device_of(index)->is_ahead);
}

/* Pairs, of which some have another value, go; then ranges, wide ones, narrow ones and overlapping ones, and all that is left. */
static void pairs_and_ranges_go_now(void)
{
    struct both both = both_open(PLACED_MIXED, way % 2 ? COPSE_U32 : COPSE_U64);
    uint64_t *codes = some_codes(&both.random, BATCH, both.pool.n), *values = numbers(&both, BATCH), want = 0, got = 0;
    struct byte_array keys = keys_of(&both, codes, BATCH);
    insert_both(&both, &keys, values, 0);
    for (uint64_t i = 0; i < BATCH; i += 3) ((unsigned char *)values)[i * typed_size(both.value_type)] ^= 1;
    struct placed_call call = place_for(&both);
    const copse_bytes given = place_keys(&call, &keys);
    const void *placed = placed_input(&call, values, keys.n, typed_size(both.value_type));
    assert_ok(both.ctx, copse_erase_pairs(both.cpu, &keys.bytes, values, keys.n, &want));
    assert_ok(both.ctx, copse_erase_pairs(both.device, &given, placed, keys.n, &got));
    assert_int_equal(got, want);
    place_end(&call);
    assert_true(apart(both.device) || host_lags(both.device));
    insert_both(&both, &keys, values, 0);
    copse_radix_device_of(both.device)->walk_most = 20;
    for (int round = 0; round < 6; round++) {
        uint64_t few[4] = {0, 1, BATCH / 2, BATCH - 1};
        for (int i = 0; i < 4; i++) few[i] = random_below(&both.random, both.pool.n);
        struct byte_array lows = keys_of(&both, few, 2), highs = keys_of(&both, few + 2, 2);
        copse_ranges asked = COPSE_BETWEEN(&lows.bytes, &highs.bytes, 2), there;
        if (round == 3) asked.highs = NULL;
        if (round == 4) asked.highs = NULL, asked.flags = COPSE_RANGE_PREFIX;
        if (round == 5) asked.lows = asked.highs = NULL;
        copse_bytes ends[2];
        call = place_for(&both);
        there = place_ranges(&call, &asked, &lows, &highs, ends);
        assert_ok(both.ctx, copse_erase_range(both.cpu, &asked, &want));
        assert_ok(both.ctx, copse_erase_range(both.device, &there, &got));
        place_end(&call);
        assert_int_equal(got, want);
        assert_int_equal(copse_size(both.device), copse_size(both.cpu));
        compare_find(&both, &keys);
        if (round < 3) assert_true(apart(both.device) || host_lags(both.device));
        if (round >= 2) assert_ok(both.ctx, copse_verify(both.device));
        if (round == 2) insert_both(&both, &keys, values, 0);
        byte_array_free(&lows);
        byte_array_free(&highs);
    }
    assert_int_equal(copse_size(both.device), 0);
    byte_array_free(&keys);
    free(codes);
    free(values);
    both_close(&both);
}

static void pairs_and_ranges_go(void **state)
{
    (void)state;
    all_ways(pairs_and_ranges_go_now);
}

/* Mixed batches, in which keys repeat: with all operations, without ADD, without ERASE, and finds only. */
static void mixed_batches_stay_there_now(void)
{
    static const copse_type types[] = {COPSE_U64, COPSE_F32, COPSE_I32, COPSE_F64};
    for (unsigned t = 0; t < COUNT_OF(types); t++) {
        struct both both = both_open(t % 2 ? PLACED_MIXED : PLACED_DEVICE, types[t]);
        for (int round = 0; round < 10; round++) {
            uint64_t *codes = some_codes(&both.random, BATCH, round % 3 == 2 ? 30 : both.pool.n),
                     *values = numbers(&both, BATCH);
            struct byte_array keys = keys_of(&both, codes, BATCH);
            both.device->device->seed = (uint64_t)round;
            if (round == 0 && t % 2)
                insert_both(&both, &keys, values, 0);
            else
                apply_both(&both, &keys, values, (uint64_t[]){5, 4, 3, 1}[round % 4]);
            assert_true(apart(both.device) || host_lags(both.device));
            assert_int_equal(copse_size(both.device), copse_size(both.cpu));
            compare_find(&both, &keys);
            if (round % 4 == 3) assert_ok(both.ctx, copse_verify(both.device));
            if (round % 4 == 3) insert_both(&both, &keys, values, 0);
            byte_array_free(&keys);
            free(codes);
            free(values);
        }
        both_close(&both);
    }
}

static void mixed_batches_stay_there(void **state)
{
    (void)state;
    all_ways(mixed_batches_stay_there_now);
}

/* Keys with more bytes than a batch is sorted by, alike up to the last ones, some of them beginnings of others: kernels build, insert, change and
 * erase them. */
static void very_long_keys_stay_there(void **state)
{
    (void)state;
    struct both both = both_open(PLACED_HOST, COPSE_U64);
    unsigned char bytes[700];
    memset(bytes, 'p', sizeof bytes);
    byte_pool_free(&both.pool);
    both.pool = (struct byte_pool){NULL, 0};
    for (size_t n = 250; n < sizeof bytes - 3; n += 1 + n % 5)
        for (unsigned last = 0; last < 4; last++) {
            memset(bytes + n, (int)('p' + 7 * last), last);
            byte_pool_add(&both.pool, bytes, n + last);
            memset(bytes + n, 'p', last);
        }
    byte_pool_sort(&both.pool);
    for (uint32_t round = 0; round < 4; round++) {
        uint64_t *codes = some_codes(&both.random, BATCH, both.pool.n), *values = numbers(&both, BATCH);
        struct byte_array keys = keys_of(&both, codes, BATCH);
        if (round == 2)
            erase_both(&both, &keys);
        else
            insert_both(&both, &keys, values, round == 3 ? COPSE_INSERT_IF_ABSENT : 0);
        assert_true(host_lags(both.device));
        compare_find(&both, &keys);
        assert_true(host_lags(both.device));
        if (round % 2) assert_ok(both.ctx, copse_verify(both.device));
        byte_array_free(&keys);
        free(codes);
        free(values);
    }
    both_close(&both);
}

/* More entries in a range than a thread goes along, after a build and after inserts, of the whole tree too. */
static void wide_ranges_are_counted(void **state)
{
    (void)state;
    enum { N = 9000, MORE = 200 };
    copse_ctx *ctx = unit_context(2);
    copse_index *index = device_index(ctx, COPSE_U64);
    struct byte_array all = numbered_keys(0, N, 2), more = numbered_keys(N, MORE, 2), ends = numbered_keys(0, 2, 16000);
    uint64_t count[2] = {0}, offsets[2], sum = 0, *values = must_malloc((N + MORE) * sizeof *values);
    assert_ok(ctx, copse_build(index, &all.bytes, NULL, all.n));
    copse_bytes second = ends.bytes;
    second.offsets = (int64_t *)ends.bytes.offsets + 1;
    copse_ranges ranges = COPSE_BETWEEN(&ends.bytes, &second, 1), whole = COPSE_BETWEEN(NULL, NULL, 1), back = whole;
    back.flags = COPSE_RANGE_DESCENDING;
    ranges.flags = COPSE_RANGE_HIGH_OPEN;
    for (int round = 0; round < 2; round++) {
        const uint64_t n = round ? N + MORE : N;
        assert_ok(ctx, copse_count(index, &ranges, &count[0]));
        assert_ok(ctx, copse_count(index, &whole, &count[1]));
        assert_int_equal(count[0], 8000);
        assert_int_equal(count[1], n);
        assert_ok(ctx, copse_sum(index, &ranges, &sum));
        assert_int_equal(sum, UINT64_C(8000) * 7999 / 2);
        copse_rows rows = COPSE_ROWS_INIT;
        rows.offsets = offsets;
        rows.values = values;
        rows.capacity = n;
        assert_ok(ctx, copse_range(index, &ranges, &rows));
        assert_int_equal(offsets[1], 8000);
        for (uint64_t i = 0; i < 8000; i++) assert_int_equal(values[i], i);
        back.limit = n - 1;
        assert_ok(ctx, copse_range(index, &back, &rows));
        assert_int_equal(offsets[1], n - 1);
        for (uint64_t i = 0; i < n - 1; i++) assert_int_equal(values[i], (n - 1 - i) % N);
        assert_true(host_lags(index));
        for (uint64_t i = 0; i < MORE; i++) values[i] = i;
        assert_ok(ctx, copse_insert(index, &more.bytes, values, MORE, 0, NULL));
    }
    free(values);
    byte_array_free(&all);
    byte_array_free(&more);
    byte_array_free(&ends);
    copse_index_free(index);
    copse_ctx_free(ctx);
}

/* A tree with more levels than lists of leaves are made of, and one for whose list there is no memory: the host answers. */
static void odd_wide_ranges_are_the_hosts(void **state)
{
    (void)state;
    enum { N = 1200 };
    copse_ctx *ctx = unit_context(1);
    copse_index *index = device_index(ctx, COPSE_U64);
    struct byte_array all = byte_array_room(N, (uint64_t)N * (N + 1) / 2, 64);
    uint64_t count = 0, at = 0;
    memset(all.bytes.data, 'p', all.bytes.size);
    for (uint64_t i = 0; i <= N; at += ++i) byte_array_set_offset(&all.bytes, i, (int64_t)at);
    assert_ok(ctx, copse_build(index, &all.bytes, NULL, N));
    const copse_ranges whole = COPSE_BETWEEN(NULL, NULL, 1);
    assert_ok(ctx, copse_count(index, &whole, &count));
    assert_int_equal(count, N);
    struct byte_array some = numbered_keys(0, N, 5);
    assert_ok(ctx, copse_build(index, &some.bytes, NULL, N));
    assert_true(host_lags(index));
    bool failed = true;
    for (int64_t after = 0; failed; after++) {
        count = 0;
        index->device->allocations_left = after;
        const copse_status status = copse_count(index, &whole, &count);
        failed = index->device->allocations_left < 0;
        index->device->allocations_left = -1;
        if (status != COPSE_OK) assert_int_equal(status, COPSE_ERR_MEMORY);
        if (status == COPSE_OK) assert_int_equal(count, N);
    }
    byte_array_free(&all);
    byte_array_free(&some);
    copse_index_free(index);
    copse_ctx_free(ctx);
}

/* So many bytes in pinned memory that they go in several chunks. */
static void large_batches_now(void)
{
    enum { KEYS = 1300, LENGTH = 60000, THERE = 60 };
    struct both both = {.ctx = unit_context(1), .memory = PLACED_PINNED, .random = {5}, .value_type = COPSE_U64};
    copse_index *index = device_index(both.ctx, COPSE_U64);
    struct byte_array queries = byte_array_room(KEYS, (uint64_t)KEYS * LENGTH, 64);
    uint64_t *values = must_malloc(KEYS * sizeof *values);
    uint8_t *found = must_malloc(KEYS);
    memset(queries.bytes.data, 'b', (size_t)KEYS * LENGTH);
    for (uint64_t i = 0; i <= KEYS; i++) byte_array_set_offset(&queries.bytes, i, (int64_t)i * LENGTH);
    for (uint64_t i = 0; i < KEYS; i++) {
        const uint32_t number = (uint32_t)(i * 7 % KEYS); /* in each chunk some are there */
        memcpy((char *)queries.bytes.data + (i + 1) * LENGTH - sizeof number, &number, sizeof number);
    }
    struct byte_array some = byte_array_room(THERE, (uint64_t)THERE * LENGTH, 64);
    memset(some.bytes.data, 'b', (size_t)THERE * LENGTH);
    for (uint64_t i = 0; i <= THERE; i++) byte_array_set_offset(&some.bytes, i, (int64_t)i * LENGTH);
    for (uint32_t i = 0; i < THERE; i++)
        memcpy((char *)some.bytes.data + (size_t)(i + 1) * LENGTH - sizeof i, &i, sizeof i);
    assert_ok(both.ctx, copse_build(index, &some.bytes, NULL, THERE));
    struct placed_call call = place_for(&both);
    const copse_bytes given = place_keys(&call, &queries);
    assert_ok(both.ctx, copse_find(index, &given, KEYS, values, found));
    place_end(&call);
    for (uint64_t i = 0; i < KEYS; i++) {
        assert_int_equal(found[i], i * 7 % KEYS < THERE);
        assert_int_equal(values[i], i * 7 % KEYS < THERE ? i * 7 % KEYS : 0);
    }
    byte_array_free(&queries);
    byte_array_free(&some);
    free(values);
    free(found);
    copse_index_free(index);
    copse_ctx_free(both.ctx);
}

static void large_batches_go_in_chunks(void **state)
{
    (void)state;
    all_ways(large_batches_now);
}

/* Keys that come and go take the memory that they need, and not that of the worst case: a batch of keys might make as many large nodes as it has
 * keys, but hardly ever does. The host's copy counts as well where it is there, so that nothing here asks for it. */
static void memory_follows_the_keys(void **state)
{
    (void)state;
    enum { N = 1 << 16, STEP = N / 8, ROUNDS = 4 };
    copse_ctx *ctx = unit_context(2);
    copse_index *index = device_index(ctx, COPSE_U64);
    struct byte_array first = numbered_keys(0, N, UINT64_C(0x9e3779b97f4a7c15)),
                      all = numbered_keys(0, 2 * N, UINT64_C(0x9e3779b97f4a7c15));
    copse_stats stats = {.struct_size = sizeof stats};
    uint64_t most[ROUNDS] = {0}, changed = 0;
    assert_ok(ctx, copse_build(index, &first.bytes, NULL, N));
    for (int round = 0; round < ROUNDS; round++) {
        for (uint64_t i = N; i < 2 * N; i += STEP) {
            copse_bytes some = all.bytes;
            some.offsets = (int64_t *)all.bytes.offsets + i;
            uint64_t values[STEP];
            for (uint64_t j = 0; j < STEP; j++) values[j] = i + j;
            assert_ok(ctx, copse_insert(index, &some, values, STEP, 0, &changed));
            assert_int_equal(changed, STEP);
        }
        assert_ok(ctx, copse_index_stats(index, &stats));
        most[round] = stats.bytes;
        for (uint64_t i = 0; i < 2 * N; i += N) {
            copse_bytes some = all.bytes;
            some.offsets = (int64_t *)all.bytes.offsets + (i ? i : 1); /* one stays */
            assert_ok(ctx, copse_erase(index, &some, i ? N : N - 1, &changed));
            assert_int_equal(changed, round == 0 || i ? (i ? N : N - 1) : 0);
        }
        assert_int_equal(copse_size(index), 1);
    }
    copse_bytes one = first.bytes;
    assert_ok(ctx, copse_erase(index, &one, 1, &changed));
    assert_int_equal(copse_size(index), 0);
    uint64_t *values = must_malloc(N * sizeof *values);
    for (uint64_t i = 0; i < N; i++) values[i] = i;
    assert_ok(ctx, copse_insert(index, &first.bytes, values, N, 0, &changed)); /* as a build */
    assert_int_equal(changed, N);
    assert_ok(ctx, copse_index_stats(index, &stats));
    assert_true((double)stats.bytes < 1.0 * N * (24 + 24));
    free(values);
    assert_true((double)most[0] < 2.0 * N * (24 + 32));
    for (int round = 1; round < ROUNDS; round++) /* lists of what is free take a word for each */
        assert_true(most[round] <= most[0] + most[0] / 2);
    assert_ok(ctx, copse_verify(index));
    byte_array_free(&first);
    byte_array_free(&all);
    copse_index_free(index);
    copse_ctx_free(ctx);
}

/* --- what is wrong ------------------------------------------------------------------------------------------------------------ */

static void unsound_offsets_now(void)
{
    struct both both = both_open(PLACED_DEVICE, COPSE_U64);
    struct byte_array keys = numbered_keys(0, 20, 1);
    uint64_t values[20];
    uint8_t found[20];
    assert_ok(both.ctx, copse_build(both.device, &keys.bytes, NULL, keys.n));
    const int64_t bad[] = {-5, 5, 16 * 30};
    for (size_t b = 0; b < COUNT_OF(bad); b++)
        for (int there = 0; there < 2; there++) {
            byte_array_set_offset(&keys.bytes, 7, bad[b]);
            both.memory = there ? PLACED_DEVICE : PLACED_HOST;
            struct placed_call call = place_for(&both);
            const copse_bytes given = place_keys(&call, &keys);
            assert_fails_naming(both.ctx, COPSE_ERR_ARGUMENT, "keys",
                                copse_find(both.device, &given, keys.n, values, found));
            assert_fails_naming(both.ctx, COPSE_ERR_ARGUMENT, "keys",
                                copse_successor(both.device, &given, keys.n, NULL, values, found));
            assert_fails_naming(both.ctx, COPSE_ERR_ARGUMENT, "keys",
                                copse_insert(both.device, &given, values, keys.n, 0, NULL));
            copse_ranges ranges = COPSE_BETWEEN(&given, NULL, keys.n);
            assert_fails_naming(both.ctx, COPSE_ERR_ARGUMENT, "lows", copse_count(both.device, &ranges, values));
            place_end(&call);
            assert_ok(both.ctx, copse_verify(both.device));
        }
    byte_array_free(&keys);
    both_close(&both);
}

static void unsound_offsets_are_refused(void **state)
{
    (void)state;
    all_ways(unsound_offsets_now);
}

/* Every allocation of device memory fails in its turn: the call says so, and the index is as before, or as after. */
static void no_device_memory_now(void)
{
    struct both both = both_open(PLACED_HOST, COPSE_U64);
    copse_device *device = placed_device(both.ctx, COPSE_PLACEMENT_EMULATED);
    struct byte_array keys = numbered_keys(0, 50, UINT64_C(0x9e3779b97f4a7c15)),
                      more = numbered_keys(50, 200, UINT64_C(0x9e3779b97f4a7c15));
    struct byte_array mixed = numbered_keys(40, 20, UINT64_C(0x9e3779b97f4a7c15)); /* half of them are there */
    uint64_t values[200] = {0};
    uint8_t found[200], operations[20];
    for (int i = 0; i < 20; i++) operations[i] = i < 10 ? COPSE_OP_ERASE : COPSE_OP_UPSERT;
    for (int what = 0; what < 9; what++) {
        bool failed = true;
        for (int64_t after = 0; failed; after++) {
            assert_ok(both.ctx, copse_build(both.device, &keys.bytes, values, keys.n));
            if (what >= 5) assert_ok(both.ctx, copse_insert(both.device, &keys.bytes, values, keys.n, 0, NULL));
            device->allocations_left = after;
            copse_ranges ranges = COPSE_BETWEEN(&keys.bytes, NULL, 20),
                         ten = COPSE_BETWEEN(&keys.bytes, &keys.bytes, 10);
            const copse_status status =
                what == 0   ? copse_build(both.device, &more.bytes, NULL, more.n)
                : what == 1 ? copse_insert(both.device, &more.bytes, NULL, more.n, 0, NULL)
                : what == 2 ? copse_insert(both.device, &keys.bytes, values, keys.n, 0, NULL)
                : what == 3 ? copse_successor(both.device, &keys.bytes, keys.n, NULL, values, found)
                : what == 4 ? copse_count(both.device, &ranges, values)
                : what == 6 ? copse_erase_range(both.device, &ten, NULL)
                : what == 8 ? copse_apply(both.device, operations, &mixed.bytes, values, 20, NULL, NULL)
                : what == 7 ? copse_erase_pairs(both.device, &keys.bytes, values, 10, NULL)
                            : copse_erase(both.device, &keys.bytes, 10, NULL);
            failed = device->allocations_left < 0;
            device->allocations_left = -1;
            if (!failed) assert_ok(both.ctx, status);
            if (status != COPSE_OK) assert_int_equal(status, COPSE_ERR_MEMORY);
            const uint64_t before = keys.n, then = what == 0 ? more.n : what == 1 ? keys.n + more.n : keys.n;
            assert_int_equal(copse_size(both.device), status != COPSE_OK || what == 8 ? before
                                                      : what >= 5                     ? keys.n - 10
                                                                                      : then);
            memset(values, 0, sizeof values);
            assert_ok(both.ctx, copse_verify(both.device));
            assert_ok(both.ctx, copse_find(both.device, &more.bytes, more.n, values, found));
            for (uint64_t i = 0; i < more.n; i++)
                assert_int_equal(found[i], (what < 2 || (what == 8 && i < 10)) && status == COPSE_OK);
            memset(values, 0, sizeof values);
        }
    }
    byte_array_free(&keys);
    byte_array_free(&more);
    byte_array_free(&mixed);
    both_close(&both);
}

static void no_device_memory(void **state)
{
    (void)state;
    all_ways(no_device_memory_now);
}

/* A context that says that all arrays are device memory. */
static void device_arrays_are_promised_now(void)
{
    copse_ctx_options options = COPSE_CTX_OPTIONS_INIT;
    copse_ctx *ctx = NULL;
    options.flags = COPSE_CTX_DEVICE_ARRAYS;
    assert_ok(NULL, copse_ctx_create(&options, &ctx));
    struct both both = {.ctx = ctx, .memory = PLACED_DEVICE, .random = {3}, .value_type = COPSE_U64};
    copse_index *index = device_index(ctx, COPSE_U64);
    struct byte_array keys = numbered_keys(0, 100, 77), more = numbered_keys(100, 100, 77);
    uint64_t values[100], got[100] = {0};
    uint8_t got_found[100] = {0};
    for (uint64_t i = 0; i < 100; i++) values[i] = 3 * i;
    struct placed_call call = place_for(&both);
    const copse_bytes given = place_keys(&call, &keys), given_more = place_keys(&call, &more);
    const void *placed = placed_input(&call, values, 100, 8);
    void *out = placed_output(&call, got, 100, 8);
    uint8_t *found = placed_output(&call, got_found, 100, 1);
    assert_ok(ctx, copse_build(index, &given, placed, 100));
    assert_ok(ctx, copse_insert(index, &given_more, placed, 100, 0, NULL));
    assert_ok(ctx, copse_insert(index, &given_more, placed, 100, 0, NULL));
    assert_ok(ctx, copse_find(index, &given_more, 100, out, found));
    place_end(&call);
    for (uint64_t i = 0; i < 100; i++) assert_true(got_found[i] && got[i] == 3 * i);
    assert_int_equal(copse_size(index), 200);
    assert_ok(ctx, copse_verify(index));
    byte_array_free(&keys);
    byte_array_free(&more);
    copse_index_free(index);
    copse_ctx_free(ctx);
}

static void device_arrays_are_promised(void **state)
{
    (void)state;
    all_ways(device_arrays_are_promised_now);
}

/* --- larger than device memory --------------------------------------------------------------------------------------------- */

#define ALL_LEAVES  0x3c0u
#define LONG_LEAVES 0x200u

/* Numbered keys, each with so many bytes more behind the number. */
static struct byte_array padded_keys(uint64_t first, uint64_t n, size_t padding)
{
    const size_t length = 8 + padding;
    struct byte_array keys = byte_array_room(n, n * length, 64);
    memset(keys.bytes.data, 'p', n * length);
    for (uint64_t i = 0; i <= n; i++) byte_array_set_offset(&keys.bytes, i, (int64_t)(i * length));
    for (uint64_t i = 0; i < n; i++) {
        const uint64_t number = __builtin_bswap64((first + i) * UINT64_C(0x9e3779b97f4a7c15));
        memcpy((char *)keys.bytes.data + i * length, &number, sizeof number);
    }
    return keys;
}

static void all_there(copse_ctx *ctx, const copse_index *index, const struct byte_array *keys, uint64_t first)
{
    uint64_t *values = must_malloc(keys->n * sizeof *values), limit = index->device->limit;
    uint8_t *found = must_malloc(keys->n);
    index->device->limit = UINT64_MAX; /* the way of the keys */
    assert_ok(ctx, copse_find(index, &keys->bytes, keys->n, values, found));
    for (uint64_t i = 0; i < keys->n; i++) assert_true(found[i] && values[i] == first + i);
    free(values);
    free(found);
    assert_ok(ctx, copse_verify(index));
    index->device->limit = limit;
}

static void insert_numbered(copse_ctx *ctx, copse_index *index, const struct byte_array *keys, uint64_t first,
                            copse_status want)
{
    uint64_t *values = must_malloc(keys->n * sizeof *values);
    for (uint64_t i = 0; i < keys->n; i++) values[i] = first + i;
    const copse_status status = copse_insert(index, &keys->bytes, values, keys->n, 0, NULL);
    if (want == COPSE_OK) assert_ok(ctx, status);
    assert_int_equal(status, want);
    free(values);
}

/* The index grows while the device has room for less and less of it: first for all, then not for long leaves, then for nodes only. What asks
 * for all on the card fails instead, and is as before. */
static void leaves_leave_the_device(void **state)
{
    (void)state;
    enum { N = 600, LONG = 300 };
    for (int asked = 0; asked < 2; asked++) {
        copse_ctx *ctx = unit_context(2);
        way = asked ? COPSE_LONG_KEYS_CARD : COPSE_LONG_KEYS_AUTO;
        copse_index *index = device_index(ctx, COPSE_U64);
        copse_device *device = placed_device(ctx, COPSE_PLACEMENT_EMULATED);
        struct byte_array shorts = padded_keys(0, N, 8), longs = padded_keys(N, LONG, 20000),
                          more = padded_keys(N + LONG, 20 * N, 20);
        const uint64_t all = device->limit;
        insert_numbered(ctx, index, &shorts, 0, COPSE_OK);
        insert_numbered(ctx, index, &shorts, 0, COPSE_OK);
        assert_int_equal(apart(index), 0);
        device->limit = device->allocated + (UINT64_C(3) << 20); /* the long ones take 6 MB */
        insert_numbered(ctx, index, &longs, N, asked ? COPSE_ERR_MEMORY : COPSE_OK);
        assert_int_equal(copse_size(index), asked ? N : N + LONG);
        all_there(ctx, index, &shorts, 0);
        if (!asked) {
            assert_int_equal(apart(index), LONG_LEAVES);
            assert_string_equal(copse_last_error(ctx), "");
            all_there(ctx, index, &longs, N);
            insert_numbered(ctx, index, &more, N + LONG, COPSE_OK);
            device->limit = device->allocated + (UINT64_C(3) << 19);
            insert_numbered(ctx, index, &more, N + LONG, COPSE_OK);
            struct byte_array others = padded_keys(N + LONG + 20 * N, 20 * N, 22);
            insert_numbered(ctx, index, &others, 0, COPSE_OK);
            assert_int_equal(apart(index), ALL_LEAVES);
            all_there(ctx, index, &shorts, 0);
            all_there(ctx, index, &longs, N);
            all_there(ctx, index, &more, N + LONG);
            all_there(ctx, index, &others, 0);
            device->limit = all; /* smaller nodes that take the place of larger ones */
            assert_ok(ctx, copse_erase(index, &others.bytes, others.n, NULL));
            all_there(ctx, index, &more, N + LONG);
            byte_array_free(&others);
        }
        device->limit = all; /* a build has all of it there again */
        assert_ok(ctx, copse_build(index, &shorts.bytes, NULL, N));
        assert_int_equal(apart(index), 0);
        all_there(ctx, index, &shorts, 0);
        byte_array_free(&shorts);
        byte_array_free(&longs);
        byte_array_free(&more);
        copse_index_free(index);
        copse_ctx_free(ctx);
    }
    way = COPSE_LONG_KEYS_AUTO;
}

/* A window of long keys that slides: the blocks of those that went are taken again, also where the host has had them in between. */
static void blocks_of_long_keys_are_taken_again(void **state)
{
    (void)state;
    enum { N = 600, ROUNDS = 14 };
    copse_ctx *ctx = unit_context(2);
    copse_index *index = device_index(ctx, COPSE_U64);
    struct byte_array keys[ROUNDS];
    uint64_t most = 0;
    for (uint64_t round = 0; round < ROUNDS; round++) {
        keys[round] = padded_keys(round * N, N, round % 2 ? 40 : 61);
        insert_numbered(ctx, index, &keys[round], round * N, COPSE_OK);
        if (round > 1) assert_ok(ctx, copse_erase(index, &keys[round - 2].bytes, N, NULL));
        if (round > 7) all_there(ctx, index, &keys[round - round % 2], (round - round % 2) * N);
        const uint64_t bytes = copse_radix_device_of(index)->bytes[COPSE_RADIX_LEAF_LONG];
        if (round == 4) most = bytes;
        if (round > 4) assert_true(bytes <= most);
    }
    for (uint64_t round = ROUNDS - 2; round < ROUNDS; round++) all_there(ctx, index, &keys[round], round * N);
    for (uint64_t round = 0; round < ROUNDS; round++) byte_array_free(&keys[round]);
    copse_index_free(index);
    copse_ctx_free(ctx);
}

/* The same, also in the host's tree. */
static void all_there_twice(copse_ctx *ctx, const copse_index *index, const struct byte_array *keys, uint64_t first)
{
    const copse_index host = copse_radix_host(index);
    uint64_t *values = must_malloc(keys->n * sizeof *values);
    uint8_t *found = must_malloc(keys->n);
    all_there(ctx, index, keys, first); /* which fetches it */
    assert_ok(ctx, host.calls->find(&host, &keys->bytes, keys->n, values, found));
    for (uint64_t i = 0; i < keys->n; i++) assert_true(found[i] && values[i] == first + i);
    free(values);
    free(found);
}

/* Long keys come by kernels while the host fetches the tree in between: what its heap has more room for than it needs is not lost. */
static void the_heap_has_no_gaps(void **state)
{
    (void)state;
    enum { N = 150, ROUNDS = 40, LONGEST = 30000 };
    copse_ctx *ctx = unit_context(2);
    copse_index *index = device_index(ctx, COPSE_U64);
    struct byte_array keys[ROUNDS], longest = padded_keys(N * ROUNDS, 40, LONGEST);
    uint64_t bytes = 0;
    for (uint64_t round = 0; round < ROUNDS; round++) {
        keys[round] = padded_keys(round * N, N, 40 + 13 * round);
        insert_numbered(ctx, index, &keys[round], round * N, COPSE_OK);
        all_there(ctx, index, &keys[round], round * N);
        bytes += N * (48 + 13 * round + 16);
    }
    insert_numbered(ctx, index, &longest, N * ROUNDS, COPSE_OK);
    bytes += longest.n * (LONGEST + LONGEST / 8);
    for (uint64_t round = 0; round < ROUNDS; round++) all_there_twice(ctx, index, &keys[round], round * N);
    all_there_twice(ctx, index, &longest, N * ROUNDS);
    assert_true(copse_radix_device_of(index)->bytes[COPSE_RADIX_LEAF_LONG] < bytes + bytes / 4);
    for (uint64_t round = 0; round < ROUNDS; round++) byte_array_free(&keys[round]);
    byte_array_free(&longest);
    copse_index_free(index);
    copse_ctx_free(ctx);
}

/* Where there is no memory for an insert of long keys, the host has the free blocks again that were to be taken. */
static void blocks_come_back(void **state)
{
    (void)state;
    enum { N = 60 };
    copse_ctx *ctx = unit_context(2);
    copse_index *index = device_index(ctx, COPSE_U64);
    struct byte_array keys = padded_keys(0, N, 40), more = padded_keys(N, N, 40), others = padded_keys(2 * N, N, 50);
    uint64_t values[N] = {0};
    uint8_t operations[N];
    bool failed = true;
    memset(operations, COPSE_OP_ADD, sizeof operations);
    for (int64_t after = 0; failed; after++) {
        insert_numbered(ctx, index, &keys, 0, COPSE_OK);
        insert_numbered(ctx, index, &more, N, COPSE_OK);
        insert_numbered(ctx, index, &others, 2 * N, COPSE_OK);
        assert_ok(ctx, copse_erase(index, &keys.bytes, N, NULL));
        assert_ok(ctx, copse_erase(index, &others.bytes, N, NULL));
        all_there(ctx, index, &more, N);
        index->device->allocations_left = after;
        const copse_status status = copse_apply(index, operations, &keys.bytes, values, N, NULL, NULL);
        failed = index->device->allocations_left < 0;
        index->device->allocations_left = -1;
        if (status != COPSE_OK) assert_int_equal(status, COPSE_ERR_MEMORY);
        all_there(ctx, index, &more, N);
        assert_int_equal(copse_size(index), status == COPSE_OK ? 2 * N : N);
        assert_ok(ctx, copse_build(index, NULL, NULL, 0));
    }
    byte_array_free(&keys);
    byte_array_free(&more);
    byte_array_free(&others);
    copse_index_free(index);
    copse_ctx_free(ctx);
}

/* The host's copy of a tree that only kernels change goes after a while, and comes back when it is asked for. */
static void the_copy_goes(void **state)
{
    (void)state;
    enum { N = 4000, FEW = 40, ROUNDS = 40 };
    copse_ctx *ctx = unit_context(2);
    copse_index *index = device_index(ctx, COPSE_U64);
    struct byte_array keys = padded_keys(0, N, 30), some[3];
    copse_stats stats = {.struct_size = sizeof stats};
    uint64_t alone = 0;
    insert_numbered(ctx, index, &keys, 0, COPSE_OK);
    for (uint64_t i = 0; i < 3; i++) some[i] = padded_keys(N + i * FEW, FEW, 10 * i);
    for (uint64_t round = 0; round < ROUNDS; round++) {
        const uint64_t in = round % 3, out = (round + 1) % 3;
        insert_numbered(ctx, index, &some[in], N + in * FEW, COPSE_OK);
        assert_ok(ctx, copse_erase(index, &some[out].bytes, FEW, NULL));
        assert_ok(ctx, copse_index_stats(index, &stats));
        if (round == 0) alone = stats.bytes;
        if (round == 1 || round == 20) all_there(ctx, index, &keys, 0);
        if (round == 2 || round == 21) assert_true(stats.bytes > alone + alone / 2);
        if (round == 18 || round == 39) assert_true(stats.bytes < alone + alone / 4);
    }
    all_there(ctx, index, &keys, 0);
    for (uint64_t i = 0; i < 3; i++) byte_array_free(&some[i]);
    byte_array_free(&keys);
    copse_index_free(index);
    copse_ctx_free(ctx);
}

/* Lookups for which the device has no room at once go in pieces. */
static void finds_need_little_room_now(void)
{
    enum { N = 3000 };
    copse_ctx *ctx = unit_context(2);
    copse_index *index = device_index(ctx, COPSE_U64);
    struct byte_array keys = padded_keys(0, N, 100);
    uint64_t *values = must_malloc(N * sizeof *values);
    uint8_t *found = must_malloc(N);
    copse_radix_device_of(index)->piece = COPSE_RADIX_PIECE;
    assert_ok(ctx, copse_build(index, &keys.bytes, NULL, N));
    index->device->limit = index->device->allocated + (128u << 10); /* the keys take 348 KB */
    assert_ok(ctx, copse_find(index, &keys.bytes, N, values, found));
    assert_string_equal(copse_last_error(ctx), "");
    for (uint64_t i = 0; i < N; i++) assert_true(found[i] && values[i] == i);
    index->device->limit = index->device->allocated;
    assert_int_equal(copse_find(index, &keys.bytes, N, values, found), COPSE_ERR_MEMORY);
    free(values);
    free(found);
    byte_array_free(&keys);
    copse_index_free(index);
    copse_ctx_free(ctx);
}

static void finds_need_little_room(void **state)
{
    (void)state;
    all_ways(finds_need_little_room_now);
}

/* Builds while the device has less and less room: with all leaves there, without the long ones, with nodes only, and not at all. */
static void builds_leave_leaves_behind(void **state)
{
    (void)state;
    enum { N = 3000 };
    copse_ctx *ctx = unit_context(2);
    copse_index *index = device_index(ctx, COPSE_U64),
                *fixed = unit_index(ctx, (struct unit_tree){COPSE_STRUCTURE_RADIX, COPSE_PLACEMENT_EMULATED}, COPSE_F64,
                                    COPSE_U64, false);
    copse_device *device = placed_device(ctx, COPSE_PLACEMENT_EMULATED);
    struct byte_array keys = padded_keys(0, N, 24);
    double numbers[N];
    uint64_t values[N];
    uint8_t found[N];
    const uint64_t all = device->limit;
    uint32_t seen = 0, seen_fixed = 0;
    copse_status status = COPSE_OK;
    for (uint64_t i = 0; i < N; i++) numbers[i] = 1.5 * (double)i;
    for (uint64_t room = UINT64_C(4) << 20; status == COPSE_OK; room -= room / 8) {
        assert_ok(ctx, copse_build(index, NULL, NULL, 0));
        assert_ok(ctx, copse_build(fixed, NULL, NULL, 0));
        device->limit = device->allocated + room;
        status = copse_build(index, &keys.bytes, NULL, N);
        device->limit = all;
        if (status == COPSE_OK) {
            assert_true(apart(index) >= seen);
            seen = apart(index);
            all_there(ctx, index, &keys, 0);
        }
        assert_int_equal(copse_size(index), status == COPSE_OK ? N : 0);
        device->limit = device->allocated + room / 4;
        if (copse_build(fixed, numbers, NULL, N) == COPSE_OK) seen_fixed = apart(fixed);
        device->limit = all;
        if (!copse_size(fixed)) continue;
        assert_ok(ctx, copse_find(fixed, numbers, N, values, found));
        for (uint64_t i = 0; i < N; i++) assert_true(found[i] && values[i] == i);
    }
    assert_int_equal(status, COPSE_ERR_MEMORY);
    assert_int_equal(seen, ALL_LEAVES);
    assert_int_equal(seen_fixed, ALL_LEAVES);
    copse_index_free(fixed);
    copse_index_free(index);
    copse_ctx_free(ctx);
    byte_array_free(&keys);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arrays_in_any_memory),
        cmocka_unit_test(changes_arrive),
        cmocka_unit_test(wide_ranges_are_counted),
        cmocka_unit_test(odd_wide_ranges_are_the_hosts),
        cmocka_unit_test(large_batches_go_in_chunks),
        cmocka_unit_test(memory_follows_the_keys),
        cmocka_unit_test(unsound_offsets_are_refused),
        cmocka_unit_test(no_device_memory),
        cmocka_unit_test(device_arrays_are_promised),
        cmocka_unit_test(leaves_leave_the_device),
        cmocka_unit_test(builds_leave_leaves_behind),
        cmocka_unit_test(finds_need_little_room),
        cmocka_unit_test(the_last_of_equal_keys_counts),
        cmocka_unit_test(very_long_keys_stay_there),
        cmocka_unit_test(pairs_and_ranges_go),
        cmocka_unit_test(blocks_come_back),
        cmocka_unit_test(the_copy_goes),
        cmocka_unit_test(the_heap_has_no_gaps),
        cmocka_unit_test(blocks_of_long_keys_are_taken_again),
        cmocka_unit_test(mixed_batches_stay_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
