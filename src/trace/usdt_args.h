/* SPDX-License-Identifier: MIT */
/*
 * USDT arguments: where the arguments of a static probe are, as the assembler's text in its note
 * says (SystemTap, "UserSpaceProbeImplementation"; gdb's stap-probe.c reads the same):
 *
 *     [[-]SIZE[f]@]OPERAND ...
 *     x86-64    %rdi  $-5  -20(%rbp)  8(%rax,%rcx,4)  table+8(%rip)
 *     aarch64   x0  w3  -5  [sp, 16]  [x1, x2, lsl 3]
 *
 * SIZE is in bytes, negative: signed; f: a floating-point number. A new CPU needs one function, and
 * its row in usdt_args.c.
 */
#ifndef CAIRN_TRACE_USDT_ARGS_H
#define CAIRN_TRACE_USDT_ARGS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/span.h"
#include "bpf/trace.h"

enum { CAIRN_USDT_OPERAND_BYTES = 128 };

struct cairn_usdt_arg {
    struct cairn_bpf_arg at; /* CAIRN_TRACE_OPERAND_NONE: it cannot be read */
    bool is_real;
    bool is_relative;                      /* `at.value` counts from the probe's own instruction, */
    char symbol[CAIRN_USDT_OPERAND_BYTES]; /* or from this symbol; "": it does not */
    struct cairn_span text;                /* all of it, borrowed */
};

/* The next argument behind `*at`, which moves on. False: there is none. */
bool cairn_usdt_arg_next(const char **at, uint16_t machine, struct cairn_usdt_arg *ret_arg);

/* What stands behind the @: fills `at` but for its size, and what else is known. `ret_bytes`: of
 * the register; 0: it is none. False: it is not understood. */
bool cairn_usdt_operand_x86_64(const char *text, struct cairn_usdt_arg *arg, uint8_t *ret_bytes);
bool cairn_usdt_operand_aarch64(const char *text, struct cairn_usdt_arg *arg, uint8_t *ret_bytes);

/* A number as assemblers write it: 16, -16, 0x10. `*at` moves behind it. */
bool cairn_usdt_take_number(const char **at, long long *ret_value);

#endif /* CAIRN_TRACE_USDT_ARGS_H */
