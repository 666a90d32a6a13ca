/* SPDX-License-Identifier: MIT */
/*
 * A process as the space of a cursor. Its memory is read by pages, which are read anew for each
 * cursor.
 */
#include "target/pid.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/foreign.h"
#include "base/log.h"
#include "guest/sketch.h"
#include "proc/mapped_file.h"
#include "proc/mem.h"
#include "proc/present.h"
#include "proc/process.h"
#include "proc/ptrace.h"
#include "proc/threads.h"
#include "target/pages.h"
#include "target/regs.h"
#include "target/target.h"
#include "unwind/space.h"

enum { PAGE = CAIRN_PAGE, HELD_MAX = 1 << 16 };

struct held {
    int tid;
    struct cairn_tracer *tracer;
};

struct pid_target {
    struct cairn_target target; /* first: the accessors cast */
    int pid;
    struct cairn_mem mem;
    struct held *held;
    size_t n_held, cap_held;
    bool asked_again; /* the maps were read for this cursor already */
    struct cairn_target_copy *copy;
    struct cairn_pages pages;
    struct cairn_present *present; /* while data is searched; else NULL */
};

static struct pid_target *of(void *ctx)
{
    return ctx;
}

/* Why a page that was only hoped for is not to be read is no answer to what was asked. */
static size_t read_pages(void *ctx, uint64_t va, uint8_t *to, size_t n, size_t asked)
{
    struct pid_target *p = of(ctx);
    struct cairn_unread *unread = &p->mem.unread;
    const char *why = unread->why;
    const uint64_t why_va = unread->why_va;
    size_t got = cairn_mem_read(&p->mem, va, to, n * PAGE) / PAGE;
    if (got || asked) {
        unread->why = why;
        unread->why_va = why_va;
    }
    return got;
}

static bool read_memory(void *ctx, uint64_t va, void *to, size_t size)
{
    struct pid_target *p = of(ctx);
    if (size > PAGE)
        return cairn_mem_read(&p->mem, va, to, size) == size;
    for (size_t done = 0, part; done < size; done += part) {
        part = PAGE - (size_t)((va + done) % PAGE);
        if (part > size - done)
            part = size - done;
        if (!cairn_pages_read(&p->pages, va + done, (uint8_t *)to + done, part))
            return false;
    }
    return true;
}

/* Where in the copy's bytes the one at `va` lies; SIZE_MAX: its page is not there. */
static size_t copied_at(const struct cairn_target_copy *copy, uint64_t va)
{
    uint64_t page = va / CAIRN_COPY_PAGE - copy->va / CAIRN_COPY_PAGE;
    if (va < copy->va)
        return SIZE_MAX;
    if (!copy->pages)
        return (size_t)(va - copy->va);
    if (page >= 64 || !(copy->pages >> page & 1))
        return SIZE_MAX;
    if (page == 0)
        return (size_t)(va - copy->va);
    uint64_t below = copy->pages & ((1ull << page) - 1);
    size_t n_below = (size_t)__builtin_popcountll(below);
    size_t missing = below & 1 ? copy->va % CAIRN_COPY_PAGE : 0; /* of the first page */
    return n_below * CAIRN_COPY_PAGE - missing + va % CAIRN_COPY_PAGE;
}

/* Of the pieces that begin in [from, end) the first that has the byte at `va`: what it has from
 * there on. Empty: there is none, or the bytes end. */
static struct cairn_span find_piece(struct cairn_target_pieces *pieces, size_t from, size_t end,
                                    uint64_t va)
{
    struct cairn_guest_piece piece;
    struct cairn_span bytes;
    for (size_t at = from; at < end; at += sizeof piece + (size_t)piece.size) {
        if (!cairn_span_slice(pieces->bytes, at, sizeof piece, &bytes))
            break;
        memcpy(&piece, bytes.data, sizeof piece);
        if (!cairn_span_slice(pieces->bytes, at + sizeof piece, piece.size, &bytes))
            break;
        if (va < piece.va || va - piece.va >= piece.size)
            continue;
        pieces->at = at;
        return (struct cairn_span){bytes.data + (va - piece.va),
                                   (size_t)(piece.size - (va - piece.va))};
    }
    return (struct cairn_span){0};
}

