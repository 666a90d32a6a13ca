/* SPDX-License-Identifier: MIT */
/* A question and its answer, and what else comes to the socket. */
#include "watch/asked.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "rt/socket.h"
#include "rt/sys.h"
#include "support/test.h"

static char folder[64], path[96];
static struct cairn_asked asked;

static int set_up(void **state)
{
    (void)state;
    strcpy(folder, "/tmp/cairn-asked-XXXXXX");
    if (!mkdtemp(folder))
        return -1;
    snprintf(path, sizeof path, "%s/" CAIRN_HEAP_ASK_SOCKET, folder);
    cairn_asked_open(&asked, folder);
    return asked.listener >= 0 ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    cairn_asked_close(&asked, folder);
    return rmdir(folder); /* fails if the socket is still there */
}

static int send_to_it(const void *bytes, size_t size)
{
    int fd = cairn_socket_connect(path);
    assert_true(fd >= 0);
    if (size)
        assert_int_equal(cairn_socket_send(fd, bytes, size), size);
    return fd;
}

static void a_question_gets_its_answer(void **state)
{
    (void)state;
    const struct cairn_heap_question question = {.kind = CAIRN_HEAP_ASK_RECOVERABLE};
    const struct cairn_heap_answer answer = {CAIRN_HEAP_VERDICT_LOST, 23};
    struct cairn_heap_answer got = {0};
    enum cairn_heap_ask_kind kind;
    int pid, fd = send_to_it(&question, sizeof question);
    assert_int_equal(cairn_socket_peer(fd), getpid());
    assert_true(cairn_asked_next(&asked, &pid, &kind));
    assert_int_equal(pid, getpid());
    assert_int_equal(kind, CAIRN_HEAP_ASK_RECOVERABLE);
    assert_true(cairn_asked_next(&asked, &pid, &kind)); /* the same, until it is answered */
    cairn_asked_answer(&asked, &answer);
    assert_int_equal(cairn_sys_read(fd, &got, sizeof got), sizeof got);
    assert_memory_equal(&got, &answer, sizeof got);
    assert_int_equal(cairn_sys_read(fd, &got, sizeof got), 0);
    assert_false(cairn_asked_next(&asked, &pid, &kind));
    cairn_asked_answer(&asked, &answer); /* nobody's */
    cairn_sys_close(fd);
}

/* As of many children that end without a question: the rest is for the next call. */
static void many_that_make_no_sense_do_not_hold_it_up(void **state)
{
    (void)state;
    enum { MANY = 40 };
    const struct cairn_heap_question question = {.kind = CAIRN_HEAP_ASK_CHECK};
    enum cairn_heap_ask_kind kind;
    int pid, n_calls = 1;
    for (int i = 0; i < MANY; i++)
        cairn_sys_close(send_to_it("x", 1));
    int fd = send_to_it(&question, sizeof question);
    while (!cairn_asked_next(&asked, &pid, &kind) && n_calls < MANY)
        n_calls++;
    assert_true(n_calls > 1 && n_calls < MANY);
    assert_int_equal(kind, CAIRN_HEAP_ASK_CHECK);
    cairn_sys_close(fd);
}

static void what_makes_no_sense_is_dropped(void **state)
{
    (void)state;
    const struct cairn_heap_question wrong = {.kind = 99}, none = {.kind = 0},
                                     many[3] = {{.kind = CAIRN_HEAP_ASK_CHECK}};
    enum cairn_heap_ask_kind kind;
    int pid, fds[] = {send_to_it(&wrong, sizeof wrong), send_to_it(&none, sizeof none),
                      send_to_it("x", 1), send_to_it(NULL, 0)};
    assert_false(cairn_asked_next(&asked, &pid, &kind));
    for (size_t i = 0; i < sizeof fds / sizeof *fds; i++) {
        char byte;
        assert_true(cairn_sys_read(fds[i], &byte, 1) <= 0);
        cairn_sys_close(fds[i]);
    }
    /* Of a longer message the start counts: a later version may say more. */
    int fd = send_to_it(many, sizeof many);
    assert_true(cairn_asked_next(&asked, &pid, &kind));
    cairn_sys_close(fd); /* it does not wait */
    cairn_asked_answer(&asked, &(struct cairn_heap_answer){0});
}

static void nobody_answers_once_it_is_closed(void **state)
{
    (void)state;
    cairn_asked_close(&asked, folder);
    assert_true(cairn_socket_connect(path) < 0);
    enum cairn_heap_ask_kind kind;
    int pid;
    assert_false(cairn_asked_next(&asked, &pid, &kind));
}

static void a_path_that_is_too_long(void **state)
{
    (void)state;
    char longer[300];
    memset(longer, 'x', sizeof longer - 1);
    longer[sizeof longer - 1] = 0;
    assert_true(cairn_socket_connect(longer) < 0);
    struct cairn_asked none;
    cairn_asked_open(&none, longer);
    assert_int_equal(none.listener, -1);
    cairn_asked_close(&none, longer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_question_gets_its_answer, set_up, tear_down),
        cmocka_unit_test_setup_teardown(many_that_make_no_sense_do_not_hold_it_up, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(what_makes_no_sense_is_dropped, set_up, tear_down),
        cmocka_unit_test_setup_teardown(nobody_answers_once_it_is_closed, set_up, tear_down),
        cmocka_unit_test(a_path_that_is_too_long),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
