/* SPDX-License-Identifier: MIT */
/* Renewed code: the page changes whole, and stays one of its file. */
#include "embed/renew.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "embed/place.h"
#include "rt/pages.h"
#include "support/test.h"

enum { N_PAGES = 3, AT = 0x123, NOBODY = 65534 };

static char path[] = "/tmp/cairn-renew-XXXXXX";
static struct cairn_err err;

static size_t n_bytes(void)
{
    return N_PAGES * cairn_pages_size();
}

/* The pages of a file that holds 'a' to 'z' again and again. */
static uint8_t *map_file(void)
{
    memcpy(path + sizeof path - 7, "XXXXXX", 6);
    const int fd = mkstemp(path);
    uint8_t *bytes = calloc(1, n_bytes());
    assert_true(fd >= 0 && bytes);
    for (size_t i = 0; i < n_bytes(); i++)
        bytes[i] = (uint8_t)('a' + i % 26);
    assert_int_equal(write(fd, bytes, n_bytes()), n_bytes());
    free(bytes);
    uint8_t *pages = mmap(NULL, n_bytes(), PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
    assert_true(pages != MAP_FAILED);
    close(fd);
    return pages;
}

static int renew(uint8_t *at, const char *text)
{
    struct cairn_embed_memory memory;
    assert_int_equal(cairn_embed_memory_open(&memory, &err), CAIRN_OK);
    const int code = cairn_embed_renew(&memory, (uintptr_t)at, text, strlen(text), &err);
    cairn_embed_memory_close(&memory);
    return code;
}

static void holds(const uint8_t *pages, size_t at, const char *text)
{
    for (size_t i = 0; i < n_bytes(); i++)
        assert_int_equal(pages[i], i >= at && i < at + strlen(text) ? (unsigned char)text[i - at]
                                                                    : 'a' + i % 26);
}

static void is_of_the_file(const uint8_t *at, size_t off)
{
    struct cairn_embed_place place;
    assert_true(cairn_embed_place_find((uintptr_t)at, &place));
    assert_non_null(strstr(place.path, path + 5));
    assert_memory_equal(place.access, "r-xp", 4);
    assert_int_equal(place.off + ((uintptr_t)at - place.from), off);
}

static void *wait_for_more(void *context)
{
    char byte;
    return read(*(int *)context, &byte, 1) == 0 ? NULL : context;
}

/* The process has two threads until end_thread(). */
static int pipe_ends[2];
static pthread_t begin_thread(void)
{
    pthread_t thread;
    assert_int_equal(pipe(pipe_ends), 0);
    assert_int_equal(pthread_create(&thread, NULL, wait_for_more, &pipe_ends[0]), 0);
    return thread;
}

static void end_thread(pthread_t thread)
{
    close(pipe_ends[1]);
    pthread_join(thread, NULL);
    close(pipe_ends[0]);
}

static void one_thread_writes_in_place(void **state)
{
    struct cairn_embed_place place;
    uint8_t *pages = map_file();
    const size_t at = cairn_pages_size() + AT;
    (void)state;
    assert_int_equal(renew(pages + at, "01234567"), CAIRN_OK);
    holds(pages, at, "01234567");
    assert_true(cairn_embed_place_find((uintptr_t)pages, &place));
    assert_int_equal(place.to - place.from, n_bytes());
    munmap(pages, n_bytes());
    unlink(path);
}

static void beside_a_thread_the_page_is_replaced_by_one_of_the_file(void **state)
{
    uint8_t *pages = map_file();
    const size_t page = cairn_pages_size(), at = page + AT;
    const pthread_t thread = begin_thread();
    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(renew(pages + at, i % 2 ? "gh" : "01234567"), CAIRN_OK);
        assert_int_equal(renew(pages + at, "0123456789abcdef"), CAIRN_OK);
    }
    holds(pages, at, "0123456789abcdef");
    for (size_t i = 0; i < N_PAGES; i++)
        is_of_the_file(pages + i * page, i * page);
    end_thread(thread);
    munmap(pages, n_bytes());
    unlink(path);
}

static void bytes_across_two_pages_of_memory_change(void **state)
{
    const size_t page = cairn_pages_size();
    uint8_t *pages =
        mmap(NULL, 2 * page, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    const pthread_t thread = begin_thread();
    (void)state;
    assert_true(pages != MAP_FAILED);
    assert_int_equal(renew(pages + page - 8, "0123456789abcdef"), CAIRN_OK);
    assert_memory_equal(pages + page - 8, "0123456789abcdef", 16);
    assert_int_equal(pages[page - 9] + pages[page + 8], 0);
    end_thread(thread);
    munmap(pages, 2 * page);
}

/* By a user who may not open /proc/PID/map_files. */
static int renew_as_nobody(uint8_t *at)
{
    pthread_t thread;
    if (setresgid(NOBODY, NOBODY, NOBODY) < 0 && getuid() == 0)
        return -1;
    if (setresuid(NOBODY, NOBODY, NOBODY) < 0 && getuid() == 0)
        return -1;
    if (prctl(PR_SET_DUMPABLE, 1) < 0 || pipe(pipe_ends) < 0 ||
        pthread_create(&thread, NULL, wait_for_more, &pipe_ends[0]) != 0)
        return -1;
    return renew(at, "01234567");
}

static void a_file_that_is_gone_is_refused_and_nothing_changes(void **state)
{
    int status;
    uint8_t *pages = map_file();
    (void)state;
    unlink(path);
    const pid_t child = fork();
    if (child == 0) {
        const int code = renew_as_nobody(pages + AT);
        const bool is_said = strstr(err.msg, "cannot be mapped again") && strstr(err.hint, "CAP_");
        _exit(code == CAIRN_E_MISSING && is_said && pages[AT] == 'a' + AT % 26 ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    holds(pages, 0, "");
    munmap(pages, n_bytes());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_thread_writes_in_place),
        cmocka_unit_test(beside_a_thread_the_page_is_replaced_by_one_of_the_file),
        cmocka_unit_test(bytes_across_two_pages_of_memory_change),
        cmocka_unit_test(a_file_that_is_gone_is_refused_and_nothing_changes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
