/* SPDX-License-Identifier: MIT */
/* What a profile holds, as text for people. */
#ifndef CAIRN_CLI_CONVERT_INFO_H
#define CAIRN_CLI_CONVERT_INFO_H

#include <cairn/profile.h>

#include "base/buffer.h"

/* Comments, values, modules with their build IDs, and the quality line. */
int cli_convert_info_add(struct cairn_buffer *out, const struct cairn_profile *profile,
                         struct cairn_err *err);

#endif /* CAIRN_CLI_CONVERT_INFO_H */
