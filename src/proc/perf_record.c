/* SPDX-License-Identifier: MIT */
/*
 * Records as perf_event_open(2) lays them out, all in the byte order of this machine:
 *
 *     header  u32 type | u16 misc | u16 size (with the header)
 *     SAMPLE  u64 id | u64 ip | u32 pid, tid | u64 time | u64 period |
 *             u64 n | u64 chain[n] |
 *             [u32 size | raw[size], both together a multiple of 8] |
 *             [u64 abi | u64 regs[], unless abi is 0] |
 *             [u64 size | stack[size] | u64 size of what is valid, unless size is 0]
 *     MMAP2   u32 pid, tid | u64 start, size, off | 24 bytes: device and inode, or build ID |
 *             u32 protection, flags | path, padded to 8 | trailer
 *     COMM    u32 pid, tid | name, padded to 8 | trailer
 *     FORK    u32 pid, ppid, tid, ptid | u64 time | trailer         (EXIT alike)
 *     LOST    u64 id | u64 lost | trailer           LOST_SAMPLES  u64 lost | trailer
 *     trailer u32 pid, tid | u64 time | u64 id
 */
#include "proc/perf_record.h"

#include "base/reader.h"
#include "proc/perf_regs.h"

enum { HEADER_BYTES = 8, TRAILER_BYTES = 24 };

int cairn_perf_record_next(struct cairn_span bytes, size_t *pos, struct cairn_span *ret_record)
{
    if (*pos >= bytes.size)
        return 0;
    struct cairn_reader r = cairn_reader_of(bytes, false);
    cairn_reader_seek(&r, *pos);
    cairn_reader_skip(&r, 6);
    uint16_t size = cairn_reader_u16(&r);
    if (r.failed || size < HEADER_BYTES || !cairn_span_slice(bytes, *pos, size, ret_record))
        return -1;
    *pos += size;
    return 1;
}

static void read_stack(struct cairn_reader *r, struct cairn_perf_record *record)
{
    uint64_t size = cairn_reader_u64(r);
    struct cairn_span bytes = cairn_reader_take(r, size);
    uint64_t valid = size ? cairn_reader_u64(r) : 0;
    if (!cairn_span_slice(bytes, 0, valid, &record->stack))
        r->failed = true;
}

static void read_regs(struct cairn_reader *r, struct cairn_perf_record *record)
{
    uint64_t abi = cairn_reader_u64(r);
    if (abi == PERF_SAMPLE_REGS_ABI_32 || abi == PERF_SAMPLE_REGS_ABI_64)
        cairn_perf_regs_read(r, abi == PERF_SAMPLE_REGS_ABI_32, &record->regs);
    else if (abi != PERF_SAMPLE_REGS_ABI_NONE)
        r->failed = true;
}

static void read_raw(struct cairn_reader *r, struct cairn_perf_record *record)
{
    const uint32_t size = cairn_reader_u32(r);
    if ((size + sizeof size) % sizeof(uint64_t))
        r->failed = true;
    record->raw = cairn_reader_take(r, size);
}

static void read_sample(struct cairn_reader *r, bool has_raw, struct cairn_perf_record *record)
{
    record->id = cairn_reader_u64(r);
    record->ip = cairn_reader_u64(r);
    record->pid = cairn_reader_u32(r);
    record->tid = cairn_reader_u32(r);
    record->time_ns = cairn_reader_u64(r);
    record->period = cairn_reader_u64(r);
    uint64_t n = cairn_reader_u64(r);
    if (n > CAIRN_PERF_CHAIN_MAX)
        r->failed = true;
    else
        record->chain = cairn_reader_take(r, n * sizeof(uint64_t));
    if (has_raw)
        read_raw(r, record);
    if (cairn_reader_more(r))
        read_regs(r, record);
    if (cairn_reader_more(r))
        read_stack(r, record);
}

static void read_mapping(struct cairn_reader *r, struct cairn_perf_record *record)
{
    cairn_reader_skip(r, 8);
    record->start = cairn_reader_u64(r);
    record->size = cairn_reader_u64(r);
    record->off = cairn_reader_u64(r);
    if (record->misc & PERF_RECORD_MISC_MMAP_BUILD_ID) {
        uint8_t size = cairn_reader_u8(r);
        cairn_reader_skip(r, 3);
        struct cairn_span raw = cairn_reader_take(r, CAIRN_PERF_BUILD_ID_MAX);
        if (!cairn_span_slice(raw, 0, size, &record->build_id))
            r->failed = true;
    } else {
        record->dev_major = cairn_reader_u32(r);
        record->dev_minor = cairn_reader_u32(r);
        record->inode = cairn_reader_u64(r);
        cairn_reader_skip(r, 8);
    }
    record->protection = cairn_reader_u32(r);
    cairn_reader_skip(r, 4);
    record->text = cairn_reader_str(r);
}

