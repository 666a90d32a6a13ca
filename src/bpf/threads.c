/* SPDX-License-Identifier: MIT */
#include "bpf/threads.h"

#include <errno.h>
#include <linux/bpf.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/apart.h"
#include "base/error.h"
#include "bpf/cpu.h"
#include "bpf/threads.light.h"

enum {
    STALLS_MAX = 1000, /* readings that brought nothing and did not end, one after the other */
    LOG_BYTES = 4 << 20
};

/* TASK_* and EXIT_*, include/linux/sched.h; the same since Linux 4.14. */
enum {
    TASK_INTERRUPTIBLE = 1,
    TASK_UNINTERRUPTIBLE = 2,
    TASK_STOPPED = 4,
    TASK_TRACED = 8,
    EXIT_DEAD = 0x10,
    EXIT_ZOMBIE = 0x20,
    TASK_PARKED = 0x40,
    TASK_NOLOAD = 0x400
};

struct cairn_bpf_threads {
    struct threads_bpf *program;
    struct cairn_bpf_slot *slots; /* mapped */
    uint8_t *stacks;              /* mapped */
    bool is_stuck; /* a run did not end in time: it may write to the maps at any moment */
};

struct walk {
    struct cairn_bpf_threads *threads;
    cairn_bpf_thread_fn fn;
    void *ctx;
};

const struct cairn_bpf_need cairn_bpf_threads_need = {"the task iterator", 5, 18};

static const size_t slots_bytes = CAIRN_BPF_SLOTS * sizeof(struct cairn_bpf_slot);
static const size_t stacks_bytes = (size_t)CAIRN_BPF_PAGES * CAIRN_BPF_PAGE;

static char state_letter(const struct cairn_bpf_slot *slot)
{
    const uint32_t state = slot->after.state;
    if (slot->exit_state)
        return slot->exit_state & EXIT_ZOMBIE ? 'Z' : 'X';
    if (state & TASK_TRACED)
        return 't';
    if (state & TASK_STOPPED)
        return 'T';
    if (state & TASK_PARKED)
        return 'P';
    if (state & TASK_UNINTERRUPTIBLE)
        return state & TASK_NOLOAD ? 'I' : 'D';
    return state & TASK_INTERRUPTIBLE ? 'S' : 'R';
}

static enum cairn_bpf_found judge(const struct cairn_bpf_slot *slot)
{
    if (!slot->has_regs || slot->exit_state)
        return CAIRN_BPF_NO_USER;
    if (slot->before.on_cpu || slot->after.on_cpu)
        return CAIRN_BPF_RUNNING;
    return slot->before.switches == slot->after.switches ? CAIRN_BPF_STILL : CAIRN_BPF_MOVED;
}

static int hand_over(struct walk *walk, const struct cairn_bpf_slot *slot)
{
    uint8_t raw[CAIRN_BPF_PRSTATUS_MAX];
    struct cairn_bpf_thread thread = {
        .pid = slot->pid,
        .tid = slot->tid,
        .name = slot->name,
        .state = state_letter(slot),
        .found = judge(slot),
        .alt_stack = slot->alt_stack,
        .switches = slot->after.switches,
        .kernel = slot->kernel,
        .n_kernel = slot->kernel_bytes > 0 ? (size_t)slot->kernel_bytes / sizeof(uint64_t) : 0,
    };
    if (slot->has_regs) {
        thread.regs = (struct cairn_span){raw, cairn_bpf_prstatus(slot->regs, raw)};
        thread.in_call = cairn_bpf_call(slot->regs, &thread.call, thread.args);
        thread.stack = (struct cairn_span){
            walk->threads->stacks + (size_t)slot->page * CAIRN_BPF_PAGE,
            (size_t)slot->n_pages * CAIRN_BPF_PAGE,
        };
        thread.stack_va = slot->stack_va;
        thread.unread = (enum cairn_bpf_unread)slot->unread;
        thread.unread_from = slot->unread_from;
        thread.unread_to = slot->unread_to;
    }
    return walk->fn(walk->ctx, &thread);
}

