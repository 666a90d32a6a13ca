/* SPDX-License-Identifier: MIT */
/* File: what one ELF file, with its debug file, has to unwind by and to name with. */
#ifndef CAIRN_DOCTOR_FILE_H
#define CAIRN_DOCTOR_FILE_H

#include "base/span.h"

enum { CAIRN_DOCTOR_ID_BYTES = 2 * 64 + 1, CAIRN_DOCTOR_FIX_BYTES = 512 };

struct cairn_doctor_file {
    char build_id[CAIRN_DOCTOR_ID_BYTES];
    const char *tables, *symbols; /* static; as in struct cairn_doctor_module */
    int covered_percent;          /* -1: not known */
    int derived_percent;
    bool has_lines, has_inlines;
    const char *why; /* static; what is missing */
    char fix[CAIRN_DOCTOR_FIX_BYTES];
};

/* Any bytes; `debug` is empty where there is none, `image` where only that was found. */
void cairn_doctor_read_file(struct cairn_span image, struct cairn_span debug,
                            struct cairn_doctor_file *ret_file);

#endif /* CAIRN_DOCTOR_FILE_H */
