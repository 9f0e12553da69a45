/* Workloads for benchmarks: see workload.h. */
#include "workload.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Long arrays are made by all threads, in blocks of this many elements. What comes out does not depend on the number of
 * threads. */
#define BLOCK (UINT64_C(1) << 16)

static uint64_t blocks_of(uint64_t count)
{
    return (count + BLOCK - 1) / BLOCK;
}

static uint64_t block_size(uint64_t block, uint64_t count)
{
    return count - block * BLOCK < BLOCK ? count - block * BLOCK : BLOCK;
}

/* ---- random numbers ---- */

uint64_t workload_hash(uint64_t number)
{
    number += 0x9E3779B97F4A7C15u;
    number = (number ^ (number >> 30)) * 0xBF58476D1CE4E5B9u;
    number = (number ^ (number >> 27)) * 0x94D049BB133111EBu;
    return number ^ (number >> 31);
}

void workload_random_init(workload_random *random, uint64_t seed)
{
    for (unsigned i = 0; i < 4; i++) random->state[i] = workload_hash(seed * 4 + i);
}

static inline uint64_t rotate_left(uint64_t number, unsigned bits)
{
    return (number << bits) | (number >> (64 - bits));
}

/* xoshiro256**: four words of state, a few cycles a number. */
uint64_t workload_random_next(workload_random *random)
{
    uint64_t *s = random->state;
    uint64_t result = rotate_left(s[1] * 5, 7) * 9;
    uint64_t shifted = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= shifted;
    s[3] = rotate_left(s[3], 45);
    return result;
}

static inline uint64_t multiply_high(uint64_t a, uint64_t b)
{
    __extension__ typedef unsigned __int128 wide;
    return (uint64_t)(((wide)a * b) >> 64);
}

uint64_t workload_random_below(workload_random *random, uint64_t bound)
{
    uint64_t number = workload_random_next(random);
    return bound == 0 ? number : multiply_high(number, bound);
}

double workload_random_unit(workload_random *random)
{
    return (double)(workload_random_next(random) >> 11) * 0x1p-53;
}

/* In (0, 1]: fit for a logarithm. */
static double random_positive(workload_random *random)
{
    return (double)((workload_random_next(random) >> 11) + 1) * 0x1p-53;
}

static double random_normal(workload_random *random)
{
    double radius = sqrt(-2.0 * log(random_positive(random)));
    return radius * cos(6.283185307179586 * workload_random_unit(random));
}

/* Multiplying by an odd number and adding are bijections of 2^bits numbers, and so is folding high bits onto low ones;
 * numbers that land beyond n walk on until they are inside, which keeps it a bijection of 0 .. n - 1. */
void workload_permutation_init(workload_permutation *order, uint64_t n, uint64_t seed)
{
    unsigned bits = 1;
    while (bits < 63 && (UINT64_C(1) << bits) < n) bits++;
    order->n = n;
    order->mask = (UINT64_C(1) << bits) - 1;
    order->shift = (bits + 1) / 2;
    order->multiplier[0] = workload_hash(seed) | 1;
    order->multiplier[1] = workload_hash(seed + 1) | 1;
    order->offset = workload_hash(seed + 2);
}

uint64_t workload_permute(const workload_permutation *order, uint64_t i)
{
    do {
        i = (i * order->multiplier[0] + order->offset) & order->mask;
        i ^= i >> order->shift;
        i = (i * order->multiplier[1]) & order->mask;
        i ^= i >> order->shift;
        i = (i * order->multiplier[0]) & order->mask;
        i ^= i >> order->shift;
    } while (i >= order->n);
    return i;
}

/* ---- codes and keys ---- */

static const uint64_t f32_infinity = 0x7F800000u;
static const uint64_t f64_infinity = UINT64_C(0x7FF0000000000000);

uint64_t workload_code_max(copse_type type)
{
    switch (type) {
    case COPSE_F32:
        return 2 * f32_infinity;
    case COPSE_F64:
        return 2 * f64_infinity;
    case COPSE_U32:
    case COPSE_I32:
    case COPSE_DATE:
        return UINT32_MAX;
    default:
        return UINT64_MAX;
    }
}

