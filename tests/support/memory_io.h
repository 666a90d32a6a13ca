/* SPDX-License-Identifier: MIT */
/* Profiles in memory: read from bytes, written to a buffer, as text for a person to compare. */
#ifndef CAIRN_TESTS_MEMORY_IO_H
#define CAIRN_TESTS_MEMORY_IO_H

#include <string.h>

#include <cairn/profile.h>

#include "base/buffer.h"

struct test_input {
    struct cairn_span left;
    size_t piece; /* at most so many bytes a call; 0: as many as are asked for */
};

static inline long test_read(void *ctx, void *buf, size_t size)
{
    struct test_input *input = ctx;
    size_t n = size < input->left.size ? size : input->left.size;
    if (input->piece && n > input->piece)
        n = input->piece;
    if (n == 0)
        return 0;
    memcpy(buf, input->left.data, n);
    input->left.data += n;
    input->left.size -= n;
    return (long)n;
}

static inline int test_write(void *ctx, const void *bytes, size_t size)
{
    struct cairn_buffer *out = ctx;
    cairn_buffer_add(out, bytes, size);
    return out->failed;
}

static inline int test_read_profile(struct cairn_span bytes, enum cairn_format format,
                                    struct cairn_profile **ret_profile, struct cairn_err *err)
{
    struct test_input input = {.left = bytes};
    return cairn_profile_read(test_read, &input, format, ret_profile, err);
}

#endif /* CAIRN_TESTS_MEMORY_IO_H */
