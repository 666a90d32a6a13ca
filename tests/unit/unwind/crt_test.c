/* SPDX-License-Identifier: MIT */
/* The code before and behind a module's own, as GCC 12 and glibc 2.36 have it, and damaged. */
#include "unwind/crt.h"

#include <elf.h>
#include <stdlib.h>

#include "dwarf/cfi.h"
#include "support/elfwriter.h"
#include "support/test.h"

enum { INIT = 0x1000, FINI = 0x1400, TEXT = 0x2000, DTORS = TEXT + 0x70, DUMMY = TEXT + 0xb0 };
enum { RBP = 6, RSP = 7, NOTHING = -1, NO_RULE = -2, OUTERMOST = -3 };

static uint8_t init_code[] = {
    0x48, 0x83, 0xec, 0x08,          /* 00 sub $8, %rsp */
    0x48, 0x8b, 0x05, 1,    2, 3, 4, /* 04 mov at(%rip), %rax */
    0x48, 0x85, 0xc0,                /* 0b test %rax, %rax */
    0x74, 0x02,                      /* 0e je 12 */
    0xff, 0xd0,                      /* 10 call *%rax */
    0x48, 0x83, 0xc4, 0x08,          /* 12 add $8, %rsp */
    0xc3,                            /* 16 ret */
    0x90, 0x90, 0x90,                /* 17 nop: what nothing describes */
};

static uint8_t text_code[] = {
    /* deregister_tm_clones */
    0x48, 0x8d, 0x3d, 1, 2, 3, 4, /* 00 lea at(%rip), %rdi */
    0x48, 0x8d, 0x05, 1, 2, 3, 4, /* 07 lea at(%rip), %rax */
    0x48, 0x39, 0xf8,             /* 0e cmp %rdi, %rax */
    0x74, 0x15,                   /* 11 je 28 */
    0x48, 0x8b, 0x05, 1, 2, 3, 4, /* 13 mov at(%rip), %rax */
    0x48, 0x85, 0xc0,             /* 1a test %rax, %rax */
    0x74, 0x09,                   /* 1d je 28 */
    0xff, 0xe0,                   /* 1f jmp *%rax */
    0x0f, 0x1f, 0x80, 0, 0, 0, 0, /* 21 nop */
    0xc3,                         /* 28 ret */
    0x0f, 0x1f, 0x80, 0, 0, 0, 0, /* 29 nop */
    /* register_tm_clones */
    0x48, 0x8d, 0x3d, 1, 2, 3, 4, /* 30 lea at(%rip), %rdi */
    0x48, 0x8d, 0x35, 1, 2, 3, 4, /* 37 lea at(%rip), %rsi */
    0x48, 0x29, 0xfe,             /* 3e sub %rdi, %rsi */
    0x48, 0x89, 0xf0,             /* 41 mov %rsi, %rax */
    0x48, 0xc1, 0xee, 0x3f,       /* 44 shr $63, %rsi */
    0x48, 0xc1, 0xf8, 0x03,       /* 48 sar $3, %rax */
    0x48, 0x01, 0xc6,             /* 4c add %rax, %rsi */
    0x48, 0xd1, 0xfe,             /* 4f sar %rsi */
    0x74, 0x14,                   /* 52 je 68 */
    0x48, 0x8b, 0x05, 1, 2, 3, 4, /* 54 mov at(%rip), %rax */
    0x48, 0x85, 0xc0,             /* 5b test %rax, %rax */
    0x74, 0x08,                   /* 5e je 68 */
    0xff, 0xe0,                   /* 60 jmp *%rax */
    0x66, 0x0f, 0x1f, 0x44, 0, 0, /* 62 nop */
    0xc3,                         /* 68 ret */
    0x0f, 0x1f, 0x80, 0, 0, 0, 0, /* 69 nop */
    /* __do_global_dtors_aux */
    0xf3, 0x0f, 0x1e, 0xfa,          /* 70 endbr64 */
    0x80, 0x3d, 1, 2, 3, 4, 0,       /* 74 cmpb $0, at(%rip) */
    0x75, 0x2b,                      /* 7b jne a8 */
    0x55,                            /* 7d push %rbp */
    0x48, 0x83, 0x3d, 1, 2, 3, 4, 0, /* 7e cmpq $0, at(%rip) */
    0x48, 0x89, 0xe5,                /* 86 mov %rsp, %rbp */
    0x74, 0x0c,                      /* 89 je 97 */
    0x48, 0x8b, 0x3d, 1, 2, 3, 4,    /* 8b mov at(%rip), %rdi */
    0xe8, 0, 0, 0x10, 0,             /* 92 call elsewhere */
    0xe8, 0x64, 0xff, 0xff, 0xff,    /* 97 call 0 */
    0xc6, 0x05, 1, 2, 3, 4, 1,       /* 9c movb $1, at(%rip) */
    0x5d,                            /* a3 pop %rbp */
    0xc3,                            /* a4 ret */
    0x0f, 0x1f, 0,                   /* a5 nop */
    0xc3,                            /* a8 ret */
    0x0f, 0x1f, 0x80, 0, 0, 0, 0,    /* a9 nop */
    /* frame_dummy */
    0xf3, 0x0f, 0x1e, 0xfa,       /* b0 endbr64 */
    0xe9, 0x77, 0xff, 0xff, 0xff, /* b4 jmp 30 */
};

