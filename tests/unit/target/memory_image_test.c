/* SPDX-License-Identifier: MIT */
/* The C library of this process, made again out of memory, beside its file. */
#include "target/memory_image.h"

#include <dlfcn.h>
#include <stdio.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cairn/maps.h>

#include "base/alloc.h"
#include "base/file.h"
#include "elf/note.h"
#include "elf/symtab.h"
#include "support/test.h"

static bool read_self(void *ctx, uint64_t va, void *to, size_t size)
{
    (void)ctx;
    struct iovec out = {to, size}, in = {(void *)(uintptr_t)va, size};
    return process_vm_readv(getpid(), &out, 1, &in, 1, 0) == (ssize_t)size;
}

static const struct cairn_memory memory = {.read = read_self};

static void a_library_is_made_again(void **state)
{
    (void)state;
    Dl_info info;
    struct cairn_file file;
    struct cairn_elf of_file, of_memory;
    struct cairn_elf_symtab a, b;
    struct cairn_span image, id;
    struct cairn_err err;
    char hex[CAIRN_IMAGE_BUILD_ID_MAX];
    assert_true(dladdr((void *)(uintptr_t)getpid, &info));
    uint64_t base = (uint64_t)(uintptr_t)info.dli_fbase;
    if (!read_self(NULL, base, hex, 1)) {
        print_message("skipped: process_vm_readv() is refused here\n");
        skip();
    }
    assert_ok(cairn_file_open(info.dli_fname, &file, &err), err);
    assert_ok(cairn_elf_open(file.bytes, &of_file, &err), err);
    assert_ok(cairn_memory_image(&memory, base, &image, &err), err);
    assert_ok(cairn_elf_open(image, &of_memory, &err), err);
    assert_int_equal(of_memory.n_sections, 0);
    assert_true(cairn_memory_has_module(&memory, base, base + 4096));
    assert_false(cairn_memory_has_module(&memory, base, base - 1));
    assert_false(cairn_memory_has_module(&memory, base + 4096, base + 4096));

    cairn_memory_build_id(&memory, base, hex);
    assert_ok(cairn_elf_build_id(&of_file, &id, &err), err);
    for (size_t i = 0; i < id.size; i++) {
        char byte[3];
        snprintf(byte, sizeof byte, "%02x", id.data[i]);
        assert_memory_equal(hex + 2 * i, byte, 2);
    }

    assert_ok(cairn_elf_symtab_read(&of_file, CAIRN_ELF_DYNSYM, &a, &err), err);
    assert_ok(cairn_elf_symtab_read(&of_memory, CAIRN_ELF_DYNSYM, &b, &err), err);
    assert_true(a.n > 1000);
    size_t n_same = 0;
    for (size_t i = 0; i < a.n; i++) {
        const struct cairn_elf_symbol *symbol = cairn_elf_symtab_find(&b, a.symbols[i].vaddr);
        n_same += symbol && symbol->vaddr == a.symbols[i].vaddr;
    }
    assert_true(n_same * 100 >= a.n * 99);
    cairn_elf_symtab_done(&a);
    cairn_elf_symtab_done(&b);
    cairn_free((void *)(uintptr_t)image.data);
    cairn_file_close(&file);
}

static void what_is_no_module_is_refused(void **state)
{
    (void)state;
    static uint8_t nothing[8192];
    struct cairn_span image;
    struct cairn_err err;
    char hex[CAIRN_IMAGE_BUILD_ID_MAX];
    if (!read_self(NULL, (uint64_t)(uintptr_t)nothing, hex, 1))
        skip();
    assert_fails(cairn_memory_image(&memory, 0, &image, &err), CAIRN_E_MISSING, err, "0x0");
    assert_fails(cairn_memory_image(&memory, (uint64_t)(uintptr_t)nothing, &image, &err),
                 CAIRN_E_FORMAT, err, "");
    cairn_memory_build_id(&memory, (uint64_t)(uintptr_t)nothing, hex);
    assert_string_equal(hex, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_library_is_made_again),
        cmocka_unit_test(what_is_no_module_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
