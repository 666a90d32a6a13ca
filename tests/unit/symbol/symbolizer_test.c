/* SPDX-License-Identifier: MIT */
/* The public face, on an ELF file with DWARF made in memory:
 *
 *     0x1000  outer [0x1000, 0x1080), inlined leaf [0x1010, 0x1020), called at a.c:12
 *     0x1100  only_symbol [0x1100, 0x1110): a symbol without DWARF
 *     0x1200  nothing
 */
#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cairn/symbolizer.h>

#include "base/alloc.h"
#include "support/dwarfwriter.h"
#include "support/test.h"
#include "symbol/module_files.h"

enum { UNIT = 1, FUNCTION, ABSTRACT, INLINED };

static void put_dwarf(struct test_dwarf *w)
{
    test_dwarf_abbrev(w, UNIT, CAIRN_DW_TAG_COMPILE_UNIT, true, CAIRN_DW_AT_NAME,
                      CAIRN_DW_FORM_STRING, CAIRN_DW_AT_COMP_DIR, CAIRN_DW_FORM_STRP,
                      CAIRN_DW_AT_STMT_LIST, CAIRN_DW_FORM_SEC_OFFSET, CAIRN_DW_AT_LANGUAGE,
                      CAIRN_DW_FORM_DATA1, CAIRN_DW_AT_LOW_PC, CAIRN_DW_FORM_ADDR,
                      CAIRN_DW_AT_HIGH_PC, CAIRN_DW_FORM_DATA4, 0);
    test_dwarf_abbrev(w, FUNCTION, CAIRN_DW_TAG_SUBPROGRAM, true, CAIRN_DW_AT_NAME,
                      CAIRN_DW_FORM_STRING, CAIRN_DW_AT_DECL_LINE, CAIRN_DW_FORM_DATA1,
                      CAIRN_DW_AT_LOW_PC, CAIRN_DW_FORM_ADDR, CAIRN_DW_AT_HIGH_PC,
                      CAIRN_DW_FORM_DATA4, 0);
    test_dwarf_abbrev(w, ABSTRACT, CAIRN_DW_TAG_SUBPROGRAM, false, CAIRN_DW_AT_NAME,
                      CAIRN_DW_FORM_STRING, CAIRN_DW_AT_LINKAGE_NAME, CAIRN_DW_FORM_STRING, 0);
    test_dwarf_abbrev(w, INLINED, CAIRN_DW_TAG_INLINED_SUBROUTINE, false,
                      CAIRN_DW_AT_ABSTRACT_ORIGIN, CAIRN_DW_FORM_REF4, CAIRN_DW_AT_RANGES,
                      CAIRN_DW_FORM_SEC_OFFSET, CAIRN_DW_AT_CALL_FILE, CAIRN_DW_FORM_DATA1,
                      CAIRN_DW_AT_CALL_LINE, CAIRN_DW_FORM_DATA1, 0);
    test_dwarf_str(&w->str, "/src");
    test_dwarf_unit_begin(w);
    test_dwarf_uleb(&w->info, UNIT);
    test_dwarf_str(&w->info, "a.c");
    test_dwarf_off(w, &w->info, 0);
    test_dwarf_off(w, &w->info, 0);
    test_dwarf_u(w, &w->info, CAIRN_DW_LANG_C99, 1);
    test_dwarf_addr(w, &w->info, 0x1000);
    test_dwarf_u(w, &w->info, 0x80, 4);
    uint32_t leaf = (uint32_t)w->info.n;
    test_dwarf_uleb(&w->info, ABSTRACT);
    test_dwarf_str(&w->info, "leaf");
    test_dwarf_str(&w->info, "_ZN3app4leafEi");
    test_dwarf_uleb(&w->info, FUNCTION);
    test_dwarf_str(&w->info, "outer");
    test_dwarf_u(w, &w->info, 9, 1);
    test_dwarf_addr(w, &w->info, 0x1000);
    test_dwarf_u(w, &w->info, 0x80, 4);
    test_dwarf_uleb(&w->info, INLINED);
    test_dwarf_u(w, &w->info, leaf, 4);
    test_dwarf_off(w, &w->info, 0);
    test_dwarf_u(w, &w->info, 1, 1);
    test_dwarf_u(w, &w->info, 12, 1);
    test_dwarf_u(w, &w->info, 0, 2);
    test_dwarf_unit_end(w);
    test_dwarf_addr(w, &w->ranges, 0x10);
    test_dwarf_addr(w, &w->ranges, 0x20);
    test_dwarf_addr(w, &w->ranges, 0);
    test_dwarf_addr(w, &w->ranges, 0);
    test_dwarf_line_begin(w);
    test_dwarf_line_at(w, 0x1000);
    test_dwarf_line_row(w, 0, 9);
    static const uint8_t discriminator[] = {0, 2, CAIRN_DW_LNE_SET_DISCRIMINATOR, 7};
    for (size_t i = 0; i < sizeof discriminator; i++)
        test_dwarf_u(w, &w->line, discriminator[i], 1);
    test_dwarf_line_row(w, 0x10, -7);
    test_dwarf_line_row(w, 0x10, 8);
    test_dwarf_line_sequence_end(w, 0x60);
    test_dwarf_line_end(w);
}

