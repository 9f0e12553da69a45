/* Files for the tests of snapshots: whole files in memory, folders that come and go, and forged checksums. */
#ifndef TESTS_SNAPSHOT_FILE_H
#define TESTS_SNAPSHOT_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct file_bytes {
    unsigned char *bytes;
    size_t size;
};

/* These end the test program when the system refuses. */
struct file_bytes file_read(const char *path);
void file_write(const char *path, const void *bytes, size_t size);
bool file_equals(const char *path, struct file_bytes expected);

/* A new folder for temporary files; returns its path, to be freed by folder_remove, which also removes what is in it. */
char *folder_make(void);
void folder_remove(char *folder);
/* How many files there are in it. */
unsigned folder_count(const char *folder);

/* Makes the checksums of a snapshot right again after somebody changed its bytes, as far as its section table points
 * into the file. Returns false where there is not even a header. */
bool snapshot_repair(unsigned char *bytes, size_t size);

/* The same entries as a snapshot of version 1, which copse reads and no longer writes. Frees what it is given. */
struct file_bytes snapshot_as_version_1(struct file_bytes f);

#endif
