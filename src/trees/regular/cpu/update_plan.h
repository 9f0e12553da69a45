/* What an update of the regular tree knows: update.h. */
#pragma once

#include "trees/regular/cpu/table.h"
#include "core/threads.h"
#include "cpu/driver.h"
#include "cpu/merge.h"

/* What an update does to one leaf. */
typedef struct leaf_change {
    uint64_t slot;
    uint64_t first, n; /* of the batch, or of the stretches to be cut out; n == 0: nothing */
    uint64_t count;    /* entries afterwards, or while it is not counted the most that they can be */
    bool counted; /* not where all of them fit, whichever are there already: then the leaf is only read to be written */
    bool values_only; /* every key is there already */
    bool run;         /* all keys are new and lie between two neighbours of the leaf, */
    uint8_t run_at;   /* and these are the entries in front of them */
    bool in_edit;
} leaf_change;

enum { EDIT_MEMBERS = 3 };

/* Leaves of one page that become other leaves. An even edit merges its members with the batch and shares the result equally. A
 * packed one has one member, into which a run falls: the leaf is cut there, and the run fills leaves of its own behind what stood
 * in front of it. So keys that come in order leave full leaves behind, wherever in the tree that happens. One that joins has any number
 * of members, of which one leaf is left, or none. */
typedef struct leaf_edit {
    uint64_t slot; /* of the first member */
    uint32_t members;
    uint8_t count[EDIT_MEMBERS];
    bool packed, joins;
    uint8_t run_at;
    uint64_t leaf_change;                          /* joins: the first of its changes */
    char *leaf[EDIT_MEMBERS];                      /* joins: only the first */
    uint64_t first[EDIT_MEMBERS], n[EDIT_MEMBERS]; /* of the batch */
    uint64_t total;                                /* entries afterwards */
    uint64_t out, fresh; /* position of its first leaf in the update's list, and of the first new one */
    uint64_t leaves;
} leaf_edit;

/* What an update does to one page. */
typedef struct page_change {
    uint64_t page;
    uint64_t first, n; /* of the batch, where routes are cut by page */
    uint64_t leaf_change, leaf_changes;
    uint64_t edit, edits;
    uint64_t out, outs;                /* leaves that the edits write */
    uint64_t fresh, freshes;           /* of them, those that are new */
    uint64_t leaves;                   /* of the page afterwards */
    int64_t more_leaves, more_entries; /* than before */
    uint64_t start, members; /* pages that become others, this one among them; 0: another change has taken it */
    uint64_t page_out, page_outs;
    uint64_t now; /* where they stand in the directory afterwards */
    bool packed;
    char *emptied; /* leaves that went because pages joined, a list through their first bytes */
    uint64_t emptied_leaves;
} page_change;

typedef struct update_plan {
    const copse_batch *batch;
    merge_kind kind;
    const copse_stretch *stretch; /* instead of a batch: entries that go */
    uint64_t work;                /* pairs of the batch, or entries of the stretches */
    uint32_t threads;
    page_change *page_change;
    uint64_t page_changes, page_change_room;
    leaf_change *leaf_change;
    uint64_t leaf_changes, leaf_change_room;
    leaf_edit *edit;
    uint64_t edits, edit_room;
    copse_unit **out_units; /* all leaves that edits write */
    uint8_t *out_fill;
    uint64_t outs, out_room;
    char **fresh; /* those of them that are new */
    uint64_t freshes, fresh_room;
    char **out_page; /* all pages that changes write, their own first */
    uint64_t page_outs, page_out_room;
    uint64_t taken, pages_taken; /* new leaves, and pages, of the lists above that are filled in */
    uint64_t entries_after, leaves_after, pages_after;
    uint64_t first_moved; /* page from which on pages change their places; as many as there are: none does */
    void *old_rows;       /* room for what a directory has of the pages from there on */
    uint64_t old_room, pages_before;
    bool new_table;
    copse_page_directory table;
} update_plan;

typedef struct update_job {
    const copse_index *index;
    copse_regular *tree;
    update_plan *u;
    bool write;
} update_job;

static inline bool kind_erases(merge_kind kind)
{
    return kind == MERGE_ERASE || kind == MERGE_MIXED || kind == MERGE_GROUPS;
}
