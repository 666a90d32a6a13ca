/* SPDX-License-Identifier: MIT */
/* One process: who it is, and what may be seen of it. It is opened and not stopped. */
#include "proc/process.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "doctor/reason.h"
#include "doctor/report.h"

enum { TIMEOUT_MS = 3000 };

static void add(struct cairn_doctor *d, const char *key, const char *name, const char *value,
                const char *why)
{
    cairn_doctor_add(
        d,
        &(struct cairn_doctor_finding){
            .group = CAIRN_DOCTOR_PROCESS, .key = key, .name = name, .value = value, .why = why});
}

static void add_program(struct cairn_doctor *d, int pid)
{
    struct cairn_buffer path = {0};
    struct cairn_err why = {0};
    bool is_deleted = false;
    if (cairn_process_exe(pid, &path, &is_deleted, &why) == CAIRN_OK)
        add(d, "process.program", "program", cairn_buffer_text(&path),
            is_deleted ? "its file was deleted or replaced while it runs" : "");
    else
        add(d, "process.program", "program", "not known", why.msg);
    cairn_buffer_done(&path);
}

static void add_status(struct cairn_doctor *d, const struct cairn_process_status *status)
{
    char text[96];
    snprintf(text, sizeof text, "%c, %u thread%s", status->state, status->n_threads,
             status->n_threads == 1 ? "" : "s");
    add(d, "process.state", "state", text,
        status->state == 'Z' ? "it has ended, and its parent has not asked how" : "");
    snprintf(text, sizeof text, "uid %u", status->euid);
    add(d, "process.user", "user", text, status->euid == geteuid() ? "" : "another than ours");
    if (status->tracer_pid) {
        snprintf(text, sizeof text, "pid %d", status->tracer_pid);
        add(d, "process.tracer", "traced by", text, "nobody else can stop it meanwhile");
    }
    if (status->n_namespaces > 1) {
        snprintf(text, sizeof text, "knows itself as pid %d", status->ns_pid);
        add(d, "process.pid_namespace", "pid namespace", text,
            "its files are read through /proc/PID/root");
    }
}

static void add_try(struct cairn_doctor *d, const struct cairn_doctor_facts *facts, const char *key,
                    const char *name, cairn_doctor_try_fn run, enum cairn_doctor_try as, int pid)
{
    const struct cairn_doctor_subject subject = {.pid = pid, .foreign = pid};
    struct cairn_doctor_result result = cairn_doctor_try_one(run, &subject, TIMEOUT_MS);
    struct cairn_doctor_reason reason = {0};
    bool ok = result.outcome == CAIRN_TRIED_OK;
    result.answer.number = (uint64_t)pid;
    if (!ok)
        cairn_doctor_reason(facts, as, &result, &reason);
    cairn_doctor_add(d, &(struct cairn_doctor_finding){
                            .group = CAIRN_DOCTOR_PROCESS,
                            .level = ok ? CAIRN_DOCTOR_YES : CAIRN_DOCTOR_NO,
                            .key = key,
                            .name = name,
                            .why = reason.why,
                            .fix = reason.fix,
                        });
}

int cairn_doctor_look_at(struct cairn_doctor *d, const struct cairn_doctor_facts *facts, int pid,
                         struct cairn_err *err)
{
    struct cairn_process_status status;
    int code = cairn_process_status(pid, &status, err);
    if (code < 0)
        return code;
    bool own = status.euid == geteuid();
    add(d, "process.name", "name", status.name, "");
    add_program(d, pid);
    add_status(d, &status);
    add_try(d, facts, "process.perf", "samples by perf_event", cairn_try_perf_foreign,
            own ? CAIRN_TRY_PERF_USER : CAIRN_TRY_PERF_FOREIGN, pid);
    add_try(d, facts, "process.memory", "its memory, by process_vm_readv", cairn_try_read_foreign,
            own ? CAIRN_TRY_READ_OTHER : CAIRN_TRY_READ_FOREIGN, pid);
    add_try(d, facts, "process.syscall", "its system call (/proc/PID/syscall)",
            cairn_try_syscall_other, own ? CAIRN_TRY_SYSCALL_OTHER : CAIRN_TRY_READ_FOREIGN, pid);
    add_try(d, facts, "process.stack", "its stack in the kernel (/proc/PID/stack)",
            cairn_try_stack_other, CAIRN_TRY_STACK_OTHER, pid);
    cairn_doctor_add_attach(d, pid);
    cairn_doctor_add_interpreters(d, pid);
    return cairn_doctor_add_modules(d, pid, err);
}