/* The code of the key 0. Dense distributions of signed types start there, as ids do. */
static uint64_t code_of_zero(copse_type type)
{
    switch (type) {
    case COPSE_U32:
    case COPSE_U64:
        return 0;
    case COPSE_F32:
        return f32_infinity;
    case COPSE_F64:
        return f64_infinity;
    case COPSE_I32:
    case COPSE_DATE:
        return UINT64_C(1) << 31;
    default:
        return UINT64_C(1) << 63;
    }
}

/* Codes of floats count the floats from minus infinity up; minus zero is left out because it equals zero. */
static uint32_t f32_bits(uint64_t code)
{
    return code >= f32_infinity ? (uint32_t)(code - f32_infinity) : (uint32_t)(f32_infinity - code) | 0x80000000u;
}

static uint64_t f64_bits(uint64_t code)
{
    return code >= f64_infinity ? code - f64_infinity : (f64_infinity - code) | (UINT64_C(1) << 63);
}

static void keys_from_codes(copse_type type, const uint64_t *codes, uint64_t count, void *out_keys)
{
    uint32_t *narrow = out_keys;
    uint64_t *wide = out_keys;
    switch (type) {
    case COPSE_U32:
        for (uint64_t i = 0; i < count; i++) narrow[i] = (uint32_t)codes[i];
        break;
    case COPSE_I32:
    case COPSE_DATE:
        for (uint64_t i = 0; i < count; i++) narrow[i] = (uint32_t)codes[i] ^ 0x80000000u;
        break;
    case COPSE_F32:
        for (uint64_t i = 0; i < count; i++) narrow[i] = f32_bits(codes[i]);
        break;
    case COPSE_U64:
        memcpy(wide, codes, count * sizeof *wide);
        break;
    case COPSE_I64:
    case COPSE_TIMESTAMP:
        for (uint64_t i = 0; i < count; i++) wide[i] = codes[i] ^ (UINT64_C(1) << 63);
        break;
    case COPSE_F64:
        for (uint64_t i = 0; i < count; i++) wide[i] = f64_bits(codes[i]);
        break;
    default: /* none of the types that have codes */
        break;
    }
}

typedef struct conversion {
    copse_type type;
    const void *from;
    void *to;
} conversion;

static void convert_codes(void *argument, uint64_t first, uint64_t last)
{
    const conversion *c = argument;
    keys_from_codes(c->type, (const uint64_t *)c->from + first, last - first,
                    (char *)c->to + first * copse_type_size(c->type));
}

void workload_keys_from_codes(copse_type type, const uint64_t *codes, uint64_t count, void *out_keys)
{
    conversion c = {type, codes, out_keys};
    workload_parallel(count, BLOCK, convert_codes, &c);
}

static void codes_from_keys(copse_type type, const void *keys, uint64_t count, uint64_t *out_codes)
{
    const uint32_t *narrow = keys;
    const uint64_t *wide = keys;
    for (uint64_t i = 0; i < count; i++) {
        switch (type) {
        case COPSE_U32:
            out_codes[i] = narrow[i];
            break;
        case COPSE_I32:
        case COPSE_DATE:
            out_codes[i] = narrow[i] ^ 0x80000000u;
            break;
        case COPSE_F32: {
            uint64_t size = narrow[i] & 0x7FFFFFFFu;
            out_codes[i] = narrow[i] >> 31 ? f32_infinity - size : f32_infinity + size;
            break;
        }
        case COPSE_U64:
            out_codes[i] = wide[i];
            break;
        case COPSE_I64:
        case COPSE_TIMESTAMP:
            out_codes[i] = wide[i] ^ (UINT64_C(1) << 63);
            break;
        case COPSE_F64: {
            uint64_t size = wide[i] & ~(UINT64_C(1) << 63);
            out_codes[i] = wide[i] >> 63 ? f64_infinity - size : f64_infinity + size;
            break;
        }
        default:
            break;
        }
    }
}

static void convert_keys(void *argument, uint64_t first, uint64_t last)
{
    const conversion *c = argument;
    codes_from_keys(c->type, (const char *)c->from + first * copse_type_size(c->type), last - first,
                    (uint64_t *)c->to + first);
}

void workload_codes_from_keys(copse_type type, const void *keys, uint64_t count, uint64_t *out_codes)
{
    if (count <= BLOCK) { /* often a single key */
        codes_from_keys(type, keys, count, out_codes);
        return;
    }
    conversion c = {type, keys, out_codes};
    workload_parallel(count, BLOCK, convert_keys, &c);
}

/* ---- key distributions ---- */

