/* SPDX-License-Identifier: MIT */
/*
 * One frame of a leak report as small embedded trackers print it, `cairn heap leaks --format
 * tracker` among them; before it may stand whatever a log puts there. Nothing is copied.
 *
 *     11-22 13:10:01.123  1234  1234 I tag:     #0: 0x7f8a5c1234 libsample.so+0x1234 (make_buffer)
 *                                                  va           module       rel     name
 */
#ifndef CAIRN_RESOLVE_TRACKER_LINE_H
#define CAIRN_RESOLVE_TRACKER_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cairn_tracker_line {
    uint64_t va, rel; /* return addresses; rel counts from the module's load base */
    const char *module;
    size_t module_size; /* 0: it is in none */
    size_t head, tail;  /* the name and what is around it is the line's bytes [head, tail) */
};

/* `size` bytes without the line break. False: it is no such frame. */
bool cairn_tracker_line_read(const char *line, size_t size, struct cairn_tracker_line *ret_line);

/* Does a report begin here? */
bool cairn_tracker_line_begins(const char *line, size_t size);

#endif /* CAIRN_RESOLVE_TRACKER_LINE_H */
