/* SPDX-License-Identifier: MIT */
#include "trace/usdt_args.h"

#include <elf.h>

#include "support/test.h"

enum { N = CAIRN_TRACE_NO_REG, RAX = 10, RCX = 11, RDI = 14, RBP = 4, RSP = 19, RIP = 16, SP = 31 };

#define CONST    CAIRN_TRACE_OPERAND_CONST
#define REGISTER CAIRN_TRACE_OPERAND_REGISTER
#define MEMORY   CAIRN_TRACE_OPERAND_MEMORY

struct row {
    const char *text;
    struct cairn_bpf_arg at; /* as the head of trace.h has it */
    const char *symbol;
    bool is_real, is_relative;
};

static void check(const struct row *row, uint16_t machine)
{
    struct cairn_usdt_arg arg;
    const char *at = row->text;
    assert_true(cairn_usdt_arg_next(&at, machine, &arg));
    if (arg.at.operand != row->at.operand)
        fail_msg("%s: operand %d, expected %d", row->text, arg.at.operand, row->at.operand);
    if (memcmp(&arg.at, &row->at, sizeof arg.at) != 0)
        fail_msg("%s: %d bytes, signed %d, reg %d, index %d, shift %d, extend %d, value %lld",
                 row->text, arg.at.bytes, arg.at.is_signed, arg.at.reg, arg.at.index, arg.at.shift,
                 arg.at.extend, arg.at.value);
    assert_string_equal(arg.symbol, row->symbol ? row->symbol : "");
    assert_int_equal(arg.is_real, row->is_real);
    assert_int_equal(arg.is_relative, row->is_relative);
    assert_false(cairn_usdt_arg_next(&at, machine, &arg));
}

static void operands_of_x86_64_are_understood(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"8@%rdi", {REGISTER, 8, 0, RDI, N, 0, 0, 0, 0}},
        {"-4@%eax", {REGISTER, 4, 1, RAX, N, 0, 0, 0, 0}},
        {"1@%ah", {REGISTER, 1, 0, RAX, N, 8, 0, 0, 0}},
        {"2@%r15w", {REGISTER, 2, 0, 0, N, 0, 0, 0, 0}},
        {"-1@%r8b", {REGISTER, 1, 1, 9, N, 0, 0, 0, 0}},
        {"8@%eax", {REGISTER, 4, 0, RAX, N, 0, 0, 0, 0}}, /* the register has no more */
        {"%ax", {REGISTER, 2, 0, RAX, N, 0, 0, 0, 0}},
        {"4@$5", {CONST, 4, 0, N, N, 0, 0, 0, 5}},
        {"-4@$-5", {CONST, 4, 1, N, N, 0, 0, 0, -5}},
        {"8@$0xffffffffffffffff", {CONST, 8, 0, N, N, 0, 0, 0, -1}},
        {"$7", {CONST, 8, 0, N, N, 0, 0, 0, 7}},
        {"-4@-20(%rbp)", {MEMORY, 4, 1, RBP, N, 0, 0, 0, -20}},
        {"8@(%rsp)", {MEMORY, 8, 0, RSP, N, 0, 0, 0, 0}},
        {"8@0x10(%rsp)", {MEMORY, 8, 0, RSP, N, 0, 0, 0, 16}},
        {"8@8+16(%rsp)", {MEMORY, 8, 0, RSP, N, 0, 0, 0, 24}},
        {"4@8(%rax,%rcx,4)", {MEMORY, 4, 0, RAX, RCX, 2, 0, 0, 8}},
        {"4@(%rax,%rcx)", {MEMORY, 4, 0, RAX, RCX, 0, 0, 0, 0}},
        {"4@-8(,%rcx,8)", {MEMORY, 4, 0, N, RCX, 3, 0, 0, -8}},
        {"4@table(%rip)", {MEMORY, 4, 0, RIP, N, 0, 0, 0, 0}, "table", false, true},
        {"4@table+8(%rip)", {MEMORY, 4, 0, RIP, N, 0, 0, 0, 8}, "table", false, true},
        {"4@-8+.Lx$1(%rip)", {MEMORY, 4, 0, RIP, N, 0, 0, 0, -8}, ".Lx$1", false, true},
        {"8@16(%rip)", {MEMORY, 8, 0, RIP, N, 0, 0, 0, 16}, NULL, false, true},
        {"8f@-8(%rbp)", {MEMORY, 8, 0, RBP, N, 0, 0, 0, -8}, NULL, true},
        {"-4f@%eax", {REGISTER, 4, 1, RAX, N, 0, 0, 0, 0}, NULL, true},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        check(&rows[i], EM_X86_64);
}