static const char *const dist_names[WORKLOAD_DIST_COUNT] = {
    "uniform",         "normal",        "gamma",        "zipf",          "ascending",
    "descending",      "almost-sorted", "shuffled",     "gaussian",      "bursty-timestamps",
    "clustered-cells", "jittered-ids",  "heavy-tailed", "partly-sorted",
};

const char *workload_dist_name(workload_dist dist)
{
    return (unsigned)dist < WORKLOAD_DIST_COUNT ? dist_names[dist] : NULL;
}

bool workload_dist_parse(const char *name, workload_dist *out_dist)
{
    for (unsigned i = 0; i < WORKLOAD_DIST_COUNT; i++) {
        if (strcmp(name, dist_names[i]) == 0) {
            *out_dist = (workload_dist)i;
            return true;
        }
    }
    return false;
}

void workload_stream_init(workload_stream *stream, workload_dist dist, copse_type type, uint64_t n, uint64_t seed)
{
    memset(stream, 0, sizeof *stream);
    stream->dist = dist;
    stream->type = type;
    stream->n = n > 0 ? n : 1;
    stream->max = workload_code_max(type);
    stream->origin = code_of_zero(type);
    workload_random_init(&stream->random, seed);
    workload_permutation_init(&stream->order, stream->n, seed);
}

/* The code at a fraction in [0, 1) of the key space. A double has 53 bits, so the rest are drawn. */
static uint64_t code_at(workload_stream *stream, double fraction)
{
    uint64_t point = (uint64_t)(fraction * 0x1p53) << 11;
    point |= workload_random_next(&stream->random) >> 53;
    return stream->max == UINT64_MAX ? point : multiply_high(point, stream->max + 1);
}

static uint64_t uniform_code(workload_stream *stream)
{
    return workload_random_below(&stream->random, stream->max == UINT64_MAX ? 0 : stream->max + 1);
}

/* Fractions of the key space; draws outside of it are repeated. */
static double normal_fraction(workload_random *random)
{
    for (;;) {
        double fraction = 0.5 + 0.3535533905932738 * random_normal(random);
        if (fraction >= 0.0 && fraction < 1.0) return fraction;
    }
}

/* Shape 3, scale 3 over 0 .. 64. */
static double gamma_fraction(workload_random *random)
{
    for (;;) {
        double product = random_positive(random) * random_positive(random) * random_positive(random);
        double fraction = -3.0 * log(product) / 64.0;
        if (fraction < 1.0) return fraction;
    }
}

/* Equal chance for every order of magnitude: P(k) = log(1 + 1/k) / log(n + 1), which is Zipf with exponent 1. */
static double zipf_number(workload_random *random, double limit)
{
    return exp(workload_random_unit(random) * log(limit)) - 1.0;
}

uint64_t workload_pick(workload_random *random, workload_dist dist, uint64_t n)
{
    double position = 0;
    switch (dist) {
    case WORKLOAD_NORMAL:
        position = normal_fraction(random) * (double)n;
        break;
    case WORKLOAD_GAMMA:
        position = gamma_fraction(random) * (double)n;
        break;
    case WORKLOAD_ZIPF:
        position = zipf_number(random, (double)n + 1.0);
        break;
    default:
        return workload_random_below(random, n);
    }
    uint64_t whole = (uint64_t)position;
    return whole < n ? whole : n - 1;
}

static uint64_t zipf_code(workload_stream *stream)
{
    double space = (double)(stream->max - stream->origin);
    double number = zipf_number(&stream->random, space);
    /* Below 2^52 a double is exact; above, the low bits are drawn so that large keys are not all round. */
    if (number < 0x1p52) return stream->origin + (uint64_t)number;
    uint64_t whole = (uint64_t)number;
    uint64_t code = stream->origin + (whole ^ (workload_random_next(&stream->random) >> 53));
    return code <= stream->max ? code : stream->max;
}

static uint64_t gaussian_code(workload_stream *stream)
{
    double offset = 4.0 * (double)stream->n * random_normal(&stream->random);
    double quarter = (double)stream->max / 4;
    if (offset > quarter) offset = quarter;
    if (offset < -quarter) offset = -quarter;
    return stream->max / 2 + (uint64_t)(int64_t)offset;
}

