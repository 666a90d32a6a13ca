/* SPDX-License-Identifier: MIT */
/* Lacking: files of a profile's modules that are not on this machine, fetched before any is looked
 * for, because together they take as long as the slowest of them. */
#ifndef CAIRN_RESOLVE_LACKING_H
#define CAIRN_RESOLVE_LACKING_H

#include "profile/profile.h"
#include "resolve/resolver.h"

/* Asks for them, where somebody fetches. Only lack of memory fails. */
int cairn_lacking_fetch(struct cairn_resolver *resolver, const struct cairn_profile *profile,
                        struct cairn_err *err);

#endif /* CAIRN_RESOLVE_LACKING_H */
