/* SPDX-License-Identifier: MIT */
/* Files of other profilers that are not read yet: what each is, and what does read it. */
#ifndef CAIRN_FORMATS_OTHER_PROFILE_H
#define CAIRN_FORMATS_OTHER_PROFILE_H

#include "base/reader.h"

struct cairn_other_profile {
    const char *what; /* "a heap profile of gperftools or jemalloc, as text" */
    const char *hint; /* the command that reads it, or that makes of it what cairn reads */
};

/* By the first bytes of a file; NULL: not known. Static. */
const struct cairn_other_profile *cairn_other_profile_of(struct cairn_span head);

#endif /* CAIRN_FORMATS_OTHER_PROFILE_H */
