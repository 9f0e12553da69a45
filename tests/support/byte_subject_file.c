/* An index of byte strings as a file: saved, loaded in the place of the old one, and opened. */
#define _GNU_SOURCE
#include "byte_subject.h"
#include "placed.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* The index as a snapshot in memory; NULL: the allocator refused, or something is wrong. */
static void *save(struct byte_subject *subject, uint64_t *size)
{
    uint64_t again = 0;
    if (copse_save_memory(subject->index, NULL, 0, size) != COPSE_OK)
        byte_differ(subject, "%s", copse_last_error(subject->ctx));
    void *bytes = must_malloc((size_t)*size + 1);
    byte_arm(subject);
    if (byte_went(subject, copse_save_memory(subject->index, bytes, *size, &again), COPSE_OK)) {
        if (again != *size) byte_differ(subject, "the snapshot has another size than it said");
        return bytes;
    }
    free(bytes);
    return NULL;
}

static void run_load(struct byte_subject *subject, const void *bytes, uint64_t size)
{
    copse_index *loaded = NULL;
    byte_arm(subject);
    if (!byte_went(subject, copse_load_memory(subject->ctx, bytes, size, NULL, &loaded), COPSE_OK)) return;
    copse_index_free(subject->index);
    subject->index = loaded;
    byte_check_content(subject);
}

/* Some reads of the open file. */
static void run_open(struct byte_subject *subject, const void *bytes, uint64_t size)
{
    static void (*const reads[])(struct byte_subject *) = {byte_run_point, byte_run_range, byte_run_cursor,
                                                           byte_run_aggregate};
    copse_index *kept = subject->index, *opened = NULL;
    char path[64];
    const int file = memfd_create("snapshot", MFD_CLOEXEC);
    if (file < 0 || pwrite(file, bytes, (size_t)size, 0) != (ssize_t)size) abort();
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    byte_arm(subject);
    if (byte_went(subject, copse_open(subject->ctx, path, NULL, &opened), COPSE_OK)) {
        subject->index = opened;
        for (uint64_t steps = byte_draw(subject, 8); steps && !subject->wrong; steps--)
            reads[byte_draw(subject, sizeof reads / sizeof *reads)](subject);
        if (!subject->wrong) byte_check_content(subject);
        subject->index = kept;
        copse_index_free(opened);
    }
    close(file);
}

/* From the CPU to the device or back. */
static void run_move(struct byte_subject *subject)
{
    copse_stats stats = {.struct_size = sizeof stats};
    subject->operation = "move";
    if (copse_index_stats(subject->index, &stats) != COPSE_OK) byte_differ(subject, "stats");
    const copse_placement to = stats.placement == COPSE_PLACEMENT_CPU ? byte_device_placement : COPSE_PLACEMENT_CPU;
    if (!copse_supports((copse_structure)stats.structure, to, COPSE_BYTES, COPSE_CAN_EXIST)) return;
    byte_arm(subject);
    if (byte_went(subject, copse_move(subject->index, to), COPSE_OK) && to == byte_device_placement)
        subject->device = placed_device(subject->ctx, to);
    byte_check_content(subject);
}

void byte_run_file(struct byte_subject *subject)
{
    uint64_t size = 0;
    if (byte_draw(subject, 3) == 2) {
        run_move(subject);
        return;
    }
    subject->operation = "save";
    void *bytes = save(subject, &size);
    if (!bytes) return;
    const bool load = byte_draw(subject, 2);
    subject->operation = load ? "load" : "open";
    if (load)
        run_load(subject, bytes, size);
    else
        run_open(subject, bytes, size);
    free(bytes);
}
