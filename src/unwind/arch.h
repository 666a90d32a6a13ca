/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/*
 * What the unwinder must know of a CPU. All CPUs are always compiled, for a core file of another
 * machine is walked like one of this; the walker of the own thread takes its CPU's rule_CPU.h
 * alone.
 *
 * A new CPU needs: rule_CPU.h (its kinds, with their payload), arch_CPU.c (a struct
 * cairn_unwind_arch, made of the functions below), its line in arch.c and in meson.build; for the
 * walk of the own thread its registers (src/unwind/local_CPU.c). Tests hold that rules and rows of
 * CFI give the same frames.
 */
#ifndef CAIRN_UNWIND_ARCH_H
#define CAIRN_UNWIND_ARCH_H

#include "base/memory.h"
#include "dwarf/cfi_program.h"
#include "unwind/rule.h"

struct cairn_call;
struct cairn_follow;
struct cairn_fp_layout;

/* The registers of one frame, by DWARF's numbers; those whose bit `known` lacks hold nothing, but
 * for sp: what it holds is a floor even then, below which nothing of the caller lies. */
struct cairn_unwind_regs {
    uint64_t ip; /* exact in the innermost frame and in one that a signal interrupted; else `ret` */
    uint64_t regs[CAIRN_CFI_REGS]; /* the psABI's; x86-64's 16 is kept equal to `ip` */
    uint64_t known;                /* a bit a register; of an int more than 32 are needed */
};

enum cairn_follow_step {
    CAIRN_FOLLOW_STOP,  /* no way on that could be told */
    CAIRN_FOLLOW_ON,    /* regs.ip is the next one */
    CAIRN_FOLLOW_JUMP,  /* it was a jump to what a register holds */
    CAIRN_FOLLOW_RETURN /* it was the return */
};

enum cairn_arch_step {
    CAIRN_STEP_OK,
    CAIRN_STEP_OUTERMOST, /* the rule says so */
    CAIRN_STEP_SWITCHED,  /* the rule says that the caller is on another stack */
    CAIRN_STEP_SIDE,      /* not to be had from the rule alone: ask the rows of CFI */
    CAIRN_STEP_NO_RULE,   /* NONE, or a number that is no rule of this CPU */
    CAIRN_STEP_UNKNOWN,   /* a register that the rule needs is not known */
    CAIRN_STEP_BAD_CFA,   /* the caller's stack pointer would not lie above this one's, or is odd */
    CAIRN_STEP_UNREADABLE, /* a word of the stack could not be read */
    CAIRN_STEP_LEAF        /* the return address would be in a register, and this is no leaf */
};

/* The rule for a row. CAIRN_RULE_SIDE with payload 0 where none is exact: a rule may never say
 * something else than the row. `cie` is that of its FDE, `cfi` has the bytes of expressions. Of a
 * row's registers only those of `table_regs` are looked at, and not where it ends. */
typedef uint32_t (*cairn_unwind_encode_fn)(const struct cairn_cfi *cfi, const struct cairn_cie *cie,
                                           const struct cairn_cfi_row *row);

/* For a step by the code itself. */
struct cairn_code_input {
    const struct cairn_memory *stack, *code;
    const struct cairn_cfi_row *row; /* what holds where the code calls; NULL: nothing is known */
    uint64_t bias;                   /* from the row's vaddrs to vas */
    bool is_leaf, swap;
    void
        *room; /* CAIRN_CODE_ROOM bytes, aligned as malloc's: too much for the stack of a handler */
};

enum { CAIRN_CODE_ROOM = 3072 };

struct cairn_unwind_arch {
    uint16_t machine; /* EM_X86_64, ... of elf.h */
    uint8_t word;     /* bytes of a register on the stack: 4 or 8 */
    uint8_t n_regs;   /* DWARF's numbers are below */
    uint8_t sp, fp;   /* DWARF's numbers */
    uint8_t ra;     /* the column that a CIE names for the return address; on CPUs that have a link
                       register that one */
    uint8_t pc;     /* the column where the pc is as code stores it: with Thumb's bit on arm;
                       CAIRN_CFI_REGS: there is none */
    bool ra_in_reg; /* a leaf's return address is in register `ra` */

