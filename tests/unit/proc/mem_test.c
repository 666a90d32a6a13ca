/* SPDX-License-Identifier: MIT */
#include "proc/mem.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/test.h"

enum { PAGES = 40 };

static size_t page_bytes;
static uint8_t *block; /* PAGES readable pages, then a hole; the same in the child */
static pid_t child;

static int start_child(void **state)
{
    (void)state;
    page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    block = mmap(NULL, (PAGES + 1) * page_bytes, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (block == MAP_FAILED || munmap(block + PAGES * page_bytes, page_bytes) < 0)
        return -1;
    for (size_t i = 0; i < PAGES * page_bytes; i++)
        block[i] = (uint8_t)(i * 31 >> 4);
    child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;)
            pause();
    }
    return child < 0;
}

static int end_child(void **state)
{
    (void)state;
    kill(child, SIGKILL);
    return waitpid(child, NULL, 0) != child;
}

static uint64_t va_of(size_t offset)
{
    return (uint64_t)(uintptr_t)block + offset;
}

/* Both ways of reading answer alike. */
static void hold_reading(struct cairn_mem *mem)
{
    static uint8_t out[PAGES * 65536];
    const size_t all = PAGES * page_bytes;
    struct cairn_err err;
    assert_int_equal(cairn_mem_read(mem, va_of(0), out, all), all);
    assert_memory_equal(out, block, all);
    assert_int_equal(cairn_mem_read(mem, va_of(5), out, 3 * page_bytes), 3 * page_bytes);
    assert_memory_equal(out, block + 5, 3 * page_bytes);
    assert_int_equal(cairn_mem_read(mem, va_of(0), out, 0), 0);
    /* Up to the hole, and not a byte further. */
    assert_int_equal(cairn_mem_read(mem, va_of(all - 100), out, page_bytes), 100);
    assert_memory_equal(out, block + all - 100, 100);
    assert_int_equal(cairn_mem_read(mem, va_of(page_bytes + 7), out, all), all - page_bytes - 7);
    assert_int_equal(cairn_mem_read(mem, va_of(all), out, 8), 0);
    assert_int_equal(cairn_mem_read(mem, 0, out, 8), 0);
    assert_int_equal(cairn_mem_read(mem, UINT64_MAX - 3, out, 100), 0);
    assert_int_equal(cairn_mem_read(mem, 1ull << 63, out, 8), 0);
    assert_ok(cairn_mem_read_exact(mem, va_of(1), out, 8, &err), err);
    assert_fails(cairn_mem_read_exact(mem, va_of(all - 4), out, 8, &err), CAIRN_E_MISSING, err,
                 "4 of 8 bytes");
}

static void memory_is_read_up_to_the_first_hole(void **state)
{
    (void)state;
    struct cairn_mem mem;
    struct cairn_err err;
    uint8_t byte;
    assert_ok(cairn_mem_open(child, &mem, &err), err);
    hold_reading(&mem);
    /* A 32-bit cairn must not cut the address down to one that is mapped. */
    assert_int_equal(cairn_mem_read(&mem, va_of(0) + (UINT64_C(1) << 48), &byte, 1), 0);
    cairn_mem_close(&mem);
}

static void the_file_in_proc_does_as_well(void **state)
{
    (void)state;
    struct cairn_mem mem;
    struct cairn_err err;
    assert_ok(cairn_mem_open_file(child, &mem, &err), err);
    assert_true(mem.by_fd);
    hold_reading(&mem);
    cairn_mem_close(&mem);
    cairn_mem_close(&(struct cairn_mem){0});
}

static void a_process_that_is_not_there_is_missing(void **state)
{
    (void)state;
    struct cairn_mem mem = {.pid = 42};
    struct cairn_err err;
    assert_fails(cairn_mem_open(0x3fffffff, &mem, &err), CAIRN_E_MISSING, err, "pid 1073741823");
    assert_fails(cairn_mem_open_file(0x3fffffff, &mem, &err), CAIRN_E_MISSING, err,
                 "pid 1073741823");
    assert_int_equal(mem.pid, 42);
}

static void a_process_that_ends_gives_nothing(void **state)
{
    (void)state;
    pid_t brief = fork();
    if (brief == 0)
        for (;;)
            pause();
    struct cairn_mem mem;
    struct cairn_err err;
    uint8_t out[8];
    assert_ok(cairn_mem_open(brief, &mem, &err), err);
    kill(brief, SIGKILL);
    assert_int_equal(waitpid(brief, NULL, 0), brief);
    assert_int_equal(cairn_mem_read(&mem, va_of(0), out, 8), 0);
    assert_true(mem.gone); /* no helper is asked again */
    assert_int_equal(cairn_mem_read(&mem, va_of(0), out, 8), 0);
    cairn_mem_close(&mem);
}

static void another_users_memory_is_refused_with_a_hint(void **state)
{
    (void)state;
    pid_t stranger = fork();
    if (stranger == 0) {
        if (geteuid() == 0 && setresuid(65534, 65534, 65534) < 0)
            _exit(99);
        struct cairn_mem mem;
        struct cairn_err err;
        int code = cairn_mem_open(1, &mem, &err);
        _exit(code == CAIRN_E_ACCESS && strstr(err.msg, "pid 1: cannot read its memory") &&
                      strstr(err.hint, "uid 0")
                  ? 0
                  : 1);
    }
    int status;
    assert_int_equal(waitpid(stranger, &status, 0), stranger);
    assert_int_equal(status, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_is_read_up_to_the_first_hole),
        cmocka_unit_test(the_file_in_proc_does_as_well),
        cmocka_unit_test(a_process_that_is_not_there_is_missing),
        cmocka_unit_test(a_process_that_ends_gives_nothing),
        cmocka_unit_test(another_users_memory_is_refused_with_a_hint),
    };
    return cmocka_run_group_tests(tests, start_child, end_child);
}
