/* SPDX-License-Identifier: MIT */
#include "sample/perf_sampler.h"

#include <sys/mman.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "proc/perf_regs.h"
#include "proc/process.h"
#include "proc/threads.h"
#include "sample/fold.h"
#include "sample/pack.h"
#include "target/regs.h"

static const uint64_t TURN_NS = 1000000000;

/* Values of the table `only`. */
enum { ALIVE = 1, LEADER_EXITED = 2 };

int cairn_perf_sampler_open(const struct cairn_perf_opts *opts, int64_t period_ns,
                            struct cairn_perf_sampler *ret_sampler, struct cairn_err *err)
{
    ret_sampler->period_ns = period_ns;
    ret_sampler->is_inside = cairn_process_is_inside();
    ret_sampler->points = opts->points;
    ret_sampler->queue.has_raw = opts->points != NULL;
    int code = cairn_perf_open(opts, &ret_sampler->events, err);
    if (code < 0)
        return code;
    const bool is_filtered = ret_sampler->events.is_filtered;
    ret_sampler->has_idle = is_filtered || cairn_targets_are_cpus(opts->targets);
    ret_sampler->no_children = opts->no_inherit;
    for (size_t i = 0; is_filtered && i < opts->targets->n; i++)
        if (cairn_table_set(&ret_sampler->only, (uint64_t)opts->targets->items[i].pid, ALIVE) < 0)
            return cairn_fail_memory(err);
    return CAIRN_OK;
}

int cairn_perf_sampler_open_walked(const struct cairn_perf_opts *opts, int64_t period_ns,
                                   struct cairn_perf_sampler *ret_sampler, struct cairn_err *err)
{
    struct cairn_perf_opts bare = *opts;
    const struct cairn_walker_opts walk = {.off_cpu = opts->off_cpu,
                                           .trace = opts->trace,
                                           .has_times = opts->has_times,
                                           .stacks_max = opts->stacks_max};
    int code = cairn_walk_intake_open(period_ns, &walk, &ret_sampler->walk, err);
    if (code < 0)
        return code;
    bare.no_stacks = true;
    code = cairn_perf_sampler_open(&bare, period_ns, ret_sampler, err);
    for (size_t i = 0; code == CAIRN_OK && ret_sampler->events.is_filtered && i < opts->targets->n;
         i++)
        cairn_walker_only(ret_sampler->walk.walker, opts->targets->items[i].pid, true);
    if (code == CAIRN_OK && !opts->off_cpu && !opts->trace)
        code = cairn_walk_intake_attach(&ret_sampler->walk, &ret_sampler->events, err);
    ret_sampler->is_walked = code == CAIRN_OK;
    ret_sampler->walk.no_guests = opts->no_guests;
    return code;
}

int cairn_perf_sampler_open_copied(const struct cairn_perf_opts *opts, int64_t period_ns,
                                   struct cairn_perf_sampler *ret_sampler, struct cairn_err *err)
{
    if (!cairn_perf_regs_mask)
        return cairn_fail(err, CAIRN_E_SUPPORT,
                          "stacks cannot be walked from copies on this CPU: its registers in "
                          "samples are not known here");
    int code = cairn_perf_sampler_open(opts, period_ns, ret_sampler, err);
    ret_sampler->is_copied = code == CAIRN_OK;
    return code;
}

void cairn_perf_sampler_close(struct cairn_perf_sampler *sampler)
{
    sampler->is_copied = false;
    cairn_walk_intake_close(&sampler->walk);
    sampler->is_walked = false;
    cairn_perf_close(&sampler->events);
    cairn_perf_queue_done(&sampler->queue);
    cairn_table_done(&sampler->only);
    sampler->only = (struct cairn_table){0};
}

/* Where whole CPUs are sampled in place of processes: is that one of them? */
static bool is_target(const struct cairn_perf_sampler *sampler, uint32_t pid)
{
    uint32_t one;
    return !sampler->events.is_filtered || cairn_table_find(&sampler->only, pid, &one);
}

/* What a target starts is one, too, as by events that are inherited. A number may have been
 * another process's before. The walk in the kernel was told at once already, but of records that
 * came late, in the wrong order (on_news()). */
static void follow_fork(struct cairn_perf_sampler *sampler, const struct cairn_perf_record *record)
{
    if (!sampler->events.is_filtered || record->pid == record->parent_pid)
        return;
    const bool is_one = !sampler->no_children && is_target(sampler, record->parent_pid);
    if (!is_one)
        cairn_table_remove(&sampler->only, record->pid);
    else
        (void)cairn_table_set(&sampler->only, record->pid, ALIVE);
    if (sampler->is_walked)
        cairn_walker_only(sampler->walk.walker, (int)record->pid, is_one);
}

