/* Where keys come that are new to an index: behind all others, in one place, in many. */
#include "workload.h"

#define LATE_ONE_IN UINT64_C(20)        /* keys that are late          */
#define LATE_BY     (UINT64_C(1) << 16) /* keys that came since, at most */
#define MOST_STRIDE UINT64_C(16)        /* between keys that are appended */

static const char *const names[WORKLOAD_PATTERN_COUNT] = {
    "append", "append-shuffled", "append-late", "prepend", "points", "gap", "hot"};

const char *workload_pattern_name(workload_pattern pattern)
{
    return (unsigned)pattern < WORKLOAD_PATTERN_COUNT ? names[pattern] : NULL;
}

static uint64_t draw(const workload_place *place, uint64_t i, uint64_t what)
{
    return workload_hash(workload_hash(place->seed + what) ^ i);
}

/* Element i of a run whose pieces of `batch` elements each are shuffled; the last piece may be shorter. */
static uint64_t shuffled(const workload_place *place, uint64_t i, uint64_t count)
{
    const uint64_t batch = place->batch && place->batch < count ? place->batch : count, first = i / batch * batch;
    workload_permutation order;
    workload_permutation_init(&order, count - first < batch ? count - first : batch, place->seed + first);
    return first + workload_permute(&order, i - first);
}

/* Numbers 1, 2, 3, ... in the order of arrival: how far behind the last key, in strides, key i comes; *back is what a late one lies in
 * front of that. */
static uint64_t arrival(const workload_place *place, uint64_t i, uint64_t count, uint64_t stride, uint64_t *back)
{
    *back = 0;
    if (place->pattern == WORKLOAD_APPEND_SHUFFLED) return shuffled(place, i, count) + 1;
    if (place->pattern != WORKLOAD_APPEND_LATE || draw(place, i, 1) % LATE_ONE_IN != 0 || i == 0 || stride < 2)
        return i + 1;
    *back = 1 + draw(place, i, 2) % (stride - 1);
    return i + 1 - draw(place, i, 3) % (i < LATE_BY ? i : LATE_BY);
}

static bool append(const workload_place *place, uint64_t *out, uint64_t count)
{
    const bool falls = place->pattern == WORKLOAD_PREPEND;
    const uint64_t edge = falls ? place->codes[0] : place->codes[place->entries - 1];
    const uint64_t room = falls ? edge : place->max - edge;
    const uint64_t most = room / (count + 1), stride = most < MOST_STRIDE ? most : MOST_STRIDE;
    if (stride == 0) return false;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t back;
        const uint64_t far = arrival(place, i, count, stride, &back) * stride - back;
        out[i] = falls ? edge - far : edge + far;
    }
    return true;
}

/* Each point gets its next key in turn, the points in another order each time. */
static bool at_points(const workload_place *place, uint64_t *out, uint64_t count)
{
    const uint64_t points = place->points < place->entries ? place->points : place->entries;
    for (uint64_t i = 0; i < count; i++) {
        const uint64_t round = i / points, point = (i % points + draw(place, round, 1)) % points;
        const uint64_t code = place->codes[place->entries * point / points];
        out[i] = code < place->max - round ? code + 1 + round : place->max;
    }
    return true;
}

static bool between(const workload_place *place, uint64_t low, uint64_t high, uint64_t *out, uint64_t count)
{
    const uint64_t width = high - low;
    if (width / 2 < count) return false;
    for (uint64_t i = 0; i < count; i++) out[i] = low + 1 + draw(place, i, 1) % (width - 1);
    return true;
}

bool workload_pattern_codes(const workload_place *place, uint64_t *out, uint64_t count)
{
    const uint64_t *codes = place->codes, entries = place->entries;
    uint64_t widest = 0;
    if (entries < 2 || count == 0) return count == 0;
    switch (place->pattern) {
    case WORKLOAD_POINTS:
        return at_points(place, out, count);
    case WORKLOAD_GAP:
        for (uint64_t i = 1; i + 1 < entries; i++)
            if (codes[i + 1] - codes[i] > codes[widest + 1] - codes[widest]) widest = i;
        return between(place, codes[widest], codes[widest + 1], out, count);
    case WORKLOAD_HOT:
        return between(place, codes[entries * 99 / 200], codes[entries * 101 / 200], out, count);
    default:
        return append(place, out, count);
    }
}
