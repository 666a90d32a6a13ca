/* SPDX-License-Identifier: MIT */
#include "elf/symtab.h"

#include <elf.h>
#include <stdio.h>

#include "base/alloc.h"
#include "support/elfwriter.h"
#include "support/test.h"

enum { TEXT = 1, DATA = 2 }; /* numbers of the sections that sample_of() makes */

struct sample {
    uint8_t *file;
    struct cairn_elf_symtab symtab;
};

static struct test_elf sample_of(bool is64, bool big, uint16_t machine, uint32_t text_type)
{
    struct test_elf w = test_elf_of(is64, big, ET_DYN, machine);
    test_elf_section(&w, ".text", text_type, SHF_ALLOC | SHF_EXECINSTR, 0x1000, 0x1000);
    test_elf_section(&w, ".data", SHT_PROGBITS, SHF_ALLOC | SHF_WRITE, 0x3000, 0x100);
    return w;
}

static struct test_elf plain_sample(void)
{
    return sample_of(true, false, EM_X86_64, SHT_PROGBITS);
}

static struct sample read_sample(struct test_elf *w)
{
    struct sample sample = {0};
    size_t size;
    struct cairn_elf elf;
    struct cairn_err err;
    test_elf_symtab(w, false);
    sample.file = test_elf_finish(w, &size);
    assert_ok(cairn_elf_open((struct cairn_span){sample.file, size}, &elf, &err), err);
    assert_ok(cairn_elf_symtab_read(&elf, CAIRN_ELF_SYMTAB, &sample.symtab, &err), err);
    return sample;
}

static void done_sample(struct sample *sample)
{
    cairn_elf_symtab_done(&sample->symtab);
    free(sample->file);
}

/* The name that covers `vaddr`, or "-". */
static const char *name_at(const struct sample *sample, uint64_t vaddr)
{
    const struct cairn_elf_symbol *symbol = cairn_elf_symtab_find(&sample->symtab, vaddr);
    return symbol ? symbol->name : "-";
}

static void reads_functions_in_every_form(void **state)
{
    (void)state;
    for (int form = 0; form < 8; form++) {
        struct test_elf w =
            sample_of(form & 1, form & 2, EM_AARCH64, form & 4 ? SHT_NOBITS : SHT_PROGBITS);
        test_elf_symbol(&w, "second", STB_GLOBAL, STT_FUNC, TEXT, 0x1100, 0x10);
        test_elf_symbol(&w, "first", STB_LOCAL, STT_FUNC, TEXT, 0x1000, 0x100);
        struct sample s = read_sample(&w);
        assert_int_equal(s.symtab.n, 2);
        assert_string_equal(s.symtab.symbols[0].name, "first");
        assert_int_equal(s.symtab.symbols[1].bind, STB_GLOBAL);
        assert_int_equal(s.symtab.symbols[1].type, STT_FUNC);
        assert_int_equal(s.symtab.symbols[1].size, 0x10);
        assert_string_equal(name_at(&s, 0x1000), "first");
        assert_string_equal(name_at(&s, 0x10ff), "first");
        assert_string_equal(name_at(&s, 0x1100), "second");
        assert_string_equal(name_at(&s, 0x110f), "second");
        done_sample(&s);
    }
}

static void gaps_belong_to_nobody(void **state)
{
    (void)state;
    struct test_elf w = plain_sample();
    test_elf_symbol(&w, "a", STB_GLOBAL, STT_FUNC, TEXT, 0x1010, 0x10);
    test_elf_symbol(&w, "b", STB_GLOBAL, STT_FUNC, TEXT, 0x1100, 0x10);
    struct sample s = read_sample(&w);
    assert_string_equal(name_at(&s, 0), "-");
    assert_string_equal(name_at(&s, 0x100f), "-");
    assert_string_equal(name_at(&s, 0x1020), "-");
    assert_string_equal(name_at(&s, 0x10ff), "-");
    assert_string_equal(name_at(&s, 0x1110), "-");
    assert_string_equal(name_at(&s, UINT64_MAX), "-");
    done_sample(&s);
}

