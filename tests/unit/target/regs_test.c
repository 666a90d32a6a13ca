/* SPDX-License-Identifier: MIT */
#include "target/regs.h"

#include <elf.h>
#include <sys/types.h>

#include "support/test.h"

/* <asm/ptrace.h> and <sys/user.h> of each CPU, once more. */
struct user_x86_64 {
    uint64_t r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di, orig, ip, cs, flags,
        sp, ss, fs_base, gs_base, ds, es, fs, gs;
};
struct user_386 {
    uint32_t bx, cx, dx, si, di, bp, ax, ds, es, fs, gs, orig, ip, cs, flags, sp, ss;
};
struct user_aarch64 {
    uint64_t regs[31], sp, pc, pstate;
};
struct user_arm {
    uint32_t regs[16], cpsr, orig;
};

/* The raw structures hold 100 + n for DWARF's register n, and ip. */
static void assert_regs(const void *raw, size_t size, uint32_t machine, uint64_t ip, unsigned n)
{
    struct cairn_cursor_regs regs;
    uint8_t *copy = test_copy(raw, size);
    assert_true(cairn_target_regs((struct cairn_span){copy, size}, false, &regs));
    free(copy);
    assert_int_equal(cairn_target_regs_bytes((uint16_t)machine), size);
    assert_int_equal(regs.machine, machine);
    assert_int_equal(regs.ip, ip);
    assert_int_equal(regs.known, (UINT64_C(1) << n) - 1);
    for (unsigned i = 0; i < n; i++)
        assert_int_equal(regs.reg[i], 100 + i);
}

static void x86_64(void **state)
{
    (void)state;
    const struct user_x86_64 raw = {115, 114, 113, 112, 106, 103, 111, 110, 109, 108,
                                    100, 102, 101, 104, 105, 0,   999, 0,   0,   107};
    assert_regs(&raw, sizeof raw, EM_X86_64, 999, 16);
}

static void i386(void **state)
{
    (void)state;
    const struct user_386 raw = {103, 101, 102, 106, 107, 105, 100, 0, 0,
                                 0,   0,   0,   999, 0,   0,   104, 0};
    assert_regs(&raw, sizeof raw, EM_386, 999, 8);
}

static void aarch64(void **state)
{
    (void)state;
    struct user_aarch64 raw = {.sp = 131, .pc = 999};
    for (unsigned i = 0; i < 31; i++)
        raw.regs[i] = 100 + i;
    assert_regs(&raw, sizeof raw, EM_AARCH64, 999, 32);
}

static void arm(void **state)
{
    (void)state;
    struct user_arm raw = {.orig = 1};
    for (unsigned i = 0; i < 16; i++)
        raw.regs[i] = 100 + i;
    raw.regs[15] = 114; /* in Thumb: register 15 is the pc as code stores it */
    raw.cpsr = 1 << 5;
    assert_regs(&raw, sizeof raw, EM_ARM, 114, 16);
}

static void other_sizes_are_of_no_machine(void **state)
{
    (void)state;
    static const uint8_t raw[400];
    for (size_t size = 0; size <= sizeof raw; size++) {
        struct cairn_cursor_regs regs;
        bool is_known = size == 216 || size == 68 || size == 272 || size == 72;
        assert_int_equal(cairn_target_regs((struct cairn_span){raw, size}, false, &regs), is_known);
    }
    assert_int_equal(cairn_target_regs_bytes(EM_S390), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(x86_64),
        cmocka_unit_test(i386),
        cmocka_unit_test(aarch64),
        cmocka_unit_test(arm),
        cmocka_unit_test(other_sizes_are_of_no_machine),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
