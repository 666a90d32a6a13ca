/* SPDX-License-Identifier: MIT */
/*
 * Moved code of x86-64, run: a zoo of small functions from equal states, the original and a copy of
 * its first instructions, for each number of them, near and out of reach. Registers, flags and
 * memory must come out equal, and a callee must find the original return address.
 *
 *     page  +0x100 the function   +0x400 data   +0x500 a function that it calls   +0x800 copy, near
 *     another page, far away: copy, far
 */
#include <stdio.h>
#include <sys/mman.h>

#include "hook/move.h"
#include "support/test.h"

enum { CODE = 0x100, DATA = 0x400, CALLEE = 0x500, NEAR = 0x800, PAGE = 0x1000, DATA_BYTES = 64 };
enum { CODE_MAX = 48, N_REGS = 16, RSP = 7, STATUS_FLAGS = 0x8d5 };

/* The order of DWARF; rsp is not loaded. */
struct state {
    uint64_t regs[N_REGS];
    uint64_t flags;
    uint8_t data[DATA_BYTES];
};

/* Loads the registers and flags, calls the code, stores them. */
void cairn_test_run(struct state *state, const void *code);
__asm__(".text\n"
        ".globl cairn_test_run\n.hidden cairn_test_run\n.type cairn_test_run, @function\n"
        "cairn_test_run:\n"
        "push %rbx; push %rbp; push %r12; push %r13; push %r14; push %r15; push %rdi\n"
        "mov %rdi, cairn_test_state(%rip)\n"
        "mov %rsi, cairn_test_code(%rip)\n"
        "mov %rdi, %rax\n"
        "push 128(%rax)\n popf\n"
        "mov 8(%rax), %rdx\n mov 16(%rax), %rcx\n mov 24(%rax), %rbx\n mov 32(%rax), %rsi\n"
        "mov 40(%rax), %rdi\n mov 48(%rax), %rbp\n mov 64(%rax), %r8\n mov 72(%rax), %r9\n"
        "mov 80(%rax), %r10\n mov 88(%rax), %r11\n mov 96(%rax), %r12\n mov 104(%rax), %r13\n"
        "mov 112(%rax), %r14\n mov 120(%rax), %r15\n mov (%rax), %rax\n"
        "call *cairn_test_code(%rip)\n"
        "mov %rax, cairn_test_code(%rip)\n"
        "mov cairn_test_state(%rip), %rax\n"
        "mov %rdx, 8(%rax)\n mov %rcx, 16(%rax)\n mov %rbx, 24(%rax)\n mov %rsi, 32(%rax)\n"
        "mov %rdi, 40(%rax)\n mov %rbp, 48(%rax)\n mov %r8, 64(%rax)\n mov %r9, 72(%rax)\n"
        "mov %r10, 80(%rax)\n mov %r11, 88(%rax)\n mov %r12, 96(%rax)\n mov %r13, 104(%rax)\n"
        "mov %r14, 112(%rax)\n mov %r15, 120(%rax)\n"
        "pushf\n pop 128(%rax)\n cld\n"
        "mov cairn_test_code(%rip), %rdx\n mov %rdx, (%rax)\n"
        "pop %rdi; pop %r15; pop %r14; pop %r13; pop %r12; pop %rbp; pop %rbx\n"
        "ret\n"
        ".size cairn_test_run, . - cairn_test_run\n"
        ".local cairn_test_state\n.comm cairn_test_state,8,8\n"
        ".local cairn_test_code\n.comm cairn_test_code,8,8\n");

