/* SPDX-License-Identifier: MIT */
#ifndef CAIRN_TARGET_CORE_H
#define CAIRN_TARGET_CORE_H

#include <cairn/unwind.h>

#include "base/span.h"

/* cairn_unwind_space_open_core() for bytes that the caller keeps. */
int cairn_target_open_core(struct cairn_span bytes, const struct cairn_unwind_opts *opts,
                           struct cairn_unwind_space **ret_space, struct cairn_err *err);

/* What a core file says of its process; NULL: the space is of something else. Borrowed. */
struct cairn_core_facts;
const struct cairn_core_facts *cairn_target_core_facts(const struct cairn_unwind_space *space);

#endif /* CAIRN_TARGET_CORE_H */
