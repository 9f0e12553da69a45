#include "keys.h"

#include <string.h>

const char *const key_pattern_names[KEY_PATTERNS] = {"few",         "append",  "prepend", "clustered",
                                                     "uniform",     "extreme", "hot",     "append-shuffled",
                                                     "append-late", "points",  "gap",     "window"};

#define SHUFFLED UINT64_C(64) /* keys of a stretch that come in any order */
#define GAP      (UINT64_C(1) << 24)

uint64_t key_clip(const struct key_source *source, uint64_t code)
{
    uint64_t low = typed_lowest_code(source->type), high = typed_highest_code(source->type);
    uint64_t span = high - low + 1; /* 0 stands for 2^64 */
    if (code >= low && code <= high) return code;
    return low + (span ? (code - low) % span : code - low);
}

static uint64_t anywhere(const struct key_source *source, struct random_source *random)
{
    return key_clip(source, random_next(random));
}

static uint64_t extreme(const struct key_source *source, struct random_source *random)
{
    copse_type type = source->type;
    uint64_t zero = typed_zero_code(type);
    const uint64_t anchors[] = {typed_lowest_code(type),
                                typed_highest_code(type),
                                zero,
                                typed_code_of_bits(type, 1),
                                typed_code_of_bits(type, UINT64_C(0x00800000)),
                                typed_code_of_bits(type, UINT64_C(0x3f800000)),
                                zero ^ (zero >> 1),
                                UINT64_C(0x7fffffff),
                                UINT64_C(0xffffffff)};
    uint64_t code = anchors[random_below(random, sizeof anchors / sizeof *anchors)];
    return key_clip(source, code + random_below(random, 5) - 2);
}

void key_source_init(struct key_source *source, copse_type type, bool distinct, struct random_source *random)
{
    static const uint64_t domains[] = {1, 2, 3, 5, 9, 17, 60, 75, 120, 500, 4000};
    static const uint64_t points[] = {10, 1000, 100000};
    static const enum key_pattern spread[] = {KEYS_ASCENDING, KEYS_DESCENDING, KEYS_UNIFORM};
    memset(source, 0, sizeof *source);
    source->type = type;
    source->main_pattern =
        distinct ? spread[random_below(random, 3)] : (enum key_pattern)random_below(random, KEY_PATTERNS);
    source->pattern = source->main_pattern;
    source->domain = domains[random_below(random, sizeof domains / sizeof *domains)];
    source->points = points[random_below(random, 3)];
    source->stride = random_one_in(random, 2) ? 1 : 1 + random_below(random, 1000);
    switch (random_below(random, 4)) {
    case 0:
        source->base = typed_lowest_code(type);
        break;
    case 1:
        source->base = typed_highest_code(type) - source->domain + 1;
        break;
    case 2:
        source->base = typed_zero_code(type) - source->domain / 2;
        break;
    default:
        source->base = anywhere(source, random);
        break;
    }
    for (int i = 0; i < KEY_CENTRES; i++) source->centres[i] = anywhere(source, random);
}

void key_source_vary(struct key_source *source, struct random_source *random)
{
    source->pattern = random_one_in(random, 4) && !source->only_main
                          ? (enum key_pattern)random_below(random, KEY_PATTERNS)
                          : source->main_pattern;
}

/* The next key of a growing sequence, or one near it. */
static uint64_t appended(struct key_source *source, struct random_source *random)
{
    const uint64_t at = source->next++, stretch = at / SHUFFLED * SHUFFLED;
    uint64_t place = at;
    if (source->pattern == KEYS_APPEND_SHUFFLED) place = stretch + ((at ^ (stretch * 37 / SHUFFLED + 21)) % SHUFFLED);
    if (source->pattern == KEYS_APPEND_LATE && random_one_in(random, 20))
        place = at - random_below(random, at < 5000 ? at + 1 : 5000);
    return key_clip(source, source->base + source->stride * place);
}

/* Places all over the keys, of which each gets its next key in turn. */
static uint64_t at_point(struct key_source *source)
{
    const uint64_t low = typed_lowest_code(source->type), high = typed_highest_code(source->type);
    const uint64_t point = source->next % source->points, round = source->next / source->points;
    source->next++;
    return key_clip(source, low + (high - low) / source->points * point + round);
}

uint64_t key_draw(struct key_source *source, struct random_source *random)
{
    switch (source->pattern) {
    case KEYS_FEW:
        return key_clip(source, source->base + random_below(random, source->domain));
    case KEYS_ASCENDING:
    case KEYS_WINDOW:
    case KEYS_APPEND_SHUFFLED:
    case KEYS_APPEND_LATE:
        return appended(source, random);
    case KEYS_POINTS:
        return at_point(source);
    case KEYS_GAP:
        return key_clip(source, source->centres[0] + 1 + random_below(random, GAP));
    case KEYS_DESCENDING:
        return key_clip(source, source->base - source->stride * source->next++);
    case KEYS_CLUSTERED:
        return key_clip(source, source->centres[random_below(random, KEY_CENTRES)] + random_below(random, 256));
    case KEYS_EXTREME:
        return extreme(source, random);
    case KEYS_HOT:
        if (random_below(random, 10)) return key_clip(source, source->base + random_below(random, source->domain));
        return anywhere(source, random);
    default:
        return anywhere(source, random);
    }
}
