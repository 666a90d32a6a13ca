/* SPDX-License-Identifier: MIT */
/* Units: values as people read them. */
#ifndef CAIRN_PICTURE_UNITS_H
#define CAIRN_PICTURE_UNITS_H

#include "base/buffer.h"

/* "12,345 samples", "1.23 s", "4.5 MiB": by the names of a value type, which are escaped here. */
void cairn_units_value(struct cairn_buffer *b, int64_t value, const char *type, const char *unit);

/* "12.3%" of `whole`; two digits below 10 percent. */
void cairn_units_percent(struct cairn_buffer *b, int64_t value, int64_t whole);

void cairn_units_count(struct cairn_buffer *b, uint64_t value); /* 1,234,567 */

#endif /* CAIRN_PICTURE_UNITS_H */
