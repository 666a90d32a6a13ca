/* SPDX-License-Identifier: MIT */
#include "bpf/walker.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "bpf/cpu.h"
#include "bpf/load.h"
#include "bpf/walk.skel.h"
#include "bpf/walk_tables.h"
#include "proc/process.h"
#include "target/regs.h"

enum { TABLE_BYTES = 256 << 20, BATCH = 4096, ASKED_MAX = 64, OLD_SPACES_MAX = 2048 };

const struct cairn_bpf_need cairn_walker_need = {"the stack walker", 5, 17};

/* Maps that grow as they are filled, in programs at perf events; the tree of mappings. */
static const struct cairn_bpf_need maps_that_grow = {"maps that grow", 6, 1};

struct batch {
    struct cairn_bpf_count keys[BATCH];
    struct cairn_bpf_sum counts[BATCH];
};

struct cairn_walker {
    struct walk_bpf *program;
    struct cairn_off_cpu off_cpu;      /* its program is NULL where that was not asked for */
    struct cairn_trace_programs trace; /* likewise */
    struct ring_buffer *ring;
    struct cairn_walk_tables tables;
    struct cairn_bpf_walk_cpu *cpus;
    size_t n_cpus, cpus_bytes;
    size_t strips_bytes;
    struct batch *batch;
    int64_t stacks_max;
    cairn_walker_stack_fn fn; /* of the take that runs */
    void *fn_ctx;
    int asked[ASKED_MAX]; /* pids */
    size_t n_asked;
};

/* The programs see the machine's numbers of processes, which are not ours then. */
static void prepare_pids(struct walk_bpf *program)
{
    bool is_inside = cairn_process_is_inside();
    program->rodata->cairn_is_inside = is_inside;
    (void)bpf_program__set_autoload(program->progs.cairn_know_namespace, is_inside);
}

static int know_namespace(struct walk_bpf *program, struct cairn_err *err)
{
    LIBBPF_OPTS(bpf_test_run_opts, opts);
    int fd = bpf_program__fd(program->progs.cairn_know_namespace);
    if (!program->rodata->cairn_is_inside || bpf_prog_test_run_opts(fd, &opts) == 0)
        return CAIRN_OK;
    return cairn_bpf_fail(err, errno, &cairn_walker_need, "find its pid namespace");
}

/* Before Linux 6.1 all of a map is there from the begin: fewer processes have room. */
static void fill_maps(struct cairn_walker *w)
{
    struct bpf_map *grow[] = {w->program->maps.own, w->program->maps.only, w->program->maps.spaces,
                              w->program->maps.files, w->program->maps.guests};
    if (cairn_bpf_is_new_enough(&maps_that_grow))
        return;
    for (size_t i = 0; i < sizeof grow / sizeof *grow; i++)
        (void)bpf_map__set_map_flags(grow[i], 0);
    w->tables.spaces_max = OLD_SPACES_MAX;
    (void)bpf_map__set_max_entries(w->program->maps.spaces, OLD_SPACES_MAX);
    (void)bpf_map__set_max_entries(w->program->maps.files, 1); /* nobody asks for them there */
}

static void prepare_trace(struct cairn_walker *w, const struct cairn_trace_programs_opts *opts,
                          size_t n_cpus)
{
    bool many_at_once = false;
    cairn_trace_programs_prepare(w->program, opts, n_cpus, &many_at_once);
    if (opts)
        w->trace = (struct cairn_trace_programs){.program = w->program,
                                                 .calls = opts->calls,
                                                 .probes = opts->probes,
                                                 .n_probes = opts->n_probes,
                                                 .many_at_once = many_at_once,
                                                 .is_cgroup = opts->is_cgroup,
                                                 .cgroup_fd = opts->cgroup_fd,
                                                 .n_cpus = n_cpus};
}

static int load(struct cairn_walker *w, const struct cairn_walker_opts *opts, struct cairn_err *err)
{
    int n_cpus = libbpf_num_possible_cpus(), code = cairn_bpf_check(&cairn_walker_need, err);
    if (code < 0)
        return code;
    if (n_cpus < 1)
        return cairn_fail(err, CAIRN_E_SUPPORT, "no CPU is listed in /sys");
    w->program = walk_bpf__open();
    if (w->program) {
        (void)bpf_map__set_max_entries(w->program->maps.cpus, (uint32_t)n_cpus);
        w->program->rodata->cairn_has_times = opts->has_times;
        w->program->rodata->cairn_page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
        prepare_pids(w->program);
        fill_maps(w);
        cairn_off_cpu_prepare(w->program, opts->off_cpu);
        if (opts->off_cpu)
            w->off_cpu = (struct cairn_off_cpu){.program = w->program,
                                                .is_cgroup = opts->off_cpu->is_cgroup,
                                                .cgroup_fd = opts->off_cpu->cgroup_fd};
        prepare_trace(w, opts->trace, (size_t)n_cpus);
    }
    code = cairn_bpf_load(w->program ? w->program->skeleton : NULL, &cairn_walker_need, err);
    w->n_cpus = code < 0 ? 0 : (size_t)n_cpus;
    return code < 0 ? code : know_namespace(w->program, err);
}

