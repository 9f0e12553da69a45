/* The image of a table in device memory, and how it follows the rows. */
#include "query/device/device.h"

static uint64_t bit_words(uint64_t rows)
{
    return rows / 32 + 1;
}

static uint64_t cell_bytes(const copse_stored_column *column, uint64_t rows)
{
    return copse_column_is_text(column) ? 0 : copse_memory_product(rows ? rows : 1, column->width);
}

copse_device *copse_card_of(const copse_table *table)
{
    return table->image && !table->image->stale ? table->image->device : NULL;
}

copse_card_column copse_card_column_of(const copse_table *table, uint32_t column)
{
    const copse_stored_column *stored = &table->columns[column];
    const copse_image_column *own = &table->image->columns[column];
    const bool numbers = copse_column_is_text(stored) && __atomic_load_n(&own->numbered, __ATOMIC_ACQUIRE);
    return (copse_card_column){copse_column_is_text(stored) && !numbers ? NULL : own->cells,
                               stored->nulls ? (const uint8_t *)own->validity : NULL,
                               numbers ? (uint32_t)COPSE_U32 : stored->type,
                               numbers ? (uint32_t)sizeof(uint32_t) : stored->width};
}

const uint8_t *copse_card_alive(const copse_table *table)
{
    return table->alive.data ? (const uint8_t *)table->image->alive : NULL;
}

const copse_card_kernels *copse_card_kernels_on(const copse_device *device)
{
#ifdef COPSE_HAVE_CUDA
    if (device->backend->placement == COPSE_PLACEMENT_GPU) return &copse_card_kernels_cuda;
#endif
    (void)device;
    return &copse_card_kernels_emulated;
}

/* ---- making one ---- */

void copse_image_free(copse_table_image *image)
{
    if (!image) return;
    copse_device *device = image->device;
    copse_ctx *ctx = device->ctx;
    for (uint32_t i = 0; i < image->column_count; i++) {
        copse_image_column *column = &image->columns[i];
        copse_device_free(device, device->main, column->cells, column->cell_bytes);
        copse_device_free(device, device->main, column->validity, bit_words(image->capacity) * sizeof(uint32_t));
        copse_buffer_free(ctx, &column->words);
    }
    copse_device_free(device, device->main, image->alive, bit_words(image->capacity) * sizeof(uint32_t));
    copse_memory_free(ctx, image->columns, copse_memory_product(image->column_count, sizeof *image->columns));
    copse_memory_free(ctx, image, sizeof *image);
}

/* Bits of rows from .. slots, and the others of the same byte. */
static copse_status copy_bits(copse_device *device, uint32_t *to, const void *bits, uint64_t from, uint64_t slots)
{
    uint64_t first = from / 8, bytes = (slots + 7) / 8 - first;
    if (slots == from) return COPSE_OK;
    return copse_device_copy(device, device->main, (char *)to + first, (const char *)bits + first, bytes);
}

static copse_status copy_rows(copse_table_image *image, const copse_table *table, uint64_t from)
{
    copse_device *device = image->device;
    copse_status status = COPSE_OK;
    for (uint32_t i = 0; status == COPSE_OK && table->slots > from && i < table->column_count; i++) {
        const copse_stored_column *column = &table->columns[i];
        copse_cells_touch(column, NULL, table->slots);
        status = copy_bits(device, image->columns[i].validity, column->validity.data, from, table->slots);
        image->columns[i].numbered = false;
        if (status == COPSE_OK && !copse_column_is_text(column))
            status = copse_device_copy(device, device->main, (char *)image->columns[i].cells + from * column->width,
                                       (const char *)column->cells.data + from * column->width,
                                       (table->slots - from) * column->width);
    }
    if (status == COPSE_OK && table->alive.data)
        status = copy_bits(device, image->alive, table->alive.data, from, table->slots);
    if (status == COPSE_OK) status = copse_device_wait(device, device->main);
    if (status == COPSE_OK) image->slots = table->slots;
    return status;
}