/* The file; the caller frees it. */
static uint8_t *make_elf(bool big, bool is64, size_t *ret_size)
{
    static struct test_elf elf; /* large, and zeroed by each start */
    struct test_dwarf w = test_dwarf_of(4, big, 4, is64 ? 8 : 4);
    elf = test_elf_of(is64, big, ET_DYN, is64 ? EM_AARCH64 : EM_ARM);
    put_dwarf(&w);
    test_elf_load(&elf, PF_R, 0, 0, 0x400, 0x400);
    test_elf_load(&elf, PF_R | PF_X, 0x21000, 0x1000, 0x300, 0x800);
    test_elf_load(&elf, PF_R | PF_X, 0x21300, 0x51300, 0x100, 0x100);
    uint32_t text =
        test_elf_section(&elf, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, 0x1000, 0x800);
    test_dwarf_to_elf(&w, &elf);
    test_elf_symbol(&elf, "part.c", STB_LOCAL, STT_FILE, 0xfff1, 0, 0);
    test_elf_symbol(&elf, "outer", STB_GLOBAL, STT_FUNC, (uint16_t)text, 0x1000, 0x80);
    test_elf_symbol(&elf, "only_symbol.cold", STB_LOCAL, STT_FUNC, (uint16_t)text, 0x1100, 0x10);
    test_elf_symbol(&elf, "alias_a", STB_GLOBAL, STT_FUNC, (uint16_t)text, 0x1300, 0x10);
    test_elf_symbol(&elf, "alias_b", STB_GLOBAL, STT_FUNC, (uint16_t)text, 0x1300, 0x10);
    test_elf_symtab(&elf, false);
    return test_elf_finish(&elf, ret_size);
}

struct fixture {
    struct cairn_symbolizer *s;
    struct cairn_module *m;
    struct cairn_symbol symbol;
    struct cairn_err err;
};

static struct fixture open_elf(bool big, bool is64, const struct cairn_symbolizer_opts *opts)
{
    struct fixture f = {0};
    size_t size;
    uint8_t *bytes = make_elf(big, is64, &size);
    assert_ok(cairn_symbolizer_new(opts, &f.s, &f.err), f.err);
    assert_ok(cairn_symbolizer_open_bytes(f.s, "made", bytes, size, &f.m, &f.err), f.err);
    free(bytes); /* copied */
    return f;
}

static void ask(struct fixture *f, uint64_t vaddr)
{
    assert_ok(cairn_symbolize(f->s, f->m, vaddr, &f->symbol, &f->err), f->err);
}

static void names_lines_and_call_sites_in_all_orders_and_sizes(void **state)
{
    (void)state;
    for (int variant = 0; variant < 4; variant++) {
        struct fixture f = open_elf(variant & 1, variant & 2, NULL);
        ask(&f, 0x1014);
        assert_int_equal(f.symbol.state, CAIRN_SYMBOL_NAMED);
        assert_int_equal(f.symbol.n_frames, 2);
        const struct cairn_symbol_frame *leaf = &f.symbol.frames[0], *outer = leaf + 1;
        assert_string_equal(leaf->function, "app::leaf(int)");
        assert_string_equal(leaf->linkage, "_ZN3app4leafEi");
        assert_string_equal(leaf->file, "/src/a.c");
        assert_int_equal(leaf->line, 3);
        assert_int_equal(leaf->inlined, 1);
        assert_string_equal(outer->function, "outer");
        assert_int_equal(outer->line, 12);
        assert_int_equal(outer->start_line, 9);
        assert_int_equal(outer->inlined, 0);
        assert_int_equal(outer->source, CAIRN_SOURCE_DWARF);
        assert_null(outer->suffix);
        ask(&f, 0x1020);
        assert_int_equal(f.symbol.n_frames, 1);
        assert_int_equal(f.symbol.frames[0].line, 11);
        assert_string_equal(cairn_module_info(f.m)->machine, variant & 2 ? "aarch64" : "arm");
        assert_int_equal(cairn_module_info(f.m)->has_lines, 1);
        cairn_symbolizer_free(f.s);
    }
}