static bool read_pieces(struct cairn_target_pieces *pieces, uint64_t va, void *to, size_t size)
{
    for (size_t done = 0; done < size;) {
        size_t at = pieces->at;
        struct cairn_span bytes = find_piece(pieces, at, pieces->bytes.size, va + done);
        if (!bytes.size)
            bytes = find_piece(pieces, 0, at, va + done);
        if (!bytes.size)
            return false;
        size_t n = bytes.size < size - done ? bytes.size : size - done;
        memcpy((uint8_t *)to + done, bytes.data, n);
        done += n;
    }
    return true;
}

static bool read_stack(const struct cairn_target_copy *copy, uint64_t va, void *to, size_t size)
{
    struct cairn_span bytes;
    uint8_t *out = to;
    while (size > 0) {
        size_t left = CAIRN_COPY_PAGE - va % CAIRN_COPY_PAGE, n = size < left ? size : left;
        size_t at = copied_at(copy, va);
        if (at == SIZE_MAX || !cairn_span_slice(copy->bytes, at, n, &bytes))
            return false;
        memcpy(out, bytes.data, n);
        out += n;
        va += n;
        size -= n;
    }
    return true;
}

bool cairn_target_copy_read(const struct cairn_target_copy *copy, uint64_t va, void *to,
                            size_t size)
{
    return read_stack(copy, va, to, size) ||
           (copy->pieces && read_pieces(copy->pieces, va, to, size));
}

/* With a copy: what may have been written since is not for the walk. */
static int accessor_read(void *ctx, uint64_t va, void *to, size_t size)
{
    struct pid_target *p = of(ctx);
    if (!p->copy)
        return !read_memory(ctx, va, to, size);
    if (cairn_target_copy_read(p->copy, va, to, size))
        return 0;
    const struct cairn_target_map *map = cairn_target_find_map(&p->target, va);
    if (map && !(map->flags & CAIRN_MAP_WRITE))
        return !read_memory(ctx, va, to, size);
    p->copy->missed = true;
    (void)cairn_unread_clip(&p->mem.unread, va, 1); /* it may be known why */
    return 1;
}

void cairn_target_pid_copy(struct cairn_unwind_space *space, struct cairn_target_copy *copy)
{
    of(space->accessors.ctx)->copy = copy;
}

struct cairn_mem *cairn_target_pid_mem(struct cairn_unwind_space *space)
{
    return &of(space->accessors.ctx)->mem;
}

/* The second time it adds what is new: what is known stays, for cursors use it. */
static int read_maps(struct pid_target *p, struct cairn_err *err)
{
    struct cairn_maps *maps;
    int code = cairn_maps_read_pid(p->pid, &maps, err);
    if (code < 0)
        return code;
    cairn_unread_add_maps(&p->mem.unread, p->pid, maps);
    code = cairn_target_add_maps(&p->target, maps, err);
    cairn_target_sort(&p->target);
    cairn_maps_free(maps);
    return code;
}

static int accessor_find(void *ctx, uint64_t va, struct cairn_unwind_region *ret_region)
{
    struct pid_target *p = of(ctx);
    if (cairn_target_find(&p->target, va, ret_region) == 0)
        return 0;
    if (p->asked_again)
        return 1;
    p->asked_again = true;
    (void)read_maps(p, NULL);
    return cairn_target_find(&p->target, va, ret_region);
}

static bool next_code(void *ctx, uint64_t va, uint64_t *ret_va)
{
    const struct pid_target *t = ctx;
    return cairn_target_next_code(&t->target, va, ret_va);
}

static bool next_data(void *ctx, uint64_t va, uint64_t *ret_from, uint64_t *ret_to)
{
    struct pid_target *p = of(ctx);
    const struct cairn_target_map *map;
    if (!p->present) {
        p->present = cairn_alloc(1, sizeof *p->present);
        if (!p->present)
            return false;
        cairn_present_open(p->pid, p->present);
    }
    if (!va)
        p->present->n = 0; /* a new search */
    for (; (map = cairn_target_next_heap(&p->target, va)); va = map->end)
        if (cairn_present_next(p->present, va > map->start ? va : map->start, map->end,
                               CAIRN_SPACE_DATA_MAX, ret_from, ret_to))
            return true;
    cairn_present_close(p->present);
    cairn_free(p->present);
    p->present = NULL;
    return false;
}

