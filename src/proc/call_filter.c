/* SPDX-License-Identifier: MIT */
#include "proc/call_filter.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/error.h"

/* Of struct seccomp_data; the low half of an argument lies first on the CPUs that are known. */
enum {
    AT_NUMBER = offsetof(struct seccomp_data, nr),
    AT_ARCH = offsetof(struct seccomp_data, arch),
    AT_ARG0 = offsetof(struct seccomp_data, args),
    AT_ARG2 = AT_ARG0 + 2 * sizeof(uint64_t)
};

struct writer {
    struct cairn_call_filter *filter;
    bool is_full;
};

static void put(struct writer *w, struct sock_filter insn)
{
    if (w->filter->n == CAIRN_CALL_FILTER_MAX)
        w->is_full = true;
    else
        w->filter->insns[w->filter->n++] = insn;
}

static void load(struct writer *w, uint32_t at)
{
    put(w, (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, at));
}

/* Jumps over so many instructions. */
static void jump(struct writer *w, uint16_t op, uint32_t value, uint8_t if_true, uint8_t if_false)
{
    put(w, (struct sock_filter)BPF_JUMP(BPF_JMP | op | BPF_K, value, if_true, if_false));
}

static void answer(struct writer *w, uint32_t action)
{
    put(w, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, action));
}

/* Numbers [low, high) are traced; below, calls are allowed; above, it goes on. */
static void put_range(struct writer *w, uint32_t low, uint32_t high)
{
    jump(w, BPF_JGE, high, 3, 0);
    jump(w, BPF_JGE, low, 0, 1);
    answer(w, SECCOMP_RET_TRACE);
    answer(w, SECCOMP_RET_ALLOW);
}

static void put_ranges(struct writer *w, const uint64_t *bits, uint32_t base)
{
    for (uint32_t low = 0, high; low < CAIRN_CALL_NUMBERS; low = high) {
        const bool is_wanted = cairn_calls_want(bits, low);
        for (high = low; high < CAIRN_CALL_NUMBERS; high++)
            if (cairn_calls_want(bits, high) != is_wanted)
                break;
        if (is_wanted)
            put_range(w, base + low, base + high);
    }
}

/* Calls that are not wanted, but may change mappings or a name: traced if `op` holds for an
 * argument. */
static void put_telling(struct writer *w, const uint64_t *bits, int number, uint32_t at,
                        uint16_t op, uint32_t value)
{
    if (cairn_calls_want(bits, (uint64_t)number))
        return;
    jump(w, BPF_JEQ, (uint32_t)number, 0, 4);
    load(w, at);
    jump(w, op, value, 0, 1);
    answer(w, SECCOMP_RET_TRACE);
    answer(w, SECCOMP_RET_ALLOW);
}

/* Of one arch; the number is loaded. */
static void put_table(struct writer *w, const struct cairn_call_table *table, const uint64_t *bits)
{
    put_telling(w, bits, table->mmap, AT_ARG2, BPF_JSET, PROT_EXEC);
    put_telling(w, bits, table->mprotect, AT_ARG2, BPF_JSET, PROT_EXEC);
    put_telling(w, bits, table->pkey_mprotect, AT_ARG2, BPF_JSET, PROT_EXEC);
    put_telling(w, bits, table->prctl, AT_ARG0, BPF_JEQ, PR_SET_NAME);
    put_ranges(w, bits, 0);
}

/* Numbers of x32 are those of the 64-bit table, and some of its own from 512 on. All of its own are
 * traced, so that they can be reported. */
static void put_x32(struct writer *w, const uint64_t *bits)
{
    put_ranges(w, bits, CAIRN_CALL_X32_BIT);
    put_range(w, CAIRN_CALL_X32_BIT + CAIRN_CALL_NUMBERS, INT32_MAX);
}

int cairn_call_filter_make(const struct cairn_calls_wanted *wanted,
                           struct cairn_call_filter *ret_filter, struct cairn_err *err)
{
    const struct cairn_call_table *tables[] = {&cairn_call_abi.native, &cairn_call_abi.compat};
    const uint64_t *bits[] = {wanted->native, wanted->compat};
    struct writer w = {.filter = ret_filter};
    ret_filter->n = 0;
    if (!cairn_call_abi.native.arch)
        return cairn_fail(err, CAIRN_E_SUPPORT,
                          "system calls of this CPU are not traced by ptrace");
    for (int i = 0; i < 2; i++) {
        if (!tables[i]->arch)
            continue;
        load(&w, AT_ARCH);
        jump(&w, BPF_JEQ, tables[i]->arch, 1, 0);
        const uint16_t over = ret_filter->n; /* to the next arch; too far for a conditional jump */
        put(&w, (struct sock_filter)BPF_STMT(BPF_JMP | BPF_JA, 0));
        load(&w, AT_NUMBER);
        put_table(&w, tables[i], bits[i]);
        if (i == 0 && cairn_call_abi.has_x32)
            put_x32(&w, bits[i]);
        answer(&w, SECCOMP_RET_ALLOW);
        ret_filter->insns[over].k = (uint32_t)(ret_filter->n - over - 1);
    }
    answer(&w, SECCOMP_RET_ALLOW);
    return w.is_full ? cairn_fail(err, CAIRN_E_LIMIT, "a filter for so many calls is too long")
                     : CAIRN_OK;
}

int cairn_call_filter_lay(const struct cairn_call_filter *filter)
{
    struct sock_fprog program = {.len = filter->n,
                                 .filter = (struct sock_filter *)(uintptr_t)filter->insns};
    if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0)
        return 0;
    if (errno != EACCES || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return errno;
    return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0 ? 0 : errno;
}
