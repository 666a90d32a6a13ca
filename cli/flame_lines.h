/* SPDX-License-Identifier: MIT */
/* What a heap tracker wrote beside the stacks: live bytes and resident memory over time, as lines,
 * and how far its numbers can be trusted. */
#ifndef CAIRN_CLI_FLAME_LINES_H
#define CAIRN_CLI_FLAME_LINES_H

#include <stdbool.h>

#include <cairn/picture.h>
#include <cairn/profile.h>

enum { CLI_FLAME_LINES_MAX = 4, CLI_FLAME_LINE_NAME = 144, CLI_FLAME_HEAP_QUALITY = 4096 };

struct cli_flame_lines {
    struct cairn_picture_line lines[CLI_FLAME_LINES_MAX];
    struct cairn_picture_point *points[CLI_FLAME_LINES_MAX];
    char names[CLI_FLAME_LINES_MAX][CLI_FLAME_LINE_NAME]; /* the lines point to them */
    size_t n;
    int64_t start_ns;                     /* when they begin, since 1970 */
    char quality[CLI_FLAME_HEAP_QUALITY]; /* of the blocks; empty: the picture is of others, too */
};

void cli_flame_lines_done(struct cli_flame_lines *lines); /* all-zero is fine */

/* Of several processes the one that had most live, whose line says so; it does, too, where the
 * picture `is_of_more` than this file. None where no process was there for two moments.
 * `profile` is what is drawn. CAIRN_E_FORMAT: no heap file. */
int cli_flame_lines_read(const char *path, bool is_of_more, const struct cairn_profile *profile,
                         struct cli_flame_lines *ret_lines, struct cairn_err *err);

#endif /* CAIRN_CLI_FLAME_LINES_H */
