/* SPDX-License-Identifier: MIT */
#include "symbol/kernel_module.h"

#include <elf.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/elfwriter.h"
#include "support/test.h"
#include "symbol/kernel_files.h"

static const uint64_t text = 0xffffffffc0a01000, slow = 0xffffffffc0b55000;

struct sample {
    struct cairn_symbolizer *symbolizer;
    struct cairn_module *file, *list;
    struct cairn_kernel_sections sections;
    char folder[64];
};

/* .text: one at 0x40, two at 0x60, three at 0x80. .text.slow: four at 0x10. */
static struct cairn_module *make_file(struct cairn_symbolizer *s)
{
    struct test_elf *w = malloc(sizeof *w);
    assert_non_null(w);
    *w = test_elf_of(true, false, ET_REL, EM_X86_64);
    uint16_t first =
        (uint16_t)test_elf_section(w, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, 0, 0x100);
    uint16_t second = (uint16_t)test_elf_section(w, ".text.slow", SHT_PROGBITS,
                                                 SHF_ALLOC | SHF_EXECINSTR, 0, 0x40);
    test_elf_symbol(w, "one", STB_GLOBAL, STT_FUNC, first, 0x40, 0x20);
    test_elf_symbol(w, "two", STB_GLOBAL, STT_FUNC, first, 0x60, 0x20);
    test_elf_symbol(w, "three", STB_GLOBAL, STT_FUNC, first, 0x80, 0x20);
    test_elf_symbol(w, "four", STB_GLOBAL, STT_FUNC, second, 0x10, 0x20);
    test_elf_symtab(w, false);
    size_t size;
    uint8_t *bytes = test_elf_finish(w, &size);
    struct cairn_module *module = NULL;
    struct cairn_err err;
    assert_ok(cairn_symbolizer_open_bytes(s, "m.ko", bytes, size, &module, &err), err);
    assert_int_equal(cairn_module_info(module)->elf_type, ET_REL);
    free(bytes);
    free(w);
    return module;
}

static void write_text(const char *folder, const char *name, const char *content)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(content, f);
    fclose(f);
}

static struct sample sample_of(const char *list)
{
    struct sample s = {.folder = "/tmp/cairn-kernel-module.XXXXXX"};
    struct cairn_err err;
    char path[256];
    assert_non_null(mkdtemp(s.folder));
    assert_ok(cairn_symbolizer_new(NULL, &s.symbolizer, &err), err);
    s.file = make_file(s.symbolizer);
    write_text(s.folder, "kallsyms", list);
    snprintf(path, sizeof path, "%s/kallsyms", s.folder);
    assert_ok(cairn_symbolizer_open_kallsyms(s.symbolizer, path, NULL, &s.list, &err), err);
    return s;
}

static void done(struct sample *s)
{
    char command[128];
    cairn_kernel_sections_done(&s->sections);
    cairn_symbolizer_free(s->symbolizer);
    snprintf(command, sizeof command, "rm -rf %s", s->folder);
    assert_int_equal(system(command), 0);
}

static void reckon(struct sample *s, const char *name)
{
    struct cairn_err err;
    assert_ok(cairn_kernel_sections_reckon(s->file, s->list, name, &s->sections, &err), err);
}

/* The vaddr of `va`; UINT64_MAX: none. */
static uint64_t find(const struct sample *s, uint64_t va)
{
    uint64_t vaddr = UINT64_MAX;
    return cairn_kernel_sections_find(&s->sections, va, &vaddr) ? vaddr : UINT64_MAX;
}

static const char whole[] = "ffffffffc0a01040 t one\t[m]\nffffffffc0a01060 t two\t[m]\n"
                            "ffffffffc0a01080 t three\t[m]\nffffffffc0b55010 t four\t[m]\n"
                            "ffffffffc0c00000 t one\t[other]\n";

static void the_list_tells_where_sections_begin(void **state)
{
    (void)state;
    struct sample s = sample_of(whole);
    reckon(&s, "m");
    assert_int_equal(s.sections.n, 2);
    assert_int_equal(find(&s, text), 0); /* before the first symbol */
    assert_int_equal(find(&s, text + 0x45), 0x45);
    assert_int_equal(find(&s, text + 0xff), 0xff);
    assert_int_equal(find(&s, text + 0x100), UINT64_MAX);
    assert_int_equal(find(&s, slow + 0x12), 0x112);
    assert_int_equal(find(&s, slow - 1), UINT64_MAX);
    done(&s);
}

