/* SPDX-License-Identifier: MIT */
#include "bpf/walk_tables.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <signal.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"

enum {
    SHARE = 20,             /* of one CPU's time is taken by looks: one part in so many */
    CREDIT_MAX = 400000000, /* ns that are saved up: as many modules as a large program has */
    /* ns that are owed, by a look that took more than there was: two seconds without any, for else
       one at 60,000 mappings follows the other */
    DEBT_MAX = 100000000,
    RETRY_NS = 1000000000
};

struct cairn_walk_process {
    int pid; /* 0: nobody */
    uint32_t n;
    uint64_t stack_start;
    struct cairn_bpf_range *ranges;
    uint32_t *modules;    /* n: of each range that has strips the one that it uses */
    uint64_t lacks_bytes; /* as cairn_walk_found has it */
    uint64_t n_regained;  /* of the modules, when it was looked at */
};

/* It is now; the time since the last call gives credit. */
static void pass_time(struct cairn_walk_tables *tables)
{
    uint64_t now_ns = cairn_now_ns();
    tables->credit_ns += (int64_t)(now_ns - tables->modules.now_ns) / SHARE;
    tables->credit_ns = tables->credit_ns < CREDIT_MAX ? tables->credit_ns : CREDIT_MAX;
    tables->modules.now_ns = now_ns;
}

void cairn_walk_tables_init(struct cairn_walk_tables *tables, uint64_t max_bytes)
{
    *tables = (struct cairn_walk_tables){
        .spaces_fd = -1, .spaces_max = CAIRN_BPF_SPACES_MAX, .credit_ns = CREDIT_MAX};
    cairn_walk_modules_init(&tables->modules, max_bytes);
    tables->modules.now_ns = cairn_now_ns();
}

void cairn_walk_tables_done(struct cairn_walk_tables *tables)
{
    for (size_t i = 0; i < tables->n_processes; i++) {
        cairn_free(tables->processes[i].ranges);
        cairn_free(tables->processes[i].modules);
    }
    cairn_free(tables->processes);
    cairn_table_done(&tables->by_pid);
    cairn_walk_modules_done(&tables->modules);
    *tables = (struct cairn_walk_tables){0};
}

/* NULL: it is not known. */
static struct cairn_walk_process *find_process(const struct cairn_walk_tables *tables, int pid)
{
    uint32_t number;
    return cairn_table_find(&tables->by_pid, (uint64_t)pid, &number) ? &tables->processes[number]
                                                                     : NULL;
}

/* The entry is free. */
static void clear(struct cairn_walk_tables *tables, struct cairn_walk_process *process)
{
    cairn_walk_ranges_leave(&tables->modules, process->ranges, process->modules, process->n);
    cairn_free(process->ranges);
    cairn_free(process->modules);
    *process = (struct cairn_walk_process){0};
    tables->n_free++;
}

static void forget(struct cairn_walk_tables *tables, struct cairn_walk_process *process)
{
    (void)bpf_map_delete_elem(tables->spaces_fd, &process->pid);
    cairn_table_remove(&tables->by_pid, (uint64_t)process->pid);
    clear(tables, process);
}

/* Whose end nobody told of. */
static void forget_ended(struct cairn_walk_tables *tables)
{
    for (size_t i = 0; i < tables->n_processes; i++)
        if (tables->processes[i].pid && kill(tables->processes[i].pid, 0) < 0 && errno == ESRCH)
            forget(tables, &tables->processes[i]);
}

static bool take_number(struct cairn_walk_tables *tables, uint32_t *ret_number)
{
    if (!tables->n_free && tables->n_processes == tables->spaces_max)
        forget_ended(tables);
    if (tables->n_free) {
        *ret_number = 0;
        while (tables->processes[*ret_number].pid)
            ++*ret_number;
        return true;
    }
    if (tables->n_processes == tables->spaces_max ||
        cairn_grow((void **)&tables->processes, &tables->cap_processes, tables->n_processes + 1,
                   sizeof *tables->processes) < 0)
        return false;
    *ret_number = (uint32_t)tables->n_processes;
    tables->processes[tables->n_processes++] = (struct cairn_walk_process){0};
    tables->n_free++;
    return true;
}

/* The process's entry, or one that is free. NULL: no memory, or there are too many. */
static struct cairn_walk_process *place_of(struct cairn_walk_tables *tables, int pid)
{
    struct cairn_walk_process *process = find_process(tables, pid);
    uint32_t number;
    if (process)
        return process;
    if (!take_number(tables, &number) ||
        cairn_table_set(&tables->by_pid, (uint64_t)pid, number) < 0)
        return NULL;
    return &tables->processes[number];
}

static bool is_same(const struct cairn_walk_process *process, const struct cairn_bpf_space *found)
{
    return process && process->stack_start == found->stack_start && process->n == found->n &&
           (!found->n ||
            memcmp(process->ranges, found->ranges, found->n * sizeof *found->ranges) == 0);
}

