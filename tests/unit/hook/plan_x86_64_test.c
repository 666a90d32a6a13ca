/* SPDX-License-Identifier: MIT */
#include "hook/plan.h"
#include "support/test.h"

enum { BASE = 0x400000, ENTRY = 64, CODE_BYTES = 256 };

/* Code around a function, all int3 where nothing else is put. */
struct bed {
    uint8_t code[CODE_BYTES];
    struct cairn_hook_function function;
    struct cairn_hook_plan plan;
};

static void lay(struct bed *b, size_t at, const void *bytes, size_t n)
{
    memcpy(b->code + at, bytes, n);
}

/* `n` bytes of code at BASE + ENTRY, in front of it xor %eax,%eax again and again, then ret. */
static void make(struct bed *b, const void *bytes, size_t n)
{
    *b = (struct bed){.function = {.size = sizeof b->function,
                                   .cpu = CAIRN_HOOK_X86_64,
                                   .code = b->code,
                                   .n_code = CODE_BYTES,
                                   .code_va = BASE,
                                   .entry_va = BASE + ENTRY,
                                   .entry_bytes = n,
                                   .module_low = BASE,
                                   .module_high = BASE + 0x10000}};
    for (size_t i = 0; i < CODE_BYTES; i += 2)
        lay(b, i, "\x31\xc0", 2);
    b->code[ENTRY - 2] = 0x90;
    b->code[ENTRY - 1] = 0xc3;
    lay(b, ENTRY, bytes, n);
}

static bool plan(struct bed *b)
{
    return cairn_hook_plan(&b->function, &b->plan);
}

static void assert_way(struct bed *b, enum cairn_hook_way way)
{
    if (!plan(b))
        fail_msg("no way: %s", cairn_hook_reason_text(b->plan.reason));
    if (b->plan.way != way)
        fail_msg("%s, expected %s", cairn_hook_way_name(b->plan.way), cairn_hook_way_name(way));
}

static void assert_none(struct bed *b, enum cairn_hook_reason reason, uint64_t off)
{
    assert_false(plan(b));
    if (b->plan.reason != reason)
        fail_msg("\"%s\", expected \"%s\"", cairn_hook_reason_text(b->plan.reason),
                 cairn_hook_reason_text(reason));
    assert_int_equal(b->plan.reason_va, BASE + ENTRY + off);
    assert_int_equal(b->plan.way, CAIRN_HOOK_WAY_NONE);
}

#define MAKE(b, text) make(b, text, sizeof text - 1)

static void five_bytes_are_one(void **state)
{
    struct bed b;
    struct cairn_hook_patch patch;
    (void)state;
    MAKE(&b, "\xb8\x01\x00\x00\x00\xc3");
    assert_way(&b, CAIRN_HOOK_WAY_ONE);
    assert_int_equal(b.plan.patch_va, BASE + ENTRY);
    assert_int_equal(b.plan.patch_bytes, 5);
    assert_int_equal(b.plan.resume_va, BASE + ENTRY + 5);
    assert_int_equal(b.plan.move_bytes, 5);
    assert_true(b.plan.is_aligned);
    assert_int_equal(b.plan.word_va, BASE + ENTRY);
    assert_memory_equal(b.plan.word_before, b.code + ENTRY, 8);
    assert_true(cairn_hook_aim(&b.plan, BASE + ENTRY + 5 + 0x11223344, &patch));
    assert_int_equal(patch.n_pad, 0);
    assert_memory_equal(patch.word, "\xe9\x44\x33\x22\x11\xc3\x31\xc0", 6);
    assert_memory_equal(patch.word + 5, b.code + ENTRY + 5, 3);
    assert_false(cairn_hook_aim(&b.plan, BASE + ((uint64_t)1 << 33), &patch));
    assert_false(cairn_hook_aim(&b.plan, b.plan.target_high, &patch));
    assert_true(cairn_hook_aim(&b.plan, b.plan.target_high - 1, &patch));
    assert_memory_equal(patch.word, "\xe9\xff\xff\xff\x7f", 5);
}

