/* SPDX-License-Identifier: MIT */
/*
 * Sanitizer line: what one line of a sanitizer's report says.
 *
 *     #1 0x55d1 in main /src/a.c:7:3                                    a frame, named
 *     #1 0x55d1 in main (/bin/a+0xa31e) (BuildId: 6214ba)               named by the symbol table
 *     #1 0x55d1  (/bin/a+0xa31e) (BuildId: 6214ba)                      not named
 *     #1 main /src/a.c:7:3 (a+0xa31e) (BuildId: 6214ba)                 of the thread sanitizer
 *     ==4813==ERROR: AddressSanitizer: heap-use-after-free on address ...   begins a report
 *     a.c:7:3: runtime error: signed integer overflow: ...                  likewise
 *
 * Names may hold blanks and parentheses, and so may paths: a line is read from its end.
 *
 * Source: LLVM 14 to 19, compiler-rt/lib/sanitizer_common/sanitizer_stacktrace_printer.cpp
 * (RenderFrame, "DEFAULT") and compiler-rt/lib/tsan/rtl/tsan_report.cpp; gcc 12 to 15 have copies.
 */
#ifndef CAIRN_FORMATS_SANITIZER_LINE_H
#define CAIRN_FORMATS_SANITIZER_LINE_H

#include "formats/stack_text.h"

/* False: the line is no frame. Spans lie in `line`. */
bool cairn_sanitizer_frame_parse(struct cairn_span line, uint64_t *ret_number,
                                 struct cairn_text_frame *ret_frame);

/* The line that begins a report: what was found ("heap-use-after-free"), and the pid, -1 where it
 * is not said. */
bool cairn_sanitizer_report_parse(struct cairn_span line, struct cairn_span *ret_what,
                                  int64_t *ret_pid);

#endif /* CAIRN_FORMATS_SANITIZER_LINE_H */
