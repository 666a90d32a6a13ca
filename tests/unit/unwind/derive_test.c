/* SPDX-License-Identifier: MIT */
/* Code of x86-64 without CFI: what is said of it is what it does, and of what does not hold nothing
 * is said. */
#include "unwind/derive.h"

#include <elf.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "dwarf/cfi.h"
#include "support/elfwriter.h"
#include "support/test.h"

enum { TEXT = 0x1000, TABLE = 0x8000, RBX = 3, RBP = 6, RSP = 7, RA = 16, CODE_MAX = 64 };
enum { SAME = 0, LOST = 1, NOBODY = -1 };

/* At `at` the CFA is the register + cfa; cfa 0: nothing is known, NOBODY: nobody has called. `fp`
 * and `bx`: where the caller's are, counted from the CFA. */
struct row {
    uint8_t at, reg;
    int cfa, fp, bx;
};

struct code {
    const char *name;
    uint8_t bytes[CODE_MAX];
    uint8_t begins[4]; /* more functions that have a symbol; 0: no more */
    int32_t table[4];  /* offsets from TEXT; 0: no more */
    struct row rows[12];
};

static const struct code codes[] = {
    {"pushes, and gives back",
     {0x55,                                        /* 00 push %rbp */
      0x53,                                        /* 01 push %rbx */
      0x48, 0x83, 0xec, 0x18,                      /* 02 sub $24, %rsp */
      0x85, 0xff,                                  /* 06 test %edi, %edi */
      0x74, 0x05,                                  /* 08 je 0f */
      0xe8, 0x11, 0,    0,    0,                   /* 0a call 20 */
      0x48, 0x83, 0xc4, 0x18,                      /* 0f add $24, %rsp */
      0x5b,                                        /* 13 pop %rbx */
      0x5d,                                        /* 14 pop %rbp */
      0xc3,                                        /* 15 ret */
      0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0, /* 16 nop */
      0xc3},                                       /* 20 ret */
     {0},
     {0},
     {{0, RSP, 8, SAME, SAME},
      {1, RSP, 16, -16, SAME},
      {2, RSP, 24, -16, -24},
      {6, RSP, 48, -16, -24},
      {0xf, RSP, 48, -16, -24},
      {0x13, RSP, 24, -16, -24},
      {0x14, RSP, 16, -16, SAME},
      {0x15, RSP, 8, SAME, SAME},
      {0x20, RSP, 8, SAME, SAME}}},
    {"a frame pointer, where the stack pointer is any",
     {0x55,                   /* 00 push %rbp */
      0x48, 0x89, 0xe5,       /* 01 mov %rsp, %rbp */
      0x48, 0x89, 0x5d, 0xf8, /* 04 mov %rbx, -8(%rbp) */
      0x48, 0x29, 0xc4,       /* 08 sub %rax, %rsp */
      0x31, 0xdb,             /* 0b xor %ebx, %ebx */
      0x48, 0x8b, 0x5d, 0xf8, /* 0d mov -8(%rbp), %rbx */
      0xc9,                   /* 11 leave */
      0xc3},                  /* 12 ret */
     {0},
     {0},
     {{4, RSP, 16, -16, SAME},
      {0xb, RBP, 16, -16, -24},
      {0xd, RBP, 16, -16, -24},
      {0x11, RBP, 16, -16, SAME},
      {0x12, RSP, 8, SAME, SAME}}},
    {"a register that is lost", {0x31, 0xdb, 0x90, 0xc3}, {0}, {0}, {{2, RSP, 8, SAME, LOST}}},
    {"two ways that do not agree", {0x74, 0x01, 0x50, 0xc3}, {0}, {0}, {{0, RSP, 0, 0, 0}}},
    {"a return without its address", {0x50, 0xc3}, {0}, {0}, {{0, RSP, 0, 0, 0}}},
    {"rbp is not the caller's at the return", {0x31, 0xed, 0xc3}, {0}, {0}, {{0, RSP, 0, 0, 0}}},
    {"an instruction of no program", {0x50, 0x58, 0x06, 0xc3}, {0}, {0}, {{0, RSP, 0, 0, 0}}},
    {"a jump by a table",
     {0x48, 0x83, 0xec, 0x08,             /* 00 sub $8, %rsp */
      0x83, 0xff, 0x01,                   /* 04 cmp $1, %edi */
      0x77, 0x1a,                         /* 07 ja 23 */
      0x48, 0x8d, 0x15, 0xf0, 0x6f, 0, 0, /* 09 lea TABLE(%rip), %rdx */
      0x48, 0x63, 0x04, 0xba,             /* 10 movslq (%rdx,%rdi,4), %rax */
      0x48, 0x01, 0xd0,                   /* 14 add %rdx, %rax */
      0xff, 0xe0,                         /* 17 jmp *%rax */
      0x0f, 0x1f, 0,                      /* 19 nop */
      0x31, 0xc0,                         /* 1c xor %eax, %eax */
      0xeb, 0x03,                         /* 1e jmp 23 */
      0x31, 0xd2,                         /* 20 xor %edx, %edx */
      0x90,                               /* 22 nop */
      0x48, 0x83, 0xc4, 0x08,             /* 23 add $8, %rsp */
      0xc3},                              /* 27 ret */
     {0},
     {0x1c, 0x20, 0x25 /* no more by the comparison: it is inside of an instruction */},
     {{0x17, RSP, 16, SAME, SAME},
      {0x1c, RSP, 16, SAME, SAME},
      {0x20, RSP, 16, SAME, SAME},
      {0x27, RSP, 8, SAME, SAME}}},
    {"one that never returns",
     {0x48, 0x83, 0xec, 0x08,    /* 00 sub $8, %rsp */
      0xe8, 0x17, 0,    0,    0, /* 04 call 20 */
      0xc3,                      /* 09 ret, of another */
      0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0, 0, 0, 0, 0,    0,
      0,    0,    0,    0,    0,    0,    0, 0, 0, 0, 0x31, 0xc0, /* 20 xor %eax, %eax */
      0x0f, 0x05,                                                 /* 22 syscall */
      0xf4},                                                      /* 24 hlt */
     {0x20},
     {0},
     {{4, RSP, 16, SAME, SAME}, {9, RSP, 0, 0, 0}, {0x22, RSP, 8, SAME, SAME}}},
    {"code that nobody reaches, behind one that never returns, within a function",
     {0x53,                                        /* 00 push %rbx */
      0x85, 0xff,                                  /* 01 test %edi, %edi */
      0x74, 0x1c,                                  /* 03 je 21 */
      0xe8, 0x26, 0,    0,    0,                   /* 05 call 30 */
      0x48, 0x8b, 0x44, 0x24, 0x08,                /* 0a mov 8(%rsp), %rax */
      0x0f, 0xb6, 0x9c, 0x24, 0xe0, 0,    0,    0, /* 0f movzbl; a function might begin at 10 */
      0x48, 0x89, 0xc8,                            /* 17 mov %rcx, %rax */
      0x48, 0x89, 0xc8, 0x48, 0x89, 0xc8, 0x90,    /* 1a */
      0x5b,                                        /* 21 pop %rbx */
      0xc3,                                        /* 22 ret */
      0,    0,    0,    0,    0,    0,    0,    0,
      0,    0,    0,    0,    0,    0x31, 0xc0, /* 30 xor %eax, %eax */
      0x0f, 0x05,                               /* 32 syscall */
      0xf4},                                    /* 34 hlt */
     {0x30},
     {0},
     {{5, RSP, 16, SAME, -16},
      {0xa, RSP, 0, 0, 0},
      {0x21, RSP, 16, SAME, -16},
      {0x22, RSP, 8, SAME, SAME}}},
    {"a call in the last place",
     {0x53, 0x5b, /* 00 push %rbx, pop %rbx */
      0xeb, 0x1c, /* 02 jmp 20 */
      0x53,       /* 04 push %rbx */
      0xeb, 0x19, /* 05 jmp 20: as another function's, it is none */
      0,    0,    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
      0,    0,    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xc3}, /* 20 ret */
     {0x04, 0x20},
     {0},
     {{1, RSP, 16, SAME, -16},
      {2, RSP, 8, SAME, SAME},
      {4, RSP, 0, 0, 0},
      {0x20, RSP, 8, SAME, SAME}}},
    {"the child of musl's clone(2)",
     {0x0f, 0x05,       /* 00 syscall */
      0x85, 0xc0,       /* 02 test %eax, %eax */
      0x75, 0x0f,       /* 04 jne 15 */
      0x31, 0xed,       /* 06 xor %ebp, %ebp */
      0x5f,             /* 08 pop %rdi */
      0x41, 0xff, 0xd1, /* 09 call *%r9 */
      0x89, 0xc7,       /* 0c mov %eax, %edi */
      0x31, 0xc0,       /* 0e xor %eax, %eax */
      0xb0, 0x3c,       /* 10 mov $60, %al */
      0x0f, 0x05,       /* 12 syscall */
      0xf4,             /* 14 hlt */
      0xc3},            /* 15 ret */
     {0},
     {0},
     {{2, RSP, 8, SAME, SAME},
      {9, RSP, NOBODY, SAME, SAME},
      {0xc, RSP, 0, 0, 0},
      {0x15, RSP, 8, SAME, SAME}}},
    {"nobody names it, and it returns",
     {0xc3, 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0, 0x0f, 0x1f, 0x44, 0, 0, /* 00 ret, nops */
      0x53, 0x31, 0xdb, 0x5b, 0xc3},                                             /* 10 */
     {0},
     {0},
     {{0x11, RSP, 16, SAME, -16}, {0x14, RSP, 8, SAME, SAME}}},
    {"nobody names it, and it does not",
     {0xc3, 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0,    0,    0,    0,
      0,    0x0f, 0x1f, 0x44, 0,    0,    0x53, 0x31, 0xdb, 0xf4},
     {0},
     {0},
     {{0x10, RSP, 0, 0, 0}, {0x13, RSP, 0, 0, 0}}},
};