static void begin(void *ctx)
{
    struct pid_target *p = of(ctx);
    p->asked_again = false;
    p->mem.unread.why = NULL;
    cairn_pages_forget(&p->pages);
}

static void refresh(void *ctx)
{
    struct pid_target *p = of(ctx);
    cairn_target_forget(&p->target);
    cairn_unread_forget(&p->mem.unread);
    (void)read_maps(p, NULL);
    begin(p);
}

/* A mapping whose file is searched. */
struct wanted {
    struct cairn_target *target;
    const struct cairn_target_map *map;
    const char *path;
    struct cairn_debugfile_found *found;
};

/* False: it is no regular file, not that one, or not for us to open. */
static bool open_link(void *ctx, enum cairn_mapped_by by, const char *link)
{
    const struct wanted *w = ctx;
    /* The program's link leads to whatever runs by now. */
    const uint64_t inode = by == CAIRN_MAPPED_BY_EXE ? w->map->inode : 0;
    const struct cairn_foreign_wish wish = {.path = link, .folder = -1, .inode = inode};
    struct cairn_err why;
    int fd;
    if (by == CAIRN_MAPPED_BY_EXE && !inode)
        return false;
    if (cairn_foreign_open(&wish, &fd, &why) < 0) {
        if (why.code == CAIRN_E_LIMIT)
            cairn_log_err(CAIRN_LOG_WARNING, &why);
        return false;
    }
    int code = cairn_debugfile_find_fd(w->target->finder, w->path, fd, w->found, NULL);
    close(fd);
    return cairn_debugfile_has_image(code, w->found);
}

static bool open_mapped(struct cairn_target *target, const struct cairn_target_map *map,
                        struct cairn_debugfile_found *ret_found)
{
    static const enum cairn_mapped_by order[] = {CAIRN_MAPPED_BY_LINK, CAIRN_MAPPED_BY_EXE,
                                                 CAIRN_MAPPED_BY_NONE};
    struct wanted w = {target, map, cairn_strings_get(&target->texts, map->path), ret_found};
    const struct cairn_mapped_file file = {of(target)->pid, map->start, map->end, w.path};
    return *w.path == '/' && cairn_mapped_find(&file, order, open_link, &w);
}

static int threads(void *ctx, int *ret_tids, size_t cap, size_t *ret_n, struct cairn_err *err)
{
    struct cairn_threads list = {0};
    int code = cairn_threads_read(of(ctx)->pid, &list, err);
    if (code < 0)
        return code;
    for (size_t i = 0; i < list.n && i < cap; i++)
        ret_tids[i] = list.tids[i];
    *ret_n = list.n;
    cairn_threads_done(&list);
    return CAIRN_OK;
}

static struct held *find_held(struct pid_target *p, int tid)
{
    for (size_t i = 0; i < p->n_held; i++)
        if (p->held[i].tid == tid)
            return &p->held[i];
    return NULL;
}

static bool is_traced_by_us(int tid)
{
    struct cairn_process_status status;
    return cairn_process_status(tid, &status, NULL) == CAIRN_OK && status.tracer_pid == gettid();
}

static int hold(void *ctx, int tid, int timeout_ms, struct cairn_err *err)
{
    struct pid_target *p = of(ctx);
    struct cairn_tracer *tracer;
    if (find_held(p, tid) || is_traced_by_us(tid))
        return CAIRN_OK;
    if (p->n_held == HELD_MAX)
        return cairn_fail(err, CAIRN_E_LIMIT, "more than %d threads are held", HELD_MAX);
    if (cairn_grow((void **)&p->held, &p->cap_held, p->n_held + 1, sizeof *p->held) < 0)
        return cairn_fail_memory(err);
    int code = cairn_tracer_new(tid, CAIRN_TRACER_ONE_THREAD, &tracer, err);
    if (code < 0)
        return code;
    code = cairn_tracer_stop(tracer, tid, timeout_ms, err);
    if (code < 0)
        cairn_tracer_free(tracer);
    else
        p->held[p->n_held++] = (struct held){.tid = tid, .tracer = tracer};
    return code;
}

