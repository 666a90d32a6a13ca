/* SPDX-License-Identifier: MIT */
#include "sample/walk_intake.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "sample/perf_event.h"

enum { WAITING_BYTES_MAX = 1 << 28, FRUITLESS = 8, PLACES_MAX = 1 << 14 };
static const uint64_t COPY_AGAIN_NS = 20000000000;

/* A stack that was handed on. */
struct cairn_walk_known {
    struct cairn_collected collected;
    uint32_t sample;          /* that it became at first */
    struct cairn_bpf_sum sum; /* what came since, as counted last */
};

int cairn_walk_intake_open(int64_t period_ns, const struct cairn_walker_opts *opts,
                           struct cairn_walk_intake *ret_intake, struct cairn_err *err)
{
    ret_intake->period_ns = period_ns;
    return cairn_walker_new(opts, &ret_intake->walker, err);
}

void cairn_walk_intake_close(struct cairn_walk_intake *intake)
{
    cairn_walker_free(intake->walker);
    cairn_buffer_done(&intake->waiting);
    cairn_table_done(&intake->by_key);
    cairn_table_done(&intake->fruitless);
    cairn_free(intake->known);
    cairn_off_cpu_sums_done(&intake->sums);
    *intake = (struct cairn_walk_intake){0};
}

struct attachment {
    struct cairn_walk_intake *intake;
    struct cairn_err *err;
};

static int attach(void *ctx, int fd, int tid)
{
    struct attachment *to = ctx;
    return cairn_walker_attach(to->intake->walker, fd, tid, to->err);
}

int cairn_walk_intake_attach(struct cairn_walk_intake *intake, const struct cairn_perf *events,
                             struct cairn_err *err)
{
    struct attachment to = {intake, err};
    return cairn_perf_each(events, attach, &to);
}

static int wait(void *ctx, const struct cairn_bpf_stack *stack, const uint64_t *frames)
{
    struct cairn_walk_intake *intake = ctx;
    size_t bytes = cairn_walker_stack_bytes(stack);
    (void)frames;                                           /* behind it */
    if (intake->waiting.size > WAITING_BYTES_MAX - bytes) { /* a stack is missed at the end */
        intake->sums.n_lost += stack->what == CAIRN_BPF_SLEPT;
        return CAIRN_OK;
    }
    if (!cairn_buffer_reserve(&intake->waiting, bytes))
        return CAIRN_E_NOMEM;
    cairn_buffer_add(&intake->waiting, stack, bytes);
    return CAIRN_OK;
}

int cairn_walk_intake_before(struct cairn_walk_intake *intake, int pid)
{
    return cairn_off_cpu_before(cairn_walker_off_cpu(intake->walker), pid, wait, intake);
}

int cairn_walk_intake_take(struct cairn_walk_intake *intake)
{
    struct cairn_buffer *waiting = &intake->waiting;
    if (intake->taken) { /* there may always be some that wait: the buffer is never empty */
        waiting->size -= intake->taken;
        memmove(waiting->data, waiting->data + intake->taken, waiting->size);
        intake->taken = 0;
    }
    return cairn_walker_take(intake->walker, wait, intake);
}

static const struct cairn_bpf_stack *next(const struct cairn_walk_intake *intake)
{
    if (intake->taken == intake->waiting.size)
        return NULL;
    return (const void *)(intake->waiting.data + intake->taken);
}

uint64_t cairn_walk_intake_next_ns(const struct cairn_walk_intake *intake)
{
    const struct cairn_bpf_stack *stack = next(intake);
    return stack ? stack->time_ns : UINT64_MAX;
}

static uint64_t hash_of(uint64_t hash, uint32_t tid, uint32_t id)
{
    const struct cairn_bpf_count key = {.hash = hash, .tid = tid, .id = id};
    return cairn_hash_bytes(&key, sizeof key);
}

static int remember(struct cairn_walk_intake *intake, const struct cairn_bpf_stack *stack,
                    const struct cairn_walk_known *known)
{
    uint64_t key = hash_of(stack->hash, stack->tid, stack->id);
    uint32_t number;
    if (cairn_table_find(&intake->by_key, key, &number)) {
        intake->known[number] = *known;
        return CAIRN_OK;
    }
    if (cairn_grow((void **)&intake->known, &intake->cap_known, intake->n_known + 1,
                   sizeof *known) < 0 ||
        cairn_table_set(&intake->by_key, key, (uint32_t)intake->n_known) < 0)
        return CAIRN_E_NOMEM;
    intake->known[intake->n_known++] = *known;
    return CAIRN_OK;
}

static int pass_stack(struct cairn_collect *collect, const struct cairn_bpf_stack *stack,
                      struct cairn_collected *ret_collected)
{
    const uint64_t *frames = (const void *)(stack + 1);
    struct cairn_copy copy = {.stack.va = stack->sp & ~(uint64_t)7,
                              .stack.pages = stack->pages,
                              .goes_on = stack->goes_on};
    bool has_copy = cairn_walker_copy(stack, &copy.regs, &copy.stack.bytes);
    const struct cairn_caught caught = {
        .pid = (int)stack->pid,
        .tid = (int)stack->tid,
        .kernel = frames + stack->n,
        .n_kernel = stack->n_kernel,
        .user = {.walked = frames, .n_walked = stack->n, .walked_end = stack->end},
        .copy = has_copy ? &copy : NULL,
        .sp = stack->sp,
        .now_ns = cairn_now_ns(),
    };
    return cairn_collect_stack(collect, &caught, ret_collected);
}

/* A copy is up to 64 KiB: where some in a row led no further than the walk in the kernel, as in
 * code without tables, none is wanted for a while. */
