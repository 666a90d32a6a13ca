/* SPDX-License-Identifier: MIT */
/* From what was tried to what the commands can do. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <cairn/sampler.h>
#include <cairn/snapshot.h>

#include "doctor/reason.h"
#include "doctor/report.h"

struct bench {
    struct cairn_doctor *d;
    const struct cairn_doctor_facts *facts;
    const struct cairn_doctor_tries *tries;
};

static bool is_ok(const struct bench *b, enum cairn_doctor_try number)
{
    return b->tries->results[number].outcome == CAIRN_TRIED_OK;
}

static bool was_tried(const struct bench *b, enum cairn_doctor_try number)
{
    return b->tries->results[number].outcome != CAIRN_TRIED_NOT;
}

/* A row of the commands; `because`: the try that speaks against more; CAIRN_N_TRIES: none. */
static void add(const struct bench *b, const char *key, const char *name,
                enum cairn_doctor_level level, const char *value, enum cairn_doctor_try because)
{
    struct cairn_doctor_reason reason = {0};
    if (because != CAIRN_N_TRIES)
        cairn_doctor_reason(b->facts, because, &b->tries->results[because], &reason);
    cairn_doctor_add(b->d, &(struct cairn_doctor_finding){.group = CAIRN_DOCTOR_COMMANDS,
                                                          .level = level,
                                                          .key = key,
                                                          .name = name,
                                                          .value = value,
                                                          .why = reason.why,
                                                          .fix = reason.fix});
}

/* The cause of a refusal, where it is one that the facts explain; else what the command says. */
static enum cairn_doctor_try cause(const struct bench *b, enum cairn_doctor_try cause,
                                   enum cairn_doctor_try command)
{
    return is_ok(b, cause) ? command : cause;
}

static const char *record_text(const struct cairn_doctor_answer *answer)
{
    if (answer->way == CAIRN_SAMPLE_PTRACE)
        return "user code, by ptrace: threads are stopped for microseconds";
    if (answer->way == CAIRN_SAMPLE_BPF)
        return answer->has_kernel ? "user and kernel code, by unwind tables"
                                  : "user code, by unwind tables";
    if (answer->way == CAIRN_SAMPLE_DUMP)
        return answer->has_kernel ? "user and kernel code, by unwind tables, from copies"
                                  : "user code, by unwind tables, from copies";
    return answer->has_kernel ? "user and kernel code, by frame pointers"
                              : "user code, by frame pointers";
}

/* Kernel frames are those of the process that was sampled, for all: the others were opened and not
 * started. `perf`: the try that tells why there is no event for it. */
static void add_record(const struct bench *b, const char *key, const char *name,
                       enum cairn_doctor_try number, enum cairn_doctor_try perf)
{
    struct cairn_doctor_answer answer = b->tries->results[number].answer;
    enum cairn_doctor_level level = CAIRN_DOCTOR_PART;
    enum cairn_doctor_try because = CAIRN_N_TRIES;
    answer.has_kernel = b->tries->results[CAIRN_TRY_RECORD_PID].answer.has_kernel;
    if (!is_ok(b, number)) {
        add(b, key, name, CAIRN_DOCTOR_NO, "", cause(b, perf, number));
        return;
    }
    if (answer.way == CAIRN_SAMPLE_PTRACE)
        because = cause(b, CAIRN_TRY_PERF_USER, CAIRN_TRY_RECORD_PID);
    else if (!answer.has_kernel)
        because = CAIRN_TRY_PERF_KERNEL;
    else if (answer.way != CAIRN_SAMPLE_BPF)
        because = cause(b, CAIRN_TRY_BPF_PROGRAM, CAIRN_TRY_RECORD_TABLES);
    else
        level = CAIRN_DOCTOR_YES;
    add(b, key, name, level, record_text(&answer), because);
}