struct fixture {
    uint8_t *file;
    size_t size;
    struct cairn_elf elf;
    struct cairn_elf_symtab symtab;
    struct cairn_buffer frames;
    struct cairn_cfi cfi;
};

static void add_part(struct test_elf *w, const char *name, uint64_t flags, uint64_t vaddr,
                     const void *bytes, size_t size)
{
    uint32_t number = test_elf_bytes(w, name, SHT_PROGBITS, flags, bytes, size);
    w->sections[number].vaddr = vaddr;
    test_elf_load(w, flags & SHF_EXECINSTR ? PF_R | PF_X : PF_R, 0, vaddr, 0, size);
    w->segments[w->n_segments - 1].of_section = number;
}

static void open_code(struct fixture *f, const struct code *code)
{
    int32_t table[4] = {0};
    struct cairn_err err = {0};
    struct test_elf w = test_elf_of(true, false, ET_DYN, EM_X86_64);
    for (size_t i = 0; i < 4 && code->table[i]; i++)
        table[i] = TEXT + code->table[i] - TABLE;
    add_part(&w, ".text", SHF_ALLOC | SHF_EXECINSTR, TEXT, code->bytes, sizeof code->bytes);
    add_part(&w, ".rodata", SHF_ALLOC, TABLE, table, sizeof table);
    test_elf_symbol(&w, "first", STB_LOCAL, STT_FUNC, 1, TEXT, 1);
    for (size_t i = 0; i < 4 && code->begins[i]; i++)
        test_elf_symbol(&w, "more", STB_LOCAL, STT_FUNC, 1, TEXT + code->begins[i], 1);
    test_elf_symtab(&w, false);
    f->file = test_elf_finish(&w, &f->size);
    assert_ok(cairn_elf_open((struct cairn_span){f->file, f->size}, &f->elf, &err), err);
    assert_ok(cairn_elf_symtab_read(&f->elf, CAIRN_ELF_SYMTAB, &f->symtab, &err), err);
}

