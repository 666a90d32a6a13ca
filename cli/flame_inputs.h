/* SPDX-License-Identifier: MIT */
/* Inputs: the profiles that `cairn flame` draws as one, and the one that they are compared with. */
#ifndef CAIRN_CLI_FLAME_INPUTS_H
#define CAIRN_CLI_FLAME_INPUTS_H

#include <cairn/profile.h>

#include "base/buffer.h"
#include "cli/profiles.h"

/* As one; of several, each sample has the label `input`, the name of the file that it is of.
 * `paths` ends with NULL, "-" is stdin and may stand there once. */
int cli_flame_read(char *const *paths, const struct cli_reading *reading,
                   struct cairn_profile **ret_profile, struct cairn_err *err);

/* The name of a file without its folder; "stdin". */
const char *cli_flame_name(const char *path);

/* How far a profile may be trusted, in one line: `told` where that is not empty, what the recorder
 * said, unless it was `joined` out of several, or what can be seen. */
void cli_flame_describe(const struct cairn_profile *profile, bool joined, const char *told,
                        struct cairn_buffer *b);

/* As cli_find_value(). Where `type` is NULL, a heap's value is peak_space: a program that freed all
 * has no live bytes at its end. */
int cli_flame_find_value(const struct cairn_profile *profile, const char *path, const char *type,
                         size_t *ret_number, struct cairn_err *err);

/* Says what the picture in SVG has no place for. */
void cli_flame_say_left_out(const struct cairn_profile *profile, const char *output);

#endif /* CAIRN_CLI_FLAME_INPUTS_H */
