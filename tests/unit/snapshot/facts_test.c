/* SPDX-License-Identifier: MIT */
#include "snapshot/facts.h"

#include <unistd.h>

#include "support/test.h"

static void a_blocked_thread_shows_its_call(void **state)
{
    struct cairn_thread_place place = {0};
    (void)state;
    assert_true(cairn_place_parse("230 0x1 0x2 0x3 0x4 0x5 0x6 0x7ffd00 0x7f01\n", &place));
    assert_true(place.known && place.in_syscall);
    assert_int_equal(place.number, 230);
    assert_int_equal(place.arguments[0], 1);
    assert_int_equal(place.arguments[5], 6);
    assert_int_equal(place.sp, 0x7ffd00);
    assert_int_equal(place.ip, 0x7f01);
}

static void one_that_waits_outside_of_a_call_shows_where(void **state)
{
    struct cairn_thread_place place = {0};
    (void)state;
    assert_true(cairn_place_parse("-1 0x7ffd00 0x7f01\n", &place));
    assert_true(place.known);
    assert_false(place.in_syscall);
    assert_int_equal(place.sp, 0x7ffd00);
    assert_int_equal(place.ip, 0x7f01);
}

static void one_that_runs_shows_nothing(void **state)
{
    struct cairn_thread_place place = {.known = true};
    (void)state;
    assert_true(cairn_place_parse("running\n", &place));
    assert_false(place.known);
}

static void other_text_is_no_place(void **state)
{
    static const char *const texts[] = {"",    "\n",        "x",           "-1",
                                        "230", "-1 0x7ffd", "230 1 2 3 4", "-2 0x1 0x2"};
    struct cairn_thread_place place = {0};
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        assert_false(cairn_place_parse(texts[i], &place));
}

static void a_thread_that_ran_is_not_at_the_same_place(void **state)
{
    struct cairn_thread_place a = {.run_ns = 5, .n_runs = 2}, b;
    (void)state;
    assert_true(cairn_place_parse("230 0x1 0x2 0x3 0x4 0x5 0x6 0x7ffd00 0x7f01\n", &a));
    b = a;
    assert_true(cairn_place_same(&a, &b));
    b.n_runs++;
    assert_false(cairn_place_same(&a, &b));
    b = a;
    b.sp += 8;
    assert_false(cairn_place_same(&a, &b));
    b = a;
    b.arguments[3]++;
    assert_false(cairn_place_same(&a, &b));
    a.known = b.known = false;
    b = a;
    assert_false(cairn_place_same(&a, &b));
}

static void one_that_was_caught_elsewhere_has_run(void **state)
{
    struct cairn_thread_facts slept = {.state = 'S', .wchan = "do_epoll_wait"}, facts;
    (void)state;
    assert_true(cairn_place_parse("232 0x5 0x2 0x3 0x4 0x5 0x6 0x7ffd00 0x7f06\n", &slept.place));
    facts = slept;
    cairn_facts_caught(&facts, 0x7f06, 0x7ffd00);
    cairn_facts_caught(&facts, 0x7f02, 0x7ffd00); /* it begins again */
    assert_memory_equal(&facts, &slept, sizeof facts);
    cairn_facts_caught(&facts, 0x7f06, 0x7ffcf8);
    assert_int_equal(facts.state, 'R');
    assert_false(facts.place.in_syscall);
    assert_string_equal(facts.wchan, "");
    facts = slept;
    cairn_facts_caught(&facts, 0x7f07, 0x7ffd00);
    assert_int_equal(facts.state, 'R');
    facts = (struct cairn_thread_facts){.state = 'S'}; /* its place said "running" by then */
    cairn_facts_caught(&facts, 0x7f06, 0x7ffd00);
    assert_int_equal(facts.state, 'R');
}

static void frames_of_the_kernel_are_names(void **state)
{
    const char *text = "[<0>] ep_poll+0x1/0x2\nrubbish\n[<0>] \n"
                       "[<ffffffff81000000>] nf_hook+0x3/0x4 [nf_tables]\n[<0>] last";
    const char *name;
    size_t size;
    (void)state;
    assert_true(cairn_kernel_frame_next(&text, &name, &size));
    assert_int_equal(size, 7);
    assert_memory_equal(name, "ep_poll", 7);
    assert_true(cairn_kernel_frame_next(&text, &name, &size));
    assert_memory_equal(name, "nf_hook", size);
    assert_true(cairn_kernel_frame_next(&text, &name, &size));
    assert_memory_equal(name, "last", size);
    assert_false(cairn_kernel_frame_next(&text, &name, &size));
}

static void this_thread_runs_and_has_a_name(void **state)
{
    struct cairn_thread_facts facts;
    (void)state;
    cairn_facts_read(getpid(), gettid(), &facts);
    assert_int_equal(facts.state, 'R');
    assert_false(facts.is_kernel);
    assert_true(facts.name[0] != 0);
    assert_int_not_equal(cairn_facts_machine(getpid()), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_blocked_thread_shows_its_call),
        cmocka_unit_test(one_that_waits_outside_of_a_call_shows_where),
        cmocka_unit_test(one_that_runs_shows_nothing),
        cmocka_unit_test(other_text_is_no_place),
        cmocka_unit_test(a_thread_that_ran_is_not_at_the_same_place),
        cmocka_unit_test(one_that_was_caught_elsewhere_has_run),
        cmocka_unit_test(frames_of_the_kernel_are_names),
        cmocka_unit_test(this_thread_runs_and_has_a_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
