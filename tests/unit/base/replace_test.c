/* SPDX-License-Identifier: MIT */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cairn/log.h>

#include "base/alloc.h"
#include "base/file.h"
#include "support/emulated.h"
#include "support/test.h"

enum { NOBODY = 65534 };

static char folder[PATH_MAX];

/* Each test has a folder of its own and stands in it. */
static int enter(void **state)
{
    (void)state;
    char made[] = "/tmp/cairn-replace-XXXXXX";
    umask(022);
    return !mkdtemp(made) || chdir(made) < 0 || !getcwd(folder, sizeof folder);
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *at)
{
    (void)st;
    (void)kind;
    (void)at;
    return remove(path);
}

/* Not by rm: a guest has no programs. */
static int leave(void **state)
{
    (void)state;
    enum { OPEN_MAX_FOLDERS = 8 };
    cairn_alloc_fail_after(-1);
    cairn_log_set(NULL, NULL, CAIRN_LOG_WARNING);
    return chdir("/") < 0 || nftw(folder, remove_one, OPEN_MAX_FOLDERS, FTW_DEPTH | FTW_PHYS);
}

static void put(const char *name, const char *text)
{
    FILE *f = fopen(name, "w");
    assert_non_null(f);
    fputs(text, f);
    assert_int_equal(fclose(f), 0);
}

static void hold_text(const char *name, const char *expected)
{
    char text[64] = {0};
    FILE *f = fopen(name, "r");
    assert_non_null(f);
    size_t size = fread(text, 1, sizeof text - 1, f);
    fclose(f);
    text[size] = 0;
    assert_string_equal(text, expected);
}

/* How many names the folder has besides "." and ".."; a left-over temporary file is one more. */
static int count_names(const char *where)
{
    DIR *dir = opendir(where);
    assert_non_null(dir);
    int n = -2;
    while (readdir(dir))
        n++;
    closedir(dir);
    return n;
}

static int write_new(const char *name, enum cairn_replace_mode mode, const char *text,
                     struct cairn_err *err)
{
    struct cairn_replace r = {0};
    int code = cairn_replace_open(name, mode, &r, err);
    if (code == CAIRN_OK)
        code = cairn_write_all(r.fd, text, strlen(text), name, err);
    if (code == CAIRN_OK)
        code = cairn_replace_commit(&r, err);
    cairn_replace_drop(&r);
    return code;
}

static unsigned mode_of(const char *name)
{
    struct stat st;
    assert_int_equal(stat(name, &st), 0);
    return st.st_mode & 07777;
}

static void a_new_file_gets_the_mode_that_umask_allows(void **state)
{
    (void)state;
    struct cairn_err err;
    umask(027);
    assert_ok(write_new("a", CAIRN_REPLACE_NEVER, "new", &err), err);
    assert_ok(write_new("b", CAIRN_REPLACE_FORCE, "new", &err), err);
    hold_text("a", "new");
    assert_int_equal(mode_of("a"), 0640);
    assert_int_equal(mode_of("b"), 0640);
    assert_int_equal(count_names("."), 2);
}

static void an_existing_file_is_replaced_only_on_demand(void **state)
{
    (void)state;
    struct cairn_err err;
    put("a", "old");
    assert_fails(write_new("a", CAIRN_REPLACE_NEVER, "new", &err), CAIRN_E_EXISTS, err,
                 "a: is there already");
    assert_contains(err.hint, "--force");
    hold_text("a", "old");
    assert_ok(write_new("a", CAIRN_REPLACE_FORCE, "new", &err), err);
    hold_text("a", "new");
    assert_fails(write_new("b", CAIRN_REPLACE_IN_PLACE, "new", &err), CAIRN_E_MISSING, err, "b");
    assert_int_equal(count_names("."), 1);
}