static void every_answer_without_a_name_says_why(void **state)
{
    (void)state;
    struct fixture f = open_elf(false, true, NULL);
    static const uint64_t gaps[] = {0x1080, 0x10ff, 0x1110, 0x1200, 0x17ff, 0x51300, 0x0};
    for (size_t i = 0; i < sizeof gaps / sizeof *gaps; i++) {
        ask(&f, gaps[i]);
        assert_int_equal(f.symbol.state, CAIRN_SYMBOL_NO_SYMBOL);
        assert_int_equal(f.symbol.n_frames, 0);
    }
    static const uint64_t outside[] = {0x400, 0xfff, 0x1800, 0x51400, UINT64_MAX, UINT64_MAX - 1};
    for (size_t i = 0; i < sizeof outside / sizeof *outside; i++) {
        ask(&f, outside[i]);
        assert_int_equal(f.symbol.state, CAIRN_SYMBOL_OUTSIDE);
    }
    assert_string_equal(cairn_symbol_state_text(CAIRN_SYMBOL_NO_SYMBOL), "no symbol");
    cairn_symbolizer_free(f.s);
}

static void symbols_alone_give_name_suffix_and_folding(void **state)
{
    (void)state;
    struct fixture f = open_elf(false, true, NULL);
    ask(&f, 0x110f);
    assert_int_equal(f.symbol.n_frames, 1);
    assert_string_equal(f.symbol.frames[0].function, "only_symbol");
    assert_string_equal(f.symbol.frames[0].suffix, "cold");
    assert_int_equal(f.symbol.frames[0].source, CAIRN_SOURCE_SYMTAB);
    assert_int_equal(f.symbol.frames[0].folded, 0);
    ask(&f, 0x1300);
    assert_string_equal(f.symbol.frames[0].function, "alias_a");
    assert_int_equal(f.symbol.frames[0].folded, 1);
    cairn_symbolizer_free(f.s);
}

/* The segment is chosen by what of it lies in the file, not by what it takes in memory. */
static void offsets_go_through_the_segment_that_holds_them_in_the_file(void **state)
{
    (void)state;
    struct fixture f = open_elf(false, true, NULL);
    uint64_t vaddr = 0;
    assert_true(cairn_module_vaddr_of_offset(f.m, 0x21014, &vaddr));
    assert_int_equal(vaddr, 0x1014);
    assert_true(cairn_module_vaddr_of_offset(f.m, 0x212ff, &vaddr));
    assert_int_equal(vaddr, 0x12ff);
    assert_true(cairn_module_vaddr_of_offset(f.m, 0x21300, &vaddr)); /* not 0x1300: p_filesz */
    assert_int_equal(vaddr, 0x51300);
    assert_true(cairn_module_vaddr_of_rel(f.m, 0x1014, &vaddr));
    assert_int_equal(vaddr, 0x1014);
    assert_false(cairn_module_vaddr_of_offset(f.m, 1ull << 40, &vaddr));
    assert_int_equal(cairn_return_address(0x1001), 0x1000);
    assert_int_equal(cairn_return_address(0), 0);
    cairn_symbolizer_free(f.s);
}

static void without_inlines_the_outermost_function_answers(void **state)
{
    (void)state;
    struct cairn_symbolizer_opts opts = {
        .size = sizeof opts, .no_inlines = 1, .names = CAIRN_NAMES_MANGLED};
    struct fixture f = open_elf(false, true, &opts);
    ask(&f, 0x1014);
    assert_int_equal(f.symbol.n_frames, 1);
    assert_string_equal(f.symbol.frames[0].function, "outer");
    assert_int_equal(f.symbol.frames[0].line, 12);
    assert_int_equal(f.symbol.frames[0].inlined, 0);
    cairn_symbolizer_free(f.s);
}

