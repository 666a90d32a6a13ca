/* SPDX-License-Identifier: MIT */
#include "snapshot/facts.h"

#include <elf.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "base/error.h"
#include "base/foreign.h"
#include "proc/process.h"

enum { NAME_SIZE = 64, LINE_MAX_BYTES = 4096, STACK_MAX_BYTES = 1 << 16 };

static int slurp(int pid, int tid, const char *file, size_t limit, struct cairn_buffer *ret_text,
                 struct cairn_err *err)
{
    char name[NAME_SIZE];
    snprintf(name, sizeof name, "task/%d/%s", tid, file);
    return cairn_process_slurp(pid, name, limit, ret_text, err);
}

bool cairn_place_parse(const char *text, struct cairn_thread_place *place)
{
    struct cairn_thread_place p = {.run_ns = place->run_ns, .n_runs = place->n_runs};
    uint64_t *a = p.arguments;
    int n = sscanf(text,
                   "%ld %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64
                   " %" SCNx64 " %" SCNx64,
                   &p.number, &a[0], &a[1], &a[2], &a[3], &a[4], &a[5], &p.sp, &p.ip);
    if (n == 9) {
        p.in_syscall = p.number >= 0;
        p.known = true;
    } else if (n == 3 && p.number == -1) {
        p.sp = a[0];
        p.ip = a[1];
        a[0] = a[1] = 0;
        p.known = true;
    } else if (strncmp(text, "running", 7) != 0) {
        return false;
    }
    *place = p;
    return true;
}

static void read_schedule(int pid, int tid, struct cairn_thread_place *place)
{
    struct cairn_buffer text = {0};
    if (slurp(pid, tid, "schedstat", LINE_MAX_BYTES, &text, NULL) == CAIRN_OK)
        sscanf(cairn_buffer_text(&text), "%" SCNu64 " %*u %" SCNu64, &place->run_ns,
               &place->n_runs);
    cairn_buffer_done(&text);
}

int cairn_place_read(int pid, int tid, struct cairn_thread_place *ret_place, struct cairn_err *err)
{
    struct cairn_thread_place place = {0};
    struct cairn_buffer text = {0};
    read_schedule(pid, tid, &place);
    int code = slurp(pid, tid, "syscall", LINE_MAX_BYTES, &text, err);
    if (code == CAIRN_OK && !cairn_place_parse(cairn_buffer_text(&text), &place))
        code =
            cairn_fail(err, CAIRN_E_FORMAT, "thread %d: its file syscall is not understood", tid);
    cairn_buffer_done(&text);
    if (code == CAIRN_OK)
        *ret_place = place;
    return code;
}

bool cairn_place_same(const struct cairn_thread_place *a, const struct cairn_thread_place *b)
{
    return a->known && b->known && a->number == b->number && a->sp == b->sp && a->ip == b->ip &&
           a->run_ns == b->run_ns && a->n_runs == b->n_runs &&
           memcmp(a->arguments, b->arguments, sizeof a->arguments) == 0;
}

void cairn_facts_read(int pid, int tid, struct cairn_thread_facts *ret_facts)
{
    enum { KERNEL_THREAD = 0x00200000 }; /* PF_KTHREAD of <linux/sched.h> */
    struct cairn_thread_stat stat;
    struct cairn_buffer text = {0};
    *ret_facts = (struct cairn_thread_facts){.tid = tid, .state = '?'};
    cairn_thread_name(pid, tid, ret_facts->name);
    if (cairn_thread_stat(pid, tid, &stat, NULL) == CAIRN_OK) {
        ret_facts->state = stat.state;
        ret_facts->is_kernel = stat.flags & KERNEL_THREAD;
    }
    (void)cairn_place_read(pid, tid, &ret_facts->place, NULL);
    if (slurp(pid, tid, "wchan", CAIRN_WCHAN_SIZE - 1, &text, NULL) == CAIRN_OK &&
        strcmp(cairn_buffer_text(&text), "0") != 0)
        snprintf(ret_facts->wchan, sizeof ret_facts->wchan, "%s", cairn_buffer_text(&text));
    cairn_buffer_done(&text);
}

void cairn_facts_caught(struct cairn_thread_facts *facts, uint64_t ip, uint64_t sp)
{
    /* A call that begins again is seen at its first byte (arm64: do_signal(), Linux 6.1). */
    enum { CALL_BYTES_MAX = 4 };
    const struct cairn_thread_place *place = &facts->place;
    if (place->known && place->sp == sp && place->ip - ip <= CALL_BYTES_MAX)
        return;
    facts->place = (struct cairn_thread_place){0};
    facts->wchan[0] = 0;
    facts->state = 'R';
}

uint32_t cairn_facts_machine(int pid)
{
    char path[NAME_SIZE];
    unsigned char head[EI_NIDENT + 4];
    snprintf(path, sizeof path, "/proc/%d/exe", pid);
    if (cairn_foreign_head(path, head, sizeof head) < sizeof head ||
        memcmp(head, ELFMAG, SELFMAG) != 0)
        return 0;
    const unsigned char *machine = head + EI_NIDENT + 2; /* e_machine */
    return head[EI_DATA] == ELFDATA2MSB ? (uint32_t)machine[0] << 8 | machine[1]
                                        : (uint32_t)machine[1] << 8 | machine[0];
}

void cairn_facts_kernel_stack(int pid, int tid, struct cairn_buffer *ret_text)
{
    (void)slurp(pid, tid, "stack", STACK_MAX_BYTES, ret_text, NULL);
}

bool cairn_kernel_frame_next(const char **text, const char **ret_name, size_t *ret_size)
{
    while (**text) {
        const char *line = *text, *end = line + strcspn(line, "\n");
        *text = *end ? end + 1 : end;
        const char *name = memchr(line, ']', (size_t)(end - line));
        if (!name)
            continue;
        name += 1 + strspn(name + 1, " ");
        size_t size = strcspn(name, "+ \n");
        if (size == 0 || name >= end)
            continue;
        *ret_name = name;
        *ret_size = size;
        return true;
    }
    return false;
}