static void mode_and_owner_are_kept(void **state)
{
    (void)state;
    static const enum cairn_replace_mode modes[] = {CAIRN_REPLACE_FORCE, CAIRN_REPLACE_IN_PLACE};
    for (int i = 0; i < 2; i++) {
        struct cairn_err err;
        struct stat st;
        put("a", "old");
        if (geteuid() == 0)
            assert_int_equal(chown("a", 1234, 4321), 0);
        assert_int_equal(chmod("a", 04751), 0);
        assert_ok(write_new("a", modes[i], "new", &err), err);
        assert_int_equal(mode_of("a"), 04751);
        assert_int_equal(stat("a", &st), 0);
        assert_int_equal(st.st_uid, geteuid() == 0 ? 1234 : geteuid());
        unlink("a");
    }
}

static void the_temporary_file_is_private_until_it_has_the_mode(void **state)
{
    (void)state;
    struct cairn_err err;
    struct cairn_replace r;
    put("secret", "old");
    assert_int_equal(chmod("secret", 0600), 0);
    assert_ok(cairn_replace_open("secret", CAIRN_REPLACE_IN_PLACE, &r, &err), err);
    assert_int_equal(mode_of(r.temp), 0600);
    assert_contains(r.temp, "/.secret.cairn-");
    cairn_replace_drop(&r);
    assert_int_equal(count_names("."), 1);
}

static void symlinks_are_followed_and_stay(void **state)
{
    (void)state;
    struct cairn_err err;
    struct stat st;
    assert_int_equal(mkdir("real", 0755), 0);
    assert_int_equal(mkdir("links", 0755), 0);
    put("real/a", "old");
    assert_int_equal(symlink("../real/a", "links/one"), 0);
    assert_int_equal(symlink("links/one", "two"), 0);
    assert_ok(write_new("two", CAIRN_REPLACE_IN_PLACE, "new", &err), err);
    hold_text("real/a", "new");
    assert_int_equal(lstat("two", &st), 0);
    assert_true(S_ISLNK(st.st_mode));
    assert_int_equal(count_names("links"), 1);
}

static void a_symlink_to_a_file_yet_to_come_makes_that_file(void **state)
{
    (void)state;
    if (is_emulated("/ is the folder of its libraries"))
        skip();
    struct cairn_err err;
    char absolute[PATH_MAX + 16];
    assert_int_equal(mkdir("real", 0755), 0);
    assert_int_equal(symlink("real/a", "one"), 0);
    snprintf(absolute, sizeof absolute, "%.4000s/one", folder);
    assert_int_equal(symlink(absolute, "two"), 0);
    assert_ok(write_new("two", CAIRN_REPLACE_NEVER, "new", &err), err);
    hold_text("real/a", "new");
    assert_int_equal(symlink("loop", "loop"), 0);
    assert_fails(write_new("loop", CAIRN_REPLACE_NEVER, "new", &err), CAIRN_E_IO, err, "loop");
    assert_int_equal(symlink("nowhere/a", "lost"), 0);
    assert_fails(write_new("lost", CAIRN_REPLACE_NEVER, "new", &err), CAIRN_E_MISSING, err,
                 "nowhere");
    assert_contains(err.hint, "mkdir -p");
}

static void what_is_no_file_is_refused(void **state)
{
    (void)state;
    if (is_emulated("/ is the folder of its libraries"))
        skip();
    struct cairn_err err;
    assert_fails(write_new("/dev/null", CAIRN_REPLACE_FORCE, "x", &err), CAIRN_E_ARG, err,
                 "/dev/null: is no regular file");
    assert_int_equal(mkdir("dir", 0755), 0);
    assert_fails(write_new("dir", CAIRN_REPLACE_FORCE, "x", &err), CAIRN_E_ARG, err, "no regular");
    assert_fails(write_new("new/", CAIRN_REPLACE_FORCE, "x", &err), CAIRN_E_ARG, err, "folder");
    assert_fails(write_new("", CAIRN_REPLACE_FORCE, "x", &err), CAIRN_E_ARG, err, "folder");
    assert_fails(write_new("no/x", CAIRN_REPLACE_FORCE, "x", &err), CAIRN_E_MISSING, err, "no/");
    put("file", "old");
    assert_fails(write_new("file/x", CAIRN_REPLACE_FORCE, "x", &err), CAIRN_E_MISSING, err,
                 "Not a directory");
}

