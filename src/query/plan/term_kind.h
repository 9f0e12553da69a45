/* What a condition asks of a cell; kernels know it, too. */
#pragma once

typedef enum copse_term_kind {
    COPSE_TERM_RANGE,
    COPSE_TERM_LIST, /* IN */
    COPSE_TERM_NOT,  /* not equal: a list of one that must not match */
    COPSE_TERM_NULL,
    COPSE_TERM_NOT_NULL
} copse_term_kind;
