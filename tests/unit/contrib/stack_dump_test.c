/* SPDX-License-Identifier: MIT */
/*
 * contrib/kernel/cairn_stack_dump.h in a kernel of each kind (kernel_mock.h), and what the reader
 * makes of the log. The header's <linux/...> are left out by meson.build.
 */
#include "kernel_mock.h"
#include "stack_dump_bare.h"
#include "support/klog_dumps.h"

static struct file program = {{"/bin/x"}}, library = {{"/opt/my lib/libwork.so (deleted)"}};

static const char *name_of_vdso(struct vm_area_struct *vma)
{
    (void)vma;
    return "[vdso]";
}
static const struct vm_operations_struct vdso = {name_of_vdso};

/* Frame `i` at word 4 * i: the caller's frame, and where it goes on. */
static void put_frame(int i, unsigned long next, unsigned long ret)
{
    mock.words[4 * i] = next;
    mock.words[4 * i + 1] = ret;
}

static unsigned long frame_at(int i)
{
    return MOCK_STACK + 32 * (unsigned long)i;
}

static void set_user(unsigned long ip, unsigned long fp, unsigned long sp)
{
#ifdef CONFIG_ARM64
    mock.regs.pc = ip;
    mock.regs.regs[29] = fp;
#else
    mock.regs.ip = ip;
    mock.regs.bp = fp;
#endif
    mock.regs.sp = sp;
    mock.regs.is_user = true;
}

/* A thread in a system call: x+0x1136 called by x+0x1200 and the library. */
static int set_up(void **state)
{
    (void)state;
    memset(&mock, 0, sizeof mock);
    memset(&cairn_stack_log, 0, sizeof cairn_stack_log);
    memset(cairn_stack_slots, 0, sizeof cairn_stack_slots);
    mock.task =
        (struct task_struct){.pid = 110, .tgid = 108, .comm = "x", .mm = &mock.mm, .fs = &mock};
    mock.now = 100000;
    mock.caller = 0xffffffff81000010;
    mock.kernel[0] = 0xffffffffc0000001;
    mock.kernel[1] = 0xffffffffc0000002;
    mock.kernel[2] = mock.caller;
    mock.kernel[3] = 0xffffffff81000020;
    mock.n_kernel = 4;
    mock.mm.vmas[0] = (struct vm_area_struct){0x400000, 0x401000, 0, 0, &program, NULL};
    mock.mm.vmas[1] = (struct vm_area_struct){0x401000, 0x403000, VM_EXEC, 1, &program, NULL};
    mock.mm.vmas[2] = (struct vm_area_struct){0x500000, 0x501000, VM_EXEC, 2, &library, NULL};
    mock.mm.vmas[3] = (struct vm_area_struct){0x600000, 0x601000, VM_EXEC, 0, NULL, &vdso};
    mock.mm.vmas[4] = (struct vm_area_struct){0x700000, 0x701000, VM_EXEC, 9, NULL, NULL};
    mock.mm.n_vmas = 5;
    set_user(0x401136, frame_at(1), frame_at(0));
    put_frame(1, frame_at(2), 0x401200);
    put_frame(2, frame_at(3), 0x500abc);
    put_frame(3, 0, 0);
    return 0;
}

static void assert_log(const char *expected)
{
    assert_string_equal(mock.log, expected);
    assert_int_equal(mock.n_no_faults, 0);
    assert_int_equal(cairn_stack_log.lock, 0);
    mock.log_size = 0;
    mock.log[0] = 0;
}

#define HEAD "t: pid=110 comm=x tgid=108 cpu=0 #1\n"
#define KERNEL                                                                                     \
    "t: kernel backtrace: #1\nt:   [k00] fffffffff81000010+0x1/0x2 #1\n"                           \
    "t:   [k01] fffffffff81000020+0x1/0x2 #1\n"

#if defined(CONFIG_X86) || defined(CONFIG_ARM64)

/* What the reader has of the log. */
static void assert_read(const char *expected)
{
    struct cairn_buffer out = {0};
    klog_read(mock.log, mock.log_size, mock.log_size, &out);
    assert_string_equal(cairn_buffer_text(&out), expected);
    cairn_buffer_done(&out);
}

