/* Files of tables for the tests: one with everything in it, forged checksums, and questions to whatever opens. */
#ifndef TESTS_TABLE_FILE_H
#define TESTS_TABLE_FILE_H

#include "copse_query.h"

#include <stdbool.h>
#include <stddef.h>

/* `rows` rows of an i64 id, an f64 with NULLs, a string and a bool; some rows deleted; indexes on id (with sums), on the string, on both. */
copse_table *table_of_all(copse_ctx *ctx, uint64_t rows);

/* Makes the checksums right again, as far as the directory points into the file. false: there is not even a header. */
bool table_file_repair(unsigned char *bytes, size_t size);

/* Asks for rows by index and by scan, sums, groups, an order, a join. Returns a mixture of all answers in *out_digest, or the status of
 * the first call that failed. */
copse_status table_ask(const copse_table *table, uint64_t *out_digest);

#endif
