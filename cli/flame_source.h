/* SPDX-License-Identifier: MIT */
/* Source: the files below a folder, by the names that debug information gives them. */
#ifndef CAIRN_CLI_FLAME_SOURCE_H
#define CAIRN_CLI_FLAME_SOURCE_H

#include <stddef.h>

#include "base/buffer.h"

struct cli_flame_source {
    const char *folder;
    struct cairn_buffer text;
    size_t n_found, n_missing;
};

void cli_flame_source_done(struct cli_flame_source *source); /* all-zero is fine */

/* A cairn_source_fn. "/build/app/src/x.c" is looked for as FOLDER/build/app/src/x.c, then as
 * FOLDER/app/src/x.c and so on, down to FOLDER/x.c. No name leads out of the folder, and no link.
 */
int cli_flame_source_read(void *source, const char *file, const char **ret_text, size_t *ret_size);

/* "src/../lib/./x.c" as "lib/x.c", appended; nothing where it leads above its beginning. */
void cli_flame_source_tidy(struct cairn_buffer *b, const char *file);

#endif /* CAIRN_CLI_FLAME_SOURCE_H */
