/* SPDX-License-Identifier: MIT */
/* Names by calls: those of a small function in each form of code, and code that nobody compiled. */
#include "guest/lua/called.h"

#include <string.h>

#include "support/test.h"

enum { CODE = 0x10000, CONSTANTS = 0x20000, NAME = 0x30000, ROUNDS = 20000, CODE_WORDS = 64 };

static const struct cairn_lua_layout *layout_of(uint8_t minor)
{
    const struct cairn_lua_layout *layout = cairn_lua_layouts;
    while (layout->minor != minor)
        layout++;
    return layout;
}

static uint32_t code[CODE_WORDS];
static uint32_t seed;

static uint32_t any(void)
{
    return seed = seed * 1664525 + 1013904223;
}

static size_t min(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* The code, constants whose names are all at NAME, and there "name". */
static bool read_function(void *ctx, uint64_t va, void *to, size_t size)
{
    static const char name[] = "name";
    const struct cairn_lua_layout *layout = ctx;
    const uint64_t string = NAME, text = NAME + layout->text;
    memset(to, 0, size);
    if (va >= CODE && va + size <= CODE + sizeof code)
        memcpy(to, (const uint8_t *)code + (va - CODE), size);
    else if (va >= CONSTANTS && va < NAME && size == sizeof string)
        memcpy(to, &string, sizeof string);
    else if (va >= text && va < text + sizeof name)
        memcpy(to, name + (va - text), min(size, sizeof name - (size_t)(va - text)));
    else
        return va >= NAME && va < NAME + 4096;
    return true;
}

/* Instructions of operations that there are, and numbers. */
static bool read_anything(void *ctx, uint64_t va, void *to, size_t size)
{
    enum { OPERATIONS = 38 };
    (void)ctx;
    (void)va;
    for (size_t i = 0; i < size; i++)
        ((uint8_t *)to)[i] = (uint8_t)(any() >> 24);
    for (size_t i = 0; i + 4 <= size; i += 4)
        ((uint8_t *)to)[i] = (uint8_t)(any() >> 16 & 0xc0) | (uint8_t)(any() % OPERATIONS);
    return any() >> 28 != 0;
}

static struct cairn_lua_call caller_of(uint32_t n)
{
    return (struct cairn_lua_call){.is_lua = true,
                                   .saved_pc = CODE + 4 * (uint64_t)n,
                                   .proto = {.code = CODE, .n_code = n, .constants = CONSTANTS}};
}

static void what_a_call_loads_is_its_name(void **state)
{
    (void)state;
    /* Loads a global, or a field of the globals, into register 3, a number into 4, and calls 3. */
    static const struct {
        uint8_t minor;
        uint32_t code[3];
    } cases[] = {
        {1, {5 | 3 << 6 | 7 << 14, 1 | 4 << 6, 28 | 3 << 6}},
        {2, {6 | 3 << 6 | (256 + 7) << 14, 1 | 4 << 6, 29 | 3 << 6}},
        {3, {6 | 3 << 6 | (256 + 7) << 14, 1 | 4 << 6, 36 | 3 << 6}},
        {4, {11 | 3 << 7 | 7u << 24, 3 | 4 << 7, 68 | 3 << 7}},
    };
    char name[16];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct cairn_lua_layout *layout = layout_of(cases[i].minor);
        const struct cairn_memory memory = {read_function, (void *)(uintptr_t)layout};
        struct cairn_lua_call caller = caller_of(3);
        memcpy(code, cases[i].code, sizeof cases[i].code);
        assert_true(cairn_lua_called(memory, layout, &caller, name, sizeof name));
        assert_string_equal(name, "name");
        code[1] = code[0] & ~0x3f00u; /* now something else is in the register's place */
        code[2] = 0;                  /* MOVE: no call */
        assert_false(cairn_lua_called(memory, layout, &caller, name, sizeof name));
    }
}

static void code_that_nobody_compiled_comes_to_an_end(void **state)
{
    (void)state;
    char name[16];
    for (uint32_t round = 0; round < ROUNDS; round++) {
        const struct cairn_lua_layout *layout = layout_of((uint8_t)(1 + round % 5));
        seed = round;
        struct cairn_lua_call caller = caller_of(1 + any() % 5000);
        caller.proto.n_upvalues = any();
        caller.proto.n_locals = any();
        (void)cairn_lua_called((struct cairn_memory){read_anything, NULL}, layout, &caller, name,
                               sizeof name);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_call_loads_is_its_name),
        cmocka_unit_test(code_that_nobody_compiled_comes_to_an_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
