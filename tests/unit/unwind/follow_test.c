/* SPDX-License-Identifier: MIT */
#include "unwind/follow.h"

#include "stack.h"

/* Behind a call, right before it. */
enum { RET = CODE + 0xf0, SP_AT = STACK + 0x100, FP_AT = STACK + 0x888 };
enum { A64_FP = 29, A64_LR = 30 };

static bool is_code(void *ctx, uint64_t va)
{
    (void)ctx;
    return va >= CODE && va < CODE + CODE_BYTES;
}

struct world {
    struct test_stack t;
    struct cairn_memory memory;
    struct cairn_fp_space space;
    struct cairn_unwind_regs regs;
};

static void put_word(struct world *w, uint64_t at, uint32_t word)
{
    memcpy(w->t.code + (at - CODE), &word, sizeof word);
}

static void open_a64(struct world *w, const uint32_t *words, size_t n)
{
    memset(w, 0, sizeof *w);
    w->memory = (struct cairn_memory){test_stack_read, &w->t};
    w->space = (struct cairn_fp_space){.memory = &w->memory, .is_code = is_code};
    for (size_t i = 0; i < n; i++)
        put_word(w, CODE + 4 * i, words[i]);
    put_word(w, RET - 4, 0x97ffffc5); /* bl CODE */
}

/* At instruction `i`, with sp `pushed` bytes below where it was. */
static void stand(struct world *w, size_t i, uint64_t pushed, uint64_t fp, uint64_t link)
{
    w->regs = (struct cairn_unwind_regs){.ip = CODE + 4 * i};
    cairn_unwind_set(&w->regs, cairn_unwind_aarch64.sp, SP_AT - pushed);
    cairn_unwind_set(&w->regs, A64_FP, fp);
    if (link)
        cairn_unwind_set(&w->regs, A64_LR, link);
}

static void expect_caller(struct world *w, const char *what)
{
    if (cairn_follow(&cairn_unwind_aarch64, &w->space, &w->regs) == CAIRN_FP_NONE)
        fail_msg("%s: no caller", what);
    if (w->regs.ip != RET || w->regs.regs[31] != SP_AT || w->regs.regs[A64_FP] != FP_AT)
        fail_msg("%s: ip %#lx sp %#lx fp %#lx", what, (unsigned long)w->regs.ip,
                 (unsigned long)w->regs.regs[31], (unsigned long)w->regs.regs[A64_FP]);
    assert_false(cairn_unwind_known(&w->regs, 0)); /* what calls change is not the caller's */
}

static void expect_none(struct world *w)
{
    struct cairn_unwind_regs before = w->regs;
    assert_int_equal(cairn_follow(&cairn_unwind_aarch64, &w->space, &w->regs), CAIRN_FP_NONE);
    assert_memory_equal(&before, &w->regs, sizeof before);
}

static void a_frame_is_left_from_each_of_its_instructions(void **state)
{
    (void)state;
    static const uint32_t init[] = {
        0xd503201f, /* nop */
        0xa9bf7bfd, /* stp x29, x30, [sp, #-16]! */
        0x910003fd, /* mov x29, sp */
        0x94000020, /* bl */
        0xa8c17bfd, /* ldp x29, x30, [sp], #16 */
        0xd65f03c0, /* ret */
    };
    struct world w;
    open_a64(&w, init, 6);
    for (size_t i = 0; i < 6; i++) {
        bool is_pushed = i >= 2 && i <= 4;
        if (is_pushed) {
            test_stack_put(&w.t, SP_AT - 16, FP_AT, 8);
            test_stack_put(&w.t, SP_AT - 8, RET, 8);
        }
        stand(&w, i, is_pushed ? 16 : 0, i >= 3 && is_pushed ? SP_AT - 16 : FP_AT,
              i == 4 ? CODE + 16 : RET);
        expect_caller(&w, "_init");
    }
}

static void stubs_and_signed_addresses_are_followed(void **state)
{
    (void)state;
    static const uint32_t stubs[] = {
        0xa9bf7bf0, 0x90000010, 0xf947fe11, 0x913fe210, 0xd61f0220, /* the first one */
        0xd503201f, 0xd503201f, 0xd503201f, 0x90000010, 0xf9400211, 0x91000210, 0xd61f0220,
    };
    struct world w;
    open_a64(&w, stubs, 12);
    for (size_t i = 0; i < 12; i++) {
        bool is_pushed = i >= 1 && i <= 4;
        stand(&w, i, is_pushed ? 16 : 0, FP_AT, RET);
        if (i < 5 || i > 7)
            expect_caller(&w, "stub");
    }
    static const uint32_t is_signed[] = {
        0xd503233f, /* paciasp */
        0xf81e0ffe, /* str x30, [sp, #-32]! */
        0xd63f0000, /* blr x0 */
        0xf84207fe, /* ldr x30, [sp], #32 */
        0xd65f0bff, /* retaa */
    };
    open_a64(&w, is_signed, 5);
    test_stack_put(&w.t, SP_AT - 32, RET | UINT64_C(0x55) << 48, 8);
    stand(&w, 2, 32, FP_AT, 0);
    expect_caller(&w, "signed");
}

