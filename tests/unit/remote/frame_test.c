/* SPDX-License-Identifier: MIT */
#include <cairn/remote.h>

#include "base/buffer.h"
#include "support/test.h"

static int add(void *out, const void *bytes, size_t size)
{
    cairn_buffer_add(out, bytes, size);
    return 0;
}

/* A banner, the magic and two frames, as a far end sends them. */
static struct cairn_buffer stream(const char *banner)
{
    struct cairn_buffer out = {0};
    struct cairn_err err;
    cairn_buffer_str(&out, banner);
    assert_ok(cairn_remote_write_magic(add, &out, &err), err);
    assert_ok(cairn_remote_write(CAIRN_REMOTE_OUT, "a\nb\r\nc\r", 7, add, &out, &err), err);
    assert_ok(cairn_remote_write(CAIRN_REMOTE_BEAT, NULL, 0, add, &out, &err), err);
    return out;
}

/* What every piece size makes of the bytes: an OUT with that text, then a BEAT. */
static void expect_frames(const struct cairn_buffer *bytes, size_t piece)
{
    struct cairn_remote_reader *reader;
    struct cairn_remote_frame frame = {.size = sizeof frame};
    struct cairn_err err;
    size_t n = 0;
    assert_ok(cairn_remote_reader_new(1, &reader, &err), err);
    for (size_t at = 0; at < bytes->size; at += piece) {
        size_t size = bytes->size - at < piece ? bytes->size - at : piece;
        int code;
        assert_ok(cairn_remote_reader_add(reader, bytes->data + at, size, &err), err);
        while ((code = cairn_remote_reader_next(reader, &frame, &err)) == 1) {
            assert_int_equal(frame.kind, n == 0 ? CAIRN_REMOTE_OUT : CAIRN_REMOTE_BEAT);
            if (n++ == 0) {
                assert_int_equal(frame.data_size, 7);
                assert_memory_equal(frame.data, "a\nb\r\nc\r", 7);
            }
        }
        assert_ok(code, err);
    }
    assert_int_equal(n, 2);
    assert_null(cairn_remote_reader_absent(reader));
    cairn_remote_reader_free(reader);
}

static void frames_come_in_pieces_of_any_size(void **state)
{
    (void)state;
    struct cairn_buffer bytes = stream("");
    for (size_t piece = 1; piece <= bytes.size; piece++)
        expect_frames(&bytes, piece);
    cairn_buffer_done(&bytes);
}

static void a_banner_does_not_disturb_even_where_it_looks_like_a_start(void **state)
{
    (void)state;
    struct cairn_buffer out = {0}, rest = stream("motd\r\ncairn far end 1\n");
    cairn_buffer_add(&out, "\0cairn far\0\0cairn far end x\n", 28);
    cairn_buffer_add(&out, rest.data, rest.size);
    for (size_t piece = 1; piece <= out.size; piece++)
        expect_frames(&out, piece);
    cairn_buffer_done(&out);
    cairn_buffer_done(&rest);
}

/* Old adb and terminals: each \n is \r\n. */
static void line_ends_that_a_terminal_made_are_undone(void **state)
{
    (void)state;
    struct cairn_buffer out = {0}, bytes = stream("hello\n");
    for (size_t i = 0; i < bytes.size; i++) {
        if (bytes.data[i] == '\n')
            cairn_buffer_char(&out, '\r');
        cairn_buffer_char(&out, (char)bytes.data[i]);
    }
    for (size_t piece = 1; piece <= out.size; piece++)
        expect_frames(&out, piece);
    cairn_buffer_done(&out);
    cairn_buffer_done(&bytes);
}

static int read_all(const void *bytes, size_t size, int from_far, struct cairn_err *err)
{
    struct cairn_remote_reader *reader;
    struct cairn_remote_frame frame = {.size = sizeof frame};
    int code = cairn_remote_reader_new(from_far, &reader, err);
    if (code == CAIRN_OK)
        code = cairn_remote_reader_add(reader, bytes, size, err);
    while (code >= 0 && (code = cairn_remote_reader_next(reader, &frame, err)) == 1)
        ;
    cairn_remote_reader_free(reader);
    return code;
}

