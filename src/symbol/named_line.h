/* SPDX-License-Identifier: MIT */
/* Named line: where the code of a line of source begins, by the line programs of all units. */
#ifndef CAIRN_SYMBOL_NAMED_LINE_H
#define CAIRN_SYMBOL_NAMED_LINE_H

#include <stdint.h>

#include <cairn/symbolizer.h>

enum { CAIRN_NAMED_LINE_MAX = 1024 };

struct cairn_named_line {
    uint64_t *vaddrs; /* sorted, each once; of statements alone (DWARF 5, 6.2.2, is_stmt) */
    size_t n, cap;
    uint32_t before, behind; /* the nearest lines of the file that have code; 0: there is none */
    size_t n_files;          /* of that name, some of them several times */
};

/*
 * `file` is a name or the end of a path, "zip/source.c". Each run of the line is a place: loops and
 * inlined copies have several. One whose addresses are not there has `n` 0, and the nearest lines.
 * All line programs are read once. CAIRN_E_MISSING: the module has no lines. CAIRN_E_LIMIT: more
 * than CAIRN_NAMED_LINE_MAX places. CAIRN_E_FORMAT: programs lie in each other.
 * CAIRN_E_NOMEM; other damage loses its unit.
 */
int cairn_module_find_line(struct cairn_module *module, const char *file, uint32_t line,
                           struct cairn_named_line *ret_line, struct cairn_err *err);
void cairn_named_line_done(struct cairn_named_line *line); /* all-zero is fine */

#endif /* CAIRN_SYMBOL_NAMED_LINE_H */
