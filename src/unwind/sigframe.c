/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
#include "unwind/sigframe.h"

#include <elf.h>

#include "base/reader.h"

enum { CODE_MAX = 12, WORDS_MAX = 34 };

/* What arm's kernel writes into the flags of a frame without siginfo (arch/arm/kernel/signal.c,
 * since Linux 2.6.18); no signal has that number. */
static const uint32_t NO_SIGINFO = 0x5ac3c35a;

struct pattern {
    uint16_t machine;
    uint8_t kind, size; /* enum cairn_sigframe; bytes of code */
    uint8_t code[CODE_MAX];
};

static const struct pattern patterns[] = {
    /* mov $15,%rax; syscall (glibc, musl by gcc and by clang) */
    {EM_X86_64, CAIRN_SIGFRAME_RT, 9, {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05}},
    {EM_X86_64, CAIRN_SIGFRAME_RT, 7, {0xb8, 0x0f, 0, 0, 0, 0x0f, 0x05}},
    /* pop %eax; mov $119,%eax; int $0x80, and mov $173,%eax; int $0x80 */
    {EM_386, CAIRN_SIGFRAME_PLAIN, 8, {0x58, 0xb8, 0x77, 0, 0, 0, 0xcd, 0x80}},
    {EM_386, CAIRN_SIGFRAME_RT, 7, {0xb8, 0xad, 0, 0, 0, 0xcd, 0x80}},
    /* mov x8,#139; svc #0 */
    {EM_AARCH64, CAIRN_SIGFRAME_RT, 8, {0x68, 0x11, 0x80, 0xd2, 0x01, 0, 0, 0xd4}},
    /* mov r7,#119 or #173; svc #0: A32, T32 short and long */
    {EM_ARM, CAIRN_SIGFRAME_PLAIN, 8, {0x77, 0x70, 0xa0, 0xe3, 0, 0, 0, 0xef}},
    {EM_ARM, CAIRN_SIGFRAME_RT, 8, {0xad, 0x70, 0xa0, 0xe3, 0, 0, 0, 0xef}},
    /* with svc 0x900000 + the number: the kernel's own, which serve the ABI of before 2005 as well
     */
    {EM_ARM, CAIRN_SIGFRAME_PLAIN, 8, {0x77, 0x70, 0xa0, 0xe3, 0x77, 0, 0x90, 0xef}},
    {EM_ARM, CAIRN_SIGFRAME_RT, 8, {0xad, 0x70, 0xa0, 0xe3, 0xad, 0, 0x90, 0xef}},
    {EM_ARM, CAIRN_SIGFRAME_PLAIN, 4, {0x77, 0x27, 0, 0xdf}},
    {EM_ARM, CAIRN_SIGFRAME_RT, 4, {0xad, 0x27, 0, 0xdf}},
    {EM_ARM, CAIRN_SIGFRAME_PLAIN, 6, {0x4f, 0xf0, 0x77, 0x07, 0, 0xdf}},
    {EM_ARM, CAIRN_SIGFRAME_RT, 6, {0x4f, 0xf0, 0xad, 0x07, 0, 0xdf}},
};

static bool is_code_at(const struct pattern *p, const struct cairn_memory *memory, uint64_t va)
{
    uint8_t code[CODE_MAX];
    return memory->read(memory->ctx, va, code, p->size) && memcmp(code, p->code, p->size) == 0;
}

enum cairn_sigframe cairn_sigframe_at(const struct cairn_unwind_arch *arch,
                                      const struct cairn_memory *memory, uint64_t ip)
{
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++) {
        const struct pattern *p = &patterns[i];
        if (p->machine == arch->machine && is_code_at(p, memory, ip))
            return (enum cairn_sigframe)p->kind;
    }
    return CAIRN_SIGFRAME_NONE;
}

enum cairn_sigframe cairn_sigframe_behind(const struct cairn_unwind_arch *arch,
                                          const struct cairn_memory *memory, uint64_t ip)
{
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++) {
        const struct pattern *p = &patterns[i];
        bool pops = p->machine == EM_386 && p->kind == CAIRN_SIGFRAME_PLAIN; /* no frame is at sp */
        if (p->machine == arch->machine && !pops && is_code_at(p, memory, ip - p->size))
            return (enum cairn_sigframe)p->kind;
    }
    return CAIRN_SIGFRAME_NONE;
}

/* Where the words of the registers begin, and which register (DWARF's number) each is. Bit 5 of
 * arm's cpsr is Thumb's (DDI 0406C, B1.3.3). */
