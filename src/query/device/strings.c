/* Strings of a table on a device: numbers that sort as they do, so that conditions, orders, groups and joins of strings are those of numbers.
 *
 *   host     texts       pear apple pear kiwi        words    apple kiwi pear        each once, in their order
 *   device   cells       2    0     2    1
 *
 * They are made when a query first needs them, and again after a change of the column.
 */
#include "query/device/device.h"

/* Threads may ask at the same time, and rarely do: one lock for all tables is enough. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

copse_stored_column copse_card_words(const copse_table *table, uint32_t column)
{
    copse_stored_column words = table->columns[column];
    words.cells = table->image->columns[column].words;
    words.nulls = 0;
    words.file = NULL; /* the texts have been looked at */
    return words;
}

uint64_t copse_card_rank(const copse_table *table, uint32_t column, copse_slice text, bool *out_exact)
{
    const copse_stored_column words = copse_card_words(table, column);
    uint64_t low = 0, high = table->image->columns[column].word_count;
    *out_exact = false;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        int order = copse_slice_compare(copse_cell_text(&words, middle), text);
        if (order == 0) *out_exact = true;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Rows that have a text, in the order of the texts. */
static copse_status order_rows(const copse_table *table, uint32_t column, copse_buffer *out, uint64_t *out_n)
{
    const copse_stored_column *from = &table->columns[column];
    const copse_sort_key key = {column, false};
    uint64_t n = 0;
    copse_status status =
        copse_buffer_reserve(table->ctx, out, table->slots + 1, sizeof(uint32_t), "the strings of a column");
    if (status != COPSE_OK) return status;
    copse_cells_touch(from, NULL, table->slots);
    for (uint64_t i = 0; i < table->slots; i++)
        if (copse_cell_valid(from, i)) ((uint32_t *)out->data)[n++] = (uint32_t)i;
    *out_n = n;
    status = copse_group_rows(table, &key, 1, out->data, n, NULL);
    return status == COPSE_OK ? copse_table_sound(table) : status;
}

static copse_status number_words(const copse_table *table, uint32_t column, const copse_buffer *rows, uint64_t n,
                                 copse_buffer *codes)
{
    const copse_stored_column *from = &table->columns[column];
    copse_image_column *own = &table->image->columns[column];
    const uint32_t *row = rows->data;
    copse_status status =
        copse_buffer_reserve(table->ctx, codes, table->slots + 1, sizeof(uint32_t), "the strings of a column");
    if (status != COPSE_OK) return status;
    memset(codes->data, 0, (table->slots + 1) * sizeof(uint32_t));
    own->word_count = 0;
    for (uint64_t i = 0; status == COPSE_OK && i < n; i++) {
        if (i == 0 || copse_cell_compare(from, row[i - 1], from, row[i]) != 0) {
            status = copse_buffer_reserve(table->ctx, &own->words, own->word_count + 1, sizeof(copse_text),
                                          "the strings of a column");
            if (status != COPSE_OK) return status;
            ((copse_text *)own->words.data)[own->word_count++] = ((const copse_text *)from->cells.data)[row[i]];
        }
        ((uint32_t *)codes->data)[row[i]] = (uint32_t)(own->word_count - 1);
    }
    return status;
}

static copse_status make(const copse_table *table, uint32_t column)
{
    copse_table_image *image = table->image;
    copse_image_column *own = &image->columns[column];
    copse_device *device = image->device;
    copse_buffer rows = {0}, codes = {0};
    uint64_t n = 0;
    copse_status status = order_rows(table, column, &rows, &n);
    if (status == COPSE_OK) status = number_words(table, column, &rows, n, &codes);
    if (status == COPSE_OK && !own->cells) {
        own->cell_bytes = copse_memory_product(image->capacity + 1, sizeof(uint32_t));
        status =
            copse_device_alloc(device, device->main, own->cell_bytes, "the strings of a column", (void **)&own->cells);
    }
    if (status == COPSE_OK)
        status = copse_device_copy(device, device->main, own->cells, codes.data, (table->slots + 1) * sizeof(uint32_t));
    if (status == COPSE_OK) status = copse_device_wait(device, device->main);
    copse_buffer_free(table->ctx, &rows);
    copse_buffer_free(table->ctx, &codes);
    return status;
}

copse_status copse_card_strings(const copse_table *table, uint32_t column)
{
    copse_status status = COPSE_OK;
    if (column == COPSE_NO_COLUMN || !copse_column_is_text(&table->columns[column])) return COPSE_OK;
    pthread_mutex_lock(&lock);
    copse_image_column *own = &table->image->columns[column];
    if (!own->numbered) {
        status = make(table, column);
        if (status == COPSE_OK) __atomic_store_n(&own->numbered, true, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&lock);
    return status;
}

/* The number that each word of the left side has on the right, UINT32_MAX: none; or how many words there are no larger. */
static copse_status match_words(const copse_table *left, uint32_t left_column, const copse_table *right,
                                uint32_t right_column, bool near, copse_buffer *out)
{
    const copse_stored_column words = copse_card_words(left, left_column);
    const uint64_t n = left->image->columns[left_column].word_count;
    copse_status status = copse_buffer_reserve(left->ctx, out, n + 1, sizeof(uint32_t), "the strings of a join");
    if (status != COPSE_OK) return status;
    uint32_t *numbers = out->data;
    numbers[n] = UINT32_MAX;
    for (uint64_t i = 0; i < n; i++) {
        bool exact = false;
        uint64_t rank = copse_card_rank(right, right_column, copse_cell_text(&words, i), &exact);
        numbers[i] = near ? (uint32_t)(rank + exact) : exact ? (uint32_t)rank : UINT32_MAX;
    }
    return COPSE_OK;
}

copse_status copse_card_left_column(const copse_table *left, uint32_t left_column, const copse_table *right,
                                    uint32_t right_column, bool near, copse_card_memory *memory, copse_card_column *out)
{
    copse_device *device = memory->device;
    copse_buffer numbers = {0};
    uint32_t *map = NULL, *cells = NULL;
    copse_status status = copse_card_strings(left, left_column);
    if (status == COPSE_OK) status = copse_card_strings(right, right_column);
    *out = copse_card_column_of(left, left_column);
    if (status != COPSE_OK || !copse_column_is_text(&left->columns[left_column])) return status;
    status = match_words(left, left_column, right, right_column, near, &numbers);
    const uint64_t count = left->image->columns[left_column].word_count + 1;
    if (status == COPSE_OK) status = copse_card_take(memory, count, sizeof *map, &map);
    if (status == COPSE_OK) status = copse_card_take(memory, left->slots, sizeof *cells, &cells);
    if (status == COPSE_OK) status = copse_device_copy(device, device->main, map, numbers.data, count * sizeof *map);
    const copse_card_pick_arguments pick = {out->cells, left->slots, NULL, NULL, map, cells};
    if (status == COPSE_OK)
        status = copse_card_launch(device, &copse_card_kernels_on(device)->pick, left->slots, &pick);
    if (status == COPSE_OK) status = copse_device_wait(device, device->main); /* the numbers go */
    copse_buffer_free(left->ctx, &numbers);
    out->cells = cells;
    return status;
}