static void *map_array(const struct bpf_map *map, size_t bytes)
{
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, bpf_map__fd(map), 0);
    return at == MAP_FAILED ? NULL : at;
}

static int on_message(void *ctx, void *data, size_t size);

static int map_all(struct cairn_walker *w, struct cairn_err *err)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    w->cpus_bytes = (w->n_cpus * sizeof *w->cpus + page - 1) / page * page;
    w->strips_bytes = CAIRN_BPF_STRIPS_MAX * sizeof *w->tables.modules.strips;
    w->cpus = map_array(w->program->maps.cpus, w->cpus_bytes);
    w->tables.modules.strips = map_array(w->program->maps.strips, w->strips_bytes);
    w->tables.spaces_fd = bpf_map__fd(w->program->maps.spaces);
    w->tables.modules.segments_fd = bpf_map__fd(w->program->maps.segments);
    w->tables.modules.files_fd = bpf_map__fd(w->program->maps.files);
    w->ring = ring_buffer__new(bpf_map__fd(w->program->maps.ring), on_message, w, NULL);
    w->batch = cairn_alloc(1, sizeof *w->batch);
    if (w->cpus && w->tables.modules.strips && w->ring && w->batch)
        return CAIRN_OK;
    return cairn_fail_memory(err);
}

int cairn_walker_new(const struct cairn_walker_opts *opts, struct cairn_walker **ret_walker,
                     struct cairn_err *err)
{
    static const struct cairn_walker_opts usual = {0};
    opts = opts ? opts : &usual;
    struct cairn_walker *w = cairn_alloc(1, sizeof *w);
    if (!w)
        return cairn_fail_memory(err);
    cairn_walk_tables_init(&w->tables, opts->table_bytes ? opts->table_bytes : TABLE_BYTES);
    w->stacks_max = CAIRN_BPF_COUNTS_MAX / 4 * 3;
    if (opts->stacks_max && opts->stacks_max < (size_t)w->stacks_max)
        w->stacks_max = (int64_t)opts->stacks_max;
    int code = load(w, opts, err);
    if (code == CAIRN_OK)
        code = map_all(w, err);
    if (code < 0) {
        cairn_walker_free(w);
        return code;
    }
    *ret_walker = w;
    return CAIRN_OK;
}

void cairn_walker_free(struct cairn_walker *w)
{
    if (!w)
        return;
    if (w->cpus)
        munmap(w->cpus, w->cpus_bytes);
    if (w->tables.modules.strips)
        munmap(w->tables.modules.strips, w->strips_bytes);
    cairn_walk_tables_done(&w->tables);
    cairn_off_cpu_stop(&w->off_cpu);
    cairn_trace_programs_stop(&w->trace);
    ring_buffer__free(w->ring);
    walk_bpf__destroy(w->program);
    cairn_free(w->batch);
    cairn_free(w);
}

int cairn_walker_attach(struct cairn_walker *w, int event_fd, int tid, struct cairn_err *err)
{
    uint32_t one = 1;
    int program = bpf_program__fd(w->program->progs.cairn_walk);
    if (bpf_map_update_elem(bpf_map__fd(w->program->maps.own), &tid, &one, BPF_NOEXIST) == 0)
        w->program->bss->cairn_n_own++;
    if (ioctl(event_fd, PERF_EVENT_IOC_SET_BPF, program) == 0)
        return CAIRN_OK;
    return cairn_bpf_fail(err, errno, &cairn_walker_need, "attach");
}

void cairn_walker_only(struct cairn_walker *w, int pid, bool is_one)
{
    int fd = bpf_map__fd(w->program->maps.only);
    uint32_t tgid = (uint32_t)pid, one = 1;
    if (is_one)
        (void)bpf_map_update_elem(fd, &tgid, &one, BPF_ANY);
    else
        (void)bpf_map_delete_elem(fd, &tgid);
    w->program->bss->cairn_is_filtered = 1;
}

bool cairn_walker_is_only(const struct cairn_walker *w, int pid)
{
    uint32_t tgid = (uint32_t)pid, one;
    return bpf_map_lookup_elem(bpf_map__fd(w->program->maps.only), &tgid, &one) == 0;
}

