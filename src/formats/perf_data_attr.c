/* SPDX-License-Identifier: MIT */
#include "formats/perf_data_attr.h"

#include <inttypes.h>
#include <stdio.h>

enum { CPU_CLOCK = 0, TASK_CLOCK = 1, WORD = 8 };

/* Where fields are that the parser does not come to one by one. */
enum { AT_BRANCH_TYPE = 72, AT_REGS_INTR = 96 };

bool cairn_perf_data_is_clock(const struct cairn_perf_data_attr *attr)
{
    return attr->type == CAIRN_PERF_DATA_TYPE_SOFTWARE &&
           (attr->config == CPU_CLOCK || attr->config == TASK_CLOCK);
}

static uint8_t reverse_bits(uint8_t byte)
{
    uint8_t reversed = 0;
    for (int i = 0; i < 8; i++)
        reversed = (uint8_t)(reversed | (byte >> i & 1) << (7 - i));
    return reversed;
}

/* Compilers of big-endian CPUs put the first bit field into the highest bit of the first byte. */
static uint64_t read_flags(struct cairn_reader *r)
{
    struct cairn_span raw = cairn_reader_take(r, WORD);
    bool big = r->swap == (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);
    uint64_t flags = 0;
    for (size_t i = 0; i < raw.size; i++)
        flags |= (uint64_t)(big ? reverse_bits(raw.data[i]) : raw.data[i]) << (8 * i);
    return flags;
}

bool cairn_perf_data_attr_parse(struct cairn_span bytes, bool swap,
                                struct cairn_perf_data_attr *ret_attr)
{
    struct cairn_reader r = cairn_reader_of(bytes, swap);
    struct cairn_perf_data_attr attr = {.event = UINT32_MAX};
    if (bytes.size < CAIRN_PERF_DATA_ATTR_MIN)
        return false;
    attr.type = cairn_reader_u32(&r);
    cairn_reader_skip(&r, 4);
    attr.config = cairn_reader_u64(&r);
    attr.sample_period = cairn_reader_u64(&r);
    attr.sample_type = cairn_reader_u64(&r);
    attr.read_format = cairn_reader_u64(&r);
    attr.flags = read_flags(&r);
    /* A read behind the end gives 0, which is what the kernel takes for what is not said. */
    cairn_reader_seek(&r, AT_BRANCH_TYPE);
    attr.branch_type = cairn_reader_u64(&r);
    attr.regs_user = cairn_reader_u64(&r);
    cairn_reader_seek(&r, AT_REGS_INTR);
    attr.regs_intr = cairn_reader_u64(&r);
    cairn_reader_seek(&r, CAIRN_PERF_DATA_AT_MAX_STACK);
    attr.max_stack = cairn_reader_u16(&r);
    *ret_attr = attr;
    return true;
}

