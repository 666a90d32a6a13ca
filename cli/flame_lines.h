/* SPDX-License-Identifier: MIT */
/* Lines: live bytes and resident memory over time, out of what a heap tracker wrote. */
#ifndef CAIRN_CLI_FLAME_LINES_H
#define CAIRN_CLI_FLAME_LINES_H

#include <cairn/picture.h>

enum { CLI_FLAME_LINES_MAX = 3 };

struct cli_flame_lines {
    struct cairn_picture_line lines[CLI_FLAME_LINES_MAX];
    struct cairn_picture_point *points[CLI_FLAME_LINES_MAX];
    size_t n;
};

void cli_flame_lines_done(struct cli_flame_lines *lines); /* all-zero is fine */

/* None where the process was there for less than two moments. CAIRN_E_FORMAT: no heap file. */
int cli_flame_lines_read(const char *path, struct cli_flame_lines *ret_lines,
                         struct cairn_err *err);

#endif /* CAIRN_CLI_FLAME_LINES_H */