enum { IP = 100, SKIP = 101, CPSR = 102, CPSR_THUMB = 5 };

struct layout {
    uint32_t off[3]; /* from the stack pointer, by enum cairn_sigframe */
    uint8_t n;
    uint8_t regs[WORDS_MAX];
};

static const struct layout layout_x86_64 = {
    .off = {0, 40, 40},
    .n = 17,
    .regs = {8, 9, 10, 11, 12, 13, 14, 15, 5, 4, 6, 3, 1, 0, 2, 7, IP},
};

/* Of the rt kind: from the ucontext. */
static const struct layout layout_386 = {
    .off = {0, 4 + 16, 20 + 16},
    .n = 11,
    .regs = {7, 6, 5, 4, 3, 2, 1, 0, SKIP, SKIP, IP},
};

static const struct layout layout_aarch64 = {
    .off = {0, 312, 312},
    .n = 33,
    .regs = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16,
             17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, IP},
};

static const struct layout layout_arm = {
    .off = {0, 32, 128 + 32},
    .n = 17,
    .regs = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, IP, CPSR},
};

static const struct layout *layout_of(uint16_t machine)
{
    switch (machine) {
    case EM_X86_64:
        return &layout_x86_64;
    case EM_386:
        return &layout_386;
    case EM_AARCH64:
        return &layout_aarch64;
    case EM_ARM:
        return &layout_arm;
    default:
        return NULL;
    }
}

enum cairn_sigframe cairn_sigframe_which(const struct cairn_unwind_arch *arch,
                                         const struct cairn_memory *memory, bool swap,
                                         const struct cairn_unwind_regs *regs)
{
    const struct layout *layout = layout_of(arch->machine);
    uint8_t raw[4];
    if (!layout || layout->off[CAIRN_SIGFRAME_PLAIN] == layout->off[CAIRN_SIGFRAME_RT])
        return CAIRN_SIGFRAME_RT;
    enum cairn_sigframe kind = cairn_sigframe_at(arch, memory, regs->ip);
    if (kind != CAIRN_SIGFRAME_NONE || arch->machine != EM_ARM ||
        !memory->read(memory->ctx, regs->regs[arch->sp], raw, sizeof raw))
        return kind != CAIRN_SIGFRAME_NONE ? kind : CAIRN_SIGFRAME_RT;
    struct cairn_reader r = cairn_reader_of((struct cairn_span){raw, sizeof raw}, swap);
    return cairn_reader_u32(&r) == NO_SIGINFO ? CAIRN_SIGFRAME_PLAIN : CAIRN_SIGFRAME_RT;
}

enum cairn_arch_step cairn_sigframe_step(const struct cairn_unwind_arch *arch,
                                         enum cairn_sigframe kind,
                                         const struct cairn_memory *memory, bool swap,
                                         struct cairn_unwind_regs *regs)
{
    const struct layout *layout = layout_of(arch->machine);
    struct cairn_unwind_regs next = {0};
    uint64_t thumb = 0;
    uint8_t raw[8 * WORDS_MAX];
    if (!layout || kind == CAIRN_SIGFRAME_NONE)
        return CAIRN_STEP_NO_RULE;
    if (!cairn_unwind_known(regs, arch->sp))
        return CAIRN_STEP_UNKNOWN;
    uint64_t at = regs->regs[arch->sp];
    if (arch->machine == EM_386 && kind == CAIRN_SIGFRAME_RT) {
        if (!memory->read(memory->ctx, at + 8, raw, 4))
            return CAIRN_STEP_UNREADABLE;
        struct cairn_reader r = cairn_reader_of((struct cairn_span){raw, 4}, swap);
        at = cairn_reader_u32(&r);
    }
    size_t size = (size_t)layout->n * arch->word;
    if (!memory->read(memory->ctx, at + layout->off[kind], raw, size))
        return CAIRN_STEP_UNREADABLE;
    struct cairn_reader r = cairn_reader_of((struct cairn_span){raw, size}, swap);
    for (size_t i = 0; i < layout->n; i++) {
        uint64_t value = cairn_reader_word(&r, arch->word);
        if (layout->regs[i] == IP)
            next.ip = arch->code_address(value);
        else if (layout->regs[i] == CPSR)
            thumb = value >> CPSR_THUMB & 1;
        else if (layout->regs[i] != SKIP)
            cairn_unwind_set(&next, layout->regs[i], value);
    }
    cairn_unwind_set(&next, arch->pc, next.ip | thumb);
    *regs = next;
    return CAIRN_STEP_OK;
}
