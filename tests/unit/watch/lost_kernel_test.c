/* SPDX-License-Identifier: MIT */
#include "watch/lost_kernel.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "support/test.h"

static void assert_words(const struct cairn_lost_kernel *k, const uint64_t *expected, size_t n)
{
    assert_int_equal(k->n, n);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(k->words[i].word, expected[i]);
}

static void the_data_of_a_set_is_found(void **state)
{
    (void)state;
    struct cairn_lost_kernel k = {0};
    assert_true(cairn_lost_kernel_parse_set(
        &k, 5,
        "pos:\t0\nflags:\t02\nmnt_id:\t15\n"
        "tfd:        7 events:       19 data:     55d0c0ffee10  pos:0 ino:1 sdev:f\n"
        "tfd:        8 events:       19 data:                0  pos:0\n"
        "tfd:        9 events: 80000019 data: ffffffffffffffff  pos:0\n"));
    assert_words(&k, (uint64_t[]){0x55d0c0ffee10, UINT64_MAX}, 2);
    assert_int_equal(k.words[0].set, 5);
    assert_int_equal(k.words[0].fd, 7);
    assert_int_equal(k.words[1].fd, 9);
    assert_true(cairn_lost_kernel_parse_set(&k, 5, ""));
    assert_true(cairn_lost_kernel_parse_set(&k, 5, " data:"));
    assert_true(cairn_lost_kernel_parse_set(&k, 5, " data: nothing"));
    assert_int_equal(k.n, 2);
    cairn_lost_kernel_done(&k);
}

static void the_value_of_a_timer_is_found(void **state)
{
    (void)state;
    struct cairn_lost_kernel k = {0};
    assert_true(cairn_lost_kernel_parse_timers(
        &k, "ID: 0\nsignal: 12/000055d0c0ffee10\nnotify: signal/pid.42\nClockID: 1\n"
            "ID: 1\nsignal: 0/0000000000000000\nnotify: none/pid.42\nClockID: 0\n"
            "ID: 2\nsignal: 34\nsignal: 34/7f0012345678"));
    assert_words(&k, (uint64_t[]){0x55d0c0ffee10, 0x7f0012345678}, 2);
    assert_true(cairn_lost_kernel_parse_timers(&k, "signal:"));
    assert_true(cairn_lost_kernel_parse_timers(&k, "signal: 1/"));
    assert_int_equal(k.n, 2);
    cairn_lost_kernel_done(&k);
}

static void sets_of_this_process_are_read(void **state)
{
    (void)state;
    struct cairn_lost_kernel k = {0};
    struct epoll_event event = {.events = EPOLLIN, .data.u64 = 0x123456789abc};
    int set = epoll_create1(0), fd = eventfd(0, 0);
    assert_true(set >= 0 && fd >= 0);
    assert_int_equal(epoll_ctl(set, EPOLL_CTL_ADD, fd, &event), 0);
    assert_true(cairn_lost_kernel_read(&k, getpid()));
    assert_true(k.is_whole);
    assert_false(k.has_ring);
    assert_true(k.n_sets >= 1);
    bool found = false;
    for (size_t i = 0; i < k.n; i++)
        found |= k.words[i].word == event.data.u64 && k.words[i].set == set && k.words[i].fd == fd;
    assert_true(found);
    close(fd);
    close(set);
    assert_true(cairn_lost_kernel_read(&k, getpid()));
    assert_int_equal(k.n, 0);
    cairn_lost_kernel_done(&k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_data_of_a_set_is_found),
        cmocka_unit_test(the_value_of_a_timer_is_found),
        cmocka_unit_test(sets_of_this_process_are_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
