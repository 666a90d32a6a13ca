/* SPDX-License-Identifier: MIT */
/* From what was tried to what the commands can do. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

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

/* Can the kernel walk stacks by the tables that we give it? */
static bool walks_tables(const struct bench *b)
{
    return is_ok(b, CAIRN_TRY_BPF_PROGRAM) && !*b->facts->bpf_lacks && b->facts->has_btf &&
           !cairn_facts_before(b->facts, 5, 17);
}

static void judge_record(const struct bench *b)
{
    bool perf = is_ok(b, CAIRN_TRY_PERF_USER), kernel = is_ok(b, CAIRN_TRY_PERF_KERNEL);
    const char *value = !kernel           ? "user code, by frame pointers"
                        : walks_tables(b) ? "user and kernel code, by unwind tables"
                                          : "user and kernel code, by frame pointers";
    enum cairn_doctor_level level = kernel ? CAIRN_DOCTOR_YES : CAIRN_DOCTOR_PART;
    enum cairn_doctor_try because = kernel ? CAIRN_N_TRIES : CAIRN_TRY_PERF_KERNEL;
    static const char command[] = "record -- COMMAND", pid[] = "record -p PID";
    if (perf) {
        add(b, "record.command", command, level, value, because);
        add(b, "record.pid", pid, level, value, because);
        return;
    }
    if (is_ok(b, CAIRN_TRY_PTRACE_CHILD))
        add(b, "record.command", command, CAIRN_DOCTOR_PART,
            "user code, by ptrace: threads are stopped for microseconds", CAIRN_TRY_PERF_USER);
    else
        add(b, "record.command", command, CAIRN_DOCTOR_NO, "", CAIRN_TRY_PERF_USER);
    add(b, "record.pid", pid, CAIRN_DOCTOR_NO, "", CAIRN_TRY_PERF_USER);
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

static void judge_stack(const struct bench *b)
{
    static const char key[] = "stack.pid", name[] = "stack PID";
    if (!is_ok(b, CAIRN_TRY_READ_OTHER))
        add(b, key, name, CAIRN_DOCTOR_NO, "", CAIRN_TRY_READ_OTHER);
    else if (!is_ok(b, CAIRN_TRY_PTRACE_OTHER))
        add(b, key, name, CAIRN_DOCTOR_PART, "threads that sleep", CAIRN_TRY_PTRACE_OTHER);
    else if (!is_ok(b, CAIRN_TRY_SYSCALL_OTHER))
        add(b, key, name, CAIRN_DOCTOR_PART, "every thread is stopped for microseconds",
            CAIRN_TRY_SYSCALL_OTHER);
    else
        add(b, key, name, CAIRN_DOCTOR_YES, "threads that sleep are not stopped", CAIRN_N_TRIES);
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
    if (number == CAIRN_TRY_PERF_RING && result->number)
        snprintf(text, size, "%" PRIu64 " KiB", result->number / 1024);
    else if (number == CAIRN_TRY_PERF_FOREIGN || number == CAIRN_TRY_READ_FOREIGN)
        snprintf(text, size, "pid %" PRIu64, result->number);
    if (result->outcome == CAIRN_TRIED_REFUSED &&
        (number != CAIRN_TRY_PERF_RING || !result->number)) {
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
