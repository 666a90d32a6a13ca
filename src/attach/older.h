/* SPDX-License-Identifier: MIT */
/* Older: the blocks that were there before the tracker (heap/late_older.h). */
#ifndef CAIRN_ATTACH_OLDER_H
#define CAIRN_ATTACH_OLDER_H

#include "attach/job.h"

/* With the functions diverted. The process is attached to either way: the report says what is
 * known of these blocks. */
void cairn_attach_list_older(struct cairn_attach_job *job);

#endif /* CAIRN_ATTACH_OLDER_H */
