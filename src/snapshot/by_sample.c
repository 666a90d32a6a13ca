/* SPDX-License-Identifier: MIT */
/*
 * A thread that runs has its registers nowhere but in its CPU. A clock of perf_event_open(2)
 * strikes there once: the interrupt's handler copies registers, the frames in the kernel and the
 * top of the stack, in the thread's own context. It is not stopped, and no system call ends.
 *
 *     open, disabled ──► enabled for one sample ──► wait ──► read ──► close
 */
#include "snapshot/by_sample.h"

#include <errno.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "proc/perf_record.h"
#include "proc/perf_regs.h"
#include "target/regs.h"

/* The kernel lets a record have 65,535 bytes, and cuts the stack so that it fits. Its shortest
 * period is 10 us. */
enum { PERIOD_NS = 10000, STACK_BYTES = 65528, RING_BYTES = 128 << 10 };

/* The control page comes first. */
static size_t page_bytes(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

static int open_event(int tid, bool user_only)
{
    struct perf_event_attr attr = {
        .size = sizeof attr,
        .type = PERF_TYPE_SOFTWARE,
        .config = PERF_COUNT_SW_CPU_CLOCK,
        .sample_period = PERIOD_NS,
        .sample_type = CAIRN_PERF_SAMPLE_TYPE | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER,
        .sample_id_all = 1,
        .sample_regs_user = cairn_perf_regs_mask,
        .sample_stack_user = STACK_BYTES,
        .wakeup_events = 1,
        .disabled = 1,
        .exclude_hv = 1,
        .exclude_kernel = user_only,
        .exclude_callchain_user = 1,
    };
    return (int)syscall(SYS_perf_event_open, &attr, tid, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

/* Where the kernel's side is not for us to see, a thread is only caught outside of it. */
static int open_any(int tid, struct cairn_err *err)
{
    int fd = open_event(tid, false);
    if (fd < 0 && (errno == EACCES || errno == EPERM))
        fd = open_event(tid, true);
    return fd >= 0 ? fd : cairn_fail_os(err, errno, "thread %d: cannot be sampled", tid);
}

static uint64_t time_for(const struct cairn_catcher *catcher)
{
    uint64_t most_ns = (uint64_t)catcher->sample_ms * 1000000u;
    return most_ns < catcher->sample_left_ns ? most_ns : catcher->sample_left_ns;
}

/* What stands in the ring then is one record, for the event ends with it. */
static struct cairn_span await(struct cairn_catcher *catcher, int fd, void *ring)
{
    const struct perf_event_mmap_page *control = ring;
    struct pollfd wait = {.fd = fd, .events = POLLIN};
    uint64_t since_ns = cairn_now_ns(), most_ns = time_for(catcher);
    if (ioctl(fd, PERF_EVENT_IOC_REFRESH, 1) == 0)
        (void)poll(&wait, 1, (int)((most_ns + 999999) / 1000000));
    ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
    uint64_t waited_ns = cairn_now_ns() - since_ns;
    catcher->sample_left_ns -=
        waited_ns < catcher->sample_left_ns ? waited_ns : catcher->sample_left_ns;
    uint64_t head = __atomic_load_n(&control->data_head, __ATOMIC_ACQUIRE);
    return (struct cairn_span){(uint8_t *)ring + page_bytes(),
                               head < RING_BYTES ? (size_t)head : RING_BYTES};
}

static int keep(const struct cairn_perf_record *sample, struct cairn_caught *thread,
                struct cairn_err *err)
{
    size_t size = sample->stack.size;
    if (cairn_grow((void **)&thread->copy, &thread->copy_cap, size ? size : 1, 1) < 0)
        return cairn_fail_memory(err);
    if (size)
        memcpy(thread->copy, sample->stack.data, size);
    thread->regs = sample->regs;
    thread->copy_va = cairn_target_sp(&sample->regs);
    thread->copy_size = size;
    cairn_facts_caught(&thread->facts, thread->regs.ip, thread->copy_va);
    thread->n_kernel = cairn_perf_chain_part(sample->chain, PERF_CONTEXT_KERNEL, thread->kernel,
                                             CAIRN_KERNEL_FRAMES);
    return CAIRN_OK;
}

/* One with registers: without them the thread has no user side. */
static bool find_sample(struct cairn_span bytes, struct cairn_perf_record *ret_record)
{
    struct cairn_span record;
    size_t pos = 0;
    while (cairn_perf_record_next(bytes, &pos, &record) > 0)
        if (cairn_perf_record_parse(record, false, ret_record) &&
            ret_record->type == PERF_RECORD_SAMPLE && ret_record->regs.known)
            return true;
    return false;
}

static int sample(struct cairn_catcher *catcher, struct cairn_caught *thread, int fd,
                  struct cairn_err *err)
{
    struct cairn_perf_record record;
    const int tid = thread->facts.tid;
    void *ring = mmap(NULL, page_bytes() + RING_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (ring == MAP_FAILED)
        return cairn_fail_os(err, errno, "thread %d: no room for its sample", tid);
    struct cairn_span bytes = await(catcher, fd, ring);
    int code;
    if (find_sample(bytes, &record))
        code = keep(&record, thread, err);
    else
        code = cairn_fail(err, CAIRN_E_LIMIT, "thread %d: runs, but did not for 10 us in %u ms",
                          tid, catcher->sample_ms);
    munmap(ring, page_bytes() + RING_BYTES);
    return code;
}

int cairn_catch_by_sample(struct cairn_catcher *catcher, struct cairn_caught *thread, size_t want,
                          struct cairn_err *err)
{
    const int tid = thread->facts.tid;
    if (!cairn_perf_regs_mask)
        return cairn_fail(err, CAIRN_E_SUPPORT, "thread %d: of a CPU that is not sampled here",
                          tid);
    if (thread->facts.state != 'R')
        return cairn_fail(err, CAIRN_E_SUPPORT, "thread %d: sleeps, and only what runs is sampled",
                          tid);
    if (want > STACK_BYTES)
        return cairn_fail(err, CAIRN_E_LIMIT,
                          "thread %d: its stack is deeper than one sample holds", tid);
    if (!catcher->sample_left_ns)
        return cairn_fail(err, CAIRN_E_LIMIT, "thread %d: too many threads run, and wait for a CPU",
                          tid);
    int fd = open_any(tid, err);
    if (fd < 0)
        return fd;
    int code = sample(catcher, thread, fd, err);
    close(fd);
    return code;
}
