/* SPDX-License-Identifier: MIT */
/* The one record that a running thread's sample is read from. */
#include <stdlib.h>

#include "snapshot/sampled.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct cairn_sampled sampled;
    if (!cairn_sampled_read((struct cairn_span){data, size}, &sampled))
        return 0;
    if (sampled.n_kernel > CAIRN_SAMPLED_KERNEL_MAX || sampled.stack.size > size)
        abort();
    for (size_t i = 0; i < sampled.stack.size; i++)
        if (sampled.stack.data + i >= data + size)
            abort();
    return 0;
}