/* Quiet gaps of many ticks between bursts of events that share ticks. */
static uint64_t timestamp_code(workload_stream *stream)
{
    if (stream->burst == 0) {
        stream->burst = 1 + (uint64_t)(-24.0 * log(random_positive(&stream->random)));
        stream->clock += 1 + (uint64_t)(-40.0 * log(random_positive(&stream->random)));
    }
    stream->burst--;
    if (workload_random_next(&stream->random) % 4 != 0) stream->clock++;
    return stream->origin + stream->clock % (stream->max - stream->origin);
}

/* A few thousand towns of unequal size; around each, the distance has a random order of magnitude. */
static uint64_t cell_code(workload_stream *stream)
{
    unsigned bits = stream->max > UINT32_MAX ? 64 : 32;
    uint64_t town = workload_pick(&stream->random, WORKLOAD_ZIPF, 8192);
    uint64_t centre = workload_hash(town + 17);
    unsigned reach = bits / 8 + (unsigned)workload_random_below(&stream->random, bits / 2);
    uint64_t code = bits == 64 ? centre : centre >> 32;
    code ^= workload_random_next(&stream->random) & ((UINT64_C(1) << reach) - 1);
    return stream->max == UINT64_MAX ? code : code % (stream->max + 1);
}

/* One id in 2^18, and the very first, lies far out in the upper half of the key space. */
static uint64_t id_code(workload_stream *stream, uint64_t i)
{
    uint64_t space = stream->max - stream->origin;
    if (i == 0 || workload_random_next(&stream->random) >> 46 == 0) {
        return stream->max - workload_random_below(&stream->random, space / 2);
    }
    uint64_t stride = space / 4 / stream->n;
    if (stride > 4096) stride = 4096;
    if (stride == 0) stride = 1;
    uint64_t slot =
        i < stream->n ? workload_permute(&stream->order, i) : workload_random_below(&stream->random, stream->n);
    return stream->origin + slot * stride + workload_random_below(&stream->random, stride);
}

static uint64_t popularity_code(workload_stream *stream)
{
    uint64_t space = stream->max - stream->origin;
    double scale = space > UINT32_MAX ? 0x1p40 : 0x1p20;
    double number = scale * (pow(random_positive(&stream->random), -1.0 / 1.2) - 1.0);
    return stream->origin + (number < (double)space * 0.5 ? (uint64_t)number : space / 2);
}

/* Places i and c - i are partners, anywhere in 0 .. n - 1, and one pair in ten changes places. So the sequence may be cut
 * anywhere and needs no table. */
static uint64_t partly_sorted_code(const workload_stream *stream, uint64_t i)
{
    uint64_t n = stream->n;
    uint64_t place = i % n;
    uint64_t sum = stream->order.offset % n;
    uint64_t partner = sum >= place ? sum - place : sum + (n - place);
    uint64_t lower = place < partner ? place : partner;
    bool exchanged = workload_hash(lower ^ stream->order.offset) % 10 == 0;
    return stream->origin + (i - place) + (exchanged ? partner : place);
}

static uint64_t next_code(workload_stream *stream, uint64_t i)
{
    switch (stream->dist) {
    case WORKLOAD_NORMAL:
        return code_at(stream, normal_fraction(&stream->random));
    case WORKLOAD_GAMMA:
        return code_at(stream, gamma_fraction(&stream->random));
    case WORKLOAD_ZIPF:
        return zipf_code(stream);
    case WORKLOAD_ASCENDING:
    case WORKLOAD_ALMOST_SORTED:
        return stream->origin + i;
    case WORKLOAD_DESCENDING:
        return stream->max / 2 - i;
    case WORKLOAD_SHUFFLED:
        return stream->origin + i - i % stream->n + workload_permute(&stream->order, i % stream->n);
    case WORKLOAD_GAUSSIAN:
        return gaussian_code(stream);
    case WORKLOAD_TIMESTAMPS:
        return timestamp_code(stream);
    case WORKLOAD_CELLS:
        return cell_code(stream);
    case WORKLOAD_IDS:
        return id_code(stream, i);
    case WORKLOAD_POPULARITY:
        return popularity_code(stream);
    case WORKLOAD_PARTLY_SORTED:
        return partly_sorted_code(stream, i);
    default:
        return uniform_code(stream);
    }
}

/* How many random numbers a code takes; -1 where that differs from code to code. */
static int draws_of_a_code(workload_dist dist)
{
    switch (dist) {
    case WORKLOAD_UNIFORM:
        return 1;
    case WORKLOAD_ASCENDING:
    case WORKLOAD_DESCENDING:
    case WORKLOAD_ALMOST_SORTED:
    case WORKLOAD_SHUFFLED:
    case WORKLOAD_PARTLY_SORTED:
        return 0;
    default:
        return -1;
    }
}

