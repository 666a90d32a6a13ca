/* SPDX-License-Identifier: MIT */
/* Programs are judged by their files, damaged ones without a fault. */
#include "rt/program.h"

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/test.h"

enum { BYTES = 4096, INTERP_AT = 1024, DYNAMIC_AT = 1280, NAMES_AT = 2048 };

struct image {
    unsigned char bytes[BYTES];
};

static void put(struct image *image, size_t at, const void *from, size_t size)
{
    memcpy(image->bytes + at, from, size);
}

/* A program with that loader and one needed library; "": without. */
static struct image make(const char *loader, const char *library)
{
    struct image image = {{0}};
    Elf64_Ehdr head = {.e_machine = EM_X86_64,
                       .e_type = ET_DYN,
                       .e_phoff = sizeof head,
                       .e_phentsize = sizeof(Elf64_Phdr),
                       .e_phnum = *loader ? 3 : 1};
    memcpy(head.e_ident, ELFMAG, SELFMAG);
    head.e_ident[EI_CLASS] = ELFCLASS64;
    head.e_ident[EI_DATA] = ELFDATA2LSB;
    const Elf64_Phdr segments[] = {
        {.p_type = PT_LOAD, .p_filesz = BYTES},
        {.p_type = PT_INTERP, .p_offset = INTERP_AT, .p_filesz = strlen(loader) + 1},
        {.p_type = PT_DYNAMIC, .p_offset = DYNAMIC_AT, .p_filesz = 3 * sizeof(Elf64_Dyn)},
    };
    const Elf64_Dyn dynamic[] = {{.d_tag = DT_NEEDED, .d_un.d_val = 1},
                                 {.d_tag = DT_STRTAB, .d_un.d_ptr = NAMES_AT},
                                 {.d_tag = DT_NULL}};
    put(&image, 0, &head, sizeof head);
    put(&image, sizeof head, segments, sizeof segments);
    put(&image, INTERP_AT, loader, strlen(loader) + 1);
    put(&image, DYNAMIC_AT, dynamic, sizeof dynamic);
    put(&image, NAMES_AT + 1, library, strlen(library) + 1);
    return image;
}

static char path[] = "/tmp/cairn-program.XXXXXX";

static enum cairn_program_kind judge(const void *bytes, size_t size)
{
    int fd = open(path, O_WRONLY | O_TRUNC);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, size), size);
    close(fd);
    return cairn_program_judge(path, NULL);
}

static int make_file(void **state)
{
    (void)state;
    int fd = mkstemp(path);
    return fd < 0 ? -1 : close(fd);
}

static int remove_file(void **state)
{
    (void)state;
    return unlink(path);
}

static void a_program_is_judged_by_its_loader_and_libraries(void **state)
{
    static const struct {
        const char *loader, *library;
        enum cairn_program_kind kind;
    } rows[] = {
        {"/lib64/ld-linux-x86-64.so.2", "libc.so.6", CAIRN_PROGRAM_SERVED},
        {"/lib/ld-musl-x86_64.so.1", "libc.so", CAIRN_PROGRAM_SERVED},
        {"/system/bin/linker64", "libc.so", CAIRN_PROGRAM_LOADER},
        {"/lib64/ld-linux-x86-64.so.2", "libasan.so.8", CAIRN_PROGRAM_SANITIZER},
        {"/lib64/ld-linux-x86-64.so.2", "liblsan.so.0", CAIRN_PROGRAM_SANITIZER},
        {"/lib64/ld-linux-x86-64.so.2", "libclang_rt.asan-x86_64.so", CAIRN_PROGRAM_SANITIZER},
        {"/lib64/ld-linux-x86-64.so.2", "libasangria.so", CAIRN_PROGRAM_SERVED},
        {"", "libc.so.6", CAIRN_PROGRAM_STATIC},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct image image = make(rows[i].loader, rows[i].library);
        assert_int_equal(judge(&image, sizeof image), rows[i].kind);
    }
}

static void another_machine_or_class_is_refused(void **state)
{
    (void)state;
    struct image image = make("/lib/ld-linux.so.2", "libc.so.6");
    image.bytes[EI_CLASS] = ELFCLASS32;
    assert_int_equal(judge(&image, sizeof image), CAIRN_PROGRAM_MACHINE);
    image.bytes[EI_CLASS] = ELFCLASS64;
    image.bytes[offsetof(Elf64_Ehdr, e_machine)] = EM_386;
    assert_int_equal(judge(&image, sizeof image), CAIRN_PROGRAM_MACHINE);
    assert_true(cairn_program_refuses(CAIRN_PROGRAM_MACHINE));
    assert_false(cairn_program_refuses(CAIRN_PROGRAM_STATIC));
}

static void a_script_is_what_its_interpreter_is(void **state)
{
    char interpreter[CAIRN_PROGRAM_INTERPRETER];
    (void)state;
    assert_int_equal(judge("#! /bin/sh -e\n", 14), CAIRN_PROGRAM_SERVED);
    assert_int_equal(cairn_program_judge(path, interpreter), CAIRN_PROGRAM_SERVED);
    assert_string_equal(interpreter, "/bin/sh");
    assert_int_equal(judge("#!\n", 3), CAIRN_PROGRAM_UNKNOWN);
    /* One that is its own interpreter ends. */
    char loop[128];
    int n = snprintf(loop, sizeof loop, "#!%s\n", path);
    assert_int_equal(judge(loop, (size_t)n), CAIRN_PROGRAM_UNKNOWN);
}

