/* SPDX-License-Identifier: MIT */
/* Operands of x86-64 as the GNU assembler writes them (AT&T syntax), in the words of its struct
 * pt_regs (arch/x86/include/uapi/asm/ptrace.h). */
#include <ctype.h>
#include <string.h>

#include "trace/usdt_args.h"

enum { RIP = 16, HIGH_BYTE = 8 };

struct reg {
    uint8_t word, bytes, shift;
};

/* Of 8, 4, 2 and 1 byte; the last ones have a second byte, too. */
static const struct {
    uint8_t word;
    const char *names[5];
} regs[] = {{10, {"rax", "eax", "ax", "al", "ah"}},
            {5, {"rbx", "ebx", "bx", "bl", "bh"}},
            {11, {"rcx", "ecx", "cx", "cl", "ch"}},
            {12, {"rdx", "edx", "dx", "dl", "dh"}},
            {13, {"rsi", "esi", "si", "sil"}},
            {14, {"rdi", "edi", "di", "dil"}},
            {4, {"rbp", "ebp", "bp", "bpl"}},
            {19, {"rsp", "esp", "sp", "spl"}},
            {9, {"r8", "r8d", "r8w", "r8b"}},
            {8, {"r9", "r9d", "r9w", "r9b"}},
            {7, {"r10", "r10d", "r10w", "r10b"}},
            {6, {"r11", "r11d", "r11w", "r11b"}},
            {3, {"r12", "r12d", "r12w", "r12b"}},
            {2, {"r13", "r13d", "r13w", "r13b"}},
            {1, {"r14", "r14d", "r14w", "r14b"}},
            {0, {"r15", "r15d", "r15w", "r15b"}},
            {RIP, {"rip", "eip"}}};

static bool find_reg(const char *name, size_t size, struct reg *ret_reg)
{
    static const uint8_t bytes[] = {8, 4, 2, 1, 1};
    for (size_t i = 0; i < sizeof regs / sizeof *regs; i++)
        for (size_t k = 0; k < sizeof bytes && regs[i].names[k]; k++)
            if (strlen(regs[i].names[k]) == size && memcmp(regs[i].names[k], name, size) == 0) {
                *ret_reg = (struct reg){regs[i].word, bytes[k], k == 4 ? HIGH_BYTE : 0};
                return true;
            }
    return false;
}

static bool take_reg(const char **at, struct reg *ret_reg)
{
    size_t size = 0;
    if (**at != '%')
        return false;
    while (isalnum((unsigned char)(*at)[1 + size]))
        size++;
    if (!find_reg(*at + 1, size, ret_reg))
        return false;
    *at += 1 + size;
    return true;
}

static bool take(const char **at, char c)
{
    *at += strspn(*at, " ");
    if (**at != c)
        return false;
    ++*at;
    *at += strspn(*at, " ");
    return true;
}

/* Numbers and at most one symbol, added: "table+8", "-8", "8+16". Nothing is 0. */
static bool take_displacement(const char **at, struct cairn_usdt_arg *arg)
{
    long long value = 0, more;
    while (**at && **at != '(') {
        size_t size = 0;
        if (cairn_usdt_take_number(at, &more)) {
            value = (long long)((uint64_t)value + (uint64_t)more);
            continue;
        }
        const char *name = *at + (**at == '+');
        while (isalnum((unsigned char)name[size]) || (name[size] && strchr("_.$", name[size])))
            size++;
        if (!size || *arg->symbol || size >= sizeof arg->symbol)
            return false;
        memcpy(arg->symbol, name, size);
        arg->symbol[size] = '\0';
        *at = name + size;
    }
    arg->at.value = value;
    return true;
}

/* The factor of an index; without one it is 1. */
static bool take_scale(const char **at, uint8_t *ret_shift)
{
    long long scale = 1;
    if (take(at, ',') && !cairn_usdt_take_number(at, &scale))
        return false;
    *ret_shift = scale == 8 ? 3 : scale == 4 ? 2 : scale == 2;
    return scale == 1 || scale == 2 || scale == 4 || scale == 8;
}

/* "(%rax,%rcx,4)", "(,%rcx,8)". Registers of an address have all their 8 bytes. */
static bool take_address(const char **at, struct cairn_bpf_arg *arg)
{
    struct reg reg = {.word = CAIRN_TRACE_NO_REG, .bytes = 8};
    if (!take(at, '(') || (**at == '%' && !take_reg(at, &reg)) || reg.bytes != 8)
        return false;
    arg->reg = reg.word;
    if (take(at, ',')) {
        if (!take_reg(at, &reg) || reg.bytes != 8 || reg.word == RIP)
            return false;
        arg->index = reg.word;
        if (!take_scale(at, &arg->shift))
            return false;
    }
    return (arg->reg != CAIRN_TRACE_NO_REG || arg->index != CAIRN_TRACE_NO_REG) && take(at, ')');
}

bool cairn_usdt_operand_x86_64(const char *text, struct cairn_usdt_arg *arg, uint8_t *ret_bytes)
{
    struct reg reg;
    if (*text == '$') {
        text++;
        arg->at.operand = CAIRN_TRACE_OPERAND_CONST;
        return cairn_usdt_take_number(&text, &arg->at.value) && !*text;
    }
    if (take_reg(&text, &reg)) {
        arg->at.operand = CAIRN_TRACE_OPERAND_REGISTER;
        arg->at.reg = reg.word;
        arg->at.shift = reg.shift;
        *ret_bytes = reg.bytes;
        return !*text;
    }
    if (!take_displacement(&text, arg) || !take_address(&text, &arg->at) || *text)
        return false;
    arg->at.operand = CAIRN_TRACE_OPERAND_MEMORY;
    arg->is_relative = arg->at.reg == RIP;
    return arg->is_relative || !*arg->symbol;
}
