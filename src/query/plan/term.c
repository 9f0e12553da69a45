/* Ranges that have something in common. */
#include "query/plan/plan.h"

/* The one that leaves less of the range. */
static copse_text_end tighter(copse_text_end a, copse_text_end b, bool is_low)
{
    if (!a.given || !b.given) return a.given ? a : b;
    int order = copse_slice_compare(a.text, b.text);
    if (order == 0) return a.open ? a : b;
    return (order > 0) == is_low ? a : b;
}

static bool nothing_between(const copse_text_end *low, const copse_text_end *high)
{
    if (!low->given || !high->given) return false;
    int order = copse_slice_compare(low->text, high->text);
    return order > 0 || (order == 0 && (low->open || high->open));
}

void copse_term_intersect(copse_term *term, const copse_term *other)
{
    term->empty |= other->empty;
    if (term->is_text) {
        term->low_text = tighter(term->low_text, other->low_text, true);
        term->high_text = tighter(term->high_text, other->high_text, false);
        term->empty |= nothing_between(&term->low_text, &term->high_text);
        return;
    }
    if (other->low > term->low) term->low = other->low;
    if (other->high < term->high) term->high = other->high;
    term->empty |= term->low > term->high;
}

bool copse_term_is_ranges(const copse_term *term)
{
    return term->kind == COPSE_TERM_RANGE || term->kind == COPSE_TERM_LIST;
}
