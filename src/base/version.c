/* SPDX-License-Identifier: MIT */
#include <features.h>

#include <cairn/version.h>

#define TEXT_OF(x)  #x
#define VALUE_OF(x) TEXT_OF(x)

#if defined(__x86_64__)
#define MACHINE "x86_64"
#elif defined(__aarch64__)
#define MACHINE "aarch64"
#elif defined(__arm__)
#define MACHINE "arm"
#else
#define MACHINE "unknown"
#endif

/* musl defines no macro of its own, on purpose; what is neither glibc nor bionic is musl to us. */
#if defined(__ANDROID__)
#define C_LIBRARY "android"
#elif defined(__GLIBC__)
#define C_LIBRARY "gnu"
#else
#define C_LIBRARY "musl"
#endif

const char *cairn_version(void)
{
    return VALUE_OF(CAIRN_VERSION_MAJOR) "." VALUE_OF(CAIRN_VERSION_MINOR) "." VALUE_OF(
        CAIRN_VERSION_PATCH);
}

const char *cairn_features(void)
{
    return "zlib zstd xz libiberty perf_event ptrace";
}

const char *cairn_target(void)
{
    return MACHINE "-linux-" C_LIBRARY;
}