/* Padding behind ret in front of the function, in front of the entry, and behind its own ret. */
static void padding_nearby_leads_on(void **state)
{
    struct bed b;
    struct cairn_hook_patch patch;
    (void)state;
    MAKE(&b, "\x41\x54\x55\x53\x5b\x5d\x41\x5c\xc3");
    lay(&b, ENTRY - 16, "\xc3\x66\x2e\x0f\x1f\x84\0\0\0\0\0\x0f\x1f\x44\0\0", 16);
    assert_way(&b, CAIRN_HOOK_WAY_PAD);
    assert_int_equal(b.plan.pad_va, BASE + ENTRY - 15);
    assert_int_equal(b.plan.patch_bytes, 2);
    assert_true(cairn_hook_aim(&b.plan, b.plan.pad_va + 5 + 0x100, &patch));
    assert_int_equal(patch.n_pad, 5);
    assert_memory_equal(patch.pad, "\xe9\x00\x01\x00\x00", 5);
    assert_memory_equal(patch.word, "\xeb\xef\x55\x53\x5b\x5d\x41\x5c", 8);
    MAKE(&b, "\x41\x54\x55\x53\x5b\x5d\x41\x5c\xc3\xcc\xcc\xcc\xcc\xcc\xcc\xcc");
    assert_way(&b, CAIRN_HOOK_WAY_PAD);
    assert_int_equal(b.plan.pad_va, BASE + ENTRY + 9);
}

static void padding_that_something_runs_into_or_branches_to_is_none(void **state)
{
    struct bed b;
    (void)state;
    /* nops that the function runs through */
    MAKE(&b, "\x41\x54\x0f\x1f\x80\0\0\0\0\x0f\x1f\x80\0\0\0\0\x41\x5c\xc3");
    assert_true(!plan(&b) || b.plan.pad_bytes == 0);
    /* behind a ret, but a branch of the function leads to them */
    MAKE(&b, "\x41\x54\x74\x05\x41\x5c\xc3\x90\x90\x90\x90\x90\x90\x90\x90\x90\x41\x5c\xc3");
    assert_true(!plan(&b) || b.plan.pad_bytes == 0);
    /* the same without the branch */
    MAKE(&b, "\x41\x54\x90\x90\x41\x5c\xc3\x90\x90\x90\x90\x90\x90\x90\x90\x90\x41\x5c\xc3");
    assert_way(&b, CAIRN_HOOK_WAY_PAD);
}

/* Nops at the begin of another function, where its callers come to. */
static void nops_of_another_function_are_no_padding(void **state)
{
    static const uint8_t nops[16] = {0x66, 0x90, 0x66, 0x90, 0x66, 0x90, 0x66, 0x90,
                                     0x66, 0x90, 0x66, 0x90, 0x66, 0x90, 0x66, 0x90};
    struct bed b;
    (void)state;
    /* -fpatchable-function-entry, behind the ret of the function before and at a multiple of 16 */
    MAKE(&b, "\x41\x54\x55\x53\x48\x89\xf8\x5b\x5d\x41\x5c\xc3");
    lay(&b, ENTRY - 34, "\x90\xc3", 2);
    lay(&b, ENTRY - 32, nops, sizeof nops);
    assert_way(&b, CAIRN_HOOK_WAY_PUN);
    /* padding in front of it is */
    lay(&b, ENTRY - 40, "\x90\xc3\xcc\xcc\xcc\xcc\xcc\xcc", 8);
    assert_way(&b, CAIRN_HOOK_WAY_PAD);
    assert_int_equal(b.plan.pad_va, BASE + ENTRY - 38);
    /* directly behind a function of one byte */
    MAKE(&b, "\xc3");
    lay(&b, ENTRY + 1, "\x90\x90\x90\x90\x90\x53\x5b\xc3", 8);
    assert_true(!plan(&b) || b.plan.patch_bytes == 1);
}

