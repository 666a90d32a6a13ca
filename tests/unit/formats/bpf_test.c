/* SPDX-License-Identifier: MIT */
#include "support/stack_text.h"

static const char text[] = "Attaching 1 probe...\n"
                           "\n"
                           "@calls[\n"
                           "    do_nanosleep+94\n"
                           "    __x64_sys_nanosleep+80\n"
                           ", \n"
                           "    7f3a8aefa545 nap+61 (/lib/libc.so.6)\n"
                           "    foo(int, char)+19\n"
                           "    0x7f3a8aefa546\n"
                           ", sleep]: 42\n"
                           "@scalar: 3\n"
                           "@comm[sleep]: 4\n"
                           "@[sleep, 1234,\n"
                           "    main+0x13\n"
                           "]: count 5, average 3, total 15\n"
                           "@us[\n"
                           "    add+1\n"
                           "]: \n"
                           "[4K, 8K)              17 |@@@@@@@@@@@@@   |\n"
                           "[8K, 16K)              3 |@@              |\n"
                           "\n"
                           "@lost[\n"
                           "    main+1\n"
                           "@[\n"
                           "]: 7\n"
                           "\n"
                           "    do_nanosleep\n"
                           "    --\n"
                           "    main\n"
                           "    -                slee per (1234)\n"
                           "        5000123\n"
                           "\n"
                           "    add\n"
                           "    text without a thread\n"
                           "\n"
                           "    main\n"
                           "    -                loop (7)\n"
                           "        2\n";

static const struct test_stack_text bpf = {
    .text = text,
    .size = sizeof text - 1,
    .format = CAIRN_FORMAT_BPF,
    .n_samples = 6,
    .names = "do_nanosleep __x64_sys_nanosleep nap foo(int, char) main add text without a thread",
};

static void each_key_is_a_sample_with_its_count(void **state)
{
    (void)state;
    static const int64_t values[] = {42, 5, 20, 7, 5000123, 2};
    struct cairn_profile *p = test_stack_text_read(&bpf, CAIRN_FORMAT_AUTO);
    test_assert_stack(p, 0,
                      "do_nanosleep; __x64_sys_nanosleep; nap of /lib/libc.so.6; "
                      "foo(int, char); 0x7f3a8aefa546");
    test_assert_stack(p, 1, "main");
    test_assert_stack(p, 2, "add");
    test_assert_stack(p, 3, "");
    test_assert_stack(p, 4, "do_nanosleep; main");
    test_assert_stack(p, 5, "main");
    assert_memory_equal(p->values, values, sizeof values);
    cairn_profile_free(p);
}

static void other_keys_are_labels(void **state)
{
    (void)state;
    struct cairn_profile *p = test_stack_text_read(&bpf, CAIRN_FORMAT_AUTO);
    test_assert_label(p, 0, "map", "@calls");
    test_assert_label(p, 0, "key", "sleep");
    test_assert_label(p, 1, "map", "@");
    test_assert_label(p, 1, "key", "sleep, 1234");
    test_assert_label(p, 2, "key", "");
    test_assert_label(p, 4, "thread", "slee per");
    test_assert_label(p, 4, "pid", "1234");
    test_assert_label(p, 4, "map", "");
    cairn_profile_free(p);
}

static void keys_before_and_behind_a_stack_are_one_label(void **state)
{
    (void)state;
    static const char from[] = "@[7,\n    f+1\n, loop]: 1\n@[8,\n    f+1\n, loop]: 2\n";
    static const struct test_stack_text both = {
        .text = from, .size = sizeof from - 1, .format = CAIRN_FORMAT_BPF, .n_samples = 2};
    struct cairn_profile *p = test_stack_text_read(&both, CAIRN_FORMAT_AUTO);
    test_assert_label(p, 0, "key", "7, loop");
    test_assert_label(p, 1, "key", "8, loop");
    cairn_profile_free(p);
}

static void a_map_that_is_printed_again_is_summed(void **state)
{
    (void)state;
    static const char again[] = "@[\n    f+1\n]: 9223372036854775807\n@[\n    f+1\n]: 3\n";
    static const struct test_stack_text twice = {
        .text = again, .size = sizeof again - 1, .format = CAIRN_FORMAT_BPF, .n_samples = 1};
    struct cairn_profile *p = test_stack_text_read(&twice, CAIRN_FORMAT_AUTO);
    assert_int_equal(p->values[0], INT64_MAX);
    cairn_profile_free(p);
}

static void values_that_are_no_counts_lose_their_stack_alone(void **state)
{
    (void)state;
    static const char from[] = "@[\n    f+1\n]: (1, 2)\n    g\n"
                               "    -                loop (7)\n        2\n"
                               "@[\n    h+1\n]: count 5\n@[\n    k+1\n]: 3\n";
    static const struct test_stack_text odd = {
        .text = from, .size = sizeof from - 1, .format = CAIRN_FORMAT_BPF, .n_samples = 2};
    struct cairn_profile *p = test_stack_text_read(&odd, CAIRN_FORMAT_AUTO);
    test_assert_stack(p, 0, "g");
    test_assert_stack(p, 1, "k");
    cairn_profile_free(p);
}

static void items_of_a_list_are_no_threads(void **state)
{
    (void)state;
    static const char list[] = "-   the standard (1990)\n    -   its second edition (1999)\n";
    assert_int_not_equal(cairn_format_of_bytes(list, sizeof list - 1), CAIRN_FORMAT_BPF);
}

static void a_text_that_is_cut_anywhere_keeps_what_is_whole(void **state)
{
    (void)state;
    test_stack_text_cuts(&bpf);
}

static void any_byte_may_be_wrong(void **state)
{
    (void)state;
    test_stack_text_odd_bytes(&bpf, 3, 3);
}

static void text_without_a_stack_is_an_error_with_a_hint(void **state)
{
    (void)state;
    test_stack_text_fails("@x[\n    f+1\n", "text of bpftrace without a stack", "ustack");
}

static void lack_of_memory_leaks_nothing(void **state)
{
    (void)state;
    test_stack_text_no_memory(&bpf);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_key_is_a_sample_with_its_count),
        cmocka_unit_test(other_keys_are_labels),
        cmocka_unit_test(keys_before_and_behind_a_stack_are_one_label),
        cmocka_unit_test(a_map_that_is_printed_again_is_summed),
        cmocka_unit_test(values_that_are_no_counts_lose_their_stack_alone),
        cmocka_unit_test(items_of_a_list_are_no_threads),
        cmocka_unit_test(a_text_that_is_cut_anywhere_keeps_what_is_whole),
        cmocka_unit_test(any_byte_may_be_wrong),
        cmocka_unit_test(text_without_a_stack_is_an_error_with_a_hint),
        cmocka_unit_test(lack_of_memory_leaks_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