static void judge_copy(struct cairn_walk_intake *intake, const struct cairn_bpf_stack *stack,
                       bool led_further)
{
    const struct cairn_bpf_place place = cairn_walker_place(stack);
    uint64_t key = cairn_hash_bytes(&place, sizeof place);
    uint32_t n = 0;
    (void)cairn_table_find(&intake->fruitless, key, &n);
    if (intake->fruitless.n >= PLACES_MAX)
        cairn_table_done(&intake->fruitless);
    n = led_further ? 0 : n + 1;
    if (n >= FRUITLESS && stack->id)
        cairn_walker_copy_no_more(intake->walker, &place, stack->time_ns + COPY_AGAIN_NS);
    (void)cairn_table_set(&intake->fruitless, key, n < FRUITLESS ? n : 0);
}

const struct cairn_collected *cairn_walk_intake_find(const struct cairn_walk_intake *intake,
                                                     uint64_t hash, uint32_t tid, uint32_t id)
{
    uint32_t number;
    if (!cairn_table_find(&intake->by_key, hash_of(hash, tid, id), &number))
        return NULL;
    return &intake->known[number].collected;
}

/* Of a stack that came before; false where that was lost. */
static bool find_known(const struct cairn_walk_intake *intake, const struct cairn_bpf_stack *stack,
                       struct cairn_walk_known *ret_known)
{
    uint32_t number;
    if (!cairn_table_find(&intake->by_key, hash_of(stack->hash, stack->tid, stack->id), &number))
        return false;
    *ret_known = intake->known[number];
    return true;
}

int cairn_walk_intake_pass(struct cairn_walk_intake *intake, struct cairn_collect *collect)
{
    const struct cairn_bpf_stack *stack = next(intake);
    const struct cairn_collect_more one = {
        .n = 1,
        .value = intake->period_ns ? intake->period_ns : (int64_t)stack->value,
        .time_ns = stack->time_ns,
    };
    struct cairn_walk_known known = {0};
    int code = CAIRN_OK;
    intake->taken += cairn_walker_stack_bytes(stack);
    if (stack->what == CAIRN_BPF_SLEPT)
        return cairn_off_cpu_pass(intake, collect, (const struct cairn_bpf_slept *)stack);
    if (stack->what != CAIRN_BPF_AGAIN)
        code = pass_stack(collect, stack, &known.collected);
    else if (!find_known(intake, stack, &known))
        return CAIRN_OK; /* is found to be lost at the end */
    if (code == CAIRN_OK && stack->copied)
        judge_copy(intake, stack, !known.collected.cut || collect->walk.n > stack->n);
    bool is_off_cpu = cairn_walker_off_cpu(intake->walker) != NULL;
    if (code == CAIRN_OK && !is_off_cpu) /* else samples are made of the sums */
        code = cairn_collect_sample(collect, &known.collected, &one);
    if (code < 0 || stack->what == CAIRN_BPF_AGAIN || stack->copied) /* that is not counted */
        return code;
    known.sample = collect->last;
    if (is_off_cpu && collect->profile->closed == CAIRN_PROFILE_NO_SAMPLES)
        return CAIRN_OK; /* its times will be lost */
    return remember(intake, stack, &known);
}

struct counting {
    struct cairn_walk_intake *intake;
    struct cairn_collect *collect;
};

static int on_count(void *ctx, const struct cairn_bpf_count *key, const struct cairn_bpf_sum *sum)
{
    struct counting *counting = ctx;
    struct cairn_walk_intake *intake = counting->intake;
    uint32_t number;
    if (!cairn_table_find(&intake->by_key, hash_of(key->hash, key->tid, key->id), &number))
        return CAIRN_OK; /* it waits yet */
    struct cairn_walk_known *known = &intake->known[number];
    if (sum->n > known->sum.n) {
        uint64_t n = sum->n - known->sum.n, value = sum->value - known->sum.value;
        cairn_collect_again(counting->collect, known->sample, known->collected.cut != 0, n,
                            intake->period_ns ? (int64_t)n * intake->period_ns : (int64_t)value);
        known->sum = *sum;
    }
    return CAIRN_OK;
}

/* Of what is never forgotten. */
static uint64_t kept_bytes(const struct cairn_walk_intake *intake)
{
    return cairn_table_bytes(&intake->by_key) + intake->n_known * sizeof *intake->known +
           cairn_off_cpu_sums_bytes(&intake->sums);
}

/* All of them will come again. With times they are kept, for what waits may ask for them, and of
 * time off the CPU for who sleeps yet. */
static void forget(struct cairn_walk_intake *intake)
{
    cairn_table_done(&intake->by_key);
    intake->by_key = (struct cairn_table){0};
    intake->n_known = 0;
}

int cairn_walk_intake_count(struct cairn_walk_intake *intake, struct cairn_collect *collect,
                            bool is_end)
{
    struct counting counting = {intake, collect};
    bool forgotten = false;
    int code = cairn_walker_counts(intake->walker, on_count, &counting, &forgotten);
    bool is_off_cpu = cairn_walker_off_cpu(intake->walker) != NULL;
    if (collect->has_times || is_off_cpu)
        collect->beside_bytes = kept_bytes(intake);
    else if (forgotten)
        forget(intake);
    if (code == CAIRN_OK && is_off_cpu)
        code = cairn_off_cpu_sums_add(intake, collect, is_end);
    return code;
}

uint64_t cairn_walk_intake_lost(const struct cairn_walk_intake *intake, uint64_t n_collected)
{
    struct cairn_walker_stats stats;
    cairn_walker_stats(intake->walker, &stats);
    if (cairn_walker_off_cpu(intake->walker))
        return intake->sums.n_lost;
    return stats.n_samples > n_collected ? stats.n_samples - n_collected : 0;
}
