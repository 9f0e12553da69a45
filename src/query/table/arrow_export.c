/* Tables to Arrow. Each struct owns what it points to, so that a consumer may take a child out and release the rest. */
#include "query/table/table.h"

#define MOST_BUFFERS 3

/* ---- schemas ---- */

typedef struct schema_owner {
    copse_ctx *ctx;
    char *name;
    size_t name_bytes;
    struct ArrowSchema *children;
    struct ArrowSchema **pointers;
    int64_t child_count;
} schema_owner;

static const char *format_of(uint32_t type)
{
    switch (type) {
    case COPSE_I32:
        return "i";
    case COPSE_U32:
        return "I";
    case COPSE_I64:
        return "l";
    case COPSE_U64:
        return "L";
    case COPSE_F32:
        return "f";
    case COPSE_F64:
        return "g";
    case COPSE_BOOL:
        return "b";
    case COPSE_DATE:
        return "tdD";
    case COPSE_TIMESTAMP:
        return "tsu:UTC";
    default:
        return "U";
    }
}

static void release_schema(struct ArrowSchema *schema)
{
    schema_owner *owner = schema->private_data;
    copse_ctx *ctx = owner->ctx;
    for (int64_t i = 0; owner->children && i < owner->child_count; i++)
        if (owner->children[i].release) owner->children[i].release(&owner->children[i]);
    copse_memory_free(ctx, owner->children, (size_t)owner->child_count * sizeof *owner->children);
    copse_memory_free(ctx, owner->pointers, (size_t)owner->child_count * sizeof *owner->pointers);
    copse_memory_free(ctx, owner->name, owner->name_bytes);
    copse_memory_free(ctx, owner, sizeof *owner);
    copse_ctx_release(ctx);
    schema->release = NULL;
}

/* A schema that can be released, and has no children yet. */
static copse_status open_schema(copse_ctx *ctx, const char *format, const char *name, struct ArrowSchema *out)
{
    schema_owner *owner = copse_memory_alloc(ctx, sizeof *owner);
    if (!owner) return copse_no_memory(ctx, sizeof *owner, "an Arrow schema");
    *owner = (schema_owner){.ctx = ctx, .name_bytes = strlen(name) + 1};
    copse_ctx_hold(ctx);
    *out = (struct ArrowSchema){.format = format, .private_data = owner, .release = release_schema};
    owner->name = copse_memory_alloc(ctx, owner->name_bytes);
    if (!owner->name) {
        release_schema(out);
        return copse_no_memory(ctx, strlen(name) + 1, "an Arrow schema");
    }
    memcpy(owner->name, name, owner->name_bytes);
    out->name = owner->name;
    return COPSE_OK;
}

static copse_status make_schema(const copse_table *table, struct ArrowSchema *out)
{
    copse_status status = open_schema(table->ctx, "+s", "", out);
    if (status != COPSE_OK) return status;
    schema_owner *owner = out->private_data;
    owner->child_count = table->column_count;
    owner->children = copse_memory_alloc(table->ctx, table->column_count * sizeof *owner->children);
    owner->pointers = copse_memory_alloc(table->ctx, table->column_count * sizeof *owner->pointers);
    if (owner->children) memset(owner->children, 0, table->column_count * sizeof *owner->children);
    if (!owner->children || !owner->pointers)
        status = copse_no_memory(table->ctx, table->column_count * sizeof *owner->children, "an Arrow schema");
    for (uint32_t i = 0; status == COPSE_OK && i < table->column_count; i++) {
        owner->pointers[i] = &owner->children[i];
        status =
            open_schema(table->ctx, format_of(table->columns[i].type), table->columns[i].name, &owner->children[i]);
        owner->children[i].flags = ARROW_FLAG_NULLABLE;
    }
    out->n_children = owner->child_count;
    out->children = owner->pointers;
    if (status != COPSE_OK) release_schema(out);
    return status;
}

/* ---- arrays ---- */

typedef struct array_owner {
    copse_ctx *ctx;
    copse_buffer memory[MOST_BUFFERS];
    const void *buffers[MOST_BUFFERS];
    struct ArrowArray *children;
    struct ArrowArray **pointers;
    int64_t child_count;
} array_owner;

static void release_array(struct ArrowArray *array)
{
    array_owner *owner = array->private_data;
    copse_ctx *ctx = owner->ctx;
    for (int64_t i = 0; owner->children && i < owner->child_count; i++)
        if (owner->children[i].release) owner->children[i].release(&owner->children[i]);
    copse_memory_free(ctx, owner->children, (size_t)owner->child_count * sizeof *owner->children);
    copse_memory_free(ctx, owner->pointers, (size_t)owner->child_count * sizeof *owner->pointers);
    for (int i = 0; i < MOST_BUFFERS; i++) copse_buffer_free(ctx, &owner->memory[i]);
    copse_memory_free(ctx, owner, sizeof *owner);
    copse_ctx_release(ctx);
    array->release = NULL;
}

static copse_status open_array(copse_ctx *ctx, uint64_t rows, int64_t buffers, struct ArrowArray *out)
{
    array_owner *owner = copse_memory_alloc(ctx, sizeof *owner);
    if (!owner) return copse_no_memory(ctx, sizeof *owner, "an Arrow array");
    *owner = (array_owner){.ctx = ctx};
    copse_ctx_hold(ctx);
    *out = (struct ArrowArray){.length = (int64_t)rows,
                               .n_buffers = buffers,
                               .buffers = owner->buffers,
                               .private_data = owner,
                               .release = release_array};
    return COPSE_OK;
}

