/* Opening a table file where it lies, and loading one into memory. */
#include "query/file/file.h"

#include "snapshot/mapped.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static copse_status fail_io(const copse_table_file *file, const char *step, int error)
{
    return copse_fail(file->ctx, COPSE_ERR_IO, "cannot open the table '%s': %s: %s", snapshot_shown(file->path), step,
                      strerror(error));
}

static copse_status fail_damaged(const copse_table_file *file, const char *what)
{
    return copse_fail(file->ctx, COPSE_ERR_FORMAT, "the table '%s' is damaged: %s", snapshot_shown(file->path), what);
}

/* ---- the mapping ---- */

static copse_status map(copse_table_file *file)
{
    struct stat about;
    /* Without O_NONBLOCK a named pipe would wait here for a writer. */
    int descriptor = open(file->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    copse_status status = COPSE_OK;
    if (descriptor < 0) return fail_io(file, "opening failed", errno);
    if (fstat(descriptor, &about) != 0)
        status = fail_io(file, "asking for its size failed", errno);
    else if (!S_ISREG(about.st_mode))
        status = copse_fail(file->ctx, COPSE_ERR_IO, "cannot open the table '%s': it is not a regular file",
                            snapshot_shown(file->path));
    else if (about.st_size == 0)
        status = copse_fail(file->ctx, COPSE_ERR_FORMAT, "'%s' is not a saved table: it is empty",
                            snapshot_shown(file->path));
    if (status == COPSE_OK) {
        file->size = (uint64_t)about.st_size;
        void *bytes = mmap(NULL, (size_t)file->size, PROT_READ, MAP_SHARED, descriptor, 0);
        if (bytes == MAP_FAILED)
            status = fail_io(file, "mapping failed", errno);
        else
            file->bytes = bytes;
    }
    close(descriptor);
    return status;
}

/* ---- header and directory ---- */

static copse_status fail_truncated(const copse_table_file *file, uint64_t expected)
{
    return copse_fail(file->ctx, COPSE_ERR_FORMAT, "the table '%s' is truncated: it has %llu of %llu bytes",
                      snapshot_shown(file->path), (unsigned long long)file->size, (unsigned long long)expected);
}

static copse_status check_magic(const copse_table_file *file)
{
    if (file->size >= sizeof TABLE_MAGIC - 1 && memcmp(file->bytes, TABLE_MAGIC, sizeof TABLE_MAGIC - 1) == 0)
        return COPSE_OK;
    bool index = file->size >= SNAPSHOT_MAGIC_SIZE && memcmp(file->bytes, SNAPSHOT_MAGIC, SNAPSHOT_MAGIC_SIZE) == 0;
    return copse_fail(file->ctx, COPSE_ERR_FORMAT, "'%s' is not a saved table: %s", snapshot_shown(file->path),
                      index ? "it is the snapshot of an index, which copse_open opens"
                            : "it does not start with the signature of one");
}

static copse_status check_header(copse_table_file *file)
{
    static const uint8_t zero[sizeof file->layout.header.zero];
    table_header *h = &file->layout.header;
    copse_status status = check_magic(file);
    if (status != COPSE_OK) return status;
    if (file->size < sizeof *h) return fail_truncated(file, sizeof *h);
    memcpy(h, file->bytes, sizeof *h);
    if (h->endianness != SNAPSHOT_LITTLE_ENDIAN)
        return fail_damaged(file, "its header has no mark of little-endian numbers");
    if (h->version != TABLE_VERSION)
        return copse_fail(file->ctx, COPSE_ERR_VERSION,
                          "the table '%s' has format version %u; copse %s reads version %u", snapshot_shown(file->path),
                          h->version, COPSE_VERSION, TABLE_VERSION);
    if (h->checksum != table_header_checksum(h))
        return fail_damaged(file, "header, bytes 0..127: the checksum does not match");
    if (h->header_size != sizeof *h || h->block_size != TABLE_BLOCK || memcmp(h->zero, zero, sizeof zero) != 0)
        return fail_damaged(file, "its header has a number that no writer gives");
    if (h->column_count == 0 || h->slots > COPSE_MOST_ROWS || h->live > h->slots)
        return fail_damaged(file, "its header has an impossible number of rows or columns");
    if (file->size < h->file_size) return fail_truncated(file, h->file_size);
    return COPSE_OK;
}

static copse_status check_columns(const copse_table_file *file)
{
    const table_layout *l = &file->layout;
    const char *name = file->bytes + l->directory.offset + l->directory.size - (size_t)l->header.names_size;
    uint64_t left = l->header.names_size;
    for (uint32_t i = 0; i < l->header.column_count; i++) {
        const table_column *c = &l->columns[i];
        if (c->name_size < 2 || c->name_size > left || strnlen(name, c->name_size) != c->name_size - 1u)
            return fail_damaged(file, "the name of a column does not end where it should");
        if (c->zero != 0 || c->nulls > l->header.slots || (c->type != COPSE_STRING && c->text_size != 0))
            return fail_damaged(file, "a column has a number that no writer gives");
        name += c->name_size;
        left -= c->name_size;
    }
    return left == 0 ? COPSE_OK : fail_damaged(file, "there is something behind the names of its columns");
}

static bool is_number(uint32_t type)
{
    return copse_type_is_value((copse_type)type) || type == COPSE_BOOL;
}

static copse_status check_indexes(const copse_table_file *file)
{
    const table_layout *l = &file->layout;
    uint32_t unique = 0;
    for (uint32_t i = 0; i < l->header.index_count; i++) {
        const table_index *x = &l->indexes[i];
        bool good = x->column_count >= 1 && x->column_count <= COPSE_MOST_KEY_COLUMNS && x->unique <= 1 && x->zero == 0;
        for (uint32_t c = 0; good && c < COPSE_MOST_KEY_COLUMNS; c++)
            good = c < x->column_count ? x->columns[c] < l->header.column_count : x->columns[c] == 0;
        if (good && x->sums != COPSE_NO_COLUMN)
            good = x->column_count == 1 && !x->unique && x->sums < l->header.column_count &&
                   is_number(l->columns[x->sums].type);
        unique += x->unique;
        if (!good || unique > 1) return fail_damaged(file, "an index has a number that no writer gives");
    }
    return COPSE_OK;
}

static copse_status check_directory(copse_table_file *file)
{
    table_layout *l = &file->layout;
    uint64_t given = l->header.file_size;
    const char *directory = file->bytes + sizeof l->header;
    uint64_t size =
        (uint64_t)l->header.column_count * sizeof(table_column) + (uint64_t)l->header.index_count * sizeof(table_index);
    uint64_t room = file->size - sizeof l->header;
    if (size > room || l->header.names_size > room - size)
        return fail_damaged(file, "its directory is longer than the file");
    if (snapshot_checksum(directory, (size_t)(size + l->header.names_size)) != l->header.directory_checksum)
        return fail_damaged(file, "directory: the checksum does not match");
    l->columns = (const table_column *)(const void *)directory;
    l->indexes = (const table_index *)(const void *)(directory + l->header.column_count * sizeof(table_column));
    if (!table_layout_find(l) || l->header.file_size != given)
        return fail_damaged(file, "its size does not fit its rows, columns and indexes");
    if (file->size > given) return fail_damaged(file, "there is something behind its end");
    copse_status status = check_columns(file);
    return status == COPSE_OK ? check_indexes(file) : status;
}

static copse_status check_checksums(copse_table_file *file)
{
    const table_layout *l = &file->layout;
    file->states_size = (size_t)(l->block_count + 1) * sizeof *file->states; /* never a request for nothing */
    file->states = copse_memory_alloc(file->ctx, file->states_size);
    if (!file->states) return copse_no_memory(file->ctx, file->states_size, "an open table");
    for (uint64_t i = 0; i <= l->block_count; i++) atomic_init(&file->states[i], 0);
    file->checksums = (const uint64_t *)(const void *)(file->bytes + l->checksums.offset);
    if (snapshot_checksum(file->checksums, (size_t)l->checksums.size) == l->header.checksums_checksum) return COPSE_OK;
    return fail_damaged(file, "the list of checksums: its own checksum does not match");
}

static void file_close(copse_table_file *file)
{
    if (!file) return;
    if (file->bytes) munmap((void *)(uintptr_t)file->bytes, (size_t)file->size);
    copse_memory_free(file->ctx, file->states, file->states_size);
    copse_memory_free(file->ctx, file->path, file->path_size);
    copse_memory_free(file->ctx, file, sizeof *file);
}

void copse_table_file_close(copse_table_file *file)
{
    file_close(file);
}

copse_status table_file_open(copse_ctx *ctx, const char *path, copse_table_file **out)
{
    copse_table_file *file = copse_memory_alloc(ctx, sizeof *file);
    if (!file) return copse_no_memory(ctx, sizeof *file, "an open table");
    memset(file, 0, sizeof *file);
    file->ctx = ctx;
    atomic_init(&file->damaged, 0);
    atomic_init(&file->misled, false);
    file->path_size = strlen(path) + 1;
    file->path = copse_memory_alloc(ctx, file->path_size);
    copse_status status = file->path ? COPSE_OK : copse_no_memory(ctx, file->path_size, "an open table");
    if (status == COPSE_OK) {
        memcpy(file->path, path, file->path_size);
        status = map(file);
    }
    if (status == COPSE_OK) status = check_header(file);
    if (status == COPSE_OK) status = check_directory(file);
    if (status == COPSE_OK) status = check_checksums(file);
    if (status == COPSE_OK)
        *out = file;
    else
        file_close(file);
    return status;
}

/* ---- the table ---- */

static const void *place_of(const copse_table_file *file, table_section section, uint64_t *out_block)
{
    *out_block = (section.offset - file->layout.sections_at) / TABLE_BLOCK;
    return file->bytes + section.offset;
}

static copse_status open_column(copse_table_file *file, uint32_t at, const char *name, copse_stored_column *out)
{
    const table_column *c = &file->layout.columns[at];
    copse_status status = copse_column_open(file->ctx, name, c->type, out);
    if (status != COPSE_OK) return status;
    out->file = file;
    out->nulls = c->nulls;
    out->text_used = c->text_size;
    out->cells.data =
        (void *)(uintptr_t)place_of(file, table_layout_section(&file->layout, at, TABLE_CELLS), &out->cells_block);
    out->validity.data = (void *)(uintptr_t)place_of(file, table_layout_section(&file->layout, at, TABLE_VALIDITY),
                                                     &out->validity_block);
    out->text.data =
        (void *)(uintptr_t)place_of(file, table_layout_section(&file->layout, at, TABLE_TEXT), &out->text_block);
    return COPSE_OK;
}

/* Which rows there are is looked at everywhere: it is checked at once. */
static copse_status open_alive(copse_table *table)
{
    copse_table_file *file = table->file;
    uint64_t block = 0, live = 0;
    if (table->live == table->slots) return COPSE_OK;
    table->alive.data = (void *)(uintptr_t)place_of(file, file->layout.alive, &block);
    for (uint64_t i = 0; i < (file->layout.alive.size + TABLE_BLOCK - 1) / TABLE_BLOCK; i++)
        copse_block_touch(file, block + i);
    for (uint64_t i = 0; i < table->slots; i++) live += copse_bit(&table->alive, i);
    copse_status status = copse_table_sound(table);
    if (status == COPSE_OK && live != table->live) status = fail_damaged(file, "the number of its rows is another one");
    return status;
}

static copse_status check_index(const copse_table *table, const copse_stored_index *index)
{
    copse_stats stats = {.struct_size = sizeof stats};
    copse_status status = copse_index_stats(index->tree, &stats);
    if (status != COPSE_OK) return status;
    if (stats.key_type == (uint32_t)copse_index_key_type(table, index) &&
        stats.value_type == (uint32_t)copse_index_value_type(table, index) && (stats.duplicates != 0) == !index->unique)
        return COPSE_OK;
    return fail_damaged(table->file, "an index is of another type than its column");
}

/* into_memory: a tree of its own; else the part of the file. */
static copse_status open_index(copse_table *table, uint32_t at, bool into_memory)
{
    const copse_table_file *file = table->file;
    const table_index *x = &file->layout.indexes[at];
    table_section place = table_layout_index(&file->layout, at);
    copse_stored_index index = {
        .column_count = x->column_count, .sums = x->sums, .structure = x->structure, .unique = x->unique};
    char names[COPSE_SHOWN_KEY], path[COPSE_SHOWN_KEY + 160];
    memcpy(index.columns, x->columns, sizeof index.columns);
    copse_status status =
        copse_buffer_reserve(table->ctx, &table->indexes, table->index_count + 1u, sizeof index, "the list of indexes");
    if (status != COPSE_OK) return status;
    snprintf(path, sizeof path, "%.120s, index on %s", snapshot_shown(file->path),
             copse_index_show(table, &index, names));
    if (into_memory) {
        copse_index_options options = COPSE_INDEX_OPTIONS_INIT;
        options.key_type = copse_index_key_type(table, &index);
        options.value_type = copse_index_value_type(table, &index);
        options.placement = COPSE_PLACEMENT_CPU;
        options.structure = (copse_structure)index.structure;
        options.duplicates = !index.unique;
        status = copse_load_memory(table->ctx, file->bytes + place.offset, place.size, &options, &index.tree);
    } else {
        status = snapshot_part_open(table->ctx, path, file->bytes + place.offset, place.size, &index.tree);
    }
    if (status == COPSE_OK) status = check_index(table, &index);
    if (status == COPSE_OK)
        copse_indexes(table)[table->index_count++] = index;
    else
        copse_index_free(index.tree);
    return status;
}

static copse_status open_table(copse_ctx *ctx, const char *path, bool into_memory, copse_table **out)
{
    copse_table_file *file = NULL;
    copse_table *table = NULL;
    copse_status status = table_file_open(ctx, path, &file);
    if (status == COPSE_OK && into_memory) status = table_file_verify(file);
    if (status == COPSE_OK) status = copse_table_begin(ctx, file->layout.header.column_count, &table);
    if (status != COPSE_OK) {
        file_close(file);
        return status;
    }
    table->file = file;
    table->slots = file->layout.header.slots;
    table->live = file->layout.header.live;
    const char *name = file->bytes + file->layout.directory.offset + file->layout.directory.size -
                       (size_t)file->layout.header.names_size;
    for (uint32_t i = 0; status == COPSE_OK && i < table->column_count; i++) {
        status = open_column(file, i, name, &table->columns[i]);
        name += file->layout.columns[i].name_size;
    }
    if (status == COPSE_OK) status = open_alive(table);
    for (uint32_t i = 0; status == COPSE_OK && i < file->layout.header.index_count; i++)
        status = open_index(table, i, into_memory);
    if (status == COPSE_OK)
        *out = table;
    else
        copse_table_close(table);
    return status;
}

static copse_status check_arguments(const copse_ctx *ctx, const char *call, const char *path, copse_table **out_table)
{
    if (!ctx) return copse_fail_argument(NULL, "ctx", "%s: ctx is NULL", call);
    if (!out_table) return copse_fail_null(ctx, call, "out_table");
    *out_table = NULL;
    return path ? COPSE_OK : copse_fail_null(ctx, call, "path");
}

copse_status copse_table_open(copse_ctx *ctx, const char *path, copse_table **out_table)
{
    copse_status status = check_arguments(ctx, "copse_table_open", path, out_table);
    return status == COPSE_OK ? open_table(ctx, path, false, out_table) : status;
}

/* ---- into memory ---- */

static copse_status copy_buffer(const copse_ctx *ctx, copse_buffer *buffer, uint64_t size)
{
    copse_buffer copy = {0};
    copse_status status = copse_buffer_reserve(ctx, &copy, size + 1, 1, "loading a table");
    if (status == COPSE_OK && size > 0) memcpy(copy.data, buffer->data, (size_t)size);
    if (status == COPSE_OK) *buffer = copy;
    return status;
}

static copse_status copy_column(copse_table *table, copse_stored_column *column)
{
    const copse_ctx *ctx = table->ctx;
    copse_stored_column copy = *column;
    copse_status status = copy_buffer(ctx, &copy.cells, table->slots * column->width);
    if (status != COPSE_OK) return status;
    copse_buffer validity = {0}, text = {0};
    status = copse_buffer_reserve(ctx, &validity, table->slots / 8 + 1, 1, "loading a table");
    if (status == COPSE_OK && column->nulls == 0)
        memset(validity.data, 0xFF, table->slots / 8 + 1);
    else if (status == COPSE_OK)
        memcpy(validity.data, column->validity.data, table->slots / 8 + 1);
    if (status == COPSE_OK && copse_column_is_text(column)) {
        text = column->text;
        status = copy_buffer(ctx, &text, column->text_used);
    }
    if (status != COPSE_OK) {
        copse_buffer_free(ctx, &validity);
        copse_buffer_free(ctx, &copy.cells);
        return status;
    }
    column->cells = copy.cells;
    column->validity = validity;
    column->text = text;
    column->file = NULL;
    return COPSE_OK;
}

static copse_status leave_file(copse_table *table)
{
    copse_status status = COPSE_OK;
    for (uint32_t i = 0; status == COPSE_OK && i < table->column_count; i++)
        status = copy_column(table, &table->columns[i]);
    if (status == COPSE_OK && table->alive.data) status = copy_buffer(table->ctx, &table->alive, table->slots / 8 + 1);
    if (status != COPSE_OK) return status;
    file_close(table->file);
    table->file = NULL;
    return copse_table_verify(table);
}

copse_status copse_table_load(copse_ctx *ctx, const char *path, copse_table **out_table)
{
    copse_table *table = NULL;
    copse_status status = check_arguments(ctx, "copse_table_load", path, out_table);
    if (status == COPSE_OK) status = open_table(ctx, path, true, &table);
    if (status == COPSE_OK) status = leave_file(table);
    if (status == COPSE_OK)
        *out_table = table;
    else if (table)
        copse_table_close(table);
    return status;
}