static int derive(struct fixture *f)
{
    static const struct cairn_derive_gap gap = {TEXT, TEXT + CODE_MAX};
    const struct cairn_elf_symtab *symtabs[] = {&f->symtab};
    const struct cairn_derive_input input = {&f->elf, &gap, 1, symtabs, 1};
    int code = cairn_derive(&input, &f->frames);
    f->cfi = (struct cairn_cfi){.bytes = cairn_buffer_span(&f->frames),
                                .machine = EM_X86_64,
                                .address_size = 8,
                                .debug_frame = true};
    return code;
}

static void drop(struct fixture *f)
{
    cairn_elf_symtab_done(&f->symtab);
    cairn_buffer_done(&f->frames);
    free(f->file);
}

static int place_of(const struct cairn_cfi_rule *rule)
{
    return rule->where == CAIRN_CFI_AT_CFA      ? (int)rule->value
           : rule->where == CAIRN_CFI_UNDEFINED ? LOST
                                                : SAME;
}

static struct row row_at(const struct fixture *f, uint8_t at)
{
    const uint64_t vaddr = TEXT + (uint64_t)at;
    struct cairn_cfi_iter iter = {.cfi = &f->cfi};
    struct cairn_fde fde;
    struct cairn_cfi_row row;
    while (cairn_cfi_next(&iter, &fde)) {
        if (vaddr < fde.from || vaddr >= fde.to)
            continue;
        assert_true(cairn_cfi_row_at(&f->cfi, &fde, vaddr, &row));
        bool is_first = row.regs[RA].where == CAIRN_CFI_UNDEFINED;
        return (struct row){at, row.cfa.reg, is_first ? NOBODY : (int)row.cfa.value,
                            place_of(&row.regs[RBP]), place_of(&row.regs[RBX])};
    }
    assert_int_equal(iter.n_damaged, 0);
    return (struct row){at, RSP, 0, 0, 0};
}

