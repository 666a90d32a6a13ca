/* SPDX-License-Identifier: MIT */
/* The kernel's own reports, of each CPU and kind. */
#include "support/klog_dumps.h"

static void an_oops_of_x86_is_read(void **state)
{
    (void)state;
    assert_klog("[   12.000001] BUG: kernel NULL pointer dereference, address: 0000000000000000\n"
                "[   12.000002] #PF: supervisor write access in kernel mode\n"
                "[   12.000003] Oops: 0002 [#1] PREEMPT SMP NOPTI\n"
                "[   12.000004] CPU: 1 PID: 412 Comm: my sh Tainted: G        W  6.1.0 #1\n"
                "[   12.000005] Hardware name: QEMU\n"
                "[   12.000006] RIP: 0010:crash+0x1a/0x40 [mod]\n"
                "[   12.000007] Code: 00 00 00 <c7> 04 25\n"
                "[   12.000008] RSP: 0018:ffffc90000003e50 EFLAGS: 00010246\n"
                "[   12.000009] RAX: 0000000000000000 RBX: 0000000000000001 RCX: 0000000000000000\n"
                "[   12.000010] Call Trace:\n"
                "[   12.000011]  <TASK>\n"
                "[   12.000012]  ? __die+0x1f/0x70\n"
                "[   12.000013]  write_handler+0x20/0x30 [mod]\n"
                "[   12.000014] usb 1-1: new high-speed USB device\n"
                "[   12.000015]  vfs_write+0x11/0x22\n"
                "[   12.000016] RIP: 0033:0x45c829\n"
                "[   12.000017] RSP: 002b:00007ffd1 EFLAGS: 00000246\n"
                "[   12.000018]  </TASK>\n"
                "[   12.000019] Modules linked in: mod\n"
                "[   12.000020] ---[ end trace 0000000000000000 ]---\n"
                "[   12.000021] RIP: 0010:crash+0x1a/0x40 [mod]\n",
                "BUG: kernel NULL pointer dereference, address: 0000000000000000||412|my sh|\n"
                " k0! crash+0x1a/0x40 [mod]\n"
                " k1? __die+0x1f/0x70\n"
                " k2 write_handler+0x20/0x30 [mod]\n"
                " k3 vfs_write+0x11/0x22\n"
                " u4! 0x45c829\n");
}

static void a_report_of_kasan_has_three_stacks(void **state)
{
    (void)state;
    assert_klog("BUG: KASAN: use-after-free in f+0x1/0x2\n"
                "Read of size 8 at addr ffff888100 by task sh/9\n"
                "\n"
                "CPU: 0 UID: 0 PID: 9 Comm: sh Not tainted 6.12 #1 "
                "0123456789abcdef0123456789abcdef01234567\n"
                "Call Trace:\n"
                " <TASK>\n"
                " dump_stack_lvl+0x1/0x2\n"
                " f+0x1/0x2\n"
                " </TASK>\n"
                "\n"
                "Allocated by task 5851:\n"
                " kasan_save_stack+0x1/0x2\n"
                " alloc+0x3/0x4\n"
                "\n"
                "Freed by task 12:\n"
                " kasan_save_stack+0x1/0x2\n"
                " kfree+0x5/0x6\n"
                "\n"
                "The buggy address belongs to the object at ffff888100\n",
                "BUG: KASAN: use-after-free in f+0x1/0x2||9|sh|\n"
                " k0 dump_stack_lvl+0x1/0x2\n"
                " k1 f+0x1/0x2\n"
                "BUG: KASAN: use-after-free in f+0x1/0x2|Allocated by task 5851|9|sh|\n"
                " k0 kasan_save_stack+0x1/0x2\n"
                " k1 alloc+0x3/0x4\n"
                "BUG: KASAN: use-after-free in f+0x1/0x2|Freed by task 12|9|sh|\n"
                " k0 kasan_save_stack+0x1/0x2\n"
                " k1 kfree+0x5/0x6\n");
}

static void a_report_that_was_decoded_before_is_read(void **state)
{
    (void)state;
    assert_klog("[ 1502.5][T14140] BUG: KASAN: slab-use-after-free in f (fs/a.c:286) \n"
                "[ 1502.6][T14140] CPU: 1 PID: 14140 Comm: ip Tainted: G  N 6.5.0 #1\n"
                "[ 1502.7][T14140] Call Trace:\n"
                "[ 1502.8][T14140]  <TASK>\n"
                "[ 1502.9][T14140] dump_stack_lvl (lib/dump_stack.c:107 (discriminator 1)) \n"
                "[ 1503.0][T14140] f (a.c:74 (inlined by) a.c:82)\n"
                "[ 1503.1][T14140] ? g (fs/a.c:1)\n"
                "[ 1503.2][T14140] no frame (it says nothing)\n"
                "[ 1503.3][T14140]  </TASK>\n",
                "BUG: KASAN: slab-use-after-free in f (fs/a.c:286)||14140|ip|\n"
                " k0 dump_stack_lvl (lib/dump_stack.c:107 (discriminator 1))\n"
                " k1 f (a.c:74 (inlined by) a.c:82)\n"
                " k2? g (fs/a.c:1)\n");
}

