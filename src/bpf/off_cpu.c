/* SPDX-License-Identifier: MIT */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "bpf/load.h"
#include "bpf/off_cpu_programs.h"
#include "bpf/walk.skel.h"
#include "bpf/walker.h"

enum { BATCH = 1024 };

/* What cairn_irq is filled with, on all CPUs. */
static const char *const interrupts[CAIRN_BPF_IRQ_MAX] = {
    "hrtimer_interrupt",
    "handle_irq_event",
    "__irq_exit_rcu",
    "irq_exit_rcu",
    "irq_exit",
    "irq_work_run",
    "generic_smp_call_function_single_interrupt"};

struct layout {
    struct cairn_bpf_code scheduler, interrupts[CAIRN_BPF_IRQ_MAX];
    size_t n_interrupts;
    bool is_open; /* of the last one the end is not known yet: the next symbol tells it */
};

static void take_symbol(struct layout *layout, uint64_t va, const char *name)
{
    if (layout->is_open && va > layout->interrupts[layout->n_interrupts - 1].start) {
        layout->interrupts[layout->n_interrupts - 1].end = va;
        layout->is_open = false;
    }
    if (strcmp(name, "__sched_text_start") == 0)
        layout->scheduler.start = va;
    else if (strcmp(name, "__sched_text_end") == 0)
        layout->scheduler.end = va;
    for (size_t i = 0; i < CAIRN_BPF_IRQ_MAX && interrupts[i]; i++)
        if (strcmp(name, interrupts[i]) == 0 && !layout->is_open && va) {
            layout->interrupts[layout->n_interrupts++].start = va;
            layout->is_open = true;
        }
}

/* Both are told to root, or with CAP_SYSLOG. Without them the frames of the measuring itself stay
 * on top of the kernel's, and nobody is said to have woken anybody. */
static void find_layout(struct layout *layout)
{
    FILE *file = fopen("/proc/kallsyms", "re");
    unsigned long long va;
    char name[64], kind;
    while (file && fscanf(file, "%llx %c %63s%*[^\n]", &va, &kind, name) == 3)
        if ((kind == 't' || kind == 'T') && layout->n_interrupts < CAIRN_BPF_IRQ_MAX)
            take_symbol(layout, va, name);
    if (file)
        fclose(file);
}

void cairn_off_cpu_prepare(struct walk_bpf *program, const struct cairn_off_cpu_opts *opts)
{
    struct layout layout = {0};
    struct bpf_program *const programs[CAIRN_OFF_CPU_PROGRAMS] = {
        program->progs.cairn_off_switch, program->progs.cairn_off_waking,
        program->progs.cairn_off_fork, program->progs.cairn_off_exec,
        program->progs.cairn_off_exit};
    struct bpf_map *const maps[] = {program->maps.targets, program->maps.asleep,
                                    program->maps.slept, program->maps.wake_frames};
    for (size_t i = 0; i < CAIRN_OFF_CPU_PROGRAMS; i++)
        (void)bpf_program__set_autoload(programs[i], opts != NULL);
    for (size_t i = 0; i < sizeof maps / sizeof *maps; i++)
        (void)bpf_map__set_autocreate(maps[i], opts != NULL);
    (void)bpf_map__set_autocreate(program->maps.target_cgroup, opts && opts->is_cgroup);
    (void)bpf_program__set_autoload(program->progs.cairn_walk, opts == NULL);
    if (!opts)
        return;
    program->rodata->cairn_off_all = opts->all || opts->is_cgroup;
    program->rodata->cairn_off_cgroup = opts->is_cgroup;
    program->rodata->cairn_off_no_inherit = opts->no_inherit;
    program->rodata->cairn_off_user_only = opts->user_only;
    find_layout(&layout);
    program->rodata->cairn_sched_start = layout.scheduler.start;
    program->rodata->cairn_sched_end = layout.scheduler.end;
    memcpy(program->rodata->cairn_irq, layout.interrupts, sizeof layout.interrupts);
}

int cairn_off_cpu_add(struct cairn_off_cpu *off, int pid, bool from_exec)
{
    uint32_t tgid = (uint32_t)pid, how = from_exec ? CAIRN_BPF_TARGET_FROM_EXEC : CAIRN_BPF_TARGET;
    return bpf_map_update_elem(bpf_map__fd(off->program->maps.targets), &tgid, &how, BPF_ANY);
}