static void saved_registers_come_back_by_way_of_others(void **state)
{
    (void)state;
    static const uint32_t code[] = {
        0xd10103ff, /* sub sp, sp, #64 */
        0xa9037bfd, /* stp x29, x30, [sp, #48] */
        0xf90003f3, /* str x19, [sp] */
        0xaa1e03f3, /* mov x19, x30 */
        0x9100c3fd, /* add x29, sp, #48 */
        0x94000020, /* bl */
        0xf94003e1, /* ldr x1, [sp] */
        0xa9437bfd, /* ldp x29, x30, [sp, #48] */
        0xaa0103f3, /* mov x19, x1 */
        0x910103ff, /* add sp, sp, #64 */
        0xd65f03c0, /* ret */
    };
    struct world w;
    open_a64(&w, code, 11);
    stand(&w, 0, 0, FP_AT, RET);
    cairn_unwind_set(&w.regs, 19, 0x1234);
    expect_caller(&w, "whole function");
    assert_int_equal(w.regs.regs[19], 0x1234);
    assert_true(cairn_unwind_known(&w.regs, 19));
}

static void conditional_jumps_are_passed_by_or_taken(void **state)
{
    (void)state;
    static const uint32_t code[] = {
        0xb4000060,             /* cbz x0, +12 */
        0xd4200000,             /* brk */
        0xd4200000, 0x54000041, /* b.ne +8 */
        0x14000002,             /* b +8 */
        0xd65f03c0,             /* ret */
        0xd65f03c0,
    };
    struct world w;
    open_a64(&w, code, 7);
    stand(&w, 0, 0, FP_AT, RET);
    expect_caller(&w, "cbz");
    stand(&w, 1, 0, FP_AT, RET);
    expect_none(&w);
    stand(&w, 3, 0, FP_AT, RET);
    expect_caller(&w, "b.ne");
}

/* __longjmp: sp and the return address come out of memory, mangled by a word. */
static void a_jump_to_another_stack_is_followed(void **state)
{
    (void)state;
    static const uint32_t code[] = {
        0xa940101d, /* ldp x29, x4, [x0] */
        0xf9400c03, /* ldr x3, [x0, #24] */
        0xca03009e, /* eor x30, x4, x3 */
        0x6d472408, /* ldp d8, d9, [x0, #112] */
        0xf9400804, /* ldr x4, [x0, #16] */
        0xca030085, /* eor x5, x4, x3 */
        0x910000bf, /* mov sp, x5 */
        0xf100003f, /* cmp x1, #0 */
        0xd61f03c0, /* br x30 */
    };
    struct world w;
    open_a64(&w, code, 9);
    uint64_t guard = 0x1122334455667788, buffer = STACK + 0x800;
    test_stack_put(&w.t, buffer, FP_AT, 8);
    test_stack_put(&w.t, buffer + 8, RET ^ guard, 8);
    test_stack_put(&w.t, buffer + 16, SP_AT ^ guard, 8);
    test_stack_put(&w.t, buffer + 24, guard, 8);
    stand(&w, 0, 128, 0, 0); /* from below, and from above: another stack */
    cairn_unwind_set(&w.regs, 0, buffer);
    expect_caller(&w, "longjmp up");
    stand(&w, 0, 0, 0, 0);
    w.regs.regs[31] = SP_AT + 0x400;
    cairn_unwind_set(&w.regs, 0, buffer);
    expect_caller(&w, "longjmp down");
}

static void what_is_not_to_be_told_is_no_caller(void **state)
{
    (void)state;
    static const uint32_t ret = 0xd65f03c0, loop = 0x14000000;
    struct world w;
    open_a64(&w, &ret, 1);
    stand(&w, 0, 0, FP_AT, 0); /* the link register is not known */
    expect_none(&w);
    stand(&w, 0, 0, FP_AT, RET + 8); /* behind no call */
    expect_none(&w);
    open_a64(&w, &loop, 1);
    stand(&w, 0, 0, FP_AT, RET);
    expect_none(&w);
    static const uint32_t lost[] = {0x9274eddf /* and sp, x14, #mask */, 0xd65f03c0};
    open_a64(&w, lost, 2);
    stand(&w, 0, 0, FP_AT, RET);
    expect_none(&w);
    static const uint32_t deeper[] = {0xd10103ff /* sub sp, sp, #64 */, 0xd65f03c0};
    open_a64(&w, deeper, 2);
    stand(&w, 0, 0, FP_AT, RET);
    expect_none(&w);
    stand(&w, CODE_BYTES / 4, 0, FP_AT, RET); /* not readable */
    expect_none(&w);
}