typedef struct filling {
    const workload_stream *stream;
    const workload_random *starts; /* of the blocks */
    uint64_t *out_codes;
} filling;

static void fill_block(void *argument, uint64_t begin, uint64_t end)
{
    const filling *f = argument;
    workload_stream own = *f->stream;
    own.random = f->starts[begin / BLOCK];
    for (uint64_t i = begin; i < end; i++) f->out_codes[i] = next_code(&own, f->stream->next + i);
}

/* The same codes on all threads, where it is known how many random numbers each takes: the generator runs ahead to the
 * beginning of every block, which costs a nanosecond a number, and the blocks are filled from there. */
static bool fill_blocks(workload_stream *stream, uint64_t *out_codes, uint64_t count)
{
    int draws = draws_of_a_code(stream->dist);
    uint64_t blocks = blocks_of(count);
    if (draws < 0 || blocks <= 1) return false;
    workload_random *starts = malloc(blocks * sizeof *starts);
    if (starts == NULL) return false;
    for (uint64_t b = 0; b < blocks; b++) {
        starts[b] = stream->random;
        for (uint64_t i = 0; draws > 0 && i < block_size(b, count); i++) workload_random_next(&stream->random);
    }
    filling f = {stream, starts, out_codes};
    workload_parallel(count, BLOCK, fill_block, &f);
    free(starts);
    return true;
}

void workload_stream_codes(workload_stream *stream, uint64_t *out_codes, uint64_t count)
{
    if (!fill_blocks(stream, out_codes, count)) {
        for (uint64_t i = 0; i < count; i++) out_codes[i] = next_code(stream, stream->next + i);
    }
    stream->next += count;
    if (stream->dist != WORKLOAD_ALMOST_SORTED || count < 2) return;
    for (int exchange = 0; exchange < 5; exchange++) {
        uint64_t a = workload_random_below(&stream->random, count);
        uint64_t b = workload_random_below(&stream->random, count);
        uint64_t code = out_codes[a];
        out_codes[a] = out_codes[b];
        out_codes[b] = code;
    }
}

/* ---- values ---- */

int64_t workload_value_scale(copse_type type)
{
    return type == COPSE_F32 || type == COPSE_F64 ? 4 : 1;
}

static void make_value(copse_type type, uint64_t hash, void *out_values, uint64_t i)
{
    switch (type) {
    case COPSE_F32:
        ((float *)out_values)[i] = (float)((int64_t)(hash & 0x3FFFFF) - 0x200000) / 4.0F;
        break;
    case COPSE_F64:
        ((double *)out_values)[i] = (double)((int64_t)(hash & 0x3FFFFF) - 0x200000) / 4.0;
        break;
    case COPSE_I64:
        ((int64_t *)out_values)[i] = (int32_t)(uint32_t)hash;
        break;
    case COPSE_U64:
        ((uint64_t *)out_values)[i] = (uint32_t)hash;
        break;
    default:
        ((uint32_t *)out_values)[i] = (uint32_t)hash;
        break;
    }
}

typedef struct valuing {
    copse_type type;
    uint64_t salt;
    const uint64_t *positions; /* or NULL */
    void *out_values;
} valuing;

static void make_values(void *argument, uint64_t first, uint64_t last)
{
    const valuing *v = argument;
    for (uint64_t i = first; i < last; i++) {
        make_value(v->type, workload_hash(v->salt ^ (v->positions ? v->positions[i] : i)), v->out_values, i);
    }
}

void workload_values(copse_type type, uint64_t seed, const uint64_t *positions, uint64_t count, void *out_values)
{
    valuing v = {type, workload_hash(seed), positions, out_values};
    workload_parallel(count, BLOCK, make_values, &v);
}

int64_t workload_value_scaled(copse_type type, const void *values, uint64_t i)
{
    switch (type) {
    case COPSE_F32:
        return (int64_t)(((const float *)values)[i] * 4.0F);
    case COPSE_F64:
        return (int64_t)(((const double *)values)[i] * 4.0);
    case COPSE_I32:
        return ((const int32_t *)values)[i];
    case COPSE_U32:
        return ((const uint32_t *)values)[i];
    default:
        return ((const int64_t *)values)[i];
    }
}