struct fixture {
    uint8_t *file;
    struct cairn_elf elf;
    uint64_t entry; /* that nothing describes; 0: something does */
    uint8_t bytes[CAIRN_CRT_BYTES];
    struct cairn_cfi cfi;
};

static void open_file(struct fixture *f)
{
    static const uint64_t dtors[] = {TEXT + 5, 0, DTORS}, dummy = DUMMY;
    static uint8_t fini_code[] = {0x48, 0x83, 0xec, 0x08, 0x48, 0x83, 0xc4, 0x08, 0xc3};
    enum { CODE = SHF_ALLOC | SHF_EXECINSTR };
    struct cairn_err err = {0};
    struct test_elf w = test_elf_of(true, false, ET_DYN, EM_X86_64);
    size_t size;
    const struct {
        const char *name;
        const void *bytes;
        size_t size;
        uint64_t flags, vaddr;
    } parts[] = {{".init", init_code, sizeof init_code, CODE, INIT},
                 {".fini", fini_code, sizeof fini_code, CODE, FINI},
                 {".text", text_code, sizeof text_code, CODE, TEXT},
                 {".init_array", &dummy, sizeof dummy, SHF_ALLOC, 0x4000},
                 {".fini_array", dtors, sizeof dtors, SHF_ALLOC, 0x4100}};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        uint32_t number = test_elf_bytes(&w, parts[i].name, SHT_PROGBITS, parts[i].flags,
                                         parts[i].bytes, parts[i].size);
        w.sections[number].vaddr = parts[i].vaddr;
        test_elf_load(&w, PF_R | (parts[i].flags == CODE ? PF_X : 0), 0, parts[i].vaddr, 0,
                      parts[i].size);
        w.segments[w.n_segments - 1].of_section = number;
    }
    f->file = test_elf_finish(&w, &size);
    assert_ok(cairn_elf_open((struct cairn_span){f->file, size}, &f->elf, &err), err);
}

static void read_frames(struct fixture *f)
{
    size_t size = cairn_crt_frames(&f->elf, f->entry, f->bytes);
    assert_true(size <= sizeof f->bytes);
    f->cfi = (struct cairn_cfi){
        .bytes = {f->bytes, size}, .machine = EM_X86_64, .address_size = 8, .debug_frame = true};
}

/* rsp + so much; *ret_fp: where the caller's rbp is, counted from the CFA, 0: nowhere. */
static int cfa_at(const struct fixture *f, uint64_t vaddr, int *ret_fp)
{
    struct cairn_cfi_iter iter = {.cfi = &f->cfi};
    struct cairn_fde fde;
    struct cairn_cfi_row row;
    while (cairn_cfi_next(&iter, &fde)) {
        if (vaddr < fde.from || vaddr >= fde.to)
            continue;
        bool is_sound = cairn_cfi_row_at(&f->cfi, &fde, vaddr, &row);
        if (is_sound && row.regs[16].where == CAIRN_CFI_UNDEFINED)
            return OUTERMOST;
        if (!is_sound || row.cfa.reg != RSP || row.regs[16].where != CAIRN_CFI_AT_CFA ||
            row.regs[16].value != -8)
            return NO_RULE;
        *ret_fp = row.regs[RBP].where == CAIRN_CFI_AT_CFA ? (int)row.regs[RBP].value : 0;
        return (int)row.cfa.value;
    }
    assert_int_equal(iter.n_damaged, 0);
    return NOTHING;
}

