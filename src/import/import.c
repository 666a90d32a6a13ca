/* SPDX-License-Identifier: MIT */
/* A recording as a profile: what it holds, and its copied stacks walked with files of this machine.
 */
#include <cairn/import.h>

#include "base/alloc.h"
#include "base/error.h"
#include "formats/format.h"
#include "import/folder.h"
#include "import/walk.h"

int cairn_import_profile(cairn_read_fn read, void *ctx, const struct cairn_import_opts *opts,
                         struct cairn_profile **ret_profile, struct cairn_err *err)
{
    struct cairn_import_opts known = {0};
    if (opts)
        memcpy(&known, opts, opts->size < sizeof known ? opts->size : sizeof known);
    struct cairn_import_walker *walker = cairn_alloc(1, sizeof *walker); /* too large for a stack */
    if (!walker)
        return cairn_fail_memory(err);
    struct cairn_import_folder folder = {0};
    int code = cairn_import_walker_init(walker, known.files, err);
    if (code == CAIRN_OK && known.folder)
        code = cairn_import_folder_open(known.folder, &folder, err);
    const struct cairn_format_input input = {.read = read,
                                             .read_at = known.read_at,
                                             .ctx = ctx,
                                             .more = folder.inputs,
                                             .n_more = folder.n,
                                             .walker = {cairn_import_walk, walker},
                                             .keeps = known.keeps};
    if (code == CAIRN_OK)
        code = cairn_format_read(&input, known.format, ret_profile, err);
    cairn_import_folder_close(&folder);
    cairn_import_walker_done(walker);
    cairn_free(walker);
    return code;
}