/* Hands over what the last run left, and makes room for the next one. */
static int empty(struct walk *walk)
{
    struct threads_bpf__bss *bss = walk->threads->program->bss;
    int code = 0;
    for (uint32_t i = 0; i < bss->n_slots && code == 0; i++)
        code = hand_over(walk, &walk->threads->slots[i]);
    bss->n_slots = bss->n_pages = 0;
    return code;
}

static long read_for_caller(uint8_t *io, int fd, int *ret_fd)
{
    (void)ret_fd;
    ssize_t got = read(fd, io, CAIRN_BPF_SLOTS);
    return got < 0 ? -errno : got;
}

static int fail_stuck(struct cairn_err *err)
{
    return cairn_fail(err, CAIRN_E_LIMIT, "a copy of a stack did not end in time");
}

/* The program copies in the context of who reads, and waits for the memory as a read of it would.
 * After a deadline it may go on any time, so that its maps are not ours any more. */
static int read_all(struct walk *walk, int fd, struct cairn_err *err)
{
    const struct cairn_apart_call call = {.fn = read_for_caller, .fd = fd};
    unsigned stalls = 0;
    for (;;) {
        long got = cairn_apart_do(&call);
        int os_errno = got < 0 ? (int)-got : 0;
        if (os_errno == ETIMEDOUT)
            walk->threads->is_stuck = true;
        if (os_errno == ETIMEDOUT)
            return fail_stuck(err);
        if (os_errno == EUSERS) /* nothing was read */
            return cairn_fail(err, CAIRN_E_LIMIT,
                              "too many reads of memory did not end: stacks are not copied");
        int code = empty(walk);
        if (code != 0 || got == 0)
            return code;
        if (got > 0)
            stalls = 0;
        else if ((os_errno != EAGAIN && os_errno != EINTR) || ++stalls == STALLS_MAX)
            return cairn_bpf_fail(err, os_errno, &cairn_bpf_threads_need, "read");
    }
}

static int create_link(const struct cairn_bpf_threads *threads, union bpf_iter_link_info *info)
{
    union bpf_attr attr = {0};
    attr.link_create.prog_fd = (uint32_t)threads->program->progs.cairn_threads.prog_fd;
    attr.link_create.attach_type = BPF_TRACE_ITER;
    attr.link_create.iter_info = (uint64_t)(uintptr_t)info;
    attr.link_create.iter_info_len = info ? sizeof *info : 0;
    return (int)syscall(SYS_bpf, BPF_LINK_CREATE, &attr, sizeof attr);
}

/* The kernel itself leaves out other processes since Linux 6.1; before that the program does. */
static int attach(const struct cairn_bpf_threads *threads,
                  const struct cairn_bpf_threads_opts *opts)
{
    union bpf_iter_link_info info = {0};
    if (opts->tid_first && opts->tid_first == opts->tid_last)
        info.task.tid = (uint32_t)opts->tid_first;
    else
        info.task.pid = (uint32_t)opts->pid;
    int link = create_link(threads, &info);
    return link < 0 && (errno == E2BIG || errno == EINVAL) ? create_link(threads, NULL) : link;
}

static int iterate(int link)
{
    union bpf_attr attr = {0};
    attr.iter_create.link_fd = (uint32_t)link;
    return (int)syscall(SYS_bpf, BPF_ITER_CREATE, &attr, sizeof attr);
}

static int walk_threads(struct walk *walk, const struct cairn_bpf_threads_opts *opts,
                        struct cairn_err *err)
{
    int link = attach(walk->threads, opts);
    if (link < 0 && errno == ESRCH)
        return CAIRN_OK;
    if (link < 0)
        return cairn_bpf_fail(err, errno, &cairn_bpf_threads_need, "attach");
    int fd = iterate(link);
    int code = fd < 0 ? cairn_bpf_fail(err, errno, &cairn_bpf_threads_need, "start")
                      : read_all(walk, fd, err);
    if (fd >= 0)
        close(fd);
    close(link);
    return code;
}

