/* SPDX-License-Identifier: MIT */
/*
 * Package: which of a Debian-like system's packages a file came with. dpkg's own lists are read,
 * NAME.list and NAME:ARCH.list in /var/lib/dpkg/info, a path a line; dpkg(1) is not run, which a
 * container may not have.
 */
#ifndef CAIRN_DEBUGFILE_PACKAGE_H
#define CAIRN_DEBUGFILE_PACKAGE_H

#include "debugfile/root.h"

enum { CAIRN_PACKAGE_NAME_BYTES = 128, CAIRN_PACKAGES_MAX = 64 };

struct cairn_package {
    const char *path;                    /* of the file, from the root on */
    char name[CAIRN_PACKAGE_NAME_BYTES]; /* "": no package has it */
};

/* Fills in the names of at most CAIRN_PACKAGES_MAX files. A list that is too large or missing names
 * none. */
void cairn_packages_find(const struct cairn_root *root, struct cairn_package *packages, size_t n);

#endif /* CAIRN_DEBUGFILE_PACKAGE_H */
