/* SPDX-License-Identifier: MIT */
/* Sampler options: what a caller asks for, held against what there is. */
#ifndef CAIRN_SAMPLE_SAMPLER_OPTS_H
#define CAIRN_SAMPLE_SAMPLER_OPTS_H

#include <cairn/sampler.h>

/* A copy with the defaults filled in; fields that an older caller does not know are zero.
 * CAIRN_E_ARG: they make no sense. */
int cairn_sampler_take_opts(const struct cairn_sampler_opts *given,
                            struct cairn_sampler_opts *ret_opts, struct cairn_err *err);

#endif /* CAIRN_SAMPLE_SAMPLER_OPTS_H */
