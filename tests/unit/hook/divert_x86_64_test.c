/* SPDX-License-Identifier: MIT */
/*
 * Plans of x86-64, carried out: functions of each way are diverted and put back thousands of times
 * while threads call them. Every call must give its result, and once a function is diverted every
 * call must come through the hook. Code pages are never writable: what threads run is changed as
 * hooks do it, by a page in the old one's place.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>

#include "embed/renew.h"
#include "hook/plan.h"
#include "support/test.h"

enum {
    PAGE = 0x1000,
    ENTRY = 0x200,
    ISLAND_PAGES = 2,
    JUMP = 0,   /* in the island: to the hook */
    MOVED = 32, /* and the moved instructions */
    N_THREADS = 2,
    N_TOGGLES = 1000,
    N_CALLS = 1000
};

typedef long function_fn(long);

static function_fn *original;
static _Atomic long n_hooked, n_wrong;
static _Atomic int is_over;

static long hook(long value)
{
    atomic_fetch_add_explicit(&n_hooked, 1, memory_order_relaxed);
    return original(value);
}

struct divert {
    uint8_t code[PAGE]; /* as it was written */
    uint8_t *page, *island;
    struct cairn_hook_plan plan;
    struct cairn_hook_patch patch;
    uint64_t target_va;
    int memory;
};

static void write_code(const struct divert *d, uint64_t va, const void *bytes, size_t n)
{
    assert_int_equal(pwrite(d->memory, bytes, n, (off_t)va), (ssize_t)n);
}

/* `n` bytes at the entry, and ret with `padding` nops in front of it. */
static void lay(struct divert *d, const void *bytes, size_t n, size_t padding)
{
    memset(d->code, 0xf4, PAGE); /* hlt, which no thread may come to */
    for (size_t i = 0; i < ENTRY; i++)
        d->code[i] = i % 2 ? 0xc0 : 0x31;
    d->code[ENTRY - padding - 2] = 0x90;
    memset(d->code + ENTRY - padding - 1, 0xc3, 1);
    memset(d->code + ENTRY - padding, 0x90, padding);
    memcpy(d->code + ENTRY, bytes, n);
    d->page = mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(d->page != MAP_FAILED);
    d->memory = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
    assert_true(d->memory >= 0);
    write_code(d, (uint64_t)(uintptr_t)d->page, d->code, PAGE);
}

static uint64_t find_none(void *context, uint64_t low, uint64_t high, uint64_t n_bytes)
{
    (void)context;
    (void)low;
    (void)high;
    (void)n_bytes;
    return 0;
}

/* Where the plan says, or near the code. */
static void map_island(struct divert *d)
{
    uint64_t va = d->plan.island_va ? d->plan.island_va : (uint64_t)(uintptr_t)d->page + (1 << 24);
    d->island = mmap(
        (void *)(uintptr_t)(va & ~(uint64_t)(PAGE - 1)), ISLAND_PAGES * PAGE, PROT_READ | PROT_EXEC,
        MAP_PRIVATE | MAP_ANONYMOUS | (d->plan.island_va ? MAP_FIXED_NOREPLACE : 0), -1, 0);
    assert_true(d->island != MAP_FAILED);
    d->target_va = d->plan.island_va ? d->plan.island_va : (uint64_t)(uintptr_t)d->island;
}

static void fill_island(struct divert *d)
{
    uint8_t jump[CAIRN_HOOK_JUMP_MAX];
    struct cairn_hook_copy copy;
    const size_t n = cairn_hook_far_jump(CAIRN_HOOK_X86_64, (uint64_t)(uintptr_t)&hook, jump);
    const struct cairn_hook_piece piece = {.size = sizeof piece,
                                           .cpu = CAIRN_HOOK_X86_64,
                                           .code = d->page + ENTRY,
                                           .n_code = 64,
                                           .from_va = (uint64_t)(uintptr_t)(d->page + ENTRY),
                                           .to_va = d->target_va + MOVED,
                                           .least = d->plan.move_bytes};
    assert_true(cairn_hook_move(&piece, &copy));
    assert_int_equal(piece.from_va + copy.taken, d->plan.resume_va);
    write_code(d, d->target_va + JUMP, jump, n);
    write_code(d, d->target_va + MOVED, copy.code, copy.n_code);
    original = (function_fn *)(uintptr_t)(d->target_va + MOVED);
}

static void renew(const struct divert *d, uint64_t va, const uint8_t *bytes, size_t n)
{
    const struct cairn_embed_memory memory = {d->memory};
    assert_int_equal(cairn_embed_renew(&memory, va, bytes, n, NULL), CAIRN_OK);
}