static void a_symbol_without_size_reaches_to_the_next(void **state)
{
    (void)state;
    struct test_elf w = plain_sample();
    test_elf_symbol(&w, "_start", STB_GLOBAL, STT_NOTYPE, TEXT, 0x1000, 0);
    test_elf_symbol(&w, "sized", STB_GLOBAL, STT_FUNC, TEXT, 0x1040, 0x10);
    test_elf_symbol(&w, "inside", STB_LOCAL, STT_NOTYPE, TEXT, 0x1048, 0);
    test_elf_symbol(&w, "tail", STB_LOCAL, STT_FUNC, TEXT, 0x1800, 0);
    test_elf_symbol(&w, "etext", STB_GLOBAL, STT_NOTYPE, TEXT, 0x2000, 0);
    struct sample s = read_sample(&w);
    assert_string_equal(name_at(&s, 0x1000), "_start");
    assert_string_equal(name_at(&s, 0x103f), "_start");
    assert_string_equal(name_at(&s, 0x1048), "sized");
    assert_string_equal(name_at(&s, 0x104f), "sized");
    assert_string_equal(name_at(&s, 0x1050), "-"); /* not the label inside the function */
    assert_string_equal(name_at(&s, 0x1fff), "tail");
    assert_string_equal(name_at(&s, 0x2000), "-");
    assert_int_equal(s.symtab.symbols[0].size, 0x40);
    assert_false(s.symtab.symbols[0].sized);
    done_sample(&s);
}

static void of_nested_symbols_the_innermost_answers(void **state)
{
    (void)state;
    struct test_elf w = plain_sample();
    test_elf_symbol(&w, "outer", STB_GLOBAL, STT_FUNC, TEXT, 0x1000, 0x100);
    test_elf_symbol(&w, "inner", STB_GLOBAL, STT_FUNC, TEXT, 0x1040, 0x20);
    test_elf_symbol(&w, "innermost", STB_GLOBAL, STT_FUNC, TEXT, 0x1040, 0x8);
    test_elf_symbol(&w, "across", STB_GLOBAL, STT_FUNC, TEXT, 0x10f0, 0x20);
    struct sample s = read_sample(&w);
    assert_string_equal(name_at(&s, 0x103f), "outer");
    assert_string_equal(name_at(&s, 0x1040), "innermost");
    assert_string_equal(name_at(&s, 0x1048), "inner");
    assert_string_equal(name_at(&s, 0x1060), "outer");
    assert_string_equal(name_at(&s, 0x10f0), "across");
    assert_string_equal(name_at(&s, 0x110f), "across");
    assert_string_equal(name_at(&s, 0x1110), "-");
    done_sample(&s);
}

static void aliases_are_sorted_and_marked(void **state)
{
    (void)state;
    struct test_elf w = plain_sample();
    test_elf_symbol(&w, "folded_local", STB_LOCAL, STT_FUNC, TEXT, 0x1000, 0x10);
    test_elf_symbol(&w, "folded_weak", STB_WEAK, STT_FUNC, TEXT, 0x1000, 0x10);
    test_elf_symbol(&w, "folded_b", STB_GLOBAL, STT_FUNC, TEXT, 0x1000, 0x10);
    test_elf_symbol(&w, "folded_a", STB_GLOBAL, STT_FUNC, TEXT, 0x1000, 0x10);
    test_elf_symbol(&w, "alone", STB_GLOBAL, STT_FUNC, TEXT, 0x1020, 0x10);
    test_elf_symbol(&w, "alone", STB_LOCAL, STT_FUNC, TEXT, 0x1020, 0x10); /* twice the same */
    test_elf_symbol(&w, "_ZN3FooC1Ev", STB_WEAK, STT_FUNC, TEXT, 0x1040, 0x10);
    test_elf_symbol(&w, "_ZN3FooC2Ev", STB_WEAK, STT_FUNC, TEXT, 0x1040, 0x10);
    struct sample s = read_sample(&w);
    assert_int_equal(s.symtab.n, 7);
    assert_string_equal(s.symtab.symbols[0].name, "folded_a");
    assert_string_equal(s.symtab.symbols[1].name, "folded_b");
    assert_string_equal(s.symtab.symbols[2].name, "folded_weak");
    assert_string_equal(s.symtab.symbols[3].name, "folded_local");
    assert_string_equal(name_at(&s, 0x1008), "folded_a");
    for (int i = 0; i < 4; i++)
        assert_true(s.symtab.symbols[i].shared);
    assert_false(cairn_elf_symtab_find(&s.symtab, 0x1020)->shared);
    assert_false(cairn_elf_symtab_find(&s.symtab, 0x1040)->shared);
    done_sample(&s);
}

