/* SPDX-License-Identifier: MIT */
/*
 * What the program asks the tracker in itself. In libcairn-heap alone; all that it does it does on
 * pages of its own, so that it is neither seen in what it reports nor waits for who allocates.
 */
#include "heap/memory_tracker.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cairn/log.h>

#include "heap/choice.h"
#include "heap/epoch.h"
#include "heap/handed.h"
#include "heap/real.h"
#include "heap/report.h"
#include "heap/start.h"
#include "heap/stats.h"
#include "heap/tracker.h"
#include "rt/pages.h"
#include "rt/sys.h"
#include "unwind/loader.h"
#include "unwind/unload.h"

enum { PATH_BYTES = 4096, PIECE_BYTES = 1 << 20 };

static struct {
    _Atomic(cairn_log_fn) sink;
    void *_Atomic sink_ctx;
    atomic_bool is_on;
} debug;

/* Where libcairn is in the process too, its messages go the same way. */
CAIRN_API void cairn_log_set(cairn_log_fn fn, void *ctx, enum cairn_log_level level)
{
    uintptr_t next = cairn_loader_next("cairn_log_set");
    atomic_store(&debug.sink, NULL);
    atomic_store(&debug.sink_ctx, ctx);
    atomic_store(&debug.sink, level >= CAIRN_LOG_INFO ? fn : NULL);
    if (next && next != (uintptr_t)cairn_log_set)
        ((void (*)(cairn_log_fn, void *, enum cairn_log_level))next)(fn, ctx, level);
}

/* "`text``what`": of a path or a number. */
void cairn_memory_tracker_say(const char *text, const char *what)
{
    struct cairn_heap_out out = {.fd = -1};
    cairn_log_fn sink = atomic_load(&debug.sink);
    if (!atomic_load(&debug.is_on))
        return;
    cairn_heap_out_str(&out, sink ? "heap tracker: " : "cairn: heap tracker: ");
    cairn_heap_out_name(&out, text, strlen(text));
    cairn_heap_out_name(&out, what, strlen(what));
    cairn_heap_out_bytes(&out, sink ? "" : "\n", 1);
    if (sink && !out.failed) {
        sink(atomic_load(&debug.sink_ctx), CAIRN_LOG_INFO, out.text.items);
    } else {
        out.fd = 2;
        cairn_heap_out_flush(&out);
    }
    cairn_heap_out_done(&out);
}

static int fail(const char *what, int code)
{
    cairn_memory_tracker_say(what, cairn_tracker_text(code));
    return code;
}

CAIRN_API const char *memory_tracker_strerror(int code)
{
    return cairn_tracker_text(code);
}

bool cairn_memory_tracker_is_loud(void)
{
    return atomic_load(&debug.is_on) && !atomic_load(&debug.sink);
}

CAIRN_THREAD_BLOCK_ACCESS struct cairn_tracked_heap *cairn_memory_tracker_heap(void)
{
    struct cairn_tracked_heap *heap = cairn_heap_present();
    if (!cairn_heap_is_asked() || heap)
        return cairn_heap_is_asked() ? heap : NULL;
    struct cairn_heap_own *own = cairn_heap_start_thread(&heap, cairn_heap_sp());
    if (own)
        cairn_heap_call_end(own);
    return heap;
}

static int why_not(void)
{
    return cairn_heap_is_asked() ? MEMORY_TRACKER_E_STATE : MEMORY_TRACKER_E_NOT_LIVE;
}

static void set_flag(struct cairn_tracked_heap *heap, bool on)
{
    if (on)
        atomic_fetch_or(&heap->state.header->flags, CAIRN_HEAP_STACKS_ON);
    else
        atomic_fetch_and(&heap->state.header->flags, ~(unsigned)CAIRN_HEAP_STACKS_ON);
    cairn_heap_next_turn(heap->state.header);
}

CAIRN_API int memory_tracker_init(bool debug_on, bool enable_backtrace)
{
    cairn_heap_make_ready();
    struct cairn_tracked_heap *heap = cairn_memory_tracker_heap();
    atomic_store(&debug.is_on, debug_on);
    if (!heap)
        return fail("init: ", why_not());
    set_flag(heap, enable_backtrace);
    cairn_memory_tracker_say("live, its state is in ", heap->state.file.path);
    cairn_memory_tracker_say("backtraces are ", enable_backtrace ? "on" : "off");
    return MEMORY_TRACKER_OK;
}

CAIRN_API void memory_tracker_set_backtrace_enabled(bool enabled)
{
    struct cairn_tracked_heap *heap = cairn_memory_tracker_heap();
    if (heap)
        set_flag(heap, enabled);
}

