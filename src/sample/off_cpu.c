/* SPDX-License-Identifier: MIT */
#include "sample/off_cpu.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "sample/fold.h"
#include "sample/walk_intake.h"

/* A key that became a sample. */
struct cairn_slept_known {
    uint32_t sample;
    uint8_t marks;            /* of its stack */
    struct cairn_bpf_sum sum; /* as read last */
};

void cairn_off_cpu_sums_done(struct cairn_off_cpu_sums *sums)
{
    cairn_table_done(&sums->by_key);
    cairn_free(sums->known);
    *sums = (struct cairn_off_cpu_sums){0};
}

uint64_t cairn_off_cpu_sums_bytes(const struct cairn_off_cpu_sums *sums)
{
    return cairn_table_bytes(&sums->by_key) + sums->n_known * sizeof *sums->known;
}

static const char *why_text(uint8_t why)
{
    static const char *const texts[] = {
        [CAIRN_BPF_OFF_SLEEP] = "sleep",
        [CAIRN_BPF_OFF_BLOCKED] = "blocked",
        [CAIRN_BPF_OFF_PREEMPTED] = "preempted",
        [CAIRN_BPF_OFF_STOPPED] = "stopped",
    };
    return why < sizeof texts / sizeof *texts ? texts[why] : "sleep";
}

static int collect_slept(struct cairn_collect *collect, const struct cairn_collected *collected,
                         const struct cairn_bpf_slept_key *key, const struct cairn_bpf_sum *sum,
                         uint64_t since_ns)
{
    char waker[CAIRN_BPF_NAME_BYTES + 1] = {0};
    memcpy(waker, key->waker, sizeof key->waker);
    const struct cairn_collect_more more = {
        .n = sum->n,
        .value = (int64_t)sum->value,
        .time_ns = since_ns,
        .off_cpu = why_text(key->why),
        .waker = key->by_interrupt ? "interrupt" : waker,
        .waker_pid = (int)key->waker_pid,
    };
    return cairn_collect_sample(collect, collected, &more);
}

int cairn_off_cpu_pass(struct cairn_walk_intake *intake, struct cairn_collect *collect,
                       const struct cairn_bpf_slept *slept)
{
    const struct cairn_bpf_slept_key *key = &slept->key;
    const struct cairn_bpf_sum one = {.n = 1, .value = slept->stack.value};
    const struct cairn_collected *collected =
        cairn_walk_intake_find(intake, key->hash, key->tid, key->id);
    if (collected)
        return collect_slept(collect, collected, key, &one, slept->stack.time_ns - one.value);
    intake->sums.n_lost++;
    return CAIRN_OK;
}

struct adding {
    struct cairn_walk_intake *intake;
    struct cairn_collect *collect;
    uint64_t now_ns;
    bool is_end;
};

/* A new key becomes a sample. CAIRN_OK or CAIRN_E_NOMEM. */
static int add_key(const struct adding *to, const struct cairn_collected *collected, uint64_t hash,
                   const struct cairn_bpf_slept_key *key, const struct cairn_bpf_sum *sum)
{
    struct cairn_off_cpu_sums *sums = &to->intake->sums;
    if (cairn_grow((void **)&sums->known, &sums->cap_known, sums->n_known + 1,
                   sizeof *sums->known) < 0 ||
        collect_slept(to->collect, collected, key, sum, 0) < 0 ||
        cairn_table_set(&sums->by_key, hash, (uint32_t)sums->n_known) < 0)
        return CAIRN_E_NOMEM;
    sums->known[sums->n_known++] = (struct cairn_slept_known){
        .sample = to->collect->last, .marks = collected->marks, .sum = *sum};
    return CAIRN_OK;
}

static void add_again(const struct adding *to, struct cairn_slept_known *known,
                      const struct cairn_bpf_sum *sum)
{
    const struct cairn_bpf_sum more = {sum->n - known->sum.n, sum->value - known->sum.value};
    if (more.n)
        cairn_collect_again(to->collect, known->sample, known->marks, more.n, (int64_t)more.value);
    known->sum = *sum;
}

/* The stack is asked for once: it is forgotten when its thread is over. */
static int on_slept(void *ctx, const struct cairn_bpf_slept_key *key,
                    const struct cairn_bpf_sum *sum)
{
    const struct adding *to = ctx;
    struct cairn_off_cpu_sums *sums = &to->intake->sums;
    uint64_t hash = cairn_hash_bytes(key, sizeof *key);
    uint32_t number;
    if (cairn_table_find(&sums->by_key, hash, &number)) {
        add_again(to, &sums->known[number], sum);
        return CAIRN_OK;
    }
    const struct cairn_collected *collected =
        cairn_walk_intake_find(to->intake, key->hash, key->tid, key->id);
    if (collected && sum->n)
        return add_key(to, collected, hash, key, sum);
    if (!collected) /* it waits yet, but at the end */
        sums->n_lost += to->is_end ? sum->n : 0;
    return CAIRN_OK;
}

static int on_asleep(void *ctx, const struct cairn_bpf_slept_key *key,
                     const struct cairn_bpf_sum *sum)
{
    const struct adding *to = ctx;
    const struct cairn_collected *collected =
        cairn_walk_intake_find(to->intake, key->hash, key->tid, key->id);
    if (collected)
        return collect_slept(to->collect, collected, key, sum, to->now_ns - sum->value);
    to->intake->sums.n_lost++;
    return CAIRN_OK;
}

/* All begin anew in the kernel. */
static void forget(struct cairn_off_cpu_sums *sums)
{
    uint64_t n_lost = sums->n_lost;
    cairn_off_cpu_sums_done(sums);
    sums->n_lost = n_lost;
}

int cairn_off_cpu_sums_add(struct cairn_walk_intake *intake, struct cairn_collect *collect,
                           bool is_end)
{
    struct adding to = {intake, collect, cairn_now_ns(), is_end};
    struct cairn_off_cpu *off = cairn_walker_off_cpu(intake->walker);
    bool forgotten = false;
    int code = cairn_off_cpu_slept(off, on_slept, &to, &forgotten);
    if (forgotten)
        forget(&intake->sums);
    if (code == CAIRN_OK && is_end) {
        code = cairn_off_cpu_asleep(off, to.now_ns, on_asleep, &to);
        intake->sums.n_lost += cairn_off_cpu_lost(off);
    }
    return code;
}

void cairn_off_cpu_sums_renumber(struct cairn_off_cpu_sums *sums, const uint32_t *numbers)
{
    for (size_t i = 0; i < sums->n_known; i++)
        sums->known[i].sample = cairn_fold_number(numbers, sums->known[i].sample);
}
