/* SPDX-License-Identifier: MIT */
/* Of this process itself, which is read as any other. */
#include "watch/lost_space.h"

#include <stdio.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/alloc.h"
#include "support/emulated.h"
#include "support/test.h"

enum { PAGE = CAIRN_LOST_PAGE, PAGES = 4 };
static const uint64_t WORD = 0xfeedface12345678;

static struct cairn_lost_space space;

static int set_up(void **state)
{
    (void)state;
    struct cairn_err err;
    assert_ok(cairn_lost_space_open(getpid(), &space, &err), err);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    cairn_lost_space_close(&space);
    return 0;
}

static void load(void)
{
    struct cairn_err err;
    assert_ok(cairn_lost_space_load(&space, &err), err);
}

static uint64_t *map(size_t pages, int flags)
{
    void *at = mmap(NULL, pages * PAGE, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(at, MAP_FAILED);
    return at;
}

/* qemu puts a 32-bit program's memory at another address of its own process, which the files of
 * /proc then speak of. */
static void skip_where_memory_is_elsewhere(void)
{
    if (sizeof(void *) < sizeof(uint64_t) && is_emulated("/proc/PID/mem has the host's addresses"))
        skip();
}

/* How often the word is met at that place. */
struct seeking {
    uint64_t va;
    size_t n;
};

static int seek(void *ctx, uint64_t va, struct cairn_span bytes)
{
    struct seeking *seeking = ctx;
    uint64_t word;
    assert_int_equal(va % 8, 0);
    if (seeking->va < va || seeking->va - va >= bytes.size)
        return CAIRN_OK;
    memcpy(&word, bytes.data + (seeking->va - va), sizeof word);
    seeking->n += word == WORD;
    return CAIRN_OK;
}

static size_t count(const uint64_t *place)
{
    struct seeking seeking = {.va = (uintptr_t)place};
    struct cairn_err err;
    load();
    assert_ok(cairn_lost_space_each(&space, true, seek, &seeking, &err), err);
    return seeking.n;
}

static uint64_t in_data = 1;

static void what_was_written_is_read(void **state)
{
    (void)state;
    skip_where_memory_is_elsewhere();
    volatile uint64_t on_stack = WORD;
    uint64_t *private = map(PAGES, MAP_PRIVATE), *shared = map(PAGES, MAP_SHARED);
    in_data = private[PAGE / 8 * 2] = shared[PAGE / 8] = WORD;
    assert_int_equal(count(&in_data), 1);
    assert_int_equal(count((const uint64_t *)&on_stack), 1);
    assert_int_equal(count(&private[PAGE / 8 * 2]), 1);
    assert_int_equal(count(&shared[PAGE / 8]), 1);
    assert_int_equal(mprotect(private, PAGES * PAGE, PROT_NONE), 0);
    assert_int_equal(count(&private[PAGE / 8 * 2]), 1);
    munmap(private, PAGES * PAGE);
    munmap(shared, PAGES * PAGE);
}

/* Its page table has no entry any more, but the memory has the page: as behind fork(2). */
static void shared_memory_without_page_tables_is_read(void **state)
{
    (void)state;
    skip_where_memory_is_elsewhere();
    struct cairn_err err;
    uint64_t *shared = map(PAGES, MAP_SHARED);
    shared[PAGE / 8] = WORD;
    assert_int_equal(madvise(shared, PAGES * PAGE, MADV_DONTNEED), 0);
    size_t n = count(&shared[PAGE / 8]);
    /* Without the right to open the file it is said to be unread. */
    assert_true(n == 1 || space.untouched_bytes >= PAGES * PAGE);
    assert_true(n == 1 || geteuid() != 0);
    load();
    assert_ok(cairn_lost_space_check(&space, &err), err);
    munmap(shared, PAGES * PAGE);
}

static void secret_memory_is_said_to_be_unread(void **state)
{
    (void)state;
#ifdef SYS_memfd_secret
    int fd = (int)syscall(SYS_memfd_secret, 0);
#else
    int fd = -1;
#endif
    if (fd < 0 || ftruncate(fd, PAGE) < 0) {
        puts("skipped: the kernel has no memfd_secret(2)");
        skip();
    }
    uint64_t *secret = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    assert_ptr_not_equal(secret, MAP_FAILED);
    *secret = WORD;
    assert_int_equal(count(secret), 0);
    assert_non_null(space.mem.unread.why);
    assert_int_equal(space.mem.unread.why_va, (uintptr_t)secret);
    munmap(secret, PAGE);
    close(fd);
}

static void a_hole_is_zero_and_passed_over(void **state)
{
    (void)state;
    skip_where_memory_is_elsewhere();
    uint64_t *pages = map(PAGES, MAP_PRIVATE), got[PAGE / 8 + 2], va = (uintptr_t)pages;
    pages[0] = pages[PAGE / 8 * 3] = WORD;
    assert_int_equal(munmap((uint8_t *)pages + PAGE, PAGE), 0);
    load();
    assert_true(cairn_lost_space_read(&space, va, (uint8_t *)got, sizeof got));
    assert_int_equal(got[0], WORD);
    assert_int_equal(got[PAGE / 8], 0);
    const struct cairn_reach_memory memory = cairn_lost_space_memory(&space);
    assert_int_equal((memory.skip)(memory.ctx, va, va + PAGES * PAGE), va);
    /* Page 2 was never written. */
    assert_int_equal((memory.skip)(memory.ctx, va + PAGE, va + PAGES * PAGE), va + 3 * PAGE);
    assert_int_equal((memory.skip)(memory.ctx, UINT64_C(1) << 60, UINT64_MAX), UINT64_MAX);
    munmap(pages, PAGE);
    munmap((uint8_t *)pages + 2 * PAGE, 2 * PAGE);
}

static void a_dead_part_is_not_read(void **state)
{
    (void)state;
    skip_where_memory_is_elsewhere();
    uint64_t *pages = map(PAGES, MAP_PRIVATE);
    struct seeking low = {.va = (uintptr_t)&pages[0]}, high = {.va = (uintptr_t)&pages[PAGE / 8]};
    struct cairn_err err;
    pages[0] = pages[PAGE / 8] = WORD;
    load();
    struct cairn_lost_map *at = cairn_lost_space_map(&space, low.va);
    assert_non_null(at);
    at->live = low.va + 64;
    assert_ok(cairn_lost_space_each(&space, true, seek, &low, &err), err);
    assert_ok(cairn_lost_space_each(&space, true, seek, &high, &err), err);
    assert_int_equal(low.n, 0);
    assert_int_equal(high.n, 1);
    munmap(pages, PAGES * PAGE);
}

static void data_before_the_break_is_no_arena(void **state)
{
    (void)state;
    if (is_emulated("its maps name no [heap]"))
        skip();
    struct cairn_err err;
    struct cairn_reach_blocks blocks = {0};
    uint64_t va = (uintptr_t)sbrk(0);
    assert_ptr_not_equal(sbrk(2 * PAGE), (void *)-1);
    va = (va + PAGE - 1) / PAGE * PAGE;
    *(volatile uint64_t *)(uintptr_t)va = 1;
    load();
    const struct cairn_lost_map *heap = cairn_lost_space_map(&space, va);
    assert_non_null(heap);
    assert_int_equal(heap->kind, CAIRN_LOST_BREAK);
    assert_true(space.break_start != 0 && space.break_start <= va);
    assert_ok(cairn_reach_blocks_add(&blocks, va, 64, &err), err);
    assert_ok(cairn_reach_blocks_seal(&blocks, &err), err);
    space.has_glibc = true;
    space.break_start = va; /* as if the program's data were before it */
    assert_ok(cairn_lost_space_find_arenas(&space, &blocks, &err), err);
    assert_true(space.arenas.n > 0);
    assert_int_equal(space.arenas.items[0].start, va);
    assert_int_equal(space.arenas.items[0].end, heap->end);
    cairn_reach_blocks_done(&blocks);
}

static void ranges_are_kept_in_order(void **state)
{
    (void)state;
    struct cairn_lost_ranges ranges = {0};
    static const uint64_t starts[] = {500, 100, 900, 300};
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(cairn_lost_ranges_add(&ranges, starts[i], starts[i] + 50), CAIRN_OK);
    for (size_t i = 1; i < ranges.n; i++)
        assert_true(ranges.items[i - 1].start < ranges.items[i].start);
    assert_int_equal(ranges.n, 4);
    cairn_free(ranges.items);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_was_written_is_read, set_up, tear_down),
        cmocka_unit_test_setup_teardown(shared_memory_without_page_tables_is_read, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(secret_memory_is_said_to_be_unread, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_hole_is_zero_and_passed_over, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_dead_part_is_not_read, set_up, tear_down),
        cmocka_unit_test_setup_teardown(data_before_the_break_is_no_arena, set_up, tear_down),
        cmocka_unit_test(ranges_are_kept_in_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