static void reports_of_arm64_arm_and_riscv_are_read(void **state)
{
    (void)state;
    assert_klog("[1.000001] Unable to handle kernel NULL pointer dereference at virtual address 0\n"
                "[1.000002] Internal error: Oops: 0000000096000044 [#1] SMP\n"
                "[1.000003] CPU: 2 PID: 77 Comm: cat Not tainted 6.1 #1\n"
                "[1.000004] pstate: 60000005 (nZCv daif -PAN -UAO)\n"
                "[1.000005] pc : crash+0x10/0x20 [mod]\n"
                "[1.000006] lr : caller+0x8/0x30\n"
                "[1.000007] sp : ffff80000a3bbd50\n"
                "[1.000008] x29: ffff80000a3bbd50 x28: ffff0000c1234567 x27: 0000000000000000\n"
                "[1.000009] Call trace:\n"
                "[1.000010]  crash+0x10/0x20 [mod] (P)\n"
                "[1.000011]  caller+0x8/0x30 (L)\n"
                "[1.000012]  el0t_64_sync+0x18c/0x190\n"
                "[1.000013] Code: aa1303e0 f9400000 (b9000001)\n"
                "[1.000014] ---[ end trace 0000000000000000 ]---\n",
                "Unable to handle kernel NULL pointer dereference at virtual address 0||77|cat|\n"
                " k0! crash+0x10/0x20 [mod]\n"
                " k1 crash+0x10/0x20 [mod]\n"
                " k2 caller+0x8/0x30 (L)\n"
                " k3 el0t_64_sync+0x18c/0x190\n");
    assert_klog("Internal error: Oops: 5 [#1] ARM\n"
                "CPU: 0 PID: 3 Comm: init Not tainted 4.19 #1\n"
                "PC is at crash+0x8/0x10\n"
                "LR is at caller+0x4/0x8\n"
                "Process init (pid: 3, stack limit = 0x(ptrval))\n"
                "Stack: (0x8bdfc010 to 0x8bdfe000)\n"
                "c000: 00000000 c0a01234 00000001 00000002 00000003 00000004 00000005 00000006\n"
                "Backtrace: \n"
                "[<c0112345>] (crash) from [<c0112399>] (caller+0x18/0x1c)\n"
                " r5:c0a00000 r4:c0b00000\n"
                "[<c0112388>] (caller) from [<c01123aa>] (ret_fast_syscall+0x0/0x28)\n",
                "Internal error: Oops: 5 [#1] ARM||3|init|\n"
                " k0! crash+0x8/0x10\n"
                " k1 0xc0112345 crash\n"
                " k2 0xc0112399 caller+0x18/0x1c\n"
                " k3 0xc01123aa ret_fast_syscall+0x0/0x28\n");
    assert_klog("Unable to handle kernel paging request at virtual address 10\n"
                "CPU: 0 PID: 4 Comm: sh Not tainted 6.1 #1\n"
                "epc : crash+0x4/0x8\n"
                " ra : caller+0x2/0x6\n"
                "epc : ffffffff80001234 ra : ffffffff80001238 sp : ff20000000000000\n"
                "Call Trace:\n"
                "[<ffffffff80001234>] crash+0x4/0x8\n"
                "[<ffffffff80002234>] ret_from_syscall+0x0/0x2\n",
                "Unable to handle kernel paging request at virtual address 10||4|sh|\n"
                " k0! crash+0x4/0x8\n"
                " k1 0xffffffff80001234 crash+0x4/0x8\n"
                " k2 0xffffffff80002234 ret_from_syscall+0x0/0x2\n");
}

