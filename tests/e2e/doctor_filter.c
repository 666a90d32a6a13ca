/* SPDX-License-Identifier: MIT */
/* doctor_filter HOW COMMAND...: runs it behind a seccomp filter that answers what looks into
 * processes with HOW: EPERM, ENOSYS or kill. HOW may be docker: EPERM as its default profile says
 * it to who has no more capabilities than it gives, which leaves ptrace and process_vm_readv. */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    if (argc < 3)
        return 2;
    unsigned answer = SECCOMP_RET_KILL_PROCESS;
    const bool as_docker = strcmp(argv[1], "docker") == 0;
    if (as_docker || strcmp(argv[1], "EPERM") == 0)
        answer = SECCOMP_RET_ERRNO | EPERM;
    else if (strcmp(argv[1], "ENOSYS") == 0)
        answer = SECCOMP_RET_ERRNO | ENOSYS;
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_perf_event_open, 4, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_bpf, 3, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_ptrace, as_docker ? 1 : 2, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, as_docker ? 0 : 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_RET | BPF_K, answer),
    };
    const struct sock_fprog program = {sizeof code / sizeof *code, code};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0) {
        perror("seccomp");
        return 77;
    }
    execvp(argv[2], argv + 2);
    perror(argv[2]);
    return 1;
}
