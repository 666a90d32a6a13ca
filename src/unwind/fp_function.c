/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
#include "unwind/fp_function.h"

#include <elf.h>
#include <string.h>

enum { FUNCTION_ALIGN = 16, PUSHES_MAX = 6 };

/* Do these bytes lie at `at`? */
static bool has(struct cairn_span code, size_t at, const char *bytes, size_t n)
{
    return code.size - at >= n && memcmp(code.data + at, bytes, n) == 0;
}

static bool sets_rbp(struct cairn_span code, size_t at)
{
    return has(code, at, "\x48\x89\xe5", 3) || has(code, at, "\x48\x8b\xec", 3) ||
           has(code, at, "\x48\x8d\x6c\x24", 4) || has(code, at, "\x48\x8d\xac\x24", 4);
}

/* Behind the push alone: two bytes are found by chance, too. */
static bool sets_ebp(struct cairn_span code, size_t at)
{
    return has(code, at, "\x55\x89\xe5", 3) || has(code, at, "\x55\x8b\xec", 3);
}

/* leave, pop, or add N, %rsp: what stands before a return, and not before the byte of another
 * instruction that looks like one. */
static bool ends_frame(struct cairn_span code, size_t at)
{
    return at && (code.data[at - 1] == 0xc9 || code.data[at - 1] >> 3 == 0x58 >> 3 ||
                  (at >= 3 && code.data[at - 3] == 0x83 && code.data[at - 2] == 0xc4));
}

/* Padding follows, or an address where functions start and what they start with. */
static bool ends_x86(struct cairn_span code, uint64_t va, size_t at)
{
    static const uint8_t firsts[] = {0x31, 0x41, 0x48, 0x53, 0x56, 0x57, 0x83, 0x8b, 0xf3};
    size_t next = at + 1;
    if (code.data[at] != 0xc3 || next >= code.size)
        return false;
    if ((va + next) % FUNCTION_ALIGN == 0 && ends_frame(code, at) &&
        memchr(firsts, code.data[next], sizeof firsts))
        return true;
    return code.data[next] == 0xcc || code.data[next] == 0x90 || has(code, next, "\x66\x90", 2) ||
           has(code, next, "\x66\x2e", 2) || has(code, next, "\x66\x66", 2) ||
           has(code, next, "\x0f\x1f", 2);
}

/*
 * GCC's main() with a realigned stack copies its return address, and keeps the caller's stack
 * pointer with the registers that it pushes:
 *
 *     lea 4(%esp), %ecx; and $-16, %esp; push -4(%ecx); push %ebp; mov %esp, %ebp; push ... %ecx
 *     lea 8(%rsp), %r10; and $-16, %rsp; push -8(%r10); push %rbp; mov %rsp, %rbp; push ... %r10
 *
 * `at` is that of the move.
 */
static uint8_t sp_below(struct cairn_span code, size_t at, bool is_wide)
{
    unsigned word = is_wide ? 8 : 4, n = 0;
    size_t before = is_wide ? 5 : 3, next = at + (is_wide ? 3 : 1 + 2);
    if (at < before ||
        !has(code, at - before, is_wide ? "\x41\xff\x72\xf8\x55" : "\xff\x71\xfc", before))
        return 0;
    for (; next + 1 < code.size && n < PUSHES_MAX; next++) {
        bool is_high = is_wide && code.data[next] == 0x41;
        next += is_high;
        if (code.data[next] >> 3 != 0x50 >> 3)
            return 0;
        n++;
        if (is_wide ? is_high && code.data[next] == 0x52 : code.data[next] == 0x51)
            return (uint8_t)(n * word);
    }
    return 0;
}

static struct cairn_fp_function read_x86(struct cairn_span code, uint64_t va, bool is_start,
                                         bool is_wide)
{
    for (size_t at = code.size; at-- > 0;) {
        if (is_wide ? sets_rbp(code, at) : sets_ebp(code, at))
            return (struct cairn_fp_function){true, sp_below(code, at, is_wide)};
        if (!is_start && ends_x86(code, va, at))
            break;
    }
    return (struct cairn_fp_function){0};
}

static bool keeps_aarch64(struct cairn_span code, bool is_start)
{
    enum { ADD_FP_SP = 0x110003fd };
    const uint32_t ret = 0xd65f03c0, immediate = 0xfff << 10, wide = 1u << 31;
    for (size_t at = code.size & ~(size_t)3; at >= 4; at -= 4) {
        uint32_t insn;
        memcpy(&insn, code.data + at - 4, sizeof insn);
        if ((insn & ~immediate) == (ADD_FP_SP | wide))
            return true;
        if (!is_start && insn == ret)
            return false;
    }
    return false;
}

struct cairn_fp_function cairn_fp_function_read(uint16_t machine, struct cairn_span code,
                                                uint64_t va, bool is_start)
{
    switch (machine) {
    case EM_X86_64:
        return read_x86(code, va, is_start, true);
    case EM_386:
        return read_x86(code, va, is_start, false);
    case EM_AARCH64:
        return (struct cairn_fp_function){.keeps = keeps_aarch64(code, is_start)};
    default:
        return (struct cairn_fp_function){0};
    }
}