static void discriminators_are_told_whoever_asks_and_in_all_ways(void **state)
{
    (void)state;
    static const struct {
        uint64_t vaddr;
        uint32_t value;
    } wanted[] = {{0x1000, 0}, {0x100f, 0}, {0x1010, 7}, {0x101f, 7}, {0x1020, 0}, {0x1100, 0}};
    for (int variant = 0; variant < 8; variant++) {
        struct cairn_symbolizer_opts opts = {
            .size = sizeof opts,
            .discriminators = variant & 1,
            .index = variant & 2 ? CAIRN_INDEX_ALWAYS : CAIRN_INDEX_NEVER,
            .memory_bytes = variant & 4 ? 1 : 0, /* forgotten each time */
        };
        struct fixture f = open_elf(false, true, &opts);
        for (size_t i = 0; i < 2 * (sizeof wanted / sizeof *wanted); i++) {
            ask(&f, wanted[i / 2].vaddr);
            assert_int_equal(f.symbol.frames[0].discriminator,
                             opts.discriminators ? wanted[i / 2].value : 0);
            for (uint32_t k = 1; k < f.symbol.n_frames; k++)
                assert_int_equal(f.symbol.frames[k].discriminator, 0);
        }
        cairn_symbolizer_free(f.s);
    }
    struct cairn_symbolizer_opts outermost = {
        .size = sizeof outermost, .discriminators = 1, .no_inlines = 1};
    struct fixture f = open_elf(false, true, &outermost);
    ask(&f, 0x1014);
    assert_int_equal(f.symbol.frames[0].discriminator, 0); /* its line is that of a call */
    cairn_symbolizer_free(f.s);
}

static void a_local_symbol_without_lines_has_the_file_that_its_table_tells(void **state)
{
    (void)state;
    for (int variant = 0; variant < 4; variant++) {
        struct cairn_symbolizer_opts opts = {
            .size = sizeof opts,
            .symbol_files = variant & 1,
            .index = variant & 2 ? CAIRN_INDEX_ALWAYS : CAIRN_INDEX_NEVER,
        };
        struct fixture f = open_elf(false, true, &opts);
        ask(&f, 0x1100);
        assert_string_equal(f.symbol.frames[0].function, "only_symbol");
        if (opts.symbol_files)
            assert_string_equal(f.symbol.frames[0].file, "part.c");
        else
            assert_null(f.symbol.frames[0].file);
        assert_int_equal(f.symbol.frames[0].line, 0);
        ask(&f, 0x1300); /* a global one: nobody knows */
        assert_null(f.symbol.frames[0].file);
        ask(&f, 0x1014);
        assert_string_equal(f.symbol.frames[0].file, "/src/a.c");
        cairn_symbolizer_free(f.s);
    }
}

static void look_everywhere(struct cairn_symbolizer *s, struct cairn_module *m)
{
    static const uint64_t places[] = {0x1000, 0x1014, 0x1030, 0x1100, 0x1200, 0x1300, 0x51300, 0};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        struct cairn_symbol symbol;
        struct cairn_err err;
        if (cairn_symbolize(s, m, places[i], &symbol, &err) < 0)
            assert_string_not_equal(err.msg, "");
        else
            for (uint32_t k = 0; k < symbol.n_frames; k++)
                assert_true(symbol.n_frames > 1 || symbol.frames[k].function ||
                            symbol.frames[k].file);
    }
}

/* Every cut, and every byte turned over: an answer or a clean error. */
static void damage_fails_cleanly_or_answers(void **state)
{
    (void)state;
    size_t size;
    uint8_t *bytes = make_elf(false, true, &size);
    for (size_t i = 0; i < 2 * size; i++) {
        struct cairn_symbolizer *s;
        struct cairn_module *m;
        struct cairn_err err = {0};
        assert_ok(cairn_symbolizer_new(NULL, &s, &err), err);
        uint8_t *copy = test_copy(bytes, i < size ? i : size);
        if (i >= size)
            copy[i - size] ^= 0xff;
        if (cairn_symbolizer_open_bytes(s, "damaged", copy, i < size ? i : size, &m, &err) < 0)
            assert_string_not_equal(err.msg, "");
        else
            look_everywhere(s, m);
        cairn_symbolizer_free(s);
        free(copy);
    }
    free(bytes);
}