static void what_is_said_is_what_the_code_does(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
        const struct code *code = &codes[i];
        struct fixture f = {0};
        open_code(&f, code);
        assert_int_equal(derive(&f), CAIRN_OK);
        for (size_t r = 0; r < 12 && code->rows[r].reg; r++) {
            const struct row *want = &code->rows[r], got = row_at(&f, want->at);
            if (got.reg != want->reg || got.cfa != want->cfa || got.fp != want->fp ||
                got.bx != want->bx)
                fail_msg("%s: at 0x%x: register %u + %d, rbp %d, rbx %d", code->name, want->at,
                         got.reg, got.cfa, got.fp, got.bx);
        }
        drop(&f);
    }
}

/* Each byte changed, and each allocation that fails: sound, or nothing. */
static void damaged_code_is_followed_soundly(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
        for (size_t at = 0; at < CODE_MAX; at++) {
            struct fixture f = {0};
            struct code damaged = codes[i];
            damaged.bytes[at] ^= (uint8_t)(0x41 + 7 * at);
            open_code(&f, &damaged);
            assert_int_equal(derive(&f), CAIRN_OK);
            for (unsigned b = 0; b < CODE_MAX; b++)
                (void)row_at(&f, (uint8_t)b);
            drop(&f);
        }
}

static void without_memory_it_says_so(void **state)
{
    (void)state;
    int code = CAIRN_E_NOMEM;
    for (unsigned long n = 0; code == CAIRN_E_NOMEM && n < 1000; n++) {
        struct fixture f = {0};
        open_code(&f, &codes[7]);
        cairn_alloc_fail_after((long)n);
        code = derive(&f);
        cairn_alloc_fail_after(-1);
        assert_true(code == CAIRN_OK || code == CAIRN_E_NOMEM);
        drop(&f);
    }
    assert_int_equal(code, CAIRN_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_said_is_what_the_code_does),
        cmocka_unit_test(damaged_code_is_followed_soundly),
        cmocka_unit_test(without_memory_it_says_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