int cairn_bpf_threads_each(struct cairn_bpf_threads *threads,
                           const struct cairn_bpf_threads_opts *opts, cairn_bpf_thread_fn fn,
                           void *ctx, struct cairn_err *err)
{
    struct walk walk = {.threads = threads, .fn = fn, .ctx = ctx};
    size_t bytes = opts->stack_bytes ? opts->stack_bytes : CAIRN_BPF_STACK_BYTES;
    if (threads->is_stuck)
        return fail_stuck(err);
    if (bytes > CAIRN_BPF_STACK_BYTES_MAX || opts->skip_bytes % CAIRN_BPF_PAGE ||
        opts->skip_bytes / CAIRN_BPF_PAGE > UINT32_MAX)
        return cairn_fail(err, CAIRN_E_ARG, "%zu bytes of stack behind %zu cannot be copied", bytes,
                          opts->skip_bytes);
    struct threads_bpf__bss *bss = threads->program->bss;
    bss->wish = (struct cairn_bpf_wish){
        .pid = opts->pid,
        .tid_first = opts->tid_first,
        .tid_last = opts->tid_last ? opts->tid_last : INT32_MAX,
        .skip_pages = (uint32_t)(opts->skip_bytes / CAIRN_BPF_PAGE),
        .max_pages = (uint32_t)((bytes + CAIRN_BPF_PAGE - 1) / CAIRN_BPF_PAGE),
        .kernel_frames = opts->kernel_frames,
    };
    bss->n_slots = bss->n_pages = 0;
    return walk_threads(&walk, opts, err);
}

/* `log` of LOG_BYTES, or NULL. Returns 0 or an errno. */
static int load_program(struct threads_bpf **ret_program, char *log)
{
    struct threads_bpf *program = threads_bpf__open();
    if (!program)
        return ENOMEM;
    program->rodata->cpu = cairn_bpf_this_cpu;
    if (log) {
        program->ctx.log_level = 1;
        program->ctx.log_buf = (uint64_t)(uintptr_t)log;
        program->ctx.log_size = LOG_BYTES;
    }
    int code = threads_bpf__load(program);
    if (code == 0)
        *ret_program = program;
    else
        threads_bpf__destroy(program);
    return -code;
}

/* Once more where it failed, to hear why. */
static int load(struct cairn_bpf_threads *threads, struct cairn_err *err)
{
    int code = cairn_bpf_check(&cairn_bpf_threads_need, err);
    int os_errno = code < 0 ? 0 : load_program(&threads->program, NULL);
    if (os_errno == 0 || os_errno == ENOMEM)
        return os_errno ? cairn_fail_memory(err) : code;
    char *log = cairn_alloc(LOG_BYTES, 1);
    os_errno = load_program(&threads->program, log);
    if (os_errno)
        code = cairn_bpf_fail_load(err, os_errno, &cairn_bpf_threads_need, log ? log : "");
    cairn_free(log);
    return code;
}

static void *map_of(int fd, size_t bytes)
{
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    return at == MAP_FAILED ? NULL : at;
}

static int load_and_map(struct cairn_bpf_threads *threads, struct cairn_err *err)
{
    int code = load(threads, err);
    if (code < 0)
        return code;
    threads->slots = map_of(threads->program->maps.slots.map_fd, slots_bytes);
    if (threads->slots)
        threads->stacks = map_of(threads->program->maps.stacks.map_fd, stacks_bytes);
    return threads->stacks ? CAIRN_OK : cairn_bpf_fail(err, errno, &cairn_bpf_threads_need, "map");
}

int cairn_bpf_threads_open(struct cairn_bpf_threads **ret_threads, struct cairn_err *err)
{
    struct cairn_bpf_threads *threads = cairn_alloc(1, sizeof *threads);
    if (!threads)
        return cairn_fail_memory(err);
    int code = load_and_map(threads, err);
    if (code < 0)
        cairn_bpf_threads_close(threads);
    else
        *ret_threads = threads;
    return code;
}

void cairn_bpf_threads_close(struct cairn_bpf_threads *threads)
{
    if (!threads)
        return;
    if (threads->slots)
        munmap(threads->slots, slots_bytes);
    if (threads->stacks)
        munmap(threads->stacks, stacks_bytes);
    threads_bpf__destroy(threads->program);
    cairn_free(threads);
}