static void read_ancestry(struct cairn_reader *r, struct cairn_perf_record *record)
{
    record->pid = cairn_reader_u32(r);
    record->parent_pid = cairn_reader_u32(r);
    record->tid = cairn_reader_u32(r);
    record->parent_tid = cairn_reader_u32(r);
    record->time_ns = cairn_reader_u64(r);
}

static void read_body(struct cairn_reader *r, struct cairn_perf_record *record)
{
    switch (record->type) {
    case PERF_RECORD_MMAP2:
        read_mapping(r, record);
        break;
    case PERF_RECORD_COMM:
        cairn_reader_skip(r, 8);
        record->text = cairn_reader_str(r);
        break;
    case PERF_RECORD_FORK:
    case PERF_RECORD_EXIT:
        read_ancestry(r, record);
        break;
    case PERF_RECORD_LOST:
        cairn_reader_skip(r, 8);
        record->n_lost = cairn_reader_u64(r);
        break;
    case PERF_RECORD_LOST_SAMPLES:
        record->n_lost = cairn_reader_u64(r);
        break;
    default:
        break;
    }
}

/* MMAP2 and COMM speak of the thread that did it, as the trailer does; FORK and EXIT are written by
 * the parent, so their own numbers stand. */
static void read_trailer(struct cairn_reader *r, struct cairn_perf_record *record)
{
    uint32_t pid = cairn_reader_u32(r);
    uint32_t tid = cairn_reader_u32(r);
    uint64_t time_ns = cairn_reader_u64(r);
    record->id = cairn_reader_u64(r);
    if (record->type == PERF_RECORD_FORK || record->type == PERF_RECORD_EXIT)
        return;
    record->pid = pid;
    record->tid = tid;
    record->time_ns = time_ns;
}

bool cairn_perf_record_parse(struct cairn_span bytes, bool has_raw,
                             struct cairn_perf_record *ret_record)
{
    struct cairn_reader r = cairn_reader_of(bytes, false);
    struct cairn_perf_record record = {.text = ""};
    record.type = cairn_reader_u32(&r);
    record.misc = cairn_reader_u16(&r);
    cairn_reader_skip(&r, 2);
    if (record.type == PERF_RECORD_SAMPLE) {
        read_sample(&r, has_raw, &record);
    } else {
        struct cairn_span head, tail;
        if (bytes.size < HEADER_BYTES + TRAILER_BYTES ||
            !cairn_span_slice(bytes, 0, bytes.size - TRAILER_BYTES, &head) ||
            !cairn_span_slice(bytes, bytes.size - TRAILER_BYTES, TRAILER_BYTES, &tail))
            return false;
        r.bytes = head;
        read_body(&r, &record);
        struct cairn_reader trailer = cairn_reader_of(tail, false);
        read_trailer(&trailer, &record);
    }
    if (r.failed)
        return false;
    *ret_record = record;
    return true;
}

size_t cairn_perf_chain_part(struct cairn_span chain, enum perf_callchain_context whose,
                             uint64_t *ret_addresses, size_t max)
{
    struct cairn_reader r = cairn_reader_of(chain, false);
    uint64_t context = 0;
    size_t n = 0;
    while (cairn_reader_left(&r) >= sizeof context) {
        uint64_t address = cairn_reader_u64(&r);
        if (address >= (uint64_t)PERF_CONTEXT_MAX) /* marks are small negative numbers */
            context = address;
        else if (context == (uint64_t)whose && n < max)
            ret_addresses[n++] = address;
    }
    return n;
}

void cairn_perf_chain_split(struct cairn_span chain, struct cairn_perf_chain *to)
{
    to->n_kernel =
        cairn_perf_chain_part(chain, PERF_CONTEXT_KERNEL, to->kernel, CAIRN_PERF_CHAIN_MAX);
    to->n_user = cairn_perf_chain_part(chain, PERF_CONTEXT_USER, to->user, CAIRN_PERF_CHAIN_MAX);
}