static void operands_of_aarch64_are_understood(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"8@x0", {REGISTER, 8, 0, 0, N, 0, 0, 0, 0}},
        {"-4@w30", {REGISTER, 4, 1, 30, N, 0, 0, 0, 0}},
        {"-4@x19", {REGISTER, 4, 1, 19, N, 0, 0, 0, 0}},
        {"8@xzr", {REGISTER, 8, 0, N, N, 0, 0, 0, 0}},
        {"8@sp", {REGISTER, 8, 0, SP, N, 0, 0, 0, 0}},
        {"w5", {REGISTER, 4, 0, 5, N, 0, 0, 0, 0}},
        {"-4@-1", {CONST, 4, 1, N, N, 0, 0, 0, -1}},
        {"4@#16", {CONST, 4, 0, N, N, 0, 0, 0, 16}},
        {"-4@[sp, 60]", {MEMORY, 4, 1, SP, N, 0, 0, 0, 60}},
        {"8@[x19]", {MEMORY, 8, 0, 19, N, 0, 0, 0, 0}},
        {"8@[x29,#-16]", {MEMORY, 8, 0, 29, N, 0, 0, 0, -16}},
        {"8@[x1, x2]", {MEMORY, 8, 0, 1, 2, 0, 0, 0, 0}},
        {"8@[x1, x2, lsl 3]", {MEMORY, 8, 0, 1, 2, 3, 0, 0, 0}},
        {"4@[x1, w2, sxtw 2]", {MEMORY, 4, 0, 1, 2, 2, CAIRN_TRACE_EXTEND_S32, 0, 0}},
        {"4@[x1, w2, uxtw #1]", {MEMORY, 4, 0, 1, 2, 1, CAIRN_TRACE_EXTEND_U32, 0, 0}},
        {"8f@[sp, 8]", {MEMORY, 8, 0, SP, N, 0, 0, 0, 8}, NULL, true},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        check(&rows[i], EM_AARCH64);
}

static void what_is_not_understood_has_no_operand(void **state)
{
    (void)state;
    static const char *const texts[] =
        {"8f@%xmm0",      "4@%fs:0",     "3@%rax",        "16@%rax",     "0@%rax",
         "-@%rax",        "8@",          "8@$",           "8@$table",    "8@%",
         "8@%rax,",       "8@%eaxx",     "8@(%rax",       "8@(%eax)",    "8@(%rax,%rcx,3)",
         "8@(%rax,%rip)", "8@()",        "8@(,)",         "8@a+b(%rip)", "8@table(%rax)",
         "8@table",       "8@--8(%rbp)", "8@8(%rbp)8",    "2f@(%rax)",   "8@$99999999999999999999",
         "8@0x(%rbp)",    "\033[31m",    "8@(%rax,%rcx,)"},
                             *const arm[] = {"8f@d0",
                                             "8@x31",
                                             "8@x100",
                                             "8@[x0",
                                             "8@[]",
                                             "8@[x0, ]",
                                             "8@[w0]",
                                             "8@[xzr]",
                                             "8@[x0, w1]",
                                             "8@[x0, x1, sxtw]",
                                             "8@[x0, x1, lsl 4]",
                                             "8@[x0, x1, ror 1]",
                                             "8@[x0, #:lo12:table]",
                                             "8@%rax",
                                             "8@[x0, 8]!",
                                             "8@$5"};
    struct cairn_usdt_arg arg;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        const char *at = texts[i];
        assert_true(cairn_usdt_arg_next(&at, EM_X86_64, &arg));
        if (arg.at.operand != CAIRN_TRACE_OPERAND_NONE)
            fail_msg("%s is understood", texts[i]);
    }
    for (size_t i = 0; i < sizeof arm / sizeof *arm; i++) {
        const char *at = arm[i];
        assert_true(cairn_usdt_arg_next(&at, EM_AARCH64, &arg));
        if (arg.at.operand != CAIRN_TRACE_OPERAND_NONE)
            fail_msg("%s is understood", arm[i]);
    }
}

static void blanks_part_arguments_but_not_in_brackets(void **state)
{
    (void)state;
    static const char text[] = "  8@x0   -4@[sp, 16]\t4@what? 4@7 ";
    static const uint8_t want[] = {REGISTER, MEMORY, CAIRN_TRACE_OPERAND_NONE, CONST};
    struct cairn_usdt_arg arg;
    const char *at = text;
    for (size_t i = 0; i < sizeof want; i++) {
        assert_true(cairn_usdt_arg_next(&at, EM_AARCH64, &arg));
        assert_int_equal(arg.at.operand, want[i]);
    }
    assert_false(cairn_usdt_arg_next(&at, EM_AARCH64, &arg));
    at = "";
    assert_false(cairn_usdt_arg_next(&at, EM_X86_64, &arg));
}

static void an_endless_operand_is_not_understood(void **state)
{
    (void)state;
    char text[2 * CAIRN_USDT_OPERAND_BYTES];
    struct cairn_usdt_arg arg;
    const char *at = text;
    memset(text, '1', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    assert_true(cairn_usdt_arg_next(&at, EM_X86_64, &arg));
    assert_int_equal(arg.at.operand, CAIRN_TRACE_OPERAND_NONE);
    assert_int_equal(arg.text.size, sizeof text - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operands_of_x86_64_are_understood),
        cmocka_unit_test(operands_of_aarch64_are_understood),
        cmocka_unit_test(what_is_not_understood_has_no_operand),
        cmocka_unit_test(blanks_part_arguments_but_not_in_brackets),
        cmocka_unit_test(an_endless_operand_is_not_understood),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
