/* SPDX-License-Identifier: MIT */
/*
 * The name by which byte code calls a function, as ldebug.c finds it (getfuncname, getobjname,
 * findsetreg): the instruction before the call that set the register of the function says what it
 * loaded. The numbers of operations are those of lopcodes.h of each version.
 */
#include "guest/lua/called.h"

#include <string.h>

#include "guest/words.h"

enum {
    CODE_MAX = 4096, /* instructions from the function's first to the call */
    LOCALS_MAX = 256,
    MOVES_MAX = 8, /* from register to register */
    NONE = 255
};

/* How instructions are written, and the operations that matter. `sets`: 1 for each operation that
 * sets the register A. */
struct code_form {
    uint8_t minor;
    uint8_t op_bits, jump_bits; /* of an operation; of the distance of a jump, the uppermost ones */
    uint8_t move, get_upvalue, get_global, get_in_upvalue, get_in_table, get_field, self;
    uint8_t load_nil, jump, call, iterate;
    const char *sets;
};

static const struct code_form forms[] = {
    {.minor = 1,
     .op_bits = 6,
     .jump_bits = 18,
     .move = 0,
     .get_upvalue = 4,
     .get_global = 5,
     .get_in_upvalue = NONE,
     .get_in_table = 6,
     .get_field = NONE,
     .self = 11,
     .load_nil = 3,
     .jump = 22,
     .call = 28,
     .iterate = 33,
     .sets = "11111110001111111111110000111101110011"},
    {.minor = 2,
     .op_bits = 6,
     .jump_bits = 18,
     .move = 0,
     .get_upvalue = 5,
     .get_global = NONE,
     .get_in_upvalue = 6,
     .get_in_table = 7,
     .get_field = NONE,
     .self = 12,
     .load_nil = 4,
     .jump = 23,
     .call = 29,
     .iterate = 34,
     .sets = "1111111100011111111111100000111011010110"},
    {.minor = 3,
     .op_bits = 6,
     .jump_bits = 18,
     .move = 0,
     .get_upvalue = 5,
     .get_global = NONE,
     .get_in_upvalue = 6,
     .get_in_table = 7,
     .get_field = NONE,
     .self = 12,
     .load_nil = 4,
     .jump = 30,
     .call = 36,
     .iterate = 41,
     .sets = "11111111000111111111111111111100000111011010110"},
    {.minor = 4,
     .op_bits = 7,
     .jump_bits = 25,
     .move = 0,
     .get_upvalue = 9,
     .get_global = NONE,
     .get_in_upvalue = 11,
     .get_in_table = NONE,
     .get_field = 14,
     .self = 20,
     .load_nil = 8,
     .jump = 56,
     .call = 68,
     .iterate = 76,
     .sets = "11111111110111100001111111111111111111111111110001111100000000000001110001100101110"},
};

/* A function that calls another one. */
struct calling {
    struct cairn_memory memory;
    const struct cairn_lua_layout *layout;
    const struct cairn_lua_proto *proto;
    const struct code_form *form;
    const uint32_t *code; /* from the first instruction to the call */
};

static uint32_t bits(uint32_t instruction, unsigned from, unsigned n)
{
    return instruction >> from & ((1u << n) - 1);
}

static uint32_t op_of(const struct calling *c, uint32_t at)
{
    return bits(c->code[at], 0, c->form->op_bits);
}

static uint32_t a_of(const struct calling *c, uint32_t at)
{
    return bits(c->code[at], c->form->op_bits, 8);
}

/* The operand that names a register, an upvalue or how many. */
static uint32_t b_of(const struct calling *c, uint32_t at)
{
    return c->form->minor == 4 ? bits(c->code[at], 16, 8) : bits(c->code[at], 23, 9);
}

/* The number of a constant in the operand that is a key; UINT32_MAX: it is in a register. */
static uint32_t key_of(const struct calling *c, uint32_t at)
{
    enum { IS_CONSTANT = 256 };
    const uint32_t in_register = UINT32_MAX, old = bits(c->code[at], 14, 9);
    if (c->form->minor != 4)
        return old & IS_CONSTANT ? old - IS_CONSTANT : in_register;
    return op_of(c, at) != c->form->self || bits(c->code[at], 15, 1) ? bits(c->code[at], 24, 8)
                                                                     : in_register;
}

/* Where a jump leads. */
static uint32_t jump_to(const struct calling *c, uint32_t at)
{
    const unsigned n = c->form->jump_bits;
    const uint32_t distance = c->code[at] >> (32 - n);
    return at + 1 + distance - ((1u << n) - 1) / 2;
}

