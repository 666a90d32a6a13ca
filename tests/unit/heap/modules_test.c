/* SPDX-License-Identifier: MIT */
#include "heap/modules.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>

#include "heap/build_id.h"
#include "rt/pages.h"
#include "unit/heap/temporary.h"
#include "unwind/unload.h"

static struct cairn_tracked_state made;
static struct cairn_heap_modules modules;

static int make(void **state)
{
    (void)state;
    memset(&made, 0, sizeof(made));
    memset(&modules, 0, sizeof(modules));
    return cairn_heap_state_make(&made, temporary_settings.dir, 1 << 22) ? 0 : -1;
}

static int leave(void **state)
{
    (void)state;
    cairn_heap_state_remove(&made);
    cairn_heap_state_leave(&made);
    return 0;
}

static const struct cairn_heap_module *record_of(uint64_t va)
{
    for (uint32_t at = 0; at < modules.chunk_used;) {
        const struct cairn_heap_module *record = (const void *)(modules.chunk + at);
        if (record->from <= va && va < record->to)
            return record;
        at += record->bytes;
    }
    return NULL;
}

static void the_mapping_of_an_address_is_noted_once(void **state)
{
    (void)state;
    uint64_t va = (uintptr_t)&the_mapping_of_an_address_is_noted_once + 1;
    cairn_heap_modules_meet(&modules, &made, va);
    const struct cairn_heap_module *record = record_of(va);
    assert_non_null(record);
    assert_true(record->n_path > 0);
    assert_non_null(strstr((const char *)(record + 1) + record->n_build_id, "heap_modules_test"));
    uint32_t used = modules.chunk_used, n = modules.n_records;
    cairn_heap_modules_meet(&modules, &made, va);
    assert_int_equal(modules.chunk_used, used);
    cairn_heap_modules_meet(&modules, &made, 0x10); /* in none */
    assert_int_equal(modules.n_records, n);
    assert_null(record_of(0x10));
}

static void build_ids_are_those_of_the_files(void **state)
{
    (void)state;
    Dl_info info;
    uint8_t id[CAIRN_HEAP_BUILD_ID];
    assert_int_not_equal(dladdr((void *)(uintptr_t)&malloc, &info), 0);
    size_t n = cairn_heap_build_id((uintptr_t)info.dli_fbase, id);
    if (n == 0) {
        print_message("skipped: this libc has no build ID\n");
        skip();
    }
    assert_in_range(n, 8, 64);
    assert_int_equal(cairn_heap_build_id(0x10, id), 0);
    static const uint8_t zeros[4096];
    assert_int_equal(cairn_heap_build_id((uintptr_t)zeros, id), 0);
}

static void a_look_without_an_unload_is_none(void **state)
{
    (void)state;
    assert_false(cairn_heap_modules_refresh(&modules, &made));
    assert_false(cairn_heap_modules_refresh(&modules, &made));
    assert_int_equal(modules.n_records, 0);
}

/* As if another file's code had been there before. */
static void a_file_in_the_place_of_another_is_told(void **state)
{
    (void)state;
    uint64_t va = (uintptr_t)&a_file_in_the_place_of_another_is_told + 1;
    cairn_heap_modules_meet(&modules, &made, va);
    uint32_t n = modules.n_records;
    cairn_unload_begin();
    cairn_unload_end();
    assert_false(cairn_heap_modules_refresh(&modules, &made));
    assert_int_equal(modules.n_records, n);
    for (uint32_t i = 0; i < modules.n; i++)
        if (modules.known[i].from <= va && va < modules.known[i].to)
            modules.known[i].inode++;
    cairn_unload_begin();
    cairn_unload_end();
    assert_true(cairn_heap_modules_refresh(&modules, &made));
    assert_int_equal(modules.n_records, n + 1);
}

/* Where nothing has come to its place yet, too: what comes later is met anew. */
static void a_file_that_is_gone_is_told_if_stacks_went_through_it(void **state)
{
    (void)state;
    size_t page = cairn_pages_size();
    int fd = open("/proc/self/exe", O_RDONLY);
    for (int used = 0; used < 2; used++) {
        char *code = mmap(NULL, page, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
        assert_ptr_not_equal(code, MAP_FAILED);
        cairn_heap_modules_meet(&modules, &made, used ? (uintptr_t)code + 1 : (uintptr_t)&make + 1);
        munmap(code, page);
        cairn_unload_begin();
        cairn_unload_end();
        assert_int_equal(cairn_heap_modules_refresh(&modules, &made), used);
        for (uint32_t i = 0; i < modules.n; i++)
            assert_int_not_equal(modules.known[i].from, (uintptr_t)code);
        cairn_unload_begin();
        cairn_unload_end();
        assert_false(cairn_heap_modules_refresh(&modules, &made));
    }
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_mapping_of_an_address_is_noted_once, make, leave),
        cmocka_unit_test(build_ids_are_those_of_the_files),
        cmocka_unit_test_setup_teardown(a_look_without_an_unload_is_none, make, leave),
        cmocka_unit_test_setup_teardown(a_file_in_the_place_of_another_is_told, make, leave),
        cmocka_unit_test_setup_teardown(a_file_that_is_gone_is_told_if_stacks_went_through_it, make,
                                        leave),
    };
    return cmocka_run_group_tests(tests, make_temporary, remove_temporary);
}
