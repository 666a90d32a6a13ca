/* SPDX-License-Identifier: MIT */
/* A lua_State of 5.4 in a piece of memory, whole and damaged. */
#include <string.h>

#include "guest/guest.h"
#include "guest/lua/state.h"
#include "support/test.h"

enum {
    BASE = 0x100000,
    SIZE = 0x4000,
    /* where things lie in it */
    MAIN = 0x100,
    GLOBAL = MAIN + 200,
    CALLS = 0x800, /* 64 bytes each */
    STACK = 0x1000,
    CLOSURE = 0x2000,
    PROTO = 0x2100,
    CODE = 0x2200,
    LINES = 0x2400,
    N_CALLS = 3,
    N_CODE = 20,
};

static uint8_t memory[SIZE];

static bool read_memory(void *ctx, uint64_t va, void *to, size_t size)
{
    (void)ctx;
    if (va < BASE || va - BASE > SIZE || size > SIZE - (va - BASE))
        return false;
    memcpy(to, memory + (va - BASE), size);
    return true;
}

static const struct cairn_memory reader = {.read = read_memory};

static void put(size_t at, uint64_t value, size_t size)
{
    memcpy(memory + at, &value, size);
}

static void put_pointer(size_t at, size_t to)
{
    put(at, BASE + to, 8);
}

/* Three Lua functions that call each other, the outermost by luaV_execute(). */
static void make(void)
{
    memset(memory, 0, sizeof memory);
    memory[MAIN + 8] = 8; /* a thread */
    put_pointer(MAIN + 24, GLOBAL);
    put_pointer(MAIN + 32, CALLS + 64 * (N_CALLS - 1));
    put_pointer(MAIN + 40, STACK + 16 * 40);
    put_pointer(MAIN + 48, STACK);
    put_pointer(MAIN + 16, STACK + 16 * 20);
    put_pointer(GLOBAL + 264, MAIN);
    for (size_t i = 0; i < N_CALLS; i++) {
        size_t ci = CALLS + 64 * i, func = STACK + 16 * (1 + 4 * i);
        put_pointer(ci, func);
        put_pointer(ci + 16, i ? ci - 64 : MAIN + 96);
        put_pointer(ci + 32, CODE + 4 * (i + 1));
        put(ci + 62, i ? 0 : 1 << 2, 2);
        put_pointer(func, CLOSURE);
        memory[func + 8] = 0x46;
    }
    put_pointer(CLOSURE + 24, PROTO);
    put_pointer(PROTO + 64, CODE);
    put_pointer(PROTO + 88, LINES);
    put(PROTO + 24, N_CODE, 4);
    put(PROTO + 28, N_CODE, 4);
    put(PROTO + 44, 10, 4);
    put(PROTO + 48, 30, 4);
    memset(memory + LINES, 1, N_CODE);
}

static size_t count(bool *ret_is_broken)
{
    struct cairn_lua_state state;
    struct cairn_lua_call call;
    size_t n = 0;
    assert_true(cairn_lua_state_read(reader, BASE + MAIN, CAIRN_LUA_VERSION(4, 4), &state));
    struct cairn_lua_calls calls = cairn_lua_calls_of(reader, &state);
    while (cairn_lua_calls_next(&calls, &call))
        assert_true(++n < 1000);
    *ret_is_broken = calls.is_broken;
    return n;
}

static void calls_are_read_from_the_innermost_on(void **ctx)
{
    (void)ctx;
    struct cairn_lua_state state;
    struct cairn_lua_call all[N_CALLS];
    make();
    assert_true(cairn_lua_state_read(reader, BASE + MAIN, 0, &state));
    assert_int_equal(state.layout->minor, 4);
    assert_true(state.is_main);
    struct cairn_lua_calls calls = cairn_lua_calls_of(reader, &state);
    for (size_t i = 0; i < N_CALLS; i++)
        assert_true(cairn_lua_calls_next(&calls, &all[i]));
    assert_false(cairn_lua_calls_next(&calls, &all[0]));
    assert_false(calls.is_broken);
    cairn_lua_mark_runs(reader, reader, state.layout, all, N_CALLS);
    for (size_t i = 0; i < N_CALLS; i++) {
        assert_true(all[i].is_lua);
        assert_int_equal(all[i].starts_run, i == N_CALLS - 1);
        assert_int_equal(all[i].proto.defined, 10);
        assert_int_equal(cairn_lua_line(reader, state.layout, &all[i].proto, all[i].saved_pc),
                         10 + N_CALLS - i);
    }
}

