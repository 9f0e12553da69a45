/* Template: the regular tree for one pair of widths, in the order in which its parts build on each other. */
#include "cpu/regular_table.inc.h"
#include "cpu/regular_build.inc.h"
#include "cpu/regular_update.inc.h"
#include "cpu/regular_read.inc.h"
