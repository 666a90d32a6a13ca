/* SPDX-License-Identifier: MIT */
#include "attach/filter.h"

#include <stdbool.h>
#include <string.h>

#include "base/error.h"

enum { WORD_BITS = 32 };

struct machine {
    const struct seccomp_data *call;
    uint32_t a, x, words[BPF_MEMWORDS];
};

static int fail_insn(size_t at, const struct sock_filter *insn, const char *why,
                     struct cairn_err *err)
{
    return cairn_fail(err, CAIRN_E_FORMAT, "instruction %zu of the filter (code 0x%x, k 0x%x): %s",
                      at, insn->code, insn->k, why);
}

/* The words of struct seccomp_data alone can be loaded, from their beginnings. */
static bool load(struct machine *m, const struct sock_filter *insn)
{
    switch (insn->code) {
    case BPF_LD | BPF_W | BPF_ABS:
        if (insn->k % sizeof m->a != 0 || insn->k > sizeof *m->call - sizeof m->a)
            return false;
        memcpy(&m->a, (const char *)m->call + insn->k, sizeof m->a);
        return true;
    case BPF_LD | BPF_W | BPF_LEN:
        m->a = sizeof *m->call;
        return true;
    case BPF_LDX | BPF_W | BPF_LEN:
        m->x = sizeof *m->call;
        return true;
    case BPF_LD | BPF_IMM:
        m->a = insn->k;
        return true;
    case BPF_LDX | BPF_IMM:
        m->x = insn->k;
        return true;
    default:
        return false;
    }
}

static bool move(struct machine *m, const struct sock_filter *insn)
{
    switch (insn->code) {
    case BPF_MISC | BPF_TAX:
        m->x = m->a;
        return true;
    case BPF_MISC | BPF_TXA:
        m->a = m->x;
        return true;
    default:
        break;
    }
    if (insn->k >= BPF_MEMWORDS)
        return false;
    switch (insn->code) {
    case BPF_LD | BPF_MEM:
        m->a = m->words[insn->k];
        return true;
    case BPF_LDX | BPF_MEM:
        m->x = m->words[insn->k];
        return true;
    case BPF_ST:
        m->words[insn->k] = m->a;
        return true;
    case BPF_STX:
        m->words[insn->k] = m->x;
        return true;
    default:
        return false;
    }
}

/* A register shifts by its lowest five bits, as the kernel's interpreter does; a constant that is
 * larger is refused. */
static bool calculate(struct machine *m, const struct sock_filter *insn)
{
    const bool by_x = BPF_SRC(insn->code) == BPF_X;
    const uint32_t with = by_x ? m->x : insn->k;
    switch (insn->code & ~(unsigned)BPF_X) {
    case BPF_ALU | BPF_ADD:
        m->a += with;
        return true;
    case BPF_ALU | BPF_SUB:
        m->a -= with;
        return true;
    case BPF_ALU | BPF_MUL:
        m->a *= with;
        return true;
    case BPF_ALU | BPF_DIV:
        m->a = with ? m->a / with : 0;
        return with || by_x;
    case BPF_ALU | BPF_AND:
        m->a &= with;
        return true;
    case BPF_ALU | BPF_OR:
        m->a |= with;
        return true;
    case BPF_ALU | BPF_XOR:
        m->a ^= with;
        return true;
    case BPF_ALU | BPF_LSH:
        m->a <<= with % WORD_BITS;
        return by_x || with < WORD_BITS;
    case BPF_ALU | BPF_RSH:
        m->a >>= with % WORD_BITS;
        return by_x || with < WORD_BITS;
    case BPF_ALU | BPF_NEG:
        m->a = -m->a;
        return !by_x;
    default:
        return false;
    }
}

/* How many instructions it goes over; false: no jump that is known. */
static bool jump(const struct machine *m, const struct sock_filter *insn, size_t *ret_over)
{
    const uint32_t with = BPF_SRC(insn->code) == BPF_X ? m->x : insn->k;
    bool holds;
    switch (insn->code & ~(unsigned)BPF_X) {
    case BPF_JMP | BPF_JA:
        *ret_over = insn->k;
        return BPF_SRC(insn->code) == BPF_K;
    case BPF_JMP | BPF_JEQ:
        holds = m->a == with;
        break;
    case BPF_JMP | BPF_JGT:
        holds = m->a > with;
        break;
    case BPF_JMP | BPF_JGE:
        holds = m->a >= with;
        break;
    case BPF_JMP | BPF_JSET:
        holds = (m->a & with) != 0;
        break;
    default:
        return false;
    }
    *ret_over = holds ? insn->jt : insn->jf;
    return true;
}

static bool divides_by_zero(const struct machine *m, const struct sock_filter *insn)
{
    return insn->code == (BPF_ALU | BPF_DIV | BPF_X) && m->x == 0;
}

static bool step(struct machine *m, const struct sock_filter *insn)
{
    if (BPF_CLASS(insn->code) == BPF_ALU)
        return calculate(m, insn);
    return load(m, insn) || move(m, insn);
}

/* Jumps lead on alone, so that it ends. */
int cairn_filter_run(const struct sock_filter *insns, size_t n, const struct seccomp_data *call,
                     uint32_t *ret_answer, struct cairn_err *err)
{
    struct machine m = {.call = call};
    size_t over;
    for (size_t at = 0; at < n; at++) {
        const struct sock_filter *insn = &insns[at];
        if (insn->code == (BPF_RET | BPF_K) || insn->code == (BPF_RET | BPF_A)) {
            *ret_answer = insn->code == (BPF_RET | BPF_A) ? m.a : insn->k;
            return CAIRN_OK;
        }
        if (divides_by_zero(&m, insn)) { /* the program ends with 0, which is a kill */
            *ret_answer = SECCOMP_RET_KILL_THREAD;
            return CAIRN_OK;
        }
        if (BPF_CLASS(insn->code) == BPF_JMP) {
            if (!jump(&m, insn, &over))
                return fail_insn(at, insn, "no jump that a kernel takes", err);
            if (over >= n - at - 1)
                return fail_insn(at, insn, "it jumps behind the end", err);
            at += over;
        } else if (!step(&m, insn)) {
            return fail_insn(at, insn, "no instruction that a kernel takes", err);
        }
    }
    return cairn_fail(err, CAIRN_E_FORMAT, "the filter ends without an answer");
}

uint32_t cairn_filter_stronger(uint32_t a, uint32_t b)
{
    return (int32_t)(a & SECCOMP_RET_ACTION_FULL) <= (int32_t)(b & SECCOMP_RET_ACTION_FULL) ? a : b;
}