/* rax 7, rdx 5, rcx 3, rbx 2, ...; rdi and rsi point to data; the flags are the round's. */
static struct state state_of(uint8_t *page, unsigned round)
{
    static const uint16_t flags[] = {0, 0x001, 0x040, 0x080, 0x800, 0x004, 0x8d5, 0x041, 0x880};
    struct state s = {.regs = {7, 5, round % 4, 2, 0, 0, 11, 0, 13, 17, 19, 23, 29, 31, 37, 41}};
    s.regs[4] = (uint64_t)(uintptr_t)(page + DATA + 8);
    s.regs[5] = (uint64_t)(uintptr_t)(page + DATA);
    s.flags = 0x202u | flags[round % (sizeof flags / sizeof *flags)];
    for (unsigned i = 0; i < DATA_BYTES; i++)
        s.data[i] = (uint8_t)(i * 37 + round);
    return s;
}

static void run(uint8_t *page, const uint8_t *code, struct state *s)
{
    /* The first words of the data: pointers for calls and jumps through memory. */
    const uint64_t pointers[] = {(uint64_t)(uintptr_t)(page + CALLEE)};
    memcpy(s->data + 16, pointers, sizeof pointers);
    memcpy(page + DATA, s->data, DATA_BYTES);
    cairn_test_run(s, code);
    memcpy(s->data, page + DATA, DATA_BYTES);
    s->flags &= STATUS_FLAGS;
}

struct zoo {
    const char *what;
    uint8_t code[CODE_MAX];
    size_t n;
    size_t refused_from; /* moves that take more than so many bytes are refused; 0: none */
    bool far_is_refused; /* some operand has no register to go through */
};

#define LE32(x) (uint8_t)(x), (uint8_t)((x) >> 8), (uint8_t)((x) >> 16), (uint8_t)((x) >> 24)
/* From an instruction that ends `end` bytes into the function to data or the callee. */
#define TO_DATA(end, off) LE32((uint32_t)(DATA + (off)-CODE - (end)))
#define TO_CALLEE(end)    LE32((uint32_t)(CALLEE - CODE - (end)))
#define CASE(text, refused, far, ...)                                                              \
    {                                                                                              \
        text, {__VA_ARGS__}, sizeof((uint8_t[]){__VA_ARGS__}), refused, far                        \
    }

