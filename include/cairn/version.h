/* SPDX-License-Identifier: MIT */
#ifndef CAIRN_VERSION_H
#define CAIRN_VERSION_H

#include <cairn/api.h>

#define CAIRN_VERSION_MAJOR 0
#define CAIRN_VERSION_MINOR 1
#define CAIRN_VERSION_PATCH 0

#ifdef __cplusplus
extern "C" {
#endif

/* "0.1.0", of the library that is running. Static text. */
CAIRN_API const char *cairn_version(void);

/* What this build can do, words with a blank between: "zlib zstd xz libiberty perf_event ptrace".
 * Static text. */
CAIRN_API const char *cairn_features(void);

/* What it was built for: "x86_64-linux-gnu". Static text. */
CAIRN_API const char *cairn_target(void);

#ifdef __cplusplus
}
#endif
#endif /* CAIRN_VERSION_H */
