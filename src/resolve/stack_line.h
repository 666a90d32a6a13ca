/* SPDX-License-Identifier: MIT */
/*
 * One line of collapsed stacks, cut into frames. Nothing is copied, nothing is changed.
 *
 *     app;0x7f12a0;lib.so+0x1b0;0x7f12c4 17\r
 *     name   va       offset      va    count: behind the last blank
 *
 * "lib.so+0x1b0 [function]" is an offset too: a function that had no name in an earlier run.
 */
#ifndef CAIRN_RESOLVE_STACK_LINE_H
#define CAIRN_RESOLVE_STACK_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum cairn_stack_form {
    CAIRN_STACK_NAME,  /* anything else */
    CAIRN_STACK_VA,    /* 0x7f12a0 */
    CAIRN_STACK_OFFSET /* module+0xoff */
};

struct cairn_stack_frame {
    const char *text;
    size_t size;
    bool leaf;
    enum cairn_stack_form form;
    uint64_t value;
    size_t module_size;     /* CAIRN_STACK_OFFSET: so many bytes of `text` name the module */
    size_t base_size;       /* and so many stand before "+0x" */
    bool is_function_start; /* "module+0xoff [function]" */
};

struct cairn_stack_line {
    const char *next; /* NULL: no frame is left */
    const char *end;  /* of the frames: the blank before the count */
};

/* `size` bytes without the line break. How many of them are frames; 0 where it is no stack. */
size_t cairn_stack_line_open(const char *line, size_t size, struct cairn_stack_line *ret_line);

/* The next frame, root first. Between its end and `line->next` (or `line->end` after the last one)
 * stand the bytes that belong to no frame. */
bool cairn_stack_line_next(struct cairn_stack_line *line, struct cairn_stack_frame *ret_frame);

#endif /* CAIRN_RESOLVE_STACK_LINE_H */
