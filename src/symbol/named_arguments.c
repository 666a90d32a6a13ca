/* SPDX-License-Identifier: MIT */
#include "symbol/named_arguments.h"

#include <ctype.h>
#include <elf.h>
#include <string.h>

#include "base/error.h"
#include "dwarf/prototype.h"
#include "symbol/module.h"

enum { WORD = 8, BY_VALUE_MAX = 16 /* bytes of a structure that are passed in registers */ };

void cairn_named_arguments_done(struct cairn_named_arguments *arguments)
{
    cairn_arena_done(&arguments->memory);
    *arguments = (struct cairn_named_arguments){0};
}

/* It is printed, and may be anything. */
static const char *copy_name(struct cairn_arena *memory, const char *name)
{
    size_t n = 0;
    while (name && (isalnum((unsigned char)name[n]) || name[n] == '_' || name[n] == '$'))
        n++;
    return n && !name[n] ? cairn_arena_text(memory, name, n) : NULL;
}

static enum cairn_named_what what_of(const struct cairn_dwarf_type *type)
{
    switch (type->what) {
    case CAIRN_DWARF_VOID:
        return CAIRN_NAMED_VOID;
    case CAIRN_DWARF_SIGNED:
        return type->bytes - 1 < WORD ? CAIRN_NAMED_SIGNED : CAIRN_NAMED_OTHER;
    case CAIRN_DWARF_UNSIGNED:
        return type->bytes - 1 < WORD ? CAIRN_NAMED_UNSIGNED : CAIRN_NAMED_OTHER;
    case CAIRN_DWARF_POINTER:
        return CAIRN_NAMED_POINTER;
    case CAIRN_DWARF_TEXT:
        return CAIRN_NAMED_TEXT;
    case CAIRN_DWARF_ENUM:
        return type->bytes - 1 < WORD ? CAIRN_NAMED_ENUM : CAIRN_NAMED_OTHER;
    default:
        return CAIRN_NAMED_OTHER;
    }
}

struct values {
    struct cairn_arena *memory;
    struct cairn_named_value *items;
    size_t n;
};

static int add_value(void *ctx, const char *name, uint64_t value)
{
    struct values *values = ctx;
    const char *copy = copy_name(values->memory, name);
    if (copy && values->n < CAIRN_NAMED_VALUES_MAX)
        values->items[values->n++] = (struct cairn_named_value){copy, value};
    return CAIRN_OK;
}

static int read_values(const struct cairn_dwarf_spot *spot, struct cairn_arena *memory,
                       struct cairn_named_argument *argument)
{
    struct values values = {.memory = memory};
    values.items = cairn_arena_alloc(memory, CAIRN_NAMED_VALUES_MAX * sizeof *values.items);
    const int code =
        values.items ? cairn_dwarf_enumerators(spot, add_value, &values) : CAIRN_E_NOMEM;
    argument->values = values.items;
    argument->n_values = values.n;
    return code;
}

static int read_one(const struct cairn_dwarf_parameter *parameter, struct cairn_arena *memory,
                    struct cairn_named_argument *ret_argument)
{
    *ret_argument = (struct cairn_named_argument){.what = what_of(&parameter->type)};
    ret_argument->bytes = parameter->type.bytes - 1 < WORD ? (unsigned)parameter->type.bytes : WORD;
    ret_argument->name = copy_name(memory, parameter->name);
    return ret_argument->what == CAIRN_NAMED_ENUM
               ? read_values(&parameter->type.spot, memory, ret_argument)
               : CAIRN_OK;
}

/* Registers that a parameter takes beside numbers and pointers (System V ABI for x86-64, 3.2.3;
 * AAPCS64, 6.8.2). -1: that depends on more than is known here. */