static bool sets(const struct calling *c, uint32_t at, uint32_t reg)
{
    const struct code_form *form = c->form;
    const uint32_t op = op_of(c, at), a = a_of(c, at);
    if (op == form->load_nil) /* 5.1: up to register B; later: B more */
        return reg >= a && reg <= b_of(c, at) + (form->minor == 1 ? 0 : a);
    if (op == form->iterate)
        return reg >= a + 2;
    if (op == form->call || op == form->call + 1u)
        return reg >= a;
    return form->sets[op] == '1' && reg == a;
}

/* The instruction that set the register before `last`. False: none did, or not on every path. */
static bool find_set(const struct calling *c, uint32_t last, uint32_t reg, uint32_t *ret_at)
{
    const size_t n_ops = strlen(c->form->sets);
    uint32_t target = 0; /* instructions before it are not on every path */
    bool found = false;
    *ret_at = 0;
    for (uint32_t at = 0; at < last; at++) {
        const uint32_t op = op_of(c, at);
        if (op >= n_ops)
            return false;
        if (op == c->form->jump) {
            const uint32_t to = jump_to(c, at);
            target = to <= last && to > target ? to : target;
        } else if (sets(c, at, reg)) {
            found = at >= target;
            *ret_at = at;
        }
    }
    return found;
}

static bool text_of(const struct calling *c, uint64_t string, char *to, size_t room)
{
    size_t size;
    if (!string || !cairn_guest_text(c->memory, string + c->layout->text, to, room - 1, &size) ||
        !size)
        return false;
    to[size] = 0;
    return true;
}

static bool text_at(const struct calling *c, uint64_t va, char *to, size_t room)
{
    uint64_t string;
    return cairn_guest_u64(c->memory, va, &string) && text_of(c, string, to, room);
}

static bool constant(const struct calling *c, uint32_t number, char *to, size_t room)
{
    enum { VALUE_BYTES = 16 };
    return number != UINT32_MAX &&
           text_at(c, c->proto->constants + VALUE_BYTES * (uint64_t)number, to, room);
}

/* struct Upvaldesc begins with its name; in 5.1 there are only the names. */
static bool upvalue(const struct calling *c, uint32_t number, char *to, size_t room)
{
    const uint64_t size = c->form->minor == 1 ? 8 : 16;
    return number < c->proto->n_upvalues &&
           text_at(c, c->proto->upvalues + size * number, to, room);
}

/* The local variable in a register at an instruction: struct LocVar { name, from, to }. */
static bool local(const struct calling *c, uint32_t at, uint32_t reg, char *to, size_t room)
{
    struct {
        uint64_t name;
        uint32_t from, to;
    } var;
    for (uint32_t i = 0; i < c->proto->n_locals && i < LOCALS_MAX; i++) {
        if (!c->memory.read(c->memory.ctx, c->proto->locals + sizeof var * i, &var, sizeof var) ||
            var.from > at)
            return false;
        if (at < var.to && reg-- == 0)
            return text_of(c, var.name, to, room) && to[0] != '(';
    }
    return false;
}

static bool name_of_register(const struct calling *c, uint32_t last, uint32_t reg, char *to,
                             size_t room)
{
    const struct code_form *form = c->form;
    for (int moves = 0; moves < MOVES_MAX; moves++) {
        uint32_t at;
        if (local(c, last, reg, to, room))
            return true;
        if (!find_set(c, last, reg, &at))
            return false;
        const uint32_t op = op_of(c, at);
        if (op == form->get_global)
            return constant(c, bits(c->code[at], 14, 18), to, room);
        if (op == form->get_in_upvalue || op == form->get_in_table || op == form->get_field ||
            op == form->self)
            return constant(c, key_of(c, at), to, room);
        if (op == form->get_upvalue)
            return upvalue(c, b_of(c, at), to, room);
        if (op != form->move || b_of(c, at) >= a_of(c, at))
            return false;
        reg = b_of(c, at);
        last = at;
    }
    return false;
}

static const struct code_form *form_of(const struct cairn_lua_layout *layout)
{
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        if (forms[i].minor == layout->minor)
            return &forms[i];
    return NULL;
}

bool cairn_lua_called(struct cairn_memory memory, const struct cairn_lua_layout *layout,
                      const struct cairn_lua_call *caller, char *to, size_t room)
{
    uint32_t code[CODE_MAX];
    const struct calling c = {memory, layout, &caller->proto, form_of(layout), code};
    const uint64_t n = (caller->saved_pc - caller->proto.code) / 4;
    if (!c.form || !cairn_lua_is_pc(&caller->proto, caller->saved_pc) || n > CODE_MAX ||
        !memory.read(memory.ctx, caller->proto.code, code, 4 * (size_t)n))
        return false;
    const uint32_t last = (uint32_t)n - 1, op = op_of(&c, last);
    return (op == c.form->call || op == c.form->call + 1u) &&
           name_of_register(&c, last, a_of(&c, last), to, room);
}
