/* SPDX-License-Identifier: MIT */
#ifndef CAIRN_BASE_LOG_H
#define CAIRN_BASE_LOG_H

#include <stdbool.h>

#include <cairn/error.h>
#include <cairn/log.h>

/* Is anyone listening at this level? For callers whose text costs something to make. */
bool cairn_log_wants(enum cairn_log_level level);

/* Formats one line and hands it to the sink; bytes that could fool a terminal are escaped here. */
__attribute__((format(printf, 2, 3))) void cairn_log(enum cairn_log_level level, const char *fmt,
                                                     ...);

/* An error that loses a part but not the run: "message (hint)" as a warning. */
void cairn_log_err(enum cairn_log_level level, const struct cairn_err *err);

/* Damage in `who`, of which `why` tells, costs what it damaged and no more: it is logged, and the
 * answer is CAIRN_OK. CAIRN_E_NOMEM stays what it is, in `err`. */
int cairn_bear(const char *who, int code, struct cairn_err *why, struct cairn_err *err);

#endif /* CAIRN_BASE_LOG_H */
