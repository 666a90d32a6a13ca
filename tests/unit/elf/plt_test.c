/* SPDX-License-Identifier: MIT */
/* PLT stubs and dynamic symbols of a file whose bytes lie in memory where they lie in the file. */
#include "elf/plt.h"

#include <elf.h>

#include "base/alloc.h"
#include "elf/symtab.h"
#include "support/elfwriter.h"
#include "support/test.h"

enum { GOT = 0x8000, RESOLVER = 0x1234, DYNAMIC_TAGS_MAX = 16 };

struct made {
    struct test_elf w;
    uint8_t *file;
    size_t size;
    struct cairn_elf elf;
    uint64_t plt; /* vaddr */
};

static struct made made; /* large */

static uint64_t place(const struct test_elf *w, uint32_t section)
{
    return w->sections[section].off;
}

/* A section whose vaddr is its offset. */
static uint32_t put(struct test_elf *w, const char *name, uint32_t type, uint64_t flags,
                    const void *bytes, size_t size)
{
    uint32_t index = test_elf_bytes(w, name, type, flags | SHF_ALLOC, bytes, size);
    w->sections[index].vaddr = place(w, index);
    return index;
}

/* jmp *slot(%rip); push n; jmp: stub `n` of the three behind a first entry of 16 bytes. */
static uint32_t put_plt(struct test_elf *w, const char *name)
{
    uint8_t code[64] = {0xff, 0x35, 0, 0, 0, 0, 0xff, 0x25, 0, 0, 0, 0, 0x0f, 0x1f, 0x40, 0};
    uint32_t index = put(w, name, SHT_PROGBITS, SHF_EXECINSTR, code, sizeof code);
    for (unsigned n = 0; n < 3; n++) {
        uint8_t *stub = code + 16 + 16 * n;
        uint64_t next = place(w, index) + 16 + 16 * n + 6;
        stub[0] = 0xff;
        stub[1] = 0x25;
        test_elf_put(w, stub, 2, GOT + 8 * n - next, 4);
        stub[6] = 0x68;
        stub[11] = 0xe9;
    }
    memcpy(w->contents + w->n_contents - sizeof code, code, sizeof code);
    return index;
}

/* Slot 0 calls "first", slot 1 "second", slot 2 what the resolver says. */
static uint32_t put_relocs(struct test_elf *w)
{
    uint8_t relocs[72];
    size_t n = 0;
    for (unsigned i = 0; i < 3; i++) {
        n = test_elf_put(w, relocs, n, GOT + 8 * i, 8);
        n = test_elf_put(w, relocs, n,
                         i < 2 ? ELF64_R_INFO((uint64_t)i + 1, R_X86_64_JUMP_SLOT)
                               : ELF64_R_INFO(0, R_X86_64_IRELATIVE),
                         8);
        n = test_elf_put(w, relocs, n, i < 2 ? 0 : RESOLVER, 8);
    }
    return put(w, ".rela.plt", SHT_RELA, 0, relocs, sizeof relocs);
}

/* One bucket that begins with symbol 3, the only one that is exported. */
static uint32_t put_gnu_hash(struct test_elf *w)
{
    const uint32_t words[] = {1, 3, 1, 0, 0, 0, 3, 1};
    uint8_t bytes[sizeof words];
    size_t n = 0;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        n = test_elf_put(w, bytes, n, words[i], 4);
    return put(w, ".gnu.hash", SHT_GNU_HASH, 0, bytes, n);
}

static uint32_t put_hash(struct test_elf *w)
{
    uint8_t bytes[8];
    size_t n = test_elf_put(w, bytes, 0, 1, 4);
    n = test_elf_put(w, bytes, n, 4, 4);
    return put(w, ".hash", SHT_HASH, 0, bytes, n);
}

static void put_dynamic(struct test_elf *w, const uint64_t *tags, size_t n_tags)
{
    uint8_t bytes[DYNAMIC_TAGS_MAX * 16];
    size_t n = 0;
    for (size_t i = 0; i < n_tags; i++)
        n = test_elf_put(w, bytes, n, tags[i], 8);
    n = test_elf_put(w, bytes, n, 0, 8);
    n = test_elf_put(w, bytes, n, 0, 8);
    uint32_t index = put(w, ".dynamic", SHT_DYNAMIC, 0, bytes, n);
    w->segments[w->n_segments++] = (struct test_elf_segment){
        .type = PT_DYNAMIC, .flags = PF_R, .align = 8, .of_section = index};
}

