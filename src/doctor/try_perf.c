/* SPDX-License-Identifier: MIT */
/* Tries of perf_event_open(2): events that are opened as a sampler would, and never switched on. */
#include <errno.h>
#include <linux/perf_event.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "doctor/tries.h"

/* RING_PAGES: what a capture asks for, for each CPU. */
enum { FREQUENCY_HZ = 99, STACK_BYTES = 8192, RING_PAGES = 128 };

static struct perf_event_attr describe(bool with_kernel)
{
    return (struct perf_event_attr){
        .size = sizeof(struct perf_event_attr),
        .type = PERF_TYPE_SOFTWARE,
        .config = PERF_COUNT_SW_CPU_CLOCK,
        .freq = 1,
        .sample_freq = FREQUENCY_HZ,
        .sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_CALLCHAIN,
        .disabled = 1,
        .exclude_hv = 1,
        .exclude_kernel = !with_kernel,
        .exclude_callchain_kernel = !with_kernel,
    };
}

/* Of `pid`, or with -1 of all that one CPU runs. A descriptor, or -1 and errno. */
static int open_event(const struct perf_event_attr *attr, int pid)
{
    int fd = -1;
    if (pid >= 0)
        return (int)syscall(SYS_perf_event_open, attr, pid, -1, -1, PERF_FLAG_FD_CLOEXEC);
    /* CPU 0 may have been switched off. */
    for (int cpu = 0; cpu < 4096; cpu++) {
        fd = (int)syscall(SYS_perf_event_open, attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
        if (fd >= 0 || errno != ENODEV)
            break;
    }
    return fd;
}

static int try_event(const struct perf_event_attr *attr, int pid)
{
    int fd = open_event(attr, pid);
    if (fd < 0)
        return errno;
    close(fd);
    return 0;
}

int cairn_try_perf_user(const struct cairn_doctor_subject *subject,
                        struct cairn_doctor_answer *answer)
{
    (void)answer;
    struct perf_event_attr attr = describe(false);
    return try_event(&attr, subject->pid);
}

int cairn_try_perf_kernel(const struct cairn_doctor_subject *subject,
                          struct cairn_doctor_answer *answer)
{
    (void)answer;
    struct perf_event_attr attr = describe(true);
    return try_event(&attr, subject->pid);
}

int cairn_try_perf_all(const struct cairn_doctor_subject *subject,
                       struct cairn_doctor_answer *answer)
{
    (void)subject, (void)answer;
    struct perf_event_attr attr = describe(false);
    return try_event(&attr, -1);
}

int cairn_try_perf_foreign(const struct cairn_doctor_subject *subject,
                           struct cairn_doctor_answer *answer)
{
    (void)answer;
    struct perf_event_attr attr = describe(false);
    return try_event(&attr, subject->foreign);
}

int cairn_try_perf_counter(const struct cairn_doctor_subject *subject,
                           struct cairn_doctor_answer *answer)
{
    (void)answer;
    struct perf_event_attr attr = describe(false);
    attr.type = PERF_TYPE_HARDWARE;
    attr.config = PERF_COUNT_HW_CPU_CYCLES;
    return try_event(&attr, subject->pid);
}

int cairn_try_perf_stack(const struct cairn_doctor_subject *subject,
                         struct cairn_doctor_answer *answer)
{
    (void)answer;
    struct perf_event_attr attr = describe(false);
    attr.sample_type |= PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
    attr.sample_regs_user = 1; /* one that every CPU has */
    attr.sample_stack_user = STACK_BYTES;
    return try_event(&attr, subject->pid);
}

/* `number`: the bytes of the largest that is allowed. An event of a CPU, for one of a process
 * may be inherited by none that has a ring. */
int cairn_try_perf_ring(const struct cairn_doctor_subject *subject,
                        struct cairn_doctor_answer *answer)
{
    struct perf_event_attr attr = describe(false);
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    int fd = open_event(&attr, subject->pid), os_errno = errno;
    if (fd < 0)
        return os_errno;
    for (size_t pages = RING_PAGES; pages > 0; pages /= 2) {
        void *ring = mmap(NULL, (pages + 1) * page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (ring != MAP_FAILED) {
            answer->number = pages * page;
            munmap(ring, (pages + 1) * page);
            close(fd);
            return pages == RING_PAGES ? 0 : os_errno;
        }
        os_errno = errno;
    }
    close(fd);
    return os_errno;
}