static void a_name_that_fills_a_folder_entry_still_works(void **state)
{
    (void)state;
    struct cairn_err err;
    char name[256];
    memset(name, 'n', 255);
    name[255] = 0;
    assert_ok(write_new(name, CAIRN_REPLACE_NEVER, "new", &err), err);
    hold_text(name, "new");
    char longer[PATH_MAX + 8];
    memset(longer, 'n', sizeof longer - 1);
    longer[sizeof longer - 1] = 0;
    assert_fails(write_new(longer, CAIRN_REPLACE_NEVER, "new", &err), CAIRN_E_IO, err, "nnn");
    assert_int_equal(err.os_errno, ENAMETOOLONG);
}

static void a_name_taken_meanwhile_is_not_overwritten(void **state)
{
    (void)state;
    struct cairn_err err;
    struct cairn_replace r;
    assert_ok(cairn_replace_open("a", CAIRN_REPLACE_NEVER, &r, &err), err);
    assert_ok(cairn_write_all(r.fd, "mine", 4, "a", &err), err);
    put("a", "theirs");
    int code = cairn_replace_commit(&r, &err);
    char *temp = cairn_strdup(r.temp);
    assert_int_equal(cairn_replace_fail(&r, code, &err), CAIRN_E_EXISTS);
    assert_contains(err.msg, "came into being meanwhile; what was written is in ");
    assert_contains(err.msg, temp);
    hold_text("a", "theirs");
    hold_text(temp, "mine");
    cairn_free(temp);
}

static void two_runs_on_one_file_do_not_mix(void **state)
{
    (void)state;
    struct cairn_err err;
    struct cairn_replace one, two;
    put("a", "old");
    assert_ok(cairn_replace_open("a", CAIRN_REPLACE_IN_PLACE, &one, &err), err);
    assert_ok(cairn_replace_open("a", CAIRN_REPLACE_IN_PLACE, &two, &err), err);
    assert_string_not_equal(one.temp, two.temp);
    assert_ok(cairn_write_all(one.fd, "one", 3, "a", &err), err);
    assert_ok(cairn_write_all(two.fd, "two", 3, "a", &err), err);
    assert_ok(cairn_replace_commit(&two, &err), err);
    hold_text("a", "two");
    assert_ok(cairn_replace_commit(&one, &err), err);
    hold_text("a", "one");
    cairn_replace_drop(&one);
    cairn_replace_drop(&two);
    assert_int_equal(count_names("."), 1);
}

static void an_input_that_vanishes_meanwhile_loses_nothing(void **state)
{
    (void)state;
    struct cairn_err err;
    struct cairn_replace r;
    put("a", "old");
    assert_ok(cairn_replace_open("a", CAIRN_REPLACE_IN_PLACE, &r, &err), err);
    assert_ok(cairn_write_all(r.fd, "new", 3, "a", &err), err);
    assert_int_equal(unlink("a"), 0);
    assert_ok(cairn_replace_commit(&r, &err), err);
    hold_text("a", "new");
    cairn_replace_drop(&r);
}

static void a_temporary_file_that_vanishes_is_an_error(void **state)
{
    (void)state;
    struct cairn_err err;
    struct cairn_replace r;
    put("a", "old");
    assert_ok(cairn_replace_open("a", CAIRN_REPLACE_IN_PLACE, &r, &err), err);
    assert_int_equal(unlink(r.temp), 0);
    assert_fails(cairn_replace_commit(&r, &err), CAIRN_E_MISSING, err, "a: cannot rename");
    cairn_replace_fail(&r, CAIRN_E_MISSING, &err);
    assert_null(strstr(err.msg, "what was written"));
    hold_text("a", "old");
}

