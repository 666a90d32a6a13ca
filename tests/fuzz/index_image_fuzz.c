/* SPDX-License-Identifier: MIT */
/* The image of an index, as it comes out of a cache: opened, as it is and with the sum of its head
 * made right, then asked for addresses all over it. */
#include "base/alloc.h"
#include "symbol/frames.h"
#include "symbol/index_image.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t sink; /* what is read must be used, or the compiler reads nothing */

static size_t length(const char *text)
{
    return text ? strlen(text) : 0;
}

static void look_up(struct cairn_frames_request *request, struct cairn_frames *frames)
{
    if (cairn_frames_find(request, frames, NULL) < 0)
        return;
    if (frames->n > CAIRN_FRAMES_MAX)
        __builtin_trap();
    for (size_t i = 0; i < frames->n; i++) {
        const struct cairn_symbol_frame *f = &frames->frames[i];
        sink += length(f->function) + length(f->linkage) + length(f->file) + length(f->suffix);
    }
}

static void ask(struct cairn_span image)
{
    static struct cairn_module module;
    struct cairn_index index;
    struct cairn_demangler demangler = {.names = CAIRN_NAMES_FULL};
    struct cairn_frames frames = {0};
    if (cairn_index_open(image, &index, NULL) < 0)
        return;
    module.index = &index;
    struct cairn_frames_request request = {.module = &module, .demangler = &demangler};
    for (int no_inlines = 0; no_inlines < 2; no_inlines++) {
        request.no_inlines = no_inlines;
        for (uint64_t at = 0; at < 0x400; at += 7) {
            request.vaddr = index.base + at;
            look_up(&request, &frames);
            request.vaddr = index.symbol_base + at;
            look_up(&request, &frames);
        }
    }
    module.index = NULL;
    cairn_frames_done(&frames);
    cairn_index_done(&index);
    cairn_demangler_done(&demangler);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ask((struct cairn_span){data, size});
    uint8_t *sealed = cairn_alloc(size, 1);
    if (!sealed)
        return 0;
    if (size)
        memcpy(sealed, data, size);
    cairn_index_seal(sealed, size);
    ask((struct cairn_span){sealed, size});
    cairn_free(sealed);
    return 0;
}