/* Who measures last begins last: what it adds up was noted by the others. */
int cairn_off_cpu_start(struct cairn_off_cpu *off, struct cairn_err *err)
{
    const struct bpf_program *const programs[CAIRN_OFF_CPU_PROGRAMS] = {
        off->program->progs.cairn_off_fork, off->program->progs.cairn_off_exec,
        off->program->progs.cairn_off_exit, off->program->progs.cairn_off_waking,
        off->program->progs.cairn_off_switch};
    const uint32_t zero = 0;
    if (off->is_cgroup && bpf_map_update_elem(bpf_map__fd(off->program->maps.target_cgroup), &zero,
                                              &off->cgroup_fd, BPF_ANY) < 0)
        return cairn_bpf_fail(err, errno, &cairn_walker_need, "measure a cgroup by");
    for (size_t i = 0; i < CAIRN_OFF_CPU_PROGRAMS; i++) {
        off->links[i] = bpf_program__attach(programs[i]);
        if (!off->links[i])
            return cairn_bpf_fail(err, errno, &cairn_walker_need, "attach to the scheduler");
    }
    return CAIRN_OK;
}

void cairn_off_cpu_stop(struct cairn_off_cpu *off)
{
    for (size_t i = CAIRN_OFF_CPU_PROGRAMS; i-- > 0;) {
        bpf_link__destroy(off->links[i]);
        off->links[i] = NULL;
    }
}

struct batch {
    struct cairn_bpf_slept_key keys[BATCH];
    struct cairn_bpf_sum sums[BATCH];
};

typedef int (*batch_step)(int fd, void *in, void *out, void *keys, void *values, __u32 *count,
                          const struct bpf_map_batch_opts *opts);

/* One time through all of the map; the number of entries, or a negative code. */
static int64_t go_through(int fd, struct batch *batch, batch_step step, cairn_off_cpu_fn fn,
                          void *ctx)
{
    uint64_t at = 0;
    int64_t n = 0;
    int result = 0;
    for (bool is_first = true; result == 0; is_first = false) {
        uint32_t count = BATCH;
        result = step(fd, is_first ? NULL : &at, &at, batch->keys, batch->sums, &count, NULL);
        if (result < 0 && result != -ENOENT)
            break;
        for (uint32_t i = 0; i < count; i++) {
            int code = fn(ctx, &batch->keys[i], &batch->sums[i]);
            if (code < 0)
                return code;
        }
        n += count;
    }
    return n;
}

int cairn_off_cpu_slept(struct cairn_off_cpu *off, cairn_off_cpu_fn fn, void *ctx,
                        bool *ret_forgotten)
{
    int fd = bpf_map__fd(off->program->maps.slept);
    struct batch *batch = cairn_alloc(1, sizeof *batch);
    if (!batch)
        return CAIRN_E_NOMEM;
    int64_t n = go_through(fd, batch, bpf_map_lookup_batch, fn, ctx);
    *ret_forgotten = n > CAIRN_BPF_SLEPT_MAX / 4 * 3;
    if (*ret_forgotten)
        n = go_through(fd, batch, bpf_map_lookup_and_delete_batch, fn, ctx);
    cairn_free(batch);
    return n < 0 ? (int)n : CAIRN_OK;
}

int cairn_off_cpu_asleep(struct cairn_off_cpu *off, uint64_t now_ns, cairn_off_cpu_fn fn, void *ctx)
{
    int fd = bpf_map__fd(off->program->maps.asleep), code = CAIRN_OK;
    uint32_t at, next;
    struct cairn_bpf_asleep one;
    for (bool more = bpf_map_get_next_key(fd, NULL, &next) == 0; more && code >= 0;
         more = bpf_map_get_next_key(fd, &at, &next) == 0) {
        at = next;
        if (bpf_map_lookup_elem(fd, &at, &one) != 0 || one.since_ns > now_ns)
            continue;
        const struct cairn_bpf_sum sum = {.n = 1, .value = now_ns - one.since_ns};
        code = fn(ctx, &one.key, &sum);
    }
    return code;
}

uint64_t cairn_off_cpu_unseen(const struct cairn_off_cpu *off)
{
    return off->program->bss->cairn_off_unseen;
}

uint64_t cairn_off_cpu_lost(const struct cairn_off_cpu *off)
{
    return off->program->bss->cairn_off_lost + cairn_off_cpu_unseen(off);
}
