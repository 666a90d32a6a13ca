/* SPDX-License-Identifier: MIT */
#include "sample/walk_intake.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "sample/fold.h"
#include "sample/guest_walk.h"
#include "sample/pack.h"
#include "sample/perf_event.h"

enum { WAITING_BYTES_MAX = 1 << 28, FRUITLESS = 8, PLACES_MAX = 1 << 14 };
static const uint64_t COPY_AGAIN_NS = 20000000000;

/* A stack that was handed on. */
struct cairn_walk_known {
    uint32_t sample;     /* that it became at first; the next one that is free */
    uint32_t n_again;    /* what came since, as counted last, modulo 2^31 */
    uint64_t value : 60; /* and what it stands for, modulo 2^60 */
    uint64_t marks : 4;  /* of its stack: enum cairn_collect_mark */
};

static const uint64_t VALUE_MAX = (UINT64_C(1) << 60) - 1;
enum { FREE = 15 /* no stack has all marks: the entry is nobody's */ };

int cairn_walk_intake_open(int64_t period_ns, const struct cairn_walker_opts *opts,
                           struct cairn_walk_intake *ret_intake, struct cairn_err *err)
{
    ret_intake->period_ns = period_ns;
    ret_intake->is_off_cpu = opts->off_cpu != NULL;
    ret_intake->is_traced = opts->trace != NULL;
    ret_intake->keeps_stacks = opts->off_cpu || opts->trace || opts->has_times;
    return cairn_walker_new(opts, &ret_intake->walker, err);
}

