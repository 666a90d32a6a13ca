/* SPDX-License-Identifier: MIT */
/* LuaJIT's assembler while it is entered and left: each instruction of both. */
#include <elf.h>
#include <string.h>

#include "guest/luajit/luajit.h"
#include "support/test.h"

enum { CODE = 0x1000, STACK = 0x2000, SIZE = 0x2000, RETURN = 0x7777 };

static uint8_t memory[SIZE];

static bool read_memory(void *ctx, uint64_t va, void *to, size_t size)
{
    (void)ctx;
    if (va < CODE || va - CODE > SIZE || size > SIZE - (va - CODE))
        return false;
    memcpy(to, memory + (va - CODE), size);
    return true;
}

/* push rbp, rbx, r15, r14; sub rsp, 40 -- add rsp, 40; pop r14, r15, rbx, rbp; ret */
static const uint8_t code[] = {0x55, 0x53, 0x41, 0x57, 0x41, 0x56, 0x48, 0x83, 0xec, 0x28, 0x90,
                               0x48, 0x83, 0xc4, 0x28, 0x41, 0x5e, 0x41, 0x5f, 0x5b, 0x5d, 0xc3};

/* With `n_saved` registers on the stack. */
static void steps(size_t at, unsigned n_saved)
{
    static const unsigned order[] = {CAIRN_LJ_RBP, CAIRN_LJ_RBX, CAIRN_LJ_R15, CAIRN_LJ_R14};
    const struct cairn_guest_thread thread = {.memory = {.read = read_memory},
                                              .machine = EM_X86_64};
    const struct cairn_guest_file file = {.loop = CODE, .loop_end = CODE + 0x100};
    const struct cairn_guest_module module = {.file = &file};
    struct cairn_guest_regs regs = {.ip = CODE + at}, caller;
    uint64_t words[5];
    for (unsigned i = 0; i < n_saved; i++)
        words[i] = 100 + order[n_saved - 1 - i];
    words[n_saved] = RETURN;
    memcpy(memory + (STACK - CODE), words, sizeof words);
    regs.known = UINT64_C(1) << CAIRN_LJ_RSP;
    regs.value[CAIRN_LJ_RSP] = STACK;
    for (unsigned i = 0; i < 4; i++) {
        regs.known |= UINT64_C(1) << order[i];
        regs.value[order[i]] = 100 + order[i];
    }
    assert_true(cairn_lj_step(&thread, &module, &regs, &caller));
    assert_int_equal(caller.ip, RETURN);
    assert_int_equal(caller.value[CAIRN_LJ_RSP], STACK + 8 * (n_saved + 1));
    for (unsigned i = 0; i < 4; i++)
        assert_int_equal(caller.value[order[i]], 100 + order[i]);
}

static void each_instruction_of_entry_and_exit_leads_to_the_caller(void **state)
{
    (void)state;
    static const struct {
        uint8_t at, n_saved;
    } rows[] = {{0, 0},  {1, 1},  {2, 2},  {4, 3},  {6, 4},
                {15, 4}, {17, 3}, {19, 2}, {20, 1}, {21, 0}};
    memcpy(memory, code, sizeof code);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        steps(rows[i].at, rows[i].n_saved);
}

static void other_code_is_not_stepped_without_a_c_frame(void **state)
{
    (void)state;
    memset(memory, 0x90, sizeof memory);
    assert_false(cairn_lj_is_border((struct cairn_memory){.read = read_memory}, CODE + 32));
    memcpy(memory, code, sizeof code);
    assert_false(cairn_lj_is_border((struct cairn_memory){.read = read_memory}, CODE + 10));
    assert_false(cairn_lj_is_border((struct cairn_memory){.read = read_memory}, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_instruction_of_entry_and_exit_leads_to_the_caller),
        cmocka_unit_test(other_code_is_not_stepped_without_a_c_frame),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
