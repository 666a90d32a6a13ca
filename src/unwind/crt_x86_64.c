/* SPDX-License-Identifier: MIT */
#include <elf.h>

#include "code/flow.h"
#include "unwind/crt.h"

/* ENTRIES_MAX: of an array; a library may have put its own before. */
enum {
    ENTRIES_MAX = 3,
    FUNCTION_BYTES = 256,
    TARGETS = 4,
    PROGRAM_BYTES = 48,
    FDE_BYTES = 24,
    RBP = 6,
    RSP = 7,
    A64_LR = 30,
    A64_SP = 31
};

/* Byte codes of DWARF 5, 7.24. */
enum {
    ADVANCE_LOC1 = 0x02,
    UNDEFINED = 0x07,
    DEF_CFA = 0x0c,
    DEF_CFA_OFFSET = 0x0e,
    OFFSET = 0x80,
    RESTORE = 0xc0
};

/* How the stack stands before an instruction. */
struct state {
    uint8_t cfa; /* rsp + so much */
    bool has_fp; /* the caller's rbp lies at CFA - 16 */
};

struct target {
    size_t at;
    struct state state;
};

struct function {
    const uint8_t *code;
    size_t size, at;
    struct state state;
    struct target targets[TARGETS]; /* of jumps forward, with a condition */
    size_t n_targets;
    uint8_t program[PROGRAM_BYTES];
    size_t n_program, told; /* `told`: where the last row begins */
    int64_t leads[TARGETS]; /* where calls and jumps lead, from the function's begin */
    size_t n_leads;
};

enum effect { UNKNOWN, NOTHING, PUSH, POP, GROW, SHRINK, CALL, JUMP_IF, JUMP, LEAVE };

/* Instructions: `size` bytes, of which `n` are looked at, and those where the mask is 1. */
static const struct form {
    uint8_t size, n;
    uint8_t bytes[4], masks[4];
    enum effect effect;
} forms[] = {
    {4, 4, {0xf3, 0x0f, 0x1e, 0xfa}, {0xff, 0xff, 0xff, 0xff}, NOTHING}, /* endbr64 */
    {4, 4, {0x48, 0x83, 0xec, 0x08}, {0xff, 0xff, 0xff, 0xff}, GROW},    /* sub $8, %rsp */
    {4, 4, {0x48, 0x83, 0xc4, 0x08}, {0xff, 0xff, 0xff, 0xff}, SHRINK},  /* add $8, %rsp */
    {1, 1, {0x55}, {0xff}, PUSH},                                        /* push %rbp */
    {1, 1, {0x5d}, {0xff}, POP},                                         /* pop %rbp */
    {3, 3, {0x48, 0x89, 0xe5}, {0xff, 0xff, 0xff}, NOTHING},             /* mov %rsp, %rbp */
    {1, 1, {0x50}, {0xff}, GROW},                                        /* push %rax, of musl */
    {1, 1, {0x58}, {0xff}, SHRINK},                                      /* pop %rax */
    {7, 3, {0x48, 0x8d, 0x05}, {0xff, 0xff, 0xff}, NOTHING},             /* lea at(%rip), %rax */
    {7, 3, {0x48, 0x8d, 0x35}, {0xff, 0xff, 0xf7}, NOTHING}, /* the same, %rsi or %rdi */
    {7, 3, {0x48, 0x8b, 0x05}, {0xff, 0xff, 0xff}, NOTHING}, /* mov at(%rip), %rax */
    {7, 3, {0x48, 0x8b, 0x35}, {0xff, 0xff, 0xf7}, NOTHING},
    {5, 1, {0xb8}, {0xff}, NOTHING},                         /* mov $n, %eax */
    {5, 1, {0xbe}, {0xfe}, NOTHING},                         /* mov $n, %esi or %edi */
    {6, 2, {0x48, 0x3d}, {0xff, 0xff}, NOTHING},             /* cmp $n, %rax */
    {7, 3, {0x48, 0x81, 0xee}, {0xff, 0xff, 0xff}, NOTHING}, /* sub $n, %rsi */
    {3, 3, {0x48, 0x39, 0xf8}, {0xff, 0xff, 0xff}, NOTHING}, /* cmp %rdi, %rax */
    {3, 3, {0x48, 0x85, 0xc0}, {0xff, 0xff, 0xff}, NOTHING}, /* test %rax, %rax */
    {3, 3, {0x48, 0x29, 0xfe}, {0xff, 0xff, 0xff}, NOTHING}, /* sub %rdi, %rsi */
    {3, 3, {0x48, 0x89, 0xf0}, {0xff, 0xff, 0xff}, NOTHING}, /* mov %rsi, %rax */
    {3, 3, {0x48, 0x01, 0xc6}, {0xff, 0xff, 0xff}, NOTHING}, /* add %rax, %rsi */
    {4, 3, {0x48, 0xc1, 0xee}, {0xff, 0xff, 0xff}, NOTHING}, /* shr $n, %rsi */
    {4, 3, {0x48, 0xc1, 0xf8}, {0xff, 0xff, 0xff}, NOTHING}, /* sar $n, %rax */
    {3, 3, {0x48, 0xd1, 0xfe}, {0xff, 0xff, 0xff}, NOTHING}, /* sar %rsi */
    {7, 2, {0x80, 0x3d}, {0xff, 0xff}, NOTHING},             /* cmpb $n, at(%rip) */
    {7, 2, {0xc6, 0x05}, {0xff, 0xff}, NOTHING},             /* movb $n, at(%rip) */
    {8, 3, {0x48, 0x83, 0x3d}, {0xff, 0xff, 0xff}, NOTHING}, /* cmpq $n, at(%rip) */
    {5, 1, {0xe8}, {0xff}, CALL},
    {2, 2, {0xff, 0xd0}, {0xff, 0xff}, NOTHING}, /* call *%rax */
    {2, 1, {0x74}, {0xfe}, JUMP_IF},             /* je, jne */
    {2, 1, {0xeb}, {0xff}, JUMP},
    {5, 1, {0xe9}, {0xff}, JUMP},
    {2, 2, {0xff, 0xe0}, {0xff, 0xff}, LEAVE}, /* jmp *%rax */
    {1, 1, {0xc3}, {0xff}, LEAVE},             /* ret */
};

