/* SPDX-License-Identifier: MIT */
/*
 * Debugger line: what one line of a debugger's stacks says.
 *
 *     #0  0x00007f3a8aefa545 in poll (fds=0x0, n=1) at poll.c:48     gdb, pstack
 *     #1  use (p=0x7ff) at a.c:7                                     the frame before is inlined
 *     #2  <signal handler called>
 *     #3  0x00007f3a8aefa545 in ?? () from /lib/x.so
 *     #1  0x00007f3a8aefee53 - 1 sleep - /lib/libc.so.6              eu-stack
 *         [93ac61ec]@0x7f3a8ae2b000+0xd3e52                          -b: build ID, base, offset
 *         ../sysdeps/posix/sleep.c:55:11                             -s
 *     #0  0x00007f3a8aefa545 poll (libc.so.6 + 0xf8a4f)              systemd-coredump
 *
 * Source: gdb 13, gdb/stack.c (print_frame); elfutils 0.188, src/stack.c (print_frame);
 * systemd 239 to 257, src/shared/elf-util.c (frame_callback).
 */
#ifndef CAIRN_FORMATS_DEBUGGER_LINE_H
#define CAIRN_FORMATS_DEBUGGER_LINE_H

#include "formats/stack_text.h"

enum cairn_debugger_kind {
    CAIRN_DEBUGGER_OTHER,
    CAIRN_DEBUGGER_FRAME,
    CAIRN_DEBUGGER_PROCESS, /* pid, text: its name */
    CAIRN_DEBUGGER_THREAD,  /* tid, text: its name */
    CAIRN_DEBUGGER_CURRENT, /* tid, of the thread that a signal ended */
    CAIRN_DEBUGGER_SIGNAL,  /* text */
    CAIRN_DEBUGGER_CUT,     /* text: why the stack ends here */
    CAIRN_DEBUGGER_MODULE   /* text: its name, build_id; of frames that follow */
};

struct cairn_debugger_frame {
    uint64_t number;
    struct cairn_text_frame text; /* as printed: a return address is one of the next instruction */
    bool is_gdb;                  /* what follows may be the rest of a line that gdb broke */
    bool is_whole;                /* it ends as such a frame does */
    bool is_exact;                /* the address is that of code, not a return address */
    bool is_handler;
};

struct cairn_debugger_line {
    enum cairn_debugger_kind kind;
    struct cairn_span text, build_id;
    uint64_t id; /* of the process or thread */
    struct cairn_debugger_frame frame;
};

/* Spans lie in `line`. */
void cairn_debugger_line_parse(struct cairn_span line, struct cairn_debugger_line *ret_line);

/* "#0  0x...": where the frame begins in the line, behind any prefix of a log; false: nowhere. */
bool cairn_debugger_frame_parse(struct cairn_span line, struct cairn_debugger_frame *ret_frame);

/* Does a line of a frame of gdb that goes over several end it? */
bool cairn_debugger_part_closes(struct cairn_span part);

/* A line below a frame of eu-stack. `ret_offset` counts from the load base. */
bool cairn_debugger_build_parse(struct cairn_span line, struct cairn_span *ret_build_id,
                                uint64_t *ret_offset);

#endif /* CAIRN_FORMATS_DEBUGGER_LINE_H */