/* clang-format off */
static const struct zoo zoo[] = {
    CASE("push and pop", 0, false, 0x41, 0x54, 0x55, 0x53, 0x5b, 0x5d, 0x41, 0x5c, 0xc3),
    CASE("ret alone", 0, false, 0xc3),
    CASE("endbr64", 0, false, 0xf3, 0x0f, 0x1e, 0xfa, 0x48, 0x89, 0xf8, 0xc3),
    CASE("a jump forward", 0, false, 0xeb, 0x03, 0x48, 0xff, 0xc0, 0x48, 0xff, 0xc0, 0xc3),
    CASE("a long jump forward", 0, false,
         0xe9, 3, 0, 0, 0, 0x48, 0xff, 0xc0, 0x48, 0xff, 0xc2, 0xc3),
    CASE("a jump out to the callee", 0, false, 0x48, 0xff, 0xc0, 0xe9, TO_CALLEE(8)),
    CASE("a loop back into what is moved", 0, false,
         0x31, 0xc0, 0xb9, 4, 0, 0, 0, 0xff, 0xc0, 0xff, 0xc9, 0x75, 0xfa, 0xc3),
    CASE("a loop back to the entry", 0, false, 0xff, 0xc0, 0xff, 0xca, 0x75, 0xfa, 0xc3),
    CASE("jrcxz", 0, false, 0xe3, 0x04, 0x48, 0xff, 0xc0, 0xc3, 0x48, 0xff, 0xca, 0xc3),
    CASE("jecxz", 0, false, 0x67, 0xe3, 0x04, 0x48, 0xff, 0xc0, 0xc3, 0x48, 0xff, 0xca, 0xc3),
    CASE("loop", 0, false, 0xff, 0xc1, 0x48, 0xff, 0xc0, 0xe2, 0xfb, 0xc3),
    CASE("loope", 0, false, 0xff, 0xc1, 0x38, 0xc0, 0x48, 0xff, 0xc0, 0x38, 0xc0, 0xe1, 0xf9, 0xc3),
    CASE("loopne", 0, false, 0xff, 0xc1, 0x48, 0xff, 0xc0, 0x39, 0xd0, 0xe0, 0xf9, 0xc3),
    CASE("loop forward", 0, false,
         0xff, 0xc1, 0xe2, 0x04, 0x48, 0xff, 0xc0, 0xc3, 0x48, 0xff, 0xca, 0xc3),
    CASE("call", 5, false, 0xe8, TO_CALLEE(5), 0x48, 0x01, 0xd0, 0xc3),
    CASE("a call later", 7, false, 0x31, 0xc0, 0xe8, TO_CALLEE(7), 0x48, 0x01, 0xd0, 0xc3),
    CASE("call by register", 6, false, 0x48, 0x8b, 0x47, 0x10, 0xff, 0xd0, 0x48, 0x01, 0xd0, 0xc3),
    CASE("call by extended register", 7, false,
         0x4c, 0x8b, 0x47, 0x10, 0x41, 0xff, 0xd0, 0x48, 0x01, 0xd0, 0xc3),
    CASE("call by memory", 3, false, 0xff, 0x57, 0x10, 0x48, 0x01, 0xd0, 0xc3),
    CASE("call by memory at rip", 6, true, 0xff, 0x15, TO_DATA(6, 16), 0x48, 0x01, 0xd0, 0xc3),
    CASE("call by the stack", 7, false,
         0xff, 0x77, 0x10, 0xff, 0x54, 0x24, 0x00, 0x59, 0x48, 0x01, 0xd0, 0xc3),
    CASE("call by the stack, without distance", 6, false,
         0xff, 0x77, 0x10, 0xff, 0x14, 0x24, 0x59, 0x48, 0x01, 0xd0, 0xc3),
    CASE("a call that reads the pc", 5, false, 0xe8, 0, 0, 0, 0, 0x58, 0xc3),
    CASE("jump by register", 0, false, 0x48, 0x8b, 0x47, 0x10, 0xff, 0xe0),
    CASE("jump by memory at rip", 0, true, 0xff, 0x25, TO_DATA(6, 16)),
    CASE("load to rax", 0, false, 0x48, 0x8b, 0x05, TO_DATA(7, 0), 0xc3),
    CASE("load to eax", 0, false, 0x8b, 0x05, TO_DATA(6, 0), 0xc3),
    CASE("load to rbp", 0, false,
         0x55, 0x48, 0x8b, 0x2d, TO_DATA(8, 0), 0x48, 0x89, 0xe8, 0x5d, 0xc3),
    CASE("load to r12", 0, false, 0x4c, 0x8b, 0x25, TO_DATA(7, 0), 0xc3),
    CASE("load to r13", 0, false, 0x4c, 0x8b, 0x2d, TO_DATA(7, 0), 0xc3),
    CASE("load to r9d", 0, false, 0x44, 0x8b, 0x0d, TO_DATA(7, 0), 0xc3),
    CASE("lea", 0, false, 0x48, 0x8d, 0x05, TO_DATA(7, 3), 0xc3),
    CASE("lea to r15", 0, false, 0x4c, 0x8d, 0x3d, TO_DATA(7, 3), 0xc3),
    CASE("lea of the function itself", 0, false, 0x48, 0x8d, 0x05, LE32(-7), 0xc3),
    CASE("cmp with an immediate behind the distance", 0, true,
         0x83, 0x3d, TO_DATA(7, 4), 0x05, 0x0f, 0x9c, 0xc0, 0xc3),
    CASE("cmp of a byte", 0, true, 0x80, 0x3d, TO_DATA(7, 5), 0x25, 0x0f, 0x94, 0xc0, 0xc3),
    CASE("store of 4 bytes", 0, true, 0xc7, 0x05, TO_DATA(10, 8), 1, 2, 3, 4, 0xc3),
    CASE("store of 2 bytes", 0, true, 0x66, 0xc7, 0x05, TO_DATA(9, 8), 1, 2, 0xc3),
    CASE("test with 4 bytes", 0, true, 0xf7, 0x05, TO_DATA(10, 4), 1, 0, 1, 0, 0xc3),
    CASE("imul with 4 bytes", 0, true, 0x69, 0x05, TO_DATA(10, 4), 3, 0, 0, 0, 0xc3),
    CASE("add from memory", 0, true, 0x48, 0x03, 0x05, TO_DATA(7, 0), 0xc3),
    CASE("inc of memory", 0, true, 0xff, 0x05, TO_DATA(6, 12), 0xc3),
    CASE("movzx", 0, true, 0x0f, 0xb6, 0x05, TO_DATA(7, 9), 0xc3),
    CASE("push of memory", 0, true, 0xff, 0x35, TO_DATA(6, 0), 0x58, 0xc3),
    CASE("SSE", 0, true, 0xf3, 0x0f, 0x7e, 0x05, TO_DATA(8, 0), 0x66, 0x48, 0x0f, 0x7e, 0xc0, 0xc3),
    CASE("cmpxchg with lock", 0, true, 0xf0, 0x0f, 0xb1, 0x15, TO_DATA(8, 4), 0xc3),
    CASE("a branch over a lock prefix", 2, false, 0x74, 0x01, 0xf0, 0x48, 0x0f, 0xc1, 0x17, 0xc3),
    CASE("the red zone", 0, false,
         0x48, 0x89, 0x7c, 0x24, 0xf8, 0x74, 0x03, 0x48, 0xff, 0xc0, 0x48, 0x8b, 0x54, 0x24, 0xf8,
         0xc3),
    CASE("the red zone and jrcxz", 0, false,
         0x48, 0x89, 0x7c, 0x24, 0xf8, 0xe3, 0x03, 0x48, 0xff, 0xc0, 0x48, 0x8b, 0x54, 0x24, 0xf8,
         0xc3),
    CASE("flags through", 0, false, 0x9c, 0x58, 0x72, 0x03, 0x48, 0xff, 0xc8, 0x11, 0xd0, 0xc3),
};
/* clang-format on */

