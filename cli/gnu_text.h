/* SPDX-License-Identifier: MIT */
/*
 * An answer in the words of GNU addr2line 2.40, which other programs read line by line. Names that
 * hold line breaks or other controls are escaped: an answer is as many lines as its reader expects.
 *
 *     plain      leaf                     -p  leaf at a.c:3
 *                a.c:3                         (inlined by) main at a.c:9
 *                main
 *                a.c:9
 */
#ifndef CAIRN_CLI_GNU_TEXT_H
#define CAIRN_CLI_GNU_TEXT_H

#include <cairn/symbolizer.h>

#include "base/buffer.h"

struct cli_gnu_text {
    bool functions; /* -f: a line with the function before the one with the place */
    bool inlines;   /* -i: every frame; else the innermost, as GNU has it */
    bool pretty;    /* -p: one line a frame */
    bool basenames; /* -s: files without their folders */
    bool demangled; /* -C: names as the symbolizer shows them; else linkage names */
};

/* Ends with a line break. What has no frames is "??:0", as in GNU's answer. */
void cli_gnu_text_put(struct cairn_buffer *out, const struct cli_gnu_text *form,
                      const struct cairn_symbol *symbol);

#endif /* CAIRN_CLI_GNU_TEXT_H */
