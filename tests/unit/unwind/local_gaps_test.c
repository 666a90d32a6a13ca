/* SPDX-License-Identifier: MIT */
/* A program whose segments lie apart (-z max-page-size): glibc says of it that it begins with its
 * text, so that no ELF header is there. Its unwind information is read in place all the same. */
#include <elf.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/test.h"
#include "unwind/local_rule.h"
#include "unwind/modules.h"

enum { IN_PLACE = 0, NO_FILTER = 2, NO_RULE = 3 };

/* From now on the process dies where it has the kernel read. */
static bool forbid_reads(void)
{
    struct sock_filter program[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog filter = {sizeof program / sizeof *program, program};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

static int find_rule(void)
{
    uint32_t rule;
    if (!forbid_reads())
        return NO_FILTER;
    return cairn_local_rule_make((uintptr_t)forbid_reads, &rule) == CAIRN_LOCAL_RULE ? IN_PLACE
                                                                                     : NO_RULE;
}

static void the_programs_own_headers_are_asked(void **state)
{
    struct cairn_local_module module;
    int status;
    (void)state;
    assert_true(cairn_modules_find((uintptr_t)forbid_reads, &module));
    if (memcmp((const void *)module.from, ELFMAG, SELFMAG) == 0)
        printf("the header is where the module begins: nothing special here\n");
    pid_t child = fork();
    if (child == 0)
        _exit(find_rule());
    assert_int_equal(waitpid(child, &status, 0), child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == NO_FILTER) {
        printf("skipped: seccomp(2) cannot be used here: %s\n", strerror(errno));
        return;
    }
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), IN_PLACE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_programs_own_headers_are_asked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
