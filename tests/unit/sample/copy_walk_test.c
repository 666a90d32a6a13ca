/* SPDX-License-Identifier: MIT */
/* The test's own stack, caught, and made-up ones. */
#include "sample/copy_walk.h"

#include <elf.h>
#include <sys/auxv.h>
#include <ucontext.h>
#include <unistd.h>

#include <cairn/profile.h>

#include "base/alloc.h"
#include "tests/support/apart.h"
#include "tests/support/test.h"

/* PID_GONE: no such process, any more. Registers by DWARF's numbers. */
enum { DEPTH = 20, FRAMES_MAX = 1024, PID_GONE = 0x3ffffff0, NOISE_ROUNDS = 300 };
enum { RBX = 3, RBP = 6, RSP = 7 };

/*
 * popped_at: rbx is back, and the rule has it below the stack pointer still.
 * by_rbx_at: behind a call, in a frame that only rbx leads out of.
 * test_handler: at its first instruction; test_sigreturn is where handlers return to.
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
        ".cfi_endproc\n"
        ".globl test_handler\n"
        "test_handler:\n"
        ".cfi_startproc\n"
        "ret\n"
        ".cfi_endproc\n"
        "nop\n"
        ".globl test_sigreturn\n"
        "test_sigreturn:\n"
        "mov $15, %rax\n"
        "syscall\n");
extern const char test_popped_at[], test_by_rbx_at[], test_handler[], test_sigreturn[];

/* This thread, caught below DEPTH frames, what its own walk says, and what the kernel's would by
 * frame pointers. */
struct caught {
    struct cairn_copy copy;
    uint8_t *bytes;
    uintptr_t truth[FRAMES_MAX];
    size_t n_truth;
    uint64_t chain[FRAMES_MAX];
    size_t n_chain;
};

/* What the tests share. */
static struct caught caught;
static struct cairn_profile *profile;
static struct cairn_spaces spaces;
static struct cairn_space *space;
static struct cairn_copy_walker walker;

static bool is_code(void *ctx, uint64_t va)
{
    return cairn_stream_space_find(&((struct cairn_space *)(ctx ? ctx : space))->code, va);
}

static bool is_return(void *ctx, uint64_t va)
{
    return cairn_calls_end(&spaces.calls, ctx ? ctx : space, va);
}

static bool is_no_start(void *ctx, uint64_t va)
{
    (void)ctx, (void)va;
    return false;
}

static const struct cairn_walk_code code = {
    .is_code = is_code, .is_return = is_return, .is_start = is_no_start};

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

static void follow_pointers(void)
{
    const struct cairn_target_copy *stack = &caught.copy.stack;
    uint64_t record[2], fp = caught.copy.regs.reg[RBP];
    caught.chain[0] = caught.copy.regs.ip;
    caught.n_chain = 1;
    while (caught.n_chain < FRAMES_MAX &&
           cairn_target_copy_read(stack, fp, record, sizeof record)) {
        caught.chain[caught.n_chain++] = record[1];
        if (record[0] <= fp)
            break;
        fp = record[0];
    }
}

/* Up to where the kernel put what the program started with. */
static __attribute__((noinline, no_sanitize("address"))) void look(void)
{
    ucontext_t context;
    struct cairn_target_copy *stack = &caught.copy.stack;
    getcontext(&context);
    caught.copy.regs = regs_of(&context);
    stack->va = caught.copy.regs.reg[RSP] & ~(uint64_t)7;
    size_t size = (size_t)(getauxval(AT_RANDOM) - stack->va) & ~(size_t)7;
    caught.bytes = cairn_alloc(size, 1);
    for (size_t i = 0; i < size; i++) /* no memcpy(): a sanitizer would look whose bytes it takes */
        ((volatile uint8_t *)caught.bytes)[i] = ((const volatile uint8_t *)(uintptr_t)stack->va)[i];
    stack->bytes = (struct cairn_span){caught.bytes, size};
    caught.n_truth = cairn_unwind_context(&context, caught.truth, FRAMES_MAX, NULL);
    follow_pointers();
}

/* Of a size that is not known before: so it has a frame pointer in every build. */
APART static int dive(int depth)
{
    volatile char *frame = __builtin_alloca((size_t)depth + 200);
    frame[0] = (char)depth;
    if (depth == 0)
        look();
    else
        frame[0] = (char)(frame[0] + dive(depth - 1));
    return frame[0];
}

