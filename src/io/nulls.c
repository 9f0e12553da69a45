/* Cells that stand for no value. NaN is not among them unless asked for: to a column of floats it is a value. */
#include "io/cells.h"

#include <string.h>

static const char common[] = "NA,N/A,n/a,#N/A,<NA>,NULL,null,None";

/* The words of a list with commas between. An empty word stands for the empty cell, which is a null in any case. */
bool copse_nulls_add(copse_nulls *nulls, const char *list)
{
    for (const char *at = list ? list : common;; at++) {
        size_t length = strcspn(at, ",");
        if (length > 0) {
            if (nulls->count == COPSE_NULLS) return false;
            nulls->words[nulls->count].text = at;
            nulls->words[nulls->count++].length = length;
            nulls->first[(unsigned char)*at] = true;
        }
        at += length;
        if (*at == '\0') return true;
    }
}

bool copse_nulls_has(const copse_nulls *nulls, const char *text, size_t length)
{
    while (length > 0 && (*text == ' ' || *text == '\t')) text++, length--;
    if (length == 0) return true;
    if (!nulls->first[(unsigned char)*text]) return false;
    while (text[length - 1] == ' ' || text[length - 1] == '\t') length--;
    for (size_t i = 0; i < nulls->count; i++)
        if (nulls->words[i].length == length && memcmp(nulls->words[i].text, text, length) == 0) return true;
    return false;
}
