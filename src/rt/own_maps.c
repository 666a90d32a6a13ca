/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
#include "rt/own_maps.h"

#include <fcntl.h>
#include <string.h>

#include "rt/pages.h"
#include "rt/sys.h"

static bool read_number(const char **at, unsigned base, uint64_t *ret)
{
    uint64_t value = 0;
    const char *begin = *at;
    for (;; (*at)++) {
        unsigned digit = (unsigned)**at - '0';
        if (digit > 9)
            digit = base == 16 && **at >= 'a' && **at <= 'f' ? (unsigned)(**at - 'a') + 10 : base;
        if (digit >= base)
            break;
        value = value * base + digit;
    }
    *ret = value;
    return *at > begin && *at - begin <= 20;
}

static bool skip(const char **at, char c)
{
    if (**at != c)
        return false;
    (*at)++;
    return true;
}

bool cairn_own_mapping_read(const char *line, struct cairn_own_mapping *ret)
{
    const char *at = line;
    uint64_t major, minor;
    if (!read_number(&at, 16, &ret->from) || !skip(&at, '-') || !read_number(&at, 16, &ret->to) ||
        !skip(&at, ' ') || strnlen(at, 5) < 5)
        return false;
    memcpy(ret->access, at, sizeof ret->access);
    at += sizeof ret->access;
    if (!skip(&at, ' ') || !read_number(&at, 16, &ret->off) || !skip(&at, ' ') ||
        !read_number(&at, 16, &major) || !skip(&at, ':') || !read_number(&at, 16, &minor) ||
        !skip(&at, ' ') || !read_number(&at, 10, &ret->inode))
        return false;
    ret->dev_major = (uint32_t)major;
    ret->dev_minor = (uint32_t)minor;
    while (skip(&at, ' '))
        ;
    ret->path = at;
    return ret->from < ret->to;
}

bool cairn_own_maps_each(struct cairn_own_maps_text *text, cairn_own_mapping_fn *fn, void *context)
{
    int fd = cairn_sys_open("/proc/self/maps", O_RDONLY, 0);
    uint32_t used = 0;
    bool goes_on = true;
    long got = 0;
    if (fd < 0)
        return false;
    while (goes_on && (got = cairn_sys_read(fd, text->buffer, sizeof text->buffer)) > 0)
        for (long i = 0; goes_on && i < got; i++) {
            struct cairn_own_mapping mapping;
            char c = text->buffer[i];
            if (c != '\n' && used < CAIRN_OWN_MAPS_LINE - 1)
                text->line[used++] = c;
            if (c != '\n')
                continue;
            text->line[used] = 0;
            used = 0;
            if (cairn_own_mapping_read(text->line, &mapping))
                goes_on = fn(context, &mapping);
        }
    cairn_sys_close(fd);
    return got >= 0;
}

/* What cairn_own_maps_find_free() looks for, and what it has found. */
struct gap {
    uint64_t at, high, bytes; /* from `at` on, below `high` */
    uint64_t found;           /* 0: nothing yet */
};

/* A mapping leaves enough space in front of it, or the search goes on behind it. */
static bool look_before(void *context, const struct cairn_own_mapping *mapping)
{
    struct gap *gap = context;
    const uint64_t page = cairn_pages_size();
    if (mapping->to <= (gap->at & ~(page - 1)))
        return true;
    if (mapping->from >= ((gap->at + gap->bytes + page - 1) & ~(page - 1)))
        gap->found = gap->at;
    else
        gap->at = mapping->to;
    return !gap->found && gap->at < gap->high;
}

uint64_t cairn_own_maps_find_free(struct cairn_own_maps_text *text, uint64_t low, uint64_t high,
                                  uint64_t bytes)
{
    struct gap gap = {.at = low, .high = high, .bytes = bytes};
    if (low < high)
        (void)cairn_own_maps_each(text, look_before, &gap);
    return gap.found;
}