static int set_up(void **state)
{
    (void)state;
    struct cairn_err err = {0};
    assert_ok(cairn_profile_new(&profile, &err), err);
    cairn_spaces_init(&spaces, profile);
    space = cairn_spaces_get(&spaces, getpid());
    assert_non_null(space);
    assert_ok(cairn_space_read(&spaces, space, &err), err);
    assert_ok(cairn_copy_walker_init(&walker, &err), err);
    dive(DEPTH);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    space->code.pid = getpid();
    cairn_copy_walker_done(&walker);
    cairn_spaces_done(&spaces);
    cairn_profile_free(profile);
    cairn_free(caught.bytes);
    caught.bytes = NULL;
    return 0;
}

static void walk(const struct cairn_copy *copy)
{
    cairn_copy_walk(&walker, &spaces, space, &code, copy);
}

/* As if only the first `size` bytes of the stack had been copied. */
static void walk_first(size_t size, bool with_chain)
{
    struct cairn_copy copy = caught.copy;
    uint8_t *bytes = test_copy(caught.bytes, size); /* ASan stands behind it */
    copy.stack.bytes = (struct cairn_span){bytes, size};
    copy.goes_on = true;
    copy.chain = caught.chain;
    copy.n_chain = with_chain ? caught.n_chain : 0;
    walk(&copy);
    free(bytes);
}

static void check_frames(size_t n)
{
    assert_true(n <= walker.walk.n && n <= caught.n_truth);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(walker.walk.frames[i].va, caught.truth[i]);
}

static void a_copy_leads_where_the_thread_itself_walks(void **state)
{
    (void)state;
    assert_true(caught.n_truth > DEPTH);
    walk(&caught.copy);
    assert_int_equal(walker.walk.end, CAIRN_END_OUTERMOST);
    assert_int_equal(walker.walk.n, caught.n_truth);
    check_frames(walker.walk.n);
    assert_true(walker.walk.frames[0].exact);
    assert_false(walker.walk.frames[1].exact);
    assert_int_equal(walker.walk.frames[1].how, CAIRN_HOW_CFI);
}

static void the_process_may_be_gone_and_others_have_the_same_files(void **state)
{
    (void)state;
    space->code.pid = PID_GONE;
    for (int i = 0; i < 3; i++) {
        walk(&caught.copy);
        assert_int_equal(walker.walk.end, CAIRN_END_OUTERMOST);
        check_frames(caught.n_truth);
    }
    /* Elsewhere there is nothing: the same addresses are no code. */
    struct cairn_space *empty = cairn_spaces_get(&spaces, PID_GONE + 1);
    cairn_copy_walk(&walker, &spaces, empty, &code, &caught.copy);
    assert_int_equal(walker.walk.end, CAIRN_END_NEW);
    assert_int_equal(walker.walk.n, 1);
    walk(&caught.copy);
    assert_int_equal(walker.walk.end, CAIRN_END_OUTERMOST);
}

static void a_file_of_another_build_is_not_taken(void **state)
{
    (void)state;
    const struct cairn_stream_map *here =
        cairn_stream_space_find(&space->code, caught.copy.regs.ip);
    assert_non_null(here);
    const struct cairn_stream_mapping other = {
        .start = here->start,
        .size = here->end - here->start,
        .off = here->off,
        .build_id = {(const uint8_t *)"another build's, wow", 20},
        .path = cairn_strings_get(&profile->strings, here->path),
    };
    for (int lives = 0; lives < 2; lives++) {
        space->code.pid = lives ? getpid() : PID_GONE;
        assert_int_equal(cairn_space_add(&spaces, space, &other), CAIRN_OK);
        walk(&caught.copy);
        assert_int_not_equal(walker.walk.end, CAIRN_END_OUTERMOST);
    }
}

/* As after `mv new old`, where nothing is known of the build: the path is another file's, and the
 * mapping leads to the right one, or what lies there does. */
