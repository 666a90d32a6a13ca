/* SPDX-License-Identifier: MIT */
/*
 * Calls: system calls by name and number, the sets that they are in, and what their arguments are.
 */
#ifndef CAIRN_TRACE_CALLS_H
#define CAIRN_TRACE_CALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CAIRN_CALL_ARGS = 16, CAIRN_CALL_NAME_BYTES = 32 };

enum cairn_call_set {
    CAIRN_CALL_FILE = 1, /* takes a path */
    CAIRN_CALL_DESC = 2, /* takes or makes a descriptor */
    CAIRN_CALL_NET = 4,
    CAIRN_CALL_PROCESS = 8,
    CAIRN_CALL_MEMORY = 16,
    CAIRN_CALL_SIGNAL = 32,
    CAIRN_CALL_IPC = 64
};

/* How an argument or a result is written. */
enum cairn_call_kind {
    CAIRN_KIND_INT = 'd',
    CAIRN_KIND_SIZE = 'u',
    CAIRN_KIND_POINTER = 'p',
    CAIRN_KIND_TEXT = 's',
    CAIRN_KIND_FD = 'f',
    CAIRN_KIND_AT = 'a',   /* a descriptor, or AT_FDCWD */
    CAIRN_KIND_MODE = 'o', /* octal */
    CAIRN_KIND_HEX = 'x',
    CAIRN_KIND_HEX32 = 'X',    /* of these and the next the low half counts */
    CAIRN_KIND_UNSIGNED = 'U', /* decimal */
    CAIRN_KIND_DATA = 'b',     /* bytes that the call reads; the next argument counts them */
    CAIRN_KIND_FILLED = 'B',   /* bytes that the call writes; the result counts them */
    CAIRN_KIND_SIGNAL = 'g',
    CAIRN_KIND_LONG = 'l',   /* signed, of 64 bits */
    CAIRN_KIND_FLOAT = 'e',  /* its bits are the value; and those of */
    CAIRN_KIND_DOUBLE = 'r', /* twice the size */
    CAIRN_KIND_FLAGS = 'F',  /* names of bits or values: `names` (flags.h) */
    CAIRN_KIND_ENUM = 'E'    /* of 32 bits: `values` */
};

struct cairn_named_value;

struct cairn_call_arg {
    char name[CAIRN_CALL_NAME_BYTES];
    enum cairn_call_kind kind;
    const char *names;                      /* of the table of flags; NULL: none */
    const struct cairn_named_value *values; /* of an enum, as debug information has them */
    size_t n_values;
};

enum cairn_call_lack {                              /* what events lack that a filter may compare */
                       CAIRN_CALL_LACKS_RESULT = 1, /* and with it the two others */
                       CAIRN_CALL_LACKS_ERRNO = 2,
                       CAIRN_CALL_LACKS_DURATION = 4
};

struct cairn_syscall {
    const char *name;
    unsigned lacks;           /* enum cairn_call_lack */
    unsigned sets;            /* enum cairn_call_set */
    bool no_return;           /* exit, and rt_sigreturn */
    enum cairn_call_kind ret; /* of the result */
    int n_args;               /* -1: not known */
    bool has_own_args;        /* arg0 is no register, but the first of `args`, if there are any */
    struct cairn_call_arg args[CAIRN_CALL_ARGS];
};

/* The name of a system call by its row (bpf/trace.h): of this CPU, or behind CAIRN_TRACE_NUMBERS of
 * i386. NULL: there is none. Static. */
const char *cairn_call_name(uint32_t row);

/* What is known of a call of that name; false: nothing but the name. */
bool cairn_call_find(const char *name, struct cairn_syscall *ret_call);

/* Adds the arguments of "path:s flags:Fopen =d" to a call, and sets its result. `form` is static,
 * and well-formed (call_forms.h). */
void cairn_call_read_form(const char *form, struct cairn_syscall *call);

/* Is `by` the name of the call, or another one of the same: "mmap" of mmap2? */
bool cairn_call_is_named(const char *name, const char *by);

/* The sets of a name; 0: it is in none. */
unsigned cairn_call_sets(const char *name);
/* "file" to its set; 0: there is no such set. */
unsigned cairn_call_set_of(const char *text, size_t size);

/* "ENOENT" of 2, "SIGTERM" of 15; NULL: unknown. Static. */
const char *cairn_error_name(int number);
const char *cairn_signal_name(int number);
/* And back; -1: there is no such name. */
int cairn_error_of(const char *name, size_t size);
int cairn_signal_of(const char *name, size_t size);

#endif /* CAIRN_TRACE_CALLS_H */
