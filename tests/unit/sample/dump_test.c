/* SPDX-License-Identifier: MIT */
/* The test's own stack as a sample of perf_event_open(2) would hold it, and made-up ones. */
#include "sample/dump.h"

#include <elf.h>
#include <pthread.h>
#include <ucontext.h>
#include <unistd.h>

#include <cairn/unwind.h>

#include "bpf/walk.h"
#include "tests/support/test.h"

enum { COPY_MAX = 60 << 10, DEPTH = 12, FRAMES = 256, RBX = 3, RSP = 7 };
static const uint64_t FLAGS = CAIRN_BPF_BY_FP | CAIRN_BPF_EXACT;

/*
 * popped_at: rbx is back, and the rule has it below the stack pointer still.
 * by_rbx_at: behind a call, in a frame that only rbx leads out of.
 */
__asm__(".text\n"
        "popped:\n"
        ".cfi_startproc\n"
        "push %rbx\n"
        ".cfi_adjust_cfa_offset 8\n"
        ".cfi_offset rbx, -16\n"
        "pop %rbx\n"
        ".cfi_adjust_cfa_offset -8\n"
        ".globl test_popped_at\n"
        "test_popped_at:\n"
        "ret\n"
        ".cfi_endproc\n"
        "by_rbx:\n"
        ".cfi_startproc\n"
        ".cfi_def_cfa rbx, 16\n"
        ".cfi_offset rbx, -16\n"
        "call popped\n"
        ".globl test_by_rbx_at\n"
        "test_by_rbx_at:\n"
        "ret\n"
        ".cfi_endproc\n");
extern const char test_popped_at[], test_by_rbx_at[];

/* One sample of this thread, taken at the innermost dive(). */
struct taken {
    struct cairn_perf_record record;
    uint8_t stack[COPY_MAX];
    uint64_t fp;
    uintptr_t truth[FRAMES]; /* as the thread itself walks: from take() on */
    size_t n_truth;
    struct cairn_perf_chain chain; /* what the kernel makes of the frame pointers */
};
static struct taken taken;

static struct {
    struct cairn_profile *profile;
    struct cairn_spaces spaces;
    struct cairn_space *space;
} world;

/* The bytes between the locals are nobody's to read, says ASan. */
__attribute__((no_sanitize("address"))) static void copy_stack(uint64_t sp, uint64_t end)
{
    size_t n = end - sp < COPY_MAX ? end - sp : COPY_MAX;
    for (size_t i = 0; i + 8 <= n; i += 8)
        *(uint64_t *)(void *)(taken.stack + i) = *(volatile uint64_t *)(uintptr_t)(sp + i);
    taken.record.regs.reg[RSP] = sp;
    taken.record.stack = (struct cairn_span){taken.stack, n};
}

static bool word_of(uint64_t va, uint64_t *ret_word)
{
    struct cairn_span bytes;
    if (va < taken.record.regs.reg[RSP] ||
        !cairn_span_slice(taken.record.stack, va - taken.record.regs.reg[RSP], sizeof *ret_word,
                          &bytes))
        return false;
    memcpy(ret_word, bytes.data, sizeof *ret_word);
    return true;
}

static void follow_pointers(void)
{
    uint64_t fp = taken.fp, next, ret;
    taken.chain.user[0] = taken.record.regs.ip;
    taken.chain.n_user = 1;
    for (; word_of(fp, &next) && word_of(fp + 8, &ret) && taken.chain.n_user < FRAMES; fp = next) {
        taken.chain.user[taken.chain.n_user++] = ret;
        if (next <= fp)
            break;
    }
}

static __attribute__((noinline)) int take(void)
{
    ucontext_t uc;
    pthread_attr_t attr;
    void *low;
    size_t size;
    taken.n_truth = cairn_unwind_here(taken.truth, FRAMES, NULL);
    getcontext(&uc);
    pthread_getattr_np(pthread_self(), &attr);
    pthread_attr_getstack(&attr, &low, &size);
    pthread_attr_destroy(&attr);
    const greg_t *g = uc.uc_mcontext.gregs;
    const greg_t regs[] = {g[REG_RAX], g[REG_RDX], g[REG_RCX], g[REG_RBX], g[REG_RSI], g[REG_RDI],
                           g[REG_RBP], g[REG_RSP], g[REG_R8],  g[REG_R9],  g[REG_R10], g[REG_R11],
                           g[REG_R12], g[REG_R13], g[REG_R14], g[REG_R15]};
    taken.record.regs = (struct cairn_cursor_regs){
        .machine = EM_X86_64, .ip = (uint64_t)g[REG_RIP], .known = 0xffff};
    for (size_t i = 0; i < sizeof regs / sizeof *regs; i++)
        taken.record.regs.reg[i] = (uint64_t)regs[i];
    taken.fp = (uint64_t)g[REG_RBP];
    copy_stack((uint64_t)g[REG_RSP], (uint64_t)(uintptr_t)low + size);
    follow_pointers();
    return (int)taken.n_truth;
}

