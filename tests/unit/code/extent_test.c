/* SPDX-License-Identifier: MIT */
#include "code/extent.h"

#include <elf.h>

#include "base/alloc.h"
#include "support/elfwriter.h"
#include "support/test.h"

enum { TEXT = 0x1000, ROOM = 64 };

static size_t extent_of(uint16_t machine, const void *code, size_t size)
{
    size_t extent = 0;
    assert_int_equal(cairn_code_extent(machine, (struct cairn_span){code, size}, &extent),
                     CAIRN_OK);
    return extent;
}

#define X86_64(...)  extent_of(EM_X86_64, (const uint8_t[ROOM]){__VA_ARGS__}, ROOM)
#define AARCH64(...) extent_of(EM_AARCH64, (const uint32_t[ROOM / 4]){__VA_ARGS__}, ROOM)

static void a_function_ends_behind_its_return(void **state)
{
    (void)state;
    assert_int_equal(X86_64(0x55, 0x5d, 0xc3, 0x0f, 0x05), 3);
    assert_int_equal(AARCH64(0xd2800000, 0xd65f03c0, 0xd4000001), 8); /* mov, ret, svc */
}

static void ways_forward_and_back_are_followed(void **state)
{
    (void)state;
    /* jmp 1f; 0: inc eax; 1: dec ecx; jne 0b; ret; syscall */
    assert_int_equal(X86_64(0xeb, 2, 0xff, 0xc0, 0xff, 0xc9, 0x75, 0xfa, 0xc3, 0x0f, 0x05), 9);
    /* cbz x0, 1f; tbnz x0, #3, 1f; ret; 1: b.eq .-4; ret; nop */
    assert_int_equal(
        AARCH64(0xb4000060, 0x37180040, 0xd65f03c0, 0x54ffffe0, 0xd65f03c0, 0xd4000001), 20);
}

static void padding_within_is_its_own_and_behind_is_not(void **state)
{
    (void)state;
    /* je 1f; ret; nopw 0(%rax,%rax); int3; 1: ret; nop; nop; syscall */
    assert_int_equal(
        X86_64(0x74, 8, 0xc3, 0x66, 0x0f, 0x1f, 0x44, 0, 0, 0xcc, 0xc3, 0x90, 0x90, 0x0f, 0x05),
        11);
    assert_int_equal(AARCH64(0x54000060, 0xd65f03c0, 0xd503201f, 0xd65f03c0, 0xd503201f), 16);
}

/* pause and xchg %eax, %r8d look like nop. */
static void what_does_something_is_no_padding(void **state)
{
    (void)state;
    assert_int_equal(X86_64(0x74, 3, 0xc3, 0xf3, 0x90, 0xc3), 3);
    assert_int_equal(X86_64(0x74, 3, 0xc3, 0x41, 0x90, 0xc3), 3);
    assert_int_equal(X86_64(0x74, 3, 0xc3, 0x66, 0x90, 0xc3), 6);
}

/* A jump over code that nothing comes to: a call in its last place. */
static void what_lies_behind_other_code_is_not_its_own(void **state)
{
    (void)state;
    assert_int_equal(X86_64(0xeb, 3, 0x31, 0xc0, 0xc3, 0x31, 0xc9, 0xc3), 2);
    assert_int_equal(AARCH64(0x14000003, 0xd2800000, 0xd65f03c0, 0xd2800000, 0xd65f03c0), 4);
}

static void a_jump_out_and_a_call_lead_nowhere(void **state)
{
    (void)state;
    assert_int_equal(X86_64(0xe8, 0x40, 0x42, 0x0f, 0, 0xe9, 0xf0, 0xff, 0xff, 0xff, 0x90), 10);
    assert_int_equal(AARCH64(0x97fffff0, 0xd63f0000, 0x17fffff0, 0xd503201f), 12);
}

static void where_it_is_not_known_all_is_its_own(void **state)
{
    (void)state;
    assert_int_equal(X86_64(0xff, 0xe0), ROOM);       /* jmp *%rax */
    assert_int_equal(X86_64(0x31, 0xc0, 0x06), ROOM); /* push es */
    assert_int_equal(AARCH64(0xd61f0220), ROOM);      /* br x17 */
    assert_int_equal(extent_of(EM_ARM, "\xc3", 1), 1);
    assert_int_equal(extent_of(EM_X86_64, "\xc3", 0), 0);
    /* An instruction that the code ends within. */
    assert_int_equal(extent_of(EM_X86_64, "\x0f", 1), 1);
    assert_int_equal(extent_of(EM_AARCH64, "\xc0\x03\x5f", 3), 3);
}

