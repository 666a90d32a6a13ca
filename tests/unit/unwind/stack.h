/* SPDX-License-Identifier: MIT */
/* A stack and a piece of code in arrays, as a step reads them; whatever else is not readable. */
#ifndef CAIRN_TESTS_UNWIND_STACK_H
#define CAIRN_TESTS_UNWIND_STACK_H

#include "base/memory.h"
#include "support/test.h"
#include "unwind/arch.h"

enum { STACK = 0x70000000, STACK_BYTES = 4096, CODE = 0x400000, CODE_BYTES = 256 };

struct test_stack {
    uint8_t stack[STACK_BYTES], code[CODE_BYTES];
};

static inline bool test_stack_read(void *ctx, uint64_t va, void *to, size_t size)
{
    struct test_stack *t = ctx;
    if (va >= STACK && va - STACK <= STACK_BYTES && size <= STACK_BYTES - (va - STACK))
        memcpy(to, t->stack + (va - STACK), size);
    else if (va >= CODE && va - CODE <= CODE_BYTES && size <= CODE_BYTES - (va - CODE))
        memcpy(to, t->code + (va - CODE), size);
    else
        return false;
    return true;
}

static inline void test_stack_put(struct test_stack *t, uint64_t va, uint64_t word, size_t size)
{
    const uint64_t at = va - STACK;
    assert_true(at <= STACK_BYTES - size);
    if (at <= STACK_BYTES - size) /* gcc -O3 takes a failed check for one that goes on */
        memcpy(t->stack + at, &word, size);
}

static inline struct cairn_cfi_rule test_at_cfa(int64_t value)
{
    return (struct cairn_cfi_rule){.where = CAIRN_CFI_AT_CFA, .value = value};
}

static inline struct cairn_cfi_rule test_cfa(unsigned reg, int64_t value)
{
    return (struct cairn_cfi_rule){.where = CAIRN_CFI_IN_REG, .reg = (uint8_t)reg, .value = value};
}

/* Whatever a rule's number is: no crash, sp does not fall, and what is not OK leaves the registers
 * alone. */
static inline void test_every_number_is_safe(const struct cairn_unwind_arch *arch,
                                             const struct cairn_unwind_regs *from)
{
    struct test_stack t;
    const struct cairn_memory memory = {test_stack_read, &t};
    memset(&t, 0x5a, sizeof t);
    for (uint64_t rule = 0; rule < UINT64_C(1) << 31; rule += 4099) {
        struct cairn_unwind_regs regs = *from;
        bool is_leaf = rule & 1;
        enum cairn_arch_step step =
            cairn_unwind_step(arch, (uint32_t)rule, is_leaf, &memory, false, &regs);
        if (step != CAIRN_STEP_OK)
            assert_memory_equal(&regs, from, sizeof regs);
        else if (cairn_rule_kind((uint32_t)rule) != CAIRN_RULE_SIGNAL)
            assert_true(regs.regs[arch->sp] >= from->regs[arch->sp] + !is_leaf);
    }
}

#endif /* CAIRN_TESTS_UNWIND_STACK_H */
