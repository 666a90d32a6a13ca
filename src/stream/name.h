/* SPDX-License-Identifier: MIT */
/* Stream names: how threads are called. Tables: tid -> a text of the profile. */
#ifndef CAIRN_STREAM_NAME_H
#define CAIRN_STREAM_NAME_H

#include "profile/profile.h"

/* A thread is called so from now on. CAIRN_OK or CAIRN_E_NOMEM. */
int cairn_stream_set_name(struct cairn_table *names, struct cairn_profile *profile, int tid,
                          const char *name);

/* A thread that begins is called as the one that began it. CAIRN_OK or CAIRN_E_NOMEM. */
int cairn_stream_inherit_name(struct cairn_table *names, int parent_tid, int tid);

#endif /* CAIRN_STREAM_NAME_H */