void cairn_perf_data_attr_name(const struct cairn_perf_data_attr *attr,
                               char name[CAIRN_PERF_DATA_NAME_BYTES])
{
    static const char *const hardware[] = {"cycles",
                                           "instructions",
                                           "cache-references",
                                           "cache-misses",
                                           "branches",
                                           "branch-misses",
                                           "bus-cycles",
                                           "stalled-cycles-frontend",
                                           "stalled-cycles-backend",
                                           "ref-cycles"};
    static const char *const software[] = {
        "cpu-clock",        "task-clock",   "page-faults",  "context-switches",
        "cpu-migrations",   "minor-faults", "major-faults", "alignment-faults",
        "emulation-faults", "dummy",        "bpf-output",   "cgroup-switches"};
    _Static_assert(sizeof hardware / sizeof *hardware == CAIRN_PERF_DATA_N_HARDWARE, "all");
    _Static_assert(sizeof software / sizeof *software == CAIRN_PERF_DATA_N_SOFTWARE, "all");
    if (attr->type == CAIRN_PERF_DATA_TYPE_HARDWARE && attr->config < CAIRN_PERF_DATA_N_HARDWARE)
        snprintf(name, CAIRN_PERF_DATA_NAME_BYTES, "%s", hardware[attr->config]);
    else if (attr->type == CAIRN_PERF_DATA_TYPE_SOFTWARE &&
             attr->config < CAIRN_PERF_DATA_N_SOFTWARE)
        snprintf(name, CAIRN_PERF_DATA_NAME_BYTES, "%s", software[attr->config]);
    else if (attr->type == CAIRN_PERF_DATA_TYPE_TRACEPOINT)
        snprintf(name, CAIRN_PERF_DATA_NAME_BYTES, "tracepoint %" PRIu64, attr->config);
    else if (attr->type == CAIRN_PERF_DATA_TYPE_CACHE)
        snprintf(name, CAIRN_PERF_DATA_NAME_BYTES, "cache event 0x%" PRIx64, attr->config);
    else if (attr->type == CAIRN_PERF_DATA_TYPE_RAW)
        snprintf(name, CAIRN_PERF_DATA_NAME_BYTES, "raw 0x%" PRIx64, attr->config);
    else if (attr->type == CAIRN_PERF_DATA_TYPE_BREAKPOINT)
        snprintf(name, CAIRN_PERF_DATA_NAME_BYTES, "breakpoint");
    else
        snprintf(name, CAIRN_PERF_DATA_NAME_BYTES, "event %u:0x%" PRIx64, attr->type, attr->config);
}

static int words_before(const struct cairn_perf_data_attr *attr,
                        const enum cairn_perf_data_field *fields, size_t n)
{
    int words = 0;
    for (size_t i = 0; i < n; i++)
        words += cairn_perf_data_has(attr, fields[i]);
    return words;
}

int cairn_perf_data_id_in_sample(const struct cairn_perf_data_attr *attr)
{
    static const enum cairn_perf_data_field before[] = {CAIRN_PERF_DATA_IP, CAIRN_PERF_DATA_TID,
                                                        CAIRN_PERF_DATA_TIME, CAIRN_PERF_DATA_ADDR};
    if (cairn_perf_data_has(attr, CAIRN_PERF_DATA_IDENTIFIER))
        return 0;
    if (!cairn_perf_data_has(attr, CAIRN_PERF_DATA_ID))
        return -1;
    return WORD * words_before(attr, before, sizeof before / sizeof *before);
}

struct cairn_perf_data_trailer cairn_perf_data_trailer_of(const struct cairn_perf_data_attr *attr,
                                                          struct cairn_span body, bool swap)
{
    static const enum cairn_perf_data_field fields[] = {
        CAIRN_PERF_DATA_TID,       CAIRN_PERF_DATA_TIME, CAIRN_PERF_DATA_ID,
        CAIRN_PERF_DATA_STREAM_ID, CAIRN_PERF_DATA_CPU,  CAIRN_PERF_DATA_IDENTIFIER};
    enum { N = sizeof fields / sizeof *fields };
    struct cairn_perf_data_trailer trailer = {0};
    size_t size = cairn_perf_data_flag(attr, CAIRN_PERF_DATA_SAMPLE_ID_ALL)
                      ? WORD * (size_t)words_before(attr, fields, N)
                      : 0;
    if (!size || size > body.size)
        return trailer;
    struct cairn_reader r = cairn_reader_of(body, swap);
    cairn_reader_skip(&r, body.size - size);
    trailer.size = size;
    for (size_t i = 0; i < N; i++) {
        if (!cairn_perf_data_has(attr, fields[i]))
            continue;
        if (fields[i] == CAIRN_PERF_DATA_TID) {
            cairn_reader_skip(&r, 4);
            trailer.tid = (int)cairn_reader_u32(&r);
            trailer.has_tid = true;
            continue;
        }
        uint64_t word = cairn_reader_u64(&r);
        if (fields[i] == CAIRN_PERF_DATA_TIME) {
            trailer.time = word;
            trailer.has_time = true;
        } else if (fields[i] == CAIRN_PERF_DATA_ID || fields[i] == CAIRN_PERF_DATA_IDENTIFIER) {
            trailer.id = word;
            trailer.has_id = true;
        }
    }
    return trailer;
}