static void a_dump_has_both_stacks_and_the_files(void **state)
{
    (void)state;
    cairn_dump_stacks("t");
    assert_read("t||110|x|\n k0 fffffffff81000010+0x1/0x2\n k1 fffffffff81000020+0x1/0x2\n"
                " u0! 0x401136 /bin/x+0x1136\n u1 0x401200 /bin/x+0x1200\n"
                " u2 0x500abc /opt/my lib/libwork.so (deleted)+0x2abc\n");
    assert_log(HEAD KERNEL
               "t: user backtrace (raw user PCs): #1\n"
               "t:   [u00] 0x0000000000401136 /bin/x+0x1136 #1\n"
               "t:   [u01] 0x0000000000401200 /bin/x+0x1200 #1\n"
               "t:   [u02] 0x0000000000500abc /opt/my lib/libwork.so (deleted)+0x2abc #1\n");
    assert_int_equal(mock.n_unlocked, 1);
}

static void what_is_no_code_ends_the_stack(void **state)
{
    (void)state;
    put_frame(2, frame_at(3), 0x485300656d616e74 & (TASK_SIZE_64 - 1));
    put_frame(3, frame_at(4), 0x401300);
    cairn_dump_stacks("t");
    assert_read("t||110|x|\n k0 fffffffff81000010+0x1/0x2\n k1 fffffffff81000020+0x1/0x2\n"
                " u0! 0x401136 /bin/x+0x1136\n u1 0x401200 /bin/x+0x1200\n"
                " u2* 0x656d616e74\n");
}

static void memory_without_a_file_has_a_name(void **state)
{
    (void)state;
    set_user(0x600010, frame_at(1), frame_at(0));
    put_frame(1, frame_at(2), 0x700020);
    put_frame(2, frame_at(1), 0x401200); /* back: no frame is below its callee's */
    cairn_dump_stacks("t");
    assert_read(
        "t||110|x|\n k0 fffffffff81000010+0x1/0x2\n k1 fffffffff81000020+0x1/0x2\n"
        " u0! 0x600010 [vdso]+0x10\n u1 0x700020 [anon]+0x20\n u2 0x401200 /bin/x+0x1200\n");
}

static void the_stack_ends_where_memory_cannot_be_read(void **state)
{
    (void)state;
    put_frame(1, MOCK_STACK + sizeof mock.words - 8, 0x401200); /* half of a frame */
    cairn_dump_stacks("t");
    assert_non_null(strstr(mock.log, "[u01]"));
    assert_null(strstr(mock.log, "[u02]"));
    set_up(state);
    set_user(0x401136, frame_at(1) + 4, frame_at(0)); /* no frame is at half a word */
    cairn_dump_stacks("t");
    assert_null(strstr(mock.log, "[u01]"));
}

static void at_most_64_frames_are_printed(void **state)
{
    (void)state;
    for (int i = 1; i < 64; i++)
        put_frame(i, frame_at(i + 1), 0x401200);
    mock.n_kernel = 96;
    for (unsigned i = 3; i < 96; i++)
        mock.kernel[i] = 0xffffffff81000000 + i;
    cairn_dump_stacks("t");
    assert_non_null(strstr(mock.log, "[k63]"));
    assert_non_null(strstr(mock.log, "[u63]"));
    assert_null(strstr(mock.log, "64]"));
}

static void without_the_mmap_lock_addresses_stand_alone(void **state)
{
    (void)state;
#if LINUX_VERSION_CODE >= KERNEL_VERSION(5, 8, 0)
    mock.mm.mmap_lock.is_written = true;
#else
    mock.mm.mmap_sem.is_written = true;
#endif
    cairn_dump_stacks("t");
    assert_read("t||110|x|\n k0 fffffffff81000010+0x1/0x2\n k1 fffffffff81000020+0x1/0x2\n"
                " u0! 0x401136\n u1 0x401200\n u2 0x500abc\n");
    assert_int_equal(mock.n_unlocked, 0);
}