/* x86-64: at each of `n` instructions, which lie `at` bytes from the start, with sp `pushed` bytes
 * below where the return address is. */
struct x86_step {
    unsigned at, pushed;
    bool fp_is_set;
};

static void expect_x86(const char *code, size_t size, const struct x86_step *steps, size_t n,
                       const char *what)
{
    enum { RBP = 6, RSP = 7 };
    struct world w;
    memset(&w, 0, sizeof w);
    w.memory = (struct cairn_memory){test_stack_read, &w.t};
    w.space = (struct cairn_fp_space){.memory = &w.memory, .is_code = is_code};
    memcpy(w.t.code, code, size);
    memcpy(w.t.code + (RET - 2 - CODE), "\xff\xd0", 2); /* call *%rax */
    test_stack_put(&w.t, SP_AT, RET, 8);
    test_stack_put(&w.t, SP_AT - 8, FP_AT, 8);
    for (size_t i = 0; i < n; i++) {
        w.regs = (struct cairn_unwind_regs){.ip = CODE + steps[i].at};
        cairn_unwind_set(&w.regs, RSP, SP_AT - steps[i].pushed);
        cairn_unwind_set(&w.regs, RBP, steps[i].fp_is_set ? SP_AT - 8 : FP_AT);
        if (cairn_follow(&cairn_unwind_x86_64, &w.space, &w.regs) != CAIRN_FP_CODE ||
            w.regs.ip != RET || w.regs.regs[RSP] != SP_AT + 8 || w.regs.regs[RBP] != FP_AT)
            fail_msg("%s: wrong at byte %u", what, steps[i].at);
    }
}

static void x86_64_s_functions_are_left_from_each_of_their_instructions(void **state)
{
    (void)state;
    /* __do_global_dtors_aux: endbr64; cmpb $0, x(%rip); jne out; push %rbp; mov %rsp, %rbp;
     * call; movb $1, x(%rip); pop %rbp; ret; nopl; out: ret */
    static const char dtors[] = "\xf3\x0f\x1e\xfa\x80\x3d\x05\x2f\x00\x00\x00\x75\x15\x55\x48\x89"
                                "\xe5\xe8\x10\x00\x00\x00\xc6\x05\xe5\x2e\x00\x00\x01\x5d\xc3\x0f"
                                "\x1f\x00\xc3";
    static const struct x86_step dtors_steps[] = {
        {0, 0, false}, {4, 0, false}, {11, 0, false}, {13, 0, false}, {14, 8, false}, {17, 8, true},
        {22, 8, true}, {29, 8, true}, {30, 0, false}, {31, 0, false}, {34, 0, false}};
    expect_x86(dtors, sizeof dtors - 1, dtors_steps, 11, "dtors");
    /* push %rbp; mov %rsp, %rbp; sub $64, %rsp; vmovdqu %ymm0, (%rsp); vzeroupper; leave; ret */
    static const char frame[] = "\x55\x48\x89\xe5\x48\x83\xec\x40\xc5\xfe\x7f\x04\x24\xc5\xf8"
                                "\x77\xc9\xc3";
    static const struct x86_step frame_steps[] = {{0, 0, false}, {1, 8, false},  {4, 8, true},
                                                  {8, 72, true}, {13, 72, true}, {16, 72, true},
                                                  {17, 0, false}};
    expect_x86(frame, sizeof frame - 1, frame_steps, 7, "frame");
    /* A tail call: mov 8(%rdi), %rax; pop %rbp; jmp *%rax. */
    static const char tail[] = "\x48\x8b\x47\x08\x5d\xff\xe0";
    static const struct x86_step tail_steps[] = {{0, 8, false}, {4, 8, false}, {5, 0, false}};
    expect_x86(tail, sizeof tail - 1, tail_steps, 3, "tail");
    /* add $16, %rsp; mov %rbx, %rcx; imul $1000, %rcx, %rdx; movabs; lock inc; shl; palignr;
     * shr $63, %rsi, whose number is rbp's; nopl 0(%rax), too; ret */
    static const char various[] =
        "\x48\x83\xc4\x10\x48\x89\xd9\x48\x69\xd1\xe8\x03\x00\x00\x48\xb8\x01\x02\x03\x04\x05"
        "\x06\x07\x08\xf0\x48\xff\x47\x10\x48\xc1\xe2\x04\x66\x0f\x3a\x0f\xc1\x08\x48\xc1\xee"
        "\x3f\x0f\x1f\x68\x00\xc3";
    static const struct x86_step various_steps[] = {{0, 16, false}};
    expect_x86(various, sizeof various - 1, various_steps, 1, "various");
}

