/* SPDX-License-Identifier: MIT */
#include "support/stack_text.h"

static const char text[] =
    "thread 'wor ker' (8402) panicked at src/r.rs:2:60:\n"
    "index out of bounds\n"
    "stack backtrace:\n"
    "   0: core::panic_fmt\n"
    "             at /rustc/panicking.rs:80:14\n"
    "another thread says 3: hello\n"
    "   1: <alloc::Vec<T,A> as core::Index<I>>::index\n"
    "   2: r::main::{{closure}}\n"
    "             at ./r.rs:3:95\n"
    "note: Some details are omitted\n"
    "\n"
    "I/prog: thread 'main' panicked at 'called `Option::unwrap()`', src/main.rs:4:5\n"
    "I/prog: stack backtrace:\n"
    "I/prog:    0:     0x557508339bf8 - r::index::h70483325f25734a1\n"
    "I/prog:                                at /src dir/r.rs:272:10\n"
    "I/prog:    1:     0x557508339bf8 - r::leaf::h141ee80ce8e8f48c\n"
    "I/prog:    2:     0x7f5bf216c1f5 - <unknown>\n"
    "I/prog:    3:                0x0 - <unknown>\n"
    "Error: cannot open\n"
    "\n"
    "Stack backtrace:\n"
    "   0: r::open\n"
    "   2: r::lost\n"
    "   1: r::start\n";

static const struct test_stack_text rust = {
    .text = text,
    .size = sizeof text - 1,
    .format = CAIRN_FORMAT_RUST,
    .n_samples = 3,
    .names = "core::panic_fmt <alloc::Vec<T,A> as core::Index<I>>::index r::main::{{closure}} "
             "r::index r::leaf r::open r::start",
};

static void each_panic_is_a_sample(void **state)
{
    (void)state;
    struct cairn_profile *p = test_stack_text_read(&rust, CAIRN_FORMAT_AUTO);
    test_assert_stack(p, 0,
                      "core::panic_fmt /rustc/panicking.rs:80; "
                      "<alloc::Vec<T,A> as core::Index<I>>::index; "
                      "r::main::{{closure}} ./r.rs:3");
    test_assert_stack(p, 1, "~r::index /src dir/r.rs:272; r::leaf; 0x7f5bf216c1f4");
    test_assert_stack(p, 2, "r::open; r::start");
    cairn_profile_free(p);
}

static void labels_say_what_failed_in_which_thread(void **state)
{
    (void)state;
    struct cairn_profile *p = test_stack_text_read(&rust, CAIRN_FORMAT_AUTO);
    test_assert_label(p, 0, "thread", "wor ker");
    test_assert_label(p, 0, "tid", "8402");
    test_assert_label(p, 0, "report", "panicked at src/r.rs:2:60");
    test_assert_label(p, 0, "message", "index out of bounds");
    test_assert_label(p, 1, "thread", "main");
    test_assert_label(p, 1, "tid", "");
    test_assert_label(p, 1, "report", "panicked at 'called `Option::unwrap()`', src/main.rs:4:5");
    test_assert_label(p, 1, "message", "");
    cairn_profile_free(p);
}

static void heads_of_stacks_count_where_frames_follow(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        enum cairn_format format;
    } rows[] = {
        {"Stack backtrace:\r\n   0: r::open\n", CAIRN_FORMAT_RUST},
        {"log: stack backtrace:\nlog:    0:     0x557508339bf8 - r::leaf\n", CAIRN_FORMAT_RUST},
        {"[    3.141593] stack backtrace:\n[    3.141602] CPU: 0 PID: 1 Comm: swapper\n",
         CAIRN_FORMAT_AUTO},
        {"stack backtrace:\n", CAIRN_FORMAT_AUTO},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_int_equal(cairn_format_of_bytes(rows[i].text, strlen(rows[i].text)), rows[i].format);
}

static void a_text_that_is_cut_anywhere_keeps_what_is_whole(void **state)
{
    (void)state;
    test_stack_text_cuts(&rust);
}

static void any_byte_may_be_wrong(void **state)
{
    (void)state;
    test_stack_text_odd_bytes(&rust, 1, 1);
}

static void text_without_a_stack_is_an_error_with_a_hint(void **state)
{
    (void)state;
    test_stack_text_fails("thread 'main' panicked at src/r.rs:2:60:\n",
                          "text of Rust's panics without a stack", "RUST_BACKTRACE=1");
}

static void lack_of_memory_leaks_nothing(void **state)
{
    (void)state;
    test_stack_text_no_memory(&rust);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_panic_is_a_sample),
        cmocka_unit_test(labels_say_what_failed_in_which_thread),
        cmocka_unit_test(heads_of_stacks_count_where_frames_follow),
        cmocka_unit_test(a_text_that_is_cut_anywhere_keeps_what_is_whole),
        cmocka_unit_test(any_byte_may_be_wrong),
        cmocka_unit_test(text_without_a_stack_is_an_error_with_a_hint),
        cmocka_unit_test(lack_of_memory_leaks_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