static void a_damaged_file_is_judged_without_a_fault(void **state)
{
    (void)state;
    struct image image = make("/lib64/ld-linux-x86-64.so.2", "libc.so.6");
    for (size_t size = 0; size < sizeof(Elf64_Ehdr) + 3 * sizeof(Elf64_Phdr); size += 7)
        assert_int_not_equal(judge(&image, size), CAIRN_PROGRAM_SANITIZER);
    for (size_t i = 0; i < INTERP_AT / 4; i++) {
        struct image other = image;
        other.bytes[i] ^= 0xff;
        assert_true(judge(&other, sizeof other) < CAIRN_PROGRAM_KINDS);
    }
    assert_int_equal(cairn_program_judge("/nothing/of/that/name", NULL), CAIRN_PROGRAM_UNKNOWN);
    assert_int_equal(cairn_program_judge("/proc", NULL), CAIRN_PROGRAM_UNKNOWN);
}

static void a_list_of_libraries_is_split_at_blanks_and_colons(void **state)
{
    (void)state;
    assert_int_equal(cairn_program_entry("/a/libx.so:/b"), 10);
    assert_int_equal(cairn_program_entry("/a /b"), 2);
    assert_int_equal(cairn_program_entry(":/b"), 0);
    assert_int_equal(cairn_program_entry(""), 0);
    assert_true(cairn_program_lists_sanitizer("/lib/libasan.so.8"));
    assert_true(
        cairn_program_lists_sanitizer("/lib/libm.so:: /usr/lib/libclang_rt.lsan-x86_64.so"));
    assert_true(cairn_program_lists_sanitizer("libx.so liblsan.so.0"));
    assert_false(cairn_program_lists_sanitizer("/libasan.d/libx.so:/lib/libasangria.so"));
    assert_false(cairn_program_lists_sanitizer(""));
    assert_false(cairn_program_lists_sanitizer(NULL));
}

static void a_program_is_found_as_execvp_finds_it(void **state)
{
    (void)state;
    char found[32], before[4096];
    assert_string_equal(cairn_program_find("sh", "/nothing:/bin", found, sizeof found), "/bin/sh");
    assert_string_equal(cairn_program_find("sh", NULL, found, sizeof found), "/bin/sh");
    assert_null(cairn_program_find("sh", "/nothing", found, sizeof found));
    assert_null(cairn_program_find("", "/bin", found, sizeof found));
    assert_null(cairn_program_find("sh", "/bin", found, sizeof "/bin/sh" - 1));
    assert_string_equal(cairn_program_find("sh", "/bin", found, sizeof "/bin/sh"), "/bin/sh");
    assert_string_equal(cairn_program_find("./any", "/bin", found, sizeof found), "./any");
    /* An empty folder is the current one. */
    assert_non_null(getcwd(before, sizeof before));
    assert_int_equal(chdir("/bin"), 0);
    assert_string_equal(cairn_program_find("sh", "/nothing:", found, sizeof found), "sh");
    assert_int_equal(chdir(before), 0);
}

static void a_script_is_mapped_as_its_interpreter(void **state)
{
    (void)state;
    char found[sizeof path];
    assert_int_equal(judge("#! /bin/sh -e\n", 14), CAIRN_PROGRAM_SERVED);
    assert_string_equal(cairn_program_find_mapped(path, NULL, found, sizeof found), "/bin/sh");
    assert_null(cairn_program_find_mapped(path, NULL, found, sizeof "/bin/sh" - 1));
    assert_string_equal(cairn_program_find_mapped("sh", "/bin", found, sizeof found), "/bin/sh");
    assert_null(cairn_program_find_mapped("sh", "/nothing", found, sizeof found));
}

static void valgrinds_tools_are_known_by_their_path(void **state)
{
    (void)state;
    assert_true(cairn_program_is_valgrinds("/usr/libexec/valgrind/memcheck-amd64-linux"));
    assert_true(cairn_program_is_valgrinds("valgrind/massif-arm-linux"));
    assert_false(cairn_program_is_valgrinds("/usr/libexec/valgrind/getoff"));
    assert_false(cairn_program_is_valgrinds("/usr/bin/memcheck-amd64-linux"));
    assert_false(cairn_program_is_valgrinds("/proc/1/exe"));
    assert_false(cairn_program_is_valgrinds(""));
}

int main(void)
{
#ifndef __x86_64__
    puts("skipped: the images are of x86-64");
    return 77;
#endif
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_program_is_found_as_execvp_finds_it),
        cmocka_unit_test(a_script_is_mapped_as_its_interpreter),
        cmocka_unit_test(valgrinds_tools_are_known_by_their_path),
        cmocka_unit_test(a_list_of_libraries_is_split_at_blanks_and_colons),
        cmocka_unit_test(a_program_is_judged_by_its_loader_and_libraries),
        cmocka_unit_test(another_machine_or_class_is_refused),
        cmocka_unit_test(a_script_is_what_its_interpreter_is),
        cmocka_unit_test(a_damaged_file_is_judged_without_a_fault),
    };
    return cmocka_run_group_tests(tests, make_file, remove_file);
}