/* The end of a function with __builtin_eh_return: it puts the handler's address on the stack that
 * it changes to, rax bytes above, and jumps there; the handler makes a tail call. */
static void x86_64_s_jump_to_a_handler_is_followed(void **state)
{
    (void)state;
    enum { RAX = 0, RDX = 1, RSI = 4, RBP = 6, RSP = 7, HANDLER = 0x80, DECOY = 0xe0 };
    /* mov %rsi, 8(%rbp,%rax); lea 8(%rbp,%rax), %rcx; mov (%rbp), %rbp; mov %rcx, %rsp;
     * pop %rcx; jmp *%rcx */
    static const char ends[] = "\x48\x89\x74\x05\x08\x48\x8d\x4c\x05\x08\x48\x8b\x6d"
                               "\x00\x48\x89\xcc\x59\xff\xe1";
    struct world w;
    memset(&w, 0, sizeof w);
    w.memory = (struct cairn_memory){test_stack_read, &w.t};
    w.space = (struct cairn_fp_space){.memory = &w.memory, .is_code = is_code};
    memcpy(w.t.code, ends, sizeof ends - 1);
    memcpy(w.t.code + HANDLER, "\x48\x83\xc4\x08\xff\xe2", 6); /* add $8, %rsp; jmp *%rdx */
    memcpy(w.t.code + DECOY - 2, "\xff\xd0", 2); /* where it jumps looks like a return address */
    memcpy(w.t.code + (RET - 2 - CODE), "\xff\xd0", 2);
    test_stack_put(&w.t, SP_AT, RET, 8);
    test_stack_put(&w.t, SP_AT - 0x40, FP_AT, 8);
    w.regs = (struct cairn_unwind_regs){.ip = CODE};
    cairn_unwind_set(&w.regs, RSP, SP_AT - 0x80);
    cairn_unwind_set(&w.regs, RBP, SP_AT - 0x40);
    cairn_unwind_set(&w.regs, RAX, 0x28);
    cairn_unwind_set(&w.regs, RSI, CODE + HANDLER);
    cairn_unwind_set(&w.regs, RDX, CODE + DECOY);
    assert_int_equal(cairn_follow(&cairn_unwind_x86_64, &w.space, &w.regs), CAIRN_FP_CODE);
    assert_int_equal(w.regs.ip, RET);
    assert_int_equal(w.regs.regs[RSP], SP_AT + 8);
    assert_int_equal(w.regs.regs[RBP], FP_AT);
}

static void a_stored_word_is_read_back(void **state)
{
    (void)state;
    struct cairn_follow f = {.n_words = 0};
    struct test_stack t = {.stack = {0}};
    const struct cairn_memory memory = {test_stack_read, &t};
    uint64_t word;
    const struct cairn_fp_space space = {.memory = &memory, .is_code = is_code};
    f.space = &space;
    cairn_follow_store(&f, SP_AT, true, 7);
    assert_true(cairn_follow_load(&f, SP_AT, &word));
    assert_int_equal(word, 7);
    assert_false(cairn_follow_load(&f, SP_AT + 4, &word));
    assert_false(cairn_follow_load(&f, SP_AT - 7, &word));
    assert_true(cairn_follow_load(&f, SP_AT + 8, &word));
    assert_true(cairn_follow_load(&f, SP_AT - 8, &word));
    for (uint64_t i = 0; i < 2 * CAIRN_FOLLOW_WORDS; i++)
        cairn_follow_store(&f, SP_AT, true, 100 + i);
    assert_true(cairn_follow_load(&f, SP_AT, &word));
    assert_int_equal(word, 100 + 2 * CAIRN_FOLLOW_WORDS - 1);
    cairn_follow_store(&f, SP_AT + 2, false, 0);
    assert_false(cairn_follow_load(&f, SP_AT, &word));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_frame_is_left_from_each_of_its_instructions),
        cmocka_unit_test(stubs_and_signed_addresses_are_followed),
        cmocka_unit_test(saved_registers_come_back_by_way_of_others),
        cmocka_unit_test(conditional_jumps_are_passed_by_or_taken),
        cmocka_unit_test(a_jump_to_another_stack_is_followed),
        cmocka_unit_test(what_is_not_to_be_told_is_no_caller),
        cmocka_unit_test(x86_64_s_functions_are_left_from_each_of_their_instructions),
        cmocka_unit_test(x86_64_s_jump_to_a_handler_is_followed),
        cmocka_unit_test(a_stored_word_is_read_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