static void the_next_bytes_are_part_of_a_pun(void **state)
{
    struct bed b;
    struct cairn_hook_patch patch;
    (void)state;
    /* e9 XX 55 53 48: the target is within 256 bytes */
    MAKE(&b, "\x41\x54\x55\x53\x48\x89\xf8\x5b\x5d\x41\x5c\xc3");
    assert_way(&b, CAIRN_HOOK_WAY_PUN);
    assert_int_equal(b.plan.target_low, BASE + ENTRY + 5 + 0x48535500);
    assert_int_equal(b.plan.target_high, b.plan.target_low + 256);
    assert_int_equal(b.plan.patch_bytes, 2);
    assert_true(b.plan.island_va >= b.plan.target_low && b.plan.island_va < b.plan.target_high);
    assert_true(cairn_hook_aim(&b.plan, b.plan.target_low + 0x21, &patch));
    assert_memory_equal(patch.word, "\xe9\x21\x55\x53\x48\x89\xf8\x5b", 8);
    assert_false(cairn_hook_aim(&b.plan, b.plan.target_high, &patch));
    /* One byte: nothing can be chosen. */
    MAKE(&b, "\x55\x53\x48\x89\x78\x5b\x5d\xc3");
    assert_way(&b, CAIRN_HOOK_WAY_PUN);
    assert_int_equal(b.plan.target_high - b.plan.target_low, 1);
    assert_int_equal(b.plan.patch_bytes, 1);
}

static uint64_t nothing_is_free(void *context, uint64_t low, uint64_t high, uint64_t n_bytes)
{
    (void)context;
    assert_true(low < high && n_bytes <= high - low);
    return 0;
}

static uint64_t last_is_free(void *context, uint64_t low, uint64_t high, uint64_t n_bytes)
{
    (void)context;
    (void)low;
    return high - n_bytes;
}

/* Some of the targets that the free bytes can choose lie below 0. */
static void a_pun_below_the_lowest_page_aims_above_it(void **state)
{
    struct bed b;
    struct cairn_hook_patch patch;
    (void)state;
    /* e9 XX XX XX ff: from -16 MB to 0 behind the jump */
    MAKE(&b, "\x48\x8b\x47\x08\xff\xd0\x31\xc0\xc3");
    b.function.module_low = b.function.code_va;
    assert_way(&b, CAIRN_HOOK_WAY_PUN);
    assert_true(cairn_hook_aim(&b.plan, b.plan.island_va, &patch));
    assert_int_equal(b.plan.target_low, 0);
    assert_true(b.plan.target_high <= BASE + ENTRY + 5);
}

static void a_pun_needs_a_free_page(void **state)
{
    struct bed b;
    (void)state;
    MAKE(&b, "\x41\x54\x55\x53\x48\x89\xf8\x5b\x5d\x41\x5c\xc3");
    b.function.find_free = nothing_is_free;
    assert_none(&b, CAIRN_HOOK_TOO_SHORT, 0);
    b.function.find_free = last_is_free;
    assert_way(&b, CAIRN_HOOK_WAY_PUN);
    assert_int_equal(b.plan.island_va, b.plan.target_high - 1);
    /* Below the lowest address that can be mapped: e9 XX fc bf ff ends near 0. */
    MAKE(&b, "\x41\x54\xbf\xbf\xff\x31\xc0\x41\x5c\xc3");
    b.function.find_free = last_is_free;
    assert_false(plan(&b));
}

/* test %rdi,%rdi; je rel32; ...: free() of glibc 2.36, where no padding and no page are free. */
static void a_later_instruction_is_changed_where_the_first_can_run_twice(void **state)
{
    struct bed b;
    (void)state;
    MAKE(&b, "\x48\x85\xff\x0f\x84\x01\0\0\0\xc3\xc3");
    b.function.find_free = nothing_is_free;
    assert_way(&b, CAIRN_HOOK_WAY_LATE);
    assert_int_equal(b.plan.how, CAIRN_HOOK_WAY_ONE);
    assert_int_equal(b.plan.patch_va, BASE + ENTRY + 3);
    assert_int_equal(b.plan.move_bytes, 9);
    assert_int_equal(b.plan.resume_va, BASE + ENTRY + 9);
    /* mov of an argument into another: the hook would get the wrong one. */
    MAKE(&b, "\x48\x89\xf7\x0f\x84\x01\0\0\0\xc3\xc3");
    b.function.find_free = nothing_is_free;
    assert_none(&b, CAIRN_HOOK_TOO_SHORT, 0);
    /* push: twice would be once too often. */
    MAKE(&b, "\x53\x0f\x84\x01\0\0\0\x5b\xc3");
    b.function.find_free = nothing_is_free;
    assert_none(&b, CAIRN_HOOK_TOO_SHORT, 0);
    /* A branch of the function to the second instruction would miss the first one's repetition. */
    MAKE(&b, "\x48\x85\xff\x0f\x84\x02\0\0\0\x90\xc3\xeb\xf6");
    b.function.find_free = nothing_is_free;
    assert_none(&b, CAIRN_HOOK_BRANCHES_IN, 11);
}

