/* SPDX-License-Identifier: MIT */
/* SHA-256 (FIPS 180-4, 6.2), to recognise a file that was carried elsewhere. */
#ifndef CAIRN_BASE_SHA256_H
#define CAIRN_BASE_SHA256_H

#include "base/span.h"

enum { CAIRN_SHA256_TEXT = 65 };

/* In hex, with a NUL. */
void cairn_sha256_text(struct cairn_span bytes, char ret_text[CAIRN_SHA256_TEXT]);

#endif /* CAIRN_BASE_SHA256_H */
