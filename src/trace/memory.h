/* SPDX-License-Identifier: MIT */
/*
 * Memory: events at accesses to an address, by hardware breakpoints.
 *
 *     mem:[FILE:]SYMBOL[+OFF][/LEN]:w     the variable is written
 *     mem:0xADDRESS[/LEN]:rw              read or written
 *     mem:SYMBOL[+OFF]:x                  the instruction there begins
 */
#ifndef CAIRN_TRACE_MEMORY_H
#define CAIRN_TRACE_MEMORY_H

#include "base/buffer.h"
#include "trace/probe.h"

enum { CAIRN_MEMORY_PLACES_MAX = 4, CAIRN_MEMORY_PLACE_BYTES = 8 };

/* What the text says; texts are borrowed from it. */
struct cairn_memory_spec {
    const char *file;   /* NULL: the program itself, or a plain address */
    const char *symbol; /* NULL: an address */
    uint64_t address;   /* of the file, where there is one */
    uint64_t off;
    uint64_t bytes; /* 0: the symbol's */
    uint32_t type;  /* HW_BREAKPOINT_W, _RW, _X */
};

/* `text` is what stands behind "mem:"; it is cut into pieces. `event` is for messages. */
int cairn_memory_parse(const char *event, char *text, struct cairn_memory_spec *ret_spec,
                       struct cairn_err *err);

/* The pieces of [va, va + bytes) that one breakpoint each covers: how many, all of `*ret_bytes`.
 * CAIRN_E_ARG: it is not aligned, or too large; the hint says what to do. */
int cairn_memory_split(const char *event, uint64_t va, uint64_t bytes, uint32_t *ret_n,
                       uint32_t *ret_bytes, struct cairn_err *err);

/* Adds the probes of an event, one for each breakpoint: of each process, and of each 8 bytes. */
int cairn_memory_add(struct cairn_probes *probes, const char *event, char *text,
                     struct cairn_err *err);

/* A probe whose address was not known before the command `pid` had called execve(2). */
int cairn_memory_place(struct cairn_probe *probe, int pid, struct cairn_err *err);

/* Argument `arg` of the event as a text. */
void cairn_memory_put(struct cairn_buffer *out, const struct cairn_probe *probe,
                      const uint64_t *args, int arg);

#endif /* CAIRN_TRACE_MEMORY_H */