/* The Nth allocation fails, for all N: CAIRN_E_NOMEM or an answer, and nothing is lost. */
static void lack_of_memory_is_an_error_like_others(void **state)
{
    (void)state;
    size_t size;
    uint8_t *bytes = make_elf(false, true, &size);
    bool whole = false;
    for (long n = 0; n < 2000 && !whole; n++) {
        struct cairn_symbolizer *s = NULL;
        struct cairn_module *m;
        struct cairn_symbol symbol = {0};
        struct cairn_err err = {0};
        cairn_alloc_fail_after(n);
        int code = cairn_symbolizer_new(NULL, &s, &err);
        if (code == CAIRN_OK)
            code = cairn_symbolizer_open_bytes(s, "made", bytes, size, &m, &err);
        if (code == CAIRN_OK)
            code = cairn_symbolize(s, m, 0x1014, &symbol, &err);
        cairn_alloc_fail_after(-1);
        if (code != CAIRN_OK)
            assert_int_equal(code, CAIRN_E_NOMEM);
        whole = code == CAIRN_OK && symbol.n_frames == 2 && symbol.frames[0].function &&
                strcmp(symbol.frames[0].function, "app::leaf(int)") == 0 && symbol.frames[0].file &&
                strcmp(symbol.frames[0].file, "/src/a.c") == 0;
        cairn_symbolizer_free(s);
    }
    assert_true(whole);
    free(bytes);
}

/* Writes the file to a temporary path. */
static void write_elf(char *path)
{
    size_t size;
    uint8_t *bytes = make_elf(false, true, &size);
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, size), size);
    close(fd);
    free(bytes);
}

static void dropped_contents_come_back(void **state)
{
    (void)state;
    char first[] = "/tmp/cairn-symbolizer-XXXXXX", second[] = "/tmp/cairn-symbolizer-XXXXXX";
    struct cairn_symbolizer_opts opts = {.size = sizeof opts, .memory_bytes = 1};
    struct cairn_symbolizer *s;
    struct cairn_module *m[2], *again;
    struct cairn_err err;
    write_elf(first);
    write_elf(second);
    assert_ok(cairn_symbolizer_new(&opts, &s, &err), err);
    assert_ok(cairn_symbolizer_open_file(s, first, &m[0], &err), err);
    assert_ok(cairn_symbolizer_open_file(s, second, &m[1], &err), err);
    assert_ok(cairn_symbolizer_open_file(s, first, &again, &err), err);
    assert_ptr_equal(again, m[0]);
    const struct cairn_module_info *info = cairn_module_info(m[0]);
    for (int i = 0; i < 6; i++) {
        struct cairn_symbol symbol;
        assert_ok(cairn_symbolize(s, m[i & 1], 0x1014, &symbol, &err), err);
        assert_int_equal(symbol.n_frames, 2);
        assert_string_equal(symbol.frames[0].function, "app::leaf(int)");
        assert_string_equal(symbol.frames[0].file, "/src/a.c");
        assert_string_equal(info->path, first); /* holds until the symbolizer goes */
    }
    /* Dropped or not, the program headers are there, and so are files that were deleted since. */
    unlink(second);
    struct cairn_symbol symbol;
    uint64_t vaddr;
    assert_ok(cairn_symbolize(s, m[0], 0x1014, &symbol, &err), err);
    assert_true(cairn_module_vaddr_of_offset(m[1], 0x21014, &vaddr));
    assert_int_equal(vaddr, 0x1014);
    assert_ok(cairn_symbolize(s, m[1], vaddr, &symbol, &err), err);
    assert_int_equal(symbol.n_frames, 2);
    cairn_symbolizer_free(s);
    unlink(first);
}

static void a_failure_is_remembered(void **state)
{
    (void)state;
    char path[] = "/tmp/cairn-symbolizer-XXXXXX";
    struct cairn_symbolizer *s;
    struct cairn_module *m = NULL;
    struct cairn_err err;
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    unlink(path);
    assert_ok(cairn_symbolizer_new(NULL, &s, &err), err);
    assert_fails(cairn_symbolizer_open(s, path, NULL, &m, &err), CAIRN_E_MISSING, err, "");
    char message[sizeof err.msg];
    memcpy(message, err.msg, sizeof message);
    size_t size;
    uint8_t *bytes = make_elf(false, true, &size);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    fclose(file);
    free(bytes);
    assert_fails(cairn_symbolizer_open(s, path, NULL, &m, &err), CAIRN_E_MISSING, err, message);
    assert_null(m);
    assert_ok(cairn_symbolizer_open_file(s, path, &m, &err), err); /* another question */
    cairn_symbolizer_free(s);
    unlink(path);
}

