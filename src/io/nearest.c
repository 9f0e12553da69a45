/* Names that were misspelt. */
#include "io/cells.h"

#include <ctype.h>
#include <string.h>

#define LONGEST_NAME 32

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

static bool same(char a, char b)
{
    return tolower((unsigned char)a) == tolower((unsigned char)b);
}

/* Insertions, deletions, replacements and swaps of neighbours that turn a into b, capital or small. */
static size_t edit_distance(const char *a, const char *b)
{
    size_t rows[3][LONGEST_NAME + 1], a_length = strlen(a), b_length = strlen(b);
    if (a_length > LONGEST_NAME || b_length > LONGEST_NAME) return LONGEST_NAME;
    for (size_t j = 0; j <= b_length; j++) rows[0][j] = j;
    for (size_t i = 1; i <= a_length; i++) {
        size_t *row = rows[i % 3], *above = rows[(i + 2) % 3], *second = rows[(i + 1) % 3];
        row[0] = i;
        for (size_t j = 1; j <= b_length; j++) {
            size_t cost = same(a[i - 1], b[j - 1]) ? 0 : 1;
            row[j] = least(least(above[j] + 1, row[j - 1] + 1), above[j - 1] + cost);
            if (i > 1 && j > 1 && same(a[i - 1], b[j - 2]) && same(a[i - 2], b[j - 1]))
                row[j] = least(row[j], second[j - 2] + 1);
        }
    }
    return rows[a_length % 3][b_length];
}

const char *copse_nearest(const char *word, const char *const *candidates, size_t count)
{
    size_t length = strlen(word), best = length / 3 + 2;
    const char *nearest = NULL;
    for (size_t i = 0; i < count; i++) {
        size_t distance = edit_distance(word, candidates[i]);
        /* A beginning of at least three letters is as good as a typing error. */
        if (length >= 3 && strncmp(word, candidates[i], length) == 0) distance = least(distance, 1);
        if (distance >= best || distance >= strlen(candidates[i])) continue;
        best = distance;
        nearest = candidates[i];
    }
    return nearest;
}
