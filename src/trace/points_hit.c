/* SPDX-License-Identifier: MIT */
/* Points: what is done with a record. */
#include <linux/elf-em.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/reader.h"
#include "proc/process.h"
#include "sample/labels.h"
#include "target/regs.h"
#include "trace/points.h"

enum {
    COMMON_BYTES = 8, /* of each record; `long id` is behind them */
    INT_80_BYTES = 2, /* cd 80 */
    NO_UID = -1,
    LOOK_MS = 20,       /* a user may change in a call that is not traced */
    SITES_MAX = 1 << 16 /* then all are looked at again: processes come and go without end */
};

static struct cairn_plain_pending *find_call(const struct cairn_points *points, uint32_t tid)
{
    uint32_t number;
    return cairn_table_find(&points->calls, tid, &number) ? points->pending[number - 1] : NULL;
}

/* The call that a thread is in is kept until the thread has ended, for its next one. */
static struct cairn_plain_pending *get_call(struct cairn_points *points, uint32_t tid)
{
    struct cairn_plain_pending *call = find_call(points, tid);
    if (call)
        return call;
    if (cairn_grow((void **)&points->pending, &points->cap_pending, points->n_pending + 1,
                   sizeof *points->pending) < 0)
        return NULL;
    call = cairn_alloc(1, sizeof *call);
    if (!call || cairn_table_set(&points->calls, tid, (uint32_t)points->n_pending + 1) < 0) {
        cairn_free(call);
        return NULL;
    }
    call->tid = tid;
    points->pending[points->n_pending++] = call;
    return call;
}

/* The last one takes its place. */
static void drop_call(struct cairn_points *points, uint32_t tid)
{
    uint32_t number;
    if (!cairn_table_find(&points->calls, tid, &number))
        return;
    struct cairn_plain_pending *gone = points->pending[number - 1];
    struct cairn_plain_pending *last = points->pending[--points->n_pending];
    if (gone != last) {
        points->pending[number - 1] = last;
        (void)cairn_table_set(&points->calls, last->tid, number);
    }
    cairn_table_remove(&points->calls, tid);
    cairn_free(gone);
}

/* The user, who is looked for again only a moment later: hits come by the thousand. */
static int look_at_user(struct cairn_points *points, uint32_t pid, uint64_t time_ns,
                        uint32_t *ret_uid)
{
    struct cairn_process_status status;
    const uint32_t now_ms = (uint32_t)(time_ns / 1000000);
    uint32_t looked_ms;
    if (!cairn_table_find(&points->uids, pid, ret_uid))
        *ret_uid = (uint32_t)NO_UID;
    if (cairn_table_find(&points->looks, pid, &looked_ms) && now_ms - looked_ms < LOOK_MS)
        return CAIRN_OK;
    if (cairn_process_status((int)pid, &status, NULL) == CAIRN_OK)
        *ret_uid = status.uid;
    if (cairn_table_set(&points->looks, pid, now_ms) < 0)
        return CAIRN_E_NOMEM;
    return cairn_table_set(&points->uids, pid, *ret_uid);
}

int cairn_points_meet(struct cairn_points *points, uint32_t pid)
{
    uint32_t uid;
    return look_at_user(points, pid, 0, &uid);
}

/* Name and user of the thread. */
static int look_at_owner(struct cairn_points *points, const struct cairn_perf_record *record,
                         struct cairn_plain_pending *call)
{
    struct cairn_collect *collect = &points->sampler->collect;
    const char *name = cairn_collect_thread_name(collect, (int)record->pid, (int)record->tid);
    memset(call->comm, 0, sizeof call->comm);
    memcpy(call->comm, name, strnlen(name, sizeof call->comm - 1));
    return look_at_user(points, record->pid, record->time_ns, &call->uid);
}

/* A 64-bit program, too, may call by int 0x80. Its instruction is there as long as the program. */
static bool is_int_80(struct cairn_points *points, const struct cairn_perf_record *record)
{
    uint8_t bytes[INT_80_BYTES] = {0};
    /* no two processes have the same one at an address */
    const uint64_t ip = record->regs.ip, key = record->pid * UINT64_C(0x9e3779b97f4a7c15) ^ ip;
    uint32_t known;
    if (record->regs.machine != EM_X86_64)
        return false;
    if (cairn_table_find(&points->sites, key, &known))
        return known;
    if (cairn_plain_read((int)record->tid, ip - INT_80_BYTES, bytes, sizeof bytes) < sizeof bytes)
        return false;
    known = bytes[0] == 0xcd && bytes[1] == 0x80;
    if (points->sites.n >= SITES_MAX) {
        cairn_table_done(&points->sites);
        points->sites = (struct cairn_table){0};
    }
    (void)cairn_table_set(&points->sites, key, known);
    return known;
}

