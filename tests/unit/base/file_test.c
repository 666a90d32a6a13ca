/* SPDX-License-Identifier: MIT */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "support/emulated.h"
#include "support/test.h"

static char folder[] = "/tmp/cairn-file-XXXXXX";
static char path[64];

static int enter(void **state)
{
    (void)state;
    if (!mkdtemp(folder) || chdir(folder) < 0)
        return -1;
    snprintf(path, sizeof path, "%s/input", folder);
    return 0;
}

static int leave(void **state)
{
    (void)state;
    return chdir("/") < 0 || rmdir(folder) < 0;
}

static void put(const char *text)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static int drop(void **state)
{
    (void)state;
    cairn_alloc_fail_after(-1);
    unlink(path);
    return 0;
}

static void a_file_is_mapped_whole(void **state)
{
    (void)state;
    put("cairn");
    struct cairn_file file;
    struct cairn_err err;
    struct stat st;
    assert_ok(cairn_file_open(path, &file, &err), err);
    assert_int_equal(file.bytes.size, 5);
    assert_memory_equal(file.bytes.data, "cairn", 5);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(file.inode, st.st_ino);
    assert_int_equal(file.dev, st.st_dev);
    assert_int_equal(file.mtime_ns % 1000000000, st.st_mtim.tv_nsec);
    assert_false(cairn_file_was_cut(&file));
    cairn_file_close(&file);
    cairn_file_close(&file); /* all-zero by now */
}

static void an_empty_file_is_an_empty_span(void **state)
{
    (void)state;
    put("");
    struct cairn_file file;
    struct cairn_err err;
    assert_ok(cairn_file_open(path, &file, &err), err);
    assert_int_equal(file.bytes.size, 0);
    assert_false(cairn_file_was_cut(&file));
    cairn_file_close(&file);
}

static void only_regular_files_are_mapped(void **state)
{
    (void)state;
    struct cairn_file file = {.inode = 42};
    struct cairn_err err;
    assert_fails(cairn_file_open("/", &file, &err), CAIRN_E_FORMAT, err, "is a folder");
    assert_fails(cairn_file_open("/dev/null", &file, &err), CAIRN_E_FORMAT, err, "is a device");
    assert_int_equal(mkfifo(path, 0600), 0); /* nobody writes: must not wait */
    assert_fails(cairn_file_open(path, &file, &err), CAIRN_E_FORMAT, err, "is a pipe");
    assert_fails(cairn_file_open("missing", &file, &err), CAIRN_E_MISSING, err,
                 "missing: No such file");
    assert_int_equal(file.inode, 42);
}

