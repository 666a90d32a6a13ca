/* SPDX-License-Identifier: MIT */
/* Does qemu-user run the test, as tests/meson.build says? It has no other processes, takes `/` for
 * its own folder of libraries, and accepts calls that it does not carry out. A test that needs
 * these runs in guest/arm64, on a kernel. */
#ifndef CAIRN_TESTS_EMULATED_H
#define CAIRN_TESTS_EMULATED_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

/* `what` qemu-user lacks is printed. */
static inline bool is_emulated(const char *what)
{
    if (!getenv("CAIRN_EMULATED"))
        return false;
    printf("skipped: qemu-user: %s (guest/arm64 runs it)\n", what);
    return true;
}

#endif /* CAIRN_TESTS_EMULATED_H */
