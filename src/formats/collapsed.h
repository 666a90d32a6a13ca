/* SPDX-License-Identifier: MIT */
/* The writer of collapsed stacks, for the row of the format that stands with the reader. */
#ifndef CAIRN_FORMATS_COLLAPSED_H
#define CAIRN_FORMATS_COLLAPSED_H

#include <cairn/profile.h>

int cairn_collapsed_write(const struct cairn_profile *profile, cairn_write_fn write, void *ctx,
                          struct cairn_err *err);

#endif /* CAIRN_FORMATS_COLLAPSED_H */