/* A zombie has one thread, itself: a first thread may end before the others. */
static bool has_no_thread(int pid)
{
    struct cairn_thread_stat stat;
    struct cairn_threads threads = {0};
    if (cairn_thread_stat(pid, pid, &stat, NULL) < 0)
        return true;
    if (stat.state != 'Z' && stat.state != 'X')
        return false;
    bool is_alone = cairn_threads_read(pid, &threads, NULL) < 0 || threads.n <= 1;
    cairn_threads_done(&threads);
    return is_alone;
}

/* The kernel has room for so many targets only; here they stay, for their last samples. */
static void follow_exit(struct cairn_perf_sampler *sampler, const struct cairn_perf_record *record)
{
    uint32_t state;
    if (!sampler->events.is_filtered || !sampler->is_walked ||
        !cairn_table_find(&sampler->only, record->pid, &state))
        return;
    if (record->pid == record->tid)
        (void)cairn_table_set(&sampler->only, record->pid, state = LEADER_EXITED);
    if (state == LEADER_EXITED && has_no_thread((int)record->pid))
        cairn_walker_only(sampler->walk.walker, (int)record->pid, false);
}

/* Where a record goes. */
struct intake {
    struct cairn_perf_sampler *sampler;
    struct cairn_collect *collect;
};

/* A copy that is full is not all of the stack. */
static struct cairn_copy copy_of(const struct intake *in, const struct cairn_perf_record *record)
{
    const struct cairn_perf_chain *chain = &in->sampler->chain;
    return (struct cairn_copy){
        .regs = record->regs,
        .stack = {.va = cairn_target_sp(&record->regs), .bytes = record->stack},
        .goes_on = record->stack.size >= in->collect->stack_bytes,
        .chain = chain->user,
        .n_chain = chain->n_user,
    };
}

static void take_chain(const struct intake *in, const struct cairn_perf_record *record,
                       struct cairn_user_sample *user)
{
    const struct cairn_perf_chain *chain = &in->sampler->chain;
    const uint32_t frames_max = in->sampler->events.frames_max;
    user->chain = chain->user;
    user->n_chain = chain->n_user;
    if (frames_max > chain->n_kernel)
        user->chain_max = frames_max - chain->n_kernel;
    if (record->stack.size >= sizeof user->top)
        memcpy(user->top, record->stack.data, sizeof user->top);
}

/* Adds the caught thread to the profile, or its stack alone. */
static int take_sample(struct intake *in, const struct cairn_perf_record *record,
                       struct cairn_collected *ret_collected)
{
    static const uint64_t none = 0;
    struct cairn_perf_sampler *sampler = in->sampler;
    cairn_perf_chain_split(record->chain, &sampler->chain);
    struct cairn_sampled caught = {
        .pid = (int)record->pid,
        .tid = (int)record->tid,
        .kernel = sampler->chain.kernel,
        .n_kernel = sampler->chain.n_kernel,
        .sp = cairn_target_sp(&record->regs),
        .now_ns = cairn_now_ns(),
        .time_ns = record->time_ns,
        .value = sampler->period_ns ? sampler->period_ns : (int64_t)record->period,
    };
    const struct cairn_copy copy = copy_of(in, record);
    if (sampler->kernel_only)
        caught.user = (struct cairn_user_sample){.walked = &none, .walked_end = CAIRN_END_KERNEL};
    else if (!sampler->is_copied)
        take_chain(in, record, &caught.user);
    else if (record->regs.known)
        caught.copy = &copy;
    return ret_collected ? cairn_collect_stack(in->collect, &caught, ret_collected)
                         : cairn_collect_add(in->collect, &caught);
}

int cairn_perf_sampler_stack(struct cairn_perf_sampler *sampler, struct cairn_collect *collect,
                             const struct cairn_perf_record *record,
                             struct cairn_collected *ret_collected)
{
    struct intake in = {sampler, collect};
    return take_sample(&in, record, ret_collected);
}

static int on_sample(struct intake *in, const struct cairn_perf_record *record)
{
    struct cairn_perf_sampler *sampler = in->sampler;
    if (cairn_perf_is_double(&sampler->events, record))
        return CAIRN_OK;
    if (record->pid == 0 && sampler->has_idle) {
        sampler->n_outside += sampler->is_inside;
        return CAIRN_OK;
    }
    if (record->pid == 0 || record->pid == UINT32_MAX) { /* already without a pid: it is ending */
        sampler->n_lost++;
        return CAIRN_OK;
    }
    return take_sample(in, record, NULL);
}