/* Counts up, and leaves its return address in rdx. */
static const uint8_t callee[] = {0x48, 0x8d, 0x40, 0x01, 0x48, 0x8b, 0x14, 0x24, 0xc3};

struct places {
    uint8_t *page, *far;
    unsigned n_moved, n_refused;
};

static void compare(const struct zoo *z, struct places *p, const uint8_t *copy, size_t least)
{
    for (unsigned round = 0; round < 9; round++) {
        struct state one = state_of(p->page, round), other = one;
        run(p->page, p->page + CODE, &one);
        run(p->page, copy, &other);
        if (memcmp(&one, &other, sizeof one) != 0)
            fail_msg("%s: %zu bytes moved, round %u: rax %#llx and %#llx, flags %#llx and %#llx",
                     z->what, least, round, (unsigned long long)one.regs[0],
                     (unsigned long long)other.regs[0], (unsigned long long)one.flags,
                     (unsigned long long)other.flags);
    }
}

static void move_to(const struct zoo *z, struct places *p, uint8_t *to, size_t least)
{
    struct cairn_hook_copy copy;
    const struct cairn_hook_piece piece = {.size = sizeof piece,
                                           .cpu = CAIRN_HOOK_X86_64,
                                           .code = p->page + CODE,
                                           .n_code = z->n,
                                           .from_va = (uint64_t)(uintptr_t)(p->page + CODE),
                                           .to_va = (uint64_t)(uintptr_t)to,
                                           .least = least};
    const bool may_refuse =
        (z->refused_from && least > z->refused_from) || (z->far_is_refused && to == p->far);
    if (!cairn_hook_move(&piece, &copy)) {
        if (!may_refuse)
            fail_msg("%s: %zu bytes: %s", z->what, least, cairn_hook_reason_text(copy.reason));
        p->n_refused++;
        return;
    }
    if (z->refused_from && least > z->refused_from)
        fail_msg("%s: %zu bytes are moved", z->what, least);
    assert_true(copy.taken >= least && copy.taken <= z->n);
    memcpy(to, copy.code, copy.n_code);
    compare(z, p, to, least);
    p->n_moved++;
}

