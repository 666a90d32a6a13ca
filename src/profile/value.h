/* SPDX-License-Identifier: MIT */
#ifndef CAIRN_PROFILE_VALUE_H
#define CAIRN_PROFILE_VALUE_H

#include <stdint.h>

/* Values come from files: a sum that does not fit stays at the end of its range. */
static inline int64_t cairn_value_add(int64_t a, int64_t b)
{
    int64_t sum;
    if (__builtin_add_overflow(a, b, &sum))
        return b < 0 ? INT64_MIN : INT64_MAX;
    return sum;
}

#endif /* CAIRN_PROFILE_VALUE_H */
