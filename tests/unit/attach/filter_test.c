/* SPDX-License-Identifier: MIT */
/* Programs of system call filters, run here and by the kernel. */
#include "attach/filter.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "support/child.h"
#include "support/test.h"

enum {
    PROGRAMS = 400,
    BODY = 24,      /* random instructions */
    DATA_MAX = 4095 /* the largest errno */
};

#define ABS(field) (unsigned)offsetof(struct seccomp_data, field)

static const struct seccomp_data call = {.nr = 7,
                                         .arch = 0xc000003e,
                                         .instruction_pointer = 0x7f0012345678,
                                         .args = {1, 0xffffffff80000002, 3, 4, 5, 6}};

static uint32_t answer_of(const struct sock_filter *insns, size_t n)
{
    uint32_t answer = 1;
    struct cairn_err err;
    assert_ok(cairn_filter_run(insns, n, &call, &answer, &err), err);
    return answer;
}

static void words_of_the_call_are_loaded(void **state)
{
    (void)state;
    static const struct {
        unsigned at;
        uint32_t word;
    } cases[] = {{ABS(nr), 7},
                 {ABS(arch), 0xc000003e},
                 {ABS(instruction_pointer), 0x12345678},
                 {ABS(instruction_pointer) + 4, 0x7f00},
                 {ABS(args[1]), 0x80000002},
                 {ABS(args[1]) + 4, 0xffffffff},
                 {ABS(args[5]) + 4, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct sock_filter insns[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, cases[i].at),
                                            BPF_STMT(BPF_RET | BPF_A, 0)};
        assert_int_equal(answer_of(insns, 2), cases[i].word);
    }
    const struct sock_filter size[] = {BPF_STMT(BPF_LDX | BPF_W | BPF_LEN, 0),
                                       BPF_STMT(BPF_MISC | BPF_TXA, 0),
                                       BPF_STMT(BPF_RET | BPF_A, 0)};
    assert_int_equal(answer_of(size, 3), sizeof call);
}

static void a_division_by_zero_is_a_kill(void **state)
{
    (void)state;
    const struct sock_filter insns[] = {BPF_STMT(BPF_LD | BPF_IMM, 5),
                                        BPF_STMT(BPF_ALU | BPF_DIV | BPF_X, 0),
                                        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    assert_int_equal(answer_of(insns, 3), SECCOMP_RET_KILL_THREAD);
}

static void what_no_kernel_takes_is_refused(void **state)
{
    (void)state;
    static const struct sock_filter bad[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 2),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 64),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0xfffffffc),
        BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 0),
        BPF_STMT(BPF_LD | BPF_W | BPF_IND, 0),
        BPF_STMT(BPF_LD | BPF_MEM, BPF_MEMWORDS),
        BPF_STMT(BPF_STX, 0xffffffff),
        BPF_STMT(BPF_ALU | BPF_LSH | BPF_K, 32),
        BPF_STMT(BPF_ALU | BPF_DIV | BPF_K, 0),
        BPF_STMT(BPF_ALU | BPF_MOD | BPF_K, 3),
        BPF_STMT(BPF_JMP | BPF_JA, 1),
        BPF_STMT(BPF_JMP | BPF_JA, 0xffffffff),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 255, 255),
        BPF_STMT(0xffff, 0),
        BPF_STMT(BPF_RET | BPF_X, 0),
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        const struct sock_filter insns[] = {bad[i], BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
        uint32_t answer;
        struct cairn_err err;
        assert_fails(cairn_filter_run(insns, 2, &call, &answer, &err), CAIRN_E_FORMAT, err,
                     "instruction 0");
    }
    uint32_t answer;
    struct cairn_err err;
    const struct sock_filter open_end = BPF_STMT(BPF_LD | BPF_IMM, 1);
    assert_fails(cairn_filter_run(&open_end, 1, &call, &answer, &err), CAIRN_E_FORMAT, err,
                 "without an answer");
    assert_fails(cairn_filter_run(NULL, 0, &call, &answer, &err), CAIRN_E_FORMAT, err,
                 "without an answer");
}

static void the_strongest_answer_wins(void **state)
{
    (void)state;
    static const uint32_t order[] = {
        SECCOMP_RET_KILL_PROCESS, SECCOMP_RET_KILL_THREAD, SECCOMP_RET_TRAP, SECCOMP_RET_ERRNO,
        SECCOMP_RET_USER_NOTIF,   SECCOMP_RET_TRACE,       SECCOMP_RET_LOG,  SECCOMP_RET_ALLOW};
    for (size_t i = 0; i + 1 < sizeof order / sizeof order[0]; i++) {
        assert_int_equal(cairn_filter_stronger(order[i] | 5, order[i + 1]), order[i] | 5);
        assert_int_equal(cairn_filter_stronger(order[i + 1], order[i] | 5), order[i] | 5);
    }
    assert_int_equal(cairn_filter_stronger(SECCOMP_RET_ERRNO | 1, SECCOMP_RET_ERRNO | 2),
                     SECCOMP_RET_ERRNO | 1);
}

static uint32_t random_word(unsigned *seed)
{
    *seed = *seed * 1103515245 + 12345;
    uint32_t high = *seed >> 16;
    *seed = *seed * 1103515245 + 12345;
    return high << 16 | *seed >> 16;
}

