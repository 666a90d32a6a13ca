/* SPDX-License-Identifier: MIT */
/* Tries of bpf(2): programs of a few instructions, as the kernel takes them, so that this works in
 * builds without libbpf, too. They end with the child that loaded them. */
#include <errno.h>
#include <linux/bpf.h>
#include <stdbool.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/file.h"
#include "doctor/btf.h"
#include "doctor/tries.h"

enum { BTF_BYTES_MAX = 256 << 20, COPY_FROM_USER_TASK = 191 /* bpf-helpers(7), Linux 5.18 */ };

static int bpf(enum bpf_cmd command, union bpf_attr *attr)
{
    return (int)syscall(SYS_bpf, command, attr, sizeof *attr);
}

/* A descriptor, or -1 and errno. Before Linux 5.11 a program counts as locked memory, which its
 * limit may forbid; that is a finding, too. */
static int load(enum bpf_prog_type type, const struct bpf_insn *code, size_t n, uint32_t function)
{
    union bpf_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.prog_type = type;
    attr.insns = (uint64_t)(uintptr_t)code;
    attr.insn_cnt = (uint32_t)n;
    attr.license = (uint64_t)(uintptr_t) "Dual MIT/GPL";
    if (function) {
        attr.expected_attach_type = BPF_TRACE_ITER;
        attr.attach_btf_id = function;
        attr.prog_flags = BPF_F_SLEEPABLE;
    }
    return bpf(BPF_PROG_LOAD, &attr);
}

int cairn_try_bpf_program(const struct cairn_doctor_subject *subject,
                          struct cairn_doctor_answer *answer)
{
    (void)subject, (void)answer;
    static const struct bpf_insn code[] = {
        {.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0}, /* r0 = 0 */
        {.code = BPF_JMP | BPF_EXIT},
    };
    int fd = load(BPF_PROG_TYPE_PERF_EVENT, code, sizeof code / sizeof *code, 0);
    if (fd < 0)
        return errno;
    close(fd);
    return 0;
}

/* ENOENT: the kernel has no types, or no task iterator. */
static int find_iterator(uint32_t *ret_function)
{
    struct cairn_buffer btf = {0};
    struct cairn_err why;
    int os_errno = 0;
    if (cairn_file_slurp("/sys/kernel/btf/vmlinux", BTF_BYTES_MAX, &btf, &why) < 0)
        os_errno = why.os_errno ? why.os_errno : EIO;
    else if (!cairn_btf_find_function(cairn_buffer_span(&btf), "bpf_iter_task", ret_function))
        os_errno = ENOENT;
    cairn_buffer_done(&btf);
    return os_errno;
}

/* Starts it and reads to the end: the program runs for each thread there is. */
static int run_iterator(int program)
{
    union bpf_attr attr;
    char bytes[64];
    memset(&attr, 0, sizeof attr);
    attr.link_create.prog_fd = (uint32_t)program;
    attr.link_create.attach_type = BPF_TRACE_ITER;
    int link = bpf(BPF_LINK_CREATE, &attr);
    if (link < 0)
        return errno;
    memset(&attr, 0, sizeof attr);
    attr.iter_create.link_fd = (uint32_t)link;
    int iterator = bpf(BPF_ITER_CREATE, &attr), os_errno = errno;
    if (iterator >= 0) {
        ssize_t got = read(iterator, bytes, sizeof bytes);
        os_errno = got < 0 ? errno : 0;
        close(iterator);
    }
    close(link);
    return os_errno;
}

/* As a look at stacks without a stop: the program may sleep, and reads the memory of the task. */
int cairn_try_bpf_iterator(const struct cairn_doctor_subject *subject,
                           struct cairn_doctor_answer *answer)
{
    (void)subject, (void)answer;
    static const struct bpf_insn code[] = {
        /* clang-format off */
        {BPF_LDX | BPF_MEM | BPF_DW, BPF_REG_6, BPF_REG_1, 8, 0},        /* r6 = ctx->task */
        {BPF_JMP | BPF_JEQ | BPF_K, BPF_REG_6, 0, 8, 0},                 /* none: the end */
        {BPF_ST | BPF_MEM | BPF_DW, BPF_REG_10, 0, -8, 0},
        {BPF_ALU64 | BPF_MOV | BPF_X, BPF_REG_1, BPF_REG_10, 0, 0},      /* to */
        {BPF_ALU64 | BPF_ADD | BPF_K, BPF_REG_1, 0, 0, -8},
        {BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_2, 0, 0, 8},               /* bytes */
        {BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_3, 0, 0, 0},               /* from: nothing there */
        {BPF_ALU64 | BPF_MOV | BPF_X, BPF_REG_4, BPF_REG_6, 0, 0},       /* task */
        {BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_5, 0, 0, 0},               /* flags */
        {BPF_JMP | BPF_CALL, 0, 0, 0, COPY_FROM_USER_TASK},
        {BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_0, 0, 0, 0},
        {BPF_JMP | BPF_EXIT, 0, 0, 0, 0},
        /* clang-format on */
    };
    uint32_t function = 0;
    int os_errno = find_iterator(&function);
    if (os_errno)
        return os_errno;
    int program = load(BPF_PROG_TYPE_TRACING, code, sizeof code / sizeof *code, function);
    if (program < 0)
        return errno;
    os_errno = run_iterator(program);
    close(program);
    return os_errno;
}