static void most_symbols_must_say_the_same(void **state)
{
    (void)state;
    struct sample s = sample_of("ffffffffc0a01040 t one\t[m]\nffffffffc0a01060 t two\t[m]\n"
                                "ffffffffc0a09999 t three\t[m]\n");
    reckon(&s, "m");
    assert_int_equal(find(&s, text + 0x45), 0x45);
    done(&s);
    s = sample_of("ffffffffc0a01040 t one\t[m]\nffffffffc0a05060 t two\t[m]\n");
    reckon(&s, "m");
    assert_int_equal(s.sections.n, 0);
    done(&s);
}

static void other_modules_say_nothing(void **state)
{
    (void)state;
    struct sample s = sample_of(whole);
    reckon(&s, "nosuch");
    assert_int_equal(s.sections.n, 0);
    done(&s);
}

static void files_tell_where_sections_begin(void **state)
{
    (void)state;
    struct sample s = sample_of(whole);
    struct cairn_err err;
    write_text(s.folder, ".text", "0xffffffffc0a01000\n");
    write_text(s.folder, ".text.slow", "0x0\n"); /* hidden */
    assert_ok(cairn_kernel_sections_read(s.file, s.folder, &s.sections, &err), err);
    assert_int_equal(s.sections.n, 1);
    assert_int_equal(find(&s, text + 0x45), 0x45);
    cairn_kernel_sections_done(&s.sections);
    write_text(s.folder, ".text", "soon\n");
    assert_ok(cairn_kernel_sections_read(s.file, s.folder, &s.sections, &err), err);
    assert_int_equal(s.sections.n, 0);
    cairn_kernel_sections_done(&s.sections);
    assert_ok(cairn_kernel_sections_read(s.file, "/nowhere", &s.sections, &err), err);
    assert_int_equal(s.sections.n, 0);
    done(&s);
}

static bool agrees(struct sample *s, uint64_t vaddr, uint64_t va)
{
    bool answer = false;
    struct cairn_err err;
    assert_ok(cairn_kernel_module_agrees(s->file, vaddr, s->list, va, &answer, &err), err);
    return answer;
}

static void list_and_file_agree_on_a_name_and_its_start(void **state)
{
    (void)state;
    struct sample s = sample_of(whole);
    assert_true(agrees(&s, 0x45, text + 0x45));
    assert_false(agrees(&s, 0x46, text + 0x45));  /* the same function, elsewhere */
    assert_false(agrees(&s, 0x65, text + 0x45));  /* as far into another function */
    assert_false(agrees(&s, 0xf0, text + 0x45));  /* no function */
    assert_false(agrees(&s, 0x45, text - 0x800)); /* not in the list */
    done(&s);
}

static void files_are_found_by_modprobes_names(void **state)
{
    (void)state;
    struct sample s = sample_of(whole);
    struct cairn_symbolizer *debug = NULL;
    char modules[128];
    const struct cairn_symbolizer_opts opts = {.size = sizeof opts, .debug_dir = s.folder};
    snprintf(modules, sizeof modules, "mkdir -p %s/lib/modules/1.2.3", s.folder);
    assert_int_equal(system(modules), 0);
    struct cairn_kernel_files *files = NULL;
    const char *folder = modules + strlen("mkdir -p ");
    struct cairn_err err;
    static const struct {
        const char *file, *name;
        bool found;
    } rows[] = {
        {"snd-hda_intel.ko", "snd_hda_intel", true},
        {"a_b.ko.xz", "a-b", true},
        {"zst.ko.zst", "zst", true},
        {"gz.ko.gz", "gz", true},
        {"x.ko.debug", "x", false},
        {"longer.ko", "long", false},
        {"y.o", "y", false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        write_text(folder, rows[i].file, "");
    assert_ok(cairn_symbolizer_new(&opts, &debug, &err), err);
    assert_ok(cairn_kernel_files_new(debug, "1.2.3", &files, &err), err);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct cairn_buffer path = {0};
        assert_ok(cairn_kernel_files_find(files, debug, rows[i].name, &path, &err), err);
        const char *slash = strrchr(cairn_buffer_text(&path), '/');
        assert_string_equal(slash ? slash + 1 : "", rows[i].found ? rows[i].file : "");
        cairn_buffer_done(&path);
    }
    cairn_kernel_files_free(files);
    cairn_symbolizer_free(debug);
    done(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_list_tells_where_sections_begin),
        cmocka_unit_test(most_symbols_must_say_the_same),
        cmocka_unit_test(other_modules_say_nothing),
        cmocka_unit_test(files_tell_where_sections_begin),
        cmocka_unit_test(list_and_file_agree_on_a_name_and_its_start),
        cmocka_unit_test(files_are_found_by_modprobes_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