static void what_was_replaced_is_had_by_its_mapping_while_that_lives(void **state)
{
    (void)state;
    struct cairn_stream_map *map = cairn_stream_space_find(&space->code, caught.copy.regs.ip);
    assert_non_null(map);
    assert_int_equal(map->path, space->code.program);
    for (int pid = getpid(), round = 0; round < 3; round++) {
        map->is_deleted = true;
        map->build_id = 0;
        map->file += 1; /* not known yet */
        space->code.version++;
        space->code.pid = round == 2 ? PID_GONE : pid;
        space->code.program = round == 1 ? 0 : map->path; /* neither /proc/PID/exe nor, for root, */
        map->end -= round == 1 ? 4096 : 0;                /* a link in map_files: of memory */
        walk(&caught.copy);
        assert_int_equal(walker.walk.end == CAIRN_END_OUTERMOST, round != 2);
        map->end += round == 1 ? 4096 : 0;
    }
}

static void a_copy_of_any_size_ends_where_it_ends(void **state)
{
    (void)state;
    size_t n_before = 0, n_cut = 0, full = caught.copy.stack.bytes.size;
    for (size_t size = 0; size <= (full < 4096 ? full : 4096); size += 8) {
        walk_first(size, false);
        assert_true(walker.walk.n >= n_before && walker.walk.n <= caught.n_truth);
        assert_true(walker.walk.end == CAIRN_END_COPY || walker.walk.end == CAIRN_END_OUTERMOST);
        check_frames(walker.walk.n);
        n_before = walker.walk.n;
        n_cut += walker.walk.end == CAIRN_END_COPY;
    }
    assert_true(n_cut > 100);
    assert_true(n_before > 4);
}

/* The kernel copies less than was asked for where the stack's memory ends. */
static void a_copy_that_is_not_full_is_all_there_is(void **state)
{
    (void)state;
    struct cairn_copy copy = caught.copy;
    copy.stack.bytes.size = 64;
    walk(&copy);
    assert_int_equal(walker.walk.end, CAIRN_END_UNREADABLE);
}

static void where_the_copy_ends_the_kernels_chain_leads_on(void **state)
{
    (void)state;
    assert_true(caught.n_chain > DEPTH);
    size_t size = (size_t)(caught.copy.regs.reg[RBP] - caught.copy.stack.va) + 600;
    walk_first(size, false);
    size_t n_alone = walker.walk.n;
    assert_int_equal(walker.walk.end, CAIRN_END_COPY);
    assert_true(n_alone > 1 && n_alone < DEPTH);
    walk_first(size, true);
    assert_int_equal(walker.walk.end, CAIRN_END_COPY);
    assert_true(walker.walk.n > n_alone + DEPTH / 2);
    check_frames(n_alone + DEPTH / 2); /* none is left out */
    assert_int_equal(walker.walk.frames[n_alone].how, CAIRN_HOW_FP);
    caught.chain[DEPTH / 2] = 1; /* no code: it ends before */
    walk_first(size, true);
    assert_true(walker.walk.n <= DEPTH / 2 + 1);
    check_frames(walker.walk.n);
}

static void what_is_popped_already_is_in_its_register(void **state)
{
    (void)state;
    enum { SP = 0x70000000 };
    uint64_t words[] = {(uint64_t)(uintptr_t)test_by_rbx_at, 1, 0, 0, 0, 0};
    const struct cairn_copy copy = {
        .regs = {.machine = EM_X86_64,
                 .ip = (uint64_t)(uintptr_t)test_popped_at,
                 .reg = {[RBX] = SP + 16, [RSP] = SP},
                 .known = 0xffff},
        .stack = {.va = SP, .bytes = {(const uint8_t *)words, sizeof words}},
        .goes_on = true,
    };
    walk(&copy);
    assert_int_equal(walker.walk.n, 2);
    assert_int_equal(walker.walk.frames[1].va, (uint64_t)(uintptr_t)test_by_rbx_at);
    assert_int_equal(walker.walk.end, CAIRN_END_OUTERMOST);
}

/* What the kernel puts on a handler's stack: registers of x86-64 at 40 of the ucontext, rsp and rip
 * the last two of 17. */
