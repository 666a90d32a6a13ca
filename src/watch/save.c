/* SPDX-License-Identifier: MIT */
#include "base/error.h"
#include "base/zip.h"
#include "watch/heap.h"

enum { LEVEL = 1 }; /* most of it are zeros, and addresses near each other */

/* A gzip member for each state: members one behind another are one file. */
int cairn_heap_save(const struct cairn_heap *heap, cairn_write_fn write, void *ctx,
                    struct cairn_err *err)
{
    for (size_t i = 0; i < heap->n; i++) {
        struct cairn_buffer zipped = {0};
        int result = cairn_zip_gzip(heap->states[i].view.bytes, LEVEL, &zipped, err);
        if (result == CAIRN_OK && write(ctx, zipped.data, zipped.size) != 0)
            result = cairn_fail(err, CAIRN_E_IO, "the heap states could not be written");
        cairn_buffer_done(&zipped);
        if (result < 0)
            return result;
    }
    return CAIRN_OK;
}
