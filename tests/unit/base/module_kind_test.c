/* SPDX-License-Identifier: MIT */
#include "base/module_kind.h"

#include "support/test.h"

static const uint64_t kernel = 0xffffffff81000000;

static void each_name_has_its_kind(void **state)
{
    (void)state;
    static const struct {
        const char *path;
        uint64_t start;
        enum cairn_module_kind kind;
    } rows[] = {
        {"", 0x1000, CAIRN_MODULE_ANONYMOUS},
        {"//anon", 0x1000, CAIRN_MODULE_ANONYMOUS},
        {"[anon]", 0x1000, CAIRN_MODULE_ANONYMOUS},
        {"[anon:scudo:primary]", 0x1000, CAIRN_MODULE_ANONYMOUS},
        {"[heap]", 0x1000, CAIRN_MODULE_ANONYMOUS},
        {"[stack]", 0x1000, CAIRN_MODULE_ANONYMOUS},
        {"[stack:123]", 0x1000, CAIRN_MODULE_ANONYMOUS},
        {"/dev/zero (deleted)", 0x1000, CAIRN_MODULE_ANONYMOUS},
        {"/SYSV00000000 (deleted)", 0x1000, CAIRN_MODULE_ANONYMOUS},
        {"/dev/zeroes", 0x1000, CAIRN_MODULE_FILE},
        {"/SYSV0000000", 0x1000, CAIRN_MODULE_FILE},
        {"/usr/lib/libc.so.6", 0x1000, CAIRN_MODULE_FILE},
        {"libc.so.6", 0, CAIRN_MODULE_FILE},
        {"/tmp/x (deleted)", 0x1000, CAIRN_MODULE_FILE},
        {"/memfd:jit (deleted)", 0x1000, CAIRN_MODULE_JIT},
        {"/dev/shm/jit", 0x1000, CAIRN_MODULE_JIT},
        {"[vdso]", 0x7ffff7fc1000, CAIRN_MODULE_VDSO},
        {"[vdso]", 0, CAIRN_MODULE_VDSO},
        {"[vsyscall]", 0xffffffffff600000, CAIRN_MODULE_VSYSCALL},
        {"[uprobes]", 0x7fffffffe000, CAIRN_MODULE_OTHER},
        {"[vvar]", 0x7fffffffe000, CAIRN_MODULE_OTHER},
        {"[kernel.kallsyms]", 1ull << 63, CAIRN_MODULE_KERNEL},
        {"[kernel.kallsyms]_text", kernel, CAIRN_MODULE_KERNEL},
        {"[guest.kernel.kallsyms]", kernel, CAIRN_MODULE_KERNEL},
        {"[nf_tables]", kernel, CAIRN_MODULE_KERNEL_MODULE},
        {"[virtio_net]", kernel, CAIRN_MODULE_KERNEL_MODULE},
        {"[vfat]", kernel, CAIRN_MODULE_KERNEL_MODULE},
        {"[virtio_net]", 0x1000, CAIRN_MODULE_OTHER},
        {"[", kernel, CAIRN_MODULE_KERNEL_MODULE},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (cairn_module_kind_of(rows[i].path, rows[i].start) != rows[i].kind)
            fail_msg("%s at 0x%llx: %d", rows[i].path, (unsigned long long)rows[i].start,
                     (int)cairn_module_kind_of(rows[i].path, rows[i].start));
}

static void what_holds_code_of_a_file_and_what_is_made(void **state)
{
    (void)state;
    assert_true(cairn_module_is_file(CAIRN_MODULE_FILE) && cairn_module_is_file(CAIRN_MODULE_JIT));
    assert_false(cairn_module_is_file(CAIRN_MODULE_VDSO));
    assert_true(cairn_module_is_made(CAIRN_MODULE_ANONYMOUS));
    assert_true(cairn_module_is_made(CAIRN_MODULE_JIT));
    assert_false(cairn_module_is_made(CAIRN_MODULE_FILE));
    assert_true(cairn_module_is_kernel(CAIRN_MODULE_KERNEL_MODULE));
    assert_false(cairn_module_is_kernel(CAIRN_MODULE_VSYSCALL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_name_has_its_kind),
        cmocka_unit_test(what_holds_code_of_a_file_and_what_is_made),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