CAIRN_API bool memory_tracker_is_backtrace_enabled(void)
{
    const struct cairn_tracked_heap *heap = cairn_memory_tracker_heap();
    return heap && cairn_heap_state_has(&heap->state, CAIRN_HEAP_STACKS_ON);
}

/* What threads remember of their last stacks has the old depth: it is made void as if a module had
 * gone. */
CAIRN_API int memory_tracker_set_depth(unsigned depth)
{
    struct cairn_tracked_heap *heap = cairn_memory_tracker_heap();
    if (depth < 1 || depth > CAIRN_HEAP_FRAMES)
        return fail("set_depth: ", MEMORY_TRACKER_E_ARG);
    if (!heap)
        return fail("set_depth: ", why_not());
    atomic_store(&heap->settings.depth, depth);
    __atomic_store_n(&heap->state.header->depth, depth, __ATOMIC_RELAXED);
    cairn_unload_of(0);
    return MEMORY_TRACKER_OK;
}

CAIRN_API int memory_tracker_hook(const char *const *libraries, size_t n)
{
    const char *said = "";
    int code = cairn_heap_choose(libraries, n, &said);
    if (code != MEMORY_TRACKER_OK)
        return fail("hook: ", code);
    cairn_memory_tracker_say("hook: ", said);
    return MEMORY_TRACKER_OK;
}

CAIRN_API int memory_tracker_unhook(const char *const *libraries, size_t n)
{
    int code = cairn_heap_unchoose(libraries, n);
    return code == MEMORY_TRACKER_OK ? code : fail("unhook: ", code);
}

CAIRN_API int memory_tracker_get_stats(struct memory_stats *ret_stats)
{
    struct cairn_tracked_heap *heap = cairn_memory_tracker_heap();
    struct cairn_heap_stats stats;
    if (!ret_stats || !heap)
        return fail("get_stats: ", ret_stats ? why_not() : MEMORY_TRACKER_E_ARG);
    cairn_heap_stats(heap, &stats);
    *ret_stats = (struct memory_stats){stats.counts.n_allocs, stats.counts.alloc_bytes,
                                       stats.counts.n_frees,  stats.counts.free_bytes,
                                       stats.n_live,          stats.live_bytes,
                                       stats.peak_bytes};
    return MEMORY_TRACKER_OK;
}

CAIRN_API void memory_tracker_reset_stats(void)
{
    struct cairn_tracked_heap *heap = cairn_memory_tracker_heap();
    if (heap)
        cairn_heap_stats_reset(heap);
}

/* Of the blocks from epoch `since` on. */
static void report(struct cairn_tracked_heap *heap, enum cairn_heap_report_form form,
                   uint32_t since, struct cairn_heap_out *out)
{
    struct cairn_heap_stats stats;
    cairn_heap_stats(heap, &stats);
    cairn_heap_report(heap, form, &stats.counts, since, out);
}

/* Moves it piece by piece, so that it is there once and not twice. */
static void move_text(char *to, struct cairn_heap_out *out)
{
    char *from = out->text.items;
    size_t n = out->text.n;
    for (size_t at = 0; at < n; at += PIECE_BYTES) {
        memcpy(to + at, from + at, n - at < PIECE_BYTES ? n - at : PIECE_BYTES);
        if (n - at > PIECE_BYTES)
            cairn_pages_drop(from + at, PIECE_BYTES);
    }
    to[n] = 0;
}

char *cairn_memory_tracker_hand_over(struct cairn_heap_out *out)
{
    char *text = out->failed ? NULL : cairn_heap_real.malloc(out->text.n + 1);
    if (text) {
        move_text(text, out);
        cairn_heap_handed_put(text);
    }
    cairn_heap_out_done(out);
    if (!text)
        errno = ENOMEM;
    return text;
}

static char *hand_over(enum cairn_heap_report_form form, int mark)
{
    struct cairn_tracked_heap *heap = cairn_memory_tracker_heap();
    struct cairn_heap_out out = {.fd = -1};
    if (!heap) {
        errno = ENOTSUP;
        return NULL;
    }
    uint32_t since = mark > 0 ? cairn_heap_epoch_of_mark(heap, (uint32_t)mark) : 0;
    if (mark != 0 && since == 0) {
        errno = EINVAL;
        return NULL;
    }
    report(heap, form, since, &out);
    return cairn_memory_tracker_hand_over(&out);
}

CAIRN_API char *memory_tracker_get_leak_report(void)
{
    return hand_over(CAIRN_HEAP_REPORT_TEXT, 0);
}

