/* SPDX-License-Identifier: MIT */
/* Which frames the roots on stacks are in: threads are walked a moment after they were read,
 * without a stop. A frame has the bytes from its stack pointer up to its caller's. */
#include <cairn/snapshot.h>

#include "base/error.h"
#include "base/log.h"
#include "watch/holds.h"

static bool has_stack_root(const struct cairn_heap_holds *h)
{
    for (size_t i = 0; i < h->n_paths; i++)
        if (h->paths[i].root == CAIRN_HEAP_ROOT_STACK && h->paths[i].tid)
            return true;
    return false;
}

/* A stack of one frame, copied from another profile. UINT32_MAX: memory is gone. */
static uint32_t copy_frame(struct cairn_profile *to, const struct cairn_profile *from,
                           uint32_t number)
{
    const struct cairn_profile_frame *frame = &from->frames[number];
    const struct cairn_profile_module *of = &from->modules[frame->module];
    const char *path = cairn_strings_get(&from->strings, of->path);
    const char *id = cairn_strings_get(&from->strings, of->build_id);
    struct cairn_profile_module module = {.start = of->start, .end = of->end, .off = of->off};
    struct cairn_profile_frame copy = {
        .address = frame->address, .how = frame->how, .what = frame->what};
    module.path = cairn_profile_text(to, path, strlen(path));
    module.build_id = cairn_profile_text(to, id, strlen(id));
    if (module.path == UINT32_MAX || module.build_id == UINT32_MAX)
        return UINT32_MAX;
    copy.module = frame->module ? cairn_profile_add_module(to, &module) : CAIRN_PROFILE_NO_MODULE;
    if (copy.module == UINT32_MAX)
        return UINT32_MAX;
    uint32_t added = cairn_profile_add_frame(to, &copy, NULL, 0);
    struct cairn_profile_marker marker = {
        .stack = added == UINT32_MAX ? added : cairn_profile_add_stack(to, 0, added)};
    /* Only what a sample or a marker has is named; and a marker is in no sum. */
    return marker.stack == UINT32_MAX || cairn_profile_add_marker(to, &marker) == UINT32_MAX
               ? UINT32_MAX
               : marker.stack;
}

/* 0: the walk did not come so far. */
static uint32_t frame_at(struct cairn_snapshot *snapshot, size_t thread, uint32_t n, uint64_t va)
{
    struct cairn_snapshot_frame frame = {.size = sizeof frame};
    uint32_t best = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (cairn_snapshot_frame(snapshot, thread, i, &frame) < 0 || frame.is_kernel ||
            frame.is_guest)
            continue;
        if (best && frame.sp > va)
            return best;
        best = frame.frame;
    }
    return 0;
}

static bool find_frame(struct cairn_heap_holds *h, struct cairn_snapshot *snapshot,
                       struct cairn_holds_path *path)
{
    struct cairn_snapshot_thread thread = {.size = sizeof thread};
    for (size_t i = 0; i < cairn_snapshot_threads(snapshot); i++) {
        if (cairn_snapshot_thread(snapshot, i, &thread) < 0 || thread.tid != path->tid)
            continue;
        uint32_t frame = frame_at(snapshot, i, thread.n_frames, path->va);
        if (frame)
            path->stack = copy_frame(h->profile, cairn_snapshot_profile(snapshot), frame);
        return path->stack != UINT32_MAX;
    }
    return true;
}

int cairn_holds_find_frames(struct cairn_heap_holds *holds, struct cairn_err *err)
{
    const struct cairn_snapshot_opts opts = {.size = sizeof opts,
                                             .pid = holds->core ? 0 : holds->search.pid,
                                             .core = holds->core ? holds->opts.core : NULL,
                                             .no_stop = 1,
                                             .user_only = 1,
                                             .no_guests = 1};
    struct cairn_snapshot *snapshot = NULL;
    struct cairn_err why;
    if (!has_stack_root(holds))
        return CAIRN_OK;
    int code = cairn_snapshot_new(&opts, &snapshot, &why);
    if (code == CAIRN_OK)
        code = cairn_snapshot_take(snapshot, &why);
    if (code < 0 && code != CAIRN_E_NOMEM) {
        cairn_log_err(CAIRN_LOG_INFO, &why); /* the thread is reported without its frame */
        code = CAIRN_OK;
    } else {
        for (size_t i = 0; code == CAIRN_OK && i < holds->n_paths; i++)
            if (holds->paths[i].root == CAIRN_HEAP_ROOT_STACK && holds->paths[i].tid &&
                !find_frame(holds, snapshot, &holds->paths[i]))
                code = CAIRN_E_NOMEM;
    }
    cairn_snapshot_free(snapshot);
    return code < 0 ? cairn_fail_memory(err) : CAIRN_OK;
}
