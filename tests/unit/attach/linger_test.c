/* SPDX-License-Identifier: MIT */
/* Threads of another process that have left a piece of code, or will come back there. */
#include "attach/linger.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/child.h"
#include "support/sanitized.h"
#include "support/test.h"
#include "unit/attach/open_target.h"

enum { BYTES = 8, SHORT_MS = 30, LONG_MS = 20000 };

static const uint64_t code_va = 0x123456789a8, other_va = 0x123456799a8;

/* Runs at one address for ever. */
void cairn_test_spin(void);
__asm__(".pushsection .text\n"
        ".globl cairn_test_spin\n"
        ".type cairn_test_spin, @function\n"
        "cairn_test_spin: jmp cairn_test_spin\n"
        ".size cairn_test_spin, . - cairn_test_spin\n"
        ".popsection");

static void on_signal(int sig)
{
    (void)sig;
}

/* The address is on its stack, as in the frame of a signal handler. */
static pid_t start(bool has_handler, bool sleeps)
{
    int ready[2];
    char byte = 0;
    assert_int_equal(pipe(ready), 0);
    const pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        volatile uint64_t saved = code_va + 1;
        signal(SIGUSR1, has_handler ? on_signal : SIG_DFL);
        if (write(ready[1], &byte, 1) != 1)
            _exit(1);
        while (saved)
            if (sleeps)
                pause();
        _exit(0);
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    close(ready[1]);
    return pid;
}

static void end(pid_t pid)
{
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void a_sleeper_comes_back_where_its_handler_was_called(void **state)
{
    (void)state;
    if (UNDER_ASAN) /* it moves locals to a stack of its own */
        skip();
    const pid_t pid = start(true, true);
    assert_true(cairn_linger_away(pid, &other_va, 1, BYTES, LONG_MS));
    assert_false(cairn_linger_away(pid, &code_va, 1, BYTES, SHORT_MS));
    end(pid);
}

/* However long: CPU time that passes for it says nothing. */
static void one_that_runs_in_the_code_stays(void **state)
{
    const uint64_t spin_va = (uintptr_t)cairn_test_spin;
    (void)state;
    const pid_t pid = test_fork();
    if (pid == 0)
        cairn_test_spin();
    struct cairn_target_process target = test_open_target(pid);
    cairn_target_close_process(&target);
    usleep(SHORT_MS * 1000);
    assert_true(cairn_linger_away(pid, &other_va, 1, BYTES, LONG_MS));
    assert_false(cairn_linger_away(pid, &spin_va, 1, BYTES, SHORT_MS));
    end(pid);
}

static void one_that_runs_elsewhere_is_away(void **state)
{
    (void)state;
    const pid_t pid = start(false, false);
    struct cairn_target_process target = test_open_target(pid);
    cairn_target_close_process(&target);
    assert_true(cairn_linger_away(pid, &other_va, 1, BYTES, LONG_MS));
    end(pid);
    assert_true(cairn_linger_away(pid, &other_va, 1, BYTES, SHORT_MS));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sleeper_comes_back_where_its_handler_was_called),
        cmocka_unit_test(one_that_runs_in_the_code_stays),
        cmocka_unit_test(one_that_runs_elsewhere_is_away),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