/* One that the kernel takes: of words that were stored, forward within the body. */
static struct sock_filter random_insn(unsigned *seed, unsigned left)
{
    static const uint16_t sums[] = {BPF_ADD, BPF_SUB, BPF_MUL, BPF_AND, BPF_OR, BPF_XOR};
    static const uint16_t jumps[] = {BPF_JEQ, BPF_JGT, BPF_JGE, BPF_JSET};
    const uint32_t k = random_word(seed), kind = random_word(seed) % 12;
    const uint16_t source = random_word(seed) % 2 ? BPF_X : BPF_K;
    switch (kind) {
    case 0:
    case 1:
        return (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, k % 16 * 4);
    case 2:
        return (struct sock_filter)BPF_STMT(BPF_LDX | BPF_IMM, k);
    case 3:
        return (struct sock_filter)BPF_STMT(BPF_MISC | (k % 2 ? BPF_TAX : BPF_TXA), 0);
    case 4:
        return (struct sock_filter)BPF_STMT(k % 2 ? BPF_LD | BPF_MEM : BPF_LDX | BPF_MEM, k % 3);
    case 5:
        return (struct sock_filter)BPF_STMT(k % 2 ? BPF_ST : BPF_STX, k % 3);
    case 6:
        return (struct sock_filter)BPF_STMT(BPF_ALU | (k % 2 ? BPF_LSH : BPF_RSH), k % 32);
    case 7:
        return (struct sock_filter)BPF_STMT(BPF_ALU | BPF_DIV, k | 1);
    case 8:
    case 9: {
        unsigned over = left > 1 ? left - 1 : 0;
        return (struct sock_filter)BPF_JUMP(BPF_JMP | jumps[k % 4] | source, k >> 4,
                                            (uint8_t)(over ? k % over : 0),
                                            (uint8_t)(over ? (k >> 8) % over : 0));
    }
    default:
        return (struct sock_filter)BPF_STMT(BPF_ALU | sums[k % 6] | source, k >> 3);
    }
}

/* Answers getppid(2) alone, with twelve bits of what it calculated as errno. */
static size_t make_program(unsigned seed, struct sock_filter insns[BODY + 16])
{
    size_t n = 0;
    insns[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, ABS(nr));
    insns[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 1, 0);
    insns[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    for (unsigned i = 0; i < 3; i++)
        insns[n++] = (struct sock_filter)BPF_STMT(BPF_ST, i); /* what is not stored is not loaded */
    for (unsigned i = 0; i < BODY; i++)
        insns[n++] = random_insn(&seed, BODY - i);
    insns[n++] = (struct sock_filter)BPF_STMT(BPF_ALU | BPF_AND | BPF_K, DATA_MAX);
    insns[n++] = (struct sock_filter)BPF_STMT(BPF_ALU | BPF_OR | BPF_K, SECCOMP_RET_ERRNO);
    insns[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_A, 0);
    return n;
}

/* 0: as the kernel; 1: not; 2: filters cannot be set here. The instruction's address is the one
 * thing that is not known, so none is loaded. */
static int compare(unsigned seed)
{
    struct sock_filter insns[BODY + 16];
    const size_t n = make_program(seed, insns);
    for (size_t i = 0; i < n; i++)
        if (insns[i].code == (BPF_LD | BPF_W | BPF_ABS) &&
            (insns[i].k | 4) == (ABS(instruction_pointer) | 4))
            insns[i].k = ABS(args[2]);
    struct seccomp_data own = {.nr = SYS_getppid,
                               .args = {seed, ~UINT64_C(0) / 3, 1, 0, 77, 1u << 31}};
#if defined(__x86_64__)
    own.arch = 0xc000003e;
#elif defined(__aarch64__)
    own.arch = 0xc00000b7;
#elif defined(__arm__)
    own.arch = 0x40000028;
#endif
    struct sock_fprog program = {.len = (unsigned short)n, .filter = insns};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0)
        return 2;
    uint32_t answer = 0;
    long got = syscall(SYS_getppid, (long)own.args[0], (long)own.args[1], (long)own.args[2],
                       (long)own.args[3], (long)own.args[4], (long)own.args[5]);
    int refusal = got < 0 ? errno : 0;
    for (int i = 0; i < 6 && sizeof(long) == 4; i++)
        own.args[i] = (uint32_t)own.args[i];
    return cairn_filter_run(insns, n, &own, &answer, NULL) == CAIRN_OK &&
                   (answer & SECCOMP_RET_DATA) == (uint32_t)refusal
               ? 0
               : 1;
}

static void the_kernel_says_the_same(void **state)
{
    (void)state;
    for (unsigned seed = 1; seed <= PROGRAMS; seed++) {
        pid_t child = test_fork();
        int status;
        if (child == 0)
            _exit(compare(seed));
        assert_int_equal(waitpid(child, &status, 0), child);
        if (WIFEXITED(status) && WEXITSTATUS(status) == 2) {
            print_message("skipped: filters of system calls cannot be set here\n");
            skip();
        }
        if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
            fail_msg("program %u: another answer than the kernel's (status 0x%x)", seed, status);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_of_the_call_are_loaded),
        cmocka_unit_test(a_division_by_zero_is_a_kill),
        cmocka_unit_test(what_no_kernel_takes_is_refused),
        cmocka_unit_test(the_strongest_answer_wins),
        cmocka_unit_test(the_kernel_says_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
