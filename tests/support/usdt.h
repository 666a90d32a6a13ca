/* SPDX-License-Identifier: MIT */
/*
 * Static probes for test programs, as notes of SystemTap's kind. USDT_RAW takes the arguments as
 * the note has them, so that a test decides which operands there are; in USDT1 and USDT3 the
 * compiler chooses.
 *
 *     USDT_RAW(USDT_NOP, "0", "mine", "start", "-4@%%eax", "a"(5));
 */
#ifndef CAIRN_TESTS_USDT_H
#define CAIRN_TESTS_USDT_H

/* The instruction of a probe: what all programs have, and what libbpf's usdt.h has had since 2025.
 */
#define USDT_NOP "nop"
#ifdef __x86_64__
#define USDT_NOP5 "nop\n .byte 0x0f, 0x1f, 0x44, 0x00, 0x00"
#endif

#define USDT_TEXT(insn, semaphore, provider, name, args)                                           \
    "990: " insn "\n"                                                                              \
    ".pushsection .note.stapsdt, \"\", \"note\"\n"                                                 \
    ".balign 4\n"                                                                                  \
    ".4byte 992f-991f, 994f-993f, 3\n"                                                             \
    "991: .asciz \"stapsdt\"\n"                                                                    \
    "992: .balign 4\n"                                                                             \
    "993: .8byte 990b, _.stapsdt.base, " semaphore "\n"                                            \
    ".asciz \"" provider "\"\n"                                                                    \
    ".asciz \"" name "\"\n"                                                                        \
    ".asciz \"" args "\"\n"                                                                        \
    "994: .balign 4\n"                                                                             \
    ".popsection\n"                                                                                \
    ".ifndef _.stapsdt.base\n"                                                                     \
    ".pushsection .stapsdt.base, \"aG\", \"progbits\", .stapsdt.base, comdat\n"                    \
    ".weak _.stapsdt.base\n"                                                                       \
    ".hidden _.stapsdt.base\n"                                                                     \
    "_.stapsdt.base: .space 1\n"                                                                   \
    ".size _.stapsdt.base, 1\n"                                                                    \
    ".popsection\n"                                                                                \
    ".endif\n"

#define USDT_RAW(insn, semaphore, provider, name, args, ...)                                       \
    __asm__ volatile(USDT_TEXT(insn, semaphore, provider, name, args) : : __VA_ARGS__)

/* The size of an argument, below 0 for a signed one: %n writes it negated. */
#define USDT_SIZE(x) (((__typeof__(x))-1 < (__typeof__(x))1 ? 1 : -1) * (int)sizeof(x))
#define USDT1(provider, name, a)                                                                   \
    USDT_RAW(USDT_NOP, "0", provider, name, "%n0@%1", "n"(USDT_SIZE(a)), "nor"(a))
#define USDT3(provider, name, a, b, c)                                                             \
    USDT_RAW(USDT_NOP, "0", provider, name, "%n0@%1 %n2@%3 %n4@%5", "n"(USDT_SIZE(a)), "nor"(a),   \
             "n"(USDT_SIZE(b)), "nor"(b), "n"(USDT_SIZE(c)), "nor"(c))

/* Two bytes that the kernel counts up while the probe is traced. */
#define USDT_SEMAPHORE(symbol)                                                                     \
    __attribute__((section(".probes"), used, visibility("hidden"))) volatile unsigned short symbol

#endif /* CAIRN_TESTS_USDT_H */
