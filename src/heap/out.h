/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/*
 * Out: text as it is made, on pages, and where there is a file handed on to it piece by piece.
 *
 * What others named is escaped: everything but printable ASCII comes out as \xHH, in JSON as
 * \u00HH, so that a line stays a line and a string a string.
 */
#ifndef CAIRN_HEAP_OUT_H
#define CAIRN_HEAP_OUT_H

#include <stdbool.h>
#include <stdint.h>

#include "rt/array.h"

/* Zero at first but for `fd`. */
struct cairn_heap_out {
    struct cairn_array text; /* char: what is not written yet */
    int fd;                  /* -1: none */
    int failed; /* an errno: memory is gone, or a write failed; nothing more is added */
};

void cairn_heap_out_bytes(struct cairn_heap_out *out, const void *bytes, size_t n);
void cairn_heap_out_str(struct cairn_heap_out *out, const char *plain);
void cairn_heap_out_decimal(struct cairn_heap_out *out, uint64_t value);
void cairn_heap_out_hex(struct cairn_heap_out *out, uint64_t value); /* with 0x */
void cairn_heap_out_name(struct cairn_heap_out *out, const char *name, size_t n);
void cairn_heap_out_json(struct cairn_heap_out *out, const char *name, size_t n); /* in quotes */
/* Writes what there is to the file. */
void cairn_heap_out_flush(struct cairn_heap_out *out);
void cairn_heap_out_done(struct cairn_heap_out *out);

#endif /* CAIRN_HEAP_OUT_H */
