/* SPDX-License-Identifier: MIT */
#include "proc/call_filter.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/test.h"

/* What the kernel would answer (net/core/filter.c), for the instructions that are used. */
static uint32_t run(const struct cairn_call_filter *filter, const struct seccomp_data *data)
{
    uint32_t a = 0;
    for (size_t pc = 0; pc < filter->n; pc++) {
        const struct sock_filter *insn = &filter->insns[pc];
        bool holds = false;
        switch (insn->code) {
        case BPF_LD | BPF_W | BPF_ABS:
            assert_true(insn->k + sizeof a <= sizeof *data);
            memcpy(&a, (const uint8_t *)data + insn->k, sizeof a);
            continue;
        case BPF_JMP | BPF_JA:
            pc += insn->k;
            continue;
        case BPF_RET | BPF_K:
            return insn->k;
        case BPF_JMP | BPF_JEQ | BPF_K:
            holds = a == insn->k;
            break;
        case BPF_JMP | BPF_JGE | BPF_K:
            holds = a >= insn->k;
            break;
        case BPF_JMP | BPF_JSET | BPF_K:
            holds = a & insn->k;
            break;
        default:
            fail_msg("instruction %zu has code 0x%x", pc, insn->code);
        }
        pc += holds ? insn->jt : insn->jf;
    }
    fail_msg("the program runs out of its end");
    return 0;
}

static bool is_traced(const struct cairn_call_filter *filter, uint32_t arch, int number,
                      uint64_t arg0, uint64_t arg2)
{
    const struct seccomp_data data = {.arch = arch, .nr = number, .args = {arg0, 0, arg2}};
    const uint32_t action = run(filter, &data);
    assert_true(action == SECCOMP_RET_TRACE || action == SECCOMP_RET_ALLOW);
    return action == SECCOMP_RET_TRACE;
}

static void want(uint64_t *bits, int number)
{
    bits[number / 64] |= 1ull << number % 64;
}

static struct cairn_call_filter filter; /* 32 KB */

static void hold_against(const struct cairn_calls_wanted *wanted)
{
    const struct cairn_call_table *native = &cairn_call_abi.native,
                                  *compat = &cairn_call_abi.compat;
    struct cairn_err err;
    assert_ok(cairn_call_filter_make(wanted, &filter, &err), err);
    assert_true(filter.n < BPF_MAXINSNS);
    for (int i = 0; i < CAIRN_CALL_NUMBERS + 64; i++) {
        assert_int_equal(is_traced(&filter, native->arch, i, 0, 0),
                         cairn_calls_want(wanted->native, (uint64_t)i));
        assert_int_equal(is_traced(&filter, compat->arch, i, 0, 0),
                         cairn_calls_want(wanted->compat, (uint64_t)i));
        assert_false(is_traced(&filter, AUDIT_ARCH_S390X, i, 0, 0));
    }
    assert_false(is_traced(&filter, native->arch, -1, 0, 0));
}

static void each_wanted_number_is_traced_and_no_other(void **state)
{
    struct cairn_calls_wanted wanted = {0};
    (void)state;
    hold_against(&wanted);
    want(wanted.native, 0);
    want(wanted.native, CAIRN_CALL_NUMBERS - 1);
    want(wanted.compat, 4);
    hold_against(&wanted);
    for (int i = 60; i < 70; i++)
        want(wanted.native, i);
    hold_against(&wanted);
    memset(&wanted, 0xff, sizeof wanted);
    hold_against(&wanted);
    memset(&wanted, 0x55, sizeof wanted); /* as many ranges as there can be */
    hold_against(&wanted);
    memset(&wanted, 0xaa, sizeof wanted);
    hold_against(&wanted);
}

static void what_maps_code_or_renames_is_traced_too(void **state)
{
    const struct cairn_call_table *tables[] = {&cairn_call_abi.native, &cairn_call_abi.compat};
    const struct cairn_calls_wanted wanted = {0};
    struct cairn_err err;
    (void)state;
    assert_ok(cairn_call_filter_make(&wanted, &filter, &err), err);
    for (size_t i = 0; i < 2; i++) {
        const struct cairn_call_table *t = tables[i];
        const int maps[] = {t->mmap, t->mprotect, t->pkey_mprotect};
        for (size_t k = 0; k < 3; k++) {
            assert_true(is_traced(&filter, t->arch, maps[k], 0, PROT_READ | PROT_EXEC));
            assert_false(is_traced(&filter, t->arch, maps[k], 0, PROT_READ | PROT_WRITE));
        }
        assert_true(is_traced(&filter, t->arch, t->prctl, PR_SET_NAME, 0));
        assert_false(is_traced(&filter, t->arch, t->prctl, PR_GET_NAME, 0));
    }
}

static void numbers_of_x32_are_those_of_the_table_and_all_its_own(void **state)
{
    struct cairn_calls_wanted wanted = {0};
    struct cairn_err err;
    const uint32_t arch = cairn_call_abi.native.arch;
    (void)state;
    if (!cairn_call_abi.has_x32)
        skip();
    want(wanted.native, 39);
    assert_ok(cairn_call_filter_make(&wanted, &filter, &err), err);
    assert_true(is_traced(&filter, arch, CAIRN_CALL_X32_BIT | 39, 0, 0));
    assert_false(is_traced(&filter, arch, CAIRN_CALL_X32_BIT | 40, 0, 0));
    assert_true(is_traced(&filter, arch, CAIRN_CALL_X32_BIT | 520, 0, 0));
}

/* Whose calls fail, for there is no tracer. */
static void the_kernel_takes_it(void **state)
{
    struct cairn_calls_wanted wanted = {0};
    struct cairn_err err;
    int status;
    (void)state;
    want(wanted.native, SYS_getppid);
    assert_ok(cairn_call_filter_make(&wanted, &filter, &err), err);
    const pid_t pid = fork();
    if (!pid) {
        const int refusal = cairn_call_filter_lay(&filter);
        if (refusal)
            _exit(refusal == ENOSYS || refusal == EINVAL ? 77 : 1);
        _exit(syscall(SYS_getppid) == -1 && errno == ENOSYS && getpid() > 0 ? 0 : 2);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == 77)
        skip(); /* no CONFIG_SECCOMP_FILTER, or an emulator */
    assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_wanted_number_is_traced_and_no_other),
        cmocka_unit_test(what_maps_code_or_renames_is_traced_too),
        cmocka_unit_test(numbers_of_x32_are_those_of_the_table_and_all_its_own),
        cmocka_unit_test(the_kernel_takes_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
