/* SPDX-License-Identifier: MIT */
/*
 * Absent: the functions of <memory_tracker.h> where the tracker is not: in libcairn, so that a
 * program can be built once and run with libcairn-heap.so preloaded or without. Each asks whether
 * there is one now.
 */
#include <errno.h>
#include <stdatomic.h>

#include "heap/tracker.h"
#include "unwind/loader.h"

/* NULL: there is none. One that was found is never unloaded: it is libcairn-heap's. */
static const struct cairn_tracker *tracker(void)
{
    static const struct cairn_tracker *_Atomic found;
    const struct cairn_tracker *tracker = atomic_load(&found);
    if (tracker)
        return tracker;
    uintptr_t va = cairn_loader_next("cairn_tracker");
    tracker = va ? ((const struct cairn_tracker *(*)(void))va)() : NULL;
    if (tracker && tracker->size < sizeof(*tracker))
        tracker = NULL;
    atomic_store(&found, tracker);
    return tracker;
}

CAIRN_API const char *memory_tracker_strerror(int code)
{
    return cairn_tracker_text(code);
}

CAIRN_API int memory_tracker_init(bool debug, bool enable_backtrace)
{
    const struct cairn_tracker *t = tracker();
    return t ? t->init(debug, enable_backtrace) : MEMORY_TRACKER_E_NOT_LIVE;
}

CAIRN_API void memory_tracker_set_backtrace_enabled(bool enabled)
{
    const struct cairn_tracker *t = tracker();
    if (t)
        t->set_backtrace_enabled(enabled);
}

CAIRN_API bool memory_tracker_is_backtrace_enabled(void)
{
    const struct cairn_tracker *t = tracker();
    return t && t->is_backtrace_enabled();
}

CAIRN_API int memory_tracker_set_depth(unsigned depth)
{
    const struct cairn_tracker *t = tracker();
    return t ? t->set_depth(depth) : MEMORY_TRACKER_E_NOT_LIVE;
}

CAIRN_API int memory_tracker_hook(const char *const *libraries, size_t n)
{
    const struct cairn_tracker *t = tracker();
    return t ? t->hook(libraries, n) : MEMORY_TRACKER_E_NOT_LIVE;
}

CAIRN_API int memory_tracker_unhook(const char *const *libraries, size_t n)
{
    const struct cairn_tracker *t = tracker();
    return t ? t->unhook(libraries, n) : MEMORY_TRACKER_E_NOT_LIVE;
}

CAIRN_API int memory_tracker_get_stats(struct memory_stats *ret_stats)
{
    const struct cairn_tracker *t = tracker();
    return t ? t->get_stats(ret_stats) : MEMORY_TRACKER_E_NOT_LIVE;
}

CAIRN_API void memory_tracker_reset_stats(void)
{
    const struct cairn_tracker *t = tracker();
    if (t)
        t->reset_stats();
}

CAIRN_API char *memory_tracker_get_leak_report(void)
{
    const struct cairn_tracker *t = tracker();
    if (!t)
        errno = ENOTSUP;
    return t ? t->get_leak_report() : NULL;
}

CAIRN_API char *memory_tracker_get_leaks_json(void)
{
    const struct cairn_tracker *t = tracker();
    if (!t)
        errno = ENOTSUP;
    return t ? t->get_leaks_json() : NULL;
}

CAIRN_API int memory_tracker_mark(void)
{
    const struct cairn_tracker *t = tracker();
    return t ? t->mark() : MEMORY_TRACKER_E_NOT_LIVE;
}

CAIRN_API char *memory_tracker_get_leak_report_since(int mark)
{
    const struct cairn_tracker *t = tracker();
    if (!t)
        errno = ENOTSUP;
    return t ? t->get_leak_report_since(mark) : NULL;
}

CAIRN_API char *memory_tracker_get_leaks_json_since(int mark)
{
    const struct cairn_tracker *t = tracker();
    if (!t)
        errno = ENOTSUP;
    return t ? t->get_leaks_json_since(mark) : NULL;
}

CAIRN_API char *memory_tracker_get_lost_report(void)
{
    const struct cairn_tracker *t = tracker();
    if (!t)
        errno = ENOTSUP;
    return t ? t->get_lost_report() : NULL;
}

CAIRN_API char *memory_tracker_get_lost_json(void)
{
    const struct cairn_tracker *t = tracker();
    if (!t)
        errno = ENOTSUP;
    return t ? t->get_lost_json() : NULL;
}

CAIRN_API int memory_tracker_dump_leak_report(const char *path)
{
    const struct cairn_tracker *t = tracker();
    return t ? t->dump_leak_report(path) : MEMORY_TRACKER_E_NOT_LIVE;
}