CAIRN_API char *memory_tracker_get_leaks_json(void)
{
    return hand_over(CAIRN_HEAP_REPORT_JSON, 0);
}

CAIRN_API char *memory_tracker_get_leak_report_since(int mark)
{
    return hand_over(CAIRN_HEAP_REPORT_TEXT, mark);
}

CAIRN_API char *memory_tracker_get_leaks_json_since(int mark)
{
    return hand_over(CAIRN_HEAP_REPORT_JSON, mark);
}

/* A call of its own, for it takes locks that a handler which allocates would wait for. Within a
 * call, in such a handler, it fails. */
CAIRN_THREAD_BLOCK_ACCESS CAIRN_API int memory_tracker_mark(void)
{
    struct cairn_tracked_heap *heap = cairn_memory_tracker_heap();
    struct cairn_heap_own *own = heap ? cairn_heap_call_begin(&heap, cairn_heap_sp()) : NULL;
    uint32_t mark = own ? cairn_heap_epoch_mark(heap) : 0;
    if (own)
        cairn_heap_call_end(own);
    if (mark == 0)
        return fail("mark: ", heap ? MEMORY_TRACKER_E_STATE : why_not());
    return (int)mark;
}

static int write_report(struct cairn_tracked_heap *heap, int fd)
{
    struct cairn_heap_out out = {.fd = fd};
    report(heap, CAIRN_HEAP_REPORT_TEXT, 0, &out);
    cairn_heap_out_flush(&out);
    cairn_heap_out_done(&out);
    cairn_sys_close(fd);
    return out.failed;
}

/* "`path`.PID.new" */
static bool put_name(const char *path, char *ret_name)
{
    struct cairn_heap_out out = {.fd = -1};
    cairn_heap_out_str(&out, path);
    cairn_heap_out_str(&out, ".");
    cairn_heap_out_decimal(&out, (uint64_t)getpid());
    cairn_heap_out_bytes(&out, ".new", sizeof(".new"));
    bool fits = !out.failed && out.text.n <= PATH_BYTES;
    if (fits)
        memcpy(ret_name, out.text.items, out.text.n);
    cairn_heap_out_done(&out);
    return fits;
}

/* An errno; 0: done. */
static int replace(struct cairn_tracked_heap *heap, const char *path)
{
    char name[PATH_BYTES];
    if (!put_name(path, name))
        return ENAMETOOLONG;
    int fd = cairn_sys_open(name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0666);
    if (fd < 0)
        return -fd;
    int failed = write_report(heap, fd);
    if (failed == 0)
        failed = -cairn_sys_rename(name, path);
    if (failed)
        cairn_sys_unlink(name);
    return failed;
}

CAIRN_API int memory_tracker_dump_leak_report(const char *path)
{
    struct cairn_tracked_heap *heap = cairn_memory_tracker_heap();
    struct cairn_sys_stat found;
    int failed;
    if (!path || !*path || !heap)
        return fail("dump_leak_report: ", path && *path ? why_not() : MEMORY_TRACKER_E_ARG);
    if (cairn_sys_stat_path(path, &found) == 0 && !S_ISREG(found.mode)) {
        int fd = cairn_sys_open(path, O_WRONLY | O_TRUNC | O_NOCTTY, 0);
        failed = fd < 0 ? -fd : write_report(heap, fd);
    } else {
        failed = replace(heap, path);
    }
    if (failed == 0) {
        cairn_memory_tracker_say("a leak report is in ", path);
        return MEMORY_TRACKER_OK;
    }
    int code = failed == ENOMEM ? MEMORY_TRACKER_E_NOMEM : MEMORY_TRACKER_E_IO;
    fail("dump_leak_report: ", code);
    errno = failed;
    return code;
}

CAIRN_API const struct cairn_tracker *cairn_tracker(void)
{
    static const struct cairn_tracker tracker = {
        sizeof(tracker),
        memory_tracker_init,
        memory_tracker_set_backtrace_enabled,
        memory_tracker_is_backtrace_enabled,
        memory_tracker_set_depth,
        memory_tracker_hook,
        memory_tracker_unhook,
        memory_tracker_get_stats,
        memory_tracker_reset_stats,
        memory_tracker_get_leak_report,
        memory_tracker_get_leaks_json,
        memory_tracker_dump_leak_report,
        memory_tracker_mark,
        memory_tracker_get_leak_report_since,
        memory_tracker_get_leaks_json_since,
        memory_tracker_get_lost_report,
        memory_tracker_get_lost_json,
    };
    return &tracker;
}
