/* Updates that cut stretches of entries out: the route, and what is left of a leaf. Leaves of which nothing is left are not read. */
#pragma once

#include "trees/regular/cpu/read.h"
#include "trees/regular/cpu/update_plan.h"

/* First and last entry of a stretch. */
typedef struct cut_ends {
    uint64_t first, last; /* slots     */
    uint32_t from, to;    /* positions */
} cut_ends;

static inline cut_ends cut_ends_of(const copse_page_directory *table, const copse_stretch *stretch)
{
    cut_ends ends;
    (void)regular_at(table, stretch->first, &ends.first, &ends.from); /* it has entries */
    (void)regular_before(table, stretch->end, &ends.last, &ends.to);
    return ends;
}

/* Positions of the leaf in a slot that a stretch takes: *from .. the result. */
static inline uint32_t cut_of(const copse_page_directory *table, const copse_stretch *stretch, uint64_t slot,
                              uint32_t *from)
{
    const cut_ends ends = cut_ends_of(table, stretch);
    *from = slot == ends.first ? ends.from : 0;
    return slot == ends.last ? ends.to + 1 : slot_count(table, slot);
}

/* Stretch i touches a page; `slots` of it. */
static void cut_page(update_plan *u, uint64_t page, uint64_t slots, uint64_t i)
{
    page_change *last = u->page_changes ? &u->page_change[u->page_changes - 1] : NULL;
    if (!last || last->page != page) {
        u->page_change[u->page_changes++] = (page_change){.page = page, .first = i, .leaf_change = u->leaf_changes};
        last = &u->page_change[u->page_changes - 1];
    }
    const uint64_t room = last->leaf_changes + slots < PAGE_SLOTS ? slots : PAGE_SLOTS - last->leaf_changes;
    last->n++;
    last->leaf_changes += room;
    u->leaf_changes += room;
}

/* Cuts the stretches by page. */
static void pages_of_stretches(const copse_regular *tree, update_plan *u, uint64_t n)
{
    const copse_page_directory *table = &tree->table;
    for (uint64_t i = 0; i < n; i++) {
        const cut_ends ends = cut_ends_of(table, &u->stretch[i]);
        const uint64_t first = ends.first >> COPSE_PAGE_SHIFT, last = ends.last >> COPSE_PAGE_SHIFT;
        for (uint64_t page = first; page <= last; page++) {
            const uint64_t from = page == first ? slot_at(ends.first) : 0;
            const uint64_t to = page == last ? slot_at(ends.last) + 1u : table_page(table, page)->used;
            cut_page(u, page, to - from, i);
        }
    }
}

/* Cuts changes of pages by leaf, and counts what is left. */
static void route_cuts(void *argument, uint64_t first, uint64_t last)
{
    const update_job *job = argument;
    const update_plan *u = job->u;
    const copse_page_directory *table = &job->tree->table;
    for (const page_change *p = u->page_change + first; p < u->page_change + last; p++) {
        leaf_change *room = u->leaf_change + p->leaf_change, *to = room, *end = room + p->leaf_changes;
        const uint64_t page_first = slot_of(p->page, 0),
                       page_last = slot_of(p->page, table_page(table, p->page)->used - 1u);
        for (uint64_t i = p->first; i < p->first + p->n; i++) {
            const cut_ends ends = cut_ends_of(table, &u->stretch[i]);
            uint64_t slot = ends.first > page_first ? ends.first : page_first;
            for (; slot <= page_last && slot <= ends.last; slot++) {
                uint32_t from, until = cut_of(table, &u->stretch[i], slot, &from);
                if (to == room || to[-1].slot != slot)
                    *to++ = (leaf_change){.slot = slot, .first = i, .count = slot_count(table, slot), .counted = true};
                to[-1].n++;
                to[-1].count -= until - from;
            }
        }
        for (; to < end; to++) to->n = 0;
    }
}

/* What is left of a leaf, with `count` entries before, to the sink. */
static void cut_write(const copse_page_directory *table, const update_plan *u, const leaf_change *s,
                      const copse_unit *units, uint32_t count, merge_sink *sink)
{
    uint32_t at = 0;
    for (uint64_t i = s->first; i <= s->first + s->n; i++) {
        uint32_t from = count, until = count;
        if (i < s->first + s->n) until = cut_of(table, &u->stretch[i], s->slot, &from);
        for (; at < from; at++) sink_put(sink, unit_key(units, at), units[at / UNIT_ENTRIES].values[at % UNIT_ENTRIES]);
        at = until;
    }
}