static void a_hook_and_a_finalizer_are_told_by_their_caller(void **ctx)
{
    (void)ctx;
    enum { HOOKED = 1 << 3, FINALIZER = 1 << 7 };
    struct cairn_lua_state state;
    struct cairn_lua_call call;
    make();
    put(CALLS + 64 * (N_CALLS - 1) + 62, HOOKED, 2);
    put(CALLS + 64 * (N_CALLS - 2) + 62, FINALIZER, 2);
    assert_true(cairn_lua_state_read(reader, BASE + MAIN, CAIRN_LUA_VERSION(4, 4), &state));
    struct cairn_lua_calls calls = cairn_lua_calls_of(reader, &state);
    assert_true(cairn_lua_calls_next(&calls, &call));
    assert_true(call.calls_hook);
    assert_false(call.calls_finalizer);
    assert_true(cairn_lua_calls_next(&calls, &call));
    assert_false(call.calls_hook);
    assert_true(call.calls_finalizer);
}

static void a_state_whose_pointers_do_not_come_back_is_none(void **ctx)
{
    (void)ctx;
    struct cairn_lua_state state;
    make();
    put_pointer(GLOBAL + 264, MAIN + 8);
    assert_false(cairn_lua_state_read(reader, BASE + MAIN, 0, &state));
    make();
    memory[MAIN + 8] = 5;
    assert_false(cairn_lua_state_read(reader, BASE + MAIN, 0, &state));
    make();
    /* a copy of it, byte by byte, leads to the true one's globals, as a coroutine does */
    memcpy(memory + 0x3000, memory + MAIN, 200);
    assert_true(cairn_lua_state_read(reader, BASE + 0x3000, 0, &state));
    assert_false(state.is_main);
    assert_false(cairn_lua_state_read(reader, BASE + MAIN + 4, 0, &state));
    assert_false(cairn_lua_state_read(reader, UINT64_MAX - 7, 0, &state));
    assert_false(cairn_lua_state_read(reader, 0, 0, &state));
}

static void a_ring_of_calls_ends(void **ctx)
{
    (void)ctx;
    bool is_broken;
    make();
    put_pointer(CALLS + 16, CALLS + 64 * (N_CALLS - 1));
    assert_int_equal(count(&is_broken), N_CALLS);
    assert_true(is_broken);
    make();
    put_pointer(CALLS + 64 + 16, CALLS + 64);
    assert_int_equal(count(&is_broken), 2);
    assert_true(is_broken);
}

static void calls_that_make_no_sense_end_the_list(void **ctx)
{
    (void)ctx;
    bool is_broken;
    make();
    put(PROTO + 24, UINT32_MAX, 4); /* instructions */
    assert_int_equal(count(&is_broken), 0);
    assert_true(is_broken);
    make();
    put_pointer(CALLS + 64, STACK - 16); /* its function is not on the stack */
    assert_int_equal(count(&is_broken), 1);
    assert_true(is_broken);
    make();
    memory[STACK + 16 * 5 + 8] = 0x45; /* no function */
    assert_int_equal(count(&is_broken), 1);
    assert_true(is_broken);
}

static void lines_that_lie_are_unknown(void **ctx)
{
    (void)ctx;
    struct cairn_lua_state state;
    struct cairn_lua_call call;
    make();
    assert_true(cairn_lua_state_read(reader, BASE + MAIN, 0, &state));
    struct cairn_lua_calls calls = cairn_lua_calls_of(reader, &state);
    assert_true(cairn_lua_calls_next(&calls, &call));
    const struct cairn_lua_layout *layout = state.layout;
    assert_int_equal(cairn_lua_line(reader, layout, &call.proto, call.proto.code), 10);
    assert_int_equal(cairn_lua_line(reader, layout, &call.proto, call.proto.code - 4), 0);
    assert_int_equal(cairn_lua_line(reader, layout, &call.proto, call.proto.code + 2), 0);
    assert_int_equal(
        cairn_lua_line(reader, layout, &call.proto, call.proto.code + 4 * (N_CODE + 1)), 0);
    call.proto.line_info = BASE + SIZE - 2;
    assert_int_equal(cairn_lua_line(reader, layout, &call.proto, call.proto.code + 40), 0);
    call.proto.n_line_info = 0;
    assert_int_equal(cairn_lua_line(reader, layout, &call.proto, call.proto.code + 4), 0);
}

enum { RESTING = 0x3000, RESTING_STACK = 0x3400 };

