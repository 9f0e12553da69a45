/* What trees of byte strings on the CPU share of their reads: the ends of ranges, and the way of entries to the caller's arrays. */
#pragma once

#include "core/bytes.h"
#include "trees/tree.h"

/* --- entries of point reads ------------------------------------------------------------------------------------------- */

/* Where the entries of a batch of point reads go. */
typedef struct copse_byte_entries {
    copse_byte_output keys;
    char *values;
    uint8_t *found;
    size_t width; /* of a value */
} copse_byte_entries;

copse_status copse_byte_entries_open(const copse_index *index, void *keys, void *values, uint8_t *found,
                                     copse_byte_entries *out);
/* Entry i of the batch, in order of i; or that there is none. */
void copse_byte_entries_put(copse_byte_entries *to, uint64_t i, bool there, copse_slice key, const char *value);

/* --- ranges ------------------------------------------------------------------------------------------------------------ */

/* The ends of the ranges of a call. */
typedef struct copse_byte_ends {
    bool has_low, has_high;
    bool above;  /* the lower end itself is not in the range                */
    bool below;  /* the upper end is not                                    */
    bool prefix; /* the lower end is a prefix, and the range all that has it */
    copse_byte_keys lows, highs;
} copse_byte_ends;

copse_status copse_byte_ends_take(const copse_index *index, const copse_ranges *ranges, copse_byte_ends *out);
/* Can no key be in range i? Where it says no, its lower end is not behind its upper one. */
bool copse_byte_ends_cross(const copse_byte_ends *ends, uint64_t i);

/* Does `key` begin with `prefix`? */
static inline bool copse_slice_begins(copse_slice key, copse_slice prefix)
{
    return key.length >= prefix.length && memcmp(key.start, prefix.start, prefix.length) == 0;
}

/* --- scans ------------------------------------------------------------------------------------------------------------- */

/* Keys of a scan, as many as fit. */
typedef struct copse_byte_scan {
    copse_byte_output keys;
    uint64_t room; /* bytes */
} copse_byte_scan;

copse_status copse_byte_scan_open(const copse_index *index, const copse_scan *scan, copse_byte_scan *out);
/* False: the key does not fit, and the scan ends in front of it. */
bool copse_byte_scan_put(copse_byte_scan *to, copse_slice key);
/* TOO_SMALL: not even one fitted. */
copse_status copse_byte_scan_close(const copse_index *index, copse_byte_scan *to);