    uint64_t kept;       /* a bit a register: kept over calls (psABI), so that a row which says
                            nothing of it means that it is unchanged */
    uint64_t table_regs; /* a bit a register: whose rules encode() looks at, beside the CFA's */

    cairn_unwind_encode_fn encode;
    /* Runs a program into a writer of rows (table_writer.h); NULL: nothing faster than what the
     * writer does itself. */
    enum cairn_cfi_end (*run)(const struct cairn_cfi_program *program, void *writer);

    /* cairn_unwind_step() by a kind of the CPU's own. */
    enum cairn_arch_step (*step)(uint32_t rule, bool is_leaf, const struct cairn_memory *memory,
                                 bool swap, struct cairn_unwind_regs *regs);

    /* By what the instructions at regs->ip are going to do, where rules hold at calls alone, or
     * there is none. NULL: not on this CPU. */
    enum cairn_arch_step (*step_by_code)(const struct cairn_code_input *input,
                                         struct cairn_unwind_regs *regs);

    /* Behind the system call of clone(2), of which no rule is: who called it, or OUTERMOST for who
     * begins there; of the innermost frame. NULL: it has a rule on this CPU. */
    enum cairn_arch_step (*step_clone)(const struct cairn_code_input *input,
                                       struct cairn_unwind_regs *regs);

    /* The address of code that a stored return address or pc stands for: without pointer
     * authentication (aarch64), without the Thumb bit (arm). */
    uint64_t (*code_address)(uint64_t stored);

    /* Does `code`, what lies at a return address (16 bytes of it are enough), end the thread by
     * exit(2), or what makecontext(3) began? That is where a stack's first function returns to: a
     * frame there which no rule or no call explains is the outermost one. */
    bool (*ends_thread)(struct cairn_span code);

    /* Does a call end right before `ret`? See code/call.h. */
    bool (*call)(struct cairn_span code, uint64_t ret, struct cairn_call *ret_call);

    /* Does `code`, whole instructions, leave the stack pointer alone? May say no where it does.
     * NULL: not to be told. */
    bool (*keeps_sp)(struct cairn_span code);

    /* Follows one instruction of code without a rule: see unwind/follow.h. NULL: none is known. */
    enum cairn_follow_step (*follow)(struct cairn_follow *f, struct cairn_span code);

    /* Frame pointers, for unwind/fp_step.h: the registers that code uses for it (twice the same
     * where there is one), how it lays out the record, and whether a rule is one of code that keeps
     * them. */
    uint8_t fp_regs[2];
    uint8_t n_fp_layouts;
    const struct cairn_fp_layout *fp_layouts;
    bool (*keeps_fp)(uint32_t rule);
};

extern const struct cairn_unwind_arch cairn_unwind_x86_64;
extern const struct cairn_unwind_arch cairn_unwind_aarch64;
extern const struct cairn_unwind_arch cairn_unwind_arm;

/* By EM_*; NULL: a CPU that the unwinder does not know. */
const struct cairn_unwind_arch *cairn_unwind_arch_of(uint16_t machine);

/* The rule for a row whose return address is undefined. */
static inline uint32_t cairn_unwind_outermost(const struct cairn_cfi_row *row)
{
    return cairn_rule_make(CAIRN_RULE_OUTERMOST,
                           cairn_cfi_row_is_switch(row) ? CAIRN_RULE_SWITCHED : 0);
}

/* Replaces `regs` by those of the caller; on anything but OK they are untouched. `is_leaf`: the
 * innermost frame, or one that a signal interrupted. Registers that the rule does not speak of are
 * not known afterwards, unless the rule tells them apart (arm's masks do). */
enum cairn_arch_step cairn_unwind_step(const struct cairn_unwind_arch *arch, uint32_t rule,
                                       bool is_leaf, const struct cairn_memory *memory, bool swap,
                                       struct cairn_unwind_regs *regs);

static inline bool cairn_unwind_known(const struct cairn_unwind_regs *regs, unsigned reg)
{
    return reg < CAIRN_CFI_REGS && (regs->known >> reg & 1);
}

static inline void cairn_unwind_set(struct cairn_unwind_regs *regs, unsigned reg, uint64_t value)
{
    if (reg < CAIRN_CFI_REGS) {
        regs->regs[reg] = value;
        regs->known |= UINT64_C(1) << reg;
    }
}

#endif /* CAIRN_UNWIND_ARCH_H */
