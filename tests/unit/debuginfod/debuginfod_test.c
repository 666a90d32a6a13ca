/* SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cairn/debuginfod.h>

#include "base/file.h"
#include "debuginfod/client.h"
#include "debuginfod/client_folder.h"
#include "support/test.h"

#define ID "ab01020304050607"

static char work[64], path[96];
static struct cairn_err err;
static struct cairn_client_folder folder;

static int enter(void **state)
{
    (void)state;
    snprintf(work, sizeof work, "/tmp/cairn-debuginfod.XXXXXX");
    if (!mkdtemp(work))
        return -1;
    snprintf(path, sizeof path, "%s/.cache/client", work);
    return cairn_client_folder_open(path, &folder, &err);
}

static int remove_one(const char *name, const struct stat *st, int type, struct FTW *at)
{
    (void)st;
    (void)type;
    (void)at;
    return remove(name);
}

static int leave(void **state)
{
    (void)state;
    cairn_client_folder_close(&folder);
    return nftw(work, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static const char *in_folder(const char *name)
{
    static char whole[2][192];
    static unsigned next;
    char *text = whole[next++ % 2];
    snprintf(text, sizeof whole[0], "%s/%s", path, name);
    return text;
}

static void put(const char *bytes)
{
    int fd;
    assert_ok(cairn_client_folder_temp(&folder, ID, &fd, &err), err);
    assert_ok(cairn_write_all(fd, bytes, strlen(bytes), "x", &err), err);
    assert_ok(cairn_client_folder_put(&folder, ID, "debuginfo", fd, &err), err);
    close(fd);
}

static void a_file_appears_whole_and_can_be_replaced(void **state)
{
    (void)state;
    struct stat st;
    int fd;
    assert_int_equal(cairn_client_folder_look(&folder, ID, "debuginfo"), CAIRN_CLIENT_ABSENT);
    assert_ok(cairn_client_folder_temp(&folder, ID, &fd, &err), err);
    assert_int_equal(cairn_client_folder_look(&folder, ID, "debuginfo"), CAIRN_CLIENT_ABSENT);
    close(fd);
    put("one");
    assert_int_equal(cairn_client_folder_look(&folder, ID, "debuginfo"), CAIRN_CLIENT_HELD);
    put("three");
    assert_int_equal(stat(in_folder(ID "/debuginfo"), &st), 0);
    assert_int_equal(st.st_size, 5);
    assert_int_equal(st.st_mode & 07777, 0400);
}

static void age(const char *name, time_t seconds)
{
    const struct timespec old[2] = {{.tv_sec = time(NULL) - seconds},
                                    {.tv_sec = time(NULL) - seconds}};
    assert_int_equal(utimensat(AT_FDCWD, in_folder(name), old, 0), 0);
}

static void that_there_is_none_is_known_for_a_while(void **state)
{
    (void)state;
    cairn_client_folder_miss(&folder, ID, "debuginfo");
    assert_int_equal(cairn_client_folder_look(&folder, ID, "debuginfo"), CAIRN_CLIENT_MISS);
    assert_int_equal(cairn_client_folder_look(&folder, ID, "executable"), CAIRN_CLIENT_ABSENT);
    age(ID "/debuginfo", 500);
    assert_int_equal(cairn_client_folder_look(&folder, ID, "debuginfo"), CAIRN_CLIENT_MISS);
    age(ID "/debuginfo", 700);
    assert_int_equal(cairn_client_folder_look(&folder, ID, "debuginfo"), CAIRN_CLIENT_ABSENT);
    assert_int_not_equal(access(in_folder(ID "/debuginfo"), F_OK), 0);
}

static void how_long_is_in_a_file_of_the_folder(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        enum cairn_client_state state;
    } rows[] = {{"60\n", CAIRN_CLIENT_ABSENT},
                {"900", CAIRN_CLIENT_MISS},
                {"rubbish", CAIRN_CLIENT_MISS}, /* 600 */
                {"-1", CAIRN_CLIENT_MISS},
                {"", CAIRN_CLIENT_MISS}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        FILE *file = fopen(in_folder("cache_miss_s"), "w");
        assert_non_null(file);
        fputs(rows[i].text, file);
        fclose(file);
        cairn_client_folder_miss(&folder, ID, "debuginfo");
        age(ID "/debuginfo", 500);
        assert_int_equal(cairn_client_folder_look(&folder, ID, "debuginfo"), rows[i].state);
    }
}

static void a_link_in_the_place_of_a_file_is_none(void **state)
{
    (void)state;
    put("one");
    assert_int_equal(symlink("/etc/passwd", in_folder(ID "/executable")), 0);
    assert_int_equal(cairn_client_folder_look(&folder, ID, "executable"), CAIRN_CLIENT_ABSENT);
}

static int use(const char *urls)
{
    const struct cairn_debuginfod_opts opts = {.size = sizeof opts, .urls = urls, .folder = path};
    return cairn_debuginfod_use(&opts, &err);
}

static void a_server_is_an_http_url(void **state)
{
    (void)state;
    if (use("http://127.0.0.1:1") == CAIRN_E_SUPPORT)
        skip();
    assert_ok(use(" http://127.0.0.1:1// \n https://x.example ima:enforcing "), err);
    assert_fails(use("ftp://x"), CAIRN_E_ARG, err, "ftp://x");
    assert_fails(use("http://"), CAIRN_E_ARG, err, "is no server");
    assert_fails(use(""), CAIRN_E_ARG, err, "no server is known");
    char many[512] = "";
    for (int i = 0; i < 17; i++)
        strcat(many, "http://127.0.0.1 ");
    assert_fails(use(many), CAIRN_E_LIMIT, err, "16 servers");
    assert_ok(cairn_debuginfod_use(NULL, &err), err);
}

static void a_safe_server_sends_to_safe_ones_alone(void **state)
{
    (void)state;
    assert_string_equal(cairn_server_redirects("https://a/buildid"), "https");
    assert_string_equal(cairn_server_redirects("http://a/buildid"), "http,https");
}

static void the_folder_is_that_of_the_environment(void **state)
{
    (void)state;
    char text[64];
    setenv("HOME", "/home/x", 1);
    unsetenv("XDG_CACHE_HOME");
    unsetenv("DEBUGINFOD_CACHE_PATH");
    assert_ok(cairn_debuginfod_folder(text, sizeof text, &err), err);
    assert_string_equal(text, "/home/x/.cache/debuginfod_client");
    setenv("XDG_CACHE_HOME", "/xdg", 1);
    assert_ok(cairn_debuginfod_folder(text, sizeof text, &err), err);
    assert_string_equal(text, "/xdg/debuginfod_client");
    setenv("DEBUGINFOD_CACHE_PATH", "/own", 1);
    assert_ok(cairn_debuginfod_folder(text, sizeof text, &err), err);
    assert_string_equal(text, "/own");
    assert_fails(cairn_debuginfod_folder(text, 3, &err), CAIRN_E_LIMIT, err, "4 bytes");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_file_appears_whole_and_can_be_replaced, enter, leave),
        cmocka_unit_test_setup_teardown(that_there_is_none_is_known_for_a_while, enter, leave),
        cmocka_unit_test_setup_teardown(how_long_is_in_a_file_of_the_folder, enter, leave),
        cmocka_unit_test_setup_teardown(a_link_in_the_place_of_a_file_is_none, enter, leave),
        cmocka_unit_test_setup_teardown(a_server_is_an_http_url, enter, leave),
        cmocka_unit_test(a_safe_server_sends_to_safe_ones_alone),
        cmocka_unit_test_setup_teardown(the_folder_is_that_of_the_environment, enter, leave),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
