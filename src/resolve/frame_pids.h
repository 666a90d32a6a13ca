/* SPDX-License-Identifier: MIT */
/* Frame pids: which process each frame of a profile was seen in, by the label "pid" of the samples.
 * An address without a file means something in one process only. */
#ifndef CAIRN_RESOLVE_FRAME_PIDS_H
#define CAIRN_RESOLVE_FRAME_PIDS_H

#include <cairn/error.h>

#include "profile/profile.h"

enum { CAIRN_FRAME_PID_NONE = 0, CAIRN_FRAME_PID_MANY = -1 };

/* By frame: the pid, or one of the above; free it with cairn_free(). */
int cairn_frame_pids(const struct cairn_profile *profile, int32_t **ret_pids,
                     struct cairn_err *err);

#endif /* CAIRN_RESOLVE_FRAME_PIDS_H */
