/* Saving a table: sections, indexes, and in the end the header, without which a file is no table. */
#include "query/file/file.h"

#include "core/threads.h"
#include "snapshot/write.h"

#include <errno.h>

#define BLOCKS_AT_ONCE 256u /* that a thread checksums and then writes */

typedef struct saving {
    copse_table *table;
    bool last; /* nobody needs the columns any more */
    const copse_ctx *ctx;
    snapshot_target target;
    table_layout layout;
    copse_buffer directory;
    copse_buffer checksums;
} saving;

/* ---- what will be where ---- */

static copse_status describe_indexes(saving *s, table_index *out)
{
    for (uint32_t i = 0; i < s->table->index_count; i++) {
        const copse_stored_index *index = &copse_indexes(s->table)[i];
        out[i] = (table_index){.column_count = index->column_count,
                               .sums = index->sums,
                               .structure = index->structure,
                               .unique = index->unique};
        memcpy(out[i].columns, index->columns, index->column_count * sizeof *out[i].columns);
        copse_status status = copse_save_memory(index->tree, NULL, 0, &out[i].size);
        if (status != COPSE_OK) return status;
    }
    return COPSE_OK;
}

static copse_status describe(saving *s)
{
    const copse_table *table = s->table;
    table_header *h = &s->layout.header;
    *h = (table_header){.magic = TABLE_MAGIC,
                        .version = TABLE_VERSION,
                        .endianness = SNAPSHOT_LITTLE_ENDIAN,
                        .header_size = sizeof *h,
                        .block_size = TABLE_BLOCK,
                        .column_count = table->column_count,
                        .index_count = table->index_count,
                        .slots = table->slots,
                        .live = table->live};
    for (uint32_t i = 0; i < table->column_count; i++) h->names_size += table->columns[i].name_bytes;
    size_t columns = table->column_count * sizeof(table_column), indexes = table->index_count * sizeof(table_index);
    copse_status status =
        copse_buffer_reserve(s->ctx, &s->directory, columns + indexes + h->names_size, 1, "saving a table");
    if (status != COPSE_OK) return status;
    table_column *column = s->directory.data;
    char *name = (char *)s->directory.data + columns + indexes;
    for (uint32_t i = 0; i < table->column_count; i++) {
        const copse_stored_column *c = &table->columns[i];
        column[i] = (table_column){.type = c->type,
                                   .name_size = (uint32_t)c->name_bytes,
                                   .nulls = c->nulls,
                                   .text_size = copse_column_is_text(c) ? c->text_used : 0};
        memcpy(name, c->name, c->name_bytes);
        name += c->name_bytes;
    }
    s->layout.columns = column;
    s->layout.indexes = (const table_index *)(const void *)((char *)s->directory.data + columns);
    status = describe_indexes(s, (table_index *)(void *)((char *)s->directory.data + columns));
    if (status == COPSE_OK && !table_layout_find(&s->layout))
        status = copse_fail(s->ctx, COPSE_ERR_UNSUPPORTED, "copse_table_save: the table is too large for a file");
    return status;
}

/* ---- sections ---- */

typedef struct section_job {
    saving *s;
    table_section section;
    const char *bytes;
    int error; /* atomic */
} section_job;

static int write_stretch(const section_job *job, uint64_t from, uint64_t to)
{
    saving *s = job->s;
    char last[TABLE_BLOCK] = {0};
    uint64_t first = (job->section.offset - s->layout.sections_at) / TABLE_BLOCK;
    uint64_t *checksums = s->checksums.data, whole = job->section.size / TABLE_BLOCK;
    for (uint64_t i = from; i < to && i < whole; i++)
        checksums[first + i] = snapshot_checksum(job->bytes + i * TABLE_BLOCK, TABLE_BLOCK);
    uint64_t end = to < whole ? to : whole;
    int error = 0;
    if (end > from)
        error = snapshot_target_write(&s->target, job->bytes + from * TABLE_BLOCK, (size_t)(end - from) * TABLE_BLOCK,
                                      job->section.offset + from * TABLE_BLOCK);
    if (to <= whole || error) return error;
    memcpy(last, job->bytes + whole * TABLE_BLOCK, (size_t)(job->section.size % TABLE_BLOCK));
    checksums[first + whole] = snapshot_checksum(last, TABLE_BLOCK);
    return snapshot_target_write(&s->target, last, TABLE_BLOCK, job->section.offset + whole * TABLE_BLOCK);
}

