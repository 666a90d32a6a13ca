/* SPDX-License-Identifier: MIT */
/*
 * Tombstone line: what one line of an Android crash dump says, behind any prefix of a log.
 *
 *     *** *** *** *** *** *** *** ***                                            begins a dump
 *     Build fingerprint: 'google/oriole/oriole:13/TQ1A/1234:user/release-keys'
 *     pid: 4813, tid: 4830, name: RenderThread  >>> com.example <<<               a thread
 *     signal 6 (SIGABRT), code -1 (SI_QUEUE), fault addr --------
 *     Abort message: 'assertion "p" failed'
 *           #00 pc 0000000000054a44  /system/lib64/libc.so (abort+164) (BuildId: ab01)
 *           #01 pc 0000000000001234  /data/app/base.apk!libx.so (offset 0x5000) (f(int)+8)
 *     --- --- --- --- --- --- --- ---                                            the next thread
 *     ----- pid 4813 at 2023-01-02 03:04:05 -----                                of debuggerd -b
 *     "RenderThread" sysTid=4830                                                 a thread of that
 *
 * Logs and mails add text before these lines and change their blanks, so what a line says is found
 * by what is in it.
 *
 * Source: AOSP, system/core/debuggerd/libdebuggerd/tombstone_proto_to_text.cpp, tombstone.cpp and
 * backtrace.cpp, Android 4 to 15; system/unwinding/libunwindstack/Unwinder.cpp (FormatFrame).
 */
#ifndef CAIRN_FORMATS_TOMBSTONE_LINE_H
#define CAIRN_FORMATS_TOMBSTONE_LINE_H

#include "base/buffer.h"
#include "formats/stack_text.h"

enum cairn_tombstone_kind {
    CAIRN_TOMBSTONE_OTHER, /* nothing that matters here */
    CAIRN_TOMBSTONE_FRAME,
    CAIRN_TOMBSTONE_BEGIN,
    CAIRN_TOMBSTONE_BUILD,  /* text */
    CAIRN_TOMBSTONE_HEAD,   /* pid, tid, text: the thread's name, process */
    CAIRN_TOMBSTONE_SIGNAL, /* text */
    CAIRN_TOMBSTONE_ABORT,  /* text */
    CAIRN_TOMBSTONE_STACK,  /* text: "deallocated by thread 4813" */
    CAIRN_TOMBSTONE_BACKTRACE,
    CAIRN_TOMBSTONE_NEXT,
    CAIRN_TOMBSTONE_LOG,     /* lines of the system's log follow */
    CAIRN_TOMBSTONE_PROCESS, /* pid, of debuggerd -b */
    CAIRN_TOMBSTONE_COMMAND, /* text, likewise */
    CAIRN_TOMBSTONE_THREAD   /* tid, text: the name, likewise */
};

struct cairn_tombstone_line {
    enum cairn_tombstone_kind kind;
    struct cairn_span text, process; /* they lie in the line */
    uint64_t pid, tid;
    uint64_t number; /* of the frame */
    uint64_t place;  /* "offset 0x5000": where in the file the library, or its code, begins */
    bool is_closed;  /* the frame ends as one does: no part of it is missing */
    struct cairn_text_frame frame;
};

void cairn_tombstone_line_parse(struct cairn_span line, struct cairn_tombstone_line *ret_line);

/* "base.apk!libx.so" becomes "base.apk!/libx.so" in `path`, as files in archives are called
 * elsewhere. False: the module is no such file. A buffer that failed lacks memory. */
bool cairn_tombstone_name_entry(struct cairn_buffer *path, struct cairn_text_frame *frame);

#endif /* CAIRN_FORMATS_TOMBSTONE_LINE_H */
