/* SPDX-License-Identifier: MIT */
/* Installed: libraries of ours that the running program does not load itself. */
#ifndef CAIRN_BASE_INSTALLED_H
#define CAIRN_BASE_INSTALLED_H

#include <stddef.h>

#include <cairn/error.h>

/* The real path of `library` ("libcairn-heap.so"): beside the program, as in a build folder, or
 * where an installation has it. CAIRN_E_MISSING: it is in none of these places; the hint names the
 * option --library. */
int cairn_installed_library(const char *library, char *ret_path, size_t size,
                            struct cairn_err *err);

#endif /* CAIRN_BASE_INSTALLED_H */
