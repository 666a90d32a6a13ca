/* SPDX-License-Identifier: MIT */
/*
 * Each test has a private folder with a machine in it:
 *
 *     root/        what the process saw: module paths are looked for below it first
 *     debug/       the global folder of debug files
 *     one/ two/    symbol folders, in that order
 */
#include "debugfile/debugfile.h"

#include <elf.h>
#include <ftw.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cairn/log.h>

#include "base/alloc.h"
#include "base/buffer.h"
#include "elf/note.h"
#include "support/elfwriter.h"
#include "support/test.h"

/* No such path on the machine that runs the test: only root/ has it. */
#define MODULE "/opt/cairn-test/libx.so"
#define ID_A   "aa01020304"
#define ID_B   "bb01020304"

enum { STRIPPED, SYMTAB, FULL, DEBUG_ONLY };

static char work[64];
static char said[16384]; /* what the log got, a line each */

static void keep_log(void *ctx, enum cairn_log_level level, const char *text)
{
    (void)ctx;
    size_t n = strlen(said);
    snprintf(said + n, sizeof said - n, "%c %s\n", "WID"[level], text);
}

static int enter(void **state)
{
    (void)state;
    snprintf(work, sizeof work, "/tmp/cairn-debugfile.XXXXXX");
    said[0] = '\0';
    cairn_log_set(keep_log, NULL, CAIRN_LOG_INFO);
    return mkdtemp(work) ? 0 : -1;
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
    cairn_log_set(NULL, NULL, CAIRN_LOG_WARNING);
    return nftw(work, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* work + "/" + the rest; one of eight that take turns. */
static const char *at(const char *below)
{
    static char paths[8][512];
    static unsigned turn;
    char *path = paths[turn++ % 8];
    snprintf(path, 512, "%s/%s", work, below);
    return path;
}

static void make_folders_for(const char *path)
{
    char copy[512];
    snprintf(copy, sizeof copy, "%s", path);
    for (char *slash = strchr(copy + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(copy, 0755);
        *slash = '/';
    }
}

static void write_bytes(const char *below, const void *bytes, size_t size)
{
    const char *path = at(below);
    make_folders_for(path);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

/* Writes an ELF file; gives its CRC. `id` NULL: none; `link` NULL: none. */
static uint32_t put_elf(const char *below, int kind, const char *id, const char *link, uint32_t crc)
{
    struct test_elf w = test_elf_of(true, false, ET_DYN, EM_X86_64);
    test_elf_load(&w, PF_R | PF_X, 0x1000, 0x2000, 0x40, 0x40);
    test_elf_section(&w, ".text", kind == DEBUG_ONLY ? SHT_NOBITS : SHT_PROGBITS,
                     SHF_ALLOC | SHF_EXECINSTR, 0x2000, 0x40);
    uint8_t raw[8];
    for (size_t i = 0; id && i < 5; i++)
        raw[i] = (uint8_t)strtoul((char[]){id[2 * i], id[2 * i + 1], 0}, NULL, 16);
    if (id)
        test_elf_build_id(&w, raw, 5, true);
    if (kind >= FULL)
        test_elf_bytes(&w, ".debug_info", SHT_PROGBITS, 0, "info", 4);
    if (kind >= SYMTAB) {
        test_elf_symbol(&w, "f", STB_GLOBAL, STT_FUNC, 1, 0x2000, 0x40);
        test_elf_symtab(&w, false);
    }
    if (link)
        test_elf_debuglink(&w, link, crc);
    size_t size;
    uint8_t *bytes = test_elf_finish(&w, &size);
    write_bytes(below, bytes, size);
    uint32_t own_crc = cairn_elf_debuglink_crc(0, (struct cairn_span){bytes, size});
    free(bytes);
    return own_crc;
}

static uint32_t put(const char *below, int kind, const char *id)
{
    return put_elf(below, kind, id, NULL, 0);
}

static int find_with(bool allow_mismatch, const char *module, const char *id,
                     struct cairn_debugfile_found *ret_found, struct cairn_err *err)
{
    const char *const dirs[] = {at("one"), at("two")};
    struct cairn_debugfile_places places = {.symbol_dirs = dirs,
                                            .n_symbol_dirs = 2,
                                            .debug_dir = at("debug"),
                                            .root = at("root"),
                                            .allow_mismatch = allow_mismatch};
    struct cairn_debugfile_finder *finder;
    mkdir(at("one"), 0755);
    mkdir(at("two"), 0755);
    int code = cairn_debugfile_finder_new(&places, &finder, err);
    if (code < 0)
        return code;
    code = cairn_debugfile_find(finder, module, id, ret_found, err);
    cairn_debugfile_finder_free(finder);
    return code;
}

/* Is the path that was found the one below `work`? NULL stands for none. */
static void assert_path(const char *found, const char *below)
{
    if (!found || !below)
        assert_string_equal(found ? found : "none", below ? below : "none");
    else
        assert_string_equal(found, at(below));
}

static struct cairn_debugfile_found finds(const char *id, const char *image, const char *debug)
{
    struct cairn_debugfile_found found;
    struct cairn_err err;
    assert_ok(find_with(false, MODULE, id, &found, &err), err);
    assert_path(found.image_path, image);
    assert_path(found.debug_path, debug);
    struct cairn_debugfile_found copy = found;
    cairn_debugfile_found_done(&found);
    return copy; /* its flags are what is looked at */
}

static void a_build_id_is_looked_for_in_symbol_folders_then_in_the_debug_folder(void **state)
{
    (void)state;
    put("debug/.build-id/aa/01020304.debug", DEBUG_ONLY, ID_A);
    put("root" MODULE, STRIPPED, ID_A);
    assert_true(finds(ID_A, "root" MODULE, "debug/.build-id/aa/01020304.debug").verified);
    put("two/.build-id/aa/01020304.debug", DEBUG_ONLY, ID_A);
    finds(ID_A, "root" MODULE, "two/.build-id/aa/01020304.debug");
    put("one/.build-id/aa/01020304.debug", DEBUG_ONLY, ID_A);
    finds(ID_A, "root" MODULE, "one/.build-id/aa/01020304.debug");
    /* The local binary's own build ID serves where the process's is unknown. */
    assert_false(finds(NULL, "root" MODULE, "one/.build-id/aa/01020304.debug").verified);
}

static void without_the_binary_a_debug_file_is_enough(void **state)
{
    (void)state;
    put("one/.build-id/aa/01020304.debug", DEBUG_ONLY, ID_A);
    struct cairn_debugfile_found found = finds(ID_A, NULL, "one/.build-id/aa/01020304.debug");
    assert_true(found.verified);
    put("two/sub/libx.so", STRIPPED, ID_A); /* its program headers are better */
    finds(ID_A, "two/sub/libx.so", "one/.build-id/aa/01020304.debug");
}

static void a_wrong_file_under_a_build_id_is_passed_over(void **state)
{
    (void)state;
    put("one/.build-id/aa/01020304.debug", DEBUG_ONLY, ID_B);
    put("debug/.build-id/aa/01020304.debug", DEBUG_ONLY, ID_A);
    finds(ID_A, NULL, "debug/.build-id/aa/01020304.debug");
}

static void a_debuglink_is_looked_for_in_three_places(void **state)
{
    (void)state;
    uint32_t crc = put("debug/opt/cairn-test/libx.dbg", DEBUG_ONLY, NULL);
    put_elf("root" MODULE, STRIPPED, ID_A, "libx.dbg", crc);
    assert_true(finds(ID_A, "root" MODULE, "debug/opt/cairn-test/libx.dbg").verified);
    assert_int_equal(put("root/opt/cairn-test/.debug/libx.dbg", DEBUG_ONLY, NULL), crc);
    finds(ID_A, "root" MODULE, "root/opt/cairn-test/.debug/libx.dbg");
    assert_int_equal(put("root/opt/cairn-test/libx.dbg", DEBUG_ONLY, NULL), crc);
    finds(ID_A, "root" MODULE, "root/opt/cairn-test/libx.dbg");
    finds(NULL, "root" MODULE, "root/opt/cairn-test/libx.dbg");
}

static void a_debuglink_with_another_crc_is_passed_over(void **state)
{
    (void)state;
    uint32_t crc = put("debug/opt/cairn-test/libx.dbg", DEBUG_ONLY, NULL);
    put_elf("root" MODULE, STRIPPED, ID_A, "libx.dbg", crc ^ 1);
    finds(ID_A, "root" MODULE, NULL);
    assert_contains(said, "its CRC is");
    assert_contains(said, "passed over");
    struct cairn_debugfile_found found;
    struct cairn_err err;
    const char *const ids[] = {ID_A, NULL};
    for (size_t i = 0; i < 2; i++) {
        assert_ok(find_with(true, MODULE, ids[i], &found, &err), err);
        assert_path(found.debug_path, "debug/opt/cairn-test/libx.dbg");
        assert_true(found.mismatch);
        assert_false(found.verified);
        cairn_debugfile_found_done(&found);
    }
}

static void a_debuglink_may_not_lead_elsewhere(void **state)
{
    (void)state;
    uint32_t crc = put("root/opt/secret", DEBUG_ONLY, NULL);
    put_elf("root" MODULE, STRIPPED, ID_A, "../secret", crc);
    finds(ID_A, "root" MODULE, NULL);
    assert_contains(said, "its debuglink is a path");
    put_elf("root" MODULE, STRIPPED, ID_A, "libx.so", 0); /* itself */
    finds(ID_A, "root" MODULE, NULL);
}

static void names_are_tried_flat_then_by_path_then_anywhere(void **state)
{
    (void)state;
    put("two/b/libx.so", FULL, NULL);
    assert_false(finds(NULL, "two/b/libx.so", NULL).verified);
    put("two/a/deep/libx.so", FULL, NULL); /* sorts before b */
    finds(NULL, "two/a/deep/libx.so", NULL);
    put("two" MODULE, FULL, NULL);
    finds(NULL, "two" MODULE, NULL);
    put("two/libx.so", FULL, NULL);
    finds(NULL, "two/libx.so", NULL);
    put("one/z/libx.so", FULL, NULL); /* the first folder wins, whatever the way */
    finds(NULL, "one/z/libx.so", NULL);
}

static void names_may_end_in_debug(void **state)
{
    (void)state;
    put("one/x/libx.so.debug", DEBUG_ONLY, ID_A);
    finds(ID_A, NULL, "one/x/libx.so.debug");
    put("one" MODULE ".debug", DEBUG_ONLY, ID_A);
    finds(ID_A, NULL, "one" MODULE ".debug");
    put("one/libx.so.debug", DEBUG_ONLY, ID_A);
    finds(ID_A, NULL, "one/libx.so.debug");
}

static void a_file_of_this_machine_comes_last_where_the_build_is_unknown(void **state)
{
    (void)state;
    put("root" MODULE, FULL, ID_B);
    assert_false(finds(NULL, "root" MODULE, NULL).verified);
    put("two/libx.so", FULL, ID_A);
    finds(NULL, "two/libx.so", NULL);
    assert_true(finds(ID_B, "root" MODULE, NULL).verified);
}

static void a_local_binary_serves_a_debug_file_only_of_its_own_build(void **state)
{
    (void)state;
    put("one/libx.so", DEBUG_ONLY, ID_A);
    put("root" MODULE, STRIPPED, ID_A);
    finds(NULL, "root" MODULE, "one/libx.so");
    put("root" MODULE, STRIPPED, ID_B);
    finds(NULL, NULL, "one/libx.so");
    put("root" MODULE, STRIPPED, NULL); /* no ID, but its code lies alike */
    finds(NULL, "root" MODULE, "one/libx.so");
}

static void code_that_lies_elsewhere_is_another_build(void **state)
{
    (void)state;
    struct test_elf w = test_elf_of(true, false, ET_DYN, EM_X86_64);
    test_elf_section(&w, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, 0x3000, 0x80);
    size_t size;
    uint8_t *bytes = test_elf_finish(&w, &size);
    write_bytes("root" MODULE, bytes, size);
    free(bytes);
    put("one/libx.so", DEBUG_ONLY, NULL);
    finds(NULL, NULL, "one/libx.so");
    assert_contains(said, "its code lies elsewhere");
}

static void a_stripped_copy_leads_to_its_debug_file(void **state)
{
    (void)state;
    uint32_t crc = put("one/usr/.debug/libx.dbg", DEBUG_ONLY, NULL);
    put_elf("one/usr/libx.so", STRIPPED, NULL, "libx.dbg", crc);
    finds(NULL, "one/usr/libx.so", "one/usr/.debug/libx.dbg");
    put("one/libx.so", STRIPPED, ID_A);
    put("two/.build-id/aa/01020304.debug", DEBUG_ONLY, ID_A);
    finds(NULL, "one/libx.so", "two/.build-id/aa/01020304.debug");
}

static void better_names_of_the_same_build_are_looked_for_on(void **state)
{
    (void)state;
    put("one/libx.so", STRIPPED, ID_A);
    put("two/a/libx.so", FULL, ID_B);
    put("two/b/libx.so", FULL, ID_A);
    finds(NULL, "one/libx.so", "two/b/libx.so");
    assert_true(finds(ID_A, "one/libx.so", "two/b/libx.so").verified);
}

static void another_build_is_refused_with_both_ids(void **state)
{
    (void)state;
    put("one/libx.so", FULL, ID_B);
    struct cairn_debugfile_found found = {.verified = true};
    struct cairn_err err;
    assert_fails(find_with(false, MODULE, ID_A, &found, &err), CAIRN_E_ARG, err, ID_A);
    assert_contains(err.msg, ID_B);
    assert_contains(err.msg, "one/libx.so");
    assert_contains(err.hint, "--allow-mismatch");
    assert_true(found.verified && !found.image_path);

    assert_ok(find_with(true, MODULE, ID_A, &found, &err), err);
    assert_path(found.image_path, "one/libx.so");
    assert_true(found.mismatch);
    assert_false(found.verified);
    assert_contains(said, "W ");
    cairn_debugfile_found_done(&found);
}

static void the_right_build_wins_even_where_others_are_allowed(void **state)
{
    (void)state;
    put("one/libx.so", FULL, ID_B);
    put("two/x/libx.so", FULL, ID_A);
    struct cairn_debugfile_found found;
    struct cairn_err err;
    assert_ok(find_with(true, MODULE, ID_A, &found, &err), err);
    assert_path(found.image_path, "two/x/libx.so");
    assert_true(found.verified);
    cairn_debugfile_found_done(&found);
}

static void refused_symbols_are_warned_of_where_nothing_better_is_there(void **state)
{
    (void)state;
    put("root" MODULE, STRIPPED, ID_A);
    put("one/libx.so", FULL, ID_B);
    assert_true(finds(ID_A, "root" MODULE, NULL).verified);
    assert_contains(said, "W ");
    assert_contains(said, ID_B);
}

static void a_file_without_build_id_is_taken_unverified(void **state)
{
    (void)state;
    put("one/libx.so", FULL, NULL);
    struct cairn_debugfile_found found = finds(ID_A, "one/libx.so", NULL);
    assert_false(found.verified);
    assert_false(found.mismatch);
}

static void damaged_candidates_do_not_end_the_search(void **state)
{
    (void)state;
    write_bytes("one/libx.so", "not an ELF file", 15);
    write_bytes("one" MODULE, "\177ELF\2\1\1", 7);
    write_bytes("one/a/libx.so", "", 0);
    put("two/libx.so", FULL, NULL);
    finds(NULL, "two/libx.so", NULL);
    assert_contains(said, "one/libx.so: no ELF file");
    assert_contains(said, "one" MODULE);

    struct cairn_debugfile_found found;
    struct cairn_err err;
    unlink(at("two/libx.so"));
    assert_fails(find_with(false, MODULE, NULL, &found, &err), CAIRN_E_FORMAT, err,
                 "one/libx.so: no ELF file");
}

static void what_is_not_there_is_missing(void **state)
{
    (void)state;
    mkdir(at("one"), 0755);
    mkdir(at("one/libx.so"), 0755); /* a folder of that name is no candidate */
    struct cairn_debugfile_found found;
    struct cairn_err err;
    assert_fails(find_with(false, MODULE, ID_A, &found, &err), CAIRN_E_MISSING, err, MODULE);
    assert_contains(err.hint, "--symbols");
    assert_string_equal(said, "");
    assert_fails(find_with(false, MODULE, "../../x", &found, &err), CAIRN_E_ARG, err, "hex");
}

static void a_path_cannot_climb_out_of_a_symbol_folder(void **state)
{
    (void)state;
    put("secret/f.so", FULL, NULL);
    mkdir(at("one"), 0755);
    struct cairn_debugfile_found found;
    struct cairn_err err;
    assert_fails(find_with(false, "/../secret/f.so", NULL, &found, &err), CAIRN_E_MISSING, err,
                 "f.so");
}

static void links_to_files_count_and_links_to_folders_do_not(void **state)
{
    (void)state;
    put("elsewhere/libx.so", FULL, NULL);
    mkdir(at("one"), 0755);
    assert_int_equal(symlink(at("elsewhere"), at("one/folder")), 0);
    assert_int_equal(symlink("..", at("one/loop")), 0);
    struct cairn_debugfile_found found;
    struct cairn_err err;
    assert_int_equal(find_with(false, MODULE, NULL, &found, &err), CAIRN_E_MISSING);
    mkdir(at("one/sub"), 0755);
    assert_int_equal(symlink(at("elsewhere/libx.so"), at("one/sub/libx.so")), 0);
    finds(NULL, "one/sub/libx.so", NULL);
}

static struct cairn_debugfile_finder *finder_of(const char *pattern)
{
    struct cairn_debugfile_places places = {
        .symbol_dirs = &pattern, .n_symbol_dirs = 1, .debug_dir = at("debug")};
    struct cairn_debugfile_finder *finder;
    struct cairn_err err;
    assert_ok(cairn_debugfile_finder_new(&places, &finder, &err), err);
    return finder;
}

static void a_symbol_folder_may_be_a_glob(void **state)
{
    (void)state;
    static const struct {
        const char *pattern, *image;
    } cases[] = {{"v*", "v1/libx.so"}, {"v[2-9]", "v2/libx.so"}, {"w[1]", "w[1]/libx.so"}};
    put("v1/libx.so", FULL, NULL);
    put("v2/libx.so", FULL, NULL);
    put("w1/libx.so", FULL, NULL);
    put("w[1]/libx.so", FULL, NULL); /* as it stands comes before as a pattern */
    write_bytes("v0", "a file", 6);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct cairn_debugfile_finder *finder = finder_of(at(cases[i].pattern));
        struct cairn_debugfile_found found;
        struct cairn_err err;
        assert_ok(cairn_debugfile_find(finder, MODULE, NULL, &found, &err), err);
        assert_path(found.image_path, cases[i].image);
        cairn_debugfile_found_done(&found);
        cairn_debugfile_finder_free(finder);
    }
    cairn_debugfile_finder_free(finder_of(at("nothing*")));
    assert_contains(said, "nothing*: no such folder");
}

static void a_given_file_is_taken_as_it_is(void **state)
{
    (void)state;
    put("f.so", STRIPPED, ID_A);
    put("one/.build-id/aa/01020304.debug", DEBUG_ONLY, ID_A);
    put("one/f.so", FULL, ID_B);
    struct cairn_debugfile_finder *finder = finder_of(at("one"));
    struct cairn_debugfile_found found;
    struct cairn_err err;
    assert_ok(cairn_debugfile_find_for(finder, at("f.so"), &found, &err), err);
    assert_path(found.image_path, "f.so");
    assert_path(found.debug_path, "one/.build-id/aa/01020304.debug");
    cairn_debugfile_found_done(&found);

    put("f.debug", DEBUG_ONLY, ID_A);
    assert_ok(cairn_debugfile_find_for(finder, at("f.debug"), &found, &err), err);
    assert_path(found.image_path, NULL);
    assert_path(found.debug_path, "f.debug");
    cairn_debugfile_found_done(&found);
    assert_fails(cairn_debugfile_find_for(finder, at("none"), &found, &err), CAIRN_E_MISSING, err,
                 "none");
    assert_fails(cairn_debugfile_find_for(finder, at("one"), &found, &err), CAIRN_E_FORMAT, err,
                 "a folder");
    cairn_debugfile_finder_free(finder);
}

static void memory_may_be_gone_at_any_time(void **state)
{
    (void)state;
    uint32_t crc = put("debug/opt/cairn-test/libx.dbg", DEBUG_ONLY, NULL);
    put_elf("root" MODULE, STRIPPED, ID_A, "libx.dbg", crc);
    put("two/a/libx.so", FULL, ID_B);
    int code = CAIRN_E_NOMEM;
    for (long n = 0; code == CAIRN_E_NOMEM && n < 200; n++) {
        struct cairn_debugfile_found found = {0};
        struct cairn_err err;
        cairn_alloc_fail_after(n);
        code = find_with(false, MODULE, NULL, &found, &err);
        cairn_alloc_fail_after(-1);
        assert_true(code == CAIRN_OK || !found.image_path);
        cairn_debugfile_found_done(&found);
    }
    assert_int_equal(code, CAIRN_OK);
}

#define folder_test(function) cmocka_unit_test_setup_teardown(function, enter, leave)

/* What the user chose is unpacked without a bound; a target chooses all other paths. */
static void only_folders_that_the_user_named_are_vouched_for(void **state)
{
    (void)state;
    static const struct {
        const char *debug_dir, *path;
        bool vouched;
    } cases[] = {
        {"/d", "/d/.build-id/aa/01.debug", true},
        {"/d/", "/d/x", true},
        {"/d", "/dd/x", false},
        {"/d", "/d/../x", false},
        {"/", "/x", true},
        {"/", "x", false},
        {"", "/usr/lib/x.so", false},
        {"", "x", false},
        {"", "", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct cairn_debugfile_places places = {.debug_dir = cases[i].debug_dir};
        struct cairn_debugfile_finder *finder;
        struct cairn_err err;
        assert_ok(cairn_debugfile_finder_new(&places, &finder, &err), err);
        assert_int_equal(cairn_debugfile_finder_vouches(finder, cases[i].path), cases[i].vouched);
        cairn_debugfile_finder_free(finder);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_folders_that_the_user_named_are_vouched_for),
        folder_test(a_build_id_is_looked_for_in_symbol_folders_then_in_the_debug_folder),
        folder_test(without_the_binary_a_debug_file_is_enough),
        folder_test(a_wrong_file_under_a_build_id_is_passed_over),
        folder_test(a_debuglink_is_looked_for_in_three_places),
        folder_test(a_debuglink_with_another_crc_is_passed_over),
        folder_test(a_debuglink_may_not_lead_elsewhere),
        folder_test(names_are_tried_flat_then_by_path_then_anywhere),
        folder_test(names_may_end_in_debug),
        folder_test(a_file_of_this_machine_comes_last_where_the_build_is_unknown),
        folder_test(a_local_binary_serves_a_debug_file_only_of_its_own_build),
        folder_test(code_that_lies_elsewhere_is_another_build),
        folder_test(a_stripped_copy_leads_to_its_debug_file),
        folder_test(better_names_of_the_same_build_are_looked_for_on),
        folder_test(another_build_is_refused_with_both_ids),
        folder_test(the_right_build_wins_even_where_others_are_allowed),
        folder_test(refused_symbols_are_warned_of_where_nothing_better_is_there),
        folder_test(a_file_without_build_id_is_taken_unverified),
        folder_test(damaged_candidates_do_not_end_the_search),
        folder_test(what_is_not_there_is_missing),
        folder_test(a_path_cannot_climb_out_of_a_symbol_folder),
        folder_test(links_to_files_count_and_links_to_folders_do_not),
        folder_test(a_symbol_folder_may_be_a_glob),
        folder_test(a_given_file_is_taken_as_it_is),
        folder_test(memory_may_be_gone_at_any_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