static uint32_t row_of(struct cairn_points *points, const struct cairn_perf_record *record,
                       uint64_t number)
{
    const uint16_t machine = (uint16_t)record->regs.machine;
    if (number >= CAIRN_TRACE_NUMBERS)
        return CAIRN_PLAIN_NO_ROW;
    if (machine == EM_386 || machine == EM_ARM || is_int_80(points, record))
        number += CAIRN_TRACE_NUMBERS;
    return points->spec->calls[number].is_wanted ? (uint32_t)number : CAIRN_PLAIN_NO_ROW;
}

static int report(struct cairn_points *points, struct cairn_plain_pending *call)
{
    call->is_event = false;
    if (points->is_over)
        return CAIRN_OK;
    int code = points->on_event(points->event_ctx, call);
    points->is_over = code > 0;
    return code > 0 ? CAIRN_OK : code;
}

static struct cairn_plain_memory memory_of(const struct cairn_perf_record *record)
{
    return (struct cairn_plain_memory){
        .tid = (int)record->tid,
        .copy = {.va = cairn_target_sp(&record->regs), .bytes = record->stack},
        .is_running = true};
}

static int take_stack(struct cairn_points *points, const struct cairn_perf_record *record,
                      struct cairn_plain_pending *call)
{
    struct cairn_sampler *sampler = points->sampler;
    call->stack = (struct cairn_collected){.pid = (int)record->pid, .tid = (int)record->tid};
    if (points->no_stack)
        return CAIRN_OK;
    return cairn_perf_sampler_stack(&sampler->perf, &sampler->collect, record, &call->stack);
}

/* The event of a call or tracepoint, up to its stack. False in `*ret_holds`: it is filtered out. */
static int begin(struct cairn_points *points, const struct cairn_perf_record *record, uint32_t cpu,
                 uint32_t row, const struct cairn_stopped_call *of,
                 struct cairn_plain_pending *call, bool *ret_holds)
{
    const struct cairn_call_thread thread = {.pid = (int)record->pid, .tid = (int)record->tid};
    struct cairn_bpf_event *event = &call->event.event;
    int code = look_at_owner(points, record, call);
    if (code < 0)
        return code;
    points->n_seen++;
    cairn_plain_begin(call, &thread, of, row);
    event->start_ns = event->stack.time_ns = record->time_ns;
    event->cpu = cpu;
    *ret_holds = cairn_plain_holds(call, &points->spec->calls[row], false);
    points->n_filtered += !*ret_holds;
    call->has_regs = points->wants_regs && record->regs.known;
    if (call->has_regs)
        call->regs = record->regs;
    return *ret_holds ? take_stack(points, record, call) : CAIRN_OK;
}

static int on_enter(struct cairn_points *points, const struct cairn_perf_record *record,
                    uint32_t cpu)
{
    struct cairn_stopped_call of = {0};
    struct cairn_reader r = cairn_reader_of(record->raw, false);
    bool holds;
    cairn_reader_seek(&r, COMMON_BYTES);
    of.number = cairn_reader_u64(&r);
    for (size_t i = 0; i < CAIRN_TRACE_ARGS; i++)
        of.args[i] = cairn_reader_u64(&r);
    struct cairn_plain_pending *call = find_call(points, record->tid);
    if (call && call->is_event) { /* its end has not come */
        points->n_lost++;
        call->is_event = false;
    }
    const uint32_t row = row_of(points, record, of.number);
    if (r.failed || row == CAIRN_PLAIN_NO_ROW)
        return CAIRN_OK;
    call = get_call(points, record->tid);
    int code = call ? begin(points, record, cpu, row, &of, call, &holds) : CAIRN_E_NOMEM;
    if (code < 0 || !holds)
        return code;
    const struct cairn_plain_memory memory = memory_of(record);
    if (points->wants_texts)
        cairn_plain_take(call, &points->spec->calls[row], &memory, false);
    call->is_event = true;
    call->n_gaps = points->n_gaps;
    return points->enter_only || points->spec->calls[row].flags & CAIRN_TRACE_NO_RETURN
               ? report(points, call)
               : CAIRN_OK;
}

static int on_exit_of(struct cairn_points *points, const struct cairn_perf_record *record)
{
    struct cairn_reader r = cairn_reader_of(record->raw, false);
    struct cairn_plain_pending *call = find_call(points, record->tid);
    cairn_reader_seek(&r, COMMON_BYTES);
    const uint64_t number = cairn_reader_u64(&r), result = cairn_reader_u64(&r);
    if (r.failed || !call || !call->is_event)
        return CAIRN_OK;
    struct cairn_bpf_event *event = &call->event.event;
    const struct cairn_bpf_call *row = &points->spec->calls[event->row];
    /* Behind a loss it may be the end of a later call. */
    if (event->row % CAIRN_TRACE_NUMBERS != number || call->n_gaps != points->n_gaps) {
        points->n_lost++;
        call->is_event = false;
        return CAIRN_OK;
    }
    event->stack.time_ns = record->time_ns;
    event->stack.value = record->time_ns - event->start_ns;
    event->ret = cairn_trace_result(event->row, row->ret_width, result);
    event->has_ret = 1;
    if (!cairn_plain_holds(call, row, true)) {
        points->n_filtered++;
        call->is_event = false;
        return CAIRN_OK;
    }
    const struct cairn_plain_memory memory = {.tid = (int)record->tid, .is_running = true};
    if (points->wants_texts)
        cairn_plain_take(call, row, &memory, true);
    return report(points, call);
}

