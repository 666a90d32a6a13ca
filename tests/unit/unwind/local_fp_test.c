/* SPDX-License-Identifier: MIT */
/* The walk by frame pointers alone, in a program that is built with them; held against the walk by
 * rules, and led astray. */
#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <cairn/unwind.h>

#include "support/apart.h"
#include "support/test.h"
#include "unwind/local_cpu.h"

enum { ROOM = 128, DEPTH = 40, OWN = DEPTH + 1 };

struct walked {
    uintptr_t ips[ROOM];
    uint8_t how[ROOM];
    struct cairn_unwind_info info;
    size_t n;
};

static struct walked by_rule, by_fp, by_context;

static void begin(struct walked *w)
{
    w->info = (struct cairn_unwind_info){.size = sizeof w->info, .how = w->how};
}

APART static int walk_at(volatile int depth)
{
    ucontext_t here;
    if (depth > 0)
        return walk_at(depth - 1) + depth;
    begin(&by_rule);
    begin(&by_fp);
    begin(&by_context);
    by_rule.n = cairn_unwind_here(by_rule.ips, ROOM, &by_rule.info);
    errno = ENOENT;
    by_fp.n = cairn_unwind_frame_pointers(by_fp.ips, ROOM, &by_fp.info);
    assert_int_equal(errno, ENOENT);
    getcontext(&here);
    by_context.n =
        cairn_unwind_frame_pointers_context(&here, by_context.ips, ROOM, &by_context.info);
    return depth;
}

/* Up to this program's own outermost function here: libcmocka and libc have no frame pointers. */
static void frames_are_those_of_the_rules(void **state)
{
    (void)state;
    walk_at(DEPTH);
    assert_true(by_rule.n > OWN);
    assert_true(by_fp.n > OWN);
    assert_true(by_context.n > OWN);
    for (size_t i = 1; i <= OWN; i++) { /* the first ones are behind other calls */
        assert_int_equal(by_fp.ips[i], by_rule.ips[i]);
        assert_int_equal(by_fp.how[i], CAIRN_HOW_FP);
        assert_int_equal(by_context.ips[i], by_rule.ips[i]);
    }
    assert_int_equal(by_fp.how[0], CAIRN_HOW_FP);
    assert_int_equal(by_context.how[0], CAIRN_HOW_START);
    assert_int_equal(by_fp.info.n_guessed, 0);
}

APART static size_t walk_into(uintptr_t *ips, size_t max, struct cairn_unwind_info *info)
{
    size_t n = cairn_unwind_frame_pointers(ips, max, info);
    assert_true(n <= max);
    return n;
}

static void the_room_is_all_that_is_used(void **state)
{
    (void)state;
    uintptr_t ips[3] = {0, 0, 77};
    struct cairn_unwind_info info = {.size = sizeof info};
    assert_int_equal(walk_into(ips, 2, &info), 2);
    assert_int_equal(info.end, CAIRN_END_MAX_FRAMES);
    assert_int_equal(ips[2], 77);
    assert_int_equal(walk_into(ips, 0, NULL), 0);
    assert_int_equal(walk_into(ips, 2, NULL), 2);
}

/* A context at this function's call, with another frame pointer. */
static void set_fp(ucontext_t *at, uintptr_t fp)
{
#if defined(__x86_64__)
    at->uc_mcontext.gregs[REG_RBP] = (greg_t)fp;
#elif defined(__aarch64__)
    at->uc_mcontext.regs[29] = fp;
#else
    at->uc_mcontext.arm_r7 = at->uc_mcontext.arm_fp = fp;
#endif
}

static int end_with_fp(uintptr_t fp, size_t *ret_n)
{
    ucontext_t here;
    uintptr_t ips[ROOM];
    struct cairn_unwind_info info = {.size = sizeof info};
    getcontext(&here);
    set_fp(&here, fp);
    *ret_n = cairn_unwind_frame_pointers_context(&here, ips, ROOM, &info);
    return info.end;
}

static void a_chain_that_ends_with_0_is_whole(void **state)
{
    (void)state;
    size_t n;
    assert_int_equal(end_with_fp(0, &n), CAIRN_END_OUTERMOST);
    assert_int_equal(n, 1);
}

static void wild_records_end_the_walk(void **state)
{
    (void)state;
    uintptr_t words[16];
    size_t page = 1 << 16, n;
    char *hole = mmap(NULL, page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    uintptr_t code = (uintptr_t)wild_records_end_the_walk + 1, at = (uintptr_t)words;
    for (int i = 0; i < 16; i++)
        words[i] = at; /* each a record that leads to the first one */
    const uintptr_t wild[] = {
        1, at + 1, at - (1 << 20), UINTPTR_MAX - 7, UINTPTR_MAX, (uintptr_t)hole, code, at, 64,
    };
    for (size_t i = 0; i < sizeof wild / sizeof *wild; i++) {
        assert_int_equal(end_with_fp(wild[i], &n), CAIRN_END_NO_RULE);
        assert_int_equal(n, 1);
    }
    munmap(hole, page);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_are_those_of_the_rules),
        cmocka_unit_test(the_room_is_all_that_is_used),
        cmocka_unit_test(a_chain_that_ends_with_0_is_whole),
        cmocka_unit_test(wild_records_end_the_walk),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
