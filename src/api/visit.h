/* Visits with operations: what their files share. */
#pragma once

#include "api/check.h"
#include "core/pass.h"

/* A pass by the tree, or over a scan: visit.c. */
copse_status copse_visit_pass(const copse_index *index, copse_pass *pass);
/* A pass over a scan, on the calling thread: visit_scan.c. */
copse_status copse_visit_scan(const copse_index *index, copse_pass *pass);
/* A map in place for trees that have none of their own: visit_rewrite.c. */
copse_status copse_visit_rewrite(copse_index *index, copse_pass *pass);
/* The `capacity` largest or smallest values: visit_top.c. `pass` has the range and the arrays. */
copse_status copse_visit_top(const copse_index *index, copse_pass *pass, bool largest);
/* Copies entries to one of the caller's arrays, which may be device memory: visit_scan.c. */
copse_status copse_visit_put(const copse_index *index, void *to, bool there, uint64_t at, size_t width,
                             const void *from, uint64_t n);