static void each_instruction_finds_its_caller(void **state)
{
    (void)state;
    static const struct {
        uint64_t vaddr;
        int cfa, fp;
    } rows[] = {
        {INIT, 8, 0},
        {INIT + 4, 16, 0},
        {INIT + 0x12, 16, 0},
        {INIT + 0x16, 8, 0},
        {INIT + 0x17, NOTHING, 0},
        {FINI, 8, 0},
        {FINI + 4, 16, 0},
        {FINI + 8, 8, 0},
        {TEXT, 8, 0},
        {TEXT + 0x28, 8, 0},
        {TEXT + 0x2f, NOTHING, 0},
        {TEXT + 0x30, 8, 0},
        {TEXT + 0x68, 8, 0},
        {DTORS, 8, 0},
        {DTORS + 0xd, 8, 0},
        {DTORS + 0xe, 16, -16},
        {DTORS + 0x27, 16, -16},
        {DTORS + 0x33, 16, -16},
        {DTORS + 0x34, 8, 0},
        {DTORS + 0x38, 8, 0},
        {DUMMY, 8, 0},
        {DUMMY + 4, 8, 0},
        {DUMMY + 9, NOTHING, 0},
    };
    struct fixture f = {0};
    open_file(&f);
    read_frames(&f);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int fp = 0, cfa = cfa_at(&f, rows[i].vaddr, &fp);
        if (cfa != rows[i].cfa || fp != rows[i].fp)
            fail_msg("at %lx: rsp + %d, rbp at %d", (unsigned long)rows[i].vaddr, cfa, fp);
    }
    free(f.file);
}

/* ... and loses none of the others. */
static void a_function_with_other_instructions_is_left_out(void **state)
{
    (void)state;
    static const struct {
        size_t at;
        uint8_t byte;
    } others[] = {
        {0x0b, 0x49}, /* test %r8, %rax */
        {0x0f, 0x03}, /* jumps into an instruction */
        {0x0f, 0xf0}, /* jumps back */
        {0x0f, 0x04}, /* jumps to where rsp is another */
        {0x03, 0x10}, /* takes another amount */
        {0x12, 0x90}, /* returns with something on the stack */
    };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        struct fixture f = {0};
        uint8_t before = init_code[others[i].at];
        int fp;
        init_code[others[i].at] = others[i].byte;
        if (others[i].byte == 0x04) /* ret comes behind the add */
            init_code[others[i].at] = 0x06;
        open_file(&f);
        init_code[others[i].at] = before;
        read_frames(&f);
        assert_int_equal(cfa_at(&f, INIT, &fp), NOTHING);
        assert_int_equal(cfa_at(&f, FINI, &fp), 8);
        assert_int_equal(cfa_at(&f, DTORS, &fp), 8);
        free(f.file);
    }
}

/* rbp counts as the caller's as long as nobody writes it. */
static void a_frame_pointer_must_be_saved_before_it_is_made(void **state)
{
    (void)state;
    struct fixture f = {0};
    int fp;
    text_code[0x7d] = 0x50; /* push %rax in place of %rbp */
    open_file(&f);
    text_code[0x7d] = 0x55;
    read_frames(&f);
    assert_int_equal(cfa_at(&f, DTORS, &fp), NOTHING);
    assert_int_equal(cfa_at(&f, DUMMY, &fp), 8);
    free(f.file);
}

static void any_byte_may_be_wrong(void **state)
{
    (void)state;
    unsigned seed = 1;
    for (size_t round = 0; round < 4 * sizeof text_code; round++) {
        struct fixture f = {0};
        int fp;
        uint8_t *byte = &text_code[round % sizeof text_code], before = *byte;
        *byte = (uint8_t)((seed = seed * 1103515245 + 12345) >> 16);
        open_file(&f);
        *byte = before;
        read_frames(&f);
        for (uint64_t at = 0; at < sizeof text_code; at++)
            assert_int_not_equal(cfa_at(&f, TEXT + at, &fp), NO_RULE);
        free(f.file);
    }
}

static uint64_t end_of_entry(const struct fixture *f)
{
    struct cairn_cfi_iter iter = {.cfi = &f->cfi};
    struct cairn_fde fde;
    while (cairn_cfi_next(&iter, &fde))
        if (fde.from == f->entry)
            return fde.to;
    return 0;
}

