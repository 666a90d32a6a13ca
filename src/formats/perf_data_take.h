/* SPDX-License-Identifier: MIT */
/* Perf data take: samples whose turn has come, and the user sides that follow them. */
#ifndef CAIRN_FORMATS_PERF_DATA_TAKE_H
#define CAIRN_FORMATS_PERF_DATA_TAKE_H

#include "formats/perf_data.h"

int cairn_perf_data_take_sample(struct cairn_perf_data *d, struct cairn_span record,
                                struct cairn_err *err);

/* A CALLCHAIN_DEFERRED, between its header and its trailer: the user side of the samples with its
 * cookie. */
int cairn_perf_data_take_deferred(struct cairn_perf_data *d, struct cairn_reader *r,
                                  const struct cairn_perf_data_trailer *trailer,
                                  struct cairn_err *err);

#endif /* CAIRN_FORMATS_PERF_DATA_TAKE_H */
