/* SPDX-License-Identifier: MIT */
/*
 * Debug source: where the debug file of a stripped module can be had, by what the installation says
 * of itself. Nothing is asked over the network.
 *
 *     os-release         Debian, Ubuntu: the package of the file, and so the package of its debug
 *                        file; other distributions: their debuginfod server
 *     DEBUGINFOD_URLS    is taken before the distribution's server
 */
#ifndef CAIRN_DEBUGFILE_DEBUG_SOURCE_H
#define CAIRN_DEBUGFILE_DEBUG_SOURCE_H

#include "base/buffer.h"

struct cairn_debug_source {
    const char *file;     /* where the module was found; its path begins with the root, or is the
                             host's */
    const char *build_id; /* lower-case hex; "": unknown */
    char text[512];       /* "python3.11-dbg has its debug file, ..."; "": nothing is known */
};

/* Fills in the texts. `root`: of the processes whose modules these are, NULL: the host's. At most
 * CAIRN_PACKAGES_MAX of them. */
void cairn_debug_sources_find(const char *root, struct cairn_debug_source *sources, size_t n);

#endif /* CAIRN_DEBUGFILE_DEBUG_SOURCE_H */
