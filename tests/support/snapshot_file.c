#include "snapshot_file.h"

#include "snapshot/format.h"
#include "typed.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

static void need(bool good, const char *what, const char *path)
{
    if (good) return;
    fprintf(stderr, "test support: cannot %s %s\n", what, path);
    abort();
}

struct file_bytes file_read(const char *path)
{
    struct stat about;
    FILE *file = fopen(path, "rb");
    need(file != NULL && fstat(fileno(file), &about) == 0, "open", path);
    struct file_bytes content = {must_malloc((size_t)about.st_size + 1), (size_t)about.st_size};
    need(fread(content.bytes, 1, content.size, file) == content.size, "read", path);
    fclose(file);
    return content;
}

void file_write(const char *path, const void *bytes, size_t size)
{
    FILE *file = fopen(path, "wb");
    need(file != NULL, "make", path);
    bool written = fwrite(bytes, 1, size, file) == size;
    need(fclose(file) == 0 && written, "write", path);
}

bool file_equals(const char *path, struct file_bytes expected)
{
    struct file_bytes is = file_read(path);
    bool equal = is.size == expected.size && memcmp(is.bytes, expected.bytes, is.size) == 0;
    free(is.bytes);
    return equal;
}

/* In memory where there is room: hundreds of snapshots are synced, and a disk would take its time for each. */
static const char *folder_parent(void)
{
    struct statvfs about;
    const char *parent = getenv("TMPDIR");
    if (parent && *parent) return parent;
    if (access("/dev/shm", W_OK) == 0 && statvfs("/dev/shm", &about) == 0 &&
        (uint64_t)about.f_bavail * about.f_frsize >= UINT64_C(128) << 20)
        return "/dev/shm";
    return "/tmp";
}

char *folder_make(void)
{
    const char *parent = folder_parent();
    size_t size = strlen(parent) + sizeof "/copse-test-XXXXXX";
    char *folder = must_malloc(size);
    snprintf(folder, size, "%s/copse-test-XXXXXX", parent);
    need(mkdtemp(folder) != NULL, "make a folder in", parent);
    return folder;
}

/* Counts the files of a folder, and removes them if asked. */
static unsigned folder_walk(const char *folder, bool remove_all)
{
    unsigned count = 0;
    struct dirent *entry;
    DIR *directory = opendir(folder);
    need(directory != NULL, "list", folder);
    while ((entry = readdir(directory)) != NULL) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
        count++;
        if (remove_all) unlinkat(dirfd(directory), entry->d_name, entry->d_type == DT_DIR ? AT_REMOVEDIR : 0);
    }
    closedir(directory);
    return count;
}

void folder_remove(char *folder)
{
    folder_walk(folder, true);
    need(rmdir(folder) == 0, "remove", folder);
    free(folder);
}

unsigned folder_count(const char *folder)
{
    return folder_walk(folder, false);
}

static bool inside(const snapshot_section *section, size_t size)
{
    return section->offset <= size && section->length <= size - section->offset;
}

/* The checksums of all blocks, where the section table points into the file. `header` is of either version, as a reader sees it. */
static void checksums_repair(unsigned char *bytes, size_t size, snapshot_header *header)
{
    const snapshot_section *checksums = &header->sections[SNAPSHOT_CHECKSUMS];
    for (unsigned i = 0; i < SNAPSHOT_SECTIONS; i++)
        if (!inside(&header->sections[i], size)) return;
    if (header->block_size == 0 || checksums->length != snapshot_block_count(header) * sizeof(uint64_t)) return;
    for (uint64_t i = 0; i < snapshot_block_count(header); i++) {
        snapshot_block block = snapshot_block_at(header, i);
        uint64_t sum = snapshot_checksum(bytes + header->sections[block.section].offset + block.start, block.size);
        memcpy(bytes + checksums->offset + i * sizeof sum, &sum, sizeof sum);
    }
    header->checksums_checksum = snapshot_checksum(bytes + checksums->offset, (size_t)checksums->length);
}

static bool repair_1(unsigned char *bytes, size_t size)
{
    snapshot_header header = {.file_size = 0};
    snapshot_header_1 in_file;
    memcpy(&in_file, bytes, sizeof in_file);
    memcpy(&header, in_file.same, sizeof in_file.same);
    memcpy(header.sections, in_file.sections, sizeof in_file.sections);
    header.file_size = size;
    header.checksums_checksum = in_file.checksums_checksum;
    if (header.block_size == SNAPSHOT_BLOCK_1) checksums_repair(bytes, size, &header);
    memcpy(in_file.same, &header, sizeof in_file.same);
    in_file.checksums_checksum = header.checksums_checksum;
    in_file.checksum = snapshot_checksum(&in_file, offsetof(snapshot_header_1, checksum));
    memcpy(bytes, &in_file, sizeof in_file);
    return true;
}

bool snapshot_repair(unsigned char *bytes, size_t size)
{
    snapshot_header header;
    uint32_t version = 0;
    if (size < sizeof(snapshot_header_1)) return false;
    memcpy(&version, bytes + offsetof(snapshot_header, version), sizeof version);
    if (version == 1) return repair_1(bytes, size);
    if (size < sizeof header) return false;
    memcpy(&header, bytes, sizeof header);
    header.file_size = size;
    checksums_repair(bytes, size, &header);
    header.checksum = snapshot_header_checksum(&header);
    memcpy(bytes, &header, sizeof header);
    return true;
}

struct file_bytes snapshot_as_version_1(struct file_bytes f)
{
    snapshot_header header, old;
    snapshot_header_1 in_file = {.checksum = 0};
    memcpy(&header, f.bytes, sizeof header);
    old = header;
    header.version = 1;
    need(snapshot_layout(&header), "lay out", "a snapshot of version 1");
    struct file_bytes made = {must_malloc((size_t)header.file_size + 1), (size_t)header.file_size};
    memset(made.bytes, 0, made.size);
    for (unsigned i = SNAPSHOT_KEYS; i <= SNAPSHOT_VALUES; i++)
        memcpy(made.bytes + header.sections[i].offset, f.bytes + old.sections[i].offset, old.sections[i].length);
    memcpy(in_file.same, &header, sizeof in_file.same);
    memcpy(in_file.sections, header.sections, sizeof in_file.sections);
    memcpy(made.bytes, &in_file, sizeof in_file);
    need(snapshot_repair(made.bytes, made.size), "make", "a snapshot of version 1");
    free(f.bytes);
    return made;
}