/* perf takes another name than its own for an inlined function. */
static void names_are_those_of_perf(void **state)
{
    (void)state;
    struct test_elf w = plain_sample();
    test_elf_symbol(&w, "__libc_malloc", STB_GLOBAL, STT_FUNC, TEXT, 0x1000, 0x10);
    test_elf_symbol(&w, "malloc", STB_GLOBAL, STT_FUNC, TEXT, 0x1000, 0x10);
    test_elf_symbol(&w, "_IO_puts", STB_GLOBAL, STT_FUNC, TEXT, 0x1020, 0x10);
    test_elf_symbol(&w, "__puts", STB_GLOBAL, STT_FUNC, TEXT, 0x1020, 0x10);
    test_elf_symbol(&w, "__memcpy_avx", STB_GLOBAL, STT_FUNC, TEXT, 0x1040, 0x10);
    test_elf_symbol(&w, "__memmove_avx", STB_GLOBAL, STT_FUNC, TEXT, 0x1040, 0x10);
    struct sample s = read_sample(&w);
    assert_string_equal(name_at(&s, 0x1008), "malloc");
    assert_string_equal(name_at(&s, 0x1028), "_IO_puts");
    assert_string_equal(name_at(&s, 0x1048), "__memmove_avx");
    done_sample(&s);
}

static void what_is_no_code_is_left_out(void **state)
{
    (void)state;
    struct test_elf w = sample_of(true, false, EM_AARCH64, SHT_PROGBITS);
    test_elf_symbol(&w, "undefined", STB_GLOBAL, STT_FUNC, SHN_UNDEF, 0x1000, 0x10);
    test_elf_symbol(&w, "absolute", STB_GLOBAL, STT_FUNC, SHN_ABS, 0x1000, 0x10);
    test_elf_symbol(&w, "variable", STB_GLOBAL, STT_OBJECT, TEXT, 0x1000, 0x10);
    test_elf_symbol(&w, "in_data", STB_GLOBAL, STT_FUNC, DATA, 0x3000, 0x10);
    test_elf_symbol(&w, "elsewhere", STB_GLOBAL, STT_FUNC, TEXT, 0x9000, 0x10);
    test_elf_symbol(&w, "local_data", STB_GLOBAL, STT_TLS, TEXT, 0x1000, 0x10);
    test_elf_symbol(&w, "section", STB_LOCAL, STT_SECTION, TEXT, 0x1000, 0x10);
    test_elf_symbol(&w, "file.c", STB_LOCAL, STT_FILE, TEXT, 0x1000, 0x10);
    test_elf_symbol(&w, "$x", STB_LOCAL, STT_NOTYPE, TEXT, 0x1000, 0);
    test_elf_symbol(&w, "$d.12", STB_LOCAL, STT_NOTYPE, TEXT, 0x1010, 0);
    test_elf_symbol(&w, "", STB_LOCAL, STT_FUNC, TEXT, 0x1010, 8);
    test_elf_symbol(&w, "$money", STB_GLOBAL, STT_FUNC, TEXT, 0x1080, 8);
    struct sample s = read_sample(&w);
    assert_int_equal(s.symtab.n, 1);
    assert_string_equal(s.symtab.symbols[0].name, "$money");
    done_sample(&s);
}

/* Their section numbers are stale, as in programs that a tool took apart and put together again. */
static void functions_are_where_their_value_says(void **state)
{
    (void)state;
    struct test_elf w = plain_sample();
    test_elf_symbol(&w, "in_data", STB_GLOBAL, STT_FUNC, DATA, 0x1000, 0x10);
    test_elf_symbol(&w, "in_no_section", STB_GLOBAL, STT_FUNC, 77, 0x1010, 0x10);
    test_elf_symbol(&w, "chosen", STB_GLOBAL, STT_GNU_IFUNC, DATA, 0x1020, 0x10);
    test_elf_symbol(&w, "_end", STB_GLOBAL, STT_NOTYPE, DATA, 0x1030, 0); /* no function */
    test_elf_symbol(&w, "empty", STB_GLOBAL, STT_FUNC, TEXT, 0x2000, 0);
    uint16_t next = (uint16_t)test_elf_section(&w, ".fini", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR,
                                               0x2000, 0x10);
    test_elf_symbol(&w, "below", STB_GLOBAL, STT_FUNC, next, 0x1040, 0x10);
    struct sample s = read_sample(&w);
    assert_int_equal(s.symtab.n, 4);
    assert_string_equal(name_at(&s, 0x100f), "in_data");
    assert_string_equal(name_at(&s, 0x1010), "in_no_section");
    assert_string_equal(name_at(&s, 0x1020), "chosen");
    assert_string_equal(name_at(&s, 0x1030), "-");
    assert_string_equal(name_at(&s, 0x1040), "below");
    assert_string_equal(name_at(&s, 0x2000), "-"); /* the end of .text is not the start of .fini */
    done_sample(&s);
}