static copse_status reserve_column(copse_table_image *image, const copse_stored_column *column, copse_image_column *out)
{
    copse_device *device = image->device;
    void *bits = NULL;
    copse_status status = copse_device_alloc(device, device->main, bit_words(image->capacity) * sizeof(uint32_t),
                                             "the NULLs of a column", &bits);
    out->validity = bits;
    out->cell_bytes = cell_bytes(column, image->capacity);
    if (status == COPSE_OK && out->cell_bytes)
        status = copse_device_alloc(device, device->main, out->cell_bytes, "a column", &out->cells);
    return status;
}

static copse_status reserve_alive(copse_table_image *image)
{
    copse_device *device = image->device;
    void *bits = NULL;
    if (image->alive) return COPSE_OK;
    copse_status status = copse_device_alloc(device, device->main, bit_words(image->capacity) * sizeof(uint32_t),
                                             "the rows of a table", &bits);
    image->alive = bits;
    return status;
}

static copse_status make_on(const copse_table *table, copse_device *device, uint64_t capacity, copse_table_image **out)
{
    copse_table_image *image = copse_memory_alloc(table->ctx, sizeof *image);
    size_t bytes = copse_memory_product(table->column_count, sizeof *image->columns);
    if (!image) return copse_no_memory(table->ctx, sizeof *image, "a table on a device");
    *image = (copse_table_image){.device = device, .capacity = capacity};
    image->columns = copse_memory_alloc(table->ctx, bytes);
    if (!image->columns) {
        copse_memory_free(table->ctx, image, sizeof *image);
        return copse_no_memory(table->ctx, bytes, "a table on a device");
    }
    memset(image->columns, 0, bytes);
    image->column_count = table->column_count;
    copse_status status = COPSE_OK;
    for (uint32_t i = 0; status == COPSE_OK && i < table->column_count; i++)
        status = reserve_column(image, &table->columns[i], &image->columns[i]);
    if (status == COPSE_OK && table->alive.data) status = reserve_alive(image);
    if (status == COPSE_OK) status = copy_rows(image, table, 0);
    if (status == COPSE_OK) status = copse_table_sound(table);
    if (status == COPSE_OK)
        *out = image;
    else
        copse_image_free(image);
    return status;
}

copse_status copse_image_make(const copse_table *table, copse_placement placement, copse_table_image **out)
{
    copse_device *device = NULL;
    *out = NULL;
    if (placement == COPSE_PLACEMENT_CPU) return COPSE_OK;
    copse_status status = copse_device_get(table->ctx, placement, &device);
    return status == COPSE_OK ? make_on(table, device, table->slots, out) : status;
}

/* ---- following the rows ---- */

/* Makes the image anew, with room for some more rows. The change that it follows has happened: a failure is no error of that. */
static copse_status renew(copse_table *table)
{
    copse_table_image *image = NULL;
    copse_status status = make_on(table, table->image->device,
                                  table->slots + (table->slots > table->image->slots ? table->slots / 2 : 0), &image);
    if (status != COPSE_OK) return status;
    copse_image_free(table->image);
    table->image = image;
    return COPSE_OK;
}

static void change_end(copse_table *table, copse_status status, const copse_kept_error *before)
{
    table->image->stale = status != COPSE_OK;
    if (status != COPSE_OK) copse_error_put_back(before);
}

void copse_image_append(copse_table *table)
{
    copse_kept_error before;
    if (!table->image) return;
    copse_error_keep(&before);
    bool fits = !table->image->stale && table->slots <= table->image->capacity;
    change_end(table, fits ? copy_rows(table->image, table, table->image->slots) : renew(table), &before);
}

void copse_image_delete(copse_table *table)
{
    copse_kept_error before;
    if (!table->image) return;
    copse_error_keep(&before);
    copse_status status = table->image->stale ? renew(table) : reserve_alive(table->image);
    copse_device *device = table->image->device;
    if (status == COPSE_OK) status = copy_bits(device, table->image->alive, table->alive.data, 0, table->slots);
    if (status == COPSE_OK) status = copse_device_wait(device, device->main);
    change_end(table, status, &before);
}

