/* Where the parts of a file lie. */
#include "query/file/file.h"

#define ALIGNMENT 64u

static bool add(uint64_t *to, uint64_t more)
{
    return !__builtin_add_overflow(*to, more, to);
}

static bool align(uint64_t *at, uint64_t to)
{
    uint64_t rest = *at % to;
    return rest == 0 || add(at, to - rest);
}

static uint64_t bits_size(const table_layout *layout)
{
    return layout->header.slots / 8 + 1;
}

/* The sizes of the sections of a column. */
static bool sizes_of(const table_layout *layout, uint32_t column, uint64_t sizes[TABLE_SECTIONS])
{
    const table_column *c = &layout->columns[column];
    uint64_t width = copse_column_width(c->type);
    sizes[TABLE_VALIDITY] = c->nulls > 0 ? bits_size(layout) : 0;
    sizes[TABLE_TEXT] = c->type == COPSE_STRING ? c->text_size : 0;
    return width > 0 && !__builtin_mul_overflow(layout->header.slots, width, &sizes[TABLE_CELLS]);
}

static bool place(uint64_t *at, uint64_t size, table_section *out)
{
    *out = (table_section){*at, size};
    return add(at, size) && align(at, TABLE_BLOCK);
}

/* Blocks come before the sections, and their number is known behind them: two passes, the first from 0. */
static bool place_sections(table_layout *layout, uint64_t *at)
{
    uint64_t sizes[TABLE_SECTIONS] = {0};
    table_section placed;
    for (uint32_t i = 0; i < layout->header.column_count; i++) {
        if (!sizes_of(layout, i, sizes)) return false;
        for (unsigned which = 0; which < TABLE_SECTIONS; which++)
            if (!place(at, sizes[which], &placed)) return false;
    }
    return place(at, layout->header.live < layout->header.slots ? bits_size(layout) : 0, &layout->alive);
}

bool table_layout_find(table_layout *layout)
{
    const table_header *h = &layout->header;
    uint64_t at = h->header_size, sections = 0;
    uint64_t directory =
        (uint64_t)h->column_count * sizeof(table_column) + (uint64_t)h->index_count * sizeof(table_index);
    if (!add(&directory, h->names_size)) return false;
    layout->directory = (table_section){at, directory};
    if (!add(&at, directory) || !align(&at, ALIGNMENT) || !place_sections(layout, &sections)) return false;
    layout->block_count = sections / TABLE_BLOCK;
    layout->checksums = (table_section){at, layout->block_count * sizeof(uint64_t)};
    if (!add(&at, layout->checksums.size) || !align(&at, TABLE_BLOCK)) return false;
    layout->sections_at = at;
    if (!add(&layout->alive.offset, at) || !add(&at, sections)) return false;
    layout->indexes_at.offset = at;
    for (uint32_t i = 0; i < h->index_count; i++)
        if (!add(&at, layout->indexes[i].size) || !align(&at, TABLE_BLOCK)) return false;
    layout->indexes_at.size = at - layout->indexes_at.offset;
    layout->header.file_size = at;
    return true;
}

table_section table_layout_section(const table_layout *layout, uint32_t column, unsigned which)
{
    uint64_t sizes[TABLE_SECTIONS] = {0}, at = layout->sections_at;
    table_section placed = {0};
    for (uint32_t i = 0; i <= column; i++) {
        (void)sizes_of(layout, i, sizes);
        for (unsigned s = 0; s < TABLE_SECTIONS; s++) {
            (void)place(&at, sizes[s], &placed);
            if (i == column && s == which) return placed;
        }
    }
    return placed;
}

table_section table_layout_index(const table_layout *layout, uint32_t index)
{
    uint64_t at = layout->indexes_at.offset;
    table_section placed = {0};
    for (uint32_t i = 0; i <= index; i++) (void)place(&at, layout->indexes[i].size, &placed);
    return placed;
}

uint64_t table_header_checksum(const table_header *header)
{
    return snapshot_checksum(header, offsetof(table_header, checksum));
}