static int on_mapping(struct intake *in, const struct cairn_perf_record *record)
{
    const struct cairn_stream_mapping mapping = {
        .start = record->start,
        .size = record->size,
        .off = record->off,
        .dev = (uint64_t)record->dev_major << 32 | record->dev_minor,
        .inode = record->inode,
        .build_id = record->build_id,
        .path = record->text,
    };
    if (!(record->protection & PROT_EXEC) || record->pid == UINT32_MAX)
        return CAIRN_OK;
    struct cairn_space *space = cairn_spaces_get(&in->collect->spaces, (int)record->pid);
    if (!space)
        return CAIRN_E_NOMEM;
    return cairn_space_add(&in->collect->spaces, space, &mapping);
}

static int on_name(struct intake *in, const struct cairn_perf_record *record)
{
    if (record->misc & PERF_RECORD_MISC_COMM_EXEC &&
        cairn_stream_processes_exec(&in->collect->spaces.all, (int)record->pid) < 0)
        return CAIRN_E_NOMEM;
    return cairn_collect_name(in->collect, (int)record->tid, record->text);
}

static int on_birth(struct intake *in, const struct cairn_perf_record *record)
{
    const struct cairn_stream_birth birth = {.pid = (int)record->pid,
                                             .tid = (int)record->tid,
                                             .parent_pid = (int)record->parent_pid,
                                             .parent_tid = (int)record->parent_tid};
    return cairn_collect_fork(in->collect, &birth);
}

/* The others speak of events and rings. */
static bool is_of_process(const struct cairn_perf_record *record)
{
    return record->type == PERF_RECORD_SAMPLE || record->type == PERF_RECORD_MMAP2 ||
           record->type == PERF_RECORD_COMM || record->type == PERF_RECORD_FORK ||
           record->type == PERF_RECORD_EXIT;
}

static bool is_for_points(const struct cairn_perf_record *record)
{
    return record->type == PERF_RECORD_SAMPLE || record->type == PERF_RECORD_COMM ||
           record->type == PERF_RECORD_FORK || record->type == PERF_RECORD_EXIT ||
           record->type == PERF_RECORD_LOST;
}

static int on_record(void *ctx, const struct cairn_perf_record *record)
{
    struct intake *in = ctx;
    const struct cairn_perf_points *points = in->sampler->points;
    if (record->type == PERF_RECORD_FORK)
        follow_fork(in->sampler, record);
    if (is_of_process(record) && !is_target(in->sampler, record->pid))
        return CAIRN_OK;
    if (points && is_for_points(record)) {
        int code = points->on_record(points->ctx, record);
        if (code < 0 || record->type == PERF_RECORD_SAMPLE)
            return code;
    }
    switch (record->type) {
    case PERF_RECORD_SAMPLE:
        return on_sample(in, record);
    case PERF_RECORD_MMAP2:
        return on_mapping(in, record);
    case PERF_RECORD_COMM:
        return on_name(in, record);
    case PERF_RECORD_FORK:
        return on_birth(in, record);
    case PERF_RECORD_EXIT:
        follow_exit(in->sampler, record);
        return cairn_stream_processes_exit(&in->collect->spaces.all, (int)record->pid,
                                           (int)record->tid);
    case PERF_RECORD_THROTTLE:
        in->sampler->n_throttled++;
        return CAIRN_OK;
    case PERF_RECORD_LOST:
        in->sampler->n_told += record->n_lost;
        return CAIRN_OK;
    case PERF_RECORD_LOST_SAMPLES:
        in->sampler->n_lost += record->n_lost;
        return CAIRN_OK;
    default:
        return CAIRN_OK;
    }
}

/* What the walk in the kernel is told at once, and not in its turn. */
struct news {
    const struct cairn_perf_sampler *sampler;
    struct cairn_walker *walker;
    int changed; /* a process with other mappings than before; 0: none */
};

/* Once for all records that come together. */
static void note_change(struct news *news, int pid)
{
    if (news->changed && news->changed != pid)
        cairn_walker_changed(news->walker, news->changed);
    news->changed = pid;
}

/* As follow_fork() will do again, when no earlier record can come any more. */
static void note_fork(struct news *news, const struct cairn_perf_record *record)
{
    if (!news->sampler->events.is_filtered || record->pid == record->parent_pid)
        return;
    cairn_walker_only(news->walker, (int)record->pid,
                      !news->sampler->no_children &&
                          cairn_walker_is_only(news->walker, (int)record->parent_pid));
}

/* A look at another's process takes time that looks at targets may need. */
static void note_exec(struct news *news, int pid)
{
    if (!news->sampler->events.is_filtered || cairn_walker_is_only(news->walker, pid))
        cairn_walker_replaced(news->walker, pid);
}