static void a_module_is_read_from_a_descriptor(void **state)
{
    (void)state;
    char path[] = "/tmp/cairn-symbolizer-XXXXXX";
    struct cairn_symbolizer *s;
    struct cairn_module *m, *again;
    struct cairn_symbol symbol;
    struct cairn_err err;
    write_elf(path);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    unlink(path); /* it has no path any more */
    assert_int_equal(lseek(fd, 7, SEEK_SET), 7);
    assert_ok(cairn_symbolizer_new(NULL, &s, &err), err);
    assert_ok(cairn_symbolizer_open_fd(s, "(deleted)", fd, &m, &err), err);
    assert_ok(cairn_symbolizer_open_fd(s, "(deleted)", fd, &again, &err), err);
    assert_ptr_not_equal(m, again);
    assert_int_equal(lseek(fd, 0, SEEK_CUR), 7);
    close(fd);
    assert_string_equal(cairn_module_info(m)->path, "(deleted)");
    assert_ok(cairn_symbolize(s, m, 0x1014, &symbol, &err), err);
    assert_int_equal(symbol.n_frames, 2);
    int pipes[2];
    assert_int_equal(pipe(pipes), 0);
    assert_fails(cairn_symbolizer_open_fd(s, "a pipe", pipes[0], &m, &err), CAIRN_E_FORMAT, err,
                 "a pipe: is a pipe");
    assert_fails(cairn_symbolizer_open_fd(s, "nothing", -1, &m, &err), CAIRN_E_IO, err, "nothing");
    close(pipes[0]);
    close(pipes[1]);
    assert_ok(cairn_symbolize(s, again, 0x1014, &symbol, &err), err);
    cairn_symbolizer_free(s);
}

/* A later run could not find it again, nor tell it from the copy of another file. */
static void a_copy_in_memory_has_no_identity_for_the_cache(void **state)
{
    (void)state;
    struct cairn_symbolizer *s;
    struct cairn_module *m;
    struct cairn_module_key key;
    struct cairn_err err;
    size_t size;
    uint8_t *bytes = make_elf(false, true, &size);
    int fd = memfd_create("copy", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, size), size);
    assert_ok(cairn_symbolizer_new(NULL, &s, &err), err);
    for (int is_sealed = 0; is_sealed < 2; is_sealed++) {
        if (is_sealed)
            assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW), 0);
        assert_ok(cairn_symbolizer_open_fd(s, "copy", fd, &m, &err), err);
        assert_ok(cairn_module_key_make(m, false, &key, &err), err);
        assert_int_equal(key.key.n_files, 1);
        assert_int_equal(key.files[0].inode == 0, is_sealed);
        assert_false(is_sealed && key.files[0].is_guarded);
        cairn_module_key_done(&key);
    }
    close(fd);
    free(bytes);
    cairn_symbolizer_free(s);
}

struct batch {
    size_t n, stop_at;
    const uint64_t *vaddrs;
    struct fixture *single; /* the same questions, one by one */
};

static int compare_with_single(void *ctx, size_t index, const struct cairn_symbol *symbol)
{
    struct batch *b = ctx;
    assert_int_equal(index, b->n++);
    if (index == b->stop_at)
        return 42;
    ask(b->single, b->vaddrs[index]);
    const struct cairn_symbol *single = &b->single->symbol;
    assert_int_equal(symbol->state, single->state);
    assert_int_equal(symbol->n_frames, single->n_frames);
    for (uint32_t i = 0; i < single->n_frames; i++) {
        assert_int_equal(symbol->frames[i].line, single->frames[i].line);
        assert_string_equal(symbol->frames[i].function ? symbol->frames[i].function : "",
                            single->frames[i].function ? single->frames[i].function : "");
    }
    return 0;
}