static void release(void *ctx, int tid)
{
    struct pid_target *p = of(ctx);
    struct held *held = find_held(p, tid);
    if (!held)
        return;
    cairn_tracer_free(held->tracer);
    *held = p->held[--p->n_held];
}

/* Of a thread that the caller traces. */
static int read_regs(int tid, uint8_t raw[CAIRN_PRSTATUS_MAX], size_t *ret_size,
                     struct cairn_err *err)
{
    int os_errno = cairn_ptrace_prstatus(tid, raw, ret_size);
    if (os_errno == ESRCH) {
        cairn_fail(err, CAIRN_E_ARG, "thread %d: is not stopped by the calling thread", tid);
        cairn_hint(err, "call cairn_unwind_hold() first");
        return CAIRN_E_ARG;
    }
    return os_errno ? cairn_fail_os(err, os_errno, "thread %d: cannot read its registers", tid)
                    : CAIRN_OK;
}

static int regs(void *ctx, int tid, struct cairn_cursor_regs *ret_regs, struct cairn_err *err)
{
    const struct held *held = find_held(of(ctx), tid);
    uint8_t raw[CAIRN_PRSTATUS_MAX];
    size_t size = 0;
    int code = held ? cairn_tracer_prstatus(held->tracer, tid, raw, &size, err)
                    : read_regs(tid, raw, &size, err);
    if (code == CAIRN_OK && !cairn_target_regs((struct cairn_span){raw, size}, false, ret_regs))
        code = cairn_fail(err, CAIRN_E_SUPPORT,
                          "thread %d: %zu bytes of registers, of no CPU that is known here", tid,
                          size);
    return code;
}

static void done(void *ctx)
{
    struct pid_target *p = of(ctx);
    while (p->n_held)
        release(p, p->held[p->n_held - 1].tid);
    cairn_free(p->held);
    if (p->present)
        cairn_present_close(p->present);
    cairn_free(p->present);
    cairn_mem_close(&p->mem);
    cairn_target_done(&p->target);
    cairn_free(p);
}

static int open_parts(struct pid_target *p, const struct cairn_unwind_opts *opts,
                      struct cairn_err *err)
{
    char root[32];
    snprintf(root, sizeof root, "/proc/%d/root", p->pid);
    int code = cairn_mem_open(p->pid, &p->mem, err);
    if (code == CAIRN_OK)
        code = cairn_target_init(&p->target, opts, root, err);
    return code == CAIRN_OK ? read_maps(p, err) : code;
}

int cairn_unwind_space_open_pid(int pid, const struct cairn_unwind_opts *opts,
                                struct cairn_unwind_space **ret_space, struct cairn_err *err)
{
    static const struct cairn_space_kind kind = {
        .done = done,
        .next_code = next_code,
        .next_data = next_data,
        .refresh = refresh,
        .begin = begin,
        .threads = threads,
        .hold = hold,
        .release = release,
        .regs = regs,
    };
    struct pid_target *p = cairn_alloc(1, sizeof *p);
    if (!p)
        return cairn_fail_memory(err);
    p->pid = pid;
    p->mem.fd = -1;
    p->pages.read = read_pages;
    p->pages.ctx = p;
    cairn_pages_forget(&p->pages);
    p->target.memory = (struct cairn_memory){.read = read_memory, .ctx = p};
    p->target.open_mapped = open_mapped;
    const struct cairn_unwind_accessors accessors = {
        .size = sizeof accessors,
        .ctx = p,
        .read = accessor_read,
        .find = accessor_find,
    };
    int code = open_parts(p, opts, err);
    if (code == CAIRN_OK)
        code = cairn_space_make(&accessors, &kind, ret_space, err);
    if (code < 0)
        done(p);
    return code;
}
