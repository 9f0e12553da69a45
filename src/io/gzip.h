/*
 * Bytes out of gzip data, as a source for the CSV reader or for anybody else who takes a copse_csv_read_fn.
 *
 * Several members one after the other, as `cat a.gz b.gz` makes them, read as one; zero bytes behind the last are
 * padding. Data that ends in the middle of a member, that fails its checksum, or that is followed by something else is an
 * error with a sentence, whatever was read before.
 */
#pragma once

#include "io/csv.h"

#include <stdint.h>

typedef struct copse_gzip copse_gzip;

/* Whether bytes begin as gzip data does: 1f 8b. */
int copse_gzip_is(const void *bytes, size_t size);

/* read and user give the compressed bytes, and must outlive the result. Errors: MEMORY; UNSUPPORTED where copse was built
 * without zlib. On failure *out_gzip is NULL and message (may be NULL) holds a sentence. */
copse_status copse_gzip_open(copse_csv_read_fn read, void *user, copse_gzip **out_gzip, char *message,
                             size_t message_size);
void copse_gzip_close(copse_gzip *gzip);

/* A copse_csv_read_fn; user is the copse_gzip. An error of the data is EIO, and copse_gzip_error says what it was. */
size_t copse_gzip_read(void *user, void *buffer, size_t size, int *out_error);

/* What is wrong with the data, "" while nothing is. */
const char *copse_gzip_error(const copse_gzip *gzip);
