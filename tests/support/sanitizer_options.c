/* Options that AddressSanitizer starts with in every test program; ASAN_OPTIONS still overrides them. */

const char *__asan_default_options(void);

/* LeakSanitizer (clang 14) crashes now and then when it walks the thread-local blocks of other threads as the program ends.
 * It finds leaks as well without them: nothing here is only reachable from such a block. */
__attribute__((used, visibility("default"))) const char *__asan_default_options(void)
{
    return "intercept_tls_get_addr=0";
}
