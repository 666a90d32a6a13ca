/* SPDX-License-Identifier: MIT */
/* The order of the fields: Linux, kernel/events/core.c, perf_output_sample(). */
#include "formats/perf_data_sample.h"

enum { WORD = 8, BRANCH_BYTES = 24 };

/* read_format, by number of the bit. */
enum { READ_ENABLED, READ_RUNNING, READ_ID, READ_GROUP, READ_LOST };

/* branch_sample_type, by number of the bit. */
enum { BRANCH_HW_INDEX = 17, BRANCH_COUNTERS = 19 };

static bool has_bit(uint64_t bits, unsigned bit)
{
    return bits >> bit & 1;
}

static struct cairn_span take_words(struct cairn_reader *r, uint64_t n)
{
    if (n > cairn_reader_left(r) / WORD) {
        r->failed = true;
        return (struct cairn_span){0};
    }
    return cairn_reader_take(r, n * WORD);
}

/* Of a group: {n, times, {value, number, lost} ...}; of one event: {value, times, number, lost} */
static struct cairn_perf_data_readings take_readings(struct cairn_reader *r, uint64_t format)
{
    const bool is_group = has_bit(format, READ_GROUP);
    const size_t times = (size_t)has_bit(format, READ_ENABLED) + has_bit(format, READ_RUNNING);
    struct cairn_perf_data_readings readings = {
        .n = 1, .step = 1u + has_bit(format, READ_ID) + has_bit(format, READ_LOST)};
    if (has_bit(format, READ_ID))
        readings.id_at = is_group ? 1 : 1 + times;
    if (is_group) {
        uint64_t n = cairn_reader_u64(r);
        if (n > cairn_reader_left(r) / WORD)
            r->failed = true;
        readings.n = r->failed ? 0 : (size_t)n;
        readings.first = times;
    }
    readings.words = take_words(r, times + readings.n * readings.step);
    return readings;
}

static void skip_branches(struct cairn_reader *r, uint64_t branch_type)
{
    uint64_t n = cairn_reader_u64(r);
    if (has_bit(branch_type, BRANCH_HW_INDEX))
        cairn_reader_skip(r, WORD);
    if (n > cairn_reader_left(r) / BRANCH_BYTES)
        r->failed = true;
    else
        cairn_reader_skip(r, n * BRANCH_BYTES);
    if (has_bit(branch_type, BRANCH_COUNTERS))
        (void)take_words(r, n);
}

static struct cairn_perf_data_regs take_regs(struct cairn_reader *r, uint64_t mask)
{
    struct cairn_perf_data_regs regs = {.abi = cairn_reader_u64(r), .mask = mask};
    if (regs.abi)
        regs.words = take_words(r, (uint64_t)__builtin_popcountll(mask));
    return regs;
}

/* Of what was reserved for the copy the kernel says how much it filled. */
static void take_stack(struct cairn_reader *r, struct cairn_perf_data_sample *s)
{
    uint64_t size = cairn_reader_u64(r);
    if (!size)
        return;
    s->stack = cairn_reader_take(r, size);
    uint64_t filled = cairn_reader_u64(r);
    s->is_stack_full = filled >= s->stack.size;
    s->stack.size = filled < s->stack.size ? (size_t)filled : s->stack.size;
}

/* From the call chain on. */
static void parse_long(struct cairn_reader *r, const struct cairn_perf_data_attr *attr,
                       struct cairn_perf_data_sample *s)
{
    static const enum cairn_perf_data_field words[] = {
        CAIRN_PERF_DATA_PHYS_ADDR, CAIRN_PERF_DATA_CGROUP, CAIRN_PERF_DATA_DATA_PAGE_SIZE,
        CAIRN_PERF_DATA_CODE_PAGE_SIZE};
    if (cairn_perf_data_has(attr, CAIRN_PERF_DATA_CALLCHAIN))
        s->chain = take_words(r, cairn_reader_u64(r));
    if (cairn_perf_data_has(attr, CAIRN_PERF_DATA_RAW))
        s->raw = cairn_reader_take(r, cairn_reader_u32(r));
    if (cairn_perf_data_has(attr, CAIRN_PERF_DATA_BRANCH_STACK))
        skip_branches(r, attr->branch_type);
    if (cairn_perf_data_has(attr, CAIRN_PERF_DATA_REGS_USER))
        s->regs = take_regs(r, attr->regs_user);
    if (cairn_perf_data_has(attr, CAIRN_PERF_DATA_STACK_USER))
        take_stack(r, s);
    if (cairn_perf_data_has(attr, CAIRN_PERF_DATA_WEIGHT) ||
        cairn_perf_data_has(attr, CAIRN_PERF_DATA_WEIGHT_STRUCT))
        cairn_reader_skip(r, WORD);
    if (cairn_perf_data_has(attr, CAIRN_PERF_DATA_DATA_SRC))
        cairn_reader_skip(r, WORD);
    if (cairn_perf_data_has(attr, CAIRN_PERF_DATA_TRANSACTION))
        cairn_reader_skip(r, WORD);
    if (cairn_perf_data_has(attr, CAIRN_PERF_DATA_REGS_INTR))
        (void)take_regs(r, attr->regs_intr);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (cairn_perf_data_has(attr, words[i]))
            cairn_reader_skip(r, WORD);
    if (cairn_perf_data_has(attr, CAIRN_PERF_DATA_AUX))
        cairn_reader_skip(r, cairn_reader_u64(r));
}