/* `hash_tag`: DT_HASH, DT_GNU_HASH or 0; without sections the headers are cut off. */
static void make(const char *plt_name, uint64_t hash_tag, bool with_sections)
{
    struct test_elf *w = &made.w;
    free(made.file);
    *w = test_elf_of(true, false, ET_DYN, EM_X86_64);
    test_elf_load(w, PF_R | PF_X, 0, 0, 0x6000, 0x9000);
    made.plt = place(w, put_plt(w, plt_name));
    test_elf_symbol(w, "first", STB_GLOBAL, STT_FUNC, 0, 0, 0);
    test_elf_symbol(w, "second", STB_GLOBAL, STT_FUNC, 0, 0, 0);
    test_elf_symbol(w, "exported", STB_GLOBAL, STT_FUNC, 1, made.plt + 0x40, 0x10);
    size_t names_size = w->n_strings;
    test_elf_symtab(w, true);
    uint32_t symbols = w->n_sections - 1, names = symbols - 1;
    w->sections[symbols].vaddr = place(w, symbols);
    uint32_t relocs = put_relocs(w);
    w->sections[relocs].link = symbols;
    uint32_t hash = hash_tag == DT_HASH ? put_hash(w) : put_gnu_hash(w);
    const uint64_t tags[] = {
        DT_SYMTAB,  place(w, symbols), DT_STRTAB,        place(w, names), DT_STRSZ,
        names_size, DT_JMPREL,         place(w, relocs), DT_PLTRELSZ,     72,
        DT_PLTREL,  DT_RELA,           hash_tag,         place(w, hash)};
    put_dynamic(w, tags, hash_tag ? 14 : 12);
    made.file = test_elf_finish(w, &made.size);
    if (!with_sections) {
        memset(made.file + 0x28, 0, 8); /* e_shoff */
        memset(made.file + 0x3c, 0, 4); /* e_shnum, e_shstrndx */
    }
    struct cairn_err err;
    struct cairn_span bytes = {made.file, made.size};
    assert_ok(cairn_elf_open(bytes, &made.elf, &err), err);
    assert_int_equal(made.elf.n_sections != 0, with_sections);
}

static const char *name_at(uint64_t vaddr)
{
    struct cairn_elf_plt plt;
    struct cairn_elf_stub stub;
    struct cairn_err err;
    bool found;
    cairn_elf_plt_open(&made.elf, &plt);
    assert_ok(cairn_elf_plt_find(&plt, vaddr, &stub, &found, &err), err);
    cairn_elf_plt_close(&plt);
    if (!found)
        return "";
    assert_true(vaddr - stub.vaddr < stub.size);
    return stub.is_header ? "(header)" : stub.name ? stub.name : "(resolver)";
}

static void an_address_gets_the_name_of_its_slot(void **state)
{
    (void)state;
    make(".plt", DT_GNU_HASH, true);
    assert_string_equal(name_at(made.plt), "(header)");
    assert_string_equal(name_at(made.plt + 15), "(header)");
    assert_string_equal(name_at(made.plt + 16), "first");
    assert_string_equal(name_at(made.plt + 31), "first");
    assert_string_equal(name_at(made.plt + 32), "second");
    assert_string_equal(name_at(made.plt + 63), "(resolver)");
    assert_string_equal(name_at(made.plt + 64), "");
    assert_string_equal(name_at(made.plt - 1), "");
}

static void nothing_is_claimed_outside_of_sections_for_stubs(void **state)
{
    (void)state;
    make(".text", DT_GNU_HASH, true);
    assert_string_equal(name_at(made.plt + 16), "");
}

static void without_section_headers_bytes_and_relocation_decide(void **state)
{
    (void)state;
    make(".plt", DT_GNU_HASH, false);
    assert_string_equal(name_at(made.plt), "");
    assert_string_equal(name_at(made.plt + 16), "first");
    assert_string_equal(name_at(made.plt + 40), "second");
    assert_string_equal(name_at(made.plt + 48), ""); /* IRELATIVE may be anything */
    assert_string_equal(name_at(made.plt + 64), "");
}