void cairn_walker_look(struct cairn_walker *w, int pid, bool now)
{
    cairn_trace_programs_forget(&w->trace);
    if (cairn_walk_tables_look(&w->tables, pid, now) != CAIRN_WALK_LATER)
        return;
    for (size_t i = 0; i < w->n_asked; i++)
        if (w->asked[i] == pid)
            return;
    if (w->n_asked < ASKED_MAX)
        w->asked[w->n_asked++] = pid;
}

void cairn_walker_changed(struct cairn_walker *w, int pid)
{
    cairn_trace_programs_forget(&w->trace);
    if (cairn_walk_tables_know(&w->tables, pid))
        cairn_walker_look(w, pid, false);
}

static bool walks_by_files(const struct cairn_walker *w)
{
    for (size_t i = 0; i < w->n_cpus; i++)
        if (w->cpus[i].has_tree)
            return true;
    return false;
}

void cairn_walker_replaced(struct cairn_walker *w, int pid)
{
    if (walks_by_files(w)) /* who lives long asks for a look */
        cairn_walker_forget(w, pid);
    else
        cairn_walker_look(w, pid, false);
}

void cairn_walker_forget(struct cairn_walker *w, int pid)
{
    uint32_t tgid = (uint32_t)pid;
    cairn_walk_tables_forget(&w->tables, pid);
    if (w->program->bss->cairn_has_guests)
        (void)bpf_map_delete_elem(bpf_map__fd(w->program->maps.guests), &tgid);
}

int cairn_walker_fd(const struct cairn_walker *w)
{
    return ring_buffer__epoll_fd(w->ring);
}

bool cairn_walker_copy(const struct cairn_bpf_stack *stack, struct cairn_cursor_regs *ret_regs,
                       struct cairn_span *ret_bytes)
{
    const uint64_t *regs = (const uint64_t *)(const void *)(stack + 1) + stack->n + stack->n_kernel;
    uint8_t raw[CAIRN_BPF_PRSTATUS_MAX];
    if (!stack->copied)
        return false;
    size_t size = cairn_bpf_prstatus(regs, raw);
    *ret_bytes = (struct cairn_span){(const uint8_t *)(regs + CAIRN_BPF_COPY_REGS), stack->copied};
    return cairn_target_regs((struct cairn_span){raw, size}, false, ret_regs);
}

struct cairn_span cairn_walker_pieces(const struct cairn_bpf_stack *stack)
{
    const uint8_t *end = (const uint8_t *)stack + cairn_walker_stack_bytes(stack);
    return (struct cairn_span){end - stack->pieces, stack->pieces};
}

bool cairn_walker_guest(struct cairn_walker *w, int pid, struct cairn_bpf_guest *guest)
{
    uint32_t tgid = (uint32_t)pid;
    guest->stack_start = cairn_process_stack_start(pid);
    guest->low = UINT64_MAX;
    guest->high = 0;
    for (uint32_t i = 0; i < guest->n; i++) {
        const struct cairn_guest_sketch *loop = &guest->loops[i];
        guest->low = loop->loop < guest->low ? loop->loop : guest->low;
        guest->high = loop->loop_end > guest->high ? loop->loop_end : guest->high;
        guest->makes_code |= loop->kind == CAIRN_SKETCH_LUAJIT;
    }
    if (!guest->n || !guest->stack_start ||
        bpf_map_update_elem(bpf_map__fd(w->program->maps.guests), &tgid, guest, BPF_ANY) < 0)
        return false;
    w->program->bss->cairn_has_guests = 1;
    return true;
}

struct cairn_bpf_place cairn_walker_place(const struct cairn_bpf_stack *stack)
{
    const uint64_t *frames = (const uint64_t *)(const void *)(stack + 1);
    uint32_t last = stack->n ? cairn_bpf_frame_at(stack->beyond, stack->n - 1u) : 0;
    uint64_t ip = stack->n ? frames[last] & ~CAIRN_BPF_MARKS : 0;
    return (struct cairn_bpf_place){
        .page = ip >> CAIRN_BPF_PLACE_SHIFT, .id = stack->id, .end = stack->end};
}

void cairn_walker_copy_no_more(struct cairn_walker *w, const struct cairn_bpf_place *place,
                               uint64_t until_ns)
{
    (void)bpf_map_update_elem(bpf_map__fd(w->program->maps.fruitless), place, &until_ns, BPF_ANY);
}

static int on_message(void *ctx, void *data, size_t size)
{
    struct cairn_walker *w = ctx;
    const struct cairn_bpf_stack *stack = data;
    if (size < sizeof *stack)
        return 0;
    if (stack->what == CAIRN_BPF_ASK)
        cairn_walker_look(w, (int)stack->pid, false);
    if (stack->what < CAIRN_BPF_STACK || stack->what > CAIRN_BPF_EVENT ||
        (stack->what == CAIRN_BPF_EVENT && size < sizeof(struct cairn_bpf_event)) ||
        stack->what == CAIRN_BPF_ASK || size < cairn_walker_stack_bytes(stack))
        return 0;
    return w->fn(w->fn_ctx, stack, (const uint64_t *)(const void *)(stack + 1));
}