static int other_regs(const struct cairn_dwarf_type *type, bool is_c, uint16_t machine)
{
    if (type->what == CAIRN_DWARF_REAL)
        return 0;
    if (type->what != CAIRN_DWARF_RECORD || !is_c || type->bytes <= BY_VALUE_MAX)
        return -1;
    return machine == EM_AARCH64 ? 1 : 0; /* by a pointer to a copy; on the stack */
}

/* The register of the first parameter; -1: not known. On x86-64 a pointer to the result may come
 * before. */
static int first_reg(const struct cairn_dwarf_prototype *prototype, uint16_t machine)
{
    const struct cairn_dwarf_type *result = &prototype->result;
    if (machine == EM_AARCH64 ||
        (result->what != CAIRN_DWARF_RECORD && result->what != CAIRN_DWARF_STRANGE))
        return 0;
    if (result->what == CAIRN_DWARF_STRANGE || !prototype->is_c)
        return -1;
    return result->bytes > BY_VALUE_MAX ? 1 : 0;
}

static int place(const struct cairn_dwarf_prototype *prototype, uint16_t machine,
                 struct cairn_named_arguments *arguments)
{
    int reg = first_reg(prototype, machine), code = CAIRN_OK;
    for (unsigned i = 0; i < prototype->n && reg >= 0 && code == CAIRN_OK; i++) {
        const struct cairn_dwarf_parameter *parameter = &prototype->items[i];
        if (what_of(&parameter->type) == CAIRN_NAMED_OTHER) {
            const int n = other_regs(&parameter->type, prototype->is_c, machine);
            if (n < 0)
                return CAIRN_OK;
            reg += n;
            continue;
        }
        if (arguments->n == CAIRN_NAMED_ARGUMENTS_MAX || reg >= CAIRN_NAMED_ARGUMENTS_MAX)
            return CAIRN_OK;
        struct cairn_named_argument *to = &arguments->items[arguments->n++];
        code = read_one(parameter, &arguments->memory, to);
        to->reg = (unsigned)reg++;
    }
    return code;
}

static int read_arguments(struct cairn_module *m, struct cairn_dwarf_units *home,
                          struct cairn_dwarf_unit *unit, uint64_t vaddr,
                          struct cairn_named_arguments *arguments)
{
    struct cairn_dwarf_prototype prototype;
    const uint16_t machine = m->image.machine;
    uint64_t die;
    if ((machine != EM_X86_64 && machine != EM_AARCH64) ||
        !cairn_dwarf_subprogram_at(home->d, unit, vaddr, &die))
        return 0;
    int code = cairn_dwarf_prototype_read(home, unit, die, &prototype);
    if (code < 0 || !prototype.is_by_the_abi || first_reg(&prototype, machine) < 0)
        return code;
    const struct cairn_dwarf_parameter result = {.type = prototype.result};
    code = place(&prototype, machine, arguments);
    if (code == CAIRN_OK)
        code = read_one(&result, &arguments->memory, &arguments->result);
    return code < 0 ? code : 1;
}

int cairn_module_find_arguments(struct cairn_module *m, uint64_t vaddr,
                                struct cairn_named_arguments *ret_arguments, struct cairn_err *err)
{
    struct cairn_named_arguments arguments = {0};
    struct cairn_dwarf_units *home;
    struct cairn_dwarf_unit *unit;
    struct cairn_place at = {0};
    int code = cairn_module_need_dwarf(m, err);
    if (code == CAIRN_OK && m->has_dwarf)
        code = cairn_module_find_place(m, vaddr, 0, &at, err);
    if (code < 0 || !at.unit)
        return code;
    code = cairn_module_find_home(m, at.unit, &home, &unit, err);
    if (code == CAIRN_OK && unit)
        code = read_arguments(m, home, unit, vaddr, &arguments);
    if (code == CAIRN_E_NOMEM)
        (void)cairn_fail_memory(err);
    if (code <= 0)
        cairn_named_arguments_done(&arguments);
    else
        *ret_arguments = arguments;
    return code;
}