static void a_symbol_without_size_ends_at_data(void **state)
{
    (void)state;
    struct test_elf w = sample_of(true, false, EM_AARCH64, SHT_PROGBITS);
    test_elf_symbol(&w, "$x", STB_LOCAL, STT_NOTYPE, TEXT, 0x1000, 0);
    test_elf_symbol(&w, "_fini", STB_GLOBAL, STT_FUNC, TEXT, 0x1000, 0);
    test_elf_symbol(&w, "fini", STB_LOCAL, STT_NOTYPE, TEXT, 0x1000, 0);
    test_elf_symbol(&w, "$d", STB_LOCAL, STT_NOTYPE, TEXT, 0x1010, 0);
    test_elf_symbol(&w, "label", STB_GLOBAL, STT_NOTYPE, TEXT, 0x1400, 0);
    test_elf_symbol(&w, "table", STB_LOCAL, STT_OBJECT, TEXT, 0x1404, 8);
    test_elf_symbol(&w, "sized", STB_LOCAL, STT_FUNC, TEXT, 0x1800, 0x20); /* with a pool in it */
    test_elf_symbol(&w, "$d.1", STB_LOCAL, STT_NOTYPE, TEXT, 0x1810, 0);
    struct sample s = read_sample(&w);
    assert_string_equal(name_at(&s, 0x1000), "_fini");
    assert_string_equal(name_at(&s, 0x100f), "_fini");
    assert_string_equal(name_at(&s, 0x1010), "-");
    assert_string_equal(name_at(&s, 0x13ff), "-");
    assert_string_equal(name_at(&s, 0x1403), "label");
    assert_string_equal(name_at(&s, 0x1404), "-");
    assert_string_equal(name_at(&s, 0x17ff), "-");
    assert_string_equal(name_at(&s, 0x181f), "sized");
    done_sample(&s);
}

/* Does a local symbol of that name, and no size, name code on that machine? */
static bool is_name_on(uint16_t machine, const char *name)
{
    struct test_elf w = sample_of(true, false, machine, SHT_PROGBITS);
    test_elf_symbol(&w, name, STB_LOCAL, STT_NOTYPE, TEXT, 0x1000, 0);
    struct sample s = read_sample(&w);
    bool is_name = strcmp(name_at(&s, 0x1000), name) == 0;
    done_sample(&s);
    return is_name;
}

