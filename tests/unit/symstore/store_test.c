/* SPDX-License-Identifier: MIT */
#include <elf.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cairn/symbols.h>

#include "base/file.h"
#include "debugfile/by_id.h"
#include "debugfile/debugfile.h"
#include "support/elfwriter.h"
#include "support/test.h"

#define ID "ab01020304050607"

static char work[64], store[96];
static struct cairn_err err;

static int enter(void **state)
{
    (void)state;
    snprintf(work, sizeof work, "/tmp/cairn-symstore.XXXXXX");
    if (!mkdtemp(work))
        return -1;
    snprintf(store, sizeof store, "%s/store", work);
    return 0;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
    (void)st;
    (void)type;
    (void)at;
    return remove(path);
}

static int leave(void **state)
{
    (void)state;
    assert_ok(cairn_by_id_set_store(NULL, &err), err);
    assert_ok(cairn_by_id_set_fetched(NULL, NULL, NULL, &err), err);
    return nftw(work, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static const char *in_work(const char *name)
{
    static char paths[4][160];
    static unsigned next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", work, name);
    return path;
}

enum kind { BINARY, UNSTRIPPED, DEBUG_FILE };

static void write_elf(const char *path, enum kind kind, uint8_t first_of_id)
{
    const uint8_t id[8] = {first_of_id, 1, 2, 3, 4, 5, 6, 7};
    struct test_elf w = test_elf_of(true, false, ET_DYN, EM_X86_64);
    test_elf_load(&w, PF_R | PF_X, 0x1000, 0x1000, 0x100, 0x100);
    if (first_of_id)
        test_elf_build_id(&w, id, sizeof id, true);
    test_elf_section(&w, ".text", kind == DEBUG_FILE ? SHT_NOBITS : SHT_PROGBITS,
                     SHF_ALLOC | SHF_EXECINSTR, 0x1000, 0x100);
    if (kind != BINARY)
        test_elf_bytes(&w, ".debug_info", SHT_PROGBITS, 0, "12345678", 8);
    size_t size;
    uint8_t *bytes = test_elf_finish(&w, &size);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
    free(bytes);
}

static int add(const char *path, struct cairn_symbol_added *sum)
{
    *sum = (struct cairn_symbol_added){.size = sizeof *sum};
    return cairn_symbol_store_add(store, path, NULL, sum, &err);
}

static void a_file_is_kept_once_by_its_build_id(void **state)
{
    (void)state;
    struct cairn_symbol_added sum;
    struct stat st;
    write_elf(in_work("a"), BINARY, 0xab);
    assert_ok(add(in_work("a"), &sum), err);
    assert_int_equal(sum.n_added, 1);
    assert_int_equal(stat(in_work("store/.build-id/ab/01020304050607"), &st), 0);
    assert_int_equal(st.st_mode & 07777, 0600);
    assert_ok(add(in_work("a"), &sum), err);
    assert_int_equal(sum.n_added, 0);
    assert_int_equal(sum.n_held, 1);
}

static void a_better_file_takes_the_place_of_a_stripped_one(void **state)
{
    (void)state;
    struct cairn_symbol_added sum;
    write_elf(in_work("a"), BINARY, 0xab);
    write_elf(in_work("b"), UNSTRIPPED, 0xab);
    assert_ok(add(in_work("a"), &sum), err);
    assert_ok(add(in_work("b"), &sum), err);
    assert_int_equal(sum.n_added, 1);
    assert_ok(add(in_work("a"), &sum), err);
    assert_int_equal(sum.n_held, 1);
}

static void what_has_no_build_id_or_is_damaged_is_counted(void **state)
{
    (void)state;
    struct cairn_symbol_added sum;
    assert_int_equal(mkdir(in_work("in"), 0700), 0);
    write_elf(in_work("in/none"), BINARY, 0);
    write_elf(in_work("in/cut"), BINARY, 0xab);
    assert_int_equal(truncate(in_work("in/cut"), 40), 0);
    assert_int_equal(symlink("nowhere", in_work("in/dangling")), 0);
    assert_int_equal(mkfifo(in_work("in/pipe"), 0600), 0);
    assert_ok(add(in_work("in"), &sum), err);
    assert_int_equal(sum.n_without_id, 1);
    assert_int_equal(sum.n_damaged, 1);
    assert_int_equal(sum.n_added, 0);
    assert_fails(add(in_work("missing"), &sum), CAIRN_E_MISSING, err, "missing");
    assert_fails(add(in_work("in/pipe"), &sum), CAIRN_E_IO, err, "pipe");
}

static void the_bound_removes_old_files_and_refuses_when_new_ones_fill_it(void **state)
{
    (void)state;
    struct cairn_symbol_added sum;
    struct cairn_symbol_add_opts opts = {.size = sizeof opts};
    struct stat st;
    const struct timespec old[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
    write_elf(in_work("a"), BINARY, 0xab);
    write_elf(in_work("b"), BINARY, 0xac);
    write_elf(in_work("c"), BINARY, 0xad);
    assert_ok(add(in_work("a"), &sum), err);
    const char *kept = in_work("store/.build-id/ab/01020304050607");
    assert_int_equal(stat(kept, &st), 0);
    assert_int_equal(utimensat(AT_FDCWD, in_work("store/.build-id/ab/01020304050607.from"), old, 0),
                     0);
    opts.max_bytes = (uint64_t)st.st_size + 1;
    sum = (struct cairn_symbol_added){.size = sizeof sum};
    assert_ok(cairn_symbol_store_add(store, in_work("b"), &opts, &sum, &err), err);
    assert_int_equal(sum.n_removed, 1);
    assert_int_not_equal(stat(kept, &st), 0);
    assert_int_equal(mkdir(in_work("in"), 0700), 0);
    write_elf(in_work("in/d"), BINARY, 0xae);
    write_elf(in_work("in/e"), BINARY, 0xaf);
    assert_fails(cairn_symbol_store_add(store, in_work("in"), &opts, &sum, &err), CAIRN_E_LIMIT,
                 err, "full");
}

static void a_file_beyond_the_bound_costs_no_other(void **state)
{
    (void)state;
    struct cairn_symbol_added sum;
    struct stat st;
    const struct timespec old[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
    write_elf(in_work("a"), BINARY, 0xab);
    write_elf(in_work("b"), UNSTRIPPED, 0xac);
    assert_ok(add(in_work("a"), &sum), err);
    assert_int_equal(stat(in_work("b"), &st), 0);
    assert_int_equal(utimensat(AT_FDCWD, in_work("store/.build-id/ab/01020304050607.from"), old, 0),
                     0);
    const struct cairn_symbol_add_opts opts = {.size = sizeof opts,
                                               .max_bytes = (uint64_t)st.st_size - 1};
    assert_fails(cairn_symbol_store_add(store, in_work("b"), &opts, &sum, &err), CAIRN_E_LIMIT, err,
                 "full");
    assert_int_equal(sum.n_removed, 0);
    assert_int_equal(stat(in_work("store/.build-id/ab/01020304050607"), &st), 0);
}

static int count(void *ctx, const struct cairn_symbol_entry *entry)
{
    assert_string_equal(entry->build_id, ID);
    ++*(unsigned *)ctx;
    return 0;
}

static void trim_tells_what_would_go_and_deletes_it(void **state)
{
    (void)state;
    struct cairn_symbol_added sum;
    uint64_t n, bytes;
    unsigned told = 0;
    write_elf(in_work("a"), BINARY, 0xab);
    assert_ok(add(in_work("a"), &sum), err);
    struct cairn_symbol_trim_opts opts = {
        .size = sizeof opts, .has_max_bytes = 1, .dry_run = 1, .each = count, .ctx = &told};
    assert_ok(cairn_symbol_store_trim(store, &opts, &n, &bytes, &err), err);
    assert_int_equal(n, 1);
    assert_int_equal(told, 1);
    assert_int_equal(access(in_work("store/.build-id/ab/01020304050607"), F_OK), 0);
    opts.dry_run = 0;
    assert_ok(cairn_symbol_store_trim(store, &opts, &n, NULL, &err), err);
    assert_int_equal(n, 1);
    assert_int_not_equal(access(in_work("store/.build-id/ab/01020304050607"), F_OK), 0);
    told = 0;
    assert_ok(cairn_symbol_store_each(store, count, &told, &err), err);
    assert_int_equal(told, 0);
}

/* What the search finds for a module that is on another machine. */
static struct cairn_debugfile_found find(void)
{
    struct cairn_debugfile_finder *finder;
    struct cairn_debugfile_found found = {0};
    const struct cairn_debugfile_places places = {.debug_dir = "/nowhere", .fetches = true};
    assert_ok(cairn_debugfile_finder_new(&places, &finder, &err), err);
    (void)cairn_debugfile_find(finder, "/opt/elsewhere/libx.so", ID, &found, &err);
    cairn_debugfile_finder_free(finder);
    return found;
}

static void every_search_looks_into_the_store(void **state)
{
    (void)state;
    struct cairn_symbol_added sum;
    write_elf(in_work("a"), BINARY, 0xab);
    write_elf(in_work("a.debug"), DEBUG_FILE, 0xab);
    assert_ok(add(in_work("a"), &sum), err);
    assert_ok(add(in_work("a.debug"), &sum), err);
    struct cairn_debugfile_found found = find();
    assert_null(found.image_path);
    assert_ok(cairn_symbol_store_use(store, &err), err);
    found = find();
    assert_contains(found.image_path, "store/.build-id/ab/01020304050607");
    assert_contains(found.debug_path, "01020304050607.debug");
    assert_true(found.verified);
    cairn_debugfile_found_done(&found);
}

static void what_others_could_write_in_the_store_is_not_used(void **state)
{
    (void)state;
    struct cairn_symbol_added sum;
    write_elf(in_work("a"), BINARY, 0xab);
    assert_ok(add(in_work("a"), &sum), err);
    assert_ok(cairn_symbol_store_use(store, &err), err);
    assert_int_equal(chmod(in_work("store/.build-id/ab/01020304050607"), 0666), 0);
    struct cairn_debugfile_found found = find();
    assert_null(found.image_path);
}

static unsigned n_asked, asked_lacks;

static void put_file(void *ctx, const struct cairn_lacking *wanted, size_t n)
{
    (void)ctx;
    assert_int_equal(n, 1);
    assert_string_equal(wanted->build_id, ID);
    asked_lacks = wanted->lacks;
    n_asked++;
    write_elf(in_work("fetched/" ID "/debuginfo"), DEBUG_FILE, 0xab);
    assert_int_equal(chmod(in_work("fetched/" ID "/debuginfo"), 0600), 0);
}

static void what_is_lacking_is_asked_for_and_taken(void **state)
{
    (void)state;
    assert_int_equal(mkdir(in_work("fetched"), 0700), 0);
    assert_int_equal(mkdir(in_work("fetched/" ID), 0700), 0);
    assert_ok(cairn_by_id_set_fetched(in_work("fetched"), put_file, NULL, &err), err);
    n_asked = 0;
    struct cairn_debugfile_found found = find();
    assert_int_equal(n_asked, 1);
    assert_int_equal(asked_lacks, CAIRN_LACKS_DEBUG | CAIRN_LACKS_IMAGE);
    assert_contains(found.debug_path, "fetched/" ID "/debuginfo");
    assert_true(found.verified);
    cairn_debugfile_found_done(&found);
}

static void kernel_modules_alone_are_not_asked_for(void **state)
{
    static const struct {
        const char *path;
        unsigned n_asked;
    } rows[] = {{"/lib/a.ko", 0}, {"/lib/a.ko.xz", 0}, {"/lib/a.kopete.so", 1}};
    (void)state;
    assert_int_equal(mkdir(in_work("fetched"), 0700), 0);
    assert_int_equal(mkdir(in_work("fetched/" ID), 0700), 0);
    assert_ok(cairn_by_id_set_fetched(in_work("fetched"), put_file, NULL, &err), err);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct cairn_debugfile_places places = {.fetches = true};
        struct cairn_debugfile_finder *finder;
        struct cairn_debugfile_found found;
        n_asked = 0;
        assert_ok(cairn_debugfile_finder_new(&places, &finder, &err), err);
        if (cairn_debugfile_find(finder, rows[i].path, ID, &found, &err) == CAIRN_OK)
            cairn_debugfile_found_done(&found);
        cairn_debugfile_finder_free(finder);
        assert_int_equal(n_asked, rows[i].n_asked);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_file_is_kept_once_by_its_build_id, enter, leave),
        cmocka_unit_test_setup_teardown(a_better_file_takes_the_place_of_a_stripped_one, enter,
                                        leave),
        cmocka_unit_test_setup_teardown(what_has_no_build_id_or_is_damaged_is_counted, enter,
                                        leave),
        cmocka_unit_test_setup_teardown(
            the_bound_removes_old_files_and_refuses_when_new_ones_fill_it, enter, leave),
        cmocka_unit_test_setup_teardown(a_file_beyond_the_bound_costs_no_other, enter, leave),
        cmocka_unit_test_setup_teardown(trim_tells_what_would_go_and_deletes_it, enter, leave),
        cmocka_unit_test_setup_teardown(every_search_looks_into_the_store, enter, leave),
        cmocka_unit_test_setup_teardown(what_others_could_write_in_the_store_is_not_used, enter,
                                        leave),
        cmocka_unit_test_setup_teardown(what_is_lacking_is_asked_for_and_taken, enter, leave),
        cmocka_unit_test_setup_teardown(kernel_modules_alone_are_not_asked_for, enter, leave),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