static void from_a_handlers_own_stack_the_walk_leads_to_what_was_interrupted_and_ends(void **state)
{
    (void)state;
    enum { SP = 0x70000000, REGS = 1 + 40 / 8 };
    uint64_t words[64] = {(uint64_t)(uintptr_t)test_sigreturn};
    struct cairn_copy copy = {
        .regs = {.machine = EM_X86_64,
                 .ip = (uint64_t)(uintptr_t)test_handler,
                 .reg = {[RSP] = SP},
                 .known = 0xffff},
        .stack = {.va = SP, .bytes = {(const uint8_t *)words, sizeof words}},
        .goes_on = true,
    };
    words[REGS + 16] = (uint64_t)(uintptr_t)test_by_rbx_at;
    words[REGS + 11] = words[REGS + 15] = 0x7fff00000000; /* rbx, rsp */
    walk(&copy);
    assert_int_equal(walker.walk.n, 3);
    assert_int_equal(walker.walk.frames[2].va, (uint64_t)(uintptr_t)test_by_rbx_at);
    assert_true(walker.walk.frames[1].exact && walker.walk.frames[2].exact);
    assert_int_equal(walker.walk.end, CAIRN_END_SIGNAL_STACK);
    words[REGS + 11] = words[REGS + 15] = SP + sizeof words; /* the same stack: only too short */
    walk(&copy);
    assert_int_equal(walker.walk.end, CAIRN_END_COPY);
}

static void registers_of_no_cpu_have_no_stack(void **state)
{
    (void)state;
    struct cairn_copy copy = caught.copy;
    copy.regs.known = 0;
    walk(&copy);
    assert_int_equal(walker.walk.end, CAIRN_END_NO_USER);
    copy.regs = (struct cairn_cursor_regs){.machine = 9999, .known = UINT64_MAX};
    walk(&copy);
    assert_int_equal(walker.walk.end, CAIRN_END_NO_USER);
    assert_int_equal(walker.walk.n, 0);
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
    size_t n = caught.copy.stack.bytes.size / 8, n_whole = 0;
    uint64_t *words = (uint64_t *)(void *)caught.bytes;
    for (int round = 0; round < NOISE_ROUNDS; round++) {
        words[noise(&seed) % n] =
            round % 3 ? words[noise(&seed) % n] : caught.copy.stack.va + noise(&seed) % 4096;
        words[noise(&seed) % n] = round % 5 ? noise(&seed) : UINT64_MAX - noise(&seed) % 64;
        struct cairn_copy copy = caught.copy;
        if (round % 7 == 0)
            copy.regs.reg[RSP] = noise(&seed);
        if (round % 11 == 0)
            copy.regs.ip = noise(&seed);
        walk(&copy);
        assert_true(walker.walk.n >= 1 && walker.walk.n <= CAIRN_WALK_FRAMES_MAX);
        n_whole += walker.walk.end == CAIRN_END_OUTERMOST;
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
        int result = cairn_copy_walker_init(w, NULL);
        if (result == CAIRN_OK)
            cairn_copy_walk(w, &spaces, space, &code, &caught.copy);
        cairn_alloc_fail_after(-1);
        assert_true(result == CAIRN_OK || result == CAIRN_E_NOMEM);
        done = result == CAIRN_OK && w->walk.end == CAIRN_END_OUTERMOST;
        cairn_copy_walker_done(w);
        cairn_free(w);
    }
    assert_true(done);
}

#define WITH_A_STACK(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_A_STACK(a_copy_leads_where_the_thread_itself_walks),
        WITH_A_STACK(the_process_may_be_gone_and_others_have_the_same_files),
        WITH_A_STACK(a_file_of_another_build_is_not_taken),
        WITH_A_STACK(what_was_replaced_is_had_by_its_mapping_while_that_lives),
        WITH_A_STACK(a_copy_of_any_size_ends_where_it_ends),
        WITH_A_STACK(a_copy_that_is_not_full_is_all_there_is),
        WITH_A_STACK(where_the_copy_ends_the_kernels_chain_leads_on),
        WITH_A_STACK(what_is_popped_already_is_in_its_register),
        WITH_A_STACK(from_a_handlers_own_stack_the_walk_leads_to_what_was_interrupted_and_ends),
        WITH_A_STACK(registers_of_no_cpu_have_no_stack),
        WITH_A_STACK(whatever_the_bytes_say_the_walk_ends),
        WITH_A_STACK(every_lack_of_memory_ends_in_a_walk),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
