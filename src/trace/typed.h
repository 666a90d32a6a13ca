/* SPDX-License-Identifier: MIT */
/*
 * Typed: what the arguments of a probe are, as a person writes it behind the event.
 *
 *     event    = name "/" argument { "," argument }
 *     argument = ( "arg" NUMBER | "ret" ) ":" type
 *     type     = "str" | ("d" | "u" | "x") [ "32" | "64" ]
 *
 * Names that look alike, such as operator/(A, A), are no such list: they have no "arg0:".
 */
#ifndef CAIRN_TRACE_TYPED_H
#define CAIRN_TRACE_TYPED_H

#include <stdbool.h>
#include <stddef.h>

#include <cairn/error.h>

#include "trace/calls.h"

/* Of an event of `size` bytes those before the "/"; `size` where it has no list. */
size_t cairn_typed_cut(const char *event, size_t size);

/* Can the list, without its "/", stand behind the event? CAIRN_E_ARG: a function that begins has no
 * result yet, where it returns its arguments are gone, and tracepoints and others have neither. */
int cairn_typed_check(const char *event, const char *list, size_t size, struct cairn_err *err);

/* Writes what the list says, without its "/", to the arguments and the result. Arguments before the
 * last one that were not known become numbers in hex. CAIRN_E_ARG: it is wrong; `*ret_no_arg` then
 * says that the probe merely has no such argument. */
int cairn_typed_read(const char *list, size_t size, struct cairn_syscall *call, bool *ret_no_arg,
                     struct cairn_err *err);

#endif /* CAIRN_TRACE_TYPED_H */
