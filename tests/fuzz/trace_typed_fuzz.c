/* SPDX-License-Identifier: MIT */
/* The types of arguments behind an event: text in, an event and kinds of arguments out. */
#include <stdlib.h>

#include "bpf/trace.h"
#include "trace/typed.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data;
    const size_t cut = size ? cairn_typed_cut(text, size) : 0;
    struct cairn_syscall calls[] = {{.name = "f", .n_args = -1},
                                    {.name = "p", .n_args = 9, .has_own_args = true}};
    bool no_arg;
    if (cut > size)
        abort();
    for (size_t i = 0; cut < size && i < 2; i++)
        if (cairn_typed_read(text + cut + 1, size - cut - 1, &calls[i], &no_arg, NULL) == 0 &&
            (calls[i].n_args > (i ? 9 : CAIRN_TRACE_ARGS) || no_arg))
            abort();
    return 0;
}