static void run_one(const struct zoo *z, struct places *p)
{
    memset(p->page, 0xcc, PAGE);
    memset(p->far, 0xcc, PAGE);
    memcpy(p->page + CODE, z->code, z->n);
    memcpy(p->page + CALLEE, callee, sizeof callee);
    for (size_t least = 1; least <= z->n; least++) {
        move_to(z, p, p->page + NEAR, least);
        move_to(z, p, p->far, least);
    }
}

static uint8_t *map_at(uintptr_t hint)
{
    uint8_t *page = mmap((void *)hint, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    assert_true(page != MAP_FAILED);
    return page;
}

static void setup(struct places *p)
{
    *p = (struct places){map_at(0x200000000), map_at(0x600000000000), 0, 0};
}

static void drop(struct places *p)
{
    munmap(p->page, PAGE);
    munmap(p->far, PAGE);
}

static void the_zoo_does_the_same_at_another_place(void **state)
{
    struct places p;
    (void)state;
    setup(&p);
    for (size_t i = 0; i < sizeof zoo / sizeof *zoo; i++)
        run_one(&zoo[i], &p);
    assert_true(p.n_moved > 400);
    drop(&p);
}

/* cmp %rdx,%rcx; jCC 1f; mov $1,%eax; ret; 1: mov $2,%eax; ret, with 8 and with 32 bits */
static void all_conditions_lead_where_they_led(void **state)
{
    struct places p;
    (void)state;
    setup(&p);
    for (uint8_t cc = 0; cc < 16; cc++) {
        const struct zoo near =
            CASE("jcc, 8 bits", 0, false, 0x48, 0x39, 0xd1, (uint8_t)(0x70 | cc), 6, 0xb8, 1, 0, 0,
                 0, 0xc3, 0xb8, 2, 0, 0, 0, 0xc3);
        const struct zoo wide =
            CASE("jcc, 32 bits", 0, false, 0x48, 0x39, 0xd1, 0x0f, (uint8_t)(0x80 | cc), 6, 0, 0, 0,
                 0xb8, 1, 0, 0, 0, 0xc3, 0xb8, 2, 0, 0, 0, 0xc3);
        const struct zoo bare = CASE("jcc by flags", 0, false, (uint8_t)(0x70 | cc), 6, 0xb8, 1, 0,
                                     0, 0, 0xc3, 0xb8, 2, 0, 0, 0, 0xc3);
        run_one(&near, &p);
        run_one(&wide, &p);
        run_one(&bare, &p);
    }
    assert_int_equal(p.n_refused, 0);
    drop(&p);
}

static void a_shadow_stack_refuses_calls(void **state)
{
    static const uint8_t code[][8] = {{0xe8, 0, 1, 0, 0}, {0xff, 0xd0}, {0xff, 0x57, 0x10}};
    struct cairn_hook_copy copy;
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        const struct cairn_hook_piece piece = {.size = sizeof piece,
                                               .cpu = CAIRN_HOOK_X86_64,
                                               .code = code[i],
                                               .n_code = sizeof code[i],
                                               .from_va = 0x1000,
                                               .to_va = 0x9000,
                                               .least = 1,
                                               .has_shadow_stack = true};
        assert_false(cairn_hook_move(&piece, &copy));
        assert_int_equal(copy.reason, CAIRN_HOOK_CALLS);
        assert_int_equal(copy.reason_va, 0x1000);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_zoo_does_the_same_at_another_place),
        cmocka_unit_test(all_conditions_lead_where_they_led),
        cmocka_unit_test(a_shadow_stack_refuses_calls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