static void a_batch_answers_as_single_questions_do_and_in_their_order(void **state)
{
    (void)state;
    const uint64_t vaddrs[] = {0x1200, 0x1014, 0x10, UINT64_MAX, 0x1014, 0x1100, 0x1000, 0x1300};
    enum { N = sizeof vaddrs / sizeof *vaddrs };
    struct fixture many = open_elf(false, true, NULL), single = open_elf(false, true, NULL);
    struct batch b = {.stop_at = SIZE_MAX, .vaddrs = vaddrs, .single = &single};
    assert_ok(cairn_symbolize_batch(many.s, many.m, vaddrs, N, compare_with_single, &b, &many.err),
              many.err);
    assert_int_equal(b.n, N);
    b.n = 0;
    b.stop_at = 3;
    assert_int_equal(
        cairn_symbolize_batch(many.s, many.m, vaddrs, N, compare_with_single, &b, &many.err), 42);
    assert_int_equal(b.n, 4);
    assert_ok(cairn_symbolize_batch(many.s, many.m, NULL, 0, compare_with_single, &b, &many.err),
              many.err);
    cairn_symbolizer_free(many.s);
    cairn_symbolizer_free(single.s);
}

enum { N_MANY = 3000 }; /* more than are asked one by one */

static void a_long_batch_answers_as_single_questions_do(void **state)
{
    (void)state;
    struct fixture many = open_elf(false, true, NULL), single = open_elf(false, true, NULL);
    uint64_t vaddrs[N_MANY];
    for (uint64_t i = 0; i < N_MANY; i++)
        vaddrs[i] = 0xf00 + i * 7919 % 0x500;
    vaddrs[7] = UINT64_MAX;
    vaddrs[8] = 0;
    struct batch b = {.stop_at = SIZE_MAX, .vaddrs = vaddrs, .single = &single};
    assert_ok(
        cairn_symbolize_batch(many.s, many.m, vaddrs, N_MANY, compare_with_single, &b, &many.err),
        many.err);
    assert_int_equal(b.n, N_MANY);
    b.n = 0;
    b.stop_at = 2000;
    assert_int_equal(
        cairn_symbolize_batch(many.s, many.m, vaddrs, N_MANY, compare_with_single, &b, &many.err),
        42);
    assert_int_equal(b.n, 2001);
    /* The very symbolizer that the batch goes through is asked between its answers. */
    b = (struct batch){.stop_at = SIZE_MAX, .vaddrs = vaddrs, .single = &many};
    assert_ok(
        cairn_symbolize_batch(many.s, many.m, vaddrs, N_MANY, compare_with_single, &b, &many.err),
        many.err);
    assert_int_equal(b.n, N_MANY);
    cairn_symbolizer_free(many.s);
    cairn_symbolizer_free(single.s);
}

static void every_way_has_a_text_of_its_own(void **state)
{
    (void)state;
    for (int a = CAIRN_WAY_NONE; a <= CAIRN_WAY_CACHE + 1; a++)
        for (int b = CAIRN_WAY_NONE; b < a; b++)
            assert_string_not_equal(cairn_way_text((enum cairn_way)a),
                                    cairn_way_text((enum cairn_way)b));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_lines_and_call_sites_in_all_orders_and_sizes),
        cmocka_unit_test(every_answer_without_a_name_says_why),
        cmocka_unit_test(symbols_alone_give_name_suffix_and_folding),
        cmocka_unit_test(offsets_go_through_the_segment_that_holds_them_in_the_file),
        cmocka_unit_test(without_inlines_the_outermost_function_answers),
        cmocka_unit_test(discriminators_are_told_whoever_asks_and_in_all_ways),
        cmocka_unit_test(a_local_symbol_without_lines_has_the_file_that_its_table_tells),
        cmocka_unit_test(damage_fails_cleanly_or_answers),
        cmocka_unit_test(lack_of_memory_is_an_error_like_others),
        cmocka_unit_test(dropped_contents_come_back),
        cmocka_unit_test(a_failure_is_remembered),
        cmocka_unit_test(a_module_is_read_from_a_descriptor),
        cmocka_unit_test(a_copy_in_memory_has_no_identity_for_the_cache),
        cmocka_unit_test(a_batch_answers_as_single_questions_do_and_in_their_order),
        cmocka_unit_test(a_long_batch_answers_as_single_questions_do),
        cmocka_unit_test(every_way_has_a_text_of_its_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