/* Of a size that is not known before: so it has a frame pointer in every build. */
static __attribute__((noinline)) int dive(int depth)
{
    volatile char *frame = __builtin_alloca((size_t)depth + 64);
    frame[0] = (char)depth;
    return depth ? dive(depth - 1) + frame[0] : take() + frame[0];
}

static int set_up(void **state)
{
    (void)state;
    if (cairn_profile_new(&world.profile, NULL) < 0)
        return -1;
    world.spaces.profile = world.profile;
    world.space = cairn_spaces_get(&world.spaces, getpid());
    if (!world.space || cairn_space_read(&world.spaces, world.space, NULL) < 0)
        return -1;
    return dive(DEPTH) ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    cairn_spaces_done(&world.spaces);
    cairn_profile_free(world.profile);
    return 0;
}

/* Walks the sample as if only the first `size` bytes of its stack had been asked for. */
static void walk(struct cairn_dump *dump, size_t size, const struct cairn_perf_chain *chain,
                 struct cairn_user_sample *ret_user)
{
    static const struct cairn_perf_chain none;
    struct cairn_perf_record record = taken.record;
    uint8_t *copy = test_copy(taken.stack, size); /* ASan stands behind it */
    record.stack = (struct cairn_span){copy, size};
    dump->stack_bytes = (uint32_t)size;
    cairn_dump_walk(dump, &world.spaces, world.space, &record, chain ? chain : &none, ret_user);
    free(copy);
}

static void a_stack_in_the_copy_is_whole(void **state)
{
    (void)state;
    static struct cairn_dump dump;
    struct cairn_user_sample user;
    assert_int_equal(cairn_dump_init(&dump, 0, NULL), CAIRN_OK);
    walk(&dump, taken.record.stack.size, NULL, &user);
    assert_int_equal(user.walked_end, CAIRN_BPF_END_OUTERMOST);
    assert_false(user.is_beyond);
    assert_int_equal(user.n_walked, taken.n_truth);
    assert_true(user.walked[0] & CAIRN_BPF_EXACT);
    for (size_t i = 1; i < user.n_walked; i++)
        assert_int_equal(user.walked[i], taken.truth[i]);
    cairn_dump_done(&dump);
}

static void a_copy_of_any_size_ends_where_it_ends(void **state)
{
    (void)state;
    static struct cairn_dump dump;
    struct cairn_user_sample user;
    size_t n_before = 0, n_cut = 0, full = taken.record.stack.size;
    assert_int_equal(cairn_dump_init(&dump, 0, NULL), CAIRN_OK);
    for (size_t size = 0; size <= (full < 4096 ? full : 4096); size += 8) {
        walk(&dump, size, NULL, &user);
        assert_true(user.n_walked >= n_before && user.n_walked <= taken.n_truth);
        assert_int_equal(user.is_beyond, user.walked_end != CAIRN_BPF_END_OUTERMOST);
        for (size_t i = 1; i < user.n_walked; i++)
            assert_int_equal(user.walked[i] & ~FLAGS, taken.truth[i]);
        n_before = user.n_walked;
        n_cut += user.is_beyond;
    }
    assert_true(n_cut > 100);
    cairn_dump_done(&dump);
}

/* The kernel copies less than was asked for where the stack's memory ends. */
static void a_copy_that_is_not_full_is_all_there_is(void **state)
{
    (void)state;
    static struct cairn_dump dump;
    static const struct cairn_perf_chain none;
    struct cairn_user_sample user;
    struct cairn_perf_record record = taken.record;
    record.stack.size = 64;
    assert_int_equal(cairn_dump_init(&dump, 4096, NULL), CAIRN_OK);
    cairn_dump_walk(&dump, &world.spaces, world.space, &record, &none, &user);
    assert_false(user.is_beyond);
    assert_int_equal(user.walked_end, CAIRN_BPF_END_UNREADABLE);
    cairn_dump_done(&dump);
}