void cairn_walk_intake_close(struct cairn_walk_intake *intake)
{
    cairn_walker_free(intake->walker);
    cairn_buffer_done(&intake->waiting);
    cairn_table_done(&intake->by_key);
    cairn_table_done(&intake->fruitless);
    cairn_table_done(&intake->early);
    cairn_free(intake->early_sums);
    cairn_free(intake->known);
    cairn_free(intake->stacks);
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

/* Where one that is free has the number of the next. */
static uint32_t *next_free(struct cairn_walk_intake *intake, uint32_t number)
{
    return intake->keeps_stacks ? &intake->stacks[number].stack : &intake->known[number].sample;
}

static bool take_number(struct cairn_walk_intake *intake, uint32_t *ret_number)
{
    size_t need = intake->n_known + 1;
    if (intake->n_free) {
        *ret_number = intake->first_free;
        intake->first_free = *next_free(intake, *ret_number);
        intake->n_free--;
        return true;
    }
    int code =
        intake->keeps_stacks
            ? cairn_grow((void **)&intake->stacks, &intake->cap_known, need, sizeof *intake->stacks)
            : cairn_grow((void **)&intake->known, &intake->cap_known, need, sizeof *intake->known);
    *ret_number = (uint32_t)intake->n_known;
    intake->n_known += code == CAIRN_OK;
    return code == CAIRN_OK;
}

static void give_number(struct cairn_walk_intake *intake, uint32_t number)
{
    *next_free(intake, number) = intake->first_free;
    if (!intake->keeps_stacks)
        intake->known[number].marks = FREE;
    intake->first_free = number;
    intake->n_free++;
}

/* One that is known came twice, before and after all were forgotten: what is counted of it stays.
 */
static int remember(struct cairn_walk_intake *intake, uint64_t key,
                    const struct cairn_collected *collected, uint32_t sample)
{
    uint32_t number;
    bool is_new = !cairn_table_find(&intake->by_key, key, &number);
    if (is_new && !take_number(intake, &number))
        return CAIRN_E_NOMEM;
    if (is_new && cairn_table_set(&intake->by_key, key, number) < 0) {
        give_number(intake, number);
        return CAIRN_E_NOMEM;
    }
    if (intake->keeps_stacks)
        intake->stacks[number] = *collected;
    else if (is_new)
        intake->known[number] =
            (struct cairn_walk_known){.sample = sample, .marks = collected->marks & 15u};
    return CAIRN_OK;
}

/* Tells the kernel's side of interpreters in a process, once for each program. */
static void tell_guests(struct cairn_walk_intake *intake, struct cairn_space *space)
{
    struct cairn_bpf_guest guest = {0};
    guest.n =
        (uint32_t)cairn_guest_walk_sketch(space->guests, guest.loops, CAIRN_BPF_GUEST_LOOPS_MAX);
    if (guest.n)
        (void)cairn_walker_guest(intake->walker, space->code.pid, &guest);
    space->guests_told_ns = cairn_now_ns();
}

int cairn_walk_intake_guests(struct cairn_walk_intake *intake, struct cairn_collect *collect,
                             int pid, struct cairn_guest_walk **ret_guests)
{
    struct cairn_space *space = cairn_spaces_get(&collect->spaces, pid);
    *ret_guests = NULL;
    if (intake->no_guests)
        return CAIRN_OK;
    if (!space || cairn_space_know(&collect->spaces, space) < 0 ||
        cairn_guest_looks_find(&collect->guest_looks, &collect->spaces, space, ret_guests) < 0)
        return CAIRN_E_NOMEM;
    if (*ret_guests && !space->guests_told_ns)
        tell_guests(intake, space);
    return CAIRN_OK;
}

/* Why a stack has no frames of the interpreter that it leads through; NULL: it leads through none.
 */
static const char *why_unread(const struct cairn_guest_walk *guests,
                              const struct cairn_space *space, const struct cairn_bpf_stack *stack)
{
    const uint64_t *frames = (const void *)(stack + 1);
    for (size_t i = 0; i < stack->n; i++) {
        if (!cairn_guest_walk_is_in_loop(guests, frames[i] & ~CAIRN_BPF_MARKS))
            continue;
        if (stack->time_ns < space->guests_told_ns)
            return "caught before the interpreter was known";
        return stack->copied ? "no state of the interpreter is near the stack"
                             : "a copy would have taken too much of the time";
    }
    return NULL;
}

/* The frames of interpreters on the stack, where what they are made of came with it. */
static int walk_guests(struct cairn_walk_intake *intake, struct cairn_collect *collect,
                       const struct cairn_bpf_stack *stack, struct cairn_sampled *caught)
{
    const struct cairn_span pieces = cairn_walker_pieces(stack);
    struct cairn_guest_walk *guests;
    int code = cairn_walk_intake_guests(intake, collect, caught->pid, &guests);
    if (code < 0 || !guests)
        return code;
    if (!pieces.size || !caught->copy) {
        caught->unread = why_unread(guests, cairn_spaces_get(&collect->spaces, caught->pid), stack);
        return CAIRN_OK;
    }
    code = cairn_guest_walk_catch_copy(guests, caught->copy, pieces);
    caught->guests = guests;
    return code == CAIRN_OK ? cairn_guest_walk_name(guests) : code;
}

static int pass_stack(struct cairn_walk_intake *intake, struct cairn_collect *collect,
                      const struct cairn_bpf_stack *stack, struct cairn_collected *ret_collected)
{
    const uint64_t *frames = (const void *)(stack + 1);
    struct cairn_copy copy = {.stack.va = stack->sp & ~(uint64_t)7,
                              .stack.pages = stack->pages,
                              .goes_on = stack->goes_on};
    bool has_copy = cairn_walker_copy(stack, &copy.regs, &copy.stack.bytes);
    struct cairn_sampled caught = {
        .pid = (int)stack->pid,
        .tid = (int)stack->tid,
        .kernel = frames + stack->n,
        .n_kernel = stack->n_kernel,
        .user = {.walked = frames,
                 .n_walked = stack->n,
                 .n_beyond = stack->beyond,
                 .walked_end = stack->end},
        .copy = has_copy ? &copy : NULL,
        .sp = stack->sp,
        .now_ns = cairn_now_ns(),
    };
    int code = walk_guests(intake, collect, stack, &caught);
    return code < 0 ? code : cairn_collect_stack(collect, &caught, ret_collected);
}

/* A copy is up to 64 KiB: where some in a row led no further than the walk in the kernel, as in
 * code without tables, none is wanted for a while. */
static void judge_copy(struct cairn_walk_intake *intake, const struct cairn_bpf_stack *stack,
                       bool is_fruitful)
{
    const struct cairn_bpf_place place = cairn_walker_place(stack);
    uint64_t key = cairn_hash_bytes(&place, sizeof place);
    uint32_t n = 0;
    (void)cairn_table_find(&intake->fruitless, key, &n);
    if (intake->fruitless.n >= PLACES_MAX)
        cairn_table_done(&intake->fruitless);
    n = is_fruitful ? 0 : n + 1;
    if (n >= FRUITLESS && stack->id)
        cairn_walker_copy_no_more(intake->walker, &place, stack->time_ns + COPY_AGAIN_NS);
    (void)cairn_table_set(&intake->fruitless, key, n < FRUITLESS ? n : 0);
}

static bool led_further(const struct cairn_user_walk *walk, const struct cairn_bpf_stack *stack)
{
    return walk->end == CAIRN_END_OUTERMOST ||
           walk->n + walk->n_missing > (uint64_t)stack->n + stack->beyond;
}

const struct cairn_collected *cairn_walk_intake_find(const struct cairn_walk_intake *intake,
                                                     uint64_t hash, uint32_t tid, uint32_t id)
{
    uint32_t number;
    if (!cairn_table_find(&intake->by_key, hash_of(hash, tid, id), &number))
        return NULL;
    return &intake->stacks[number];
}

static void add_again(const struct cairn_walk_intake *intake, struct cairn_walk_known *known,
                      const struct cairn_bpf_sum *sum, struct cairn_collect *collect)
{
    uint32_t n = ((uint32_t)sum->n - known->n_again) & INT32_MAX;
    uint64_t value = (sum->value - known->value) & VALUE_MAX;
    if (!n)
        return;
    cairn_collect_again(collect, known->sample, (uint8_t)known->marks, n,
                        intake->period_ns ? n * intake->period_ns : (int64_t)value);
    known->n_again = (uint32_t)sum->n & INT32_MAX;
    known->value = sum->value & VALUE_MAX;
}

/* How often a stack was met while it waited, if all were forgotten then. */
static void note_early(struct cairn_walk_intake *intake, uint64_t key,
                       const struct cairn_bpf_sum *sum)
{
    size_t n = intake->n_early;
    if (cairn_grow((void **)&intake->early_sums, &intake->cap_early, n + 1,
                   sizeof *intake->early_sums) < 0 ||
        cairn_table_set(&intake->early, key, (uint32_t)n) < 0)
        return; /* is found to be lost at the end */
    intake->early_sums[intake->n_early++] = *sum;
}

static void add_early(struct cairn_walk_intake *intake, uint64_t key, uint8_t marks,
                      struct cairn_collect *collect)
{
    uint32_t early;
    if (!intake->early.n || !cairn_table_find(&intake->early, key, &early))
        return;
    struct cairn_walk_known before = {.sample = collect->last, .marks = marks & 15u};
    add_again(intake, &before, &intake->early_sums[early], collect);
    cairn_table_remove(&intake->early, key);
}

int cairn_walk_intake_pass(struct cairn_walk_intake *intake, struct cairn_collect *collect)
{
    const struct cairn_bpf_stack *stack = next(intake);
    const struct cairn_collect_more one = {
        .n = 1,
        .value = intake->period_ns ? intake->period_ns : (int64_t)stack->value,
        .time_ns = stack->time_ns,
    };
    const bool makes_sums = intake->is_off_cpu || intake->is_traced;
    const struct cairn_collected *again = NULL;
    struct cairn_collected collected;
    int code = CAIRN_OK;
    intake->taken += cairn_walker_stack_bytes(stack);
    if (stack->what == CAIRN_BPF_SLEPT)
        return cairn_off_cpu_pass(intake, collect, (const struct cairn_bpf_slept *)stack);
    if (stack->what == CAIRN_BPF_EVENT)
        return intake->on_event(intake->event_ctx, (const struct cairn_bpf_event *)stack,
                                cairn_walk_intake_find(intake, stack->hash, stack->tid, stack->id));
    if (stack->what != CAIRN_BPF_AGAIN)
        code = pass_stack(intake, collect, stack, &collected);
    else if (!(again = cairn_walk_intake_find(intake, stack->hash, stack->tid, stack->id)))
        return CAIRN_OK; /* is found to be lost at the end */
    else
        collected = *again;
    if (code == CAIRN_OK && stack->copied && !stack->pieces && collect->walk.end != CAIRN_END_SPENT)
        judge_copy(intake, stack, led_further(&collect->walk, stack));
    if (code == CAIRN_OK && !makes_sums) /* else samples are made of the sums */
        code = cairn_collect_sample(collect, &collected, &one);
    bool is_counted = makes_sums || !stack->copied; /* else it comes but once */
    if (code < 0 || stack->what == CAIRN_BPF_AGAIN || !is_counted)
        return code;
    if (makes_sums && collect->profile->closed == CAIRN_PROFILE_NO_SAMPLES)
        return CAIRN_OK; /* its times will be lost */
    uint64_t key = hash_of(stack->hash, stack->tid, stack->id);
    if (!makes_sums)
        add_early(intake, key, collected.marks, collect);
    return remember(intake, key, &collected, collect->last);
}

int cairn_walk_intake_met(struct cairn_walk_intake *intake, struct cairn_collect *collect,
                          const struct cairn_bpf_count *key, const struct cairn_bpf_sum *sum,
                          bool is_last)
{
    const struct cairn_ended *ended = &collect->spaces.all.ended;
    bool is_over = ended->n && cairn_ended_is_over(ended, key->tid);
    uint64_t hash = sum->n || is_over ? hash_of(key->hash, key->tid, key->id) : 0;
    uint32_t number;
    if (!sum->n && !is_over)
        return CAIRN_OK;
    if (!cairn_table_find(&intake->by_key, hash, &number)) { /* it waits yet, or was lost */
        if (is_last)
            note_early(intake, hash, sum);
        return is_over ? CAIRN_WALKER_FORGET : CAIRN_OK;
    }
    if (!intake->keeps_stacks)
        add_again(intake, &intake->known[number], sum, collect);
    if (!is_over)
        return CAIRN_OK;
    cairn_table_remove(&intake->by_key, hash);
    give_number(intake, number);
    return CAIRN_WALKER_FORGET;
}

struct counting {
    struct cairn_walk_intake *intake;
    struct cairn_collect *collect;
    bool is_last;
};

static int on_count(void *ctx, const struct cairn_bpf_count *key, const struct cairn_bpf_sum *sum)
{
    const struct counting *counting = ctx;
    return cairn_walk_intake_met(counting->intake, counting->collect, key, sum, counting->is_last);
}

/* Of what is not forgotten when there is much of it. */
static uint64_t kept_bytes(const struct cairn_walk_intake *intake)
{
    return cairn_table_bytes(&intake->by_key) + intake->n_known * sizeof *intake->stacks +
           cairn_off_cpu_sums_bytes(&intake->sums);
}

/* All of them will come again. With times they are kept, for what waits may ask for them, and of
 * time off the CPU for who sleeps yet. */
static int forget(struct counting *counting)
{
    struct cairn_walk_intake *intake = counting->intake;
    cairn_table_done(&intake->early);
    intake->early = (struct cairn_table){0};
    intake->n_early = 0;
    counting->is_last = !intake->keeps_stacks;
    int code = cairn_walker_last_counts(intake->walker, on_count, counting);
    if (code < 0 || intake->keeps_stacks)
        return code;
    cairn_table_done(&intake->by_key);
    intake->by_key = (struct cairn_table){0};
    intake->n_known = intake->n_free = 0;
    return CAIRN_OK;
}

bool cairn_walk_intake_is_anew(const struct cairn_walk_intake *intake)
{
    return !intake->keeps_stacks && intake->by_key.n == 0;
}

/* Sums first: they ask for stacks, also of threads that are over and are forgotten then. */
int cairn_walk_intake_count(struct cairn_walk_intake *intake, struct cairn_collect *collect,
                            bool is_end)
{
    struct counting counting = {intake, collect, false};
    bool is_full = false;
    int code = intake->is_off_cpu ? cairn_off_cpu_sums_add(intake, collect, is_end) : CAIRN_OK;
    if (intake->is_traced)
        code = intake->on_turn(intake->event_ctx, is_end);
    if (code == CAIRN_OK)
        code = cairn_walker_counts(intake->walker, on_count, &counting, &is_full);
    if (code == CAIRN_OK && (is_full || (!is_end && cairn_collect_is_crowded(collect))))
        code = forget(&counting);
    if (intake->keeps_stacks)
        collect->beside_bytes = kept_bytes(intake);
    return code;
}

int cairn_walk_intake_forget(struct cairn_walk_intake *intake, struct cairn_collect *collect)
{
    struct counting counting = {intake, collect, false};
    return forget(&counting);
}

int cairn_walk_intake_relieve(struct cairn_walk_intake *intake)
{
    return intake->is_traced && cairn_trace_programs_are_crowded(cairn_walker_trace(intake->walker))
               ? intake->on_turn(intake->event_ctx, false)
               : CAIRN_OK;
}

void cairn_walk_intake_renumber(struct cairn_walk_intake *intake, const uint32_t *numbers)
{
    for (size_t i = 0; i < intake->n_known && !intake->keeps_stacks; i++)
        if (intake->known[i].marks != FREE)
            intake->known[i].sample = cairn_fold_number(numbers, intake->known[i].sample);
    cairn_off_cpu_sums_renumber(&intake->sums, numbers);
}

uint64_t cairn_walk_intake_lost(const struct cairn_walk_intake *intake, uint64_t n_collected)
{
    struct cairn_walker_stats stats;
    cairn_walker_stats(intake->walker, &stats);
    if (intake->is_off_cpu)
        return intake->sums.n_lost;
    return stats.n_samples > n_collected ? stats.n_samples - n_collected : 0;
}