static void judge_record(const struct bench *b)
{
    add_record(b, "record.command", "record -- COMMAND", CAIRN_TRY_RECORD_COMMAND,
               CAIRN_TRY_PERF_USER);
    add_record(b, "record.pid", "record -p PID", CAIRN_TRY_RECORD_PID, CAIRN_TRY_PERF_USER);
}

static void judge_wide_record(const struct bench *b)
{
    static const char key[] = "record.off_cpu", name[] = "record --off-cpu";
    add_record(b, "record.all", "record -a", CAIRN_TRY_RECORD_ALL, CAIRN_TRY_PERF_ALL);
    add_record(b, "record.cgroup", "record --cgroup", CAIRN_TRY_RECORD_CGROUP, CAIRN_TRY_PERF_ALL);
    if (is_ok(b, CAIRN_TRY_RECORD_OFF_CPU))
        add(b, key, name, CAIRN_DOCTOR_YES, "how long threads wait, and who wakes them",
            CAIRN_N_TRIES);
    else
        add(b, key, name, CAIRN_DOCTOR_NO, "",
            cause(b, CAIRN_TRY_BPF_PROGRAM, CAIRN_TRY_RECORD_OFF_CPU));
}

static void judge_foreign(const struct bench *b)
{
    static const char key[] = "record.foreign", name[] = "record -p PID, others' processes";
    if (!was_tried(b, CAIRN_TRY_PERF_FOREIGN))
        add(b, key, name, CAIRN_DOCTOR_FACT, "not tried: no process of another user is seen here",
            CAIRN_N_TRIES);
    else if (!is_ok(b, CAIRN_TRY_PERF_FOREIGN))
        add(b, key, name, CAIRN_DOCTOR_NO, "", CAIRN_TRY_PERF_FOREIGN);
    else if (!is_ok(b, CAIRN_TRY_READ_FOREIGN))
        add(b, key, name, CAIRN_DOCTOR_PART, "samples without names", CAIRN_TRY_READ_FOREIGN);
    else
        add(b, key, name, CAIRN_DOCTOR_YES, "", CAIRN_N_TRIES);
}

/* `plain`: the attempt that needs no rights, and traces system calls only. `cause_of`: the attempt
 * whose failure explains that of `plain`. */
static void add_trace(const struct bench *b, const char *key, const char *name,
                      enum cairn_doctor_try plain, const char *text, enum cairn_doctor_try cause_of)
{
    if (is_ok(b, CAIRN_TRY_TRACE_BPF))
        add(b, key, name, CAIRN_DOCTOR_YES, "every kind of event, by programs in the kernel",
            CAIRN_N_TRIES);
    else if (is_ok(b, CAIRN_TRY_TRACE_PERF))
        add(b, key, name, CAIRN_DOCTOR_PART,
            "system calls and tracepoints, by perf events with copies of stacks",
            cause(b, CAIRN_TRY_BPF_PROGRAM, CAIRN_TRY_TRACE_BPF));
    else if (is_ok(b, plain))
        add(b, key, name, CAIRN_DOCTOR_PART, text,
            cause(b, CAIRN_TRY_BPF_PROGRAM, CAIRN_TRY_TRACE_BPF));
    else
        add(b, key, name, CAIRN_DOCTOR_NO, "", cause(b, cause_of, plain));
}

static void judge_trace(const struct bench *b)
{
    add_trace(b, "trace.command", "trace -- COMMAND", CAIRN_TRY_TRACE_SECCOMP,
              "system calls, by seccomp and ptrace", CAIRN_TRY_PTRACE_CHILD);
    add_trace(b, "trace.pid", "trace -p PID", CAIRN_TRY_TRACE_PTRACE,
              "system calls, by ptrace: slow, each call stops twice", CAIRN_TRY_PTRACE_OTHER);
}

static const char *stack_text(int way)
{
    switch (way) {
    case CAIRN_SNAPSHOT_ITERATOR:
        return "by the task iterator, nobody is stopped";
    case CAIRN_SNAPSHOT_MEMORY:
        return "by reads of their memory, nobody is stopped";
    case CAIRN_SNAPSHOT_SAMPLE:
        return "by one perf sample each, nobody is stopped";
    case CAIRN_SNAPSHOT_PTRACE:
        return "by ptrace, stopped for microseconds";
    default:
        return "";
    }
}