static void where_the_copy_ends_the_kernels_chain_leads_on(void **state)
{
    (void)state;
    static struct cairn_dump dump;
    struct cairn_user_sample user;
    assert_true(taken.chain.n_user > DEPTH);
    size_t size = (size_t)(taken.fp - taken.record.regs.reg[RSP]) + 64; /* the first frame or two */
    assert_int_equal(cairn_dump_init(&dump, 0, NULL), CAIRN_OK);
    walk(&dump, size, NULL, &user);
    size_t n_alone = user.n_walked;
    assert_true(user.is_beyond && n_alone < DEPTH);
    walk(&dump, size, &taken.chain, &user);
    assert_true(user.is_beyond);
    assert_int_equal(user.n_checked, n_alone);
    assert_true(user.n_walked > n_alone + DEPTH / 2);
    for (size_t i = 1; i < n_alone; i++)
        assert_int_equal(user.walked[i] & ~FLAGS, taken.truth[i]);
    for (size_t i = n_alone, n = taken.chain.n_user - user.n_walked; i < user.n_walked; i++)
        assert_int_equal(user.walked[i], taken.chain.user[n + i] | CAIRN_BPF_BY_FP);
    assert_int_equal(user.walked[n_alone] & ~FLAGS, taken.truth[n_alone]); /* none is left out */
    cairn_dump_done(&dump);
}

static void what_is_popped_already_is_in_its_register(void **state)
{
    (void)state;
    static struct cairn_dump dump;
    static const struct cairn_perf_chain none;
    struct cairn_user_sample user;
    enum { SP = 0x70000000 };
    uint64_t stack[] = {(uint64_t)(uintptr_t)test_by_rbx_at, 1, 0, 0, 0, 0};
    struct cairn_perf_record record = {.regs = {.machine = EM_X86_64,
                                                .ip = (uint64_t)(uintptr_t)test_popped_at,
                                                .reg = {[RBX] = SP + 16, [RSP] = SP},
                                                .known = 0xffff}};
    record.stack = (struct cairn_span){(const uint8_t *)stack, sizeof stack};
    assert_int_equal(cairn_dump_init(&dump, sizeof stack, NULL), CAIRN_OK);
    cairn_dump_walk(&dump, &world.spaces, world.space, &record, &none, &user);
    assert_int_equal(user.n_walked, 2);
    assert_int_equal(user.walked[1], (uint64_t)(uintptr_t)test_by_rbx_at);
    assert_int_equal(user.walked_end, CAIRN_BPF_END_OUTERMOST);
    cairn_dump_done(&dump);
}

static void other_programs_and_none_have_their_reasons(void **state)
{
    (void)state;
    static struct cairn_dump dump;
    static const struct cairn_perf_chain none;
    struct cairn_user_sample user;
    struct cairn_perf_record record = taken.record;
    struct cairn_space *unknown = cairn_spaces_get(&world.spaces, 0x3ffffff0);
    assert_int_equal(cairn_dump_init(&dump, COPY_MAX, NULL), CAIRN_OK);
    record.regs.machine = EM_386;
    cairn_dump_walk(&dump, &world.spaces, world.space, &record, &none, &user);
    assert_int_equal(user.walked_end, CAIRN_BPF_END_32);
    assert_int_equal(user.n_walked, 1);
    record.regs = (struct cairn_cursor_regs){0};
    cairn_dump_walk(&dump, &world.spaces, world.space, &record, &none, &user);
    assert_int_equal(user.walked_end, CAIRN_BPF_END_NOTHING);
    assert_int_equal(user.n_walked, 0);
    record = taken.record;
    cairn_dump_walk(&dump, &world.spaces, unknown, &record, &none, &user);
    assert_int_equal(user.walked_end, CAIRN_BPF_END_NEW);
    cairn_dump_done(&dump);
}

/* A file that is another one by now has no rules to give: its frames end the walk. */
static void a_file_that_was_replaced_is_not_read(void **state)
{
    (void)state;
    struct cairn_dump_files files = {0};
    struct cairn_space_map *map = cairn_space_find(world.space, (uintptr_t)test_popped_at);
    assert_non_null(map);
    struct cairn_space_map other = *map;
    assert_true(cairn_dump_file(&files, &world.spaces, world.space, map).size > 0);
    other.file ^= 1; /* of another build */
    other.is_deleted = true;
    assert_int_equal(cairn_dump_file(&files, &world.spaces, world.space, &other).size, 0);
    assert_int_equal(files.n, 2);
    cairn_dump_files_done(&files);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stack_in_the_copy_is_whole),
        cmocka_unit_test(a_copy_of_any_size_ends_where_it_ends),
        cmocka_unit_test(a_copy_that_is_not_full_is_all_there_is),
        cmocka_unit_test(where_the_copy_ends_the_kernels_chain_leads_on),
        cmocka_unit_test(what_is_popped_already_is_in_its_register),
        cmocka_unit_test(other_programs_and_none_have_their_reasons),
        cmocka_unit_test(a_file_that_was_replaced_is_not_read),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
