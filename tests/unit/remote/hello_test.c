/* SPDX-License-Identifier: MIT */
/* What both ends say first: who answers, and what is to run. */
#include <cairn/remote.h>

#include "base/buffer.h"
#include "support/test.h"

enum { HEAD_BYTES = 5 };

static int add(void *out, const void *bytes, size_t size)
{
    cairn_buffer_add(out, bytes, size);
    return 0;
}

static int read_hello(const char *text, struct cairn_remote_hello *ret_hello, struct cairn_err *err)
{
    ret_hello->size = sizeof *ret_hello;
    return cairn_remote_read_hello(text, strlen(text), ret_hello, err);
}

static void a_hello_comes_back_as_it_was_written(void **state)
{
    (void)state;
    struct cairn_remote_hello hello = {.size = sizeof hello,
                                       .cairn = "0.1.0",
                                       .machine = "aarch64",
                                       .host = "db1",
                                       .uid = 1000,
                                       .abilities = 0x1ff,
                                       .features = "names"};
    struct cairn_remote_hello got = {.size = sizeof got};
    struct cairn_buffer out = {0};
    struct cairn_err err;
    assert_ok(cairn_remote_write_hello(&hello, add, &out, &err), err);
    assert_ok(cairn_remote_read_hello(out.data + HEAD_BYTES, out.size - HEAD_BYTES, &got, &err),
              err);
    hello.version = CAIRN_REMOTE_VERSION;
    assert_memory_equal(&hello, &got, sizeof hello);
    cairn_buffer_done(&out);
}

static void a_hello_may_say_more_but_not_less(void **state)
{
    (void)state;
    struct cairn_remote_hello hello;
    struct cairn_err err;
    assert_ok(read_hello("new thing\nprotocol 1\n\nnothing\ncairn 9\n", &hello, &err), err);
    assert_string_equal(hello.cairn, "9");
    assert_int_equal(read_hello("", &hello, &err), CAIRN_E_FORMAT);
    assert_int_equal(read_hello("protocol 1\n", &hello, &err), CAIRN_E_FORMAT);
    assert_int_equal(read_hello("cairn 9\nprotocol 7\n", &hello, &err), CAIRN_E_SUPPORT);
    assert_string_equal(err.msg, "cairn 9 there speaks version 7 of the protocol, not 1");
}

static void what_a_hello_says_cannot_steer_a_terminal(void **state)
{
    (void)state;
    char text[3000] = "protocol 1\ncairn 9\nhost \33[2Jx\n", *at = text + strlen(text);
    struct cairn_remote_hello hello;
    struct cairn_err err;
    memcpy(at, "machine ", 8);
    memset(at + 8, 'm', 2000);
    assert_ok(read_hello(text, &hello, &err), err);
    assert_string_equal(hello.host, "?[2Jx");
    assert_int_equal(strlen(hello.machine), sizeof hello.machine - 1);
}

static void a_command_line_comes_back_as_it_was_written(void **state)
{
    (void)state;
    char *words[] = {(char *)"stack", (char *)"--json", (char *)"", (char *)"a b", NULL};
    struct cairn_remote_run run = {
        .size = sizeof run, .wishes = 3, .columns = 80, .words = words, .n_words = 4};
    struct cairn_remote_run got = {.size = sizeof got};
    struct cairn_buffer out = {0};
    struct cairn_err err;
    assert_ok(cairn_remote_write_run(&run, add, &out, &err), err);
    assert_ok(cairn_remote_read_run(out.data + HEAD_BYTES, out.size - HEAD_BYTES, &got, &err), err);
    assert_int_equal(got.wishes, 3);
    assert_int_equal(got.columns, 80);
    assert_int_equal(got.n_words, 4);
    for (size_t i = 0; i < 4; i++)
        assert_string_equal(got.words[i], words[i]);
    assert_null(got.words[4]);
    cairn_remote_run_done(&got);
    cairn_buffer_done(&out);
}

static void a_command_line_without_an_end_is_refused(void **state)
{
    (void)state;
    struct cairn_remote_run run = {.size = sizeof run};
    struct cairn_err err;
    char many[CAIRN_REMOTE_WORDS_MAX + 3] = {0};
    assert_int_equal(cairn_remote_read_run("", 0, &run, &err), CAIRN_E_FORMAT);
    assert_int_equal(cairn_remote_read_run("\3\0", 2, &run, &err), CAIRN_E_FORMAT);
    assert_int_equal(cairn_remote_read_run("\3\0stack", 7, &run, &err), CAIRN_E_FORMAT);
    assert_int_equal(cairn_remote_read_run("\4\0stack\0", 8, &run, &err), CAIRN_E_FORMAT);
    assert_int_equal(cairn_remote_read_run(many, sizeof many, &run, &err), CAIRN_E_LIMIT);
    assert_null(run.words);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_hello_comes_back_as_it_was_written),
        cmocka_unit_test(a_hello_may_say_more_but_not_less),
        cmocka_unit_test(what_a_hello_says_cannot_steer_a_terminal),
        cmocka_unit_test(a_command_line_comes_back_as_it_was_written),
        cmocka_unit_test(a_command_line_without_an_end_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