static const struct form *form_at(const struct function *f)
{
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        const struct form *form = &forms[i];
        size_t same = 0;
        if (form->size > f->size - f->at)
            continue;
        while (same < form->n && (f->code[f->at + same] & form->masks[same]) == form->bytes[same])
            same++;
        if (same == form->n)
            return form;
    }
    return NULL;
}

static bool is_same(struct state a, struct state b)
{
    return a.cfa == b.cfa && a.has_fp == b.has_fp;
}

/* The row that begins at f->at. */
static void tell(struct function *f, struct state state)
{
    uint8_t *p = f->program + f->n_program;
    if (is_same(f->state, state))
        return;
    *p++ = ADVANCE_LOC1;
    *p++ = (uint8_t)(f->at - f->told);
    *p++ = DEF_CFA_OFFSET;
    *p++ = state.cfa;
    if (state.has_fp != f->state.has_fp)
        *p++ = (uint8_t)((state.has_fp ? OFFSET : RESTORE) | RBP);
    if (state.has_fp && !f->state.has_fp)
        *p++ = 2; /* times -8 */
    f->n_program = (size_t)(p - f->program);
    f->told = f->at;
    f->state = state;
}

static int64_t displacement(const uint8_t *p, size_t n)
{
    uint32_t word;
    if (n == 1)
        return (int8_t)*p;
    word = (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
    return (int32_t)word;
}

static bool add_target(struct function *f, int64_t to)
{
    if (f->n_targets == TARGETS || to < (int64_t)f->at || to >= (int64_t)f->size)
        return false;
    f->targets[f->n_targets++] = (struct target){(size_t)to, f->state};
    return true;
}

/* What is jumped over, behind a return, is not for this function: goes on at the next target. */
static bool go_on(struct function *f, bool *ret_done)
{
    const struct target *next = NULL;
    for (size_t i = 0; i < f->n_targets; i++)
        if (f->targets[i].at >= f->at && (!next || f->targets[i].at < next->at))
            next = &f->targets[i];
    *ret_done = !next;
    if (next) {
        f->at = next->at;
        tell(f, next->state);
    }
    return true;
}

/* Every jump here must find the stack as the way down to here left it. */
static bool fits_targets(const struct function *f, size_t before)
{
    for (size_t i = 0; i < f->n_targets; i++) {
        const struct target *to = &f->targets[i];
        if ((to->at == f->at && !is_same(to->state, f->state)) ||
            (to->at > before && to->at < f->at))
            return false;
    }
    return true;
}

static bool take(struct function *f, const struct form *form, bool *ret_done)
{
    const struct state empty = {8, false};
    struct state state = f->state;
    size_t before = f->at, n = form->size - form->n;
    int64_t to = (int64_t)(f->at + form->size);
    if (form->effect == CALL || form->effect == JUMP_IF || form->effect == JUMP)
        to += displacement(f->code + f->at + form->n, n);
    f->at += form->size;
    if ((form->effect == CALL || form->effect == JUMP) && f->n_leads < TARGETS)
        f->leads[f->n_leads++] = to;
    switch (form->effect) {
    case PUSH:
        tell(f, (struct state){16, true});
        return is_same(state, empty) && fits_targets(f, before);
    case POP:
        tell(f, empty);
        return state.has_fp && fits_targets(f, before);
    case GROW:
        tell(f, (struct state){16, false});
        return is_same(state, empty) && fits_targets(f, before);
    case SHRINK:
        tell(f, empty);
        return state.cfa == 16 && !state.has_fp && fits_targets(f, before);
    case JUMP_IF:
        return add_target(f, to) && fits_targets(f, before);
    case JUMP:
    case LEAVE:
        return is_same(state, empty) && go_on(f, ret_done);
    default:
        return fits_targets(f, before);
    }
}

/* rbp may be written by what has saved it alone, which only the form of `mov %rsp, %rbp` does. */
static bool read_function(struct function *f)
{
    bool done = false;
    f->state = (struct state){8, false};
    while (!done) {
        const struct form *form = f->at < f->size ? form_at(f) : NULL;
        bool writes_fp = form && form->effect == NOTHING && form->bytes[2] == 0xe5;
        if (!form || f->n_program + 8 > PROGRAM_BYTES || (writes_fp && !f->state.has_fp) ||
            !take(f, form, &done))
            return false;
    }
    return true;
}

struct section {
    uint8_t *bytes;
    size_t size;
    uint64_t functions[CAIRN_CRT_FUNCTIONS]; /* vaddrs; more are found on the way */
    size_t n;
};

static void put(struct section *s, const void *bytes, size_t n)
{
    memcpy(s->bytes + s->size, bytes, n);
    s->size += n;
}

static void put_number(struct section *s, uint64_t number, size_t n)
{
    for (size_t i = 0; i < n; i++)
        s->bytes[s->size++] = (uint8_t)(number >> 8 * i);
}

/* On aarch64 a call leaves the stack pointer alone and the return address in x30. */
static void put_cie(struct section *s, bool is_aarch64)
{
    const uint8_t rest[] = {
        1,
        0, /* version, augmentation "" */
        1,
        0x78,
        is_aarch64 ? A64_LR : 16, /* code by 1, data by -8, the return address's register */
        DEF_CFA,
        is_aarch64 ? A64_SP : RSP,
        is_aarch64 ? 0 : 8,
        is_aarch64 ? 0 : OFFSET | 16,
        is_aarch64 ? 0 : 1,
        0,
        0,
        0,
        0,
        0, /* padded by DW_CFA_nop */
    };
    put_number(s, 4 + sizeof rest, 4);
    put_number(s, UINT32_MAX, 4);
    put(s, rest, sizeof rest);
}

static void put_fde(struct section *s, uint64_t vaddr, const struct function *f)
{
    put_number(s, FDE_BYTES - 4 + f->n_program, 4);
    put_number(s, 0, 4); /* where the CIE is */
    put_number(s, vaddr, 8);
    put_number(s, f->at, 8);
    put(s, f->program, f->n_program);
}

static void add_function(struct section *s, uint64_t vaddr)
{
    for (size_t i = 0; i < s->n; i++)
        if (s->functions[i] == vaddr)
            return;
    if (vaddr && s->n < CAIRN_CRT_FUNCTIONS)
        s->functions[s->n++] = vaddr;
}

static void find_functions(const struct cairn_elf *elf, struct section *s)
{
    static const char *const code[] = {".init", ".fini"};
    static const char *const arrays[] = {".fini_array", ".init_array"};
    struct cairn_elf_section section;
    struct cairn_span bytes;
    for (size_t i = 0; i < 2; i++)
        if (cairn_elf_find_section(elf, code[i], &section))
            add_function(s, section.vaddr);
    for (size_t i = 0; i < 2; i++)
        if (cairn_elf_find_section(elf, arrays[i], &section) &&
            cairn_elf_section_bytes(elf, &section, &bytes))
            for (size_t at = 0; at < ENTRIES_MAX * 8 && at + 8 <= bytes.size; at += 8)
                add_function(s, (uint64_t)(uint32_t)displacement(bytes.data + at, 4) |
                                    (uint64_t)displacement(bytes.data + at + 4, 4) << 32);
}

/* Of the function at `entry`, up to behind the first instruction that never leads to the next. */
static uint64_t entry_bytes(const struct cairn_elf *elf, uint64_t entry)
{
    struct cairn_span code;
    if (elf->machine != EM_X86_64 || !cairn_elf_bytes_at(elf, entry, &code))
        return CAIRN_CRT_ENTRY_BYTES;
    for (size_t at = 0; at < CAIRN_CRT_ENTRY_MAX && at < code.size;) {
        struct cairn_code_step step;
        cairn_code_step_x86_64((struct cairn_span){code.data + at, code.size - at}, entry + at,
                               &step);
        if (!step.size || step.flow == CAIRN_FLOW_BAD)
            break;
        at += step.size;
        if (step.flow == CAIRN_FLOW_JUMP || step.flow == CAIRN_FLOW_INDIRECT ||
            step.flow == CAIRN_FLOW_RETURN || step.flow == CAIRN_FLOW_STOP)
            return at;
    }
    return CAIRN_CRT_ENTRY_BYTES;
}

uint64_t cairn_crt_entry_bytes(const struct cairn_elf *elf)
{
    return entry_bytes(elf, elf->entry & ~UINT64_C(1)); /* bit 0: Thumb, on arm */
}

/* Up to the next function that is known: what lies between may be padding, or of the entry. */
static bool put_entry(const struct cairn_elf *elf, struct section *s, uint64_t entry)
{
    const uint8_t ra = elf->machine == EM_AARCH64 ? A64_LR : 16;
    struct function f = {
        .at = (unsigned)entry_bytes(elf, entry), .program = {UNDEFINED, ra}, .n_program = 2};
    if (!entry || !cairn_elf_is_code(elf, entry) || s->size + FDE_BYTES + 2 > CAIRN_CRT_BYTES)
        return false;
    for (size_t i = 0; i < s->n; i++)
        if (s->functions[i] >= entry && s->functions[i] - entry < f.at)
            f.at = (size_t)(s->functions[i] - entry);
    if (!f.at)
        return false;
    put_fde(s, entry, &f);
    return true;
}

static bool put_function(const struct cairn_elf *elf, struct section *s, uint64_t vaddr)
{
    struct cairn_span code;
    struct function f = {0};
    if (!cairn_elf_is_code(elf, vaddr) || !cairn_elf_bytes_at(elf, vaddr, &code))
        return false;
    f.code = code.data;
    f.size = code.size < FUNCTION_BYTES ? code.size : FUNCTION_BYTES;
    if (!read_function(&f) || s->size + FDE_BYTES + f.n_program > CAIRN_CRT_BYTES)
        return false;
    put_fde(s, vaddr, &f);
    for (size_t i = 0; i < f.n_leads; i++)
        add_function(s, vaddr + (uint64_t)f.leads[i]);
    return true;
}

size_t cairn_crt_frames(const struct cairn_elf *elf, uint64_t entry,
                        uint8_t ret_bytes[CAIRN_CRT_BYTES])
{
    struct section s = {.bytes = ret_bytes};
    bool some = false;
    const bool is_aarch64 = elf->machine == EM_AARCH64;
    if ((elf->machine != EM_X86_64 && !is_aarch64) || !elf->is64 || elf->swap)
        return 0;
    if (!is_aarch64)
        find_functions(elf, &s);
    put_cie(&s, is_aarch64);
    for (size_t i = 0; i < s.n; i++)
        some |= put_function(elf, &s, s.functions[i]);
    some |= put_entry(elf, &s, entry);
    return some ? s.size : 0;
}
