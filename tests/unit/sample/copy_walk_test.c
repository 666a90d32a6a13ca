/* SPDX-License-Identifier: MIT */
#include "sample/copy_walk.h"

#include <elf.h>
#include <sys/auxv.h>
#include <ucontext.h>
#include <unistd.h>

#include <cairn/profile.h>

#include "base/alloc.h"
#include "tests/support/test.h"

/* PID_GONE: no such process, any more. */
enum { DEPTH = 20, FRAME = 200, FRAMES_MAX = 1024, PID_GONE = 0x3ffffff0, NOISE_ROUNDS = 300 };

/* This thread, caught below DEPTH frames, and what its own walk says. */
struct caught {
    struct cairn_copy copy;
    uint8_t *bytes;
    uintptr_t truth[FRAMES_MAX];
    size_t n_truth;
};

static struct cairn_cursor_regs regs_of(const ucontext_t *context)
{
    static const uint8_t gregs[] = {REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI,
                                    REG_RBP, REG_RSP, REG_R8,  REG_R9,  REG_R10, REG_R11,
                                    REG_R12, REG_R13, REG_R14, REG_R15};
    struct cairn_cursor_regs regs = {
        .machine = EM_X86_64, .ip = (uint64_t)context->uc_mcontext.gregs[REG_RIP], .known = 0xffff};
    for (unsigned i = 0; i < sizeof gregs; i++)
        regs.reg[i] = (uint64_t)context->uc_mcontext.gregs[gregs[i]];
    return regs;
}

/* Up to where the kernel put what the program started with. */
static __attribute__((noinline, no_sanitize("address"))) void look(struct caught *caught)
{
    ucontext_t context;
    getcontext(&context);
    caught->copy.regs = regs_of(&context);
    caught->copy.va = caught->copy.regs.reg[7] & ~(uint64_t)7;
    size_t size = (size_t)(getauxval(AT_RANDOM) - caught->copy.va) & ~(size_t)7;
    caught->bytes = cairn_alloc(size, 1);
    for (size_t i = 0; i < size; i++) /* no memcpy(): a sanitizer would look whose bytes it takes */
        ((volatile uint8_t *)caught->bytes)[i] =
            ((const volatile uint8_t *)(uintptr_t)caught->copy.va)[i];
    caught->copy.bytes = (struct cairn_span){caught->bytes, size};
    caught->n_truth = cairn_unwind_context(&context, caught->truth, FRAMES_MAX, NULL);
}

static __attribute__((noinline)) int dive(struct caught *caught, int depth)
{
    volatile char frame[FRAME];
    frame[0] = (char)depth;
    if (depth == 0)
        look(caught);
    else
        frame[0] = (char)(frame[0] + dive(caught, depth - 1));
    return frame[0];
}

/* What the tests share. */
static struct caught caught;
static struct cairn_profile *profile;
static struct cairn_spaces spaces;
static struct cairn_space *space;
static struct cairn_copy_walker walker;

static int set_up(void **state)
{
    (void)state;
    struct cairn_err err = {0};
    assert_ok(cairn_profile_new(&profile, &err), err);
    spaces.profile = profile;
    space = cairn_spaces_get(&spaces, getpid());
    assert_non_null(space);
    assert_ok(cairn_space_read(&spaces, space, &err), err);
    assert_ok(cairn_copy_walker_init(&walker, &err), err);
    dive(&caught, DEPTH);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    space->pid = getpid();
    cairn_copy_walker_done(&walker);
    cairn_spaces_done(&spaces);
    cairn_profile_free(profile);
    cairn_free(caught.bytes);
    caught.bytes = NULL;
    return 0;
}

static void check_frames(size_t n)
{
    assert_true(n <= walker.walk.n && n <= caught.n_truth);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(walker.walk.addresses[i], caught.truth[i]);
}

static void a_copy_leads_where_the_thread_itself_walks(void **state)
{
    (void)state;
    assert_true(caught.n_truth > DEPTH);
    cairn_copy_walk(&walker, &spaces, space, &caught.copy);
    assert_int_equal(walker.walk.end, CAIRN_WALK_WHOLE);
    assert_int_equal(walker.walk.n, caught.n_truth);
    check_frames(walker.walk.n);
    assert_true(walker.walk.exact[0]);
    assert_false(walker.walk.exact[1]);
    assert_int_equal(walker.walk.kinds[1], CAIRN_FRAME_CFI);
}