static copse_status reserve(array_owner *owner, int buffer, uint64_t count, size_t size)
{
    copse_status status = copse_buffer_reserve(owner->ctx, &owner->memory[buffer], count + 1, size, "an Arrow array");
    owner->buffers[buffer] = owner->memory[buffer].data;
    if (status == COPSE_OK) memset(owner->memory[buffer].data, 0, (count + 1) * size);
    return status;
}

static copse_status fill_validity(const copse_stored_column *column, const uint32_t *rows, uint64_t n,
                                  struct ArrowArray *out)
{
    array_owner *owner = out->private_data;
    copse_status status = reserve(owner, 0, n / 8 + 1, 1);
    for (uint64_t i = 0; status == COPSE_OK && i < n; i++) {
        bool valid = copse_cell_valid(column, rows[i]);
        out->null_count += !valid;
        if (valid) copse_bit_set(&owner->memory[0], i, true);
    }
    return status;
}

static copse_status fill_text(const copse_stored_column *column, const uint32_t *rows, uint64_t n, array_owner *owner)
{
    copse_status status = reserve(owner, 1, n, sizeof(int64_t));
    if (status == COPSE_OK) status = reserve(owner, 2, copse_column_text_bytes(column, rows, n), 1);
    if (status != COPSE_OK) return status;
    int64_t *offsets = owner->memory[1].data;
    for (uint64_t i = 0; i < n; i++) {
        copse_slice text = copse_cell_text(column, rows[i]);
        if (text.length > 0) memcpy((char *)owner->memory[2].data + offsets[i], text.start, text.length);
        offsets[i + 1] = offsets[i] + (int64_t)text.length;
    }
    return COPSE_OK;
}

static copse_status fill_cells(const copse_stored_column *column, const uint32_t *rows, uint64_t n, array_owner *owner)
{
    bool bits = column->type == COPSE_BOOL;
    const char *cells = column->cells.data;
    copse_status status = reserve(owner, 1, bits ? n / 8 + 1 : n, column->width);
    for (uint64_t i = 0; status == COPSE_OK && i < n; i++) {
        if (bits)
            copse_bit_set(&owner->memory[1], i, cells[rows[i]] != 0);
        else
            memcpy((char *)owner->memory[1].data + i * column->width, cells + (uint64_t)rows[i] * column->width,
                   column->width);
    }
    return status;
}

static copse_status make_child(const copse_ctx *ctx, const copse_stored_column *column, const uint32_t *rows,
                               uint64_t n, struct ArrowArray *out)
{
    bool text = copse_column_is_text(column);
    copse_status status = open_array((copse_ctx *)(uintptr_t)ctx, n, text ? 3 : 2, out);
    if (status == COPSE_OK) status = fill_validity(column, rows, n, out);
    if (status != COPSE_OK) return status;
    return text ? fill_text(column, rows, n, out->private_data) : fill_cells(column, rows, n, out->private_data);
}

static copse_status make_array(const copse_table *table, const uint32_t *rows, struct ArrowArray *out)
{
    copse_status status = open_array(table->ctx, table->live, 1, out);
    if (status != COPSE_OK) return status;
    array_owner *owner = out->private_data;
    owner->child_count = table->column_count;
    owner->children = copse_memory_alloc(table->ctx, table->column_count * sizeof *owner->children);
    owner->pointers = copse_memory_alloc(table->ctx, table->column_count * sizeof *owner->pointers);
    if (owner->children) memset(owner->children, 0, table->column_count * sizeof *owner->children);
    if (!owner->children || !owner->pointers)
        status = copse_no_memory(table->ctx, table->column_count * sizeof *owner->children, "an Arrow array");
    for (uint32_t i = 0; status == COPSE_OK && i < table->column_count; i++) {
        owner->pointers[i] = &owner->children[i];
        status = make_child(table->ctx, &table->columns[i], rows, table->live, &owner->children[i]);
    }
    out->n_children = owner->child_count;
    out->children = owner->pointers;
    if (status != COPSE_OK) release_array(out);
    return status;
}

copse_status copse_table_to_arrow(const copse_table *table, struct ArrowSchema *out_schema,
                                  struct ArrowArray *out_array)
{
    const char *call = "copse_table_to_arrow";
    struct ArrowSchema schema = {0};
    struct ArrowArray array = {0};
    copse_buffer rows = {0};
    if (copse_table_check(table, call) != COPSE_OK) return COPSE_ERR_ARGUMENT;
    if (!out_schema) return copse_fail_argument(table->ctx, "out_schema", "%s: out_schema is NULL", call);
    if (!out_array) return copse_fail_argument(table->ctx, "out_array", "%s: out_array is NULL", call);
    copse_status status = copse_buffer_reserve(table->ctx, &rows, table->live + 1, sizeof(uint32_t), "an Arrow array");
    if (status == COPSE_OK) {
        for (uint32_t i = 0; i < table->column_count; i++) copse_cells_touch(&table->columns[i], NULL, table->slots);
        status = copse_table_sound(table);
    }
    if (status == COPSE_OK) {
        copse_table_live_rows(table, rows.data);
        status = make_schema(table, &schema);
    }
    if (status == COPSE_OK) {
        status = make_array(table, rows.data, &array);
        if (status != COPSE_OK) release_schema(&schema);
    }
    copse_buffer_free(table->ctx, &rows);
    if (status != COPSE_OK) return status;
    *out_schema = schema;
    *out_array = array;
    return COPSE_OK;
}