static int on_point(struct cairn_points *points, const struct cairn_perf_record *record,
                    uint32_t cpu, uint32_t row)
{
    static const struct cairn_stopped_call none;
    const struct cairn_bpf_call *wanted = &points->spec->calls[row];
    struct cairn_plain_pending call = {0};
    bool holds;
    int code = begin(points, record, cpu, row, &none, &call, &holds);
    if (code < 0 || !holds)
        return code;
    struct cairn_bpf_payload *payload = &call.event.payload;
    const size_t n =
        record->raw.size < wanted->record_bytes ? record->raw.size : wanted->record_bytes;
    if (n && n <= sizeof payload->text) {
        memcpy(payload->text, record->raw.data, n);
        payload->n_text[0] = (uint16_t)n;
    }
    return report(points, &call);
}

static int on_sample(struct cairn_points *points, const struct cairn_perf_record *record)
{
    uint32_t point, cpu;
    if (!cairn_perf_points_find(&points->sampler->perf.events, record->id, &point, &cpu) ||
        cairn_perf_is_double(&points->sampler->perf.events, record) ||
        (points->tid && record->tid != (uint32_t)points->tid) ||
        (points->is_machine && record->pid == (uint32_t)getpid()))
        return CAIRN_OK;
    if (record->pid == UINT32_MAX || (!record->pid && points->sampler->perf.is_inside)) {
        points->sampler->perf.n_outside += !record->pid;
        points->n_seen += record->pid != 0;
        points->n_lost += record->pid != 0; /* it is ending, and has no number any more */
        return CAIRN_OK;
    }
    const uint32_t row = points->rows[point];
    if (row == CAIRN_POINT_ENTER)
        return on_enter(points, record, cpu);
    return row == CAIRN_POINT_EXIT ? on_exit_of(points, record)
                                   : on_point(points, record, cpu, row);
}

/* The number may be another process's next. */
static void forget_user(struct cairn_points *points, uint32_t pid)
{
    cairn_table_remove(&points->uids, pid);
    cairn_table_remove(&points->looks, pid);
}

/* The call that was under way has no result. */
static int on_end(struct cairn_points *points, const struct cairn_perf_record *record)
{
    struct cairn_plain_pending *call = find_call(points, record->tid);
    int code = CAIRN_OK;
    if (record->pid == record->tid)
        forget_user(points, record->pid);
    if (!call)
        return CAIRN_OK;
    if (call->is_event) {
        struct cairn_bpf_event *event = &call->event.event;
        event->is_gone = 1;
        event->stack.time_ns = record->time_ns;
        event->stack.value = record->time_ns - event->start_ns;
        if (cairn_plain_holds(call, &points->spec->calls[event->row], true))
            code = report(points, call);
        else
            points->n_filtered++;
    }
    drop_call(points, record->tid);
    return code;
}

/* A child has its parent's user, and may have ended before its first hit is read. */
static int on_fork(struct cairn_points *points, const struct cairn_perf_record *record)
{
    uint32_t uid;
    if (record->pid == record->parent_pid)
        return CAIRN_OK;
    forget_user(points, record->pid);
    int code = look_at_user(points, record->parent_pid, record->time_ns, &uid);
    return code == CAIRN_OK ? cairn_table_set(&points->uids, record->pid, uid) : code;
}

/* A thread that calls execve(2) has the number of its process from then on, and comes back by it.
 * The user may be another one. */
static int on_exec(struct cairn_points *points, const struct cairn_perf_record *record)
{
    cairn_table_remove(&points->looks, record->pid);
    for (size_t i = 0; i < points->n_pending; i++) {
        struct cairn_plain_pending *call = points->pending[i];
        if (!call->is_event || call->event.event.stack.pid != record->pid ||
            call->tid == record->tid)
            continue;
        cairn_table_remove(&points->calls, call->tid);
        call->tid = record->tid;
        return cairn_table_set(&points->calls, call->tid, (uint32_t)i + 1);
    }
    return CAIRN_OK;
}

int cairn_points_take(void *ctx, const struct cairn_perf_record *record)
{
    struct cairn_points *points = ctx;
    switch (record->type) {
    case PERF_RECORD_SAMPLE:
        return on_sample(points, record);
    case PERF_RECORD_COMM:
        return record->misc & PERF_RECORD_MISC_COMM_EXEC ? on_exec(points, record) : CAIRN_OK;
    case PERF_RECORD_FORK:
        return on_fork(points, record);
    case PERF_RECORD_EXIT:
        return on_end(points, record);
    default:
        points->n_gaps += record->n_lost > 0;
        return CAIRN_OK;
    }
}
