/* SPDX-License-Identifier: MIT */
#include <asm/ptrace.h>
#include <errno.h>
#include <string.h>
#include <sys/syscall.h>

#include "attach/choose.h"
#include "attach/cpu.h"
#include "proc/call_mend.h"
#include "support/test.h"

enum { CALL_VA = 0x1000, BEHIND = 0x2004, FD = 7, X7 = 7, X8 = 8, X30 = 30 };

static struct cairn_still_regs regs_of(const struct user_pt_regs *user)
{
    struct cairn_still_regs regs = {.size = sizeof *user};
    memcpy(regs.raw, user, sizeof *user);
    return regs;
}

static struct user_pt_regs user_of(const struct cairn_still_regs *regs)
{
    struct user_pt_regs user;
    memcpy(&user, regs->raw, sizeof user);
    return user;
}

static void knows_threads_of_64_bits_alone(void **state)
{
    (void)state;
    struct user_pt_regs user = {.pc = BEHIND};
    struct cairn_still_regs regs = regs_of(&user);
    assert_true(cairn_cpu_knows(&regs));
    regs.size = 72; /* as arm has it */
    assert_false(cairn_cpu_knows(&regs));
}

static void a_call_leaves_the_register_that_the_kernel_restores(void **state)
{
    (void)state;
    const uint64_t args[CAIRN_CALL_ARGS] = {1, 2, 3, 4, 5, 6};
    struct user_pt_regs user = {.pc = BEHIND, .sp = 0x7000};
    int64_t value;
    user.regs[X7] = 77;
    struct cairn_still_regs regs = regs_of(&user);
    cairn_cpu_set_call(&regs, CALL_VA, SYS_getpid, args);
    user = user_of(&regs);
    assert_true(user.regs[X8] == SYS_getpid && user.pc == CALL_VA && user.sp == 0x7000);
    assert_memory_equal(user.regs, args, sizeof args);
    assert_int_equal(user.regs[X7], 77);
    assert_false(cairn_cpu_called(&regs, CALL_VA, &value));
    user.pc += 4;
    user.regs[0] = (uint64_t)-EAGAIN;
    regs = regs_of(&user);
    assert_true(cairn_cpu_called(&regs, CALL_VA, &value));
    assert_int_equal(value, -EAGAIN);
}

static void mends_what_our_stop_ended_and_nothing_else(void **state)
{
    (void)state;
    const struct cairn_call_seen epoll = {true, SYS_epoll_pwait, FD, BEHIND};
    const struct {
        struct cairn_call_seen seen;
        long number;
        int64_t value;
        bool mended;
    } rows[] = {
        {epoll, SYS_epoll_pwait, -EINTR, true},
        {{true, SYS_recvfrom, FD, BEHIND}, SYS_recvfrom, -EINTR, true},
        {{true, SYS_close, FD, BEHIND}, SYS_close, -EINTR, false},
        {epoll, SYS_recvfrom, -EINTR, false}, /* it went on since */
        {{true, SYS_epoll_pwait, FD, BEHIND + 4}, SYS_epoll_pwait, -EINTR, false},
        {{false, SYS_epoll_pwait, FD, BEHIND}, SYS_epoll_pwait, -EINTR, false},
        {epoll, SYS_epoll_pwait, 0, false},
        {epoll, SYS_epoll_pwait, -EBADF, false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct user_pt_regs user = {.pc = BEHIND};
        user.regs[0] = (uint64_t)rows[i].value;
        user.regs[X8] = (uint64_t)rows[i].number;
        struct cairn_still_regs regs = regs_of(&user);
        assert_int_equal(cairn_call_mend_regs(regs.raw, regs.size, &rows[i].seen), rows[i].mended);
        user = user_of(&regs);
        assert_int_equal(user.pc, rows[i].mended ? BEHIND - 4 : BEHIND);
        assert_int_equal((int64_t)user.regs[0], rows[i].mended ? FD : rows[i].value);
    }
}

static void a_function_returns_to_our_code(void **state)
{
    (void)state;
    const struct cairn_cpu_entry entry = {.va = CALL_VA, .arg = 5, .sp = 0x7ff8, .back = BEHIND};
    struct user_pt_regs user = {.pc = BEHIND};
    struct cairn_still_regs regs = regs_of(&user);
    cairn_cpu_set_entry(&regs, &entry);
    user = user_of(&regs);
    assert_true(user.pc == CALL_VA && user.regs[0] == 5 && user.regs[X30] == BEHIND);
    assert_int_equal(user.sp, 0x8000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(knows_threads_of_64_bits_alone),
        cmocka_unit_test(a_call_leaves_the_register_that_the_kernel_restores),
        cmocka_unit_test(mends_what_our_stop_ended_and_nothing_else),
        cmocka_unit_test(a_function_returns_to_our_code),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