static void marks_name_nothing(void **state)
{
    (void)state;
    static const struct {
        uint16_t machine;
        const char *name;
        bool is_name;
    } rows[] = {
        {EM_CSKY, "$d", false},
        {EM_CSKY, "$t", false},
        {EM_CSKY, "$a", true},
        {EM_NDS32, "$d2", false},
        {EM_NDS32, "$d22", true},
        {EM_ARM, "$a", false},
        {EM_ARM, "$t.12", false},
        {EM_ARM, "$tt", true},
        {EM_AARCH64, "$c", false},
        {EM_RISCV, "$d", false},
        {EM_RISCV, "$xrv64i2", false},
        {EM_X86_64, "$d", true},
        {EM_X86_64, ".L12", false},
        {EM_LOONGARCH, ".L0", false},
        {EM_RISCV, ".L0 ", false},
        {EM_386, "gcc2_compiled.", false},
        {EM_X86_64, ".annobin_a.c", false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (is_name_on(rows[i].machine, rows[i].name) != rows[i].is_name)
            fail_msg("machine %u: %s", rows[i].machine, rows[i].name);
}

/* annobin, a plugin of GCC, leaves marks in every file of Fedora's. */
static void marks_and_versions_are_no_folded_code(void **state)
{
    (void)state;
    struct test_elf w = plain_sample();
    test_elf_symbol(&w, "_start", STB_GLOBAL, STT_NOTYPE, TEXT, 0x1000, 0);
    test_elf_symbol(&w, ".annobin_init.c", STB_LOCAL, STT_NOTYPE, TEXT, 0x1000, 0);
    test_elf_symbol(&w, ".annobin_a.c_end", STB_LOCAL, STT_NOTYPE, TEXT, 0x1010, 0);
    test_elf_symbol(&w, "f@@V2", STB_GLOBAL, STT_FUNC, TEXT, 0x1100, 0x10);
    test_elf_symbol(&w, "f", STB_LOCAL, STT_FUNC, TEXT, 0x1100, 0x10);
    test_elf_symbol(&w, "f@V1", STB_GLOBAL, STT_FUNC, TEXT, 0x1100, 0x10);
    struct sample s = read_sample(&w);
    assert_string_equal(name_at(&s, 0x1000), "_start");
    assert_string_equal(name_at(&s, 0x1010), "_start");
    assert_false(cairn_elf_symtab_find(&s.symtab, 0x1000)->shared);
    assert_false(cairn_elf_symtab_find(&s.symtab, 0x1100)->shared);
    done_sample(&s);
}

static void thumb_functions_lose_their_lowest_bit(void **state)
{
    (void)state;
    struct test_elf w = sample_of(false, false, EM_ARM, SHT_PROGBITS);
    test_elf_symbol(&w, "thumb", STB_GLOBAL, STT_FUNC, TEXT, 0x1001, 0x10);
    test_elf_symbol(&w, "$t", STB_LOCAL, STT_NOTYPE, TEXT, 0x1000, 0);
    test_elf_symbol(&w, "arm", STB_GLOBAL, STT_FUNC, TEXT, 0x1010, 0x10);
    struct sample s = read_sample(&w);
    assert_int_equal(s.symtab.n, 2);
    assert_int_equal(s.symtab.symbols[0].vaddr, 0x1000);
    assert_string_equal(name_at(&s, 0x1000), "thumb");
    assert_string_equal(name_at(&s, 0x1010), "arm");
    done_sample(&s);
}

static void sizes_are_clipped_to_the_section(void **state)
{
    (void)state;
    struct test_elf w = plain_sample();
    test_elf_symbol(&w, "huge", STB_GLOBAL, STT_FUNC, TEXT, 0x1ff0, UINT64_MAX);
    struct sample s = read_sample(&w);
    assert_int_equal(s.symtab.symbols[0].size, 0x10);
    assert_string_equal(name_at(&s, 0x2000), "-");
    done_sample(&s);
}

static void relocatable_files_have_no_vaddrs(void **state)
{
    (void)state;
    struct test_elf w = plain_sample();
    w.type = ET_REL;
    test_elf_symbol(&w, "f", STB_GLOBAL, STT_FUNC, TEXT, 0x1000, 0x10);
    struct sample s = read_sample(&w);
    assert_int_equal(s.symtab.n, 0);
    assert_string_equal(name_at(&s, 0x1000), "-");
    done_sample(&s);
}

static void the_dynamic_table_is_another_one(void **state)
{
    (void)state;
    struct test_elf w = plain_sample();
    test_elf_symbol(&w, "exported", STB_GLOBAL, STT_FUNC, TEXT, 0x1000, 0x10);
    test_elf_symtab(&w, true);
    test_elf_symbol(&w, "hidden", STB_LOCAL, STT_FUNC, TEXT, 0x1100, 0x10);
    test_elf_symtab(&w, false);
    size_t size;
    uint8_t *file = test_elf_finish(&w, &size);
    struct cairn_elf elf;
    struct cairn_err err;
    assert_ok(cairn_elf_open((struct cairn_span){file, size}, &elf, &err), err);
    struct cairn_elf_symtab symtab;
    assert_ok(cairn_elf_symtab_read(&elf, CAIRN_ELF_DYNSYM, &symtab, &err), err);
    assert_int_equal(symtab.n, 1);
    assert_string_equal(symtab.symbols[0].name, "exported");
    cairn_elf_symtab_done(&symtab);
    free(file);
}

static struct test_elf busy_sample(void)
{
    struct test_elf w = plain_sample();
    char name[16];
    for (int i = 0; i < 40; i++) {
        snprintf(name, sizeof name, "f%d", i);
        test_elf_symbol(&w, name, (uint8_t)(i % 3), i % 5 ? STT_FUNC : STT_NOTYPE, TEXT,
                        0x1000 + (uint64_t)(i * 37 % 200) * 16, (uint64_t)(i % 7) * 24);
    }
    test_elf_symtab(&w, false);
    return w;
}

/* What any answer must hold, whatever the bytes were. */
static void check_answers(const struct cairn_elf *elf)
{
    struct cairn_elf_symtab symtab;
    struct cairn_err err;
    if (cairn_elf_symtab_read(elf, CAIRN_ELF_SYMTAB, &symtab, &err) < 0) {
        assert_string_not_equal(err.msg, "");
        return;
    }
    for (size_t i = 0; i < symtab.n; i++) {
        const struct cairn_elf_symbol *symbol = &symtab.symbols[i];
        assert_true(symbol->size > 0 && *symbol->name);
        assert_true(i == 0 || symbol[-1].vaddr <= symbol->vaddr);
    }
    for (uint64_t vaddr = 0xff0; vaddr < 0x2100; vaddr++) {
        const struct cairn_elf_symbol *symbol = cairn_elf_symtab_find(&symtab, vaddr);
        assert_true(!symbol || vaddr - symbol->vaddr < symbol->size);
    }
    cairn_elf_symtab_done(&symtab);
}

/* The slow and obvious look-up that the flattened one must equal. */
static const struct cairn_elf_symbol *find_slowly(const struct cairn_elf_symtab *symtab,
                                                  uint64_t vaddr)
{
    const struct cairn_elf_symbol *best = NULL;
    for (size_t i = 0; i < symtab->n; i++) {
        const struct cairn_elf_symbol *symbol = &symtab->symbols[i];
        bool covers = vaddr - symbol->vaddr < symbol->size;
        bool better = !best || symbol->vaddr > best->vaddr || symbol->size < best->size;
        if (covers && symbol->sized && better)
            best = symbol;
    }
    return best;
}

static bool same_answer(const struct cairn_elf_symbol *a, const struct cairn_elf_symbol *b)
{
    return a && b ? a->vaddr == b->vaddr && a->size == b->size && a->bind == b->bind &&
                        a->type == b->type && a->sized == b->sized && a->shared == b->shared &&
                        strcmp(a->name, b->name) == 0
                  : a == b;
}

/* Every address by a scan, and by the sorted table. */
static void scans_equal_look_ups(const struct cairn_elf *elf, uint64_t low, uint64_t high)
{
    struct cairn_elf_symtab sorted, fresh;
    struct cairn_err err;
    if (cairn_elf_symtab_read(elf, CAIRN_ELF_SYMTAB, &sorted, &err) < 0)
        return;
    assert_ok(cairn_elf_symtab_open(elf, CAIRN_ELF_SYMTAB, elf, &fresh, &err), err);
    assert_int_equal(cairn_elf_symtab_is_empty(&fresh), sorted.n == 0);
    for (uint64_t vaddr = low; vaddr < high; vaddr++) {
        const struct cairn_elf_symbol *scanned;
        fresh.n_scans = 0;
        assert_ok(cairn_elf_symtab_ask(&fresh, vaddr, &scanned, &err), err);
        const struct cairn_elf_symbol *found = cairn_elf_symtab_find(&sorted, vaddr);
        if (!same_answer(found, scanned))
            fail_msg("0x%llx is %s, a scan says %s", (unsigned long long)vaddr,
                     found ? found->name : "-", scanned ? scanned->name : "-");
    }
    assert_false(fresh.sorted);
    cairn_elf_symtab_done(&fresh);
    cairn_elf_symtab_done(&sorted);
}

/* Tables in which nearly everything overlaps, folds, nests and has no size; of both classes and
 * byte orders, with Thumb bits and mapping symbols. */
static void scans_of_random_tables_equal_look_ups(void **state)
{
    (void)state;
    static const char *const names[] = {"_ZN1AC1Ev", "_ZN1AC2Ev", "a",  "b",
                                        "$t",        "$x.1",      "zz", "m"};
    static const uint8_t types[] = {STT_FUNC,   STT_FUNC,      STT_FUNC,
                                    STT_NOTYPE, STT_GNU_IFUNC, STT_OBJECT};
    uint32_t seed = 1;
    for (int round = 0; round < 64; round++) {
        struct test_elf w =
            sample_of(round & 1, round & 2, round & 4 ? EM_ARM : EM_X86_64, SHT_PROGBITS);
        uint64_t spread = round & 8 ? 0x40 : 0xf00, largest = round & 16 ? 8 : 64;
        int n = round & 32 ? 200 : 24;
        for (int i = 0; i < n; i++) {
            uint32_t r[6];
            for (int k = 0; k < 6; k++)
                r[k] = (seed = seed * 1664525 + 1013904223) >> 8;
            test_elf_symbol(&w, names[r[0] % 8], (uint8_t)(r[1] % 3), types[r[2] % 6],
                            r[3] % 16   ? TEXT
                            : r[3] & 16 ? DATA
                                        : 77,
                            0x1000 + r[4] % spread, r[5] % 4 ? r[5] / 4 % largest : 0);
        }
        size_t size;
        test_elf_symtab(&w, false);
        uint8_t *file = test_elf_finish(&w, &size);
        struct cairn_elf elf;
        struct cairn_err err;
        assert_ok(cairn_elf_open((struct cairn_span){file, size}, &elf, &err), err);
        scans_equal_look_ups(&elf, 0xff0, 0x1000 + spread + 0x80);
        free(file);
    }
}

static void look_ups_scan_a_few_times_and_then_sort(void **state)
{
    (void)state;
    struct test_elf w = plain_sample();
    test_elf_symbol(&w, "first", STB_GLOBAL, STT_FUNC, TEXT, 0x1000, 0x10);
    test_elf_symbol(&w, "label", STB_LOCAL, STT_NOTYPE, TEXT, 0x1800, 0);
    struct sample s = read_sample(&w);
    struct cairn_elf elf;
    struct cairn_err err;
    struct cairn_elf_symtab t;
    size_t size;
    uint8_t *file = test_elf_finish(&w, &size);
    assert_ok(cairn_elf_open((struct cairn_span){file, size}, &elf, &err), err);
    assert_ok(cairn_elf_symtab_open(&elf, CAIRN_ELF_SYMTAB, &elf, &t, &err), err);
    const struct cairn_elf_symbol *first, *symbol;
    assert_ok(cairn_elf_symtab_ask(&t, 0x1008, &first, &err), err);
    assert_string_equal(first->name, "first");
    for (int i = 1; i < CAIRN_ELF_SYMTAB_SCANS; i++) {
        assert_ok(cairn_elf_symtab_ask(&t, 0x1010, &symbol, &err), err);
        assert_null(symbol);
        assert_false(t.sorted);
    }
    assert_ok(cairn_elf_symtab_ask(&t, 0x1900, &symbol, &err), err);
    assert_string_equal(symbol->name, "label");
    assert_true(t.sorted);
    assert_string_equal(first->name, "first"); /* older answers stay */
    cairn_elf_symtab_done(&t);
    free(file);
    done_sample(&s);
}

/* More aliases than a scan keeps: the table is sorted at once. */
static void crowds_are_sorted(void **state)
{
    (void)state;
    struct test_elf w = plain_sample();
    char name[16];
    for (int i = 0; i < 300; i++) {
        snprintf(name, sizeof name, "f%03d", i);
        test_elf_symbol(&w, name, STB_GLOBAL, STT_FUNC, TEXT, 0x1100, 0x20);
    }
    size_t size;
    test_elf_symtab(&w, false);
    uint8_t *file = test_elf_finish(&w, &size);
    struct cairn_elf elf;
    struct cairn_err err;
    struct cairn_elf_symtab t;
    const struct cairn_elf_symbol *symbol;
    assert_ok(cairn_elf_open((struct cairn_span){file, size}, &elf, &err), err);
    assert_ok(cairn_elf_symtab_open(&elf, CAIRN_ELF_SYMTAB, &elf, &t, &err), err);
    assert_ok(cairn_elf_symtab_ask(&t, 0x1110, &symbol, &err), err);
    assert_string_equal(symbol->name, "f000");
    assert_true(symbol->shared && t.sorted);
    cairn_elf_symtab_done(&t);
    free(file);
}

static void the_flat_table_equals_a_search_through_all(void **state)
{
    (void)state;
    struct test_elf w = plain_sample();
    char name[16];
    uint32_t seed = 1;
    for (int i = 0; i < 150; i++) {
        seed = seed * 1664525 + 1013904223;
        snprintf(name, sizeof name, "f%d", i);
        test_elf_symbol(&w, name, STB_GLOBAL, STT_FUNC, TEXT, 0x1000 + (seed >> 8) % 0xf00,
                        1 + (seed >> 20) % (i % 3 ? 40 : 400));
    }
    struct sample s = read_sample(&w);
    for (uint64_t vaddr = 0xff0; vaddr < 0x2100; vaddr++)
        assert_ptr_equal(cairn_elf_symtab_find(&s.symtab, vaddr), find_slowly(&s.symtab, vaddr));
    done_sample(&s);
}

static void every_truncation_and_every_flip_answers_or_fails(void **state)
{
    (void)state;
    struct test_elf w = busy_sample();
    size_t size;
    uint8_t *file = test_elf_finish(&w, &size);
    for (size_t cut = 0; cut < size; cut += 7) {
        uint8_t *copy = test_copy(file, cut);
        struct cairn_elf elf;
        if (cairn_elf_open((struct cairn_span){copy, cut}, &elf, NULL) == CAIRN_OK) {
            check_answers(&elf);
            scans_equal_look_ups(&elf, 0x1400, 0x1410);
        }
        free(copy);
    }
    uint8_t *copy = test_copy(file, size);
    size_t text = (size_t)w.sections[TEXT].off;
    for (size_t at = 0; at < size; at++) {
        if (at == text + 16) /* the code itself is not read */
            at += 0xfe0;
        copy[at] ^= (uint8_t)(1u << at % 8);
        struct cairn_elf elf;
        if (cairn_elf_open((struct cairn_span){copy, size}, &elf, NULL) == CAIRN_OK) {
            check_answers(&elf);
            scans_equal_look_ups(&elf, 0x1400, 0x1410);
        }
        copy[at] = file[at];
    }
    free(copy);
    free(file);
}

static void memory_may_be_gone_at_any_time(void **state)
{
    (void)state;
    struct test_elf w = busy_sample();
    size_t size;
    uint8_t *file = test_elf_finish(&w, &size);
    struct cairn_elf elf;
    struct cairn_err err;
    assert_ok(cairn_elf_open((struct cairn_span){file, size}, &elf, &err), err);
    int code = CAIRN_E_NOMEM;
    for (long n = 0; code == CAIRN_E_NOMEM; n++) {
        struct cairn_elf_symtab symtab = {0};
        cairn_alloc_fail_after(n);
        const struct cairn_elf_symbol *symbol;
        code = cairn_elf_symtab_open(&elf, CAIRN_ELF_SYMTAB, &elf, &symtab, &err);
        for (int i = 0; code == CAIRN_OK && i <= CAIRN_ELF_SYMTAB_SCANS; i++)
            code = cairn_elf_symtab_ask(&symtab, 0x1040, &symbol, &err);
        cairn_alloc_fail_after(-1);
        assert_true(code == CAIRN_OK || (!symtab.symbols && n < 50));
        cairn_elf_symtab_done(&symtab);
    }
    assert_int_equal(code, CAIRN_OK);
    free(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_functions_in_every_form),
        cmocka_unit_test(gaps_belong_to_nobody),
        cmocka_unit_test(a_symbol_without_size_reaches_to_the_next),
        cmocka_unit_test(of_nested_symbols_the_innermost_answers),
        cmocka_unit_test(aliases_are_sorted_and_marked),
        cmocka_unit_test(names_are_those_of_perf),
        cmocka_unit_test(what_is_no_code_is_left_out),
        cmocka_unit_test(functions_are_where_their_value_says),
        cmocka_unit_test(a_symbol_without_size_ends_at_data),
        cmocka_unit_test(marks_name_nothing),
        cmocka_unit_test(marks_and_versions_are_no_folded_code),
        cmocka_unit_test(thumb_functions_lose_their_lowest_bit),
        cmocka_unit_test(sizes_are_clipped_to_the_section),
        cmocka_unit_test(relocatable_files_have_no_vaddrs),
        cmocka_unit_test(the_dynamic_table_is_another_one),
        cmocka_unit_test(the_flat_table_equals_a_search_through_all),
        cmocka_unit_test(scans_of_random_tables_equal_look_ups),
        cmocka_unit_test(look_ups_scan_a_few_times_and_then_sort),
        cmocka_unit_test(crowds_are_sorted),
        cmocka_unit_test(every_truncation_and_every_flip_answers_or_fails),
        cmocka_unit_test(memory_may_be_gone_at_any_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