static void *copy_of(const void *array, size_t n, size_t size)
{
    void *copy = cairn_alloc(n + 1, size);
    if (copy)
        memcpy(copy, array, n * size);
    return copy;
}

/* What was found is the process's, with what it uses. */
static bool hand_over(struct cairn_walk_tables *tables, int pid, struct cairn_walk_found *found,
                      struct cairn_walk_process *process)
{
    struct cairn_bpf_space *space = &found->space;
    struct cairn_walk_process now = {
        .pid = pid,
        .n = space->n,
        .stack_start = space->stack_start,
        .ranges = copy_of(space->ranges, space->n, sizeof *space->ranges),
        .modules = copy_of(found->modules, space->n, sizeof *found->modules),
    };
    space->id = ++tables->last_id;
    if (!now.ranges || !now.modules ||
        bpf_map_update_elem(tables->spaces_fd, &pid, space, BPF_ANY) < 0) {
        cairn_free(now.ranges);
        cairn_free(now.modules);
        return false;
    }
    if (process->pid)
        clear(tables, process);
    *process = now;
    tables->n_free--;
    space->n = 0;
    return true;
}

static enum cairn_walk_look publish(struct cairn_walk_tables *tables, int pid,
                                    struct cairn_walk_found *found)
{
    struct cairn_walk_process *process = find_process(tables, pid);
    bool is_known = is_same(process, &found->space);
    if (!is_known) {
        process = place_of(tables, pid);
        if (!process)
            return CAIRN_WALK_IMPOSSIBLE;
        if (!hand_over(tables, pid, found, process)) {
            if (!process->pid)
                cairn_table_remove(&tables->by_pid, (uint64_t)pid);
            return CAIRN_WALK_IMPOSSIBLE;
        }
    }
    process->lacks_bytes = found->lacks_bytes;
    process->n_regained = tables->modules.n_regained;
    return is_known ? CAIRN_WALK_SAME : CAIRN_WALK_LOOKED;
}

static enum cairn_walk_look look(struct cairn_walk_tables *tables, int pid)
{
    struct cairn_walk_found *found = cairn_alloc(1, sizeof *found);
    if (!found)
        return CAIRN_WALK_IMPOSSIBLE;
    enum cairn_walk_look result = cairn_walk_look_at(&tables->modules, pid, found);
    if (result == CAIRN_WALK_LOOKED)
        result = publish(tables, pid, found);
    cairn_walk_ranges_leave(&tables->modules, found->space.ranges, found->modules, found->space.n);
    cairn_free(found);
    return result;
}

/* What is charged is this thread's CPU time: on a busy machine, or a slow disk, a look takes long
 * and costs little, and new programs would stay unknown for seconds. */
enum cairn_walk_look cairn_walk_tables_look(struct cairn_walk_tables *tables, int pid, bool now)
{
    pass_time(tables);
    if (now) /* is charged nothing */
        return look(tables, pid);
    if (tables->credit_ns <= 0)
        return CAIRN_WALK_LATER;
    uint64_t began_ns = cairn_clock_ns(CLOCK_THREAD_CPUTIME_ID);
    enum cairn_walk_look result = look(tables, pid);
    int64_t left_ns =
        tables->credit_ns - (int64_t)(cairn_clock_ns(CLOCK_THREAD_CPUTIME_ID) - began_ns);
    tables->credit_ns = left_ns > -DEBT_MAX ? left_ns : -DEBT_MAX;
    return result;
}

bool cairn_walk_tables_know(const struct cairn_walk_tables *tables, int pid)
{
    return find_process(tables, pid) != NULL;
}

void cairn_walk_tables_forget(struct cairn_walk_tables *tables, int pid)
{
    struct cairn_walk_process *process = find_process(tables, pid);
    pass_time(tables);
    if (process)
        forget(tables, process);
}

static bool any_lacks(const struct cairn_walk_tables *tables)
{
    for (size_t i = 0; i < tables->n_processes; i++)
        if (tables->processes[i].lacks_bytes)
            return true;
    return false;
}

static bool may_gain(const struct cairn_walk_tables *tables,
                     const struct cairn_walk_process *process, uint64_t spare_bytes)
{
    return process->lacks_bytes && (process->lacks_bytes <= spare_bytes ||
                                    process->n_regained != tables->modules.n_regained);
}

void cairn_walk_tables_retry(struct cairn_walk_tables *tables)
{
    pass_time(tables);
    uint64_t now_ns = tables->modules.now_ns;
    if (now_ns - tables->retried_ns < RETRY_NS)
        return;
    tables->retried_ns = now_ns;
    if (!any_lacks(tables))
        return;
    forget_ended(tables);
    uint64_t spare_bytes = cairn_walk_modules_spare(&tables->modules);
    for (size_t i = 0; i < tables->n_processes; i++)
        if (may_gain(tables, &tables->processes[i], spare_bytes))
            (void)cairn_walk_tables_look(tables, tables->processes[i].pid, false);
}