static void branches_into_the_changed_instruction_are_refused(void **state)
{
    struct bed b;
    (void)state;
    MAKE(&b, "\xb8\x01\0\0\0\xff\xc9\x75\xf7\xc3");
    assert_none(&b, CAIRN_HOOK_BACKWARDS, 7);
    MAKE(&b, "\xb8\x01\0\0\0\xff\xc9\x75\xf8\xc3");
    assert_none(&b, CAIRN_HOOK_BRANCHES_IN, 7);
    /* To the second instruction: it stays as it is. */
    MAKE(&b, "\xb8\x01\0\0\0\xff\xc9\x75\xfc\xc3");
    assert_way(&b, CAIRN_HOOK_WAY_ONE);
    /* A call of itself comes through the hook, as it should. */
    MAKE(&b, "\xb8\x01\0\0\0\xe8\xf6\xff\xff\xff\xc3");
    assert_way(&b, CAIRN_HOOK_WAY_ONE);
}

static void endbr64_stays(void **state)
{
    struct bed b;
    (void)state;
    MAKE(&b, "\xf3\x0f\x1e\xfa\xb8\x01\0\0\0\xc3");
    assert_way(&b, CAIRN_HOOK_WAY_ONE);
    assert_int_equal(b.plan.patch_va, BASE + ENTRY + 4);
    assert_int_equal(b.plan.move_bytes, 9);
    assert_false(b.plan.is_aligned); /* e9 and 4 bytes at 4 modulo 8 */
    assert_true(b.plan.word_va <= b.plan.patch_va && b.plan.word_va + 8 >= b.plan.patch_va + 5);
    assert_int_equal(b.plan.word_va / 64, (b.plan.word_va + 7) / 64);
}

/* 12 bytes, 1 byte, and what is behind a ret. */
static void short_functions_use_what_is_behind_their_ret(void **state)
{
    struct bed b;
    (void)state;
    MAKE(&b, "\xc3\x90\x90\x90\x90\x90\x90\x90");
    assert_way(&b, CAIRN_HOOK_WAY_ONE);
    MAKE(&b, "\x31\xc0\xc3\x66\x90\x0f\x1f\x00\x0f\x1f\x84\0\0\0\0\0");
    b.function.entry_bytes = 3;
    assert_way(&b, CAIRN_HOOK_WAY_PAD);
    assert_true(b.plan.pad_va >= BASE + ENTRY + 8); /* not in the word that is stored */
    /* With less behind it the ret is changed; xor can run twice. */
    MAKE(&b, "\x31\xc0\xc3\x66\x90\x0f\x1f\x00");
    b.function.entry_bytes = 3;
    assert_way(&b, CAIRN_HOOK_WAY_LATE);
    assert_int_equal(b.plan.patch_va, BASE + ENTRY + 2);
    /* The next function begins right behind the ret. */
    MAKE(&b, "\xc3\x55\x48\x89\xe5\xc9\xc3");
    b.function.entry_bytes = 1;
    b.function.find_free = nothing_is_free;
    assert_none(&b, CAIRN_HOOK_TOO_SHORT, 0);
}

static void a_change_does_not_cross_a_line(void **state)
{
    struct bed b;
    (void)state;
    for (size_t off = 0; off < 64; off++) {
        MAKE(&b, "\xb8\x01\0\0\0\xc3");
        lay(&b, ENTRY + off, "\xb8\x01\0\0\0\xc3", 6);
        b.function.entry_va = BASE + ENTRY + off;
        if (!plan(&b) || b.plan.way != CAIRN_HOOK_WAY_ONE) {
            assert_true(off > 59);
            continue;
        }
        assert_true(off <= 59);
        assert_int_equal(b.plan.word_va / 64, (b.plan.word_va + 7) / 64);
        assert_true(b.plan.word_va <= b.plan.patch_va);
        assert_true(b.plan.word_va + 8 >= b.plan.patch_va + 5);
        assert_int_equal(b.plan.is_aligned, b.plan.word_va % 8 == 0);
    }
}

