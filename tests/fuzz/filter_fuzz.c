/* SPDX-License-Identifier: MIT */
/* A filter of system calls, as a process may have it: a call first, then instructions. */
#include <string.h>

#include "attach/filter.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { INSNS_MAX = 4096 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct sock_filter insns[INSNS_MAX];
    struct seccomp_data call;
    struct cairn_err err;
    uint32_t answer;
    if (size < sizeof call)
        return 0;
    memcpy(&call, data, sizeof call);
    size_t n = (size - sizeof call) / sizeof insns[0];
    n = n < INSNS_MAX ? n : INSNS_MAX;
    memcpy(insns, data + sizeof call, n * sizeof insns[0]);
    if (cairn_filter_run(insns, n, &call, &answer, &err) < 0) {
        if (!err.msg[0])
            __builtin_trap();
        return 0;
    }
    if (cairn_filter_stronger(answer, answer) != answer)
        __builtin_trap();
    return 0;
}
