/* SPDX-License-Identifier: MIT */
#include "trace/usdt_args.h"

#include <ctype.h>
#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { WORD_BYTES = 8 };

bool cairn_usdt_take_number(const char **at, long long *ret_value)
{
    const bool is_negative = **at == '-';
    const char *start = *at + (is_negative || **at == '+');
    char *end;
    if (!isdigit((unsigned char)*start))
        return false;
    errno = 0;
    const uint64_t value = strtoull(start, &end, 0);
    if (errno)
        return false;
    *ret_value = (long long)(is_negative ? 0 - value : value);
    *at = end;
    return true;
}

/* Up to a blank that is not in brackets: [sp, 16] is one operand. */
static size_t arg_size(const char *text)
{
    size_t size = 0;
    for (int depth = 0; text[size] && (depth > 0 || !isspace((unsigned char)text[size])); size++) {
        depth += text[size] == '[' || text[size] == '(';
        depth -= text[size] == ']' || text[size] == ')';
    }
    return size;
}

/* "-4@", "8f@": false, there is no such thing, and the size is the operand's own. */
static bool take_size(const char **at, struct cairn_usdt_arg *arg)
{
    const char *text = *at + (**at == '-');
    if (*text < '1' || *text > '8' || (text[1] != '@' && (text[1] != 'f' || text[2] != '@')))
        return false;
    arg->at.bytes = (uint8_t)(*text - '0');
    arg->at.is_signed = **at == '-';
    arg->is_real = text[1] == 'f';
    *at = text + (arg->is_real ? 3 : 2);
    return true;
}

static bool is_size(const struct cairn_usdt_arg *arg)
{
    const uint8_t bytes = arg->at.bytes;
    return arg->is_real ? bytes == 4 || bytes == 8 : bytes && (bytes & (bytes - 1)) == 0;
}

static bool read_operand(const char *text, uint16_t machine, struct cairn_usdt_arg *arg,
                         uint8_t *ret_bytes)
{
    if (machine == EM_X86_64)
        return cairn_usdt_operand_x86_64(text, arg, ret_bytes);
    if (machine == EM_AARCH64)
        return cairn_usdt_operand_aarch64(text, arg, ret_bytes);
    return false;
}

static bool read_arg(const char *text, uint16_t machine, struct cairn_usdt_arg *arg)
{
    uint8_t bytes = 0;
    const bool has_size = take_size(&text, arg);
    if (!read_operand(text, machine, arg, &bytes))
        return false;
    if (!has_size)
        arg->at.bytes = bytes ? bytes : WORD_BYTES;
    if (bytes && bytes < arg->at.bytes)
        arg->at.bytes = bytes; /* the register has no more */
    return is_size(arg);
}

bool cairn_usdt_arg_next(const char **at, uint16_t machine, struct cairn_usdt_arg *ret_arg)
{
    char text[CAIRN_USDT_OPERAND_BYTES];
    while (isspace((unsigned char)**at))
        ++*at;
    const size_t size = arg_size(*at);
    if (!size)
        return false;
    struct cairn_usdt_arg arg = {.at = {.reg = CAIRN_TRACE_NO_REG, .index = CAIRN_TRACE_NO_REG},
                                 .text = {(const uint8_t *)*at, size}};
    *ret_arg = arg;
    if (size < sizeof text) {
        memcpy(text, *at, size);
        text[size] = '\0';
        if (read_arg(text, machine, &arg))
            *ret_arg = arg;
    }
    *at += size;
    return true;
}
