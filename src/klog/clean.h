/* SPDX-License-Identifier: MIT */
/* Clean: a line without what consoles put into it: NUL bytes, carriage returns, ANSI colours. */
#ifndef CAIRN_KLOG_CLEAN_H
#define CAIRN_KLOG_CLEAN_H

#include "base/buffer.h"

/* Puts the rest of the line into `clean`, which is emptied first. False: memory is gone. */
bool cairn_klog_clean(struct cairn_span line, struct cairn_buffer *clean);

/* Has it a carriage return that is not its end? */
bool cairn_klog_has_inner_cr(struct cairn_span line);

#endif /* CAIRN_KLOG_CLEAN_H */