/* In a child that is nobody: root may read all. */
static void a_file_that_may_not_be_read_is_told_so(void **state)
{
    (void)state;
    put("secret");
    assert_int_equal(chmod(path, 0), 0);
    assert_int_equal(chmod(folder, 0755), 0);
    pid_t child = fork();
    if (child == 0) {
        struct cairn_file file;
        struct cairn_err err;
        bool dropped = geteuid() != 0 || setresuid(65534, 65534, 65534) == 0;
        _exit(dropped && cairn_file_open(path, &file, &err) == CAIRN_E_ACCESS &&
                      err.os_errno == EACCES && strstr(err.msg, path)
                  ? 0
                  : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static void slurping_reads_what_has_no_size(void **state)
{
    (void)state;
    struct cairn_buffer b = {0};
    struct cairn_err err;
    assert_ok(cairn_file_slurp("/proc/self/maps", 1 << 24, &b, &err), err);
    assert_true(b.size > 100);
    assert_contains(cairn_buffer_text(&b), "[stack]");
    cairn_buffer_done(&b);
}

static void slurping_stops_at_its_limit(void **state)
{
    (void)state;
    put("0123456789");
    struct cairn_buffer b = {0};
    struct cairn_err err;
    cairn_buffer_str(&b, "kept");
    assert_fails(cairn_file_slurp(path, 9, &b, &err), CAIRN_E_LIMIT, err, "larger than 9 bytes");
    assert_string_equal(cairn_buffer_text(&b), "kept");
    assert_ok(cairn_file_slurp(path, 10, &b, &err), err);
    assert_string_equal(cairn_buffer_text(&b), "kept0123456789");
    assert_fails(cairn_file_slurp("/dev/zero", 1 << 20, &b, &err), CAIRN_E_LIMIT, err, "larger");
    assert_fails(cairn_file_slurp("/", 9, &b, &err), CAIRN_E_IO, err, "cannot read");
    assert_fails(cairn_file_slurp("missing", 9, &b, &err), CAIRN_E_MISSING, err, "missing");
    assert_string_equal(cairn_buffer_text(&b), "kept0123456789");
    cairn_buffer_done(&b);
}

static void lack_of_memory_is_told_and_leaks_nothing(void **state)
{
    (void)state;
    put("text");
    struct cairn_buffer b = {0};
    struct cairn_err err;
    cairn_alloc_fail_after(0);
    assert_fails(cairn_file_slurp(path, 10, &b, &err), CAIRN_E_NOMEM, err, "out of memory");
    cairn_alloc_fail_after(-1);
    assert_int_equal(b.size, 0);
    cairn_buffer_done(&b);
}

static void a_full_disk_is_told_with_what_to_do(void **state)
{
    (void)state;
    int fd = open("/dev/full", O_WRONLY);
    if (fd < 0) {
        print_message("skipped: no /dev/full\n");
        skip();
    }
    struct cairn_err err;
    assert_fails(cairn_write_all(fd, "x", 1, "out.txt", &err), CAIRN_E_IO, err,
                 "out.txt: cannot write: No space left");
    assert_int_equal(err.os_errno, ENOSPC);
    assert_contains(err.hint, "make room");
    close(fd);
}

/* A pipe that takes little at a time, set to O_NONBLOCK by somebody, and a reader that is slow. */
static void short_writes_and_full_pipes_lose_nothing(void **state)
{
    (void)state;
    enum { SIZE = 1 << 20 };
    int ends[2];
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    assert_int_equal(fcntl(ends[1], F_SETFL, O_NONBLOCK), 0);
    pid_t child = fork();
    if (child == 0) {
        close(ends[1]);
        static uint8_t got[SIZE];
        size_t n = 0;
        bool sound = true;
        for (ssize_t size; (size = read(ends[0], got, 5000)) > 0;)
            for (ssize_t i = 0; i < size; i++, n++)
                sound = sound && got[i] == (uint8_t)(n * 7 >> 3);
        _exit(sound && n == SIZE ? 0 : 1);
    }
    close(ends[0]);
    uint8_t *bytes = malloc(SIZE);
    assert_non_null(bytes);
    for (size_t i = 0; i < SIZE; i++)
        bytes[i] = (uint8_t)(i * 7 >> 3);
    struct cairn_err err;
    assert_ok(cairn_write_all(ends[1], bytes, SIZE, "pipe", &err), err);
    close(ends[1]);
    free(bytes);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static void under_sudo_files_go_to_the_caller(void **state)
{
    (void)state;
    if (geteuid() != 0) {
        print_message("skipped: not root, so there is nobody to give files to\n");
        skip();
    }
    put("x");
    int fd = open(path, O_RDWR);
    struct cairn_err err;
    struct stat st;
    static const char *const bad[] = {"", "-1", "12x", "4294967295", "99999999999999999999"};
    setenv("SUDO_GID", "4321", 1);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        setenv("SUDO_UID", bad[i], 1);
        assert_ok(cairn_file_give_to_caller(fd, path, &err), err);
        assert_int_equal(fstat(fd, &st), 0);
        assert_int_equal(st.st_uid, 0);
    }
    setenv("SUDO_UID", "1234", 1);
    assert_ok(cairn_file_give_to_caller(fd, path, &err), err);
    assert_int_equal(fstat(fd, &st), 0);
    assert_int_equal(st.st_uid, 1234);
    assert_int_equal(st.st_gid, 4321);
    unsetenv("SUDO_UID");
    unsetenv("SUDO_GID");
    close(fd);
}

/* Nothing to see but that no byte changes and nobody falls. */
static void what_will_be_needed_is_a_hint(void **state)
{
    (void)state;
    static uint8_t bytes[3 * 4096 + 5] = {7};
    struct cairn_span span = {bytes, sizeof bytes};
    cairn_file_will_need(span, 0, sizeof bytes);
    cairn_file_will_need(span, 4097, UINT64_MAX);
    cairn_file_will_need(span, sizeof bytes, 1);
    cairn_file_will_need(span, UINT64_MAX, UINT64_MAX);
    cairn_file_will_need((struct cairn_span){0}, 0, 10);
    assert_int_equal(bytes[0], 7);
}

/* mincore(2) would say what the page cache has; smaps says what this process holds. */
static long held_kb_at(const void *start)
{
    char line[256], wanted[32];
    FILE *smaps = fopen("/proc/self/smaps", "r");
    long kb = -1;
    bool is_there = false;
    assert_non_null(smaps);
    snprintf(wanted, sizeof wanted, "%lx-", (unsigned long)start);
    while (kb < 0 && fgets(line, sizeof line, smaps)) {
        is_there = is_there || strncmp(line, wanted, strlen(wanted)) == 0;
        if (is_there)
            (void)sscanf(line, "Rss: %ld kB", &kb);
    }
    fclose(smaps);
    return kb;
}

static void what_was_read_is_given_back_and_can_be_read_again(void **state)
{
    (void)state;
    if (is_emulated("/proc/self/smaps says 0 kB of every mapping"))
        skip();
    enum { SIZE = 1 << 20 };
    static char text[SIZE + 1];
    struct cairn_file file;
    struct cairn_err err;
    memset(text, 'x', SIZE);
    put(text);
    assert_ok(cairn_file_open(path, &file, &err), err);
    assert_memory_equal(file.bytes.data, text, SIZE);
    assert_true(held_kb_at(file.bytes.data) >= SIZE / 1024);
    cairn_file_was_read(&file, file.bytes);
    assert_int_equal(held_kb_at(file.bytes.data), 0);
    assert_memory_equal(file.bytes.data, text, SIZE);
    cairn_file_was_read(&file, (struct cairn_span){(const uint8_t *)text, SIZE}); /* another's */
    assert_int_equal(text[SIZE / 2], 'x');
    cairn_file_close(&file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(what_was_read_is_given_back_and_can_be_read_again, drop),
        cmocka_unit_test_teardown(a_file_is_mapped_whole, drop),
        cmocka_unit_test_teardown(an_empty_file_is_an_empty_span, drop),
        cmocka_unit_test_teardown(only_regular_files_are_mapped, drop),
        cmocka_unit_test_teardown(a_file_that_may_not_be_read_is_told_so, drop),
        cmocka_unit_test_teardown(slurping_reads_what_has_no_size, drop),
        cmocka_unit_test_teardown(slurping_stops_at_its_limit, drop),
        cmocka_unit_test_teardown(lack_of_memory_is_told_and_leaks_nothing, drop),
        cmocka_unit_test_teardown(a_full_disk_is_told_with_what_to_do, drop),
        cmocka_unit_test_teardown(short_writes_and_full_pipes_lose_nothing, drop),
        cmocka_unit_test_teardown(under_sudo_files_go_to_the_caller, drop),
        cmocka_unit_test(what_will_be_needed_is_a_hint),
    };
    return cmocka_run_group_tests(tests, enter, leave);
}
