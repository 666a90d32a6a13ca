/* SPDX-License-Identifier: MIT */
/* Import folder: the files beside "data" that the threads of perf record --threads wrote. */
#ifndef CAIRN_IMPORT_FOLDER_H
#define CAIRN_IMPORT_FOLDER_H

#include "formats/format.h"

struct cairn_import_folder {
    int *fds;
    struct cairn_format_input *inputs; /* each with read_at alone */
    size_t n, cap_fds, cap_inputs;
};

/* Opens "data.0", "data.1", ... as long as there are any. CAIRN_E_ACCESS, CAIRN_E_IO, CAIRN_E_NOMEM
 * and CAIRN_E_LIMIT. */
int cairn_import_folder_open(const char *path, struct cairn_import_folder *ret_folder,
                             struct cairn_err *err);
void cairn_import_folder_close(struct cairn_import_folder *folder); /* all-zero is fine */

#endif /* CAIRN_IMPORT_FOLDER_H */