static void interrupts_take_no_lock_and_NMIs_read_no_stack(void **state)
{
    (void)state;
    mock.preempt_count = HARDIRQ_OFFSET;
    cairn_dump_stacks("t");
    assert_non_null(strstr(mock.log, "[u02] 0x0000000000500abc #1\n"));
    set_up(state);
    mock.in_softirq = true;
    cairn_dump_stacks("t");
    assert_non_null(strstr(mock.log, "[u02] 0x0000000000500abc #1\n"));
    set_up(state);
    mock.preempt_count = HARDIRQ_OFFSET + NMI_OFFSET;
    cairn_dump_stacks("t");
    assert_non_null(strstr(mock.log, "[u00] 0x0000000000401136 #1\n"));
    assert_null(strstr(mock.log, "[u01]"));
    assert_int_equal(mock.n_unlocked, 0);
}

/* There the end of the lock could wait for what the caller holds. */
static void with_interrupts_off_the_lock_ends_later(void **state)
{
    (void)state;
    mock.irqs_off = true;
    cairn_dump_stacks("t");
#if LINUX_VERSION_CODE >= KERNEL_VERSION(5, 8, 0)
    assert_non_null(strstr(mock.log, "[u01] 0x0000000000401200 bin/x+0x1200 #1\n"));
    assert_int_equal(mock.n_unlocked, 0);
    mock.log_size = 0;
    mock.task.tgid++; /* not the same stack */
    cairn_dump_stacks("t");
    assert_non_null(strstr(mock.log, "[u01] 0x0000000000401200 #2\n"));
    mock_enable_irqs();
    assert_int_equal(mock.n_unlocked, 1);
    assert_int_equal(mock.mm.mmap_lock.n_readers, 0);
    mock.irqs_off = true;
    mock.task.tgid++;
    cairn_dump_stacks("t");
    assert_non_null(strstr(mock.log, "[u01] 0x0000000000401200 bin/x+0x1200 #3\n"));
    cairn_dump_stacks_exit();
    assert_int_equal(mock.n_unlocked, 2);
#else
    assert_non_null(strstr(mock.log, "[u01] 0x0000000000401200 #1\n"));
    assert_int_equal(mock.n_unlocked, 0);
#endif
}

/* d_path() may wait for a lock there. */
static void under_a_spinlock_paths_have_their_last_parts(void **state)
{
    (void)state;
    mock.preempt_count = 1;
    cairn_dump_stacks("t");
    assert_non_null(strstr(mock.log, "[u01] 0x0000000000401200 bin/x+0x1200 #1\n"));
    assert_int_equal(mock.n_unlocked, 1);
}

static void a_probe_shows_the_stack_of_what_it_probed(void **state)
{
    (void)state;
    const unsigned long probed = 0xffffffff81002000;
    /* ftrace: the address behind its call stands there. */
    mock.kernel[2] = probed + 5;
    cairn_dump_stacks_at("t", probed, 0xffffffff81000020, false);
    assert_non_null(strstr(mock.log, "[k00] fffffffff81002000+0x1/0x2 [exact] (probe) #1\n"
                                     "t:   [k01] fffffffff81000020+0x1/0x2 #1\n"
                                     "t: user"));
    assert_read("t||110|x|\n k0! fffffffff81002000+0x1/0x2 [exact]\n k1 fffffffff81000020+0x1/0x2\n"
                " u0! 0x401136 /bin/x+0x1136\n u1 0x401200 /bin/x+0x1200\n"
                " u2 0x500abc /opt/my lib/libwork.so (deleted)+0x2abc\n");
    /* Frame pointers: the caller of a function that has no frame yet is missing. */
    set_up(state);
    mock.kernel[2] = probed;
    cairn_dump_stacks_at("t", probed, 0xffffffff81000018, false);
    assert_non_null(strstr(mock.log, "[k00] fffffffff81002000+0x1/0x2 [exact] (probe) #1\n"
                                     "t:   [k01] fffffffff81000018+0x1/0x2 #1\n"
                                     "t:   [k02] fffffffff81000020+0x1/0x2 #1\n"
                                     "t: user"));
    /* Neither is found: all is shown. */
    set_up(state);
    cairn_dump_stacks_at("t", probed, 0, false);
    assert_non_null(strstr(mock.log, "[k00] fffffffffc0000001+0x1/0x2"));
    /* The trap of the probe counts as an NMI; what it interrupted is a thread. */
    set_up(state);
    mock.preempt_count = HARDIRQ_OFFSET + NMI_OFFSET;
    mock.irqs_off = true;
    cairn_dump_stacks_at("t", probed, 0, true);
    assert_non_null(strstr(mock.log, "[u02] 0x0000000000500abc"));
}