static int on_news(void *ctx, const struct cairn_perf_record *record)
{
    struct news *news = ctx;
    if (record->type == PERF_RECORD_FORK)
        note_fork(news, record);
    else if (record->type == PERF_RECORD_COMM && record->misc & PERF_RECORD_MISC_COMM_EXEC)
        note_exec(news, (int)record->pid);
    else if (record->type == PERF_RECORD_MMAP2 && record->protection & PROT_EXEC)
        note_change(news, (int)record->pid);
    else if (record->type == PERF_RECORD_EXIT && record->pid == record->tid)
        cairn_walker_forget(news->walker, (int)record->pid);
    return CAIRN_OK;
}

static void tell_walker(struct cairn_perf_sampler *sampler, size_t n_before)
{
    struct news news = {.sampler = sampler, .walker = sampler->walk.walker};
    cairn_perf_queue_peek(&sampler->queue, n_before, on_news, &news);
    note_change(&news, 0);
}

/* Each stack between the records of before and after it. */
static int pass_walked(struct intake *in, uint64_t until_ns)
{
    struct cairn_walk_intake *walk = &in->sampler->walk;
    struct cairn_perf_queue *queue = &in->sampler->queue;
    uint64_t time_ns;
    int code = CAIRN_OK;
    while (code == CAIRN_OK && (time_ns = cairn_walk_intake_next_ns(walk)) <= until_ns &&
           time_ns != UINT64_MAX) {
        if (queue->n)
            code = cairn_perf_queue_flush(queue, time_ns, on_record, in);
        if (code == CAIRN_OK)
            code = cairn_walk_intake_pass(walk, in->collect);
    }
    return code;
}

static void fold(struct cairn_perf_sampler *sampler, struct cairn_collect *collect)
{
    uint32_t *numbers;
    cairn_collect_fold(collect, &numbers);
    if (numbers && sampler->is_walked)
        cairn_walk_intake_renumber(&sampler->walk, numbers);
    cairn_free(numbers);
}

/* What is done now and then, and in the end. */
static int turn(struct intake *in, uint64_t now_ns, bool is_end)
{
    struct cairn_perf_sampler *sampler = in->sampler;
    int code = CAIRN_OK;
    if (!is_end && now_ns - sampler->turned_ns < TURN_NS)
        return sampler->is_walked ? cairn_walk_intake_relieve(&sampler->walk) : CAIRN_OK;
    sampler->turned_ns = now_ns;
    if (sampler->is_walked)
        code = cairn_walk_intake_count(&sampler->walk, in->collect, is_end);
    cairn_collect_turn(in->collect);
    fold(sampler, in->collect);
    if (!is_end && (!sampler->is_walked || cairn_walk_intake_is_anew(&sampler->walk)))
        cairn_collect_pack(in->collect);
    return code;
}

int cairn_perf_sampler_take(struct cairn_perf_sampler *sampler, struct cairn_collect *collect,
                            bool all)
{
    struct intake in = {.sampler = sampler, .collect = collect};
    uint64_t before_ns = cairn_now_ns();
    int code = sampler->is_walked ? cairn_walk_intake_take(&sampler->walk) : CAIRN_OK;
    size_t n_before = sampler->queue.n;
    cairn_perf_drain(&sampler->events, &sampler->queue);
    if (sampler->is_walked)
        tell_walker(sampler, n_before);
    uint64_t until_ns = all ? UINT64_MAX : sampler->drained_ns;
    sampler->drained_ns = before_ns;
    if (code == CAIRN_OK && sampler->is_walked)
        code = pass_walked(&in, until_ns);
    if (code == CAIRN_OK)
        code = cairn_perf_queue_flush(&sampler->queue, until_ns, on_record, &in);
    return code < 0 ? code : turn(&in, before_ns, all);
}

int cairn_perf_sampler_settle(struct cairn_perf_sampler *sampler, struct cairn_collect *collect)
{
    int code = cairn_perf_sampler_take(sampler, collect, false);
    return code < 0 || !sampler->is_walked ? code
                                           : cairn_walk_intake_forget(&sampler->walk, collect);
}

uint64_t cairn_perf_sampler_lost(const struct cairn_perf_sampler *sampler)
{
    uint64_t n_counted = cairn_perf_lost(&sampler->events);
    return sampler->n_lost + sampler->queue.n_bad +
           (n_counted > sampler->n_told ? n_counted : sampler->n_told);
}

void cairn_perf_sampler_log_outside(const struct cairn_perf_sampler *sampler)
{
    struct cairn_walker_stats stats = {0};
    if (sampler->is_walked)
        cairn_walker_stats(sampler->walk.walker, &stats);
    unsigned long long n = sampler->n_outside + stats.n_outside;
    if (n)
        cairn_log(CAIRN_LOG_WARNING,
                  "%llu samples are left out, of what runs outside of this pid namespace, as the "
                  "kernel's threads do",
                  n);
}
