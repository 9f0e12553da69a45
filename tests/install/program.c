/* A program of a user: builds an index, looks up, sums, and says so only if every answer is right. */
#include <copse.h>
#include <stdio.h>
#include <string.h>

int main(void)
{
    const uint64_t keys[] = {30, 10, 20};
    const uint64_t values[] = {3, 1, 2};
    const uint64_t wanted[] = {20, 25};
    const uint64_t low = 10, high = 30;
    uint64_t found_values[2] = {9, 9}, sum = 0;
    uint8_t found[2] = {9, 9};
    copse_ctx *ctx = NULL;
    copse_index *index = NULL;
    copse_index_options options = COPSE_INDEX_OPTIONS_INIT;

    int ok = strcmp(copse_version(), COPSE_VERSION) == 0 && copse_ctx_create(NULL, &ctx) == COPSE_OK &&
             copse_index_create(ctx, &options, &index) == COPSE_OK && copse_build(index, keys, values, 3) == COPSE_OK &&
             copse_find(index, wanted, 2, found_values, found) == COPSE_OK &&
             copse_sum(index, &(copse_ranges)COPSE_BETWEEN(&low, &high, 1), &sum) == COPSE_OK;
    if (!ok) fprintf(stderr, "a call failed: %s\n", copse_last_error(ctx));
    ok = ok && found[0] == 1 && found_values[0] == 2 && found[1] == 0 && found_values[1] == 0 && sum == 6;
    copse_index_free(index);
    copse_ctx_free(ctx);
    puts(ok ? "right" : "wrong");
    return ok ? 0 : 1;
}