static void hooks_of_other_tools_are_seen(void **state)
{
    struct bed b;
    uint8_t file[CODE_BYTES];
    (void)state;
    MAKE(&b, "\xe9\x00\x00\x00\x10\xc3"); /* out of the module */
    assert_none(&b, CAIRN_HOOK_HOOKED, 0);
    assert_int_equal(b.plan.leads_to, BASE + ENTRY + 5 + 0x10000000);
    MAKE(&b, "\xe9\x00\x01\x00\x00\xc3"); /* a thunk: in the module */
    assert_way(&b, CAIRN_HOOK_WAY_ONE);
    /* jmp *0(%rip), where the file has something else */
    MAKE(&b, "\xff\x25\0\0\0\0\x88\x77\x66\x55\x44\x33\x22\x11\xc3");
    memcpy(file, b.code, sizeof file);
    b.function.unpatched = file;
    assert_way(&b, CAIRN_HOOK_WAY_ONE);
    memset(file + ENTRY, 0x90, 14);
    assert_none(&b, CAIRN_HOOK_HOOKED, 0);
    assert_int_equal(b.plan.leads_to, 0x1122334455667788);
    /* A breakpoint is no code to move. */
    MAKE(&b, "\xcc\x01\x00\x00\x00\xc3");
    assert_none(&b, CAIRN_HOOK_NOT_CODE, 0);
}

static void bytes_that_are_no_code_are_refused(void **state)
{
    struct bed b;
    (void)state;
    MAKE(&b, "\x06\x07\x1f\x62\x00\xc3");
    assert_none(&b, CAIRN_HOOK_NOT_CODE, 0);
    /* a call by 16 bits on AMD's CPUs */
    MAKE(&b, "\x66\xff\xd0\xc3\xcc\xcc\xcc\xcc\xcc\xcc\xcc\xcc\xcc\xcc\xcc\xcc");
    assert_none(&b, CAIRN_HOOK_NOT_CODE, 0);
    MAKE(&b, "\xc7\xf8\x10\x00\x00\x00\xc3"); /* xbegin */
    assert_none(&b, CAIRN_HOOK_EXCLUSIVE, 0);
    MAKE(&b, "\xb8\x01\0\0\0\xc3");
    b.function.n_code = ENTRY + 3;
    assert_none(&b, CAIRN_HOOK_CUT_OFF, 0);
    b.function.n_code = ENTRY;
    assert_none(&b, CAIRN_HOOK_CUT_OFF, 0);
    b.function.n_code = CODE_BYTES;
    b.function.cpu = CAIRN_HOOK_CPU_NONE;
    assert_none(&b, CAIRN_HOOK_NO_CPU, 0);
    b.function.cpu = (enum cairn_hook_cpu)77;
    assert_none(&b, CAIRN_HOOK_NO_CPU, 0);
}

/* -pg and -fpatchable-function-entry: a call of 5 bytes, or nops. */
static void compilers_entries_for_tracers_are_one(void **state)
{
    struct bed b;
    (void)state;
    MAKE(&b, "\xe8\x00\x00\x10\x00\xb8\x01\0\0\0\xc3");
    assert_way(&b, CAIRN_HOOK_WAY_ONE);
    b.function.has_shadow_stack = true;
    assert_none(&b, CAIRN_HOOK_CALLS, 0);
    MAKE(&b, "\x0f\x1f\x44\0\0\xb8\x01\0\0\0\xc3");
    assert_way(&b, CAIRN_HOOK_WAY_ONE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(five_bytes_are_one),
        cmocka_unit_test(padding_nearby_leads_on),
        cmocka_unit_test(padding_that_something_runs_into_or_branches_to_is_none),
        cmocka_unit_test(nops_of_another_function_are_no_padding),
        cmocka_unit_test(the_next_bytes_are_part_of_a_pun),
        cmocka_unit_test(a_pun_below_the_lowest_page_aims_above_it),
        cmocka_unit_test(a_pun_needs_a_free_page),
        cmocka_unit_test(a_later_instruction_is_changed_where_the_first_can_run_twice),
        cmocka_unit_test(branches_into_the_changed_instruction_are_refused),
        cmocka_unit_test(endbr64_stays),
        cmocka_unit_test(short_functions_use_what_is_behind_their_ret),
        cmocka_unit_test(a_change_does_not_cross_a_line),
        cmocka_unit_test(hooks_of_other_tools_are_seen),
        cmocka_unit_test(bytes_that_are_no_code_are_refused),
        cmocka_unit_test(compilers_entries_for_tracers_are_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
