/* SPDX-License-Identifier: MIT */
#include "klog/printed.h"

#include <string.h>

#include "base/alloc.h"

void cairn_klog_printed_done(struct cairn_klog_printed *printed)
{
    for (size_t i = 0; i < CAIRN_KLOG_PRINTED_MAX && printed->dumps; i++)
        cairn_free(printed->dumps[i].frames);
    cairn_free(printed->dumps);
    printed->dumps = NULL;
}

void cairn_klog_printed_keep(struct cairn_klog_printed *printed, uint64_t key,
                             const struct cairn_klog_dump *dump)
{
    if (!printed->dumps)
        printed->dumps = cairn_alloc(CAIRN_KLOG_PRINTED_MAX, sizeof *printed->dumps);
    if (!printed->dumps)
        return;
    struct cairn_klog_printed_dump *kept = &printed->dumps[dump->printed % CAIRN_KLOG_PRINTED_MAX];
    kept->dump = (struct cairn_klog_dump){0};
    if (!dump->n_frames || dump->n_frames > CAIRN_KLOG_PRINTED_FRAMES_MAX ||
        cairn_grow((void **)&kept->frames, &kept->cap, dump->n_frames, sizeof *kept->frames) < 0)
        return;
    memcpy(kept->frames, dump->frames, dump->n_frames * sizeof *kept->frames);
    kept->dump = *dump;
    kept->key = key;
}

void cairn_klog_printed_find(const struct cairn_klog_printed *printed, uint64_t key,
                             struct cairn_klog_dump *dump)
{
    if (!printed->dumps)
        return;
    const struct cairn_klog_printed_dump *kept =
        &printed->dumps[dump->same_as % CAIRN_KLOG_PRINTED_MAX];
    const struct cairn_klog_dump *same = &kept->dump;
    if (!same->n_frames || kept->key != key || same->printed != dump->same_as ||
        same->boot != dump->boot)
        return;
    dump->frames = kept->frames;
    dump->n_frames = same->n_frames;
    dump->has_user = same->has_user;
    dump->is_user_supported = same->is_user_supported;
    dump->no_user = same->no_user;
    dump->is_cut_short = same->is_cut_short;
}