static void other_reports_are_read(void **state)
{
    (void)state;
    assert_klog(
        "[  243.1] x\n"
        "[  243.100000] INFO: task syz:7 blocked for more than 143 seconds.\n"
        "[  243.100001]       Not tainted 6.1 #1\n"
        "[  243.100002] \"echo 0 > /proc/sys/kernel/hung_task_timeout_secs\" disables this\n"
        "[  243.100003] task:syz             state:D stack:24832 pid:7 tgid:5 ppid:1\n"
        "[  243.100004] Call Trace:\n"
        "[  243.100005]  <TASK>\n"
        "[  243.100006]  __schedule+0x1/0x2\n"
        "[  243.100007]  </TASK>\n"
        "[  243.200000] NMI backtrace for cpu 1\n"
        "[  243.200001] CPU: 1 PID: 30 Comm: khungtaskd Not tainted 6.1 #1\n"
        "[  243.200002] Call Trace:\n"
        "[  243.200003]  <NMI>\n"
        "[  243.200004]  nmi_cpu_backtrace+0x1/0x2\n"
        "[  243.200005]  </NMI>\n"
        "[  243.200006]  <TASK>\n"
        "[  243.200007]  idle+0x3/0x4\n"
        "[  243.200008]  </TASK>\n",
        "INFO: task syz:7 blocked for more than 143 seconds.||7|syz|\n"
        " k0 __schedule+0x1/0x2\n"
        "NMI backtrace for cpu 1||30|khungtaskd|\n"
        " k0 nmi_cpu_backtrace+0x1/0x2\n"
        " k1 idle+0x3/0x4\n");
    assert_klog("WARNING: possible circular locking dependency detected\n"
                "stack backtrace:\n"
                "CPU: 0 PID: 1 Comm: init Not tainted 6.1 #1\n"
                "Call Trace:\n"
                " a+0x1/0x2\n"
                " b.isra.0+0x1/0x2 a.c:12\n"
                " c (inlined)\n"
                " 0xffffffffc0000010\n",
                "WARNING: possible circular locking dependency detected|stack backtrace|1|init|\n"
                " k0 a+0x1/0x2\n"
                " k1 b.isra.0+0x1/0x2 a.c:12\n"
                " k2i c (inlined)\n"
                " k3 0xffffffffc0000010\n");
    assert_klog("==> /proc/12/stack <==\n"
                "[<0>] hrtimer_nanosleep+0x74/0xf0\n"
                "[<0>] do_syscall_64+0x5d/0xb0\n"
                "\n"
                "==> /proc/13/stack <==\n"
                "[<0>] f+0x1/0x2\n"
                "[<ffffffffffffffff>] 0xffffffffffffffff\n",
                "stack||12||\n k0 hrtimer_nanosleep+0x74/0xf0\n k1 do_syscall_64+0x5d/0xb0\n"
                "stack||13||\n k0 f+0x1/0x2\n");
}

static void a_fault_of_a_user_program_is_one_frame(void **state)
{
    (void)state;
    assert_klog("[ 1405.023584] prog[12186]: segfault at ffffffffb1f2d46d ip 00007fbdb21283a0 sp "
                "00007ffe29b92518 error 5 in libc.so.6[16a3a0,7fbdb1fe4000+156000] likely on CPU 1 "
                "(core 1, socket 0)\n"
                "[ 1405.023590] Code: 00 62 00\n"
                "[ 1406.023584] old[5]: segfault at 0 ip 0000000000401136 sp 00007ffe error 6 in "
                "old[401000+1000]\n"
                "[ 1407.023584] traps: t[6] general protection fault ip:401140 sp:7ffe error:0 in "
                "t[401000+1000]\n",
                "user fault||12186|prog|\n u0! 0x7fbdb21283a0 libc.so.6+0x16a3a0\n"
                "user fault||5|old|\n u0! 0x401136\n"
                "user fault||6|t|\n u0! 0x401140\n");
}

static void reports_of_two_callers_are_told_apart(void **state)
{
    (void)state;
    assert_klog("[    1.000001][   T10] WARNING: a\n"
                "[    1.000001][    C1] WARNING: b\n"
                "[    1.000002][   T10] Call Trace:\n"
                "[    1.000002][    C1] Call Trace:\n"
                "[    1.000003][   T10]  a0+0x1/0x2\n"
                "[    1.000003][    C1]  b0+0x1/0x2\n"
                "[    1.000004][    C1]  b1+0x1/0x2\n"
                "[    1.000004][   T10]  a1+0x1/0x2\n",
                "WARNING: a||-1||\n k0 a0+0x1/0x2\n k1 a1+0x1/0x2\n"
                "WARNING: b||-1||\n k0 b0+0x1/0x2\n k1 b1+0x1/0x2\n");
    /* Without the column nothing tells. */
    assert_klog("WARNING: a\nCall Trace:\n <TASK>\n a0+0x1/0x2\nCall Trace:\n <TASK>\n"
                " b0+0x1/0x2\n",
                "WARNING: a||-1||o\n k0 a0+0x1/0x2\n"
                "WARNING: a||-1||\n k0~ b0+0x1/0x2\n");
}

static void what_is_no_stack_is_none(void **state)
{
    (void)state;
    assert_klog("[    0.000000] Linux version 6.1.0\n"
                "[    0.100000] RAX: 0000000000000000\n"
                "[    0.200000] f+0x1/0x2 is a function\n"
                "[    0.300000]  g+0x1/0x2\n"
                "[    0.400000] Call Trace:\n"
                "[    0.500000] Code: 00 00\n"
                "\n\n",
                "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_oops_of_x86_is_read),
        cmocka_unit_test(a_report_of_kasan_has_three_stacks),
        cmocka_unit_test(a_report_that_was_decoded_before_is_read),
        cmocka_unit_test(reports_of_arm64_arm_and_riscv_are_read),
        cmocka_unit_test(other_reports_are_read),
        cmocka_unit_test(a_fault_of_a_user_program_is_one_frame),
        cmocka_unit_test(reports_of_two_callers_are_told_apart),
        cmocka_unit_test(what_is_no_stack_is_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