/* A coroutine of the main state's globals: `status` and `ci` as given, a function on its stack. */
static void make_resting(uint8_t status, size_t ci)
{
    make();
    memory[RESTING + 8] = 8;
    memory[RESTING + 10] = status;
    put_pointer(RESTING + 16, RESTING_STACK + 32);
    put_pointer(RESTING + 24, GLOBAL);
    put_pointer(RESTING + 32, ci);
    put_pointer(RESTING + 40, RESTING_STACK + 16 * 40);
    put_pointer(RESTING + 48, RESTING_STACK);
    put_pointer(RESTING + 96, RESTING_STACK); /* the base's function */
    put_pointer(RESTING_STACK + 16, CLOSURE);
    memory[RESTING_STACK + 24] = 0x46;
}

/* Both ways of asking agree. */
static uint8_t rest_of(size_t at, struct cairn_lua_state *ret_state)
{
    bool may = cairn_lua_may_rest(memory + at, BASE + at, CAIRN_LUA_VERSION(4, 4));
    bool does = cairn_lua_resting_read(reader, BASE + at, CAIRN_LUA_VERSION(4, 4), ret_state);
    assert_true(may || !does);
    return does ? ret_state->rest : CAIRN_GUEST_RUNS;
}

static void coroutines_at_rest_are_told_from_others(void **ctx)
{
    (void)ctx;
    enum { OK = 0, YIELDED = 1, FAILED = 2 };
    struct cairn_lua_state state;
    make_resting(YIELDED, CALLS);
    assert_int_equal(rest_of(RESTING, &state), CAIRN_GUEST_SUSPENDED);
    make_resting(OK, RESTING + 96);
    assert_int_equal(rest_of(RESTING, &state), CAIRN_GUEST_NOT_BEGUN);
    make_resting(YIELDED, RESTING + 96); /* it was collected */
    assert_int_equal(rest_of(RESTING, &state), CAIRN_GUEST_RUNS);
    make_resting(OK, CALLS); /* it runs, or has resumed another */
    assert_int_equal(rest_of(RESTING, &state), CAIRN_GUEST_RUNS);
    make_resting(FAILED, CALLS);
    assert_int_equal(rest_of(RESTING, &state), CAIRN_GUEST_RUNS);
    make_resting(OK, RESTING + 96); /* it has ended: nothing is on its stack */
    put_pointer(RESTING + 16, RESTING_STACK + 16);
    assert_int_equal(rest_of(RESTING, &state), CAIRN_GUEST_RUNS);
    make_resting(YIELDED, CALLS); /* of globals that are none */
    put_pointer(RESTING + 24, GLOBAL + 8);
    assert_int_equal(rest_of(RESTING, &state), CAIRN_GUEST_RUNS);
    make();
    memory[MAIN + 10] = YIELDED; /* the main state is no coroutine */
    assert_int_equal(rest_of(MAIN, &state), CAIRN_GUEST_RUNS);
}

static void the_first_call_of_a_coroutine_is_its_function(void **ctx)
{
    (void)ctx;
    struct cairn_lua_state state;
    struct cairn_lua_call call;
    make_resting(0, RESTING + 96);
    assert_true(cairn_lua_resting_read(reader, BASE + RESTING, 0, &state));
    assert_true(cairn_lua_first_call(reader, &state, &call));
    assert_true(call.is_lua);
    assert_int_equal(call.proto.defined, 10);
    memory[RESTING_STACK + 8] = 3; /* the allocator wrote over a stack that was freed */
    assert_false(cairn_lua_first_call(reader, &state, &call));
    make_resting(0, RESTING + 96);
    put_pointer(RESTING + 96, RESTING_STACK + 16);
    assert_false(cairn_lua_first_call(reader, &state, &call));
    make_resting(0, RESTING + 96);
    memory[RESTING_STACK + 24] = 0x45; /* no function */
    assert_false(cairn_lua_first_call(reader, &state, &call));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_are_read_from_the_innermost_on),
        cmocka_unit_test(a_hook_and_a_finalizer_are_told_by_their_caller),
        cmocka_unit_test(a_state_whose_pointers_do_not_come_back_is_none),
        cmocka_unit_test(a_ring_of_calls_ends),
        cmocka_unit_test(calls_that_make_no_sense_end_the_list),
        cmocka_unit_test(lines_that_lie_are_unknown),
        cmocka_unit_test(coroutines_at_rest_are_told_from_others),
        cmocka_unit_test(the_first_call_of_a_coroutine_is_its_function),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
