/* SPDX-License-Identifier: MIT */
/*
 * USDT: the static probes of one file. A probe may be at many places, for its function was inlined
 * or the source has it several times; each place has its own note, and its own arguments.
 *
 *     notes, sorted ─► probes: all notes of one provider and name ─► places to attach to
 */
#ifndef CAIRN_TRACE_USDT_H
#define CAIRN_TRACE_USDT_H

#include <cairn/error.h>

#include "base/file.h"
#include "bpf/trace.h"
#include "elf/image.h"
#include "elf/usdt.h"
#include "trace/calls.h"

struct cairn_usdt_file {
    struct cairn_file file;
    struct cairn_elf elf;
    struct cairn_elf_usdt_note *notes; /* by provider, name and address; borrow from `file` */
    size_t n, cap;
    uint64_t symbols_left; /* so many may be compared with the symbols of operands */
};

/* CAIRN_E_MISSING: the file has no static probes. CAIRN_E_FORMAT: its notes are damaged. */
int cairn_usdt_open(const char *path, struct cairn_usdt_file *ret_file, struct cairn_err *err);
void cairn_usdt_close(struct cairn_usdt_file *file); /* all-zero is fine */

struct cairn_usdt_probe {
    const struct cairn_elf_usdt_note *notes; /* one for each place; the first has the names */
    size_t n;
};

/* The next one that both patterns match, from note `*at` on. False: there is none. */
bool cairn_usdt_next(const struct cairn_usdt_file *file, const char *provider, const char *name,
                     size_t *at, struct cairn_usdt_probe *ret_probe);

/* The probe whose names are most like these. */
const struct cairn_elf_usdt_note *cairn_usdt_nearest(const struct cairn_usdt_file *file,
                                                     const char *provider, const char *name);

enum cairn_usdt_insn {
    CAIRN_USDT_STEPPED,  /* the kernel single-steps it */
    CAIRN_USDT_NOP,      /* it emulates it */
    CAIRN_USDT_NOP_ARM,  /* newer ones do (Linux 6.13) */
    CAIRN_USDT_REPLACED, /* it replaces it by a call: a nop of five bytes */
    CAIRN_USDT_INSNS
};

struct cairn_usdt_place {
    uint64_t off, semaphore_off; /* in the file; 0: it has no semaphore */
    enum cairn_usdt_insn insn;
    struct cairn_bpf_usdt args;
    bool is_real[CAIRN_TRACE_ARGS_MAX]; /* a floating-point number */
};

/* Where a probe is attached for a note. CAIRN_E_FORMAT: no code is there. CAIRN_E_SUPPORT: the file
 * is of another CPU. */
int cairn_usdt_place(struct cairn_usdt_file *file, const struct cairn_elf_usdt_note *note,
                     struct cairn_usdt_place *ret_place, struct cairn_err *err);

/* What the arguments of a probe are, by all its places: arg0, arg1, ... */
void cairn_usdt_describe(const struct cairn_usdt_place *places, size_t n,
                         struct cairn_syscall *call);

#endif /* CAIRN_TRACE_USDT_H */
