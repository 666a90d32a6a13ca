/* SPDX-License-Identifier: MIT */
#ifndef CAIRN_FORMATS_PPROF_WRITE_H
#define CAIRN_FORMATS_PPROF_WRITE_H

#include "profile/profile.h"

/* The whole profile as one gzip member. */
int cairn_pprof_write(const struct cairn_profile *p, cairn_write_fn write, void *ctx,
                      struct cairn_err *err);

#endif /* CAIRN_FORMATS_PPROF_WRITE_H */