bool cairn_perf_data_sample_parse(struct cairn_span body, bool swap,
                                  const struct cairn_perf_data_attr *attr,
                                  struct cairn_perf_data_sample *ret_sample)
{
    struct cairn_reader r = cairn_reader_of(body, swap);
    struct cairn_perf_data_sample s = {
        .pid = -1,
        .tid = -1,
        .cpu = -1,
        .has_ip = cairn_perf_data_has(attr, CAIRN_PERF_DATA_IP),
        .has_time = cairn_perf_data_has(attr, CAIRN_PERF_DATA_TIME),
        .has_period = cairn_perf_data_has(attr, CAIRN_PERF_DATA_PERIOD),
    };
    if (cairn_perf_data_has(attr, CAIRN_PERF_DATA_IDENTIFIER))
        cairn_reader_skip(&r, WORD);
    if (s.has_ip)
        s.ip = cairn_reader_u64(&r);
    if (cairn_perf_data_has(attr, CAIRN_PERF_DATA_TID)) {
        s.pid = (int)cairn_reader_u32(&r);
        s.tid = (int)cairn_reader_u32(&r);
    }
    if (s.has_time)
        s.time = cairn_reader_u64(&r);
    if (cairn_perf_data_has(attr, CAIRN_PERF_DATA_ADDR))
        cairn_reader_skip(&r, WORD);
    if (cairn_perf_data_has(attr, CAIRN_PERF_DATA_ID))
        cairn_reader_skip(&r, WORD);
    if (cairn_perf_data_has(attr, CAIRN_PERF_DATA_STREAM_ID))
        cairn_reader_skip(&r, WORD);
    if (cairn_perf_data_has(attr, CAIRN_PERF_DATA_CPU)) {
        s.cpu = (int)(cairn_reader_u32(&r) & INT32_MAX);
        cairn_reader_skip(&r, WORD - 4);
    }
    if (s.has_period)
        s.period = cairn_reader_u64(&r);
    if (cairn_perf_data_has(attr, CAIRN_PERF_DATA_READ))
        s.readings = take_readings(&r, attr->read_format);
    s.has_time &= s.time < cairn_perf_data_sum_time;
    parse_long(&r, attr, &s);
    if (r.failed)
        return false;
    *ret_sample = s;
    return true;
}

bool cairn_perf_data_reg(const struct cairn_perf_data_regs *regs, unsigned number, bool swap,
                         uint64_t *ret_value)
{
    if (number > 63 || !has_bit(regs->mask, number))
        return false;
    uint64_t below = regs->mask & ((UINT64_C(1) << number) - 1);
    struct cairn_reader r = cairn_reader_of(regs->words, swap);
    cairn_reader_skip(&r, WORD * (uint64_t)__builtin_popcountll(below));
    uint64_t value = cairn_reader_u64(&r);
    if (r.failed)
        return false;
    *ret_value = value;
    return true;
}

/* enum perf_callchain_context: everything from -4095 on is a marker. */
enum marker {
    MARK_KERNEL = -128,
    MARK_USER = -512,
    MARK_USER_DEFERRED = -640,
    MARK_MOST = -4095,
};

static void add_user(struct cairn_perf_data_chain *chain, uint64_t ip)
{
    struct cairn_stream_frame frame = {
        .va = ip, .how = CAIRN_HOW_TEXT, .exact = chain->n_user == 0 || chain->has_calls};
    chain->user[chain->n_user++] = frame;
}

static void add(struct cairn_perf_data_chain *chain, enum cairn_perf_data_mode mode, uint64_t ip)
{
    if (mode == PERF_DATA_MODE_KERNEL && chain->n_kernel < CAIRN_PERF_DATA_CHAIN_MAX)
        chain->kernel[chain->n_kernel++] = ip;
    else if (mode == PERF_DATA_MODE_USER && chain->n_user < CAIRN_PERF_DATA_CHAIN_MAX)
        add_user(chain, ip);
    else
        chain->n_other++;
}

static enum cairn_perf_data_mode mode_of(int64_t marker)
{
    return marker == MARK_KERNEL                                 ? PERF_DATA_MODE_KERNEL
           : marker == MARK_USER || marker == MARK_USER_DEFERRED ? PERF_DATA_MODE_USER
                                                                 : PERF_DATA_MODE_UNKNOWN;
}

void cairn_perf_data_chain_split(const struct cairn_perf_data_sample *sample, bool swap,
                                 enum cairn_perf_data_mode mode,
                                 struct cairn_perf_data_chain *chain)
{
    struct cairn_reader r = cairn_reader_of(sample->chain, swap);
    enum cairn_perf_data_mode now = mode;
    chain->n_kernel = chain->n_user = chain->n_other = 0;
    chain->is_deferred = false;
    while (cairn_reader_more(&r)) {
        uint64_t ip = cairn_reader_u64(&r);
        if (ip < (uint64_t)(int64_t)MARK_MOST) {
            add(chain, now, ip);
            continue;
        }
        now = mode_of((int64_t)ip);
        if ((int64_t)ip == MARK_USER_DEFERRED) {
            chain->is_deferred = true;
            chain->cookie = cairn_reader_u64(&r);
        }
    }
    if (!chain->n_kernel && !chain->n_user && !chain->n_other && sample->has_ip)
        add(chain, mode, sample->ip);
}
