/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
#include <string.h>

#include "hook/slots_read.h"

enum { BY_INFO = 1, BY_STEP = 2, BY_ADDEND = 4, HAS_ADDEND = 8, MAGIC_BYTES = 4 };

struct stream {
    const uint8_t *at, *end;
    bool failed;
};

static int64_t next(struct stream *in)
{
    uint64_t value = 0;
    for (unsigned shift = 0; in->at < in->end && shift < 64; shift += 7) {
        uint8_t byte = *in->at++;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte & 0x80)
            continue;
        if (byte & 0x40 && shift + 7 < 64)
            value |= UINT64_MAX << (shift + 7);
        return (int64_t)value;
    }
    in->failed = true;
    return 0;
}

struct group {
    uint64_t n, flags, step, info;
};

struct position {
    uint64_t place;
    uint64_t addend;
};

static void open_group(struct stream *in, struct group *group, struct position *at)
{
    group->n = (uint64_t)next(in);
    group->flags = (uint64_t)next(in);
    group->step = group->flags & BY_STEP ? (uint64_t)next(in) : 0;
    group->info = group->flags & BY_INFO ? (uint64_t)next(in) : 0;
    bool is_common = group->flags & BY_ADDEND && group->flags & HAS_ADDEND;
    if (is_common)
        at->addend += (uint64_t)next(in);
    else if (!(group->flags & HAS_ADDEND))
        at->addend = 0;
}

/* False: stopped. */
static bool read_group(struct stream *in, const struct group *group, struct position *at,
                       cairn_slots_relocation_fn *each, void *context)
{
    for (uint64_t i = 0; i < group->n && !in->failed; i++) {
        at->place += group->flags & BY_STEP ? group->step : (uint64_t)next(in);
        uint64_t info = group->flags & BY_INFO ? group->info : (uint64_t)next(in);
        if (group->flags & HAS_ADDEND && !(group->flags & BY_ADDEND))
            at->addend += (uint64_t)next(in);
        if (!in->failed && each(context, at->place, info, (int64_t)at->addend) != 0)
            return false;
    }
    return true;
}

enum cairn_slots_reason cairn_slots_packed(const uint8_t *bytes, size_t n,
                                           cairn_slots_relocation_fn *each, void *context,
                                           size_t *ret_at)
{
    struct stream in = {bytes + MAGIC_BYTES, bytes + n, false};
    struct position at = {0, 0};
    *ret_at = 0;
    if (n < MAGIC_BYTES || memcmp(bytes, "APS2", MAGIC_BYTES) != 0)
        return CAIRN_SLOTS_PACKED;
    uint64_t left = (uint64_t)next(&in);
    at.place = (uint64_t)next(&in);
    if (left > CAIRN_SLOTS_MAX)
        return CAIRN_SLOTS_LIMIT;
    while (left > 0 && !in.failed) {
        struct group group;
        open_group(&in, &group, &at);
        if (in.failed || group.n == 0 || group.n > left)
            break;
        if (!read_group(&in, &group, &at, each, context))
            return CAIRN_SLOTS_STOPPED;
        left -= group.n;
    }
    *ret_at = (size_t)(in.at - bytes);
    return left > 0 || in.failed ? CAIRN_SLOTS_PACKED : CAIRN_SLOTS_FINE;
}