static void the_process_may_be_gone_and_others_have_the_same_files(void **state)
{
    (void)state;
    space->pid = PID_GONE;
    for (int i = 0; i < 3; i++) {
        cairn_copy_walk(&walker, &spaces, space, &caught.copy);
        assert_int_equal(walker.walk.end, CAIRN_WALK_WHOLE);
        check_frames(caught.n_truth);
    }
    /* Elsewhere there is nothing: the same addresses are no code. */
    struct cairn_space *empty = cairn_spaces_get(&spaces, PID_GONE + 1);
    cairn_copy_walk(&walker, &spaces, empty, &caught.copy);
    assert_int_equal(walker.walk.end, CAIRN_WALK_NO_CODE);
    assert_int_equal(walker.walk.n, 1);
    cairn_copy_walk(&walker, &spaces, space, &caught.copy);
    assert_int_equal(walker.walk.end, CAIRN_WALK_WHOLE);
}

static void a_file_of_another_build_is_not_taken(void **state)
{
    (void)state;
    const struct cairn_space_map *here = cairn_space_find(space, caught.copy.regs.ip);
    assert_non_null(here);
    const struct cairn_space_news other = {
        .start = here->start,
        .size = here->end - here->start,
        .off = here->off,
        .build_id = {(const uint8_t *)"another build's, wow", 20},
        .path = cairn_strings_get(&profile->strings, here->path),
    };
    space->pid = PID_GONE;
    assert_int_equal(cairn_space_add(&spaces, space, &other), CAIRN_OK);
    cairn_copy_walk(&walker, &spaces, space, &caught.copy);
    assert_int_not_equal(walker.walk.end, CAIRN_WALK_WHOLE);
}

static void where_the_copy_ends_the_reason_says_whether_the_stack_does(void **state)
{
    (void)state;
    struct cairn_copy half = caught.copy;
    half.bytes.size = (size_t)DEPTH * FRAME;
    half.goes_on = true;
    cairn_copy_walk(&walker, &spaces, space, &half);
    assert_int_equal(walker.walk.end, CAIRN_WALK_COPY);
    assert_true(walker.walk.n > 4 && walker.walk.n < caught.n_truth);
    check_frames(walker.walk.n);
    half.goes_on = false;
    cairn_copy_walk(&walker, &spaces, space, &half);
    assert_int_equal(walker.walk.end, CAIRN_WALK_UNREADABLE);
}

static uint64_t noise(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return *seed >> 11;
}

/* Words of the stack are exchanged for others of it, and for nonsense. */
static void whatever_the_bytes_say_the_walk_ends(void **state)
{
    (void)state;
    uint64_t seed = 1;
    size_t n = caught.copy.bytes.size / 8, n_whole = 0;
    uint64_t *words = (uint64_t *)(void *)caught.bytes;
    for (int round = 0; round < NOISE_ROUNDS; round++) {
        words[noise(&seed) % n] =
            round % 3 ? words[noise(&seed) % n] : caught.copy.va + noise(&seed) % 4096;
        words[noise(&seed) % n] = round % 5 ? noise(&seed) : UINT64_MAX - noise(&seed) % 64;
        struct cairn_copy copy = caught.copy;
        if (round % 7 == 0)
            copy.regs.reg[7] = noise(&seed);
        if (round % 11 == 0)
            copy.regs.ip = noise(&seed);
        cairn_copy_walk(&walker, &spaces, space, &copy);
        assert_true(walker.walk.n >= 1 && walker.walk.n <= CAIRN_WALK_FRAMES_MAX);
        n_whole += walker.walk.end == CAIRN_WALK_WHOLE;
    }
    assert_true(n_whole < NOISE_ROUNDS);
}

static void every_lack_of_memory_ends_in_a_walk(void **state)
{
    (void)state;
    bool done = false;
    for (long n = 0; !done && n < 10000; n++) {
        struct cairn_copy_walker *w = cairn_alloc(1, sizeof *w);
        cairn_alloc_fail_after(n);
        int code = cairn_copy_walker_init(w, NULL);
        if (code == CAIRN_OK)
            cairn_copy_walk(w, &spaces, space, &caught.copy);
        cairn_alloc_fail_after(-1);
        assert_true(code == CAIRN_OK || code == CAIRN_E_NOMEM);
        done = code == CAIRN_OK && w->walk.end == CAIRN_WALK_WHOLE;
        cairn_copy_walker_done(w);
        cairn_free(w);
    }
    assert_true(done);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_copy_leads_where_the_thread_itself_walks, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(the_process_may_be_gone_and_others_have_the_same_files,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_file_of_another_build_is_not_taken, set_up, tear_down),
        cmocka_unit_test_setup_teardown(where_the_copy_ends_the_reason_says_whether_the_stack_does,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(whatever_the_bytes_say_the_walk_ends, set_up, tear_down),
        cmocka_unit_test_setup_teardown(every_lack_of_memory_ends_in_a_walk, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