static void failing_keeps_what_was_written_and_only_that(void **state)
{
    (void)state;
    struct cairn_err err = {.code = CAIRN_E_IO, .msg = "broken"};
    struct cairn_replace r;
    assert_ok(cairn_replace_open("a", CAIRN_REPLACE_NEVER, &r, &err), err);
    assert_int_equal(cairn_replace_fail(&r, CAIRN_E_IO, NULL), CAIRN_E_IO);
    assert_int_equal(count_names("."), 0);
    assert_ok(cairn_replace_open("a", CAIRN_REPLACE_NEVER, &r, &err), err);
    assert_ok(cairn_write_all(r.fd, "half", 4, "a", &err), err);
    assert_int_equal(cairn_replace_fail(&r, CAIRN_E_IO, &err), CAIRN_E_IO);
    assert_contains(err.msg, "broken; what was written is in ");
    hold_text(strstr(err.msg, folder), "half");
    struct cairn_replace nothing = {0};
    cairn_replace_drop(&nothing); /* must not close descriptor 0 */
    cairn_replace_keep(&nothing);
    assert_true(fcntl(0, F_GETFD) >= 0 || errno == EBADF);
}

static int n_warnings;

static void count_warning(void *ctx, enum cairn_log_level level, const char *text)
{
    (void)ctx;
    (void)level;
    n_warnings += strstr(text, "2 hard links") != NULL;
}

static void hard_links_are_warned_of(void **state)
{
    (void)state;
    struct cairn_err err;
    put("a", "old");
    assert_int_equal(link("a", "b"), 0);
    n_warnings = 0;
    cairn_log_set(count_warning, NULL, CAIRN_LOG_WARNING);
    assert_ok(write_new("a", CAIRN_REPLACE_IN_PLACE, "new", &err), err);
    assert_int_equal(n_warnings, 1);
    hold_text("b", "old");
}

