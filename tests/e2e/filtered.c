/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
/*
 * filtered MODE COMMAND...: runs a command behind a filter of system calls (seccomp(2)).
 *
 *     container     refuses what containers refuse (EPERM), and clone3 as unknown
 *     list FILE     kills the process for all that the file does not list, a number a line
 *     kill NUMBER   kills the process for this one alone
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { CALLS_MAX = 500 };

static struct sock_filter insns[2 * CALLS_MAX + 8];
static unsigned short n;

static void put(struct sock_filter insn)
{
    insns[n++] = insn;
}

static void answer(unsigned number, unsigned with)
{
    put((struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1));
    put((struct sock_filter)BPF_STMT(BPF_RET | BPF_K, with));
}

static unsigned put_list(const char *path)
{
    FILE *file = fopen(path, "r");
    unsigned number, calls = 0;
    while (file && calls++ < CALLS_MAX && fscanf(file, "%u", &number) == 1)
        answer(number, SECCOMP_RET_ALLOW);
    return SECCOMP_RET_KILL_PROCESS;
}

static unsigned put_container(void)
{
    static const unsigned refused[] = {SYS_acct,
                                       SYS_add_key,
                                       SYS_bpf,
                                       SYS_mount,
                                       SYS_umount2,
                                       SYS_keyctl,
                                       SYS_kexec_load,
                                       SYS_request_key,
                                       SYS_open_by_handle_at,
                                       SYS_perf_event_open,
                                       SYS_userfaultfd,
                                       SYS_setns,
                                       SYS_unshare,
                                       SYS_pivot_root,
                                       SYS_swapon,
                                       SYS_init_module,
                                       SYS_process_vm_readv};
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++)
        answer(refused[i], SECCOMP_RET_ERRNO | EPERM);
    answer(SYS_clone3, SECCOMP_RET_ERRNO | ENOSYS);
    return SECCOMP_RET_ALLOW;
}

int main(int argc, char **argv)
{
    if (argc < 3)
        return 2;
    int command = strcmp(argv[1], "container") == 0 ? 2 : 3;
    unsigned else_ = SECCOMP_RET_ALLOW;
    put((struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)));
    if (command == 2)
        else_ = put_container();
    else if (strcmp(argv[1], "list") == 0)
        else_ = put_list(argv[2]);
    else
        answer((unsigned)atoi(argv[2]), SECCOMP_RET_KILL_PROCESS);
    put((struct sock_filter)BPF_STMT(BPF_RET | BPF_K, else_));
    struct sock_fprog program = {.len = n, .filter = insns};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0) {
        perror("filtered");
        return 3;
    }
    execvp(argv[command], argv + command);
    perror(argv[command]);
    return 127;
}
