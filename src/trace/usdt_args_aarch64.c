/* SPDX-License-Identifier: MIT */
/* Operands of aarch64 as the GNU assembler writes them, in the words of struct user_pt_regs
 * (arch/arm64/include/uapi/asm/ptrace.h): x0 to x30, sp. */
#include <ctype.h>
#include <string.h>

#include "trace/usdt_args.h"

enum { FP = 29, LR = 30, SP = 31 };

struct reg {
    uint8_t word, bytes;
};

static bool find_reg(const char *name, size_t size, struct reg *ret_reg)
{
    static const struct {
        const char *name;
        struct reg reg;
    } others[] = {{"sp", {SP, 8}},
                  {"wsp", {SP, 4}},
                  {"fp", {FP, 8}},
                  {"lr", {LR, 8}},
                  {"xzr", {CAIRN_TRACE_NO_REG, 8}},
                  {"wzr", {CAIRN_TRACE_NO_REG, 4}}};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strlen(others[i].name) == size && memcmp(others[i].name, name, size) == 0) {
            *ret_reg = others[i].reg;
            return true;
        }
    if (size < 2 || size > 3 || (*name != 'x' && *name != 'w') ||
        !isdigit((unsigned char)name[1]) || (size == 3 && !isdigit((unsigned char)name[2])))
        return false;
    const int number = size == 3 ? 10 * (name[1] - '0') + name[2] - '0' : name[1] - '0';
    *ret_reg = (struct reg){(uint8_t)number, *name == 'x' ? 8 : 4};
    return number <= LR;
}

static size_t word_size(const char *at)
{
    size_t size = 0;
    while (isalnum((unsigned char)at[size]))
        size++;
    return size;
}

static bool take_reg(const char **at, struct reg *ret_reg)
{
    const size_t size = word_size(*at);
    if (!isalpha((unsigned char)**at) || !find_reg(*at, size, ret_reg))
        return false;
    *at += size;
    return true;
}

static bool take_immediate(const char **at, long long *ret_value)
{
    *at += **at == '#';
    return cairn_usdt_take_number(at, ret_value);
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

/* ", lsl 3", ", sxtw 2", ", uxtw" behind an index register. */
static bool take_extend(const char **at, struct cairn_bpf_arg *arg, struct reg index)
{
    static const struct {
        const char *name;
        uint8_t extend, bytes;
    } kinds[] = {{"lsl", CAIRN_TRACE_EXTEND_NOT, 8},
                 {"sxtx", CAIRN_TRACE_EXTEND_NOT, 8},
                 {"sxtw", CAIRN_TRACE_EXTEND_S32, 4},
                 {"uxtw", CAIRN_TRACE_EXTEND_U32, 4}};
    long long shift = 0;
    if (!take(at, ','))
        return index.bytes == 8;
    const size_t size = word_size(*at);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (strlen(kinds[i].name) != size || memcmp(kinds[i].name, *at, size) != 0)
            continue;
        *at += size;
        *at += strspn(*at, " ");
        if (**at != ']' && !take_immediate(at, &shift))
            return false;
        arg->extend = kinds[i].extend;
        arg->shift = (uint8_t)shift;
        return index.bytes == kinds[i].bytes && shift >= 0 && shift <= 3;
    }
    return false;
}

/* "[x0]", "[sp, 16]", "[x0, x1, lsl 3]" */
static bool take_address(const char **at, struct cairn_bpf_arg *arg)
{
    struct reg reg;
    if (!take(at, '[') || !take_reg(at, &reg) || reg.bytes != 8 || reg.word == CAIRN_TRACE_NO_REG)
        return false;
    arg->reg = reg.word;
    if (take(at, ',') && !take_immediate(at, &arg->value)) {
        if (!take_reg(at, &reg))
            return false;
        arg->index = reg.word;
        if (!take_extend(at, arg, reg))
            return false;
    }
    return take(at, ']');
}

bool cairn_usdt_operand_aarch64(const char *text, struct cairn_usdt_arg *arg, uint8_t *ret_bytes)
{
    struct reg reg;
    if (*text == '[') {
        arg->at.operand = CAIRN_TRACE_OPERAND_MEMORY;
        return take_address(&text, &arg->at) && !*text;
    }
    if (take_reg(&text, &reg)) {
        arg->at.operand = CAIRN_TRACE_OPERAND_REGISTER;
        arg->at.reg = reg.word;
        *ret_bytes = reg.bytes;
        return !*text;
    }
    arg->at.operand = CAIRN_TRACE_OPERAND_CONST;
    return take_immediate(&text, &arg->at.value) && !*text;
}
