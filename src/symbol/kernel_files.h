/* SPDX-License-Identifier: MIT */
/* Kernel files: where the files of kernel modules (.ko) are looked for by name. */
#ifndef CAIRN_SYMBOL_KERNEL_FILES_H
#define CAIRN_SYMBOL_KERNEL_FILES_H

#include <cairn/symbolizer.h>

#include "base/buffer.h"

/* The folders, and what a walk through them found. */
struct cairn_kernel_files;

/* `release` says below which folder of /lib/modules, in the debug folder and in the root, modules
 * are installed; "": unknown. CAIRN_E_NOMEM. */
int cairn_kernel_files_new(struct cairn_symbolizer *symbolizer, const char *release,
                           struct cairn_kernel_files **ret_files, struct cairn_err *err);
void cairn_kernel_files_free(struct cairn_kernel_files *files); /* NULL is fine */

/* The file of the module `name` anywhere below the symbol folders, else below those of installed
 * modules: NAME.ko, which may be packed (.xz, .zst, .gz), with '-' or '_' alike, as modprobe(8) has
 * it. `ret_path` stays empty where there is none. CAIRN_E_NOMEM. */
int cairn_kernel_files_find(struct cairn_kernel_files *files, struct cairn_symbolizer *symbolizer,
                            const char *name, struct cairn_buffer *ret_path, struct cairn_err *err);

/* Opens it, else what has its build ID wherever debug files are. `build_id` is "" where it is
 * unknown. `*ret_file` is set only where a file of that build is found; the log says why not.
 * CAIRN_E_NOMEM. */
int cairn_kernel_files_open(struct cairn_kernel_files *files, struct cairn_symbolizer *symbolizer,
                            const char *name, const char *build_id, struct cairn_module **ret_file,
                            struct cairn_err *err);

#endif /* CAIRN_SYMBOL_KERNEL_FILES_H */