static void write_blocks(void *user, uint64_t from, uint64_t to)
{
    section_job *job = user;
    for (uint64_t at = from; at < to; at += BLOCKS_AT_ONCE) {
        int error = write_stretch(job, at, to - at < BLOCKS_AT_ONCE ? to : at + BLOCKS_AT_ONCE);
        if (error) __atomic_store_n(&job->error, error, __ATOMIC_RELAXED);
    }
}

static copse_status write_section(saving *s, table_section section, const void *bytes)
{
    section_job job = {s, section, bytes, 0};
    uint64_t blocks = (section.size + TABLE_BLOCK - 1) / TABLE_BLOCK;
    uint32_t threads = snapshot_threads(s->ctx, section.size);
    if (blocks == 0) return COPSE_OK;
    copse_parallel(s->ctx, threads, blocks, copse_even_chunk(blocks, threads), write_blocks, &job);
    return job.error ? snapshot_fail_write(&s->target, "writing the temporary file failed", job.error) : COPSE_OK;
}

static copse_status write_column(saving *s, uint32_t at)
{
    copse_stored_column *column = &s->table->columns[at];
    copse_buffer *const buffers[TABLE_SECTIONS] = {&column->cells, &column->validity, &column->text};
    copse_status status = COPSE_OK;
    for (unsigned which = 0; status == COPSE_OK && which < TABLE_SECTIONS; which++) {
        status = write_section(s, table_layout_section(&s->layout, at, which), buffers[which]->data);
        if (s->last && !column->file) copse_buffer_free(s->ctx, buffers[which]);
    }
    return status == COPSE_OK ? copse_progress(s->ctx, "saving", at + 1u, s->table->column_count) : status;
}

/* ---- the rest ---- */

static copse_status write_tables(saving *s)
{
    table_header *h = &s->layout.header;
    h->directory_checksum = snapshot_checksum(s->directory.data, (size_t)s->layout.directory.size);
    h->checksums_checksum = snapshot_checksum(s->checksums.data, (size_t)s->layout.checksums.size);
    h->checksum = table_header_checksum(h);
    const char nothing = 0; /* the file is as long as it says, also where nothing ends there */
    int error = snapshot_target_write(&s->target, &nothing, 1, h->file_size - 1);
    if (!error)
        error = snapshot_target_write(&s->target, s->checksums.data, (size_t)s->layout.checksums.size,
                                      s->layout.checksums.offset);
    if (!error)
        error = snapshot_target_write(&s->target, s->directory.data, (size_t)s->layout.directory.size,
                                      s->layout.directory.offset);
    if (!error) error = snapshot_target_write(&s->target, h, sizeof *h, 0);
    return error ? snapshot_fail_write(&s->target, "writing the temporary file failed", error) : COPSE_OK;
}

static copse_status write_all(saving *s)
{
    copse_status status = COPSE_OK;
    for (uint32_t i = 0; status == COPSE_OK && i < s->table->column_count; i++) status = write_column(s, i);
    if (status == COPSE_OK) status = write_section(s, s->layout.alive, s->table->alive.data);
    if (status == COPSE_OK) status = write_tables(s);
    for (uint32_t i = 0; status == COPSE_OK && i < s->table->index_count; i++)
        status =
            snapshot_part_write(copse_indexes(s->table)[i].tree, &s->target, table_layout_index(&s->layout, i).offset);
    return status;
}

static copse_status save(copse_table *table, const char *path, bool last)
{
    const char *call = "copse_table_save";
    if (copse_table_check(table, call) != COPSE_OK) return COPSE_ERR_ARGUMENT;
    if (!path) return copse_fail_null(table->ctx, call, "path");
    saving s = {.table = table,
                .last = last,
                .ctx = table->ctx,
                .target = {.ctx = table->ctx, .path = path, .file = -1, .directory = -1}};
    copse_status status = table->file ? table_file_verify(table->file) : copse_indexes_refresh(table);
    if (status == COPSE_OK) status = describe(&s);
    if (status == COPSE_OK)
        status =
            copse_buffer_reserve(s.ctx, &s.checksums, s.layout.block_count + 1, sizeof(uint64_t), "saving a table");
    if (status == COPSE_OK) status = snapshot_target_open(&s.target);
    if (status == COPSE_OK) status = write_all(&s);
    if (status == COPSE_OK) status = snapshot_target_publish(&s.target);
    snapshot_target_close(&s.target);
    copse_buffer_free(s.ctx, &s.directory);
    copse_buffer_free(s.ctx, &s.checksums);
    return status;
}

copse_status copse_table_save(copse_table *table, const char *path)
{
    return save(table, path, false);
}

copse_status copse_table_save_and_free(copse_table *table, const char *path)
{
    copse_status status = save(table, path, true);
    copse_table_free(table);
    return status;
}