static void equal_stacks_are_printed_once(void **state)
{
    (void)state;
    cairn_dump_stacks("t");
    mock.log_size = 0;
    cairn_dump_stacks("t");
    assert_log("t: pid=110 comm=x tgid=108 cpu=0 #2\nt: same as #1 #2\n");
    /* Another thread of the process, but no other process, tag or stack. */
    mock.task.pid++;
    cairn_dump_stacks("t");
    assert_log("t: pid=111 comm=x tgid=108 cpu=0 #3\nt: same as #1 #3\n");
    mock.task.tgid++;
    cairn_dump_stacks("t");
    assert_null(strstr(mock.log, "same as"));
    cairn_dump_stacks("u");
    assert_null(strstr(mock.log, "same as"));
    put_frame(1, frame_at(2), 0x401204);
    cairn_dump_stacks("u");
    assert_null(strstr(mock.log, "same as"));
    /* The log may have lost the first one by then. */
    mock.log_size = 0;
    cairn_stack_log.number += CAIRN_STACK_AGAIN;
    cairn_dump_stacks("u");
    assert_null(strstr(mock.log, "same as"));
}

static void a_program_of_32_bits_has_other_frames(void **state)
{
    (void)state;
    u32 words[] = {(u32)frame_at(2), 0x401200};
    u32 more[] = {0, 0x401300};
    memcpy((char *)mock.words + 32, words, sizeof words);
    memcpy((char *)mock.words + 64, more, sizeof more);
#ifdef CONFIG_ARM64
    mock.regs.is_32_bit = true;
#else
    mock.regs.cs = __USER32_CS;
#endif
    cairn_dump_stacks("t");
    assert_non_null(strstr(mock.log, " cpu=0 bits=32 #1\n"));
    assert_non_null(strstr(mock.log, "[u00] 0x0000000000401136 /bin/x+0x1136 #1\n"));
#ifdef CONFIG_ARM64
    assert_null(strstr(mock.log, "[u01]"));
#else
    assert_non_null(strstr(mock.log, "[u02] 0x0000000000401300 /bin/x+0x1300 #1\n"));
#endif
}

#ifdef CONFIG_ARM64
static void signatures_and_tags_are_taken_off(void **state)
{
    (void)state;
    set_user(0x401136, frame_at(1) | 0xbUL << 56, frame_at(0) | 0xaUL << 56);
    put_frame(1, frame_at(2) | 0xcUL << 56, 0x401200 | 0x65UL << 48);
    cairn_dump_stacks("t");
    assert_non_null(strstr(mock.log, "[u01] 0x0000000000401200 /bin/x+0x1200 #1\n"
                                     "t:   [u02] 0x0000000000500abc"));
}
#endif

#else /* no walk of its own */

static void the_kernel_walks_or_says_that_it_cannot(void **state)
{
    (void)state;
    cairn_dump_stacks("t");
#if defined(CONFIG_USER_STACKTRACE_SUPPORT) && !defined(MODULE)
    assert_log(HEAD KERNEL "t: user backtrace (raw user PCs): #1\n"
                           "t:   [u00] 0x0000000000401136 /bin/x+0x1136 #1\n");
#elif defined(CONFIG_USER_STACKTRACE_SUPPORT)
    assert_log(HEAD KERNEL
               "t: no user backtrace: modules cannot call stack_trace_save_user() #1\n");
#else
    assert_log(HEAD KERNEL "t: user stack trace not supported (CONFIG_USER_STACKTRACE_SUPPORT is "
                           "disabled) #1\n");
#endif
}
#endif

static void threads_without_a_user_stack_say_so(void **state)
{
    (void)state;
    mock.task.flags = PF_KTHREAD;
    cairn_dump_stacks("t");
    assert_log(HEAD KERNEL "t: no user backtrace: a kernel thread #1\n");
    set_up(state);
    mock.task.mm = NULL;
    cairn_dump_stacks("t");
    assert_log(HEAD KERNEL "t: no user backtrace: the program has no memory yet, or no more #1\n");
    set_up(state);
    mock.regs.is_user = false;
    cairn_dump_stacks("t");
    assert_log(HEAD KERNEL "t: no user backtrace: the thread was never in user mode #1\n");
}

