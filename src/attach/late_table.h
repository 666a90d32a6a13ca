/* SPDX-License-Identifier: MIT */
/* Late table: what the tracker's library has for whom (heap/late.h), read out of its file. */
#ifndef CAIRN_ATTACH_LATE_TABLE_H
#define CAIRN_ATTACH_LATE_TABLE_H

#include "attach/image.h"

enum { CAIRN_LATE_ROWS_MAX = 256, CAIRN_LATE_NAME_MAX = 64 };

/* vaddrs of the library */
struct cairn_late_wish {
    char name[CAIRN_LATE_NAME_MAX];
    uint64_t replacement, original; /* original: of the word that is to have its address */
    uint32_t roles;                 /* enum cairn_late_role */
};

struct cairn_late_table {
    struct cairn_late_wish *wishes;
    size_t n;
    uint64_t late; /* of struct cairn_late */
};

/* CAIRN_E_FORMAT: it is not the tracker, or that of another version of cairn. */
int cairn_late_table_read(const struct cairn_image *image, struct cairn_late_table *ret_table,
                          struct cairn_err *err);
void cairn_late_table_done(struct cairn_late_table *table);

#endif /* CAIRN_ATTACH_LATE_TABLE_H */