/* What an ordinary user meets; root may do all, so a child becomes nobody. Exit codes tell. */
static int as_nobody(int (*fn)(void))
{
    pid_t child = fork();
    if (child == 0) {
        bool dropped = geteuid() != 0 || (setresgid(NOBODY, NOBODY, NOBODY) == 0 &&
                                          setresuid(NOBODY, NOBODY, NOBODY) == 0);
        _exit(dropped ? fn() : 99);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static int replace_in_a_read_only_folder(void)
{
    struct cairn_err err;
    if (write_new("a", CAIRN_REPLACE_IN_PLACE, "new", &err) != CAIRN_E_ACCESS)
        return 1;
    return !strstr(err.msg, "cannot make a temporary file in ") || !strstr(err.hint, "writable");
}

static int replace_a_read_only_file(void)
{
    struct cairn_err err;
    if (write_new("a", CAIRN_REPLACE_FORCE, "new", &err) != CAIRN_E_ACCESS)
        return 1;
    return !strstr(err.msg, "may not be written") || !strstr(err.hint, "chmod u+w");
}

static int replace_a_file_of_root(void)
{
    struct cairn_err err;
    struct stat st;
    if (write_new("a", CAIRN_REPLACE_FORCE, "new", &err) != CAIRN_OK || stat("a", &st) < 0)
        return 1;
    /* Another owner now, so the set-ID bits must be gone. */
    return st.st_uid != geteuid() || (st.st_mode & 07777) != 0777;
}

static void a_read_only_folder_or_file_is_told_and_left_alone(void **state)
{
    (void)state;
    put("a", "old");
    assert_int_equal(chmod("a", 0666), 0);
    assert_int_equal(chmod(".", 0555), 0);
    assert_int_equal(as_nobody(replace_in_a_read_only_folder), 0);
    hold_text("a", "old");
    assert_int_equal(chmod(".", 0777), 0);
    assert_int_equal(chmod("a", 0444), 0);
    assert_int_equal(as_nobody(replace_a_read_only_file), 0);
    hold_text("a", "old");
    assert_int_equal(count_names("."), 1);
}

static void set_id_bits_go_where_the_owner_cannot_be_kept(void **state)
{
    (void)state;
    if (geteuid() != 0) {
        print_message("skipped: not root, so there is no file of another user\n");
        skip();
    }
    put("a", "old");
    assert_int_equal(chmod("a", 06777), 0);
    assert_int_equal(chmod(".", 0777), 0);
    assert_int_equal(as_nobody(replace_a_file_of_root), 0);
    hold_text("a", "new");
}

static void a_full_disk_leaves_the_target_as_it_was(void **state)
{
    (void)state;
    assert_int_equal(mkdir("disk", 0755), 0);
    if (mount("none", "disk", "tmpfs", 0, "size=64k") < 0) {
        print_message("skipped: cannot mount a small tmpfs here: %s\n", strerror(errno));
        skip();
    }
    struct cairn_err err;
    struct cairn_replace r;
    put("disk/a", "old");
    assert_ok(cairn_replace_open("disk/a", CAIRN_REPLACE_IN_PLACE, &r, &err), err);
    static char much[1 << 20];
    int code = cairn_write_all(r.fd, much, sizeof much, "disk/a", &err);
    int os_errno = err.os_errno;
    bool hinted = strstr(err.hint, "make room") != NULL;
    cairn_replace_fail(&r, code, &err);
    bool named = strstr(err.msg, "/disk/.a.cairn-") != NULL;
    hold_text("disk/a", "old");
    /* Without room for even a name the error comes from open. */
    assert_int_equal(umount("disk"), 0);
    assert_int_equal(mount("none", "disk", "tmpfs", 0, "size=64k,nr_inodes=2"), 0);
    put("disk/a", "old");
    struct cairn_err full;
    int open_code = cairn_replace_open("disk/a", CAIRN_REPLACE_IN_PLACE, &r, &full);
    hold_text("disk/a", "old");
    assert_int_equal(umount("disk"), 0);
    assert_int_equal(code, CAIRN_E_IO);
    assert_int_equal(os_errno, ENOSPC);
    assert_true(hinted);
    assert_true(named);
    assert_int_equal(open_code, CAIRN_E_IO);
    assert_contains(full.hint, "make room in ");
}

static void lack_of_memory_at_any_place_leaves_all_as_it_was(void **state)
{
    (void)state;
    struct cairn_err err;
    put("a", "old");
    int code = CAIRN_E_NOMEM;
    long n = 0;
    for (; code == CAIRN_E_NOMEM && n < 50; n++) {
        hold_text("a", "old");
        assert_int_equal(count_names("."), 1);
        cairn_alloc_fail_after(n);
        code = write_new("a", CAIRN_REPLACE_IN_PLACE, "new", &err);
        cairn_alloc_fail_after(-1);
    }
    assert_int_equal(code, CAIRN_OK);
    assert_in_range(n, 3, 49);
    hold_text("a", "new");
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, enter, leave)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_FOLDER(a_new_file_gets_the_mode_that_umask_allows),
        IN_FOLDER(an_existing_file_is_replaced_only_on_demand),
        IN_FOLDER(mode_and_owner_are_kept),
        IN_FOLDER(the_temporary_file_is_private_until_it_has_the_mode),
        IN_FOLDER(symlinks_are_followed_and_stay),
        IN_FOLDER(a_symlink_to_a_file_yet_to_come_makes_that_file),
        IN_FOLDER(what_is_no_file_is_refused),
        IN_FOLDER(a_name_that_fills_a_folder_entry_still_works),
        IN_FOLDER(a_name_taken_meanwhile_is_not_overwritten),
        IN_FOLDER(two_runs_on_one_file_do_not_mix),
        IN_FOLDER(an_input_that_vanishes_meanwhile_loses_nothing),
        IN_FOLDER(a_temporary_file_that_vanishes_is_an_error),
        IN_FOLDER(failing_keeps_what_was_written_and_only_that),
        IN_FOLDER(hard_links_are_warned_of),
        IN_FOLDER(a_read_only_folder_or_file_is_told_and_left_alone),
        IN_FOLDER(set_id_bits_go_where_the_owner_cannot_be_kept),
        IN_FOLDER(a_full_disk_leaves_the_target_as_it_was),
        IN_FOLDER(lack_of_memory_at_any_place_leaves_all_as_it_was),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