static void add_stack(const struct bench *b, const char *key, const char *name,
                      enum cairn_doctor_try number)
{
    const int way = b->tries->results[number].answer.way;
    bool runs = number == CAIRN_TRY_STACK_RUNNING;
    if (!is_ok(b, number))
        add(b, key, name, CAIRN_DOCTOR_NO, "",
            cause(b, CAIRN_TRY_READ_OTHER,
                  cause(b, runs ? CAIRN_TRY_PTRACE_OTHER : CAIRN_TRY_SYSCALL_OTHER, number)));
    else if (way == CAIRN_SNAPSHOT_PTRACE && !runs)
        add(b, key, name, CAIRN_DOCTOR_PART, stack_text(way),
            cause(b, CAIRN_TRY_SYSCALL_OTHER, cause(b, CAIRN_TRY_BPF_ITERATOR, number)));
    else
        add(b, key, name, CAIRN_DOCTOR_YES, stack_text(way), CAIRN_N_TRIES);
}

static void judge_stack(const struct bench *b)
{
    add_stack(b, "stack.pid", "stack PID: threads that sleep", CAIRN_TRY_STACK_SLEEPING);
    add_stack(b, "stack.running", "stack PID: threads that run", CAIRN_TRY_STACK_RUNNING);
    if (is_ok(b, CAIRN_TRY_STACK_OTHER))
        add(b, "stack.kernel", "stack PID: kernel frames", CAIRN_DOCTOR_YES, "", CAIRN_N_TRIES);
    else
        add(b, "stack.kernel", "stack PID: kernel frames", CAIRN_DOCTOR_NO, "",
            CAIRN_TRY_STACK_OTHER);
}

static void judge_heap(const struct bench *b)
{
    static const char key[] = "heap.run", name[] = "heap run -- COMMAND";
    if (!is_ok(b, CAIRN_TRY_HEAP_FOLDER))
        add(b, key, name, CAIRN_DOCTOR_NO, "", CAIRN_TRY_HEAP_FOLDER);
    else if (!is_ok(b, CAIRN_TRY_WIPE))
        add(b, key, name, CAIRN_DOCTOR_PART, "children of a bare clone(2) are found out late",
            CAIRN_TRY_WIPE);
    else
        add(b, key, name, CAIRN_DOCTOR_YES, "every block with its stack", CAIRN_N_TRIES);
}

static void judge_names(const struct bench *b)
{
    static const char key[] = "resolve.kernel", name[] = "resolve: functions of the kernel";
    if (is_ok(b, CAIRN_TRY_KALLSYMS))
        add(b, key, name, CAIRN_DOCTOR_YES, "by /proc/kallsyms", CAIRN_N_TRIES);
    else
        add(b, key, name, CAIRN_DOCTOR_NO, "their frames stay addresses", CAIRN_TRY_KALLSYMS);
    add(b, "resolve", "resolve, symbolize, flame, report", CAIRN_DOCTOR_YES,
        "files alone, no rights needed", CAIRN_N_TRIES);
}

void cairn_doctor_judge_commands(struct cairn_doctor *d, const struct cairn_doctor_facts *facts,
                                 const struct cairn_doctor_tries *tries)
{
    const struct bench b = {d, facts, tries};
    judge_record(&b);
    judge_foreign(&b);
    judge_wide_record(&b);
    judge_trace(&b);
    judge_stack(&b);
    judge_heap(&b);
    judge_names(&b);
}