/* Who could not be looked at before. */
static void look_again(struct cairn_walker *w)
{
    int asked[ASKED_MAX];
    size_t n = w->n_asked;
    memcpy(asked, w->asked, n * sizeof *asked);
    w->n_asked = 0;
    for (size_t i = 0; i < n; i++)
        cairn_walker_look(w, asked[i], false);
}

int cairn_walker_take(struct cairn_walker *w, cairn_walker_stack_fn fn, void *ctx)
{
    w->fn = fn;
    w->fn_ctx = ctx;
    look_again(w);
    cairn_walk_tables_retry(&w->tables);
    int code = ring_buffer__consume(w->ring);
    return code < 0 ? code : CAIRN_OK;
}

/* How many of them are kept, or a negative code. */
static int64_t hand_over(struct cairn_walker *w, uint32_t n, cairn_walker_count_fn fn, void *ctx)
{
    int fd = bpf_map__fd(w->program->maps.counts), code = CAIRN_OK;
    int64_t n_kept = n;
    for (uint32_t i = 0; i < n && code >= 0; i++) {
        code = fn(ctx, &w->batch->keys[i], &w->batch->counts[i]);
        if (code == CAIRN_WALKER_FORGET)
            n_kept -= bpf_map_delete_elem(fd, &w->batch->keys[i]) == 0;
    }
    return code < 0 ? code : n_kept;
}

/* One time through all of the map, `step` by step; the number of entries, or a negative code. */
typedef int (*batch_step)(int fd, void *in, void *out, void *keys, void *values, __u32 *count,
                          const struct bpf_map_batch_opts *opts);
static int64_t go_through(struct cairn_walker *w, batch_step step, cairn_walker_count_fn fn,
                          void *ctx)
{
    int fd = bpf_map__fd(w->program->maps.counts), result = 0;
    uint64_t at = 0;
    int64_t n = 0;
    for (bool is_first = true; result == 0; is_first = false) {
        uint32_t count = BATCH;
        result =
            step(fd, is_first ? NULL : &at, &at, w->batch->keys, w->batch->counts, &count, NULL);
        if (result < 0 && result != -ENOENT)
            break;
        int64_t n_kept = hand_over(w, count, fn, ctx);
        if (n_kept < 0)
            return n_kept;
        n += n_kept;
    }
    return n;
}

int cairn_walker_counts(struct cairn_walker *w, cairn_walker_count_fn fn, void *ctx, bool *ret_full)
{
    int64_t n = go_through(w, bpf_map_lookup_batch, fn, ctx);
    *ret_full = n > w->stacks_max;
    return n < 0 ? (int)n : CAIRN_OK;
}

int cairn_walker_last_counts(struct cairn_walker *w, cairn_walker_count_fn fn, void *ctx)
{
    int64_t n = go_through(w, bpf_map_lookup_and_delete_batch, fn, ctx);
    return n < 0 ? (int)n : CAIRN_OK;
}

struct cairn_off_cpu *cairn_walker_off_cpu(struct cairn_walker *w)
{
    return w->off_cpu.program ? &w->off_cpu : NULL;
}

struct cairn_trace_programs *cairn_walker_trace(struct cairn_walker *w)
{
    return w->trace.program ? &w->trace : NULL;
}

void cairn_walker_stats(const struct cairn_walker *w, struct cairn_walker_stats *ret_stats)
{
    struct bpf_prog_info info = {0};
    uint32_t size = sizeof info;
    *ret_stats = (struct cairn_walker_stats){.n_no_room = w->tables.modules.n_no_room,
                                             .n_evicted = w->tables.modules.n_evicted,
                                             .table_bytes = w->tables.modules.room.taken_bytes,
                                             .walks_by_files = walks_by_files(w)};
    for (size_t i = 0; i < w->n_cpus; i++) {
        ret_stats->n_samples += w->cpus[i].n_samples;
        ret_stats->n_lost += w->cpus[i].n_lost;
        ret_stats->n_double += w->cpus[i].n_double;
        ret_stats->n_outside += w->cpus[i].n_outside;
        ret_stats->n_copied += w->cpus[i].n_copied;
        ret_stats->n_misses += w->cpus[i].n_misses;
        ret_stats->n_no_guest += w->cpus[i].n_no_guest;
    }
    if (bpf_obj_get_info_by_fd(bpf_program__fd(w->program->progs.cairn_walk), &info, &size) == 0) {
        ret_stats->run_ns = info.run_time_ns;
        ret_stats->n_runs = info.run_cnt;
    }
}