/* Changed cells as arrays of their own in host memory. */
static copse_status pack(const copse_table *table, uint32_t column, const uint32_t *rows, uint64_t n,
                         copse_buffer *cells, copse_buffer *valid)
{
    const copse_stored_column *from = &table->columns[column];
    copse_status status = copse_buffer_reserve(table->ctx, cells, n, from->width, "changed cells");
    if (status == COPSE_OK) status = copse_buffer_reserve(table->ctx, valid, n, 1, "changed cells");
    for (uint64_t i = 0; status == COPSE_OK && i < n; i++) {
        ((uint8_t *)valid->data)[i] = copse_bit(&from->validity, rows[i]);
        if (!copse_column_is_text(from))
            memcpy((char *)cells->data + i * from->width,
                   (const char *)from->cells.data + (uint64_t)rows[i] * from->width, from->width);
    }
    return status;
}

static copse_status put_column(copse_table *table, uint32_t column, const uint32_t *rows, uint64_t n)
{
    copse_table_image *image = table->image;
    copse_device *device = image->device;
    copse_card_memory memory = {.device = device};
    copse_buffer cells = {0}, valid = {0};
    uint32_t *there = NULL;
    void *from = NULL;
    uint8_t *from_valid = NULL;
    const uint32_t width = copse_column_is_text(&table->columns[column]) ? 0 : table->columns[column].width;
    image->columns[column].numbered = false;
    copse_status status = pack(table, column, rows, n, &cells, &valid);
    if (status == COPSE_OK) status = copse_card_take(&memory, n, sizeof *there, &there);
    if (status == COPSE_OK) status = copse_card_take(&memory, n, width ? width : 1, &from);
    if (status == COPSE_OK) status = copse_card_take(&memory, n, 1, &from_valid);
    if (status == COPSE_OK) status = copse_device_copy(device, device->main, there, rows, n * sizeof *there);
    if (status == COPSE_OK) status = copse_device_copy(device, device->main, from, cells.data, n * width);
    if (status == COPSE_OK) status = copse_device_copy(device, device->main, from_valid, valid.data, n);
    const copse_card_put_arguments put = {
        there, from, from_valid, n, image->columns[column].cells, image->columns[column].validity, width};
    if (status == COPSE_OK) status = copse_card_launch(device, &copse_card_kernels_on(device)->put, n, &put);
    if (status == COPSE_OK) status = copse_device_wait(device, device->main);
    copse_card_release(&memory);
    copse_buffer_free(table->ctx, &cells);
    copse_buffer_free(table->ctx, &valid);
    return status;
}

void copse_image_update(copse_table *table, const uint32_t *of, const uint32_t *rows, uint64_t n)
{
    copse_kept_error before;
    copse_status status = COPSE_OK;
    if (!table->image || (n == 0 && !table->image->stale)) return;
    copse_error_keep(&before);
    if (table->image->stale) {
        status = renew(table);
    } else {
        for (uint32_t c = 0; status == COPSE_OK && c < table->column_count; c++)
            if (of[c] != COPSE_NO_COLUMN) status = put_column(table, c, rows, n);
    }
    change_end(table, status, &before);
}

/* ---- arrays of the caller's ---- */

/* The device of the context that the memory belongs to, or NULL. A card that is not open yet is opened for its own memory only. */
static copse_status find_owner(copse_ctx *ctx, const void *memory, copse_device **out)
{
    pthread_mutex_lock(&ctx->device_lock);
    copse_device *const open[2] = {ctx->gpu, ctx->emulated};
    pthread_mutex_unlock(&ctx->device_lock);
    *out = NULL;
    if (!open[0] && copse_device_owns(memory)) return copse_device_get(ctx, COPSE_PLACEMENT_GPU, out);
    for (int i = 0; i < 2; i++) {
        if (!open[i]) continue;
        copse_memory_kind kind = copse_device_kind(open[i], memory);
        if (kind == COPSE_MEMORY_DEVICE || kind == COPSE_MEMORY_FOREIGN) *out = open[i];
    }
    return COPSE_OK;
}

copse_status copse_take_array(copse_ctx *ctx, void *to, const void *from, uint64_t bytes)
{
    copse_device *device = NULL;
    if (bytes == 0) return COPSE_OK;
    copse_status status = find_owner(ctx, from, &device);
    if (status != COPSE_OK) return status;
    if (device) return copse_device_read(device, device->main, to, from, bytes);
    memcpy(to, from, bytes);
    return COPSE_OK;
}