static void dumps_of_a_second_are_limited_and_counted(void **state)
{
    (void)state;
    for (int i = 0; i < 15; i++) {
        mock.task.tgid = i;
        cairn_dump_stacks("t");
    }
    assert_int_equal(cairn_stack_log.number, CAIRN_STACK_LIMIT);
    const char *said =
        strstr(mock.log, "t: more than 10 dumps a second, the rest is only counted\n");
    assert_non_null(said);
    assert_null(strstr(said + 1, "t: more than"));
    mock.log_size = 0;
    mock.now += HZ;
    cairn_dump_stacks("t");
    assert_memory_equal(mock.log, "t: 5 dumps before #11 were not printed\nt: pid=110 ", 50);
    mock.log_size = 0;
    mock.lock_is_taken = true; /* by what the probe interrupted */
    cairn_dump_stacks("t");
    assert_int_equal(mock.log_size, 0);
    cairn_dump_stacks_exit();
    assert_log("cairn: 1 dumps before the end were not printed\n");
}

static void dump_from_printk(void)
{
    cairn_dump_stacks("t");
}

/* A tracepoint in printk() leads here again. */
static void a_dump_within_a_dump_is_left_out(void **state)
{
    (void)state;
    mock.on_printk = dump_from_printk;
    cairn_dump_stacks("t");
    assert_int_equal(cairn_stack_log.number, 1);
    assert_true(cairn_stack_log.n_left_out.counter > 3);
}

static void names_of_users_end_no_line(void **state)
{
    (void)state;
    memcpy(mock.task.comm, "a\nt: pid=7\x7f comm", TASK_COMM_LEN); /* without its end */
    program.f_path.text = "/bin/x\n[u09]";
    cairn_dump_stacks("t\r\n");
    program.f_path.text = "/bin/x";
    assert_memory_equal(mock.log, "t??: pid=110 comm=a?t: pid=7? com tgid=108", 42);
    for (const char *line = mock.log; *line; line = strchr(line, '\n') + 1)
        assert_memory_equal(line, "t??: ", 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#if defined(CONFIG_X86) || defined(CONFIG_ARM64)
        cmocka_unit_test_setup(a_dump_has_both_stacks_and_the_files, set_up),
        cmocka_unit_test_setup(what_is_no_code_ends_the_stack, set_up),
        cmocka_unit_test_setup(memory_without_a_file_has_a_name, set_up),
        cmocka_unit_test_setup(the_stack_ends_where_memory_cannot_be_read, set_up),
        cmocka_unit_test_setup(at_most_64_frames_are_printed, set_up),
        cmocka_unit_test_setup(without_the_mmap_lock_addresses_stand_alone, set_up),
        cmocka_unit_test_setup(interrupts_take_no_lock_and_NMIs_read_no_stack, set_up),
        cmocka_unit_test_setup(with_interrupts_off_the_lock_ends_later, set_up),
        cmocka_unit_test_setup(under_a_spinlock_paths_have_their_last_parts, set_up),
        cmocka_unit_test_setup(a_probe_shows_the_stack_of_what_it_probed, set_up),
        cmocka_unit_test_setup(equal_stacks_are_printed_once, set_up),
        cmocka_unit_test_setup(a_program_of_32_bits_has_other_frames, set_up),
#ifdef CONFIG_ARM64
        cmocka_unit_test_setup(signatures_and_tags_are_taken_off, set_up),
#endif
#else
        cmocka_unit_test_setup(the_kernel_walks_or_says_that_it_cannot, set_up),
#endif
        cmocka_unit_test_setup(threads_without_a_user_stack_say_so, set_up),
        cmocka_unit_test_setup(dumps_of_a_second_are_limited_and_counted, set_up),
        cmocka_unit_test_setup(a_dump_within_a_dump_is_left_out, set_up),
        cmocka_unit_test_setup(names_of_users_end_no_line, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