/* Those that were met; strerrorname_np(3) is not in every libc. */
static const char *errno_name(int os_errno)
{
    static const struct {
        int number;
        const char *name;
    } names[] = {{EPERM, "EPERM"},   {EACCES, "EACCES"}, {ENOENT, "ENOENT"},
                 {ENOSYS, "ENOSYS"}, {EINVAL, "EINVAL"}, {ENODEV, "ENODEV"},
                 {ESRCH, "ESRCH"},   {EFAULT, "EFAULT"}, {EOPNOTSUPP, "EOPNOTSUPP"},
                 {EMFILE, "EMFILE"}, {ENOMEM, "ENOMEM"}, {ENODATA, "it is empty"},
                 {EROFS, "EROFS"},   {ENOSPC, "ENOSPC"}, {EBUSY, "EBUSY"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (names[i].number == os_errno)
            return names[i].name;
    return "refused";
}

/* As --method and --way call it. */
static const char *way_text(enum cairn_doctor_try number, int way)
{
    static const char *const methods[] = {"", "perf", "ptrace", "bpf", "dump"};
    const char *text = "";
    if (number >= CAIRN_TRY_STACK_SLEEPING)
        text = cairn_snapshot_way_text(way);
    else if (number >= CAIRN_TRY_RECORD_PID && way > 0 &&
             (size_t)way < sizeof methods / sizeof *methods)
        text = methods[way];
    return text ? text : "";
}

static const char *result_text(enum cairn_doctor_try number,
                               const struct cairn_doctor_result *result, char *text, size_t size)
{
    text[0] = 0;
    if (result->outcome == CAIRN_TRIED_NOT)
        return "not tried: no process of another user is seen here";
    if (result->outcome == CAIRN_TRIED_LATE)
        return "no answer";
    if (result->outcome == CAIRN_TRIED_KILLED)
        return "killed";
    if (number == CAIRN_TRY_PERF_RING && result->answer.number)
        snprintf(text, size, "%" PRIu64 " KiB", result->answer.number / 1024);
    else if (number == CAIRN_TRY_PERF_FOREIGN || number == CAIRN_TRY_READ_FOREIGN)
        snprintf(text, size, "pid %" PRIu64, result->answer.number);
    else if (result->outcome == CAIRN_TRIED_OK)
        snprintf(text, size, "%s", way_text(number, result->answer.way));
    if (result->outcome == CAIRN_TRIED_REFUSED && !*result->answer.why &&
        (number != CAIRN_TRY_PERF_RING || !result->answer.number)) {
        size_t n = strlen(text);
        snprintf(text + n, size - n, "%s%s", n ? ": " : "", errno_name(result->os_errno));
    }
    return text;
}

/* Without these captures are poorer, but go on. */
static enum cairn_doctor_level level_without(enum cairn_doctor_try number)
{
    switch (number) {
    case CAIRN_TRY_PERF_COUNTER:
    case CAIRN_TRY_PERF_RING:
    case CAIRN_TRY_WIPE:
        return CAIRN_DOCTOR_PART;
    default:
        return CAIRN_DOCTOR_NO;
    }
}

void cairn_doctor_judge_tries(struct cairn_doctor *d, const struct cairn_doctor_facts *facts,
                              const struct cairn_doctor_tries *tries)
{
    for (enum cairn_doctor_try i = 0; i < CAIRN_N_TRIES; i++) {
        const struct cairn_doctor_result *result = &tries->results[i];
        struct cairn_doctor_reason reason = {0};
        char text[64];
        struct cairn_doctor_finding finding = {.group = CAIRN_DOCTOR_TRIED,
                                               .level = CAIRN_DOCTOR_YES,
                                               .key = cairn_doctor_try_key(i),
                                               .name = cairn_doctor_try_name(i),
                                               .value = result_text(i, result, text, sizeof text),
                                               .why = reason.why,
                                               .fix = reason.fix};
        if (result->outcome == CAIRN_TRIED_NOT) {
            finding.level = CAIRN_DOCTOR_FACT;
        } else if (result->outcome != CAIRN_TRIED_OK) {
            finding.level = level_without(i);
            cairn_doctor_reason(facts, i, result, &reason);
        }
        cairn_doctor_add(d, &finding);
    }
}
