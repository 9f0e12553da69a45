/* Updates of the regular tree of the object's widths. */
#include "trees/regular/cpu/update.h"