static void what_is_no_frame_is_refused_at_its_head(void **state)
{
    (void)state;
    struct cairn_err err;
    assert_int_equal(read_all("\5\377\377\377\377", 5, 0, &err), CAIRN_E_LIMIT);
    assert_string_equal(err.msg, "a frame of 4294967295 bytes, at most 1048576 are allowed");
    assert_int_equal(read_all("\0\0\0\0\0", 5, 0, &err), CAIRN_E_FORMAT);
    assert_int_equal(read_all("\12\0\0\0\0", 5, 0, &err), CAIRN_E_FORMAT);
    assert_string_equal(err.msg, "a frame of kind 10, expected 1 to 9");
    assert_int_equal(read_all("\0cairn far end 2\n", 17, 1, &err), CAIRN_E_SUPPORT);
    assert_int_equal(read_all("\5\0\0\20\0", 5, 0, &err), 0); /* 1 MiB, to come */
}

static void a_far_end_that_only_talks_is_given_up(void **state)
{
    (void)state;
    struct cairn_err err;
    char *text = calloc(1, CAIRN_REMOTE_BANNER_MAX + 2); /* the last NUL may begin a magic */
    memset(text, 'x', CAIRN_REMOTE_BANNER_MAX + 1);
    assert_int_equal(read_all(text, CAIRN_REMOTE_BANNER_MAX, 1, &err), 0);
    assert_int_equal(read_all(text, CAIRN_REMOTE_BANNER_MAX + 1, 1, &err), CAIRN_E_LIMIT);
    memset(text, 0, CAIRN_REMOTE_BANNER_MAX + 2);
    assert_int_equal(read_all(text, CAIRN_REMOTE_BANNER_MAX + 2, 1, &err), CAIRN_E_LIMIT);
    free(text);
}

static void a_script_that_found_nothing_says_what_is_there(void **state)
{
    (void)state;
    static const char said[] = "motd\0cairn far end 0\nLinux aarch64 /tmp/x y\n";
    struct cairn_remote_reader *reader;
    struct cairn_remote_frame frame = {.size = sizeof frame};
    struct cairn_buffer rest = stream("");
    struct cairn_err err;
    assert_ok(cairn_remote_reader_new(1, &reader, &err), err);
    assert_ok(cairn_remote_reader_add(reader, said, sizeof said - 1, &err), err);
    assert_int_equal(cairn_remote_reader_next(reader, &frame, &err), 0);
    assert_string_equal(cairn_remote_reader_absent(reader), "Linux aarch64 /tmp/x y");
    cairn_remote_reader_restart(reader);
    assert_null(cairn_remote_reader_absent(reader));
    assert_ok(cairn_remote_reader_add(reader, rest.data, rest.size, &err), err);
    assert_int_equal(cairn_remote_reader_next(reader, &frame, &err), 1);
    assert_int_equal(frame.kind, CAIRN_REMOTE_OUT);
    cairn_remote_reader_free(reader);
    cairn_buffer_done(&rest);
}

static void a_frame_that_is_too_large_is_not_written(void **state)
{
    (void)state;
    struct cairn_buffer out = {0};
    struct cairn_err err;
    assert_int_equal(
        cairn_remote_write(CAIRN_REMOTE_OUT, "", CAIRN_REMOTE_FRAME_MAX + 1, add, &out, &err),
        CAIRN_E_LIMIT);
    assert_int_equal(out.size, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_come_in_pieces_of_any_size),
        cmocka_unit_test(a_banner_does_not_disturb_even_where_it_looks_like_a_start),
        cmocka_unit_test(line_ends_that_a_terminal_made_are_undone),
        cmocka_unit_test(what_is_no_frame_is_refused_at_its_head),
        cmocka_unit_test(a_far_end_that_only_talks_is_given_up),
        cmocka_unit_test(a_script_that_found_nothing_says_what_is_there),
        cmocka_unit_test(a_frame_that_is_too_large_is_not_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
