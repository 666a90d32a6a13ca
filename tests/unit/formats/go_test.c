/* SPDX-License-Identifier: MIT */
#include "support/stack_text.h"

static const char text[] =
    "the program says hello\n"
    "panic: runtime error: nil\n"
    "[signal SIGSEGV: segmentation violation code=0x1 addr=0x0 pc=0x481280]\n"
    "\n"
    "goroutine 1 [running, locked to thread]:\n"
    "main.(*T).Deep(0xc000086f10?, {0x498757?, 0xc0000160b0?})\n"
    "\t/src dir/m.go:4 +0x20 fp=0xc00006aec0 sp=0xc00006ae90 pc=0x481280\n"
    "main.Map[...](...)\n"
    "\t/src dir/m.go:5\n"
    "main.main()\n"
    "\t/src dir/m.go:6 +0x128\n"
    "\n"
    "goroutine 18 gp=0xc000 m=nil [semacquire, 5 minutes]:\n"
    "sync.(*Mutex).Lock(...)\n"
    "\t/go/mutex.go:90\n"
    "main.wait(0x0?)\n"
    "\t/src dir/m.go:5 +0x31\n"
    "...additional frames elided...\n"
    "created by main.main in goroutine 1\n"
    "\t/src dir/m.go:6 +0x55\n"
    "\n"
    "host prog[77]: fatal error: all goroutines are asleep - deadlock!\n"
    "host prog[77]:\n"
    "host prog[77]: goroutine 7 [select (no cases)]:\r\n"
    "host prog[77]: main.main()\r\n"
    "host prog[77]: \t/src/m.go:6 +0x128\r\n"
    "host prog[77]:\r\n"
    "host prog[77]: exit status 2\n";

static const struct test_stack_text go = {
    .text = text,
    .size = sizeof text - 1,
    .format = CAIRN_FORMAT_GO,
    .n_samples = 3,
    .names = "main.(*T).Deep main.Map[...] main.main sync.(*Mutex).Lock main.wait",
};

static void each_goroutine_is_a_sample(void **state)
{
    (void)state;
    struct cairn_profile *p = test_stack_text_read(&go, CAIRN_FORMAT_AUTO);
    test_assert_stack(p, 0,
                      "main.(*T).Deep /src dir/m.go:4; ~main.Map[...] /src dir/m.go:5; "
                      "main.main /src dir/m.go:6");
    test_assert_stack(p, 1, "~sync.(*Mutex).Lock /go/mutex.go:90; main.wait /src dir/m.go:5");
    test_assert_stack(p, 2, "main.main /src/m.go:6");
    cairn_profile_free(p);
}

static void labels_say_why_it_waits_and_which_one_failed(void **state)
{
    (void)state;
    struct cairn_profile *p = test_stack_text_read(&go, CAIRN_FORMAT_AUTO);
    test_assert_label(p, 0, "goroutine", "1");
    test_assert_label(p, 0, "state", "running");
    test_assert_label(p, 0, "stack", "crashed");
    test_assert_label(p, 0, "report", "panic: runtime error: nil");
    test_assert_label(p, 0, "message",
                      "signal SIGSEGV: segmentation violation code=0x1 addr=0x0 pc=0x481280");
    test_assert_label(p, 1, "goroutine", "18");
    test_assert_label(p, 1, "state", "semacquire");
    test_assert_label(p, 1, "stack", "");
    test_assert_label(p, 1, "created_by", "main.main");
    assert_string_equal(cairn_profile_cut_of(p, 1), "too deep");
    test_assert_label(p, 2, "goroutine", "7");
    test_assert_label(p, 2, "state", "select (no cases)");
    test_assert_label(p, 2, "report", "fatal error: all goroutines are asleep - deadlock!");
    test_assert_label(p, 2, "created_by", "");
    cairn_profile_free(p);
}

static void a_text_that_is_cut_anywhere_keeps_what_is_whole(void **state)
{
    (void)state;
    test_stack_text_cuts(&go);
}

static void any_byte_may_be_wrong(void **state)
{
    (void)state;
    test_stack_text_odd_bytes(&go, 1, 1);
}

static void text_without_a_stack_is_an_error_with_a_hint(void **state)
{
    (void)state;
    test_stack_text_fails("goroutine 1 [running]:\n", "text of Go's runtime without a stack",
                          "GOTRACEBACK=all");
}

static void a_goroutine_profile_is_still_another_program_s(void **state)
{
    (void)state;
    static const char counted[] = "goroutine profile: total 7\n";
    assert_int_not_equal(cairn_format_of_bytes(counted, sizeof counted - 1), CAIRN_FORMAT_GO);
}

static void lack_of_memory_leaks_nothing(void **state)
{
    (void)state;
    test_stack_text_no_memory(&go);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_goroutine_is_a_sample),
        cmocka_unit_test(labels_say_why_it_waits_and_which_one_failed),
        cmocka_unit_test(a_text_that_is_cut_anywhere_keeps_what_is_whole),
        cmocka_unit_test(any_byte_may_be_wrong),
        cmocka_unit_test(text_without_a_stack_is_an_error_with_a_hint),
        cmocka_unit_test(a_goroutine_profile_is_still_another_program_s),
        cmocka_unit_test(lack_of_memory_leaks_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
