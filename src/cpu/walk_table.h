/* The walks of this object as a row of the tables in walk.c, for walk_scalar_by_width.c and its like. */
#ifndef COPSE_CPU_WALK_TABLE_H
#define COPSE_CPU_WALK_TABLE_H

#include "cpu/walk.h"
#include "cpu/walk_implicit.h"
#include "cpu/walk_regular.h"

#define WALK_TABLE                                                                                                     \
    {                                                                                                                  \
        .implicit_find = walk_implicit_find, .regular_find = walk_regular_find,                                        \
        .implicit_locate = walk_implicit_locate, .regular_locate = walk_regular_locate,                                \
        .implicit_count = walk_implicit_count, .implicit_sum = walk_implicit_sum                                       \
    }

#endif