static void memory_that_is_gone_is_told(void **state)
{
    (void)state;
    size_t extent;
    for (long i = 0; i < 2; i++) {
        cairn_alloc_fail_after(i);
        int code = cairn_code_extent(EM_X86_64, (struct cairn_span){(const uint8_t *)"\xc3\x90", 2},
                                     &extent);
        cairn_alloc_fail_after(-1);
        assert_int_equal(code, CAIRN_E_NOMEM);
    }
}

struct sample {
    uint8_t *file;
    struct cairn_elf elf;
    struct cairn_elf_symtab symtab;
};

/* memset, whose code is of three bytes, and one that no symbol names behind it. */
static void open_sample(struct sample *s)
{
    static const uint8_t code[] = {0x31, 0xc0, 0xc3, 0x0f, 0x05, 0xc3, 0x90, 0x90, 0xc3};
    struct cairn_err err;
    size_t size;
    struct test_elf w = test_elf_of(true, false, ET_DYN, EM_X86_64);
    uint32_t text =
        test_elf_bytes(&w, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, code, sizeof code);
    w.sections[text].vaddr = TEXT;
    test_elf_load(&w, PF_R | PF_X, 0, TEXT, sizeof code, sizeof code);
    w.segments[0].of_section = text;
    test_elf_symbol(&w, "memset", STB_GLOBAL, STT_FUNC, 1, TEXT, 0);
    test_elf_symbol(&w, "wmemset", STB_WEAK, STT_NOTYPE, 1, TEXT, 0);
    test_elf_symbol(&w, "label", STB_GLOBAL, STT_NOTYPE, 1, TEXT + 8, 0);
    test_elf_symtab(&w, true);
    s->file = test_elf_finish(&w, &size);
    assert_ok(cairn_elf_open((struct cairn_span){s->file, size}, &s->elf, &err), err);
    assert_ok(cairn_elf_symtab_open(&s->elf, CAIRN_ELF_DYNSYM, &s->elf, &s->symtab, &err), err);
}

static const char *name_at(struct sample *s, uint64_t vaddr)
{
    const struct cairn_elf_symbol *symbol;
    struct cairn_err err;
    assert_ok(cairn_elf_symtab_ask(&s->symtab, vaddr, &symbol, &err), err);
    return symbol ? symbol->name : "-";
}

/* The first answers are looked for in the table as it stands, the others in the sorted one. */
static void a_function_without_size_names_its_own_code_alone(void **state)
{
    (void)state;
    for (int is_bound = 0; is_bound < 2; is_bound++) {
        struct sample s = {0};
        open_sample(&s);
        if (is_bound)
            cairn_code_bound_labels(&s.symtab, &s.elf);
        for (int round = 0; round < CAIRN_ELF_SYMTAB_SCANS; round++) {
            assert_string_equal(name_at(&s, TEXT + 2), "memset");
            assert_string_equal(name_at(&s, TEXT + 3), is_bound ? "-" : "memset");
            assert_string_equal(name_at(&s, TEXT + 7), is_bound ? "-" : "memset");
            assert_string_equal(name_at(&s, TEXT + 8), "label");
        }
        cairn_elf_symtab_done(&s.symtab);
        free(s.file);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_function_ends_behind_its_return),
        cmocka_unit_test(ways_forward_and_back_are_followed),
        cmocka_unit_test(padding_within_is_its_own_and_behind_is_not),
        cmocka_unit_test(what_does_something_is_no_padding),
        cmocka_unit_test(what_lies_behind_other_code_is_not_its_own),
        cmocka_unit_test(a_jump_out_and_a_call_lead_nowhere),
        cmocka_unit_test(where_it_is_not_known_all_is_its_own),
        cmocka_unit_test(memory_that_is_gone_is_told),
        cmocka_unit_test(a_function_without_size_names_its_own_code_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
