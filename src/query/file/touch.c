/* Blocks of a mapped file are checked when they are first touched. What is wrong is noted, and said by the call that asks at its end. */
#include "query/file/file.h"

#include "query/table/poll.h"

#define POLL_BLOCKS 1024u

enum { UNCHECKED = 0, GOOD = 1, DAMAGED = 2 };

static const char *block_bytes(const copse_table_file *file, uint64_t block)
{
    return file->bytes + file->layout.sections_at + block * TABLE_BLOCK;
}

static bool is_sound(const copse_table_file *file, uint64_t block)
{
    return snapshot_checksum(block_bytes(file, block), TABLE_BLOCK) == file->checksums[block];
}

/* Keeps the first damaged block, whichever thread is faster. */
static void note(copse_table_file *file, uint64_t block)
{
    uint64_t noted = atomic_load(&file->damaged);
    while ((noted == 0 || block + 1 < noted) && !atomic_compare_exchange_weak(&file->damaged, &noted, block + 1)) {
    }
}

void copse_block_touch(copse_table_file *file, uint64_t block)
{
    unsigned char is = atomic_load_explicit(&file->states[block], memory_order_acquire);
    if (is == GOOD) return;
    if (is == UNCHECKED) {
        /* Two threads may both do it, and find the same. */
        is = is_sound(file, block) ? GOOD : DAMAGED;
        atomic_store_explicit(&file->states[block], is, memory_order_release);
    }
    if (is == DAMAGED) note(file, block);
}

static void touch_text(const copse_stored_column *column, uint64_t row)
{
    copse_slice text = copse_cell_text(column, row);
    if (text.length == 0) return;
    uint64_t start = (uint64_t)(text.start - (const unsigned char *)column->text.data);
    for (uint64_t at = start / TABLE_BLOCK; at <= (start + text.length - 1) / TABLE_BLOCK; at++)
        copse_block_touch(column->file, column->text_block + at);
}

void copse_cells_touch_file(const copse_stored_column *column, const uint32_t *rows, uint64_t n)
{
    uint64_t last = UINT64_MAX, last_validity = UINT64_MAX;
    bool text = copse_column_is_text(column);
    for (uint64_t i = 0; i < n; i++) {
        uint64_t row = rows ? rows[i] : i;
        if (row == COPSE_ROW_NONE) continue;
        uint64_t block = row * column->width / TABLE_BLOCK, validity = row / 8 / TABLE_BLOCK;
        if (block != last) copse_block_touch(column->file, column->cells_block + block);
        if (column->nulls > 0 && validity != last_validity)
            copse_block_touch(column->file, column->validity_block + validity);
        last = block;
        last_validity = validity;
        if (text) touch_text(column, row);
    }
}

copse_status copse_rows_check_file(const copse_table *table, const uint32_t *rows, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++)
        if (rows[i] >= table->slots || !copse_row_lives(table, rows[i])) {
            atomic_store(&table->file->misled, true);
            return copse_table_sound_file(table);
        }
    return COPSE_OK;
}

/* ---- what was found ---- */

/* Which section a block is of, for a sentence. */
static const char *name_block(const copse_table_file *file, uint64_t block, char *out, size_t size)
{
    static const char *const names[] = {"cells", "NULLs", "text"};
    uint64_t at = file->layout.sections_at + block * TABLE_BLOCK;
    const char *name = file->bytes + file->layout.directory.offset + file->layout.directory.size -
                       (size_t)file->layout.header.names_size;
    for (uint32_t i = 0; i < file->layout.header.column_count; name += file->layout.columns[i++].name_size)
        for (unsigned which = 0; which < TABLE_SECTIONS; which++) {
            table_section section = table_layout_section(&file->layout, i, which);
            if (at < section.offset || at - section.offset >= section.size) continue;
            snprintf(out, size, "%s of column \"%.40s\"", names[which], name);
            return out;
        }
    return "the list of deleted rows";
}

static copse_status fail_block(const copse_table_file *file, uint64_t block)
{
    char section[80];
    uint64_t first = file->layout.sections_at + block * TABLE_BLOCK;
    return copse_fail(file->ctx, COPSE_ERR_FORMAT,
                      "the table '%s' is damaged: %s, bytes %llu..%llu: the checksum does not match",
                      snapshot_shown(file->path), name_block(file, block, section, sizeof section),
                      (unsigned long long)first, (unsigned long long)(first + TABLE_BLOCK - 1));
}

copse_status copse_table_sound_file(const copse_table *table)
{
    copse_table_file *file = table->file;
    uint64_t damaged = atomic_load(&file->damaged);
    if (damaged > 0) return fail_block(file, damaged - 1);
    if (!atomic_load(&file->misled)) return COPSE_OK;
    return copse_fail(file->ctx, COPSE_ERR_FORMAT, "the table '%s' is damaged: an index lists a row that is not there",
                      snapshot_shown(file->path));
}

/* ---- all of it ---- */

typedef struct verify_job {
    const copse_table_file *file;
    atomic_uint_least64_t first; /* 1 + the first damaged block */
    copse_polled polled;
} verify_job;

static void verify_blocks(void *user, uint64_t from, uint64_t to)
{
    verify_job *job = user;
    for (uint64_t i = from; i < to; i++) {
        if ((i - from) % POLL_BLOCKS == 0 && !copse_polled_goes_on(&job->polled, i)) return;
        if (is_sound(job->file, i)) continue;
        uint64_t noted = atomic_load(&job->first);
        while ((noted == 0 || i + 1 < noted) && !atomic_compare_exchange_weak(&job->first, &noted, i + 1)) {
        }
        return;
    }
}

static copse_status gap_check(const copse_table_file *file, uint64_t from, uint64_t to)
{
    for (uint64_t at = from; at < to; at++)
        if (file->bytes[at] != 0)
            return copse_fail(file->ctx, COPSE_ERR_FORMAT,
                              "the table '%s' is damaged: byte %llu between two sections is not zero",
                              snapshot_shown(file->path), (unsigned long long)at);
    return COPSE_OK;
}

copse_status table_file_verify(const copse_table_file *file)
{
    const table_layout *l = &file->layout;
    verify_job job = {.file = file};
    uint32_t threads = snapshot_threads(file->ctx, l->block_count * TABLE_BLOCK);
    atomic_init(&job.first, 0);
    job.polled = copse_polled_begin(file->ctx, "checking a table", l->block_count);
    if (l->block_count > 0)
        copse_parallel(file->ctx, threads, l->block_count, copse_even_chunk(l->block_count, threads), verify_blocks,
                       &job);
    if (job.polled.status != COPSE_OK) return (copse_status)job.polled.status;
    if (atomic_load(&job.first) > 0) return fail_block(file, atomic_load(&job.first) - 1);
    copse_status status = gap_check(file, l->directory.offset + l->directory.size, l->checksums.offset);
    if (status == COPSE_OK) status = gap_check(file, l->checksums.offset + l->checksums.size, l->sections_at);
    for (uint32_t i = 0; status == COPSE_OK && i < l->header.index_count; i++) {
        table_section index = table_layout_index(l, i);
        uint64_t end = i + 1 < l->header.index_count ? table_layout_index(l, i + 1).offset : l->header.file_size;
        status = gap_check(file, index.offset + index.size, end);
    }
    return status;
}

copse_status copse_table_verify_file(const copse_table *table)
{
    return table->file ? table_file_verify(table->file) : COPSE_OK;
}