static void nobody_has_called_an_entry_that_nothing_describes(void **state)
{
    (void)state;
    enum { ENTRY = INIT + 0x17 };
    struct fixture f = {.entry = ENTRY};
    int fp;
    open_file(&f);
    read_frames(&f);
    assert_int_equal(cfa_at(&f, ENTRY - 1, &fp), 8);
    assert_int_equal(cfa_at(&f, ENTRY, &fp), OUTERMOST);
    assert_int_equal(cfa_at(&f, ENTRY + CAIRN_CRT_ENTRY_BYTES - 1, &fp), OUTERMOST);
    assert_int_equal(cfa_at(&f, ENTRY + CAIRN_CRT_ENTRY_BYTES, &fp), NOTHING);
    assert_int_equal(cfa_at(&f, INIT, &fp), 8);

    f.entry = FINI - 8; /* another function follows */
    read_frames(&f);
    assert_int_equal(cfa_at(&f, FINI - 1, &fp), NOTHING); /* no code is there */
    f.entry = INIT;                                       /* it is described here */
    read_frames(&f);
    assert_int_equal(cfa_at(&f, INIT, &fp), 8);
    f.entry = TEXT + 0x29; /* the next one begins 7 bytes later */
    read_frames(&f);
    assert_int_equal(cfa_at(&f, TEXT + 0x29, &fp), OUTERMOST);
    assert_int_equal(end_of_entry(&f), TEXT + 0x30);
    free(f.file);
}

/* Free Pascal's entry code calls main farther behind its start than others do. */
static void an_entry_reaches_to_where_its_code_ends(void **state)
{
    (void)state;
    enum { ENTRY = INIT + 0x18 };
    struct fixture f = {.entry = ENTRY};
    int fp;
    init_code[sizeof init_code - 1] = 0xc3; /* ret */
    open_file(&f);
    read_frames(&f);
    assert_int_equal(end_of_entry(&f), ENTRY + 2);
    f.elf.entry = ENTRY;
    assert_int_equal(cairn_crt_entry_bytes(&f.elf), 2);
    f.elf.machine = EM_AARCH64;
    assert_int_equal(cairn_crt_entry_bytes(&f.elf), CAIRN_CRT_ENTRY_BYTES);
    assert_int_equal(cfa_at(&f, ENTRY + 1, &fp), OUTERMOST);
    init_code[sizeof init_code - 1] = 0x90;
    free(f.file);
}

static void other_machines_have_none(void **state)
{
    (void)state;
    struct fixture f = {0};
    open_file(&f);
    f.elf.machine = EM_ARM;
    assert_int_equal(cairn_crt_frames(&f.elf, TEXT, f.bytes), 0);
    free(f.file);
}

static void on_aarch64_the_entry_alone_is_described(void **state)
{
    (void)state;
    struct fixture f = {.entry = TEXT};
    struct cairn_cfi_iter iter = {.cfi = &f.cfi};
    struct cairn_fde fde;
    struct cairn_cfi_row row;
    open_file(&f);
    f.elf.machine = EM_AARCH64;
    read_frames(&f);
    f.cfi.machine = EM_AARCH64;
    assert_true(cairn_cfi_next(&iter, &fde));
    assert_int_equal(fde.from, TEXT);
    assert_int_equal(fde.to, TEXT + CAIRN_CRT_ENTRY_BYTES);
    assert_int_equal(fde.cie.ra_reg, 30);
    assert_true(cairn_cfi_row_at(&f.cfi, &fde, TEXT, &row));
    assert_int_equal(row.regs[30].where, CAIRN_CFI_UNDEFINED);
    assert_false(cairn_cfi_next(&iter, &fde));
    assert_int_equal(iter.n_damaged, 0);
    free(f.file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_instruction_finds_its_caller),
        cmocka_unit_test(a_function_with_other_instructions_is_left_out),
        cmocka_unit_test(a_frame_pointer_must_be_saved_before_it_is_made),
        cmocka_unit_test(any_byte_may_be_wrong),
        cmocka_unit_test(nobody_has_called_an_entry_that_nothing_describes),
        cmocka_unit_test(an_entry_reaches_to_where_its_code_ends),
        cmocka_unit_test(other_machines_have_none),
        cmocka_unit_test(on_aarch64_the_entry_alone_is_described),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
