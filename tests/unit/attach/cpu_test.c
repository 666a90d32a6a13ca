/* SPDX-License-Identifier: MIT */
#include "attach/cpu.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/user.h>

#include "attach/choose.h"
#include "proc/call_mend.h"
#include "support/test.h"

static struct cairn_still_regs regs_of(const struct user_regs_struct *user)
{
    struct cairn_still_regs regs = {.size = sizeof *user};
    memcpy(regs.raw, user, sizeof *user);
    return regs;
}

static struct user_regs_struct user_of(const struct cairn_still_regs *regs)
{
    struct user_regs_struct user;
    memcpy(&user, regs->raw, sizeof user);
    return user;
}

static void knows_threads_of_64_bits_alone(void **state)
{
    (void)state;
    struct user_regs_struct user = {.cs = 0x33};
    struct cairn_still_regs regs = regs_of(&user);
    assert_true(cairn_cpu_knows(&regs));
    regs.size = 68; /* as i386 has it */
    assert_false(cairn_cpu_knows(&regs));
    user.cs = 0x23;
    regs = regs_of(&user);
    assert_false(cairn_cpu_knows(&regs));
}

static void a_call_is_no_end_of_another_one(void **state)
{
    (void)state;
    const uint64_t args[CAIRN_CALL_ARGS] = {1, 2, 3, 4, 5, 6};
    struct user_regs_struct user = {.rax = (unsigned long long)-512, .orig_rax = SYS_poll};
    struct cairn_still_regs regs = regs_of(&user);
    int64_t value;
    cairn_cpu_set_call(&regs, 0x1000, SYS_getpid, args);
    user = user_of(&regs);
    assert_true(user.rax == SYS_getpid && user.orig_rax == ~0ULL && user.rip == 0x1000);
    assert_true(user.rdi == 1 && user.rsi == 2 && user.rdx == 3 && user.r10 == 4);
    assert_true(user.r8 == 5 && user.r9 == 6);
    assert_false(cairn_cpu_called(&regs, 0x1000, &value));
    user.rip += 2;
    user.rax = (unsigned long long)-EAGAIN;
    regs = regs_of(&user);
    assert_true(cairn_cpu_called(&regs, 0x1000, &value));
    assert_int_equal(value, -EAGAIN);
}

static void mends_what_our_stop_ended_and_nothing_else(void **state)
{
    (void)state;
    const struct {
        long number;
        long long value;
        bool mended;
    } rows[] = {
        {SYS_epoll_wait, -EINTR, true},
        {SYS_recvfrom, -EINTR, true},
        {SYS_semtimedop, -EINTR, true},
        {SYS_close, -EINTR, false},
        {SYS_epoll_wait, 0, false},
        {SYS_epoll_wait, -EBADF, false},
        {-1, -EINTR, false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct user_regs_struct user = {.rax = (unsigned long long)rows[i].value,
                                        .orig_rax = (unsigned long long)rows[i].number};
        struct cairn_still_regs regs = regs_of(&user);
        assert_int_equal(cairn_call_mend_regs(regs.raw, regs.size, &(struct cairn_call_seen){0}),
                         rows[i].mended);
        user = user_of(&regs);
        assert_int_equal((long long)user.rax, rows[i].mended ? -514 : rows[i].value);
        assert_int_equal((long)user.orig_rax, rows[i].number);
    }
}

static void no_thread_in_a_write_is_taken(void **state)
{
    (void)state;
    int waits = cairn_choose_rank("202 0x1 0x80 0x0 0x0 0x0 0x0 0x7ffc 0x7f00\n");
    int runs = cairn_choose_rank("running\n");
    int mended = cairn_choose_rank("45 0x1 0x80 0x0 0x0 0x0 0x0 0x7ffc 0x7f00\n");
    assert_true(waits > runs && runs > mended && mended > 0);
    assert_int_equal(cairn_choose_rank("1 0x1 0x80 0x0 0x0 0x0 0x0 0x7ffc 0x7f00\n"), 0);
    assert_int_equal(cairn_choose_rank("40 0x1 0x80 0x0 0x0 0x0 0x0 0x7ffc 0x7f00\n"), 0);
    assert_int_equal(cairn_choose_rank(""), 0);
    assert_int_equal(cairn_choose_rank("nonsense"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(knows_threads_of_64_bits_alone),
        cmocka_unit_test(a_call_is_no_end_of_another_one),
        cmocka_unit_test(mends_what_our_stop_ended_and_nothing_else),
        cmocka_unit_test(no_thread_in_a_write_is_taken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
