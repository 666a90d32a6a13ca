/* SPDX-License-Identifier: MIT */
#ifndef CAIRN_PROFILE_ONLY_H
#define CAIRN_PROFILE_ONLY_H

#include "profile/profile.h"

/* The process that all samples are of; NULL: there are several, or a sample does not say. */
const char *cairn_profile_only_process(const struct cairn_profile *p);

#endif /* CAIRN_PROFILE_ONLY_H */