static void all_stubs_come_in_order(void **state)
{
    (void)state;
    struct cairn_elf_plt plt;
    struct cairn_elf_plt_walk walk = {0};
    struct cairn_elf_stub stub;
    struct cairn_err err;
    uint64_t end;
    int code;
    make(".plt", DT_GNU_HASH, true);
    end = made.plt;
    cairn_elf_plt_open(&made.elf, &plt);
    while (cairn_elf_plt_next(&plt, &walk, &stub, &code, &err)) {
        assert_int_equal(stub.vaddr, end);
        end += stub.size;
    }
    assert_ok(code, err);
    assert_int_equal(end, made.plt + 64);
    assert_int_equal(stub.resolver, RESOLVER);
    cairn_elf_plt_close(&plt);
}

static void exported_symbols_are_found_by_each_hash_table_and_by_none(void **state)
{
    (void)state;
    const uint64_t tags[] = {DT_HASH, DT_GNU_HASH, 0};
    for (size_t i = 0; i < 3; i++) {
        struct cairn_elf_symtab symtab;
        struct cairn_err err;
        make(".plt", tags[i], false);
        assert_ok(cairn_elf_symtab_read(&made.elf, CAIRN_ELF_DYNSYM, &symtab, &err), err);
        /* Names lie before the symbols here, so that without a hash table nothing tells how many
         * there are. */
        assert_int_equal(symtab.n, tags[i] ? 1 : 0);
        if (symtab.n)
            assert_string_equal(symtab.symbols[0].name, "exported");
        cairn_elf_symtab_done(&symtab);
    }
}

static void every_changed_byte_is_survived(void **state)
{
    (void)state;
    make(".plt", DT_GNU_HASH, false);
    for (size_t i = 0; i < made.size; i++) {
        uint8_t kept = made.file[i];
        struct cairn_elf elf = made.elf;
        struct cairn_elf_symtab symtab;
        for (unsigned change = 1; change <= 255; change += 127) {
            made.file[i] = (uint8_t)(kept ^ change);
            struct cairn_span bytes = {made.file, made.size};
            if (cairn_elf_open(bytes, &made.elf, NULL) < 0)
                continue;
            for (uint64_t vaddr = made.plt; vaddr < made.plt + 64; vaddr += 16)
                assert_true(strlen(name_at(vaddr)) < 64);
            if (cairn_elf_symtab_read(&made.elf, CAIRN_ELF_DYNSYM, &symtab, NULL) == CAIRN_OK)
                cairn_elf_symtab_done(&symtab);
        }
        made.file[i] = kept;
        made.elf = elf;
    }
}

static void a_table_that_was_never_opened_has_no_stubs(void **state)
{
    (void)state;
    struct cairn_elf_plt plt = {0};
    struct cairn_elf_plt_walk walk = {0};
    struct cairn_elf_stub stub;
    struct cairn_err err;
    bool found;
    int code;
    assert_false(cairn_elf_plt_next(&plt, &walk, &stub, &code, &err));
    assert_int_equal(code, CAIRN_OK);
    assert_ok(cairn_elf_plt_find(&plt, 0x1000, &stub, &found, &err), err);
    assert_false(found);
    cairn_elf_plt_close(&plt);
}

static void memory_that_is_gone_is_an_error(void **state)
{
    (void)state;
    struct cairn_elf_plt plt;
    struct cairn_elf_stub stub;
    struct cairn_err err;
    bool found;
    make(".plt", DT_GNU_HASH, true);
    cairn_elf_plt_open(&made.elf, &plt);
    cairn_alloc_fail_after(0);
    int code = cairn_elf_plt_find(&plt, made.plt + 16, &stub, &found, &err);
    cairn_alloc_fail_after(-1);
    assert_int_equal(code, CAIRN_E_NOMEM);
    assert_ok(cairn_elf_plt_find(&plt, made.plt + 16, &stub, &found, &err), err);
    assert_true(found);
    cairn_elf_plt_close(&plt);
}

static int free_file(void **state)
{
    (void)state;
    free(made.file);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_address_gets_the_name_of_its_slot),
        cmocka_unit_test(nothing_is_claimed_outside_of_sections_for_stubs),
        cmocka_unit_test(without_section_headers_bytes_and_relocation_decide),
        cmocka_unit_test(all_stubs_come_in_order),
        cmocka_unit_test(exported_symbols_are_found_by_each_hash_table_and_by_none),
        cmocka_unit_test(every_changed_byte_is_survived),
        cmocka_unit_test(a_table_that_was_never_opened_has_no_stubs),
        cmocka_unit_test(memory_that_is_gone_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, free_file);
}
