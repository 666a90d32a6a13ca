/* SPDX-License-Identifier: MIT */
/* The rest of a walk is taken from the last time only while all that it hangs on is the same. */
#include "unwind/local_memo.h"

#include <cairn/unwind.h>

#include "support/test.h"
#include "unwind/modules.h"
#include "unwind/unload.h"

enum { WORDS = 512, FRAMES = 3, SP_WORD = 8, END_WORD = 40 };

static uintptr_t words[WORDS];
static struct cairn_local_memo memo;
static struct cairn_local_stack stack;
static struct cairn_local_start start;
static uintptr_t ips[CAIRN_MAX_FRAMES];
static uint8_t how[CAIRN_MAX_FRAMES];
static struct cairn_local_out found;

static int begin(void **state)
{
    (void)state;
    memset(&memo, 0, sizeof memo);
    for (unsigned i = 0; i < WORDS; i++)
        words[i] = i;
    stack = (struct cairn_local_stack){(uintptr_t)words, (uintptr_t)(words + WORDS)};
    start = (struct cairn_local_start){
        .ret = (uintptr_t)begin, .sp = (uintptr_t)(words + SP_WORD), .fp = 1};
    found = (struct cairn_local_out){.ips = ips,
                                     .how = how,
                                     .max = CAIRN_MAX_FRAMES,
                                     .n = FRAMES,
                                     .n_guessed = 2,
                                     .end = CAIRN_END_OUTERMOST,
                                     .end_sp = (uintptr_t)(words + END_WORD)};
    for (unsigned i = 0; i < FRAMES; i++) {
        ips[i] = (uintptr_t)begin + i;
        how[i] = CAIRN_HOW_CODE;
    }
    return 0;
}

static bool has(void)
{
    static uintptr_t other_ips[CAIRN_MAX_FRAMES];
    static uint8_t other_how[CAIRN_MAX_FRAMES];
    struct cairn_local_out out = {.ips = other_ips, .how = other_how, .max = CAIRN_MAX_FRAMES};
    if (!cairn_local_memo_has(&memo, &stack, &start, &out))
        return false;
    assert_int_equal(out.n, FRAMES);
    assert_int_equal(out.end, found.end);
    assert_int_equal(out.n_guessed, 2);
    assert_memory_equal(other_ips, ips, FRAMES * sizeof *ips);
    assert_memory_equal(other_how, how, FRAMES);
    return true;
}

static bool is_kept(void)
{
    cairn_local_memo_keep(&memo, &stack, &start, &found);
    return has();
}

static void the_same_words_are_the_same_rest(void **state)
{
    (void)state;
    assert_false(has());
    assert_true(is_kept());
    words[SP_WORD - 1]++; /* below, and beyond the last frame */
    words[END_WORD]++;
    assert_true(has());
    for (unsigned i = SP_WORD; i < END_WORD; i++) {
        words[i]++;
        assert_false(has());
        words[i]--;
    }
    assert_true(has());
}

static void other_registers_or_modules_are_another_one(void **state)
{
    (void)state;
    assert_true(is_kept());
    start.fp++;
    assert_false(has());
    start.fp--, start.ret++;
    assert_false(has());
    start.ret--, start.sp += sizeof(uintptr_t);
    assert_false(has());
    start.sp -= sizeof(uintptr_t);
    assert_true(has());
    atomic_fetch_add(&cairn_unload_generation, 1);
    assert_false(has());
    assert_true(is_kept());
    stack.low = start.sp + 1; /* another stack now */
    assert_false(has());
}

/* For a caller there was looked some words farther. */
static void without_a_rule_some_more_words_count(void **state)
{
    (void)state;
    found.end = CAIRN_END_NO_RULE;
    assert_true(is_kept());
    words[END_WORD + 3]++;
    assert_false(has());
    assert_true(is_kept());
    found.end_fp = (uintptr_t)(words + END_WORD + 2); /* among them */
    assert_true(is_kept());
    found.end_fp = (uintptr_t)(words + WORDS - 4);
    assert_false(is_kept());
    found.end_fp = (uintptr_t)(words + SP_WORD); /* farther in: nobody believes it */
    assert_true(is_kept());
    stack.high = (uintptr_t)(words + END_WORD + 2); /* where the stack ends */
    assert_true(is_kept());
}

static void what_is_long_or_made_at_run_time_is_not_kept(void **state)
{
    (void)state;
    found.end = CAIRN_END_UNREADABLE;
    assert_false(is_kept());
    found.end = CAIRN_END_OUTERMOST;
    found.end_sp = start.sp + CAIRN_LOCAL_MEMO_BYTES + sizeof(uintptr_t);
    assert_false(is_kept());
    found.end_sp = start.sp - sizeof(uintptr_t); /* another stack */
    assert_false(is_kept());
    found.end_sp = (uintptr_t)(words + END_WORD);
    found.n = CAIRN_LOCAL_MEMO_FRAMES + 1;
    assert_false(is_kept());
    found.n = FRAMES;
    assert_true(is_kept());
    ips[1] = 64;
    assert_false(is_kept());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(the_same_words_are_the_same_rest, begin),
        cmocka_unit_test_setup(other_registers_or_modules_are_another_one, begin),
        cmocka_unit_test_setup(without_a_rule_some_more_words_count, begin),
        cmocka_unit_test_setup(what_is_long_or_made_at_run_time_is_not_kept, begin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
