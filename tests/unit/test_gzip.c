/* gzip data as a source of bytes: members, padding, cuts and damage, however the source hands out its bytes. */
#include "unit.h"

#include "io/gzip.h"

#ifdef COPSE_HAVE_ZLIB

#include <errno.h>
#include <zlib.h>

typedef struct drip {
    const unsigned char *bytes;
    size_t left;
    size_t step;
    int error; /* at the end */
} drip;

static size_t read_drip(void *user, void *buffer, size_t size, int *out_error)
{
    drip *source = user;
    size_t n = source->left < source->step ? source->left : source->step;
    if (n > size) n = size;
    if (n == 0) *out_error = source->error;
    if (n > 0) memcpy(buffer, source->bytes, n);
    source->bytes += n;
    source->left -= n;
    return n;
}

/* Appends one member. Returns its size. */
static size_t compress_member(const void *text, size_t size, unsigned char *out, size_t room)
{
    z_stream stream = {0};
    assert_int_equal(deflateInit2(&stream, 6, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY), Z_OK);
    stream.next_in = (unsigned char *)(uintptr_t)text;
    stream.avail_in = (uInt)size;
    stream.next_out = out;
    stream.avail_out = (uInt)room;
    assert_int_equal(deflate(&stream, Z_FINISH), Z_STREAM_END);
    size_t written = stream.total_out;
    deflateEnd(&stream);
    return written;
}

/* All the text, ended by a NUL; "!" and the sentence behind what came before a failure. */
static char *expand(const unsigned char *bytes, size_t size, size_t step, size_t at_once, int error)
{
    drip source = {bytes, size, step, error};
    copse_gzip *gzip = NULL;
    size_t capacity = (size_t)1 << 20, at = 0;
    char *out = must_malloc(capacity);
    assert_int_equal(copse_gzip_open(read_drip, &source, &gzip, NULL, 0), COPSE_OK);
    for (;;) {
        int failed = 0;
        assert_true(at + at_once + 256 < capacity);
        size_t got = copse_gzip_read(gzip, out + at, at_once, &failed);
        at += got;
        out[at] = '\0';
        if (failed) {
            assert_int_equal(got, 0);
            (void)snprintf(out + at, 256, "!%s", *copse_gzip_error(gzip) ? copse_gzip_error(gzip) : strerror(failed));
            int again = 0;
            assert_int_equal(copse_gzip_read(gzip, out + at + 256, 1, &again), 0);
            assert_int_equal(again, failed);
            break;
        }
        if (got == 0) break;
    }
    copse_gzip_close(gzip);
    return out;
}

static void expect(const unsigned char *bytes, size_t size, const char *expected)
{
    static const size_t steps[] = {1, 2, 7, 1000000};
    for (size_t s = 0; s < COUNT_OF(steps); s++)
        for (size_t o = 0; o < COUNT_OF(steps) - 1; o++) {
            char *got = expand(bytes, size, steps[s], steps[o] * 3, 0);
            assert_string_equal(got, expected);
            free(got);
        }
}

static void joins_members(void **state)
{
    unsigned char bytes[1024];
    size_t size = compress_member("one,", 4, bytes, sizeof bytes);
    (void)state;
    expect(bytes, size, "one,");
    size += compress_member("", 0, bytes + size, sizeof bytes - size);
    size += compress_member("two", 3, bytes + size, sizeof bytes - size);
    expect(bytes, size, "one,two");
    memset(bytes + size, 0, 512);
    expect(bytes, size + 512, "one,two");
}

static void names_what_is_wrong(void **state)
{
    unsigned char bytes[1024];
    size_t size = compress_member("one two three one two three", 27, bytes, sizeof bytes);
    (void)state;
    for (size_t cut = 1; cut < size; cut++) {
        char *got = expand(bytes, cut, 1000, 1000, 0);
        const char *sentence = strchr(got, '!');
        assert_non_null(sentence);
        assert_string_equal(sentence, "!the gzip data ends in the middle: the file is not complete");
        free(got);
    }
    bytes[size] = 'x';
    bytes[size + 1] = 'y';
    expect(bytes, size + 2,
           "one two three one two three!there is something behind the end of the gzip data that is not "
           "gzip data");
    bytes[size - 6] ^= 1; /* the checksum */
    char *got = expand(bytes, size, 1000, 1000, 0);
    assert_non_null(strstr(got, "!the gzip data is damaged: incorrect data check"));
    free(got);
}

/* Every flipped bit is named or changes nothing; none of them goes astray. */
static void survives_damage(void **state)
{
    static const char text[] = "id,amount\n1,2\n3,4\n";
    unsigned char bytes[1024];
    size_t size = compress_member(text, sizeof text - 1, bytes, sizeof bytes);
    (void)state;
    for (size_t bit = 0; bit < size * 8; bit++) {
        bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
        char *got = expand(bytes, size, 3, 1000, 0);
        if (!strchr(got, '!')) assert_string_equal(got, text);
        free(got);
        bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
    }
}

static void passes_read_errors_on(void **state)
{
    unsigned char bytes[1024];
    size_t size = compress_member("one", 3, bytes, sizeof bytes);
    (void)state;
    char *got = expand(bytes, size / 2, 1000, 1000, ENXIO);
    assert_string_equal(strchr(got, '!') + 1, strerror(ENXIO));
    free(got);
    assert_true(copse_gzip_is("\x1F\x8B", 2) && !copse_gzip_is("\x1F\x8B", 1) && !copse_gzip_is("id", 2));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(joins_members),
        cmocka_unit_test(names_what_is_wrong),
        cmocka_unit_test(survives_damage),
        cmocka_unit_test(passes_read_errors_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

static void says_what_to_install(void **state)
{
    copse_gzip *gzip = NULL;
    char message[256];
    (void)state;
    assert_int_equal(copse_gzip_open(NULL, NULL, &gzip, message, sizeof message), COPSE_ERR_UNSUPPORTED);
    assert_null(gzip);
    assert_non_null(strstr(message, "zlib1g-dev"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(says_what_to_install)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#endif