static void set_hook(const struct divert *d)
{
    if (d->patch.n_pad)
        write_code(d, d->plan.pad_va, d->patch.pad, d->patch.n_pad);
    renew(d, d->plan.word_va, d->patch.word, sizeof d->patch.word);
}

static void remove_hook(const struct divert *d)
{
    renew(d, d->plan.word_va, d->plan.word_before, sizeof d->plan.word_before);
}

/* What each function here gives: its argument. */
static void *call_on(void *context)
{
    function_fn *function = (function_fn *)context;
    for (long i = 1; !atomic_load(&is_over); i++)
        if (function(i) != i)
            atomic_fetch_add(&n_wrong, 1);
    return NULL;
}

static void call_often(const struct divert *d, long n_expected)
{
    function_fn *function = (function_fn *)(uintptr_t)(d->page + ENTRY);
    atomic_store(&n_hooked, 0);
    for (long i = 1; i <= N_CALLS; i++)
        assert_int_equal(function(i), i);
    assert_int_equal(atomic_load(&n_hooked), n_expected);
}

static void toggle(struct divert *d)
{
    pthread_t threads[N_THREADS];
    atomic_store(&is_over, 0);
    atomic_store(&n_wrong, 0);
    for (unsigned i = 0; i < N_THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, call_on, d->page + ENTRY), 0);
    for (unsigned i = 0; i < N_TOGGLES; i++) {
        set_hook(d);
        remove_hook(d);
    }
    atomic_store(&is_over, 1);
    for (unsigned i = 0; i < N_THREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_int_equal(atomic_load(&n_wrong), 0);
}

static void divert(const void *bytes, size_t n, size_t padding, bool has_free,
                   enum cairn_hook_way way)
{
    static struct divert d;
    d = (struct divert){0};
    lay(&d, bytes, n, padding);
    const struct cairn_hook_function function = {
        .size = sizeof function,
        .cpu = CAIRN_HOOK_X86_64,
        .code = d.page,
        .n_code = PAGE,
        .code_va = (uint64_t)(uintptr_t)d.page,
        .entry_va = (uint64_t)(uintptr_t)(d.page + ENTRY),
        .entry_bytes = n,
        .find_free = has_free ? NULL : find_none,
        .island_bytes = 256,
        .module_low = (uint64_t)(uintptr_t)d.page,
        .module_high = (uint64_t)(uintptr_t)(d.page + PAGE),
    };
    assert_true(cairn_hook_plan(&function, &d.plan));
    assert_string_equal(cairn_hook_way_name(d.plan.way), cairn_hook_way_name(way));
    map_island(&d);
    fill_island(&d);
    assert_true(cairn_hook_aim(&d.plan, d.target_va, &d.patch));
    toggle(&d);
    set_hook(&d);
    call_often(&d, N_CALLS);
    remove_hook(&d);
    if (d.plan.pad_bytes)
        write_code(&d, d.plan.pad_va, d.plan.pad_before, d.plan.pad_bytes);
    call_often(&d, 0);
    assert_memory_equal(d.page, d.code, PAGE);
    munmap(d.page, PAGE);
    munmap(d.island, ISLAND_PAGES * PAGE);
    close(d.memory);
}

static void one(void **state)
{
    static const uint8_t code[] = {0x48, 0x8d, 0x44, 0x27, 0x00, 0xc3}; /* lea 0(%rdi),%rax */
    (void)state;
    divert(code, sizeof code, 0, true, CAIRN_HOOK_WAY_ONE);
}

/* push %r12, push %rbp, push %rbx; mov %rdi,%rax; pops; ret */
static const uint8_t pushes[] = {0x41, 0x54, 0x55, 0x53, 0x48, 0x89,
                                 0xf8, 0x5b, 0x5d, 0x41, 0x5c, 0xc3};

static void pad(void **state)
{
    (void)state;
    divert(pushes, sizeof pushes, 8, true, CAIRN_HOOK_WAY_PAD);
}

static void pun(void **state)
{
    (void)state;
    divert(pushes, sizeof pushes, 0, true, CAIRN_HOOK_WAY_PUN);
}

/* test %rdi,%rdi; je (never taken); mov %rdi,%rax; ret */
static void late(void **state)
{
    static const uint8_t code[] = {0x48, 0x85, 0xff, 0x0f, 0x84, 4,    0,   0,
                                   0,    0x48, 0x89, 0xf8, 0xc3, 0x90, 0xc3};
    (void)state;
    divert(code, sizeof code, 0, false, CAIRN_HOOK_WAY_LATE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one),
        cmocka_unit_test(pad),
        cmocka_unit_test(pun),
        cmocka_unit_test(late),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
