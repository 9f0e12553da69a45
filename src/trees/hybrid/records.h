/*
 * Records: the card's copies of the pages of a tree that has them below its inner levels (copse_page_copies of cpu/driver.h).
 *
 *   record_of   [ 0 ][ 2 ][ 5 ][ 1 ] ...       in key order: the number of the record that each page has
 *   memory      [page 0][page 3][page 1][ free ][ free ][page 2] ...
 *
 * So a page that comes between two others, or changes, is copied alone.
 */
#pragma once

#include "core/internal.h"

typedef struct copse_mirror copse_mirror;

typedef struct copse_page_records {
    uint32_t bytes;      /* of one; 0: the tree has no pages */
    bool whole;          /* every page that is not marked as changed is there as it is */
    char *memory;        /* on the card                      */
    uint32_t *record_of; /* on the card, [room]              */
    uint64_t room;       /* records                          */
    uint64_t copied;     /* pages, by the last refresh: for tests */
} copse_page_records;

uint64_t copse_records_bytes(const copse_page_records *records);
/* Copies the pages that have changed, and the numbers of all records. */
copse_status copse_records_refresh(copse_mirror *mirror, const copse_index *index);
/* COPSE_OK, or CORRUPT where a copy is not what the page is. */
copse_status copse_records_verify(copse_mirror *mirror, const copse_index *index);
void copse_records_free(copse_mirror *mirror);
